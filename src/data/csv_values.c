/* csv_values.c - the distinct strings of a column or of the classes, with indexes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"
#include "base/print.h"
#include "data/csv_schema.h"

fgi_added fgi_values_add(fgi_values *values, fgi_arena *arena, fgi_str text, size_t limit)
{
    const fgi_hash hash = fgi_hash_bytes(text.data, text.size);
    if (fgi_map_get(&values->index, hash) != NULL)
        return FGI_ADDED;
    if (values->count >= limit)
        return FGI_FULL;
    const char **texts =
        fgi_grow((void *)values->texts, values->count, &values->capacity, sizeof(*values->texts));
    if (texts == NULL)
        return FGI_NO_MEMORY;
    values->texts = texts;
    char *copy = fgi_arena_alloc(arena, text.size + 1);
    if (copy == NULL || !fgi_map_put(&values->index, hash, copy))
        return FGI_NO_MEMORY;
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    values->texts[values->count++] = copy;
    return FGI_ADDED;
}

static int compare_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_numbers(const void *a, const void *b)
{
    double x = 0, y = 0;
    (void)fgi_parse_f64(fgi_str_of(*(const char *const *)a), &x);
    (void)fgi_parse_f64(fgi_str_of(*(const char *const *)b), &y);
    return x != y ? (x > y) - (x < y) : compare_bytes(a, b);
}

bool fgi_values_seal(fgi_values *values, fgi_order order)
{
    if (order != FGI_AS_ADDED && values->count > 1)
        qsort((void *)values->texts, values->count, sizeof(*values->texts),
              order == FGI_NUMERIC ? compare_numbers : compare_bytes);
    fgi_map_clear(&values->index);
    for (size_t i = 0; i < values->count; i++) {
        const char *text = values->texts[i];
        if (!fgi_map_put(&values->index, fgi_hash_text(text), (void *)&values->texts[i]))
            return false;
    }
    return true;
}

int64_t fgi_values_find(const fgi_values *values, fgi_str text)
{
    const char *const *place = fgi_map_get(&values->index, fgi_hash_bytes(text.data, text.size));
    return place == NULL ? -1 : place - values->texts;
}

void fgi_values_fini(fgi_values *values)
{
    fgi_free((void *)values->texts);
    fgi_map_fini(&values->index);
    *values = (fgi_values){0};
}

/* Only digits and what separates them, so that the text is a number on its own. */
static bool is_unmarked(fgi_str cell)
{
    for (size_t i = 0; i < cell.size; i++)
        if (strchr("0123456789+-.,eE'", cell.data[i]) == NULL)
            return false;
    return cell.size > 0;
}

fgi_content fgi_schema_cell(const fg_csv_schema *schema, size_t column, const fgi_csv_row *row,
                            size_t at, double *out)
{
    const fgi_str cell = row->cells[at];
    const bool is_number = schema->columns[column].is_number;
    if (schema->na.count > 0 && fgi_values_find(&schema->na, cell) >= 0)
        return FGI_MISSING;
    fgi_content content = (fgi_content)fgi_cell_number(cell, out);
    if (content == FGI_MISSING && cell.size > 0)
        content = schema->no_default_na ? FGI_TEXT
                  : row->is_quoted[at]  ? FGI_QUOTED_WORD
                                        : FGI_MISSING;
    if (content == FGI_NUMBER && schema->decimal == ',' &&
        memchr(cell.data, '.', cell.size) != NULL)
        content = FGI_TEXT; /* separates thousands, if anything */
    if (content == FGI_TEXT && (is_number || (schema->decimal == ',' && is_unmarked(cell))) &&
        fgi_cell_spreadsheet(cell, schema->decimal, out))
        return FGI_NUMBER;
    return content == FGI_TEXT && is_number && fgi_cell_date(cell, out) ? FGI_NUMBER : content;
}

