/* jpeg_sequential.h - our entropy decoder in the place of libjpeg's, for baseline JPEGs with one
 * scan and no restart markers, which most photos are. It is faster; libjpeg does everything else.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_SEQUENTIAL_H
#define FGI_IMAGE_JPEG_SEQUENTIAL_H

#include "image/jpeg_common.h"

/* The state of an image, and tables that later images may use again. */
typedef struct fgi_jpeg_sequential fgi_jpeg_sequential;

/* NULL: out of memory. */
fgi_jpeg_sequential *fgi_jpeg_sequential_create(void);
void fgi_jpeg_sequential_destroy(fgi_jpeg_sequential *sequential); /* NULL is allowed */

/* After jpeg_start_decompress of a file in memory: whether our decoder applies to the image. If so,
 * fgi_jpeg_sequential_decode can be used as info->entropy->decode_mcu, for all MCUs. */
bool fgi_jpeg_sequential_start(fgi_jpeg_sequential *sequential, j_decompress_ptr info);

/* Decodes the next MCU; blocks may be NULL. False if the data are not as they should be: libjpeg
 * must then decode the image from its beginning, and say what is wrong or conceal it. */
bool fgi_jpeg_sequential_decode(fgi_jpeg_sequential *sequential, j_decompress_ptr info,
                                JBLOCKROW *blocks);

#endif
