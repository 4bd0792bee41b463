/* lamb.c - Adam's step of each parameter, scaled to the parameter's norm.
 * Source: You et al. 2020, "Large batch optimization for deep learning: training BERT in 76
 * minutes"; optax.lamb.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

static fg_tensor update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fgi_adam how = fgi_adam_of(u);
    const fgi_number *rate = &u->group->scalars.decay_rate[0];
    fg_tensor size;
    const fg_tensor m = fgi_adam_move(u, g, &how, &size);
    const fg_tensor correction = fgi_bias_correction(u, fgi_launch_value(u, rate));
    const fg_tensor one = fg_ones(u->trace, u->dtype, FG_SCALAR);
    const fg_tensor adam = fgi_times(fg_div(m, size), fg_div(one, correction));
    return fg_sub(p, fgi_times(fgi_trust(u, p, fgi_add_decay(u, p, adam), 1), u->lr));
}

static const fg_option options[] = {FGI_OPTIONS_ADAM("0.001", "0.01", FGI_DECAY_DECOUPLED, "1e-6")};

const fg_optimizer_entry fgi_lamb_row = {
    .entry = {.name = "lamb",
              .help = "Adam's step, scaled to the parameter's norm",
              FG_OPTIONS(options, fg_adam_options)},
    .moments = {"exp_avg", "exp_avg_sq"},
    .counts_updates = fgi_always_counts,
    .prepare = fgi_adam_prepare_own,
    .update = update};
