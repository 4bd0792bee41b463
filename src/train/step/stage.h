/* stage.h - a step function as a program, with its loader and the sums of its metrics. prepare.c
 * traces, compiles and opens it; here is how it runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STAGE_H
#define FGI_TRAIN_STAGE_H

#include <fulgurite/train.h>

#include "data/loader.h"
#include "optim/optimizer.h"
#include "pjrt/pjrt.h"
#include "trace/program.h"
#include "trace/trace.h"
#include "train/state/metrics.h"
#include "train/watch/call.h"
#include "train/watch/watch.h"

/* ---- rows of samples (sample_rows.c) --------------------------------------------------------- */

/* Of a row on the device: target, prediction, loss; then scores, if the metrics rank samples. */
enum { FGI_ROW_VALUES = 3 };
enum { FGI_ROWS_HELD = 64 };      /* batches whose rows are on the device */
enum { FGI_ROWS_WORST = 12 };     /* samples that are kept */
enum { FGI_ROWS_CLASSES = 2048 }; /* more are not counted: the matrix would be larger than 32 MiB */

/* Zero-initialize it. */
typedef struct fgi_sample_rows {
    fg_client *client;              /* borrowed */
    fg_array *array[FGI_ROWS_HELD]; /* f32[B, FGI_ROW_VALUES + scores], owned */
    int64_t valid[FGI_ROWS_HELD];   /* rows of each batch */
    int held;
    int64_t step, samples; /* of the weights; counted so far */
    fg_sample_row worst[FGI_ROWS_WORST];
    size_t worst_count;
    int64_t class_count, *confusion; /* [class_count, class_count]; 0 and NULL: none */
    int64_t label_count;
    double *label_sums; /* [FGI_CLASS_COUNTS, label_count], of several labels per sample */
    float *scored;      /* target and scores of all samples, [samples, score_width + 1] */
    size_t scored_capacity;
    int64_t score_width;
    float *host; /* a batch that is being counted */
    size_t host_bytes;
} fgi_sample_rows;

/* Starts an evaluation. */
void fgi_sample_rows_clear(fgi_sample_rows *rows);
void fgi_sample_rows_fini(fgi_sample_rows *rows);
/* Makes room for those of a batch, and counts older ones if there are many; class_count 0: of a
 * regression. */
fg_status fgi_sample_rows_reserve(fgi_sample_rows *rows, int64_t class_count, fg_error *err);
/* Adds those of a batch, of which `valid` are not padding. */
void fgi_sample_rows_add(fgi_sample_rows *rows, fg_array *take_array, int64_t valid);
/* Counts all that were added. Waits. */
fg_status fgi_sample_rows_count(fgi_sample_rows *rows, fg_error *err);
/* Ranks the samples that were counted: the area under the ROC curve and the average precision,
 * means over the classes of which there are positive samples and, for the area, others. Of two
 * classes, the second one's. Of several labels per sample, scores are followed by targets. */
fg_status fgi_sample_rows_rank(const fgi_sample_rows *rows, bool is_multilabel,
                               double out_ranked[2], fg_error *err);

/* ---- data on the devices (resident.c) -------------------------------------------------------- */

/* The samples of a dataset on each device. */
typedef struct fgi_resident {
    fg_variable *field[FG_MAX_FIELDS]; /* T[samples, ...] */
    bool is_loaded;                    /* otherwise, programs can be compiled, but not run */
} fgi_resident;

/* Whether the samples stay on the devices, next to other data of `others` bytes. Errors:
 * FG_EUNSUPPORTED if they must, but vary. */
fg_status fgi_resident_choose(const fg_client *client, const fg_dataset *dataset,
                              fg_resident wanted, int64_t others, bool *out_is_resident,
                              fg_error *err);
/* The size of all samples. */
int64_t fgi_resident_bytes(const fg_dataset *dataset);
/* On failure, *out is to be destroyed too. */
fg_status fgi_resident_create(const fg_dataset *dataset, fgi_resident **out, fg_error *err);
void fgi_resident_destroy(fgi_resident *resident); /* NULL is allowed */
/* Reads the samples, with that many threads (fg_loader_options), unless they have been read. */
fg_status fgi_resident_load(fgi_resident *resident, fg_dataset *dataset, int64_t workers,
                            fg_error *err);
