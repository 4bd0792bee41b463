/* test_data_csv.c - reading CSV files: text, columns, targets, images.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>

#include "csv_text.h"
#include "data/csv_schema.h"

/* ---- text ------------------------------------------------------------------------------------ */

static void quotes_follow_rfc_4180(void **state)
{
    fgi_block block = {0};
    const char *text = "\xef\xbb\xbf\"a\",\"b, \"\"c\"\"\",d\r\n"
                       "\r\n"
                       "\"1\n2\",\"\"\"\"\"\",  x y \n"
                       "\n"
                       " \"q\" ,5\" pipe,\"\"\n"
                       ",,\r\n"
                       " , ,\n"; /* empty rows at the end */
    block.data = (const unsigned char *)text;
    block.size = strlen(text);
    fgi_csv csv;
    fgi_csv_row row;
    fgt_ok(fgi_csv_parse("t", &block, &(fgi_csv_layout){.delimiter = ','}, &csv, &err));
    assert_int_equal(csv.column_count, 3);
    assert_string_equal(csv.columns[0], "a");
    assert_string_equal(csv.columns[1], "b, \"c\"");
    assert_int_equal(csv.row_count, 2);
    fgt_ok(fgi_csv_row_init(&csv, &row, &err));
    fgi_csv_read(&csv, 0, &row);
    assert_true(fgi_str_equal(row.cells[0], "1\n2"));
    assert_true(fgi_str_equal(row.cells[1], "\"\""));
    assert_true(fgi_str_equal(row.cells[2], "x y"));
    fgi_csv_read(&csv, 1, &row);
    assert_true(fgi_str_equal(row.cells[0], "q"));
    assert_true(fgi_str_equal(row.cells[1], "5\" pipe"));
    assert_true(fgi_str_equal(row.cells[2], ""));
    fgi_csv_row_fini(&row);
    fgi_csv_fini(&csv);
}

static void errors_of_form_name_line_and_byte(void **state)
{
    csv_expect_error("", NULL, FG_EFORMAT, "t.csv:1: the file is empty");
    csv_expect_error("a,b\n", NULL, FG_EFORMAT, "t.csv:1: the file has a header but no data rows");
    csv_expect_error("a,b\n1,2\n1,2,3\n", NULL, FG_EFORMAT,
                     "t.csv:3: row 2 has 3 columns, but the header has 2");
    csv_expect_error("a,b\n1,2\n1\n", NULL, FG_EFORMAT,
                     "t.csv:3: row 2 has 1 column, but the header has 2");
    csv_expect_error("1,2\n1\n", &(fg_csv_options){.header = FG_CSV_HEADER_NO}, FG_EFORMAT,
                     "t.csv:2: row 2 has 1 column, but the first row has 2");
    csv_expect_error("Report\na,b\n1,2\n", NULL, FG_EFORMAT,
                     "t.csv:2: row 1 has 2 columns, but the header has 1\nif the first line is a "
                     "title, delete it");
    csv_expect_error("\nReport,\na,b\n1,2\n", &(fg_csv_options){.header = FG_CSV_HEADER_YES},
                     FG_EFORMAT,
                     "t.csv:2: only the first cell of the row has text, so it is probably a title "
                     "above the header\ndelete this line");
    csv_expect_error("a,b\n1,\"2\n3,4\n", NULL, FG_EFORMAT, "t.csv:2: byte 6: unclosed quote");
}

static void errors_of_form_count_empty_lines(void **state)
{
    csv_expect_error("a\n1\n2,3\n", &(fg_csv_options){.target = ""}, FG_EFORMAT,
                     "t.csv:3: row 2 has 2 columns, but the header has 1");
    csv_expect_error("a,b\n\n\"1\n2\",3\n4\n", NULL, FG_EFORMAT,
                     "t.csv:5: row 2 has 1 column, but the header has 2");
    csv_expect_error("\n\n12345678901234567890123456789012345,x\n", NULL, FG_EFORMAT,
                     "t.csv:3: the first row has the number '12345678901234567890123456789012', so "
                     "it is probably data and not a header\nset data.no_header: true if the file "
                     "has no header, or false if these are names of columns");
    csv_expect_error("\n\na|b|c\n1|2|3\n", NULL, FG_EFORMAT,
                     "t.csv:3: with the delimiter ',' there is only one column, but '|' occurs 2 "
                     "times in each of the first rows\nset data.delimiter: \"|\"");
}

static void errors_of_bytes_name_the_byte(void **state)
{
    csv_expect_error("a,b\n1,\"2\"3\n", NULL, FG_EFORMAT,
                     "t.csv:2: byte 9: text after the closing quote");
    csv_expect_error("a,a\n1,2\n", NULL, FG_EFORMAT, "t.csv:1: two columns are named 'a'");
    csv_expect_error(
        "\xef\xbb\xbf"
        "a,b\n1,\xe9\n",
        NULL, FG_EFORMAT,
        "t.csv:2: byte 9: invalid UTF-8\nexport the table as UTF-8, or convert it: iconv "
        "-f CP1252 -t UTF-8 't.csv' > 'utf8-t.csv'");
    fg_csv_parts parts;
    fgi_block block = {.data = (const unsigned char *)"a,b\n1,\0", .size = 7};
    assert_int_equal(fgi_csv_open_block("t.csv", &block, NULL, &parts, &err), FG_EFORMAT);
    assert_string_equal(err.message, "t.csv:2: byte 6: a NUL byte\nif the file is UTF-16, convert "
                                     "it, for example with iconv -f utf-16le -t utf-8");
}

static void only_real_utf8_is_taken(void **state)
{
    static const char *const bad[] = {
        "\x80",         "\xc0\xaf",         "\xc1\x81",         "\xe0\x80\x80",     "\xe2\x82",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"};
    char text[64];
    fg_csv_parts parts;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(text, sizeof(text), "a,b\n%s,1\n", bad[i]);
        assert_int_equal(csv_open_text(text, NULL, &parts), FG_EFORMAT);
        fgt_message_is(err.message, "t.csv:2: byte 4: invalid UTF-8\nexport the table as UTF-8, or "
                                    "convert it: iconv -f CP1252 -t UTF-8 't.csv' > 'utf8-t.csv'");
    }
    fgt_ok(csv_open_text("a,b\n\xc3\xa9,1\n\xe2\x82\xac,2\n\xf0\x9f\x98\x80,3\n", NULL, &parts));
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 3);
    csv_destroy(&parts);
}

