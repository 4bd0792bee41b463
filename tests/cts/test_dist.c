/* test_dist.c - the same training on any number of devices, with replicated and sharded parameters:
 * equal losses, metrics, predictions and files. On the CPU plugin's virtual devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/rng.h"
#include "ckpt/manifest.h"
#include "ckpt/series.h"
#include "curve.h"
#include "toy.h"
#include "train/save/saver.h"
#include "train/step/stage.h"
#include "train/trainer.h"

/* 16 -> 64 -> 32 -> 3: two weights of 1024 and 2048 elements, and small ones. */
/* WIDE and NARROW are in the model's options too. */
enum { FEATURES = 16, WIDE = 64, NARROW = 32, CLASSES = 3, BATCH = 24, STEPS = 100 };
enum { ELEMENTS = FEATURES * WIDE + WIDE * NARROW }; /* of the two */

static fg_dataset *train_data, *val_data; /* a prime number of samples each */

static fg_dataset *make_data(int64_t count, uint64_t seed)
{
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {FEATURES}}},
                               {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {
        .count = count, .fields = fields, .field_count = 2, .class_count = CLASSES};
    float *x = calloc((size_t)count * FEATURES, sizeof *x);
    int32_t *y = calloc((size_t)count, sizeof *y);
    assert_true(x != NULL && y != NULL);
    for (int64_t i = 0; i < count * FEATURES; i++) {
        const int64_t row = i / FEATURES, column = i % FEATURES;
        y[row] = (int32_t)(row * 7919 % CLASSES);
        x[i] = fgi_rng_normal(fgi_key_from_seed(seed), (uint64_t)i) +
               (column % CLASSES == y[row] ? 1.f : 0.f);
    }
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *[]){x, y}, FG_COPY, &dataset, &err));
    free(x);
    free(y);
    return dataset;
}

static int open_all(void **state)
{
    (void)state;
    train_data = make_data(211, 1);
    val_data = make_data(101, 2);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fg_dataset_destroy(train_data);
    fg_dataset_destroy(val_data);
    return 0;
}

/* ---- the task -------------------------------------------------------------------------------- */

static fg_model *model; /* of the run that was built last */

static void build(void *self, fg_module *root)
{
    const fg_model_options options = {.name = "mlp",
                                      .input = {.dtype = FG_F32, .rank = 1, .dim = {FEATURES}},
                                      .outputs = CLASSES,
                                      .options = "{hidden: [64, 32], dropout: 0.2}"};
    (void)self;
    model = fg_model_create(root, &options);
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const fg_tensor label = fg_batch_field(batch, "y");
    const fg_tensor logits = fg_model_apply(model, fg_batch_field(batch, "x"));
    (void)self;
    fg_step_log(st, "acc", fg_accuracy(logits, label));
    return fg_cross_entropy(logits, label, NULL);
}

static fg_tensor predict(void *self, fg_step *st, const fg_batch *batch)
{
    (void)self, (void)st;
    return fg_model_apply(model, fg_batch_at(batch, 0));
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_adam_create(root, &(fg_adam_options){.lr = 0.003});
}

static const fg_task_ops ops = {.build = build,
                                .train_step = step,
                                .val_step = step,
                                .predict_step = predict,
                                .optimizer = optimizer};
static const fg_task mlp = {.name = "mlp", .ops = &ops};

/* Sharding of an MLP as in Megatron-LM: outputs of the first weight, inputs of the second. */
static const fg_sharding_rule columns_and_rows[] = {{.match = "fc1.*", .spec = "model"},
                                                    {.match = "fc2.weight", .spec = "none,model"}};

static curve_run run_on(int devices)
{
    static const char *cache; /* for programs that several tests run */
    if (cache == NULL)
        cache = fgt_cache(fgt_temp_folder());
    return (curve_run){.devices = devices,
                       .cache_dir = cache,
                       .task = &mlp,
                       .train = train_data,
                       .val = val_data,
                       .batch = BATCH,
                       .steps = STEPS,
                       .seed = 3};
}

static curve_run run_split(int devices, int model_devices, const char *strategy, bool with_rules)
{
    curve_run run = run_on(devices);
    run.mesh = (fg_mesh_options){.axes = {{"data", -1}, {"model", model_devices}}};
    run.strategy = strategy;
    run.rules = with_rules ? columns_and_rows : NULL;
    run.rule_count = with_rules ? 2 : 0;
    return run;
}

