/* format_csv.c - the data format csv: one sample per row, columns encoded as a schema says.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "data/formats.h"

/* ---- options --------------------------------------------------------------------------------- */

typedef struct csv_format {
    fg_csv_options csv;
    bool no_header;
    const char *paths[4]; /* by fg_data_part */
    const char *delimiter, *decimal;
    fg_ints image;
} csv_format;

/* data.delimiter as one byte: "\\t" and "tab" are the tab. '\0' where it is more than one. */
static char delimiter(const csv_format *o)
{
    if (strcmp(o->delimiter, "\\t") == 0 || strcmp(o->delimiter, "tab") == 0)
        return '\t';
    return strlen(o->delimiter) == 1 ? o->delimiter[0] : '\0';
}

static fg_status check(const csv_format *o, const fg_option_values *values, fg_error *err)
{
    if (strcmp(o->decimal, ".") != 0 && strcmp(o->decimal, ",") != 0)
        return fg_option_fail(values, "decimal", FG_EINVAL, err, "expected . or ,, got '%.16s'",
                              o->decimal);
    if (delimiter(o) == '\0')
        return fg_option_fail(values, "delimiter", FG_EINVAL, err,
                              "expected one character, or \\t or tab for a tab");
    if (o->image.count != 0 && o->image.count != 3)
        return fg_option_fail(values, "image", FG_EINVAL, err,
                              "expected [height, width, channels]");
    return FG_OK;
}

/* Says the table of the columns, without the newline at its end. */
static void say_report(const fg_format_request *request, const char *report)
{
    fgi_buf text = {0};
    const size_t size = strlen(report);
    fgi_buf_add(&text, report, size > 0 && report[size - 1] == '\n' ? size - 1 : size);
    if (text.data != NULL)
        fgi_format_say(request, FG_LOG_INFO, text.data);
    fgi_buf_fini(&text);
}

/* ---- opening --------------------------------------------------------------------------------- */

static fg_status fit(const csv_format *own, const fg_format_request *request, fg_format_data *out,
                     fg_error *err)
{
    fg_csv_parts parts = {0};
    fg_csv_options o = own->csv;
    FGI_TRY(check(own, request->values, err));
    if (fg_option_is_given(request->values, "no_header"))
        o.header = own->no_header ? FG_CSV_HEADER_NO : FG_CSV_HEADER_YES;
    o.delimiter = delimiter(own);
    o.decimal = own->decimal[0];
    o.task = request->task;
    o.standardize_target = !o.no_normalize;
    o.val_path = own->paths[FG_PART_VAL];
    o.val_fraction = request->val_fraction;
    o.split_seed = request->split_seed;
    o.stratify = request->stratify;
    for (size_t i = 0; i < own->image.count; i++)
        o.image[i] = own->image.at[i];
    const fg_status status = fg_csv_load(own->paths[FG_PART_TRAIN], &o, &parts, err);
    out->samples = parts.train;
    out->val = parts.val;
    out->schema = parts.schema;
    if (status == FG_OK)
        say_report(request, fg_csv_schema_report(parts.schema));
    return status;
}

