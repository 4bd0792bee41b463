/* schedules.c - the schedules that exist: a row each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

const fg_schedule_entry *const fgi_schedule_rows[] = {
    &fgi_constant_row,
    &fgi_onecycle_row,
};
const size_t fgi_schedule_row_count = sizeof fgi_schedule_rows / sizeof fgi_schedule_rows[0];
