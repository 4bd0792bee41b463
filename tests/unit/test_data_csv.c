/* CSV files: text to cells, columns to numbers, schemas to JSON and back, and what is refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdlib.h>
#include <fulgurite/data.h>
#include "base/alloc.h"
#include "base/print.h"
#include "data/csv_schema.h"
#include "data/dataset.h"

static fg_error err;

static fg_status open_text(const char *text, const fg_csv_options *options, fg_csv_parts *out)
{
    fgi_block block = {.data = (const unsigned char *)text, .size = strlen(text)};
    return fgi_csv_open_block("t.csv", &block, options, out, &err);
}

static void destroy(fg_csv_parts *parts)
{
    fg_dataset_destroy(parts->train);
    fg_dataset_destroy(parts->val);
    fg_csv_schema_destroy(parts->schema);
}

/* The features of one row, and its class or number. */
enum { MOST_FEATURES = 32 };
typedef struct sample {
    float x[MOST_FEATURES];
    union {
        int32_t s32;
        float f32;
    } y;
} sample;

static sample read_row(const fg_dataset *dataset, int64_t row)
{
    sample s = {.x = {0}};
    fgt_ok(fg_dataset_read(dataset, row, (void *const[]){s.x, &s.y}, &err));
    return s;
}

static void expect_row(const fg_dataset *dataset, int64_t row, int count, const double *x)
{
    const sample s = read_row(dataset, row);
    for (int i = 0; i < count; i++)
        if (fabs((double)s.x[i] - x[i]) > 1e-6)
            fail_msg("row %d, feature %d: %g: expected %g", (int)row, i, (double)s.x[i], x[i]);
}

static void expect_error(const char *text, const fg_csv_options *options, fg_status status,
                         const char *message)
{
    fg_csv_parts parts;
    assert_int_equal(open_text(text, options, &parts), status);
    assert_string_equal(err.message, message);
    assert_null(parts.train);
    assert_null(parts.schema);
}

static const fg_csv_options plain = {.no_normalize = true, .task = "regression"};

/* ---- text ------------------------------------------------------------------------------------ */

static void quotes_follow_rfc_4180(void **state)
{
    fgi_block block = {0};
    const char *text = "\xef\xbb\xbf\"a\",\"b, \"\"c\"\"\",d\r\n"
                       "\r\n"
                       "\"1\n2\",\"\"\"\"\"\",  x y \n"
                       "\n"
                       " \"q\" ,5\" pipe,\"\"";
    block.data = (const unsigned char *)text;
    block.size = strlen(text);
    fgi_csv csv;
    fgi_csv_row row;
    fgt_ok(fgi_csv_parse("t", &block, ',', false, &csv, &err));
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
    expect_error("", NULL, FG_EFORMAT, "t.csv:1: the file is empty");
    expect_error("a,b\n", NULL, FG_EFORMAT, "t.csv:1: the file has a header but no rows");
    expect_error("a,b\n1,2\n1,2,3\n", NULL, FG_EFORMAT,
                 "t.csv:3: row 2 has 3 columns, the header has 2");
    expect_error("a,b\n1,2\n1\n", NULL, FG_EFORMAT,
                 "t.csv:3: row 2 has 1 columns, the header has 2");
    expect_error("1,2\n1\n", &(fg_csv_options){.no_header = true}, FG_EFORMAT,
                 "t.csv:2: row 2 has 1 columns, the first row has 2");
    expect_error("a,b\n1,\"2\n3,4\n", NULL, FG_EFORMAT,
                 "t.csv:2: byte 6: a quote that is never closed");
    expect_error("a,b\n1,\"2\"3\n", NULL, FG_EFORMAT,
                 "t.csv:2: byte 9: text after a closing quote");
    expect_error("a,a\n1,2\n", NULL, FG_EFORMAT, "t.csv:1: two columns are called 'a'");
    expect_error("\xef\xbb\xbf"
                 "a,b\n1,\xe9\n",
                 NULL, FG_EFORMAT,
                 "t.csv:2: byte 9: not UTF-8 text\nconvert the file, for example with "
                 "iconv -f latin1 -t utf-8");
    fg_csv_parts parts;
    fgi_block block = {.data = (const unsigned char *)"a,b\n1,\0", .size = 7};
    assert_int_equal(fgi_csv_open_block("t.csv", &block, NULL, &parts, &err), FG_EFORMAT);
    assert_string_equal(err.message, "t.csv:2: byte 6: a NUL byte");
}

static void only_real_utf8_is_taken(void **state)
{
    static const char *const bad[] = {
        "\x80",         "\xc0\xaf",         "\xc1\x81",         "\xe0\x80\x80",     "\xe2\x82",
        "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"};
    char text[64];
    fg_csv_parts parts;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(text, sizeof(text), "a,b\n%s,1\n", bad[i]);
        assert_int_equal(open_text(text, NULL, &parts), FG_EFORMAT);
        assert_non_null(strstr(err.message, "byte 4: not UTF-8"));
    }
    fgt_ok(open_text("a,b\n\xc3\xa9,1\n\xe2\x82\xac,2\n\xf0\x9f\x98\x80,3\n", NULL, &parts));
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 3);
    destroy(&parts);
}

static void other_delimiters_work(void **state)
{
    fg_csv_parts parts;
    fgt_ok(open_text("a\tb\tc\n1\t\"2\"\t3\n4\t5\t6\n",
                     &(fg_csv_options){.no_normalize = true, .delimiter = '\t'}, &parts));
    expect_row(parts.train, 1, 2, (const double[]){4, 5});
    destroy(&parts);
    fgt_ok(open_text("a b\n1 2\n3 4\n", &(fg_csv_options){.no_normalize = true, .delimiter = ' '},
                     &parts));
    expect_row(parts.train, 1, 1, (const double[]){3});
    destroy(&parts);
}

