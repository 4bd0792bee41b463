/* test_train_loggers.c - each logger alone, across a resume; a logger of the program, and its
 * failures.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"
#include "row.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"
#include "toy_place.h"
#include "row_names.h"
#include "log/log_file.h"
#include "log/logger.h"
#include "train/trainer.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

/* ---- files ----------------------------------------------------------------------------------- */

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

static void assert_text(const char *folder, const char *name, const char *expected)
{
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    fgt_ok(fgi_file_read(fgt_path(folder, name), 1 << 20, &text, &size, &err));
    assert_string_equal(text, expected);
    fgi_free(text);
}

/* Adds rows to a log in the folder by the logger with this name alone; returns how many it had. */
static int64_t log_alone(const char *name, const char *folder, int64_t from_step, int64_t lines)
{
    fg_error err = {0};
    fgi_logger *logger = NULL;
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list(name)}[0], &logger, &err));
    fgt_ok(fgi_logger_open(logger, folder, from_step, lines, &err));
    const int64_t had = fgi_logger_lines(logger);
    for (int64_t step = from_step + 2; step <= 6; step += 2) {
        fgt_ok(train_row(logger, step, (double)step, &err));
        if (step == 4)
            fgt_ok(val_row(logger, step, "val_loss", 0.5, &err));
    }
    fgi_logger_destroy(logger);
    return had;
}

/* What a logger of this row is called with that writes times, or not. */
static void *timed(const fg_logger_entry *entry, bool has_time)
{
    fg_error err = {0};
    void *self = NULL;
    fgt_ok(FGT_ROW_BEGIN(entry, has_time ? "{wall_time: true}" : NULL, &self, &err));
    return self;
}

static fgi_logger *open_timed(const char *folder, size_t row, bool has_time, int64_t from_step)
{
    const fg_logger_entry *entry = (const fg_logger_entry *)fgi_logger_rows[row];
    fgi_logger *logger = NULL;
    fg_error err = {0};
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("")}[0], &logger, &err));
    fgt_ok(fgi_logger_add(logger, entry->ops, timed(entry, has_time), &err));
    fgt_ok(fgi_logger_open(logger, folder, from_step, -1, &err));
    return logger;
}

/* Replaces times by T, after checking that they are those of now, in milliseconds. */
static void assert_timed(const char *folder, const char *name, const char *expected)
{
    fg_error err = {0};
    char *text = NULL, *out;
    size_t size = 0;
    fgt_ok(fgi_file_read(fgt_path(folder, name), 1 << 20, &text, &size, &err));
    char *const start = text;
    for (out = text; *text != '\0';) {
        char *end = text;
        const long long value = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : 0;
        if (value < 1000000000) {
            *out++ = *text++;
            continue;
        }
        assert_true(fabs((double)value - fgi_wall_time()) < 600);
        assert_true(strspn(end, ".0123456789") == 4 && *end == '.');
        end += 4;
        *out++ = 'T';
        text = end;
    }
    *out = '\0';
    assert_string_equal(start, expected);
    fgi_free(start);
}

/* Files without times continue with them, and the other way round. */
static void times_can_begin_and_end_with_a_resume(void **state)
{
    static const struct {
        const char *file, *expected;
    } rows[] = {{"metrics.csv",
                 "step,epoch,lr,train_loss,wall_time\n2,0,0.1,2,\n4,1,0.1,4,T\n6,1,0.1,6,\n"},
                {"metrics.jsonl",
                 "{\"step\": 2, \"epoch\": 0, \"lr\": 0.1, \"train_loss\": 2}\n"
                 "{\"step\": 4, \"epoch\": 1, \"wall_time\": T, \"lr\": 0.1, \"train_loss\": 4}\n"
                 "{\"step\": 6, \"epoch\": 1, \"lr\": 0.1, \"train_loss\": 6}\n"}};
    fg_error err = {0};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *folder = fgt_temp_folder();
        for (int64_t step = 2; step <= 6; step += 2) {
            fgi_logger *logger = open_timed(folder, i, step == 4, step - 1);
            assert_int_equal(fgi_logger_lines(logger), step / 2 - 1);
            fgt_ok(train_row(logger, step, (double)step, &err));
            fgi_logger_destroy(logger);
        }
        assert_timed(folder, rows[i].file, rows[i].expected);
    }
}

