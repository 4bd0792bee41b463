/* processor.h - functions that are compiled again for newer processors: the same INLINED function
 * is called by one WITH_AVX2 or WITH_AVX512, which is used if the processor HAS_AVX2 or HAS_AVX512,
 * and by another one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_PROCESSOR_H
#define FGI_BASE_PROCESSOR_H

#include <stdbool.h>

#define INLINED static inline __attribute__((always_inline))
#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
/* Matrix tiles of bf16, a name that not all compilers know. */
static inline bool fgi_has_amx(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 22 & 1) != 0;
}
#define HAS_AVX2  (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
#define WITH_AVX2 __attribute__((target("avx2,fma")))
/* With 16-bit lanes: vectors become bf16 in three instructions instead of nine. */
#define HAS_AVX512                                                                                 \
    (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0)
#define WITH_AVX512     __attribute__((target("avx512f,avx512bw")))
#define HAS_AVX512_BF16 (__builtin_cpu_supports("avx512bf16") != 0)
#define HAS_AMX         fgi_has_amx()
#define IS_AMD          (__builtin_cpu_is("amd") != 0)
#else
#define HAS_AVX2        false
#define HAS_AVX512      false
#define HAS_AVX512_BF16 false
#define HAS_AMX         false
#define IS_AMD          false
#define WITH_AVX2
#define WITH_AVX512
#endif

#endif
