/* test_decode.c - images decoded on a device, compared with the pixels that libjpeg decodes from
 * the same JPEGs, and with the formulas in plain C; what is rejected.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/decode.h>
#include <fulgurite/ops.h>
#include <math.h>
#include <stdlib.h>

#include "image/jpeg_coefficients.h"
#include "image/ycc.h"
#include "made_jpeg.h"
#include "trace_values.h"

static fg_error err;

static const fgt_jpeg_spec specs[] = {
    {.width = 64, .height = 48},
    {.width = 61, .height = 35, .quality = 100},
    {.width = 61, .height = 35, .h = 1, .v = 1},
    {.width = 61, .height = 35, .h = 2, .v = 1},
    {.width = 61, .height = 35, .h = 1, .v = 2},
    {.width = 17, .height = 33, .components = 1},
    {.width = 7, .height = 9},
};

enum { SPECS = sizeof(specs) / sizeof(specs[0]), BATCH = 2 };

/* Two JPEGs of the same layout, their entries and libjpeg's pixels. */
typedef struct pair {
    fg_image_encoding encoding;
    size_t entry_bytes, pixel_bytes;
    int8_t *entries;
    uint8_t *pixels;
} pair;

static fgi_jpeg_coefficients open_record(const fgi_buf *bytes)
{
    fgi_jpeg_coefficients record;
    fgt_ok(fgi_jpeg_coefficients_open("made", bytes->data, bytes->size, &record, &err));
    return record;
}

static void write_record(const fgt_jpeg_spec *spec, fgi_buf *out, uint8_t *pixels)
{
    int width, height;
    size_t size;
    uint8_t *jpeg = fgt_jpeg_make(spec, &size);
    fgt_ok(fgi_jpeg_coefficients_write("made.jpg", jpeg, size, out, &err));
    uint8_t *decoded = fgt_jpeg_pixels(jpeg, size, 1, &width, &height);
    memcpy(pixels, decoded, (size_t)width * (size_t)height * 3);
    free(decoded);
    free(jpeg);
}

/* The second image has another quality, so another quantization table. */
static pair make(fgt_jpeg_spec spec)
{
    pair p = {.pixel_bytes = (size_t)spec.width * (size_t)spec.height * 3};
    fgi_buf bytes[BATCH] = {{0}};
    p.pixels = malloc(BATCH * p.pixel_bytes);
    assert_non_null(p.pixels);
    write_record(&spec, &bytes[0], p.pixels);
    spec.quality = spec.quality == 100 ? 92 : 70;
    write_record(&spec, &bytes[1], p.pixels + p.pixel_bytes);
    const fgi_jpeg_coefficients record = open_record(&bytes[0]);
    p.encoding = (fg_image_encoding){.coding = FG_IMAGE_DCT,
                                     .height = spec.height,
                                     .width = spec.width,
                                     .components = record.components,
                                     .high = fgi_jpeg_coefficients_high(&record)};
    for (int i = 0; i < record.components; i++) {
        p.encoding.h[i] = record.component[i].h;
        p.encoding.v[i] = record.component[i].v;
    }
    p.entry_bytes = fgi_jpeg_entry_bytes(record.components, record.blocks, p.encoding.high);
    p.entries = malloc(BATCH * p.entry_bytes);
    assert_non_null(p.entries);
    for (size_t i = 0; i < BATCH; i++) {
        const fgi_jpeg_coefficients one = open_record(&bytes[i]);
        fgt_ok(fgi_jpeg_coefficients_entry("made", &one, p.encoding.high,
                                           p.entries + i * p.entry_bytes, &err));
        fgi_buf_fini(&bytes[i]);
    }
    return p;
}

static void drop(pair *p)
{
    free(p->entries);
    free(p->pixels);
}

static uint8_t *run(fg_client *client, const fg_type *type, const void *data,
                    const fg_image_encoding *encoding, const char *precision, size_t bytes)
{
    uint8_t *out = malloc(bytes);
    assert_non_null(out);
    fg_trace *trace = values_trace(client);
    if (precision != NULL)
        fgt_ok(fg_trace_set_precision(trace, precision, &err));
    fg_array *array = values_array(client, type, data);
    values_run(trace, fg_decode_images(fg_input(trace, array), encoding), out, bytes);
    fg_array_release(array);
    fg_trace_destroy(trace);
    return out;
}

static uint8_t *decode(fg_client *client, const pair *p, const char *precision)
{
    const fg_type type = {FG_S8, 2, {BATCH, (int64_t)p->entry_bytes}};
    return run(client, &type, p->entries, &p->encoding, precision, BATCH * p->pixel_bytes);
}

static void compare(size_t index, const uint8_t *got, const uint8_t *want, size_t count,
                    double mean, int most)
{
    double sum = 0;
    int largest = 0;
    for (size_t i = 0; i < count; i++) {
        const int d = abs(got[i] - want[i]);
        sum += d;
        largest = d > largest ? d : largest;
    }
    print_message("# case %zu: mean difference %.4f, largest %d\n", index, sum / (double)count,
                  largest);
    if (sum / (double)count > mean || largest > most)
        fail_msg("case %zu: mean difference %g, largest %d", index, sum / (double)count, largest);
}

