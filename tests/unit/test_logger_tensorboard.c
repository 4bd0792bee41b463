/* test_logger_tensorboard.c - the event files of the logger `tensorboard`: their bytes, what a
 * resumed run keeps, and failures. tests/loggers reads them with TensorBoard.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "row.h"

#include <dirent.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/image.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/print.h"
#include "event_text.h"
#include "log/logger.h"

#define OPS (*fgi_tensorboard_logger_row.ops)

/* ---- the logger ------------------------------------------------------------------------------ */

static fg_status create(bool has_histograms, void **out_self, fg_error *err)
{
    return FGT_ROW_BEGIN(&fgi_tensorboard_logger_row, has_histograms ? "{histograms: true}" : NULL,
                         out_self, err);
}

static void *make(void)
{
    fg_error err = {0};
    void *self = NULL;
    fgt_ok(create(false, &self, &err));
    return self;
}

static fg_log_start start_at(const char *folder, int64_t step, int64_t lines)
{
    return (fg_log_start){.run_dir = folder, .step = step, .lines = lines, .wall_time = 1000};
}

static fg_status log_loss(void *self, int64_t step, double loss, fg_error *err)
{
    const fg_metric metrics[] = {{"train_loss", loss}, {"train_acc", (double)NAN}};
    return OPS.log(self,
                   &(fg_log_line){.step = step,
                                  .epoch = step / 4,
                                  .lr = 0.125,
                                  .metrics = metrics,
                                  .metric_count = 2,
                                  .wall_time = 2000 + (double)step},
                   err);
}

static fg_status log_val(void *self, int64_t step, double loss, fg_error *err)
{
    const fg_metric metric = {"val_loss", loss};
    return OPS.log(self,
                   &(fg_log_line){.step = step,
                                  .is_validation = true,
                                  .metrics = &metric,
                                  .metric_count = 1,
                                  .wall_time = 2000 + (double)step},
                   err);
}

#define BEGIN(step) "| brain.Event:2 START " #step " "

/* ---- tests ----------------------------------------------------------------------------------- */

/* What tensorboard.summary.writer.record_writer 2.21.0 wrote for the same events. */
static void bytes_are_those_of_tensorboard(void **state)
{
    static const char expected[] =
        "\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22\x09\x00\x00\x00\x00\x00\x00\xf8\x3f\x1a"
        "\x0d"
        "brain.Event:"
        "2\x2a\x28\x64\x6c\x0f\x00\x00\x00\x00\x00\x00\x00\x6d\x53\x2b\x09\x09\x00\x00\x00"
        "\x00\x00\x00\xf8\x3f\x10\x08\x3a\x02\x08\x01\x95\x71\xc7\xd1\x3a\x00\x00\x00\x00\x00\x00"
        "\x00"
        "\x12\x95\xea\xe2\x09\x00\x00\x00\x00\x00\x00\x04\x40\x10\xac\x02\x2a\x2c\x0a\x0c\x0a\x05"
        "epoch\x15\x00\x00\x40\x40\x0a\x09\x0a\x02lr\x15\x00\x00\x00\x3e\x0a\x11\x0a\x0a"
        "train/loss\x15\x00\x00\x00\x3f\xd8\x7a\x9c\xf9";
    fg_error err = {0};
    char *data = NULL, *name;
    size_t size = 0;
    const char *folder = fgt_temp_folder();
    void *self = make();
    int64_t lines = -1;
    (void)state;
    fg_log_start start = start_at(folder, 7, -1);
    start.wall_time = 1.5;
    fgt_ok(OPS.open(self, &start, &lines, &err));
    const fg_metric metric = {"train_loss", 0.5};
    const fg_log_line line = {.step = 300,
                              .epoch = 3,
                              .lr = 0.125,
                              .metrics = &metric,
                              .metric_count = 1,
                              .wall_time = 2.5};
    fgt_ok(OPS.log(self, &line, &err));
    fgt_ok(OPS.sync(self, &err));
    OPS.destroy(self);
    name = the_event_file(folder);
    assert_non_null(strstr(name, "/events.out.tfevents.0000000001."));
    fgt_ok(fgi_file_read(name, 1 << 20, &data, &size, &err));
    assert_int_equal(size, sizeof expected - 1);
    assert_memory_equal(data, expected, size);
    fgi_free(data);
    fgi_free(name);
}

