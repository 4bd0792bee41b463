/* test_pack_python.c - docs/pack_reader.py, written from docs/pack-format.md alone, reads the same
 * records as the library.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/buf.h"
#include "pack_made.h"

enum { COUNT = 40, NO_PYTHON = 127 << 8, SKIPPED = 77 };

/* The line that the reader prints for a record, from what pack_made gives. */
static void expect(int64_t number, fgi_buf *out)
{
    static unsigned char data[PACK_MADE_LARGEST];
    fg_pack_entry e;
    size_t size;
    pack_made(number, &e, data, &size);
    fgi_buf_printf(out, "%" PRId64 " ", number);
    for (const char *at = e.name != NULL ? e.name : ""; *at != 0; at++)
        fgi_buf_printf(out, "%02x", (unsigned)(unsigned char)*at);
    fgi_buf_printf(out, " %d %" PRIu32 " %" PRIu32 " %" PRId32 " ", (int)e.codec, e.width, e.height,
                   e.label);
    for (uint32_t i = 0; i < e.label_count; i++)
        fgi_buf_printf(out, "%s%" PRId32, i > 0 ? "," : "", e.labels[i]);
    fgi_buf_printf(out, " %d %d %" PRId64 " %zu ", (int)e.split, (int)e.flags, e.group, size);
}

/* Appends what the reader prints about a file. */
static void run_reader(const char *path, fgi_buf *out)
{
    char command[700], part[4096];
    (void)snprintf(command, sizeof command, "python3 '%s/docs/pack_reader.py' '%s' 2>&1",
                   FGT_SOURCE_DIR, path);
    FILE *reader = popen(command, "r");
    assert_non_null(reader);
    for (size_t got; (got = fread(part, 1, sizeof part, reader)) > 0;)
        fgi_buf_add(out, part, got);
    const int status = pclose(reader);
    if (status == NO_PYTHON)
        exit(SKIPPED);
    if (status != 0)
        fail_msg("%s: %s", command, out->data);
}

/* Compares line by line; each line ends in the CRC, which the C reader verifies. */
static void compare(fg_pack *pack, const char *text)
{
    for (int64_t i = 0; i < COUNT; i++) {
        fg_error err = {0};
        fg_pack_entry entry;
        fgi_buf want = {0};
        expect(i, &want);
        fgt_ok(fg_pack_entry_at(pack, i, &entry, &err));
        fgi_buf_printf(&want, "%" PRIu32 "\n", entry.crc);
        if (strncmp(text, want.data, want.size) != 0)
            fail_msg("expected '%s', got '%.200s'", want.data, text);
        text += want.size;
        fgi_buf_fini(&want);
        pack_made_check(pack, i);
    }
    assert_string_equal(text, "2 cat| a dog\\xff {\"mean\": [0.5]}\n");
}

static void python_reads_the_same(void **state)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    fgi_buf text = {0};
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    const char *const classes[2] = {"cat", " a dog\xff"};
    const fg_pack_writer_options options = {
        .class_names = classes, .class_count = 2, .variant_count = 2};
    fgt_ok(pack_made_write(path, &options, COUNT, &err));
    run_reader(path, &text);
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    compare(pack, text.data);
    fg_pack_close(pack);
    fgi_buf_fini(&text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(python_reads_the_same),
};
FGT_MAIN(tests)
