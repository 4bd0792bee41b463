/* .npy: files written by NumPy (tests/golden/data/make_npy.py), inconsistent files, and files that
 * we write.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "open_format.h"

#include <math.h>
#include <stdlib.h>
#include <fulgurite/data.h>
#include "base/file.h"
#include "data/dataset.h"
#include "data/formats.h"
#include "data/npy.h"

static fg_error err;

static const char *golden(const char *name)
{
    return fgt_path(FGT_SOURCE_DIR "/tests/golden/data", name);
}

/* Row r of the 4 x 3 arrays, element k, as make_npy.py defines it. */
static double expected_number(fg_dtype stored, int64_t r, int k)
{
    const double i = (double)(3 * r + k);
    if (stored == FG_BOOL)
        return fmod(i, 2);
    const bool is_unsigned =
        stored == FG_U8 || stored == FG_U16 || stored == FG_U32 || stored == FG_U64;
    return is_unsigned ? i : i - 2;
}

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const double value =
        exponent == 0 ? ldexp(bits & 1023, -24) : ldexp(1024 + (bits & 1023), exponent - 25);
    return bits & 0x8000 ? -value : value;
}

static double number_at(const void *row, fg_dtype dtype, int k)
{
    switch (dtype) {
    case FG_BOOL:
    case FG_U8: return ((const uint8_t *)row)[k];
    case FG_S8: return ((const int8_t *)row)[k];
    case FG_U16: return ((const uint16_t *)row)[k];
    case FG_S16: return ((const int16_t *)row)[k];
    case FG_U32: return ((const uint32_t *)row)[k];
    case FG_S32: return ((const int32_t *)row)[k];
    case FG_U64: return (double)((const uint64_t *)row)[k];
    case FG_S64: return (double)((const int64_t *)row)[k];
    case FG_F16: return half_value(((const uint16_t *)row)[k]);
    case FG_F32: return (double)((const float *)row)[k];
    default: return ((const double *)row)[k];
    }
}

static void check_array(const char *name, fg_dtype stored, fg_dtype expected, bool keep)
{
    fg_dataset *dataset;
    fgt_ok(fg_npy_load(golden(name), NULL, &(fg_npy_options){.keep_dtypes = keep}, &dataset, &err));
    assert_int_equal(fg_dataset_count(dataset), 4);
    assert_int_equal(fg_dataset_field_count(dataset), 1);
    const fg_type *type = &fg_dataset_field(dataset, 0)->type;
    assert_int_equal(type->dtype, expected);
    assert_int_equal(type->rank, 1);
    assert_int_equal(type->dim[0], 3);
    for (int64_t r = 0; r < 4; r++) {
        double row[3];
        fgt_ok(fg_dataset_read(dataset, r, (void *const[]){row}, &err));
        for (int k = 0; k < 3; k++)
            assert_true(number_at(row, expected, k) == expected_number(stored, r, k));
    }
    fg_dataset_destroy(dataset);
}

static void every_dtype_of_numpy_is_read(void **state)
{
    static const struct {
        const char *name;
        fg_dtype stored, converted;
    } cases[] = {{"bool.npy", FG_BOOL, FG_BOOL},   {"uint8.npy", FG_U8, FG_U8},
                 {"int8.npy", FG_S8, FG_S8},       {"uint16.npy", FG_U16, FG_U16},
                 {"int16.npy", FG_S16, FG_S16},    {"uint32.npy", FG_U32, FG_U32},
                 {"int32.npy", FG_S32, FG_S32},    {"uint64.npy", FG_U64, FG_S32},
                 {"int64.npy", FG_S64, FG_S32},    {"float16.npy", FG_F16, FG_F16},
                 {"float32.npy", FG_F32, FG_F32},  {"float64.npy", FG_F64, FG_F32},
                 {"version2.npy", FG_F32, FG_F32}, {"version3.npy", FG_F32, FG_F32}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_array(cases[i].name, cases[i].stored, cases[i].converted, false);
        check_array(cases[i].name, cases[i].stored, cases[i].stored, true);
    }
}

static void labels_become_s32_and_are_counted(void **state)
{
    static const char *const names[] = {"labels.npy", "labels_u8.npy"};
    for (int i = 0; i < 2; i++) {
        fg_dataset *dataset;
        fgt_ok(fg_npy_load(golden("float32.npy"), golden(names[i]), NULL, &dataset, &err));
        assert_int_equal(fg_dataset_class_count(dataset), 3);
        assert_string_equal(fg_dataset_field(dataset, 1)->name, "y");
        assert_int_equal(fg_dataset_field(dataset, 1)->type.dtype, FG_S32);
        assert_int_equal(fg_dataset_field(dataset, 1)->type.rank, 0);
        const int32_t labels[] = {2, 0, 1, 2};
        for (int r = 0; r < 4; r++) {
            float x[3];
            int32_t y;
            fgt_ok(fg_dataset_read(dataset, r, (void *const[]){x, &y}, &err));
            assert_int_equal(y, labels[r]);
        }
        fg_dataset_destroy(dataset);
    }
    fg_dataset *dataset; /* negative numbers or rank 2 are not class indices */
    fgt_ok(fg_npy_load(golden("float32.npy"), golden("int32.npy"), NULL, &dataset, &err));
    assert_int_equal(fg_dataset_class_count(dataset), 0);
    fg_dataset_destroy(dataset);
}

