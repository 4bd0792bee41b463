/* regression.c - metrics that are no means, but follow from means: a step logs the parts, one
 * number a sample, which are summed on the device like any metric; the host puts them together, so
 * the value is that of the whole epoch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include <fulgurite/ops.h>
#include "base/error.h"
#include "train/trainer.h"

/* ---- on the device --------------------------------------------------------------------------- */

/* Gives the metric logged last a rule. */
static void set_rule(fg_step *step, fgi_metric_rule rule)
{
    fgi_stage *stage = fgi_step_stage(step);
    if (stage->kind != FGI_PREDICT && fg_trace_error(fg_step_trace(step), NULL) == FG_OK)
        stage->rule[stage->metric_count - 1] = rule;
}

/* One number a sample. */
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
                             "log_regression(%s, %s): expected two tensors [B] or [B, K] of one "
                             "shape",
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
    const fg_tensor centered = fg_add_scalar(target, -center);
    fg_step_log(step, "r2", centered);
    set_rule(step, (fgi_metric_rule){.kind = FGI_DETERMINATION});
    fg_step_log(step, "r2_squares", fg_mul(centered, centered));
    set_rule(step, (fgi_metric_rule){.kind = FGI_HIDDEN});
}

/* ---- on the host ----------------------------------------------------------------------------- */

bool fgi_metric_value(const fgi_stage *stage, size_t i, const double *sum, const double *weight,
                      double *out)
{
    const fgi_metric_rule *rule = &stage->rule[i];
    const double mean = weight[i] > 0 ? sum[i] / weight[i] : (double)NAN;
    *out = mean;
    switch (rule->kind) {
    case FGI_MEAN: break;
    case FGI_SCALED: *out = rule->factor * mean; break;
    case FGI_ROOT: *out = rule->factor * sqrt(mean); break;
    case FGI_DETERMINATION: {
        const double variance = sum[i + 1] / weight[i + 1] - mean * mean;
        /* what the rounding of f32 sums leaves of equal targets is no variance */
        const bool is_constant = !(variance > 1e-6 * sum[i + 1] / weight[i + 1]);
        *out = is_constant ? (double)NAN : 1 - sum[i - 1] / weight[i - 1] / variance;
        break;
    }
    case FGI_HIDDEN: return false;
    }
    return true;
}
