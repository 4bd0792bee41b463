/* test_nn_transformer.c - norms, embeddings, recurrent layers, attention and transformer
 * blocks compared with
 * PyTorch: results and gradients in f32 and bf16, of batches with a padding row, on 1 and 4
 * devices. Recorded by tests/golden/nn/record_transformer.py. One program computes all cases.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/transformer.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "record.h"

enum { BATCH = 4, LENGTH = 6, WIDTH = 8, MOST = 1024, MOST_OUTPUTS = 16, MOST_CASES = 32 };

static fg_ckpt *record;

/* ---- cases
 * ------------------------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    const void *options;
    void *(*create)(fg_module *root, const struct row *row);
    fg_tensor (*apply)(const void *layer, fg_tensor x, const struct row *row);
    bool is_padded, has_segments; /* masks as in record_transformer.py */
} row;

static void *create_norm(fg_module *root, const row *r)
{
    return fg_norm_create(root, r->name, r->options);
}

static fg_tensor apply_norm(const void *layer, fg_tensor x, const row *r)
{
    (void)r;
    return fg_norm_apply(layer, x);
}

static void *create_embedding(fg_module *root, const row *r)
{
    return fg_embedding_create(root, r->name, &(fg_embedding_options){.count = 7, .width = WIDTH});
}

static fg_tensor apply_embedding(const void *layer, fg_tensor x, const row *r)
{
    (void)r;
    return fg_embedding_apply(layer, x);
}

static fg_tensor apply_tied(const void *layer, fg_tensor x, const row *r)
{
    (void)r;
    return fg_embedding_logits(layer, fg_embedding_apply(layer, x));
}

static fg_attention_masks masks_of(fg_trace *trace, const row *r)
{
    const int64_t dim[] = {BATCH, LENGTH};
    const fg_tensor sample = fg_iota(trace, FG_S32, 0, 2, dim);
    const fg_tensor at = fg_sub(fg_iota(trace, FG_S32, 1, 2, dim), sample);
    fg_attention_masks m = {.reserved = {0}};
    if (r->is_padded)
        m.valid = fg_lt(at, fg_full(trace, FG_S32, 3, FG_SCALAR));
    if (r->has_segments)
        m.segment = fg_cast(fg_ge(at, fg_full(trace, FG_S32, 1, FG_SCALAR)), FG_S32);
    return m;
}

static void *create_attention(fg_module *root, const row *r)
{
    return fg_multihead_attention_create(root, r->name, r->options);
}

static fg_tensor apply_attention(const void *layer, fg_tensor x, const row *r)
{
    const fg_attention_masks masks = masks_of(fg_tensor_trace(x), r);
    return fg_multihead_attention_apply(layer, x, &masks);
}

static void *create_block(fg_module *root, const row *r)
{
    return fg_transformer_block_create(root, r->name, r->options);
}

static fg_tensor apply_block(const void *layer, fg_tensor x, const row *r)
{
    const fg_attention_masks masks = masks_of(fg_tensor_trace(x), r);
    return fg_transformer_block_apply(layer, x, &masks);
}

static void *create_recurrent(fg_module *root, const row *r)
{
    return fg_recurrent_create(root, r->name, r->options);
}

/* The last states, of both directions, are added to the result; a GRU begins with
 * states of 0.5. */
static fg_tensor apply_recurrent(const void *layer, fg_tensor x, const row *r)
{
    const fg_recurrent_options *o = r->options;
    fg_trace *trace = fg_tensor_trace(x);
    fg_recurrent_state state = {.valid = masks_of(trace, r).valid};
    if (o->kind == FG_GRU)
        state.h = fg_full(trace, FG_F32, 0.5, FG_DIMS(1, BATCH, o->hidden));
    fg_tensor y = fg_recurrent_apply(layer, x, &state);
    for (int i = 0; i < (o->kind == FG_LSTM ? 2 : 1); i++) {
        const fg_tensor last = fg_permute(i == 0 ? state.h : state.c, (const int[]){1, 0, 2});
        y = fg_add(y, fg_cast(fg_reshape(last, FG_DIMS(BATCH, 1, -1)), fg_tensor_type(y)->dtype));
    }
    return y;
}

