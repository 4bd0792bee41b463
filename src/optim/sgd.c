/* sgd.c - stochastic gradient descent, with momentum.
 * Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep
 * learning", in the form of PyTorch's SGD.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

/* The first buffer is the gradient whole, not dampened. */
static fg_tensor first_or(const fgi_update *u, fg_tensor g, fg_tensor later)
{
    const fg_tensor zero = fg_zeros(u->trace, FG_S32, FG_SCALAR);
    return fg_where(fg_eq(u->step, zero), g, later);
}

static fg_tensor sgd_update(const fgi_update *u, size_t index, fg_tensor p, fg_tensor g)
{
    const fgi_hyper *h = &u->optimizer->hyper;
    if (h->weight_decay != 0)
        g = fg_add(g, fgi_times(p, u->weight_decay));
    if (u->optimizer->moment[0] != NULL) {
        fg_tensor v = fgi_times(fgi_moment(u, 0, index), u->momentum);
        if (h->dampening != 0)
            v = first_or(u, g, fg_add(v, fg_mul_scalar(g, 1 - h->dampening)));
        else
            v = fg_add(v, g);
        fgi_moment_assign(u, 0, index, v);
        g = h->nesterov ? fg_add(g, fgi_times(v, u->momentum)) : v;
    }
    return fg_sub(p, fgi_times(g, u->lr));
}

static const fgi_rule sgd = {.name = "sgd", .moment = {"momentum_buffer"}, .update = sgd_update};

fg_optimizer *fg_sgd_create(fg_module *root, const fg_sgd_options *options)
{
    if (!fgi_optimizer_check_reserved(root, FGI_RESERVED(fg_sgd_options, options)))
        return NULL;
    const fg_sgd_options o = options != NULL ? *options : (fg_sgd_options){0};
    const fgi_hyper hyper = {.lr = o.lr != 0 ? o.lr : 1e-3,
                             .momentum = o.momentum,
                             .dampening = o.dampening,
                             .weight_decay = o.weight_decay,
                             .nesterov = o.nesterov};
    return fgi_optimizer_create(root, &sgd, &hyper, o.momentum != 0 ? 1 : 0);
}
