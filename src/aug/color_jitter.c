/* color_jitter.c - random brightness, contrast, saturation and hue; random grayscale.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/color.h"
#include "aug/aug_draw.h"
#include "aug/augmentations.h"

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, NUMBERS };

/* The factor of an image for a strength, T[B,1,1,1], out of its uniform numbers. */
static fg_tensor factor(fg_tensor u, int number, double strength, fg_tensor x)
{
    const fg_tensor one = fgi_aug_columns(u, number, 1);
    const bool is_shift = number == HUE;
    const double low = is_shift ? -strength : strength > 1 ? 0 : 1 - strength;
    return fgi_aug_per_image(fgi_aug_between(one, low, is_shift ? strength : 1 + strength), x);
}

static bool has_gray_or_rgb(fg_tensor x, const char *name)
{
    const int64_t channels = fg_tensor_dim(x, 3);
    if (channels == 1 || channels == 3)
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(x), FG_ESHAPE,
                         "%s: the images have %lld channels: expected 1 or 3", name,
                         (long long)channels);
    return false;
}

static bool is_valid(fg_tensor x, const char *name, const fg_aug_color_jitter_options *o)
{
    return has_gray_or_rgb(x, name) &&
           fgi_aug_check(x, name, "brightness", o->brightness, 0, 1e3) &&
           fgi_aug_check(x, name, "contrast", o->contrast, 0, 1e3) &&
           fgi_aug_check(x, name, "saturation", o->saturation, 0, 1e3) &&
           fgi_aug_check(x, name, "hue", o->hue, 0, 0.5);
}

fg_tensor fg_aug_color_jitter(fg_tensor image, const fg_sample_key *key,
                              const fg_aug_color_jitter_options *options)
{
    static const char name[] = "color_jitter";
    const fg_aug_color_jitter_options o =
        options != NULL ? *options : (fg_aug_color_jitter_options){0};
    fg_tensor x = fgi_aug_begin(name, image, FGI_RESERVED(fg_aug_color_jitter_options, options));
    if (fgi_is_poison(x) || !is_valid(x, name, &o))
        return fgi_poison(fg_tensor_trace(image));
    if (key == NULL)
        return x;
    const fg_tensor u = fgi_aug_uniform(key, name, NUMBERS);
    if (o.brightness != 0)
        x = fgi_aug_brightness(x, factor(u, BRIGHTNESS, o.brightness, x));
    if (o.contrast != 0)
        x = fgi_aug_contrast(x, factor(u, CONTRAST, o.contrast, x));
    const bool has_color = fg_tensor_dim(x, 3) == 3;
    if (has_color && o.saturation != 0)
        x = fgi_aug_saturation(x, factor(u, SATURATION, o.saturation, x));
    if (has_color && o.hue != 0)
        x = fgi_aug_hue(x, factor(u, HUE, o.hue, x));
    return x;
}

fg_tensor fg_aug_grayscale(fg_tensor image, const fg_sample_key *key,
                           const fg_aug_grayscale_options *options)
{
    static const char name[] = "grayscale";
    const fg_aug_grayscale_options o = options != NULL ? *options : (fg_aug_grayscale_options){0};
    const double p = fgi_or_default(o.p, 0.1);
    const fg_tensor x = fgi_aug_begin(name, image, FGI_RESERVED(fg_aug_grayscale_options, options));
    if (fgi_is_poison(x) || !fgi_aug_check(x, name, "p", p, 0, 1) || !has_gray_or_rgb(x, name))
        return fgi_poison(fg_tensor_trace(image));
    if (key == NULL || fg_tensor_dim(x, 3) == 1)
        return x;
    const fg_tensor is_gray = fgi_aug_happens(fgi_aug_uniform(key, name, 1), p);
    return fg_where(is_gray, fgi_aug_gray(x), x);
}

/* ---- the row of color_jitter ----------------------------------------------------------------- */

static fg_tensor apply_color_jitter(fg_tensor image, const fg_sample_key *key,
                                    const fg_option_values *values)
{
    return fg_aug_color_jitter(
        image, key,
        &(fg_aug_color_jitter_options){.brightness = fg_option_float(values, "brightness"),
                                       .contrast = fg_option_float(values, "contrast"),
                                       .saturation = fg_option_float(values, "saturation"),
                                       .hue = fg_option_float(values, "hue")});
}

static const fg_option color_jitter_options[] = {
    FGI_AUG_NUMBER("brightness", "0", "1000",
                   "Multiply the brightness by a factor from 1 - brightness to 1 + brightness."),
    FGI_AUG_NUMBER("contrast", "0", "1000",
                   "Multiply the contrast by a factor from 1 - contrast to 1 + contrast."),
    FGI_AUG_NUMBER("saturation", "0", "1000",
                   "Multiply the saturation by a factor from 1 - saturation to 1 + saturation."),
    FGI_AUG_NUMBER("hue", "0", "0.5", "Shift the hue by -hue to hue; 1 is the whole color wheel."),
};

const fg_augmentation_entry fgi_color_jitter_row = {
    .entry = {.name = "color_jitter",
              .help = "change brightness, contrast, saturation and hue at random",
              .spellings = "ColorJitter",
              .options = color_jitter_options,
              .option_count = sizeof color_jitter_options / sizeof color_jitter_options[0]},
    .apply = apply_color_jitter,
    .needs = "brightness|contrast|saturation|hue"};

/* ---- the row of grayscale -------------------------------------------------------------------- */

static fg_tensor apply_grayscale(fg_tensor image, const fg_sample_key *key,
                                 const fg_option_values *values)
{
    return fg_aug_grayscale(image, key,
                            &(fg_aug_grayscale_options){.p = fg_option_number(values, "p")});
}

static const fg_option grayscale_options[] = {
    FGI_AUG_NUMBER("p", "0.1", "1", "Probability."),
};

const fg_augmentation_entry fgi_grayscale_row = {
    .entry = {.name = "grayscale",
              .help = "make some images gray",
              .spellings = "RandomGrayscale",
              .options = grayscale_options,
              .option_count = sizeof grayscale_options / sizeof grayscale_options[0]},
    .apply = apply_grayscale};
