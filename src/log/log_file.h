/* log_file.h - what the loggers that write files share: whole lines are appended or nothing, and
 * lines that cannot be written are kept in memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_LOG_LOG_FILE_H
#define FGI_LOG_LOG_FILE_H

#include <fulgurite/callback.h>
#include <fulgurite/logger.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/text.h"

enum { FGI_LOG_VALUES = FG_MAX_RESULTS + FG_MAX_LOG_VALUES };

/* A zero-initialized one has no file. The first member of these loggers. */
typedef struct fgi_log_file {
    char *path;
    int fd;       /* open for appending, or -1; only with a path */
    fgi_buf kept; /* text that is not in the file yet */
} fgi_log_file;

/* Sets the path, RUN_DIR/NAME, unless that is done. */
fg_status fgi_log_file_place(fgi_log_file *file, const char *run_dir, const char *name,
                             fg_error *err);
/* The same for a log that begins: nothing is kept. *out (fgi_free): the text of the file of a run
 * that continues, "" for a new one. */
fg_status fgi_log_file_begin(fgi_log_file *file, const fg_log_start *start, const char *name,
                             char **out, size_t *out_size, fg_error *err);
/* The text of the file (fgi_free), "" if it does not exist: the user may have deleted it. */
fg_status fgi_log_file_read(const fgi_log_file *file, char **out, size_t *out_size, fg_error *err);
/* Replaces the contents atomically and opens the file for appending. */
fg_status fgi_log_file_replace(fgi_log_file *file, const void *data, size_t size, fg_error *err);
/* Appends the text that is kept, or nothing if that fails. */
fg_status fgi_log_file_append(const fgi_log_file *file, fg_error *err);
/* Closes the file; what is kept remains. */
void fgi_log_file_close(fgi_log_file *file);

/* The kept text was added to, starting at `before`: takes it back if memory is exhausted. */
fg_status fgi_log_keep(fgi_log_file *file, size_t before, fg_error *err);
/* The kept text was written with this status: clears it, or reports the failure, with FG_ENOMEM if
 * it has become too much. */
fg_status fgi_log_kept(fgi_log_file *file, fg_status status, fg_error *err);

/* For fg_logger_ops: syncs the file, if there is one (any thread); frees the logger. */
fg_status fgi_log_file_sync(void *logger, fg_error *err);
void fgi_log_file_destroy(void *logger);

/* The option `wall_time` of loggers that write files. */
#define FGI_OPTION_WALL_TIME(type)                                                                 \
    FG_OPTION(type, wall_time, BOOL, "false", NULL, "true",                                        \
              "Add the time of the event, in seconds since 1970-01-01 UTC.")
#define FGI_LOG_TIME "wall_time" /* its column or key */
/* Writes seconds since the epoch with milliseconds. */
void fgi_log_put_time(fgi_buf *out, double seconds);
/* Writes "%.9g", or `missing` for a number that is not finite. */
void fgi_log_put_number(fgi_buf *out, double value, const char *missing);

/* Whether line `number` of the log, starting at 0, belongs to the checkpoint that a run continues
 * from. start->lines only decides about lines of the same step: a log has fewer lines than the run
 * if its logger was not used from the start. */
bool fgi_log_is_valid(const fg_log_start *start, int64_t step, int64_t number);

/* Calls `each` (may be NULL) for the valid lines at the beginning of the text of a .jsonl: complete
 * JSON objects that belong to the checkpoint. Returns their number, and their size in bytes in
 * *out_size (may be NULL). */
typedef void fgi_log_line_fn(void *self, json_t *line);
int64_t fgi_log_each_line(fgi_str text, const fg_log_start *start, fgi_log_line_fn *each,
                          void *self, size_t *out_size);
/* Calls `each` (may be NULL) for the valid lines of the history that a log continues from.
 * *out_lines: their number; 0 for a new run, and without a history. */
fg_status fgi_log_read_history(const fg_log_start *start, fgi_log_line_fn *each, void *self,
                               int64_t *out_lines, fg_error *err);
/* A line of a .jsonl, with its values in `metrics`; those that are missing are NaN. */
fg_log_line fgi_log_line_of(json_t *line, fg_metric metrics[FGI_LOG_VALUES]);

#endif
