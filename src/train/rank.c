/* rank.c - compares the monitored metric with the best ones so far.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/rank.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "train/metrics.h"
#include "train/saver.h"
#include "train/trainer.h"

bool fgi_is_of_training(const char *monitor)
{
    return strncmp(monitor, "train_", strlen("train_")) == 0;
}

bool fgi_monitors_training(const fg_trainer *trainer)
{
    return fgi_is_of_training(trainer->options.checkpoints.monitor);
}

size_t fgi_known_metrics(const fg_trainer *trainer, fgi_stage_kind kind,
                         fg_metric out[FG_MAX_METRICS])
{
    static const double nothing[FG_MAX_METRICS];
    const fgi_stage *stage = trainer != NULL ? trainer->stage[kind] : NULL;
    if (stage == NULL || fgi_stage_program(stage) == NULL)
        return 0;
    return fgi_metrics_values(fgi_stage_metrics(stage), fgi_stage_prefix(kind), nothing, nothing,
                              out);
}

void fgi_unknown_metric_put(fgi_buf *out, const char *monitor, fgi_stage_kind kind,
                            const fg_metric *metrics, size_t count)
{
    fgi_buf_printf(out, "expected a metric of %s, one of ",
                   kind == FGI_TRAIN ? "training" : "the validation");
    for (size_t i = 0; i < count; i++)
        fgi_buf_printf(out, "%s%s", i > 0 ? "|" : "", metrics[i].name);
    fgi_buf_printf(out, "%s, got '%s'", count == 0 ? "(none)" : "", monitor);
}

static void warn_of_unknown(fg_trainer *trainer, const fg_metric *metrics, size_t count)
{
    fgi_buf text = {0};
    const fgi_stage_kind kind = fgi_monitors_training(trainer) ? FGI_TRAIN : FGI_VAL;
    if (trainer->fit.has_warned)
        return;
    fgi_unknown_metric_put(&text, trainer->options.checkpoints.monitor, kind, metrics, count);
    if (!text.failed)
        fgi_log(FG_LOG_WARNING, "monitor: %s: no checkpoint will be the best", text.data);
    trainer->fit.has_warned = true;
    fgi_buf_fini(&text);
}

void fgi_rank_check(fg_trainer *trainer)
{
    fg_metric known[FG_MAX_METRICS];
    const fgi_stage_kind kind = fgi_monitors_training(trainer) ? FGI_TRAIN : FGI_VAL;
    const size_t count = fgi_known_metrics(trainer, kind, known);
    if (count > 0 && fgi_metric_find(known, count, trainer->options.checkpoints.monitor) == count)
        warn_of_unknown(trainer, known, count);
}

fgi_best_rule fgi_best_rule_of(const fg_trainer *trainer)
{
    const fg_trainer_checkpoints *o = &trainer->options.checkpoints;
    return (fgi_best_rule){.monitor = o->monitor, .is_max = o->monitor_max, .most = o->save_top_k};
}

fgi_rank fgi_rank_metrics(fg_trainer *trainer, const fg_metric *metrics, size_t count)
{
    const fgi_best_rule rule = fgi_best_rule_of(trainer);
    fgi_best_list *list = &trainer->cursor.top;
    const size_t i = fgi_metric_find(metrics, count, rule.monitor);
    if (i == count || !isfinite(metrics[i].value))
        return FGI_RANK_NONE;
    if (!fgi_saver_is_busy(trainer->saver)) /* the states of those that wait are gone */
        list->waiting_count = 0;
    return fgi_best_list_offer(list, &rule, metrics[i].value, trainer->cursor.step);
}