/* ---- columns --------------------------------------------------------------------------------- */

static void numbers_agree_with_numpy(void **state)
{
    const char *folder = FGT_SOURCE_DIR "/tests/golden/data";
    fg_csv_parts parts;
    fg_dataset *expected;
    fgt_ok(fg_csv_open(fgt_path(folder, "table.csv"), NULL, &parts, &err));
    fgt_ok(fg_npy_open(fgt_path(folder, "table_x.npy"), fgt_path(folder, "table_y.npy"), NULL,
                       &expected, &err));
    const int64_t features = fg_dataset_field(expected, 0)->type.dim[0];
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), features);
    assert_int_equal(fg_dataset_count(parts.train), fg_dataset_count(expected));
    for (int64_t i = 0; i < fg_dataset_count(expected); i++) {
        const sample ours = read_row(parts.train, i), theirs = read_row(expected, i);
        for (int64_t k = 0; k < features; k++)
            /* column 1 has mean 7e6 and deviation 0.3: its f64 mean is good to about 1e-9 / 0.3 */
            fgt_close("feature", (double)ours.x[k], (double)theirs.x[k], 1e-8, 1.2e-7);
        assert_int_equal(ours.y.s32, theirs.y.s32);
    }
    assert_int_equal(fg_dataset_class_count(parts.train), 3);
    assert_string_equal(fg_dataset_class_name(parts.train, 0), "ash");
    assert_string_equal(fg_dataset_class_name(parts.train, 2), "oak");
    fg_dataset_destroy(expected);
    destroy(&parts);
}

static void categories_become_one_hot_in_bytewise_order(void **state)
{
    fg_csv_parts parts;
    fgt_ok(open_text("size,kind,y\n1,pear,0.5\n2,apple,1.5\n3,pear,2.5\n", &plain, &parts));
    expect_row(parts.train, 0, 3, (const double[]){1, 0, 1});
    expect_row(parts.train, 1, 3, (const double[]){2, 1, 0});
    assert_true(read_row(parts.train, 2).y.f32 == 2.5f);
    assert_string_equal(fg_dataset_field(parts.train, 0)->name, "x");
    assert_string_equal(fg_dataset_field(parts.train, 1)->name, "y");
    assert_int_equal(fg_dataset_field(parts.train, 1)->type.dtype, FG_F32);
    assert_int_equal(fg_dataset_class_count(parts.train), 0);
    destroy(&parts);
    const char *const forced[] = {"size"}, *const ignored[] = {"kind"};
    fgt_ok(open_text(
        "size,kind,y\n10,pear,0.5\n9,apple,1.5\n10,pear,2.5\n",
        &(fg_csv_options){
            .categorical = forced, .categorical_count = 1, .ignore = ignored, .ignore_count = 1},
        &parts));
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 2);
    expect_row(parts.train, 0, 2, (const double[]){1, 0}); /* "10" < "9" as text */
    destroy(&parts);
}

static void the_target_is_named_or_last(void **state)
{
    fg_csv_parts parts;
    const char *text = "a,b,c\n1,10,0.1\n2,20,0.2\n3,30,0.3\n";
    fg_csv_options options = plain;
    fgt_ok(open_text(text, &options, &parts));
    assert_true(read_row(parts.train, 1).y.f32 == 0.2f);
    destroy(&parts);
    options.target = "b";
    fgt_ok(open_text(text, &options, &parts));
    assert_true(read_row(parts.train, 1).y.f32 == 20.0f);
    expect_row(parts.train, 1, 2, (const double[]){2, 0.2});
    destroy(&parts);
    options.target = "";
    fgt_ok(open_text(text, &options, &parts));
    assert_int_equal(fg_dataset_field_count(parts.train), 1);
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 3);
    destroy(&parts);
    options.target = "1";
    options.no_header = true;
    fgt_ok(open_text("1,10,0.1\n2,20,0.2\n", &options, &parts));
    assert_true(read_row(parts.train, 1).y.f32 == 20.0f);
    destroy(&parts);
}

static bool is_classification(const char *text, const char *task)
{
    fg_csv_parts parts;
    fgt_ok(open_text(text, &(fg_csv_options){.task = task}, &parts));
    const bool is = fg_dataset_class_count(parts.train) > 0;
    assert_int_equal(fg_dataset_field(parts.train, 1)->type.dtype, is ? FG_S32 : FG_F32);
    destroy(&parts);
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
    expect_error("x,y\n1,2\n2,b\n", &(fg_csv_options){.task = "regression"}, FG_EFORMAT,
                 "t.csv:3: row 2, column 'y': 'b' is not a number\ncorrect it, or remove the row");
}

static void numeric_classes_are_in_numeric_order_and_written_one_way(void **state)
{
    fg_csv_parts parts;
    fgt_ok(open_text("x,y\n1,10\n2,9\n3,10.0\n4,+9\n5,-1\n6,-1e0\n", NULL, &parts));
    assert_int_equal(fg_dataset_class_count(parts.train), 3);
    static const char *const names[] = {"-1", "9", "10"};
    for (int i = 0; i < 3; i++)
        assert_string_equal(fg_dataset_class_name(parts.train, i), names[i]);
    const int32_t expected[] = {2, 1, 2, 1, 0, 0};
    for (int i = 0; i < 6; i++)
        assert_int_equal(read_row(parts.train, i).y.s32, expected[i]);
    destroy(&parts);
}

