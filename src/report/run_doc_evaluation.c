/* run_doc_evaluation.c - the sections of a run's report about its last validation: classes, the
 * confusion matrix, and the samples with the largest loss. `validate` prints the first two.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "report/reports.h"

/* ---- classes --------------------------------------------------------------------------------- */

static const fgi_field class_fields[] = {FGI_FIELD("class", "name", FGI_WORDS),
                                         FGI_FIELD("samples", "samples", FGI_COUNT),
                                         FGI_FIELD("precision", "precision", FGI_PERCENT),
                                         FGI_FIELD("recall", "recall", FGI_PERCENT),
                                         FGI_FIELD("F1", "f1", FGI_PERCENT),
                                         FGI_FIELDS_END};

void fgi_doc_worst_classes(fgi_doc *d, const json_t *classes)
{
    size_t i;
    json_t *one, *rows = json_array();
    const bool is_part = json_array_size(classes) > FGI_WORST_CLASSES;
    json_array_foreach(classes, i, one)
    {
        if (is_part)
            fgi_rows_insert(rows, json_incref(one), "f1", true, FGI_WORST_CLASSES);
        else
            (void)json_array_append(rows, one);
    }
    fgi_doc_rows(d, "classes", class_fields, rows);
}

/* ---- samples --------------------------------------------------------------------------------- */

static void put_sample_name(fgi_buf *out, const fgi_field *field, const json_t *sample)
{
    if (*fgi_json_words(sample, "name") != '\0')
        fgi_buf_puts(out, fgi_json_words(sample, "name"));
    else
        fgi_buf_printf(out, "%.0f", fgi_json_number(sample, "index"));
}

static const fgi_field sample_fields[][5] = {
    {FGI_FIELD_PUT("sample", FGI_WORDS, put_sample_name), FGI_FIELD("target", "target", FGI_FIGURE),
     FGI_FIELD("prediction", "prediction", FGI_FIGURE), FGI_FIELD("distance", "loss", FGI_NUMBER),
     FGI_FIELDS_END},
    {FGI_FIELD_PUT("sample", FGI_WORDS, put_sample_name), FGI_FIELD("class", "target", FGI_WORDS),
     FGI_FIELD("predicted as", "prediction", FGI_WORDS), FGI_FIELD("loss", "loss", FGI_NUMBER),
     FGI_FIELDS_END}};

/* ---- the sections ---------------------------------------------------------------------------- */

static void put_source(fgi_doc *d, const json_t *evaluation)
{
    fgi_doc_say(d, "note", "Of %.0f %s samples, with the weights of step %.0f.",
                fgi_json_number(evaluation, "samples"), fgi_json_words(evaluation, "part"),
                fgi_json_number(evaluation, "step"));
}

static void put_classes(fgi_doc *d, const json_t *evaluation, const json_t *classes)
{
    const json_t *matrix = json_object_get(evaluation, "confusion");
    const size_t count = json_array_size(matrix);
    const bool is_square = count > 0 && count == json_array_size(classes);
    int64_t *counts = is_square ? fgi_calloc(count * count, sizeof *counts) : NULL;
    d->out->failed = d->out->failed || (is_square && counts == NULL);
    for (size_t i = 0; counts != NULL && i < count * count; i++)
        counts[i] = (int64_t)json_number_value(
            json_array_get(json_array_get(matrix, i / count), i % count));
    fgi_doc_heading(d, 2, is_square ? "Confusion matrix" : "Classes");
    put_source(d, evaluation);
    if (counts != NULL)
        fgi_doc_confusion(d, &(fgi_confusion){counts, count, classes}, 0);
    fgi_doc_table(d, NULL, class_fields, classes);
    fgi_free(counts);
}

void fgi_run_doc_evaluation(fgi_doc *d, const json_t *report)
{
    const json_t *evaluation = json_object_get(report, "evaluation");
    const json_t *classes = json_object_get(evaluation, "classes");
    const json_t *worst = json_object_get(evaluation, "worst");
    const bool has_classes = json_array_size(classes) > 0;
    if (!d->is_page)
        return;
    if (has_classes)
        put_classes(d, evaluation, classes);
    if (json_array_size(worst) == 0)
        return;
    fgi_doc_heading(d, 2, "Samples with the largest loss");
    if (!has_classes)
        put_source(d, evaluation);
    fgi_doc_table(d, NULL, sample_fields[has_classes], worst);
}
