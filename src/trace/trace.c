/* trace.c - traces: creation, scopes, settings, the first error.
 *
 * A trace owns its nodes (arena), its tables and its compiled programs; the client is borrowed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/trace.h"

#include <stdarg.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/here.h"
#include "base/print.h"
#include "base/rng.h"
#include "trace/program.h"

static _Thread_local uint64_t last_trace; /* base of the trace recorded last */

void fgi_trace_source_line(const fg_trace *trace, const char **out_file, int *out_line)
{
    last_trace = trace->base;
    fgi_here_get(out_file, out_line);
}

void fgi_here_set_trace(uint64_t base) { last_trace = base; }

uint64_t fgi_here_trace(void) { return last_trace; }

fg_status fg_trace_create(fg_client *client, fg_trace **out, fg_error *err)
{
    *out = NULL;
    fg_trace *trace = fgi_calloc(1, sizeof *trace);
    if (trace == NULL)
        return fgi_no_memory(err);
    const fg_status status = fgi_handles_open(trace, err);
    if (status != FG_OK) {
        fgi_free(trace);
        return status;
    }
    trace->client = fgi_client_retain(client);
    trace->poison.trace = trace;
    for (int i = 0; i < FGI_KEY_WORDS; i++)
        trace->key[i].dtype = FG_U32;
    fg_trace_set_seed(trace, 0, 0);
    *out = trace;
    return FG_OK;
}

void fg_trace_destroy(fg_trace *trace)
{
    if (trace == NULL)
        return;
    fgi_handles_close(trace);
    fgi_leaves_release(trace->leaves, trace->leaf_count);
    fgi_programs_fini(&trace->programs);
    fgi_history_fini(&trace->own_history);
    fgi_map_fini(&trace->by_hash);
    fgi_map_fini(&trace->leaf_by_key);
    fgi_free(trace->nodes);
    fgi_free(trace->leaves);
    fgi_arena_fini(&trace->arena);
    fgi_client_release(trace->client);
    fgi_free(trace);
}

void fg_trace_reset(fg_trace *trace)
{
    fgi_handles_reset(trace);
    fgi_leaves_release(trace->leaves, trace->leaf_count);
    trace->leaf_count = 0;
    trace->node_count = 0;
    fgi_map_clear(&trace->by_hash);
    fgi_map_clear(&trace->leaf_by_key);
    fgi_arena_reset(&trace->arena);
    trace->error = (fg_error){0};
    trace->scope_depth = 0;
    trace->scope_overflow = 0;
    trace->place = NULL;
    trace->random_ids = 0;
    trace->remat_depth = 0;
    trace->region = NULL;
    trace->region_count = 0;
    trace->has_mask = trace->has_valid_count = false;
    trace->has_rows = trace->has_marks = false;
}

fg_status fg_trace_error(const fg_trace *trace, fg_error *err)
{
    if (err != NULL && trace->error.status != FG_OK)
        *err = trace->error;
    return trace->error.status;
}

fg_client *fg_trace_client(const fg_trace *trace) { return trace->client; }

void fg_trace_set_training(fg_trace *trace, bool training) { trace->is_training = training; }

bool fg_trace_training(const fg_trace *trace) { return trace->is_training; }

void fg_trace_set_seed(fg_trace *trace, uint64_t seed, uint64_t step)
{
    const fgi_key key = fgi_key_fold(fgi_key_from_seed(seed), step);
    for (int i = 0; i < FGI_KEY_WORDS; i++)
        trace->key[i].value.u32 = key.word[i];
}

const fg_scalar *fgi_trace_key(const fg_trace *trace) { return trace->key; }

uint32_t fgi_trace_next_random_id(fg_trace *trace) { return trace->random_ids++; }

void fg_trace_set_mask(fg_trace *trace, fg_tensor mask)
{
    if (trace->is_step && !fgi_is_poison(mask))
        (void)fgi_trace_fail(
            trace, FG_EINVAL,
            "mask: the Trainer masks padding rows itself\nto exclude more, pass weights to the "
            "loss and the metrics (fg_weighted_mean, fg_cross_entropy, fg_step_log_weighted)");
    else
        fgi_trace_set_mask(trace, mask, NULL);
}

