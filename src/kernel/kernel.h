/* kernel.h - the kernels. All tensors are f32 and row-major. The compile cache only sees the names,
 * which are part of the programs, so a kernel with another result needs another name. Thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_KERNEL_H
#define FGI_KERNEL_KERNEL_H

#include "kernel/ffi.h"

/* y[m, n] = op(a) op(b). The shapes of a and b: [m, k] and [k, n]; [m, k] and [n, k] (b is
 * transposed); [k, m] and [k, n] (a is). k is at most FGI_KERNEL_INNER. */
#define FGI_KERNEL_MATMUL_PREFIX "fulgurite.matmul"
#define FGI_KERNEL_MATMUL        FGI_KERNEL_MATMUL_PREFIX ".1"
#define FGI_KERNEL_MATMUL_BT     FGI_KERNEL_MATMUL_PREFIX "_bt.1"
#define FGI_KERNEL_MATMUL_AT     FGI_KERNEL_MATMUL_PREFIX "_at.1"
enum { FGI_KERNEL_INNER = 512 };

/* Any number of tensors -> f32[]: 0 if all elements are finite, else NaN. */
#define FGI_KERNEL_NONFINITE "fulgurite.nonfinite.1"

/* Adam's update (src/op/adam_update.c) of up to FGI_KERNEL_ADAM_MOST parameters p with moments m
 * and s and gradient g, of the shape of p, and the numbers of enum fgi_kernel_adam: (p, m, s for
 * each; g for each; f32[FGI_KERNEL_ADAM_NUMBERS]) -> (p, m, s for each), in the same memory. */
#define FGI_KERNEL_ADAM "fulgurite.adam.1"
enum fgi_kernel_adam {
    FGI_KERNEL_ADAM_PENALTY, /* times p is added to g */
    FGI_KERNEL_ADAM_KEEP,    /* p is multiplied by it */
    FGI_KERNEL_ADAM_REST,    /* 1 - beta1 */
    FGI_KERNEL_ADAM_BETA2,
    FGI_KERNEL_ADAM_REST2, /* 1 - beta2 */
    FGI_KERNEL_ADAM_WIDEN, /* 1 / sqrt(1 - beta2^t) */
    FGI_KERNEL_ADAM_EPS,
    FGI_KERNEL_ADAM_RATE,  /* lr / (1 - beta1^t) */
    FGI_KERNEL_ADAM_AFTER, /* ignored: it is known when the last value that depends on p is */
    FGI_KERNEL_ADAM_NUMBERS,
    FGI_KERNEL_ADAM_MOST = 5
};

/* Notes the time and its operand, u32[], while a record is on: (u32[]) -> (). */
#define FGI_KERNEL_CLOCK "fulgurite.clock.1"
typedef struct fgi_tick {
    int64_t ns;
    uint32_t mark; /* the operand */
} fgi_tick;
/* Starts a record; false: one is on. There is one in a process. */
bool fgi_clock_start(fgi_tick *ticks, size_t most);
/* Ends it, when no program runs that calls the kernel; the number of calls, may exceed `most`. */
size_t fgi_clock_stop(void);

typedef struct fgi_kernel {
    const char *name;
    void *(*run)(fgi_ffi_call *call); /* NULL, or the error of XLA's interface */
} fgi_kernel;

extern const fgi_kernel fgi_kernels[];
extern const size_t fgi_kernel_count;

void *fgi_kernel_matmul(fgi_ffi_call *call);
void *fgi_kernel_matmul_bt(fgi_ffi_call *call);
void *fgi_kernel_matmul_at(fgi_ffi_call *call);
void *fgi_kernel_nonfinite(fgi_ffi_call *call);
void *fgi_kernel_adam(fgi_ffi_call *call);
void *fgi_kernel_clock(fgi_ffi_call *call);

#endif
