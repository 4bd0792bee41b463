/* test_data_csv_schema.c - schemas of CSV files: fitted on the training rows, stored as JSON,
 * applied to other files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include "csv_text.h"
#include "input/csv_table.h"

/* ---- types and the report -------------------------------------------------------------------- */

/* A schema includes its rules, such as the missing-value markers. */
static void a_schema_keeps_what_is_missing(void **state)
{
    const char *const na[] = {"n.a.", "-"};
    fg_csv_parts parts;
    fg_csv_schema *again;
    fg_dataset *dataset;
    fgt_ok(csv_open_text(
        "x,y\n1,0.5\n3,1.5\nn.a.,1\n",
        &(fg_csv_options){.missing = "mean", .na_values = {na, 2}, .no_normalize = true}, &parts));
    const char *json = fg_csv_schema_json(parts.schema);
    fgt_ok(fg_csv_schema_parse(json, strlen(json), &again, &err));
    assert_string_equal(fg_csv_schema_json(again), json);
    const char *path = fgt_path(fgt_temp_folder(), "new.csv");
    csv_write_text(path, "x\n5\n-\n");
    fgt_ok(fg_csv_apply(again, path, NULL, &dataset, &err));
    float x = 0;
    fgt_ok(fg_dataset_read(dataset, 1, (void *const[]){&x}, &err));
    assert_true(x == 2.0f);
    fg_dataset_destroy(dataset);
    fg_csv_schema_destroy(again);
    csv_destroy(&parts);
}

/* ---- training and validation ----------------------------------------------------------------- */

static void only_training_rows_are_fitted(void **state)
{
    char text[4096] = "a,y\n";
    size_t size = 4;
    for (int i = 0; i < 100; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%d,%d.5\n", i * i, i);
    fg_csv_parts parts;
    fgt_ok(csv_open_text(text, &(fg_csv_options){.val_fraction = 0.3, .split_seed = 8}, &parts));
    assert_int_equal(fg_dataset_count(parts.train), 70);
    assert_int_equal(fg_dataset_count(parts.val), 30);
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < 70; i++) {
        const double row = (double)csv_read_row(parts.train, i).y.f32 - 0.5;
        mean += row * row / 70;
    }
    for (int64_t i = 0; i < 70; i++) {
        const double row = (double)csv_read_row(parts.train, i).y.f32 - 0.5;
        squares += (row * row - mean) * (row * row - mean) / 70;
    }
    for (int part = 0; part < 2; part++) {
        const fg_dataset *dataset = part == 0 ? parts.train : parts.val;
        for (int64_t i = 0; i < fg_dataset_count(dataset); i++) {
            const csv_sample s = csv_read_row(dataset, i);
            const double row = (double)s.y.f32 - 0.5;
            fgt_close("x", (double)s.x[0], (row * row - mean) / sqrt(squares), 1e-7, 2e-7);
        }
    }
    csv_destroy(&parts);
}

static void categories_of_training_rows_count_and_classes_of_all(void **state)
{
    /* every row has a different category, so validation's are unknown */
    const char *text = "kind,y\na,p\nb,q\nc,r\nd,s\ne,p\nf,q\n";
    fg_csv_parts parts;
    fg_csv_options options = {.val_fraction = 0.5};
    assert_int_equal(csv_open_text(text, &options, &parts), FG_EFORMAT);
    fgt_message_is(err.message,
                   "t.csv:4: row 3, column 'kind': 'c' does not occur in the training data, in "
                   "which the column has 3 categories\nif it is a name or an identifier, list it "
                   "in data.ignore; data.unknown: zero encodes unknown categories as zeros");
    options.unknown = "zero";
    fgt_ok(csv_open_text(text, &options, &parts));
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 3);
    assert_int_equal(fg_dataset_class_count(parts.train), 4);
    for (int64_t i = 0; i < 3; i++) {
        csv_expect_row(parts.val, i, 3, (const double[]){0, 0, 0});
        const csv_sample s = csv_read_row(parts.train, i);
        assert_true(s.x[i] == 1.0f);
    }
    csv_destroy(&parts);
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
    fgt_ok(fg_csv_load(train, &(fg_csv_options){.val_path = val}, &parts, &err));
    assert_int_equal(fg_dataset_count(parts.val), 1);
    csv_expect_row(parts.val, 0, 3, (const double[]){2, 0, 1}); /* mean 2, deviation 1 */
    assert_true(csv_read_row(parts.val, 0).y.f32 == 7.0f);
    csv_destroy(&parts);
    fgt_write(val, "c,b,a\n1,v,4\n", 12);
    assert_int_equal(fg_csv_load(train, &(fg_csv_options){.val_path = val}, &parts, &err),
                     FG_ENOTFOUND);
    fgt_message_is(err.message, "~/val.csv:1: target column 'y' does not exist");
    assert_null(parts.train);
    fgt_write(val, "b,y\nv,4\n", 8);
    assert_int_equal(fg_csv_load(train, &(fg_csv_options){.val_path = val}, &parts, &err),
                     FG_ENOTFOUND);
    fgt_message_is(err.message, "~/val.csv:1: no column 'a'");
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
    fgt_ok(fg_csv_load(file, &(fg_csv_options){.ignore = {ignored, 1}}, &parts, &err));
    const char *json = fg_csv_schema_json(parts.schema);
    fg_csv_schema *again;
    fg_dataset *dataset;
    fgt_ok(fg_csv_schema_parse(json, strlen(json), &again, &err));
    assert_string_equal(fg_csv_schema_json(again), json);
    assert_int_equal(fg_csv_schema_feature_count(again), 3);
    fgt_ok(fg_csv_apply(again, file, NULL, &dataset, &err));
    for (int64_t i = 0; i < 4; i++) {
        const csv_sample ours = csv_read_row(parts.train, i), theirs = csv_read_row(dataset, i);
        assert_memory_equal(&ours, &theirs, sizeof(ours)); /* bit for bit */
    }
    assert_string_equal(fg_dataset_class_name(dataset, 0), "no");
    fg_dataset_destroy(dataset);
    fg_csv_schema_destroy(again);
    csv_destroy(&parts);
}

