/* test_prediction_writer.c - callbacks that receive predictions, and the one that writes them to
 * files. On the fake plugin, whose predictions are zeros.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "toy_place.h"
#include "callback/prediction_file.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

static fg_trainer *create(void)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = {.devices.client = client};
    fgt_ok(toy_create(&options, &trainer, &err));
    return trainer;
}

static void add(fg_trainer *trainer, const char *path, const char *format)
{
    fg_error err = {0};
    char options[600];
    (void)snprintf(options, sizeof options, "prediction_writer: {path: %s%s}", path, format);
    fgt_ok(fg_trainer_add_named_callback(trainer, options, &err));
}

static void file_is(const char *path, const char *expected, size_t expected_size)
{
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    fgt_ok(fgi_file_read(path, 1 << 20, &text, &size, &err));
    assert_int_equal(size, expected_size);
    assert_memory_equal(text, expected, size);
    fgi_free(text);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *const names[] = {"cat", NULL, "d,g"};

static void all_formats_are_written(void **state)
{
    (void)state;
    static const char csv[] = "index,prediction,p_cat,p_1,\"p_d,g\"\n"
                              "0,cat,0,0,0\n1,cat,0,0,0\n2,cat,0,0,0\n3,cat,0,0,0\n4,cat,0,0,0\n";
    static const char json[] = "{\"index\": 0, \"prediction\": \"cat\", \"p\": [0, 0, 0]}\n"
                               "{\"index\": 1, \"prediction\": \"cat\", \"p\": [0, 0, 0]}\n"
                               "{\"index\": 2, \"prediction\": \"cat\", \"p\": [0, 0, 0]}\n"
                               "{\"index\": 3, \"prediction\": \"cat\", \"p\": [0, 0, 0]}\n"
                               "{\"index\": 4, \"prediction\": \"cat\", \"p\": [0, 0, 0]}\n";
    char npy[128 + 60] = "\x93NUMPY\x01\x00\x76\x00"
                         "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }";
    const size_t header = 10 + strlen(npy + 10);
    fg_error err = {0};
    const fg_fit_data data = the_data();
    const char *folder = fgt_temp_folder();
    fg_task classes = task;
    fg_trainer *trainer = create();
    classes.class_count = 3;
    classes.class_names = names;
    add(trainer, fgt_path(folder, "a.csv"), "");
    add(trainer, fgt_path(folder, "b.jsonl"), "");
    add(trainer, fgt_path(folder, "c"), ", file_format: npy");
    fgt_ok(fg_trainer_predict(trainer, &classes, &data, NULL, NULL, &err));
    file_is(fgt_path(folder, "a.csv"), csv, strlen(csv));
    file_is(fgt_path(folder, "b.jsonl"), json, strlen(json));
    memset(npy + header, ' ', 127 - header);
    memset(npy + 127, 0, 61);
    npy[127] = '\n';
    file_is(fgt_path(folder, "c"), npy, sizeof npy);
    fg_trainer_destroy(trainer);
}

/* Without classes, they are numbers; a second pass replaces the file. */
static void numbers_are_columns(void **state)
{
    (void)state;
    static const char csv[] = "index,y0,y1,y2\n0,0,0,0\n1,0,0,0\n2,0,0,0\n3,0,0,0\n4,0,0,0\n";
    static const char tsv[] = "index\ty0\ty1\ty2\n0\t0\t0\t0\n1\t0\t0\t0\n2\t0\t0\t0\n"
                              "3\t0\t0\t0\n4\t0\t0\t0\n";
    fg_error err = {0};
    const fg_fit_data data = the_data();
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "a.csv");
    fg_trainer *trainer = create();
    add(trainer, path, "");
    add(trainer, fgt_path(folder, "b"), ", file_format: tsv");
    for (int i = 0; i < 2; i++) {
        fgt_ok(fg_trainer_predict(trainer, &task, &data, NULL, NULL, &err));
        file_is(path, csv, strlen(csv));
        file_is(fgt_path(folder, "b"), tsv, strlen(tsv));
    }
    fg_trainer_destroy(trainer);
}

