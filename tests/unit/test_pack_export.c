/* test_pack_export.c - the contents of packs as files: bytes, pixels, paths, interruptions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <errno.h>
#include <fulgurite/catalog.h>
#include <fulgurite/pack_export.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary.h"
#include "base/buf.h"
#include "image/jpeg_coefficients.h"
#include "image/jpeg_segment_record.h"
#include "image/jpeg_transcode.h"
#include "made_jpeg.h"

/* What is written need not be on the disk; and the disk may fail. */
static bool sync_fails;
int syncfs(int fd)
{
    errno = EIO;
    return sync_fails || fd < 0 ? -1 : 0;
}
int fsync(int fd) { return fd < 0 ? -1 : 0; }

typedef struct row {
    const char *name;
    fg_pack_codec codec;
    const void *data;
    size_t size;
    uint32_t width, height;
    int32_t label;
    uint8_t split;
} row;

static const char *const class_names[] = {"cat", "dog"};
static const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {3}}},
                                  {"label", {.dtype = FG_S32}}};

static const char *test_folder(void)
{
    static const char *folder;
    if (folder == NULL)
        folder = fgt_temp_folder();
    return folder;
}

static fg_pack *pack_of(const char *name, const row *rows, size_t count, bool with_classes)
{
    const fg_pack_writer_options options = {.fields = fields,
                                            .field_count = 2,
                                            .class_names = class_names,
                                            .class_count = with_classes ? 2 : 0,
                                            .replace = true};
    fg_error err = {0};
    fg_pack_writer *writer = NULL;
    fg_pack *pack = NULL;
    const char *path = fgt_path(test_folder(), name);
    fgt_ok(fg_pack_writer_create(path, &options, &writer, NULL, &err));
    for (size_t i = 0; i < count; i++)
        fgt_ok(fg_pack_writer_add(writer,
                                  &(fg_pack_entry){.name = rows[i].name,
                                                   .codec = rows[i].codec,
                                                   .width = rows[i].width,
                                                   .height = rows[i].height,
                                                   .label = rows[i].label,
                                                   .split = rows[i].split},
                                  rows[i].data, rows[i].size, &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    return pack;
}

static size_t read_file(const char *folder, const char *name, unsigned char *out, size_t capacity)
{
    FILE *file = fopen(fgt_path(folder, name), "rb");
    if (file == NULL)
        fail_msg("%s: no such file", name);
    const size_t size = fread(out, 1, capacity, file);
    assert_int_equal(fclose(file), 0);
    return size;
}

static bool exists(const char *folder, const char *name)
{
    struct stat info;
    return lstat(fgt_path(folder, name), &info) == 0;
}

/* ---- codecs ---------------------------------------------------------------------------------- */

enum { LARGE = 1 << 18 };
static unsigned char file_bytes[LARGE];

static void check_pixels(const char *folder, const char *name, const uint8_t *want, int64_t width,
                         int64_t height, int bound)
{
    fg_error err = {0};
    fg_image image = {0};
    fg_image_decoder *decoder = NULL;
    const size_t size = read_file(folder, name, file_bytes, sizeof file_bytes);
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fg_image_decode(decoder, name, file_bytes, size, NULL, &image, &err));
    assert_int_equal(image.width, width);
    assert_int_equal(image.height, height);
    for (int64_t i = 0; i < 3 * width * height; i++)
        if (abs((int)image.pixels[i] - (int)want[i]) > bound)
            fail_msg("%s: value %d is %d: expected %d", name, (int)i, image.pixels[i], want[i]);
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
}

static void jpegs_are_given_back(void **state)
{
    (void)state;
    fg_error err = {0};
    size_t size;
    int width, height;
    fgi_buf jpeg = {0}, table = {0}, dct = {0};
    fg_pack_export_result result;
    uint8_t *made = fgt_jpeg_make(&(fgt_jpeg_spec){.width = 75, .height = 53}, &size);
    uint8_t *pixels = fgt_jpeg_pixels(made, size, 1, &width, &height);
    fgt_ok(fgi_jpeg_transcode_segments("made", made, size, 0, &jpeg, &table, &err));
    const size_t jpeg_size = jpeg.size;
    fgi_jpeg_record_append(&jpeg, &table);
    fgt_ok(fgi_jpeg_coefficients_write("made", made, size, &dct, &err));
    const row rows[] = {
        {"a b.JPG", FG_PACK_JPEG, made, size, 75, 53, 0, FG_PACK_NO_SPLIT},
        {"seg.png", FG_PACK_JPEG_SEG, jpeg.data, jpeg.size, 75, 53, 0, FG_PACK_NO_SPLIT},
        {"dct.jpeg", FG_PACK_DCT, dct.data, dct.size, 75, 53, 0, FG_PACK_NO_SPLIT},
        {"as it is", FG_PACK_FILE, made, size, 75, 53, 0, FG_PACK_NO_SPLIT},
    };
    fg_pack *pack = pack_of("jpegs.pack", rows, 4, false);
    const char *out = fgt_path(test_folder(), "jpegs");
    fgt_ok(fg_pack_export(pack, out, NULL, &result, &err));
    assert_int_equal(result.records, 4);
    assert_int_equal(result.files, 4);
    assert_int_equal(read_file(out, "a b.JPG", file_bytes, LARGE), size);
    assert_memory_equal(file_bytes, made, size);
    assert_int_equal(read_file(out, "as it is.jpg", file_bytes, LARGE), size);
    assert_memory_equal(file_bytes, made, size);
    assert_int_equal(read_file(out, "seg.jpg", file_bytes, LARGE), jpeg_size);
    fgt_jpeg_same_coefficients(file_bytes, jpeg_size, made, size);
    check_pixels(out, "dct.png", pixels, width, height, 2);
    fg_pack_close(pack);
    fgi_buf_fini(&jpeg);
    fgi_buf_fini(&table);
    fgi_buf_fini(&dct);
    free(pixels);
    free(made);
}

/* Exported as JPEG files, of which this one has a single pixel. */
static void check_jpeg(fg_pack *pack, const char *name, const uint8_t pixel[3])
{
    fg_error err = {0};
    const char *jpegs = fgt_path(test_folder(), "pixels-jpeg");
    const fg_pack_export_options options = {.as_jpeg = true, .quality = 100};
    fgt_ok(fg_pack_export(pack, jpegs, &options, NULL, &err));
    check_pixels(jpegs, name, pixel, 1, 1, 2);
}

/* Y = 50, Cb = 100 and 200, Cr = 128: B = 50 + 1.772 (Cb - 128) with Cb = 100, 125, 175, 200 */
static const uint8_t ycc[] = {50, 50, 50, 50, 50, 50, 50, 50, 100, 200, 128, 128};
static const uint8_t blue[] = {0, 45, 133, 178}, green[] = {60, 51, 34, 25};
/* Y = 100, Cb = 150, Cr = 90: R = 46.7, G = 119.6, B = 139.0; of odd size */
static const uint8_t odd[] = {100, 150, 90};
static const uint8_t odd_want[] = {47, 120, 139};

static void pixels_become_png_or_jpeg(void **state)
{
    (void)state;
    fg_error err = {0};
    uint8_t raw[5 * 3 * 3];
    for (size_t i = 0; i < sizeof raw; i++)
        raw[i] = (uint8_t)(i * 37);
    uint8_t want[2 * 4 * 3], tall[2 * 4 * 3]; /* the same from top to bottom */
    for (size_t i = 0; i < 8; i++) {
        want[3 * i] = tall[3 * i] = 50;
        want[3 * i + 1] = green[i % 4];
        want[3 * i + 2] = blue[i % 4];
        tall[3 * i + 1] = green[i / 2];
        tall[3 * i + 2] = blue[i / 2];
    }
    const row rows[] = {
        {"x.jpg", FG_PACK_RAW_RGB, raw, sizeof raw, 5, 3, 0, FG_PACK_NO_SPLIT},
        {"x.png", FG_PACK_RAW_YCC420, ycc, sizeof ycc, 4, 2, 0, FG_PACK_NO_SPLIT},
        {"odd", FG_PACK_RAW_YCC420, odd, sizeof odd, 1, 1, 0, FG_PACK_NO_SPLIT},
        {"tall", FG_PACK_RAW_YCC420, ycc, sizeof ycc, 2, 4, 0, FG_PACK_NO_SPLIT},
    };
    fg_pack *pack = pack_of("pixels.pack", rows, 4, false);
    const char *out = fgt_path(test_folder(), "pixels");
    fgt_ok(fg_pack_export(pack, out, NULL, NULL, &err));
    check_pixels(out, "x.png", raw, 5, 3, 0);
    check_pixels(out, "x-1.png", want, 4, 2, 0); /* the second x.png */
    check_pixels(out, "odd.png", odd_want, 1, 1, 0);
    check_pixels(out, "tall.png", tall, 2, 4, 0);
    check_jpeg(pack, "odd.jpg", odd_want);
    fg_pack_close(pack);
}

static void refuse_quality(fg_pack *pack, int quality)
{
    fg_error err = {0};
    char expected[100];
    const fg_pack_export_options o = {.quality = quality};
    assert_int_equal(fg_pack_export(pack, fgt_path(test_folder(), "q"), &o, NULL, &err), FG_EINVAL);
    (void)snprintf(expected, sizeof expected,
                   "fg_pack_export_options.quality is %d: expected a number from 1 to 100",
                   quality);
    assert_string_equal(err.message, expected);
}

/* Pixels as JPEG files: the quality is 90 unless it is given. */
static void jpegs_have_the_quality(void **state)
{
    enum { SIDE = 32 };
    static uint8_t noise[SIDE * SIDE * 3];
    static const int qualities[] = {0, 90, 1, 100};
    fg_error err = {0};
    size_t sizes[4];
    (void)state;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)(i * 2654435761U >> 13);
    const row rows[] = {
        {"x", FG_PACK_RAW_RGB, noise, sizeof noise, SIDE, SIDE, 0, FG_PACK_NO_SPLIT}};
    fg_pack *pack = pack_of("quality.pack", rows, 1, false);
    for (int i = 0; i < 4; i++) {
        char name[32];
        fg_pack_export_result result;
        const fg_pack_export_options o = {.as_jpeg = true, .quality = qualities[i]};
        (void)snprintf(name, sizeof name, "quality-%d", qualities[i]);
        const char *out = fgt_path(test_folder(), name);
        fgt_ok(fg_pack_export(pack, out, &o, &result, &err));
        sizes[i] = read_file(out, "x.jpg", file_bytes, LARGE);
        assert_int_equal(result.size_bytes, sizes[i]);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_true(sizes[2] < sizes[1] && sizes[1] < sizes[3]);
    refuse_quality(pack, -1);
    refuse_quality(pack, 101);
    fg_pack_close(pack);
}

static void wrong_sizes_are_refused(void **state)
{
    (void)state;
    static const uint8_t bytes[16];
    const row rows[] = {
        {"raw", FG_PACK_RAW_RGB, bytes, 16, 2, 2, 0, FG_PACK_NO_SPLIT},
        {"huge", FG_PACK_RAW_RGB, bytes, 16, UINT32_MAX, UINT32_MAX, 0, FG_PACK_NO_SPLIT},
        {"ycc", FG_PACK_RAW_YCC420, bytes, 16, 3, 3, 0, FG_PACK_NO_SPLIT},
        {"dct", FG_PACK_DCT, bytes, 16, 8, 8, 0, FG_PACK_NO_SPLIT},
        {"seg", FG_PACK_JPEG_SEG, bytes, 16, 8, 8, 0, FG_PACK_NO_SPLIT},
        {"short", FG_PACK_ARRAYS, bytes, 15, 0, 0, 0, FG_VAL},
        {"new", (fg_pack_codec)99, bytes, 16, 0, 0, 0, FG_TEST},
    };
    static const char *const reasons[] = {
        "raw: the record has 16 bytes: expected 12 for 2 x 2 pixels of codec raw",
        "huge: the record has 16 bytes: expected ",
        "ycc: the record has 16 bytes: expected 17 for 3 x 3 pixels of codec ycc",
        "dct: coefficients: byte 0: expected 'FGDC'",
        "seg: ",
        ("short: the record is not an image: expected a field u8[height,width,1] or "
         "u8[height,width,3]"),
        "new: unknown codec 99: the record was written by a newer version"};
    enum { COUNT = sizeof rows / sizeof rows[0] };
    fg_error err = {0};
    fg_pack *pack = pack_of("wrong.pack", rows, COUNT, false);
    fg_image image = {0};
    fg_image_decoder *decoder = NULL;
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (int64_t i = 0; i < COUNT; i++) {
        assert_int_equal(fg_pack_image(pack, i, decoder, &image, &err),
                         i < 5 ? FG_EFORMAT : FG_EUNSUPPORTED);
        if (strncmp(err.message, reasons[i], strlen(reasons[i])) != 0)
            fail_msg("%s", err.message);
    }
    const char *out = fgt_path(test_folder(), "wrong");
    fg_pack_export_result result;
    assert_int_equal(fg_pack_export(pack, out, NULL, NULL, &err), FG_EFORMAT);
    assert_false(exists(test_folder(), "wrong"));
    fg_pack_export_options o = {.select.limit = COUNT - 1, .skip_damaged = true};
    fgt_ok(fg_pack_export(pack, out, &o, &result, &err));
    assert_int_equal(result.records, 0);
    assert_int_equal(result.damaged, COUNT - 1);
    o.select.limit = COUNT; /* it is not damaged */
    assert_int_equal(fg_pack_export(pack, fgt_path(test_folder(), "new"), &o, NULL, &err),
                     FG_EUNSUPPORTED);
    assert_string_equal(err.message, reasons[COUNT - 1]);
    o = (fg_pack_export_options){.select.split = "val"};
    assert_int_equal(fg_pack_export(pack, fgt_path(test_folder(), "short"), &o, NULL, &err),
                     FG_EFORMAT);
    assert_non_null(strstr(
        err.message, "wrong.pack: record 5 has only 15 bytes, fewer than its fields require"));
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
    fg_pack_close(pack);
}

static const struct {
    fg_type type;
    int64_t width, height;
    int channels; /* 0: no image */
} array_images[] = {{{FG_U8, 2, {2, 3}}, 3, 2, 1},      {{FG_U8, 3, {2, 3, 1}}, 3, 2, 1},
                    {{FG_U8, 3, {1, 2, 3}}, 2, 1, 3},   {{FG_U8, 3, {3, 1, 2}}, 0, 0, 0},
                    {{FG_S8, 2, {2, 3}}, 0, 0, 0},      {{FG_U8, 1, {6}}, 0, 0, 0},
                    {{FG_U8, 4, {1, 2, 3, 1}}, 0, 0, 0}};

static const uint8_t array_record[10] = {1, 2, 3, 4, 10, 20, 30, 40, 50, 60};

/* A pack with this record and two fields. */
static void write_arrays(const char *path, const fg_field two[2])
{
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    const fg_pack_writer_options options = {.fields = two, .field_count = 2, .replace = true};
    const fg_pack_entry entry = {.codec = FG_PACK_ARRAYS};
    fgt_ok(fg_pack_writer_create(path, &options, &w, NULL, &err));
    fgt_ok(fg_pack_writer_add(w, &entry, array_record, sizeof array_record, &err));
    fgt_ok(fg_pack_writer_finish(w, NULL, &err));
    fg_pack_writer_destroy(w);
}

/* The first field that is an image, after one of 4 bytes: u8[2,3], u8[2,3,1] or u8[1,2,3]. */
static void images_of_arrays(void **state)
{
    fg_image image = {0};
    fg_image_decoder *decoder = NULL;
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (size_t i = 0; i < sizeof array_images / sizeof array_images[0]; i++) {
        const fg_field two[] = {{"y", {FG_F32, 0, {0}}}, {"x", array_images[i].type}};
        fg_pack *pack = NULL;
        const char *path = fgt_path(test_folder(), "image.pack");
        write_arrays(path, two);
        fgt_ok(fg_pack_open(path, NULL, &pack, &err));
        const fg_status status = fg_pack_image(pack, 0, decoder, &image, &err);
        assert_int_equal(status, array_images[i].channels > 0 ? FG_OK : FG_EUNSUPPORTED);
        if (status == FG_OK) {
            assert_true(image.width == array_images[i].width &&
                        image.height == array_images[i].height);
            assert_int_equal(image.channels, array_images[i].channels);
            assert_memory_equal(image.pixels, array_record + 4, 6);
        }
        fg_pack_close(pack);
    }
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
}

static void arrays_become_npy_files(void **state)
{
    (void)state;
    fg_error err = {0};
    static const uint32_t bytes[] = {0x3f800000, 0x40000000, 0x40400000, 7}; /* 1, 2, 3; 7 */
    const row rows[] = {{"", FG_PACK_ARRAYS, bytes, 16, 0, 0, 1, FG_TRAIN},
                        {"second", FG_PACK_ARRAYS, bytes, 16, 0, 0, 1, FG_TRAIN}};
    fg_pack *pack = pack_of("arrays.pack", rows, 2, true);
    const char *out = fgt_path(test_folder(), "arrays");
    fg_pack_export_result result;
    fgt_ok(fg_pack_export(pack, out, NULL, &result, &err));
    assert_int_equal(result.files, 4);
    assert_true(exists(out, "train/dog/record-000000000.label.npy"));
    fg_dataset *dataset = NULL;
    fgt_ok(fg_npy_load(fgt_path(out, "train/dog/second.x.npy"), NULL, NULL, &dataset, &err));
    float value = 0;
    void *const fields_out[] = {&value};
    assert_int_equal(fg_dataset_count(dataset), 3);
    fgt_ok(fg_dataset_read(dataset, 2, fields_out, &err));
    assert_true(value == 3);
    fg_dataset_destroy(dataset);
    fg_pack_close(pack);
}

/* Of a record without a name, the content says which extension its file gets. */
static void files_without_a_name_have_the_extension_of_their_format(void **state)
{
    (void)state;
    static const char *const images[] = {"baseline.jpg", "rgb.png",   "lossy.webp", "plain.gif",
                                         "plain.bmp",    "plain.ppm", "plain.tif",  "gray.pgm"};
    fg_error err = {0};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        char expected[64];
        const size_t size =
            read_file(FGT_SOURCE_DIR "/tests/golden/image", images[i], file_bytes, LARGE);
        const row rows[] = {{"", FG_PACK_FILE, file_bytes, size, 1, 1, 0, FG_PACK_NO_SPLIT}};
        fg_pack *pack = pack_of("nameless.pack", rows, 1, false);
        const char *out = fgt_path(test_folder(), images[i]);
        fgt_ok(fg_pack_export(pack, out, NULL, NULL, &err));
        const char *type = i == 7 ? ".ppm" : strchr(images[i], '.');
        (void)snprintf(expected, sizeof expected, "record-000000000%s", type);
        assert_true(exists(out, expected));
        fg_pack_close(pack);
    }
}