/* Logs 2, 4, 4 (validation), 6; returns how many lines the log had. */
static int64_t log_from(const char *folder, int64_t step, int64_t count, const char *history)
{
    fg_error err = {0};
    void *self = make();
    int64_t lines = -1;
    fg_log_start start = start_at(folder, step, count);
    start.history = history;
    fgt_ok(OPS.open(self, &start, &lines, &err));
    for (int64_t at = step + 2; at <= 6; at += 2) {
        fgt_ok(log_loss(self, at, (double)at, &err));
        if (at == 4)
            fgt_ok(log_val(self, at, 0.5, &err));
    }
    OPS.destroy(self);
    return lines;
}

#define LINE(step, epoch, loss)                                                                    \
#step " epoch " #epoch ", " #step " lr 0.125, " #step " train/loss " #loss ", "
#define VAL "4 val/loss 0.5, "

/* Events after the checkpoint are removed, and readers that have read them forget them. */
static void a_resumed_run_has_every_step_once(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    assert_int_equal(log_from(folder, 0, -1, NULL), 0);
    assert_string_equal(events_of(folder), BEGIN(0) LINE(2, 0, 2) LINE(4, 1, 4) VAL LINE(6, 1, 6));
    assert_int_equal(log_from(folder, 4, 3, NULL), 3);
    assert_string_equal(events_of(folder),
                        BEGIN(0) LINE(2, 0, 2) LINE(4, 1, 4) VAL BEGIN(5) LINE(6, 1, 6));
    /* the validation of step 4 was after the checkpoint: it is logged again */
    assert_int_equal(log_from(folder, 4, 2, NULL), 2);
    assert_string_equal(events_of(folder),
                        BEGIN(0) LINE(2, 0, 2) LINE(4, 1, 4) BEGIN(5) BEGIN(5) LINE(6, 1, 6));
    assert_int_equal(log_from(folder, 2, -1, NULL), 1);
    assert_string_equal(events_of(folder), BEGIN(0) LINE(2, 0, 2) BEGIN(5) BEGIN(5) BEGIN(3)
                                               LINE(4, 1, 4) VAL LINE(6, 1, 6));
    /* a new run, whose files are not in the order of the clock */
    assert_int_equal(log_from(folder, 0, -1, NULL), 0);
    assert_string_equal(events_of(folder), BEGIN(0) LINE(2, 0, 2) LINE(4, 1, 4) VAL LINE(6, 1, 6));
}

/* Cuts the last record in half, as a crash may do. */
static void an_incomplete_record_is_removed(void **state)
{
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(log_from(folder, 0, -1, NULL), 0);
    char *path = the_event_file(folder);
    fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
    assert_int_equal(truncate(path, (off_t)size - 9), 0);
    assert_int_equal(log_from(folder, 8, -1, NULL), 3);
    assert_string_equal(events_of(folder), BEGIN(0) LINE(2, 0, 2) LINE(4, 1, 4) VAL BEGIN(9));
    fgi_free(data);
    fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_int_equal(fputc(7, file), 7); /* the first byte of a record */
    assert_int_equal(fclose(file), 0);
    assert_int_equal(log_from(folder, 8, -1, NULL), 3);
    fgi_free(data);
    const size_t before = size;
    fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
    assert_int_equal(size, before);
    data[size - 5] ^= 1; /* the end of the last record's data, before its checksum */
    fgt_write(path, data, size);
    assert_int_equal(log_from(folder, 8, -1, NULL), 2);
    fgi_free(data);
    fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
    assert_true(size < before);
    fgi_free(path);
    fgi_free(data);
}

/* A line without a number is a line too: the run resumes after it. */
static void a_line_without_numbers_counts(void **state)
{
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    int64_t lines = -1;
    void *self = make();
    (void)state;
    fg_log_start start = start_at(folder, 0, -1);
    fgt_ok(OPS.open(self, &start, &lines, &err));
    fgt_ok(log_loss(self, 2, 2, &err));
    fgt_ok(log_val(self, 2, (double)NAN, &err));
    fgt_ok(log_val(self, 2, 3, &err)); /* after the checkpoint */
    OPS.destroy(self);
    self = make();
    start = start_at(folder, 2, 2);
    fgt_ok(OPS.open(self, &start, &lines, &err));
    OPS.destroy(self);
    assert_int_equal(lines, 2);
    assert_string_equal(events_of(folder), BEGIN(0) LINE(2, 0, 2) BEGIN(3));
}

