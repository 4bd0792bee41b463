/* test_train_monitors.c - the callbacks that add values to log lines: lr_monitor compared
 * with the schedule, throughput with rates computed from the lines, device_stats with the plugin's
 * numbers. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "fakepjrt/fake_control.h"
#include "toy.h"
#include "callback/callback_rows.h"

enum { SAMPLES = 40, BATCH = 8, MOST = 32 };

static fake_control fake;
static char warning[512];

static void keep_warning(void *self, fg_log_level level, const char *message)
{
    (void)self;
    if (level == FG_LOG_WARNING)
        (void)snprintf(warning, sizeof warning, "%s", message);
}

/* ---- a fit whose lines are kept -------------------------------------------------------------- */

typedef struct line {
    fg_progress at;
    fg_metric metrics[24];
} line;

static line lines[MOST];
static int line_count;
static fg_step_cost cost;
static int device_count;
static int64_t stop_at; /* step; 0: never */

static fg_status keep(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    assert_true(line_count < MOST && at->metric_count <= 24);
    lines[line_count].at = *at;
    memcpy(lines[line_count].metrics, at->metrics, at->metric_count * sizeof(fg_metric));
    cost = fg_trainer_step_cost(at->trainer);
    device_count = fg_trainer_settings(at->trainer)->device_count;
    line_count++;
    return FG_OK;
}

static fg_status maybe_stop(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    return stop_at > 0 && at->step == stop_at ? FG_ESTOPPED : FG_OK;
}

static const fg_callback_ops keeper = {.log = keep, .batch_end = maybe_stop};

static double value(int index, const char *name)
{
    for (size_t i = 0; i < lines[index].at.metric_count; i++)
        if (strcmp(lines[index].metrics[i].name, name) == 0)
            return lines[index].metrics[i].value;
    return (double)NAN;
}

/* Creates the callback of a row from its options and adds it. */
static fg_status add(fg_trainer *trainer, const fg_callback_entry *row, const char *text,
                     fg_error *err)
{
    void *self = NULL;
    fg_status status = FGT_ROW_BEGIN(row, text, &self, err);
    if (status == FG_OK)
        status = fg_trainer_add_callback(trainer, row->ops, self, err);
    return status;
}

typedef struct place {
    int devices; /* 0: one */
    bool is_v5e;
    long memory_bytes; /* of all devices; 0: not reported */
    int64_t epochs;    /* 0: two */
    bool freezes;      /* the task has frozen a parameter itself */
} place;

static void build_frozen(void *self, fg_module *root)
{
    fg_error err = {0};
    toy_ops.build(self, root);
    fgt_ok(fg_module_freeze(root, "fc1.bias", NULL, &err));
}

static bool fits_twice; /* the fit is stopped at stop_at, and continued by the same Trainer */

/* A fit of two epochs of 5 steps with a line every 2 steps: at 2, 4, 5, 6, 8, 10. */
static fg_status fit_with(const place *where, fg_trainer_options options,
                          const fg_callback_entry *row, const char *text, fg_error *out_err)
{
    fg_error err = {0};
    char devices[16];
    toy model = {.optimizer = "adamw"};
    fg_client *client;
    fg_trainer *trainer;
    fg_task_ops task_ops = toy_ops;
    task_ops.build = where->freezes ? build_frozen : toy_ops.build;
    const fg_task task = {.name = "toy", .self = &model, .ops = &task_ops};
    assert_true(fake_open(&fake));
    fake.reset();
    fake.set("kind", where->is_v5e ? 3 : 0);
    fake.set("memory_limit_bytes", where->memory_bytes);
    (void)snprintf(devices, sizeof devices, "%d", where->devices > 0 ? where->devices : 1);
    fgt_ok(fg_client_open(
        &(fg_client_options){
            .accelerator = "cpu", .devices = devices, .plugin_path = FAKE_PATH, .cache_dir = ""},
        &client, &err));
    fg_dataset *data = toy_data(SAMPLES - 1, 1);
    const fg_fit_data fit_data = {.train = data,
                                  .global_batch_size =
                                      where->devices > BATCH ? where->devices : BATCH,
                                  .workers = FG_NONE};
    line_count = 0;
    options.devices.client = client;
    options.output.log_every = 2;
    options.limits.max_epochs = where->epochs > 0 ? where->epochs : 2;
    fgt_ok(toy_create(&options, &trainer, &err));
    fg_status status = add(trainer, row, text, out_err);
    fgt_ok(fg_trainer_add_callback(trainer, &keeper, NULL, &err));
    if (status == FG_OK)
        status = fg_trainer_fit(trainer, &task, &fit_data, out_err);
    if (status == FG_ESTOPPED && fits_twice) {
        stop_at = 0;
        status = fg_trainer_fit(trainer, &task, &fit_data, out_err);
    }
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    fg_client_close(client);
    fake.reset();
    return status;
}

