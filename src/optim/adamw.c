/* adamw.c - Adam with decoupled weight decay.
 * Source: Loshchilov and Hutter 2019, "Decoupled weight decay regularization"; in the form of
 * PyTorch's AdamW.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/adam.h"

static fg_tensor update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fg_adamw_options *o = fg_update_options(u);
    if (o->weight_decay != 0)
        p = fgi_times(p, u->keep);
    return fgi_adam_step(u, p, g);
}

static const fg_option options[] = {
    FGI_ADAM_OPTIONS("0.01", "Weight decay, decoupled from the gradient."),
};

const fg_optimizer_entry fgi_adamw_row = {.entry = {.name = "adamw",
                                                    .help = "Adam with decoupled weight decay",
                                                    FG_OPTIONS(options, fg_adam_options)},
                                          FGI_ADAM_MEMBERS,
                                          .update = update};

fg_optimizer *fg_adamw_create(fg_module *root, const fg_adamw_options *given)
{
    return fgi_optimizer_create(root, &fgi_adamw_row, FGI_RESERVED(fg_adamw_options, given));
}
