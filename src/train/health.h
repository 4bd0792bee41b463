/* health.h - what the optimizer reports about its updates.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_HEALTH_H
#define FGI_TRAIN_HEALTH_H

#include <fulgurite/train.h>

#include "train/stage.h"

typedef struct fgi_health fgi_health;

fg_status fgi_health_create(fgi_health **out, fg_error *err);
void fgi_health_destroy(fgi_health *health); /* NULL is allowed */
/* Prepares the optimizer: loss scaling, stochastic rounding, anomaly detection. */
fg_status fgi_health_prepare(fg_trainer *trainer, fg_error *err);
/* The values as a tensor, f32[FGI_HEALTH_SIZE]. */
fg_tensor fgi_health_value(fg_trainer *trainer, fg_trace *trace);
/* Takes values that have arrived. Errors: FG_ENUMERIC for an anomaly. */
fg_status fgi_health_take(fg_trainer *trainer, const float *values, int64_t step, fg_error *err);
/* The steps so far with a gradient that is not finite, as last known, and the first of them (0:
 * unknown). */
int64_t fgi_health_bad(const fg_trainer *trainer, int64_t *out_first);
/* At the end of a run, after all steps: waits for the last values. */
fg_status fgi_health_end(fg_trainer *trainer, fg_error *err);
/* Writes them as metrics, at most FGI_HEALTH_METRICS; returns how many. */
size_t fgi_health_metrics(const fg_trainer *trainer, fg_metric *out);
/* Writes them to the result. */
void fgi_health_result(const fg_trainer *trainer, fg_result *out);

#endif
