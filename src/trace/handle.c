/* handle.c - tensor handles: trace, generation of the trace, and node.
 *
 * A tensor may be kept longer than its trace: in a struct, across a run, after a reset. So it is
 * not a pointer but a number, and a table of all traces contains the valid numbers. Each creation
 * and each reset of a trace starts a new generation. Using a tensor of an older generation, or an
 * empty one, is an error at the user's line, kept in the trace that the thread is recording.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "trace/trace.h"

#define GENERATION_MASK (((uint64_t)1 << (FGI_PLACE_SHIFT - FGI_GENERATION_SHIFT)) - 1)

/* The thread that owns a trace writes its entry; other threads only see that a base is different.
 * Entry 0 is never used: empty tensors refer to it. */
fgi_handle_entry fgi_handle_table[FGI_TRACE_LIMIT];
static size_t next_place = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Where a thread without a trace keeps its errors: no operations may be recorded in it. */
static fg_trace nowhere = {
    .poison = {.trace = &nowhere},
    .error = {.status = FG_EINVAL, .message = "a tensor was used, but no trace exists"}};

static void begin_generation(fgi_handle_entry *e, fg_trace *trace)
{
    e->generation = (e->generation + 1) & GENERATION_MASK;
    trace->base = (uint64_t)(e - fgi_handle_table) << FGI_PLACE_SHIFT | e->generation
                                                                            << FGI_GENERATION_SHIFT;
    e->nodes = trace->nodes;
    atomic_store_explicit(&e->base, trace->base, memory_order_release);
    fgi_here_set_trace(trace->base);
}

fg_status fgi_handles_open(fg_trace *trace, fg_error *err)
{
    size_t place = 0;
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < FGI_TRACE_LIMIT && place == 0; i++) {
        const size_t at = (next_place + i) % FGI_TRACE_LIMIT;
        if (at != 0 && fgi_handle_table[at].trace == NULL)
            place = at;
    }
    if (place != 0) {
        fgi_handle_table[place].trace = trace;
        next_place = place + 1;
    }
    (void)pthread_mutex_unlock(&lock);
    if (place == 0)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "there are already %d traces: destroy traces that are no longer used",
                        FGI_TRACE_LIMIT - 1);
    begin_generation(&fgi_handle_table[place], trace);
    return FG_OK;
}

void fgi_handles_reset(fg_trace *trace)
{
    begin_generation(&fgi_handle_table[trace->base >> FGI_PLACE_SHIFT], trace);
}

void fgi_handles_renew(fg_trace *trace)
{
    fgi_handle_table[trace->base >> FGI_PLACE_SHIFT].nodes = trace->nodes;
}

void fgi_handles_close(fg_trace *trace)
{
    fgi_handle_entry *e = &fgi_handle_table[trace->base >> FGI_PLACE_SHIFT];
    if (trace->base == 0)
        return;
    atomic_store_explicit(&e->base, 0, memory_order_release);
    (void)pthread_mutex_lock(&lock);
    e->trace = NULL;
    (void)pthread_mutex_unlock(&lock);
}

/* The trace with this base; NULL if it is no longer alive. */
static fg_trace *find(uint64_t base)
{
    const fgi_handle_entry *e = &fgi_handle_table[base >> FGI_PLACE_SHIFT];
    const bool is_alive = base != 0 && atomic_load_explicit(&e->base, memory_order_acquire) == base;
    return is_alive ? e->trace : NULL;
}

/* The poison value of the trace that the thread is recording, which now has an error. */
static fgi_node *dead(fg_tensor tensor)
{
    fg_trace *trace = find(fgi_here_trace());
    if (trace == NULL)
        return &nowhere.poison;
    return fgi_node_of(fgi_trace_fail(trace, FG_EINVAL, "%s", fgi_tensor_dead(tensor)));
}

const char *fgi_tensor_dead(fg_tensor tensor)
{
    if (find(tensor.handle & ~FGI_NODE_MASK) != NULL)
        return NULL;
    return tensor.handle == 0
               ? "an empty tensor was used: it has no value"
               : "a tensor was used after its trace was run, reset or destroyed\ncompute it again, "
                 "or keep the array that fg_run returns";
}

fgi_node *fgi_node_of_unusual(fg_tensor tensor)
{
    fg_trace *trace = find(tensor.handle & ~FGI_NODE_MASK);
    return trace != NULL ? &trace->poison : dead(tensor);
}

fg_tensor fgi_tensor_of(const fgi_node *node)
{
    const uint64_t id = node->op == NULL ? 0 : (uint64_t)node->id + 1;
    return (fg_tensor){node->trace->base | id};
}
