/* test_data_csv_report.c - inferred column types of a CSV file: warnings, errors that name the
 * cell, and the report.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include "base/print.h"
#include "csv_text.h"
#include "input/csv_table.h"

/* ---- types and the report -------------------------------------------------------------------- */

/* Warnings since the last call of `warned`. */
static char log_text[4096];

static void keep_line(void *self, fg_log_level level, const char *line)
{
    const size_t used = strlen(log_text);
    if (level == FG_LOG_WARNING)
        (void)snprintf(log_text + used, sizeof(log_text) - used, "%s\n", line);
}

/* The warnings from opening a CSV text. */
static const char *warned(const char *text, const fg_csv_options *options)
{
    fg_csv_parts parts;
    log_text[0] = '\0';
    fg_log_set(keep_line, NULL);
    fgt_ok(csv_open_text(text, options, &parts));
    fg_log_set(NULL, NULL);
    csv_destroy(&parts);
    return log_text;
}

static void nearly_numeric_columns_are_warned_of(void **state)
{
    const char *text = "age,y\n1,1\n2,2\nn.a.,3\n4,4\noops,1\n";
    const char *const age[] = {"age"}, *const na[] = {"n.a.", "oops"};
    assert_string_equal(warned(text, &(fg_csv_options){.task = "regression"}),
                        "t.csv:4: row 3, column 'age': 'n.a.' is not a number, so the column is a "
                        "category; 3 of its 5 values are numbers. If the text means a missing "
                        "value, add it to data.na_values; to require numbers, add the column to "
                        "data.numeric; to keep the categories, add it to data.categorical\n");
    /* declared categorical, declared numeric, or missing */
    assert_string_equal(
        warned(text, &(fg_csv_options){.task = "regression", .categorical = {age, 1}}), "");
    csv_expect_error(text, &(fg_csv_options){.task = "regression", .numeric = {age, 1}}, FG_EFORMAT,
                     "t.csv:4: row 3, column 'age': 'n.a.' is not a number\ncorrect it, or treat "
                     "it as missing with data.na_values and data.missing: mean");
    const fg_csv_options missing = {
        .task = "regression", .na_values = {na, 2}, .missing = "mean", .no_normalize = true};
    assert_string_equal(warned(text, &missing), "");
    fg_csv_parts parts;
    fgt_ok(csv_open_text(text, &missing, &parts));
    csv_expect_row(parts.train, 2, 1, (const double[]){7.0 / 3});
    csv_destroy(&parts);
    /* also where most values are different */
    char many[200] = "n.a.,1\n";
    for (int i = 0; i < 11; i++)
        (void)snprintf(many + strlen(many), 16, "%d.5,%d\n", i, i);
    assert_non_null(
        strstr(warned(many, &(fg_csv_options){.task = "regression", .header = FG_CSV_HEADER_NO}),
               "11 of its 12 values are numbers"));
    assert_null(strstr(log_text, "ignored"));
    /* a column of strings with some numbers is categorical */
    assert_string_equal(warned("c,y\na,1\nb,2\n7,3\n", &(fg_csv_options){.task = "regression"}),
                        "");
    assert_string_equal(
        warned("c,y\na,1\nb,2\n7,3\n8,4\n", &(fg_csv_options){.task = "regression"}), "");
    assert_non_null(strstr(warned("x,y\n1,1\n2,2\n3,x\n", NULL),
                           "t.csv:4: row 3, column 'y': 'x' is not a number, so the column is a "
                           "class; 2 of its 3 values are numbers."));
    assert_non_null(strstr(
        warned("x;y\n1,5;1\n2,25;2\n", &(fg_csv_options){.delimiter = ';', .task = "regression"}),
        "t.csv:2: row 1, column 'x': '1,5' looks like a number with a decimal comma"));
}

/* A table of 12 rows; `value` writes the cell of row i in column a. */
static const char *table_of(const char *name, void (*value)(int i, char out[32]), int rows)
{
    static char text[2048];
    char cell[32];
    int size = snprintf(text, sizeof(text), "%s,b,y\n", name);
    for (int i = 0; i < rows; i++) {
        value(i, cell);
        size += snprintf(text + size, sizeof(text) - (size_t)size, "%s,%d,%d.5\n", cell, i % 5, i);
    }
    return text;
}

static void put_name(int i, char out[32]) { (void)snprintf(out, 32, "Name %d", i % 11); }
static void put_half(int i, char out[32]) { (void)snprintf(out, 32, "Name %d", i % 6); }
static void put_number(int i, char out[32]) { (void)snprintf(out, 32, "%d", 100 + 7 * i); }
static void put_ten(int i, char out[32]) { (void)snprintf(out, 32, "%d", i % 11); }
static void put_date(int i, char out[32]) { (void)snprintf(out, 32, "2024-01-%02d", 1 + i % 4); }
static void put_european(int i, char out[32]) { (void)snprintf(out, 32, "%d.12.1999", 1 + i % 4); }
static void put_both(int i, char out[32]) { (i % 2 == 0 ? put_date : put_european)(i, out); }
static void put_soon(int i, char out[32])
{
    (void)snprintf(out, 32, i == 0 ? "soon" : "2024-01-%02d", i);
}
static void put_third(int i, char out[32]) { (void)snprintf(out, 32, "%d", 3 * i); }
static void put_fraction(int i, char out[32]) { (void)snprintf(out, 32, "%d.5", i); }
static void put_price_or_name(int i, char out[32])
{
    (void)snprintf(out, 32, i % 4 == 0 ? "$5" : "Name %d", i % 4);
}
static void put_dollars(int i, char out[32]) { (void)snprintf(out, 32, "$%d.25", i); }
static void put_percent(int i, char out[32]) { (void)snprintf(out, 32, "%d %%", i); }
static void put_either(int i, char out[32]) { (void)snprintf(out, 32, "\"1,00%d\"", i % 8); }
static void put_comma(int i, char out[32]) { (void)snprintf(out, 32, "\"1.00%d,5\"", i % 8); }

