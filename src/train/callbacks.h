/* callbacks.h - the list of callbacks, and calling them.
 *
 * What the list holds is private to callbacks.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_CALLBACKS_H
#define FGI_TRAIN_CALLBACKS_H

#include <fulgurite/ckpt.h>
#include <fulgurite/train.h>

struct fgi_call;
typedef struct fgi_callbacks fgi_callbacks;

/* A callback may stop the call. */
fg_status fgi_callbacks_create(struct fgi_call *call, fgi_callbacks **out, fg_error *err);
/* Adds a callback at the end, which the list destroys. Errors: FG_EINVAL for its members. */
fg_status fgi_callbacks_add(fgi_callbacks *list, const fg_callback_ops *ops, void *self,
                            fg_error *err);
void fgi_callbacks_remove_last(fgi_callbacks *list); /* it is not destroyed */
/* Also destroys the callbacks; NULL is allowed. */
void fgi_callbacks_destroy(fgi_callbacks *list);
/* The callback added last; there is one. */
const fg_callback_ops *fgi_callbacks_last(const fgi_callbacks *list, void **out_self);
/* Moves the callback added last to the front. */
void fgi_callbacks_promote_last(fgi_callbacks *list);
/* A fit starts: callbacks that failed in an earlier one are called again. */
void fgi_callbacks_reset(fgi_callbacks *list);

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
    FGI_ON_EVAL_END,
    FGI_ON_ROLLED_BACK
} fgi_event_kind;
/* Calls all callbacks. FG_ESTOPPED from one requests a stop and is not a failure; a message with it
 * becomes the result's stop_reason. Between the start
 * and the end of a fit, any other status requests a stop too, and becomes the fit's failure. */
fg_status fgi_notify(fgi_callbacks *list, fgi_event_kind kind, const fg_progress *at,
                     fg_error *err);
/* Calls `measure` of all callbacks, which appends their values to `metrics`, the array at->metrics
 * with at->metric_count of `capacity` in use. Statuses are those of fgi_notify. */
fg_status fgi_measure(fgi_callbacks *list, fg_progress *at, fg_metric *metrics, size_t capacity,
                      fg_error *err);
/* Calls `predicted` of all callbacks. Statuses are those of fgi_notify. */
fg_status fgi_notify_predicted(fgi_callbacks *list, const fg_progress *at,
                               const fg_predictions *rows, fg_error *err);
/* Whether a callback has that function. */
bool fgi_callbacks_receive_predictions(const fgi_callbacks *list);

/* What the built-in callbacks know of a Trainer in addition to its public functions. */
typedef struct fgi_fit_facts {
    const fg_trainer_options *options; /* in which every default is filled in */
    struct fgi_stage *const *stages;   /* by fgi_stage_kind */
    const fg_optimizer *optimizer;     /* NULL: none yet */
    const fg_dataset *train;           /* the training data; NULL: not known yet */
    int64_t validations;               /* of the fit, from its start to its end; -1: unknown */
    bool is_extra; /* the validation would not be due without the limit that ended the fit */
} fgi_fit_facts;
fgi_fit_facts fgi_fit_facts_of(const fg_trainer *trainer);
/* Removes old checkpoints of the run_dir, while no save is under way; a failure is a warning. */
void fgi_state_prune(const fg_trainer *trainer);

/* ---- functions that change programs ---------------------------------------------------------- */

/* Calls `build` of all callbacks, for a model that was just built. */
fg_status fgi_callbacks_build(const fgi_callbacks *list, fg_module *root, fg_error *err);
/* Calls `update` of all callbacks, in the trace of an update. */
void fgi_callbacks_update(const fgi_callbacks *list, fg_trace *trace, fg_optimizer *optimizer);
/* Calls `step_start` of all callbacks. */
void fgi_callbacks_step_start(const fgi_callbacks *list, const fg_progress *at,
                              fg_optimizer *optimizer);
/* Lets the trace of an evaluation use the values of callbacks. */
void fgi_callbacks_substitute(fgi_callbacks *list, fg_trace *trace);

/* ---- state in checkpoints -------------------------------------------------------------------- */

/* The state of one callback, to be written. */
typedef struct fgi_callback_state {
    char *name; /* of the tensor: "callback.NAME" */
    void *bytes;
    size_t size;
} fgi_callback_state;

/* Calls `save` of all callbacks that have it: *out is a fresh list (fgi_callback_states_free), in
 * which the size may be 0. Errors: FG_ENOMEM, FG_EINVAL for a state that changes meanwhile. */
fg_status fgi_callback_states_save(const fgi_callbacks *list, fgi_callback_state **out,
                                   size_t *out_count, fg_error *err);
void fgi_callback_states_free(fgi_callback_state *states, size_t count); /* NULL is allowed */
/* Calls `load` of each callback with its state in the checkpoint. Warns of a callback without state
 * in the checkpoint, and of state without a callback. Errors: those of the callbacks. */
fg_status fgi_callback_states_load(const fgi_callbacks *list, const fg_ckpt *ckpt, const char *path,
                                   fg_error *err);
#endif
