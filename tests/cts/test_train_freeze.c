/* test_train_freeze.c - the callback freeze: which parameters change in which epoch, how often the
 * step is compiled, and resuming before, at and after the epoch. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "row.h"

#include <stdio.h>

#include "base/alloc.h"
#include "toy.h"
#include "callback/callback_rows.h"

enum { SAMPLES = 48, BATCH = 12, EPOCH = 4, EPOCHS = 4, COUNT = 6 * 8 + 8 + 8 * 3 + 3 };

static fg_client *client;
static fg_dataset *data;
static char runs[512];
static int warning_count;

static void count_warning(void *self, fg_log_level level, const char *line)
{
    (void)self, (void)line;
    warning_count += level == FG_LOG_WARNING;
}

static int begin(void **state)
{
    fg_error err = {0};
    (void)state;
    toy_use_memory();
    (void)snprintf(runs, sizeof runs, "%s", fgt_temp_folder());
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache(fgt_temp_folder())},
        &client, &err));
    data = toy_data(SAMPLES, 1);
    fg_log_set(count_warning, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fg_log_set(NULL, NULL);
    fg_dataset_destroy(data);
    fg_client_close(client);
    return fgi_alloc_live() != 0;
}

static fg_status add_freeze(fg_trainer *trainer, const char *options, fg_error *out_err)
{
    void *self = NULL;
    const fg_status status = FGT_ROW_BEGIN(&fgi_freeze_row, options, &self, out_err);
    return status == FG_OK ? fg_trainer_add_callback(trainer, fgi_freeze_row.ops, self, out_err)
                           : status;
}

static void read_all(const fg_trainer *trainer, float *out)
{
    fg_error err = {0};
    const fg_module *root = fg_trainer_module(trainer);
    for (size_t i = 0, at = 0; i < fg_module_variable_count(root); i++) {
        fg_variable *v = fg_module_variable_at(root, i);
        const size_t bytes = fg_type_bytes(fg_variable_type(v));
        fgt_ok(fg_variable_read(v, out + at, bytes, &err));
        at += bytes / sizeof *out;
        assert_true(at <= COUNT);
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct epochs {
    fg_trainer *trainer;
    float at[EPOCHS + 1][COUNT]; /* after that many epochs */
    bool thaws;                  /* by itself, in epoch_start */
} epochs;

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    epochs *e = self;
    (void)err;
    read_all(e->trainer, e->at[at->epoch]);
    return FG_OK;
}

static fg_status on_epoch_start(void *self, const fg_progress *at, fg_error *err)
{
    const epochs *e = self;
    if (!e->thaws || at->epoch != 2)
        return FG_OK;
    return fg_module_unfreeze(fg_trainer_module(e->trainer), "fc1.*", NULL, err);
}

static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    epochs *e = self;
    (void)err;
    read_all(e->trainer, e->at[at->epoch + 1]);
    return FG_OK;
}

static const fg_callback_ops epochs_ops = {
    .fit_start = on_fit_start, .epoch_start = on_epoch_start, .epoch_end = on_epoch_end};

typedef struct setting {
    const char *freeze, *folder; /* NULL: by itself; no folder */
    int64_t steps, accumulate;
    bool resumes;
} setting;

static void build_frozen(void *self, fg_module *root)
{
    fg_error err = {0};
    toy_ops.build(self, root);
    fgt_ok(fg_module_freeze(root, "fc1.*", NULL, &err));
}

static void fit(const setting *s, epochs *e, fg_result *out)
{
    fg_error err = {0};
    toy model = {.optimizer = "adamw"};
    fg_task_ops ops = toy_ops;
    if (s->freeze == NULL)
        ops.build = build_frozen;
    const fg_task task = {.name = "toy", .self = &model, .ops = &ops};
    const fg_fit_data fits = {.train = data,
                              .batch_size = s->accumulate > 1 ? BATCH / s->accumulate : BATCH};
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = {.devices.client = client,
                                        .limits.max_epochs = EPOCHS,
                                        .limits.max_steps = s->steps,
                                        .numerics.accumulate_grad_batches = s->accumulate,
                                        .checkpoints.run_dir = s->folder,
                                        .checkpoints.resume = s->resumes ? "last" : NULL};
    fgt_ok(toy_create(&options, &trainer, &err));
    e->trainer = trainer;
    e->thaws = s->freeze == NULL;
    if (s->freeze != NULL)
        fgt_ok(add_freeze(trainer, s->freeze, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &epochs_ops, e, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &fits, &err));
    *out = *fg_trainer_result(trainer);
    read_all(trainer, e->at[EPOCHS]);
    fg_trainer_destroy(trainer);
}

