/* JPEG: pixels against Pillow's (tests/golden/image/make_images.py), crops and reduced sizes
 * against full decodes, orientations, and what is refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>
#include "base/alloc.h"
#include "image/decoder.h"
#include "image/jpeg_common.h"
#include "image/jpeg_entropy.h"
#include "image/jpeg_markers.h"
#include "image_files.h"

enum { W = 37, H = 23 };

static fg_error err;

/* ---- pixels ---------------------------------------------------------------------------------- */

static void every_kind_has_the_pixels_of_pillow(void **state)
{
    static const char *const names[] = {"baseline", "half", "full", "progressive", "gray", "cmyk"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[32], expected[32];
        (void)snprintf(file, sizeof file, "%s.jpg", names[i]);
        (void)snprintf(expected, sizeof expected, "%s.jpg.rgb", names[i]);
        fgt_check_decode(file, NULL, W, H, expected, 0);
    }
    fgt_check_decode("baseline.jpg", &(fg_image_decode_options){.channels = 1}, W, H,
                     "baseline.jpg.gray", 0);
}

static void orientations_are_applied(void **state)
{
    for (int o = 1; o <= 8; o++) {
        char file[32], expected[32];
        (void)snprintf(file, sizeof file, "orient%d.jpg", o);
        (void)snprintf(expected, sizeof expected, "orient%d.jpg.rgb", o);
        fgt_check_decode(file, NULL, o < 5 ? W : H, o < 5 ? H : W, expected, 0);
        const fg_image_decode_options as_stored = {.ignore_orientation = true};
        fgt_check_decode(file, &as_stored, W, H, "orient1.jpg.rgb", 0);
    }
}

static void reduced_sizes_have_the_pixels_of_pillow(void **state)
{
    for (int scale = 1; scale <= 8; scale *= 2) {
        char expected[32];
        (void)snprintf(expected, sizeof expected, "large%d.jpg.rgb", scale);
        const fg_image_decode_options options = {.min_width = 90 / scale, .min_height = 70 / scale};
        fgt_check_decode("large.jpg", &options, (90 + scale - 1) / scale, (70 + scale - 1) / scale,
                         expected, 0);
    }
}

/* ---- crops ----------------------------------------------------------------------------------- */

static fg_image_decoder *decoder;
static fg_image whole, part;

static uint8_t *pixel(const fg_image *image, int64_t x, int64_t y)
{
    return image->pixels + (y * image->width + x) * image->channels;
}

static void check_crop(const fgt_file *file, int64_t x, int64_t y, int64_t w, int64_t h)
{
    const fg_image_decode_options options = {.crop = {(double)x, (double)y, (double)w, (double)h}};
    fgt_ok(fgt_decode(decoder, file, &options, &part, &err));
    assert_int_equal(part.width, w);
    assert_int_equal(part.height, h);
    assert_true(part.region.x == 0 && part.region.y == 0);
    assert_true(part.region.width == (double)w && part.region.height == (double)h);
    for (int64_t row = 0; row < h; row++)
        if (memcmp(pixel(&part, 0, row), pixel(&whole, x, y + row), (size_t)w * 3) != 0)
            fail_msg("%s: crop %dx%d at (%d, %d): row %d differs", file->name, (int)w, (int)h,
                     (int)x, (int)y, (int)row);
}

static void crops_are_parts_of_the_full_decode(void **state)
{
    static const char *const names[] = {"large.jpg", "half.jpg",    "progressive.jpg", "cmyk.jpg",
                                        "gray.jpg",  "orient7.jpg", "orient6.jpg"};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fgt_file file = fgt_file_read(names[i]);
        fgt_ok(fgt_decode(decoder, &file, NULL, &whole, &err));
        for (int64_t x = 0; x < whole.width; x += 5)
            for (int64_t y = 0; y < whole.height; y += 3) {
                check_crop(&file, x, y, 1 + (x * 7 + y) % (whole.width - x),
                           1 + (y * 5 + x) % (whole.height - y));
                check_crop(&file, x, y, whole.width - x, 1);
            }
        fgt_file_free(&file);
    }
    fg_image_fini(&whole);
    fg_image_fini(&part);
    fg_image_decoder_destroy(decoder);
}

