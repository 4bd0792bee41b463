/* update.c - what the functions of a row can read, the update of one parameter, and steps that
 * several rules share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

fg_tensor fg_update_lr(const fg_update *update) { return update->lr; }

fg_tensor fg_update_momentum(const fg_update *update) { return update->momentum; }

fg_tensor fg_update_weight_decay(const fg_update *update) { return update->weight_decay; }

fg_tensor fg_update_step(const fg_update *update) { return update->step; }

const void *fg_update_options(const fg_update *update) { return update->group->options; }

const char *fg_update_name(const fg_update *update)
{
    return fg_variable_name(update->optimizer->parameters[update->index]);
}

bool fg_update_has_moment(const fg_update *update, int moment)
{
    fg_variable *const *of_parameters = update->optimizer->moment[moment];
    return of_parameters != NULL && of_parameters[update->index] != NULL;
}

fg_tensor fg_update_moment(const fg_update *update, int moment)
{
    return fg_variable_value(update->trace, update->optimizer->moment[moment][update->index]);
}

void fg_update_set_moment(const fg_update *update, int moment, fg_tensor value)
{
    fg_assign(update->optimizer->moment[moment][update->index],
              fgi_guard_keep(update, value, fg_update_moment(update, moment)));
}

void fg_update_set_shared(fg_update *update, int index, fg_tensor value)
{
    update->shared[index] = value;
}

fg_tensor fg_update_shared(const fg_update *update, int index) { return update->shared[index]; }

/* ---- shared by rules ------------------------------------------------------------------------- */

bool fgi_always_counts(const void *options)
{
    (void)options;
    return true;
}

fg_tensor fgi_add_decay(const fg_update *u, fg_tensor p, fg_tensor g)
{
    return u->group->hyper.weight_decay != 0 ? fg_add(g, fgi_times(p, u->weight_decay)) : g;
}

fg_tensor fgi_decay(const fg_update *u, fg_tensor p)
{
    return u->group->hyper.weight_decay != 0 ? fgi_times(p, u->keep) : p;
}

fg_tensor fgi_first_or(const fg_update *u, fg_tensor first, fg_tensor later)
{
    const fg_tensor zero = fg_zeros(u->trace, FG_S32, FG_SCALAR);
    return fg_where(fg_eq(u->step, zero), first, later);
}

fg_tensor fgi_update_number(const fg_update *u)
{
    return fg_add_scalar(fg_cast(u->step, u->dtype), 1);
}

fg_tensor fgi_move_moment(const fg_update *u, int moment, fg_tensor value, fg_tensor rest)
{
    const fg_tensor old = fg_update_moment(u, moment);
    const fg_tensor now = fg_add(old, fgi_times(fg_sub(value, old), rest));
    fg_update_set_moment(u, moment, now);
    return now;
}

/* From r = -log(beta)/2: with y = tanh(r t), 1 - beta^t is 2 y / (1 + y), which keeps all digits
 * where beta^t is close to 1, as 1 - pow(beta, t) in f32 does not. */
fg_tensor fgi_bias_correction(const fg_update *u, fg_tensor half_rate)
{
    const fg_tensor y = fg_tanh(fg_mul(fgi_update_number(u), half_rate));
    return fg_div(fg_mul_scalar(y, 2), fg_add_scalar(y, 1));
}

fg_tensor fgi_norm(fg_tensor a) { return fg_sqrt(fg_sum(fg_square(a), 0, NULL)); }

fg_tensor fgi_trust(const fg_update *u, fg_tensor p, fg_tensor step, double coefficient)
{
    const fg_tensor weight = fgi_norm(p), length = fgi_norm(step);
    const fg_dtype dtype = fg_tensor_type(weight)->dtype;
    const fg_tensor zero = fg_zeros(u->trace, dtype, FG_SCALAR);
    const fg_tensor is_defined = fg_and(fg_gt(weight, zero), fg_gt(length, zero));
    const fg_tensor ratio = fg_mul_scalar(fg_div(weight, length), coefficient);
    return fgi_times(step, fg_where(is_defined, ratio, fg_ones(u->trace, dtype, FG_SCALAR)));
}
