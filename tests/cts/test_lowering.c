/* test_lowering.c - operations with a lowering for XLA's CPU backend compute the same as their
 * default form: convolutions, pooling, reductions and programs of several devices
 * (lowering_check.h). Matmuls are in test_lowering_dot.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>

#include "kernel/kernel.h"
#include "lowering_check.h"
#include "trace/program.h"

/* ---- programs -------------------------------------------------------------------------------- */

static size_t sum(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const int axis[] = {0, 1, 2, 3};
    out[0] = fg_sum(fg_square(in[0]), p->axes, axis);
    return 1;
}

/* Whether the quotient of the inputs has non-finite elements. */
static size_t nonfinite(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const fg_tensor list[] = {fg_div(in[0], fg_add_scalar(in[1], p->axes)), in[0], in[1]};
    const fg_tensor bad = fgi_nonfinite(list, 3);
    out[0] = fg_cast(fg_ne(bad, fgi_full_like(bad, 0)), FG_S32);
    return 1;
}

#define X(...)                                                                                     \
    {                                                                                              \
        FG_F32, 4, { __VA_ARGS__ }                                                                 \
    }
#define CONV(label, which, x, k, ...)                                                              \
    {                                                                                              \
        .name = (label), .rule = (which), .in = {x, k}, .in_count = 2, .write = lowering_conv,     \
        __VA_ARGS__                                                                                \
    }