/* A crop at half the size: pixels of the file at half the size, and the crop's place in them. */
static void crops_at_reduced_sizes_report_their_region(void **state)
{
    fgt_file file = fgt_file_read("large.jpg");
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    const fg_image_decode_options half = {.min_width = 45, .min_height = 35};
    fgt_ok(fgt_decode(decoder, &file, &half, &whole, &err));
    const fg_image_decode_options options = {
        .crop = {21, 13, 40, 33}, .min_width = 20, .min_height = 16};
    fgt_ok(fgt_decode(decoder, &file, &options, &part, &err));
    assert_int_equal(part.width, 21);  /* 10.5 to 30.5 */
    assert_int_equal(part.height, 17); /* 6.5 to 23 */
    assert_true(part.region.x == 0.5 && part.region.y == 0.5);
    assert_true(part.region.width == 20 && part.region.height == 16.5);
    for (int64_t y = 0; y < part.height; y++)
        assert_memory_equal(pixel(&part, 0, y), pixel(&whole, 10, y + 6), 21 * 3);
    const fg_image_decode_options too_large = {
        .crop = {21, 13, 40, 33}, .min_width = 20, .min_height = 17};
    fgt_ok(fgt_decode(decoder, &file, &too_large, &part, &err));
    assert_int_equal(part.width, 40);
    fg_image_fini(&whole);
    fg_image_fini(&part);
    fg_image_decoder_destroy(decoder);
    fgt_file_free(&file);
}

/* A crop with fractions: whole pixels that contain it, 1 to 6 and 2 to 8, and its place in them; in
 * pixels of the image as it is shown. */
static void crops_are_those_of_the_upright_image(void **state)
{
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (int o = 1; o <= 8; o++) {
        char name[32];
        (void)snprintf(name, sizeof name, "orient%d.jpg", o);
        fgt_file file = fgt_file_read(name);
        const fg_image_decode_options options = {.crop = {1.5, 2.25, 4, 5}};
        fgt_ok(fgt_decode(decoder, &file, NULL, &whole, &err));
        fgt_ok(fgt_decode(decoder, &file, &options, &part, &err));
        assert_true(part.width == 5 && part.height == 6);
        assert_true(part.region.x == 0.5 && part.region.y == 0.25);
        assert_true(part.region.width == 4 && part.region.height == 5);
        for (int64_t y = 0; y < 6; y++)
            assert_memory_equal(pixel(&part, 0, y), pixel(&whole, 1, y + 2), 5 * 3);
        fgt_file_free(&file);
    }
    fg_image_fini(&whole);
    fg_image_fini(&part);
    fg_image_decoder_destroy(decoder);
}

/* The minimum is that of the image as it is shown, 23 x 37 pixels, which half of it has; both sides
 * must be given. */
static void minimum_sizes_are_those_of_the_upright_image(void **state)
{
    static const struct {
        int64_t min_width, min_height, width, height;
    } cases[] = {{5, 18, 12, 19}, {11, 18, 12, 19}, {12, 18, 23, 37}, {11, 19, 23, 37},
                 {5, 9, 6, 10},   {5, 0, 23, 37},   {0, 9, 23, 37},   {1, 1, 3, 5}};
    fgt_file file = fgt_file_read("orient6.jpg");
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fg_image_decode_options options = {.min_width = cases[i].min_width,
                                                 .min_height = cases[i].min_height};
        fgt_ok(fgt_decode(decoder, &file, &options, &part, &err));
        assert_int_equal(part.width, cases[i].width);
        assert_int_equal(part.height, cases[i].height);
    }
    fg_image_fini(&part);
    fg_image_decoder_destroy(decoder);
    fgt_file_free(&file);
}

/* ---- kinds that Pillow cannot write ---------------------------------------------------------- */

typedef struct coding {
    bool is_arithmetic, is_ycck;
    unsigned restart_interval;
} coding;

