/* trial.h - training steps that leave no trace: what they change is kept before, and restored after
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRIAL_H
#define FGI_TRAIN_TRIAL_H

#include <fulgurite/train.h>

#include "optim/optimizer.h"
#include "train/trainer.h"

/* What the steps of a trial change. */
typedef struct fgi_trial {
    fg_trainer *trainer;
    fgi_fit fit;
    bool is_restored; /* as in fgi_model */
    fgi_cursor cursor;
    fgi_optimizer_place place;
    bool is_kept; /* what follows is: */
    size_t count; /* of the variables */
    fg_variable **variable;
    void **value; /* on the host */
    bool has_sums;
    float sums[FGI_MOST_SUMS]; /* of an open window of metrics */
    int64_t epoch;             /* of the data, for the next pass */
    bool is_epoch_over;        /* the next step begins a pass */
} fgi_trial;

typedef fg_status fgi_trial_fn(void *self, fgi_trial *trial, fg_error *err);

/* Runs a call of the Trainer: creates what a fit creates before its first step, except for the
 * stage, loads what a fit starts from, and calls `run`. Then everything that was kept is restored,
 * also after a failure. is_search: a signal ends the call, and an error for lack of device memory
 * says which batch fits. */
fg_status fgi_trial_run(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                        bool is_search, fgi_trial_fn *run, void *self, fg_error *err);

/* ---- within `run` ---------------------------------------------------------------------------- */

/* Copies all variables to the host, and the sums of an open window. */
fg_status fgi_trial_keep(fgi_trial *trial, fg_error *err);
/* Runs one optimizer step on the next samples, and waits for it. */
fg_status fgi_trial_step(fgi_trial *trial, float out_sums[FGI_MOST_SUMS], fg_error *err);
fg_status fgi_trial_restore_variables(fgi_trial *trial, fg_error *err);

#endif
