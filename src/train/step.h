/* step.h - a step while it is traced, and its batch: what step functions are given.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STEP_H
#define FGI_TRAIN_STEP_H

#include "train/stage.h"

struct fg_step {
    fg_trace *trace;
    fgi_stage *stage;
    fg_tensor pair[FG_MAX_METRICS]; /* f32[2]: weighted sum, and sum of weights */
    fg_tensor count;                /* f32[]: valid rows of the batch */
    fg_tensor weight;               /* f32[]: the user's for the loss; empty: none */
};

struct fg_batch {
    fg_trace *trace;
    fg_dataset *dataset;
    int field_count;
    fg_tensor field[FG_MAX_FIELDS];
    fg_tensor count; /* f32[]: valid rows */
};

/* Logs what the step returned. */
void fgi_step_log_loss(fg_step *step, fg_tensor loss);
/* By what the losses of batches are weighed to make that of all: f32[]. An error, kept in the
 * trace, where it isn't known. */
fg_tensor fgi_step_loss_weight(const fg_step *step, fg_tensor loss);

/* denominator.c: what a scalar of a step was divided by. */
typedef enum fgi_denominator {
    FGI_BY_ROWS,    /* valid rows, or nothing: a mean over samples weighs by them */
    FGI_BY_WEIGHTS, /* a sum of weights, as of tokens, or a multiple of it        */
    FGI_BY_SEVERAL  /* several, or the value is no longer linear in such a mean   */
} fgi_denominator;
/* rows: the number of valid rows; *out_weight is set for FGI_BY_WEIGHTS. */
fgi_denominator fgi_denominator_of(fg_tensor value, fg_tensor rows, fg_tensor *out_weight);

#endif
