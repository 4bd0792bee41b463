/* metrics.h - the metrics that a step logs: names, and how values follow from sums.
 *
 * The device sums a pair (weighted sum, sum of weights) for each metric.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_METRICS_H
#define FGI_TRAIN_METRICS_H

#include <string.h>
#include <fulgurite/train.h>

#include "base/text.h"

/* How a metric follows from the means of what was logged. */
typedef struct fgi_metric_rule {
    enum {
        FGI_MEAN,          /* the mean itself */
        FGI_SCALED,        /* the mean times factor */
        FGI_ROOT,          /* the square root of the mean, times factor */
        FGI_EXPONENTIAL,   /* exp of the mean */
        FGI_DETERMINATION, /* R^2, from the means of the previous, this and the next metric */
        FGI_HIDDEN         /* not shown: only an input of the previous metric */
    } kind;
    double factor;
} fgi_metric_rule;

/* Whether a name has 1 to `most` letters, digits, '_', '.', '/' and '-'. */
bool fgi_is_metric_name(const char *name, size_t most);

/* Whether a larger value is better, if nothing else is known but the name: that of an accuracy, F1,
 * precision, recall or R^2. */
static inline bool fgi_metric_is_max(const char *name)
{
    return fgi_ends_with(name, "acc") || fgi_ends_with(name, "f1") || fgi_ends_with(name, "r2") ||
           fgi_ends_with(name, "precision") || fgi_ends_with(name, "recall");
}

static inline bool fgi_metric_has_mode_max(fg_metric_mode mode, const char *name)
{
    return mode == FG_MODE_AUTO ? fgi_metric_is_max(name) : mode == FG_MODE_MAX;
}

/* Whether a name is that of a metric of training. */
static inline bool fgi_is_of_training(const char *name)
{
    return strncmp(name, "train_", strlen("train_")) == 0;
}

/* The index of the metric with this name; count: there is none. */
size_t fgi_metric_find(const fg_metric *metrics, size_t count, const char *name);

/* Sets or replaces metrics in the result. */
void fgi_result_put(fg_result *result, const fg_metric *metrics, size_t count);

/* ---- what a step logs ------------------------------------------------------------------------ */

enum { FGI_CLASS_COUNTS = 3 /* samples of the class, predicted as it, both */ };

/* The metrics of a stage; all zero: none. */
typedef struct fgi_metrics {
    size_t count;
    char name[FG_MAX_METRICS][48]; /* without the stage's prefix */
    fgi_metric_rule rule[FG_MAX_METRICS];
    /* Above 0, adds f1, precision and recall, the means over the classes that occur. They follow
     * from FGI_CLASS_COUNTS sums for each class, which are stored after those of the metrics:
     * [FGI_CLASS_COUNTS, classes]. */
    int64_t classes;
} fgi_metrics;

/* The index of a metric; `count`: there is none. */
size_t fgi_metrics_find(const fgi_metrics *metrics, const char *name);
bool fgi_metrics_has(const fgi_metrics *metrics, const char *name);
/* Appends a metric, a mean; there are fewer than FG_MAX_METRICS. */
void fgi_metrics_add(fgi_metrics *metrics, const char *name);
/* Whether there is room for that many more names. */
bool fgi_metrics_has_room(const fgi_metrics *metrics, size_t names);
/* Writes the values that follow from the pairs (sum, weight) of all metrics and from the sums of
 * the classes (NULL: unknown), names prefixed; returns how many: hidden metrics have none. */
size_t fgi_metrics_values(const fgi_metrics *metrics, const char *prefix, const double *sums,
                          const double *class_sum, fg_metric *out);

#endif
