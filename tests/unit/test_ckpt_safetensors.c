/* test_ckpt_safetensors.c - invalid tensor files: every field of a header falsified, and the
 * resulting error; what the writer rejects; allocation failures in reader and writer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "input/json_file.h"
#include "ckpt/safetensors.h"

/* A file in memory: the header's length, the header, `data` zero bytes. */
typedef struct file {
    unsigned char bytes[4096];
    size_t size;
} file;

static file make(const char *header, size_t data)
{
    file f = {.size = 8 + strlen(header) + data};
    const uint64_t length = strlen(header);
    assert_true(f.size <= sizeof(f.bytes));
    memcpy(f.bytes, &length, 8);
    memcpy(f.bytes + 8, header, strlen(header));
    return f;
}

static void refused(const file *f, fg_status status, const char *message)
{
    fg_error err = {0};
    fgi_safetensors out;
    assert_int_equal(fgi_safetensors_parse("f", f->bytes, f->size, FG_CKPT_MODEL, &out, &err),
                     status);
    assert_string_equal(err.message, message);
    assert_null(out.tensors);
}

static const struct {
    const char *header;
    size_t data;
    const char *message;
} lies[] = {
    {"[]", 0, "f: byte 8: expected '{' at the start of the header"},
    {"", 0, "f: byte 8: expected '{' at the start of the header"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
     4, "f: byte 64: invalid JSON: duplicate object key near '\"a\"'"},
    {"{\"a\":1}", 0, "f: byte 9: tensor 'a': expected exactly dtype, shape and data_offsets"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2]}}", 2,
     "f: byte 9: tensor 'a': expected exactly dtype, shape and data_offsets"},
    {"{\"a\":{\"dtype\":8,\"shape\":[2],\"data_offsets\":[0,2]}}", 2,
     "f: byte 9: tensor 'a': dtype is not a string"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":2,\"data_offsets\":[0,2]}}", 2,
     "f: byte 9: tensor 'a': shape is not a list"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[-2],\"data_offsets\":[0,2]}}", 2,
     "f: byte 9: tensor 'a': dimension 0 is not a nonnegative integer"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,2.0],\"data_offsets\":[0,2]}}", 2,
     "f: byte 9: tensor 'a': dimension 1 is not a nonnegative integer"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
     "f: byte 9: tensor 'a': its shape overflows 64 bits"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[144115188075855872],\"data_offsets\":[0,0]}}", 0,
     "f: byte 9: tensor 'a': its shape overflows 64 bits"}, /* 2^57 */
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[144115188075855871],\"data_offsets\":[0,0]}}", 0,
     "f: byte 9: tensor 'a': f64[144115188075855871] requires 1152921504606846968 bytes, but "
     "its data_offsets span 0"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0]}}", 2,
     "f: byte 9: tensor 'a': data_offsets are not two nonnegative integers"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,0]}}", 2,
     "f: byte 9: tensor 'a': data_offsets are in descending order: 2, 0"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}", 2,
     "f: byte 9: tensor 'a' ends at byte 3 of the data, but the file has only 2 bytes of data: "
     "the file may be truncated"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
     "f: byte 9: tensor 'a': f32[2] requires 8 bytes, but its data_offsets span 4"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
     3, "f: byte 114: tensor 'b' overlaps 'a'"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]}}",
     5, "f: byte 115: no tensor has the 1 byte before tensor 'b'"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 5,
     "f: byte 63: no tensor has the 3 bytes after the last tensor"},
    {"{}", 1, "f: byte 10: no tensor has the 1 byte after the last tensor"},
    {"{\"__metadata__\":[]}", 0, "f: byte 9: __metadata__ is not an object"},
    {"{\"__metadata__\":{\"k\":1}}", 0, "f: byte 25: __metadata__ 'k' is not a string"},
};

static void headers_that_lie(void **state)
{
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        const file f = make(lies[i].header, lies[i].data);
        refused(&f, FG_EFORMAT, lies[i].message);
    }
}

