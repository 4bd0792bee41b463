/* guard.c - what is between gradients and update: loss scaling, non-finite gradients, clipping,
 * updates too small for their dtype.
 *
 * All state is on the device and all decisions are made inside the program: a step with overflow
 * keeps the old values and lowers the scale without involving the host. The values that the host
 * needs are in one small variable, which the Trainer reads along with the metrics. Source:
 * Micikevicius et al. 2018, "Mixed precision training", section 3.2; growth and backoff as in
 * PyTorch's GradScaler.
 *
 * The gradients of a trace are those of the whole batch, whatever the number of devices and however
 * they are sharded: the compiler adds the communication that the norm needs for clipping. Sources:
 * Pascanu et al. 2013, "On the difficulty of training recurrent neural networks", in the form of
 * PyTorch's torch.nn.utils.clip_grad_norm_ and clip_grad_value_.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/error.h"
#include "base/reserved.h"
#include "op/op.h"
#include "optim/optimizer.h"
#include "trace/trace.h"

/* ---- options --------------------------------------------------------------------------------- */

static fg_status create_state(const fg_optimizer *o, const char *name, fg_dtype dtype, double first,
                              int64_t size, fg_variable **out, fg_error *err)
{
    const fg_variable_options options = {.kind = FG_STATE, .init = {FG_INIT_CONSTANT, first}};
    fg_type type = {.dtype = dtype};
    if (size > 0) {
        type.rank = 1;
        type.dim[0] = size;
    }
    return *out != NULL ? FG_OK : fgi_optimizer_create_variable(o, name, &type, &options, out, err);
}

fg_status fg_optimizer_set_loss_scale(fg_optimizer *optimizer, const fg_loss_scale_options *options,
                                      fg_error *err)
{
    const fg_loss_scale_options o = options != NULL ? *options : (fg_loss_scale_options){0};
    const double init = fgi_or_default(o.init, 65536), growth = fgi_or_default(o.growth, 2);
    const double backoff = fgi_or_default(o.backoff, 0.5);
    const int64_t interval = o.growth_interval != 0 ? o.growth_interval : 2000;
    fgi_guard *g = &optimizer->guard;
    FGI_TRY_RESERVED(fg_loss_scale_options, options, err);
    if (!(init > 0 && isfinite(init) && growth >= 1 && isfinite(growth) && backoff > 0 &&
          backoff < 1 && interval >= 1 && interval <= INT32_MAX))
        return fgi_fail(err, FG_EINVAL,
                        "loss scale: init %g, growth %g, backoff %g, growth_interval %lld: "
                        "expected init > 0, growth >= 1, 0 < backoff < 1, growth_interval >= 1",
                        init, growth, backoff, (long long)interval);
    if (g->scale != NULL)
        return fgi_fail(err, FG_EINVAL, "loss scale: this optimizer already has one");
    for (size_t i = 0; i < optimizer->part_count; i++)
        FGI_TRY(fg_optimizer_set_loss_scale(optimizer->parts[i], options, err));
    if (optimizer->part_count > 0)
        return FG_OK;
    FGI_TRY(create_state(optimizer, "loss_scale", FG_F32, init, 0, &g->scale, err));
    FGI_TRY(create_state(optimizer, "loss_scale_streak", FG_S32, 0, 0, &g->streak, err));
    g->growth = (fg_scalar){.dtype = FG_F32, .value.f32 = (float)growth};
    g->backoff = (fg_scalar){.dtype = FG_F32, .value.f32 = (float)backoff};
    g->interval = (fg_scalar){.dtype = FG_S32, .value.s32 = (int32_t)interval};
    return FG_OK;
}

fg_status fgi_optimizer_need_loss_scale(fg_optimizer *o, fg_error *err)
{
    for (size_t i = 0; i < o->part_count; i++)
        FGI_TRY(fgi_optimizer_need_loss_scale(o->parts[i], err));
    return o->part_count > 0 || o->guard.scale != NULL ? FG_OK
                                                       : fg_optimizer_set_loss_scale(o, NULL, err);
}

bool fgi_optimizer_scales_loss(const fg_optimizer *o)
{
    bool scales = o->guard.scale != NULL;
    for (size_t i = 0; i < o->part_count; i++)
        scales = scales || fgi_optimizer_scales_loss(o->parts[i]);
    return scales;
}

void fg_optimizer_set_stochastic_rounding(fg_optimizer *optimizer, bool on)
{
    for (size_t i = 0; i < optimizer->part_count; i++)
        fg_optimizer_set_stochastic_rounding(optimizer->parts[i], on);
    optimizer->guard.rounds_stochastically = on;
}

