/* logger.h - the callback that writes metrics.csv and metrics.jsonl.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_LOGGER_H
#define FGI_TRAIN_LOGGER_H

#include <fulgurite/train.h>

typedef struct fgi_logger fgi_logger;

/* Opens metrics.csv and metrics.jsonl of a run; a callback. Existing rows after from_step, and
 * after the first `lines` unless that is -1, are deleted: they were written after the checkpoint
 * that the run resumes from. Only the first process writes: for others, *out is NULL, which has no
 * rows and needs no sync. */
fg_status fgi_logger_create(const char *run_dir, int process_index, int64_t from_step,
                            int64_t lines, fgi_logger **out, fg_error *err);
/* Rows in metrics.jsonl. */
int64_t fgi_logger_lines(const fgi_logger *logger);
/* Writes the rows that could not be written before; fails if that is still impossible. NULL is
 * allowed. */
fg_status fgi_logger_catch_up(fgi_logger *logger, fg_error *err);
/* Syncs what was written to the disk. Any thread. */
fg_status fgi_logger_sync(const fgi_logger *logger, fg_error *err);
extern const fg_callback_ops fgi_logger_ops;

#endif
