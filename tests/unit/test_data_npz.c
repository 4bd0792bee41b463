/* test_data_npz.c - arrays in .npz archives: those of NumPy (tests/golden/data/make_npz.py),
 * stored, deflated and zip64; wrong names, other compressions, and every damaged byte.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/pack_arrays.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "data/npy.h"
#include "input/zip.h"

static fg_error err;

static const char *golden(const char *name)
{
    return fgt_path(FGT_SOURCE_DIR "/tests/golden/data", name);
}

/* Element k of row r is 3 r + k - 2. */
static void check_x(fg_dataset *dataset, int64_t rows)
{
    assert_int_equal(fg_dataset_count(dataset), rows);
    static const int32_t labels[] = {2, 0, 1, 2};
    assert_int_equal(fg_dataset_field(dataset, 0)->type.dtype, FG_F32);
    for (int64_t r = 0; r < rows; r++) {
        float x[3];
        int32_t y;
        fgt_ok(fg_dataset_read(dataset, r, (void *const[]){x, &y}, &err));
        for (int k = 0; k < 3; k++)
            assert_true(x[k] == (float)(3 * r + k - 2));
        if (fg_dataset_field_count(dataset) > 1)
            assert_int_equal(y, labels[r]);
    }
    fg_dataset_destroy(dataset);
}

