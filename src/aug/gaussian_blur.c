/* gaussian_blur.c - images blurred at random: along each axis, a weighted sum of moved images.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "aug/aug_draw.h"
#include "aug/aug_size.h"
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

fg_tensor fg_aug_gaussian_blur(fg_tensor image, const fg_sample_key *key,
                               const fg_aug_gaussian_blur_options *options)
{
    static const char name[] = "gaussian_blur";
    fg_aug_gaussian_blur_options o = options != NULL ? *options : (fg_aug_gaussian_blur_options){0};
    fg_tensor weight[MOST], x;
    o.size = o.size != 0 ? o.size : 3;
    o.sigma_min = fgi_or_default(o.sigma_min, 0.1);
    o.sigma_max = fgi_or_default(o.sigma_max, 2);
    x = fgi_aug_begin(name, image, FGI_RESERVED(fg_aug_gaussian_blur_options, options));
    if (fgi_is_poison(x) || !fgi_aug_check(x, name, "sigma_min", o.sigma_min, 1e-3, o.sigma_max) ||
        !fgi_aug_check(x, name, "sigma_max", o.sigma_max, 1e-3, 1e3))
        return fgi_poison(fg_tensor_trace(image));
    const int64_t height = fg_tensor_dim(x, 1), width = fg_tensor_dim(x, 2);
    const int64_t side = height < width ? height : width, half = o.size / 2;
    if (o.size < 1 || o.size % 2 == 0 || o.size > MOST || half >= side)
        return fgi_trace_fail(fg_tensor_trace(image), FG_EINVAL,
                              "%s: size is %" PRId64
                              ": expected an odd number, at most %d and less "
                              "than %" PRId64,
                              name, o.size, MOST, 2 * side);
    if (key == NULL || o.size == 1)
        return x;
    const fg_tensor sigma =
        fgi_aug_between(fgi_aug_uniform(key, name, 1), o.sigma_min, o.sigma_max);
    const fg_type taps = {.dtype = FG_F32, .rank = 2, .dim = {1, o.size}};
    const fg_tensor place =
        fg_add_scalar(fg_iota(fg_tensor_trace(x), FG_F32, 1, 2, taps.dim), -(double)half);
    const fg_tensor bell = fg_exp(fg_mul_scalar(fg_square(fg_div(place, sigma)), -0.5));
    const fg_tensor sum = fg_reshape(fg_sum(bell, 1, (const int[]){1}), FG_DIMS(-1, 1));
    const fg_tensor normal = fg_div(bell, sum);
    for (int64_t i = 0; i < o.size; i++)
        weight[i] = fgi_aug_per_image(fgi_aug_columns(normal, i, 1), x);
    return filtered(filtered(x, 1, o.size, weight), 2, o.size, weight);
}

/* ---- the row --------------------------------------------------------------------------------- */

static fg_tensor apply_gaussian_blur(fg_tensor image, const fg_sample_key *key,
                                     const fg_option_values *values)
{
    return fg_aug_gaussian_blur(
        image, key,
        &(fg_aug_gaussian_blur_options){.size = fg_option_int(values, "size"),
                                        .sigma_min = fg_option_number(values, "sigma_min"),
                                        .sigma_max = fg_option_number(values, "sigma_max")});
}

static const fg_option gaussian_blur_options[] = {
    {.name = "size",
     .kind = FG_OPTION_INT,
     .initial = "3",
     .range = "1..63",
     .example = "5",
     .help = "Height and width of the Gaussian in pixels, an odd number."},
    FGI_AUG_NUMBER("sigma_min", "0.1", "1000", "Smallest standard deviation in pixels."),
    FGI_AUG_NUMBER("sigma_max", "2", "1000", "Largest standard deviation in pixels."),
};

const fg_augmentation_entry fgi_gaussian_blur_row = {
    .entry = {.name = "gaussian_blur",
              .help = "blur at random",
              .spellings = "GaussianBlur",
              .options = gaussian_blur_options,
              .option_count = sizeof gaussian_blur_options / sizeof gaussian_blur_options[0]},
    .apply = apply_gaussian_blur};