static curve one, two, four, eight; /* on that many devices, with replicated parameters */

/* ---- the same numbers ------------------------------------------------------------------------ */

static void any_number_of_devices(void **state)
{
    static const int counts[] = {1, 2, 4, 8};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char what[64];
        curve c;
        const curve_run run = run_on(counts[i]);
        curve_fit(&run, &c);
        if (counts[i] == 1)
            one = c;
        if (counts[i] == 2)
            two = c;
        if (counts[i] == 4)
            four = c;
        if (counts[i] == 8)
            eight = c;
        (void)snprintf(what, sizeof what, "%d devices", counts[i]);
        curves_agree(what, &one, &c, 0, STEPS, 1e-3);
        fgt_close(what, curve_metric(&c, "val_loss"), curve_metric(&one, "val_loss"), 0, 1e-4);
    }
    assert_true(one.loss[STEPS - 1] < one.loss[0] / 2); /* it learns */
}

/* With one set of weights, each sample counts once, on any number of devices. */
static void metrics_of_a_prime_number_of_samples(void **state)
{
    static const int counts[] = {1, 2, 3, 8};
    curve first = {.metric_count = 0};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        curve c;
        const curve_run run = run_on(counts[i]);
        curve_validate(&run, &c);
        if (i == 0)
            first = c;
        assert_true(curve_metric(&c, "val_acc") == curve_metric(&first, "val_acc"));
        fgt_close("val_loss", curve_metric(&c, "val_loss"), curve_metric(&first, "val_loss"), 0,
                  1e-6);
    }
}

/* ---- sharded parameters ---------------------------------------------------------------------- */

/* Each parameter and its two moments: a device's arguments are smaller by the shards of other
 * devices. */
static void assert_saved(const curve *whole, const curve *split, int64_t elements_not_there)
{
    assert_int_equal(whole->argument_bytes - split->argument_bytes,
                     3 * (int64_t)sizeof(float) * elements_not_there);
}

static void parameters_split_along_data(void **state)
{
    curve c;
    const curve_run run = run_split(8, 1, "fsdp", false);
    (void)state;
    curve_fit(&run, &c);
    curves_agree("fsdp on 8", &eight, &c, 0, 10, 1e-5);
    curves_agree("fsdp on 8", &eight, &c, 10, STEPS, 1e-5);
    assert_saved(&eight, &c, ELEMENTS - ELEMENTS / 8);
}

/* Dimensions that are not divisible are not sharded: 64 and 32 are not divisible by 3. */
static void indivisible_parameters_stay_whole(void **state)
{
    curve whole, c;
    curve_run run = run_split(3, 1, "ddp", false);
    (void)state;
    run.steps = 2;
    run.val = NULL;
    curve_fit(&run, &whole);
    run.strategy = "fsdp";
    curve_fit(&run, &c);
    assert_saved(&whole, &c, 0);
    curves_agree("fsdp on 3", &one, &c, 0, 2, 1e-5);
}

static void columns_and_rows_along_model(void **state)
{
    (void)state;
    for (int wide = 2; wide <= 4; wide += 2) {
        curve c;
        curve_run run = run_split(2 * wide, wide, "ddp", true);
        run.val = NULL;
        curve_fit(&run, &c);
        curves_agree("columns and rows", &one, &c, 0, STEPS, 1e-3);
        assert_saved(&two, &c, (ELEMENTS + WIDE) - (ELEMENTS + WIDE) / wide);
    }
}

/* Rules and strategy together: the second weight [64, 32] has 2 x 4 shards. */
static void both_axes_at_once(void **state)
{
    curve c;
    const curve_run run = run_split(8, 4, "fsdp", true);
    (void)state;
    curve_fit(&run, &c);
    curves_agree("both axes", &one, &c, 0, STEPS, 1e-3);
    assert_saved(&two, &c, ELEMENTS - ELEMENTS / 8 + WIDE - WIDE / 4);
}

