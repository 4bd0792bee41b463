/* rng.c - Threefry-2x32-20 and functions based on it. Pure functions, no state.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "base/hash.h"
#include "base/processor.h"

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

/* The upper 24 bits, the precision of f32. */
INLINED float uniform_of(uint32_t word) { return (float)(int32_t)(word >> 8) * 0x1p-24F; }

/* log(u) for a normal f32 u. u = m 2^e with m between sqrt(1/2) and sqrt(2), and log(m) =
 * 2 artanh(s) with s = (m - 1) / (m + 1): Abramowitz and Stegun 1964, 4.1.27. */
INLINED double log_of(float u)
{
    const uint32_t one = 0x3f800000, root = 0x3f3504f3; /* 1 and sqrt(1/2) as bits */
    uint32_t bits;
    float m;
    memcpy(&bits, &u, sizeof bits);
    bits += one - root;
    const int32_t e = (int32_t)(bits >> 23) - 127;
    bits = (bits & 0x7fffff) + root;
    memcpy(&m, &bits, sizeof m);
    const double s = ((double)m - 1) / ((double)m + 1), z = s * s;
    double sum = z / 15 + 1.0 / 13;
    sum = sum * z + 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z + 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z + 1.0 / 3;
    sum = sum * z + 1;
    return e * 0.6931471805599453 + 2 * s * sum;
}

/* cos(2 pi v) for v from 0 to 1: sin(x) with x between -pi/2 and pi/2 (4.3.65). */
INLINED double cos_of_turns(double v)
{
    const double x = 6.283185307179586 * (fabs(v - 0.5) - 0.25), z = x * x;
    double sum = z / 355687428096000 - 1.0 / 1307674368000;
    sum = sum * z + 1.0 / 6227020800;
    sum = sum * z - 1.0 / 39916800;
    sum = sum * z + 1.0 / 362880;
    sum = sum * z - 1.0 / 5040;
    sum = sum * z + 1.0 / 120;
    sum = sum * z - 1.0 / 6;
    return x * (sum * z + 1);
}

/* Box and Muller 1958. The two functions are power series in double whose relative errors are below
 * 2^-43, so nearly all results are those of exact functions. They have no branches, so that several
 * values are computed at a time, and consist of operations that are the same on every processor. */
INLINED float normal_of(uint32_t a, uint32_t b)
{
    const float radius = uniform_of(a) + 0x1p-24F; /* in (0, 1]: its logarithm is finite */
    return (float)(sqrt(-2 * log_of(radius)) * cos_of_turns((double)uniform_of(b)));
}

float fgi_rng_uniform(fgi_key key, uint64_t i) { return uniform_of((uint32_t)fgi_rng_u64(key, i)); }

float fgi_rng_normal(fgi_key key, uint64_t i)
{
    const uint64_t bits = fgi_rng_u64(key, i);
    return normal_of((uint32_t)bits, (uint32_t)(bits >> 32));
}

/* ---- permutations ---------------------------------------------------------------------------- */

/* Up to this size a permutation is an explicit shuffle. Six rounds over halves of one to three bits
 * have too few different round functions: chi-squared tests of positions and of pairs detect the
 * bias of the network up to this size, and no longer for halves of four bits or more. */
enum { LARGEST_SHUFFLE = 64 };

/* Fisher-Yates shuffle, "inside out", with counter i for the draw of step i. The upper half of a 32
 * x 32-bit product is uniform in 0..i: no two probabilities differ by more than 2^-32. */
static void shuffle(fgi_key key, uint64_t n, unsigned char order[LARGEST_SHUFFLE])
{
    order[0] = 0;
    for (uint64_t i = 1; i < n; i++) {
        const uint64_t j = (fgi_rng_u64(key, i) >> 32) * (i + 1) >> 32;
        order[i] = order[j];
        order[j] = (unsigned char)i;
    }
}

/* One application of the Feistel network to two halves of `half_bits` bits (1 to 32). */
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

/* Half the number of bits of the network's domain, the smallest domain of at least n numbers. */
static int half_bits_of(uint64_t n)
{
    int half_bits = 1;
    while (half_bits < 32 && (n - 1) >> (2 * half_bits) != 0)
        half_bits++;
    return half_bits;
}

uint64_t fgi_permute(fgi_key key, uint64_t n, uint64_t i)
{
    if (n <= LARGEST_SHUFFLE) {
        unsigned char order[LARGEST_SHUFFLE];
        shuffle(key, n, order);
        return order[i];
    }
    const int half_bits = half_bits_of(n);
    /* The network permutes a domain of less than 4n numbers; following its cycle until it returns
     * to a number below n gives a permutation of 0..n-1. */
    do
        i = feistel(key, half_bits, i);
    while (i >= n);
    return i;
}

/* ---- vectorized ------------------------------------------------------------------------------ */

/* Threefry is a chain of dependent operations, so one block at a time leaves most of a processor
 * idle. LANES blocks are computed in parallel, in a vector that the compiler maps to the available
 * instructions. */
enum { LANES = 16 };
typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t))));

INLINED void mix(lanes *x0, lanes *x1, int bits)
{
    *x0 += *x1;
    *x1 = (*x1 << bits | *x1 >> (32 - bits)) ^ *x0;
}

INLINED void inject(lanes *x0, lanes *x1, const uint32_t schedule[3], uint32_t n)
{
    *x0 += schedule[n % 3];
    *x1 += schedule[(n + 1) % 3] + n;
}

