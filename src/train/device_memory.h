/* device_memory.h (internal) - the device memory that a training step needs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_DEVICE_MEMORY_H
#define FGI_TRAIN_DEVICE_MEMORY_H

#include "train/stage.h"

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