static const place one = {0};

/* ---- lr_monitor ------------------------------------------------------------------------------ */

static void momentum_and_weight_decay_are_those_of_the_step(void **state)
{
    fg_error err = {0};
    const fg_schedule schedule = fg_onecycle(NULL);
    const fg_trainer_options options = {.lr.schedule = &schedule};
    (void)state;
    fgt_ok(fit_with(&one, options, &fgi_lr_monitor_row, "", &err));
    assert_int_equal(line_count, 6);
    for (int i = 0; i < line_count; i++) {
        const int64_t step = lines[i].at.step - 1; /* the last of the window */
        const double momentum = fg_schedule_momentum(&schedule, 0.9, step, 10);
        fgt_close("momentum", value(i, "momentum"), momentum, 0, 0);
        fgt_close("of the hook", lines[i].at.momentum, momentum, 0, 0);
        fgt_close("lr", lines[i].at.lr, fg_schedule_lr(&schedule, 0.01, step, 10), 0, 0);
        fgt_close("weight decay", value(i, "weight_decay"), 0.01, 0, 0);
    }
    assert_true(value(0, "momentum") > value(1, "momentum")); /* it changes */
}

static void what_is_not_requested_is_not_logged(void **state)
{
    fg_error err = {0};
    (void)state;
    fgt_ok(fit_with(&one, (fg_trainer_options){0}, &fgi_lr_monitor_row, "{momentum: false}", &err));
    assert_true(isnan(value(0, "momentum")) && !isnan(value(0, "weight_decay")));
    fgt_ok(fit_with(&one, (fg_trainer_options){0}, &fgi_lr_monitor_row, "{weight_decay: false}",
                    &err));
    assert_true(!isnan(value(0, "momentum")) && isnan(value(0, "weight_decay")));
}

/* By epoch, the first line of each has the values: also of a run that was stopped within the first
 * and resumed. */
