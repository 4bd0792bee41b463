/* codec.h - what a file format implements to be decoded: one constant row per format.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_CODEC_H
#define FGI_IMAGE_CODEC_H

#include <fulgurite/image.h>

/* An encoded image in memory. */
typedef struct fgi_image_file {
    const char *name; /* for messages */
    const uint8_t *data;
    size_t size;
    const void *segments; /* the table of a JPEG's segments (jpeg_segment_table.h); NULL: none */
    size_t segments_size;
} fgi_image_file;

/* The pixels that a codec decodes. Coordinates are in stored pixels (before the orientation is
 * applied) at the reduced size. */
typedef struct fgi_image_request {
    int64_t x, y;    /* the upper left corner of the area */
    fg_image *image; /* receives the area; has its size */
    int64_t pixels;  /* of the whole file, at full size */
    int scale;       /* 1, 2, 4 or 8: decode at 1/scale of the size */
    uint8_t background[3];
    bool is_tolerant;
} fgi_image_request;

/* The first and the last bytes of a file of at least as many. */
enum { FGI_IMAGE_END_BYTES = 16 };

typedef struct fgi_image_ends {
    uint8_t first[FGI_IMAGE_END_BYTES], last[FGI_IMAGE_END_BYTES];
    uint64_t size; /* of the file */
} fgi_image_ends;

typedef struct fgi_image_codec {
    const char *name;
    fg_image_format format;
    int max_scale;
    bool can_tolerate; /* corruption */
    bool (*matches)(const fgi_image_file *file);
    /* The size is the stored one; the caller applies the orientation. */
    fg_status (*probe)(const fgi_image_file *file, fg_image_info *out, fg_error *err);
    fg_status (*decode)(fg_image_decoder *decoder, const fgi_image_file *file,
                        const fgi_image_request *request, fg_error *err);
    /* FG_EFORMAT if the file, whose headers could be read, ends before the image does. Looks at
     * markers only. NULL: `decode` always reads the whole image. */
    fg_status (*check_end)(const fgi_image_file *file, fg_error *err);
    /* Whether the file is certainly complete by its ends. NULL: `decode` will say. */
    bool (*has_ends)(const fgi_image_ends *ends);
    /* Bytes of memory beyond those of the request's image, as far as they grow with the file's
     * pixels. The probed size is the stored one. NULL: none. */
    size_t (*memory)(const fgi_image_file *file, const fg_image_info *info);
    void (*close)(fg_image_decoder *decoder); /* frees its state in the decoder; may be NULL */
} fgi_image_codec;

extern const fgi_image_codec fgi_jpeg_codec, fgi_png_codec, fgi_webp_codec, fgi_gif_codec,
    fgi_tiff_codec, fgi_bmp_codec, fgi_pnm_codec;

/* All codecs; NULL if index is not below their number. */
const fgi_image_codec *fgi_image_codec_at(size_t index);
/* The codec of the file. FG_EUNSUPPORTED if there is none; the message names the format if it is a
 * well-known one. */
fg_status fgi_image_codec_find(const fgi_image_file *file, const fgi_image_codec **out,
                               fg_error *err);

/* Whether a file is certainly an image that is complete, by its ends; otherwise fgi_image_check
 * knows. */
bool fgi_image_has_ends(const fgi_image_ends *ends);
/* Whether the file is an image that can be decoded and is complete, by its headers and its end:
 * FG_EFORMAT, FG_EUNSUPPORTED. Nothing is decoded. is_tolerant: as tolerate_corruption. */
fg_status fgi_image_check(const char *name, const void *data, size_t size, bool is_tolerant,
                          fg_error *err);

/* "NAME: byte OFFSET: MESSAGE", FG_EFORMAT. */
fg_status fgi_image_corrupt(const fgi_image_file *file, size_t offset, fg_error *err,
                            const char *message);

#endif
