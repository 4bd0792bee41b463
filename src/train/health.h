/* health.h - what the optimizer tells of its updates.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_HEALTH_H
#define FGI_TRAIN_HEALTH_H

#include <fulgurite/train.h>

#include "train/stage.h"

/* The optimizer made ready for the options; its numbers as a tensor; as they arrive (an
 * anomaly is an error); at the end of a run, when all is done; as metrics, at most
 * FGI_HEALTH_METRICS; in the result. */
fg_status fgi_health_prepare(fg_trainer *trainer, fg_error *err);
fg_tensor fgi_health_value(fg_trainer *trainer, fg_trace *trace);
fg_status fgi_health_take(fg_trainer *trainer, const float *health, int64_t step, fg_error *err);
fg_status fgi_health_end(fg_trainer *trainer, fg_error *err);
size_t fgi_health_metrics(const fg_trainer *trainer, fg_metric *out);
void fgi_health_result(const fg_trainer *trainer, fg_result *out);

#endif
