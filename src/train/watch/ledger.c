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

#include "base/error.h"
#include "base/rng.h"
#include "base/thread.h"
#include "train/watch/watch.h"

void fgi_ledger_start(fgi_ledger *ledger, int64_t now_ns)
{
    *ledger = (fgi_ledger){.start_ns = now_ns, .is_off = ledger->is_off};
}

/* There is no room for another span: an earlier one of the same activity becomes longer instead. */
static void extend(fgi_host_work *spans, fgi_activity activity, int64_t begin_ns, int64_t end_ns)
{
    for (int i = spans->count - 1; i >= 0; i--)
        if (spans->span[i].activity == activity && spans->span[i].end_ns <= begin_ns) {
            spans->span[i].end_ns += end_ns - begin_ns;
            return;
        }
}

void fgi_ledger_add(fgi_ledger *ledger, fgi_activity activity, int64_t begin_ns, int64_t end_ns)
{
    fgi_host_work *spans = &ledger->pending;
    if (end_ns <= begin_ns || ledger->is_off)
        return;
    if (spans->count < FGI_SPANS)
        spans->span[spans->count++] = (fgi_host_span){activity, begin_ns, end_ns};
    else
        extend(spans, activity, begin_ns, end_ns);
}

static void on_ended(void *self, const fgi_span *span, int64_t end_ns)
{
    if (span->activity < FGI_ACTIVITIES)
        fgi_ledger_add(self, (fgi_activity)span->activity, span->begin_ns, end_ns);
}

fgi_span_listener fgi_ledger_listener(fgi_ledger *ledger)
{
    return (fgi_span_listener){.self = ledger, .ended = on_ended};
}

/* ---- windows of steps ------------------------------------------------------------------------ */

static double seconds(int64_t ns) { return (double)ns * 1e-9; }

static fg_idle idle_of(const fgi_totals *totals)
{
    const int64_t *part = totals->activity_ns;
    int64_t named = 0;
    for (int i = 0; i < FGI_ACTIVITIES; i++)
        named += part[i];
    return (fg_idle){
        .busy_s = seconds(totals->busy_ns),
        .idle_s = seconds(totals->idle_ns),
        .input_s = seconds(part[FGI_INPUT]),
        .upload_s = seconds(part[FGI_UPLOAD]),
        .compile_s = seconds(part[FGI_COMPILE]),
        .read_s = seconds(part[FGI_READ]),
        .checkpoint_s = seconds(part[FGI_CHECKPOINT]),
        .other_s = seconds(totals->idle_ns - named),
    };
}

static fgi_totals difference(const fgi_totals *to, const fgi_totals *from)
{
    fgi_totals d = {.busy_ns = to->busy_ns - from->busy_ns,
                    .idle_ns = to->idle_ns - from->idle_ns,
                    .samples = to->samples - from->samples};
    for (int i = 0; i < FGI_ACTIVITIES; i++)
        d.activity_ns[i] = to->activity_ns[i] - from->activity_ns[i];
    return d;
}

/* Appends a window to another one. */
static void append(fg_time_window *to, const fg_time_window *next)
{
    to->step = next->step;
    to->samples += next->samples;
    to->time.busy_s += next->time.busy_s;
    to->time.idle_s += next->time.idle_s;
    to->time.input_s += next->time.input_s;
    to->time.upload_s += next->time.upload_s;
    to->time.compile_s += next->time.compile_s;
    to->time.read_s += next->time.read_s;
    to->time.checkpoint_s += next->time.checkpoint_s;
    to->time.other_s += next->time.other_s;
}

static void merge_pairs(fgi_ledger *ledger)
{
    fg_time_window *all = ledger->window;
    for (size_t i = 0; i < FG_MAX_TIME_WINDOWS / 2; i++) {
        all[i] = all[2 * i];
        append(&all[i], &all[2 * i + 1]);
    }
    ledger->window_count = FG_MAX_TIME_WINDOWS / 2;
    ledger->merged *= 2;
    ledger->in_last = ledger->merged;
}

