/* loggers.c - the loggers that a configuration can name: a row each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "log/logger.h"

#define ROWS(ROW)                                                                                  \
    ROW(fgi_csv_logger_row)                                                                        \
    ROW(fgi_jsonl_logger_row)                                                                      \
    ROW(fgi_tensorboard_logger_row)                                                                \
    ROW(fgi_mlflow_logger_row)

#define DECLARE(name) extern const fg_logger_entry name;
ROWS(DECLARE)

#define ADDRESS(name) &(name).entry,
const fg_entry *const fgi_logger_rows[] = {ROWS(ADDRESS)};
const size_t fgi_logger_row_count = sizeof fgi_logger_rows / sizeof fgi_logger_rows[0];
