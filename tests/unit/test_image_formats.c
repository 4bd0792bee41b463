/* PNG, WebP, GIF, TIFF, BMP and PNM: pixels against Pillow's
 * (tests/golden/image/make_images.py), headers, damage; the formats that are refused by name;
 * encoders; several threads. More of GIF: test_image_gif.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>
#include <sys/resource.h>
#include "base/alloc.h"
#include "base/thread.h"
#include "image/codec.h"
#include "image/exif.h"
#include "image_files.h"

enum { W = 37, H = 23 };

static fg_error err;

/* ---- pixels ---------------------------------------------------------------------------------- */

typedef struct sample {
    const char *name;
    int channels, bits;
    bool is_turned; /* orientation 6 */
    bool is_progressive;
    size_t optional; /* bytes at the end that may be missing: padding of the last row */
} sample;

static const sample samples[] = {
    {.name = "rgb.png", .channels = 3, .bits = 8},
    {.name = "rgba.png", .channels = 4, .bits = 8},
    {.name = "gray.png", .channels = 1, .bits = 8},
    {.name = "gray_alpha.png", .channels = 2, .bits = 8},
    {.name = "bit.png", .channels = 1, .bits = 1},
    {.name = "palette.png", .channels = 3, .bits = 8},
    {.name = "palette2.png", .channels = 3, .bits = 2},
    {.name = "palette_alpha.png", .channels = 4, .bits = 4},
    {.name = "rgb_key.png", .channels = 4, .bits = 8},
    {.name = "turned.png", .channels = 3, .bits = 8, .is_turned = true},
    {.name = "rgb16.png", .channels = 3, .bits = 16},
    {.name = "gray16.png", .channels = 1, .bits = 16},
    {.name = "interlaced.png", .channels = 3, .bits = 8, .is_progressive = true},
    {.name = "lossy.webp", .channels = 3, .bits = 8},
    {.name = "lossless.webp", .channels = 3, .bits = 8},
    {.name = "alpha.webp", .channels = 4, .bits = 8},
    {.name = "alpha_lossy.webp", .channels = 4, .bits = 8},
    {.name = "turned.webp", .channels = 3, .bits = 8, .is_turned = true},
    {.name = "animated.webp", .channels = 4, .bits = 8},
    {.name = "plain.gif", .channels = 3, .bits = 5},
    {.name = "interlaced.gif", .channels = 3, .bits = 5},
    {.name = "transparent.gif", .channels = 3, .bits = 5},
    {.name = "animated.gif", .channels = 3, .bits = 5},
    {.name = "plain.tif", .channels = 3, .bits = 8},
    {.name = "lzw.tif", .channels = 3, .bits = 8},
    {.name = "deflate.tif", .channels = 3, .bits = 8},
    {.name = "gray.tif", .channels = 1, .bits = 8},
    {.name = "fax.tif", .channels = 1, .bits = 1},
    {.name = "palette.tif", .channels = 3, .bits = 8},
    {.name = "alpha.tif", .channels = 4, .bits = 8},
    {.name = "gray16.tif", .channels = 1, .bits = 16},
    {.name = "jpeg.tif", .channels = 3, .bits = 8},
    {.name = "turned.tif", .channels = 3, .bits = 8, .is_turned = true},
    {.name = "pages.tif", .channels = 3, .bits = 8},
    {.name = "plain.bmp", .channels = 3, .bits = 8, .optional = 1},
    {.name = "core.bmp", .channels = 3, .bits = 8, .optional = 1},
    {.name = "palette.bmp", .channels = 3, .bits = 8, .optional = 3},
    {.name = "bit.bmp", .channels = 3, .bits = 1, .optional = 3},
    {.name = "nibble.bmp", .channels = 3, .bits = 4, .optional = 1},
    {.name = "rle8.bmp", .channels = 3, .bits = 8, .optional = 4}, /* the marks of the end */
    {.name = "rle4.bmp", .channels = 3, .bits = 4, .optional = 4},
    {.name = "masks.bmp", .channels = 3, .bits = 5, .optional = 2},
    {.name = "alpha.bmp", .channels = 4, .bits = 8},
    {.name = "plain.ppm", .channels = 3, .bits = 8},
    {.name = "gray.pgm", .channels = 1, .bits = 8},
    {.name = "bit.pbm", .channels = 1, .bits = 1},
    {.name = "deep.ppm", .channels = 3, .bits = 16},
    {.name = "text.ppm", .channels = 3, .bits = 8, .optional = 2},
    {.name = "text.pbm", .channels = 1, .bits = 1},
};

enum { SAMPLE_COUNT = sizeof samples / sizeof *samples };

/* TIFF files are only decoded where libtiff is installed, as on the machines that run the tests. */
static int bound_of(const char *name)
{
    if (strcmp(name, "alpha.tif") == 0)
        return 2;                                   /* libtiff multiplies by alpha first */
    return strcmp(name, "gray16.tif") == 0 ? 1 : 0; /* libtiff rounds */
}

static void pixels_are_those_of_pillow(void **state)
{
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        const sample *s = &samples[i];
        char expected[48];
        (void)snprintf(expected, sizeof expected, "%s.rgb", s->name);
        fgt_check_decode(s->name, NULL, s->is_turned ? H : W, s->is_turned ? W : H, expected,
                         bound_of(s->name));
    }
}

static void headers_are_reported(void **state)
{
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        const sample *s = &samples[i];
        fgt_file file = fgt_file_read(s->name);
        fg_image_info info;
        fgt_ok(fg_image_probe(s->name, file.data, file.size, &info, &err));
        assert_int_equal(info.width, s->is_turned ? H : W);
        assert_int_equal(info.height, s->is_turned ? W : H);
        if (info.channels != s->channels || info.bits != s->bits)
            fail_msg("%s: %d channels, %d bits", s->name, info.channels, info.bits);
        assert_int_equal(info.orientation, s->is_turned ? 6 : 1);
        assert_int_equal(info.is_progressive, s->is_progressive);
        fgt_file_free(&file);
    }
}

