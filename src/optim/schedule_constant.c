/* schedule_constant.c - a constant learning rate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

static fg_status create(const fg_option_values *values, fg_schedule *out, fg_error *err)
{
    (void)values;
    (void)err;
    *out = (fg_schedule){0};
    return FG_OK;
}

const fg_schedule_entry fgi_constant_row = {
    .entry = {.name = "constant", .help = "the learning rate does not change", .spellings = "none"},
    .create = create};
