/* ycc.h - raw YCbCr 4:2:0 to RGB: planes Y, u8[height, width], and Cb, Cr, u8[(height + 1) / 2,
 * (width + 1) / 2], with the full range of values as in JFIF.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_YCC_H
#define FGI_IMAGE_YCC_H

#include <fulgurite/image.h>

/* Converts the part of the planes that begins at (x, y) and has the size of `out`, which is RGB.
 * Chroma is upsampled with the triangle filter of libjpeg, whose values it equals. */
void fgi_ycc_to_rgb(const uint8_t *planes, int64_t width, int64_t height, int64_t x, int64_t y,
                    fg_image *out);

#endif
