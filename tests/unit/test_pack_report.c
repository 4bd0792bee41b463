/* test_pack_report.c - what is reported about packs: contents, faults, repair.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/pack_export.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "golden.h"
#include "input/json_file.h"
#include "pack_made.h"
#include "pack_read.h"

static const fg_field fields[] = {
    {"image", {.dtype = FG_U8, .rank = 3, .dim = {28, 28, 1}}},
    {"label", {.dtype = FG_S32}},
};

/* What a function of pack_read.h appends, as a string that the caller frees; NULL after a failure.
 */
static fg_status take(fg_status status, fgi_buf *text, char **out)
{
    *out = status == FG_OK ? fgi_buf_take(text) : NULL;
    fgi_buf_fini(text);
    return status;
}

static fg_status info(const char *path, bool as_json, char **out, fg_error *err)
{
    fgi_buf text = {0};
    return take(pack_info(path, as_json, &text, err), &text, out);
}

static fg_status verify(const char *path, char **out, bool *out_is_damaged, fg_error *err)
{
    fgi_buf text = {0};
    return take(pack_verify(path, &text, out_is_damaged, err), &text, out);
}

static fg_status rebuild(const char *path, const char *out_path, char **out, fg_error *err)
{
    fgi_buf text = {0};
    return take(pack_rebuild(path, out_path, &text, err), &text, out);
}

static fg_status exported(const char *path, const char *folder,
                          const fg_pack_export_options *options, char **out, fg_error *err)
{
    fgi_buf text = {0};
    return take(pack_export(path, folder, options, &text, err), &text, out);
}

/* A pack of made records with three classes, one of them not UTF-8. */
static const char *made_pack(const char *name, int64_t count)
{
    static const char *const classes[] = {"cat", "\xc3\xa4pfel", "raw\xff\x01"};
    const fg_pack_writer_options options = {.variant_count = count % 2 == 0 ? 2 : 1,
                                            .fields = fields,
                                            .field_count = 2,
                                            .class_names = classes,
                                            .class_count = 3,
                                            .replace = true};
    fg_error err = {0};
    const char *path = fgt_path(fgt_temp_folder(), name);
    fgt_ok(pack_made_write(path, &options, count, &err));
    return path;
}

static void the_contents_are_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL, *json = NULL;
    const char *path = made_pack("made.pack", 40);
    fgt_ok(info(path, false, &text, &err));
    fgt_golden("pack/info.txt", text);
    fgt_ok(info(path, true, &json, &err));
    json_t *object = fgi_json_load(json, strlen(json), 0, NULL);
    assert_non_null(object);
    json_t *files = json_object_get(object, "files");
    assert_string_equal(json_string_value(json_array_get(files, 0)), path);
    (void)json_array_set_new(files, 0, json_string("made.pack"));
    fgi_buf printed = {0};
    assert_true(fgi_json_write(object, JSON_INDENT(2), &printed));
    char *all = fgi_buf_take(&printed);
    fgt_golden("pack/info.json", all);
    fgi_free(all);
    json_decref(object);
    fgi_free(json);
    fgi_free(text);
}

