/* optimizer.c - code that all optimizers share: variables, the hyperparameters of each launch, the
 * step.
 *
 * An update is traced once; values that change from launch to launch are scalar inputs (learning
 * rate, momentum and weight decay, computed from the schedule on the host in double precision) or
 * state on the device (moments, the number of updates). The same program therefore runs every step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/print.h"
#include "op/op.h"
#include "option/option.h"
#include "trace/trace.h"

/* ---- hyperparameters of a launch ------------------------------------------------------------- */

void fgi_number_set(fgi_number *number, double value)
{
    number->high.dtype = number->low.dtype = FG_F32;
    number->high.value.f32 = (float)value;
    number->low.value.f32 = isfinite(value) ? (float)(value - (double)number->high.value.f32) : 0;
}

fg_tensor fgi_launch_value(const fg_update *u, const fgi_number *number)
{
    const fg_tensor high = fg_scalar_value(u->trace, &number->high);
    if (u->dtype != FG_F64)
        return high;
    const fg_tensor low = fg_scalar_value(u->trace, &number->low);
    return fg_add(fg_cast(high, FG_F64), fg_cast(low, FG_F64));
}

/* The scalars that depend on the learning rate, of every group. */
static void set_lr_now(fg_optimizer *o, double lr)
{
    o->lr_now = lr;
    for (size_t i = 0; i <= o->group_count; i++) {
        fgi_group *g = i < o->group_count ? &o->groups[i] : &o->base;
        fgi_number_set(&g->scalars.lr, lr * g->lr_factor);
        fgi_number_set(&g->scalars.keep, 1 - lr * g->lr_factor * g->hyper.weight_decay);
    }
}

/* The momentum and the other scalars. */
static void set_momentum_now(fg_optimizer *o)
{
    const fgi_optimizer_place *at = &o->place;
    for (size_t i = 0; i <= o->group_count; i++) {
        fgi_group *g = i < o->group_count ? &o->groups[i] : &o->base;
        fgi_launch_scalars *s = &g->scalars;
        const double momentum =
            fg_schedule_momentum(&at->schedule, g->hyper.momentum, at->step_now, at->total_steps);
        o->momentum_now = momentum; /* at last that of the optimizer */
        fgi_number_set(&s->momentum, momentum);
        fgi_number_set(&s->rest, 1 - momentum);
        fgi_number_set(&s->weight_decay, g->hyper.weight_decay);
        fgi_number_set(&s->decay_rate[0], -log(momentum) / 2);
        fgi_number_set(&s->decay_rate[1], -log(g->hyper.decay) / 2);
    }
}

/* The hyperparameters at step_now. */
void fgi_optimizer_refresh(fg_optimizer *o)
{
    const fgi_optimizer_place *at = &o->place;
    const double peak = o->base.hyper.lr * at->lr_factor * at->observed;
    set_lr_now(o, fg_schedule_lr(&at->schedule, peak, at->step_now, at->total_steps));
    set_momentum_now(o);
    o->guard.number.value.s32 = (int32_t)(at->step_now < INT32_MAX ? at->step_now + 1 : INT32_MAX);
    o->is_due.dtype = FG_U32;
    o->is_due.value.u32 = (at->step_now + 1) % o->every == 0;
}

/* Without those of its parts. */
static void begin_own_step(fg_optimizer *o, int64_t step)
{
    o->place.step_now = step;
    o->place.has_begun = true;
    o->place.has_run = true;
    fgi_optimizer_refresh(o);
}

void fg_optimizer_begin_step(fg_optimizer *optimizer, int64_t step)
{
    if (optimizer == NULL)
        return;
    for (size_t i = 0; i < optimizer->part_count; i++)
        begin_own_step(optimizer->parts[i], step);
    begin_own_step(optimizer, step);
}

/* The step of a custom loop's iteration: the one that was begun, or the one after the last. */
static void count_step(fg_optimizer *o)
{
    for (size_t i = 0; i < o->part_count; i++)
        count_step(o->parts[i]);
    if (!o->place.has_begun)
        begin_own_step(o, o->place.has_run ? o->place.step_now + 1 : 0);
    o->place.has_begun = false;
}

/* The learning rate of a part for that of the whole, which is the first part's. */
static double lr_of_part(const fg_optimizer *whole, size_t i, double lr)
{
    const double first = whole->base.hyper.lr;
    return first != 0 ? lr * (whole->parts[i]->base.hyper.lr / first) : lr;
}

