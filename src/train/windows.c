/* windows.c - metrics: sums on the device, read now and then without waiting.
 *
 * A window is the steps from one read to the next. Its sums are copied while later steps run; the
 * step after begins new ones. Windows arrive in order and add up, in double, to an epoch's means.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "train/callbacks.h"
#include "train/feed.h"
#include "train/health.h"
#include "train/ledger.h"
#include "train/trainer.h"

void fgi_windows_clear(fgi_windows *windows)
{
    memset(windows->sum, 0, sizeof windows->sum);
    memset(windows->weight, 0, sizeof windows->weight);
}

static size_t put_means(const fgi_stage *stage, const double *sum, const double *weight,
                        fg_metric *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < stage->metric_count; i++) {
        if (!fgi_metric_value(stage, i, sum, weight, &out[shown].value))
            continue;
        (void)snprintf(out[shown].name, sizeof out[shown].name, "%s%s",
                       fgi_stage_prefix(stage->kind), stage->metric[i]);
        shown++;
    }
    return shown;
}

size_t fgi_windows_means(const fgi_windows *windows, const fgi_stage *stage, const float *open_sums,
                         fg_metric *out)
{
    double sum[FG_MAX_METRICS], weight[FG_MAX_METRICS];
    for (size_t i = 0; i < stage->metric_count; i++) {
        sum[i] = windows->sum[i] + (open_sums != NULL ? (double)open_sums[2 * i] : 0);
        weight[i] = windows->weight[i] + (open_sums != NULL ? (double)open_sums[2 * i + 1] : 0);
    }
    return put_means(stage, sum, weight, out);
}

/* One window has arrived. */
static fg_status deliver(fg_trainer *trainer, fgi_windows *windows, fgi_stage *stage,
                         const fgi_window *window, fg_error *err)
{
    double sum[FG_MAX_METRICS] = {0}, weight[FG_MAX_METRICS] = {0};
    fg_metric metrics[FG_MAX_METRICS + FGI_HEALTH_METRICS];
    for (size_t i = 0; i < stage->metric_count; i++) {
        sum[i] = (double)window->sums[2 * i];
        weight[i] = (double)window->sums[2 * i + 1];
        windows->sum[i] += sum[i];
        windows->weight[i] += weight[i];
    }
    if (stage->kind != FGI_TRAIN)
        return FG_OK;
    FGI_TRY(fgi_health_take(trainer, window->sums + 2 * stage->metric_count, window->step, err));
    fg_progress at = fgi_progress_at(trainer);
    at.step = window->step;
    at.epoch = window->epoch;
    at.batch = window->batch;
    at.lr = window->lr;
    at.samples_per_s = window->samples_per_s;
    at.metrics = metrics;
    at.metric_count = put_means(stage, sum, weight, metrics);
    at.metric_count += fgi_health_metrics(trainer, metrics + at.metric_count);
    return fgi_notify(trainer, FGI_ON_LOG, &at, err);
}

/* Waits for an event, with the time that takes in the ledger. */
static fg_status await(fg_trainer *trainer, fgi_event *event, fg_error *err)
{
    if (fgi_event_is_ready(event))
        return fgi_event_wait(event, err);
    const int64_t begin = fgi_now_ns();
    const fgi_watch before = fgi_watch_set(
        &trainer->watchdog, (fgi_watch){.doing = FGI_DOING_READ, .step = trainer->cursor.step});
    const fg_status status = fgi_event_wait(event, err);
    (void)fgi_watch_set(&trainer->watchdog, before);
    const int64_t end = fgi_now_ns();
    fgi_feed_waited(trainer->feed, end - begin);
    fgi_ledger_add(trainer->ledger, FGI_READ, begin, end);
    return status;
}

/* Metrics could not be read: when that is because a step has failed, its error says more. */
static fg_status read_failed(fg_trainer *trainer, const fgi_stage *stage, int64_t step,
                             fg_status status, fg_error *err)
{
    fg_error cause = {0};
    const fg_status drained = fgi_feed_drain(trainer, &cause);
    if (drained == FG_OK)
        return fgi_context(err, status, "reading the %smetrics of step %lld",
                           fgi_stage_prefix(stage->kind), (long long)step);
    if (err != NULL)
        *err = cause;
    return drained;
}

fg_status fgi_windows_collect(fg_trainer *trainer, fgi_windows *windows, fgi_stage *stage, int keep,
                              fg_error *err)
{
    while (windows->count > 0) {
        fgi_window *window = &windows->window[windows->first];
        if (windows->count <= keep && !fgi_event_is_ready(window->arrived))
            return FG_OK;
        const fg_status status = await(trainer, window->arrived, err);
        fgi_event_destroy(window->arrived);
        window->arrived = NULL;
        windows->first = (windows->first + 1) % FGI_WINDOWS;
        windows->count--;
        if (status != FG_OK)
            return read_failed(trainer, stage, window->step, status, err);
        FGI_TRY(deliver(trainer, windows, stage, window, err));
    }
    return FG_OK;
}

void fgi_windows_abandon(fgi_windows *windows)
{
    for (int i = 0; i < FGI_WINDOWS; i++)
        if (windows->window[i].arrived != NULL) {
            const fg_status late = fgi_event_wait(windows->window[i].arrived, NULL);
            (void)late; /* nobody wants it any more */
            fgi_event_destroy(windows->window[i].arrived);
        }
    *windows = (fgi_windows){0};
}

fg_status fgi_windows_peek(fg_trainer *trainer, const fgi_windows *windows, fgi_stage *stage,
                           float *out_sums, fg_error *err)
{
    fgi_event *arrived = NULL;
    if (!windows->is_open)
        return FG_OK;
    FGI_TRY(fgi_array_download(stage->sums, out_sums, fgi_stage_sums(stage) * sizeof(float),
                               &arrived, err));
    const fg_status status = await(trainer, arrived, err);
    fgi_event_destroy(arrived);
    if (status != FG_OK)
        return read_failed(trainer, stage, trainer->cursor.step, status, err);
    return fgi_health_take(trainer, out_sums + 2 * stage->metric_count, trainer->cursor.step, err);
}

fg_status fgi_windows_close(fg_trainer *trainer, fgi_windows *windows, fgi_stage *stage,
                            fg_error *err)
{
    if (!windows->is_open)
        return FG_OK;
    FGI_TRY(fgi_windows_collect(trainer, windows, stage, FGI_WINDOWS - 1, err));
    fgi_window *window = &windows->window[(windows->first + windows->count) % FGI_WINDOWS];
    const int64_t now = fgi_now_ns();
    const fg_progress at = fgi_progress_at(trainer);
    window->step = at.step;
    window->epoch = at.epoch;
    window->batch = at.batch;
    window->lr = at.lr;
    window->samples_per_s =
        stage->kind == FGI_TRAIN && now > trainer->window_start_ns
            ? (double)trainer->window_samples / ((double)(now - trainer->window_start_ns) * 1e-9)
            : 0;
    if (stage->kind == FGI_TRAIN) {
        trainer->window_start_ns = now;
        trainer->window_samples = 0;
    }
    FGI_TRY(fgi_array_download(stage->sums, window->sums, fgi_stage_sums(stage) * sizeof(float),
                               &window->arrived, err));
    windows->count++;
    windows->is_open = false;
    stage->fresh.value.u32 = 1;
    return FG_OK;
}
