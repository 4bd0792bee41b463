/* lion.c - updates by the sign of an interpolated momentum.
 * Source: Chen et al. 2023, "Symbolic discovery of optimization algorithms"; optax.lion.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

typedef struct lion {
    double lr, betas[2], weight_decay;
} lion;

static fg_tensor update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const lion *o = fg_update_options(u);
    const fg_tensor m = fg_update_moment(u, 0);
    const fg_tensor mixed = fg_add(m, fgi_times(fg_sub(g, m), u->rest));
    (void)fgi_move_moment(u, 0, g, fg_full(u->trace, u->dtype, 1 - o->betas[1], FG_SCALAR));
    return fg_sub(fgi_decay(u, p), fgi_times(fg_sign(mixed), u->lr));
}

static const fg_option options[] = {
    FGI_OPTION_LR(lion, "0.0001"),
    FGI_OPTION_WEIGHT_DECAY(lion, "0", FGI_DECAY_DECOUPLED),
    FGI_OPTION_BETAS(lion, "[0.9, 0.99]"),
};

const fg_optimizer_entry fgi_lion_row = {.entry = {.name = "lion",
                                                   .help = "updates by the sign of the momentum",
                                                   FG_OPTIONS(options, lion)},
                                         .moments = {"exp_avg"},
                                         .update = update};