static void once_per_epoch_also_after_a_resume(void **state)
{
    fg_error err = {0};
    (void)state;
    fgt_ok(fit_with(&one, (fg_trainer_options){0}, &fgi_lr_monitor_row, "{interval: epoch}", &err));
    static const bool has[] = {true, false, false, true, false, false};
    for (int i = 0; i < 6; i++)
        assert_int_equal(!isnan(value(i, "momentum")), has[i]);
    fg_trainer_options options = {.checkpoints.run_dir = fgt_temp_folder()};
    stop_at = 3;
    assert_int_equal(fit_with(&one, options, &fgi_lr_monitor_row, "{interval: epoch}", &err),
                     FG_ESTOPPED);
    assert_int_equal(line_count, 1);
    assert_false(isnan(value(0, "momentum")));
    stop_at = 0;
    options.checkpoints.resume = "last";
    fgt_ok(fit_with(&one, options, &fgi_lr_monitor_row, "{interval: epoch}", &err));
    assert_int_equal(line_count, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(!isnan(value(i, "momentum")), has[i + 1]);
}

/* ---- throughput ------------------------------------------------------------------------------ */

/* Samples per second of the last `count` of the first `last` + 1 lines. */
static double rate(int last, int count, double *out_steps)
{
    double samples = 0, seconds = 0;
    for (int i = last - count + 1; i <= last; i++) {
        samples += (double)lines[i].at.samples;
        seconds += (double)lines[i].at.samples / lines[i].at.samples_per_s;
    }
    *out_steps =
        (double)(lines[last].at.step - (last >= count ? lines[last - count].at.step : 0)) / seconds;
    return samples / seconds;
}

/* Lines at 2, 4, 5, 6, 8, 10: how many make at least `window` steps, at each. */
static void check_window(const char *text, const int *counts)
{
    fg_error err = {0};
    static const int samples[] = {16, 16, 7, 8, 16, 15};
    fgt_ok(fit_with(&one, (fg_trainer_options){0}, &fgi_throughput_row, text, &err));
    assert_int_equal(line_count, 6);
    for (int i = 0; i < 6; i++) {
        double steps = 0;
        const double expected = rate(i, counts[i], &steps);
        assert_int_equal(lines[i].at.samples, samples[i]);
        fgt_close("samples_per_s", value(i, "samples_per_s"), expected, 0, 1e-9);
        fgt_close("steps_per_s", value(i, "steps_per_s"), steps, 0, 1e-9);
        assert_true(isnan(value(i, "mfu"))); /* the peak of the fake device is not known */
        assert_true(isnan(value(i, "tokens_per_s")));
    }
}

static void rates_are_means_over_the_window(void **state)
{
    (void)state;
    check_window("{window: 1}", (int[]){1, 1, 1, 1, 1, 1});
    check_window("{window: 3}", (int[]){1, 2, 2, 3, 2, 2});
    check_window("{window: 5}", (int[]){1, 2, 3, 4, 4, 3});
    check_window("", (int[]){1, 2, 3, 4, 5, 6});
}

/* Stopped after 3 steps: the first line of the second fit has one step, and the window only those
 * of this fit. */
static void a_second_fit_has_a_window_of_its_own(void **state)
{
    fg_error err = {0};
    static const int samples[] = {16, 8, 7, 8, 16, 15}, steps[] = {2, 1, 1, 1, 2, 2};
    double all_steps = 0, all_samples = 0, seconds = 0;
    (void)state;
    stop_at = 3;
    fits_twice = true;
    fgt_ok(fit_with(&one, (fg_trainer_options){0}, &fgi_throughput_row, "", &err));
    fits_twice = false;
    assert_int_equal(line_count, 6);
    for (int i = 0; i < 6; i++) {
        if (i == 1)
            all_steps = all_samples = seconds = 0;
        assert_int_equal(lines[i].at.samples, samples[i]);
        all_steps += steps[i];
        all_samples += samples[i];
        seconds += samples[i] / lines[i].at.samples_per_s;
        fgt_close("samples_per_s", value(i, "samples_per_s"), all_samples / seconds, 0, 1e-9);
        fgt_close("steps_per_s", value(i, "steps_per_s"), all_steps / seconds, 0, 1e-9);
    }
}

static void flops_are_those_of_the_graph_per_device_and_peak(void **state)
{
    fg_error err = {0};
    const place eight = {.devices = 8, .is_v5e = true};
    /* both layers forward, the gradients of both weights and of the second layer's input */
    const double of_sample = 2.0 * (2 * TOY_FEATURES * TOY_HIDDEN + 3 * TOY_HIDDEN * TOY_CLASSES);
    (void)state;
    fgt_ok(fit_with(&eight, (fg_trainer_options){0}, &fgi_throughput_row,
                    "{window: 1, tokens_per_sample: 3}", &err));
    assert_int_equal(device_count, 8);
    assert_int_equal(cost.samples, BATCH);
    fgt_close("flops of a batch", cost.flops, BATCH * of_sample, 0, 0);
    for (int i = 0; i < line_count; i++) {
        const double samples = lines[i].at.samples_per_s;
        fgt_close("flops_per_s", value(i, "flops_per_s"), samples * of_sample, 0, 1e-9);
        fgt_close("each", value(i, "flops_per_s_per_device"), samples * of_sample / 8, 0, 1e-9);
        fgt_close("samples", value(i, "samples_per_s_per_device"), samples / 8, 0, 1e-9);
        fgt_close("tokens", value(i, "tokens_per_s"), samples * 3, 0, 1e-9);
        fgt_close("tokens", value(i, "tokens_per_s_per_device"), samples * 3 / 8, 0, 1e-9);
        /* 197 TFLOP/s, the published peak of a v5e */
        fgt_close("mfu", value(i, "mfu"), samples * of_sample / (8 * 197e12), 0, 1e-9);
    }
}

/* A chip that is in no table works with numbers from the options. */
static void given_flops_and_peak_replace_the_known_ones(void **state)
{
    fg_error err = {0};
    (void)state;
    fgt_ok(fit_with(&(place){.devices = 2}, (fg_trainer_options){0}, &fgi_throughput_row,
                    "{window: 1, flops_per_sample: 1e6, peak_flops: 2e9}", &err));
    for (int i = 0; i < line_count; i++) {
        const double samples = lines[i].at.samples_per_s;
        fgt_close("flops_per_s", value(i, "flops_per_s"), samples * 1e6, 0, 1e-9);
        fgt_close("mfu", value(i, "mfu"), samples * 1e6 / 4e9, 0, 1e-9);
    }
    fgt_ok(fit_with(&(place){.is_v5e = true}, (fg_trainer_options){0}, &fgi_throughput_row,
                    "{window: 1, flops_per_sample: 1e6}", &err));
    fgt_close("mfu", value(0, "mfu"), lines[0].at.samples_per_s * 1e6 / 197e12, 0, 1e-9);
    assert_int_equal(fit_with(&one, (fg_trainer_options){0}, &fgi_throughput_row,
                              "{tokens_per_sample: 2, tokens_metric: train_loss}", &err),
                     FG_EINVAL);
    fgt_message_is(err.message, "throughput.tokens_per_sample: tokens_metric counts the tokens "
                                "already: set only one of them");
}

/* The task logs how many tokens a sample has: the number of the step. */
static fg_status measure_tokens(void *self, const fg_progress *at, fg_log_values *values,
                                fg_error *err)
{
    const fg_metric tokens = {"train_loss", (double)at->step};
    fg_progress with_tokens = *at;
    with_tokens.metrics = &tokens;
    with_tokens.metric_count = 1;
    return fgi_throughput_row.ops->measure(self, &with_tokens, values, err);
}

static void tokens_can_be_a_metric(void **state)
{
    fg_error err = {0};
    fg_callback_ops ops = *fgi_throughput_row.ops;
    fg_callback_entry row = fgi_throughput_row;
    (void)state;
    ops.measure = measure_tokens;
    row.ops = &ops;
    fgt_ok(fit_with(&one, (fg_trainer_options){0}, &row, "{window: 1, tokens_metric: train_loss}",
                    &err));
    for (int i = 0; i < line_count; i++)
        fgt_close("tokens", value(i, "tokens_per_s"),
                  lines[i].at.samples_per_s * (double)lines[i].at.step, 0, 1e-9);
    assert_int_equal(
        fit_with(&one, (fg_trainer_options){0}, &row, "{tokens_metric: train_other}", &err),
        FG_EINVAL);
    fgt_message_is(err.message, "throughput: tokens_metric: expected a metric of training, one of "
                                "train_acc|train_loss, got 'train_other'");
}

/* ---- device_stats ---------------------------------------------------------------------------- */

static void memory_is_what_the_plugin_reports(void **state)
{
    fg_error err = {0};
    const place two = {.devices = 2, .memory_bytes = 1 << 20};
    (void)state;
    warning[0] = '\0';
    fgt_ok(
        fit_with(&two, (fg_trainer_options){0}, &fgi_device_stats_row, "{per_device: true}", &err));
    const double used = value(5, "device_memory_used_bytes");
    assert_true(used > 100 && used < 1 << 20); /* the parameters, at least */
    fgt_close("percent", value(5, "device_memory_used_percent"), 100 * used / (1 << 20), 0, 1e-9);
    fgt_close("device 1", value(5, "device1_memory_used_bytes"), used, 0, 0);
    assert_true(isnan(value(5, "device_memory_peak_bytes"))); /* it does not report one */
    assert_true(isnan(value(5, "device2_memory_used_bytes")));
    assert_string_equal(warning, "");
    fgt_ok(fit_with(&two, (fg_trainer_options){0}, &fgi_device_stats_row, "", &err));
    assert_true(isnan(value(5, "device1_memory_used_bytes")));
}

static void without_statistics_there_is_a_warning(void **state)
{
    fg_error err = {0};
    (void)state;
    fgt_ok(
        fit_with(&one, (fg_trainer_options){0}, &fgi_device_stats_row, "{per_device: true}", &err));
    assert_non_null(strstr(warning, "the plugin for 'fake device' does not report device memory"));
    assert_true(isnan(value(5, "device_memory_used_bytes")));
}

static void too_many_devices_are_refused(void **state)
{
    fg_error err = {0};
    (void)state;
    assert_int_equal(fit_with(&(place){.devices = 15}, (fg_trainer_options){0},
                              &fgi_device_stats_row, "{per_device: true}", &err),
                     FG_EINVAL);
    fgt_message_is(err.message, "device_stats: per_device adds 2 values for each of 15 devices, "
                                "but callbacks can add 32 values to a line: leave it out");
    fgt_ok(fit_with(&(place){.devices = 14}, (fg_trainer_options){0}, &fgi_device_stats_row,
                    "{per_device: true}", &err));
}

static int watch_log(void **state)
{
    (void)state;
    fg_log_set(keep_warning, NULL);
    return 0;
}

static int nothing_is_left(void **state)
{
    (void)state;
    return fgi_alloc_live() != 0;
}

static void keep_lines(void *self, fg_log_level level, const char *text)
{
    fgi_buf_printf(self, "%d %s\n", (int)level, text);
}

static const struct {
    const fg_callback_entry *row;
    const char *options, *says;
    place where;
} effects[] = {
    {&fgi_swa_row, "{swa_epoch_start: 1}", "", {.epochs = 2}},
    {&fgi_swa_row,
     "{swa_epoch_start: 2}",
     "2 swa has no effect: it starts after 2 epochs, but the run has only 2\n",
     {.epochs = 2}},
    {&fgi_swa_row,
     "{swa_epoch_start: 1}",
     "2 swa has no effect: it starts after 1 epoch, but the run has only 1\n",
     {.epochs = 1}},
    {&fgi_swa_row,
     "{swa_epoch_start: 2}",
     "2 swa has no effect: it starts after 2 epochs, but the run has only 1\n",
     {.epochs = 1}},
    {&fgi_freeze_row,
     "{parameters: fc1.bias, unfreeze_at_epoch: 1}",
     "1 8 of 83 parameters are frozen\n"
     "2 freeze: the variables remain frozen: unfreeze_at_epoch is 1, and the run has 1 "
     "epoch\n",
     {.epochs = 1}},
    {&fgi_freeze_row,
     "{parameters: fc1.bias, unfreeze_at_epoch: 1}",
     "1 8 of 83 parameters are frozen\n"
     "1 freeze: 1 variable is no longer frozen, starting with epoch 1\n",
     {.epochs = 2}},
    {&fgi_freeze_row,
     "{parameters: fc1.*, unfreeze_at_epoch: 1}",
     "1 56 of 83 parameters are frozen\n"
     "1 freeze: 2 variables are no longer frozen, starting with epoch 1\n",
     {.epochs = 2}},
    {&fgi_freeze_row,
     "{parameters: fc1.*, unfreeze_at_epoch: 2}",
     "1 56 of 83 parameters are frozen\n"
     "2 freeze: the variables remain frozen: unfreeze_at_epoch is 2, and the run has 2 "
     "epochs\n",
     {.epochs = 2}},
    {&fgi_freeze_row,
     "{parameters: fc1.bias, unfreeze_at_epoch: 3}",
     "1 8 of 83 parameters are frozen\n"
     "2 freeze: the variables remain frozen: unfreeze_at_epoch is 3, and the run has 1 "
     "epoch\n",
     {.epochs = 1}},
    {&fgi_freeze_row, "{parameters: fc1.bias, unfreeze_at_epoch: 0}", "", {.epochs = 1}},
    /* what the task has frozen stays so */
    {&fgi_freeze_row,
     "{parameters: fc1.bias, unfreeze_at_epoch: 1}",
     "1 8 of 83 parameters are frozen\n",
     {.epochs = 2, .freezes = true}},
    {&fgi_freeze_row,
     "{parameters: fc1.bias, unfreeze_at_epoch: 2}",
     "1 8 of 83 parameters are frozen\n",
     {.epochs = 2, .freezes = true}},
    {&fgi_freeze_row,
     "{parameters: fc1.*, unfreeze_at_epoch: 1}",
     "1 56 of 83 parameters are frozen\n"
     "1 freeze: 1 variable is no longer frozen, starting with epoch 1\n",
     {.epochs = 2, .freezes = true}},
};

/* What callbacks say of a fit. */
static void callbacks_say_when_they_have_an_effect(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof effects / sizeof effects[0]; i++) {
        fg_error err = {0};
        fgi_buf said = {0};
        fg_log_set(keep_lines, &said);
        fgt_ok(fit_with(&effects[i].where, (fg_trainer_options){0}, effects[i].row,
                        effects[i].options, &err));
        fg_log_set(keep_warning, NULL);
        assert_string_equal(said.size > 0 ? said.data : "", effects[i].says);
        fgi_buf_fini(&said);
    }
}