static const struct {
    fg_mesh_options mesh;
    const curve *replicated; /* with as many shards of the batch */
    bool has_rules;
    int fsdp, model; /* shards of a parameter, and of these by rules */
} meshes[] = {
    {{.axes = {{"data", 2}, {"fsdp", 2}, {"model", 2}}}, &four, false, 2, 1},
    {{.axes = {{"data", 2}, {"fsdp", 2}, {"model", 2}}}, &four, true, 2, 2},
    {{.axes = {{"model", 2}, {"fsdp", 2}, {"data", -1}}}, &four, true, 2, 2},
    {{.axes = {{"data", 2}, {"fsdp", 4}}}, &eight, false, 4, 1},
    {{.axes = {{"data", 2}, {"fsdp", 4}}, .fsdp_axes = 1 | 2}, &eight, false, 8, 1},
    {{.axes = {{"replica", 2}, {"expert", 2}, {"model", 2}}, .batch_axes = 1 | 2},
     &four,
     true,
     4,
     2},
};

/* Meshes with three axes and with other names, with strategy fsdp: losses equal those of one
 * device, and devices only hold their shards. */
static void any_mesh_of_eight_devices(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof meshes / sizeof meshes[0]; i++) {
        curve c;
        char what[32];
        curve_run run = run_split(8, 1, "fsdp", meshes[i].has_rules);
        run.mesh = meshes[i].mesh;
        run.val = NULL;
        curve_fit(&run, &c);
        (void)snprintf(what, sizeof what, "mesh %zu", i);
        curves_agree(what, &one, &c, 0, STEPS, 1e-3);
        assert_saved(meshes[i].replicated, &c,
                     ELEMENTS - ELEMENTS / meshes[i].fsdp / meshes[i].model + WIDE -
                         WIDE / meshes[i].model);
    }
}

/* ---- a loop in the step ---------------------------------------------------------------------- */

/* A recurrent network over the features, one in each iteration, whose states are computed a second
 * time for the gradient. The initial state, zeros, gets rows in the first iteration. */
enum { HIDDEN = 8 };
static fg_variable *recurrent, *from_input;
static fg_linear *head;

static void build_recurrent(void *self, fg_module *root)
{
    const fg_type u = {.dtype = FG_F32, .rank = 2, .dim = {HIDDEN, HIDDEN}};
    const fg_type w = {.dtype = FG_F32, .rank = 2, .dim = {1, HIDDEN}};
    const fg_variable_options normal = {.init = {FG_INIT_NORMAL, 0.3}};
    (void)self;
    recurrent = fg_module_variable(root, "recurrent", &u, &normal);
    from_input = fg_module_variable(root, "from_input", &w, &normal);
    head = fg_linear_create(root, "head", &(fg_linear_options){.in = HIDDEN, .out = CLASSES});
}

static void next_state(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                       fg_tensor *y)
{
    fg_trace *trace = fg_tensor_trace(carry[0]);
    (void)self, (void)y;
    fg_remat_begin(trace);
    const fg_tensor h = fg_matmul(carry[0], fg_variable_value(trace, recurrent));
    next[0] = fg_tanh(fg_add(h, fg_matmul(x[0], fg_variable_value(trace, from_input))));
    fg_remat_end(trace, next, 1);
}

static fg_tensor recurrent_step(void *self, fg_step *st, const fg_batch *batch)
{
    fg_trace *trace = fg_step_trace(st);
    const fg_tensor x = fg_batch_field(batch, "x"), label = fg_batch_field(batch, "y");
    const int64_t rows = fg_tensor_dim(x, 0);
    const fg_tensor by_feature =
        fg_reshape(fg_permute(x, (const int[]){1, 0}), FG_DIMS(FEATURES, rows, 1));
    const fg_tensor zero = fg_zeros(trace, FG_F32, FG_DIMS(rows, HIDDEN));
    fg_tensor last;
    (void)self;
    fg_scan(&(fg_scan_options){.carry_count = 1, .x_count = 1, .body = next_state}, &zero,
            &by_feature, &last, NULL);
    return fg_cross_entropy(fg_linear_apply(head, last), label, NULL);
}

static void loops_are_sharded(void **state)
{
    static const fg_task_ops loop_ops = {
        .build = build_recurrent, .train_step = recurrent_step, .optimizer = optimizer};
    static const fg_task task = {.name = "recurrent", .ops = &loop_ops};
    curve alone, shared;
    curve_run run = run_on(1);
    (void)state;
    run.task = &task;
    run.val = NULL;
    run.steps = 12; /* including the end of an epoch with a partial batch */
    curve_fit(&run, &alone);
    run.devices = 4;
    curve_fit(&run, &shared);
    curves_agree("a loop on 4", &alone, &shared, 0, 12, 1e-5);
}