static void other_delimiters_work(void **state)
{
    fg_csv_parts parts;
    fgt_ok(csv_open_text("a\tb\tc\n1\t\"2\"\t3\n4\t5\t6\n",
                         &(fg_csv_options){.no_normalize = true, .delimiter = '\t'}, &parts));
    csv_expect_row(parts.train, 1, 2, (const double[]){4, 5});
    csv_destroy(&parts);
    fgt_ok(csv_open_text("a b\n1 2\n3 4\n",
                         &(fg_csv_options){.no_normalize = true, .delimiter = ' '}, &parts));
    csv_expect_row(parts.train, 1, 1, (const double[]){3});
    csv_destroy(&parts);
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* What a cell is; NO: no number or date. */
#define NO ((double)NAN)
static const struct {
    const char *text;
    fgi_cell kind;
    double point, comma; /* as spreadsheets write it, with a decimal point or comma */
    double date;         /* in days */
    bool is_date;        /* of any form */
} cells[] = {
    {"12", FGI_CELL_NUMBER, 12, 12, NO, false},
    {"-1.5", FGI_CELL_NUMBER, -1.5, NO, NO, false},
    {"1.500", FGI_CELL_NUMBER, 1.5, 1500, NO, false},
    {"1,500", FGI_CELL_TEXT, 1500, 1.5, NO, false},
    {"-1,5", FGI_CELL_TEXT, NO, -1.5, NO, false},
    {"+ 5", FGI_CELL_TEXT, 5, 5, NO, false},
    {"+5 000", FGI_CELL_TEXT, NO, NO, NO, false},
    {"5 000", FGI_CELL_TEXT, 5000, 5000, NO, false},
    {"5 00", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1,234.567,890", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1,234'567", FGI_CELL_TEXT, NO, NO, NO, false},
    {"100,000", FGI_CELL_TEXT, 100000, 100, NO, false},
    {"1000,000", FGI_CELL_TEXT, NO, 1000, NO, false},
    {",500", FGI_CELL_TEXT, NO, 0.5, NO, false},
    {"0'500", FGI_CELL_TEXT, NO, NO, NO, false},
    {"EUR 12", FGI_CELL_TEXT, 12, 12, NO, false},
    {"USD12", FGI_CELL_TEXT, 12, 12, NO, false},
    {"12GBP", FGI_CELL_TEXT, 12, 12, NO, false},
    {"CHF 1'000.50", FGI_CELL_TEXT, 1000.5, NO, NO, false},
    {"\xc2\xa5"
     "7",
     FGI_CELL_TEXT, 7, 7, NO, false},
    {"\xe2\x82\xb9"
     "7",
     FGI_CELL_TEXT, 7, 7, NO, false},
    {"-7 %", FGI_CELL_TEXT, -7, -7, NO, false},
    {"$-7", FGI_CELL_TEXT, -7, -7, NO, false},
    {"%7", FGI_CELL_TEXT, NO, NO, NO, false},
    {"7 $ %", FGI_CELL_TEXT, NO, NO, NO, false},
    {"- -7", FGI_CELL_TEXT, NO, NO, NO, false},
    {"-+7", FGI_CELL_TEXT, NO, NO, NO, false},
    {"-", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1e400", FGI_CELL_TEXT, NO, NO, NO, false},
    {"inf", FGI_CELL_INFINITE, NO, NO, NO, false},
    {"-Infinity", FGI_CELL_INFINITE, NO, NO, NO, false},
    {"$inf", FGI_CELL_TEXT, NO, NO, NO, false},
    {"", FGI_CELL_MISSING, NO, NO, NO, false},
    {"#N/A", FGI_CELL_MISSING, NO, NO, NO, false},
    {"#NA", FGI_CELL_MISSING, NO, NO, NO, false},
    {"-NaN", FGI_CELL_MISSING, NO, NO, NO, false},
    {"na", FGI_CELL_TEXT, NO, NO, NO, false},
    {"nulls", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01-01", FGI_CELL_TEXT, NO, NO, 0, true},
    {"1970-1-2", FGI_CELL_TEXT, NO, NO, 1, true},
    {"1972/03/01", FGI_CELL_TEXT, NO, NO, 790, true},
    {"1969.12.31", FGI_CELL_TEXT, NO, NO, -1, true},
    {"1900-03-01", FGI_CELL_TEXT, NO, NO, -25508, true},
    {"2000-12-31", FGI_CELL_TEXT, NO, NO, 11322, true},
    {"0001-01-01", FGI_CELL_TEXT, NO, NO, -719162, true},
    {"1970-00-01", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-12-32", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-13-01", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01.01", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01", FGI_CELL_TEXT, NO, NO, NO, false},
    {"19700-01-01", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01-01T06:00", FGI_CELL_TEXT, NO, NO, 0.25, true},
    {"1970-01-01 6:00", FGI_CELL_TEXT, NO, NO, 0.25, true},
    {"1970-01-01 00:00:54", FGI_CELL_TEXT, NO, NO, 54 / 86400.0, true},
    {"1970-01-01 12:00:00.5+02:00", FGI_CELL_TEXT, NO, NO, 0.5, true},
    {"1970-01-01 12:00 AM", FGI_CELL_TEXT, NO, NO, 0.5, true},
    {"1970-01-01 12:00PM", FGI_CELL_TEXT, NO, NO, 0.5, true},
    {"1970-01-01 12:00-05:00", FGI_CELL_TEXT, NO, NO, 0.5, true},
    {"1970-01-01 12:00x", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01-01 12", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01-01 12:3", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01-01 12:30:5", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01-01_12:30", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01-01 24:00", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01-01 23:60", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01-01 23:59:60", FGI_CELL_TEXT, NO, NO, 1, true}, /* a leap second */
    {"1970-01-01 23:59:61", FGI_CELL_TEXT, NO, NO, NO, false},
    {"31.01.2024", FGI_CELL_TEXT, NO, NO, NO, true},
    {"1/31/24", FGI_CELL_TEXT, NO, NO, NO, true},
    {"31/1/24 12:30", FGI_CELL_TEXT, NO, NO, NO, true},
    {"13.13.2024", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1.1.202", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1.1.20240", FGI_CELL_TEXT, NO, NO, NO, false},
    {"1970-01-01 00012:30", FGI_CELL_TEXT, NO, NO, NO, false},
    {"32-1-24", FGI_CELL_TEXT, NO, NO, NO, false},
};

static void check_value(const char *text, const char *what, bool is, double value, double expected)
{
    if (is == isnan(expected) || (is && fabs(value - expected) > 1e-12))
        fail_msg("'%s' %s: %d, %.17g", text, what, is, value);
}

static void cells_have_types(void **state)
{
    double value = 0;
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        const fgi_str cell = fgi_str_of(cells[i].text);
        if (fgi_cell_number(cell, &value) != cells[i].kind)
            fail_msg("'%s' is another kind", cells[i].text);
        bool is = fgi_cell_spreadsheet(cell, '.', &value);
        check_value(cells[i].text, "with a point", is, value, cells[i].point);
        is = fgi_cell_spreadsheet(cell, ',', &value);
        check_value(cells[i].text, "with a comma", is, value, cells[i].comma);
        is = fgi_cell_date(cell, &value);
        check_value(cells[i].text, "as a date", is, value, cells[i].date);
        if (fgi_cell_is_date(cell) != cells[i].is_date)
            fail_msg("'%s' is %sa date", cells[i].text, cells[i].is_date ? "" : "not ");
    }
    char longest[64]; /* 62 characters are the most */
    memset(longest, '0', sizeof longest);
    assert_true(fgi_cell_spreadsheet((fgi_str){longest, 62}, '.', &value));
    assert_false(fgi_cell_spreadsheet((fgi_str){longest, 63}, '.', &value));
}

/* ---- columns --------------------------------------------------------------------------------- */

static void numbers_agree_with_numpy(void **state)
{
    const char *folder = FGT_SOURCE_DIR "/tests/golden/data";
    fg_csv_parts parts;
    fg_dataset *expected;
    fgt_ok(fg_csv_load(fgt_path(folder, "table.csv"), NULL, &parts, &err));
    fgt_ok(fg_npy_load(fgt_path(folder, "table_x.npy"), fgt_path(folder, "table_y.npy"), NULL,
                       &expected, &err));
    const int64_t features = fg_dataset_field(expected, 0)->type.dim[0];
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), features);
    assert_int_equal(fg_dataset_count(parts.train), fg_dataset_count(expected));
    for (int64_t i = 0; i < fg_dataset_count(expected); i++) {
        const csv_sample ours = csv_read_row(parts.train, i), theirs = csv_read_row(expected, i);
        for (int64_t k = 0; k < features; k++)
            /* column 1 has mean 7e6 and deviation 0.3: its f64 mean is good to about 1e-9 / 0.3 */
            fgt_close("feature", (double)ours.x[k], (double)theirs.x[k], 1e-8, 1.2e-7);
        assert_int_equal(ours.y.s32, theirs.y.s32);
    }
    assert_int_equal(fg_dataset_class_count(parts.train), 3);
    assert_string_equal(fg_dataset_class_name(parts.train, 0), "ash");
    assert_string_equal(fg_dataset_class_name(parts.train, 2), "oak");
    fg_dataset_destroy(expected);
    csv_destroy(&parts);
}

static void categories_become_one_hot_in_bytewise_order(void **state)
{
    fg_csv_parts parts;
    fgt_ok(csv_open_text("size,kind,y\n1,pear,0.5\n2,apple,1.5\n3,pear,2.5\n", &csv_plain, &parts));
    csv_expect_row(parts.train, 0, 3, (const double[]){1, 0, 1});
    csv_expect_row(parts.train, 1, 3, (const double[]){2, 1, 0});
    assert_true(csv_read_row(parts.train, 2).y.f32 == 2.5f);
    assert_string_equal(fg_dataset_field(parts.train, 0)->name, "x");
    assert_string_equal(fg_dataset_field(parts.train, 1)->name, "y");
    assert_int_equal(fg_dataset_field(parts.train, 1)->type.dtype, FG_F32);
    assert_int_equal(fg_dataset_class_count(parts.train), 0);
    csv_destroy(&parts);
    fg_csv_options few = {.task = "regression", .max_categories = 2};
    csv_expect_error("kind,y\na,1\nb,2\na,3\nc,4\nd,5\n", &few, FG_EFORMAT,
                     "t.csv:5: row 4, column 'kind': more than 2 different categories\nignore the "
                     "column (data.ignore), or raise data.max_categories");
    fgt_ok(csv_open_text("kind,y\na,1\nb,2\na,3\n", &few, &parts));
    csv_destroy(&parts);
    const char *const forced[] = {"size"}, *const ignored[] = {"kind"};
    fgt_ok(csv_open_text("size,kind,y\n10,pear,0.5\n9,apple,1.5\n10,pear,2.5\n",
                         &(fg_csv_options){.categorical = {forced, 1}, .ignore = {ignored, 1}},
                         &parts));
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 2);
    csv_expect_row(parts.train, 0, 2, (const double[]){1, 0}); /* "10" < "9" as text */
    csv_destroy(&parts);
}

static void the_target_is_named_or_last(void **state)
{
    fg_csv_parts parts;
    const char *text = "a,b,c\n1,10,0.1\n2,20,0.2\n3,30,0.3\n";
    fg_csv_options options = csv_plain;
    fgt_ok(csv_open_text(text, &options, &parts));
    assert_true(csv_read_row(parts.train, 1).y.f32 == 0.2f);
    csv_destroy(&parts);
    options.target = "b";
    fgt_ok(csv_open_text(text, &options, &parts));
    assert_true(csv_read_row(parts.train, 1).y.f32 == 20.0f);
    csv_expect_row(parts.train, 1, 2, (const double[]){2, 0.2});
    csv_destroy(&parts);
    options.target = "";
    fgt_ok(csv_open_text(text, &options, &parts));
    assert_int_equal(fg_dataset_field_count(parts.train), 1);
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 3);
    csv_destroy(&parts);
    options.target = "1";
    options.header = FG_CSV_HEADER_NO;
    fgt_ok(csv_open_text("1,10,0.1\n2,20,0.2\n", &options, &parts));
    assert_true(csv_read_row(parts.train, 1).y.f32 == 20.0f);
    csv_destroy(&parts);
}