static void new_files_need_no_target(void **state)
{
    char file[512];
    (void)snprintf(file, sizeof(file), "%s/new.csv", fgt_temp_folder());
    fg_csv_parts parts;
    fg_dataset *dataset;
    fgt_ok(csv_open_text(
        "0,1,5\n1,0,6\n0,3,5\n1,4,6\n",
        &(fg_csv_options){.header = FG_CSV_HEADER_NO, .target = "0", .no_normalize = true},
        &parts));
    fgt_write(file, "8,9\n", 4); /* columns 1 and 2: the target, column 0, is missing */
    fgt_ok(fg_csv_apply(parts.schema, file, NULL, &dataset, &err));
    assert_int_equal(fg_dataset_field_count(dataset), 1);
    assert_int_equal(fg_dataset_class_count(dataset), 2); /* names of the predictions */
    float x[2];
    fgt_ok(fg_dataset_read(dataset, 0, (void *const[]){x}, &err));
    assert_true(x[0] == 8.0f && x[1] == 9.0f);
    fg_dataset_destroy(dataset);
    fgt_write(file, "1,2,3,4\n", 8);
    assert_int_equal(fg_csv_apply(parts.schema, file, NULL, &dataset, &err), FG_EFORMAT);
    fgt_message_is(err.message,
                   "~/new.csv:1: the file has 4 columns: expected 3, as in the training file");
    fgt_write(file, "2,2,3\n", 6);
    assert_int_equal(fg_csv_apply(parts.schema, file, NULL, &dataset, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/new.csv:1: row 1, column '0': '2' is not one of the classes");
    csv_destroy(&parts);
}

static const struct {
    const char *text, *message;
} misfits[] = {
    {"n,c,y\nx,u,1\n",
     "~/new.csv:2: row 1, column 'n': 'x' is not a finite number, but the column is "
     "numeric\ncorrect it, or treat it as missing with data.na_values and data.missing: mean"},
    {"n,c,y\n1,u,1\n,u,1\n",
     "~/new.csv:3: row 2, column 'n': the value is missing\nset data.missing: mean to use the "
     "column's mean over the training rows, or remove the row"},
    {"n,c,y\n1,NA,1\n",
     "~/new.csv:2: row 1, column 'c': the value is missing: 'NA'\nset data.missing: mean to "
     "use the column's mean over the training rows, or remove the row; if 'NA' is a value "
     "here, write it in quotes, or set data.keep_default_na: false"},
    {"n,c,y\n1,w,1\n",
     "~/new.csv:2: row 1, column 'c': 'w' does not occur in the training data, in which the "
     "column has 2 categories\nif it is a name or an identifier, list it in data.ignore; "
     "data.unknown: zero encodes unknown categories as zeros"},
    {"n,c,y\n1,v,?\n",
     "~/new.csv:2: row 1, column 'y': the target is missing: '?'\nremove the row: a missing "
     "target is always an error; if '?' is a value here, set data.keep_default_na: false"},
    {"n,c,y\n1,v,z\n", "~/new.csv:2: row 1, column 'y': 'z' is not a finite number, but the "
                       "column is numeric\ncorrect it, or remove the row"},
    {"n,c,y\n1e300,v,1\n", "~/new.csv:2: row 1, column 'n': 1e+300 is out of range for f32"},
};

static void new_rows_must_fit_the_schema(void **state)
{
    char file[512];
    (void)snprintf(file, sizeof(file), "%s/new.csv", fgt_temp_folder());
    fg_csv_parts parts;
    fg_dataset *dataset;
    fgt_ok(csv_open_text("n,c,y\n1,u,1\n2,v,2\n", &csv_plain, &parts));
    for (size_t i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++) {
        fgt_write(file, misfits[i].text, strlen(misfits[i].text));
        assert_int_equal(fg_csv_apply(parts.schema, file, NULL, &dataset, &err), FG_EFORMAT);
        assert_null(dataset);
        fgt_message_is(err.message, misfits[i].message);
    }
    csv_destroy(&parts);
}

/* To predict: the row is zeros, and has the reason; the others are as they would be without it. */
static void damaged_rows_can_be_kept(void **state)
{
    static const char text[] = "n,c,y\n1,u,1\nx,v,1\n2,v,1\n3,w,1\n";
    const fg_csv_apply_options keep = {.no_target = true, .keep_damaged = true};
    char file[512];
    float x[3];
    fg_csv_parts parts;
    fg_dataset *dataset;
    (void)snprintf(file, sizeof(file), "%s/new.csv", fgt_temp_folder());
    fgt_ok(csv_open_text("n,c,y\n1,u,1\n2,v,2\n", &csv_plain, &parts));
    fgt_write(file, text, strlen(text));
    fgt_ok(fg_csv_apply(parts.schema, file, &keep, &dataset, &err));
    assert_int_equal(fg_dataset_count(dataset), 4);
    for (int64_t i = 0; i < 4; i++) {
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){x}, &err));
        assert_true((x[1] == 0 && x[2] == 0) == (i == 1 || i == 3));
    }
    assert_string_equal(fg_dataset_sample_error(dataset, 0), "");
    fgt_message_is(fg_dataset_sample_error(dataset, 1),
                   "~/new.csv:3: row 2, column 'n': 'x' is not a finite number, but the "
                   "column is numeric; correct it, or @");
    assert_string_equal(fg_dataset_sample_error(dataset, 2), "");
    fgt_message_is(fg_dataset_sample_error(dataset, 3),
                   "~/new.csv:5: row 4, column 'c': 'w' does not occur in the training data, @; "
                   "data.unknown: zero encodes unknown categories as zeros");
    fg_dataset_destroy(dataset);
    fgt_write(file, "n,c,y\n1,u,1\n", 12);
    fgt_ok(fg_csv_apply(parts.schema, file, &keep, &dataset, &err));
    assert_null(fg_dataset_sample_error(dataset, 0)); /* no row can be damaged now */
    fg_dataset_destroy(dataset);
    csv_destroy(&parts);
}