/* A CMYK image of 32x32 with smooth values, written by libjpeg at quality 95. */
static fgt_file encode(coding c)
{
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long size = 0;
    uint8_t row[32 * 4];
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &data, &size);
    info.image_width = info.image_height = 32;
    info.input_components = 4;
    info.in_color_space = JCS_CMYK;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 95, TRUE);
    jpeg_set_colorspace(&info, c.is_ycck ? JCS_YCCK : JCS_CMYK);
    info.arith_code = c.is_arithmetic;
    info.restart_interval = c.restart_interval;
    jpeg_start_compress(&info, TRUE);
    for (int y = 0; y < 32; y++) {
        for (int i = 0; i < 32 * 4; i++)
            row[i] = (uint8_t)(40 + i + 2 * y * (i % 4 != 0));
        (void)jpeg_write_scanlines(&info, (JSAMPROW[]){row}, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    return (fgt_file){"made.jpg", data, size};
}

static int difference_to_plain(coding c)
{
    fgt_file plain = encode((coding){0}), file = encode(c);
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fgt_decode(decoder, &plain, NULL, &whole, &err));
    fgt_ok(fgt_decode(decoder, &file, NULL, &part, &err));
    const int difference = fgt_image_difference(&whole, &part);
    fg_image_fini(&whole);
    fg_image_fini(&part);
    fg_image_decoder_destroy(decoder);
    fgt_file_free(&plain);
    fgt_file_free(&file);
    return difference;
}

static void other_codings_give_the_same_pixels(void **state)
{
    assert_int_equal(difference_to_plain((coding){.is_arithmetic = true}), 0);
    assert_int_equal(difference_to_plain((coding){.restart_interval = 1}), 0);
    const int difference = difference_to_plain((coding){.is_ycck = true}); /* subsampled chroma */
    assert_in_range(difference, 1, 24);
}

/* ---- headers --------------------------------------------------------------------------------- */

/* The time of one scan is estimated, that of several is measured; other formats do not separate it.
 */
static void entropy_decoding_is_timed(void **state)
{
    static const char *const names[] = {"baseline.jpg", "progressive.jpg", "rgb.png"};
    const fgi_jpeg_entropy sampled = {.mcus = 27, .sampled = 3, .sampled_ns = 200};
    assert_int_equal(fgi_jpeg_entropy_ns(&sampled), 1800);
    assert_int_equal(fgi_jpeg_entropy_ns(&(fgi_jpeg_entropy){.whole_ns = 70}), 70);
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fgt_file file = fgt_file_read(names[i]);
        const int64_t before = decoder->entropy_ns;
        fgt_ok(fgt_decode(decoder, &file, NULL, &whole, &err));
        assert_int_equal(decoder->entropy_ns > before, i < 2);
        fgt_file_free(&file);
    }
    fg_image_fini(&whole);
    fg_image_decoder_destroy(decoder);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static fg_status decode_bytes(const fgt_file *file, const fg_image_decode_options *options)
{
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    const fg_status status = fgt_decode(decoder, file, options, &whole, &err);
    fg_image_fini(&whole);
    fg_image_decoder_destroy(decoder);
    return status;
}

static size_t offset_of(const fgt_file *file, uint8_t marker)
{
    for (size_t i = 0; i + 1 < file->size; i++)
        if (file->data[i] == 0xff && file->data[i + 1] == marker)
            return i;
    fail_msg("%s has no marker %02x", file->name, marker);
    return 0;
}

static void headers_are_reported(void **state)
{
    fgt_file file = fgt_file_read("orient6.jpg");
    fg_image_info info;
    fgt_ok(fg_image_probe(file.name, file.data, file.size, &info, &err));
    assert_int_equal(info.format, FG_IMAGE_JPEG);
    assert_int_equal(info.width, H);
    assert_int_equal(info.height, W);
    assert_int_equal(info.channels, 3);
    assert_int_equal(info.bits, 8);
    assert_int_equal(info.orientation, 6);
    assert_false(info.is_progressive);
    fgt_file_free(&file);
    file = fgt_file_read("progressive.jpg");
    fgt_ok(fg_image_probe(file.name, file.data, file.size, &info, &err));
    assert_true(info.is_progressive);
    file.data[offset_of(&file, 0xc2) + 1] = 0xca; /* with arithmetic coding */
    fgt_ok(fg_image_probe(file.name, file.data, file.size, &info, &err));
    assert_true(info.is_progressive);
    file.data[offset_of(&file, 0xca) + 1] = 0xc9;
    fgt_ok(fg_image_probe(file.name, file.data, file.size, &info, &err));
    assert_false(info.is_progressive);
    fgt_file_free(&file);
    file = fgt_file_read("cmyk.jpg");
    fgt_ok(fg_image_probe(file.name, file.data, file.size, &info, &err));
    assert_int_equal(info.channels, 4);
    fgt_file_free(&file);
}

