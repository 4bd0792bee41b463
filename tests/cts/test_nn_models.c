/* test_nn_models.c - models compared with those of transformers and timm in tiny configurations:
 * names and shapes of variables in files, logits, gradients, 50 steps of AdamW from the same
 * weights, and sampling with a key/value cache. Recorded by tests/golden/nn/record_models.py.
 * tests/golden/onnx/check_models.py runs the files of each_model_is_an_onnx_model in ONNX Runtime.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/optim.h>
#include <fulgurite/transformer.h>
#include <fulgurite/weights.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "nn/model.h"
#include "nn/published_names.h"
#include "record.h"

enum { SEED = 11, BATCH = 4, LENGTH = 6, VOCABULARY = 11, CLASSES = 3, STEPS = 50 };
enum { MOST_VARIABLES = 400, MOST = 1 << 21 };

static fg_client *client;
static fg_ckpt *record;

typedef struct row {
    const char *name, *options; /* of the case: that of the model, and a '/' if it has several */
    int64_t side;               /* of images; 0: tokens */
    bool classifies_texts;      /* one label for each sequence of tokens */
    int64_t outputs;            /* 0: CLASSES */
} row;

static const row rows[] = {
    {"gpt2", "{layers: 2, width: 16, heads: 2, length: 8, dropout: 0}", 0, false, 0},
    {"llama", "{layers: 2, width: 16, heads: 4, kv_heads: 2, intermediate: 24}", 0, false, 0},
    {"bert",
     "{vocabulary: 11, layers: 2, width: 16, heads: 4, intermediate: 32, length: 8, dropout: 0}", 0,
     true, 0},
    {"vit", "{patch: 8, layers: 2, width: 16, heads: 2}", 16, false, 0},
    {"convnext", "{depths: [1, 1, 2, 1], widths: [8, 12, 16, 20]}", 32, false, 0},
    {"efficientnet", "{width_factor: 0.25, depth_factor: 0.4}", 64, false, 0},
    {"mobilenet_v3_small", NULL, 32, false, 0},
    {"unet", "{width: 4, depth: 2}", 10, false, 10 * 10 * 2},
    {"lstm", "{layers: 2, width: 6}", 0, false, 0},
    {"lstm/classes", "{width: 6, bidirectional: true, vocabulary: 11}", 0, true, 0},
};

/* ---- counted numbers
 * ---------------------------------------------------------------------------- */

static float number(uint64_t tag, int64_t i)
{
    const fgi_key key = fgi_key_fold(fgi_key_from_seed(SEED), tag);
    return 2 * fgi_rng_uniform(key, (uint64_t)i) - 1;
}

static int32_t integer(uint64_t tag, int64_t i, uint32_t below)
{
    const fgi_key key = fgi_key_fold(fgi_key_from_seed(SEED), tag);
    return (int32_t)((uint32_t)fgi_rng_u64(key, (uint64_t)i) % below);
}

/* The first one is not BERT's padding. */
static int32_t token_at(int64_t i) { return i % LENGTH == 0 ? 1 : integer(5000, i, VOCABULARY); }

/* ---- one model
 * ---------------------------------------------------------------------------------- */

typedef struct net {
    const row *row;
    fg_module *root;
    fg_model *model;
    fg_trace *trace;
    fg_array *x, *y;
    fg_variable *variable[MOST_VARIABLES]; /* in the order of the record's table */
    size_t count;
} net;

/* Sets a variable as record_models.py does; `shape` is that of the file, "16,8". */
static void set_variable(fg_variable *v, uint64_t tag, const char *shape)
{
    static float file[MOST], own[MOST];
    fg_error err = {0};
    const fg_type *type = fg_variable_type(v);
    const int *axis = fg_variable_file_axis(v);
    const char *name = fg_variable_name(v), *last = strrchr(name, '.');
    last = last != NULL ? last + 1 : name;
    int64_t fan = 1;
    for (int i = 0; i < type->rank; i++) {
        char *rest;
        const int64_t size = strtol(shape, &rest, 10);
        if (size != type->dim[axis != NULL ? axis[i] : i])
            fail_msg("%s: dimension %d of the file is %d", name, i, (int)size);
        fan *= i > 0 ? size : 1;
        shape = *rest == ',' ? rest + 1 : rest;
    }
    assert_int_equal(*shape, '\0');
    const bool scales =
        type->rank == 1 && (strcmp(last, "weight") == 0 || strcmp(last, "running_var") == 0);
    const float spread = type->rank > 1 ? (float)sqrt(3.0 / (double)fan) : scales ? 0.5F : 0.1F;
    assert_true(fg_type_count(type) <= MOST);
    for (int64_t i = 0; i < fg_type_count(type); i++)
        file[i] = (scales ? 1 : 0) + number(tag, i) * spread;
    fgt_from_file_order(v, file, own);
    fgt_ok(fg_variable_set(v, own, fg_type_bytes(type), &err));
}

