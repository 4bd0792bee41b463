/* moments.c - an optimizer's variables: moments, the number of updates, and the updates that
 * parameters missed.
 *
 * A parameter's moments are created with the optimizer or, if it is frozen then, before its first
 * update. Bias correction uses a parameter's own number of updates: that of the optimizer minus the
 * updates that left the parameter unchanged. The latter count exists only if there were any.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "op/op.h"
#include "optim/optimizer.h"
#include "trace/trace.h"

/* ---- creation -------------------------------------------------------------------------------- */

fg_status fgi_optimizer_create_variable(const fg_optimizer *o, const char *name,
                                        const fg_type *type, const fg_variable_options *options,
                                        fg_variable **out, fg_error *err)
{
    fgi_buf full = {0};
    fgi_buf_printf(&full, "%s%s", o->prefix, name);
    fg_status status = fgi_buf_status(&full, err);
    if (status == FG_OK)
        status = fg_variable_create(full.data, type, options, out, err);
    fgi_buf_fini(&full);
    return status;
}

/* Creates the variable "optimizer.KIND.PARAMETER". */
static fg_status create_variable(const fg_optimizer *o, const char *kind, size_t index,
                                 const fg_type *type, fg_variable **out, fg_error *err)
{
    fg_variable_options options = {.kind = FG_STATE};
    const fg_variable *parameter = o->parameters[index];
    const int *axis = fg_variable_file_axis(parameter);
    if (axis != NULL && type->rank == fg_variable_type(parameter)->rank) /* as files store it */
        memcpy(options.file_axis, axis, sizeof options.file_axis);
    fgi_buf name = {0};
    fgi_buf_printf(&name, "%s.%s", kind, fg_variable_name(parameter));
    fg_status status = fgi_buf_status(&name, err);
    if (status == FG_OK)
        status = fgi_optimizer_create_variable(o, name.data, type, &options, out, err);
    fgi_buf_fini(&name);
    return status;
}

/* Creates the moment of one parameter unless it exists, or the parameter does not have it. Moments
 * of the parameter's shape are sharded like it; others are small and replicated. */
static fg_status fill_moment(fg_optimizer *o, int m, size_t index, fg_error *err)
{
    fg_variable **out = &o->moment[m][index];
    const fg_type *parameter = fg_variable_type(o->parameters[index]);
    fg_type type = *parameter;
    if (*out != NULL || (o->row->moment_type != NULL &&
                         !o->row->moment_type(fgi_optimizer_group(o, index)->options, m, &type)))
        return FG_OK;
    /* not bf16: an increment of 0.1 % is below its precision */
    type.dtype = parameter->dtype == FG_F64 ? FG_F64 : FG_F32;
    FGI_TRY(create_variable(o, o->row->moments[m], index, &type, out, err));
    if (fgi_same_shape(&type, parameter))
        fgi_variable_follow(*out, o->parameters[index]);
    return FG_OK;
}

fg_status fgi_optimizer_add_moment(fg_optimizer *o, int m, fg_error *err)
{
    if (o->moment[m] == NULL)
        o->moment[m] = fgi_calloc(o->parameter_count + 1, sizeof(fg_variable *));
    if (o->moment[m] == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < o->parameter_count; i++)
        if (fg_variable_is_trainable(o->parameters[i]))
            FGI_TRY(fill_moment(o, m, i, err));
    return FG_OK;
}

bool fgi_optimizer_counts(const fg_optimizer *o)
{
    bool has_moments = false;
    for (int m = 0; m < FGI_MOMENTS; m++)
        has_moments = has_moments || o->moment[m] != NULL;
    return has_moments && o->row->counts_updates != NULL && o->row->counts_updates(o->base.options);
}

bool fgi_optimizer_has_moments(const fg_optimizer *o, size_t index)
{
    bool has_moments = false;
    for (int m = 0; m < FGI_MOMENTS; m++)
        has_moments = has_moments || (o->moment[m] != NULL && o->moment[m][index] != NULL);
    return has_moments;
}