static void a_schema_can_be_fitted_alone(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "fit.csv");
    const fg_csv_options o = {.task = "regression", .val_fraction = 0.5};
    fg_csv_schema *schema;
    fg_csv_parts parts;
    csv_write_text(path, "a,y\n1,1.5\n2,7.5\n40,6.5\n800,9.5\n");
    fgt_ok(fg_csv_schema_fit(path, &o, &schema, &err)); /* to the training rows */
    fgt_ok(fg_csv_load(path, &o, &parts, &err));
    assert_string_equal(fg_csv_schema_json(schema), fg_csv_schema_json(parts.schema));
    fg_csv_schema_destroy(schema);
    csv_destroy(&parts);
}

static const fg_csv_apply_options keep_rows = {.no_target = true, .keep_damaged = true};

/* Applies a schema to a text. */
static fg_dataset *kept(const fg_csv_schema *schema, const char *text, size_t size)
{
    fg_dataset *dataset;
    const char *file = fgt_path(fgt_temp_folder(), "new.csv");
    fgt_write(file, text, size);
    const fg_status status = fg_csv_apply(schema, file, &keep_rows, &dataset, &err);
    assert_true(status == FG_OK || status == FG_EFORMAT);
    return dataset;
}

/* A row of the wrong shape ends with its line, whatever its quotes are. */
static void faulty_rows_can_be_kept(void **state)
{
    static const char text[] = "n,c,y\n1,u,1\n1,u\n1,u,1,1\n\"1,u,1\n2,\"v\"z,1\n\xff,u,1\n"
                               "\"2\",\"v\",1\n1,\"u\nv\"\n\"1,u,1\n2,v,1\n";
    static const char *const reasons[] = {
        NULL,
        "~/new.csv:3: row 2 has 2 columns, but the header has 3",
        "~/new.csv:4: row 3 has 4 columns, but the header has 3",
        "~/new.csv:6: byte 34: text after the closing quote",
        "~/new.csv:6: byte 36: text after the closing quote",
        "~/new.csv:7: byte 40: invalid UTF-8; export the table as UTF-8, or convert it: iconv "
        "-f CP1252 -t UTF-8 '~/new.csv' > 'utf8-new.csv'",
        NULL,
        "~/new.csv:9: row 8 has 2 columns, but the header has 3",
        "~/new.csv:10: row 9 has 1 column, but the header has 3",
        "~/new.csv:11: byte 64: unclosed quote",
        NULL,
    };
    float x[3];
    fg_csv_parts parts;
    fgt_ok(csv_open_text("n,c,y\n1,u,1\n2,v,2\n", &csv_plain, &parts));
    fg_dataset *dataset = kept(parts.schema, text, strlen(text));
    assert_int_equal(fg_dataset_count(dataset), 11);
    for (int64_t i = 0; i < 11; i++) {
        const char *reason = fg_dataset_sample_error(dataset, i);
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){x}, &err));
        assert_true((x[0] == 0) == (reasons[i] != NULL));
        fgt_message_is(reason, reasons[i] != NULL ? reasons[i] : "");
    }
    fg_dataset_destroy(dataset);
    csv_destroy(&parts);
}

static void faulty_headers_are_errors(void **state)
{
    static char large[12100] = "n,c,y\n";
    fg_csv_parts parts;
    fgt_ok(csv_open_text("n,c,y\n1,u,1\n2,v,2\n", &csv_plain, &parts));
    assert_null(kept(parts.schema, "n,\xff,y\n1,u,1\n", 12));
    for (int i = 0; i < 2000; i++) /* lines are counted */
        memcpy(large + 6 + 6 * i, i % 1000 == 999 ? "1,u,,\n" : "1,u,1\n", 6);
    fg_dataset *dataset = kept(parts.schema, large, 12006);
    fgt_message_is(fg_dataset_sample_error(dataset, 999),
                   "~/new.csv:1001: row 1000 has 4 columns, but the header has 3");
    fgt_message_is(fg_dataset_sample_error(dataset, 1999),
                   "~/new.csv:2001: row 2000 has 4 columns, but the header has 3");
    fg_dataset_destroy(dataset);
    csv_destroy(&parts);
    fgt_ok(csv_open_text("0,1,5\n1,0,6\n0,3,5\n1,4,6\n",
                         &(fg_csv_options){.header = FG_CSV_HEADER_NO, .no_normalize = true},
                         &parts));
    dataset = kept(parts.schema, "7\n8,9\n", 6); /* the first row is not a header */
    fgt_message_is(fg_dataset_sample_error(dataset, 0),
                   "~/new.csv:1: row 1 has 1 column, but the first row has 2");
    assert_string_equal(fg_dataset_sample_error(dataset, 1), "");
    fg_dataset_destroy(dataset);
    csv_destroy(&parts);
}

