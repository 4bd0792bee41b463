/* trainer.h (internal) - the Trainer: its options, its devices, its model and its parts.
 *
 * Each part has its own header and takes what it uses. The files that need the Trainer as a whole
 * are this one, spread out; their functions are declared here. What lives for one fit or one call
 * is in fgi_fit and fgi_call.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRAINER_H
#define FGI_TRAIN_TRAINER_H

#include <fulgurite/train.h>

#include "base/arena.h"
#include "base/span.h"
#include "train/trainer_options.h"
#include "train/watch/call.h"
#include "train/state/cursor.h"
#include "train/save/divergence.h"
#include "train/watch/watch.h"
#include "train/save/saver.h"
#include "train/step/stage.h"
#include "train/step/feed.h"
#include "train/trial.h"

struct fgi_precision;

/* One fit: set to zeros when it starts, readable until the next one starts. */
typedef struct fgi_fit {
    fg_fit_settings settings;
    int64_t total_steps, batches_per_epoch;
    int64_t train_limit; /* batches of an epoch, 0: no limit */
    bool drop_last;
    bool has_started;    /* fit_start was called */
    int64_t validations; /* from its start to its end; -1: unknown */
    bool is_extra;       /* the validation would not be due without the limit that ended the fit */
    bool ends_epoch;     /* the step that is launched is the last of its epoch */
    bool is_in_step;     /* whose first batch was launched from this position: */
    fgi_cursor step_start;
} fgi_fit;

/* The metrics that the last fit ended with. */
typedef struct fgi_last_fit {
    fg_metric metrics[FG_MAX_RESULTS];
    size_t count;
} fgi_last_fit;

/* What fg_trainer_preview knows instead of a client and an optimizer; all zero otherwise. */
typedef struct fgi_preview {
    int device_count, batch_shards;
    double lr;
} fgi_preview;

struct fg_trainer {
    fg_trainer_options options;
    fg_trainer_options *own_options; /* owns the strings of the table's rows */
    fgi_arena strings;               /* other strings, and the schedule */
    void *schedule_options;          /* those of the schedule, unless they are borrowed */
    const struct fgi_precision *precision;
    fgi_accumulation accumulation; /* batches of a step */
    int64_t launch_steps;          /* most of a launch; 0: not chosen yet, and one */
    fg_client *client;             /* closed with the Trainer unless it is options.devices.client */
    fgi_model model;
    fgi_stage *stage[4]; /* by fgi_stage_kind */
    struct fgi_feed *feed;
    fgi_windows windows; /* of training */
    fgi_health health;
    fgi_divergence divergence;
    fgi_ledger ledger;
    struct fgi_saver *saver;
    struct fgi_step_profile *step_profile;
    struct fgi_run *run;
    struct fgi_watchdog *watchdog;
    fgi_spans spans; /* what the thread of a call does */
    struct fgi_callbacks *callbacks;
    struct fgi_progress *progress; /* one of the callbacks; NULL: none */
    fgi_cursor cursor;             /* the position of training */
    fgi_fit fit;
    fgi_call call;
    fgi_last_fit last_fit;
    fg_evaluation evaluation; /* that the user has asked for */
    fgi_preview preview;
};

/* ---- a call (trainer.c) ---------------------------------------------------------------------- */

/* A public call starts: checks its arguments, clears the result. */
fg_status fgi_trainer_enter(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                            fg_error *err);
/* Creates what is missing of client, module and, for fit, optimizer. */
fg_status fgi_trainer_prepare(fg_trainer *trainer, const fg_task *task, bool with_optimizer,
                              fg_error *err);
/* Whether the call is to end early: a callback, a signal, a request, or the end of its time. */
bool fgi_trainer_stops(fg_trainer *trainer);
/* The current position of training, for a callback. */
fg_progress fgi_progress_at(const fg_trainer *trainer);
/* Completes the result of a call that ran steps of this stage. */
void fgi_result_end(fg_trainer *trainer, fgi_stage_kind kind);
/* The call ends with this status; unless it is FG_OK, *error is copied to err. */
fg_status fgi_trainer_leave(fg_trainer *trainer, fg_status status, const fg_error *error,
                            fg_error *err);

/* ---- batches, steps and learning rates of a fit (fit_settings.c) ----------------------------- */

/* Shards of a batch. The client is open, or it is a preview. */
int fgi_batch_shards(const fg_trainer *trainer);
/* Checks what a program gives (fg_fit_data_row), and fills in the defaults. */
fg_status fgi_fit_data_complete(const fg_fit_data *given, fg_fit_data *out, fg_error *err);
/* Refuses a fraction of a source of unknown length; name: "limit_val". */
fg_status fgi_fraction_check(const char *name, fg_amount limit, const fg_dataset *dataset,
                             fg_error *err);
