/* test_onnx.c - modules as ONNX models: the files are those that ONNX Runtime has run, which
 * computes what the CPU plugin does. Recorded by tests/golden/onnx/record.py.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/weights.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/sha256.h"
#include "record.h"

enum { BATCH = 5, SIDE = 6, CHANNELS = 4, MOST = 1 << 16 };
enum { TIME = 4, FEATURES = 3, HIDDEN = 8, LAYERS = 4 };

static fg_client *client;
static fg_ckpt *record;

typedef struct net {
    fg_module *root;
    fg_variable *kernel, *grouped, *transposed, *table;
    fg_recurrent *layer[LAYERS];
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

static void add_recurrent(net *n)
{
    static const char *const names[LAYERS] = {"lstm", "gru", "lstm_both", "gru_both"};
    static float data[MOST];
    fg_error err = {0};
    for (int i = 0; i < LAYERS; i++)
        n->layer[i] =
            fg_recurrent_create(n->root, names[i],
                                &(fg_recurrent_options){.in = FEATURES,
                                                        .hidden = HIDDEN,
                                                        .kind = i % 2 == 0 ? FG_LSTM : FG_GRU,
                                                        .layers = 1 + i / 2,
                                                        .bidirectional = i >= 2});
    for (size_t i = 0; fg_module_variable_at(n->root, i) != NULL; i++) {
        fg_variable *v = fg_module_variable_at(n->root, i);
        const fg_type *type = fg_variable_type(v);
        for (int64_t k = 0; k < fg_type_count(type); k++)
            data[k] = number(k + (int64_t)i) / 2;
        fgt_ok(fg_variable_set(v, data, fg_type_bytes(type), &err));
    }
}

static void begin_loops(net *n)
{
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, 0, &n->root, &err));
    add_recurrent(n);
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

/* ---- one function with loops ----------------------------------------------------------------- */

/* In the last two layers, some time steps are padding. */
static void put_recurrent(outputs *o, const net *n, fg_tensor x)
{
    const fg_tensor least = fg_full(fg_tensor_trace(x), FG_F32, 0.7, FG_SCALAR),
                    valid = fg_gt(fg_max(fg_abs(x), 1, (const int[]){2}), least);
    for (int i = 0; i < LAYERS; i++) {
        fg_recurrent_state state = {.reserved = {0}};
        if (i >= 2)
            state.valid = valid;
        put(o, fg_recurrent_apply(n->layer[i], x, &state));
        put(o, fg_permute(state.h, (const int[]){1, 0, 2}));
    }
}

typedef struct captured {
    fg_tensor table, half; /* f32[TIME, FEATURES], f32[B, FEATURES] */
} captured;

static void add_row(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                    fg_tensor *y)
{
    next[0] = fg_tanh(fg_add(carry[0], x[0]));
}

/* A loop in a loop, and what is not carried, of which the result is used after the loop too. */
static void add_rows(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                     fg_tensor *y)
{
    const captured *c = self;
    fg_scan(&(fg_scan_options){.carry_count = 1, .x_count = 1, .body = add_row}, carry, &c->table,
            next, NULL);
    next[0] = fg_add(next[0], x[0]);
    next[1] = fg_add_scalar(carry[1], 2);
    y[0] = fg_concat((const fg_tensor[]){next[0], c->half}, 2, 1);
    y[1] = fg_mul(carry[1], carry[1]);
}

