/* planes.h - from planes of samples to images.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DECODE_PLANES_H
#define FGI_DECODE_PLANES_H

#include <fulgurite/ops.h>

/* A plane f32[B,h,w] of integers, each sample of which covers `columns` x `rows` pixels, 1 or 2:
 * upsampled to f32[B,height,width] and rounded as by libjpeg. */
fg_tensor fgi_decode_upsample(fg_tensor plane, int columns, int rows, int64_t height,
                              int64_t width);

/* Integers Y from 0 to 255, Cb and Cr from -128 to 127, f32[B,H,W] each, as RGB u8[B,H,W,3]. */
fg_tensor fgi_decode_rgb(fg_tensor y, fg_tensor cb, fg_tensor cr);

/* The same for images without color: u8[B,H,W,channels] with equal channels. */
fg_tensor fgi_decode_gray(fg_tensor y, int channels);

/* Rounded to integers and clamped to low..low + 255. */
fg_tensor fgi_decode_round(fg_tensor x, double low);

#endif
