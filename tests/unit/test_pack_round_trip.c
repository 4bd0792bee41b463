/* test_pack_round_trip.c - what is written is read again: all columns, sizes and names, sets of
 * files, prefetching, limits of the writer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fcntl.h>
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

/* Requests to read ahead. */
static int request_count;
static off_t request_begin, request_end;

int posix_fadvise(int fd, off_t begin, off_t size, int advice)
{
    if (advice == POSIX_FADV_WILLNEED) {
        request_count++;
        request_begin = begin;
        request_end = begin + size;
    }
    return fd < 0;
}

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
    const fg_pack_info *info = fg_pack_info_of(pack);
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

/* Each is a NUL in the file. */
static void all_names_of_classes_may_be_empty(void **state)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    static const char *const classes[2] = {"", ""};
    const fg_pack_writer_options options = {.class_names = classes, .class_count = 2};
    const char *path = fresh("e.pack");
    fgt_ok(pack_made_write(path, &options, 2, &err));
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    assert_string_equal(fg_pack_class_name(pack, 1), "");
    assert_null(fg_pack_class_name(pack, 2));
    fg_pack_close(pack);
}

/* Sets the number of records in the header and the footer, rebuilds the file, and counts them. */
static int64_t count_rebuilt(const char *path, uint64_t count)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    char *data;
    size_t size;
    fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
    fgi_pack_page *page = (void *)data;
    page->count = page->set_count = count;
    page->crc = fgi_pack_page_crc(page);
    memcpy(data + size - sizeof *page, page, sizeof *page);
    fgt_write(path, data, size);
    fgi_free(data);
    fgt_ok(fg_pack_rebuild(path, path, NULL, &err));
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    const int64_t rebuilt = fg_pack_count(pack);
    fg_pack_close(pack);
    return rebuilt;
}

/* A header that is intact says how many records there are: none, or fewer than are found. */
static void a_rebuilt_file_has_the_records_of_its_header(void **state)
{
    fg_error err = {0};
    const char *path = fresh("r.pack");
    fgt_ok(pack_made_write(path, NULL, 0, &err));
    assert_int_equal(count_rebuilt(path, 0), 0);
    fgt_ok(pack_made_write(path, &(fg_pack_writer_options){.replace = true}, 3, &err));
    assert_int_equal(count_rebuilt(path, 2), 2);
}

/* Changes the first byte of the column of record 4, with the checksums that belong to it. */
static void change_column(char *data, size_t size, fgi_pack_kind kind)
{
    fgi_pack_page *page = (void *)data;
    bool is_found = false;
    for (uint32_t i = 0; i < page->section_count; i++) {
        fgi_pack_section *s = &page->sections[i];
        if (s->kind != (uint32_t)kind)
            continue;
        data[s->offset + 4 * fgi_pack_element_size(kind)] ^= 2;
        s->crc = fgi_crc32c(0, data + s->offset, (size_t)s->size);
        is_found = true;
    }
    assert_true(is_found);
    page->crc = fgi_pack_page_crc(page);
    memcpy(data + size - sizeof *page, page, sizeof *page);
}

/* An index with good checksums must still be that of the records. */
static void columns_must_agree_with_the_records(void **state)
{
    static const fgi_pack_kind kinds[] = {FGI_PACK_CRC,    FGI_PACK_LABEL, FGI_PACK_WIDTH,
                                          FGI_PACK_HEIGHT, FGI_PACK_CODEC, FGI_PACK_FLAGS,
                                          FGI_PACK_SPLIT,  FGI_PACK_GROUP};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        fg_error err = {0};
        fg_pack *pack = NULL;
        char *data;
        size_t size;
        const char *path = fresh("c.pack");
        fgt_ok(pack_made_write(path, NULL, 8, &err));
        fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
        change_column(data, size, kinds[i]);
        fgt_write(path, data, size);
        fgi_free(data);
        fgt_ok(fg_pack_open(path, NULL, &pack, &err));
        assert_int_equal(fg_pack_verify(pack, NULL, NULL, NULL, &err), FG_EFORMAT);
        assert_non_null(strstr(err.message, " has a header that differs from the index"));
        fg_pack_close(pack);
    }
}

