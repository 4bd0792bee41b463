/* accumulate.c - one step of the optimizer over several batches.
 *
 * The training program of such a stage does not update: it adds each parameter's gradient, times
 * the samples that count, to a sum on the device, which begins anew with the first batch of a step.
 * A second, small program divides the sums by the step's samples and updates. So the gradient is
 * the mean over all samples of the step, however many batches it has and however full they are, and
 * neither program is another one for the last step of an epoch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "optim/optimizer.h"
#include "train/trainer.h"

struct fgi_accumulator {
    fg_optimizer *optimizer; /* borrowed */
    fg_trace *trace;         /* of the update; kept for its scalars */
    fgi_step_program *update;
    /* Of each of the optimizer's parameters: f32, f64 for one of f64. NULL for those without a
     * gradient, which the update leaves alone. */
    fg_variable **sum;
    size_t count;
    fg_scalar fresh;   /* u32: 1 when the sums begin anew with this batch */
    fg_scalar samples; /* f32: of the step */
    int64_t batches, samples_so_far;
};

/* Sums lie on the devices as their parameters do. They are no part of a checkpoint: those are
 * written between steps. */
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
        fgi_variable_set_split(*out, fgi_variable_split(parameter));
    fgi_buf_fini(&name);
    return status;
}

fg_status fgi_accumulator_create(fg_optimizer *optimizer, fgi_accumulator **out, fg_error *err)
{
    fgi_accumulator *a = fgi_calloc(1, sizeof *a);
    *out = NULL;
    if (a == NULL)
        return fgi_no_memory(err);
    a->optimizer = optimizer;
    a->fresh.dtype = FG_U32;
    a->samples.dtype = FG_F32;
    a->count = fg_optimizer_parameter_count(optimizer);
    a->sum = fgi_calloc(a->count, sizeof(fg_variable *));
    if (a->sum == NULL) {
        fgi_accumulator_destroy(a);
        return fgi_no_memory(err);
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
    fgi_free(a->sum);
    fgi_free(a);
}

bool fgi_accumulator_is_lost(const fgi_accumulator *a)
{
    for (size_t i = 0; a != NULL && i < a->count; i++)
        if (a->sum[i] != NULL && fgi_variable_is_lost(a->sum[i]))
            return true;
    return false;
}

/* ---- the two programs ------------------------------------------------------------------------ */

/* sum = (fresh ? 0 : sum) + gradient * samples */
static void add_gradient(fgi_accumulator *a, size_t i, fg_tensor gradient, fg_tensor samples,
                         fg_tensor fresh)
{
    fg_trace *trace = fg_tensor_trace(gradient);
    fg_error err = {0};
    if (a->sum[i] == NULL &&
        create_sum(fg_optimizer_parameter_at(a->optimizer, i), &a->sum[i], &err) != FG_OK) {
        (void)fgi_trace_fail(trace, err.status, "%s", err.message);
        return;
    }
    const fg_type *type = fg_variable_type(a->sum[i]);
    const fg_tensor before = fg_variable_value(trace, a->sum[i]);
    const fg_tensor zero = fg_zeros(trace, type->dtype, type->rank, type->dim);
    const fg_tensor weighed = fg_mul(fg_cast(gradient, type->dtype), fg_cast(samples, type->dtype));
    fg_assign(a->sum[i], fg_add(fg_where(fresh, zero, before), weighed));
}

void fgi_accumulate(fgi_accumulator *a, fg_tensor loss, fg_tensor samples)
{
    fg_trace *trace = fg_tensor_trace(loss);
    fg_tensor *gradients = fgi_calloc(a->count, sizeof *gradients);
    if (gradients == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    } else {
        fgi_optimizer_gradients(a->optimizer, loss, gradients);
        fg_scope_push(trace, "accumulate");
        const fg_tensor fresh =
            fg_ne(fg_scalar_value(trace, &a->fresh), fg_zeros(trace, FG_U32, FG_SCALAR));
        for (size_t i = 0; i < a->count; i++)
            if (gradients[i].handle != 0)
                add_gradient(a, i, gradients[i], samples, fresh);
        fg_scope_pop(trace);
    }
    fgi_free(gradients);
}

/* Writes gradient = sum / samples, and the update. */
static fg_status trace_update(fgi_accumulator *a, fg_error *err)
{
    fg_tensor *gradients = fgi_calloc(a->count, sizeof *gradients);
    if (gradients == NULL)
        return fgi_no_memory(err);
    const fg_tensor samples = fg_scalar_value(a->trace, &a->samples);
    for (size_t i = 0; i < a->count; i++) {
        if (a->sum[i] == NULL)
            continue;
        const fg_tensor sum = fg_variable_value(a->trace, a->sum[i]);
        const fg_tensor count = fg_cast(samples, fg_tensor_type(sum)->dtype);
        gradients[i] = fg_div(sum, count);
    }
    fg_optimizer_apply(a->optimizer, gradients, a->count);
    fgi_free(gradients);
    return fg_trace_error(a->trace, err);
}

fg_status fgi_accumulator_compile(fgi_accumulator *a, fg_client *client, fg_error *err)
{
    FGI_TRY(fg_trace_create(client, &a->trace, err));
    a->trace->is_step = true;
    fg_trace_set_training(a->trace, true);
    FGI_TRY(trace_update(a, err));
    FGI_TRY(fgi_step_program_create(a->trace, NULL, 0, &a->update, err));
    fg_trace_reset(a->trace);
    return FG_OK;
}

/* ---- a step ---------------------------------------------------------------------------------- */

void fgi_accumulator_begin(fgi_accumulator *a)
{
    if (a != NULL)
        a->batches = a->samples_so_far = 0;
}

int64_t fgi_accumulator_batches(const fgi_accumulator *a) { return a != NULL ? a->batches : 0; }

void fgi_accumulator_add(fgi_accumulator *a, int64_t samples)
{
    a->fresh.value.u32 = a->batches == 0;
    a->batches++;
    a->samples_so_far += samples;
}

fgi_step_program *fgi_accumulator_update(fgi_accumulator *a, uint64_t seed, int64_t step)
{
    fg_trace_set_seed(a->trace, ~seed, (uint64_t)step); /* other bits than those of the batches */
    a->samples.value.f32 = (float)a->samples_so_far;
    return a->update;
}
