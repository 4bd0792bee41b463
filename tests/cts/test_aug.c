/* test_aug.c - augmentations on a device, compared with those in plain C (support/aug_host.h),
 * which draw the same numbers; their distributions; their errors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/aug.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "aug/aug_draw.h"
#include "aug/augmentations.h"
#include "aug_host.h"
#include "base/alloc.h"
#include "base/file.h"
#include "option/option.h"
#include "trace_values.h"

enum { BATCH = 16, H = 9, W = 11 };

static const fgi_key run_key = {{0x1234abcd, 0x98765432}};
static const uint32_t samples[BATCH] = {7,  0,  4000000000U, 3,  12, 8,  1,  2,
                                        90, 91, 92,          93, 94, 95, 96, 77777};

/* Pixel values 0 to 255, small ones more often, the same everywhere. */
static void fill(uint8_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)((fgi_rng_u64((fgi_key){{5, 6}}, i) & 255) >> (i % 3));
}

static fg_sample_key key_of(fg_trace *trace, const uint32_t *sample, int64_t count, int64_t repeat)
{
    const fg_type two = {.dtype = FG_U32, .rank = 1, .dim = {2}};
    const fg_type many = {.dtype = FG_U32, .rank = 1, .dim = {count}};
    return (fg_sample_key){.key = fg_constant(trace, &two, run_key.word),
                           .sample = fg_constant(trace, &many, sample),
                           .repeat = repeat};
}

/* ---- the same as on the host ----------------------------------------------------------------- */

static const double crop_scale[2] = {0.08, 1}, crop_ratio[2] = {3.0 / 4, 4.0 / 3};
static const double rare_scale[2] = {0.9, 1}, rare_ratio[2] = {2.5, 3};
static const double tall_ratio[2] = {0.2, 0.3};
static const double hole_scale[2] = {0.02, 0.33}, hole_ratio[2] = {0.3, 3.3};
static const double large_scale[2] = {0.5, 1}, large_ratio[2] = {0.5, 3.3};
static const double turned[5] = {30, 0.25, 0.5, 1.5, 20}, half_turn[5] = {180, 0, 1, 1, 0};
static const double jitter[4] = {0.4, 0.5, 1.5, 0.25}, plain_jitter[4] = {0.4, 0.5, 0, 0};

/* What is done to image x, and the same on the host, which gives image `like`. */
#define CASES(CASE)                                                                                \
    CASE(flip, 3, fg_aug_random_flip(x, key, NULL), aug_host_flip(like, d, 0.5F, false))           \
    CASE(flip_rows, 3,                                                                             \
         fg_aug_random_flip(x, key, &(fg_aug_random_flip_options){.p = 0.3, .vertical = true}),    \
         aug_host_flip(like, d, 0.3F, true))                                                       \
    CASE(crop, 1, fg_aug_random_crop(x, key, &(fg_aug_random_crop_options){.padding = 4}),         \
         aug_host_crop(like, d, H, W, 4, 'c', 0))                                                  \
    CASE(crop_fill, 3,                                                                             \
         fg_aug_random_crop(                                                                       \
             x, key,                                                                               \
             &(fg_aug_random_crop_options){.height = 5, .width = 12, .padding = 3, .fill = 0.25}), \
         aug_host_crop(like, d, 5, 12, 3, 'c', 0.25F))                                             \
    CASE(crop_columns, 3, fg_aug_random_crop(x, key, &(fg_aug_random_crop_options){.width = 5}),   \
         aug_host_crop(like, d, H, 5, 0, 'c', 0))                                                  \
    CASE(crop_rows, 1, fg_aug_random_crop(x, key, &(fg_aug_random_crop_options){.height = 4}),     \
         aug_host_crop(like, d, 4, W, 0, 'c', 0))                                                  \
    CASE(crop_edge, 3,                                                                             \
         fg_aug_random_crop(x, key, &(fg_aug_random_crop_options){.padding = 9, .mode = "edge"}),  \
         aug_host_crop(like, d, H, W, 9, 'e', 0))                                                  \
    CASE(crop_reflect, 3,                                                                          \
         fg_aug_random_crop(x, key,                                                                \
                            &(fg_aug_random_crop_options){.padding = 8, .mode = "reflect"}),       \
         aug_host_crop(like, d, H, W, 8, 'r', 0))                                                  \
    CASE(resized_crop, 3, fg_aug_random_resized_crop(x, key, NULL),                                \
         aug_host_resized_crop(like, d, H, W, crop_scale, crop_ratio))                             \
    CASE(resized_crop_rare, 3,                                                                     \
         fg_aug_random_resized_crop(                                                               \
             x, key,                                                                               \
             &(fg_aug_random_resized_crop_options){                                                \
                 .height = 4, .width = 5, .scale_min = 0.9, .ratio_min = 2.5, .ratio_max = 3}),    \
         aug_host_resized_crop(like, d, 4, 5, rare_scale, rare_ratio))                             \
    CASE(resized_crop_tall, 1,                                                                     \
         fg_aug_random_resized_crop(                                                               \
             x, key,                                                                               \
             &(fg_aug_random_resized_crop_options){                                                \
                 .height = 4, .width = 5, .scale_min = 0.9, .ratio_min = 0.2, .ratio_max = 0.3}),  \
         aug_host_resized_crop(like, d, 4, 5, rare_scale, tall_ratio))                             \
    CASE(affine, 3,                                                                                \
         fg_aug_random_affine(x, key,                                                              \
                              &(fg_aug_random_affine_options){.degrees = 30,                       \
                                                              .translate = 0.25,                   \
                                                              .scale_min = 0.5,                    \
                                                              .scale_max = 1.5,                    \
                                                              .shear = 20,                         \
                                                              .fill = 0.5}),                       \
         aug_host_affine(like, d, turned, 0.5))                                                    \
    CASE(rotation, 1,                                                                              \
         fg_aug_random_affine(x, key, &(fg_aug_random_affine_options){.degrees = 180}),            \
         aug_host_affine(like, d, half_turn, 0))                                                   \
    CASE(blur, 3, fg_aug_gaussian_blur(x, key, NULL), aug_host_blur(like, d, 3, 0.1, 2))           \
    CASE(blur_wide, 1,                                                                             \
         fg_aug_gaussian_blur(                                                                     \
             x, key, &(fg_aug_gaussian_blur_options){.size = 9, .sigma_min = 1, .sigma_max = 4}),  \
         aug_host_blur(like, d, 9, 1, 4))                                                          \
    CASE(jitter, 3,                                                                                \
         fg_aug_color_jitter(                                                                      \
             x, key,                                                                               \
             &(fg_aug_color_jitter_options){                                                       \
                 .brightness = 0.4, .contrast = 0.5, .saturation = 1.5, .hue = 0.25}),             \
         aug_host_jitter(like, d, jitter))                                                         \
    CASE(jitter_gray, 1,                                                                           \
         fg_aug_color_jitter(                                                                      \
             x, key,                                                                               \
             &(fg_aug_color_jitter_options){                                                       \
                 .brightness = 0.4, .contrast = 0.5, .saturation = 0.9, .hue = 0.5}),              \
         aug_host_jitter(like, d, plain_jitter))                                                   \
    CASE(grayscale, 3, fg_aug_grayscale(x, key, &(fg_aug_grayscale_options){.p = 0.5}),            \
         aug_host_gray(like, d, 0.5F))                                                             \
    CASE(grayscale_gray, 1, fg_aug_grayscale(x, key, &(fg_aug_grayscale_options){.p = 1}),         \
         aug_host_flip(like, d, 0, false))                                                         \
    CASE(erasing, 3, fg_aug_random_erasing(x, key, NULL),                                          \
         aug_host_erase(like, d, 0.5F, hole_scale, hole_ratio, 0))                                 \
    CASE(erasing_always, 3,                                                                        \
         fg_aug_random_erasing(                                                                    \
             x, key,                                                                               \
             &(fg_aug_random_erasing_options){                                                     \
                 .p = 1, .scale_min = 0.5, .scale_max = 1, .ratio_min = 0.5, .value = -2}),        \
         aug_host_erase(like, d, 1, large_scale, large_ratio, -2))                                 \
    CASE(erasing_never, 3, /* a box of the whole area is not smaller */                            \
         fg_aug_random_erasing(                                                                    \
             x, key, &(fg_aug_random_erasing_options){.p = 1, .scale_min = 1, .scale_max = 1}),    \
         aug_host_flip(like, d, 0, false))                                                         \
    CASE(invert, 1, fg_aug_invert(x, key, NULL),                                                   \
         aug_host_level_at(like, d, "invert", 0.5F, AUG_INVERT, 0))                                \
    CASE(solarize, 3,                                                                              \
         fg_aug_solarize(x, key, &(fg_aug_solarize_options){.threshold = 0.7, .p = 0.75}),         \
         aug_host_level_at(like, d, "solarize", 0.75F, AUG_SOLARIZE, 0.7 * 255))                   \
    CASE(posterize, 3, fg_aug_posterize(x, key, &(fg_aug_posterize_options){.bits = 3, .p = 0.8}), \
         aug_host_level_at(like, d, "posterize", 0.8F, AUG_POSTERIZE, 3))                          \
    CASE(autocontrast, 3, fg_aug_autocontrast(x, key, NULL),                                       \
         aug_host_level_at(like, d, "autocontrast", 0.5F, AUG_AUTOCONTRAST, 0))                    \
    CASE(sharpness, 3, fg_aug_sharpness(x, key, &(fg_aug_sharpness_options){.factor = 1.75}),      \
         aug_host_level_at(like, d, "sharpness", 0.5F, AUG_SHARPNESS, 1.75))

