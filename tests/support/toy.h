/* toy.h - a small task and small data for tests of the Trainer, and a callback that records its
 * arguments.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_TOY_H
#define FGT_TOY_H

#include <fulgurite/fulgurite.h>

enum { TOY_FEATURES = 6, TOY_CLASSES = 3, TOY_HIDDEN = 8 };

/* Lets temporary folders be in memory where there is a place for it: tests that save hundreds of
 * times need not wait for a disk. Call it first. */
void toy_use_memory(void);

/* A classifier of two layers. It logs "acc", one number a sample. */
typedef struct toy {
    bool has_norm;         /* batch norm between the layers   */
    double dropout;        /* after the first layer           */
    double loss_factor;    /* of the training's loss          [1] */
    const char *optimizer; /* "sgd", "adamw"; others change nothing visible ["adam"] */
    int64_t hidden;        /* width           [TOY_HIDDEN] */
    fg_linear *fc1, *fc2;
    fg_batch_norm *norm;
} toy;

/* self is a toy; predicts the logits, f32[B, 3]. */
extern const fg_task_ops toy_ops;
fg_tensor toy_forward(const toy *model, fg_tensor x);

/* Fields "x" f32[6] and "y" s32[], a function of index and seed: classes that can be learned. */
fg_dataset *toy_data(int64_t count, uint64_t seed);
/* Sample `index` of toy_data. */
int32_t toy_sample(int64_t index, uint64_t seed, float out_x[TOY_FEATURES]);

/* The same samples from a source, of known or unknown length. */
fg_dataset *toy_source(int64_t count, uint64_t seed, bool is_known);

/* fg_trainer_create for short runs: without options, one epoch, no validation before the first
 * step, one recent checkpoint, no watchdog. */
fg_status toy_create(const fg_trainer_options *options, fg_trainer **out, fg_error *err);
/* A Trainer with these options on this client. */
fg_trainer *toy_trainer(fg_client *client, const fg_trainer_options *options);
/* The metric with that name in a Trainer's result, or fails the test. */
double toy_metric(const fg_trainer *trainer, const char *name);
/* The same of what a callback receives. */
double toy_logged(const fg_progress *at, const char *name);

/* The options that a built-in callback requires; "": none. */
const char *toy_callback_options(const char *name);

/* The events of a callback: EVENT(name) for each, in the order of docs/hooks.md. */
#define TOY_EVENTS(EVENT)                                                                          \
    EVENT(fit_start)                                                                               \
    EVENT(epoch_start)                                                                             \
    EVENT(batch_end)                                                                               \
    EVENT(log)                                                                                     \
    EVENT(val_start)                                                                               \
    EVENT(val_end)                                                                                 \
    EVENT(saved)                                                                                   \
    EVENT(epoch_end)                                                                               \
    EVENT(fit_end)                                                                                 \
    EVENT(eval_start)                                                                              \
    EVENT(eval_end)
/* For the table of a callback whose functions are named on_EVENT. */
#define TOY_EVENT_ROW(name) .name = on_##name,

/* What a Trainer told, one line an event: "batch_end    step 1  epoch 0  batch 1/3". */
typedef struct recorder {
    char text[16384];
    size_t used;
    const char *at_event; /* at the at_count-th of these, returns `status` with `message` */
    int at_count;
    fg_status status;
    const char *message;
    int signal;        /* or raises this, unless 0 */
    char metrics[512]; /* of the last event that brought some */
    char logged[512];  /* of the last `log` */
    int count[16];
    bool is_destroyed;
} recorder;

extern const fg_callback_ops recorder_ops;
/* How often an event came: "batch_end". */
int recorder_count(const recorder *r, const char *event);

#endif
