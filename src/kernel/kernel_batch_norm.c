/* kernel_batch_norm.c - batch normalization in training: the statistics of each channel, the
 * normalization, with a sum and a relu that follow it, and its gradient, with that of a relu. The
 * backend reads the batch about twice as often.
 *
 * Rows are divided into at most MOST_TASKS tasks, whose sums are added in their order: the result
 * does not depend on the threads. Vectors consist of adjacent channels; if their number is no
 * multiple of FGI_WIDE, the last one begins earlier, and its first channels are computed twice.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/parallel.h"
#include "kernel/vector.h"

/* A task has at least LEAST numbers. Its rows are summed in blocks of about BLOCK numbers, which
 * stay in the cache for a second pass. */
enum { MOST_TASKS = 64, LEAST = 1 << 15, BLOCK = 1 << 13, LEAST_ROWS = 16, MOST_THREADS = 64 };

/* Sums of a task: mean and sum of squared distances, or the two sums of the gradient; in each pair,
 * those of its current block follow. For the gradient of x, the first task's are its factors. */
enum { FIRST, SECOND, BLOCK_FIRST, BLOCK_SECOND, SUMS };
enum { SCALE = BLOCK_FIRST };

/* A tensor of the call; NULL: none. */
typedef struct numbers {
    char *data;
    bool is_half;
} numbers;

typedef struct problem {
    numbers x, y, other, dy, dx; /* other: what is added to y */
    const float *mean, *rstd, *weight, *bias;
    float *by_task;                /* [tasks, SUMS, vectors, FGI_WIDE] */
    float *first, *second;         /* results: mean and variance, or dbias and dweight */
    const float *dbias, *dweight;  /* of all parts */
    int64_t rows, valid, channels; /* valid: the first rows, without padding */
    int64_t vectors, tasks;
    float all; /* valid rows of all parts */
    bool is_relu;
} problem;

int64_t fgi_kernel_batch_norm_memory(int64_t rows, int64_t channels)
{
    const int64_t vectors = (channels + FGI_WIDE - 1) / FGI_WIDE, most = rows * channels / LEAST;
    const int64_t tasks = most < 1 ? 1 : most < MOST_TASKS ? most : MOST_TASKS;
    return tasks * SUMS * vectors * FGI_WIDE;
}

/* The first channel of a vector. */
INLINED int64_t channel_of(const problem *p, int64_t vector)
{
    const int64_t last = p->channels - FGI_WIDE;
    return vector * FGI_WIDE < last ? vector * FGI_WIDE : last;
}

INLINED void load(fgi_wide *to, const numbers *from, int64_t at)
{
    if (from->is_half)
        fgi_load(to, from->data + 2 * at, true);
    else
        fgi_load(to, from->data + 4 * at, false);
}

INLINED void store(const numbers *to, int64_t at, const fgi_wide *from)
{
    if (to->is_half)
        fgi_store(to->data + 2 * at, from, true);
    else
        fgi_store(to->data + 4 * at, from, false);
}

INLINED fgi_wide *sums_of(const problem *p, int64_t task, int which)
{
    return (fgi_wide *)(void *)p->by_task + (task * SUMS + which) * p->vectors;
}

/* The end of the rows of a task, of `rows`. */
INLINED int64_t end_of(const problem *p, int64_t task, int64_t rows)
{
    return (task + 1) * rows / p->tasks;
}

INLINED int64_t block_rows(const problem *p)
{
    const int64_t rows = BLOCK / p->channels;
    return rows > LEAST_ROWS ? rows : LEAST_ROWS;
}

/* ---- statistics ------------------------------------------------------------------------------ */

/* n numbers with this mean and this sum of squared distances, and `more` numbers with another one.
 * Source: Chan, Golub and LeVeque 1983, "Algorithms for computing the sample variance". */
INLINED void join(fgi_wide *mean, fgi_wide *squares, float n, const fgi_wide *more_mean,
                  const fgi_wide *more_squares, float more)
{
    const fgi_wide away = *more_mean - *mean;
    const float part = more / (n + more);
    *mean += away * part;
    *squares += *more_squares + away * away * (n * part);
}