/* The same of larger images: equalizing needs at least 255 pixels. */
#define LARGE_CASES(CASE)                                                                          \
    CASE(equalize, 3, fg_aug_equalize(x, key, &(fg_aug_equalize_options){.p = 1}),                 \
         aug_host_level_at(like, d, "equalize", 1, AUG_EQUALIZE, 0))                               \
    CASE(rand_augment, 3,                                                                          \
         fg_aug_rand_augment(x, key,                                                               \
                             &(fg_aug_rand_augment_options){.magnitude = 17, .fill = 0.25}),       \
         aug_host_rand_augment(like, d, 2, 17, 0.25, false))                                       \
    CASE(trivial_augment, 3,                                                                       \
         fg_aug_trivial_augment(x, key,                                                            \
                                &(fg_aug_trivial_augment_options){.fill = 0.5, .bilinear = true}), \
         aug_host_trivial_augment(like, d, 0.5, true))

#define DEVICE(id, channels, device, host)                                                         \
    static fg_tensor id##_device(fg_tensor x, const fg_sample_key *key) { return device; }         \
    static aug_image id##_host(aug_image like, const aug_draw *d) { return host; }
CASES(DEVICE)
LARGE_CASES(DEVICE)

#define ROW(id, channels, device, host) {#id, channels, id##_device, id##_host},
typedef struct one_case {
    const char *name;
    int channels;
    fg_tensor (*device)(fg_tensor x, const fg_sample_key *key);
    aug_image (*host)(aug_image like, const aug_draw *d);
} one_case;
static const one_case cases[] = {CASES(ROW)}, large_cases[] = {LARGE_CASES(ROW)};

static void compare(const char *name, const float *got, aug_image expected)
{
    for (int i = 0; i < expected.h * expected.w * expected.c; i++)
        fgt_close(name, (double)got[i], (double)expected.at[i], 3e-6, 0);
}

/* Each sample of a result, computed from the pixels u8[BATCH,h,w,C]. */
static void compare_samples(const one_case *c, const uint8_t *pixels, int h, int w,
                            const float *got, size_t count)
{
    const size_t n = (size_t)(h * w * c->channels);
    for (size_t b = 0; b < BATCH; b++) {
        const aug_draw draw = {run_key, samples[b], 0};
        const aug_image x = aug_host_image(h, w, c->channels);
        for (size_t k = 0; k < n; k++)
            x.at[k] = (float)pixels[b * n + k] * (1.0F / 255);
        const aug_image expected = c->host(x, &draw);
        compare(c->name, got + b * count, expected);
        aug_host_free(expected);
        aug_host_free(x);
    }
}

