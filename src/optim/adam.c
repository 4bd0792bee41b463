/* adam.c - Adam and AdamW.
 * Sources: Kingma and Ba 2015, "Adam: a method for stochastic optimization"; Loshchilov and Hutter
 * 2019, "Decoupled weight decay regularization"; in the form of PyTorch's Adam and AdamW.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

/* 1 - beta^t for a count t, from r = -log(beta)/2: with y = tanh(r t) it is 2 y / (1 + y), which
 * keeps all digits where beta^t is close to 1, as 1 - pow(beta, t) in f32 does not. */
static fg_tensor correction(fg_tensor t, fg_tensor half_rate)
{
    const fg_tensor y = fg_tanh(fg_mul(t, half_rate));
    return fg_div(fg_mul_scalar(y, 2), fg_add_scalar(y, 1));
}

static void adam_prepare(fgi_update *u)
{
    const fgi_number *rate = u->optimizer->scalars.decay_rate;
    const fg_tensor t = fg_add_scalar(fg_cast(u->step, u->dtype), 1);
    u->rate = fg_div(u->lr, correction(t, fgi_launch_value(u, &rate[0])));
    u->widen = fg_rsqrt(correction(t, fgi_launch_value(u, &rate[1])));
}

static fg_tensor adam_step(const fgi_update *u, size_t index, fg_tensor p, fg_tensor g)
{
    const fgi_hyper *h = &u->optimizer->hyper;
    const fg_tensor old = fgi_moment(u, 0, index);
    const fg_tensor m = fg_add(old, fgi_times(fg_sub(g, old), u->rest));
    const fg_tensor s = fg_add(fg_mul_scalar(fgi_moment(u, 1, index), h->beta2),
                               fg_mul_scalar(fg_square(g), 1 - h->beta2));
    fgi_moment_assign(u, 0, index, m);
    fgi_moment_assign(u, 1, index, s);
    const fg_tensor size = fg_add_scalar(fgi_times(fg_sqrt(s), u->widen), h->eps);
    return fg_sub(p, fgi_times(fg_div(m, size), u->rate));
}

static fg_tensor adam_update(const fgi_update *u, size_t index, fg_tensor p, fg_tensor g)
{
    if (u->optimizer->hyper.weight_decay != 0)
        g = fg_add(g, fgi_times(p, u->weight_decay));
    return adam_step(u, index, p, g);
}

static fg_tensor adamw_update(const fgi_update *u, size_t index, fg_tensor p, fg_tensor g)
{
    if (u->optimizer->hyper.weight_decay != 0)
        p = fgi_times(p, u->keep);
    return adam_step(u, index, p, g);
}

static const fgi_rule adam = {.name = "adam",
                              .moment = {"exp_avg", "exp_avg_sq"},
                              .prepare = adam_prepare,
                              .update = adam_update};
static const fgi_rule adamw = {.name = "adamw",
                               .moment = {"exp_avg", "exp_avg_sq"},
                               .prepare = adam_prepare,
                               .update = adamw_update};

static double or_default(double value, double otherwise) { return value != 0 ? value : otherwise; }

fg_optimizer *fg_adam_create(fg_module *root, const fg_adam_options *options)
{
    if (!fgi_optimizer_check_reserved(root, FGI_RESERVED(fg_adam_options, options)))
        return NULL;
    const fg_adam_options o = options != NULL ? *options : (fg_adam_options){0};
    const fgi_hyper hyper = {.lr = or_default(o.lr, 1e-3),
                             .momentum = or_default(o.beta1, 0.9),
                             .beta2 = or_default(o.beta2, 0.999),
                             .eps = or_default(o.eps, 1e-8),
                             .weight_decay = o.weight_decay};
    return fgi_optimizer_create(root, &adam, &hyper, FGI_MOMENTS);
}

fg_optimizer *fg_adamw_create(fg_module *root, const fg_adamw_options *options)
{
    if (!fgi_optimizer_check_reserved(root, FGI_RESERVED(fg_adamw_options, options)))
        return NULL;
    const fg_adamw_options o = options != NULL ? *options : (fg_adamw_options){0};
    const fgi_hyper hyper = {.lr = or_default(o.lr, 1e-3),
                             .momentum = or_default(o.beta1, 0.9),
                             .beta2 = or_default(o.beta2, 0.999),
                             .eps = or_default(o.eps, 1e-8),
                             .weight_decay =
                                 o.no_weight_decay ? 0 : or_default(o.weight_decay, 0.01)};
    return fgi_optimizer_create(root, &adamw, &hyper, FGI_MOMENTS);
}