/* Rows of another file, or all of the training file, as the schema says. */
static fg_status load_part(const void *own, const fg_format_request *request, fg_format_data *out,
                           fg_error *err)
{
    const csv_format *o = own;
    if (request->schema == NULL)
        return fit(o, request, out, err);
    const fg_csv_apply_options options = {.no_target = !request->needs_target,
                                          .delimiter = delimiter(o),
                                          .keep_damaged = !request->needs_target &&
                                                          request->part != FG_PART_TRAIN,
                                          .missing = o->csv.missing,
                                          .unknown = o->csv.unknown};
    return fg_csv_apply(request->schema, o->paths[request->part], &options, &out->samples, err);
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    FG_OPTION_AS("path", csv_format, paths[FG_PART_TRAIN], STRING, NULL, NULL, "data/homes.csv",
                 "The file, plain or gzip."),
    FG_OPTION_AS("target", csv_format, csv.target, STRING, NULL, NULL, "price",
                 "The column to predict. Default: the last one."),
    FG_OPTION_AS(
        "label_columns", csv_format, csv.label_columns, STRINGS, "[]", NULL, "[rain, snow, wind]",
        "Columns of 0 and 1 to predict, one for each label, instead of a target: a row may "
        "have several labels, or none."),
    FGI_OPTION_LABEL_SEPARATOR(csv_format, csv.label_separator),
    FG_OPTION_AS("val", csv_format, paths[FG_PART_VAL], STRING, NULL, NULL, "data/val.csv",
                 "A file with validation rows."),
    FG_OPTION_AS("test", csv_format, paths[FG_PART_TEST], STRING, NULL, NULL, "data/test.csv",
                 "A file with rows for `test` and `predict`. Default: the validation rows. "
                 "`predict` does not need the target column."),
    FGI_OPTION_PREDICT(csv_format),
    FG_OPTION(csv_format, no_header, BOOL, "false", NULL, "true",
              "The file has no header: the first row is a sample. Columns are named 0, 1, 2 ... If "
              "this is not given, a first row with numbers is an error."),
    FG_OPTION(csv_format, delimiter, STRING, "\",\"", NULL, "\";\"",
              "Character that separates cells; \\t or tab for a tab."),
    FG_OPTION(csv_format, decimal, STRING, "\".\"", NULL, "\",\"",
              "Decimal separator, . or ,: with a comma, 1,5 and 1.234,5 are numbers."),
    FG_OPTION_AS(
        "ignore", csv_format, csv.ignore, STRINGS, "[]", NULL, "[id, name]",
        "Columns to ignore. Columns that are probably names, identifiers or dates are ignored "
        "even if they are not listed, which is printed, unless categorical or numeric lists "
        "them."),
    FG_OPTION_AS(
        "categorical", csv_format, csv.categorical, STRINGS, "[]", NULL, "[zip_code]",
        "Columns whose values are categories, even if they are numbers or most of them are "
        "different."),
    FG_OPTION_AS(
        "numeric", csv_format, csv.numeric, STRINGS, "[]", NULL, "[age]",
        "Columns that must be numbers: any other value is an error that names the cell. "
        "$1,234.50 and 5 % are numbers in them, and a date such as 2024-01-31 is the number "
        "of days since 1970-01-01. By default, a column is numeric if all its training values "
        "are plain numbers."),
    FG_OPTION_AS(
        "na_values", csv_format, csv.na_values, STRINGS, "[]", NULL, "[n.a., -]",
        "Additional values to treat as missing. By default, empty cells, NA, N/A, n/a, NaN, "
        "nan, null, NULL, None and ? are missing."),
    FG_OPTION_NOT(
        "keep_default_na", csv_format, csv.no_default_na, "false",
        "Treat NA, null, None and so on as missing. false: only empty cells and na_values are. "
        "In quotes, these words are values of a column of strings in any case."),
    FG_OPTION_AS("max_categories", csv_format, csv.max_categories, INT, "1000", "1..16777216",
                 "5000",
                 "A column with more categories, or a target with more classes, is an error."),
    FG_OPTION_AS(
        "missing", csv_format, csv.missing, CHOICE, "error", "error|mean", "mean",
        "What to do with a missing value: fail, or use the column's mean over the training "
        "rows. Empty cells and those of data.na_values are missing."),
    FG_OPTION_AS(
        "unknown", csv_format, csv.unknown, CHOICE, "error", "error|zero", "zero",
        "What to do with a category that does not occur in the training data: fail, or encode "
        "it as all zeros."),
    FGI_OPTION_NORMALIZE(csv_format, csv.no_normalize),
    FGI_OPTION_IMAGE(csv_format),
};

const fg_format_entry fgi_csv_row = {
    .entry = {.name = "csv",
              .help = "one sample per row",
              .spellings = "tsv",
              FG_OPTIONS(options, csv_format)},
    .files = {.train = "path", .val = "val", .test = "test", .predict = "predict"},
    .fitted = "target|label_columns|label_separator|ignore|categorical|numeric|na_values|keep_"
              "default_na|decimal|normalize",
    .has_schema = true,
    .load = load_part};
