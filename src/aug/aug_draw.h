/* aug_draw.h - what augmentations share: random numbers for each sample, boxes, limits, sizes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_AUG_AUG_DRAW_H
#define FGI_AUG_AUG_DRAW_H

#include <fulgurite/aug.h>

#include "op/op.h"

/* Keeps an error in the image's trace unless value <= most, another option. */
bool fgi_aug_check(fg_tensor image, const char *name, const char *option, double value,
                   double most);

/* Keeps an error unless the images have 1 or 3 channels. */
bool fgi_aug_check_channels(fg_tensor image, const char *name);

/* Columns `first` to first + count - 1 of f32[B,n]. */
fg_tensor fgi_aug_columns(fg_tensor numbers, int64_t first, int64_t count);
/* Uniform numbers u moved to [low, high). */
fg_tensor fgi_aug_between(fg_tensor u, double low, double high);
/* Uniform numbers u as integers from 0 to n - 1, n >= 1 of the same shape: floor(u n). */
fg_tensor fgi_aug_below(fg_tensor u, fg_tensor n);
/* bool[B,1,1,1]: true with probability p, by f32[B,1]. */
fg_tensor fgi_aug_happens(fg_tensor u, double p);
/* Numbers f32[B,1] for each image: [B,1,1,1] of the image's dtype. */
fg_tensor fgi_aug_per_image(fg_tensor numbers, fg_tensor image);

/* Which indices along an axis are in a box from `first` of `size`, both f32[B,1]: bool with that
 * axis of [B,H,W,1]. */
fg_tensor fgi_aug_within(fg_tensor first, fg_tensor size, int axis, int64_t extent);

/* How boxes are drawn. */
typedef struct fgi_aug_boxes {
    double scale_min, scale_max; /* fraction of the area */
    double ratio_min, ratio_max;
    bool is_smaller; /* than the image in both directions */
} fgi_aug_boxes;
#define FGI_AUG_BOX_OPTIONS(type, scale_min_, scale_max_, ratio_min_, ratio_max_, ratio_)          \
    FG_OPTION(type, scale_min, FLOAT, scale_min_, "0..1", "0.25",                                  \
              "Smallest fraction of the image's area."),                                           \
        FG_OPTION(type, scale_max, FLOAT, scale_max_, "0..1", "0.25",                              \
                  "Largest fraction of the image's area."),                                        \
        FG_OPTION(type, ratio_min, FLOAT, ratio_min_, "1e-3..1000", "0.25",                        \
                  "Smallest ratio of " ratio_ "."),                                                \
        FG_OPTION(type, ratio_max, FLOAT, ratio_max_, "1e-3..1000", "0.25",                        \
                  "Largest ratio of " ratio_ ".")
enum { FGI_AUG_TRIES = 10, FGI_AUG_BOX_NUMBERS = 2 * FGI_AUG_TRIES + 2 };
/* Keeps an error unless the limits are valid. */
bool fgi_aug_check_boxes(fg_tensor image, const char *name, const fgi_aug_boxes *boxes);
/* The first box that fits in height x width, from FGI_AUG_BOX_NUMBERS uniform numbers a sample:
 * f32[B,4], top, left, height and width, where ratio is that of width to height. *out_found bool
 * [B,1]: whether there is one; if not, the box has no meaning. */
fg_tensor fgi_aug_draw_box(fg_tensor u, const fgi_aug_boxes *boxes, int64_t height, int64_t width,
                           fg_tensor *out_found);

/* ---- the same for every image (aug_size.c) --------------------------------------------------- */

/* In pixels. */
typedef struct fgi_aug_box {
    int64_t top, left, height, width;
} fgi_aug_box;

/* Replaces sizes that are FG_AUTO by those of the image; false after an error for images without
 * pixels. */
bool fgi_aug_size(fg_tensor image, const char *name, int64_t *height, int64_t *width);
/* fg_crop_resize with the same box for every image. */
fg_tensor fgi_aug_box_of_all(fg_tensor image, fgi_aug_box box, int64_t height, int64_t width,
                             bool no_antialias);
/* The height x width pixels in the middle. */
fg_tensor fgi_aug_middle(fg_tensor image, int64_t height, int64_t width);
/* Elements first to limit - 1 along an axis. */
fg_tensor fgi_aug_part(fg_tensor x, int axis, int64_t first, int64_t limit);
/* x with `by` more elements at both ends of an axis: the mirrored ones, or the outermost one
 * repeated. */
fg_tensor fgi_aug_continued(fg_tensor x, int axis, int64_t by, bool mirrors);

#endif
