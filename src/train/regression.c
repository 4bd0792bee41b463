/* regression.c - metrics that are not means, but follow from means. A step logs the means, one
 * value per sample, which the device sums like any metric; the host combines them (metrics.c), so
 * that the value is that of the whole epoch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include <fulgurite/ops.h>
#include "base/error.h"
#include "train/metrics.h"
#include "train/stage.h"
#include "train/step.h"

/* Sets the rule of the metric logged last. */
static void set_rule(fg_step *step, fgi_metric_rule rule)
{
    const fgi_stage *stage = fgi_step_stage(step);
    if (fgi_stage_get_kind(stage) != FGI_PREDICT &&
        fg_trace_error(fg_step_trace(step), NULL) == FG_OK)
        fgi_metrics_set_rule(fgi_stage_metrics(stage), rule);
}

/* One value per sample. */
static fg_tensor by_sample(fg_tensor value)
{
    return fg_tensor_type(value)->rank == 1 ? value : fg_mean(value, 1, (const int[]){1});
}

static bool is_checked(fg_step *step, fg_tensor prediction, fg_tensor target)
{
    const fg_type *p = fg_tensor_type(prediction), *y = fg_tensor_type(target);
    char a[96], b[96];
    if (fgi_is_poison(prediction) || fgi_is_poison(target))
        return false;
    if (!fg_dtype_is_float(p->dtype) || !fg_dtype_is_float(y->dtype))
        (void)fgi_trace_fail(fg_step_trace(step), FG_EDTYPE,
                             "log_regression(%s, %s): expected floating predictions and targets",
                             fg_type_format(p, a, sizeof a), fg_type_format(y, b, sizeof b));
    else if (p->rank < 1 || p->rank > 2 || p->rank != y->rank ||
             memcmp(p->dim, y->dim, (size_t)p->rank * sizeof p->dim[0]) != 0)
        (void)fgi_trace_fail(fg_step_trace(step), FG_ESHAPE,
                             "log_regression(%s, %s): expected two tensors [B] or [B, K] of the "
                             "same shape",
                             fg_type_format(p, a, sizeof a), fg_type_format(y, b, sizeof b));
    return fg_trace_error(fg_step_trace(step), NULL) == FG_OK;
}

void fg_step_log_regression(fg_step *step, fg_tensor prediction, fg_tensor target,
                            const fg_regression_options *opt)
{
    const double unit = opt != NULL && opt->unit != 0 ? opt->unit : 1;
    const double center = opt != NULL ? opt->center : 0;
    if (!fgi_trace_check_reserved(fg_step_trace(step), FGI_RESERVED(fg_regression_options, opt)))
        return;
    if (!(unit > 0) || !isfinite(unit) || !isfinite(center)) {
        (void)fgi_trace_fail(fg_step_trace(step), FG_EINVAL,
                             "log_regression: unit %g and center %g: expected a unit above 0 and "
                             "finite numbers",
                             unit, center);
        return;
    }
    if (!is_checked(step, prediction, target))
        return;
    prediction = fg_cast(prediction, FG_F32);
    target = fg_cast(target, FG_F32);
    const fg_tensor error = fg_sub(prediction, target);
    fg_step_log(step, "mae", by_sample(fg_abs(error)));
    set_rule(step, (fgi_metric_rule){FGI_SCALED, unit});
    fg_step_log(step, "rmse", by_sample(fg_mul(error, error)));
    set_rule(step, (fgi_metric_rule){FGI_ROOT, unit});
    if (fg_tensor_type(target)->rank != 1)
        return;
    fgi_step_keep_rows(step, target, prediction, fg_abs(error));
    const fg_tensor centered = fg_add_scalar(target, -center);
    fg_step_log(step, "r2", centered);
    set_rule(step, (fgi_metric_rule){.kind = FGI_DETERMINATION});
    fg_step_log(step, "r2_squares", fg_mul(centered, centered));
    set_rule(step, (fgi_metric_rule){.kind = FGI_HIDDEN});
}