static void arrays_of_archives_are_datasets(void **state)
{
    static const char *const rows[][2] = {{"stored.npz:x", "stored.npz:y"},
                                          {"stored.npz:x.npy", "stored.npz:y.npy"},
                                          {"deflated.npz:x_train", "deflated.npz:y_train"},
                                          {"zip64.npz:x", NULL},
                                          {"zip64.npz", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fg_dataset *dataset;
        fgt_ok(fg_npy_load(golden(rows[i][0]), rows[i][1] != NULL ? golden(rows[i][1]) : NULL, NULL,
                           &dataset, &err));
        if (rows[i][1] != NULL)
            assert_int_equal(fg_dataset_class_count(dataset), 3);
        check_x(dataset, 4);
    }
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *path;
        fg_status status;
        const char *message;
    } rows[] = {
        {"stored.npz:z", FG_ENOTFOUND,
         "'~/tests/golden/data/stored.npz' has no array 'z'; it has: x, y"},
        {"deflated.npz:x", FG_ENOTFOUND,
         "'~/tests/golden/data/deflated.npz' has no array 'x'; it has: x_train, y_train, "
         "x_test, y_test"},
        {"stored.npz", FG_EINVAL,
         "'~/tests/golden/data/stored.npz' is an archive: name one of its arrays, as in "
         "file.npz:x; it has: x, y"},
        {"twelve.npz:x", FG_ENOTFOUND,
         "'~/tests/golden/data/twelve.npz' has no array 'x'; it has: a, b, c, d, e, f, g, h, i, j, "
         "k, l"},
        {"thirteen.npz:x", FG_ENOTFOUND,
         "'~/tests/golden/data/thirteen.npz' has no array 'x'; it has: a, b, c, d, e, f, g, h, i, "
         "j, k, l ..."},
        {"none.npz:x", FG_ENOTFOUND,
         "cannot open '~/tests/golden/data/none.npz': No such file or directory"},
        {"fortran.npz:x", FG_EUNSUPPORTED,
         "~/tests/golden/data/fortran.npz:x: byte 44: the array is in Fortran order\nsave it again "
         "with numpy.ascontiguousarray"},
        {"lzma.npz:x", FG_EUNSUPPORTED,
         "~/tests/golden/data/lzma.npz:x.npy: the file is encrypted or compressed with method 14: "
         "expected stored or deflated files"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fg_dataset *dataset = (fg_dataset *)&err;
        assert_int_equal(fg_npy_load(golden(rows[i].path), NULL, NULL, &dataset, &err),
                         rows[i].status);
        assert_null(dataset);
        fgt_message_is(err.message, rows[i].message);
    }
    const char *text = fgt_path(fgt_temp_folder(), "text.npz");
    fgt_write(text, "not an archive", 14);
    fgi_block block;
    assert_int_equal(fgi_array_open(text, &block, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/text.npz: the ZIP archive is corrupt or truncated: @");
    fgt_write(text, "", 0);
    assert_int_equal(fgi_array_open(text, &block, &err), FG_EFORMAT);
}

/* The last ".npz:" counts. An archive may be empty: its end alone, without files. */
static void names_and_archives_may_be_odd(void **state)
{
    char folder[300];
    const char *top = fgt_temp_folder();
    fgi_block file, block;
    (void)state;
    (void)snprintf(folder, sizeof(folder), "%s/old.npz:1", top);
    fgt_ok(fgi_folder_make(folder, &err));
    fgt_ok(fgi_block_open(golden("stored.npz"), 4096, &file, &err));
    fgt_write(fgt_path(folder, "new.npz"), file.data, file.size);
    fgi_block_fini(&file);
    fg_dataset *dataset;
    fgt_ok(fg_npy_load(fgt_path(folder, "new.npz:x"), NULL, NULL, &dataset, &err));
    check_x(dataset, 4);
    const char *empty = fgt_path(top, "empty.npz");
    fgt_write(empty, "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
    assert_int_equal(fgi_array_open(fgt_path(top, "empty.npz:x"), &block, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "'~/empty.npz' has no array 'x'; it has: no arrays");
    assert_int_equal(fgi_array_open(empty, &block, &err), FG_EINVAL);
    fgt_message_is(err.message, "'~/empty.npz' is an archive: name one of its arrays, as in "
                                "file.npz:x; it has: no arrays");
}

/* Opens the archive in a file and reads all of its files. */
static fg_status read_all(const char *path, uint8_t *out, size_t size)
{
    fgi_zip *zip;
    size_t used = 0;
    fg_status status = fgi_zip_open(path, &zip, &err);
    for (size_t i = 0; status == FG_OK && i < fgi_zip_count(zip); i++) {
        fgi_block block;
        status = fgi_zip_read(zip, i, &block, &err);
        if (status == FG_OK && used + block.size <= size)
            memcpy(out + used, block.data, block.size);
        used += status == FG_OK ? block.size : 0;
        fgi_block_fini(&block);
    }
    fgi_zip_close(zip);
    return status;
}

/* Each damaged byte is an error, or does not change the arrays, and no read is out of bounds; the
 * same for each truncated length. */
static void damage_is_found(void **state)
{
    static const char *const names[] = {"stored.npz", "deflated.npz", "zip64.npz"};
    static uint8_t expected[4096], got[4096];
    const char *path = fgt_path(fgt_temp_folder(), "damaged.npz");
    (void)state;
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        fgi_block file;
        static uint8_t data[2048];
        int found = 0;
        fgt_ok(fgi_block_open(golden(names[k]), sizeof(data), &file, &err));
        const size_t size = file.size;
        assert_true(size < sizeof(data));
        memcpy(data, file.data, size);
        fgi_block_fini(&file);
        memset(expected, 0, sizeof(expected));
        fgt_ok(read_all(golden(names[k]), expected, sizeof(expected)));
        for (size_t i = 0; i < size; i++) {
            data[i] ^= 0x41;
            fgt_write(path, data, size);
            memset(got, 0, sizeof(got));
            if (read_all(path, got, sizeof(got)) != FG_OK) {
                assert_true(err.message[0] != '\0');
                found++;
            } else
                assert_memory_equal(got, expected, sizeof(expected));
            data[i] ^= 0x41;
        }
        assert_true(found > 200);
        for (size_t i = 0; i < size; i++) { /* truncated */
            fgt_write(path, data, i);
            assert_int_not_equal(read_all(path, got, sizeof(got)), FG_OK);
        }
    }
}

static void archives_are_packed(void **state)
{
    static const struct {
        const char *source;
        int64_t count, val, test;
    } rows[] = {{"stored.npz", 4, 0, 0}, {"deflated.npz", 6, 0, 2}, {"single.npz", 4, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *path = fgt_path(fgt_temp_folder(), "a.pack");
        fg_pack *pack;
        int64_t count;
        assert_true(fg_pack_arrays_accepts(golden(rows[i].source)));
        fgt_ok(fg_pack_arrays(golden(rows[i].source), path, NULL, &count, &err));
        assert_int_equal(count, rows[i].count);
        fgt_ok(fg_pack_open(path, NULL, &pack, &err));
        int64_t tests = 0;
        for (int64_t r = 0; r < count; r++) {
            fg_pack_entry entry;
            fgt_ok(fg_pack_entry_at(pack, r, &entry, &err));
            tests += entry.split == FG_TEST;
        }
        assert_int_equal(tests, rows[i].test);
        fg_pack_close(pack);
    }
    fg_dataset *tokens;
    fgt_ok(fg_tokens_load(golden("stored.npz:y"), 3, &tokens, &err));
    assert_int_equal(fg_dataset_count(tokens), 1);
    int32_t window[4];
    fgt_ok(fg_dataset_read(tokens, 0, (void *const[]){window}, &err));
    assert_memory_equal(window, ((int32_t[]){2, 0, 1, 2}), sizeof(window));
    fg_dataset_destroy(tokens);
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    const char *path = golden("deflated.npz:x_train");
    for (long n = 0;; n++) {
        fgi_block block;
        const long live = fgi_alloc_live();
        fgi_alloc_fail_after(n);
        const fg_status status = fgi_array_open(path, &block, &err);
        fgi_alloc_fail_after(-1);
        fgi_block_fini(&block);
        assert_int_equal(fgi_alloc_live(), live);
        if (status == FG_OK) {
            assert_true(n > 2);
            return;
        }
        assert_int_equal(status, FG_ENOMEM);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(arrays_of_archives_are_datasets),
    cmocka_unit_test(what_is_wrong_is_named),
    cmocka_unit_test(names_and_archives_may_be_odd),
    cmocka_unit_test(damage_is_found),
    cmocka_unit_test(archives_are_packed),
    cmocka_unit_test(out_of_memory_is_an_error),
};
FGT_MAIN(tests)