static void missing_values_are_errors_or_means(void **state)
{
    static const char *const texts[] = {"",    " ",    "\"\"", "NA",   "N/A",  "NaN", "nan",
                                        "NAN", "-nan", "null", "NULL", "None", "?"};
    char text[128];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        (void)snprintf(text, sizeof(text), "age,sex,y\n1,f,0.5\n%s,m,1.5\n3,f,1\n", texts[i]);
        expect_error(text, NULL, FG_EFORMAT, "t.csv:3: row 2, column 'age': " FGI_VALUE_MISSING);
        fg_csv_parts parts;
        fgt_ok(open_text(text, &(fg_csv_options){.missing = "mean", .no_normalize = true}, &parts));
        expect_row(parts.train, 1, 3, (const double[]){2, 0, 1});
        destroy(&parts);
    }
    expect_error("age,sex,y\n1,f,0.5\n2,,1.5\n", NULL, FG_EFORMAT,
                 "t.csv:3: row 2, column 'sex': " FGI_VALUE_MISSING);
    fg_csv_parts parts;
    fgt_ok(open_text("age,sex,y\n1,f,0.5\n2,,1.5\n3,m,1\n", &(fg_csv_options){.missing = "mean"},
                     &parts));
    expect_row(parts.train, 1, 3, (const double[]){0, 0, 0});
    destroy(&parts);
    expect_error("age,y\n1,0.5\n\"4\n\",NA\n", &(fg_csv_options){.missing = "mean"}, FG_EFORMAT,
                 "t.csv:3: row 2, column 'y': " FGI_TARGET_MISSING);
}

static void what_is_no_number_is_said(void **state)
{
    fg_csv_options options = plain;
    options.max_categories = 3;
    expect_error(
        "a,y\n1,1\n2,2\nx,3\n4,4\n", &options, FG_EFORMAT,
        "t.csv:4: row 3, column 'a': 'x' is not a number, so the column is a category, but "
        "it has more than 3 different values; 3 of 4 are numbers\ncorrect the value, "
        "count it as missing (data.na_values), ignore the column (data.ignore), or raise "
        "max_categories");
    expect_error("a,y\n1,1\n2,1e39\n", &plain, FG_EFORMAT,
                 "t.csv:3: row 2, column 'y': 1e+39 is out of range for a 32-bit float");
    expect_error("a,y\n1e308,1\n-1e308,2\n1e308,2\n", &(fg_csv_options){.task = "regression"},
                 FG_EFORMAT,
                 "t.csv: column 'a': the numbers are too large for a mean and a deviation");
    expect_error("y\n1\n2\n", NULL, FG_EFORMAT,
                 "every column is the target or ignored: no features are left");
}

static void wrong_options_are_named(void **state)
{
    const char *text = "width,height,y\n1,2,3\n4,5,6\n";
    const char *const names[] = {"hight"};
    expect_error(text, &(fg_csv_options){.target = "z"}, FG_ENOTFOUND,
                 "t.csv:1: no column 'z' (target)");
    expect_error(text, &(fg_csv_options){.ignore = names, .ignore_count = 1}, FG_ENOTFOUND,
                 "t.csv:1: no column 'hight' (ignore)\ndid you mean 'height'?");
    expect_error(text, &(fg_csv_options){.categorical = names, .categorical_count = 1},
                 FG_ENOTFOUND, "t.csv:1: no column 'hight' (categorical)\ndid you mean 'height'?");
    expect_error(text, &(fg_csv_options){.task = "guess"}, FG_EINVAL,
                 "task is 'guess', expected 'classification', 'regression' or 'auto'");
    expect_error(text, &(fg_csv_options){.missing = "drop"}, FG_EINVAL,
                 "missing is 'drop': expected 'error' or 'mean'");
    expect_error(text, &(fg_csv_options){.unknown = "one"}, FG_EINVAL,
                 "unknown is 'one': expected 'error' or 'zero'");
    expect_error(text, &(fg_csv_options){.delimiter = '"'}, FG_EINVAL,
                 "delimiter 0x22 cannot be used");
    expect_error(text, &(fg_csv_options){.val_fraction = 1.5}, FG_EINVAL,
                 "val_fraction is 1.5: expected a number between 0 and 1");
    expect_error(text, &(fg_csv_options){.val_fraction = 0.5, .val_path = "v"}, FG_EINVAL,
                 "val_path and val_fraction are both given: set only one");
    expect_error(text, &(fg_csv_options){.max_categories = -1}, FG_EINVAL, "max_categories is -1");
    expect_error(text, &(fg_csv_options){.image_scale = -1}, FG_EINVAL, "image_scale is -1");
    expect_error("x,y\n1,a\n2,b\n3,c\n", &(fg_csv_options){.max_categories = 2}, FG_EFORMAT,
                 "t.csv:4: row 3, column 'y': more than 2 classes");
    expect_error(text, &(fg_csv_options){.image = {1, 2, 0}}, FG_EINVAL, "image is 1 x 2 x 0");
    const char *const last[] = {"y"};
    expect_error(text, &(fg_csv_options){.ignore = last, .ignore_count = 1}, FG_EINVAL,
                 "column 'y' is both the target and listed in ignore");
}

/* ---- images ---------------------------------------------------------------------------------- */

static void columns_may_be_pixels(void **state)
{
    const char *text = "0,255,7,1\n1,2,3,0\n4,5,6,1\n7,8,9,0\n";
    fg_csv_parts parts;
    fg_csv_options options = {.no_header = true, .image = {1, 3, 1}};
    fgt_ok(open_text(text, &options, &parts));
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
    destroy(&parts);
    options.image_scale = 0.5;
    fgt_ok(open_text(text, &options, &parts));
    assert_string_equal(fg_type_format(&fg_dataset_field(parts.train, 0)->type, form, 64),
                        "f32[1,3,1]");
    expect_row(parts.train, 0, 3, (const double[]){0, 127.5, 3.5});
    destroy(&parts);
}

