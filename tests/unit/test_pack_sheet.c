/* test_pack_sheet.c - contact sheets: the pixels at known places, and what is selected. Thumbnails
 * of packs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/pack_dataset.h>
#include <fulgurite/pack_export.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "coefficient_pack.h"
#include "golden.h"
#include "pack_read.h"
#include "photo_pack.h"
#include "sheet.h"
#include "doc/doc.h"
#include "tiny_text.h"

static const char *const class_names[] = {"red", "green", "blue"};

/* What a function of pack_read.h appends, as a string that the caller frees; NULL after a failure.
 */
static fg_status take(fg_status status, fgi_buf *text, char **out)
{
    *out = status == FG_OK ? fgi_buf_take(text) : NULL;
    fgi_buf_fini(text);
    return status;
}

static fg_status drawn(const char *path, const pack_sheet_options *options, const char *out_path,
                       char **out, fg_error *err)
{
    static const pack_sheet_options defaults;
    fgi_buf text = {0};
    return take(pack_sheet(path, options != NULL ? options : &defaults, out_path, &text, err),
                &text, out);
}

static fg_status exported(const char *path, const char *folder,
                          const fg_pack_export_options *options, char **out, fg_error *err)
{
    fgi_buf text = {0};
    return take(pack_export(path, folder, options, &text, err), &text, out);
}

/* Record i has class i % 3 and its color, and is twice as wide as high. */
static const char *colors_pack(void)
{
    static const char *path;
    fg_error err = {0};
    fg_pack_writer *writer = NULL;
    if (path != NULL)
        return path;
    path = strdup(fgt_path(fgt_temp_folder(), "colors.pack"));
    fgt_ok(fg_pack_writer_create(
        path, &(fg_pack_writer_options){.class_names = class_names, .class_count = 3}, &writer,
        NULL, &err));
    for (int i = 0; i < 9; i++) {
        uint8_t pixels[8 * 4 * 3] = {0};
        char name[16];
        for (int k = 0; k < 32; k++)
            pixels[3 * k + i % 3] = 200;
        (void)snprintf(name, sizeof name, "c/%d.png", i);
        const fg_pack_entry entry = {.name = name,
                                     .codec = FG_PACK_RAW_RGB,
                                     .width = 8,
                                     .height = 4,
                                     .label = i == 8 ? FG_PACK_NO_LABEL : i % 3,
                                     .split = i < 6 ? FG_TRAIN : FG_VAL};
        fgt_ok(fg_pack_writer_add(writer, &entry, pixels, sizeof pixels, &err));
    }
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    return path;
}

static void read_png(const char *path, fg_image *out)
{
    fg_error err = {0};
    static unsigned char bytes[1 << 20];
    fg_image_decoder *decoder = NULL;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fg_image_decode(decoder, path, bytes, size, NULL, out, &err));
    fg_image_decoder_destroy(decoder);
}

static void check_pixel(const fg_image *image, int64_t x, int64_t y, int r, int g, int b)
{
    const uint8_t *p = image->pixels + (y * image->width + x) * 3;
    if (p[0] != r || p[1] != g || p[2] != b)
        fail_msg("pixel (%d, %d) is %d, %d, %d: expected %d, %d, %d", (int)x, (int)y, p[0], p[1],
                 p[2], r, g, b);
}

static int dark_pixels(const fg_image *image, int64_t x, int64_t y, int64_t width, int64_t height)
{
    int count = 0;
    for (int64_t row = y; row < y + height; row++)
        for (int64_t column = x; column < x + width; column++)
            count += image->pixels[(row * image->width + column) * 3] == 0;
    return count;
}

enum { CELL = 32, STEP_X = CELL + SHEET_GAP, STEP_Y = CELL + SHEET_LABEL + SHEET_GAP };

