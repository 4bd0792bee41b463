/* init_table.c - inspects a CSV file with the reader that trains on it: delimiter, header, types of
 * columns, and which column is probably the target.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "init_look.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "input/csv_table.h"
#include "recipe/config/config.h"

/* A column with more categories is probably no feature, and an error of `fit`. */
enum { MOST_CATEGORIES = 1000 };

/* ---- reading --------------------------------------------------------------------------------- */

static fg_status fit(const char *path, const fgi_look_table *t, char decimal, const char *target,
                     fg_csv_schema **out, fg_error *err)
{
    const char **numeric = fgi_calloc(t->column_count, sizeof *numeric);
    size_t numeric_count = 0, word_count = 0;
    if (numeric == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < t->column_count; i++)
        if (t->columns[i].is_listed)
            numeric[numeric_count++] = t->columns[i].id;
    while (t->words[word_count] != NULL)
        word_count++;
    const fg_csv_options options = {.no_header = !t->has_header,
                                    .numeric = {numeric, numeric_count},
                                    .has_header = t->has_header,
                                    .delimiter = t->delimiter,
                                    .decimal = decimal,
                                    .na_values = {(const char *const *)t->words, word_count},
                                    .no_default_na = t->keeps_words,
                                    .target = target,
                                    .missing = "mean",
                                    .max_categories = 1 << 24};
    const fg_status status = fg_csv_schema_fit(path, &options, out, err);
    fgi_free((void *)numeric);
    return status;
}

static const char *only_word(const fg_csv_column *c)
{
    int64_t words = 0;
    double number;
    if (strcmp(c->kind, "categorical") != 0 || c->numbers <= c->texts || c->marked > 0)
        return NULL;
    for (int64_t i = 0; i < c->category_count; i++)
        words += fgi_cell_number(fgi_str_of(c->categories[i]), &number) != FGI_CELL_NUMBER;
    return words == 1 ? c->text : NULL;
}

static fgi_look_column look_at_column(const fg_csv_column *c, bool has_header)
{
    const bool is_wide = strcmp(c->kind, "categorical") == 0 && c->category_count > MOST_CATEGORIES;
    return (fgi_look_column){
        .name = has_header ? c->name : NULL,
        .id = c->name,
        .kind = c->kind,
        .numbers = (size_t)c->numbers,
        .missing = (size_t)c->missing,
        .is_marked = c->texts > 0 && c->texts == c->marked,
        .has_point = c->texts > 0 && c->texts == c->marked && strchr(c->text, '.') != NULL,
        .texts = (size_t)c->texts,
        .is_integer = c->is_integer,
        .min = c->min,
        .max = c->max,
        .distinct = c->categories,
        .distinct_count = (size_t)c->category_count,
        .ignored_because = is_wide ? "it has many categories" : c->ignored_because,
        .word = only_word(c)};
}

/* Replaces the columns by those of another schema, which is then the table's. */
static bool take_schema(fgi_look_table *t, fg_csv_schema *take_schema, fg_error *err)
{
    fg_csv_schema_destroy(t->schema);
    t->schema = take_schema;
    for (size_t i = 0; i < t->column_count; i++) {
        fg_csv_column c;
        if (fg_csv_schema_column(take_schema, i, &c, err) != FG_OK)
            return false;
        const bool is_listed = t->columns[i].is_listed;
        t->columns[i] = look_at_column(&c, t->has_header);
        t->columns[i].is_listed = is_listed;
    }
    const fgi_look_column *first = &t->columns[0];
    t->rows = first->numbers + first->texts + first->missing;
    return true;
}

static size_t numeric_columns(const fgi_look_table *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->column_count; i++)
        count += strcmp(t->columns[i].kind, "numeric") == 0 || t->columns[i].is_marked;
    return count;
}

/* The points in "1.234 EUR" probably separate thousands where cells are separated by semicolons. */
static bool has_thousands(const fgi_look_table *t)
{
    bool has = false;
    for (size_t i = 0; i < t->column_count; i++)
        has = has || t->columns[i].has_point;
    return has && t->delimiter == ';';
}

/* Decimal commas, if they make more columns numeric. */
static bool try_commas(const char *path, fgi_look_table *t, fg_error *err)
{
    const size_t numeric = numeric_columns(t);
    fg_csv_schema *schema;
    if (t->delimiter == ',' || (numeric == t->column_count && !has_thousands(t)))
        return true;
    if (fit(path, t, ',', "", &schema, err) != FG_OK || !take_schema(t, schema, err))
        return false;
    t->decimal_is_sure = numeric_columns(t) > numeric;
    if (t->decimal_is_sure || (numeric_columns(t) == numeric && has_thousands(t))) {
        t->decimal = ',';
        return true;
    }
    return fit(path, t, '.', "", &schema, err) == FG_OK && take_schema(t, schema, err);
}

static bool read_table(const char *path, fgi_look_table *t, fg_error *err)
{
    fg_csv_layout layout;
    fg_csv_schema *schema;
    if (fg_csv_detect(path, &layout, err) != FG_OK)
        return false;
    if (layout.column_count < 2)
        return cli_refuse(
            err,
            "'%s' does not look like a CSV file: expected rows with the same number of "
            "cells, two or more, separated by a comma, semicolon, tab or vertical bar",
            path);
    t->delimiter = layout.delimiter;
    t->delimiter_is_sure = layout.delimiter_is_certain;
    t->has_header = !layout.no_header;
    t->decimal = '.';
    t->column_count = (size_t)layout.column_count;
    t->columns = fgi_calloc(t->column_count, sizeof(*t->columns));
    if (t->columns == NULL)
        return cli_refuse_memory(err);
    if (fit(path, t, '.', "", &schema, err) != FG_OK || !take_schema(t, schema, err) ||
        !try_commas(path, t, err))
        return false;
    for (size_t i = 0; i < t->column_count; i++)
        t->columns[i].is_listed = t->columns[i].is_marked;
    t->header_is_sure = !t->has_header || numeric_columns(t) > 0;
    return true;
}

