/* test_train_progress.c - the progress display with a simulated clock: which lines remain, and
 * plain lines at intervals.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "progress_show.h"
#include "toy_place.h"

static void one_plain_line_per_epoch(void **state)
{
    show s;
    (void)state;
    open_show(&s, "plain");
    run_epoch(&s, 0, 1);
    run_epoch(&s, 1, 0.001);
    run_epoch(&s, 2, 1);
    tell(&s, fgi_progress_ops.fit_end, (fg_progress){.epoch = 3});
    assert_string_equal(s.text, "epoch 1/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  "
                                "8 samples/s  00:07, run 00:14 left\n"
                                "epoch 2/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  "
                                "8,000 samples/s  00:03, run 00:05 left\n"
                                "epoch 3/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  "
                                "8 samples/s  00:07\n");
    close_show(&s);
}

static size_t lines_of(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

/* During an epoch, every 5 seconds at first. */
static void plain_lines_within_an_epoch(void **state)
{
    show s;
    (void)state;
    open_show(&s, "plain");
    run_epoch(&s, 0, 4);
    assert_string_equal(s.text, "epoch 1/3  2/4  2 samples/s  00:08<00:08, run 00:40 left\n"
                                "epoch 1/3  4/4  2 samples/s  00:16<00:00, run 00:32 left\n"
                                "epoch 1/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  "
                                "2 samples/s  00:19, run 00:38 left\n");
    run_epoch(&s, 1, 4); /* 6 batches and 2 validations are left */
    assert_non_null(strstr(s.text, "epoch 2/3  2/4  2 samples/s  00:08<00:08, run 00:30 left\n"));
    close_show(&s);
}

/* Logs metrics of the steps, and a value that a callback adds. */
static void log_line(show *s)
{
    static const fg_metric metrics[] = {
        {"train_loss", 0.123456}, {"train_acc", 0.75}, {"temperature", 20}};
    tell(s, fgi_progress_ops.log,
         (fg_progress){.samples_per_s = 1234, .metrics = metrics, .metric_count = 3});
}

/* Once there is a log line, the rate is that of its window. A plain line has any length. */
static void the_rate_is_that_of_the_last_log_line(void **state)
{
    show s;
    (void)state;
    open_show(&s, "plain");
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    log_line(&s);
    pass(8);
    s.trainer.cursor.position = 8;
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 1, .batches = 4});
    assert_string_equal(s.text, "epoch 1/3  1/4  1,234 samples/s  00:08<00:24, run 01:28 left  "
                                "loss 0.1235  acc 0.75\n");
    close_show(&s);
}

/* Where the width is not known, the live line has 79 characters. */
static void a_bar_without_a_terminal(void **state)
{
    static const char line[] =
        "\repoch 1/3  [=====>              ] 1/4  1 samples/s  00:08<00:24, run 01:28 left";
    show s;
    (void)state;
    open_show(&s, "bar");
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    pass(8);
    s.trainer.cursor.position = 8;
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 1, .batches = 4});
    assert_string_equal(s.text, line);
    assert_int_equal(s.size, 80);
    close_show(&s);
}

/* Neither the values of the epoch before nor its validation. */
static void an_epoch_starts_without_values(void **state)
{
    show s;
    const fg_metric val = {"val_loss", 0.25};
    (void)state;
    open_show(&s, "plain");
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    log_line(&s);
    tell(&s, fgi_progress_ops.val_end,
         (fg_progress){.batches = 4, .metrics = &val, .metric_count = 1});
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.epoch = 1, .batches = 4});
    pass(8);
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.epoch = 1, .batch = 1, .batches = 4});
    assert_string_equal(s.text, "epoch 2/3  1/4  1,234 samples/s  00:08<00:24, run 00:56 left\n");
    close_show(&s);
}

/* After 5 minutes, every 30 seconds. */
static void plain_lines_within_a_long_epoch(void **state)
{
    show s;
    size_t before = 0;
    (void)state;
    open_show(&s, "plain");
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 1000});
    for (int batch = 1; batch <= 1000; batch++) {
        pass(1);
        tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = batch, .batches = 1000});
        if (batch == 700)
            before = lines_of(s.text);
    }
    assert_int_equal(lines_of(s.text) - before, 10);
    close_show(&s);
}

