/* test_onnx.c - a module as an ONNX model: the file is the one that ONNX Runtime has run, which
 * computes what the CPU plugin does. Recorded by tests/golden/onnx/record.py.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/weights.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/sha256.h"
#include "record.h"

enum { BATCH = 3, SIDE = 6, CHANNELS = 4, MOST = 1 << 15 };

static fg_client *client;
static fg_ckpt *record;

typedef struct net {
    fg_module *root;
    fg_variable *kernel, *grouped, *transposed, *table;
} net;

/* In [-1, 1), exact in f32. */
static float number(int64_t i) { return (float)(i * 7919 % 1024) / 512 - 1; }

static fg_variable *variable(fg_module *root, const char *name, const fg_type *type, bool is_kernel)
{
    static float data[MOST];
    fg_error err = {0};
    fg_variable_options options = {.kind = FG_PARAMETER};
    for (int i = 0; i < 4 && is_kernel; i++)
        options.file_axis[i] = (const int[]){3, 2, 0, 1}[i];
    fg_variable *v = fg_module_variable(root, name, type, &options);
    assert_non_null(v);
    for (int64_t i = 0; i < fg_type_count(type); i++)
        data[i] = number(i + (int64_t)strlen(name));
    fgt_ok(fg_variable_set(v, data, fg_type_bytes(type), &err));
    return v;
}

static void begin(net *n)
{
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, 0, &n->root, &err));
    n->kernel = variable(n->root, "conv.weight", &(fg_type){FG_F32, 4, {3, 3, 4, 6}}, true);
    n->grouped = variable(n->root, "group.weight", &(fg_type){FG_F32, 4, {2, 2, 2, 8}}, true);
    n->transposed = variable(n->root, "up.weight", &(fg_type){FG_F32, 4, {3, 3, 5, 4}}, true);
    n->table = variable(n->root, "table", &(fg_type){FG_F32, 2, {5, 4}}, false);
}

/* ---- one function with every operation of the table ------------------------------------------ */

enum { OUTPUTS = 64 };

typedef struct outputs {
    fg_tensor list[OUTPUTS];
    int count;
} outputs;

static void put(outputs *o, fg_tensor x)
{
    assert_true(o->count < OUTPUTS);
    o->list[o->count++] = fg_flatten(fg_cast(x, FG_F32), 1);
}

static void put_elementwise(outputs *o, fg_tensor x)
{
    const fg_tensor above = fg_add_scalar(fg_abs(x), 0.25);
    const fg_tensor one[] = {fg_abs(x),       fg_neg(x),
                             fg_sign(x),      fg_exp(x),
                             fg_expm1(x),     fg_log(above),
                             fg_log1p(above), fg_sqrt(above),
                             fg_rsqrt(above), fg_sin(x),
                             fg_cos(x),       fg_tanh(x),
                             fg_sigmoid(x),   fg_floor(fg_mul_scalar(x, 3)),
                             fg_erf(x),       fg_gelu_tanh(x),
                             fg_softplus(x),  fg_hardswish(x),
                             fg_softmax(x)};
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        put(o, one[i]);
    put(o, fg_pow(above, fg_div(x, above)));
    put(o, fg_cast(fg_mul_scalar(x, 3), FG_S32));
}

static void put_choices(outputs *o, fg_tensor x)
{
    const fg_tensor y = fg_reverse(x, 1, (const int[]){3}), lt = fg_lt(x, y), ge = fg_ge(x, y);
    put(o, fg_where(fg_and(lt, fg_ne(x, y)), x, y));
    put(o, fg_or(fg_not(ge), fg_gt(x, y)));
    put(o, fg_cast(fg_le(x, y), FG_F32));
    put(o, fg_eq(x, fg_maximum(x, fg_minimum(y, fg_mul_scalar(x, 0.5)))));
}

static void put_reductions(outputs *o, fg_tensor x)
{
    static const int axes[] = {1, 3};
    put(o, fg_sum(x, 2, axes));
    put(o, fg_max(x, 1, axes));
    put(o, fg_min(x, 1, axes));
    put(o, fg_prod(x, 1, &axes[1]));
    put(o, fg_max_pool(x, &(fg_pool_options){.size = 3, .stride = 2, .pad = 1}));
    put(o, fg_avg_pool(x, &(fg_pool_options){.size = 2, .pad = 1}));
}