/* The window that ends now, with this step. */
static void add_window(fgi_ledger *ledger, int64_t step)
{
    const fgi_totals d = difference(&ledger->total, &ledger->window_start);
    const fg_time_window next = {.step = step, .samples = d.samples, .time = idle_of(&d)};
    ledger->window_start = ledger->total;
    if (d.busy_ns + d.idle_ns == 0) /* it only has the first launch */
        return;
    fg_time_window *last =
        ledger->window_count > 0 ? &ledger->window[ledger->window_count - 1] : NULL;
    if (last != NULL && last->step == step) { /* a validation at the end */
        append(last, &next);
        return;
    }
    if (ledger->merged == 0)
        ledger->merged = ledger->in_last = 1;
    if (ledger->window_count == FG_MAX_TIME_WINDOWS && ledger->in_last == ledger->merged)
        merge_pairs(ledger);
    if (last != NULL && ledger->in_last < ledger->merged) {
        append(last, &next);
        ledger->in_last++;
        return;
    }
    ledger->window[ledger->window_count++] = next;
    ledger->in_last = 1;
}

/* ---- steps ----------------------------------------------------------------------------------- */

void fgi_ledger_launched(fgi_ledger *ledger, int64_t number)
{
    fgi_host_work *spans = &ledger->of_flight[number % FGI_IN_FLIGHT];
    if (ledger->is_off)
        return;
    spans->count = ledger->pending.count;
    memcpy(spans->span, ledger->pending.span, (size_t)spans->count * sizeof spans->span[0]);
    ledger->pending.count = 0;
    ledger->closing[number % FGI_IN_FLIGHT] = 0;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Attributes the idle time from begin_ns to end_ns. A span is added when it ends, so nested spans
 * precede the outer span, which gets the remaining time. */
static void split_idle(fgi_ledger *ledger, const fgi_host_work *spans, int64_t begin_ns,
                       int64_t end_ns)
{
    int64_t own[FGI_SPANS];
    for (int i = 0; i < spans->count; i++) {
        const fgi_host_span *outer = &spans->span[i];
        own[i] = smaller(outer->end_ns, end_ns) - larger(outer->begin_ns, begin_ns);
        for (int k = 0; k < i; k++)
            if (spans->span[k].begin_ns >= outer->begin_ns && own[k] > 0)
                own[i] -= own[k];
        if (own[i] > 0)
            ledger->total.activity_ns[outer->activity] += own[i];
    }
}

/* Keeps a uniform sample of the steps ("Algorithm R", Vitter 1985), the same in each run. */
static void note_interval(fgi_ledger *ledger, int64_t interval_ns, int64_t samples)
{
    uint64_t place = (uint64_t)ledger->step_count++;
    if (place >= FGI_STEP_TIMES)
        place = fgi_rng_u64((fgi_key){0}, place) % (uint64_t)ledger->step_count;
    if (place < FGI_STEP_TIMES)
        ledger->step_s[place] = (float)((double)interval_ns * 1e-9);
    ledger->longest_ns = larger(ledger->longest_ns, interval_ns);
    ledger->timed_ns += interval_ns;
    ledger->timed_samples += samples;
}

/* The steps of a launch. Includes the batches of the step before its update. */
static void end_steps(fgi_ledger *ledger, int64_t steps, int64_t interval_ns, int64_t samples)
{
    const int64_t ns = ledger->part_ns + interval_ns, all = ledger->part_samples + samples;
    for (int64_t i = 0; i < steps && !ledger->part_is_first; i++)
        note_interval(ledger, ns / steps, (i + 1) * all / steps - i * all / steps);
    ledger->part_is_first = false;
    ledger->part_ns = ledger->part_samples = 0;
}

static void account(fgi_ledger *ledger, int64_t number, const fgi_flight *flight)
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
    ledger->total.busy_ns += ledger->last_done_ns - start;
    if (flight->is_step || flight->is_part) {
        ledger->total.samples += flight->samples;
        ledger->step_busy_ns += ledger->last_done_ns - start;
        ledger->step_samples += flight->samples;
    }
    ledger->total.idle_ns += start - before;
    split_idle(ledger, &ledger->of_flight[number % FGI_IN_FLIGHT], before, launched);
    ledger->total.activity_ns[FGI_UPLOAD] += start - launched;
    if (flight->is_part)
        ledger->part_ns += ledger->last_done_ns - before;
    if (flight->is_step)
        end_steps(ledger, flight->steps, ledger->last_done_ns - before, flight->samples);
}

