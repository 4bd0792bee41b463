/* test_pack_round_trip.c - what is written is read again: all columns, sizes and names, sets of
 * files, prefetching, limits of the writer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "pack/pack_out.h"
#include "pack_made.h"

#define REFUSED(expression, status, text)                                                          \
    do {                                                                                           \
        err = (fg_error){0};                                                                       \
        assert_int_equal((expression), (status));                                                  \
        fgt_message_is(err.message, text);                                                         \
    } while (0)

static const char *fresh(const char *name) { return fgt_path(fgt_temp_folder(), name); }

static void records_of_all_kinds(void **state)
{
    fg_error err = {0};
    for (int64_t count = 0; count <= 60; count = count * 3 + 1) {
        const char *path = fresh("a b.pack");
        fgt_ok(pack_made_write(path, NULL, count, &err));
        pack_made_check_all(path, count);
    }
}

static void description_of_the_pack(void **state)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    const fg_field fields[2] = {{"tokens", {.dtype = FG_U16, .rank = 1, .dim = {33}}},
                                {"weight", {.dtype = FG_F32}}};
    const char *const classes[3] = {"cat", "", "a dog"};
    const fg_pack_writer_options options = {.variant_count = 2,
                                            .fields = fields,
                                            .field_count = 2,
                                            .class_names = classes,
                                            .class_count = 3,
                                            .fingerprint = "folder x"};
    const char *path = fresh("d.pack");
    fgt_ok(pack_made_write(path, &options, 8, &err));
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    const fg_pack_info *info = fg_pack_get_info(pack);
    assert_int_equal(info->count, 8);
    assert_int_equal(info->variant_count, 2);
    assert_int_equal(info->class_count, 3);
    assert_string_equal(fg_pack_class_name(pack, 0), "cat");
    assert_string_equal(fg_pack_class_name(pack, 1), "");
    assert_string_equal(fg_pack_class_name(pack, 2), "a dog");
    assert_null(fg_pack_class_name(pack, 3));
    assert_int_equal(info->field_count, 2);
    assert_string_equal(info->fields[0].name, "tokens");
    assert_int_equal(info->fields[0].type.dtype, FG_U16);
    assert_int_equal(info->fields[0].type.dim[0], 33);
    assert_int_equal(info->fields[1].type.rank, 0);
    assert_string_equal(info->metadata, "{\"mean\": [0.5]}");
    assert_int_equal(strlen(info->uuid), 36);
    assert_int_equal(info->uuid[14], '8');
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(info->size_bytes, file.st_size);
    fg_pack_close(pack);
}

/* Empty metadata are none: the files are the same. */
static void metadata_may_be_empty(void **state)
{
    fg_error err = {0};
    char *text[2];
    size_t size[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        fg_pack_writer *writer = NULL;
        const char *path = fresh("m.pack");
        fgt_ok(fg_pack_writer_create(path, NULL, &writer, NULL, &err));
        fgt_ok(fg_pack_writer_finish(writer, i == 0 ? NULL : "", &err));
        fg_pack_writer_destroy(writer);
        fgt_ok(fgi_file_read(path, 1 << 20, &text[i], &size[i], &err));
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(text[0], text[1], size[0]);
    fgi_free(text[0]);
    fgi_free(text[1]);
}

static void small_records_do_not_cross_a_window(void **state)
{
    fg_error err = {0};
    fg_pack_writer *writer = NULL;
    fg_pack *pack = NULL;
    const size_t sizes[] = {(1 << 20) - 9000, (1 << 20) - 9000, 1 << 16, 3 << 20, 5, 700000, 1};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    unsigned char *data = calloc(3, 1 << 20);
    assert_non_null(data);
    const char *path = fresh("w.pack");
    fgt_ok(fg_pack_writer_create(path, NULL, &writer, NULL, &err));
    for (int i = 0; i < COUNT; i++) {
        memset(data, i + 1, 3 << 20);
        fgt_ok(fg_pack_writer_add(writer, &(fg_pack_entry){.codec = FG_PACK_RAW_RGB}, data,
                                  sizes[i], &err));
    }
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    fgt_ok(fg_pack_verify(pack, NULL, NULL, NULL, &err));
    for (int i = 0; i < COUNT; i++) {
        fg_pack_entry entry;
        fgt_ok(fg_pack_get_entry(pack, i, &entry, &err));
        const uint64_t first = entry.offset_bytes >> 21;
        const uint64_t last = (entry.offset_bytes + entry.size_bytes - 1) >> 21;
        assert_true(first == last || sizes[i] > 1 << 16);
        size_t size;
        fgt_ok(fg_pack_read(pack, i, data, 3 << 20, &size, &err));
        assert_int_equal(size, sizes[i]);
        assert_true(data[0] == i + 1 && data[size - 1] == i + 1);
    }
    fg_pack_close(pack);
    free(data);
}

/* Photos as large files: their sizes add up. */
static void large_records_leave_no_gaps(void **state)
{
    enum { COUNT = 8, BYTES = 900000 };
    fg_error err = {0};
    fg_pack_writer *writer = NULL;
    struct stat file;
    char *data = calloc(1, BYTES);
    assert_non_null(data);
    const char *path = fresh("gaps.pack");
    fgt_ok(fg_pack_writer_create(path, NULL, &writer, NULL, &err));
    for (int i = 0; i < COUNT; i++)
        fgt_ok(fg_pack_writer_add(writer, &(fg_pack_entry){.codec = FG_PACK_JPEG_SEG}, data, BYTES,
                                  &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    assert_int_equal(stat(path, &file), 0);
    assert_in_range(file.st_size, COUNT * BYTES, COUNT * BYTES + 16384);
    free(data);
}

/* Puts a record header for `length` bytes where the shard ends; its bytes begin at `offset` or, if
 * that is 0, at their place, which is returned. */
static uint64_t put_head(fgi_pack_shard *shard, uint64_t number, uint32_t length, uint32_t crc,
                         uint64_t offset)
{
    fg_error err = {0};
    struct {
        fgi_pack_head head;
        char name[16];
    } h = {.head = {.magic = FGI_PACK_HEAD_MAGIC,
                    .number = number,
                    .length = length,
                    .crc = crc,
                    .name_size = 5},
           .name = "huge"};
    const uint64_t at = fgi_pack_align(shard->end, 16);
    h.head.offset = offset != 0 ? offset : fgi_pack_place(at + sizeof h, 0, length);
    h.head.head_crc = fgi_pack_head_crc(&h.head);
    fgt_ok(fgi_pack_out_skip(&shard->out, at, &err));
    fgt_ok(fgi_pack_out_put(&shard->out, &h, sizeof h, &err));
    fgt_ok(fgi_pack_out_skip(&shard->out, h.head.offset, &err));
    fgt_ok(fgi_pack_shard_enter(shard, &h.head, &err));
    return h.head.offset;
}

/* The record after one of nearly 4 GiB, whose bytes are a hole in the file. */
static void offsets_of_more_than_32_bits(void **state)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    const fgi_buf none = {0};
    fgi_pack_shard shard = {
        .end = FGI_PACK_PAGE,
        .page = {.major = 1, .set_count = 2, .shard_count = 1, .variant_count = 1}};
    memcpy(shard.page.magic, FGI_PACK_MAGIC, 8);
    const char *path = fresh("huge.pack");
    fgt_ok(fgi_pack_shard_start(&shard, path, &err));
    const uint64_t first = put_head(&shard, 0, UINT32_MAX, 0, 0);
    const uint64_t second = put_head(&shard, 1, 5, fgi_crc32c(0, "after", 5), 0);
    assert_true(second > first + UINT32_MAX);
    fgt_ok(fgi_pack_out_put(&shard.out, "after", 5, &err));
    fgt_ok(fgi_pack_shard_seal(&shard, &none, &none, &err));
    fgi_pack_page page = shard.page;
    fgi_pack_shard_close(&shard);
    fgt_ok(fgi_pack_shard_finish(path, &page, NULL, &err));
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    const void *data;
    size_t size;
    fg_pack_entry entry;
    fgt_ok(fg_pack_get_entry(pack, 0, &entry, &err));
    assert_int_equal(entry.size_bytes, UINT32_MAX);
    fgt_ok(fg_pack_record(pack, 1, &data, &size, &err));
    assert_int_equal(size, 5);
    assert_memory_equal(data, "after", 5);
    fg_pack_close(pack);
    assert_int_equal(unlink(path), 0);
}

/* A record of 1.5 MiB at a multiple of 2 MiB, where early versions placed it: intact, whereas one
 * that begins 64 bytes later is not. */
static void records_may_be_where_early_versions_placed_them(void **state)
{
    enum { BYTES = 3 << 19 };
    const fgi_buf none = {0};
    char *zeros = calloc(1, BYTES);
    assert_non_null(zeros);
    const uint32_t crc = fgi_crc32c(0, zeros, BYTES);
    for (uint64_t gap = 0; gap <= 64; gap += 64) {
        fg_error err = {0};
        fg_pack *pack = NULL;
        fgi_pack_shard shard = {
            .end = FGI_PACK_PAGE,
            .page = {.major = 1, .set_count = 2, .shard_count = 1, .variant_count = 1}};
        memcpy(shard.page.magic, FGI_PACK_MAGIC, 8);
        const char *path = fresh("early.pack");
        fgt_ok(fgi_pack_shard_start(&shard, path, &err));
        for (uint64_t i = 0; i < 2; i++) {
            (void)put_head(&shard, i, BYTES, crc, i * ((2 << 20) + gap));
            fgt_ok(fgi_pack_out_put(&shard.out, zeros, BYTES, &err));
        }
        fgt_ok(fgi_pack_shard_seal(&shard, &none, &none, &err));
        fgi_pack_page page = shard.page;
        fgi_pack_shard_close(&shard);
        fgt_ok(fgi_pack_shard_finish(path, &page, NULL, &err));
        fgt_ok(fg_pack_open(path, NULL, &pack, &err));
        assert_int_equal(fg_pack_verify(pack, NULL, NULL, NULL, &err),
                         gap == 0 ? FG_OK : FG_EFORMAT);
        fg_pack_close(pack);
    }
    free(zeros);
}

/* A set is found by each of its files, a pattern and the folder, and has the same records. */
static void sets_of_files(void **state)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    char folder[256], *ways[7];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    const fg_pack_writer_options options = {.shard_bytes = 20000};
    fgt_ok(pack_made_write(fgt_path(folder, "s.pack"), &options, 50, &err));
    ways[0] = fgi_path_join(folder, "s-00000.pack");
    ways[1] = fgi_path_join(folder, "s-00002.pack");
    ways[2] = fgi_path_join(folder, "s-*.pack");
    ways[3] = fgi_strdup(folder);
    ways[4] = fgi_path_join(folder, "s.pack"); /* no such file, but the name that was given */
    ways[5] = fgi_path_join(folder, "s-0000?.pack");
    ways[6] = fgi_path_join(folder, "[s]-00001.pack");
    for (int i = 0; i < 7; i++) {
        pack_made_check_all(ways[i], 50);
        fgi_free(ways[i]);
    }
    fgt_ok(fg_pack_open(folder, NULL, &pack, &err));
    const int shards = fg_pack_get_info(pack)->shard_count;
    assert_true(shards > 3);
    assert_int_equal(fgt_count_entries(folder), shards);
    assert_non_null(strstr(fg_pack_path(pack, 1), "s-00001.pack"));
    assert_null(fg_pack_path(pack, shards));
    for (int i = 0; i < shards; i++) {
        struct stat file;
        assert_int_equal(stat(fg_pack_path(pack, i), &file), 0);
        assert_true(file.st_size < 32000); /* with its index */
    }
    fg_pack_close(pack);
    /* fewer files replace more */
    fgt_ok(pack_made_write(fgt_path(folder, "s.pack"),
                           &(fg_pack_writer_options){.shard_bytes = 20000, .replace = true}, 9,
                           &err));
    pack_made_check_all(folder, 9);
}

/* A single file and a set of one name are the same pack: the one replaces the other. */
static void a_file_and_a_set_replace_each_other(void **state)
{
    fg_error err = {0};
    char path[300], first[300];
    const char *folder = fgt_temp_folder();
    (void)snprintf(path, sizeof path, "%s/s.pack", folder);
    (void)snprintf(first, sizeof first, "%s/s-00000.pack", folder);
    for (int i = 0; i < 3; i++) {
        fg_pack_writer_options o = {.shard_bytes = i % 2 == 0 ? 20000 : 0};
        if (i > 0)
            REFUSED(pack_made_write(path, &o, 20 + i, &err), FG_EINVAL,
                    i == 1 ? "'~/s-00000.pack' exists: remove it, replace it (--replace), or "
                             "choose another name"
                           : "'~/s.pack' exists: remove it, replace it (--replace), or choose "
                             "another name");
        o.replace = true;
        fgt_ok(pack_made_write(path, &o, 20 + i, &err));
        pack_made_check_all(path, 20 + i);
        assert_int_equal(access(path, F_OK) == 0, i % 2 == 1);
        assert_int_equal(access(first, F_OK) == 0, i % 2 == 0);
    }
}

static void reading_ahead(void **state)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    const char *path = fresh("p.pack");
    fgt_ok(pack_made_write(path, NULL, 20, &err));
    fgt_ok(fg_pack_open(path, &(fg_pack_options){.check = FG_PACK_CHECK_ALWAYS}, &pack, &err));
    const int64_t records[] = {3, 4, 19, -1, 20, 0, INT64_MAX, 4};
    fg_pack_prefetch(pack, records, sizeof records / sizeof *records);
    assert_false(fg_pack_populate(pack, fg_pack_get_info(pack)->size_bytes - 1));
    assert_true(fg_pack_populate(pack, UINT64_MAX));
    for (int64_t i = 0; i < 20; i++)
        pack_made_check(pack, i);
    fgt_ok(fg_pack_intact(pack, &err));
    fg_pack_close(pack);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void mistakes_of_the_caller(void **state)
{
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    fg_pack *pack = NULL;
    const char *path = fresh("m.pack");
    char *name = malloc(65536);
    assert_non_null(name);
    memset(name, 'n', 65535);
    name[65535] = 0;
    REFUSED(fg_pack_writer_create("m.zip", NULL, &w, NULL, &err), FG_EINVAL,
            "the path of a pack must end in 'NAME.pack', got 'm.zip'");
    REFUSED(fg_pack_writer_create("/nowhere/m.pack", NULL, &w, NULL, &err), FG_ENOTFOUND,
            "cannot create '/nowhere/m.pack.partial': No such file or directory");
    assert_null(w);
    fgt_ok(
        fg_pack_writer_create(path, &(fg_pack_writer_options){.variant_count = 2}, &w, NULL, &err));
    REFUSED(fg_pack_writer_add(w, &(fg_pack_entry){.name = name}, "x", 1, &err), FG_EINVAL,
            "the name of a record has 65535 bytes: expected at most 65534");
    REFUSED(fg_pack_writer_add(w, &(fg_pack_entry){.label = -2}, "x", 1, &err), FG_EINVAL,
            "record '': codec 0 or label -2 is invalid");
    REFUSED(fg_pack_writer_add(w, &(fg_pack_entry){.label_count = 1}, "x", 1, &err), FG_EINVAL,
            "record '': labels is NULL, but label_count is 1");
    name[65534] = 0; /* the longest */
    fgt_ok(fg_pack_writer_add(w, &(fg_pack_entry){.name = name}, "x", 1, &err));
    REFUSED(fg_pack_writer_finish(w, NULL, &err), FG_EINVAL,
            "'~/m.pack' has 1 record: expected a multiple of variant_count, 2");
    fgt_ok(fg_pack_writer_add(w, &(fg_pack_entry){.name = ""}, "yz", 2, &err));
    fgt_ok(fg_pack_writer_finish(w, NULL, &err));
    REFUSED(fg_pack_writer_add(w, &(fg_pack_entry){.name = ""}, "", 0, &err), FG_EINVAL,
            "the writer of '~/m.pack' has finished");
    fg_pack_writer_destroy(w);
    REFUSED(fg_pack_writer_create(path, NULL, &w, NULL, &err), FG_EINVAL,
            "'~/m.pack' exists: remove it, replace it (--replace), or choose another name");
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    fg_pack_entry entry;
    char buffer[1];
    size_t size;
    fgt_ok(fg_pack_get_entry(pack, 0, &entry, &err));
    assert_string_equal(entry.name, name);
    assert_int_equal(fg_pack_get_entry(pack, 2, &entry, &err), FG_EINVAL);
    fgt_message_is(err.message, "record 2 is out of range: '~/m.pack' has 2 records");
    assert_int_equal(fg_pack_get_entry(pack, -1, &entry, &err), FG_EINVAL);
    fgt_message_is(err.message, "record -1 is out of range: '~/m.pack' has 2 records");
    REFUSED(fg_pack_read(pack, 1, buffer, 1, &size, &err), FG_EINVAL,
            "record 1 has 2 bytes, but the buffer has room for 1");
    assert_int_equal(size, 2);
    fg_pack_close(pack);
    free(name);
}

static void what_cannot_be_opened(void **state)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    char folder[256];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    REFUSED(fg_pack_open(fgt_path(folder, "no.pack"), NULL, &pack, &err), FG_ENOTFOUND,
            "cannot open '~/no.pack': No such file or directory");
    REFUSED(fg_pack_open(fgt_path(folder, "no-*.pack"), NULL, &pack, &err), FG_ENOTFOUND,
            "the folder '~' has no file 'no-*.pack'");
    REFUSED(fg_pack_open(folder, NULL, &pack, &err), FG_ENOTFOUND,
            "the folder '~' has no file '*.pack'");
    REFUSED(fg_pack_open("/dev/null", NULL, &pack, &err), FG_EFORMAT,
            "'/dev/null': expected a pack, but it is not a regular file");
    /* opened without waiting for a writer */
    assert_int_equal(mkfifo(fgt_path(folder, "f.pack"), 0600), 0);
    REFUSED(fg_pack_open(fgt_path(folder, "f.pack"), NULL, &pack, &err), FG_EFORMAT,
            "'~/f.pack': expected a pack, but it is not a regular file");
    assert_int_equal(unlink(fgt_path(folder, "f.pack")), 0);
    fgt_write(fgt_path(folder, "t.pack"), "text", 4);
    REFUSED(fg_pack_open(fgt_path(folder, "t.pack"), NULL, &pack, &err), FG_EFORMAT,
            "~/t.pack: byte 0: expected a pack header");
    fgt_ok(pack_made_write(fgt_path(folder, "a.pack"), NULL, 2, &err));
    REFUSED(fg_pack_open(folder, NULL, &pack, &err), FG_EINVAL,
            "'~' has 2 packs or files of several sets: name one of them, such as '~/a.pack'");
    assert_null(pack);
}

