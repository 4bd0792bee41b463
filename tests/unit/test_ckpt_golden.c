/* test_ckpt_golden.c - tensor files compared with those of the safetensors library: its files are
 * read correctly, and our files of the same tensors have the same bytes.
 * tests/golden/ckpt/record.py made the files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>
#include <fulgurite/ckpt.h>
#include "base/alloc.h"
#include "base/file.h"

#define GOLDEN FGT_SOURCE_DIR "/tests/golden/ckpt/"
#define T23(d)                                                                                     \
    {                                                                                              \
        .dtype = (d), .rank = 2, .dim = { 2, 3 }                                                   \
    }

static const uint64_t u64[] = {1, 2, 3, 4, 5, 6};
static const uint32_t u32[] = {1, 2, 3, 4, 5, 6};
static const uint16_t u16[] = {1, 2, 3, 4, 5, 6};
static const uint8_t u8[] = {1, 2, 3, 4, 5, 6};
static const uint8_t flags[] = {0, 1, 0, 1, 0, 1};
static const double f64[] = {-1, -0.5, 0, 0.5, 1, 1.5};
static const float f32[] = {-1, -0.5F, 0, 0.5F, 1, 1.5F};
static const uint16_t bf16[] = {0xbf80, 0xbf00, 0, 0x3f00, 0x3f80, 0x3fc0};
static const uint16_t f16[] = {0xbc00, 0xb800, 0, 0x3800, 0x3c00, 0x3e00};

static const fg_ckpt_tensor every_dtype[] = {
    {"t.bool", T23(FG_BOOL), flags}, {"t.u8", T23(FG_U8), u8},    {"t.s8", T23(FG_S8), u8},
    {"t.u16", T23(FG_U16), u16},     {"t.s16", T23(FG_S16), u16}, {"t.u32", T23(FG_U32), u32},
    {"t.s32", T23(FG_S32), u32},     {"t.u64", T23(FG_U64), u64}, {"t.s64", T23(FG_S64), u64},
    {"t.bf16", T23(FG_BF16), bf16},  {"t.f16", T23(FG_F16), f16}, {"t.f32", T23(FG_F32), f32},
    {"t.f64", T23(FG_F64), f64},
};
enum { EVERY_COUNT = sizeof(every_dtype) / sizeof(every_dtype[0]) };

static const float two_and_a_half = 2.5F, one_two[] = {1, 2};
static const uint8_t three = 3;
static const fg_ckpt_tensor names[] = {
    {"scalar", {.dtype = FG_F32}, &two_and_a_half},
    {"empty", {.dtype = FG_F32, .rank = 2, .dim = {0, 3}}, NULL},
    {"na\xc3\xafve.\xe6\xac\x8a\xe9\x87\x8d", {.dtype = FG_F32, .rank = 1, .dim = {2}}, one_two},
    {"quote\"back\\slash\ttab\x01", {.dtype = FG_U8, .rank = 1, .dim = {1}}, &three},
};
enum { NAMES_COUNT = sizeof(names) / sizeof(names[0]) };

/* The recorded file holds exactly these tensors. */
static void check_read(const char *path, const fg_ckpt_tensor *tensors, size_t count)
{
    fg_error err = {0};
    fg_ckpt *ckpt;
    fgt_ok(fg_ckpt_open(path, NULL, &ckpt, &err));
    assert_int_equal(fg_ckpt_count(ckpt), count);
    for (size_t i = 0; i < count; i++) {
        size_t at;
        if (!fg_ckpt_find(ckpt, FG_CKPT_MODEL, tensors[i].name, &at))
            fail_msg("%s: no '%s'", path, tensors[i].name);
        const fg_tensor_info *info = fg_ckpt_info(ckpt, at);
        assert_string_equal(info->name, tensors[i].name);
        assert_memory_equal(&info->type, &tensors[i].type, sizeof(fg_type));
        assert_int_equal(info->size_bytes, fg_type_bytes(&tensors[i].type));
        if (info->size_bytes > 0)
            assert_memory_equal(fg_ckpt_data(ckpt, at), tensors[i].data, info->size_bytes);
    }
    fg_ckpt_close(ckpt);
}

