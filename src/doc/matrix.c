/* matrix.c - the confusion matrix of a classification as a block; see doc.h. It is a table of cells
 * with bars, or the most frequent confusions where that does not fit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "doc/doc.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/text.h"

enum { PHONE_MOST = 8, CONFUSIONS = 10 }; /* classes that fit a phone; rows of the list */
enum { LINES_MOST = 32, NAME_MOST = 16, HEAD_MOST = 6 }; /* of a matrix in lines */

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

/* The row of class i; `head` and `hit` are the name and key of its column. */
static json_t *row_of(const fgi_confusion *c, size_t i, bool is_page)
{
    const char *name = name_of(c, i);
    const int64_t *counts = c->counts + i * c->count;
    char hit[32];
    json_t *cells = json_array();
    for (size_t k = 0; k < c->count; k++)
        (void)json_array_append_new(cells, json_integer((json_int_t)counts[k]));
    (void)fgi_snprintf(hit, sizeof hit, "cells.%zu/all", i);
    return json_pack("{s:s%, s:s%, s:s, s:o, s:I, s:I}", "name", name,
                     fgi_text_fit(name, is_page ? SIZE_MAX : NAME_MOST, NULL), "head", name,
                     fgi_text_fit(name, is_page ? SIZE_MAX : HEAD_MOST, NULL), "hit", hit, "cells",
                     cells, "hits", (json_int_t)counts[i], "all", (json_int_t)samples_of(c, i));
}

static void put_table(fgi_doc *d, const fgi_confusion *c, const char *class)
{
    fgi_field *fields = fgi_calloc(c->count + 4, sizeof *fields);
    json_t *rows = json_array();
    d->out->failed = d->out->failed || fields == NULL;
    for (size_t i = 0; fields != NULL && i < c->count; i++) {
        (void)json_array_append_new(rows, row_of(c, i, d->is_page));
        const json_t *row = json_array_get(rows, i);
        fields[i + 2] =
            (fgi_field)FGI_FIELD(fgi_json_words(row, "head"), fgi_json_words(row, "hit"), FGI_CELL);
    }
    if (fields != NULL) {
        fields[0] = (fgi_field)FGI_FIELD_IN(FGI_PAGE, "class \\ predicted", "name", FGI_WORDS);
        fields[1] = (fgi_field)FGI_FIELD_IN(FGI_LINES, "true", "name", FGI_WORDS);
        fields[c->count + 2] =
            (fgi_field)FGI_FIELD_IN(FGI_LINES, "correct", "hits/all", FGI_PERCENT);
    }
    fgi_doc_rows(d, class, fields, rows);
    fgi_free(fields);
}

/* The most frequent confusions. */
static void put_confusions(fgi_doc *d, const fgi_confusion *c)
{
    static const fgi_field fields[] = {FGI_FIELD("class", "class_name", FGI_WORDS),
                                       FGI_FIELD("predicted as", "predicted", FGI_WORDS),
                                       FGI_FIELD("samples", "samples", FGI_COUNT), FGI_FIELDS_END};
    json_t *rows = json_array();
    for (size_t i = 0; i < c->count * c->count; i++)
        if (c->counts[i] > 0 && i / c->count != i % c->count)
            fgi_rows_insert(rows,
                            json_pack("{s:s, s:s, s:I}", "class_name", name_of(c, i / c->count),
                                      "predicted", name_of(c, i % c->count), "samples",
                                      (json_int_t)c->counts[i]),
                            "samples", false, CONFUSIONS);
    fgi_doc_rows(d, NULL, fields, rows);
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

static void put_total(fgi_doc *d, const fgi_confusion *c)
{
    int64_t correct = 0, all = 0;
    for (size_t i = 0; i < c->count; i++) {
        correct += c->counts[i * c->count + i];
        all += samples_of(c, i);
    }
    fgi_doc_say(d, NULL,
                all > 0 ? "confusion matrix: %" PRId64 " of %" PRId64 " correct  %.1f %%"
                        : "confusion matrix: %" PRId64 " of %" PRId64 " correct",
                correct, all, 100 * (double)correct / (double)all);
}

void fgi_doc_confusion(fgi_doc *d, const fgi_confusion *c, int columns)
{
    const bool is_wide = d->is_page ? c->count > PHONE_MOST : !is_fitting(c, columns);
    if (!d->is_page)
        put_total(d, c);
    if (d->is_page || !is_wide)
        put_table(d, c, is_wide ? "matrix more" : "matrix");
    if (is_wide)
        put_confusions(d, c);
}