static void put_moves(outputs *o, const net *n, fg_tensor x)
{
    static const int64_t low[] = {0, 1, 0, 2}, high[] = {0, 0, 2, 1}, at[] = {0, 1, 2, 0},
                         end[] = {BATCH, 6, 6, 3}, step[] = {1, 2, 3, 1};
    fg_trace *trace = fg_tensor_trace(x);
    int64_t limit[4];
    memcpy(limit, end, sizeof limit);
    limit[0] = fg_tensor_dim(x, 0);
    const fg_tensor table = fg_variable_value(trace, n->table);
    const fg_tensor row = fg_cast(fg_mul_scalar(fg_abs(x), 5), FG_S32);
    const fg_type type = {FG_F32, 1, {3}};
    put(o, fg_pad(x, 0.5, low, high, NULL));
    put(o, fg_slice(x, at, limit, step));
    put(o, fg_permute(x, (const int[]){0, 3, 1, 2}));
    put(o, fg_gather(table, row, 0, 0));
    put(o, fg_gather(x, fg_iota(trace, FG_S32, 0, 1, (const int64_t[]){2}), 2, 0));
    put(o, fg_tril(fg_reshape(x, FG_DIMS(-1, 12, 12)), 1));
    put(o, fg_mul(fg_reshape(x, FG_DIMS(-1, 48, 3)),
                  fg_constant(trace, &type, (const float[]){0.5F, -1, 3})));
    put(o, fg_resize(x, (const int64_t[]){9, 4}, FG_RESIZE_LINEAR));
}

static void put_matmuls(outputs *o, const net *n, fg_tensor x)
{
    fg_trace *trace = fg_tensor_trace(x);
    const fg_tensor table = fg_variable_value(trace, n->table);
    const fg_tensor both[] = {fg_reshape(x, FG_DIMS(-1, 6, 3, 8)),
                              fg_reshape(x, FG_DIMS(-1, 3, 6, 8))};
    put(o, fg_reshape(fg_matmul(fg_reshape(x, FG_DIMS(-1, 4)), fg_transpose(table)),
                      FG_DIMS(-1, 180)));
    put(o, fg_einsum("bhwc,kc->bhwk", (const fg_tensor[]){x, table}, 2));
    put(o, fg_einsum("bihd,bhjd->bhij", both, 2));
    put(o, fg_conv2d(x, fg_variable_value(trace, n->kernel),
                     &(fg_conv2d_options){.stride = 2, .pad = 2, .dilation = 2}));
    put(o, fg_conv2d(x, fg_variable_value(trace, n->grouped), &(fg_conv2d_options){.groups = 2}));
    put(o,
        fg_conv_transpose2d(x, fg_variable_value(trace, n->transposed),
                            &(fg_conv_transpose_options){.stride = 2, .pad = 1, .output_pad = 1}));
}