/* Changes the byte `by` bytes behind the marker, and expects the message. */
static void expect_refused(uint8_t marker, size_t by, uint8_t value, fg_status status,
                           const char *message)
{
    fgt_file file = fgt_file_read("baseline.jpg");
    file.data[offset_of(&file, marker) + by] = value;
    assert_int_equal(decode_bytes(&file, NULL), status);
    fgt_message_is(err.message, message);
    fgt_file_free(&file);
}

static void unsupported_features_are_named(void **state)
{
    expect_refused(0xc0, 4, 12, FG_EUNSUPPORTED,
                   "baseline.jpg: byte 158: 12-bit JPEG is not supported\nconvert the file to "
                   "8-bit JPEG or PNG");
    expect_refused(0xc0, 1, 0xc3, FG_EUNSUPPORTED,
                   "baseline.jpg: byte 158: lossless JPEG is not supported\nconvert the file to "
                   "8-bit JPEG or PNG");
    expect_refused(0xc0, 1, 0xc5, FG_EUNSUPPORTED,
                   "baseline.jpg: byte 158: hierarchical JPEG is not supported\nconvert the file "
                   "to 8-bit JPEG or PNG");
    expect_refused(0xc0, 9, 2, FG_EUNSUPPORTED,
                   "baseline.jpg: byte 158: a JPEG with 2 components is not supported");
    expect_refused(0xc0, 6, 0, FG_EFORMAT,
                   "baseline.jpg: byte 158: the JPEG has a width or height of 0");
    expect_refused(0xc0, 3, 5, FG_EFORMAT,
                   "baseline.jpg: byte 158: the frame header of the JPEG is too short");
    expect_refused(0xc0, 1, 0xe5, FG_EFORMAT,
                   "baseline.jpg: byte 609: the JPEG has a scan without a frame header");
    expect_refused(0xda, 1, 0xd9, FG_EFORMAT,
                   "baseline.jpg: byte 609: the JPEG ends without an image");
    expect_refused(0xdb, 2, 0xff, FG_EFORMAT,
                   "baseline.jpg: byte 939: truncated JPEG: the file ends within its headers");
    expect_refused(0xc0, 11, 0x99, FG_EFORMAT,
                   "baseline.jpg: byte @: libjpeg reports 'Bogus sampling factors'");
}

/* By each marker of a frame. */
static void all_kinds_of_frames_are_known(void **state)
{
    static const uint8_t hierarchical[] = {0xc5, 0xc6, 0xc7, 0xcd, 0xce, 0xcf};
    for (size_t i = 0; i < sizeof hierarchical; i++)
        expect_refused(0xc0, 1, hierarchical[i], FG_EUNSUPPORTED,
                       "baseline.jpg: byte 158: hierarchical JPEG is not supported\nconvert the "
                       "file to 8-bit JPEG or PNG");
    expect_refused(0xc0, 1, 0xcb, FG_EUNSUPPORTED,
                   "baseline.jpg: byte 158: lossless JPEG is not supported\nconvert the file to "
                   "8-bit JPEG or PNG");
    expect_refused(0xc0, 4, 16, FG_EUNSUPPORTED,
                   "baseline.jpg: byte 158: JPEG with an invalid precision is not "
                   "supported\nconvert the file to 8-bit JPEG or PNG");
    expect_refused(0xdb, 3, 1, FG_EFORMAT,
                   "baseline.jpg: byte 20: a marker of the JPEG has a length below 2");
    expect_refused(0xdb, 3, 0, FG_EFORMAT,
                   "baseline.jpg: byte 20: a marker of the JPEG has a length below 2");
    expect_refused(0xc0, 9, 5, FG_EUNSUPPORTED,
                   "baseline.jpg: byte 158: a JPEG with 5 components is not supported");
}

/* The pixels above the end of the data are those of the whole file. */
static void a_truncated_file_is_an_error_unless_tolerated(void **state)
{
    fgt_file file = fgt_file_read("large.jpg");
    const fg_image_decode_options tolerant = {.tolerate_corruption = true};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fgt_decode(decoder, &file, NULL, &whole, &err));
    file.size -= file.size / 4;
    char expected[96];
    (void)snprintf(expected, sizeof expected,
                   "large.jpg: byte %zu: truncated JPEG: the file ends before the image does",
                   file.size);
    assert_int_equal(fgt_decode(decoder, &file, NULL, &part, &err), FG_EFORMAT);
    assert_string_equal(err.message, expected);
    fgt_ok(fgt_decode(decoder, &file, &tolerant, &part, &err));
    assert_int_equal(part.height, 70);
    assert_memory_equal(part.pixels, whole.pixels, 90 * 16 * 3);
    assert_true(fgt_image_difference(&whole, &part) > 10);
    uint8_t *headers = malloc(file.size + 8); /* with the end of a thumbnail */
    assert_non_null(headers);
    memcpy(headers, "\xff\xd8\xff\xe1\0\6xx\xff\xd9", 10);
    memcpy(headers + 10, file.data + 2, file.size - 2);
    assert_int_equal(fgi_image_check("f", headers, file.size + 8, false, &err), FG_EFORMAT);
    free(headers);
    fg_image_fini(&whole);
    fg_image_fini(&part);
    fg_image_decoder_destroy(decoder);
    fgt_file_free(&file);
}

