/* metrics.c - names and rules of the metrics of one stage.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <fulgurite/ops.h>
#include "base/alloc.h"
#include "base/error.h"
#include "op/op.h"
#include "train/metrics.h"
#include "train/sample_rows.h"
#include "train/stage.h"
#include "train/step.h"

struct fgi_metrics {
    size_t count;
    char name[FG_MAX_METRICS][48];
    fgi_metric_rule rule[FG_MAX_METRICS];
    int64_t classes;
};

/* Of classes, in the order of their values. */
static const char *const class_names[] = {"f1", "precision", "recall"};
enum { CLASS_METRICS = sizeof class_names / sizeof class_names[0] };

/* In ASCII, regardless of the locale: names are written to files. */
static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_./-", c) != NULL);
}

size_t fgi_metric_find(const fg_metric *metrics, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(metrics[i].name, name) != 0)
        i++;
    return i;
}

bool fgi_is_metric_name(const char *name, size_t most)
{
    size_t size = 0;
    while (size <= most && is_name_char(name[size]))
        size++;
    return size > 0 && size <= most && name[size] == '\0';
}

fg_status fgi_metrics_create(fgi_metrics **out, fg_error *err)
{
    *out = fgi_calloc(1, sizeof **out);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

void fgi_metrics_destroy(fgi_metrics *metrics) { fgi_free(metrics); }

void fgi_metrics_clear(fgi_metrics *metrics) { memset(metrics, 0, sizeof *metrics); }

size_t fgi_metrics_count(const fgi_metrics *metrics) { return metrics->count; }

const char *fgi_metrics_name(const fgi_metrics *metrics, size_t i) { return metrics->name[i]; }

size_t fgi_metrics_find(const fgi_metrics *metrics, const char *name)
{
    size_t i = 0;
    while (i < metrics->count && strcmp(metrics->name[i], name) != 0)
        i++;
    return i;
}

bool fgi_metrics_has(const fgi_metrics *metrics, const char *name)
{
    for (int i = 0; i < CLASS_METRICS && metrics->classes > 0; i++)
        if (strcmp(class_names[i], name) == 0)
            return true;
    return fgi_metrics_find(metrics, name) < metrics->count;
}

bool fgi_metrics_has_room(const fgi_metrics *metrics, size_t names)
{
    return metrics->count + (metrics->classes > 0 ? CLASS_METRICS : 0) + names <= FG_MAX_METRICS;
}

void fgi_metrics_set_classes(fgi_metrics *metrics, int64_t classes) { metrics->classes = classes; }

int64_t fgi_metrics_classes(const fgi_metrics *metrics) { return metrics->classes; }

void fgi_metrics_add(fgi_metrics *metrics, const char *name)
{
    (void)snprintf(metrics->name[metrics->count++], sizeof metrics->name[0], "%s", name);
}

void fgi_metrics_set_rule(fgi_metrics *metrics, fgi_metric_rule rule)
{
    metrics->rule[metrics->count - 1] = rule;
}

/* The value of metric i; false if it is hidden. */
static bool value_of(const fgi_metrics *metrics, size_t i, const double *sum, const double *weight,
                     double *out)
{
    const fgi_metric_rule *rule = &metrics->rule[i];
    const double mean = weight[i] > 0 ? sum[i] / weight[i] : (double)NAN;
    *out = mean;
    switch (rule->kind) {
    case FGI_MEAN: break;
    case FGI_SCALED: *out = rule->factor * mean; break;
    case FGI_ROOT: *out = rule->factor * sqrt(mean); break;
    case FGI_DETERMINATION: {
        const double variance = sum[i + 1] / weight[i + 1] - mean * mean;
        /* constant targets leave only the rounding error of f32 sums, which is not a variance */
        const bool is_constant = !(variance > 1e-6 * sum[i + 1] / weight[i + 1]);
        *out = is_constant ? (double)NAN : 1 - sum[i - 1] / weight[i - 1] / variance;
        break;
    }
    case FGI_HIDDEN: return false;
    }
    return true;
}

/* The means over the classes that samples have or are predicted to have; a class that is never
 * predicted has precision 0, as in scikit-learn. */
static void class_values(int64_t classes, const double *count, double out[CLASS_METRICS])
{
    double known = 0;
    memset(out, 0, CLASS_METRICS * sizeof *out);
    for (int64_t i = 0; count != NULL && i < classes; i++) {
        const double actual = count[i], predicted = count[classes + i],
                     hits = count[2 * classes + i];
        known += actual + predicted > 0;
        out[0] += actual + predicted > 0 ? 2 * hits / (actual + predicted) : 0;
        out[1] += predicted > 0 ? hits / predicted : 0;
        out[2] += actual > 0 ? hits / actual : 0;
    }
    for (int i = 0; i < CLASS_METRICS; i++)
        out[i] = known > 0 ? out[i] / known : (double)NAN;
}

size_t fgi_metrics_values(const fgi_metrics *metrics, const char *prefix, const double *sum,
                          const double *weight, const double *class_sum, fg_metric *out)
{
    double of_classes[CLASS_METRICS];
    size_t shown = 0;
    for (size_t i = 0; i < metrics->count; i++) {
        if (!value_of(metrics, i, sum, weight, &out[shown].value))
            continue;
        if (isnan(out[shown].value))
            out[shown].value = (double)NAN; /* printed without its sign */
        (void)snprintf(out[shown].name, sizeof out[shown].name, "%s%s", prefix, metrics->name[i]);
        shown++;
    }
    class_values(metrics->classes, class_sum, of_classes);
    for (int i = 0; i < CLASS_METRICS && metrics->classes > 0; i++) {
        out[shown].value = of_classes[i];
        (void)snprintf(out[shown++].name, sizeof out->name, "%s%s", prefix, class_names[i]);
    }
    return shown;
}

/* ---- classification -------------------------------------------------------------------------- */

static bool is_checked(fg_step *step, fg_tensor logits, fg_tensor label)
{
    const fg_type *x = fg_tensor_type(logits), *y = fg_tensor_type(label);
    char a[96], b[96];
    if (fgi_is_poison(logits) || fgi_is_poison(label))
        return false;
    if (x->rank != 2 || y->rank != 1 || x->dim[0] != y->dim[0])
        (void)fgi_trace_fail(step->trace, FG_ESHAPE,
                             "log_classification(%s, %s): expected logits [B, C] and labels [B]",
                             fg_type_format(x, a, sizeof a), fg_type_format(y, b, sizeof b));
    else if (!fg_dtype_is_float(x->dtype) || y->dtype != FG_S32)
        (void)fgi_trace_fail(step->trace, FG_EDTYPE,
                             "log_classification(%s, %s): expected floating logits and s32 labels",
                             fg_type_format(x, a, sizeof a), fg_type_format(y, b, sizeof b));
    return fg_trace_error(step->trace, NULL) == FG_OK;
}

/* f32[B] as f32[B, 1] */
static fg_tensor column(fg_tensor value)
{
    return fg_reshape(fg_cast(value, FG_F32), FG_DIMS(fg_tensor_dim(value, 0), 1));
}

/* Class indices are exact in f32: there are fewer than 2^24. */
void fgi_step_keep_rows(fg_step *step, fg_tensor target, fg_tensor prediction, fg_tensor loss)
{
    const fgi_stage_kind kind = fgi_stage_get_kind(step->stage);
    const fg_tensor parts[FGI_ROW_VALUES] = {column(target), column(prediction), column(loss)};
    if (kind == FGI_VAL || kind == FGI_TEST)
        step->rows = fg_concat(parts, FGI_ROW_VALUES, 1);
}

static void count_classes(fg_step *step, fg_tensor logits, fg_tensor label)
{
    fgi_metrics *metrics = fgi_stage_metrics(step->stage);
    const int64_t classes = fg_tensor_dim(logits, 1);
    static const char *const names[] = {"f1", "precision", "recall"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (fgi_metrics_has(metrics, names[i]) || !fgi_metrics_has_room(metrics, 3)) {
            (void)fgi_trace_fail(step->trace, FG_EINVAL,
                                 "log_classification: '%s' is logged twice in one step, or there "
                                 "are more than %d metrics",
                                 names[i], FG_MAX_METRICS);
            return;
        }
    const fg_tensor x = fg_cast(logits, FG_F32), predicted = fg_argmax(logits);
    const fg_tensor actual = fg_one_hot(label, classes, FG_F32);
    const fg_tensor guess = fg_one_hot(predicted, classes, FG_F32);
    const fg_tensor zero = fgi_full_like(actual, 0);
    const fg_tensor counts[FGI_CLASS_COUNTS] = {fg_sum(actual, 1, (const int[]){0}),
                                                fg_sum(guess, 1, (const int[]){0}),
                                                fg_sum(fg_mul(actual, guess), 1, (const int[]){0})};
    const fg_tensor log_p = fg_where(fg_ne(actual, zero), fg_log_softmax(x), zero);
    step->class_counts = fg_concat(counts, FGI_CLASS_COUNTS, 0);
    fgi_metrics_set_classes(metrics, classes);
    fgi_step_keep_rows(step, label, predicted, fg_neg(fg_sum(log_p, 1, (const int[]){1})));
}

void fg_step_log_classification(fg_step *step, fg_tensor logits, fg_tensor label)
{
    const fgi_stage_kind kind = fgi_stage_get_kind(step->stage);
    if (!is_checked(step, logits, label))
        return;
    fg_step_log(step, "acc", fg_accuracy(logits, label));
    if ((kind == FGI_VAL || kind == FGI_TEST) && fg_trace_error(step->trace, NULL) == FG_OK)
        count_classes(step, logits, label);
}

/* ---- regression ------------------------------------------------------------------------------ */

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

static bool is_regression_checked(fg_step *step, fg_tensor prediction, fg_tensor target)
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
    if (!is_regression_checked(step, prediction, target))
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
