/* policy.h - one of 14 operations for each image, of which all are computed by a few common maps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_AUG_POLICY_H
#define FGI_AUG_POLICY_H

#include <fulgurite/aug.h>

/* The operations in torchvision's order. */
enum {
    FGI_AUG_IDENTITY,
    FGI_AUG_SHEAR_X,
    FGI_AUG_SHEAR_Y,
    FGI_AUG_TRANSLATE_X,
    FGI_AUG_TRANSLATE_Y,
    FGI_AUG_ROTATE,
    FGI_AUG_BRIGHTNESS,
    FGI_AUG_SATURATION,
    FGI_AUG_CONTRAST,
    FGI_AUG_SHARPNESS,
    FGI_AUG_POSTERIZE,
    FGI_AUG_SOLARIZE,
    FGI_AUG_AUTOCONTRAST,
    FGI_AUG_EQUALIZE,
    FGI_AUG_OPERATIONS
};

/* The largest magnitudes of a policy. */
typedef struct fgi_aug_space {
    double shear;                    /* a slope */
    double translate_x, translate_y; /* pixels */
    double rotate;                   /* degrees */
    double color;                    /* change of the factors */
    double posterize;                /* bits that are dropped */
    int64_t bins;                    /* number of magnitudes, at least 2 */
    double fill;                     /* of pixels outside */
    bool is_linear;                  /* interpolates */
} fgi_aug_space;

/* Those of RandAugment and TrivialAugment, without `fill` and `is_linear`. */
fgi_aug_space fgi_aug_rand_space(fg_tensor x, int64_t bins);
fgi_aug_space fgi_aug_trivial_space(int64_t bins);
/* x after one operation for each image. choice: f32[B,1], the operation; bin: f32[B,1], which
 * magnitude, 0 to bins - 1; is_negative: bool[B,1], the sign of magnitudes that have one. */
fg_tensor fgi_aug_policy(fg_tensor x, const fgi_aug_space *space, fg_tensor choice, fg_tensor bin,
                         fg_tensor is_negative);

#endif