/* All cases in one program. */
static void compare_cases(fg_client *client, const one_case *all, size_t case_count, int h, int w)
{
    enum { MOST_CASES = 32, SIZE = 27 * 29 * 3 };
    static uint8_t pixels[BATCH * SIZE];
    static float got[BATCH * SIZE * 2];
    fg_error err = {0};
    fg_tensor out[MOST_CASES];
    fg_array *arrays[MOST_CASES];
    fg_trace *trace = values_trace(client);
    const fg_sample_key key = key_of(trace, samples, BATCH, 0);
    assert_true(case_count <= MOST_CASES && h * w * 3 <= SIZE);
    fill(pixels, sizeof pixels);
    for (size_t i = 0; i < case_count; i++) {
        const fg_type type = {.dtype = FG_U8, .rank = 4, .dim = {BATCH, h, w, all[i].channels}};
        out[i] = all[i].device(fg_constant(trace, &type, pixels), &key);
    }
    fgt_ok(fg_run(trace, out, case_count, arrays, &err));
    for (size_t i = 0; i < case_count; i++) {
        const size_t bytes = fg_type_bytes(fg_array_type(arrays[i]));
        assert_true(bytes <= sizeof got);
        fgt_ok(fg_array_read(arrays[i], got, bytes, &err));
        compare_samples(&all[i], pixels, h, w, got, bytes / sizeof *got / BATCH);
        fg_array_release(arrays[i]);
    }
    fg_trace_destroy(trace);
}

static void equal_the_hosts(void **state)
{
    compare_cases(*state, cases, sizeof cases / sizeof cases[0], H, W);
    compare_cases(*state, large_cases, sizeof large_cases / sizeof large_cases[0], 27, 29);
}

static void a_repeat_draws_other_numbers(void **state)
{
    static float got[2 * BATCH];
    fg_trace *trace = values_trace(*state);
    const fg_sample_key first = key_of(trace, samples, BATCH, 0);
    const fg_sample_key second = key_of(trace, samples, BATCH, 3);
    values_run(trace,
               fg_concat((const fg_tensor[]){fg_random_sample_uniform(&first, "a", 1),
                                             fg_random_sample_uniform(&second, "a", 1)},
                         2, 0),
               got, sizeof got);
    for (int i = 0; i < 2 * BATCH; i++) {
        const aug_draw d = {run_key, samples[i % BATCH], i < BATCH ? 0 : 3};
        assert_true(got[i] == aug_host_uniform(&d, "a", 1, 0));
        assert_true(i < BATCH || got[i] != got[i - BATCH]);
    }
    fg_trace_destroy(trace);
}

/* ---- distributions --------------------------------------------------------------------------- */

enum { MANY = 4096 };

static fg_sample_key many_key(fg_trace *trace)
{
    static uint32_t all[MANY];
    for (uint32_t i = 0; i < MANY; i++)
        all[i] = i;
    return key_of(trace, all, MANY, 0);
}

/* Mean and variance over the samples of the first of their numbers. */
static void moments_of(const float *got, double *out_mean, double *out_variance)
{
    *out_mean = *out_variance = 0;
    for (int i = 0; i < MANY; i++)
        *out_mean += (double)got[i] / MANY;
    for (int i = 0; i < MANY; i++)
        *out_variance += pow((double)got[i] - *out_mean, 2) / MANY;
}

static void moments(fg_trace *trace, fg_tensor numbers, double *out_mean, double *out_variance)
{
    static float got[MANY];
    values_run(trace, numbers, got, sizeof got);
    moments_of(got, out_mean, out_variance);
}

/* Within four standard errors. */
static void check_mean(const char *what, double mean, double expected, double variance)
{
    fgt_close(what, mean, expected, 4 * sqrt(variance / MANY), 0);
}

static void places_are_equally_likely(void **state)
{
    double mean, variance;
    fg_trace *trace = values_trace(*state);
    const fg_sample_key key = many_key(trace);
    /* images 0 1: the first pixel says whether they are flipped */
    fg_tensor x = fg_iota(trace, FG_F32, 2, FG_DIMS(MANY, 1, 2, 1));
    x = fg_aug_random_flip(x, &key, &(fg_aug_random_flip_options){.p = 0.25});
    moments(trace,
            fg_slice(x, (const int64_t[]){0, 0, 0, 0}, (const int64_t[]){MANY, 1, 1, 1}, NULL),
            &mean, &variance);
    check_mean("flip", mean, 0.25, 0.25 * 0.75);
    /* images 0 to 8, of which one pixel is left */
    const fg_sample_key again = many_key(trace);
    x = fg_iota(trace, FG_F32, 1, FG_DIMS(MANY, 9, 1, 1));
    x = fg_aug_random_crop(x, &again, &(fg_aug_random_crop_options){.height = 1});
    moments(trace, x, &mean, &variance);
    check_mean("crop", mean, 4, 60.0 / 9);
    fgt_close("its variance", variance, 60.0 / 9, 0.4, 0);
    fg_trace_destroy(trace);
}

static void boxes_have_the_area_and_the_ratio(void **state)
{
    enum { SIDE = 1000 };
    static const fgi_aug_boxes boxes = {0.1, 0.5, 0.5, 2, false}; /* each of them fits */
    static const double expected[] = {0.3, 0, 0.5, 0.5};
    static const char *const what[] = {"area", "log of the ratio", "row", "column"};
    static float got[4 * MANY];
    double mean, variance;
    fg_tensor found;
    fg_trace *trace = values_trace(*state);
    const fg_sample_key key = many_key(trace);
    const fg_tensor u = fg_random_sample_uniform(&key, "box", FGI_AUG_BOX_NUMBERS);
    const fg_tensor box = fgi_aug_draw_box(u, &boxes, SIDE, SIDE, &found);
    const fg_tensor h = fgi_aug_columns(box, 2, 1), w = fgi_aug_columns(box, 3, 1);
    const fg_tensor rest[] = {fg_add_scalar(fg_neg(h), SIDE), fg_add_scalar(fg_neg(w), SIDE)};
    const fg_tensor all = fg_concat(
        (const fg_tensor[]){fg_mul_scalar(fg_mul(h, w), 1.0 / SIDE / SIDE), fg_log(fg_div(w, h)),
                            fg_div(fgi_aug_columns(box, 0, 1), rest[0]),
                            fg_div(fgi_aug_columns(box, 1, 1), rest[1])},
        4, 0);
    const fg_tensor four[] = {found, found, found, found};
    values_run(trace, fg_where(fg_concat(four, 4, 0), all, fg_full(trace, FG_F32, 1e9, FG_SCALAR)),
               got, sizeof got);
    for (int i = 0; i < 4; i++) {
        moments_of(got + i * MANY, &mean, &variance);
        check_mean(what[i], mean, expected[i], variance);
        if (i == 1) /* uniform from -log 2 to log 2 */
            fgt_close("its variance", variance, pow(2 * log(2), 2) / 12, 0.01, 0);
    }
    fg_trace_destroy(trace);
}

/* Mean and variance of Beta(alpha, alpha), and how often a sample is mixed: of images 0, whose next
 * one is 1, and of targets alike. */