void fg_optimizer_set_lr(fg_optimizer *optimizer, double lr)
{
    for (size_t i = 0; i < optimizer->part_count; i++)
        fg_optimizer_set_lr(optimizer->parts[i], lr_of_part(optimizer, i, lr));
    optimizer->base.hyper.lr = lr;
    fgi_optimizer_refresh(optimizer);
}

void fgi_optimizer_scale_lr(fg_optimizer *optimizer, double factor)
{
    if (optimizer->place.lr_factor == factor)
        return;
    for (size_t i = 0; i < optimizer->part_count; i++)
        fgi_optimizer_scale_lr(optimizer->parts[i], factor);
    optimizer->place.lr_factor = factor;
    fgi_optimizer_refresh(optimizer);
}

double fgi_optimizer_unscaled_lr(const fg_optimizer *o)
{
    return fg_schedule_lr(&o->place.schedule, o->base.hyper.lr * o->place.observed,
                          o->place.step_now, o->place.total_steps);
}

void fgi_optimizer_keep_place(fg_optimizer *o)
{
    for (size_t i = 0; i < o->part_count; i++)
        fgi_optimizer_keep_place(o->parts[i]);
    o->kept = o->place;
}

void fgi_optimizer_return(fg_optimizer *o)
{
    for (size_t i = 0; i < o->part_count; i++)
        fgi_optimizer_return(o->parts[i]);
    o->place = o->kept;
    fgi_optimizer_refresh(o);
}

void fg_optimizer_set_step_lr(fg_optimizer *optimizer, double lr)
{
    for (size_t i = 0; i < optimizer->part_count; i++)
        fg_optimizer_set_step_lr(optimizer->parts[i], lr_of_part(optimizer, i, lr));
    set_lr_now(optimizer, lr);
}

double fg_optimizer_lr(const fg_optimizer *optimizer) { return optimizer->lr_now; }

double fg_optimizer_momentum(const fg_optimizer *optimizer) { return optimizer->momentum_now; }

double fg_optimizer_weight_decay(const fg_optimizer *optimizer)
{
    return optimizer->base.hyper.weight_decay;
}

/* ---- variables ------------------------------------------------------------------------------- */

fg_optimizer *fgi_optimizer_new(void)
{
    fg_optimizer *o = fgi_calloc(1, sizeof *o);
    if (o == NULL)
        return NULL;
    (void)fgi_snprintf(o->prefix, sizeof o->prefix, "optimizer.");
    o->whole = o;
    o->every = 1;
    o->place.lr_factor = o->place.observed = o->base.lr_factor = 1;
    return o;
}

void fgi_optimizer_destroy(void *object)
{
    fg_optimizer *o = object;
    if (o == NULL)
        return;
    fgi_optimizer_free_variables(o);
    fgi_guard_fini(&o->guard);
    fgi_optimizer_free_groups(o);
    fg_option_values_destroy(o->values);
    fgi_free(o->name);
    fgi_free(o->parts);
    fgi_free(o->has_warned);
    fgi_free(o->parameters);
    fgi_free(o->base.options);
    fgi_free(o);
}

/* The parameters to train: all that root has now. */
static fg_status take_parameters(fg_optimizer *o, fg_module *root, fg_error *err)
{
    const size_t count = fg_module_variable_count(root);
    o->root = root;
    o->variable_count = count;
    o->parameters = fgi_calloc(count + 1, sizeof(fg_variable *));
    o->missed = fgi_calloc(count + 1, sizeof(fg_variable *));
    o->has_warned = fgi_calloc(count + 1, sizeof(bool));
    if (o->parameters == NULL || o->missed == NULL || o->has_warned == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        fg_variable *variable = fg_module_variable_at(root, i);
        if (fg_variable_kind_of(variable) != FG_PARAMETER)
            continue;
        if (!fg_dtype_is_float(fg_variable_type(variable)->dtype))
            return fgi_fail(err, FG_EDTYPE,
                            "parameter '%s' is %s: only floating-point parameters can be trained",
                            fg_variable_name(variable),
                            fg_dtype_name(fg_variable_type(variable)->dtype));
        o->parameters[o->parameter_count++] = variable;
    }
    if (o->parameter_count == 0)
        return fgi_fail(err, FG_EINVAL,
                        "the module has no parameters to train: create the optimizer after the "
                        "layers");
    return FG_OK;
}

