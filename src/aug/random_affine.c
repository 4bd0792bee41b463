/* random_affine.c - images turned, moved, scaled and sheared at random.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/aug_draw.h"
#include "aug/augmentations.h"

#define PI 3.14159265358979323846

enum { ANGLE, MOVE_X, MOVE_Y, SCALE, SHEAR, NUMBERS };

/* The maps from places in the results to places in the images, f32[B,2,3]: the inverse of turning,
 * shearing, scaling and then moving. u: f32[B,NUMBERS]. */
static fg_tensor maps(fg_tensor u, const fg_aug_random_affine_options *o, int64_t height,
                      int64_t width)
{
    const double turn = o->degrees * PI / 180, lean = o->shear * PI / 180;
    const double x = o->translate * (double)width, y = o->translate * (double)height;
    const fg_tensor angle = fgi_aug_between(fgi_aug_columns(u, ANGLE, 1), -turn, turn);
    const fg_tensor move_x = fgi_aug_between(fgi_aug_columns(u, MOVE_X, 1), -x, x);
    const fg_tensor move_y = fgi_aug_between(fgi_aug_columns(u, MOVE_Y, 1), -y, y);
    const fg_tensor scale =
        fgi_aug_between(fgi_aug_columns(u, SCALE, 1), o->scale_min, o->scale_max);
    const fg_tensor shear = fgi_aug_between(fgi_aug_columns(u, SHEAR, 1), -lean, lean);
    const fg_tensor tangent = fg_div(fg_sin(shear), fg_cos(shear));
    const fg_tensor cosine = fg_cos(angle), sine = fg_sin(angle);
    const fg_tensor a = fg_div(fg_sub(cosine, fg_mul(sine, tangent)), scale);
    const fg_tensor b = fg_div(fg_add(fg_mul(cosine, tangent), sine), scale);
    const fg_tensor c = fg_neg(fg_div(sine, scale)), d = fg_div(cosine, scale);
    const fg_tensor to_x = fg_neg(fg_add(fg_mul(a, move_x), fg_mul(b, move_y)));
    const fg_tensor to_y = fg_neg(fg_add(fg_mul(c, move_x), fg_mul(d, move_y)));
    const fg_tensor six[] = {a, b, to_x, c, d, to_y};
    return fg_reshape(fg_concat(six, 6, 1), FG_DIMS(-1, 2, 3));
}

fg_tensor fg_aug_random_affine(fg_tensor image, const fg_sample_key *key,
                               const fg_aug_random_affine_options *options)
{
    static const char name[] = "random_affine";
    fg_aug_random_affine_options o = options != NULL ? *options : (fg_aug_random_affine_options){0};
    o.scale_min = fgi_or_default(o.scale_min, 1);
    o.scale_max = fgi_or_default(o.scale_max, 1);
    const fg_tensor x =
        fgi_aug_begin(name, image, FGI_RESERVED(fg_aug_random_affine_options, options));
    if (fgi_is_poison(x) || !fgi_aug_check(x, name, "degrees", o.degrees, 0, 180) ||
        !fgi_aug_check(x, name, "translate", o.translate, 0, 1) ||
        !fgi_aug_check(x, name, "scale_min", o.scale_min, 1e-3, o.scale_max) ||
        !fgi_aug_check(x, name, "scale_max", o.scale_max, 1e-3, 1e3) ||
        !fgi_aug_check(x, name, "shear", o.shear, 0, 89))
        return fgi_poison(fg_tensor_trace(image));
    if (key == NULL)
        return x;
    const fg_tensor u = fgi_aug_uniform(key, name, NUMBERS);
    const fg_tensor map = maps(u, &o, fg_tensor_dim(x, 1), fg_tensor_dim(x, 2));
    return fg_affine_sample(x, map, &(fg_affine_options){.fill = o.fill, .nearest = o.nearest});
}

/* ---- the row --------------------------------------------------------------------------------- */

static fg_tensor apply_random_affine(fg_tensor image, const fg_sample_key *key,
                                     const fg_option_values *values)
{
    return fg_aug_random_affine(
        image, key,
        &(fg_aug_random_affine_options){.degrees = fg_option_float(values, "degrees"),
                                        .translate = fg_option_float(values, "translate"),
                                        .scale_min = fg_option_number(values, "scale_min"),
                                        .scale_max = fg_option_number(values, "scale_max"),
                                        .shear = fg_option_float(values, "shear"),
                                        .fill = fg_option_float(values, "fill"),
                                        .nearest = fg_option_bool(values, "nearest")});
}

static const fg_option random_affine_options[] = {
    FGI_AUG_NUMBER("degrees", "0", "180", "Rotate by -degrees to degrees."),
    FGI_AUG_NUMBER("translate", "0", "1",
                   "Largest translation, as a fraction of width and height."),
    FGI_AUG_NUMBER("scale_min", "1", "1000", "Smallest factor."),
    FGI_AUG_NUMBER("scale_max", "1", "1000", "Largest factor."),
    FGI_AUG_NUMBER("shear", "0", "89", "Shear along x by -shear to shear degrees."),
    {.name = "fill",
     .kind = FG_OPTION_FLOAT,
     .initial = "0",
     .example = "0.5",
     .help = "The value of pixels outside the image, in the range of the scaled images."},
    {.name = "nearest",
     .kind = FG_OPTION_BOOL,
     .initial = "false",
     .example = "true",
     .help = "Use the nearest pixel instead of interpolating."},
};

const fg_augmentation_entry fgi_random_affine_row = {
    .entry = {.name = "random_affine",
              .help = "rotate, translate, scale and shear at random",
              .spellings = "RandomAffine|RandomRotation",
              .options = random_affine_options,
              .option_count = sizeof random_affine_options / sizeof random_affine_options[0]},
    .apply = apply_random_affine,
    .needs = "degrees|translate|scale_min|scale_max|shear"};
