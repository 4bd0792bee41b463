/* divergence.h - the health of a fit: what the optimizer reports about its updates, and a loss that
 * is not finite or has diverged: noticing it, describing it, and what a checkpoint holds of it.
 * Rolling back to a checkpoint is in fit.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_DIVERGENCE_H
#define FGI_TRAIN_DIVERGENCE_H

#include <fulgurite/train.h>

#include "optim/optimizer.h"
#include "train/state/cursor.h"
#include "train/step/stage.h"
#include "train/watch/call.h"

/* ---- health of updates (health.c) ------------------------------------------------------------ */

struct fgi_precision;

/* Parts of the Trainer. */
typedef struct fgi_health_uses {
    const fg_trainer_options *options;
    const struct fgi_precision *precision;
    fg_client *const *client;       /* NULL before the first call */
    fg_optimizer *const *optimizer; /* NULL before the first fit */
} fgi_health_uses;

enum { FGI_HEALTH_METRICS = 3 /* at most, derived from the report */ };

/* Zero, apart from `of`, when the Trainer is created. */
typedef struct fgi_health {
    fgi_health_uses of;
    float value[FGI_HEALTH]; /* as last read; zeros if !is_known */
    bool is_known, has_warned_of_bad, has_warned_of_lost;
} fgi_health;

/* Takes values that have arrived, f32[FGI_HEALTH]. */
void fgi_health_take(fgi_health *health, const float *values, int64_t step);
/* After all steps so far: waits for the last values, and takes them. */
fg_status fgi_health_read(fgi_health *health, int64_t step, fg_error *err);
/* The anomaly that was taken last: the parameter, whether its gradient has a NaN, and the step.
 * NULL: none. */
const fg_variable *fgi_health_anomaly(const fgi_health *health, bool *out_is_nan,
                                      int64_t *out_step);
/* Writes them as metrics, at most FGI_HEALTH_METRICS; returns how many. */
size_t fgi_health_metrics(const fgi_health *health, fg_metric *out);
/* Writes them to the result. */
void fgi_health_result(const fgi_health *health, fg_result *out);

/* ---- divergence (divergence.c) --------------------------------------------------------------- */

struct json_t;

/* ---- what is known, for divergence.c and its tests ------------------------------------------- */

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

/* Parts of the Trainer. */
typedef struct fgi_divergence_uses {
    const fg_trainer_options *options;
    const fgi_call *call;
    const fgi_cursor *cursor;
    fg_optimizer *const *optimizer; /* NULL before the first fit */
    const fgi_stage *stage;         /* of training */
    fgi_health *health;
    void (*settle)(void *self); /* called before a report: ends a save under way; NULL: none */
    void *self;
} fgi_divergence_uses;

typedef struct fgi_divergence {
    fgi_divergence_uses of;
    fgi_divergence_state at;
    bool is_noticed;                          /* in this fit, since it last went back */
    bool has_warned;                          /* in this fit, with on_divergence: ignore */
    int64_t good_step;                        /* of the last good checkpoint, -1: unknown */
    char good[512];                           /* last good checkpoint, "": none ... */
    char older[512];                          /* ... and the one before it */
    fgi_noted_batch batch[FGI_NOTED_BATCHES]; /* a ring */
    uint64_t batch_count;
} fgi_divergence;

/* Adds a line with this loss; returns whether the lines in a row that are too high are enough. A
 * loss that is not finite counts as too high, even if it is not divergence by itself: with loss
 * scaling, a single step may overflow. The options have their defaults. */
bool fgi_divergence_add(fgi_divergence_state *at, const fg_trainer_divergence *options,
                        double loss);

/* What was noticed. */
typedef struct fgi_diverged {
    enum { FGI_BAD_LOSS, FGI_HIGH_LOSS, FGI_BAD_GRADIENT, FGI_ANOMALY } reason;
    int64_t step;                 /* it was noticed at */
    int64_t first_step;           /* whose gradient was not finite first; 0: unknown */
    double loss;                  /* of the line; NaN also if there was none */
    const fg_variable *parameter; /* with this gradient; NULL: unknown */
    bool is_nan;
} fgi_diverged;

/* Fills in the error, FG_ENUMERIC, and appends a line to divergence.jsonl in the run folder: the
 * step, the parameter, and the samples of the step. */
fg_status fgi_divergence_describe(fgi_divergence *d, const fgi_diverged *what, fg_error *err);

/* ---- use ------------------------------------------------------------------------------------- */

/* A fit starts; its state has been restored. */
void fgi_divergence_start(fgi_divergence *d);
/* This batch is part of the next step. */
void fgi_divergence_note_batch(fgi_divergence *d, const fg_host_batch *batch);
/* The sum and the weight of the losses of the first step, before any update. */
void fgi_divergence_first(fgi_divergence *d, double sum, double weight);
/* A log line, of this step, with the mean loss since the previous line (NaN if that is what
 * it is). Errors: FG_ENUMERIC if training has diverged, unless that is to be ignored. */
fg_status fgi_divergence_line(fgi_divergence *d, double loss, int64_t step, fg_error *err);
/* The last known health of the updates (health.h). Errors: the same. */
fg_status fgi_divergence_check(fgi_divergence *d, int64_t step, fg_error *err);
/* The last step is done: warns of a loss that is too high, but not for long enough. */
void fgi_divergence_end(const fgi_divergence *d);
/* Takes the health of the updates that has arrived with the metrics of a step. Errors: FG_ENUMERIC
 * for an anomaly, a gradient that was not finite in a step that was skipped. */
fg_status fgi_divergence_take(fgi_divergence *d, const float *values, int64_t step, fg_error *err);
/* After all steps so far: waits for the last health, and checks it. */
fg_status fgi_divergence_read(fgi_divergence *d, fg_error *err);

/* Whether divergence ended the loop, and the options request a rollback. */
bool fgi_divergence_wants_rollback(const fgi_divergence *d);
/* Whether the loss may be diverging: the state is not one to go back to. */
bool fgi_divergence_is_suspected(const fgi_divergence *d);
/* How many recent checkpoints to keep, so that there are some to go back to; -1: all. */
int fgi_divergence_keep(const fgi_divergence *d);
/* A checkpoint was saved or loaded: the one to go back to, unless divergence was suspected. */
void fgi_divergence_note_checkpoint(fgi_divergence *d, const char *path, int64_t step,
                                    bool is_suspected);

/* ---- in a checkpoint ------------------------------------------------------------------------- */

/* Adds the state to the object of state.json; false: out of memory. */
bool fgi_divergence_save(const fgi_divergence *d, struct json_t *object);
/* Reads it from the checkpoint at `path`. */
fg_status fgi_divergence_load(fgi_divergence *d, const struct json_t *object, const char *path,
                              fg_error *err);

/* ---- for going back -------------------------------------------------------------------------- */

/* The checkpoint to go back to; "": none. */
const char *fgi_divergence_good(const fgi_divergence *d);
/* Training is at the good checkpoint again: counts it, and lowers the learning rate. `count` and
 * `factor` are those from before the checkpoint was loaded. */
void fgi_divergence_went_back(fgi_divergence *d, int64_t count, double factor);

#endif
