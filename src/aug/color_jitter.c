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

/* ---- the row of color_jitter ----------------------------------------------------------------- */

static fg_tensor apply_color_jitter(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_color_jitter_options *o = own;
    if (!fgi_aug_check_channels(x, "color_jitter"))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL)
        return x;
    const fg_tensor u = fg_random_sample_uniform(key, "color_jitter", NUMBERS);
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

FGI_AUG_ROW(color_jitter, "ColorJitter",
            "change brightness, contrast, saturation and hue at random",
            .apply = apply_color_jitter, .needs = "brightness|contrast|saturation|hue")

/* ---- the row of grayscale -------------------------------------------------------------------- */

static fg_tensor apply_grayscale(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_grayscale_options *o = own;
    if (!fgi_aug_check_channels(x, "grayscale"))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL || fg_tensor_dim(x, 3) == 1)
        return x;
    const fg_tensor is_gray = fgi_aug_happens(fg_random_sample_uniform(key, "grayscale", 1), o->p);
    return fg_where(is_gray, fgi_aug_gray(x), x);
}

static const fg_option grayscale_options[] = {
    FG_OPTION(fg_aug_grayscale_options, p, FLOAT, "0.1", "0..1", "0.25", "Probability."),
};

FGI_AUG_ROW(grayscale, "RandomGrayscale", "make some images gray", .apply = apply_grayscale)