/* Without the other file, rows after the checkpoint are dropped, and logged again. */
static void each_logger_resumes_alone(void **state)
{
    (void)state;
    static const char csv[] = "step,epoch,lr,train_loss,val_loss\n"
                              "2,0,0.1,2,\n4,1,0.1,4,\n4,1,,,0.5\n6,1,0.1,6,\n";
    static const char jsonl[] = "{\"step\": 2, \"epoch\": 0, \"lr\": 0.1, \"train_loss\": 2}\n"
                                "{\"step\": 4, \"epoch\": 1, \"lr\": 0.1, \"train_loss\": 4}\n"
                                "{\"step\": 4, \"epoch\": 1, \"val_loss\": 0.5}\n"
                                "{\"step\": 6, \"epoch\": 1, \"lr\": 0.1, \"train_loss\": 6}\n";
    for (int is_csv = 0; is_csv < 2; is_csv++) {
        const char *folder = fgt_temp_folder(), *expected = is_csv ? csv : jsonl;
        const char *name = is_csv ? "csv" : "jsonl";
        const char *file = is_csv ? "metrics.csv" : "metrics.jsonl";
        assert_int_equal(log_alone(name, folder, 0, -1), 0);
        assert_text(folder, file, expected);
        assert_int_equal(log_alone(name, folder, 4, 3), 3);
        assert_text(folder, file, expected);
        assert_int_equal(log_alone(name, folder, 2, -1), 1);
        assert_text(folder, file, expected);
        assert_int_equal(log_alone(name, folder, 0, -1), 0);
        assert_text(folder, file, expected);
        assert_false(fgi_file_exists(fgt_path(folder, is_csv ? "metrics.jsonl" : "metrics.csv")));
        /* the other logger starts in the middle: this one keeps its rows */
        assert_int_equal(log_alone("csv, jsonl", folder, 4, 3), 3);
        assert_text(folder, file, expected);
    }
    fgi_logger *logger = NULL;
    fg_error err = {0};
    char expected_names[256];
    assert_int_equal(fgi_logger_init(&(fg_strings[]){fgt_list("csv, jsnl")}[0], &logger, &err),
                     FG_EINVAL);
    (void)snprintf(expected_names, sizeof expected_names,
                   "trainer: options.output.loggers: expected names of %s, got 'jsnl'",
                   row_names(FG_REGISTRY_LOGGER));
    assert_string_equal(err.message, expected_names);
    assert_int_equal(fgi_logger_init(&(fg_strings[]){fgt_list("csv, csv")}[0], &logger, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "trainer: options.output.loggers: csv is listed twice");
    assert_null(logger);
}

/* Also if another one is between them. */
static void a_logger_is_listed_once(void **state)
{
    fgi_logger *logger = NULL;
    fg_error err = {0};
    (void)state;
    assert_int_equal(
        fgi_logger_init(&(fg_strings[]){fgt_list("csv, jsonl, csv")}[0], &logger, &err), FG_EINVAL);
    assert_string_equal(err.message, "trainer: options.output.loggers: csv is listed twice");
    assert_null(logger);
}

/* Lines without times do not replace rows that have some, unless there are more. */
static void times_of_a_table_are_kept(void **state)
{
    static const char lines[] = "{\"step\": 2, \"epoch\": 0, \"lr\": 0.1, \"train_loss\": 3}\n"
                                "{\"step\": 4, \"epoch\": 1, \"lr\": 0.1, \"train_loss\": 5}\n";
    static const char *const tables[][2] = {
        {"step,epoch,lr,wall_time,train_loss\n2,0,0.1,1.500,3\n4,1,0.1,2.500,5\n",
         "step,epoch,lr,wall_time,train_loss\n2,0,0.1,1.500,3\n4,1,0.1,2.500,5\n"},
        {"step,epoch,lr,wall_time,train_loss\n2,0,0.1,1.500,3\n",
         "step,epoch,lr,wall_time,train_loss\n2,0,0.1,,3\n4,1,0.1,,5\n"}};
    fg_error err = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *folder = fgt_temp_folder();
        fgt_write(fgt_path(folder, "metrics.jsonl"), lines, sizeof lines - 1);
        fgt_write(fgt_path(folder, "metrics.csv"), tables[i][0], strlen(tables[i][0]));
        fgi_logger *logger = NULL;
        fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("jsonl")}[0], &logger, &err));
        fgt_ok(
            fgi_logger_add(logger, fgi_csv_logger_row.ops, timed(&fgi_csv_logger_row, true), &err));
        fgt_ok(fgi_logger_open(logger, folder, 9, -1, &err));
        assert_int_equal(fgi_logger_lines(logger), 2);
        fgi_logger_destroy(logger);
        assert_text(folder, "metrics.csv", tables[i][1]);
    }
}

