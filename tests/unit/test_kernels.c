/* test_kernels.c - the kernels (src/kernel), called as a compiled program calls them, compared with
 * sums in double precision. Every tensor is a separate allocation, so that sanitizers see accesses
 * beyond its end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/rng.h"
#include "kernel/kernel.h"

enum { MOST_RANK = 4, MOST_IN = 4 * FGI_KERNEL_ADAM_MOST + 1, MOST_OUT = 3 * FGI_KERNEL_ADAM_MOST };

/* A call with its tensors. */
typedef struct call {
    fgi_ffi_call frame;
    fgi_ffi_buffer in[MOST_IN], out[MOST_OUT];
    const fgi_ffi_buffer *of[MOST_IN + MOST_OUT];
    int64_t dim[MOST_IN + MOST_OUT][MOST_RANK];
} call;

static void begin(call *c)
{
    memset(c, 0, sizeof *c);
    c->frame.in.buffer = c->of;
    c->frame.out.buffer = c->of + MOST_IN;
}

/* Adds an f32 tensor of random numbers. */
static float *add_shape(call *c, bool is_result, int rank, const int64_t *dim)
{
    fgi_ffi_buffers *side = is_result ? &c->frame.out : &c->frame.in;
    fgi_ffi_buffer *buffer = &(is_result ? c->out : c->in)[side->count];
    const int64_t at = (is_result ? MOST_IN : 0) + side->count++;
    c->of[at] = buffer;
    memcpy(c->dim[at], dim, (size_t)rank * sizeof *dim);
    *buffer = (fgi_ffi_buffer){.dtype = FGI_FFI_F32, .dim = c->dim[at], .rank = rank};
    const int64_t count = fgi_ffi_count(buffer);
    buffer->data = malloc((size_t)count * sizeof(float));
    fgi_rng_normal_range((fgi_key){{(uint32_t)count, (uint32_t)at}}, 0, (size_t)count,
                         buffer->data);
    return buffer->data;
}

/* columns -1: of rank 1. */
static float *add(call *c, bool is_result, int64_t rows, int64_t columns)
{
    return add_shape(c, is_result, columns < 0 ? 1 : 2, (const int64_t[]){rows, columns});
}

static void end(call *c)
{
    for (int64_t i = 0; i < c->frame.in.count; i++)
        free(c->in[i].data);
    for (int64_t i = 0; i < c->frame.out.count; i++)
        if (c->out[i].data != c->in[i].data)
            free(c->out[i].data);
}

/* ---- matmuls --------------------------------------------------------------------------------- */

typedef struct matmul {
    int64_t batch, m, k, n;
    bool a_is_transposed, b_is_transposed, is_half;
    int terms; /* a row, which each row of the result is increased by; and a matrix */
    bool is_relu;
} matmul;

/* The tensor in bf16, truncated. */
static void halve(fgi_ffi_buffer *buffer)
{
    float *values = buffer->data;
    const int64_t count = fgi_ffi_count(buffer);
    uint16_t *halves = malloc((size_t)count * sizeof *halves + 1);
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        halves[i] = (uint16_t)(bits >> 16);
    }
    free(values);
    buffer->dtype = FGI_FFI_BF16;
    buffer->data = halves;
}