/* The rate is that of the samples since then. */
static void an_epoch_that_was_resumed(void **state)
{
    show s;
    (void)state;
    open_show(&s, "plain");
    s.trainer.cursor.position = 16;
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batch = 2, .batches = 4});
    pass(8);
    s.trainer.cursor.position = 24;
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 3, .batches = 4});
    assert_string_equal(s.text, "epoch 1/3  3/4  1 samples/s  00:08<00:08, run 01:12 left\n");
    pass(8);
    s.trainer.cursor.position = 32;
    tell(&s, fgi_progress_ops.epoch_end, (fg_progress){.batch = 4, .batches = 4});
    assert_non_null(strstr(s.text, "\nepoch 1/3  1 samples/s  00:16, run 01:04 left\n"));
    close_show(&s);
}

/* On a terminal too, and the last one has no less than the first. */
static void every_epoch_has_a_line(void **state)
{
    show s;
    (void)state;
    open_show(&s, "bar");
    s.trainer.fit.settings.total_epochs = 100;
    for (int epoch = 0; epoch < 100; epoch++)
        run_epoch(&s, epoch, 0.001);
    tell(&s, fgi_progress_ops.fit_end, (fg_progress){.epoch = 100});
    assert_int_equal(lines_of(s.text), 100);
    assert_non_null(strstr(s.text, "epoch 100/100  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  "
                                   "8,000 samples/s  00:03\n"));
    close_show(&s);
}

/* A display with colors, of a run that monitors val_acc, whose best value is 0.5. */
static void open_highlighted(show *s)
{
    open_show(s, "plain");
    fgi_progress_ops.destroy(s->progress);
    create_display(s, "plain", true);
    fgi_progress_set_clock(s->progress, clock_ns);
    s->trainer.options.checkpoints.monitor = "val_acc";
    s->trainer.options.checkpoints.monitor_mode = FG_MODE_MAX;
    s->trainer.cursor.top.waiting_count = 1;
    s->trainer.cursor.top.waiting[0].value = 0.5;
}

/* The best value of the monitored metric is green. */
static void the_best_value_is_highlighted(void **state)
{
    show s;
    (void)state;
    open_highlighted(&s);
    run_epoch(&s, 0, 1);
    s.trainer.cursor.top.waiting[0].value = 0.75; /* the next epoch is not the best */
    run_epoch(&s, 1, 1);
    assert_string_equal(
        s.text, "epoch 1/3  train loss 0.5 acc 0.75  val loss 0.25 \x1b[1;32macc 0.5\x1b[0m  "
                "8 samples/s  00:07, run 00:14 left\n"
                "epoch 2/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  "
                "8 samples/s  00:07, run 00:07 left\n");
    close_show(&s);
}

/* The best within an epoch is not the best at its end. */
static void only_the_line_of_the_best_is_highlighted(void **state)
{
    show s;
    (void)state;
    open_highlighted(&s);
    const fg_metric val = {"val_acc", 0.5};
    fg_progress at = {.epoch = 2, .batch = 2, .batches = 4, .metrics = &val, .metric_count = 1};
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.epoch = 2, .batches = 4});
    tell(&s, fgi_progress_ops.val_end, at);
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.epoch = 2, .batch = 3, .batches = 4});
    s.trainer.cursor.top.waiting[0].value = 0.75;
    tell(&s, fgi_progress_ops.val_end, at);
    at.metric_count = 0;
    tell(&s, fgi_progress_ops.epoch_end, at);
    assert_string_equal(s.text, "epoch 3/3  batch 2/4  val \x1b[1;32macc 0.5\x1b[0m  00:00\n"
                                "epoch 3/3  val acc 0.5  0 samples/s  00:00\n");
    close_show(&s);
}

