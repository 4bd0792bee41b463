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

/* The scalars that depend on the learning rate. */
static void set_lr_now(fg_optimizer *o, double lr)
{
    o->lr_now = lr;
    fgi_number_set(&o->scalars.lr, lr);
    fgi_number_set(&o->scalars.keep, 1 - lr * o->hyper.weight_decay);
}

/* The hyperparameters at step_now. */
static void refresh(fg_optimizer *o)
{
    const fgi_hyper *h = &o->hyper;
    fgi_launch_scalars *s = &o->scalars;
    set_lr_now(o, fg_schedule_lr(&o->place.schedule, h->lr * o->place.lr_factor, o->place.step_now,
                                 o->place.total_steps));
    o->momentum_now = fg_schedule_momentum(&o->place.schedule, h->momentum, o->place.step_now,
                                           o->place.total_steps);
    fgi_number_set(&s->momentum, o->momentum_now);
    fgi_number_set(&s->rest, 1 - o->momentum_now);
    fgi_number_set(&s->weight_decay, h->weight_decay);
    fgi_number_set(&s->decay_rate[0], -log(o->momentum_now) / 2);
    fgi_number_set(&s->decay_rate[1], -log(h->decay) / 2);
    o->guard.number.value.s32 =
        (int32_t)(o->place.step_now < INT32_MAX ? o->place.step_now + 1 : INT32_MAX);
}

void fg_optimizer_begin_step(fg_optimizer *optimizer, int64_t step)
{
    if (optimizer == NULL)
        return;
    optimizer->place.step_now = step;
    optimizer->place.has_begun = true;
    optimizer->place.has_run = true;
    refresh(optimizer);
}

/* The step of a custom loop's iteration: the one that was begun, or the one after the last. */
static void count_step(fg_optimizer *o)
{
    if (!o->place.has_begun)
        fg_optimizer_begin_step(o, o->place.has_run ? o->place.step_now + 1 : 0);
    o->place.has_begun = false;
}

void fg_optimizer_set_lr(fg_optimizer *optimizer, double lr)
{
    optimizer->hyper.lr = lr;
    refresh(optimizer);
}

void fgi_optimizer_scale_lr(fg_optimizer *optimizer, double factor)
{
    if (optimizer->place.lr_factor == factor)
        return;
    optimizer->place.lr_factor = factor;
    refresh(optimizer);
}

double fgi_optimizer_unscaled_lr(const fg_optimizer *o)
{
    return fg_schedule_lr(&o->place.schedule, o->hyper.lr, o->place.step_now, o->place.total_steps);
}

void fgi_optimizer_return(fg_optimizer *o, const fgi_optimizer_place *place)
{
    o->place = *place;
    refresh(o);
}

void fg_optimizer_set_step_lr(fg_optimizer *optimizer, double lr) { set_lr_now(optimizer, lr); }

double fg_optimizer_lr(const fg_optimizer *optimizer) { return optimizer->lr_now; }

double fg_optimizer_momentum(const fg_optimizer *optimizer) { return optimizer->momentum_now; }

double fg_optimizer_weight_decay(const fg_optimizer *optimizer)
{
    return optimizer->hyper.weight_decay;
}

/* ---- variables ------------------------------------------------------------------------------- */

