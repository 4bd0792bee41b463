/* adagrad.c - gradients divided by the root of the sum of their squares.
 * Source: Duchi et al. 2011, "Adaptive subgradient methods for online learning and stochastic
 * optimization", in the form of PyTorch's Adagrad.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

typedef struct adagrad {
    double lr, weight_decay, eps;
} adagrad;

static fg_tensor update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const adagrad *o = fg_update_options(u);
    g = fgi_add_decay(u, p, g);
    const fg_tensor sum = fg_add(fg_update_moment(u, 0), fg_square(g));
    fg_update_set_moment(u, 0, sum);
    return fg_sub(p, fgi_times(fg_div(g, fg_add_scalar(fg_sqrt(sum), o->eps)), u->lr));
}

static const fg_option options[] = {
    FGI_OPTION_LR(adagrad, "0.01"),
    FGI_OPTION_WEIGHT_DECAY(adagrad, "0", FGI_DECAY_L2),
    FGI_OPTION_EPS(adagrad, "1e-10"),
};

const fg_optimizer_entry fgi_adagrad_row = {
    .entry = {.name = "adagrad",
              .help = "gradients divided by the root of the sum of their squares",
              FG_OPTIONS(options, adagrad)},
    .moments = {"sum"},
    .update = update};
