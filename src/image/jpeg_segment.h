/* jpeg_segment.h - decodes a rectangle of a JPEG. If the JPEG has a segment table, only the
 * segments of the rectangle are decoded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_SEGMENT_H
#define FGI_IMAGE_JPEG_SEGMENT_H

#include <fulgurite/base.h>

/* A decoder with its memory, which it keeps for the next image. One thread at a time. */
typedef struct fgi_jpeg_cropper fgi_jpeg_cropper;

fg_status fgi_jpeg_cropper_create(fgi_jpeg_cropper **out, fg_error *err);
void fgi_jpeg_cropper_destroy(fgi_jpeg_cropper *cropper);

/* The bytes are borrowed for the call. */
typedef struct fgi_jpeg_record {
    const char *name; /* for messages */
    const void *bytes;
    size_t size;
    const void *table; /* jpeg_segment_table.h; NULL if there is none */
    size_t table_size;
} fgi_jpeg_record;

/* A rectangle of pixels of the image divided by `divisor`. */
typedef struct fgi_jpeg_crop {
    int x, y, width, height;
    int divisor; /* 1, 2, 4 or 8: decode at this fraction of the size, by a smaller inverse DCT; the
                    whole image then has ceil(width / divisor) x ceil(height / divisor) pixels [1]
                  */
} fgi_jpeg_crop;

/* Decodes the rectangle to RGB, u8[height, width, 3]; rows are `stride` bytes apart. The pixels are
 * those of the same rectangle of the completely decoded image (libjpeg-turbo's accurate integer
 * DCT, smooth chroma upsampling). Gray images have equal R, G and B. The orientation in Exif is not
 * applied.
 *
 * Without a table, for progressive images and for unusual sampling factors, libjpeg decodes the
 * entropy-coded data up to the rectangle's end.
 *
 * Errors: FG_EFORMAT names the image and the byte offset or the segment; FG_EINVAL if the rectangle
 * is not inside the image; FG_EUNSUPPORTED for CMYK; FG_ENOMEM. */
fg_status fgi_jpeg_segment_decode(fgi_jpeg_cropper *cropper, const fgi_jpeg_record *source,
                                  const fgi_jpeg_crop *crop, uint8_t *pixels, size_t stride,
                                  fg_error *err);

/* How long the last call has decoded entropy-coded data. */
int64_t fgi_jpeg_cropper_entropy_ns(const fgi_jpeg_cropper *cropper);

#endif
