/* test_train_progress.c - the progress display with a simulated clock: the contents of the live
 * line and how it fits a narrow terminal; which lines remain; plain lines at intervals.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "terminal.h"
#include "toy_place.h"
#include "train/progress.h"
#include "train/progress_text.h"
#include "train/trainer.h"

static void numbers_and_times(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } times[] = {{-1, "00:00"},  {0.4, "00:00"},  {0.6, "00:01"},    {59.7, "01:00"},
                 {754, "12:34"}, {3599, "59:59"}, {3600, "1:00:00"}, {363599, "100:59:59"}};
    static const struct {
        int64_t count;
        const char *text;
    } counts[] = {{0, "0"},
                  {999, "999"},
                  {1000, "1,000"},
                  {123456, "123,456"},
                  {-5, "0"},
                  {1234567, "1,234,567"},
                  {99, "99"},
                  {10000, "10,000"},
                  {INT64_MAX, "9,223,372,036,854,775,807"}};
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        fgi_progress_time(times[i].seconds, text, sizeof text);
        assert_string_equal(text, times[i].text);
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        fgi_progress_count(counts[i].count, text, sizeof text);
        assert_string_equal(text, counts[i].text);
    }
    const fg_metric metrics[] = {{"train_acc", 0.5}, {"train_loss", 0.123456}, {"lr", 1e-5}};
    fgi_progress_metrics(metrics, 3, "train_", 4, text, sizeof text);
    assert_string_equal(text, "  loss 0.1235  acc 0.5  lr 1e-05");
}

static void a_line_fits_the_terminal(void **state)
{
    static const struct {
        size_t columns;
        const char *line;
    } rows[] = {
        {200,
         "epoch 3/30  [======>                 ] 120/469  2,345 samples/s  00:12<00:31, run 12:40 "
         "left  loss 0.1234  acc 0.9"},
        {100, "epoch 3/30  [==>       ] 120/469  2,345 samples/s  00:12<00:31, run 12:40 left  "
              "loss 0.1234"},
        {80, "epoch 3/30  [==>       ] 120/469  00:12<00:31, run 12:40 left  loss 0.1234"},
        {70, "epoch 3/30  [==>       ] 120/469  00:12<00:31  loss 0.1234"},
        {50, "epoch 3/30  [==>       ] 120/469  loss 0.1234"},
        {40, "epoch 3/30  [==>       ] 120/469"},
        {30, "epoch 3/30  120/469"},
        {10, "epoch 3/3"},
        {1, "e"},
    };
    const fgi_progress_view view = {.label = "epoch 3/30",
                                    .batch = 120,
                                    .batches = 469,
                                    .samples_per_s = 2345.2,
                                    .elapsed_s = 12,
                                    .remaining_s = 31,
                                    .run_s = 760,
                                    .metrics = "  loss 0.1234  acc 0.9"};
    char line[256];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgi_progress_line(&view, rows[i].columns, line, sizeof line);
        assert_string_equal(line, rows[i].line);
    }
    fgi_progress_view other = view;
    other.batches = -1; /* from a source */
    other.remaining_s = other.run_s = -1;
    other.samples_per_s = 0;
    fgi_progress_line(&other, 80, line, sizeof line);
    assert_string_equal(line, "epoch 3/30  120 batches  00:12  loss 0.1234  acc 0.9");
    other.batch = 1;
    fgi_progress_line(&other, 80, line, sizeof line);
    assert_string_equal(line, "epoch 3/30  1 batch  00:12  loss 0.1234  acc 0.9");
    other.batches = 1;
    other.batch = 5; /* more than were announced */
    other.metrics = "";
    fgi_progress_line(&other, 80, line, sizeof line);
    assert_string_equal(line, "epoch 3/30  [========================] 5/1  00:12");
    other.is_plain = true;
    fgi_progress_line(&other, 80, line, sizeof line);
    assert_string_equal(line, "epoch 3/30  5/1  00:12");
    other.samples_per_s = 2.345;
    fgi_progress_line(&other, 80, line, sizeof line);
    assert_string_equal(line, "epoch 3/30  5/1  2.3 samples/s  00:12");
}