/* Writing these tensors gives the recorded file's bytes. */
static void check_write(const char *path, const fg_ckpt_tensor *tensors, size_t count,
                        const char *const *metadata)
{
    fg_error err = {0};
    fgi_mapping theirs, ours;
    const char *copy = fgt_path(fgt_temp_folder(), "copy.safetensors");
    fgt_ok(fg_safetensors_write(copy, tensors, count, metadata, &err));
    fgt_ok(fgi_file_map(path, &theirs, &err));
    fgt_ok(fgi_file_map(copy, &ours, &err));
    assert_int_equal(ours.size, theirs.size);
    assert_memory_equal(ours.data, theirs.data, theirs.size);
    fgi_file_unmap(&theirs);
    fgi_file_unmap(&ours);
}

static void every_dtype_is_read(void **state)
{
    fg_error err = {0};
    fg_ckpt *ckpt;
    check_read(GOLDEN "every_dtype.safetensors", every_dtype, EVERY_COUNT);
    fgt_ok(fg_ckpt_open(GOLDEN "every_dtype.safetensors", NULL, &ckpt, &err));
    assert_string_equal(fg_ckpt_metadata(ckpt, "format"), "pt");
    assert_null(fg_ckpt_metadata(ckpt, "t.u8"));
    assert_null(fg_ckpt_state_json(ckpt));
    assert_string_equal(fg_ckpt_info(ckpt, 0)->name, "t.u64");
    assert_null(fg_ckpt_info(ckpt, EVERY_COUNT));
    assert_null(fg_ckpt_data(ckpt, EVERY_COUNT));
    fg_ckpt_close(ckpt);
}

static void every_dtype_is_written_alike(void **state)
{
    check_write(GOLDEN "every_dtype.safetensors", every_dtype, EVERY_COUNT,
                (const char *const[]){"format", "pt", NULL});
}

static void odd_names_and_shapes_are_read(void **state)
{
    check_read(GOLDEN "names.safetensors", names, NAMES_COUNT);
}

static void odd_names_and_shapes_are_written_alike(void **state)
{
    check_write(GOLDEN "names.safetensors", names, NAMES_COUNT, NULL);
}

/* If python3 (or $FGT_PYTHON) has the library: it opens our file. */
static void the_library_opens_our_file(void **state)
{
    char command[1024], out[512];
    fg_error err = {0};
    const char *python = getenv("FGT_PYTHON") ? getenv("FGT_PYTHON") : "python3";
    (void)snprintf(command, sizeof(command), "%s -c 'import safetensors, numpy' 2>/dev/null",
                   python);
    if (system(command) != 0)
        skip();
    const char *path = fgt_path(fgt_temp_folder(), "ours.safetensors");
    const fg_ckpt_tensor tensors[] = {every_dtype[12], every_dtype[5], names[0]};
    fgt_ok(fg_safetensors_write(path, tensors, 3, NULL, &err));
    (void)snprintf(command, sizeof(command), "%s " GOLDEN "read_back.py %s", python, path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, sizeof(out) - 1, pipe)] = '\0';
    assert_int_equal(pclose(pipe), 0);
    assert_string_equal(out, "scalar float32 [] 2.5\n"
                             "t.f64 float64 [2, 3] 1.5\n"
                             "t.u32 uint32 [2, 3] 21.0\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_dtype_is_read),
    cmocka_unit_test(every_dtype_is_written_alike),
    cmocka_unit_test(odd_names_and_shapes_are_read),
    cmocka_unit_test(odd_names_and_shapes_are_written_alike),
    cmocka_unit_test(the_library_opens_our_file),
};
FGT_MAIN(tests)
