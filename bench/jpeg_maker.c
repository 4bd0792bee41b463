/* jpeg_maker.c - makes photo-like JPEG files for benchmarks: FOLDER/c00 to c09 with SMALL images of
 * 500x375 pixels (about 4 bits per pixel) and LARGE ones of 3000x2000 (about 2). Each is a blend of
 * two parts of a few textures, with its own contrast and its own noise, so all files differ. Files
 * that exist are kept. The same numbers give the same images.
 * Usage: jpeg_maker FOLDER SMALL LARGE [THREADS, 2]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fulgurite/image.h>

enum { TEXTURES = 4, TEXTURE_WIDTH = 3300, TEXTURE_HEIGHT = 2300, CLASSES = 10 };

typedef struct shape {
    int64_t width, height;
    int noise; /* amplitude */
} shape;

static const shape small = {500, 375, 34}, large = {3000, 2000, 9};
static uint8_t *texture[TEXTURES];
static const char *folder;
static int small_count, all_count;
static atomic_int next_image, failures;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* ---- textures: smoothed noise at several scales ---------------------------------------------- */

static double corner(uint64_t seed, int64_t x, int64_t y)
{
    uint64_t state = seed ^ ((uint64_t)x * 0x9e3779b97f4a7c15u) ^ ((uint64_t)y << 32);
    (void)next_random(&state);
    (void)next_random(&state);
    return (double)next_random(&state) / 2147483648.0 - 0.5;
}

static double smooth(uint64_t seed, double x, double y)
{
    const int64_t i = (int64_t)x, j = (int64_t)y;
    const double u = x - (double)i, v = y - (double)j;
    const double a = u * u * (3 - 2 * u), b = v * v * (3 - 2 * v);
    return (corner(seed, i, j) * (1 - a) + corner(seed, i + 1, j) * a) * (1 - b) +
           (corner(seed, i, j + 1) * (1 - a) + corner(seed, i + 1, j + 1) * a) * b;
}

static void *make_texture(void *self)
{
    uint8_t *out = self;
    uint64_t seed = 0;
    while (texture[seed] != out)
        seed++;
    for (int64_t y = 0; y < TEXTURE_HEIGHT; y++)
        for (int64_t x = 0; x < TEXTURE_WIDTH; x++) {
            double value = 128, amplitude = 110;
            for (int64_t size = 700; size >= 5; size /= 3, amplitude *= 0.6)
                value += amplitude * smooth(seed * 64 + (uint64_t)size, (double)x / (double)size,
                                            (double)y / (double)size);
            const double tint = 40 * smooth(seed + 7, (double)x / 900, (double)y / 900);
            for (int c = 0; c < 3; c++) {
                const double v = value + (c - 1) * tint;
                *out++ = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
            }
        }
    return NULL;
}

/* ---- images ---------------------------------------------------------------------------------- */

static void draw(int index, const shape *s, fg_image *image)
{
    uint64_t state = (uint64_t)index * 2654435761u + 12345;
    const uint8_t *from[2];
    for (int k = 0; k < 2; k++) {
        const uint64_t x = next_random(&state) % (uint64_t)(TEXTURE_WIDTH - s->width);
        const uint64_t y = next_random(&state) % (uint64_t)(TEXTURE_HEIGHT - s->height);
        from[k] = texture[next_random(&state) % TEXTURES] + (y * TEXTURE_WIDTH + x) * 3;
    }
    const int part = (int)(next_random(&state) % 200) + 28, gain = (int)(next_random(&state) % 96);
    const int steps = 2 * s->noise + 1;
    for (int64_t y = 0; y < s->height; y++) {
        uint8_t *out = image->pixels + y * s->width * 3;
        const uint8_t *a = from[0] + y * TEXTURE_WIDTH * 3, *b = from[1] + y * TEXTURE_WIDTH * 3;
        for (int64_t x = 0; x < s->width; x++) {
            const int noise = (int)(next_random(&state) % (uint64_t)steps) - s->noise;
            for (int c = 0; c < 3; c++, a++, b++) {
                const int mixed = (*a * part + *b * (256 - part)) / 256;
                const int value = 128 + (mixed - 128) * (208 + gain) / 256 + noise;
                *out++ = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
            }
        }
    }
}

static fg_status write_file(const char *path, const fg_image_bytes *bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return FG_EIO;
    const size_t written = fwrite(bytes->data, 1, bytes->size, file);
    return fclose(file) == 0 && written == bytes->size ? FG_OK : FG_EIO;
}

static fg_status make_image(int index, fg_image *image, fg_image_bytes *bytes, fg_error *err)
{
    char path[700];
    const bool is_small = index < small_count;
    const shape *s = is_small ? &small : &large;
    (void)snprintf(path, sizeof path, "%s/c%02d/%s%06d.jpg", folder, index % CLASSES,
                   is_small ? "s" : "l", index);
    if (access(path, R_OK) == 0)
        return FG_OK;
    fg_status status = fg_image_reserve(image, s->width, s->height, 3, err);
    if (status != FG_OK)
        return status;
    draw(index, s, image);
    status = fg_image_encode_jpeg(image, NULL, bytes, err);
    if (status == FG_OK && write_file(path, bytes) != FG_OK) {
        (void)snprintf(err->message, sizeof err->message, "cannot write '%.300s'", path);
        return err->status = FG_EIO;
    }
    return status;
}

static void *make_images(void *self)
{
    fg_image image = {0};
    fg_image_bytes bytes = {0};
    fg_error err = {0};
    (void)self;
    for (int i; (i = atomic_fetch_add(&next_image, 1)) < all_count;) {
        if (make_image(i, &image, &bytes, &err) == FG_OK)
            continue;
        (void)fg_error_print(&err, "jpeg_maker");
        atomic_fetch_add(&failures, 1);
        break;
    }
    fg_image_fini(&image);
    fg_image_bytes_fini(&bytes);
    return NULL;
}

static void in_threads(void *(*run)(void *), int count, uint8_t **selves)
{
    pthread_t threads[64];
    int started = 0;
    while (started < count &&
           pthread_create(&threads[started], NULL, run, selves ? selves[started] : NULL) == 0)
        started++;
    for (int i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    failures += started < count;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        (void)fputs("usage: jpeg_maker FOLDER SMALL LARGE [THREADS, 2]\n", stderr);
        return 2;
    }
    folder = argv[1];
    small_count = (int)strtol(argv[2], NULL, 10);
    all_count = small_count + (int)strtol(argv[3], NULL, 10);
    const long threads = argc > 4 ? strtol(argv[4], NULL, 10) : 2;
    (void)mkdir(folder, 0777);
    for (int c = 0; c < CLASSES; c++) {
        char path[700];
        (void)snprintf(path, sizeof path, "%s/c%02d", folder, c);
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            perror(path);
            return 1;
        }
    }
    for (int i = 0; i < TEXTURES; i++)
        if ((texture[i] = malloc((size_t)TEXTURE_WIDTH * TEXTURE_HEIGHT * 3)) == NULL)
            return 1;
    in_threads(make_texture, TEXTURES, texture);
    in_threads(make_images, threads < 1 ? 1 : threads > 64 ? 64 : (int)threads, NULL);
    for (int i = 0; i < TEXTURES; i++)
        free(texture[i]);
    return failures > 0;
}