static const struct {
    const char *from, *to, *message; /* NULL: it is a schema */
} bad_schemas[] = {
    {"{'format'", "{'format'", NULL},
    {"csv schema", "model", "this is not a csv schema"},
    {"'version':1", "'version':2", "unsupported schema version"},
    {"'delimiter':','", "'delimiter':'::'", "delimiter: expected one character"},
    {"'header':true", "'header':1", "header, normalize, missing or unknown is missing or invalid"},
    {"'missing':'error'", "'missing':'maybe'",
     "header, normalize, missing or unknown is missing or invalid"},
    {"'deviation':2", "'deviation':0", "a numeric column has no mean or no positive deviation"},
    {"'mean':1.5", "'mean':'x'", "a numeric column has no mean or no positive deviation"},
    {"'numeric'", "'vague'", "a column has an unknown kind"},
    {"'name':'c'", "'name':'n'", "two columns have the same name"},
    {"['u','v']", "['u','u']", "a list has a duplicate string"},
    {"['u','v']", "['u',1]", "expected a list of strings"},
    {"['a','b']", "[]", "expected classes and a target, or neither"},
    {"'categorical'", "'target'", "two targets"},
    {"'numeric','mean':1.5,'deviation':2", "'target'", "two targets"},
    {"'classes'", "'image':[1,1],'image_scale':0,'classes'", "image: expected three sizes"},
    {"]}", "", "byte 319: @"},
    {"'numeric_classes':false,", "", "expected classes and a target, or neither"},
    {"'classes'", "'image':[1,1,1],'image_scale':-1,'classes'",
     "image: expected three sizes and an image_scale"},
    {"'classes'", "'image':[1,0,1],'image_scale':1,'classes'", "image: expected three sizes"},
    {"'kind':'target'", "'kind':'target','mean':1,'deviation':2",
     "a numeric target cannot have classes"},
    {"'delimiter':','", "'delimiter':'\\r'", "delimiter: expected one character"},
};

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
    (void)snprintf(text, sizeof(text), "csv schema: %s", message);
    fgt_message_is(err.message, text);
}

static void damaged_schemas_are_refused(void **state)
{
    for (size_t i = 0; i < sizeof(bad_schemas) / sizeof(bad_schemas[0]); i++)
        expect_bad_schema(bad_schemas[i].from, bad_schemas[i].to, bad_schemas[i].message);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static fg_status open_and_apply(void *self, fg_error *e)
{
    const char *file = self;
    char bad[520];
    fg_csv_parts parts;
    fg_csv_schema *schema = NULL;
    fg_dataset *dataset = NULL;
    fg_status status = fg_csv_load(file, &(fg_csv_options){.val_fraction = 0.4}, &parts, e);
    if (status == FG_OK) {
        const char *json = fg_csv_schema_json(parts.schema);
        status = fg_csv_schema_parse(json, strlen(json), &schema, e);
    }
    if (status == FG_OK)
        status = fg_csv_apply(schema, file, NULL, &dataset, e);
    fg_dataset_destroy(dataset);
    dataset = NULL;
    (void)snprintf(bad, sizeof(bad), "%s.bad", file);
    fgt_write(bad, "size,kind,y\nx,c,yes\n1\n", 22);
    if (status == FG_OK)
        status =
            fg_csv_apply(schema, bad, &(fg_csv_apply_options){.keep_damaged = true}, &dataset, e);
    fg_dataset_destroy(dataset);
    fg_csv_schema_destroy(schema);
    csv_destroy(&parts);
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

/* Whatever the seed, each class has the same fraction of validation rows. */
static void a_split_is_stratified(void **state)
{
    char text[512] = "x,y\n";
    for (int i = 0; i < 40; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d.5,%s\n", i,
                       i % 10 == 3 ? "rare" : "common");
    for (uint64_t seed = 0; seed < 8; seed++) {
        fg_csv_parts parts;
        int rare = 0;
        fgt_ok(csv_open_text(
            text, &(fg_csv_options){.val_fraction = 0.25, .split_seed = seed, .stratify = true},
            &parts));
        assert_int_equal(fg_dataset_count(parts.val), 10);
        for (int64_t i = 0; i < 10; i++)
            rare += csv_read_row(parts.val, i).y.s32;
        assert_int_equal(rare, 1);
        csv_destroy(&parts);
    }
}

static void a_file_may_have_another_delimiter(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "new.csv");
    fg_csv_parts parts;
    fg_dataset *dataset;
    csv_write_text(path, "x;z\n7;2\n");
    fgt_ok(csv_open_text("x,z,y\n1,2,0.5\n2,3,1.5\n", &csv_plain, &parts));
    fgt_ok(fg_csv_apply(parts.schema, path, &(fg_csv_apply_options){.delimiter = ';'}, &dataset,
                        &err));
    csv_expect_row(dataset, 0, 2, (const double[]){7, 2});
    fg_dataset_destroy(dataset);
    csv_destroy(&parts);
}

/* Columns are found by name, with their quotes: "None" is a value, None is missing. */
static void columns_may_be_in_another_order(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "new.csv");
    fg_csv_parts parts;
    fg_dataset *dataset;
    fgt_ok(csv_open_text("c,n,y\n\"None\",1,0.5\nflat,2,1.5\n", &csv_plain, &parts));
    csv_write_text(path, "n,c\n5,\"None\"\n");
    fgt_ok(fg_csv_apply(parts.schema, path, NULL, &dataset, &err));
    csv_expect_row(dataset, 0, 3, (const double[]){1, 0, 5});
    fg_dataset_destroy(dataset);
    csv_write_text(path, "n,c\n\"5\",None\n");
    assert_int_equal(fg_csv_apply(parts.schema, path, NULL, &dataset, &err), FG_EFORMAT);
    fgt_message_is(
        err.message,
        "~/new.csv:2: row 1, column 'c': the value is missing: 'None'\nset data.missing: mean to "
        "use the column's mean over the training rows, or remove the row; if 'None' is a value "
        "here, write it in quotes, or set data.keep_default_na: false");
    csv_destroy(&parts);
}

