/* callbacks.c - the list of callbacks, which are called in the order they were added.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include <fulgurite/callback.h>
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/timeline.h"
#include "trace/trace.h"
#include "train/watch/call.h"
#include "train/state/metrics.h"

typedef struct callback {
    const fg_callback_ops *ops;
    void *self;
    bool has_failed; /* in this fit: only fit_end is called */
} callback;

struct fgi_callbacks {
    fgi_call *call;
    callback *at;
    size_t count, capacity;
};

/* ---- the list -------------------------------------------------------------------------------- */

fg_status fgi_callbacks_create(fgi_call *call, fgi_callbacks **out, fg_error *err)
{
    *out = fgi_calloc(1, sizeof **out);
    if (*out == NULL)
        return fgi_no_memory(err);
    (*out)->call = call;
    return FG_OK;
}

void fgi_callbacks_destroy(fgi_callbacks *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].ops->destroy != NULL)
            list->at[i].ops->destroy(list->at[i].self);
    fgi_free(list->at);
    fgi_free(list);
}

const fg_callback_ops *fgi_callbacks_last(const fgi_callbacks *list, void **out_self)
{
    *out_self = list->at[list->count - 1].self;
    return list->at[list->count - 1].ops;
}

void fgi_callbacks_promote_last(fgi_callbacks *list)
{
    const callback last = list->at[list->count - 1];
    memmove(list->at + 1, list->at, (list->count - 1) * sizeof *list->at);
    list->at[0] = last;
}

void fgi_callbacks_reset(fgi_callbacks *list)
{
    for (size_t i = 0; i < list->count; i++)
        list->at[i].has_failed = false;
}

/* ---- state in checkpoints -------------------------------------------------------------------- */

#define PREFIX "callback."

/* Whether a callback needs a unique name: for its state, or for its variables. */
static bool is_unique(const fg_callback_ops *ops)
{
    return ops->save != NULL || (ops->build != NULL && ops->name != NULL);
}

/* Whether a callback with this name saves state or, if `is_any`, needs a unique name. */
static bool has(const fgi_callbacks *list, const char *name, bool is_any)
{
    for (size_t i = 0; i < list->count; i++) {
        const fg_callback_ops *ops = list->at[i].ops;
        if ((ops->save != NULL || (is_any && is_unique(ops))) && strcmp(ops->name, name) == 0)
            return true;
    }
    return false;
}

static fg_status check_state(const fgi_callbacks *list, const fg_callback_ops *ops, fg_error *err)
{
    const bool has_state = ops->save != NULL || ops->load != NULL;
    if (has_state &&
        (ops->name == NULL || ops->name[0] == '\0' || ops->save == NULL || ops->load == NULL))
        return fgi_fail(err, FG_EINVAL,
                        "callback '%s': expected all of name, save and load, or neither save nor "
                        "load",
                        ops->name != NULL ? ops->name : "");
    if (is_unique(ops) && has(list, ops->name, true))
        return fgi_fail(err, FG_EINVAL,
                        "there already is a callback '%s': callbacks with state or variables "
                        "require unique names",
                        ops->name);
    return FG_OK;
}

static fg_status save_one(const fg_callback_ops *ops, void *self, fgi_arena *memory,
                          fgi_callback_state *out, fg_error *err)
{
    out->name = fgi_arena_printf(memory, PREFIX "%s", ops->name);
    out->size = ops->save(self, NULL, 0);
    out->bytes = fgi_arena_alloc(memory, out->size + 1);
    if (out->name == NULL || out->bytes == NULL)
        return fgi_no_memory(err);
    const size_t size = out->size > 0 ? ops->save(self, out->bytes, out->size) : 0;
    if (size != out->size)
        return fgi_fail(err, FG_EINVAL,
                        "callback '%s': save returned %zu bytes, then %zu: its state must not "
                        "change in between",
                        ops->name, out->size, size);
    return FG_OK;
}

