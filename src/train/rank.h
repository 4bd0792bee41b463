/* rank.h - how good a state is, by the monitored metric.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_RANK_H
#define FGI_TRAIN_RANK_H

#include <fulgurite/train.h>

#include "base/buf.h"
#include "train/best_list.h"
#include "train/stage.h"

/* Whether a name is that of a metric of training. */
bool fgi_is_of_training(const char *monitor);
/* The metrics that a step logs, without values; returns how many, 0 before it is compiled. Those of
 * a fit are known when it starts, those of the validation if there will be one. */
size_t fgi_known_metrics(const fg_trainer *trainer, fgi_stage_kind kind,
                         fg_metric out[FG_MAX_METRICS]);
/* Appends "expected a metric of the validation, one of val_loss|val_acc, got 'val_los'". */
void fgi_unknown_metric_put(fgi_buf *out, const char *monitor, fgi_stage_kind kind,
                            const fg_metric *metrics, size_t count);
/* Warns before the first step if the metric that selects the best checkpoint does not exist. */
void fgi_rank_check(fg_trainer *trainer);

/* Whether the monitored metric is one of training, which is compared after each epoch; others are
 * compared after each validation. */
bool fgi_monitors_training(const fg_trainer *trainer);
/* The rule of options.checkpoints. */
fgi_best_rule fgi_best_rule_of(const fg_trainer *trainer);
/* Compares the monitored metric with those so far; the cursor's list records it. A value that is
 * not finite has no rank. */
fgi_rank fgi_rank_metrics(fg_trainer *trainer, const fg_metric *metrics, size_t count);

#endif
