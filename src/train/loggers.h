/* loggers.h - the built-in rows of loggers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_LOGGERS_H
#define FGI_TRAIN_LOGGERS_H

#include <fulgurite/logger.h>

/* A logger that options.output.loggers can name: a constant row. */
typedef struct fgi_logger_row {
    const char *name;
    const fg_logger_ops *ops;
    /* Creates the argument of ops. Opens nothing: ops->open does. */
    fg_status (*create)(void **out_self, fg_error *err);
} fgi_logger_row;

/* The built-in rows (loggers.c). */
extern const fgi_logger_row *const fgi_logger_rows[];
extern const size_t fgi_logger_row_count;
extern const fgi_logger_row fgi_csv_logger_row, fgi_jsonl_logger_row;

#endif