/* The bar gives way first, one character at a time. */
static void a_bar_gives_way_first(void **state)
{
    const fgi_progress_view view = {
        .label = "e", .batch = 3, .batches = 4, .remaining_s = -1, .run_s = -1, .metrics = ""};
    static const char whole[] = "e  [==================>     ] 3/4  00:00";
    char line[256];
    (void)state;
    for (size_t less = 0; less <= 14; less++) {
        fgi_progress_line(&view, sizeof whole - less, line, sizeof line);
        assert_int_equal(strlen(line), sizeof whole - 1 - less);
    }
    assert_string_equal(line, "e  [=======>  ] 3/4  00:00");
    fgi_progress_line(&view, sizeof whole - 15, line, sizeof line);
    assert_string_equal(line, "e  [=======>  ] 3/4");
}

/* What is not known, or cannot be true, is left out. */
static void parts_of_a_line(void **state)
{
    static const struct {
        int64_t batch;
        double rate, remaining_s, run_s;
        const char *line;
    } rows[] = {
        {0, 0, -1, -1, "e  0/4  00:12"},
        {1, 0.5, -1, -1, "e  1/4  0.5 samples/s  00:12"},
        {1, 9.94, 0, 0, "e  1/4  9.9 samples/s  00:12<00:00, run 00:00 left"},
        {1, 9.96, 31, -1, "e  1/4  10 samples/s  00:12<00:31"},
        {1, 10, -1, 31, "e  1/4  10 samples/s  00:12, run 00:31 left"},
        {1, 10.6, -1, -1, "e  1/4  11 samples/s  00:12"},
        {4, 1e15, 1e9, 1e9, "e  4/4  1,000,000,000,000,000 samples/s  00:12"},
        {4, 2e15, 999999999, 999999999, "e  4/4  00:12<277777:46:39, run 277777:46:39 left"},
        {4, (double)NAN, (double)NAN, (double)NAN, "e  4/4  00:12"},
    };
    char line[256];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fgi_progress_view view = {.label = "e",
                                        .batch = rows[i].batch,
                                        .batches = 4,
                                        .samples_per_s = rows[i].rate,
                                        .elapsed_s = 12,
                                        .remaining_s = rows[i].remaining_s,
                                        .run_s = rows[i].run_s,
                                        .metrics = "",
                                        .is_plain = true};
        fgi_progress_line(&view, 200, line, sizeof line);
        assert_string_equal(line, rows[i].line);
    }
}

