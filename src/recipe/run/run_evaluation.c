/* run_evaluation.c - what the last validation or test of a run says about classes and samples: the
 * confusion matrix, and the samples with the largest loss, with small pictures where the data are
 * images. Computed at the end of a run from what the Trainer counted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "input/json_file.h"
#include "recipe/run/run.h"
#include "report/reports.h"
#include "doc/doc.h"
#include "base/alloc.h"

enum {
    SHOWN_CLASSES = 64, /* of a matrix in a file */
};

static bool is_evaluated(const fg_recipe *r, fg_status status)
{
    const fg_recipe_kind kind = r->kind;
    return (kind == FG_RECIPE_FIT || kind == FG_RECIPE_VALIDATE || kind == FG_RECIPE_TEST) &&
           r->fit_data.val != NULL && (status == FG_OK || status == FG_ESTOPPED);
}

/* The class's name, or its number in `number`. */
static const char *class_name(const fgi_run_task *t, int64_t i, char number[24])
{
    if (t->class_names != NULL && i >= 0 && i < t->outputs && t->class_names[i] != NULL)
        return t->class_names[i];
    (void)fgi_snprintf(number, 24, "%" PRId64, i);
    return number;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* Samples of class i, how often it was predicted, and both. */
typedef struct class_count {
    int64_t actual, predicted, hits;
} class_count;

static class_count count_of(const fg_recipe *r, int64_t i)
{
    const int64_t n = r->task.outputs;
    const double *sums = r->label_sums;
    if (sums != NULL)
        return (class_count){(int64_t)sums[i], (int64_t)sums[n + i], (int64_t)sums[2 * n + i]};
    class_count c = {.hits = r->confusion[i * n + i]};
    for (int64_t k = 0; k < n; k++) {
        c.actual += r->confusion[i * n + k];
        c.predicted += r->confusion[k * n + i];
    }
    return c;
}

/* A class that has samples and is never predicted: the usual result of imbalanced data. */
static void note_missing(const fg_recipe *r, const char *part)
{
    int64_t missing = 0, first = -1, samples = 0;
    char number[24], more[48] = "";
    for (int64_t i = 0; i < r->task.outputs; i++) {
        const class_count c = count_of(r, i);
        const bool is_missing = c.actual > 0 && c.predicted == 0;
        first = is_missing && first < 0 ? i : first;
        missing += is_missing;
        samples += c.actual;
    }
    const char *option = r->task.is_multilabel ? "loss.pos_weight" : "loss.class_weight";
    const bool is_weighted =
        fg_option_count(r->c->values, option) > 0 || strcmp(r->c->data.sampling, "balanced") == 0;
    if (missing == 0 || r->fit.fast_dev_run)
        return;
    const bool is_rare = 2 * count_of(r, first).actual * r->task.outputs <= samples;
    if (missing > 1)
        (void)fgi_snprintf(more, sizeof more, " and %" PRId64 " other class%s", missing - 1,
                           missing > 2 ? "es" : "");
    fgi_run_say(
        r, FG_LOG_INFO, "note: class %s (%" PRId64 " of the %s samples)%s %s never predicted%s%s%s",
        class_name(&r->task, first, number), count_of(r, first).actual, part, more,
        missing > 1 ? "are" : "is", is_weighted || !is_rare ? "" : "; --",
        is_weighted || !is_rare ? "" : option,
        is_weighted || !is_rare ? "" : "=balanced gives rare classes more weight in training");
}

static json_t *fraction(int64_t part, int64_t whole)
{
    return whole > 0 ? json_real((double)part / (double)whole) : json_null();
}

static json_t *classes_of(const fg_recipe *r)
{
    json_t *list = json_array();
    char number[24];
    for (int64_t i = 0; i < r->task.outputs; i++) {
        const class_count c = count_of(r, i);
        const int64_t both = c.actual + c.predicted;
        (void)json_array_append_new(
            list,
            json_pack("{s:o, s:I, s:I, s:I, s:o, s:o, s:o}", "name",
                      fgi_json_string(class_name(&r->task, i, number)), "samples",
                      (json_int_t)c.actual, "predicted", (json_int_t)c.predicted, "correct",
                      (json_int_t)c.hits, "precision", fraction(c.hits, c.predicted), "recall",
                      fraction(c.hits, c.actual), "f1", fraction(2 * c.hits, both)));
    }
    return list;
}

static json_t *matrix_of(const fg_recipe *r)
{
    json_t *list = json_array();
    const int64_t n = r->task.outputs;
    for (int64_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (int64_t k = 0; k < n; k++)
            (void)json_array_append_new(row, json_integer((json_int_t)r->confusion[i * n + k]));
        (void)json_array_append_new(list, row);
    }
    return list;
}

void fgi_run_put_matrix(const fg_recipe *r, int columns, fgi_buf *out)
{
    fgi_doc d;
    fgi_doc_begin(&d, out, false, "");
    if (r->confusion != NULL)
        fgi_doc_confusion(&d,
                          &(fgi_confusion){r->confusion, (size_t)r->task.outputs,
                                           json_object_get(r->evaluation, "classes")},
                          columns);
    fgi_doc_end(&d);
}

void fgi_run_put_classes(const fg_recipe *r, fgi_buf *out)
{
    const json_t *classes = json_object_get(r->evaluation, "classes");
    const size_t count = json_array_size(classes);
    fgi_doc d;
    fgi_doc_begin(&d, out, false, "");
    fgi_doc_worst_classes(&d, classes);
    if (count > FGI_WORST_CLASSES)
        fgi_doc_say(&d, NULL, "the %d of %zu classes with the lowest F1; --summary=FILE writes all",
                    (int)FGI_WORST_CLASSES, count);
    fgi_doc_end(&d);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* A class, how many labels, or the value of a regression in its unit. */
static json_t *value_of(const fgi_run_task *t, float value)
{
    char number[24];
    if (t->is_multilabel) {
        (void)fgi_snprintf(number, sizeof number, "%.0f label%s", (double)value,
                           fgi_s((int64_t)value));
        return json_string(number);
    }
    if (t->is_classification)
        return fgi_json_string(class_name(t, (int64_t)value, number));
    return fgi_json_real((double)value * t->target_deviation + t->target_mean);
}

static json_t *sample_of(const fg_recipe *r, const fg_sample_row *row, bool with_images)
{
    const fgi_run_task *t = &r->task;
    const fg_dataset *dataset = r->fit_data.val;
    const double unit = t->is_classification ? 1 : t->target_deviation;
    char *picture = with_images ? fgi_thumbnail(dataset, row->index, t->image) : NULL;
    json_t *sample =
        json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "index", (json_int_t)row->index, "name",
                  fgi_json_string(fg_dataset_sample_name(dataset, row->index)), "target",
                  value_of(t, row->target), "prediction", value_of(t, row->prediction), "loss",
                  isfinite(row->loss) ? json_real((double)row->loss * unit) : json_null(), "image",
                  fgi_json_string(picture));
    fgi_free(picture);
    return sample;
}

static json_t *worst_of(const fg_recipe *r, const fg_evaluation *e)
{
    const bool with_images = r->kind == FG_RECIPE_FIT && r->folder != NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < e->worst_count; i++)
        (void)json_array_append_new(list, sample_of(r, &e->worst[i], with_images));
    return list;
}