static void put_scan(outputs *o, fg_tensor x)
{
    static const float numbers[TIME * FEATURES] = {0.5F, -1, 0.25F, 2, 1, -0.5F};
    fg_trace *trace = fg_tensor_trace(x);
    const fg_type type = {FG_F32, 2, {TIME, FEATURES}};
    captured c = {fg_constant(trace, &type, numbers),
                  fg_full(trace, FG_F32, 0.5, FG_DIMS(fg_tensor_dim(x, 0), FEATURES))};
    const fg_tensor rows = fg_permute(x, (const int[]){1, 0, 2}),
                    first[] = {c.half, fg_full(trace, FG_F32, 1, FG_SCALAR)};
    fg_tensor last[2], y[2];
    fg_scan(&(fg_scan_options){.carry_count = 2,
                               .x_count = 1,
                               .y_count = 2,
                               .reverse = true,
                               .body = add_rows,
                               .self = &c},
            first, &rows, last, y);
    put(o, fg_mul(last[0], last[1]));
    put(o, fg_permute(y[0], (const int[]){1, 0, 2}));
    put(o, fg_mul(fg_permute(x, (const int[]){0, 2, 1}), y[1]));
    put(o, fg_concat((const fg_tensor[]){c.half, last[0]}, 2, 1));
}

static fg_tensor is_small(void *self, const fg_tensor *carry)
{
    return fg_lt(carry[2], fg_full(fg_tensor_trace(carry[2]), FG_F32, 20, FG_SCALAR));
}

static void exchange(void *self, const fg_tensor *carry, fg_tensor *next)
{
    next[0] = carry[1];
    next[1] = fg_add(carry[0], carry[1]);
    next[2] = fg_mul_scalar(carry[2], 2);
}

/* Five iterations, two, and none. */
static void put_while(outputs *o, fg_tensor x)
{
    static const struct {
        double start;
        int64_t limit;
    } rows[] = {{1, 0}, {1, 2}, {100, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fg_tensor first[] = {x, fg_mul_scalar(x, 3),
                                   fg_full(fg_tensor_trace(x), FG_F32, rows[i].start, FG_SCALAR)};
        fg_tensor last[3];
        fg_while(
            &(fg_while_options){
                .carry_count = 3, .limit = rows[i].limit, .condition = is_small, .body = exchange},
            first, last);
        put(o, fg_mul(fg_sub(last[1], last[0]), last[2]));
    }
}

/* Blocks in the middle, and those that are moved into the bounds. */
static void put_blocks(outputs *o, fg_tensor x)
{
    static const int32_t starts[][3] = {{0, 1, 1}, {5, 9, -3}, {0, 0, 0}};
    fg_trace *trace = fg_tensor_trace(x);
    const int64_t size[] = {fg_tensor_dim(x, 0), 2, 2};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        const fg_tensor start = fg_constant(trace, &(fg_type){FG_S32, 1, {3}}, starts[i]);
        const fg_tensor block = fg_dynamic_slice(x, start, size);
        put(o, block);
        put(o, fg_dynamic_update_slice(x, fg_mul_scalar(block, 10), start));
    }
}

static fg_tensor loops(void *self, fg_tensor x)
{
    outputs o = {.count = 0};
    put_recurrent(&o, self, x);
    put_scan(&o, x);
    put_while(&o, x);
    put_blocks(&o, x);
    return fg_concat(o.list, o.count, 1);
}

/* ---- one function of sequences of any length ------------------------------------------------- */

/* Each position attends to those before it. */
static fg_tensor attend(fg_tensor x)
{
    fg_trace *trace = fg_tensor_trace(x);
    const int64_t length = fg_tensor_dim(x, 1);
    const fg_tensor pair[] = {x, x}, row = fg_iota(trace, FG_S32, 0, FG_DIMS(length, length)),
                    column = fg_iota(trace, FG_S32, 1, FG_DIMS(length, length));
    const fg_tensor scores = fg_einsum("btf,bsf->bts", pair, 2),
                    far = fg_full(trace, FG_F32, -1e9, FG_SCALAR);
    const fg_tensor weight[] = {fg_softmax(fg_where(fg_ge(row, column), scores, far)), x};
    return fg_einsum("bts,bsf->btf", weight, 2);
}