static void set_variables(net *n)
{
    fg_type type;
    char line[256], *shape;
    const char *at = fgt_record_get(record, &type, "%s/table", n->row->name);
    const char *end = at + type.dim[0];
    n->count = 0;
    for (; at < end; at = strchr(at, '\n') + 1) {
        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        shape = strchr(line, ' ');
        *shape++ = '\0';
        fg_variable *v = fg_module_find(n->root, line);
        if (v == NULL)
            fail_msg("%s has no variable '%s'", n->row->name, line);
        set_variable(v, n->count, shape);
        n->variable[n->count++] = v;
        assert_true(n->count < MOST_VARIABLES);
    }
    size_t saved = 0;
    for (size_t i = 0; i < fg_module_variable_count(n->root); i++)
        saved += fg_variable_type(fg_module_variable_at(n->root, i))->rank > 0;
    assert_int_equal(saved, n->count);
}

static void make_batch(net *n)
{
    static float image[BATCH * 64 * 64 * 3];
    static int32_t token[BATCH * LENGTH], label[BATCH * LENGTH];
    fg_error err = {0};
    const int64_t side = n->row->side;
    const bool is_sequence = side == 0 && !n->row->classifies_texts;
    for (int64_t i = 0; i < BATCH * side * side * 3; i++)
        image[i] = number(5000, i);
    for (int64_t i = 0; i < BATCH * LENGTH; i++) {
        token[i] = token_at(i);
        label[i] = integer(5001, i, is_sequence ? VOCABULARY : CLASSES);
    }
    const fg_type images = {FG_F32, 4, {BATCH, side, side, 3}};
    const fg_type tokens = {FG_S32, 2, {BATCH, LENGTH}}, labels = {FG_S32, 1, {BATCH}};
    fgt_ok(side > 0 ? fg_array_create(client, &images, image, &n->x, &err)
                    : fg_array_create(client, &tokens, token, &n->x, &err));
    fgt_ok(fg_array_create(client, is_sequence ? &tokens : &labels, label, &n->y, &err));
}

static void begin(net *n, const row *r)
{
    fg_error err = {0};
    const bool is_sequence = r->side == 0 && !r->classifies_texts;
    char model[32];
    *n = (net){.row = r};
    (void)snprintf(model, sizeof model, "%.*s", (int)strcspn(r->name, "/"), r->name);
    const fg_type image = {FG_F32, 3, {r->side, r->side, 3}}, tokens = {FG_S32, 1, {LENGTH}};
    fgt_ok(fg_module_create(NULL, 0, &n->root, &err));
    fgt_ok(fg_trace_create(client, &n->trace, &err));
    n->model = fg_model_create(n->root, &(fg_model_options){.name = model,
                                                            .input = r->side > 0 ? image : tokens,
                                                            .outputs = r->outputs > 0 ? r->outputs
                                                                       : is_sequence  ? VOCABULARY
                                                                                      : CLASSES,
                                                            .options = r->options,
                                                            .per_token = is_sequence});
    fgt_ok(fg_module_error(n->root, &err));
    set_variables(n);
    make_batch(n);
}

static void end(net *n)
{
    fg_array_release(n->x);
    fg_array_release(n->y);
    fg_trace_destroy(n->trace);
    fg_module_destroy(n->root);
}

/* ---- comparisons
 * --------------------------------------------------------------------------------- */

static void check_logits(const net *n, fg_array *array)
{
    static float got[MOST];
    fg_error err = {0};
    fg_type type;
    const double *want = fgt_record_get(record, &type, "%s/logits", n->row->name);
    assert_int_equal(fg_type_count(&type), fg_type_count(fg_array_type(array)));
    fgt_ok(fg_array_read(array, got, fg_type_bytes(fg_array_type(array)), &err));
    for (int64_t i = 0; i < fg_type_count(&type); i++)
        fgt_close(n->row->name, (double)got[i], want[i], 2e-5, 2e-5);
}

