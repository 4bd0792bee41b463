/* jpeg_blocks.h - the memory for all coefficients of a JPEG with several scans, which libjpeg would
 * allocate and free for each image: it is kept in the decoder, so it can be counted and its pages
 * are not new each time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_BLOCKS_H
#define FGI_IMAGE_JPEG_BLOCKS_H

#include "image/decoder.h"
#include "image/jpeg_entropy.h"

/* What info->client_data points to while an image is decoded. */
typedef struct fgi_jpeg_client {
    fgi_jpeg_entropy entropy;           /* first: fgi_jpeg_entropy_start sets client_data to it */
    fgi_pixel_block *memory;            /* of the decoder */
    jvirt_barray_ptr arrays;            /* the arrays of this image, a list; NULL: none yet */
    void (*realize)(j_common_ptr info); /* libjpeg's function for its other arrays */
} fgi_jpeg_client;

/* Makes `info`, after jpeg_create_decompress, allocate coefficients in client->memory. Its err must
 * be an fgi_jpeg_errors. */
void fgi_jpeg_blocks_use(j_decompress_ptr info, fgi_jpeg_client *client);

#endif