static void mixtures_have_the_beta_distribution(void **state)
{
    static const double alpha[] = {0.1, 0.5, 1, 4};
    static float ends[MANY], got[5 * MANY];
    fg_tensor out[5];
    fg_trace *trace = values_trace(*state);
    const fg_sample_key key = many_key(trace);
    const fg_type type = {.dtype = FG_F32, .rank = 4, .dim = {MANY, 1, 1, 1}};
    for (int i = 0; i < MANY; i++)
        ends[i] = (float)(i % 2);
    const fg_tensor x = fg_constant(trace, &type, ends);
    for (int i = 0; i < 4; i++) {
        fg_tensor target = fg_reshape(x, FG_DIMS(MANY));
        const fg_tensor y =
            fg_aug_mixup(x, &target, &key, &(fg_aug_mixup_options){.alpha = alpha[i]});
        out[i] = fg_reshape(i % 2 == 0 ? fg_reshape(y, FG_DIMS(MANY)) : target, FG_DIMS(MANY));
    }
    fg_tensor target = x;
    const fg_tensor some = fg_aug_mixup(x, &target, &key, &(fg_aug_mixup_options){.p = 0.4});
    out[4] = fg_reshape(fg_cast(fg_ne(some, x), FG_F32), FG_DIMS(MANY));
    values_run(trace, fg_concat(out, 5, 0), got, sizeof got);
    for (int i = 0; i < 4; i++) {
        double mean, variance;
        const double expected = 1 / (4 * (2 * alpha[i] + 1));
        for (int k = 0; k < MANY; k++) /* the own fraction */
            got[i * MANY + k] = k % 2 == 1 ? got[i * MANY + k] : 1 - got[i * MANY + k];
        moments_of(got + i * MANY, &mean, &variance);
        check_mean("beta", mean, 0.5, expected);
        fgt_close("its variance", variance, expected, 0.06 * expected, 0);
        for (int k = 0; k < MANY; k++)
            assert_true(got[i * MANY + k] >= 0 && got[i * MANY + k] <= 1);
    }
    double mean, variance;
    moments_of(got + 4 * MANY, &mean, &variance);
    check_mean("mixed", mean, 0.4, 0.4 * 0.6);
    fg_trace_destroy(trace);
}

/* ---- evaluation, u8, dtypes ------------------------------------------------------------------ */

/* Images of 6 x 8 pixels, all different. */
static fg_tensor ramp_of(fg_trace *trace)
{
    const fg_tensor rows = fg_iota(trace, FG_F32, 1, FG_DIMS(2, 6, 8, 1));
    return fg_add(fg_mul_scalar(rows, 8), fg_iota(trace, FG_F32, 2, FG_DIMS(2, 6, 8, 1)));
}

static void evaluation_changes_nothing(void **state)
{
    fg_trace *trace = values_trace(*state);
    const fg_tensor x = ramp_of(trace), y = fg_zeros(trace, FG_F32, FG_DIMS(2));
    const fg_aug_random_affine_options quarters = {.degrees = 90};
    fg_tensor target = y;
    const fg_tensor results[] = {
        fg_aug_random_flip(x, NULL, NULL),        fg_aug_color_jitter(x, NULL, NULL),
        fg_aug_random_erasing(x, NULL, NULL),     fg_aug_resize(x, NULL, NULL),
        fg_aug_random_affine(x, NULL, &quarters), fg_aug_gaussian_blur(x, NULL, NULL),
        fg_aug_grayscale(x, NULL, NULL),          fg_aug_invert(x, NULL, NULL),
        fg_aug_solarize(x, NULL, NULL),           fg_aug_posterize(x, NULL, NULL),
        fg_aug_autocontrast(x, NULL, NULL),       fg_aug_equalize(x, NULL, NULL),
        fg_aug_sharpness(x, NULL, NULL),          fg_aug_rand_augment(x, NULL, NULL),
        fg_aug_trivial_augment(x, NULL, NULL),    fg_aug_mixup(x, &target, NULL, NULL),
        fg_aug_cutmix(x, &target, NULL, NULL)};
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i].handle != x.handle)
            fail_msg("result %zu", i);
    assert_true(target.handle == y.handle);
    const fg_tensor rgb = fg_concat((const fg_tensor[]){x, x, x}, 3, 3);
    assert_true(fg_aug_grayscale(rgb, NULL, NULL).handle == rgb.handle);
    fg_trace_destroy(trace);
}

/* The values of the only pixels that a threshold and a filter change. */
static void levels_and_filters_at_their_limits(void **state)
{
    static const float bright[] = {0.125F, 0.25F, 0.375F}, row[] = {0, 0, 1, 0};
    float got[3];
    fg_trace *trace = values_trace(*state);
    const fg_type three_pixels = {FG_F32, 4, {1, 1, 3, 1}}, four = {FG_F32, 4, {1, 1, 4, 1}};
    const fg_sample_key key = key_of(trace, samples, 1, 0);
    const fg_aug_solarize_options solarize = {.threshold = 0.25, .p = 1};
    values_run(trace, fg_aug_solarize(fg_constant(trace, &three_pixels, bright), &key, &solarize),
               got, sizeof got);
    assert_true(got[0] == 0.125F && got[1] == 0.75F && got[2] == 0.625F);
    /* halfway between two pixels; filtered, with the weights 3/4, 3/4 and 1/4 divided by 7/4 */
    for (int i = 0; i < 2; i++) {
        const fg_aug_resize_options half = {.width = 2, .no_antialias = i == 0};
        values_run(trace, fg_aug_resize(fg_constant(trace, &four, row), NULL, &half), got,
                   2 * sizeof *got);
        fgt_close("first", (double)got[0], i == 0 ? 0 : 1.0 / 7, 1e-6, 0);
        fgt_close("second", (double)got[1], i == 0 ? 0.5 : 3.0 / 7, 1e-6, 0);
    }
    fg_trace_destroy(trace);
}

/* The height x width pixels of both ramps, starting at a row and a column. */
static void is_part(const float *got, int height, int width, int top, int left)
{
    for (int i = 0; i < 2 * height * width; i++) {
        const int row = i / width % height, column = i % width;
        assert_true(got[i] == (float)(8 * (top + row) + left + column));
    }
}

