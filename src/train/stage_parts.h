/* stage_parts.h - what a stage holds: for stage.c and stage_program.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STAGE_PARTS_H
#define FGI_TRAIN_STAGE_PARTS_H

#include "train/sample_rows.h"
#include "train/stage.h"

/* What loader and program depend on. */
typedef struct fgi_stage_spec {
    fg_dataset *dataset; /* borrowed; the loader holds a reference */
    bool no_shuffle, drop_last;
    int64_t shuffle_buffer; /* 0: not a source, or not shuffled */
    int workers;
    bool has_tail; /* the last batch is not full: the program masks its padding rows */
    int64_t batch_size;
    int field_count;
    fg_type field_type[FG_MAX_FIELDS];
    uint64_t trainable; /* in training: identifies the set of trainable variables */
} fgi_stage_spec;

struct fgi_stage {
    fgi_stage_kind kind;
    fgi_stage_spec spec;
    fg_trace *trace; /* kept for its scalars; holds no nodes after tracing */
    fgi_step_program *program;
    struct fgi_accumulator *accumulator; /* in training with several batches per step */
    fg_loader *loader;
    fg_loader_stats loaded;            /* when the current call started */
    struct fgi_worker_cpu *worker_cpu; /* of the loader's threads */
    const fg_host_batch *first;        /* of the next pass, read in advance */
    fg_scalar valid;                   /* s32: valid rows of the batch */
    fg_scalar fresh;                   /* u32: 1 when this launch starts new sums */
    fg_scalar sample_key[2]; /* u32: of the random numbers of samples, from seed and epoch */
    uint32_t *samples;       /* [B], of a batch being uploaded; NULL: the program has none */
    fgi_metrics *metrics;
    fg_array *sums;
    bool has_rows; /* its step logs rows of samples */
    fgi_sample_rows rows;
    fgi_history history, update_history; /* of its programs */
};

/* sample_key.c: sets the two words of the key of fg_batch_key. */
void fgi_stage_set_sample_key(fgi_stage *stage, uint64_t seed, int64_t epoch);

/* stage_program.c: traces and compiles the program of the stage's step and, where gradients are
 * accumulated over batches, that of the update. */
fg_status fgi_stage_build(fg_trainer *trainer, fgi_stage *stage, fg_error *err);

#endif
