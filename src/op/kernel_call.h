/* kernel_call.h - calls of kernels (kernel/kernel.h) in programs for the CPU.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_KERNEL_CALL_H
#define FGI_OP_KERNEL_CALL_H

#include "trace/graph.h"

typedef struct fgi_kernel_call {
    const char *kernel;
    int in_count, out_count;
    const fgi_value *in, *out;
    size_t size; /* of the struct of FGI_KERNEL_NUMBERS, all int64_t; 0: none */
    const void *numbers;
} fgi_kernel_call;

/* Emits the call for e->node; its errors name the user's line. */
void fgi_emit_kernel(fgi_emit *e, const fgi_kernel_call *call);

#endif
