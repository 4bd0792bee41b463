/* run_doc_evaluation.c - the sections of a run's report about its last validation: classes, the
 * confusion matrix, and the samples with the largest loss. Lines have none of them: `validate`
 * prints the matrix and the classes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "report/html.h"
#include "report/run_doc.h"

enum { NARROW = 8, CONFUSIONS = 10 }; /* classes that fit a phone; rows of the list */

/* ---- classes --------------------------------------------------------------------------------- */

static const fgi_field class_fields[] = {FGI_FIELD("class", "name", FGI_WORDS),
                                         FGI_FIELD("samples", "samples", FGI_COUNT),
                                         FGI_FIELD("precision", "precision", FGI_PERCENT),
                                         FGI_FIELD("recall", "recall", FGI_PERCENT),
                                         FGI_FIELD("F1", "f1", FGI_PERCENT),
                                         FGI_FIELDS_END};

static const fgi_field confusion_fields[] = {
    FGI_FIELD("class", "class_name", FGI_WORDS), FGI_FIELD("predicted as", "predicted", FGI_WORDS),
    FGI_FIELD("samples", "samples", FGI_COUNT), FGI_FIELDS_END};

static double cell_of(const json_t *matrix, size_t row, size_t column)
{
    return json_number_value(json_array_get(json_array_get(matrix, row), column));
}

/* Rows are the classes of the samples, columns those predicted; the bar in a cell is its fraction
 * of the row. */
