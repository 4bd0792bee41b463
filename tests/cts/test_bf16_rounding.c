/* test_bf16_rounding.c - matmuls and convolutions in bf16, and their gradients, round their results
 * once: their rms error is at most that of PyTorch 2.15 with the same numbers, which
 * tests/golden/nn/record_bf16.py prints.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdlib.h>

#include "trace_values.h"

enum { X, K, DY, MOST = 64 * 4096 };

/* y = x k, or the convolution of images with a padding of one pixel. */
typedef struct problem {
    fg_type type[3];
    bool is_conv;
    double torch[3]; /* rms errors of y, dx and dk, relative to the rms of the result */
} problem;

/* Multiples of 1/64 from -2 to 2, which bf16 has. */
static double number(uint64_t first, int64_t i)
{
    return ((double)((uint32_t)((first + (uint64_t)i) * 2654435761U) >> 24) - 128) / 64;
}

static double operand(int which, int64_t i)
{
    static const uint64_t first[] = {0, 7, 11};
    return number(first[which], i);
}

static fg_array *array_of(fg_client *client, const fg_type *type, int which)
{
    const int64_t count = fg_type_count(type);
    uint16_t *halves = malloc((size_t)count * sizeof *halves);
    for (int64_t i = 0; i < count; i++) {
        const float value = (float)operand(which, i);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        assert_int_equal(bits & 0xFFFF, 0);
        halves[i] = (uint16_t)(bits >> 16);
    }
    fg_array *array = values_array(client, type, halves);
    free(halves);
    return array;
}

/* Adds the products of a tap of a row of y to the exact results, of `of` rows of x and dy. */
static void add_row(const problem *p, int64_t x, int64_t y, int64_t tap, double *const out[3])
{
    const int64_t from = p->type[X].dim[p->type[X].rank - 1];
    const int64_t to = p->type[DY].dim[p->type[DY].rank - 1];
    for (int64_t i = 0; i < from; i++)
        for (int64_t j = 0; j < to; j++) {
            const double a = operand(X, x * from + i), dy = operand(DY, y * to + j);
            const double k = operand(K, (tap * from + i) * to + j);
            out[0][y * to + j] += a * k;
            out[1][x * from + i] += dy * k;
            out[2][(tap * from + i) * to + j] += a * dy;
        }
}

static void add_all(const problem *p, double *const out[3])
{
    const int64_t *dim = p->type[X].dim, rows = p->is_conv ? dim[0] * dim[1] * dim[2] : dim[0];
    for (int64_t y = 0; y < rows; y++) {
        if (!p->is_conv)
            add_row(p, y, y, 0, out);
        for (int64_t tap = 0; p->is_conv && tap < 9; tap++) {
            const int64_t row = y / dim[2] % dim[1] + tap / 3 - 1,
                          column = y % dim[2] + tap % 3 - 1;
            if (row >= 0 && row < dim[1] && column >= 0 && column < dim[2])
                add_row(p, (y / (dim[1] * dim[2]) * dim[1] + row) * dim[2] + column, y, tap, out);
        }
    }
}

static void check(fg_client *client, const problem *p)
{
    static float have[MOST];
    fg_error err = {0};
    fg_trace *trace = values_trace(client);
    fg_array *array[3], *out[3];
    fg_tensor in[3], result[3];
    double *exact[3];
    int64_t count[3];
    for (int i = 0; i < 3; i++)
        in[i] = fg_input(trace, array[i] = array_of(client, &p->type[i], i));
    result[0] = p->is_conv ? fg_conv2d(in[X], in[K], &(fg_conv2d_options){.pad = 1})
                           : fg_matmul(in[X], in[K]);
    fg_grad(fg_sum(fg_mul(result[0], in[DY]), 0, NULL), in, 2, &result[1]);
    for (int i = 0; i < 3; i++) {
        count[i] = fg_type_count(fg_tensor_type(result[i]));
        exact[i] = calloc((size_t)count[i], sizeof **exact);
        assert_int_equal(fg_tensor_type(result[i])->dtype, FG_BF16);
        result[i] = fg_cast(result[i], FG_F32);
    }
    add_all(p, exact);
    fgt_ok(fg_run(trace, result, 3, out, &err));
    for (int i = 0; i < 3; i++) {
        double error = 0, size = 0;
        fgt_ok(fg_array_read(out[i], have, (size_t)count[i] * sizeof *have, &err));
        for (int64_t k = 0; k < count[i]; k++) {
            error += pow((double)have[k] - exact[i][k], 2);
            size += pow(exact[i][k], 2);
        }
        if (!(sqrt(error / size) <= 1.01 * p->torch[i]))
            fail_msg("result %d: rms error %g, PyTorch's is %g", i, sqrt(error / size),
                     p->torch[i]);
        free(exact[i]);
        fg_array_release(array[i]);
        fg_array_release(out[i]);
    }
    fg_trace_destroy(trace);
}

static void matmuls(void **client)
{
    const problem p = {{{FG_BF16, 2, {64, 4096}}, {FG_BF16, 2, {4096, 64}}, {FG_BF16, 2, {64, 64}}},
                       false,
                       {1.6838e-3, 1.7509e-3, 1.6396e-3}};
    check(*client, &p);
}

static void convolutions(void **client)
{
    const fg_type images = {FG_BF16, 4, {4, 12, 12, 64}};
    const problem p = {
        {images, {FG_BF16, 4, {3, 3, 64, 64}}, images}, true, {1.6456e-3, 1.7464e-3, 1.7587e-3}};
    check(*client, &p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmuls),
        cmocka_unit_test(convolutions),
    };
    return cmocka_run_group_tests(tests, values_open_client, values_close_client) == 0 ? 0 : 1;
}
