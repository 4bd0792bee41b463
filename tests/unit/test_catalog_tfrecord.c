/* TFRecord files: written by TensorFlow and by a writer without it (tests/golden/catalog), damaged
 * ones, and files that lack features.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "catalog_text.h"

#define GOLDEN FGT_SOURCE_DIR "/tests/golden/catalog/"

static fg_error err;

static const char expected[] =
    "a.jpg 2 [first image]\n"
    "b.jpg 0 []\n"
    "c.jpg 2 [\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08\\x09\\n\\x0b\\x0c\\x0d\\x0e\\x0f"
    "\\x10\\x11\\x12\\x13\\x14\\x15\\x16\\x17\\x18\\x19\\x1a\\x1b\\x1c\\x1d\\x1e\\x1f"
    " !\"#$%&']\n"
    "d.jpg [fourth]\n"
    "class dog\nclass -\nclass cat\n";

static void both_writers_give_the_same_samples(void **state)
{
    (void)state;
    fgt_catalog_is(GOLDEN "made.tfrecord", NULL, expected);
    fgt_catalog_is(GOLDEN "tensorflow.tfrecord", NULL, expected);
}

static void features_can_be_named(void **state)
{
    (void)state;
    fg_catalog *catalog = NULL;
    fg_catalog_item item;
    fg_catalog_bytes bytes = {0};
    const fg_catalog_options options = {.image_feature = "image/filename",
                                        .label_feature = "image/height",
                                        .text_feature = "none",
                                        .name_feature = "image/class/text"};
    fgt_ok(fg_catalog_open(GOLDEN "tensorflow.tfrecord", &options, &catalog, &err));
    assert_int_equal(fg_catalog_class_count(catalog), 8);
    assert_null(fg_catalog_class_name(catalog, 7));
    fgt_ok(fg_catalog_item_at(catalog, 2, &item, &err));
    assert_string_equal(item.name, "tensorflow.tfrecord:2"); /* "cat" is not unique */
    assert_int_equal(item.label, 7);
    fgt_ok(fg_catalog_read(catalog, 2, &bytes, &err));
    assert_int_equal(bytes.size, 5);
    assert_memory_equal(bytes.data, "c.jpg", 5);
    fg_catalog_bytes_fini(&bytes);
    fg_catalog_close(catalog);
    fgt_catalog_fails(
        GOLDEN "made.tfrecord", &(fg_catalog_options){.image_feature = "x"}, FG_ENOTFOUND,
        "'PATH': no record has the feature 'x' with an image\nset data.source_options to "
        "{image_feature: image, label_feature: label} (fulgurite pack "
        "--source='{image_feature: image, label_feature: label}')");
    fgt_catalog_fails(GOLDEN "made.tfrecord",
                      &(fg_catalog_options){.image_feature = "image/height"}, FG_EFORMAT,
                      "'PATH': byte 0: record 0: expected one value of bytes as the image");
}

static void long_names_are_refused(void **state)
{
    (void)state;
    fgt_catalog_fails(
        GOLDEN "made.tfrecord",
        &(fg_catalog_options){.image_feature = "image/filename", .name_feature = "image/encoded"},
        FG_EFORMAT, "'PATH': byte 313: record 2: a label or name of more than 4096 bytes");
}