fg_status fgi_callback_states_save(const fgi_callbacks *list, fgi_arena *memory,
                                   fgi_callback_state **out, size_t *out_count, fg_error *err)
{
    *out_count = 0;
    *out = fgi_arena_alloc(memory, (list->count + 1) * sizeof **out);
    if (*out == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].ops->save != NULL)
            FGI_TRY(
                save_one(list->at[i].ops, list->at[i].self, memory, &(*out)[(*out_count)++], err));
    return FG_OK;
}

/* Warns of state that no callback claims: the next checkpoint will not contain it. */
static void warn_of_unclaimed(const fgi_callbacks *list, const fg_ckpt *ckpt, const char *path)
{
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++) {
        const fg_tensor_info *info = fg_ckpt_info(ckpt, i);
        if (info->part != FG_CKPT_STATE || strncmp(info->name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        const char *name = info->name + strlen(PREFIX);
        if (!has(list, name, false))
            fgi_log(FG_LOG_WARNING,
                    "%s: contains the state of callback '%s', which this run does not have: it is "
                    "ignored",
                    path, name);
    }
}

static fg_status load_one(const fg_callback_ops *ops, void *self, const fg_ckpt *ckpt,
                          const char *path, fg_error *err)
{
    size_t index = 0;
    fgi_buf name = {0};
    fgi_buf_printf(&name, PREFIX "%s", ops->name);
    fg_status status = fgi_buf_status(&name, err);
    if (status != FG_OK)
        goto done;
    if (!fg_ckpt_find(ckpt, FG_CKPT_STATE, name.data, &index)) {
        fgi_log(FG_LOG_WARNING,
                "%s: contains no state of callback '%s', which starts from its initial state", path,
                ops->name);
        goto done;
    }
    status = ops->load(self, fg_ckpt_data(ckpt, index), fg_ckpt_info(ckpt, index)->size_bytes, err);
    if (status != FG_OK)
        status = fgi_context(err, status, "%s: the state of callback '%s'", path, ops->name);
done:
    fgi_buf_fini(&name);
    return status;
}

fg_status fgi_callback_states_load(const fgi_callbacks *list, const fg_ckpt *ckpt, const char *path,
                                   fg_error *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].ops->load != NULL)
            FGI_TRY(load_one(list->at[i].ops, list->at[i].self, ckpt, path, err));
    warn_of_unclaimed(list, ckpt, path);
    return FG_OK;
}

/* ---- adding them ----------------------------------------------------------------------------- */

fg_status fgi_callbacks_add(fgi_callbacks *list, const fg_callback_ops *ops, void *self,
                            fg_error *err)
{
    FGI_TRY(fgi_check_reserved(FGI_RESERVED(fg_callback_ops, ops), err));
    FGI_TRY(check_state(list, ops, err));
    if (list->count == list->capacity) {
        FGI_TRY_GROW(list->at, list->count, list->capacity, err);
    }
    list->at[list->count++] = (callback){.ops = ops, .self = self};
    return FG_OK;
}

void fgi_callbacks_remove_last(fgi_callbacks *list) { list->count--; }

/* ---- calling them ---------------------------------------------------------------------------- */

typedef fg_status callback_fn(void *self, const fg_progress *at, fg_error *err);

static const struct {
    const char *name;
    size_t offset; /* of the function in fg_callback_ops */
} events[] = {
    [FGI_ON_FIT_START] = {"fit_start", offsetof(fg_callback_ops, fit_start)},
    [FGI_ON_EPOCH_START] = {"epoch_start", offsetof(fg_callback_ops, epoch_start)},
    [FGI_ON_BATCH_END] = {"batch_end", offsetof(fg_callback_ops, batch_end)},
    [FGI_ON_LOG] = {"log", offsetof(fg_callback_ops, log)},
    [FGI_ON_VAL_START] = {"val_start", offsetof(fg_callback_ops, val_start)},
    [FGI_ON_VAL_END] = {"val_end", offsetof(fg_callback_ops, val_end)},
    [FGI_ON_SAVED] = {"saved", offsetof(fg_callback_ops, saved)},
    [FGI_ON_EPOCH_END] = {"epoch_end", offsetof(fg_callback_ops, epoch_end)},
    [FGI_ON_FIT_END] = {"fit_end", offsetof(fg_callback_ops, fit_end)},
    [FGI_ON_EVAL_START] = {"eval_start", offsetof(fg_callback_ops, eval_start)},
    [FGI_ON_EVAL_END] = {"eval_end", offsetof(fg_callback_ops, eval_end)},
    [FGI_ON_ROLLED_BACK] = {"rolled_back", offsetof(fg_callback_ops, rolled_back)},
};