/* The member of an option that is a number, or the first number of a pair; NULL: there is none. */
static double *member_of(const fg_entry *entry, void *options, const char *name)
{
    for (size_t i = 0; i < entry->option_count; i++) {
        const fg_option *option = &entry->options[i];
        const bool is_pair = option->kind == FG_OPTION_FLOATS && option->min_count == 2;
        if (strcmp(option->name, name) == 0 && (option->kind == FG_OPTION_FLOAT || is_pair))
            return (double *)((char *)options + option->offset);
    }
    return NULL;
}

static double *momentum_of(const fg_optimizer_entry *row, void *options)
{
    const char *name = row->momentum != NULL ? row->momentum : "momentum";
    double *member = member_of(&row->entry, options, name);
    return member != NULL ? member : member_of(&row->entry, options, "betas");
}

fgi_hyper fgi_optimizer_hyper(const fg_optimizer_entry *row, void *options)
{
    const fg_entry *entry = &row->entry;
    const double *lr = member_of(entry, options, "lr"), *momentum = momentum_of(row, options),
                 *weight_decay = member_of(entry, options, "weight_decay"),
                 *betas = member_of(entry, options, "betas");
    return (fgi_hyper){.lr = lr != NULL ? *lr : 1e-3,
                       .momentum = momentum != NULL ? *momentum : 0,
                       .decay = betas != NULL ? betas[1] : 0,
                       .weight_decay = weight_decay != NULL ? *weight_decay : 0};
}

const fgi_group *fgi_optimizer_group(const fg_optimizer *o, size_t index)
{
    return o->groups != NULL ? &o->groups[o->group_of[index]] : &o->base;
}

static fg_status check(const fg_optimizer *o, fg_error *err)
{
    return o->row != NULL && o->row->check != NULL ? o->row->check(o->base.options, err) : FG_OK;
}

/* Whether a group has a momentum. */
static bool has_momentum(const fg_optimizer *o)
{
    bool has = o->base.hyper.momentum != 0;
    for (size_t i = 0; i < o->group_count; i++)
        has = has || o->groups[i].hyper.momentum != 0;
    return has;
}

/* Creates the moments of the parameters that are trainable now. */
static fg_status add_moments(fg_optimizer *o, fg_error *err)
{
    for (int m = 0; m < FGI_MOMENTS && o->row->moments[m] != NULL; m++)
        if (m > 0 || !o->row->has_optional_momentum || has_momentum(o))
            FGI_TRY(fgi_optimizer_add_moment(o, m, err));
    return FG_OK;
}

fg_status fgi_optimizer_regroup(fg_optimizer *o, fg_error *err)
{
    fgi_optimizer_free_moments(o);
    FGI_TRY(add_moments(o, err));
    fgi_optimizer_refresh(o);
    return FG_OK;
}

/* The row's struct, from values or from the struct of a C program. */
static fg_status fill(fg_optimizer *o, const void *given, const fg_option_values *values,
                      fg_error *err)
{
    const fg_entry *entry = &o->row->entry;
    FGI_TRY_RESERVED(fg_optimizer_entry, o->row, err);
    FGI_TRY_RESERVED(fg_entry, entry, err);
    FGI_TRY(values != NULL ? fg_option_values_select(values, NULL, entry, &o->values, err)
                           : fgi_row_values(entry, given, &o->values, err));
    FGI_TRY(fgi_row_create(entry, o->values, &o->base.options, err));
    if (given != NULL)
        fgi_row_keep_others(entry, given, o->base.options);
    o->base.hyper = fgi_optimizer_hyper(o->row, o->base.options);
    const fg_status status = check(o, err);
    if (status == FG_OK || values == NULL)
        return status == FG_OK ? FG_OK : fgi_context(err, status, "%s", entry->name);
    return fgi_option_add_place(values, status, err);
}

static fg_status init(fg_optimizer *o, fg_module *root, fg_error *err)
{
    const fg_variable_options state = {.kind = FG_STATE};
    const fg_type count = {.dtype = FG_S32};
    FGI_TRY(take_parameters(o, root, err));
    FGI_TRY(fgi_optimizer_create_variable(o, "step", &count, &state, &o->step, err));
    FGI_TRY(add_moments(o, err));
    fgi_optimizer_refresh(o);
    return FG_OK;
}

