/* sgd.c - stochastic gradient descent, with momentum.
 * Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep
 * learning", in the form of PyTorch's SGD.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "optim/optimizer.h"

/* The first momentum buffer is the gradient itself, not dampened. */
static fg_tensor update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fg_sgd_options *o = fg_update_options(u);
    g = fgi_add_decay(u, p, g);
    if (fg_update_has_moment(u, 0)) {
        fg_tensor v = fgi_times(fg_update_moment(u, 0), u->momentum);
        if (o->dampening != 0)
            v = fgi_first_or(u, g, fg_add(v, fg_mul_scalar(g, 1 - o->dampening)));
        else
            v = fg_add(v, g);
        fg_update_set_moment(u, 0, v);
        g = o->nesterov ? fg_add(g, fgi_times(v, u->momentum)) : v;
    }
    return fg_sub(p, fgi_times(g, u->lr));
}

static fg_status check(const void *options, fg_error *err)
{
    const fg_sgd_options *o = options;
    if (o->nesterov && (o->momentum <= 0 || o->dampening != 0))
        return fgi_fail(err, FG_EINVAL,
                        "nesterov: requires momentum greater than 0 and dampening 0");
    return FG_OK;
}

static bool counts_updates(const void *options)
{
    return ((const fg_sgd_options *)options)->dampening != 0;
}

static const fg_option options[] = {
    FGI_OPTION_LR(fg_sgd_options, "0.01"),
    FGI_OPTION_MOMENTUM(fg_sgd_options, "0"),
    FG_OPTION(fg_sgd_options, dampening, FLOAT, "0", "0..1", "0.5",
              "Dampening of the momentum: the part of the gradient that it leaves out."),
    FGI_OPTION_NESTEROV(fg_sgd_options),
    FGI_OPTION_WEIGHT_DECAY(fg_sgd_options, "0", FGI_DECAY_L2),
};

const fg_optimizer_entry fgi_sgd_row = {.entry = {.name = "sgd",
                                                  .help = "stochastic gradient descent, with "
                                                          "momentum",
                                                  FG_OPTIONS(options, fg_sgd_options)},
                                        .moments = {"momentum_buffer"},
                                        .has_optional_momentum = true,
                                        .counts_updates = counts_updates,
                                        .check = check,
                                        .update = update};

fg_optimizer *fg_sgd_create(fg_module *root, const fg_sgd_options *given)
{
    return fgi_optimizer_create(root, &fgi_sgd_row, FGI_RESERVED(fg_sgd_options, given));
}
