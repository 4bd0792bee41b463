/* test_aug_torchvision.c - color maps, resized boxes and affine maps of images, compared with
 * torchvision's (tests/golden/aug/record.py).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/aug.h>
#include <stdlib.h>

#include "aug/color.h"
#include "record.h"
#include "trace_values.h"

static fg_client *client;
static fg_ckpt *record;

static fg_tensor recorded(fg_trace *trace, const char *name)
{
    fg_type type;
    const void *data = fgt_record_get(record, &type, "%s", name);
    return fg_constant(trace, &type, data);
}

/* Numbers f32[B] as T[B,1,1,1]. */
static fg_tensor factors(fg_trace *trace, const char *name)
{
    return fg_reshape(recorded(trace, name), FG_DIMS(-1, 1, 1, 1));
}

static void check(fg_trace *trace, fg_tensor got, const char *name, double tolerance)
{
    fg_type type;
    const float *want = fgt_record_get(record, &type, "%s", name);
    const size_t count = (size_t)fg_type_count(&type);
    float *values = malloc(count * sizeof *values);
    assert_int_equal(fg_type_count(fg_tensor_type(got)), fg_type_count(&type));
    values_run(trace, got, values, count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        fgt_close(name, (double)values[i], (double)want[i], tolerance, 0);
    free(values);
}

static void colors(void **state)
{
    fg_trace *trace = values_trace(client);
    (void)state;
    const fg_tensor x = recorded(trace, "image"), factor = factors(trace, "factor");
    check(trace, fgi_aug_brightness(x, factor), "brightness", 1e-6);
    check(trace, fgi_aug_contrast(recorded(trace, "image"), factors(trace, "factor")), "contrast",
          1e-6);
    check(trace, fgi_aug_saturation(recorded(trace, "image"), factors(trace, "factor")),
          "saturation", 1e-6);
    check(trace, fgi_aug_hue(recorded(trace, "image"), factors(trace, "shift")), "hue", 4e-6);
    check(trace, fgi_aug_gray(recorded(trace, "image")), "gray", 1e-6);
    fg_trace_destroy(trace);
}

static void places(void **state)
{
    fg_trace *trace = values_trace(client);
    (void)state;
    check(trace, fg_crop_resize(recorded(trace, "image"), recorded(trace, "box"), 3, 4, NULL),
          "resized_crop", 2e-6);
    check(trace, fg_affine_sample(recorded(trace, "image"), recorded(trace, "matrix"), NULL),
          "affine", 4e-6);
    fg_trace_destroy(trace);
}

/* Image i of torchvision's is blurred with the i-th standard deviation. */
static void blur(void **state)
{
    enum { IMAGES = 4 };
    static const uint32_t words[IMAGES] = {1, 2, 3, 4};
    fg_tensor out[IMAGES];
    fg_trace *trace = values_trace(client);
    const float *sigma = fgt_record_get(record, NULL, "sigma");
    const fg_type two = {.dtype = FG_U32, .rank = 1, .dim = {2}};
    const fg_type four = {.dtype = FG_U32, .rank = 1, .dim = {IMAGES}};
    const fg_sample_key key = {.key = fg_constant(trace, &two, words),
                               .sample = fg_constant(trace, &four, words)};
    (void)state;
    for (int i = 0; i < IMAGES; i++) {
        const double s = (double)sigma[i];
        const fg_aug_gaussian_blur_options o = {.size = 5, .sigma_min = s, .sigma_max = s};
        const fg_tensor all = fg_aug_gaussian_blur(recorded(trace, "image"), &key, &o);
        int64_t start[4] = {i}, limit[4];
        memcpy(limit, fg_tensor_type(all)->dim, sizeof limit);
        limit[0] = i + 1;
        out[i] = fg_slice(all, start, limit, NULL);
    }
    check(trace, fg_concat(out, IMAGES, 0), "blur", 1e-6);
    fg_trace_destroy(trace);
}

static int begin(void **state)
{
    (void)state;
    return fgt_record_begin("aug/torchvision.safetensors", &client, &record);
}

static int end(void **state)
{
    (void)state;
    return fgt_record_end(client, record);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(colors),
    cmocka_unit_test(places),
    cmocka_unit_test(blur),
};

int main(void) { return cmocka_run_group_tests(tests, begin, end) == 0 ? 0 : 1; }
