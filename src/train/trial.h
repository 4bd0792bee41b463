/* trial.h - training steps that leave no trace: what they change is kept before, and restored after
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRIAL_H
#define FGI_TRAIN_TRIAL_H

#include <fulgurite/train.h>

#include "train/device_memory.h"
#include "train/stage.h"

typedef struct fgi_trial fgi_trial;

typedef fg_status fgi_trial_fn(void *self, fgi_trial *trial, fg_error *err);

/* Runs a call of the Trainer: creates what a fit creates before its first step, except for the
 * stage, loads what a fit starts from, and calls `run`. Then everything that was kept is restored,
 * also after a failure. is_search: a signal ends the call, and an error for lack of device memory
 * says which batch fits. */
fg_status fgi_trial_run(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                        bool is_search, fgi_trial_fn *run, void *self, fg_error *err);

/* ---- within `run` ---------------------------------------------------------------------------- */

/* Makes sure that there are a loader and a program for these data. */
fg_status fgi_trial_prepare(fgi_trial *trial, const fg_fit_data *data, fg_error *err);
/* Copies all variables to the host, and the sums of an open window. */
fg_status fgi_trial_keep(fgi_trial *trial, fg_error *err);
/* The next step begins a pass over the data. */
void fgi_trial_rewind(fgi_trial *trial);
/* Sets the number of the next step. */
void fgi_trial_set_step(fgi_trial *trial, int64_t step);
/* Runs one optimizer step on the next samples, and waits for it. */
fg_status fgi_trial_step(fgi_trial *trial, float out_sums[FGI_MOST_SUMS], fg_error *err);
/* Waits for all launches. */
fg_status fgi_trial_drain(fgi_trial *trial, fg_error *err);
fg_status fgi_trial_restore_variables(fgi_trial *trial, fg_error *err);
/* Whether a signal requests a stop. */
bool fgi_trial_is_stopped(fgi_trial *trial);
fg_optimizer *fgi_trial_optimizer(const fgi_trial *trial);
/* What the training step logs; it is prepared. */
const fgi_metrics *fgi_trial_metrics(const fgi_trial *trial);
/* The memory of the step that was prepared. */
fg_status fgi_trial_memory(const fgi_trial *trial, fgi_memory *out, fg_error *err);
/* Shards of a batch. */
int fgi_trial_shards(const fgi_trial *trial);

#endif