/* ---- the same samples ------------------------------------------------------------------------ */

static void a_catalog_reads_the_same_samples(void **state)
{
    (void)state;
    fg_error err = {0};
    static const row rows[] = {
        {"train/cat/1.jpg", FG_PACK_FILE, "one", 3, 1, 1, 0, FG_TRAIN},
        {"deep/er/2.PNG", FG_PACK_FILE, "two", 3, 1, 1, 0, FG_TRAIN},
        {"dog/.3.gif", FG_PACK_FILE, "three", 5, 1, 1, 1, FG_TRAIN},
        {"\xff\xfe.jpeg", FG_PACK_FILE, "four", 4, 1, 1, 0, FG_VAL},
        {"valid/dog/cat/5.webp", FG_PACK_FILE, "five", 4, 1, 1, 1, FG_VAL},
    };
    static const char *const names[] = {"train/cat/1.jpg", "train/cat/deep/er/2.PNG",
                                        "train/dog/_3.gif", "val/cat/\xff\xfe.jpeg",
                                        "val/dog/cat/5.webp"};
    fg_pack *pack = pack_of("same.pack", rows, 5, true);
    const char *out = fgt_path(test_folder(), "same");
    fgt_ok(fg_pack_export(pack, out, NULL, NULL, &err));
    fg_catalog *catalog = NULL;
    fg_catalog_bytes bytes = {0};
    fgt_ok(fg_catalog_open(out, NULL, &catalog, &err));
    assert_int_equal(fg_catalog_count(catalog), 5);
    assert_string_equal(fg_catalog_class_name(catalog, 1), "dog");
    for (int64_t i = 0; i < 5; i++) {
        fg_catalog_item item;
        fgt_ok(fg_catalog_item_at(catalog, i, &item, &err));
        assert_string_equal(item.name, names[i]);
        assert_int_equal(item.label, rows[i].label);
        assert_int_equal(item.split, rows[i].split);
        fgt_ok(fg_catalog_read(catalog, i, &bytes, &err));
        assert_int_equal(bytes.size, rows[i].size);
        assert_memory_equal(bytes.data, rows[i].data, rows[i].size);
    }
    fg_catalog_bytes_fini(&bytes);
    fg_catalog_close(catalog);
    fg_pack_close(pack);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A record of the same name gets a number, in the same folder. */
static void a_name_that_is_taken_gets_a_number(void **state)
{
    (void)state;
    static const row rows[] = {
        {"deep/a.jpg", FG_PACK_FILE, "one", 3, 1, 1, 0, FG_PACK_NO_SPLIT},
        {"deep/a.jpg", FG_PACK_FILE, "two", 3, 1, 1, 0, FG_PACK_NO_SPLIT},
    };
    fg_error err = {0};
    fg_pack *pack = pack_of("twice.pack", rows, 2, false);
    const char *out = fgt_path(test_folder(), "twice");
    fgt_ok(fg_pack_export(pack, out, NULL, NULL, &err));
    assert_true(exists(out, "deep/a.jpg"));
    assert_true(exists(out, "deep/a-1.jpg"));
    fg_pack_close(pack);
}

/* Whatever the names are, each record has a file, below the folder, with its bytes. */
static void names_cannot_leave_the_folder_nor_meet(void **state)
{
    (void)state;
    enum { COUNT = 16, LONG = 5000 };
    fg_error err = {0};
    static char names[3][LONG + 1];
    row rows[COUNT];
    static const char *const bad[] = {"../up", "../../../../../../../../tmp/up",
                                      "/up",   "a",
                                      "a/b",   "a/b/c",
                                      "a",     "..",
                                      "../..", "x/../../../y",
                                      "",      "",
                                      ".git/x"};
    memset(names[0], 'l', LONG);
    for (int i = 0; i < LONG; i++) {
        names[1][i] = i % 2 == 0 ? 'd' : '/';
        names[2][i] = i < 300 ? '\xe4' : '\0';
    }
    for (size_t i = 0; i < COUNT; i++)
        rows[i] =
            (row){i < 13 ? bad[i] : names[i - 13], FG_PACK_FILE, "x", 1, 0, 0, 0, FG_PACK_NO_SPLIT};
    fg_pack *pack = pack_of("names.pack", rows, COUNT, false);
    const char *outer = fgt_path(test_folder(), "outer");
    assert_int_equal(mkdir(outer, 0777), 0);
    const char *out = fgt_path(outer, "out");
    fg_pack_export_result result;
    fgt_ok(fg_pack_export(pack, out, NULL, &result, &err));
    assert_int_equal(result.files, COUNT);
    assert_int_equal(result.size_bytes, COUNT);
    assert_int_equal(fgt_count_entries(outer), 1);
    assert_false(exists(test_folder(), "up"));
    char command[8192];
    (void)snprintf(command, sizeof command, "test $(find '%s' -type f | wc -l) = %d", out, COUNT);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    fg_pack_close(pack);
}

/* Folders whose names begin alike are made one by one. */
static void folders_that_begin_alike(void **state)
{
    static const char *const names[] = {"ab/c/1.jpg", "ab/2.jpg", "a/3.jpg", "ab/cd/4.jpg",
                                        "5.jpg"};
    row rows[5];
    fg_error err = {0};
    (void)state;
    for (int i = 0; i < 5; i++)
        rows[i] = (row){names[i], FG_PACK_FILE, names[i], 5, 0, 0, 0, FG_PACK_NO_SPLIT};
    fg_pack *pack = pack_of("alike.pack", rows, 5, false);
    const char *out = fgt_path(test_folder(), "alike");
    fgt_ok(fg_pack_export(pack, out, NULL, NULL, &err));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(read_file(out, names[i], file_bytes, LARGE), 5);
        assert_memory_equal(file_bytes, names[i], 5);
    }
    fg_pack_close(pack);
}