static callback_fn *function_of(const fg_callback_ops *ops, fgi_event_kind kind)
{
    callback_fn *function;
    memcpy(&function, (const char *)ops + events[kind].offset, sizeof function);
    return function;
}

/* Between the start and the end of a fit, a callback's error ends the run like a stop: the state is
 * saved first. */
static bool is_deferred(const fgi_call *call, fgi_event_kind kind)
{
    return call->is_running && kind != FGI_ON_FIT_START && kind != FGI_ON_FIT_END;
}

/* What a callback returned: FG_ESTOPPED requests a stop. */
static fg_status take(fgi_call *call, callback *of, fgi_event_kind kind, fg_status status,
                      const fg_error *local, fg_error *err)
{
    const char *text = local->message[0] != '\0' ? local->message : "a callback ended the run";
    char *reason = call->result.stop_reason;
    if (status == FG_OK)
        return FG_OK;
    if (status != FG_ESTOPPED && !is_deferred(call, kind))
        return fgi_fail(err, status, "%s", text);
    call->is_stopping = true;
    if (status == FG_ESTOPPED) {
        if (call->is_running && reason[0] == '\0')
            (void)fgi_snprintf(reason, sizeof call->result.stop_reason, "%s", local->message);
        return FG_OK;
    }
    of->has_failed = true;
    if (call->failure.status == FG_OK)
        (void)fgi_fail(&call->failure, status, "%s", text);
    return FG_OK;
}

/* "early_stop.log"; callbacks without a name are numbered in the order of their calls. */
static void end_span(int64_t begin, const callback *of, size_t number, fgi_event_kind kind,
                     int64_t step)
{
    char name[FGI_TIMELINE_NAME];
    if (begin == 0)
        return;
    if (of->ops->name != NULL)
        (void)fgi_snprintf(name, sizeof name, "%s.%s", of->ops->name, events[kind].name);
    else
        (void)fgi_snprintf(name, sizeof name, "callback %zu.%s", number, events[kind].name);
    fgi_timeline_end(begin, "callback", name, step);
}

fg_status fgi_notify(fgi_callbacks *list, fgi_event_kind kind, const fg_progress *at, fg_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        callback *each = &list->at[i];
        callback_fn *function = function_of(each->ops, kind);
        if (function == NULL || (each->has_failed && kind != FGI_ON_FIT_END))
            continue;
        fg_error local = {0};
        const int64_t begin = fgi_timeline_begin();
        const fg_status status = function(each->self, at, &local);
        end_span(begin, each, i + 1, kind, at->step);
        FGI_TRY(take(list->call, each, kind, status, &local, err));
        if (status != FG_OK && status != FG_ESTOPPED)
            return FG_OK;
    }
    return FG_OK;
}

bool fgi_callbacks_receive_predictions(const fgi_callbacks *list)
{
    size_t i = 0;
    while (i < list->count && list->at[i].ops->predicted == NULL)
        i++;
    return i < list->count;
}

fg_status fgi_notify_predicted(fgi_callbacks *list, const fg_progress *at,
                               const fg_predictions *rows, fg_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        callback *each = &list->at[i];
        fg_error local = {0};
        if (each->ops->predicted == NULL)
            continue;
        const fg_status status = each->ops->predicted(each->self, at, rows, &local);
        FGI_TRY(take(list->call, each, FGI_ON_EVAL_END, status, &local, err));
        if (status != FG_OK && status != FG_ESTOPPED)
            return FG_OK;
    }
    return FG_OK;
}

/* ---- values added to a log line -------------------------------------------------------------- */

struct fg_log_values {
    fg_metric *at;
    size_t count, capacity;
    fg_error error; /* the first */
};

