/* test_export_manifest.c - label lists, groups, splits and the order of classes survive exporting a
 * pack and packing the exported manifest again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/pack_export.h>
#include <fulgurite/packer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "photos.h"

/* What is written need not be on the disk. */
int fsync(int fd) { return fd < 0 ? -1 : 0; }
int syncfs(int fd) { return fd < 0 ? -1 : 0; }

static fg_error err;

static fg_pack *open_pack(const char *path)
{
    fg_pack *pack = NULL;
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    return pack;
}

static void check_entry(fg_pack *a, fg_pack *b, int64_t i)
{
    fg_pack_entry x, y;
    const void *x_data, *y_data;
    size_t x_size, y_size;
    fgt_ok(fg_pack_entry_at(a, i, &x, &err));
    fgt_ok(fg_pack_entry_at(b, i, &y, &err));
    assert_string_equal(x.name, y.name);
    assert_int_equal(x.label, y.label);
    assert_int_equal(x.label_count, y.label_count);
    if (x.label_count > 0)
        assert_memory_equal(x.labels, y.labels, x.label_count * sizeof(*x.labels));
    assert_int_equal(x.split, y.split);
    assert_int_equal(x.group, y.group);
    fgt_ok(fg_pack_record(a, i, &x_data, &x_size, &err));
    fgt_ok(fg_pack_record(b, i, &y_data, &y_size, &err));
    assert_int_equal(x_size, y_size);
    assert_memory_equal(x_data, y_data, x_size);
}

/* Packs the manifest, exports the pack, and packs the exported manifest. */
static void go_around(const char *folder, const char *manifest, int64_t count)
{
    char from[600], first[600], second[600], out[600], again[700];
    fg_pack_export_result result;
    const fg_pack_build_options files = {.codec = FG_PACK_CHOICE_FILE};
    (void)snprintf(from, sizeof(from), "%s/in.jsonl", folder);
    (void)snprintf(first, sizeof(first), "%s/first.pack", folder);
    (void)snprintf(second, sizeof(second), "%s/second.pack", folder);
    (void)snprintf(out, sizeof(out), "%s/out", folder);
    (void)snprintf(again, sizeof(again), "%s/manifest.jsonl", out);
    fgt_write(from, manifest, strlen(manifest));
    photos_pack(from, first, &files);
    fg_pack *a = open_pack(first);
    fgt_ok(fg_pack_export(a, out, NULL, &result, &err));
    assert_true(result.has_manifest && result.files == count);
    photos_pack(again, second, &files);
    fg_pack *b = open_pack(second);
    assert_int_equal(fg_pack_count(a), count);
    assert_int_equal(fg_pack_count(b), count);
    const int64_t classes = fg_pack_info_of(a)->class_count;
    assert_int_equal(fg_pack_info_of(b)->class_count, classes);
    for (int64_t i = 0; i < classes; i++)
        assert_string_equal(fg_pack_class_name(a, i), fg_pack_class_name(b, i));
    for (int64_t i = 0; i < count; i++)
        check_entry(a, b, i);
    fg_pack_close(a);
    fg_pack_close(b);
}

static const char *folder_with_images(void)
{
    static char folder[512];
    (void)snprintf(folder, sizeof(folder), "%s", fgt_temp_folder());
    assert_int_equal(mkdir(fgt_path(folder, "my photos"), 0777), 0);
    for (int i = 0; i < 4; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "%d.jpg", i);
        photos_put("baseline.jpg", fgt_path(folder, "my photos"), name);
    }
    return folder;
}

static void lists_and_groups_survive(void **state)
{
    (void)state;
    go_around(
        folder_with_images(),
        "{\"classes\": [\"red;1\", \"blue\", \"caf\xc3\xa9/x\", \"unused\"]}\n"
        "{\"path\": \"my photos/0.jpg\", \"labels\": [\"blue\", \"red;1\"], \"group\": \"p\"}\n"
        "{\"path\": \"my photos/1.jpg\", \"labels\": [\"caf\xc3\xa9/x\"], \"split\": \"val\"}\n"
        "{\"path\": \"my photos/2.jpg\", \"labels\": [\"red;1\"], \"group\": \"q\"}\n"
        "{\"path\": \"my photos/3.jpg\", \"name\": \"a \\\"b\\\".jpg\", \"group\": \"p\", "
        "\"labels\": [\"blue\"]}\n",
        4);
}