static void reopen_csv(const char *folder, int64_t from_step, const char *expected)
{
    fg_error err = {0};
    fgi_logger *logger = NULL;
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("csv")}[0], &logger, &err));
    fgt_ok(fgi_logger_open(logger, folder, from_step, -1, &err));
    fgi_logger_destroy(logger);
    assert_text(folder, "metrics.csv", expected);
}

/* Columns that only dropped rows have are dropped with them; others keep their place. */
static void columns_of_dropped_rows_are_dropped(void **state)
{
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fgi_logger *logger = NULL;
    (void)state;
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("csv")}[0], &logger, &err));
    fgt_ok(fgi_logger_open(logger, folder, 0, -1, &err));
    fgt_ok(val_row(logger, 2, "val_a", 1, &err));
    fgt_ok(val_row(logger, 4, "val_b", 2, &err));
    fgt_ok(train_row(logger, 6, 3, &err));
    fgt_ok(val_row(logger, 8, "val_c", 4, &err));
    fgi_logger_destroy(logger);
    reopen_csv(folder, 9,
               "step,epoch,lr,val_a,val_b,train_loss,val_c\n2,0,,1,,,\n4,1,,,2,,\n"
               "6,1,0.1,,,3,\n8,2,,,,,4\n");
    reopen_csv(folder, 7,
               "step,epoch,lr,val_a,val_b,train_loss\n2,0,,1,,\n4,1,,,2,\n6,1,0.1,,,3\n");
    reopen_csv(folder, 4, "step,epoch,lr,val_a,val_b\n2,0,,1,\n4,1,,,2\n");
    reopen_csv(folder, 3, "step,epoch,lr,val_a\n2,0,,1\n");
    reopen_csv(folder, 1, "step,epoch,lr\n");
}

/* ---- a logger of the program ----------------------------------------------------------------- */

typedef struct board {
    fg_status opens, logs; /* what the functions return */
    int opened, logged, flushed, synced, destroyed;
    int validations;
    int64_t last_step, saved;
    int finished;
    fg_log_state state;
} board;

static fg_status board_open(void *self, const fg_log_start *start, int64_t *out_lines,
                            fg_error *err)
{
    board *b = self;
    b->opened++;
    assert_int_equal(start->step, 0);
    assert_non_null(start->history);
    assert_int_equal(*out_lines, -1);
    assert_string_equal(start->config, "lr: 0.1\n");
    assert_int_equal(start->setting_count, 2);
    assert_string_equal(start->settings[1].name, "model.units");
    assert_string_equal(start->settings[1].value, "64");
    assert_true(fabs(start->wall_time - fgi_wall_time()) < 600);
    (void)snprintf(err->message, sizeof err->message, "no board");
    return b->opens;
}

static fg_status board_log(void *self, const fg_log_line *line, fg_error *err)
{
    board *b = self;
    b->logged++;
    b->validations += line->is_validation;
    b->last_step = line->step;
    (void)snprintf(err->message, sizeof err->message, "no board");
    return b->logs;
}

static fg_status board_flush(void *self, fg_error *err)
{
    (void)err;
    ((board *)self)->flushed++;
    return ((board *)self)->logs;
}

static fg_status board_sync(void *self, fg_error *err)
{
    (void)err;
    ((board *)self)->synced++;
    return ((board *)self)->logs;
}

static fg_status board_saved(void *self, const fg_log_saved *saved, fg_error *err)
{
    ((board *)self)->saved = saved->step;
    assert_true(fgi_file_exists(fgt_path(saved->path, "manifest.json")));
    (void)err;
    return FG_OK;
}

static fg_status board_finish(void *self, const fg_log_end *end, fg_error *err)
{
    board *b = self;
    b->finished++;
    b->state = end->state;
    assert_int_equal(end->step, b->last_step);
    assert_int_equal(end->message[0] != '\0', end->state != FG_LOG_DONE);
    (void)err;
    return FG_OK;
}

static void board_destroy(void *self) { ((board *)self)->destroyed++; }

static int board_warnings;