/* A new run removes the event files of earlier ones, but none of another program. */
static void files_of_others_remain(void **state)
{
    static const char *const others[] = {"events.out.tfevents.1700000000.host.1.0",
                                         "events.out.tfevents.x.host.1.0.fulgurite",
                                         "my.events.out.tfevents.1700000000.fulgurite"};
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        fgt_write(fgt_path(folder, others[i]), "theirs", 6);
    for (int i = 0; i < 2; i++)
        assert_int_equal(log_from(folder, 0, -1, NULL), 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char *data = NULL;
        size_t size = 0;
        fgt_ok(fgi_file_read(fgt_path(folder, others[i]), 100, &data, &size, &err));
        assert_string_equal(data, "theirs");
        fgi_free(data);
    }
}

/* Lines that were lost are taken from metrics.jsonl; other files are left alone. */
static void lost_lines_come_from_the_history(void **state)
{
    static const char history[] =
        "{\"step\": 2, \"epoch\": 0, \"lr\": 0.125, \"train_loss\": 2}\n"
        "{\"step\": 4, \"epoch\": 1, \"lr\": 0.125, \"train_loss\": 4, \"wall_time\": 77}\n"
        "{\"step\": 4, \"epoch\": 1, \"val_loss\": 0.5}\n"
        "{\"step\": 6, \"epoch\": 1, \"lr\": 0.125, \"train_loss\": 6}\n"
        "{\"step\": 8, \"epoch\": 2, \"lr\": 0.125, \"train_loss\": 8}\n";
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "metrics.jsonl");
    fg_error err = {0};
    (void)state;
    fgt_write(path, history, sizeof history - 1);
    fgt_write(fgt_path(folder, "events.out.tfevents.0.x"), "", 0);
    assert_int_equal(log_from(folder, 6, 4, path), 4);
    assert_string_equal(events_of(folder),
                        "| " BEGIN(7) LINE(2, 0, 2) LINE(4, 1, 4) VAL LINE(6, 1, 6));
    assert_int_equal(unlink(fgt_path(folder, "events.out.tfevents.0.x")), 0);
    char *only = the_event_file(folder), *data = NULL;
    size_t size = 0;
    fgt_ok(fgi_file_read(only, 1 << 20, &data, &size, &err));
    const double time_of_line = 77; /* before the start of the log */
    assert_non_null(memmem(data, size, &time_of_line, sizeof time_of_line));
    /* without the last two lines: the second one of step 4 is missing too */
    const size_t line = 12 + 9 + 2 + 2 + 14 + 11 + 19 + 4, val = 12 + 9 + 2 + 2 + 17 + 4;
    assert_int_equal(truncate(only, (off_t)(size - line - val)), 0);
    assert_string_equal(events_of(folder), BEGIN(7) LINE(2, 0, 2) LINE(4, 1, 4));
    assert_int_equal(log_from(folder, 6, 4, path), 4);
    assert_string_equal(events_of(folder),
                        BEGIN(7) LINE(2, 0, 2) LINE(4, 1, 4) BEGIN(7) VAL LINE(6, 1, 6));
    fgi_free(only);
    fgi_free(data);
}

/* Groups are those of training and validation alone; infinite values are shown, NaN is not. */
static void names_and_values_of_scalars(void **state)
{
    static const fg_metric metrics[] = {{"train_loss", HUGE_VAL},
                                        {"val_acc", -HUGE_VAL},
                                        {"training_x", 1},
                                        {"validity", 2},
                                        {"my_train_x", 3},
                                        {"train", 4},
                                        {"val_", 5},
                                        {"nothing", (double)NAN},
                                        {"val_loss_2", -6}};
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    int64_t lines = -1;
    void *self = make();
    (void)state;
    const fg_log_start start = start_at(folder, 0, -1);
    fgt_ok(OPS.open(self, &start, &lines, &err));
    fg_log_line line = {.step = 8, .epoch = 0, .lr = 0, .metrics = metrics, .metric_count = 9};
    fgt_ok(OPS.log(self, &line, &err));
    line.is_validation = true;
    line.lr = 1;
    line.metric_count = 1;
    fgt_ok(OPS.log(self, &line, &err));
    OPS.destroy(self);
    assert_string_equal(events_of(folder),
                        BEGIN(0) "8 epoch 0, 8 lr 0, 8 train/loss inf, 8 val/acc -inf, "
                                 "8 training_x 1, 8 validity 2, 8 my_train_x 3, 8 train 4, "
                                 "8 val/ 5, 8 val/loss_2 -6, 8 train/loss inf, ");
}