/* ---- coefficients ---------------------------------------------------------------------------- */

static void pixels_are_those_of_libjpeg(void **client)
{
    for (size_t i = 0; i < SPECS; i++) {
        pair p = make(specs[i]);
        uint8_t *pixels = decode(*client, &p, NULL);
        compare(i, pixels, p.pixels, BATCH * p.pixel_bytes, 0.1, 3);
        free(pixels);
        drop(&p);
    }
}

/* Noise of quality 100: many coefficients need two bytes. */
static void large_coefficients_have_high_bytes(void **client)
{
    pair p = make(specs[1]);
    assert_true(p.encoding.high > 2);
    enum { BLOCKS = 8 * 5 + 2 * 4 * 3 };
    memset(p.entries + (ptrdiff_t)65 * BLOCKS, 0, (size_t)(p.encoding.high - 1) * BLOCKS);
    uint8_t *pixels = decode(*client, &p, NULL);
    int largest = 0;
    for (size_t i = 0; i < p.pixel_bytes; i++)
        largest = abs(pixels[i] - p.pixels[i]) > largest ? abs(pixels[i] - p.pixels[i]) : largest;
    assert_true(largest > 20);
    free(pixels);
    drop(&p);
}

static void matmuls_in_bf16_are_accurate_enough(void **client)
{
    for (size_t i = 0; i < 2; i++) {
        pair p = make(specs[i]);
        uint8_t *pixels = decode(*client, &p, "bf16-mixed");
        compare(i, pixels, p.pixels, BATCH * p.pixel_bytes, 0.5, 6);
        free(pixels);
        drop(&p);
    }
}

static void one_channel_is_luma(void **client)
{
    pair p = make(specs[0]);
    p.encoding.channels = 1;
    const fg_type type = {FG_S8, 2, {BATCH, (int64_t)p.entry_bytes}};
    const size_t count = BATCH * p.pixel_bytes / 3;
    uint8_t *got = run(*client, &type, p.entries, &p.encoding, NULL, count);
    for (size_t i = 0; i < count; i++) { /* of RGB, which was clamped */
        const uint8_t *rgb = p.pixels + 3 * i;
        const double y = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
        const bool is_clamped = rgb[0] % 255 == 0 || rgb[1] % 255 == 0 || rgb[2] % 255 == 0;
        if (!is_clamped && fabs(y - got[i]) > 2)
            fail_msg("pixel %zu: Y = %d instead of %g", i, got[i], y);
    }
    free(got);
    drop(&p);
}

/* ---- planes ---------------------------------------------------------------------------------- */

static int sample(const uint8_t *plane, int h, int w, int y, int x)
{
    y = y < 0 ? 0 : y >= h ? h - 1 : y;
    x = x < 0 ? 0 : x >= w ? w - 1 : x;
    return plane[y * w + x];
}

/* As in libjpeg: integers only, in sixteenths. */
static int upsampled(const uint8_t *plane, int h, int w, int y, int x)
{
    const int far_y = y / 2 + (y % 2 == 0 ? -1 : 1), far_x = x / 2 + (x % 2 == 0 ? -1 : 1);
    const int near = 3 * sample(plane, h, w, y / 2, x / 2) + sample(plane, h, w, far_y, x / 2);
    const int far = 3 * sample(plane, h, w, y / 2, far_x) + sample(plane, h, w, far_y, far_x);
    return (3 * near + far + (x % 2 == 0 ? 8 : 7)) >> 4;
}

static int clamped(double value)
{
    const double integer = floor(value + 0.5);
    return (int)(integer < 0 ? 0 : integer > 255 ? 255 : integer);
}

enum { H = 7, W = 9, PLANES = H * W + 2 * 4 * 5 };

/* The host's conversion of the same planes: green is rounded in other steps. */
static void compare_with_the_host(const uint8_t *of, const uint8_t *got)
{
    fg_image host = {0};
    fgt_ok(fg_image_reserve(&host, W, H, 3, &err));
    fgi_ycc_to_rgb(of, W, H, 0, 0, &host);
    for (int i = 0; i < 3 * H * W; i++)
        assert_in_range(got[i] + 1, host.pixels[i] + (i % 3 == 1 ? 0 : 1),
                        host.pixels[i] + (i % 3 == 1 ? 2 : 1));
    fg_image_fini(&host);
}