/* A class is the first largest value; infinity and NaN are null in JSON. */
static void values_are_exact(void **state)
{
    (void)state;
    static const float values[] = {0.1F, 0.7F, 0.2F, 1.0F / 3, -1e30F, (float)INFINITY};
    const fg_predictions rows = {.type = {.dtype = FG_F32, .rank = 2, .dim = {2, 3}},
                                 .data = values,
                                 .first = 7,
                                 .class_names = names,
                                 .class_count = 3};
    fgi_buf out = {0};
    fgi_prediction_put(FGI_PREDICTION_CSV, &rows, false, &out);
    fgi_prediction_put(FGI_PREDICTION_JSONL, &rows, true, &out);
    assert_string_equal(out.data, "7,1,0.100000001,0.699999988,0.200000003\n"
                                  "8,\"d,g\",0.333333343,-1.00000002e+30,inf\n"
                                  "{\"index\": 7, \"prediction\": \"1\", \"p\": [0.100000001, "
                                  "0.699999988, 0.200000003]}\n"
                                  "{\"index\": 8, \"prediction\": \"d,g\", \"p\": [0.333333343, "
                                  "-1.00000002e+30, null]}\n");
    fgi_buf_fini(&out);
}

/* A column has no more names than there are classes; JSON continues in the next batch; a TSV quotes
 * what has tabs or line ends, and no commas. */
static void names_and_batches_are_separated(void **state)
{
    (void)state;
    static const char *const three[] = {"d,g", "a\tb", "x\ry", "beyond"};
    static const float values[] = {0, 0, 0, 1, (float)NAN, 2, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0};
    fg_predictions rows = {.type = {.dtype = FG_F32, .rank = 2, .dim = {4, 4}},
                           .data = values,
                           .class_names = three,
                           .class_count = 3};
    fgi_buf out = {0};
    fgi_prediction_put(FGI_PREDICTION_TSV, &rows, false, &out);
    assert_string_equal(out.data, "0\t3\t0\t0\t0\t1\n1\td,g\tnan\t2\t0\t0\n"
                                  "2\t\"x\ry\"\t0\t0\t3\t0\n3\td,g\t4\t0\t0\t0\n");
    fgi_buf_clear(&out);
    rows.type.dim[0] = 1;
    fgi_prediction_put(FGI_PREDICTION_JSON, &rows, true, &out);
    rows.data = values + 4;
    rows.first = 1;
    fgi_prediction_put(FGI_PREDICTION_JSON, &rows, false, &out);
    fgi_prediction_put_end(FGI_PREDICTION_JSON, 2, &out);
    assert_string_equal(out.data,
                        "[\n{\"index\": 0, \"prediction\": \"3\", \"p\": [0, 0, 0, 1]},\n"
                        "{\"index\": 1, \"prediction\": \"d,g\", \"p\": [null, 2, 0, 0]}\n]\n");
    fgi_buf_fini(&out);
}

static fg_status read_nothing(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    (void)self;
    (void)index;
    (void)out_fields;
    return fg_error_set(err, FG_EUNSUPPORTED, "only names");
}

static const char *name_at(void *self, int64_t index) { return ((const char *const *)self)[index]; }

static void the_suffix_names_the_format(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        fgi_prediction_format format;
        bool has_suffix;
    } rows[] = {
        {"a.csv", FGI_PREDICTION_CSV, true},       {"x.y/a.TSV", FGI_PREDICTION_TSV, true},
        {"a.csv.json", FGI_PREDICTION_JSON, true}, {"a.JsonL", FGI_PREDICTION_JSONL, true},
        {"a.npy", FGI_PREDICTION_NPY, true},       {"/dev/stdout", FGI_PREDICTION_CSV, false},
        {"x.y/a", FGI_PREDICTION_CSV, false},      {".npy", FGI_PREDICTION_CSV, false}};
    static const char *const refused[] = {"p.parquet", "p.xlsx", "p.csv.gz", "p.txt", "p."};
    fg_error err = {0};
    fgi_prediction_format format;
    bool has_suffix;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fgt_ok(fgi_prediction_format_of(rows[i].path, &format, &has_suffix, &err));
        assert_int_equal(format, rows[i].format);
        assert_int_equal(has_suffix, rows[i].has_suffix);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(fgi_prediction_format_of(refused[i], &format, NULL, &err), FG_EINVAL);
    (void)fgi_prediction_format_of("p.parquet", &format, NULL, &err);
    assert_string_equal(err.message, "'p.parquet': predictions are written as .csv, .tsv, .json, "
                                     ".jsonl or .npy: .parquet is not supported");
}

static fg_status read_some(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    (void)self;
    *(float *)out_fields[0] = (float)index;
    return index == 1 ? fg_error_set(err, FG_EFORMAT, "a\t\"bad\" file\ntry another") : FG_OK;
}