static fg_tensor any_length(void *self, fg_tensor x)
{
    const net *n = self;
    fg_trace *trace = fg_tensor_trace(x);
    const int64_t batch = fg_tensor_dim(x, 0), length = fg_tensor_dim(x, 1);
    const fg_tensor place = fg_iota(trace, FG_F32, 1, FG_DIMS(1, length, 1)),
                    first = fg_slice(x, (const int64_t[]){0, 0, 0},
                                     (const int64_t[]){batch, 1, FEATURES}, NULL),
                    flat = fg_reshape(x, FG_DIMS(batch * length, FEATURES));
    const fg_tensor twice[] = {fg_reverse(x, 1, (const int[]){1}), x};
    const fg_tensor sum = fg_sum(fg_concat(twice, 2, 1), 1, (const int[]){1});
    const fg_tensor count = fg_full(trace, FG_S32, (double)length, FG_DIMS(batch, length, 2));
    fg_tensor list[] = {fg_mul(x, place),
                        fg_cast(count, FG_F32),
                        fg_mul(x, first),
                        fg_reshape(fg_tanh(flat), FG_DIMS(batch, length, FEATURES)),
                        fg_add(x, fg_unsqueeze(sum, 1, (const int[]){1})),
                        attend(x),
                        x,
                        x,
                        x,
                        x};
    for (int i = 0; i < LAYERS; i++)
        list[6 + i] = fg_recurrent_apply(n->layer[i], x, NULL);
    return fg_concat(list, 6 + LAYERS, 2);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const fg_onnx_options options = {
    .input = {FG_F32, 3, {CHANNELS, SIDE, SIDE}},
    .metadata = (const char *const[]){"scale", "0.5", NULL},
};

static const fg_onnx_options series = {.input = {FG_F32, 2, {TIME, FEATURES}}},
                             any_series = {.input = {FG_F32, 2, {-1, FEATURES}}};

/* The recorded models. */
typedef struct model {
    const char *name; /* of the file */
    void (*begin)(net *n);
    fg_tensor (*forward)(void *self, fg_tensor x);
    const fg_onnx_options *options;
    size_t limit_bytes;
} model;

static const model models[] = {
    {"operations", begin, all_operations, &options, 0},
    {"loops", begin_loops, loops, &series, 0},
    {"free", begin_loops, any_length, &any_series, 0},
    {"split", begin_loops, loops, &series, 1},
};

static void check_hash(const char *folder, const char *name, bool is_kept)
{
    char *data, digits[65];
    size_t size;
    fg_error err = {0};
    fgi_sha256 hash;
    fgt_ok(fgi_file_read(fgt_path(folder, name), 1 << 24, &data, &size, &err));
    fgi_sha256_init(&hash);
    fgi_sha256_add(&hash, data, size);
    fgi_sha256_end(&hash, digits);
    fg_free(data);
    if (!is_kept && memcmp(digits, fgt_record_get(record, NULL, "%s/sha256", name), 64) != 0)
        fail_msg("%s differs from the one that ONNX Runtime has run: if that is intended, run "
                 "tests/golden/onnx/record.py",
                 name);
}

/* The files themselves, whose output is recorded: every byte of them matters to ONNX Runtime. */
static void the_files_are_the_recorded_ones(void **state)
{
    const char *kept = getenv("FGT_ONNX"), *folder = kept != NULL ? kept : fgt_temp_folder();
    fg_error err = {0};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        const model *m = &models[i];
        fg_onnx_options o = *m->options;
        size_t data_bytes = 7;
        o.limit_bytes = m->limit_bytes;
        o.out_data_bytes = &data_bytes;
        char name[64];
        net n;
        m->begin(&n);
        (void)snprintf(name, sizeof name, "%s.onnx", m->name);
        fgt_ok(fg_module_save_onnx(n.root, fgt_path(folder, name), m->forward, &n, &o, &err));
        check_hash(folder, name, kept != NULL);
        (void)snprintf(name, sizeof name, "%s.onnx.data", m->name);
        assert_int_equal(fgi_exists_in(folder, name), data_bytes > 0);
        assert_int_equal(data_bytes > 0, m->limit_bytes > 0);
        if (data_bytes > 0)
            check_hash(folder, name, kept != NULL);
        fg_module_destroy(n.root);
    }
}

