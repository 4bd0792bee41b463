/* test_bf16_rounding.c - matmuls, convolutions and attention in bf16, and their gradients, are as
 * exact as in PyTorch 2.15: the rms of their difference from the results in f64 is at most that of
 * PyTorch with the same numbers, which tests/golden/nn/record_bf16.py prints.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdlib.h>

#include "trace_values.h"

enum { MOST_INPUTS = 3, MOST_RESULTS = 1 + MOST_INPUTS };

/* y of `count` inputs, and their gradients. */
typedef struct problem {
    const char *name;
    fg_tensor (*y)(const fg_tensor *in);
    int count;
    fg_type type[MOST_INPUTS];
    double torch[MOST_RESULTS]; /* rms errors, relative to the rms of the result */
} problem;

static fg_tensor matmul(const fg_tensor *in) { return fg_matmul(in[0], in[1]); }

static fg_tensor conv(const fg_tensor *in)
{
    return fg_conv2d(in[0], in[1], &(fg_conv2d_options){.pad = 1});
}

static fg_tensor attention(const fg_tensor *in) { return fg_attention(in[0], in[1], in[2], NULL); }

static fg_tensor causal_attention(const fg_tensor *in)
{
    return fg_attention(in[0], in[1], in[2], &(fg_attention_options){.causal = true});
}

/* Multiples of 1/64 from -2 to 2, which bf16 has. */
static fg_array *numbers(fg_client *client, const fg_type *type, int which)
{
    static const uint64_t first[] = {0, 7, 11, 13};
    const int64_t count = fg_type_count(type);
    double *values = malloc((size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++) {
        const uint32_t hash = (uint32_t)((first[which] + (uint64_t)i) * 2654435761U);
        values[i] = ((double)(hash >> 24) - 128) / 64;
    }
    fg_type wide = *type;
    wide.dtype = FG_F64;
    fg_array *array = values_array(client, &wide, values);
    free(values);
    return array;
}

/* y and the gradients of its sum with the weights of the last numbers, computed in this dtype, as
 * f64. */
static void run(fg_client *client, const problem *p, fg_dtype dtype, fg_array **out)
{
    fg_error err = {0};
    fg_trace *trace = values_trace(client);
    fg_tensor in[MOST_INPUTS], result[MOST_RESULTS];
    for (int i = 0; i < p->count; i++) {
        fg_array *array = numbers(client, &p->type[i], i);
        in[i] = fg_cast(fg_input(trace, array), dtype);
        fg_array_release(array);
    }
    result[0] = p->y(in);
    assert_int_equal(fg_tensor_type(result[0])->dtype, dtype);
    fg_array *array = numbers(client, fg_tensor_type(result[0]), p->count);
    const fg_tensor dy = fg_cast(fg_input(trace, array), dtype);
    fg_array_release(array);
    fg_grad(fg_sum(fg_mul(result[0], dy), 0, NULL), in, p->count, &result[1]);
    for (int i = 0; i <= p->count; i++)
        result[i] = fg_cast(result[i], FG_F64);
    fgt_ok(fg_run(trace, result, 1 + p->count, out, &err));
    fg_trace_destroy(trace);
}

static double *read_all(fg_array *array)
{
    fg_error err = {0};
    const size_t size = fg_type_bytes(fg_array_type(array));
    double *values = malloc(size);
    fgt_ok(fg_array_read(array, values, size, &err));
    return values;
}

static void check(fg_client *client, const problem *p)
{
    fg_array *half[MOST_RESULTS], *full[MOST_RESULTS];
    run(client, p, FG_BF16, half);
    run(client, p, FG_F64, full);
    for (int i = 0; i <= p->count; i++) {
        double error = 0, size = 0, *have = read_all(half[i]), *exact = read_all(full[i]);
        for (int64_t k = 0; k < fg_type_count(fg_array_type(full[i])); k++) {
            error += pow(have[k] - exact[k], 2);
            size += pow(exact[k], 2);
        }
        if (!(sqrt(error / size) <= 1.01 * p->torch[i]))
            fail_msg("%s: result %d: rms error %g, PyTorch's is %g", p->name, i, sqrt(error / size),
                     p->torch[i]);
        free(have);
        free(exact);
        fg_array_release(half[i]);
        fg_array_release(full[i]);
    }
}

#define HEADS                                                                                      \
    {                                                                                              \
        FG_BF16, 4, { 2, 197, 3, 64 }                                                              \
    }

static void errors_are_at_most_those_of_pytorch(void **client)
{
    static const problem rows[] = {
        {"matmul",
         matmul,
         2,
         {{FG_BF16, 2, {64, 4096}}, {FG_BF16, 2, {4096, 64}}},
         {1.6838e-3, 1.7509e-3, 1.6396e-3}},
        {"conv",
         conv,
         2,
         {{FG_BF16, 4, {4, 12, 12, 64}}, {FG_BF16, 4, {3, 3, 64, 64}}},
         {1.6456e-3, 1.7464e-3, 1.7587e-3}},
        {"attention",
         attention,
         3,
         {HEADS, HEADS, HEADS},
         {1.5958e-3, 4.1157e-2, 1.2227e-2, 2.3935e-3}},
        {"causal attention",
         causal_attention,
         3,
         {HEADS, HEADS, HEADS},
         {1.5909e-3, 1.3739e-2, 8.4209e-3, 2.6166e-3}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(*client, &rows[i]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_at_most_those_of_pytorch),
    };
    return cmocka_run_group_tests(tests, values_open_client, values_close_client) == 0 ? 0 : 1;
}
