/* test_train_load.c - resuming from checkpoints that do not match the run: what is rejected, what
 * causes a warning, and what is accepted. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "ckpt/manifest.h"
#include "fakepjrt/fake_control.h"
#include "toy.h"

static fg_client *client;
static fg_dataset *train_data;
static toy model;
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
static char saved[1024]; /* a checkpoint at step 2 of an epoch of 3 */
static fgi_buf talk;

static void listen(void *self, fg_log_level level, const char *line)
{
    (void)self;
    fgi_buf_printf(&talk, "%d: %s\n", (int)level, line);
}

static fg_status fit(const fg_trainer_options *options, const fg_task *what, recorder *r,
                     fg_error *err)
{
    fg_trainer *trainer = NULL;
    fg_trainer_options o = *options;
    const fg_fit_data data = {.train = train_data, .batch_size = 4, .workers = FG_NONE};
    o.devices.client = client;
    fg_status status = toy_create(&o, &trainer, err);
    if (status == FG_OK)
        status = fg_trainer_add_callback(trainer, &recorder_ops, r, err);
    if (status == FG_OK)
        status = fg_trainer_fit(trainer, what, &data, err);
    if (trainer != NULL)
        (void)snprintf(saved, sizeof saved, "%.511s", fg_trainer_result(trainer)->checkpoint);
    fg_trainer_destroy(trainer);
    return status;
}

static int open_all(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r = {.at_event = "batch_end", .at_count = 2, .status = FG_ESTOPPED};
    const fg_client_options options = {
        .accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""};
    train_data = toy_data(10, 1);
    if (fg_client_open(&options, &client, &err) != FG_OK)
        return 1;
    return fit(&(fg_trainer_options){.checkpoints.run_dir = fgt_temp_folder()}, &task, &r, &err) !=
           FG_ESTOPPED;
}

static int close_all(void **state)
{
    (void)state;
    fg_dataset_destroy(train_data);
    fg_client_close(client);
    return fgi_alloc_live() != 0;
}

static int begin(void **state)
{
    (void)state;
    talk = (fgi_buf){0};
    fg_log_set(listen, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fg_log_set(NULL, NULL);
    fgi_buf_fini(&talk);
    return 0;
}

/* Resumes from `path` and records the events in *r. */
static fg_status resume(const char *path, const fg_task *what, uint64_t seed, recorder *r,
                        fg_error *err)
{
    char kept[sizeof saved];
    (void)snprintf(kept, sizeof kept, "%s", saved);
    *r = (recorder){0};
    const fg_status status =
        fit(&(fg_trainer_options){.checkpoints.resume = path, .seed = seed}, what, r, err);
    (void)snprintf(saved, sizeof saved, "%s", kept);
    return status;
}

/* ---- models ---------------------------------------------------------------------------------- */

static void other_models_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    toy other = {.has_norm = true};
    const fg_task norm = {.name = "toy", .self = &other, .ops = &toy_ops};
    assert_int_equal(resume(saved, &norm, 0, &r, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, saved));
    fgt_message_is(
        err.message,
        "~/checkpoints/step-000000002: has no 'norm.weight', which is f32[8] in the model");
    assert_int_equal(recorder_count(&r, "fit_start"), 0);
}

static void build_wide(void *self, fg_module *root)
{
    toy *t = self;
    t->fc1 = fg_linear_create(root, "fc1", &(fg_linear_options){.in = TOY_FEATURES, .out = 9});
    t->fc2 = fg_linear_create(root, "fc2", &(fg_linear_options){.in = 9, .out = TOY_CLASSES});
}

static void other_shapes_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    toy other = {0};
    fg_task_ops ops = toy_ops;
    ops.build = build_wide;
    const fg_task wide = {.name = "toy", .self = &other, .ops = &ops};
    assert_int_equal(resume(saved, &wide, 0, &r, &err), FG_ESHAPE);
    fgt_message_is(
        err.message,
        "~/checkpoints/step-000000002: 'fc1.weight' is f32[8,6], but f32[9,6] in the model");
}