/* A column of a table, and the reason for leaving it out; NULL: it is a feature. */
typedef struct column_case {
    const char *name;
    void (*value)(int i, char out[32]);
    int rows;
    const char *reason;
    bool is_numeric; /* how it can be listed */
} column_case;

static void check_kind(const char *text, const fg_csv_options *options, const char *kind,
                       const char *reason)
{
    fg_csv_parts parts;
    fg_csv_column c;
    fgt_ok(csv_open_text(text, options, &parts));
    fgt_ok(fg_csv_schema_column(parts.schema, 0, &c, &err));
    assert_string_equal(c.kind, kind);
    assert_string_equal(c.ignored_because != NULL ? c.ignored_because : "", reason);
    csv_destroy(&parts);
}

static void check_column(const column_case *c)
{
    char expected[512] = "";
    const char *text = table_of(c->name, c->value, c->rows);
    const char *name = c->name[0] != '\0' ? c->name : "0";
    const char *kind = c->is_numeric ? "numeric" : "categorical";
    if (c->reason != NULL)
        (void)snprintf(expected, sizeof(expected),
                       "t.csv: ignored column '%s' (%s). To train on it, list it in data.%s; to "
                       "confirm, in data.ignore\n",
                       name, c->reason, kind);
    assert_string_equal(warned(text, NULL), expected);
    check_kind(text, NULL, c->reason != NULL ? "ignored" : kind,
               c->reason != NULL ? c->reason : "");
    fg_csv_options o = {.ignore = {&name, 1}};
    assert_string_equal(warned(text, &o), "");
    check_kind(text, &o, "ignored", "");
    o = c->is_numeric ? (fg_csv_options){.numeric = {&name, 1}}
                      : (fg_csv_options){.categorical = {&name, 1}};
    assert_string_equal(warned(text, &o), "");
    check_kind(text, &o, kind, "");
}

static const char numbered[] = "it contains row numbers";
static const column_case unlikely_features[] = {
    {"name", put_name, 12, "11 of its 12 values are different", false},
    {"name", put_half, 12, NULL, false},
    {"name", put_name, 9, NULL, false},
    {"name", put_name, 10, "10 of its 10 values are different", false},
    {"id", put_number, 12, numbered, true},
    {"PassengerId", put_number, 12, numbered, true},
    {"id_customer", put_number, 12, numbered, true},
    {"order index", put_number, 12, numbered, true},
    {"id", put_ten, 12, NULL, true},
    {"id", put_number, 9, NULL, true},
    {"paid", put_number, 12, NULL, true},
    {"Nr.", put_number, 12, numbered, true},
    {"invoice_number", put_number, 12, numbered, true},
    {"number of rooms", put_number, 12, NULL, true},
    {"_id_customer", put_number, 12, numbered, true},
    {"ids seen", put_number, 12, numbered, true},
    {"idx.a", put_number, 12, numbered, true},
    {"#uuid of row", put_number, 12, numbered, true},
    {"guidOfRow", put_number, 12, numbered, true},
    {"ROWNUM (all)", put_number, 12, numbered, true},
    {"primaryKey", put_number, 12, numbered, true},
    {"sample no", put_number, 12, numbered, true},
    {"key ratio", put_number, 12, NULL, true},
    {"sample key x", put_number, 12, NULL, true},
    {"nr of rooms", put_number, 12, NULL, true},
    {"no of rooms", put_number, 12, NULL, true},
    {"id2", put_number, 12, NULL, true},
    {"", put_ten, 11, numbered, true},
    {"Unnamed: 0", put_ten, 11, numbered, true},
    {"Unnamed: 0", put_third, 12, NULL, true},
    {"", put_number, 12, NULL, true},
    {"", put_third, 12, NULL, true},
    {"id", put_fraction, 12, NULL, true},
    {"body_index_ratio", put_number, 12, NULL, true},
    {"price", put_price_or_name, 12, NULL, false},
    {"sold", put_date, 4, "it contains dates, which data.numeric reads as days", true},
    {"sold", put_european, 4, "it contains dates", false},
    {"sold", put_both, 4, "it contains dates", false},
    {"sold", put_soon, 4, NULL, false},
};

/* Columns that are no features are left out, with a warning, unless the options list them. */
static void identifiers_names_and_dates_do_not_train(void **state)
{
    for (size_t i = 0; i < sizeof(unlikely_features) / sizeof(unlikely_features[0]); i++)
        check_column(&unlikely_features[i]);
    for (int more = 0; more < 2; more++) { /* only some are named */
        char many[1024];
        size_t size =
            (size_t)snprintf(many, sizeof(many),
                             more == 0 ? "x,d0,d1,d2,d3,d4,d5,y\n" : "x,d0,d1,d2,d3,d4,d5,d6,y\n");
        for (int row = 0; row < 3; row++) {
            size += (size_t)snprintf(many + size, sizeof(many) - size, "%d.5", row);
            for (int i = 0; i < 6 + more; i++)
                size += (size_t)snprintf(many + size, sizeof(many) - size, ",2024-01-0%d", row + 1);
            size += (size_t)snprintf(many + size, sizeof(many) - size, ",%d.5\n", row);
        }
        assert_int_equal(strstr(warned(many, NULL), " and 1 more") != NULL, more);
        assert_null(strstr(log_text, " and 0 more"));
    }
    /* the only feature: an error that says how to keep it */
    csv_expect_error("id,y\n1,2\n2,3\n3,4\n4,5\n5,6\n6,7\n7,8\n8,9\n9,1\n10,2\n",
                     &(fg_csv_options){.task = "regression"}, FG_EFORMAT,
                     "no feature columns are left: every column is the target or ignored; column "
                     "'id' is ignored because it contains row numbers\nto train on it, list it in "
                     "data.numeric; if it names image files, put the table next to them or their "
                     "folder");
}

/* The advice of that error. */
static void a_listed_identifier_is_a_feature(void **state)
{
    const char *const id[] = {"id"};
    fg_csv_parts parts;
    (void)state;
    fgt_ok(csv_open_text("id,y\n1,2\n2,3\n3,4\n4,5\n5,6\n6,7\n7,8\n8,9\n9,1\n10,2\n",
                         &(fg_csv_options){.task = "regression", .numeric = {id, 1}}, &parts));
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 1);
    csv_destroy(&parts);
}

