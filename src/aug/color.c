/* color.c - brightness, contrast, saturation, hue.
 *
 * Source: torchvision, functional.adjust_brightness, adjust_contrast, adjust_saturation,
 * adjust_hue, of floating-point images; Smith 1978, "Color gamut transform pairs" (HSV).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/color.h"

#include "op/op.h"

static fg_tensor channel(fg_tensor x, int64_t index)
{
    const fg_type *type = fg_tensor_type(x);
    const int64_t start[4] = {0, 0, 0, index};
    const int64_t limit[4] = {type->dim[0], type->dim[1], type->dim[2], index + 1};
    return fg_slice(x, start, limit, NULL);
}

static fg_tensor cut(fg_tensor x)
{
    return fg_minimum(fg_maximum(x, fgi_full_like(x, 0)), fgi_full_like(x, 1));
}

fg_tensor fgi_aug_blend(fg_tensor x, fg_tensor other, fg_tensor factor)
{
    const fg_tensor rest = fg_sub(fgi_full_like(factor, 1), factor);
    return cut(fg_add(fg_mul(x, factor), fg_mul(other, rest)));
}

fg_tensor fgi_aug_gray(fg_tensor x)
{
    if (fg_tensor_dim(x, 3) == 1)
        return x;
    const fg_tensor red = fg_mul_scalar(channel(x, 0), 0.2989);
    const fg_tensor green = fg_mul_scalar(channel(x, 1), 0.587);
    return fg_add(fg_add(red, green), fg_mul_scalar(channel(x, 2), 0.114));
}

fg_tensor fgi_aug_brightness(fg_tensor x, fg_tensor factor) { return cut(fg_mul(x, factor)); }

fg_tensor fgi_aug_contrast(fg_tensor x, fg_tensor factor)
{
    const fg_tensor mean = fg_mean(fgi_aug_gray(x), 3, (const int[]){1, 2, 3});
    return fgi_aug_blend(x, fg_reshape(mean, FG_DIMS(-1, 1, 1, 1)), factor);
}

fg_tensor fgi_aug_saturation(fg_tensor x, fg_tensor factor)
{
    return fgi_aug_blend(x, fgi_aug_gray(x), factor);
}

/* ---- hue ------------------------------------------------------------------------------------- */

static fg_tensor modulo(fg_tensor a, double n)
{
    return fg_sub(a, fg_mul_scalar(fg_floor(fg_mul_scalar(a, 1 / n)), n));
}

/* The hue in sixths of a turn, -1 to 5. most is the largest channel, spread its distance from the
 * smallest, or 1. */
static fg_tensor hue_of(fg_tensor x, fg_tensor most, fg_tensor spread)
{
    const fg_tensor red = channel(x, 0), green = channel(x, 1), blue = channel(x, 2);
    const fg_tensor by_red = fg_div(fg_sub(green, blue), spread);
    const fg_tensor by_green = fg_add_scalar(fg_div(fg_sub(blue, red), spread), 2);
    const fg_tensor by_blue = fg_add_scalar(fg_div(fg_sub(red, green), spread), 4);
    return fg_where(fg_eq(most, red), by_red, fg_where(fg_eq(most, green), by_green, by_blue));
}

/* A channel of the color with this hue: most - chroma max(0, min(k, 4 - k, 1)), where k is hue + n
 * modulo 6. */
static fg_tensor from_hue(fg_tensor hue, fg_tensor most, fg_tensor chroma, double n)
{
    const fg_tensor k = modulo(fg_add_scalar(hue, n), 6);
    const fg_tensor slope = fg_minimum(k, fg_add_scalar(fg_neg(k), 4));
    return fg_sub(most, fg_mul(chroma, cut(slope)));
}

fg_tensor fgi_aug_hue(fg_tensor x, fg_tensor shift)
{
    const fg_tensor red = channel(x, 0), green = channel(x, 1), blue = channel(x, 2);
    const fg_tensor most = fg_maximum(fg_maximum(red, green), blue);
    const fg_tensor chroma = fg_sub(most, fg_minimum(fg_minimum(red, green), blue));
    const fg_tensor zero = fgi_full_like(chroma, 0);
    const fg_tensor spread = fg_where(fg_eq(chroma, zero), fgi_full_like(chroma, 1), chroma);
    const fg_tensor hue = fg_add(hue_of(x, most, spread), fg_mul_scalar(shift, 6));
    return fg_concat((const fg_tensor[]){from_hue(hue, most, chroma, 5),
                                         from_hue(hue, most, chroma, 3),
                                         from_hue(hue, most, chroma, 1)},
                     3, 3);
}