static void images_are_in_their_cells(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL;
    fg_image image = {0};
    const char *out = fgt_path(fgt_temp_folder(), "sheet.png");
    const pack_sheet_options o = {.rows = 2, .columns = 5, .cell = CELL};
    fgt_ok(drawn(colors_pack(), &o, out, &text, &err));
    assert_string_equal(text, "1\t1\t0\tred\tc/0.png\n1\t2\t1\tgreen\tc/1.png\n"
                              "1\t3\t2\tblue\tc/2.png\n1\t4\t3\tred\tc/3.png\n"
                              "1\t5\t4\tgreen\tc/4.png\n2\t1\t5\tblue\tc/5.png\n"
                              "2\t2\t6\tred\tc/6.png\n2\t3\t7\tgreen\tc/7.png\n"
                              "2\t4\t8\t\tc/8.png\n");
    read_png(out, &image);
    assert_int_equal(image.width, SHEET_GAP + 5 * STEP_X);
    assert_int_equal(image.height, SHEET_GAP + 2 * STEP_Y);
    for (int i = 0; i < 9; i++) {
        const int64_t x = SHEET_GAP + i % 5 * STEP_X, y = SHEET_GAP + i / 5 * STEP_Y;
        const int r = i % 3 == 0 ? 200 : 0, g = i % 3 == 1 ? 200 : 0, b = i % 3 == 2 ? 200 : 0;
        check_pixel(&image, x - 1, y, 255, 255, 255);
        check_pixel(&image, x, y, 235, 235, 235); /* above the image: 32 x 16 in the middle */
        check_pixel(&image, x, y + 7, 235, 235, 235);
        check_pixel(&image, x, y + 8, r, g, b);
        check_pixel(&image, x + 31, y + 23, r, g, b);
        check_pixel(&image, x + 31, y + 24, 235, 235, 235);
        assert_true(dark_pixels(&image, x, y + CELL, CELL, SHEET_LABEL) > 10);
    }
    const int64_t last_y = SHEET_GAP + STEP_Y, last_x = SHEET_GAP + 4 * STEP_X;
    check_pixel(&image, last_x, last_y + 8, 235, 235, 235); /* no record 9 */
    assert_int_equal(dark_pixels(&image, last_x, last_y + CELL, CELL, SHEET_LABEL), 0);
    fg_image_fini(&image);
    fgi_free(text);
}

static void records_are_selected_by_class_split_and_at_random(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL, *again = NULL;
    const char *out = fgt_path(fgt_temp_folder(), "selected.png");
    pack_sheet_options o = {.rows = 2, .columns = 2, .cell = 16, .by_class = true};
    o.select.split = "val";
    fgt_ok(drawn(colors_pack(), &o, out, &text, &err));
    assert_string_equal(text, "1\t1\t6\tred\tc/6.png\n2\t1\t7\tgreen\tc/7.png\n");
    fgi_free(text);
    o.rows = 5; /* as many as there are classes */
    fgt_ok(drawn(colors_pack(), &o, out, &text, &err));
    assert_string_equal(text, "1\t1\t6\tred\tc/6.png\n2\t1\t7\tgreen\tc/7.png\n");
    fgi_free(text);
    o.select.split = "train";
    fgt_ok(drawn(colors_pack(), &o, out, &text, &err));
    assert_string_equal(text, "1\t1\t0\tred\tc/0.png\n1\t2\t3\tred\tc/3.png\n"
                              "2\t1\t1\tgreen\tc/1.png\n2\t2\t4\tgreen\tc/4.png\n"
                              "3\t1\t2\tblue\tc/2.png\n3\t2\t5\tblue\tc/5.png\n");
    fgi_free(text);
    o = (pack_sheet_options){.rows = 1, .columns = 4, .cell = 16};
    o.select.shuffle = true;
    fgt_ok(drawn(colors_pack(), &o, out, &text, &err));
    o.select.seed = 1;
    fgt_ok(drawn(colors_pack(), &o, out, &again, &err));
    assert_string_not_equal(text, again);
    fgi_free(text);
    fgi_free(again);
}

