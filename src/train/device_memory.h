/* device_memory.h - the device memory that the program of a step needs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_DEVICE_MEMORY_H
#define FGI_TRAIN_DEVICE_MEMORY_H

#include "train/stage.h"

/* Memory on one device that persists between steps, in bytes by type, without padding. */
typedef struct fgi_state_bytes {
    int64_t parameters, buffers, optimizer;
} fgi_state_bytes;
fgi_state_bytes fgi_state_bytes_of(const fgi_model *model, const fg_client *client);

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
fg_status fgi_memory_of(const fgi_model *model, const fgi_stage *stage, fgi_memory *out,
                        fg_error *err);
/* Checks that the stage's program fits in the free memory of each device; FG_OK if that is
 * unknown. The error (FG_EDEVMEM) contains a breakdown. */
fg_status fgi_memory_check(const fgi_model *model, const fgi_stage *stage, fg_error *err);
/* "parameters 45 MB, optimizer 90 MB, batch 3 MB, activations 15 GB, program 12 MB" */
void fgi_memory_put(const fgi_memory *memory, char *out, size_t size);
/* Bytes of the device with the least memory; -1: unknown. */
int64_t fgi_memory_limit(const fg_client *client);

#endif
