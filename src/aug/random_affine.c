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

static fg_tensor apply(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_random_affine_options *o = own;
    if (!fgi_aug_check(x, "random_affine", "scale_min", o->scale_min, o->scale_max))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL)
        return x;
    const fg_tensor u = fg_random_sample_uniform(key, "random_affine", NUMBERS);
    const fg_tensor map = maps(u, o, fg_tensor_dim(x, 1), fg_tensor_dim(x, 2));
    return fg_affine_sample(x, map, &(fg_affine_options){.fill = o->fill, .nearest = o->nearest});
}

static const fg_option random_affine_options[] = {
    FG_OPTION(fg_aug_random_affine_options, degrees, FLOAT, "0", "0..180", "0.25",
              "Rotate by -degrees to degrees."),
    FG_OPTION(fg_aug_random_affine_options, translate, FLOAT, "0", "0..1", "0.25",
              "Largest translation, as a fraction of width and height."),
    FG_OPTION(fg_aug_random_affine_options, scale_min, FLOAT, "1", "1e-3..1000", "0.25",
              "Smallest factor."),
    FG_OPTION(fg_aug_random_affine_options, scale_max, FLOAT, "1", "1e-3..1000", "0.25",
              "Largest factor."),
    FG_OPTION(fg_aug_random_affine_options, shear, FLOAT, "0", "0..89", "0.25",
              "Shear along x by -shear to shear degrees."),
    FG_OPTION(fg_aug_random_affine_options, fill, FLOAT, "0", NULL, "0.5",
              "The value of pixels outside the image, in the range of the scaled images."),
    FG_OPTION(fg_aug_random_affine_options, nearest, BOOL, "false", NULL, "true",
              "Use the nearest pixel instead of interpolating."),
};

FGI_AUG_ROW(random_affine, "RandomAffine|RandomRotation",
            "rotate, translate, scale and shear at random", .apply = apply,
            .needs = "degrees|translate|scale_min|scale_max|shear")
