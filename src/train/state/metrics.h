/* metrics.h - the metrics that a step logs: names, and how values follow from sums.
 *
 * One table has the metrics that can be named. The device sums a pair (weighted sum, sum of
 * weights) for each metric.
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

/* ---- metrics by name ------------------------------------------------------------------------- */

/* Which metrics a step logs (fg_step_log_classification and so on). */
enum { FGI_CLASSIFICATION = 1, FGI_MULTILABEL = 2, FGI_REGRESSION = 4, FGI_LANGUAGE = 8 };

/* What follows from counts of classes, and from the scores of all samples. */
typedef enum fgi_of_classes {
    FGI_BALANCED_ACC,
    FGI_F1,
    FGI_PRECISION,
    FGI_RECALL,
    FGI_F1_MICRO,
    FGI_PRECISION_MICRO,
    FGI_RECALL_MICRO,
    FGI_AUC,
    FGI_AP,
    FGI_OF_CLASSES
} fgi_of_classes;

typedef struct fgi_metric_row {
    const char *name;         /* without a prefix; "topK_acc" is that of any K */
    int direction;            /* 1: larger is better, -1: smaller is better */
    unsigned tasks, defaults; /* that have it; that log it unless others are chosen */
    bool is_headline;         /* its best value is shown first in reports */
    int of_classes;           /* fgi_of_classes; FGI_OF_CLASSES: a mean that the step logs */
} fgi_metric_row;

/* The table: in the order in which metrics are logged. */
extern const fgi_metric_row fgi_metric_rows[];
extern const size_t fgi_metric_row_count;

/* The row of a name without a prefix; NULL: none. *out_k: K of "topK_acc"; may be NULL. */
const fgi_metric_row *fgi_metric_row_find(const char *name, int64_t *out_k);
/* Whether a task logs a metric; chosen: fg_task.metrics. */
bool fgi_metric_is_chosen(fg_strings chosen, unsigned task, const fgi_metric_row *row);
/* FG_EINVAL if one of them is no metric of the task; the message lists its metrics. */
fg_status fgi_metrics_check(fg_strings chosen, unsigned task, fg_error *err);
/* 1 if larger values are better, -1 if smaller ones are, 0 if that is unknown: by the table, or the
 * name ends like a metric of the table ("val_top_f1"), or contains "loss" or "err". */
int fgi_metric_direction(const char *name);

static inline bool fgi_metric_is_max(const char *name) { return fgi_metric_direction(name) > 0; }

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
    /* Classes whose samples are counted: FGI_CLASS_COUNTS sums for each class, which are stored
     * after those of the metrics: [FGI_CLASS_COUNTS, classes]. */
    int64_t classes;
    bool is_multilabel; /* means are over all classes, not only over those that occur */
    size_t row_count;   /* metrics that follow from them, or from the scores of all samples */
    const fgi_metric_row *rows[FGI_OF_CLASSES];
} fgi_metrics;

/* The index of a metric; `count`: there is none. */
size_t fgi_metrics_find(const fgi_metrics *metrics, const char *name);
bool fgi_metrics_has(const fgi_metrics *metrics, const char *name);
/* Appends a metric, a mean; there are fewer than FG_MAX_METRICS. */
void fgi_metrics_add(fgi_metrics *metrics, const char *name);
/* Whether there is room for that many more names. */
bool fgi_metrics_has_room(const fgi_metrics *metrics, size_t names);
/* Whether it has metrics of scores. */
bool fgi_metrics_rank(const fgi_metrics *metrics);
/* Writes the values that follow from the pairs (sum, weight) of all metrics, from the sums of the
 * classes, and from the area under the ROC curve and the average precision (both NULL: unknown),
 * names prefixed; returns how many: hidden metrics have none. */
size_t fgi_metrics_values(const fgi_metrics *metrics, const char *prefix, const double *sums,
                          const double *class_sum, const double *ranked, fg_metric *out);

/* ---- scores ---------------------------------------------------------------------------------- */

/* A sample's score for a class, and whether it has the class. */
typedef struct fgi_scored {
    float score;
    bool is_positive;
} fgi_scored;

/* The area under the ROC curve, and the average precision, of one class; sorts the samples. Equal
 * scores are one threshold. NaN if a score is, or if there are no positive samples or, for the
 * area, no others. */
void fgi_rank_scores(fgi_scored *samples, size_t count, double *out_auc, double *out_ap);

#endif