static void shapes_up_to_rank_8_are_kept(void **state)
{
    fg_dataset *dataset;
    fgt_ok(fg_npy_load(golden("rank8.npy"), NULL, NULL, &dataset, &err));
    char text[64];
    assert_string_equal(fg_type_format(&fg_dataset_field(dataset, 0)->type, text, sizeof(text)),
                        "u8[1,2,1,2,1,2,1]");
    fg_dataset_destroy(dataset);
    fgt_ok(fg_npy_load(golden("empty.npy"), NULL, NULL, &dataset, &err));
    assert_int_equal(fg_dataset_count(dataset), 0);
    fg_dataset_destroy(dataset);
}

static void expect_refused(const char *name, const char *y_name, fg_status status,
                           const char *message)
{
    fg_dataset *dataset;
    assert_int_equal(
        fg_npy_load(golden(name), y_name == NULL ? NULL : golden(y_name), NULL, &dataset, &err),
        status);
    assert_null(dataset);
    fgt_message_is(err.message, message);
}

static void what_cannot_be_used_is_said(void **state)
{
    expect_refused("none.npy", NULL, FG_ENOTFOUND,
                   "cannot open '~/tests/golden/data/none.npy': No such file or directory");
    expect_refused("scalar.npy", NULL, FG_ESHAPE,
                   "'~/tests/golden/data/scalar.npy' is a scalar: expected one row per sample");
    expect_refused("no_columns.npy", NULL, FG_ESHAPE,
                   "'~/tests/golden/data/no_columns.npy' has rows without elements");
    expect_refused("fortran.npy", NULL, FG_EUNSUPPORTED,
                   "~/tests/golden/data/fortran.npy: byte 44: the array is in Fortran order\nsave "
                   "it again with numpy.ascontiguousarray");
    expect_refused(
        "big_endian.npy", NULL, FG_EUNSUPPORTED,
        "~/tests/golden/data/big_endian.npy: byte 21: elements of dtype '>f4' are not supported");
    expect_refused(
        "complex.npy", NULL, FG_EUNSUPPORTED,
        "~/tests/golden/data/complex.npy: byte 21: elements of dtype '<c8' are not supported");
    expect_refused(
        "structured.npy", NULL, FG_EUNSUPPORTED,
        "~/tests/golden/data/structured.npy: byte 20: structured arrays are not supported");
    expect_refused("wide.npy", NULL, FG_EFORMAT,
                   "~/tests/golden/data/wide.npy: element 2 (index starting at 0, byte 144) does "
                   "not fit in s32; use smaller integers, or floats for a regression");
    expect_refused("float32.npy", "three_rows.npy", FG_ESHAPE,
                   "'~/tests/golden/data/float32.npy' has 4 rows, but "
                   "'~/tests/golden/data/three_rows.npy' has 3");
    const char *one = fgt_path(fgt_temp_folder(), "one.npy");
    const float value = 1;
    fg_dataset *dataset;
    fgt_ok(fg_npy_write(one, &(fg_type){FG_F32, 1, {1}}, &value, &err));
    assert_int_equal(
        fg_npy_load(one, FGT_SOURCE_DIR "/tests/golden/data/three_rows.npy", NULL, &dataset, &err),
        FG_ESHAPE);
    fgt_message_is(err.message,
                   "'~/one.npy' has 1 row, but '~/tests/golden/data/three_rows.npy' has 3");
}

static fg_status parse_text(const char *header, size_t numbers, fgi_npy *out)
{
    char file[512];
    const size_t size = strlen(header);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (char)size;
    file[9] = (char)(size >> 8);
    memcpy(file + 10, header, size);
    memset(file + 10 + size, 0, numbers);
    return fgi_npy_parse("f", (const unsigned char *)file, 10 + size + numbers, out, &err);
}

static void expect_bad_header(const char *header, size_t numbers, const char *message)
{
    fgi_npy npy;
    assert_int_equal(parse_text(header, numbers, &npy), FG_EFORMAT);
    assert_string_equal(err.message, message);
}

static void headers_may_be_written_in_many_ways(void **state)
{
    fgi_npy npy;
    fgt_ok(parse_text("{\"shape\":(2,3),\"descr\":\"=u2\",'fortran_order':False}", 12, &npy));
    assert_int_equal(npy.type.dtype, FG_U16);
    assert_int_equal(npy.type.rank, 2);
    fgt_ok(
        parse_text(" { 'descr' : '|u1' , 'fortran_order' : False , 'shape' : ( ) , } \n", 1, &npy));
    assert_int_equal(npy.type.rank, 0);
    fgt_ok(parse_text("{'descr':'>i1','fortran_order':False,'shape':(4 ,)}", 4, &npy));
    assert_int_equal(npy.type.dtype, FG_S8);
}

