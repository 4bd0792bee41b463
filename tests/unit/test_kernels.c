/* test_kernels.c - the kernels of matmuls, convolutions and the optimizer (src/kernel), compared
 * with sums in double precision.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernel_frame.h"

/* ---- matmuls --------------------------------------------------------------------------------- */

enum { LARGE = 1 << 20 }; /* multiplications */

typedef struct matmul {
    int64_t batch, m, k, n;
    bool a_is_transposed, b_is_transposed, is_half;
    int terms; /* a row, which each row of the result is increased by; and a matrix */
    bool is_relu;
} matmul;
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
    /* of a large one, each 13th number, a different column in each row */
    const int64_t count = p->batch * p->m * p->n;
    for (int64_t i = 0; i<count; i += count * p->k> LARGE ? 13 : 1)
        check_element(p, &c, i / p->n / p->m, i / p->n % p->m, i % p->n);
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
        /* by tiles, where the processor has them */
        check_matmul(&(matmul){1, 160, 544, 96, a, b, is_half, 0, false});
        check_matmul(&(matmul){1, 64, 577, 544, a, b, is_half, 0, false});
        check_matmul(&(matmul){1, 160, 64, 96, a, b, is_half, 2, true});
        check_matmul(&(matmul){1, 601, 64, 32, a, b, is_half, 1, false});
    }
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* Images of [n, h, w, from] and `to` channels; `low` and `high`: pixels of padding. A stride
 * of 0: by Winograd's algorithm, with 1. */
typedef struct conv {
    int64_t n, h, w, from, to, low[2], high[2], stride;
} conv;

typedef enum algorithm { WINOGRAD, ONEDNN, TILES } algorithm;

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

/* Adds the products of all taps, in double precision: to y, x or k, of the other two. */
static void convolve(const conv *c, which what, const double *const of[3], double *sum,
                     double *size)
{
    const int64_t h = height_of(c), w = width_of(c), stride = stride_of(c);
    const which a = what == Y ? DX : Y, b = what == DK ? DX : DK;
    for (int64_t at = 0; at < c->n * h * w * 9; at++) {
        const int64_t tap = at % 9, x = at / 9 % w, y = at / 9 / w % h, n = at / 9 / w / h;
        const int64_t row = y * stride + tap / 3 - c->low[0];
        const int64_t column = x * stride + tap % 3 - c->low[1];
        if (row < 0 || row >= c->h || column < 0 || column >= c->w)
            continue;
        int64_t from = 0, to = 0;
        for (int64_t i = 0; i < c->from * c->to; i++) {
            const int64_t index[] = {((n * h + y) * w + x) * c->to + to,
                                     ((n * c->h + row) * c->w + column) * c->from + from,
                                     (tap * c->from + from) * c->to + to};
            const double product = of[a][index[a]] * of[b][index[b]];
            sum[index[what]] += product;
            size[index[what]] += product * product;
            if (++to == c->to)
                to = 0, from++;
        }
    }
}

static double *numbers_of(const fgi_ffi_buffer *buffer)
{
    const int64_t count = fgi_ffi_count(buffer);
    double *numbers = malloc((size_t)count * sizeof *numbers);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = number(buffer, i);
    return numbers;
}