static const char unknown_message[] =
    "' does not occur in the training data, in which the column has 2 categories\nif it is a "
    "name or an identifier, list it in data.ignore; data.unknown: zero encodes unknown "
    "categories as zeros";
static const struct {
    const char *text, *before, *unknown_of, *message;
} failing_rows[] = {
    {"n,c,y\n1,u,1\nx,u,1\n", ":3: row 2, column 'n': '", "",
     "x' is not a finite number, but the column is numeric\ncorrect it, or treat it as missing "
     "with data.na_values and data.missing: mean"},
    {"n,c,y\n-inf,u,1\n", ":2: row 1, column 'n': '", "",
     "-inf' is not a finite number, but the column is numeric\ncorrect it, or treat it as missing "
     "with data.na_values and data.missing: mean"},
    {"n,c,y\n1,u,z\n", ":2: row 1, column 'y': '", "",
     "z' is not a finite number, but the column is numeric\ncorrect it, or remove the row"},
    {"n,c,y\n1,u,NA\n", ":2: row 1, column 'y': the target is missing: '", "",
     "NA'\nremove the row: a missing target is always an error; if 'NA' is a value here, set "
     "data.keep_default_na: false"},
    {"n,c,y\n1,NA,1\n", ":2: row 1, column 'c': the value is missing: '", "",
     "NA'\nset data.missing: mean to use the column's mean over the training rows, or remove "
     "the row; if 'NA' is a value here, write it in quotes, or set data.keep_default_na: "
     "false"},
    {"n,c,y\n\"NA\",u,1\n", ":2: row 1, column 'n': the value is missing: '", "",
     "NA'\nset data.missing: mean to use the column's mean over the training rows, or remove "
     "the row; if 'NA' is a value here, set data.keep_default_na: false"},
    {"n,c,y\n1,w,1\n", ":2: row 1, column 'c': '", "w", unknown_message},
    {"n,c,y\n1,"
     "x123456789012345678901234567890123456789012345678901234567890123456789,1\n",
     ":2: row 1, column 'c': '", "x123456789012345678901234567890123456789012345678901234567890123",
     unknown_message},
    {"n,y\n1,1\n", ":1: no column 'c'", "", ""},
};

/* Whole messages, and what the rows of new files are read as. */
static void new_rows_fail_in_words(void **state)
{
    fg_csv_parts parts;
    fg_dataset *dataset;
    const char *path = fgt_path(fgt_temp_folder(), "new.csv");
    fgt_ok(csv_open_text("n,c,y\n1,u,1\n2,v,2\n", &csv_plain, &parts));
    for (size_t i = 0; i < sizeof(failing_rows) / sizeof(failing_rows[0]); i++) {
        char expected[800];
        csv_write_text(path, failing_rows[i].text);
        assert_int_equal(fg_csv_apply(parts.schema, path, NULL, &dataset, &err),
                         i < 8 ? FG_EFORMAT : FG_ENOTFOUND);
        (void)snprintf(expected, sizeof expected, "~/new.csv%s%s%s", failing_rows[i].before,
                       failing_rows[i].unknown_of, failing_rows[i].message);
        fgt_message_is(err.message, expected);
    }
    csv_destroy(&parts);
}

#define IS_UNKNOWN                                                                                 \
    "~/new.csv:2: row 1, column 'c': 'w' does not occur in the training data, in which the "       \
    "column has 2 categories\nif it is a name or an identifier, list it in data.ignore; "          \
    "data.unknown: zero encodes unknown categories as zeros"
#define IS_MISSING                                                                                 \
    "~/new.csv:3: row 2, column 'n': the value is missing\nset data.missing: mean to use the "     \
    "column's mean over the training rows, or remove the row"

static const struct {
    fg_csv_apply_options options;
    const char *message; /* NULL: it can be read */
} overrides[] = {
    {{.missing = "mean", .unknown = "zero"}, NULL},
    {{.missing = "mean", .unknown = "error"}, IS_UNKNOWN},
    {{.missing = "error", .unknown = "zero"}, IS_MISSING},
    {{.unknown = "zero"}, IS_MISSING},
    {{.missing = "mean"}, IS_UNKNOWN},
    {{.missing = "median"}, "missing is 'median': expected 'error' or 'mean'"},
    {{.unknown = "mean"}, "unknown is 'mean': expected 'error' or 'zero'"},
    {{.delimiter = '\n'},
     "delimiter 0x0a: expected an ASCII character other than a quote or a "
     "line break"},
    {{.delimiter = '\x80'},
     "delimiter 0x80: expected an ASCII character other than a quote or a line break"},
};

