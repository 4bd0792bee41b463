/* kernel_norm.c - layer norm and RMS norm over the last axis, and their gradients, each in one pass
 * over memory: a row is in the cache while its statistics are computed and used, in f32.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/pack.h"
#include "kernel/parallel.h"

/* Elements that a thread takes at a time. */
enum { CHUNK = 1 << 14, MOST_THREADS = 64 };

/* Rows of `width` numbers, `chunk` of them at a time. */
typedef struct problem {
    const char *x, *dy;
    char *y; /* or dx */
    const float *weight, *bias;
    float *mean, *rstd; /* results, or operands of the gradient */
    float *parts;       /* f32[chunks, 2, width]: of dweight and dbias */
    float eps;
    int64_t rows, width, chunk;
    bool is_half, is_rms;
} problem;

/* ---- numbers --------------------------------------------------------------------------------- */

INLINED void load_f32(fgi_wide *to, const float *from, int64_t count)
{
    fgi_load_few(to, (const char *)from, count, false);
}

/* Adds to numbers in memory. */
INLINED void add_to(float *to, const fgi_wide *by, int64_t count)
{
    fgi_wide sum;
    load_f32(&sum, to, count);
    sum += *by;
    fgi_store_few((char *)to, &sum, count, false);
}

INLINED float total(const fgi_wide *x)
{
    fgi_wide a = *x;
    a += __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    a += __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    return (a[0] + a[2]) + (a[1] + a[3]);
}

/* statement, for all numbers of a row: `count` from i on. A constant in whole vectors. */
#define EACH_PART(width, statement)                                                                \
    for (int64_t i = 0; i < (width); i += FGI_WIDE)                                                \
        if (i + FGI_WIDE <= (width)) {                                                             \
            const int64_t count = FGI_WIDE;                                                        \
            statement;                                                                             \
        } else {                                                                                   \
            const int64_t count = (width)-i;                                                       \
            statement;                                                                             \
        }

/* ---- forward --------------------------------------------------------------------------------- */

INLINED void add_squares(const char *x, float mean, int64_t count, bool is_half, fgi_wide *sum)
{
    fgi_wide_bits is_there;
    fgi_wide away;
    fgi_load_few(&away, x, count, is_half);
    away -= mean;
    fgi_find_below(0, count, &is_there);
    if (count < FGI_WIDE)
        fgi_keep(&is_there, &away, 0);
    *sum += away * away;
}

INLINED void add_numbers(const char *x, int64_t count, bool is_half, fgi_wide *sum)
{
    fgi_wide in;
    fgi_load_few(&in, x, count, is_half);
    *sum += in;
}

INLINED void normalize(const problem *p, const char *x, char *y, int64_t i, int64_t count,
                       float mean, float rstd, bool is_half)
{
    fgi_wide in, weight, bias;
    fgi_load_few(&in, x, count, is_half);
    load_f32(&weight, p->weight + i, count);
    load_f32(&bias, p->bias + i, count);
    const fgi_wide out = (in - mean) * rstd * weight + bias;
    fgi_store_few(y, &out, count, is_half);
}

INLINED void forward_row(const problem *p, int64_t row, bool is_half)
{
    const int64_t width = p->width, size = is_half ? 2 : 4;
    const char *x = p->x + row * width * size;
    char *y = p->y + row * width * size;
    fgi_wide sum = {0}, squares = {0};
    if (!p->is_rms) {
        EACH_PART(width, add_numbers(x + i * size, count, is_half, &sum))
    }
    const float mean = total(&sum) / (float)width;
    EACH_PART(width, add_squares(x + i * size, mean, count, is_half, &squares))
    const float rstd = 1 / sqrtf(total(&squares) / (float)width + p->eps);
    EACH_PART(width, normalize(p, x + i * size, y + i * size, i, count, mean, rstd, is_half))
    p->mean[row] = mean;
    p->rstd[row] = rstd;
}

/* ---- gradient -------------------------------------------------------------------------------- */

/* dx = rstd (g - mean(g) - z mean(g z)), g = weight dy, z = (x - mean) rstd; of RMS norm without
 * mean(g). Source: Ba et al. 2016, "Layer normalization", section 3, differentiated. */
typedef struct row {
    const char *x, *dy;
    char *dx;
    float mean, rstd, mean_g, mean_gz;
} row;

INLINED void add_derivatives(const problem *p, const row *r, int64_t i, int64_t count, bool is_half,
                             float *dweight, fgi_wide *sum_g, fgi_wide *sum_gz)
{
    const int64_t size = is_half ? 2 : 4;
    fgi_wide x, dy, weight;
    fgi_load_few(&x, r->x + i * size, count, is_half);
    fgi_load_few(&dy, r->dy + i * size, count, is_half);
    load_f32(&weight, p->weight + i, count);
    const fgi_wide by_weight = dy * ((x - r->mean) * r->rstd);
    *sum_g += dy * weight;
    *sum_gz += by_weight * weight;
    add_to(dweight + i, &by_weight, count);
    add_to(dweight + p->width + i, &dy, count);
}

