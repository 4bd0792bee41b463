/* callback_early_stop.c - the callback early_stop: ends a fit when a metric of the validations has
 * stopped improving, is good enough, or diverges.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "callback/callback_rows.h"
#include "train/metrics.h"
#include "train/rank.h"

/* In checkpoints: the best and the last value, the step that the best was reached at, and how many
 * validations there were in total and since then. */
typedef struct progress {
    double best, last;
    int64_t best_step, validations, worse;
} progress;

typedef struct early_stop {
    bool is_max;
    int64_t patience;
    double min_delta;
    bool checks_finite, is_strict;
    bool has_warned;       /* in this fit: that there is no such metric */
    double good, diverged; /* thresholds; NaN: none */
    progress at;
    char monitor[]; /* the name of the metric */
} early_stop;

/* ---- the decision ---------------------------------------------------------------------------- */

/* An error, or a warning, once per fit. */
static fg_status unknown_metric(early_stop *e, const fg_metric *metrics, size_t count,
                                fg_error *err)
{
    fgi_buf text = {0};
    fgi_buf_puts(&text, "early_stop: monitor: ");
    fgi_unknown_metric_put(&text, e->monitor, FGI_VAL, metrics, count);
    fg_status status = fgi_buf_status(&text, err);
    if (status == FG_OK && e->is_strict)
        status = fgi_fail(err, FG_EINVAL, "%s", text.data);
    else if (status == FG_OK && !e->has_warned)
        fgi_log(FG_LOG_WARNING, "%s: validations without it do not count", text.data);
    e->has_warned = true;
    fgi_buf_fini(&text);
    return status;
}

/* NaN is never better, and anything is better than nothing or NaN. */
static bool is_better(const early_stop *e, double value)
{
    if (e->at.validations == 0 || isnan(e->at.best))
        return true;
    return e->is_max ? value > e->at.best + e->min_delta : value < e->at.best - e->min_delta;
}

/* FG_ESTOPPED with the reason if a limit for the last value is reached. NaN passes no threshold. */
static fg_status check_value(const early_stop *e, fg_error *err)
{
    const double last = e->at.last;
    const char *side = e->is_max ? "below" : "above";
    if (e->checks_finite && !isfinite(last))
        return fgi_fail(err, FG_ESTOPPED, "early_stop: %s is %g, which is not finite", e->monitor,
                        last);
    if (e->is_max ? last >= e->good : last <= e->good)
        return fgi_fail(err, FG_ESTOPPED, "early_stop: %s is %.6g, the stopping_threshold is %.6g",
                        e->monitor, last, e->good);
    if (e->is_max ? last < e->diverged : last > e->diverged)
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
    return fgi_fail(
        err, FG_ESTOPPED,
        "early_stop: %s has not improved in %lld validation%s (best: %.6g at step %lld)",
        e->monitor, (long long)e->at.worse, e->at.worse == 1 ? "" : "s", e->at.best,
        (long long)e->at.best_step);
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    early_stop *e = self;
    const size_t i = fgi_metric_find(at->metrics, at->metric_count, e->monitor);
    if (i == at->metric_count)
        return unknown_metric(e, at->metrics, at->metric_count, err);
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

/* A run that ended early ends again, unless the patience is greater or the thresholds are others
 * now. */
static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    early_stop *e = self;
    fg_metric known[FG_MAX_METRICS];
    const size_t count = fgi_known_metrics(at->trainer, FGI_VAL, known);
    e->has_warned = false;
    if (count > 0 && fgi_metric_find(known, count, e->monitor) == count)
        FGI_TRY(unknown_metric(e, known, count, err));
    return decide(e, err);
}

static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    const early_stop *e = self;
    (void)err;
    if (e->at.validations == 0 && at->epoch > 0 && !e->has_warned)
        fgi_log(FG_LOG_WARNING,
                "early_stop had no effect: there was no validation; it requires validation data");
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

static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    early_stop *e = self;
    if (size != sizeof e->at)
        return fgi_fail(err, FG_EFORMAT, "expected %zu bytes, got %zu", sizeof e->at, size);
    memcpy(&e->at, bytes, sizeof e->at);
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
    e->is_max = strcmp(mode, "auto") == 0 ? fgi_metric_is_max(monitor) : strcmp(mode, "max") == 0;
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
     .help = "A metric of the validation."},
    {.name = "mode",
     .kind = FG_OPTION_CHOICE,
     .initial = "auto",
     .choices = "auto|min|max",
     .spellings = "minimize=min|maximize=max",
     .example = "max",
     .help = "Whether a smaller or a larger value is better. auto: max for names that end in acc, "
             "otherwise min."},
    {.name = "patience",
     .kind = FG_OPTION_INT,
     .initial = "3",
     .min = 1,
     .max = FG_OPTION_UNLIMITED,
     .example = "5",
     .help = "Validations in a row without an improvement, after which training ends."},
    {.name = "min_delta",
     .kind = FG_OPTION_FLOAT,
     .initial = "0",
     .min = 0,
     .max = 1e30,
     .example = "0.001",
     .help = "A change that is not larger than this is no improvement."},
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
     .help = "A validation without this metric is an error, before the first step. false: a "
             "warning, and the validation does not count."},
};

static const fg_callback_ops ops = {.name = "early_stop",
                                    .fit_start = on_fit_start,
                                    .val_end = on_val_end,
                                    .fit_end = on_fit_end,
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
