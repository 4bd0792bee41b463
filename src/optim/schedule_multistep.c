/* schedule_multistep.c - the learning rate drops at given steps. Source: PyTorch's MultiStepLR.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "optim/optimizer.h"

typedef struct multistep {
    fg_floats milestones;
    double gamma;
} multistep;

static double lr_at(const void *options, double lr, int64_t step, int64_t total_steps)
{
    const multistep *o = options;
    int drops = 0;
    for (size_t i = 0; i < o->milestones.count; i++) {
        const double at = o->milestones.at[i];
        drops += (double)step >= (at < 1 ? floor(at * (double)total_steps) : at);
    }
    return lr * pow(o->gamma, drops);
}

static const fg_option options[] = {
    FG_OPTION(multistep, milestones, FLOATS, "[0.5, 0.75]", "0<..", "[1000, 5000]",
              "Steps at which it drops; below 1: fractions of the run."),
    FGI_OPTION_GAMMA(multistep, "0.1"),
};

const fg_schedule_entry fgi_multistep_row = {.entry = {.name = "multistep",
                                                       .help = "it drops at given steps",
                                                       .spellings = "MultiStepLR",
                                                       FG_OPTIONS(options, multistep)},
                                             .lr = lr_at};