static double number(const fgi_ffi_buffer *buffer, int64_t i)
{
    uint32_t bits;
    float value;
    if (buffer->dtype == FGI_FFI_F32)
        return (double)((const float *)buffer->data)[i];
    bits = (uint32_t)((const uint16_t *)buffer->data)[i] << 16;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void check_element(const matmul *p, const call *c, int64_t batch, int64_t i, int64_t j)
{
    double sum = 0, size = 0;
    for (int64_t l = 0; l < p->k; l++) {
        const int64_t a = p->a_is_transposed ? l * p->m + i : i * p->k + l;
        const int64_t b = p->b_is_transposed ? j * p->k + l : l * p->n + j;
        const double x =
            number(&c->in[0], batch * p->m * p->k + a) * number(&c->in[1], batch * p->k * p->n + b);
        sum += x;
        size += fabs(x);
    }
    for (int t = 0; t < p->terms; t++) {
        const double x = number(&c->in[2 + t], (t == 0 ? 0 : i * p->n) + j);
        sum += x;
        size += fabs(x);
    }
    if (p->is_relu && sum < 0)
        sum = 0;
    const double y = number(&c->out[0], (batch * p->m + i) * p->n + j);
    if (!(fabs(y - sum) <= (p->is_half ? 4e-3 * fabs(sum) : 0) + 1e-6 * size))
        fail_msg("%d: %dx%dx%d, %d %d: [%d, %d] is %g, expected %g", (int)p->batch, (int)p->m,
                 (int)p->k, (int)p->n, (int)p->a_is_transposed, (int)p->b_is_transposed, (int)i,
                 (int)j, y, sum);
}

static void check_matmul(const matmul *p)
{
    const fgi_kernel_matmul_numbers numbers = {.batch = p->batch,
                                               .rows = p->m,
                                               .inner = p->k,
                                               .columns = p->n,
                                               .a_is_transposed = p->a_is_transposed,
                                               .b_is_transposed = p->b_is_transposed,
                                               .is_relu = p->is_relu};
    const fgi_ffi_array array = {.count = sizeof numbers / sizeof(int64_t), .data = &numbers};
    const void *const value = &array;
    call c;
    begin(&c);
    c.frame.attributes = (fgi_ffi_attributes){.count = 1, .value = &value};
    (void)add(&c, false, p->batch * p->m, p->k);
    (void)add(&c, false, p->batch * p->k, p->n);
    for (int t = 0; t < p->terms; t++)
        (void)add(&c, false, t == 0 ? 1 : p->m, p->n);
    (void)add(&c, true, p->batch * p->m, p->n);
    for (int i = 0; i < 3 + p->terms && p->is_half; i++)
        halve(i < 2 + p->terms ? &c.in[i] : &c.out[0]);
    assert_null(fgi_kernel_matmul(&c.frame));
    for (int64_t i = 0; i < p->batch * p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            check_element(p, &c, i / p->m, i % p->m, j);
    end(&c);
}

static void matmuls_of_all_sizes(void **state)
{
    static const int64_t inner[] = {0, 1, 2, 7, 16, 33, 130};
    (void)state;
    for (int form = 0; form < 8; form++)
        for (int64_t m = 1; m <= 19; m++)
            for (size_t k = 0; k < sizeof inner / sizeof inner[0]; k++)
                for (int64_t n = 1; n <= 35; n += n < 18 ? 1 : 8)
                    check_matmul(&(matmul){1, m, inner[k], n, (form & 1) != 0, (form & 2) != 0,
                                           (form & 4) != 0, inner[k] > 0 ? (int)(m + n) % 3 : 0,
                                           inner[k] > 0 && n % 2 != 0});
}

/* Of several blocks, and of several matrices. */
static void matmuls_in_blocks(void **state)
{
    (void)state;
    for (int form = 0; form < 8; form++) {
        const bool a = (form & 1) != 0, b = (form & 2) != 0, is_half = (form & 4) != 0;
        check_matmul(&(matmul){1, 401, 20, 11, a, b, is_half, 2, false});
        check_matmul(&(matmul){1, 13, 20, 275, a, b, is_half, 2, false});
        check_matmul(&(matmul){1, 30, 801, 40, a, b, is_half, 2, true});
        check_matmul(&(matmul){1, 401, 260, 275, a, b, is_half, 1, false});
        check_matmul(&(matmul){3, 14, 19, 37, a, b, is_half, 0, false});
    }
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* Images of [n, h, w, from] and `to` channels; `low` and `high`: pixels of padding. By Winograd's
 * algorithm, or with a stride by oneDNN. */
typedef struct conv {
    int64_t n, h, w, from, to, low[2], high[2], stride;
} conv;

typedef enum which { Y, DX, DK } which;

static int64_t stride_of(const conv *c) { return c->stride > 0 ? c->stride : 1; }

static int64_t height_of(const conv *c)
{
    return (c->h + c->low[0] + c->high[0] - 3) / stride_of(c) + 1;
}

static int64_t width_of(const conv *c)
{
    return (c->w + c->low[1] + c->high[1] - 3) / stride_of(c) + 1;
}

/* Adds the products of all taps, in double precision: to y, x or k. */
static void convolve(const conv *c, which what, const fgi_ffi_buffer *const of[3], double *sum,
                     double *size)
{
    const int64_t h = height_of(c), w = width_of(c), stride = stride_of(c);
    for (int64_t at = 0; at < c->n * h * w * 9; at++) {
        const int64_t tap = at % 9, x = at / 9 % w, y = at / 9 / w % h, n = at / 9 / w / h;
        const int64_t row = y * stride + tap / 3 - c->low[0];
        const int64_t column = x * stride + tap % 3 - c->low[1];
        if (row < 0 || row >= c->h || column < 0 || column >= c->w)
            continue;
        for (int64_t i = 0; i < c->from * c->to; i++) {
            const int64_t from = i / c->to, to = i % c->to;
            const int64_t index[] = {((n * h + y) * w + x) * c->to + to,
                                     ((n * c->h + row) * c->w + column) * c->from + from,
                                     (tap * c->from + from) * c->to + to};
            double product = 1;
            for (int k = 0; k < 3; k++)
                product *= k == (int)what ? 1 : number(of[k], index[k]);
            sum[index[what]] += product;
            size[index[what]] += product * product;
        }
    }
}

/* Adds the tensors of a convolution; of: y, x and k. */
static void add_conv(call *frame, const conv *c, which what, bool is_half, int threads,
                     const fgi_ffi_buffer *of[3])
{
    static const which order[][2] = {{DX, DK}, {Y, DK}, {DX, Y}};
    const int64_t h = height_of(c), w = width_of(c);
    const int64_t dims[3][4] = {
        {c->n, h, w, c->to}, {c->n, c->h, c->w, c->from}, {3, 3, c->from, c->to}};
    const int64_t memory = fgi_kernel_winograd_memory(
        dims[what == DX ? DX : Y], what == DX ? c->to : c->from, threads, what == DK);
    begin(frame);
    for (int i = 0; i < 2; i++) {
        (void)add_shape(frame, false, 4, dims[order[what][i]]);
        of[order[what][i]] = &frame->in[i];
    }
    (void)add_shape(frame, true, 4, dims[what]);
    (void)add_shape(frame, true, 1, &memory);
    of[what] = &frame->out[0];
    for (int i = 0; i < 2 && is_half; i++)
        halve(&frame->in[i]);
    if (is_half)
        halve(&frame->out[0]);
}

static void check_conv(const conv *c, which what, bool is_half, int threads)
{
    static void *(*const run[][3])(fgi_ffi_call *) = {
        {fgi_kernel_winograd, fgi_kernel_winograd_dx, fgi_kernel_winograd_dk},
        {fgi_kernel_conv, fgi_kernel_conv_dx, fgi_kernel_conv_dk}};
    const int64_t numbers[] = {0, c->low[0], c->low[1]};
    const fgi_kernel_conv_numbers more = {.groups = 1,
                                          .stride = {c->stride, c->stride},
                                          .dilation = {1, 1},
                                          .low = {c->low[0], c->low[1]}};
    const fgi_ffi_array array = {.data = c->stride > 0 ? (const void *)&more : numbers};
    const void *attributes[] = {&array};
    const fgi_ffi_buffer *of[3];
    call this;
    add_conv(&this, c, what, is_half, threads, of);
    this.frame.attributes.value = attributes;
    const size_t count = (size_t)fgi_ffi_count(of[what]);
    double *sum = calloc(count, sizeof *sum), *size = calloc(count, sizeof *size);
    assert_null(run[c->stride > 0][what](&this.frame));
    convolve(c, what, of, sum, size);
    for (size_t i = 0; i < count; i++) {
        const double rounding = is_half ? fabs(sum[i]) / 256 : 0;
        const double result = number(of[what], (int64_t)i);
        if (!(fabs(result - sum[i]) <= 1e-4 * sqrt(size[i]) + rounding))
            fail_msg("%d: %dx%dx%dx%d to %d: [%zu] is %g, expected %g", (int)what, (int)c->n,
                     (int)c->h, (int)c->w, (int)c->from, (int)c->to, i, result, sum[i]);
    }
    free(sum);
    free(size);
    end(&this);
}

/* Tiles and panels that are not full, padding on one side and none, few tiles and many. */
static void convolutions(void **state)
{
    static const conv rows[] = {
        {2, 8, 8, 16, 32, {1, 1}, {1, 1}, 0},    {1, 5, 7, 32, 16, {1, 1}, {1, 1}, 0},
        {3, 1, 2, 16, 48, {1, 1}, {1, 1}, 0},    {2, 9, 6, 48, 16, {0, 0}, {0, 0}, 0},
        {2, 6, 10, 16, 16, {2, 0}, {0, 2}, 0},   {1, 3, 3, 64, 80, {2, 2}, {2, 2}, 0},
        {17, 16, 15, 16, 32, {1, 1}, {1, 1}, 0}, {5, 33, 30, 16, 32, {0, 1}, {1, 0}, 0},
    };
    (void)state;
    if (!fgi_kernel_winograd_runs())
        skip();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (which what = Y; what <= DK; what++) {
            check_conv(&rows[i], what, false, 1);
            check_conv(&rows[i], what, true, 3);
        }
}

/* oneDNN's, whose calls share memory. Its gradient of a kernel in bf16 has read what earlier calls
 * left there, if there was one column of results. */
static void convolutions_by_onednn(void **state)
{
    static const conv rows[] = {{2, 5, 5, 64, 96, {1, 1}, {1, 1}, 1},
                                {5, 1, 1, 16, 16, {1, 1}, {1, 1}, 2},
                                {3, 6, 2, 16, 32, {0, 1}, {0, 1}, 3},
                                {2, 9, 8, 17, 16, {1, 1}, {1, 1}, 2}};
    (void)state;
    if (fgi_kernel_dnnl_version() == NULL)
        skip();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (which what = Y; what <= DK; what++) {
            check_conv(&rows[0], Y, false, 1);
            check_conv(&rows[i], what, false, 1);
            if (fgi_kernel_half() != FGI_KERNEL_HALF_NONE)
                check_conv(&rows[i], what, true, 1);
        }
}

/* ---- non-finite elements --------------------------------------------------------------------- */

static bool has_bad(call *c)
{
    const float *marks = c->out[0].data;
    assert_null(fgi_kernel_nonfinite(&c->frame));
    assert_true(marks[0] == 0 || isnan(marks[0]));
    return isnan(marks[0]);
}

/* In a tensor between two others, at each place. */
static void every_element_is_seen(void **state)
{
    static const float bad[] = {(float)NAN, (float)INFINITY, -(float)INFINITY};
    (void)state;
    for (int64_t count = 0; count < 75; count++) {
        call c;
        begin(&c);
        (void)add(&c, false, 3, -1);
        float *x = add(&c, false, count, -1);
        (void)add(&c, false, 40, 2);
        (void)add(&c, true, 1, -1);
        assert_false(has_bad(&c));
        for (int64_t i = 0; i < count; i++) {
            const float kept = x[i];
            x[i] = bad[i % 3];
            assert_true(has_bad(&c));
            x[i] = kept;
        }
        end(&c);
    }
}

/* ---- layer norm ------------------------------------------------------------------------------ */

typedef struct norm {
    int64_t rows, width, chunks;
    bool is_half, is_rms;
} norm;

static const float norm_eps = 0.01F;

/* The numbers of row i of a tensor, in double precision. */
static const double *row_of(const norm *p, const fgi_ffi_buffer *buffer, int64_t i)
{
    static double row[256];
    for (int64_t k = 0; k < p->width; k++)
        row[k] = number(buffer, i * p->width + k);
    return row;
}

static void statistics(const norm *p, const double *x, double *mean, double *rstd)
{
    double sum = 0;
    *mean = 0;
    for (int64_t k = 0; k < p->width && !p->is_rms; k++)
        *mean += x[k] / (double)p->width;
    for (int64_t k = 0; k < p->width; k++)
        sum += (x[k] - *mean) * (x[k] - *mean);
    *rstd = 1 / sqrt(sum / (double)p->width + (double)norm_eps);
}

/* The sum of dy y over row i, if number `moved` of x moves by `step`. */
static double loss(const norm *p, const call *c, int64_t i, int64_t moved, double step)
{
    double x[256], mean, rstd, sum = 0;
    memcpy(x, row_of(p, &c->in[0], i), sizeof x);
    x[moved] += step;
    statistics(p, x, &mean, &rstd);
    const double *dy = row_of(p, &c->in[4], i);
    for (int64_t k = 0; k < p->width; k++)
        sum += dy[k] * number(&c->in[1], k) * (x[k] - mean) * rstd;
    return sum;
}

static void add_norm(call *c, const norm *p, bool is_result)
{
    (void)add(c, is_result, p->rows, p->width);
    fgi_ffi_buffers *side = is_result ? &c->frame.out : &c->frame.in;
    if (p->is_half)
        halve(&(is_result ? c->out : c->in)[side->count - 1]);
}

static void check_norm(const norm *p)
{
    const double rounding = p->is_half ? 4e-3 : 1e-5;
    call c;
    begin(&c);
    add_norm(&c, p, false);
    (void)add(&c, false, p->width, -1);
    (void)add(&c, false, p->width, -1);
    *add(&c, false, 1, -1) = norm_eps;
    add_norm(&c, p, true);
    const float *of_mean = add(&c, true, p->rows, -1), *of_rstd = add(&c, true, p->rows, -1);
    assert_null((p->is_rms ? fgi_kernel_rms_norm : fgi_kernel_layer_norm)(&c.frame));
    for (int64_t i = 0; i < p->rows; i++) {
        double mean, rstd;
        statistics(p, row_of(p, &c.in[0], i), &mean, &rstd);
        fgt_close("mean", (double)of_mean[i], mean, 1e-5, 1e-6);
        fgt_close("rstd", (double)of_rstd[i], rstd, 1e-5, 1e-6);
        for (int64_t k = 0; k < p->width; k++) {
            const double z = (number(&c.in[0], i * p->width + k) - mean) * rstd;
            fgt_close("y", number(&c.out[0], i * p->width + k),
                      number(&c.in[1], k) * z + number(&c.in[2], k), rounding, rounding);
        }
    }
    end(&c);
}

/* Those of the weight and the bias are sums over rows; that of x is compared with differences. */
static void check_norm_gradients(const norm *p, const call *c)
{
    for (int64_t k = 0; k < p->width; k++) {
        double dweight = 0, dbias = 0;
        for (int64_t i = 0; i < p->rows; i++) {
            const int64_t at = i * p->width + k;
            double mean, rstd;
            statistics(p, row_of(p, &c->in[0], i), &mean, &rstd);
            dweight += number(&c->in[4], at) * (number(&c->in[0], at) - mean) * rstd;
            dbias += number(&c->in[4], at);
            const double dx = (loss(p, c, i, k, 1e-4) - loss(p, c, i, k, -1e-4)) / 2e-4;
            const double rounding = p->is_half ? 4e-3 : 1e-4;
            fgt_close("dx", number(&c->out[0], at), dx, rounding, rounding);
        }
        fgt_close("dweight", number(&c->out[1], k), dweight, 1e-4, 1e-4);
        fgt_close("dbias", number(&c->out[2], k), dbias, 1e-4, 1e-4);
    }
}

/* Operands and results of the gradient, with statistics of x. */
static void begin_norm_dx(call *c, const norm *p)
{
    begin(c);
    add_norm(c, p, false);
    (void)add(c, false, p->width, -1);
    float *mean = add(c, false, p->rows, -1), *rstd = add(c, false, p->rows, -1);
    for (int64_t i = 0; i < p->rows; i++) {
        double of_row[2];
        statistics(p, row_of(p, &c->in[0], i), &of_row[0], &of_row[1]);
        mean[i] = (float)of_row[0];
        rstd[i] = (float)of_row[1];
    }
    add_norm(c, p, false);
    add_norm(c, p, true);
    (void)add(c, true, p->width, -1);
    (void)add(c, true, p->width, -1);
    (void)add_shape(c, true, 3, (const int64_t[]){p->chunks, 2, p->width});
}

static void check_norm_dx(const norm *p)
{
    call c;
    begin_norm_dx(&c, p);
    assert_null((p->is_rms ? fgi_kernel_rms_norm_dx : fgi_kernel_layer_norm_dx)(&c.frame));
    check_norm_gradients(p, &c);
    end(&c);
}

static void norms_of_rows(void **state)
{
    static const int64_t sizes[][3] = {{1, 1, 1},   {1, 16, 1},    {3, 17, 2},   {4, 32, 3},
                                       {41, 33, 3}, {130, 48, 64}, {600, 31, 7}, {2, 250, 1}};
    (void)state;
    for (size_t i = 0; i < 4 * (sizeof sizes / sizeof sizes[0]); i++) {
        const int64_t *size = sizes[i / 4];
        const norm p = {size[0], size[1], size[2], i % 2 == 1, i / 2 % 2 == 1};
        check_norm(&p);
        check_norm_dx(&p);
    }
}

static pthread_t helpers[3];
static int helper_count;

static void *thread_count_is_4(fgi_ffi_thread_count *args)
{
    *args->count = 4;
    return NULL;
}

static void *on_a_thread(void *args)
{
    const fgi_ffi_schedule kept = *(fgi_ffi_schedule *)args;
    free(args);
    kept.task(kept.data);
    return NULL;
}

static void *start_thread(fgi_ffi_schedule *args)
{
    fgi_ffi_schedule *kept = malloc(sizeof *kept);
    *kept = *args;
    assert_int_equal(pthread_create(&helpers[helper_count++], NULL, on_a_thread, kept), 0);
    return NULL;
}

static void norms_do_not_depend_on_threads(void **state)
{
    static const fgi_ffi_api api = {
        .struct_size = sizeof api, .schedule = start_thread, .thread_count = thread_count_is_4};
    const norm p = {500, 35, 64, false, false};
    call one, several;
    (void)state;
    begin_norm_dx(&one, &p);
    begin_norm_dx(&several, &p);
    several.frame.api = &api;
    assert_null(fgi_kernel_layer_norm_dx(&one.frame));
    assert_null(fgi_kernel_layer_norm_dx(&several.frame));
    assert_int_equal(helper_count, 3);
    for (int i = 0; i < helper_count; i++)
        assert_int_equal(pthread_join(helpers[i], NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_memory_equal(one.out[i].data, several.out[i].data,
                            (size_t)fgi_ffi_count(&one.out[i]) * sizeof(float));
    end(&one);
    end(&several);
}

/* ---- Adam ------------------------------------------------------------------------------------ */

/* beta1 0.9, beta2 0.99, eps 0.01, with an L2 penalty or decoupled weight decay. */
static void check_one(const call *c, int n, int k, float before[3][64], double penalty, double keep)
{
    const float *now[3];
    for (int i = 0; i < 3; i++)
        now[i] = c->out[3 * k + i].data;
    const fgi_ffi_buffer *gradient = &c->in[3 * n + k];
    for (int64_t i = 0; i < fgi_ffi_count(gradient); i++) {
        const double p = (double)before[0][i];
        const double g = (double)((const float *)gradient->data)[i] + penalty * p;
        const double m = 0.9 * (double)before[1][i] + 0.1 * g;
        const double s = 0.99 * (double)before[2][i] + 0.01 * g * g;
        fgt_close("p", (double)now[0][i], keep * p - 0.5 * m / (3 * sqrt(s) + 0.01), 1e-5, 1e-5);
        fgt_close("m", (double)now[1][i], m, 1e-6, 1e-6);
        fgt_close("s", (double)now[2][i], s, 1e-6, 1e-6);
    }
}

/* n parameters with `count` elements and more. */
static void check_adam(int n, int64_t count, bool in_place, double penalty, double keep)
{
    const float numbers[FGI_KERNEL_ADAM_NUMBERS] = {[FGI_KERNEL_ADAM_PENALTY] = (float)penalty,
                                                    [FGI_KERNEL_ADAM_KEEP] = (float)keep,
                                                    [FGI_KERNEL_ADAM_REST] = 0.1F,
                                                    [FGI_KERNEL_ADAM_BETA2] = 0.99F,
                                                    [FGI_KERNEL_ADAM_REST2] = 0.01F,
                                                    [FGI_KERNEL_ADAM_WIDEN] = 3,
                                                    [FGI_KERNEL_ADAM_EPS] = 0.01F,
                                                    [FGI_KERNEL_ADAM_RATE] = 0.5F};
    static float before[MOST_OUT / 3][3][64];
    call c;
    begin(&c);
    for (int i = 0; i < 3 * n; i++) {
        float *values = add(&c, false, count + i / 3, -1);
        (void)add(&c, true, count + i / 3, -1);
        for (int64_t k = 0; k < count + i / 3; k++)
            before[i / 3][i % 3][k] = values[k] = i % 3 == 2 ? fabsf(values[k]) : values[k];
        if (in_place) {
            free(c.out[i].data);
            c.out[i].data = values;
        }
    }
    for (int i = 0; i < n; i++)
        (void)add(&c, false, count + i, -1);
    memcpy(add(&c, false, FGI_KERNEL_ADAM_NUMBERS, -1), numbers, sizeof numbers);
    assert_null(fgi_kernel_adam(&c.frame));
    for (int i = 0; i < n; i++)
        check_one(&c, n, i, before[i], penalty, keep);
    end(&c);
}

static void adam_moves_every_element(void **state)
{
    (void)state;
    for (int64_t count = 0; count < 40; count++) {
        check_adam(1, count, true, 0, 1);
        check_adam(FGI_KERNEL_ADAM_MOST, count, false, 0.1, 1);
        check_adam(2, count, true, 0, 0.9);
    }
}

/* ---- batch normalization --------------------------------------------------------------------- */

enum { NORM_OTHER = FGI_KERNEL_NORM_IN };

typedef struct batch {
    int64_t rows, valid, channels;
    double offset; /* of x, whose standard deviation is 1 */
    bool is_half;
} batch;

/* Operands of the kernels. The first channel of x is constant, rows that do not count are not. */
static void add_batch(call *c, const batch *n)
{
    float *x = add(c, false, n->rows, n->channels), *scalar;
    for (int64_t i = 0; i < n->rows * n->channels; i++)
        x[i] = i % n->channels == 0 && i / n->channels < n->valid ? (float)n->offset + .5f
                                                                  : x[i] + (float)n->offset;
    for (int i = FGI_KERNEL_NORM_WEIGHT; i < FGI_KERNEL_NORM_COUNT; i++)
        (void)add(c, false, n->channels, -1);
    scalar = add(c, false, 1, -1);
    *scalar = (float)n->valid;
    if (n->is_half)
        halve(&c->in[FGI_KERNEL_NORM_X]);
}

/* Adds memory for the call, and an operand or a result like x. */
static void add_batch_memory(call *c, const batch *n)
{
    (void)add(c, true, fgi_kernel_batch_norm_memory(n->rows, n->channels), -1);
}

static void add_like_x(call *c, bool is_result, const batch *n)
{
    (void)add(c, is_result, n->rows, n->channels);
    if (n->is_half)
        halve(is_result ? &c->out[c->frame.out.count - 1] : &c->in[c->frame.in.count - 1]);
}

static void expect(const batch *n, const char *what, int64_t at, double have, double want,
                   double tolerance)
{
    if (!(fabs(have - want) <= tolerance))
        fail_msg("%d (%d) x %d, bf16 %d: %s of %d is %g, expected %g", (int)n->rows, (int)n->valid,
                 (int)n->channels, n->is_half, what, (int)at, have, want);
}

static void check_batch_statistics(const batch *n)
{
    call c;
    begin(&c);
    add_batch(&c, n);
    c.of[1] = c.of[FGI_KERNEL_NORM_COUNT];
    for (int i = 0; i < 2; i++)
        (void)add(&c, true, n->channels, -1);
    add_batch_memory(&c, n);
    assert_null(fgi_kernel_batch_statistics(&c.frame));
    for (int64_t k = 0; k < n->channels; k++) {
        double mean = 0, var = 0;
        for (int64_t r = 0; r < n->valid; r++)
            mean += number(&c.in[0], r * n->channels + k) / (double)n->valid;
        for (int64_t r = 0; r < n->valid; r++)
            var += pow(number(&c.in[0], r * n->channels + k) - mean, 2) / (double)n->valid;
        expect(n, "mean", k, number(&c.out[0], k), mean, 1e-6 * (fabs(n->offset) + 1));
        expect(n, "variance", k, number(&c.out[1], k), var,
               k > 0 ? 1e-6 * (fabs(n->offset) / 10 + 1) * var
                     : 1e-13 * (1 + n->offset * n->offset));
    }
    end(&c);
}

/* Of a channel. */
static double of_channel(const call *c, int operand, int64_t k)
{
    return number(&c->in[operand], k);
}

static double normalized(const call *c, const batch *n, int64_t at)
{
    const int64_t k = at % n->channels;
    return (number(&c->in[0], at) - of_channel(c, FGI_KERNEL_NORM_MEAN, k)) *
               of_channel(c, FGI_KERNEL_NORM_RSTD, k) * of_channel(c, FGI_KERNEL_NORM_WEIGHT, k) +
           of_channel(c, FGI_KERNEL_NORM_BIAS, k);
}

static void check_batch(const batch *n, bool is_relu, bool has_other)
{
    call c;
    begin(&c);
    add_batch(&c, n);
    if (has_other)
        add_like_x(&c, false, n);
    add_like_x(&c, true, n);
    assert_null(is_relu ? fgi_kernel_batch_norm_relu(&c.frame) : fgi_kernel_batch_norm(&c.frame));
    for (int64_t i = 0; i < n->rows * n->channels; i++) {
        double y = normalized(&c, n, i) + (has_other ? number(&c.in[NORM_OTHER], i) : 0);
        y = is_relu && y < 0 ? 0 : y;
        expect(n, "y", i, number(&c.out[0], i), y,
               1e-5 * (1 + fabs(n->offset)) + (n->is_half ? 4e-3 * fabs(y) : 0));
    }
    end(&c);
}

/* The sums over dy, masked by the relu, and dy z. */
static double derivative(const call *c, const batch *n, bool is_relu, int64_t at, double *z)
{
    const int64_t k = at % n->channels;
    *z = (number(&c->in[0], at) - of_channel(c, FGI_KERNEL_NORM_MEAN, k)) *
         of_channel(c, FGI_KERNEL_NORM_RSTD, k);
    return is_relu && normalized(c, n, at) <= 0 ? 0 : number(&c->in[NORM_OTHER], at);
}

static void check_batch_dx(const batch *n, bool is_relu)
{
    const double size = 1e-5 * (1 + fabs(n->offset)) * (double)n->valid;
    call c;
    begin(&c);
    add_batch(&c, n);
    add_like_x(&c, false, n);
    for (int64_t i = n->valid * n->channels; i < n->rows * n->channels; i++)
        memset((char *)c.in[NORM_OTHER].data + i * (n->is_half ? 2 : 4), 0, n->is_half ? 2 : 4);
    add_like_x(&c, true, n);
    for (int i = 0; i < 2; i++)
        (void)add(&c, true, n->channels, -1);
    add_batch_memory(&c, n);
    assert_null(is_relu ? fgi_kernel_batch_norm_relu_dx(&c.frame)
                        : fgi_kernel_batch_norm_dx(&c.frame));
    for (int64_t k = 0; k < n->channels; k++) {
        double dweight = 0, dbias = 0, z;
        for (int64_t r = 0; r < n->rows; r++) {
            const double dy = derivative(&c, n, is_relu, r * n->channels + k, &z);
            dbias += dy;
            dweight += dy * z;
        }
        expect(n, "dweight", k, number(&c.out[1], k), dweight, size);
        expect(n, "dbias", k, number(&c.out[2], k), dbias, size);
        for (int64_t r = 0; r < n->rows; r++) {
            const int64_t at = r * n->channels + k;
            const double dy = derivative(&c, n, is_relu, at, &z);
            const double shared = (dbias + z * dweight) / (double)n->valid;
            const double dx = r < n->valid
                                  ? of_channel(&c, FGI_KERNEL_NORM_WEIGHT, k) *
                                        of_channel(&c, FGI_KERNEL_NORM_RSTD, k) * (dy - shared)
                                  : 0;
            expect(n, "dx", at, number(&c.out[0], at), dx,
                   r < n->valid ? 1e-4 * (1 + fabs(z)) * (1 + fabs(n->offset)) +
                                      (n->is_half ? 4e-3 * fabs(dx) : 0)
                                : 0);
        }
    }
    end(&c);
}

static void batch_normalization(void **state)
{
    static const batch rows[] = {
        {1, 1, 16, 0, false},        {3, 3, 17, 0, false},      {100, 100, 31, 0, true},
        {515, 515, 64, 1000, false}, {2051, 2051, 48, 3, true}, {300, 211, 100, 0, false},
        {40, 39, 1030, 0, false},    {9000, 4100, 24, 2, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_batch_statistics(&rows[i]);
        for (int k = 0; k < 4; k++)
            check_batch(&rows[i], k & 1, k & 2);
        check_batch_dx(&rows[i], false);
        check_batch_dx(&rows[i], true);
    }
}

/* ---- max pooling ----------------------------------------------------------------------------- */

typedef struct pool {
    int64_t image[MOST_RANK], size, stride, pad;
    bool is_half;
} pool;

/* An operand or a result, whose numbers, unless it is one, are integers from -2 to 2: most windows
 * have several maxima. */
static void add_images(call *c, bool is_result, const int64_t *dim, bool is_half)
{
    float *values = add_shape(c, is_result, 4, dim);
    fgi_ffi_buffer *buffer = &(is_result ? c->out : c->in)[is_result ? 0 : c->frame.in.count - 1];
    for (int64_t i = 0; i < fgi_ffi_count(buffer) && !is_result; i++)
        values[i] = roundf(fmaxf(fminf(values[i], 2), -2));
    if (is_half)
        halve(buffer);
}

/* The position in x of the first maximum of window (row, column) of channel k of image i. */
static int64_t first_maximum(const pool *p, const fgi_ffi_buffer *x, const int64_t at[MOST_RANK])
{
    int64_t best = -1;
    for (int64_t row = at[1] * p->stride - p->pad, i = 0; i < p->size; i++, row++)
        for (int64_t column = at[2] * p->stride - p->pad, j = 0; j < p->size; j++, column++) {
            const int64_t place =
                ((at[0] * p->image[1] + row) * p->image[2] + column) * p->image[3] + at[3];
            if (row >= 0 && row < p->image[1] && column >= 0 && column < p->image[2] &&
                (best < 0 || number(x, place) > number(x, best)))
                best = place;
        }
    return best;
}

static void check_pool(const pool *p)
{
    const fgi_kernel_pool_numbers numbers = {0, p->size, p->stride, {p->pad, p->pad}};
    const fgi_ffi_array array = {.count = sizeof numbers / sizeof(int64_t), .data = &numbers};
    const void *const value = &array;
    int64_t dim[MOST_RANK] = {p->image[0], 0, 0, p->image[3]}, at[MOST_RANK];
    call y, dx;
    for (int i = 1; i < 3; i++)
        dim[i] = (p->image[i] + 2 * p->pad - p->size) / p->stride + 1;
    begin(&y);
    begin(&dx);
    y.frame.attributes = dx.frame.attributes = (fgi_ffi_attributes){.count = 1, .value = &value};
    add_images(&y, false, p->image, p->is_half);
    add_images(&y, true, dim, p->is_half);
    assert_null(fgi_kernel_max_pool(&y.frame));
    dx.of[0] = &y.in[0];
    dx.of[1] = &y.out[0];
    dx.frame.in.count = 2;
    add_images(&dx, false, dim, p->is_half);
    add_images(&dx, true, p->image, p->is_half);
    assert_null(fgi_kernel_max_pool_dx(&dx.frame));
    const int64_t count = fgi_ffi_count(&y.in[0]);
    double *want = calloc((size_t)count, sizeof *want);
    for (int64_t i = 0; i < fgi_ffi_count(&y.out[0]); i++) {
        int64_t rest = i;
        for (int k = MOST_RANK - 1; k >= 0; rest /= dim[k--])
            at[k] = rest % dim[k];
        const int64_t first = first_maximum(p, &y.in[0], at);
        assert_true(number(&y.out[0], i) == number(&y.in[0], first));
        want[first] += number(&dx.in[2], i);
    }
    for (int64_t i = 0; i < count; i++)
        assert_true(number(&dx.out[0], i) == want[i]);
    free(want);
    end(&y);
    end(&dx);
}

static void max_pooling(void **state)
{
    static const pool rows[] = {
        {{2, 9, 8, 16}, 3, 2, 1, false}, {{1, 12, 13, 17}, 3, 2, 1, true},
        {{1, 10, 9, 40}, 2, 3, 0, true}, {{2, 5, 6, 31}, 3, 1, 1, false},
        {{1, 1, 1, 16}, 2, 1, 1, false}, {{2, 12, 15, 18}, 5, 3, 2, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_pool(&rows[i]);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static char said[64];

static void *keep_message(fgi_ffi_error *args)
{
    snprintf(said, sizeof said, "%s", args->message);
    return said;
}

static void errors_begin_with_the_call(void **state)
{
    static const fgi_ffi_api api = {.struct_size = sizeof api, .error_create = keep_message};
    const int64_t number = 0x123, numbers[] = {7, 8};
    const fgi_ffi_scalar scalar = {.value = &number};
    const fgi_ffi_array array = {.count = 2, .data = numbers};
    const void *attributes[] = {&scalar, &array};
    fgi_ffi_call frame = {.api = &api, .attributes = {.count = 2, .value = attributes}};
    (void)state;
    assert_ptr_equal(fgi_ffi_fail(&frame, "no"), said);
    assert_string_equal(said, "[call 0000000000000123] no");
    assert_ptr_equal(fgi_ffi_numbers(&frame), numbers);
    frame.attributes = (fgi_ffi_attributes){.count = 1, .value = &attributes[1]};
    assert_ptr_equal(fgi_ffi_fail(&frame, "no"), said);
    assert_string_equal(said, "no");
    assert_ptr_equal(fgi_ffi_numbers(&frame), numbers);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmuls_of_all_sizes),
        cmocka_unit_test(matmuls_in_blocks),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(convolutions_by_onednn),
        cmocka_unit_test(every_element_is_seen),
        cmocka_unit_test(norms_of_rows),
        cmocka_unit_test(norms_do_not_depend_on_threads),
        cmocka_unit_test(adam_moves_every_element),
        cmocka_unit_test(batch_normalization),
        cmocka_unit_test(max_pooling),
        cmocka_unit_test(errors_begin_with_the_call),
    };
    /* LeakSanitizer crashes at the end if this thread has OpenMP threads */
    (void)setenv("OMP_NUM_THREADS", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
