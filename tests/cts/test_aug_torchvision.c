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

/* ---- zeros and defaults ---------------------------------------------------------------------- */

enum { MANY = 64, SIDE = 3, VALUES = MANY * SIDE * SIDE * 3 };

static fg_sample_key many_keys(fg_trace *trace)
{
    static uint32_t words[MANY];
    const fg_type two = {.dtype = FG_U32, .rank = 1, .dim = {2}};
    const fg_type many = {.dtype = FG_U32, .rank = 1, .dim = {MANY}};
    for (uint32_t i = 0; i < MANY; i++)
        words[i] = i;
    return (fg_sample_key){.key = fg_constant(trace, &two, words),
                           .sample = fg_constant(trace, &many, words)};
}

/* Sixteenths that differ between neighbors, channels and samples. */
static fg_tensor sixteenths(fg_trace *trace, float out[VALUES])
{
    const fg_type type = {.dtype = FG_F32, .rank = 4, .dim = {MANY, SIDE, SIDE, 3}};
    for (int i = 0; i < VALUES; i++)
        out[i] = (float)(i * 5 % 13 + 1) / 16;
    return fg_constant(trace, &type, out);
}

enum { FUNCTIONS = 11 };

/* With probability FG_ZERO, unlike 0, nothing ever happens. */
static void with_probability_zero(fg_tensor x, const fg_sample_key *key, fg_tensor out[FUNCTIONS])
{
    fg_tensor target = x;
    out[0] = fg_aug_random_flip(x, key, &(fg_aug_random_flip_options){.p = FG_ZERO});
    out[1] = fg_aug_grayscale(x, key, &(fg_aug_grayscale_options){.p = FG_ZERO});
    out[2] =
        fg_aug_random_erasing(x, key, &(fg_aug_random_erasing_options){.p = FG_ZERO, .value = 2});
    out[3] = fg_aug_invert(x, key, &(fg_aug_invert_options){.p = FG_ZERO});
    out[4] = fg_aug_solarize(x, key, &(fg_aug_solarize_options){.p = FG_ZERO});
    out[5] = fg_aug_posterize(x, key, &(fg_aug_posterize_options){.p = FG_ZERO});
    out[6] = fg_aug_autocontrast(x, key, &(fg_aug_autocontrast_options){.p = FG_ZERO});
    out[7] = fg_aug_sharpness(x, key, &(fg_aug_sharpness_options){.p = FG_ZERO});
    out[8] = fg_aug_mixup(x, &target, key, &(fg_aug_mixup_options){.p = FG_ZERO});
    out[9] = fg_aug_cutmix(x, &target, key, &(fg_aug_cutmix_options){.p = FG_ZERO});
    out[10] = target;
}

static void a_probability_of_zero_changes_nothing(void **state)
{
    static float x[VALUES], got[FUNCTIONS * VALUES];
    fg_trace *trace = values_trace(client);
    const fg_sample_key key = many_keys(trace);
    fg_tensor out[FUNCTIONS];
    (void)state;
    with_probability_zero(sixteenths(trace, x), &key, out);
    values_run(trace, fg_concat(out, FUNCTIONS, 0), got, sizeof got);
    for (int i = 0; i < FUNCTIONS * VALUES; i++)
        if (got[i] != x[i % VALUES])
            fail_msg("function %d: %g instead of %g", i / VALUES, (double)got[i],
                     (double)x[i % VALUES]);
    fg_trace_destroy(trace);
}

/* With threshold 0, every pixel is bright; factor 0 is the smoothed image, whose middle pixel is
 * (sum of all nine + 4 times itself) / 13, and whose others stay the same. */
static void a_threshold_and_a_factor_of_zero(void **state)
{
    static float x[VALUES], got[2 * VALUES];
    fg_trace *trace = values_trace(client);
    const fg_sample_key key = many_keys(trace);
    const fg_tensor image = sixteenths(trace, x);
    (void)state;
    const fg_tensor out[] = {
        fg_aug_solarize(image, &key, &(fg_aug_solarize_options){.threshold = FG_ZERO, .p = 1}),
        fg_aug_sharpness(image, &key, &(fg_aug_sharpness_options){.factor = FG_ZERO, .p = 1})};
    values_run(trace, fg_concat(out, 2, 0), got, sizeof got);
    for (int i = 0; i < VALUES; i++) {
        const float *sample = x + i / 27 * 27 + i % 3;
        double smooth = (double)x[i];
        if (i / 3 % 9 == 4) {
            smooth *= 4;
            for (int k = 0; k < 9; k++)
                smooth += (double)sample[3 * k];
            smooth /= 13;
        }
        fgt_close("solarize", (double)got[i], 1 - (double)x[i], 1e-6, 0);
        fgt_close("sharpness", (double)got[VALUES + i], smooth, 1e-6, 0);
    }
    fg_trace_destroy(trace);
}

