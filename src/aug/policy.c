/* policy.c - one of 14 operations for each image: random operations of one magnitude (RandAugment),
 * and one random operation of a random magnitude (TrivialAugment).
 *
 * A batch has no room for branches: every map below is computed for all images, with numbers that
 * leave those unchanged whose operation is another one. The operations share maps. Five are one
 * affine map, four are one mixture with another image; the rest are maps of levels.
 *
 * Source: torchvision, transforms.autoaugment.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/policy.h"

#include <math.h>

#include "aug/aug_draw.h"
#include "aug/augmentations.h"
#include "aug/color.h"

#define PI 3.14159265358979323846

enum { BINS_MAX = 256, NONE = 1000 };

fgi_aug_space fgi_aug_rand_space(fg_tensor x, int64_t bins)
{
    return (fgi_aug_space){.shear = 0.3,
                           .translate_x = 150.0 / 331 * (double)fg_tensor_dim(x, 2),
                           .translate_y = 150.0 / 331 * (double)fg_tensor_dim(x, 1),
                           .rotate = 30,
                           .color = 0.9,
                           .posterize = 4,
                           .bins = bins};
}

fgi_aug_space fgi_aug_trivial_space(int64_t bins)
{
    return (fgi_aug_space){.shear = 0.99,
                           .translate_x = 32,
                           .translate_y = 32,
                           .rotate = 135,
                           .color = 0.99,
                           .posterize = 6,
                           .bins = bins};
}

/* ---- magnitudes ------------------------------------------------------------------------------ */

/* The magnitude of an operation: at the fraction `part` of its range. */
static double magnitude(const fgi_aug_space *s, int operation, double part)
{
    static const double rounding = 1e-9; /* so that 16 is not truncated to 15 */
    switch (operation) {
    case FGI_AUG_SHEAR_X:
    case FGI_AUG_SHEAR_Y: return s->shear * part;
    case FGI_AUG_TRANSLATE_X: return floor(s->translate_x * part + rounding);
    case FGI_AUG_TRANSLATE_Y: return floor(s->translate_y * part + rounding);
    case FGI_AUG_ROTATE: return s->rotate * PI / 180 * part;
    case FGI_AUG_POSTERIZE: return ldexp(1, (int)rint(s->posterize * part));
    case FGI_AUG_SOLARIZE: return 255 * (1 - part);
    default: return s->color * part;
    }
}

/* The magnitude of each image's operation: f32[B,1]. */
static fg_tensor chosen_magnitude(const fgi_aug_space *s, fg_tensor choice, fg_tensor bin)
{
    float table[FGI_AUG_OPERATIONS * BINS_MAX];
    const int64_t bins = s->bins;
    for (int k = 0; k < FGI_AUG_OPERATIONS; k++)
        for (int64_t i = 0; i < bins; i++)
            table[k * bins + i] = (float)magnitude(s, k, (double)i / (double)(bins - 1));
    const fg_type type = {.dtype = FG_F32, .rank = 1, .dim = {FGI_AUG_OPERATIONS * bins}};
    const fg_tensor all = fg_constant(fg_tensor_trace(choice), &type, table);
    const fg_tensor index = fg_add(fg_mul_scalar(choice, (double)bins), bin);
    return fg_gather(all, fg_cast(index, FG_S32), 0, 0);
}

/* What each image does. */
typedef struct draw {
    fg_tensor choice, amount; /* f32[B,1] */
    fg_tensor x;              /* of which results have the dtype */
} draw;

static fg_tensor is_choice(const draw *d, int operation)
{
    return fg_eq(d->choice, fgi_full_like(d->choice, operation));
}

/* The magnitude where the operation is this one, else `otherwise`: f32[B,1]. */
static fg_tensor amount_of(const draw *d, int operation, double otherwise)
{
    return fg_where(is_choice(d, operation), d->amount, fgi_full_like(d->amount, otherwise));
}

