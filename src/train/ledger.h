/* ledger.h - what the devices spent their time on.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_LEDGER_H
#define FGI_TRAIN_LEDGER_H

#include <fulgurite/train.h>

#include "train/activity.h"
#include "train/activity.h"

/* ---- what it holds, for ledger.c and its tests ----------------------------------------------- */

enum { FGI_STEP_TIMES = 4096 }; /* finished steps whose times are kept for the percentiles */

enum { FGI_SPANS = 32 };

typedef struct fgi_host_span {
    fgi_activity activity;
    int64_t begin_ns, end_ns;
} fgi_host_span;

/* What the host did before a launch. */
typedef struct fgi_host_work {
    int count;
    fgi_host_span span[FGI_SPANS];
} fgi_host_work;

/* What the device spent its time on since the call started. */
typedef struct fgi_totals {
    int64_t busy_ns, idle_ns, activity_ns[FGI_ACTIVITIES];
    int64_t samples; /* of training steps, without the first launch */
} fgi_totals;

typedef struct fgi_ledger {
    int64_t start_ns, first_done_ns, last_done_ns;
    int64_t launches, steps; /* finished; steps are those that are measured */
    fgi_host_work pending, of_flight[FGI_IN_FLIGHT];
    int64_t step_busy_ns, step_samples; /* of busy_ns: without validation in a fit */
    fgi_totals total;
    int64_t timed_ns, timed_samples;   /* of steps that followed another launch */
    int64_t part_ns, part_samples;     /* of the step whose batches are accumulated ... */
    bool part_is_first;                /* ... and is the first launch */
    int64_t work_steps, work_measured; /* steps so far, and those measured */
    int64_t work_ns, plugin_ns;        /* of the latter: host overhead, calls of the plugin */
    float step_s[FGI_STEP_TIMES];      /* of all steps, or a random sample of them */
    int64_t step_count, longest_ns;
    int64_t closing[FGI_IN_FLIGHT]; /* step of the window that this flight ends, 0: none */
    int64_t retired;                /* number of the last flight that has finished, plus 1 */
    fgi_totals window_start;
    fg_time_window window[FG_MAX_TIME_WINDOWS];
    size_t window_count;
    bool is_off;         /* nothing is recorded; kept when a call starts */
    int merged, in_last; /* closed windows in each of them, and in the last one */
} fgi_ledger;

/* ---- use ------------------------------------------------------------------------------------- */

void fgi_ledger_start(fgi_ledger *ledger, int64_t now_ns);
/* Records the spans that the devices may have waited for. */
fgi_span_listener fgi_ledger_listener(fgi_ledger *ledger);
/* Whether nothing is recorded; also sets it. */
bool fgi_ledger_set_off(fgi_ledger *ledger, bool is_off);
void fgi_ledger_add(fgi_ledger *ledger, fgi_activity activity, int64_t begin_ns, int64_t end_ns);
/* Measure the processor time of a step on the Trainer's thread; only every 16th step, because
 * reading the clocks costs system calls. begin returns a time, or -1 for a step that is not
 * measured. */
int64_t fgi_work_begin(fgi_ledger *ledger);
void fgi_work_end(fgi_ledger *ledger, int64_t begin);
/* A step was launched: the host activities so far preceded it. */
void fgi_ledger_launched(fgi_ledger *ledger, int64_t number);
/* Flight `number` has finished. */
void fgi_ledger_retired(fgi_ledger *ledger, int64_t number, const fgi_flight *flight);
/* Ends a window with flight `number`, the last one that was launched, which may be under way. */
void fgi_ledger_close_window(fgi_ledger *ledger, int64_t number, int64_t step);
/* Fills in the times of a result, which then borrows the windows. */
void fgi_ledger_result(const fgi_ledger *ledger, fg_result *out);

#endif
