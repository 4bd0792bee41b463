/* batches.c - the batches of one launch of several steps: stacks of the fields in host memory.
 *
 * The devices may read a stack in place until the program that uses it has ended, so there is one
 * for each launch under way, and one that is filled meanwhile.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "train/step/stage.h"

struct fgi_stacks {
    fgi_stack of[FGI_IN_FLIGHT + 1];
};

void fgi_stage_drop_stacks(fgi_stage *stage)
{
    for (int i = 0; stage->stacks != NULL && i < FGI_IN_FLIGHT + 1; i++)
        for (int f = 0; f < FG_MAX_FIELDS; f++)
            fgi_free_aligned(stage->stacks->of[i].data[f]);
    fgi_free(stage->stacks);
    stage->stacks = NULL;
    stage->filling = NULL;
}

static fg_status make_field(const fg_type *batch, int64_t steps, fg_type *out_type, void **out,
                            fg_error *err)
{
    const size_t bytes = fg_type_bytes(batch) * (size_t)steps;
    if (batch->rank == FG_MAX_RANK)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "trainer.steps_per_launch: a batch with %d dimensions cannot be stacked: "
                        "set it to 1",
                        batch->rank);
    *out_type = (fg_type){.dtype = batch->dtype, .rank = batch->rank + 1, .dim = {steps}};
    memcpy(out_type->dim + 1, batch->dim, (size_t)batch->rank * sizeof batch->dim[0]);
    *out = fgi_alloc_aligned(bytes > 0 ? bytes : 1);
    if (*out == NULL)
        return fgi_no_memory(err);
    memset(*out, 0, bytes);
    return FG_OK;
}

fg_status fgi_stage_make_stacks(fgi_stage *stage, fg_error *err)
{
    const fgi_stage_spec *spec = &stage->spec;
    if (spec->launch_steps == 0)
        return FG_OK;
    stage->stacks = fgi_calloc(1, sizeof *stage->stacks);
    if (stage->stacks == NULL)
        return fgi_no_memory(err);
    for (int i = 0; i < FGI_IN_FLIGHT + 1; i++)
        for (int f = 0; f < spec->field_count; f++)
            FGI_TRY(make_field(&spec->field_type[f], spec->launch_steps,
                               &stage->stacks->of[i].type[f], &stage->stacks->of[i].data[f], err));
    return FG_OK;
}

fgi_stack *fgi_stage_free_stack(fgi_stage *stage)
{
    int i = 0;
    while (i < FGI_IN_FLIGHT + 1 && stage->stacks->of[i].is_read)
        i++;
    return i <= FGI_IN_FLIGHT ? &stage->stacks->of[i] : NULL;
}

void fgi_stage_begin_stack(fgi_stage *stage)
{
    fgi_stack *stack = stage->filling;
    if (stack != NULL && stack->count > 0 && stack->was_fresh) /* it was never launched */
        fgi_stage_restart_sums(stage);
    stage->filling = NULL;
}

void fgi_stage_add_to_stack(fgi_stage *stage, fgi_stack *stack, const fg_host_batch *batch)
{
    for (int f = 0; f < stage->spec.field_count; f++) {
        const size_t bytes = fg_type_bytes(&batch->types[f]);
        memcpy((char *)stack->data[f] + (size_t)stack->count * bytes, batch->data[f], bytes);
    }
    fgi_stage_set_samples(stage, stack->count, batch);
    if (stack->count == 0)
        stack->was_fresh = stage->fresh.value.u32 != 0;
    fgi_step_program_add(stage->program, stack->count);
    stage->fresh.value.u32 = 0;
    stack->count++;
    stack->samples += batch->valid;
}
