/* rank.h - how good a state is, by the monitored metric.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_RANK_H
#define FGI_TRAIN_RANK_H

#include <fulgurite/train.h>

#include "train/best_list.h"
#include "train/stage.h"

/* The metrics that a step logs, without values; returns how many, 0 before it is compiled, and for
 * NULL. Those of a fit are known when it starts, those of the validation if there will be one. */
size_t fgi_known_metrics(const fgi_stage *stage, fg_metric out[FG_MAX_METRICS]);
/* Refuses a metric that the steps of this kind do not log: "WHAT: expected a metric of the
 * validation, one of val_acc|val_loss, got 'val_los': did you mean 'val_loss'?". Before they are
 * compiled, no name is refused; in a fit without validation, its metrics are, except the default,
 * val_loss. stages: those of a Trainer, by kind. */
fg_status fgi_metric_check(fgi_stage *const *stages, const char *what, const char *name,
                           fgi_stage_kind kind, fg_error *err);
/* Refuses, before the first step, a monitored metric that does not exist, and one in a template of
 * checkpoint names. */
fg_status fgi_rank_check(fgi_stage *const *stages, const fg_trainer_checkpoints *o, fg_error *err);

/* The rule of the options. */
fgi_best_rule fgi_best_rule_of(const fg_trainer_checkpoints *o);
/* Compares the metric of the rule with those so far; the list records it. A value that is not
 * finite has no rank. is_saving: a save is under way, otherwise the states of those that wait for
 * one are gone. */
fgi_rank fgi_rank_metrics(fgi_best_list *list, const fgi_best_rule *rule, int64_t step,
                          const fg_metric *metrics, size_t count, bool is_saving);

#endif
