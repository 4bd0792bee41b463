/* aug_draw.c - random numbers and boxes for each sample of a batch.
 *
 * Everything is computed from fg_random_sample_uniform, in f32 and in a fixed order, so that a host
 * computes the same numbers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/aug_draw.h"

#include <inttypes.h>
#include <math.h>

bool fgi_aug_check(fg_tensor image, const char *name, const char *option, double value, double most)
{
    if (value <= most)
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(image), FG_EINVAL, "%s: %s is %g: expected at most %g",
                         name, option, value, most);
    return false;
}

bool fgi_aug_check_channels(fg_tensor image, const char *name)
{
    const int64_t channels = fg_tensor_dim(image, 3);
    if (channels == 1 || channels == 3)
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(image), FG_ESHAPE,
                         "%s: the images have %" PRId64 " channels: expected 1 or 3", name,
                         channels);
    return false;
}

/* ---- numbers --------------------------------------------------------------------------------- */

fg_tensor fgi_aug_columns(fg_tensor numbers, int64_t first, int64_t count)
{
    const int64_t start[2] = {0, first}, limit[2] = {fg_tensor_dim(numbers, 0), first + count};
    return fg_slice(numbers, start, limit, NULL);
}

fg_tensor fgi_aug_between(fg_tensor u, double low, double high)
{
    return fg_add_scalar(fg_mul_scalar(u, high - low), low);
}

fg_tensor fgi_aug_below(fg_tensor u, fg_tensor n)
{
    return fg_minimum(fg_floor(fg_mul(u, n)), fg_add_scalar(n, -1));
}

fg_tensor fgi_aug_happens(fg_tensor u, double p)
{
    return fg_reshape(fg_lt(u, fgi_full_like(u, p)), FG_DIMS(-1, 1, 1, 1));
}

fg_tensor fgi_aug_per_image(fg_tensor numbers, fg_tensor image)
{
    return fg_cast(fg_reshape(numbers, FG_DIMS(-1, 1, 1, 1)), fg_tensor_type(image)->dtype);
}

fg_tensor fgi_aug_within(fg_tensor first, fg_tensor size, int axis, int64_t extent)
{
    int64_t dim[4] = {1, 1, 1, 1};
    dim[axis] = extent;
    const fg_tensor at = fg_iota(fg_tensor_trace(first), FG_F32, axis, 4, dim);
    const fg_tensor low = fg_reshape(first, FG_DIMS(-1, 1, 1, 1));
    const fg_tensor high = fg_reshape(fg_add(first, size), FG_DIMS(-1, 1, 1, 1));
    return fg_and(fg_ge(at, low), fg_lt(at, high));
}

/* ---- boxes ----------------------------------------------------------------------------------- */

bool fgi_aug_check_boxes(fg_tensor image, const char *name, const fgi_aug_boxes *boxes)
{
    return fgi_aug_check(image, name, "scale_min", boxes->scale_min, boxes->scale_max) &&
           fgi_aug_check(image, name, "ratio_min", boxes->ratio_min, boxes->ratio_max);
}

/* Rounded to the nearest integer, halves up. */
static fg_tensor rounded(fg_tensor a) { return fg_floor(fg_add_scalar(a, 0.5)); }

fg_tensor fgi_aug_draw_box(fg_tensor u, const fgi_aug_boxes *boxes, int64_t height, int64_t width,
                           fg_tensor *out_found)
{
    const double area = (double)height * (double)width;
    const fg_tensor scale = fgi_aug_between(fgi_aug_columns(u, 0, FGI_AUG_TRIES),
                                            boxes->scale_min * area, boxes->scale_max * area);
    const fg_tensor ratio = fg_exp(fgi_aug_between(fgi_aug_columns(u, FGI_AUG_TRIES, FGI_AUG_TRIES),
                                                   log(boxes->ratio_min), log(boxes->ratio_max)));
    const fg_tensor w = rounded(fg_sqrt(fg_mul(scale, ratio)));
    const fg_tensor h = rounded(fg_sqrt(fg_div(scale, ratio)));
    const double less = boxes->is_smaller ? 1 : 0;
    const fg_tensor one = fgi_full_like(w, 1);
    const fg_tensor is_wide =
        fg_and(fg_ge(w, one), fg_le(w, fgi_full_like(w, (double)width - less)));
    const fg_tensor is_high =
        fg_and(fg_ge(h, one), fg_le(h, fgi_full_like(h, (double)height - less)));
    const fg_tensor fits = fg_cast(fg_and(is_wide, is_high), FG_F32);
    const fg_tensor first = fg_reshape(fg_argmax(fits), FG_DIMS(-1, 1));
    *out_found =
        fg_gt(fg_gather(fits, first, 1, 1), fg_zeros(fg_tensor_trace(u), FG_F32, FG_SCALAR));
    const fg_tensor box_h = fg_gather(h, first, 1, 1), box_w = fg_gather(w, first, 1, 1);
    const fg_tensor rows = fg_add_scalar(fg_neg(box_h), (double)height + 1);
    const fg_tensor columns = fg_add_scalar(fg_neg(box_w), (double)width + 1);
    const fg_tensor top = fgi_aug_below(fgi_aug_columns(u, 2 * FGI_AUG_TRIES, 1), rows);
    const fg_tensor left = fgi_aug_below(fgi_aug_columns(u, 2 * FGI_AUG_TRIES + 1, 1), columns);
    return fg_concat((const fg_tensor[]){top, left, box_h, box_w}, 4, 1);
}
