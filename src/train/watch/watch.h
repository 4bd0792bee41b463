/* watch.h - who follows what the Trainer's thread does: the watchdog, the ledger, profiles of
 * steps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_WATCH_H
#define FGI_TRAIN_WATCH_H

#include <fulgurite/base.h>
#include <fulgurite/train.h>

#include "base/span.h"
#include "base/timeline.h"
#include "pjrt/pjrt.h"
#include "train/state/cursor.h"

/* ---- what the thread does -------------------------------------------------------------------- */

/* The kind of a span. */
typedef enum fgi_stage_kind { FGI_TRAIN, FGI_VAL, FGI_TEST, FGI_PREDICT } fgi_stage_kind;

/* "training": for messages. */
static inline const char *fgi_stage_noun(fgi_stage_kind kind)
{
    static const char *const noun[] = {"training", "validation", "test", "prediction"};
    return noun[kind];
}

/* Before the names of its metrics. */
static inline const char *fgi_stage_prefix(fgi_stage_kind kind)
{
    static const char *const prefix[] = {"train_", "val_", "test_", ""};
    return prefix[kind];
}

typedef enum fgi_activity {
    FGI_INPUT,
    FGI_UPLOAD,
    FGI_COMPILE,
    FGI_READ,
    FGI_CHECKPOINT,
    FGI_ACTIVITIES, /* what the devices may wait for; not what follows: */
    FGI_LAUNCH = FGI_ACTIVITIES,
    FGI_STEP /* waiting for one to finish */
} fgi_activity;

enum { FGI_IN_FLIGHT = 3 }; /* steps under way; the host waits beyond that */

/* A step that was launched and has not finished. */
typedef struct fgi_flight {
    struct fgi_feed *feed;
    int open; /* pending events: its end, and fields that have not arrived */
    fgi_stage_kind kind;
    bool is_step;   /* counted in step times: not a validation within fit */
    bool is_part;   /* a batch of such a step, whose update will follow */
    bool is_batch;  /* not such an update */
    int64_t number; /* of the step in its stage, starting at 1 */
    int64_t steps;  /* of these, that end with it; 0: a batch of a step that is accumulated */
    int64_t samples;
    int64_t launch_ns, inputs_ns, done_ns;
    fgi_event *done;       /* its end, until it is retired */
    int64_t *part_done_ns; /* its end on each device, during a profile; else NULL */
    fg_error error;
} fgi_flight;

/* ---- hangs (watchdog.c) ---------------------------------------------------------------------- */

typedef struct fgi_watchdog fgi_watchdog;

fg_status fgi_watchdog_create(const fg_trainer_options *options, fgi_watchdog **out, fg_error *err);
void fgi_watchdog_destroy(fgi_watchdog *dog); /* NULL is allowed; it is not running */
/* Starts the thread, for the duration of a public call of the Trainer. */
fg_status fgi_watchdog_start(fgi_watchdog *dog, fg_error *err);
void fgi_watchdog_stop(fgi_watchdog *dog); /* does nothing if it is not running */
/* How long a compilation may take before it is reported, in nanoseconds; it is not running. */
void fgi_watchdog_limit_compiling(fgi_watchdog *dog, int64_t limit_ns);

/* Watches the spans of the Trainer's thread while it runs. */
fgi_span_listener fgi_watchdog_listener(fgi_watchdog *dog);
/* A step of this stage has finished. */
void fgi_watch_done(fgi_watchdog *dog, fgi_stage_kind stage, int64_t step);
/* Facts for the report. */
void fgi_watch_client(fgi_watchdog *dog, const fg_client *client);
void fgi_watch_checkpoint(fgi_watchdog *dog, const char *path);

/* ---- what the devices spent their time on (ledger.c) ----------------------------------------- */

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
void fgi_ledger_add(fgi_ledger *ledger, fgi_activity activity, int64_t begin_ns, int64_t end_ns);
/* Measure the processor time of a launch on the Trainer's thread; only every 16th, because reading
 * the clocks costs system calls. begin returns a time, or -1 for a launch that is not measured;
 * steps: how many it had. */
