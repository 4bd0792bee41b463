/* logger.c - metrics.csv and metrics.jsonl in the run folder.
 *
 * A line of .jsonl is one event: {"step": 50, "epoch": 0, "lr": ..., "train_loss": ...} every
 * log_every steps, {"step": ..., "epoch": 0, "val_loss": ...} after a validation. The CSV has the
 * same rows below one header, which grows when there is a new metric. Neither contains times, so
 * that a resumed run writes the same as an uninterrupted one.
 *
 * A line that cannot be written (disk full) does not end the run: it is kept and written with a
 * later one. Until then, no checkpoint counts as saved, and a fit that ends in this state fails.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "ckpt/json_file.h"
#include "train/logger.h"
#include "train/trainer.h"

enum { MAX_COLUMNS = FG_MAX_RESULTS, FILE_LIMIT = 1 << 30, MOST_KEPT = 1 << 26 };

struct fgi_logger {
    char *jsonl_path, *csv_path;
    int jsonl, csv;    /* open for appending, or -1 */
    int64_t lines;     /* in the .jsonl, including those kept */
    fgi_buf kept;      /* lines that are not in the .jsonl yet */
    bool is_csv_stale; /* lacks lines of the .jsonl, and must be rewritten */
    size_t column_count;
    char column[MAX_COLUMNS][64];
};

static void put_number(fgi_buf *out, double value, const char *missing)
{
    if (isfinite(value))
        fgi_buf_printf(out, "%.9g", value);
    else
        fgi_buf_puts(out, missing);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The index of the column, which is added if it is new; MAX_COLUMNS: no space. */
static size_t column_of(fgi_logger *logger, const char *name)
{
    size_t i = 0;
    while (i < logger->column_count && strcmp(logger->column[i], name) != 0)
        i++;
    if (i == logger->column_count && i < MAX_COLUMNS) {
        (void)snprintf(logger->column[i], sizeof logger->column[i], "%s", name);
        logger->column_count++;
    }
    return i;
}

static void put_header(const fgi_logger *logger, fgi_buf *out)
{
    fgi_buf_puts(out, "step,epoch,lr");
    for (size_t i = 0; i < logger->column_count; i++)
        fgi_buf_printf(out, ",%s", logger->column[i]);
    fgi_buf_putc(out, '\n');
}

/* One line of .jsonl as a row of the CSV. */
static void put_row(fgi_logger *logger, const json_t *line, fgi_buf *out)
{
    const json_t *lr = json_object_get(line, "lr");
    fgi_buf_printf(out, "%" JSON_INTEGER_FORMAT ",%" JSON_INTEGER_FORMAT ",",
                   json_integer_value(json_object_get(line, "step")),
                   json_integer_value(json_object_get(line, "epoch")));
    if (lr != NULL)
        put_number(out, json_number_value(lr), "");
    for (size_t i = 0; i < logger->column_count; i++) {
        const json_t *value = json_object_get(line, logger->column[i]);
        fgi_buf_putc(out, ',');
        if (json_is_number(value))
            put_number(out, json_number_value(value), "");
    }
    fgi_buf_putc(out, '\n');
}

static void learn_columns(fgi_logger *logger, json_t *line)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(line, key, value)
    {
        if (strcmp(key, "step") != 0 && strcmp(key, "epoch") != 0 && strcmp(key, "lr") != 0)
            (void)column_of(logger, key);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Appends whole lines or nothing: a partial write to a full disk is truncated. */
static fg_status append(int fd, const char *path, const fgi_buf *text, fg_error *err)
{
    FGI_TRY(fgi_buf_status(text, err));
    const off_t before = lseek(fd, 0, SEEK_END);
    const fg_status status = fgi_write_all(fd, path, text->data, text->size, err);
    if (status != FG_OK && before >= 0 && ftruncate(fd, before) != 0)
        return status; /* a device, not a file */
    return status;
}

static fg_status reopen(int *fd, const char *path, fg_error *err)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0)
        return fgi_fail_errno(err, "open", path);
    return FG_OK;
}

/* The valid rows of a file: those up to a step, and the first `lines` (-1: all). */
typedef struct range {
    int64_t from_step, lines;
} range;