static uint8_t luma(const uint8_t *p)
{
    return (uint8_t)((19595 * p[0] + 38470 * p[1] + 7471 * p[2] + 32768) >> 16);
}

/* A crop, in gray, over another background: from the full decode in color. */
static void crops_and_gray_are_parts_of_the_full_decode(void **state)
{
    static const uint8_t blue[] = {10, 20, 200};
    fg_image_decoder *decoder;
    fg_image whole = {0}, part = {0};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        fgt_file file = fgt_file_read(samples[i].name);
        const fg_image_decode_options over_blue = {.background = blue};
        const fg_image_decode_options gray = {
            .background = blue, .channels = 1, .crop = {5, 7, 13, 11}};
        fgt_ok(fgt_decode(decoder, &file, &over_blue, &whole, &err));
        fgt_ok(fgt_decode(decoder, &file, &gray, &part, &err));
        assert_true(part.width == 13 && part.height == 11 && part.channels == 1);
        for (int64_t y = 0; y < 11; y++)
            for (int64_t x = 0; x < 13; x++)
                assert_int_equal(part.pixels[y * 13 + x],
                                 luma(whole.pixels + ((y + 7) * whole.width + x + 5) * 3));
        fgt_file_free(&file);
    }
    fg_image_fini(&whole);
    fg_image_fini(&part);
    fg_image_decoder_destroy(decoder);
}