/* Tensors that fg_type cannot represent are listed with their sizes; the others are readable. */
static void what_fg_type_cannot_hold(void **state)
{
    fg_error err = {0};
    fgi_safetensors out;
    file f = make("{\"__metadata__\":null,"
                  "\"c\":{\"dtype\":\"C64\",\"shape\":[2],\"data_offsets\":[0,16]},"
                  "\"f4\":{\"dtype\":\"F4\",\"shape\":[2,3],\"data_offsets\":[16,19]},"
                  "\"f8\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[19,21]},"
                  "\"new\":{\"dtype\":\"F3\",\"shape\":[],\"data_offsets\":[21,26]},"
                  "\"u8\":{\"dtype\":\"U8\",\"shape\":[1,1,1,3,1,1,1,1,1],"
                  "\"data_offsets\":[26,29]},"
                  "\"x\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,2],\"data_offsets\":[29,31]}}",
                  31);
    static const char *const stored[] = {"C64[2]", "F4[2,3]", "F8_E4M3[2]", "F3[]",
                                         "U8[1,1,1,3,1,1,1,1,1]"};
    static const int64_t counts[] = {2, 6, 2, 1, 3};
    fgt_ok(fgi_safetensors_parse("f", f.bytes, f.size, FG_CKPT_MODEL, &out, &err));
    assert_int_equal(out.count, 6);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(out.tensors[i].stored, stored[i]);
        assert_int_equal(out.tensors[i].type.dtype, FG_DTYPE_NONE);
        assert_int_equal(fg_type_count(&out.tensors[i].type), counts[i]);
    }
    assert_int_equal(out.tensors[3].size_bytes, 5);
    assert_null(out.tensors[5].stored);
    assert_int_equal(out.tensors[5].type.dtype, FG_U8);
    assert_int_equal(out.tensors[5].type.rank, FG_MAX_RANK);
    fgi_safetensors_close(&out);
    f = make("{\"a\":{\"dtype\":\"F8_E5M2\",\"shape\":[2],\"data_offsets\":[0,3]}}", 3);
    refused(&f, FG_EFORMAT,
            "f: byte 9: tensor 'a': F8_E5M2[2] requires 2 bytes, but its data_offsets span 3");
    f = make("{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2);
    refused(&f, FG_EFORMAT,
            "f: byte 9: tensor 'a': F4[3] requires 12 bits, but its data_offsets span 2");
    f = make("{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1);
    refused(&f, FG_EFORMAT,
            "f: byte 9: tensor 'a': F4[3] requires 12 bits, but its data_offsets span 1");
}

/* Every dtype of the format that fg_type does not have, and the bytes of eight. */
static void sizes_of_other_dtypes(void **state)
{
    static const struct {
        const char *name;
        int bytes;
    } rows[] = {{"C64", 64},    {"F8_E5M2", 8},     {"F8_E4M3", 8},
                {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
                {"F6_E3M2", 6}, {"F6_E2M3", 6},     {"F4", 4}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char header[128], message[160];
        (void)snprintf(header, sizeof(header),
                       "{\"a\":{\"dtype\":\"%s\",\"shape\":[8],\"data_offsets\":[0,%d]}}",
                       rows[i].name, rows[i].bytes + 1);
        const file f = make(header, (size_t)rows[i].bytes + 1);
        (void)snprintf(message, sizeof(message),
                       "f: byte 9: tensor 'a': %s[8] requires %d bytes, but its data_offsets span "
                       "%d",
                       rows[i].name, rows[i].bytes, rows[i].bytes + 1);
        refused(&f, FG_EFORMAT, message);
    }
}

static void lengths_that_lie(void **state)
{
    file f = make("{}", 0);
    f.size = 5;
    refused(&f, FG_EFORMAT, "f: byte 5: unexpected end of file: expected 8 bytes of header length");
    f = make("{}", 0);
    f.bytes[0] = 3;
    refused(&f, FG_EFORMAT,
            "f: byte 0: header length is 3, but only 2 bytes follow: the file may be truncated");
    memcpy(f.bytes, "\x00\xe1\xf5\x05", 4);
    refused(&f, FG_EFORMAT,
            "f: byte 0: header length is 100000000, but only 2 bytes follow: the file may be "
            "truncated");
    f.bytes[0] = 1;
    refused(&f, FG_EFORMAT,
            "f: byte 0: header length is 100000001: expected at most 100000000 (is this a "
            "safetensors file?)");
    memcpy(f.bytes, "\x03\0\0\0\0\0\0\xff", 8);
    refused(
        &f, FG_EFORMAT,
        "f: byte 0: header length is 18374686479671623683: expected at most 100000000 (is this a "
        "safetensors file?)");
    f = make("{\"a\":", 0);
    fg_error err = {0};
    fgi_safetensors out;
    assert_int_equal(fgi_safetensors_parse("f", f.bytes, f.size, FG_CKPT_MODEL, &out, &err),
                     FG_EFORMAT);
    assert_memory_equal(err.message, "f: byte 13: invalid JSON: ", 21);
}

static void a_file_without_tensors_is_valid(void **state)
{
    fg_error err = {0};
    fgi_safetensors out;
    const file f = make("{}      ", 0);
    fgt_ok(fgi_safetensors_parse("f", f.bytes, f.size, FG_CKPT_MODEL, &out, &err));
    assert_int_equal(out.count, 0);
    fgi_safetensors_close(&out);
}

/* Truncating a valid file anywhere, or changing any byte, gives an error or a file whose tensors
 * are within bounds; the sanitizers check the rest. */
static void cuts_and_flips_never_read_outside(void **state)
{
    const file good = make("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
                           "\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[2,6]}}",
                           6);
    for (size_t i = 0; i < good.size; i++) {
        fgi_safetensors out;
        unsigned char *cut = malloc(i + 1);
        memcpy(cut, good.bytes, i);
        assert_int_equal(fgi_safetensors_parse("f", cut, i, FG_CKPT_MODEL, &out, NULL), FG_EFORMAT);
        free(cut);
        for (int bit = 0; bit < 8; bit++) {
            file flipped = good;
            flipped.bytes[i] ^= (unsigned char)(1 << bit);
            if (fgi_safetensors_parse("f", flipped.bytes, good.size, FG_CKPT_MODEL, &out, NULL) !=
                FG_OK)
                continue;
            for (size_t t = 0; t < out.count; t++)
                assert_true(out.tensors[t].offset_bytes + out.tensors[t].size_bytes <= good.size);
            fgi_safetensors_close(&out);
        }
    }
}

static void what_the_writer_refuses(void **state)
{
    const uint8_t byte = 1;
    const fg_type u8 = {.dtype = FG_U8};
    const struct {
        fg_ckpt_tensor tensors[2];
        size_t count;
        const char *message;
    } cases[] = {
        {{{"a", u8, &byte}, {"a", u8, &byte}}, 2, "two tensors are named 'a'"},
        {{{"", u8, &byte}}, 1, "'' is not a valid tensor name"},
        {{{NULL, u8, &byte}}, 1, "'' is not a valid tensor name"},
        {{{"__metadata__", u8, &byte}}, 1, "'__metadata__' is not a valid tensor name"},
        {{{"\xc0\x80", u8, &byte}}, 1, "'\xc0\x80' is not a valid tensor name"},
        {{{"\xed\xa0\x80", u8, &byte}}, 1, "'\xed\xa0\x80' is not a valid tensor name"},
        {{{"a", {.dtype = FG_DTYPE_NONE}, &byte}}, 1, "tensor 'a' has an invalid type"},
        {{{"a", {.dtype = FG_U8, .rank = 1, .dim = {-1}}, &byte}},
         1,
         "tensor 'a' has an invalid type"},
        {{{"a", u8, NULL}}, 1, "tensor 'a' has no data"},
    };
    const char *path = fgt_path(fgt_temp_folder(), "refused.safetensors");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fg_error err = {0};
        assert_int_equal(fg_safetensors_write(path, cases[i].tensors, cases[i].count, NULL, &err),
                         FG_EINVAL);
        if (!strstr(err.message, cases[i].message))
            fail_msg("'%s' does not say: %s", err.message, cases[i].message);
        FILE *none = fopen(path, "rb");
        assert_null(none);
    }
    fg_error err = {0};
    const char *const odd[] = {"key", NULL};
    assert_int_equal(fg_safetensors_write(path, NULL, 0, odd, &err), FG_EINVAL);
}

/* Sorted by size and then by name; control characters are escaped. */
static void headers_are_in_order(void **state)
{
    static const char expected[] =
        "{\"w\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
        "\"a\\u001f\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[4,5]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1],\"data_offsets\":[5,6]},"
        "\"c\":{\"dtype\":\"U8\",\"shape\":[0,2],\"data_offsets\":[6,6]}}";
    static const float data[1];
    const fg_ckpt_tensor tensors[] = {
        {"c", {.dtype = FG_U8, .rank = 2, .dim = {0, 2}}, data},
        {"b", {.dtype = FG_U8, .rank = 8, .dim = {1, 1, 1, 1, 1, 1, 1, 1}}, data},
        {"a\x1f", {.dtype = FG_U8}, data},
        {"w", {.dtype = FG_F32}, data}};
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    const char *path = fgt_path(fgt_temp_folder(), "order.safetensors");
    fgt_ok(fg_safetensors_write(path, tensors, 4, NULL, &err));
    fgt_ok(fgi_file_read(path, 1 << 16, &text, &size, &err));
    assert_true(size > 8 + sizeof(expected));
    assert_memory_equal(text + 8, expected, sizeof(expected) - 1);
    fgi_free(text);
}

static void a_full_disk_leaves_no_file(void **state)
{
    fg_error err = {0};
    const uint8_t byte = 1;
    const fg_ckpt_tensor t = {"a", {.dtype = FG_U8}, &byte};
    const fgi_tensors content = {&t, 1, NULL};
    fgi_manifest_file written;
    FILE *full = fopen("/dev/full", "wb");
    if (!full)
        skip();
    assert_int_equal(fgi_safetensors_stream(fileno(full), "/dev/full", &content, &written, &err),
                     FG_EIO);
    assert_string_equal(err.message, "cannot write '/dev/full': No space left on device");
    (void)fclose(full);
}

static void a_missing_folder_is_named(void **state)
{
    fg_error err = {0};
    const char *path = fgt_path(fgt_temp_folder(), "missing/x.safetensors");
    assert_int_equal(fg_safetensors_write(path, NULL, 0, NULL, &err), FG_ENOTFOUND);
    assert_non_null(strstr(err.message, path));
}

static void checksum_in_pieces_is_the_checksum(void **state)
{
    unsigned char data[1000];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 7);
    fgi_checksum *sum = fgi_checksum_create();
    assert_non_null(sum);
    assert_true(fgi_checksum_value(sum) == fgi_checksum64(data, 0));
    for (size_t at = 0, piece = 1; at < sizeof(data); at += piece, piece++) {
        piece = piece < sizeof(data) - at ? piece : sizeof(data) - at;
        fgi_checksum_add(sum, data + at, piece);
    }
    assert_true(fgi_checksum_value(sum) == fgi_checksum64(data, sizeof(data)));
    fgi_checksum_destroy(sum);
}