/* The options of a file go before those of the schema. */
static void options_override_the_schema(void **state)
{
    fg_csv_parts parts;
    const char *path = fgt_path(fgt_temp_folder(), "new.csv");
    fgt_ok(csv_open_text("n,c,y\n1,u,1\n2,v,2\n", &csv_plain, &parts));
    csv_write_text(path, "c,n\nw,3\nu,\n,7\n");
    for (size_t i = 0; i < sizeof(overrides) / sizeof(overrides[0]); i++) {
        fg_dataset *dataset;
        const fg_status status =
            fg_csv_apply(parts.schema, path, &overrides[i].options, &dataset, &err);
        assert_true((status == FG_OK) == (overrides[i].message == NULL));
        if (status != FG_OK)
            fgt_message_is(err.message, overrides[i].message);
        for (int k = 0; k < 3 && status == FG_OK; k++) {
            static const double rows[3][3] = {{3, 0, 0}, {1.5, 1, 0}, {7, 0, 0}};
            csv_expect_row(dataset, k, 3, rows[k]);
        }
        fg_dataset_destroy(dataset);
    }
    csv_destroy(&parts);
}

static const struct {
    fg_csv_apply_options options;
    const char *text, *message;
} strict[] = {
    {{.unknown = "error"}, "c,n\nw,3\n", IS_UNKNOWN},
    {{.missing = "error"}, "c,n\nw,3\nu,\n", IS_MISSING},
    {{.missing = "zero"}, "c,n\nu,3\n", "missing is 'zero': expected 'error' or 'mean'"},
    {{.delimiter = '\r'},
     "c,n\nu,3\n",
     "delimiter 0x0d: expected an ASCII character other than a quote or a line break"},
    {{.no_target = false},
     "c,n,y\nu,3,\"NA\"\n",
     "~/new.csv:2: row 1, column 'y': the target is missing: 'NA'\nremove the row: a missing "
     "target "
     "is always an error; if 'NA' is a value here, set data.keep_default_na: false"},
};

/* A lenient schema; its targets must be there nevertheless. */
static void options_may_be_stricter_than_the_schema(void **state)
{
    fg_csv_parts parts;
    fg_dataset *dataset;
    const char *path = fgt_path(fgt_temp_folder(), "new.csv");
    fgt_ok(csv_open_text(
        "n,c,y\n1,u,1\n2,v,2\n",
        &(fg_csv_options){
            .no_normalize = true, .task = "regression", .missing = "mean", .unknown = "zero"},
        &parts));
    for (size_t i = 0; i < sizeof(strict) / sizeof(strict[0]); i++) {
        csv_write_text(path, strict[i].text);
        assert_int_not_equal(fg_csv_apply(parts.schema, path, &strict[i].options, &dataset, &err),
                             FG_OK);
        fgt_message_is(err.message, strict[i].message);
        assert_null(dataset);
    }
    csv_destroy(&parts);
}

static const struct {
    const char *text, *message;
    double x[2];
    int fields;
} unnamed_columns[] = {
    {"8,5,9\n", NULL, {8, 9}, 2},
    {"8,9\n", NULL, {8, 9}, 1},
    {"8\n", "~/new.csv:1: the file has 1 column: expected 3, as in the training file", {0}, 0},
    {"8,9,1,2\n",
     "~/new.csv:1: the file has 4 columns: expected 3, as in the training file",
     {0},
     0},
};

/* Without a header: the same number of columns, or one less, which is the target. */
static void columns_without_names_are_counted(void **state)
{
    fg_csv_parts parts;
    fg_dataset *dataset;
    const char *path = fgt_path(fgt_temp_folder(), "new.csv");
    fgt_ok(csv_open_text(
        "0,5,1\n1,6,0\n0,5,3\n1,6,4\n",
        &(fg_csv_options){.header = FG_CSV_HEADER_NO, .target = "1", .no_normalize = true},
        &parts));
    for (size_t i = 0; i < sizeof(unnamed_columns) / sizeof(unnamed_columns[0]); i++) {
        csv_write_text(path, unnamed_columns[i].text);
        const fg_status status = fg_csv_apply(parts.schema, path, NULL, &dataset, &err);
        assert_true((status == FG_OK) == (unnamed_columns[i].message == NULL));
        if (status != FG_OK)
            fgt_message_is(err.message, unnamed_columns[i].message);
        else {
            csv_expect_row(dataset, 0, 2, unnamed_columns[i].x);
            assert_int_equal(fg_dataset_field_count(dataset), unnamed_columns[i].fields);
        }
        fg_dataset_destroy(dataset);
    }
    csv_destroy(&parts);
    /* without a target, no column may lack */
    fgt_ok(csv_open_text("0,5\n1,6\n", &(fg_csv_options){.header = FG_CSV_HEADER_NO, .target = ""},
                         &parts));
    csv_write_text(path, "8\n");
    assert_int_equal(fg_csv_apply(parts.schema, path, NULL, &dataset, &err), FG_EFORMAT);
    csv_destroy(&parts);
}

