/* resize.h - resizing with separate bounds for the pixels that are read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_RESIZE_H
#define FGI_IMAGE_RESIZE_H

#include <fulgurite/image.h>

typedef struct fgi_resize {
    fg_image_box box;      /* part of the source that becomes the result */
    fg_image_box within;   /* pixels outside it are not read; contains box */
    int64_t width, height; /* of the result */
    bool flip;
    uint8_t *out; /* u8[height, width, channels of the source] */
} fgi_resize;

/* The high half of a product of 16-bit numbers drops a fraction, on average half of the last bit.
 * This is the sum of these halves for `count` products. Limited so that sums of 255s do not
 * overflow: 255 * 256, twice this limit and 128 for rounding are below 65536. */
static inline uint16_t fgi_resize_dropped(int32_t count)
{
    return (uint16_t)(count / 2 < 63 ? count / 2 : 63);
}

fg_status fgi_image_resize(fg_image_decoder *decoder, const fg_image *image,
                           const fgi_resize *resize, fg_error *err);

#endif