#define RECURRENT(...)                                                                             \
    .options = &(const fg_recurrent_options){.in = WIDTH, .hidden = 3, __VA_ARGS__},               \
    .create = create_recurrent, .apply = apply_recurrent
#define NORM(...)                                                                                  \
    .options = &(const fg_norm_options){.channels = WIDTH, __VA_ARGS__}, .create = create_norm,    \
    .apply = apply_norm
#define ATTENTION(...)                                                                             \
    .options = &(const fg_multihead_attention_options){__VA_ARGS__}, .create = create_attention,   \
    .apply = apply_attention
#define BLOCK(...)                                                                                 \
    .options = &(const fg_transformer_block_options){__VA_ARGS__}, .create = create_block,         \
    .apply = apply_block
#define SEPARATE .query = "q_proj", .key = "k_proj", .value = "v_proj"

static const row rows[] = {
    {"layer_norm", NORM(.kind = FG_LAYER_NORM)},
    {"layer_norm_far", NORM(.kind = FG_LAYER_NORM)},
    {"layer_norm_eps", NORM(.eps = 0.5, .no_bias = true)},
    {"rms_norm", NORM(.kind = FG_RMS_NORM)},
    {"group_norm", NORM(.kind = FG_GROUP_NORM, .groups = 2)},
    {"instance_norm", NORM(.kind = FG_INSTANCE_NORM, .no_weight = true)},
    {"embedding", .create = create_embedding, .apply = apply_embedding},
    {"tied", .create = create_embedding, .apply = apply_tied},
    {"attention", ATTENTION(.width = WIDTH, .heads = 2)},
    {"causal", ATTENTION(.width = WIDTH, .heads = 2, .causal = true)},
    {"grouped",
     ATTENTION(.width = WIDTH, .heads = 4, .kv_heads = 2, .causal = true,
               .position = FG_POSITION_ROTARY, SEPARATE, .no_bias = true, .no_out_bias = true)},
    {"windowed", ATTENTION(.width = WIDTH, .heads = 2, .causal = true, .window = 3)},
    {"padded", ATTENTION(.width = WIDTH, .heads = 2, .window = 4), .is_padded = true},
    {"segments", ATTENTION(.width = WIDTH, .heads = 2, .causal = true, SEPARATE),
     .has_segments = true},
    {"alibi", ATTENTION(.width = WIDTH, .heads = 8, .causal = true, .position = FG_POSITION_ALIBI)},
    {"alibi_uneven", ATTENTION(.width = 12, .heads = 6, .position = FG_POSITION_ALIBI)},
    {"pre_norm", BLOCK(.attention = {.width = WIDTH, .heads = 2, .causal = true}, .hidden = 16)},
    {"post_norm", BLOCK(.attention = {.width = WIDTH, .heads = 2}, .hidden = 16, .post_norm = true),
     .is_padded = true},
    {"gated", BLOCK(.attention = {.width = WIDTH,
                                  .heads = 4,
                                  .kv_heads = 2,
                                  .causal = true,
                                  .position = FG_POSITION_ROTARY,
                                  .no_bias = true,
                                  .no_out_bias = true},
                    .hidden = 12, .gated = true, .norm = FG_RMS_NORM, .eps = 1e-6,
                    .activation = fg_silu, .remat = true)},
    {"in_chunks",
     ATTENTION(.width = WIDTH, .heads = 4, .kv_heads = 2, .causal = true, .window = 4,
               .position = FG_POSITION_ALIBI, .query_chunk = 4),
     .is_padded = true, .has_segments = true},
    {"lstm", RECURRENT(.bidirectional = true), .is_padded = true},
    {"gru", RECURRENT(.kind = FG_GRU)},
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

/* ---- running
 * ----------------------------------------------------------------------------------- */

typedef struct run {
    fg_client *client;
    fg_trace *trace;
    fg_module *root;
    fg_dtype dtype;
    bool is_masked; /* the last sample is padding, whose contents differ from the record */
    fg_tensor out[ROW_COUNT * MOST_OUTPUTS];
    char name[ROW_COUNT * MOST_OUTPUTS][64];
    const fg_variable *variable[ROW_COUNT * MOST_OUTPUTS]; /* of a gradient; else NULL */
    size_t count;
} run;

/* Sharded over the batch. The padding row has values that would change results. */
static fg_tensor input(run *s, const char *name, const char *what)
{
    static float copy[MOST];
    fg_error err = {0};
    fg_type type;
    fg_array *array = NULL;
    const void *data = fgt_record_get(record, &type, "%s/%s", name, what);
    const int64_t count = fg_type_count(&type), sample = count / BATCH;
    if (s->is_masked && type.dtype == FG_F32) {
        memcpy(copy, data, (size_t)count * sizeof copy[0]);
        for (int64_t i = count - sample; i < count; i++)
            copy[i] = (float)(i % 3) + 3;
        data = copy;
    }
    fgt_ok(fg_array_create_sharded(s->client, &type, data, &(fg_array_options){.spec = "data"},
                                   &array, &err));
    const fg_tensor x = fg_input(s->trace, array);
    fg_array_release(array);
    return s->is_masked ? fg_batch_axis(x, 0) : x;
}

static void add_output(run *s, const row *r, const char *what, fg_tensor value,
                       const fg_variable *variable)
{
    const size_t i = s->count++;
    (void)snprintf(s->name[i], sizeof s->name[i], "%s/%s", r->name, what);
    s->out[i] = fg_cast(value, FG_F32);
    s->variable[i] = variable;
}

static void set_parameter(const row *r, fg_variable *v)
{
    static float values[MOST];
    fg_error err = {0};
    fg_type type;
    const char *name = fg_variable_name(v) + strlen(r->name) + 1;
    const float *file = fgt_record_get(record, &type, "%s/%s", r->name, name);
    assert_int_equal(fg_type_count(&type), fg_type_count(fg_variable_type(v)));
    fgt_from_file_order(v, file, values);
    fgt_ok(fg_variable_set(v, values, fg_type_bytes(&type), &err));
}

/* Sets the parameters of a case, and returns their number. */
static size_t set_parameters(run *s, const row *r, fg_variable **out)
{
    size_t count = 0;
    for (size_t i = 0; i < fg_module_variable_count(s->root); i++) {
        fg_variable *v = fg_module_variable_at(s->root, i);
        const size_t n = strlen(r->name);
        if (strncmp(fg_variable_name(v), r->name, n) == 0 && fg_variable_name(v)[n] == '.') {
            set_parameter(r, v);
            out[count++] = v;
        }
    }
    return count;
}

/* Adds the case's result, and the gradients of sum(y r) by x and the parameters. */
static void add_case(run *s, const row *r)
{
    fg_variable *variables[MOST_OUTPUTS];
    fg_tensor grads[MOST_OUTPUTS];
    char what[64];
    void *layer = r->create(s->root, r);
    fg_error err = {0};
    fgt_ok(fg_module_error(s->root, &err));
    const size_t count = set_parameters(s, r, variables);
    const fg_tensor x = input(s, r->name, "x");
    const bool is_index = fg_tensor_type(x)->dtype == FG_S32;
    const fg_tensor y = r->apply(layer, is_index ? x : fg_cast(x, s->dtype), r);
    add_output(s, r, "y", y, NULL);
    const fg_tensor loss = fg_sum(fg_mul(fg_cast(y, FG_F32), input(s, r->name, "r")), 0, NULL);
    if (!is_index) {
        fg_grad(loss, &x, 1, grads);
        add_output(s, r, "x.grad", grads[0], NULL);
    }
    fg_grad_variables(loss, variables, count, grads);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(what, sizeof what, "%s.grad",
                       fg_variable_name(variables[i]) + strlen(r->name) + 1);
        add_output(s, r, what, grads[i], variables[i]);
    }
}