/* rgba.png is transparent on the left and opaque on the right. */
static void transparency_shows_the_background(void **state)
{
    static const uint8_t blue[] = {10, 20, 200};
    fg_image_decoder *decoder;
    fg_image image = {0}, opaque = {0};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    static const char *const names[] = {"rgba.png", "alpha.webp", "alpha.tif"};
    fgt_file plain = fgt_file_read("rgb.png");
    fgt_ok(fgt_decode(decoder, &plain, NULL, &opaque, &err));
    for (int i = 0; i < 3; i++) {
        fgt_file file = fgt_file_read(names[i]);
        fgt_ok(fgt_decode(decoder, &file, &(fg_image_decode_options){.background = blue}, &image,
                          &err));
        for (int64_t y = 0; y < H; y++) {
            assert_memory_equal(image.pixels + y * W * 3, blue, 3);
            const int64_t last = (y * W + W - 1) * 3;
            assert_memory_equal(image.pixels + last, opaque.pixels + last, 3);
        }
        fgt_file_free(&file);
    }
    fgt_file_free(&plain);
    fg_image_fini(&image);
    fg_image_fini(&opaque);
    fg_image_decoder_destroy(decoder);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Of several frames or pages, the first one may be complete in a truncated file; the last
 * byte of fax.tif is padding. */
static bool may_end_early(const char *name)
{
    static const char *const names[] = {"animated.gif", "pages.tif", "fax.tif"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void damage_is_survived(void **state)
{
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        if (!may_end_early(samples[i].name))
            fgt_check_truncations(samples[i].name, samples[i].optional);
        fgt_check_flips(samples[i].name);
        fgt_check_allocations(samples[i].name);
    }
}

static void expect_refused(const char *data, size_t size, fg_status status, const char *message)
{
    fg_image_info info;
    memset(&info, 0xff, sizeof info);
    assert_int_equal(fg_image_probe("f", data, size, &info, &err), status);
    assert_string_equal(err.message, message);
    assert_int_equal(info.format, FG_IMAGE_UNKNOWN);
}
#define EXPECT_UNSUPPORTED(data, name)                                                             \
    expect_refused(data, sizeof(data) - 1, FG_EUNSUPPORTED, "f: unsupported image format: " name)

static const struct {
    size_t offset;
    const char *bytes, *name;
} first_bytes[] = {
    {4, "ftypavif", "an AVIF image"},     {4, "ftypavis", "an AVIF image sequence"},
    {4, "ftypheic", "a HEIC image"},      {4, "ftypheix", "a HEIC image"},
    {4, "ftypmif1", "a HEIF image"},      {4, "ftypisom", "an ISO media file (video?)"},
    {4, "JXL \r\n", "a JPEG XL image"},   {0, "\xff\x0a", "a JPEG XL image"},
    {4, "jP  \r\n", "a JPEG 2000 image"}, {0, "\xff\x4f\xff\x51", "a JPEG 2000 codestream"},
    {0, "P7\n", "a PAM image"},           {0, "PF\n", "a PFM image"},
    {0, "8BPS", "a Photoshop file"},      {0, "%PDF", "a PDF file"},
    {0, "qoif", "a QOI image"},           {0, "PK\x03\x04", "a ZIP archive"},
    {0, "\x1f\x8b", "a gzip file"},       {0, "\x1a\x45\xdf\xa3", "a Matroska or WebM video"},
};

static void other_formats_are_named(void **state)
{
    for (size_t i = 0; i < sizeof first_bytes / sizeof *first_bytes; i++) {
        char data[20] = {0}, message[128];
        memcpy(data + first_bytes[i].offset, first_bytes[i].bytes, strlen(first_bytes[i].bytes));
        (void)snprintf(message, sizeof message, "f: unsupported image format: this is %s",
                       first_bytes[i].name);
        expect_refused(data, sizeof data, FG_EUNSUPPORTED, message);
        expect_refused(data, first_bytes[i].offset + strlen(first_bytes[i].bytes), FG_EUNSUPPORTED,
                       message);
    }
    EXPECT_UNSUPPORTED("<?xml version=\"1.0\"?>\n<SVG xmlns=", "this is an SVG image");
    EXPECT_UNSUPPORTED("<!DOCTYPE html><title>404",
                       "this is an HTML page, such as a server's error message");
    EXPECT_UNSUPPORTED("\n<HTML lang=en>",
                       "this is an HTML page, such as a server's error message");
    EXPECT_UNSUPPORTED("hello", "this is text");
    EXPECT_UNSUPPORTED("a\tb\r\n", "this is text");
    char words[1024] = "version https://git-lfs.github.com/spec/v1\n"; /* longer than a pointer */
    memset(words + 43, 'x', sizeof words - 43);
    expect_refused(words, sizeof words, FG_EUNSUPPORTED,
                   "f: unsupported image format: this is text");
    expect_refused(words, 1023, FG_EFORMAT,
                   "'f' is a Git LFS pointer, not the data: run `git lfs pull` in its repository");
    EXPECT_UNSUPPORTED("\x01\x02\x03\xff", "the file begins with the bytes 01 02 03 ff");
    EXPECT_UNSUPPORTED("\1\2\3\4\5\6\7\x10\x11",
                       "the file begins with the bytes 01 02 03 04 05 06 07 10");
    expect_refused("", 0, FG_EFORMAT, "f: byte 0: the file is empty");
    assert_int_equal(fg_image_probe("f", NULL, 3, &(fg_image_info){0}, &err), FG_EINVAL);
}

static bool has_ends(const uint8_t *data, size_t size)
{
    fgi_image_ends ends = {.size = size};
    memcpy(ends.first, data, sizeof ends.first);
    memcpy(ends.last, data + size - sizeof ends.last, sizeof ends.last);
    return fgi_image_has_ends(&ends);
}

static const struct {
    const char *data; /* 16 bytes, of which the file has more */
    size_t size;
    bool has_ends;
} ends_of_files[] = {
    {"II*\0\x20\0\0\0xxxxxxxx", 33, true}, /* the place of the directory */
    {"II*\0\x20\0\0\0xxxxxxxx", 32, false},
    {"MM\0*\0\0\0\x20xxxxxxxx", 33, true},
    {"MM\0*\0\0\0\x20xxxxxxxx", 32, false},
    {"II+\0\x08\0\0\0\x20\0\0\0\0\0\0\0", 33, true},
    {"II+\0\x08\0\0\0\x20\0\0\0\0\0\0\1", 33, false},
    {"MM\0+\0\x08\0\0\0\0\0\0\0\0\0\x20", 33, true},
    {"MM\0+\0\x08\0\0\0\0\0\0\0\0\0\x20", 32, false},
    {"RIFF\x20\0\0\0WEBPVP8 ", 40, true},
    {"RIFF\x20\0\0\0WEBPVP8 ", 39, false},
    {"RIFF\x20\1\0\0WEBPVP8 ", 0x127, false},
    {"RIFF\x20\0\1\0WEBPVP8 ", 0x10027, false},
    {"RIFF\x20\0\0\1WEBPVP8 ", 0x1000027, false},
};

/* The two ends of a file say whether it is complete; those of other formats say nothing. */
static void complete_files_have_their_ends(void **state)
{
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        fgt_file file = fgt_file_read(samples[i].name);
        assert_true(has_ends(file.data, file.size));
        const char *type = strchr(samples[i].name, '.');
        if (strcmp(type, ".png") == 0 || strcmp(type, ".gif") == 0 || strcmp(type, ".webp") == 0) {
            assert_false(has_ends(file.data, file.size - 1));
            assert_int_equal(fgi_image_check("f", file.data, file.size / 2, true, &err),
                             FG_EFORMAT); /* only JPEGs can be tolerated */
            const char *format = type[1] == 'p' ? "PNG" : type[1] == 'g' ? "GIF" : "WebP";
            char message[96];
            (void)snprintf(message, sizeof message,
                           "f: byte %zu: truncated %s: the file ends before the image does",
                           file.size / 2, format);
            assert_string_equal(err.message, message);
        }
        if (strcmp(type, ".png") == 0) { /* the last chunk is there, with a wrong checksum */
            file.data[file.size - 1] ^= 1;
            fgt_ok(fgi_image_check("f", file.data, file.size, false, &err));
        }
        fgt_file_free(&file);
    }
    for (size_t i = 0; i < sizeof ends_of_files / sizeof *ends_of_files; i++) {
        fgi_image_ends ends = {.size = ends_of_files[i].size};
        memcpy(ends.first, ends_of_files[i].data, sizeof ends.first);
        if (fgi_image_has_ends(&ends) != ends_of_files[i].has_ends)
            fail_msg("case %zu", i);
    }
}

static void malformed_headers_are_refused(void **state)
{
    static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\x02\0\0\0"
                              "\0\0\0\0";
    char bad[sizeof png];
    memcpy(bad, png, sizeof png);
    expect_refused(bad, 20, FG_EFORMAT,
                   "f: byte 20: truncated PNG: the file ends within its header");
    bad[25] = 1;
    expect_refused(bad, 33, FG_EFORMAT, "f: byte 25: the PNG has an invalid color type");
    bad[20] = (char)0x80;
    expect_refused(bad, 33, FG_EFORMAT, "f: byte 16: the PNG has an invalid width or height");
    bad[20] = 0;
    memset(bad + 16, 0, 4);
    expect_refused(bad, 33, FG_EFORMAT, "f: byte 16: the PNG has an invalid width or height");
    bad[12] = 'X';
    expect_refused(bad, 33, FG_EFORMAT, "f: byte 8: the PNG does not begin with an IHDR chunk");
    expect_refused("GIF89a\x02\0", 8, FG_EFORMAT,
                   "f: byte 8: truncated GIF: the file ends within its header");
    expect_refused("GIF89a\x02\0\0\0\0\0\0", 13, FG_EFORMAT,
                   "f: byte 6: the GIF has a width or height of 0");
    expect_refused("RIFF\x04\0\0\0WEBP", 12, FG_EFORMAT, "f: byte 0: corrupt WebP data");
}

/* A BMP of 3x1 pixels of 24 bits with a header of 40 bytes. */
#define BMP(width, bits, compression)                                                              \
    "BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0" width "\x01\0\0\0\x01\0" bits "\0" compression        \
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\x09"

static void malformed_bmp_and_pnm_are_refused(void **state)
{
    static const struct {
        const char *data;
        size_t size;
        fg_status status;
        const char *message;
    } cases[] = {
        {BMP("\x03\0\0\0", "\x18", "\0"), 63, FG_OK, NULL},
        {BMP("\x03\0\0\0", "\x18", "\0"), 62, FG_EFORMAT,
         "f: byte 62: truncated BMP: the file ends before the image does"},
        {BMP("\0\0\0\0", "\x18", "\0"), 63, FG_EFORMAT,
         "f: byte 18: the BMP has a width or height below 1"},
        {BMP("\x03\0\0\0", "\x17", "\0"), 63, FG_EUNSUPPORTED,
         "f: unsupported BMP: bits per pixel 23"},
        {BMP("\x03\0\0\0", "\x18", "\x04"), 63, FG_EUNSUPPORTED,
         "f: unsupported BMP: compression 4"},
        {BMP("\x01\0\0\0", "\x10", "\x03"), 63, FG_EFORMAT,
         "f: byte 63: truncated BMP: the file ends before the image does"},
        {"P5 1 1 255\nx", 12, FG_OK, NULL},
        {"P5 # to the end\r1 1 255\nx", 25, FG_OK, NULL},
        {"P5 1 1 255\n", 11, FG_EFORMAT,
         "f: byte 11: truncated PNM: the file ends before the image does"},
        {"P5 0 1 255\nx", 12, FG_EFORMAT, "f: byte 10: the PNM has a width or height of 0"},
        {"P5 1 0 255\nx", 12, FG_EFORMAT, "f: byte 10: the PNM has a width or height of 0"},
        {"P5 1 1 65536\nx", 14, FG_EFORMAT,
         "f: byte 12: the largest value of the PNM is not 1 to 65535"},
        {"P5 1 x 255\nx", 12, FG_EFORMAT, "f: byte 5: expected a number"},
        {"P5 1 1 255x1", 12, FG_EFORMAT,
         "f: byte 10: expected whitespace after the header of the PNM"},
        {"P2 1 1 15\n16", 12, FG_EFORMAT,
         "f: byte 12: truncated PNM: the file ends before the image does"},
        {"P2 1 1 15\n16\n", 13, FG_EFORMAT,
         "f: byte 12: the PNM has a value above the maximum in its header"},
    };
    fg_image_decoder *decoder;
    fg_image image = {0};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fg_status status =
            fg_image_decode(decoder, "f", cases[i].data, cases[i].size, NULL, &image, &err);
        if (status != cases[i].status ||
            (status != FG_OK && strcmp(err.message, cases[i].message) != 0))
            fail_msg("case %zu: %s", i, err.message);
    }
    fgt_ok(fg_image_decode(decoder, "f", "P5 1 2 256\n\0\0\1\0", 15, NULL, &image, &err));
    assert_true(image.pixels[0] == 0 && image.pixels[3] == 255); /* of two bytes each */
    static const char jump[] = /* a pixel, one to the right and above it */
        "BM\0\0\0\0\0\0\0\0\x3e\0\0\0\x28\0\0\0\2\0\0\0\2\0\0\0\1\0\x08\0\1\0\0\0"
        "\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\0"
        "\1\1\0\2\0\1\1\1\0\1";
    fgt_ok(fg_image_decode(decoder, "f", jump, sizeof jump - 1, NULL, &image, &err));
    static const uint8_t expected[] = {0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0};
    assert_memory_equal(image.pixels, expected, sizeof expected);
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
}