static void headers_that_lie_are_refused(void **state)
{
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 11,
                      "f: byte 65: the header specifies 12 bytes of data, but the file has 11");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 13,
                      "f: byte 65: the header specifies 12 bytes of data, but the file has 13");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
                      0, "f: byte 85: the shape is too large");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 4,
                      "f: byte 61: expected a dimension");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                      4, "f: byte 81: expected a dimension");
    expect_bad_header("{'descr': '<f4', 'shape': (1,)}", 4,
                      "f: byte 41: the header has no descr, fortran_order or shape");
    expect_bad_header("{'descr': '<f4', 'descr': '<f4'}", 4,
                      "f: byte 35: unknown or duplicate key");
    expect_bad_header("{'descr': '<f4", 4, "f: byte 24: expected a dtype such as '<f4'");
    expect_bad_header("{'descr': '<f4', 'shape': 3}", 4,
                      "f: byte 36: expected a shape such as (3, 4)");
    expect_bad_header("{'descr': '<f4', 'shape': (3 4)}", 4,
                      "f: byte 39: expected ',' or ')' in the shape");
    expect_bad_header("{descr: '<f4'}", 4, "f: byte 11: expected a key of the header dictionary");
    expect_bad_header("{'descr': '<f4' 'shape': (3,)}", 4,
                      "f: byte 26: expected ',' or '}' in the header");
    expect_bad_header("", 0, "f: byte 10: expected the header dictionary");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} import os", 4,
                      "f: byte 66: text after the header");
    fgi_npy npy;
    assert_int_equal(
        parse_text("{'descr': '<M8[a unit of time that is long enough to be cut]'}", 0, &npy),
        FG_EUNSUPPORTED);
    assert_string_equal(err.message, "f: byte 21: elements of dtype '<M8[a unit of time that is "
                                     "long ' are not supported");
    assert_int_equal(
        fgi_npy_parse("f", (const unsigned char *)"\x93NUMPY\x01\x00\xff\xff{", 11, &npy, &err),
        FG_EFORMAT);
    assert_string_equal(err.message, "f: byte 10: the header is longer than the file");
    assert_int_equal(
        fgi_npy_parse("f", (const unsigned char *)"\x93NUMPY\x04\x00\x00\x00{}", 12, &npy, &err),
        FG_EUNSUPPORTED);
}

static const struct {
    const char start[13]; /* of a file of 28 bytes */
    fg_status status;
    const char *message;
} starts[] = {
    {"\x93NUMPY\x00\x00\x0e\x00", FG_EUNSUPPORTED, "f: byte 6: unsupported .npy version 0.0"},
    {"\x93NUMPY\x04\x01\x0e\x00", FG_EUNSUPPORTED, "f: byte 6: unsupported .npy version 4.1"},
    {"\x93NUMPY\x02\x00\x10\x01\x00\x00", FG_EFORMAT,
     "f: byte 12: the header is longer than the file"},
    {"\x93NUMPY\x02\x00\x10\x00\x01\x00", FG_EFORMAT,
     "f: byte 12: the header is longer than the file"},
    {"\x93NUMPY\x03\x00\x10\x00\x00\x01", FG_EFORMAT,
     "f: byte 12: the header is longer than the file"},
    {"\x93NUMPY\x02\x00\x10\x00\x00\x00", FG_EFORMAT, "f: byte 12: expected the header dictionary"},
};

/* The version, and each byte of the length of the header. */
static void starts_that_lie_are_refused(void **state)
{
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        unsigned char file[28] = {0};
        fgi_npy npy;
        memcpy(file, starts[i].start, 12);
        assert_int_equal(fgi_npy_parse("f", file, sizeof(file), &npy, &err), starts[i].status);
        assert_string_equal(err.message, starts[i].message);
    }
}