/* The number of a damaged record is that in the set, also of a later file. */
static void records_are_numbered_in_the_set(void **state)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    fg_pack_entry last;
    char folder[256];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    fgt_ok(pack_made_write(fgt_path(folder, "n.pack"),
                           &(fg_pack_writer_options){.shard_bytes = 20000}, 40, &err));
    fgt_ok(fg_pack_open(folder, NULL, &pack, &err));
    fgt_ok(fg_pack_entry_at(pack, 39, &last, &err));
    assert_true(last.shard > 0);
    FILE *file = fopen(fg_pack_path(pack, last.shard), "r+b");
    assert_true(file != NULL && fseek(file, (long)last.offset_bytes, SEEK_SET) == 0);
    assert_int_equal(fputc(~0, file), 255);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(fg_pack_verify(pack, NULL, NULL, NULL, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, ": record 39 ('"));
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
        fgt_ok(fg_pack_entry_at(pack, i, &entry, &err));
        const uint64_t first = entry.offset_bytes >> 21;
        const uint64_t last = (entry.offset_bytes + entry.size_bytes - 1) >> 21;
        assert_true(first == last || sizes[i] > 1 << 16);
        size_t size = 3 << 20;
        fgt_ok(fg_pack_read(pack, i, data, &size, &err));
        assert_int_equal(size, sizes[i]);
        assert_true(data[0] == i + 1 && data[size - 1] == i + 1);
    }
    fg_pack_close(pack);
    free(data);
}

/* By hand: a multiple of 2 MiB is 1 << 21. A record may end there, but not go beyond it unless it
 * has more than 64 KiB. */
