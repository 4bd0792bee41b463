/* vector.h - vectors of floats, which the compiler maps to the available instructions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_VECTOR_H
#define FGI_KERNEL_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/processor.h"

/* For a loop whose iterations are independent, also where they read and write the same memory. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

enum { FGI_LANES = 8 };
/* As in memory: at any address that floats have. */
typedef float fgi_floats
    __attribute__((vector_size(FGI_LANES * sizeof(float)), aligned(4), may_alias));

/* 16 floats: a register of AVX-512, or two of AVX2. */
enum { FGI_WIDE = 16 };
typedef float fgi_wide
    __attribute__((vector_size(FGI_WIDE * sizeof(float)), aligned(4), may_alias));
typedef uint32_t fgi_wide_bits __attribute__((vector_size(FGI_WIDE * sizeof(uint32_t))));
typedef uint16_t fgi_wide_halves
    __attribute__((vector_size(FGI_WIDE * sizeof(uint16_t)), aligned(2), may_alias));

/* 16 numbers, f32 or bf16 in memory. bf16: rounded to the nearest, ties to even. */
INLINED void fgi_load(fgi_wide *to, const char *from, bool is_half)
{
    if (is_half)
        *to = (fgi_wide)(__builtin_convertvector(*(const fgi_wide_halves *)(const void *)from,
                                                 fgi_wide_bits)
                         << 16);
    else
        *to = *(const fgi_wide *)(const void *)from;
}

INLINED void fgi_store(char *to, const fgi_wide *from, bool is_half)
{
    const fgi_wide_bits bits = (fgi_wide_bits)*from;
    const fgi_wide_bits is_nan = (fgi_wide_bits)((bits & 0x7FFFFFFF) > 0x7F800000);
    const fgi_wide_bits rounded = bits + 0x7FFF + (bits >> 16 & 1);
    const fgi_wide_bits kept = (is_nan & (bits | 0x400000)) | (~is_nan & rounded);
    if (is_half)
        *(fgi_wide_halves *)(void *)to = __builtin_convertvector(kept >> 16, fgi_wide_halves);
    else
        *(fgi_wide *)(void *)to = *from;
}

/* x stays in the lanes whose bits are set, and becomes y in the others. */
INLINED void fgi_keep(const fgi_wide_bits *which, fgi_wide *x, float y)
{
    const fgi_wide all = (fgi_wide){0} + y;
    *x = (fgi_wide)((*which & (fgi_wide_bits)*x) | (~*which & (fgi_wide_bits)all));
}

/* Bits of the lanes whose number from `first` is below `count`. */
INLINED void fgi_find_below(int64_t first, int64_t count, fgi_wide_bits *out)
{
    static const fgi_wide_bits lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int64_t rest = count - first;
    *out = (fgi_wide_bits)(lane < (uint32_t)(rest < 0 ? 0 : rest));
}

/* e^x for x at most 0, or a little more: 2^n e^f, with |f| at most log(2) / 2, e^f by its Taylor
 * series. Below e^-86 it is 0. */
INLINED void fgi_exp(fgi_wide *x)
{
    const float to_integer = 12582912; /* 1.5 * 2^23: the sum is rounded to an integer */
    const fgi_wide_bits is_small = (fgi_wide_bits)(*x < -86.f), is_large = ~is_small;
    fgi_keep(&is_large, x, 0);
    const fgi_wide moved = *x * 1.44269504f + to_integer, n = moved - to_integer;
    const fgi_wide f = *x - n * 0.693359375f - n * -2.12194440e-4f;
    fgi_wide sum = f * (1.f / 5040) + 1.f / 720;
    sum = sum * f + 1.f / 120;
    sum = sum * f + 1.f / 24;
    sum = sum * f + 1.f / 6;
    sum = sum * f + .5f;
    sum = sum * f + 1;
    sum = sum * f + 1;
    *x = (fgi_wide)((fgi_wide_bits)sum + ((fgi_wide_bits)moved << 23));
    fgi_keep(&is_large, x, 0);
}

#endif