static bool is_classification(const char *text, const char *task)
{
    fg_csv_parts parts;
    fgt_ok(csv_open_text(text, &(fg_csv_options){.task = task}, &parts));
    const bool is = fg_dataset_class_count(parts.train) > 0;
    assert_int_equal(fg_dataset_field(parts.train, 1)->type.dtype, is ? FG_S32 : FG_F32);
    csv_destroy(&parts);
    return is;
}

static void the_task_follows_from_the_target(void **state)
{
    assert_true(is_classification("x,y\n1,0\n2,1\n3,0\n4,1\n", NULL));
    assert_true(is_classification("x,y\n1,a\n2,b\n3,c\n4,d\n", NULL));
    assert_false(is_classification("x,y\n1,0.5\n2,1\n3,0\n4,1\n", NULL));
    assert_false(is_classification("x,y\n1,3\n2,5\n3,7\n4,3\n", NULL)); /* 3 values in 4 rows */
    assert_true(is_classification("x,y\n1,0.5\n2,1\n3,0\n4,1\n", "classification"));
    assert_false(is_classification("x,y\n1,0\n2,1\n3,0\n4,1\n", "regression"));
    char text[2048] = "x,y\n";
    for (int values = 20; values <= 21; values++) {
        size_t size = 4;
        for (int i = 0; i < 2 * values; i++)
            size += (size_t)snprintf(text + size, sizeof(text) - size, "1,%d\n", i % values);
        assert_int_equal(is_classification(text, NULL), values == 20);
    }
    csv_expect_error("x,y\n1,2\n2,b\n", &(fg_csv_options){.task = "regression"}, FG_EFORMAT,
                     "t.csv:3: row 2, column 'y': 'b' is not a number\ncorrect it, or remove the "
                     "row; to predict "
                     "classes, set task: classification");
}

