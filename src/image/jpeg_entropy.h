/* jpeg_entropy.h - how long the entropy decoder works on an image.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_ENTROPY_H
#define FGI_IMAGE_JPEG_ENTROPY_H

#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

/* The clock of one image. Zero-initialize it. */
typedef struct fgi_jpeg_entropy {
    boolean (*decode_mcu)(j_decompress_ptr info, JBLOCKROW *blocks); /* libjpeg's, or ours */
    int64_t mcus;    /* that were decoded while it was sampled */
    int64_t sampled; /* of them: with two readings of the time */
    int64_t sampled_ns;
    int64_t whole_ns; /* of images with several scans */
} fgi_jpeg_entropy;

/* Calls jpeg_start_decompress, and measures: if the image has several scans, they are
 * entropy-decoded in this call, before any pixel is computed. Otherwise the two alternate from one
 * MCU to the next, so the time of every 13th MCU is taken. `clock` becomes info->client_data and
 * must live until the image is decoded. */
void fgi_jpeg_entropy_start(j_decompress_ptr info, fgi_jpeg_entropy *clock);

/* The time so far; an estimate if the image has one scan. */
int64_t fgi_jpeg_entropy_ns(const fgi_jpeg_entropy *clock);

#endif
