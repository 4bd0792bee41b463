/* pixels.h - converts rows of pixels of all kinds that files contain to gray or RGB.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_PIXELS_H
#define FGI_IMAGE_PIXELS_H

#include "image/codec.h"

/* What a row consists of; one byte per channel. */
typedef enum fgi_pixel_kind {
    FGI_GRAY,
    FGI_GRAY_ALPHA,
    FGI_RGB,
    FGI_RGBA,
    FGI_RGBA_PREMULTIPLIED,
    FGI_CMYK_INVERTED /* 255 is no ink */
} fgi_pixel_kind;

/* Writes row y of the file, which begins at column 0 of the file, to the request's image. A row
 * outside the requested area is ignored. */
void fgi_put_row(const fgi_image_request *request, int64_t y, fgi_pixel_kind kind,
                 const uint8_t *row);

#endif
