/* schedule_linear.c - the learning rate falls linearly. Source: PyTorch's LinearLR.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

typedef struct fall {
    double final;
} fall;

static double lr_at(const void *options, double lr, int64_t step, int64_t total_steps)
{
    const fall *o = options;
    return fgi_schedule_between(lr, o->final, 1 - fgi_schedule_done(step, total_steps));
}

static const fg_option options[] = {FGI_OPTION_FINAL(fall)};

const fg_schedule_entry fgi_linear_schedule_row = {
    .entry = {.name = "linear", .help = "it falls linearly", FG_OPTIONS(options, fall)},
    .lr = lr_at};
