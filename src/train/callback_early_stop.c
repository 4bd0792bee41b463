/* callback_early_stop.c - the callback early_stop: ends a fit when a metric of the validations has
 * stopped improving.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "train/callback_rows.h"
#include "train/metrics.h"

/* In checkpoints: the best value, the step it was reached at, and how many validations there were
 * in total and since then. */
typedef struct progress {
    double best;
    int64_t best_step, validations, worse;
} progress;

typedef struct early_stop {
    bool is_max;
    int64_t patience;
    double min_delta;
    progress at;
    char monitor[]; /* the name of the metric */
} early_stop;

/* ---- the decision ---------------------------------------------------------------------------- */

static fg_status unknown_metric(const early_stop *e, const fg_progress *at, fg_error *err)
{
    fgi_buf names = {0};
    for (size_t i = 0; i < at->metric_count; i++)
        fgi_buf_printf(&names, "%s%s", i > 0 ? "|" : "", at->metrics[i].name);
    fg_status status = fgi_buf_status(&names, err);
    if (status == FG_OK)
        status =
            fgi_fail(err, FG_EINVAL,
                     "early_stop: monitor: expected a metric of the validation, one of %s, got "
                     "'%s'",
                     names.data != NULL ? names.data : "(none)", e->monitor);
    fgi_buf_fini(&names);
    return status;
}

/* NaN is never better, and anything is better than nothing or NaN. */
static bool is_better(const early_stop *e, double value)
{
    if (e->at.validations == 0 || isnan(e->at.best))
        return true;
    return e->is_max ? value > e->at.best + e->min_delta : value < e->at.best - e->min_delta;
}

/* FG_ESTOPPED with the reason if the patience is exhausted. */
static fg_status decide(const early_stop *e, fg_error *err)
{
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
    size_t i = 0;
    while (i < at->metric_count && strcmp(at->metrics[i].name, e->monitor) != 0)
        i++;
    if (i == at->metric_count)
        return unknown_metric(e, at, err);
    if (is_better(e, at->metrics[i].value)) {
        e->at.best = at->metrics[i].value;
        e->at.best_step = at->step;
        e->at.worse = 0;
    } else {
        e->at.worse++;
    }
    e->at.validations++;
    return decide(e, err);
}

/* A run that ended early ends again, unless the patience is greater now. */
static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    (void)at;
    return decide(self, err);
}

static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    const early_stop *e = self;
    (void)err;
    if (e->at.validations == 0 && at->epoch > 0)
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
              .help = "end training when a metric has stopped improving",
              .spellings = "EarlyStopping",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .ops = &ops,
    .create = create};
