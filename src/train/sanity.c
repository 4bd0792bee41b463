/* sanity.c - a few validation batches before the first training step, so that a mistake in the
 * validation step or its data is found at once; and what the options for trying a run out change.
 * Nothing of the check stays: no metrics, no times, no events.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "train/trainer.h"

fg_status fgi_sanity_check(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    const int64_t requested = trainer->options.sanity_val_steps;
    if (requested == 0 || trainer->step > 0 || trainer->position > 0 || data->val == NULL ||
        trainer->task.ops->val_step == NULL)
        return FG_OK;
    fg_metric metrics[FG_MAX_METRICS];
    size_t count = 0;
    fg_status status = fgi_stage_prepare(trainer, FGI_VAL, data, err);
    if (status == FG_OK) {
        const fg_result result = trainer->result;
        const fgi_ledger ledger = trainer->ledger;
        const int64_t limit = fgi_stage_limit(trainer, FGI_VAL);
        const bool is_fewer = requested > 0 && (limit == 0 || requested < limit);
        status = fgi_evaluate(trainer, FGI_VAL, is_fewer ? requested : limit, metrics, &count, err);
        const fg_status drained = fgi_feed_drain(trainer, status == FG_OK ? err : NULL);
        status = status == FG_OK ? drained : status;
        trainer->result = result;
        trainer->ledger = ledger;
    }
    trainer->window_start_ns = fgi_now_ns();
    return status == FG_OK
               ? FG_OK
               : fgi_context(err, status, "validation before training (sanity_val_steps)");
}

void fgi_trial_settle(fg_trainer_options *o)
{
    if (o->overfit_batches > 0 || o->overfit_fraction > 0) {
        o->limit_train_batches = o->limit_val_batches = o->overfit_batches;
        o->limit_train_fraction = o->limit_val_fraction = o->overfit_fraction;
    }
    if (!o->fast_dev_run)
        return;
    o->max_epochs = 1;
    o->max_steps = 0;
    o->limit_train_batches = o->limit_val_batches = 1;
    o->limit_train_fraction = o->limit_val_fraction = 0;
    o->val_every_epochs = 1;
    o->val_every_steps = 0;
    o->log_every = 1;
    o->sanity_val_steps = 0;
    o->run_dir = NULL;
    if (o->resume != NULL && (strcmp(o->resume, "last") == 0 || strcmp(o->resume, "best") == 0 ||
                              strcmp(o->resume, "auto") == 0))
        o->resume = NULL; /* of the run's folder */
}