int64_t fgi_work_begin(fgi_ledger *ledger);
void fgi_work_end(fgi_ledger *ledger, int64_t begin, int64_t steps);
/* A step was launched: the host activities so far preceded it. */
void fgi_ledger_launched(fgi_ledger *ledger, int64_t number);
/* Flight `number` has finished. */
void fgi_ledger_retired(fgi_ledger *ledger, int64_t number, const fgi_flight *flight);
/* Ends a window with flight `number`, the last one that was launched, which may be under way. */
void fgi_ledger_close_window(fgi_ledger *ledger, int64_t number, int64_t step);
/* Fills in the times of a result, which then borrows the windows. */
void fgi_ledger_result(const fgi_ledger *ledger, fg_result *out);

/* ---- what limits the rate (input_report.c) --------------------------------------------------- */

/* The use of a loader between two moments. */
void fgi_input_report_load(fg_input_report *out, const fg_loader_stats *before,
                           const fg_loader_stats *after);
/* Sets the remaining members by what the device waited for, and by its rate while it was busy. */
void fgi_input_report_judge(fg_input_report *out, const fg_idle *idle, double samples_per_busy_s);
/* The words for a loader stage or a value of bound_by in a sentence: "entropy decoding" for
 * "entropy". Constant; an unknown name is returned as it is. */
const char *fgi_input_words(const char *name);

/* ---- profiles of some steps (step_profile.c) ------------------------------------------------- */

/* Steps of a run, starting at 1. */
typedef struct fgi_profile_steps {
    bool is_auto;        /* chosen when the fit starts */
    int64_t first, last; /* otherwise; 0: none */
} fgi_profile_steps;

/* Of fg_trainer_output.profile. */
fgi_profile_steps fgi_profile_steps_of(const int64_t given[2]);
/* The steps that "auto" means for a fit that starts after step `done`, of `total` steps (-1:
 * unknown): ten steps after the first ten, or the last ten. */
fgi_profile_steps fgi_profile_steps_choose(int64_t done, int64_t total);

typedef struct fgi_step_profile fgi_step_profile;

/* The folder of the run and the cursor are borrowed. */
fg_status fgi_step_profile_create(const int64_t steps[2], const char *run_dir,
                                  const fgi_cursor *cursor, fgi_step_profile **out, fg_error *err);
void fgi_step_profile_destroy(fgi_step_profile *self); /* NULL is allowed */
/* The last profile that was written, or NULL. */
const fg_profile_info *fgi_step_profile_info(const fgi_step_profile *self);

/* A fit with that many steps (-1: no end) starts: a profile that begins with its first step begins
 * here, and includes compilation. is_over: no step is left. A profile that fails is a warning. */
void fgi_step_profile_begin(fgi_step_profile *self, fg_client *client, int64_t total_steps,
                            bool is_over);
/* The step after which the profile starts or stops next; INT64_MAX: no further one. */
int64_t fgi_step_profile_next(const fgi_step_profile *self);
/* Before each launch: starts the profile when that is due. */
void fgi_step_profile_before(fgi_step_profile *self);
/* Whether the profile in progress is to be stopped after this step. */
bool fgi_step_profile_is_due(const fgi_step_profile *self);
/* Stops it; all launches have finished. */
void fgi_step_profile_stop(fgi_step_profile *self);
/* The fit ends, and the devices have finished: stops a profile in progress. */
void fgi_step_profile_end(fgi_step_profile *self, bool has_started);

/* Where to store the times at which the flight ends on each device; NULL while nothing is recorded.
 */
int64_t *fgi_step_profile_times(fgi_step_profile *self, int64_t number, const fgi_event *done);
/* The flight has ended on all devices; its event still exists. */
void fgi_step_profile_retired(fgi_step_profile *self, const fgi_flight *flight);

#endif