/* 2^64 - 1 is not -1. Integers of rank 2 are not class indices. */
static void targets_are_what_they_are(void **state)
{
    fg_dataset *dataset;
    const char *path = fgt_path(fgt_temp_folder(), "y.npy");
    const uint64_t large[4] = {1, UINT64_MAX, 0, 2};
    const uint8_t bools[4] = {1, 0, 2, 1};
    fgt_ok(fg_npy_write(path, &(fg_type){FG_U64, 1, {4}}, large, &err));
    assert_int_equal(fg_npy_load(golden("float32.npy"), path, NULL, &dataset, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/y.npy: element 1 (index starting at 0, byte 136) does not fit "
                                "in s32; use smaller integers, or floats for a regression");
    fgt_ok(fg_npy_write(path, &(fg_type){FG_BOOL, 1, {4}}, bools, &err));
    assert_int_equal(fg_npy_load(golden("float32.npy"), path, NULL, &dataset, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/y.npy: byte 130: a bool is 2: expected 0 or 1");
    fgt_ok(fg_npy_load(golden("float32.npy"), golden("uint32.npy"), NULL, &dataset, &err));
    assert_int_equal(fg_dataset_class_count(dataset), 0);
    fg_dataset_destroy(dataset);
}

/* Also: the bytes are those that NumPy writes. */
static void what_is_written_is_what_numpy_writes(void **state)
{
    static const struct {
        const char *name;
        fg_type type;
    } cases[] = {
        {"float32.npy", {FG_F32, 2, {4, 3}}}, {"uint8.npy", {FG_U8, 2, {4, 3}}},
        {"labels.npy", {FG_S64, 1, {4}}},     {"scalar.npy", {.dtype = FG_F32}},
        {"empty.npy", {FG_F32, 2, {0, 3}}},   {"rank8.npy", {FG_U8, 8, {2, 1, 2, 1, 2, 1, 2, 1}}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = fgt_path(fgt_temp_folder(), cases[i].name);
        fgi_mapping theirs, ours;
        fgi_npy npy;
        fgt_ok(fgi_file_map(golden(cases[i].name), &theirs, &err));
        fgt_ok(fgi_npy_parse("golden", theirs.data, theirs.size, &npy, &err));
        assert_memory_equal(&npy.type, &cases[i].type, sizeof(npy.type));
        fgt_ok(fg_npy_write(path, &cases[i].type, theirs.data + npy.offset, &err));
        fgt_ok(fgi_file_map(path, &ours, &err));
        assert_int_equal(ours.size, theirs.size);
        assert_memory_equal(ours.data, theirs.data, ours.size);
        fgi_file_unmap(&ours);
        fgi_file_unmap(&theirs);
    }
}

static void what_cannot_be_written_is_refused(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "refused.npy");
    const float one = 1;
    assert_int_equal(fg_npy_write(path, &(fg_type){FG_BF16, 1, {1}}, &one, &err), FG_EDTYPE);
    assert_int_equal(fg_npy_write(path, &(fg_type){FG_F32, 1, {-1}}, &one, &err), FG_EINVAL);
    assert_int_equal(fg_npy_write(path, &(fg_type){FG_F32, 2, {INT64_MAX, 9}}, &one, &err),
                     FG_EINVAL);
    assert_false(fgi_file_exists(path));
    assert_int_equal(fg_npy_write(fgt_path(fgt_temp_folder(), "missing/x.npy"),
                                  &(fg_type){FG_F32, 1, {1}}, &one, &err),
                     FG_ENOTFOUND);
}

static fg_status open_and_write(void *self, fg_error *e)
{
    fg_dataset *dataset = NULL;
    fg_status status = fg_npy_load(golden("float64.npy"), golden("labels.npy"), NULL, &dataset, e);
    fg_dataset_destroy(dataset);
    const float numbers[2] = {1, 2};
    if (status == FG_OK)
        status = fg_npy_write(fgt_path(fgt_temp_folder(), "loop.npy"), &(fg_type){FG_F32, 1, {2}},
                              numbers, e);
    return status;
}

static void every_allocation_may_fail(void **state) { fgt_fault_loop(open_and_write, NULL); }

/* ---- the data format ------------------------------------------------------------------------- */

static char heard[600];

static void hear(void *self, fg_log_level level, const char *line)
{
    if (level == FG_LOG_WARNING)
        (void)snprintf(heard, sizeof heard, "%s", line);
}

/* Opens a part of arrays of 4 rows; the options of the files are those of the part. */
static fg_status load_part(fg_format_request request, const char *x, const char *y,
                           const char *more, fg_format_data *out)
{
    fg_option_values *values;
    const fg_entry *entry = &fgi_npy_row.entry;
    const bool is_train = request.part == FG_PART_TRAIN;
    *out = (fg_format_data){0};
    heard[0] = '\0';
    fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
    fgt_ok(fg_option_set(values, is_train ? "x" : "test_x", x, NULL, &err));
    if (y != NULL)
        fgt_ok(fg_option_set(values, is_train ? "y" : "test_y", y, NULL, &err));
    if (more != NULL)
        fgt_ok(fg_option_set(values, "normalize", more, NULL, &err));
    fg_log_set(hear, NULL);
    const fg_status status = fgt_open_format(&fgi_npy_row, values, request, out, &err);
    fg_log_set(NULL, NULL);
    fg_option_values_destroy(values);
    return status;
}

/* Paths of an array of inputs and one of targets with these values. */
static void write_pair(char x[300], char y[300], const float *inputs, fg_dtype dtype,
                       const void *targets)
{
    const char *folder = fgt_temp_folder();
    (void)snprintf(x, 300, "%s/x.npy", folder);
    (void)snprintf(y, 300, "%s/y.npy", folder);
    fgt_ok(fg_npy_write(x, &(fg_type){FG_F32, 2, {4, 2}}, inputs, &err));
    fgt_ok(fg_npy_write(y, &(fg_type){dtype, 1, {4}}, targets, &err));
}

static const float good[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static const struct {
    const char *task, *normalize;
    bool is_training, has_classes;
    double mean, deviation; /* 0: not measured */
} measured_cases[] = {
    {"auto", NULL, true, false, 3, 1.8708286933869707},
    {"regression", "true", true, false, 3, 1.8708286933869707},
    {"auto", "false", true, false, 0, 0},
    {"auto", NULL, false, false, 0, 0},
    {"classification", NULL, true, false, 0, 0},
    {"auto", NULL, true, true, 0, 0},
    {"regression", NULL, true, true, 1, 0.70710678118654757},
};

static void targets_are_measured(void **state)
{
    static const float values[4] = {1, 2, 3, 6}, equal[4] = {5, 5, 5, 5}, bad[4] = {1, NAN, 2, 3};
    static const int32_t classes[4] = {0, 1, 2, 1};
    char x[300], y[300];
    fg_format_data data;
    for (size_t i = 0; i < sizeof measured_cases / sizeof measured_cases[0]; i++) {
        const fg_format_request request = {.task = measured_cases[i].task,
                                           .is_training = measured_cases[i].is_training};
        write_pair(x, y, good, measured_cases[i].has_classes ? FG_S32 : FG_F32,
                   measured_cases[i].has_classes ? (const void *)classes : values);
        fgt_ok(load_part(request, x, y, measured_cases[i].normalize, &data));
        fgt_close("mean", data.target_mean, measured_cases[i].mean, 1e-12, 0);
        fgt_close("deviation", data.target_deviation, measured_cases[i].deviation, 1e-12, 0);
        assert_string_equal(heard, "");
        fg_dataset_destroy(data.samples);
    }
    fg_format_request request = {.task = "auto", .is_training = true};
    write_pair(x, y, good, FG_F32, equal);
    fgt_ok(load_part(request, x, y, NULL, &data));
    assert_true(data.target_mean == 5 && data.target_deviation == 1);
    fg_dataset_destroy(data.samples);
    write_pair(x, y, good, FG_F32, bad);
    assert_int_equal(load_part(request, x, y, NULL, &data), FG_EINVAL);
    fgt_message_is(err.message,
                   "data.y: a training target is NaN or infinite: expected finite numbers");
    fg_dataset_destroy(data.samples);
}

static void targets_of_the_training_part_are_measured(void **state)
{
    static const float values[4] = {1, 2, 3, 6};
    char x[300], y[300];
    fg_format_data data;
    fg_dataset *train, *val;
    double mean = 0;
    const fg_format_request request = {
        .task = "auto", .is_training = true, .val_fraction = 0.5, .split_seed = 3};
    write_pair(x, y, good, FG_F32, values);
    fgt_ok(load_part(request, x, y, NULL, &data));
    fgt_ok(fg_dataset_split(data.samples, &(fg_split_options){.val_fraction = 0.5, .seed = 3},
                            &train, &val, &err));
    for (int64_t i = 0; i < 2; i++) {
        float row[2], target;
        fgt_ok(fg_dataset_read(train, i, (void *const[]){row, &target}, &err));
        mean += (double)target / 2;
    }
    fgt_close("mean", data.target_mean, mean, 1e-12, 0);
    fg_dataset_destroy(train);
    fg_dataset_destroy(val);
    fg_dataset_destroy(data.samples);
}

static void labels_should_be_used(void **state)
{
    static const int32_t all[4] = {0, 1, 2, 2}, some[4] = {3, 1, 0, 3};
    char x[300], y[300], expected[600];
    fg_format_data data;
    fg_format_request request = {.task = "auto", .is_training = true};
    write_pair(x, y, good, FG_S32, all);
    fgt_ok(load_part(request, x, y, NULL, &data));
    assert_string_equal(heard, "");
    fg_dataset_destroy(data.samples);
    write_pair(x, y, good, FG_S32, some);
    fgt_ok(load_part(request, x, y, NULL, &data));
    (void)snprintf(expected, sizeof expected,
                   "%s: the largest label is 3, so there are 4 classes, but only 3 of them occur; "
                   "numpy.unique(y, return_inverse=True) numbers labels from 0",
                   y);
    assert_string_equal(heard, expected);
    fg_dataset_destroy(data.samples);
    request.task = "regression";
    fgt_ok(load_part(request, x, y, NULL, &data));
    assert_string_equal(heard, "");
    fg_dataset_destroy(data.samples);
    request = (fg_format_request){.task = "auto"};
    fgt_ok(load_part(request, x, y, NULL, &data));
    assert_string_equal(heard, "");
    fg_dataset_destroy(data.samples);
}

static void numbers_of_64_bits_may_fit_in_32(void **state)
{
    static const int64_t ends[4] = {INT32_MIN, INT32_MAX, 0, 1};
    char x[300], y[300];
    fg_dataset *dataset;
    write_pair(x, y, good, FG_S64, ends);
    fgt_ok(fg_npy_load(x, y, NULL, &dataset, &err));
    for (int64_t i = 0; i < 4; i++) {
        float row[2];
        int32_t number;
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){row, &number}, &err));
        assert_int_equal(number, ends[i]);
    }
    fg_dataset_destroy(dataset);
}

static void numbers_of_16_bits_keep_their_sign(void **state)
{
    static const int16_t ends[4] = {INT16_MIN, INT16_MAX, 0, -1};
    char x[300], y[300];
    fg_dataset *dataset;
    write_pair(x, y, good, FG_S16, ends);
    fgt_ok(fg_npy_load(x, y, NULL, &dataset, &err));
    for (int64_t i = 0; i < 4; i++) {
        float row[2];
        int32_t number;
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){row, &number}, &err));
        assert_int_equal(number, ends[i]);
    }
    fg_dataset_destroy(dataset);
}

