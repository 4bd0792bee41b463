/* rank.c - compares the monitored metric with the best ones so far.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/save/saver.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "train/state/cursor.h"
#include "train/state/metrics.h"

size_t fgi_known_metrics(const fgi_stage *stage, fg_metric out[FG_MAX_METRICS])
{
    static const double nothing[2 * FG_MAX_METRICS];
    if (stage == NULL || stage->program == NULL)
        return 0;
    return fgi_metrics_values(&stage->metrics, fgi_stage_prefix(stage->kind), nothing, NULL, NULL,
                              out);
}

/* "one of a|b, got 'c': did you mean 'b'?" */
static fg_status refuse(const char *what, const char *of, const char *name, const fg_metric *known,
                        size_t count, fg_error *err)
{
    const char *names[2 * FG_MAX_METRICS];
    fgi_buf text = {0};
    for (size_t i = 0; i < count; i++) {
        names[i] = known[i].name;
        fgi_buf_printf(&text, "%s%s", i > 0 ? "|" : "", names[i]);
    }
    const char *nearest = fgi_nearest(name, names, count);
    fg_status status = fgi_buf_status(&text, err);
    if (status == FG_OK)
        status = fgi_fail(err, FG_EINVAL, "%s: expected a metric%s, one of %s, got '%s'%s%s%s",
                          what, of, text.data, name, nearest != NULL ? ": did you mean '" : "",
                          nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    fgi_buf_fini(&text);
    return status;
}

fg_status fgi_metric_check(fgi_stage *const *stages, const char *what, const char *name,
                           fgi_stage_kind kind, fg_error *err)
{
    fg_metric known[FG_MAX_METRICS] = {{.value = 0}};
    size_t count = fgi_known_metrics(stages[kind], known);
    if (fgi_metric_find(known, count, name) < count)
        return FG_OK;
    if (count > 0)
        return refuse(what, kind == FGI_TRAIN ? " of training" : " of the validation", name, known,
                      count, err);
    count = fgi_known_metrics(stages[FGI_TRAIN], known);
    if (count == 0 || strcmp(name, "val_loss") == 0)
        return FG_OK;
    return refuse(what, " of training, as there is no validation", name, known, count, err);
}

fg_status fgi_rank_check(fgi_stage *const *stages, const fg_trainer_checkpoints *o, fg_error *err)
{
    const fgi_stage_kind kind = fgi_is_of_training(o->monitor) ? FGI_TRAIN : FGI_VAL;
    fg_metric known[2 * FG_MAX_METRICS];
    char name[64];
    FGI_TRY(fgi_metric_check(stages, "trainer: monitor", o->monitor, kind, err));
    size_t count = fgi_known_metrics(stages[FGI_TRAIN], known);
    count += fgi_known_metrics(stages[FGI_VAL], known + count);
    const char *at = o->ckpt_name;
    while (fgi_ckpt_name_next_metric(&at, name, sizeof name))
        if (fgi_metric_find(known, count, name) == count)
            return refuse("trainer: checkpoint names", "", name, known, count, err);
    return FG_OK;
}

fgi_best_rule fgi_best_rule_of(const fg_trainer_checkpoints *o)
{
    return (fgi_best_rule){.monitor = o->monitor,
                           .is_max = fgi_metric_has_mode_max(o->monitor_mode, o->monitor),
                           .most = (int)o->save_top_k};
}

fgi_rank fgi_rank_metrics(fgi_best_list *list, const fgi_best_rule *rule, int64_t step,
                          const fg_metric *metrics, size_t count, bool is_saving)
{
    const size_t i = fgi_metric_find(metrics, count, rule->monitor);
    if (i == count || !isfinite(metrics[i].value))
        return FGI_RANK_NONE;
    if (!is_saving)
        list->waiting_count = 0;
    return fgi_best_list_offer(list, rule, metrics[i].value, step);
}
