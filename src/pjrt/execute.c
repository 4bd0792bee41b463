/* execute.c - launches a compiled program. The lists of buffers for a launch are kept by the
 * executable, so that a launch allocates only its output handles.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <string.h>

#include "base/thread.h"
#include "pjrt/plugin.h"

/* The lists of one launch: [device][argument] and [device][output]. */
struct fgi_scratch {
    size_t arg_capacity;
    PJRT_Buffer ***arg_lists, ***out_lists; /* [device] */
    PJRT_Event **events;                    /* [device] */
    PJRT_Buffer **args, **outs;             /* [device * arg_capacity], [device * out_count] */
    void *slot[];                           /* memory of all of the above */
};

static _Thread_local struct {
    bool is_on;
    int64_t ns;
} watch;

void fgi_plugin_watch(void)
{
    watch.is_on = true;
    watch.ns = 0;
}

int64_t fgi_plugin_unwatch(void)
{
    watch.is_on = false;
    return watch.ns;
}

int64_t fgi_plugin_enter(void) { return watch.is_on ? fgi_thread_cpu_ns() : 0; }

void fgi_plugin_leave(int64_t begin)
{
    if (watch.is_on)
        watch.ns += fgi_thread_cpu_ns() - begin;
}

void fgi_scratch_free(fgi_scratch *scratch) { fgi_free(scratch); }

static fgi_scratch *scratch_create(const fgi_executable *e, size_t arg_count)
{
    const size_t devices = (size_t)e->device_count;
    const size_t slots = devices * (3 + arg_count + e->out_count);
    fgi_scratch *s = fgi_calloc(1, sizeof *s + slots * sizeof s->slot[0]);
    if (!s)
        return NULL;
    void **next = s->slot;
    s->arg_capacity = arg_count;
    s->arg_lists = (PJRT_Buffer ***)next;
    s->out_lists = (PJRT_Buffer ***)(next += devices);
    s->events = (PJRT_Event **)(next += devices);
    s->args = (PJRT_Buffer **)(next += devices);
    s->outs = (PJRT_Buffer **)(next + devices * arg_count);
    for (size_t d = 0; d < devices; d++) {
        s->arg_lists[d] = s->args + d * arg_count;
        s->out_lists[d] = s->outs + d * e->out_count;
    }
    return s;
}

/* Concurrent launches from several threads use separate lists: a thread that finds none allocates
 * them, and the last one to finish leaves its lists for reuse. */
static fgi_scratch *scratch_take(fgi_executable *e, size_t arg_count)
{
    fgi_scratch *s = atomic_exchange(&e->scratch, NULL);
    if (s && s->arg_capacity == arg_count)
        return s;
    fgi_scratch_free(s);
    return scratch_create(e, arg_count);
}

static void scratch_give(fgi_executable *e, fgi_scratch *scratch)
{
    fgi_scratch_free(atomic_exchange(&e->scratch, scratch));
}

static fg_status bad_argument(const fgi_executable *e, const fg_array *array, size_t i, int device,
                              fg_error *err)
{
    const fg_client *c = e->client;
    if (!array || array->client != c)
        return fgi_fail(err, FG_EINVAL, "argument %zu of the program is %s", i,
                        array ? "an array of another client" : "missing");
    char type[96];
    fg_type_format(&array->type, type, sizeof type);
    if (fgi_array_is_donated(array))
        return fgi_fail(err, FG_EINVAL,
                        "argument %zu of the program, %s, was already donated to a program", i,
                        type);
    return fgi_fail(err, FG_EINVAL, "argument %zu of the program, %s, is not on %s", i, type,
                    c->devices[device].label);
}

static fg_status fill_lists(const fgi_executable *e, fg_array *const *args, size_t arg_count,
                            fgi_scratch *s, fg_error *err)
{
    for (size_t i = 0; i < arg_count; i++) {
        fg_array *a = args[i];
        if (!a || a->client != e->client || fgi_array_is_donated(a))
            return bad_argument(e, a, i, 0, err);
        for (int d = 0; d < e->device_count; d++) {
            PJRT_Buffer *buffer = a->buffer[e->device_index[d]];
            if (!buffer)
                return bad_argument(e, a, i, e->device_index[d], err);
            s->arg_lists[d][i] = buffer;
        }
    }
    return FG_OK;
}

/* Determines which arguments the launch has consumed: the plugin knows, also after a failure. */
static void mark_donated(const fgi_executable *e, fg_array *const *args, size_t arg_count)
{
    const fgi_plugin *plugin = &e->client->plugin;
    for (size_t i = 0; i < arg_count; i++) {
        for (int d = 0; d < e->device_count; d++) {
            FGI_ARGS(PJRT_Buffer_IsDeleted_Args, gone,
                     .buffer = args[i]->buffer[e->device_index[d]]);
            if (!fgi_ignore(plugin, plugin->api->PJRT_Buffer_IsDeleted(&gone)) || gone.is_deleted) {
                args[i]->donated_at = atomic_load(&e->client->stats.executions);
                atomic_store(&args[i]->is_donated, true);
                break;
            }
        }
    }
}

/* ---- memory of executions -------------------------------------------------------------------- *
 * XLA's CPU backend allocates the temporaries of each execution, and frees them a little after its
 * results are ready. With an allocator that keeps freed memory, the next execution gets the same
 * pages, which need not be mapped and cleared. If it began before that, it would get others, and
 * twice the memory would remain in use. So it waits until the temporaries are free. */