/* A validation that was not shown yet, and its best value, were after the checkpoint. */
static void a_rollback_forgets_what_was_not_shown(void **state)
{
    show s;
    (void)state;
    open_highlighted(&s);
    const fg_metric val = {"val_acc", 0.5};
    fg_progress at = {.batch = 2, .batches = 4, .metrics = &val, .metric_count = 1};
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    log_line(&s);
    tell(&s, fgi_progress_ops.val_start, at);
    tell(&s, fgi_progress_ops.val_end, at);
    tell(&s, fgi_progress_ops.rolled_back, (fg_progress){.batches = 4});
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 1, .batches = 4});
    assert_string_equal(s.text, "");
    pass(8);
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 2, .batches = 4});
    static const char line[] = "epoch 1/3  2/4  1,234 samples/s  00:08<00:08, run 00:40 left\n";
    assert_string_equal(s.text, line);
    s.trainer.cursor.top.waiting[0].value = 0.75;
    tell(&s, fgi_progress_ops.val_end, at);
    at.metric_count = 0;
    tell(&s, fgi_progress_ops.epoch_end, at);
    assert_string_equal(s.text + strlen(line),
                        "epoch 1/3  val acc 0.5  0 samples/s  00:08, run 00:16 left\n");
    close_show(&s);
}

/* A validation within an epoch has a separate line, with the batch after which it ran. */
static void validation_within_an_epoch(void **state)
{
    show s;
    const fg_metric val = {"val_loss", 0.25};
    (void)state;
    open_show(&s, "plain");
    fg_progress at = {.batch = 2, .batches = 4};
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    tell(&s, fgi_progress_ops.val_start, at);
    at.metrics = &val;
    at.metric_count = 1;
    tell(&s, fgi_progress_ops.val_end, at);
    assert_string_equal(s.text, "");
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 3, .batches = 4});
    assert_string_equal(s.text, "epoch 1/3  batch 2/4  val loss 0.25  00:00\n");
    tell(&s, fgi_progress_ops.val_end, at); /* a run that ends within the epoch */
    tell(&s, fgi_progress_ops.fit_end, (fg_progress){.batch = 3, .batches = 4});
    assert_non_null(strstr(s.text, "epoch 1/3  batch 3/4  val loss 0.25  00:00\n"));
    close_show(&s);
}

/* Of a source without a length, and of a run without an end. */
static void an_epoch_without_a_length(void **state)
{
    show s;
    const fg_metric val = {"val_loss", 0.25};
    (void)state;
    open_show(&s, "plain");
    s.trainer.fit.settings.total_epochs = -1;
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = -1});
    pass(8);
    s.trainer.cursor.position = 8;
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 1, .batches = -1});
    fg_progress at = {.batch = 1, .batches = -1};
    tell(&s, fgi_progress_ops.val_start, at);
    pass(2);
    at.metrics = &val;
    at.metric_count = 1;
    tell(&s, fgi_progress_ops.val_end, at);
    s.trainer.cursor.position = 16;
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 2, .batches = -1});
    tell(&s, fgi_progress_ops.epoch_end, (fg_progress){.batch = 2, .batches = -1});
    assert_string_equal(s.text, "epoch 1  1 batch  1 samples/s  00:08\n"
                                "epoch 1  batch 1  val loss 0.25  00:10\n"
                                "epoch 1  2 samples/s  00:10\n");
    close_show(&s);
}

/* Neither an epoch nor a rate; the time is that since its start. */
static void an_evaluation(void **state)
{
    show s;
    (void)state;
    open_show(&s, "plain");
    tell(&s, fgi_progress_ops.eval_start, (fg_progress){.batches = 4});
    fgi_progress_stop(s.progress); /* its thread, which draws the same */
    pass(8);
    s.trainer.cursor.position = 8;
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 2, .batches = 4});
    pass(4.9);
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 3, .batches = 4});
    pass(0.1);
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 4, .batches = 4});
    tell(&s, fgi_progress_ops.eval_end, (fg_progress){.batch = 4, .batches = 4});
    assert_string_equal(s.text, "evaluating  2/4  00:08<00:08\nevaluating  4/4  00:13<00:00\n");
    close_show(&s);
}

