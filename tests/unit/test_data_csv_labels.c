/* test_data_csv_labels.c - CSV files with several labels per row.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "csv_text.h"

/* The labels of a row as digits, "101". */
static const char *labels_of(const fg_dataset *dataset, int64_t row)
{
    static char digits[8];
    float x[4];
    uint8_t y[8] = {0};
    const fg_type *type = &fg_dataset_field(dataset, 1)->type;
    assert_true(type->dtype == FG_U8 && type->rank == 1 && type->dim[0] < 8);
    fgt_ok(fg_dataset_read(dataset, row, (void *const[]){x, y}, &err));
    for (int64_t i = 0; i < type->dim[0]; i++)
        digits[i] = (char)('0' + y[i]);
    digits[type->dim[0]] = '\0';
    return digits;
}

/* The schema says the same after a round trip, also of rows without the target. */
static void a_schema_keeps_labels(const fg_csv_parts *parts, const char *text, const char *bad,
                                  const char *message)
{
    const char *json = fg_csv_schema_json(parts->schema);
    const char *path = fgt_path(fgt_temp_folder(), "other.csv");
    fg_csv_schema *schema;
    fg_dataset *rows;
    fgt_ok(fg_csv_schema_parse(json, strlen(json), &schema, &err));
    assert_string_equal(fg_csv_schema_json(schema), json);
    csv_write_text(path, text);
    fgt_ok(fg_csv_apply(schema, path, NULL, &rows, &err));
    assert_string_equal(labels_of(rows, 0), "001");
    fg_dataset_destroy(rows);
    csv_write_text(path, "a\n1\n");
    fgt_ok(fg_csv_apply(schema, path, NULL, &rows, &err));
    assert_int_equal(fg_dataset_field_count(rows), 1);
    fg_dataset_destroy(rows);
    csv_write_text(path, bad);
    assert_int_equal(fg_csv_apply(schema, path, NULL, &rows, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, message));
    fg_csv_schema_destroy(schema);
}

static void lists_of_labels_are_several_targets(void **state)
{
    static const char text[] = "a,t\n1,dog;cat\n2,dog\n3,\n4,eel|cat\n5,dog; eel ;\n";
    fg_csv_parts parts;
    fgt_ok(csv_open_text(text, &(fg_csv_options){.task = "auto"}, &parts));
    assert_int_equal(fg_dataset_class_count(parts.train), 3);
    assert_string_equal(fg_dataset_class_name(parts.train, 2), "eel");
    static const char *const expected[] = {"110", "010", "000", "101", "011"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(labels_of(parts.train, i), expected[i]);
    int64_t counts[3] = {0};
    fgt_ok(fg_dataset_label_counts(parts.train, counts, &err));
    assert_true(counts[0] == 2 && counts[1] == 3 && counts[2] == 2);
    assert_non_null(
        strstr(fg_csv_schema_report(parts.schema), "target, labels         1  3: cat, "));
    a_schema_keeps_labels(&parts, "a,t\n1,eel\n", "a,t\n1,eel;fox\n",
                          ":2: row 1, column 't': 'fox' is not one of the labels");
    csv_destroy(&parts);
    /* as many labels as strings: these are classes */
    fgt_ok(csv_open_text("a,t\n1,x;y\n2,z\n3,x;y\n4,z\n", NULL, &parts));
    assert_int_equal(fg_dataset_field(parts.train, 1)->type.dtype, FG_S32);
    csv_destroy(&parts);
    fgt_ok(csv_open_text("a,t\n1,10 9\n2,9\n", /* in numeric order */
                         &(fg_csv_options){.task = "multilabel", .label_separator = " "}, &parts));
    assert_string_equal(labels_of(parts.train, 1), "10");
    csv_destroy(&parts);
    csv_expect_error("a,t\n1,x;x\n", &(fg_csv_options){.task = "multilabel"}, FG_EFORMAT,
                     "t.csv:2: row 1, column 't': the label 'x' occurs twice");
    csv_expect_error("a,t\n1,\n2,\n", &(fg_csv_options){.task = "multilabel"}, FG_EFORMAT,
                     "t.csv: column 't' has no labels: expected lists such as cat;dog");
}

static void columns_of_0_and_1_are_labels(void **state)
{
    static const char *const names[] = {"z", "b", "y"}, *const twice[] = {"b", "b"};
    const fg_csv_options options = {.label_columns = {names, 3}};
    fg_csv_parts parts;
    fgt_ok(csv_open_text("a,b,y,z\n1,0,1,1.0\n2,0,0,0\n", &options, &parts));
    assert_string_equal(labels_of(parts.train, 0), "101");
    assert_string_equal(labels_of(parts.train, 1), "000");
    assert_int_equal(fg_csv_schema_feature_count(parts.schema), 1);
    a_schema_keeps_labels(&parts, "z,y,b,a\n0,1,0,7\n", "a,b,y,z\n1,0,,0\n",
                          "'' is neither 0 nor 1, but the column is a label");
    csv_destroy(&parts);
    csv_expect_error(
        "a,b,y,z\n1,0,2,1\n", &options, FG_EFORMAT,
        "t.csv:2: row 1, column 'y': '2' is neither 0 nor 1, but the column is a label");
    csv_expect_error("a,b\n1,0\n", &(fg_csv_options){.label_columns = {twice, 2}}, FG_EINVAL,
                     "column 'b' is one of label_columns, but it is listed twice");
    csv_expect_error("a,b\n1,0\n", &(fg_csv_options){.label_columns = {twice, 1}, .target = "b"},
                     FG_EINVAL, "target and label_columns are both given: set only one of them");
    csv_expect_error(
        "a,b\n1,0\n", &(fg_csv_options){.label_columns = {twice, 1}, .task = "regression"},
        FG_EINVAL, "label_columns is given, but the task is regression: expected multilabel");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(lists_of_labels_are_several_targets),
    cmocka_unit_test(columns_of_0_and_1_are_labels),
};

FGT_MAIN(tests)
