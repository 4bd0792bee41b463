/* JPEGs with segments: the transcoded image has the coefficients of the source, a crop has the
 * pixels of the complete image decoded by libjpeg, and damaged bytes are an error or change pixels,
 * nothing else.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "image/jpeg_segment.h"
#include "image/jpeg_segment_record.h"
#include "image/jpeg_segment_table.h"
#include "image/jpeg_transcode.h"
#include "made_jpeg.h"

static fg_error err;
static fgi_jpeg_cropper *cropper;

/* A source and what the transcoder makes of it. */
typedef struct made {
    uint8_t *source;
    size_t size;
    fgi_buf jpeg, table;
} made;

static made make(const fgt_jpeg_spec *spec, int mcus_per_segment)
{
    made m = {0};
    m.source = fgt_jpeg_make(spec, &m.size);
    fgt_ok(fgi_jpeg_transcode_segments("made.jpg", m.source, m.size, mcus_per_segment, &m.jpeg,
                                       &m.table, &err));
    return m;
}

static void drop(made *m)
{
    free(m->source);
    fgi_buf_fini(&m->jpeg);
    fgi_buf_fini(&m->table);
}

static fgi_jpeg_record record_of(const made *m)
{
    return (fgi_jpeg_record){"made.jpg", m->jpeg.data, m->jpeg.size, m->table.data, m->table.size};
}

static uint32_t draw(uint32_t *state, uint32_t bound)
{
    *state = *state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(*state >> 8) * bound >> 24);
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* Decodes a crop and compares it with the rectangle of the whole image. */
static void check_crop(const fgi_jpeg_record *record, fgi_jpeg_crop crop, const uint8_t *whole,
                       int width)
{
    const size_t stride = (size_t)crop.width * 3;
    uint8_t *pixels = malloc(stride * (size_t)crop.height);
    assert_non_null(pixels);
    fgt_ok(fgi_jpeg_segment_decode(cropper, record, &crop, pixels, stride, &err));
    for (int y = 0; y < crop.height; y++) {
        const uint8_t *expected = whole + ((size_t)(crop.y + y) * (size_t)width + crop.x) * 3;
        if (memcmp(pixels + stride * (size_t)y, expected, stride) != 0)
            fail_msg("crop %d x %d at (%d, %d) / %d: row %d differs", crop.width, crop.height,
                     crop.x, crop.y, crop.divisor, y);
    }
    free(pixels);
}

/* The whole image, its corners and random crops, at one size. */
static void check_crops(const fgi_jpeg_record *record, const made *m, int divisor, int count)
{
    int width, height;
    uint8_t *whole = fgt_jpeg_pixels(m->source, m->size, divisor, &width, &height);
    uint32_t state = 7;
    check_crop(record, (fgi_jpeg_crop){0, 0, width, height, divisor}, whole, width);
    check_crop(record, (fgi_jpeg_crop){width - 1, height - 1, 1, 1, divisor}, whole, width);
    for (int i = 0; i < count; i++) {
        const int x = (int)draw(&state, (uint32_t)width), y = (int)draw(&state, (uint32_t)height);
        const int w = 1 + (int)draw(&state, (uint32_t)(width - x));
        const int h = 1 + (int)draw(&state, (uint32_t)(height - y));
        check_crop(record, (fgi_jpeg_crop){x, y, w, h, divisor}, whole, width);
    }
    free(whole);
}

static const fgt_jpeg_spec specs[] = {
    {.width = 1, .height = 1},
    {.width = 7, .height = 9},
    {.width = 17, .height = 33, .components = 1},
    {.width = 17, .height = 33, .h = 1, .v = 1},
    {.width = 128, .height = 32},
    {.width = 129, .height = 65, .quality = 100},
    {.width = 200, .height = 90, .components = 1, .optimized = true},
    {.width = 205, .height = 77, .h = 2, .v = 1},
    {.width = 205, .height = 77, .h = 1, .v = 2},
    {.width = 333, .height = 250, .progressive = true},
    {.width = 250, .height = 131, .restart = 3},
    {.width = 250, .height = 131, .quality = 30, .smooth = true},
    {.width = 299, .height = 100, .h = 4, .v = 1},
};

enum { SPECS = sizeof(specs) / sizeof(specs[0]) };