static void numeric_classes_are_in_numeric_order_and_written_one_way(void **state)
{
    fg_csv_parts parts;
    fgt_ok(csv_open_text("x,y\n1,10\n2,9\n3,10.0\n4,+9\n5,-1\n6,-1e0\n", NULL, &parts));
    assert_int_equal(fg_dataset_class_count(parts.train), 3);
    static const char *const names[] = {"-1", "9", "10"};
    for (int i = 0; i < 3; i++)
        assert_string_equal(fg_dataset_class_name(parts.train, i), names[i]);
    const int32_t expected[] = {2, 1, 2, 1, 0, 0};
    for (int i = 0; i < 6; i++)
        assert_int_equal(csv_read_row(parts.train, i).y.s32, expected[i]);
    csv_destroy(&parts);
}

/* Of a missing age in row 2. */
static void missing_message(const char *value, char out[512])
{
    const bool is_word = value[0] != '\0';
    (void)snprintf(
        out, 512,
        "t.csv:3: row 2, column 'age': the value is missing%s%s%s\nset data.missing: mean "
        "to use the column's mean over the training rows, or remove the row%s%s%s",
        is_word ? ": '" : "", value, is_word ? "'" : "", is_word ? "; if '" : "", value,
        is_word ? "' is a value here, set data.keep_default_na: false" : "");
}

static void missing_values_are_errors_or_means(void **state)
{
    static const char *const texts[] = {"",     " ",    "\"\"", "NA",   "N/A", "NaN",  "nan", "NAN",
                                        "-nan", "null", "NULL", "None", "?",   "<NA>", "n/a"};
    char text[128], message[512];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        (void)snprintf(text, sizeof(text), "age,sex,y\n1,f,0.5\n%s,m,1.5\n3,f,1\n", texts[i]);
        missing_message(strspn(texts[i], " \"") < strlen(texts[i]) ? texts[i] : "", message);
        csv_expect_error(text, NULL, FG_EFORMAT, message);
        fg_csv_parts parts;
        fgt_ok(csv_open_text(text, &(fg_csv_options){.missing = "mean", .no_normalize = true},
                             &parts));
        csv_expect_row(parts.train, 1, 3, (const double[]){2, 0, 1});
        csv_destroy(&parts);
    }
    csv_expect_error(
        "age,sex,y\n1,f,0.5\n2,,1.5\n", NULL, FG_EFORMAT,
        "t.csv:3: row 2, column 'sex': the value is missing\nset data.missing: mean to "
        "use the column's mean over the training rows, or remove the row");
    fg_csv_parts parts;
    fgt_ok(csv_open_text("age,sex,y\n1,f,0.5\n2,,1.5\n3,m,1\n",
                         &(fg_csv_options){.missing = "mean"}, &parts));
    csv_expect_row(parts.train, 1, 3, (const double[]){0, 0, 0});
    csv_destroy(&parts);
}

static void a_missing_target_is_an_error(void **state)
{
    csv_expect_error("age,y\n1,0.5\n\"4\n\",NA\n", &(fg_csv_options){.missing = "mean"}, FG_EFORMAT,
                     "t.csv:3: row 2, column 'y': the target is missing: 'NA'\nremove the row: a "
                     "missing target is always an error; if 'NA' is a value here, set "
                     "data.keep_default_na: false");
    csv_expect_error("y,age\na,1\nNA,2\n", &(fg_csv_options){.target = "y"}, FG_EFORMAT,
                     "t.csv:3: row 2, column 'y': the target is missing: 'NA'\nremove the row: a "
                     "missing target is always an error; if 'NA' is a value here, write it in "
                     "quotes, or set data.keep_default_na: false");
    csv_expect_error("age,y\n1,0.5\n2,\n", NULL, FG_EFORMAT,
                     "t.csv:3: row 2, column 'y': the target is missing\nremove the row: a missing "
                     "target is always an error");
    const char *const na[] = {"-"};
    csv_expect_error("age,y\n1,a\n2,-\n", &(fg_csv_options){.na_values = {na, 1}}, FG_EFORMAT,
                     "t.csv:3: row 2, column 'y': the target is missing: '-'\nremove the row: a "
                     "missing target is always an error; '-' is listed in data.na_values");
}

/* Words that usually mean "missing" are kept as classes and categories on request, or in quotes. */
static void none_may_be_a_class(void **state)
{
    fg_csv_parts parts, again;
    const fg_csv_options keep = {.no_default_na = true};
    fgt_ok(csv_open_text("a,s,y\n1,NA,None\n2,u,Apnea\n3,NA,None\n", &keep, &parts));
    assert_int_equal(fg_dataset_class_count(parts.train), 2);
    assert_string_equal(fg_dataset_class_name(parts.train, 1), "None");
    csv_expect_row(parts.train, 2, 3, (const double[]){1.22474487, 1, 0});
    csv_expect_error("a,y\n1,u\n,v\n", &keep, FG_EFORMAT, /* nothing is still missing */
                     "t.csv:3: row 2, column 'a': the value is missing\nset data.missing: mean to "
                     "use the column's mean over the training rows, or remove the row");
    const char *json = fg_csv_schema_json(parts.schema);
    assert_non_null(strstr(json, "\"default_na\":false"));
    fgt_ok(fg_csv_schema_parse(json, strlen(json), &again.schema, &err));
    const char *path = fgt_path(fgt_temp_folder(), "new.csv");
    csv_write_text(path, "a,s,y\n1,NA,None\n");
    fgt_ok(fg_csv_apply(again.schema, path, NULL, &again.train, &err));
    assert_int_equal(csv_read_row(again.train, 0).y.s32, 1);
    fg_dataset_destroy(again.train);
    fg_csv_schema_destroy(again.schema);
    csv_destroy(&parts);
}

