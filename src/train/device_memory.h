/* device_memory.h - compiles the program of a step without running it, and the device memory that
 * it needs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_DEVICE_MEMORY_H
#define FGI_TRAIN_DEVICE_MEMORY_H

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

/* Bytes on one device, as reported by the compiled program, including padding. */
typedef struct fgi_memory {
    int64_t parameters, optimizer; /* by their types; buffers are included in the parameters */
    int64_t batch;                 /* all other arguments, and the padding of all arguments */
    int64_t activations; /* temporary values, and results that do not reuse an argument's memory */
    int64_t program;
    int64_t need;  /* the sum */
    int64_t limit; /* of the smallest device, -1: unknown */
} fgi_memory;

/* The memory of a stage that has a program. Errors: those of the plugin if it is unknown. */
fg_status fgi_memory_of(const fg_trainer *trainer, fgi_stage_kind kind, fgi_memory *out,
                        fg_error *err);
/* Checks that the stage's program fits in the free memory of each device; FG_OK if that is
 * unknown. The error (FG_EDEVMEM) contains a breakdown. */
fg_status fgi_memory_check(const fg_trainer *trainer, const fgi_stage *stage, fg_error *err);
/* Adds to the error of a fit that ran out of device memory which batch size fits, determined by
 * compiling smaller ones. */
void fgi_memory_explain(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);

#endif
