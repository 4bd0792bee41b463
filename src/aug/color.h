/* color.h - maps of pixel values of images with values from 0 to 1: color maps of T[B,H,W,3], each
 * with a factor T[B,1,1,1] for every image, and maps of levels of T[B,H,W,C]. Source: torchvision,
 * functional.adjust_*, posterize, solarize, autocontrast, equalize.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_AUG_COLOR_H
#define FGI_AUG_COLOR_H

#include <fulgurite/ops.h>

/* 0.2989 R + 0.587 G + 0.114 B: T[B,H,W,1]. An image with one channel: itself. */
fg_tensor fgi_aug_gray(fg_tensor x);
/* factor x + (1 - factor) other, cut to 0 to 1. */
fg_tensor fgi_aug_blend(fg_tensor x, fg_tensor other, fg_tensor factor);
fg_tensor fgi_aug_brightness(fg_tensor x, fg_tensor factor);
fg_tensor fgi_aug_contrast(fg_tensor x, fg_tensor factor);
fg_tensor fgi_aug_saturation(fg_tensor x, fg_tensor factor);
/* shift: a fraction of the color circle. */
fg_tensor fgi_aug_hue(fg_tensor x, fg_tensor shift);

/* The nearest of 256 levels, as numbers from 0 to 255: f32, or f64 for f64. */
fg_tensor fgi_aug_bytes(fg_tensor x);
/* bytes rounded down to multiples of `unit`, a power of 2 for each image, [B,1,1,1]: in x's dtype
 * from 0 to 1. */
fg_tensor fgi_aug_posterize(fg_tensor x, fg_tensor bytes, fg_tensor unit);
/* 1 - x. */
fg_tensor fgi_aug_invert(fg_tensor x);
/* Each channel of each image scaled such that its values range from 0 to 1; a channel with a single
 * value is unchanged. */
fg_tensor fgi_aug_autocontrast(fg_tensor x);
/* Each channel of each image mapped such that the levels are about equally frequent. */
fg_tensor fgi_aug_equalize(fg_tensor x, fg_tensor bytes);
/* The mean of 3 x 3 pixels, of which the middle one has weight 5; outermost pixels are unchanged.
 */
fg_tensor fgi_aug_smooth(fg_tensor x);

#endif