/* Adds rows [row, end) to the task's statistics of n rows. */
INLINED void measure_block(const problem *p, int64_t task, int64_t row, int64_t end, float n)
{
    fgi_wide *mean = sums_of(p, task, FIRST), *squares = sums_of(p, task, SECOND);
    fgi_wide *near = sums_of(p, task, BLOCK_FIRST), *away = sums_of(p, task, BLOCK_SECOND);
    const float rows = (float)(end - row);
    fgi_wide x;
    memset(near, 0, sizeof *near * (size_t)p->vectors);
    memset(away, 0, sizeof *away * (size_t)p->vectors);
    for (int64_t r = row; r < end; r++)
        for (int64_t v = 0; v < p->vectors; v++) {
            load(&x, &p->x, r * p->channels + channel_of(p, v));
            near[v] += x;
        }
    for (int64_t v = 0; v < p->vectors; v++)
        near[v] *= 1 / rows;
    for (int64_t r = row; r < end; r++)
        for (int64_t v = 0; v < p->vectors; v++) {
            load(&x, &p->x, r * p->channels + channel_of(p, v));
            away[v] += (x - near[v]) * (x - near[v]);
        }
    for (int64_t v = 0; v < p->vectors; v++)
        join(&mean[v], &squares[v], n, &near[v], &away[v], rows);
}

INLINED void measure(const problem *p, int64_t task)
{
    const int64_t first = end_of(p, task - 1, p->valid), end = end_of(p, task, p->valid);
    const int64_t step = block_rows(p);
    memset(sums_of(p, task, FIRST), 0, 2 * sizeof(fgi_wide) * (size_t)p->vectors);
    for (int64_t row = first; row < end; row += step)
        measure_block(p, task, row, row + step < end ? row + step : end, (float)(row - first));
}

/* mean and variance, of all tasks */
INLINED void finish_measuring(const problem *p)
{
    const float count = (float)(p->valid > 0 ? p->valid : 1);
    for (int64_t v = 0; v < p->vectors; v++) {
        fgi_wide mean = {0}, squares = {0};
        for (int64_t task = 0; task < p->tasks; task++) {
            const int64_t first = end_of(p, task - 1, p->valid), end = end_of(p, task, p->valid);
            if (end > first)
                join(&mean, &squares, (float)first, &sums_of(p, task, FIRST)[v],
                     &sums_of(p, task, SECOND)[v], (float)(end - first));
        }
        *(fgi_wide *)(void *)(p->first + channel_of(p, v)) = mean;
        *(fgi_wide *)(void *)(p->second + channel_of(p, v)) = squares / count;
    }
}

/* ---- normalization --------------------------------------------------------------------------- */

INLINED const fgi_wide *vector_at(const float *from, int64_t channel)
{
    return (const fgi_wide *)(const void *)(from + channel);
}

INLINED void normalize_one(const problem *p, const fgi_wide *x, int64_t channel, fgi_wide *y)
{
    const fgi_wide scale = *vector_at(p->rstd, channel) * *vector_at(p->weight, channel);
    *y = (*x - *vector_at(p->mean, channel)) * scale + *vector_at(p->bias, channel);
}

/* Keeps x where the relu of y passes it on. */
INLINED void mask(fgi_wide *x, const fgi_wide *y)
{
    const fgi_wide_bits is_positive = (fgi_wide_bits)(*y > 0);
    *x = (fgi_wide)(is_positive & (fgi_wide_bits)*x);
}

/* max(y, 0), which is NaN if y is */
INLINED void rectify(fgi_wide *y)
{
    const fgi_wide_bits is_small = (fgi_wide_bits)(*y <= 0);
    *y = (fgi_wide)(~is_small & (fgi_wide_bits)*y);
}

INLINED void normalize(const problem *p, int64_t task)
{
    const int64_t end = end_of(p, task, p->rows);
    for (int64_t r = end_of(p, task - 1, p->rows); r < end; r++)
        for (int64_t v = 0; v < p->vectors; v++) {
            const int64_t channel = channel_of(p, v), at = r * p->channels + channel;
            fgi_wide x, y, other;
            load(&x, &p->x, at);
            normalize_one(p, &x, channel, &y);
            if (p->other.data != NULL) {
                load(&other, &p->other, at);
                y += other;
            }
            if (p->is_relu)
                rectify(&y);
            store(&p->y, at, &y);
        }
}

/* ---- gradient -------------------------------------------------------------------------------- */