static void numbers_with_signs_are_warned_of(void **state)
{
    static const struct {
        void (*value)(int i, char out[32]);
        const char *first, *kind, *advice;
    } cases[] = {
        {put_dollars, "$0.25", "a sign or separators of thousands",
         "add the column to data.numeric"},
        {put_percent, "0 %", "a sign or separators of thousands", "add the column to data.numeric"},
        {put_either, "1,000", "a sign or separators of thousands",
         "add the column to data.numeric"},
        {put_comma, "1.000,5", "a decimal comma", "set data.decimal: \",\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[512];
        (void)snprintf(expected, sizeof(expected),
                       "t.csv:2: row 1, column 'a': '%s' looks like a number with %s, but is read "
                       "as text, so the column is categorical. To read it as a number, %s; to keep "
                       "the categories, add it to data.categorical\n",
                       cases[i].first, cases[i].kind, cases[i].advice);
        assert_string_equal(warned(table_of("a", cases[i].value, 12), NULL), expected);
    }
}

static const struct {
    void (*value)(int i, char out[32]);
    const char *cell, *first, *advice;
} unknown_numbers[] = {
    {put_dollars, "$100", "$0.25", "list the column in data.numeric to read such numbers"},
    {put_either, "1,100", "1,000", "list the column in data.numeric to read such numbers"},
    {put_comma, "7,5", "1.000,5", "set data.decimal: \",\" to read a decimal comma"},
};

static void unknown_categories_are_explained(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "val.csv");
    fg_csv_parts parts;
    fg_dataset *dataset;
    for (size_t i = 0; i < sizeof(unknown_numbers) / sizeof(unknown_numbers[0]); i++) {
        char text[400];
        (void)snprintf(text, sizeof(text), "a,b,y\n\"%s\",1,1\n", unknown_numbers[i].cell);
        csv_write_text(path, text);
        fgt_ok(csv_open_text(table_of("a", unknown_numbers[i].value, 12), NULL, &parts));
        assert_int_equal(fg_csv_apply(parts.schema, path, NULL, &dataset, &err), FG_EFORMAT);
        (void)snprintf(text, sizeof(text),
                       "~/val.csv:2: row 1, column 'a': '%s' does not occur in the training data; "
                       "the column is categorical because '%s' in row 1 of the training file is "
                       "not a plain number\n%s",
                       unknown_numbers[i].cell, unknown_numbers[i].first,
                       unknown_numbers[i].advice);
        fgt_message_is(err.message, text);
        csv_destroy(&parts);
    }
    fgt_ok(csv_open_text(table_of("a", put_half, 12), NULL, &parts));
    csv_write_text(path, "a,b,y\nName 7,1,1\n");
    assert_int_equal(fg_csv_apply(parts.schema, path, NULL, &dataset, &err), FG_EFORMAT);
    fgt_message_is(err.message,
                   "~/val.csv:2: row 1, column 'a': 'Name 7' does not occur in the training data, "
                   "in which the column has 6 categories\nif it is a name or an identifier, list "
                   "it in data.ignore; data.unknown: zero encodes unknown categories as zeros");
    csv_destroy(&parts);
}

/* The error names the wrong cell, not a later one affected by it. */
/* Quotes would not make a class of it where the classes are numbers. */
static void a_missing_target_of_new_data_is_explained(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "new.csv");
    fg_csv_parts parts;
    fg_dataset *dataset;
    for (int is_text = 0; is_text < 2; is_text++) {
        fgt_ok(csv_open_text(is_text ? "a,y\n1,u\n2,v\n3,u\n4,v\n" : "a,y\n1,0\n2,1\n3,0\n4,1\n",
                             NULL, &parts));
        csv_write_text(path, "a,y\n1,NA\n");
        assert_int_equal(fg_csv_apply(parts.schema, path, NULL, &dataset, &err), FG_EFORMAT);
        fgt_message_is(err.message,
                       is_text
                           ? "~/new.csv:2: row 1, column 'y': the target is missing: 'NA'\nremove "
                             "the row: a missing target is always an error; if 'NA' is a value "
                             "here, write it in quotes, or set data.keep_default_na: false"
                           : "~/new.csv:2: row 1, column 'y': the target is missing: 'NA'\nremove "
                             "the row: a missing target is always an error; if 'NA' is a value "
                             "here, set data.keep_default_na: false");
        csv_destroy(&parts);
    }
}

static void the_cell_that_is_wrong_is_blamed(void **state)
{
    const char *const both[] = {"a", "b"};
    const char *path = fgt_path(fgt_temp_folder(), "train.csv");
    const char *other = fgt_path(fgt_temp_folder(), "val.csv");
    csv_write_text(path, "a,y\n1,0.5\n2,1.5\noops,2\n");
    csv_write_text(other, "a,y\n3.5,0.5\n");
    fg_csv_parts parts;
    assert_int_equal(fg_csv_load(path, &(fg_csv_options){.val_path = other}, &parts, &err),
                     FG_EFORMAT);
    fgt_message_is(
        err.message,
        "~/val.csv:2: row 1, column 'a': '3.5' does not occur in the training data; the "
        "column is categorical only because of 'oops' in row 3 of the training file\ncorrect that "
        "value, or treat it as missing with data.na_values and data.missing: mean");
    csv_write_text(path, "a,y\n1,0.5\n2,1.5\n");
    csv_write_text(other, "a,y\nx,0.5\n");
    assert_int_equal(fg_csv_load(path, &(fg_csv_options){.val_path = other}, &parts, &err),
                     FG_EFORMAT);
    fgt_message_is(err.message, "~/val.csv:2: row 1, column 'a': 'x' is not a finite number, but "
                                "the column is numeric\ncorrect it, or @");
    csv_expect_error("a,b,y\n1,2,1\n",
                     &(fg_csv_options){.numeric = {both, 2}, .categorical = {both, 1}}, FG_EINVAL,
                     "column 'a' is listed both as numeric and as categorical");
}