/* Headers of 56 bytes have a mask of alpha, those of 52 bytes have not. */
static void the_size_of_a_bmp_header_says_whether_it_has_alpha(void **state)
{
    char file[] = "BM\0\0\0\0\0\0\0\0\x46\0\0\0\x38\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x20\0\x03\0\0\0"
                  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                  "\0\0\xff\0\0\xff\0\0\xff\0\0\0\0\0\0\xff\x01\x02\x03\x80";
    fg_image_info info;
    fgt_ok(fg_image_probe("f", file, sizeof(file) - 1, &info, &err));
    assert_int_equal(info.channels, 4);
    file[14] = 52;
    fgt_ok(fg_image_probe("f", file, sizeof(file) - 1, &info, &err));
    assert_int_equal(info.channels, 3);
}

/* ---- headers of BMP ------------------------------------------------------------------------- */

static void put_number(uint8_t *out, size_t bytes, uint32_t value)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

typedef struct bmp {
    uint32_t size; /* of the header */
    int32_t width, height;
    uint32_t bits, compression, used, pixels; /* colors of the palette; byte offset, 0: as needed */
    const char *rest;                         /* after the header: masks, palette, pixels */
    size_t rest_size;
    int channels, shown_bits;
    const char *expected; /* pixels, or a message */
} bmp;
#define REST(text) text, sizeof(text) - 1
#define TWO        "\1\2\3\0\4\5\6\0" /* a palette of (3, 2, 1) and (6, 5, 4) */

