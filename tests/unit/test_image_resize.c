/* Resizing: against Pillow's results (tests/golden/image/make_images.py), flips, boxes, and the
 * sizes of presize rules.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "image/presize.h"
#include "image/resize_avx2.h"
#include "image/resize_exact.h"
#include "image/window.h"
#include "image_files.h"

static fg_error err;
static fg_image_decoder *decoder;

static int set_up(void **state) { return fg_image_decoder_create(&decoder, &err) == FG_OK ? 0 : 1; }

static int tear_down(void **state)
{
    fg_image_decoder_destroy(decoder);
    return 0;
}

/* The same pixels as pattern() in make_images.py; gray is the first channel. */
static fg_image pattern(int64_t width, int64_t height, int channels)
{
    fg_image image = {0};
    fgt_ok(fg_image_reserve(&image, width, height, channels, &err));
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            for (int c = 0; c < channels; c++)
                image.pixels[(y * width + x) * channels + c] =
                    (uint8_t)(x * 7 + y * 13 + c * 29 + x * y % 31 * 5);
    return image;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

static void check_size(const char *source, int64_t width, int64_t height, int channels)
{
    char expected[64];
    fg_image out = {0};
    fg_image image = source[0] == 'a' ? pattern(37, 23, channels) : pattern(200, 150, channels);
    (void)snprintf(expected, sizeof expected, "resize_%s_%dx%d.%s", source, (int)width, (int)height,
                   channels == 3 ? "rgb" : "gray");
    fgt_ok(fg_image_reserve(&out, width, height, channels, &err));
    fgt_ok(fg_image_resize(decoder, &image, width, height, NULL, out.pixels, &err));
    fgt_image_check(&out, width, height, expected, 1);
    fg_image_fini(&image);
    fg_image_fini(&out);
}

static void sizes_give_the_pixels_of_pillow(void **state)
{
    for (int channels = 1; channels <= 3; channels += 2) {
        check_size("a", 12, 9, channels);
        check_size("a", 64, 40, channels);
        check_size("a", 20, 50, channels);
        check_size("a", 5, 4, channels);
        check_size("a", 37, 11, channels);
        check_size("b", 40, 30, channels);
        check_size("b", 224, 33, channels);
        check_size("b", 7, 60, channels);
    }
}

/* Cropping, resizing and mirroring in one call, as three calls of Pillow do. */
static void a_random_resized_crop_is_one_call(void **state)
{
    fg_image image = pattern(200, 150, 3), out = {0};
    const fg_image_resize_options options = {.box = {31, 17, 100, 80}, .flip = true};
    fgt_ok(fg_image_reserve(&out, 48, 36, 3, &err));
    fgt_ok(fg_image_resize(decoder, &image, 48, 36, &options, out.pixels, &err));
    fgt_image_check(&out, 48, 36, "resize_crop_48x36.rgb", 1);
    image.region = options.box; /* the default box */
    fgt_ok(fg_image_resize(decoder, &image, 48, 36, &(fg_image_resize_options){.flip = true},
                           out.pixels, &err));
    fgt_image_check(&out, 48, 36, "resize_crop_48x36.rgb", 1);
    fg_image_fini(&image);
    fg_image_fini(&out);
}

static void the_same_size_changes_nothing(void **state)
{
    for (int channels = 1; channels <= 3; channels += 2) {
        fg_image image = pattern(37, 23, channels), out = {0};
        fgt_ok(fg_image_reserve(&out, 37, 23, channels, &err));
        fgt_ok(fg_image_resize(decoder, &image, 37, 23, NULL, out.pixels, &err));
        assert_int_equal(fgt_image_difference(&image, &out), 0);
        fg_image_fini(&image);
        fg_image_fini(&out);
    }
}

/* Weights add up to 1: every constant image stays constant, at any reduction. */
static void constants_are_kept(void **state)
{
    static const int64_t sizes[][2] = {{1, 1}, {3, 2}, {99, 1}, {100, 61}, {150, 90}};
    static const uint8_t values[] = {0, 1, 127, 200, 254, 255};
    fg_image image = {0}, out = {0};
    for (size_t i = 0; i < 5 * 6 * 2; i++) {
        const int channels = i % 2 == 0 ? 1 : 3;
        const uint8_t value = values[i / 2 % 6];
        const int64_t width = sizes[i / 12][0], height = sizes[i / 12][1];
        fgt_ok(fg_image_reserve(&image, 100, 60, channels, &err));
        memset(image.pixels, value, (size_t)(100 * 60 * channels));
        fgt_ok(fg_image_reserve(&out, width, height, channels, &err));
        fgt_ok(fg_image_resize(decoder, &image, width, height, NULL, out.pixels, &err));
        for (int64_t k = 0; k < width * height * channels; k++)
            assert_int_equal(out.pixels[k], value);
    }
    fg_image_fini(&image);
    fg_image_fini(&out);
}

/* Pixel i of `size` of an axis of n pixels, by the definition of the filter: a triangle whose
 * half-width is one pixel of the larger scale. */
static double filter(const double *in, int64_t n, int64_t size, int64_t i)
{
    const double scale = (double)n / (double)size, support = scale < 1 ? 1 : scale;
    const double center = ((double)i + 0.5) * scale;
    double sum = 0, all = 0;
    for (int64_t k = 0; k < n; k++) {
        const double distance = fabs((double)k + 0.5 - center) / support;
        const double weight = distance < 1 ? 1 - distance : 0;
        sum += weight * in[k];
        all += weight;
    }
    return sum / all;
}

/* The largest difference from the definition, in double, of a gray image. */
static double worst_error(const fg_image *image, int64_t width, int64_t height, const uint8_t *out)
{
    double worst = 0;
    double *column = malloc((size_t)image->height * sizeof(double));
    double *row = malloc((size_t)image->width * sizeof(double));
    assert_true(column != NULL && row != NULL);
    for (int64_t y = 0; y < height; y++) {
        for (int64_t x = 0; x < image->width; x++) {
            for (int64_t k = 0; k < image->height; k++)
                column[k] = image->pixels[(k * image->width + x) * image->channels];
            row[x] = filter(column, image->height, height, y);
        }
        for (int64_t x = 0; x < width; x++)
            worst = fmax(worst, fabs(filter(row, image->width, width, x) -
                                     out[(y * width + x) * image->channels]));
    }
    free(column);
    free(row);
    return worst;
}

/* Noise, one bright column, or the lowest bit as noise. */
static void draw(fg_image *image, int kind)
{
    uint32_t noise = 7;
    for (int64_t k = 0; k < image->width * image->height * image->channels; k++) {
        noise = noise * 1664525 + 1013904223;
        const bool is_middle = k / image->channels % image->width == image->width / 2;
        image->pixels[k] = kind < 2   ? (uint8_t)(noise >> 24)
                           : kind < 4 ? (is_middle ? 255 : 1)
                                      : (uint8_t)(101 + noise % 2);
    }
}

/* 20,000 pixels become one, or a few: the errors of small weights must not add up. Less than 1 from
 * the definition is at most 1 from Pillow and torchvision, which round, too. */
static void reductions_of_any_ratio_are_exact(void **state)
{
    static const int64_t sizes[][4] = {
        {20000, 2, 1, 1}, {2, 20000, 1, 3}, {5000, 3, 16, 3},   {400, 300, 2, 1},  {300, 400, 4, 3},
        {180, 170, 3, 3}, {1, 1, 40, 3},    {3000, 2, 50, 90},  {59, 59, 1, 1},    {61, 61, 1, 1},
        {2, 3, 3000, 1},  {130, 1, 2, 1},   {120, 90, 100, 70}, {140, 93, 100, 91}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int kind = 0; kind < 6; kind++) {
            const int64_t *s = sizes[i], width = s[2], height = s[3];
            fg_image image = {0}, out = {0};
            fgt_ok(fg_image_reserve(&image, s[0], s[1], kind % 2 == 0 ? 1 : 3, &err));
            fgt_ok(fg_image_reserve(&out, width, height, image.channels, &err));
            draw(&image, kind);
            fgt_ok(fg_image_resize(decoder, &image, width, height, NULL, out.pixels, &err));
            const double worst = worst_error(&image, width, height, out.pixels);
            const bool is_exact =
                i < 6 || i == 7 || i == 9 || i == 11; /* only the end is rounded */
            if (!(worst < (is_exact ? 0.5001 : 1)))
                fail_msg("%dx%d to %dx%d, kind %d: error %g", (int)s[0], (int)s[1], (int)width,
                         (int)height, kind, worst);
            fg_image_fini(&image);
            fg_image_fini(&out);
        }
}

/* More than 120 source pixels in a row and a column of a result. */
static void many_taps_need_more_precise_weights(void **state)
{
    static const struct {
        int64_t width, to_width, height, to_height, taps;
        bool is_needed;
    } cases[] = {{60, 1, 60, 1, 60, false},      {61, 1, 60, 1, 61, true},
                 {60, 1, 61, 1, 60, true},       {117, 1, 9, 9, 117, false},
                 {118, 1, 9, 9, 118, true},      {90, 20, 9, 9, 11, false},
                 {80, 20, 9, 9, 9, false},       {2, 9, 9, 9, 2, false},
                 {1e6, 17242, 9, 9, 117, false}, {1e6, 17241, 9, 9, 119, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fgi_axis x = {.length = (double)cases[i].width, .high = cases[i].width};
        const fgi_axis y = {.length = (double)cases[i].height, .high = cases[i].height};
        if (fgi_taps_most(&x, cases[i].to_width) != cases[i].taps)
            fail_msg("case %zu: %d", i, (int)fgi_taps_most(&x, cases[i].to_width));
        if (fgi_exact_is_needed(&x, cases[i].to_width, &y, cases[i].to_height) !=
            cases[i].is_needed)
            fail_msg("case %zu", i);
    }
}

/* A large reduction of a box is that of an image of the box alone. */
static void large_reductions_of_boxes(void **state)
{
    fg_image image = pattern(900, 700, 3), part = {0}, out = {0}, alone = {0};
    const fg_image_resize_options o = {.box = {200, 100, 600, 500}};
    fgt_ok(fg_image_reserve(&part, 600, 500, 3, &err));
    fgt_ok(fg_image_reserve(&out, 5, 4, 3, &err));
    fgt_ok(fg_image_reserve(&alone, 5, 4, 3, &err));
    for (int y = 0; y < 500; y++)
        memcpy(part.pixels + y * 600 * 3, image.pixels + ((y + 100) * 900 + 200) * 3, 600 * 3);
    fgt_ok(fg_image_resize(decoder, &image, 5, 4, &o, out.pixels, &err));
    fgt_ok(fg_image_resize(decoder, &part, 5, 4, NULL, alone.pixels, &err));
    assert_int_equal(fgt_image_difference(&out, &alone), 0);
    fg_image_fini(&image);
    fg_image_fini(&part);
    fg_image_fini(&out);
    fg_image_fini(&alone);
}

/* A large reduction of a box, mirrored, is the mirrored reduction. */
static void large_reductions_are_mirrored(void **state)
{
    fg_image image = pattern(900, 700, 3), out = {0}, mirrored = {0};
    fg_image_resize_options o = {.box = {10.5, 20.25, 800, 600}};
    fgt_ok(fg_image_reserve(&out, 5, 4, 3, &err));
    fgt_ok(fg_image_reserve(&mirrored, 5, 4, 3, &err));
    fgt_ok(fg_image_resize(decoder, &image, 5, 4, &o, out.pixels, &err));
    o.flip = true;
    fgt_ok(fg_image_resize(decoder, &image, 5, 4, &o, mirrored.pixels, &err));
    for (int i = 0; i < 5 * 4; i++)
        assert_memory_equal(&out.pixels[3 * i], &mirrored.pixels[3 * (i / 5 * 5 + 4 - i % 5)], 3);
    fg_image_fini(&image);
    fg_image_fini(&out);
    fg_image_fini(&mirrored);
}

/* Neither the pixels around the box nor bytes around the image are read, and only the result is
 * written: the images are in blocks of their exact size, which ASan checks. */
static void nothing_else_is_read_or_written(void **state)
{
    enum { W = 19, H = 13, OUT = 11 };
    for (int channels = 1; channels <= 3; channels += 2) {
        const size_t size = (size_t)(W * H * channels), out_size = (size_t)(OUT * 7 * channels);
        uint8_t *pixels = malloc(size), *a = malloc(out_size), *b = malloc(out_size);
        assert_true(pixels != NULL && a != NULL && b != NULL);
        const fg_image image = {.pixels = pixels, .width = W, .height = H, .channels = channels};
        const fg_image_resize_options options = {.box = {4, 3, 12, 8}};
        for (int fill = 0; fill < 2; fill++) {
            memset(pixels, fill == 0 ? 0 : 255, size);
            for (int y = 3; y < 11; y++)
                memset(pixels + (y * W + 4) * channels, 50 + y, (size_t)(12 * channels));
            fgt_ok(fg_image_resize(decoder, &image, OUT, 7, &options, fill == 0 ? a : b, &err));
        }
        assert_memory_equal(a, b, out_size);
        const fg_image_resize_options all = {.box = {0, 0, W, H}};
        fgt_ok(fg_image_resize(decoder, &image, OUT, 7, &all, a, &err));
        free(pixels);
        free(a);
        free(b);
    }
}

static void invalid_requests_are_refused(void **state)
{
    fg_image image = pattern(10, 8, 3);
    uint8_t out[12];
    assert_int_equal(fg_image_resize(decoder, &image, 0, 2, NULL, out, &err), FG_EINVAL);
    assert_string_equal(err.message, "fg_image_resize: expected an image and a size of at least "
                                     "1x1, got 10x8 to be resized to 0x2");
    const fg_image_resize_options outside = {.box = {3, 0, 7.5, 8}};
    assert_int_equal(fg_image_resize(decoder, &image, 2, 2, &outside, out, &err), FG_EINVAL);
    assert_string_equal(err.message, "fg_image_resize: the box of 7.5x8 pixels at (3, 0) is not "
                                     "inside the image of 10x8 pixels");
    static const fg_image_box boxes[] = {{0, 2, 0, 0},  {2, 0, 0, 0},  {0, 0, 3, 0}, {0, 0, 0, 3},
                                         {-1, 0, 3, 3}, {0, -1, 3, 3}, {8, 0, 3, 3}, {0, 6, 3, 3},
                                         {0, 0, 3, -1}, {0, 0, -1, 3}};
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        const fg_image_resize_options o = {.box = boxes[i]};
        assert_int_equal(fg_image_resize(decoder, &image, 2, 2, &o, out, &err), FG_EINVAL);
    }
    assert_int_equal(fg_image_reserve(&image, 1, 0, 3, &err), FG_EINVAL);
    assert_int_equal(fg_image_reserve(&image, 1, 1, 2, &err), FG_EINVAL);
    assert_int_equal(fg_image_reserve(&image, 1, 1, 4, &err), FG_EINVAL);
    assert_int_equal(fg_image_reserve(&image, 1, 1, 0, &err), FG_EINVAL);
    assert_int_equal(fg_image_reserve(&image, 0, 1, 3, &err), FG_EINVAL);
    assert_string_equal(err.message, "fg_image_reserve: expected a size of at least 1x1 and 1 or 3 "
                                     "channels, got 0x1 and 3");
    fg_image_fini(&image);
}

static fg_status resize_once(void *self, fg_error *error)
{
    fg_image_decoder *own = NULL;
    fg_image image = {0}, out = {0};
    fg_status status = fg_image_decoder_create(&own, error);
    if (status == FG_OK)
        status = fg_image_reserve(&image, 20, 20, 3, error);
    if (status == FG_OK)
        status = fg_image_reserve(&out, 7, 9, 3, error);
    if (status == FG_OK) {
        memset(image.pixels, 1, 20 * 20 * 3);
        status = fg_image_resize(own, &image, 7, 9, NULL, out.pixels, error);
    }
    fg_image_fini(&image);
    fg_image_fini(&out);
    fg_image_decoder_destroy(own);
    return status;
}

static void failed_allocations_are_reported(void **state) { fgt_fault_loop(resize_once, NULL); }

/* ---- presizing ------------------------------------------------------------------------------- */

static void expect_size(const char *rule, int64_t width, int64_t height, int64_t want_width,
                        int64_t want_height)
{
    fg_image_presize presize;
    int64_t w = width, h = height;
    fgt_ok(fg_image_presize_parse(rule, &presize, &err));
    fgt_ok(fg_image_presize_size(&presize, &w, &h, &err));
    if (w != want_width || h != want_height)
        fail_msg("%s of %dx%d is %dx%d", rule, (int)width, (int)height, (int)w, (int)h);
}

/* Sizes of torchvision.transforms.Resize and CenterCrop. */
static void presize_rules_give_the_sizes_of_torchvision(void **state)
{
    expect_size("none", 500, 375, 500, 375);
    expect_size("max=65535", 70000, 10, 65535, 9);
    expect_size("short=256", 500, 375, 341, 256);
    expect_size("short=256", 375, 500, 256, 341);
    expect_size("short=256", 300, 500, 256, 426);
    expect_size("short=256", 500, 300, 426, 256); /* rounded down */
    expect_size("short=256", 256, 900, 256, 900);
    expect_size("short=256", 200, 900, 200, 900);
    expect_size("short=256,upscale", 200, 900, 256, 1152);
    expect_size("short=1", 1, 60000, 1, 60000);
    expect_size("max=400", 500, 375, 400, 300);
    expect_size("max=400", 333, 1000, 133, 400);
    expect_size("max=400", 400, 399, 400, 399);
    expect_size("max=400", 100, 50, 100, 50);
    expect_size("max=400", 1, 5000, 1, 400);
    expect_size("max=400,upscale", 100, 50, 400, 200);
    expect_size("square=224", 500, 375, 224, 224);
    expect_size("square=224", 100, 375, 100, 100);
    expect_size("square=224,upscale", 100, 375, 224, 224);
    expect_size("square=224", 224, 224, 224, 224);
}

static void other_rules_are_refused(void **state)
{
    static const char *const texts[] = {"",          "short",     "short=",      "short=0",
                                        "short=-1",  "short=1.5", "short=65536", "short=256 ",
                                        "short=+25", "width=20",  "square=2,up", "max=,upscale",
                                        "NONE",      "none=1",    "max= 5",      "square=224,"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fg_image_presize presize;
        assert_int_equal(fg_image_presize_parse(texts[i], &presize, &err), FG_EINVAL);
        assert_int_equal(presize.rule, FG_IMAGE_PRESIZE_NONE);
        assert_true(presize.size == 0 && !presize.upscale);
    }
    assert_string_equal(err.message,
                        "expected 'none' or a rule such as 'short=256', 'max=400', 'square=224' or "
                        "'square=224,upscale', with a size of 1 to 65535, got 'square=224,'");
    int64_t w = 3, h = 4;
    const fg_image_presize no_size = {.rule = FG_IMAGE_PRESIZE_MAX};
    assert_int_equal(fg_image_presize_size(&no_size, &w, &h, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "fg_image_presize: expected a rule and a size of 1 to 65535, got 2 and 0");
    w = 0, h = 4;
    assert_int_equal(fg_image_presize_size(&(fg_image_presize){0}, &w, &h, &err), FG_EINVAL);
    assert_true(w == 0 && h == 0);
}

static void decode_with(const char *rule, int channels, fg_image *out)
{
    fgt_file file = fgt_file_read("orient6.jpg");
    fg_image_decode_options options = {.channels = channels};
    fgt_ok(fg_image_presize_parse(rule, &options.presize, &err));
    fgt_ok(fgt_decode(decoder, &file, &options, out, &err));
    fgt_file_free(&file);
}

/* Decoding with a rule is decoding, then resizing. */
static void images_are_presized_when_decoded(void **state)
{
    fg_image whole = {0}, out = {0}, expected = {0};
    decode_with("none", 3, &whole); /* 23x37 */
    decode_with("short=20", 3, &out);
    fgt_ok(fg_image_reserve(&expected, 20, 32, 3, &err));
    fgt_ok(fg_image_resize(decoder, &whole, 20, 32, NULL, expected.pixels, &err));
    assert_int_equal(fgt_image_difference(&out, &expected), 0);
    decode_with("max=60,upscale", 1, &out);
    assert_int_equal(out.width, 37);
    assert_int_equal(out.height, 60);
    assert_int_equal(out.channels, 1);
    decode_with("max=9", 3, &out); /* at a quarter of the size */
    assert_int_equal(out.width, 5);
    assert_int_equal(out.height, 9);
    fgt_ok(fg_image_reserve(&expected, 5, 9, 3, &err));
    fgt_ok(fg_image_resize(decoder, &whole, 5, 9, NULL, expected.pixels, &err));
    assert_in_range(fgt_image_difference(&out, &expected), 1, 24);
    fg_image_fini(&whole);
    fg_image_fini(&out);
    fg_image_fini(&expected);
}

/* As Pillow's resize, then crop. */
static void squares_are_the_center_of_the_resized_image(void **state)
{
    fg_image image = pattern(200, 150, 3), out = {0};
    fgi_presize_plan plan;
    fg_image_presize presize;
    fgt_ok(fg_image_presize_parse("square=48", &presize, &err));
    fgt_ok(fgi_presize_plan_make(&presize, 200, 150, &plan, &err));
    fgt_ok(fgi_presize_apply(decoder, &plan, &image, &out, &err));
    fgt_image_check(&out, 48, 48, "resize_square_48x48.rgb", 1);
    fg_image_fini(&image);
    fg_image_fini(&out);
}

/* Height and width are not reduced by exactly the same factor: 7 x 254 pixels become 3 x 108, as
 * 108.9 is rounded down. The square begins in row 52 of 108, so at 52 * 254 / 108 = 122.3; the
 * middle of its first row, 1.18 below, has the value of the row there, less a half: 122.97. */
static void tall_images_are_cut_in_the_middle(void **state)
{
    fg_image image = {0}, out = {0};
    fgi_presize_plan plan;
    const fg_image_presize presize = {.rule = FG_IMAGE_PRESIZE_SQUARE, .size = 3};
    fgt_ok(fg_image_reserve(&image, 7, 254, 1, &err));
    for (int i = 0; i < 7 * 254; i++)
        image.pixels[i] = (uint8_t)(i / 7);
    fgt_ok(fgi_presize_plan_make(&presize, 7, 254, &plan, &err));
    assert_true(plan.resized_width == 3 && plan.resized_height == 108);
    fgt_ok(fgi_presize_apply(decoder, &plan, &image, &out, &err));
    assert_true(out.width == 3 && out.height == 3);
    assert_int_equal(out.pixels[0], 123);
    fg_image_fini(&image);
    fg_image_fini(&out);
}

/* The first column is that of torchvision's CenterCrop, int(round((width - 8) / 2.0)), and Python
 * rounds half to even. */
static void squares_begin_where_torchvision_begins(void **state)
{
    static const uint8_t begin[] = {0, 0, 1, 2, 2, 2, 3, 4, 4, 4};
    for (int cut = 0; cut < 10; cut++) {
        fg_image image = {0}, out = {0};
        fgi_presize_plan plan;
        fgt_ok(fg_image_reserve(&image, 8 + cut, 8, 1, &err));
        for (int i = 0; i < (8 + cut) * 8; i++)
            image.pixels[i] = (uint8_t)(i % (8 + cut));
        const fg_image_presize presize = {
            .rule = FG_IMAGE_PRESIZE_SQUARE, .size = 8, .upscale = true};
        fgt_ok(fgi_presize_plan_make(&presize, 8 + cut, 8, &plan, &err));
        fgt_ok(fgi_presize_apply(decoder, &plan, &image, &out, &err));
        assert_int_equal(out.pixels[0], begin[cut]);
        fg_image_fini(&image);
        fg_image_fini(&out);
    }
}

/* The mirrored rows of both implementations are equal, and inside their memory (ASan). */
static void windows_are_copied_and_mirrored(void **state)
{
    enum { WIDTH = 41, HEIGHT = 3 };
    for (int channels = 1; channels <= 3; channels += 2)
        for (int width = 1; width <= WIDTH; width++) {
            const size_t row = (size_t)(width * channels), size = row * (HEIGHT - 1);
            fg_image image = {0};
            fgt_ok(fg_image_reserve(&image, WIDTH, HEIGHT, channels, &err));
            for (int i = 0; i < WIDTH * HEIGHT * channels; i++)
                image.pixels[i] = (uint8_t)(i * 7 + i / 50);
            uint8_t *fast = malloc(size), *plain = malloc(size);
            assert_true(fast != NULL && plain != NULL);
            const int x = WIDTH - width;
            fgi_image_window(&image, x, 1, width, HEIGHT - 1, true, fast);
            fgi_image_window_portable(&image, x, 1, width, HEIGHT - 1, true, plain);
            assert_memory_equal(fast, plain, size);
            for (int i = 0; i < width; i++) /* the second row of the window */
                assert_memory_equal(fast + row + (size_t)(i * channels),
                                    &image.pixels[(2 * WIDTH + WIDTH - 1 - i) * channels],
                                    (size_t)channels);
            fgi_image_window(&image, x, 1, width, HEIGHT - 1, false, fast);
            assert_memory_equal(fast, &image.pixels[(WIDTH + x) * channels], row);
            free(fast);
            free(plain);
            fg_image_fini(&image);
        }
}

/* ---- instruction sets ------------------------------------------------------------------------ */

static void check_instruction_sets(const fg_image *image, int64_t width, int64_t height, bool flip)
{
    const size_t size = (size_t)(width * height * image->channels);
    const fg_image_resize_options o = {
        .box = {0.25, 0.5, (double)image->width - 0.25, (double)image->height - 0.5}, .flip = flip};
    uint8_t *with = malloc(size + 1), *without = malloc(size);
    assert_true(with != NULL && without != NULL);
    with[size] = 99;
    fgi_avx2_allow(false);
    assert_false(fgi_avx2_is_used());
    fgt_ok(fg_image_resize(decoder, image, width, height, &o, without, &err));
    fgi_avx2_allow(true);
    fgt_ok(fg_image_resize(decoder, image, width, height, &o, with, &err));
    if (memcmp(with, without, size) != 0 || with[size] != 99)
        fail_msg("%d x %d to %d x %d differs", (int)image->width, (int)image->height, (int)width,
                 (int)height);
    free(with);
    free(without);
}

/* Smaller, larger and equal sizes, around the limits of blocks of 32 values and 4 rows. */
static void all_instruction_sets_give_the_same_bits(void **state)
{
    static const int64_t widths[] = {1, 2, 10, 11, 12, 21, 22, 43, 200, 301};
    static const int64_t heights[] = {1, 3, 4, 5, 9, 150};
    static const int64_t results[][2] = {{1, 1}, {7, 4}, {64, 9}, {301, 8}};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t h = 0; h < sizeof heights / sizeof *heights; h++) {
            fg_image image = pattern(widths[w], heights[h], 3);
            memset(image.pixels, 255, (size_t)widths[w]); /* the largest sums */
            for (size_t r = 0; r < sizeof results / sizeof *results; r++)
                for (int flip = 0; flip < 2; flip++)
                    check_instruction_sets(&image, results[r][0], results[r][1], flip != 0);
            fg_image_fini(&image);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(all_instruction_sets_give_the_same_bits),
    cmocka_unit_test(sizes_give_the_pixels_of_pillow),
    cmocka_unit_test(a_random_resized_crop_is_one_call),
    cmocka_unit_test(the_same_size_changes_nothing),
    cmocka_unit_test(constants_are_kept),
    cmocka_unit_test(reductions_of_any_ratio_are_exact),
    cmocka_unit_test(many_taps_need_more_precise_weights),
    cmocka_unit_test(large_reductions_of_boxes),
    cmocka_unit_test(large_reductions_are_mirrored),
    cmocka_unit_test(nothing_else_is_read_or_written),
    cmocka_unit_test(invalid_requests_are_refused),
    cmocka_unit_test(failed_allocations_are_reported),
    cmocka_unit_test(presize_rules_give_the_sizes_of_torchvision),
    cmocka_unit_test(other_rules_are_refused),
    cmocka_unit_test(images_are_presized_when_decoded),
    cmocka_unit_test(squares_are_the_center_of_the_resized_image),
    cmocka_unit_test(tall_images_are_cut_in_the_middle),
    cmocka_unit_test(squares_begin_where_torchvision_begins),
    cmocka_unit_test(windows_are_copied_and_mirrored),
};

int main(void) { return cmocka_run_group_tests(tests, set_up, tear_down) == 0 ? 0 : 1; }
