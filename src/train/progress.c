/* progress.c - the progress display, written to the given stream only.
 *
 * On a terminal, one line is redrawn in place, using only carriage returns and spaces, so that it
 * works in every terminal and in notebooks. The line of an epoch is permanent, unless epochs are so
 * short that they would scroll: then one per second is, and the last. Otherwise, there is one line
 * per epoch, and lines at intervals during long epochs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "base/thread.h"
#include "train/progress_text.h"
#include "train/trainer.h"

static const int64_t SECOND = 1000000000;
static const double reported_s = 10;        /* shorter runs end without the limit of their rate */
static const int64_t REDRAW_NS = 100000000; /* at least 0.1 s from one drawing to the next */

struct fgi_progress {
    FILE *out;
    const fg_trainer *trainer;
    int64_t (*now_ns)(void);
    bool is_live;
    /* also cleared by threads that log */
    _Atomic size_t drawn;     /* characters of the live line now shown */
    _Atomic int64_t drawn_ns; /* when it was drawn */
    int64_t kept_ns;          /* when the last permanent line was written */
    char held[1024];          /* an epoch's line that is only shown as the live line */
    /* the present epoch or evaluation */
    int64_t start_ns, start_batch, start_position;
    int64_t position;             /* samples of the epoch done, at its last batch */
    int64_t val_begin_ns, val_ns; /* of it, spent on validation and compilation */
    char train[256], val[256];    /* metrics: of the last window; of a validation not shown yet */
    double samples_per_s;         /* of the last window */
    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        fgi_thread thread;
        bool is_ready, is_running, is_done;
        const char *stage;
        int64_t begin_ns;
    } compile;
};

/* ---- life ------------------------------------------------------------------------------------ */

bool fgi_progress_is_style(const char *style)
{
    return style == NULL || strcmp(style, "auto") == 0 || strcmp(style, "bar") == 0 ||
           strcmp(style, "plain") == 0;
}

/* Whether it is a terminal that can return to the start of the line. */
static bool is_terminal(FILE *out)
{
    const char *term = getenv("TERM"); /* NOLINT(concurrency-mt-unsafe): read only */
    return isatty(fileno(out)) == 1 && term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
}

static bool is_live(FILE *out, const char *style)
{
    if (style != NULL && strcmp(style, "auto") != 0)
        return strcmp(style, "bar") == 0;
    return is_terminal(out);
}

static void clear_before_log(void *self);

fg_status fgi_progress_create(FILE *out, const char *style, const fg_trainer *trainer,
                              fgi_progress **out_progress, fg_error *err)
{
    fgi_progress *p = fgi_calloc(1, sizeof *p);
    *out_progress = p;
    if (p == NULL)
        return fgi_no_memory(err);
    p->out = out;
    p->trainer = trainer;
    p->now_ns = fgi_now_ns;
    p->is_live = is_live(out, style);
    p->drawn_ns = INT64_MIN / 2;
    p->kept_ns = INT64_MIN / 2;
    p->compile.is_ready = fgi_mutex_init(&p->compile.lock, NULL) == FG_OK;
    if (p->compile.is_ready && fgi_cond_init(&p->compile.changed, NULL) != FG_OK) {
        (void)pthread_mutex_destroy(&p->compile.lock);
        p->compile.is_ready = false; /* then without the time of compilation */
    }
    if (p->is_live)
        fgi_log_set_before(clear_before_log, p);
    return FG_OK;
}

void fgi_progress_set_clock(fgi_progress *p, int64_t (*now_ns)(void)) { p->now_ns = now_ns; }

