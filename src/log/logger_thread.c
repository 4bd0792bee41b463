/* logger_thread.c - a logger on a separate thread: calls wait in a bounded queue, so that a slow,
 * failing or blocked logger never delays the training loop by more than a limit, at the beginning
 * and at the end of a fit. A required logger loses nothing instead: the end of a fit and the thread
 * that writes checkpoints wait for it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "log/logger_thread.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "base/thread.h"
#include "log/log_item.h"
#include "log/log_start.h"
#include "base/timeline.h"

typedef enum call_kind {
    CALL_OPEN,
    CALL_LOG,
    CALL_FLUSH,
    CALL_SYNC,
    CALL_SAVED,
    CALL_FINISH,
    CALL_ITEM
} call_kind;

/* What a caller waits for. */
typedef struct result {
    bool is_there;
    fg_status status;
    fg_error error;
} result;

typedef struct call {
    call_kind kind;
    result *out;        /* of the caller that waits, or NULL */
    fg_log_line line;   /* its metrics are owned */
    fg_log_start start; /* what it refers to is in `texts` */
    fg_log_saved saved;
    fg_log_end end;
    fg_log_item item; /* also */
    fgi_arena texts;
    struct call *next;
} call;

struct fgi_logger_thread {
    fg_logger_ops ops;
    void *self;
    int64_t patience_ns;
    fgi_thread thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* guarded by the mutex */
    call *first, *last;   /* waiting */
    size_t waiting_lines; /* of these, and of the call in progress */
    size_t waiting_items;
    bool is_busy, must_end, is_abandoned, has_ended;
    bool is_open, is_late; /* the last open has returned; a wait has ended before the logger */
    bool is_closed;        /* could not be opened */
    bool has_warned, has_warned_of_drops;
    bool is_failing;   /* required: since its last success */
    bool is_exhausted; /* required: no memory for a line, so that the log cannot become complete */
    fg_status open_status;
    fg_error open_error;
    int64_t open_lines;
    int64_t dropped; /* lines and items */
};

/* ---- calls ----------------------------------------------------------------------------------- */

static void free_call(call *c)
{
    if (c == NULL)
        return;
    fgi_free((void *)c->line.metrics);
    fgi_arena_fini(&c->texts);
    fgi_free(c);
}

static call *copy_line(const fg_log_line *line)
{
    call *c = fgi_calloc(1, sizeof *c);
    fg_metric *metrics = fgi_calloc(line->metric_count + 1, sizeof *metrics);
    if (c == NULL || metrics == NULL) {
        fgi_free(metrics);
        fgi_free(c);
        return NULL;
    }
    if (line->metric_count > 0)
        memcpy(metrics, line->metrics, line->metric_count * sizeof *metrics);
    c->kind = CALL_LOG;
    c->line = *line;
    c->line.metrics = metrics;
    return c;
}

static call *copy_start(const fg_log_start *start)
{
    call *c = fgi_calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->kind = CALL_OPEN;
    if (fgi_log_start_copy(start, &c->texts, &c->start))
        return c;
    free_call(c);
    return NULL;
}

