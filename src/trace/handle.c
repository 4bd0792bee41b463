/* handle.c - tensors as the user holds them: which trace, which of its generations, which node.
 *
 * A tensor may be kept longer than its trace: in a struct, over a run, past a reset. So it is not a
 * pointer but a number, and a table of all traces says which numbers are alive. Each creation and
 * each reset of a trace begins another generation. A tensor of an older one, or an empty one, is
 * an error on the user's line, in the trace that the thread is writing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "trace/trace.h"

/* From the top: place in the table, generation, number of the node and 1 (0: the poison value). */
enum { TRACE_LIMIT = 4096, GENERATION_SHIFT = 28, PLACE_SHIFT = 52 };
#define GENERATION_MASK (((uint64_t)1 << (PLACE_SHIFT - GENERATION_SHIFT)) - 1)

/* A tensor is alive when it begins with the `base` of its entry. The thread that owns a trace
 * writes its entry; other threads only ever see that a base is not theirs. */
typedef struct entry {
    _Atomic(uint64_t) base; /* 0: no trace is here */
    fg_trace *trace;
    uint64_t generation; /* the last one in use here, also by traces before */
} entry;

static entry table[TRACE_LIMIT]; /* place 0 stays empty: an empty tensor belongs there */
static size_t next_place = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Where a thread without a trace puts its errors: nothing may be written into it. */
static fg_trace nowhere = {
    .poison = {.trace = &nowhere},
    .error = {.status = FG_EINVAL, .message = "a tensor was used without a trace that is alive"}};

static void begin_generation(entry *e, fg_trace *trace)
{
    e->generation = (e->generation + 1) & GENERATION_MASK;
    trace->base = (uint64_t)(e - table) << PLACE_SHIFT | e->generation << GENERATION_SHIFT;
    atomic_store_explicit(&e->base, trace->base, memory_order_release);
    fgi_place_trace(trace->base);
}

fg_status fgi_handles_open(fg_trace *trace, fg_error *err)
{
    size_t place = 0;
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < TRACE_LIMIT && place == 0; i++) {
        const size_t at = (next_place + i) % TRACE_LIMIT;
        if (at != 0 && table[at].trace == NULL)
            place = at;
    }
    if (place != 0) {
        table[place].trace = trace;
        next_place = place + 1;
    }
    (void)pthread_mutex_unlock(&lock);
    if (place == 0)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%d traces exist already: destroy those that are no longer used",
                        TRACE_LIMIT - 1);
    begin_generation(&table[place], trace);
    return FG_OK;
}

void fgi_handles_reset(fg_trace *trace)
{
    begin_generation(&table[trace->base >> PLACE_SHIFT], trace);
}

void fgi_handles_close(fg_trace *trace)
{
    entry *e = &table[trace->base >> PLACE_SHIFT];
    if (trace->base == 0)
        return;
    atomic_store_explicit(&e->base, 0, memory_order_release);
    (void)pthread_mutex_lock(&lock);
    e->trace = NULL;
    (void)pthread_mutex_unlock(&lock);
}

/* The trace of a live base; NULL for another. */
static fg_trace *find(uint64_t base)
{
    const entry *e = &table[base >> PLACE_SHIFT];
    const bool is_alive = base != 0 && atomic_load_explicit(&e->base, memory_order_acquire) == base;
    return is_alive ? e->trace : NULL;
}

/* The poison value of the trace that the thread is writing, which now has an error. */
static fgi_node *dead(fg_tensor tensor)
{
    fg_trace *trace = find(fgi_place_base());
    if (trace == NULL)
        return &nowhere.poison;
    return fgi_node_of(fgi_trace_fail(trace, FG_EINVAL, "%s", fgi_tensor_dead(tensor)));
}

const char *fgi_tensor_dead(fg_tensor tensor)
{
    if (find(tensor.handle & ~FGI_NODE_MASK) != NULL)
        return NULL;
    return tensor.handle == 0 ? "an empty tensor was used: it has no value"
                              : "a tensor was used after its trace was run, reset or destroyed\n"
                                "compute it again, or keep the array that fg_run gives";
}

fgi_node *fgi_node_of(fg_tensor tensor)
{
    const uint64_t base = tensor.handle & ~FGI_NODE_MASK, id = tensor.handle & FGI_NODE_MASK;
    const entry *e = &table[base >> PLACE_SHIFT];
    if (base == 0 || atomic_load_explicit(&e->base, memory_order_acquire) != base)
        return dead(tensor);
    return id == 0 ? &e->trace->poison : e->trace->nodes[id - 1];
}

fg_tensor fgi_tensor_of(const fgi_node *node)
{
    const uint64_t id = node->op == NULL ? 0 : (uint64_t)node->id + 1;
    return (fg_tensor){node->trace->base | id};
}