static void transcoding_keeps_the_coefficients(void **state)
{
    static const int intervals[] = {FGI_JPEG_SEGMENTS_AUTO, FGI_JPEG_SEGMENTS_ROWS, 1, 5, 65535};
    for (size_t i = 0; i < SPECS; i++) {
        for (size_t k = 0; k < sizeof(intervals) / sizeof(intervals[0]); k++) {
            made m = make(&specs[i], intervals[k]);
            fgt_jpeg_same_coefficients(m.source, m.size, (const uint8_t *)m.jpeg.data, m.jpeg.size);
            drop(&m);
        }
    }
}

static void crops_have_the_pixels_of_the_whole_image(void **state)
{
    static const int intervals[] = {FGI_JPEG_SEGMENTS_AUTO, FGI_JPEG_SEGMENTS_ROWS, 5};
    for (size_t i = 0; i < SPECS; i++) {
        for (size_t k = 0; k < sizeof(intervals) / sizeof(intervals[0]); k++) {
            made m = make(&specs[i], intervals[k]);
            const fgi_jpeg_record record = record_of(&m);
            check_crops(&record, &m, 1, 25);
            assert_true(fgi_jpeg_cropper_entropy_ns(cropper) > 0);
            drop(&m);
        }
    }
}

static void reduced_crops_have_the_pixels_of_the_reduced_image(void **state)
{
    for (size_t i = 0; i < SPECS; i++) {
        made m = make(&specs[i], FGI_JPEG_SEGMENTS_AUTO);
        const fgi_jpeg_record record = record_of(&m);
        for (int divisor = 2; divisor <= 8; divisor *= 2)
            check_crops(&record, &m, divisor, 8);
        drop(&m);
    }
}

