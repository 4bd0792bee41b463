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
#include "base/timeline.h"
#include "log/logger.h"

/* What a caller waits for. */
typedef struct result {
    bool is_there;
    fg_status status;
    int64_t lines;
    fg_error error;
} result;

typedef struct call {
    fgi_logger_call what; /* what it refers to is in `texts` and `metrics` */
    result *out;          /* of the caller that waits, or NULL */
    struct call *next;
    fgi_arena texts;
    fg_metric metrics[];
} call;

struct fgi_logger_thread {
    fg_logger_ops ops;
    void *self;
    int64_t patience_ns;
    fgi_thread thread;
    fgi_logger_reported reported;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* guarded by the mutex */
    call *first, *last;   /* waiting */
    size_t waiting_lines; /* of these, and of the call in progress */
    size_t waiting_items;
    bool is_idle; /* no call waits or is in progress */
    bool must_end, is_abandoned, has_ended;
    bool is_late;   /* a wait has ended before the logger */
    result opened;  /* of the last open that has returned */
    bool is_closed; /* could not be opened */
    bool has_warned_of_drops;
    bool is_exhausted; /* required: no memory for a line, so that the log cannot become complete */
    int64_t dropped;   /* lines and items */
};

/* ---- calls ----------------------------------------------------------------------------------- */

bool fgi_logger_has(const fg_logger_ops *ops, fgi_logger_function of)
{
    switch (of) {
    case FGI_LOGGER_OPEN: return ops->open != NULL;
    case FGI_LOGGER_LOG: return ops->log != NULL;
    case FGI_LOGGER_FLUSH: return ops->flush != NULL;
    case FGI_LOGGER_SYNC: return ops->sync != NULL;
    case FGI_LOGGER_SAVED: return ops->saved != NULL;
    case FGI_LOGGER_FINISH: return ops->finish != NULL;
    case FGI_LOGGER_ITEM: return ops->item != NULL;
    }
    return false;
}

fg_status fgi_logger_call_now(const fg_logger_ops *ops, void *self, const fgi_logger_call *c,
                              int64_t *lines, fg_error *err)
{
    if (!fgi_logger_has(ops, c->of))
        return FG_OK;
    switch (c->of) {
    case FGI_LOGGER_OPEN: return ops->open(self, &c->start, lines, err);
    case FGI_LOGGER_LOG: return ops->log(self, &c->line, err);
    case FGI_LOGGER_FLUSH: return ops->flush(self, err);
    case FGI_LOGGER_SYNC: return ops->sync(self, err);
    case FGI_LOGGER_SAVED: return ops->saved(self, &c->saved, err);
    case FGI_LOGGER_FINISH: return ops->finish(self, &c->end, err);
    case FGI_LOGGER_ITEM: return ops->item(self, &c->item, err);
    }
    return FG_OK;
}

void fgi_logger_report(const fg_logger_ops *ops, fgi_logger_reported *reported, fg_status status,
                       const fg_error *err)
{
    const bool was_failing = reported->is_failing;
    reported->is_failing = status != FG_OK && ops->is_required;
    if (!ops->is_required && status != FG_OK && !atomic_exchange(&reported->has_failed, true))
        fgi_log(FG_LOG_WARNING,
                "logger '%s' failed: %s; training continues, and further failures of this logger "
                "are not reported",
                ops->name, err->message);
    else if (!was_failing && reported->is_failing)
        fgi_log(FG_LOG_ERROR,
                "logger '%s': %s; training continues, and the log will be written when that is "
                "possible again",
                ops->name, err->message);
    else if (was_failing && !reported->is_failing)
        fgi_log(FG_LOG_INFO, "logger '%s': the log is complete again", ops->name);
}

static void free_call(call *c)
{
    if (c == NULL)
        return;
    fgi_arena_fini(&c->texts);
    fgi_free(c);
}

static bool copy_text(call *c, const char **text)
{
    *text = fgi_arena_strdup(&c->texts, *text);
    return *text != NULL;
}

static bool copy_contents(call *c)
{
    fgi_logger_call *what = &c->what;
    switch (what->of) {
    case FGI_LOGGER_OPEN: return fgi_log_start_own(&what->start, &c->texts);
    case FGI_LOGGER_ITEM: return fgi_log_item_own(&what->item, &c->texts);
    case FGI_LOGGER_SAVED: return copy_text(c, &what->saved.path);
    case FGI_LOGGER_FINISH: return copy_text(c, &what->end.message);
    case FGI_LOGGER_LOG:
        if (what->line.metric_count > 0)
            memcpy(c->metrics, what->line.metrics,
                   what->line.metric_count * sizeof *what->line.metrics);
        what->line.metrics = c->metrics;
        return true;
    case FGI_LOGGER_FLUSH:
    case FGI_LOGGER_SYNC: return true;
    }
    return true;
}

