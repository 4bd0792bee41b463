/* vector.h - vectors of floats, which the compiler maps to the available instructions. A function
 * that uses them is written once, INLINED, and compiled twice: for every processor, and WITH_AVX2.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_VECTOR_H
#define FGI_KERNEL_VECTOR_H

#include <stdint.h>

#define INLINED static inline __attribute__((always_inline))
#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_AVX2  (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
#define WITH_AVX2 __attribute__((target("avx2,fma")))
#else
#define HAS_AVX2 false
#define WITH_AVX2
#endif

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

#endif