static void quoted_words_are_values(void **state)
{
    fg_csv_parts parts; /* a class, a category, but missing among numbers */
    fgt_ok(csv_open_text("a,s,y\n1,\"null\",\"None\"\n\"NA\",u,\"Apnea\"\n3,u,\"None\"\n",
                         &(fg_csv_options){.missing = "mean", .no_normalize = true}, &parts));
    assert_string_equal(fg_dataset_class_name(parts.train, 1), "None");
    csv_expect_row(parts.train, 0, 3, (const double[]){1, 1, 0});
    csv_expect_row(parts.train, 1, 3, (const double[]){2, 0, 1});
    fg_csv_column a;
    fgt_ok(fg_csv_schema_column(parts.schema, 0, &a, &err));
    assert_int_equal(a.missing, 1);
    csv_destroy(&parts);
    csv_expect_error("age,y\n1,0.5\n\"NA\",1.5\n\"NA\",2.5\n", NULL, FG_EFORMAT,
                     "t.csv:3: row 2, column 'age': the value is missing: 'NA'\nset data.missing: "
                     "mean to use the column's mean over the training rows, or remove the row; if "
                     "'NA' is a value here, set data.keep_default_na: false");
    csv_expect_error("a,y\n1,0.5\n2,\"NA\"\n", NULL, FG_EFORMAT,
                     "t.csv:3: row 2, column 'y': the target is missing: 'NA'\nremove the row: a "
                     "missing target is always an error; if 'NA' is a value here, set "
                     "data.keep_default_na: false");
}

/* The only feature of the first row, and the JSON of the schema. */
static void expect_number(const char *text, const fg_csv_options *options, double value,
                          const char *json)
{
    fg_csv_parts parts;
    fgt_ok(csv_open_text(text, options, &parts));
    csv_expect_row(parts.train, 0, 1, &value);
    assert_non_null(strstr(fg_csv_schema_json(parts.schema), json));
    csv_destroy(&parts);
}

static void numbers_of_spreadsheets_are_read_on_request(void **state)
{
    static const struct {
        const char *cell;
        double value;
    } plain[] = {{"$1234.5", 1234.5},
                 {"\"$1,234,567.25\"", 1234567.25},
                 {"-$3", -3},
                 {"5%", 5},
                 {"5.5 %", 5.5},
                 {"1'234.5", 1234.5},
                 {"1e3", 1000},
                 {"12 \xe2\x82\xac", 12},
                 {"1970-01-02", 1},
                 {"\xc2\xa3 7", 7},
                 {"12.5 EUR", 12.5},
                 {"1\xe2\x80\xaf"
                  "234.5\xc2\xa0\xe2\x82\xac",
                  1234.5},
                 {"2024-02-29", 19782},
                 {"1969-12-31T12:00:00Z", -0.5},
                 {"1970-01-02T06:00:00.25Z", 1.25}};
    static const char *const wrong[] = {
        "\"1,23\"",
        "\"1234,567\"",
        "\"1,2345\"",
        "$",
        "%5",
        "$0000000000000000000000000000000000000000000000000000000000000000001",
        "--3",
        "1970-01-00",
        "1970-01/02",
        "1970-01-01 24:00",
        "1970-13-02",
        "31.12.1970",
        "$1 $",
        "\"0,123\"",
        "030 123 456",
        "$1e999",
        "+49 170 123 456"};
    const char *const a[] = {"a"};
    const fg_csv_options numeric = {.task = "regression", .numeric = {a, 1}, .no_normalize = true};
    char text[128];
    fg_csv_parts parts;
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        (void)snprintf(text, sizeof(text), "a,y\n%s,1\n0,2\n", plain[i].cell);
        expect_number(text, &numeric, plain[i].value, "\"spreadsheet\":true");
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        (void)snprintf(text, sizeof(text), "a,y\n%s,1\n0,2\n", wrong[i]);
        assert_int_equal(csv_open_text(text, &numeric, &parts), FG_EFORMAT);
        fgt_message_is(err.message,
                       "t.csv:2: row 1, column 'a': '@' is not a number\ncorrect it, or treat it "
                       "as missing with data.na_values and data.missing: mean");
    }
}

static void decimal_commas_are_read_on_request(void **state)
{
    const fg_csv_options comma = {
        .task = "regression", .decimal = ',', .delimiter = ';', .no_normalize = true};
    static const char json[] = "\"decimal\":\",\"";
    expect_number("a;y\n\"1,5\";1\n0;2,5\n", &comma, 1.5, json);
    expect_number("a;y\n-1.234,5;1\n0;2,5\n", &comma, -1234.5, json);
    expect_number("a;y\n1.234.567;1\n0;2,5\n", &comma, 1234567, json);
    fg_csv_parts parts;
    fgt_ok(csv_open_text("a;y\n7;1,25\n1.5;2\n", &comma, &parts)); /* 1.5 is a string */
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 2);
    assert_true(csv_read_row(parts.train, 0).y.f32 == 1.25F);
    csv_destroy(&parts);
    fgt_ok(csv_open_text("a;y\n$1,5;1\n0;2,5\n", &comma, &parts)); /* only if it is listed */
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 2);
    csv_destroy(&parts);
    csv_expect_error("a,y\n1,2\n", &(fg_csv_options){.decimal = ','}, FG_EINVAL,
                     "data.decimal and data.delimiter are both ',': expected two characters");
}

