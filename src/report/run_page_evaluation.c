/* run_page_evaluation.c - the sections of a run's page about its last validation: classes, the
 * confusion matrix, and the samples with the largest loss.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/run_page_parts.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "report/html.h"

enum { NARROW = 8, CONFUSIONS = 10 }; /* classes that fit a phone; rows of the list */

/* ---- classes --------------------------------------------------------------------------------- */

static void put_classes(fgi_buf *out, const json_t *classes)
{
    static const char *const heads[] = {"class", "#samples", "#precision", "#recall", "#F1", NULL};
    static const char *const keys[] = {"precision", "recall", "f1"};
    size_t i;
    json_t *one;
    fgi_html_table_begin(out, heads);
    json_array_foreach(classes, i, one)
    {
        fgi_buf_puts(out, "<tr>");
        fgi_html_cell(out, fgi_json_words(one, "name"));
        fgi_html_count_cell(out, fgi_json_number(one, "samples"));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            fgi_html_percent_cell(out, fgi_json_number(one, keys[k]), 1);
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
}

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
        fgi_html_cell(out, fgi_json_words(json_array_get(classes, row), "name"));
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

/* The most frequent confusions. */
static void put_confusions(fgi_buf *out, const json_t *matrix, const json_t *classes)
{
    static const char *const heads[] = {"class", "predicted as", "#samples", NULL};
    const size_t count = json_array_size(matrix);
    bool *is_shown = fgi_calloc(count * count + 1, sizeof *is_shown);
    out->failed = out->failed || is_shown == NULL;
    fgi_html_table_begin(out, heads);
    for (int n = 0; n < CONFUSIONS && is_shown != NULL; n++) {
        size_t best = count * count;
        for (size_t i = 0; i < count * count; i++)
            if (i / count != i % count && !is_shown[i] &&
                cell_of(matrix, i / count, i % count) > 0 &&
                (best == count * count || cell_of(matrix, i / count, i % count) >
                                              cell_of(matrix, best / count, best % count)))
                best = i;
        if (best == count * count)
            break;
        is_shown[best] = true;
        fgi_buf_puts(out, "<tr>");
        fgi_html_cell(out, fgi_json_words(json_array_get(classes, best / count), "name"));
        fgi_html_cell(out, fgi_json_words(json_array_get(classes, best % count), "name"));
        fgi_html_count_cell(out, cell_of(matrix, best / count, best % count));
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
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

static void put_samples(fgi_buf *out, const json_t *worst, bool is_classes)
{
    const char *heads[] = {"sample", is_classes ? "class" : "#target",
                           is_classes ? "predicted as" : "#prediction",
                           is_classes ? "#loss" : "#distance", NULL};
    size_t i;
    json_t *one;
    fgi_html_table_begin(out, heads);
    json_array_foreach(worst, i, one)
    {
        fgi_buf_puts(out, "<tr><td>");
        put_name(out, one);
        fgi_buf_puts(out, is_classes ? "</td><td>" : "</td><td class=\"n\">");
        put_value(out, json_object_get(one, "target"));
        fgi_buf_puts(out, is_classes ? "</td><td>" : "</td><td class=\"n\">");
        put_value(out, json_object_get(one, "prediction"));
        fgi_buf_puts(out, "</td>");
        fgi_html_number_cell(out, fgi_json_number(one, "loss"));
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
}

/* ---- the sections ---------------------------------------------------------------------------- */

static void put_source(fgi_buf *out, const json_t *evaluation)
{
    fgi_buf_puts(out, "<p class=\"note\">Of ");
    fgi_buf_printf(out, "%.0f ", fgi_json_number(evaluation, "samples"));
    fgi_html_text(out, fgi_json_words(evaluation, "part"));
    fgi_buf_printf(out, " samples, with the weights of step %.0f.</p>\n",
                   fgi_json_number(evaluation, "step"));
}

void fgi_page_put_evaluation(fgi_buf *out, const json_t *report)
{
    const json_t *evaluation = json_object_get(report, "evaluation");
    const json_t *classes = json_object_get(evaluation, "classes");
    const json_t *matrix = json_object_get(evaluation, "confusion");
    const json_t *worst = json_object_get(evaluation, "worst"), *one;
    const bool is_square =
        json_array_size(matrix) > 0 && json_array_size(matrix) == json_array_size(classes);
    bool has_picture = false;
    size_t i;
    if (json_array_size(classes) > 0) {
        fgi_html_element(out, "h2", is_square ? "Confusion matrix" : "Classes");
        put_source(out, evaluation);
        if (is_square)
            put_matrix(out, matrix, classes);
        if (is_square && json_array_size(matrix) > NARROW)
            put_confusions(out, matrix, classes);
        put_classes(out, classes);
    }
    if (json_array_size(worst) == 0)
        return;
    fgi_html_element(out, "h2", "Samples with the largest loss");
    if (json_array_size(classes) == 0)
        put_source(out, evaluation);
    json_array_foreach(worst, i, one) has_picture =
        has_picture || is_picture(fgi_json_words(one, "image"));
    if (has_picture)
        put_pictures(out, worst);
    else
        put_samples(out, worst, json_array_size(classes) > 0);
}
