/* block.h - bytes from a file or derived from it, and their owner.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_INPUT_BLOCK_H
#define FGI_INPUT_BLOCK_H

#include "base/file.h"

/* Maximum size of a decompressed gzip file. */
#define FGI_LARGEST_INFLATED_BYTES ((size_t)16 << 30)

/* `data` may point into the owned memory, or is borrowed if nothing is owned. Zero-initialized, it
 * is empty. Copying it by assignment moves it. */
typedef struct fgi_block {
    const unsigned char *data;
    size_t size;
    void *owned;         /* fgi_free_aligned, or NULL */
    fgi_mapping mapping; /* or empty */
} fgi_block;

/* New memory, aligned to 64 bytes, not cleared. Its writable address is also in `owned`. */
fg_status fgi_block_alloc(size_t size, fgi_block *out, fg_error *err);
/* The content of a file: memory-mapped, or decompressed if it starts like a gzip file. An error if
 * it decompresses to more than limit_bytes. */
fg_status fgi_block_open(const char *path, size_t limit_bytes, fgi_block *out, fg_error *err);
/* Decompresses gzip data (one member or several) in memory; `name` is for messages. */
fg_status fgi_block_inflate(const char *name, const unsigned char *data, size_t size,
                            size_t limit_bytes, fgi_block *out, fg_error *err);
void fgi_block_fini(fgi_block *block);

/* Decompresses a gzip file to the end of an open one. Errors: FG_EFORMAT, FG_EIO, FG_ENOMEM. */
fg_status fgi_inflate_file(const char *path, int to, uint64_t *out_size, fg_error *err);

#endif
