/* callback_early_stop.c - the callback early_stop: ends a fit when a metric of the validations has
 * stopped improving, is good enough, or diverges.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "base/text.h"
#include "callback/callback_rows.h"
#include "train/state/metrics.h"
#include "train/save/saver.h"
#include "train/watch/call.h"

/* In checkpoints: the best and the last value, the step that the best was reached at, how many
 * validations there were in total and since then; and of which metric. */
typedef struct progress {
    double best, last; /* best: NaN if no value was a number */
    int64_t best_step, validations, worse;
    int64_t is_max;   /* larger values are better */
    char monitor[64]; /* the beginning of the name */
} progress;

typedef struct early_stop {
    const char *monitor; /* the name of the metric */
    fg_metric_mode mode;
    int64_t patience;
    double min_delta, stopping_threshold, divergence_threshold; /* thresholds; NaN: none */
    bool check_finite, strict;
    progress at;
} early_stop;

/* ---- the decision ---------------------------------------------------------------------------- */

/* An error, or a warning. */
static fg_status unknown_metric(const early_stop *e, const fg_error *why, fg_error *err)
{
    if (e->strict || why->status != FG_EINVAL)
        return fgi_fail(err, why->status, "%s", why->message);
    fgi_log(FG_LOG_WARNING, "%s; validations without it are ignored", why->message);
    return FG_OK;
}

/* NaN is never better, and anything else is better than NaN. */
static bool is_better(const early_stop *e, double value)
{
    if (isnan(e->at.best))
        return !isnan(value);
    return e->at.is_max ? value > e->at.best + e->min_delta : value < e->at.best - e->min_delta;
}

/* FG_ESTOPPED with the reason if a limit for the last value is reached. NaN passes no threshold. */
static fg_status check_value(const early_stop *e, fg_error *err)
{
    const double last = e->at.last;
    const char *side = e->at.is_max ? "below" : "above";
    if (e->check_finite && !isfinite(last))
        return fgi_fail(err, FG_ESTOPPED, "early_stop: %s is %g, which is not finite", e->monitor,
                        last);
    if (e->at.is_max ? last >= e->stopping_threshold : last <= e->stopping_threshold)
        return fgi_fail(err, FG_ESTOPPED, "early_stop: %s is %.6g, the stopping_threshold is %.6g",
                        e->monitor, last, e->stopping_threshold);
    if (e->at.is_max ? last < e->divergence_threshold : last > e->divergence_threshold)
        return fgi_fail(err, FG_ESTOPPED,
                        "early_stop: %s is %.6g, %s the divergence_threshold of %.6g", e->monitor,
                        last, side, e->divergence_threshold);
    return FG_OK;
}

/* The same, also if the patience is exhausted. */
static fg_status decide(const early_stop *e, fg_error *err)
{
    if (e->at.validations > 0)
        FGI_TRY(check_value(e, err));
    if (e->at.worse < e->patience)
        return FG_OK;
    if (isnan(e->at.best))
        return fgi_fail(err, FG_ESTOPPED, "early_stop: %s was NaN in %lld validation%s", e->monitor,
                        (long long)e->at.worse, fgi_s(e->at.worse));
    return fgi_fail(
        err, FG_ESTOPPED,
        "early_stop: %s has not improved in %lld validation%s (best: %.6g at step %lld)",
        e->monitor, (long long)e->at.worse, fgi_s(e->at.worse), e->at.best,
        (long long)e->at.best_step);
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    early_stop *e = self;
    const size_t i = fgi_metric_find(at->metrics, at->metric_count, e->monitor);
    if (fgi_fit_facts_of(at->trainer).is_extra)
        return FG_OK; /* a run that resumes continues as if it had not been interrupted */
    if (i == at->metric_count)
        return FG_OK; /* fit_start has said so */
    e->at.last = at->metrics[i].value;
    if (is_better(e, e->at.last)) {
        e->at.best = e->at.last;
        e->at.best_step = at->step;
        e->at.worse = 0;
    } else {
        e->at.worse++;
    }
    e->at.validations++;
    return decide(e, err);
}