/* UTF-16 in both byte orders. */
static void other_encodings_are_read(void **state)
{
    static const char text[] =
        "a,name,y\r\n1,\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80\xf0\x9f\x98\x80,2.5\r\n2,u,3\r\n";
    static const unsigned units[] = {0x80, 0x800, 0xd800, 0xdc00, 0xd83d, 0xde00};
    for (int is_big = 0; is_big < 2; is_big++) {
        unsigned char bytes[256];
        size_t size = 0, unit = 0;
        for (const char *c = "\x01"
                             "a,name,y\r\n1,######,2.5\r\n2,u,3\r\n";
             *c != '\0'; c++) {
            const unsigned u = *c == '\x01' ? 0xfeff : *c == '#' ? units[unit++] : (unsigned)*c;
            bytes[size++] = (unsigned char)(is_big ? u >> 8 : u & 0xff);
            bytes[size++] = (unsigned char)(is_big ? u & 0xff : u >> 8);
        }
        fgi_block block = {.data = bytes, .size = size};
        fg_csv_parts parts, plain;
        fgt_ok(fgi_csv_open_block("t.csv", &block, NULL, &parts, &err));
        fgt_ok(csv_open_text(text, NULL, &plain));
        assert_string_equal(fg_csv_schema_json(parts.schema), fg_csv_schema_json(plain.schema));
        csv_destroy(&parts);
        csv_destroy(&plain);
        block = (fgi_block){.data = bytes, .size = size - 1};
        assert_int_equal(fgi_csv_open_block("t.csv", &block, NULL, &parts, &err), FG_EFORMAT);
        fgt_message_is(err.message,
                       "t.csv: the file is UTF-16 with an odd number of bytes: it is truncated");
    }
    fgi_block end = {.data = (const unsigned char *)"\xff\xfe"
                                                    "a\0\n\0\x3d\xd8\0\xde",
                     .size = 10};
    fg_csv_parts last;
    fgt_ok(fgi_csv_open_block("t.csv", &end, &(fg_csv_options){.target = ""}, &last, &err));
    csv_destroy(&last);
    fgi_block half = {.data = (const unsigned char *)"\xff\xfe"
                                                     "a\0\n\0\x3d\xd8x\0",
                      .size = 10};
    fg_csv_parts none; /* of a surrogate pair, which is one character */
    assert_int_equal(fgi_csv_open_block("t.csv", &half, NULL, &none, &err), FG_EFORMAT);
    fgt_message_is(err.message, "t.csv:2: byte 2: invalid UTF-8\nexport the table as UTF-8, or "
                                "convert it: iconv -f CP1252 -t UTF-8 't.csv' > 'utf8-t.csv'");
}

static const struct {
    const char *text;
    fg_csv_layout layout;
} layouts[] = {
    {"a;b;y\n1;2;3\n", {';', true, FG_CSV_HEADER_YES, 3, {0}}},
    {"a;b,c,d\n1;2\n3;4,5,6\n", {';', true, FG_CSV_HEADER_YES, 2, {0}}}, /* commas within cells */
    {"a,b;c,d\n1,5;2,5\n", {';', false, FG_CSV_HEADER_YES, 2, {0}}},     /* decimal commas */
    {"a;b|c\n1;2|3\n", {';', false, FG_CSV_HEADER_YES, 2, {0}}},
    {"1\n2\n", {',', false, FG_CSV_HEADER_NO, 1, {0}}},
    {"a,b\tc\n1,2\t3\n", {'\t', false, FG_CSV_HEADER_YES, 2, {0}}},  /* the first of equals */
    {"a,b,c;d\n1,2,3;4\n", {',', false, FG_CSV_HEADER_YES, 3, {0}}}, /* the most columns */
    {"a,b,c;d\n1,2,x;1,4\n", {';', true, FG_CSV_HEADER_YES, 2, {0}}},
    {"a|b\n\n1|2\n", {'|', true, FG_CSV_HEADER_YES, 2, {0}}},
    {"\r\n\na;b\n1;2\n", {';', true, FG_CSV_HEADER_YES, 2, {0}}},
    {"\n\n1.5,2\n3,4\n", {',', true, FG_CSV_HEADER_NO, 2, {0}}},
    {"\"a;b\",c\n1,2\n", {',', true, FG_CSV_HEADER_YES, 2, {0}}}, /* in quotes */
    {"id,name\n1,\"a\nb\"\n", {',', true, FG_CSV_HEADER_YES, 2, {0}}},
    {"a,b\n1,\"2\n", {',', false, FG_CSV_HEADER_YES, 1, {0}}}, /* an unclosed quote */
    {"0,1\n5,6\n", {',', true, FG_CSV_HEADER_YES, 2, {0}}},
    {"\xef\xbb\xbf"
     "a,b\n1,2\n",
     {',', true, FG_CSV_HEADER_YES, 2, {0}}},
};

/* What init starts from. */
static void a_layout_is_detected(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "t.csv");
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        fg_csv_layout found;
        const fg_csv_layout *expected = &layouts[i].layout;
        csv_write_text(path, layouts[i].text);
        fgt_ok(fg_csv_detect(path, &found, &err));
        if (found.delimiter != expected->delimiter || found.header != expected->header ||
            found.delimiter_is_certain != expected->delimiter_is_certain ||
            found.column_count != expected->column_count)
            fail_msg("%s: '%c', %d, %d, %d", layouts[i].text, found.delimiter,
                     found.delimiter_is_certain, found.header, (int)found.column_count);
    }
}

static const struct {
    const char *text;
    int line; /* 0: no error */
    size_t columns;
} titles[] = {
    {"Report\na,b\n1,2\n3,4\n", 2, 2},
    {"Report, 2024\n\nby me\na;b;c;d\n1;2;3;4\n3;4;5;6\n", 4, 4},
    {"a,b\n1,2,3\n3,4,5\n6,7,8\n", 0, 0}, /* R leaves out the name of the first column */
    {"a,b\n1,2\n1;2\n", 0, 0},
    {"T\na,b\n1,2\n", 0, 0}, /* two rows are too few */
    {"T\nU\nV\nW\nX\na|b\n1|2\n3|4\n", 6, 2},
    {"T\nU\nV\nW\nX\nY\na|b\n1|2\n3|4\n", 0, 0},
    {"T,U\na,b,c\n1,2,3\n1,2,3\n", 0, 0},
    {"T,U\na,b,c,d\n1,2,3,4\n1,2,3,4\n", 2, 4},
};

static void a_title_above_the_table_is_an_error(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "t.csv");
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
        fg_csv_layout found;
        char message[160];
        (void)snprintf(
            message, sizeof message,
            "~/t.csv:%d: the table probably begins in this line, with %zu columns\ndelete "
            "the lines above it, such as a title",
            titles[i].line, titles[i].columns);
        csv_write_text(path, titles[i].text);
        const fg_status status = fg_csv_detect(path, &found, &err);
        assert_int_equal(status, titles[i].line > 0 ? FG_EFORMAT : FG_OK);
        if (titles[i].line > 0)
            fgt_message_is(err.message, message);
    }
}

