/* test_file_content.c - files that no reader supports are named as what they are by every reader:
 * Git LFS pointers, Parquet files, zip archives, and spreadsheets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/catalog.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/data.h>
#include <fulgurite/image.h>
#include <fulgurite/pack.h>
#include <fulgurite/pack_arrays.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "input/zip.h"

static const char lfs[] = "version https://git-lfs.github.com/spec/v1\n"
                          "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e"
                          "2393\nsize 12345\n";
static const char parquet[] = "PAR1\x15\x04\x15\x10\x15\x14L\x15\x02\x15\0\x12\0\0PAR1";

static void *result; /* not set: every call fails */
static fg_error err;

static fg_status open_ckpt(const char *path)
{
    return fg_ckpt_open(path, NULL, (fg_ckpt **)&result, &err);
}

static fg_status open_csv(const char *path)
{
    fg_csv_parts parts;
    return fg_csv_load(path, &(fg_csv_options){.target = "y"}, &parts, &err);
}

static fg_status open_catalog(const char *path)
{
    return fg_catalog_open(path, NULL, (fg_catalog **)&result, &err);
}

static fg_status open_pack(const char *path)
{
    return fg_pack_open(path, NULL, (fg_pack **)&result, &err);
}

static fg_status open_npy(const char *path)
{
    return fg_npy_load(path, NULL, NULL, (fg_dataset **)&result, &err);
}

static fg_status open_tokens(const char *path)
{
    return fg_tokens_load(path, 4, (fg_dataset **)&result, &err);
}

static fg_status open_zip(const char *path)
{
    return fgi_zip_open(path, (fgi_zip **)&result, &err);
}

static fg_status open_idx(const char *path)
{
    return fg_idx_load_files(path, NULL, (fg_dataset **)&result, &err);
}

static fg_status open_cifar(const char *path)
{
    char *folder = fgi_path_parent(path);
    const fg_status status = fg_cifar10_load(folder, FG_TEST, (fg_dataset **)&result, &err);
    fgi_free(folder);
    return status;
}

static fg_status open_cifar100(const char *path)
{
    char *folder = fgi_path_parent(path);
    const fg_status status = fg_cifar100_load(folder, FG_TEST, false, (fg_dataset **)&result, &err);
    fgi_free(folder);
    return status;
}

static fg_status probe_image(const char *path)
{
    fg_image_info info;
    char *data = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    data = fgi_alloc(4096);
    size = fread(data, 1, 4096, file);
    assert_int_equal(fclose(file), 0);
    const fg_status status = fg_image_probe(path, data, size, &info, &err);
    fgi_free(data);
    return status;
}

static const struct {
    const char *name;
    fg_status (*open)(const char *path);
} readers[] = {
    {"model.safetensors", open_ckpt},
    {"a.csv", open_csv},
    {"list.csv", open_catalog},
    {"list.jsonl", open_catalog},
    {"a.tar", open_catalog},
    {"a.tar.gz", open_catalog},
    {"a.tfrecord", open_catalog},
    {"unknown", open_catalog},
    {"a.pack", open_pack},
    {"x.npy", open_npy},
    {"x.npz", open_npy},
    {"x.npz:x", open_npy},
    {"text.txt", open_tokens},
    {"text.bin", open_tokens},
    {"text.npy", open_tokens},
    {"a.zip", open_zip},
    {"train-images-idx3-ubyte", open_idx},
    {"test_batch.bin", open_cifar},
    {"test.bin", open_cifar100},
    {"cat.jpg", probe_image},
};

static void check(const char *content, size_t size, const char *expected)
{
    const char *folder = fgt_temp_folder();
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        char name[64], message[300];
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(readers[i].name, ":"),
                       readers[i].name);
        fgt_ok(fg_file_write(fgt_path(folder, name), content, size, &err));
        const fg_status status = readers[i].open(fgt_path(folder, readers[i].name));
        (void)snprintf(message, sizeof(message), "'~/%s' is a %s", name, expected);
        assert_int_not_equal(status, FG_OK);
        fgt_message_is(err.message, message);
    }
}