/* Before the first step, and within an epoch, whose times do not contain it. */
static void a_validation_is_shown_while_it_runs(void **state)
{
    show s;
    const fg_progress first = {.batch = 1, .batches = 2}, second = {.batch = 2, .batches = 2};
    (void)state;
    open_show(&s, "plain");
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    pass(1);
    fgi_progress_validating(s.progress, &first);
    pass(8);
    fgi_progress_validating(s.progress, &second);
    fgi_progress_validating(NULL, &second);
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    pass(6);
    s.trainer.cursor.position = 8;
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 1, .batches = 4});
    tell(&s, fgi_progress_ops.val_start, (fg_progress){.batch = 1, .batches = 4});
    pass(10);
    fgi_progress_validating(s.progress, &first);
    tell(&s, fgi_progress_ops.val_end, (fg_progress){.batch = 1, .batches = 4});
    pass(6);
    s.trainer.cursor.position = 16;
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 2, .batches = 4});
    assert_string_equal(s.text, "epoch 1/3  validating  2/2  00:08<00:00\n"
                                "epoch 1/3  1/4  1.3 samples/s  00:06<00:18, run 01:06 left\n"
                                "epoch 1/3  validating  1/2  00:10<00:10\n"
                                "epoch 1/3  2/4  1.3 samples/s  00:22<00:12, run 01:00 left\n");
    close_show(&s);
}

/* It counts its batches, wherever the epoch was resumed, and shows no values of the steps. */
static void a_validation_of_a_resumed_epoch(void **state)
{
    show s;
    const fg_progress at = {.batch = 2, .batches = 4};
    (void)state;
    open_show(&s, "plain");
    tell(&s, fgi_progress_ops.epoch_start, at);
    log_line(&s);
    tell(&s, fgi_progress_ops.val_start, at);
    pass(8);
    fgi_progress_validating(s.progress, &(fg_progress){.batch = 1, .batches = 2});
    (void)fflush(s.out);
    assert_string_equal(s.text, "epoch 1/3  validating  1/2  00:08<00:08\n");
    close_show(&s);
}

/* A compilation within an epoch is not its training time. */
static void compilation_is_not_training_time(void **state)
{
    show s;
    (void)state;
    open_show(&s, "plain");
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    pass(4);
    compile_begins(s.progress, FGI_VAL);
    pass(75);
    compile_ends(s.progress);
    pass(10);
    s.trainer.cursor.position = 28;
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 1, .batches = 4});
    assert_string_equal(s.text, "compiled the validation step in 75.0 s\n"
                                "epoch 1/3  1/4  2 samples/s  01:29<00:42, run 02:34 left\n");
    close_show(&s);
}

/* What limits the rate is the last line of a run of at least ten seconds. */
static void a_run_ends_with_what_limits_its_rate(void **state)
{
    static const char limit[] = "bound by the device: the loader delivers 8.0x the required rate "
                                "and spends 100 % of its time on decoding; the device waits for "
                                "input 1 % of the time\n";
    static const double idle_s[] = {0.9, 1};
    (void)state;
    for (int i = 0; i < 2; i++) {
        show s;
        open_show(&s, "plain");
        s.trainer.call.result = (fg_result){.idle = {.busy_s = 9, .idle_s = idle_s[i]},
                                            .input = {.bound_by = "device",
                                                      .stages.decode_s = 1,
                                                      .delivered_samples_per_s = 8000,
                                                      .required_samples_per_s = 1000,
                                                      .waited = 0.01}};
        tell(&s, fgi_progress_ops.fit_end, (fg_progress){.epoch = 3});
        assert_string_equal(s.text, i == 0 ? "" : limit);
        close_show(&s);
    }
}

static const struct {
    const char *monitor;
    bool is_max;
    double listed, waiting; /* 0: none */
    double value;
    bool is_best;
} ranked[] = {{"val_loss", false, 0, 0, 0.5, false},    {"val_loss", false, 0.5, 0, 0.5, true},
              {"val_loss", false, 0.5, 0, 0.6, false},  {"val_loss", false, 0.5, 0, 0.4, true},
              {"val_loss", true, 0.5, 0, 0.5, true},    {"val_loss", true, 0.5, 0, 0.4, false},
              {"val_loss", true, 0.5, 0, 0.6, true},    {"val_loss", false, 0.5, 0.4, 0.45, false},
              {"val_loss", false, 0.5, 0.4, 0.4, true}, {"val_loss", true, 0.5, 0.6, 0.55, false},
              {"val_loss", true, 0.5, 0.6, 0.6, true},  {"val_loss", false, 0.4, 0.5, 0.45, false},
              {"train_loss", false, 0, 0.5, 0.5, true}, {"train_loss", false, 0, 0.5, 0.6, false},
              {"val_acc", false, 0, 0.5, 0.5, false}};

