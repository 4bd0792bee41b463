/* test_lowering.c - what is written in another form for XLA's CPU backend is the same function as
 * the plain form: each rule of src/op/lowerings.c, on and off, and the client's option that
 * matmuls run in oneDNN. Inputs are small integers, so that every sum is exact and the
 * two must agree bit by bit; matmuls through oneDNN are also compared where sums are not exact.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/ops.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "forms.h"
#include "golden.h"
#include "op/op.h"
#include "pjrt/pjrt.h"
#include "plan/hlo_module.h"
#include "trace/graph.h"
#include "trace/program.h"

enum { MOST_INPUTS = 2, MOST_OUTPUTS = 4 };

/* Of sums of up to 96 thirds, absolute and relative. */
#define NEAR 2e-5

static fg_client *client;
static FILE *forms; /* of all programs, for the golden file */

/* How programs are written: whose they are, and the rule that they do without (NULL: none). */
typedef struct form {
    fg_client *client;
    const char *plain;
} form;

/* Writes the operation under test and what is wanted of it. */
typedef struct problem {
    const char *name;
    const char *rule;
    fg_type in[MOST_INPUTS];
    int in_count;
    size_t (*write)(const struct problem *p, const fg_tensor *in, fg_tensor *out);
    fg_conv2d_options conv;
    fg_pool_options pool;
    fg_dot_options dot;
    int axes;
    bool is_same; /* the rule leaves this one alone */
    bool thirds;  /* of whole numbers: sums in another order round otherwise */
    int layers;   /* for what is written several times over */
} problem;

/* Whole numbers from -2 to 2, or their thirds. */
static fg_array *numbers(const problem *p, fg_client *of, int which)
{
    const fg_type *type = &p->in[which];
    fg_error err = {0};
    fg_array *array = NULL;
    const int64_t count = fg_type_count(type);
    float *values = malloc((size_t)count * sizeof *values);
    uint32_t state = 12345 + 77 * (uint32_t)which;
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        values[i] = (float)((int)(state >> 24) % 5 - 2) / (p->thirds ? 3 : 1);
    }
    fg_type f32 = *type;
    f32.dtype = FG_F32;
    if (which == 0 && fg_client_get_info(of)->device_count > 1)
        fgt_ok(fg_array_create_sharded(of, &f32, "data", values, &array, &err));
    else
        fgt_ok(fg_array_create(of, &f32, values, &array, &err));
    free(values);
    return array;
}

/* The outputs' bytes one after another (free), and the program's text (fg_text_free). */
static char *run(const problem *p, const form *f, size_t *out_size, char **out_text)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_tensor in[MOST_INPUTS], out[MOST_OUTPUTS];
    fg_array *arrays[MOST_OUTPUTS];
    fgi_client_set_plain(f->client, f->plain);
    fgt_ok(fg_trace_create(f->client, &trace, &err));
    for (int i = 0; i < p->in_count; i++) {
        fg_array *array = numbers(p, f->client, i);
        in[i] = fg_cast(fg_input(trace, array), p->in[i].dtype);
        fg_array_release(array);
    }
    const size_t count = p->write(p, in, out);
    fgt_ok(fg_trace_text(trace, out, count, out_text, &err));
    fgt_ok(fg_run(trace, out, count, arrays, &err));
    char *bytes = NULL;
    *out_size = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t size = fg_type_bytes(fg_array_type(arrays[i]));
        bytes = realloc(bytes, *out_size + size);
        assert_non_null(bytes);
        fgt_ok(fg_array_read(arrays[i], bytes + *out_size, size, &err));
        *out_size += size;
        fg_array_release(arrays[i]);
    }
    fg_trace_destroy(trace);
    fgi_client_set_plain(f->client, NULL);
    return bytes;
}

/* One of the results' floats after another. */
static void check_near(const problem *p, const char *a, const char *b, size_t size)
{
    for (size_t at = 0; at < size; at += sizeof(float)) {
        float x, y;
        memcpy(&x, a + at, sizeof x);
        memcpy(&y, b + at, sizeof y);
        fgt_close(p->name, (double)x, (double)y, NEAR, NEAR);
    }
}

