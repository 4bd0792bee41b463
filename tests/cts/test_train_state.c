/* test_train_state.c - what a checkpoint contains besides weights: the state of the module, after a
 * stop and a resume, on one device and on four.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "toy.h"

enum { SAMPLES = 64, BATCH = 16 };

static fg_dataset *data;
static char warnings[2048];

static void keep_warning(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level == FG_LOG_WARNING &&
        (strstr(line, "state variables") != NULL || strstr(line, "frozen") != NULL))
        (void)snprintf(warnings + strlen(warnings), sizeof warnings - strlen(warnings), "%s\n",
                       line);
}

static int open_all(void **state)
{
    (void)state;
    data = toy_data(SAMPLES, 1);
    fg_log_set(keep_warning, NULL);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fg_log_set(NULL, NULL);
    fg_dataset_destroy(data);
    return 0;
}

/* ---- a model with state ---------------------------------------------------------------------- */

/* A linear classifier that counts its steps and stores the mean of the last batch. */
typedef struct model {
    fg_linear *fc;
    fg_module *root;
    fg_variable *steps, *queue;
    const char *name; /* the counter's name ["steps"] */
} model;

static void build(void *self, fg_module *root)
{
    model *m = self;
    const fg_variable_options state = {.kind = FG_STATE},
                              queue = {.kind = FG_STATE, .file_axis = {1, 0}};
    m->root = root;
    m->fc =
        fg_linear_create(root, "fc", &(fg_linear_options){.in = TOY_FEATURES, .out = TOY_CLASSES});
    fg_module *memory = fg_module_child(root, "memory");
    m->steps = fg_module_variable(memory, m->name != NULL ? m->name : "steps",
                                  &(fg_type){.dtype = FG_S32}, &state);
    m->queue = fg_module_variable(
        memory, "queue", &(fg_type){.dtype = FG_F32, .rank = 2, .dim = {2, TOY_FEATURES}}, &queue);
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const model *m = self;
    fg_trace *trace = fg_step_trace(st);
    const fg_tensor x = fg_batch_field(batch, "x");
    if (fg_trace_training(trace)) {
        const fg_tensor old = fg_variable_value(trace, m->queue);
        const fg_tensor newest = fg_reshape(fg_mean(x, 1, (const int[]){0}), FG_DIMS(1, -1));
        const fg_tensor kept =
            fg_slice(old, (const int64_t[]){0, 0}, (const int64_t[]){1, TOY_FEATURES}, NULL);
        fg_assign(m->queue, fg_concat((fg_tensor[]){newest, kept}, 2, 0));
        fg_assign(m->steps,
                  fg_add(fg_variable_value(trace, m->steps), fg_ones(trace, FG_S32, FG_SCALAR)));
    }
    return fg_cross_entropy(fg_linear_apply(m->fc, x), fg_batch_field(batch, "y"), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 0.1});
}

static const fg_task_ops ops = {.build = build, .train_step = step, .optimizer = optimizer};

/* The state after a fit. */
typedef struct state_values {
    int32_t steps;
    float queue[2 * TOY_FEATURES];
} state_values;

static state_values fit(fg_client *client, const char *strategy, const char *folder,
                        const char *resume, const char *counter, int64_t steps,
                        int64_t steps_per_launch)
{
    fg_error err = {0};
    state_values values = {0};
    model m = {.name = counter};
    const fg_task task = {.name = "state", .self = &m, .ops = &ops};
    const fg_fit_data fit_data = {.train = data, .batch_size = BATCH};
    warnings[0] = '\0';
    fg_trainer *trainer =
        toy_trainer(client, &(fg_trainer_options){.checkpoints.run_dir = folder,
                                                  .checkpoints.resume = resume,
                                                  .devices.strategy = strategy,
                                                  .devices.steps_per_launch = steps_per_launch,
                                                  .limits.max_steps = steps});
    fgt_ok(fg_trainer_fit(trainer, &task, &fit_data, &err));
    fgt_ok(fg_variable_read(m.steps, &values.steps, sizeof values.steps, &err));
    fgt_ok(fg_variable_read(m.queue, values.queue, sizeof values.queue, &err));
    fg_trainer_destroy(trainer);
    return values;
}

static fg_client *open_client(int devices)
{
    fg_error err = {0};
    fg_client *client;
    const fg_client_options options = {
        .accelerator = "cpu", .cpu_devices = devices, .cache_dir = fgt_cache(fgt_temp_folder())};
    fgt_ok(fg_client_open(&options, &client, &err));
    return client;
}