/* Rate, all but three values of the validation, time of the run, ...: the least important first. */
static void an_epoch_line_fits_the_terminal(void **state)
{
    static const fg_metric train[] = {{"train_acc", 0.75}, {"train_loss", 0.5}},
                           val[] = {{"val_acc", 0.5},
                                    {"val_loss", 0.25},
                                    {"val_f1", 0.125},
                                    {"val_recall", 1}};
    static const struct {
        size_t columns;
        const char *line;
    } rows[] = {
        {140, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125 recall 1  2,345 "
              "samples/s  00:12, run 12:40 left"},
        {139, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125 recall 1  "
              "00:12, run 12:40 left"},
        {121, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125 recall 1  "
              "00:12, run 12:40 left"},
        {120, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125  00:12, run "
              "12:40 left"},
        {107, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125  00:12, run "
              "12:40 left"},
        {106, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125  00:12"},
        {89, "epoch 3/30  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5 f1 0.125  00:12"},
        {88, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5 f1 0.125  00:12"},
        {78, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5 f1 0.125  00:12"},
        {77, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5  00:12"},
        {68, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5  00:12"},
        {67, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5"},
        {59, "epoch 3/30  train loss 0.5  val loss 0.25 acc 0.5"},
        {58, "epoch 3/30  train loss 0.5  val loss 0.25"},
        {48, "epoch 3/30  train loss 0.5  val loss 0.25"},
        {47, "epoch 3/30  val loss 0.25"},
        {29, "epoch 3/30  val loss 0.25"},
        {28, "epoch 3/30"},
        {1, "e"},
    };
    char line[256];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgi_epoch_style style = {0};
        const fgi_epoch_view view = {.label = "epoch 3/30",
                                     .longest = "epoch 30/30",
                                     .train = train,
                                     .train_count = 2,
                                     .val = val,
                                     .val_count = 4,
                                     .rate = "2,345",
                                     .time = "00:12",
                                     .left = "12:40"};
        fgi_progress_epoch_line(&view, rows[i].columns, &style, line, sizeof line);
        assert_string_equal(line, rows[i].line);
    }
}

/* ---- a run, step by step --------------------------------------------------------------------- */

static _Atomic int64_t now = 1000000000;
static int64_t clock_ns(void) { return now; }
static void pass(double seconds) { now += (int64_t)(seconds * 1e9); }

typedef struct show {
    fg_trainer trainer;
    fgi_progress *progress;
    FILE *out;
    char *text;
    size_t size;
} show;

/* A display of a run of three epochs of 4 batches of 8 samples. */
static void open_show(show *s, const char *style)
{
    fg_error err = {0};
    *s = (show){.out = NULL};
    s->out = open_memstream(&s->text, &s->size);
    assert_non_null(s->out);
    s->trainer.options.limits.max_epochs = 3;
    s->trainer.fit.settings = (fg_fit_settings){.total_epochs = 3};
    s->trainer.call.is_running = true;
    fgt_ok(fgi_progress_create(s->out, style, false, &s->trainer, &s->progress, &err));
    fgi_progress_set_clock(s->progress, clock_ns);
}

static void close_show(show *s)
{
    fgi_progress_ops.destroy(s->progress);
    (void)fclose(s->out);
    free(s->text);
}

static void tell(show *s, fg_status (*hook)(void *, const fg_progress *, fg_error *),
                 fg_progress at)
{
    fg_error err = {0};
    fgt_ok(hook(s->progress, &at, &err));
    (void)fflush(s->out);
}

/* An epoch of 4 batches and its validation; the time of each batch is in seconds. */
static void run_epoch(show *s, int64_t epoch, double batch_s)
{
    const fg_metric train[] = {{"train_acc", 0.75}, {"train_loss", 0.5}};
    const fg_metric val[] = {{"val_acc", 0.5}, {"val_loss", 0.25}};
    fg_progress at = {.epoch = epoch, .batches = 4};
    tell(s, fgi_progress_ops.epoch_start, at);
    for (at.batch = 1; at.batch <= 4; at.batch++) {
        pass(batch_s);
        s->trainer.cursor.position = 8 * at.batch;
        tell(s, fgi_progress_ops.batch_end, at);
    }
    at.batch = 4;
    tell(s, fgi_progress_ops.val_start, at);
    pass(3);
    at.metrics = val;
    at.metric_count = 2;
    tell(s, fgi_progress_ops.val_end, at);
    s->trainer.cursor.position = 0;
    at.metrics = train;
    tell(s, fgi_progress_ops.epoch_end, at);
}

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

/* Once there is a log line, the rate is that of its window. */
static void the_rate_is_that_of_the_last_log_line(void **state)
{
    show s;
    const fg_metric loss = {"train_loss", 0.5};
    (void)state;
    open_show(&s, "plain");
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    tell(&s, fgi_progress_ops.log,
         (fg_progress){.samples_per_s = 1234, .metrics = &loss, .metric_count = 1});
    pass(8);
    s.trainer.cursor.position = 8;
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 1, .batches = 4});
    assert_string_equal(s.text,
                        "epoch 1/3  1/4  1,234 samples/s  00:08<00:24, run 01:28 left  loss 0.5\n");
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
    fg_error err = {0};
    open_show(s, "plain");
    fgi_progress_ops.destroy(s->progress);
    fgt_ok(fgi_progress_create(s->out, "plain", true, &s->trainer, &s->progress, &err));
    fgi_progress_set_clock(s->progress, clock_ns);
    s->trainer.options.checkpoints.monitor = "val_acc";
    s->trainer.options.checkpoints.monitor_max = true;
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
    tell(&s, fgi_progress_ops.val_end, at);
    tell(&s, fgi_progress_ops.rolled_back, (fg_progress){.batches = 4});
    tell(&s, fgi_progress_ops.batch_end, (fg_progress){.batch = 1, .batches = 4});
    assert_string_equal(s.text, "");
    s.trainer.cursor.top.waiting[0].value = 0.75;
    tell(&s, fgi_progress_ops.val_end, at);
    at.metric_count = 0;
    tell(&s, fgi_progress_ops.epoch_end, at);
    assert_string_equal(s.text, "epoch 1/3  val acc 0.5  0 samples/s  00:00, run 00:00 left\n");
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
    s.trainer.call.is_running = false;
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

/* A compilation within an epoch is not its training time. */
static void compilation_is_not_training_time(void **state)
{
    show s;
    (void)state;
    open_show(&s, "plain");
    tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
    pass(4);
    fgi_progress_compile_begin(s.progress, "validation");
    pass(75);
    fgi_progress_compile_end(s.progress);
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

/* Whether a value of val_loss or train_loss is highlighted, next to these best checkpoints. */
static void the_best_is_that_of_the_list(void **state)
{
    static const struct {
        const char *monitor;
        bool is_max;
        double listed, waiting; /* 0: none */
        double value;
        bool is_best;
    } rows[] = {
        {"val_loss", false, 0, 0, 0.5, false},    {"val_loss", false, 0.5, 0, 0.5, true},
        {"val_loss", false, 0.5, 0, 0.6, false},  {"val_loss", false, 0.5, 0, 0.4, true},
        {"val_loss", true, 0.5, 0, 0.5, true},    {"val_loss", true, 0.5, 0, 0.4, false},
        {"val_loss", true, 0.5, 0, 0.6, true},    {"val_loss", false, 0.5, 0.4, 0.45, false},
        {"val_loss", false, 0.5, 0.4, 0.4, true}, {"val_loss", true, 0.5, 0.6, 0.55, false},
        {"val_loss", true, 0.5, 0.6, 0.6, true},  {"val_loss", false, 0.4, 0.5, 0.45, false},
        {"train_loss", false, 0, 0.5, 0.5, true}, {"train_loss", false, 0, 0.5, 0.6, false},
        {"val_acc", false, 0, 0.5, 0.5, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        show s;
        fgi_best_list *top;
        fg_metric train = {"train_loss", 7}, val = {"val_loss", 8};
        open_highlighted(&s);
        top = &s.trainer.cursor.top;
        s.trainer.options.checkpoints.monitor = rows[i].monitor;
        s.trainer.options.checkpoints.monitor_max = rows[i].is_max;
        top->count = rows[i].listed > 0;
        top->entry[0].value = rows[i].listed;
        top->waiting_count = rows[i].waiting > 0;
        top->waiting[0].value = rows[i].waiting;
        *(rows[i].monitor[0] == 't' ? &train.value : &val.value) = rows[i].value;
        fg_progress at = {.batch = 4, .batches = 4, .metrics = &val, .metric_count = 1};
        tell(&s, fgi_progress_ops.epoch_start, (fg_progress){.batches = 4});
        tell(&s, fgi_progress_ops.val_start, at);
        tell(&s, fgi_progress_ops.val_end, at);
        at.metrics = &train;
        tell(&s, fgi_progress_ops.epoch_end, at);
        if ((strstr(s.text, "\x1b[1;32mloss ") != NULL) != rows[i].is_best)
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

/* The metrics of the fake plugin are NaN. A validation takes a second; nothing of the first fit is
 * in the times of the second, which begins within an epoch. */
static void two_fits_of_one_trainer(void **state)
{
    static const char first[] = "module  kind    detail  output    parameters\n"
                                "fc1     linear  6 -> 8  f32[4,8]          56\n"
                                "fc2     linear  8 -> 3  f32[4,3]          27\n"
                                "83 parameters in total; on fake device\n"
                                "adam, lr 0.01 (no learning-rate scaling), batches of 4, 12 steps\n"
                                "lr at 0, 25, 50, 75, 100 %: 0.01 0.01 0.01 0.01 0.01\n"
                                "epoch 1/4  train loss nan acc nan  val loss nan acc nan  "
                                "3 samples/s  00:05, run 00:14 left\n";
    static const char second[] =
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
    fgt_ok(fg_trainer_create(&(fg_trainer_options){.devices.client = client,
                                                   .limits.max_epochs = 4,
                                                   .numerics.accumulate_grad_batches = 1,
                                                   .validation.val_every_epochs = 1,
                                                   .output.progress = out},
                             &trainer, &err));
    fgi_progress_set_clock(trainer->progress, clock_ns);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &stop, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    (void)fflush(out);
    assert_string_equal(text, first);
    const size_t before = size;
    stop = 0;
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    (void)fflush(out);
    assert_string_equal(text + before, second);
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
    fgi_progress_compile_begin(s.progress, "training");
    (void)fflush(s.out);
    assert_string_equal(s.text, "\rcompiling the training step  00:00");
    pass(75);
    fgi_progress_compile_end(s.progress);
    (void)fflush(s.out);
    assert_non_null(strstr(s.text, "compiled the training step in 75.0 s\n"));
    const size_t before = s.size;
    fgi_progress_compile_begin(s.progress, "validation"); /* finished quickly: no line remains */
    pass(0.5);
    fgi_progress_compile_end(s.progress);
    (void)fflush(s.out);
    assert_null(strchr(s.text + before, '\n'));
    fgi_progress_compile_begin(s.progress, "test");
    pass(1);
    fgi_progress_compile_end(s.progress);
    (void)fflush(s.out);
    assert_non_null(strstr(s.text + before, "compiled the test step in 1.0 s\n"));
    fgi_progress_compile_end(s.progress); /* nothing is compiled */
    fgi_progress_compile_begin(NULL, "training");
    fgi_progress_compile_end(NULL);
    close_show(&s);
}

/* The output of two epochs on a terminal of this width. */
static void run_on_terminal(unsigned short columns, char *out, size_t size)
{
    fg_error err = {0};
    int master;
    show s = (show){.out = terminal_open(columns, &master)};
    s.trainer.options.limits.max_epochs = 3;
    s.trainer.fit.settings = (fg_fit_settings){.total_epochs = 3};
    s.trainer.call.is_running = true;
    fgt_ok(fgi_progress_create(s.out, "bar", false, &s.trainer, &s.progress, &err));
    fgi_progress_set_clock(s.progress, clock_ns);
    fgi_progress_compile_begin(s.progress, "training");
    pass(75);
    fgi_progress_compile_end(s.progress);
    run_epoch(&s, 0, 1);
    tell(&s, fgi_progress_ops.val_start, (fg_progress){.batch = 2, .batches = 4});
    pass(1);
    fgi_progress_validating(s.progress, &(fg_progress){.batch = 2, .batches = 4});
    run_epoch(&s, 1, 0.001);
    tell(&s, fgi_progress_ops.fit_end, (fg_progress){.epoch = 2});
    terminal_read(master, out, size);
    close_show(&s);
    (void)close(master);
}

static size_t longest_row(const char *text)
{
    size_t longest = 0;
    for (; *text != '\0'; text += strspn(text, "\r\n")) {
        const size_t length = strcspn(text, "\r\n");
        longest = length > longest ? length : longest;
        text += length;
    }
    return longest;
}

/* Every row is shorter than the terminal is wide: otherwise it would wrap, and the next update
 * would start below it. */
static void every_line_fits_the_terminal(void **state)
{
    static const struct {
        unsigned short columns;
        const char *kept;
    } rows[] = {
        {120,
         "\repoch 1/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  8 samples/s  00:07, run "
         "00:14 left\r\n"},
        {100,
         "\repoch 1/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  00:07, run 00:14 left\r\n"},
        {90, "\repoch 1/3  train loss 0.5 acc 0.75  val loss 0.25 acc 0.5  00:07\r\n"},
        {70, "\repoch 1/3  train loss 0.5  val loss 0.25 acc 0.5  00:07\r\n"},
        {50, "\repoch 1/3  train loss 0.5  val loss 0.25\r\n"},
        {30, "\repoch 1/3  val loss 0.25\r\n"},
        {20, "\repoch 1/3\r\n"},
        {5, "\repoc\r\n"},
        {2, "\re\r\n"},
    };
    char text[8192];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run_on_terminal(rows[i].columns, text, sizeof text);
        if (longest_row(text) >= rows[i].columns || strstr(text, rows[i].kept) == NULL)
            fail_msg("%d columns: %s", rows[i].columns, text);
    }
}

/* In the middle of a run: what is drawn afterwards fits the new width. */
static void a_window_may_be_resized(void **state)
{
    static const unsigned short widths[] = {40, 20, 120};
    char text[8192];
    fg_error err = {0};
    int master;
    show s = (show){.out = terminal_open(100, &master)};
    (void)state;
    s.trainer.fit.settings = (fg_fit_settings){.total_epochs = 4};
    s.trainer.call.is_running = true;
    fgt_ok(fgi_progress_create(s.out, "bar", false, &s.trainer, &s.progress, &err));
    fgi_progress_set_clock(s.progress, clock_ns);
    run_epoch(&s, 0, 1);
    for (int i = 0; i < 3; i++) {
        tell(&s, fgi_progress_ops.batch_end, (fg_progress){.epoch = i + 1, .batches = 4});
        terminal_read(master, text, sizeof text);
        const struct winsize size = {.ws_row = 24, .ws_col = widths[i]};
        assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
        run_epoch(&s, i + 1, 1);
        terminal_read(master, text, sizeof text);
        assert_true(longest_row(text) < widths[i]);
        assert_non_null(strstr(text, i == 1 ? "\repoch 3/4\r\n" : "val loss 0.25"));
    }
    close_show(&s);
    (void)close(master);
}

/* The words of a line, without its numbers. */
static void put_parts(const char *line, char *out)
{
    out[0] = '\0';
    for (; *line != '\0'; line += strspn(line, " ,")) {
        const size_t length = strcspn(line, " ,");
        if (*line >= 'a' && *line <= 'z' && strncmp(line, "nan", length) != 0)
            (void)strncat(strncat(out, line, length), " ", 2);
        line += length;
    }
}

/* The line of an epoch of a run of 100 epochs, in which every metric has this value. */
static void put_line(double value, bool has_val, bool is_long, size_t columns,
                     fgi_epoch_style *style, char *out, size_t size)
{
    const fg_metric train[] = {{"train_acc", value}, {"train_loss", value}};
    const fg_metric val[] = {{"val_acc", value}, {"val_loss", value}};
    const fgi_epoch_view view = {.label = is_long ? "epoch 99/100" : "epoch 1/100",
                                 .longest = "epoch 100/100",
                                 .train = train,
                                 .train_count = 2,
                                 .val = val,
                                 .val_count = has_val ? 2 : 0,
                                 .known = val,
                                 .known_count = 2,
                                 .rate = is_long ? "123,456" : "8",
                                 .time = is_long ? "1:02:03" : "00:07",
                                 .left = is_long ? "2:04:06" : "00:14"};
    fgi_progress_epoch_line(&view, columns, style, out, size);
    assert_true(strlen(out) < columns);
}

/* All lines of a run have the same parts, whatever its numbers and although the first one has no
 * validation; after a change of the terminal's width, those that fit there. */
static void a_run_has_one_style(void **state)
{
    static const double values[] = {2,         0.25,   0.12345,  0.00012345,
                                    1.2345e-7, 123456, 12345678, (double)NAN};
    static const struct {
        size_t columns;
        const char *parts;
    } rows[] = {{130, "epoch train loss acc val loss acc samples/s run left "},
                {100, "epoch train loss acc val loss acc run left "},
                {60, "epoch train loss val loss "},
                {40, "epoch val loss "},
                {20, "epoch "},
                {130, "epoch train loss acc val loss acc samples/s run left "}};
    fgi_epoch_style style = {0};
    char line[512], parts[512];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        put_line(3, false, false, rows[i].columns, &style, line, sizeof line);
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            put_line(values[k], true, k > 1, rows[i].columns, &style, line, sizeof line);
            put_parts(line, parts);
            assert_string_equal(parts, rows[i].parts);
        }
    }
}

static void unknown_styles_are_refused(void **state)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    (void)state;
    assert_int_equal(
        fg_trainer_create(&(fg_trainer_options){.output.progress_style = "fancy"}, &trainer, &err),
        FG_EINVAL);
    assert_string_equal(err.message,
                        "trainer: progress_style is 'fancy': expected auto, bar or plain");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_and_times),
    cmocka_unit_test(a_line_fits_the_terminal),
    cmocka_unit_test(a_bar_gives_way_first),
    cmocka_unit_test(parts_of_a_line),
    cmocka_unit_test(an_epoch_line_fits_the_terminal),
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
    cmocka_unit_test(every_epoch_has_a_line),
    cmocka_unit_test(the_best_value_is_highlighted),
    cmocka_unit_test(only_the_line_of_the_best_is_highlighted),
    cmocka_unit_test(a_rollback_forgets_what_was_not_shown),
    cmocka_unit_test(validation_within_an_epoch),
    cmocka_unit_test(the_live_line_makes_room_for_the_log),
    cmocka_unit_test(the_bar_is_redrawn_ten_times_a_second),
    cmocka_unit_test(compilation_is_shown_with_its_time),
    cmocka_unit_test(every_line_fits_the_terminal),
    cmocka_unit_test(a_window_may_be_resized),
    cmocka_unit_test(a_run_has_one_style),
    cmocka_unit_test(unknown_styles_are_refused),
};

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5); /* 3 steps per epoch */
}

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
