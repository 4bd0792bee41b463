/* init_table.c - inspects a CSV file with the reader that trains on it: delimiter, header, types of
 * columns, and which column is probably the target.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "init.h"
#include "input/csv_table.h"

/* A column with more categories is probably no feature, and an error of `fit`. */
enum { MOST_CATEGORIES = 1000 };

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_categorical(const fg_csv_column *c) { return strcmp(c->kind, "categorical") == 0; }

/* Its texts are numbers with a currency or the like. */
static bool is_marked(const fg_csv_column *c) { return c->texts > 0 && c->texts == c->marked; }

/* The only text in a column of numbers, such as "-"; or NULL. */
static const char *only_word(const fg_csv_column *c)
{
    int64_t words = 0;
    double number;
    if (!is_categorical(c) || c->numbers <= c->texts || c->marked > 0)
        return NULL;
    for (int64_t i = 0; i < c->category_count; i++)
        words += fgi_cell_number(fgi_str_of(c->categories[i]), &number) != FGI_CELL_NUMBER;
    return words == 1 ? c->text : NULL;
}

/* Replaces the columns by those of another schema, which is then the table's. */
static fg_status take_schema(init_table *t, fg_csv_schema *take_schema, fg_error *err)
{
    fg_csv_schema_destroy(t->schema);
    t->schema = take_schema;
    for (size_t i = 0; i < t->column_count; i++) {
        fg_csv_column *c = &t->columns[i];
        FGI_TRY(fg_csv_schema_column(take_schema, i, c, err));
        if (is_categorical(c) && c->category_count > MOST_CATEGORIES)
            c->ignored_because = "it has many categories";
    }
    const fg_csv_column *first = &t->columns[0];
    t->rows = (size_t)(first->numbers + first->texts + first->missing);
    return FG_OK;
}

/* Reads the file again; after a failure, the columns are those from before. */
static fg_status fit(init_table *t, char decimal, const char *target, fg_error *err)
{
    const char **numeric = cli_alloc(t->column_count, sizeof *numeric);
    fg_csv_schema *schema = NULL;
    size_t numeric_count = 0, word_count = 0;
    for (size_t i = 0; i < t->column_count; i++)
        if (t->is_listed[i])
            numeric[numeric_count++] = t->columns[i].name;
    while (t->words[word_count] != NULL)
        word_count++;
    const fg_csv_options options = {.header = t->has_header ? FG_CSV_HEADER_YES : FG_CSV_HEADER_NO,
                                    .numeric = {numeric, numeric_count},
                                    .delimiter = t->delimiter,
                                    .decimal = decimal,
                                    .na_values = {(const char *const *)t->words, word_count},
                                    .no_default_na = t->keeps_words,
                                    .target = target,
                                    .missing = "mean",
                                    .max_categories = 1 << 24};
    const fg_status status = fg_csv_schema_fit(t->path, &options, &schema, err);
    free((void *)numeric);
    return status == FG_OK ? take_schema(t, schema, err) : status;
}

static size_t numeric_columns(const init_table *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->column_count; i++)
        count += strcmp(t->columns[i].kind, "numeric") == 0 || is_marked(&t->columns[i]);
    return count;
}

/* The points in "1.234 EUR" probably separate thousands where cells are separated by semicolons. */
static bool has_thousands(const init_table *t)
{
    bool has = false;
    for (size_t i = 0; i < t->column_count; i++)
        has |= is_marked(&t->columns[i]) && strchr(t->columns[i].text, '.') != NULL;
    return has && t->delimiter == ';';
}

/* Decimal commas, if they make more columns numeric. */
static fg_status try_commas(init_table *t, fg_error *err)
{
    const size_t numeric = numeric_columns(t);
    if (t->delimiter == ',' || (numeric == t->column_count && !has_thousands(t)))
        return FG_OK;
    FGI_TRY(fit(t, ',', "", err));
    t->decimal_is_sure = numeric_columns(t) > numeric;
    if (!t->decimal_is_sure && (numeric_columns(t) < numeric || !has_thousands(t)))
        return fit(t, '.', "", err);
    t->decimal = ',';
    return FG_OK;
}

fg_status init_table_read(const char *path, init_table *t, fg_error *err)
{
    fg_csv_layout layout;
    *t = (init_table){.path = path, .decimal = '.'};
    FGI_TRY(fg_csv_detect(path, &layout, err));
    if (layout.column_count < 2)
        return fgi_fail(err, FG_EINVAL,
                        "'%s' does not look like a CSV file: expected rows with the same number of "
                        "cells, two or more, separated by a comma, semicolon, tab or vertical bar",
                        path);
    t->delimiter = layout.delimiter;
    t->delimiter_is_sure = layout.delimiter_is_certain;
    t->has_header = layout.header == FG_CSV_HEADER_YES;
    t->column_count = (size_t)layout.column_count;
    t->columns = cli_alloc(t->column_count, sizeof *t->columns);
    t->is_listed = cli_alloc(t->column_count, sizeof *t->is_listed);
    FGI_TRY(fit(t, '.', "", err));
    FGI_TRY(try_commas(t, err));
    for (size_t i = 0; i < t->column_count; i++)
        t->is_listed[i] = is_marked(&t->columns[i]);
    t->header_is_sure = !t->has_header || numeric_columns(t) > 0;
    return FG_OK;
}

