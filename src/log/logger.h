/* logger.h - the loggers of a run, as one callback, and what they log besides numbers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_LOG_LOGGER_H
#define FGI_LOG_LOGGER_H

#include <fulgurite/logger.h>

#include "base/arena.h"

/* The built-in rows (loggers.c). */
extern const fg_entry *const fgi_logger_rows[];
extern const size_t fgi_logger_row_count;
extern const fg_logger_entry fgi_csv_logger_row, fgi_jsonl_logger_row, fgi_tensorboard_logger_row,
    fgi_mlflow_logger_row;

/* ---- the loggers of a run -------------------------------------------------------------------- */

typedef struct fgi_logger fgi_logger;

/* Creates a callback with the built-in loggers that the list names, with their options. Errors:
 * FG_EINVAL for an unknown name or option, or the same logger twice; FG_ENOMEM. */
fg_status fgi_logger_init(const fg_strings *names, fgi_logger **out, fg_error *err);
/* Adds a logger; take_self is consumed, also on failure. Errors: as fg_trainer_add_logger. */
fg_status fgi_logger_add(fgi_logger *logger, const fg_logger_ops *ops, void *take_self,
                         fg_error *err);
/* Sets what the loggers receive in `open`. Errors: as fg_trainer_set_run_info. */
fg_status fgi_logger_set_info(fgi_logger *logger, const fg_run_info *info, fg_error *err);
/* Opens the logs of a run: lines of steps after from_step, and those of from_step after the first
 * `lines` of the log unless that is -1, were written after the checkpoint that the run resumes
 * from, and are deleted. */
fg_status fgi_logger_open(fgi_logger *logger, const char *run_dir, int64_t from_step, int64_t lines,
                          fg_error *err);
void fgi_logger_destroy(fgi_logger *logger); /* NULL is allowed */
/* Lines of the run's log, including those that could not be written yet; -1 for NULL. */
int64_t fgi_logger_lines(const fgi_logger *logger);
/* Whether a logger of the fit logs items: only then they need to be made. NULL is allowed. */
bool fgi_logger_takes_items(const fgi_logger *logger);
/* Whether the graph is still to be logged, which may be done before the log is open. */
bool fgi_logger_lacks_graph(const fgi_logger *logger);
/* Logs an item; if the log is not open yet, the first two when it is. */
void fgi_logger_item(fgi_logger *logger, const fg_log_item *item);
/* Sets how the fit ends, before its fit_end. NULL is allowed. */
void fgi_logger_set_end(fgi_logger *logger, fg_status status, const char *message);
/* Writes the lines that could not be written before; fails if that is still impossible for a
 * required logger. NULL is allowed. `flush` does not wait for loggers with a thread: for required
 * ones, `sync` does so. */
fg_status fgi_logger_flush(fgi_logger *logger, fg_error *err);
fg_status fgi_logger_catch_up(fgi_logger *logger, fg_error *err);
/* Syncs the lines of the last flush to the disk. Any thread. */
fg_status fgi_logger_sync(const fgi_logger *logger, fg_error *err);
extern const fg_callback_ops fgi_logger_ops;

/* ---- histograms ------------------------------------------------------------------------------ */

enum { FGI_LOG_BINS = 64 };

/* A histogram, and what its item refers to. Zero-initialize it. */
typedef struct fgi_histogram {
    double edges[FGI_LOG_BINS + 1], counts[FGI_LOG_BINS];
    double minimum, maximum, sum, sum_squares, count;
} fgi_histogram;

/* Counts `count` values in memory, which need not be aligned. False if the dtype is not a
 * floating-point one, or if no value is finite: *out is then empty. */
bool fgi_histogram_make(fg_dtype dtype, const void *data, size_t count, fgi_histogram *out);
/* An item that refers to it and to `name`. */
fg_log_item fgi_histogram_item(const fgi_histogram *histogram, const char *name);

/* ---- copies ---------------------------------------------------------------------------------- */

/* Replace all that they refer to by copies in the arena; false when out of memory. */
bool fgi_log_item_own(fg_log_item *item, fgi_arena *arena);
bool fgi_log_start_own(fg_log_start *start, fgi_arena *arena);

#endif
