/* adam.c - Adam, and AdamW, which has decoupled weight decay. Sources: Kingma and Ba 2015, "Adam: a
 * method for stochastic optimization"; Loshchilov and Hutter 2019, "Decoupled weight decay
 * regularization"; in the form of PyTorch's Adam and AdamW.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/op.h"
#include "optim/optimizer.h"

void fgi_adam_prepare(fg_update *u, fg_tensor half_rate)
{
    const fgi_number *second = &u->group->scalars.decay_rate[1];
    fg_update_set_shared(u, FGI_ADAM_RATE, fg_div(u->lr, fgi_bias_correction(u, half_rate)));
    fg_update_set_shared(u, FGI_ADAM_WIDEN,
                         fg_rsqrt(fgi_bias_correction(u, fgi_launch_value(u, second))));
}

/* The operands for p and g; their dtype is p's. */
static fgi_adam_operands operands(const fg_update *u, fg_tensor p, fg_tensor g, const fgi_adam *how)
{
    const fg_dtype dtype = fg_tensor_type(p)->dtype;
    fgi_adam_operands on = {
        .p = p,
        .m = fg_update_moment(u, how->first),
        .s = fg_update_moment(u, how->first + 1),
        .g = g,
        .rest = fg_cast(how->rest, dtype),
        .beta2 = fg_full(u->trace, dtype, how->beta2, FG_SCALAR),
        .rest2 = fg_full(u->trace, dtype, 1 - how->beta2, FG_SCALAR),
        .widen = fg_cast(fg_update_shared(u, FGI_ADAM_WIDEN), dtype),
        .eps = fg_full(u->trace, dtype, how->eps, FG_SCALAR),
        .rate = fg_cast(fg_update_shared(u, FGI_ADAM_RATE), dtype),
    };
    if (u->is_bad.handle != 0)
        on.after = fg_cast(u->is_bad, dtype);
    if (how->decay == FGI_PENALTY && u->group->hyper.weight_decay != 0)
        on.penalty = fg_cast(u->weight_decay, dtype);
    if (how->decay == FGI_DECOUPLED && u->group->hyper.weight_decay != 0)
        on.keep = fg_cast(u->keep, dtype);
    return on;
}

static void set_moments(const fg_update *u, int first, fg_tensor m, fg_tensor s)
{
    fg_update_set_moment(u, first, m);
    fg_update_set_moment(u, first + 1, s);
}

fg_tensor fgi_adam_move(const fg_update *u, fg_tensor g, const fgi_adam *how, fg_tensor *out_size)
{
    const fgi_adam_operands on = operands(u, g, g, how);
    fg_tensor m, s;
    fgi_adam_moments(&on, g, &m, &s);
    set_moments(u, how->first, m, s);
    *out_size = fgi_adam_size(&on, s);
    return m;
}

fg_tensor fgi_adam_step(const fg_update *u, fg_tensor p, fg_tensor g, const fgi_adam *how)
{
    const fgi_adam_operands on = operands(u, p, g, how);
    fgi_adam_results now;
    fgi_adam_update(&on, 1, &now);
    set_moments(u, how->first, now.m, now.s);
    return now.p;
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

/* Several parameters at a time. */
static void update_all(int decay, const fg_update *const *u, const fg_tensor *p, const fg_tensor *g,
                       size_t count, fg_tensor *out)
{
    enum { MOST = 30 };
    fgi_adam_operands on[MOST];
    fgi_adam_results now[MOST];
    for (size_t first = 0, n; first < count; first += n) {
        n = count - first < MOST ? count - first : MOST;
        for (size_t i = 0; i < n; i++) {
            fgi_adam how = fgi_adam_of(u[first + i]);
            how.decay = decay;
            on[i] = operands(u[first + i], p[first + i], g[first + i], &how);
        }
        fgi_adam_update(on, (int)n, now);
        for (size_t i = 0; i < n; i++) {
            set_moments(u[first + i], 0, now[i].m, now[i].s);
            out[first + i] = now[i].p;
        }
    }
}

static void update_adam(const fg_update *const *u, const fg_tensor *p, const fg_tensor *g,
                        size_t count, fg_tensor *out)
{
    update_all(FGI_PENALTY, u, p, g, count, out);
}

static void update_adamw(const fg_update *const *u, const fg_tensor *p, const fg_tensor *g,
                         size_t count, fg_tensor *out)
{
    update_all(FGI_DECOUPLED, u, p, g, count, out);
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
        .update_all = update_##name_};                                                             \
    fg_optimizer *fg_##name_##_create(fg_module *root, const fg_adam_options *given)               \
    {                                                                                              \
        return fgi_optimizer_create(root, &fgi_##name_##_row,                                      \
                                    FGI_RESERVED(fg_adam_options, given));                         \
    }

ROW(adam, "Adam")
ROW(adamw, "Adam with decoupled weight decay")