/* Whether a value of val_loss or train_loss is highlighted, next to these best checkpoints. */
static void the_best_is_that_of_the_list(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ranked / sizeof ranked[0]; i++) {
        show s;
        fgi_best_list *top;
        fg_metric train = {"train_loss", 7}, val = {"val_loss", 8};
        open_highlighted(&s);
        top = &s.trainer.cursor.top;
        s.trainer.options.checkpoints.monitor = ranked[i].monitor;
        s.trainer.options.checkpoints.monitor_mode = ranked[i].is_max ? FG_MODE_MAX : FG_MODE_MIN;
        top->count = ranked[i].listed > 0;
        top->entry[0].value = ranked[i].listed;
        top->waiting_count = ranked[i].waiting > 0;
        top->waiting[0].value = ranked[i].waiting;
        *(ranked[i].monitor[0] == 't' ? &train.value : &val.value) = ranked[i].value;
        fg_progress at = {.batch = 4, .batches = 4, .metrics = &val, .metric_count = 1};
        tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
        tell(&s, fgi_progress_ops.val_start, at);
        tell(&s, fgi_progress_ops.val_end, at);
        at.metrics = &train;
        tell(&s, fgi_progress_ops.epoch_end, at);
        if ((strstr(s.text, "\x1b[1;32mloss ") != NULL) != ranked[i].is_best)
            fail_msg("row %zu: %s", i, s.text);
        close_show(&s);
    }
}

static fg_status pass_a_second(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)at, (void)err;
    pass(1);
    return FG_OK;
}

/* Steps of the first fit take longer. */
static fg_status pass_and_stop(void *self, const fg_progress *at, fg_error *err)
{
    const int64_t stop = *(int64_t *)self;
    (void)err;
    pass(stop > 0 ? 1.25 : 1);
    return at->step == stop ? FG_ESTOPPED : FG_OK;
}

static const char first_fit[] = "module  kind    detail  output    parameters\n"
                                "fc1     linear  6 -> 8  f32[4,8]          56\n"
                                "fc2     linear  8 -> 3  f32[4,3]          27\n"
                                "83 parameters in total; on fake device\n"
                                "adam, lr 0.01 (no learning-rate scaling), batches of 4, 12 steps\n"
                                "lr at 0, 25, 50, 75, 100 %: 0.01 0.01 0.01 0.01 0.01\n"
                                "epoch 1/4  train loss nan acc nan  val loss nan acc nan  "
                                "3 samples/s  00:05, run 00:14 left\n";
static const char second_fit[] =
    "module  kind    detail  output    parameters\n"
    "fc1     linear  6 -> 8  f32[4,8]          56\n"
    "fc2     linear  8 -> 3  f32[4,3]          27\n"
    "83 parameters in total; on fake device\n"
    "adam, lr 0.01 (no learning-rate scaling), batches of 4, 12 steps in total\n"
    "lr at 0, 25, 50, 75, 100 %: 0.01 0.01 0.01 0.01 0.01\n"
    "epoch 2/4  train loss nan acc nan  val loss nan acc nan  "
    "3 samples/s  00:03, run 00:08 left\n"
    "epoch 3/4  train loss nan acc nan  val loss nan acc nan  "
    "3 samples/s  00:04, run 00:04 left\n"
    "epoch 4/4  train loss nan acc nan  val loss nan acc nan  "
    "3 samples/s  00:04\n";

/* The metrics of the fake plugin are NaN. A validation takes a second; nothing of the first fit is
 * in the times of the second, which begins within an epoch. */