fg_status fgi_optimizer_watch(fg_optimizer *optimizer, bool detects, fg_error *err)
{
    fgi_guard *g = &optimizer->guard;
    g->detects = detects;
    g->number.dtype = FG_S32;
    return create_state(optimizer, "health", FG_F32, 0, FGI_HEALTH, &g->health, err);
}

void fgi_guard_fini(fgi_guard *g)
{
    fg_variable_destroy(g->scale);
    fg_variable_destroy(g->streak);
    fg_variable_destroy(g->health);
}

fg_variable *fgi_guard_variable(const fgi_guard *g, size_t index)
{
    fg_variable *const all[] = {g->scale, g->streak, g->health};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] != NULL && index-- == 0)
            return all[i];
    return NULL;
}

size_t fgi_guard_variable_count(const fgi_guard *g)
{
    return (g->scale != NULL ? 2 : 0) + (g->health != NULL ? 1 : 0);
}

/* ---- before the update ----------------------------------------------------------------------- */

fg_tensor fg_optimizer_scale_loss(const fg_optimizer *optimizer, fg_tensor loss)
{
    if (optimizer == NULL || !fgi_optimizer_scales_loss(optimizer) || fgi_is_poison(loss))
        return loss;
    if (optimizer->part_count > 0)
        return fgi_trace_fail(fg_tensor_trace(loss), FG_EINVAL,
                              "scale_loss: each part of a joined optimizer has a loss scale: scale "
                              "its loss with the part");
    const fg_tensor scale = fg_variable_value(fg_tensor_trace(loss), optimizer->guard.scale);
    const fg_tensor wide = fgi_upcast(loss);
    return fg_mul(wide, fg_cast(scale, fg_tensor_type(wide)->dtype));
}

/* 1 where any element is marked, else 0: s32[]. Integers, so the compiler may
 * reorder the sum. */
static fg_tensor any(fg_tensor marked)
{
    const int rank = fg_tensor_type(marked)->rank;
    static const int axis[] = {1, 2, 3, 4, 5, 6, 7};
    fg_tensor worst = fg_cast(marked, FG_S32);
    if (rank > 1)
        worst = fg_max(worst, rank - 1, axis);
    return fg_max(worst, 0, NULL);
}

static fg_tensor number_of(fg_trace *trace, double value)
{
    return fg_full(trace, FG_F32, value, FG_SCALAR);
}

/* Number, starting at 1, and kind (1: NaN, 2: infinite) of the first parameter with a bad gradient;
 * 0: none. bad: one entry for each gradient that exists. */
static void name_first(fg_update *u, const fg_tensor *gradients, const fg_tensor *bad)
{
    size_t at = 0;
    for (size_t i = 0; i < u->optimizer->parameter_count; i++)
        at += gradients[i].handle != 0;
    u->culprit = u->kind = number_of(u->trace, 0);
    for (size_t i = u->optimizer->parameter_count; i-- > 0;) {
        if (gradients[i].handle == 0)
            continue;
        const fg_tensor hit = fg_gt(bad[--at], fg_zeros(u->trace, FG_S32, FG_SCALAR));
        const fg_tensor nan = fg_cast(any(fg_ne(gradients[i], gradients[i])), FG_F32);
        u->culprit =
            fg_where(hit, number_of(u->trace, (double)(u->optimizer->first + i) + 1), u->culprit);
        u->kind = fg_where(hit, fg_sub(number_of(u->trace, 2), nan), u->kind);
    }
}

/* Whether any gradient has a bad element. scratch has room for one value per parameter; if
 * anomalies are reported, it receives the flags of the parameters. */
static fg_tensor any_bad(const fg_update *u, const fg_tensor *gradients, fg_tensor *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i < u->optimizer->parameter_count; i++)
        if (gradients[i].handle != 0)
            scratch[count++] = gradients[i];
    const bool by_parameter = u->optimizer->whole->guard.detects;
    fg_tensor all = by_parameter ? (fg_tensor){0} : fgi_nonfinite(scratch, count);
    for (size_t i = 0; i < count && by_parameter; i++) {
        scratch[i] = any(fg_not(fg_is_finite(scratch[i])));
        all = i == 0 ? scratch[i] : fg_add(all, scratch[i]);
    }
    return fg_ne(all, fgi_full_like(all, 0));
}

