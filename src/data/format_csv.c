/* format_csv.c - the data format csv: one sample per row, columns encoded as a schema says.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "data/formats.h"

/* ---- options --------------------------------------------------------------------------------- */

/* data.delimiter as one byte: "\\t" and "tab" are the tab. '\0' where it is more than one. */
static char delimiter(const fg_option_values *values)
{
    const char *text = fg_option_string(values, "delimiter");
    if (strcmp(text, "\\t") == 0 || strcmp(text, "tab") == 0)
        return '\t';
    return strlen(text) == 1 ? text[0] : '\0';
}

static fg_status check(const fg_option_values *values, fg_error *err)
{
    const size_t sides = fg_option_count(values, "image");
    const char *decimal = fg_option_string(values, "decimal");
    if (strcmp(decimal, ".") != 0 && strcmp(decimal, ",") != 0)
        return fg_option_fail(values, "decimal", FG_EINVAL, err, "expected . or ,, got '%.16s'",
                              decimal);
    if (delimiter(values) == '\0')
        return fg_option_fail(values, "delimiter", FG_EINVAL, err,
                              "expected one character, or \\t or tab for a tab");
    if (sides != 0 && sides != 3)
        return fg_option_fail(values, "image", FG_EINVAL, err,
                              "expected [height, width, channels]");
    return FG_OK;
}

/* The items of the lists, to be freed together. */
typedef struct lists {
    const char **all, **next;
} lists;

static fg_status lists_init(const fg_option_values *values, lists *out, fg_error *err)
{
    static const char *const names[] = {"ignore", "categorical", "numeric", "na_values"};
    size_t count = 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        count += fg_option_count(values, names[i]);
    out->next = out->all = fgi_calloc(count, sizeof *out->all);
    return out->all != NULL ? FG_OK : fgi_no_memory(err);
}