static void the_last_two_bytes_are_the_end_of_image(void **state)
{
    static const uint8_t last[][2] = {{0xff, 0xd9}, {0xff, 0xd8}, {0, 0xd9}};
    for (size_t i = 0; i < 3; i++) {
        fgi_image_ends ends = {.first = {0xff, 0xd8, 0xff}, .size = 100};
        memcpy(ends.last + FGI_IMAGE_END_BYTES - 2, last[i], 2);
        assert_int_equal(fgi_image_has_ends(&ends), i == 0);
    }
}

/* Of Y, if both other components have factors of 1. */
static void sampling_is_that_of_the_header(void **state)
{
    static const struct {
        uint8_t factors[3]; /* of the file */
        fgi_jpeg_sampling sampling;
    } cases[] = {{{0x22, 0x11, 0x11}, {3, 2, 2}}, {{0x21, 0x11, 0x11}, {3, 2, 1}},
                 {{0x12, 0x11, 0x11}, {3, 1, 2}}, {{0x11, 0x11, 0x11}, {3, 1, 1}},
                 {{0x31, 0x11, 0x11}, {0, 0, 0}}, {{0x13, 0x11, 0x11}, {0, 0, 0}},
                 {{0x22, 0x12, 0x11}, {0, 0, 0}}, {{0x22, 0x11, 0x21}, {0, 0, 0}}};
    fgt_file file = fgt_file_read("large.jpg");
    uint8_t *frame = memmem(file.data, file.size, "\xff\xc0", 2);
    assert_non_null(frame);
    const fgi_image_file all = {.name = "f", .data = file.data, .size = file.size};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fgi_jpeg_header header;
        for (size_t k = 0; k < 3; k++)
            frame[11 + 3 * k] = cases[i].factors[k];
        fgt_ok(fgi_jpeg_header_read(&all, &header, &err));
        assert_memory_equal(&header.sampling, &cases[i].sampling, sizeof header.sampling);
    }
    fgt_file_free(&file);
}

/* Bytes in front of the last marker, where none belong, and data behind it, as phones append: all
 * viewers show such files, and libjpeg only warns of the first. */
static void harmless_flaws_are_accepted(void **state)
{
    fgt_file file = fgt_file_read("large.jpg"), flawed = file;
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fgt_decode(decoder, &file, NULL, &whole, &err));
    assert_string_equal(decoder->warning, "");
    flawed.size += 1040;
    flawed.data = calloc(1, flawed.size);
    assert_non_null(flawed.data);
    memcpy(flawed.data, file.data, file.size - 2);
    memset(flawed.data + file.size - 2, 0x12, 40); /* more than libjpeg reads ahead */
    memcpy(flawed.data + file.size + 38, "\xff\xd9", 2);
    fgt_ok(fgt_decode(decoder, &flawed, NULL, &part, &err));
    assert_int_equal(fgt_image_difference(&whole, &part), 0);
    assert_non_null(strstr(decoder->warning, "extraneous bytes before marker 0xd9"));
    assert_false(decoder->is_corrupt);
    const fg_image_decode_options tolerant = {.tolerate_corruption = true};
    fgt_ok(fgt_decode(decoder, &flawed, &tolerant, &part, &err));
    assert_false(decoder->is_corrupt);
    fgt_ok(fgi_image_check("flawed", flawed.data, flawed.size, false, &err));
    free(flawed.data);
    fg_image_fini(&whole);
    fg_image_fini(&part);
    fg_image_decoder_destroy(decoder);
    fgt_file_free(&file);
}