/* Also for the sources, progressive ones included. */
static void without_a_table_the_pixels_are_the_same(void **state)
{
    for (size_t i = 0; i < SPECS; i++) {
        made m = make(&specs[i], FGI_JPEG_SEGMENTS_AUTO);
        const fgi_jpeg_record record = {"source.jpg", m.source, m.size, NULL, 0};
        check_crops(&record, &m, 1, 8);
        assert_true(fgi_jpeg_cropper_entropy_ns(cropper) > 0);
        drop(&m);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct {
    int width, height, wanted, interval;
    size_t count;
    bool is_gray; /* with factors of 2, which have no effect: an MCU is a block */
} intervals[] = {
    {128, 64, FGI_JPEG_SEGMENTS_AUTO, 8, 4, false}, /* a row of 8 MCUs */
    {512, 32, FGI_JPEG_SEGMENTS_AUTO, 8, 8, false}, /* 32 MCUs */
    {336, 32, FGI_JPEG_SEGMENTS_AUTO, 7, 6, false}, /* 21 MCUs: 7 divides them, 8 does not */
    {496, 32, FGI_JPEG_SEGMENTS_AUTO, 8, 8, false}, /* 31 MCUs, a prime number */
    {512, 32, FGI_JPEG_SEGMENTS_ROWS, 32, 2, false},
    {512, 32, 10, 10, 7, false},
    {192, 32, FGI_JPEG_SEGMENTS_AUTO, 12, 2, false},      /* the longest row that is not divided */
    {208, 32, FGI_JPEG_SEGMENTS_AUTO, 8, 4, false},       /* 13 MCUs */
    {832, 32, FGI_JPEG_SEGMENTS_AUTO, 4, 26, false},      /* 52 MCUs: 4 is the nearest divisor */
    {1600, 1250, FGI_JPEG_SEGMENTS_AUTO, 4, 1975, false}, /* two megapixels; 79 rows of 100 MCUs */
    {1600, 1249, FGI_JPEG_SEGMENTS_AUTO, 10, 790, false},
    {192, 64, FGI_JPEG_SEGMENTS_AUTO, 8, 24, true}, /* 24 MCUs */
};

static void segments_are_rows_or_divide_them(void **state)
{
    for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
        const bool is_gray = intervals[i].is_gray;
        made m = make(&(fgt_jpeg_spec){.width = intervals[i].width,
                                       .height = intervals[i].height,
                                       .components = is_gray ? 1 : 3,
                                       .h = is_gray ? 2 : 0,
                                       .v = is_gray ? 2 : 0},
                      intervals[i].wanted);
        fgi_jpeg_segment_table table = {0};
        fgt_ok(fgi_jpeg_segment_table_read(&table, "made.jpg", (const uint8_t *)m.table.data,
                                           m.table.size, m.jpeg.size, &err));
        assert_int_equal(table.interval, intervals[i].interval);
        assert_int_equal(table.count, intervals[i].count);
        assert_int_equal(table.begin[table.count], m.jpeg.size);
        fgi_jpeg_segment_table_fini(&table);
        drop(&m);
    }
}

/* One segment of more than 65534 bytes uses the list of large sizes. */
static void a_large_segment_uses_the_escape(void **state)
{
    made m =
        make(&(fgt_jpeg_spec){.width = 400, .height = 400, .h = 1, .v = 1, .quality = 100}, 65535);
    assert_int_equal(m.table.size, 16 + 2 + 4);
    const fgi_jpeg_record record = record_of(&m);
    check_crops(&record, &m, 1, 3);
    drop(&m);
}

/* Of one segment of `size` zeros, after headers of 12 bytes: an image for the table only. */
static void check_escape(size_t size)
{
    static const uint8_t head[] = {0xff, 0xd8, 0xff, 0xdd, 0, 4, 0, 1, 0xff, 0xda, 0, 2};
    fgi_buf jpeg = {0}, out = {0};
    fgi_jpeg_segment_table table = {0};
    fgi_buf_add(&jpeg, head, sizeof head);
    for (size_t i = 0; i < size; i++)
        fgi_buf_putc(&jpeg, '\0');
    fgi_buf_add(&jpeg, "\xff\xd9", 2);
    fgt_ok(fgi_jpeg_segment_table_write("f", (const uint8_t *)jpeg.data, jpeg.size, &out, &err));
    assert_int_equal(out.size, size < 65535 ? 18 : 22);
    const uint16_t stored = size < 65535 ? (uint16_t)size : 65535;
    assert_memory_equal(out.data + 16, &stored, 2);
    const uint32_t large = (uint32_t)size;
    if (size >= 65535)
        assert_memory_equal(out.data + 18, &large, 4);
    fgt_ok(fgi_jpeg_segment_table_read(&table, "f", (const uint8_t *)out.data, out.size, jpeg.size,
                                       &err));
    assert_true(table.count == 1 && table.interval == 1);
    assert_true(table.begin[0] == 12 && table.begin[1] == 12 + size + 2);
    fgi_jpeg_segment_table_fini(&table);
    fgi_buf_fini(&jpeg);
    fgi_buf_fini(&out);
}

static void sizes_from_65535_are_in_the_list(void **state)
{
    check_escape(1);
    check_escape(65534);
    check_escape(65535);
    check_escape(65536);
}

static const struct {
    uint8_t table[24];
    size_t size;
    const char *message;
} bad_tables[] = {
    {"FGST\1\0\1\0\14\0\0\0\1\0\0\0\5\0", 18, NULL}, /* right: one segment of 5 bytes */
    {"FGSX\1\0\1\0\14\0\0\0\1\0\0\0\5\0", 18, "byte 0: expected 'FGST'"},
    {"FGST\0\0\1\0\14\0\0\0\1\0\0\0\5\0", 18,
     "byte 4: version 0; this program reads version 1\nupdate the program or transcode the image "
     "again"},
    {"FGST\1\0\0\0\14\0\0\0\1\0\0\0\5\0", 18,
     "byte 6: 0 MCUs per segment, 1 segments: not possible in 18 bytes"},
    {"FGST\1\0\1\0\14\0\0\0\0\0\0\0\5\0", 18,
     "byte 6: 1 MCUs per segment, 0 segments: not possible in 18 bytes"},
    {"FGST\1\0\1\0\14\0\0\0\2\0\0\0\5\0", 18,
     "byte 6: 1 MCUs per segment, 2 segments: not possible in 18 bytes"},
    {"FGST\1\0\1\0\14\0\0\0\1\0\0\0\5\0\0\0", 20,
     "18 of 20 bytes used; the segments end at byte 19 of an image of 19 bytes"},
    {"FGST\1\0\1\0\14\0\0\0\1\0\0\0\6\0", 18,
     "18 of 18 bytes used; the segments end at byte 20 of an image of 19 bytes"},
};

static void bad_tables_are_named(void **state)
{
    fgi_jpeg_segment_table table = {0};
    for (size_t i = 0; i < sizeof bad_tables / sizeof *bad_tables; i++) {
        char expected[200];
        const fg_status status = fgi_jpeg_segment_table_read(&table, "f", bad_tables[i].table,
                                                             bad_tables[i].size, 19, &err);
        assert_int_equal(status, bad_tables[i].message == NULL ? FG_OK : FG_EFORMAT);
        (void)snprintf(expected, sizeof expected, "f: segment table: %s", bad_tables[i].message);
        if (status != FG_OK)
            assert_string_equal(err.message, expected);
    }
    fgi_jpeg_segment_table_fini(&table);
}

static void exif_and_icc_are_kept(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 40, .height = 30, .metadata = true}, 0);
    assert_non_null(memmem(m.jpeg.data, m.jpeg.size, "Exif\0\0MM\0*", 10));
    assert_non_null(memmem(m.jpeg.data, m.jpeg.size, "ICC_PROFILE\0\1\1profile", 21));
    assert_null(memmem(m.jpeg.data, m.jpeg.size, "a comment", 9));
    assert_non_null(memmem(m.source, m.size, "a comment", 9));
    drop(&m);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void expect(fg_status expected, fg_status got, const char *message)
{
    if (got != expected || strstr(err.message, message) == NULL)
        fail_msg("expected '%s', got %s: %s", message, fg_status_name(got), err.message);
}