static void other_optimizers_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    toy other = {.optimizer = "sgd"};
    const fg_task sgd = {.name = "toy", .self = &other, .ops = &toy_ops};
    assert_int_equal(resume(saved, &sgd, 0, &r, &err), FG_EINVAL);
    fgt_message_is(err.message, "~/checkpoints/step-000000002 was trained by 'adam', not by "
                                "'sgd'\nto change the optimizer, start from its weights instead");
}

static void another_seed_is_warned_of(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fgt_ok(resume(saved, &task, 0, &r, &err));
    assert_int_equal(talk.size, 0);
    assert_int_equal(recorder_count(&r, "batch_end"), 1);
    fgt_ok(resume(saved, &task, 5, &r, &err));
    assert_non_null(strstr(talk.data, "2: "));
    assert_non_null(strstr(talk.data, " was trained with seed 0, but the run has seed 5\n"));
}

/* Up to the largest. */
static void large_seeds_are_kept(void **state)
{
    (void)state;
    static const int64_t seeds[] = {INT64_C(5000000000), INT64_C(9007199254740992)};
    char kept[sizeof saved], expected[96];
    (void)snprintf(kept, sizeof kept, "%s", saved);
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        static recorder r;
        r = (recorder){.at_event = "batch_end", .at_count = 2, .status = FG_ESTOPPED};
        const fg_trainer_options first = {.seed = seeds[i],
                                          .checkpoints.run_dir = fgt_temp_folder()};
        assert_int_equal(fit(&first, &task, &r, &err), FG_ESTOPPED);
        fgt_ok(resume(saved, &task, seeds[i], &r, &err));
        assert_int_equal(talk.size, 0);
        fgt_ok(resume(saved, &task, 5, &r, &err));
        (void)snprintf(expected, sizeof expected,
                       " was trained with seed %lld, but the run has seed 5\n",
                       (unsigned long long)seeds[i]);
        assert_non_null(strstr(talk.data, expected));
        fgi_buf_fini(&talk);
    }
    (void)snprintf(saved, sizeof saved, "%s", kept);
}

static void missing_files_are_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    const char *folder = fgt_temp_folder();
    const fg_fit_data data = {.train = train_data, .batch_size = 4, .workers = FG_NONE};
    const fg_trainer_options rows[] = {
        {.devices.client = client, .checkpoints.resume = "/no/such/checkpoint"},
        {.devices.client = client, .checkpoints.resume = "last", .checkpoints.run_dir = folder},
        {.devices.client = client, .checkpoints.resume = "best", .checkpoints.run_dir = folder},
        {.devices.client = client, .checkpoints.weights = "/no/such/file.safetensors"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgt_ok(toy_create(&rows[i], &trainer, &err));
        assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ENOTFOUND);
        assert_non_null(strstr(err.message, i == 0   ? "/no/such/checkpoint"
                                            : i == 3 ? "/no/such/file.safetensors"
                                                     : folder));
        fg_trainer_destroy(trainer);
    }
}

/* ---- state.json ------------------------------------------------------------------------------ */

static const char *turned; /* the name of a matrix of the state, or NULL */

/* The sums of an epoch, of "acc" and "loss", with their weights: those of one sample. */
static double sums[] = {1, 1, 2, 1};

static fg_type sums_type;           /* their type; rank 0: that of the checkpoint */
static const char *put_before = ""; /* names of the model's tensors */
static char names[32][64];

static fg_ckpt_tensor tensor_of(const fg_ckpt *ckpt, size_t i)
{
    const fg_tensor_info *info = fg_ckpt_info(ckpt, i);
    const bool is_sums = strcmp(info->name, "trainer.epoch_sums") == 0;
    fg_type type = info->type;
    if (turned != NULL && strcmp(info->name, turned) == 0) {
        type.dim[0] = info->type.dim[1];
        type.dim[1] = info->type.dim[0];
    }
    if (is_sums && sums_type.rank > 0)
        type = sums_type;
    (void)snprintf(names[i], sizeof names[i], "%s%s", info->part == FG_CKPT_MODEL ? put_before : "",
                   info->name);
    return (fg_ckpt_tensor){
        .name = names[i], .type = type, .data = is_sums ? sums : fg_ckpt_data(ckpt, i)};
}

