/* kernel_nonfinite.c - whether tensors have infinite elements or NaNs: 0 times these is NaN.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/kernel.h"
#include "kernel/vector.h"

enum { SUMS = 4 };

INLINED float mark(const float *x, int64_t count)
{
    fgi_floats sum[SUMS] = {{0}};
    float all = 0;
    int64_t i = 0;
    for (; i + SUMS * FGI_LANES <= count; i += SUMS * FGI_LANES)
        for (int k = 0; k < SUMS; k++)
            sum[k] += 0 * ((const fgi_floats *)(const void *)(x + i))[k];
    for (; i < count; i++)
        all += 0 * x[i];
    for (int k = 0; k < SUMS * FGI_LANES; k++)
        all += sum[k / FGI_LANES][k % FGI_LANES];
    return all;
}

WITH_AVX2 static float mark_avx2(const float *x, int64_t count) { return mark(x, count); }
static float mark_any(const float *x, int64_t count) { return mark(x, count); }

void *fgi_kernel_nonfinite(fgi_ffi_call *call)
{
    float all = 0;
    if (fgi_ffi_is_question(call))
        return NULL;
    for (int64_t i = 0; i < call->in.count; i++) {
        const fgi_ffi_buffer *x = call->in.buffer[i];
        all += (HAS_AVX2 ? mark_avx2 : mark_any)(x->data, fgi_ffi_count(x));
    }
    *(float *)call->out.buffer[0]->data = all;
    return NULL;
}