static fg_optimizer *create(fg_module *root, const fg_optimizer_entry *row, const void *given,
                            const fg_option_values *values)
{
    fg_error error = {0};
    if (root == NULL || fg_module_error(root, NULL) != FG_OK)
        return NULL;
    fg_optimizer *o = fgi_optimizer_new();
    fg_status status = o != NULL ? FG_OK : fgi_no_memory(&error);
    if (status == FG_OK) {
        o->row = row;
        status = fill(o, given, values, &error);
    }
    if (status == FG_OK && init(o, root, &error) != FG_OK)
        status = fgi_context(&error, error.status, "%s", row->entry.name);
    if (status == FG_OK)
        return fg_module_attach(root, o, fgi_optimizer_destroy);
    fg_module_fail(root, &error);
    fgi_optimizer_destroy(o);
    return NULL;
}

fg_optimizer *fg_optimizer_create(fg_module *root, const fg_optimizer_entry *row,
                                  const void *options)
{
    return create(root, row, options, NULL);
}

fg_optimizer *fg_optimizer_create_with(fg_module *root, const fg_optimizer_entry *row,
                                       const fg_option_values *values)
{
    return create(root, row, NULL, values);
}

fg_optimizer *fg_optimizer_named(fg_module *root, const char *name, const char *options)
{
    fg_error error = {0};
    fg_option_values *values = NULL;
    fg_optimizer *o = NULL;
    if (root == NULL || fg_module_error(root, NULL) != FG_OK)
        return NULL;
    const fg_entry *entry =
        fgi_entry_find(fgi_optimizer_rows, fgi_optimizer_row_count, "optimizer", name, &error);
    if (entry != NULL && fgi_entry_values(entry, options, &values, &error) == FG_OK)
        o = create(root, (const fg_optimizer_entry *)entry, NULL, values);
    else
        fg_module_fail(root, &error);
    fg_option_values_destroy(values);
    return o;
}

fg_optimizer *fgi_optimizer_create(fg_module *root, const fg_optimizer_entry *row,
                                   fgi_reserved reserved)
{
    fg_error error = {0};
    if (fgi_check_reserved(reserved, &error) == FG_OK)
        return create(root, row, reserved.options, NULL);
    fg_module_fail(root, &error);
    return NULL;
}

const char *fg_optimizer_name(const fg_optimizer *optimizer)
{
    return optimizer->row != NULL ? optimizer->row->entry.name : optimizer->name;
}

size_t fg_optimizer_parameter_count(const fg_optimizer *optimizer)
{
    size_t count = optimizer->parameter_count;
    for (size_t i = 0; i < optimizer->part_count; i++)
        count += optimizer->parts[i]->parameter_count;
    return count;
}

fg_variable *fg_optimizer_parameter_at(const fg_optimizer *optimizer, size_t index)
{
    for (size_t i = 0; i < optimizer->part_count; i++) {
        const fg_optimizer *part = optimizer->parts[i];
        if (index - part->first < part->parameter_count)
            return part->parameters[index - part->first];
    }
    return index < optimizer->parameter_count ? optimizer->parameters[index] : NULL;
}

/* ---- momentum and schedule ------------------------------------------------------------------- */

fg_status fg_optimizer_set_momentum(fg_optimizer *optimizer, double momentum, fg_error *err)
{
    fg_optimizer *o = optimizer;
    double *member = o->row != NULL ? momentum_of(o->row, o->base.options) : NULL, unused;
    for (size_t i = 0; i < o->part_count; i++)
        FGI_TRY(fg_optimizer_set_momentum(o->parts[i], momentum, err));
    if (!(momentum >= 0 && momentum < 1))
        return fgi_fail(err, FG_EINVAL, "momentum is %g: expected 0 <= momentum < 1", momentum);
    member = member != NULL ? member : &unused;
    *member = momentum;
    fg_status status = check(o, err);
    if (status == FG_OK && momentum != 0)
        status = fgi_optimizer_add_moment(o, 0, err);
    for (size_t i = 0; i < o->group_count && status == FG_OK; i++)
        o->groups[i].hyper.momentum = momentum;
    if (status == FG_OK)
        o->base.hyper.momentum = momentum;
    *member = o->base.hyper.momentum;
    fgi_optimizer_refresh(o);
    return status;
}