bool fgi_look_table_read(const char *path, fgi_look_table *out, fg_error *err)
{
    *out = (fgi_look_table){0};
    if (read_table(path, out, err))
        return true;
    fgi_look_table_free(out);
    return false;
}

static void drop_words(fgi_look_table *t)
{
    for (size_t i = 0; t->words[i] != NULL; i++) {
        fgi_free(t->words[i]);
        t->words[i] = NULL;
    }
}

void fgi_look_table_free(fgi_look_table *table)
{
    drop_words(table);
    fg_csv_schema_destroy(table->schema);
    fgi_free(table->columns);
    *table = (fgi_look_table){0};
}

/* ---- the target ------------------------------------------------------------------------------ */

static void choose_target(fgi_look_table *t)
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
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
        for (size_t i = 0; i < t->column_count; i++)
            if (t->columns[i].name != NULL && strlen(names[n]) == strlen(t->columns[i].name) &&
                fgi_begins_nocase(t->columns[i].name, names[n]) && t->columns[i].missing == 0) {
                t->target = i;
                t->target_reason = "a common name of targets";
                t->target_is_sure = true;
                return;
            }
}

/* Reads the table with its target. A word such as None may be a class, if no other column then has
 * fewer numbers. */
static bool fit_target(const char *path, fgi_look_table *t, fg_error *err)
{
    fg_csv_schema *schema;
    fg_error unused = {0};
    const size_t numeric = numeric_columns(t);
    const char *target = t->columns[t->target].id;
    const bool has_words = t->columns[t->target].texts > 0 && t->columns[t->target].missing > 0;
    if (fit(path, t, t->decimal, target, &schema, err) == FG_OK)
        return take_schema(t, schema, err);
    t->keeps_words = has_words;
    return has_words && fit(path, t, t->decimal, target, &schema, &unused) == FG_OK &&
           take_schema(t, schema, &unused) && numeric_columns(t) == numeric;
}

/* Words in columns of numbers are missing values, unless the target has them. */
static bool try_words(const char *path, fgi_look_table *t, fg_error *err)
{
    fg_csv_schema *schema;
    fg_error unused = {0};
    size_t count = 0;
    for (size_t i = 0; i < t->column_count && count < FGI_LOOK_WORDS; i++) {
        const char *word = i != t->target ? t->columns[i].word : NULL;
        size_t same = 0;
        while (word != NULL && same < count && strcmp(t->words[same], word) != 0)
            same++;
        if (word != NULL && same == count && (t->words[count++] = fgi_strdup(word)) == NULL)
            return cli_refuse_memory(err);
    }
    if (count > 0 && fit(path, t, t->decimal, t->columns[t->target].id, &schema, &unused) == FG_OK)
        return take_schema(t, schema, err);
    drop_words(t);
    return true;
}

bool fgi_look_table_choose(const char *path, const char *target, fgi_look_table *t, fg_error *err)
{
    choose_target(t);
    t->is_target_given = target != NULL;
    for (size_t i = 0; target != NULL && i < t->column_count; i++)
        t->target = strcmp(t->columns[i].id, target) == 0 ? i : t->target;
    if (target != NULL && strcmp(t->columns[t->target].id, target) != 0)
        return cli_refuse(err, "--target: '%s' has no column '%s'", path, target);
    return fit_target(path, t, err) && try_words(path, t, err);
}

bool fgi_look_is_classification(const fgi_look_table *table, bool *out_is_sure, char *reason,
                                size_t size)
{
    const fgi_look_column *c = &table->columns[table->target];
    const bool is_class = c->distinct_count > 0;
    *out_is_sure = is_class ? c->distinct_count == 2 || c->numbers == 0 : !c->is_integer;
    if (is_class)
        (void)fgi_snprintf(reason, size, "a column of %s, %zu distinct values",
                           c->texts > 0 ? "strings" : "integers", c->distinct_count);
    else
        (void)fgi_snprintf(reason, size, "a column of %s",
                           c->is_integer ? "many different integers" : "numbers");
    return is_class;
}

/* ---- columns --------------------------------------------------------------------------------- */

size_t fgi_look_image_side(const fgi_look_table *table)
{
    const size_t pixels = table->column_count - 1;
    const size_t side = (size_t)(sqrt((double)pixels) + 0.5);
    if (side < 8 || side * side != pixels)
        return 0;
    for (size_t i = 0; i < table->column_count; i++) {
        const fgi_look_column *c = &table->columns[i];
        if (i != table->target &&
            (strcmp(c->kind, "numeric") != 0 || !c->is_integer || c->min < 0 || c->max > 255))
            return 0;
    }
    return table->target == table->column_count - 1 || table->target == 0 ? side : 0;
}

const fgi_look_column *fgi_look_image_column(const fgi_look_table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const fgi_look_column *c = &table->columns[i];
        size_t images = 0;
        while (images < c->distinct_count &&
               fgi_ends_in_one_of(c->distinct[images], FGI_CONFIG_IMAGE))
            images++;
        if (c->distinct_count > 0 && images == c->distinct_count)
            return c;
    }
    return NULL;
}
