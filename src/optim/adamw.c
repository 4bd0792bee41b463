/* adamw.c - Adam with decoupled weight decay.
 * Source: Loshchilov and Hutter 2019, "Decoupled weight decay regularization"; in the form of
 * PyTorch's AdamW.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/adam.h"

static fg_tensor adamw_update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fgi_adam *o = fg_update_own(u);
    if (o->weight_decay != 0)
        p = fgi_times(p, u->keep);
    return fgi_adam_step(u, p, g);
}

static const fg_optimizer_rule rule = FGI_ADAM_RULE("adamw", adamw_update);

fg_optimizer *fg_adamw_create(fg_module *root, const fg_adamw_options *options)
{
    if (!fgi_optimizer_check_reserved(root, FGI_RESERVED(fg_adamw_options, options)))
        return NULL;
    const fg_adamw_options o = options != NULL ? *options : (fg_adamw_options){0};
    const double decay = fgi_or_default(o.weight_decay, 0.01);
    return fgi_adam_create(root, &rule, fgi_adam_resolved(o.lr, o.beta1, o.beta2, o.eps, decay));
}

/* ---- row --------------------------------------------------------------------------------- */

static fg_optimizer *create(fg_module *root, const fg_option_values *values)
{
    return fgi_adam_create(root, &rule, fgi_adam_of(values));
}

static const fg_option options[] = {
    FGI_OPTION_LR("0.001"),
    FGI_OPTION_WEIGHT_DECAY("0.01", "Weight decay, decoupled from the gradient."),
    FGI_OPTION_BETAS,
    FGI_OPTION_EPS,
};

const fg_optimizer_entry fgi_adamw_row = {
    .entry = {.name = "adamw",
              .help = "Adam with decoupled weight decay",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .create = create};
