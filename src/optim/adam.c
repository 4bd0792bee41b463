/* adam.c - Adam, and AdamW, which has decoupled weight decay. Sources: Kingma and Ba 2015, "Adam: a
 * method for stochastic optimization"; Loshchilov and Hutter 2019, "Decoupled weight decay
 * regularization"; in the form of PyTorch's Adam and AdamW.
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

/* Shared by the parameters: Adam's bias corrections folded in, lr / (1 - beta1^t) and
 * 1 / sqrt(1 - beta2^t). */
enum { RATE, WIDEN };

static void prepare(fg_update *u)
{
    const fgi_number *rate = u->optimizer->scalars.decay_rate;
    const fg_tensor t = fg_add_scalar(fg_cast(u->step, u->dtype), 1);
    fg_update_set_shared(u, RATE, fg_div(u->lr, correction(t, fgi_launch_value(u, &rate[0]))));
    fg_update_set_shared(u, WIDEN, fg_rsqrt(correction(t, fgi_launch_value(u, &rate[1]))));
}

/* The update without weight decay. */
static fg_tensor step(const fg_update *u, fg_tensor p, fg_tensor g)
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

static bool counts_updates(const void *options) { return options != NULL; }

static fg_tensor update_adam(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fg_adam_options *o = fg_update_options(u);
    if (o->weight_decay != 0)
        g = fg_add(g, fgi_times(p, u->weight_decay));
    return step(u, p, g);
}

static fg_tensor update_adamw(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fg_adam_options *o = fg_update_options(u);
    if (o->weight_decay != 0)
        p = fgi_times(p, u->keep);
    return step(u, p, g);
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define OPTIONS(auto_decay, text)                                                                  \
    FGI_OPTION_LR(fg_adam_options, "0.001"),                                                       \
        FGI_OPTION_WEIGHT_DECAY(fg_adam_options, auto_decay, text),                                \
        FG_OPTION_PAIR(fg_adam_options, betas, FLOATS, "[0.9, 0.999]", "0..<1", "[0.9, 0.95]",     \
                       "Exponential decay rates of the first-moment and second-moment estimates "  \
                       "(beta1, beta2)."),                                                         \
        FG_OPTION(fg_adam_options, eps, FLOAT, "1e-08", "0..1", "1e-6",                            \
                  "Added to the denominator for numerical stability.")

static const fg_option adam_options[] = {
    OPTIONS("0", "Weight decay, added to the gradient (L2 penalty)."),
};
static const fg_option adamw_options[] = {
    OPTIONS("0.01", "Weight decay, decoupled from the gradient."),
};

/* With PyTorch's names of the moments. */
#define ROW(name_, help_)                                                                          \
    const fg_optimizer_entry fgi_##name_##_row = {                                                 \
        .entry = {.name = #name_, .help = (help_), FG_OPTIONS(name_##_options, fg_adam_options)},  \
        .moments = {"exp_avg", "exp_avg_sq"},                                                      \
        .counts_updates = counts_updates,                                                          \
        .prepare = prepare,                                                                        \
        .update = update_##name_};                                                                 \
    fg_optimizer *fg_##name_##_create(fg_module *root, const fg_adam_options *given)               \
    {                                                                                              \
        return fgi_optimizer_create(root, &fgi_##name_##_row,                                      \
                                    FGI_RESERVED(fg_adam_options, given));                         \
    }

ROW(adam, "Adam")
ROW(adamw, "Adam with decoupled weight decay")
