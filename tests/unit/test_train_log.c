/* test_train_log.c - what a run writes and prints: metrics.csv and metrics.jsonl, also on a full
 * disk; the ledger of idle time; the progress bar and the plain lines.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "terminal.h"
#include "toy_place.h"
#include "train/step/feed.h"
#include "train/watch/watch.h"
#include "log/logger.h"
#include "pjrt/plugin.h"
#include "train/watch/call.h"
#include "train/trainer.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

/* ---- logger ---------------------------------------------------------------------------------- */

static fgi_logger *open_logger(const char *folder, int64_t from_step, int64_t lines)
{
    fg_error err = {0};
    fgi_logger *logger = NULL;
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("csv, jsonl")}[0], &logger, &err));
    fgt_ok(fgi_logger_open(logger, folder, from_step, lines, &err));
    return logger;
}

static fg_status train_row(fgi_logger *logger, int64_t step, double loss, fg_error *err)
{
    const fg_metric metrics[] = {{"train_loss", loss}};
    const fg_progress at = {
        .step = step, .epoch = step / 4, .lr = 0.1, .metrics = metrics, .metric_count = 1};
    return fgi_logger_ops.log(logger, &at, err);
}

static fg_status val_row(fgi_logger *logger, int64_t step, const char *name, double value,
                         fg_error *err)
{
    fg_metric metric = {.value = value};
    (void)snprintf(metric.name, sizeof metric.name, "%s", name);
    const fg_progress at = {
        .step = step, .epoch = step / 4, .lr = 0.1, .metrics = &metric, .metric_count = 1};
    return fgi_logger_ops.val_end(logger, &at, err);
}

static void assert_text(const char *folder, const char *name, const char *want)
{
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    fgt_ok(fgi_file_read(fgt_path(folder, name), 1 << 20, &text, &size, &err));
    assert_string_equal(text, want);
    fgi_free(text);
}

static void rows_and_columns(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fgi_logger *logger = open_logger(folder, 0, -1);
    fgt_ok(train_row(logger, 2, 0.5, &err));
    fgt_ok(train_row(logger, 4, 1.0 / 3, &err));
    fgt_ok(val_row(logger, 4, "val_loss", 1e-20, &err));
    fgt_ok(train_row(logger, 6, (double)NAN, &err));
    fgt_ok(val_row(logger, 8, "val_acc", (double)INFINITY, &err));
    fgt_ok(val_row(logger, 9, "val_acc", -0.0, &err));
    assert_int_equal(fgi_logger_lines(logger), 6);
    fgi_logger_ops.destroy(logger);
    assert_text(folder, "metrics.jsonl",
                "{\"step\": 2, \"epoch\": 0, \"lr\": 0.1, \"train_loss\": 0.5}\n"
                "{\"step\": 4, \"epoch\": 1, \"lr\": 0.1, \"train_loss\": 0.333333333}\n"
                "{\"step\": 4, \"epoch\": 1, \"val_loss\": 1e-20}\n"
                "{\"step\": 6, \"epoch\": 1, \"lr\": 0.1, \"train_loss\": null}\n"
                "{\"step\": 8, \"epoch\": 2, \"val_acc\": null}\n"
                "{\"step\": 9, \"epoch\": 2, \"val_acc\": 0}\n");
    /* the header has grown twice, and the earlier rows with it */
    assert_text(folder, "metrics.csv",
                "step,epoch,lr,train_loss,val_loss,val_acc\n"
                "2,0,0.1,0.5,,\n"
                "4,1,0.1,0.333333333,,\n"
                "4,1,,,1e-20,\n"
                "6,1,0.1,,,\n"
                "8,2,,,,\n"
                "9,2,,,,0\n");
}

static fg_status lr_row(fgi_logger *logger, int64_t step, double lr, const char *name, double value,
                        fg_error *err)
{
    fg_metric metric = {.value = value};
    (void)snprintf(metric.name, sizeof metric.name, "%s", name);
    const fg_progress at = {.step = step, .lr = lr, .metrics = &metric, .metric_count = 1};
    return fgi_logger_ops.log(logger, &at, err);
}

/* A learning rate of 0 or below is a number, one that is not finite is missing. Names may begin
 * alike, and have up to 63 bytes. */
