/* levels.c - maps of pixel values: posterize, autocontrast, equalize, smooth.
 *
 * Source: torchvision, functional.posterize, autocontrast, equalize and adjust_sharpness, of u8
 * images, whose levels are the multiples of 1/255.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/levels.h"

#include "aug/aug_size.h"
#include "op/op.h"

enum { LEVELS = 256 };

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