/* Warns if the fit has too few validations for the patience to run out. */
static void warn_of_few(const early_stop *e, int64_t left)
{
    const int64_t needed = e->patience - e->at.worse + (e->at.validations == 0);
    if (left == 0)
        fgi_log(FG_LOG_WARNING, "early_stop cannot end this run: it has no validation");
    else if (left > 0 && left < needed && isnan(e->stopping_threshold) &&
             isnan(e->divergence_threshold))
        fgi_log(FG_LOG_WARNING,
                "early_stop cannot end this run: with a patience of %lld, %lld validations are "
                "needed, but there will be %lld; validate more often, or use a smaller patience",
                (long long)e->patience, (long long)needed, (long long)left);
}

/* A run that ended early ends again, unless the patience is greater or the thresholds are others
 * now. */
static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    const early_stop *e = self;
    fg_error why = {0};
    FGI_TRY(decide(e, err));
    if (fg_trainer_result(at->trainer)->nothing_to_do)
        return FG_OK;
    const fgi_fit_facts fit = fgi_fit_facts_of(at->trainer);
    warn_of_few(e, fit.validations);
    if (fit.validations != 0 &&
        fgi_metric_check(fit.stages, "early_stop: monitor", e->monitor, FGI_VAL, &why) != FG_OK)
        return unknown_metric(e, &why, err);
    return FG_OK;
}

/* ---- state ----------------------------------------------------------------------------------- */

static size_t save(void *self, void *bytes, size_t size)
{
    const early_stop *e = self;
    return fgi_state_save(&e->at, sizeof e->at, bytes, size);
}

/* Values of another metric cannot be compared: it starts again. */
static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    early_stop *e = self;
    progress at;
    FGI_TRY(fgi_state_load(&at, sizeof at, bytes, size, err));
    at.monitor[sizeof at.monitor - 1] = '\0';
    if (strcmp(at.monitor, e->at.monitor) == 0 && at.is_max == e->at.is_max)
        e->at = at;
    else
        fgi_log(FG_LOG_WARNING,
                "early_stop: monitor was %s (%s) and is now %s (%s): it starts with a new best",
                at.monitor, at.is_max != 0 ? "max" : "min", e->monitor,
                e->at.is_max != 0 ? "max" : "min");
    return FG_OK;
}

static fg_status init(void *self, const fg_option_values *values, fg_error *err)
{
    early_stop *e = self;
    (void)fgi_snprintf(e->at.monitor, sizeof e->at.monitor, "%s", e->monitor);
    e->at.best = (double)NAN;
    e->at.is_max = fgi_metric_has_mode_max(e->mode, e->monitor);
    return FG_OK;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    FG_OPTION(early_stop, monitor, STRING, "val_loss", NULL, "val_acc",
              "The validation metric to watch."),
    FGI_OPTION_MODE(early_stop),
    FG_OPTION(early_stop, patience, INT, "3", "1..", "5",
              "End training after this number of consecutive validations without improvement."),
    FG_OPTION(early_stop, min_delta, FLOAT, "0", "0..", "0.001",
              "Only a change larger than this counts as an improvement."),
    FG_OPTION(early_stop, stopping_threshold, FLOAT, "auto", "auto", "0.99",
              "End training when the metric is this or better. auto: never."),
    FG_OPTION(early_stop, divergence_threshold, FLOAT, "auto", "auto", "10",
              "End training when the metric is worse than this. auto: never."),
    FG_OPTION(early_stop, check_finite, BOOL, "true", NULL, "false",
              "End training when the metric is NaN or infinite."),
    FG_OPTION(early_stop, strict, BOOL, "true", NULL, "false",
              "Fail before the first step if validation does not log this metric. false: print a "
              "warning, and ignore validations without it."),
};

static const fg_callback_ops ops = {.name = "early_stop",
                                    .fit_start = on_fit_start,
                                    .val_end = on_val_end,
                                    .save = save,
                                    .load = load,
                                    .destroy = fg_free};

const fg_callback_entry fgi_early_stop_row = {
    .entry = {.name = "early_stop",
              .help = "end training when a metric has stopped improving, or has diverged",
              .spellings = "EarlyStopping",
              FG_OPTIONS(options, early_stop)},
    .ops = &ops,
    .init = init};