/* NULL when out of memory. */
static call *copy_of(const fgi_logger_call *from)
{
    const size_t metrics = from->of == FGI_LOGGER_LOG ? from->line.metric_count : 0;
    call *c = fgi_calloc(1, sizeof *c + metrics * sizeof *c->metrics);
    if (c == NULL)
        return NULL;
    c->what = *from;
    if (copy_contents(c))
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
            *c->out = t->opened;
        free_call(c);
    }
    t->last = NULL;
    t->waiting_lines = t->waiting_items = 0;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void note_result(fgi_logger_thread *t, const call *c, const result *r)
{
    t->waiting_lines -= c->what.of == FGI_LOGGER_LOG;
    t->waiting_items -= c->what.of == FGI_LOGGER_ITEM;
    t->is_exhausted |= r->status == FG_ENOMEM && t->ops.is_required;
    if (c->what.of == FGI_LOGGER_OPEN) {
        t->opened = *r;
        t->is_closed = r->status != FG_OK;
    }
    if (c->out != NULL)
        *c->out = *r;
    if (t->is_closed) {
        t->dropped += (int64_t)(t->waiting_lines + t->waiting_items);
        drop_calls(t);
    }
    t->is_idle = t->first == NULL;
}

/* The one who waits for `open` or `sync` reports its failure, and so does the fit that ends because
 * memory is exhausted. Only the success of `log` and `flush` says that the log is complete. */
static bool is_news_of_required(fgi_logger_function of, fg_status status)
{
    const bool writes_lines = of == FGI_LOGGER_LOG || of == FGI_LOGGER_FLUSH;
    return of != FGI_LOGGER_OPEN && of != FGI_LOGGER_SYNC && status != FG_ENOMEM &&
           (writes_lines || status != FG_OK);
}