static double rms(const float *a, const float *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += pow((double)a[i] - (b != NULL ? (double)b[i] : 0), 2);
    return sqrt(sum / (double)count);
}

/* In bf16, the error is at most that of PyTorch, apart from chance: a few values differ by one unit
 * in the last place. */
static void compare(const run *s, size_t i, const float *got)
{
    fg_type type;
    char place[128];
    const float *want = fgt_record_get(record, &type, "%s", s->name[i]);
    const bool has_batch = s->variable[i] == NULL;
    int64_t count = fg_type_count(&type);
    count -= s->is_masked && has_batch ? count / BATCH : 0;
    if (s->dtype == FG_BF16) {
        const float *theirs = fgt_record_get(record, NULL, "%s.bf16", s->name[i]);
        const double error = rms(got, want, count) / rms(want, NULL, count);
        if (error > 1.5 * (double)*theirs + 1e-3)
            fail_msg("%s in bf16: relative error %g, PyTorch's %g", s->name[i], error,
                     (double)*theirs);
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        (void)snprintf(place, sizeof place, "%s[%d]", s->name[i], (int)k);
        fgt_close(place, (double)got[k], (double)want[k], 2e-5, 2e-5);
    }
}

/* Runs the trace, and compares all outputs. */
static void compare_all(run *s)
{
    static fg_array *arrays[ROW_COUNT * MOST_OUTPUTS];
    static float values[MOST], ordered[MOST];
    fg_error err = {0};
    fgt_ok(fg_run(s->trace, s->out, s->count, arrays, &err));
    for (size_t i = 0; i < s->count; i++) {
        const float *got = values;
        fgt_ok(fg_array_read(arrays[i], values, fg_type_bytes(fg_array_type(arrays[i])), &err));
        if (s->variable[i] != NULL) {
            fgt_to_file_order(s->variable[i], values, ordered);
            got = ordered;
        }
        compare(s, i, got);
        fg_array_release(arrays[i]);
    }
}

