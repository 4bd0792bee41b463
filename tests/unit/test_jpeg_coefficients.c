/* Records of coefficients: what is unpacked is what libjpeg reads from the JPEG, pixels computed
 * from it differ from libjpeg's by rounding only, and damaged records are errors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/file.h"
#include "image/bit_planes.h"
#include "image/jpeg_coefficients.h"
#include "made_jpeg.h"

static fg_error err;

static const fgt_jpeg_spec specs[] = {
    {.width = 1, .height = 1},
    {.width = 7, .height = 9},
    {.width = 17, .height = 33, .components = 1},
    {.width = 64, .height = 48},
    {.width = 61, .height = 35, .quality = 100},
    {.width = 61, .height = 35, .h = 1, .v = 1},
    {.width = 61, .height = 35, .h = 2, .v = 1},
    {.width = 61, .height = 35, .h = 1, .v = 2},
    {.width = 61, .height = 35, .progressive = true},
    {.width = 90, .height = 70, .smooth = true, .quality = 60},
};

enum { SPECS = sizeof(specs) / sizeof(specs[0]) };

/* A JPEG, its record, and the exact coefficients unpacked from it. */
typedef struct made {
    uint8_t *jpeg;
    size_t size;
    fgi_buf bytes;
    fgi_jpeg_coefficients record;
    int8_t *dense;
    int16_t *wide;
} made;

static void unpack(made *m)
{
    fgt_ok(fgi_jpeg_coefficients_open("made", m->bytes.data, m->bytes.size, &m->record, &err));
    m->dense = malloc(fgi_jpeg_dense_bytes(m->record.blocks));
    m->wide = malloc(sizeof(*m->wide) * 64 * m->record.blocks);
    assert_true(m->dense != NULL && m->wide != NULL);
    fgt_ok(fgi_jpeg_coefficients_unpack("made", &m->record, m->dense, &err));
    fgi_jpeg_coefficients_widen(&m->record, m->dense, m->wide);
}

static made make(const fgt_jpeg_spec *spec)
{
    made m = {0};
    m.jpeg = fgt_jpeg_make(spec, &m.size);
    fgt_ok(fgi_jpeg_coefficients_write("made.jpg", m.jpeg, m.size, &m.bytes, &err));
    unpack(&m);
    return m;
}

static void drop(made *m)
{
    free(m->jpeg);
    free(m->dense);
    free(m->wide);
    fgi_buf_fini(&m->bytes);
}

/* ---- coefficients ---------------------------------------------------------------------------- */

/* The beginning of the zigzag order, and its end. */
static const struct {
    int z, natural;
} orders[] = {{0, 0}, {1, 1}, {2, 8}, {3, 16}, {4, 9}, {5, 2}, {35, 56}, {36, 57}, {63, 63}};

static void coefficients_are_those_of_the_jpeg(void **state)
{
    for (size_t i = 0; i < SPECS; i++) {
        made m = make(&specs[i]);
        for (int c = 0; c < m.record.components; c++) {
            const fgi_jpeg_component *part = &m.record.component[c];
            const int row = part->rows - 1, column = part->columns / 2;
            const size_t block = part->first + (size_t)row * (size_t)part->columns + (size_t)column;
            for (size_t k = 0; k < sizeof(orders) / sizeof(orders[0]); k++)
                assert_int_equal(
                    m.wide[(size_t)orders[k].z * m.record.blocks + block],
                    fgt_jpeg_coefficient(m.jpeg, m.size, c, row, column, orders[k].natural));
        }
        drop(&m);
    }
}

static void blocks_of_components_follow_each_other(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 61, .height = 35});
    const fgi_jpeg_component *c = m.record.component;
    assert_int_equal(m.record.blocks, 8 * 5 + 2 * 4 * 3);
    assert_true(c[0].columns == 8 && c[0].rows == 5 && c[0].width == 61 && c[0].height == 35);
    assert_true(c[2].columns == 4 && c[2].rows == 3 && c[2].width == 31 && c[2].height == 18);
    assert_true(c[0].first == 0 && c[1].first == 40 && c[2].first == 52);
    assert_int_equal(c[0].quant[0], 3); /* quality 90: 16 * 20 % */
    drop(&m);
}