/* Among numbers alone, quotes would not make it a value. */
static void a_missing_value_among_texts_may_be_a_value(void **state)
{
    (void)state;
    csv_expect_error(
        "a,y\nu,0.5\n3,1.5\nNA,2.5\n", NULL, FG_EFORMAT,
        "t.csv:4: row 3, column 'a': the value is missing: 'NA'\nset data.missing: "
        "mean to use the column's mean over the training rows, or remove the row; if "
        "'NA' is a value here, write it in quotes, or set data.keep_default_na: false");
}

/* Quoted words are classes, but not numbers. */
static void targets_are_classes_or_numbers(void **state)
{
    static const char words[] = "a,y\n1,\"NA\"\n2,\"None\"\n3,\"NA\"\n";
    const char *const y[] = {"y"};
    fg_csv_parts parts;
    (void)state;
    fgt_ok(csv_open_text(words, NULL, &parts));
    assert_non_null(strstr(fg_csv_schema_json(parts.schema), "\"numeric_classes\":false"));
    csv_destroy(&parts);
    const fg_csv_options numeric = {.numeric = {y, 1}};
    const fg_csv_options *const options[] = {&numeric, &(fg_csv_options){.task = "regression"}};
    for (int i = 0; i < 2; i++)
        csv_expect_error(words, options[i], FG_EFORMAT,
                         "t.csv:2: row 1, column 'y': the target is missing: 'NA'\nremove the row: "
                         "a missing target is always an error; if 'NA' is a value here, set "
                         "data.keep_default_na: false");
    csv_expect_error("a,y\n1,2\n2,x\n", &numeric, FG_EFORMAT,
                     "t.csv:3: row 2, column 'y': 'x' is not a number\ncorrect it, or remove the "
                     "row; to predict classes, set task: classification");
    /* one fraction is enough for numbers, and one word for classes */
    fgt_ok(csv_open_text("a,y\n1,1.5\n2,1\n3,1\n4,2\n5,2\n", NULL, &parts));
    assert_int_equal(fg_dataset_class_count(parts.train), 0);
    csv_destroy(&parts);
    fgt_ok(csv_open_text("a,y\n1,1.5\n2,u\n3,1.5\n4,u\n", NULL, &parts));
    assert_int_equal(fg_dataset_class_count(parts.train), 2);
    csv_destroy(&parts);
}

/* "inf" is a number, but cannot be used in training. */
static void infinite_values_are_errors_in_numeric_columns(void **state)
{
    const char *const a[] = {"a"};
    const fg_csv_options numeric = {.numeric = {a, 1}}; /* the first one is named */
    csv_expect_error("a,y\n1,1.5\ninf,2\nx,3.5\ninf,3\n", &numeric, FG_EFORMAT,
                     "t.csv:3: row 2, column 'a': the value is infinite: expected a finite "
                     "number\ncorrect it, or treat it as missing with data.na_values and "
                     "data.missing: mean");
    csv_expect_error("a,y\n1,1.5\nx,2\ninf,3.5\n", &numeric, FG_EFORMAT,
                     "t.csv:3: row 2, column 'a': 'x' is not a number\ncorrect it, or treat it as "
                     "missing with data.na_values and data.missing: mean");
    static const char *const texts[] = {"inf", "-inf", "INF", "Infinity"};
    char text[64];
    const char *const na[] = {"inf"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        (void)snprintf(text, sizeof(text), "a,y\n1,1.5\n%s,2\n-inf,3\n", texts[i]);
        csv_expect_error(
            text, NULL, FG_EFORMAT,
            "t.csv:3: row 2, column 'a': the value is infinite: expected a finite number\ncorrect "
            "it, or treat it as missing with data.na_values and data.missing: mean");
        (void)snprintf(text, sizeof(text), "a,y\n1,1.5\n2,%s\n", texts[i]);
        csv_expect_error(
            text, &(fg_csv_options){.task = "regression"}, FG_EFORMAT,
            "t.csv:3: row 2, column 'y': the value is infinite: expected a finite number\n"
            "correct it, or remove the row");
    }
    fg_csv_parts parts;
    fgt_ok(csv_open_text("a,y\n1,1.5\ninf,2\n",
                         &(fg_csv_options){.missing = "mean", .na_values = {na, 1}}, &parts));
    csv_destroy(&parts);
    fgt_ok(csv_open_text("a,y\nu,1.5\ninf,2\n", NULL, &parts)); /* a string among strings */
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 2);
    csv_destroy(&parts);
}

static void another_delimiter_is_suggested(void **state)
{
    csv_expect_error("a;b;y\n1;2;3\n", NULL, FG_EFORMAT,
                     "t.csv:1: with the delimiter ',' there is only one column, but ';' occurs 2 "
                     "times in each of the first rows\nset data.delimiter: \";\"");
    csv_expect_error("a;y\n1,5;3\n", NULL, FG_EFORMAT,
                     "t.csv:1: with the delimiter ',' there is only one column, but ';' occurs 1 "
                     "time in each of the first rows\nset data.delimiter: \";\"");
    csv_expect_error("a\ty\n1\t3\n", NULL, FG_EFORMAT,
                     "t.csv:1: with the delimiter ',' there is only one column, but '\\t' occurs 1 "
                     "time in each of the first rows\nset data.delimiter: \"\\t\"");
    csv_expect_error("a,y\n1,3\n", &(fg_csv_options){.delimiter = '\t'}, FG_EFORMAT,
                     "t.csv:1: with the delimiter '\\t' there is only one column, but ',' occurs 1 "
                     "time in each of the first rows\nset data.delimiter: \",\"");
    fg_csv_parts parts; /* one column, intentionally, also of names with commas */
    fgt_ok(csv_open_text("\"last, first\"\n\"a, b\"\n\"c, d\"\n", &(fg_csv_options){.target = ""},
                         &parts));
    csv_destroy(&parts);
    fgt_ok(csv_open_text("a\n1\n2\n", &(fg_csv_options){.target = ""}, &parts));
    csv_destroy(&parts);
}

