/* run_report.c - what a run says at its end: its curves and metrics.
 *
 * The record is a callback of the Trainer, which owns it; the run borrows it until the Trainer is
 * destroyed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/draw.h"
#include "recipe/run_record.h"
#include "base/print.h"
#include "base/alloc.h"

/* ---- the record ------------------------------------------------------------------------------ */

static void add_point(fgi_run_curve *curve, int64_t step, const fg_progress *at, const char *name)
{
    for (size_t i = 0; i < at->metric_count; i++) {
        if (strcmp(at->metrics[i].name, name) != 0 || !isfinite(at->metrics[i].value))
            continue;
        if (curve->count == curve->capacity) {
            curve->capacity = curve->capacity > 0 ? 2 * curve->capacity : 64;
            curve->x = fgi_must_realloc(curve->x, curve->capacity, sizeof(*curve->x));
            curve->y = fgi_must_realloc(curve->y, curve->capacity, sizeof(*curve->y));
        }
        curve->x[curve->count] = (double)step;
        curve->y[curve->count++] = at->metrics[i].value;
    }
}

/* Nothing of an earlier run is changed before this. */
static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    const fgi_run_record *r = self;
    (void)at;
    if (!r->owner->options->is_quiet)
        fgi_run_print_weights(r->owner, stderr);
    if (r->owner->folder == NULL)
        return FG_OK;
    return fgi_run_dir_begin(r->owner->c, r->owner->folder, err) ? FG_OK : FG_EIO;
}

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    fgi_run_record *r = self;
    (void)err;
    add_point(&r->curves[FGI_RUN_TRAIN_WINDOWS], at->step, at, "train_loss");
    return FG_OK;
}

static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_run_record *r = self;
    (void)err;
    add_point(&r->curves[FGI_RUN_TRAIN_EPOCHS], at->step, at, "train_loss");
    return FG_OK;
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_run_record *r = self;
    (void)err;
    add_point(&r->curves[FGI_RUN_VAL], at->step, at, "val_loss");
    return FG_OK;
}

static void destroy(void *self)
{
    fgi_run_record *r = self;
    for (int i = 0; i < FGI_RUN_CURVES; i++) {
        fgi_free(r->curves[i].x);
        fgi_free(r->curves[i].y);
    }
    fgi_free(r);
}

fg_status fgi_run_record_add(fgi_run *r, fg_error *err)
{
    static const fg_callback_ops ops = {.fit_start = on_fit_start,
                                        .log = on_log,
                                        .val_end = on_val_end,
                                        .epoch_end = on_epoch_end,
                                        .destroy = destroy};
    fgi_run_record *record = fgi_must_alloc(1, sizeof(*record));
    record->owner = r;
    const fg_status status = fg_trainer_add_callback(r->trainer, &ops, record, err);
    r->record = status == FG_OK ? record : NULL;
    return status;
}

/* ---- the end --------------------------------------------------------------------------------- */

void fgi_run_record_draw(const fgi_run *r, FILE *out)
{
    const fgi_run_curve *windows = &r->record->curves[FGI_RUN_TRAIN_WINDOWS];
    const fgi_run_curve *epochs = &r->record->curves[FGI_RUN_TRAIN_EPOCHS],
                        *val = &r->record->curves[FGI_RUN_VAL];
    const fgi_run_curve *train = windows->count > epochs->count ? windows : epochs;
    const fgi_draw_series series[] = {
        {"train_loss", train->x, train->y, train->count},
        {"val_loss", val->x, val->y, val->count},
    };
    const fgi_draw_options options = {.title = "loss",
                                      .x_label = "steps",
                                      .columns = fgi_draw_columns(out),
                                      .rows = 14,
                                      .is_ascii = !fgi_draw_is_utf8()};
    if (train->count + val->count > 1)
        fgi_draw_curves(out, series, val->count > 0 ? 2 : 1, &options);
}

void fgi_run_print_metrics(const fgi_run *r, FILE *out)
{
    for (size_t i = 0; i < r->result.metric_count; i++)
        (void)fgi_fprintf(out, "%s\t%.6g\n", r->result.metrics[i].name, r->result.metrics[i].value);
}
