/* block.h - bytes that come out of a file or were made from it, with whatever keeps them alive.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_BLOCK_H
#define FGI_DATA_BLOCK_H

#include "base/file.h"

/* No gzip file may inflate to more. */
#define FGI_LARGEST_INFLATED_BYTES ((size_t)16 << 30)

/* `data` may point behind the beginning of what is owned, and is just borrowed where nothing is.
 * Zero-initialised it is empty. Copying it by assignment moves it. */
typedef struct fgi_block {
    const unsigned char *data;
    size_t size;
    void *owned;         /* fgi_free_aligned, or NULL */
    fgi_mapping mapping; /* or empty */
} fgi_block;

/* Fresh memory, aligned to 64 bytes, not cleared. Its writable address is also in `owned`. */
fg_status fgi_block_alloc(size_t size, fgi_block *out, fg_error *err);
/* A file's content: mapped as it is, or inflated into memory when it begins like a gzip file.
 * Refused where it inflates to more than limit_bytes. */
fg_status fgi_block_open(const char *path, size_t limit_bytes, fgi_block *out, fg_error *err);
/* Inflates gzip data (one member or several) that is in memory; `name` is for messages. */
fg_status fgi_block_inflate(const char *name, const unsigned char *data, size_t size,
                            size_t limit_bytes, fgi_block *out, fg_error *err);
void fgi_block_fini(fgi_block *block);

#endif