/* A checkpoint with the saved tensors and this state.json; without the tensor `without`,
 * or, if that is NULL, with an additional one. */
static const char *rewrite(const char *json, const char *without)
{
    static char path[512];
    static const float number = 1;
    fg_error err = {0};
    fg_ckpt *ckpt = NULL;
    fg_ckpt_tensor tensors[2][32];
    size_t count[2] = {0, 0};
    fgt_ok(fg_ckpt_open(saved, NULL, &ckpt, &err));
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++) {
        const fg_tensor_info *info = fg_ckpt_info(ckpt, i);
        const int part = info->part == FG_CKPT_MODEL ? 0 : 1;
        if (without == NULL || strcmp(info->name, without) != 0)
            tensors[part][count[part]++] = tensor_of(ckpt, i);
    }
    if (without == NULL)
        tensors[0][count[0]++] =
            (fg_ckpt_tensor){.name = *put_before != '\0' ? "net.extra" : "extra",
                             .type = {.dtype = FG_F32},
                             .data = &number};
    const fg_ckpt_content content = {.model = tensors[0],
                                     .model_count = count[0],
                                     .state = tensors[1],
                                     .state_count = count[1],
                                     .state_json = json};
    (void)snprintf(path, sizeof path, "%s/checkpoints/again", fgt_temp_folder());
    fgt_ok(fg_ckpt_save(path, &content, &err));
    fg_ckpt_close(ckpt);
    return path;
}

static void other_shapes_of_the_state_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    char expected[1024];
    turned = "optimizer.exp_avg.fc1.weight";
    const char *path =
        rewrite("{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2}", "");
    assert_int_equal(resume(path, &task, 0, &r, &err), FG_ESHAPE);
    (void)snprintf(expected, sizeof expected, "%s: '%s' is f32[6,8], but f32[8,6] in the model",
                   path, turned);
    turned = NULL;
    assert_string_equal(err.message, expected);
}

/* Each moment of each parameter, and the number of updates. */
static void every_variable_of_the_optimizer_is_needed(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_ckpt *ckpt = NULL;
    int count = 0;
    char expected[1024];
    fgt_ok(fg_ckpt_open(saved, NULL, &ckpt, &err));
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++) {
        const char *name = fg_ckpt_info(ckpt, i)->name;
        if (strncmp(name, "optimizer.", 10) != 0 || strcmp(name, "optimizer.health") == 0)
            continue;
        const char *path =
            rewrite("{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2}", name);
        assert_int_equal(resume(path, &task, 0, &r, &err), FG_EFORMAT);
        (void)snprintf(expected, sizeof expected, "%s: has no '%s', which the optimizer needs",
                       path, name);
        assert_string_equal(err.message, expected);
        count++;
    }
    fg_ckpt_close(ckpt);
    assert_int_equal(count, 9); /* two of each of two weights and two biases, and one */
}

static void counters_must_make_sense(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"{}", "'step' in its state.json is missing or not an integer of at least 0"},
        {"{\"step\": 2, \"epoch\": 0, \"position\": 8}",
         "'epoch_batches' in its state.json is missing or not an integer of at least 0"},
        {"{\"step\": -2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2}",
         "'step' in its state.json is missing or not an integer of at least 0"},
        {"{\"step\": \"2\", \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2}",
         "'step' in its state.json is missing or not an integer of at least 0"},
        {"{\"step\": 2, \"epoch\": 0.5, \"position\": 8, \"epoch_batches\": 2}",
         "'epoch' in its state.json is missing or not an integer of at least 0"},
        {"{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, \"samples\": null}",
         "'samples' in its state.json is missing or not an integer of at least -1"},
        {"{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, \"log_lines\": -2}",
         "'log_lines' in its state.json is missing or not an integer of at least -1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        static recorder r;
        const char *path = rewrite(rows[i].text, NULL);
        assert_int_equal(resume(path, &task, 0, &r, &err), FG_EFORMAT);
        assert_non_null(strstr(err.message, rows[i].says));
        assert_non_null(strstr(err.message, path));
    }
}

