/* run_report.c - the curves and metrics at the end of a run.
 *
 * A callback records them; the Trainer owns it, and the run borrows it until the Trainer is
 * destroyed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doc/chart.h"
#include "recipe/run/run.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

/* ---- the record ------------------------------------------------------------------------------ */

static bool grow(fgi_run_curve *curve)
{
    const size_t capacity = curve->capacity > 0 ? 2 * curve->capacity : 64;
    double *x = fgi_realloc(curve->x, capacity * sizeof(*x));
    curve->x = x != NULL ? x : curve->x;
    double *y = x != NULL ? fgi_realloc(curve->y, capacity * sizeof(*y)) : NULL;
    curve->y = y != NULL ? y : curve->y;
    curve->capacity = y != NULL ? capacity : curve->capacity;
    return y != NULL;
}

static fg_status add_point(fgi_run_curve *curve, int64_t step, const fg_progress *at,
                           const char *name, fg_error *err)
{
    for (size_t i = 0; i < at->metric_count; i++) {
        if (strcmp(at->metrics[i].name, name) != 0 || !isfinite(at->metrics[i].value))
            continue;
        if (curve->count == curve->capacity && !grow(curve))
            return fgi_no_memory(err);
        curve->x[curve->count] = (double)step;
        curve->y[curve->count++] = at->metrics[i].value;
    }
    return FG_OK;
}

/* Files of an earlier run are not changed before this. */
static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    const fgi_run_record *r = self;
    fgi_run_say_weights(r->owner);
    if (r->owner->folder == NULL || fg_trainer_result(at->trainer)->nothing_to_do)
        return FG_OK;
    FGI_TRY(fgi_run_lr_keep(r->owner, err));
    return fgi_run_dir_begin(r->owner->c, r->owner->folder, err);
}

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    fgi_run_record *r = self;
    return add_point(&r->curves[FGI_RUN_TRAIN_WINDOWS], at->step, at, "train_loss", err);
}

static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_run_record *r = self;
    return add_point(&r->curves[FGI_RUN_TRAIN_EPOCHS], at->step, at, "train_loss", err);
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_run_record *r = self;
    size_t i = 0;
    while (i < at->metric_count && strcmp(at->metrics[i].name, "val_loss") != 0)
        i++;
    r->validations += i < at->metric_count;
    if (i < at->metric_count && !isfinite(at->metrics[i].value) && r->bad++ == 0)
        fgi_run_say(r->owner, FG_LOG_WARNING,
                    "val_loss is %g at step %" PRId64 ": this state cannot be the best",
                    at->metrics[i].value, at->step);
    return add_point(&r->curves[FGI_RUN_VAL], at->step, at, "val_loss", err);
}

/* Points after the checkpoint are trained again. */
static fg_status on_rolled_back(void *self, const fg_progress *at, fg_error *err)
{
    fgi_run_record *r = self;
    (void)err;
    for (int i = 0; i < FGI_RUN_CURVES; i++)
        while (r->curves[i].count > 0 && r->curves[i].x[r->curves[i].count - 1] > (double)at->step)
            r->curves[i].count--;
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

fg_status fgi_run_record_add(fg_recipe *r, fg_error *err)
{
    static const fg_callback_ops ops = {.fit_start = on_fit_start,
                                        .log = on_log,
                                        .val_end = on_val_end,
                                        .epoch_end = on_epoch_end,
                                        .destroy = destroy,
                                        .rolled_back = on_rolled_back};
    fgi_run_record *record = fgi_calloc(1, sizeof(*record));
    if (record == NULL)
        return fgi_no_memory(err);
    record->owner = r;
    const fg_status status = fg_trainer_add_callback(r->trainer, &ops, record, err);
    r->record = status == FG_OK ? record : NULL;
    return status;
}

fg_status fgi_run_record_check(const fg_recipe *r, fg_error *err)
{
    const fgi_run_record *record = r->record;
    const char *path = fg_trainer_result(r->trainer)->checkpoint;
    if (record->bad == 0 || record->bad < record->validations ||
        strcmp(r->c->trainer.divergence.on_divergence, "ignore") == 0)
        return FG_OK;
    return fgi_fail(err, FG_ENUMERIC,
                    "val_loss was not finite in any validation%s%s\n"
                    "look for very large values in the validation data, or use a smaller "
                    "optimizer.lr; to accept this: trainer.on_divergence=ignore",
                    *path != '\0' ? "; the last state is saved in " : "", path);
}

/* ---- end of a run ---------------------------------------------------------------------------- */

void fgi_run_record_draw(const fg_recipe *r, int columns, bool is_ascii, fgi_buf *out)
{
    const fgi_run_curve *windows = &r->record->curves[FGI_RUN_TRAIN_WINDOWS];
    const fgi_run_curve *epochs = &r->record->curves[FGI_RUN_TRAIN_EPOCHS],
                        *val = &r->record->curves[FGI_RUN_VAL];
    const fgi_run_curve *train = windows->count > epochs->count ? windows : epochs;
    const fgi_series series[] = {
        {"train_loss", train->x, train->y, train->count},
        {"val_loss", val->x, val->y, val->count},
    };
    const fgi_chart chart = {
        .title = "loss", .x_label = "steps", .series = series, .count = val->count > 0 ? 2 : 1};
    if (train->count + val->count > 1)
        fgi_chart_put_text(out, &chart, (fgi_chart_size){columns, 14, is_ascii});
}

void fgi_run_put_metrics(const fg_recipe *r, fgi_buf *out)
{
    if (r->kind == FG_RECIPE_FIND_BATCH) {
        fgi_run_batch_put_metrics(r, out);
        return;
    }
    if (r->kind == FG_RECIPE_FIND_LR)
        fgi_run_lr_put_metrics(r, out);
    if (r->schedule.name != NULL)
        fgi_schedule_put_table(&r->schedule, out);
    for (size_t i = 0; i < r->outcome.train.metric_count; i++)
        fgi_buf_printf(out, "%s\t%.6g\n", r->outcome.train.metrics[i].name,
                       r->outcome.train.metrics[i].value);
}