/* Six steps in one fit, compared with three and three, by launches of up to two. */
static void state_of_modules_goes_through_a_resume(void **state)
{
    (void)state;
    static const struct {
        int devices;
        const char *strategy;
    } rows[] = {{1, NULL}, {4, "ddp"}, {4, "fsdp"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_client *client = open_client(rows[i].devices);
        char *whole = fgi_path_join(fgt_temp_folder(), "whole");
        char *parts = fgi_path_join(fgt_temp_folder(), "parts");
        const state_values want = fit(client, rows[i].strategy, whole, NULL, NULL, 6, 1);
        assert_int_equal(want.steps, 6);
        const state_values half = fit(client, rows[i].strategy, parts, NULL, NULL, 3, 2);
        assert_int_equal(half.steps, 3);
        assert_true(memcmp(half.queue, want.queue, sizeof want.queue) != 0);
        const state_values got = fit(client, rows[i].strategy, parts, "last", NULL, 6, 2);
        assert_int_equal(got.steps, 6);
        assert_memory_equal(got.queue, want.queue, sizeof want.queue);
        assert_string_equal(warnings, "");
        fgi_free(whole);
        fgi_free(parts);
        fg_client_close(client);
    }
}

static void state_that_is_not_there_begins_anew(void **state)
{
    (void)state;
    fg_client *client = open_client(1);
    char *folder = fgi_path_join(fgt_temp_folder(), "run");
    (void)fit(client, NULL, folder, NULL, NULL, 3, 1);
    const state_values got = fit(client, NULL, folder, "last", "count", 5, 1);
    assert_int_equal(got.steps, 2);
    assert_non_null(strstr(warnings, "not contain keep their initial values: 'memory.count'\n"));
    assert_non_null(strstr(warnings, "the module does not have are ignored: 'memory.steps'\n"));
    fgi_free(folder);
    fg_client_close(client);
}

/* ---- frozen parameters ----------------------------------------------------------------------- */

enum { HIDDEN = 5 };

/* Two layers with Adam; parameters that match the patterns are frozen when the model is built. */
typedef struct frozen_model {
    fg_linear *fc1, *fc2;
    fg_module *root;
    const char *pattern;
} frozen_model;

static void build_frozen(void *self, fg_module *root)
{
    frozen_model *m = self;
    fg_error err = {0};
    m->root = root;
    m->fc1 = fg_linear_create(root, "fc1", &(fg_linear_options){.in = TOY_FEATURES, .out = HIDDEN});
    m->fc2 = fg_linear_create(root, "fc2", &(fg_linear_options){.in = HIDDEN, .out = TOY_CLASSES});
    if (m->pattern != NULL)
        fgt_ok(fg_module_freeze(root, m->pattern, NULL, &err));
}

static fg_tensor frozen_step(void *self, fg_step *st, const fg_batch *batch)
{
    const frozen_model *m = self;
    (void)st;
    const fg_tensor h = fg_tanh(fg_linear_apply(m->fc1, fg_batch_field(batch, "x")));
    return fg_cross_entropy(fg_linear_apply(m->fc2, h), fg_batch_field(batch, "y"), NULL);
}

static fg_optimizer *adam_of(void *self, fg_module *root)
{
    (void)self;
    return fg_adam_create(root, &(fg_adam_options){.lr = 0.01});
}

static const fg_task_ops frozen_ops = {
    .build = build_frozen, .train_step = frozen_step, .optimizer = adam_of};

typedef struct weights {
    float fc1[TOY_FEATURES * HIDDEN], fc2[HIDDEN * TOY_CLASSES];
} weights;

static weights weights_of(const fg_module *root)
{
    fg_error err = {0};
    weights w;
    fgt_ok(fg_variable_read(fg_module_find(root, "fc1.weight"), w.fc1, sizeof w.fc1, &err));
    fgt_ok(fg_variable_read(fg_module_find(root, "fc2.weight"), w.fc2, sizeof w.fc2, &err));
    return w;
}

/* A callback that unfreezes everything at the start of an epoch. */
static fg_status thaw(void *self, const fg_progress *at, fg_error *err)
{
    const frozen_model *m = self;
    return at->epoch == 1 ? fg_module_unfreeze(m->root, NULL, NULL, err) : FG_OK;
}

static const fg_callback_ops thaw_ops = {.epoch_start = thaw};

typedef struct frozen_fit {
    fg_client *client;
    const char *folder, *resume, *pattern, *strategy;
    int64_t steps, accumulate;
    bool thaws;
} frozen_fit;

static weights fit_frozen(const frozen_fit *f)
{
    fg_error err = {0};
    frozen_model m = {.pattern = f->pattern};
    const fg_task task = {.name = "frozen", .self = &m, .ops = &frozen_ops};
    const fg_fit_data fit_data = {.train = data, .batch_size = BATCH};
    const fg_trainer_options options = {.checkpoints.run_dir = f->folder,
                                        .checkpoints.resume = f->resume,
                                        .devices.strategy = f->strategy,
                                        .numerics.accumulate_grad_batches = f->accumulate,
                                        .limits.max_steps = f->steps};
    warnings[0] = '\0';
    fg_trainer *trainer = toy_trainer(f->client, &options);
    if (f->thaws)
        fgt_ok(fg_trainer_add_callback(trainer, &thaw_ops, &m, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &fit_data, &err));
    const weights w = weights_of(m.root);
    fg_trainer_destroy(trainer);
    return w;
}

static double furthest(const float *a, const float *b, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

/* A parameter unfrozen on resume starts with fresh Adam state: its first step is as large as the
 * learning rate, not three times that, as with the bias correction of a fifth step. */
static void resuming_with_others_frozen_is_reported(void **state)
{
    (void)state;
    const size_t n1 = TOY_FEATURES * HIDDEN, n2 = HIDDEN * TOY_CLASSES;
    fg_client *client = open_client(1);
    for (int64_t accumulate = 1; accumulate <= 2; accumulate++) {
        char *folder = fgi_path_join(fgt_temp_folder(), "run");
        frozen_fit f = {.client = client, .folder = folder, .pattern = "fc1.*", .steps = 1};
        f.accumulate = accumulate;
        const weights first = fit_frozen(&f);
        f.steps = 4;
        f.resume = "last";
        const weights fourth = fit_frozen(&f);
        assert_memory_equal(first.fc1, fourth.fc1, sizeof first.fc1);
        assert_true(furthest(first.fc2, fourth.fc2, n2) > 0.02);
        assert_string_equal(warnings, "");
        f.steps = 5;
        f.pattern = "fc2.*";
        const weights fifth = fit_frozen(&f);
        assert_memory_equal(fourth.fc2, fifth.fc2, sizeof first.fc2);
        const double most = furthest(fourth.fc1, fifth.fc1, n1);
        assert_true(most > 0.0099 && most < 0.01001);
        assert_non_null(strstr(warnings, "frozen are trained now: 'fc1.weight', 'fc1.bias'\n"));
        assert_non_null(strstr(warnings, "trained are frozen now: 'fc2.weight', 'fc2.bias'\n"));
        fgi_free(folder);
    }
    fg_client_close(client);
}

static void a_single_frozen_parameter_is_in_the_checkpoint(void **state)
{
    (void)state;
    fg_client *client = open_client(1);
    char *folder = fgi_path_join(fgt_temp_folder(), "run");
    frozen_fit f = {.client = client, .folder = folder, .pattern = "fc1.bias", .steps = 1};
    (void)fit_frozen(&f);
    f.pattern = "fc2.bias";
    f.steps = 2;
    f.resume = "last";
    (void)fit_frozen(&f);
    assert_non_null(strstr(warnings, "frozen are trained now: 'fc1.bias'\n"));
    assert_non_null(strstr(warnings, "trained are frozen now: 'fc2.bias'\n"));
    fgi_free(folder);
    fg_client_close(client);
}

/* A callback unfreezes at the second epoch: the step is traced again. A run that is stopped and
 * resumed after that equals an uninterrupted one, although it is frozen again until the callback
 * has been called. */
static void parameters_thaw_within_a_fit(void **state)
{
    (void)state;
    static const char *const strategies[] = {NULL, "fsdp"};
    for (int i = 0; i < 2; i++) {
        fg_client *client = open_client(i == 0 ? 1 : 4);
        char *folder = fgi_path_join(fgt_temp_folder(), "run");
        frozen_fit f = {.client = client, .strategy = strategies[i], .pattern = "fc1.*"};
        f.thaws = true;
        f.steps = 4; /* per epoch */
        const weights fourth = fit_frozen(&f);
        f.steps = 12;
        const weights want = fit_frozen(&f);
        assert_true(furthest(fourth.fc1, want.fc1, TOY_FEATURES * HIDDEN) > 0.02);
        f.folder = folder;
        f.steps = 8;
        (void)fit_frozen(&f);
        f.resume = "last";
        f.steps = 12;
        f.thaws = false;
        f.pattern = NULL; /* what the callback has done so far */
        const weights got = fit_frozen(&f);
        assert_memory_equal(&got, &want, sizeof want);
        fgi_free(folder);
        fg_client_close(client);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(resuming_with_others_frozen_is_reported),
    cmocka_unit_test(a_single_frozen_parameter_is_in_the_checkpoint),
    cmocka_unit_test(parameters_thaw_within_a_fit),
    cmocka_unit_test(state_of_modules_goes_through_a_resume),
    cmocka_unit_test(state_that_is_not_there_begins_anew),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
