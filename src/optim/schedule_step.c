/* schedule_step.c - the learning rate drops at regular intervals. Source: PyTorch's StepLR.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "optim/optimizer.h"

typedef struct step_drops {
    fg_amount step_size;
    double gamma;
} step_drops;

static double lr_at(const void *options, double lr, int64_t step, int64_t total_steps)
{
    const step_drops *o = options;
    const int64_t size = fg_amount_of(o->step_size, total_steps);
    const int64_t drops = step / (size > 1 ? size : 1);
    return lr * pow(o->gamma, (double)drops);
}

static const fg_option options[] = {
    FG_OPTION(step_drops, step_size, AMOUNT, "0.3", NULL, "1000",
              "Steps from one drop to the next, or their fraction of the run."),
    FGI_OPTION_GAMMA(step_drops, "0.1"),
};

const fg_schedule_entry fgi_step_row = {.entry = {.name = "step",
                                                  .help = "it drops at regular intervals",
                                                  .spellings = "StepLR",
                                                  FG_OPTIONS(options, step_drops)},
                                        .lr = lr_at};