static void negative_numbers_are_no_labels(void **state)
{
    static const int32_t numbers[4] = {1, -1, 0, 2};
    char x[300], y[300];
    fg_format_data data;
    write_pair(x, y, good, FG_S32, numbers);
    fgt_ok(load_part((fg_format_request){.task = "auto", .is_training = true}, x, y, NULL, &data));
    assert_int_equal(fg_dataset_class_count(data.samples), 0);
    assert_true(data.target_mean == 0.5);
    fg_dataset_destroy(data.samples);
}

static void labels_have_a_limit(void **state)
{
    static const int32_t huge[4] = {0, 0, 0, 1000000}, most[4] = {0, 0, 0, 999999};
    char x[300], y[300];
    fg_format_data data;
    const fg_format_request request = {.task = "auto", .is_training = true};
    write_pair(x, y, good, FG_S32, most);
    fgt_ok(load_part(request, x, y, NULL, &data));
    assert_non_null(strstr(heard, "there are 1000000 classes, but only 2 of them occur"));
    fg_dataset_destroy(data.samples);
    write_pair(x, y, good, FG_S32, huge);
    assert_int_equal(load_part(request, x, y, NULL, &data), FG_EINVAL);
    fgt_message_is(err.message, "data.y: the largest label is 1000000: expected class indices, 0 "
                                "to the number of classes - 1");
    fg_dataset_destroy(data.samples);
}