static void the_report_lists_the_columns(void **state)
{
    const char *const id[] = {"id"};
    fg_csv_parts parts;
    fgt_ok(csv_open_text(
        "id,age,kind,cold,price\n7,30,loft,-4,42\n8,67,flat,-2,130.5\n9,,loft,-3,218\n",
        &(fg_csv_options){
            .ignore = {id, 1}, .missing = "mean", .task = "regression", .standardize_target = true},
        &parts));
    assert_string_equal(fg_csv_schema_report(parts.schema),
                        "t.csv: 3 rows, 3 of them for training, 4 features\ncolumn  type           "
                        "  missing  range or categories\nid      ignored\nage     numeric          "
                        "      1  30 to 67, mean 48.5, deviation 18.5\nkind    categorical         "
                        "   0  2: flat, loft\ncold    numeric                0  -4 to -2, mean -3, "
                        "deviation 0.816497\nprice   target, number         0  42 to 218, mean "
                        "130.167, deviation 71.8521 (standardized for training)\n");
    fg_csv_column c;
    assert_int_equal(fg_csv_schema_column_count(parts.schema), 5);
    fgt_ok(fg_csv_schema_column(parts.schema, 1, &c, &err));
    assert_string_equal(c.kind, "numeric");
    assert_true(c.numbers == 2 && c.missing == 1 && c.texts == 0 && c.min == 30 && c.max == 67);
    fgt_ok(fg_csv_schema_column(parts.schema, 2, &c, &err));
    assert_string_equal(c.kind, "categorical");
    assert_true(c.category_count == 2 && c.texts == 3 && c.text_row == 1 && isnan(c.min));
    assert_string_equal(c.categories[1], "loft");
    assert_string_equal(c.text, "loft");
    assert_int_equal(fg_csv_schema_column(parts.schema, 5, &c, &err), FG_EINVAL);
    csv_destroy(&parts);
    /* if there are many columns, only the first ones and the target are listed */
    static const int counts[] = {41, 42, 60};
    const char *report = "";
    for (int k = 0; k < 3; k++) {
        char text[2048] = "";
        size_t size = 0;
        if (k > 0)
            csv_destroy(&parts);
        for (int row = 0; row < 3; row++)
            for (int i = 0; i < counts[k]; i++)
                size += (size_t)snprintf(text + size, sizeof(text) - size, "%d.5%s", i * row,
                                         i == counts[k] - 1 ? "\n" : ",");
        fgt_ok(csv_open_text(text, &(fg_csv_options){.header = FG_CSV_HEADER_NO}, &parts));
        report = fg_csv_schema_report(parts.schema);
        assert_non_null(strstr(report, "\n39      numeric"));
        assert_int_equal(strstr(report, "... and ") != NULL, k > 0); /* never only one more */
    }
    assert_null(strstr(report, "\n40      "));
    assert_non_null(strstr(report, "... and 20 more: 19 numeric, 0 categorical, 0 ignored; 0 "
                                   "values are missing\n59      target, number"));
    csv_destroy(&parts);
}

/* All pixels of an image share one line; a constant column has no deviation. */
static void a_category_is_not_a_pixel(void **state)
{
    const fg_csv_options listed = {.header = FG_CSV_HEADER_NO,
                                   .image = {1, 3, 1},
                                   .categorical = {(const char *const[]){"0"}, 1}};
    csv_expect_error("1,2,0\n3,2,0\n", &listed, FG_ESHAPE, /* two categories and a number */
                     "the columns have 3 features, but an image of 1 x 3 x 1 requires one numeric "
                     "column per pixel");
    csv_expect_error("1,2,0\n3,2,0\n", &(fg_csv_options){.image = {0, 2, 1}}, FG_EINVAL,
                     "image is 0 x 2 x 1: expected three numbers greater than 0");
}

static void damaged_rows_of_pixels_are_zeros(void **state)
{
    static const unsigned char expected[][2] = {{5, 6}, {0, 0}, {8, 9}};
    fg_csv_parts parts;
    fg_dataset *dataset;
    unsigned char x[2];
    const char *file = fgt_path(fgt_temp_folder(), "new.csv");
    fgt_ok(csv_open_text("1,2,0\n3,4,1\n",
                         &(fg_csv_options){.header = FG_CSV_HEADER_NO, .image = {1, 2, 1}},
                         &parts));
    fgt_write(file, "5,6,0\n7,x,0\n8,9,0\n", 18);
    fgt_ok(fg_csv_apply(parts.schema, file,
                        &(fg_csv_apply_options){.no_target = true, .keep_damaged = true}, &dataset,
                        &err));
    for (int64_t i = 0; i < 3; i++) {
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){x}, &err));
        assert_memory_equal(x, expected[i], 2);
    }
    fg_dataset_destroy(dataset);
    csv_destroy(&parts);
}

static void the_report_sums_up_pixels(void **state)
{
    const char *const id[] = {"id"};
    fg_csv_parts parts;
    fgt_ok(csv_open_text(
        "id,p0,p1,p2,p3,digit\n7,,255,3,,five\n8,1,16,5,,four\n",
        &(fg_csv_options){
            .ignore = {id, 1}, .image = {2, 2, 1}, .missing = "mean", .task = "classification"},
        &parts));
    assert_string_equal(fg_csv_schema_report(parts.schema),
                        "t.csv: 2 rows, 2 of them for training, 4 features\n"
                        "column  type             missing  range or categories\n"
                        "pixels  numeric                3  4 columns, 1 to 255\n"
                        "id      ignored\n"
                        "digit   target, classes        0  2: five, four\n");
    csv_destroy(&parts);
    fgt_ok(csv_open_text("a,b,c\n1.5,0,2\n2.5,0,3\n", &(fg_csv_options){.task = "regression"},
                         &parts));
    assert_non_null(strstr(fg_csv_schema_report(parts.schema),
                           "\na       numeric                0  1.5 to 2.5, mean 2, deviation 0.5\n"
                           "b       numeric                0  constant 0\n"));
    csv_destroy(&parts);
}

