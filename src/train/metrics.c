/* metrics.c - names and rules of the metrics of one stage.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

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