/* Missing or invalid parts of the state are ignored. */
static void little_is_enough(void **state)
{
    (void)state;
    static const struct {
        const char *json, *without;
    } rows[] = {
        {"{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, \"samples\": 10}",
         NULL},
        {"{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, \"samples\": 10,"
         "\"metrics\": [\"acc\", \"loss\"]}",
         "trainer.epoch_sums"},
        {"{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, \"samples\": 10,"
         "\"metrics\": [\"acc\", \"loss\"]}",
         "trainer.sums"},
        {"{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, \"samples\": 10,"
         "\"metrics\": [1, 2, 3]}",
         NULL},
        {"{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, \"samples\": 10,"
         "\"metrics\": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}",
         NULL},
        {"{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, \"samples\": 10,"
         "\"metrics\": [\"other\", \"loss\"], \"best\": \"x\", \"monitor\": 3}",
         NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        static recorder r;
        fgt_ok(resume(rewrite(rows[i].json, rows[i].without), &task, 0, &r, &err));
        assert_int_equal(recorder_count(&r, "batch_end"), 1);
        assert_int_equal(recorder_count(&r, "epoch_end"), 1);
        const char *says = ": 1 of its 5 tensors match no variable of the model\n";
        assert_true((rows[i].without == NULL) == (talk.data && strstr(talk.data, says)));
        fgi_buf_fini(&talk);
    }
}

/* Tensors that match nothing are warned of, unless only a part of the weights is requested. */
static void tensors_that_match_nothing_are_warned_of(void **state)
{
    (void)state;
    static const char *const skip[] = {"fc2.*"};
    static const fg_load_options rows[] = {{.prefix = NULL},
                                           {.allow_missing = true},
                                           {.skip = skip, .skip_count = 1},
                                           {.prefix = "net."}};
    char kept[sizeof saved];
    (void)snprintf(kept, sizeof kept, "%s", saved);
    for (int i = 0; i < 4; i++) {
        fg_error err = {0};
        static recorder r;
        (void)snprintf(saved, sizeof saved, "%s", kept);
        put_before = i == 3 ? "net." : "";
        const char *path = rewrite("{}", NULL);
        put_before = "";
        fgt_ok(fit(&(fg_trainer_options){.limits.max_steps = 1,
                                         .checkpoints.weights = path,
                                         .checkpoints.weights_options = rows[i]},
                   &task, &r, &err));
        const bool is_warned = talk.data != NULL && strstr(talk.data, "tensors match no variable");
        assert_int_equal(is_warned, i == 0);
        fgi_buf_fini(&talk);
    }
    (void)snprintf(saved, sizeof saved, "%s", kept);
}

/* A task that logs different metrics continues with its own sums. */
static fg_tensor logs_less(void *self, fg_step *st, const fg_batch *batch)
{
    (void)st;
    const fg_tensor logits = toy_forward(self, fg_batch_field(batch, "x"));
    return fg_cross_entropy(logits, fg_batch_field(batch, "y"), NULL);
}

static void other_metrics_begin_anew(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_task_ops ops = toy_ops;
    ops.train_step = logs_less;
    const fg_task less = {.name = "toy", .self = &model, .ops = &ops};
    fgt_ok(resume(saved, &less, 0, &r, &err));
    assert_string_equal(r.metrics, "train_loss=nan ");
    const char *path = rewrite("{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, "
                               "\"samples\": 10, \"metrics\": [\"acc\", \"loss\"]}",
                               NULL);
    fgt_ok(resume(path, &task, 0, &r, &err));
    assert_string_equal(r.metrics, "train_acc=1 train_loss=2 ");
    fgt_ok(resume(path, &less, 0, &r, &err));
    assert_string_equal(r.metrics, "train_loss=nan ");
    path = rewrite("{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, "
                   "\"samples\": 10, \"metrics\": [\"other\", \"loss\"]}",
                   NULL);
    fgt_ok(resume(path, &task, 0, &r, &err));
    assert_string_equal(r.metrics, "train_acc=nan train_loss=nan ");
    fgi_buf_fini(&talk);
}

/* As if they were missing. */
static void sums_of_another_type_are_ignored(void **state)
{
    (void)state;
    static const fg_type types[] = {{.dtype = FG_F64, .rank = 1, .dim = {4}},
                                    {.dtype = FG_F64, .rank = 1, .dim = {3}},
                                    {.dtype = FG_S64, .rank = 1, .dim = {4}}};
    for (int i = 0; i < 3; i++) {
        fg_error err = {0};
        static recorder r;
        sums_type = types[i];
        const char *path =
            rewrite("{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, "
                    "\"samples\": 10, \"metrics\": [\"acc\", \"loss\"]}",
                    NULL);
        sums_type = (fg_type){.rank = 0};
        fgt_ok(resume(path, &task, 0, &r, &err));
        assert_string_equal(r.metrics,
                            i == 0 ? "train_acc=1 train_loss=2 " : "train_acc=nan train_loss=nan ");
    }
    fgi_buf_fini(&talk);
}

/* In JSON there are no such numbers: the next checkpoint has null, which is read as NaN. */
static void an_infinite_result_is_saved(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_ckpt *ckpt = NULL;
    char kept[sizeof saved];
    (void)snprintf(kept, sizeof kept, "%s", saved);
    sums[0] = (double)INFINITY;
    sums[2] = 123456789.0009765625; /* more digits than are printed */
    const char *path = rewrite("{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, "
                               "\"samples\": 10, \"metrics\": [\"acc\", \"loss\"]}",
                               NULL);
    sums[0] = 1;
    sums[2] = 2;
    r = (recorder){0};
    const fg_trainer_options options = {
        .checkpoints = {.resume = path, .run_dir = fgt_temp_folder()}};
    fgt_ok(fit(&options, &task, &r, &err));
    assert_string_equal(r.metrics, "train_acc=inf train_loss=123456789 ");
    fgt_ok(fg_ckpt_open(saved, NULL, &ckpt, &err));
    assert_non_null(strstr(fg_ckpt_state_json(ckpt), "\"train_acc\": null"));
    assert_non_null(strstr(fg_ckpt_state_json(ckpt), "\"train_loss\": 123456789.00097656"));
    fg_ckpt_close(ckpt);
    (void)snprintf(saved, sizeof saved, "%s", kept);
    fgi_buf_fini(&talk);
}

/* Of a checkpoint or of its file of weights, whatever the seed. */
static void an_evaluation_names_what_it_loads(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        fg_trainer *trainer = NULL;
        char path[sizeof saved];
        const fg_fit_data data = {.val = train_data, .batch_size = 4, .workers = FG_NONE};
        (void)snprintf(path, sizeof path, "%.900s%s", saved, i == 0 ? "" : "/model.safetensors");
        const fg_trainer_options options = {
            .devices.client = client, .checkpoints.resume = path, .seed = 5};
        fgt_ok(toy_create(&options, &trainer, &err));
        fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
        assert_string_equal(fg_trainer_result(trainer)->checkpoint, path);
        assert_int_equal(talk.size, 0);
        fg_trainer_destroy(trainer);
    }
}

