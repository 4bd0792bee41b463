/* color.h - color maps of images T[B,H,W,3] with values from 0 to 1, each with a factor T[B,1,1,1]
 * for every image. Source: torchvision, functional.adjust_*.
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

#endif
