/* test_kernels_norm.c - the kernels of layer norm, RMS norm, batch norm, sums and max pooling
 * (src/kernel), compared with sums in double precision.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <pthread.h>

#include "kernel_frame.h"

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

static void expect(const batch *n, const char *what, int64_t at, double have, double expected,
                   double tolerance)
{
    if (!(fabs(have - expected) <= tolerance))
        fail_msg("%d (%d) x %d, bf16 %d: %s of %d is %g, expected %g", (int)n->rows, (int)n->valid,
                 (int)n->channels, n->is_half, what, (int)at, have, expected);
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
    call c, of_x;
    begin(&c);
    begin(&of_x);
    add_batch(&c, n);
    add_like_x(&c, false, n);
    for (int64_t i = n->valid * n->channels; i < n->rows * n->channels; i++)
        memset((char *)c.in[NORM_OTHER].data + i * (n->is_half ? 2 : 4), 0, n->is_half ? 2 : 4);
    for (int i = 0; i < 2; i++)
        (void)add(&c, true, n->channels, -1);
    add_batch_memory(&c, n);
    assert_null(is_relu ? fgi_kernel_batch_norm_relu_sums(&c.frame)
                        : fgi_kernel_batch_norm_sums(&c.frame));
    for (int i = 0; i < FGI_KERNEL_NORM_SUMS_IN; i++)
        of_x.of[i] = &c.in[i];
    of_x.of[FGI_KERNEL_NORM_DWEIGHT] = &c.out[0];
    of_x.of[FGI_KERNEL_NORM_DBIAS] = &c.out[1];
    of_x.of[FGI_KERNEL_NORM_ALL] = &c.in[FGI_KERNEL_NORM_COUNT];
    of_x.frame.in.count = FGI_KERNEL_NORM_DX_IN;
    add_like_x(&of_x, true, n);
    add_batch_memory(&of_x, n);
    assert_null(is_relu ? fgi_kernel_batch_norm_relu_dx(&of_x.frame)
                        : fgi_kernel_batch_norm_dx(&of_x.frame));
    for (int64_t k = 0; k < n->channels; k++) {
        double dweight = 0, dbias = 0, z;
        for (int64_t r = 0; r < n->rows; r++) {
            const double dy = derivative(&c, n, is_relu, r * n->channels + k, &z);
            dbias += dy;
            dweight += dy * z;
        }
        expect(n, "dweight", k, number(&c.out[0], k), dweight, size);
        expect(n, "dbias", k, number(&c.out[1], k), dbias, size);
        for (int64_t r = 0; r < n->rows; r++) {
            const int64_t at = r * n->channels + k;
            const double dy = derivative(&c, n, is_relu, at, &z);
            const double shared = (dbias + z * dweight) / (double)n->valid;
            const double dx = r < n->valid
                                  ? of_channel(&c, FGI_KERNEL_NORM_WEIGHT, k) *
                                        of_channel(&c, FGI_KERNEL_NORM_RSTD, k) * (dy - shared)
                                  : 0;
            expect(n, "dx", at, number(&of_x.out[0], at), dx,
                   r < n->valid ? 1e-4 * (1 + fabs(z)) * (1 + fabs(n->offset)) +
                                      (n->is_half ? 4e-3 * fabs(dx) : 0)
                                : 0);
        }
    }
    end(&of_x);
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

/* ---- sums of columns ------------------------------------------------------------------------- */

static void check_columns(int64_t rows, int64_t columns)
{
    call c;
    begin(&c);
    (void)add(&c, false, rows, columns);
    const float *sum = add(&c, true, columns, -1);
    (void)add(&c, true, fgi_kernel_column_sums_memory(rows, columns), -1);
    halve(&c.in[0]);
    assert_null(fgi_kernel_column_sums(&c.frame));
    for (int64_t i = 0; i < columns; i++) {
        double expected = 0;
        for (int64_t row = 0; row < rows; row++)
            expected += number(&c.in[0], row * columns + i);
        fgt_close("sum", (double)sum[i], expected, 1e-6 * sqrt((double)rows), 1e-6);
    }
    end(&c);
}

/* Blocks of rows and vectors of columns that are full, and that are not. */
static void sums_of_columns(void **state)
{
    (void)state;
    check_columns(1, 1);
    check_columns(300, 17);
    check_columns(256, 128);
    check_columns(1025, 161);
    check_columns(1000, 6); /* fewer columns than lanes */
    check_columns(271, 15);
    check_columns(1601, 1);
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
    double *expected = calloc((size_t)count, sizeof *expected);
    for (int64_t i = 0; i < fgi_ffi_count(&y.out[0]); i++) {
        int64_t rest = i;
        for (int k = MOST_RANK - 1; k >= 0; rest /= dim[k--])
            at[k] = rest % dim[k];
        const int64_t first = first_maximum(p, &y.in[0], at);
        assert_true(number(&y.out[0], i) == number(&y.in[0], first));
        expected[first] += number(&dx.in[2], i);
    }
    for (int64_t i = 0; i < count; i++)
        assert_true(number(&dx.out[0], i) == expected[i]);
    free(expected);
    end(&y);
    end(&dx);
}

static void max_pooling(void **state)
{
    static const pool rows[] = {
        {{2, 9, 8, 16}, 3, 2, 1, false}, {{1, 12, 13, 17}, 3, 2, 1, true},
        {{1, 10, 9, 40}, 2, 3, 0, true}, {{2, 5, 6, 31}, 3, 1, 1, false},
        {{1, 1, 1, 16}, 2, 1, 1, false}, {{2, 12, 15, 18}, 5, 3, 2, false},
        {{2, 9, 8, 6}, 2, 2, 0, true},   {{3, 5, 6, 1}, 2, 2, 1, false},
        {{2, 7, 9, 5}, 3, 2, 1, true},   {{2, 6, 4, 20}, 2, 2, 0, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_pool(&rows[i]);
}

/* Of the windows of 2 x 2 in an image of 2 x 4, those with the second pixel, in either place. */
static void a_nan_is_the_maximum(void **state)
{
    static const fgi_kernel_pool_numbers numbers = {0, 2, 1, {0, 0}};
    const fgi_ffi_array array = {.count = sizeof numbers / sizeof(int64_t), .data = &numbers};
    const void *const value = &array;
    call y;
    (void)state;
    begin(&y);
    y.frame.attributes = (fgi_ffi_attributes){.count = 1, .value = &value};
    float *x = add_shape(&y, false, 4, (const int64_t[]){1, 2, 4, 16});
    const float *out = add_shape(&y, true, 4, (const int64_t[]){1, 1, 3, 16});
    for (int k = 0; k < 16; k += 2)
        x[16 + k] = NAN;
    assert_null(fgi_kernel_max_pool(&y.frame));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 16; k++)
            assert_int_equal(isnan(out[16 * i + k]) != 0, i < 2 && k % 2 == 0);
    end(&y);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_of_rows),       cmocka_unit_test(norms_do_not_depend_on_threads),
        cmocka_unit_test(batch_normalization), cmocka_unit_test(sums_of_columns),
        cmocka_unit_test(max_pooling),         cmocka_unit_test(a_nan_is_the_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