static void lines_may_end_with_cr(void **state)
{
    fg_csv_parts parts;
    fgt_ok(csv_open_text("a,y\r1,\"u\rv\"\r2,w\r", NULL, &parts));
    assert_int_equal(fg_dataset_count(parts.train), 2);
    csv_destroy(&parts);
    fgt_ok(csv_open_text("a,y\r\n1,u\r\n\r\n", NULL, &parts)); /* and the file with an empty one */
    assert_int_equal(fg_dataset_count(parts.train), 1);
    csv_destroy(&parts);
    csv_expect_error("a,y\r1,2\r1,2,3\r", NULL, FG_EFORMAT,
                     "t.csv:3: row 2 has 3 columns, but the header has 2");
    fgi_block block = {.data = (const unsigned char *)"a\0,\0", .size = 4};
    assert_int_equal(fgi_csv_open_block("t.csv", &block, NULL, &parts, &err), FG_EFORMAT);
    fgt_message_is(err.message, "t.csv:1: byte 1: a NUL byte\nif the file is UTF-16, convert it, "
                                "for example with iconv -f utf-16le -t utf-8");
}

static void a_first_row_of_numbers_is_no_header(void **state)
{
    static const char *const data[] = {"5.1,3.5,setosa\n4,3,setosa\n", "1,2\n3,4\n",
                                       "0,0,1\n1,0,0\n", "34,male\n28,female\n",
                                       "$12.50,male\n$13.00,female\n"},
                             *const header[] = {"0,1,2\n5,6,7\n", "country,1990,1991\nx,1,2\n",
                                                "label,0,1,2\n5,6,7,8\n", "a1,NA\n1,2\n"};
    fg_csv_parts parts;
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        assert_int_equal(csv_open_text(data[i], NULL, &parts), FG_EFORMAT);
        fgt_message_is(err.message, "t.csv:1: the first row has the number '@', so it is probably "
                                    "data and not a header\nset data.no_header: true if the file "
                                    "has no header, or false if these are names of columns");
        fgt_ok(csv_open_text(data[i], &(fg_csv_options){.header = FG_CSV_HEADER_NO}, &parts));
        assert_int_equal(fg_dataset_count(parts.train), 2);
        csv_destroy(&parts);
    }
    fgt_ok(csv_open_text(data[1], &(fg_csv_options){.header = FG_CSV_HEADER_YES}, &parts));
    assert_int_equal(fg_dataset_count(parts.train), 1);
    csv_destroy(&parts);
    for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++) {
        fgt_ok(csv_open_text(header[i], NULL, &parts));
        csv_destroy(&parts);
    }
}

static void what_is_no_number_is_said(void **state)
{
    fg_csv_options options = csv_plain;
    options.max_categories = 3;
    csv_expect_error(
        "a,y\n1,1\n2,2\nx,3\n4,4\n", &options, FG_EFORMAT,
        "t.csv:4: row 3, column 'a': 'x' is not a number, so the column is categorical, but it has "
        "more than 3 different values; 3 of 4 are numbers\ncorrect the value, treat it as missing "
        "(data.na_values), ignore the column (data.ignore), or raise data.max_categories");
    csv_expect_error("a,y\n1,1\n2,1e39\n", &csv_plain, FG_EFORMAT,
                     "t.csv:3: row 2, column 'y': 1e+39 is out of range for f32");
    csv_expect_error(
        "a,y\n1e308,1\n-1e308,2\n1e308,2\n", &(fg_csv_options){.task = "regression"}, FG_EFORMAT,
        "t.csv: column 'a': the values are too large to compute a mean and a standard deviation");
    csv_expect_error(
        "y\n1\n2\n", NULL, FG_EFORMAT,
        "no feature columns are left: every column is the target or ignored\nthe file has "
        "only one column: check data.delimiter, and delete a title above the header");
}

static void wrong_options_are_named(void **state)
{
    const char *text = "width,height,y\n1,2,3\n4,5,6\n";
    const char *const names[] = {"hight"};
    csv_expect_error(text, &(fg_csv_options){.target = "z"}, FG_ENOTFOUND,
                     "t.csv:1: no column 'z' (target)");
    csv_expect_error(text, &(fg_csv_options){.ignore = {names, 1}}, FG_ENOTFOUND,
                     "t.csv:1: no column 'hight' (ignore)\ndid you mean 'height'?");
    csv_expect_error(text, &(fg_csv_options){.categorical = {names, 1}}, FG_ENOTFOUND,
                     "t.csv:1: no column 'hight' (categorical)\ndid you mean 'height'?");
    csv_expect_error(text, &(fg_csv_options){.task = "guess"}, FG_EINVAL,
                     "task is 'guess': expected 'classification', 'multilabel', 'regression' or "
                     "'auto'");
    csv_expect_error(text, &(fg_csv_options){.missing = "drop"}, FG_EINVAL,
                     "missing is 'drop': expected 'error' or 'mean'");
    csv_expect_error(text, &(fg_csv_options){.unknown = "one"}, FG_EINVAL,
                     "unknown is 'one': expected 'error' or 'zero'");
    csv_expect_error(text, &(fg_csv_options){.delimiter = '"'}, FG_EINVAL,
                     "delimiter 0x22: expected an ASCII character other than a quote or a line "
                     "break");
    csv_expect_error(text, &(fg_csv_options){.val_fraction = 1.5}, FG_EINVAL,
                     "val_fraction is 1.5: expected a number between 0 and 1");
    csv_expect_error(text, &(fg_csv_options){.val_fraction = 0.5, .val_path = "v"}, FG_EINVAL,
                     "val_path and val_fraction are both given: set only one");
}