static const struct {
    const char *cells[4];
    const char *first; /* NULL: names */
} first_rows[] = {
    {{"a", "b"}, NULL},
    {{"1"}, "1"},
    {{"0"}, "0"},
    {{"0", "1"}, NULL},
    {{"1", "2"}, "1"},
    {{"a", "2"}, "2"},
    {{"a", "7", "8"}, NULL},
    {{"a", "8", "7"}, "8"},
    {{"a", "7", "7"}, "7"},
    {{"a", "7", "9"}, "7"},
    {{"7", "a", "8", "9"}, NULL},
    {{"a", "1.5", "2.5"}, "1.5"},
    {{"a", "$5"}, "$5"},
    {{"x", "1,5", "b"}, "1,5"},
    {{"-1", "0", "1"}, "-1"},
    {{"inf", "a"}, NULL},
    {{"", "NA"}, NULL},
};

/* Whether a first row is data, and its first number. */
static void first_rows_are_data_or_names(void **state)
{
    for (size_t i = 0; i < sizeof first_rows / sizeof first_rows[0]; i++) {
        fgi_str row[4], first = {NULL, 0};
        size_t count = 0;
        for (; count < 4 && first_rows[i].cells[count] != NULL; count++)
            row[count] = fgi_str_of(first_rows[i].cells[count]);
        if (fgi_csv_row_is_data(row, count, &first) != (first_rows[i].first != NULL))
            fail_msg("row %zu, '%s'", i, first_rows[i].cells[0]);
        if (first_rows[i].first != NULL)
            assert_true(fgi_str_equal(first, first_rows[i].first));
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* A row with one cell is a title if names follow. */
static void titles_are_above_names(void **state)
{
    fg_csv_parts parts;
    csv_expect_error("Homes,,\na,b,y\n1,2,3\n", NULL, FG_EFORMAT,
                     "t.csv:1: only the first cell of the row has text, so it is probably a title "
                     "above the header\ndelete this line");
    fgt_ok(csv_open_text("Homes,,\n1,2,3\n2,3,4\n", NULL, &parts));
    assert_int_equal(fg_dataset_count(parts.train), 2);
    csv_destroy(&parts);
    fgt_ok(csv_open_text("Homes,,\na,,y\nb,1,z\n", &(fg_csv_options){.missing = "mean"},
                         &parts)); /* not all have a name */
    csv_destroy(&parts);
    fgt_ok(csv_open_text(",,Homes\na,b,y\nb,1,z\n", NULL, &parts)); /* not the first cell */
    assert_int_equal(fg_dataset_count(parts.train), 2);
    csv_destroy(&parts);
}

/* Twenty rows are looked at: what follows does not matter. */
static void a_layout_is_that_of_twenty_rows(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "t.csv");
    for (size_t same = 19; same <= 20; same++) {
        char text[128] = "a;b\n";
        fg_csv_layout found;
        for (size_t row = 1; row < same; row++)
            (void)strcat(text, "1;2\n");
        (void)strcat(text, "3;4;5\n");
        csv_write_text(path, text);
        fgt_ok(fg_csv_detect(path, &found, &err));
        assert_int_equal(found.column_count, same == 20 ? 2 : 1);
        assert_int_equal(found.delimiter, same == 20 ? ';' : ',');
    }
}

static void quotes_may_be_anywhere_in_a_row(void **state)
{
    fgi_csv csv;
    fgi_csv_row row;
    const char *text = "\x1f,b,c\r\n\t\"q\" \t,\"\"\"u\"\"\",\"a\"\"b\"\r\n";
    fgi_block block = {.data = (const unsigned char *)text, .size = strlen(text)};
    fgt_ok(fgi_csv_parse("t", &block, &(fgi_csv_layout){.delimiter = ','}, &csv, &err));
    fgt_ok(fgi_csv_row_init(&csv, &row, &err));
    fgi_csv_read(&csv, 0, &row);
    assert_true(fgi_str_equal(row.cells[0], "q"));
    assert_true(fgi_str_equal(row.cells[1], "\"u\""));
    assert_true(fgi_str_equal(row.cells[2], "a\"b"));
    fgi_csv_row_fini(&row);
    fgi_csv_fini(&csv);
    csv_expect_error("a,b\r\n1,2\r\n1\r\n", NULL, FG_EFORMAT,
                     "t.csv:3: row 2 has 1 column, but the header has 2");
}

static void decimal_marks_are_checked(void **state)
{
    csv_expect_error("a,y\n1,2\n", &(fg_csv_options){.decimal = ';'}, FG_EINVAL,
                     "decimal is ';': expected '.' or ','");
    csv_expect_error("a,y\n1,2\n", &(fg_csv_options){.image_scale = HUGE_VAL}, FG_EINVAL,
                     "image_scale is inf: expected a finite number");
    csv_expect_error("a,y\n1,2\n", &(fg_csv_options){.decimal = ','}, FG_EINVAL,
                     "data.decimal and data.delimiter are both ',': expected two characters");
    fg_csv_parts parts;
    fg_csv_column c;
    fgt_ok(csv_open_text("c;y\n$1,5;a\n$2,5;b\nx;a\n",
                         &(fg_csv_options){.delimiter = ';', .decimal = ','}, &parts));
    fgt_ok(fg_csv_schema_column(parts.schema, 0, &c, &err));
    assert_true(c.texts == 3 && c.marked == 2);
    csv_destroy(&parts);
}

/* Not where some cells are numbers. */
static void names_of_images_are_no_categories(void **state)
{
    fg_csv_parts parts;
    csv_expect_error("f,y\na.jpg,0.5\nb.jpg,1.5\n", NULL, FG_EFORMAT,
                     "t.csv:2: row 1, column 'f': 'a.jpg' is the name of an image file, which is "
                     "not a useful feature\nto train on the images, set data.format to images "
                     "(fulgurite init writes the configuration); to train on the other columns, "
                     "add this one to data.ignore");
    fgt_ok(csv_open_text("f,y\na.jpg,0.5\n7,1.5\n", NULL, &parts));
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 2);
    csv_destroy(&parts);
    const char *const f[] = {"f"};
    fgt_ok(csv_open_text("f,y\na.jpg,0.5\nb.jpg,1.5\n", &(fg_csv_options){.categorical = {f, 1}},
                         &parts));
    csv_destroy(&parts);
}