static void pixels_must_be_pixels(void **state)
{
    const fg_csv_options options = {.no_header = true, .image = {1, 2, 1}};
    expect_error("1,256,0\n1,2,0\n", &options, FG_EFORMAT,
                 "t.csv:1: row 1, column '1': 256 is not a pixel of 0 to 255");
    expect_error("1,2,0\n-1,2,0\n", &options, FG_EFORMAT,
                 "t.csv:2: row 2, column '0': -1 is not a pixel of 0 to 255");
    expect_error("1,2.5,0\n1,2,0\n", &options, FG_EFORMAT,
                 "t.csv:1: row 1, column '1': 2.5 is not a pixel of 0 to 255");
    expect_error("1,2,0\n1,x,0\n", &options, FG_EFORMAT,
                 "t.csv:2: row 2, column '1': 'x' is not a number: every column of an image is a "
                 "pixel");
    expect_error("1,2,3,0\n1,2,3,0\n", &options, FG_ESHAPE,
                 "the columns have 3 features, an image of 1 x 2 x 1 needs as many pixels, all "
                 "numeric");
}

static const char *digits_path(void)
{
    return fgt_path(FGT_SOURCE_DIR "/share/data/digits", "digits.csv.gz");
}

static void the_digits_are_read(void **state)
{
    fg_csv_parts parts;
    fgt_ok(
        fg_csv_open(digits_path(),
                    &(fg_csv_options){.no_header = true, .image = {8, 8, 1}, .val_fraction = 0.2},
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
    destroy(&parts);
}

/* ---- types and the report ----------------------------------------------------------------------
 */

/* Warnings since the last call of `warned`. */
static char log_text[4096];

static void keep_line(void *self, fg_log_level level, const char *line)
{
    const size_t used = strlen(log_text);
    if (level == FG_LOG_WARNING)
        (void)snprintf(log_text + used, sizeof(log_text) - used, "%s\n", line);
}

/* What opening a text warns of. */
static const char *warned(const char *text, const fg_csv_options *options)
{
    fg_csv_parts parts;
    log_text[0] = '\0';
    fg_log_set(keep_line, NULL);
    fgt_ok(open_text(text, options, &parts));
    fg_log_set(NULL, NULL);
    destroy(&parts);
    return log_text;
}

static void nearly_numeric_columns_are_warned_of(void **state)
{
    const char *text = "age,y\n1,1\n2,2\nn.a.,3\n4,4\noops,1\n";
    const char *const age[] = {"age"}, *const na[] = {"n.a.", "oops"};
    assert_string_equal(
        warned(text, &(fg_csv_options){.task = "regression"}),
        "t.csv:4: row 3, column 'age': 'n.a.' is not a number, so the column is a category; 3 of "
        "its 5 values are numbers. If the text means a missing value, add it to data.na_values; to "
        "require numbers, add the column to data.numeric; to keep the categories, to "
        "data.categorical\n");
    /* categories by the user's word, numbers by it, or missing */
    assert_string_equal(
        warned(text,
               &(fg_csv_options){.task = "regression", .categorical = age, .categorical_count = 1}),
        "");
    expect_error(text, &(fg_csv_options){.task = "regression", .numeric = age, .numeric_count = 1},
                 FG_EFORMAT,
                 "t.csv:4: row 3, column 'age': 'n.a.' is not a number\ncorrect it, or count it as "
                 "missing with data.na_values and data.missing: mean");
    const fg_csv_options missing = {.task = "regression",
                                    .na_values = na,
                                    .na_value_count = 2,
                                    .missing = "mean",
                                    .no_normalize = true};
    assert_string_equal(warned(text, &missing), "");
    fg_csv_parts parts;
    fgt_ok(open_text(text, &missing, &parts));
    expect_row(parts.train, 2, 1, (const double[]){7.0 / 3});
    destroy(&parts);
    /* a column of texts with some numbers is one of texts */
    assert_string_equal(warned("c,y\na,1\nb,2\n7,3\n", &(fg_csv_options){.task = "regression"}),
                        "");
    assert_non_null(strstr(warned("x,y\n1,1\n2,2\n3,x\n", NULL),
                           "t.csv:4: row 3, column 'y': 'x' is not a number, so the column is a "
                           "class; 2 of its 3 values are numbers."));
    assert_non_null(strstr(
        warned("x;y\n1,5;1\n2,25;2\n", &(fg_csv_options){.delimiter = ';', .task = "regression"}),
        "t.csv:2: row 1, column 'x': '1,5' looks like a number with a decimal comma"));
}

static void write_text(const char *path, const char *text) { fgt_write(path, text, strlen(text)); }

/* The cell that is wrong is blamed, not one that comes to grief by it. */
static void the_cell_that_is_wrong_is_blamed(void **state)
{
    const char *const both[] = {"a", "b"};
    const char *path = fgt_path(fgt_temp_folder(), "train.csv");
    const char *other = fgt_path(fgt_temp_folder(), "val.csv");
    write_text(path, "a,y\n1,0.5\n2,1.5\noops,2\n");
    write_text(other, "a,y\n3.5,0.5\n");
    fg_csv_parts parts;
    assert_int_equal(fg_csv_open(path, &(fg_csv_options){.val_path = other}, &parts, &err),
                     FG_EFORMAT);
    assert_non_null(strstr(err.message, "val.csv:2: row 1, column 'a': '3.5' was not seen in "
                                        "training; the column is a category only because of "
                                        "'oops' in row 3 of the training file"));
    write_text(path, "a,y\n1,0.5\n2,1.5\n");
    write_text(other, "a,y\nx,0.5\n");
    assert_int_equal(fg_csv_open(path, &(fg_csv_options){.val_path = other}, &parts, &err),
                     FG_EFORMAT);
    assert_non_null(strstr(err.message, "val.csv:2: row 1, column 'a': 'x' is not a finite number, "
                                        "and the column is numeric"));
    expect_error(
        "a,b,y\n1,2,1\n",
        &(fg_csv_options){
            .numeric = both, .numeric_count = 2, .categorical = both, .categorical_count = 1},
        FG_EINVAL, "column 'a' is listed as numeric and categorical");
}

/* "inf" is a number, and not one to train with. */
static void infinite_values_are_errors_in_numeric_columns(void **state)
{
    static const char *const texts[] = {"inf", "-inf", "INF", "Infinity"};
    char text[64];
    const char *const na[] = {"inf"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        (void)snprintf(text, sizeof(text), "a,y\n1,1.5\n%s,2\n", texts[i]);
        expect_error(text, NULL, FG_EFORMAT,
                     "t.csv:3: row 2, column 'a': the value is infinite: expected a finite number\n"
                     "correct it, or count it as missing with data.na_values and data.missing: "
                     "mean");
        (void)snprintf(text, sizeof(text), "a,y\n1,1.5\n2,%s\n", texts[i]);
        expect_error(text, &(fg_csv_options){.task = "regression"}, FG_EFORMAT,
                     "t.csv:3: row 2, column 'y': the value is infinite: expected a finite number\n"
                     "correct it, or remove the row");
    }
    fg_csv_parts parts;
    fgt_ok(open_text("a,y\n1,1.5\ninf,2\n",
                     &(fg_csv_options){.missing = "mean", .na_values = na, .na_value_count = 1},
                     &parts));
    destroy(&parts);
    fgt_ok(open_text("a,y\nu,1.5\ninf,2\n", NULL, &parts)); /* a text among texts */
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 2);
    destroy(&parts);
}

static void another_delimiter_is_suggested(void **state)
{
    expect_error("a;b;y\n1;2;3\n", NULL, FG_EFORMAT,
                 "t.csv:1: the delimiter ',' gives one column, but ';' occurs 2 times in each of "
                 "the first rows\nset data.delimiter: \";\"");
    expect_error(
        "a;y\n1,5;3\n", NULL, FG_EFORMAT,
        "t.csv:1: the delimiter ',' gives one column, but ';' occurs 1 time in each of the "
        "first rows\nset data.delimiter: \";\"");
    expect_error("a\ty\n1\t3\n", NULL, FG_EFORMAT,
                 "t.csv:1: the delimiter ',' gives one column, but '\\t' occurs 1 time in each of "
                 "the first rows\nset data.delimiter: \"\\t\"");
    expect_error("a,y\n1,3\n", &(fg_csv_options){.delimiter = '\t'}, FG_EFORMAT,
                 "t.csv:1: the delimiter '\\t' gives one column, but ',' occurs 1 time in each of "
                 "the first rows\nset data.delimiter: \",\"");
    fg_csv_parts parts; /* one column, and not by mistake */
    fgt_ok(open_text("a\n1\n2\n", &(fg_csv_options){.target = ""}, &parts));
    destroy(&parts);
}

static void the_report_lists_the_columns(void **state)
{
    const char *const id[] = {"id"};
    fg_csv_parts parts;
    fgt_ok(open_text("id,age,kind,price\n7,30,loft,42\n8,67,flat,130.5\n9,,loft,218\n",
                     &(fg_csv_options){.ignore = id,
                                       .ignore_count = 1,
                                       .missing = "mean",
                                       .task = "regression",
                                       .standardize_target = true},
                     &parts));
    assert_string_equal(
        fg_csv_schema_report(parts.schema),
        "t.csv: 3 rows, 3 of them for training, 3 features\n"
        "column  type             missing  range or categories\n"
        "id      ignored\n"
        "age     numeric                1  30 to 67, mean 48.5, deviation 18.5\n"
        "kind    categorical            0  2: flat, loft\n"
        "price   target, number         0  42 to 218, mean 130.167, deviation 71.8521 "
        "(standardised for training)\n");
    fg_csv_column c;
    assert_int_equal(fg_csv_schema_column_count(parts.schema), 4);
    fgt_ok(fg_csv_schema_column(parts.schema, 1, &c, &err));
    assert_string_equal(c.kind, "numeric");
    assert_true(c.numbers == 2 && c.missing == 1 && c.texts == 0 && c.min == 30 && c.max == 67);
    fgt_ok(fg_csv_schema_column(parts.schema, 2, &c, &err));
    assert_string_equal(c.kind, "categorical");
    assert_true(c.category_count == 2 && c.texts == 3 && c.text_row == 1 && isnan(c.min));
    assert_string_equal(c.categories[1], "loft");
    assert_string_equal(c.text, "loft");
    assert_int_equal(fg_csv_schema_column(parts.schema, 4, &c, &err), FG_EINVAL);
    destroy(&parts);
    /* of many columns only the first are listed, and the target */
    char text[2048] = "";
    size_t size = 0;
    for (int row = 0; row < 3; row++)
        for (int i = 0; i < 60; i++)
            size += (size_t)snprintf(text + size, sizeof(text) - size, "%d.5%s", i * row,
                                     i == 59 ? "\n" : ",");
    fgt_ok(open_text(text, &(fg_csv_options){.no_header = true}, &parts));
    const char *report = fg_csv_schema_report(parts.schema);
    assert_non_null(strstr(report, "\n39      numeric"));
    assert_null(strstr(report, "\n40      "));
    assert_non_null(strstr(report, "... and 20 more: 19 numeric, 0 categorical, 0 ignored; 0 "
                                   "values are missing\n59      target, number"));
    destroy(&parts);
}

/* The pixels of an image have one line together; a column of one value has no deviation. */
static void the_report_sums_up_pixels(void **state)
{
    const char *const id[] = {"id"};
    fg_csv_parts parts;
    fgt_ok(open_text("id,p0,p1,p2,p3,digit\n7,0,255,3,,five\n8,0,16,5,2,four\n",
                     &(fg_csv_options){.ignore = id,
                                       .ignore_count = 1,
                                       .image = {2, 2, 1},
                                       .missing = "mean",
                                       .task = "classification"},
                     &parts));
    assert_string_equal(fg_csv_schema_report(parts.schema),
                        "t.csv: 2 rows, 2 of them for training, 4 features\n"
                        "column  type             missing  range or categories\n"
                        "pixels  numeric                1  4 columns, 0 to 255\n"
                        "id      ignored\n"
                        "digit   target, classes        0  2: five, four\n");
    destroy(&parts);
    fgt_ok(open_text("a,b,c\n1.5,0,2\n2.5,0,3\n", &(fg_csv_options){.task = "regression"}, &parts));
    assert_non_null(strstr(fg_csv_schema_report(parts.schema),
                           "\na       numeric                0  1.5 to 2.5, mean 2, deviation 0.5\n"
                           "b       numeric                0  constant 0\n"));
    destroy(&parts);
}

/* y leads back to the file's numbers, at any scale; figures are of the training rows. */
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
        fgt_ok(open_text(text,
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
                const sample s = read_row(dataset, i);
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
        destroy(&parts);
    }
    fg_csv_parts parts;
    double mean, deviation;
    fgt_ok(open_text("x,y\n1,0.5\n2,3.5\n", NULL, &parts));
    assert_false(fg_csv_schema_target_scale(parts.schema, &mean, &deviation));
    assert_true(mean == 0 && deviation == 1);
    assert_true(read_row(parts.train, 1).y.f32 == 3.5f);
    destroy(&parts);
    /* classes are no numbers to standardise; a constant target has no deviation */
    fgt_ok(open_text("x,y\n1,a\n2,b\n", &(fg_csv_options){.standardize_target = true}, &parts));
    assert_false(fg_csv_schema_target_scale(parts.schema, &mean, &deviation));
    destroy(&parts);
    fgt_ok(open_text("x,y\n1,4.5\n2,4.5\n", &(fg_csv_options){.standardize_target = true}, &parts));
    assert_true(fg_csv_schema_target_scale(parts.schema, &mean, &deviation));
    assert_true(mean == 4.5 && deviation == 1 && read_row(parts.train, 0).y.f32 == 0);
    destroy(&parts);
}

/* Rules of a schema go with it: what counts as missing too. */
static void a_schema_keeps_what_is_missing(void **state)
{
    const char *const na[] = {"n.a.", "-"};
    fg_csv_parts parts;
    fg_csv_schema *again;
    fg_dataset *dataset;
    fgt_ok(open_text(
        "x,y\n1,0.5\n3,1.5\nn.a.,1\n",
        &(fg_csv_options){
            .missing = "mean", .na_values = na, .na_value_count = 2, .no_normalize = true},
        &parts));
    const char *json = fg_csv_schema_json(parts.schema);
    fgt_ok(fg_csv_schema_parse(json, strlen(json), &again, &err));
    assert_string_equal(fg_csv_schema_json(again), json);
    const char *path = fgt_path(fgt_temp_folder(), "new.csv");
    write_text(path, "x\n5\n-\n");
    fgt_ok(fg_csv_apply(again, path, &dataset, &err));
    float x = 0;
    fgt_ok(fg_dataset_read(dataset, 1, (void *const[]){&x}, &err));
    assert_true(x == 2.0f);
    fg_dataset_destroy(dataset);
    fg_csv_schema_destroy(again);
    destroy(&parts);
}

/* ---- training and validation ----------------------------------------------------------------- */

static void only_training_rows_are_fitted(void **state)
{
    char text[4096] = "a,y\n";
    size_t size = 4;
    for (int i = 0; i < 100; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%d,%d.5\n", i * i, i);
    fg_csv_parts parts;
    fgt_ok(open_text(text, &(fg_csv_options){.val_fraction = 0.3, .split_seed = 8}, &parts));
    assert_int_equal(fg_dataset_count(parts.train), 70);
    assert_int_equal(fg_dataset_count(parts.val), 30);
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < 70; i++) {
        const double row = (double)read_row(parts.train, i).y.f32 - 0.5;
        mean += row * row / 70;
    }
    for (int64_t i = 0; i < 70; i++) {
        const double row = (double)read_row(parts.train, i).y.f32 - 0.5;
        squares += (row * row - mean) * (row * row - mean) / 70;
    }
    for (int part = 0; part < 2; part++) {
        const fg_dataset *dataset = part == 0 ? parts.train : parts.val;
        for (int64_t i = 0; i < fg_dataset_count(dataset); i++) {
            const sample s = read_row(dataset, i);
            const double row = (double)s.y.f32 - 0.5;
            fgt_close("x", (double)s.x[0], (row * row - mean) / sqrt(squares), 1e-7, 2e-7);
        }
    }
    destroy(&parts);
}

static void categories_of_training_rows_count_and_classes_of_all(void **state)
{
    /* every row has a category of its own, so validation's are unknown */
    const char *text = "kind,y\na,p\nb,q\nc,r\nd,s\ne,p\nf,q\n";
    fg_csv_parts parts;
    fg_csv_options options = {.val_fraction = 0.5};
    assert_int_equal(open_text(text, &options, &parts), FG_EFORMAT);
    assert_non_null(strstr(err.message, "' was not seen in training"));
    options.unknown = "zero";
    fgt_ok(open_text(text, &options, &parts));
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 3);
    assert_int_equal(fg_dataset_class_count(parts.train), 4);
    for (int64_t i = 0; i < 3; i++) {
        expect_row(parts.val, i, 3, (const double[]){0, 0, 0});
        const sample s = read_row(parts.train, i);
        assert_true(s.x[i] == 1.0f);
    }
    destroy(&parts);
}

