/* train_compile.h - compiles the program of a step without running it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRAIN_COMPILE_H
#define FGI_TRAIN_TRAIN_COMPILE_H

#include <fulgurite/train.h>

#include "pjrt/pjrt.h"
#include "train/stage.h"

/* Compiles the program of a step for these data, exactly as in training, without running it: the
 * Trainer's client may be one of a topology. *out is borrowed, until the stage gets another
 * program. Errors: those of fit before its first step. */
fg_status fgi_trainer_compile(fg_trainer *trainer, const fg_task *task, fgi_stage_kind kind,
                              const fg_fit_data *data, const fgi_executable **out, fg_error *err);
/* Memory on one device that persists between steps, in bytes by type, without padding. */
typedef struct fgi_state_bytes {
    int64_t parameters, buffers, optimizer;
} fgi_state_bytes;
fgi_state_bytes fgi_trainer_state_bytes(const fg_trainer *trainer);

#endif