static void destroy(void *self)
{
    fgi_progress *p = self;
    fgi_log_unset_before(p);
    fgi_progress_compile_end(p);
    if (p->compile.is_ready) {
        (void)pthread_mutex_destroy(&p->compile.lock);
        (void)pthread_cond_destroy(&p->compile.changed);
    }
    fgi_free(p);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The present width of the terminal. */
static size_t columns_of(FILE *out)
{
    struct winsize size = {0};
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Replaces the live line, truncated to less than `columns`; the rest of a longer one is overwritten
 * with spaces. */
static void draw(fgi_progress *p, const char *line, size_t columns)
{
    const size_t whole = strlen(line), length = whole < columns ? whole : columns - 1;
    const size_t drawn = p->drawn;
    size_t cover = drawn > length ? drawn - length : 0;
    if (length + cover >= columns) /* the terminal was made narrower */
        cover = length + 1 < columns ? columns - 1 - length : 0;
    (void)fprintf(p->out, "\r%.*s%*s", (int)length, line, (int)cover, "");
    if (cover > 0)
        (void)fprintf(p->out, "\r%.*s", (int)length, line);
    (void)fflush(p->out);
    p->drawn = length;
    p->drawn_ns = p->now_ns();
}

static void clear(fgi_progress *p)
{
    if (p->drawn == 0)
        return;
    draw(p, "", columns_of(p->out));
    p->drawn_ns = INT64_MIN / 2; /* the next one may follow at once */
}

static void clear_before_log(void *self) { clear(self); }

/* Columns for a permanent line: those of the terminal, or no limit. */
static size_t columns_to_keep(const fgi_progress *p)
{
    struct winsize size = {0};
    const bool is_known = ioctl(fileno(p->out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return p->is_live && is_known ? size.ws_col : sizeof p->held;
}

/* Writes a permanent line. */
static void keep_line(fgi_progress *p, const char *line)
{
    clear(p);
    (void)fprintf(p->out, "%.*s\n", (int)columns_to_keep(p) - 1, line);
    (void)fflush(p->out);
    p->held[0] = '\0';
    p->kept_ns = p->now_ns();
}

/* Writes a permanent line, or a live one if they follow too quickly for a terminal. */
static void show_line(fgi_progress *p, const char *line)
{
    if (!p->is_live || p->now_ns() - p->kept_ns >= SECOND) {
        keep_line(p, line);
        return;
    }
    (void)snprintf(p->held, sizeof p->held, "%s", line);
    draw(p, line, columns_of(p->out));
}

static double seconds_since(const fgi_progress *p, int64_t begin_ns)
{
    return (double)(p->now_ns() - begin_ns) * 1e-9;
}

/* ---- position -------------------------------------------------------------------------------- */

/* "epoch 3/30" */
static void put_epoch(const fgi_progress *p, const fg_progress *at, char *out, size_t size)
{
    char epoch[32], all[32];
    const int64_t epochs = fg_trainer_settings(p->trainer)->total_epochs; /* -1: unknown */
    fgi_progress_count(at->epoch + 1, epoch, sizeof epoch);
    fgi_progress_count(epochs, all, sizeof all);
    (void)snprintf(out, size, epochs > 0 ? "epoch %s/%s" : "epoch %s", epoch, all);
}

static void begin(fgi_progress *p, const fg_progress *at)
{
    p->start_ns = p->now_ns();
    p->start_batch = at->batch;
    p->start_position = p->position = at->batch > 0 ? p->trainer->cursor.position : 0;
    p->val_ns = 0;
    p->train[0] = p->val[0] = '\0';
}

/* Seconds of training, without validation and compilation. */
static double training_s(const fgi_progress *p)
{
    return seconds_since(p, p->start_ns) - (double)p->val_ns * 1e-9;
}

static double rate_of(const fgi_progress *p)
{
    const double seconds = training_s(p);
    const int64_t samples = p->position - p->start_position;
    return seconds > 0 && samples > 0 ? (double)samples / seconds : 0;
}

/* Writes the live line, or its text as a plain one. */
static void put_live(fgi_progress *p, const fg_progress *at, const char *label, size_t columns,
                     char *out, size_t size)
{
    const double elapsed = seconds_since(p, p->start_ns);
    const int64_t done = at->batch - p->start_batch, left = at->batches - at->batch;
    const fgi_progress_view view = {
        .label = label,
        .batch = at->batch,
        .batches = at->batches,
        .samples_per_s = p->samples_per_s > 0 ? p->samples_per_s : rate_of(p),
        .elapsed_s = elapsed,
        .remaining_s = at->batches >= 0 && done > 0 ? elapsed / (double)done * (double)left : -1,
        .metrics = p->train,
    };
    fgi_progress_line(&view, columns, out, size);
}

/* Seconds between plain lines within an epoch: a tenth of the time so far, within bounds. */
static int64_t interval_ns(const fgi_progress *p)
{
    const int64_t tenth = (p->now_ns() - p->start_ns) / 10;
    return tenth < 10 * SECOND ? 10 * SECOND : tenth > 60 * SECOND ? 60 * SECOND : tenth;
}

static void show_progress(fgi_progress *p, const fg_progress *at, const char *label)
{
    char line[1024];
    const int64_t now = p->now_ns();
    if (p->is_live) {
        const size_t columns = columns_of(p->out);
        if (now - p->drawn_ns < REDRAW_NS)
            return;
        put_live(p, at, label, columns, line, sizeof line);
        draw(p, line, columns);
        return;
    }
    const int64_t since = p->kept_ns > p->start_ns ? p->kept_ns : p->start_ns;
    if (now - since < interval_ns(p))
        return;
    put_live(p, at, label, sizeof line, line, sizeof line);
    keep_line(p, line);
}

/* ---- compilation ----------------------------------------------------------------------------- */

static void show_compile(fgi_progress *p)
{
    char line[160], time[32];
    const int64_t seconds = (p->now_ns() - p->compile.begin_ns + SECOND / 2) / SECOND;
    fgi_progress_time((double)seconds, time, sizeof time);
    (void)snprintf(line, sizeof line, "compiling the %s step  %s", p->compile.stage, time);
    if (p->is_live)
        draw(p, line, columns_of(p->out));
    else if (seconds == 10 || (seconds > 0 && seconds % 60 == 0))
        keep_line(p, line);
}

/* Redraws the time, each second, while the Trainer's thread compiles. */
static void *tick(void *self)
{
    fgi_progress *p = self;
    (void)pthread_mutex_lock(&p->compile.lock);
    for (int64_t next = fgi_now_ns() + SECOND; !p->compile.is_done; next += SECOND) {
        const struct timespec until = {.tv_sec = next / SECOND, .tv_nsec = next % SECOND};
        while (!p->compile.is_done &&
               pthread_cond_timedwait(&p->compile.changed, &p->compile.lock, &until) == 0)
            ;
        if (!p->compile.is_done)
            show_compile(p);
    }
    (void)pthread_mutex_unlock(&p->compile.lock);
    return NULL;
}

void fgi_progress_compile_begin(fgi_progress *p, const char *stage)
{
    if (p == NULL || !p->compile.is_ready)
        return;
    p->compile.stage = stage;
    p->compile.begin_ns = p->now_ns();
    p->compile.is_done = false;
    if (p->is_live)
        show_compile(p);
    p->compile.is_running = fgi_thread_start(&p->compile.thread, tick, p, NULL) == FG_OK;
}

void fgi_progress_compile_end(fgi_progress *p)
{
    char line[160];
    if (p == NULL || p->compile.stage == NULL)
        return;
    if (p->compile.is_running) {
        (void)pthread_mutex_lock(&p->compile.lock);
        p->compile.is_done = true;
        (void)pthread_cond_signal(&p->compile.changed);
        (void)pthread_mutex_unlock(&p->compile.lock);
        fgi_thread_join(p->compile.thread);
        p->compile.is_running = false;
    }
    const double seconds = seconds_since(p, p->compile.begin_ns);
    (void)fgi_snprintf(line, sizeof line, "compiled the %s step in %.1f s", p->compile.stage,
                       seconds);
    p->compile.stage = NULL;
    p->val_ns += p->now_ns() - p->compile.begin_ns; /* not training time, if within an epoch */
    if (seconds >= 1)
        keep_line(p, line);
    else
        clear(p);
}

/* ---- events ---------------------------------------------------------------------------------- */

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    fgi_progress *p = self;
    (void)err;
    clear(p);
    fgi_progress_table(p->out, p->trainer, at);
    begin(p, at);
    return FG_OK;
}

static fg_status on_epoch_start(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    begin(self, at);
    return FG_OK;
}

/* A validation within an epoch has a separate line, written once it is known that the epoch
 * continues. */
static void show_val(fgi_progress *p, const fg_progress *at)
{
    char label[80], line[1024], batch[32], all[32];
    if (p->val[0] == '\0')
        return;
    put_epoch(p, at, label, sizeof label);
    fgi_progress_count(at->batch, batch, sizeof batch);
    fgi_progress_count(at->batches, all, sizeof all);
    (void)snprintf(line, sizeof line, "%s  batch %s%s%s%s", label, batch,
                   at->batches >= 0 ? "/" : "", at->batches >= 0 ? all : "", p->val);
    p->val[0] = '\0';
    show_line(p, line);
}

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_progress *p = self;
    char label[80] = "evaluating";
    (void)err;
    if (p->trainer->call.is_running) {
        fg_progress before = *at;
        before.batch--;
        show_val(p, &before);
        p->position = p->trainer->cursor.position;
        put_epoch(p, at, label, sizeof label);
    }
    show_progress(p, at, label);
    return FG_OK;
}

/* The metrics of the steps, without the values that callbacks have added after them. */
static size_t count_step_metrics(const fg_progress *at)
{
    size_t i = 0;
    while (i < at->metric_count && strncmp(at->metrics[i].name, "train_", 6) == 0)
        i++;
    return i;
}

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    fgi_progress *p = self;
    (void)err;
    fgi_progress_metrics(at->metrics, count_step_metrics(at), "train_", p->train, sizeof p->train);
    p->samples_per_s = at->samples_per_s;
    return FG_OK;
}

/* A validation that has not been shown yet was after the checkpoint. */
static fg_status on_rolled_back(void *self, const fg_progress *at, fg_error *err)
{
    fgi_progress *p = self;
    (void)at, (void)err;
    p->val[0] = p->train[0] = p->held[0] = '\0';
    return FG_OK;
}

static fg_status on_val_start(void *self, const fg_progress *at, fg_error *err)
{
    fgi_progress *p = self;
    (void)at, (void)err;
    p->val_begin_ns = p->now_ns();
    return FG_OK;
}

void fgi_progress_validating(fgi_progress *p, const fg_progress *at)
{
    char label[80], line[1024], batch[32], all[32];
    if (p == NULL || !p->is_live || p->now_ns() - p->drawn_ns < REDRAW_NS)
        return;
    put_epoch(p, at, label, sizeof label);
    fgi_progress_count(at->batch, batch, sizeof batch);
    fgi_progress_count(at->batches, all, sizeof all);
    (void)snprintf(line, sizeof line, "%s  validating %s%s%s", label, batch,
                   at->batches >= 0 ? "/" : "", at->batches >= 0 ? all : "");
    draw(p, line, columns_of(p->out));
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_progress *p = self;
    (void)err;
    fgi_progress_metrics(at->metrics, at->metric_count, "", p->val, sizeof p->val);
    p->val_ns += p->now_ns() - p->val_begin_ns;
    return FG_OK;
}

/* The line of an epoch: training and validation together. */
static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_progress *p = self;
    char label[80], train[256], time[32], rate[32], line[1024];
    (void)err;
    put_epoch(p, at, label, sizeof label);
    fgi_progress_metrics(at->metrics, at->metric_count, "", train, sizeof train);
    fgi_progress_time(seconds_since(p, p->start_ns), time, sizeof time);
    fgi_progress_count((int64_t)(rate_of(p) + 0.5), rate, sizeof rate);
    const fgi_epoch_view view = {label, train, p->val, rate, time};
    fgi_progress_epoch_line(&view, columns_to_keep(p), line, sizeof line);
    p->val[0] = '\0';
    show_line(p, line);
    return FG_OK;
}

