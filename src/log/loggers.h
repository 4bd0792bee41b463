/* loggers.h - the built-in rows of loggers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_LOG_LOGGERS_H
#define FGI_LOG_LOGGERS_H

#include <fulgurite/logger.h>

/* The built-in rows (loggers.c). */
extern const fg_entry *const fgi_logger_rows[];
extern const size_t fgi_logger_row_count;
extern const fg_logger_entry fgi_csv_logger_row, fgi_jsonl_logger_row, fgi_tensorboard_logger_row,
    fgi_mlflow_logger_row;

#endif
