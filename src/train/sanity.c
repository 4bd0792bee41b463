/* sanity.c - a few validation batches before the first training step, so that a mistake in the
 * validation step or its data is found early; and the options for trying out a run. The check
 * leaves no metrics, no times and no events.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/ledger.h"
#include "train/sample_rows.h"
#include "train/stage.h"
#include "train/trainer.h"
#include "train/windows.h"

fg_status fgi_sanity_check(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    const int64_t requested = trainer->options.validation.sanity_val_steps;
    if (requested == 0 || trainer->cursor.step > 0 || trainer->cursor.position > 0 ||
        data->val == NULL || trainer->model.task.ops->val_step == NULL)
        return FG_OK;
    fg_metric metrics[FG_MAX_METRICS];
    size_t count = 0;
    fg_status status = fgi_stage_prepare(trainer, FGI_VAL, data, err);
    if (status == FG_OK) {
        const bool was_off = fgi_ledger_set_off(trainer->ledger, true);
        const fg_result result = trainer->call.result;
        const int64_t limit = fgi_stage_limit(trainer, FGI_VAL);
        const bool is_fewer = requested > 0 && (limit == 0 || requested < limit);
        status = fgi_evaluate(trainer, FGI_VAL, is_fewer ? requested : limit, metrics, &count, err);
        const fg_status drained = fgi_feed_drain(trainer, status == FG_OK ? err : NULL);
        status = status == FG_OK ? drained : status;
        fgi_sample_rows_clear(fgi_stage_rows(trainer->stage[FGI_VAL]));
        trainer->call.result = result;
        (void)fgi_ledger_set_off(trainer->ledger, was_off);
    }
    fgi_windows_start_clock(trainer->windows);
    return status == FG_OK
               ? FG_OK
               : fgi_context(err, status, "validation before training (sanity_val_steps)");
}

void fgi_trial_settle(fg_trainer_options *o)
{
    if (o->limits.overfit_batches > 0 || o->limits.overfit_fraction > 0) {
        o->limits.limit_train_batches = o->limits.limit_val_batches = o->limits.overfit_batches;
        o->limits.limit_train_fraction = o->limits.limit_val_fraction = o->limits.overfit_fraction;
    }
    if (!o->limits.fast_dev_run)
        return;
    o->limits.max_epochs = 1;
    o->limits.max_steps = 0;
    o->limits.limit_train_batches = o->limits.limit_val_batches = 1;
    o->limits.limit_train_fraction = o->limits.limit_val_fraction = 0;
    o->validation.val_every_epochs = 1;
    o->validation.val_every_steps = 0;
    o->output.log_every = 1;
    o->validation.sanity_val_steps = 0;
    o->checkpoints.run_dir = NULL;
    o->output.profile = NULL;
    if (o->checkpoints.resume != NULL &&
        (strcmp(o->checkpoints.resume, "last") == 0 || strcmp(o->checkpoints.resume, "best") == 0 ||
         strcmp(o->checkpoints.resume, "auto") == 0))
        o->checkpoints.resume = NULL; /* of the run folder */
}