/* The last line is permanent. */
static void keep_held(fgi_progress *p)
{
    char line[sizeof p->held];
    if (p->held[0] == '\0')
        return;
    (void)snprintf(line, sizeof line, "%s", p->held);
    keep_line(p, line);
}

/* What limited the rate of a run that was long enough to know. */
static void show_input(fgi_progress *p)
{
    char line[256];
    const fg_result *result = &p->trainer->call.result;
    (void)fg_input_report_format(&result->input, line, sizeof line);
    if (line[0] != '\0' && result->idle.busy_s + result->idle.idle_s >= reported_s)
        keep_line(p, line);
}

static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_progress *p = self;
    (void)err;
    keep_held(p);
    show_val(p, at); /* of a run that ended within an epoch */
    keep_held(p);
    show_input(p);
    clear(p);
    (void)fflush(p->out);
    return FG_OK;
}

static fg_status on_eval_start(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    begin(self, at);
    return FG_OK;
}

static fg_status on_eval_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_progress *p = self;
    (void)at, (void)err;
    clear(p);
    (void)fflush(p->out);
    return FG_OK;
}

const fg_callback_ops fgi_progress_ops = {.fit_start = on_fit_start,
                                          .epoch_start = on_epoch_start,
                                          .batch_end = on_batch_end,
                                          .log = on_log,
                                          .val_start = on_val_start,
                                          .val_end = on_val_end,
                                          .epoch_end = on_epoch_end,
                                          .fit_end = on_fit_end,
                                          .eval_start = on_eval_start,
                                          .eval_end = on_eval_end,
                                          .destroy = destroy,
                                          .rolled_back = on_rolled_back};