static void unusual_rates_and_names(void **state)
{
    static const char name[] = "m23456789_123456789_123456789_123456789_123456789_123456789_123";
    char jsonl[1024], csv[1024];
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fgi_logger *logger = open_logger(folder, 0, -1);
    (void)state;
    fgt_ok(lr_row(logger, 1, 0, "loss_b", 1, &err));
    fgt_ok(lr_row(logger, 2, -0.5, "loss", -2, &err));
    fgt_ok(lr_row(logger, 3, (double)NAN, "loss_c", 3, &err));
    fgt_ok(lr_row(logger, 4, (double)INFINITY, name, 4, &err));
    fgi_logger_ops.destroy(logger);
    (void)snprintf(jsonl, sizeof jsonl,
                   "{\"step\": 1, \"epoch\": 0, \"lr\": 0, \"loss_b\": 1}\n"
                   "{\"step\": 2, \"epoch\": 0, \"lr\": -0.5, \"loss\": -2}\n"
                   "{\"step\": 3, \"epoch\": 0, \"lr\": null, \"loss_c\": 3}\n"
                   "{\"step\": 4, \"epoch\": 0, \"lr\": null, \"%s\": 4}\n",
                   name);
    (void)snprintf(csv, sizeof csv,
                   "step,epoch,lr,loss_b,loss,loss_c,%s\n1,0,0,1,,,\n2,0,-0.5,,-2,,\n3,0,,,,3,\n"
                   "4,0,,,,,4\n",
                   name);
    assert_text(folder, "metrics.jsonl", jsonl);
    assert_text(folder, "metrics.csv", csv);
}

/* The user may delete a file during a run: what follows is written to a new one, with a header if
 * there is a new column. */
static void a_file_may_be_deleted(void **state)
{
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fgi_logger *logger = open_logger(folder, 0, -1);
    (void)state;
    fgt_ok(train_row(logger, 1, 1, &err));
    fgt_ok(fgi_logger_catch_up(logger, &err));
    assert_int_equal(unlink(fgt_path(folder, "metrics.csv")), 0);
    fgt_ok(fgi_logger_sync(logger, &err)); /* there is nothing to sync */
    fgt_ok(val_row(logger, 2, "val_loss", 2, &err));
    fgt_ok(train_row(logger, 3, 3, &err));
    fgt_ok(fgi_logger_catch_up(logger, &err));
    fgi_logger_ops.destroy(logger);
    assert_text(folder, "metrics.csv", "step,epoch,lr,train_loss,val_loss\n2,0,,,2\n3,0,0.1,3,\n");
}

/* metrics.csv follows metrics.jsonl if that has as many rows. */
static void the_table_is_rebuilt_from_the_lines(void **state)
{
    static const char lines[] =
        "{\"step\": 2, \"epoch\": 0, \"lr\": 0.1, \"train_loss\": 3, \"wall_time\": 9.5}\n"
        "{\"step\": 4, \"epoch\": 1, \"val_loss\": 2, \"wall_time\": 10.5}\n";
    static const char *const tables[] = {"step,epoch,lr,train_loss\n2,0,0.1,7\n4,1,0.1,8\n",
                                         "step,epoch,lr,train_loss\n2,0,0.1,7\n", "",
                                         "step,epoch,lr,val_loss,train_loss\n2,0,0.1,1,7\n"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        const char *folder = fgt_temp_folder();
        fgt_write(fgt_path(folder, "metrics.jsonl"), lines, sizeof lines - 1);
        fgt_write(fgt_path(folder, "metrics.csv"), tables[i], strlen(tables[i]));
        fgi_logger *logger = open_logger(folder, 9, -1);
        assert_int_equal(fgi_logger_lines(logger), 2);
        fgi_logger_ops.destroy(logger);
        assert_text(folder, "metrics.csv",
                    "step,epoch,lr,train_loss,val_loss\n2,0,0.1,3,\n4,1,,,2\n");
    }
}

/* ---- other loggers --------------------------------------------------------------------------- */

static void note_nothing(void *self, fg_log_level level, const char *line)
{
    (void)self, (void)level, (void)line;
}

typedef struct counted {
    int64_t lines; /* that its log has; -2: it cannot be opened */
    int calls;     /* of functions other than `open` */
    fg_log_state state;
    char message[64];
} counted;

static fg_status counted_open(void *self, const fg_log_start *start, int64_t *out_lines,
                              fg_error *err)
{
    const counted *c = self;
    (void)start, (void)err;
    *out_lines = c->lines;
    return c->lines == -2 ? FG_EIO : FG_OK;
}

static fg_status counted_log(void *self, const fg_log_line *line, fg_error *err)
{
    (void)line, (void)err;
    ((counted *)self)->calls++;
    return FG_OK;
}

static fg_status counted_saved(void *self, const fg_log_saved *saved, fg_error *err)
{
    (void)saved, (void)err;
    ((counted *)self)->calls++;
    return FG_OK;
}

