/* sha256.h - SHA-256 of bytes that arrive in chunks, by which hubs identify large files.
 * Source: FIPS 180-4, "Secure Hash Standard".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_SHA256_H
#define FGI_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct fgi_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64]; /* the last bytes, which do not fill a block yet */
} fgi_sha256;

void fgi_sha256_init(fgi_sha256 *hash);
void fgi_sha256_add(fgi_sha256 *hash, const void *data, size_t size);
/* 64 hexadecimal digits and a NUL. Nothing can be added afterwards. */
void fgi_sha256_end(fgi_sha256 *hash, char out[65]);

#endif