void fgi_ledger_retired(fgi_ledger *ledger, int64_t number, const fgi_flight *flight)
{
    int64_t *closing = &ledger->closing[number % FGI_IN_FLIGHT];
    if (ledger->is_off)
        return;
    account(ledger, number, flight);
    ledger->retired = number + 1;
    if (*closing > 0)
        add_window(ledger, *closing);
    *closing = 0;
}

void fgi_ledger_close_window(fgi_ledger *ledger, int64_t number, int64_t step)
{
    if (ledger->is_off)
        return;
    if (number < ledger->retired)
        add_window(ledger, step);
    else
        ledger->closing[number % FGI_IN_FLIGHT] = step;
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The smallest of `count` values that `percent` % of them do not exceed (nearest rank). As a float,
 * it may have been rounded to more than the longest interval. */
static double percentile(const float *sorted, int64_t count, int percent, double most)
{
    return fmin((double)sorted[(percent * count + 99) / 100 - 1], most);
}

static fg_step_times step_times(const fgi_ledger *ledger)
{
    float sorted[FGI_STEP_TIMES];
    const double unknown = (double)NAN, most = seconds(ledger->longest_ns);
    const int64_t count = smaller(ledger->step_count, FGI_STEP_TIMES);
    if (count == 0)
        return (fg_step_times){0,       unknown, unknown, unknown, unknown,
                               unknown, unknown, unknown, {0}};
    memcpy(sorted, ledger->step_s, (size_t)count * sizeof sorted[0]);
    qsort(sorted, (size_t)count, sizeof sorted[0], compare);
    return (fg_step_times){.count = ledger->step_count,
                           .mean_s = seconds(ledger->timed_ns) / (double)ledger->step_count,
                           .p5_s = percentile(sorted, count, 5, most),
                           .p50_s = percentile(sorted, count, 50, most),
                           .p90_s = percentile(sorted, count, 90, most),
                           .p95_s = percentile(sorted, count, 95, most),
                           .p99_s = percentile(sorted, count, 99, most),
                           .max_s = most};
}

enum { WORK_EVERY = 16 };

int64_t fgi_work_begin(fgi_ledger *ledger)
{
    if (ledger->is_off || ledger->work_steps++ % WORK_EVERY != 1) /* the first is not typical */
        return -1;
    fgi_plugin_watch();
    return fgi_thread_cpu_ns();
}

void fgi_work_end(fgi_ledger *ledger, int64_t begin, int64_t steps)
{
    if (begin < 0)
        return;
    const int64_t plugin = fgi_plugin_unwatch();
    ledger->work_measured += steps;
    ledger->plugin_ns += plugin;
    ledger->work_ns += fgi_thread_cpu_ns() - begin - plugin;
}

void fgi_ledger_result(const fgi_ledger *ledger, fg_result *out)
{
    const double unknown = (double)NAN;
    out->step_times = step_times(ledger);
    out->step_median_s = out->step_times.p50_s;
    out->step_p95_s = out->step_times.p95_s;
    out->windows = ledger->window_count > 0 ? ledger->window : NULL;
    out->window_count = ledger->window_count;
    out->time_to_first_step_s =
        ledger->steps > 0 ? seconds(ledger->first_done_ns - ledger->start_ns) : unknown;
    out->samples_per_s =
        ledger->timed_ns > 0 ? (double)ledger->timed_samples / seconds(ledger->timed_ns) : unknown;
    const double measured = (double)ledger->work_measured;
    out->host_overhead_s = measured > 0 ? seconds(ledger->work_ns) / measured : unknown;
    out->plugin_s = measured > 0 ? seconds(ledger->plugin_ns) / measured : unknown;
    out->idle = idle_of(&ledger->total);
    fgi_input_report_judge(&out->input, &out->idle,
                           (double)ledger->step_samples / seconds(ledger->step_busy_ns));
}