/* A class that f64 cannot represent exactly keeps its text. */
static void large_classes_keep_their_text(void **state)
{
    fg_csv_parts parts;
    fgt_ok(csv_open_text("x,y\n1,1e17\n2,1e17\n3,2.0\n4,2\n",
                         &(fg_csv_options){.task = "classification"}, &parts));
    assert_int_equal(fg_dataset_class_count(parts.train), 2);
    assert_string_equal(fg_dataset_class_name(parts.train, 0), "2");
    assert_string_equal(fg_dataset_class_name(parts.train, 1), "1e17");
    csv_destroy(&parts);
}

/* What the options said of numbers is in the JSON, too. */
static void a_schema_keeps_how_numbers_are_written(void **state)
{
    const char *const numeric[] = {"p"}, *const ignored[] = {"i"};
    const char *path = fgt_path(fgt_temp_folder(), "new.csv");
    fg_csv_parts parts;
    fg_csv_schema *again;
    fg_dataset *dataset;
    fgt_ok(csv_open_text("p;q;i;y\n$1;0,5;z;0,5\n$3;2,5;z;1,5\n",
                         &(fg_csv_options){.delimiter = ';',
                                           .decimal = ',',
                                           .no_normalize = true,
                                           .no_default_na = true,
                                           .numeric = {numeric, 1},
                                           .ignore = {ignored, 1}},
                         &parts));
    const char *json = fg_csv_schema_json(parts.schema);
    fgt_ok(fg_csv_schema_parse(json, strlen(json), &again, &err));
    assert_string_equal(fg_csv_schema_json(again), json);
    csv_write_text(path, "p;q\n$7;1,25\n"); /* ignored columns may be absent */
    fgt_ok(fg_csv_apply(again, path, NULL, &dataset, &err));
    csv_expect_row(dataset, 0, 2, (const double[]){7, 1.25});
    fg_dataset_destroy(dataset);
    csv_write_text(path, "p;q\n$7;NA\n"); /* a text: by default, it would be missing */
    assert_int_equal(fg_csv_apply(again, path, NULL, &dataset, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/new.csv:2: row 1, column 'q': 'NA' is not a finite number, but "
                                "the column is numeric\ncorrect it, or treat it as missing with "
                                "data.na_values and data.missing: mean");
    fg_csv_schema_destroy(again);
    csv_destroy(&parts);
}

/* Columns without a name are row numbers if they are dense. */
static void row_numbers_are_dense(void **state)
{
    for (int last = 19; last <= 20; last++) {
        char text[200] = "x,,y\n";
        fg_csv_parts parts;
        fg_csv_column c;
        for (int i = 0; i < 10; i++)
            (void)snprintf(text + strlen(text), 16, "%d.5,%d,%d.5\n", i, i < 9 ? i : last, i);
        fgt_ok(csv_open_text(text, NULL, &parts));
        fgt_ok(fg_csv_schema_column(parts.schema, 1, &c, &err));
        assert_string_equal(c.kind, last == 19 ? "ignored" : "numeric");
        csv_destroy(&parts);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(titles_are_above_names),
    cmocka_unit_test(a_layout_is_that_of_twenty_rows),
    cmocka_unit_test(quotes_may_be_anywhere_in_a_row),
    cmocka_unit_test(decimal_marks_are_checked),
    cmocka_unit_test(names_of_images_are_no_categories),
    cmocka_unit_test(large_classes_keep_their_text),
    cmocka_unit_test(row_numbers_are_dense),
    cmocka_unit_test(a_schema_keeps_how_numbers_are_written),
    cmocka_unit_test(first_rows_are_data_or_names),
    cmocka_unit_test(new_rows_fail_in_words),
    cmocka_unit_test(options_override_the_schema),
    cmocka_unit_test(options_may_be_stricter_than_the_schema),
    cmocka_unit_test(columns_without_names_are_counted),
    cmocka_unit_test(columns_may_be_in_another_order),
    cmocka_unit_test(a_split_is_stratified),
    cmocka_unit_test(a_file_may_have_another_delimiter),
    cmocka_unit_test(a_schema_keeps_what_is_missing),
    cmocka_unit_test(only_training_rows_are_fitted),
    cmocka_unit_test(categories_of_training_rows_count_and_classes_of_all),
    cmocka_unit_test(another_file_may_validate),
    cmocka_unit_test(a_schema_survives_its_json),
    cmocka_unit_test(new_files_need_no_target),
    cmocka_unit_test(new_rows_must_fit_the_schema),
    cmocka_unit_test(damaged_rows_can_be_kept),
    cmocka_unit_test(a_schema_can_be_fitted_alone),
    cmocka_unit_test(faulty_rows_can_be_kept),
    cmocka_unit_test(faulty_headers_are_errors),
    cmocka_unit_test(damaged_schemas_are_refused),
    cmocka_unit_test(every_allocation_may_fail),
};

FGT_MAIN(tests)
