/* result.h - what a call of the Trainer reports.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_RESULT_H
#define FGI_TRAIN_RESULT_H

#include <fulgurite/train.h>

#include "train/stage.h"

/* A public call starts: checks its arguments, clears the result. */
fg_status fgi_trainer_enter(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                            fg_error *err);
/* Completes the result of a call that ran steps of this stage. */
void fgi_result_end(fg_trainer *trainer, fgi_stage_kind kind);
/* The call ends with this status; unless it is FG_OK, *error is copied to err. */
fg_status fgi_trainer_leave(fg_trainer *trainer, fg_status status, const fg_error *error,
                            fg_error *err);
/* Sets or replaces metrics in the result. */
void fgi_result_put(fg_result *result, const fg_metric *metrics, size_t count);

#endif
