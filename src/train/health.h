/* health.h - what the optimizer reports about its updates.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_HEALTH_H
#define FGI_TRAIN_HEALTH_H

#include <fulgurite/train.h>

#include "optim/optimizer.h"

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
/* The steps so far with a gradient that is not finite, as last known, and the first of them (0:
 * unknown). */
int64_t fgi_health_bad(const fgi_health *health, int64_t *out_first);
/* Writes them as metrics, at most FGI_HEALTH_METRICS; returns how many. */
size_t fgi_health_metrics(const fgi_health *health, fg_metric *out);
/* Writes them to the result. */
void fgi_health_result(const fgi_health *health, fg_result *out);

#endif
