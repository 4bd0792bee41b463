/* csv_fit.c - columns to a schema. Two passes over the rows: the first finds which columns are
 * numbers, with mean and deviation (Welford's sums); the second collects categories and classes.
 * Features look at training rows only; the target's classes at every row of the file.
 * Source: Welford 1962, "Note on a method for calculating corrected sums of squares and products".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "data/csv_schema.h"

enum { MOST_AUTO_CLASSES = 20, AUTO_ROWS_A_CLASS = 2 };

/* What the first pass learns of a column. */
typedef struct column_stat {
    bool is_forced;   /* a category by the user's word */
    bool is_text;     /* has a value that is no number, first in text_row */
    bool is_fraction; /* has a number that is no integer */
    size_t text_row;
    int64_t numbers;
    double mean, squares;
} column_stat;

typedef struct fitter {
    const fgi_csv *csv;
    const fg_csv_options *options;
    fg_csv_schema *schema;
    column_stat *stats;  /* [column_count] */
    const int64_t *rows; /* training rows, ascending; NULL: all */
    size_t row_count;
    fgi_csv_row row;
    fg_error *err;
} fitter;

/* ---- names ----------------------------------------------------------------------------------- */

static fg_status find_column(const fitter *f, const char *name, const char *option, size_t *out)
{
    const fgi_csv *csv = f->csv;
    for (*out = 0; *out < csv->column_count; (*out)++)
        if (strcmp(csv->columns[*out], name) == 0)
            return FG_OK;
    const char *nearest = fgi_nearest(name, csv->columns, csv->column_count);
    return fgi_fail(f->err, FG_ENOTFOUND, "%s:1: no column '%s' (%s)%s%s%s", csv->name, name,
                    option, nearest == NULL ? "" : "\ndid you mean '",
                    nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
}

static fg_status name_kinds(fitter *f)
{
    fg_csv_schema *schema = f->schema;
    const fg_csv_options *o = f->options;
    size_t at;
    for (size_t i = 0; i < schema->column_count; i++) {
        schema->columns[i].kind = FGI_CSV_NUMERIC;
        schema->columns[i].name = fgi_arena_strdup(&schema->arena, f->csv->columns[i]);
        if (schema->columns[i].name == NULL)
            return fgi_no_memory(f->err);
    }
    for (size_t i = 0; i < o->categorical_count; i++) {
        FGI_TRY(find_column(f, o->categorical[i], "categorical", &at));
        f->stats[at].is_forced = true;
    }
    for (size_t i = 0; i < o->ignore_count; i++) {
        FGI_TRY(find_column(f, o->ignore[i], "ignore", &at));
        schema->columns[at].kind = FGI_CSV_IGNORED;
    }
    schema->target = -1;
    if (o->target != NULL && o->target[0] == '\0')
        return FG_OK;
    at = schema->column_count - 1;
    if (o->target != NULL)
        FGI_TRY(find_column(f, o->target, "target", &at));
    if (schema->columns[at].kind == FGI_CSV_IGNORED)
        return fgi_fail(f->err, FG_EINVAL, "column '%s' is the target and to be ignored",
                        schema->columns[at].name);
    schema->columns[at].kind = FGI_CSV_TARGET;
    schema->target = (int64_t)at;
    return FG_OK;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* Calls `visit` for each row; is_train tells whether the features may look at it. */
static fg_status for_rows(fitter *f, fg_status (*visit)(fitter *, size_t row, bool is_train))
{
    size_t next = 0;
    for (size_t row = 0; row < f->csv->row_count; row++) {
        const bool is_train =
            f->rows == NULL || (next < f->row_count && f->rows[next] == (int64_t)row);
        next += is_train;
        fgi_csv_read(f->csv, row, &f->row);
        FGI_TRY(visit(f, row, is_train));
    }
    return FG_OK;
}

static bool is_seen(const fitter *f, size_t column, bool is_train)
{
    const fgi_csv_kind kind = f->schema->columns[column].kind;
    return kind == FGI_CSV_TARGET || (kind != FGI_CSV_IGNORED && is_train);
}

static fg_status measure_cell(fitter *f, size_t row, size_t column)
{
    column_stat *stat = &f->stats[column];
    double value;
    switch (fgi_cell_number(f->row.cells[column], &value)) {
    case FGI_CELL_NUMBER: {
        const double step = value - stat->mean;
        stat->is_fraction = stat->is_fraction || value != trunc(value);
        stat->numbers++;
        stat->mean += step / (double)stat->numbers;
        stat->squares += step * (value - stat->mean);
        break;
    }
    case FGI_CELL_TEXT:
        stat->text_row = stat->is_text ? stat->text_row : row;
        stat->is_text = true;
        break;
    case FGI_CELL_MISSING:
        if ((int64_t)column == f->schema->target)
            return fgi_csv_fail(f->csv, row, column, f->err, "the target is missing");
        if (!f->schema->missing_is_mean)
            return fgi_csv_fail(f->csv, row, column, f->err, "the value is missing");
        break;
    }
    return FG_OK;
}

static fg_status measure_row(fitter *f, size_t row, bool is_train)
{
    for (size_t i = 0; i < f->schema->column_count; i++)
        if (is_seen(f, i, is_train))
            FGI_TRY(measure_cell(f, row, i));
    return FG_OK;
}

static fg_status collect_category(fitter *f, size_t row, size_t column)
{
    fgi_csv_column *c = &f->schema->columns[column];
    const size_t limit = (size_t)f->options->max_categories;
    if (fgi_cell_is_missing(f->row.cells[column]))
        return FG_OK;
    const column_stat *stat = &f->stats[column];
    switch (fgi_values_add(&c->values, &f->schema->arena, f->row.cells[column], limit)) {
    case FGI_ADDED: return FG_OK;
    case FGI_NO_MEMORY: return fgi_no_memory(f->err);
    default: break;
    }
    return fgi_csv_fail(f->csv, stat->is_text ? stat->text_row : row, column, f->err,
                        "more than %zu different values; the first that is no number is "
                        "here\nignore the column, or raise max_categories",
                        limit);
}

static fg_status collect_class(fitter *f, size_t row)
{
    fg_csv_schema *schema = f->schema;
    const size_t column = (size_t)schema->target;
    const bool is_auto = strcmp(f->options->task, "auto") == 0 && schema->has_numeric_classes;
    const size_t limit = is_auto ? MOST_AUTO_CLASSES : (size_t)f->options->max_categories;
    char scratch[32];
    const fgi_str text = fgi_class_text(schema, f->row.cells[column], scratch);
    switch (fgi_values_add(&schema->classes, &schema->arena, text, limit)) {
    case FGI_ADDED: return FG_OK;
    case FGI_NO_MEMORY: return fgi_no_memory(f->err);
    default: break;
    }
    if (!is_auto)
        return fgi_csv_fail(f->csv, row, column, f->err, "more than %zu classes", limit);
    schema->is_classification = false; /* so many different integers are numbers */
    return FG_OK;
}

static fg_status collect_row(fitter *f, size_t row, bool is_train)
{
    for (size_t i = 0; i < f->schema->column_count; i++) {
        const fgi_csv_kind kind = f->schema->columns[i].kind;
        if (kind == FGI_CSV_CATEGORICAL && is_train)
            FGI_TRY(collect_category(f, row, i));
        if (kind == FGI_CSV_TARGET && f->schema->is_classification)
            FGI_TRY(collect_class(f, row));
    }
    return FG_OK;
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* After the first pass: numbers or categories, and what the target may be. */
static fg_status decide_kinds(fitter *f)
{
    fg_csv_schema *schema = f->schema;
    for (size_t i = 0; i < schema->column_count; i++) {
        fgi_csv_column *c = &schema->columns[i];
        const column_stat *stat = &f->stats[i];
        if (c->kind == FGI_CSV_NUMERIC && fgi_csv_is_image(schema) && stat->is_text)
            return fgi_csv_fail(f->csv, stat->text_row, i, f->err, "a pixel that is no number");
        if (c->kind == FGI_CSV_NUMERIC && (stat->is_text || stat->is_forced))
            c->kind = FGI_CSV_CATEGORICAL;
        if (c->kind != FGI_CSV_NUMERIC)
            continue;
        c->mean = stat->mean;
        c->deviation = stat->numbers > 0 ? sqrt(stat->squares / (double)stat->numbers) : 1;
        if (!isfinite(c->mean) || !isfinite(c->deviation))
            return fgi_fail(f->err, FG_EFORMAT,
                            "%s: column '%s': the numbers are too large for a "
                            "mean and a deviation",
                            f->csv->name, c->name);
        if (!(c->deviation > 0))
            c->deviation = 1;
    }
    if (schema->target < 0)
        return FG_OK;
    const column_stat *target = &f->stats[schema->target];
    const char *task = f->options->task;
    schema->has_numeric_classes = !target->is_text;
    if (strcmp(task, "regression") == 0 && target->is_text)
        return fgi_csv_fail(f->csv, target->text_row, (size_t)schema->target, f->err,
                            "a regression's target that is no number");
    schema->is_classification =
        strcmp(task, "classification") == 0 ||
        (strcmp(task, "auto") == 0 && (target->is_text || !target->is_fraction));
    return FG_OK;
}

/* After the second pass: few integers that come often are classes, others numbers. */
static fg_status decide_task(fitter *f)
{
    fg_csv_schema *schema = f->schema;
    if (strcmp(f->options->task, "auto") == 0 && schema->has_numeric_classes &&
        schema->classes.count > f->csv->row_count / AUTO_ROWS_A_CLASS)
        schema->is_classification = false;
    if (!schema->is_classification) {
        fgi_values_fini(&schema->classes);
        schema->has_numeric_classes = false;
    }
    const fgi_order order = schema->has_numeric_classes ? FGI_NUMERIC : FGI_BYTEWISE;
    if (!fgi_values_seal(&schema->classes, order))
        return fgi_no_memory(f->err);
    for (size_t i = 0; i < schema->column_count; i++)
        if (!fgi_values_seal(&schema->columns[i].values, FGI_BYTEWISE))
            return fgi_no_memory(f->err);
    return FG_OK;
}

static fg_status fit(fitter *f)
{
    FGI_TRY(name_kinds(f));
    FGI_TRY(for_rows(f, measure_row));
    FGI_TRY(decide_kinds(f));
    FGI_TRY(for_rows(f, collect_row));
    FGI_TRY(decide_task(f));
    return fgi_csv_schema_finish(f->schema, f->err);
}

static fg_csv_schema *make_schema(const fgi_csv *csv, const fg_csv_options *o)
{
    fg_csv_schema *schema = fgi_calloc(1, sizeof(*schema));
    if (schema == NULL)
        return NULL;
    schema->columns = fgi_calloc(csv->column_count, sizeof(*schema->columns));
    if (schema->columns == NULL) {
        fgi_free(schema);
        return NULL;
    }
    schema->column_count = csv->column_count;
    schema->has_header = csv->has_header;
    schema->delimiter = csv->delimiter;
    schema->normalize = !o->no_normalize;
    schema->missing_is_mean = strcmp(o->missing, "mean") == 0;
    schema->unknown_is_zero = strcmp(o->unknown, "zero") == 0;
    memcpy(schema->image, o->image, sizeof(schema->image));
    schema->image_scale = o->image_scale;
    return schema;
}

fg_status fgi_csv_fit(const fgi_csv *csv, const fg_csv_options *options, const int64_t *rows,
                      size_t row_count, fg_csv_schema **out, fg_error *err)
{
    *out = NULL;
    fitter f = {.csv = csv, .options = options, .rows = rows, .row_count = row_count, .err = err};
    FGI_TRY(fgi_csv_row_init(csv, &f.row, err));
    f.schema = make_schema(csv, options);
    f.stats = fgi_calloc(csv->column_count, sizeof(*f.stats));
    const fg_status status = f.schema == NULL || f.stats == NULL ? fgi_no_memory(err) : fit(&f);
    fgi_csv_row_fini(&f.row);
    fgi_free(f.stats);
    if (status != FG_OK) {
        fg_csv_schema_destroy(f.schema);
        return status;
    }
    *out = f.schema;
    return FG_OK;
}
