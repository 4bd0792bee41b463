/* schedule_inverse_sqrt.c - the learning rate falls with the square root of the step.
 * Source: Vaswani et al. 2017, "Attention is all you need", section 5.3; transformers'
 * get_inverse_sqrt_schedule.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "optim/optimizer.h"

typedef struct inverse_sqrt {
    int64_t timescale;
} inverse_sqrt;

static double lr_at(const void *options, double lr, int64_t step, int64_t total_steps)
{
    (void)total_steps;
    return lr / sqrt(1 + (double)step / (double)((const inverse_sqrt *)options)->timescale);
}

static const fg_option options[] = {
    FG_OPTION(inverse_sqrt, timescale, INT, "10000", "1..", "4000",
              "It is lr / sqrt(1 + t / timescale), where t counts the steps after the warm-up; for "
              "a Transformer, give the steps of the warm-up."),
};

const fg_schedule_entry fgi_inverse_sqrt_row = {
    .entry = {.name = "inverse_sqrt",
              .help = "it falls with the square root of the step",
              FG_OPTIONS(options, inverse_sqrt)},
    .is_endless = true,
    .lr = lr_at};
