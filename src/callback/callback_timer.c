/* callback_timer.c - the callback timer: ends a fit when the run has trained for some time,
 * including the time before it was resumed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/thread.h"
#include "callback/callback_rows.h"

typedef struct timer {
    const char *duration; /* the limit as text */
    double limit_s;
    enum { STEP, EPOCH } interval; /* when to end */
    int64_t begun_ns; /* when the fit, or the part since a rollback, began; 0: it does not run */
    double before_s;  /* until then; with the time since, in checkpoints */
} timer;

static double elapsed_s(const timer *t)
{
    return t->before_s + (t->begun_ns != 0 ? (double)(fgi_now_ns() - t->begun_ns) / 1e9 : 0);
}

static fg_status check(const timer *t, fg_error *err)
{
    if (elapsed_s(t) < t->limit_s)
        return FG_OK;
    return fgi_fail(err, FG_ESTOPPED, "timer: the run has trained for %s", t->duration);
}

/* A run that ended by its timer ends again, unless the duration is longer now. */
static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    timer *t = self;
    FGI_TRY(check(t, err)); /* the time before this fit only: a new run takes its first step */
    t->begun_ns = fgi_now_ns();
    return FG_OK;
}

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    const timer *t = self;
    return t->begun_ns == 0 || t->interval == EPOCH ? FG_OK : check(t, err);
}

static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    return check(self, err);
}

static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    timer *t = self;
    t->before_s = elapsed_s(t);
    t->begun_ns = 0;
    return FG_OK;
}

static size_t save(void *self, void *bytes, size_t size)
{
    const double elapsed = elapsed_s(self);
    return fgi_state_save(&elapsed, sizeof elapsed, bytes, size);
}

/* After a rollback, the steps that were lost have taken their time as well. */
static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    timer *t = self;
    double saved = 0;
    FGI_TRY(fgi_state_load(&saved, sizeof saved, bytes, size, err));
    if (t->begun_ns == 0)
        t->before_s = saved;
    return FG_OK;
}

static fg_status init(void *self, const fg_option_values *values, fg_error *err)
{
    timer *t = self;
    const char *text = t->duration != NULL ? t->duration : "";
    if (fgi_parse_duration(fgi_str_of(text), &t->limit_s))
        return FG_OK;
    return fg_option_fail(values, "duration", FG_EINVAL, err,
                          "expected a duration such as 90s, 8h30m, 1d12h or 08:30:00");
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    FG_OPTION(timer, duration, STRING, "auto", "auto", "12h",
              "Total training time of the run, including the time before it was stopped and "
              "resumed: 90s, 8h30m, 1d12h or 08:30:00. auto: must be set."),
    FG_OPTION_ENUM(timer, interval, "step", "step|epoch", "epoch",
                   "When to end: after a step, or only at the end of an epoch."),
};

static const fg_callback_ops ops = {.name = "timer",
                                    .fit_start = on_fit_start,
                                    .batch_end = on_batch_end,
                                    .epoch_end = on_epoch_end,
                                    .fit_end = on_fit_end,
                                    .save = save,
                                    .load = load,
                                    .destroy = fg_free};

const fg_callback_entry fgi_timer_row = {.entry = {.name = "timer",
                                                   .help = "end training after a given time",
                                                   .spellings = "Timer",
                                                   FG_OPTIONS(options, timer)},
                                         .ops = &ops,
                                         .init = init};
