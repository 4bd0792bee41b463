/* stage.h - a step function as a program, with its loader and the sums of its metrics. prepare.c
 * traces, compiles and opens it; here is how it runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STAGE_H
#define FGI_TRAIN_STAGE_H

#include <fulgurite/train.h>

#include "data/loader.h"
#include "optim/optimizer.h"
#include "trace/program.h"
#include "trace/trace.h"
#include "train/activity.h"
#include "train/metrics.h"
#include "train/sample_rows.h"

enum { FGI_MOST_SUMS = 2 * FG_MAX_METRICS + FGI_HEALTH };

struct fgi_accumulator;

/* What the task built; lives as long as the Trainer. */
typedef struct fgi_model {
    fg_task task;
    fg_module *root;            /* NULL until the first call */
    fg_optimizer *optimizer;    /* owned by root; NULL until the first fit */
    fg_load_report load_report; /* of options.checkpoints.weights */
    bool is_restored;           /* resume and weights have been handled */
    int64_t lost_step;          /* training step whose failure destroyed the weights, 0: none */
} fgi_model;

/* What loader and program depend on. */
typedef struct fgi_stage_spec {
    fg_dataset *dataset; /* borrowed; the loader holds a reference */
    bool no_shuffle, drop_last;
    int64_t shuffle_buffer; /* 0: not a source, or not shuffled */
    int workers;            /* -1: auto */
    bool has_tail;          /* the last batch is not full: the program masks its padding rows */
    int64_t batch_size;     /* of all devices */
    int field_count;
    fg_type field_type[FG_MAX_FIELDS];
    uint64_t trainable; /* in training: identifies the set of trainable variables */
} fgi_stage_spec;

typedef struct fgi_stage {
    fgi_stage_kind kind;
    fg_client *client; /* NULL: not prepared yet */
    fgi_stage_spec spec;
    fg_trace *trace;                     /* kept for its scalars; holds no nodes after tracing */
    fgi_step_program *program;           /* NULL: none yet */
    struct fgi_accumulator *accumulator; /* in training with several batches per step, else NULL */
    fg_loader *loader;                   /* NULL: none yet */
    const fg_host_batch *first;          /* of the next pass, if it was read in advance */
    fg_scalar valid;                     /* s32: valid rows of the batch */
    fg_scalar fresh;                     /* u32: 1 when this launch starts new sums */
    fg_scalar sample_key[2]; /* u32: of the random numbers of samples, from seed and epoch */
    uint32_t *samples;       /* [B], of a batch being uploaded; NULL: the program has none */
    fgi_metrics metrics;     /* that its step logs */
    fg_array *sums;
    bool has_rows;                       /* its step logs rows of samples */
    fgi_sample_rows rows;                /* of the last pass */
    fgi_history history, update_history; /* of its programs */
    fg_loader_stats loaded;              /* when the current call started */
    /* processor time of the loader's threads: before the current call, and in it */
    int64_t cpu_before_ns[FGI_MOST_WORKERS];
    double cpu_s[FGI_MOST_WORKERS];
} fgi_stage;

fg_status fgi_stage_create(fgi_stage_kind kind, fgi_stage **out, fg_error *err);
void fgi_stage_destroy(fgi_stage *stage); /* NULL is allowed */
/* Frees everything that it has been prepared with. */
void fgi_stage_empty(fgi_stage *stage);
/* Frees the programs, and with them what is only valid for them. */
void fgi_stage_drop_programs(fgi_stage *stage);
/* Replaces the loader by another one, or none, and drops the first batch of the old one. */
void fgi_stage_set_loader(fgi_stage *stage, fg_loader *take_loader);
/* Batches of a pass over the stage's data, -1 if not known; limit 0: no limit. */
int64_t fgi_stage_batches(const fgi_stage *stage, int64_t limit);
/* A call starts with the loader of an earlier one: what it does is counted from here. */
void fgi_stage_watch_input(fgi_stage *stage);
/* What the loader has done since; the judgement is missing. */
void fgi_stage_report_input(fgi_stage *stage, fg_input_report *out);
/* The sharding of a batch: the first dimension over the batch axes of the mesh. */
fgi_sharding fgi_batch_sharding(const fg_client *client);

/* ---- running it ------------------------------------------------------------------------------ */

/* Before a launch: sets the scalars that follow from the batch. */
void fgi_stage_set_batch(fgi_stage *stage, const fg_host_batch *batch, uint64_t seed);
/* The sample indices of a batch on the devices, if the program uses them (fg_batch_key), else NULL.
 */
fg_status fgi_stage_upload_samples(fgi_stage *stage, const fg_host_batch *batch, fg_array **out,
                                   fg_error *err);
/* Launches the program on spec.field_count fields and these samples, which are borrowed. The
 * new sums replace the stage's; a prediction is returned in *out_prediction. */
fg_status fgi_stage_launch(fgi_stage *stage, fg_array *const *fields, fg_array *samples,
                           fg_array **out_prediction, fgi_event **out_done, fg_error *err);

/* ---- sums ------------------------------------------------------------------------------------ */

/* Sums are f32[fgi_stage_sum_count] on the device: (sum, weight) of each metric, followed by those
 * of classes; in training, which has none, by the health of the update. */
size_t fgi_stage_sum_count(const fgi_stage *stage);
fg_type fgi_stage_sums_type(const fgi_stage *stage);
/* The next launch starts new sums, which are allocated if there are none. */
fg_status fgi_stage_clear_sums(fgi_stage *stage, fg_error *err);
/* The next launch starts new sums; they are allocated. */
void fgi_stage_restart_sums(fgi_stage *stage);
/* The next launch continues from these. */
fg_status fgi_stage_set_sums(fgi_stage *stage, const float *sums, fg_error *err);
/* Starts copying them to out, without waiting. */
fg_status fgi_stage_read_sums(const fgi_stage *stage, float *out, fgi_event **out_arrived,
                              fg_error *err);
/* Releases them: those of a step that failed would make the next step fail. */
void fgi_stage_drop_sums(fgi_stage *stage);

#endif