/* Six rows of eight cells of 128 pixels; of several labels, the first one is shown. */
static void sheets_have_defaults(void **state)
{
    static const uint8_t pixel[3];
    static const int32_t labels[] = {2, 1};
    fg_error err = {0};
    char *text = NULL;
    fg_image image = {0};
    fg_pack_writer *writer = NULL;
    const char *folder = fgt_temp_folder(), *out = fgt_path(folder, "sheet.png");
    (void)state;
    const fg_pack_entry entry = {.name = "a/b.png",
                                 .codec = FG_PACK_RAW_RGB,
                                 .width = 1,
                                 .height = 1,
                                 .label = FG_PACK_NO_LABEL,
                                 .labels = labels,
                                 .label_count = 2};
    fgt_ok(fg_pack_writer_create(
        fgt_path(folder, "several.pack"),
        &(fg_pack_writer_options){.class_names = class_names, .class_count = 3}, &writer, NULL,
        &err));
    fgt_ok(fg_pack_writer_add(writer, &entry, pixel, 3, &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    fgt_ok(drawn(fgt_path(folder, "several.pack"), NULL, out, &text, &err));
    assert_string_equal(text, "1\t1\t0\tblue\ta/b.png\n");
    read_png(out, &image);
    assert_int_equal(image.width, SHEET_GAP + 8 * (128 + SHEET_GAP));
    assert_int_equal(image.height, SHEET_GAP + 6 * (128 + SHEET_LABEL + SHEET_GAP));
    fg_image_fini(&image);
    fgi_free(text);
}

static void mistakes_are_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL;
    const char *out = fgt_path(fgt_temp_folder(), "none.png");
    static const pack_sheet_options bad[] = {
        {.rows = -1},        {.columns = -1},   {.cell = 15},
        {.cell = INT32_MAX}, {.rows = 1000000}, {.rows = INT32_MAX, .columns = INT32_MAX},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(drawn(colors_pack(), &bad[i], out, &text, &err), FG_EINVAL);
    pack_sheet_options o = {.rows = 1};
    o.select.class_name = "rd";
    assert_int_equal(drawn(colors_pack(), &o, out, &text, &err), FG_ENOTFOUND);
    o.select = (fg_pack_select_options){.split = "test"};
    assert_int_equal(drawn(colors_pack(), &o, out, &text, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "~/colors.pack: no record is selected");
    assert_int_equal(drawn(colors_pack(), NULL, "/no/such/x.png", &text, &err), FG_ENOTFOUND);
    assert_int_equal(drawn(colors_pack(), NULL, "/dev/full", &text, &err), FG_EIO);
    assert_null(text);
}

/* "L" is 4 wide, "i" 3: #... #... #... #... ####, a column between them, ### .#. .#. .#. ### */
static void text_is_drawn(void **state)
{
    (void)state;
    static const char *const rows[] = {"#....###", "#.....#.", "#.....#.", "#.....#.", "####.###"};
    fg_error err = {0};
    fg_image image = {0};
    fgt_ok(fg_image_reserve(&image, 20, 12, 1, &err));
    memset(image.pixels, 255, 240);
    assert_int_equal(tiny_text_width("Li"), 8);
    assert_int_equal(tiny_text_width("\xc3\xa4"), tiny_text_width("?"));
    assert_int_equal(tiny_text_width(""), 0);
    tiny_text_draw(&image, 1, 1, 18, 2, "Lixx"); /* the x do not fit */
    for (int y = 0; y < 12; y++)
        for (int x = 0; x < 20; x++) {
            const bool is_inside = y >= 1 && y < 11 && x >= 1 && x < 17;
            const bool is_dark = is_inside && rows[(y - 1) / 2][(x - 1) / 2] == '#';
            assert_int_equal(image.pixels[y * 20 + x], is_dark ? 0 : 255);
        }
    tiny_text_draw(&image, -3, 9, 100, 3, "MM@~ \xff"); /* over all edges */
    fg_image_fini(&image);
}

/* Each printable character as dots, 16 in a line. */
static void every_glyph(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_image image = {0};
    fgi_buf dots = {0};
    fgt_ok(fg_image_reserve(&image, 110, 5, 1, &err));
    for (int first = ' '; first < 127; first += 16) {
        char text[17];
        for (int i = 0; i < 16; i++)
            text[i] = (char)(first + i < 127 ? first + i : '\0');
        text[16] = '\0';
        memset(image.pixels, 255, 110 * 5);
        tiny_text_draw(&image, 0, 0, 110, 1, text);
        for (int y = 0; y < 5; y++) {
            for (int x = 0; x < 110; x++)
                fgi_buf_putc(&dots, image.pixels[110 * y + x] == 0 ? '#' : '.');
            fgi_buf_putc(&dots, '\n');
        }
        fgi_buf_puts(&dots, "\n");
    }
    assert_non_null(dots.data);
    fgt_golden("report/glyphs.txt", dots.data);
    fgi_buf_fini(&dots);
    fg_image_fini(&image);
}

/* The exit status of a command line that is rejected, or -1. */
static int parse(const cli_command *command, const char *option, const char *text)
{
    const char *argv[] = {"pack", "a.pack", "b", option, text};
    int status = -1;
    cli_call call;
    const bool is_export = command == &cli_pack_export;
    const char **words = is_export ? argv : argv + 1; /* that of a sheet has one argument less */
    if (!is_export)
        argv[1] = "pack", argv[2] = "a.pack";
    return cli_parse(command, is_export ? 5 : 4, words, &call, &status) ? -1 : status;
}

static void options_have_ranges(void **state)
{
    (void)state;
    static const char *const good[][2] = {{"--split", "val"},  {"--class", "null"},
                                          {"--seed", "0"},     {"--seed", "9223372036854775807"},
                                          {"--limit", "12"},   {"--quality", "77"},
                                          {"--format", "jpeg"}};
    static const char *const bad[][2] = {{"--seed", "-1"},   {"--seed", "1x"},     {"--limit", "0"},
                                         {"--quality", "0"}, {"--quality", "101"}, {"--rows", "3"},
                                         {"--format", "gif"}};
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(parse(&cli_pack_export, good[i][0], good[i][1]), -1);
        assert_int_equal(parse(&cli_pack_export, bad[i][0], bad[i][1]), CLI_USAGE);
    }
    static const char *const sheet[] = {"--rows", "--columns", "--cell"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(parse(&cli_pack_show, sheet[i], "50"), -1);
        assert_int_equal(parse(&cli_pack_show, sheet[i], "0"), CLI_USAGE);
        assert_int_equal(parse(&cli_pack_show, sheet[i], "2147483648"), CLI_USAGE);
    }
    assert_int_equal(parse(&cli_pack_show, "--limit", "3"), CLI_USAGE);
}

/* A copy whose first records are damaged. */
static const char *damaged_pack(int count)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    size_t size = 0;
    static char data[1 << 16];
    FILE *file = fopen(colors_pack(), "rb");
    assert_non_null(file);
    size = fread(data, 1, sizeof data, file);
    assert_int_equal(fclose(file), 0);
    fgt_ok(fg_pack_open(colors_pack(), NULL, &pack, &err));
    for (int i = 0; i < count; i++) {
        fg_pack_entry entry;
        fgt_ok(fg_pack_entry_at(pack, i, &entry, &err));
        data[entry.offset_bytes]++;
    }
    fg_pack_close(pack);
    const char *path = fgt_path(fgt_temp_folder(), "damaged.pack");
    fgt_write(path, data, size);
    return path;
}

static void an_export_is_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL, expected[4200];
    char out[4096];
    (void)snprintf(out, sizeof out, "%s", fgt_path(fgt_temp_folder(), "out"));
    fg_pack_export_options o = {.select = {.limit = 4}};
    fgt_ok(exported(colors_pack(), out, &o, &text, &err));
    (void)snprintf(expected, sizeof expected, "%s\t4 files\t", out);
    assert_memory_equal(text, expected, strlen(expected));
    fgi_free(text);
    assert_int_equal(exported(colors_pack(), out, &o, &text, &err), FG_EINVAL);
    assert_int_equal(exported("none.pack", out, &o, &text, &err), FG_ENOTFOUND);
    assert_null(text);
    for (int damaged = 1; damaged <= 2; damaged++) {
        const fg_pack_export_options skip = {.skip_damaged = true, .replace = true};
        fgt_ok(exported(damaged_pack(damaged), out, &skip, &text, &err));
        (void)snprintf(expected, sizeof expected, "%s\t%d files\t", out, 9 - damaged);
        assert_memory_equal(text, expected, strlen(expected));
        assert_string_equal(strchr(text, '\n'), damaged == 1
                                                    ? "\n1 damaged record was skipped\n"
                                                    : "\n2 damaged records were skipped\n");
        fgi_free(text);
    }
}

