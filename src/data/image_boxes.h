/* image_boxes.h - which part of an image becomes a sample.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_IMAGE_BOXES_H
#define FGI_DATA_IMAGE_BOXES_H

#include <fulgurite/image.h>
#include "base/rng.h"

/* Limits of random boxes: area as a fraction of the image's, width / height. */
typedef struct fgi_box_limits {
    double scale_min, scale_max, ratio_min, ratio_max;
} fgi_box_limits;

/* The box in the middle of width x height pixels whose width / height is `ratio`: the largest one,
 * times `fraction`. */
fg_image_box fgi_center_box(int64_t width, int64_t height, double ratio, double fraction);

/* A random box of whole pixels, as torchvision's RandomResizedCrop.get_params draws it: the first
 * of ten boxes that fits, else the largest one in the middle whose ratio is within the limits. Uses
 * the counters 0 to 21 of the key. */
fg_image_box fgi_random_box(fgi_key key, int64_t width, int64_t height,
                            const fgi_box_limits *limits);

/* A random box of out_width x out_height pixels, at whole pixels. If the image is smaller than that
 * in one direction, the size is reduced to the largest box of the same aspect ratio that fits. Uses
 * the counters 20 and 21 of the key. */
fg_image_box fgi_window_box(fgi_key key, int64_t width, int64_t height, int64_t out_width,
                            int64_t out_height);

#endif
