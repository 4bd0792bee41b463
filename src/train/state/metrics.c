/* metrics.c - the table of metrics, their names, and the values of what a step logs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/state/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"

/* ---- the table ------------------------------------------------------------------------------- */

enum {
    C = FGI_CLASSIFICATION,
    M = FGI_MULTILABEL,
    R = FGI_REGRESSION,
    L = FGI_LANGUAGE,
    MEAN = FGI_OF_CLASSES
};

const fgi_metric_row fgi_metric_rows[] = {
    {"acc", 1, C | M, C | M, true, MEAN},
    {"topK_acc", 1, C, 0, false, MEAN},
    {"balanced_acc", 1, C, 0, true, FGI_BALANCED_ACC},
    {"f1", 1, C | M, C | M, true, FGI_F1},
    {"precision", 1, C | M, C | M, false, FGI_PRECISION},
    {"recall", 1, C | M, C | M, false, FGI_RECALL},
    {"f1_micro", 1, C | M, M, false, FGI_F1_MICRO},
    {"precision_micro", 1, C | M, 0, false, FGI_PRECISION_MICRO},
    {"recall_micro", 1, C | M, 0, false, FGI_RECALL_MICRO},
    {"auc", 1, C | M, 0, true, FGI_AUC},
    {"ap", 1, C | M, M, true, FGI_AP},
    {"log_loss", -1, C | M, 0, false, MEAN},
    {"perplexity", -1, C | L, L, true, MEAN},
    {"bits_per_byte", -1, L, L, true, MEAN},
    {"mae", -1, R, R, false, MEAN},
    {"mse", -1, R, 0, false, MEAN},
    {"rmse", -1, R, R, true, MEAN},
    {"r2", 1, R, R, true, MEAN},
};
const size_t fgi_metric_row_count = sizeof fgi_metric_rows / sizeof fgi_metric_rows[0];

/* K of "topK_acc", 1 to 6 digits; 0: another name. */
static int64_t top_k_of(const char *name)
{
    const size_t digits = strncmp(name, "top", 3) == 0 ? strspn(name + 3, "0123456789") : 0;
    if (digits < 1 || digits > 6 || strcmp(name + 3 + digits, "_acc") != 0)
        return 0;
    return strtol(name + 3, NULL, 10);
}

const fgi_metric_row *fgi_metric_row_find(const char *name, int64_t *out_k)
{
    const int64_t k = top_k_of(name);
    if (out_k != NULL)
        *out_k = k;
    for (size_t i = 0; i < fgi_metric_row_count; i++)
        if (strcmp(fgi_metric_rows[i].name, k > 0 ? "topK_acc" : name) == 0)
            return &fgi_metric_rows[i];
    return NULL;
}

bool fgi_metric_is_chosen(fg_strings chosen, unsigned task, const fgi_metric_row *row)
{
    for (size_t i = 0; i < chosen.count; i++)
        if (fgi_metric_row_find(chosen.at[i], NULL) == row)
            return true;
    return chosen.count == 0 && (row->defaults & task) != 0;
}

fg_status fgi_metrics_check(fg_strings chosen, unsigned task, fg_error *err)
{
    for (size_t i = 0; i < chosen.count; i++) {
        const fgi_metric_row *row = fgi_metric_row_find(chosen.at[i], NULL);
        if (row != NULL && (row->tasks & task) != 0 && strcmp(chosen.at[i], "topK_acc") != 0)
            continue;
        fgi_buf names = {0};
        for (size_t k = 0; k < fgi_metric_row_count; k++)
            if ((fgi_metric_rows[k].tasks & task) != 0)
                fgi_buf_printf(&names, "%s%s", names.size > 0 ? "|" : "", fgi_metric_rows[k].name);
        const fg_status status =
            fgi_fail(err, FG_EINVAL, "metrics: '%s' is not a metric of this task: expected %s",
                     chosen.at[i], fgi_buf_text(&names));
        fgi_buf_fini(&names);
        return status;
    }
    return FG_OK;
}

/* Whether a name ends in a metric's, of which a letter or digit is no part. */
static bool ends_in(const char *name, const char *end)
{
    const size_t size = strlen(name), part = strlen(end);
    return fgi_ends_with(name, end) && (size == part || !fgi_is_alnum(name[size - part - 1]));
}

int fgi_metric_direction(const char *name)
{
    int found = 0;
    size_t longest = 0;
    for (size_t i = 0; i < fgi_metric_row_count; i++) {
        const fgi_metric_row *row = &fgi_metric_rows[i];
        if (ends_in(name, row->name) && strlen(row->name) > longest) {
            longest = strlen(row->name);
            found = row->direction;
        }
    }
    const bool is_loss = strstr(name, "loss") != NULL || strstr(name, "err") != NULL;
    return found == 0 && is_loss ? -1 : found;
}