/* Also where an odd number of pixels is left over, which is rounded down. */
static void crops_of_evaluation_are_in_the_middle(void **state)
{
    static const int sizes[][2] = {{4, 4}, {2, 6}, {3, 5}, {6, 3}, {1, 8}};
    static float got[2 * 6 * 8];
    fg_trace *trace = values_trace(*state);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const int h = sizes[i][0], w = sizes[i][1];
        const fg_aug_center_crop_options middle = {h, w, {0}};
        const size_t bytes = 2 * (size_t)(h * w) * sizeof *got;
        values_run(trace, fg_aug_center_crop(ramp_of(trace), NULL, &middle), got, bytes);
        is_part(got, h, w, (6 - h) / 2, (8 - w) / 2);
    }
    const fg_aug_random_crop_options crop = {.height = 4, .width = 3, .padding = 3};
    values_run(trace, fg_aug_random_crop(ramp_of(trace), NULL, &crop), got, 24 * sizeof *got);
    is_part(got, 4, 3, 1, 2);
    fg_trace_destroy(trace);
}

/* The largest box of the result's ratio in the middle: 6 x 6, 4 x 8, 6 x 3, 3 x 8 (8 / 3 rounded)
 * and 6 x 5 (6 * 4 / 5 rounded). */
static void resized_crops_of_evaluation_are_in_the_middle(void **state)
{
    static const int sizes[][2] = {{2, 2}, {2, 4}, {4, 2}, {1, 3}, {5, 4}};
    static const int boxes[][4] = {
        {0, 1, 6, 6}, {1, 0, 4, 8}, {0, 2, 6, 3}, {1, 0, 3, 8}, {0, 1, 6, 5}};
    static float got[2 * 5 * 4];
    fg_trace *trace = values_trace(*state);
    const aug_image ramp = aug_host_image(6, 8, 1);
    for (int i = 0; i < 48; i++)
        ramp.at[i] = (float)i;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const int rows = sizes[i][0], columns = sizes[i][1], count = rows * columns;
        const fg_aug_random_resized_crop_options small = {.height = rows, .width = columns};
        values_run(trace, fg_aug_random_resized_crop(ramp_of(trace), NULL, &small), got,
                   2 * (size_t)count * sizeof *got);
        const aug_image expected = aug_host_resize(ramp, boxes[i], rows, columns);
        for (int k = 0; k < 2 * count; k++)
            fgt_close("middle", (double)got[k], (double)expected.at[k % count], 1e-4, 0);
        aug_host_free(expected);
    }
    aug_host_free(ramp);
    fg_trace_destroy(trace);
}

/* Each side has a low-pass filter if it shrinks, whatever the other does. */
static void sides_are_resized_separately(void **state)
{
    static const int sizes[][2] = {{9, 3}, {3, 9}, {2, 2}, {9, 9}}, whole[4] = {0, 0, 6, 6};
    static const float box[] = {0, 0, 6, 6};
    static float got[81];
    fg_trace *trace = values_trace(*state);
    const fg_type boxes = {FG_F32, 2, {1, 4}}, images = {FG_F32, 4, {1, 6, 6, 1}};
    const aug_image squares = aug_host_image(6, 6, 1);
    for (int i = 0; i < 36; i++)
        squares.at[i] = (float)(i * i % 11);
    for (int i = 0; i < 4; i++) {
        const fg_tensor x = fg_constant(trace, &images, squares.at);
        const fg_tensor y =
            fg_crop_resize(x, fg_constant(trace, &boxes, box), sizes[i][0], sizes[i][1], NULL);
        values_run(trace, y, got, (size_t)(sizes[i][0] * sizes[i][1]) * sizeof *got);
        const aug_image expected = aug_host_resize(squares, whole, sizes[i][0], sizes[i][1]);
        compare("resized", got, expected);
        aug_host_free(expected);
    }
    aug_host_free(squares);
    fg_trace_destroy(trace);
}