/* One file, and what its folder cannot say. */
static void an_export_with_a_manifest_is_reported(void **state)
{
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    char pack[4096], out[4096], expected[9000], *text = NULL;
    (void)state;
    (void)snprintf(pack, sizeof pack, "%s", fgt_path(fgt_temp_folder(), "group.pack"));
    (void)snprintf(out, sizeof out, "%s", fgt_path(fgt_temp_folder(), "out"));
    fgt_ok(fg_pack_writer_create(pack, NULL, &w, NULL, &err));
    fgt_ok(fg_pack_writer_add(w, &(fg_pack_entry){.name = "a.jpg", .group = 7}, "abc", 3, &err));
    fgt_ok(fg_pack_writer_finish(w, NULL, &err));
    fg_pack_writer_destroy(w);
    fgt_ok(exported(pack, out, NULL, &text, &err));
    (void)snprintf(expected, sizeof expected,
                   "%s\t1 file\t3 B\n%s/manifest.jsonl has the labels, splits and groups\n", out,
                   out);
    assert_string_equal(text, expected);
    fgi_free(text);
}

#define SHEET_WORDS                                                                                \
    ": expected at least 1 row, 1 column and 16 pixels, and at most 67 million pixels in the "     \
    "sheet"
static const struct {
    int rows, columns, cell;
    const char *message; /* NULL: a sheet */
} sheets[] = {
    {1, 1, 16, NULL},
    {0, 1, 16, "0 rows, 1 columns, cells of 16 pixels" SHEET_WORDS},
    {1, 0, 16, "1 rows, 0 columns, cells of 16 pixels" SHEET_WORDS},
    {1, 1, 15, "1 rows, 1 columns, cells of 15 pixels" SHEET_WORDS},
    {82242, 1, 16, "82242 rows, 1 columns, cells of 16 pixels" SHEET_WORDS},
    {1, 88301, 16, "1 rows, 88301 columns, cells of 16 pixels" SHEET_WORDS},
    {1, 1, 8178, "1 rows, 1 columns, cells of 8178 pixels" SHEET_WORDS},
    {INT_MAX, INT_MAX, INT_MAX,
     "2147483647 rows, 2147483647 columns, cells of 2147483647 pixels" SHEET_WORDS},
};