/* The sample that cannot be read has the reason, in one line, in place of a prediction. */
static void a_damaged_sample_has_the_reason(void **state)
{
    (void)state;
    static const float values[] = {0.5F, 0.25F, 2};
    static const fg_dataset_ops ops = {.read = read_some};
    const fg_field field = {"x", {.dtype = FG_F32}};
    const fg_dataset_spec spec = {.count = 3, .fields = &field, .field_count = 1};
    fg_error err = {0};
    fg_dataset *strict, *dataset;
    float x = 7;
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &strict, &err));
    fgt_ok(fg_dataset_tolerate(strict, &dataset, &err));
    for (int64_t i = 0; i < 3; i++)
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){&x}, &err));
    fg_predictions rows = {
        .type = {.dtype = FG_F32, .rank = 1, .dim = {3}}, .data = values, .dataset = dataset};
    fgi_buf out = {0};
    fgi_prediction_put(FGI_PREDICTION_CSV, &rows, true, &out);
    fgi_prediction_put(FGI_PREDICTION_TSV, &rows, true, &out);
    fgi_prediction_put(FGI_PREDICTION_JSON, &rows, true, &out);
    fgi_prediction_put_end(FGI_PREDICTION_JSON, 3, &out);
    fgi_prediction_put_end(FGI_PREDICTION_JSON, 0, &out);
    rows.type.rank = 2;
    rows.type.dim[1] = rows.class_count = 1;
    fgi_prediction_put(FGI_PREDICTION_CSV, &rows, true, &out);
    assert_string_equal(out.data,
                        "index,prediction,error\n0,0.5,\n1,,\"a\t\"\"bad\"\" file; try another\"\n"
                        "2,2,\n"
                        "index\tprediction\terror\n0\t0.5\t\n"
                        "1\t\t\"a\t\"\"bad\"\" file; try another\"\n2\t2\t\n"
                        "[\n{\"index\": 0, \"prediction\": 0.5},\n"
                        "{\"index\": 1, \"prediction\": null, \"error\": \"a\\t\\\"bad\\\" file; "
                        "try another\"},\n"
                        "{\"index\": 2, \"prediction\": 2}\n]\n[]\n"
                        "index,prediction,p_0,error\n0,0,0.5,\n"
                        "1,,,\"a\t\"\"bad\"\" file; try another\"\n2,0,2,\n");
    fgi_buf_fini(&out);
    fg_dataset_destroy(dataset);
    fg_dataset_destroy(strict);
}

/* The second of three samples. */
static fg_status read_toy(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    (void)self;
    memset(out_fields[0], 0, TOY_FEATURES * sizeof(float));
    return index == 1 ? fg_error_set(err, FG_EFORMAT, "damaged") : FG_OK;
}

static fg_status keep_rows(void *self, const fg_type *type, const void *rows, int64_t first,
                           fg_error *err)
{
    (void)err;
    memcpy((float *)self + first * TOY_CLASSES, rows, fg_type_bytes(type));
    return FG_OK;
}

static void values_of_a_damaged_sample_are_nan(void **state)
{
    (void)state;
    static const fg_dataset_ops ops = {.read = read_toy};
    static const fg_field field = {"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}};
    const fg_dataset_spec spec = {.count = 3, .fields = &field, .field_count = 1};
    fg_error err = {0};
    fg_dataset *strict, *dataset;
    float rows[3][TOY_CLASSES];
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &strict, &err));
    fgt_ok(fg_dataset_tolerate(strict, &dataset, &err));
    fg_fit_data data = the_data();
    data.predict = dataset;
    fg_trainer *trainer = create();
    fgt_ok(fg_trainer_predict(trainer, &task, &data, keep_rows, rows, &err));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < TOY_CLASSES; k++)
            assert_int_equal(isnan(rows[i][k]), i == 1);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(dataset);
    fg_dataset_destroy(strict);
}

/* As in the list of unreadable images: UTF-8 as it is, other names escaped. A sample without a name
 * has an empty cell. */
