/* schedule_polynomial.c - the learning rate falls as a power of the fraction of the run that is
 * left. Source: PyTorch's PolynomialLR; Chen et al. 2018, "DeepLab" (the "poly" policy).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "optim/optimizer.h"

typedef struct polynomial {
    double power, final;
} polynomial;

static double lr_at(const void *options, double lr, int64_t step, int64_t total_steps)
{
    const polynomial *o = options;
    const double left = 1 - fgi_schedule_done(step, total_steps);
    return fgi_schedule_between(lr, o->final, pow(left, o->power));
}

static const fg_option options[] = {
    FG_OPTION(polynomial, power, FLOAT, "0.9", "0<..100", "2",
              "The learning rate is that of linear to this power."),
    FGI_OPTION_FINAL(polynomial),
};

const fg_schedule_entry fgi_polynomial_row = {
    .entry = {.name = "polynomial",
              .help = "it falls as a power of the fraction of the run that is left",
              .spellings = "PolynomialLR|poly",
              FG_OPTIONS(options, polynomial)},
    .lr = lr_at};
