/* csv_fit.c - fits a schema to columns. Two passes over the rows: the first determines which
 * columns are numeric, with mean and standard deviation (Welford's algorithm); the second collects
 * categories and classes. Features use training rows only; the classes of the target are from every
 * row of the file. Source: Welford 1962, "Note on a method for calculating corrected sums of
 * squares and products".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "data/csv_schema.h"

enum { MOST_AUTO_CLASSES = 20, AUTO_ROWS_A_CLASS = 2 };

typedef struct fitter {
    const fgi_csv *csv;
    const fg_csv_options *options;
    fg_csv_schema *schema;
    double *squares;     /* [column_count]: sums of squared deviations */
    int64_t *counts;     /* [column_count]: numeric cells in training rows */
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
        schema->columns[at].is_category = true;
    }
    for (size_t i = 0; i < o->numeric_count; i++) {
        FGI_TRY(find_column(f, o->numeric[i], "numeric", &at));
        schema->columns[at].is_number = true;
        if (schema->columns[at].is_category)
            return fgi_fail(f->err, FG_EINVAL,
                            "column '%s' is listed both as numeric and as categorical",
                            schema->columns[at].name);
    }
    for (size_t i = 0; i < o->na_value_count; i++)
        if (fgi_values_add(&schema->na, &schema->arena, fgi_str_of(o->na_values[i]), SIZE_MAX) ==
            FGI_NO_MEMORY)
            return fgi_no_memory(f->err);
    if (!fgi_values_seal(&schema->na, FGI_AS_ADDED))
        return fgi_no_memory(f->err);
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
        return fgi_fail(f->err, FG_EINVAL, "column '%s' is the target, but also listed in ignore",
                        schema->columns[at].name);
    schema->columns[at].kind = FGI_CSV_TARGET;
    schema->target = (int64_t)at;
    return FG_OK;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* Calls `visit` for each row; is_train says whether features may use it. */
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

/* Welford's algorithm; for the target over the training rows too, but its other statistics over all
 * rows. */
static void add_number(fitter *f, size_t column, double value, bool is_train)
{
    fgi_csv_column *c = &f->schema->columns[column];
    fgi_csv_seen *seen = &c->seen;
    seen->is_fraction = seen->is_fraction || value != trunc(value);
    seen->least = seen->numbers == 0 ? value : fmin(seen->least, value);
    seen->greatest = seen->numbers == 0 ? value : fmax(seen->greatest, value);
    seen->numbers++;
    if (!is_train)
        return;
    const double step = value - c->mean;
    c->mean += step / (double)++f->counts[column];
    f->squares[column] += step * (value - c->mean);
}

static bool has_decimal_comma(fgi_str cell)
{
    char copy[32];
    double value;
    const char *comma = memchr(cell.data, ',', cell.size);
    if (comma == NULL || cell.size >= sizeof(copy))
        return false;
    memcpy(copy, cell.data, cell.size);
    copy[comma - cell.data] = '.';
    return fgi_parse_f64((fgi_str){copy, cell.size}, &value);
}

static fg_status add_text(fitter *f, size_t row, size_t column)
{
    fgi_csv_seen *seen = &f->schema->columns[column].seen;
    const fgi_str cell = f->row.cells[column];
    seen->commas += has_decimal_comma(cell);
    if (seen->texts++ > 0)
        return FG_OK;
    seen->text_row = row;
    seen->text = fgi_arena_printf(&f->schema->arena, "%.*s", cell.size > 64 ? 64 : (int)cell.size,
                                  cell.data);
    return seen->text == NULL ? fgi_no_memory(f->err) : FG_OK;
}

static fg_status measure_cell(fitter *f, size_t row, size_t column, bool is_train)
{
    fgi_csv_seen *seen = &f->schema->columns[column].seen;
    double value;
    switch (fgi_schema_cell(f->schema, f->row.cells[column], &value)) {
    case FGI_CELL_NUMBER: add_number(f, column, value, is_train); break;
    case FGI_CELL_INFINITE:
        seen->infinite_row = seen->infinite > 0 ? seen->infinite_row : row;
        seen->infinite++;
        break;
    case FGI_CELL_TEXT: return add_text(f, row, column);
    case FGI_CELL_MISSING:
        seen->missing++;
        if ((int64_t)column == f->schema->target)
            return fgi_csv_fail(f->csv, row, column, f->err, FGI_TARGET_MISSING);
        if (!f->schema->missing_is_mean)
            return fgi_csv_fail(f->csv, row, column, f->err, FGI_VALUE_MISSING);
        break;
    }
    return FG_OK;
}

static fg_status measure_row(fitter *f, size_t row, bool is_train)
{
    for (size_t i = 0; i < f->schema->column_count; i++)
        if (is_seen(f, i, is_train))
            FGI_TRY(measure_cell(f, row, i, is_train));
    return FG_OK;
}