/* With quality 100, nothing is quantized and sharp edges have coefficients over 127. */
static void values_outside_of_s8_are_exceptions(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 61, .height = 35, .quality = 100});
    const int8_t *ac = m.dense + 2 * m.record.blocks;
    size_t clamped = 0;
    for (size_t i = 0; i < 63 * m.record.blocks; i++)
        clamped += m.wide[m.record.blocks + i] != ac[i];
    assert_true(m.record.exceptions > 0 && clamped > 0 && clamped <= m.record.exceptions);
    for (size_t i = 0; i < m.record.exceptions; i++) {
        const fgi_jpeg_exception e = fgi_jpeg_coefficients_exception(&m.record, i);
        assert_true(e.value > 127 || e.value < -128);
        assert_int_equal(ac[e.index], e.value > 0 ? 127 : -128);
        assert_int_equal(m.wide[m.record.blocks + e.index], e.value);
    }
    assert_true(m.record.exceptions > 1 && m.record.components == 3);
    const size_t second = 24 + 3 * 128 + 4;
    memset(m.bytes.data + second, 0xff, 4);
    assert_int_equal(
        fgi_jpeg_coefficients_open("pack", m.bytes.data, m.bytes.size, &m.record, &err),
        FG_EFORMAT);
    assert_string_equal(err.message, "pack: coefficients: byte 412: exception outside the image");
    const uint32_t end = (uint32_t)(63 * m.record.blocks);
    memcpy(m.bytes.data + second, &end, 4); /* one too large */
    assert_int_equal(
        fgi_jpeg_coefficients_open("pack", m.bytes.data, m.bytes.size, &m.record, &err),
        FG_EFORMAT);
    assert_string_equal(err.message, "pack: coefficients: byte 412: exception outside the image");
    const uint32_t last = end - 1;
    memcpy(m.bytes.data + second, &last, 4);
    fgt_ok(fgi_jpeg_coefficients_open("pack", m.bytes.data, m.bytes.size, &m.record, &err));
    drop(&m);
}

/* -128 and 127 themselves are stored with the others. */
static void the_ends_of_s8_are_no_exceptions(void **state)
{
    size_t lowest = 0, highest = 0;
    for (int width = 40; width < 60; width++) {
        made m = make(&(fgt_jpeg_spec){.width = width, .height = 61, .quality = 100});
        size_t outside = 0;
        for (size_t i = m.record.blocks; i < 64 * m.record.blocks; i++) {
            outside += m.wide[i] < -128 || m.wide[i] > 127;
            lowest += m.wide[i] == -128;
            highest += m.wide[i] == 127;
        }
        assert_int_equal(m.record.exceptions, outside);
        drop(&m);
    }
    assert_true(lowest > 0 && highest > 0);
}

/* The number for the flags of a record: 1 without exceptions, else 1 more than their largest
 * coefficient, of which a reader must know. */
static void the_most_coefficients_of_two_bytes(void **state)
{
    made plain = make(&(fgt_jpeg_spec){.width = 64, .height = 48, .quality = 50});
    assert_int_equal(plain.record.exceptions, 0);
    assert_int_equal(fgi_jpeg_coefficients_high(&plain.record), 1);
    drop(&plain);
    made m = make(&(fgt_jpeg_spec){.width = 61, .height = 35, .quality = 100});
    const size_t n = m.record.blocks;
    int most = 0;
    for (size_t i = 0; i < m.record.exceptions; i++) {
        const int z = 1 + (int)(fgi_jpeg_coefficients_exception(&m.record, i).index / n);
        most = z > most ? z : most;
    }
    assert_int_equal(fgi_jpeg_coefficients_high(&m.record), 1 + most);
    int8_t *entry = malloc(fgi_jpeg_entry_bytes(3, n, 1 + most));
    assert_non_null(entry);
    fgt_ok(fgi_jpeg_coefficients_entry("made", &m.record, 1 + most, entry, &err));
    /* as if the only exception were the first of coefficient `most` */
    const uint32_t index = (uint32_t)((size_t)(most - 1) * n);
    for (size_t i = 0; i < m.record.exceptions; i++)
        memcpy(m.bytes.data + 24 + 3 * 128 + 4 * i, &index, 4);
    assert_int_equal(fgi_jpeg_coefficients_entry("made", &m.record, most, entry, &err), FG_EFORMAT);
    char expected[200];
    (void)snprintf(expected, sizeof expected,
                   "made: coefficients: coefficient %d has two-byte values, which the pack only "
                   "declares for coefficients below %d",
                   most, most);
    assert_string_equal(err.message, expected);
    free(entry);
    drop(&m);
}