static fg_status counted_item(void *self, const fg_log_item *item, fg_error *err)
{
    (void)item, (void)err;
    ((counted *)self)->calls++;
    return FG_OK;
}

static fg_status counted_finish(void *self, const fg_log_end *end, fg_error *err)
{
    counted *c = self;
    (void)err;
    c->calls++;
    c->state = end->state;
    (void)snprintf(c->message, sizeof c->message, "%s", end->message);
    return FG_OK;
}

static const fg_logger_ops counted_ops = {.name = "counted",
                                          .open = counted_open,
                                          .log = counted_log,
                                          .saved = counted_saved,
                                          .item = counted_item,
                                          .finish = counted_finish};

/* Loggers with these counts of lines, opened. */
static fgi_logger *open_counted(counted *all, size_t count)
{
    fg_error err = {0};
    fgi_logger *logger = NULL;
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("")}[0], &logger, &err));
    for (size_t i = 0; i < count; i++)
        fgt_ok(fgi_logger_add(logger, &counted_ops, &all[i], &err));
    fgt_ok(fgi_logger_open(logger, "/nowhere", 9, -1, &err));
    return logger;
}

/* The run has as many lines as the log that has the most, whatever the order. */
static void the_longest_log_counts(void **state)
{
    counted all[] = {{.lines = 2}, {.lines = 5}, {.lines = 3}, {.lines = -1}};
    (void)state;
    fgi_logger *logger = open_counted(all, 4);
    assert_int_equal(fgi_logger_lines(logger), 5);
    fgi_logger_destroy(logger);
}

/* One that could not be opened is not called again; the others are, for everything. */
static void a_logger_that_is_not_open_is_left_alone(void **state)
{
    counted all[] = {{.lines = 0}, {.lines = -2}, {.lines = 0}};
    fg_error err = {0};
    (void)state;
    fg_log_set(note_nothing, NULL);
    fgi_logger *logger = open_counted(all, 3);
    fgt_ok(train_row(logger, 1, 1, &err));
    fgi_logger_item(logger, &(fg_log_item){.kind = FG_LOG_TEXT, .name = "a", .text = "b"});
    fgt_ok(fgi_logger_ops.saved(logger, &(fg_progress){.path = "c"}, &err));
    fgt_ok(fgi_logger_ops.fit_end(logger, &(fg_progress){0}, &err));
    fg_log_set(NULL, NULL);
    assert_int_equal(all[0].calls, 4);
    assert_int_equal(all[1].calls, 0);
    assert_int_equal(all[2].calls, 4);
    fgi_logger_destroy(logger);
}

/* Items are for those that have the function, whichever is added last. */
static void items_need_one_logger_that_takes_them(void **state)
{
    static const fg_logger_ops plain = {.name = "plain", .open = counted_open, .log = counted_log};
    (void)state;
    for (int order = 0; order < 2; order++) {
        counted takes = {.lines = 0}, other = {.lines = 0};
        fg_error err = {0};
        fgi_logger *logger = NULL;
        fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("")}[0], &logger, &err));
        if (order == 0)
            fgt_ok(fgi_logger_add(logger, &counted_ops, &takes, &err));
        fgt_ok(fgi_logger_add(logger, &plain, &other, &err));
        if (order == 1)
            fgt_ok(fgi_logger_add(logger, &counted_ops, &takes, &err));
        fgt_ok(fgi_logger_open(logger, "/nowhere", 9, -1, &err));
        assert_true(fgi_logger_takes_items(logger));
        fgi_logger_item(logger, &(fg_log_item){.kind = FG_LOG_TEXT, .name = "a", .text = "b"});
        assert_int_equal(takes.calls, 1);
        assert_int_equal(other.calls, 0);
        fgi_logger_destroy(logger);
    }
}

/* The state and the message follow from the status of the fit. */
static void loggers_learn_how_a_fit_has_ended(void **state)
{
    static const struct {
        fg_status status;
        fg_log_state state;
        const char *message;
    } ends[] = {{FG_EIO, FG_LOG_FAILED, "why"},
                {FG_ESTOPPED, FG_LOG_STOPPED, "why"},
                {FG_EINVAL, FG_LOG_FAILED, "why"},
                {FG_OK, FG_LOG_DONE, ""}};
    counted c = {.lines = 0};
    fg_error err = {0};
    (void)state;
    fgi_logger *logger = open_counted(&c, 1);
    for (int i = 0; i < 4; i++) {
        fgi_logger_set_end(logger, ends[i].status, "why");
        fgt_ok(fgi_logger_ops.fit_end(logger, &(fg_progress){0}, &err));
        assert_int_equal(c.state, ends[i].state);
        assert_string_equal(c.message, ends[i].message);
    }
    fgi_logger_destroy(logger);
}