/* The CPU plugin's output for `count` samples. */
static void check_output(const model *m, net *n, int64_t count, int64_t length, const char *output)
{
    static float x[BATCH * CHANNELS * SIDE * SIDE], got[MOST];
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_array *in = NULL, *out = NULL;
    fg_type type, batch = {FG_F32, m->options->input.rank + 1, {count}};
    memcpy(&batch.dim[1], m->options->input.dim, sizeof batch.dim - sizeof batch.dim[0]);
    batch.dim[1] = batch.dim[1] < 0 ? length : batch.dim[1];
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = number((int64_t)i);
    fgt_ok(fg_array_create(client, &batch, x, &in, &err));
    fgt_ok(fg_trace_create(client, &trace, &err));
    const fg_tensor y = m->forward(n, fg_input(trace, in));
    fgt_ok(fg_run(trace, &y, 1, &out, &err));
    const float *expected = fgt_record_get(record, &type, "%s", output);
    type.dim[0] = count;
    assert_true(fg_type_equal(&type, fg_array_type(out)) && fg_type_count(&type) <= MOST);
    fgt_ok(fg_array_read(out, got, fg_type_bytes(&type), &err));
    for (int64_t i = 0; i < fg_type_count(&type); i++)
        fgt_close(output, (double)got[i], (double)expected[i], 1e-5, 1e-5);
    fg_array_release(in);
    fg_array_release(out);
    fg_trace_destroy(trace);
}

