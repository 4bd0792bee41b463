/* run.c - runs a trace once (custom loops), and binds one for many launches (the Trainer).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "trace/program.h"

static fg_status run(fg_trace *trace, const fg_tensor *outputs, size_t count, fg_array **out_arrays,
                     fg_error *err)
{
    fgi_program *program = NULL;
    if (trace->is_step)
        return fgi_fail(err, FG_EINVAL,
                        "the values of a step are not available while it is traced\nto see one, "
                        "log it with fg_step_log");
    FGI_TRY(fgi_program_get(trace, outputs, count, &program, err));
    return fgi_program_launch(program, trace->leaves, trace->client, NULL, 0, out_arrays, NULL,
                              err);
}

fg_status fg_run(fg_trace *trace, const fg_tensor *outputs, size_t count, fg_array **out_arrays,
                 fg_error *err)
{
    for (size_t i = 0; i < count; i++)
        out_arrays[i] = NULL;
    const fg_status status = run(trace, outputs, count, out_arrays, err);
    if (!trace->is_step)
        fg_trace_reset(trace);
    return status;
}

fg_status fg_run_f32(fg_trace *trace, fg_tensor output, float *out, fg_error *err)
{
    fg_array *array = NULL;
    const fg_type *type = fg_tensor_type(output);
    if (!trace->is_step && !fgi_is_poison(output) && (type->dtype != FG_F32 || type->rank != 0)) {
        char text[96];
        (void)fgi_trace_fail(trace, FG_EDTYPE, "run: the output is %s: expected f32[]",
                             fg_type_format(type, text, sizeof text));
    }
    FGI_TRY(fg_run(trace, &output, 1, &array, err));
    const fg_status status = fg_array_read(array, out, sizeof *out, err);
    fg_array_release(array);
    return status;
}

fg_status fg_trace_text(fg_trace *trace, const fg_tensor *outputs, size_t count, char **out_text,
                        fg_error *err)
{
    *out_text = NULL;
    fgi_layout layout;
    fgi_buf text = {0};
    FGI_TRY(fgi_outputs_check(trace, outputs, count, err));
    FGI_TRY(fgi_layout_make(trace, outputs, count, &layout, err));
    fg_status status = fgi_emit_module(trace, &layout, outputs, true, &text, err);
    fgi_layout_fini(&layout);
    if (status == FG_OK) {
        *out_text = fgi_buf_take(&text);
        if (*out_text == NULL)
            status = fgi_no_memory(err);
    }
    fgi_buf_fini(&text);
    return status;
}

void fg_text_free(char *text) { fgi_free(text); }

/* ---- steps ----------------------------------------------------------------------------------- */

struct fgi_step_program {
    fgi_program *program;
    fg_client *client;
    fgi_leaf *leaves;
    size_t leaf_count;
};

fg_status fgi_step_program_create(fg_trace *trace, const fg_tensor *outputs, size_t count,
                                  fgi_step_program **out, fg_error *err)
{
    *out = NULL;
    fgi_program *program = NULL;
    FGI_TRY(fgi_program_get(trace, outputs, count, &program, err));
    fgi_step_program *step = fgi_calloc(1, sizeof *step);
    fgi_leaf *leaves = fgi_calloc(trace->leaf_count + 1, sizeof *leaves);
    if (step == NULL || leaves == NULL) {
        fgi_free(step);
        fgi_free(leaves);
        return fgi_no_memory(err);
    }
    memcpy(leaves, trace->leaves, trace->leaf_count * sizeof *leaves);
    for (size_t i = 0; i < trace->leaf_count; i++) {
        leaves[i].node = NULL; /* freed with the trace's nodes */
        leaves[i].assigned = leaves[i].current = NULL;
        leaves[i].older = NULL;
        if (leaves[i].kind == FGI_LEAF_ARRAY)
            (void)fg_array_retain(leaves[i].of.array);
    }
    *step = (fgi_step_program){.program = fgi_program_retain(program),
                               .client = trace->client,
                               .leaves = leaves,
                               .leaf_count = trace->leaf_count};
    *out = step;
    return FG_OK;
}

void fgi_step_program_destroy(fgi_step_program *step)
{
    if (step == NULL)
        return;
    fgi_leaves_release(step->leaves, step->leaf_count);
    fgi_program_release(step->program);
    fgi_free(step->leaves);
    fgi_free(step);
}

fg_status fgi_step_program_launch(fgi_step_program *step, fg_array *const *feeds, size_t feed_count,
                                  fg_array **out_arrays, fgi_event **out_done, fg_error *err)
{
    return fgi_program_launch(step->program, step->leaves, step->client, feeds, feed_count,
                              out_arrays, out_done, err);
}

const fgi_executable *fgi_step_program_executable(const fgi_step_program *step)
{
    return fgi_program_executable(step->program);
}

const fgi_matmul_flops *fgi_step_program_flops(const fgi_step_program *step)
{
    return fgi_program_flops(step->program);
}

fg_status fgi_step_program_cost(const fgi_step_program *step, fgi_program_cost *out, fg_error *err)
{
    return fgi_program_cost_of(step->program, out, err);
}
