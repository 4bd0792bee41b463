/* schedules.c - the list of built-in schedules.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

#define ROWS(ROW)                                                                                  \
    ROW(fgi_constant_row)                                                                          \
    ROW(fgi_onecycle_row)                                                                          \
    ROW(fgi_step_row)                                                                              \
    ROW(fgi_multistep_row)                                                                         \
    ROW(fgi_exponential_row)                                                                       \
    ROW(fgi_cosine_row)                                                                            \
    ROW(fgi_linear_schedule_row)                                                                   \
    ROW(fgi_plateau_row)                                                                           \
    ROW(fgi_polynomial_row)                                                                        \
    ROW(fgi_inverse_sqrt_row)                                                                      \
    ROW(fgi_wsd_row)

#define DECLARE(name) extern const fg_schedule_entry name;
ROWS(DECLARE)

#define ADDRESS(name) &(name).entry,
const fg_entry *const fgi_schedule_rows[] = {ROWS(ADDRESS)};
const size_t fgi_schedule_row_count = sizeof fgi_schedule_rows / sizeof fgi_schedule_rows[0];
