/* test_jpeg_sequential.c - our entropy decoder in libjpeg's place: the pixels are those of libjpeg
 * alone, for intact files and, if corruption is tolerated, for damaged ones; otherwise damage is an
 * error or changes pixels as it does for libjpeg.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>

#include <fulgurite/image.h>

#include "made_jpeg.h"

static fg_error err;
static fg_image_decoder *decoder;

static int open_decoder(void **state)
{
    (void)state;
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    return 0;
}

static int close_decoder(void **state)
{
    (void)state;
    fg_image_decoder_destroy(decoder);
    return 0;
}

static void check_same(const uint8_t *jpeg, size_t size, const fg_image *image, const char *what)
{
    int width = 0, height = 0;
    uint8_t *pixels = fgt_jpeg_pixels(jpeg, size, 1, &width, &height);
    assert_int_equal(image->width, width);
    assert_int_equal(image->height, height);
    for (int64_t i = 0; i < (int64_t)width * height * 3; i++)
        if (pixels[i] != image->pixels[i])
            fail_msg("%s: byte %lld of the pixels is %d, libjpeg has %d", what, (long long)i,
                     image->pixels[i], pixels[i]);
    free(pixels);
}

static void pixels_are_those_of_libjpeg(void **state)
{
    (void)state;
    static const fgt_jpeg_spec specs[] = {
        {.width = 67, .height = 45},
        {.width = 64, .height = 48, .h = 1, .v = 1},
        {.width = 33, .height = 129, .h = 2, .v = 1},
        {.width = 129, .height = 17, .h = 1, .v = 2, .quality = 100},
        {.width = 31, .height = 31, .h = 4, .v = 1, .optimized = true},
        {.width = 50, .height = 40, .components = 1},
        {.width = 50, .height = 40, .components = 1, .h = 2, .v = 2},
        {.width = 1, .height = 1},
        {.width = 300, .height = 200, .quality = 5, .smooth = true},
        {.width = 300, .height = 200, .quality = 100, .optimized = true}, /* codes of 16 bits */
        {.width = 800, .height = 600, .quality = 100},                    /* more than one piece */
        {.width = 67, .height = 45, .restart = 3},                        /* not for our decoder: */
        {.width = 67, .height = 45, .progressive = true},
    };
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        size_t size = 0;
        char what[16];
        fg_image image = {0};
        uint8_t *jpeg = fgt_jpeg_make(&specs[i], &size);
        const fg_image_decode_options options = {.channels = 3};
        (void)snprintf(what, sizeof what, "case %zu", i);
        fgt_ok(fg_image_decode(decoder, "made.jpg", jpeg, size, &options, &image, &err));
        check_same(jpeg, size, &image, what);
        fg_image_fini(&image);
        free(jpeg);
    }
}

static uint32_t draw(uint32_t *state, uint32_t bound)
{
    *state = *state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(*state >> 8) * bound >> 24);
}

/* The first byte after the header of the scan. */
static size_t scan_start(const uint8_t *jpeg, size_t size)
{
    for (size_t i = 0; i + 4 < size; i++)
        if (jpeg[i] == 0xff && jpeg[i + 1] == 0xda)
            return i + 2 + (size_t)jpeg[i + 2] * 256 + jpeg[i + 3];
    fail_msg("the JPEG has no scan");
    return 0;
}

/* Changed bytes, bytes that are missing or too many, and markers in the scan. */
static void damage_is_treated_as_by_libjpeg(void **state)
{
    (void)state;
    const fgt_jpeg_spec spec = {.width = 80, .height = 64, .h = 2, .v = 2, .optimized = true};
    size_t size = 0;
    uint8_t *jpeg = fgt_jpeg_make(&spec, &size), *bad = malloc(size + 8);
    const size_t start = scan_start(jpeg, size);
    uint32_t random = 7;
    int errors = 0;
    for (int i = 0; i < 600; i++) {
        size_t bad_size = size;
        char what[24];
        fg_image image = {0};
        memcpy(bad, jpeg, size);
        const size_t at = start + draw(&random, (uint32_t)(size - start - 2));
        if (i % 4 == 0) { /* an early end: the marker follows too soon */
            bad[at] = 0xff;
            bad[at + 1] = 0xd9;
            bad_size = at + 2;
        } else if (i % 4 == 1) { /* additional bytes at the end */
            memset(bad + size - 2, 0x11, 4);
            bad[size + 2] = 0xff;
            bad[size + 3] = 0xd9;
            bad_size = size + 4;
        } else if (jpeg[at] != 0 && jpeg[at] != 0xff) {
            bad[at] =
                (uint8_t)draw(&random, 255); /* FF could become a marker, which may be fatal */
        }
        (void)snprintf(what, sizeof what, "damage %d", i);
        fg_image_decode_options options = {.channels = 3, .tolerate_corruption = true};
        fgt_ok(fg_image_decode(decoder, "bad.jpg", bad, bad_size, &options, &image, &err));
        check_same(bad, bad_size, &image, what);
        options.tolerate_corruption = false;
        if (fg_image_decode(decoder, "bad.jpg", bad, bad_size, &options, &image, &err) != FG_OK)
            errors++;
        else
            check_same(bad, bad_size, &image, what);
        fg_image_fini(&image);
    }
    assert_true(errors > 150); /* the others change pixels, or nothing */
    free(bad);
    free(jpeg);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pixels_are_those_of_libjpeg),
    cmocka_unit_test(damage_is_treated_as_by_libjpeg),
};

int main(void) { return cmocka_run_group_tests(tests, open_decoder, close_decoder); }
