/* fuzz_main.c - replays a corpus through a fuzz target without libFuzzer: each file unchanged,
 * truncated at many places, and with single bits flipped. Usage: fuzz_x CORPUS-FOLDER
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/file.h"

enum { MOST_CUTS = 64, MOST_FLIPS = 256 };

/* A separate copy in a block of the exact size, so that ASan detects out-of-bounds reads. */
static void try_bytes(const uint8_t *data, size_t size, size_t flip)
{
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL)
        abort();
    if (size != 0)
        memcpy(copy, data, size);
    if (flip < size * 8)
        copy[flip / 8] ^= (uint8_t)(1u << flip % 8);
    const long live = fgi_alloc_live();
    (void)LLVMFuzzerTestOneInput(copy, size);
    if (fgi_alloc_live() != live) {
        (void)fprintf(stderr, "%ld blocks leaked\n", fgi_alloc_live() - live);
        abort();
    }
    free(copy);
}

static void try_file(const uint8_t *data, size_t size)
{
    try_bytes(data, size, SIZE_MAX);
    const size_t cuts = size < MOST_CUTS ? size : MOST_CUTS;
    for (size_t i = 0; i < cuts; i++)
        try_bytes(data, size * i / cuts, SIZE_MAX);
    const size_t flips = size * 8 < MOST_FLIPS ? size * 8 : MOST_FLIPS;
    for (size_t i = 0; i < flips; i++)
        try_bytes(data, size, size * 8 * i / flips);
}

/* The number of files replayed, or -1. */
static int replay(const char *path, DIR *folder)
{
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        fg_error err;
        char *data, *file = fgi_path_join(path, entry->d_name);
        size_t size;
        if (file == NULL)
            return -1;
        (void)fprintf(stderr, "%s\n", file);
        const fg_status status = fgi_file_read(file, (size_t)1 << 26, &data, &size, &err);
        fgi_free(file);
        if (status != FG_OK) {
            (void)fg_error_print(&err, "replay");
            return -1;
        }
        try_file((const uint8_t *)data, size);
        fgi_free(data);
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (folder == NULL) {
        (void)fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
        return 2;
    }
    const int count = replay(argv[1], folder);
    (void)closedir(folder);
    (void)printf("%d files replayed\n", count);
    return count > 0 ? 0 : 1; /* an empty corpus tests nothing */
}
