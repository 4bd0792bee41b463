/* trial.h - training steps that leave no trace: what they change is kept before, and restored after
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TUNER_TRIAL_H
#define FGI_TUNER_TRIAL_H

#include "optim/optimizer.h"
#include "train/stage.h"
#include "train/trainer.h"

/* What the steps of a trial change. All zero before fgi_trial_begin. */
typedef struct fgi_trial {
    fg_trainer *trainer;
    fgi_fit fit;
    bool is_restored; /* as in fgi_model */
    fgi_cursor cursor;
    fg_optimizer optimizer; /* its schedule and position */
    size_t count;           /* of the variables */
    fg_variable **variable;
    void **value; /* on the host */
    bool has_sums;
    float sums[FGI_MOST_SUMS]; /* of an open window of metrics */
    int64_t epoch;             /* of the data, for the next pass */
    bool is_epoch_over;        /* true: the next step begins a pass */
} fgi_trial;

/* Creates what a fit creates before its first step, except for the stage, and loads what it starts
 * from. fgi_trial_end is required even after a failure. */
fg_status fgi_trial_begin(fgi_trial *trial, fg_trainer *trainer, const fg_task *task,
                          const fg_fit_data *data, fg_error *err);
/* Copies all variables to the host, and the sums of an open window. */
fg_status fgi_trial_keep(fgi_trial *trial, fg_error *err);
/* Runs one optimizer step of the prepared stage on the next samples, and waits for it. */
fg_status fgi_trial_step(fgi_trial *trial, float *out_sums, fg_error *err);
fg_status fgi_trial_restore_variables(const fgi_trial *trial, fg_error *err);
/* Restores everything that was kept. */
fg_status fgi_trial_restore(const fgi_trial *trial, fg_error *err);
/* The settings and results of the last fit are those from before. */
void fgi_trial_end(fgi_trial *trial);

#endif
