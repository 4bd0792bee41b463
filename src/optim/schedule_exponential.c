/* schedule_exponential.c - the learning rate falls by the same factor in each step.
 * Source: PyTorch's ExponentialLR.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "optim/optimizer.h"

typedef struct exponential {
    double gamma; /* NaN: 1 % at the end */
} exponential;

static double lr_at(const void *options, double lr, int64_t step, int64_t total_steps)
{
    const double gamma = ((const exponential *)options)->gamma;
    if (isnan(gamma))
        return lr * pow(0.01, fgi_schedule_done(step, total_steps));
    return lr * pow(gamma, (double)step);
}

static const fg_option options[] = {
    FG_OPTION(exponential, gamma, FLOAT, "auto", "auto|0<..1", "0.999",
              "Factor of each step. auto: so that 1 % of the learning rate is left at the end."),
};

const fg_schedule_entry fgi_exponential_row = {
    .entry = {.name = "exponential",
              .help = "it falls by the same factor in each step",
              .spellings = "ExponentialLR",
              FG_OPTIONS(options, exponential)},
    .lr = lr_at};
