/* ledger.c - what the device spent its time on: busy, or idle and waiting for what.
 *
 * The device is busy from when a step can start (it is launched, its batch has arrived, the
 * previous step has ended) to its end. The time between the end of the previous step and that start
 * is idle, and is attributed to what the host did meanwhile. Host activities are spans that may be
 * nested (a save reads arrays): each moment belongs to the innermost, so that the parts sum to the
 * whole.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "train/feed.h"
#include "train/input_report.h"
#include "train/ledger.h"
#include "train/ledger_parts.h"
#include "train/trainer.h"

fg_status fgi_ledger_create(fgi_ledger **out, fg_error *err)
{
    *out = fgi_calloc(1, sizeof **out);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

void fgi_ledger_destroy(fgi_ledger *ledger) { fgi_free(ledger); }

void fgi_ledger_start(fgi_ledger *ledger, int64_t now_ns)
{
    *ledger = (fgi_ledger){.start_ns = now_ns};
}

void fgi_ledger_add(fgi_ledger *ledger, fgi_activity activity, int64_t begin_ns, int64_t end_ns)
{
    fgi_spans *spans = &ledger->pending;
    if (spans->count < FGI_SPANS && end_ns > begin_ns)
        spans->span[spans->count++] = (fgi_span){activity, begin_ns, end_ns};
}

void fgi_ledger_launched(fgi_ledger *ledger, int64_t number)
{
    ledger->of_flight[number % FGI_IN_FLIGHT] = ledger->pending;
    ledger->pending.count = 0;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Attributes the idle time from begin_ns to end_ns. A span is added when it ends, so nested spans
 * precede the outer span, which gets the remaining time. */
static void split_idle(fgi_ledger *ledger, const fgi_spans *spans, int64_t begin_ns, int64_t end_ns)
{
    int64_t own[FGI_SPANS];
    for (int i = 0; i < spans->count; i++) {
        const fgi_span *outer = &spans->span[i];
        own[i] = smaller(outer->end_ns, end_ns) - larger(outer->begin_ns, begin_ns);
        for (int k = 0; k < i; k++)
            if (spans->span[k].begin_ns >= outer->begin_ns && own[k] > 0)
                own[i] -= own[k];
        if (own[i] > 0)
            ledger->activity_ns[outer->activity] += own[i];
    }
}

static void note_interval(fgi_ledger *ledger, int64_t interval_ns, int64_t samples)
{
    ledger->step_s[ledger->step_count++ % FGI_STEP_TIMES] = (float)((double)interval_ns * 1e-9);
    ledger->timed_ns += interval_ns;
    ledger->timed_samples += samples;
}

/* Includes the batches of the step before its update. */
static void end_step(fgi_ledger *ledger, int64_t interval_ns, int64_t samples)
{
    if (!ledger->part_is_first)
        note_interval(ledger, ledger->part_ns + interval_ns, ledger->part_samples + samples);
    ledger->part_is_first = false;
    ledger->part_ns = ledger->part_samples = 0;
}

void fgi_ledger_retired(fgi_ledger *ledger, int64_t number, const fgi_flight *flight)
{
    const int64_t before = ledger->last_done_ns, done = flight->done_ns;
    const bool is_first = ledger->launches++ == 0;
    if (flight->is_part)
        ledger->part_samples += flight->samples;
    ledger->part_is_first |= is_first && flight->is_part;
    ledger->last_done_ns = larger(before, done);
    if (flight->is_step && ledger->steps++ == 0)
        ledger->first_done_ns = done;
    if (is_first) /* the time before it is reported as time_to_first_step */
        return;
    const int64_t launched = smaller(larger(flight->launch_ns, before), larger(done, before));
    const int64_t start = smaller(larger(flight->inputs_ns, launched), larger(done, before));
    ledger->busy_ns += ledger->last_done_ns - start;
    if (flight->is_step || flight->is_part) {
        ledger->step_busy_ns += ledger->last_done_ns - start;
        ledger->step_samples += flight->samples;
    }
    ledger->idle_ns += start - before;
    split_idle(ledger, &ledger->of_flight[number % FGI_IN_FLIGHT], before, launched);
    ledger->activity_ns[FGI_UPLOAD] += start - launched;
    if (flight->is_part)
        ledger->part_ns += ledger->last_done_ns - before;
    if (flight->is_step)
        end_step(ledger, ledger->last_done_ns - before, flight->samples);
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void step_times(const fgi_ledger *ledger, fg_result *out)
{
    float sorted[FGI_STEP_TIMES];
    const int64_t count = smaller(ledger->step_count, FGI_STEP_TIMES);
    out->step_median_s = out->step_p95_s = (double)NAN;
    if (count == 0)
        return;
    memcpy(sorted, ledger->step_s, (size_t)count * sizeof sorted[0]);
    qsort(sorted, (size_t)count, sizeof sorted[0], compare);
    out->step_median_s = (double)sorted[count / 2];
    out->step_p95_s = (double)sorted[(count - 1) * 95 / 100];
}

static double seconds(int64_t ns) { return (double)ns * 1e-9; }

enum { WORK_EVERY = 16 };

int64_t fgi_work_begin(fg_trainer *trainer)
{
    if (trainer->ledger->work_steps++ % WORK_EVERY != 1) /* the first step is not typical */
        return -1;
    fgi_plugin_watch();
    return fgi_thread_cpu_ns();
}

void fgi_work_end(fg_trainer *trainer, int64_t begin)
{
    if (begin < 0)
        return;
    const int64_t plugin = fgi_plugin_unwatch();
    trainer->ledger->work_measured++;
    trainer->ledger->plugin_ns += plugin;
    trainer->ledger->work_ns += fgi_thread_cpu_ns() - begin - plugin;
}

void fgi_ledger_result(const fgi_ledger *ledger, fg_result *out)
{
    (void)fgi_plugin_unwatch(); /* a step that failed did not reset it */
    const double unknown = (double)NAN;
    step_times(ledger, out);
    out->time_to_first_step_s =
        ledger->steps > 0 ? seconds(ledger->first_done_ns - ledger->start_ns) : unknown;
    out->samples_per_s =
        ledger->timed_ns > 0 ? (double)ledger->timed_samples / seconds(ledger->timed_ns) : unknown;
    const double measured = (double)ledger->work_measured;
    out->host_overhead_s = measured > 0 ? seconds(ledger->work_ns) / measured : unknown;
    out->plugin_s = measured > 0 ? seconds(ledger->plugin_ns) / measured : unknown;
    const int64_t *part = ledger->activity_ns;
    int64_t named = 0;
    for (int i = 0; i < FGI_ACTIVITIES; i++)
        named += part[i];
    out->idle = (fg_idle){
        .busy_s = seconds(ledger->busy_ns),
        .idle_s = seconds(ledger->idle_ns),
        .input_s = seconds(part[FGI_INPUT]),
        .upload_s = seconds(part[FGI_UPLOAD]),
        .compile_s = seconds(part[FGI_COMPILE]),
        .read_s = seconds(part[FGI_READ]),
        .checkpoint_s = seconds(part[FGI_CHECKPOINT]),
        .other_s = seconds(ledger->idle_ns - named),
    };
    fgi_input_report_judge(&out->input, &out->idle,
                           (double)ledger->step_samples / seconds(ledger->step_busy_ns));
}
