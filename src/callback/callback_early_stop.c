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
#include "train/metrics.h"
#include "train/rank.h"
#include "train/callbacks.h"

/* In checkpoints: the best and the last value, the step that the best was reached at, how many
 * validations there were in total and since then; and of which metric. */
typedef struct progress {
    double best, last; /* best: NaN if no value was a number */
    int64_t best_step, validations, worse;
    int64_t is_max;   /* larger values are better */
    char monitor[64]; /* the beginning of the name */
} progress;

typedef struct early_stop {
    int64_t patience;
    double min_delta;
    bool checks_finite, is_strict;
    double good, diverged; /* thresholds; NaN: none */
    progress at;
    char monitor[]; /* the name of the metric */
} early_stop;

/* ---- the decision ---------------------------------------------------------------------------- */

/* An error, or a warning. */
static fg_status unknown_metric(const early_stop *e, const fg_error *why, fg_error *err)
{
    if (e->is_strict || why->status != FG_EINVAL)
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
    if (e->checks_finite && !isfinite(last))
        return fgi_fail(err, FG_ESTOPPED, "early_stop: %s is %g, which is not finite", e->monitor,
                        last);
    if (e->at.is_max ? last >= e->good : last <= e->good)
        return fgi_fail(err, FG_ESTOPPED, "early_stop: %s is %.6g, the stopping_threshold is %.6g",
                        e->monitor, last, e->good);
    if (e->at.is_max ? last < e->diverged : last > e->diverged)
        return fgi_fail(err, FG_ESTOPPED,
                        "early_stop: %s is %.6g, %s the divergence_threshold of %.6g", e->monitor,
                        last, side, e->diverged);
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
    else if (left > 0 && left < needed && isnan(e->good) && isnan(e->diverged))
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
    if (size >= sizeof e->at)
        memcpy(bytes, &e->at, sizeof e->at);
    return sizeof e->at;
}

/* Values of another metric cannot be compared: it starts again. */
static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    early_stop *e = self;
    progress at;
    if (size != sizeof at)
        return fgi_fail(err, FG_EFORMAT, "expected %zu bytes, got %zu", sizeof at, size);
    memcpy(&at, bytes, sizeof at);
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

static void destroy(void *self) { fgi_free(self); }

/* The value of an option whose default, auto, means none. */
static double threshold(const fg_option_values *values, const char *name)
{
    return fg_option_is_auto(values, name) ? (double)NAN : fg_option_float(values, name);
}

static fg_status create(const fg_option_values *values, void **out_self, fg_error *err)
{
    const char *monitor = fg_option_string(values, "monitor");
    const char *mode = fg_option_string(values, "mode");
    const size_t size = strlen(monitor) + 1;
    early_stop *e = fgi_calloc(1, sizeof *e + size);
    if (e == NULL)
        return fgi_no_memory(err);
    memcpy(e->monitor, monitor, size);
    (void)fgi_snprintf(e->at.monitor, sizeof e->at.monitor, "%s", monitor);
    e->at.best = (double)NAN;
    e->at.is_max =
        strcmp(mode, "auto") == 0 ? fgi_metric_is_max(monitor) : strcmp(mode, "max") == 0;
    e->patience = fg_option_int(values, "patience");
    e->min_delta = fg_option_float(values, "min_delta");
    e->checks_finite = fg_option_bool(values, "check_finite");
    e->is_strict = fg_option_bool(values, "strict");
    e->good = threshold(values, "stopping_threshold");
    e->diverged = threshold(values, "divergence_threshold");
    *out_self = e;
    return FG_OK;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    {.name = "monitor",
     .kind = FG_OPTION_STRING,
     .initial = "val_loss",
     .example = "val_acc",
     .help = "The validation metric to watch."},
    {.name = "mode",
     .kind = FG_OPTION_CHOICE,
     .initial = "auto",
     .choices = "auto|min|max",
     .spellings = "minimize=min|maximize=max",
     .example = "max",
     .help = "Whether a smaller or a larger value is better. auto: max for names that end in acc, "
             "f1, precision, recall or r2, "
             "otherwise min."},
    {.name = "patience",
     .kind = FG_OPTION_INT,
     .initial = "3",
     .min = 1,
     .max = FG_OPTION_UNLIMITED,
     .example = "5",
     .help = "End training after this number of consecutive validations without improvement."},
    {.name = "min_delta",
     .kind = FG_OPTION_FLOAT,
     .initial = "0",
     .min = 0,
     .max = 1e30,
     .example = "0.001",
     .help = "Only a change larger than this counts as an improvement."},
    {.name = "stopping_threshold",
     .kind = FG_OPTION_FLOAT,
     .initial = "auto",
     .has_auto = true,
     .min = -1e30,
     .max = 1e30,
     .example = "0.99",
     .help = "End training when the metric is this or better. auto: never."},
    {.name = "divergence_threshold",
     .kind = FG_OPTION_FLOAT,
     .initial = "auto",
     .has_auto = true,
     .min = -1e30,
     .max = 1e30,
     .example = "10",
     .help = "End training when the metric is worse than this. auto: never."},
    {.name = "check_finite",
     .kind = FG_OPTION_BOOL,
     .initial = "true",
     .example = "false",
     .help = "End training when the metric is NaN or infinite."},
    {.name = "strict",
     .kind = FG_OPTION_BOOL,
     .initial = "true",
     .example = "false",
     .help = "Fail before the first step if validation does not log this metric. false: print a "
             "warning, and ignore validations without it."},
};

static const fg_callback_ops ops = {.name = "early_stop",
                                    .fit_start = on_fit_start,
                                    .val_end = on_val_end,
                                    .save = save,
                                    .load = load,
                                    .destroy = destroy};

const fg_callback_entry fgi_early_stop_row = {
    .entry = {.name = "early_stop",
              .help = "end training when a metric has stopped improving, or has diverged",
              .spellings = "EarlyStopping",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .ops = &ops,
    .create = create};