/* ---- the evaluation -------------------------------------------------------------------------- */

fg_status fgi_run_evaluation_make(fg_recipe *r, fg_status status, fg_error *err)
{
    const fg_evaluation *e = NULL;
    const bool is_test = r->kind == FG_RECIPE_TEST;
    const char *part = is_test ? "test" : "validation";
    if (!is_evaluated(r, status))
        return FG_OK;
    FGI_TRY(fg_trainer_evaluation(r->trainer, is_test, &e, err));
    if (e == NULL)
        return FG_OK;
    r->confusion = e->class_count == r->task.outputs ? e->confusion : NULL;
    r->label_sums = e->class_count == r->task.outputs ? e->label_sums : NULL;
    json_decref(r->evaluation);
    r->evaluation = json_pack("{s:s, s:s, s:I, s:I, s:o}", "task",
                              r->task.is_multilabel       ? "multilabel"
                              : r->task.is_classification ? "classification"
                                                          : "regression",
                              "part", part, "step", (json_int_t)e->step, "samples",
                              (json_int_t)e->samples, "worst", worst_of(r, e));
    if (r->confusion != NULL || r->label_sums != NULL) {
        (void)json_object_set_new(r->evaluation, "classes", classes_of(r));
        if (r->confusion != NULL && r->task.outputs <= SHOWN_CLASSES)
            (void)json_object_set_new(r->evaluation, "confusion", matrix_of(r));
        note_missing(r, part);
    }
    return r->evaluation != NULL ? FG_OK : fgi_no_memory(err);
}