static void variants_have_a_suffix(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_pack_writer *writer = NULL;
    fg_pack *pack = NULL;
    const char *path = fgt_path(test_folder(), "variants.pack");
    fgt_ok(fg_pack_writer_create(path, &(fg_pack_writer_options){.variant_count = 3}, &writer, NULL,
                                 &err));
    for (int i = 0; i < 6; i++)
        fgt_ok(fg_pack_writer_add(
            writer, &(fg_pack_entry){.name = i < 3 ? "a.jpg" : "b.jpg", .split = FG_PACK_NO_SPLIT},
            "x", 1, &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    const char *out = fgt_path(test_folder(), "variants");
    fgt_ok(fg_pack_export(pack, out, NULL, NULL, &err));
    assert_true(exists(out, "a.jpg") && exists(out, "a-v1.jpg") && exists(out, "b.jpg") &&
                exists(out, "b-v1.jpg") && exists(out, "a-v2.jpg") && exists(out, "b-v2.jpg"));
    fg_pack_close(pack);
}

/* ---- selection ------------------------------------------------------------------------------- */

static fg_pack *small_pack(const char *name)
{
    static row rows[40];
    static char names[40][16];
    for (int i = 0; i < 40; i++) {
        (void)snprintf(names[i], sizeof names[i], "%02d.jpg", i);
        rows[i] =
            (row){names[i], FG_PACK_FILE,
                  names[i], 6,
                  0,        0,
                  i % 2,    (uint8_t)(i < 30 ? FG_TRAIN : i < 39 ? FG_VAL : FG_PACK_NO_SPLIT)};
    }
    return pack_of(name, rows, 40, true);
}

static void records_are_selected(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t records[40], again[40], count;
    fg_pack *pack = small_pack("select.pack");
    fgt_ok(fg_pack_select(pack, NULL, records, 40, &count, &err));
    assert_int_equal(count, 40);
    fg_pack_select_options s = {.split = "val", .class_name = "dog"};
    fgt_ok(fg_pack_select(pack, &s, records, 40, &count, &err));
    assert_int_equal(count, 4); /* 31, 33, 35, 37 */
    assert_int_equal(records[0], 31);
    assert_int_equal(records[3], 37);
    s = (fg_pack_select_options){.split = "none"};
    fgt_ok(fg_pack_select(pack, &s, records, 40, &count, &err));
    assert_int_equal(count, 1);
    s = (fg_pack_select_options){.limit = 7};
    fgt_ok(fg_pack_select(pack, &s, records, 5, &count, &err));
    assert_int_equal(count, 5);

    s = (fg_pack_select_options){.shuffle = true, .seed = 3, .split = "train"};
    fgt_ok(fg_pack_select(pack, &s, records, 40, &count, &err));
    assert_int_equal(count, 30);
    uint64_t seen = 0;
    for (int i = 0; i < 30; i++)
        seen |= 1ULL << records[i];
    assert_true(seen == (1ULL << 30) - 1);
    s.limit = 10;
    fgt_ok(fg_pack_select(pack, &s, again, 40, &count, &err));
    assert_int_equal(count, 10);
    assert_memory_equal(records, again, 10 * sizeof *again);
    s.seed = 4;
    fgt_ok(fg_pack_select(pack, &s, again, 40, &count, &err));
    assert_memory_not_equal(records, again, 10 * sizeof *again);

    s = (fg_pack_select_options){.class_name = "dogs"};
    assert_int_equal(fg_pack_select(pack, &s, records, 40, &count, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "~/select.pack: no class is named 'dogs'; did you mean 'dog'?");
    s = (fg_pack_select_options){.class_name = "cog"}; /* two letters from cat, the first class */
    assert_int_equal(fg_pack_select(pack, &s, records, 40, &count, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "~/select.pack: no class is named 'cog'; did you mean 'dog'?");
    s = (fg_pack_select_options){.class_name = "giraffe"};
    assert_int_equal(fg_pack_select(pack, &s, records, 40, &count, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "~/select.pack: no class is named 'giraffe'");
    s = (fg_pack_select_options){.split = "valid"};
    assert_int_equal(fg_pack_select(pack, &s, records, 40, &count, &err), FG_EINVAL);
    assert_string_equal(err.message, "expected a split, train, val, test or none, got 'valid'");
    s = (fg_pack_select_options){.limit = -1};
    assert_int_equal(fg_pack_select(pack, &s, records, 40, &count, &err), FG_EINVAL);
    assert_string_equal(err.message, "fg_pack_select_options.limit is -1: expected at least 0");
    fg_pack_close(pack);
}

static const int32_t both_labels[] = {1, 0};
static const fg_pack_entry some_entries[] = {
    {.name = "0", .label = 0, .split = FG_TRAIN},
    {.name = "1", .label = 1, .split = FG_PACK_NO_SPLIT, .flags = FG_PACK_LOST},
    {.name = "2",
     .label = FG_PACK_NO_LABEL,
     .labels = both_labels,
     .label_count = 2,
     .split = FG_PACK_NO_SPLIT},
    {.name = "3", .label = 1, .split = FG_VAL},
};

static const struct {
    fg_pack_select_options s;
    int64_t capacity, count, records[3];
} selections[] = {
    {{.limit = 0}, 9, 3, {0, 2, 3}},
    {{.class_name = "dog"}, 9, 2, {2, 3}},
    {{.class_name = "cat"}, 9, 2, {0, 2}},
    {{.class_name = "cow"}, 9, 0, {0}},
    {{.split = "none"}, 9, 1, {2}},
    {{.split = "test"}, 9, 0, {0}},
    {{.split = "val", .class_name = "cat"}, 9, 0, {0}},
    {{.limit = 2}, 9, 2, {0, 2}},
    {{.limit = 3}, 1, 1, {0}},
    {{.limit = 4}, 4, 3, {0, 2, 3}},
    {{.class_name = "dog", .shuffle = true, .limit = 2}, 3, 2, {-1}},
    {{.class_name = "dog", .shuffle = true, .limit = 5}, 1, 1, {-1}},
    {{.class_name = "dog", .shuffle = true}, 9, 2, {-1}},
    {{.shuffle = true, .limit = 2}, 9, 2, {-1}},
    {{.split = "none", .shuffle = true}, 9, 1, {2}},
    {{.split = "test", .shuffle = true}, 9, 0, {0}},
};

/* A record may have several labels; one that is lost is never selected. */
static void lost_records_and_lists_of_labels(void **state)
{
    static const char *const classes[] = {"cat", "dog", "cow"};
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    fg_pack *pack = NULL;
    const char *path = fgt_path(fgt_temp_folder(), "some.pack");
    (void)state;
    fgt_ok(fg_pack_writer_create(
        path, &(fg_pack_writer_options){.class_names = classes, .class_count = 3}, &w, NULL, &err));
    for (size_t i = 0; i < 4; i++)
        fgt_ok(fg_pack_writer_add(w, &some_entries[i], "x", i == 1 ? 0 : 1, &err));
    fgt_ok(fg_pack_writer_finish(w, NULL, &err));
    fg_pack_writer_destroy(w);
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    for (size_t i = 0; i < sizeof selections / sizeof selections[0]; i++) {
        int64_t records[10] = {0}, count = -1;
        for (int k = 0; k < 10; k++)
            records[k] = -7;
        fgt_ok(
            fg_pack_select(pack, &selections[i].s, records, selections[i].capacity, &count, &err));
        assert_int_equal(count, selections[i].count);
        assert_int_equal(records[count], -7); /* unchanged */
        for (int64_t k = 0; k < count && selections[i].records[0] >= 0; k++)
            assert_int_equal(records[k], selections[i].records[k]);
    }
    fg_pack_close(pack);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static void nothing_is_overwritten_unless_asked(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_pack *pack = small_pack("folder.pack");
    char out[4096];
    (void)snprintf(out, sizeof out, "%s", fgt_path(test_folder(), "folder"));
    fg_pack_export_options o = {.select = {.limit = 2}};
    assert_int_equal(mkdir(out, 0777), 0);
    fgt_write(fgt_path(out, ".mine"), "kept", 4); /* hidden files count */
    assert_int_equal(fg_pack_export(pack, out, &o, NULL, &err), FG_EINVAL);
    assert_int_equal(fgt_count_entries(out), 1);
    assert_int_equal(unlink(fgt_path(out, ".mine")), 0);
    fgt_ok(fg_pack_export(pack, out, &o, NULL, &err)); /* empty */
    fgt_write(fgt_path(out, "train/cat/00.jpg"), "changed", 7);
    fgt_write(fgt_path(out, "train/cat/mine"), "kept", 4);
    assert_int_equal(fg_pack_export(pack, out, &o, NULL, &err), FG_EINVAL);
    assert_non_null(strstr(err.message,
                           "folder' is not empty: give a new folder, or --force (replace) to write "
                           "into it and to replace files with the same names"));
    assert_int_equal(read_file(out, "train/cat/00.jpg", file_bytes, LARGE), 7);
    o.replace = true;
    fgt_ok(fg_pack_export(pack, out, &o, NULL, &err));
    assert_int_equal(read_file(out, "train/cat/00.jpg", file_bytes, LARGE), 6);
    assert_int_equal(read_file(out, "train/cat/mine", file_bytes, LARGE), 4);
    assert_int_equal(fgt_count_entries(fgt_path(out, "train/cat")), 2);
    assert_int_equal(fgt_count_entries(out), 1);

    fgt_write(fgt_path(test_folder(), "plain"), "x", 1);
    assert_int_equal(fg_pack_export(pack, fgt_path(test_folder(), "plain"), &o, NULL, &err),
                     FG_EINVAL);
    assert_int_equal(fg_pack_export(pack, fgt_path(test_folder(), "no/such"), &o, NULL, &err),
                     FG_ENOTFOUND);
    assert_int_equal(fg_pack_export(pack, "", &o, NULL, &err), FG_EINVAL);
    o.quality = 101;
    assert_int_equal(fg_pack_export(pack, out, &o, NULL, &err), FG_EINVAL);
    fg_pack_close(pack);
}

static void a_file_in_place_of_a_folder_is_kept(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_pack *pack = small_pack("place.pack");
    const char *out = fgt_path(test_folder(), "place");
    assert_int_equal(mkdir(out, 0777), 0);
    fgt_write(fgt_path(out, "train"), "x", 1);
    const fg_pack_export_options o = {.replace = true};
    assert_int_equal(fg_pack_export(pack, out, &o, NULL, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "/place/train/cat/00-0.jpg': a file or folder with this "
                                        "name exists"));
    assert_int_equal(read_file(out, "train", file_bytes, LARGE), 1);
    fg_pack_close(pack);
}

static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    fg_error err = {0};
    struct rlimit before;
    static const unsigned char large[LARGE];
    const row rows[] = {{"a", FG_PACK_FILE, "x", 1, 0, 0, 0, FG_PACK_NO_SPLIT},
                        {"b", FG_PACK_FILE, large, LARGE, 0, 0, 0, FG_PACK_NO_SPLIT}};
    fg_pack *pack = pack_of("full.pack", rows, 2, false);
    const char *outer = fgt_path(test_folder(), "full");
    assert_int_equal(mkdir(outer, 0777), 0);
    const char *out = fgt_path(outer, "out");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {LARGE / 2, before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(fg_pack_export(pack, out, NULL, NULL, &err), FG_EIO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(fgt_count_entries(outer), 0);
    sync_fails = true;
    assert_int_equal(fg_pack_export(pack, out, NULL, NULL, &err), FG_EIO);
    sync_fails = false;
    assert_int_equal(fgt_count_entries(outer), 0);
    fgt_ok(fg_pack_export(pack, out, NULL, NULL, &err));
    assert_int_equal(fgt_count_entries(outer), 1);
    fg_pack_close(pack);
}

/* What a killed export has left is removed by the next one; that of a running process is not. */
static void abandoned_folders_are_removed(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_pack *pack = small_pack("abandoned.pack");
    const char *outer = fgt_path(test_folder(), "abandoned");
    assert_int_equal(mkdir(outer, 0777), 0);
    char machine[FGI_MACHINE_SIZE], name[128];
    fgi_machine_name(machine);
    (void)snprintf(name, sizeof name, "out.export.%s-999999999-0", machine);
    assert_int_equal(mkdir(fgt_path(outer, name), 0777), 0);
    fgt_write(fgt_path(fgt_path(outer, name), "x"), "x", 1);
    (void)snprintf(name, sizeof name, "own.export.%s-999999999-0", machine); /* of another */
    assert_int_equal(mkdir(fgt_path(outer, name), 0777), 0);
    (void)snprintf(name, sizeof name, "out.export.%s-%ld-0", machine, (long)getppid());
    assert_int_equal(mkdir(fgt_path(outer, name), 0777), 0);
    fgt_ok(fg_pack_export(pack, fgt_path(outer, "out///"), NULL, NULL, &err));
    assert_int_equal(fgt_count_entries(outer), 3);
    assert_true(exists(outer, name));
    fg_pack_close(pack);
}

static void damaged_records_can_be_skipped(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_pack_entry entry;
    fg_pack *pack = small_pack("damaged.pack");
    fgt_ok(fg_pack_entry_at(pack, 7, &entry, &err));
    FILE *file = fopen(fg_pack_path(pack, 0), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)entry.offset_bytes, SEEK_SET), 0);
    assert_int_equal(fputc('!', file), '!');
    assert_int_equal(fclose(file), 0);
    const char *out = fgt_path(test_folder(), "damaged");
    assert_int_equal(fg_pack_export(pack, out, NULL, NULL, &err), FG_EFORMAT);
    fgt_message_is(err.message,
                   "~/damaged.pack: byte 4848: record 7 ('07.jpg') is damaged: its CRC-32C is @");
    fg_pack_export_result result;
    const fg_pack_export_options o = {.skip_damaged = true};
    fgt_ok(fg_pack_export(pack, out, &o, &result, &err));
    assert_int_equal(result.records, 39);
    assert_int_equal(result.damaged, 1);
    assert_false(exists(out, "train/dog/07.jpg"));
    fg_pack_close(pack);
}

static fg_status export_again(void *self, fg_error *err)
{
    const fg_pack_export_options o = {.replace = true, .select = {.limit = 3, .shuffle = true}};
    fg_pack *pack = NULL;
    fg_status status = fg_pack_open(self, NULL, &pack, err);
    if (status == FG_OK)
        status = fg_pack_export(pack, fgt_path(test_folder(), "memory"), &o, NULL, err);
    fg_pack_close(pack);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fg_pack_close(small_pack("memory.pack"));
    char path[4096];
    (void)snprintf(path, sizeof path, "%s", fgt_path(test_folder(), "memory.pack"));
    fgt_fault_loop(export_again, path);
    assert_true(exists(test_folder(), "memory"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(jpegs_are_given_back),
    cmocka_unit_test(pixels_become_png_or_jpeg),
    cmocka_unit_test(jpegs_have_the_quality),
    cmocka_unit_test(wrong_sizes_are_refused),
    cmocka_unit_test(images_of_arrays),
    cmocka_unit_test(arrays_become_npy_files),
    cmocka_unit_test(files_without_a_name_have_the_extension_of_their_format),
    cmocka_unit_test(a_catalog_reads_the_same_samples),
    cmocka_unit_test(a_name_that_is_taken_gets_a_number),
    cmocka_unit_test(names_cannot_leave_the_folder_nor_meet),
    cmocka_unit_test(folders_that_begin_alike),
    cmocka_unit_test(variants_have_a_suffix),
    cmocka_unit_test(records_are_selected),
    cmocka_unit_test(lost_records_and_lists_of_labels),
    cmocka_unit_test(nothing_is_overwritten_unless_asked),
    cmocka_unit_test(a_file_in_place_of_a_folder_is_kept),
    cmocka_unit_test(a_full_disk_leaves_nothing),
    cmocka_unit_test(abandoned_folders_are_removed),
    cmocka_unit_test(damaged_records_can_be_skipped),
    cmocka_unit_test(every_allocation_may_fail),
};
FGT_MAIN(tests)
