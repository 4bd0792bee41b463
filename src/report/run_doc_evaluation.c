/* run_doc_evaluation.c - the sections of a run's report about its last validation: classes, the
 * confusion matrix, and the samples with the largest loss. `validate` prints the first two.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/text.h"
#include "report/reports.h"

enum { NARROW = 8, CONFUSIONS = 10 }; /* classes that fit a phone; rows of the list */
enum { LINES_MOST = 32, NAME_MOST = 16, HEAD_MOST = 6, KEY = 16 }; /* of a matrix in lines */

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

/* ---- the matrix ------------------------------------------------------------------------------ */

static const fgi_field confusion_fields[] = {
    FGI_FIELD("class", "class_name", FGI_WORDS), FGI_FIELD("predicted as", "predicted", FGI_WORDS),
    FGI_FIELD("samples", "samples", FGI_COUNT), FGI_FIELDS_END};

static const char *name_of(const fgi_confusion *c, size_t i)
{
    return fgi_json_words(json_array_get(c->classes, i), "name");
}

static int64_t samples_of(const fgi_confusion *c, size_t row)
{
    int64_t sum = 0;
    for (size_t k = 0; k < c->count; k++)
        sum += c->counts[row * c->count + k];
    return sum;
}

/* Rows are the classes of the samples, columns those predicted; the bar in a cell is its fraction
 * of the row. */
static void put_matrix(fgi_buf *out, const fgi_confusion *c)
{
    fgi_buf_printf(out,
                   "<div class=\"wide%s\"><table class=\"matrix\">\n<tr><th>class \\ "
                   "predicted</th>",
                   c->count > NARROW ? " more" : "");
    for (size_t i = 0; i < c->count; i++) {
        fgi_buf_puts(out, "<th><span>");
        fgi_html_text(out, name_of(c, i));
        fgi_buf_puts(out, "</span></th>");
    }
    fgi_buf_puts(out, "</tr>\n");
    for (size_t row = 0; row < c->count; row++) {
        const double all = (double)samples_of(c, row);
        fgi_buf_puts(out, "<tr><td>");
        fgi_html_text(out, name_of(c, row));
        fgi_buf_puts(out, "</td>");
        for (size_t k = 0; k < c->count; k++) {
            const int64_t value = c->counts[row * c->count + k];
            if (value > 0)
                fgi_buf_printf(out,
                               "<td class=\"n %s\" style=\"background-size:%.0f%% 100%%\">%" PRId64
                               "</td>",
                               k == row ? "hit" : "miss", 100 * (double)value / all, value);
            else
                fgi_buf_puts(out, "<td class=\"n\"></td>");
        }
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_buf_puts(out, "</table></div>\n");
}

/* The same as lines. */
static void put_lines(fgi_doc *d, const fgi_confusion *c)
{
    fgi_field fields[LINES_MOST + 3] = {FGI_FIELD("true", "name", FGI_WORDS)};
    char keys[LINES_MOST][KEY], names[LINES_MOST][4 * HEAD_MOST + 1];
    json_t *rows = json_array();
    for (size_t i = 0; i < c->count; i++) {
        const char *name = name_of(c, i);
        json_t *cells = json_array();
        (void)fgi_snprintf(keys[i], KEY, "cells.%zu", i);
        (void)fgi_snprintf(names[i], sizeof names[i], "%.*s",
                           (int)fgi_text_fit(name, HEAD_MOST, NULL), name);
        fields[i + 1] = (fgi_field)FGI_FIELD(names[i], keys[i], FGI_FIGURE);
        for (size_t k = 0; k < c->count; k++) {
            const int64_t count = c->counts[i * c->count + k];
            (void)json_array_append_new(cells, count > 0 ? json_integer((json_int_t)count)
                                                         : json_string("."));
        }
        (void)json_array_append_new(rows,
                                    json_pack("{s:s%, s:o, s:I, s:I}", "name", name,
                                              fgi_text_fit(name, NAME_MOST, NULL), "cells", cells,
                                              "hits", (json_int_t)c->counts[i * c->count + i],
                                              "all", (json_int_t)samples_of(c, i)));
    }
    fields[c->count + 1] = (fgi_field)FGI_FIELD("correct", "hits/all", FGI_PERCENT);
    fields[c->count + 2] = (fgi_field)FGI_FIELDS_END;
    fgi_doc_rows(d, NULL, fields, rows);
}

/* The most frequent confusions. */
static void put_confusions(fgi_doc *d, const fgi_confusion *c)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < c->count * c->count; i++)
        if (c->counts[i] > 0 && i / c->count != i % c->count)
            fgi_rows_insert(rows,
                            json_pack("{s:s, s:s, s:I}", "class_name", name_of(c, i / c->count),
                                      "predicted", name_of(c, i % c->count), "samples",
                                      (json_int_t)c->counts[i]),
                            "samples", false, CONFUSIONS);
    fgi_doc_rows(d, NULL, confusion_fields, rows);
}

