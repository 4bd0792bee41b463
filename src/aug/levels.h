/* levels.h - maps of pixel values of images T[B,H,W,C] with values from 0 to 1. Source:
 * torchvision, functional.posterize, solarize, autocontrast, equalize, adjust_sharpness.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_AUG_LEVELS_H
#define FGI_AUG_LEVELS_H

#include <fulgurite/ops.h>

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
