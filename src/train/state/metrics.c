/* metrics.c - names of metrics, and the values of what a step logs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/state/metrics.h"

#include <math.h>
#include <stdio.h>

/* Of classes, in the order of their values. */
static const char *const class_names[] = {"f1", "precision", "recall"};
enum { CLASS_METRICS = sizeof class_names / sizeof class_names[0] };

/* In ASCII, regardless of the locale: names are written to files. */
static bool is_name_char(char c)
{
    return fgi_is_alnum(c) || (c != '\0' && strchr("_./-", c) != NULL);
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

/* The index of a metric: that of its name, or else after those of its kind. Training precedes
 * validation, so that the order does not depend on where a run was interrupted. */
static size_t place_of(const fg_result *result, const char *name)
{
    const bool is_train = strncmp(name, "train_", 6) == 0;
    size_t first_val = result->metric_count;
    for (size_t k = 0; k < result->metric_count; k++) {
        if (strcmp(result->metrics[k].name, name) == 0)
            return k;
        if (first_val == result->metric_count && strncmp(result->metrics[k].name, "val_", 4) == 0)
            first_val = k;
    }
    return is_train ? first_val : result->metric_count;
}

void fgi_result_put(fg_result *result, const fg_metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t k = place_of(result, metrics[i].name);
        fg_metric *at = &result->metrics[k];
        if (k == result->metric_count || strcmp(at->name, metrics[i].name) != 0) {
            if (result->metric_count == FG_MAX_RESULTS)
                continue;
            memmove(at + 1, at, (result->metric_count - k) * sizeof *at);
            result->metric_count++;
        }
        *at = metrics[i];
    }
}

/* ---- what a step logs ------------------------------------------------------------------------ */

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

void fgi_metrics_add(fgi_metrics *metrics, const char *name)
{
    (void)snprintf(metrics->name[metrics->count++], sizeof metrics->name[0], "%s", name);
}

/* The value of metric i; false if it is hidden. */
static bool value_of(const fgi_metrics *metrics, size_t i, const double *sums, double *out)
{
    const fgi_metric_rule *rule = &metrics->rule[i];
    const double *own = sums + 2 * i; /* sum and weight */
    const double mean = own[1] > 0 ? own[0] / own[1] : (double)NAN;
    *out = mean;
    switch (rule->kind) {
    case FGI_MEAN: break;
    case FGI_SCALED: *out = rule->factor * mean; break;
    case FGI_ROOT: *out = rule->factor * sqrt(mean); break;
    case FGI_EXPONENTIAL: *out = exp(mean); break;
    case FGI_DETERMINATION: {
        const double variance = own[2] / own[3] - mean * mean;
        /* constant targets leave only the rounding error of f32 sums, which is not a variance */
        const bool is_constant = !(variance > 1e-6 * own[2] / own[3]);
        *out = is_constant ? (double)NAN : 1 - own[-2] / own[-1] / variance;
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

size_t fgi_metrics_values(const fgi_metrics *metrics, const char *prefix, const double *sums,
                          const double *class_sum, fg_metric *out)
{
    double of_classes[CLASS_METRICS];
    size_t shown = 0;
    for (size_t i = 0; i < metrics->count; i++) {
        if (!value_of(metrics, i, sums, &out[shown].value))
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