/* Those who wait for a call get the failure of `open`. */
static void drop_calls(fgi_logger_thread *t)
{
    while (t->first != NULL) {
        call *c = t->first;
        t->first = c->next;
        if (c->out != NULL)
            *c->out = (result){.is_there = true, .status = t->open_status, .error = t->open_error};
        free_call(c);
    }
    t->last = NULL;
    t->waiting_lines = t->waiting_items = 0;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static fg_status run_call(fgi_logger_thread *t, const call *c, int64_t *lines, fg_error *err)
{
    const fg_logger_ops *ops = &t->ops;
    switch (c->kind) {
    case CALL_OPEN: return ops->open != NULL ? ops->open(t->self, &c->start, lines, err) : FG_OK;
    case CALL_LOG: return ops->log(t->self, &c->line, err);
    case CALL_FLUSH: return ops->flush != NULL ? ops->flush(t->self, err) : FG_OK;
    case CALL_SYNC: return ops->sync != NULL ? ops->sync(t->self, err) : FG_OK;
    case CALL_SAVED: return ops->saved(t->self, &c->saved, err);
    case CALL_FINISH: return ops->finish(t->self, &c->end, err);
    case CALL_ITEM: return ops->item(t->self, &c->item, err);
    }
    return FG_OK;
}

/* Returns whether the failure must be reported: the first one of a logger that is not required. */
static bool note_result(fgi_logger_thread *t, const call *c, fg_status status, int64_t lines,
                        const fg_error *err)
{
    t->is_busy = false;
    t->waiting_lines -= c->kind == CALL_LOG;
    t->waiting_items -= c->kind == CALL_ITEM;
    t->is_exhausted |= status == FG_ENOMEM && t->ops.is_required;
    if (c->kind == CALL_OPEN) {
        t->is_open = true;
        t->open_status = status;
        t->open_error = *err;
        t->open_lines = lines;
        t->is_closed = status != FG_OK;
    }
    if (c->out != NULL)
        *c->out = (result){.is_there = true, .status = status, .error = *err};
    if (t->is_closed) {
        t->dropped += (int64_t)(t->waiting_lines + t->waiting_items);
        drop_calls(t);
    }
    /* the one who waits for `open` reports its failure */
    const bool is_news = status != FG_OK && !t->ops.is_required && !t->has_warned &&
                         (c->kind != CALL_OPEN || t->is_late);
    t->has_warned |= is_news;
    return is_news;
}

void fgi_logger_report(const char *name, bool *is_failing, fg_status status, const fg_error *err)
{
    const bool was_failing = *is_failing;
    *is_failing = status != FG_OK;
    if (!was_failing && *is_failing)
        fgi_log(FG_LOG_ERROR,
                "logger '%s': %s; training continues, and the log will be written when that is "
                "possible again",
                name, err->message);
    else if (was_failing && !*is_failing)
        fgi_log(FG_LOG_INFO, "logger '%s': the log is complete again", name);
}

/* The one who waits for `open` or `sync` reports its failure, and so does the fit that ends because
 * memory is exhausted. Only the success of `log` and `flush` says that the log is complete. */
static void report_required(fgi_logger_thread *t, call_kind kind, fg_status status,
                            const fg_error *err)
{
    const bool writes_lines = kind == CALL_LOG || kind == CALL_FLUSH;
    if (kind == CALL_OPEN || kind == CALL_SYNC || status == FG_ENOMEM)
        return;
    if (writes_lines || status != FG_OK)
        fgi_logger_report(t->ops.name, &t->is_failing, status, err);
}

static void execute(fgi_logger_thread *t, call *c)
{
    fg_error err = {0};
    int64_t lines = -1;
    static const char *const name[] = {"open", "log", "flush", "sync", "saved", "finish", "item"};
    const int64_t begin = fgi_timeline_begin();
    const fg_status status = run_call(t, c, &lines, &err);
    fgi_timeline_end(begin, "logger", name[c->kind], -1);
    if (t->ops.is_required) /* before those who wait for the call go on */
        report_required(t, c->kind, status, &err);
    (void)pthread_mutex_lock(&t->mutex);
    const bool is_news = note_result(t, c, status, lines, &err);
    (void)pthread_cond_broadcast(&t->changed);
    (void)pthread_mutex_unlock(&t->mutex);
    free_call(c);
    if (is_news)
        fgi_log(FG_LOG_WARNING,
                "logger '%s' failed: %s; training continues, and further failures of this logger "
                "are not reported",
                t->ops.name, err.message);
}

/* Waits for a call; NULL: the end. */
static call *next_call(fgi_logger_thread *t)
{
    (void)pthread_mutex_lock(&t->mutex);
    while (t->first == NULL && !t->must_end)
        (void)pthread_cond_wait(&t->changed, &t->mutex);
    call *c = t->is_abandoned ? NULL : t->first;
    if (c != NULL) {
        t->first = c->next;
        t->last = t->first != NULL ? t->last : NULL;
        t->is_busy = true;
    }
    (void)pthread_mutex_unlock(&t->mutex);
    return c;
}

static void free_all(fgi_logger_thread *t)
{
    drop_calls(t);
    (void)pthread_cond_destroy(&t->changed);
    (void)pthread_mutex_destroy(&t->mutex);
    fgi_free(t);
}

static void *run(void *self)
{
    fgi_logger_thread *t = self;
    fgi_timeline_name_thread(t->ops.name);
    for (call *c = next_call(t); c != NULL; c = next_call(t))
        execute(t, c);
    if (t->ops.destroy != NULL)
        t->ops.destroy(t->self);
    (void)pthread_mutex_lock(&t->mutex);
    t->has_ended = true;
    const bool is_abandoned = t->is_abandoned;
    (void)pthread_cond_broadcast(&t->changed);
    (void)pthread_mutex_unlock(&t->mutex);
    if (is_abandoned)
        free_all(t);
    return NULL;
}

static fg_status start(fgi_logger_thread *t, fg_error *err)
{
    FGI_TRY(fgi_mutex_init(&t->mutex, err));
    fg_status status = fgi_cond_init(&t->changed, err);
    if (status == FG_OK) {
        status = fgi_thread_start(&t->thread, run, t, err);
        if (status != FG_OK)
            (void)pthread_cond_destroy(&t->changed);
    }
    if (status != FG_OK)
        (void)pthread_mutex_destroy(&t->mutex);
    return status;
}

fg_status fgi_logger_thread_create(const fg_logger_ops *ops, void *self, int64_t patience_ns,
                                   fgi_logger_thread **out, fg_error *err)
{
    *out = NULL;
    fgi_logger_thread *t = fgi_calloc(1, sizeof *t);
    if (t == NULL)
        return fgi_no_memory(err);
    t->ops = *ops;
    t->self = self;
    t->patience_ns = patience_ns;
    const fg_status status = start(t, err);
    if (status == FG_OK)
        *out = t;
    else
        fgi_free(t);
    return status;
}

/* ---- callers --------------------------------------------------------------------------------- */

/* With the mutex. Returns whether the call was taken. */
static bool enqueue(fgi_logger_thread *t, call *c)
{
    if (c == NULL || t->is_closed)
        return false;
    if (t->last != NULL)
        t->last->next = c;
    else
        t->first = c;
    t->last = c;
    t->waiting_lines += c->kind == CALL_LOG;
    t->waiting_items += c->kind == CALL_ITEM;
    (void)pthread_cond_broadcast(&t->changed);
    return true;
}

typedef bool condition(const fgi_logger_thread *t, const result *of);

static bool is_idle(const fgi_logger_thread *t, const result *of)
{
    (void)of;
    return t->first == NULL && !t->is_busy;
}

static bool is_open(const fgi_logger_thread *t, const result *of)
{
    (void)of;
    return t->is_open;
}

static bool has_ended(const fgi_logger_thread *t, const result *of)
{
    (void)of;
    return t->has_ended;
}

static bool is_there(const fgi_logger_thread *t, const result *of)
{
    (void)t;
    return of->is_there;
}

static double seconds(const fgi_logger_thread *t) { return (double)t->patience_ns * 1e-9; }

/* With the mutex: until the patience ends. */
static bool wait_patiently(fgi_logger_thread *t, condition *is_done, const result *of,
                           int64_t patience_ns)
{
    const int64_t end = fgi_now_ns() + patience_ns;
    const struct timespec until = {.tv_sec = (time_t)(end / 1000000000),
                                   .tv_nsec = (long)(end % 1000000000)};
    while (!is_done(t, of))
        if (pthread_cond_timedwait(&t->changed, &t->mutex, &until) != 0)
            break;
    return is_done(t, of);
}

/* With the mutex: waits for the condition until the patience ends; false: it has ended. After that,
 * nothing waits for the logger until it has caught up. For a required logger, it waits without a
 * limit. */
static bool wait_for(fgi_logger_thread *t, condition *is_done, const result *of)
{
    t->is_late = t->is_late && !is_idle(t, NULL);
    t->is_late = !wait_patiently(t, is_done, of, t->is_late ? 0 : t->patience_ns);
    if (!t->ops.is_required || !t->is_late)
        return !t->is_late;
    (void)pthread_mutex_unlock(&t->mutex);
    fgi_log(FG_LOG_WARNING, "logger '%s' has not written its log for %g s; waiting for it",
            t->ops.name, seconds(t));
    (void)pthread_mutex_lock(&t->mutex);
    while (!is_done(t, of))
        (void)pthread_cond_wait(&t->changed, &t->mutex);
    return true;
}

fg_status fgi_logger_thread_open(fgi_logger_thread *t, const fg_log_start *log_start,
                                 int64_t *out_lines, fg_error *err)
{
    fg_status status = FG_OK;
    call *c = copy_start(log_start);
    if (c == NULL)
        return fgi_no_memory(err);
    (void)pthread_mutex_lock(&t->mutex);
    t->is_open = t->is_exhausted = false;
    t->is_closed = t->is_closed && !t->ops.is_required;
    const bool is_taken = enqueue(t, c);
    const bool has_opened = is_taken && wait_for(t, is_open, NULL);
    if (has_opened) {
        status = t->open_status;
        *out_lines = t->open_lines;
        if (status != FG_OK)
            *err = t->open_error;
    }
    (void)pthread_mutex_unlock(&t->mutex);
    if (!is_taken)
        free_call(c); /* it could not be opened before, which was reported then */
    else if (!has_opened)
        fgi_log(FG_LOG_WARNING, "logger '%s' has not opened its log in %g s; training continues",
                t->ops.name, seconds(t));
    return status;
}

/* Queues a line or an item, or drops it. */
static void enqueue_or_drop(fgi_logger_thread *t, call *c, const size_t *waiting, size_t most,
                            const char *what)
{
    (void)pthread_mutex_lock(&t->mutex);
    const bool is_taken = *waiting < most && enqueue(t, c);
    t->dropped += !is_taken;
    const bool is_news = !is_taken && !t->is_closed && !t->has_warned_of_drops;
    t->has_warned_of_drops |= is_news;
    (void)pthread_mutex_unlock(&t->mutex);
    if (!is_taken)
        free_call(c);
    if (is_news)
        fgi_log(FG_LOG_WARNING,
                "logger '%s' is too slow: %zu %s are waiting, and further ones are dropped; "
                "training continues",
                t->ops.name, most, what);
}

/* Queues a line of a required logger, which must not be dropped. */
static fg_status enqueue_required(fgi_logger_thread *t, call *c, fg_error *err)
{
    (void)pthread_mutex_lock(&t->mutex);
    t->is_exhausted |= c == NULL || t->waiting_lines == FGI_LOGGER_REQUIRED_QUEUE;
    const bool is_exhausted = t->is_exhausted;
    const bool is_taken = !is_exhausted && enqueue(t, c);
    const bool is_news = t->waiting_lines == FGI_LOGGER_QUEUE && !t->has_warned_of_drops;
    t->has_warned_of_drops |= is_news;
    (void)pthread_mutex_unlock(&t->mutex);
    if (!is_taken)
        free_call(c);
    if (is_news)
        fgi_log(FG_LOG_WARNING,
                "logger '%s' is too slow: %d lines are waiting in memory; training continues",
                t->ops.name, FGI_LOGGER_QUEUE);
    return is_exhausted
               ? fgi_fail(err, FG_ENOMEM, "logger '%s': no memory for further lines", t->ops.name)
               : FG_OK;
}

fg_status fgi_logger_thread_log(fgi_logger_thread *t, const fg_log_line *line, fg_error *err)
{
    if (t->ops.is_required)
        return enqueue_required(t, copy_line(line), err);
    enqueue_or_drop(t, copy_line(line), &t->waiting_lines, FGI_LOGGER_QUEUE, "lines");
    return FG_OK;
}

void fgi_logger_thread_item(fgi_logger_thread *t, const fg_log_item *item)
{
    call *c = fgi_calloc(1, sizeof *c);
    if (c != NULL)
        c->kind = CALL_ITEM;
    if (c != NULL && !fgi_log_item_copy(item, &c->texts, &c->item)) {
        free_call(c);
        c = NULL;
    }
    enqueue_or_drop(t, c, &t->waiting_items, FGI_LOGGER_ITEMS, "texts, images or histograms");
}

/* Nothing to do if the same call is already the last one. */
static void request(fgi_logger_thread *t, call_kind kind)
{
    call *c = fgi_calloc(1, sizeof *c);
    if (c == NULL)
        return; /* the next request will do */
    c->kind = kind;
    (void)pthread_mutex_lock(&t->mutex);
    const bool is_taken = (t->last == NULL || t->last->kind != kind) && enqueue(t, c);
    (void)pthread_mutex_unlock(&t->mutex);
    if (!is_taken)
        free_call(c);
}

/* Queues a call with a text, unless memory is exhausted or the log is closed. */
static void send_text(fgi_logger_thread *t, call *c, const char **text)
{
    if (c == NULL)
        return;
    *text = fgi_arena_strdup(&c->texts, *text);
    (void)pthread_mutex_lock(&t->mutex);
    const bool is_taken = *text != NULL && enqueue(t, c);
    (void)pthread_mutex_unlock(&t->mutex);
    if (!is_taken)
        free_call(c);
}

void fgi_logger_thread_saved(fgi_logger_thread *t, const fg_log_saved *saved)
{
    call *c = t->ops.saved != NULL ? fgi_calloc(1, sizeof *c) : NULL;
    if (c != NULL)
        *c = (call){.kind = CALL_SAVED, .saved = *saved};
    send_text(t, c, c != NULL ? &c->saved.path : NULL);
}

void fgi_logger_thread_end(fgi_logger_thread *t, const fg_log_end *end)
{
    call *c = t->ops.finish != NULL ? fgi_calloc(1, sizeof *c) : NULL;
    if (c != NULL)
        *c = (call){.kind = CALL_FINISH, .end = *end};
    send_text(t, c, c != NULL ? &c->end.message : NULL);
}

/* Queues a call and waits for what it returns. */
static fg_status ask(fgi_logger_thread *t, call_kind kind, fg_error *err)
{
    result answer = {0};
    call *c = fgi_calloc(1, sizeof *c);
    if (c == NULL)
        return fgi_no_memory(err);
    c->kind = kind;
    c->out = &answer;
    (void)pthread_mutex_lock(&t->mutex);
    const bool is_taken = enqueue(t, c);
    if (is_taken)
        (void)wait_for(t, is_there, &answer);
    else
        answer = (result){.status = t->open_status, .error = t->open_error};
    const bool is_exhausted = t->is_exhausted;
    (void)pthread_mutex_unlock(&t->mutex);
    if (!is_taken)
        free_call(c);
    if (is_exhausted)
        return fgi_fail(err, FG_ENOMEM, "logger '%s': lines are missing", t->ops.name);
    if (answer.status != FG_OK)
        *err = answer.error;
    return answer.status;
}

void fgi_logger_thread_flush(fgi_logger_thread *t) { request(t, CALL_FLUSH); }

fg_status fgi_logger_thread_catch_up(fgi_logger_thread *t, fg_error *err)
{
    if (t->ops.is_required)
        return ask(t, CALL_FLUSH, err);
    request(t, CALL_FLUSH);
    return FG_OK;
}

fg_status fgi_logger_thread_sync(fgi_logger_thread *t, fg_error *err)
{
    if (!t->ops.is_required) {
        request(t, CALL_SYNC);
        return FG_OK;
    }
    FGI_TRY(ask(t, CALL_FLUSH, err));
    return ask(t, CALL_SYNC, err);
}

static void report_unfinished(const fgi_logger_thread *t, bool was_late, size_t waiting)
{
    char why[96] = "was already late, so the end of training did not wait for it";
    if (!was_late)
        (void)fgi_snprintf(why, sizeof why, "was not finished %g s after the end of training",
                           seconds(t));
    fgi_log(FG_LOG_WARNING, "logger '%s' %s: %zu %s not logged", t->ops.name, why, waiting,
            waiting == 1 ? "entry is" : "entries are");
}

void fgi_logger_thread_finish(fgi_logger_thread *t)
{
    (void)pthread_mutex_lock(&t->mutex);
    const bool was_late = t->is_late && !is_idle(t, NULL);
    const bool is_done = wait_for(t, is_idle, NULL);
    const size_t waiting = t->waiting_lines + t->waiting_items;
    const int64_t dropped = t->is_closed ? 0 : t->dropped;
    t->dropped = 0;
    (void)pthread_mutex_unlock(&t->mutex);
    if (!is_done)
        report_unfinished(t, was_late, waiting);
    if (dropped > 0)
        fgi_log(FG_LOG_WARNING, "logger '%s' was too slow: %" PRId64 " %s dropped", t->ops.name,
                dropped, dropped == 1 ? "entry was" : "entries were");
}

void fgi_logger_thread_destroy(fgi_logger_thread *t)
{
    (void)pthread_mutex_lock(&t->mutex);
    t->must_end = true;
    (void)pthread_cond_broadcast(&t->changed);
    const bool is_over = wait_for(t, has_ended, NULL);
    t->is_abandoned = !is_over;
    const fgi_thread thread = t->thread;
    if (!is_over)
        (void)pthread_detach(thread);
    (void)pthread_mutex_unlock(&t->mutex);
    if (!is_over)
        return; /* the thread frees t */
    fgi_thread_join(thread);
    free_all(t);
}
