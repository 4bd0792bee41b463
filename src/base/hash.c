/* hash.c - wrappers of XXH3. Chaining hashes the 16 bytes of the seed followed by the data, as if
 * they were contiguous.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/alloc.h"

enum { SHORT_BYTES = 224 }; /* up to this size a copy is cheaper than XXH3's streaming state */

static fgi_hash of_xxh(XXH128_hash_t hash)
{
    return (fgi_hash){.lo = hash.low64, .hi = hash.high64};
}

fgi_hash fgi_hash_bytes(const void *data, size_t size) { return of_xxh(XXH3_128bits(data, size)); }

fgi_hash fgi_hash_more(fgi_hash seed, const void *data, size_t size)
{
    if (size <= SHORT_BYTES) {
        unsigned char joined[sizeof(seed) + SHORT_BYTES];
        memcpy(joined, &seed, sizeof(seed));
        if (size != 0)
            memcpy(joined + sizeof(seed), data, size);
        return of_xxh(XXH3_128bits(joined, sizeof(seed) + size));
    }
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, &seed, sizeof(seed));
    XXH3_128bits_update(&state, data, size);
    return of_xxh(XXH3_128bits_digest(&state));
}

uint64_t fgi_checksum64(const void *data, size_t size) { return XXH3_64bits(data, size); }

struct fgi_checksum {
    XXH3_state_t state; /* requires 64-byte alignment */
};

fgi_checksum *fgi_checksum_create(void)
{
    fgi_checksum *checksum = fgi_alloc_aligned(sizeof(*checksum));
    if (checksum != NULL)
        XXH3_64bits_reset(&checksum->state);
    return checksum;
}

void fgi_checksum_add(fgi_checksum *checksum, const void *data, size_t size)
{
    XXH3_64bits_update(&checksum->state, data, size);
}

uint64_t fgi_checksum_value(const fgi_checksum *checksum)
{
    return XXH3_64bits_digest(&checksum->state);
}

void fgi_checksum_destroy(fgi_checksum *checksum) { fgi_free_aligned(checksum); }

void fgi_hash_format(fgi_hash hash, char out[33])
{
    (void)snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, hash.hi, hash.lo);
}