static void another_file_may_validate(void **state)
{
    char train[512], val[512];
    const char *folder = fgt_temp_folder();
    (void)snprintf(train, sizeof(train), "%s/train.csv", folder);
    (void)snprintf(val, sizeof(val), "%s/val.csv", folder);
    fgt_write(train, "a,b,y\n1,u,0.5\n3,v,1\n", 20);
    fgt_write(val, "y,c,b,a\n7,junk,v,4\n", 19);
    fg_csv_parts parts;
    fgt_ok(fg_csv_open(train, &(fg_csv_options){.val_path = val}, &parts, &err));
    assert_int_equal(fg_dataset_count(parts.val), 1);
    expect_row(parts.val, 0, 3, (const double[]){2, 0, 1}); /* mean 2, deviation 1 */
    assert_true(read_row(parts.val, 0).y.f32 == 7.0f);
    destroy(&parts);
    fgt_write(val, "c,b,a\n1,v,4\n", 12);
    assert_int_equal(fg_csv_open(train, &(fg_csv_options){.val_path = val}, &parts, &err),
                     FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "val.csv:1: no column 'y' (target)"));
    assert_null(parts.train);
    fgt_write(val, "b,y\nv,4\n", 8);
    assert_int_equal(fg_csv_open(train, &(fg_csv_options){.val_path = val}, &parts, &err),
                     FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "val.csv:1: no column 'a'"));
}

