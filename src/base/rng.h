/* rng.h - counter-based random numbers on the host: pure functions of (key, counter) that produce
 * the same bits as device programs. Source: Salmon et al. 2011, "Parallel random numbers: as easy
 * as 1, 2, 3" (Threefry-2x32, 20 rounds).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_RNG_H
#define FGI_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct fgi_key {
    uint32_t word[2];
} fgi_key;

/* One Threefry-2x32-20 block: counter (x0, x1) under key, with the result in out[2]. */
void fgi_threefry2x32(fgi_key key, uint32_t x0, uint32_t x1, uint32_t out[2]);

/* A key from a 64-bit seed: its low and high words. */
fgi_key fgi_key_from_seed(uint64_t seed);
/* An independent key for a purpose: one block of `key` on the counter (low, high word of tag). */
fgi_key fgi_key_fold(fgi_key key, uint64_t tag);
/* fgi_key_fold with a hash of the text. */
fgi_key fgi_key_fold_text(fgi_key key, const char *text);

/* 64 random bits for counter i. */
uint64_t fgi_rng_u64(fgi_key key, uint64_t i);
/* Uniform in [0, 1), a multiple of 2^-24 (exact in f32), for counter i. */
float fgi_rng_uniform(fgi_key key, uint64_t i);
/* Standard normal for counter i (Box-Muller on the block's two words). */
float fgi_rng_normal(fgi_key key, uint64_t i);
/* The same for the counters first..first+count-1, several times faster. */
void fgi_rng_uniform_range(fgi_key key, uint64_t first, size_t count, float *out);
void fgi_rng_normal_range(fgi_key key, uint64_t first, size_t count, float *out);

/* A permutation of 0..n-1 as a function: the place of position i. n >= 1, i < n. No memory.
 * Up to n = 64 it is Fisher and Yates' shuffle, each of the n! orders equally likely over keys, at
 * the cost of n blocks a call. Beyond, it is a cycle-walking Feistel network of six rounds keyed by
 * `key` (Black and Rogaway 2002, "Ciphers with arbitrary finite domains"), O(1) for any i. */
uint64_t fgi_permute(fgi_key key, uint64_t n, uint64_t i);
/* The same for the positions first..first+count-1, all below n, several times faster: out[k] is
 * fgi_permute(key, n, first + k). */
void fgi_permute_range(fgi_key key, uint64_t n, uint64_t first, size_t count, uint64_t *out);

#endif
