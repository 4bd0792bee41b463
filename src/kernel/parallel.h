/* parallel.h - the threads of XLA's pool, used by a kernel that one of them calls.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_PARALLEL_H
#define FGI_KERNEL_PARALLEL_H

#include "base/processor.h"
#include "kernel/ffi.h"

/* The threads that fgi_parallel uses, with the calling one: at least 1, at most `most`. */
int fgi_parallel_threads(const fgi_ffi_call *call, int most);
/* work(context, i, worker) for each i below count, on the calling thread and those of the pool that
 * are idle; `worker` is below `threads`, and different for calls that run at the same time. Returns
 * when all are done. Which thread does what differs from call to call. */
typedef void (*fgi_work)(void *context, int64_t i, int worker);
void fgi_parallel(const fgi_ffi_call *call, int threads, int64_t count, fgi_work work,
                  void *context);

/* For an INLINED name(context, i): name_work(), which calls it, compiled for this processor. */
#define FGI_WORK(name)                                                                             \
    WITH_AVX512 static void name##_avx512(void *context, int64_t i, int worker)                    \
    {                                                                                              \
        (void)worker;                                                                              \
        name(context, i);                                                                          \
    }                                                                                              \
    WITH_AVX2 static void name##_avx2(void *context, int64_t i, int worker)                        \
    {                                                                                              \
        (void)worker;                                                                              \
        name(context, i);                                                                          \
    }                                                                                              \
    static void name##_any(void *context, int64_t i, int worker)                                   \
    {                                                                                              \
        (void)worker;                                                                              \
        name(context, i);                                                                          \
    }                                                                                              \
    static fgi_work name##_work(void)                                                              \
    {                                                                                              \
        if (HAS_AVX512)                                                                            \
            return name##_avx512;                                                                  \
        return HAS_AVX2 ? name##_avx2 : name##_any;                                                \
    }

#endif