static int joined(const int8_t *rows, size_t low, size_t high)
{
    return rows[low] + 256 * rows[high];
}

/* What a device gets: all values in two rows each, and the tables. */
static void entries_have_high_bytes_and_tables(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 61, .height = 35, .quality = 100});
    const size_t n = m.record.blocks;
    const int high = fgi_jpeg_coefficients_high(&m.record);
    const size_t bytes = fgi_jpeg_entry_bytes(3, n, high), tables = (64 + (size_t)high) * n;
    int8_t *entry = malloc(bytes);
    assert_non_null(entry);
    assert_true(high > 1 && high < 64 && bytes == tables + 384);
    fgt_ok(fgi_jpeg_coefficients_entry("made", &m.record, high, entry, &err));
    for (size_t i = 0; i < n; i++)
        assert_int_equal(joined(entry, i, n + i), m.wide[i]);
    for (size_t z = 1; z < 64; z++) {
        const bool has_high = (int)z < high;
        for (size_t i = 0; i < n; i++)
            assert_int_equal(has_high ? joined(entry, (1 + z) * n + i, (64 + z) * n + i)
                                      : entry[(1 + z) * n + i],
                             m.wide[z * n + i]);
    }
    for (size_t k = 0; k < 192; k++)
        assert_int_equal(joined(entry, tables + k, tables + 192 + k),
                         m.record.component[k / 64].quant[k % 64]);
    assert_int_equal(fgi_jpeg_coefficients_entry("made", &m.record, high - 1, entry, &err),
                     FG_EFORMAT);
    char message[256];
    (void)snprintf(message, sizeof message,
                   "made: coefficients: coefficient %d has two-byte values, which the pack only "
                   "declares for coefficients below %d",
                   high - 1, high - 1);
    assert_string_equal(err.message, message);
    free(entry);
    drop(&m);
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* libjpeg's inverse DCT has rounding errors too, so that some samples differ by 1. */
static void pixels_are_those_of_libjpeg(void **state)
{
    for (size_t i = 0; i < SPECS; i++) {
        made m = make(&specs[i]);
        int width, height;
        uint8_t *expected = fgt_jpeg_pixels(m.jpeg, m.size, 1, &width, &height);
        const size_t count = (size_t)width * (size_t)height * 3;
        float *rgb = malloc(sizeof(*rgb) * count);
        assert_non_null(rgb);
        fgt_ok(fgi_jpeg_coefficients_to_rgb(&m.record, m.wide, rgb, &err));
        double sum = 0, largest = 0;
        for (size_t k = 0; k < count; k++) {
            const double d = fabs((double)rgb[k] - expected[k]);
            sum += d;
            largest = d > largest ? d : largest;
        }
        if (width > 10 && sum / (double)count > 0.1)
            fail_msg("case %zu: mean difference %g", i, sum / (double)count);
        if (largest > 3)
            fail_msg("case %zu: largest difference %g", i, largest);
        free(rgb);
        free(expected);
        drop(&m);
    }
}