static void drop_words(init_table *t)
{
    for (size_t i = 0; t->words[i] != NULL; i++) {
        free(t->words[i]);
        t->words[i] = NULL;
    }
}

void init_table_free(init_table *table)
{
    drop_words(table);
    fg_csv_schema_destroy(table->schema);
    free(table->columns);
    free(table->is_listed);
    *table = (init_table){0};
}

/* ---- the target ------------------------------------------------------------------------------ */

static void choose_target(init_table *t)
{
    static const char *const names[] = {"target", "label", "class", "y", "outcome", "species"};
    t->target = t->column_count - 1;
    t->target_reason = "the last column";
    while (t->target > 0 && t->columns[t->target].ignored_because != NULL)
        t->target--;
    if (t->columns[t->target].ignored_because != NULL)
        t->target = t->column_count - 1;
    else if (t->target < t->column_count - 1)
        t->target_reason = "the last column that is not ignored";
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]) && t->has_header; n++)
        for (size_t i = 0; i < t->column_count; i++)
            if (fgi_compare_nocase(t->columns[i].name, names[n]) == 0 &&
                t->columns[i].missing == 0) {
                t->target = i;
                t->target_reason = "a common name of targets";
                t->target_is_sure = true;
                return;
            }
}

/* Reads the table with its target. A word such as None may be a class, if no other column then has
 * fewer numbers. */
static fg_status fit_target(init_table *t, fg_error *err)
{
    fg_error unused = {0};
    const size_t numeric = numeric_columns(t);
    const fg_csv_column *c = &t->columns[t->target];
    const bool has_words = c->texts > 0 && c->missing > 0;
    const fg_status status = fit(t, t->decimal, c->name, err);
    if (status == FG_OK || !has_words)
        return status;
    t->keeps_words = true;
    return fit(t, t->decimal, c->name, &unused) == FG_OK && numeric_columns(t) == numeric ? FG_OK
                                                                                          : status;
}

/* Words in columns of numbers are missing values, unless the target has them. */
static void try_words(init_table *t)
{
    fg_error unused = {0};
    size_t count = 0;
    for (size_t i = 0; i < t->column_count && count < INIT_WORDS; i++) {
        const char *word = i != t->target ? only_word(&t->columns[i]) : NULL;
        size_t same = 0;
        while (word != NULL && same < count && strcmp(t->words[same], word) != 0)
            same++;
        if (word != NULL && same == count)
            t->words[count++] = cli_strdup(word);
    }
    if (count > 0 && fit(t, t->decimal, t->columns[t->target].name, &unused) != FG_OK)
        drop_words(t);
}

bool init_table_has_columns(const init_table *t, const char *names)
{
    fgi_str rest = fgi_str_of(names), name;
    bool has = strchr(names, ',') != NULL;
    while (has && fgi_str_next(&rest, ",", &name)) {
        size_t i = 0;
        while (i < t->column_count && !fgi_str_equal(name, t->columns[i].name))
            i++;
        has = i < t->column_count;
    }
    return has;
}

fg_status init_table_choose(init_table *t, const char *target, fg_error *err)
{
    choose_target(t);
    t->is_target_given = target != NULL;
    t->label_columns = target != NULL && init_table_has_columns(t, target) ? target : NULL;
    if (t->label_columns != NULL)
        return FG_OK;
    for (size_t i = 0; target != NULL && i < t->column_count; i++)
        t->target = strcmp(t->columns[i].name, target) == 0 ? i : t->target;
    if (target != NULL && strcmp(t->columns[t->target].name, target) != 0)
        return fgi_fail(err, FG_EINVAL, "--target: '%s' has no column '%s'", t->path, target);
    FGI_TRY(fit_target(t, err));
    try_words(t);
    return FG_OK;
}

const char *init_table_task(const init_table *table, bool *out_is_sure, char *reason, size_t size)
{
    const fg_csv_column *c = &table->columns[table->target];
    const bool is_class = c->category_count > 0;
    *out_is_sure =
        table->label_columns != NULL ||
        (!c->has_lists && (is_class ? c->category_count == 2 || c->numbers == 0 : !c->is_integer));
    if (table->label_columns != NULL)
        (void)fgi_snprintf(reason, size, "columns of 0 and 1, one for each label");
    else if (c->has_lists)
        (void)fgi_snprintf(reason, size, "a column of lists of labels, %lld distinct labels",
                           (long long)c->category_count);
    else if (is_class)
        (void)fgi_snprintf(reason, size, "a column of %s, %lld distinct values",
                           c->texts > 0 ? "strings" : "integers", (long long)c->category_count);
    else
        (void)fgi_snprintf(reason, size, "a column of %s",
                           c->is_integer ? "many different integers" : "numbers");
    return table->label_columns != NULL || c->has_lists ? "multilabel"
           : is_class                                   ? "classification"
                                                        : "regression";
}

size_t init_table_image_side(const init_table *table)
{
    const size_t pixels = table->column_count - 1;
    const size_t side = (size_t)(sqrt((double)pixels) + 0.5);
    if (side < 8 || side * side != pixels)
        return 0;
    for (size_t i = 0; i < table->column_count; i++) {
        const fg_csv_column *c = &table->columns[i];
        if (i != table->target &&
            (strcmp(c->kind, "numeric") != 0 || !c->is_integer || c->min < 0 || c->max > 255))
            return 0;
    }
    return table->target == table->column_count - 1 || table->target == 0 ? side : 0;
}
