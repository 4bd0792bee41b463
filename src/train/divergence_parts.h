/* divergence_parts.h - what is known about divergence: for divergence.c and divergence_report.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_DIVERGENCE_PARTS_H
#define FGI_TRAIN_DIVERGENCE_PARTS_H

#include "train/divergence.h"

/* Where the batches of the last steps are in the data. */
enum { FGI_NOTED_BATCHES = 1024 };
typedef struct fgi_noted_batch {
    int64_t step, epoch, position, next_position;
} fgi_noted_batch;

/* In checkpoints. */
typedef struct fgi_divergence_state {
    int64_t has_start; /* 1: the loss of the first step is known: */
    double start;
    int64_t exploded; /* 1: since the last line, the loss is far above it, or has not been back */
    int64_t lines;    /* of the log whose loss was finite and had not exploded */
    double first, mean, best; /* loss of the first; sum of the moving average; lowest average */
    int64_t high;             /* lines in a row whose loss is too high */
    int64_t bad;              /* steps with a gradient that is not finite that were ignored */
    int64_t rollbacks;
    int64_t returned; /* 1: no good checkpoint was saved since the last of these */
    double lr_factor;
} fgi_divergence_state;

struct fgi_divergence {
    fgi_divergence_state at;
    bool is_noticed;                          /* in this fit, since it last went back */
    bool has_warned;                          /* in this fit, with on_divergence: ignore */
    int64_t good_step;                        /* of the last good checkpoint, -1: unknown */
    char good[512];                           /* last good checkpoint, "": none ... */
    char older[512];                          /* ... and the one before it */
    fgi_noted_batch batch[FGI_NOTED_BATCHES]; /* a ring */
    uint64_t batch_count;
};

/* What was noticed. */
typedef struct fgi_diverged {
    enum { FGI_BAD_LOSS, FGI_HIGH_LOSS, FGI_BAD_GRADIENT, FGI_ANOMALY } reason;
    int64_t step;                 /* it was noticed at */
    int64_t first_step;           /* whose gradient was not finite first; 0: unknown */
    double loss;                  /* of the line; NaN also if there was none */
    const fg_variable *parameter; /* with this gradient; NULL: unknown */
    bool is_nan;
} fgi_diverged;

/* Adds a line with this loss; returns whether the lines in a row that are too high are enough. A
 * loss that is not finite counts as too high, even if it is not divergence by itself: with loss
 * scaling, a single step may overflow. The options have their defaults. */
bool fgi_divergence_add(fgi_divergence_state *at, const fg_trainer_divergence *options,
                        double loss);

/* Fills in the error, FG_ENUMERIC, and appends a line to divergence.jsonl in the run folder:
 * the step, the parameter, and the samples of the step (divergence_report.c). */
fg_status fgi_divergence_describe(fg_trainer *trainer, const fgi_diverged *what, fg_error *err);

#endif
