/* rank.c - compares the monitored metric with the best ones so far.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/rank.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "train/metrics.h"
#include "train/trainer.h"

bool fgi_monitors_training(const fg_trainer *trainer)
{
    return strncmp(trainer->options.checkpoints.monitor, "train_", strlen("train_")) == 0;
}

fgi_rank fgi_rank_metrics(fg_trainer *trainer, const fg_metric *metrics, size_t count)
{
    const fg_trainer_checkpoints *o = &trainer->options.checkpoints;
    fgi_cursor *cursor = &trainer->cursor;
    const size_t i = fgi_metric_find(metrics, count, o->monitor);
    if (i == count && !trainer->fit.has_warned)
        fgi_log(FG_LOG_WARNING,
                "%s does not log the metric '%s' that selects the best checkpoint (monitor)",
                fgi_monitors_training(trainer) ? "training" : "validation", o->monitor);
    trainer->fit.has_warned |= i == count;
    if (i == count || !isfinite(metrics[i].value))
        return FGI_RANK_NONE;
    const double value = metrics[i].value;
    const bool is_best =
        !cursor->has_best || (o->monitor_max ? value > cursor->best : value < cursor->best);
    const bool is_top =
        fgi_best_list_add(&cursor->top, value, cursor->step, o->save_top_k, o->monitor_max);
    if (is_best)
        cursor->best = value;
    cursor->has_best = true;
    return is_best ? FGI_RANK_BEST : is_top ? FGI_RANK_TOP : FGI_RANK_NONE;
}
