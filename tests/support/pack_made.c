/* pack_made.c - see pack_made.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "pack_made.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "fgt.h"

/* Most tests end processes, not machines: what was written need not be on the disk. */
__attribute__((weak)) int fsync(int fd) { return fcntl(fd, F_GETFD) < 0 ? -1 : 0; }

static const char *const folders[] = {"cats", "with space", "\xc3\xa4\xe2\x82\xac", "raw\xff\x01"};

void pack_made(int64_t number, fg_pack_entry *out_entry, unsigned char *out_data, size_t *out_size)
{
    static char name[64];
    static const int32_t labels[3] = {7, -3, 1 << 30};
    const int n = (int)number;
    const size_t size = n % 5 == 0 ? (size_t)(n % 3) : (size_t)(n * 977 % (PACK_MADE_LARGEST + 1));
    (void)snprintf(name, sizeof name, "%s/%d.jpg", folders[n % 4], n);
    *out_entry = (fg_pack_entry){.name = n % 11 == 10 ? NULL : name,
                                 .codec = (fg_pack_codec)(n % 7),
                                 .width = (uint32_t)n * 70000U,
                                 .height = (uint32_t)n,
                                 .label = n % 3 - 1,
                                 .labels = n % 4 == 2 ? labels : NULL,
                                 .label_count = n % 4 == 2 ? (uint32_t)(n % 8) / 2 : 0,
                                 .split = n % 6 == 0 ? FG_PACK_NO_SPLIT : (uint8_t)(n % 3),
                                 .flags = (uint8_t)(n % 100),
                                 .group = n % 9 == 4 ? -number * 1000000000000 : 0};
    for (size_t i = 0; i < size; i++)
        out_data[i] = (unsigned char)((i * 31 + (size_t)n * 17) * 2654435761U >> 13);
    *out_size = size;
}

fg_status pack_made_add(fg_pack_writer *writer, int64_t count, fg_error *err)
{
    static unsigned char data[PACK_MADE_LARGEST];
    fg_status status = FG_OK;
    for (int64_t i = fg_pack_writer_count(writer); status == FG_OK && i < count; i++) {
        fg_pack_entry entry;
        size_t size;
        pack_made(i, &entry, data, &size);
        status = fg_pack_writer_add(writer, &entry, data, size, err);
    }
    return status;
}

fg_status pack_made_write(const char *path, const fg_pack_writer_options *options, int64_t count,
                          fg_error *err)
{
    fg_pack_writer *writer = NULL;
    fg_status status = fg_pack_writer_create(path, options, &writer, NULL, err);
    if (status == FG_OK)
        status = pack_made_add(writer, count, err);
    if (status == FG_OK)
        status = fg_pack_writer_finish(writer, "{\"mean\": [0.5]}", err);
    fg_pack_writer_destroy(writer);
    return status;
}

static void check_entry(const fg_pack_entry *got, const fg_pack_entry *want, size_t size)
{
    assert_string_equal(got->name, want->name != NULL ? want->name : "");
    assert_int_equal(got->codec, want->codec);
    assert_int_equal(got->width, want->width);
    assert_int_equal(got->height, want->height);
    assert_int_equal(got->label, want->label);
    assert_int_equal(got->label_count, want->label_count);
    for (uint32_t i = 0; i < want->label_count; i++)
        assert_int_equal(got->labels[i], want->labels[i]);
    assert_int_equal(got->split, want->split);
    assert_int_equal(got->flags, want->flags);
    assert_true(got->group == want->group);
    assert_int_equal(got->size_bytes, size);
    const bool is_wide = want->codec >= FG_PACK_RAW_RGB;
    assert_int_equal(got->offset_bytes % (is_wide ? 64 : 16), 0);
}

void pack_made_check(fg_pack *pack, int64_t number)
{
    fg_error err = {0};
    unsigned char want[PACK_MADE_LARGEST], got[PACK_MADE_LARGEST];
    fg_pack_entry made, entry;
    size_t size, mapped_size, read_size;
    const void *mapped;
    pack_made(number, &made, want, &size);
    fgt_ok(fg_pack_entry_at(pack, number, &entry, &err));
    check_entry(&entry, &made, size);
    fgt_ok(fg_pack_record(pack, number, &mapped, &mapped_size, &err));
    read_size = sizeof got;
    fgt_ok(fg_pack_read(pack, number, got, &read_size, &err));
    assert_int_equal(mapped_size, size);
    assert_int_equal(read_size, size);
    assert_memory_equal(mapped, want, size);
    assert_memory_equal(got, want, size);
}

void pack_made_check_all(const char *path, int64_t count)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    fg_pack_report report;
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    assert_int_equal(fg_pack_count(pack), count);
    fgt_ok(fg_pack_verify(pack, NULL, NULL, &report, &err));
    assert_int_equal(report.records, count);
    for (int64_t i = 0; i < count; i++)
        pack_made_check(pack, i);
    fg_pack_close(pack);
}
