/* stage.h - a step function as a program, with its loader and the sums of its metrics. What a
 * stage holds is private to stage.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STAGE_H
#define FGI_TRAIN_STAGE_H

#include <fulgurite/train.h>

#include "trace/program.h"
#include "train/metrics.h"

enum {
    FGI_HEALTH_SIZE = 6, /* numbers that the optimizer reports for an update */
    FGI_MOST_SUMS = 2 * FG_MAX_METRICS + FGI_HEALTH_SIZE,
    FGI_HEALTH_METRICS = 3 /* at most, derived from them */
};

typedef enum fgi_stage_kind { FGI_TRAIN, FGI_VAL, FGI_TEST, FGI_PREDICT } fgi_stage_kind;

struct fgi_accumulator;
struct fgi_sample_rows;
typedef struct fgi_stage fgi_stage;

fg_status fgi_stage_create(fgi_stage_kind kind, fgi_stage **out, fg_error *err);
void fgi_stage_destroy(fgi_stage *stage); /* NULL is allowed */

/* ---- what it is ------------------------------------------------------------------------------ */

/* "train_", "val_", "test_", "". */
const char *fgi_stage_prefix(fgi_stage_kind kind);
fgi_stage_kind fgi_stage_get_kind(const fgi_stage *stage);
int64_t fgi_stage_batch_size(const fgi_stage *stage); /* of all devices */
fg_client *fgi_stage_client(const fgi_stage *stage);  /* NULL: not prepared yet */
int fgi_stage_field_count(const fgi_stage *stage);
const fg_dataset *fgi_stage_dataset(const fgi_stage *stage);           /* NULL: none yet */
fg_loader *fgi_stage_loader(const fgi_stage *stage);                   /* NULL: none yet */
fgi_step_program *fgi_stage_program(const fgi_stage *stage);           /* NULL: none yet */
struct fgi_accumulator *fgi_stage_accumulator(const fgi_stage *stage); /* NULL: none needed */
fgi_metrics *fgi_stage_metrics(const fgi_stage *stage);                /* that its step logs */
/* The stage that a step belongs to while it is traced. */
fgi_stage *fgi_step_stage(const fg_step *step);
/* The limit on the batches of an evaluation by the options, for a stage that is prepared; 0: none.
 */
int64_t fgi_stage_limit(const fg_trainer *trainer, fgi_stage_kind kind);
/* Batches of a pass over the stage's data, -1 if not known; limit 0: no limit. */
int64_t fgi_stage_batches(const fgi_stage *stage, int64_t limit);

/* ---- preparing it ---------------------------------------------------------------------------- */

/* Makes sure that the stage has a loader and a program for these data. */
fg_status fgi_stage_prepare(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err);
/* What its loader did since it was last prepared; the judgement is missing. */
void fgi_stage_report_input(const fgi_stage *stage, fg_input_report *out);
/* Traces the programs again if variables have been frozen or made trainable since. */
fg_status fgi_stage_refresh(fg_trainer *trainer, fgi_stage *stage, fg_error *err);
/* Compiles the program only. */
fg_status fgi_stage_compile(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err);
/* The first batch of the next pass, if it was read in advance: kept until it is taken, which
 * returns NULL if there is none. */
void fgi_stage_keep_first(fgi_stage *stage, const fg_host_batch *take_batch);
bool fgi_stage_has_first(const fgi_stage *stage);
const fg_host_batch *fgi_stage_take_first(fgi_stage *stage);

/* ---- running it ------------------------------------------------------------------------------ */

/* Before a launch: sets its scalars, such as valid rows, random keys, learning rate. batch NULL:
 * the update of a step of several batches. */
void fgi_stage_begin_launch(void *trainer, fgi_stage *stage, const fg_host_batch *batch);
/* The sample indices of a batch on the devices, if the program uses them (fg_batch_key), else NULL.
 */
fg_status fgi_stage_upload_samples(fgi_stage *stage, const fg_host_batch *batch, fg_array **out,
                                   fg_error *err);
/* Launches the program on fgi_stage_field_count fields and these samples, which are borrowed. The
 * new sums replace the stage's; a prediction is returned in *out_prediction. */
fg_status fgi_stage_launch(fgi_stage *stage, fg_array *const *fields, fg_array *samples,
                           fg_array **out_prediction, fgi_event **out_done, fg_error *err);

/* ---- sums ------------------------------------------------------------------------------------ */

/* Sums are f32[fgi_stage_sum_count] on the device: (sum, weight) of each metric, followed by those
 * of classes; in training, which has none, by the health of the update. */
size_t fgi_stage_sum_count(const fgi_stage *stage);
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
/* The rows of the samples of the last pass; empty unless its step logs any. */
struct fgi_sample_rows *fgi_stage_rows(fgi_stage *stage);

#endif