/* The same as bool [B,1,1,1]. */
static fg_tensor selects(const draw *d, int operation)
{
    return fg_reshape(is_choice(d, operation), FG_DIMS(-1, 1, 1, 1));
}

/* ---- maps ------------------------------------------------------------------------------------ */

/* Shears keep the upper left corner, rotations (counterclockwise) the center. */
static fg_tensor moved(const draw *d, const fgi_aug_space *s)
{
    const double height = (double)fg_tensor_dim(d->x, 1), width = (double)fg_tensor_dim(d->x, 2);
    const fg_tensor shear_x = amount_of(d, FGI_AUG_SHEAR_X, 0);
    const fg_tensor shear_y = amount_of(d, FGI_AUG_SHEAR_Y, 0);
    const fg_tensor angle = amount_of(d, FGI_AUG_ROTATE, 0);
    const fg_tensor cosine = fg_cos(angle), sine = fg_sin(angle);
    const fg_tensor to_x =
        fg_sub(fg_mul_scalar(shear_x, height / 2), amount_of(d, FGI_AUG_TRANSLATE_X, 0));
    const fg_tensor to_y =
        fg_sub(fg_mul_scalar(shear_y, width / 2), amount_of(d, FGI_AUG_TRANSLATE_Y, 0));
    const fg_tensor six[] = {cosine, fg_sub(shear_x, sine), to_x, fg_add(shear_y, sine), cosine,
                             to_y};
    const fg_tensor map = fg_reshape(fg_concat(six, 6, 1), FG_DIMS(-1, 2, 3));
    return fg_affine_sample(d->x, map,
                            &(fg_affine_options){.fill = s->fill, .nearest = !s->is_linear});
}

/* Mixed with black, its gray image, its mean gray, or smoothed. */
static fg_tensor mixed(const draw *d)
{
    const fg_tensor x = d->x, gray = fgi_aug_gray(x);
    const fg_tensor mean =
        fg_reshape(fg_mean(gray, 3, (const int[]){1, 2, 3}), FG_DIMS(-1, 1, 1, 1));
    fg_tensor other =
        fg_where(selects(d, FGI_AUG_SHARPNESS), fgi_aug_smooth(x), fgi_full_like(x, 0));
    other = fg_where(selects(d, FGI_AUG_SATURATION), gray, other);
    other = fg_where(selects(d, FGI_AUG_CONTRAST), mean, other);
    fg_tensor change = amount_of(d, FGI_AUG_BRIGHTNESS, 0);
    for (int k = FGI_AUG_SATURATION; k <= FGI_AUG_SHARPNESS; k++)
        change = fg_add(change, amount_of(d, k, 0));
    return fgi_aug_blend(x, other, fgi_aug_per_image(fg_add_scalar(change, 1), x));
}

static fg_tensor leveled(const draw *d)
{
    const fg_tensor x = d->x, bytes = fgi_aug_bytes(x);
    const fg_tensor unit = fgi_aug_per_image(amount_of(d, FGI_AUG_POSTERIZE, 1), x);
    const fg_tensor threshold = fgi_aug_per_image(amount_of(d, FGI_AUG_SOLARIZE, NONE), bytes);
    fg_tensor out = fg_where(fg_ge(bytes, threshold), fgi_aug_invert(x), x);
    out = fg_where(selects(d, FGI_AUG_POSTERIZE), fgi_aug_posterize(x, bytes, unit), out);
    out = fg_where(selects(d, FGI_AUG_AUTOCONTRAST), fgi_aug_autocontrast(x), out);
    return fg_where(selects(d, FGI_AUG_EQUALIZE), fgi_aug_equalize(x, bytes), out);
}