/* Inputs that are not finite: an error, but of its row to predict. */
static void inputs_must_be_finite(void **state)
{
    static const float numbers[2] = {NAN, -INFINITY}, targets[4] = {1, 2, 3, 4};
    static const char says[] =
        "data.@x: row 2 has a value that is NaN or infinite (the first is row 0): expected finite "
        "numbers\nremove the row, or replace the value, as numpy.nan_to_num does";
    char x[300], y[300];
    fg_format_data data;
    for (int k = 0; k < 2; k++) {
        float inputs[8], row[4], target;
        memcpy(inputs, good, sizeof inputs);
        inputs[5] = inputs[7] = numbers[k];
        write_pair(x, y, inputs, FG_F32, targets);
        fg_format_request request = {.task = "auto", .is_training = true};
        assert_int_equal(load_part(request, x, y, NULL, &data), FG_EINVAL);
        fgt_message_is(err.message, says);
        fg_dataset_destroy(data.samples);
        request = (fg_format_request){.part = FG_PART_TEST, .task = "auto", .needs_target = true};
        assert_int_equal(load_part(request, x, y, NULL, &data), FG_EINVAL);
        fgt_message_is(err.message, says);
        fg_dataset_destroy(data.samples);
        request.needs_target = false;
        fgt_ok(load_part(request, x, y, NULL, &data));
        fgt_ok(fg_dataset_read(data.samples, 1, (void *const[]){row, &target}, &err));
        assert_true(row[1] == 4 && target == 2);
        assert_int_equal(fg_dataset_read(data.samples, 3, (void *const[]){row, &target}, &err),
                         FG_EFORMAT);
        fgt_message_is(err.message,
                       "'~/x.npy': row 3 has a value that is NaN or infinite (the first is row 0)");
        fg_dataset_destroy(data.samples);
        request.part = FG_PART_TRAIN;
        assert_int_equal(load_part(request, x, y, NULL, &data), FG_EINVAL);
        fg_dataset_destroy(data.samples);
    }
}

/* A prediction of such a row is zeros and a reason. */
static void rows_that_are_not_finite_are_tolerated(void **state)
{
    float inputs[8], row[2] = {7, 7}, target;
    char x[300], y[300];
    fg_format_data data;
    fg_dataset *dataset;
    memcpy(inputs, good, sizeof inputs);
    inputs[5] = INFINITY;
    write_pair(x, y, inputs, FG_F32, good);
    const fg_format_request request = {.part = FG_PART_TEST, .task = "auto"};
    fgt_ok(load_part(request, x, y, NULL, &data));
    fgt_ok(fg_dataset_tolerate(data.samples, &dataset, &err));
    fgt_ok(fg_dataset_read(dataset, 2, (void *const[]){row, &target}, &err));
    assert_true(row[0] == 0 && row[1] == 0);
    fgt_message_is(fg_dataset_sample_error(dataset, 2),
                   "'~/x.npy': row 2 has a value that is NaN or infinite (the first is row 0)");
    fg_dataset_destroy(dataset);
    float pairs[3][2], targets[3]; /* the last one of a batch */
    assert_int_equal(fgi_dataset_gather(data.samples, 0, (const int64_t[]){0, 1, 2}, 3,
                                        (void *const[]){pairs, targets}, &err),
                     FG_EFORMAT);
    assert_non_null(strstr(err.message, "': row 2 has a value"));
    fg_dataset_destroy(data.samples);
}

static void halves_must_be_finite(void **state)
{
    fg_format_data data;
    for (int k = 0; k < 3; k++) { /* the largest number, infinite, NaN */
        static const uint16_t ends[3] = {0x7bff, 0xfc00, 0x7c01};
        const uint16_t halves[2] = {0, ends[k]};
        const char *path = fgt_path(fgt_temp_folder(), "h.npy");
        fgt_ok(fg_npy_write(path, &(fg_type){FG_F16, 2, {2, 1}}, halves, &err));
        const fg_format_request request = {.part = FG_PART_TEST, .needs_target = true};
        assert_int_equal(load_part(request, path, NULL, NULL, &data), k == 0 ? FG_OK : FG_EINVAL);
        fg_dataset_destroy(data.samples);
    }
}

/* The options in the order of the parts: inputs, and targets where there are any. */
static void each_part_has_its_files(void **state)
{
    static const char *const names[] = {"x", "y", "val_x", "val_y", "test_x", "test_y", "predict"};
    fg_option_values *values;
    fg_format_data data;
    const fg_entry *entry = &fgi_npy_row.entry;
    const char *folder = fgt_temp_folder();
    fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
    for (int i = 0; i < 7; i++) {
        const float value = (float)i + 0.5f;
        fgt_ok(fg_npy_write(fgt_path(folder, names[i]), &(fg_type){FG_F32, 1, {1}}, &value, &err));
        fgt_ok(fg_option_set(values, names[i], fgt_path(folder, names[i]), NULL, &err));
    }
    for (int part = FG_PART_TRAIN; part <= FG_PART_PREDICT; part++) {
        float x, y;
        const fg_format_request request = {.part = (fg_data_part)part, .task = "auto"};
        fgt_ok(fgt_open_format(&fgi_npy_row, values, request, &data, &err));
        assert_int_equal(fg_dataset_field_count(data.samples), part == FG_PART_PREDICT ? 1 : 2);
        fgt_ok(fg_dataset_read(data.samples, 0, (void *const[]){&x, &y}, &err));
        fgt_close("x", (double)x, 2 * part + 0.5, 0, 0);
        if (part != FG_PART_PREDICT)
            fgt_close("y", (double)y, 2 * part + 1.5, 0, 0);
        fg_dataset_destroy(data.samples);
    }
    fg_option_values_destroy(values);
}

