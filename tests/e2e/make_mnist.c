/* make_mnist.c - writes MNIST's four files with synthetic images: usage: make_mnist FOLDER TRAIN
 * VAL. Class c is a bright bar at a place that depends on c, in noise; a linear classifier gets it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SIDE = 28, CLASSES = 10 };

static uint32_t random_state = 1;

static unsigned next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 16;
}

static void put_u32(FILE *out, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        (void)putc((int)(value >> shift & 255), out);
}

static void put_image(FILE *out, unsigned label)
{
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++) {
            const unsigned bar = 2 + label * 5 / 2;
            const unsigned ink = (label % 2 ? x : y) / 2 == bar / 2 ? 160 : 0;
            (void)putc((int)(ink + next_random() % 90), out);
        }
}

static FILE *create(const char *folder, const char *part, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s-%s", folder, part, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        perror(path);
    return file;
}

static int write_part(const char *folder, const char *part, uint32_t count)
{
    FILE *images = create(folder, part, "images-idx3-ubyte");
    FILE *labels = create(folder, part, "labels-idx1-ubyte");
    if (images == NULL || labels == NULL)
        return 1;
    put_u32(images, 0x803);
    put_u32(images, count);
    put_u32(images, SIDE);
    put_u32(images, SIDE);
    put_u32(labels, 0x801);
    put_u32(labels, count);
    for (uint32_t i = 0; i < count; i++) {
        const unsigned label = next_random() % CLASSES;
        put_image(images, label);
        (void)putc((int)label, labels);
    }
    const int first = fclose(images), second = fclose(labels);
    return first != 0 || second != 0;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    (void)mkdir(argv[1], 0777);
    return write_part(argv[1], "train", (uint32_t)strtoul(argv[2], NULL, 10)) |
           write_part(argv[1], "t10k", (uint32_t)strtoul(argv[3], NULL, 10));
}