/* Settings are numbers, truth values or texts; a fit that was stopped is no success. */
static void settings_and_the_end_of_a_fit(void **state)
{
    static const fg_log_setting settings[] = {
        {"lr", "0.5"},      {"steps", "-3"},    {"amp", "true"},     {"ema", "false"},
        {"name", "truest"}, {"list", "[1, 2]"}, {"nothing", "null"}, {"empty", ""}};
    fg_error err = {0};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char expected[300];
        int64_t lines = -1;
        void *self = make();
        const char *folder = fgt_temp_folder();
        fg_log_start start = start_at(folder, 0, -1);
        start.settings = settings;
        start.setting_count = 8;
        fgt_ok(OPS.open(self, &start, &lines, &err));
        const fg_log_end end = {
            .state = (fg_log_state)i, .message = "", .step = 4, .wall_time = 1234};
        fgt_ok(OPS.finish(self, &end, &err));
        OPS.destroy(self);
        (void)snprintf(expected, sizeof expected,
                       BEGIN(0) "lr=0.5 steps=-3 amp=true ema=false name='truest' list='[1, 2]' "
                                "nothing='null' empty='' from 1000, ended %d at 1234, ",
                       i == FG_LOG_DONE ? 1 : 2);
        assert_string_equal(events_of(folder), expected);
    }
}

/* A resumed run has its settings and another end in another file. */
static void a_resumed_run_ends_too(void **state)
{
    static const fg_log_setting setting = {"lr", "0.5"};
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        int64_t lines = -1;
        void *self = make();
        fg_log_start start = start_at(folder, 4 * i, i == 0 ? -1 : 0);
        start.settings = &setting;
        start.setting_count = 1;
        fgt_ok(OPS.open(self, &start, &lines, &err));
        const fg_log_end end = {.state = i == 0 ? FG_LOG_STOPPED : FG_LOG_DONE,
                                .message = "",
                                .step = 4 + i,
                                .wall_time = 1234 + i};
        fgt_ok(OPS.finish(self, &end, &err));
        OPS.destroy(self);
    }
    assert_string_equal(events_of(folder), BEGIN(0) "lr=0.5 from 1000, ended 2 at 1234, " BEGIN(
                                               5) "lr=0.5 from 1000, ended 1 at 1235, ");
}

static void the_configuration_is_shown(void **state)
{
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    int64_t lines = -1;
    char *data = NULL;
    size_t size = 0;
    void *self = make();
    (void)state;
    fg_log_start start = start_at(folder, 0, -1);
    start.config = "a:\n\n  b: 1\n";
    fgt_ok(OPS.open(self, &start, &lines, &err));
    OPS.destroy(self);
    assert_string_equal(events_of(folder), BEGIN(0) "0 config: text, ");
    char *path = the_event_file(folder);
    fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
    assert_non_null(memmem(data, size, "    a:\n    \n      b: 1\n", 23));
    fgi_free(path);
    fgi_free(data);
}

/* Files cannot grow for a while: the lines are kept. */
static void lines_that_cannot_be_written_are_kept(void **state)
{
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    int64_t lines = -1;
    void *self = make();
    struct rlimit before;
    (void)state;
    const fg_log_start start = start_at(folder, 0, -1);
    fgt_ok(OPS.open(self, &start, &lines, &err));
    fgt_ok(log_loss(self, 2, 2, &err));
    char *path = the_event_file(folder);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){200, before.rlim_max}), 0);
    assert_int_equal(log_loss(self, 4, 4, &err), FG_EIO);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(log_val(self, 4, 0.5, &err), FG_EIO);
    assert_int_equal(OPS.flush(self, &err), FG_EIO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_DFL);
    assert_string_equal(events_of(folder), BEGIN(0) LINE(2, 0, 2));
    fgt_ok(OPS.flush(self, &err));
    assert_string_equal(events_of(folder), BEGIN(0) LINE(2, 0, 2) LINE(4, 1, 4) VAL);
    OPS.destroy(self);
    fgi_free(path);
}