/* The other members of a line. */
static bool is_reserved(const char *name)
{
    static const char *const names[] = {"step", "epoch", "lr", "wall_time"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

void fg_log_values_add(fg_log_values *values, const char *name, double value)
{
    fg_metric *next = values->at + values->count;
    if (values->error.status != FG_OK)
        return;
    if (name == NULL || !fgi_is_metric_name(name, sizeof next->name - 1) || is_reserved(name))
        (void)fgi_fail(&values->error, FG_EINVAL,
                       "value of a log line: expected a name of 1 to %zu letters, digits, '_', "
                       "'.', '/', '-', other than step, epoch, lr and wall_time, got '%s'",
                       sizeof next->name - 1, name != NULL ? name : "");
    else if (fgi_metric_find(values->at, values->count, name) < values->count)
        (void)fgi_fail(&values->error, FG_EINVAL, "the log line already has a value '%s'", name);
    else if (values->count == values->capacity)
        (void)fgi_fail(&values->error, FG_EINVAL,
                       "value '%s' of a log line: callbacks can add at most %d values", name,
                       FG_MAX_LOG_VALUES);
    else if (!isnan(value)) {
        (void)fgi_snprintf(next->name, sizeof next->name, "%s", name);
        next->value = value;
        values->count++;
    }
}

fg_status fgi_measure(fgi_callbacks *list, fg_progress *at, fg_metric *metrics, size_t capacity,
                      fg_error *err)
{
    fg_log_values values = {.at = metrics, .count = at->metric_count, .capacity = capacity};
    fg_status status = FG_OK;
    for (size_t i = 0; i < list->count && status == FG_OK; i++) {
        callback *each = &list->at[i];
        if (each->ops->measure == NULL || each->has_failed)
            continue;
        fg_error local = {0};
        fg_status returned = each->ops->measure(each->self, at, &values, &local);
        if ((returned == FG_OK || returned == FG_ESTOPPED) && values.error.status != FG_OK) {
            local = values.error;
            returned = values.error.status;
        }
        values.error = (fg_error){0};
        status = take(list->call, each, FGI_ON_LOG, returned, &local, err);
    }
    at->metric_count = values.count;
    return status;
}

/* ---- changing programs ----------------------------------------------------------------------- */

fg_status fgi_callbacks_build(const fgi_callbacks *list, fg_module *root, fg_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const fg_callback_ops *ops = list->at[i].ops;
        fg_error local = {0};
        if (ops->build == NULL)
            continue;
        fg_status status = ops->build(list->at[i].self, root, &local);
        if (status == FG_OK)
            status = fg_module_error(root, &local);
        if (status != FG_OK)
            return fgi_fail(err, status, "callback '%s': %s", ops->name != NULL ? ops->name : "",
                            local.message[0] != '\0' ? local.message : "build failed");
    }
    return FG_OK;
}

void fgi_callbacks_update(const fgi_callbacks *list, fg_trace *trace, fg_optimizer *optimizer)
{
    for (size_t i = 0; i < list->count; i++) {
        const fg_callback_ops *ops = list->at[i].ops;
        if (ops->update != NULL && fg_trace_error(trace, NULL) == FG_OK)
            ops->update(list->at[i].self, trace, optimizer);
    }
}

void fgi_callbacks_step_start(const fgi_callbacks *list, const fg_progress *at,
                              fg_optimizer *optimizer)
{
    for (size_t i = 0; i < list->count; i++) {
        const fg_callback_ops *ops = list->at[i].ops;
        if (ops->step_start != NULL)
            ops->step_start(list->at[i].self, at, optimizer);
    }
}

static fg_tensor substitute(void *self, fg_trace *trace, fg_variable *variable)
{
    const fgi_callbacks *list = self;
    fg_tensor value = {0};
    for (size_t i = 0; i < list->count && value.handle == 0; i++) {
        const fg_callback_ops *ops = list->at[i].ops;
        if (ops->value != NULL && fg_variable_kind_of(variable) != FG_STATE)
            value = ops->value(list->at[i].self, trace, variable);
    }
    return value;
}

void fgi_callbacks_substitute(fgi_callbacks *list, fg_trace *trace)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].ops->value != NULL)
            trace->substitute = substitute;
    trace->substitute_self = list;
}