static void sizes_of_sheets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sheets / sizeof sheets[0]; i++) {
        fg_error err = {0};
        contact_sheet s;
        const fg_status status =
            sheet_create(sheets[i].rows, sheets[i].columns, sheets[i].cell, &s, &err);
        assert_int_equal(status, sheets[i].message == NULL ? FG_OK : FG_EINVAL);
        if (status != FG_OK)
            assert_string_equal(err.message, sheets[i].message);
        else
            assert_true(s.canvas.width == 24 && s.canvas.height == 38);
        sheet_fini(&s);
    }
}

/* The picture of a sample on a report's page is that of other data, whose values are pixels. */
static void check_thumbnail(const fg_dataset *dataset, int64_t i, const fg_dataset *pixels,
                            int64_t k)
{
    char *got = fgi_thumbnail(dataset, i, (int64_t[3]){0});
    char *expected = fgi_thumbnail(pixels, k, (int64_t[3]){0});
    assert_non_null(fg_dataset_encoding(dataset));
    assert_null(fg_dataset_encoding(pixels));
    assert_non_null(got);
    assert_string_equal(got, expected);
    fgi_free(got);
    fgi_free(expected);
}

/* Of records of coefficients, which the device decodes. */
static void check_thumbnails(const char *path)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    fg_dataset *dataset = NULL, *pixels = NULL;
    fg_image_decoder *decoder = NULL;
    fg_image image = {0};
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    fgt_ok(fg_pack_dataset_create(pack, NULL, &dataset, &err));
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (int64_t i = 0; i < fg_dataset_count(dataset); i++) {
        fgt_ok(fg_pack_image(pack, i, decoder, &image, &err));
        const fg_field field = {"image",
                                {.dtype = FG_U8, .rank = 3, .dim = {image.height, image.width, 3}}};
        const fg_dataset_spec spec = {.count = 1, .fields = &field, .field_count = 1};
        fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){image.pixels}, FG_BORROW,
                                      &pixels, &err));
        check_thumbnail(dataset, i, pixels, 0);
        fg_dataset_destroy(pixels);
    }
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
    fg_dataset_destroy(dataset);
    fg_pack_close(pack);
}