void fgi_trace_set_mask(fg_trace *trace, fg_tensor mask, const fg_tensor *count)
{
    const fg_type *type = fg_tensor_type(mask);
    if (fgi_is_poison(mask))
        return;
    if (type->rank != 1 || type->dtype != FG_F32) {
        char text[128];
        (void)fgi_trace_fail(trace, type->rank != 1 ? FG_ESHAPE : FG_EDTYPE,
                             "mask(%s): expected f32[B], one number per sample",
                             fg_type_format(type, text, sizeof text));
        return;
    }
    if (trace->has_rows) {
        (void)fgi_trace_fail(trace, FG_EINVAL,
                             "mask: a batch axis is already marked\nset the mask before the first "
                             "operation on the batch");
        return;
    }
    trace->mask = mask;
    trace->has_mask = true;
    trace->has_valid_count = count != NULL;
    if (count != NULL)
        trace->valid_count = *count;
}

int64_t fgi_trace_batch(const fg_trace *trace)
{
    return trace->has_mask ? fg_tensor_type(trace->mask)->dim[0] : 0;
}

bool fgi_trace_valid_count(const fg_trace *trace, fg_tensor *out)
{
    if (trace->has_valid_count)
        *out = trace->valid_count;
    return trace->has_valid_count;
}

void fgi_trace_note_mark(fg_trace *trace) { trace->has_rows = trace->has_marks = true; }

bool fgi_trace_assumes_rows(const fg_trace *trace)
{
    return trace->has_mask && !trace->has_marks && !trace->is_step;
}

bool fgi_trace_is_derivative(const fg_trace *trace) { return trace->place != NULL; }

bool fg_trace_mask(const fg_trace *trace, fg_tensor *out)
{
    if (trace->has_mask)
        *out = trace->mask;
    return trace->has_mask;
}

void fg_scope_push(fg_trace *trace, const char *name)
{
    if (trace->base == 0) /* the trace for tensors without a trace: nothing is recorded there */
        return;
    if (trace->scope_depth == FGI_SCOPE_DEPTH) {
        trace->scope_overflow++;
        return;
    }
    const char *outer = trace->scope_depth > 0 ? trace->scope[trace->scope_depth - 1] : NULL;
    char *scope = outer != NULL ? fgi_arena_printf(&trace->arena, "%s/%s", outer, name)
                                : fgi_arena_strdup(&trace->arena, name);
    if (scope == NULL)
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    trace->scope[trace->scope_depth++] = scope;
}

void fg_scope_pop(fg_trace *trace)
{
    if (trace->scope_overflow > 0)
        trace->scope_overflow--;
    else if (trace->scope_depth > 0)
        trace->scope_depth--;
}

const fg_type *fg_tensor_type(fg_tensor tensor) { return &fgi_node_of(tensor)->type; }

fg_trace *fg_tensor_trace(fg_tensor tensor) { return fgi_node_of(tensor)->trace; }

int64_t fg_tensor_dim(fg_tensor tensor, int axis)
{
    const fg_type *type = fg_tensor_type(tensor);
    if (axis < 0)
        axis += type->rank;
    return axis >= 0 && axis < type->rank ? type->dim[axis] : 0;
}

fg_tensor fgi_poison(fg_trace *trace)
{
    if (trace->error.status == FG_OK)
        return fgi_trace_fail(trace, FG_EINVAL, "a value of another trace was used");
    return fgi_tensor_of(&trace->poison);
}

bool fgi_is_poison(fg_tensor tensor) { return fgi_node_of(tensor)->op == NULL; }

fg_tensor fgi_trace_fail(fg_trace *trace, fg_status status, const char *format, ...)
{
    if (trace->error.status == FG_OK) {
        char text[sizeof trace->error.message];
        va_list args;
        va_start(args, format);
        (void)fgi_vsnprintf(text, sizeof text, format, args);
        va_end(args);
        const fgi_node *place = trace->place;
        const char *file;
        int line;
        fgi_here_get(&file, &line);
        status = fgi_fail_at(&trace->error, status, place != NULL ? place->file : file,
                             place != NULL ? place->line : line, "%s", text);
    }
    return fgi_tensor_of(&trace->poison);
}

bool fgi_trace_check_reserved(fg_trace *trace, fgi_reserved reserved)
{
    fg_error error = {0};
    if (fgi_check_reserved(reserved, &error) == FG_OK)
        return true;
    (void)fgi_trace_fail(trace, error.status, "%s", error.message);
    return false;
}

void fgi_trace_borrow_location(fg_trace *trace, const fgi_node *node) { trace->place = node; }
