/* rng.c - Threefry-2x32-20 and what is drawn from it. Pure functions, no state.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <math.h>
#include <string.h>
#include "base/hash.h"

static uint32_t rotate_left(uint32_t x, int bits) { return (x << bits) | (x >> (32 - bits)); }

void fgi_threefry2x32(fgi_key key, uint32_t x0, uint32_t x1, uint32_t out[2])
{
    /* Salmon et al. 2011, table 2 (rotations for two words of 32 bits) and section 3.1; the
     * constant is Skein's key schedule parity. */
    static const int rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const uint32_t schedule[3] = {key.word[0], key.word[1],
                                  key.word[0] ^ key.word[1] ^ 0x1bd11bdau};
    x0 += schedule[0];
    x1 += schedule[1];
    for (uint32_t round = 0; round < 20; round++) {
        x0 += x1;
        x1 = rotate_left(x1, rotation[round % 8]) ^ x0;
        if (round % 4 == 3) {
            const uint32_t injection = round / 4 + 1;
            x0 += schedule[injection % 3];
            x1 += schedule[(injection + 1) % 3] + injection;
        }
    }
    out[0] = x0;
    out[1] = x1;
}

fgi_key fgi_key_from_seed(uint64_t seed)
{
    return (fgi_key){{(uint32_t)seed, (uint32_t)(seed >> 32)}};
}

fgi_key fgi_key_fold(fgi_key key, uint64_t tag)
{
    fgi_key folded;
    fgi_threefry2x32(key, (uint32_t)tag, (uint32_t)(tag >> 32), folded.word);
    return folded;
}

fgi_key fgi_key_fold_text(fgi_key key, const char *text)
{
    return fgi_key_fold(key, fgi_checksum64(text, strlen(text)));
}

uint64_t fgi_rng_u64(fgi_key key, uint64_t i)
{
    uint32_t word[2];
    fgi_threefry2x32(key, (uint32_t)i, (uint32_t)(i >> 32), word);
    return word[0] | (uint64_t)word[1] << 32;
}

/* The upper 24 bits, as many as an f32 holds. */
static double fraction(uint32_t word) { return (double)(word >> 8) * 0x1p-24; }

float fgi_rng_uniform(fgi_key key, uint64_t i)
{
    return (float)fraction((uint32_t)fgi_rng_u64(key, i));
}

float fgi_rng_normal(fgi_key key, uint64_t i)
{
    const uint64_t bits = fgi_rng_u64(key, i);
    const double radius = fraction((uint32_t)bits) + 0x1p-24; /* in (0, 1]: log is finite */
    const double turn = fraction((uint32_t)(bits >> 32));
    return (float)(sqrt(-2 * log(radius)) * cos(6.283185307179586 * turn));
}

/* One pass of the Feistel network over two halves of `half_bits` bits (1 to 32). */
static uint64_t feistel(fgi_key key, int half_bits, uint64_t x)
{
    const uint32_t mask = (uint32_t)((UINT64_C(1) << half_bits) - 1);
    uint32_t left = (uint32_t)(x >> half_bits), right = (uint32_t)x & mask;
    for (uint32_t round = 0; round < 6; round++) {
        uint32_t mixed[2];
        fgi_threefry2x32(key, right, round, mixed);
        const uint32_t next = left ^ (mixed[0] & mask);
        left = right;
        right = next;
    }
    return (uint64_t)left << half_bits | right;
}

uint64_t fgi_permute(fgi_key key, uint64_t n, uint64_t i)
{
    if (n <= 1)
        return 0;
    int half_bits = 1;
    while (half_bits < 32 && (n - 1) >> (2 * half_bits) != 0)
        half_bits++;
    /* The network permutes a domain of less than 4n numbers; following its cycle until it comes
     * back below n permutes 0..n-1. */
    do
        i = feistel(key, half_bits, i);
    while (i >= n);
    return i;
}
