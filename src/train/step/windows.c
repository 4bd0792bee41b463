/* windows.c - metrics: sums on the device, read from time to time without waiting.
 *
 * A window is the steps between two reads. Its sums are copied while later steps run; the next step
 * starts new ones. Windows arrive in order and are added up in double precision for the epoch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include <fulgurite/callback.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "train/watch/watch.h"
#include "train/step/feed.h"

void fgi_windows_fini(fgi_windows *windows)
{
    fgi_windows_abandon(windows);
    for (int i = 0; i < FGI_WINDOWS; i++)
        fgi_free(windows->window[i].sums);
    fgi_free(windows->class_sum);
}

void fgi_windows_add(fgi_windows *windows, int64_t samples)
{
    windows->samples += samples;
    windows->is_open = true;
}

void fgi_windows_start_clock(fgi_windows *windows)
{
    windows->start_ns = fgi_now_ns();
    windows->samples = 0;
}

void fgi_windows_clear(fgi_windows *windows)
{
    memset(windows->epoch_sums, 0, sizeof windows->epoch_sums);
}

size_t fgi_windows_means(const fgi_windows *windows, const float *open_sums, fg_metric *out)
{
    double sums[2 * FG_MAX_METRICS];
    const fgi_stage *stage = windows->of.stage;
    for (size_t i = 0; i < 2 * stage->metrics.count; i++)
        sums[i] = windows->epoch_sums[i] + (open_sums != NULL ? (double)open_sums[i] : 0);
    return fgi_metrics_values(&stage->metrics, fgi_stage_prefix(stage->kind), sums,
                              windows->class_sum, windows->ranked, out);
}

/* Adds the counts of classes, which only evaluations have. */
static fg_status add_classes(fgi_windows *windows, const fgi_metrics *list,
                             const fgi_sums_window *w, fg_error *err)
{
    const size_t count = FGI_CLASS_COUNTS * (size_t)list->classes;
    const float *sums = w->sums + 2 * list->count;
    if (windows->class_sum == NULL && count > 0)
        windows->class_sum = fgi_calloc(count, sizeof *windows->class_sum);
    if (windows->class_sum == NULL && count > 0)
        return fgi_no_memory(err);
    for (size_t i = 0; i < count; i++)
        windows->class_sum[i] += (double)sums[i];
    return FG_OK;
}

/* One window has arrived. */
static fg_status deliver(fgi_windows *windows, const fgi_sums_window *w, fg_error *err)
{
    const fgi_metrics *list = &windows->of.stage->metrics;
    if (w->remains_open)
        return windows->of.take(windows->of.self, FGI_WINDOW_FIRST, w->sums, &w->at, err);
    for (size_t i = 0; i < 2 * list->count; i++)
        windows->epoch_sums[i] += (double)w->sums[i];
    if (windows->of.take == NULL)
        return add_classes(windows, list, w, err);
    return windows->of.take(windows->of.self, FGI_WINDOW_CLOSED, w->sums, &w->at, err);
}

/* Waits for the sums of a stage; the ledger records how long. */
static fg_status await(const fgi_windows *windows, fgi_event *event, fg_error *err)
{
    const fgi_stage *stage = windows->of.stage;
    const fgi_stage_kind kind = stage->kind;
    static const char *const names[] = {"metrics", "validation metrics", "test metrics", ""};
    const char *name = names[kind];
    const int64_t bytes = (int64_t)(fgi_stage_sum_count(stage) * sizeof(float));
    if (fgi_event_is_ready(event)) {
        fgi_client_count_read(stage->client, name, bytes, 0);
        return fgi_event_wait(event, err);
    }
    fgi_span span = {FGI_READ, (int)kind, kind == FGI_TRAIN ? windows->of.cursor->step : -1,
                     "trainer", .name = "read metrics"};
    fgi_span_begin(windows->of.spans, &span);
    const fg_status status = fgi_event_wait(event, err);
    fgi_client_count_read(stage->client, name, bytes, fgi_span_end(&span));
    return status;
}

/* Metrics could not be read. If a step failed, its error is more specific. */
static fg_status read_failed(const fgi_windows *windows, int64_t step, fg_status status,
                             fg_error *err)
{
    fg_error cause = {0};
    const fg_status drained = fgi_feed_drain(windows->of.feed, &cause);
    if (drained == FG_OK)
        return fgi_context(err, status, "reading the %smetrics of step %lld",
                           fgi_stage_prefix(windows->of.stage->kind), (long long)step);
    if (err != NULL)
        *err = cause;
    return drained;
}

fg_status fgi_windows_collect(fgi_windows *windows, int keep, fg_error *err)
{
    while (windows->count > 0) {
        fgi_sums_window *w = &windows->window[windows->first];
        if (windows->count <= keep && !fgi_event_is_ready(w->arrived))
            return FG_OK;
        const fg_status status = await(windows, w->arrived, err);
        fgi_event_destroy(w->arrived);
        w->arrived = NULL;
        windows->first = (windows->first + 1) % FGI_WINDOWS;
        windows->count--;
        if (status != FG_OK)
            return read_failed(windows, w->at.step, status, err);
        FGI_TRY(deliver(windows, w, err));
    }
    return FG_OK;
}