/* A trial run saves nothing, and refuses no callback that would. */
static void a_trial_needs_no_folder(void **state)
{
    fg_error err = {0};
    (void)state;
    fgt_ok(fit_with(&(place){0}, (fg_trainer_options){.limits.fast_dev_run = true},
                    &fgi_checkpoint_row, "{monitor: train_loss}", &err));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(callbacks_say_when_they_have_an_effect),
    cmocka_unit_test(a_trial_needs_no_folder),
    cmocka_unit_test(momentum_and_weight_decay_are_those_of_the_step),
    cmocka_unit_test(what_is_not_requested_is_not_logged),
    cmocka_unit_test(once_per_epoch_also_after_a_resume),
    cmocka_unit_test(rates_are_means_over_the_window),
    cmocka_unit_test(a_second_fit_has_a_window_of_its_own),
    cmocka_unit_test(flops_are_those_of_the_graph_per_device_and_peak),
    cmocka_unit_test(given_flops_and_peak_replace_the_known_ones),
    cmocka_unit_test(tokens_can_be_a_metric),
    cmocka_unit_test(memory_is_what_the_plugin_reports),
    cmocka_unit_test(without_statistics_there_is_a_warning),
    cmocka_unit_test(too_many_devices_are_refused),
};
int main(void) { return cmocka_run_group_tests(tests, watch_log, nothing_is_left) == 0 ? 0 : 1; }
