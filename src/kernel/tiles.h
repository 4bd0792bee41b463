/* tiles.h - matrix tiles of AMX: products of bf16, added up in f32, and their operands in the order
 * that the processor reads: 16 rows of 32 numbers, and pairs of rows of 16 columns.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_TILES_H
#define FGI_KERNEL_TILES_H

#include "kernel/pack.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define WITH_TILES __attribute__((target("avx512f,avx512bw,avx512bf16,amx-tile,amx-bf16")))
#else
#define WITH_TILES
#endif

/* Rows and columns of a block of the result; numbers that are multiplied at a time, a step. Each
 * operand of a step has FGI_TILE_STEP numbers. */
enum { FGI_TILE_BLOCK = 32, FGI_TILE_INNER = 32, FGI_TILE_STEP = FGI_TILE_BLOCK * FGI_TILE_INNER };

/* 16 columns of two rows as pairs: a row of a tile. */
INLINED void fgi_tile_pair(const uint16_t *one, const uint16_t *other, fgi_wide *to)
{
    const fgi_wide_halves a = *(const fgi_wide_halves *)(const void *)one;
    const fgi_wide_halves b = *(const fgi_wide_halves *)(const void *)other;
    *to = (fgi_wide)(__builtin_convertvector(a, fgi_wide_bits) |
                     __builtin_convertvector(b, fgi_wide_bits) << 16);
}

/* 32 columns of two rows as a row of a step's two tiles. */
INLINED void fgi_tile_pairs(const uint16_t *one, const uint16_t *other, uint16_t *to)
{
    fgi_tile_pair(one, other, (fgi_wide *)(void *)to);
    fgi_tile_pair(one + FGI_WIDE, other + FGI_WIDE, (fgi_wide *)(void *)(to + FGI_TILE_STEP / 2));
}

#if defined(__x86_64__) && defined(__GNUC__)

/* Makes this thread's tiles 16 rows of 64 bytes. The compiler does not know that all of the
 * configuration is read, so it is not built on the stack. */
WITH_TILES static inline void fgi_tiles_begin(void)
{
    static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1,
                .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&config);
}

WITH_TILES static inline void fgi_tiles_end(void) { _tile_release(); }

/* 32 numbers, rounded to bf16. */
WITH_TILES static inline void fgi_tile_round(const float *from, uint16_t *to)
{
    const __m512bh all =
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + FGI_WIDE), _mm512_loadu_ps(from));
    _mm512_storeu_si512(to, (__m512i)all);
}

/* 32 columns of two rows, rounded to bf16, as a row of a step's two tiles. */
WITH_TILES static inline void fgi_tile_round_pairs(const float *one, const float *other,
                                                   uint16_t *to)
{
    static const uint16_t order[] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                     8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i pairs = _mm512_loadu_si512(order);
    for (int half = 0; half < 2; half++, one += FGI_WIDE, other += FGI_WIDE) {
        const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(other), _mm512_loadu_ps(one));
        _mm512_storeu_si512(to + half * FGI_TILE_STEP / 2,
                            _mm512_permutexvar_epi16(pairs, (__m512i)both));
    }
}

/* y[32, 32] = a b, or is increased by it: `steps` steps of a, and those of b from at[]. */
WITH_TILES static inline void fgi_tiles_multiply(const uint16_t *a, const uint16_t *b,
                                                 const int64_t *at, int64_t steps, float *y,
                                                 int64_t y_row, bool adds)
{
    enum { HALF = FGI_TILE_STEP / 2, LINE = FGI_WIDE * sizeof(float) };
    const size_t row = (size_t)y_row * sizeof *y;
    float *low = y + FGI_WIDE * y_row;
    __asm__ volatile("" ::: "memory"); /* loads of tiles do not say that they read memory */
    if (adds) {
        _tile_loadd(0, y, row);
        _tile_loadd(1, y + FGI_WIDE, row);
        _tile_loadd(2, low, row);
        _tile_loadd(3, low + FGI_WIDE, row);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int64_t i = 0; i < steps; i++, a += FGI_TILE_STEP) {
        _tile_loadd(4, a, LINE);
        _tile_loadd(6, b + at[i], LINE);
        _tile_loadd(5, a + HALF, LINE);
        _tile_loadd(7, b + at[i] + HALF, LINE);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, y, row);
    _tile_stored(1, y + FGI_WIDE, row);
    _tile_stored(2, low, row);
    _tile_stored(3, low + FGI_WIDE, row);
}

#else /* never called: fgi_kernel_tiles_run() is false */

static inline void fgi_tiles_begin(void) {}
static inline void fgi_tiles_end(void) {}
static inline void fgi_tile_round(const float *from, uint16_t *to) { (void)from, (void)to; }
static inline void fgi_tile_round_pairs(const float *one, const float *other, uint16_t *to)
{
    (void)one, (void)other, (void)to;
}
static inline void fgi_tiles_multiply(const uint16_t *a, const uint16_t *b, const int64_t *at,
                                      int64_t steps, float *y, int64_t y_row, bool adds)
{
    (void)a, (void)b, (void)at, (void)steps, (void)y, (void)y_row, (void)adds;
}

#endif
#endif
