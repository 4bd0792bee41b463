/* callbacks.c - telling callbacks what happened, in the order they were added.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "train/trainer.h"

typedef fg_status callback_fn(void *self, const fg_progress *at, fg_error *err);

static callback_fn *function_of(const fg_callback_ops *ops, fgi_event_kind kind)
{
    switch (kind) {
    case FGI_ON_FIT_START: return ops->fit_start;
    case FGI_ON_EPOCH_START: return ops->epoch_start;
    case FGI_ON_BATCH_END: return ops->batch_end;
    case FGI_ON_LOG: return ops->log;
    case FGI_ON_VAL_START: return ops->val_start;
    case FGI_ON_VAL_END: return ops->val_end;
    case FGI_ON_SAVED: return ops->saved;
    case FGI_ON_EPOCH_END: return ops->epoch_end;
    case FGI_ON_FIT_END: return ops->fit_end;
    case FGI_ON_EVAL_START: return ops->eval_start;
    case FGI_ON_EVAL_END: return ops->eval_end;
    }
    return NULL;
}

fg_status fgi_notify(fg_trainer *trainer, fgi_event_kind kind, const fg_progress *at, fg_error *err)
{
    for (size_t i = 0; i < trainer->callback_count; i++) {
        const fgi_callback *callback = &trainer->callbacks[i];
        callback_fn *function = function_of(callback->ops, kind);
        if (function == NULL)
            continue;
        fg_error local = {0};
        const fg_status status = function(callback->self, at, &local);
        if (status == FG_ESTOPPED) {
            trainer->is_stopping = true;
        } else if (status != FG_OK) {
            return fgi_fail(err, status, "%s",
                            local.message[0] != '\0' ? local.message : "a callback ended the run");
        }
    }
    return FG_OK;
}

fg_progress fgi_progress_at(const fg_trainer *trainer)
{
    return (fg_progress){
        .step = trainer->step,
        .epoch = trainer->epoch,
        .batch = trainer->epoch_batches,
        .batches = trainer->batches_per_epoch,
        .total_steps = trainer->plan.total_steps,
        .lr = trainer->optimizer != NULL ? fg_optimizer_get_lr(trainer->optimizer) : 0,
    };
}