static void count_warnings(void *self, fg_log_level level, const char *line)
{
    (void)self, (void)level;
    board_warnings += strstr(line, "logger 'board' failed: no board") != NULL;
}

/* What the loggers receive about the run; the strings are copied. */
static void set_info(fg_trainer *trainer)
{
    char config[] = "lr: 0.1\n", value[] = "64";
    fg_log_setting settings[] = {{"lr", "0.1"}, {"model.units", value}};
    const fg_run_info info = {.config = config, .settings = settings, .setting_count = 2};
    fg_error err = {0};
    fgt_ok(fg_trainer_set_run_info(trainer, &(fg_run_info){.config = "replaced"}, &err));
    fgt_ok(fg_trainer_set_run_info(trainer, &info, &err));
    config[0] = value[0] = '?';
    settings[1].name = "?";
}

static fg_status fit_with_board(const char *folder, const char *loggers, bool is_required, board *b,
                                fg_error *err)
{
    const fg_logger_ops ops = {.name = "board",
                               .is_required = is_required,
                               .open = loggers == NULL ? board_open : NULL,
                               .log = board_log,
                               .flush = board_flush,
                               .sync = board_sync,
                               .saved = board_saved,
                               .finish = board_finish,
                               .destroy = board_destroy};
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = {.devices.client = client,
                                        .limits.max_epochs = 3,
                                        .checkpoints.run_dir = folder,
                                        .checkpoints.wait_for_saves = true,
                                        .output.log_every = 1,
                                        .output.loggers = fgt_list(loggers)};
    const fg_fit_data data = {
        .train = train_data, .val = val_data, .batch_size = 4, .workers = FG_NONE};
    assert_int_equal(toy_create(&options, &trainer, err), FG_OK);
    assert_int_equal(fg_trainer_add_logger(trainer, &ops, b, err), FG_OK);
    set_info(trainer);
    board_warnings = 0;
    fg_log_set(count_warnings, NULL);
    const fg_status status = fg_trainer_fit(trainer, &task, &data, err);
    fg_log_set(NULL, NULL);
    board late = {0};
    fg_error refused = {0};
    if (status == FG_OK) {
        assert_int_equal(fg_trainer_add_logger(trainer, &ops, &late, &refused), FG_EINVAL);
        assert_int_equal(late.destroyed, 1);
        assert_int_equal(fg_trainer_set_run_info(trainer, &(fg_run_info){0}, &refused), FG_EINVAL);
    }
    fg_trainer_destroy(trainer);
    assert_int_equal(b->destroyed, 1);
    return status;
}

/* It gets every line; its failures are reported once, and do not end the run unless it is
 * required. */
static void a_logger_of_the_program(void **state)
{
    (void)state;
    fg_error err = {0};
    board good = {0}, closed = {.opens = FG_EIO}, failing = {.logs = FG_EIO}, alone = {0},
          required = {.logs = FG_EIO};
    fgt_ok(fit_with_board(fgt_temp_folder(), NULL, false, &good, &err));
    assert_int_equal(good.opened, 1);
    assert_int_equal(good.logged, 12); /* nine steps, three validations */
    assert_int_equal(good.validations, 3);
    assert_int_equal(good.last_step, 9);
    assert_int_equal(good.saved, 9);
    assert_true(good.finished == 1 && good.state == FG_LOG_DONE);
    assert_true(good.flushed >= 3 && good.synced >= 3);
    assert_int_equal(board_warnings, 0);
    fgt_ok(fit_with_board(fgt_temp_folder(), NULL, false, &closed, &err));
    assert_int_equal(board_warnings, 1);
    assert_int_equal(closed.logged + closed.flushed + closed.synced, 0);
    const char *folder = fgt_temp_folder();
    fgt_ok(fit_with_board(folder, NULL, false, &failing, &err));
    assert_int_equal(board_warnings, 1);
    assert_int_equal(failing.logged, 12);
    assert_true(fgi_file_exists(fgt_path(folder, "checkpoints/step-000000009/manifest.json")));
    folder = fgt_temp_folder();
    fgt_ok(fit_with_board(folder, "", false, &alone, &err));
    assert_int_equal(alone.logged, 12);
    assert_false(fgi_file_exists(fgt_path(folder, "metrics.csv")));
    assert_false(fgi_file_exists(fgt_path(folder, "metrics.jsonl")));
    folder = fgt_temp_folder();
    assert_int_equal(fit_with_board(folder, "csv", true, &required, &err), FG_EIO);
    assert_false(fgi_file_exists(fgt_path(folder, "checkpoints/step-000000009/manifest.json")));
}