static fg_status collect_category(fitter *f, size_t row, size_t column)
{
    fgi_csv_column *c = &f->schema->columns[column];
    const size_t limit = (size_t)f->options->max_categories;
    double value;
    if (fgi_schema_cell(f->schema, f->row.cells[column], &value) == FGI_CELL_MISSING)
        return FG_OK;
    const fgi_csv_seen *seen = &c->seen;
    switch (fgi_values_add(&c->values, &f->schema->arena, f->row.cells[column], limit)) {
    case FGI_ADDED: return FG_OK;
    case FGI_NO_MEMORY: return fgi_no_memory(f->err);
    default: break;
    }
    if (seen->texts == 0 || c->is_category)
        return fgi_csv_fail(
            f->csv, row, column, f->err,
            "more than %zu different categories\nignore the column, or increase max_categories",
            limit);
    return fgi_csv_fail(f->csv, seen->text_row, column, f->err,
                        "'%s' is not a number, so the column is categorical, but it has more than "
                        "%zu different values; %" PRId64 " of %" PRId64
                        " are numbers\ncorrect the value, treat it as missing (data.na_values), "
                        "ignore the column (data.ignore), or increase max_categories",
                        seen->text, limit, seen->numbers, seen->numbers + seen->texts);
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

/* The first cell that makes a column non-numeric. */
static fg_status not_a_number(const fitter *f, size_t column)
{
    const fgi_csv_seen *seen = &f->schema->columns[column].seen;
    const bool is_infinite =
        seen->texts == 0 || (seen->infinite > 0 && seen->infinite_row < seen->text_row);
    const char *hint =
        (int64_t)column == f->schema->target
            ? "correct it, or remove the row"
            : "correct it, or treat it as missing with data.na_values and data.missing: mean";
    if (is_infinite)
        return fgi_csv_fail(f->csv, seen->infinite_row, column, f->err,
                            "the value is infinite: expected a finite number\n%s", hint);
    return fgi_csv_fail(f->csv, seen->text_row, column, f->err, "'%s' is not a number\n%s",
                        seen->text, hint);
}

/* Population mean and standard deviation; a deviation of 0 is replaced by 1. */
static fg_status finish_moments(fitter *f, size_t column)
{
    fgi_csv_column *c = &f->schema->columns[column];
    const double count = (double)f->counts[column];
    c->deviation = count > 0 ? sqrt(f->squares[column] / count) : 1;
    if (!isfinite(c->mean) || !isfinite(c->deviation))
        return fgi_fail(
            f->err, FG_EFORMAT,
            "%s: column '%s': the values are too large to compute a mean and a standard deviation",
            f->csv->name, c->name);
    if (!(c->deviation > 0))
        c->deviation = 1;
    return FG_OK;
}

/* A feature column: numeric or categorical. */
static fg_status decide_kind(fitter *f, size_t column)
{
    fgi_csv_column *c = &f->schema->columns[column];
    const bool has_text = c->seen.texts > 0;
    if (c->kind != FGI_CSV_NUMERIC)
        return FG_OK;
    if (has_text && fgi_csv_is_image(f->schema))
        return fgi_csv_fail(f->csv, c->seen.text_row, column, f->err,
                            "'%s' is not a number: all columns of an image must be pixels",
                            c->seen.text);
    if (c->is_category || (has_text && !c->is_number)) {
        c->kind = FGI_CSV_CATEGORICAL;
        return FG_OK;
    }
    if (has_text || c->seen.infinite > 0)
        return not_a_number(f, column);
    return finish_moments(f, column);
}

/* After the first pass: numeric or categorical columns, and candidates for the target. */
static fg_status decide_kinds(fitter *f)
{
    fg_csv_schema *schema = f->schema;
    for (size_t i = 0; i < schema->column_count; i++)
        FGI_TRY(decide_kind(f, i));
    if (schema->target < 0)
        return FG_OK;
    const size_t column = (size_t)schema->target;
    const fgi_csv_column *target = &schema->columns[column];
    const char *task = f->options->task;
    const bool is_text = target->seen.texts > 0 || target->seen.infinite > 0;
    schema->has_numeric_classes = !is_text;
    if (is_text && (strcmp(task, "regression") == 0 || target->is_number))
        return not_a_number(f, column);
    schema->is_classification =
        strcmp(task, "classification") == 0 ||
        (strcmp(task, "auto") == 0 && (is_text || !target->seen.is_fraction));
    return FG_OK;
}

/* After the second pass: a few integers that occur often are classes, otherwise it is a regression.
 */
static fg_status decide_task(fitter *f)
{
    fg_csv_schema *schema = f->schema;
    if (strcmp(f->options->task, "auto") == 0 && schema->has_numeric_classes &&
        schema->classes.count > f->csv->row_count / AUTO_ROWS_A_CLASS)
        schema->is_classification = false;
    if (!schema->is_classification) {
        fgi_values_fini(&schema->classes);
        schema->has_numeric_classes = false;
        if (schema->target >= 0)
            FGI_TRY(finish_moments(f, (size_t)schema->target));
        schema->target_is_standardized = schema->target >= 0 && f->options->standardize_target;
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
    FGI_TRY(fgi_csv_schema_finish(f->schema, f->err));
    return fgi_csv_report(f->schema, f->csv, f->rows == NULL ? f->csv->row_count : f->row_count,
                          f->err);
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
    f.squares = fgi_calloc(csv->column_count, sizeof(*f.squares));
    f.counts = fgi_calloc(csv->column_count, sizeof(*f.counts));
    const bool is_made = f.schema != NULL && f.squares != NULL && f.counts != NULL;
    const fg_status status = is_made ? fit(&f) : fgi_no_memory(err);
    fgi_csv_row_fini(&f.row);
    fgi_free(f.squares);
    fgi_free(f.counts);
    if (status != FG_OK) {
        fg_csv_schema_destroy(f.schema);
        return status;
    }
    *out = f.schema;
    return FG_OK;
}