/* Calls `each` for the complete, valid lines of the .jsonl text; returns their size in bytes. */
static size_t each_line(fgi_logger *logger, const char *text, size_t size, range count,
                        void (*each)(fgi_logger *logger, json_t *line, fgi_buf *out), fgi_buf *out)
{
    size_t at = 0;
    int64_t number = 0;
    while (at < size && number != count.lines) {
        const char *end = memchr(text + at, '\n', size - at);
        if (end == NULL)
            break;
        json_t *line = fgi_json_load(text + at, (size_t)(end - text) - at, 0, NULL);
        const json_t *step = json_object_get(line, "step");
        const bool keeps = json_is_integer(step) && json_integer_value(step) <= count.from_step;
        if (keeps)
            each(logger, line, out);
        json_decref(line);
        if (!keeps)
            break;
        at = (size_t)(end - text) + 1;
        number++;
    }
    return at;
}

static void learn(fgi_logger *logger, json_t *line, fgi_buf *out)
{
    (void)out;
    learn_columns(logger, line);
}

static void take(fgi_logger *logger, json_t *line, fgi_buf *out)
{
    learn(logger, line, out);
    logger->lines++;
}

static void row(fgi_logger *logger, json_t *line, fgi_buf *out) { put_row(logger, line, out); }

/* Rewrites the CSV from the valid .jsonl lines. */
static fg_status write_csv(fgi_logger *logger, const char *text, size_t size, fg_error *err)
{
    const range all = {.from_step = INT64_MAX, .lines = -1};
    fgi_buf csv = {0};
    put_header(logger, &csv);
    const bool is_whole = each_line(logger, text, size, all, row, &csv) == size;
    fg_status status = is_whole ? fgi_buf_status(&csv, err) : fgi_no_memory(err);
    if (status == FG_OK)
        status = fgi_file_write_atomic(logger->csv_path, csv.data, csv.size, err);
    fgi_buf_fini(&csv);
    return status != FG_OK ? status : reopen(&logger->csv, logger->csv_path, err);
}

/* Continues the files of a run, without the rows that are not valid. */
static fg_status take_up(fgi_logger *logger, range count, fg_error *err)
{
    char *text = NULL;
    size_t size = 0;
    fg_status status = FG_OK;
    if (count.from_step > 0 && fgi_file_exists(logger->jsonl_path))
        FGI_DONE(fgi_file_read(logger->jsonl_path, FILE_LIMIT, &text, &size, err));
    size = each_line(logger, text, size, count, take, NULL);
    FGI_DONE(fgi_file_write_atomic(logger->jsonl_path, text != NULL ? text : "", size, err));
    FGI_DONE(reopen(&logger->jsonl, logger->jsonl_path, err));
    FGI_DONE(write_csv(logger, text, size, err));
done:
    fgi_free(text);
    return status;
}

static void destroy(void *self)
{
    fgi_logger *logger = self;
    if (logger->jsonl >= 0)
        (void)close(logger->jsonl);
    if (logger->csv >= 0)
        (void)close(logger->csv);
    fgi_buf_fini(&logger->kept);
    fgi_free(logger->jsonl_path);
    fgi_free(logger->csv_path);
    fgi_free(logger);
}

fg_status fgi_logger_create(const char *run_dir, int process_index, int64_t from_step,
                            int64_t lines, fgi_logger **out, fg_error *err)
{
    *out = NULL;
    if (process_index != 0)
        return FG_OK;
    fgi_logger *logger = fgi_calloc(1, sizeof *logger);
    if (logger == NULL)
        return fgi_no_memory(err);
    logger->jsonl = logger->csv = -1;
    logger->jsonl_path = fgi_path_join(run_dir, "metrics.jsonl");
    logger->csv_path = fgi_path_join(run_dir, "metrics.csv");
    const fg_status status = logger->jsonl_path == NULL || logger->csv_path == NULL
                                 ? fgi_no_memory(err)
                                 : take_up(logger, (range){from_step, lines}, err);
    if (status != FG_OK) {
        destroy(logger);
        return status;
    }
    *out = logger;
    return FG_OK;
}

int64_t fgi_logger_lines(const fgi_logger *logger) { return logger != NULL ? logger->lines : -1; }

