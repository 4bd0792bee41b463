/* ledger_parts.h - what a ledger holds: for ledger.c and its tests.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_LEDGER_PARTS_H
#define FGI_TRAIN_LEDGER_PARTS_H

#include "train/ledger.h"

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

struct fgi_ledger {
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
};

/* ledger_windows.c: the window that ends now, with this step. */
void fgi_ledger_add_window(fgi_ledger *ledger, int64_t step);
fg_idle fgi_idle_of(const fgi_totals *totals);

#endif
