/* color.c - brightness, contrast, saturation, hue; posterize, autocontrast, equalize, smooth.
 *
 * Source: torchvision, functional.adjust_brightness, adjust_contrast, adjust_saturation,
 * adjust_hue, of floating-point images; Smith 1978, "Color gamut transform pairs" (HSV);
 * functional.posterize, autocontrast, equalize and adjust_sharpness, of u8 images, whose levels are
 * the multiples of 1/255.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/color.h"

#include "aug/aug_draw.h"
#include "op/op.h"

enum { LEVELS = 256 };

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

/* ---- levels ---------------------------------------------------------------------------------- */

fg_tensor fgi_aug_bytes(fg_tensor x)
{
    const fg_tensor wide = fgi_upcast(fg_stop_gradient(x));
    const fg_tensor level = fg_floor(fg_add_scalar(fg_mul_scalar(wide, LEVELS - 1), 0.5));
    return fg_minimum(fg_maximum(level, fgi_full_like(level, 0)), fgi_full_like(level, LEVELS - 1));
}

/* Levels 0 to 255 as numbers from 0 to 1 in x's dtype. */
static fg_tensor from_bytes(fg_tensor bytes, fg_tensor x)
{
    return fg_cast(fg_mul_scalar(bytes, 1.0 / (LEVELS - 1)), fg_tensor_type(x)->dtype);
}

fg_tensor fgi_aug_posterize(fg_tensor x, fg_tensor bytes, fg_tensor unit)
{
    const fg_tensor one = fg_cast(unit, fg_tensor_type(bytes)->dtype);
    return from_bytes(fg_mul(fg_floor(fg_div(bytes, one)), one), x);
}

fg_tensor fgi_aug_invert(fg_tensor x) { return fg_add_scalar(fg_neg(x), 1); }

/* Reduced over the pixels of each image: [B,1,1,C]. */
static fg_tensor per_channel(fg_tensor reduced, fg_tensor x)
{
    return fg_reshape(reduced, FG_DIMS(-1, 1, 1, fg_tensor_dim(x, 3)));
}

fg_tensor fgi_aug_autocontrast(fg_tensor x)
{
    static const int pixels[] = {1, 2};
    const fg_tensor most = per_channel(fg_max(x, 2, pixels), x);
    const fg_tensor least = fg_neg(per_channel(fg_max(fg_neg(x), 2, pixels), x));
    const fg_tensor spread = fg_sub(most, least);
    const fg_tensor is_flat = fg_le(spread, fgi_full_like(spread, 0));
    const fg_tensor safe = fg_where(is_flat, fgi_full_like(spread, 1), spread);
    return fg_where(is_flat, x, fg_div(fg_sub(x, least), safe));
}

/* ---- equalize -------------------------------------------------------------------------------- */

/* Levels 0 to 255 as the last dimension: [1,1,1,256]. */
static fg_tensor all_levels(fg_tensor like)
{
    return fg_iota(fg_tensor_trace(like), fg_tensor_type(like)->dtype, 3, FG_DIMS(1, 1, 1, LEVELS));
}

/* For each channel, the new level of each level, [B,1,C,256]: with n pixels below the level, (n +
 * step / 2) / step, where 255 steps are the pixels that do not have the highest level. Integers,
 * rounded down; a step of 0 changes nothing. levels: [B,H*W,C,1]. */
static fg_tensor level_table(fg_tensor levels, int64_t pixels)
{
    static const int over_pixels[] = {1};
    const int64_t channels = fg_tensor_dim(levels, 2);
    const fg_tensor all = all_levels(levels);
    const fg_tensor below = fg_sum(fg_cast(fg_lt(levels, all), FG_F32), 1, over_pixels);
    const fg_tensor most = fg_max(levels, 1, over_pixels);
    const fg_tensor is_most = fg_eq(levels, fg_reshape(most, FG_DIMS(-1, 1, channels, 1)));
    const fg_tensor at_most = fg_sum(fg_cast(is_most, FG_F32), 1, over_pixels); /* [B,C,1] */
    const fg_tensor rest = fg_cast(fg_add_scalar(fg_neg(at_most), (double)pixels), FG_S32);
    const fg_tensor step = fg_div(rest, fgi_full_like(rest, LEVELS - 1));
    const fg_tensor is_none = fg_eq(step, fgi_full_like(step, 0));
    const fg_tensor safe = fg_where(is_none, fgi_full_like(step, 1), step);
    const fg_tensor half = fg_div(step, fgi_full_like(step, 2));
    const fg_tensor level = fg_div(fg_add(fg_cast(below, FG_S32), half), safe);
    const fg_tensor cut = fg_cast(fg_minimum(level, fgi_full_like(level, LEVELS - 1)), FG_F32);
    const fg_tensor same = fg_reshape(fg_cast(all, FG_F32), FG_DIMS(1, 1, LEVELS));
    return fg_reshape(fg_where(is_none, same, cut), FG_DIMS(-1, 1, channels, LEVELS));
}

/* Counts and look-ups are comparisons with all 256 levels, which compilers fuse with the sums: on a
 * TPU, scatter and gather of single numbers are slower by far. */
fg_tensor fgi_aug_equalize(fg_tensor x, fg_tensor bytes)
{
    const fg_type type = *fg_tensor_type(x);
    const int64_t pixels = type.dim[1] * type.dim[2], channels = type.dim[3];
    const fg_tensor levels = fg_reshape(bytes, FG_DIMS(-1, pixels, channels, 1));
    const fg_tensor table = level_table(levels, pixels);
    const fg_tensor is_level = fg_eq(levels, all_levels(levels));
    const fg_tensor chosen = fg_where(is_level, table, fgi_full_like(table, 0));
    const fg_tensor out = fg_sum(chosen, 1, (const int[]){3});
    return fg_reshape(from_bytes(out, x), FG_DIMS(-1, type.dim[1], type.dim[2], channels));
}

/* ---- smooth ---------------------------------------------------------------------------------- */

/* The sum of each element and its two neighbors along an axis. */
static fg_tensor sum_of_three(fg_tensor x, int axis)
{
    const int64_t n = fg_tensor_dim(x, axis);
    const fg_tensor wide = fgi_aug_continued(x, axis, 1, false);
    const fg_tensor outer =
        fg_add(fgi_aug_part(wide, axis, 0, n), fgi_aug_part(wide, axis, 2, n + 2));
    return fg_add(outer, x);
}

/* Which pixels are the first or the last along an axis. */
static fg_tensor is_outermost(fg_tensor x, int axis)
{
    int64_t dim[4] = {1, 1, 1, 1};
    const int64_t n = fg_tensor_dim(x, axis);
    dim[axis] = n;
    const fg_tensor at = fg_iota(fg_tensor_trace(x), FG_S32, axis, 4, dim);
    return fg_or(fg_eq(at, fgi_full_like(at, 0)), fg_eq(at, fgi_full_like(at, (double)(n - 1))));
}

fg_tensor fgi_aug_smooth(fg_tensor x)
{
    const fg_tensor nine = sum_of_three(sum_of_three(x, 1), 2);
    const fg_tensor mean = fg_mul_scalar(fg_add(nine, fg_mul_scalar(x, 4)), 1.0 / 13);
    return fg_where(fg_or(is_outermost(x, 1), is_outermost(x, 2)), x, mean);
}