/* ---- schemas --------------------------------------------------------------------------------- */

static void a_schema_survives_its_json(void **state)
{
    char file[512];
    const char *text = "size,kind,id,y\n0.1,\"a \"\"b\"\"\",7,yes\n0.7,c,8,no\n0.30001,c,9,yes\n"
                       "0.2,c,9,no\n";
    (void)snprintf(file, sizeof(file), "%s/t.csv", fgt_temp_folder());
    fgt_write(file, text, strlen(text));
    const char *const ignored[] = {"id"};
    fg_csv_parts parts;
    fgt_ok(
        fg_csv_open(file, &(fg_csv_options){.ignore = ignored, .ignore_count = 1}, &parts, &err));
    const char *json = fg_csv_schema_json(parts.schema);
    fg_csv_schema *again;
    fg_dataset *dataset;
    fgt_ok(fg_csv_schema_parse(json, strlen(json), &again, &err));
    assert_string_equal(fg_csv_schema_json(again), json);
    assert_int_equal(fg_csv_schema_feature_count(again), 3);
    fgt_ok(fg_csv_apply(again, file, &dataset, &err));
    for (int64_t i = 0; i < 4; i++) {
        const sample ours = read_row(parts.train, i), theirs = read_row(dataset, i);
        assert_memory_equal(&ours, &theirs, sizeof(ours)); /* bit for bit */
    }
    assert_string_equal(fg_dataset_class_name(dataset, 0), "no");
    fg_dataset_destroy(dataset);
    fg_csv_schema_destroy(again);
    destroy(&parts);
}