/* Rows of the matrix are orthonormal, and the coefficient 1 is a cosine along x. */
static void the_basis_is_the_inverse_dct(void **state)
{
    static float basis[64 * 64];
    fgi_jpeg_coefficient_basis(basis);
    for (int a = 0; a < 64; a++) {
        for (int b = 0; b < 64; b++) {
            double sum = 0;
            for (int z = 0; z < 64; z++)
                sum += (double)basis[64 * a + z] * (double)basis[64 * b + z];
            fgt_close("product of rows", sum, a == b, 1e-6, 0);
        }
    }
    fgt_close("DC", (double)basis[0], 0.125, 1e-7, 0);
    fgt_close("z = 1, x = 3, y = 5", (double)basis[64 * (8 * 5 + 3) + 1],
              0.25 * sqrt(0.5) * cos(7 * acos(-1) / 16), 1e-7, 0);
    fgt_close("z = 2, x = 3, y = 5", (double)basis[64 * (8 * 5 + 3) + 2],
              0.25 * sqrt(0.5) * cos(11 * acos(-1) / 16), 1e-7, 0);
}

static void pixels_are_encoded_with_the_quality(void **state)
{
    static uint8_t pixels[24 * 40 * 3];
    for (size_t i = 0; i < sizeof(pixels); i++)
        pixels[i] = (uint8_t)(100 + i % 3 * 20 + i / 200);
    made m = {0};
    const fg_image image = {.pixels = pixels, .width = 40, .height = 24, .channels = 3};
    const fgi_jpeg_sampling half = {3, 2, 2};
    fgt_ok(fgi_jpeg_coefficients_encode("pixels", &image, 90, half, &m.bytes, &err));
    unpack(&m);
    assert_int_equal(m.record.component[0].quant[0], 3);
    assert_int_equal(m.record.component[1].columns, 3); /* 20 samples */
    static float rgb[24 * 40 * 3];
    fgt_ok(fgi_jpeg_coefficients_to_rgb(&m.record, m.wide, rgb, &err));
    for (size_t i = 0; i < sizeof(pixels); i++)
        fgt_close("pixel", (double)rgb[i], pixels[i], 6, 0);
    fgi_buf_clear(&m.bytes);
    fgt_ok(fgi_jpeg_coefficients_encode("gray", &image, 90, (fgi_jpeg_sampling){1, 1, 1}, &m.bytes,
                                        &err));
    fgt_ok(fgi_jpeg_coefficients_open("gray", m.bytes.data, m.bytes.size, &m.record, &err));
    assert_true(m.record.components == 1 && m.record.width == 40 && m.record.height == 24);
    const fg_image empty = {.channels = 3};
    assert_int_equal(fgi_jpeg_coefficients_encode("pixels", &empty, 90, half, &m.bytes, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "pixels: libjpeg reports 'Empty JPEG image (DNL not "
                                     "supported)'");
    drop(&m);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void other_jpegs_are_refused(void **state)
{
    size_t size = 0;
    fgi_buf out = {0};
    uint8_t *jpeg =
        fgt_jpeg_make(&(fgt_jpeg_spec){.width = 40, .height = 40, .h = 4, .v = 1}, &size);
    assert_int_equal(fgi_jpeg_coefficients_write("wide.jpg", jpeg, size, &out, &err),
                     FG_EUNSUPPORTED);
    assert_non_null(strstr(err.message,
                           "wide.jpg: sampling factor above 2: coefficients can only be stored for "
                           "gray and YCbCr images with sampling factors of 1 and 2"));
    assert_int_equal(fgi_jpeg_coefficients_write("cut.jpg", jpeg, size / 2, &out, &err),
                     FG_EUNSUPPORTED);
    free(jpeg);
    jpeg = fgt_jpeg_make(&(fgt_jpeg_spec){.width = 40, .height = 40, .h = 1, .v = 4}, &size);
    assert_int_equal(fgi_jpeg_coefficients_write("high.jpg", jpeg, size, &out, &err),
                     FG_EUNSUPPORTED);
    free(jpeg);
    jpeg = fgt_jpeg_make(&(fgt_jpeg_spec){.width = 40, .height = 40}, &size);
    assert_int_equal(fgi_jpeg_coefficients_write("cut.jpg", jpeg, size / 2, &out, &err),
                     FG_EFORMAT);
    assert_non_null(strstr(err.message, "cut.jpg: byte "));
    free(jpeg);
    fgi_buf_fini(&out);
}

/* A record that was written when coefficients were compressed with LZ4, and its JPEG. */
static void records_of_version_1_are_read(void **state)
{
    static const char *const folder = FGT_SOURCE_DIR "/tests/golden/coefficients";
    char *record = NULL, *jpeg = NULL;
    size_t record_size, jpeg_size;
    fgi_buf bytes = {0};
    fgi_jpeg_coefficients old, new;
    fgt_ok(
        fgi_file_read(fgt_path(folder, "version1.record"), 1 << 20, &record, &record_size, &err));
    fgt_ok(fgi_file_read(fgt_path(folder, "version1.jpg"), 1 << 20, &jpeg, &jpeg_size, &err));
    fgt_ok(fgi_jpeg_coefficients_write("version1.jpg", jpeg, jpeg_size, &bytes, &err));
    fgt_ok(fgi_jpeg_coefficients_open("old", record, record_size, &old, &err));
    fgt_ok(fgi_jpeg_coefficients_open("new", bytes.data, bytes.size, &new, &err));
    assert_true(old.version == 1 && new.version == 2 && old.exceptions > 0);
    const int high = fgi_jpeg_coefficients_high(&old);
    const size_t size = fgi_jpeg_entry_bytes(3, old.blocks, high);
    assert_int_equal(size, fgi_jpeg_entry_bytes(3, new.blocks, fgi_jpeg_coefficients_high(&new)));
    uint8_t *a = malloc(size), *b = malloc(size);
    assert_true(a != NULL && b != NULL);
    fgt_ok(fgi_jpeg_coefficients_entry("old", &old, high, a, &err));
    fgt_ok(fgi_jpeg_coefficients_entry("new", &new, high, b, &err));
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
    fgi_free(record);
    fgi_free(jpeg);
    fgi_buf_fini(&bytes);
}

/* ---- bit planes ------------------------------------------------------------------------------ */

typedef bool (*reader)(const uint8_t *bytes, size_t size, int8_t *values, size_t count);

/* The bytes are read from a block of their exact size, so that ASan sees reads past the end. */
static void expect_values(reader read, const fgi_buf *bytes, const int8_t *values, size_t count)
{
    int8_t got[200];
    uint8_t *copy = malloc(bytes->size + 1);
    assert_true(copy != NULL && count < sizeof got);
    memset(got, 85, sizeof got);
    memcpy(copy + 1, bytes->data, bytes->size);
    assert_true(read(copy + 1, bytes->size, got, count));
    assert_memory_equal(got, values, count);
    assert_true(got[count] == 85); /* nothing behind them is written */
    assert_false(read(copy + 1, bytes->size - 1, got, count));
    free(copy);
}

static void bit_planes_have_the_values_in_as_few_bits(void **state)
{
    static const size_t counts[] = {1, 63, 64, 65, 128, 191};
    int8_t values[200];
    unsigned random = 1;
    for (int width = 0; width <= 8; width++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            const size_t count = counts[c], groups = (count + 63) / 64;
            fgi_buf bytes = {0};
            for (size_t i = 0; i < count; i++) {
                random = random * 1103515245 + 12345;
                values[i] = (int8_t)((int)(random >> 16 & ((1U << width) - 1)) -
                                     (width > 0 ? 1 << (width - 1) : 0));
            }
            for (size_t i = 0; width > 0 && i < count; i += 64)
                values[i] = (int8_t) - (1 << (width - 1)); /* needs all bits */
            fgi_bit_planes_write(values, count, &bytes);
            assert_int_equal(bytes.size, (groups + 1) / 2 + groups * 8 * (size_t)width);
            expect_values(fgi_bit_planes_read, &bytes, values, count);
            expect_values(fgi_bit_planes_read_portable, &bytes, values, count);
            fgi_buf_fini(&bytes);
        }
}

/* 1, -2 and 62 zeros have 2 bits: plane 0 has bit 0, plane 1 bit 1. 64 zeros have none. 127 has 8:
 * all planes but the last have bit 0. */
static void bit_planes_have_the_documented_bytes(void **state)
{
    static const uint8_t expected[2 + 16 + 64] = {
        0x02,     0x08,     [2] = 1,  [10] = 2, [18] = 1, [26] = 1,
        [34] = 1, [42] = 1, [50] = 1, [58] = 1, [66] = 1};
    const int8_t values[129] = {1, -2, [128] = 127};
    fgi_buf bytes = {0};
    fgi_bit_planes_write(values, 129, &bytes);
    assert_int_equal(bytes.size, sizeof expected);
    assert_memory_equal(bytes.data, expected, sizeof expected);
    expect_values(fgi_bit_planes_read, &bytes, values, 129);
    fgi_buf_fini(&bytes);
}

static void wrong_widths_are_refused(void **state)
{
    int8_t values[64];
    uint8_t bytes[1 + 9 * 8] = {9};
    assert_false(fgi_bit_planes_read(bytes, sizeof bytes, values, 64)); /* 9 bits */
    bytes[0] = 0x18; /* a width of a second group */
    assert_false(fgi_bit_planes_read(bytes, sizeof bytes, values, 64));
    bytes[0] = 8;
    assert_false(fgi_bit_planes_read(bytes, sizeof bytes, values, 64)); /* eight bytes too many */
    assert_true(fgi_bit_planes_read(bytes, sizeof bytes - 8, values, 64));
    assert_false(fgi_bit_planes_read(bytes, 0, values, 64));
    assert_true(fgi_bit_planes_read(bytes, 0, values, 0));
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Each byte of a record, changed in three ways, and each prefix: an error or as many coefficients.
 */
static void damaged_records_are_errors_or_the_same_size(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 24, .height = 16, .quality = 98});
    assert_true(m.record.exceptions > 0);
    size_t errors = 0;
    for (size_t i = 0; i < 4 * m.bytes.size; i++) {
        const size_t at = i / 4, size = i % 4 == 3 ? at : m.bytes.size;
        uint8_t *copy =
            malloc(size + (size == 0)); /* exact, so that ASan sees reads past the end */
        assert_non_null(copy);
        memcpy(copy, m.bytes.data, size);
        if (i % 4 < 3)
            copy[at] ^= i % 4 == 0 ? 0xff : i % 4 == 1 ? 1 : 0x10;
        fgi_jpeg_coefficients record;
        fg_status status = fgi_jpeg_coefficients_open("damaged", copy, size, &record, &err);
        if (status == FG_OK) {
            void *dense = malloc(fgi_jpeg_dense_bytes(record.blocks));
            int16_t *wide = malloc(sizeof(*wide) * 64 * record.blocks);
            assert_true(dense != NULL && wide != NULL);
            status = fgi_jpeg_coefficients_unpack("damaged", &record, dense, &err);
            if (status == FG_OK)
                fgi_jpeg_coefficients_widen(&record, dense, wide);
            free(dense);
            free(wide);
        }
        if (status != FG_OK) {
            assert_int_equal(status, FG_EFORMAT);
            assert_non_null(strstr(err.message, "damaged: coefficients: "));
            errors++;
        }
        free(copy);
    }
    assert_true(errors > m.bytes.size); /* at least all prefixes */
    drop(&m);
}

static const struct {
    size_t at;
    uint8_t value;
    const char *message;
} bad_headers[] = {
    {3, 'X', "byte 0: expected 'FGDC'"},
    {4, 0,
     "byte 4: version 0; this program reads versions 1 to 2\nupdate the program or build the "
     "pack again"},
    {6, 2, "byte 6: expected 1 or 3 components"},
    {6, 4, "byte 6: expected 1 or 3 components"},
    {7, 1, "byte 6: expected 1 or 3 components"},
    {8, 0, "byte 8: the image has no pixels"},
    {10, 0, "byte 8: the image has no pixels"},
    {12, 0x31, "byte 12: expected sampling factors of 1 and 2"},
    {13, 0x13, "byte 13: expected sampling factors of 1 and 2"},
    {14, 0x01, "byte 14: expected sampling factors of 1 and 2"},
    {15, 0x11, "byte 15: expected sampling factors of 1 and 2"},
};

/* By the byte that is wrong. */
static void wrong_headers_are_named(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 8, .height = 8});
    for (size_t i = 0; i < sizeof bad_headers / sizeof *bad_headers; i++) {
        char expected[120];
        const char before = m.bytes.data[bad_headers[i].at];
        m.bytes.data[bad_headers[i].at] = (char)bad_headers[i].value;
        assert_int_equal(
            fgi_jpeg_coefficients_open("pack", m.bytes.data, m.bytes.size, &m.record, &err),
            FG_EFORMAT);
        (void)snprintf(expected, sizeof expected, "pack: coefficients: %s", bad_headers[i].message);
        assert_string_equal(err.message, expected);
        m.bytes.data[bad_headers[i].at] = before;
    }
    drop(&m);
}

