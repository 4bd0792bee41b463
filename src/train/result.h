/* result.h - what a call of the Trainer reports.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_RESULT_H
#define FGI_TRAIN_RESULT_H

#include <fulgurite/train.h>

#include "train/stage.h"

/* A public call begins: checks its arguments, clears the result. */
fg_status fgi_trainer_enter(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                            fg_error *err);
/* Figures of the call, whose steps were this stage's. */
void fgi_result_end(fg_trainer *trainer, fgi_stage_kind kind);
/* It ends with this status; *error goes to err unless that is FG_OK. */
fg_status fgi_trainer_leave(fg_trainer *trainer, fg_status status, const fg_error *error,
                            fg_error *err);
/* Sets or replaces metrics in the result. */
void fgi_result_put(fg_result *result, const fg_metric *metrics, size_t count);

#endif
