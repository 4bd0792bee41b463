/* curve.h - loss curves of one training on any number of the CPU's virtual devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_CURVE_H
#define FGT_CURVE_H

#include <fulgurite/fulgurite.h>

/* A training, and the devices it runs on. Each run opens a separate client. */
typedef struct curve_run {
    int devices; /* virtual ones of the CPU       [1] */
    fg_mesh_options mesh;
    const char *strategy;
    const fg_sharding_rule *rules;
    size_t rule_count;
    const fg_task *task;
    fg_dataset *train, *val;
    int64_t batch;      /* of all devices together */
    bool drop_last;     /* the incomplete one     */
    int64_t accumulate; /* batches of a step [1] */
    int64_t steps;      /* number of the last step; at most CURVE_STEPS */
    uint64_t seed;
    const fg_schedule *schedule;
    const char *run_dir, *resume;
    const char *cache_dir; /* of compiled programs [NULL: none] */
} curve_run;

enum { CURVE_STEPS = 128 };

/* The results. */
typedef struct curve {
    double loss[CURVE_STEPS]; /* of each training step; NaN where it was not run */
    size_t metric_count;      /* of the last validation, or the evaluation */
    fg_metric metric[FG_MAX_RESULTS];
    int64_t argument_bytes; /* of the train program, on each device */
} curve;

/* Fits, or validates, and fills *out; fails the test after an error. */
void curve_fit(const curve_run *run, curve *out);
void curve_validate(const curve_run *run, curve *out);

/* Predicts `val` into write(self, ...). */
void curve_predict(const curve_run *run, fg_predict_fn *write, void *self);
/* A Trainer after a fit; curve_end destroys it and closes its client. */
fg_trainer *curve_begin(const curve_run *run);
void curve_end(fg_trainer *trainer);

/* Fails the test unless b is a, from step `first` to `steps`: within 1e-5 of it (relative) in the
 * first 10 steps, and within `late` later. */
void curves_agree(const char *what, const curve *a, const curve *b, int first, int steps,
                  double late);
/* The metric with that name, or fails the test. */
double curve_metric(const curve *c, const char *name);

#endif