/* ---- a blocked logger ------------------------------------------------------------------------ */

/* Blocks in `log` until the last step starts. */
typedef struct blocked {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int started, logged, logged_at_last;
} blocked;

static fg_status blocked_log(void *self, const fg_log_line *line, fg_error *err)
{
    blocked *b = self;
    (void)line, (void)err;
    (void)pthread_mutex_lock(&b->mutex);
    while (b->started < 9)
        (void)pthread_cond_wait(&b->changed, &b->mutex);
    b->logged++;
    (void)pthread_mutex_unlock(&b->mutex);
    return FG_OK;
}

static void count_start(void *self, const fg_progress *at, fg_optimizer *optimizer)
{
    blocked *b = self;
    (void)at, (void)optimizer;
    (void)pthread_mutex_lock(&b->mutex);
    if (++b->started == 9)
        b->logged_at_last = b->logged;
    (void)pthread_cond_broadcast(&b->changed);
    (void)pthread_mutex_unlock(&b->mutex);
}

/* As `csv` and `jsonl` on a disk that does not answer: all steps are done meanwhile, and the fit
 * ends when all lines are logged. */
static void a_blocked_logger_delays_no_step(void **state)
{
    static const fg_logger_ops ops = {
        .name = "blocked", .is_required = true, .has_thread = true, .log = blocked_log};
    static const fg_callback_ops starts = {.name = "starts", .step_start = count_start};
    const fg_trainer_options options = {.devices.client = client,
                                        .limits.max_epochs = 3,
                                        .checkpoints.run_dir = fgt_temp_folder(),
                                        .checkpoints.ckpt_every_epochs = FG_NONE,
                                        .output.log_every = 1};
    const fg_fit_data data = {
        .train = train_data, .val = val_data, .batch_size = 4, .workers = FG_NONE};
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    blocked b = {0};
    (void)state;
    fgt_ok(fgi_mutex_init(&b.mutex, &err));
    fgt_ok(fgi_cond_init(&b.changed, &err));
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_logger(trainer, &ops, &b, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &starts, &b, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(b.logged_at_last, 0);
    assert_int_equal(b.logged, 12);
    fg_trainer_destroy(trainer);
    (void)pthread_cond_destroy(&b.changed);
    (void)pthread_mutex_destroy(&b.mutex);
    for (size_t i = 0; i < fgi_logger_row_count; i++)
        assert_true(((const fg_logger_entry *)fgi_logger_rows[i])->ops->has_thread);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Logs in a folder that has a log already, then names a logger that does not exist. */
/* ---- rows of other files --------------------------------------------------------------------- */

/* What the table of a run that continues at step 9 keeps of its rows, before the row of step 10. */
static const struct {
    const char *before, *kept, *last;
} tables[] = {
    {"step,epoch,lr,train_loss\n2,0,0.1,7\n9,2,0.1,6\n",
     "step,epoch,lr,train_loss\n2,0,0.1,7\n9,2,0.1,6\n", "10,2,0.1,3\n"},
    {"step,epoch,lr,a\n2,0,0.1,7\n", "step,epoch,lr,a,train_loss\n2,0,0.1,7,\n", "10,2,0.1,,3\n"},
    {"step,epoch,lrx\n2,0,0.1\n", "step,epoch,lr,train_loss\n", "10,2,0.1,3\n"},
    {"step,epoch\n2,0\n", "step,epoch,lr,train_loss\n", "10,2,0.1,3\n"},
    {"step,epoch,lr\n2,0,0.1\n", "step,epoch,lr,train_loss\n2,0,0.1,\n", "10,2,0.1,3\n"},
    {"step,epoch,lr,train_loss,b\n2,0,0.1,7,8\n4,1,0.1,9\n6,1,0.1,5,4\n",
     "step,epoch,lr,train_loss,b\n2,0,0.1,7,8\n", "10,2,0.1,3,\n"},
    {"step,epoch,lr,train_loss\n2,0,0.1,7\n4,1,0.1,9,\n", "step,epoch,lr,train_loss\n2,0,0.1,7\n",
     "10,2,0.1,3\n"},
    {"step,epoch,lr,train_loss\n2,0,0.1,7\n4,1,0.1,9", "step,epoch,lr,train_loss\n2,0,0.1,7\n",
     "10,2,0.1,3\n"},
    {"step,epoch,lr,train_loss\n2,0,0.1,7\nfour,1,0.1,9\n", "step,epoch,lr,train_loss\n2,0,0.1,7\n",
     "10,2,0.1,3\n"},
    {"step,epoch,lr,a,b\n2,0,0.1,7,\n10,2,0.1,,8\n", "step,epoch,lr,a,train_loss\n2,0,0.1,7,\n",
     "10,2,0.1,,3\n"},
    {"step,epoch,lr,a\n10,2,0.1,7\n2,0,0.1,7\n", "step,epoch,lr,train_loss\n", "10,2,0.1,3\n"},
    {"step,epoch,lr,train_loss", "step,epoch,lr,train_loss\n", "10,2,0.1,3\n"},
    {"", "step,epoch,lr,train_loss\n", "10,2,0.1,3\n"},
};

static void rows_that_a_table_keeps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char expected[256];
        fg_error err = {0};
        fgi_logger *logger = NULL;
        const char *folder = fgt_temp_folder();
        fgt_write(fgt_path(folder, "metrics.csv"), tables[i].before, strlen(tables[i].before));
        fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("csv")}[0], &logger, &err));
        fgt_ok(fgi_logger_open(logger, folder, 9, -1, &err));
        fgt_ok(train_row(logger, 10, 3, &err));
        fgi_logger_destroy(logger);
        (void)snprintf(expected, sizeof expected, "%s%s", tables[i].kept, tables[i].last);
        assert_text(folder, "metrics.csv", expected);
    }
}