static void damaged_sources_are_refused(void **state)
{
    size_t size = 0;
    uint8_t *jpeg = fgt_jpeg_make(&(fgt_jpeg_spec){.width = 100, .height = 80}, &size);
    fgi_buf out = {0}, table = {0};
    expect(FG_EFORMAT,
           fgi_jpeg_transcode_segments("cut.jpg", jpeg, size / 2, 0, &out, &table, &err),
           "cut.jpg: byte ");
    expect(FG_EFORMAT, fgi_jpeg_transcode_segments("no.jpg", "text", 4, 0, &out, &table, &err),
           "no.jpg: byte ");
    expect(FG_EINVAL, fgi_jpeg_transcode_segments("a.jpg", jpeg, size, 65536, &out, &table, &err),
           "expected 1 to 65535 MCUs per segment, got 65536");
    fgi_buf_fini(&out);
    fgi_buf_fini(&table);
    free(jpeg);
}

static void bad_crops_and_tables_are_refused(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 100, .height = 80}, 0);
    uint8_t pixels[3];
    fgi_jpeg_record record = record_of(&m);
    expect(FG_EINVAL,
           fgi_jpeg_segment_decode(cropper, &record, &(fgi_jpeg_crop){100, 0, 1, 1, 1}, pixels, 3,
                                   &err),
           "made.jpg: crop of 1 x 1 pixels at (100, 0) is not inside the image of 100 x 80");
    expect(
        FG_EINVAL,
        fgi_jpeg_segment_decode(cropper, &record, &(fgi_jpeg_crop){0, 0, 1, 1, 3}, pixels, 3, &err),
        "expected a divisor of 1, 2, 4 or 8, got 3");
    m.table.data[4] = 2;
    expect(
        FG_EFORMAT,
        fgi_jpeg_segment_decode(cropper, &record, &(fgi_jpeg_crop){0, 0, 1, 1, 1}, pixels, 3, &err),
        "made.jpg: segment table: byte 4: version 2; this program reads version 1");
    drop(&m);
}

static void a_damaged_segment_is_named(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 128, .height = 64}, 0);
    fgi_jpeg_segment_table table = {0};
    uint8_t *pixels = malloc((size_t)128 * 64 * 3);
    assert_non_null(pixels);
    fgt_ok(fgi_jpeg_segment_table_read(&table, "made.jpg", (const uint8_t *)m.table.data,
                                       m.table.size, m.jpeg.size, &err));
    char *end = m.jpeg.data + table.begin[3] - 2; /* the last bytes come twice: one block too few */
    memcpy(end - 80, end - 40, 40);
    const fgi_jpeg_record record = record_of(&m);
    const fg_status status = fgi_jpeg_segment_decode(
        cropper, &record, &(fgi_jpeg_crop){0, 0, 128, 64, 1}, pixels, 384, &err);
    expect(FG_EFORMAT, status, "segment 2 of 4 is damaged");
    fgt_ok(fgi_jpeg_segment_decode(cropper, &record, &(fgi_jpeg_crop){0, 0, 128, 16, 1}, pixels,
                                   384, &err));
    fgi_jpeg_segment_table_fini(&table);
    free(pixels);
    drop(&m);
}