static void channels_are_normalized(void **state)
{
    static const uint8_t pixel[3] = {0, 51, 255};
    static const double mean[3] = {0.5, 0.2, 0.25}, std[3] = {0.5, 0.1, 0.125}, one = 2;
    float got[3];
    fg_trace *trace = values_trace(*state);
    const fg_type type = {.dtype = FG_U8, .rank = 4, .dim = {1, 1, 1, 3}};
    fg_aug_normalize_options o = {.mean = {mean, 3}, .std = {std, 3}};
    values_run(trace, fg_aug_normalize(fg_constant(trace, &type, pixel), NULL, &o), got,
               sizeof got);
    static const double expected[3] = {-1, 0, 6};
    for (int i = 0; i < 3; i++)
        fgt_close("normalized", (double)got[i], expected[i], 1e-6, 0);
    o = (fg_aug_normalize_options){.std = {&one, 1}};
    values_run(trace, fg_aug_normalize(fg_constant(trace, &type, pixel), NULL, &o), got,
               sizeof got);
    fgt_close("half", (double)got[2], 0.5, 1e-6, 0);
    o = (fg_aug_normalize_options){.mean = {&one, 1}};
    values_run(trace, fg_aug_normalize(fg_constant(trace, &type, pixel), NULL, &o), got,
               sizeof got);
    fgt_close("less two", (double)got[2], -1, 1e-6, 0);
    fg_trace_destroy(trace);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void fails(fg_client *client, fg_tensor (*call)(fg_tensor x, fg_tensor u), const char *text)
{
    fg_error err = {0};
    fg_trace *trace = values_trace(client);
    (void)call(fg_zeros(trace, FG_F32, FG_DIMS(2, 6, 8, 2)),
               fg_zeros(trace, FG_S32, FG_DIMS(2, 3)));
    assert_int_not_equal(fg_trace_error(trace, &err), FG_OK);
    assert_string_equal(err.message, text);
    fg_trace_destroy(trace);
}

static fg_tensor mixup_of(fg_tensor x, const fg_sample_key *key, const fg_aug_mixup_options *o)
{
    fg_tensor target = fg_zeros(fg_tensor_trace(x), FG_F32, FG_DIMS(2));
    return fg_aug_mixup(x, &target, key, o);
}

static fg_tensor cutmix_of(fg_tensor x, const fg_sample_key *key, const fg_aug_cutmix_options *o)
{
    fg_tensor target = fg_zeros(fg_tensor_trace(x), FG_F32, FG_DIMS(2));
    return fg_aug_cutmix(x, &target, key, o);
}

/* With a target of that many rows; 0: a single number. */
static fg_tensor mixup_of_rows(fg_tensor x, int64_t rows)
{
    fg_tensor target = fg_zeros(fg_tensor_trace(x), FG_F32, rows > 0 ? 1 : 0, &rows);
    return fg_aug_mixup(x, &target, NULL, NULL);
}

/* Images of 6 x 8 pixels and 2 channels as images of 8 x 6 pixels, or with 1 channel. */
static fg_tensor turned_image(fg_tensor x) { return fg_permute(x, (const int[]){0, 2, 1, 3}); }
static fg_tensor one_channel(fg_tensor x) { return fg_reshape(x, FG_DIMS(2, 6, 16, 1)); }

#define FAIL(id, expression, text)                                                                 \
    static fg_tensor id##_fails(fg_tensor x, fg_tensor u)                                          \
    {                                                                                              \
        (void)x, (void)u;                                                                          \
        return expression;                                                                         \
    }
#include "aug_failures.h"
#undef FAIL

static void errors_say_what_was_expected(void **state)
{
#define FAIL(id, expression, text) fails(*state, id##_fails, text);
#include "aug_failures.h"
#undef FAIL
}

/* The largest and smallest values that are allowed, in evaluation. */
static void limits_are_included(void **state)
{
    fg_error err = {0};
    fg_trace *trace = values_trace(*state);
    const fg_tensor x = fg_zeros(trace, FG_F32, FG_DIMS(2, 6, 8, 1)), tall = turned_image(x);
    const fg_aug_random_crop_options reflect = {.padding = 5, .mode = "reflect"};
    const fg_aug_random_affine_options affine = {
        .degrees = 180, .translate = 1, .scale_min = 1e-3, .scale_max = 1e3, .shear = 89};
    const fg_aug_random_resized_crop_options boxes = {
        .scale_min = FG_ZERO, .scale_max = 1, .ratio_min = 1e-3, .ratio_max = 1e3};
    const fg_aug_color_jitter_options strong = {1e3, 1e3, 1e3, 0.5, {0}};
    const fg_aug_gaussian_blur_options blur = {.size = 11, .sigma_min = 1e-3, .sigma_max = 1e3};
    const fg_aug_rand_augment_options most = {.operations = 16, .magnitude = 255, .bins = 256};
    const fg_aug_rand_augment_options least = {.operations = 1, .magnitude = FG_NONE, .bins = 2};
    (void)fg_aug_random_crop(x, NULL, &reflect);
    (void)fg_aug_random_crop(tall, NULL, &reflect);
    (void)fg_aug_random_crop(x, NULL,
                             &(fg_aug_random_crop_options){.height = 8, .width = 10, .padding = 1});
    (void)fg_aug_random_affine(x, NULL, &affine);
    (void)fg_aug_random_resized_crop(x, NULL, &boxes);
    (void)fg_aug_color_jitter(x, NULL, &strong);
    (void)fg_aug_gaussian_blur(x, NULL, &blur);
    (void)fg_aug_gaussian_blur(tall, NULL, &blur);
    (void)fg_aug_rand_augment(x, NULL, &most);
    (void)fg_aug_rand_augment(x, NULL, &least);
    (void)fg_aug_posterize(x, NULL, &(fg_aug_posterize_options){.bits = 8, .p = 1});
    (void)fg_aug_posterize(x, NULL, &(fg_aug_posterize_options){.bits = 1, .p = FG_ZERO});
    (void)fg_aug_solarize(x, NULL, &(fg_aug_solarize_options){.threshold = 1});
    (void)fg_aug_sharpness(x, NULL, &(fg_aug_sharpness_options){.factor = 1e3});
    (void)fg_aug_gaussian_blur(fg_zeros(trace, FG_F32, FG_DIMS(1, 32, 32, 1)), NULL,
                               &(fg_aug_gaussian_blur_options){.size = 63});
    (void)mixup_of(x, NULL, &(fg_aug_mixup_options){.alpha = 1e-3});
    (void)cutmix_of(x, NULL, &(fg_aug_cutmix_options){.alpha = 1e3});
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_destroy(trace);
}

/* ---- options of a configuration -------------------------------------------------------------- */

static const double quarter = 0.25, three[] = {0.5, 0.25, 0.5};

/* Each row with all of its options, and the same in C; a probability of 0 is no default. */
#define OPTIONS(ROW)                                                                               \
    ROW(random_crop, random_crop, "{height: 5, width: 6, padding: 2, fill: 0.5, mode: constant}",  \
        .height = 5, .width = 6, .padding = 2, .fill = 0.5)                                        \
    ROW(random_crop_edge, random_crop, "{padding: 2, mode: edge}", .padding = 2, .mode = "edge")   \
    ROW(random_resized_crop, random_resized_crop,                                                  \
        "{height: 5, width: 6, scale_min: 0.25, scale_max: 0.75, ratio_min: 0.5, ratio_max: 2.5, " \
        "antialias: false}",                                                                       \
        .height = 5, .width = 6, .scale_min = 0.25, .scale_max = 0.75, .ratio_min = 0.5,           \
        .ratio_max = 2.5, .no_antialias = true)                                                    \
    ROW(random_flip, random_flip, "{p: 0.3, vertical: true}", .p = 0.3, .vertical = true)          \
    ROW(random_affine, random_affine,                                                              \
        "{degrees: 30, translate: 0.25, scale_min: 0.5, scale_max: 1.5, shear: 20, fill: 0.125, "  \
        "nearest: true}",                                                                          \
        .degrees = 30, .translate = 0.25, .scale_min = 0.5, .scale_max = 1.5, .shear = 20,         \
        .fill = 0.125, .nearest = true)                                                            \
    ROW(rand_augment, rand_augment,                                                                \
        "{operations: 1, magnitude: 5, bins: 11, fill: 0.5, bilinear: true}", .operations = 1,     \
        .magnitude = 5, .bins = 11, .fill = 0.5, .bilinear = true)                                 \
    ROW(trivial_augment, trivial_augment, "{bins: 11, fill: 0.5, bilinear: true}", .bins = 11,     \
        .fill = 0.5, .bilinear = true)                                                             \
    ROW(color_jitter, color_jitter, "{brightness: 0.1, contrast: 0.2, saturation: 0.3, hue: 0.4}", \
        .brightness = 0.1, .contrast = 0.2, .saturation = 0.3, .hue = 0.4)                         \
    ROW(grayscale, grayscale, "{p: 0.3}", .p = 0.3)                                                \
    ROW(sharpness, sharpness, "{factor: 3, p: 0.3}", .factor = 3, .p = 0.3)                        \
    ROW(autocontrast, autocontrast, "{p: 0.3}", .p = 0.3)                                          \
    ROW(equalize, equalize, "{p: 0.3}", .p = 0.3)                                                  \
    ROW(posterize, posterize, "{bits: 3, p: 0.3}", .bits = 3, .p = 0.3)                            \
    ROW(solarize, solarize, "{threshold: 0.25, p: 0.3}", .threshold = 0.25, .p = 0.3)              \
    ROW(invert, invert, "{p: 0.3}", .p = 0.3)                                                      \
    ROW(gaussian_blur, gaussian_blur, "{size: 5, sigma_min: 0.5, sigma_max: 1.5}", .size = 5,      \
        .sigma_min = 0.5, .sigma_max = 1.5)                                                        \
    ROW(random_erasing, random_erasing,                                                            \
        "{p: 0.3, scale_min: 0.1, scale_max: 0.4, ratio_min: 0.5, ratio_max: 2.5, value: 0.75}",   \
        .p = 0.3, .scale_min = 0.1, .scale_max = 0.4, .ratio_min = 0.5, .ratio_max = 2.5,          \
        .value = 0.75)                                                                             \
    ROW(random_flip_0, random_flip, "{p: 0}", .p = FG_ZERO)                                        \
    ROW(grayscale_0, grayscale, "{p: 0}", .p = FG_ZERO)                                            \
    ROW(sharpness_0, sharpness, "{p: 0}", .p = FG_ZERO)                                            \
    ROW(autocontrast_0, autocontrast, "{p: 0}", .p = FG_ZERO)                                      \
    ROW(equalize_0, equalize, "{p: 0}", .p = FG_ZERO)                                              \
    ROW(posterize_0, posterize, "{p: 0}", .p = FG_ZERO)                                            \
    ROW(solarize_0, solarize, "{p: 0}", .p = FG_ZERO)                                              \
    ROW(invert_0, invert, "{p: 0}", .p = FG_ZERO)                                                  \
    ROW(random_erasing_0, random_erasing, "{p: 0}", .p = FG_ZERO)                                  \
    ROW(mixup_0, mixup, "{p: 0}", .p = FG_ZERO)                                                    \
    ROW(cutmix_0, cutmix, "{p: 0}", .p = FG_ZERO)                                                  \
    ROW(mixup, mixup, "{alpha: 0.4, p: 0.3}", .alpha = 0.4, .p = 0.3)                              \
    ROW(cutmix, cutmix, "{alpha: 0.4, p: 0.3}", .alpha = 0.4, .p = 0.3)                            \
    ROW(resize, resize, "{height: 5, width: 6, antialias: false}", .height = 5, .width = 6,        \
        .no_antialias = true)                                                                      \
    ROW(center_crop, center_crop, "{height: 5, width: 6}", .height = 5, .width = 6)                \
    ROW(normalize, normalize, "{mean: [0.25], std: [0.5, 0.25, 0.5]}", .mean = {&quarter, 1},      \
        .std = {three, 3})

#define normalize_of           fg_aug_normalize
#define resize_of              fg_aug_resize
#define center_crop_of         fg_aug_center_crop
#define random_crop_of         fg_aug_random_crop
#define random_resized_crop_of fg_aug_random_resized_crop
#define random_flip_of         fg_aug_random_flip
#define random_affine_of       fg_aug_random_affine
#define rand_augment_of        fg_aug_rand_augment
#define trivial_augment_of     fg_aug_trivial_augment
#define color_jitter_of        fg_aug_color_jitter
#define grayscale_of           fg_aug_grayscale
#define sharpness_of           fg_aug_sharpness
#define autocontrast_of        fg_aug_autocontrast
#define equalize_of            fg_aug_equalize
#define posterize_of           fg_aug_posterize
#define solarize_of            fg_aug_solarize
#define invert_of              fg_aug_invert
#define gaussian_blur_of       fg_aug_gaussian_blur
#define random_erasing_of      fg_aug_random_erasing

#define DIRECT(id, name, text, ...)                                                                \
    static fg_tensor direct_##id(fg_tensor x, const fg_sample_key *key, bool has_options)          \
    {                                                                                              \
        const fg_aug_##name##_options o = {__VA_ARGS__};                                           \
        return name##_of(x, key, has_options ? &o : NULL);                                         \
    }
OPTIONS(DIRECT)

static const struct {
    const char *name, *text;
    fg_tensor (*direct)(fg_tensor x, const fg_sample_key *key, bool has_options);
} option_rows[] = {
#define OPTION_ROW(id, name, text, ...) {#name, text, direct_##id},
    OPTIONS(OPTION_ROW)};

/* What a row of the table does with options in a text. */
static fg_tensor by_row(const fg_augmentation_entry *row, const char *text, fg_tensor x,
                        const fg_sample_key *key)
{
    fg_option_values *values = NULL;
    void *own;
    fg_error err = {0};
    fg_tensor target = fg_zeros(fg_tensor_trace(x), FG_F32, FG_DIMS(2));
    fgt_ok(
        fg_option_values_create(NULL, row->entry.options, row->entry.option_count, &values, &err));
    fgt_ok(fg_option_set_all(values, text, NULL, &err));
    fgt_ok(fgi_row_create(&row->entry, values, &own, &err));
    const fg_tensor y = row->mix != NULL ? row->mix(x, &target, key, own) : row->apply(x, key, own);
    fgi_free(own);
    fg_option_values_destroy(values);
    return y;
}

/* The program of one of option_rows, without the places of its lines. */
static char *program_of(void *state, size_t i, int has_options, const fg_augmentation_entry *row)
{
    char *text = NULL, *to;
    fg_error err = {0};
    fg_trace *trace = values_trace(state);
    const fg_sample_key key = key_of(trace, samples, 2, 0);
    const fg_tensor x = fg_iota(trace, FG_F32, 2, FG_DIMS(2, H, W, 3));
    const fg_tensor y = row == NULL ? option_rows[i].direct(x, &key, has_options)
                                    : by_row(row, has_options ? option_rows[i].text : "", x, &key);
    fgt_ok(fg_trace_text(trace, &y, 1, &text, &err));
    to = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (strncmp(at, "loc(", 4) == 0 || strncmp(at, "#loc", 4) == 0)
            at += strcspn(at, "\n");
        *to++ = *at;
    }
    *to = '\0';
    fg_trace_destroy(trace);
    return text;
}