/* Two batches per step: the sums of gradients are sharded like the parameters. */
static void split_gradients_are_accumulated(void **state)
{
    curve whole, c;
    curve_run run = run_on(1);
    (void)state;
    run.val = NULL;
    run.accumulate = 2;
    run.steps = 12; /* including the end of an epoch with a partial batch */
    curve_fit(&run, &whole);
    run = run_split(8, 2, "fsdp", true);
    run.val = NULL;
    run.accumulate = 2;
    run.steps = 12;
    curve_fit(&run, &c);
    curves_agree("accumulated", &whole, &c, 0, 12, 1e-5);
}

/* ---- predictions ----------------------------------------------------------------------------- */

typedef struct table {
    float row[128][CLASSES];
} table;

static fg_status keep_rows(void *self, const fg_type *type, const void *data, int64_t first,
                           fg_error *err)
{
    table *t = self;
    (void)err;
    memcpy(t->row[first], data, fg_type_bytes(type));
    return FG_OK;
}

static void predictions_with_split_parameters(void **state)
{
    static table got[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        const curve_run run = i == 0 ? run_on(1) : run_split(8, 2, "fsdp", true);
        curve_predict(&run, keep_rows, &got[i]);
    }
    for (int i = 0; i < 101; i++)
        for (int k = 0; k < CLASSES; k++)
            fgt_close("prediction", (double)got[1].row[i][k], (double)got[0].row[i][k], 1e-6, 1e-5);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* Stopped on eight devices after 50 steps, resumed on others. */
static void resumed_on_other_devices(void **state)
{
    static const struct {
        const char *from, *to;
        int devices;
    } rows[] = {{"ddp", "ddp", 2}, {"fsdp", "ddp", 2}, {"fsdp", "ddp", 1}, {"ddp", "fsdp", 4}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        curve first, second;
        const char *folder = fgt_temp_folder();
        curve_run run = run_split(8, 1, rows[i].from, false);
        run.run_dir = folder;
        run.steps = 50;
        curve_fit(&run, &first);
        run = run_split(rows[i].devices, 1, rows[i].to, false);
        run.run_dir = folder;
        run.resume = "last";
        curve_fit(&run, &second);
        assert_true(second.loss[49] != second.loss[49]); /* not run again */
        curves_agree("before", &eight, &first, 0, 50, 1e-4);
        curves_agree("resumed", &eight, &second, 50, STEPS, 1e-3);
    }
}

static void assert_same_file(const char *a, const char *b)
{
    fg_error err = {0};
    char *left = NULL, *right = NULL;
    size_t left_size = 0, right_size = 0;
    fgt_ok(fgi_file_read(a, 1 << 24, &left, &left_size, &err));
    fgt_ok(fgi_file_read(b, 1 << 24, &right, &right_size, &err));
    assert_int_equal(left_size, right_size);
    assert_memory_equal(left, right, left_size);
    fgi_free(left);
    fgi_free(right);
}

static char *last_checkpoint(const char *run_dir)
{
    fg_error err = {0};
    char *path = NULL;
    fgt_ok(fgi_ckpt_resolve(fgt_path(run_dir, "checkpoints"), "last", &path, &err));
    return path;
}

/* Loads a checkpoint, uploads all of it to these devices, and saves it again. */
static void copy_checkpoint(const curve_run *run, const char *from, const char *to_run_dir)
{
    fg_error err = {0};
    fg_array *array = NULL;
    curve_run copy = *run;
    copy.resume = from;
    copy.run_dir = to_run_dir;
    fg_trainer *trainer = curve_begin(&copy);
    for (size_t i = 0; i < fg_module_variable_count(trainer->model.root); i++)
        fgt_ok(fgi_variable_array(fg_module_variable_at(trainer->model.root, i), trainer->client,
                                  &array, &err));
    for (size_t i = 0; i < fg_optimizer_variable_count(trainer->model.optimizer); i++)
        fgt_ok(fgi_variable_array(fg_optimizer_variable_at(trainer->model.optimizer, i),
                                  trainer->client, &array, &err));
    /* a complete run compiles nothing, and the names of the metrics are known after compiling */
    const fg_fit_data data = {
        .train = run->train, .global_batch_size = run->batch, .drop_last = run->drop_last};
    fgt_ok(fgi_stage_prepare(trainer, FGI_TRAIN, &data, &err));
    fgi_snapshot *snapshot = NULL;
    fgt_ok(fgi_state_take(trainer, &snapshot, &err));
    fgt_ok(fgi_snapshot_write(snapshot, &err));
    fgi_snapshot_destroy(snapshot);
    curve_end(trainer);
}

/* A checkpoint saved with one strategy is saved bit for bit the same with another. */
static void files_are_the_same_for_every_strategy(void **state)
{
    const curve_run kinds[] = {run_on(1), run_split(2, 1, "ddp", false),
                               run_split(8, 1, "fsdp", false), run_split(4, 2, "fsdp", true)};
    static const char *const files[] = {FGI_CKPT_MODEL_FILE, FGI_CKPT_STATE_FILE};
    static const int pairs[][2] = {{2, 0}, {2, 1}, {2, 3}, {0, 2}, {1, 2}, {3, 1}};
    char *saved[4] = {NULL};
    (void)state;
    for (int i = 0; i < 4; i++) {
        curve c;
        curve_run run = kinds[i];
        run.run_dir = fgt_temp_folder();
        run.steps = 3;
        curve_fit(&run, &c);
        saved[i] = last_checkpoint(run.run_dir);
    }
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const char *folder = fgt_temp_folder();
        curve_run run = kinds[pairs[i][1]];
        run.steps = 3;
        copy_checkpoint(&run, saved[pairs[i][0]], folder);
        char *copy = last_checkpoint(folder);
        for (int f = 0; f < 2; f++)
            assert_same_file(fgt_path(saved[pairs[i][0]], files[f]), fgt_path(copy, files[f]));
        fgi_free(copy);
    }
    for (int i = 0; i < 4; i++)
        fgi_free(saved[i]);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const struct {
    const char *strategy;
    fg_sharding_rule rules[2];
    size_t count;
    fg_status status;
    const char *message;
} mistakes[] = {
    {"zero", {{0}}, 0, FG_EINVAL, "unknown strategy 'zero': expected ddp or fsdp"},
    {NULL,
     {{.match = "fc1.*", .spec = "model"}, {.match = "fc4.*", .spec = "model"}},
     2,
     FG_ENOTFOUND,
     "rule 'fc4.*' matches no parameter's name; the names are 'fc1.weight', 'fc1.bias', "
     "'fc2.weight', 'fc2.bias', 'fc3.weight', 'fc3.bias'"},
    {NULL,
     {{.match = "", .spec = "model"}},
     1,
     FG_EINVAL,
     "a sharding rule has no pattern: expected a pattern for parameter names"},
    {"fsdp",
     {{.match = "fc?.weight", .spec = "model,columns"}},
     1,
     FG_EINVAL,
     "rule 'fc?.weight': partition spec \"model,columns\": 'columns' is not an axis of the "
     "mesh "
     "{data: 2, model: 2}: expected one of its axes, or none, for each dimension"},
    {NULL,
     {{.match = "fc*", .spec = "none,model"}},
     1,
     FG_ESHAPE,
     "rule 'fc*' shards 2 dimensions; parameter 'fc1.bias' has 1: use a pattern that does not "
     "match it"},
    {NULL,
     {{.match = "*[12].weight", .spec = "model"}, {.match = "fc3.*", .spec = "model"}},
     2,
     FG_ESHAPE,
     "rule 'fc3.*' shards dimension 0 of parameter 'fc3.weight' over 2 devices, but its size 3 is "
     "not divisible by that"},
};

static void mistakes_leave_the_module_as_it_was(void **state)
{
    fg_client *client = NULL;
    fg_module *root = NULL;
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu",
                                               .cpu_devices = 4,
                                               .mesh = {.axes = {{"data", -1}, {"model", 2}}},
                                               .cache_dir = fgt_cache("")},
                          &client, &err));
    fgt_ok(fg_module_create(NULL, 1, &root, &err));
    build(NULL, root);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        const fg_distribute_options options = {.strategy = mistakes[i].strategy,
                                               .rules = mistakes[i].rules,
                                               .rule_count = mistakes[i].count};
        err = (fg_error){0};
        assert_int_equal(fg_module_distribute(root, client, &options, &err), mistakes[i].status);
        assert_string_equal(err.message, mistakes[i].message);
        for (size_t k = 0; k < fg_module_variable_count(root); k++)
            assert_true(
                fgi_sharding_is_replicated(fgi_variable_sharding(fg_module_variable_at(root, k))));
    }
    fg_module_destroy(root);
    fg_client_close(client);
}