/* A log line as the other loggers get it: a rate that is null is one of training, too. */
static void lines_are_read_back(void **state)
{
    fg_metric metrics[FGI_LOG_VALUES];
    (void)state;
    json_t *json = json_pack("{s:i, s:i, s:n, s:f, s:n, s:s, s:f}", "step", 3, "epoch", 1, "lr",
                             "a", 1.5, "b", "c", "x", "wall_time", 2.5);
    fg_log_line line = fgi_log_line_of(json, metrics);
    assert_true(line.step == 3 && line.epoch == 1 && !line.is_validation && isnan(line.lr));
    assert_true(line.metric_count == 3 && line.wall_time == 2.5);
    for (size_t i = 0; i < 3; i++)
        assert_true(strcmp(metrics[i].name, "a") == 0 ? metrics[i].value == 1.5
                                                      : isnan(metrics[i].value));
    (void)json_object_del(json, "lr");
    (void)json_object_del(json, "wall_time");
    for (int i = 0; i < FGI_LOG_VALUES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "m%d", i);
        (void)json_object_set_new(json, name, json_integer(i));
    }
    line = fgi_log_line_of(json, metrics);
    assert_true(line.is_validation && isnan(line.lr) && isnan(line.wall_time));
    assert_int_equal(line.metric_count, FGI_LOG_VALUES); /* the first ones */
    json_decref(json);
}

/* A new run begins with empty files, whatever the rows in the folder say. */
static void a_new_run_keeps_no_rows(void **state)
{
    static const char row[] = "step,epoch,lr,val_loss\n0,0,,7\n", line[] = "{\"step\": 0}\n";
    fg_error err = {0};
    fgi_logger *logger = NULL;
    const char *folder = fgt_temp_folder();
    (void)state;
    fgt_write(fgt_path(folder, "metrics.csv"), row, sizeof row - 1);
    fgt_write(fgt_path(folder, "metrics.jsonl"), line, sizeof line - 1);
    for (int i = 0; i < 3; i++) {
        fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list(i == 0   ? "csv"
                                                        : i == 1 ? "jsonl"
                                                                 : "csv, jsonl")}[0],
                               &logger, &err));
        fgt_ok(fgi_logger_open(logger, folder, 0, -1, &err));
        assert_int_equal(fgi_logger_lines(logger), 0);
        fgi_logger_destroy(logger);
        assert_text(folder, i == 1 ? "metrics.jsonl" : "metrics.csv",
                    i == 1 ? "" : "step,epoch,lr\n");
    }
}