static void reversed_kernels(void **state)
{
    const lowering_problem rows[] = {
        CONV("plain", "reversed-kernel", X(2, 6, 7, 3), X(3, 3, 3, 4), .conv = {.pad = 1}),
        CONV("even", "reversed-kernel", X(2, 7, 5, 2), X(2, 4, 2, 3), .conv = {.pad = 2}),
        CONV("stride", "reversed-kernel", X(2, 8, 7, 3), X(3, 3, 3, 4),
             .conv = {.stride = 2, .pad = 1}),
        CONV("stride of points", "reversed-kernel", X(2, 6, 5, 4), X(1, 1, 4, 6),
             .conv = {.stride = 2}),
        CONV("dilation", "reversed-kernel", X(1, 9, 8, 2), X(3, 2, 2, 2),
             .conv = {.pad = 2, .dilation = 2}),
        CONV("all", "reversed-kernel", X(2, 9, 8, 4), X(3, 2, 2, 6),
             .conv = {.stride = 2, .pad = 2, .dilation = 2, .groups = 2}),
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lowering_check(&rows[i]);
}

static void depthwise_kernels(void **state)
{
    const lowering_problem rows[] = {
        CONV("depthwise", "depthwise", X(2, 6, 7, 5), X(3, 3, 1, 5),
             .conv = {.pad = 1, .groups = 5}),
        CONV("depthwise, stride", "depthwise", X(2, 8, 7, 4), X(3, 2, 1, 4),
             .conv = {.stride = 2, .pad = 1, .groups = 4}),
        CONV("depthwise, dilation", "depthwise", X(1, 8, 9, 3), X(2, 3, 1, 3),
             .conv = {.pad = 2, .dilation = 2, .groups = 3}),
        CONV("depthwise, two outputs", "depthwise", X(2, 5, 5, 4), X(3, 3, 1, 8),
             .conv = {.stride = 2, .groups = 4}),
        CONV("depthwise, one tap", "depthwise", X(2, 6, 5, 4), X(1, 1, 1, 4),
             .conv = {.groups = 4}),
        CONV("depthwise, a row of taps", "depthwise", X(2, 6, 9, 4), X(1, 5, 1, 4),
             .conv = {.groups = 4}),
        CONV("depthwise, more taps than one loop has", "depthwise", X(2, 13, 15, 3), X(9, 8, 1, 3),
             .conv = {.pad = 3, .stride = 2, .groups = 3}),
        CONV("depthwise, more taps, dilation", "depthwise", X(1, 20, 21, 2), X(9, 9, 1, 2),
             .conv = {.pad = 2, .dilation = 2, .groups = 2}),
        CONV("depthwise, sums in stages", "depthwise", X(8, 16, 16, 32), X(7, 7, 1, 32),
             .conv = {.pad = 3, .groups = 32}),
        CONV("no depthwise", "depthwise", X(1, 5, 5, 4), X(3, 3, 2, 4), .conv = {.groups = 2},
             .is_same = true),
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lowering_check(&rows[i]);
}

static void grouped_kernels(void **state)
{
    const lowering_problem rows[] = {
        CONV("two groups", "group-by-group", X(3, 6, 5, 4), X(3, 3, 2, 6),
             .conv = {.pad = 1, .groups = 2}),
        CONV("four groups, stride", "group-by-group", X(2, 7, 8, 8), X(3, 2, 2, 12),
             .conv = {.stride = 2, .pad = 1, .groups = 4}),
        CONV("groups, dilation", "group-by-group", X(2, 9, 8, 6), X(2, 3, 2, 3),
             .conv = {.pad = 1, .dilation = 2, .groups = 3}),
        CONV("many groups", "group-by-group", X(1, 5, 4, 600), X(3, 3, 2, 600),
             .conv = {.pad = 1, .groups = 300}),
        CONV("one group", "group-by-group", X(2, 5, 5, 4), X(3, 3, 4, 4), .conv = {.pad = 1},
             .is_same = true),
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lowering_check(&rows[i]);
}

static void chunks_of_the_batch(void **state)
{
    const lowering_problem rows[] = {
        CONV("two chunks", "batch-chunks", X(32, 8, 8, 3), X(3, 3, 3, 4), .conv = {.pad = 1}),
        CONV("three chunks, stride", "batch-chunks", X(48, 16, 17, 2), X(3, 3, 2, 3),
             .conv = {.stride = 2, .pad = 1}),
        CONV("chunks in groups", "batch-chunks", X(32, 9, 8, 4), X(2, 2, 2, 6),
             .conv = {.pad = 1, .dilation = 1, .groups = 2}),
        CONV("ten chunks", "batch-chunks", X(160, 8, 9, 3), X(3, 2, 3, 4), .conv = {.pad = 1}),
        CONV("nine chunks in groups", "batch-chunks", X(144, 8, 8, 4), X(3, 3, 2, 6),
             .conv = {.stride = 1, .pad = 1, .groups = 2}),
        CONV("no even chunks", "batch-chunks", X(24, 8, 8, 3), X(3, 3, 3, 2), .conv = {.pad = 1},
             .is_same = true),
        CONV("few pixels", "batch-chunks", X(32, 4, 4, 3), X(3, 3, 3, 2), .conv = {.pad = 1},
             .is_same = true),
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lowering_check(&rows[i]);
}

/* lowering_conv with results in f32. */
static size_t conv_in_f32(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const size_t count = lowering_conv(p, in, out);
    for (size_t i = 0; i < count; i++)
        out[i] = fg_cast(out[i], FG_F32);
    return count;
}

#define WINOGRAD(label, dtype, most, x, k, ...)                                                    \
    {                                                                                              \
        .name = (label), .rule = "conv-kernel", .in = {{dtype, 4, x}, {dtype, 4, k}},              \
        .in_count = 2, .write = conv_in_f32, .tolerance = (most), .conv = {                        \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define SIZE(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void kernels_of_three_by_three(void **state)
{
    const lowering_problem rows[] = {
        WINOGRAD("few tiles", FG_F32, 1e-5, SIZE(2, 9, 11, 32), SIZE(3, 3, 32, 48), .pad = 1),
        WINOGRAD("many tiles", FG_F32, 1e-5, SIZE(8, 24, 26, 32), SIZE(3, 3, 32, 32), .pad = 2),
        WINOGRAD("bf16", FG_BF16, 1e-2, SIZE(4, 8, 7, 64), SIZE(3, 3, 64, 32), .pad = 1),
    };
    lowering_problem same[] = {
        WINOGRAD("stride", FG_F32, 1e-5, SIZE(2, 9, 8, 32), SIZE(3, 3, 32, 32), .stride = 2),
        WINOGRAD("dilation", FG_F32, 1e-5, SIZE(2, 9, 8, 32), SIZE(3, 3, 32, 32), .dilation = 2),
        WINOGRAD("channels", FG_F32, 1e-5, SIZE(2, 9, 8, 36), SIZE(3, 3, 36, 32), .pad = 1),
        WINOGRAD("f64", FG_F64, 1e-5, SIZE(2, 9, 8, 32), SIZE(3, 3, 32, 32), .pad = 1),
    };
    (void)state;
    if (!fgi_kernel_winograd_runs())
        skip();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lowering_check(&rows[i]);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        same[i].is_same = true;
        lowering_check(&same[i]);
    }
}

/* Convolutions and their gradients by oneDNN, in one to three dimensions. */
static size_t conv_of_any_rank(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const int rank = p->in[0].rank;
    out[0] = rank == 3   ? fg_conv1d(in[0], in[1], &p->conv)
             : rank == 4 ? fg_conv2d(in[0], in[1], &p->conv)
                         : fg_conv3d(in[0], in[1], &p->conv);
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), in, 2, &out[1]);
    for (int i = 0; i < 3; i++)
        out[i] = fg_cast(out[i], FG_F32);
    return 3;
}

#define DNNL(label, dtype, most, dims, x, k, ...)                                                  \
    {                                                                                              \
        .name = (label), .rule = "conv-kernel", .in = {{dtype, dims, x}, {dtype, dims, k}},        \
        .in_count = 2, .write = conv_of_any_rank, .tolerance = (most), .conv = {                   \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* 1 x 1: matmuls. The numbers are integers. */
static void kernels_of_one_pixel(void **state)
{
    const lowering_problem rows[] = {
        DNNL("one line", FG_F32, 0, 3, SIZE(40, 60, 24), SIZE(1, 24, 40), .stride = 1),
        DNNL("one pixel", FG_F32, 0, 4, SIZE(8, 20, 17, 33), SIZE(1, 1, 33, 31), .stride = 1),
        DNNL("one voxel", FG_F32, 0, 5, SIZE(4, 10, 8, 9, 32), SIZE(1, 1, 1, 32, 24), .stride = 1),
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lowering_check(&rows[i]);
}

static void kernels_of_onednn(void **state)
{
    const lowering_problem rows[] = {
        DNNL("stride, odd", FG_F32, 1e-6, 4, SIZE(8, 33, 31, 16), SIZE(3, 3, 16, 40), .stride = 2,
             .pad = 1),
        DNNL("stride over the edge", FG_F32, 1e-6, 4, SIZE(16, 30, 32, 16), SIZE(4, 2, 16, 24),
             .stride = 3, .pad = 1),
        DNNL("points", FG_F32, 1e-6, 4, SIZE(8, 20, 17, 33), SIZE(1, 1, 33, 31), .stride = 1),
        DNNL("dilation", FG_F32, 1e-6, 4, SIZE(4, 24, 24, 17), SIZE(3, 3, 17, 20), .pad = 2,
             .dilation = 2),
        DNNL("groups", FG_F32, 1e-6, 4, SIZE(8, 24, 24, 32), SIZE(3, 3, 8, 48), .pad = 1,
             .groups = 4),
        DNNL("one dimension", FG_F32, 1e-6, 3, SIZE(16, 200, 24), SIZE(7, 24, 32), .stride = 2,
             .pad = 3),
        DNNL("three dimensions", FG_F32, 1e-6, 5, SIZE(4, 20, 21, 19, 16), SIZE(3, 2, 3, 16, 24),
             .stride = 2, .pad = 1),
        DNNL("bf16", FG_BF16, 1e-2, 4, SIZE(8, 33, 31, 16), SIZE(5, 5, 16, 24), .stride = 2,
             .pad = 2),
    };
    fg_error err = {0};
    fg_client *client = NULL;
    (void)state;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
    const bool is_there = strstr(fg_client_info_of(client)->kernels, "oneDNN") != NULL;
    for (size_t i = 0; is_there && i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].in[0].dtype == FG_F32 || fgi_kernel_half() != FGI_KERNEL_HALF_NONE)
            lowering_compare(&rows[i], &(lowering_form){client, NULL},
                             &(lowering_form){lowering_client, "conv-kernel"});
    fg_client_close(client);
    if (!is_there)
        skip();
}

#define POOL(label, x, ...)                                                                        \
    {                                                                                              \
        .name = (label), .rule = "compared-maxima", .in = {x}, .in_count = 1,                      \
        .write = lowering_pool, .pool = {                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* Only five different values: most windows have several maxima. */
static void gradients_of_max_pooling(void **state)
{
    const lowering_problem rows[] = {
        POOL("two by two", X(2, 6, 8, 3), .size = 2),
        POOL("overlapping, padded", X(2, 9, 8, 3), .size = 3, .stride = 2, .pad = 1),
        POOL("gaps", X(1, 10, 9, 2), .size = 2, .stride = 3),
        POOL("all places", X(2, 5, 6, 2), .size = 3, .stride = 1, .pad = 1),
        POOL("as many taps as one loop has", X(2, 11, 12, 2), .size = 4, .stride = 2, .pad = 1),
        POOL("in stages", X(2, 12, 13, 3), .size = 5, .stride = 1, .pad = 2),
        POOL("in stages, side by side", X(2, 13, 15, 3), .size = 6),
        POOL("in stages, stride", X(1, 17, 14, 2), .size = 7, .stride = 3, .pad = 3),
        POOL("in stages, gaps", X(2, 23, 19, 2), .size = 5, .stride = 7, .pad = 1),
        POOL("in stages, one window", X(2, 24, 24, 2), .size = 24),
        POOL("in stages, large", X(1, 40, 37, 2), .size = 24, .stride = 5, .pad = 11),
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lowering_check(&rows[i]);
}

/* Sums of gradients are exact. */
static void max_pooling_by_kernels(void **state)
{
    static const fg_dtype dtypes[] = {FG_F32, FG_BF16};
    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        lowering_problem row =
            POOL("by a kernel", X(16, 23, 24, 6), .size = 3, .stride = 2, .pad = 1);
        row.rule = "pool-kernel";
        row.in[0].dtype = dtypes[i];
        lowering_check(&row);
    }
}

#define SUM(label, count, ...)                                                                     \
    {                                                                                              \
        .name = (label), .rule = "staged-sum", .in = {__VA_ARGS__}, .in_count = 1, .write = sum,   \
        .axes = (count)                                                                            \
    }

static void sums_in_stages(void **state)
{
    const lowering_problem rows[] = {
        SUM("rows", 1, {FG_F32, 2, {512, 96}}),
        SUM("odd rows", 1, {FG_F32, 2, {1125, 40}}),
        SUM("a prime number of rows left", 2, {FG_F32, 3, {16, 197, 24}}),
        SUM("images", 3, X(8, 32, 32, 16)),
        SUM("small images", 3, X(128, 2, 2, 64)),
        SUM("images to rows of channels", 2, X(6, 20, 9, 35)),
        SUM("everything", 4, X(4, 32, 16, 32)),
        SUM("f64", 1, {FG_F64, 3, {320, 7, 33}}),
    };
    const lowering_problem few = {.name = "few numbers",
                                  .rule = "staged-sum",
                                  .in = {{FG_F32, 2, {64, 8}}},
                                  .in_count = 1,
                                  .write = sum,
                                  .axes = 1,
                                  .is_same = true};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lowering_check(&rows[i]);
    lowering_check(&few);
}

/* Divisors are from -2 to 2, and from 1 to 5. */
static void elements_that_are_not_finite(void **state)
{
    const lowering_problem rows[] = {
        {.name = "not finite", .axes = 0},
        {.name = "finite", .axes = 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lowering_problem p = rows[i];
        p.rule = "nonfinite-kernel";
        p.in_count = 2;
        p.in[0] = p.in[1] = (fg_type){FG_F32, 3, {3, 5, 7}};
        p.write = nonfinite;
        lowering_check(&p);
        p.rule = "summed-nonfinite"; /* for dtypes without a kernel */
        p.in[0].dtype = p.in[1].dtype = FG_F64;
        lowering_check(&p);
    }
}

/* The largest number of sums in one of its loops. */
static int most_sums(const fgi_executable *executable)
{
    fgi_hlo *hlo = lowering_optimized(executable);
    int most = 0;
    for (size_t i = 0; i < hlo->module->n_computation; i++) {
        const fgi_hlo_computation *in = hlo->module->computation[i];
        int sums = 0;
        for (size_t k = 0; in != hlo->entry && k < in->n_instruction; k++)
            sums += strcmp(in->instruction[k]->opcode, "reduce") == 0;
        most = sums > most ? sums : most;
    }
    fgi_hlo_free(hlo);
    return most;
}

/* A loop that computes two stages would traverse column by column again. */
static void stages_stay_apart(void **state)
{
    const lowering_problem rows[] = {
        SUM("images", 3, X(16, 32, 32, 64)),
        SUM("few pixels", 3, X(16, 4, 4, 512)),
        SUM("rows", 1, {FG_F32, 2, {2048, 128}}),
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_trace *trace = NULL;
        fg_tensor in, out;
        fgi_program *program = NULL;
        fg_array *array = lowering_numbers(&rows[i], lowering_client, 0);
        fgt_ok(fg_trace_create(lowering_client, &trace, &err));
        in = fg_input(trace, array);
        (void)rows[i].write(&rows[i], &in, &out);
        fgt_ok(fgi_program_get(trace, &out, 1, &program, &err));
        const int most = most_sums(fgi_program_executable(program));
        if (most != 1)
            fail_msg("%s: %d sums in one loop", rows[i].name, most);
        fg_trace_destroy(trace);
        fg_array_release(array);
    }
}

/* ---- length of programs ---------------------------------------------------------------------- */

/* The number of instructions of the optimized program, including its loops and functions. */
static size_t instructions(const lowering_problem *p)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_tensor in[MOST_INPUTS], out[MOST_OUTPUTS];
    fgi_program *program = NULL;
    size_t count = 0;
    fgt_ok(fg_trace_create(lowering_client, &trace, &err));
    for (int i = 0; i < p->in_count; i++) {
        fg_array *array = lowering_numbers(p, lowering_client, i);
        in[i] = fg_input(trace, array);
        fg_array_release(array);
    }
    const size_t outputs = p->write(p, in, out);
    fgt_ok(fgi_program_get(trace, out, outputs, &program, &err));
    fgi_hlo *hlo = lowering_optimized(fgi_program_executable(program));
    for (size_t i = 0; i < hlo->module->n_computation; i++)
        count += hlo->module->computation[i]->n_instruction;
    fgi_hlo_free(hlo);
    fg_trace_destroy(trace);
    return count;
}

/* Compile time depends on the length of the optimized program, which fusing layers into each other
 * would increase: each layer must add the same number of instructions. */
static void depth_adds_evenly(void **state)
{
    const lowering_problem rows[] = {
        {.name = "depthwise",
         .in = {X(4, 12, 12, 16), X(3, 3, 1, 16)},
         .in_count = 2,
         .conv = {.pad = 1, .groups = 16}},
        {.name = "depthwise, many taps",
         .in = {X(2, 12, 12, 16), X(9, 9, 1, 16)},
         .in_count = 2,
         .conv = {.pad = 4, .groups = 16}},
        {.name = "groups",
         .in = {X(2, 8, 8, 8), X(3, 3, 2, 8)},
         .in_count = 2,
         .conv = {.pad = 1, .groups = 4}},
        {.name = "pooling",
         .in = {X(2, 12, 12, 4)},
         .in_count = 1,
         .pool = {.size = 3, .stride = 1, .pad = 1}},
        {.name = "pooling in stages",
         .in = {X(2, 12, 12, 4)},
         .in_count = 1,
         .pool = {.size = 9, .stride = 1, .pad = 4}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t count[3];
        for (int k = 0; k < 3; k++) {
            lowering_problem p = rows[i];
            p.write = lowering_layers;
            p.layers = 2 << k;
            count[k] = instructions(&p);
        }
        const size_t two = count[1] - count[0], four = count[2] - count[1];
        if (four > 2 * two + two / 4)
            fail_msg("%s: %zu instructions for 2 layers, %zu for 4, %zu for 8", rows[i].name,
                     count[0], count[1], count[2]);
    }
}

/* Larger windows, more groups and larger batches change the trip count of a loop, not its
 * length. */
static void size_adds_nothing(void **state)
{
    const struct {
        lowering_problem of[2];
    } rows[] = {
        {{CONV("taps", NULL, X(2, 16, 16, 16), X(9, 9, 1, 16), .conv = {.pad = 4, .groups = 16}),
          CONV("taps", NULL, X(2, 16, 16, 16), X(13, 9, 1, 16), .conv = {.pad = 4, .groups = 16})}},
        {{CONV("groups", NULL, X(2, 8, 8, 16), X(3, 3, 4, 16), .conv = {.groups = 4}),
          CONV("groups", NULL, X(2, 8, 8, 256), X(3, 3, 4, 256), .conv = {.groups = 64})}},
        {{CONV("chunks", NULL, X(160, 8, 8, 2), X(3, 3, 2, 2), .conv = {.pad = 1}),
          CONV("chunks", NULL, X(640, 8, 8, 2), X(3, 3, 2, 2), .conv = {.pad = 1})}},
        {{POOL("windows", X(2, 30, 30, 2), .size = 6),
          POOL("windows", X(2, 30, 30, 2), .size = 24)}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t few = instructions(&rows[i].of[0]), many = instructions(&rows[i].of[1]);
        if (many > few + few / 4)
            fail_msg("%s: %zu instructions, %zu of the larger one", rows[i].of[0].name, few, many);
    }
}

/* ---- several devices ------------------------------------------------------------------------- */

/* The devices call the kernel with their rows. */
static void check_kernel(const lowering_problem *p, fg_client *client)
{
    char *text;
    size_t size;
    free(lowering_run(p, &(lowering_form){client, NULL}, &size, &text));
    assert_true(!fgi_kernel_winograd_runs() || strstr(text, FGI_KERNEL_WINOGRAD_DK) != NULL);
    fg_free(text);
}

/* Loops and functions give the same results on a sharded batch. */
static void forms_on_two_devices(void **state)
{
    const lowering_problem rows[] = {
        CONV("depthwise", NULL, X(4, 8, 9, 4), X(3, 3, 1, 4), .conv = {.pad = 1, .groups = 4}),
        CONV("depthwise, many taps", NULL, X(2, 12, 13, 4), X(9, 8, 1, 4),
             .conv = {.pad = 4, .groups = 4}),
        CONV("depthwise, sums in stages", NULL, X(8, 16, 16, 32), X(3, 3, 1, 32),
             .conv = {.pad = 1, .groups = 32}),
        CONV("groups", NULL, X(4, 6, 5, 4), X(3, 3, 2, 6), .conv = {.pad = 1, .groups = 2}),
        CONV("chunks", NULL, X(64, 8, 8, 3), X(3, 3, 3, 4), .conv = {.pad = 1}),
        CONV("many chunks in groups", NULL, X(320, 8, 8, 4), X(2, 2, 2, 4), .conv = {.groups = 2}),
        WINOGRAD("three by three", FG_F32, 1e-5, SIZE(4, 9, 11, 32), SIZE(3, 3, 32, 32), .pad = 1),
        WINOGRAD("in bf16", FG_BF16, 1e-2, SIZE(2, 9, 11, 32), SIZE(3, 3, 32, 32), .pad = 1),
        POOL("pooling", X(2, 9, 8, 3), .size = 3, .stride = 2, .pad = 1),
        POOL("pooling in stages", X(4, 17, 14, 2), .size = 7, .stride = 3, .pad = 3),
        POOL("pooling by a kernel", X(4, 31, 28, 16), .size = 2),
    };
    fg_error err = {0};
    fg_client *two = NULL;
    (void)state;
    fgt_ok(fg_client_open(
        &(fg_client_options){
            .accelerator = "cpu", .cpu_devices = 2, .kernels = "own", .cache_dir = fgt_cache("")},
        &two, &err));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lowering_compare(&rows[i], &(lowering_form){two, NULL},
                         &(lowering_form){lowering_client, NULL});
    check_kernel(&rows[6], two);
    fg_client_close(two);
}

/* ---- selection of lowerings ------------------------------------------------------------------ */

static void forms_are_as_they_were(void **state)
{
    (void)state;
    lowering_check_forms("text/lowering.txt");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(reversed_kernels),
    cmocka_unit_test(depthwise_kernels),
    cmocka_unit_test(grouped_kernels),
    cmocka_unit_test(chunks_of_the_batch),
    cmocka_unit_test(kernels_of_three_by_three),
    cmocka_unit_test(kernels_of_one_pixel),
    cmocka_unit_test(kernels_of_onednn),
    cmocka_unit_test(gradients_of_max_pooling),
    cmocka_unit_test(max_pooling_by_kernels),
    cmocka_unit_test(sums_in_stages),
    cmocka_unit_test(elements_that_are_not_finite),
    cmocka_unit_test(stages_stay_apart),
    cmocka_unit_test(depth_adds_evenly),
    cmocka_unit_test(size_adds_nothing),
    cmocka_unit_test(forms_on_two_devices),
    cmocka_unit_test(forms_are_as_they_were),
};

int main(void) { return cmocka_run_group_tests(tests, lowering_open, lowering_close) == 0 ? 0 : 1; }
