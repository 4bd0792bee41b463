/* test_train_accumulate_schedule.c - the number of batches per step by epoch: steps, learning
 * rates, programs, and resuming at any step. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"

#include <stdio.h>

#include "base/alloc.h"
#include "optim/optimizer.h"
#include "toy.h"

/* Seven batches of 8, the last with 5 samples. */
enum { SAMPLES = 53, BATCH = 8, EPOCHS = 5, BATCHES = 7, MOST = 40, COUNT = 6 * 8 + 8 + 8 * 3 + 3 };

static fg_client *client;
static fg_dataset *data;
static char runs[512];

static int begin(void **state)
{
    fg_error err = {0};
    (void)state;
    toy_use_memory();
    (void)snprintf(runs, sizeof runs, "%s", fgt_temp_folder());
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache(fgt_temp_folder())},
        &client, &err));
    data = toy_data(SAMPLES, 3);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fg_dataset_destroy(data);
    fg_client_close(client);
    return fgi_alloc_live() != 0;
}

typedef struct history {
    int64_t steps_at[EPOCHS + 1]; /* steps after that many epochs */
    int64_t step, batches;
    double lr[MOST + 1];
    float weights[COUNT];
    fg_result result;
    fg_fit_settings settings;
} history;

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    history *h = self;
    (void)err;
    assert_true(at->step <= MOST);
    if (at->step > h->step) /* the last batch of a step */
        h->lr[at->step] = at->lr;
    h->step = at->step;
    h->batches++;
    return FG_OK;
}

static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    history *h = self;
    (void)err;
    h->steps_at[at->epoch + 1] = at->step;
    return FG_OK;
}

static const fg_callback_ops history_ops = {.batch_end = on_batch_end, .epoch_end = on_epoch_end};
static const fg_schedule onecycle = {.row = &fgi_onecycle_row};

static void fit(const char *schedule, int64_t batches, const char *folder, int64_t steps,
                bool resumes, history *h)
{
    fg_error err = {0};
    toy model = {.dropout = 0.3, .optimizer = "adamw"};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = {.devices.client = client,
                                        .limits.max_epochs = EPOCHS,
                                        .lr.schedule = folder == NULL ? &onecycle : NULL,
                                        .limits.max_steps = steps,
                                        .numerics.accumulate_grad_batches = batches,
                                        .numerics.accumulate_schedule = fgt_map(schedule),
                                        .checkpoints.run_dir = folder,
                                        .checkpoints.resume = resumes ? "last" : NULL};
    *h = (history){.batches = 0};
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &history_ops, h, &err));
    fgt_ok(
        fg_trainer_fit(trainer, &task, &(fg_fit_data){.train = data, .batch_size = BATCH}, &err));
    const fg_module *root = fg_trainer_module(trainer);
    for (size_t i = 0, at = 0; i < fg_module_variable_count(root); i++) {
        const fg_variable *v = fg_module_variable_at(root, i);
        fgt_ok(fg_variable_read(v, h->weights + at, fg_type_bytes(fg_variable_type(v)), &err));
        at += (size_t)fg_type_count(fg_variable_type(v));
    }
    h->result = *fg_trainer_result(trainer);
    h->settings = *fg_trainer_settings(trainer);
    fg_trainer_destroy(trainer);
}

static history whole, other;

static void steps_and_learning_rates_follow_the_schedule(void **state)
{
    static const int64_t steps_at[] = {0, 7, 14, 18, 21, 24};
    const fg_schedule *s = &onecycle;
    (void)state;
    fit("0=1, 2=2,3=3", 0, NULL, 0, false, &whole);
    assert_memory_equal(whole.steps_at, steps_at, sizeof steps_at);
    assert_int_equal(whole.batches, EPOCHS * BATCHES);
    assert_int_equal(whole.settings.total_steps, 24);
    assert_int_equal(whole.settings.steps_per_epoch, 7);
    assert_int_equal(whole.result.compiles + whole.result.compile_cache_hits, 2);
    for (int step = 1; step <= 24; step++)
        assert_true(whole.lr[step] == fg_schedule_lr(s, 0.01, step - 1, 24));
    assert_true(whole.lr[24] == 0.01 / 25 / 1e4); /* the final one */
}

static void a_constant_schedule_is_the_number(void **state)
{
    (void)state;
    fit(NULL, 3, NULL, 0, false, &whole);
    fit("0=3", 5, NULL, 0, false, &other);
    assert_memory_equal(other.weights, whole.weights, sizeof whole.weights);
    fit("9=7", 3, NULL, 0, false, &other); /* after the end */
    assert_int_equal(other.settings.accumulate_grad_batches, 3);
    assert_int_equal(other.result.steps, whole.result.steps);
    fit("", 3, NULL, 0, false, &other);
    assert_memory_equal(other.weights, whole.weights, sizeof whole.weights);
}

static void resumed_runs_are_the_same(void **state)
{
    static const char schedule[] = "1=2,3=4";
    static const int64_t stops[] = {4, 7, 9, 15, 16};
    (void)state;
    char first[600];
    (void)snprintf(first, sizeof first, "%s/whole", runs);
    fit(schedule, 0, first, 0, false, &whole);
    assert_int_equal(whole.result.steps, 7 + 4 + 4 + 2 + 2);
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        char folder[600];
        (void)snprintf(folder, sizeof folder, "%s/run%d", runs, (int)i);
        fit(schedule, 0, folder, stops[i], false, &other);
        assert_int_equal(other.result.steps, stops[i]);
        fit(schedule, 0, folder, 0, true, &other);
        assert_int_equal(other.result.steps, whole.result.steps);
        assert_int_equal(other.settings.total_steps, whole.settings.total_steps);
        assert_memory_equal(other.weights, whole.weights, sizeof whole.weights);
    }
}

static void mistakes_are_reported(void **state)
{
    static const char *const bad[] = {"4=0",  "4=2,4=3",   "4=2,3=3",
                                      "-1=2", "4=9999999", "99999999999999=2"};
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const fg_trainer_options options = {.numerics.accumulate_schedule = fgt_map(bad[i])};
        assert_int_equal(toy_create(&options, &trainer, &err), FG_EINVAL);
        assert_non_null(strstr(err.message, "accumulate_schedule: "));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(steps_and_learning_rates_follow_the_schedule),
    cmocka_unit_test(a_constant_schedule_is_the_number),
    cmocka_unit_test(resumed_runs_are_the_same),
    cmocka_unit_test(mistakes_are_reported),
};

int main(void) { return cmocka_run_group_tests(tests, begin, end) == 0 ? 0 : 1; }