/* The same function in both forms, to the last bit where inputs are whole numbers. */
static void compare(const problem *p, const form *one, const form *other)
{
    size_t size[2];
    char *text[2];
    char *ruled = run(p, one, &size[0], &text[0]);
    char *plain = run(p, other, &size[1], &text[1]);
    if ((strcmp(text[0], text[1]) == 0) != p->is_same)
        fail_msg("%s: the program is %s under the rule", p->name,
                 p->is_same ? "other" : "as plain");
    forms_write(forms, p->name, text[0]);
    forms_write(forms, "  plain", text[1]);
    assert_int_equal(size[0], size[1]);
    if (p->thirds)
        check_near(p, ruled, plain, size[0]);
    else if (memcmp(ruled, plain, size[0]) != 0)
        fail_msg("%s: other numbers than in plain form", p->name);
    for (int i = 0; i < 2; i++)
        fg_text_free(text[i]);
    free(ruled);
    free(plain);
}

static void check(const problem *p) { compare(p, &(form){client, NULL}, &(form){client, p->rule}); }

/* ---- what is written ------------------------------------------------------------------------- */

/* y, and the derivatives of sum(y y) by x and kernel. */
static size_t conv(const problem *p, const fg_tensor *in, fg_tensor *out)
{
    out[0] = fg_conv2d(in[0], in[1], &p->conv);
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), in, 2, &out[1]);
    return 3;
}

static size_t pool(const problem *p, const fg_tensor *in, fg_tensor *out)
{
    const fg_tensor y = fg_max_pool(in[0], &p->pool);
    fg_grad(fg_sum(fg_mul(y, fg_add_scalar(y, 3)), 0, NULL), in, 1, out);
    return 1;
}

static size_t sum(const problem *p, const fg_tensor *in, fg_tensor *out)
{
    const int axis[] = {0, 1, 2, 3};
    out[0] = fg_sum(fg_square(in[0]), p->axes, axis);
    return 1;
}

/* Whether the quotient of the inputs has bad elements. */
static size_t nonfinite(const problem *p, const fg_tensor *in, fg_tensor *out)
{
    const fg_tensor marks = fgi_nonfinite(fg_div(in[0], fg_add_scalar(in[1], p->axes)));
    const fg_tensor sum = fg_sum(marks, 0, NULL);
    out[0] = fg_cast(fg_ne(sum, fgi_full_like(sum, 0)), FG_S32);
    return 1;
}

static size_t dot(const problem *p, const fg_tensor *in, fg_tensor *out)
{
    (void)p;
    out[0] = fg_matmul(in[0], in[1]);
    return 1;
}

#define X(...)                                                                                     \
    {                                                                                              \
        FG_F32, 4, { __VA_ARGS__ }                                                                 \
    }
#define CONV(label, which, x, k, ...)                                                              \
    {                                                                                              \
        .name = (label), .rule = (which), .in = {x, k}, .in_count = 2, .write = conv, __VA_ARGS__  \
    }

