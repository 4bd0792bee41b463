/* csv_fit.c - fits a schema to columns. The target comes first, over all rows of the file: whether
 * it is numeric, and the classes. They determine the split into training and validation rows. Then
 * the features, over the training rows: a pass determines which columns are numeric, with mean and
 * standard deviation (Welford's algorithm), and another collects the categories. Source: Welford
 * 1962, "Note on a method for calculating corrected sums of squares and products".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "catalog/draft.h"
#include "data/csv_images.h"
#include "data/csv_schema.h"
#include "data/dataset.h"

enum { MOST_AUTO_CLASSES = 20, AUTO_ROWS_A_CLASS = 2 };
/* Columns of fewer values are never taken for identifiers; columns further to the right never for
 * names of files without an extension. */
enum { FEWEST_NAMES = 10, MOST_IMAGE_COLUMNS = 64 };

typedef struct fitter {
    const fgi_csv *csv;
    const fg_csv_options *options;
    fg_csv_schema *schema;
    fgi_split *split;
    int32_t *labels;    /* [row_count], while the table is split */
    int64_t lists;      /* cells of the target with one of the separators of labels */
    fgi_values strings; /* of the target, while it may have lists */
    fgi_csv_row row;
    fgi_image_places places; /* listed once a column may name files */
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

/* The columns of 0 and 1. */
static fg_status name_labels(fitter *f)
{
    fg_csv_schema *s = f->schema;
    const fg_strings *names = &f->options->label_columns;
    size_t at;
    for (size_t i = 0; i < names->count; i++) {
        FGI_TRY(find_column(f, names->at[i], "label_columns", &at));
        if (s->columns[at].kind != FGI_CSV_NUMERIC)
            return fgi_fail(f->err, FG_EINVAL, "column '%s' is one of label_columns, but %s",
                            s->columns[at].name,
                            s->columns[at].kind == FGI_CSV_LABEL ? "it is listed twice"
                                                                 : "also listed in ignore");
        s->columns[at].kind = FGI_CSV_LABEL;
        if (fgi_values_add(&s->classes, &s->arena, fgi_str_of(names->at[i]), SIZE_MAX) ==
            FGI_NO_MEMORY)
            return fgi_no_memory(f->err);
    }
    s->is_multilabel = true;
    return fgi_values_seal(&s->classes, FGI_AS_ADDED) ? FG_OK : fgi_no_memory(f->err);
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
    for (size_t i = 0; i < o->categorical.count; i++) {
        FGI_TRY(find_column(f, o->categorical.at[i], "categorical", &at));
        schema->columns[at].is_category = true;
    }
    for (size_t i = 0; i < o->numeric.count; i++) {
        FGI_TRY(find_column(f, o->numeric.at[i], "numeric", &at));
        schema->columns[at].is_number = true;
        if (schema->columns[at].is_category)
            return fgi_fail(f->err, FG_EINVAL,
                            "column '%s' is listed both as numeric and as categorical",
                            schema->columns[at].name);
    }
    for (size_t i = 0; i < o->na_values.count; i++)
        if (fgi_values_add(&schema->na, &schema->arena, fgi_str_of(o->na_values.at[i]), SIZE_MAX) ==
            FGI_NO_MEMORY)
            return fgi_no_memory(f->err);
    if (!fgi_values_seal(&schema->na, FGI_AS_ADDED))
        return fgi_no_memory(f->err);
    for (size_t i = 0; i < o->ignore.count; i++) {
        FGI_TRY(find_column(f, o->ignore.at[i], "ignore", &at));
        schema->columns[at].kind = FGI_CSV_IGNORED;
    }
    schema->target = -1;
    schema->label_separator = fgi_arena_strdup(&schema->arena, o->label_separator);
    if (schema->label_separator == NULL)
        return fgi_no_memory(f->err);
    if (o->label_columns.count > 0)
        return name_labels(f);
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

typedef fg_status visitor(fitter *f, size_t row);

static fg_status visit(fitter *f, size_t row, visitor *function)
{
    fgi_csv_read(f->csv, row, &f->row);
    return function(f, row);
}

static fg_status for_all_rows(fitter *f, visitor *function)
{
    for (size_t row = 0; row < f->csv->row_count; row++)
        FGI_TRY(visit(f, row, function));
    return FG_OK;
}

static size_t train_count(const fitter *f) { return f->csv->row_count - f->split->val_count; }

static fg_status for_training_rows(fitter *f, visitor *function)
{
    const int64_t *rows = f->split->rows;
    for (size_t i = 0; i < train_count(f); i++)
        FGI_TRY(visit(f, rows == NULL ? i : (size_t)rows[f->split->val_count + i], function));
    return FG_OK;
}

static bool is_target(const fitter *f, size_t column)
{
    return (int64_t)column == f->schema->target;
}

static void add_number(fgi_csv_seen *seen, double value)
{
    seen->is_fraction = seen->is_fraction || value != trunc(value);
    seen->least = seen->numbers == 0 ? value : fmin(seen->least, value);
    seen->greatest = seen->numbers == 0 ? value : fmax(seen->greatest, value);
    seen->numbers++;
}

/* Welford's algorithm. */
static void add_moment(fitter *f, size_t column, double value)
{
    fgi_csv_column *c = &f->schema->columns[column];
    const double step = value - c->mean;
    c->mean += step / (double)++c->count;
    c->squares += step * (value - c->mean);
}

static fg_status add_text(fitter *f, size_t row, size_t column)
{
    fgi_csv_seen *seen = &f->schema->columns[column].seen;
    const fgi_str cell = f->row.cells[column];
    double value;
    seen->commas += fgi_cell_spreadsheet(cell, ',', &value);
    seen->marks += fgi_cell_spreadsheet(cell, '.', &value);
    seen->dates += fgi_cell_is_date(cell);
    seen->iso_dates += fgi_cell_date(cell, &value);
    seen->images += fgi_is_image_name(cell);
    if (seen->texts++ > 0)
        return FG_OK;
    seen->text_row = row;
    seen->text = fgi_arena_printf(&f->schema->arena, "%.*s", cell.size > 64 ? 64 : (int)cell.size,
                                  cell.data);
    return seen->text == NULL ? fgi_no_memory(f->err) : FG_OK;
}

static fg_status measure_cell(fitter *f, size_t row, size_t column)
{
    fgi_csv_seen *seen = &f->schema->columns[column].seen;
    double value;
    switch (fgi_schema_cell(f->schema, column, &f->row, column, &value)) {
    case FGI_NUMBER:
        add_number(seen, value);
        if (!is_target(f, column))
            add_moment(f, column, value);
        break;
    case FGI_INFINITE:
        seen->infinite_row = seen->infinite > 0 ? seen->infinite_row : row;
        seen->infinite++;
        break;
    case FGI_TEXT: return add_text(f, row, column);
    case FGI_QUOTED_WORD:
        seen->quoted_row = seen->quoted > 0 ? seen->quoted_row : row;
        seen->quoted++;
        break;
    case FGI_MISSING:
        seen->missing++;
        if (is_target(f, column) || !f->schema->missing_is_mean)
            return fgi_csv_missing(f->schema, f->csv, row, column, f->row.cells[column],
                                   is_target(f, column), seen->numbers > 0 && seen->texts == 0,
                                   f->err);
        break;
    }
    return FG_OK;
}

static fg_status measure_target(fitter *f, size_t row)
{
    return measure_cell(f, row, (size_t)f->schema->target);
}

/* The features, and the moments of the target of a regression. */
static fg_status measure_row(fitter *f, size_t row)
{
    double value;
    for (size_t i = 0; i < f->schema->column_count; i++)
        if (is_target(f, i) && !f->schema->is_classification && !f->schema->is_multilabel &&
            fgi_schema_cell(f->schema, i, &f->row, i, &value) == FGI_NUMBER)
            add_moment(f, i, value);
        else if (f->schema->columns[i].kind == FGI_CSV_LABEL)
            f->schema->columns[i].seen.numbers++;
        else if (!is_target(f, i) && f->schema->columns[i].kind != FGI_CSV_IGNORED)
            FGI_TRY(measure_cell(f, row, i));
    return FG_OK;
}

/* All values are kept: whether there are too many is decided later. */
static fg_status collect_value(fitter *f, size_t row, size_t column)
{
    fgi_csv_column *c = &f->schema->columns[column];
    const size_t had = c->values.count, limit = (size_t)f->options->max_categories;
    double value;
    if (fgi_schema_cell(f->schema, column, &f->row, column, &value) == FGI_MISSING)
        return FG_OK;
    if (fgi_values_add(&c->values, &f->schema->arena, f->row.cells[column], SIZE_MAX) ==
        FGI_NO_MEMORY)
        return fgi_no_memory(f->err);
    if (had == limit && c->values.count > limit)
        c->full_row = row;
    return FG_OK;
}

static fg_status collect_row(fitter *f, size_t row)
{
    for (size_t i = 0; i < f->schema->column_count; i++)
        if (f->schema->columns[i].kind == FGI_CSV_CATEGORICAL || f->schema->columns[i].is_candidate)
            FGI_TRY(collect_value(f, row, i));
    return FG_OK;
}

static fg_status too_many_classes(const fitter *f, size_t row, size_t limit)
{
    const size_t column = (size_t)f->schema->target;
    return fgi_csv_fail(f->csv, row, column, f->err,
                        "more than %zu class%s\n%s, or raise data.max_categories", limit,
                        limit == 1 ? "" : "es",
                        f->schema->has_numeric_classes ? "set task: regression to predict numbers"
                        : fgi_csv_is_spreadsheet(&f->schema->columns[column])
                            ? "if these are numbers, list the column in data.numeric"
                            : "choose another column (data.target)");
}

static fg_status collect_class(fitter *f, size_t row)
{
    fg_csv_schema *schema = f->schema;
    const bool is_auto = strcmp(f->options->task, "auto") == 0 && schema->has_numeric_classes;
    const size_t limit = is_auto ? MOST_AUTO_CLASSES : (size_t)f->options->max_categories;
    char scratch[32];
    if (!schema->is_classification)
        return FG_OK;
    const fgi_str text = fgi_class_text(schema, &f->row, (size_t)schema->target, scratch);
    switch (fgi_values_add(&schema->classes, &schema->arena, text, limit)) {
    case FGI_ADDED: return FG_OK;
    case FGI_NO_MEMORY: return fgi_no_memory(f->err);
    default: break;
    }
    if (!is_auto)
        return too_many_classes(f, row, limit);
    schema->is_classification = false; /* so many different integers are numbers */
    return FG_OK;
}

static fg_status label_row(fitter *f, size_t row)
{
    char scratch[32];
    const fg_csv_schema *schema = f->schema;
    const fgi_str text = fgi_class_text(schema, &f->row, (size_t)schema->target, scratch);
    f->labels[row] = (int32_t)fgi_values_find(&schema->classes, text);
    return FG_OK;
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* The first cell that makes a column non-numeric. */
static fg_status not_a_number(const fitter *f, size_t column)
{
    const fgi_csv_seen *seen = &f->schema->columns[column].seen;
    const bool is_infinite =
        seen->texts == 0 || (seen->infinite > 0 && seen->infinite_row < seen->text_row);
    const bool is_target = (int64_t)column == f->schema->target;
    const char *hint =
        is_target ? "correct it, or remove the row"
                  : "correct it, or treat it as missing with data.na_values and data.missing: mean";
    if (is_infinite)
        return fgi_csv_fail(f->csv, seen->infinite_row, column, f->err,
                            "the value is infinite: expected a finite number\n%s", hint);
    return fgi_csv_fail(f->csv, seen->text_row, column, f->err, "'%s' is not a number\n%s%s",
                        seen->text, hint,
                        is_target ? "; to predict classes, set task: classification" : "");
}

/* Population mean and standard deviation; a deviation of 0 is replaced by 1. */
static fg_status finish_moments(fitter *f, size_t column)
{
    fgi_csv_column *c = &f->schema->columns[column];
    c->deviation = c->count > 0 ? sqrt(c->squares / (double)c->count) : 1;
    if (!isfinite(c->mean) || !isfinite(c->deviation))
        return fgi_fail(
            f->err, FG_EFORMAT,
            "%s: column '%s': the values are too large to compute a mean and a standard deviation",
            f->csv->name, c->name);
    if (!(c->deviation > 0))
        c->deviation = 1;
    return FG_OK;
}

static fg_status too_many_categories(const fitter *f, size_t column)
{
    const fgi_csv_column *c = &f->schema->columns[column];
    const fgi_csv_seen *seen = &c->seen;
    if (fgi_csv_is_nearly_numeric(c))
        return fgi_csv_fail(
            f->csv, seen->text_row, column, f->err,
            "'%s' is not a number, so the column is categorical, but it has more than %" PRId64
            " different values; %" PRId64 " of %" PRId64
            " are numbers\ncorrect the value, treat it as missing (data.na_values), ignore the "
            "column (data.ignore), or raise data.max_categories",
            seen->text, f->options->max_categories, seen->numbers, seen->numbers + seen->texts);
    return fgi_csv_fail(f->csv, c->full_row, column, f->err,
                        "more than %" PRId64 " different categories\n%signore the column "
                        "(data.ignore), or raise data.max_categories",
                        f->options->max_categories,
                        fgi_csv_is_spreadsheet(c)
                            ? "if these are numbers, list it in data.numeric; otherwise "
                            : "");
}

/* A feature column: numeric or categorical. */
static fg_status decide_kind(fitter *f, size_t column)
{
    fgi_csv_column *c = &f->schema->columns[column];
    fgi_csv_seen *seen = &c->seen;
    const bool has_text = seen->texts > 0 || (seen->numbers == 0 && seen->quoted > 0);
    if (c->kind != FGI_CSV_NUMERIC)
        return FG_OK;
    if (has_text && fgi_csv_is_image(f->schema))
        return fgi_csv_fail(f->csv, seen->text_row, column, f->err,
                            "'%s' is not a number: all columns of an image must be pixels",
                            seen->text != NULL ? seen->text : "NA");
    if (fgi_csv_has_target(f->schema) && seen->texts > 0 && seen->images == seen->texts &&
        seen->numbers == 0 && !c->is_category)
        return fgi_csv_fail(f->csv, seen->text_row, column, f->err,
                            "'%s' is the name of an image file, which is not a useful feature\nto "
                            "train on the images, set data.format to images (fulgurite init "
                            "writes the configuration); to train on the other columns, add this "
                            "one to data.ignore",
                            seen->text);
    if (c->is_category || (has_text && !c->is_number)) {
        c->kind = FGI_CSV_CATEGORICAL;
        return FG_OK;
    }
    seen->missing += seen->quoted;
    if (seen->quoted > 0 && !f->schema->missing_is_mean) {
        fgi_csv_read(f->csv, seen->quoted_row, &f->row);
        return fgi_csv_missing(f->schema, f->csv, seen->quoted_row, column, f->row.cells[column],
                               false, true, f->err);
    }
    if (has_text || seen->infinite > 0)
        return not_a_number(f, column);
    c->is_candidate = !c->is_number && !seen->is_fraction && !fgi_csv_is_image(f->schema) &&
                      seen->numbers >= FEWEST_NAMES && fgi_csv_names_rows(f->csv, column, seen);
    return finish_moments(f, column);
}

/* Why a column of strings or integers names image files; NULL: it does not. */
static const char *find_images(fitter *f, size_t column)
{
    fgi_csv_column *c = &f->schema->columns[column];
    fgi_listed_images found;
    const bool may_be = c->kind == FGI_CSV_CATEGORICAL ||
                        (c->seen.numbers > 0 && !c->seen.is_fraction && c->seen.least >= 0);
    if (!may_be || column >= MOST_IMAGE_COLUMNS || fgi_csv_is_image(f->schema))
        return NULL;
    fgi_image_places_list(&f->places, f->csv->name);
    if (!fgi_csv_lists_images(f->csv, column, &f->places, &found))
        return NULL;
    const char *reason = fgi_arena_printf(&f->schema->arena,
                                          "it names image files, such as '%.200s'", found.example);
    if (reason != NULL)
        c->image_advice = fgi_arena_printf(
            &f->schema->arena, "to train on the images%s: fulgurite init '%s'",
            f->csv->has_header
                ? ""
                : ", add a first line with names of the columns, such as image,label",
            f->csv->name);
    return reason;
}

/* Why a feature is probably no feature; NULL: it may be one. */
static const char *find_reason(fitter *f, size_t column)
{
    const fgi_csv_column *c = &f->schema->columns[column];
    const fgi_csv_seen *seen = &c->seen;
    const int64_t values = seen->numbers + seen->texts + seen->quoted + seen->infinite;
    if (c->is_category || c->is_number || c->kind == FGI_CSV_IGNORED)
        return NULL;
    const char *images = fgi_csv_has_target(f->schema) ? find_images(f, column) : NULL;
    if (images != NULL)
        return images;
    if (c->is_candidate)
        return (int64_t)c->values.count == values ? "it contains row numbers" : NULL;
    if (c->kind == FGI_CSV_CATEGORICAL && seen->dates > 0 && seen->dates == seen->texts)
        return seen->iso_dates == seen->texts
                   ? "it contains dates, which data.numeric reads as days"
                   : "it contains dates";
    if (c->kind != FGI_CSV_CATEGORICAL || values < FEWEST_NAMES ||
        2 * (int64_t)c->values.count <= values || fgi_csv_is_nearly_numeric(c) ||
        fgi_csv_is_spreadsheet(c))
        return NULL;
    return fgi_arena_printf(&f->schema->arena, "%zu of its %" PRId64 " values are different",
                            c->values.count, values);
}

/* After the categories are known: identifiers, names and dates are ignored. */
static fg_status decide_ignored(fitter *f)
{
    for (size_t i = 0; i < f->schema->column_count; i++) {
        fgi_csv_column *c = &f->schema->columns[i];
        c->ignored_because = is_target(f, i) || c->kind == FGI_CSV_LABEL ? NULL : find_reason(f, i);
        if (c->ignored_because != NULL)
            c->kind = FGI_CSV_IGNORED;
        else if (c->kind == FGI_CSV_CATEGORICAL &&
                 c->values.count > (size_t)f->options->max_categories)
            return too_many_categories(f, i);
        if (c->kind != FGI_CSV_CATEGORICAL && c->ignored_because == NULL)
            fgi_values_fini(&c->values);
        if (!fgi_values_seal(&c->values, FGI_BYTEWISE))
            return fgi_no_memory(f->err);
    }
    return FG_OK;
}

static fg_status fit_features(fitter *f)
{
    bool has_values = false;
    FGI_TRY(for_training_rows(f, measure_row));
    for (size_t i = 0; i < f->schema->column_count; i++) {
        FGI_TRY(decide_kind(f, i));
        has_values = has_values || f->schema->columns[i].kind == FGI_CSV_CATEGORICAL ||
                     f->schema->columns[i].is_candidate;
    }
    if (f->schema->target >= 0 && !f->schema->is_classification && !f->schema->is_multilabel)
        FGI_TRY(finish_moments(f, (size_t)f->schema->target));
    if (has_values)
        FGI_TRY(for_training_rows(f, collect_row));
    return decide_ignored(f);
}

/* ---- the target ------------------------------------------------------------------------------ */

/* Whether the values of the target may be classes. */
static fg_status judge_target(fitter *f)
{
    fg_csv_schema *schema = f->schema;
    const size_t column = (size_t)schema->target;
    fgi_csv_seen *seen = &schema->columns[column].seen;
    const char *task = f->options->task;
    const bool is_number = schema->columns[column].is_number || strcmp(task, "regression") == 0;
    const bool is_text = seen->texts > 0 || seen->infinite > 0;
    if (seen->quoted > 0 && !is_text && (seen->numbers > 0 || is_number)) {
        fgi_csv_read(f->csv, seen->quoted_row, &f->row);
        return fgi_csv_missing(schema, f->csv, seen->quoted_row, column, f->row.cells[column], true,
                               true, f->err);
    }
    if (is_text && is_number)
        return not_a_number(f, column);
    schema->has_numeric_classes = !is_text && seen->quoted == 0;
    schema->is_classification =
        strcmp(task, "classification") == 0 ||
        (strcmp(task, "auto") == 0 && (!schema->has_numeric_classes || !seen->is_fraction));
    return FG_OK;
}

/* Of the labels in all lists, those that are new. */
static fg_status collect_labels(fitter *f, size_t row)
{
    fg_csv_schema *s = f->schema;
    const size_t column = (size_t)s->target, limit = (size_t)f->options->max_categories;
    double value;
    int64_t integer;
    fgi_str rest = f->row.cells[column], label;
    if (fgi_schema_cell(s, column, &f->row, column, &value) == FGI_MISSING) {
        s->columns[column].seen.missing++;
        return FG_OK;
    }
    FGI_TRY(add_text(f, row, column));
    while (fgi_str_next(&rest, s->label_separator, &label)) {
        const fgi_added added = fgi_values_add(&s->classes, &s->arena, label, limit);
        if (added == FGI_NO_MEMORY)
            return fgi_no_memory(f->err);
        if (added == FGI_FULL)
            return fgi_csv_fail(f->csv, row, column, f->err,
                                "more than %zu labels\nchoose another column (data.target), or "
                                "raise data.max_categories",
                                limit);
        s->has_numeric_classes = s->has_numeric_classes && fgi_parse_i64(label, &integer);
    }
    return FG_OK;
}

/* Replaces the classes by the labels of lists. */
static fg_status fit_labels(fitter *f)
{
    fg_csv_schema *s = f->schema;
    fgi_values_fini(&s->classes);
    s->is_multilabel = s->has_numeric_classes = true;
    s->is_classification = false;
    FGI_TRY(for_all_rows(f, collect_labels));
    if (s->classes.count == 0)
        return fgi_fail(f->err, FG_EFORMAT,
                        "%s: column '%s' has no labels: expected lists such as cat;dog",
                        f->csv->name, s->columns[s->target].name);
    const fgi_order order = s->has_numeric_classes ? FGI_NUMERIC : FGI_BYTEWISE;
    s->has_numeric_classes = false;
    return fgi_values_seal(&s->classes, order) ? FG_OK : fgi_no_memory(f->err);
}

static fg_status count_lists(fitter *f, size_t row)
{
    const fgi_str cell = f->row.cells[f->schema->target];
    fgi_str rest = cell, first;
    (void)row;
    f->lists += fgi_str_next(&rest, f->schema->label_separator, &first) && rest.size > 0;
    return FG_OK;
}

static fg_status collect_string(fitter *f, size_t row)
{
    const fgi_added added =
        fgi_values_add(&f->strings, &f->schema->arena, f->row.cells[f->schema->target],
                       (size_t)f->options->max_categories);
    (void)row;
    return added == FGI_NO_MEMORY ? fgi_no_memory(f->err) : FG_OK;
}

/* Strings with separators are lists of labels if there are fewer labels than strings. */
static fg_status try_labels(fitter *f)
{
    fg_csv_schema *s = f->schema;
    FGI_TRY(for_all_rows(f, count_lists));
    if (f->lists == 0)
        return FG_OK;
    FGI_TRY(for_all_rows(f, collect_string));
    const fg_status status = fit_labels(f);
    s->is_multilabel = status == FG_OK && s->classes.count < f->strings.count;
    if (status == FG_ENOMEM || s->is_multilabel)
        return status;
    *f->err = (fg_error){0}; /* too many labels */
    s->columns[s->target].seen = (fgi_csv_seen){0};
    fgi_values_fini(&s->classes);
    return FG_OK;
}

/* A few integers that occur often are classes, otherwise it is a regression. */
static fg_status fit_target(fitter *f)
{
    fg_csv_schema *schema = f->schema;
    if (schema->target < 0)
        return FG_OK;
    if (strcmp(f->options->task, "multilabel") == 0)
        return fit_labels(f);
    if (strcmp(f->options->task, "auto") == 0)
        FGI_TRY(try_labels(f));
    if (schema->is_multilabel)
        return FG_OK;
    FGI_TRY(for_all_rows(f, measure_target));
    FGI_TRY(judge_target(f));
    if (schema->is_classification)
        FGI_TRY(for_all_rows(f, collect_class));
    if (strcmp(f->options->task, "auto") == 0 && schema->has_numeric_classes &&
        schema->classes.count > f->csv->row_count / AUTO_ROWS_A_CLASS)
        schema->is_classification = false;
    if (!schema->is_classification) {
        fgi_values_fini(&schema->classes);
        schema->target_is_standardized = f->options->standardize_target;
    }
    const fgi_order order = schema->has_numeric_classes ? FGI_NUMERIC : FGI_BYTEWISE;
    return fgi_values_seal(&schema->classes, order) ? FG_OK : fgi_no_memory(f->err);
}

static fg_status split(fitter *f)
{
    const fg_csv_options *o = f->options;
    const size_t count = f->csv->row_count;
    fgi_strata classes = {.count = (int64_t)f->schema->classes.count};
    fg_status status = FG_OK;
    if (o->val_fraction == 0)
        return FG_OK;
    if (o->stratify && f->schema->is_classification) {
        if ((f->labels = fgi_calloc(count, sizeof *f->labels)) == NULL)
            return fgi_no_memory(f->err);
        status = for_all_rows(f, label_row);
        classes.labels = f->labels;
    }
    if (status == FG_OK)
        status = fgi_split_rows(
            (int64_t)count, &classes,
            &(fg_split_options){.val_fraction = o->val_fraction, .seed = o->split_seed}, f->split,
            f->err);
    fgi_free(f->labels);
    return status;
}

static fg_status fit(fitter *f)
{
    FGI_TRY(name_kinds(f));
    FGI_TRY(fit_target(f));
    FGI_TRY(split(f));
    FGI_TRY(fit_features(f));
    FGI_TRY(fgi_csv_schema_finish(f->schema, f->err));
    return fgi_csv_report(f->schema, f->csv, train_count(f), f->err);
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
    schema->no_default_na = o->no_default_na;
    schema->decimal = o->decimal;
    memcpy(schema->image, o->image, sizeof(schema->image));
    schema->image_scale = o->image_scale;
    return schema;
}

fg_status fgi_csv_fit(const fgi_csv *csv, const fg_csv_options *options, fgi_split *out_split,
                      fg_csv_schema **out, fg_error *err)
{
    *out = NULL;
    *out_split = (fgi_split){.rows = NULL};
    fitter f = {.csv = csv, .options = options, .split = out_split, .err = err};
    FGI_TRY(fgi_csv_row_init(csv, &f.row, err));
    f.schema = make_schema(csv, options);
    const fg_status status = f.schema != NULL ? fit(&f) : fgi_no_memory(err);
    fgi_csv_row_fini(&f.row);
    fgi_image_places_fini(&f.places);
    fgi_values_fini(&f.strings);
    if (status != FG_OK) {
        fg_csv_schema_destroy(f.schema);
        return status;
    }
    *out = f.schema;
    return FG_OK;
}
