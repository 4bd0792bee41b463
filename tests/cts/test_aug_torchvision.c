/* test_aug_torchvision.c - color maps, levels, resized boxes, affine maps of images and the
 * operations of policies, compared with torchvision's (tests/golden/aug/record.py); the loss of
 * mixed targets, compared with PyTorch's.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/aug.h>
#include <stdlib.h>

#include "aug/color.h"
#include "aug/policy.h"
#include "record.h"
#include "op/op.h"
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

/* A key, which has no influence with p 1. */
static fg_sample_key any_key(fg_trace *trace)
{
    static const uint32_t words[3] = {1, 2, 3};
    const fg_type two = {.dtype = FG_U32, .rank = 1, .dim = {2}};
    const fg_type three = {.dtype = FG_U32, .rank = 1, .dim = {3}};
    return (fg_sample_key){.key = fg_constant(trace, &two, words),
                           .sample = fg_constant(trace, &three, words)};
}

static void levels(void **state)
{
    static const char *const name[] = {"invert",       "solarize", "posterize",
                                       "autocontrast", "equalize", "sharpness"};
    enum { COUNT = sizeof name / sizeof name[0], PIXELS = 3 * 20 * 24 * 3 };
    static float got[COUNT * PIXELS];
    fg_trace *trace = values_trace(client);
    const fg_sample_key key = any_key(trace);
    const fg_tensor x = recorded(trace, "u8");
    (void)state;
    const fg_tensor out[COUNT] = {
        fg_aug_invert(x, &key, &(fg_aug_invert_options){.p = 1}),
        fg_aug_solarize(x, &key, &(fg_aug_solarize_options){.p = 1}),
        fg_aug_posterize(x, &key, &(fg_aug_posterize_options){.bits = 3, .p = 1}),
        fg_aug_autocontrast(x, &key, &(fg_aug_autocontrast_options){.p = 1}),
        fg_aug_equalize(x, &key, &(fg_aug_equalize_options){.p = 1}),
        fg_aug_sharpness(x, &key, &(fg_aug_sharpness_options){.factor = 1.75, .p = 1})};
    values_run(trace, fg_concat(out, COUNT, 0), got, sizeof got);
    for (int i = 0; i < COUNT; i++) {
        const float *want = fgt_record_get(record, NULL, "%s", name[i]);
        for (int k = 0; k < PIXELS; k++)
            fgt_close(name[i], (double)got[i * PIXELS + k], (double)want[k], 1e-6, 0);
    }
    fg_trace_destroy(trace);
}

/* All operations of a policy, one for each of as many copies of an image. */
static fg_tensor operations(fg_trace *trace, const fgi_aug_space *space, double bin, double sign)
{
    const fg_tensor one = fg_slice(recorded(trace, "u8"), (const int64_t[]){0, 0, 0, 0},
                                   (const int64_t[]){1, 20, 24, 3}, NULL);
    const fg_tensor x = fg_broadcast_to(one, FG_DIMS(FGI_AUG_OPERATIONS, 20, 24, 3));
    const fg_tensor choice = fg_iota(trace, FG_F32, 0, FG_DIMS(FGI_AUG_OPERATIONS, 1));
    const fg_tensor zero = fgi_full_like(choice, 0);
    return fgi_aug_policy(x, space, choice, fgi_full_like(choice, bin),
                          fg_lt(fgi_full_like(choice, sign), zero));
}

static void policies(void **state)
{
    fg_trace *trace = values_trace(client);
    fgi_aug_space rand = fgi_aug_rand_space(recorded(trace, "u8"), 31);
    fgi_aug_space trivial = fgi_aug_trivial_space(31);
    (void)state;
    rand.is_linear = trivial.is_linear = true;
    check(trace, operations(trace, &rand, 13, -1), "rand_augment", 4e-6);
    check(trace, operations(trace, &trivial, 11, 1), "trivial_augment", 4e-6);
    fg_trace_destroy(trace);
}

static void losses_of_probabilities(void **state)
{
    fg_trace *trace = values_trace(client);
    const fg_tensor x = recorded(trace, "logits"), t = recorded(trace, "probabilities");
    (void)state;
    const fg_tensor weight = recorded(trace, "class_weight");
    const fg_tensor losses[] = {
        fg_reshape(fg_cross_entropy(x, t, NULL), FG_DIMS(1)),
        fg_reshape(fg_cross_entropy(x, t,
                                    &(fg_cross_entropy_options){.label_smoothing = 0.125,
                                                                .class_weight = weight}),
                   FG_DIMS(1))};
    check(trace, fg_concat(losses, 2, 0), "soft_loss", 1e-6);
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
    cmocka_unit_test(colors), cmocka_unit_test(places),   cmocka_unit_test(blur),
    cmocka_unit_test(levels), cmocka_unit_test(policies), cmocka_unit_test(losses_of_probabilities),
};

int main(void) { return cmocka_run_group_tests(tests, begin, end) == 0 ? 0 : 1; }