/* Between two evaluations without a fit, parameters may be set. */
static void weights_are_loaded_once(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    float bias[TOY_CLASSES] = {1, 2, 3}, got[TOY_CLASSES];
    const fg_fit_data data = {.val = train_data, .batch_size = 4, .workers = FG_NONE};
    const fg_trainer_options options = {.devices.client = client, .checkpoints.weights = saved};
    fgt_ok(toy_create(&options, &trainer, &err));
    for (int i = 0; i < 2; i++) {
        fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
        fg_variable *variable = fg_module_find(fg_trainer_module(trainer), "fc2.bias");
        fgt_ok(fg_variable_read(variable, got, sizeof got, &err));
        assert_int_equal(got[2] == 3, i);
        fgt_ok(fg_variable_set(variable, bias, sizeof bias, &err));
    }
    fg_trainer_destroy(trainer);
}

#define AT_2  "{\"step\": 2, \"epoch\": 0, \"position\": 8, \"epoch_batches\": 2, \"samples\": 10, "
#define AT_3  "{\"step\": 3, \"epoch\": 1, \"position\": 0, \"epoch_batches\": 0, \"samples\": 10, "
#define VALUE "\"results\": {\"train_loss\": 0.5, \"val_loss\": 0.25}}"

/* Checkpoints of which one has the metric of its own state. */
static const struct {
    const char *monitor, *json;
    bool is_elsewhere, is_best;
} ranked[] = {
    {"val_loss", AT_2 "\"validated_step\": 2, " VALUE, false, true},
    {"val_loss", AT_2 "\"validated_step\": 2, " VALUE, true, false},
    {"val_loss", AT_2 "\"validated_step\": 1, " VALUE, false, false},
    {"val_loss", AT_2 "\"validated_step\": 2, \"results\": {\"val_loss\": null}}", false, false},
    {"train_loss", AT_2 "\"validated_step\": 2, " VALUE, false, false},
    {"train_loss", AT_3 "\"validated_step\": 2, " VALUE, false, true},
};