static void two_fits_of_one_trainer(void **state)
{
    static const fg_callback_ops ops = {.batch_end = pass_and_stop, .val_start = pass_a_second};
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    char *text = NULL;
    size_t size = 0;
    int64_t stop = 4;
    const fg_fit_data data = the_data();
    (void)state;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fgt_ok(toy_create(&(fg_trainer_options){.devices.client = client,
                                            .limits.max_epochs = 4,
                                            .numerics.accumulate_grad_batches = 1,
                                            .validation.val_every_epochs = 1,
                                            .output.progress = out},
                      &trainer, &err));
    fgi_progress_set_clock(trainer->progress, clock_ns);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &stop, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    (void)fflush(out);
    assert_string_equal(text, first_fit);
    const size_t before = size;
    stop = 0;
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    (void)fflush(out);
    assert_string_equal(text + before, second_fit);
    fg_trainer_destroy(trainer);
    assert_int_equal(fclose(out), 0);
    free(text);
}

static void put_log(void *self, fg_log_level level, const char *line)
{
    const show *s = self;
    (void)level;
    (void)fprintf(s->out, "%s\n", line);
    (void)fflush(s->out);
}

static void drop_log(void *self, fg_log_level level, const char *line)
{
    (void)level, (void)line;
    ++*(int *)self;
}

/* A log line does not start after the live line; the next update draws that again. */
static void the_live_line_makes_room_for_the_log(void **state)
{
    show s;
    (void)state;
    open_show(&s, "bar");
    fg_log_set(put_log, &s);
    fgi_log(FG_LOG_WARNING, "first");
    assert_string_equal(s.text, "first\n");
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 1, .batches = 4});
    const size_t width = strlen(s.text) - strlen("first\n\r");
    fgi_log(FG_LOG_WARNING, "second");
    const char *after = s.text + strlen("first\n\r") + width;
    assert_int_equal(strspn(after + 1, " "), width);
    assert_string_equal(after + 1 + width, "\rsecond\n");
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 2, .batches = 4});
    assert_non_null(strstr(s.text, "second\n\repoch 1/3"));
    close_show(&s);
    int lines = 0;
    fg_log_set(drop_log, &lines);
    fgi_log(FG_LOG_WARNING, "the display is gone");
    fg_log_set(NULL, NULL);
    assert_int_equal(lines, 1);
}

/* A tenth of a second, for the line to be written. */
static void the_live_line_waits_for_the_log(void **state)
{
    show s;
    int lines = 0;
    (void)state;
    open_show(&s, "bar");
    fg_log_set(drop_log, &lines);
    compile_begins(s.progress, FGI_TEST);
    pass(5);
    fgi_log(FG_LOG_WARNING, "a line");
    (void)fflush(s.out);
    const size_t before = s.size;
    fgi_progress_tick(s.progress);
    (void)fflush(s.out);
    assert_int_equal(s.size, before);
    pass(0.1);
    fgi_progress_tick(s.progress);
    (void)fflush(s.out);
    assert_non_null(strstr(s.text + before, "\rcompiling the test step  00:05"));
    fg_log_set(NULL, NULL);
    close_show(&s);
}

static void the_bar_is_redrawn_ten_times_a_second(void **state)
{
    show s;
    (void)state;
    open_show(&s, "bar");
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 1000});
    for (int batch = 1; batch <= 1000; batch++) {
        pass(0.001);
        tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = batch, .batches = 1000});
    }
    size_t drawn = 0;
    for (const char *at = s.text; (at = strstr(at, "epoch")) != NULL; at++)
        drawn++;
    assert_in_range(drawn, 10, 21); /* a shorter line is drawn twice */
    assert_int_equal(lines_of(s.text), 0);
    close_show(&s);
}

static void compilation_is_shown_with_its_time(void **state)
{
    show s;
    (void)state;
    open_show(&s, "bar");
    const int threads = fgt_count_entries("/proc/self/task");
    compile_begins(s.progress, FGI_TRAIN);
    assert_int_equal(fgt_count_entries("/proc/self/task"), threads + 1); /* which draws the time */
    (void)fflush(s.out);
    assert_string_equal(s.text, "\rcompiling the training step  00:00");
    pass(75);
    compile_ends(s.progress);
    (void)fflush(s.out);
    assert_non_null(strstr(s.text, "compiled the training step in 75.0 s\n"));
    const size_t before = s.size;
    compile_begins(s.progress, FGI_VAL); /* finished quickly: no line remains */
    pass(0.5);
    compile_ends(s.progress);
    (void)fflush(s.out);
    assert_null(strchr(s.text + before, '\n'));
    compile_begins(s.progress, FGI_TEST);
    pass(1);
    compile_ends(s.progress);
    (void)fflush(s.out);
    assert_non_null(strstr(s.text + before, "compiled the test step in 1.0 s\n"));
    compile_ends(s.progress); /* nothing is compiled */
    close_show(&s);
}