/* The factor of a schedule that follows a metric, from its state. */
static fg_status read_observed(fg_optimizer *o, fg_error *err)
{
    double state[FG_SCHEDULE_STATE] = {1};
    if (o->place.schedule.row != NULL && o->place.schedule.row->observe != NULL) {
        FGI_TRY(fgi_optimizer_add_observed(o, err));
        FGI_TRY(fg_variable_read(o->observed, state, sizeof state, err));
    }
    o->place.observed = state[0];
    return FG_OK;
}

fg_status fgi_optimizer_observe(fg_optimizer *o, double value, bool higher, fg_error *err)
{
    const fg_schedule *s = &o->place.schedule;
    double state[FG_SCHEDULE_STATE];
    for (size_t i = 0; i < o->part_count; i++)
        FGI_TRY(fgi_optimizer_observe(o->parts[i], value, higher, err));
    if (s->row == NULL || s->row->observe == NULL)
        return FG_OK;
    FGI_TRY(fg_variable_read(o->observed, state, sizeof state, err));
    s->row->observe(s->options, state, value, higher);
    FGI_TRY(fg_variable_set(o->observed, state, sizeof state, err));
    o->place.observed = state[0];
    fgi_optimizer_refresh(o);
    return FG_OK;
}

fg_status fg_optimizer_set_schedule(fg_optimizer *optimizer, const fg_schedule *schedule,
                                    int64_t total_steps, fg_error *err)
{
    fg_schedule complete;
    void *options;
    for (size_t i = 0; i < optimizer->part_count; i++)
        FGI_TRY(fg_optimizer_set_schedule(optimizer->parts[i], schedule, total_steps, err));
    if (optimizer->schedule != NULL)
        schedule = optimizer->schedule;
    FGI_TRY(fgi_schedule_check_steps(schedule, total_steps, err));
    if (fgi_schedule_sets_momentum(schedule))
        FGI_TRY(fgi_optimizer_add_moment(optimizer, 0, err));
    FGI_TRY(fgi_schedule_complete(schedule, &complete, &options, err));
    if (options != NULL && fg_module_attach(optimizer->root, options, fgi_free) == NULL)
        return fgi_no_memory(err);
    optimizer->place.schedule = complete;
    optimizer->place.total_steps = total_steps;
    FGI_TRY(read_observed(optimizer, err));
    fgi_optimizer_refresh(optimizer);
    return FG_OK;
}

/* ---- updates --------------------------------------------------------------------------------- */

fg_tensor fgi_times(fg_tensor a, fg_tensor factor)
{
    return fg_mul(a, fg_cast(factor, fg_tensor_type(a)->dtype));
}

/* The scalars of a group. */
static void take_group(fg_update *u, const fgi_group *g)
{
    u->group = g;
    u->lr = fgi_launch_value(u, &g->scalars.lr);
    u->momentum = fgi_launch_value(u, &g->scalars.momentum);
    u->rest = fgi_launch_value(u, &g->scalars.rest);
    u->weight_decay = fgi_launch_value(u, &g->scalars.weight_decay);
    u->keep = fgi_launch_value(u, &g->scalars.keep);
}

static fg_update begin_update(fg_optimizer *o, fg_trace *trace)
{
    fg_update u = {.optimizer = o, .trace = trace, .dtype = FG_F32};
    for (size_t i = 0; i < o->parameter_count; i++)
        if (fg_variable_type(o->parameters[i])->dtype == FG_F64)
            u.dtype = FG_F64;
    take_group(&u, &o->base);
    u.step = fg_variable_value(trace, o->step);
    return u;
}

static bool gradient_goes(const fg_variable *parameter, fg_tensor gradient)
{
    const fg_type *have = fg_variable_type(parameter), *given = fg_tensor_type(gradient);
    bool same_shape = have->rank == given->rank;
    for (int i = 0; same_shape && i < have->rank; i++)
        same_shape = have->dim[i] == given->dim[i];
    const bool is_wider = given->dtype == FG_F32 && fgi_is_half(have->dtype);
    if (same_shape && (have->dtype == given->dtype || is_wider))
        return true;
    char a[96], b[96];
    (void)fgi_trace_fail(fg_tensor_trace(gradient), same_shape ? FG_EDTYPE : FG_ESHAPE,
                         "optimizer: parameter '%s' is %s, its gradient %s",
                         fg_variable_name(parameter), fg_type_format(have, a, sizeof a),
                         fg_type_format(given, b, sizeof b));
    return false;
}