/* The derivative by the normalized x, and x - mean. */
INLINED void look(const problem *p, int64_t at, int64_t channel, fgi_wide *dy, fgi_wide *away)
{
    fgi_wide x, y;
    load(&x, &p->x, at);
    load(dy, &p->dy, at);
    if (p->is_relu) {
        normalize_one(p, &x, channel, &y);
        mask(dy, &y);
    }
    *away = x - *vector_at(p->mean, channel);
}

/* Adds rows [row, end) to the task's sums of dy and dy (x - mean). */
INLINED void add_block(const problem *p, int64_t task, int64_t row, int64_t end)
{
    fgi_wide *sum = sums_of(p, task, FIRST), *moment = sums_of(p, task, SECOND);
    fgi_wide *near = sums_of(p, task, BLOCK_FIRST), *near_moment = sums_of(p, task, BLOCK_SECOND);
    memset(near, 0, sizeof *near * (size_t)p->vectors);
    memset(near_moment, 0, sizeof *near * (size_t)p->vectors);
    for (int64_t r = row; r < end; r++)
        for (int64_t v = 0; v < p->vectors; v++) {
            const int64_t channel = channel_of(p, v), at = r * p->channels + channel;
            fgi_wide dy, away;
            look(p, at, channel, &dy, &away);
            near[v] += dy;
            near_moment[v] += dy * away;
        }
    for (int64_t v = 0; v < p->vectors; v++) {
        sum[v] += near[v];
        moment[v] += near_moment[v];
    }
}

INLINED void add_up(const problem *p, int64_t task)
{
    const int64_t first = end_of(p, task - 1, p->rows), step = block_rows(p);
    const int64_t end = end_of(p, task, p->rows);
    memset(sums_of(p, task, FIRST), 0, 2 * sizeof(fgi_wide) * (size_t)p->vectors);
    for (int64_t row = first; row < end; row += step)
        add_block(p, task, row, row + step < end ? row + step : end);
}

/* dbias and dweight */
INLINED void finish_adding(const problem *p)
{
    for (int64_t v = 0; v < p->vectors; v++) {
        const int64_t channel = channel_of(p, v);
        fgi_wide sum = {0}, product = {0};
        for (int64_t task = 0; task < p->tasks; task++) {
            sum += sums_of(p, task, FIRST)[v];
            product += sums_of(p, task, SECOND)[v];
        }
        *(fgi_wide *)(void *)(p->first + channel) = sum;
        *(fgi_wide *)(void *)(p->second + channel) = product * *vector_at(p->rstd, channel);
    }
}

/* The factors of differentiate(). */
INLINED void prepare(const problem *p)
{
    for (int64_t v = 0; v < p->vectors; v++) {
        const int64_t channel = channel_of(p, v);
        const fgi_wide rstd = *vector_at(p->rstd, channel);
        sums_of(p, 0, FIRST)[v] = *vector_at(p->dbias, channel) / p->all;
        sums_of(p, 0, SECOND)[v] = *vector_at(p->dweight, channel) * rstd / p->all;
        sums_of(p, 0, SCALE)[v] = rstd * *vector_at(p->weight, channel);
    }
}

