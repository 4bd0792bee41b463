/* kernel_adam.c - Adam's update of parameters and their moments, one loop each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vector.h"

/* `before` and `now` may be the same memory. */
typedef struct state {
    const float *p, *m, *s;
} state;

typedef struct result {
    float *p, *m, *s;
} result;

INLINED void update(const state *before, const float *gradient, const float *number, int64_t count,
                    const result *now)
{
    const float penalty = number[FGI_KERNEL_ADAM_PENALTY];
    const float keep = number[FGI_KERNEL_ADAM_KEEP];
    const float rest = number[FGI_KERNEL_ADAM_REST];
    const float beta2 = number[FGI_KERNEL_ADAM_BETA2];
    const float rest2 = number[FGI_KERNEL_ADAM_REST2];
    const float widen = number[FGI_KERNEL_ADAM_WIDEN];
    const float eps = number[FGI_KERNEL_ADAM_EPS];
    const float rate = number[FGI_KERNEL_ADAM_RATE];
    INDEPENDENT
    for (int64_t i = 0; i < count; i++) {
        const float p = before->p[i], g = gradient[i] + (penalty != 0 ? p * penalty : 0);
        const float m = before->m[i] + (g - before->m[i]) * rest;
        const float s = before->s[i] * beta2 + g * g * rest2;
        now->m[i] = m;
        now->s[i] = s;
        now->p[i] = p * keep - m / (sqrtf(s) * widen + eps) * rate;
    }
}

typedef void update_fn(const state *before, const float *gradient, const float *number,
                       int64_t count, const result *now);

WITH_AVX2 static void update_avx2(const state *before, const float *gradient, const float *number,
                                  int64_t count, const result *now)
{
    update(before, gradient, number, count, now);
}

static void update_any(const state *before, const float *gradient, const float *number,
                       int64_t count, const result *now)
{
    update(before, gradient, number, count, now);
}

void *fgi_kernel_adam(fgi_ffi_call *call)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    update_fn *const run = HAS_AVX2 ? update_avx2 : update_any;
    const int64_t count = call->out.count / 3;
    const float *numbers = call->in.buffer[4 * count]->data;
    for (int64_t i = 0; i < count; i++) {
        const fgi_ffi_buffer *const *in = call->in.buffer + 3 * i;
        const fgi_ffi_buffer *const *out = call->out.buffer + 3 * i;
        const fgi_ffi_buffer *g = call->in.buffer[3 * count + i];
        const state before = {in[0]->data, in[1]->data, in[2]->data};
        const result now = {out[0]->data, out[1]->data, out[2]->data};
        run(&before, g->data, numbers, fgi_ffi_count(g), &now);
    }
    return NULL;
}
