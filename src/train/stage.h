/* stage.h - a step function as a program, with its loader and the sums of its metrics.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STAGE_H
#define FGI_TRAIN_STAGE_H

#include <fulgurite/train.h>

#include "trace/program.h"

enum {
    FGI_HEALTH_SIZE = 6, /* numbers that the optimizer tells of an update */
    FGI_MOST_SUMS = 2 * FG_MAX_METRICS + FGI_HEALTH_SIZE,
    FGI_HEALTH_METRICS = 3 /* that may come of them */
};

typedef enum fgi_stage_kind { FGI_TRAIN, FGI_VAL, FGI_TEST, FGI_PREDICT } fgi_stage_kind;

/* How a metric follows from the means of what was logged (regression.c). */
typedef struct fgi_metric_rule {
    enum {
        FGI_MEAN,          /* the mean itself */
        FGI_SCALED,        /* times factor */
        FGI_ROOT,          /* its square root, times factor */
        FGI_DETERMINATION, /* R^2, from the means before, here and behind */
        FGI_HIDDEN         /* only for the one before */
    } kind;
    double factor;
} fgi_metric_rule;

typedef struct fgi_stage {
    fgi_stage_kind kind;
    fg_trace *trace; /* kept for its scalars; holds no nodes after tracing */
    fgi_step_program *program;
    struct fgi_accumulator
        *accumulator; /* of a training whose steps are of several batches, or NULL */
    fg_loader *loader;
    fg_dataset *dataset;        /* that the loader reads, which holds it */
    bool no_shuffle, drop_last; /* as the loader was made with */
    const fg_host_batch *first; /* of the coming pass, read ahead; NULL: not yet */
    int64_t shuffle_buffer;     /* likewise; 0: not a source, or not shuffled */
    int workers;
    bool has_tail; /* the program masks the last batch */
    int64_t batch_size;
    int field_count;
    fg_type field_type[FG_MAX_FIELDS];
    uint64_t trainable; /* of a training: which variables the program was traced to change */
    fg_scalar valid;    /* s32: rows of the batch that count */
    fg_scalar fresh;    /* u32: 1 when the sums begin anew at this step */
    size_t metric_count;
    char metric[FG_MAX_METRICS][48]; /* without the stage's prefix */
    fgi_metric_rule rule[FG_MAX_METRICS];
    fg_array *sums; /* f32[fgi_stage_sums]: sum, count of each metric; in training
                       followed by the update's health */
} fgi_stage;

/* The value of metric i of a stage from (sum, weight) of each; false where it is not shown. */
bool fgi_metric_value(const fgi_stage *stage, size_t i, const double *sum, const double *weight,
                      double *out);
fgi_stage *fgi_step_stage(const fg_step *step);

/* "train_", "val_", "test_", "". */
const char *fgi_stage_prefix(fgi_stage_kind kind);

/* The stage's loader and program for these data, made on first use. */
fg_status fgi_stage_prepare(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err);
/* Traces the training's programs anew where variables have been frozen or made trainable since. */
fg_status fgi_stage_refresh(fg_trainer *trainer, fgi_stage *stage, fg_error *err);
/* Its program alone. */
fg_status fgi_stage_compile(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err);
void fgi_stage_fini(fgi_stage *stage);
/* Gives back a batch that was read ahead. */
void fgi_stage_drop_first(fgi_stage *stage);
/* The next step begins new sums; there are some to begin from. */
fg_status fgi_stage_clear_sums(fg_trainer *trainer, fgi_stage *stage, fg_error *err);
bool fgi_same_type(const fg_type *a, const fg_type *b);
/* How many batches of a pass the options want, of a stage that is prepared; 0: no limit. */
int64_t fgi_stage_limit(const fg_trainer *trainer, fgi_stage_kind kind);
/* Batches of a pass over the stage's data, -1 if not known; limit 0: no limit. */
int64_t fgi_stage_batches(const fgi_stage *stage, int64_t limit);

/* Numbers in the stage's sums. */
size_t fgi_stage_sums(const fgi_stage *stage);

#endif
