/* call.h - a public call of the Trainer: what it is and reports, who receives its events, the
 * folder that it uses, and the signals that may end it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_CALL_H
#define FGI_TRAIN_CALL_H

#include <fulgurite/train.h>
#include <fulgurite/ckpt.h>

#include "base/arena.h"
#include "pjrt/pjrt.h"
#include "train/state/cursor.h"
#include "train/watch/watch.h"

/* ---- the call -------------------------------------------------------------------------------- */

/* Set to zeros when it starts; the result is readable until the next one starts. */
typedef struct fgi_call {
    bool is_busy;              /* between its start and its end */
    bool is_running;           /* it is a fit, or a search for the learning rate */
    bool is_search;            /* it is the latter */
    bool is_stopping;          /* a callback or a signal requested a stop */
    bool is_asked_to_stop;     /* by a request in the run's folder */
    int64_t deadline_ns;       /* of limits.max_time; 0: none */
    int saves_seen;            /* requests for saving that are done (signals.h) */
    fg_error failure;          /* of the callback that stopped the fit with an error */
    int64_t evaluated_batches; /* of the last evaluation */
    fg_client_stats stats_before;
    const char *file; /* of the call, in the user's program; NULL: unknown */
    int line;
    fgi_read_watch reads_before; /* of this thread */
    fg_result result;
} fgi_call;

/* ---- callbacks ------------------------------------------------------------------------------- */

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
    const char *name; /* of the tensor: "callback.NAME" */
    void *bytes;
    size_t size;
} fgi_callback_state;

/* Calls `save` of all callbacks that have it; in the list, the size may be 0. Errors: FG_ENOMEM,
 * FG_EINVAL for a state that changes meanwhile. */
fg_status fgi_callback_states_save(const fgi_callbacks *list, fgi_arena *memory,
                                   fgi_callback_state **out, size_t *out_count, fg_error *err);
/* Calls `load` of each callback with its state in the checkpoint. Warns of a callback without state
 * in the checkpoint, and of state without a callback. Errors: those of the callbacks. */
fg_status fgi_callback_states_load(const fgi_callbacks *list, const fg_ckpt *ckpt, const char *path,
                                   fg_error *err);

/* ---- the run's folder and its lock ----------------------------------------------------------- */

struct fgi_logger;
typedef struct fgi_run fgi_run;

/* With the built-in loggers of the list (options.output.loggers). The options are borrowed. */
fg_status fgi_run_create(const fg_trainer_checkpoints *o, const fg_strings *loggers, fgi_run **out,
                         fg_error *err);
void fgi_run_destroy(fgi_run *run); /* NULL is allowed; the lock is not held */
/* The run's logger, which is one of the callbacks; NULL: none. */
struct fgi_logger *fgi_run_logger(const fgi_run *run);
/* The same before it is opened; NULL afterwards. */
struct fgi_logger *fgi_run_next_logger(const fgi_run *run);
/* Makes the run's folder and takes its lock, for the duration of a fit. Errors:
 * FG_EINVAL, which names the holder, when another process has it. */
fg_status fgi_run_claim(fgi_run *run, const fg_client *client, fg_error *err);
void fgi_run_release(fgi_run *run); /* also when it is not held */
/* Whether there is a request to stop in the folder; looks at most once a second, and only while the
 * lock is held. */
bool fgi_run_is_asked_to_stop(fgi_run *run);
/* Refuses a folder with the checkpoints of another run than that of `resumed` ("": none), unless
 * the options allow to overwrite them. */
fg_status fgi_run_check(const fgi_run *run, const char *resumed, fg_error *err);
/* Deletes these checkpoints, if the options allow it. */
fg_status fgi_run_clear(const fgi_run *run, const char *resumed, fg_error *err);
/* Opens the log again, which is open, for the position that the run has returned to. */
fg_status fgi_run_reopen(fgi_run *run, const fgi_cursor *cursor, fg_error *err);
/* Opens the log of the run, as the first of the callbacks, unless that is done. */
fg_status fgi_run_open(fgi_run *run, const fg_client *client, const fgi_cursor *cursor,
                       fgi_callbacks *callbacks, fg_error *err);

/* ---- signals --------------------------------------------------------------------------------- */

/* Handles SIGINT, SIGTERM, SIGHUP and SIGUSR1, and ignores SIGPIPE, until fgi_signals_release is
 * called as often. A signal that the program ignores remains ignored. */
void fgi_signals_catch(const fg_trainer_options *o, fgi_call *call);
void fgi_signals_release(void);
/* A compilation that begins or ends changes the note of the first signal. */
fgi_span_listener fgi_signals_listener(void);
/* That many training steps begin or, if it is negative, have finished on the devices: the note says
 * how many have not. Called by any thread. */
void fgi_signals_steps(int more);
/* Whether a callback, a signal during a fit that handles signals, limits.max_time or a request in
 * the run's folder (base/run_lock.h) requests a stop. */
bool fgi_stop_requested(const fg_trainer_options *o, fgi_call *call, fgi_run *run);
/* Whether there was a SIGUSR1 since the last call, or since the fit started. */
bool fgi_save_requested(const fg_trainer_options *o, fgi_call *call);

#endif
