/* kernel_gelu.c - GELU and its gradient, each in one pass. The backend writes the function that
 * both have in common (erf, tanh) to memory, and reads it twice.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/parallel.h"
#include "kernel/vector.h"

/* Elements that a thread takes at a time. */
enum { CHUNK = 1 << 14, MOST_THREADS = 64 };

typedef struct problem {
    const char *x, *dy; /* dy: NULL for the function itself */
    char *y;
    int64_t count;
    bool is_half, is_tanh;
} problem;

/* The normal distribution's function P(x) and its derivative, from one exponential: erfc(z) is
 * t e^(-z^2) times a polynomial of t = 1 / (1 + 0.4 z) with a relative error of 6e-8, fitted to
 * erfcx(z) / t for z from 0 to 9.4 by least squares, with weights that make the largest errors
 * equal. */
INLINED void distribution(const fgi_wide *x, fgi_wide *p, fgi_wide *dp)
{
    static const float by_power[] = {.225624487f,  .226605624f,  .200750813f,
                                     .197755322f,  .0696897805f, .10230875f,
                                     .0716290921f, -.134418041f, .0400542282f};
    const fgi_wide_bits sign = (fgi_wide_bits)*x & 0x80000000;
    const fgi_wide z = (fgi_wide)((fgi_wide_bits)*x ^ sign) * .707106781f, t = 1 / (1 + .4f * z);
    fgi_wide sum = {0}, bell = -z * z;
    for (int i = sizeof by_power / sizeof by_power[0] - 1; i >= 0; i--)
        sum = sum * t + by_power[i];
    fgi_exp(&bell);
    const fgi_wide far = .5f * t * sum * bell, near = 1 - far; /* beyond |x| */
    const fgi_wide_bits is_negative = (fgi_wide_bits)(sign != 0);
    *p = (fgi_wide)((is_negative & (fgi_wide_bits)far) | (~is_negative & (fgi_wide_bits)near));
    *dp = bell * .398942280f;
}

/* The same of its approximation by tanh: the logistic function of 2 u, u = a (x + b x^3). */
INLINED void logistic(const fgi_wide *x, fgi_wide *p, fgi_wide *dp)
{
    const float a = .797884561f, b = .044715f;
    const fgi_wide square = *x * *x, u = a * *x * (1 + b * square);
    const fgi_wide_bits sign = (fgi_wide_bits)u & 0x80000000;
    const fgi_wide_bits is_negative = (fgi_wide_bits)(sign != 0);
    fgi_wide e = -2 * (fgi_wide)((fgi_wide_bits)u ^ sign);
    fgi_exp(&e);
    const fgi_wide near = 1 / (1 + e), far = e * near;
    *p = (fgi_wide)((is_negative & (fgi_wide_bits)far) | (~is_negative & (fgi_wide_bits)near));
    *dp = near * far * 2 * a * (1 + 3 * b * square);
}

/* y = x P(x), or dy (P(x) + x P'(x)) */
INLINED void compute(const char *x, const char *dy, char *y, bool is_half, bool is_tanh)
{
    fgi_wide in, by, p, dp;
    fgi_load(&in, x, is_half);
    if (is_tanh)
        logistic(&in, &p, &dp);
    else
        distribution(&in, &p, &dp);
    fgi_wide out = in * p;
    if (dy != NULL) {
        fgi_load(&by, dy, is_half);
        out = by * (p + in * dp);
    }
    fgi_store(y, &out, is_half);
}

INLINED void compute_range(const problem *p, int64_t first, int64_t end, bool is_half, bool is_tanh,
                           bool is_back)
{
    const int64_t size = is_half ? 2 : 4;
    int64_t i = first;
    for (; i + FGI_WIDE <= end; i += FGI_WIDE)
        compute(p->x + i * size, is_back ? p->dy + i * size : NULL, p->y + i * size, is_half,
                is_tanh);
    if (i == end)
        return;
    char x[FGI_WIDE * sizeof(float)] = {0}, dy[FGI_WIDE * sizeof(float)] = {0},
                      y[FGI_WIDE * sizeof(float)];
    const size_t rest = (size_t)((end - i) * size);
    memcpy(x, p->x + i * size, rest);
    if (is_back)
        memcpy(dy, p->dy + i * size, rest);
    compute(x, is_back ? dy : NULL, y, is_half, is_tanh);
    memcpy(p->y + i * size, y, rest);
}

INLINED void compute_kind(const problem *p, int64_t first, int64_t end, bool is_half, bool is_tanh)
{
    if (p->dy != NULL)
        compute_range(p, first, end, is_half, is_tanh, true);
    else
        compute_range(p, first, end, is_half, is_tanh, false);
}

INLINED void compute_chunk(void *context, int64_t i)
{
    const problem *p = context;
    const int64_t first = i * CHUNK, end = first + CHUNK < p->count ? first + CHUNK : p->count;
    if (p->is_half)
        p->is_tanh ? compute_kind(p, first, end, true, true)
                   : compute_kind(p, first, end, true, false);
    else
        p->is_tanh ? compute_kind(p, first, end, false, true)
                   : compute_kind(p, first, end, false, false);
}

FGI_WORK(compute_chunk)

static void *run(fgi_ffi_call *call, bool is_tanh)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *const *in = call->in.buffer, *y = call->out.buffer[0];
    problem p = {.x = in[0]->data,
                 .dy = call->in.count > 1 ? in[1]->data : NULL,
                 .y = y->data,
                 .count = fgi_ffi_count(y),
                 .is_half = y->dtype == FGI_FFI_BF16,
                 .is_tanh = is_tanh};
    const int threads = fgi_parallel_threads(call, MOST_THREADS);
    fgi_parallel(call, threads, (p.count + CHUNK - 1) / CHUNK, compute_chunk_work(), &p);
    return NULL;
}

void *fgi_kernel_gelu(fgi_ffi_call *call) { return run(call, false); }
void *fgi_kernel_gelu_tanh(fgi_ffi_call *call) { return run(call, true); }