static const bmp bmps[] = {
    {12, 1, 1, 24, 0, 0, 0, REST("\1\2\3"), 3, 8, "\3\2\1"},
    {12, 1, 1, 24, 0, 0, 25, REST("\1\2\3"), 3, 8, "\3\2\1"}, /* an offset in the header */
    {40, 1, 2, 24, 0, 0, 0, REST("\1\2\3\0\4\5\6\0"), 3, 8, "\6\5\4\3\2\1"},
    {40, 1, -2, 24, 0, 0, 0, REST("\1\2\3\0\4\5\6\0"), 3, 8, "\3\2\1\6\5\4"},
    {12, 2, 1, 1, 0, 0, 0, REST("\1\2\3\4\5\6\x40"), 3, 1, "\3\2\1\6\5\4"},
    {40, 2, 1, 1, 0, 2, 0, REST(TWO "\x80"), 3, 1, "\6\5\4\3\2\1"},
    {40, 2, 1, 1, 0, 3, 0, REST(TWO "\x80"), 3, 1, "\6\5\4\3\2\1"}, /* of two colors */
    {40, 4, 1, 2, 0, 2, 0, REST(TWO "\x1b"), 3, 2, "\3\2\1\6\5\4\0\0\0\0\0\0"},
    {40, 2, 1, 4, 0, 0, 62, REST(TWO "\x10"), 3, 4, "\6\5\4\3\2\1"}, /* pixels follow at once */
    {40, 2, 1, 8, 0, 2, 63, REST(TWO "x\0\1"), 3, 8, "\3\2\1\6\5\4"},
    {40, 2, 1, 16, 0, 0, 0, REST("\x01\x7c\xe0\x83"), 3, 5, "\xff\0\x08\0\xff\0"},
    {40, 1, 1, 16, 3, 0, 0, REST("\0\xf8\0\0\xe0\7\0\0\x1f\0\0\0\x21\x08"), 3, 5, "\x08\x04\x08"},
    {40, 2, 1, 16, 6, 0, 0, /* alpha in one bit: opaque blue, transparent blue */
     REST("\0\x7c\0\0\xe0\3\0\0\x1f\0\0\0\0\x80\0\0\x1f\x80\x1f\0"), 4, 5, "\0\0\xff\xff\xff\xff"},
    {40, 1, 1, 32, 0, 0, 0, REST("\1\2\3\x80"), 3, 8, "\3\2\1"},
    {40, 1, 1, 32, 6, 0, 0, REST("\xff\0\0\0\0\xff\0\0\0\0\xff\0\0\0\0\xff\1\2\3\0"), 4, 8,
     "\xff\xff\xff"},
    {40, 1, 1, 32, 3, 0, 0, REST("\xff\0\0\0\0\0\0\0\0\0\xff\0\1\2\3\0"), 3, 8, "\1\0\3"},
    {40, 1, 1, 32, 3, 0, 0, REST("\5\0\0\0\0\0\0\0\0\0\xff\0\1\2\3\0"), 0, 0,
     "f: unsupported BMP: mask 5"},
    {39, 1, 1, 24, 0, 0, 0, REST("\1\2\3"), 0, 0, "f: unsupported BMP: size of the header 39"},
    {125, 1, 1, 24, 0, 0, 0, REST("\1\2\3"), 0, 0, "f: unsupported BMP: size of the header 125"},
    {124, 1, 1, 24, 0, 0, 0, REST("\1\2\3"), 3, 8, "\3\2\1"},
    {40, 1, 1, 4, 1, 0, 0, REST(TWO), 0, 0, "f: unsupported BMP: compression 1"},
    {40, 1, 1, 8, 2, 0, 0, REST(TWO), 0, 0, "f: unsupported BMP: compression 2"},
    {40, 1, 1, 24, 3, 0, 0, REST(TWO), 0, 0, "f: unsupported BMP: compression 3"},
    {40, -1, 1, 24, 0, 0, 0, REST(TWO), 0, 0, "f: byte 18: the BMP has a width or height below 1"},
    {40, 1, 0, 24, 0, 0, 0, REST(TWO), 0, 0, "f: byte 18: the BMP has a width or height below 1"},
    {40, 1, 1, 8, 0, 3, 0, REST(TWO), 0, 0,
     "f: byte 62: truncated BMP: the file ends before the image does"},
    {40, 1, 2, 24, 0, 0, 0, REST("\1\2\3\0\1\2"), 0, 0,
     "f: byte 60: truncated BMP: the file ends before the image does"},
    /* runs: a run, pixels as they are with padding, the end of a row, pixels that are skipped */
    {40, 4, 2, 8, 1, 2, 0, REST(TWO "\2\1\0\0\0\3\0\1\1\x99\1\0\0\1"), 3, 8,
     "\3\2\1\6\5\4\6\5\4\3\2\1\6\5\4\6\5\4\3\2\1\3\2\1"},
    {40, 2, 2, 8, 1, 2, 0, REST(TWO "\5\1\0\0\0\2\1\0\1\1"), 3, 8, /* too long for the row */
     "\3\2\1\6\5\4\6\5\4\6\5\4"},
    {40, 2, 3, 8, 1, 2, 0, REST(TWO "\1\1\0\2\0\2\1\1\0\1"), 3, 8, /* two rows up */
     "\3\2\1\6\5\4\3\2\1\3\2\1\6\5\4\3\2\1"},
    {40, 2, 1, 8, 1, 2, 0, REST(TWO "\1\1"), 0, 0,
     "f: byte 64: truncated BMP: the file ends before the image does"},
    {40, 5, 1, 4, 2, 2, 0, REST(TWO "\2\x10\0\3\x01\x1f\0\1"), 3, 4,
     "\6\5\4\3\2\1\3\2\1\6\5\4\6\5\4"},
    {40, 6, 1, 4, 2, 2, 0, REST(TWO "\0\5\x01\x01\x0f\x99\1\x10"), 3, 4,
     "\3\2\1\6\5\4\3\2\1\6\5\4\3\2\1\6\5\4"},
};

