/* random_levels.c - maps of pixel values that are applied with a probability: invert, solarize,
 * posterize, autocontrast, equalize, sharpness.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "aug/aug_draw.h"
#include "aug/augmentations.h"
#include "aug/color.h"

/* The changed image with probability p, else x. */
static fg_tensor perhaps(const char *name, const fg_sample_key *key, double p, fg_tensor changed,
                         fg_tensor x)
{
    return fg_where(fgi_aug_happens(fg_random_sample_uniform(key, name, 1), p), changed, x);
}

static fg_tensor invert(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_invert_options *o = own;
    return key == NULL ? x : perhaps("invert", key, o->p, fgi_aug_invert(x), x);
}

static fg_tensor solarize(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_solarize_options *o = own;
    if (key == NULL)
        return x;
    const fg_tensor is_bright = fg_ge(x, fgi_full_like(x, o->threshold));
    return perhaps("solarize", key, o->p, fg_where(is_bright, fgi_aug_invert(x), x), x);
}

static fg_tensor posterize(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_posterize_options *o = own;
    if (key == NULL)
        return x;
    const fg_tensor bytes = fgi_aug_bytes(x);
    const fg_tensor unit = fgi_full_like(bytes, ldexp(1, 8 - (int)o->bits));
    return perhaps("posterize", key, o->p, fgi_aug_posterize(x, bytes, unit), x);
}

static fg_tensor autocontrast(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_autocontrast_options *o = own;
    return key == NULL ? x : perhaps("autocontrast", key, o->p, fgi_aug_autocontrast(x), x);
}

static fg_tensor equalize(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_equalize_options *o = own;
    if (key == NULL)
        return x;
    return perhaps("equalize", key, o->p, fgi_aug_equalize(x, fgi_aug_bytes(x)), x);
}

static fg_tensor sharpness(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_sharpness_options *o = own;
    if (key == NULL)
        return x;
    const fg_tensor factor =
        fg_full(fg_tensor_trace(x), fg_tensor_type(x)->dtype, o->factor, FG_SCALAR);
    return perhaps("sharpness", key, o->p, fgi_aug_blend(x, fgi_aug_smooth(x), factor), x);
}

/* ---- the rows -------------------------------------------------------------------------------- */

#define P(name) FG_OPTION(fg_aug_##name##_options, p, FLOAT, "0.5", "0..1", "0.25", "Probability.")

static const fg_option invert_options[] = {P(invert)};
static const fg_option autocontrast_options[] = {P(autocontrast)};
static const fg_option equalize_options[] = {P(equalize)};

static const fg_option solarize_options[] = {
    FG_OPTION(fg_aug_solarize_options, threshold, FLOAT, "0.5", "0..1", "0.25",
              "Invert pixels of at least this value."),
    P(solarize),
};

static const fg_option posterize_options[] = {
    FG_OPTION(fg_aug_posterize_options, bits, INT, "4", "1..8", "3",
              "Number of bits to keep per channel."),
    P(posterize),
};

static const fg_option sharpness_options[] = {
    FG_OPTION(fg_aug_sharpness_options, factor, FLOAT, "2", "0..1000", "0.25",
              "0: smoothed. 1: unchanged. 2: sharper."),
    P(sharpness),
};

FGI_AUG_ROW(invert, "RandomInvert", "invert images at random", .apply = invert)
FGI_AUG_ROW(solarize, "RandomSolarize", "invert bright pixels at random", .apply = solarize)
FGI_AUG_ROW(posterize, "RandomPosterize", "reduce the number of levels at random",
            .apply = posterize)
FGI_AUG_ROW(autocontrast, "RandomAutocontrast",
            "stretch each channel to the range 0 to 1 at random", .apply = autocontrast)
FGI_AUG_ROW(equalize, "RandomEqualize", "equalize the histogram of each channel at random",
            .apply = equalize)
FGI_AUG_ROW(sharpness, "RandomAdjustSharpness", "sharpen or smooth at random", .apply = sharpness)
