/* rank.h - how good a state is, by the monitored metric.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_RANK_H
#define FGI_TRAIN_RANK_H

#include <fulgurite/train.h>

#include "train/best_list.h"
#include "train/stage.h"

/* The metrics that a step logs, without values; returns how many, 0 before it is compiled. Those of
 * a fit are known when it starts, those of the validation if there will be one. */
size_t fgi_known_metrics(const fg_trainer *trainer, fgi_stage_kind kind,
                         fg_metric out[FG_MAX_METRICS]);
/* Refuses a metric that the steps of this kind do not log: "WHAT: expected a metric of the
 * validation, one of val_acc|val_loss, got 'val_los': did you mean 'val_loss'?". Before they are
 * compiled, no name is refused; in a fit without validation, its metrics are, except the default,
 * val_loss. */
fg_status fgi_metric_check(const fg_trainer *trainer, const char *what, const char *name,
                           fgi_stage_kind kind, fg_error *err);
/* Refuses, before the first step, a monitored metric that does not exist, and one in a template of
 * checkpoint names. */
fg_status fgi_rank_check(const fg_trainer *trainer, fg_error *err);

/* Whether the monitored metric is one of training, which is compared after each epoch; others are
 * compared after each validation. */
bool fgi_monitors_training(const fg_trainer *trainer);
/* The rule of options.checkpoints. */
fgi_best_rule fgi_best_rule_of(const fg_trainer *trainer);
/* Compares the monitored metric with those so far; the cursor's list records it. A value that is
 * not finite has no rank. */
fgi_rank fgi_rank_metrics(fg_trainer *trainer, const fg_metric *metrics, size_t count);

#endif