/* Adds the tensors of a convolution; of: y, x and k. */
static void add_conv(call *frame, const conv *c, algorithm by, which what, bool is_half,
                     int threads, const fgi_ffi_buffer *of[3])
{
    static const which order[][2] = {{DX, DK}, {Y, DK}, {DX, Y}};
    const int64_t h = height_of(c), w = width_of(c);
    const int64_t dims[3][4] = {
        {c->n, h, w, c->to}, {c->n, c->h, c->w, c->from}, {3, 3, c->from, c->to}};
    int64_t memory = fgi_kernel_winograd_memory(dims[what == DX ? DX : Y],
                                                what == DX ? c->to : c->from, threads, what == DK);
    if (by == TILES)
        memory = fgi_kernel_tiles_memory(dims[DK], dims[Y], what == DK);
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

static void check_conv(const conv *c, algorithm by, which what, bool is_half, int threads)
{
    static void *(*const run[][3])(fgi_ffi_call *) = {
        {fgi_kernel_winograd, fgi_kernel_winograd_dx, fgi_kernel_winograd_dk},
        {fgi_kernel_conv, fgi_kernel_conv_dx, fgi_kernel_conv_dk},
        {fgi_kernel_tiles, fgi_kernel_tiles_dx, fgi_kernel_tiles_dk}};
    const int64_t numbers[] = {0, c->low[0], c->low[1]};
    const fgi_kernel_conv_numbers more = {.groups = 1,
                                          .stride = {c->stride, c->stride},
                                          .dilation = {1, 1},
                                          .low = {c->low[0], c->low[1]}};
    const fgi_ffi_array array = {.data = by == WINOGRAD ? numbers : (const void *)&more};
    const void *attributes[] = {&array};
    const fgi_ffi_buffer *of[3];
    call this;
    add_conv(&this, c, by, what, is_half, threads, of);
    this.frame.attributes.value = attributes;
    const size_t count = (size_t)fgi_ffi_count(of[what]);
    double *sum = calloc(count, sizeof *sum), *size = calloc(count, sizeof *size);
    assert_null(run[by][what](&this.frame));
    double *values[3];
    for (int i = 0; i < 3; i++)
        values[i] = numbers_of(of[i]);
    convolve(c, what, (const double *const *)values, sum, size);
    for (size_t i = 0; i < count; i++) {
        const double rounding = is_half ? fabs(sum[i]) / 256 : 0;
        const double result = values[what][i];
        if (!(fabs(result - sum[i]) <= 1e-4 * sqrt(size[i]) + rounding))
            fail_msg("%d: %dx%dx%dx%d to %d: [%zu] is %g, expected %g", (int)what, (int)c->n,
                     (int)c->h, (int)c->w, (int)c->from, (int)c->to, i, result, sum[i]);
    }
    for (int i = 0; i < 3; i++)
        free(values[i]);
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
            check_conv(&rows[i], WINOGRAD, what, false, 1);
            check_conv(&rows[i], WINOGRAD, what, true, 3);
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
            check_conv(&rows[0], ONEDNN, Y, false, 1);
            check_conv(&rows[i], ONEDNN, what, false, 1);
            if (fgi_kernel_half() != FGI_KERNEL_HALF_NONE)
                check_conv(&rows[i], ONEDNN, what, true, 1);
        }
}

/* More and less than a block of pixels, steps and columns; phases without taps, pixels without a
 * patch; many pixels. */
static void convolutions_by_tiles(void **state)
{
    static const conv rows[] = {
        {1, 1, 1, 32, 32, {1, 1}, {1, 1}, 1},    {2, 9, 9, 64, 96, {1, 1}, {1, 1}, 1},
        {3, 14, 15, 32, 64, {0, 2}, {2, 0}, 1},  {3, 7, 10, 64, 32, {1, 1}, {1, 1}, 2},
        {2, 11, 11, 32, 544, {0, 1}, {1, 0}, 3}, {2, 9, 4, 288, 32, {0, 0}, {0, 0}, 5},
        {1, 41, 53, 32, 64, {1, 1}, {1, 1}, 1}, /* several parts of the pixels */
    };
    (void)state;
    if (!fgi_kernel_tiles_run())
        skip();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (which what = Y; what <= DK; what++)
            check_conv(&rows[i], TILES, what, true, 1);
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
        cmocka_unit_test(convolutions_by_tiles),
        cmocka_unit_test(every_element_is_seen),
        cmocka_unit_test(adam_moves_every_element),
        cmocka_unit_test(errors_begin_with_the_call),
    };
    /* LeakSanitizer crashes at the end if this thread has OpenMP threads */
    (void)setenv("OMP_NUM_THREADS", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