/* Names are padded to columns of the terminal, cut between characters, and in one line. */
static void the_report_aligns_other_alphabets(void **state)
{
    fg_csv_parts parts;
    fgt_ok(csv_open_text("gr\xc3\xb6\xc3\x9f"
                         "e in qm,\xe4\xbe\xa1\xe6\xa0\xbc,\"a\nb\","
                         "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                         "12345678\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                         "\xc3\xa9!\n1,1,1,1\n1,1,1,2\n",
                         &(fg_csv_options){.task = "regression"}, &parts));
    assert_non_null(strstr(fg_csv_schema_report(parts.schema),
                           "\ngr\xc3\xb6\xc3\x9f"
                           "e in qm               numeric "
                           "               0  constant 1\n\xe4\xbe\xa1\xe6\xa0\xbc"
                           "                      numeric                0  constant 1\n"
                           "a\\nb                      numeric                0  constant 1\n"
                           "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                           "12345678\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                           "\xc3\xa9  target, number "));
    csv_destroy(&parts);
}

/* The file's values can be recovered from y at any scale; statistics are those of the training
 * rows. */
static void a_target_is_standardized(void **state)
{
    static const double scales[] = {1, 1e6, 1e-20, 1e30}, offsets[] = {0, 1e9, 0, 0};
    for (int k = 0; k < 4; k++) {
        char text[1024] = "x,y\n";
        size_t size = 4;
        for (int i = 0; i < 20; i++)
            size += (size_t)fgi_snprintf(text + size, sizeof(text) - size, "%d,%.17g\n", i,
                                         offsets[k] + scales[k] * (i * i % 7 + 0.25));
        fg_csv_parts parts;
        fg_csv_schema *again;
        double mean, deviation, sum = 0, squares = 0, other[2];
        fgt_ok(csv_open_text(text,
                             &(fg_csv_options){.task = "regression",
                                               .standardize_target = true,
                                               .val_fraction = 0.25},
                             &parts));
        assert_true(fg_csv_schema_target_scale(parts.schema, &mean, &deviation));
        fg_csv_column x;
        fgt_ok(fg_csv_schema_column(parts.schema, 0, &x, &err));
        for (int part = 0; part < 2; part++) {
            const fg_dataset *dataset = part == 0 ? parts.train : parts.val;
            for (int64_t i = 0; i < fg_dataset_count(dataset); i++) {
                const csv_sample s = csv_read_row(dataset, i);
                const int64_t row = lround((double)s.x[0] * x.deviation + x.mean);
                fgt_close("y", (double)s.y.f32 * deviation + mean,
                          offsets[k] + scales[k] * ((double)(row * row % 7) + 0.25),
                          1e-6 * deviation, 0);
                sum += part == 0 ? (double)s.y.f32 : 0;
                squares += part == 0 ? (double)s.y.f32 * (double)s.y.f32 : 0;
            }
        }
        fgt_close("mean of y", sum / 15, 0, 1e-6, 0);
        fgt_close("deviation of y", squares / 15, 1, 1e-6, 0);
        const char *json = fg_csv_schema_json(parts.schema);
        fgt_ok(fg_csv_schema_parse(json, strlen(json), &again, &err));
        assert_true(fg_csv_schema_target_scale(again, &other[0], &other[1]));
        assert_true(other[0] == mean && other[1] == deviation);
        assert_string_equal(fg_csv_schema_json(again), json);
        assert_string_equal(fg_csv_schema_report(again), "");
        fg_csv_schema_destroy(again);
        csv_destroy(&parts);
    }
    fg_csv_parts parts;
    double mean, deviation;
    fgt_ok(csv_open_text("x,y\n1,0.5\n2,3.5\n", NULL, &parts));
    assert_false(fg_csv_schema_target_scale(parts.schema, &mean, &deviation));
    assert_true(mean == 0 && deviation == 1);
    assert_true(csv_read_row(parts.train, 1).y.f32 == 3.5f);
    csv_destroy(&parts);
    /* classes cannot be standardized; a constant target has no deviation */
    fgt_ok(csv_open_text("x,y\n1,a\n2,b\n", &(fg_csv_options){.standardize_target = true}, &parts));
    assert_false(fg_csv_schema_target_scale(parts.schema, &mean, &deviation));
    csv_destroy(&parts);
    fgt_ok(csv_open_text("x,y\n1,4.5\n2,4.5\n", &(fg_csv_options){.standardize_target = true},
                         &parts));
    assert_true(fg_csv_schema_target_scale(parts.schema, &mean, &deviation));
    assert_true(mean == 4.5 && deviation == 1 && csv_read_row(parts.train, 0).y.f32 == 0);
    csv_destroy(&parts);
}

/* Columns of six and seven categories, and many more columns than lines. */
static void the_report_has_limits(void **state)
{
    fg_csv_parts parts;
    char text[4096] = "six,seven,num,y\n";
    for (int i = 0; i < 14; i++)
        (void)snprintf(text + strlen(text), 64, "%c,%c,%s,%d.5\n", 'a' + i % 6, 'a' + i % 7,
                       i == 3 ? "" : "5", i);
    fgt_ok(csv_open_text(text, &(fg_csv_options){.missing = "mean"}, &parts));
    assert_string_equal(
        fg_csv_schema_report(parts.schema),
        "t.csv: 14 rows, 14 of them for training, 14 features\n"
        "column  type             missing  range or categories\n"
        "six     categorical            0  6: a, b, c, d, e, f\n"
        "seven   categorical            0  7: a, b, c, d, e, f, ...\n"
        "num     numeric                1  constant 5\n"
        "y       target, number         0  0.5 to 13.5, mean 7, deviation 4.03113\n");
    csv_destroy(&parts);
    fgt_ok(csv_open_text("a,y\n1,x\n", &(fg_csv_options){.target = ""}, &parts));
    assert_string_equal(fg_csv_schema_report(parts.schema),
                        "t.csv: 1 row, 1 of them for training, 2 features\n"
                        "column  type             missing  range or categories\n"
                        "a       numeric                0  constant 1\n"
                        "y       categorical            0  1: x\n");
    csv_destroy(&parts);
    fgt_ok(csv_open_text(
        "a,num\n1,x\n2,y\n3,x\n4,y\n",
        &(fg_csv_options){.target = "a", .task = "regression", .val_fraction = 0.25}, &parts));
    assert_non_null(strstr(fg_csv_schema_report(parts.schema),
                           "t.csv: 4 rows, 3 of them for training, 2 features\n"));
    csv_destroy(&parts);
}