/* ---- resuming -------------------------------------------------------------------------------- */

static const char four_rows[] = "{\"step\": 2, \"epoch\": 0, \"lr\": 0.1, \"train_loss\": 3}\n"
                                "{\"step\": 4, \"epoch\": 1, \"lr\": 0.1, \"train_loss\": 2}\n"
                                "{\"step\": 4, \"epoch\": 1, \"val_loss\": 2}\n"
                                "{\"step\": 6, \"epoch\": 1, \"lr\": 0.1, \"train_loss\": 1}\n";

/* Rows after the checkpoint resumed from are dropped, by step and by number of lines. */
static void rows_are_taken_up_again(void **state)
{
    (void)state;
    static const struct {
        const char *more; /* after the four rows */
        int64_t from_step, lines;
        int keeps;
    } rows[] = {
        {"", 6, -1, 4},        {"", 5, -1, 3},
        {"", 4, 3, 3},         {"", 4, 2, 2},
        {"", 1, -1, 0},        {"", 0, -1, 0},
        {"", 99, 0, 4},        {"", 6, 0, 3},
        {"", 6, 4, 4},         {"{\"step\": 7, \"epo", 9, -1, 4},
        {"what?\n", 9, -1, 4}, {"{\"epoch\": 3}\n", 9, -1, 4},
        {"\n\n", 9, 9, 4},     {"{\"step\": 7.0}\n", 9, -1, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        char text[1024], want[1024];
        const char *folder = fgt_temp_folder();
        (void)snprintf(text, sizeof text, "%s%s", four_rows, rows[i].more);
        fgt_write(fgt_path(folder, "metrics.jsonl"), text, strlen(text));
        fgt_write(fgt_path(folder, "metrics.csv"), "rubbish", 7);
        fgi_logger *logger = open_logger(folder, rows[i].from_step, rows[i].lines);
        assert_int_equal(fgi_logger_lines(logger), rows[i].keeps);
        fgt_ok(train_row(logger, 8, 0.25, &err));
        fgi_logger_ops.destroy(logger);
        const char *end = four_rows;
        for (int k = 0; k < rows[i].keeps; k++)
            end = strchr(end, '\n') + 1;
        (void)snprintf(want, sizeof want,
                       "%.*s{\"step\": 8, \"epoch\": 2, \"lr\": 0.1, \"train_loss\": 0.25}\n",
                       (int)(end - four_rows), four_rows);
        assert_text(folder, "metrics.jsonl", want);
        if (rows[i].keeps == 4)
            assert_text(folder, "metrics.csv",
                        "step,epoch,lr,train_loss,val_loss\n"
                        "2,0,0.1,3,\n4,1,0.1,2,\n4,1,,,2\n6,1,0.1,1,\n8,2,0.1,0.25,\n");
        if (rows[i].keeps == 0)
            assert_text(folder, "metrics.csv", "step,epoch,lr,train_loss\n8,2,0.1,0.25\n");
    }
}

/* Limits the files of this process to this many bytes; 0: no limit. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes > 0 ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int log_lines;
static char last_log[512];

static void note_log(void *self, fg_log_level level, const char *line)
{
    (void)self, (void)level;
    log_lines++;
    (void)snprintf(last_log, sizeof last_log, "%s", line);
}

/* A full disk does not end a run: the files contain complete rows, and the others are written when
 * there is space. */
static void rows_wait_for_room_on_the_disk(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fgi_logger *logger = open_logger(folder, 0, -1);
    char jsonl[1024] = "", full[1024] = "", csv[1024] = "step,epoch,lr,train_loss\n";
    log_lines = 0;
    fg_log_set(note_log, NULL);
    for (int step = 1; step <= 8; step++) {
        limit_files(step <= 6 ? 150 : 0);
        fgt_ok(train_row(logger, step, 1, &err));
        (void)snprintf(jsonl + strlen(jsonl), sizeof jsonl - strlen(jsonl),
                       "{\"step\": %d, \"epoch\": %d, \"lr\": 0.1, \"train_loss\": 1}\n", step,
                       step / 4);
        (void)snprintf(csv + strlen(csv), sizeof csv - strlen(csv), "%d,%d,0.1,1\n", step,
                       step / 4);
        if (step == 2)
            memcpy(full, jsonl, sizeof full);
        assert_int_equal(fgi_logger_catch_up(logger, &err), step > 2 && step <= 6 ? FG_EIO : FG_OK);
        if (step > 2 && step <= 6)
            assert_text(folder, "metrics.jsonl", full);
        assert_int_equal(fgi_logger_lines(logger), step);
        if (step == 6) {
            assert_int_equal(log_lines, 1);
            assert_non_null(strstr(last_log, "metrics.jsonl': File too large; training continues"));
            assert_int_equal(fgi_logger_ops.fit_end(logger, &(fg_progress){0}, &err), FG_EIO);
            fgt_message_is(err.message, "cannot write '~/metrics.jsonl': File too large");
        }
    }
    fg_log_set(NULL, NULL);
    limit_files(0);
    assert_int_equal(log_lines, 2);
    assert_text(folder, "metrics.jsonl", jsonl);
    assert_text(folder, "metrics.csv", csv);
    fgt_ok(fgi_logger_ops.fit_end(logger, &(fg_progress){0}, &err));
    fgi_logger_ops.destroy(logger);
}

/* Not even the first line fits, nor a part of it is left. */
static void the_first_line_waits_as_well(void **state)
{
    static const char line[] = "{\"step\": 1, \"epoch\": 0, \"lr\": 0.1, \"train_loss\": 1}\n";
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fgi_logger *logger = open_logger(folder, 0, -1);
    (void)state;
    fg_log_set(note_log, NULL);
    limit_files(20);
    fgt_ok(train_row(logger, 1, 1, &err));
    assert_int_equal(fgi_logger_catch_up(logger, &err), FG_EIO);
    limit_files(0);
    assert_text(folder, "metrics.jsonl", "");
    assert_text(folder, "metrics.csv", "step,epoch,lr\n");
    fgt_ok(fgi_logger_catch_up(logger, &err));
    fg_log_set(NULL, NULL);
    fgi_logger_ops.destroy(logger);
    assert_text(folder, "metrics.jsonl", line);
    assert_text(folder, "metrics.csv", "step,epoch,lr,train_loss\n1,0,0.1,1\n");
}

static fg_status fit_task(const fg_task *one, const char *folder, FILE *progress, fg_error *err)
{
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = {.devices.client = client,
                                        .limits.max_epochs = 3,
                                        .checkpoints.run_dir = folder,
                                        .checkpoints.resume = folder != NULL ? "auto" : NULL,
                                        .output.progress = progress};
    const fg_fit_data data = {
        .train = train_data, .val = val_data, .batch_size = 4, .workers = FG_NONE};
    fg_status status = toy_create(&options, &trainer, err);
    if (status == FG_OK)
        status = fg_trainer_fit(trainer, one, &data, err);
    fg_trainer_destroy(trainer);
    return status;
}

static fg_status fit(const char *folder, FILE *progress, fg_error *err)
{
    return fit_task(&task, folder, progress, err);
}

/* Wherever in a row the disk becomes full, a warning is printed, and writing continues when there
 * is space. */
static void a_full_disk_loses_nothing(void **state)
{
    (void)state;
    char whole[512];
    fg_error err = {0};
    (void)snprintf(whole, sizeof whole, "%s", fgt_temp_folder());
    fgt_ok(fit(whole, NULL, &err));
    char *lines = NULL, *csv = NULL;
    size_t size = 0;
    fgt_ok(fgi_file_read(fgt_path(whole, "metrics.jsonl"), 1 << 20, &lines, &size, &err));
    fgt_ok(fgi_file_read(fgt_path(whole, "metrics.csv"), 1 << 20, &csv, &size, &err));
    int failures = 0;
    for (rlim_t bytes = 20; bytes < 3000; bytes += bytes / 3) {
        const char *folder = fgt_temp_folder();
        limit_files(bytes);
        const fg_status status = fit(folder, NULL, &err);
        limit_files(0);
        if (status != FG_OK) {
            failures++;
            assert_int_equal(status, FG_EIO);
            assert_non_null(strstr(err.message, folder));
            assert_non_null(strstr(err.message, "File too large"));
        }
        fgt_ok(fit(folder, NULL, &err));
        assert_text(folder, "metrics.jsonl", lines);
        assert_text(folder, "metrics.csv", csv);
        assert_true(fgi_file_exists(fgt_path(folder, "checkpoints/step-000000009/manifest.json")));
    }
    assert_true(failures > 3);
    fgi_free(lines);
    fgi_free(csv);
}

static void a_folder_that_cannot_be_made(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "file"), "x", 1);
    const fg_status status = fit(fgt_path(folder, "file/run"), NULL, &err);
    assert_true(status == FG_EIO || status == FG_ENOTFOUND);
    fgt_message_is(err.message, "cannot create the folder '~/file': File exists");
}