fg_tensor fgi_aug_policy(fg_tensor x, const fgi_aug_space *space, fg_tensor choice, fg_tensor bin,
                         fg_tensor is_negative)
{
    draw d = {.choice = choice, .amount = chosen_magnitude(space, choice, bin), .x = x};
    const fg_tensor has_sign =
        fg_lt(choice, fgi_full_like(choice, FGI_AUG_POSTERIZE)); /* those before it */
    d.amount = fg_where(fg_and(has_sign, is_negative), fg_neg(d.amount), d.amount);
    d.x = moved(&d, space);
    d.x = mixed(&d);
    return leveled(&d);
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* Uniform numbers as one of the operations. */
static fg_tensor operation_of(fg_tensor u)
{
    return fgi_aug_below(u, fgi_full_like(u, FGI_AUG_OPERATIONS));
}

static fg_tensor is_below_half(fg_tensor u) { return fg_lt(u, fgi_full_like(u, 0.5)); }

/* ---- the row of rand_augment ----------------------------------------------------------------- */

static fg_tensor apply_rand_augment(fg_tensor x, const fg_sample_key *key, const void *own)
{
    static const char name[] = "rand_augment";
    const fg_aug_rand_augment_options *o = own;
    if (!fgi_aug_check_channels(x, name) ||
        !fgi_aug_check(x, name, "magnitude", (double)o->magnitude, (double)(o->bins - 1)))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL)
        return x;
    fgi_aug_space space = fgi_aug_rand_space(x, o->bins);
    space.fill = o->fill;
    space.is_linear = o->bilinear;
    const fg_tensor u = fg_random_sample_uniform(key, name, 2 * o->operations);
    for (int64_t i = 0; i < o->operations; i++) {
        const fg_tensor choice = operation_of(fgi_aug_columns(u, 2 * i, 1));
        const fg_tensor is_negative = is_below_half(fgi_aug_columns(u, 2 * i + 1, 1));
        x = fgi_aug_policy(x, &space, choice, fgi_full_like(choice, (double)o->magnitude),
                           is_negative);
    }
    return x;
}

#define SPACE_OPTIONS(type)                                                                        \
    FG_OPTION(type, bins, INT, "31", "2..256", "11", "Number of magnitudes."),                     \
        FG_OPTION(type, fill, FLOAT, "0", NULL, "0.5",                                             \
                  "The value of pixels outside the image, in the range of the scaled images."),    \
        FG_OPTION(type, bilinear, BOOL, "false", NULL, "true",                                     \
                  "Interpolate linearly instead of selecting the nearest pixel.")

static const fg_option rand_augment_options[] = {
    FG_OPTION(fg_aug_rand_augment_options, operations, INT, "2", "1..16", "1",
              "Number of operations that are applied one after another."),
    FG_OPTION(fg_aug_rand_augment_options, magnitude, INT, "9", "0..255", "5",
              "Magnitude of the operations, from 0 to bins - 1."),
    SPACE_OPTIONS(fg_aug_rand_augment_options),
};

FGI_AUG_ROW(rand_augment, "RandAugment|randaugment",
            "apply random operations of the same magnitude (RandAugment)",
            .apply = apply_rand_augment)

/* ---- the row of trivial_augment -------------------------------------------------------------- */

static fg_tensor apply_trivial_augment(fg_tensor x, const fg_sample_key *key, const void *own)
{
    static const char name[] = "trivial_augment";
    const fg_aug_trivial_augment_options *o = own;
    if (!fgi_aug_check_channels(x, name))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL)
        return x;
    fgi_aug_space space = fgi_aug_trivial_space(o->bins);
    space.fill = o->fill;
    space.is_linear = o->bilinear;
    const fg_tensor u = fg_random_sample_uniform(key, name, 3);
    const fg_tensor bin = fgi_aug_columns(u, 1, 1);
    return fgi_aug_policy(x, &space, operation_of(fgi_aug_columns(u, 0, 1)),
                          fgi_aug_below(bin, fgi_full_like(bin, (double)o->bins)),
                          is_below_half(fgi_aug_columns(u, 2, 1)));
}

static const fg_option trivial_augment_options[] = {
    SPACE_OPTIONS(fg_aug_trivial_augment_options),
};

FGI_AUG_ROW(trivial_augment, "TrivialAugmentWide|trivialaugment",
            "apply one random operation of a random magnitude (TrivialAugment)",
            .apply = apply_trivial_augment)