static const char *const *list(const fg_option_values *values, const char *name, lists *l,
                               size_t *out_count)
{
    const char **items = l->next;
    *out_count = fg_option_count(values, name);
    for (size_t i = 0; i < *out_count; i++)
        *l->next++ = fg_option_string_at(values, name, i);
    return items;
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

static fg_status fit(const fg_option_values *values, const fg_format_request *request, lists *l,
                     fg_format_data *out, fg_error *err)
{
    fg_csv_parts parts = {0};
    fg_csv_options o = {
        .no_header = fg_option_bool(values, "no_header"),
        .has_header = fg_option_is_given(values, "no_header"),
        .delimiter = delimiter(values),
        .decimal = fg_option_string(values, "decimal")[0],
        .target = fg_option_string(values, "target"),
        .task = request->task,
        .no_normalize = !fg_option_bool(values, "normalize"),
        .standardize_target = fg_option_bool(values, "normalize"),
        .missing = fg_option_string(values, "missing"),
        .unknown = fg_option_string(values, "unknown"),
        .max_categories = fg_option_int(values, "max_categories"),
        .no_default_na = !fg_option_bool(values, "keep_default_na"),
        .val_path = fg_option_string(values, "val"),
        .val_fraction = request->val_fraction,
        .split_seed = request->split_seed,
        .stratify = request->stratify,
    };
    o.ignore = list(values, "ignore", l, &o.ignore_count);
    o.categorical = list(values, "categorical", l, &o.categorical_count);
    o.numeric = list(values, "numeric", l, &o.numeric_count);
    o.na_values = list(values, "na_values", l, &o.na_value_count);
    for (size_t i = 0; i < fg_option_count(values, "image"); i++)
        o.image[i] = fg_option_int_at(values, "image", i);
    const fg_status status = fg_csv_open(fg_option_string(values, "path"), &o, &parts, err);
    out->samples = parts.train;
    out->val = parts.val;
    out->schema = parts.schema;
    if (status == FG_OK)
        say_report(request, fg_csv_schema_report(parts.schema));
    return status;
}

/* Rows of another file, or all of the training file, as the schema says. */
static fg_status apply(const fg_option_values *values, const fg_format_request *request,
                       fg_format_data *out, fg_error *err)
{
    static const char *const names[] = {[FG_PART_TRAIN] = "path",
                                        [FG_PART_VAL] = "val",
                                        [FG_PART_TEST] = "test",
                                        [FG_PART_PREDICT] = "predict"};
    const char *path = fg_option_string(values, names[request->part]);
    const fg_csv_apply_options options = {.no_target = !request->needs_target,
                                          .delimiter = delimiter(values),
                                          .keep_damaged = !request->needs_target &&
                                                          request->part != FG_PART_TRAIN,
                                          .missing = fg_option_string(values, "missing"),
                                          .unknown = fg_option_string(values, "unknown")};
    return fg_csv_apply_with(request->schema, path, &options, &out->samples, err);
}

static fg_status open_part(const fg_option_values *values, const fg_format_request *request,
                           fg_format_data *out, fg_error *err)
{
    lists l;
    if (request->schema != NULL)
        return apply(values, request, out, err);
    FGI_TRY(check(values, err));
    FGI_TRY(lists_init(values, &l, err));
    const fg_status status = fit(values, request, &l, out, err);
    fgi_free(l.all);
    return status;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    {.name = "path",
     .kind = FG_OPTION_STRING,
     .example = "data/homes.csv",
     .help = "The file, plain or gzip."},
    {.name = "target",
     .kind = FG_OPTION_STRING,
     .example = "price",
     .help = "The column to predict. Default: the last one."},
    {.name = "val",
     .kind = FG_OPTION_STRING,
     .example = "data/val.csv",
     .help = "A file with validation rows."},
    {.name = "test",
     .kind = FG_OPTION_STRING,
     .example = "data/test.csv",
     .help = "A file with rows for `test` and `predict`. Default: the validation rows. "
             "`predict` does not need the target column."},
    FGI_OPTION_PREDICT,
    {.name = "no_header",
     .kind = FG_OPTION_BOOL,
     .initial = "false",
     .example = "true",
     .help = "The file has no header: the first row is a sample. Columns are named 0, 1, 2 ... If "
             "this is not given, a first row with numbers is an error."},
    {.name = "delimiter",
     .kind = FG_OPTION_STRING,
     .initial = "\",\"",
     .example = "\";\"",
     .help = "Character that separates cells; \\t or tab for a tab."},
    {.name = "decimal",
     .kind = FG_OPTION_STRING,
     .initial = "\".\"",
     .example = "\",\"",
     .help = "Decimal separator, . or ,: with a comma, 1,5 and 1.234,5 are numbers."},
    {.name = "ignore",
     .kind = FG_OPTION_STRINGS,
     .initial = "[]",
     .example = "[id, name]",
     .help = "Columns to ignore. Columns that are probably names, identifiers or dates are ignored "
             "even if they are not listed, which is printed, unless categorical or numeric lists "
             "them."},
    {.name = "categorical",
     .kind = FG_OPTION_STRINGS,
     .initial = "[]",
     .example = "[zip_code]",
     .help = "Columns whose values are categories, even if they are numbers or most of them are "
             "different."},
    {.name = "numeric",
     .kind = FG_OPTION_STRINGS,
     .initial = "[]",
     .example = "[age]",
     .help = "Columns that must be numbers: any other value is an error that names the cell. "
             "$1,234.50 and 5 % are numbers in them, and a date such as 2024-01-31 is the number "
             "of days since 1970-01-01. By default, a column is numeric if all its training values "
             "are plain numbers."},
    {.name = "na_values",
     .kind = FG_OPTION_STRINGS,
     .initial = "[]",
     .example = "[n.a., -]",
     .help = "Additional values to treat as missing. By default, empty cells, NA, N/A, n/a, NaN, "
             "nan, null, NULL, None and ? are missing."},
    {.name = "keep_default_na",
     .kind = FG_OPTION_BOOL,
     .initial = "true",
     .example = "false",
     .help =
         "Treat NA, null, None and so on as missing. false: only empty cells and na_values are. "
         "In quotes, these words are values of a column of strings in any case."},
    {.name = "max_categories",
     .kind = FG_OPTION_INT,
     .initial = "1000",
     .range = "1..16777216",
     .example = "5000",
     .help = "A column with more categories, or a target with more classes, is an error."},
    {.name = "missing",
     .kind = FG_OPTION_CHOICE,
     .initial = "error",
     .range = "error|mean",
     .example = "mean",
     .help = "What to do with a missing value: fail, or use the column's mean over the training "
             "rows. Empty cells and those of data.na_values are missing."},
    {.name = "unknown",
     .kind = FG_OPTION_CHOICE,
     .initial = "error",
     .range = "error|zero",
     .example = "zero",
     .help = "What to do with a category that does not occur in the training data: fail, or encode "
             "it as all zeros."},
    FGI_OPTION_NORMALIZE,
    FGI_OPTION_IMAGE,
};

const fg_format_entry fgi_csv_row = {
    .entry = {.name = "csv",
              .help = "one sample per row",
              .spellings = "tsv",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .files = {.train = "path", .val = "val", .test = "test", .predict = "predict"},
    .fitted = "target|ignore|categorical|numeric|na_values|keep_default_na|decimal|normalize",
    .has_schema = true,
    .open = open_part};