static void places_of_records(void **state)
{
    enum { END = 1 << 21, SMALL = 1 << 16 };
    static const struct {
        uint64_t at;
        fg_pack_codec codec;
        uint32_t length;
        uint64_t place;
    } rows[] = {
        {4176, FG_PACK_FILE, 5, 4176},
        {4177, FG_PACK_FILE, 5, 4192},
        {4177, FG_PACK_JPEG, 5, 4192},
        {4177, FG_PACK_JPEG_SEG, 5, 4192},
        {4177, FG_PACK_RAW_RGB, 5, 4224},
        {4177, FG_PACK_RAW_YCC420, 5, 4224},
        {4177, FG_PACK_DCT, 5, 4224},
        {4177, FG_PACK_ARRAYS, 5, 4224},
        {END - 64, FG_PACK_FILE, 64, END - 64},
        {END - 64, FG_PACK_FILE, 65, END},
        {END - 64, FG_PACK_FILE, SMALL, END},
        {END - 64, FG_PACK_FILE, SMALL + 1, END - 64},
        {END - 16, FG_PACK_RAW_RGB, 1, END},
        {END, FG_PACK_FILE, SMALL, END},
        {2 * END - 16, FG_PACK_FILE, 17, 2 * END},
        {END - 64, FG_PACK_FILE, 0, END - 64},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(fgi_pack_place(rows[i].at, (uint8_t)rows[i].codec, rows[i].length),
                         rows[i].place);
}

static void codecs_have_names(void **state)
{
    static const char *const names[] = {"file", "jpeg", "jpeg-seg", "raw", "ycc", "dct", "arrays"};
    (void)state;
    for (int i = 0; i < 7; i++)
        assert_string_equal(fg_pack_codec_name((fg_pack_codec)i), names[i]);
    assert_null(fg_pack_codec_name((fg_pack_codec)7));
    assert_null(fg_pack_codec_name((fg_pack_codec)-1));
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
    fgt_ok(fg_pack_entry_at(pack, 0, &entry, &err));
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

/* All files together have the sizes and the records that are reported. */
static void check_sizes(fg_pack *pack, int64_t count)
{
    fg_error err = {0};
    fg_pack_report report;
    uint64_t sum = 0;
    for (int i = 0; i < fg_pack_info_of(pack)->shard_count; i++) {
        struct stat file;
        assert_int_equal(stat(fg_pack_path(pack, i), &file), 0);
        assert_true(file.st_size < 32000); /* with its index */
        sum += (uint64_t)file.st_size;
    }
    assert_int_equal(fg_pack_info_of(pack)->size_bytes, sum);
    fgt_ok(fg_pack_verify(pack, NULL, NULL, &report, &err));
    assert_int_equal(report.size_bytes, sum);
    assert_int_equal(report.records, count);
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
    const int shards = fg_pack_info_of(pack)->shard_count;
    assert_true(shards > 3);
    assert_int_equal(fgt_count_entries(folder), shards);
    assert_non_null(strstr(fg_pack_path(pack, 1), "s-00001.pack"));
    assert_null(fg_pack_path(pack, shards));
    assert_null(fg_pack_path(pack, -1));
    check_sizes(pack, 50);
    fg_pack_close(pack);
    /* fewer files replace more */
    fgt_ok(pack_made_write(fgt_path(folder, "s.pack"),
                           &(fg_pack_writer_options){.shard_bytes = 20000, .replace = true}, 9,
                           &err));
    pack_made_check_all(folder, 9);
}

/* By hand: 100 bytes that begin at 4176 (a page of 4096, a header of 64 and a name of 2, at the
 * next multiple of 16) end at 4276; the next begins at 4368 and ends at 4468, which may be the
 * size. */
static void a_shard_may_have_exactly_its_size(void **state)
{
    static const char zeros[100];
    for (uint64_t less = 0; less < 2; less++) {
        fg_error err = {0};
        fg_pack_writer *w = NULL;
        fg_pack *pack = NULL;
        fg_pack_entry entry;
        const fg_pack_writer_options options = {.shard_bytes = 4468 - less, .replace = true};
        const char *path = fresh("e.pack");
        fgt_ok(fg_pack_writer_create(path, &options, &w, NULL, &err));
        for (int i = 0; i < 2; i++)
            fgt_ok(fg_pack_writer_add(w, &(fg_pack_entry){.name = "n"}, zeros, 100, &err));
        fgt_ok(fg_pack_writer_finish(w, NULL, &err));
        fg_pack_writer_destroy(w);
        fgt_ok(fg_pack_open(path, NULL, &pack, &err));
        assert_int_equal(fg_pack_info_of(pack)->shard_count, 1 + less);
        fgt_ok(fg_pack_entry_at(pack, 1, &entry, &err));
        assert_int_equal(entry.offset_bytes, less == 0 ? 4368 : 4176);
        assert_int_equal(entry.shard, less);
        fg_pack_close(pack);
    }
}

/* Files that are hidden are not packs of a folder; a name with [ ] is a name if the file exists. */
static void names_that_are_no_patterns(void **state)
{
    fg_error err = {0};
    char folder[256];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    fgt_ok(pack_made_write(fgt_path(folder, "a[1].pack"), NULL, 3, &err));
    fgt_write(fgt_path(folder, ".a.pack"), "text", 4);
    fgt_write(fgt_path(folder, "a1.pack.old"), "text", 4);
    pack_made_check_all(folder, 3);
    pack_made_check_all(fgt_path(folder, "a[1].pack"), 3);
    pack_made_check_all(fgt_path(folder, "*.pack"), 3);
}

/* Records, options and metadata determine the uuid. */
static void each_content_has_another_uuid(void **state)
{
    static const char *const metadata[] = {"{}", "{}", "{\"a\":1}", "{\"a\":2}", "{}", "{}"};
    char uuid[6][37];
    for (int i = 0; i < 6; i++) {
        fg_error err = {0};
        fg_pack_writer *w = NULL;
        fg_pack *pack = NULL;
        const fg_pack_writer_options options = {.fingerprint = i == 4 ? "f" : NULL,
                                                .replace = true};
        const fg_pack_entry entry = {.name = "n", .label = i == 5};
        const char *path = fresh("u.pack");
        fgt_ok(fg_pack_writer_create(path, &options, &w, NULL, &err));
        fgt_ok(fg_pack_writer_add(w, &entry, "x", 1, &err));
        fgt_ok(fg_pack_writer_finish(w, metadata[i], &err));
        fg_pack_writer_destroy(w);
        fgt_ok(fg_pack_open(path, NULL, &pack, &err));
        memcpy(uuid[i], fg_pack_info_of(pack)->uuid, sizeof uuid[i]);
        fg_pack_close(pack);
        for (int k = 0; k < i; k++)
            assert_int_equal(strcmp(uuid[i], uuid[k]) == 0, i == 1);
    }
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
    assert_false(fg_pack_populate(pack, fg_pack_info_of(pack)->size_bytes - 1));
    assert_true(fg_pack_populate(pack, fg_pack_info_of(pack)->size_bytes));
    assert_true(fg_pack_populate(pack, UINT64_MAX));
    for (int64_t i = 0; i < 20; i++)
        pack_made_check(pack, i);
    fgt_ok(fg_pack_intact(pack, &err));
    fg_pack_close(pack);
}

/* Records that follow each other are one request; one that goes back is another. */
static void requests_are_merged(void **state)
{
    static const struct {
        int64_t records[3];
        int requests, last; /* the last one begins with this record and ends with the next */
    } rows[] = {{{3, 4, -1}, 1, 3},
                {{4, 3, -1}, 2, 3},
                {{4, 4, 5}, 1, 4},
                {{-1, 20, INT64_MAX}, 0, 0},
                {{7, -2, 8}, 1, 7}};
    fg_error err = {0};
    fg_pack *pack = NULL;
    const char *path = fresh("q.pack");
    fgt_ok(pack_made_write(path, NULL, 20, &err));
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fg_pack_entry first, second;
        request_count = 0;
        fg_pack_prefetch(pack, rows[i].records, 3);
        assert_int_equal(request_count, rows[i].requests);
        if (request_count == 0)
            continue;
        fgt_ok(fg_pack_entry_at(pack, rows[i].last, &first, &err));
        fgt_ok(fg_pack_entry_at(pack, rows[i].last + (request_count == 1), &second, &err));
        assert_int_equal(request_begin, first.offset_bytes);
        assert_int_equal(request_end, second.offset_bytes + second.size_bytes);
    }
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
    fgt_ok(fg_pack_entry_at(pack, 0, &entry, &err));
    assert_string_equal(entry.name, name);
    assert_int_equal(fg_pack_entry_at(pack, 2, &entry, &err), FG_EINVAL);
    fgt_message_is(err.message, "record 2 is out of range: '~/m.pack' has 2 records");
    assert_int_equal(fg_pack_entry_at(pack, -1, &entry, &err), FG_EINVAL);
    fgt_message_is(err.message, "record -1 is out of range: '~/m.pack' has 2 records");
    size = 1;
    REFUSED(fg_pack_read(pack, 1, buffer, &size, &err), FG_EINVAL,
            "record 1 has 2 bytes, but the buffer has room for 1");
    assert_int_equal(size, 2);
    fg_pack_close(pack);
    free(name);
}

#define FIELD_TEXT                                                                                 \
    "field 0 of a pack is invalid: expected a name of 1 to 47 bytes and a type with dimensions "   \
    "of at least 1"
#define CLASS_TEXT "class_count of a pack is out of range"
#define NAME47     "12345678901234567890123456789012345678901234567"
#define NAME48     "123456789012345678901234567890123456789012345678"
static const fg_field nine_fields[9] = {
    {"a", {FG_U8, 0, {0}}}, {"b", {FG_U8, 0, {0}}}, {"c", {FG_U8, 0, {0}}},
    {"d", {FG_U8, 0, {0}}}, {"e", {FG_U8, 0, {0}}}, {"f", {FG_U8, 0, {0}}},
    {"g", {FG_U8, 0, {0}}}, {"h", {FG_U8, 0, {0}}}, {"i", {FG_U8, 0, {0}}}};
static const fg_field some_fields[] = {{NAME47, {FG_U8, 1, {1}}},
                                       {"seven", {FG_U8, 7, {1, 1, 1, 1, 1, 1, 1}}},
                                       {NAME48, {FG_U8, 1, {1}}},
                                       {"", {FG_U8, 1, {1}}},
                                       {NULL, {FG_U8, 1, {1}}},
                                       {"x", {FG_U8, 1, {0}}},
                                       {"x", {FG_U8, 2, {1, -1}}},
                                       {"x", {FG_DTYPE_NONE, 1, {1}}},
                                       {"x", {FG_U8, 8, {1, 1, 1, 1, 1, 1, 1, 1}}}};
static const char *const one_class[] = {"c"};

static const struct {
    fg_pack_writer_options o;
    const char *message; /* NULL: correct */
} writer_limits[] = {
    {{.fields = nine_fields, .field_count = 8}, NULL},
    {{.fields = nine_fields, .field_count = 9}, "a pack has 9 fields: expected 0 to 8"},
    {{.fields = nine_fields, .field_count = -1}, "a pack has -1 fields: expected 0 to 8"},
    {{.fields = &some_fields[0], .field_count = 1}, NULL},
    {{.fields = &some_fields[1], .field_count = 1}, NULL},
    {{.fields = &some_fields[2], .field_count = 1}, FIELD_TEXT},
    {{.fields = &some_fields[3], .field_count = 1}, FIELD_TEXT},
    {{.fields = &some_fields[4], .field_count = 1}, FIELD_TEXT},
    {{.fields = &some_fields[5], .field_count = 1}, FIELD_TEXT},
    {{.fields = &some_fields[6], .field_count = 1}, FIELD_TEXT},
    {{.fields = &some_fields[7], .field_count = 1}, FIELD_TEXT},
    {{.fields = &some_fields[8], .field_count = 1}, FIELD_TEXT},
    {{.class_names = one_class, .class_count = 1}, NULL},
    {{.class_names = one_class, .class_count = -1}, CLASS_TEXT},
    {{.class_count = 1}, NULL},
    {{.class_count = INT64_MAX}, CLASS_TEXT},
    {{.variant_count = -1}, "variant_count of a pack is out of range"},
    {{.variant_count = 1 << 20}, NULL},
    {{.variant_count = (1 << 20) + 1}, "variant_count of a pack is out of range"},
    {{.variant_count = INT64_MAX}, "variant_count of a pack is out of range"},
};

/* Options of the writer that are out of range, and the last ones that are not. */
static void limits_of_the_writer(void **state)
{
    const char *path = fresh("l.pack");
    for (size_t i = 0; i < sizeof writer_limits / sizeof *writer_limits; i++) {
        fg_error err = {0};
        fg_pack_writer *w = NULL;
        const fg_status status = fg_pack_writer_create(path, &writer_limits[i].o, &w, NULL, &err);
        assert_int_equal(status, writer_limits[i].message == NULL ? FG_OK : FG_EINVAL);
        assert_string_equal(err.message,
                            writer_limits[i].message == NULL ? "" : writer_limits[i].message);
        assert_int_equal(w == NULL, status != FG_OK);
        fg_pack_writer_destroy(w);
    }
}

/* A name must be left without the ending. */
static void paths_of_packs(void **state)
{
    static const char *const paths[] = {"", ".pack", "a/.pack", "a.Pack", "a.pack/", "apack"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        fg_error err = {0};
        fg_pack_writer *w = NULL;
        char expected[100];
        assert_int_equal(fg_pack_writer_create(paths[i], NULL, &w, NULL, &err), FG_EINVAL);
        (void)snprintf(expected, sizeof expected,
                       "the path of a pack must end in 'NAME.pack', got '%s'", paths[i]);
        assert_string_equal(err.message, expected);
        assert_null(w);
    }
}

/* The only record of a pack has this many labels, of which the last is 5. */
static void check_limits(const char *path, uint32_t most)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    fg_pack_entry entry;
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    fgt_ok(fg_pack_entry_at(pack, 0, &entry, &err));
    assert_true(entry.label_count == most && entry.labels[most - 1] == 5 && entry.group == -1);
    REFUSED(fg_pack_entry_at(pack, 1, &entry, &err), FG_EINVAL,
            "record 1 is out of range: '~/r.pack' has 1 record");
    fg_pack_close(pack);
}