/* ---- ledger ---------------------------------------------------------------------------------- */

enum { MOMENTS = 400 };

/* A host with nested activities, and a device; each moment of the host belongs to the innermost
 * activity. */
typedef struct timeline {
    fgi_ledger ledger;
    fgi_key key;
    uint64_t draws;
    int activity[MOMENTS]; /* the host's activity, -1: none */
    int64_t now;
    int64_t launch[MOMENTS], inputs[MOMENTS], done[MOMENTS];
    int64_t flights;
} timeline;

static int64_t draw(timeline *t, int64_t below)
{
    return (int64_t)(fgi_rng_u64(t->key, t->draws++) % (uint64_t)below);
}

static void pass_time(timeline *t, int activity)
{
    for (int64_t left = draw(t, 6); left > 0 && t->now < MOMENTS - 40; left--)
        t->activity[t->now++] = activity;
}

static void act(timeline *t, int depth)
{
    const int activity = (int)draw(t, FGI_ACTIVITIES);
    const int64_t begin = t->now;
    pass_time(t, activity);
    while (depth < 2 && draw(t, 3) == 0)
        act(t, depth + 1);
    pass_time(t, activity);
    fgi_ledger_add(&t->ledger, (fgi_activity)activity, begin, t->now);
}

static void fly(timeline *t)
{
    const int64_t n = t->flights++, before = n > 0 ? t->done[n - 1] : 0;
    t->launch[n] = t->now;
    t->inputs[n] = draw(t, 2) ? 0 : t->now + draw(t, 4);
    const int64_t start = t->now > before ? t->now : before;
    const int64_t can = t->inputs[n] > start ? t->inputs[n] : start;
    t->done[n] = can + draw(t, 12);
    fgi_ledger_launched(&t->ledger, n);
    /* retired late, as the Trainer does: before the third launch after */
    const fgi_flight flight = {.is_step = draw(t, 4) != 0,
                               .samples = 2,
                               .launch_ns = t->launch[n],
                               .inputs_ns = t->inputs[n],
                               .done_ns = t->done[n]};
    fgi_ledger_retired(&t->ledger, n, &flight);
}

