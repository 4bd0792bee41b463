/* sgd.c - stochastic gradient descent, with momentum.
 * Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep
 * learning", in the form of PyTorch's SGD.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "optim/optimizer.h"

/* Settings that only SGD has. */
typedef struct sgd_options {
    double dampening;
    bool nesterov, decays;
} sgd_options;

/* The first momentum buffer is the gradient itself, not dampened. */
static fg_tensor first_or(const fg_update *u, fg_tensor g, fg_tensor later)
{
    const fg_tensor zero = fg_zeros(u->trace, FG_S32, FG_SCALAR);
    return fg_where(fg_eq(u->step, zero), g, later);
}

static fg_tensor sgd_update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const sgd_options *o = fg_update_own(u);
    if (o->decays)
        g = fg_add(g, fgi_times(p, u->weight_decay));
    if (fg_update_has_moment(u, 0)) {
        fg_tensor v = fgi_times(fg_update_moment(u, 0), u->momentum);
        if (o->dampening != 0)
            v = first_or(u, g, fg_add(v, fg_mul_scalar(g, 1 - o->dampening)));
        else
            v = fg_add(v, g);
        fg_update_set_moment(u, 0, v);
        g = o->nesterov ? fg_add(g, fgi_times(v, u->momentum)) : v;
    }
    return fg_sub(p, fgi_times(g, u->lr));
}

static fg_status sgd_check(const void *own, double momentum, fg_error *err)
{
    const sgd_options *o = own;
    if (o->nesterov && (momentum <= 0 || o->dampening != 0))
        return fgi_fail(err, FG_EINVAL,
                        "nesterov requires momentum greater than 0 and dampening 0");
    return FG_OK;
}

static const fg_optimizer_rule rule = {.name = "sgd",
                                       .moments = {"momentum_buffer"},
                                       .has_optional_momentum = true,
                                       .check = sgd_check,
                                       .update = sgd_update};

fg_optimizer *fg_sgd_create(fg_module *root, const fg_sgd_options *options)
{
    if (!fgi_optimizer_check_reserved(root, FGI_RESERVED(fg_sgd_options, options)))
        return NULL;
    const fg_sgd_options o = options != NULL ? *options : (fg_sgd_options){0};
    const sgd_options own = {
        .dampening = o.dampening, .nesterov = o.nesterov, .decays = o.weight_decay != 0};
    return fg_optimizer_create(root, &rule,
                               &(fg_optimizer_options){.lr = o.lr,
                                                       .momentum = o.momentum,
                                                       .weight_decay = o.weight_decay,
                                                       .own = &own,
                                                       .own_bytes = sizeof own,
                                                       .counts_updates = o.dampening != 0});
}

/* ---- row --------------------------------------------------------------------------------- */

static fg_optimizer *create(fg_module *root, const fg_option_values *values)
{
    return fg_sgd_create(
        root, &(fg_sgd_options){.lr = fg_option_number(values, "lr"),
                                .momentum = fg_option_float(values, "momentum"),
                                .nesterov = fg_option_bool(values, "nesterov"),
                                .weight_decay = fg_option_number(values, "weight_decay")});
}

static const fg_option options[] = {
    FGI_OPTION_LR("0.01"),
    {.name = "momentum",
     .kind = FG_OPTION_FLOAT,
     .initial = "0",
     .range = "0..<1",
     .example = "0.9",
     .help = "Momentum factor."},
    {.name = "nesterov",
     .kind = FG_OPTION_BOOL,
     .initial = "false",
     .example = "true",
     .help = "Use Nesterov momentum."},
    FGI_OPTION_WEIGHT_DECAY("0", "Weight decay, added to the gradient (L2 penalty)."),
};

const fg_optimizer_entry fgi_sgd_row = {
    .entry = {.name = "sgd",
              .help = "stochastic gradient descent, with momentum",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .create = create};