static void planes_become_pixels(void **client)
{
    uint8_t planes[BATCH * PLANES];
    const fg_image_encoding encoding = {.coding = FG_IMAGE_YCC420, .height = H, .width = W};
    const fg_type type = {FG_U8, 2, {BATCH, PLANES}};
    for (size_t i = 0; i < sizeof(planes); i++)
        planes[i] = (uint8_t)(i * i * 37 + i * 11);
    uint8_t *got = run(*client, &type, planes, &encoding, NULL, BATCH * H * W * 3);
    for (int i = 0; i < BATCH * H * W; i++) {
        const uint8_t *of = planes + (ptrdiff_t)(i / (H * W)) * PLANES,
                      *rgb = got + (ptrdiff_t)3 * i;
        const int y = i / W % H, x = i % W;
        const int luma = of[y * W + x];
        const int cb = upsampled(of + H * W, 4, 5, y, x) - 128;
        const int cr = upsampled(of + H * W + 20, 4, 5, y, x) - 128;
        assert_int_equal(rgb[0], clamped(luma + 1.402 * cr));
        assert_in_range(rgb[1] + 1, clamped(luma - 0.344136 * cb - 0.714136 * cr),
                        clamped(luma - 0.344136 * cb - 0.714136 * cr) + 2);
        assert_int_equal(rgb[2], clamped(luma + 1.772 * cb));
    }
    for (int i = 0; i < BATCH; i++)
        compare_with_the_host(planes + (ptrdiff_t)i * PLANES, got + (ptrdiff_t)i * H * W * 3);
    free(got);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void refused(fg_client *client, fg_dtype dtype, int64_t bytes,
                    const fg_image_encoding *encoding, fg_status status, const char *message)
{
    fg_trace *trace = values_trace(client);
    (void)fg_decode_images(fg_zeros(trace, dtype, FG_DIMS(BATCH, bytes)), encoding);
    assert_int_equal(fg_trace_error(trace, &err), status);
    if (strstr(err.message, message) == NULL)
        fail_msg("'%s' does not contain '%s'", err.message, message);
    fg_trace_destroy(trace);
}

static void other_inputs_are_errors(void **client)
{
    fg_image_encoding e = {.coding = FG_IMAGE_YCC420, .height = H, .width = W};
    refused(*client, FG_U8, PLANES - 1, &e, FG_ESHAPE, "decode_images: got u8[2,102]: expected u8");
    refused(*client, FG_S8, PLANES, &e, FG_EDTYPE, "expected u8[B,103] for images of 7 x 9 pixels");
    e.height = 0;
    refused(*client, FG_U8, PLANES, &e, FG_EINVAL, "0 x 9 pixels");
    e = (fg_image_encoding){.coding = FG_IMAGE_DCT, .height = 8, .width = 8, .h = {3}};
    refused(*client, FG_S8, 65, &e, FG_EINVAL, "sampling factors 3 x 1 of component 0");
    e = (fg_image_encoding){.coding = FG_IMAGE_DCT, .height = 8, .width = 8, .components = 2};
    refused(*client, FG_S8, 65, &e, FG_EINVAL, "2 components: expected 1 or 3");
    e = (fg_image_encoding){.coding = FG_IMAGE_DCT, .height = 8, .width = 8, .high = 65};
    refused(*client, FG_S8, 65, &e, FG_EINVAL, "65 coefficients");
    e = (fg_image_encoding){.coding = (fg_image_coding)9, .height = 8, .width = 8};
    refused(*client, FG_S8, 65, &e, FG_EINVAL, "unknown coding 9");
}

/* What is stored are integers. */
static void gradients_are_refused(void **client)
{
    fg_trace *trace = values_trace(*client);
    const fg_image_encoding e = {.coding = FG_IMAGE_YCC420, .height = H, .width = W};
    const fg_tensor x = fg_zeros(trace, FG_U8, FG_DIMS(BATCH, PLANES));
    fg_tensor dx;
    fg_grad(fg_mean(fg_cast(fg_decode_images(x, &e), FG_F32), 0, NULL), &x, 1, &dx);
    assert_int_equal(fg_trace_error(trace, &err), FG_EDTYPE);
    assert_string_equal(err.message, "grad: tensor 0 is u8[2,103]: expected a floating-point "
                                     "tensor of the same trace");
    fg_trace_destroy(trace);
}

static void pixels_stay_as_they_are(void **client)
{
    const fg_image_encoding e = {.coding = FG_IMAGE_PIXELS};
    fg_trace *trace = values_trace(*client);
    const fg_tensor x = fg_zeros(trace, FG_F32, FG_DIMS(2, 3));
    assert_int_equal(fg_tensor_type(fg_decode_images(x, &e))->rank, 2);
    assert_int_equal(fg_tensor_type(fg_decode_images(x, NULL))->rank, 2);
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_destroy(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pixels_are_those_of_libjpeg),
    cmocka_unit_test(large_coefficients_have_high_bytes),
    cmocka_unit_test(matmuls_in_bf16_are_accurate_enough),
    cmocka_unit_test(one_channel_is_luma),
    cmocka_unit_test(planes_become_pixels),
    cmocka_unit_test(other_inputs_are_errors),
    cmocka_unit_test(gradients_are_refused),
    cmocka_unit_test(pixels_stay_as_they_are),
};

int main(void)
{
    return cmocka_run_group_tests(tests, values_open_client, values_close_client) == 0 ? 0 : 1;
}
