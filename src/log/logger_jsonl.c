/* logger_jsonl.c - the logger `jsonl`: metrics.jsonl in the run folder.
 *
 * A line is {"step": 50, "epoch": 0, "lr": ..., "train_loss": ...} every log_every steps, and
 * {"step": ..., "epoch": 0, "val_loss": ...} after a validation. Unless the option wall_time is
 * set, it contains no times, so that a resumed run writes the same as an uninterrupted one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "log/log_file.h"
#include "log/logger.h"

typedef struct jsonl {
    fgi_log_file file;
    bool wall_time;
} jsonl;

/* Continues the file of a run, without the lines that are not valid. */
static fg_status open_file(void *self, const fg_log_start *start, int64_t *out_lines, fg_error *err)
{
    jsonl *logger = self;
    char *text;
    size_t size;
    FGI_TRY(fgi_log_file_begin(&logger->file, start, "metrics.jsonl", &text, &size, err));
    *out_lines = fgi_log_each_line((fgi_str){text, size}, start, NULL, NULL, &size);
    const fg_status status = fgi_log_file_replace(&logger->file, text, size, err);
    fgi_free(text);
    return status;
}

static void put_line(const fg_log_line *line, bool has_time, fgi_buf *out)
{
    fgi_buf_printf(out, "{\"step\": %" PRId64 ", \"epoch\": %" PRId64, line->step, line->epoch);
    if (has_time) {
        fgi_buf_puts(out, ", \"" FGI_LOG_TIME "\": ");
        fgi_log_put_time(out, line->wall_time);
    }
    if (!line->is_validation) {
        fgi_buf_puts(out, ", \"lr\": ");
        fgi_log_put_number(out, line->lr, "null");
    }
    for (size_t i = 0; i < line->metric_count; i++) {
        fgi_buf_printf(out, ", \"%s\": ", line->metrics[i].name);
        fgi_log_put_number(out, line->metrics[i].value, "null");
    }
    fgi_buf_puts(out, "}\n");
}

static fg_status flush(void *self, fg_error *err)
{
    jsonl *logger = self;
    if (logger->file.kept.size == 0)
        return FG_OK;
    return fgi_log_kept(&logger->file, fgi_log_file_append(&logger->file, err), err);
}

static fg_status log_line(void *self, const fg_log_line *line, fg_error *err)
{
    jsonl *logger = self;
    const size_t before = logger->file.kept.size;
    put_line(line, logger->wall_time, &logger->file.kept);
    FGI_TRY(fgi_log_keep(&logger->file, before, err));
    return flush(logger, err);
}

static const fg_logger_ops ops = {.name = "jsonl",
                                  .is_required = true,
                                  .has_thread = true,
                                  .open = open_file,
                                  .log = log_line,
                                  .flush = flush,
                                  .sync = fgi_log_file_sync,
                                  .destroy = fgi_log_file_destroy};

static const fg_option options[] = {FGI_OPTION_WALL_TIME(jsonl)};

const fg_logger_entry fgi_jsonl_logger_row = {
    .entry = {.name = "jsonl",
              .help = "metrics.jsonl in the run's folder, one JSON object per log event",
              FG_OPTIONS(options, jsonl)},
    .ops = &ops};
