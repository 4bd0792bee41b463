/* test_train_state.c - what a checkpoint holds beside weights: the module's own state, through a
 * stop and a resume, on one device and on four.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

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
    if (level == FG_LOG_WARNING && strstr(line, "state variables") != NULL)
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

/* A linear classifier that counts its steps and keeps the last batch's mean, a queue of one. */
typedef struct model {
    fg_linear *fc;
    fg_module *root;
    fg_variable *steps, *queue;
    const char *name; /* of the counter ["steps"] */
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
    const fg_tensor x = fg_batch_get(batch, "x");
    if (fg_trace_training(trace)) {
        const fg_tensor old = fg_variable_value(trace, m->queue);
        const fg_tensor newest = fg_reshape(fg_mean(x, 1, (const int[]){0}), FG_DIMS(1, -1));
        const fg_tensor kept =
            fg_slice(old, (const int64_t[]){0, 0}, (const int64_t[]){1, TOY_FEATURES}, NULL);
        fg_assign(m->queue, fg_concat((fg_tensor[]){newest, kept}, 2, 0));
        fg_assign(m->steps,
                  fg_add(fg_variable_value(trace, m->steps), fg_ones(trace, FG_S32, FG_SCALAR)));
    }
    return fg_cross_entropy(fg_linear_apply(m->fc, x), fg_batch_get(batch, "y"), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 0.1});
}

static const fg_task_ops ops = {.build = build, .train_step = step, .optimizer = optimizer};

/* What the state is after a fit. */
typedef struct state_values {
    int32_t steps;
    float queue[2 * TOY_FEATURES];
} state_values;

static state_values fit(fg_client *client, const char *strategy, const char *folder,
                        const char *resume, const char *counter, int64_t steps)
{
    fg_error err = {0};
    state_values values = {0};
    model m = {.name = counter};
    const fg_task task = {.name = "state", .self = &m, .ops = &ops};
    const fg_fit_data fit_data = {.train = data, .batch_size = BATCH};
    warnings[0] = '\0';
    fg_trainer *trainer = toy_trainer(
        client, &(fg_trainer_options){
                    .run_dir = folder, .resume = resume, .strategy = strategy, .max_steps = steps});
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

/* Six steps at once, and three and three. */
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
        const state_values want = fit(client, rows[i].strategy, whole, NULL, NULL, 6);
        assert_int_equal(want.steps, 6);
        const state_values half = fit(client, rows[i].strategy, parts, NULL, NULL, 3);
        assert_int_equal(half.steps, 3);
        assert_true(memcmp(half.queue, want.queue, sizeof want.queue) != 0);
        const state_values got = fit(client, rows[i].strategy, parts, "last", NULL, 6);
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
    (void)fit(client, NULL, folder, NULL, NULL, 3);
    const state_values got = fit(client, NULL, folder, "last", "count", 5);
    assert_int_equal(got.steps, 2);
    assert_non_null(strstr(warnings, "not in it start anew: 'memory.count'\n"));
    assert_non_null(strstr(warnings, "the module does not have are dropped: 'memory.steps'\n"));
    fgi_free(folder);
    fg_client_close(client);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(state_of_modules_goes_through_a_resume),
    cmocka_unit_test(state_that_is_not_there_begins_anew),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
