/* callbacks.h - callbacks: who they are, and telling them what happened.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_CALLBACKS_H
#define FGI_TRAIN_CALLBACKS_H

#include <fulgurite/train.h>

typedef struct fgi_callback {
    const fg_callback_ops *ops;
    void *self;
    bool has_failed; /* in this fit: it is told of nothing but the end */
} fgi_callback;

typedef enum fgi_event_kind {
    FGI_ON_FIT_START,
    FGI_ON_EPOCH_START,
    FGI_ON_BATCH_END,
    FGI_ON_LOG,
    FGI_ON_VAL_START,
    FGI_ON_VAL_END,
    FGI_ON_SAVED,
    FGI_ON_EPOCH_END,
    FGI_ON_FIT_END,
    FGI_ON_EVAL_START,
    FGI_ON_EVAL_END
} fgi_event_kind;
/* Calls all callbacks; FG_ESTOPPED from one sets is_stopping and is no failure. Within a fit, from
 * its first epoch on, another status sets is_stopping too, and is kept in trainer->failure. */
fg_status fgi_notify(fg_trainer *trainer, fgi_event_kind kind, const fg_progress *at,
                     fg_error *err);
/* A fit begins: those of callbacks and of saves count anew. */
void fgi_forget_failures(fg_trainer *trainer);
/* Where training stands, for a callback. */
fg_progress fgi_progress_at(const fg_trainer *trainer);

#endif