static fg_tensor all_operations(void *self, fg_tensor x)
{
    outputs o = {.count = 0};
    const net *n = self;
    x = fg_permute(x, (const int[]){0, 2, 3, 1});
    put_elementwise(&o, x);
    put_choices(&o, x);
    put_reductions(&o, x);
    put_moves(&o, n, x);
    put_matmuls(&o, n, x);
    return fg_concat(o.list, o.count, 1);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const fg_onnx_options options = {
    .input = {FG_F32, 3, {CHANNELS, SIDE, SIDE}},
    .metadata = (const char *const[]){"scale", "0.5", NULL},
};

/* The file itself, whose output is recorded: every byte of it matters to ONNX Runtime. */
static void the_file_is_the_recorded_one(void **state)
{
    const char *kept = getenv("FGT_ONNX"),
               *path = kept != NULL ? kept : fgt_path(fgt_temp_folder(), "a.onnx");
    char *data, digits[65];
    size_t size;
    net n;
    fg_error err = {0};
    fgi_sha256 hash;
    (void)state;
    begin(&n);
    fgt_ok(fg_module_save_onnx(n.root, path, all_operations, &n, &options, &err));
    fgt_ok(fgi_file_read(path, 1 << 24, &data, &size, &err));
    fgi_sha256_init(&hash);
    fgi_sha256_add(&hash, data, size);
    fgi_sha256_end(&hash, digits);
    fg_free(data);
    fg_module_destroy(n.root);
    if (kept == NULL && memcmp(digits, fgt_record_get(record, NULL, "sha256"), 64) != 0)
        fail_msg(
            "the file differs from the one that ONNX Runtime has run: if that is intended, run "
            "tests/golden/onnx/record.py");
}

static void onnx_runtime_computes_the_same(void **state)
{
    static float x[BATCH * CHANNELS * SIDE * SIDE], got[MOST];
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_array *in = NULL, *out = NULL;
    fg_type type;
    net n;
    (void)state;
    begin(&n);
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = number((int64_t)i);
    const fg_type batch = {FG_F32, 4, {BATCH, CHANNELS, SIDE, SIDE}};
    fgt_ok(fg_array_create(client, &batch, x, &in, &err));
    fgt_ok(fg_trace_create(client, &trace, &err));
    const fg_tensor y = all_operations(&n, fg_input(trace, in));
    fgt_ok(fg_run(trace, &y, 1, &out, &err));
    const float *expected = fgt_record_get(record, &type, "output");
    assert_true(fg_type_equal(&type, fg_array_type(out)) && fg_type_count(&type) <= MOST);
    fgt_ok(fg_array_read(out, got, fg_type_bytes(&type), &err));
    for (int64_t i = 0; i < fg_type_count(&type); i++)
        fgt_close("output", (double)got[i], (double)expected[i], 1e-5, 1e-5);
    fg_array_release(in);
    fg_array_release(out);
    fg_trace_destroy(trace);
    fg_module_destroy(n.root);
}

static fg_tensor convolved(void *self, fg_tensor x)
{
    const net *n = self;
    x = fg_conv2d(fg_permute(x, (const int[]){0, 2, 3, 1}),
                  fg_variable_value(fg_tensor_trace(x), n->kernel), NULL);
    return fg_relu(fg_max(x, 1, (const int[]){1}));
}

static fg_tensor sorted(void *self, fg_tensor x)
{
    fg_tensor values, index;
    fg_sort(x, -1, false, &values, &index);
    return values;
}

static fg_tensor noisy(void *self, fg_tensor x)
{
    const fg_type *type = fg_tensor_type(x);
    return fg_add(x, fg_random_uniform(fg_tensor_trace(x), type->rank, type->dim));
}

static fg_tensor summed(void *self, fg_tensor x) { return fg_sum(x, 0, NULL); }

static fg_tensor counted(void *self, fg_tensor x)
{
    const int64_t dim[] = {fg_tensor_dim(x, 0), 1, 1, 1};
    return fg_add(x, fg_iota(fg_tensor_trace(x), FG_F32, 0, 4, dim));
}

static fg_tensor foreign(void *self, fg_tensor x)
{
    return fg_mul(x, fg_variable_value(fg_tensor_trace(x), self));
}

static void what_onnx_cannot_say_is_named(void **state)
{
    static const struct {
        fg_tensor (*forward)(void *self, fg_tensor x);
        const char *message;
    } rows[] = {
        {sorted, "sort: ONNX export does not support the operation 'sort'"},
        {noisy, "does not support random numbers"},
        {summed, "the first dimension of the output is not that of the batch"},
        {counted, "iota: ONNX export does not support the operation 'iota' along the batch"},
        {foreign, "the output depends on 'loose', which is no parameter or buffer"},
    };
    const char *path = fgt_path(fgt_temp_folder(), "b.onnx");
    fg_error err = {0};
    fg_variable *loose = NULL;
    net n;
    (void)state;
    begin(&n);
    fgt_ok(fg_variable_create("loose", &(fg_type){FG_F32, 0, {0}}, NULL, &loose, &err));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_not_equal(
            fg_module_save_onnx(n.root, path, rows[i].forward, loose, &options, &err), FG_OK);
        if (strstr(err.message, rows[i].message) == NULL)
            fail_msg("'%s' lacks '%s'", err.message, rows[i].message);
    }
    assert_int_equal(fg_module_save_onnx(n.root, path, sorted, NULL, NULL, &err), FG_EINVAL);
    fg_onnx_options same = options;
    same.output_name = "conv.weight";
    assert_int_equal(fg_module_save_onnx(n.root, path, convolved, &n, &same, &err), FG_EINVAL);
    fg_variable_destroy(loose);
    fg_module_destroy(n.root);
}

/* Each allocation fails once. */
static fg_status save(void *self, fg_error *err)
{
    net n = *(net *)self;
    return fg_module_save_onnx(n.root, fgt_path(fgt_temp_folder(), "c.onnx"), convolved, &n,
                               &options, err);
}

static void running_out_of_memory_is_an_error(void **state)
{
    net n;
    (void)state;
    begin(&n);
    fgt_fault_loop(save, &n);
    fg_module_destroy(n.root);
}

static int open_all(void **state)
{
    return fgt_record_begin("onnx/operations.safetensors", &client, &record);
}

static int close_all(void **state) { return fgt_record_end(client, record); }

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_file_is_the_recorded_one),
    cmocka_unit_test(onnx_runtime_computes_the_same),
    cmocka_unit_test(what_onnx_cannot_say_is_named),
    cmocka_unit_test(running_out_of_memory_is_an_error),
};

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
