/* random_levels.c - maps of pixel values that are applied with a probability: invert, solarize,
 * posterize, autocontrast, equalize, sharpness.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "aug/aug_draw.h"
#include "aug/augmentations.h"
#include "aug/color.h"
#include "aug/levels.h"

/* The images of a function, with its probability: poison after an error. */
static fg_tensor begin(const char *name, fg_tensor image, double p, fgi_reserved reserved)
{
    const fg_tensor x = fgi_aug_begin(name, image, reserved);
    if (!fgi_is_poison(x) && !fgi_aug_check(x, name, "p", fgi_or_default(p, 0.5), 0, 1))
        return fgi_poison(fg_tensor_trace(image));
    return x;
}

/* The changed image with probability p, else x. */
static fg_tensor perhaps(const char *name, const fg_sample_key *key, double p, fg_tensor changed,
                         fg_tensor x)
{
    const fg_tensor u = fgi_aug_uniform(key, name, 1);
    return fg_where(fgi_aug_happens(u, fgi_or_default(p, 0.5)), changed, x);
}

fg_tensor fg_aug_invert(fg_tensor image, const fg_sample_key *key,
                        const fg_aug_invert_options *options)
{
    const fg_aug_invert_options o = options != NULL ? *options : (fg_aug_invert_options){0};
    const fg_tensor x = begin("invert", image, o.p, FGI_RESERVED(fg_aug_invert_options, options));
    if (fgi_is_poison(x) || key == NULL)
        return x;
    return perhaps("invert", key, o.p, fgi_aug_invert(x), x);
}

fg_tensor fg_aug_solarize(fg_tensor image, const fg_sample_key *key,
                          const fg_aug_solarize_options *options)
{
    static const char name[] = "solarize";
    const fg_aug_solarize_options o = options != NULL ? *options : (fg_aug_solarize_options){0};
    const double threshold = fgi_or_default(o.threshold, 0.5);
    const fg_tensor x = begin(name, image, o.p, FGI_RESERVED(fg_aug_solarize_options, options));
    if (fgi_is_poison(x) || !fgi_aug_check(x, name, "threshold", threshold, 0, 1))
        return fgi_poison(fg_tensor_trace(image));
    if (key == NULL)
        return x;
    const fg_tensor is_bright = fg_ge(x, fgi_full_like(x, threshold));
    return perhaps(name, key, o.p, fg_where(is_bright, fgi_aug_invert(x), x), x);
}

fg_tensor fg_aug_posterize(fg_tensor image, const fg_sample_key *key,
                           const fg_aug_posterize_options *options)
{
    static const char name[] = "posterize";
    const fg_aug_posterize_options o = options != NULL ? *options : (fg_aug_posterize_options){0};
    const int64_t bits = o.bits != 0 ? o.bits : 4;
    const fg_tensor x = begin(name, image, o.p, FGI_RESERVED(fg_aug_posterize_options, options));
    if (fgi_is_poison(x) || !fgi_aug_check(x, name, "bits", (double)bits, 1, 8))
        return fgi_poison(fg_tensor_trace(image));
    if (key == NULL)
        return x;
    const fg_tensor bytes = fgi_aug_bytes(x);
    const fg_tensor unit = fgi_full_like(bytes, ldexp(1, 8 - (int)bits));
    return perhaps(name, key, o.p, fgi_aug_posterize(x, bytes, unit), x);
}

fg_tensor fg_aug_autocontrast(fg_tensor image, const fg_sample_key *key,
                              const fg_aug_autocontrast_options *options)
{
    static const char name[] = "autocontrast";
    const fg_aug_autocontrast_options o =
        options != NULL ? *options : (fg_aug_autocontrast_options){0};
    const fg_tensor x = begin(name, image, o.p, FGI_RESERVED(fg_aug_autocontrast_options, options));
    if (fgi_is_poison(x) || key == NULL)
        return x;
    return perhaps(name, key, o.p, fgi_aug_autocontrast(x), x);
}

fg_tensor fg_aug_equalize(fg_tensor image, const fg_sample_key *key,
                          const fg_aug_equalize_options *options)
{
    static const char name[] = "equalize";
    const fg_aug_equalize_options o = options != NULL ? *options : (fg_aug_equalize_options){0};
    const fg_tensor x = begin(name, image, o.p, FGI_RESERVED(fg_aug_equalize_options, options));
    if (fgi_is_poison(x) || key == NULL)
        return x;
    return perhaps(name, key, o.p, fgi_aug_equalize(x, fgi_aug_bytes(x)), x);
}