/* When a run resumes from it, before the first step, `best` names it, and `last` does. */
static void a_checkpoint_gets_its_rank_on_resume(void **state)
{
    (void)state;
    char kept[sizeof saved];
    (void)snprintf(kept, sizeof kept, "%s", saved);
    for (size_t i = 0; i < sizeof ranked / sizeof ranked[0]; i++) {
        fg_error err = {0};
        static recorder r;
        char folder[512];
        r = (recorder){.at_event = "fit_start", .at_count = 1, .status = FG_ESTOPPED};
        (void)snprintf(saved, sizeof saved, "%s", kept);
        const char *path = rewrite(ranked[i].json, "");
        (void)snprintf(folder, sizeof folder, "%s", path);
        *strstr(folder, "/checkpoints/again") = '\0';
        if (ranked[i].is_elsewhere)
            (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
        fgt_ok(fgi_folder_make(fgt_path(folder, "checkpoints"), &err));
        const fg_trainer_options options = {
            .limits.max_epochs = 2,
            .checkpoints = {.resume = path, .run_dir = folder, .monitor = ranked[i].monitor}};
        assert_int_equal(fit(&options, &task, &r, &err), FG_ESTOPPED);
        if (fgi_file_exists(fgt_path(folder, "checkpoints/best")) != ranked[i].is_best ||
            fgi_file_exists(fgt_path(folder, "checkpoints/last")) == ranked[i].is_elsewhere)
            fail_msg("row %zu", i);
    }
    (void)snprintf(saved, sizeof saved, "%s", kept);
    fgi_buf_fini(&talk);
}

static void build_frozen(void *self, fg_module *root)
{
    fg_error err = {0};
    toy_ops.build(self, root);
    fgt_ok(fg_module_freeze(root, "norm.*", NULL, &err));
}

/* Only parameters are listed, and not the running statistics of a batch norm, which are frozen with
 * them. A name that is not UTF-8 is left out. */
static void frozen_parameters_are_listed(void **state)
{
    (void)state;
    toy normed = {.has_norm = true};
    fg_task_ops ops = toy_ops;
    char kept[sizeof saved];
    (void)snprintf(kept, sizeof kept, "%s", saved);
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        static recorder r;
        fg_ckpt *ckpt = NULL;
        r = (recorder){0};
        ops.build = i == 0 ? toy_ops.build : build_frozen;
        const fg_task what = {.name = i == 0 ? "caf\xe9" : "toy", .self = &normed, .ops = &ops};
        const fg_trainer_options options = {.limits.max_steps = 1,
                                            .checkpoints.run_dir = fgt_temp_folder()};
        fgt_ok(fit(&options, &what, &r, &err));
        fgt_ok(fg_ckpt_open(saved, NULL, &ckpt, &err));
        const char *json = fg_ckpt_state_json(ckpt);
        assert_non_null(strstr(json, i == 0 ? "\"task\": \"\"" : "\"task\": \"toy\""));
        if (i == 0)
            assert_null(strstr(json, "frozen"));
        else
            assert_non_null(strstr(json, "\"frozen\": [\n  \"norm.weight\",\n  \"norm.bias\"\n ]"));
        fg_ckpt_close(ckpt);
    }
    (void)snprintf(saved, sizeof saved, "%s", kept);
}

