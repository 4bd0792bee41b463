/* test_trace_text.c - the program text of a trace, compared byte for byte with files in
 * tests/golden/text, and that it needs no plugin; every allocation on the way may fail.
 *
 * After an intended change: FGT_WRITE_GOLDEN=1 build/tests/unit/test_trace_text writes the files
 * again; read the difference before committing it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "hlo/mlir.h"
#include "trace/program.h"

static const fg_type batch = {.dtype = FG_F32, .rank = 2, .dim = {4, 3}};
static const fg_type labels = {.dtype = FG_S32, .rank = 1, .dim = {4}};
static const fg_type weight = {.dtype = FG_F32, .rank = 2, .dim = {3, 2}};
static const fg_type bias = {.dtype = FG_F32, .rank = 1, .dim = {2}};
static const fg_type images = {.dtype = FG_F32, .rank = 4, .dim = {2, 6, 6, 2}};
static const fg_type kernel = {.dtype = FG_F32, .rank = 4, .dim = {3, 3, 1, 4}};

static char *text_of(fg_trace *trace, const fg_tensor *outputs, size_t count)
{
    fg_error err = {0};
    char *text;
    fgt_ok(fg_trace_text(trace, outputs, count, &text, &err));
    return text;
}

/* Locations name this file as the compiler was given it, and lines of it; the golden files say
 * "HERE" and no line. */