static void newer_structs(void **state)
{
    static const char text[] = "@: 'reserved' must be zero: the struct is not initialized, or the "
                               "program was compiled against newer headers than the library";
    fg_error err = {0};
    fg_pack *pack = NULL;
    fg_pack_writer *w = NULL;
    fg_pack_report report;
    const char *path = fresh("n.pack");
    memset(&report, 0xff, sizeof report);
    REFUSED(fg_pack_open(path, &(fg_pack_options){.reserved = {0, 0, 0, 1}}, &pack, &err),
            FG_EINVAL, text);
    REFUSED(
        fg_pack_writer_create(path, &(fg_pack_writer_options){.reserved = {0, 1}}, &w, NULL, &err),
        FG_EINVAL, text);
    fgt_ok(fg_pack_writer_create(path, NULL, &w, NULL, &err));
    REFUSED(fg_pack_writer_add(w, &(fg_pack_entry){.reserved = {0, 1}}, "", 0, &err), FG_EINVAL,
            text);
    fg_pack_writer_discard(w);
    fg_pack_writer_destroy(w);
    REFUSED(fg_pack_rebuild(path, path, &report, &err), FG_ENOTFOUND,
            "cannot open '~/n.pack': No such file or directory");
    for (size_t i = 0; i < sizeof report.reserved / sizeof *report.reserved; i++)
        assert_true(report.reserved[i] == 0);
}