enum { LEAST_REUSED = 64 << 20, MOST_PAUSES = 100 };

/* Bytes that are allocated in this process, according to jemalloc; 0 without it. */
static size_t allocated_bytes(void)
{
    typedef int control(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
    control *mallctl = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "mallctl");
    size_t bytes = 0, size = sizeof bytes;
    uint64_t epoch = 1; /* any value updates the statistics */
    memcpy(&mallctl, &symbol, sizeof mallctl);
    if (mallctl == NULL || mallctl("epoch", NULL, NULL, &epoch, sizeof epoch) != 0 ||
        mallctl("stats.allocated", &bytes, &size, NULL, 0) != 0)
        return 0;
    return bytes;
}

int64_t fgi_executable_reused_bytes(const fgi_executable *executable)
{
    if (executable->client->platform != FGI_CPU || allocated_bytes() == 0)
        return 0;
    const int64_t bytes = fgi_executable_cost(executable).temp_bytes;
    return bytes >= LEAST_REUSED ? bytes : 0;
}

/* Waits for the program that computes the arguments; one that fails is reported by the launch. */
static void await_memory(fg_client *client, int64_t bytes, fg_array *const *args, size_t arg_count)
{
    for (size_t i = 0; i < arg_count; i++) {
        fgi_event *ready = NULL;
        if (fgi_array_ready(args[i], &ready, NULL) == FG_OK)
            (void)fgi_event_wait(ready, NULL);
        fgi_event_destroy(ready);
    }
    size_t now = allocated_bytes();
    const size_t before = atomic_load(&client->allocated_before);
    for (int i = 0; i < MOST_PAUSES && before > 0 && now > before + (size_t)bytes / 2; i++) {
        fgi_sleep(0.0001);
        now = allocated_bytes();
    }
    atomic_store(&client->allocated_before, now);
}

/* ---- launches -------------------------------------------------------------------------------- */

static fg_status launch(const fgi_executable *e, fgi_scratch *s, size_t arg_count, bool wants_event,
                        fg_error *err)
{
    const fg_client *c = e->client;
    FGI_ARGS(PJRT_ExecuteOptions, options, .launch_id = 0);
    FGI_ARGS(PJRT_LoadedExecutable_Execute_Args, args, .executable = e->loaded, .options = &options,
             .argument_lists = (PJRT_Buffer *const *const *)s->arg_lists,
             .num_devices = (size_t)e->device_count, .num_args = arg_count,
             .output_lists = s->out_lists,
             .device_complete_events = wants_event ? s->events : NULL);
    const char *label = e->device_count == 1 ? c->devices[e->device_index[0]].label : c->label;
    const fgi_pjrt_call place = {c, label, "running a program", FG_EDEVICE};
    const int64_t begin = fgi_plugin_enter();
    PJRT_Error *error = c->plugin.api->PJRT_LoadedExecutable_Execute(&args);
    fgi_plugin_leave(begin);
    return fgi_check(error, &place, err);
}

static fg_status make_outputs(const fgi_executable *e, fg_array **outs, fgi_event **out_done,
                              fg_error *err)
{
    for (size_t i = 0; i < e->out_count; i++) {
        outs[i] = fgi_array_new(e->client, &e->out_types[i], &e->out_shardings[i]);
        if (!outs[i])
            return fgi_no_memory(err);
    }
    if (!out_done)
        return FG_OK;
    *out_done = fgi_event_create(e->client, "running a program", e->device_count);
    return *out_done ? FG_OK : fgi_no_memory(err);
}

/* Transfers the plugin's buffers and events to their owners. */
static void take_results(const fgi_executable *e, const fgi_scratch *s, fg_array **outs,
                         fgi_event *done)
{
    for (int d = 0; d < e->device_count; d++) {
        const int device = e->device_index[d];
        for (size_t i = 0; i < e->out_count; i++)
            outs[i]->buffer[device] = s->out_lists[d][i];
        if (done)
            fgi_event_add(done, s->events[d], e->client->devices[device].label);
    }
}

fg_status fgi_execute(fgi_executable *executable, fg_array *const *args, size_t arg_count,
                      fg_array **outs, fgi_event **out_done, fg_error *err)
{
    fg_status status;
    for (size_t i = 0; i < executable->out_count; i++)
        outs[i] = NULL;
    if (out_done)
        *out_done = NULL;
    if (!executable->loaded)
        return fgi_topology_refuse(executable->client, "running a program", err);
    fgi_donated_free(executable->client, false);
    fgi_scratch *s = scratch_take(executable, arg_count);
    if (!s)
        return fgi_no_memory(err);
    FGI_DONE(fill_lists(executable, args, arg_count, s, err));
    FGI_DONE(make_outputs(executable, outs, out_done, err));
    if (executable->reused_bytes > 0)
        await_memory(executable->client, executable->reused_bytes, args, arg_count);
    status = launch(executable, s, arg_count, out_done != NULL, err);
    mark_donated(executable, args, arg_count);
    if (status != FG_OK)
        goto done;
    take_results(executable, s, outs, out_done ? *out_done : NULL);
    (void)atomic_fetch_add_explicit(&executable->client->stats.executions, 1, memory_order_relaxed);
done:
    scratch_give(executable, s);
    if (status != FG_OK) {
        for (size_t i = 0; i < executable->out_count; i++) {
            fg_array_release(outs[i]);
            outs[i] = NULL;
        }
        if (out_done) {
            fgi_event_destroy(*out_done);
            *out_done = NULL;
        }
    }
    return status;
}
