/* rank.h - how good a state is, by the monitored metric.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_RANK_H
#define FGI_TRAIN_RANK_H

#include <fulgurite/train.h>

typedef enum fgi_rank {
    FGI_RANK_NONE,
    FGI_RANK_TOP, /* among the options.checkpoints.save_top_k best */
    FGI_RANK_BEST
} fgi_rank;

/* Whether the monitored metric is one of training, which is compared after each epoch; others are
 * compared after each validation. */
bool fgi_monitors_training(const fg_trainer *trainer);
/* Compares the monitored metric with those so far, and records it in the cursor. A value that is
 * not finite has no rank. */
fgi_rank fgi_rank_metrics(fg_trainer *trainer, const fg_metric *metrics, size_t count);

#endif