/* The target is in the middle, and a later column is not listed. */
static void the_report_lists_a_target_once(void **state)
{
    fg_csv_parts parts;
    char text[4096];
    size_t size = 0;
    for (int row = 0; row < 3; row++)
        for (int i = 0; i < 43; i++)
            size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s",
                                     i == 41 && row == 1 ? ""
                                     : i == 42           ? "k"
                                                         : "2.5",
                                     i == 42 ? "\n" : ",");
    fgt_ok(csv_open_text(
        text, &(fg_csv_options){.header = FG_CSV_HEADER_NO, .target = "5", .missing = "mean"},
        &parts));
    const char *end = strstr(fg_csv_schema_report(parts.schema), "\n39 ");
    assert_non_null(end);
    assert_string_equal(end, "\n39      numeric                0  constant 2.5\n"
                             "... and 3 more: 2 numeric, 1 categorical, 0 ignored; 1 value is "
                             "missing\n");
    csv_destroy(&parts);
    /* it is the first one that is not listed with the others */
    fgt_ok(csv_open_text(
        text, &(fg_csv_options){.header = FG_CSV_HEADER_NO, .target = "40", .missing = "mean"},
        &parts));
    end = strstr(fg_csv_schema_report(parts.schema), "is missing\n");
    assert_non_null(end);
    assert_string_equal(end, "is missing\n40      target, number         0  constant 2.5\n");
    csv_destroy(&parts);
}

static const struct {
    const char *kind;
    int64_t numbers, texts, marked, missing, categories, text_row;
    bool is_integer;
    double min, max, mean, deviation;
    const char *text;
} asked_columns[] = {
    {"numeric", 3, 0, 0, 1, 0, 0, true, 1, 3, 2, 0.816496580927726, NULL},
    {"categorical", 1, 3, 0, 0, 4, 1, true, 2, 2, 2, 0, "u"},
    {"categorical", 2, 2, 2, 0, 4, 1, true, 3, 4, 3.5, 0, "$1"},
    {"categorical", 1, 3, 0, 0, 3, 2, true, 7, 7, 7, 0, "x"},
    {"categorical", 0, 4, 0, 0, 2, 0, false, (double)NAN, (double)NAN, 0, 0, NULL},
    {"target", 0, 4, 0, 0, 2, 1, false, (double)NAN, (double)NAN, 0, 0, "b"},
};

/* What a program sees of the columns. */
static void columns_can_be_asked_for(void **state)
{
    static const char text[] = "n,c,m,i,q,y\n1,u,$1,inf,\"None\",b\n3,v,$2,x,\"NA\",a\n"
                               "\"NA\",2,3,7,\"NA\",b\n2,\"NA\",4,x,\"NA\",a\n";
    fg_csv_parts parts;
    fg_csv_column c;
    fgt_ok(csv_open_text(text, &(fg_csv_options){.missing = "mean"}, &parts));
    assert_int_equal(fg_csv_schema_column_count(parts.schema), 6);
    for (size_t i = 0; i < 6; i++) {
        fgt_ok(fg_csv_schema_column(parts.schema, i, &c, &err));
        if (strcmp(c.kind, asked_columns[i].kind) != 0 || c.numbers != asked_columns[i].numbers ||
            c.texts != asked_columns[i].texts || c.marked != asked_columns[i].marked ||
            c.missing != asked_columns[i].missing ||
            c.category_count != asked_columns[i].categories ||
            c.text_row != asked_columns[i].text_row || c.is_integer != asked_columns[i].is_integer)
            fail_msg("%s: %s, %d %d %d %d %d %d %d", c.name, c.kind, (int)c.numbers, (int)c.texts,
                     (int)c.marked, (int)c.missing, (int)c.category_count, (int)c.text_row,
                     c.is_integer);
        assert_true(isnan(asked_columns[i].min)
                        ? isnan(c.min) && isnan(c.max)
                        : c.min == asked_columns[i].min && c.max == asked_columns[i].max);
        fgt_close("mean", c.mean, asked_columns[i].mean, 1e-12, 0);
        fgt_close("deviation", c.deviation, asked_columns[i].deviation, 1e-12, 0);
        assert_true((c.text == NULL) == (asked_columns[i].text == NULL));
        if (c.text != NULL)
            assert_string_equal(c.text, asked_columns[i].text);
        assert_null(c.ignored_because);
    }
    assert_string_equal(c.categories[1], "b");
    assert_int_equal(fg_csv_schema_column(parts.schema, 6, &c, &err), FG_EINVAL);
    assert_string_equal(err.message, "csv schema: column 6 does not exist: there are 6");
    csv_destroy(&parts);
}

/* Of a long name of a column, 64 bytes are shown; a file that begins as gzip files do is text. */
static void texts_may_be_long_or_odd(void **state)
{
    double value = 0;
    fg_csv_parts parts;
    const char *path = fgt_path(fgt_temp_folder(), "t.csv");
    csv_expect_error(
        "b,x123456789012345678901234567890123456789012345678901234567890123456\nu,\nv,1\n", NULL,
        FG_EFORMAT,
        "t.csv:2: row 1, column 'x123456789012345678901234567890123456789012345678901234567890123'"
        ": the target is missing\nremove the row: a missing target is always an error");
    csv_write_text(path, "\x1f,y\n1,2\n3,4\n");
    fgt_ok(fg_csv_load(path, NULL, &parts, &err));
    assert_int_equal(fg_dataset_count(parts.train), 2);
    csv_destroy(&parts);
    assert_true(fgi_cell_spreadsheet(fgi_str_of("1234\xe2\x80\xaf"), '.', &value));
    assert_true(value == 1234);
    assert_true(fgi_cell_spreadsheet(fgi_str_of("5678\xc2\xa0"), '.', &value));
    assert_true(value == 5678);
}