/* A program that follows the file reads on, unless there is a new column. */
static void rows_are_appended(void **state)
{
    fg_error err = {0};
    fgi_logger *logger = NULL;
    struct stat first, second, third;
    const char *folder = fgt_temp_folder();
    (void)state;
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("csv")}[0], &logger, &err));
    fgt_ok(fgi_logger_open(logger, folder, 0, -1, &err));
    fgt_ok(train_row(logger, 1, 1, &err));
    fgt_ok(fgi_logger_catch_up(logger, &err));
    const int fd = open(fgt_path(folder, "metrics.csv"), O_RDONLY); /* keeps its number in use */
    assert_int_equal(fstat(fd, &first), 0);
    fgt_ok(train_row(logger, 2, 1, &err));
    fgt_ok(fgi_logger_catch_up(logger, &err));
    assert_int_equal(stat(fgt_path(folder, "metrics.csv"), &second), 0);
    assert_true(first.st_ino == second.st_ino);
    fgt_ok(val_row(logger, 2, "val_loss", 1, &err));
    fgt_ok(fgi_logger_catch_up(logger, &err));
    assert_int_equal(stat(fgt_path(folder, "metrics.csv"), &third), 0);
    assert_true(first.st_ino != third.st_ino);
    (void)close(fd);
    fgi_logger_destroy(logger);
}

/* The first metrics have columns; more have none. */
static void a_table_has_a_limit_of_columns(void **state)
{
    fg_error err = {0};
    fgi_logger *logger = NULL;
    const char *folder = fgt_temp_folder();
    char *text = NULL, name[16];
    size_t size = 0, commas = 0;
    (void)state;
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("csv")}[0], &logger, &err));
    fgt_ok(fgi_logger_open(logger, folder, 0, -1, &err));
    for (int i = 0; i < FGI_LOG_VALUES + 2; i++) {
        (void)snprintf(name, sizeof name, "m%d", i);
        fgt_ok(val_row(logger, 1, name, i, &err));
    }
    fgi_logger_destroy(logger);
    fgt_ok(fgi_file_read(fgt_path(folder, "metrics.csv"), 1 << 24, &text, &size, &err));
    for (const char *at = text; *at != '\n'; at++)
        commas += *at == ',';
    assert_int_equal(commas, 2 + FGI_LOG_VALUES);
    (void)snprintf(name, sizeof name, ",%d\n", FGI_LOG_VALUES - 1);
    assert_non_null(strstr(text, name)); /* the last column has its value */
    fgi_free(text);
}

static fg_status log_again(void *folder, fg_error *err)
{
    fgi_logger *logger = NULL;
    fg_status status = fgi_logger_init(&(fg_strings[]){fgt_list("csv, jsonl")}[0], &logger, err);
    if (status == FG_OK)
        status = fgi_logger_open(logger, folder, 2, 1, err);
    if (status == FG_OK)
        status = train_row(logger, 4, 0.5, err);
    if (status == FG_OK)
        status = val_row(logger, 4, "val_loss", 0.5, err);
    if (status == FG_OK)
        status = fgi_logger_catch_up(logger, err);
    fgi_logger_destroy(logger);
    if (status != FG_OK)
        return status;
    status = fgi_logger_init(&(fg_strings[]){fgt_list("jsonl, csw")}[0], &logger, err);
    assert_null(logger);
    return status == FG_EINVAL ? FG_OK : status;
}

static void no_failed_allocation_is_lost(void **state)
{
    static const char expected[] = "step,epoch,lr,train_loss,val_loss\n2,0,0.1,2,\n4,1,0.1,0.5,\n"
                                   "4,1,,,0.5\n";
    const char *folder = fgt_temp_folder();
    (void)state;
    assert_int_equal(log_alone("csv, jsonl", folder, 0, -1), 0);
    fgt_fault_loop(log_again, (void *)(uintptr_t)folder);
    assert_text(folder, "metrics.csv", expected);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(times_can_begin_and_end_with_a_resume),
    cmocka_unit_test(a_logger_is_listed_once),
    cmocka_unit_test(rows_that_a_table_keeps),
    cmocka_unit_test(lines_are_read_back),
    cmocka_unit_test(a_new_run_keeps_no_rows),
    cmocka_unit_test(rows_are_appended),
    cmocka_unit_test(a_table_has_a_limit_of_columns),
    cmocka_unit_test(times_of_a_table_are_kept),
    cmocka_unit_test(each_logger_resumes_alone),
    cmocka_unit_test(columns_of_dropped_rows_are_dropped),
    cmocka_unit_test(a_logger_of_the_program),
    cmocka_unit_test(a_blocked_logger_delays_no_step),
    cmocka_unit_test(no_failed_allocation_is_lost),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
