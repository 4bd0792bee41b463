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
#include "train/trainer.h"

void fgi_windows_clear(fgi_windows *windows)
{
    memset(windows->sum, 0, sizeof windows->sum);
    memset(windows->weight, 0, sizeof windows->weight);
}

static size_t put_means(const fgi_stage *stage, const double *sum, const double *weight,
                        fg_metric *out)
{
    for (size_t i = 0; i < stage->metric_count; i++) {
        (void)snprintf(out[i].name, sizeof out[i].name, "%s%s", fgi_stage_prefix(stage->kind),
                       stage->metric[i]);
        out[i].value = weight[i] > 0 ? sum[i] / weight[i] : (double)NAN;
    }
    return stage->metric_count;
}

size_t fgi_windows_means(const fgi_windows *windows, const fgi_stage *stage, fg_metric *out)
{
    return put_means(stage, windows->sum, windows->weight, out);
}

/* One window has arrived. */
static fg_status deliver(fg_trainer *trainer, fgi_windows *windows, fgi_stage *stage,
                         const fgi_window *window, fg_error *err)
{
    double sum[FG_MAX_METRICS] = {0}, weight[FG_MAX_METRICS] = {0};
    fg_metric metrics[FG_MAX_METRICS];
    for (size_t i = 0; i < stage->metric_count; i++) {
        sum[i] = (double)window->sums[2 * i];
        weight[i] = (double)window->sums[2 * i + 1];
        windows->sum[i] += sum[i];
        windows->weight[i] += weight[i];
    }
    if (stage->kind != FGI_TRAIN)
        return FG_OK;
    fg_progress at = fgi_progress_at(trainer);
    at.step = window->step;
    at.epoch = window->epoch;
    at.batch = window->batch;
    at.lr = window->lr;
    at.samples_per_s = window->samples_per_s;
    at.metrics = metrics;
    at.metric_count = put_means(stage, sum, weight, metrics);
    return fgi_notify(trainer, FGI_ON_LOG, &at, err);
}

fg_status fgi_windows_collect(fg_trainer *trainer, fgi_windows *windows, fgi_stage *stage,
                              bool wait, fg_error *err)
{
    while (windows->count > 0) {
        fgi_window *window = &windows->window[windows->first];
        if (!fgi_event_is_ready(window->arrived)) {
            if (!wait)
                return FG_OK;
            const int64_t begin = fgi_now_ns();
            const fg_status status = fgi_event_wait(window->arrived, NULL);
            (void)status; /* looked at below */
            const int64_t end = fgi_now_ns();
            trainer->feed.wait_ns += end - begin;
            fgi_ledger_add(&trainer->ledger, FGI_READ, begin, end);
        }
        const fg_status status = fgi_event_wait(window->arrived, err);
        fgi_event_destroy(window->arrived);
        window->arrived = NULL;
        windows->first = (windows->first + 1) % FGI_WINDOWS;
        windows->count--;
        if (status != FG_OK)
            return fgi_context(err, status, "reading the %smetrics of step %lld",
                               fgi_stage_prefix(stage->kind), (long long)window->step);
        FGI_TRY(deliver(trainer, windows, stage, window, err));
    }
    return FG_OK;
}

fg_status fgi_windows_close(fg_trainer *trainer, fgi_windows *windows, fgi_stage *stage,
                            fg_error *err)
{
    if (!windows->is_open)
        return FG_OK;
    if (windows->count == FGI_WINDOWS)
        FGI_TRY(fgi_windows_collect(trainer, windows, stage, true, err));
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
    FGI_TRY(fgi_array_download(stage->sums, window->sums, 2 * stage->metric_count * sizeof(float),
                               &window->arrived, err));
    windows->count++;
    windows->is_open = false;
    stage->fresh.value.u32 = 1;
    return FG_OK;
}