static void destroy(void *object)
{
    fg_optimizer *o = object;
    if (o == NULL)
        return;
    fgi_optimizer_free_variables(o);
    fgi_guard_fini(&o->guard);
    fgi_free(o->has_warned);
    fgi_free(o->parameters);
    fgi_free(o->options);
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
static double *member_of(const fg_optimizer *o, const char *name)
{
    const fg_entry *entry = &o->row->entry;
    for (size_t i = 0; i < entry->option_count; i++) {
        const fg_option *option = &entry->options[i];
        const bool is_pair = option->kind == FG_OPTION_FLOATS && option->min_count == 2;
        if (strcmp(option->name, name) == 0 && (option->kind == FG_OPTION_FLOAT || is_pair))
            return (double *)((char *)o->options + option->offset);
    }
    return NULL;
}

static double *momentum_of(const fg_optimizer *o)
{
    double *member = member_of(o, o->row->momentum != NULL ? o->row->momentum : "momentum");
    return member != NULL ? member : member_of(o, "betas");
}

static fgi_hyper hyper_of(const fg_optimizer *o)
{
    const double *lr = member_of(o, "lr"), *weight_decay = member_of(o, "weight_decay"),
                 *momentum = momentum_of(o), *betas = member_of(o, "betas");
    return (fgi_hyper){.lr = lr != NULL ? *lr : 1e-3,
                       .momentum = momentum != NULL ? *momentum : 0,
                       .decay = betas != NULL ? betas[1] : 0,
                       .weight_decay = weight_decay != NULL ? *weight_decay : 0};
}

static fg_status check(const fg_optimizer *o, fg_error *err)
{
    return o->row->check != NULL ? o->row->check(o->options, err) : FG_OK;
}

/* Creates the moments of the parameters that are trainable now. */
static fg_status add_moments(fg_optimizer *o, fg_error *err)
{
    for (int m = 0; m < FGI_MOMENTS && o->row->moments[m] != NULL; m++)
        if (m > 0 || !o->row->has_optional_momentum || o->hyper.momentum != 0)
            FGI_TRY(fgi_optimizer_add_moment(o, m, err));
    return FG_OK;
}

/* The row's struct, from values or from the struct of a C program. */
static fg_status fill(fg_optimizer *o, const void *given, const fg_option_values *values,
                      fg_error *err)
{
    const fg_entry *entry = &o->row->entry;
    FGI_TRY_RESERVED(fg_optimizer_entry, o->row, err);
    FGI_TRY_RESERVED(fg_entry, entry, err);
    FGI_TRY(values != NULL ? fgi_row_create(entry, values, &o->options, err)
                           : fgi_row_of(entry, given, &o->options, err));
    o->place.lr_factor = 1;
    o->hyper = hyper_of(o);
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
    FGI_TRY(fg_variable_create("optimizer.step", &count, &state, &o->step, err));
    FGI_TRY(add_moments(o, err));
    refresh(o);
    return FG_OK;
}

static fg_optimizer *create(fg_module *root, const fg_optimizer_entry *row, const void *given,
                            const fg_option_values *values)
{
    fg_error error = {0};
    if (root == NULL || fg_module_error(root, NULL) != FG_OK)
        return NULL;
    fg_optimizer *o = fgi_calloc(1, sizeof *o);
    fg_status status = o != NULL ? FG_OK : fgi_no_memory(&error);
    if (status == FG_OK) {
        o->row = row;
        status = fill(o, given, values, &error);
    }
    if (status == FG_OK && init(o, root, &error) != FG_OK)
        status = fgi_context(&error, error.status, "%s", row->entry.name);
    if (status == FG_OK)
        return fg_module_attach(root, o, destroy);
    fg_module_fail(root, &error);
    destroy(o);
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

fg_optimizer *fgi_optimizer_create(fg_module *root, const fg_optimizer_entry *row,
                                   fgi_reserved reserved)
{
    fg_error error = {0};
    if (fgi_check_reserved(reserved, &error) == FG_OK)
        return create(root, row, reserved.options, NULL);
    fg_module_fail(root, &error);
    return NULL;
}

const char *fg_optimizer_name(const fg_optimizer *optimizer) { return optimizer->row->entry.name; }

size_t fg_optimizer_parameter_count(const fg_optimizer *optimizer)
{
    return optimizer->parameter_count;
}

fg_variable *fg_optimizer_parameter_at(const fg_optimizer *optimizer, size_t index)
{
    return index < optimizer->parameter_count ? optimizer->parameters[index] : NULL;
}

/* ---- momentum and schedule ------------------------------------------------------------------- */

fg_status fg_optimizer_set_momentum(fg_optimizer *optimizer, double momentum, fg_error *err)
{
    double *member = momentum_of(optimizer), unused;
    if (!(momentum >= 0 && momentum < 1))
        return fgi_fail(err, FG_EINVAL, "momentum is %g: expected 0 <= momentum < 1", momentum);
    member = member != NULL ? member : &unused;
    *member = momentum;
    fg_status status = check(optimizer, err);
    if (status == FG_OK && momentum != 0)
        status = fgi_optimizer_add_moment(optimizer, 0, err);
    if (status == FG_OK)
        optimizer->hyper.momentum = momentum;
    *member = optimizer->hyper.momentum;
    refresh(optimizer);
    return status;
}

fg_status fg_optimizer_set_schedule(fg_optimizer *optimizer, const fg_schedule *schedule,
                                    int64_t total_steps, fg_error *err)
{
    fg_schedule complete;
    void *options;
    FGI_TRY(fgi_schedule_check_steps(schedule, total_steps, err));
    if (fgi_schedule_sets_momentum(schedule))
        FGI_TRY(fgi_optimizer_add_moment(optimizer, 0, err));
    FGI_TRY(fgi_schedule_complete(schedule, &complete, &options, err));
    if (options != NULL && fg_module_attach(optimizer->root, options, fgi_free) == NULL)
        return fgi_no_memory(err);
    optimizer->place.schedule = complete;
    optimizer->place.total_steps = total_steps;
    refresh(optimizer);
    return FG_OK;
}

/* ---- updates --------------------------------------------------------------------------------- */

fg_tensor fgi_times(fg_tensor a, fg_tensor factor)
{
    return fg_mul(a, fg_cast(factor, fg_tensor_type(a)->dtype));
}

static fg_update begin_update(fg_optimizer *o, fg_trace *trace)
{
    const fgi_launch_scalars *s = &o->scalars;
    fg_update u = {.optimizer = o, .trace = trace, .dtype = FG_F32};
    for (size_t i = 0; i < o->parameter_count; i++)
        if (fg_variable_type(o->parameters[i])->dtype == FG_F64)
            u.dtype = FG_F64;
    u.lr = fgi_launch_value(&u, &s->lr);
    u.momentum = fgi_launch_value(&u, &s->momentum);
    u.rest = fgi_launch_value(&u, &s->rest);
    u.weight_decay = fgi_launch_value(&u, &s->weight_decay);
    u.keep = fgi_launch_value(&u, &s->keep);
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

/* The update of a parameter that has missed some: with its own count. */
static fg_update with_own_count(const fg_update *u, size_t i)
{
    fg_update own = *u;
    const fg_optimizer *o = u->optimizer;
    own.step = fg_sub(u->step, fg_variable_value(u->trace, o->missed[i]));
    if (o->row->prepare != NULL)
        o->row->prepare(&own);
    return own;
}

/* The parameter's new value, computed in the wide dtype and rounded once. */
static void update_one(fg_update *u, size_t i, fg_tensor gradient)
{
    const fg_optimizer *o = u->optimizer;
    u->index = i;
    fg_variable *parameter = o->parameters[i];
    const fg_tensor p = fgi_variable_part(u->trace, parameter);
    const fg_dtype dtype = fg_tensor_type(p)->dtype;
    const fg_tensor wide = fgi_upcast(p);
    const bool is_late = o->missed[i] != NULL && fgi_optimizer_counts(o);
    const fg_update own = is_late ? with_own_count(u, i) : *u;
    const fg_tensor now = o->row->update(&own, wide, gradient);
    fg_assign(parameter, fgi_guard_keep(u, fgi_guard_round(u, wide, now, dtype), p));
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
static void update_all(fg_update *u, const fg_tensor *gradients)
{
    const fg_optimizer *o = u->optimizer;
    if (o->row->prepare != NULL)
        o->row->prepare(u);
    for (size_t i = 0; i < o->parameter_count; i++)
        if (gradients[i].handle != 0)
            update_one(u, i, gradients[i]);
        else if (fgi_optimizer_has_moments(o, i) && fgi_optimizer_counts(o))
            count_missed(u, i);
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
    if (trace_of(gradients, count) == NULL || !check_gradients(o, trace, gradients))
        return;
    fg_tensor *wide = fgi_calloc(2 * count, sizeof *wide);
    if (wide == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        return;
    }
    fg_scope_push(trace, "optimizer");
    fg_update u = begin_update(o, trace);
    for (size_t i = 0; i < count; i++)
        wide[i] = gradients[i].handle != 0 ? fgi_upcast(gradients[i]) : gradients[i];
    fgi_guard_begin(&u, wide, wide + count);
    fgi_clip(&u, wide);
    update_all(&u, wide);
    fgi_guard_end(&u);
    o->skipped = u.skips ? u.is_bad : (fg_tensor){0};
    fg_scope_pop(trace);
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

void fg_optimizer_apply(fg_optimizer *optimizer, const fg_tensor *gradients, size_t count)
{
    fg_trace *trace = trace_of(gradients, count);
    if (trace == NULL || !is_there(optimizer, trace))
        return;
    count_step(optimizer);
    if (count != optimizer->parameter_count) {
        (void)fgi_trace_fail(trace, FG_EINVAL, "optimizer: %zu gradients for %zu parameters", count,
                             optimizer->parameter_count);
        return;
    }
    fg_tensor *used = fgi_calloc(count, sizeof *used);
    if (used == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (fg_variable_is_trainable(optimizer->parameters[i]))
            used[i] = gradients[i];
    write_update(optimizer, trace, used);
    fgi_free(used);
}

void fg_optimizer_minimize(fg_optimizer *optimizer, fg_tensor loss)
{
    fg_trace *trace = fg_tensor_trace(loss);
    if (!is_there(optimizer, trace))
        return;
    count_step(optimizer);
    fg_tensor *gradients = fgi_calloc(optimizer->parameter_count, sizeof *gradients);
    if (gradients == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        return;
    }
    fgi_optimizer_gradients(optimizer, loss, gradients);
    if (fg_trace_error(trace, NULL) == FG_OK)
        write_update(optimizer, trace, gradients);
    fgi_free(gradients);
}