static void thumbnails_of_what_the_device_decodes(void **state)
{
    static const fgt_jpeg_spec gray[] = {
        {.width = 17, .height = 30, .components = 1},
        {.width = 17, .height = 30, .components = 1, .quality = 100}};
    static const fgt_jpeg_spec color[] = {{.width = 37, .height = 21},
                                          {.width = 37, .height = 21, .quality = 100}};
    const char *folder = fgt_temp_folder();
    (void)state;
    coefficient_pack_write(fgt_path(folder, "gray.pack"), gray, 2, true);
    check_thumbnails(fgt_path(folder, "gray.pack"));
    coefficient_pack_write(fgt_path(folder, "color.pack"), color, 2, true);
    check_thumbnails(fgt_path(folder, "color.pack"));
}

static void thumbnails_of_planes(void **state)
{
    static const photo_spec spec = {
        .codec = FG_PACK_RAW_YCC420, .count = 2, .width = 33, .height = 25, .is_equal = true};
    fg_pack_dataset_options options = {
        .images = {.height = 25, .width = 33, .crop = FG_IMAGE_CROP_CENTER, .center_fraction = 1}};
    const char *path = fgt_path(fgt_temp_folder(), "planes.pack");
    fg_dataset *dataset[2];
    fg_pack *pack = NULL;
    fg_error err = {0};
    (void)state;
    photo_pack_write(path, &spec);
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    for (int i = 0; i < 2; i++) {
        options.keep_planes = i == 1;
        fgt_ok(fg_pack_dataset_create(pack, &options, &dataset[i], &err));
    }
    for (int64_t i = 0; i < 2; i++)
        check_thumbnail(dataset[1], i, dataset[0], i);
    fg_dataset_destroy(dataset[0]);
    fg_dataset_destroy(dataset[1]);
    fg_pack_close(pack);
}

static fg_status draw_again(void *self, fg_error *err)
{
    char *text = NULL;
    const pack_sheet_options o = {.rows = 1, .columns = 2, .cell = 16, .by_class = true};
    const fg_status status = drawn(colors_pack(), &o, self, &text, err);
    fgi_free(text);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fgt_fault_loop(draw_again, (void *)(uintptr_t)fgt_path(fgt_temp_folder(), "memory.png"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(images_are_in_their_cells),
    cmocka_unit_test(records_are_selected_by_class_split_and_at_random),
    cmocka_unit_test(sheets_have_defaults),
    cmocka_unit_test(mistakes_are_reported),
    cmocka_unit_test(text_is_drawn),
    cmocka_unit_test(every_glyph),
    cmocka_unit_test(options_have_ranges),
    cmocka_unit_test(an_export_is_reported),
    cmocka_unit_test(an_export_with_a_manifest_is_reported),
    cmocka_unit_test(sizes_of_sheets),
    cmocka_unit_test(thumbnails_of_what_the_device_decodes),
    cmocka_unit_test(thumbnails_of_planes),
    cmocka_unit_test(every_allocation_may_fail),
};
FGT_MAIN(tests)