static void new_files_need_no_target(void **state)
{
    char file[512];
    (void)snprintf(file, sizeof(file), "%s/new.csv", fgt_temp_folder());
    fg_csv_parts parts;
    fg_dataset *dataset;
    fgt_ok(open_text("0,1,5\n1,0,6\n0,3,5\n1,4,6\n",
                     &(fg_csv_options){.no_header = true, .target = "0", .no_normalize = true},
                     &parts));
    fgt_write(file, "8,9\n", 4); /* columns 1 and 2: the target, column 0, is not there */
    fgt_ok(fg_csv_apply(parts.schema, file, &dataset, &err));
    assert_int_equal(fg_dataset_field_count(dataset), 1);
    assert_int_equal(fg_dataset_class_count(dataset), 2); /* names for what is predicted */
    float x[2];
    fgt_ok(fg_dataset_read(dataset, 0, (void *const[]){x}, &err));
    assert_true(x[0] == 8.0f && x[1] == 9.0f);
    fg_dataset_destroy(dataset);
    fgt_write(file, "1,2,3,4\n", 8);
    assert_int_equal(fg_csv_apply(parts.schema, file, &dataset, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, "the file has 4 columns, the training file had 3"));
    fgt_write(file, "2,2,3\n", 6);
    assert_int_equal(fg_csv_apply(parts.schema, file, &dataset, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, "row 1, column '0': '2' is not one of the classes"));
    destroy(&parts);
}

static void new_rows_must_fit_the_schema(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"n,c,y\nx,u,1\n", ":2: row 1, column 'n': 'x' is not a finite number"},
        {"n,c,y\n1,u,1\n,u,1\n", ":3: row 2, column 'n': the value is missing"},
        {"n,c,y\n1,NA,1\n", ":2: row 1, column 'c': the value is missing"},
        {"n,c,y\n1,w,1\n", ":2: row 1, column 'c': 'w' was not seen in training"},
        {"n,c,y\n1,v,?\n", ":2: row 1, column 'y': the target is missing"},
        {"n,c,y\n1,v,z\n", ":2: row 1, column 'y': 'z' is not a finite number"},
        {"n,c,y\n1e300,v,1\n", ":2: row 1, column 'n': 1e+300 is out of range for a 32-bit float"},
    };
    char file[512];
    (void)snprintf(file, sizeof(file), "%s/new.csv", fgt_temp_folder());
    fg_csv_parts parts;
    fg_dataset *dataset;
    fgt_ok(open_text("n,c,y\n1,u,1\n2,v,2\n", &plain, &parts));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fgt_write(file, cases[i].text, strlen(cases[i].text));
        assert_int_equal(fg_csv_apply(parts.schema, file, &dataset, &err), FG_EFORMAT);
        assert_null(dataset);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("'%s' lacks '%s'", err.message, cases[i].message);
    }
    destroy(&parts);
}