/* Whether a matrix fits in that many columns. */
static bool is_fitting(const fgi_confusion *c, int columns)
{
    size_t name = strlen("true"), cell = 1;
    char number[24];
    for (size_t i = 0; i < c->count; i++) {
        const size_t width = fgi_text_columns(name_of(c, i));
        name = width > name ? width : name;
        cell = width > cell ? width : cell;
    }
    cell = cell < HEAD_MOST ? cell : HEAD_MOST;
    for (size_t i = 0; i < c->count * c->count; i++) {
        const size_t width = (size_t)fgi_snprintf(number, sizeof number, "%" PRId64, c->counts[i]);
        cell = width > cell ? width : cell;
    }
    return c->count <= LINES_MOST &&
           (name < NAME_MOST ? name : NAME_MOST) + c->count * (cell + 2) + strlen("  100.0 %") <=
               (size_t)columns;
}

void fgi_doc_confusion(fgi_doc *d, const fgi_confusion *c, int columns)
{
    int64_t correct = 0, all = 0;
    for (size_t i = 0; i < c->count; i++) {
        correct += c->counts[i * c->count + i];
        all += samples_of(c, i);
    }
    if (d->is_page) {
        fgi_doc_raw(d);
        put_matrix(d->out, c);
        if (c->count > NARROW)
            put_confusions(d, c);
        return;
    }
    fgi_buf_printf(d->out, "confusion matrix: %" PRId64 " of %" PRId64 " correct", correct, all);
    fgi_buf_printf(d->out, all > 0 ? "  %.1f %%\n" : "\n", 100 * (double)correct / (double)all);
    if (is_fitting(c, columns))
        put_lines(d, c);
    else
        put_confusions(d, c);
}

/* ---- samples --------------------------------------------------------------------------------- */

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

static void put_text(fgi_buf *out, const fgi_field *field, const json_t *sample)
{
    fgi_buf words = {0};
    fgi_field_put(&words, field, sample);
    fgi_html_text(out, fgi_buf_text(&words));
    fgi_buf_fini_part(&words, out);
}

static void put_pictures(fgi_buf *out, const json_t *worst)
{
    size_t i;
    json_t *one;
    const fgi_field *f = sample_fields[0];
    fgi_buf_puts(out, "<div class=\"samples\">\n");
    json_array_foreach(worst, i, one)
    {
        fgi_buf_puts(out, "<figure>");
        if (is_picture(fgi_json_words(one, "image"))) {
            fgi_buf_puts(out, "<img alt=\"sample ");
            put_text(out, &f[0], one);
            fgi_buf_printf(out, "\" src=\"%s\"/>", fgi_json_words(one, "image"));
        }
        fgi_buf_puts(out, "<p><b>");
        put_text(out, &f[1], one);
        fgi_buf_puts(out, "</b>, predicted <b>");
        put_text(out, &f[2], one);
        fgi_buf_printf(out, "</b>; loss %.4g</p><p class=\"note\">", fgi_json_number(one, "loss"));
        put_text(out, &f[0], one);
        fgi_buf_puts(out, "</p></figure>\n");
    }
    fgi_buf_puts(out, "</div>\n");
}

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
