/* accumulate.c - one step of the optimizer over several batches.
 *
 * The training program of such a stage does not update: it adds each parameter's gradient,
 * multiplied by the denominator of the loss (samples, or the weights of tokens), to a sum on the
 * device, which restarts with the first batch of a step, and adds up the denominators. A second,
 * small program divides by their sum and updates. So the gradient is that of the mean over the
 * whole step, regardless of how many batches it has and how full they are, and the last step of an
 * epoch uses the same programs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <fulgurite/ops.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "optim/optimizer.h"
#include "train/step/stage.h"

/* Sums are sharded like their parameters. They are not part of checkpoints, which are taken between
 * steps. */
static fg_status create_sum(fg_variable *parameter, fg_variable **out, fg_error *err)
{
    const fg_variable_options options = {.kind = FG_STATE};
    fg_type type = *fg_variable_type(parameter);
    fgi_buf name = {0};
    if (type.dtype != FG_F64)
        type.dtype = FG_F32;
    fgi_buf_printf(&name, "trainer.gradient.%s", fg_variable_name(parameter));
    fg_status status = fgi_buf_status(&name, err);
    if (status == FG_OK)
        status = fg_variable_create(name.data, &type, &options, out, err);
    if (status == FG_OK)
        fgi_variable_set_sharding(*out, fgi_variable_sharding(parameter));
    fgi_buf_fini(&name);
    return status;
}

/* The sum of the weights of loss i. */
static fg_status create_weight(fgi_accumulator *a, size_t i, fg_error *err)
{
    char name[48];
    const fg_type scalar = {.dtype = FG_F32};
    (void)snprintf(name, sizeof name, "trainer.weight.%zu", i);
    return fg_variable_create(name, &scalar, &(fg_variable_options){.kind = FG_STATE},
                              &a->weight[i], err);
}

fg_status fgi_accumulator_create(fg_optimizer *optimizer, fgi_accumulator **out, fg_error *err)
{
    fgi_accumulator *a = fgi_calloc(1, sizeof *a);
    *out = NULL;
    if (a == NULL)
        return fgi_no_memory(err);
    a->optimizer = optimizer;
    a->fresh.dtype = FG_U32;
    a->count = fg_optimizer_parameter_count(optimizer);
    a->sum = fgi_calloc(a->count, sizeof(fg_variable *));
    fg_status status = a->sum != NULL ? FG_OK : fgi_no_memory(err);
    for (size_t i = 0; i < fgi_optimizer_loss_count(optimizer) && status == FG_OK; i++)
        status = create_weight(a, i, err);
    if (status != FG_OK) {
        fgi_accumulator_destroy(a);
        return status;
    }
    *out = a;
    return FG_OK;
}

void fgi_accumulator_destroy(fgi_accumulator *a)
{
    if (a == NULL)
        return;
    fgi_step_program_destroy(a->update);
    fg_trace_destroy(a->trace);
    for (size_t i = 0; a->sum != NULL && i < a->count; i++)
        fg_variable_destroy(a->sum[i]);
    for (size_t i = 0; i < FG_MOST_PARTS; i++)
        fg_variable_destroy(a->weight[i]);
    fgi_free(a->sum);
    fgi_free(a);
}

bool fgi_accumulator_is_lost(const fgi_accumulator *a)
{
    for (size_t i = 0; a != NULL && i < a->count; i++)
        if (a->sum[i] != NULL && fgi_variable_is_lost(a->sum[i]))
            return true;
    for (size_t i = 0; a != NULL && i < fgi_optimizer_loss_count(a->optimizer); i++)
        if (fgi_variable_is_lost(a->weight[i]))
            return true;
    return false;
}

/* ---- the two programs ------------------------------------------------------------------------ */

/* variable = (fresh ? 0 : variable) + value */
static void add_to(fg_variable *variable, fg_tensor value, fg_tensor fresh)
{
    fg_trace *trace = fg_tensor_trace(value);
    const fg_type *type = fg_variable_type(variable);
    const fg_tensor before = fg_variable_value(trace, variable);
    const fg_tensor zero = fg_zeros(trace, type->dtype, type->rank, type->dim);
    fg_assign(variable, fg_add(fg_where(fresh, zero, before), value));
}

