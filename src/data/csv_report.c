/* csv_report.c - a human-readable description of a fitted schema: a table of the columns, warnings
 * about columns that are nearly numeric, and the public access to both.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "data/csv_schema.h"

/* After MOST_LINES columns, only the numbers of columns of each kind are printed. */
enum { MOST_LINES = 40, MOST_NAMES = 6, MOST_NAME_COLUMNS = 24 };

const char *const fgi_csv_kind_names[] = {"ignored", "numeric", "categorical", "target", "label"};

/* ---- warnings -------------------------------------------------------------------------------- */

static void warn_of_text(const fgi_csv *csv, const fgi_csv_column *c)
{
    const bool is_target = c->kind == FGI_CSV_TARGET;
    fgi_log(FG_LOG_WARNING,
            "%s:%zu: row %zu, column '%.64s': '%s' is not a number, so the column is %s; %" PRId64
            " of its %" PRId64
            " values are numbers. If the text means a missing value, add it to data.na_values; to "
            "require numbers, add the column to data.numeric%s",
            csv->name, fgi_csv_line(csv, c->seen.text_row), c->seen.text_row + 1, c->name,
            c->seen.text, is_target ? "a class" : "a category", c->seen.numbers,
            c->seen.numbers + c->seen.texts + c->seen.infinite,
            is_target ? "" : "; to keep the categories, add it to data.categorical");
}

static void warn_of_marks(const fgi_csv *csv, const fgi_csv_column *c)
{
    const bool is_comma = c->seen.commas > c->seen.marks;
    fgi_log(
        FG_LOG_WARNING,
        "%s:%zu: row %zu, column '%.64s': '%s' looks like a number %s, but is read as text, so "
        "the column is %s. To read it as a number, %s%s",
        csv->name, fgi_csv_line(csv, c->seen.text_row), c->seen.text_row + 1, c->name, c->seen.text,
        is_comma ? "with a decimal comma" : "with a sign or separators of thousands",
        c->kind == FGI_CSV_TARGET ? "a class" : "categorical",
        is_comma ? "set data.decimal: \",\"" : "add the column to data.numeric",
        c->kind == FGI_CSV_TARGET ? "" : "; to keep the categories, add it to data.categorical");
}

static bool is_string(const fg_csv_schema *s, const fgi_csv_column *c)
{
    return c->kind == FGI_CSV_CATEGORICAL || (c->kind == FGI_CSV_TARGET && s->is_classification);
}

static void warn_of_images(const fgi_csv *csv, const fgi_csv_column *c)
{
    fgi_log(FG_LOG_WARNING, "%s: ignored column '%.64s': %s; %s; to confirm, add it to data.ignore",
            csv->name, c->name, c->ignored_because, c->image_advice);
}

/* One line for the columns that are left out without being listed. */
static void warn_of_ignored(const fg_csv_schema *s, const fgi_csv *csv)
{
    fgi_buf text = {0};
    size_t count = 0, categories = 0;
    for (size_t i = 0; i < s->column_count; i++) {
        const fgi_csv_column *c = &s->columns[i];
        if (c->ignored_because == NULL || c->image_advice != NULL)
            continue;
        if (count < MOST_NAMES)
            fgi_buf_printf(&text, "%s'%.64s' (%s)", count > 0 ? ", " : "", c->name,
                           c->ignored_because);
        categories += !fgi_csv_may_be_numeric(c);
        count++;
    }
    if (count > MOST_NAMES)
        fgi_buf_printf(&text, " and %zu more", count - MOST_NAMES);
    if (count > 0 && !text.failed)
        fgi_log(
            FG_LOG_WARNING,
            "%s: ignored column%s %s. To train on %s, list it in %s; to confirm, in data.ignore",
            csv->name, fgi_s(count), text.data, count == 1 ? "it" : "one of them",
            categories == count ? "data.categorical"
            : categories == 0   ? "data.numeric"
                                : "data.numeric or data.categorical");
    fgi_buf_fini(&text);
}