static void a_folder_that_cannot_be_written(void **state)
{
    fg_error err = {0};
    int64_t lines = -1;
    void *self = make();
    (void)state;
    const fg_log_start start = start_at("/nonexistent/run", 0, -1);
    assert_int_equal(OPS.open(self, &start, &lines, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "cannot open '/nonexistent/run': No such file or directory");
    fgt_ok(OPS.flush(self, &err));
    fgt_ok(OPS.sync(self, &err));
    OPS.destroy(self);
}

/* ---- texts, images, histograms, the graph ---------------------------------------------------- */

static fg_status log_items(void *self, fg_error *err)
{
    static const uint8_t pixels[] = {1, 2, 3, 4, 5, 255};
    static const double edges[] = {-1, 1, 3}, counts[] = {1, 4};
    static const uint32_t inputs[] = {1, 0};
    static const fg_log_node nodes[] = {
        {.name = "x", .op = "input", .type = {.dtype = FG_F32, .rank = 2, .dim = {4, 3}}},
        {.name = "fc/w", .op = "parameter", .type = {.dtype = FG_F32, .rank = 2, .dim = {3, 2}}},
        {"fc/matmul_2", "matmul", {.dtype = FG_F32, .rank = 2, .dim = {4, 2}}, inputs, 2},
        {.name = "loss", .op = "mean", .type = {.dtype = FG_F32}}};
    const fg_log_item items[] = {
        {.kind = FG_LOG_TEXT, .name = "note", .step = 3, .text = "a\nb"},
        {.kind = FG_LOG_IMAGE,
         .name = "samples",
         .pixels = pixels,
         .height = 1,
         .width = 2,
         .channels = 3},
        {.kind = FG_LOG_IMAGE,
         .name = "gray",
         .pixels = pixels,
         .height = 3,
         .width = 2,
         .channels = 1},
        {.kind = FG_LOG_HISTOGRAM,
         .name = "w",
         .step = 4,
         .edges = edges,
         .counts = counts,
         .bins = 2,
         .minimum = -1,
         .maximum = 3,
         .sum = 2,
         .sum_squares = 12,
         .count = 5},
        {.kind = FG_LOG_GRAPH, .name = "model", .nodes = nodes, .node_count = 4}};
    fg_status status = FG_OK;
    for (size_t i = 0; i < sizeof items / sizeof *items && status == FG_OK; i++)
        status = OPS.item(self, &items[i], err);
    return status;
}

static void items_are_events(void **state)
{
    fg_error err = {0};
    int64_t lines = -1;
    const char *folder = fgt_temp_folder();
    void *self = make();
    (void)state;
    const fg_log_start start = start_at(folder, 0, -1);
    fgt_ok(OPS.open(self, &start, &lines, &err));
    fgt_ok(log_items(self, &err));
    OPS.destroy(self);
    assert_string_equal(
        events_of(folder),
        BEGIN(0) "3 note: text, 0 samples: 2x1x3 pixels 1 2 3 4 5 255, "
                 "0 gray: 2x3x1 pixels 1 2 3 4 5 255, "
                 "4 w: 5 values from -1 to 3, sum 2, of squares 12, 2 bins to 3: 1 at 0, 4 at 1, "
                 "x = input() 4x3; fc/w = parameter() 3x2; fc/matmul_2 = matmul(fc/w, x) 4x2; "
                 "loss = mean(); ");
}

/* A rollback to the state before the first step keeps what was logged then, and the graph. */
static void a_rollback_to_the_beginning_keeps_items(void **state)
{
    fg_error err = {0};
    int64_t lines = -1;
    const char *folder = fgt_temp_folder();
    const fg_log_start start = start_at(folder, 0, 0);
    const fg_log_node node = {
        .name = "x", .op = "input", .type = {.dtype = FG_F32, .rank = 1, .dim = {4}}};
    const fg_log_item items[] = {
        {.kind = FG_LOG_TEXT, .name = "model", .text = "summary"},
        {.kind = FG_LOG_GRAPH, .name = "model", .nodes = &node, .node_count = 1},
        {.kind = FG_LOG_TEXT, .name = "later", .text = "removed", .step = 1}};
    void *self = make();
    (void)state;
    fgt_ok(OPS.open(self, &start, &lines, &err));
    for (int i = 0; i < 3; i++)
        fgt_ok(OPS.item(self, &items[i], &err));
    fgt_ok(log_loss(self, 2, 2, &err));
    fgt_ok(OPS.open(self, &start, &lines, &err));
    assert_int_equal(lines, 0);
    fgt_ok(log_loss(self, 2, 3, &err));
    OPS.destroy(self);
    assert_string_equal(events_of(folder),
                        BEGIN(0) "0 model: text, x = input() 4; " BEGIN(1) LINE(2, 0, 3));
}

static fg_status log_items_again(void *folder, fg_error *err)
{
    void *self = NULL;
    int64_t lines = -1;
    const fg_log_start start = start_at(folder, 0, -1);
    fg_status status = create(true, &self, err);
    if (status == FG_OK)
        status = OPS.open(self, &start, &lines, err);
    if (status == FG_OK)
        status = log_items(self, err);
    if (status == FG_OK)
        status = OPS.saved(self, &(fg_log_saved){.path = fgt_path(folder, "w.safetensors")}, err);
    if (self != NULL)
        OPS.destroy(self);
    return status;
}

static void write_weights(const char *folder)
{
    static const float w[] = {-1, 3, (float)NAN, 3, 3, 3};
    static const uint16_t half[] = {0x3c00, 0xc000, 0x7c00, 0x0001}, brain[] = {0x3f80, 0x4000};
    static const int64_t count[] = {7};
    static const fg_ckpt_tensor tensors[] = {
        {"w", {.dtype = FG_F32, .rank = 2, .dim = {2, 3}}, w},
        {"f16", {.dtype = FG_F16, .rank = 1, .dim = {4}}, half},
        {"bf16", {.dtype = FG_BF16, .rank = 1, .dim = {2}}, brain},
        {"steps", {.dtype = FG_S64}, count}};
    fg_error err = {0};
    fgt_ok(fg_safetensors_write(fgt_path(folder, "w.safetensors"), tensors, 4, NULL, &err));
}

/* Only the parameters of the model, not what the optimizer keeps of them. */
static void states_of_the_optimizer_are_no_weights(void **state)
{
    static const float w[] = {1, 2}, m[] = {3, 4};
    static const fg_ckpt_tensor model = {"w", {.dtype = FG_F32, .rank = 1, .dim = {2}}, w};
    static const fg_ckpt_tensor moment = {"m/w", {.dtype = FG_F32, .rank = 1, .dim = {2}}, m};
    fg_error err = {0};
    int64_t lines = -1;
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "step-4");
    void *self = NULL;
    (void)state;
    fgt_ok(fg_ckpt_save(
        path,
        &(fg_ckpt_content){.model = &model, .model_count = 1, .state = &moment, .state_count = 1},
        &err));
    fgt_ok(create(true, &self, &err));
    const fg_log_start start = start_at(folder, 0, -1);
    fgt_ok(OPS.open(self, &start, &lines, &err));
    fgt_ok(OPS.saved(self, &(fg_log_saved){.path = path, .step = 4}, &err));
    OPS.destroy(self);
    assert_string_equal(events_of(folder),
                        BEGIN(0) "4 weights/w: 2 values from 1 to 2, sum 3, of squares 5, 64 bins "
                                 "to 2: 1 at 0, 1 at 63, ");
}

