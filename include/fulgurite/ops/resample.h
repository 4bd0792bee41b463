/* resample.h - crops, resizing and affine transformations, with separate numbers for each image.
 *
 * The rules for all operations are in ops.h. Images are T[B,H,W,C]; pixel (i, j) covers the square
 * from (i, j) to (i + 1, j + 1), so that its center is at (i + 0.5, j + 0.5).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_RESAMPLE_H
#define FULGURITE_OPS_RESAMPLE_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fg_resize_mode {
    FG_RESIZE_NEAREST = 0, /* pixel floor(i * from / to) */
    FG_RESIZE_LINEAR /* between the nearest pixels along each dimension; not low-pass filtered */
} fg_resize_mode;
/* Resizes images in one to three dimensions.
 *
 *   x        T[N, L, C], T[N, H, W, C] or T[N, D, H, W, C]
 *   size     a number for each of L; H, W; D, H, W, from 1 to 32767
 *   returns  T[N, size..., C]
 *
 * Computed in f32 for 16-bit floats. Source: PyTorch, interpolate with mode nearest; with mode
 * linear, bilinear or trilinear and align_corners = False. */
FG_API fg_tensor fg_resize(fg_tensor x, const int64_t *size, fg_resize_mode mode);

/* Cuts a box out of each image and resizes it to height x width pixels in one interpolation, which
 * is linear along each axis; a result that is smaller than its box is low-pass filtered.
 *
 *   x        T[B,H,W,C]
 *   box      f32[B,4] (any floating dtype)  top, left, height, width in pixels of x: integers,
 *                                           inside the image, height and width at least 1
 *   returns  T[B,height,width,C]
 *
 * Pixels outside the box have no influence. A box without the center of a pixel gives NaN. Computed
 * by two matmuls, in the precision of those. Gradient: to x. Source: torchvision,
 * functional.resized_crop with bilinear interpolation. */
typedef struct fg_crop_resize_options {
    bool no_antialias; /* interpolate between adjacent pixels also in smaller results [false] */
    uint64_t reserved[2];
} fg_crop_resize_options;
FG_API fg_tensor fg_crop_resize(fg_tensor x, fg_tensor box, int64_t height, int64_t width,
                                const fg_crop_resize_options *options);

/* Transforms each image by an affine map.
 *
 *   x        T[B,H,W,C]
 *   matrix   f32[B,2,3] (any floating dtype)  from positions in the result to positions in x, both
 *                                             (x, y) in pixels from the image's center
 *   returns  T[B,height,width,C]
 *
 * Linear interpolation of the four nearest pixels, of which those outside x have the value `fill`.
 * Gradient: to x. Source: torchvision, functional.affine (with fill other than 0, torchvision
 * weights the border twice). */
typedef struct fg_affine_options {
    int64_t height, width; /* of the result, in pixels                   [those of x] */
    double fill;           /* value of pixels outside x                  [0]          */
    bool nearest;          /* the nearest pixel, without interpolation   [false]      */
    uint64_t reserved[2];
} fg_affine_options;
FG_API fg_tensor fg_affine_sample(fg_tensor x, fg_tensor matrix, const fg_affine_options *options);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_resize(...)        FG_HERE(fg_resize(__VA_ARGS__))
#define fg_crop_resize(...)   FG_HERE(fg_crop_resize(__VA_ARGS__))
#define fg_affine_sample(...) FG_HERE(fg_affine_sample(__VA_ARGS__))
#endif
#endif