/* Each byte of a small image and its table, changed in three ways. */
static void no_damaged_byte_does_more_than_change_pixels(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 40, .height = 40}, 2);
    const size_t total = m.jpeg.size + m.table.size;
    size_t errors = 0;
    for (size_t i = 0; i < 3 * total; i++) {
        /* copies of the exact size, so that ASan sees reads past the end */
        uint8_t *jpeg = malloc(m.jpeg.size), *table = malloc(m.table.size);
        uint8_t pixels[30 * 30 * 3];
        assert_true(jpeg != NULL && table != NULL);
        memcpy(jpeg, m.jpeg.data, m.jpeg.size);
        memcpy(table, m.table.data, m.table.size);
        uint8_t *byte = i / 3 < m.jpeg.size ? &jpeg[i / 3] : &table[i / 3 - m.jpeg.size];
        *byte ^= i % 3 == 0 ? 0xff : i % 3 == 1 ? 1 : 0x40;
        const fgi_jpeg_record record = {"made.jpg", jpeg, m.jpeg.size, table, m.table.size};
        if (fgi_jpeg_segment_decode(cropper, &record, &(fgi_jpeg_crop){5, 7, 30, 30, 1}, pixels, 90,
                                    &err) != FG_OK) {
            assert_non_null(strstr(err.message, "made.jpg"));
            errors++;
        }
        free(jpeg);
        free(table);
    }
    assert_in_range(errors, total / 4, 3 * total - 1);
    drop(&m);
}

/* ---- records --------------------------------------------------------------------------------- */

static void a_record_is_split_where_it_was_joined(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 100, .height = 80}, 0);
    const size_t jpeg = m.jpeg.size;
    fgi_jpeg_record record;
    fgi_jpeg_record_append(&m.jpeg, &m.table);
    fgt_ok(fgi_buf_status(&m.jpeg, &err));
    assert_int_equal(m.jpeg.size, jpeg + m.table.size + 4);
    assert_int_equal((uint8_t)m.jpeg.data[m.jpeg.size - 4], m.table.size & 255);
    fgt_ok(fgi_jpeg_record_split("made.jpg", m.jpeg.data, m.jpeg.size, &record, &err));
    assert_int_equal(record.size, jpeg);
    assert_ptr_equal(record.bytes, m.jpeg.data);
    assert_int_equal(record.table_size, m.table.size);
    assert_memory_equal(record.table, m.table.data, m.table.size);
    check_crops(&record, &m, 1, 3);
    drop(&m);
}

/* The size has four bytes, and each counts. */
static void a_table_may_be_large(void **state)
{
    static const char table[0x123456];
    static const unsigned char size[] = {0x56, 0x34, 0x12, 0};
    fgi_buf jpeg = {0}, large = {0};
    fgi_jpeg_record record;
    (void)state;
    fgi_buf_add(&jpeg, "\xff\xd8", 2);
    fgi_buf_add(&large, table, sizeof table);
    fgi_jpeg_record_append(&jpeg, &large);
    fgt_ok(fgi_buf_status(&jpeg, &err));
    assert_memory_equal(jpeg.data + jpeg.size - 4, size, 4);
    fgt_ok(fgi_jpeg_record_split("a", jpeg.data, jpeg.size, &record, &err));
    assert_int_equal(record.table_size, sizeof table);
    fgi_buf_fini(&jpeg);
    fgi_buf_fini(&large);
}

/* Each bit of the size and each length of the record: an error, or a table that is refused. */
static void a_record_with_a_wrong_size_is_refused(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 40, .height = 40}, 2);
    fgi_jpeg_record record;
    uint8_t pixel[3];
    fgi_jpeg_record_append(&m.jpeg, &m.table);
    for (size_t i = 0; i < m.jpeg.size + 32; i++) {
        const size_t size = i < m.jpeg.size ? i : m.jpeg.size;
        uint8_t *bytes = malloc(size + 1); /* a copy, so that ASan sees reads past the end */
        assert_non_null(bytes);
        memcpy(bytes + 1, m.jpeg.data, size);
        if (i >= m.jpeg.size)
            bytes[1 + size - 4 + (i - size) / 8] ^= (uint8_t)(1 << (i - size) % 8);
        fg_status status = fgi_jpeg_record_split("made.jpg", bytes + 1, size, &record, &err);
        if (status == FG_OK)
            status = fgi_jpeg_segment_decode(cropper, &record, &(fgi_jpeg_crop){9, 9, 1, 1, 1},
                                             pixel, 3, &err);
        expect(FG_EFORMAT, status, "made.jpg: ");
        free(bytes);
    }
    expect(FG_EFORMAT, fgi_jpeg_record_split("a.jpg", "abc", 3, &record, &err),
           "a.jpg: a record of 3 bytes; expected a JPEG with a segment table");
    expect(FG_EFORMAT, fgi_jpeg_record_split("a.jpg", "\x11\0\0\0", 4, &record, &err),
           "a.jpg: byte 0: a segment table of 17 bytes is not possible in a record of 4 bytes");
    m.jpeg.data[1] = 'x';
    expect(FG_EFORMAT, fgi_jpeg_record_split("a.jpg", m.jpeg.data, m.jpeg.size, &record, &err),
           "a.jpg: byte 0: expected a JPEG before the segment table");
    drop(&m);
}