static size_t write_bmp(const bmp *b, uint8_t out[256])
{
    memset(out, 0, 256);
    memcpy(out, "BM", 2);
    put_number(out + 10, 4, b->pixels);
    put_number(out + 14, 4, b->size);
    const bool is_core = b->size == 12;
    put_number(out + 18, is_core ? 2 : 4, (uint32_t)b->width);
    put_number(out + (is_core ? 20 : 22), is_core ? 2 : 4, (uint32_t)b->height);
    put_number(out + (is_core ? 24 : 28), 2, b->bits);
    if (!is_core) {
        put_number(out + 30, 4, b->compression);
        put_number(out + 46, 4, b->used);
    }
    memcpy(out + 14 + b->size, b->rest, b->rest_size);
    return 14 + b->size + b->rest_size;
}

static void headers_of_bmp(void **state)
{
    static const uint8_t white[] = {255, 255, 255};
    fg_image_decoder *decoder;
    fg_image image = {0};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (size_t i = 0; i < sizeof bmps / sizeof *bmps; i++) {
        const bmp *b = &bmps[i];
        uint8_t data[256];
        fg_image_info info;
        const size_t size = write_bmp(b, data);
        const fg_image_decode_options over = {.background = white};
        const fg_status status = fg_image_decode(decoder, "f", data, size, &over, &image, &err);
        if (status != FG_OK && strcmp(err.message, b->expected) != 0)
            fail_msg("case %zu: %s", i, err.message);
        if (status != FG_OK)
            continue;
        fgt_ok(fg_image_probe("f", data, size, &info, &err));
        if (info.channels != b->channels || info.bits != b->shown_bits)
            fail_msg("case %zu: %d channels, %d bits", i, info.channels, info.bits);
        if (memcmp(image.pixels, b->expected, (size_t)(image.width * image.height * 3)) != 0)
            fail_msg("case %zu: %d %d %d", i, image.pixels[0], image.pixels[1], image.pixels[2]);
    }
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
}

static const struct {
    const char *data;
    size_t size;
    int channels, bits;
    const char *gray; /* the red of each pixel */
} values[] = {
    {REST("P1 3 1 101\n"), 1, 1, "\0\xff\0"},
    {REST("P4 9 1\n\x80\x80"), 1, 1, "\0\xff\xff\xff\xff\xff\xff\xff\0"},
    {REST("P2 4 1 3 0 1 2 3\n"), 1, 8, "\0\x55\xaa\xff"},
    {REST("P2#c\n1 1 2 1\n"), 1, 8, "\x80"},
    {REST("P5 3 1 2\n\1\2\3"), 1, 8, "\x80\xff\xff"},
    {REST("P5 2 1 255\n\1\xfe"), 1, 8, "\1\xfe"},
    {REST("P5 1 1 256\n\0\x80"), 1, 16, "\x80"},
    {REST("P5 1 1 65535\n\x80\0"), 1, 16, "\x80"},
    {REST("P3 2 1 15 1 2 3 15 5 6\n"), 3, 8, "\x11\xff"},
    {REST("P6 2 1 300\n\0\x1e\0\0\0\0\1\x2c\0\0\0\0"), 3, 16, "\x1a\xff"},
    {REST("P5\t1\v1\f1\r\n"), 1, 8, "\xff"},
};

static void values_of_pnm(void **state)
{
    fg_image_decoder *decoder;
    fg_image image = {0};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        fg_image_info info;
        fgt_ok(fg_image_decode(decoder, "f", values[i].data, values[i].size, NULL, &image, &err));
        fgt_ok(fg_image_probe("f", values[i].data, values[i].size, &info, &err));
        if (info.channels != values[i].channels || info.bits != values[i].bits)
            fail_msg("case %zu: %d channels, %d bits", i, info.channels, info.bits);
        for (int64_t k = 0; k < image.width; k++)
            if (image.pixels[3 * k] != (uint8_t)values[i].gray[k])
                fail_msg("case %zu: pixel %d is %d", i, (int)k, image.pixels[3 * k]);
    }
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
}

/* A chunk that claims to have more than a gigabyte is an error, not an allocation. */
static void lengths_of_chunks_are_not_trusted(void **state)
{
    static const char *const names[] = {"gAMA", "tEXt", "eXIf", "IDAT", "IEND"};
    fg_image_decoder *decoder;
    fg_image image = {0};
    struct rusage before, after;
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    for (int i = 0; i < 5 * 8; i++) {
        fgt_file file = fgt_file_read("turned.png");
        size_t at = 8;
        while (memcmp(file.data + at + 4, names[i / 8], 4) != 0)
            at++;
        file.data[at] ^= (uint8_t)(1 << i % 8);
        assert_int_equal(fgt_decode(decoder, &file, NULL, &image, &err), FG_EFORMAT);
        fgt_file_free(&file);
    }
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10); /* KiB */
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
}

/* ---- EXIF ------------------------------------------------------------------------------------ */

static int orientation(const char *data, size_t size)
{
    uint8_t *copy = malloc(size); /* so that ASan detects reads past the end */
    assert_non_null(copy);
    memcpy(copy, data, size);
    const int result = fgi_exif_orientation(copy, size);
    free(copy);
    return result;
}

static void exif_is_read_within_bounds(void **state)
{
    static const char big[] = "MM\0*\0\0\0\x08\0\x02\x01\x00\0\x03\0\0\0\x01\0\x07\0\0"
                              "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
    static const char little[] = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x08\0\0\0";
    assert_int_equal(orientation(big, sizeof big - 1), 6);
    assert_int_equal(orientation(little, sizeof little - 1), 8);
    for (size_t size = 1; size < sizeof big - 1; size++)
        assert_int_equal(orientation(big, size), 1);
    char other[sizeof little];
    memcpy(other, little, sizeof little);
    other[18] = 9; /* no orientation */
    assert_int_equal(orientation(other, sizeof little - 1), 1);
    other[18] = 0;
    assert_int_equal(orientation(other, sizeof little - 1), 1);
    other[18] = 3;
    other[12] = 4; /* not a SHORT */
    assert_int_equal(orientation(other, sizeof little - 1), 1);
    memset(other + 4, 0xff, 4); /* a directory past the end */
    assert_int_equal(orientation(other, sizeof little - 1), 1);
}

