/* .npy: files written by NumPy (tests/golden/data/make_npy.py), inconsistent files, and files that
 * we write.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdlib.h>
#include <fulgurite/data.h>
#include "base/file.h"
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
    fgt_ok(fg_npy_open(golden(name), NULL, &(fg_npy_options){.keep_dtypes = keep}, &dataset, &err));
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
        fgt_ok(fg_npy_open(golden("float32.npy"), golden(names[i]), NULL, &dataset, &err));
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
    fgt_ok(fg_npy_open(golden("float32.npy"), golden("int32.npy"), NULL, &dataset, &err));
    assert_int_equal(fg_dataset_class_count(dataset), 0);
    fg_dataset_destroy(dataset);
}

static void shapes_up_to_rank_8_are_kept(void **state)
{
    fg_dataset *dataset;
    fgt_ok(fg_npy_open(golden("rank8.npy"), NULL, NULL, &dataset, &err));
    char text[64];
    assert_string_equal(fg_type_format(&fg_dataset_field(dataset, 0)->type, text, sizeof(text)),
                        "u8[1,2,1,2,1,2,1]");
    fg_dataset_destroy(dataset);
    fgt_ok(fg_npy_open(golden("empty.npy"), NULL, NULL, &dataset, &err));
    assert_int_equal(fg_dataset_count(dataset), 0);
    fg_dataset_destroy(dataset);
}

static void expect_refused(const char *name, const char *y_name, fg_status status,
                           const char *message)
{
    fg_dataset *dataset;
    assert_int_equal(
        fg_npy_open(golden(name), y_name == NULL ? NULL : golden(y_name), NULL, &dataset, &err),
        status);
    assert_null(dataset);
    if (strstr(err.message, message) == NULL)
        fail_msg("'%s' lacks '%s'", err.message, message);
}

static void what_cannot_be_used_is_said(void **state)
{
    expect_refused("none.npy", NULL, FG_ENOTFOUND, "none.npy");
    expect_refused("scalar.npy", NULL, FG_ESHAPE, "is a scalar");
    expect_refused("no_columns.npy", NULL, FG_ESHAPE, "rows without elements");
    expect_refused("fortran.npy", NULL, FG_EUNSUPPORTED, "Fortran order");
    expect_refused("big_endian.npy", NULL, FG_EUNSUPPORTED, "dtype '>f4'");
    expect_refused("complex.npy", NULL, FG_EUNSUPPORTED, "dtype '<c8'");
    expect_refused("structured.npy", NULL, FG_EUNSUPPORTED, "structured");
    expect_refused("wide.npy", NULL, FG_EFORMAT,
                   "wide.npy: element 2 (index starting at 0, byte 144) does not fit");
    expect_refused("float32.npy", "three_rows.npy", FG_ESHAPE, "has 4 rows");
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
        fgi_npy_parse("f", (const unsigned char *)"\x93NUMPY\x01\x00\xff\xff{", 11, &npy, &err),
        FG_EFORMAT);
    assert_string_equal(err.message, "f: byte 10: the header is longer than the file");
    assert_int_equal(
        fgi_npy_parse("f", (const unsigned char *)"\x93NUMPY\x04\x00\x00\x00{}", 12, &npy, &err),
        FG_EUNSUPPORTED);
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
    fg_status status = fg_npy_open(golden("float64.npy"), golden("labels.npy"), NULL, &dataset, e);
    fg_dataset_destroy(dataset);
    const float numbers[2] = {1, 2};
    if (status == FG_OK)
        status = fg_npy_write(fgt_path(fgt_temp_folder(), "loop.npy"), &(fg_type){FG_F32, 1, {2}},
                              numbers, e);
    return status;
}

static void every_allocation_may_fail(void **state) { fgt_fault_loop(open_and_write, NULL); }

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_dtype_of_numpy_is_read),
    cmocka_unit_test(labels_become_s32_and_are_counted),
    cmocka_unit_test(shapes_up_to_rank_8_are_kept),
    cmocka_unit_test(what_cannot_be_used_is_said),
    cmocka_unit_test(headers_may_be_written_in_many_ways),
    cmocka_unit_test(headers_that_lie_are_refused),
    cmocka_unit_test(what_is_written_is_what_numpy_writes),
    cmocka_unit_test(what_cannot_be_written_is_refused),
    cmocka_unit_test(every_allocation_may_fail),
};
FGT_MAIN(tests)