/* Behind the image, there may be anything; and of two orientations the first counts. */
static void data_around_an_image_are_harmless(void **state)
{
    fgt_file file = fgt_file_read("orient6.jpg");
    const uint8_t *exif = memmem(file.data, file.size, "Exif\0\0", 6);
    assert_non_null(exif);
    const size_t at = (size_t)(exif - file.data) - 4, size = 2 + (size_t)(exif[-2] << 8 | exif[-1]);
    uint8_t *longer = malloc(file.size + size + 8);
    assert_non_null(longer);
    memcpy(longer, file.data, at + size);
    memcpy(longer + at + size, file.data + at, file.size - at); /* EXIF twice */
    memcpy(longer + file.size + size, "\xff\0\xff\x12z\xff\xff", 8);
    for (size_t i = at + size; i < at + 2 * size - 12; i++)
        if (memcmp(longer + i, "\x12\x01\x03\0\x01\0\0\0", 8) == 0)
            longer[i + 8] = 3;
        else if (memcmp(longer + i, "\x01\x12\0\x03\0\0\0\x01", 8) == 0)
            longer[i + 9] = 3;
    fg_image_info info;
    fgt_ok(fg_image_probe("f", longer, file.size + size + 8, &info, &err));
    assert_int_equal(info.orientation, 6);
    fgt_ok(fgi_image_check("f", longer, file.size + size + 8, false, &err));
    free(longer);
    fgt_file_free(&file);
}

/* A newer version in the header; of several warnings, the first is kept. */
static void an_unknown_revision_is_harmless(void **state)
{
    fgt_file file = fgt_file_read("large.jpg"), flawed = file;
    const fg_image_decode_options tolerant = {.tolerate_corruption = true};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fgt_decode(decoder, &file, NULL, &whole, &err));
    assert_memory_equal(file.data + 6, "JFIF\0\1", 6);
    file.data[11] = 3;
    fgt_ok(fgt_decode(decoder, &file, NULL, &part, &err));
    assert_int_equal(fgt_image_difference(&whole, &part), 0);
    assert_string_equal(decoder->warning, "Warning: unknown JFIF revision number 3.01");
    assert_false(decoder->is_corrupt);
    flawed.size /= 2;
    fgt_ok(fgt_decode(decoder, &flawed, &tolerant, &part, &err));
    assert_string_equal(decoder->warning, "Warning: unknown JFIF revision number 3.01");
    assert_true(decoder->is_corrupt);
    fgt_file others[] = {fgt_file_read("rgb.png"), fgt_file_read("half.jpg")};
    for (int i = 0; i < 2; i++) { /* what is said is of the last image */
        fgt_ok(fgt_decode(decoder, &others[i], NULL, &part, &err));
        assert_string_equal(decoder->warning, "");
        assert_false(decoder->is_corrupt);
        fgt_ok(fgt_decode(decoder, &flawed, &tolerant, &part, &err));
    }
    fgt_file_free(&others[0]);
    fgt_file_free(&others[1]);
    fg_image_fini(&whole);
    fg_image_fini(&part);
    fg_image_decoder_destroy(decoder);
    fgt_file_free(&file);
}

/* In the headers: an unknown code of colors, a scan that leaves out a coefficient. */
static void unusual_headers_are_harmless(void **state)
{
    static const char adobe[] = "\xff\xee\0\x10"
                                "Adobe\0\x64\0\0\0\0\7";
    fg_image_decode_options tolerant = {.tolerate_corruption = true};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (int i = 0; i < 2; i++) {
        fgt_file file = fgt_file_read("baseline.jpg");
        fgt_ok(fgt_decode(decoder, &file, NULL, &whole, &err));
        if (i == 0)
            memcpy(file.data + 2, adobe, sizeof adobe - 1); /* in place of JFIF */
        else
            file.data[offset_of(&file, 0xda) + 12] = 62;
        for (int k = 0; k < 2; k++) {
            fgt_ok(fgt_decode(decoder, &file, k == 0 ? NULL : &tolerant, &part, &err));
            assert_int_equal(fgt_image_difference(&whole, &part), 0);
            assert_string_equal(decoder->warning,
                                i == 0 ? "Unknown Adobe color transform code 7"
                                       : "Invalid SOS parameters for sequential JPEG");
            assert_false(decoder->is_corrupt);
        }
        fgt_file_free(&file);
    }
    fg_image_fini(&whole);
    fg_image_fini(&part);
    fg_image_decoder_destroy(decoder);
}