static int lines_of(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

/* Class i of `count` has i records. The report, to be freed. */
static char *report_of_classes(int count)
{
    static char names[25][16];
    const char *pointers[25];
    for (int i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "class-%02d", i);
        pointers[i] = names[i];
    }
    fg_error err = {0};
    fg_pack_writer *writer = NULL;
    char *text = NULL;
    const char *path = fgt_path(fgt_temp_folder(), "many.pack");
    fgt_ok(fg_pack_writer_create(
        path, &(fg_pack_writer_options){.class_names = pointers, .class_count = count}, &writer,
        NULL, &err));
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            fgt_ok(fg_pack_writer_add(
                writer, &(fg_pack_entry){.label = i, .split = k == 0 ? FG_VAL : FG_TRAIN}, "x", 1,
                &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    fgt_ok(info(path, false, &text, &err));
    return text;
}

/* The largest are first, the smallest last, 5 are left out. */
static void of_many_classes_the_largest_and_smallest_are_listed(void **state)
{
    (void)state;
    char *text = report_of_classes(25);
    fgt_golden("pack/info-many.txt", text);
    fgi_free(text);
    text = report_of_classes(20); /* all, in their order */
    const char *first = strstr(text, "\n  class-00 ");
    assert_non_null(first);
    assert_non_null(strstr(first, "\n  class-19 "));
    assert_int_equal(lines_of(first + 1), 20);
    fgi_free(text);
    text = report_of_classes(21);
    first = strstr(text, "\n  class-20 ");
    assert_non_null(first);
    assert_non_null(strstr(first, "\n  class-11 "));
    assert_non_null(strstr(first, "\n  ... 1 more; --json lists all ...\n  class-09 "));
    assert_int_equal(lines_of(first + 1), 21);
    fgi_free(text);
}

/* Names of 25 classes, of which those with the ninth, tenth, eleventh most and the tenth fewest
 * records are the longest; several labels; records without one, in groups and of each part; and
 * metadata that are no object. */
static void unusual_contents(void **state)
{
    static const int longer[25] = {[4] = 6, [14] = 9, [15] = 4, [9] = 8, [10] = 12};
    static const int32_t labels[] = {3, 3, 24};
    static char names[25][40], metadata[200];
    const char *pointers[25];
    fg_error err = {0};
    fg_pack_writer *writer = NULL;
    char *text = NULL;
    const char *path = fgt_path(fgt_temp_folder(), "unusual.pack");
    (void)state;
    for (int i = 0; i < 25; i++) {
        (void)snprintf(names[i], sizeof names[i], "c%02d%.*s", i, longer[i], "------------");
        pointers[i] = names[i];
    }
    memset(metadata, 'm', sizeof metadata - 1);
    fgt_ok(fg_pack_writer_create(
        path, &(fg_pack_writer_options){.class_names = pointers, .class_count = 25}, &writer, NULL,
        &err));
    for (int i = 0; i < 25; i++)
        for (int k = 0; k < i; k++)
            fgt_ok(fg_pack_writer_add(
                writer, &(fg_pack_entry){.label = i, .split = (uint8_t)(i % 4), .group = k == 3},
                "xyz", 1 + (size_t)k % 3, &err));
    fgt_ok(fg_pack_writer_add(
        writer, &(fg_pack_entry){.label = FG_PACK_NO_LABEL, .labels = labels, .label_count = 3},
        "x", 1, &err));
    fgt_ok(fg_pack_writer_add(writer, &(fg_pack_entry){.label = FG_PACK_NO_LABEL}, "x", 1, &err));
    fgt_ok(fg_pack_writer_finish(writer, metadata, &err));
    fg_pack_writer_destroy(writer);
    fgt_ok(info(path, false, &text, &err));
    char *uuid = strstr(text, "uuid "), *end = strchr(uuid, '\n');
    memmove(uuid, end + 1, strlen(end)); /* the rest */
    fgt_golden("pack/info-unusual.txt", text);
    fgi_free(text);
    fgt_ok(info(path, true, &text, &err));
    assert_non_null(strstr(text, "\"metadata\":\"mmmm"));
    assert_non_null(strstr(text, "\"unlabeled\":1,"));
    fgi_free(text);
}

static void nothing_is_reported_about_nothing(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = (char *)"";
    fg_pack_writer *writer = NULL;
    assert_int_equal(info("no such.pack", false, &text, &err), FG_ENOTFOUND);
    assert_null(text);
    const char *path = fgt_path(fgt_temp_folder(), "empty.pack");
    fgt_ok(fg_pack_writer_create(path, NULL, &writer, NULL, &err));
    fgt_ok(fg_pack_writer_finish(writer, "[1]", &err));
    fg_pack_writer_destroy(writer);
    fgt_ok(info(path, false, &text, &err));
    assert_non_null(strstr(text, "records   0\ncodecs    none\nsplits    none\nmetadata  [1]\n"));
    fgi_free(text);
    fgt_ok(fg_pack_writer_create(path, &(fg_pack_writer_options){.replace = true}, &writer, NULL,
                                 &err));
    fgt_ok(fg_pack_writer_finish(writer, "{\"mean\":[0.123456789,1],\"note\":\"a\"}", &err));
    fg_pack_writer_destroy(writer);
    fgt_ok(info(path, false, &text, &err));
    assert_non_null(strstr(text, "metadata\n  mean: [0.123457,1]\n  note: \"a\"\n"));
    fgi_free(text);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void flip(const char *path, uint64_t offset)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
    assert_int_not_equal(fputc(byte ^ 1, file), EOF);
    assert_int_equal(fclose(file), 0);
}

static uint64_t offset_of(const char *path, int64_t record)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    fg_pack_entry entry;
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    fgt_ok(fg_pack_entry_at(pack, record, &entry, &err));
    fg_pack_close(pack);
    return entry.offset_bytes;
}

/* A name may have any bytes: none of them reaches the terminal, and a fault remains one line. */
static void names_of_damaged_records_are_escaped(void **state)
{
    (void)state;
    fg_error err = {0};
    bool is_damaged = false;
    char *text = NULL;
    fg_pack_writer *writer = NULL;
    const char *path = fgt_path(fgt_temp_folder(), "n.pack");
    const fg_pack_entry entry = {.name = "a\x1b[31mred\n.jpg"};
    fgt_ok(fg_pack_writer_create(path, NULL, &writer, NULL, &err));
    assert_int_equal(fg_pack_writer_add(writer, &entry, "x", (size_t)1 << 32, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "record 'a\\x1b[31mred\\n.jpg' has "));
    fgt_ok(fg_pack_writer_add(writer, &entry, "x", 1, &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    fg_pack *pack = NULL;
    fg_pack_entry other;
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    assert_int_equal(fg_pack_entry_at(pack, 2, &other, &err), FG_EINVAL);
    assert_true(fgi_ends_with(err.message, "n.pack' has 1 record"));
    fg_pack_close(pack);
    flip(path, offset_of(path, 0));
    fgt_ok(verify(path, &text, &is_damaged, &err));
    assert_true(is_damaged);
    assert_non_null(strstr(text, "record 0 ('a\\x1b[31mred\\n.jpg') is damaged"));
    assert_null(strchr(text, '\x1b'));
    fgi_free(text);
}

static void damaged_records_are_left_out_of_an_export(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL;
    fg_pack_writer *writer = NULL;
    const fg_pack_export_options options = {.replace = true, .skip_damaged = true};
    const char *path = fgt_path(fgt_temp_folder(), "two.pack");
    fgt_ok(fg_pack_writer_create(path, NULL, &writer, NULL, &err));
    fgt_ok(fg_pack_writer_add(writer, &(fg_pack_entry){.name = "a.jpg"}, "x", 1, &err));
    fgt_ok(fg_pack_writer_add(writer, &(fg_pack_entry){.name = "b.jpg"}, "y", 1, &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    for (int damaged = 1; damaged <= 2; damaged++) {
        char expected[600];
        const char *folder = fgt_path(fgt_temp_folder(), "files");
        (void)snprintf(expected, sizeof expected, "%s\t%s\n%d damaged record%s skipped\n", folder,
                       damaged == 1 ? "1 file\t1 B" : "0 files\t0 B", damaged,
                       damaged == 1 ? " was" : "s were");
        flip(path, offset_of(path, damaged - 1));
        fgt_ok(exported(path, folder, &options, &text, &err));
        assert_string_equal(text, expected);
        fgi_free(text);
    }
}

static void each_fault_is_a_line_with_its_record(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL;
    bool is_damaged = true;
    const char *path = made_pack("faults.pack", 20);
    fgt_ok(verify(path, &text, &is_damaged, &err));
    assert_false(is_damaged);
    assert_non_null(strstr(text, "20 records, "));
    assert_non_null(strstr(text, ": no faults\n"));
    fgi_free(text);

    flip(path, offset_of(path, 8));
    flip(path, offset_of(path, 13));
    fgt_ok(verify(path, &text, &is_damaged, &err));
    assert_true(is_damaged);
    assert_non_null(strstr(text, "cats/8.jpg"));
    assert_non_null(strstr(text, "with space/13.jpg"));
    assert_non_null(strstr(text, "2 of 20 records are damaged, and 0 ranges outside records"));
    char command[4200];
    (void)snprintf(command, sizeof command, "\n  fulgurite pack rebuild '%s'\n", path);
    assert_non_null(strstr(text, command));
    assert_int_equal(lines_of(text), 4); /* two faults, the sum, the command */
    fgi_free(text);
}

/* One command for each of the damaged files, in their order. */
static void each_damaged_file_is_rebuilt(void **state)
{
    fg_error err = {0};
    char *text = NULL, expected[2048];
    bool is_damaged = false;
    const char *folder = fgt_temp_folder();
    const fg_pack_writer_options options = {.shard_bytes = 1, .variant_count = 1};
    (void)state;
    fgt_ok(pack_made_write(fgt_path(folder, "many.pack"), &options, 4, &err));
    for (int i = 0; i < 4; i += 2) {
        char name[32];
        (void)snprintf(name, sizeof name, "many-0000%d.pack", i);
        flip(fgt_path(folder, name), 4096);
    }
    fgt_ok(verify(fgt_path(folder, "many-00000.pack"), &text, &is_damaged, &err));
    assert_true(is_damaged);
    (void)snprintf(expected, sizeof expected,
                   "\n  fulgurite pack rebuild '%s/many-00000.pack'\n"
                   "  fulgurite pack rebuild '%s/many-00002.pack'\n",
                   folder, folder);
    if (strstr(text, expected) == NULL)
        fail_msg("%s", text);
    fgi_free(text);
}

static void a_damaged_pack_is_rebuilt(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL;
    bool is_damaged;
    const char *path = made_pack("broken.pack", 20);
    const char *fixed = fgt_path(fgt_temp_folder(), "fixed.pack");
    flip(path, 100); /* the header */
    flip(path, offset_of(made_pack("sound.pack", 20), 8));
    fgt_ok(verify(path, &text, &is_damaged, &err));
    assert_true(is_damaged);
    assert_non_null(strstr(text, path));
    fgi_free(text);
    fgt_ok(rebuild(path, fixed, &text, &err));
    assert_non_null(strstr(text, "fixed.pack: 20 records, of which 1 was lost and is empty now"));
    fgi_free(text);
    fgt_ok(info(fixed, false, &text, &err));
    assert_non_null(strstr(text, "\nlost      1 record"));
    fgi_free(text);
    fgt_ok(verify(fixed, &text, &is_damaged, &err));
    assert_false(is_damaged);
    assert_non_null(strstr(text, ": no faults\n1 record was lost before the pack was rebuilt"));
    fgi_free(text);
    fgt_ok(rebuild(path, NULL, &text, &err)); /* in place */
    fgi_free(text);
    fgt_ok(info(path, false, &text, &err));
    fgi_free(text);
    assert_int_equal(rebuild("no such.pack", NULL, &text, &err), FG_ENOTFOUND);
    assert_null(text);
}

/* ---- whole texts ----------------------------------------------------------------------------- */

/* Puts the text with the names of the files for their paths; frees it. */
static void put_text(fgi_buf *out, const char *what, char *text, const char *path,
                     const char *fixed)
{
    fgi_buf_printf(out, "# %s\n", what);
    for (const char *at = text; *at != '\0';)
        if (strncmp(at, path, strlen(path)) == 0) {
            fgi_buf_puts(out, "try.pack");
            at += strlen(path);
        } else if (strncmp(at, fixed, strlen(fixed)) == 0) {
            fgi_buf_puts(out, "fixed.pack");
            at += strlen(fixed);
        } else {
            fgi_buf_putc(out, *at++);
        }
    fgi_free(text);
}

static const struct {
    int64_t count, flipped[3]; /* -1: none */
    int64_t section;           /* offset of a byte outside records; 0: none */
} damages[] = {
    {1, {-1}, 0},   {2, {-1}, 0},      {2, {1, -1}, 0},  {5, {4, -1}, 0},  {5, {1, 2, -1}, 0},
    {5, {-1}, 100}, {5, {2, -1}, 100}, {5, {-1}, 14500}, {5, {-1}, 14900}, {5, {-1}, 15500},
};

static void texts_about_faults(void **state)
{
    (void)state;
    fgi_buf out = {0};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        fg_error err = {0};
        char *text = NULL, path[600], fixed[600];
        bool is_damaged;
        (void)snprintf(path, sizeof path, "%s", made_pack("try.pack", damages[i].count));
        (void)snprintf(fixed, sizeof fixed, "%s", fgt_path(fgt_temp_folder(), "fixed.pack"));
        for (int k = 0; damages[i].flipped[k] >= 0; k++)
            flip(path, offset_of(path, damages[i].flipped[k]));
        if (damages[i].section > 0)
            flip(path, (uint64_t)damages[i].section);
        fgt_ok(verify(path, &text, &is_damaged, &err));
        put_text(&out, is_damaged ? "damaged" : "sound", text, path, fixed);
        (void)remove(fixed);
        fgt_ok(rebuild(path, fixed, &text, &err));
        put_text(&out, "rebuilt", text, path, fixed);
        fgt_ok(verify(fixed, &text, &is_damaged, &err));
        put_text(&out, is_damaged ? "damaged" : "sound", text, path, fixed);
        fgt_ok(info(fixed, false, &text, &err));
        put_text(&out, "contents", text, path, fixed);
    }
    assert_non_null(out.data);
    fgt_golden("pack/faults.txt", out.data);
    fgi_buf_fini(&out);
}

static void a_truncated_pack_is_damaged(void **state)
{
    (void)state;
    static const char header[4096] = "FGPACK\r\n";
    fg_error err = {0};
    char *text = NULL;
    bool is_damaged = false;
    const char *path = fgt_path(fgt_temp_folder(), "short.pack");
    fgt_write(path, header, sizeof header);
    fgt_ok(verify(path, &text, &is_damaged, &err));
    assert_true(is_damaged);
    assert_non_null(strstr(text, "short.pack"));
    assert_non_null(strstr(text, "fulgurite pack rebuild"));
    fgi_free(text);
    assert_int_equal(verify("no such.pack", &text, &is_damaged, &err), FG_ENOTFOUND);
    assert_false(is_damaged);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static fg_status report_twice(void *self, fg_error *err)
{
    char *text = NULL, *json = NULL, *faults = NULL;
    bool is_damaged;
    fg_status status = info(self, false, &text, err);
    if (status == FG_OK)
        status = info(self, true, &json, err);
    if (status == FG_OK)
        status = verify(self, &faults, &is_damaged, err);
    fgi_free(faults);
    fgi_free(json);
    fgi_free(text);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const char *path = made_pack("memory.pack", 10);
    flip(path, offset_of(path, 8));
    fgt_fault_loop(report_twice, (void *)(uintptr_t)path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_contents_are_reported),
    cmocka_unit_test(of_many_classes_the_largest_and_smallest_are_listed),
    cmocka_unit_test(names_of_damaged_records_are_escaped),
    cmocka_unit_test(unusual_contents),
    cmocka_unit_test(each_damaged_file_is_rebuilt),
    cmocka_unit_test(nothing_is_reported_about_nothing),
    cmocka_unit_test(each_fault_is_a_line_with_its_record),
    cmocka_unit_test(a_damaged_pack_is_rebuilt),
    cmocka_unit_test(damaged_records_are_left_out_of_an_export),
    cmocka_unit_test(texts_about_faults),
    cmocka_unit_test(a_truncated_pack_is_damaged),
    cmocka_unit_test(every_allocation_may_fail),
};
FGT_MAIN(tests)
