/* resize.h - resizing with separate bounds for the pixels that are read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_RESIZE_H
#define FGI_IMAGE_RESIZE_H

#include <fulgurite/image.h>

typedef struct fgi_resize {
    fg_image_box box;      /* part of the source that becomes the result */
    fg_image_box within;   /* pixels outside of it are not read; contains box */
    int64_t width, height; /* of the result */
    bool flip;
    uint8_t *out; /* u8[height, width, channels of the source] */
} fgi_resize;

fg_status fgi_image_resize(fg_image_decoder *decoder, const fg_image *image,
                           const fgi_resize *resize, fg_error *err);

#endif
