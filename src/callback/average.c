/* average.c - averages of a model's parameters and buffers.
 *
 * They are part of the program of the update and stay on the device, sharded like what they are the
 * averages of. Evaluations read them instead of the model, so nothing is copied or exchanged when a
 * validation starts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "callback/average.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "op/op.h"
#include "trace/trace.h"

static bool is_averaged(const fg_variable *variable, bool has_buffers)
{
    const fg_variable_kind kind = fg_variable_kind_of(variable);
    return (kind == FG_PARAMETER || (kind == FG_BUFFER && has_buffers)) &&
           fg_dtype_is_float(fg_variable_type(variable)->dtype);
}

/* The average of one variable, stored in files in its dimension order. */
static fg_variable *create_mean(fg_module *parent, const fg_variable *of)
{
    fg_variable_options options = {.kind = FG_STATE};
    fg_type type = *fg_variable_type(of);
    const int *axis = fg_variable_file_axis(of);
    if (axis != NULL)
        memcpy(options.file_axis, axis, sizeof options.file_axis);
    if (type.dtype != FG_F64) /* in bf16, small changes would be lost */
        type.dtype = FG_F32;
    fg_variable *mean = fg_module_variable(parent, fg_variable_name(of), &type, &options);
    if (mean != NULL)
        fgi_variable_follow(mean, of);
    return mean;
}

fg_status fgi_average_build(void *self, fg_module *root, fg_error *err)
{
    fgi_average *a = self;
    const size_t count = fg_module_variable_count(root);
    const fg_type number = {.dtype = FG_S32};
    a->of = fgi_calloc(count + 1, sizeof(fg_variable *));
    a->mean = fgi_calloc(count + 1, sizeof(fg_variable *));
    if (a->of == NULL || a->mean == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (is_averaged(fg_module_variable_at(root, i), a->use_buffers))
            a->of[a->count++] = fg_module_variable_at(root, i);
    fg_module *child = fg_module_child(root, a->name);
    for (size_t i = 0; i < a->count; i++)
        a->mean[i] = create_mean(child, a->of[i]);
    a->taken =
        fg_module_variable(child, "taken", &number, &(fg_variable_options){.kind = FG_STATE});
    a->due.dtype = FG_U32;
    return fg_module_error(root, err);
}

void fgi_average_destroy(void *self)
{
    fgi_average *a = self;
    fgi_free(a->of);
    fgi_free(a->mean);
    fgi_free(self);
}

static fg_tensor is_none(fg_tensor taken)
{
    return fg_eq(taken, fg_zeros(fg_tensor_trace(taken), FG_S32, FG_SCALAR));
}

/* Whether this step's values are taken: bool[]. */
static fg_tensor is_due(const fgi_average *a, fg_trace *trace, const fg_optimizer *optimizer)
{
    const fg_tensor zero = fg_zeros(trace, FG_U32, FG_SCALAR);
    return fg_and(fg_ne(fg_scalar_value(trace, &a->due), zero),
                  fg_not(fg_optimizer_skipped(optimizer, trace)));
}

void fgi_average_update(void *self, fg_trace *trace, fg_optimizer *optimizer)
{
    fgi_average *a = self;
    fg_scope_push(trace, "average");
    const fg_tensor due = is_due(a, trace, optimizer);
    const fg_tensor taken = fg_variable_value(trace, a->taken);
    const fg_tensor some = fg_maximum(taken, fg_ones(trace, FG_S32, FG_SCALAR));
    for (size_t i = 0; i < a->count; i++) {
        const fg_tensor mean = fg_variable_value(trace, a->mean[i]);
        const fg_dtype dtype = fg_tensor_type(mean)->dtype;
        const fg_tensor now = fg_cast(fgi_variable_part(trace, a->of[i]), dtype);
        const fg_tensor one = fg_ones(trace, dtype, FG_SCALAR);
        const fg_tensor part = fg_where(is_none(taken), one, a->weight(self, some, dtype));
        const fg_tensor next = fg_add(mean, fg_mul(fg_sub(now, mean), part));
        fg_assign(a->mean[i], fg_where(due, next, mean));
    }
    fg_assign(a->taken, fg_add(taken, fg_cast(due, FG_S32)));
    fg_scope_pop(trace);
}

fg_tensor fgi_average_value(void *self, fg_trace *trace, fg_variable *variable)
{
    const fgi_average *a = self;
    size_t i = 0;
    while (i < a->count && a->of[i] != variable)
        i++;
    if (i == a->count)
        return (fg_tensor){0};
    const fg_tensor own = fgi_variable_part(trace, variable);
    const fg_tensor mean =
        fg_cast(fg_variable_value(trace, a->mean[i]), fg_tensor_type(own)->dtype);
    return fg_where(is_none(fg_variable_value(trace, a->taken)), own, mean);
}