/* Within an epoch, in place of its progress. */
static void a_compilation_replaces_the_progress(void **state)
{
    show s;
    (void)state;
    open_show(&s, "bar");
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 1, .batches = 4});
    compile_begins(s.progress, FGI_VAL);
    pass(29.6);
    (void)fflush(s.out);
    const size_t before = s.size;
    fgi_progress_tick(s.progress);
    (void)fflush(s.out);
    assert_string_equal(s.text + before, "\rcompiling the validation step  00:30");
    close_show(&s);
}

/* A plain line after 10 seconds, and each minute, of each compilation. */
static void a_long_compilation_has_plain_lines(void **state)
{
    show s;
    (void)state;
    open_show(&s, "plain");
    for (int i = 0; i < 2; i++) {
        compile_begins(s.progress, i == 0 ? FGI_TRAIN : FGI_TEST);
        for (int half = 0; half < (i == 0 ? 242 : 24); half++) {
            pass(0.5);
            fgi_progress_tick(s.progress);
        }
        compile_ends(s.progress);
    }
    (void)fflush(s.out);
    assert_string_equal(s.text, "compiling the training step  00:10\n"
                                "compiling the training step  01:00\n"
                                "compiling the training step  02:00\n"
                                "compiled the training step in 121.0 s\n"
                                "compiling the test step  00:10\n"
                                "compiled the test step in 12.0 s\n");
    close_show(&s);
}

static void unknown_styles_are_refused(void **state)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    (void)state;
    assert_int_equal(
        toy_create(&(fg_trainer_options){.output.progress_style = "fancy"}, &trainer, &err),
        FG_EINVAL);
    assert_string_equal(err.message,
                        "trainer: progress_style is 'fancy': expected auto, bar or plain");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_plain_line_per_epoch),
    cmocka_unit_test(an_epoch_without_a_length),
    cmocka_unit_test(an_evaluation),
    cmocka_unit_test(a_validation_is_shown_while_it_runs),
    cmocka_unit_test(compilation_is_not_training_time),
    cmocka_unit_test(a_run_ends_with_what_limits_its_rate),
    cmocka_unit_test(the_best_is_that_of_the_list),
    cmocka_unit_test(two_fits_of_one_trainer),
    cmocka_unit_test(plain_lines_within_an_epoch),
    cmocka_unit_test(plain_lines_within_a_long_epoch),
    cmocka_unit_test(the_rate_is_that_of_the_last_log_line),
    cmocka_unit_test(an_epoch_that_was_resumed),
    cmocka_unit_test(an_epoch_starts_without_values),
    cmocka_unit_test(a_bar_without_a_terminal),
    cmocka_unit_test(a_validation_of_a_resumed_epoch),
    cmocka_unit_test(the_live_line_waits_for_the_log),
    cmocka_unit_test(every_epoch_has_a_line),
    cmocka_unit_test(the_best_value_is_highlighted),
    cmocka_unit_test(only_the_line_of_the_best_is_highlighted),
    cmocka_unit_test(a_rollback_forgets_what_was_not_shown),
    cmocka_unit_test(validation_within_an_epoch),
    cmocka_unit_test(the_live_line_makes_room_for_the_log),
    cmocka_unit_test(the_bar_is_redrawn_ten_times_a_second),
    cmocka_unit_test(compilation_is_shown_with_its_time),
    cmocka_unit_test(a_compilation_replaces_the_progress),
    cmocka_unit_test(unknown_styles_are_refused),
    cmocka_unit_test(a_long_compilation_has_plain_lines),
};

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5); /* 3 steps per epoch */
}

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