/* The sum of the elements times counted numbers, compared with the size of its terms. */
static void check_gradient(const net *n, size_t k, fg_array *array)
{
    static float got[MOST], file[MOST];
    fg_error err = {0};
    const double *want = fgt_record_get(record, NULL, "%s/grad", n->row->name);
    const int64_t count = fg_type_count(fg_array_type(array));
    double sum = 0, size = 0;
    fgt_ok(fg_array_read(array, got, fg_type_bytes(fg_array_type(array)), &err));
    fgt_to_file_order(n->variable[k], got, file);
    for (int64_t i = 0; i < count; i++) {
        sum += (double)file[i] * (double)number(1000 + k, i);
        size += pow((double)file[i], 2);
    }
    fgt_close(fg_variable_name(n->variable[k]), sum, want[k], 1e-6 + 1e-4 * sqrt(size), 0);
}

static void check_values(net *n)
{
    fg_tensor out[1 + MOST_VARIABLES];
    fg_array *arrays[1 + MOST_VARIABLES];
    fg_error err = {0};
    out[0] = fg_model_apply(n->model, fg_input(n->trace, n->x));
    const fg_tensor loss = fg_cross_entropy(out[0], fg_input(n->trace, n->y), NULL);
    const size_t grads = fgt_record_has(record, "%s/grad", n->row->name) ? n->count : 0;
    fg_grad_variables(loss, n->variable, grads, &out[1]);
    fgt_ok(fg_run(n->trace, out, 1 + grads, arrays, &err));
    check_logits(n, arrays[0]);
    fg_array_release(arrays[0]);
    for (size_t k = 0; k < grads; k++) {
        if (fg_variable_kind_of(n->variable[k]) == FG_PARAMETER)
            check_gradient(n, k, arrays[1 + k]);
        fg_array_release(arrays[1 + k]);
    }
}

static void check_curve(net *n)
{
    fg_error err = {0};
    const double *want = fgt_record_get(record, NULL, "%s/curve", n->row->name);
    fg_optimizer *optimizer = fg_adamw_create(n->root, &(fg_adamw_options){.lr = 1e-3});
    fg_trace_set_training(n->trace, true);
    for (int step = 0; step < STEPS; step++) {
        char text[64];
        float loss = 0;
        const fg_tensor logits = fg_model_apply(n->model, fg_input(n->trace, n->x));
        const fg_tensor mean = fg_cross_entropy(logits, fg_input(n->trace, n->y), NULL);
        fg_optimizer_minimize(optimizer, mean);
        fgt_ok(fg_run_f32(n->trace, mean, &loss, &err));
        (void)snprintf(text, sizeof text, "%s: loss of step %d", n->row->name, step);
        fgt_close(text, (double)loss, want[step], 0, 1e-3);
    }
}

static void models_are_those_of_their_libraries(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        net n;
        begin(&n, &rows[i]);
        check_values(&n);
        if (fgt_record_has(record, "%s/curve", n.row->name))
            check_curve(&n);
        end(&n);
    }
}

static fg_tensor forward(void *self, fg_tensor x)
{
    const bool is_image = fg_tensor_type(x)->rank == 4;
    return fg_model_apply(self, is_image ? fg_permute(x, (const int[]){0, 2, 3, 1}) : x);
}

/* Of models with recorded logits. */
static void each_model_is_an_onnx_model(void **state)
{
    const char *kept = getenv("FGT_ONNX"), *folder = kept != NULL ? kept : fgt_temp_folder();
    fg_error err = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        net n;
        char file[64], *slash;
        begin(&n, &rows[i]);
        const fg_type image = {FG_F32, 3, {3, n.row->side, n.row->side}},
                      tokens = {FG_S32, 1, {-1}};
        const fg_onnx_options options = {.input = n.row->side > 0 ? image : tokens};
        (void)snprintf(file, sizeof file, "%s.onnx", n.row->name);
        slash = strchr(file, '/');
        if (slash != NULL)
            *slash = '-';
        fgt_ok(
            fg_module_save_onnx(n.root, fgt_path(folder, file), forward, n.model, &options, &err));
        end(&n);
    }
}