/* The EXIF of a WebP file, also with the header that it has in JPEG files. */
static void webp_has_either_kind_of_exif(void **state)
{
    fgt_file file = fgt_file_read("turned.webp");
    uint8_t *longer = malloc(file.size + 6);
    const uint8_t *chunk = memmem(file.data, file.size, "EXIF", 4);
    assert_true(longer != NULL && chunk != NULL);
    const size_t at = (size_t)(chunk - file.data) + 8;
    memcpy(longer, file.data, at);
    memcpy(longer + at, "Exif\0\0", 6);
    memcpy(longer + at + 6, file.data + at, file.size - at);
    assert_true(longer[4] < 250 && longer[at - 4] < 250);
    longer[4] += 6;
    longer[at - 4] += 6;
    for (int i = 0; i < 2; i++) {
        fg_image_info info;
        fgt_ok(fg_image_probe("f", i == 0 ? file.data : longer, file.size + (i == 0 ? 0 : 6), &info,
                              &err));
        assert_int_equal(info.orientation, 6);
        assert_true(info.width == H && info.height == W);
    }
    free(longer);
    fgt_file_free(&file);
}

/* A transparent color adds a channel to those that have no alpha. */
static void transparent_colors_of_png_are_a_channel(void **state)
{
    static const char *const names[] = {"gray.png", "gray_alpha.png", "rgb.png", "rgba.png"};
    static const int channels[] = {2, 2, 4, 4};
    static const uint8_t chunk[18] = "\0\0\0\6tRNS\0\1\0\1\0\1";
    for (int i = 0; i < 4; i++) {
        fgt_file file = fgt_file_read(names[i]);
        uint8_t *longer = malloc(file.size + 18);
        fg_image_info info;
        assert_non_null(longer);
        memcpy(longer, file.data, 33);
        memcpy(longer + 33, chunk, 18);
        memcpy(longer + 51, file.data + 33, file.size - 33);
        fgt_ok(fg_image_probe("f", longer, file.size + 18, &info, &err));
        assert_int_equal(info.channels, channels[i]);
        free(longer);
        fgt_file_free(&file);
    }
}

/* ---- encoding -------------------------------------------------------------------------------- */

static fg_status encode_all(void *self, fg_error *error)
{
    const fg_image *image = self;
    fg_image_bytes bytes = {0};
    fg_status status = fg_image_encode_png(image, NULL, &bytes, error);
    if (status == FG_OK)
        status = fg_image_encode_jpeg(image, NULL, &bytes, error);
    fg_image_bytes_fini(&bytes);
    return status;
}

/* Noise: larger than the first block of memory. */
static fg_image noise(int64_t width, int64_t height, int channels)
{
    fg_image image = {0};
    uint32_t random = 1;
    fgt_ok(fg_image_reserve(&image, width, height, channels, &err));
    for (int64_t i = 0; i < width * height * channels; i++) {
        random = random * 1664525u + 1013904223u;
        image.pixels[i] = (uint8_t)(random >> 24);
    }
    return image;
}

/* The compression is 6 unless it is given. */
static void check_default(const fg_image *image)
{
    fg_image_bytes usual = {0}, six = {0};
    fgt_ok(fg_image_encode_png(image, NULL, &usual, &err));
    fgt_ok(fg_image_encode_png(image, &(fg_image_png_options){.compression = 6}, &six, &err));
    assert_int_equal(six.size, usual.size);
    assert_memory_equal(six.data, usual.data, usual.size);
    fg_image_bytes_fini(&usual);
    fg_image_bytes_fini(&six);
}

static void png_files_are_lossless(void **state)
{
    fg_image_decoder *decoder;
    fg_image_bytes bytes = {0};
    fg_image decoded = {0};
    size_t sizes[2];
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (int channels = 1; channels <= 3; channels += 2) {
        fg_image image = noise(120, 90, channels);
        fgt_ok(fg_image_encode_png(&image, NULL, &bytes, &err));
        const fg_image_decode_options options = {.channels = channels};
        fgt_ok(
            fg_image_decode(decoder, "made.png", bytes.data, bytes.size, &options, &decoded, &err));
        assert_int_equal(fgt_image_difference(&image, &decoded), 0);
        memset(image.pixels, 7, (size_t)(60 * 90 * channels));
        check_default(&image);
        for (int i = 0; i < 2; i++) {
            const fg_image_png_options level = {.compression = i == 0 ? 1 : 9};
            fgt_ok(fg_image_encode_png(&image, &level, &bytes, &err));
            sizes[i] = bytes.size;
        }
        assert_true(sizes[1] < sizes[0]);
        fg_image_fini(&image);
    }
    fg_image_fini(&decoded);
    fg_image_bytes_fini(&bytes);
    fg_image_decoder_destroy(decoder);
}