static void reversed_kernels(void **state)
{
    const problem rows[] = {
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
        check(&rows[i]);
}

static void depthwise_kernels(void **state)
{
    const problem rows[] = {
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
        check(&rows[i]);
}

static void grouped_kernels(void **state)
{
    const problem rows[] = {
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
        check(&rows[i]);
}

static void chunks_of_the_batch(void **state)
{
    const problem rows[] = {
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
        check(&rows[i]);
}

#define POOL(label, x, ...)                                                                        \
    {                                                                                              \
        .name = (label), .rule = "compared-maxima", .in = {x}, .in_count = 1, .write = pool,       \
        .pool = {                                                                                  \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* Five different numbers only: most windows have several maxima. */
static void gradients_of_max_pooling(void **state)
{
    const problem rows[] = {
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
        check(&rows[i]);
}

#define SUM(label, count, ...)                                                                     \
    {                                                                                              \
        .name = (label), .rule = "staged-sum", .in = {__VA_ARGS__}, .in_count = 1, .write = sum,   \
        .axes = (count)                                                                            \
    }

static void sums_in_stages(void **state)
{
    const problem rows[] = {
        SUM("rows", 1, {FG_F32, 2, {512, 96}}),
        SUM("odd rows", 1, {FG_F32, 2, {1125, 40}}),
        SUM("images", 3, X(8, 32, 32, 16)),
        SUM("small images", 3, X(128, 2, 2, 64)),
        SUM("images to rows of channels", 2, X(6, 20, 9, 35)),
        SUM("everything", 4, X(4, 32, 16, 32)),
        SUM("f64", 1, {FG_F64, 3, {320, 7, 33}}),
    };
    const problem few = {.name = "few numbers",
                         .rule = "staged-sum",
                         .in = {{FG_F32, 2, {64, 8}}},
                         .in_count = 1,
                         .write = sum,
                         .axes = 1,
                         .is_same = true};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
    check(&few);
}

/* Divisors are from -2 to 2, and from 1 to 5. */
static void elements_that_are_not_finite(void **state)
{
    const problem rows[] = {
        {.name = "not finite", .axes = 0},
        {.name = "finite", .axes = 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        problem p = rows[i];
        p.rule = "summed-nonfinite";
        p.in_count = 2;
        p.in[0] = p.in[1] = (fg_type){FG_F32, 3, {3, 5, 7}};
        p.write = nonfinite;
        check(&p);
    }
}

/* What the backend has made of the program (fgi_hlo_free). */
static fgi_hlo *optimized(const fgi_executable *executable)
{
    fg_error err = {0};
    char *data = NULL;
    size_t size = 0;
    fgi_hlo *hlo = NULL;
    fgt_ok(fgi_executable_optimized(executable, &data, &size, &err));
    fgt_ok(fgi_hlo_read(data, size, &hlo, &err));
    fgi_free(data);
    return hlo;
}

/* The most sums in one loop of it. */
static int most_sums(const fgi_executable *executable)
{
    fgi_hlo *hlo = optimized(executable);
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

/* A loop that makes two stages at once goes column after column again. */
static void stages_stay_apart(void **state)
{
    const problem rows[] = {
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
        fg_array *array = numbers(&rows[i], client, 0);
        fgt_ok(fg_trace_create(client, &trace, &err));
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

/* ---- programs that stay short ---------------------------------------------------------------- */

/* `layers` layers with the first input's shape, and the gradients of all. */
static size_t layers(const problem *p, const fg_tensor *in, fg_tensor *out)
{
    fg_tensor x = in[0];
    for (int i = 0; i < p->layers; i++) {
        if (p->in_count == 2)
            x = fg_conv2d(x, fg_mul_scalar(in[1], i + 1), &p->conv);
        else
            x = fg_max_pool(x, &p->pool);
        x = fg_relu(x);
    }
    fg_grad(fg_sum(fg_square(x), 0, NULL), in, (size_t)p->in_count, out);
    return (size_t)p->in_count;
}

/* Instructions of the optimized program, those within its loops and functions included. */
static size_t instructions(const problem *p)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_tensor in[MOST_INPUTS], out[MOST_OUTPUTS];
    fgi_program *program = NULL;
    size_t count = 0;
    fgt_ok(fg_trace_create(client, &trace, &err));
    for (int i = 0; i < p->in_count; i++) {
        fg_array *array = numbers(p, client, i);
        in[i] = fg_input(trace, array);
        fg_array_release(array);
    }
    const size_t outputs = p->write(p, in, out);
    fgt_ok(fgi_program_get(trace, out, outputs, &program, &err));
    fgi_hlo *hlo = optimized(fgi_program_executable(program));
    for (size_t i = 0; i < hlo->module->n_computation; i++)
        count += hlo->module->computation[i]->n_instruction;
    fgi_hlo_free(hlo);
    fg_trace_destroy(trace);
    return count;
}

/* The time to compile follows the length of what is compiled, which a compiler that fuses layers
 * with each other makes longer than what it was given: each layer adds as much as another. */
static void depth_adds_evenly(void **state)
{
    const problem rows[] = {
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
            problem p = rows[i];
            p.write = layers;
            p.layers = 2 << k;
            count[k] = instructions(&p);
        }
        const size_t two = count[1] - count[0], four = count[2] - count[1];
        if (four > 2 * two + two / 4)
            fail_msg("%s: %zu instructions for 2 layers, %zu for 4, %zu for 8", rows[i].name,
                     count[0], count[1], count[2]);
    }
}

/* Larger windows, more groups and larger batches change the turns of a loop, not its length. */
static void size_adds_nothing(void **state)
{
    const struct {
        problem of[2];
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

/* Loops and functions over a batch that is split are the same as over a whole one. */
static void forms_on_two_devices(void **state)
{
    const problem rows[] = {
        CONV("depthwise", NULL, X(4, 8, 9, 4), X(3, 3, 1, 4), .conv = {.pad = 1, .groups = 4}),
        CONV("depthwise, many taps", NULL, X(2, 12, 13, 4), X(9, 8, 1, 4),
             .conv = {.pad = 4, .groups = 4}),
        CONV("depthwise, sums in stages", NULL, X(8, 16, 16, 32), X(3, 3, 1, 32),
             .conv = {.pad = 1, .groups = 32}),
        CONV("groups", NULL, X(4, 6, 5, 4), X(3, 3, 2, 6), .conv = {.pad = 1, .groups = 2}),
        CONV("chunks", NULL, X(64, 8, 8, 3), X(3, 3, 3, 4), .conv = {.pad = 1}),
        CONV("many chunks in groups", NULL, X(320, 8, 8, 4), X(2, 2, 2, 4), .conv = {.groups = 2}),
        POOL("pooling", X(2, 9, 8, 3), .size = 3, .stride = 2, .pad = 1),
        POOL("pooling in stages", X(4, 17, 14, 2), .size = 7, .stride = 3, .pad = 3),
    };
    fg_error err = {0};
    fg_client *two = NULL;
    (void)state;
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .cpu_devices = 2, .cache_dir = fgt_cache("")},
        &two, &err));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        compare(&rows[i], &(form){two, NULL}, &(form){client, NULL});
    fg_client_close(two);
}

static void matmuls_in_16_bits(void **state)
{
    const problem row = {.name = "bf16",
                         .rule = "f32-matmul",
                         .in = {{FG_BF16, 2, {9, 20}}, {FG_BF16, 2, {20, 7}}},
                         .in_count = 2,
                         .write = dot};
    (void)state;
    check(&row);
}

/* ---- matmuls with a transposed matrix ---------------------------------------------------------
 */

static size_t contraction(const problem *p, const fg_tensor *in, fg_tensor *out)
{
    out[0] = fg_dot(in[0], in[1], &p->dot);
    return 1;
}

/* A linear layer: y, and the gradients of sum(y y). */
static size_t linear(const problem *p, const fg_tensor *in, fg_tensor *out)
{
    (void)p;
    out[0] = fg_relu(fg_matmul(in[0], in[1]));
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), in, 2, &out[1]);
    return 3;
}

#define SWAP(label, a_axis, b_axis, ...)                                                           \
    {                                                                                              \
        .name = (label), .rule = "swapped-matmul", .in = {__VA_ARGS__}, .in_count = 2,             \
        .write = contraction, .dot = {                                                             \
            .contract_count = 1,                                                                   \
            .a_contract = {a_axis},                                                                \
            .b_contract = {b_axis}                                                                 \
        }                                                                                          \
    }

static void transposed_matrices(void **state)
{
    const problem swapped[] = {
        SWAP("a b'", 1, 1, {FG_F32, 2, {16, 160}}, {FG_F32, 2, {256, 160}}),
        SWAP("one row", 1, 1, {FG_F32, 2, {1, 300}}, {FG_F32, 2, {200, 300}}),
        SWAP("several axes", 3, 1, {FG_F32, 4, {2, 3, 5, 256}}, {FG_F32, 2, {200, 256}}),
        {.name = "a linear layer",
         .rule = "swapped-matmul",
         .in = {{FG_F32, 2, {24, 256}}, {FG_F32, 2, {256, 128}}},
         .in_count = 2,
         .write = linear},
    };
    problem same[] = {
        SWAP("a b", 1, 0, {FG_F32, 2, {16, 160}}, {FG_F32, 2, {160, 256}}),
        SWAP("a' b'", 0, 1, {FG_F32, 2, {160, 16}}, {FG_F32, 2, {256, 160}}),
        SWAP("a vector", 0, 1, {FG_F32, 1, {256}}, {FG_F32, 2, {200, 256}}),
        SWAP("many rows", 1, 1, {FG_F32, 2, {200, 160}}, {FG_F32, 2, {256, 160}}),
        SWAP("a small matrix", 1, 1, {FG_F32, 2, {4, 64}}, {FG_F32, 2, {64, 64}}),
        SWAP("f64", 1, 1, {FG_F64, 2, {16, 160}}, {FG_F64, 2, {256, 160}}),
    };
    (void)state;
    for (size_t i = 0; i < sizeof swapped / sizeof swapped[0]; i++)
        check(&swapped[i]);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        same[i].is_same = true;
        check(&same[i]);
    }
}

/* The backend would swap the operands back if it saw the transpose next to the matmul. */
static void transposed_matrices_stay_swapped(void **state)
{
    const problem p = SWAP("a b'", 1, 1, {FG_F32, 2, {16, 160}}, {FG_F32, 2, {256, 160}});
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_tensor in[2], out;
    fgi_program *program = NULL;
    size_t dots = 0;
    (void)state;
    fgt_ok(fg_trace_create(client, &trace, &err));
    for (int i = 0; i < 2; i++) {
        fg_array *array = numbers(&p, client, i);
        in[i] = fg_input(trace, array);
        fg_array_release(array);
    }
    (void)p.write(&p, in, &out);
    fgt_ok(fgi_program_get(trace, &out, 1, &program, &err));
    fgi_hlo *hlo = optimized(fgi_program_executable(program));
    for (size_t i = 0; i < hlo->module->n_computation; i++)
        for (size_t k = 0; k < hlo->module->computation[i]->n_instruction; k++) {
            const fgi_hlo_op *op = hlo->module->computation[i]->instruction[k];
            if (strcmp(op->opcode, "dot") == 0) {
                dots++;
                assert_int_equal(op->shape->n_dimension, 2);
                assert_int_equal(op->shape->dimension[0], 256);
                assert_int_equal(op->shape->dimension[1], 16);
            }
        }
    assert_int_equal(dots, 1);
    fgi_hlo_free(hlo);
    fg_trace_destroy(trace);
}

/* ---- matmuls through oneDNN ----------------------------------------------------------------- */

/* y, and one step down the gradient of sum(y y) for both operands. */
static size_t dot_step(const problem *p, const fg_tensor *in, fg_tensor *out)
{
    out[0] = fg_dot(in[0], in[1], &p->dot);
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), in, 2, &out[1]);
    for (int i = 0; i < 2; i++)
        out[1 + i] = fg_sub(in[i], fg_mul_scalar(out[1 + i], 0.125));
    return 3;
}

/* Two products with arithmetic around them, whose gradients have four more: what the backend would
 * take together. */
static size_t two_layers(const problem *p, const fg_tensor *in, fg_tensor *out)
{
    (void)p;
    out[0] = fg_matmul(fg_relu(fg_matmul(in[0], in[1])), fg_transpose(in[1]));
    fg_grad(fg_sum(fg_add(out[0], in[0]), 0, NULL), in, 2, &out[1]);
    for (int i = 0; i < 2; i++)
        out[1 + i] = fg_sub(in[i], fg_mul_scalar(out[1 + i], 0.125));
    return 3;
}

#define DOT(label, a, b, a_axis, b_axis, in_thirds)                                                \
    {                                                                                              \
        .name = (label), .in = {a, b}, .in_count = 2, .write = dot_step, .thirds = (in_thirds),    \
        .dot = {                                                                                   \
            .contract_count = 1,                                                                   \
            .a_contract = {a_axis},                                                                \
            .b_contract = {b_axis}                                                                 \
        }                                                                                          \
    }
#define MATRIX(m, n)                                                                               \
    {                                                                                              \
        FG_F32, 2, { m, n }                                                                        \
    }

static void matmuls_through_onednn(void **state)
{
    const problem rows[] = {
        DOT("a b", MATRIX(9, 20), MATRIX(20, 7), 1, 0, false),
        DOT("a' b", MATRIX(20, 9), MATRIX(20, 7), 0, 0, false),
        DOT("a b'", MATRIX(9, 20), MATRIX(7, 20), 1, 1, false),
        DOT("a' b'", MATRIX(20, 9), MATRIX(7, 20), 0, 1, false),
        DOT("large a b", MATRIX(64, 96), MATRIX(96, 80), 1, 0, true),
        DOT("large a' b", MATRIX(96, 64), MATRIX(96, 80), 0, 0, true),
        DOT("large a b'", MATRIX(64, 96), MATRIX(80, 96), 1, 1, true),
        DOT("large a' b'", MATRIX(96, 64), MATRIX(80, 96), 0, 1, true),
        DOT("a row", MATRIX(1, 50), MATRIX(50, 30), 1, 0, false),
        {.name = "batches",
         .in = {{FG_F32, 3, {3, 8, 10}}, {FG_F32, 3, {3, 10, 6}}},
         .in_count = 2,
         .write = dot_step,
         .dot = {.batch_count = 1,
                 .a_batch = {0},
                 .b_batch = {0},
                 .contract_count = 1,
                 .a_contract = {2},
                 .b_contract = {1}}},
        {.name = "two layers",
         .in = {MATRIX(24, 12), MATRIX(12, 16)},
         .in_count = 2,
         .write = two_layers,
         .thirds = true},
    };
    fg_error err = {0};
    fg_client *other = NULL;
    (void)state;
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .cache_dir = "", .cpu_onednn = true}, &other,
        &err));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        compare(&rows[i], &(form){other, NULL}, &(form){client, NULL});
    fg_client_close(other);
}