/* Field f of a batch; row: s32[B], the numbers of its samples. */
fg_tensor fgi_resident_field(const fgi_resident *resident, int f, fg_tensor row);

/* ---- the stage (stage.c) --------------------------------------------------------------------- */

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
    int64_t workers;        /* of fg_loader_options: 0 is auto, FG_NONE none */
    bool is_resident;       /* the batches are rows of `resident` */
    bool has_tail;          /* the last batch is not full: the program masks its padding rows */
    int64_t batch_size;     /* of all devices */
    int field_count;        /* that are uploaded: those of the dataset, or its rows' numbers */
    fg_type field_type[FG_MAX_FIELDS];
    uint64_t trainable;   /* in training: identifies the set of trainable variables */
    int64_t launch_steps; /* most batches of a launch; 0: one, and its program has no loop */
} fgi_stage_spec;

/* The batches of a launch, in host memory. */
typedef struct fgi_stack {
    fg_type type[FG_MAX_FIELDS]; /* T[launch_steps, B, ...] */
    void *data[FG_MAX_FIELDS];
    int64_t count, samples; /* batches, and their valid rows */
    bool was_fresh;         /* the first batch starts new sums */
    bool is_read;           /* by devices, or about to be */
} fgi_stack;

typedef struct fgi_stage {
    fgi_stage_kind kind;
    fg_client *client; /* NULL: not prepared yet */
    fgi_stage_spec spec;
    fg_trace *trace;                     /* kept for its scalars; holds no nodes after tracing */
    fgi_step_program *program;           /* NULL: none yet */
    struct fgi_accumulator *accumulator; /* in training with several batches per step, else NULL */
    fgi_resident *resident;              /* NULL: none */
    fg_loader *loader;                   /* NULL: none yet */
    const fg_host_batch *first;          /* of the next pass, if it was read in advance */
    fg_scalar valid;                     /* s32: valid rows of the batch */
    fg_scalar fresh;                     /* u32: 1 when this launch starts new sums */
    fg_scalar sample_key[2]; /* u32: of the random numbers of samples, from seed and epoch */
    uint32_t *samples; /* [B] or [launch_steps, B], to be uploaded; NULL: the program has none */
    struct fgi_stacks *stacks; /* with launch_steps, else NULL */
    fgi_stack *filling;        /* one of them, with the batches of the next launch; NULL: none */
    fgi_metrics metrics;       /* that its step logs */
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
/* The same of a field on its way to the devices: a batch, or a stack of batches. */
fgi_sharding fgi_stage_input_sharding(const fgi_stage *stage);

/* ---- running it ------------------------------------------------------------------------------ */

/* Before a launch: sets the scalars that follow from the batch. */
void fgi_stage_set_batch(fgi_stage *stage, const fg_host_batch *batch, uint64_t seed);
/* Notes the samples of batch `number` of a launch, if the program uses them (fg_batch_key). */
void fgi_stage_set_samples(fgi_stage *stage, int64_t number, const fg_host_batch *batch);
/* Those of the launch on the devices; NULL: the program does not use them. */
fg_status fgi_stage_upload_samples(const fgi_stage *stage, fg_array **out, fg_error *err);
/* Launches the program on spec.field_count fields and these samples, which are borrowed. The
 * new sums replace the stage's; a prediction is returned in *out_prediction. */
fg_status fgi_stage_launch(fgi_stage *stage, fg_array *const *fields, fg_array *samples,
                           fg_array **out_prediction, fgi_event **out_done, fg_error *err);

/* ---- several batches per launch (batches.c) -------------------------------------------------- */

/* Allocates the stacks if spec.launch_steps requires them. */
fg_status fgi_stage_make_stacks(fgi_stage *stage, fg_error *err);
void fgi_stage_drop_stacks(fgi_stage *stage);
/* The most batches of a launch. */
static inline int64_t fgi_stage_launch_most(const fgi_stage *stage)
{
    return stage->spec.launch_steps > 0 ? stage->spec.launch_steps : 1;
}
/* A stack that no device reads; NULL: there is none yet. */
fgi_stack *fgi_stage_free_stack(fgi_stage *stage);
/* A launch begins: batches that were added before and never launched are dropped. */
void fgi_stage_begin_stack(fgi_stage *stage);
/* Adds a batch, for which the stage's scalars are set. */
void fgi_stage_add_to_stack(fgi_stage *stage, fgi_stack *stack, const fg_host_batch *batch);

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

/* ---- a step while it is traced (step.c) ------------------------------------------------------ */

struct fg_step {
    fg_trace *trace;
    fgi_stage *stage;
    fg_tensor pair[FG_MAX_METRICS]; /* f32[2]: weighted sum, and sum of weights */
    fg_tensor class_counts;         /* f32[3 C], see fgi_metrics_set_classes; empty: none */
    fg_strings chosen;              /* metrics: of the task; none: the default ones */
    fg_tensor
        rows; /* f32[B, FGI_ROW_VALUES + scores]: of each sample (sample_rows.c); empty: none */
    fg_tensor count;               /* f32[]: valid rows of the batch */
    fg_tensor weight;              /* f32[]: of the losses, set by the user; empty: not set */
    const fg_optimizer *optimizer; /* NULL: none yet */
    struct {
        char name[40]; /* of a part */
        fg_tensor value;
    } loss[FG_MOST_PARTS]; /* those that the user set, and how many */
    size_t loss_count;
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

/* Logs the loss that the step returned, and those that it set. */
void fgi_step_log_losses(fg_step *step, fg_tensor loss);
/* The loss of each part of the optimizer, or of the optimizer; out has room for FG_MOST_PARTS. */
void fgi_step_losses(const fg_step *step, fg_tensor loss, fg_tensor *out);
/* Whether it is a loss: a floating-point scalar. Otherwise stores an error. */
bool fgi_step_is_loss(const fg_step *step, const char *what, fg_tensor value);
/* The weight of this batch's loss in a mean over batches: f32[]. If it is unknown, stores an error
 * in the trace. */
fg_tensor fgi_step_loss_weight(const fg_step *step, fg_tensor loss);

/* ---- several batches per step (accumulate.c) ------------------------------------------------- */

typedef struct fgi_accumulator {
    fg_optimizer *optimizer; /* borrowed */
    fg_trace *trace;         /* of the update program; kept for its scalars */
    fgi_step_program *update;
    /* For each of the optimizer's parameters: f64 if the parameter is, else f32. NULL for those
     * without a gradient, which the update does not change. */
    fg_variable **sum;
    size_t count;
    fg_variable *weight[FG_MOST_PARTS]; /* f32[]: sums of the batches' weights, by loss */
    fg_scalar fresh;                    /* u32: 1 if the sums restart with this batch */
    int64_t batches;                    /* of the step so far */
} fgi_accumulator;

/* Sums of gradients over the batches of a step. The optimizer is borrowed. */
fg_status fgi_accumulator_create(fg_optimizer *optimizer, fgi_accumulator **out, fg_error *err);
void fgi_accumulator_destroy(fgi_accumulator *accumulator); /* NULL is allowed */
/* Whether a launch that failed has consumed sums. */
bool fgi_accumulator_is_lost(const fgi_accumulator *accumulator);
/* Traces the accumulation of a batch's gradients, of one loss for each part of the optimizer, or of
 * one; weights: f32[], the denominators of the losses. */
void fgi_accumulate(fgi_accumulator *accumulator, const fg_tensor *losses,
                    const fg_tensor *weights);
/* Compiles the program of the update, with what callbacks add, after this step. */
fg_status fgi_accumulator_compile(fgi_accumulator *accumulator, fg_client *client,
                                  const fgi_callbacks *callbacks, int64_t step,
                                  fgi_history *history, fg_error *err);
/* Sets the scalars of the next batch. */
void fgi_accumulator_add(fgi_accumulator *accumulator);

/* ---- the device memory of a program (device_memory.c) ---------------------------------------- */

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