void fgi_windows_abandon(fgi_windows *windows)
{
    for (int i = 0; i < FGI_WINDOWS; i++)
        if (windows->window[i].arrived != NULL) {
            const fg_status late = fgi_event_wait(windows->window[i].arrived, NULL);
            (void)late; /* the first failure is reported */
            fgi_event_destroy(windows->window[i].arrived);
            windows->window[i].arrived = NULL;
        }
    windows->first = windows->count = 0;
    windows->is_open = false;
    fgi_windows_clear(windows);
}

fg_status fgi_windows_peek(const fgi_windows *windows, float *out_sums, fg_error *err)
{
    fgi_event *arrived = NULL;
    if (!windows->is_open)
        return FG_OK;
    FGI_TRY(fgi_stage_read_sums(windows->of.stage, out_sums, &arrived, err));
    const fg_status status = await(windows, arrived, err);
    fgi_event_destroy(arrived);
    if (status != FG_OK)
        return read_failed(windows, windows->of.cursor->step, status, err);
    const fg_progress at = {.step = windows->of.cursor->step};
    return windows->of.take(windows->of.self, FGI_WINDOW_OPEN, out_sums, &at, err);
}

/* Starts reading the sums of the current window; there is room for it. */
static fg_status start_read(fgi_windows *windows, const fg_progress *at, fgi_sums_window **out,
                            fg_error *err)
{
    fgi_sums_window *w = &windows->window[(windows->first + windows->count) % FGI_WINDOWS];
    const size_t count = fgi_stage_sum_count(windows->of.stage);
    if (w->capacity < count) {
        fgi_free(w->sums);
        w->sums = fgi_calloc(count, sizeof *w->sums);
        w->capacity = w->sums != NULL ? count : 0;
        if (w->sums == NULL)
            return fgi_no_memory(err);
    }
    FGI_TRY(fgi_stage_read_sums(windows->of.stage, w->sums, &w->arrived, err));
    w->at = *at;
    w->remains_open = false;
    windows->count++;
    *out = w;
    return FG_OK;
}

fg_status fgi_windows_read_first(fgi_windows *windows, const fg_progress *at, fg_error *err)
{
    fgi_sums_window *w = NULL;
    if (!windows->is_open) /* it was closed: its log line has the loss of this step */
        return FG_OK;
    FGI_TRY(fgi_windows_collect(windows, FGI_WINDOWS - 1, err));
    FGI_TRY(start_read(windows, at, &w, err));
    w->remains_open = true;
    return FG_OK;
}

fg_status fgi_windows_close(fgi_windows *windows, const fg_progress *at, fg_error *err)
{
    fgi_sums_window *w = NULL;
    fgi_stage *stage = windows->of.stage;
    const bool is_training = stage->kind == FGI_TRAIN;
    if (!windows->is_open)
        return FG_OK;
    FGI_TRY(fgi_windows_collect(windows, FGI_WINDOWS - 1, err));
    const int64_t now = fgi_now_ns();
    FGI_TRY(start_read(windows, at, &w, err));
    w->at.samples = windows->samples;
    if (is_training)
        fgi_feed_close_window(windows->of.feed, w->at.step);
    if (is_training && now > windows->start_ns)
        w->at.samples_per_s = (double)windows->samples / ((double)(now - windows->start_ns) * 1e-9);
    windows->start_ns = now;
    windows->samples = 0;
    windows->is_open = false;
    fgi_stage_restart_sums(stage);
    return FG_OK;
}

/* ---- in a checkpoint ------------------------------------------------------------------------- */

void fgi_windows_restore(fgi_windows *windows, const fgi_saved_windows *saved)
{
    fgi_windows_clear(windows);
    windows->restored = *saved;
    memcpy(windows->epoch_sums, saved->epoch_sums, sizeof windows->epoch_sums);
}

static bool is_same(const fgi_saved_windows *saved, const fgi_metrics *metrics)
{
    if (saved->metric_count != metrics->count)
        return false;
    for (size_t i = 0; i < saved->metric_count; i++)
        if (strcmp(saved->metric[i], metrics->name[i]) != 0)
            return false;
    return true;
}

fg_status fgi_windows_continue(fgi_windows *windows, fg_error *err)
{
    fgi_saved_windows *restored = &windows->restored;
    fgi_stage *stage = windows->of.stage;
    const bool fits = is_same(restored, &stage->metrics), is_open = restored->is_open;
    if (restored->metric_count > 0 && !fits)
        fgi_windows_clear(windows); /* the task logs other metrics now */
    restored->metric_count = 0;
    restored->is_open = false;
    if (!fits || !is_open)
        return FG_OK;
    FGI_TRY(fgi_stage_set_sums(stage, restored->sums, err));
    windows->is_open = true;
    return FG_OK;
}