/* After a refusal, the writer can be used; labels and codecs at their limits are kept. */
static void limits_of_a_record(void **state)
{
    enum { MOST = 65535 };
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    fg_pack_entry entry = {.name = "a", .label_count = MOST + 1, .group = -1};
    int32_t *labels = calloc(MOST + 1, sizeof *labels);
    assert_non_null(labels);
    labels[MOST - 1] = 5;
    entry.labels = labels;
    const char *path = fresh("r.pack");
    fgt_ok(fg_pack_writer_create(path, NULL, &w, NULL, &err));
    REFUSED(fg_pack_writer_add(w, &entry, "x", 1, &err), FG_EINVAL,
            "record 'a' has 65536 labels: expected at most 65535");
    REFUSED(fg_pack_writer_add(w, &(fg_pack_entry){.codec = (fg_pack_codec)256}, "x", 1, &err),
            FG_EINVAL, "record '': codec 256 or label 0 is invalid");
    REFUSED(fg_pack_writer_add(w, &(fg_pack_entry){.name = "b"}, NULL, 1, &err), FG_EINVAL,
            "fg_pack_writer_add: entry or data is NULL");
    entry.label_count = MOST;
    fgt_ok(fg_pack_writer_add(w, &entry, NULL, 0, &err));
    assert_int_equal(fg_pack_writer_count(w), 1);
    fgt_ok(fg_pack_writer_finish(w, NULL, &err));
    REFUSED(fg_pack_writer_finish(w, NULL, &err), FG_EINVAL,
            "the writer of '~/r.pack' has finished");
    fg_pack_writer_destroy(w);
    check_limits(path, MOST);
    free(labels);
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
    cmocka_unit_test(all_names_of_classes_may_be_empty),
    cmocka_unit_test(a_rebuilt_file_has_the_records_of_its_header),
    cmocka_unit_test(records_are_numbered_in_the_set),
    cmocka_unit_test(columns_must_agree_with_the_records),
    cmocka_unit_test(metadata_may_be_empty),
    cmocka_unit_test(small_records_do_not_cross_a_window),
    cmocka_unit_test(places_of_records),
    cmocka_unit_test(codecs_have_names),
    cmocka_unit_test(large_records_leave_no_gaps),
    cmocka_unit_test(records_may_be_where_early_versions_placed_them),
    cmocka_unit_test(offsets_of_more_than_32_bits),
    cmocka_unit_test(sets_of_files),
    cmocka_unit_test(a_shard_may_have_exactly_its_size),
    cmocka_unit_test(names_that_are_no_patterns),
    cmocka_unit_test(each_content_has_another_uuid),
    cmocka_unit_test(a_file_and_a_set_replace_each_other),
    cmocka_unit_test(reading_ahead),
    cmocka_unit_test(requests_are_merged),
    cmocka_unit_test(mistakes_of_the_caller),
    cmocka_unit_test(limits_of_the_writer),
    cmocka_unit_test(paths_of_packs),
    cmocka_unit_test(limits_of_a_record),
    cmocka_unit_test(what_cannot_be_opened),
    cmocka_unit_test(newer_structs),
    cmocka_unit_test(any_allocation_may_fail),
};
FGT_MAIN(tests)