/* ---- the data format csv -------------------------------------------------------------------- */

static const struct {
    const char *text, *options; /* separated by blanks */
    const char *says;           /* the beginning of the report, or the error */
} format_cases[] = {
    {"a,b,y\n1,2,3\n2,3,4\n", "", ": 2 rows, 2 of them for training, 2 features\n"},
    {"a\tb\ty\n1\t2\t3\n2\t3\t4\n", "delimiter=\\t",
     ": 2 rows, 2 of them for training, 2 features"},
    {"a\tb\ty\n1\t2\t3\n2\t3\t4\n", "delimiter=tab",
     ": 2 rows, 2 of them for training, 2 features"},
    {"a;b;y\n1;2,5;3\n2;3;4\n", "delimiter=; decimal=,",
     "b       numeric                0  2.5 to 3"},
    {"a,b\n1,2\n", "delimiter=;;",
     "data.delimiter: expected one character, or \\t or tab for a tab"},
    {"a,b\n1,2\n", "decimal=;", "data.decimal: expected . or ,, got ';'"},
    {"a,b\n1,2\n", "image=[1,1]", "data.image: expected [height, width, channels]"},
    {"1,2\n3,4\n", "no_header=false", ": 1 row, 1 of them for training, 1 feature\n"},
    {"1,2\n3,4\n", "no_header=true", ": 2 rows, 2 of them for training, 1 feature\n"},
    {"1,2\n3,4\n", "", "set data.no_header: true if the file has no header"},
    {"a,b,y\n1,x,3\n2,y,4\n", "ignore=[b]", "b       ignored\n"},
    {"a,b,y\n1,x,3\n2,y,4\n", "categorical=[a]", "a       categorical            0  2: 1, 2\n"},
    {"a,b,y\n1,$7,3\n2,$8,4\n", "ignore=[a] numeric=[b]",
     "b       numeric                0  7 to 8"},
    {"a,b,y\n1,q,3\n2,8,4\n", "na_values=[z,q] missing=mean", "b       numeric                1  "},
    {"a,b,y\n1,NA,3\n2,u,4\n", "keep_default_na=false",
     "b       categorical            0  2: NA, u"},
    {"a,b,y\n1,u,3\n2,v,4\n", "max_categories=1", "more than 1 different categories"},
    {"a,b,y\n1,u,3\n2,v,4\n", "target=a", "a       target, number"},
    {"a,b,y\n1,2,3.5\n2,3,4\n", "", "deviation 0.25 (standardized for training)\n"},
    {"a,b,y\n1,2,3.5\n2,3,4\n", "normalize=false", "deviation 0.25\n"},
};

static void hear_report(void *self, fg_log_level level, const char *line)
{
    (void)snprintf(self, 2000, "%s", line);
}

static void options_reach_the_file(void **state)
{
    const char *path = fgt_path(fgt_temp_folder(), "f.csv");
    for (size_t i = 0; i < sizeof format_cases / sizeof format_cases[0]; i++) {
        char text[200], said[2000] = "";
        fg_option_values *values;
        fg_format_data data = {0};
        const fg_entry *entry = &fgi_csv_row.entry;
        const fg_format_request request = {.task = "auto", .say = hear_report, .say_self = said};
        fgt_write(path, format_cases[i].text, strlen(format_cases[i].text));
        fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
        fgt_ok(fg_option_set(values, "path", path, NULL, &err));
        (void)snprintf(text, sizeof text, "%s", format_cases[i].options);
        for (char *rest = text, *word; *text != '\0' && (word = strsep(&rest, " ")) != NULL;) {
            char *value = strchr(word, '=');
            *value = '\0';
            fgt_ok(fg_option_set(values, word, value + 1, "test", &err));
        }
        err = (fg_error){0};
        const fg_status status = fgt_open_format(&fgi_csv_row, values, request, &data, &err);
        (void)strcat(said, status == FG_OK ? "\n" : err.message);
        if (strstr(said, format_cases[i].says) == NULL || strstr(said, "\n\n") != NULL)
            fail_msg("case %zu: %s", i, said);
        fg_dataset_destroy(data.samples);
        fg_csv_schema_destroy(data.schema);
        fg_option_values_destroy(values);
    }
}

static const struct {
    fg_data_part part;
    const char *option, *text;
    double x[3];
    int damaged; /* rows; -1: an error */
} csv_parts[] = {
    {FG_PART_VAL, "val", "n,c,y\n,u,1\n", {2, 1, 0}, 0},
    {FG_PART_TEST, "test", "n,c,y\n5,w,1\n", {5, 0, 0}, 0},
    {FG_PART_PREDICT, "predict", "n,c\n7,v\nx,v\n", {7, 0, 1}, 1},
    {FG_PART_TRAIN, "path", "n,c\n7,v\nx,v\n", {0}, -1},
    {FG_PART_TEST, "test", "n,c,y\n7,v,1\nx,v,2\n", {0}, -1},
};
enum { CSV_PARTS = sizeof csv_parts / sizeof csv_parts[0] };

static void set_options(fg_option_values *values, const char *const *words)
{
    for (; *words != NULL; words += 2)
        fgt_ok(fg_option_set(values, words[0], words[1], NULL, &err));
}