static char *without_places(const char *text)
{
    const size_t name = strlen(__FILE__);
    char *out = malloc(strlen(text) + 1), *to = out;
    for (const char *at = text; *at != '\0';) {
        if (strncmp(at, __FILE__, name) == 0) {
            to = (char *)memcpy(to, "HERE\"", 5) + 5;
            at += name + strspn(at + name, "\":0123456789");
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
    return out;
}

static void compare(const char *name, const char *text)
{
    fg_error err = {0};
    char path[512], *want;
    size_t size;
    char *have = without_places(text);
    (void)snprintf(path, sizeof path, FGT_SOURCE_DIR "/tests/golden/text/%s.mlir", name);
    if (getenv("FGT_WRITE_GOLDEN") != NULL)
        fgt_write(path, have, strlen(have));
    fgt_ok(fgi_file_read(path, 1 << 20, &want, &size, &err));
    if (strcmp(have, want) != 0)
        fail_msg("%s.mlir differs:\n%s", name, have);
    fgi_free(want);
    free(have);
}

static void text_is(const char *name, fg_trace *trace, const fg_tensor *outputs, size_t count)
{
    char *text = text_of(trace, outputs, count);
    compare(name, text);
    fg_free(text);
}

/* ---- golden files ---------------------------------------------------------------------------- */

typedef struct layer {
    fg_variable *weight, *bias;
    fg_scalar rate;
} layer;

static fg_status layer_create(layer *l, fg_error *err)
{
    *l = (layer){.rate = {.dtype = FG_F32}};
    FGI_TRY(fg_variable_create("fc.weight", &weight, NULL, &l->weight, err));
    return fg_variable_create("fc.bias", &bias, NULL, &l->bias, err);
}

static void layer_destroy(layer *l)
{
    fg_variable_destroy(l->weight);
    fg_variable_destroy(l->bias);
}

/* A whole step: forward, loss, gradients, plain descent, in two scopes. */
static fg_tensor step(fg_trace *trace, const layer *l)
{
    const fg_tensor x = fgi_trace_feed(trace, 0, &batch), y = fgi_trace_feed(trace, 1, &labels);
    fg_variable *variables[2] = {l->weight, l->bias};
    fg_tensor gradient[2];
    fg_scope_push(trace, "model");
    fg_scope_push(trace, "fc");
    const fg_tensor product = fg_matmul(x, fg_variable_value(trace, l->weight));
    const fg_tensor logits = fg_add(product, fg_variable_value(trace, l->bias));
    fg_scope_pop(trace);
    fg_scope_pop(trace);
    const fg_tensor loss = fg_cross_entropy(fg_relu(logits), y, NULL);
    fg_grad_variables(loss, variables, 2, gradient);
    const fg_tensor rate = fg_scalar_value(trace, &l->rate);
    for (int i = 0; i < 2; i++) {
        const fg_tensor old = fg_variable_value(trace, variables[i]);
        fg_assign(variables[i], fg_sub(old, fg_mul(gradient[i], rate)));
    }
    return loss;
}

static void text_of_a_step(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    layer l;
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    fgt_ok(layer_create(&l, &err));
    const fg_tensor loss = step(trace, &l);
    text_is("step", trace, &loss, 1);
    text_is("step", trace, &loss, 1); /* asking changes nothing */
    fg_trace_destroy(trace);
    layer_destroy(&l);
}

static void text_of_windows(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const fg_tensor x = fgi_trace_feed(trace, 0, &images), k = fgi_trace_feed(trace, 1, &kernel);
    const fg_conv2d_options conv = {.stride = 2, .pad = 1, .groups = 2};
    fg_tensor outputs[4] = {fg_conv2d(x, k, &conv), fg_avg_pool(x, NULL)};
    const fg_tensor in[2] = {x, k};
    const fg_tensor pooled = fg_max_pool(x, &(fg_pool_options){.size = 3, .stride = 2, .pad = 1});
    fg_grad(fg_add(fg_sum(outputs[0], 0, NULL), fg_sum(pooled, 0, NULL)), in, 2, &outputs[2]);
    text_is("windows", trace, outputs, 4);
    fg_trace_destroy(trace);
}

static void text_of_moves_and_numbers(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const int64_t low[2] = {1, 0}, high[2] = {0, -1}, start[2] = {0, 1}, limit[2] = {4, 3};
    const fg_tensor x = fgi_trace_feed(trace, 0, &batch);
    const uint8_t table[4] = {0, 1, 128, 255};
    const fg_type table_type = {.dtype = FG_U8, .rank = 2, .dim = {2, 2}};
    const fg_tensor outputs[] = {
        fg_pad(x, 0.1, low, high, NULL),
        fg_slice(x, start, limit, NULL),
        fg_permute(fg_broadcast_to(x, FG_DIMS(2, 4, 3)), (const int[]){2, 0, 1}),
        fg_concat((const fg_tensor[]){x, fg_reverse(x, 1, (const int[]){1})}, 2, 0),
        fg_argmax(x),
        fg_cast(fg_where(fg_lt(x, fg_zeros(trace, FG_F32, FG_SCALAR)), x, fg_floor(x)), FG_BF16),
        fg_constant(trace, &table_type, table),
        fg_random_bits(trace, FG_DIMS(3)),
        fg_matmul(fg_transpose(x), x),
    };
    text_is("moves", trace, outputs, sizeof outputs / sizeof outputs[0]);
    fg_trace_destroy(trace);
}

/* Operations with computed positions, with the gradient of two of them. */
static void text_of_gathers(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const fg_type places = {.dtype = FG_S32, .rank = 2, .dim = {2, 3}};
    const fg_type boxes = {.dtype = FG_F32, .rank = 2, .dim = {2, 4}};
    const fg_type maps = {.dtype = FG_F32, .rank = 3, .dim = {2, 2, 3}};
    const fg_type pixels = {.dtype = FG_F32, .rank = 4, .dim = {2, 4, 5, 1}};
    const fg_tensor x = fgi_trace_feed(trace, 0, &pixels), at = fgi_trace_feed(trace, 1, &places);
    fg_trace_set_mask(trace, fgi_trace_feed(trace, 4, &(fg_type){FG_F32, 1, {2}}));
    const fg_tensor rows = fg_batch_axis(fgi_trace_feed(trace, 5, &pixels), 0);
    fg_tensor outputs[] = {
        fg_gather(x, at, 2, 1),
        fg_dynamic_slice(x, at, (const int64_t[]){2, 2, 3, 1}),
        fg_crop_resize(x, fgi_trace_feed(trace, 2, &boxes), 2, 3, NULL),
        fg_affine_sample(x, fgi_trace_feed(trace, 3, &maps), &(fg_affine_options){.nearest = true}),
        fg_batch_roll(rows),
        {0},
    };
    fg_grad(fg_add(fg_sum(outputs[0], 0, NULL), fg_sum(fg_square(outputs[1]), 0, NULL)), &x, 1,
            &outputs[5]);
    text_is("gathers", trace, outputs, sizeof outputs / sizeof outputs[0]);
    fg_trace_destroy(trace);
}

/* ---- locations and numbers ------------------------------------------------------------------- */

static void locations_name_scope_operation_and_line(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    char want[256];
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const fg_tensor x = fgi_trace_feed(trace, 0, &batch);
    fg_scope_push(trace, "net \"one\"\\");
    fg_scope_push(trace, "fc1");
    const int line = __LINE__ + 1;
    const fg_tensor y = fg_tanh(x);
    fg_scope_pop(trace);
    fg_scope_pop(trace);
    fg_scope_pop(trace); /* one too many is no harm */
    fg_tensor d;
    fg_grad(fg_sum(y, 0, NULL), &x, 1, &d);
    char *text = text_of(trace, &d, 1);
    (void)snprintf(want, sizeof want,
                   "\"stablehlo.tanh\"(%%0) : (tensor<4x3xf32>) -> tensor<4x3xf32> "
                   "loc(\"net \\22one\\22\\5C/fc1/tanh\"(\"%s\":%d:0))",
                   __FILE__, line);
    if (strstr(text, want) == NULL)
        fail_msg("no %s in\n%s", want, text);
    /* operations of the gradient have the line of what they differentiate */
    (void)snprintf(want, sizeof want, "net \\22one\\22\\5C/fc1/sub\"(\"%s\":%d:0)", __FILE__, line);
    if (strstr(text, want) == NULL)
        fail_msg("no %s in\n%s", want, text);
    fg_free(text);
    fg_trace_destroy(trace);
}

static void deep_scopes_are_counted(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    for (int i = 0; i < 40; i++)
        fg_scope_push(trace, "s");
    const fg_tensor deep = fg_zeros(trace, FG_F32, FG_DIMS(1));
    assert_int_equal(strlen(fgi_node_of(deep)->scope), 2 * FGI_SCOPE_DEPTH - 1);
    for (int i = 0; i < 39; i++)
        fg_scope_pop(trace);
    assert_string_equal(fgi_node_of(fg_zeros(trace, FG_F32, FG_DIMS(2)))->scope, "s");
    fg_scope_pop(trace);
    assert_null(fgi_node_of(fg_zeros(trace, FG_F32, FG_DIMS(3)))->scope);
    fg_trace_destroy(trace);
}

static void splat_is(fg_dtype dtype, double value, const char *want)
{
    fgi_buf buf = {0};
    fgi_mlir_splat(&buf, &(fg_type){.dtype = dtype}, value);
    if (strcmp(buf.data, want) != 0)
        fail_msg("%g: %s, not %s", value, buf.data, want);
    fgi_buf_fini(&buf);
}

static void numbers_are_written_as_the_format_holds_them(void **state)
{
    (void)state;
    splat_is(FG_F32, 0.1, "dense<1.000000015e-01> : tensor<f32>");
    splat_is(FG_F64, 0.1, "dense<1.00000000000000006e-01> : tensor<f64>");
    splat_is(FG_F64, 1.0 / 3, "dense<3.33333333333333315e-01> : tensor<f64>");
    splat_is(FG_BF16, 0.1, "dense<1.000976562e-01> : tensor<bf16>");
    splat_is(FG_F16, 1e5, "dense<0x7C00> : tensor<f16>");
    splat_is(FG_F32, -1e39, "dense<0xFF800000> : tensor<f32>");
    splat_is(FG_F32, (double)NAN, "dense<0x7FC00000> : tensor<f32>");
    splat_is(FG_F64, (double)INFINITY, "dense<0x7FF0000000000000> : tensor<f64>");
    splat_is(FG_BF16, (double)-INFINITY, "dense<0xFF80> : tensor<bf16>");
    splat_is(FG_BF16, (double)INFINITY, "dense<0x7F80> : tensor<bf16>");
    splat_is(FG_BF16, (double)NAN, "dense<0x7FC0> : tensor<bf16>");
    splat_is(FG_F64, (double)-INFINITY, "dense<0xFFF0000000000000> : tensor<f64>");
    splat_is(FG_F64, (double)NAN, "dense<0x7FF8000000000000> : tensor<f64>");
    splat_is(FG_F16, (double)-INFINITY, "dense<0xFC00> : tensor<f16>");
    splat_is(FG_F16, (double)NAN, "dense<0x7E00> : tensor<f16>");
    splat_is(FG_U32, 4294967295.0, "dense<4294967295> : tensor<ui32>");
    splat_is(FG_S64, -9223372036854775808.0, "dense<-9223372036854775808> : tensor<i64>");
    splat_is(FG_BOOL, 1, "dense<true> : tensor<i1>");
}

/* A maximum starts with the least number of its dtype. */
static void maxima_start_with_the_least(void **state)
{
    static const struct {
        fg_dtype dtype;
        const char *starts;
    } rows[] = {{FG_S8, "dense<-128> : tensor<i8>"},
                {FG_S16, "dense<-32768> : tensor<i16>"},
                {FG_S32, "dense<-2147483648> : tensor<i32>"},
                {FG_S64, "dense<-9223372036854775808> : tensor<i64>"},
                {FG_U8, "dense<0> : tensor<ui8>"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_trace *trace;
        fgt_ok(fg_trace_create(NULL, &trace, &err));
        const fg_tensor most = fg_max(fg_iota(trace, rows[i].dtype, 0, FG_DIMS(3)), 0, NULL);
        char *text = text_of(trace, &most, 1);
        if (strstr(text, rows[i].starts) == NULL)
            fail_msg("%s is not in:\n%s", rows[i].starts, text);
        fg_free(text);
        fg_trace_destroy(trace);
    }
}

static void comparisons_have_the_signs_of_their_dtypes(void **state)
{
    static const struct {
        fg_dtype dtype;
        const char *type;
    } rows[] = {{FG_BOOL, "UNSIGNED"}, {FG_U8, "UNSIGNED"},  {FG_U16, "UNSIGNED"},
                {FG_U32, "UNSIGNED"},  {FG_U64, "UNSIGNED"}, {FG_S8, "SIGNED"},
                {FG_S64, "SIGNED"},    {FG_BF16, "FLOAT"},   {FG_F64, "FLOAT"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char type[64];
        fg_error err = {0};
        fg_trace *trace;
        fgt_ok(fg_trace_create(NULL, &trace, &err));
        const fg_tensor zero = fg_zeros(trace, rows[i].dtype, FG_SCALAR);
        const fg_tensor is_less = fg_lt(zero, fg_ones(trace, rows[i].dtype, FG_SCALAR));
        char *text = text_of(trace, &is_less, 1);
        (void)snprintf(type, sizeof type, "<comparison_type %s>", rows[i].type);
        if (strstr(text, type) == NULL)
            fail_msg("%s is not in:\n%s", type, text);
        fg_free(text);
        fg_trace_destroy(trace);
    }
}

/* ---- derivatives by slices ------------------------------------------------------------------- */

enum { SLICES = 3 };
typedef struct part {
    int64_t start[2], limit[2], stride[2];
} part;

/* The sum of the cubes of that part of x. */
static fg_tensor cubes(fg_tensor x, const part *p)
{
    const fg_tensor cut = fg_slice(x, p->start, p->limit, p->stride);
    return fg_sum(fg_mul(cut, fg_square(cut)), 0, NULL);
}

/* How often the program of the gradient of `loss` by x has an operation with that name. */
static int in_gradient(fg_trace *trace, fg_tensor loss, fg_tensor x, const char *name)
{
    fg_tensor gradient;
    int count = 0;
    fg_grad(loss, &x, 1, &gradient);
    char *text = text_of(trace, &gradient, 1);
    for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name))
        count++;
    fg_free(text);
    return count;
}

static fg_tensor twelve_columns(fg_trace **out)
{
    static const fg_type type = {FG_F32, 2, {4, 12}};
    static const float zeros[48];
    fg_error err = {0};
    fgt_ok(fg_trace_create(NULL, out, &err));
    return fg_constant(*out, &type, zeros);
}

/* The gradient of sum(slice i cubed) by what is sliced, f32[4, 12], at columns start[i] to
 * limit[i]; how often its program has an operation with that name. */
static int in_gradient_of_slices(const int64_t *start, const int64_t *limit, const char *name)
{
    fg_trace *trace;
    fg_tensor sum = {0};
    const fg_tensor x = twelve_columns(&trace);
    for (int i = 0; i < SLICES; i++) {
        const fg_tensor cube = cubes(x, &(part){{0, start[i]}, {4, limit[i]}, {1, 1}});
        sum = i == 0 ? cube : fg_add(sum, cube);
    }
    const int count = in_gradient(trace, sum, x, name);
    fg_trace_destroy(trace);
    return count;
}

static void derivatives_by_neighboring_slices_are_put_together(void **state)
{
    const struct {
        int64_t start[SLICES], limit[SLICES];
        int concats, pads;
    } rows[] = {
        {{0, 3, 8}, {3, 8, 12}, 1, 0},  /* all of it                */
        {{8, 3, 0}, {12, 8, 3}, 1, 0},  /* the last one first       */
        {{1, 3, 8}, {3, 8, 11}, 1, 1},  /* all but the edges        */
        {{0, 4, 8}, {3, 7, 12}, 0, 3},  /* with gaps in between     */
        {{8, 4, 0}, {12, 7, 3}, 0, 3},  /* the same, the last first */
        {{0, 2, 4}, {4, 6, 12}, 0, 3},  /* overlapping              */
        {{0, 0, 6}, {12, 6, 12}, 1, 0}, /* and of the whole as well */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(in_gradient_of_slices(rows[i].start, rows[i].limit, "concatenate"),
                         rows[i].concats);
        assert_int_equal(in_gradient_of_slices(rows[i].start, rows[i].limit, "stablehlo.pad"),
                         rows[i].pads);
    }
}

/* Two parts that end and begin at the same number, but are no neighbors along one axis. */
static void other_derivatives_are_added(void **state)
{
    static const part rows[][2] = {
        {{{0, 0}, {2, 12}, {1, 1}}, {{0, 2}, {4, 12}, {1, 1}}}, /* rows, and columns */
        {{{0, 0}, {4, 4}, {1, 2}}, {{0, 2}, {4, 12}, {1, 1}}},  /* every second column */
        {{{0, 0}, {2, 6}, {1, 1}}, {{0, 6}, {4, 12}, {1, 1}}},  /* only some rows */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_trace *trace;
        const fg_tensor x = twelve_columns(&trace);
        const fg_tensor sum = fg_add(cubes(x, &rows[i][0]), cubes(x, &rows[i][1]));
        assert_int_equal(in_gradient(trace, sum, x, "concatenate"), 0);
        assert_int_equal(in_gradient(trace, sum, x, "stablehlo.pad"), 2);
        fg_trace_destroy(trace);
    }
}

/* Left and right half, the former of which consists of an upper and a lower one. */
static void derivatives_along_two_axes_are_put_together(void **state)
{
    fg_trace *trace;
    const fg_tensor x = twelve_columns(&trace);
    const fg_tensor left = fg_slice(x, (const int64_t[]){0, 0}, (const int64_t[]){4, 6}, NULL);
    const fg_tensor both = fg_add(cubes(left, &(part){{0, 0}, {2, 6}, {1, 1}}),
                                  cubes(left, &(part){{2, 0}, {4, 6}, {1, 1}}));
    const fg_tensor sum = fg_add(both, cubes(x, &(part){{0, 6}, {4, 12}, {1, 1}}));
    (void)state;
    assert_int_equal(in_gradient(trace, sum, x, "concatenate"), 2);
    assert_int_equal(in_gradient(trace, sum, x, "stablehlo.pad"), 0);
    fg_trace_destroy(trace);
}

/* The bias of a layer whose result is sliced: derivatives by slices are summed one by one. */
static void neighboring_derivatives_are_summed_before_they_are_put_together(void **state)
{
    fg_trace *trace;
    const fg_tensor x = twelve_columns(&trace);
    const fg_tensor row = fg_sum(x, 1, (const int[]){0});
    const fg_tensor y = fg_add(x, row);
    const fg_tensor sum = fg_add(cubes(y, &(part){{0, 0}, {4, 6}, {1, 1}}),
                                 cubes(y, &(part){{0, 6}, {4, 12}, {1, 1}}));
    (void)state;
    assert_int_equal(in_gradient(trace, sum, row, "(tensor<4x6xf32>, tensor<f32>)"), 2);
    assert_int_equal(in_gradient(trace, sum, row, "(tensor<6xf32>, tensor<6xf32>)"), 1);
    fg_trace_destroy(trace);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static fg_status write_down(void *self, fg_error *err)
{
    (void)self;
    fg_trace *trace = NULL;
    char *text = NULL;
    layer l;
    fg_status status = layer_create(&l, err);
    if (status == FG_OK)
        status = fg_trace_create(NULL, &trace, err);
    for (int i = 0; i < 2 && status == FG_OK; i++) { /* the second in the memory of the first */
        fg_trace_set_training(trace, true);
        const fg_tensor loss =
            fg_add(step(trace, &l),
                   fg_sum(fg_dropout(fg_full(trace, FG_F32, 1, FG_DIMS(5)), 0.5), 0, NULL));
        status = fg_trace_text(trace, &loss, 1, &text, err);
        fg_free(text);
        fg_trace_reset(trace);
    }
    fg_trace_destroy(trace);
    layer_destroy(&l);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fgt_fault_loop(write_down, NULL);
}

/* ---- long attributes ------------------------------------------------------------------------- */

static char long_name[5000];

static bool long_infer(fgi_infer *c) { return fgi_infer_ok(c, FG_F32, 0, NULL); }

static void long_emit(fgi_emit *e) { fgi_emit_attributes(e, "thing", "name = \"%s\"", long_name); }

static const fgi_op long_op = {.name = "long", .infer = long_infer, .emit = long_emit};

static void attributes_may_be_long(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    char *text;
    memset(long_name, 'n', sizeof long_name - 1);
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const fg_tensor t = fgi_apply_source(trace, &long_op, NULL, 0);
    fgt_ok(fg_trace_text(trace, &t, 1, &text, &err));
    assert_non_null(strstr(text, long_name));
    fg_free(text);
    fg_trace_destroy(trace);
}

static void integers_have_one_zero(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    char *text;
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const fg_tensor zero = fg_full(trace, FG_S32, -0.0, FG_SCALAR);
    const fg_tensor both[] = {zero, fg_full(trace, FG_F32, -0.0, FG_SCALAR)};
    fgt_ok(fg_trace_text(trace, both, 2, &text, &err));
    assert_non_null(strstr(text, "dense<0> : tensor<i32>"));
    assert_non_null(strstr(text, "dense<-0.0")); /* floats have two */
    fg_free(text);
    fg_trace_destroy(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(attributes_may_be_long),
    cmocka_unit_test(integers_have_one_zero),
    cmocka_unit_test(text_of_a_step),
    cmocka_unit_test(text_of_windows),
    cmocka_unit_test(text_of_moves_and_numbers),
    cmocka_unit_test(text_of_gathers),
    cmocka_unit_test(locations_name_scope_operation_and_line),
    cmocka_unit_test(deep_scopes_are_counted),
    cmocka_unit_test(numbers_are_written_as_the_format_holds_them),
    cmocka_unit_test(derivatives_by_neighboring_slices_are_put_together),
    cmocka_unit_test(other_derivatives_are_added),
    cmocka_unit_test(comparisons_have_the_signs_of_their_dtypes),
    cmocka_unit_test(maxima_start_with_the_least),
    cmocka_unit_test(derivatives_along_two_axes_are_put_together),
    cmocka_unit_test(neighboring_derivatives_are_summed_before_they_are_put_together),
    cmocka_unit_test(every_allocation_may_fail),
};
FGT_MAIN(tests)