fg_status fgi_optimizer_make_missed(fg_optimizer *o, size_t index, fg_error *err)
{
    const fg_type count = {.dtype = FG_S32};
    fg_variable **out = &o->missed[index];
    return *out != NULL ? FG_OK : create_variable(o, "missed", index, &count, out, err);
}

/* Parameter `index` has missed all updates so far. */
static fg_status start_late(fg_optimizer *o, size_t index, fg_error *err)
{
    int32_t step = 0;
    FGI_TRY(fgi_variable_read_as(o->step, &step, sizeof step, "optimizer",
                                 err)); /* once for each parameter */
    if (step == 0 || !fgi_optimizer_counts(o))
        return FG_OK;
    FGI_TRY(fgi_optimizer_make_missed(o, index, err));
    return fg_variable_set(o->missed[index], &step, sizeof step, err);
}

fg_status fgi_optimizer_begin_parameter(fg_optimizer *o, size_t index, fg_error *err)
{
    if (fgi_optimizer_has_moments(o, index))
        return FG_OK;
    for (int m = 0; m < FGI_MOMENTS; m++)
        if (o->moment[m] != NULL)
            FGI_TRY(fill_moment(o, m, index, err));
    return fgi_optimizer_has_moments(o, index) ? start_late(o, index, err) : FG_OK;
}

void fgi_optimizer_free_moments(fg_optimizer *o)
{
    for (int m = 0; m < FGI_MOMENTS; m++) {
        for (size_t i = 0; o->moment[m] != NULL && i < o->parameter_count; i++)
            fg_variable_destroy(o->moment[m][i]);
        fgi_free(o->moment[m]);
        o->moment[m] = NULL;
    }
}

void fgi_optimizer_free_variables(fg_optimizer *o)
{
    fgi_optimizer_free_moments(o);
    for (size_t i = 0; o->missed != NULL && i < o->parameter_count; i++)
        fg_variable_destroy(o->missed[i]);
    fgi_free(o->missed);
    fg_variable_destroy(o->step);
    fg_variable_destroy(o->observed);
}

fg_status fgi_optimizer_add_observed(fg_optimizer *o, fg_error *err)
{
    const double first[FG_SCHEDULE_STATE] = {1, (double)NAN};
    const fg_type type = {FG_F64, 1, {FG_SCHEDULE_STATE}};
    if (o->observed != NULL)
        return FG_OK;
    FGI_TRY(fgi_optimizer_create_variable(
        o, "schedule", &type, &(fg_variable_options){.kind = FG_STATE}, &o->observed, err));
    return fg_variable_set(o->observed, first, sizeof first, err);
}

/* ---- access ---------------------------------------------------------------------------------- */

/* The number of entries of a list by parameter that exist; *out is the one with that number, if
 * there is one.
 */
static size_t count_list(const fg_optimizer *o, fg_variable *const *list, size_t index,
                         fg_variable **out)
{
    size_t count = 0;
    for (size_t i = 0; list != NULL && i < o->parameter_count; i++)
        if (list[i] != NULL && count++ == index)
            *out = list[i];
    return count;
}

size_t fg_optimizer_variable_count(const fg_optimizer *optimizer)
{
    fg_variable *found = NULL;
    size_t count = (optimizer->step != NULL) + (optimizer->observed != NULL) +
                   fgi_guard_variable_count(&optimizer->guard);
    for (size_t i = 0; i < optimizer->part_count; i++)
        count += fg_optimizer_variable_count(optimizer->parts[i]);
    for (int m = 0; m < FGI_MOMENTS; m++)
        count += count_list(optimizer, optimizer->moment[m], SIZE_MAX, &found);
    return count + count_list(optimizer, optimizer->missed, SIZE_MAX, &found);
}