static void execute(fgi_logger_thread *t, call *c)
{
    static const char *const name[] = {"open", "log", "flush", "sync", "saved", "finish", "item"};
    const fgi_logger_function of = c->what.of;
    result r = {.is_there = true, .lines = -1};
    const int64_t begin = fgi_timeline_begin();
    r.status = fgi_logger_call_now(&t->ops, t->self, &c->what, &r.lines, &r.error);
    fgi_timeline_end(begin, "logger", name[of], -1);
    if (t->ops.is_required && is_news_of_required(of, r.status))
        fgi_logger_report(&t->ops, &t->reported, r.status, &r.error); /* before those who wait */
    (void)pthread_mutex_lock(&t->mutex);
    note_result(t, c, &r);
    const bool is_late = t->is_late;
    (void)pthread_cond_broadcast(&t->changed);
    (void)pthread_mutex_unlock(&t->mutex);
    free_call(c);
    if (!t->ops.is_required && (of != FGI_LOGGER_OPEN || is_late))
        fgi_logger_report(&t->ops, &t->reported, r.status, &r.error);
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
    FGI_TRY(fgi_monitor_init(&t->mutex, &t->changed, err));
    const fg_status status = fgi_thread_start(&t->thread, run, t, err);
    if (status != FG_OK)
        fgi_monitor_fini(&t->mutex, &t->changed);
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
    t->is_idle = true;
    const fg_status status = start(t, err);
    if (status == FG_OK)
        *out = t;
    else
        fgi_free(t);
    return status;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static double seconds(const fgi_logger_thread *t) { return (double)t->patience_ns * 1e-9; }

/* With the mutex: until the patience ends. */
static bool wait_patiently(fgi_logger_thread *t, const bool *is_done, int64_t patience_ns)
{
    const int64_t end = fgi_now_ns() + patience_ns;
    const struct timespec until = {.tv_sec = (time_t)(end / 1000000000),
                                   .tv_nsec = (long)(end % 1000000000)};
    while (!*is_done)
        if (pthread_cond_timedwait(&t->changed, &t->mutex, &until) != 0)
            break;
    return *is_done;
}

/* With the mutex: waits until the flag, which it guards, is set or the patience ends; false: it has
 * ended. After that, nothing waits for the logger until it has caught up. For a required logger, it
 * waits without a limit. */
static bool wait_for(fgi_logger_thread *t, const bool *is_done)
{
    t->is_late = t->is_late && !t->is_idle;
    t->is_late = !wait_patiently(t, is_done, t->is_late ? 0 : t->patience_ns);
    if (!t->ops.is_required || !t->is_late)
        return !t->is_late;
    (void)pthread_mutex_unlock(&t->mutex);
    fgi_log(FG_LOG_WARNING, "logger '%s' has not written its log for %g s; waiting for it",
            t->ops.name, seconds(t));
    (void)pthread_mutex_lock(&t->mutex);
    while (!*is_done)
        (void)pthread_cond_wait(&t->changed, &t->mutex);
    return true;
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
    t->is_idle = false;
    t->waiting_lines += c->what.of == FGI_LOGGER_LOG;
    t->waiting_items += c->what.of == FGI_LOGGER_ITEM;
    (void)pthread_cond_broadcast(&t->changed);
    return true;
}

/* Queues a line or an item, or drops it; a line of a required logger must not be dropped. */
static fg_status log_entry(fgi_logger_thread *t, const fgi_logger_call *from, fg_error *err)
{
    const bool is_line = from->of == FGI_LOGGER_LOG, is_required = is_line && t->ops.is_required;
    const size_t most = is_line ? FGI_LOGGER_QUEUE : FGI_LOGGER_ITEMS;
    call *c = copy_of(from);
    (void)pthread_mutex_lock(&t->mutex);
    const size_t waiting = is_line ? t->waiting_lines : t->waiting_items;
    t->is_exhausted |= is_required && (c == NULL || waiting == FGI_LOGGER_REQUIRED_QUEUE);
    const bool is_exhausted = is_required && t->is_exhausted;
    const bool is_taken = (is_required ? !is_exhausted : waiting < most) && enqueue(t, c);
    t->dropped += !is_required && !is_taken;
    const bool is_news = waiting >= most && !t->is_closed && !t->has_warned_of_drops;
    t->has_warned_of_drops |= is_news;
    (void)pthread_mutex_unlock(&t->mutex);
    if (!is_taken)
        free_call(c);
    if (is_news)
        fgi_log(FG_LOG_WARNING, "logger '%s' is too slow: %zu %s are waiting%s; training continues",
                t->ops.name, most, is_line ? "lines" : "texts, images or histograms",
                is_required ? " in memory" : ", and further ones are dropped");
    return is_exhausted
               ? fgi_fail(err, FG_ENOMEM, "logger '%s': no memory for further lines", t->ops.name)
               : FG_OK;
}

/* Queues a call that nobody waits for, unless memory is exhausted or the log is closed. A flush or
 * sync that already is the last call does for the next one, too. */
static void send(fgi_logger_thread *t, const fgi_logger_call *from)
{
    call *c = copy_of(from);
    (void)pthread_mutex_lock(&t->mutex);
    const bool is_request = from->of == FGI_LOGGER_FLUSH || from->of == FGI_LOGGER_SYNC;
    const bool is_repeated = is_request && t->last != NULL && t->last->what.of == from->of;
    const bool is_taken = !is_repeated && enqueue(t, c);
    (void)pthread_mutex_unlock(&t->mutex);
    if (!is_taken)
        free_call(c);
}

/* Queues a call and waits for what it returns; for `open`, until the patience ends. */
static fg_status ask(fgi_logger_thread *t, const fgi_logger_call *from, int64_t *lines,
                     fg_error *err)
{
    const bool opens = from->of == FGI_LOGGER_OPEN;
    result answer = {.lines = -1};
    call *c = copy_of(from);
    if (c == NULL)
        return fgi_no_memory(err);
    c->out = &answer;
    (void)pthread_mutex_lock(&t->mutex);
    t->is_exhausted = t->is_exhausted && !opens;
    t->is_closed = t->is_closed && !(opens && t->ops.is_required);
    const bool is_taken = enqueue(t, c);
    const bool is_late = is_taken && !wait_for(t, &answer.is_there);
    if (is_late)
        c->out = NULL; /* c is not freed before it has a result */
    if (!is_taken && !opens)
        answer = t->opened;
    const bool is_exhausted = t->is_exhausted && !opens;
    (void)pthread_mutex_unlock(&t->mutex);
    if (!is_taken)
        free_call(c); /* of `open`: it could not be opened before, which was reported then */
    if (is_late)
        fgi_log(FG_LOG_WARNING, "logger '%s' has not opened its log in %g s; training continues",
                t->ops.name, seconds(t));
    if (is_exhausted)
        return fgi_fail(err, FG_ENOMEM, "logger '%s': lines are missing", t->ops.name);
    if (answer.status != FG_OK)
        *err = answer.error;
    if (lines != NULL)
        *lines = answer.lines;
    return answer.status;
}

fg_status fgi_logger_thread_call(fgi_logger_thread *t, const fgi_logger_call *from, int64_t *lines,
                                 fg_error *err)
{
    static const fgi_logger_call flush = {.of = FGI_LOGGER_FLUSH};
    const bool flushes = from->of == FGI_LOGGER_FLUSH, is_required = t->ops.is_required;
    if (from->of == FGI_LOGGER_OPEN || (is_required && flushes && from->can_wait))
        return ask(t, from, lines, err);
    if (from->of == FGI_LOGGER_LOG || from->of == FGI_LOGGER_ITEM)
        return log_entry(t, from, err);
    if (is_required && from->of == FGI_LOGGER_SYNC) {
        FGI_TRY(ask(t, &flush, NULL, err));
        return ask(t, from, NULL, err);
    }
    if (!is_required || !flushes) /* else `sync` flushes */
        send(t, from);
    return FG_OK;
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
    const bool was_late = t->is_late && !t->is_idle;
    const bool is_done = wait_for(t, &t->is_idle);
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
    const bool is_over = wait_for(t, &t->has_ended);
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
