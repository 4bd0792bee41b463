/* optimizers.c - the list of built-in optimizers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

#define ROWS(ROW)                                                                                  \
    ROW(fgi_sgd_row)                                                                               \
    ROW(fgi_adam_row)                                                                              \
    ROW(fgi_adamw_row)                                                                             \
    ROW(fgi_nadam_row)                                                                             \
    ROW(fgi_rmsprop_row)                                                                           \
    ROW(fgi_adagrad_row)                                                                           \
    ROW(fgi_adafactor_row)                                                                         \
    ROW(fgi_lamb_row)                                                                              \
    ROW(fgi_lars_row)                                                                              \
    ROW(fgi_lion_row)                                                                              \
    ROW(fgi_muon_row)

#define DECLARE(name) extern const fg_optimizer_entry name;
ROWS(DECLARE)

#define ADDRESS(name) &(name).entry,
const fg_entry *const fgi_optimizer_rows[] = {ROWS(ADDRESS)};
const size_t fgi_optimizer_row_count = sizeof fgi_optimizer_rows / sizeof fgi_optimizer_rows[0];