static void parts_of_idle_time_sum_up(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        static timeline t;
        t = (timeline){.key = fgi_key_from_seed(seed)};
        for (int i = 0; i < MOMENTS; i++)
            t.activity[i] = -1;
        fgi_ledger_start(&t.ledger, 0);
        while (t.now < MOMENTS - 50) {
            pass_time(&t, -1);
            for (int64_t n = draw(&t, 3); n > 0; n--)
                act(&t, 0);
            fly(&t);
            pass_time(&t, -1);
        }
        int64_t part[FGI_ACTIVITIES] = {0}, idle = 0, busy = 0;
        for (int64_t n = 1; n < t.flights; n++) {
            const int64_t launch = t.launch[n] > t.done[n - 1] ? t.launch[n] : t.done[n - 1];
            const int64_t start = t.inputs[n] > launch ? t.inputs[n] : launch;
            for (int64_t at = t.done[n - 1]; at < launch; at++)
                if (t.activity[at] >= 0)
                    part[t.activity[at]]++;
            part[FGI_UPLOAD] += start - launch;
            idle += start - t.done[n - 1];
            busy += t.done[n] - start;
        }
        assert_int_equal(t.ledger.total.idle_ns, idle);
        assert_int_equal(t.ledger.total.busy_ns, busy);
        for (int i = 0; i < FGI_ACTIVITIES; i++)
            assert_int_equal(t.ledger.total.activity_ns[i], part[i]);
        fg_result result = {0};
        fgi_ledger_result(&t.ledger, &result);
        assert_true(result.idle.other_s >= 0);
        fgt_close("busy and idle", result.idle.busy_s + result.idle.idle_s,
                  (double)(t.done[t.flights - 1] - t.done[0]) * 1e-9, 1e-15, 1e-9);
    }
}

/* ---- progress -------------------------------------------------------------------------------- */

static const char table[] = "module  kind    detail  output    parameters\n"
                            "fc1     linear  6 -> 8  f32[4,8]          56\n"
                            "fc2     linear  8 -> 3  f32[4,3]          27\n"
                            "83 parameters in total; on fake device\n"
                            "adam, lr 0.01 (no learning-rate scaling), batches of 4, 9 steps\n"
                            "lr at 0, 25, 50, 75, 100 %: 0.01 0.01 0.01 0.01 0.01\n";

static const char lines[] = "epoch 1/3  train loss nan acc nan  val loss nan acc nan\n"
                            "epoch 2/3  train loss nan acc nan  val loss nan acc nan\n"
                            "epoch 3/3  train loss nan acc nan  val loss nan acc nan\n";

