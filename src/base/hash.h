/* hash.h - 128-bit structural hashes and 64-bit checksums (xxHash XXH3).
 * Source: xxHash specification, https://github.com/Cyan4973/xxHash
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_HASH_H
#define FGI_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct fgi_hash {
    uint64_t lo, hi;
} fgi_hash;

/* Hash of a byte range. */
fgi_hash fgi_hash_bytes(const void *data, size_t size);
static inline fgi_hash fgi_hash_text(const char *text)
{
    return fgi_hash_bytes(text, strlen(text));
}
/* Hash of `seed` followed by a byte range: the way to chain. */
fgi_hash fgi_hash_more(fgi_hash seed, const void *data, size_t size);
/* 64-bit checksum of a byte range. */
uint64_t fgi_checksum64(const void *data, size_t size);
/* The same checksum of bytes that arrive in chunks. Create it empty (NULL when out of memory); the
 * value can be queried at any time. */
typedef struct fgi_checksum fgi_checksum;
fgi_checksum *fgi_checksum_create(void);
void fgi_checksum_add(fgi_checksum *checksum, const void *data, size_t size);
uint64_t fgi_checksum_value(const fgi_checksum *checksum);
void fgi_checksum_destroy(fgi_checksum *checksum);
static inline bool fgi_hash_equal(fgi_hash a, fgi_hash b) { return a.lo == b.lo && a.hi == b.hi; }
/* 32 hexadecimal digits and a NUL. */
void fgi_hash_format(fgi_hash hash, char out[33]);

#endif
