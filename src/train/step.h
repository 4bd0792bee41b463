/* step.h - a step while it is traced, and its batch: the arguments of step functions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STEP_H
#define FGI_TRAIN_STEP_H

#include "train/stage.h"

struct fg_step {
    fg_trace *trace;
    fgi_stage *stage;
    fg_tensor pair[FG_MAX_METRICS]; /* f32[2]: weighted sum, and sum of weights */
    fg_tensor class_counts;         /* f32[3 C], see fgi_metrics_set_classes; empty: none */
    fg_tensor rows;        /* f32[B, FGI_ROW_VALUES]: of each sample (sample_rows.h); empty: none */
    fg_tensor count;       /* f32[]: valid rows of the batch */
    fg_tensor weight;      /* f32[]: of the loss, set by the user; empty: not set */
    fgi_sharding sharding; /* of a batch */
    fg_sample_key key;     /* of the batch's samples; empty: not used so far */
};

struct fg_batch {
    fg_step *step;
    fg_trace *trace;
    fg_dataset *dataset;
    int field_count;
    fg_tensor field[FG_MAX_FIELDS];
    fg_tensor count; /* f32[]: valid rows */
};

/* In validation and test, keeps values of each sample, T[B] (sample_rows.h). */
void fgi_step_keep_rows(fg_step *step, fg_tensor target, fg_tensor prediction, fg_tensor loss);
/* Logs the loss that the step returned. */
void fgi_step_log_loss(fg_step *step, fg_tensor loss);
/* The weight of this batch's loss in a mean over batches: f32[]. If it is unknown, stores an error
 * in the trace. */
fg_tensor fgi_step_loss_weight(const fg_step *step, fg_tensor loss);

/* What a scalar of a step was divided by. */
typedef enum fgi_denominator {
    FGI_BY_ROWS,    /* valid rows, or nothing: a mean over samples */
    FGI_BY_WEIGHTS, /* a sum of weights, such as tokens, or a multiple of it */
    FGI_BY_SEVERAL  /* several, or the value is not linear in such a mean */
} fgi_denominator;
/* rows: the number of valid rows; *out_weight is set for FGI_BY_WEIGHTS. */
fgi_denominator fgi_denominator_of(fg_tensor value, fg_tensor rows, fg_tensor *out_weight);

#endif
