/* shards.h - the files that a pattern or a folder names, and reading parts of them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CATALOG_SHARDS_H
#define FGI_CATALOG_SHARDS_H

#include <fulgurite/base.h>

typedef struct fgi_shard_file {
    char *path;
    const char *name; /* the last component of path */
    int fd;           /* -1: opened for each read, because there are many */
    bool is_inflated; /* fd is that of fgi_shard_files.inflated */
    uint64_t base;    /* its first byte in fd */
    uint64_t size;    /* bytes, when it was opened first */
    uint8_t split;    /* of a word of the name: fg_data_split or FG_CATALOG_NO_SPLIT */
} fgi_shard_file;

/* Zero-initialized, it is empty. */
typedef struct fgi_shard_files {
    fgi_shard_file *list;
    size_t count, capacity;
    bool has_inflated;
    int inflated; /* a temporary file without a name: the content of all that are gzip files */
    uint64_t inflated_size;
} fgi_shard_files;

/* Opens the shards that `path` names: a file, a folder whose files match `is_shard`, or a pattern
 * with {000..099} and {a,b}, and in the name of the file *, ? and [...]; sorted by bytes, those of
 * braces in the order written. Those named .gz or .tgz are decompressed, which is logged. Fails if
 * one does not exist, or if names like train-00000-of-00010 show that one is missing from the
 * folder. */
fg_status fgi_shards_open(const char *path, bool (*is_shard)(const char *name),
                          fgi_shard_files *out, fg_error *err);
void fgi_shards_fini(fgi_shard_files *shards);

/* Reads `size` bytes at `offset`; FG_EFORMAT if the file is shorter. Thread-safe. */
fg_status fgi_shard_read(const fgi_shard_file *shard, uint64_t offset, void *data, size_t size,
                         fg_error *err);

/* A part of a shard in memory, for scanning without reading the samples. */
typedef struct fgi_window {
    const fgi_shard_file *shard;
    uint64_t start;
    size_t size;
    unsigned char data[8192];
} fgi_window;

/* Bytes offset to offset + size, which are in the file and at most the window's. Valid until the
 * next call. */
fg_status fgi_window_get(fgi_window *window, uint64_t offset, size_t size,
                         const unsigned char **out, fg_error *err);

/* FG_EUNSUPPORTED, with what to do, if the file starts like one that is compressed with gzip,
 * Zstandard, xz, bzip2 or LZ4. */
fg_status fgi_check_compression(fgi_window *window, fg_error *err);

#endif
