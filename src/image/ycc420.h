/* ycc420.h - RGB pixels as planes Y, Cb and Cr, with chroma at half resolution: half the bytes of
 * RGB, and almost no work to read. A device computes RGB from them.
 *
 * Source: ITU-T T.871 (JFIF), section 7: full range, BT.601.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_YCC420_H
#define FGI_IMAGE_YCC420_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the planes: Y u8[height, width], then Cb and Cr u8[ceil(height / 2), ceil(width / 2)].
 */
size_t fgi_ycc420_bytes(int64_t width, int64_t height);

/* Converts u8[height, width, 3]. Values are rounded to nearest: Y of each pixel; Cb and Cr of the
 * mean of the 2 x 2 pixels (fewer at the right and lower edges of odd sizes), as in JPEG files
 * with 4:2:0 sampling, so chroma samples are centered between the pixels. */
void fgi_ycc420_from_rgb(const uint8_t *rgb, int64_t width, int64_t height, uint8_t *out);

#endif