static fg_status write_then_read(void *self, fg_error *err)
{
    const float values[] = {1, 2, 3};
    const fg_ckpt_tensor tensors[] = {
        {"w", {.dtype = FG_F32, .rank = 1, .dim = {3}}, values},
        {"b", {.dtype = FG_U8}, values},
    };
    fg_ckpt *ckpt;
    fg_status status =
        fg_safetensors_write(self, tensors, 2, (const char *const[]){"k", "v", NULL}, err);
    if (status == FG_OK)
        status = fg_ckpt_open(self, NULL, &ckpt, err);
    if (status != FG_OK)
        return status;
    const bool is_right =
        fg_ckpt_count(ckpt) == 2 && memcmp(fg_ckpt_data(ckpt, 0), values, 12) == 0;
    fg_ckpt_close(ckpt);
    assert_true(is_right);
    return FG_OK;
}

static void every_allocation_may_fail(void **state)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/fault.safetensors", fgt_temp_folder());
    fgt_fault_loop(write_then_read, path);
}

/* jansson's allocations: it reports some of these failures as invalid JSON, so either error is
 * accepted, but nothing may leak. */
static void allocations_of_jansson_may_fail(void **state)
{
    static const char text[] = "{\"a\": [1, 2.5, \"text\"], \"b\": {\"c\": null}}";
    const long live = fgi_alloc_live();
    fg_status status = FG_ENOMEM;
    json_set_alloc_funcs(fgi_alloc, fgi_free);
    for (long n = 0; status != FG_OK; n++) {
        fg_error err = {0};
        json_t *root;
        fgi_alloc_fail_after(n);
        status = fgi_json_parse("f", 0, text, strlen(text), &root, &err);
        fgi_alloc_fail_after(-1);
        assert_true(status == FG_OK || status == FG_ENOMEM || status == FG_EFORMAT);
        assert_int_equal(root != NULL, status == FG_OK);
        json_decref(root);
        assert_int_equal(fgi_alloc_live(), live);
    }
    json_set_alloc_funcs(malloc, free);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(headers_that_lie),
    cmocka_unit_test(what_fg_type_cannot_hold),
    cmocka_unit_test(sizes_of_other_dtypes),
    cmocka_unit_test(lengths_that_lie),
    cmocka_unit_test(a_file_without_tensors_is_valid),
    cmocka_unit_test(cuts_and_flips_never_read_outside),
    cmocka_unit_test(what_the_writer_refuses),
    cmocka_unit_test(headers_are_in_order),
    cmocka_unit_test(a_full_disk_leaves_no_file),
    cmocka_unit_test(a_missing_folder_is_named),
    cmocka_unit_test(checksum_in_pieces_is_the_checksum),
    cmocka_unit_test(every_allocation_may_fail),
    cmocka_unit_test(allocations_of_jansson_may_fail),
};
FGT_MAIN(tests)