void fgi_csv_warn(const fg_csv_schema *s, const fgi_csv *csv)
{
    for (size_t i = 0; i < s->column_count; i++) {
        const fgi_csv_column *c = &s->columns[i];
        if (c->image_advice != NULL)
            warn_of_images(csv, c);
        else if (is_string(s, c) && fgi_csv_is_spreadsheet(c))
            warn_of_marks(csv, c);
        else if (is_string(s, c) && fgi_csv_is_nearly_numeric(c))
            warn_of_text(csv, c);
    }
    warn_of_ignored(s, csv);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Puts a name in one line, and spaces up to `width` columns. */
static void put_name(fgi_buf *out, const char *name, size_t width)
{
    char shown[256];
    size_t used;
    (void)fgi_text_escape(fgi_str_of(name), shown, sizeof(shown));
    const size_t bytes = fgi_text_fit(shown, MOST_NAME_COLUMNS, &used);
    fgi_buf_printf(out, "%.*s%*s", (int)bytes, shown, used < width ? (int)(width - used) : 0, "");
}

/* "4: flat, house, loft, ...". */
static void put_names(fgi_buf *out, const fgi_values *values)
{
    fgi_buf_printf(out, "%zu: ", values->count);
    for (size_t i = 0; i < values->count && i < MOST_NAMES; i++) {
        fgi_buf_puts(out, i == 0 ? "" : ", ");
        put_name(out, values->texts[i], 0);
    }
    if (values->count > MOST_NAMES)
        fgi_buf_puts(out, ", ...");
}

static void put_range(fgi_buf *out, const fgi_csv_column *c)
{
    if (c->seen.numbers == 0)
        fgi_buf_puts(out, "no numbers");
    else if (!(c->seen.least < c->seen.greatest))
        fgi_buf_printf(out, "constant %.6g", c->seen.least);
    else
        fgi_buf_printf(out, "%.6g to %.6g, mean %.6g, deviation %.6g", c->seen.least,
                       c->seen.greatest, c->mean, c->deviation);
}

static void put_column(fgi_buf *out, const fg_csv_schema *s, const fgi_csv_column *c, int width)
{
    const bool is_target = c->kind == FGI_CSV_TARGET;
    const char *type = !is_target             ? fgi_csv_kind_names[c->kind]
                       : s->is_multilabel     ? "target, labels"
                       : s->is_classification ? "target, classes"
                                              : "target, number";
    put_name(out, c->name, (size_t)width);
    fgi_buf_puts(out, "  ");
    if (c->kind == FGI_CSV_IGNORED) {
        fgi_buf_printf(out, c->ignored_because != NULL ? "%-15s  %7s  %s\n" : "%s\n", "ignored", "",
                       c->ignored_because);
        return;
    }
    fgi_buf_printf(out, "%-15s  %7" PRId64 "  ", type, c->seen.missing);
    if (c->kind == FGI_CSV_CATEGORICAL)
        put_names(out, &c->values);
    else if (is_target && (s->is_classification || s->is_multilabel))
        put_names(out, &s->classes);
    else if (c->kind == FGI_CSV_LABEL)
        fgi_buf_puts(out, "0 or 1");
    else
        put_range(out, c);
    fgi_buf_puts(out,
                 is_target && s->target_is_standardized ? " (standardized for training)\n" : "\n");
}

static bool is_pixel(const fg_csv_schema *s, const fgi_csv_column *c)
{
    return fgi_csv_is_image(s) && c->kind == FGI_CSV_NUMERIC;
}

/* The columns of an image in one line: "pixels  numeric  0  784 columns, 0 to 255". */
static void put_pixels(fgi_buf *out, const fg_csv_schema *s, int width)
{
    double least = (double)INFINITY, greatest = -(double)INFINITY;
    int64_t missing = 0;
    for (size_t i = 0; i < s->column_count; i++) {
        const fgi_csv_column *c = &s->columns[i];
        if (!is_pixel(s, c))
            continue;
        missing += c->seen.missing;
        if (c->seen.numbers > 0) {
            least = fmin(least, c->seen.least);
            greatest = fmax(greatest, c->seen.greatest);
        }
    }
    fgi_buf_printf(out, "%-*s  %-15s  %7" PRId64 "  %" PRId64 " columns", width, "pixels",
                   "numeric", missing, s->feature_count);
    if (least <= greatest)
        fgi_buf_printf(out, ", %.6g to %.6g\n", least, greatest);
    else
        fgi_buf_puts(out, ", no numbers\n");
}

/* "... and 745 more columns: 740 numeric, 5 categorical, 0 ignored". */
static void put_rest(fgi_buf *out, const fg_csv_schema *s, size_t first)
{
    size_t count[FGI_CSV_LABEL + 1] = {0}, all = 0;
    int64_t missing = 0;
    for (size_t i = first; i < s->column_count; i++) {
        if (is_pixel(s, &s->columns[i]))
            continue;
        all++;
        count[s->columns[i].kind]++;
        missing += s->columns[i].seen.missing;
    }
    fgi_buf_printf(out,
                   "... and %zu more: %zu numeric, %zu categorical, %zu ignored; %" PRId64
                   " value%s missing\n",
                   all, count[FGI_CSV_NUMERIC], count[FGI_CSV_CATEGORICAL], count[FGI_CSV_IGNORED],
                   missing, missing == 1 ? " is" : "s are");
}

static void put_columns(fgi_buf *out, const fg_csv_schema *s, int width)
{
    size_t all = 0, listed = 0, i = 0;
    for (size_t k = 0; k < s->column_count; k++)
        all += !is_pixel(s, &s->columns[k]);
    const size_t lines = all > MOST_LINES + 1 ? MOST_LINES : all;
    if (all < s->column_count)
        put_pixels(out, s, width);
    for (; i < s->column_count && listed < lines; i++)
        if (!is_pixel(s, &s->columns[i])) {
            put_column(out, s, &s->columns[i], width);
            listed++;
        }
    if (listed == all)
        return;
    put_rest(out, s, i);
    if (s->target >= (int64_t)i)
        put_column(out, s, &s->columns[s->target], width);
}

static int name_width(const fg_csv_schema *s)
{
    size_t width = strlen("column");
    for (size_t i = 0; i < s->column_count; i++) {
        char shown[256];
        (void)fgi_text_escape(fgi_str_of(s->columns[i].name), shown, sizeof(shown));
        const size_t columns = fgi_text_columns(shown);
        width = columns > width ? columns : width;
    }
    return width > MOST_NAME_COLUMNS ? MOST_NAME_COLUMNS : (int)width;
}

fg_status fgi_csv_report(fg_csv_schema *s, const fgi_csv *csv, size_t row_count, fg_error *err)
{
    fgi_buf out = {0};
    const int width = name_width(s);
    fgi_buf_printf(&out, "%s: %zu row%s, %zu of them for training, %" PRId64 " feature%s\n",
                   csv->name, csv->row_count, fgi_s(csv->row_count), row_count, s->feature_count,
                   fgi_s(s->feature_count));
    fgi_buf_printf(&out, "%-*s  %-15s  missing  range or categories\n", width, "column", "type");
    put_columns(&out, s, width);
    s->report = fgi_buf_take(&out);
    fgi_buf_fini(&out);
    if (s->report == NULL)
        return fgi_no_memory(err);
    return FG_OK;
}

/* ---- public ---------------------------------------------------------------------------------- */

const char *fg_csv_schema_report(const fg_csv_schema *schema)
{
    return schema->report != NULL ? schema->report : "";
}

size_t fg_csv_schema_column_count(const fg_csv_schema *schema) { return schema->column_count; }

fg_status fg_csv_schema_column(const fg_csv_schema *schema, size_t index, fg_csv_column *out,
                               fg_error *err)
{
    *out = (fg_csv_column){0};
    if (index >= schema->column_count)
        return fgi_fail(err, FG_EINVAL, "csv schema: column %zu does not exist: there are %zu",
                        index, schema->column_count);
    const fgi_csv_column *c = &schema->columns[index];
    const bool is_classes =
        c->kind == FGI_CSV_TARGET && (schema->is_classification || schema->is_multilabel);
    const fgi_values *values = is_classes ? &schema->classes : &c->values;
    const bool has_numbers = c->seen.numbers > 0;
    /* in a numeric column, they are missing */
    const int64_t quoted = c->seen.texts > 0 || !has_numbers ? c->seen.quoted : 0;
    const int64_t marked = schema->decimal == ',' ? c->seen.commas : c->seen.marks;
    *out = (fg_csv_column){.name = c->name,
                           .kind = fgi_csv_kind_names[c->kind],
                           .numbers = c->seen.numbers,
                           .texts = c->seen.texts + c->seen.infinite + quoted,
                           .marked = marked,
                           .is_integer = has_numbers && !c->seen.is_fraction,
                           .missing = c->seen.missing,
                           .min = has_numbers ? c->seen.least : (double)NAN,
                           .max = has_numbers ? c->seen.greatest : (double)NAN,
                           .mean = c->mean,
                           .deviation = c->deviation,
                           .category_count = (int64_t)values->count,
                           .categories = values->texts,
                           .text_row = c->seen.texts > 0 ? (int64_t)c->seen.text_row + 1 : 0,
                           .text = c->seen.text,
                           .ignored_because = c->ignored_because,
                           .has_lists = c->kind == FGI_CSV_TARGET && schema->is_multilabel};
    return FG_OK;
}

bool fg_csv_schema_target_scale(const fg_csv_schema *schema, double *out_mean,
                                double *out_deviation)
{
    const bool is = schema->target >= 0 && schema->target_is_standardized;
    *out_mean = is ? schema->columns[schema->target].mean : 0;
    *out_deviation = is ? schema->columns[schema->target].deviation : 1;
    return is;
}