static void texts_alone_are_class_names(void **state)
{
    (void)state;
    fg_catalog *catalog = NULL;
    fg_catalog_item item;
    fgt_ok(fg_catalog_open(GOLDEN "made.tfrecord", &(fg_catalog_options){.label_feature = "none"},
                           &catalog, &err));
    assert_int_equal(fg_catalog_class_count(catalog), 2);
    assert_string_equal(fg_catalog_class_name(catalog, 0), "cat");
    fgt_ok(fg_catalog_item_at(catalog, 1, &item, &err));
    assert_int_equal(item.label, 1);
    fgt_ok(fg_catalog_item_at(catalog, 3, &item, &err));
    assert_int_equal(item.label, -1);
    fg_catalog_close(catalog);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* The first two records. */
static size_t read_small(unsigned char *data, size_t capacity)
{
    char *all;
    size_t size, used = 0;
    fgt_ok(fgi_file_read(GOLDEN "made.tfrecord", 1 << 20, &all, &size, &err));
    for (int i = 0; i < 2; i++)
        used += 16 + (unsigned char)all[used];
    assert_true(used < capacity);
    memcpy(data, all, used);
    fgi_free(all);
    return used;
}

/* Whether the samples are `whole`; false with a message if one cannot be listed or read. */
static bool is_same(const char *path, const char *whole)
{
    fg_catalog *catalog = NULL;
    fgi_buf text = {0};
    err = (fg_error){0};
    const fg_catalog_options options = {.kind = "tfrecord"};
    fg_status status = fg_catalog_open(path, &options, &catalog, &err);
    if (status == FG_OK)
        status = fgt_catalog_write(catalog, &text, &err);
    if (status != FG_OK)
        assert_true(err.message[0] != '\0');
    else
        assert_string_equal(text.data, whole);
    fgi_buf_fini(&text);
    fg_catalog_close(catalog);
    return status == FG_OK;
}

static const char two[] = "a.jpg 2 [first image]\nb.jpg 0 []\nclass dog\nclass -\nclass cat\n";
static const char one[] = "a.jpg 2 [first image]\nclass -\nclass -\nclass cat\n";

static void every_flipped_byte_is_found(void **state)
{
    (void)state;
    unsigned char data[1024];
    const size_t size = read_small(data, sizeof(data));
    assert_true(is_same(fgt_memory_file(data, size), two));
    for (size_t i = 0; i < size; i++) {
        data[i] ^= 0x11;
        if (is_same(fgt_memory_file(data, size), two))
            fail_msg("a flip of byte %zu is not noticed", i);
        data[i] ^= 0x11;
    }
}

static void every_truncation_is_found(void **state)
{
    (void)state;
    unsigned char data[1024];
    const size_t size = read_small(data, sizeof(data)), first = 16 + (size_t)data[0];
    for (size_t i = 0; i < size; i++) {
        const bool is_whole = i == first; /* a file of one record */
        assert_int_equal(is_same(fgt_memory_file(data, i), one), is_whole);
        if (i > 0 && !is_whole)
            assert_non_null(strstr(err.message, "truncated"));
    }
}

static void checksums_are_named(void **state)
{
    (void)state;
    unsigned char data[1024];
    const size_t size = read_small(data, sizeof(data));
    const char *path = fgt_path(fgt_temp_folder(), "c.tfrecord");
    fg_catalog *catalog = NULL;
    fg_catalog_bytes bytes = {0};
    data[size - 1] ^= 1;
    fgt_write(path, data, size);
    fgt_ok(fg_catalog_open(path, NULL, &catalog, &err));
    fgt_ok(fg_catalog_read(catalog, 0, &bytes, &err));
    assert_int_equal(fg_catalog_read(catalog, 1, &bytes, &err), FG_EFORMAT);
    fgt_message_is(err.message, "'~/c.tfrecord': byte 174: the checksum of the record does not "
                                "match: 0x3dd26e20, but the data has 0x3cd26e20");
    fgt_ok(fg_catalog_read(catalog, 0, &bytes, &err)); /* others can be read */
    fg_catalog_bytes_fini(&bytes);
    fg_catalog_close(catalog);
    fgt_write(path, "\x1f\x8b\x08\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    fgt_catalog_fails(path, NULL, FG_EUNSUPPORTED,
                      "'PATH' is compressed with gzip, but samples are read at their "
                      "offset\ndecompress the file first: gzip -dc 'PATH' > FILE");
    fgt_write(path, "something else of some length", 29);
    fgt_catalog_fails(path, NULL, FG_EFORMAT,
                      "'PATH': byte 0: record 0: not a TFRecord file (the checksum of the length "
                      "does not match)");
    fgt_write(path, "", 0);
    fgt_catalog_fails(path, NULL, FG_ENOTFOUND, "'PATH': no samples");
}

/* The same index with two names: the classes have none. */
static void names_that_disagree_are_not_used(void **state)
{
    (void)state;
    unsigned char data[1024], thrice[1024];
    const char *path = fgt_path(fgt_temp_folder(), "d.tfrecord");
    (void)read_small(data, sizeof(data));
    const size_t size = 16 + (size_t)data[0];
    for (size_t i = 0; i < 3; i++) /* the last one agrees with the first */
        memcpy(thrice + i * size, data, size);
    for (int i = 0; i < 2; i++) {
        fg_catalog *catalog = NULL;
        if (i == 1)
            memcpy(memmem(thrice + size, size, "cat", 3), "cow", 3);
        fgt_write(path, thrice, 3 * size);
        fgt_ok(fg_catalog_open(path, NULL, &catalog, &err));
        assert_int_equal(fg_catalog_class_count(catalog), 3);
        assert_int_equal(fg_catalog_class_name(catalog, 2) != NULL, i == 0);
        fg_catalog_close(catalog);
    }
}

static void shards_give_splits_and_names(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    unsigned char data[1024];
    const size_t size = read_small(data, sizeof(data));
    fgt_write(fgt_path(folder, "train-00000-of-00001"), data, size);
    fgt_write(fgt_path(folder, "validation-00000-of-00001"), data, 16 + (size_t)data[0]);
    fgt_catalog_is(folder, NULL,
                   "train-00000-of-00001:0 2 train [first image]\n"
                   "train-00000-of-00001:1 0 train []\n"
                   "validation-00000-of-00001:0 2 val [first image]\n"
                   "class dog\nclass -\nclass cat\n");
}

/* The first ones stay open, the others are opened for each read. */
static void many_shards_need_few_files(void **state)
{
    enum { SHARDS = 300, MOST_OPEN = 256 };
    static const char files[] = "/proc/self/fd";
    (void)state;
    const char *folder = fgt_temp_folder();
    unsigned char data[1024];
    const size_t size = read_small(data, sizeof(data));
    fg_catalog *catalog = NULL;
    fg_catalog_bytes bytes = {0};
    for (int i = 0; i < SHARDS; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "train-%05d-of-%05d", i, SHARDS);
        fgt_write(fgt_path(folder, name), data, size);
    }
    const int before = fgt_count_entries(files);
    fgt_ok(fg_catalog_open(folder, NULL, &catalog, &err));
    assert_int_equal(fg_catalog_count(catalog), 2 * SHARDS);
    const int opened = fgt_count_entries(files);
    assert_in_range(opened - before, 0, MOST_OPEN + 1);
    for (int64_t i = 0; i < 2 * SHARDS; i++)
        fgt_ok(fg_catalog_read(catalog, i, &bytes, &err));
    assert_int_equal(fgt_count_entries(files), opened);
    fg_catalog_bytes_fini(&bytes);
    fg_catalog_close(catalog);
    assert_int_equal(fgt_count_entries(files), before);
}

