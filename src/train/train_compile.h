/* train_compile.h - the program of a step, compiled and not run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRAIN_COMPILE_H
#define FGI_TRAIN_TRAIN_COMPILE_H

#include <fulgurite/train.h>

#include "pjrt/pjrt.h"
#include "train/stage.h"

/* The program of a step for these data, compiled by the way of training and not run: the
 * Trainer's client may be one of a topology. Borrowed: lives until the stage gets another one.
 * Errors: as fit's before its first step. */
fg_status fgi_trainer_compile(fg_trainer *trainer, const fg_task *task, fgi_stage_kind kind,
                              const fg_fit_data *data, const fgi_executable **out, fg_error *err);
/* What stays on one device from step to step, in bytes as the types say, without padding. */
typedef struct fgi_state_bytes {
    int64_t parameters, buffers, optimizer;
} fgi_state_bytes;
fgi_state_bytes fgi_trainer_state_bytes(const fg_trainer *trainer);

#endif