static void names_that_are_not_utf8_are_escaped(void **state)
{
    (void)state;
    static const char *const classes[] = {"\xe9t\xe9"};
    static const float values[] = {1, 1, 1};
    static const char *files[] = {"a\xff,\".jpg", "b\\\xc3\xa9\n.jpg", NULL};
    static const fg_dataset_ops ops = {.read = read_nothing, .name = name_at};
    const fg_field field = {"x", {.dtype = FG_F32}};
    const fg_dataset_spec spec = {.count = 3, .fields = &field, .field_count = 1};
    fg_error err = {0};
    fg_dataset *dataset;
    fgt_ok(fg_dataset_create(&ops, files, &spec, &dataset, &err));
    const fg_predictions rows = {.type = {.dtype = FG_F32, .rank = 2, .dim = {3, 1}},
                                 .data = values,
                                 .dataset = dataset,
                                 .class_names = classes,
                                 .class_count = 1};
    fgi_buf out = {0};
    fgi_prediction_put(FGI_PREDICTION_CSV, &rows, true, &out);
    fgi_prediction_put(FGI_PREDICTION_JSONL, &rows, true, &out);
    assert_string_equal(
        out.data,
        "index,name,prediction,p_\\xe9t\\xe9\n"
        "0,\"a\\xff,\"\".jpg\",\\xe9t\\xe9,1\n"
        "1,\"b\\\xc3\xa9\n.jpg\",\\xe9t\\xe9,1\n"
        "2,,\\xe9t\\xe9,1\n"
        "{\"index\": 0, \"name\": \"a\\\\xff,\\\".jpg\", \"prediction\": \"\\\\xe9t\\\\xe9\", "
        "\"p\": [1]}\n"
        "{\"index\": 1, \"name\": \"b\\\\\xc3\xa9\\n.jpg\", \"prediction\": \"\\\\xe9t\\\\xe9\", "
        "\"p\": [1]}\n"
        "{\"index\": 2, \"prediction\": \"\\\\xe9t\\\\xe9\", \"p\": [1]}\n");
    fgi_buf_fini(&out);
    fg_dataset_destroy(dataset);
}

/* The header of a .npy file, which is written first, has the number of rows. */
static void an_npy_file_has_all_rows(void **state)
{
    (void)state;
    static const float values[] = {0.5F, 0.25F, 2, 3, 4, 5};
    static const fg_dataset_ops ops = {.read = read_some};
    const fg_field field = {"x", {.dtype = FG_F32}};
    const fg_dataset_spec spec = {.count = 3, .fields = &field, .field_count = 1};
    const char *path = fgt_path(fgt_temp_folder(), "p.npy");
    fg_error err = {0};
    fg_dataset *dataset;
    fgi_prediction_file file;
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &dataset, &err));
    for (int64_t rows = 3; rows >= 2; rows--) {
        const fg_predictions some = {.type = {.dtype = FG_F32, .rank = 1, .dim = {rows}},
                                     .data = values,
                                     .dataset = dataset};
        fgt_ok(fgi_prediction_file_open(path, FGI_PREDICTION_NPY, &file, &err));
        const fg_status status = fgi_prediction_file_write(&file, &some, &err);
        assert_int_equal(fgi_prediction_file_close(&file, status, &err),
                         rows == 3 ? FG_OK : FG_EINTERNAL);
    }
    assert_string_equal(err.message, "2 predictions of 3 samples");
    char *text = NULL;
    size_t size = 0;
    const fg_predictions cube = {
        .type = {.dtype = FG_F32, .rank = 3, .dim = {3, 2, 1}}, .data = values, .dataset = dataset};
    fgt_ok(fgi_prediction_file_open(path, FGI_PREDICTION_NPY, &file, &err));
    fgt_ok(fgi_prediction_file_write(&file, &cube, &err));
    fgt_ok(fgi_prediction_file_close(&file, FG_OK, &err));
    fgt_ok(fgi_file_read(path, 1000, &text, &size, &err));
    assert_int_equal(size, 128 + sizeof values);
    assert_non_null(strstr(text + 10, "'shape': (3, 2, 1), }"));
    fgi_free(text);
    fg_dataset_destroy(dataset);
}

