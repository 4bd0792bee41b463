/* gaussian_blur.c - images blurred at random: along each axis, a weighted sum of moved images.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "aug/aug_draw.h"
#include "aug/augmentations.h"

enum { MOST = 63 };

/* x filtered along an axis with weights T[B,1,1,1] for each of `size` neighbors. */
static fg_tensor filtered(fg_tensor x, int axis, int64_t size, const fg_tensor *weight)
{
    const int64_t n = fg_tensor_dim(x, axis);
    const fg_tensor wide = fgi_aug_continued(x, axis, size / 2, true);
    fg_tensor sum = fg_mul(fgi_aug_part(wide, axis, 0, n), weight[0]);
    for (int64_t i = 1; i < size; i++)
        sum = fg_add(sum, fg_mul(fgi_aug_part(wide, axis, i, n + i), weight[i]));
    return sum;
}

static bool is_valid(fg_tensor x, const fg_aug_gaussian_blur_options *o)
{
    const int64_t height = fg_tensor_dim(x, 1), width = fg_tensor_dim(x, 2);
    const int64_t side = height < width ? height : width;
    if (!fgi_aug_check(x, "gaussian_blur", "sigma_min", o->sigma_min, o->sigma_max))
        return false;
    if (o->size % 2 == 1 && o->size / 2 < side)
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(x), FG_EINVAL,
                         "gaussian_blur: size is %" PRId64
                         ": expected an odd number, at most %d and less than %" PRId64,
                         o->size, MOST, 2 * side);
    return false;
}

static fg_tensor apply(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_gaussian_blur_options *o = own;
    fg_tensor weight[MOST] = {{0}};
    if (!is_valid(x, o))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL || o->size == 1)
        return x;
    const fg_tensor sigma = fgi_aug_between(fg_random_sample_uniform(key, "gaussian_blur", 1),
                                            o->sigma_min, o->sigma_max);
    const int64_t half = o->size / 2;
    const fg_type taps = {.dtype = FG_F32, .rank = 2, .dim = {1, o->size}};
    const fg_tensor place =
        fg_add_scalar(fg_iota(fg_tensor_trace(x), FG_F32, 1, 2, taps.dim), (double)-half);
    const fg_tensor bell = fg_exp(fg_mul_scalar(fg_square(fg_div(place, sigma)), -0.5));
    const fg_tensor sum = fg_reshape(fg_sum(bell, 1, (const int[]){1}), FG_DIMS(-1, 1));
    const fg_tensor normal = fg_div(bell, sum);
    for (int64_t i = 0; i < o->size; i++)
        weight[i] = fgi_aug_per_image(fgi_aug_columns(normal, i, 1), x);
    return filtered(filtered(x, 1, o->size, weight), 2, o->size, weight);
}

static const fg_option gaussian_blur_options[] = {
    FG_OPTION(fg_aug_gaussian_blur_options, size, INT, "3", "1..63", "5",
              "Height and width of the Gaussian in pixels, an odd number."),
    FG_OPTION(fg_aug_gaussian_blur_options, sigma_min, FLOAT, "0.1", "1e-3..1000", "0.25",
              "Smallest standard deviation in pixels."),
    FG_OPTION(fg_aug_gaussian_blur_options, sigma_max, FLOAT, "2", "1e-3..1000", "0.25",
              "Largest standard deviation in pixels."),
};

FGI_AUG_ROW(gaussian_blur, "GaussianBlur", "blur at random", .apply = apply)
