/* test_pack_damage.c - damaged packs: each single byte is flipped, files are cut at each length,
 * shrink while open, come from a newer version, or are mixed up; and packs are rebuilt.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/catalog.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "pack/pack_file.h"
#include "pack_made.h"

enum { COUNT = 7 };

/* A small pack as bytes. */
typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

static bytes load(const char *path)
{
    fg_error err = {0};
    char *data;
    size_t size;
    fgt_ok(fgi_file_read(path, 1 << 24, &data, &size, &err));
    return (bytes){(unsigned char *)data, size};
}

static const char *path_of(const char *name)
{
    static char folder[256];
    if (*folder == 0)
        (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    return fgt_path(folder, name);
}

static bytes small_pack(void)
{
    fg_error err = {0};
    const char *const classes[2] = {"cat", "dog"};
    const fg_pack_writer_options options = {
        .class_names = classes, .class_count = 2, .replace = true};
    fgt_ok(pack_made_write(path_of("small.pack"), &options, COUNT, &err));
    return load(path_of("small.pack"));
}

static void write_pack(const char *name, const bytes *pack)
{
    fgt_write(path_of(name), pack->data, pack->size);
}

/* Replaces one byte of a file. */
static void poke(int fd, size_t at, unsigned char byte)
{
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
}

static int open_copy(const bytes *pack)
{
    write_pack("flip.pack", pack);
    const int fd = open(path_of("flip.pack"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* ---- single bytes ---------------------------------------------------------------------------- */

typedef struct found {
    int64_t record;
    bool has_name;
    int count;
} found;

static void on_fault(void *self, const fg_pack_fault *fault)
{
    found *f = self;
    f->count++;
    if (fault->record >= 0 && f->record < 0) {
        f->record = fault->record;
        char name[300];
        (void)fg_catalog_escape(fault->name != NULL ? fault->name : "", name, sizeof name);
        f->has_name = fault->name != NULL && strstr(fault->message, name) != NULL;
    }
}

/* Keeps the message of the last fault. */
static void keep_message(void *self, const fg_pack_fault *fault)
{
    (void)snprintf(self, 200, "%s", fault->message);
}

/* The header and the footer, after the pack was opened. */
static void a_page_that_changes_is_found(void **state)
{
    fg_error err = {0};
    (void)state;
    bytes pack = small_pack();
    const int fd = open_copy(&pack);
    const size_t places[] = {40, pack.size - 40};
    for (int i = 0; i < 2; i++) {
        fg_pack *changed = NULL;
        char message[200] = "", expected[200];
        fgt_ok(fg_pack_open(path_of("flip.pack"), NULL, &changed, &err));
        poke(fd, places[i], pack.data[places[i]] ^ 1);
        assert_int_equal(fg_pack_verify(changed, keep_message, message, NULL, &err), FG_EFORMAT);
        poke(fd, places[i], pack.data[places[i]]);
        (void)snprintf(expected, sizeof expected, "~/flip.pack: byte %zu: the %s has changed",
                       i == 0 ? (size_t)0 : pack.size - FGI_PACK_PAGE,
                       i == 0 ? "header" : "footer");
        fgt_message_is(message, expected);
        fg_pack_close(changed);
    }
    assert_int_equal(close(fd), 0);
    fgi_free(pack.data);
}

/* The record to which byte `at` belongs, with its header and padding; -1 if to none. */
static int64_t owner(fg_pack *pack, size_t at)
{
    fg_error err = {0};
    if (at < FGI_PACK_PAGE)
        return -1;
    for (int64_t i = 0; i < COUNT; i++) {
        fg_pack_entry entry;
        fgt_ok(fg_pack_entry_at(pack, i, &entry, &err));
        if (at < entry.offset_bytes + entry.size_bytes)
            return i;
    }
    return -1;
}

/* Verification finds each flipped byte, names the record if it is in one, and reports only that
 * record. */
static void verify_finds_each_byte(void **state)
{
    fg_error err = {0};
    fg_pack *good = NULL;
    bytes pack = small_pack();
    fgt_ok(fg_pack_open(path_of("small.pack"), NULL, &good, &err));
    const int fd = open_copy(&pack);
    for (size_t at = 0; at < pack.size; at += at < FGI_PACK_PAGE - 8 && at > 200 ? 7 : 1) {
        fg_pack *bad = NULL;
        found f = {.record = -1};
        poke(fd, at, pack.data[at] ^ (unsigned char)(1 << at % 8));
        const fg_status opened = fg_pack_open(path_of("flip.pack"), NULL, &bad, &err);
        const fg_status verified =
            opened == FG_OK ? fg_pack_verify(bad, on_fault, &f, NULL, &err) : FG_EFORMAT;
        fg_pack_close(bad);
        poke(fd, at, pack.data[at]);
        if (opened != FG_OK) { /* both pages, class names, metadata */
            assert_true(opened == FG_EFORMAT || opened == FG_EUNSUPPORTED);
            assert_int_equal(owner(good, at), -1);
            continue;
        }
        assert_int_equal(verified, FG_EFORMAT);
        const int64_t record = owner(good, at);
        if (f.count == 0 || (record >= 0 && (f.record != record || !f.has_name || f.count != 1)))
            fail_msg("byte %zu of record %d: %d faults, record %d: %s", at, (int)record, f.count,
                     (int)f.record, err.message);
    }
    assert_int_equal(close(fd), 0);
    fg_pack_close(good);
    fgi_free(pack.data);
}

/* Reads all records. Returns how many failed, and sets *out_record to the last of them. */
static int read_all(fg_pack *pack, bool is_mapped, int64_t *out_record)
{
    int failed = 0;
    for (int64_t i = 0; i < fg_pack_count(pack); i++) {
        char name[32], buffer[PACK_MADE_LARGEST];
        fg_error err = {0};
        const void *data;
        size_t size = sizeof buffer;
        const fg_status status = is_mapped ? fg_pack_record(pack, i, &data, &size, &err)
                                           : fg_pack_read(pack, i, buffer, &size, &err);
        if (status == FG_OK)
            continue;
        (void)snprintf(name, sizeof name, "record %d ('", (int)i);
        if (strstr(err.message, name) == NULL && strstr(err.message, "section '") == NULL)
            fail_msg("neither record %d nor a section: '%s'", (int)i, err.message);
        assert_int_equal(status, FG_EFORMAT);
        assert_non_null(strstr(err.message, "byte "));
        *out_record = i;
        failed++;
    }
    return failed;
}

/* So does reading, except for padding, of which it reads nothing; other records can be read. */
static void reading_finds_each_byte(void **state)
{
    fg_error err = {0};
    fg_pack *good = NULL;
    bytes pack = small_pack();
    fgt_ok(fg_pack_open(path_of("small.pack"), NULL, &good, &err));
    const int fd = open_copy(&pack);
    for (size_t at = FGI_PACK_PAGE; at < pack.size - FGI_PACK_PAGE; at++) {
        fg_pack *bad = NULL;
        int64_t failed_record = -1;
        const bool was_zero = pack.data[at] == 0;
        poke(fd, at, pack.data[at] ^ 0x10);
        const fg_status opened = fg_pack_open(path_of("flip.pack"), NULL, &bad, &err);
        const int failed = opened == FG_OK ? read_all(bad, at % 2 == 0, &failed_record) : COUNT;
        fg_pack_close(bad);
        poke(fd, at, pack.data[at]);
        const int64_t record = owner(good, at);
        if (failed == 0)
            assert_true(was_zero);
        else if (record >= 0)
            assert_true(failed == 1 && failed_record == record);
        else
            assert_true(failed >= 1); /* all for a column, some for names and labels */
    }
    assert_int_equal(close(fd), 0);
    fg_pack_close(good);
    fgi_free(pack.data);
}

static void damage_record(fg_pack *pack, int fd, int64_t record)
{
    fg_error err = {0};
    fg_pack_entry entry;
    fgt_ok(fg_pack_entry_at(pack, record, &entry, &err));
    assert_true(entry.size_bytes > 0);
    poke(fd, (size_t)entry.offset_bytes, 0x5a);
}

/* Each record has its check: records 0 and 30 were read, those that differ from them by 16, 32 or
 * 64 are damaged then. What was read once is not verified again unless it is to be always. */
static void records_are_verified_as_asked(void **state)
{
    static const int64_t damaged[] = {14, 16, 32, 64};
    const char *path = path_of("check.pack");
    (void)state;
    for (int check = FG_PACK_CHECK_FIRST; check <= FG_PACK_CHECK_NEVER; check++) {
        fg_error err = {0};
        fg_pack *pack = NULL;
        const void *data;
        size_t size;
        fgt_ok(pack_made_write(path, &(fg_pack_writer_options){.replace = true}, 65, &err));
        fgt_ok(fg_pack_open(path, &(fg_pack_options){.check = (fg_pack_check)check}, &pack, &err));
        fgt_ok(fg_pack_record(pack, 0, &data, &size, &err));
        fgt_ok(fg_pack_record(pack, 30, &data, &size, &err));
        fgt_ok(fg_pack_record(pack, 1, &data, &size, &err));
        const int fd = open(path, O_RDWR | O_CLOEXEC);
        for (int i = 0; i < 5; i++) {
            const int64_t record = i < 4 ? damaged[i] : 1;
            const fg_status status =
                check == FG_PACK_CHECK_NEVER || (check == FG_PACK_CHECK_FIRST && i == 4)
                    ? FG_OK
                    : FG_EFORMAT;
            fgt_ok(fg_pack_record(pack, 0, &data, &size, &err));
            damage_record(pack, fd, record);
            assert_int_equal(fg_pack_record(pack, record, &data, &size, &err), status);
            assert_int_equal(fg_pack_record(pack, record, &data, &size, &err), status);
        }
        assert_int_equal(close(fd), 0);
        fg_pack_close(pack);
    }
}

/* The first fault is that of the error: here of the header, before those of a record. */
static void the_first_fault_is_the_error(void **state)
{
    fg_error err = {0};
    fg_pack *changed = NULL;
    char last[200] = "";
    (void)state;
    bytes pack = small_pack();
    const int fd = open_copy(&pack);
    fgt_ok(fg_pack_open(path_of("flip.pack"), NULL, &changed, &err));
    poke(fd, 40, pack.data[40] ^ 1);
    poke(fd, FGI_PACK_PAGE + 40, pack.data[FGI_PACK_PAGE + 40] ^ 1); /* of the group of record 0 */
    fg_pack_report report;
    assert_int_equal(fg_pack_verify(changed, keep_message, last, &report, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/flip.pack: byte 0: the header has changed");
    fgt_message_is(last, "~/flip.pack: byte 4096: record 0 ('cats/0.jpg') has a damaged header");
    assert_true(report.bad_records == 1 && report.bad_others == 1 && report.records == COUNT);
    assert_int_equal(close(fd), 0);
    fg_pack_close(changed);
    fgi_free(pack.data);
}

/* ---- files that are made to be wrong --------------------------------------------------------- */

/* Puts a number of `width` bytes in a column, with the checksums that belong to it. */
static void set_column(const bytes *pack, fgi_pack_kind kind, size_t at, uint64_t value,
                       size_t width)
{
    fgi_pack_page page;
    memcpy(&page, pack->data, sizeof page);
    for (uint32_t i = 0; i < page.section_count; i++) {
        fgi_pack_section *s = &page.sections[i];
        if (s->kind != (uint32_t)kind)
            continue;
        memcpy(pack->data + s->offset + at * width, &value, width);
        s->crc = fgi_crc32c(0, pack->data + s->offset, (size_t)s->size);
    }
    page.crc = fgi_pack_page_crc(&page);
    memcpy(pack->data, &page, sizeof page);
    memcpy(pack->data + pack->size - sizeof page, &page, sizeof page);
}

/* The entry of record 4 is not inside the file; those of the others can be read. */
static void entries_must_be_inside(void **state)
{
    static const struct {
        fgi_pack_kind kind;
        size_t at, width;
        uint64_t value;
    } rows[] = {
        {FGI_PACK_LENGTH, 4, 4, 12000}, /* each alone is less than the end of the records, 16,448 */
        {FGI_PACK_LENGTH, 4, 4, UINT32_MAX}, {FGI_PACK_OFFSET, 4, 8, 16},
        {FGI_PACK_OFFSET, 4, 8, 1 << 20},    {FGI_PACK_OFFSET, 4, 8, UINT64_MAX - 15},
        {FGI_PACK_OFFSET, 4, 8, 8200}, /* not a multiple of 16 */
        {FGI_PACK_NAME_START, 5, 8, 1},      {FGI_PACK_NAME_START, 5, 8, UINT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fg_error err = {0};
        fg_pack *bad = NULL;
        fg_pack_entry entry;
        bytes pack = small_pack();
        set_column(&pack, rows[i].kind, rows[i].at, rows[i].value, rows[i].width);
        write_pack("made.pack", &pack);
        fgt_ok(fg_pack_open(path_of("made.pack"), NULL, &bad, &err));
        assert_int_equal(fg_pack_entry_at(bad, 4, &entry, &err), FG_EFORMAT);
        assert_non_null(strstr(err.message, ": record 4 ('cats/4.jpg') has an invalid index entry; "
                                            "rebuild the pack"));
        assert_int_equal(fg_pack_verify(bad, NULL, NULL, NULL, &err), FG_EFORMAT);
        fgt_ok(fg_pack_entry_at(bad, 3, &entry, &err));
        fg_pack_close(bad);
        fgi_free(pack.data);
    }
}

/* ---- files that are cut, torn or newer ------------------------------------------------------- */

static void truncated_at_each_length(void **state)
{
    bytes pack = small_pack();
    write_pack("cut.pack", &pack);
    for (size_t size = pack.size; size-- > 0;) {
        fg_error err = {0};
        fg_pack *bad = NULL;
        assert_int_equal(truncate(path_of("cut.pack"), (off_t)size), 0);
        assert_int_equal(fg_pack_open(path_of("cut.pack"), NULL, &bad, &err), FG_EFORMAT);
        assert_non_null(strstr(err.message, "cut.pack: byte "));
    }
    fgi_free(pack.data);
}

/* Opens the bytes after `page` was set as header and footer. */
static void refuse(const bytes *pack, fgi_pack_page *page, fg_status status, const char *text)
{
    fg_error err = {0};
    fg_pack *bad = NULL;
    page->crc = fgi_pack_page_crc(page);
    memcpy(pack->data, page, sizeof *page);
    memcpy(pack->data + pack->size - FGI_PACK_PAGE, page, sizeof *page);
    write_pack("new.pack", pack);
    assert_int_equal(fg_pack_open(path_of("new.pack"), NULL, &bad, &err), status);
    fgt_message_is(err.message, text);
}

/* Each number alone makes the header impossible: of records, of the first one, of the set; of the
 * file; the end of the records; of variants, fields and sections. */
static void numbers_of_a_header_must_agree(void **state)
{
    static const struct {
        size_t at, size;
        uint64_t value;
    } rows[] = {{64, 8, FGI_PACK_MAX_RECORDS + 1},
                {72, 8, 1},
                {72, 8, UINT64_MAX},
                {80, 8, 0},
                {80, 8, 1ULL << 63},
                {88, 4, 1},
                {88, 4, 2},
                {96, 8, FGI_PACK_PAGE - 1},
                {96, 8, UINT64_MAX},
                {112, 4, 0},
                {120, 4, FG_MAX_FIELDS + 1},
                {124, 4, FGI_PACK_MAX_SECTIONS + 1}};
    bytes pack = small_pack();
    fgi_pack_page good;
    memcpy(&good, pack.data, sizeof good);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fgi_pack_page page = good;
        memcpy((char *)&page + rows[i].at, &rows[i].value, rows[i].size);
        refuse(&pack, &page, FG_EFORMAT, "~/new.pack: byte 64: the header is inconsistent");
    }
    fgi_free(pack.data);
}

/* A pack of version 1.9 can be read. */
static void check_newer(void)
{
    fg_error err = {0};
    fg_pack *opened = NULL;
    fgt_ok(fg_pack_open(path_of("new.pack"), NULL, &opened, &err));
    assert_int_equal(fg_pack_info_of(opened)->version_major, 1);
    assert_int_equal(fg_pack_info_of(opened)->version_minor, 9);
    pack_made_check(opened, 3);
    fg_pack_close(opened);
}

static void other_versions_and_features(void **state)
{
    bytes pack = small_pack();
    fgi_pack_page page, good;
    memcpy(&good, pack.data, sizeof good);
    page = good;
    page.major = 2;
    refuse(&pack, &page, FG_EUNSUPPORTED,
           "~/new.pack: byte 8: pack version 2.0 was written by a newer version of Fulgurite, this "
           "one reads up to 1: upgrade, or create the pack again");
    page = good;
    page.major = 0;
    refuse(&pack, &page, FG_EFORMAT, "~/new.pack: byte 8: invalid version 0.0");
    page = good;
    page.required = 1ULL << 40;
    refuse(&pack, &page, FG_EUNSUPPORTED,
           "~/new.pack: byte 16: the pack requires features that this version of Fulgurite does "
           "not have (bits 10000000000): upgrade, or create the pack again");
    page = good;
    page.is_finished = 0;
    refuse(&pack, &page, FG_EFORMAT,
           "~/new.pack: byte 12: the pack is unfinished: resume writing it, or rebuild it");
    page = good;
    page.sections[2].size += 8;
    refuse(&pack, &page, FG_EFORMAT,
           "~/new.pack: byte 176: section 2 (positions of names) at 16704 with 72 bytes is not at "
           "its expected position");
    page = good;
    page.sections[0].kind = 60; /* an unknown section instead of a known one */
    refuse(&pack, &page, FG_EFORMAT, "~/new.pack: byte 128: section 'offsets' is missing");
    page = good; /* what an older reader may ignore */
    page.minor = 9;
    page.optional = UINT64_MAX;
    page.crc = fgi_pack_page_crc(&page);
    memcpy(pack.data, &page, sizeof page);
    memcpy(pack.data + pack.size - FGI_PACK_PAGE, &page, sizeof page);
    write_pack("new.pack", &pack);
    check_newer();
    fgi_free(pack.data);
}

/* A header without its footer, or the other way round. */
static void torn_pages(void **state)
{
    fg_error err = {0};
    fg_pack *bad = NULL;
    bytes pack = small_pack();
    memset(pack.data, 0, FGI_PACK_PAGE);
    write_pack("torn.pack", &pack);
    assert_int_equal(fg_pack_open(path_of("torn.pack"), NULL, &bad, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/torn.pack: byte 0: expected a pack header");
    fgi_free(pack.data);
    pack = small_pack();
    memset(pack.data + pack.size - 512, 0, 512);
    write_pack("torn.pack", &pack);
    assert_int_equal(fg_pack_open(path_of("torn.pack"), NULL, &bad, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/torn.pack: byte 17664: the footer differs from the header: the "
                                "file is damaged; rebuild it");
    fgi_free(pack.data);
}

static void shrinks_while_open(void **state)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    const void *data;
    size_t size;
    char buffer[PACK_MADE_LARGEST];
    const char *path = path_of("shrink.pack");
    fgt_ok(pack_made_write(path, &(fg_pack_writer_options){.replace = true}, 60, &err));
    for (int first = 0; first < 2; first++) { /* before and after the index has been read */
        fgt_ok(pack_made_write(path, &(fg_pack_writer_options){.replace = true}, 60, &err));
        fgt_ok(fg_pack_open(path, NULL, &pack, &err));
        if (first == 1)
            pack_made_check(pack, 59);
        fgt_ok(fg_pack_intact(pack, &err));
        assert_int_equal(truncate(path, 8192), 0);
        assert_int_equal(fg_pack_record(pack, 58, &data, &size, &err), FG_EIO);
        fgt_message_is(err.message, "cannot read '~/shrink.pack': the file has shrunk or its disk "
                                    "has failed since it was opened");
        fg_pack_entry entry, none;
        memset(&none, 0, sizeof none);
        memset(&entry, 0xff, sizeof entry);
        assert_int_equal(fg_pack_entry_at(pack, 56, &entry, &err), FG_EIO);
        assert_memory_equal(&entry, &none, sizeof none);
        assert_int_equal(fg_pack_read(pack, 57, buffer, &size, &err), FG_EIO);
        assert_int_equal(fg_pack_intact(pack, &err), FG_EIO);
        fg_pack_close(pack);
    }
}

/* ---- sets ------------------------------------------------------------------------------------ */

static void files_of_a_set_missing_or_mixed_up(void **state)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    char folder[256], a1[300], a2[300], b1[300];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    const fg_pack_writer_options options = {.shard_bytes = 20000};
    fgt_ok(pack_made_write(fgt_path(folder, "a.pack"), &options, 40, &err));
    fgt_ok(pack_made_write(fgt_path(folder, "b.pack"), &options, 41, &err));
    const char *first = fgt_path(folder, "a-00000.pack");
    (void)snprintf(a1, sizeof a1, "%s/a-00001.pack", folder);
    (void)snprintf(a2, sizeof a2, "%s/a-00002.pack", folder);
    (void)snprintf(b1, sizeof b1, "%s/b-00001.pack", folder);
    assert_int_equal(fg_pack_open(folder, NULL, &pack, &err), FG_EINVAL);
    assert_int_equal(rename(a1, fgt_path(folder, "kept")), 0);
    assert_int_equal(fg_pack_open(first, NULL, &pack, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "cannot open '~/a-00001.pack': No such file or directory");
    assert_int_equal(rename(b1, a1), 0);
    assert_int_equal(fg_pack_open(first, NULL, &pack, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/a-00001.pack: byte 32: the file belongs to a different set from "
                                "'~/a-00000.pack': copy all files of one set");
    assert_int_equal(rename(a2, a1), 0);
    assert_int_equal(rename(fgt_path(folder, "kept"), a2), 0);
    assert_int_equal(fg_pack_open(first, NULL, &pack, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/a-00001.pack: byte 88: the file is number 2 of its set, "
                                "expected 1: was it renamed?");
    assert_int_equal(fg_pack_open(a1, NULL, &pack, &err), FG_EFORMAT);
    fgt_message_is(err.message,
                   "~/a-00001.pack: byte 88: the file is number 2 of a set, so its name must end "
                   "in '-00002.pack': was it renamed?");
}

/* The headers of a set must agree, also if each is intact: its uuid, the numbers of records and of
 * files, of variants and of classes. The last is the number of its first record. */
static void headers_of_a_set_must_agree(void **state)
{
    static const size_t offsets[] = {32, 80, 92, 112, 116, 72};
    fg_error err = {0};
    char folder[256], path[300];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    (void)snprintf(path, sizeof path, "%s/a-00001.pack", folder);
    fgt_ok(pack_made_write(fgt_path(folder, "a.pack"),
                           &(fg_pack_writer_options){.shard_bytes = 20000}, 40, &err));
    bytes pack = load(path);
    fgi_pack_page good, *page = (void *)pack.data;
    memcpy(&good, pack.data, sizeof good);
    for (size_t i = 0; i < 6; i++) {
        fg_pack *bad = NULL;
        memcpy(pack.data, &good, sizeof good);
        pack.data[offsets[i]]++;
        page->crc = fgi_pack_page_crc(page);
        memcpy(pack.data + pack.size - sizeof good, page, sizeof good);
        fgt_write(path, pack.data, pack.size);
        assert_int_equal(fg_pack_open(folder, NULL, &bad, &err), FG_EFORMAT);
        if (i < 5)
            fgt_message_is(err.message,
                           "~/a-00001.pack: byte 32: the file belongs to a different set from "
                           "'~/a-00000.pack': copy all files of one set");
    }
    char expected[128];
    (void)snprintf(expected, sizeof expected,
                   "~/a-00001.pack: byte 72: the first record is number %d of its set, expected %d",
                   (int)good.first + 1, (int)good.first);
    fgt_message_is(err.message, expected);
    fgi_free(pack.data);
}

/* Git LFS has fetched the first file only. */
static void a_file_of_a_set_may_be_a_pointer(void **state)
{
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\nsize 20000\n";
    fg_error err = {0};
    fg_pack *pack = NULL;
    const char *folder = fgt_temp_folder();
    (void)state;
    fgt_ok(pack_made_write(fgt_path(folder, "a.pack"),
                           &(fg_pack_writer_options){.shard_bytes = 20000}, 40, &err));
    fgt_write(fgt_path(folder, "a-00001.pack"), pointer, sizeof pointer - 1);
    assert_int_equal(fg_pack_open(fgt_path(folder, "a-00000.pack"), NULL, &pack, &err), FG_EFORMAT);
    fgt_message_is(err.message, "'~/a-00001.pack' is a Git LFS pointer, not the data: run `git lfs "
                                "pull` in its repository");
}

/* ---- rebuilding ------------------------------------------------------------------------------ */

static void assert_same(const char *name, const bytes *want)
{
    bytes got = load(path_of(name));
    assert_int_equal(got.size, want->size);
    assert_memory_equal(got.data, want->data, want->size);
    fgi_free(got.data);
}

/* Index, header or footer are damaged: the rebuilt pack has the bytes of the undamaged one. */
static void rebuilds_what_is_not_in_records(void **state)
{
    fg_error err = {0};
    fg_pack_report report;
    bytes pack = small_pack(), bad = small_pack();
    fgi_pack_page page;
    memcpy(&page, pack.data, sizeof page);
    const size_t at[4] = {40, pack.size - 10, (size_t)page.sections[0].offset + 3,
                          (size_t)page.records_end + 1};
    for (int i = 0; i < 4; i++) {
        memcpy(bad.data, pack.data, pack.size);
        bad.data[at[i]] ^= 1;
        write_pack("bad.pack", &bad);
        fgt_ok(fg_pack_rebuild(path_of("bad.pack"), path_of("bad.pack"), &report, &err));
        assert_int_equal(report.records, COUNT);
        assert_int_equal(report.bad_records, 0);
        assert_same("bad.pack", &pack);
    }
    fgi_free(pack.data);
    fgi_free(bad.data);
}

/* Only the records are left: names, labels and bytes are recovered. */
static void rebuilds_from_records_alone(void **state)
{
    fg_error err = {0};
    fg_pack_report report;
    bytes pack = small_pack();
    fgi_pack_page page;
    memcpy(&page, pack.data, sizeof page);
    memset(pack.data, 0, FGI_PACK_PAGE);
    write_pack("cut.pack", &(bytes){pack.data, (size_t)page.records_end});
    fgt_ok(fg_pack_rebuild(path_of("cut.pack"), path_of("whole.pack"), &report, &err));
    assert_int_equal(report.bad_records, 0);
    pack_made_check_all(path_of("whole.pack"), COUNT);
    fgi_free(pack.data);
}

/* A record that is lost keeps everything but its bytes, if its header is intact. */
static void check_lost(fg_pack *pack, int64_t number)
{
    fg_error err = {0};
    fg_pack_entry made, entry;
    unsigned char unused[PACK_MADE_LARGEST];
    size_t size;
    pack_made(number, &made, unused, &size);
    fgt_ok(fg_pack_entry_at(pack, number, &entry, &err));
    assert_string_equal(entry.name, made.name);
    assert_int_equal(entry.codec, made.codec);
    assert_true(entry.width == made.width && entry.height == made.height);
    assert_true(entry.label == made.label && entry.split == made.split);
    assert_true(entry.group == made.group && made.group != 0);
    assert_int_equal(entry.flags, made.flags | FG_PACK_LOST);
    assert_int_equal(entry.size_bytes, 0);
}

/* All but record `lost` are as they were, and nothing else is wrong. */
static void check_others(fg_pack *pack, int64_t lost)
{
    fg_error err = {0};
    fg_pack_report report;
    assert_string_equal(fg_pack_class_name(pack, 1), "dog");
    for (int64_t i = 0; i < COUNT; i++)
        if (i != lost)
            pack_made_check(pack, i);
    fgt_ok(fg_pack_verify(pack, NULL, NULL, &report, &err));
    assert_true(report.bad_records == 0 && report.lost_records == 1);
}

/* Record 4 or its header is damaged: it is lost, and the others keep their numbers. */
static void a_damaged_record_is_lost(void **state)
{
    for (int where = 0; where < 2; where++) {
        fg_error err = {0};
        fg_pack *good = NULL, *rebuilt = NULL;
        fg_pack_entry entry;
        fg_pack_report report;
        const void *data;
        size_t size;
        bytes pack = small_pack();
        fgt_ok(fg_pack_open(path_of("small.pack"), NULL, &good, &err));
        fgt_ok(fg_pack_entry_at(good, where == 0 ? 4 : 3, &entry, &err));
        const size_t end_3 = (size_t)(entry.offset_bytes + entry.size_bytes);
        pack.data[where == 0 ? (size_t)entry.offset_bytes : (end_3 + 15) / 16 * 16 + 20] ^= 4;
        fg_pack_close(good);
        write_pack("bad.pack", &pack);
        fgt_ok(fg_pack_rebuild(path_of("bad.pack"), path_of("bad.pack"), &report, &err));
        assert_int_equal(report.records, COUNT);
        assert_int_equal(report.bad_records, 1);
        fgt_ok(fg_pack_open(path_of("bad.pack"), NULL, &rebuilt, &err));
        fgt_ok(fg_pack_entry_at(rebuilt, 4, &entry, &err));
        assert_true((entry.flags & FG_PACK_LOST) != 0);
        assert_int_equal(fg_pack_record(rebuilt, 4, &data, &size, &err), FG_EFORMAT);
        assert_non_null(strstr(err.message, where == 0 ? "cats/4.jpg') was damaged and lost "
                                                       : "('lost record 4') was damaged"));
        if (where == 0)
            check_lost(rebuilt, 4);
        else
            assert_true(entry.label == FG_PACK_NO_LABEL && entry.split == FG_PACK_NO_SPLIT);
        check_others(rebuilt, 4);
        fg_pack_close(rebuilt);
        fgi_free(pack.data);
    }
}

/* A rebuilt file does not replace a set of the same name, as a new pack does. */
static void a_rebuilt_file_removes_no_other(void **state)
{
    fg_error err = {0};
    char folder[256];
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    fgt_ok(pack_made_write(fgt_path(folder, "a.pack"),
                           &(fg_pack_writer_options){.shard_bytes = 20000}, 40, &err));
    const int files = fgt_count_entries(folder);
    bytes pack = small_pack();
    fgi_free(pack.data);
    fgt_ok(fg_pack_rebuild(path_of("small.pack"), fgt_path(folder, "a.pack"), NULL, &err));
    assert_int_equal(fgt_count_entries(folder), files + 1);
}

/* One file of a set: it fits in its set again. */
static void rebuilds_a_file_of_a_set(void **state)
{
    fg_error err = {0};
    char folder[256];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    fgt_ok(pack_made_write(fgt_path(folder, "a.pack"),
                           &(fg_pack_writer_options){.shard_bytes = 20000}, 40, &err));
    const char *path = fgt_path(folder, "a-00001.pack");
    bytes pack = load(path);
    pack.data[100] ^= 1;
    fgt_write(path, pack.data, pack.size);
    fgt_ok(fg_pack_rebuild(path, path, NULL, &err));
    pack_made_check_all(folder, 40);
    pack.data[pack.size - 1] ^= 1; /* both pages */
    fgt_write(path, pack.data, pack.size);
    assert_int_equal(fg_pack_rebuild(path, path, NULL, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/a-00001.pack: byte 0: the header and the footer are damaged, "
                                "and the file belongs to a set: create the pack again");
    assert_int_equal(fg_pack_rebuild(fgt_path(folder, "no.pack"), path, NULL, &err), FG_ENOTFOUND);
    fgi_free(pack.data);
}

/* What is damaged in a pack of 6 records of two variants: pages, sections, headers of records. */
enum { HEADER = 1, FOOTER = 2, CLASSES = 4, FIELDS = 8, METADATA = 16, OPEN_END = 32, NEWER = 64 };
static const struct {
    int parts, heads; /* a bit for each */
    int64_t records, bad_records, bad_others, variants, classes, fields;
    const char *metadata;
} rebuilds[] = {
    {0, 0, 6, 0, 0, 2, 2, 1, "{\"mean\": [0.5]}"},
    {HEADER, 0, 6, 0, 0, 2, 2, 1, "{\"mean\": [0.5]}"},
    {FOOTER, 1 << 5, 6, 1, 0, 2, 2, 1, "{\"mean\": [0.5]}"},
    {HEADER | FOOTER, 0, 6, 0, 1, 1, 0, 0, ""},
    {HEADER | FOOTER, 1, 6, 1, 1, 1, 0, 0, ""},
    {HEADER | FOOTER, 1 << 5, 5, 0, 1, 1, 0, 0, ""},
    {CLASSES, 3, 6, 2, 1, 2, 0, 1, "{\"mean\": [0.5]}"},
    {FIELDS, 3 << 4, 6, 2, 1, 2, 2, 0, "{\"mean\": [0.5]}"},
    {METADATA, 1 << 3, 6, 1, 1, 2, 2, 1, ""},
    {CLASSES | FIELDS | METADATA, 0, 6, 0, 3, 2, 0, 0, ""},
    {OPEN_END, 0, 6, 0, 0, 2, 2, 1, "{\"mean\": [0.5]}"},
    {OPEN_END, 1 << 5, 6, 1, 0, 2, 2, 1, "{\"mean\": [0.5]}"}, /* the variant that is missing */
    {OPEN_END, 3 << 4, 4, 0, 0, 2, 2, 1, "{\"mean\": [0.5]}"},
    {NEWER, 0, 6, 0, 0, 2, 2, 1, "{\"mean\": [0.5]}"},
};

static bytes pack_of_variants(void)
{
    static const char *const classes[2] = {"cat", "dog"};
    static const fg_field field = {"x", {.dtype = FG_U8, .rank = 1, .dim = {3}}};
    fg_error err = {0};
    fgt_ok(pack_made_write(path_of("parts.pack"),
                           &(fg_pack_writer_options){.class_names = classes,
                                                     .class_count = 2,
                                                     .fields = &field,
                                                     .field_count = 1,
                                                     .variant_count = 2,
                                                     .replace = true},
                           6, &err));
    return load(path_of("parts.pack"));
}

/* Changes a byte of each part. Each head ends before the bytes of its record. */
static void damage(const bytes *pack, int parts, int heads)
{
    static const int kinds[] = {FGI_PACK_CLASSES, FGI_PACK_FIELDS, FGI_PACK_METADATA};
    fgi_pack_page page;
    memcpy(&page, pack->data, sizeof page);
    for (uint32_t i = 0; i < page.section_count; i++)
        for (int k = 0; k < 3; k++)
            if (page.sections[i].kind == (uint32_t)kinds[k] && (parts & CLASSES << k) != 0)
                pack->data[page.sections[i].offset] ^= 1;
    for (size_t at = FGI_PACK_PAGE; at < page.records_end; at += FGI_PACK_HEAD_ALIGN) {
        const fgi_pack_head *head = fgi_pack_head_at(pack->data, pack->size, at);
        if (head != NULL && (heads >> head->number & 1) != 0)
            pack->data[at + 20] ^= 1;
    }
    page.is_finished = (parts & OPEN_END) == 0;
    page.crc = fgi_pack_page_crc(&page);
    memcpy(pack->data, &page, sizeof page);
    memcpy(pack->data + pack->size - sizeof page, &page, sizeof page);
    pack->data[100] ^= (parts & HEADER) != 0;
    pack->data[8] ^= (parts & NEWER) != 0 ? 2 : 0; /* but the CRC is not that of a newer version */
    pack->data[pack->size - 1] ^= (parts & FOOTER) != 0;
}

/* A second time, nothing is damaged, and what was lost remains so. */
static void check_rebuilt(size_t row)
{
    fg_error err = {0};
    fg_pack *rebuilt = NULL;
    fg_pack_report report;
    for (int again = 0; again < 2; again++) {
        fgt_ok(fg_pack_rebuild(path_of("parts.pack"), path_of("parts.pack"), &report, &err));
        assert_int_equal(report.records, rebuilds[row].records);
        assert_int_equal(report.bad_records, again ? 0 : rebuilds[row].bad_records);
        assert_int_equal(report.bad_others, again ? 0 : rebuilds[row].bad_others);
    }
    fgt_ok(fg_pack_open(path_of("parts.pack"), NULL, &rebuilt, &err));
    const fg_pack_info *info = fg_pack_info_of(rebuilt);
    assert_int_equal(info->variant_count, rebuilds[row].variants);
    assert_int_equal(info->class_count, rebuilds[row].classes);
    assert_int_equal(info->field_count, rebuilds[row].fields);
    assert_string_equal(info->metadata, rebuilds[row].metadata);
    fgt_ok(fg_pack_verify(rebuilt, NULL, NULL, &report, &err));
    assert_int_equal(report.lost_records, rebuilds[row].bad_records);
    for (int64_t i = 0; i < rebuilds[row].records; i++)
        if ((rebuilds[row].heads >> i & 1) == 0)
            pack_made_check(rebuilt, i);
    fg_pack_close(rebuilt);
}

static void what_is_intact_is_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rebuilds / sizeof rebuilds[0]; i++) {
        bytes pack = pack_of_variants();
        damage(&pack, rebuilds[i].parts, rebuilds[i].heads);
        write_pack("parts.pack", &pack);
        check_rebuilt(i);
        fgi_free(pack.data);
    }
}

/* Whose rules are not known, or of which nothing is left. */
static void some_packs_cannot_be_rebuilt(void **state)
{
    fg_error err = {0};
    fg_pack_report report = {.records = 9};
    (void)state;
    const char *path = path_of("parts.pack");
    bytes pack = pack_of_variants(), newer = pack_of_variants();
    fgi_pack_page *page = (void *)newer.data;
    page->major = 2;
    page->crc = fgi_pack_page_crc(page);
    write_pack("parts.pack", &newer);
    assert_int_equal(fg_pack_rebuild(path, path, &report, &err), FG_EUNSUPPORTED);
    fgt_message_is(err.message,
                   "~/parts.pack: byte 8: pack version 2.0 was written by a newer version of "
                   "Fulgurite, this one reads up to 1: upgrade, or create the pack again");
    assert_int_equal(report.records, 0);
    assert_int_equal(report.size_bytes, newer.size);
    damage(&pack, HEADER | FOOTER, 63);
    write_pack("parts.pack", &pack);
    assert_int_equal(fg_pack_rebuild(path, path, NULL, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/parts.pack: byte 4096: no record is left");
    assert_int_equal(fg_pack_rebuild(path, NULL, &report, &err), FG_EINVAL);
    fgt_message_is(err.message, "fg_pack_rebuild: path or out_path is NULL");
    assert_int_equal(report.size_bytes, 0);
    fgi_free(pack.data);
    fgi_free(newer.data);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(verify_finds_each_byte),
    cmocka_unit_test(a_page_that_changes_is_found),
    cmocka_unit_test(reading_finds_each_byte),
    cmocka_unit_test(records_are_verified_as_asked),
    cmocka_unit_test(the_first_fault_is_the_error),
    cmocka_unit_test(entries_must_be_inside),
    cmocka_unit_test(truncated_at_each_length),
    cmocka_unit_test(other_versions_and_features),
    cmocka_unit_test(numbers_of_a_header_must_agree),
    cmocka_unit_test(torn_pages),
    cmocka_unit_test(shrinks_while_open),
    cmocka_unit_test(files_of_a_set_missing_or_mixed_up),
    cmocka_unit_test(headers_of_a_set_must_agree),
    cmocka_unit_test(a_file_of_a_set_may_be_a_pointer),
    cmocka_unit_test(rebuilds_what_is_not_in_records),
    cmocka_unit_test(rebuilds_from_records_alone),
    cmocka_unit_test(a_damaged_record_is_lost),
    cmocka_unit_test(a_rebuilt_file_removes_no_other),
    cmocka_unit_test(rebuilds_a_file_of_a_set),
    cmocka_unit_test(what_is_intact_is_kept),
    cmocka_unit_test(some_packs_cannot_be_rebuilt),
};
FGT_MAIN(tests)
