/* test_trace_flops.c - multiplications and additions counted from the graph, compared with XLA's
 * analysis of the compiled program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>

#include "trace/program.h"

static fg_client *client;

static int open_client(void **state)
{
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    fg_client_close(client);
    return 0;
}

static fg_tensor input(fg_trace *trace, int number, int rank, const int64_t *dim)
{
    fg_type type = {.dtype = FG_F32, .rank = rank};
    memcpy(type.dim, dim, (size_t)rank * sizeof *dim);
    return fgi_trace_feed(trace, number, &type);
}

/* Ours and XLA's for a program of these outputs. */
static void compare(fg_trace *trace, const fg_tensor *outputs, size_t count, double ours)
{
    fg_error err = {0};
    fgi_program *program;
    fgi_program_cost cost;
    fgt_ok(fgi_program_get(trace, outputs, count, &program, &err));
    cost = fgi_executable_cost(fgi_program_executable(program));
    fgt_close("counted", fgi_program_flops(program)->of[FG_F32], ours, 0, 0);
    fgt_close("XLA's", cost.flops, ours, 0, 0);
}

static void matmul_counts(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(client, &trace, &err));
    /* the compiler does not count those of kernels */
    fgi_client_set_plain(client, "matmul-kernel");
    const fg_tensor y = fg_matmul(input(trace, 0, FG_DIMS(7, 11)), input(trace, 1, FG_DIMS(11, 5)));
    compare(trace, &y, 1, 2.0 * 7 * 11 * 5);
    fgi_client_set_plain(client, NULL);
    fg_trace_destroy(trace);
}

/* A 3x3 kernel over 6x6 pixels with one of padding meets 16 x 16 pixels of 18 x 18: (3 * 6 - 2)^2.
 */
static void convolution_without_its_padding(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(client, &trace, &err));
    const fg_tensor x = input(trace, 0, FG_DIMS(2, 6, 6, 3));
    const fg_tensor k = input(trace, 1, FG_DIMS(3, 3, 3, 4));
    const fg_tensor y = fg_conv2d(x, k, &(fg_conv2d_options){.pad = 1});
    compare(trace, &y, 1, 2.0 * 2 * 3 * 4 * 16 * 16);
    fg_trace_destroy(trace);
}

/* With a stride, the input's gradient is a convolution with gaps, which are not counted: each
 * gradient takes as many flops as the forward pass. */
static void gradients_of_a_strided_convolution(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    fg_tensor grads[2];
    fgt_ok(fg_trace_create(client, &trace, &err));
    const fg_tensor x = input(trace, 0, FG_DIMS(2, 9, 8, 3));
    const fg_tensor k = input(trace, 1, FG_DIMS(3, 3, 3, 4));
    const fg_tensor y = fg_conv2d(x, k, &(fg_conv2d_options){.stride = 2, .pad = 1});
    const int64_t *dim = fg_tensor_type(y)->dim;
    const fg_tensor weight = input(trace, 2, 4, dim);
    fg_grad(fg_sum(fg_mul(y, weight), 0, NULL), (const fg_tensor[]){x, k}, 2, grads);
    fgi_program *program;
    fgt_ok(fgi_program_get(trace, &y, 1, &program, &err));
    const double forward = fgi_program_flops(program)->of[FG_F32];
    fgt_close("forward", forward, 2.0 * 2 * 3 * 4 * (3 * 5 - 2) * (3 * 4 - 1), 0, 0);
    fgt_ok(fgi_program_get(trace, grads, 2, &program, &err));
    fgt_close("gradients", fgi_program_flops(program)->of[FG_F32], 2 * forward, 0, 0);
    fg_trace_destroy(trace);
}

/* Products of an output place and a kernel element that lie on one of `size` pixels. */
static double pairs_of(int64_t size, int64_t taps, const fg_conv2d_options *o)
{
    const int64_t places = (size + 2 * o->pad - o->dilation * (taps - 1) - 1) / o->stride + 1;
    double pairs = 0;
    for (int64_t i = 0; i < places; i++)
        for (int64_t k = 0; k < taps; k++) {
            const int64_t at = i * o->stride + k * o->dilation - o->pad;
            pairs += at >= 0 && at < size;
        }
    return pairs;
}

/* Each output channel of 6 sees half of the 4 input channels. */
static void convolution_in_groups_with_gaps(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    fgi_program *program;
    const fg_conv2d_options o = {.stride = 2, .pad = 1, .dilation = 2, .groups = 2};
    fgt_ok(fg_trace_create(client, &trace, &err));
    const fg_tensor x = input(trace, 0, FG_DIMS(2, 9, 8, 4));
    const fg_tensor k = input(trace, 1, FG_DIMS(3, 2, 2, 6));
    const fg_tensor y = fg_conv2d(x, k, &o);
    fgt_ok(fgi_program_get(trace, &y, 1, &program, &err));
    fgt_close("counted", fgi_program_flops(program)->of[FG_F32],
              2.0 * 2 * 2 * 6 * pairs_of(9, 3, &o) * pairs_of(8, 2, &o), 0, 0);
    fg_trace_destroy(trace);
}

/* By the dtype of the operands, which decides about the rate; operations that are not part of the
 * program do not count. */
static void counts_are_by_dtype(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    fgi_program *program;
    fgt_ok(fg_trace_create(client, &trace, &err));
    const fg_tensor a = fg_cast(input(trace, 0, FG_DIMS(3, 5)), FG_BF16);
    const fg_tensor b = fg_cast(input(trace, 1, FG_DIMS(5, 2)), FG_BF16);
    const fg_dot_options wide = {
        .contract_count = 1, .a_contract = {1}, .b_contract = {0}, .result = FG_F32};
    const fg_tensor y = fg_dot(a, b, &wide);
    (void)fg_matmul(fg_cast(a, FG_F32), fg_cast(b, FG_F32));
    fgt_ok(fgi_program_get(trace, &y, 1, &program, &err));
    fgt_close("bf16", fgi_program_flops(program)->of[FG_BF16], 2 * 3 * 5 * 2, 0, 0);
    fgt_close("f32", fgi_program_flops(program)->of[FG_F32], 0, 0, 0);
    fg_trace_destroy(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(matmul_counts),
    cmocka_unit_test(convolution_without_its_padding),
    cmocka_unit_test(gradients_of_a_strided_convolution),
    cmocka_unit_test(convolution_in_groups_with_gaps),
    cmocka_unit_test(counts_are_by_dtype),
};

int main(void) { return cmocka_run_group_tests(tests, open_client, close_client) == 0 ? 0 : 1; }
