/* lars.c - gradients scaled to the norm of each weight, with momentum; biases and norms, which have
 * less than two dimensions, are not scaled.
 * Source: You et al. 2017, "Large batch training of convolutional networks"; optax.lars.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

typedef struct lars {
    double lr, momentum, weight_decay, trust_coefficient;
    bool nesterov;
} lars;

static fg_tensor update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const lars *o = fg_update_options(u);
    g = fgi_add_decay(u, p, g);
    if (fg_tensor_type(p)->rank >= 2)
        g = fgi_trust(u, p, g, o->trust_coefficient);
    const fg_tensor step = fgi_times(g, u->lr);
    const fg_tensor v = fg_add(fgi_times(fg_update_moment(u, 0), u->momentum), step);
    fg_update_set_moment(u, 0, v);
    return fg_sub(p, o->nesterov ? fg_add(step, fgi_times(v, u->momentum)) : v);
}

static const fg_option options[] = {
    FGI_OPTION_LR(lars, "1"),
    FGI_OPTION_MOMENTUM(lars, "0.9"),
    FGI_OPTION_NESTEROV(lars),
    FGI_OPTION_WEIGHT_DECAY(lars, "0", FGI_DECAY_L2),
    FG_OPTION(lars, trust_coefficient, FLOAT, "0.001", "0<..", "0.01",
              "Norm of a step divided by that of its weight, for a learning rate of 1."),
};

const fg_optimizer_entry fgi_lars_row = {
    .entry = {.name = "lars",
              .help = "gradients scaled to the norm of each weight, with momentum",
              FG_OPTIONS(options, lars)},
    .moments = {"momentum_buffer"},
    .update = update};