/* Removes rate and time from the ends of lines: "  1,234 samples/s  00:12". */
static void drop_rates(char *text)
{
    for (char *rate = text; (rate = strstr(rate, " samples/s  ")) != NULL;) {
        char *end = strchr(rate, '\n');
        while (rate > text && strchr("0123456789,", rate[-1]) != NULL)
            rate--;
        memmove(rate - 2, end, strlen(end) + 1);
        rate = text;
    }
}

static void plain_lines_into_a_file(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL, want[2048];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fgt_ok(fit(NULL, out, &err));
    assert_int_equal(fclose(out), 0);
    drop_rates(text);
    (void)snprintf(want, sizeof want, "%s%s", table, lines);
    assert_string_equal(text, want);
    free(text);
}

/* The toy's layers and one whose name and detail are longer than a line. */
static void build_long(void *self, fg_module *root)
{
    toy_ops.build(self, root);
    fg_module_describe(fg_module_child(root, "a_name_that_leaves_the_other_columns_no_room"),
                       "kind", "a detail that is as long as the name, and then some more of it");
}

static void the_table_fits_in_80_columns(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    fg_task_ops ops = toy_ops;
    fg_task with_long = task;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    ops.build = build_long;
    with_long.ops = &ops;
    fgt_ok(fit_task(&with_long, NULL, out, &err));
    assert_int_equal(fclose(out), 0);
    int rows = 0;
    for (const char *at = text; strncmp(at, "83 parameters", 13) != 0; at = strchr(at, '\n') + 1) {
        assert_int_equal(strchr(at, '\n') - at, 80);
        rows++;
    }
    assert_int_equal(rows, 4);
    assert_non_null(strstr(text, "\na_name_that_leaves_the_other_columns_no_room  kind "));
    assert_non_null(strstr(text, "  a d...  "));
    free(text);
}

/* Three equal blocks of two layers, a layer whose name is a number, and a block of one layer. */
static void build_blocks(void *self, fg_module *root)
{
    static const char *const names[] = {"0", "1", "2"};
    const fg_type two = {.dtype = FG_F32, .rank = 1, .dim = {2}};
    fg_module *blocks = fg_module_child(root, "blocks"), *plain = fg_module_child(root, "plain");
    fg_module *single = fg_module_child(fg_module_child(root, "single"), "0");
    toy_ops.build(self, root);
    for (int i = 0; i < 3; i++) {
        fg_module *block = fg_module_child(blocks, names[i]);
        fg_module_describe(block, "block", "");
        fg_module_describe(fg_module_child(block, "scale"), "scale", "by 2");
        (void)fg_module_variable(fg_module_child(block, "shift"), "by", &two, NULL);
    }
    fg_module_describe(fg_module_child(plain, "0"), "scale", "by 3");
    fg_module_describe(single, "block", "");
    fg_module_describe(fg_module_child(single, "scale"), "scale", "by 4");
}

static void blocks_that_repeat_have_one_row(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    fg_task_ops ops = toy_ops;
    fg_task with_blocks = task;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    ops.build = build_blocks;
    with_blocks.ops = &ops;
    fgt_ok(fit_task(&with_blocks, NULL, out, &err));
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "\nblocks.0-2  block   3 x 2 layers                     6\n"
                                 "plain.0     scale   by 3                             0\n"
                                 "single.0    block   1 layer                          0\n"
                                 "fc1 "));
    free(text);
}

/* The same, and a layer whose detail is longer than a narrow terminal. */
static void build_narrow(void *self, fg_module *root)
{
    build_blocks(self, root);
    fg_module_describe(fg_module_child(root, "head"), "kind",
                       "a detail that is longer than there is room for on this terminal");
}