/* A bare .safetensors file has no position to resume from. */
static void state_json_must_be_there(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    char path[sizeof saved];
    (void)snprintf(path, sizeof path, "%.900s/model.safetensors", saved);
    assert_int_equal(resume(path, &task, 0, &r, &err), FG_EINVAL);
    fgt_message_is(err.message,
                   "~/checkpoints/step-000000002/model.safetensors: is a file of weights, not a "
                   "checkpoint to resume from\ngive it as the starting weights instead");
}

/* ---- the owner of the client ----------------------------------------------------------------- */

static void a_trainer_opens_and_closes_its_own_client(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    const fg_fit_data data = {.train = train_data, .batch_size = 4, .workers = FG_NONE};
    assert_int_equal(setenv("FULGURITE_PLUGIN", FAKE_PATH, 1), 0);
    fgt_ok(toy_create(&(fg_trainer_options){.devices.cache_dir = ""}, &trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_string_equal(fg_client_info_of(fg_trainer_client(trainer))->plugin_path, FAKE_PATH);
    assert_ptr_not_equal(fg_trainer_client(trainer), client);
    assert_int_equal(fg_trainer_result(trainer)->compiles, 1);
    fg_trainer_destroy(trainer);
    assert_int_equal(unsetenv("FULGURITE_PLUGIN"), 0);
}

/* Of a custom loop in several processes. */
static void the_first_process_saves_a_loop(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_module *root = NULL;
    fgi_manifest manifest;
    static fake_control fake;
    const char *path = fgt_path(fgt_temp_folder(), "loop");
    const fg_client_options options = {
        .accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""};
    assert_true(fake_open(&fake));
    fgt_ok(fg_module_create(NULL, 1, &root, &err));
    for (int process = 1; process >= 0; process--) {
        fg_client *one = NULL;
        fake.set("process", process);
        fake.set("processes", 2);
        fgt_ok(fg_client_open(&options, &one, &err));
        fake.reset();
        fgt_ok(fg_training_save(path, root, NULL, &(fg_training_options){.client = one}, &err));
        assert_int_equal(fgi_file_exists(path), process == 0);
        fg_client_close(one);
    }
    fgt_ok(fgi_manifest_read(path, &manifest, &err));
    assert_int_equal(manifest.processes, 2);
    assert_int_equal(manifest.writer, 0);
    fg_module_destroy(root);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
static const struct CMUnitTest tests[] = {
    TEST(other_models_are_refused),
    TEST(other_shapes_are_refused),
    TEST(other_optimizers_are_refused),
    TEST(another_seed_is_warned_of),
    TEST(large_seeds_are_kept),
    TEST(missing_files_are_reported),
    TEST(other_shapes_of_the_state_are_refused),
    TEST(every_variable_of_the_optimizer_is_needed),
    TEST(counters_must_make_sense),
    TEST(little_is_enough),
    TEST(tensors_that_match_nothing_are_warned_of),
    TEST(other_metrics_begin_anew),
    TEST(sums_of_another_type_are_ignored),
    TEST(an_infinite_result_is_saved),
    TEST(an_evaluation_names_what_it_loads),
    TEST(a_checkpoint_gets_its_rank_on_resume),
    TEST(weights_are_loaded_once),
    TEST(frozen_parameters_are_listed),
    TEST(state_json_must_be_there),
    TEST(a_trainer_opens_and_closes_its_own_client),
    TEST(the_first_process_saves_a_loop),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
