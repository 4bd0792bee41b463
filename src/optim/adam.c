/* adam.c - Adam, and the code that it shares with AdamW. Source: Kingma and Ba 2015, "Adam: a
 * method for stochastic optimization"; in the form of PyTorch's Adam.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/adam.h"

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
    const fg_adam_options *o = fg_update_options(u);
    const fg_tensor old = fg_update_moment(u, 0);
    const fg_tensor m = fg_add(old, fgi_times(fg_sub(g, old), u->rest));
    const fg_tensor s = fg_add(fg_mul_scalar(fg_update_moment(u, 1), o->betas[1]),
                               fg_mul_scalar(fg_square(g), 1 - o->betas[1]));
    fg_update_set_moment(u, 0, m);
    fg_update_set_moment(u, 1, s);
    const fg_tensor size = fg_add_scalar(fgi_times(fg_sqrt(s), fg_update_shared(u, WIDEN)), o->eps);
    return fg_sub(p, fgi_times(fg_div(m, size), fg_update_shared(u, RATE)));
}

bool fgi_adam_counts_updates(const void *options) { return options != NULL; }

/* ---- Adam ------------------------------------------------------------------------------------ */

static fg_tensor update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fg_adam_options *o = fg_update_options(u);
    if (o->weight_decay != 0)
        g = fg_add(g, fgi_times(p, u->weight_decay));
    return fgi_adam_step(u, p, g);
}

static const fg_option options[] = {
    FGI_ADAM_OPTIONS("0", "Weight decay, added to the gradient (L2 penalty)."),
};

const fg_optimizer_entry fgi_adam_row = {
    .entry = {.name = "adam", .help = "Adam", FG_OPTIONS(options, fg_adam_options)},
    FGI_ADAM_MEMBERS,
    .update = update};

fg_optimizer *fg_adam_create(fg_module *root, const fg_adam_options *given)
{
    return fgi_optimizer_create(root, &fgi_adam_row, FGI_RESERVED(fg_adam_options, given));
}