/* Of the first text of a column, 64 bytes. */
static void a_long_text_is_cut(void **state)
{
    fg_csv_parts parts;
    fg_csv_column c;
    fgt_ok(csv_open_text(
        "c,y\nx123456789012345678901234567890123456789012345678901234567890123456,1\nv,2\n", NULL,
        &parts));
    fgt_ok(fg_csv_schema_column(parts.schema, 0, &c, &err));
    assert_string_equal(c.text, "x123456789012345678901234567890123456789012345678901234567890123");
    csv_destroy(&parts);
}

/* Whole warnings: of the target, and of several columns that are left out. */
static void warnings_say_what_to_type(void **state)
{
    const fg_csv_options semicolon = {.delimiter = ';'};
    assert_string_equal(warned("x,y\n1.5,1\n2,2\n3,x\n", NULL),
                        "t.csv:4: row 3, column 'y': 'x' is not a number, so the column is a "
                        "class; 2 of its 3 values are numbers. If the text means a missing value, "
                        "add it to data.na_values; to require numbers, add the column to "
                        "data.numeric\n");
    assert_string_equal(warned("x;y\n1.5;3,5\n2;4,5\n", &semicolon),
                        "t.csv:2: row 1, column 'y': '3,5' looks like a number with a decimal "
                        "comma, but is read as text, so the column is a class. To read it as a "
                        "number, set data.decimal: \",\"\n");
    assert_string_equal(warned("x,y\n1.5,$3\n2,$4\n", NULL),
                        "t.csv:2: row 1, column 'y': '$3' looks like a number with a sign or "
                        "separators of thousands, but is read as text, so the column is a class. "
                        "To read it as a number, add the column to data.numeric\n");
    assert_string_equal(warned("x,y\n1.5,$3\nb,4\n", NULL),
                        "t.csv:2: row 1, column 'y': '$3' looks like a number with a sign or "
                        "separators of thousands, but is read as text, so the column is a class. "
                        "To read it as a number, add the column to data.numeric\n");
    assert_string_equal(warned("x,y\n1.5,$3\n2,u\n", NULL), "");
    assert_string_equal(warned("x,y\n1.5,inf\n2,u\n3,4\n4,5\n", NULL),
                        "t.csv:3: row 2, column 'y': 'u' is not a number, so the column is a "
                        "class; 2 of its 4 values are numbers. If the text means a missing value, "
                        "add it to data.na_values; to require numbers, add the column to "
                        "data.numeric\n");
}

static void columns_that_are_left_out_are_said(void **state)
{
    char text[2048] = "id,d,e,x,y\n";
    for (int i = 0; i < 10; i++)
        (void)snprintf(text + strlen(text), 64, "%d,2024-01-%02d,%d.1.99,%d.5,%d.5\n", i + 3, i + 1,
                       i + 1, i, i);
    assert_string_equal(warned(text, NULL),
                        "t.csv: ignored columns 'id' (it contains row numbers), 'd' (it contains "
                        "dates, which data.numeric reads as days), 'e' (it contains dates). To "
                        "train on one of them, list it in data.numeric or data.categorical; to "
                        "confirm, in data.ignore\n");
    csv_expect_error("n,y\n2024-01-01,1.5\n2024-01-02,2.5\n", NULL, FG_EFORMAT,
                     "no feature columns are left: every column is the target or ignored; column "
                     "'n' is ignored because it contains dates, which data.numeric reads as "
                     "days\nto train on it, list it in data.numeric; if it names image files, put "
                     "the table next to them or their folder");
    csv_expect_error("n,y\n1.1.99,1.5\n2.1.99,2.5\n", NULL, FG_EFORMAT,
                     "no feature columns are left: every column is the target or ignored; column "
                     "'n' is ignored because it contains dates\nto train on it, list it in "
                     "data.categorical; if it names image files, put the table next to them or "
                     "their folder");
    csv_expect_error("a,y\n1,1\n2,2\n",
                     &(fg_csv_options){.ignore = {(const char *const[]){"a"}, 1}}, FG_EFORMAT,
                     "no feature columns are left: every column is the target or ignored");
    csv_expect_error("a,y\nx.jpg,1\ny.PNG,2\n", NULL, FG_EFORMAT,
                     "t.csv:2: row 1, column 'a': 'x.jpg' is the name of an image file, which is "
                     "not a useful feature\nto train on the images, set data.format to images "
                     "(fulgurite init writes the configuration); to train on the other columns, "
                     "add this one to data.ignore");
    assert_string_equal(warned("a,y\nx.jpg,1\ny,2\n", NULL), "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_report_has_limits),
    cmocka_unit_test(the_report_lists_a_target_once),
    cmocka_unit_test(columns_can_be_asked_for),
    cmocka_unit_test(texts_may_be_long_or_odd),
    cmocka_unit_test(a_long_text_is_cut),
    cmocka_unit_test(warnings_say_what_to_type),
    cmocka_unit_test(columns_that_are_left_out_are_said),
    cmocka_unit_test(nearly_numeric_columns_are_warned_of),
    cmocka_unit_test(identifiers_names_and_dates_do_not_train),
    cmocka_unit_test(a_listed_identifier_is_a_feature),
    cmocka_unit_test(numbers_with_signs_are_warned_of),
    cmocka_unit_test(unknown_categories_are_explained),
    cmocka_unit_test(a_missing_target_of_new_data_is_explained),
    cmocka_unit_test(the_cell_that_is_wrong_is_blamed),
    cmocka_unit_test(a_missing_value_among_texts_may_be_a_value),
    cmocka_unit_test(targets_are_classes_or_numbers),
    cmocka_unit_test(infinite_values_are_errors_in_numeric_columns),
    cmocka_unit_test(another_delimiter_is_suggested),
    cmocka_unit_test(the_report_lists_the_columns),
    cmocka_unit_test(a_category_is_not_a_pixel),
    cmocka_unit_test(damaged_rows_of_pixels_are_zeros),
    cmocka_unit_test(the_report_sums_up_pixels),
    cmocka_unit_test(the_report_aligns_other_alphabets),
    cmocka_unit_test(a_target_is_standardized),
};

FGT_MAIN(tests)
