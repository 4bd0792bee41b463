/* kernel_adam.c - Adam's update of parameters and their moments, in one pass.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/parallel.h"
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

/* Elements that a thread takes at a time. */
enum { CHUNK = 1 << 14, MOST_THREADS = 64 };

/* Chunks are numbered from the first tensor's to the last one's. */
INLINED void update_chunk(void *context, int64_t i)
{
    const fgi_ffi_call *call = context;
    const int64_t tensors = call->out.count / 3;
    const float *numbers = call->in.buffer[4 * tensors]->data;
    int64_t t = 0, count = fgi_ffi_count(call->out.buffer[0]);
    for (; i * CHUNK >= count; count = fgi_ffi_count(call->out.buffer[3 * ++t]))
        i -= (count + CHUNK - 1) / CHUNK;
    const fgi_ffi_buffer *const *in = call->in.buffer + 3 * t,
                                *g = call->in.buffer[3 * tensors + t];
    const fgi_ffi_buffer *const *out = call->out.buffer + 3 * t;
    const int64_t at = i * CHUNK;
    const state before = {(const float *)in[0]->data + at, (const float *)in[1]->data + at,
                          (const float *)in[2]->data + at};
    const result now = {(float *)out[0]->data + at, (float *)out[1]->data + at,
                        (float *)out[2]->data + at};
    update(&before, (const float *)g->data + at, numbers, count - at < CHUNK ? count - at : CHUNK,
           &now);
}

FGI_WORK(update_chunk)

void *fgi_kernel_adam(fgi_ffi_call *call)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    int64_t chunks = 0;
    for (int64_t t = 0; t < call->out.count / 3; t++)
        chunks += (fgi_ffi_count(call->out.buffer[3 * t]) + CHUNK - 1) / CHUNK;
    const int threads = chunks > 1 ? fgi_parallel_threads(call, MOST_THREADS) : 1;
    fgi_parallel(call, threads, chunks, update_chunk_work(), call);
    return NULL;
}
