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

/* ---- the row of color_jitter ----------------------------------------------------------------- */

static fg_tensor apply_color_jitter(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_color_jitter_options *o = own;
    if (!has_gray_or_rgb(x, "color_jitter"))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL)
        return x;
    const fg_tensor u = fgi_aug_uniform(key, "color_jitter", NUMBERS);
    if (o->brightness != 0)
        x = fgi_aug_brightness(x, factor(u, BRIGHTNESS, o->brightness, x));
    if (o->contrast != 0)
        x = fgi_aug_contrast(x, factor(u, CONTRAST, o->contrast, x));
    const bool has_color = fg_tensor_dim(x, 3) == 3;
    if (has_color && o->saturation != 0)
        x = fgi_aug_saturation(x, factor(u, SATURATION, o->saturation, x));
    if (has_color && o->hue != 0)
        x = fgi_aug_hue(x, factor(u, HUE, o->hue, x));
    return x;
}

static const fg_option color_jitter_options[] = {
    FG_OPTION(fg_aug_color_jitter_options, brightness, FLOAT, "0", "0..1000", "0.25",
              "Multiply the brightness by a factor from 1 - brightness to 1 + brightness."),
    FG_OPTION(fg_aug_color_jitter_options, contrast, FLOAT, "0", "0..1000", "0.25",
              "Multiply the contrast by a factor from 1 - contrast to 1 + contrast."),
    FG_OPTION(fg_aug_color_jitter_options, saturation, FLOAT, "0", "0..1000", "0.25",
              "Multiply the saturation by a factor from 1 - saturation to 1 + saturation."),
    FG_OPTION(fg_aug_color_jitter_options, hue, FLOAT, "0", "0..0.5", "0.25",
              "Shift the hue by -hue to hue; 1 is the whole color wheel."),
};

const fg_augmentation_entry fgi_color_jitter_row = {
    .entry = {.name = "color_jitter",
              .help = "change brightness, contrast, saturation and hue at random",
              .spellings = "ColorJitter",
              FG_OPTIONS(color_jitter_options, fg_aug_color_jitter_options)},
    .apply = apply_color_jitter,
    .needs = "brightness|contrast|saturation|hue"};

FGI_AUG_FUNCTION(color_jitter)

/* ---- the row of grayscale -------------------------------------------------------------------- */

static fg_tensor apply_grayscale(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_grayscale_options *o = own;
    if (!has_gray_or_rgb(x, "grayscale"))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL || fg_tensor_dim(x, 3) == 1)
        return x;
    const fg_tensor is_gray = fgi_aug_happens(fgi_aug_uniform(key, "grayscale", 1), o->p);
    return fg_where(is_gray, fgi_aug_gray(x), x);
}

static const fg_option grayscale_options[] = {
    FG_OPTION(fg_aug_grayscale_options, p, FLOAT, "0.1", "0..1", "0.25", "Probability."),
};

const fg_augmentation_entry fgi_grayscale_row = {
    .entry = {.name = "grayscale",
              .help = "make some images gray",
              .spellings = "RandomGrayscale",
              FG_OPTIONS(grayscale_options, fg_aug_grayscale_options)},
    .apply = apply_grayscale};

FGI_AUG_FUNCTION(grayscale)