static void corrupt_data_is_an_error_unless_tolerated(void **state)
{
    fgt_file file = fgt_file_read("large.jpg");
    const size_t middle = (offset_of(&file, 0xda) + file.size) / 2;
    memset(file.data + middle, 0xff, 2); /* a fill byte, then a marker that does not belong here */
    file.data[middle + 2] = 0xd3;
    assert_int_equal(decode_bytes(&file, NULL), FG_EFORMAT);
    fgt_message_is(
        err.message,
        "large.jpg: byte @: libjpeg reports 'Corrupt JPEG data: premature end of data segment'");
    fgt_ok(decode_bytes(&file, &(fg_image_decode_options){.tolerate_corruption = true}));
    fgt_file_free(&file);
}

static const struct {
    fg_image_decode_options options;
    fg_status status;
    const char *message;
} bad_requests[] = {
    {{.channels = 4}, FG_EINVAL, "baseline.jpg: expected 1 or 3 channels, got 4"},
    {{.crop = {30, 0, 8, 4}},
     FG_EINVAL,
     "baseline.jpg: the crop of 8x4 pixels at (30, 0) is not inside the image of 37x23 "
     "pixels"},
    {{.crop = {0, -1, 8, 4}},
     FG_EINVAL,
     "baseline.jpg: the crop of 8x4 pixels at (0, -1) is not inside the image of 37x23 "
     "pixels"},
    {{.min_width = -1},
     FG_EINVAL,
     "baseline.jpg: min_width, min_height and max_pixels must not be negative"},
    {{.channels = 2}, FG_EINVAL, "baseline.jpg: expected 1 or 3 channels, got 2"},
    {{.channels = -1}, FG_EINVAL, "baseline.jpg: expected 1 or 3 channels, got -1"},
    {{.crop = {0, 20, 8, 4}},
     FG_EINVAL,
     "baseline.jpg: the crop of 8x4 pixels at (0, 20) is not inside the image of 37x23 "
     "pixels"},
    {{.crop = {0, 2, 0, 0}},
     FG_EINVAL,
     "baseline.jpg: the crop of 0x0 pixels at (0, 2) is not inside the image of 37x23 "
     "pixels"},
    {{.min_height = -1},
     FG_EINVAL,
     "baseline.jpg: min_width, min_height and max_pixels must not be negative"},
    {{.max_pixels = -1},
     FG_EINVAL,
     "baseline.jpg: min_width, min_height and max_pixels must not be negative"},
    {{.max_pixels = 37 * 23 - 1},
     FG_EUNSUPPORTED,
     "baseline.jpg: the image has 37x23 pixels, more than the limit of 850\nif you trust the "
     "file, make the image smaller, or raise max_pixels (fg_image_decode_options)"},
};

static void invalid_requests_are_refused(void **state)
{
    fgt_file file = fgt_file_read("baseline.jpg");
    for (size_t i = 0; i < sizeof bad_requests / sizeof *bad_requests; i++) {
        assert_int_equal(decode_bytes(&file, &bad_requests[i].options), bad_requests[i].status);
        assert_string_equal(err.message, bad_requests[i].message);
    }
    fgt_ok(decode_bytes(&file, &(fg_image_decode_options){.max_pixels = 37 * 23}));
    fgt_file_free(&file);
}

/* By the encoders. */
static void negative_options_are_refused(void **state)
{
    fg_image_bytes bytes = {0};
    uint8_t pixels[3] = {0};
    const fg_image image = {.pixels = pixels, .width = 1, .height = 1, .channels = 3};
    assert_int_equal(
        fg_image_encode_jpeg(&image, &(fg_image_jpeg_options){.quality = -1}, &bytes, &err),
        FG_EINVAL);
    assert_string_equal(err.message,
                        "fg_image_encode_jpeg: expected a quality of 1 to 100, got -1");
    assert_int_equal(
        fg_image_encode_png(&image, &(fg_image_png_options){.compression = -1}, &bytes, &err),
        FG_EINVAL);
    assert_string_equal(err.message,
                        "fg_image_encode_png: expected a compression of 1 to 9, got -1");
    fg_image_bytes_fini(&bytes);
}

