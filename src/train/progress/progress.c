/* progress.c - the progress display, written to the given stream only.
 *
 * On a terminal, one line is redrawn in place, using only carriage returns and spaces, so that it
 * works in every terminal and in notebooks; otherwise there are lines every few seconds. Each epoch
 * leaves one line. Steps are counted when the devices have finished them, which the feed knows
 * without waiting; a thread draws while the Trainer's thread waits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/progress/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "base/thread.h"
#include "train/step/feed.h"
#include "train/progress/progress_text.h"
#include "train/save/saver.h"

static const int64_t SECOND = 1000000000;
static const double reported_s = 10;        /* shorter runs end without the limit of their rate */
static const int64_t REDRAW_NS = 100000000; /* at least 0.1 s from one drawing to the next */
static const int64_t TICK_NS = 500000000;   /* from one look of the thread to the next */
enum { OF_EPOCHS, OF_VALIDATIONS, STYLES }; /* permanent lines within a fit */

struct fgi_progress {
    FILE *out;
    fgi_progress_sources of;
    int64_t (*now_ns)(void);
    bool is_live, has_color;
    pthread_mutex_t lock; /* of what follows: threads that log also clear the live line */
    pthread_cond_t changed;
    fgi_thread ticker;
    bool is_ticking, is_ending; /* the thread runs; it is to end */
    size_t drawn;               /* characters of the live line now shown */
    int64_t drawn_ns;           /* when it was drawn */
    int64_t quiet_ns;           /* the thread draws nothing until then */
    int64_t kept_ns;            /* when the last permanent line was written */
    /* the current epoch or evaluation */
    bool is_active, has_at; /* a call is running; a batch was launched */
    bool is_fit;            /* the call is a fit, ... */
    int64_t total_epochs;   /* ... of that many epochs; -1: unknown */
    fg_progress at;         /* after the last batch that was launched */
    fgi_stage_kind kind;
    int64_t start_ns, start_batch, start_position;
    int64_t position;              /* samples of the epoch launched, at its last batch */
    int64_t val_begin_ns, val_ns;  /* of it, spent on validation and compilation */
    char train[256];               /* metrics of the last window */
    fg_metric val[FG_MAX_METRICS]; /* of a validation not shown yet */
    size_t val_count;
    fg_metric best; /* "acc", 0.9: the best value so far, if it is in the next line; else "" */
    double samples_per_s; /* of the last window */
    /* epochs of this fit that have ended: time and number of their batches, and other time */
    int64_t train_ns, batches, other_ns, epochs;
    fgi_epoch_style style[STYLES];
    struct {
        const char *stage; /* NULL: nothing is being compiled */
        int64_t begin_ns, said_s;
    } compile;
};

/* ---- life ------------------------------------------------------------------------------------ */

bool fgi_progress_is_style(const char *style)
{
    return style == NULL || strcmp(style, "auto") == 0 || strcmp(style, "bar") == 0 ||
           strcmp(style, "plain") == 0;
}

static bool is_live(FILE *out, const char *style)
{
    if (style != NULL && strcmp(style, "auto") != 0)
        return strcmp(style, "bar") == 0;
    return fgi_is_terminal(out);
}

static void clear_before_log(void *self);

fg_status fgi_progress_create(const fg_trainer_output *o, const fgi_progress_sources *sources,
                              fgi_progress **out, fg_error *err)
{
    fgi_progress *p = fgi_calloc(1, sizeof *p);
    *out = NULL;
    if (p == NULL)
        return fgi_no_memory(err);
    const fg_status status = fgi_monitor_init(&p->lock, &p->changed, err);
    if (status != FG_OK) {
        fgi_free(p);
        return status;
    }
    p->out = o->progress;
    p->of = *sources;
    p->now_ns = fgi_now_ns;
    p->is_live = is_live(o->progress, o->progress_style);
    p->has_color = o->progress_color;
    p->drawn_ns = p->kept_ns = p->quiet_ns = INT64_MIN / 2;
    if (p->is_live)
        fgi_log_set_before(clear_before_log, p);
    *out = p;
    return FG_OK;
}