static const fg_augmentation_entry *row_of(size_t i)
{
    for (size_t k = 0; k < fgi_augmentation_row_count; k++)
        if (strcmp(fgi_augmentation_rows[k]->name, option_rows[i].name) == 0)
            return (const fg_augmentation_entry *)fgi_augmentation_rows[k];
    fail_msg("no row '%s'", option_rows[i].name);
    return NULL;
}

/* Without options, too: the defaults are those of the functions. */
static void options_of_a_configuration_are_those_of_the_functions(void **state)
{
    for (size_t i = 0; i < sizeof option_rows / sizeof *option_rows; i++) {
        char *text[2][2];
        for (int has_options = 0; has_options < 2; has_options++) {
            text[has_options][0] = program_of(*state, i, has_options, NULL);
            text[has_options][1] = program_of(*state, i, has_options, row_of(i));
            if (strcmp(text[has_options][0], text[has_options][1]) != 0)
                fail_msg("%s, %d", option_rows[i].name, has_options);
        }
        assert_string_not_equal(text[0][0], text[1][0]);
        for (int k = 0; k < 4; k++)
            fg_free(text[k / 2][k % 2]);
    }
}

static void many_channels_are_normalized(void **state)
{
    static const char *const names[] = {"mean", "std"};
    const fg_augmentation_entry *normalize = row_of(sizeof option_rows / sizeof *option_rows - 1);
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        char text[256];
        size_t used = (size_t)snprintf(text, sizeof text, "{%s: [1", names[i]);
        for (int k = 1; k < 65; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, ",1");
        (void)snprintf(text + used, sizeof text - used, "]}");
        fg_trace *trace = values_trace(*state);
        (void)by_row(normalize, text, fg_zeros(trace, FG_F32, FG_DIMS(2, 1, 1, 65)), NULL);
        fgt_ok(fg_trace_error(trace, &err));
        fg_trace_destroy(trace);
    }
}