static void expect_bad_schema(const char *from, const char *to, const char *message)
{
    static const char good[] =
        "{'format':'fulgurite csv schema','version':1,'header':true,'delimiter':',',"
        "'normalize':true,'missing':'error','unknown':'error','classes':['a','b'],"
        "'numeric_classes':false,'columns':[{'name':'n','kind':'numeric','mean':1.5,"
        "'deviation':2},{'name':'c','kind':'categorical','values':['u','v']},"
        "{'name':'y','kind':'target'}]}";
    char text[1024];
    const char *at = strstr(good, from);
    assert_non_null(at);
    const int size =
        snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    for (int i = 0; i < size; i++)
        text[i] = text[i] == '\'' ? '"' : text[i];
    fg_csv_schema *schema;
    const fg_status status = fg_csv_schema_parse(text, (size_t)size, &schema, &err);
    if (message == NULL) {
        fgt_ok(status);
        fg_csv_schema_destroy(schema);
        return;
    }
    assert_int_equal(status, FG_EFORMAT);
    assert_null(schema);
    if (strstr(err.message, message) == NULL)
        fail_msg("'%s' lacks '%s'", err.message, message);
}

static void damaged_schemas_are_refused(void **state)
{
    expect_bad_schema("{'format'", "{'format'", NULL);
    expect_bad_schema("csv schema", "model", "not a csv schema");
    expect_bad_schema("'version':1", "'version':2", "of another version");
    expect_bad_schema("'delimiter':','", "'delimiter':'::'", "delimiter is not one character");
    expect_bad_schema("'header':true", "'header':1", "header, normalize, missing");
    expect_bad_schema("'missing':'error'", "'missing':'maybe'", "header, normalize, missing");
    expect_bad_schema("'deviation':2", "'deviation':0", "deviation over 0");
    expect_bad_schema("'mean':1.5", "'mean':'x'", "without a mean");
    expect_bad_schema("'numeric'", "'vague'", "unknown kind");
    expect_bad_schema("'name':'c'", "'name':'n'", "two columns of one name");
    expect_bad_schema("['u','v']", "['u','u']", "a string occurs twice");
    expect_bad_schema("['u','v']", "['u',1]", "expected a list of strings");
    expect_bad_schema("['a','b']", "[]", "classes without a target, or none of them");
    expect_bad_schema("'categorical'", "'target'", "two targets");
    expect_bad_schema("'classes'", "'image':[1,1],'image_scale':0,'classes'", "three sizes");
    expect_bad_schema("]}", "", "csv schema: byte ");
}

/* ---- faults ---------------------------------------------------------------------------------- */

static fg_status open_and_apply(void *self, fg_error *e)
{
    const char *file = self;
    fg_csv_parts parts;
    fg_csv_schema *schema = NULL;
    fg_dataset *dataset = NULL;
    fg_status status = fg_csv_open(file, &(fg_csv_options){.val_fraction = 0.4}, &parts, e);
    if (status == FG_OK) {
        const char *json = fg_csv_schema_json(parts.schema);
        status = fg_csv_schema_parse(json, strlen(json), &schema, e);
    }
    if (status == FG_OK)
        status = fg_csv_apply(schema, file, &dataset, e);
    fg_dataset_destroy(dataset);
    fg_csv_schema_destroy(schema);
    destroy(&parts);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    char file[512];
    const char *text = "size,kind,y\n0.1,\"a\"\"b\",yes\n0.7,c,no\n0.3,c,yes\n0.2,\"a\"\"b\",no\n"
                       "0.2,c,no\n0.9,\"a\"\"b\",yes\n";
    (void)snprintf(file, sizeof(file), "%s/t.csv", fgt_temp_folder());
    fgt_write(file, text, strlen(text));
    fgt_fault_loop(open_and_apply, file);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(quotes_follow_rfc_4180),
    cmocka_unit_test(errors_of_form_name_line_and_byte),
    cmocka_unit_test(only_real_utf8_is_taken),
    cmocka_unit_test(other_delimiters_work),
    cmocka_unit_test(numbers_agree_with_numpy),
    cmocka_unit_test(categories_become_one_hot_in_bytewise_order),
    cmocka_unit_test(the_target_is_named_or_last),
    cmocka_unit_test(the_task_follows_from_the_target),
    cmocka_unit_test(numeric_classes_are_in_numeric_order_and_written_one_way),
    cmocka_unit_test(missing_values_are_errors_or_means),
    cmocka_unit_test(what_is_no_number_is_said),
    cmocka_unit_test(wrong_options_are_named),
    cmocka_unit_test(columns_may_be_pixels),
    cmocka_unit_test(pixels_must_be_pixels),
    cmocka_unit_test(the_digits_are_read),
    cmocka_unit_test(nearly_numeric_columns_are_warned_of),
    cmocka_unit_test(the_cell_that_is_wrong_is_blamed),
    cmocka_unit_test(infinite_values_are_errors_in_numeric_columns),
    cmocka_unit_test(another_delimiter_is_suggested),
    cmocka_unit_test(the_report_lists_the_columns),
    cmocka_unit_test(the_report_sums_up_pixels),
    cmocka_unit_test(a_target_is_standardized),
    cmocka_unit_test(a_schema_keeps_what_is_missing),
    cmocka_unit_test(only_training_rows_are_fitted),
    cmocka_unit_test(categories_of_training_rows_count_and_classes_of_all),
    cmocka_unit_test(another_file_may_validate),
    cmocka_unit_test(a_schema_survives_its_json),
    cmocka_unit_test(new_files_need_no_target),
    cmocka_unit_test(new_rows_must_fit_the_schema),
    cmocka_unit_test(damaged_schemas_are_refused),
    cmocka_unit_test(every_allocation_may_fail),
};
FGT_MAIN(tests)