static void onnx_runtime_computes_the_same(void **state)
{
    static const struct {
        size_t model;
        int64_t length;
        const char *output;
    } rows[] = {
        {0, 0, "operations/output"}, {1, 0, "loops/output"},  {2, 4, "free/output_4"},
        {2, 7, "free/output_7"},     {2, 1, "free/output_1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const model *m = &models[rows[i].model];
        net n;
        m->begin(&n);
        check_output(m, &n, BATCH, rows[i].length, rows[i].output);
        check_output(m, &n, 1, rows[i].length, rows[i].output);
        fg_module_destroy(n.root);
    }
}

/* Neither of the files is written where the second one cannot be. */
static void both_files_are_written_or_none(void **state)
{
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "d.onnx");
    fg_onnx_options o = series;
    fg_error err = {0};
    net n;
    o.limit_bytes = 1;
    begin_loops(&n);
    fgt_ok(fgi_folder_make(fgt_path(folder, "d.onnx.data"), &err));
    assert_int_equal(fg_module_save_onnx(n.root, path, loops, &n, &o, &err), FG_EIO);
    assert_non_null(strstr(err.message, "d.onnx.data': it is a folder"));
    assert_false(fgi_exists_in(folder, "d.onnx"));
    assert_int_equal(fg_module_save_onnx(n.root, "/dev/null", loops, &n, &o, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "expected the path of a regular file"));
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

static fg_tensor halved(void *self, fg_tensor x)
{
    const int64_t start[4] = {1}, *end = fg_tensor_type(x)->dim;
    return fg_pad(fg_slice(x, start, end, NULL), 0, (const int64_t[]){1, 0, 0, 0},
                  (const int64_t[]){0, 0, 0, 0}, NULL);
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
        {halved,
         "slice: ONNX export does not support the operation 'slice' of more than one element "
         "of an axis whose size is not fixed"},
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

static fg_tensor averaged(void *self, fg_tensor x)
{
    return fg_add(x, fg_unsqueeze(fg_mean(x, 1, (const int[]){1}), 1, (const int[]){1}));
}

static fg_tensor twice_as_long(void *self, fg_tensor x)
{
    return fg_pad(x, 0, (const int64_t[]){0, 0, 0}, (const int64_t[]){0, fg_tensor_dim(x, 1), 0},
                  NULL);
}

static fg_tensor from_the_end(void *self, fg_tensor x)
{
    const int64_t length = fg_tensor_dim(x, 1);
    fg_trace *trace = fg_tensor_trace(x);
    const fg_tensor end = fg_full(trace, FG_S32, -(double)length, FG_DIMS(1, length, 1));
    return fg_mul(x, fg_cast(end, FG_F32));
}

static fg_tensor longer(void *self, fg_tensor x)
{
    return fg_pad(x, 0, (const int64_t[]){0, 1, 0}, (const int64_t[]){0, 1, 0}, NULL);
}

static fg_tensor last_element(void *self, fg_tensor x)
{
    const int64_t length = fg_tensor_dim(x, 1), end[] = {fg_tensor_dim(x, 0), length, FEATURES};
    return fg_slice(x, (const int64_t[]){0, length - 1, 0}, end, NULL);
}

/* Its length is a number of the program, and not only a dimension. */
static void a_length_that_matters_is_not_free(void **state)
{
    static const struct {
        fg_tensor (*forward)(void *self, fg_tensor x);
        const char *message;
    } rows[] = {
        {averaged, "dimension of -1 must be fixed"},
        {from_the_end, "dimension of -1 must be fixed"},
        {longer, "dimension of -1 must be fixed"},
        {last_element, "dimension of -1 must be fixed"},
        {twice_as_long, "does not support the operation 'pad' by a size that is not fixed"},
    };
    const char *path = fgt_path(fgt_temp_folder(), "f.onnx");
    fg_onnx_options o = any_series;
    fg_error err = {0};
    net n;
    begin(&n);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(fg_module_save_onnx(n.root, path, rows[i].forward, &n, &o, &err),
                         FG_EUNSUPPORTED);
        assert_non_null(strstr(err.message, rows[i].message));
        fgt_ok(fg_module_save_onnx(n.root, path, rows[i].forward, &n, &series, &err));
    }
    o.input.dim[1] = -1;
    assert_int_equal(fg_module_save_onnx(n.root, path, longer, &n, &o, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "2 dimensions of the input are -1: expected at most one"));
    fg_module_destroy(n.root);
}

/* Each allocation fails once. */
typedef struct attempt {
    net n;
    const char *path;
} attempt;

static fg_status save(void *self, fg_error *err)
{
    attempt *a = self;
    return fg_module_save_onnx(a->n.root, a->path, convolved, &a->n, &options, err);
}

static fg_tensor one_loop(void *self, fg_tensor x)
{
    const net *n = self;
    return fg_recurrent_apply(n->layer[0], x, NULL);
}

static fg_status save_split(void *self, fg_error *err)
{
    attempt *a = self;
    fg_onnx_options o = any_series;
    o.limit_bytes = 1;
    return fg_module_save_onnx(a->n.root, a->path, one_loop, &a->n, &o, err);
}

static void running_out_of_memory_is_an_error(void **state)
{
    attempt a = {.path = fgt_path(fgt_temp_folder(), "c.onnx")};
    begin(&a.n);
    fgt_fault_loop(save, &a);
    fg_module_destroy(a.n.root);
    begin_loops(&a.n);
    fgt_fault_loop(save_split, &a);
    fg_module_destroy(a.n.root);
}

static int open_all(void **state)
{
    return fgt_record_begin("onnx/operations.safetensors", &client, &record);
}

static int close_all(void **state) { return fgt_record_end(client, record); }

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_files_are_the_recorded_ones),
    cmocka_unit_test(onnx_runtime_computes_the_same),
    cmocka_unit_test(both_files_are_written_or_none),
    cmocka_unit_test(what_onnx_cannot_say_is_named),
    cmocka_unit_test(a_length_that_matters_is_not_free),
    cmocka_unit_test(running_out_of_memory_is_an_error),
};

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