enum { DEFAULTS = 9 };

static void without_options(fg_tensor image, const fg_sample_key *key, fg_tensor out[DEFAULTS])
{
    fg_tensor target = image, other = image;
    out[0] = fg_aug_mixup(image, &target, key, NULL);
    out[1] = target;
    out[2] = fg_aug_cutmix(image, &other, key, NULL);
    out[3] = fg_aug_random_flip(image, key, NULL);
    out[4] = fg_aug_grayscale(image, key, NULL);
    out[5] = fg_aug_solarize(image, key, NULL);
    out[6] = fg_aug_posterize(image, key, NULL);
    out[7] = fg_aug_sharpness(image, key, NULL);
    out[8] = fg_aug_gaussian_blur(image, key, NULL);
}

static void with_the_defaults(fg_tensor image, const fg_sample_key *key, fg_tensor out[DEFAULTS])
{
    fg_tensor target = image, other = image;
    const fg_aug_gaussian_blur_options blurred = {.size = 3, .sigma_min = 0.1, .sigma_max = 2};
    out[0] = fg_aug_mixup(image, &target, key, &(fg_aug_mixup_options){.alpha = 1, .p = 1});
    out[1] = target;
    out[2] = fg_aug_cutmix(image, &other, key, &(fg_aug_cutmix_options){.alpha = 1, .p = 1});
    out[3] = fg_aug_random_flip(image, key, &(fg_aug_random_flip_options){.p = 0.5});
    out[4] = fg_aug_grayscale(image, key, &(fg_aug_grayscale_options){.p = 0.1});
    out[5] = fg_aug_solarize(image, key, &(fg_aug_solarize_options){.threshold = 0.5, .p = 0.5});
    out[6] = fg_aug_posterize(image, key, &(fg_aug_posterize_options){.bits = 4, .p = 0.5});
    out[7] = fg_aug_sharpness(image, key, &(fg_aug_sharpness_options){.factor = 2, .p = 0.5});
    out[8] = fg_aug_gaussian_blur(image, key, &blurred);
}

/* Options of NULL are those of the reference. */
static void no_options_are_the_defaults(void **state)
{
    static float x[VALUES], got[2 * DEFAULTS * VALUES];
    fg_trace *trace = values_trace(client);
    const fg_sample_key key = many_keys(trace);
    const fg_tensor image = sixteenths(trace, x);
    fg_tensor out[2 * DEFAULTS];
    (void)state;
    without_options(image, &key, out);
    with_the_defaults(image, &key, out + DEFAULTS);
    values_run(trace, fg_concat(out, 2 * DEFAULTS, 0), got, sizeof got);
    for (int i = 0; i < DEFAULTS * VALUES; i++)
        fgt_close("default", (double)got[i], (double)got[DEFAULTS * VALUES + i], 1e-6, 0);
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

/* Of boxes that would round to no pixel, none is drawn: the largest of that ratio remains. */
static void boxes_have_pixels(void **state)
{
    static const struct {
        fg_aug_random_resized_crop_options options;
        bool is_column; /* a single one, number 3 */
    } rows[] = {
        {{.scale_min = FG_ZERO, .scale_max = 1e-3}, false},
        {{.scale_min = 1e-4, .scale_max = 1e-4, .ratio_min = 1e-3, .ratio_max = 1e-3}, true},
        {{.scale_min = 1e-4, .scale_max = 1e-4, .ratio_min = 1e3, .ratio_max = 1e3}, false}};
    float got[2 * 6 * 8];
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        fg_trace *trace = values_trace(client);
        const fg_sample_key key = {.key = fg_zeros(trace, FG_U32, FG_DIMS(2)),
                                   .sample = fg_iota(trace, FG_U32, 0, FG_DIMS(2))};
        const fg_tensor x = fg_iota(trace, FG_F32, 2, FG_DIMS(2, 6, 8, 1));
        values_run(trace, fg_aug_random_resized_crop(x, &key, &rows[k].options), got, sizeof got);
        for (int i = 0; i < 2 * 6 * 8; i++)
            fgt_close("column", (double)got[i], rows[k].is_column ? 3 : i % 8, 1e-5, 0);
        fg_trace_destroy(trace);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(colors),
    cmocka_unit_test(places),
    cmocka_unit_test(blur),
    cmocka_unit_test(levels),
    cmocka_unit_test(policies),
    cmocka_unit_test(losses_of_probabilities),
    cmocka_unit_test(a_probability_of_zero_changes_nothing),
    cmocka_unit_test(a_threshold_and_a_factor_of_zero),
    cmocka_unit_test(no_options_are_the_defaults),
    cmocka_unit_test(boxes_have_pixels),
};

int main(void) { return cmocka_run_group_tests(tests, begin, end) == 0 ? 0 : 1; }
