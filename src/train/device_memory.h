/* device_memory.h (internal) - what a training step needs of a device's memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_DEVICE_MEMORY_H
#define FGI_TRAIN_DEVICE_MEMORY_H

#include "train/stage.h"

/* Bytes of one device, as the compiled program says: padding is in them. */
typedef struct fgi_memory {
    int64_t parameters, optimizer; /* as their types say, buffers with the parameters */
    int64_t batch;                 /* all other arguments, and what padding adds to any */
    int64_t activations;           /* temporary values, and results that take no argument's place */
    int64_t program;
    int64_t need;  /* all of it */
    int64_t limit; /* of the smallest device, -1 where it does not say */
} fgi_memory;

/* Of a stage that has a program. Errors: those of the plugin that does not say. */
fg_status fgi_memory_of(const fg_trainer *trainer, fgi_stage_kind kind, fgi_memory *out,
                        fg_error *err);
/* Whether the stage's program fits into what is free of each device; FG_OK where nobody says. The
 * error (FG_EDEVMEM) says what takes how much. */
fg_status fgi_memory_check(const fg_trainer *trainer, const fgi_stage *stage, fg_error *err);
/* Adds to an error of a fit that had too little memory which batch fits, found by compiling smaller
 * ones. */
void fgi_memory_explain(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);
/* "1.23 GB" */
const char *fgi_bytes_text(int64_t bytes, char *out, size_t size);

#endif