static void pointers_of_git_lfs(void **state)
{
    check(lfs, sizeof(lfs) - 1,
          "Git LFS pointer, not the data: run `git lfs pull` in its repository");
}

static void parquet_files(void **state)
{
    check(parquet, sizeof(parquet) - 1,
          "Parquet file, which is not supported\nconvert it to CSV: @");
}

static void archives_and_spreadsheets(void **state)
{
    static const char zip[] = "PK\x03\x04\x14\0", xls[] = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
    check(xls, sizeof(xls) - 1,
          "spreadsheet, which is not supported\nexport the table as CSV (UTF-8)");
    assert_int_equal(fgi_file_refuse("b/a.ZIP", zip, 6, 6, &err), FG_EUNSUPPORTED);
    assert_string_equal(err.message, "'b/a.ZIP' is a zip archive\nunpack it: unzip 'b/a.ZIP'");
    static const char *const sheets[] = {"a.xlsx", "a.xlsm", "a.ods", "a.numbers"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(fgi_file_refuse(sheets[i], zip, 6, 6, &err), FG_EUNSUPPORTED);
        fgt_message_is(
            err.message,
            "'@' is a spreadsheet, which is not supported\nexport the table as CSV (UTF-8)");
    }
    fgt_ok(fgi_file_refuse("a.npz", zip, 6, 6, &err));
    assert_int_equal(fgi_file_refuse("a b", parquet, 4, 4, &err), FG_EUNSUPPORTED);
    assert_string_equal(err.message,
                        "'a b' is a Parquet file, which is not supported\nconvert it to CSV: "
                        "python3 -c \"import pandas; pandas.read_parquet('a b').to_csv('data.csv', "
                        "index=False)\" (requires pandas and pyarrow)");
    fgt_ok(fgi_file_refuse("a.zip", "x", 1, 1, &err));
}

/* A data set may contain the text of a pointer, for example in a CSV file. */
static void only_a_small_file_is_a_pointer(void **state)
{
    char text[1100];
    memset(text, 'x', sizeof(text));
    memcpy(text, lfs, sizeof(lfs) - 1);
    fgt_ok(fgi_file_refuse("a", text, FGI_FILE_START, sizeof(text), &err));
    assert_int_equal(fgi_file_refuse("a", text, FGI_FILE_START, 1023, &err), FG_EFORMAT);
    assert_string_equal(err.message, "'a' is a Git LFS pointer, not the data: run `git lfs pull` "
                                     "in its repository");
    fgt_ok(fgi_file_refuse("a", text, FGI_FILE_START, 1024, &err));
    fgt_ok(fgi_file_refuse("a", text, 20, 20, &err));
    static const char old[] = "version https://hawser.github.com/spec/v1\noid sha256:4d7a\n";
    assert_int_equal(fgi_file_refuse("a", old, sizeof(old) - 1, 200, &err), FG_EFORMAT);
    fgt_ok(fgi_file_refuse("a", NULL, 0, 0, &err));
}

/* Also by the functions that other readers use; nothing is returned. */
static void files_are_refused_when_they_are_read(void **state)
{
    static const char expected[] =
        "'~/a' is a Git LFS pointer, not the data: run `git lfs pull` in its repository";
    const char *path = fgt_path(fgt_temp_folder(), "a");
    char *data = NULL;
    size_t size = 1;
    fgi_mapping mapping;
    fgt_write(path, lfs, sizeof(lfs) - 1);
    assert_int_equal(fgi_file_read(path, 4096, &data, &size, &err), FG_EFORMAT);
    fgt_message_is(err.message, expected);
    assert_true(data == NULL && size == 0);
    assert_int_equal(fgi_file_map(path, &mapping, &err), FG_EFORMAT);
    fgt_message_is(err.message, expected);
    assert_true(mapping.data == NULL && mapping.size == 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(files_are_refused_when_they_are_read),
    cmocka_unit_test(pointers_of_git_lfs),
    cmocka_unit_test(parquet_files),
    cmocka_unit_test(archives_and_spreadsheets),
    cmocka_unit_test(only_a_small_file_is_a_pointer),
};
FGT_MAIN(tests)