/* The limit on the batches, of `all`; 0: no limit. */
int64_t fgi_limit(fg_amount limit, int64_t all);
/* Determines the settings before anything is compiled or restored; sets the optimizer's schedule.
 */
fg_status fgi_settings_make(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);
/* Completes them once the position is restored: the remaining steps, and the learning rates. */
fg_status fgi_settings_settle(fg_trainer *trainer, fg_error *err);

/* Warns if the schedule of a run that resumes was planned for another number of steps, and the
 * learning rate is therefore another one. */
void fgi_settings_compare(const fg_trainer *trainer);
/* Validations from here to the end of the fit, if there are any at all; -1: unknown, or no end. */
int64_t fgi_settings_validations(const fg_trainer *trainer);

/* ---- stages (prepare.c) ---------------------------------------------------------------------- */

/* Makes sure that the stage has a loader and a program for these data. */
fg_status fgi_stage_prepare(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err);
/* Traces the programs again if variables have been frozen or made trainable since, or if a launch
 * has another number of steps. */
fg_status fgi_stage_refresh(fg_trainer *trainer, fgi_stage *stage, fg_error *err);
/* Compiles the program only. */
fg_status fgi_stage_compile(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err);
/* The limit on the batches of an evaluation by the options, for a stage that is prepared; 0: none.
 */
int64_t fgi_stage_limit(const fg_trainer *trainer, fgi_stage_kind kind);
/* Before a launch: sets its scalars, such as valid rows, random keys, learning rate. batch NULL:
 * the update of a step of several batches. self: the Trainer. */
void fgi_stage_begin_launch(void *self, fgi_stage *stage, const fg_host_batch *batch);

/* ---- steps per launch (launch_steps.c) ------------------------------------------------------- */

/* How many steps the next launch has: it ends where the host reads metrics, validates, saves,
 * starts or stops a profile, or may end the fit. */
int64_t fgi_steps_to_launch(const fg_trainer *trainer);
/* With steps_per_launch=auto: chooses when enough steps were measured, and logs that; compiles the
 * program again if a launch has several. */
fg_status fgi_launch_steps_choose(fg_trainer *trainer, fg_error *err);

/* ---- memory (find_batch.c) ------------------------------------------------------------------- */

/* Adds to the error of a fit that ran out of device memory which batch size fits, determined by
 * compiling smaller ones. */
void fgi_memory_explain(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);

/* ---- the state in checkpoints (train_state.c) ------------------------------------------------ */

/* Copies the state, between two steps. self: the Trainer. */
fg_status fgi_state_take(void *self, fgi_snapshot **out, fg_error *err);
/* Loads options.checkpoints.weights and .resume, once. */
fg_status fgi_state_restore(fg_trainer *trainer, fg_error *err);
/* Loads the checkpoint at `path`, of this run, in the middle of a fit. */
fg_status fgi_state_go_back(fg_trainer *trainer, const char *path, fg_error *err);
/* The run continues from the checkpoint that was loaded last: removes those from the list of the
 * best that are not in its folder, or now hold another state, and makes `best` and `last` name a
 * checkpoint of this past, not of one that the run has left. */
fg_status fgi_state_settle(fg_trainer *trainer, fg_error *err);

/* ---- evaluation (evaluate.c) ----------------------------------------------------------------- */

/* Reads the first batch of the next pass in advance. */
fg_status fgi_evaluate_ahead(fg_trainer *trainer, fgi_stage_kind kind, fg_error *err);
/* Makes a pass over the data of a stage that is prepared. Writes the metrics, at most
 * FG_MAX_METRICS, to out_metrics and to the result. If it is stopped, is_stopping is set and they
 * are not valid. */
fg_status fgi_evaluate(fg_trainer *trainer, fgi_stage_kind kind, int64_t limit,
                       fg_metric *out_metrics, size_t *out_count, fg_error *err);

/* Validates on the first options.validation.sanity_val_steps batches, before a fit that starts at
 * step 0. */
fg_status fgi_sanity_check(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);

/* ---- fit (fit.c) ----------------------------------------------------------------------------- */

/* Takes the sums of training (windows.h): calls `log`, and looks for divergence. self: the
 * Trainer. */
fg_status fgi_fit_take(void *self, fgi_window_end end, const float *sums, const fg_progress *at,
                       fg_error *err);

#endif