fg_status fgi_csv_missing(const fg_csv_schema *schema, const fgi_csv *csv, size_t row,
                          size_t column, fgi_str cell, bool is_target, bool is_number,
                          fg_error *err)
{
    char shown[64] = "", hint[160] = "";
    const int size = cell.size > 40 ? 40 : (int)cell.size;
    const bool is_listed = schema->na.count > 0 && fgi_values_find(&schema->na, cell) >= 0;
    if (size > 0) {
        (void)fgi_snprintf(shown, sizeof shown, ": '%.*s'", size, cell.data);
        (void)fgi_snprintf(hint, sizeof hint,
                           is_listed ? "; '%.*s' is listed in data.na_values%.0s"
                                     : "; if '%.*s' is a value here, %sset data.keep_default_na: "
                                       "false",
                           size, cell.data, is_number ? "" : "write it in quotes, or ");
    }
    if (is_target)
        return fgi_csv_fail(csv, row, column, err,
                            "the target is missing%s\nremove the row: a missing target is always "
                            "an error%s",
                            shown, hint);
    return fgi_csv_fail(csv, row, column, err,
                        "the value is missing%s\nset data.missing: mean to use the column's mean "
                        "over the training rows, or remove the row%s",
                        shown, hint);
}

/* 2^53: every integer up to it can be represented in f64. */
static const double largest_exact = 9007199254740992.0;

fgi_str fgi_class_text(const fg_csv_schema *schema, const fgi_csv_row *row, size_t at,
                       char scratch[32])
{
    double value;
    if (!schema->has_numeric_classes ||
        fgi_schema_cell(schema, (size_t)schema->target, row, at, &value) != FGI_NUMBER ||
        value != trunc(value) || fabs(value) > largest_exact)
        return row->cells[at];
    const int size = snprintf(scratch, 32, "%" PRId64, (int64_t)value);
    return (fgi_str){scratch, (size_t)size};
}

/* ---- what columns are ------------------------------------------------------------------------ */

bool fgi_csv_is_nearly_numeric(const fgi_csv_column *column)
{
    const fgi_csv_seen *seen = &column->seen;
    return !column->is_category && seen->texts > 0 && seen->numbers > seen->texts;
}

bool fgi_csv_is_spreadsheet(const fgi_csv_column *column)
{
    const fgi_csv_seen *seen = &column->seen;
    return !column->is_category && seen->texts > 0 &&
           (2 * seen->commas > seen->texts || 2 * seen->marks > seen->texts);
}

bool fgi_csv_may_be_numeric(const fgi_csv_column *column)
{
    const fgi_csv_seen *seen = &column->seen;
    return column->is_candidate || (seen->iso_dates > 0 && seen->iso_dates == seen->texts);
}

static bool is_between(char c, char first, char last) { return c >= first && c <= last; }

/* A word of a name: up to another character, or up to a capital after a small letter. */
static size_t word_size(const char *name)
{
    size_t size = 0;
    while (fgi_is_alnum(name[size]) && (size == 0 || !is_between(name[size], 'A', 'Z') ||
                                        !is_between(name[size - 1], 'a', 'z')))
        size++;
    return size;
}

/* The last ones may begin the name of a quantity, as in "number of rooms". */
static bool is_id(const char *word, size_t size, bool is_last)
{
    static const char *const ids[] = {"id",     "ids", "idx", "index",  "uuid", "guid",
                                      "rownum", "nr",  "no",  "number", "key"};
    enum { ANYWHERE = 7, ALL = sizeof ids / sizeof ids[0] };
    for (size_t i = 0; i < (is_last ? (size_t)ALL : (size_t)ANYWHERE); i++)
        if (size == strlen(ids[i]) && fgi_begins_nocase(word, ids[i]))
            return true;
    return false;
}

bool fgi_csv_names_rows(const fgi_csv *csv, size_t column, const fgi_csv_seen *seen)
{
    char number[24];
    const char *name = csv->columns[column];
    (void)fgi_snprintf(number, sizeof number, "%zu", column);
    if (!csv->has_header)
        return false;
    if (strcmp(name, number) == 0 || strcmp(name, "Unnamed: 0") == 0)
        return seen->greatest - seen->least < 2 * (double)csv->row_count;
    size_t size = word_size(name);
    bool is_first = true, is_last = false;
    for (const char *at = name; *at != '\0'; at += size > 0 ? size : 1, size = word_size(at)) {
        if (is_first && is_id(at, size, false))
            return true;
        is_last = size > 0 ? is_id(at, size, true) : is_last;
        is_first = is_first && size == 0;
    }
    return is_last;
}
