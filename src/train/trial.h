/* trial.h - what src/plan and src/tuner do with a Trainer: compile its step without running it, and
 * run steps that leave no trace, because what they change is kept before, and restored after them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRIAL_H
#define FGI_TRAIN_TRIAL_H

#include <fulgurite/train.h>

#include "train/step/stage.h"

/* ---- a compiled step ------------------------------------------------------------------------- */

/* Samples of a batch on all devices together. The client is open. */
fg_status fgi_batch_size(const fg_trainer *trainer, const fg_fit_data *data, int64_t *out,
                         fg_error *err);
/* Compiles the program of a step for these data, exactly as in training, without running it: the
 * Trainer's client may be one of a topology. *out is borrowed, until the stage gets another
 * program. Errors: those of fit before its first step. */
fg_status fgi_trainer_compile(fg_trainer *trainer, const fg_task *task, fgi_stage_kind kind,
                              const fg_fit_data *data, const fgi_executable **out, fg_error *err);
/* The memory of the training step, once it is compiled. Errors: those of fgi_memory_of. */
fg_status fgi_trainer_memory(const fg_trainer *trainer, fgi_memory *out, fg_error *err);

/* ---- a trial --------------------------------------------------------------------------------- */

typedef struct fgi_trial fgi_trial;
typedef fg_status fgi_trial_fn(void *self, fgi_trial *trial, fg_error *err);

/* Runs a call of the Trainer: creates what a fit creates before its first step, except for the
 * stage, loads what a fit starts from, keeps all variables and the sums of an open window, and
 * calls `run`. Then everything that was kept is restored, also after a failure. is_search: a signal
 * ends the call, and an error for lack of device memory says which batch fits. */
fg_status fgi_trial_run(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                        bool is_search, fgi_trial_fn *run, void *self, fg_error *err);

/* Within `run`: */

/* Borrowed. */
fg_optimizer *fgi_trial_optimizer(const fgi_trial *trial);
/* Its programs. */
fgi_stage *fgi_trial_stage(const fgi_trial *trial);
/* Starts a pass over these data, from the variables that were kept. Its first step has this number.
 */
fg_status fgi_trial_start(fgi_trial *trial, const fg_fit_data *data, int64_t step, fg_error *err);
/* Runs one optimizer step on the next samples, and waits until all devices have finished. *out_loss
 * is its mean loss. Errors: FG_ESTOPPED; those of a step. */
fg_status fgi_trial_step(fgi_trial *trial, double *out_loss, fg_error *err);

#endif