/* ---- made records ---------------------------------------------------------------------------- */

/* A message of Protocol Buffers. */
typedef struct message {
    unsigned char data[8192];
    size_t size;
} message;

static void put_varint(message *m, uint64_t value)
{
    for (; value > 127; value >>= 7)
        m->data[m->size++] = (unsigned char)(value | 128);
    m->data[m->size++] = (unsigned char)value;
}

static void put(message *m, int field, const void *data, size_t size)
{
    put_varint(m, (uint64_t)field << 3 | 2);
    put_varint(m, size);
    memcpy(m->data + m->size, data, size);
    m->size += size;
}

/* BYTES is field 1 of a Feature, INTEGERS field 3; in both, the values are field 1. */
enum { BYTES = 1, INTEGERS = 3 };

static void put_feature(message *features, const char *key, int kind, const message *values)
{
    static message feature, entry;
    feature.size = entry.size = 0;
    put(&feature, kind, values->data, values->size);
    put(&entry, 1, key, strlen(key));
    put(&entry, 2, feature.data, feature.size);
    put(features, 1, entry.data, entry.size);
}

static void put_text(message *features, const char *key, const char *text)
{
    static message values;
    values.size = 0;
    put(&values, 1, text, strlen(text));
    put_feature(features, key, BYTES, &values);
}

static void put_integers(message *features, const char *key, const int64_t *integers, size_t count)
{
    static message values, packed;
    values.size = packed.size = 0;
    for (size_t i = 0; i < count; i++)
        put_varint(&packed, (uint64_t)integers[i]);
    put(&values, 1, packed.data, packed.size);
    put_feature(features, key, INTEGERS, &values);
}