static void put_matrix(fgi_buf *out, const json_t *matrix, const json_t *classes)
{
    const size_t count = json_array_size(matrix);
    fgi_buf_printf(out,
                   "<div class=\"wide%s\"><table class=\"matrix\">\n<tr><th>class \\ "
                   "predicted</th>",
                   count > NARROW ? " more" : "");
    for (size_t i = 0; i < count; i++) {
        fgi_buf_puts(out, "<th><span>");
        fgi_html_text(out, fgi_json_words(json_array_get(classes, i), "name"));
        fgi_buf_puts(out, "</span></th>");
    }
    fgi_buf_puts(out, "</tr>\n");
    for (size_t row = 0; row < count; row++) {
        const double all = fgi_json_number(json_array_get(classes, row), "samples");
        fgi_buf_puts(out, "<tr>");
        fgi_buf_puts(out, "<td>");
        fgi_html_text(out, fgi_json_words(json_array_get(classes, row), "name"));
        fgi_buf_puts(out, "</td>");
        for (size_t k = 0; k < count; k++) {
            const double value = cell_of(matrix, row, k);
            if (value > 0 && all > 0)
                fgi_buf_printf(
                    out, "<td class=\"n %s\" style=\"background-size:%.0f%% 100%%\">%.0f</td>",
                    k == row ? "hit" : "miss", 100 * value / all, value);
            else
                fgi_buf_puts(out, "<td class=\"n\"></td>");
        }
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_buf_puts(out, "</table></div>\n");
}

static const char *name_of(const json_t *classes, size_t i)
{
    return fgi_json_words(json_array_get(classes, i), "name");
}

/* The most frequent confusions. */
static void put_confusions(fgi_doc *d, const json_t *matrix, const json_t *classes)
{
    const size_t count = json_array_size(matrix), none = count * count;
    bool *is_shown = fgi_calloc(none + 1, sizeof *is_shown);
    json_t *rows = json_array();
    d->out->failed = d->out->failed || is_shown == NULL;
    for (int n = 0; n < CONFUSIONS && is_shown != NULL; n++) {
        size_t best = none;
        for (size_t i = 0; i < none; i++)
            if (i / count != i % count && !is_shown[i] &&
                cell_of(matrix, i / count, i % count) > 0 &&
                (best == none || cell_of(matrix, i / count, i % count) >
                                     cell_of(matrix, best / count, best % count)))
                best = i;
        if (best == none)
            break;
        is_shown[best] = true;
        (void)json_array_append_new(rows, json_pack("{s:s, s:s, s:f}", "class_name",
                                                    name_of(classes, best / count), "predicted",
                                                    name_of(classes, best % count), "samples",
                                                    cell_of(matrix, best / count, best % count)));
    }
    fgi_doc_table(d, NULL, confusion_fields, rows);
    json_decref(rows);
    fgi_free(is_shown);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* A class, or a number. */
static void put_value(fgi_buf *out, const json_t *value)
{
    if (json_is_string(value))
        fgi_html_text(out, json_string_value(value));
    else if (json_is_number(value))
        fgi_buf_printf(out, "%.6g", json_number_value(value));
}

/* Only pictures as this program writes them: reports may come from others. */
static bool is_picture(const char *uri)
{
    static const char *const starts[] = {"data:image/png;base64,", "data:image/jpeg;base64,"};
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=";
    for (size_t i = 0; i < 2; i++) {
        const size_t size = strlen(starts[i]);
        if (strncmp(uri, starts[i], size) == 0 && uri[size] != '\0')
            return uri[size + strspn(uri + size, plain)] == '\0';
    }
    return false;
}

static void put_name(fgi_buf *out, const json_t *sample)
{
    if (*fgi_json_words(sample, "name") != '\0')
        fgi_html_text(out, fgi_json_words(sample, "name"));
    else
        fgi_buf_printf(out, "%.0f", fgi_json_number(sample, "index"));
}

static void put_pictures(fgi_buf *out, const json_t *worst)
{
    size_t i;
    json_t *one;
    fgi_buf_puts(out, "<div class=\"samples\">\n");
    json_array_foreach(worst, i, one)
    {
        fgi_buf_puts(out, "<figure>");
        if (is_picture(fgi_json_words(one, "image"))) {
            fgi_buf_puts(out, "<img alt=\"sample ");
            put_name(out, one);
            fgi_buf_printf(out, "\" src=\"%s\"/>", fgi_json_words(one, "image"));
        }
        fgi_buf_puts(out, "<p><b>");
        put_value(out, json_object_get(one, "target"));
        fgi_buf_puts(out, "</b>, predicted <b>");
        put_value(out, json_object_get(one, "prediction"));
        fgi_buf_printf(out, "</b>; loss %.4g</p><p class=\"note\">", fgi_json_number(one, "loss"));
        put_name(out, one);
        fgi_buf_puts(out, "</p></figure>\n");
    }
    fgi_buf_puts(out, "</div>\n");
}

static void put_sample_name(fgi_buf *out, const fgi_field *field, const json_t *sample)
{
    (void)field;
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
    const bool is_square =
        json_array_size(matrix) > 0 && json_array_size(matrix) == json_array_size(classes);
    fgi_doc_heading(d, 2, is_square ? "Confusion matrix" : "Classes");
    put_source(d, evaluation);
    if (is_square)
        put_matrix(d->out, matrix, classes);
    if (is_square && json_array_size(matrix) > NARROW)
        put_confusions(d, matrix, classes);
    fgi_doc_table(d, NULL, class_fields, classes);
}

void fgi_run_doc_evaluation(fgi_doc *d, const json_t *report)
{
    const json_t *evaluation = json_object_get(report, "evaluation");
    const json_t *classes = json_object_get(evaluation, "classes");
    const json_t *worst = json_object_get(evaluation, "worst"), *one;
    const bool has_classes = json_array_size(classes) > 0;
    bool has_picture = false;
    size_t i;
    if (!d->is_page)
        return;
    if (has_classes)
        put_classes(d, evaluation, classes);
    if (json_array_size(worst) == 0)
        return;
    fgi_doc_heading(d, 2, "Samples with the largest loss");
    if (!has_classes)
        put_source(d, evaluation);
    json_array_foreach(worst, i, one) has_picture =
        has_picture || is_picture(fgi_json_words(one, "image"));
    fgi_doc_raw(d);
    if (has_picture)
        put_pictures(d->out, worst);
    else
        fgi_doc_table(d, NULL, sample_fields[has_classes], worst);
}