#define UNTIL_2 "{parameters: [fc1.*], unfreeze_at_epoch: 2}"

static epochs whole, other;

static void parameters_change_from_their_epoch_on(void **state)
{
    fg_result result;
    enum { FIRST = 6 * 8 + 8 }; /* elements of fc1 */
    (void)state;
    fit(&(setting){.freeze = UNTIL_2}, &whole, &result);
    assert_int_equal(result.compiles + result.compile_cache_hits, 2);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        const bool is_same = memcmp(whole.at[epoch], whole.at[epoch + 1], FIRST * 4) == 0;
        assert_int_equal(is_same, epoch < 2);
        assert_true(
            memcmp(whole.at[epoch] + FIRST, whole.at[epoch + 1] + FIRST, (COUNT - FIRST) * 4) != 0);
    }
    /* as with fg_module_freeze and fg_module_unfreeze */
    fit(&(setting){.steps = 0}, &other, &result);
    assert_memory_equal(other.at[EPOCHS], whole.at[EPOCHS], sizeof whole.at[0]);
    warning_count = 0;
    fit(&(setting){.freeze = "{parameters: [fc1.*], unfreeze_at_epoch: 0}"}, &other, &result);
    assert_int_equal(warning_count, 0);
    assert_true(memcmp(other.at[1], other.at[0], FIRST * 4) != 0);
    assert_int_equal(result.compiles + result.compile_cache_hits, 1);
    fit(&(setting){.freeze = UNTIL_2, .steps = 2 * EPOCH}, &other, &result); /* it remains frozen */
    assert_int_equal(warning_count, 1);
}

static void resumed_runs_are_the_same(void **state)
{
    static const struct {
        int64_t at, accumulate;
        int programs;
    } rows[] = {{3, 1, 2}, {8, 1, 1}, {10, 1, 1}, {6, 2, 4}, {11, 2, 2}};
    fg_result result;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char folder[600];
        setting s = {.freeze = UNTIL_2, .folder = folder, .accumulate = rows[i].accumulate};
        (void)snprintf(folder, sizeof folder, "%s/run%d", runs, (int)i);
        fit(&(setting){.freeze = UNTIL_2, .accumulate = rows[i].accumulate}, &whole, &result);
        s.steps = rows[i].at;
        fit(&s, &other, &result);
        s.steps = 0;
        s.resumes = true;
        warning_count = 0;
        fit(&s, &other, &result);
        assert_int_equal(warning_count, 0);
        assert_int_equal(result.compiles + result.compile_cache_hits, rows[i].programs);
        assert_memory_equal(other.at[EPOCHS], whole.at[EPOCHS], sizeof whole.at[0]);
    }
}

static void mistakes_are_reported(void **state)
{
    fg_error err = {0};
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const fg_fit_data fits = {.train = data, .batch_size = BATCH};
    fg_trainer *trainer = NULL;
    (void)state;
    fgt_ok(toy_create(&(fg_trainer_options){.devices.client = client}, &trainer, &err));
    assert_int_equal(add_freeze(trainer, "{unfreeze_at_epoch: 2}", &err), FG_EINVAL);
    assert_string_equal(err.message, "freeze.parameters: expected the names of parameters to "
                                     "freeze, such as [backbone.*]");
    fgt_ok(add_freeze(trainer, "{parameters: [fc3.*]}", &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &fits, &err), FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "callback 'freeze': freeze 'fc3.*': matches no parameter"));
    fg_trainer_destroy(trainer);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(parameters_change_from_their_epoch_on),
    cmocka_unit_test(resumed_runs_are_the_same),
    cmocka_unit_test(mistakes_are_reported),
};

int main(void) { return cmocka_run_group_tests(tests, begin, end) == 0 ? 0 : 1; }