/* The logits of `count` tokens of each sequence, after `first` tokens that the cache contains. */
static void sample(net *n, fg_kv_cache *cache, int first, int count)
{
    static float got[MOST];
    int32_t token[BATCH * LENGTH];
    fg_error err = {0};
    fg_array *x = NULL, *y = NULL;
    fg_scalar position = {.dtype = FG_S32, .value.s32 = first};
    const double *want = fgt_record_get(record, NULL, "%s/logits", n->row->name);
    for (int i = 0; i < BATCH * count; i++)
        token[i] = token_at(i / count * LENGTH + first + i % count);
    fgt_ok(fg_array_create(client, &(fg_type){FG_S32, 2, {BATCH, count}}, token, &x, &err));
    fg_kv_cache_begin(cache, fg_scalar_value(n->trace, &position));
    const fg_tensor logits = fg_model_apply(n->model, fg_input(n->trace, x));
    fg_kv_cache_end(cache);
    fgt_ok(fg_run(n->trace, &logits, 1, &y, &err));
    fgt_ok(fg_array_read(y, got, fg_type_bytes(fg_array_type(y)), &err));
    for (int i = 0; i < BATCH * count * VOCABULARY; i++) {
        const int at = i / VOCABULARY, place = at / count * LENGTH + first + at % count;
        fgt_close("logit", (double)got[i], want[place * VOCABULARY + i % VOCABULARY], 2e-5, 2e-5);
    }
    fg_array_release(x);
    fg_array_release(y);
}

static void a_cache_replaces_earlier_tokens(void **state)
{
    static const size_t language_models[] = {0, 1, 8};
    for (size_t i = 0; i < 3; i++) {
        net n;
        begin(&n, &rows[language_models[i]]);
        fg_kv_cache *cache = fg_kv_cache_create(n.root, BATCH, LENGTH);
        sample(&n, cache, 0, 4);
        sample(&n, cache, 4, 1);
        sample(&n, cache, 5, 1);
        end(&n);
    }
}

/* Two documents in one sequence have the same logits as each of them alone. */
static void documents_are_separate(void **state)
{
    static const int32_t token[LENGTH] = {1, 2, 10, 3, 4, 5}; /* 10 ends a document */
    static const char *const options[] = {
        "{layers: 2, width: 16, heads: 2, length: 8, document_end: 10}",
        "{layers: 2, width: 16, heads: 4, kv_heads: 2, intermediate: 24, document_end: 10}"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const row r = {rows[i].name, options[i], 0, false, 0};
        float got[2][LENGTH * VOCABULARY];
        fg_error err = {0};
        fg_array *y[2];
        fg_tensor logits[2];
        net n;
        begin(&n, &r);
        for (int k = 0; k < 2; k++) {
            const fg_type type = {FG_S32, 2, {k + 1, LENGTH / (k + 1)}};
            logits[k] = fg_model_apply(n.model, fg_constant(n.trace, &type, token));
        }
        fgt_ok(fg_run(n.trace, logits, 2, y, &err));
        for (int k = 0; k < 2; k++) {
            fgt_ok(fg_array_read(y[k], got[k], sizeof got[k], &err));
            fg_array_release(y[k]);
        }
        for (int k = 0; k < LENGTH * VOCABULARY; k++)
            fgt_close(r.name, (double)got[0][k], (double)got[1][k], 1e-5, 1e-5);
        end(&n);
    }
}

/* Each variable of the model has a name in the recorded list, which has no others. */
static void published_names_are_those_of_files(void **state)
{
    net n;
    fg_type type;
    size_t names = 0, found = 0;
    const fg_entry *entry = fgi_model_rows[0];
    (void)state;
    for (size_t i = 0; strcmp(entry->name, "convnext") != 0; i++)
        entry = fgi_model_rows[i];
    const char *list = fgt_record_get(record, &type, "convnext/published");
    for (int64_t i = 0; i < type.dim[0]; i++)
        names += list[i] == '\n';
    begin(&n, &rows[4]);
    for (size_t i = 0; i < n.count; i++) {
        const fg_name_rule *r = ((const fg_model_entry *)entry)->published->names;
        fgi_buf name = {0};
        while (r->ours != NULL &&
               !fgi_rename(r->ours, r->theirs, fg_variable_name(n.variable[i]), &name))
            r++;
        fgi_buf_putc(&name, '\n');
        found += memmem(list, (size_t)type.dim[0], name.data, name.size) != NULL;
        fgi_buf_fini(&name);
    }
    assert_int_equal(found, n.count);
    assert_int_equal(names, n.count);
    end(&n);
}

static int open_all(void **state)
{
    (void)state;
    return fgt_record_begin("nn/models.safetensors", &client, &record);
}

static int close_all(void **state)
{
    (void)state;
    return fgt_record_end(client, record);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(models_are_those_of_their_libraries),
    cmocka_unit_test(each_model_is_an_onnx_model),
    cmocka_unit_test(a_cache_replaces_earlier_tokens),
    cmocka_unit_test(documents_are_separate),
    cmocka_unit_test(published_names_are_those_of_files),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