/* The update of parameter i: with the scalars of its group, and its own count if it has missed
 * some. What parameters share is the same node for all of a group. */
static fg_update update_of(const fg_update *u, size_t i)
{
    fg_update own = *u;
    const fg_optimizer *o = u->optimizer;
    const fgi_group *g = fgi_optimizer_group(o, i);
    const bool is_late = o->missed[i] != NULL && fgi_optimizer_counts(o);
    if (g == u->group && !is_late)
        return own;
    take_group(&own, g);
    if (is_late)
        own.step = fg_sub(u->step, fg_variable_value(u->trace, o->missed[i]));
    if (o->row->prepare != NULL)
        o->row->prepare(&own);
    return own;
}

/* Parameters with their gradients, and their new values in the wide dtype. */
typedef struct updates {
    fg_update *of;
    const fg_update **at; /* of */
    fg_tensor *p, *gradient, *now;
    size_t count;
} updates;

static bool make_updates(updates *all, size_t most)
{
    all->of = fgi_calloc(most, sizeof *all->of);
    all->at = fgi_calloc(most, sizeof *all->at);
    all->p = fgi_calloc(3 * most, sizeof *all->p);
    if (all->of == NULL || all->at == NULL || all->p == NULL)
        return false;
    all->gradient = all->p + most;
    all->now = all->p + 2 * most;
    return true;
}

static void free_updates(updates *all)
{
    fgi_free(all->of);
    fgi_free((void *)all->at);
    fgi_free(all->p);
}

static void add_update(updates *all, fg_update *u, size_t i, fg_tensor gradient)
{
    const size_t n = all->count++;
    u->index = i;
    all->p[n] = fgi_upcast(fgi_variable_part(u->trace, u->optimizer->parameters[i]));
    all->of[n] = update_of(u, i);
    all->at[n] = &all->of[n];
    all->gradient[n] = gradient;
}

/* A parameter's new value, rounded once. */
static void assign_one(fg_update *u, const updates *all, size_t n)
{
    u->index = all->of[n].index;
    fg_variable *parameter = u->optimizer->parameters[u->index];
    const fg_tensor old = fgi_variable_part(u->trace, parameter);
    const fg_tensor now = fgi_guard_round(u, all->p[n], all->now[n], fg_tensor_type(old)->dtype);
    fg_assign(parameter, fgi_guard_keep(u, now, old));
}

/* A parameter with moments that this update leaves unchanged. */
static void count_missed(const fg_update *u, size_t i)
{
    fg_error err = {0};
    if (fgi_optimizer_make_missed(u->optimizer, i, &err) != FG_OK) {
        (void)fgi_trace_fail(u->trace, err.status, "%s", err.message);
        return;
    }
    const fg_tensor before = fg_variable_value(u->trace, u->optimizer->missed[i]);
    const fg_tensor next = fg_add(before, fg_ones(u->trace, FG_S32, FG_SCALAR));
    fg_assign(u->optimizer->missed[i], fgi_guard_keep(u, next, before));
}

/* The new values of the parameters and of their moments. */
static void update_all(fg_update *u, const fg_tensor *gradients, updates *all)
{
    const fg_optimizer *o = u->optimizer;
    if (o->row->prepare != NULL)
        o->row->prepare(u);
    for (size_t i = 0; i < o->parameter_count; i++)
        if (gradients[i].handle != 0)
            add_update(all, u, i, gradients[i]);
        else if (fgi_optimizer_has_moments(o, i) && fgi_optimizer_counts(o))
            count_missed(u, i);
    if (o->row->update_all != NULL)
        o->row->update_all(all->at, all->p, all->gradient, all->count, all->now);
    for (size_t n = 0; n < all->count; n++) {
        if (o->row->update_all == NULL)
            all->now[n] = o->row->update(all->at[n], all->p[n], all->gradient[n]);
        assign_one(u, all, n);
    }
    const fg_tensor next = fg_add(u->step, fg_ones(u->trace, FG_S32, FG_SCALAR));
    fg_assign(o->step, fgi_guard_keep(u, next, u->step));
}

