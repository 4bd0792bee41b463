/* ledger.c - where the time of the device went: busy, or idle and waiting for what.
 *
 * A step is busy from its launch, or the end of the step before if that is later, to its end. What
 * lies between the end of the step before and its launch is idle, and is split by what the host was
 * doing in that interval.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/trainer.h"

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

void fgi_ledger_retired(fgi_ledger *ledger, int64_t number, int64_t launch_ns, int64_t done_ns)
{
    if (ledger->steps++ == 0) { /* its idle time is the start, told by time_to_first_step */
        ledger->first_done_ns = ledger->last_done_ns = done_ns;
        return;
    }
    const int64_t before = ledger->last_done_ns;
    const int64_t start = smaller(larger(launch_ns, before), done_ns);
    ledger->busy_ns += done_ns - start;
    ledger->idle_ns += start - before;
    const fgi_spans *spans = &ledger->of_flight[number % FGI_IN_FLIGHT];
    for (int i = 0; i < spans->count; i++) {
        const fgi_span *s = &spans->span[i];
        const int64_t overlap = smaller(s->end_ns, start) - larger(s->begin_ns, before);
        if (overlap > 0)
            ledger->activity_ns[s->activity] += overlap;
    }
    ledger->step_s[ledger->step_count++ % FGI_STEP_TIMES] =
        (float)((double)(done_ns - before) * 1e-9);
    ledger->last_done_ns = done_ns;
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

void fgi_ledger_result(const fgi_ledger *ledger, fg_result *out)
{
    const double second = 1e-9;
    step_times(ledger, out);
    out->time_to_first_step_s = ledger->steps > 0
                                    ? (double)(ledger->first_done_ns - ledger->start_ns) * second
                                    : (double)NAN;
    const double wall = (double)(ledger->last_done_ns - ledger->first_done_ns) * second;
    out->samples_per_s =
        ledger->steps > 1 && wall > 0
            ? (double)ledger->samples / (double)ledger->steps * (double)(ledger->steps - 1) / wall
            : (double)NAN;
    out->host_overhead_s =
        ledger->steps > 0 ? (double)ledger->work_ns * second / (double)ledger->steps : (double)NAN;
    int64_t named = 0;
    for (int i = 0; i < FGI_ACTIVITIES; i++)
        named += ledger->activity_ns[i];
    out->idle = (fg_idle){
        .busy_s = (double)ledger->busy_ns * second,
        .idle_s = (double)ledger->idle_ns * second,
        .input_s = (double)ledger->activity_ns[FGI_INPUT] * second,
        .upload_s = (double)ledger->activity_ns[FGI_UPLOAD] * second,
        .compile_s = (double)ledger->activity_ns[FGI_COMPILE] * second,
        .read_s = (double)ledger->activity_ns[FGI_READ] * second,
        .checkpoint_s = (double)ledger->activity_ns[FGI_CHECKPOINT] * second,
        .other_s = (double)(ledger->idle_ns - named) * second,
    };
}