/* A TIFF file with an orientation that there is not is upright. */
static void orientations_of_tiff_are_1_to_8(void **state)
{
    for (uint8_t value = 0; value <= 9; value++) {
        fgt_file file = fgt_file_read("turned.tif");
        uint8_t *entry = memmem(file.data, file.size, "\x12\x01\x03\0\x01\0\0\0\x06", 9);
        fg_image_info info;
        assert_non_null(entry);
        entry[8] = value;
        fgt_ok(fg_image_probe(file.name, file.data, file.size, &info, &err));
        assert_int_equal(info.orientation, value >= 1 && value <= 8 ? value : 1);
        fgt_file_free(&file);
    }
}

/* The limit is 178,956,970: 13377 x 13377 is 178,944,129, 13377 x 13378 is 178,957,506. */
static void too_many_pixels_are_refused(void **state)
{
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    assert_int_equal(fg_image_decode(decoder, "f", "P5 13377 13377 255\n", 19, NULL, &whole, &err),
                     FG_EFORMAT);
    assert_int_equal(fg_image_decode(decoder, "f", "P5 13377 13378 255\n", 19, NULL, &whole, &err),
                     FG_EUNSUPPORTED);
    assert_string_equal(err.message,
                        "f: the image has 13377x13378 pixels, more than the limit of 178956970\nif "
                        "you trust the file, make the image smaller, or raise max_pixels "
                        "(fg_image_decode_options)");
    fg_image_fini(&whole);
    fg_image_decoder_destroy(decoder);
}

/* Every scan of a progressive file repeats the work for the whole image. */
static void too_many_scans_are_refused(void **state)
{
    fgt_file file = fgt_file_read("progressive.jpg");
    const size_t first = offset_of(&file, 0xda), scan = 14, copies = 600;
    uint8_t *data = malloc(file.size + copies * scan);
    assert_non_null(data);
    memcpy(data, file.data, first);
    for (size_t i = 0; i < copies; i++) /* refinements of DC without data */
        memcpy(data + first + i * scan, "\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x00\x10",
               scan);
    memcpy(data + first + copies * scan, file.data + first, file.size - first);
    const fgt_file many = {"many.jpg", data, file.size + copies * scan};
    const fg_image_decode_options tolerant = {.tolerate_corruption = true};
    assert_int_equal(decode_bytes(&many, &tolerant), FG_EFORMAT);
    fgt_message_is(
        err.message,
        "many.jpg: byte 7243: the JPEG has more than 500 scans, which takes too long to decode");
    free(data);
    fgt_file_free(&file);
}

static void damage_is_survived(void **state)
{
    static const char *const names[] = {"baseline.jpg", "progressive.jpg", "gray.jpg", "cmyk.jpg",
                                        "orient5.jpg"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fgt_check_truncations(names[i], 0);
        fgt_check_flips(names[i]);
        fgt_check_allocations(names[i]);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_kind_has_the_pixels_of_pillow),
    cmocka_unit_test(orientations_are_applied),
    cmocka_unit_test(reduced_sizes_have_the_pixels_of_pillow),
    cmocka_unit_test(crops_are_parts_of_the_full_decode),
    cmocka_unit_test(crops_at_reduced_sizes_report_their_region),
    cmocka_unit_test(crops_are_those_of_the_upright_image),
    cmocka_unit_test(minimum_sizes_are_those_of_the_upright_image),
    cmocka_unit_test(other_codings_give_the_same_pixels),
    cmocka_unit_test(entropy_decoding_is_timed),
    cmocka_unit_test(headers_are_reported),
    cmocka_unit_test(all_kinds_of_frames_are_known),
    cmocka_unit_test(unsupported_features_are_named),
    cmocka_unit_test(a_truncated_file_is_an_error_unless_tolerated),
    cmocka_unit_test(the_last_two_bytes_are_the_end_of_image),
    cmocka_unit_test(sampling_is_that_of_the_header),
    cmocka_unit_test(harmless_flaws_are_accepted),
    cmocka_unit_test(data_around_an_image_are_harmless),
    cmocka_unit_test(an_unknown_revision_is_harmless),
    cmocka_unit_test(unusual_headers_are_harmless),
    cmocka_unit_test(corrupt_data_is_an_error_unless_tolerated),
    cmocka_unit_test(invalid_requests_are_refused),
    cmocka_unit_test(negative_options_are_refused),
    cmocka_unit_test(orientations_of_tiff_are_1_to_8),
    cmocka_unit_test(too_many_pixels_are_refused),
    cmocka_unit_test(too_many_scans_are_refused),
    cmocka_unit_test(damage_is_survived),
};
FGT_MAIN(tests)