static void newer_records_are_refused(void **state)
{
    made m = make(&(fgt_jpeg_spec){.width = 8, .height = 8});
    m.bytes.data[4] = 3;
    assert_int_equal(
        fgi_jpeg_coefficients_open("pack", m.bytes.data, m.bytes.size, &m.record, &err),
        FG_EFORMAT);
    assert_non_null(
        strstr(err.message,
               "coefficients: byte 4: version 3; this program reads versions 1 to 2\nupdate"));
    drop(&m);
}

static fg_status encode_and_decode(void *self, fg_error *error)
{
    static uint8_t pixels[16 * 16 * 3];
    static float rgb[16 * 16 * 3];
    static int16_t wide[64 * 6], dense[65 * 3];
    fgi_buf bytes = {0};
    fgi_jpeg_coefficients record;
    const fg_image image = {.pixels = pixels, .width = 16, .height = 16, .channels = 3};
    fg_status status = fgi_jpeg_coefficients_encode("pixels", &image, 90,
                                                    (fgi_jpeg_sampling){3, 2, 2}, &bytes, error);
    if (status == FG_OK)
        status = fgi_jpeg_coefficients_open("pixels", bytes.data, bytes.size, &record, error);
    if (status == FG_OK)
        status = fgi_jpeg_coefficients_unpack("pixels", &record, dense, error);
    if (status == FG_OK) {
        fgi_jpeg_coefficients_widen(&record, dense, wide);
        status = fgi_jpeg_coefficients_to_rgb(&record, wide, rgb, error);
    }
    fgi_buf_fini(&bytes);
    return status;
}