/* ---- the forms themselves -------------------------------------------------------------------- */

/* The other tests compare what is computed; how fast it is depends on the form, which is the same
 * until somebody means to change it. */
static void forms_are_as_they_were(void **state)
{
    char *text = NULL;
    size_t size = 0;
    (void)state;
    assert_int_equal(fflush(forms), 0);
    assert_int_equal(fseek(forms, 0, SEEK_SET), 0);
    text = calloc(1, 1 << 16);
    assert_non_null(text);
    size = fread(text, 1, (1 << 16) - 1, forms);
    assert_true(size < (1 << 16) - 1);
    fgt_golden("text/lowering.txt", text);
    free(text);
}

static int open_all(void **state)
{
    fg_error err = {0};
    forms = tmpfile();
    if (forms == NULL)
        return 1;
    (void)state;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    (void)fclose(forms);
    fg_client_close(client);
    return 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(reversed_kernels),
    cmocka_unit_test(depthwise_kernels),
    cmocka_unit_test(grouped_kernels),
    cmocka_unit_test(chunks_of_the_batch),
    cmocka_unit_test(gradients_of_max_pooling),
    cmocka_unit_test(sums_in_stages),
    cmocka_unit_test(elements_that_are_not_finite),
    cmocka_unit_test(stages_stay_apart),
    cmocka_unit_test(matmuls_in_16_bits),
    cmocka_unit_test(matmuls_through_onednn),
    cmocka_unit_test(depth_adds_evenly),
    cmocka_unit_test(transposed_matrices),
    cmocka_unit_test(transposed_matrices_stay_swapped),
    cmocka_unit_test(size_adds_nothing),
    cmocka_unit_test(forms_on_two_devices),
    cmocka_unit_test(forms_are_as_they_were),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