/* dx = weight rstd (dy - dbias / n - (x - mean) rstd dweight / n); 0 in padding rows. */
INLINED void differentiate(const problem *p, int64_t task)
{
    const fgi_wide *sum = sums_of(p, 0, FIRST), *product = sums_of(p, 0, SECOND);
    const fgi_wide *scale = sums_of(p, 0, SCALE);
    const int64_t end = end_of(p, task, p->rows);
    for (int64_t r = end_of(p, task - 1, p->rows); r < end; r++)
        for (int64_t v = 0; v < p->vectors; v++) {
            const int64_t channel = channel_of(p, v), at = r * p->channels + channel;
            fgi_wide dy, away, dx = {0};
            if (r < p->valid) {
                look(p, at, channel, &dy, &away);
                dx = (dy - sum[v] - away * product[v]) * scale[v];
            }
            store(&p->dx, at, &dx);
        }
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Runs a function for each task, with a copy of the problem, which no store can change. */
#define FOR_EACH_TASK(name)                                                                        \
    INLINED void name##_task(const void *context, int64_t i)                                       \
    {                                                                                              \
        const problem p = *(const problem *)context;                                               \
        name(&p, i);                                                                               \
    }                                                                                              \
    FGI_WORK(name##_task)                                                                          \
    static void name##_all(const fgi_ffi_call *call, problem *p)                                   \
    {                                                                                              \
        fgi_parallel(call, fgi_parallel_threads(call, MOST_THREADS), p->tasks, name##_task_work(), \
                     p);                                                                           \
    }
FOR_EACH_TASK(measure)
FOR_EACH_TASK(normalize)
FOR_EACH_TASK(add_up)
FOR_EACH_TASK(differentiate)

static numbers numbers_of(const fgi_ffi_buffer *buffer)
{
    return (numbers){buffer->data, buffer->dtype == FGI_FFI_BF16};
}

static problem problem_of(const fgi_ffi_buffer *x, const fgi_ffi_buffer *n)
{
    const int64_t channels = x->dim[x->rank - 1], rows = fgi_ffi_count(x) / channels;
    const int64_t vectors = (channels + FGI_WIDE - 1) / FGI_WIDE;
    problem p = {.x = numbers_of(x), .rows = rows, .channels = channels, .vectors = vectors};
    p.tasks = fgi_kernel_batch_norm_memory(rows, channels) / (SUMS * vectors * FGI_WIDE);
    const float count = *(const float *)n->data;
    p.valid = count < (float)rows ? (int64_t)count : rows;
    return p;
}

void *fgi_kernel_batch_statistics(fgi_ffi_call *call)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    problem p = problem_of(call->in.buffer[0], call->in.buffer[1]);
    p.first = call->out.buffer[0]->data;
    p.second = call->out.buffer[1]->data;
    p.by_task = call->out.buffer[2]->data;
    measure_all(call, &p);
    finish_measuring(&p);
    return NULL;
}

/* The operands that a kernel and its gradient have in common. */
static problem problem_with(const fgi_ffi_call *call, bool is_relu)
{
    const fgi_ffi_buffer *const *in = call->in.buffer;
    problem p = problem_of(in[FGI_KERNEL_NORM_X], in[FGI_KERNEL_NORM_COUNT]);
    p.mean = in[FGI_KERNEL_NORM_MEAN]->data;
    p.rstd = in[FGI_KERNEL_NORM_RSTD]->data;
    p.weight = in[FGI_KERNEL_NORM_WEIGHT]->data;
    p.bias = in[FGI_KERNEL_NORM_BIAS]->data;
    p.is_relu = is_relu;
    return p;
}

static void *forward(fgi_ffi_call *call, bool is_relu)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    problem p = problem_with(call, is_relu);
    p.y = numbers_of(call->out.buffer[0]);
    if (call->in.count > FGI_KERNEL_NORM_IN)
        p.other = numbers_of(call->in.buffer[FGI_KERNEL_NORM_IN]);
    normalize_all(call, &p);
    return NULL;
}

static void *add(fgi_ffi_call *call, bool is_relu)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *const *out = call->out.buffer;
    problem p = problem_with(call, is_relu);
    p.dy = numbers_of(call->in.buffer[FGI_KERNEL_NORM_DY]);
    p.second = out[0]->data;
    p.first = out[1]->data;
    p.by_task = out[2]->data;
    add_up_all(call, &p);
    finish_adding(&p);
    return NULL;
}

static void *backward(fgi_ffi_call *call, bool is_relu)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *const *in = call->in.buffer;
    problem p = problem_with(call, is_relu);
    p.dy = numbers_of(in[FGI_KERNEL_NORM_DY]);
    p.dweight = in[FGI_KERNEL_NORM_DWEIGHT]->data;
    p.dbias = in[FGI_KERNEL_NORM_DBIAS]->data;
    p.all = *(const float *)in[FGI_KERNEL_NORM_ALL]->data;
    p.dx = numbers_of(call->out.buffer[0]);
    p.by_task = call->out.buffer[1]->data;
    prepare(&p);
    differentiate_all(call, &p);
    return NULL;
}

void *fgi_kernel_batch_norm(fgi_ffi_call *call) { return forward(call, false); }
void *fgi_kernel_batch_norm_relu(fgi_ffi_call *call) { return forward(call, true); }
void *fgi_kernel_batch_norm_sums(fgi_ffi_call *call) { return add(call, false); }
void *fgi_kernel_batch_norm_relu_sums(fgi_ffi_call *call) { return add(call, true); }
void *fgi_kernel_batch_norm_dx(fgi_ffi_call *call) { return backward(call, false); }
void *fgi_kernel_batch_norm_relu_dx(fgi_ffi_call *call) { return backward(call, true); }