/* Adds a record to the file: length, checksum, an Example with these features, checksum. */
static void put_record(message *file, const message *features)
{
    static message example;
    example.size = 0;
    put(&example, 1, features->data, features->size);
    const uint64_t size = example.size;
    const uint32_t of_size = fgi_crc32c_masked(&size, 8);
    const uint32_t of_data = fgi_crc32c_masked(example.data, example.size);
    unsigned char *at = file->data + file->size;
    memcpy(at, &size, 8);
    memcpy(at + 8, &of_size, 4);
    memcpy(at + 12, example.data, example.size);
    memcpy(at + 12 + example.size, &of_data, 4);
    file->size += 16 + example.size;
}

static const char *made_file(const message *file)
{
    const char *path = fgt_path(fgt_temp_folder(), "x.tfrecord");
    fgt_write(path, file->data, file->size);
    return path;
}

static void records_are_counted_with_those_that_are_skipped(void **state)
{
    static message file, without, with, twice;
    (void)state;
    put_text(&without, "image/filename", "a.jpg");
    put_text(&with, "image/encoded", "two");
    put_integers(&with, "image/class/label", (const int64_t[]){1, -1, 0, -1}, 4);
    put_record(&file, &without);
    put_record(&file, &with);
    fgt_catalog_is(made_file(&file), NULL,
                   "x.tfrecord:1 1,0 [two]\nclass -\nclass -\nskip x.tfrecord:0: a record without "
                   "the feature 'image/encoded'\n");
    static message images;
    put(&images, 1, "one", 3);
    put(&images, 1, "two", 3);
    put_feature(&twice, "image/encoded", BYTES, &images);
    file.size = 0;
    put_record(&file, &twice);
    fgt_catalog_fails(made_file(&file), NULL, FG_EFORMAT,
                      "'PATH': byte 0: record 0: expected one value of bytes as the image");
}

/* 64 labels; 4096 bytes of a feature, 6 of which are tags and sizes of a long text. */
static void labels_and_names_have_limits(void **state)
{
    static message file, features;
    static char name[4092];
    int64_t labels[65] = {0};
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        fg_catalog *catalog = NULL;
        memset(name, 'n', 4090 + more);
        file.size = features.size = 0;
        put_text(&features, "image/encoded", "one");
        put_text(&features, "image/filename", name);
        put_record(&file, &features);
        if (more == 0)
            fgt_ok(fg_catalog_open(made_file(&file), NULL, &catalog, &err));
        else
            fgt_catalog_fails(made_file(&file), NULL, FG_EFORMAT,
                              "'PATH': byte 0: record 0: a label or name of more than 4096 bytes");
        fg_catalog_close(catalog);
        catalog = NULL;
        file.size = features.size = 0;
        put_text(&features, "image/encoded", "one");
        put_integers(&features, "image/class/label", labels, 64 + more);
        put_record(&file, &features);
        if (more == 0)
            fgt_ok(fg_catalog_open(made_file(&file), NULL, &catalog, &err));
        else
            fgt_catalog_fails(made_file(&file), NULL, FG_EFORMAT,
                              "'PATH': byte 0: record 0: more than 64 labels");
        fg_catalog_close(catalog);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fgt_fault_loop(fgt_catalog_scenario, (void *)(GOLDEN "tensorflow.tfrecord"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(both_writers_give_the_same_samples),
    cmocka_unit_test(features_can_be_named),
    cmocka_unit_test(long_names_are_refused),
    cmocka_unit_test(texts_alone_are_class_names),
    cmocka_unit_test(every_flipped_byte_is_found),
    cmocka_unit_test(every_truncation_is_found),
    cmocka_unit_test(checksums_are_named),
    cmocka_unit_test(names_that_disagree_are_not_used),
    cmocka_unit_test(shards_give_splits_and_names),
    cmocka_unit_test(many_shards_need_few_files),
    cmocka_unit_test(records_are_counted_with_those_that_are_skipped),
    cmocka_unit_test(labels_and_names_have_limits),
    cmocka_unit_test(every_allocation_may_fail),
};
FGT_MAIN(tests)