/* The least is a header of 16 bytes and the size of one segment. */
static void the_smallest_table_has_18_bytes(void **state)
{
    fgi_jpeg_record record;
    char small[60] = "\xff\xd8";
    small[56] = 17;
    expect(FG_EFORMAT, fgi_jpeg_record_split("a.jpg", small, 60, &record, &err),
           "a.jpg: byte 56: a segment table of 17 bytes is not possible in a record of 60 bytes");
    small[56] = 18;
    fgt_ok(fgi_jpeg_record_split("a.jpg", small, 60, &record, &err));
    assert_int_equal(record.size, 38);
}

static fg_status transcode_and_decode(void *self, fg_error *error)
{
    const fgi_jpeg_record *source = self;
    uint8_t pixels[20 * 20 * 3];
    fgi_buf jpeg = {0}, table = {0};
    fgi_jpeg_cropper *mine = NULL;
    fg_status status = fgi_jpeg_transcode_segments("made.jpg", source->bytes, source->size, 2,
                                                   &jpeg, &table, error);
    if (status == FG_OK)
        status = fgi_jpeg_cropper_create(&mine, error);
    fgi_jpeg_record record;
    fgi_jpeg_record_append(&jpeg, &table);
    if (status == FG_OK)
        status = fgi_buf_status(&jpeg, error);
    if (status == FG_OK)
        status = fgi_jpeg_record_split("made.jpg", jpeg.data, jpeg.size, &record, error);
    if (status == FG_OK)
        status = fgi_jpeg_segment_decode(mine, &record, &(fgi_jpeg_crop){9, 9, 20, 20, 1}, pixels,
                                         60, error);
    fgi_jpeg_cropper_destroy(mine);
    fgi_buf_fini(&jpeg);
    fgi_buf_fini(&table);
    return status;
}

static void allocations_may_fail(void **state)
{
    fgi_jpeg_record source = {.name = "made.jpg"};
    uint8_t *jpeg = fgt_jpeg_make(&(fgt_jpeg_spec){.width = 50, .height = 40}, &source.size);
    source.bytes = jpeg;
    fgt_fault_loop(transcode_and_decode, &source);
    free(jpeg);
}

static int open_cropper(void **state) { return (int)fgi_jpeg_cropper_create(&cropper, &err); }

static int close_cropper(void **state)
{
    fgi_jpeg_cropper_destroy(cropper);
    return 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(transcoding_keeps_the_coefficients),
    cmocka_unit_test(crops_have_the_pixels_of_the_whole_image),
    cmocka_unit_test(reduced_crops_have_the_pixels_of_the_reduced_image),
    cmocka_unit_test(without_a_table_the_pixels_are_the_same),
    cmocka_unit_test(segments_are_rows_or_divide_them),
    cmocka_unit_test(a_large_segment_uses_the_escape),
    cmocka_unit_test(sizes_from_65535_are_in_the_list),
    cmocka_unit_test(bad_tables_are_named),
    cmocka_unit_test(exif_and_icc_are_kept),
    cmocka_unit_test(damaged_sources_are_refused),
    cmocka_unit_test(bad_crops_and_tables_are_refused),
    cmocka_unit_test(a_damaged_segment_is_named),
    cmocka_unit_test(a_record_is_split_where_it_was_joined),
    cmocka_unit_test(a_table_may_be_large),
    cmocka_unit_test(the_smallest_table_has_18_bytes),
    cmocka_unit_test(a_record_with_a_wrong_size_is_refused),
    cmocka_unit_test(no_damaged_byte_does_more_than_change_pixels),
    cmocka_unit_test(allocations_may_fail),
};

int main(void) { return cmocka_run_group_tests(tests, open_cropper, close_cropper) == 0 ? 0 : 1; }
