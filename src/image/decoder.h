/* decoder.h - the memory of a decoder.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_DECODER_H
#define FGI_IMAGE_DECODER_H

#include <fulgurite/image.h>

/* A block of memory that grows; its content is lost when it does. */
typedef struct fgi_pixel_block {
    uint8_t *data; /* aligned to 64 bytes */
    size_t capacity;
} fgi_pixel_block;

fg_status fgi_pixel_block_reserve(fgi_pixel_block *block, size_t size, fg_error *err);
void fgi_pixel_block_fini(fgi_pixel_block *block);

struct fgi_jpeg_state;

struct fg_image_decoder {
    struct fgi_jpeg_state *jpeg; /* created by the first JPEG */
    fgi_pixel_block rows;        /* of the codecs */
    fgi_pixel_block weights;     /* of a resize */
    fg_image stored;             /* an image before its orientation is applied */
    fg_image upright;            /* an image before it is resized */
};

#endif
