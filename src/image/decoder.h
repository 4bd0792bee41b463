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
struct fgi_jpeg_cropper;

struct fg_image_decoder {
    struct fgi_jpeg_state *jpeg;      /* created by the first JPEG */
    struct fgi_jpeg_cropper *cropper; /* created by the first JPEG with a table of segments */
    fgi_pixel_block rows;             /* of the codecs */
    fgi_pixel_block coefficients;     /* of JPEGs with several scans */
    fgi_pixel_block weights;          /* of a resize */
    fg_image stored;                  /* an image before its orientation is applied */
    fg_image upright;                 /* an image before it is resized */
    char warning[200];                /* of the last image: a flaw of the file that viewers do not
                                         show, or corruption that is tolerated; "": none */
    bool is_corrupt;                  /* the last image, which was tolerated */
    int64_t entropy_ns; /* added up: time of entropy decoding, of codecs that separate it; the
                           caller may subtract what it has used */
};

/* The table of a JPEG's restart segments (jpeg_segment_table.h); data NULL: none. */
typedef struct fgi_image_segments {
    const void *data;
    size_t size;
} fgi_image_segments;

/* fg_image_decode of a file that may have such a table: of a crop, only the segments that it needs
 * are read. The pixels are the same. */
fg_status fgi_image_decode(fg_image_decoder *decoder, const char *name, const void *data,
                           size_t size, const fgi_image_segments *segments,
                           const fg_image_decode_options *options, fg_image *out, fg_error *err);

/* About how many bytes fgi_image_decode with these arguments needs for `out` and the buffers that
 * grow with the image; 0 if it would fail. */
size_t fgi_image_decode_bytes(const char *name, const void *data, size_t size,
                              const fg_image_decode_options *options);
/* Returns the memory of large buffers to the operating system (fgi_pages_drop). */
void fgi_image_decoder_drop(fg_image_decoder *decoder);

#endif