/* Whether each existing gradient can be applied; creates missing moments. */
static bool check_gradients(fg_optimizer *o, fg_trace *trace, const fg_tensor *gradients)
{
    fg_error err = {0};
    for (size_t i = 0; i < o->parameter_count; i++) {
        if (gradients[i].handle == 0)
            continue;
        if (fgi_is_poison(gradients[i]) || !gradient_goes(o->parameters[i], gradients[i]))
            return false;
        if (fgi_optimizer_begin_parameter(o, i, &err) != FG_OK) {
            (void)fgi_trace_fail(trace, err.status, "%s", err.message);
            return false;
        }
    }
    return true;
}

/* The trace of the first existing gradient; NULL: there is none. */
static fg_trace *trace_of(const fg_tensor *gradients, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gradients[i].handle != 0)
            return fg_tensor_trace(gradients[i]);
    return NULL;
}

/* Traces the update of every parameter that has a gradient; does nothing if one is poison. */
static void write_update(fg_optimizer *o, fg_trace *trace, const fg_tensor *gradients)
{
    const size_t count = o->parameter_count;
    for (size_t i = 0; i < o->part_count; i++)
        write_update(o->parts[i], trace, gradients + o->parts[i]->first);
    if (trace_of(gradients, count) == NULL || !check_gradients(o, trace, gradients))
        return;
    updates all = {0};
    fg_tensor *wide = fgi_calloc(2 * count, sizeof *wide);
    if (!make_updates(&all, count) || wide == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        goto done;
    }
    fg_scope_push(trace, "optimizer");
    fg_update u = begin_update(o, trace);
    for (size_t i = 0; i < count; i++)
        wide[i] = gradients[i].handle != 0 ? fgi_upcast(gradients[i]) : gradients[i];
    fgi_guard_begin(&u, wide, wide + count);
    fgi_clip(&u, wide);
    update_all(&u, wide, &all);
    fgi_guard_end(&u);
    o->skipped = u.skips ? u.is_bad : (fg_tensor){0};
    fg_scope_pop(trace);
done:
    free_updates(&all);
    fgi_free(wide);
}

static bool is_there(const fg_optimizer *o, fg_trace *trace)
{
    if (o == NULL)
        (void)fgi_trace_fail(trace, FG_EINVAL,
                             "the optimizer is NULL: it could not be created\n"
                             "fg_module_error of its root says why");
    return o != NULL;
}

/* Room for a gradient of each parameter; NULL after storing an error. */
static fg_tensor *room_for_gradients(const fg_optimizer *o, fg_trace *trace)
{
    fg_tensor *room = fgi_calloc(fg_optimizer_parameter_count(o), sizeof *room);
    if (room == NULL)
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    return room;
}

void fg_optimizer_apply(fg_optimizer *optimizer, const fg_tensor *gradients, size_t count)
{
    fg_trace *trace = trace_of(gradients, count);
    if (trace == NULL || !is_there(optimizer, trace))
        return;
    count_step(optimizer);
    const size_t wanted = fg_optimizer_parameter_count(optimizer);
    if (count != wanted) {
        (void)fgi_trace_fail(trace, FG_EINVAL, "optimizer: %zu gradients for %zu parameters", count,
                             wanted);
        return;
    }
    fg_tensor *used = room_for_gradients(optimizer, trace);
    if (used == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        if (fg_variable_is_trainable(fg_optimizer_parameter_at(optimizer, i)))
            used[i] = gradients[i];
    write_update(optimizer, trace, used);
    fgi_free(used);
}

void fgi_optimizer_minimize(fg_optimizer *o, const fg_tensor *losses)
{
    fg_trace *trace = fg_tensor_trace(losses[0]);
    if (!is_there(o, trace))
        return;
    count_step(o);
    fg_tensor *gradients = room_for_gradients(o, trace);
    if (gradients == NULL)
        return;
    fgi_optimizer_gradients(o, losses, gradients);
    if (fg_trace_error(trace, NULL) == FG_OK)
        write_update(o, trace, gradients);
    fgi_free(gradients);
}

void fg_optimizer_minimize(fg_optimizer *optimizer, fg_tensor loss)
{
    fg_tensor losses[FG_MOST_PARTS];
    for (size_t i = 0; i < FG_MOST_PARTS; i++)
        losses[i] = loss;
    fgi_optimizer_minimize(optimizer, losses);
}