static void allocations_may_fail(void **state) { fgt_fault_loop(encode_and_decode, NULL); }

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(coefficients_are_those_of_the_jpeg),
    cmocka_unit_test(blocks_of_components_follow_each_other),
    cmocka_unit_test(the_most_coefficients_of_two_bytes),
    cmocka_unit_test(the_ends_of_s8_are_no_exceptions),
    cmocka_unit_test(values_outside_of_s8_are_exceptions),
    cmocka_unit_test(entries_have_high_bytes_and_tables),
    cmocka_unit_test(pixels_are_those_of_libjpeg),
    cmocka_unit_test(the_basis_is_the_inverse_dct),
    cmocka_unit_test(pixels_are_encoded_with_the_quality),
    cmocka_unit_test(other_jpegs_are_refused),
    cmocka_unit_test(damaged_records_are_errors_or_the_same_size),
    cmocka_unit_test(records_of_version_1_are_read),
    cmocka_unit_test(bit_planes_have_the_values_in_as_few_bits),
    cmocka_unit_test(bit_planes_have_the_documented_bytes),
    cmocka_unit_test(wrong_widths_are_refused),
    cmocka_unit_test(wrong_headers_are_named),
    cmocka_unit_test(newer_records_are_refused),
    cmocka_unit_test(allocations_may_fail),
};
FGT_MAIN(tests)