void fgi_progress_set_clock(fgi_progress *p, int64_t (*now_ns)(void)) { p->now_ns = now_ns; }

static void lock(fgi_progress *p) { (void)pthread_mutex_lock(&p->lock); }
static void unlock(fgi_progress *p) { (void)pthread_mutex_unlock(&p->lock); }

static void destroy(void *self)
{
    fgi_progress *p = self;
    fgi_log_unset_before(p);
    fgi_progress_stop(p);
    fgi_monitor_fini(&p->lock, &p->changed);
    fgi_free(p);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Replaces the live line, truncated to less than `columns`; the rest of a longer one is overwritten
 * with spaces. */
static void draw(fgi_progress *p, const char *line, size_t columns)
{
    const size_t whole = strlen(line), length = whole < columns ? whole : columns - 1;
    size_t cover = p->drawn > length ? p->drawn - length : 0;
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
    draw(p, "", fgi_terminal_columns(p->out, 80));
    p->drawn_ns = INT64_MIN / 2; /* the next one may follow at once */
}

static void clear_before_log(void *self)
{
    fgi_progress *p = self;
    lock(p);
    clear(p);
    p->quiet_ns = p->now_ns() + REDRAW_NS; /* until the log line is written */
    unlock(p);
}

/* Columns for a permanent line: those of the terminal, or no limit. */
static size_t columns_to_keep(const fgi_progress *p)
{
    return p->is_live ? fgi_terminal_columns(p->out, 1024) : 1024;
}

/* Writes a permanent line, in which `best` ("acc 0.9"; NULL: none) is highlighted. */
static void keep_line(fgi_progress *p, const char *line, const char *best)
{
    const int length = (int)strnlen(line, columns_to_keep(p) - 1);
    const char *at = p->has_color && best != NULL ? strstr(line, best) : NULL;
    clear(p);
    if (at != NULL && at + strlen(best) <= line + length)
        (void)fprintf(p->out, "%.*s\x1b[1;32m%s\x1b[0m%.*s\n", (int)(at - line), line, best,
                      length - (int)(at - line) - (int)strlen(best), at + strlen(best));
    else
        (void)fprintf(p->out, "%.*s\n", length, line);
    (void)fflush(p->out);
    p->kept_ns = p->now_ns();
}

static double seconds_since(const fgi_progress *p, int64_t begin_ns)
{
    return (double)(p->now_ns() - begin_ns) * 1e-9;
}

/* ---- position -------------------------------------------------------------------------------- */

/* "epoch 3/30" */
static void put_epoch(const fgi_progress *p, const fg_progress *at, char *out, size_t size)
{
    (void)snprintf(out, size, p->total_epochs > 0 ? "epoch %s/%s" : "epoch %s",
                   fgi_count_words((double)(at->epoch + 1)),
                   fgi_count_words((double)p->total_epochs));
}

static void begin(fgi_progress *p, const fg_progress *at, bool is_fit)
{
    p->has_at = false;
    p->is_fit = is_fit;
    p->total_epochs = fg_trainer_settings(p->of.trainer)->total_epochs;
    p->start_ns = p->now_ns();
    p->start_batch = at->batch;
    p->start_position = p->position = at->batch > 0 ? p->of.cursor->position : 0;
    p->val_ns = 0;
    p->train[0] = p->best.name[0] = '\0';
    p->val_count = 0;
}

/* Nanoseconds of training, without validation and compilation. */
static int64_t training_ns(const fgi_progress *p) { return p->now_ns() - p->start_ns - p->val_ns; }

/* Batches that the devices have finished, of those launched. */
static int64_t finished(const fgi_progress *p)
{
    const fgi_feed *feed = p->of.feed;
    int open = fgi_feed_under_way(feed, p->kind);
    for (int kind = FGI_VAL; kind <= FGI_PREDICT && !p->is_fit; kind++)
        open = fgi_feed_under_way(feed, (fgi_stage_kind)kind) > open
                   ? fgi_feed_under_way(feed, (fgi_stage_kind)kind)
                   : open;
    return p->at.batch > open ? p->at.batch - open : 0;
}

static double rate_of(const fgi_progress *p)
{
    const double seconds = (double)training_ns(p) * 1e-9;
    const int64_t samples = p->position - p->start_position;
    return seconds > 0 && samples > 0 ? (double)samples / seconds : 0;
}

/* Seconds until the end of the run, when `done` batches of the epoch are finished; -1: unknown, or
 * the epoch is the last one. */
static double run_left(const fgi_progress *p, int64_t epoch, int64_t done, int64_t epoch_batches)
{
    const int64_t epochs = p->total_epochs - epoch - 1; /* after this one */
    const int64_t own = done > p->start_batch ? done - p->start_batch : 0;
    const double batches = (double)(p->batches + own);
    const double batch_ns = (double)(p->train_ns + (own > 0 ? training_ns(p) : 0)) / batches;
    const double other_ns = p->epochs > 0 ? (double)p->other_ns / (double)p->epochs : 0;
    if (!p->is_fit || epochs < 1 || epoch_batches < 1 || !(batches > 0))
        return -1;
    const double left = (double)(epochs * epoch_batches + epoch_batches - done);
    return (left * batch_ns + (double)(epochs + (done < epoch_batches)) * other_ns) * 1e-9;
}

/* Writes the live line, or its text as a plain one. */
static void put_live(const fgi_progress *p, const char *label, size_t columns, char *out,
                     size_t size)
{
    const fg_progress *at = &p->at;
    const bool is_training = p->kind == FGI_TRAIN && p->is_fit;
    const int64_t start = is_training ? p->start_batch : 0, all = at->batches;
    const int64_t done = finished(p) > start ? finished(p) : start;
    const double elapsed = seconds_since(p, p->kind == FGI_TRAIN ? p->start_ns : p->val_begin_ns);
    const double spent = is_training ? (double)training_ns(p) * 1e-9 : elapsed;
    const fgi_progress_view view = {
        .label = label,
        .batch = done,
        .batches = all,
        .samples_per_s = !is_training           ? 0
                         : p->samples_per_s > 0 ? p->samples_per_s
                         : done > start         ? rate_of(p)
                                                : 0,
        .elapsed_s = elapsed,
        .remaining_s =
            all >= 0 && done > start ? spent / (double)(done - start) * (double)(all - done) : -1,
        .run_s = is_training ? run_left(p, at->epoch, done, all) : -1,
        .metrics = is_training ? p->train : "",
        .is_plain = !p->is_live,
    };
    fgi_progress_line(&view, columns, out, size);
}

/* Seconds between plain lines within an epoch: a tenth of the time so far, within bounds. */
static int64_t interval_ns(const fgi_progress *p)
{
    const int64_t tenth = (p->now_ns() - p->start_ns) / 10;
    return tenth < 5 * SECOND ? 5 * SECOND : tenth > 30 * SECOND ? 30 * SECOND : tenth;
}

static void show_progress(fgi_progress *p)
{
    char line[1024], label[96] = "evaluating";
    const int64_t now = p->now_ns();
    const int64_t since = p->kept_ns > p->start_ns ? p->kept_ns : p->start_ns;
    if (!p->has_at || (p->is_live ? now - p->drawn_ns < REDRAW_NS : now - since < interval_ns(p)))
        return;
    if (p->is_fit) {
        put_epoch(p, &p->at, label, sizeof label);
        if (p->kind == FGI_VAL)
            (void)snprintf(label + strlen(label), 16, "  validating");
    }
    const size_t columns = p->is_live ? fgi_terminal_columns(p->out, 80) : sizeof line;
    put_live(p, label, columns, line, sizeof line);
    if (p->is_live)
        draw(p, line, columns);
    else
        keep_line(p, line, NULL);
}

/* ---- compilation ----------------------------------------------------------------------------- */

static void show_compile(fgi_progress *p)
{
    char line[160], time[32];
    const int64_t seconds = (p->now_ns() - p->compile.begin_ns + SECOND / 2) / SECOND;
    fgi_progress_time((double)seconds, time, sizeof time);
    (void)snprintf(line, sizeof line, "compiling the %s step  %s", p->compile.stage, time);
    if (p->is_live)
        draw(p, line, fgi_terminal_columns(p->out, 80));
    else if (seconds > p->compile.said_s && (seconds == 10 || seconds % 60 == 0))
        keep_line(p, line, NULL);
    p->compile.said_s = seconds;
}

/* The lock is held. */
static void draw_due(fgi_progress *p)
{
    if (p->now_ns() < p->quiet_ns)
        return;
    if (p->compile.stage != NULL)
        show_compile(p);
    else if (p->is_active)
        show_progress(p);
}

void fgi_progress_tick(fgi_progress *p)
{
    lock(p);
    draw_due(p);
    unlock(p);
}

/* Draws while the Trainer's thread compiles or waits. */
static void *tick(void *self)
{
    fgi_progress *p = self;
    lock(p);
    for (int64_t next = fgi_now_ns() + TICK_NS; !p->is_ending; next += TICK_NS) {
        const struct timespec until = {.tv_sec = next / SECOND, .tv_nsec = next % SECOND};
        while (!p->is_ending && pthread_cond_timedwait(&p->changed, &p->lock, &until) == 0)
            ;
        if (!p->is_ending)
            draw_due(p);
    }
    unlock(p);
    return NULL;
}

/* Without the thread, only the Trainer's thread draws. */
static void start_ticker(fgi_progress *p)
{
    if (!p->is_ticking)
        p->is_ticking = fgi_thread_start(&p->ticker, tick, p, NULL) == FG_OK;
}

static void stop_ticker(fgi_progress *p)
{
    if (!p->is_ticking)
        return;
    lock(p);
    p->is_ending = true;
    (void)pthread_cond_signal(&p->changed);
    unlock(p);
    fgi_thread_join(p->ticker);
    p->is_ticking = p->is_ending = false;
}

static void compile_begin(fgi_progress *p, const char *stage)
{
    lock(p);
    p->compile.stage = stage;
    p->compile.begin_ns = p->now_ns();
    p->compile.said_s = 0;
    if (p->is_live)
        show_compile(p);
    unlock(p);
    start_ticker(p);
}

static void compile_end(fgi_progress *p)
{
    char line[160];
    if (p->compile.stage == NULL)
        return;
    if (!p->is_active)
        stop_ticker(p);
    lock(p);
    const double seconds = seconds_since(p, p->compile.begin_ns);
    (void)fgi_snprintf(line, sizeof line, "compiled the %s step in %.1f s", p->compile.stage,
                       seconds);
    p->compile.stage = NULL;
    p->val_ns += p->now_ns() - p->compile.begin_ns; /* not training time, if within an epoch */
    if (seconds >= 1)
        keep_line(p, line, NULL);
    else
        clear(p);
    unlock(p);
}

static void on_begun(void *self, const fgi_span *span)
{
    if (span->activity == FGI_COMPILE)
        compile_begin(self, fgi_stage_noun((fgi_stage_kind)span->kind));
}

static void on_ended(void *self, const fgi_span *span, int64_t end_ns)
{
    if (span->activity == FGI_COMPILE)
        compile_end(self);
}

fgi_span_listener fgi_progress_listener(fgi_progress *progress)
{
    return (fgi_span_listener){.self = progress, .begun = on_begun, .ended = on_ended};
}

void fgi_progress_stop(fgi_progress *p)
{
    if (p == NULL)
        return;
    compile_end(p);
    lock(p);
    p->is_active = p->has_at = false;
    unlock(p);
    stop_ticker(p);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void do_fit_start(fgi_progress *p, const fg_progress *at)
{
    clear(p);
    fgi_progress_table(p->out, p->of.trainer, at);
    begin(p, at, true);
    p->train_ns = p->batches = p->other_ns = p->epochs = 0;
    memset(p->style, 0, sizeof p->style);
    p->kind = FGI_TRAIN;
    p->is_active = true;
    start_ticker(p);
}

static void do_epoch_start(fgi_progress *p, const fg_progress *at) { begin(p, at, true); }

/* Remembers the text of the monitored metric if it is the best so far. */
static void note_best(fgi_progress *p, const fg_progress *at, const char *prefix)
{
    const fg_trainer_checkpoints *o = p->of.checkpoints;
    if (o->monitor == NULL || strncmp(o->monitor, prefix, strlen(prefix)) != 0)
        return;
    const fgi_best_rule rule = fgi_best_rule_of(o);
    const size_t i = fgi_metric_find(at->metrics, at->metric_count, o->monitor);
    if (i == at->metric_count ||
        !fgi_best_list_is_best(&p->of.cursor->top, &rule, at->metrics[i].value))
        return;
    p->best.value = at->metrics[i].value;
    (void)snprintf(p->best.name, sizeof p->best.name, "%s", o->monitor + strlen(prefix));
}

/* Writes the line of an epoch, or of a validation within it, with these parts. */
static void keep_epoch(fgi_progress *p, int kind, fgi_epoch_view view)
{
    char line[1024], best[80] = "";
    fg_metric known[FG_MAX_METRICS];
    view.val = p->val;
    view.val_count = p->val_count;
    view.known = known;
    view.known_count = fgi_known_metrics(p->of.val, known);
    fgi_progress_epoch_line(&view, columns_to_keep(p), &p->style[kind], line, sizeof line);
    fgi_progress_metrics(&p->best, p->best.name[0] != '\0', "", p->style[kind].digits, best,
                         sizeof best);
    keep_line(p, line, best[0] != '\0' ? best + strspn(best, " ") : NULL);
    p->best.name[0] = '\0';
    p->val_count = 0;
}

/* "epoch 3/30  batch 120/469" */
static void put_batch(const fgi_progress *p, const fg_progress *at, char *out, size_t size)
{
    char epoch[80];
    put_epoch(p, at, epoch, sizeof epoch);
    (void)snprintf(out, size, "%s  batch %s%s%s", epoch, fgi_count_words((double)at->batch),
                   at->batches >= 0 ? "/" : "",
                   at->batches >= 0 ? fgi_count_words((double)at->batches) : "");
}

/* The position with the longest text: the last one, or after many epochs. */
static fg_progress longest_of(const fgi_progress *p, const fg_progress *at)
{
    fg_progress last = *at;
    last.epoch = p->total_epochs > 0 ? p->total_epochs - 1 : at->epoch + 999;
    last.batch = at->batches > at->batch ? at->batches : at->batch;
    return last;
}

/* A validation within an epoch has a separate line, written once it is known that the epoch
 * continues. */
static void show_val(fgi_progress *p, const fg_progress *at)
{
    char label[160], longest[160], time[32];
    const fg_progress last = longest_of(p, at);
    if (p->val_count == 0)
        return;
    put_batch(p, at, label, sizeof label);
    put_batch(p, &last, longest, sizeof longest);
    fgi_progress_time(seconds_since(p, p->start_ns), time, sizeof time);
    keep_epoch(
        p, OF_VALIDATIONS,
        (fgi_epoch_view){.label = label, .longest = longest, .rate = "", .time = time, .left = ""});
}

static void do_batch_end(fgi_progress *p, const fg_progress *at)
{
    if (p->is_fit) {
        fg_progress before = *at;
        before.batch--;
        show_val(p, &before);
        p->position = p->of.cursor->position;
        p->kind = FGI_TRAIN;
    }
    p->at = *at;
    p->has_at = true;
    show_progress(p);
}

/* The metrics of the steps, without the values that callbacks have added after them. */
static size_t count_step_metrics(const fg_progress *at)
{
    size_t i = 0;
    while (i < at->metric_count && strncmp(at->metrics[i].name, "train_", 6) == 0)
        i++;
    return i;
}

static void do_log(fgi_progress *p, const fg_progress *at)
{
    fgi_progress_metrics(at->metrics, count_step_metrics(at), "train_", 4, p->train,
                         sizeof p->train);
    p->samples_per_s = at->samples_per_s;
}

/* A validation that has not been shown yet was after the checkpoint. */
static void do_rolled_back(fgi_progress *p, const fg_progress *at)
{
    p->train[0] = p->best.name[0] = '\0';
    p->val_count = 0;
    p->has_at = false;
}

static void do_val_start(fgi_progress *p, const fg_progress *at)
{
    p->val_begin_ns = p->now_ns();
    p->kind = FGI_VAL;
    p->has_at = false;
}

void fgi_progress_validating(fgi_progress *p, const fg_progress *at)
{
    if (p == NULL)
        return;
    lock(p);
    p->at = *at;
    p->has_at = true;
    if (p->kind != FGI_VAL) /* before the first step */
        p->val_begin_ns = p->now_ns();
    p->kind = FGI_VAL;
    show_progress(p);
    unlock(p);
}

void fgi_progress_say(fgi_progress *p, const char *line)
{
    fgi_log(FG_LOG_INFO, "%s", line);
    if (p == NULL)
        return;
    lock(p);
    keep_line(p, line, NULL);
    unlock(p);
}

static void do_val_end(fgi_progress *p, const fg_progress *at)
{
    p->val_count = at->metric_count < FG_MAX_METRICS ? at->metric_count : FG_MAX_METRICS;
    for (size_t i = 0; i < p->val_count; i++)
        p->val[i] = at->metrics[i];
    note_best(p, at, "val_");
    p->val_ns += p->now_ns() - p->val_begin_ns;
    p->has_at = false;
}

/* The line of an epoch: training and validation together. */
static void do_epoch_end(fgi_progress *p, const fg_progress *at)
{
    char label[80], longest[80], time[32], left[32] = "";
    const fg_progress last = longest_of(p, at);
    put_epoch(p, at, label, sizeof label);
    put_epoch(p, &last, longest, sizeof longest);
    note_best(p, at, "train_");
    fgi_progress_time(seconds_since(p, p->start_ns), time, sizeof time);
    const char *rate = fgi_count_words(round(rate_of(p)));
    p->train_ns += training_ns(p);
    p->batches += at->batch - p->start_batch;
    p->other_ns += p->val_ns;
    p->epochs++;
    p->start_batch = at->batch; /* counted */
    const double seconds = run_left(p, at->epoch, at->batch, at->batch);
    if (seconds >= 0)
        fgi_progress_time(seconds, left, sizeof left);
    keep_epoch(p, OF_EPOCHS,
               (fgi_epoch_view){.label = label,
                                .longest = longest,
                                .train = at->metrics,
                                .train_count = at->metric_count,
                                .rate = rate,
                                .time = time,
                                .left = left});
    p->has_at = false;
}

/* What limited the rate of a run that was long enough to know. */
static void show_input(fgi_progress *p)
{
    char line[256];
    const fg_result *result = fg_trainer_result(p->of.trainer);
    (void)fg_input_report_format(&result->input, line, sizeof line);
    if (line[0] != '\0' && result->idle.busy_s + result->idle.idle_s >= reported_s)
        keep_line(p, line, NULL);
}

static fg_status on_eval_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_progress *p = self;
    fgi_progress_stop(p);
    lock(p);
    clear(p);
    (void)fflush(p->out);
    unlock(p);
    return FG_OK;
}

static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_progress *p = self;
    fgi_progress_stop(p);
    lock(p);
    show_val(p, at); /* of a run that ended within an epoch */
    show_input(p);
    unlock(p);
    return on_eval_end(self, at, err);
}

static void do_eval_start(fgi_progress *p, const fg_progress *at)
{
    begin(p, at, false);
    p->val_begin_ns = p->start_ns;
    p->kind = FGI_VAL;
    p->is_active = true;
    start_ticker(p);
}

/* The function of a callback: that of the display, with its lock. */
#define EVENT(name)                                                                                \
    static fg_status on_##name(void *self, const fg_progress *at, fg_error *err)                   \
    {                                                                                              \
        lock(self);                                                                                \
        do_##name(self, at);                                                                       \
        unlock(self);                                                                              \
        return FG_OK;                                                                              \
    }
EVENT(fit_start)
EVENT(epoch_start)
EVENT(batch_end)
EVENT(log)
EVENT(rolled_back)
EVENT(val_start)
EVENT(val_end)
EVENT(epoch_end)
EVENT(eval_start)

const fg_callback_ops fgi_progress_ops = {.name = "progress",
                                          .fit_start = on_fit_start,
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