/* The bytes of Pillow's encoder, which is the same library with the same tables. */
static void jpeg_files_are_as_good_as_asked(void **state)
{
    fg_image_decoder *decoder;
    fg_image_bytes bytes = {0};
    fg_image image = {0}, decoded = {0};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_file file = fgt_file_read("rgb.png");
    fgt_ok(fgt_decode(decoder, &file, NULL, &image, &err));
    static const struct {
        fg_image_jpeg_options options;
        const char *expected;
    } cases[] = {{{.quality = 85}, "baseline.jpg.rgb"},
                 {{.quality = 85, .full_chroma = true}, "full.jpg.rgb"}};
    for (size_t i = 0; i < 2; i++) {
        fgt_ok(fg_image_encode_jpeg(&image, &cases[i].options, &bytes, &err));
        fgt_ok(fg_image_decode(decoder, "made.jpg", bytes.data, bytes.size, NULL, &decoded, &err));
        fgt_image_check(&decoded, W, H, cases[i].expected, 0);
    }
    fgt_ok(fg_image_encode_jpeg(&image, NULL, &bytes, &err));
    const size_t usual = bytes.size;
    fgt_ok(fg_image_encode_jpeg(&image, &(fg_image_jpeg_options){.quality = 90}, &bytes, &err));
    assert_int_equal(bytes.size, usual);
    fg_image_fini(&image);
    image = noise(150, 110, 1); /* gray, and more than one block of memory */
    fgt_ok(fg_image_encode_jpeg(&image, &(fg_image_jpeg_options){.quality = 100}, &bytes, &err));
    assert_true(bytes.size > 1 << 14);
    const fg_image_decode_options gray = {.channels = 1};
    fgt_ok(fg_image_decode(decoder, "made.jpg", bytes.data, bytes.size, &gray, &decoded, &err));
    assert_in_range(fgt_image_difference(&image, &decoded), 0, 4);
    fgt_fault_loop(encode_all, &image);
    fg_image_fini(&image);
    fg_image_fini(&decoded);
    fg_image_bytes_fini(&bytes);
    fg_image_decoder_destroy(decoder);
    fgt_file_free(&file);
}

static void invalid_encodings_are_refused(void **state)
{
    fg_image_bytes bytes = {0};
    uint8_t pixels[3] = {0};
    fg_image image = {.pixels = pixels, .width = 1, .height = 1, .channels = 3};
    assert_int_equal(
        fg_image_encode_jpeg(&image, &(fg_image_jpeg_options){.quality = 101}, &bytes, &err),
        FG_EINVAL);
    assert_string_equal(err.message,
                        "fg_image_encode_jpeg: expected a quality of 1 to 100, got 101");
    assert_int_equal(
        fg_image_encode_png(&image, &(fg_image_png_options){.compression = 10}, &bytes, &err),
        FG_EINVAL);
    assert_string_equal(err.message,
                        "fg_image_encode_png: expected a compression of 1 to 9, got 10");
    image.channels = 2;
    assert_int_equal(fg_image_encode_png(&image, NULL, &bytes, &err), FG_EINVAL);
    assert_string_equal(err.message, "fg_image_encode_png: expected an image with 1 or 3 channels, "
                                     "got 1x1 pixels with 2 channels");
    image = (fg_image){.pixels = pixels, .width = 65501, .height = 1, .channels = 3};
    assert_int_equal(fg_image_encode_jpeg(&image, NULL, &bytes, &err), FG_EINVAL);
    assert_string_equal(err.message, "fg_image_encode_jpeg: libjpeg reports 'Maximum supported "
                                     "image dimension is 65500 pixels'");
    fg_image_bytes_fini(&bytes);
}

/* ---- threads --------------------------------------------------------------------------------- */

static fgt_file files[SAMPLE_COUNT];

static void *decode_everything(void *self)
{
    fg_error *own = self;
    fg_image_decoder *decoder;
    fg_image image = {0};
    fg_status status = fg_image_decoder_create(&decoder, own);
    for (size_t i = 0; i < SAMPLE_COUNT && status == FG_OK; i++)
        status = fgt_decode(decoder, &files[i], NULL, &image, own);
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
    return NULL;
}

static void threads_have_a_decoder_each(void **state)
{
    fgi_thread threads[2];
    fg_error errors[2] = {{FG_OK, 0, NULL, ""}, {FG_OK, 0, NULL, ""}};
    for (size_t i = 0; i < SAMPLE_COUNT; i++)
        files[i] = fgt_file_read(samples[i].name);
    for (int i = 0; i < 2; i++)
        fgt_ok(fgi_thread_start(&threads[i], decode_everything, &errors[i], &err));
    for (int i = 0; i < 2; i++) {
        fgi_thread_join(threads[i]);
        assert_int_equal(errors[i].status, FG_OK);
    }
    for (size_t i = 0; i < SAMPLE_COUNT; i++)
        fgt_file_free(&files[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(threads_have_a_decoder_each), /* first: both may load libtiff */
    cmocka_unit_test(pixels_are_those_of_pillow),
    cmocka_unit_test(headers_are_reported),
    cmocka_unit_test(crops_and_gray_are_parts_of_the_full_decode),
    cmocka_unit_test(transparency_shows_the_background),
    cmocka_unit_test(damage_is_survived),
    cmocka_unit_test(other_formats_are_named),
    cmocka_unit_test(complete_files_have_their_ends),
    cmocka_unit_test(malformed_headers_are_refused),
    cmocka_unit_test(malformed_bmp_and_pnm_are_refused),
    cmocka_unit_test(the_size_of_a_bmp_header_says_whether_it_has_alpha),
    cmocka_unit_test(headers_of_bmp),
    cmocka_unit_test(values_of_pnm),
    cmocka_unit_test(lengths_of_chunks_are_not_trusted),
    cmocka_unit_test(exif_is_read_within_bounds),
    cmocka_unit_test(webp_has_either_kind_of_exif),
    cmocka_unit_test(transparent_colors_of_png_are_a_channel),
    cmocka_unit_test(png_files_are_lossless),
    cmocka_unit_test(jpeg_files_are_as_good_as_asked),
    cmocka_unit_test(invalid_encodings_are_refused),
};
FGT_MAIN(tests)