/* The table above has each option. */
static void no_option_is_left_out(void **state)
{
    (void)state;
    for (size_t k = 0; k < fgi_augmentation_row_count; k++) {
        const fg_entry *entry = fgi_augmentation_rows[k];
        for (size_t o = 0; o < entry->option_count; o++) {
            bool has = false;
            for (size_t i = 0; i < sizeof option_rows / sizeof *option_rows; i++)
                has = has || (strcmp(option_rows[i].name, entry->name) == 0 &&
                              strstr(option_rows[i].text, entry->options[o].name) != NULL);
            if (!has)
                fail_msg("%s, %s", entry->name, entry->options[o].name);
        }
    }
}

/* ---- options of a newer version -------------------------------------------------------------- */

#define REFUSED(function, type)                                                                    \
    do {                                                                                           \
        type o = {0};                                                                              \
        o.reserved[1] = 1;                                                                         \
        fg_error err = {0};                                                                        \
        fg_trace *trace = values_trace(*state);                                                    \
        (void)function(fg_zeros(trace, FG_F32, FG_DIMS(2, 4, 4, 3)), NULL, &o);                    \
        assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);                                  \
        assert_non_null(strstr(err.message, #type));                                               \
        structs--;                                                                                 \
        fg_trace_destroy(trace);                                                                   \
    } while (0)

static void newer_options_are_refused(void **state)
{
    static const char header[] = FGT_SOURCE_DIR "/include/fulgurite/aug.h";
    char *text = NULL;
    size_t size = 0;
    int structs = 0; /* of the header that are not refused below */
    fg_error read_err = {0};
    assert_int_equal(fgi_file_read(header, 1 << 20, &text, &size, &read_err), FG_OK);
    for (const char *at = text; (at = strstr(at, "typedef struct fg_aug_")) != NULL; at++)
        structs++;
    fgi_free(text);
    REFUSED(fg_aug_normalize, fg_aug_normalize_options);
    REFUSED(fg_aug_resize, fg_aug_resize_options);
    REFUSED(fg_aug_center_crop, fg_aug_center_crop_options);
    REFUSED(fg_aug_random_flip, fg_aug_random_flip_options);
    REFUSED(fg_aug_random_crop, fg_aug_random_crop_options);
    REFUSED(fg_aug_random_resized_crop, fg_aug_random_resized_crop_options);
    REFUSED(fg_aug_random_affine, fg_aug_random_affine_options);
    REFUSED(fg_aug_gaussian_blur, fg_aug_gaussian_blur_options);
    REFUSED(fg_aug_color_jitter, fg_aug_color_jitter_options);
    REFUSED(fg_aug_grayscale, fg_aug_grayscale_options);
    REFUSED(fg_aug_random_erasing, fg_aug_random_erasing_options);
    REFUSED(fg_aug_invert, fg_aug_invert_options);
    REFUSED(fg_aug_solarize, fg_aug_solarize_options);
    REFUSED(fg_aug_posterize, fg_aug_posterize_options);
    REFUSED(fg_aug_autocontrast, fg_aug_autocontrast_options);
    REFUSED(fg_aug_equalize, fg_aug_equalize_options);
    REFUSED(fg_aug_sharpness, fg_aug_sharpness_options);
    REFUSED(fg_aug_rand_augment, fg_aug_rand_augment_options);
    REFUSED(fg_aug_trivial_augment, fg_aug_trivial_augment_options);
    REFUSED(mixup_of, fg_aug_mixup_options);
    REFUSED(cutmix_of, fg_aug_cutmix_options);
    assert_int_equal(structs, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(equal_the_hosts),
    cmocka_unit_test(a_repeat_draws_other_numbers),
    cmocka_unit_test(places_are_equally_likely),
    cmocka_unit_test(boxes_have_the_area_and_the_ratio),
    cmocka_unit_test(mixtures_have_the_beta_distribution),
    cmocka_unit_test(evaluation_changes_nothing),
    cmocka_unit_test(levels_and_filters_at_their_limits),
    cmocka_unit_test(crops_of_evaluation_are_in_the_middle),
    cmocka_unit_test(resized_crops_of_evaluation_are_in_the_middle),
    cmocka_unit_test(sides_are_resized_separately),
    cmocka_unit_test(channels_are_normalized),
    cmocka_unit_test(errors_say_what_was_expected),
    cmocka_unit_test(limits_are_included),
    cmocka_unit_test(options_of_a_configuration_are_those_of_the_functions),
    cmocka_unit_test(many_channels_are_normalized),
    cmocka_unit_test(no_option_is_left_out),
    cmocka_unit_test(newer_options_are_refused),
};

int main(void)
{
    return cmocka_run_group_tests(tests, values_open_client, values_close_client) == 0 ? 0 : 1;
}