static void eight_names_are_listed(void **state)
{
    static const fg_sharding_rule rule = {.match = "x", .spec = ""};
    static const fg_distribute_options options = {.rules = &rule, .rule_count = 1};
    fg_client *client = NULL;
    fg_module *root = NULL;
    fg_error err = {0};
    char expected[160];
    (void)state;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
    fgt_ok(fg_module_create(NULL, 1, &root, &err));
    for (int i = 0; i < 9; i++) {
        (void)fg_module_variable(root, (char[]){'p', (char)('0' + i), '\0'},
                                 &(fg_type){.dtype = FG_F32}, NULL);
        if (i < 7)
            continue;
        assert_int_equal(fg_module_distribute(root, client, &options, &err), FG_ENOTFOUND);
        (void)snprintf(expected, sizeof expected,
                       "rule 'x' matches no parameter's name; the names are 'p0', 'p1', 'p2', "
                       "'p3', 'p4', 'p5', 'p6', 'p7'%s",
                       i < 8 ? "" : ", ...");
        assert_string_equal(err.message, expected);
    }
    fg_module_destroy(root);
    fg_client_close(client);
}

/* The first matching rule applies; an axis of size 1 shards nothing. */
static void the_first_rule_holds(void **state)
{
    static const fg_sharding_rule rules[] = {{.match = "fc1.weight", .spec = "none,model"},
                                             {.match = "*.weight", .spec = ""},
                                             {.match = "fc1.*", .spec = "model"}};
    static const fgi_sharding want[] = {{{FGT_MODEL, FGT_DATA}}, {{FGT_MODEL}}, {{FGT_DATA}}};
    fg_error err = {0};
    (void)state;
    for (int devices = 1; devices <= 4; devices += 3) {
        fg_client *client = NULL;
        fg_module *root = NULL;
        fgt_ok(fg_client_open(
            &(fg_client_options){
                .accelerator = "cpu",
                .cpu_devices = devices,
                .mesh = {.axes = {{"data", -1}, {"model", devices / 2 + (devices == 1)}}},
                .cache_dir = fgt_cache("")},
            &client, &err));
        fgt_ok(fg_module_create(NULL, 1, &root, &err));
        build(NULL, root);
        fgt_ok(fg_module_distribute(
            root, client,
            &(fg_distribute_options){.strategy = "fsdp", .rules = rules, .rule_count = 3}, &err));
        for (size_t k = 0; k < 3; k++) { /* fc1.weight, fc1.bias, fc2.weight */
            const fgi_sharding *split = fgi_variable_sharding(fg_module_variable_at(root, k));
            assert_true(devices == 1 ? fgi_sharding_is_replicated(split)
                                     : fgi_sharding_equal(split, &want[k]));
        }
        fg_module_destroy(root);
        fg_client_close(client);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_number_of_devices),
    cmocka_unit_test(metrics_of_a_prime_number_of_samples),
    cmocka_unit_test(parameters_split_along_data),
    cmocka_unit_test(indivisible_parameters_stay_whole),
    cmocka_unit_test(loops_are_sharded),
    cmocka_unit_test(columns_and_rows_along_model),
    cmocka_unit_test(both_axes_at_once),
    cmocka_unit_test(any_mesh_of_eight_devices),
    cmocka_unit_test(split_gradients_are_accumulated),
    cmocka_unit_test(predictions_with_split_parameters),
    cmocka_unit_test(resumed_on_other_devices),
    cmocka_unit_test(files_are_the_same_for_every_strategy),
    cmocka_unit_test(mistakes_leave_the_module_as_it_was),
    cmocka_unit_test(eight_names_are_listed),
    cmocka_unit_test(the_first_rule_holds),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