/* A dataset without samples: a header. */
static void a_pass_without_samples_writes_a_file(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_fit_data data = the_data();
    fg_dataset *none = toy_source(0, 1, false);
    const char *path = fgt_path(fgt_temp_folder(), "a.csv");
    fg_trainer *trainer = create();
    data.predict = none;
    add(trainer, path, "");
    fgt_ok(fg_trainer_predict(trainer, &task, &data, NULL, NULL, &err));
    file_is(path, "index,prediction\n", strlen("index,prediction\n"));
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(none);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static fg_status refuse(void *self, const fg_progress *at, const fg_predictions *rows,
                        fg_error *err)
{
    const bool *is_broken = self;
    (void)at;
    return rows->first == 0 || !*is_broken ? FG_OK : fg_error_set(err, FG_EIO, "no more");
}

/* A pass that fails leaves an earlier file as it was, and no other; the next one is complete. */
static void a_pass_that_fails_leaves_no_file(void **state)
{
    (void)state;
    static const fg_callback_ops ops = {.predicted = refuse};
    static const char csv[] = "index,y0,y1,y2\n0,0,0,0\n1,0,0,0\n2,0,0,0\n3,0,0,0\n4,0,0,0\n";
    bool is_broken = true;
    fg_error err = {0};
    const fg_fit_data data = the_data();
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "a.csv");
    fg_trainer *trainer = create();
    fgt_ok(fg_file_write(path, "earlier", 7, &err));
    add(trainer, path, "");
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &is_broken, &err));
    assert_int_equal(fg_trainer_predict(trainer, &task, &data, NULL, NULL, &err), FG_EIO);
    assert_string_equal(err.message, "no more");
    file_is(path, "earlier", 7);
    is_broken = false;
    fgt_ok(fg_trainer_predict(trainer, &task, &data, NULL, NULL, &err));
    fg_trainer_destroy(trainer);
    file_is(path, csv, strlen(csv));
    fgt_ok(fgi_folder_remove(path, &err));
    assert_int_equal(rmdir(folder), 0); /* it is empty */
    fgt_ok(fgi_folder_make(folder, &err));
}

static void a_place_that_does_not_exist_is_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_fit_data data = the_data();
    fg_trainer *trainer = create();
    add(trainer, fgt_path(fgt_temp_folder(), "no/a.csv"), "");
    assert_int_equal(fg_trainer_predict(trainer, &task, &data, NULL, NULL, &err), FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "prediction_writer: "));
    assert_non_null(strstr(err.message, "/no/a.csv"));
    assert_int_equal(
        fg_trainer_add_named_callback(trainer, "prediction_writer: {path: \"\"}", &err), FG_EINVAL);
    fg_trainer_destroy(trainer);
}

static void somebody_must_receive_the_rows(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_fit_data data = the_data();
    fg_trainer *trainer = create();
    assert_int_equal(fg_trainer_predict(trainer, &task, &data, NULL, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "predict: no function to receive the rows was given");
    fg_trainer_destroy(trainer);
}

/* Those above 1/2, in every format; exactly 1/2 is not, nor is NaN. */
static void several_labels_are_lists(void **state)
{
    (void)state;
    static const float p[3][3] = {{0.75F, 0.5F, 1}, {0, 0.5F, 0.25F}, {(float)NAN, 0.625F, 0}};
    const fg_predictions rows = {.type = {FG_F32, 2, {3, 3}},
                                 .data = p,
                                 .class_names = names,
                                 .class_count = 3,
                                 .is_multilabel = true};
    fgi_buf text = {0};
    fgi_prediction_put(FGI_PREDICTION_CSV, &rows, true, &text);
    assert_string_equal(text.data, "index,prediction,p_cat,p_1,\"p_d,g\"\n"
                                   "0,\"cat;d,g\",0.75,0.5,1\n1,,0,0.5,0.25\n2,1,nan,0.625,0\n");
    fgi_buf_clear(&text);
    fgi_prediction_put(FGI_PREDICTION_JSONL, &rows, true, &text);
    assert_string_equal(
        text.data, "{\"index\": 0, \"prediction\": [\"cat\", \"d,g\"], \"p\": [0.75, 0.5, 1]}\n"
                   "{\"index\": 1, \"prediction\": [], \"p\": [0, 0.5, 0.25]}\n"
                   "{\"index\": 2, \"prediction\": [\"1\"], \"p\": [null, 0.625, 0]}\n");
    fgi_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_labels_are_lists),
        cmocka_unit_test(all_formats_are_written),
        cmocka_unit_test(numbers_are_columns),
        cmocka_unit_test(values_are_exact),
        cmocka_unit_test(names_and_batches_are_separated),
        cmocka_unit_test(an_npy_file_has_all_rows),
        cmocka_unit_test(names_that_are_not_utf8_are_escaped),
        cmocka_unit_test(the_suffix_names_the_format),
        cmocka_unit_test(a_damaged_sample_has_the_reason),
        cmocka_unit_test(values_of_a_damaged_sample_are_nan),
        cmocka_unit_test(a_pass_without_samples_writes_a_file),
        cmocka_unit_test(a_pass_that_fails_leaves_no_file),
        cmocka_unit_test(a_place_that_does_not_exist_is_reported),
        cmocka_unit_test(somebody_must_receive_the_rows),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
