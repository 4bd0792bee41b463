/* adam.c - Adam, and the code that it shares with AdamW. Source: Kingma and Ba 2015, "Adam: a
 * method for stochastic optimization"; in the form of PyTorch's Adam.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/adam.h"

#include "base/error.h"

/* 1 - beta^t for a count t, from r = -log(beta)/2: with y = tanh(r t) it is 2 y / (1 + y), which
 * keeps all digits where beta^t is close to 1, as 1 - pow(beta, t) in f32 does not. */
static fg_tensor correction(fg_tensor t, fg_tensor half_rate)
{
    const fg_tensor y = fg_tanh(fg_mul(t, half_rate));
    return fg_div(fg_mul_scalar(y, 2), fg_add_scalar(y, 1));
}

/* Shared by the parameters: Adam's bias corrections folded in, lr / (1 - beta1^t) and
 * 1 / sqrt(1 - beta2^t). */
enum { RATE, WIDEN };

void fgi_adam_prepare(fg_update *u)
{
    const fgi_number *rate = u->optimizer->scalars.decay_rate;
    const fg_tensor t = fg_add_scalar(fg_cast(u->step, u->dtype), 1);
    fg_update_set_shared(u, RATE, fg_div(u->lr, correction(t, fgi_launch_value(u, &rate[0]))));
    fg_update_set_shared(u, WIDEN, fg_rsqrt(correction(t, fgi_launch_value(u, &rate[1]))));
}

fg_tensor fgi_adam_step(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fgi_adam *o = fg_update_own(u);
    const fg_tensor old = fg_update_moment(u, 0);
    const fg_tensor m = fg_add(old, fgi_times(fg_sub(g, old), u->rest));
    const fg_tensor s = fg_add(fg_mul_scalar(fg_update_moment(u, 1), o->beta2),
                               fg_mul_scalar(fg_square(g), 1 - o->beta2));
    fg_update_set_moment(u, 0, m);
    fg_update_set_moment(u, 1, s);
    const fg_tensor size = fg_add_scalar(fgi_times(fg_sqrt(s), fg_update_shared(u, WIDEN)), o->eps);
    return fg_sub(p, fgi_times(fg_div(m, size), fg_update_shared(u, RATE)));
}

fg_status fgi_adam_check(const void *own, double momentum, fg_error *err)
{
    const fgi_adam *o = own;
    (void)momentum;
    return o->eps >= 0 ? FG_OK : fgi_fail(err, FG_EINVAL, "eps %g: may not be negative", o->eps);
}

fgi_adam fgi_adam_resolved(double lr, double beta1, double beta2, double eps, double weight_decay)
{
    return (fgi_adam){.lr = fgi_or_default(lr, 1e-3),
                      .beta1 = fgi_or_default(beta1, 0.9),
                      .beta2 = fgi_or_default(beta2, 0.999),
                      .eps = fgi_or_default(eps, 1e-8),
                      .weight_decay = weight_decay};
}

fgi_adam fgi_adam_of(const fg_option_values *values)
{
    return (fgi_adam){.lr = fg_option_number(values, "lr"),
                      .beta1 = fg_option_float_at(values, "betas", 0),
                      .beta2 = fg_option_float_at(values, "betas", 1),
                      .eps = fg_option_float(values, "eps"),
                      .weight_decay = fg_option_number(values, "weight_decay")};
}

fg_optimizer *fgi_adam_create(fg_module *root, const fg_optimizer_rule *rule, fgi_adam adam)
{
    return fg_optimizer_create(root, rule,
                               &(fg_optimizer_options){.lr = adam.lr != 0 ? adam.lr : FG_ZERO,
                                                       .momentum = adam.beta1,
                                                       .decay = adam.beta2,
                                                       .weight_decay = adam.weight_decay,
                                                       .own = &adam,
                                                       .own_bytes = sizeof adam,
                                                       .counts_updates = true});
}

/* ---- Adam ------------------------------------------------------------------------------------ */

static fg_tensor adam_update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fgi_adam *o = fg_update_own(u);
    if (o->weight_decay != 0)
        g = fg_add(g, fgi_times(p, u->weight_decay));
    return fgi_adam_step(u, p, g);
}

static const fg_optimizer_rule rule = FGI_ADAM_RULE("adam", adam_update);

fg_optimizer *fg_adam_create(fg_module *root, const fg_adam_options *options)
{
    if (!fgi_optimizer_check_reserved(root, FGI_RESERVED(fg_adam_options, options)))
        return NULL;
    const fg_adam_options o = options != NULL ? *options : (fg_adam_options){0};
    return fgi_adam_create(root, &rule,
                           fgi_adam_resolved(o.lr, o.beta1, o.beta2, o.eps, o.weight_decay));
}

/* ---- row --------------------------------------------------------------------------------- */

static fg_optimizer *create(fg_module *root, const fg_option_values *values)
{
    return fgi_adam_create(root, &rule, fgi_adam_of(values));
}

static const fg_option options[] = {
    FGI_OPTION_LR("0.001"),
    FGI_OPTION_WEIGHT_DECAY("0", "Weight decay, added to the gradient (L2 penalty)."),
    FGI_OPTION_BETAS,
    FGI_OPTION_EPS,
};

const fg_optimizer_entry fgi_adam_row = {
    .entry = {.name = "adam",
              .help = "Adam",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .create = create};