void fgi_guard_begin(fg_update *u, fg_tensor *gradients, fg_tensor *scratch)
{
    const fg_optimizer *o = u->optimizer;
    const fgi_guard *g = &o->guard, *watch = &o->whole->guard;
    const size_t count = o->parameter_count;
    if (o->every > 1)
        u->is_due =
            fg_ne(fg_scalar_value(u->trace, &o->is_due), fg_zeros(u->trace, FG_U32, FG_SCALAR));
    if (g->scale == NULL && watch->health == NULL)
        return;
    u->is_bad = any_bad(u, gradients, scratch);
    if (o->every > 1)
        u->is_bad = fg_and(u->is_bad, u->is_due);
    u->skips = g->scale != NULL || watch->detects;
    if (watch->health != NULL && watch->detects)
        name_first(u, gradients, scratch);
    if (g->scale == NULL)
        return;
    const fg_tensor scale = fg_variable_value(u->trace, g->scale);
    const fg_tensor share = fg_div(number_of(u->trace, 1), scale);
    for (size_t i = 0; i < count; i++)
        if (gradients[i].handle != 0)
            gradients[i] = fgi_times(gradients[i], share);
}

/* `now`, or `old` if the optimizer is not updated in this step. */
static fg_tensor if_due(const fg_update *u, fg_tensor now, fg_tensor old)
{
    return u->optimizer->every > 1 ? fg_where(u->is_due, now, old) : now;
}

fg_tensor fgi_guard_keep(const fg_update *u, fg_tensor now, fg_tensor old)
{
    return if_due(u, u->skips ? fg_where(u->is_bad, old, now) : now, old);
}

fg_tensor fg_optimizer_skipped(const fg_optimizer *optimizer, fg_trace *trace)
{
    fg_tensor all = {0};
    for (size_t i = 0; i < optimizer->part_count; i++) {
        const fg_tensor part = fg_optimizer_skipped(optimizer->parts[i], trace);
        all = i == 0 ? part : fg_and(all, part);
    }
    if (all.handle != 0)
        return all;
    const fg_tensor skipped = optimizer->skipped, zero = fg_zeros(trace, FG_S32, FG_SCALAR);
    if (skipped.handle != 0 && fgi_tensor_dead(skipped) == NULL &&
        fg_tensor_trace(skipped) == trace)
        return skipped;
    return fg_ne(zero, zero);
}

/* ---- clipping -------------------------------------------------------------------------------- */

static const double MORE = 1e-6; /* added to the norm that the limit is divided by */

fg_status fg_optimizer_set_clip(fg_optimizer *optimizer, fg_clip clip, double limit, fg_error *err)
{
    if (clip != FG_CLIP_NONE && clip != FG_CLIP_NORM && clip != FG_CLIP_VALUE)
        return fgi_fail(err, FG_EINVAL, "gradient clipping: %d is not an fg_clip", (int)clip);
    if (clip != FG_CLIP_NONE && !(limit > 0 && isfinite(limit)))
        return fgi_fail(err, FG_EINVAL, "gradient clipping: the limit is %g: expected more than 0",
                        limit);
    for (size_t i = 0; i < optimizer->part_count; i++)
        FGI_TRY(fg_optimizer_set_clip(optimizer->parts[i], clip, limit, err));
    optimizer->clip = clip;
    fgi_number_set(&optimizer->clip_limit, limit);
    return FG_OK;
}

/* The norm of all gradients together, in the update's dtype. */
static fg_tensor norm_of(const fg_update *u, const fg_tensor *gradients)
{
    fg_tensor sum = fg_zeros(u->trace, u->dtype, FG_SCALAR);
    for (size_t i = 0; i < u->optimizer->parameter_count; i++)
        if (gradients[i].handle != 0)
            sum = fg_add(sum, fg_cast(fg_sum(fg_square(gradients[i]), 0, NULL), u->dtype));
    return fg_sqrt(sum);
}

/* min(1, limit / (norm + 1e-6)); NaN if the norm is. */
static fg_tensor factor_of(const fg_update *u, const fg_tensor *gradients)
{
    const fg_tensor limit = fgi_launch_value(u, &u->optimizer->clip_limit);
    const fg_tensor one = fg_ones(u->trace, u->dtype, FG_SCALAR);
    return fg_minimum(one, fg_div(limit, fg_add_scalar(norm_of(u, gradients), MORE)));
}

static fg_tensor between_limits(const fg_update *u, fg_tensor gradient)
{
    const fg_tensor limit =
        fg_cast(fgi_launch_value(u, &u->optimizer->clip_limit), fg_tensor_type(gradient)->dtype);
    return fg_maximum(fg_minimum(gradient, limit), fg_neg(limit));
}