static void run_all(int devices, bool is_masked, fg_dtype dtype)
{
    static run s;
    static const float valid[BATCH] = {1, 1, 1, 0};
    fg_error err = {0};
    s = (run){.dtype = dtype, .is_masked = is_masked};
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu",
                                               .cpu_devices = devices,
                                               .cache_dir = fgt_cache("")},
                          &s.client, &err));
    fgt_ok(fg_module_create(NULL, 0, &s.root, &err));
    fgt_ok(fg_trace_create(s.client, &s.trace, &err));
    if (is_masked)
        fg_trace_set_mask(s.trace, fg_constant(s.trace, &(fg_type){FG_F32, 1, {BATCH}}, valid));
    for (size_t i = 0; i < ROW_COUNT; i++)
        add_case(&s, &rows[i]);
    compare_all(&s);
    fg_trace_destroy(s.trace);
    fg_module_destroy(s.root);
    fg_client_close(s.client);
}

static void layers_are_pytorchs(void **state) { run_all(1, false, FG_F32); }
static void layers_are_pytorchs_in_bf16(void **state) { run_all(1, false, FG_BF16); }
static void padding_rows_have_no_effect_on_4_devices(void **state) { run_all(4, true, FG_F32); }

static int open_record(void **state)
{
    (void)state;
    record = fgt_record_open("nn/transformer.safetensors");
    return 0;
}

static int close_record(void **state)
{
    (void)state;
    fg_ckpt_close(record);
    return 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(layers_are_pytorchs),
    cmocka_unit_test(layers_are_pytorchs_in_bf16),
    cmocka_unit_test(padding_rows_have_no_effect_on_4_devices),
};

int main(void) { return cmocka_run_group_tests(tests, open_record, close_record) == 0 ? 0 : 1; }