/* What a fit writes to a terminal of this width. */
static void fit_on_a_terminal(const fg_task *one, unsigned short columns, char *out, size_t size)
{
    fg_error err = {0};
    int master;
    FILE *file = terminal_open(columns, &master);
    fgt_ok(fit_task(one, NULL, file, &err));
    terminal_read(master, out, size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(close(master), 0);
}

static void the_table_fits_in_60_columns(void **state)
{
    (void)state;
    static char text[16384];
    fg_task_ops ops = toy_ops;
    fg_task narrow = task;
    ops.build = build_narrow;
    narrow.ops = &ops;
    assert_int_equal(setenv("TERM", "xterm", 1), 0);
    fit_on_a_terminal(&narrow, 60, text, sizeof text);
    assert_non_null(strstr(text, "\r\nblocks.0-2  block   3 x 2 layers "));
    const char *head = strstr(text, "\r\nhead        kind    a detail that");
    assert_non_null(head);
    assert_non_null(strstr(head, "...  "));
    assert_true(strstr(head, "...  ") < strchr(head + 2, '\r'));
    for (const char *at = text; strncmp(at, "89 parameters", 13) != 0; at = strchr(at, '\n') + 1)
        assert_true(strcspn(at, "\r\n") < 60);
    fit_on_a_terminal(&narrow, 20, text, sizeof text); /* less than the heads need */
    static const char heads[] = "module      kind   detail  output  parameters\r\n"
                                "blocks.0-2  block  3 x...                   6\r\n";
    assert_non_null(strstr(text, heads));
    assert_int_equal(unsetenv("TERM"), 0);
}

static void a_bar_on_a_terminal(void **state)
{
    (void)state;
    static char text[16384];
    assert_int_equal(setenv("TERM", "xterm", 1), 0);
    fit_on_a_terminal(&task, 100, text, sizeof text);
    const char *bar = strstr(text, "\repoch 1/3  [========>               ] 1/3  ");
    assert_non_null(bar);
    /* the final line replaces the bar */
    const char *kept = strstr(bar, "\repoch 1/3  train loss nan acc nan  val loss nan");
    assert_non_null(kept);
    assert_int_equal(kept[strcspn(kept + 1, "\r") + 2], '\n');
    assert_null(strstr(text, "\033")); /* works in terminals without escape codes */
    bar = strstr(kept, "\repoch 3/3  train loss nan");
    assert_non_null(bar);
    fit_on_a_terminal(&task, 40, text, sizeof text);
    bar = strstr(text, "\repoch 1/3  [");
    assert_non_null(bar);
    assert_true(strcspn(bar + 1, "\r\n") < 40);
    static const char *const plain[] = {"dumb", "", NULL};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(plain[i] != NULL ? setenv("TERM", plain[i], 1) : unsetenv("TERM"), 0);
        fit_on_a_terminal(&task, 100, text, sizeof text);
        assert_null(strstr(text, "epoch 1/3  ["));
    }
}

static void only_the_first_process_writes_a_log(void **state)
{
    static fg_client one;
    static fgi_call call;
    const char *folder = fgt_temp_folder();
    const fg_trainer_checkpoints options = {.run_dir = folder};
    const fgi_cursor start = {.log_lines = -1};
    (void)state;
    for (int process = 3; process >= 0; process--) {
        fg_error err = {0};
        fgi_run *run = NULL;
        fgi_callbacks *list = NULL;
        one.info.process_index = process;
        fgt_ok(fgi_run_create(&options, &(fg_strings[]){fgt_list("csv, jsonl")}[0], &run, &err));
        fgt_ok(fgi_callbacks_create(&call, &list, &err));
        fgt_ok(fgi_run_open(run, &one, &start, list, &err));
        assert_int_equal(fgi_run_logger(run) != NULL, process == 0);
        assert_int_equal(fgi_logger_lines(fgi_run_logger(run)), process == 0 ? 0 : -1);
        fgt_ok(fgi_logger_sync(fgi_run_logger(run), &err));
        assert_int_equal(fgi_file_exists(fgt_path(folder, "metrics.jsonl")), process == 0);
        fgi_callbacks_destroy(list);
        fgi_run_destroy(run);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_and_columns),
    cmocka_unit_test(unusual_rates_and_names),
    cmocka_unit_test(a_file_may_be_deleted),
    cmocka_unit_test(the_table_is_rebuilt_from_the_lines),
    cmocka_unit_test(the_longest_log_counts),
    cmocka_unit_test(a_logger_that_is_not_open_is_left_alone),
    cmocka_unit_test(items_need_one_logger_that_takes_them),
    cmocka_unit_test(loggers_learn_how_a_fit_has_ended),
    cmocka_unit_test(rows_are_taken_up_again),
    cmocka_unit_test(rows_wait_for_room_on_the_disk),
    cmocka_unit_test(the_first_line_waits_as_well),
    cmocka_unit_test(a_full_disk_loses_nothing),
    cmocka_unit_test(a_folder_that_cannot_be_made),
    cmocka_unit_test(parts_of_idle_time_sum_up),
    cmocka_unit_test(plain_lines_into_a_file),
    cmocka_unit_test(the_table_fits_in_80_columns),
    cmocka_unit_test(blocks_that_repeat_have_one_row),
    cmocka_unit_test(the_table_fits_in_60_columns),
    cmocka_unit_test(a_bar_on_a_terminal),
    cmocka_unit_test(only_the_first_process_writes_a_log),
};

int main(void)
{
    toy_use_memory();
    (void)signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
