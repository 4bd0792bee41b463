/* adam.c - Adam, and AdamW, which has decoupled weight decay. Sources: Kingma and Ba 2015, "Adam: a
 * method for stochastic optimization"; Loshchilov and Hutter 2019, "Decoupled weight decay
 * regularization"; in the form of PyTorch's Adam and AdamW.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

void fgi_adam_prepare(fg_update *u, fg_tensor half_rate)
{
    const fgi_number *second = &u->group->scalars.decay_rate[1];
    fg_update_set_shared(u, FGI_ADAM_RATE, fg_div(u->lr, fgi_bias_correction(u, half_rate)));
    fg_update_set_shared(u, FGI_ADAM_WIDEN,
                         fg_rsqrt(fgi_bias_correction(u, fgi_launch_value(u, second))));
}

fg_tensor fgi_adam_moments(const fg_update *u, fg_tensor g, const fgi_adam *how,
                           fg_tensor *out_size)
{
    const fg_tensor m = fgi_move_moment(u, how->first, g, how->rest);
    const fg_tensor s = fg_add(fg_mul_scalar(fg_update_moment(u, how->first + 1), how->beta2),
                               fg_mul_scalar(fg_square(g), 1 - how->beta2));
    fg_update_set_moment(u, how->first + 1, s);
    const fg_tensor root = fgi_times(fg_sqrt(s), fg_update_shared(u, FGI_ADAM_WIDEN));
    *out_size = fg_add_scalar(root, how->eps);
    return m;
}

fg_tensor fgi_adam_step(const fg_update *u, fg_tensor p, fg_tensor g, const fgi_adam *how)
{
    fg_tensor size;
    const fg_tensor m = fgi_adam_moments(u, g, how, &size);
    return fg_sub(p, fgi_times(fg_div(m, size), fg_update_shared(u, FGI_ADAM_RATE)));
}

void fgi_adam_prepare_own(fg_update *u)
{
    fgi_adam_prepare(u, fgi_launch_value(u, &u->group->scalars.decay_rate[0]));
}

fgi_adam fgi_adam_of(const fg_update *u)
{
    const fg_adam_options *o = fg_update_options(u);
    return (fgi_adam){.rest = u->rest, .beta2 = o->betas[1], .eps = o->eps};
}

static fg_tensor update_adam(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fgi_adam how = fgi_adam_of(u);
    return fgi_adam_step(u, p, fgi_add_decay(u, p, g), &how);
}

static fg_tensor update_adamw(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const fgi_adam how = fgi_adam_of(u);
    return fgi_adam_step(u, fgi_decay(u, p), g, &how);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const fg_option adam_options[] = {FGI_OPTIONS_ADAM("0.001", "0", FGI_DECAY_L2, "1e-8")};
static const fg_option adamw_options[] = {
    FGI_OPTIONS_ADAM("0.001", "0.01", FGI_DECAY_DECOUPLED, "1e-8")};

/* With PyTorch's names of the moments. */
#define ROW(name_, help_)                                                                          \
    const fg_optimizer_entry fgi_##name_##_row = {                                                 \
        .entry = {.name = #name_, .help = (help_), FG_OPTIONS(name_##_options, fg_adam_options)},  \
        .moments = {"exp_avg", "exp_avg_sq"},                                                      \
        .counts_updates = fgi_always_counts,                                                       \
        .prepare = fgi_adam_prepare_own,                                                           \
        .update = update_##name_};                                                                 \
    fg_optimizer *fg_##name_##_create(fg_module *root, const fg_adam_options *given)               \
    {                                                                                              \
        return fgi_optimizer_create(root, &fgi_##name_##_row,                                      \
                                    FGI_RESERVED(fg_adam_options, given));                         \
    }

ROW(adam, "Adam")
ROW(adamw, "Adam with decoupled weight decay")