void fgi_clip(const fg_update *u, fg_tensor *gradients)
{
    const fg_clip clip = u->optimizer->clip;
    if (clip == FG_CLIP_NONE)
        return;
    fg_scope_push(u->trace, "clip");
    const fg_tensor factor = clip == FG_CLIP_NORM ? factor_of(u, gradients) : (fg_tensor){0};
    for (size_t i = 0; i < u->optimizer->parameter_count; i++)
        if (gradients[i].handle != 0)
            gradients[i] = clip == FG_CLIP_NORM ? fgi_times(gradients[i], factor)
                                                : between_limits(u, gradients[i]);
    fg_scope_pop(u->trace);
}

/* ---- the new value --------------------------------------------------------------------------- */

/* Counts the elements that the update should have changed, and those of them that rounding left
 * unchanged. */
static void count_lost(fg_update *u, fg_tensor old, fg_tensor now, fg_tensor rounded)
{
    const fg_tensor moves = fg_ne(now, old);
    const fg_tensor stays = fg_and(moves, fg_eq(fg_cast(rounded, FG_F32), old));
    const fg_tensor moving = fg_sum(fg_cast(moves, FG_F32), 0, NULL);
    const fg_tensor lost = fg_sum(fg_cast(stays, FG_F32), 0, NULL);
    u->moving = u->counts ? fg_add(u->moving, moving) : moving;
    u->lost = u->counts ? fg_add(u->lost, lost) : lost;
    u->counts = true;
}

fg_tensor fgi_guard_round(fg_update *u, fg_tensor old, fg_tensor now, fg_dtype dtype)
{
    const fgi_guard *g = &u->optimizer->guard;
    if (!fgi_is_half(dtype))
        return now;
    if (g->rounds_stochastically && dtype == FG_BF16)
        return fgi_round_stochastic(now);
    const fg_tensor rounded = fg_cast(now, dtype);
    if (u->optimizer->whole->guard.health != NULL)
        count_lost(u, old, now, rounded);
    return rounded;
}

/* ---- after the update ------------------------------------------------------------------------ */

/* Overflow: scale * backoff, and the count of good steps restarts. After growth_interval good
 * steps: scale * growth, unless that would be infinite. */
static void move_scale(const fg_update *u)
{
    const fgi_guard *g = &u->optimizer->guard;
    fg_trace *trace = u->trace;
    const fg_tensor scale = fg_variable_value(trace, g->scale);
    const fg_tensor none = fg_zeros(trace, FG_S32, FG_SCALAR);
    const fg_tensor one = fg_ones(trace, FG_S32, FG_SCALAR);
    const fg_tensor before = fg_variable_value(trace, g->streak);
    const fg_tensor streak = fg_add(before, one);
    const fg_tensor is_due = fg_ge(streak, fg_scalar_value(trace, &g->interval));
    const fg_tensor grown = fg_mul(scale, fg_scalar_value(trace, &g->growth));
    const fg_tensor up = fg_where(fg_and(is_due, fg_is_finite(grown)), grown, scale);
    const fg_tensor down = fg_mul(scale, fg_scalar_value(trace, &g->backoff));
    const fg_tensor good = fg_where(is_due, none, streak);
    fg_assign(g->scale, if_due(u, fg_where(u->is_bad, down, up), scale));
    fg_assign(g->streak, if_due(u, fg_where(u->is_bad, none, good), before));
}

/* An element of the health variable. */
static fg_tensor element(fg_tensor health, int64_t index)
{
    const int64_t limit = index + 1;
    return fg_reshape(fg_slice(health, &index, &limit, NULL), FG_SCALAR);
}

/* The first anomaly is kept. With loss scaling, overflow is part of the search for a scale; it is
 * an anomaly only once the scale has dropped to 1. */
static void note_anomaly(const fg_update *u, fg_tensor before, fg_tensor *out)
{
    const fgi_guard *g = &u->optimizer->guard;
    const fg_scalar *number = &u->optimizer->whole->guard.number;
    const fg_tensor one = number_of(u->trace, 1);
    const fg_tensor now[] = {fg_cast(fg_scalar_value(u->trace, number), FG_F32), u->culprit,
                             u->kind};
    fg_tensor old[3];
    for (int i = 0; i < 3; i++)
        old[i] = element(before, FGI_HEALTH_STEP + i);
    fg_tensor is_first = fg_and(u->is_bad, fg_lt(old[1], one));
    if (g->scale != NULL)
        is_first = fg_and(is_first, fg_le(fg_variable_value(u->trace, g->scale), one));
    for (int i = 0; i < 3; i++)
        out[FGI_HEALTH_STEP + i] = fg_where(is_first, now[i], old[i]);
}

