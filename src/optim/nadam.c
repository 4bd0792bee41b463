/* nadam.c - Adam with Nesterov momentum. Source: Dozat 2016, "Incorporating Nesterov momentum into
 * Adam", with the momentum schedule of PyTorch's NAdam.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "optim/optimizer.h"

enum { PRODUCT = 2 }; /* of all mu so far: a scalar */

/* beta1 (1 - 0.96^(0.004 t) / 2), for the update that is `ahead` updates from this one. */
static fg_tensor mu(const fg_update *u, int ahead)
{
    const fg_tensor t = fg_add_scalar(fgi_update_number(u), ahead);
    const fg_tensor power = fg_exp(fg_mul_scalar(t, 0.004 * log(0.96)));
    return fg_mul(u->momentum, fg_add_scalar(fg_mul_scalar(power, -0.5), 1));
}

/* lr part / (1 - product) */
static fg_tensor rate(const fg_update *u, fg_tensor part, fg_tensor product)
{
    return fg_div(fg_mul(u->lr, part), fg_add_scalar(fg_neg(product), 1));
}

static fg_tensor update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fgi_adam how = fgi_adam_of(u);
    const fg_tensor now = mu(u, 0), next = mu(u, 1), one = fg_ones(u->trace, u->dtype, FG_SCALAR);
    const fg_tensor before = fg_cast(fg_update_moment(u, PRODUCT), u->dtype);
    const fg_tensor product = fg_mul(fgi_first_or(u, one, before), now);
    fg_tensor size;
    fg_update_set_moment(u, PRODUCT, fg_cast(product, fg_tensor_type(p)->dtype));
    g = fgi_add_decay(u, p, g);
    const fg_tensor m = fgi_adam_move(u, g, &how, &size);
    const fg_tensor of_g = fgi_times(g, rate(u, fg_sub(one, now), product));
    const fg_tensor of_m = fgi_times(m, rate(u, next, fg_mul(product, next)));
    return fg_sub(p, fg_div(fg_add(of_g, of_m), size));
}

static bool moment_type(const void *options, int moment, fg_type *type)
{
    (void)options;
    if (moment == PRODUCT)
        type->rank = 0;
    return true;
}

static const fg_option options[] = {FGI_OPTIONS_ADAM("0.002", "0", FGI_DECAY_L2, "1e-8")};

const fg_optimizer_entry fgi_nadam_row = {.entry = {.name = "nadam",
                                                    .help = "Adam with Nesterov momentum",
                                                    FG_OPTIONS(options, fg_adam_options)},
                                          .moments = {"exp_avg", "exp_avg_sq", "mu_product"},
                                          .moment_type = moment_type,
                                          .counts_updates = fgi_always_counts,
                                          .prepare = fgi_adam_prepare_own,
                                          .update = update};