static void add_gradient(fgi_accumulator *a, size_t i, fg_tensor gradient, fg_tensor weight,
                         fg_tensor fresh)
{
    fg_trace *trace = fg_tensor_trace(gradient);
    fg_error err = {0};
    if (a->sum[i] == NULL &&
        create_sum(fg_optimizer_parameter_at(a->optimizer, i), &a->sum[i], &err) != FG_OK) {
        (void)fgi_trace_fail(trace, err.status, "%s", err.message);
        return;
    }
    const fg_dtype dtype = fg_variable_type(a->sum[i])->dtype;
    add_to(a->sum[i], fg_mul(fg_cast(gradient, dtype), fg_cast(weight, dtype)), fresh);
}

void fgi_accumulate(fgi_accumulator *a, const fg_tensor *losses, const fg_tensor *weights)
{
    fg_trace *trace = fg_tensor_trace(losses[0]);
    fg_tensor *gradients = fgi_calloc(a->count, sizeof *gradients);
    if (gradients == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    } else {
        fgi_optimizer_gradients(a->optimizer, losses, gradients);
        fg_scope_push(trace, "accumulate");
        const fg_tensor fresh =
            fg_ne(fg_scalar_value(trace, &a->fresh), fg_zeros(trace, FG_U32, FG_SCALAR));
        for (size_t i = 0; i < a->count; i++)
            if (gradients[i].handle != 0)
                add_gradient(a, i, gradients[i], weights[fgi_optimizer_loss_of(a->optimizer, i)],
                             fresh);
        for (size_t i = 0; i < fgi_optimizer_loss_count(a->optimizer); i++)
            if (fg_trace_error(trace, NULL) == FG_OK)
                add_to(a->weight[i], weights[i], fresh);
        fg_scope_pop(trace);
    }
    fgi_free(gradients);
}

/* The sum of the weights of a loss, or 1 instead of 0, where the sums of gradients are 0 too. */
static fg_tensor divisor_of(const fgi_accumulator *a, size_t i)
{
    const fg_tensor total = fg_variable_value(a->trace, a->weight[i]);
    const fg_tensor zero = fg_zeros(a->trace, FG_F32, FG_SCALAR);
    return fg_where(fg_eq(total, zero), fg_ones(a->trace, FG_F32, FG_SCALAR), total);
}

/* Traces gradient = sum / weight, and the update. */
static fg_status trace_update(fgi_accumulator *a, fg_error *err)
{
    fg_tensor *gradients = fgi_calloc(a->count, sizeof *gradients);
    if (gradients == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < a->count; i++) {
        if (a->sum[i] == NULL)
            continue;
        const fg_tensor sum = fg_variable_value(a->trace, a->sum[i]);
        const fg_tensor weight = divisor_of(a, fgi_optimizer_loss_of(a->optimizer, i));
        gradients[i] = fg_div(sum, fg_cast(weight, fg_tensor_type(sum)->dtype));
    }
    fg_optimizer_apply(a->optimizer, gradients, a->count);
    fgi_free(gradients);
    return fg_trace_error(a->trace, err);
}

fg_status fgi_accumulator_compile(fgi_accumulator *a, fg_client *client,
                                  const fgi_callbacks *callbacks, int64_t step,
                                  fgi_history *history, fg_error *err)
{
    FGI_TRY(fg_trace_create(client, &a->trace, err));
    a->trace->is_step = true;
    a->trace->label = "update";
    a->trace->step = step;
    a->trace->history = history;
    fg_trace_set_training(a->trace, true);
    FGI_TRY(trace_update(a, err));
    fgi_callbacks_update(callbacks, a->trace, a->optimizer);
    FGI_TRY(fg_trace_error(a->trace, err));
    FGI_TRY(fgi_step_program_create(a->trace, NULL, 0, &a->update, err));
    fg_trace_reset(a->trace);
    return FG_OK;
}

/* ---- a step ---------------------------------------------------------------------------------- */

void fgi_accumulator_add(fgi_accumulator *a)
{
    a->fresh.value.u32 = a->batches == 0;
    a->batches++;
}