fg_variable *fg_optimizer_variable_at(const fg_optimizer *optimizer, size_t index)
{
    fg_variable *found = NULL;
    for (size_t i = 0; i < optimizer->part_count; i++) {
        const size_t count = fg_optimizer_variable_count(optimizer->parts[i]);
        if (index < count)
            return fg_optimizer_variable_at(optimizer->parts[i], index);
        index -= count;
    }
    if (optimizer->step != NULL && index-- == 0)
        return optimizer->step;
    if (optimizer->observed != NULL && index-- == 0)
        return optimizer->observed;
    for (int m = 0; m <= FGI_MOMENTS && found == NULL; m++) {
        fg_variable *const *list = m < FGI_MOMENTS ? optimizer->moment[m] : optimizer->missed;
        const size_t count = count_list(optimizer, list, index, &found);
        if (found == NULL)
            index -= count;
    }
    return found != NULL ? found : fgi_guard_variable(&optimizer->guard, index);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static size_t index_of(const fg_optimizer *o, const char *parameter_name)
{
    size_t i = 0;
    while (i < o->parameter_count &&
           strcmp(fg_variable_name(o->parameters[i]), parameter_name) != 0)
        i++;
    return i;
}

/* The part of `name` after "optimizer.KIND.", or NULL if the name does not start with that. */
static const char *after_kind(const fg_optimizer *o, const char *name, const char *kind)
{
    const size_t n = strlen(o->prefix), m = strlen(kind);
    const bool is_kind =
        strncmp(name, o->prefix, n) == 0 && strncmp(name + n, kind, m) == 0 && name[n + m] == '.';
    return is_kind ? name + n + m + 1 : NULL;
}

fg_status fgi_optimizer_expect(fg_optimizer *o, const char *name, fg_error *err)
{
    for (size_t i = 0; i < o->part_count; i++)
        FGI_TRY(fgi_optimizer_expect(o->parts[i], name, err));
    for (int m = 0; m <= FGI_MOMENTS; m++) {
        if (m < FGI_MOMENTS && o->moment[m] == NULL)
            continue;
        const char *parameter =
            after_kind(o, name, m < FGI_MOMENTS ? o->row->moments[m] : "missed");
        const size_t index = parameter != NULL ? index_of(o, parameter) : o->parameter_count;
        if (index == o->parameter_count)
            continue;
        return m < FGI_MOMENTS ? fill_moment(o, m, index, err)
                               : fgi_optimizer_make_missed(o, index, err);
    }
    return FG_OK;
}

fg_status fgi_optimizer_forget_missed(fg_optimizer *o, fg_error *err)
{
    const int32_t zero = 0;
    for (size_t i = 0; i < o->part_count; i++)
        FGI_TRY(fgi_optimizer_forget_missed(o->parts[i], err));
    for (size_t i = 0; i < o->parameter_count; i++)
        if (o->missed[i] != NULL)
            FGI_TRY(fg_variable_set(o->missed[i], &zero, sizeof zero, err));
    return FG_OK;
}

bool fgi_optimizer_needs(const fg_optimizer *o, const fg_variable *variable,
                         fg_variable **out_parameter)
{
    *out_parameter = NULL;
    for (size_t i = 0; i < o->part_count; i++)
        if (fgi_optimizer_needs(o->parts[i], variable, out_parameter))
            return true;
    for (int m = 0; m < FGI_MOMENTS; m++)
        for (size_t i = 0; o->moment[m] != NULL && i < o->parameter_count; i++)
            if (o->moment[m][i] == variable)
                *out_parameter = o->parameters[i];
    return variable == o->step || *out_parameter != NULL;
}

fg_status fgi_optimizer_start_late(fg_optimizer *o, const fg_variable *parameter, fg_error *err)
{
    for (size_t i = 0; i < o->part_count; i++)
        FGI_TRY(fgi_optimizer_start_late(o->parts[i], parameter, err));
    const size_t index = index_of(o, fg_variable_name(parameter));
    return index < o->parameter_count ? start_late(o, index, err) : FG_OK;
}