static void groups_alone_survive(void **state)
{
    (void)state;
    go_around(folder_with_images(),
              "{\"path\": \"my photos/1.jpg\", \"label\": 2, \"group\": \"a\"}\n"
              "{\"path\": \"my photos/0.jpg\", \"label\": 0}\n",
              2);
}

/* Folders express one label per image: no manifest. */
static void classes_need_no_manifest(void **state)
{
    (void)state;
    char path[600], out[600];
    struct stat info;
    fg_pack_export_result result;
    const char *photos = photos_make();
    const fg_pack_build_options files = {.codec = FG_PACK_CHOICE_FILE};
    const char *folder = fgt_temp_folder();
    (void)snprintf(path, sizeof(path), "%s/p.pack", folder);
    (void)snprintf(out, sizeof(out), "%s/out", folder);
    photos_pack(photos, path, &files);
    fg_pack *pack = open_pack(path);
    fgt_ok(fg_pack_export(pack, out, NULL, &result, &err));
    assert_false(result.has_manifest);
    assert_int_not_equal(stat(fgt_path(out, "manifest.jsonl"), &info), 0);
    fg_pack_close(pack);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static bool exists(const char *folder, const char *name)
{
    struct stat info;
    return stat(fgt_path(folder, name), &info) == 0;
}

static const char *const placed_classes[] = {"cat", "dog"};
static const int32_t two_labels[] = {1, 0};
static const fg_pack_entry placed[] = {
    {.name = "a", .label = 0, .split = FG_PACK_NO_SPLIT},
    {.name = "b", .label = FG_PACK_NO_LABEL, .split = FG_TEST},
    {.name = "c", .label = 0, .labels = two_labels, .label_count = 2, .split = FG_VAL, .group = 5},
    {.name = "d", .label = 2, .split = FG_TRAIN},
    {.name = "", .label = 1, .split = FG_TRAIN, .group = -7},
};
static const char *const placed_names[] = {"none/cat/a", "test/unlabeled/b", "val/dog/c",
                                           "train/unlabeled/d", "train/dog/record-000000004"};

static fg_pack *placed_pack(int64_t variants)
{
    fg_pack_writer *w = NULL;
    fg_pack *pack = NULL;
    const fg_pack_writer_options options = {.class_names = placed_classes,
                                            .class_count = 2,
                                            .variant_count = variants,
                                            .replace = true};
    const char *path = fgt_path(fgt_temp_folder(), "placed.pack");
    fgt_ok(fg_pack_writer_create(path, &options, &w, NULL, &err));
    for (int64_t i = 0; i < 5 * variants; i++)
        fgt_ok(fg_pack_writer_add(w, &placed[i / variants], "text", 4, &err));
    fgt_ok(fg_pack_writer_finish(w, NULL, &err));
    fg_pack_writer_destroy(w);
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    return pack;
}

/* A record without a split is in "none" if any record of the pack has one, selected or not. Only
 * what is selected decides whether there is a manifest. */
static void folders_of_splits_and_classes(void **state)
{
    static const struct {
        fg_pack_select_options select;
        int records;
        bool has_manifest;
    } selected[] = {{{.split = "none"}, 1 << 0, false},
                    {{.split = "test"}, 1 << 1, false},
                    {{.limit = 2}, 3, false},
                    {{.limit = 3}, 7, true},
                    {{.split = "train"}, 3 << 3, true},
                    {{.class_name = "dog", .split = "val"}, 1 << 2, true},
                    {{.limit = 0}, 31, true}};
    fg_pack *pack = placed_pack(1);
    (void)state;
    for (int i = 0; i < 7; i++) {
        char out[512];
        fg_pack_export_result result;
        (void)snprintf(out, sizeof(out), "%s/out", fgt_temp_folder());
        fgt_ok(fg_pack_export(pack, out, &(fg_pack_export_options){.select = selected[i].select},
                              &result, &err));
        assert_int_equal(result.has_manifest, selected[i].has_manifest);
        assert_int_equal(exists(out, "manifest.jsonl"), selected[i].has_manifest);
        int found = 0;
        for (int k = 0; k < 5; k++)
            found |= exists(out, placed_names[k]) << k;
        assert_int_equal(found, selected[i].records);
    }
    fg_pack_close(pack);
}

/* By hand; a name belongs to the first variant only, as it must be unique. */
static void manifests_have_all_columns(void **state)
{
    static const char text[] =
        "{\"classes\":[\"cat\",\"dog\"]}\n"
        "{\"path\":\"none/cat/a\",\"name\":\"a\",\"label\":\"cat\"}\n"
        "{\"path\":\"none/cat/a-v1\",\"label\":\"cat\"}\n"
        "{\"path\":\"test/unlabeled/b\",\"name\":\"b\",\"split\":\"test\"}\n"
        "{\"path\":\"test/unlabeled/b-v1\",\"split\":\"test\"}\n"
        "{\"path\":\"val/dog/c\",\"name\":\"c\",\"split\":\"val\",\"group\":\"5\","
        "\"labels\":[\"dog\",\"cat\"]}\n"
        "{\"path\":\"val/dog/c-v1\",\"split\":\"val\",\"group\":\"5\","
        "\"labels\":[\"dog\",\"cat\"]}\n"
        "{\"path\":\"train/unlabeled/d\",\"name\":\"d\",\"split\":\"train\"}\n"
        "{\"path\":\"train/unlabeled/d-v1\",\"split\":\"train\"}\n"
        "{\"path\":\"train/dog/record-000000008\",\"split\":\"train\",\"group\":\"-7\","
        "\"label\":\"dog\"}\n"
        "{\"path\":\"train/dog/record-000000009-v1\",\"split\":\"train\",\"group\":\"-7\","
        "\"label\":\"dog\"}\n";
    fg_pack *pack = placed_pack(2);
    char out[512];
    (void)snprintf(out, sizeof(out), "%s/columns", fgt_temp_folder());
    (void)state;
    fgt_ok(fg_pack_export(pack, out, NULL, NULL, &err));
    size_t size;
    char *lines = photos_read(fgt_path(out, "manifest.jsonl"), &size);
    assert_int_equal(size, sizeof text - 1);
    assert_memory_equal(lines, text, size);
    free(lines);
    fg_pack_close(pack);
}

static void wrong_classes_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"{\"path\": \"my photos/0.jpg\", \"label\": \"a\"}\n{\"classes\": [\"a\"]}\n",
         "in.jsonl:2: member 'classes': expected a list of names, before the samples"},
        {"{\"classes\": [\"a\", 1]}\n", "in.jsonl:1: member 'classes': expected a list of strings"},
        {"{\"classes\": []}\n", "expected a list of names"},
        {"{\"classes\": [\"a\"]}\n{\"path\": \"my photos/0.jpg\", \"label\": \"b\"}\n",
         "has the class 'b': expected one of 'a'"},
    };
    (void)state;
    const char *folder = folder_with_images();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fg_catalog *catalog = NULL;
        const char *path = fgt_path(folder, "in.jsonl");
        fgt_write(path, rows[i].text, strlen(rows[i].text));
        assert_int_equal(fg_catalog_open(path, NULL, &catalog, &err), FG_EFORMAT);
        if (strstr(err.message, rows[i].message) == NULL)
            fail_msg("row %zu: %s", i, err.message);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(lists_and_groups_survive),   cmocka_unit_test(groups_alone_survive),
    cmocka_unit_test(classes_need_no_manifest),   cmocka_unit_test(folders_of_splits_and_classes),
    cmocka_unit_test(manifests_have_all_columns), cmocka_unit_test(wrong_classes_are_refused),
};
FGT_MAIN(tests)