/* ---- names ----------------------------------------------------------------------------------- */

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
    for (size_t i = 0; i < metrics->row_count; i++)
        if (strcmp(metrics->rows[i]->name, name) == 0)
            return true;
    return fgi_metrics_find(metrics, name) < metrics->count;
}

bool fgi_metrics_has_room(const fgi_metrics *metrics, size_t names)
{
    return metrics->count + metrics->row_count + names <= FG_MAX_METRICS;
}

bool fgi_metrics_rank(const fgi_metrics *metrics)
{
    for (size_t i = 0; i < metrics->row_count; i++)
        if (metrics->rows[i]->of_classes >= FGI_AUC)
            return true;
    return false;
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

static double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

/* Means over the classes that samples have or are predicted to have, or over all; a class that is
 * never predicted has precision 0, and one without samples recall 0, as in scikit-learn. Balanced
 * accuracy is a mean over the classes that samples have. */
static void class_values(const fgi_metrics *m, const double *count, double out[FGI_AUC])
{
    double known = 0, present = 0, actual = 0, predicted = 0, hits = 0;
    memset(out, 0, FGI_AUC * sizeof *out);
    for (int64_t i = 0; count != NULL && i < m->classes; i++) {
        const double a = count[i], p = count[m->classes + i], h = count[2 * m->classes + i];
        known += m->is_multilabel || a + p > 0;
        present += a > 0;
        actual += a;
        predicted += p;
        hits += h;
        out[FGI_F1] += ratio(2 * h, a + p);
        out[FGI_PRECISION] += ratio(h, p);
        out[FGI_RECALL] += ratio(h, a);
    }
    const bool has_none = count == NULL || known == 0;
    out[FGI_BALANCED_ACC] = present > 0 ? out[FGI_RECALL] / present : (double)NAN;
    for (int i = FGI_F1; i <= FGI_RECALL; i++)
        out[i] = known > 0 ? out[i] / known : (double)NAN;
    out[FGI_F1_MICRO] = has_none ? (double)NAN : ratio(2 * hits, actual + predicted);
    out[FGI_PRECISION_MICRO] = has_none ? (double)NAN : ratio(hits, predicted);
    out[FGI_RECALL_MICRO] = has_none ? (double)NAN : ratio(hits, actual);
}

static void put_value(fg_metric *out, const char *prefix, const char *name, double value)
{
    out->value = isnan(value) ? (double)NAN : value; /* printed without its sign */
    (void)snprintf(out->name, sizeof out->name, "%s%s", prefix, name);
}

size_t fgi_metrics_values(const fgi_metrics *metrics, const char *prefix, const double *sums,
                          const double *class_sum, const double *ranked, fg_metric *out)
{
    double of_classes[FGI_OF_CLASSES];
    size_t shown = 0;
    for (size_t i = 0; i < metrics->count; i++) {
        double value;
        if (value_of(metrics, i, sums, &value))
            put_value(&out[shown++], prefix, metrics->name[i], value);
    }
    class_values(metrics, class_sum, of_classes);
    of_classes[FGI_AUC] = ranked != NULL ? ranked[0] : (double)NAN;
    of_classes[FGI_AP] = ranked != NULL ? ranked[1] : (double)NAN;
    for (size_t i = 0; i < metrics->row_count; i++)
        put_value(&out[shown++], prefix, metrics->rows[i]->name,
                  of_classes[metrics->rows[i]->of_classes]);
    return shown;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* The largest score first. */
static int by_score(const void *a, const void *b)
{
    const float x = ((const fgi_scored *)a)->score, y = ((const fgi_scored *)b)->score;
    return (x < y) - (x > y);
}

void fgi_rank_scores(fgi_scored *samples, size_t count, double *out_auc, double *out_ap)
{
    double positive = 0, area = 0, precision = 0, hits = 0, others = 0;
    bool is_nan = false;
    for (size_t i = 0; i < count; i++) {
        positive += samples[i].is_positive;
        is_nan = is_nan || isnan(samples[i].score);
    }
    const double negative = (double)count - positive;
    qsort(samples, count, sizeof *samples, by_score);
    for (size_t i = 0; i < count && !is_nan;) {
        double same = 0, same_hits = 0;
        for (const float score = samples[i].score; i < count && samples[i].score == score; i++) {
            same++;
            same_hits += samples[i].is_positive;
        }
        area += (same - same_hits) * (hits + same_hits / 2);
        hits += same_hits;
        others += same - same_hits;
        precision += same_hits * hits / (hits + others);
    }
    *out_auc = is_nan || positive == 0 || negative == 0 ? (double)NAN : area / positive / negative;
    *out_ap = is_nan || positive == 0 ? (double)NAN : precision / positive;
}
