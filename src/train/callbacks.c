/* callbacks.c - telling callbacks what happened, in the order they were added.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "train/callbacks.h"
#include "train/saver.h"
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

/* Within a fit, and once there is something to lose, a callback's error ends the run as a stop
 * does: the state is saved first. */
static bool is_put_off(const fg_trainer *trainer, fgi_event_kind kind)
{
    return trainer->is_running && kind != FGI_ON_FIT_START && kind != FGI_ON_FIT_END;
}

static fg_status take_error(fg_trainer *trainer, fgi_callback *callback, fgi_event_kind kind,
                            fg_status status, const fg_error *local, fg_error *err)
{
    const char *text = local->message[0] != '\0' ? local->message : "a callback ended the run";
    if (!is_put_off(trainer, kind))
        return fgi_fail(err, status, "%s", text);
    callback->has_failed = true;
    trainer->is_stopping = true;
    if (trainer->failure.status == FG_OK)
        (void)fgi_fail(&trainer->failure, status, "%s", text);
    return FG_OK;
}

fg_status fgi_notify(fg_trainer *trainer, fgi_event_kind kind, const fg_progress *at, fg_error *err)
{
    for (size_t i = 0; i < trainer->callback_count; i++) {
        fgi_callback *callback = &trainer->callbacks[i];
        callback_fn *function = function_of(callback->ops, kind);
        if (function == NULL || (callback->has_failed && kind != FGI_ON_FIT_END))
            continue;
        fg_error local = {0};
        const fg_status status = function(callback->self, at, &local);
        if (status == FG_ESTOPPED)
            trainer->is_stopping = true;
        else if (status != FG_OK)
            return take_error(trainer, callback, kind, status, &local, err);
    }
    return FG_OK;
}

void fgi_forget_failures(fg_trainer *trainer)
{
    trainer->failure = (fg_error){0};
    fgi_saver_forget_failures(trainer->saver);
    for (size_t i = 0; i < trainer->callback_count; i++)
        trainer->callbacks[i].has_failed = false;
}

fg_progress fgi_progress_at(const fg_trainer *trainer)
{
    return (fg_progress){
        .step = trainer->cursor.step,
        .epoch = trainer->cursor.epoch,
        .batch = trainer->cursor.epoch_batches,
        .batches = trainer->batches_per_epoch,
        .total_steps = trainer->settings.total_steps,
        .lr = trainer->optimizer != NULL ? fg_optimizer_get_lr(trainer->optimizer) : 0,
    };
}