/* Of the parameters in a checkpoint, with the option; values that are not finite are left out. */
static void weights_are_histograms(void **state)
{
    fg_error err = {0};
    int64_t lines = -1;
    const char *folder = fgt_temp_folder();
    void *self = NULL;
    (void)state;
    write_weights(folder);
    fgt_ok(create(true, &self, &err));
    const fg_log_start start = start_at(folder, 0, -1);
    const fg_log_saved saved = {.path = fgt_path(folder, "w.safetensors"), .step = 4};
    fgt_ok(OPS.open(self, &start, &lines, &err));
    fgt_ok(OPS.saved(self, &saved, &err));
    fgt_ok(OPS.saved(self, &(fg_log_saved){.path = "/nonexistent"}, &err)); /* removed meanwhile */
    fgt_write(fgt_path(folder, "bad.safetensors"), "x", 1);
    assert_int_equal(
        OPS.saved(self, &(fg_log_saved){.path = fgt_path(folder, "bad.safetensors")}, &err),
        FG_EFORMAT);
    OPS.destroy(self);
    assert_string_equal(
        events_of(folder),
        BEGIN(0) "4 weights/w: 5 values from -1 to 3, sum 11, of squares 37, 64 bins to 3: 1 at 0, "
                 "4 at 63, "
                 "4 weights/bf16: 2 values from 1 to 2, sum 3, of squares 5, 64 bins to 2: 1 at 0, "
                 "1 at 63, "
                 "4 weights/f16: 3 values from -2 to 1, sum -1, of squares 5, 64 bins to 1: 1 at "
                 "0, 1 at 42, 1 at 63, ");
    const char *other = fgt_temp_folder();
    const fg_log_start plain = start_at(other, 0, -1);
    self = make(); /* without the option, and without settings */
    fgt_ok(OPS.open(self, &plain, &lines, &err));
    fgt_ok(OPS.saved(self, &saved, &err));
    fgt_ok(OPS.finish(self, &(fg_log_end){.state = FG_LOG_DONE, .message = ""}, &err));
    OPS.destroy(self);
    assert_string_equal(events_of(other), BEGIN(0));
}