fg_status fgi_logger_sync(const fgi_logger *logger, fg_error *err)
{
    if (logger == NULL)
        return FG_OK;
    if (fdatasync(logger->jsonl) != 0 &&
        errno != EINVAL) /* EINVAL: not a file that can be synced */
        return fgi_fail_errno(err, "sync", logger->jsonl_path);
    return FG_OK;
}

/* ---- the callback ---------------------------------------------------------------------------- */

static void put_line(const fg_progress *at, bool with_lr, fgi_buf *out)
{
    fgi_buf_printf(out, "{\"step\": %" PRId64 ", \"epoch\": %" PRId64, at->step, at->epoch);
    if (with_lr) {
        fgi_buf_puts(out, ", \"lr\": ");
        put_number(out, at->lr, "null");
    }
    for (size_t i = 0; i < at->metric_count; i++) {
        fgi_buf_printf(out, ", \"%s\": ", at->metrics[i].name);
        put_number(out, at->metrics[i].value, "null");
    }
    fgi_buf_puts(out, "}\n");
}

/* Updates the CSV: appends the rows of these lines, or rewrites it if a column is new or rows are
 * missing. */
static fg_status write_rows(fgi_logger *logger, const char *lines, size_t count, fg_error *err)
{
    const range all = {.from_step = INT64_MAX, .lines = -1};
    const size_t before = logger->column_count;
    fg_status status = FG_OK;
    char *text = NULL;
    size_t size = 0;
    fgi_buf csv = {0};
    const bool is_whole = each_line(logger, lines, count, all, learn, NULL) == count;
    if (!is_whole || logger->column_count > before)
        logger->is_csv_stale = true;
    if (logger->is_csv_stale) {
        FGI_DONE(fgi_file_read(logger->jsonl_path, FILE_LIMIT, &text, &size, err));
        FGI_DONE(write_csv(logger, text, size, err));
        logger->is_csv_stale = false;
    } else {
        (void)each_line(logger, lines, count, all, row, &csv);
        status = append(logger->csv, logger->csv_path, &csv, err);
        logger->is_csv_stale = status != FG_OK;
    }
done:
    fgi_free(text);
    fgi_buf_fini(&csv);
    return status;
}

/* Writes the lines that are kept, and updates the CSV. */
static fg_status catch_up(fgi_logger *logger, fg_error *err)
{
    FGI_TRY(append(logger->jsonl, logger->jsonl_path, &logger->kept, err));
    const fg_status status = write_rows(logger, logger->kept.data, logger->kept.size, err);
    fgi_buf_clear(&logger->kept);
    return status;
}

/* A failure to write is reported once, and again after a success. */
static fg_status tolerate(fgi_logger *logger, bool was_good, fg_status status, fg_error *err)
{
    const bool is_good = status == FG_OK;
    if (status == FG_ENOMEM || logger->kept.size > MOST_KEPT)
        return status;
    if (was_good && !is_good)
        fgi_log(FG_LOG_ERROR,
                "%s; training continues, and the log will be written when that is possible again",
                err->message);
    else if (!was_good && is_good)
        fgi_log(FG_LOG_INFO, "'%s' is complete again", logger->jsonl_path);
    return FG_OK;
}

static fg_status log_event(fgi_logger *logger, const fg_progress *at, bool with_lr, fg_error *err)
{
    const size_t before = logger->kept.size;
    const bool was_good = before == 0 && !logger->is_csv_stale;
    put_line(at, with_lr, &logger->kept);
    if (logger->kept.failed) {
        logger->kept.size = before;
        logger->kept.failed = false;
        return fgi_no_memory(err);
    }
    logger->lines++;
    return tolerate(logger, was_good, catch_up(logger, err), err);
}

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    return log_event(self, at, true, err);
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    return log_event(self, at, false, err);
}

fg_status fgi_logger_catch_up(fgi_logger *logger, fg_error *err)
{
    if (logger == NULL || logger->kept.size == 0)
        return FG_OK;
    const fg_status status = catch_up(logger, err);
    (void)tolerate(logger, false, status, err);
    return logger->kept.size > 0 ? status : FG_OK;
}

static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_logger *logger = self;
    (void)at;
    return logger->kept.size > 0 || logger->is_csv_stale ? catch_up(logger, err) : FG_OK;
}

const fg_callback_ops fgi_logger_ops = {
    .log = on_log, .val_end = on_val_end, .fit_end = on_fit_end, .destroy = destroy};