/* ---- allocation ------------------------------------------------------------------------------ */

static fg_status write_and_read(void *self, fg_error *err)
{
    const char *folder = self, *path = fgt_path(folder, "f.pack");
    fg_pack *pack = NULL;
    const fg_field field = {"x", {.dtype = FG_U8, .rank = 1, .dim = {3}}};
    const char *const classes[2] = {"a", "b"};
    const fg_pack_writer_options options = {.shard_bytes = 9000,
                                            .replace = true,
                                            .resume = true,
                                            .fields = &field,
                                            .field_count = 1,
                                            .class_names = classes,
                                            .class_count = 2};
    fg_status status = pack_made_write(path, &options, 12, err);
    if (status == FG_OK)
        status = fg_pack_open(fgt_path(folder, "f-*.pack"), NULL, &pack, err);
    fg_pack_close(pack);
    return status;
}

static void any_allocation_may_fail(void **state)
{
    char folder[256];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    fgt_fault_loop(write_and_read, folder);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(records_of_all_kinds),
    cmocka_unit_test(description_of_the_pack),
    cmocka_unit_test(metadata_may_be_empty),
    cmocka_unit_test(small_records_do_not_cross_a_window),
    cmocka_unit_test(large_records_leave_no_gaps),
    cmocka_unit_test(records_may_be_where_early_versions_placed_them),
    cmocka_unit_test(offsets_of_more_than_32_bits),
    cmocka_unit_test(sets_of_files),
    cmocka_unit_test(a_file_and_a_set_replace_each_other),
    cmocka_unit_test(reading_ahead),
    cmocka_unit_test(mistakes_of_the_caller),
    cmocka_unit_test(what_cannot_be_opened),
    cmocka_unit_test(newer_structs),
    cmocka_unit_test(any_allocation_may_fail),
};
FGT_MAIN(tests)