static fg_status log_again(void *folder, fg_error *err)
{
    void *self = NULL;
    int64_t lines = -1;
    fg_log_start start = start_at(folder, 4, 3);
    start.history = fgt_path(folder, "metrics.jsonl");
    start.config = "a: 1\n";
    start.settings = &(fg_log_setting){"lr", "0.5"};
    start.setting_count = 1;
    fg_status status = create(false, &self, err);
    if (status == FG_OK)
        status = OPS.open(self, &start, &lines, err);
    if (status == FG_OK)
        status = log_loss(self, 6, 6, err);
    if (status == FG_OK)
        status = OPS.flush(self, err);
    if (status == FG_OK)
        status = OPS.finish(self, &(fg_log_end){.message = "", .step = 6}, err);
    if (self != NULL)
        OPS.destroy(self);
    return status;
}

static void no_failed_allocation_is_lost(void **state)
{
    static const char history[] = "{\"step\": 2, \"epoch\": 0, \"lr\": 0.125, \"train_loss\": 2}\n"
                                  "{\"step\": 4, \"epoch\": 1, \"lr\": 0.125, \"train_loss\": 4}\n"
                                  "{\"step\": 4, \"epoch\": 1, \"val_loss\": 0.5}\n";
    const char *folder = fgt_temp_folder();
    (void)state;
    fgt_write(fgt_path(folder, "metrics.jsonl"), history, sizeof history - 1);
    assert_int_equal(log_from(folder, 0, -1, NULL), 0);
    fgt_fault_loop(log_again, (void *)(uintptr_t)folder);
    const char *events = events_of(folder);
    const char *first = BEGIN(0) LINE(2, 0, 2) LINE(4, 1, 4) VAL BEGIN(5);
    assert_memory_equal(events, first, strlen(first));
    write_weights(folder);
    fgt_fault_loop(log_items_again, (void *)(uintptr_t)folder);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(bytes_are_those_of_tensorboard),
    cmocka_unit_test(a_resumed_run_has_every_step_once),
    cmocka_unit_test(an_incomplete_record_is_removed),
    cmocka_unit_test(a_line_without_numbers_counts),
    cmocka_unit_test(files_of_others_remain),
    cmocka_unit_test(lost_lines_come_from_the_history),
    cmocka_unit_test(names_and_values_of_scalars),
    cmocka_unit_test(settings_and_the_end_of_a_fit),
    cmocka_unit_test(a_resumed_run_ends_too),
    cmocka_unit_test(the_configuration_is_shown),
    cmocka_unit_test(lines_that_cannot_be_written_are_kept),
    cmocka_unit_test(a_folder_that_cannot_be_written),
    cmocka_unit_test(items_are_events),
    cmocka_unit_test(a_rollback_to_the_beginning_keeps_items),
    cmocka_unit_test(weights_are_histograms),
    cmocka_unit_test(states_of_the_optimizer_are_no_weights),
    cmocka_unit_test(no_failed_allocation_is_lost),
};
FGT_MAIN(tests)