/* Each part is another file; the delimiter and the rules may have changed since the fit. */
static void csv_files_are_read_by_the_schema(void **state)
{
    static const char fitted[] = "n;c;y\n1;u;1\n3;v;2\n";
    fg_option_values *values;
    fg_format_data data, part;
    const fg_entry *entry = &fgi_csv_row.entry;
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "fitted"), fitted, strlen(fitted));
    fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
    set_options(values, (const char *const[]){"path", fgt_path(folder, "fitted"), "delimiter", ";",
                                              "normalize", "false", NULL});
    fgt_ok(fgt_open_format(&fgi_csv_row, values, (fg_format_request){.task = "auto"}, &data, &err));
    set_options(values, (const char *const[]){"delimiter", ",", "missing", "mean", "unknown",
                                              "zero", NULL});
    for (int i = 0; i < CSV_PARTS; i++) {
        float x[3], y;
        const char *path = fgt_path(folder, csv_parts[i].option);
        const fg_format_request request = {.part = csv_parts[i].part,
                                           .needs_target = csv_parts[i].part == FG_PART_VAL ||
                                                           csv_parts[i].part == FG_PART_TEST,
                                           .task = "auto",
                                           .schema = data.schema};
        fgt_write(path, csv_parts[i].text, strlen(csv_parts[i].text));
        fgt_ok(fg_option_set(values, csv_parts[i].option, path, NULL, &err));
        const fg_status status = fgt_open_format(&fgi_csv_row, values, request, &part, &err);
        assert_int_equal(status, csv_parts[i].damaged < 0 ? FG_EFORMAT : FG_OK);
        if (status != FG_OK)
            continue;
        fgt_ok(fg_dataset_read(part.samples, 0, (void *const[]){x, &y}, &err));
        for (int k = 0; k < 3; k++)
            fgt_close("x", (double)x[k], csv_parts[i].x[k], 0, 0);
        fg_dataset_destroy(part.samples);
    }
    fg_dataset_destroy(data.samples);
    fg_csv_schema_destroy(data.schema);
    fg_option_values_destroy(values);
}

/* Which of eight rows are for validation, as bits; half of the rows are of each class. */
static unsigned held_out(uint64_t seed, bool stratify, int *out_of_first)
{
    static const char text[] = "n,y\n0,a\n1,b\n2,a\n3,b\n4,a\n5,b\n6,a\n7,b\n";
    const fg_entry *entry = &fgi_csv_row.entry;
    const char *path = fgt_path(fgt_temp_folder(), "t.csv");
    const fg_format_request request = {
        .task = "auto", .val_fraction = 0.5, .split_seed = seed, .stratify = stratify};
    fg_option_values *values;
    fg_format_data data = {0};
    unsigned rows = 0;
    *out_of_first = 0;
    fgt_write(path, text, strlen(text));
    fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
    set_options(values, (const char *const[]){"path", path, "normalize", "false", NULL});
    fgt_ok(fgt_open_format(&fgi_csv_row, values, request, &data, &err));
    assert_int_equal(fg_dataset_count(data.val), 4);
    for (int64_t i = 0; i < 4; i++) {
        float n;
        int32_t label;
        fgt_ok(fg_dataset_read(data.val, i, (void *const[]){&n, &label}, &err));
        rows |= 1u << (int)n;
        *out_of_first += label == 0;
    }
    fg_dataset_destroy(data.samples);
    fg_dataset_destroy(data.val);
    fg_csv_schema_destroy(data.schema);
    fg_option_values_destroy(values);
    return rows;
}

static void rows_are_held_out_as_requested(void **state)
{
    unsigned first = 0;
    int others = 0, uneven = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        int of_first;
        (void)held_out(seed, false, &of_first);
        uneven += of_first != 2;
        const unsigned rows = held_out(seed, true, &of_first);
        assert_int_equal(of_first, 2);
        first = seed == 0 ? rows : first;
        others += rows != first;
    }
    assert_true(others > 0 && uneven > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_are_held_out_as_requested),
    cmocka_unit_test(csv_files_are_read_by_the_schema),
    cmocka_unit_test(each_part_has_its_files),
    cmocka_unit_test(options_reach_the_file),
    cmocka_unit_test(targets_are_measured),
    cmocka_unit_test(targets_of_the_training_part_are_measured),
    cmocka_unit_test(labels_should_be_used),
    cmocka_unit_test(numbers_of_64_bits_may_fit_in_32),
    cmocka_unit_test(numbers_of_16_bits_keep_their_sign),
    cmocka_unit_test(negative_numbers_are_no_labels),
    cmocka_unit_test(labels_have_a_limit),
    cmocka_unit_test(rows_that_are_not_finite_are_tolerated),
    cmocka_unit_test(halves_must_be_finite),
    cmocka_unit_test(inputs_must_be_finite),
    cmocka_unit_test(every_dtype_of_numpy_is_read),
    cmocka_unit_test(labels_become_s32_and_are_counted),
    cmocka_unit_test(shapes_up_to_rank_8_are_kept),
    cmocka_unit_test(what_cannot_be_used_is_said),
    cmocka_unit_test(headers_may_be_written_in_many_ways),
    cmocka_unit_test(headers_that_lie_are_refused),
    cmocka_unit_test(starts_that_lie_are_refused),
    cmocka_unit_test(targets_are_what_they_are),
    cmocka_unit_test(what_is_written_is_what_numpy_writes),
    cmocka_unit_test(what_cannot_be_written_is_refused),
    cmocka_unit_test(every_allocation_may_fail),
};
FGT_MAIN(tests)
