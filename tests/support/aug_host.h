/* aug_host.h - the augmentations of aug.h in plain C, one image at a time: what tests compare with.
 * Images are f32[H,W,C] with values from 0 to 1.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_AUG_HOST_H
#define FGT_AUG_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

/* The random numbers of one sample. */
typedef struct aug_draw {
    fgi_key key; /* of the run and the epoch */
    uint32_t sample;
    int64_t repeat;
} aug_draw;

/* The key that the Trainer uses. */
fgi_key aug_host_key(uint64_t seed, int64_t epoch);
/* Number i of `count` for a purpose. */
float aug_host_uniform(const aug_draw *d, const char *purpose, int count, int i);

typedef struct aug_image {
    int h, w, c;
    float *at; /* [h * w * c] */
} aug_image;

aug_image aug_host_image(int h, int w, int c); /* zeros; free with aug_host_free */
void aug_host_free(aug_image image);

/* Each returns a new image. */
aug_image aug_host_flip(aug_image x, const aug_draw *d, float p, bool vertical);
/* mode: 'c', 'e' or 'r'. */
aug_image aug_host_crop(aug_image x, const aug_draw *d, int h, int w, int padding, char mode,
                        float fill);
/* scale and ratio: least and largest. */
aug_image aug_host_resized_crop(aug_image x, const aug_draw *d, int h, int w, const double scale[2],
                                const double ratio[2]);
/* The part of the image that is the box, resized with a low-pass filter. */
aug_image aug_host_resize(aug_image x, const int box[4], int h, int w);
/* strength: brightness, contrast, saturation, hue. */
aug_image aug_host_jitter(aug_image x, const aug_draw *d, const double strength[4]);
aug_image aug_host_gray(aug_image x, const aug_draw *d, float p);
aug_image aug_host_erase(aug_image x, const aug_draw *d, float p, const double scale[2],
                         const double ratio[2], float value);
/* numbers: degrees, translate, least and largest scale, shear. */
aug_image aug_host_affine(aug_image x, const aug_draw *d, const double numbers[5], double fill);
aug_image aug_host_blur(aug_image x, const aug_draw *d, int size, double low, double high);

/* ---- aug_host_levels.c ----------------------------------------------------------------------- */

/* Which map of pixel values, with its number. */
typedef enum aug_level {
    AUG_INVERT,
    AUG_SOLARIZE,  /* threshold, 0 to 255 */
    AUG_POSTERIZE, /* bits */
    AUG_AUTOCONTRAST,
    AUG_EQUALIZE,
    AUG_SHARPNESS, /* factor */
    AUG_BRIGHTNESS,
    AUG_SATURATION,
    AUG_CONTRAST
} aug_level;
aug_image aug_host_level(aug_image x, aug_level level, double number);
/* The same with probability p. */
aug_image aug_host_level_at(aug_image x, const aug_draw *d, const char *purpose, float p,
                            aug_level level, double number);
/* The map from places in the result to places in x, both from the center: a, b, to x, c, d, to y.
 * Nearest pixels or linear interpolation. */
aug_image aug_host_sample(aug_image x, const double map[6], double fill, bool is_linear);
aug_image aug_host_rand_augment(aug_image x, const aug_draw *d, int operations, int magnitude,
                                double fill, bool is_linear);
aug_image aug_host_trivial_augment(aug_image x, const aug_draw *d, double fill, bool is_linear);
/* x mixed with the next image by the numbers of x: all pixels (mixup), or a box (cutmix). *weight:
 * the part of the targets that is that of x. */
aug_image aug_host_mix(aug_image x, aug_image next, const aug_draw *d, bool is_box, double alpha,
                       double p, double *weight);

#endif