fg_tensor fg_aug_sharpness(fg_tensor image, const fg_sample_key *key,
                           const fg_aug_sharpness_options *options)
{
    static const char name[] = "sharpness";
    const fg_aug_sharpness_options o = options != NULL ? *options : (fg_aug_sharpness_options){0};
    const double factor = fgi_or_default(o.factor, 2);
    const fg_tensor x = begin(name, image, o.p, FGI_RESERVED(fg_aug_sharpness_options, options));
    if (fgi_is_poison(x) || !fgi_aug_check(x, name, "factor", factor, 0, 1e3))
        return fgi_poison(fg_tensor_trace(image));
    if (key == NULL)
        return x;
    const fg_tensor sharp =
        fgi_aug_blend(x, fgi_aug_smooth(x),
                      fg_full(fg_tensor_trace(x), fg_tensor_type(x)->dtype, factor, FG_SCALAR));
    return perhaps(name, key, o.p, sharp, x);
}

/* ---- the rows -------------------------------------------------------------------------------- */

#define P FGI_AUG_NUMBER("p", "0.5", "1", "Probability.")

static fg_tensor apply_invert(fg_tensor image, const fg_sample_key *key,
                              const fg_option_values *values)
{
    return fg_aug_invert(image, key, &(fg_aug_invert_options){.p = fg_option_number(values, "p")});
}

static fg_tensor apply_solarize(fg_tensor image, const fg_sample_key *key,
                                const fg_option_values *values)
{
    return fg_aug_solarize(
        image, key,
        &(fg_aug_solarize_options){.threshold = fg_option_number(values, "threshold"),
                                   .p = fg_option_number(values, "p")});
}

static fg_tensor apply_posterize(fg_tensor image, const fg_sample_key *key,
                                 const fg_option_values *values)
{
    return fg_aug_posterize(image, key,
                            &(fg_aug_posterize_options){.bits = fg_option_int(values, "bits"),
                                                        .p = fg_option_number(values, "p")});
}

static fg_tensor apply_autocontrast(fg_tensor image, const fg_sample_key *key,
                                    const fg_option_values *values)
{
    return fg_aug_autocontrast(image, key,
                               &(fg_aug_autocontrast_options){.p = fg_option_number(values, "p")});
}

static fg_tensor apply_equalize(fg_tensor image, const fg_sample_key *key,
                                const fg_option_values *values)
{
    return fg_aug_equalize(image, key,
                           &(fg_aug_equalize_options){.p = fg_option_number(values, "p")});
}

static fg_tensor apply_sharpness(fg_tensor image, const fg_sample_key *key,
                                 const fg_option_values *values)
{
    return fg_aug_sharpness(
        image, key,
        &(fg_aug_sharpness_options){.factor = fg_option_number(values, "factor"),
                                    .p = fg_option_number(values, "p")});
}

static const fg_option only_p[] = {P};

static const fg_option solarize_options[] = {
    FGI_AUG_NUMBER("threshold", "0.5", "1", "Invert pixels of at least this value."),
    P,
};

static const fg_option posterize_options[] = {
    {.name = "bits",
     .kind = FG_OPTION_INT,
     .initial = "4",
     .range = "1..8",
     .example = "3",
     .help = "Number of bits to keep per channel."},
    P,
};

static const fg_option sharpness_options[] = {
    FGI_AUG_NUMBER("factor", "2", "1000", "0: smoothed. 1: unchanged. 2: sharper."),
    P,
};

const fg_augmentation_entry fgi_invert_row = {.entry = {.name = "invert",
                                                        .help = "invert images at random",
                                                        .spellings = "RandomInvert",
                                                        .options = only_p,
                                                        .option_count = 1},
                                              .apply = apply_invert};

const fg_augmentation_entry fgi_solarize_row = {
    .entry = {.name = "solarize",
              .help = "invert bright pixels at random",
              .spellings = "RandomSolarize",
              .options = solarize_options,
              .option_count = sizeof solarize_options / sizeof solarize_options[0]},
    .apply = apply_solarize};

const fg_augmentation_entry fgi_posterize_row = {
    .entry = {.name = "posterize",
              .help = "reduce the number of levels at random",
              .spellings = "RandomPosterize",
              .options = posterize_options,
              .option_count = sizeof posterize_options / sizeof posterize_options[0]},
    .apply = apply_posterize};

const fg_augmentation_entry fgi_autocontrast_row = {
    .entry = {.name = "autocontrast",
              .help = "stretch each channel to the range 0 to 1 at random",
              .spellings = "RandomAutocontrast",
              .options = only_p,
              .option_count = 1},
    .apply = apply_autocontrast};

const fg_augmentation_entry fgi_equalize_row = {
    .entry = {.name = "equalize",
              .help = "equalize the histogram of each channel at random",
              .spellings = "RandomEqualize",
              .options = only_p,
              .option_count = 1},
    .apply = apply_equalize};

const fg_augmentation_entry fgi_sharpness_row = {
    .entry = {.name = "sharpness",
              .help = "sharpen or smooth at random",
              .spellings = "RandomAdjustSharpness",
              .options = sharpness_options,
              .option_count = sizeof sharpness_options / sizeof sharpness_options[0]},
    .apply = apply_sharpness};