/* The number of this step, starting at 1, by the optimizer's count of updates. */
static fg_tensor step_number(const fg_update *u)
{
    return fg_add(fg_cast(u->step, FG_F32), number_of(u->trace, 1));
}

/* Whether the step is bad and no part before has counted it. */
static fg_tensor newly_bad(const fg_update *u)
{
    fgi_guard *watch = &u->optimizer->whole->guard;
    const fg_tensor seen = watch->counted;
    const bool is_seen =
        seen.handle != 0 && fgi_tensor_dead(seen) == NULL && fg_tensor_trace(seen) == u->trace;
    if (u->optimizer->whole == u->optimizer)
        return u->is_bad;
    watch->counted = is_seen ? fg_or(seen, u->is_bad) : u->is_bad;
    return is_seen ? fg_and(u->is_bad, fg_not(seen)) : u->is_bad;
}

/* If only bad steps are counted, a single small loop increments the count and notes the first. */
static void count_bad(const fg_update *u)
{
    fg_variable *health = u->optimizer->whole->guard.health;
    const fg_tensor before = fg_variable_value(u->trace, health);
    const fg_tensor place = fg_iota(u->trace, FG_S32, 0, FG_DIMS(FGI_HEALTH));
    const fg_tensor bad = fg_full(u->trace, FG_S32, FGI_HEALTH_BAD, FG_DIMS(FGI_HEALTH));
    const fg_tensor first = fg_full(u->trace, FG_S32, FGI_HEALTH_STEP, FG_DIMS(FGI_HEALTH));
    const fg_tensor is_unset = fg_eq(before, fg_zeros(u->trace, FG_F32, FG_DIMS(FGI_HEALTH)));
    const fg_tensor is_first = fg_cast(fg_and(fg_eq(place, first), is_unset), FG_F32);
    const fg_tensor more =
        fg_add(fg_cast(fg_eq(place, bad), FG_F32), fg_mul(is_first, step_number(u)));
    fg_assign(health, fg_add(before, fg_mul(more, fg_cast(newly_bad(u), FG_F32))));
}

/* The same where the other values are written too. */
static fg_tensor first_bad(const fg_update *u, fg_tensor before)
{
    const fg_tensor old = element(before, FGI_HEALTH_STEP);
    const fg_tensor is_first = fg_and(u->is_bad, fg_lt(old, number_of(u->trace, 1)));
    return fg_where(is_first, step_number(u), old);
}

/* The parts of a joined optimizer, one after the other, report the largest fraction lost, and the
 * smallest scale. */
static void write_health(const fg_update *u)
{
    const fgi_guard *g = &u->optimizer->guard, *watch = &u->optimizer->whole->guard;
    const fg_tensor before = fg_variable_value(u->trace, watch->health);
    const fg_tensor zero = number_of(u->trace, 0);
    const bool is_later = u->optimizer->first > 0;
    fg_tensor now[FGI_HEALTH], parts[FGI_HEALTH];
    for (int i = 0; i < FGI_HEALTH; i++)
        now[i] = zero;
    now[FGI_HEALTH_BAD] = fg_add(element(before, FGI_HEALTH_BAD), fg_cast(newly_bad(u), FG_F32));
    if (u->counts)
        now[FGI_HEALTH_LOST] = fg_div(u->lost, fg_maximum(u->moving, number_of(u->trace, 1)));
    if (is_later)
        now[FGI_HEALTH_LOST] = fg_maximum(now[FGI_HEALTH_LOST], element(before, FGI_HEALTH_LOST));
    if (watch->detects)
        note_anomaly(u, before, now);
    else if (g->scale == NULL)
        now[FGI_HEALTH_STEP] = first_bad(u, before);
    if (g->scale != NULL)
        now[FGI_HEALTH_SCALE] = fg_variable_value(u->trace, g->scale);
    if (g->scale != NULL && is_later)
        now[FGI_HEALTH_SCALE] =
            fg_minimum(now[FGI_HEALTH_SCALE], element(before, FGI_HEALTH_SCALE));
    for (int i = 0; i < FGI_HEALTH; i++)
        parts[i] = fg_reshape(now[i], FG_DIMS(1));
    fg_assign(watch->health, fg_concat(parts, FGI_HEALTH, 0));
}

void fgi_guard_end(fg_update *u)
{
    const fgi_guard *g = &u->optimizer->guard, *watch = &u->optimizer->whole->guard;
    if (watch->health != NULL && !u->counts && !watch->detects && g->scale == NULL)
        count_bad(u);
    else if (watch->health != NULL)
        write_health(u);
    if (g->scale != NULL)
        move_scale(u);
}
