/* schedule_constant.c - a constant learning rate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

static double lr_at(const void *options, double lr, int64_t step, int64_t total_steps)
{
    (void)options, (void)step, (void)total_steps;
    return lr;
}

const fg_schedule_entry fgi_constant_row = {
    .entry = {.name = "constant", .help = "the learning rate does not change", .spellings = "none"},
    .is_endless = true,
    .lr = lr_at};