INLINED void write_dx(const problem *p, const row *r, int64_t i, int64_t count, bool is_half)
{
    const int64_t size = is_half ? 2 : 4;
    fgi_wide x, dy, weight;
    fgi_load_few(&x, r->x + i * size, count, is_half);
    fgi_load_few(&dy, r->dy + i * size, count, is_half);
    load_f32(&weight, p->weight + i, count);
    const fgi_wide z = (x - r->mean) * r->rstd;
    const fgi_wide dx = (dy * weight - r->mean_g - z * r->mean_gz) * r->rstd;
    fgi_store_few(r->dx + i * size, &dx, count, is_half);
}

INLINED void backward_row(const problem *p, int64_t index, float *dweight, bool is_half)
{
    const int64_t width = p->width, at = index * width * (is_half ? 2 : 4);
    row r = {.x = p->x + at,
             .dy = p->dy + at,
             .dx = p->y + at,
             .mean = p->mean[index],
             .rstd = p->rstd[index]};
    fgi_wide g = {0}, gz = {0};
    EACH_PART(width, add_derivatives(p, &r, i, count, is_half, dweight, &g, &gz))
    r.mean_g = p->is_rms ? 0 : total(&g) / (float)width;
    r.mean_gz = total(&gz) / (float)width;
    EACH_PART(width, write_dx(p, &r, i, count, is_half))
}

/* ---- chunks of rows -------------------------------------------------------------------------- */

INLINED void compute_rows(const problem *p, int64_t chunk, bool is_half)
{
    const int64_t first = chunk * p->chunk, end = fgi_least(first + p->chunk, p->rows);
    float *dweight = p->parts + 2 * p->width * chunk;
    if (p->dy != NULL)
        memset(dweight, 0, (size_t)(2 * p->width) * sizeof *dweight);
    for (int64_t i = first; i < end; i++)
        if (p->dy != NULL)
            backward_row(p, i, dweight, is_half);
        else
            forward_row(p, i, is_half);
}

INLINED void compute_chunk(const problem *p, int64_t i)
{
    if (p->is_half)
        compute_rows(p, i, true);
    else
        compute_rows(p, i, false);
}

FGI_WORK(compute_chunk)

/* ---- calls ----------------------------------------------------------------------------------- */

static problem problem_of(const fgi_ffi_call *call, bool is_rms)
{
    const fgi_ffi_buffer *x = call->in.buffer[0], *weight = call->in.buffer[1];
    const int64_t width = fgi_ffi_count(weight);
    return (problem){.x = x->data,
                     .y = call->out.buffer[0]->data,
                     .weight = weight->data,
                     .rows = fgi_ffi_count(x) / width,
                     .width = width,
                     .is_half = x->dtype == FGI_FFI_BF16,
                     .is_rms = is_rms};
}

static void run(const fgi_ffi_call *call, problem *p)
{
    fgi_parallel(call, fgi_parallel_threads(call, MOST_THREADS), fgi_blocks(p->rows, p->chunk),
                 compute_chunk_work(), p);
}

static void *forward(fgi_ffi_call *call, bool is_rms)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    problem p = problem_of(call, is_rms);
    p.bias = call->in.buffer[2]->data;
    p.eps = *(const float *)call->in.buffer[3]->data;
    p.mean = call->out.buffer[1]->data;
    p.rstd = call->out.buffer[2]->data;
    p.chunk = fgi_blocks(CHUNK, p.width);
    run(call, &p);
    return NULL;
}

static void *backward(fgi_ffi_call *call, bool is_rms)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *const *in = call->in.buffer, *const *out = call->out.buffer;
    problem p = problem_of(call, is_rms);
    p.mean = in[2]->data;
    p.rstd = in[3]->data;
    p.dy = in[4]->data;
    p.parts = out[3]->data;
    p.chunk = fgi_blocks(p.rows, out[3]->dim[0]);
    run(call, &p);
    for (int which = 0; which < 2; which++) {
        float *sum = memset(out[1 + which]->data, 0, (size_t)p.width * sizeof *sum);
        for (int64_t chunk = 0; chunk < fgi_blocks(p.rows, p.chunk); chunk++) {
            const float *part = p.parts + (2 * chunk + which) * p.width;
            for (int64_t i = 0; i < p.width; i++)
                sum[i] += part[i];
        }
    }
    return NULL;
}

void *fgi_kernel_layer_norm(fgi_ffi_call *call) { return forward(call, false); }
void *fgi_kernel_layer_norm_dx(fgi_ffi_call *call) { return backward(call, false); }
void *fgi_kernel_rms_norm(fgi_ffi_call *call) { return forward(call, true); }
void *fgi_kernel_rms_norm_dx(fgi_ffi_call *call) { return backward(call, true); }