/* Computes the blocks of the counters (x0, x1) in place. */
INLINED void threefry_lanes(const uint32_t schedule[3], lanes *x0, lanes *x1)
{
    inject(x0, x1, schedule, 0);
    for (uint32_t four = 1; four <= 5; four++) {
        if (four % 2 == 1) {
            mix(x0, x1, 13);
            mix(x0, x1, 15);
            mix(x0, x1, 26);
            mix(x0, x1, 6);
        } else {
            mix(x0, x1, 17);
            mix(x0, x1, 29);
            mix(x0, x1, 16);
            mix(x0, x1, 24);
        }
        inject(x0, x1, schedule, four);
    }
}

/* Draws numbers for the counters from `first`. */
INLINED void draw(fgi_key key, uint64_t first, size_t count, bool is_normal, float *out)
{
    const uint32_t schedule[3] = {key.word[0], key.word[1],
                                  key.word[0] ^ key.word[1] ^ 0x1bd11bdau};
    for (size_t at = 0; at < count; at += LANES) {
        lanes low, high;
        float drawn[LANES];
        for (size_t i = 0; i < LANES; i++) {
            low[i] = (uint32_t)(first + at + i);
            high[i] = (uint32_t)((first + at + i) >> 32);
        }
        threefry_lanes(schedule, &low, &high);
        if (is_normal)
            for (size_t i = 0; i < LANES; i++)
                drawn[i] = normal_of(low[i], high[i]);
        else
            for (size_t i = 0; i < LANES; i++)
                drawn[i] = uniform_of(low[i]);
        memcpy(out + at, drawn, (count - at < LANES ? count - at : LANES) * sizeof *out);
    }
}

WITH_AVX2 static void draw_avx2(fgi_key key, uint64_t first, size_t count, bool is_normal,
                                float *out)
{
    draw(key, first, count, is_normal, out);
}

WITH_AVX512 static void draw_avx512(fgi_key key, uint64_t first, size_t count, bool is_normal,
                                    float *out)
{
    draw(key, first, count, is_normal, out);
}

static void draw_range(fgi_key key, uint64_t first, size_t count, bool is_normal, float *out)
{
    if (HAS_AVX512)
        draw_avx512(key, first, count, is_normal, out);
    else if (HAS_AVX2)
        draw_avx2(key, first, count, is_normal, out);
    else
        draw(key, first, count, is_normal, out);
}

void fgi_rng_uniform_range(fgi_key key, uint64_t first, size_t count, float *out)
{
    draw_range(key, first, count, false, out);
}

void fgi_rng_normal_range(fgi_key key, uint64_t first, size_t count, float *out)
{
    draw_range(key, first, count, true, out);
}

/* One application of the network to the halves of a number in each lane, in place. */
INLINED void feistel_lanes(fgi_key key, uint32_t mask, uint32_t *halves)
{
    const uint32_t schedule[3] = {key.word[0], key.word[1],
                                  key.word[0] ^ key.word[1] ^ 0x1bd11bdau};
    lanes half[2], rounds = {0};
    memcpy(half, halves, sizeof half);
    for (int round = 0; round < 6; round++, rounds += 1) {
        lanes mixed = half[1], counter = rounds;
        threefry_lanes(schedule, &mixed, &counter);
        mixed = half[0] ^ (mixed & mask);
        half[0] = half[1];
        half[1] = mixed;
    }
    memcpy(halves, half, sizeof half);
}

static void shuffle_range(fgi_key key, uint64_t n, uint64_t first, size_t count, uint64_t *out)
{
    unsigned char order[LARGEST_SHUFFLE];
    shuffle(key, n, order);
    for (size_t i = 0; i < count; i++)
        out[i] = order[first + i];
}

/* Sets the halves of a number in one lane. */
INLINED void put_halves(uint64_t x, int half_bits, uint32_t *halves)
{
    halves[0] = (uint32_t)(x >> half_bits);
    halves[LANES] = (uint32_t)x & (uint32_t)((UINT64_C(1) << half_bits) - 1);
}

INLINED void permute_lanes(fgi_key key, uint64_t n, uint64_t first, size_t count, uint64_t *out)
{
    const int half_bits = half_bits_of(n);
    const uint32_t mask = (uint32_t)((UINT64_C(1) << half_bits) - 1);
    uint32_t halves[2 * LANES];
    size_t position[LANES], next = 0, left = count;
    for (; next < LANES; next++) {
        position[next] = next; /* past count: the lane is idle */
        put_halves(first + next, half_bits, halves + next);
    }
    while (left > 0) {
        feistel_lanes(key, mask, halves);
        for (int i = 0; i < LANES; i++) {
            const uint64_t x = (uint64_t)halves[i] << half_bits | halves[LANES + i];
            if (x >= n || position[i] >= count) /* its cycle continues */
                continue;
            out[position[i]] = x;
            left--;
            position[i] = next < count ? next : count;
            put_halves(first + next, half_bits, halves + i);
            next += next < count;
        }
    }
}

WITH_AVX2 static void permute_avx2(fgi_key key, uint64_t n, uint64_t first, size_t count,
                                   uint64_t *out)
{
    permute_lanes(key, n, first, count, out);
}

WITH_AVX512 static void permute_avx512(fgi_key key, uint64_t n, uint64_t first, size_t count,
                                       uint64_t *out)
{
    permute_lanes(key, n, first, count, out);
}

void fgi_permute_range(fgi_key key, uint64_t n, uint64_t first, size_t count, uint64_t *out)
{
    if (n <= LARGEST_SHUFFLE)
        shuffle_range(key, n, first, count, out);
    else if (HAS_AVX512)
        permute_avx512(key, n, first, count, out);
    else if (HAS_AVX2)
        permute_avx2(key, n, first, count, out);
    else
        permute_lanes(key, n, first, count, out);
}