static void wrong_numbers_are_named(void **state)
{
    const char *text = "width,height,y\n1,2,3\n4,5,6\n";
    csv_expect_error(text, &(fg_csv_options){.max_categories = -1}, FG_EINVAL,
                     "max_categories is -1: expected a number greater than 0");
    csv_expect_error(text, &(fg_csv_options){.image_scale = -1}, FG_EINVAL,
                     "image_scale is -1: expected a finite number");
    csv_expect_error("x,y\n1,a\n2,b\n3,c\n", &(fg_csv_options){.max_categories = 2}, FG_EFORMAT,
                     "t.csv:4: row 3, column 'y': more than 2 classes\nchoose another column "
                     "(data.target), or raise data.max_categories");
    csv_expect_error(text, &(fg_csv_options){.image = {1, 2, 0}}, FG_EINVAL,
                     "image is 1 x 2 x 0: expected three numbers greater than 0");
    const char *const last[] = {"y"};
    csv_expect_error(text, &(fg_csv_options){.ignore = {last, 1}}, FG_EINVAL,
                     "column 'y' is the target, but also listed in ignore");
}

/* ---- images ---------------------------------------------------------------------------------- */

static void columns_may_be_pixels(void **state)
{
    const char *text = "0,255,7,1\n1,2,3,0\n4,5,6,1\n7,8,9,0\n";
    fg_csv_parts parts;
    fg_csv_options options = {.header = FG_CSV_HEADER_NO, .image = {1, 3, 1}};
    fgt_ok(csv_open_text(text, &options, &parts));
    char form[64];
    assert_string_equal(fg_type_format(&fg_dataset_field(parts.train, 0)->type, form, 64),
                        "u8[1,3,1]");
    assert_string_equal(fg_dataset_field(parts.train, 0)->name, "image");
    assert_string_equal(fg_dataset_field(parts.train, 1)->name, "label");
    unsigned char pixels[3];
    int32_t label;
    fgt_ok(fg_dataset_read(parts.train, 0, (void *const[]){pixels, &label}, &err));
    assert_memory_equal(pixels, "\x00\xff\x07", 3);
    assert_int_equal(label, 1);
    csv_destroy(&parts);
    options.image_scale = 0.5;
    fgt_ok(csv_open_text(text, &options, &parts));
    assert_string_equal(fg_type_format(&fg_dataset_field(parts.train, 0)->type, form, 64),
                        "f32[1,3,1]");
    csv_expect_row(parts.train, 0, 3, (const double[]){0, 127.5, 3.5});
    csv_destroy(&parts);
}

static void pixels_must_be_pixels(void **state)
{
    const fg_csv_options options = {.header = FG_CSV_HEADER_NO, .image = {1, 2, 1}};
    csv_expect_error("1,256,0\n1,2,0\n", &options, FG_EFORMAT,
                     "t.csv:1: row 1, column '1': 256 is not a pixel value: expected 0 to 255");
    csv_expect_error("1,2,0\n-1,2,0\n", &options, FG_EFORMAT,
                     "t.csv:2: row 2, column '0': -1 is not a pixel value: expected 0 to 255");
    csv_expect_error("1,2.5,0\n1,2,0\n", &options, FG_EFORMAT,
                     "t.csv:1: row 1, column '1': 2.5 is not a pixel value: expected 0 to 255");
    csv_expect_error(
        "1,2,0\n1,x,0\n", &options, FG_EFORMAT,
        "t.csv:2: row 2, column '1': 'x' is not a number: all columns of an image must be pixels");
    csv_expect_error("1,2,3,0\n1,2,3,0\n", &options, FG_ESHAPE,
                     "the columns have 3 features, but an image of 1 x 2 x 1 requires one numeric "
                     "column per pixel");
}

static const char *digits_path(void)
{
    return fgt_path(FGT_SOURCE_DIR "/share/data/digits", "digits.csv.gz");
}

static void the_digits_are_read(void **state)
{
    fg_csv_parts parts;
    fgt_ok(fg_csv_load(
        digits_path(),
        &(fg_csv_options){.header = FG_CSV_HEADER_NO, .image = {8, 8, 1}, .val_fraction = 0.2},
        &parts, &err));
    assert_int_equal(fg_dataset_count(parts.train), 1438);
    assert_int_equal(fg_dataset_count(parts.val), 359);
    assert_int_equal(fg_dataset_class_count(parts.val), 10);
    static const int64_t counts[10] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
    int64_t seen[10] = {0};
    for (int part = 0; part < 2; part++) {
        const fg_dataset *dataset = part == 0 ? parts.train : parts.val;
        for (int64_t i = 0; i < fg_dataset_count(dataset); i++) {
            unsigned char image[64];
            int32_t label;
            fgt_ok(fg_dataset_read(dataset, i, (void *const[]){image, &label}, &err));
            for (int p = 0; p < 64; p++)
                assert_in_range(image[p], 0, 16);
            seen[label]++;
        }
    }
    assert_memory_equal(seen, counts, sizeof(counts));
    assert_string_equal(fg_dataset_class_name(parts.train, 9), "9");
    csv_destroy(&parts);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(quotes_follow_rfc_4180),
    cmocka_unit_test(errors_of_form_name_line_and_byte),
    cmocka_unit_test(errors_of_form_count_empty_lines),
    cmocka_unit_test(errors_of_bytes_name_the_byte),
    cmocka_unit_test(only_real_utf8_is_taken),
    cmocka_unit_test(other_delimiters_work),
    cmocka_unit_test(cells_have_types),
    cmocka_unit_test(numbers_agree_with_numpy),
    cmocka_unit_test(categories_become_one_hot_in_bytewise_order),
    cmocka_unit_test(the_target_is_named_or_last),
    cmocka_unit_test(the_task_follows_from_the_target),
    cmocka_unit_test(numeric_classes_are_in_numeric_order_and_written_one_way),
    cmocka_unit_test(missing_values_are_errors_or_means),
    cmocka_unit_test(a_missing_target_is_an_error),
    cmocka_unit_test(none_may_be_a_class),
    cmocka_unit_test(quoted_words_are_values),
    cmocka_unit_test(numbers_of_spreadsheets_are_read_on_request),
    cmocka_unit_test(decimal_commas_are_read_on_request),
    cmocka_unit_test(other_encodings_are_read),
    cmocka_unit_test(a_layout_is_detected),
    cmocka_unit_test(a_title_above_the_table_is_an_error),
    cmocka_unit_test(lines_may_end_with_cr),
    cmocka_unit_test(a_first_row_of_numbers_is_no_header),
    cmocka_unit_test(what_is_no_number_is_said),
    cmocka_unit_test(wrong_options_are_named),
    cmocka_unit_test(wrong_numbers_are_named),
    cmocka_unit_test(columns_may_be_pixels),
    cmocka_unit_test(pixels_must_be_pixels),
    cmocka_unit_test(the_digits_are_read),
};

FGT_MAIN(tests)
