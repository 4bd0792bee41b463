/* image.h - decodes, resizes and encodes images on the host.
 *
 * Files are bytes in memory; the caller maps or reads them. Pixels are u8, either gray or RGB, and
 * are stored row by row: u8[height, width, channels].
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_IMAGE_H
#define FULGURITE_IMAGE_H

#include <fulgurite/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A rectangle in pixels: x to the right and y down from the upper left corner. Fractions are
 * allowed: {0.5, 0, 2, 1} is half of the first pixel, the second pixel, and half of the third. */
typedef struct fg_image_box {
    double x, y, width, height;
} fg_image_box;

/* Pixels and their memory. Initialize it with zeros; fg_image_fini frees the memory. A function
 * that writes to an image reuses the memory if it is large enough, so that an image that is reused
 * from call to call is only allocated a few times. After an error, the pixels are undefined. One
 * thread at a time. */
typedef struct fg_image {
    uint8_t *pixels;       /* u8[height, width, channels], no padding between rows */
    int64_t width, height; /* pixels */
    int channels;          /* 1: gray, 3: RGB */
    size_t capacity;       /* bytes allocated; only the library changes it */
    fg_image_box region;   /* the part of the pixels that was requested: see fg_image_decode */
    uint64_t reserved[2];
} fg_image;

/* Frees the pixels and clears the struct. image may be NULL. */
FG_API void fg_image_fini(fg_image *image);

/* Sets the size of an image and allocates the pixels, whose values are undefined; `region` becomes
 * the whole image. Errors: FG_EINVAL (sizes below 1, channels other than 1 and 3), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_image_reserve(fg_image *image, int64_t width, int64_t height,
                                              int channels, fg_error *err);

/* Formats that can be decoded. Values are stable. */
typedef enum fg_image_format {
    FG_IMAGE_UNKNOWN = 0,
    FG_IMAGE_JPEG = 1, /* 8 bits; baseline, progressive or arithmetic coding; gray, RGB, CMYK */
    FG_IMAGE_PNG = 2,  /* all kinds; of 16 bits, the upper 8 */
    FG_IMAGE_WEBP = 3, /* lossy, lossless, alpha; the first frame of an animation */
    FG_IMAGE_GIF = 4,  /* the first frame */
    FG_IMAGE_TIFF = 5, /* the first page, if libtiff (4.5 or newer) is installed: it is loaded when
                          the first TIFF file is read */
    FG_IMAGE_BMP = 6,  /* all kinds but those that contain a JPEG or PNG file */
    FG_IMAGE_PNM = 7   /* PBM, PGM and PPM, in text and binary */
} fg_image_format;

/* Properties of a file, from its headers. */
typedef struct fg_image_info {
    fg_image_format format;
    int64_t width, height; /* pixels, after the orientation is applied */
    int channels;          /* in the file: 1 gray, 2 gray and alpha, 3 color, 4 color and alpha or
                              CMYK; a palette counts as color */
    int bits;              /* per channel, or per palette index */
    int orientation;       /* EXIF orientation, 1 to 8; 1 if the file has none */
    bool is_progressive;   /* progressive JPEG, interlaced PNG */
    uint64_t reserved[2];
} fg_image_info;

/* Reads the headers of the file `data` without decoding pixels. `name` is used in messages. Errors:
 * FG_EFORMAT (malformed headers, with the byte offset), FG_EUNSUPPORTED (the format or a feature of
 * it is not supported; the message names it). Thread-safe. */
FG_API FG_MUST_USE fg_status fg_image_probe(const char *name, const void *data, size_t size,
                                            fg_image_info *out, fg_error *err);

/* The memory in which images are decoded and resized. It is reused from call to call: create one
 * per thread and keep it. One thread at a time. */
typedef struct fg_image_decoder fg_image_decoder;

/* Errors: FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_image_decoder_create(fg_image_decoder **out, fg_error *err);
/* decoder may be NULL. */
FG_API void fg_image_decoder_destroy(fg_image_decoder *decoder);

/* The size at which an image is stored, relative to its own. No rule enlarges an image unless
 * `upscale` is set. */
typedef enum fg_image_presize_rule {
    FG_IMAGE_PRESIZE_NONE = 0,  /* as it is */
    FG_IMAGE_PRESIZE_SHORT = 1, /* the shorter side becomes `size`; the aspect ratio is kept */
    FG_IMAGE_PRESIZE_MAX = 2,   /* the longer side becomes `size`; the aspect ratio is kept */
    FG_IMAGE_PRESIZE_SQUARE = 3 /* as SHORT, then the square in the center is cut out. The result of
                                   a smaller image is smaller, unless upscale is set. */
} fg_image_presize_rule;

typedef struct fg_image_presize {
    fg_image_presize_rule rule;
    int64_t size; /* pixels, 1 to 65535 */
    bool upscale; /* also enlarge images                                           [false] */
    uint64_t reserved[2];
} fg_image_presize;

/* Parses "none", "short=256", "max=400" or "square=224"; ",upscale" may follow the size. Errors:
 * FG_EINVAL. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_image_presize_parse(const char *text, fg_image_presize *out,
                                                    fg_error *err);

/* Replaces the size of an image in pixels by the one that it has after the rule is applied. The
 * length of the side that follows from the aspect ratio is rounded down, as in torchvision's
 * Resize, and is at least 1. Errors: FG_EINVAL; the size is then 0. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_image_presize_size(const fg_image_presize *presize, int64_t *width,
                                                   int64_t *height, fg_error *err);

typedef struct fg_image_decode_options {
    int channels;      /* 1: gray, 3: RGB                                             [3] */
    fg_image_box crop; /* decode only this part of the image, in pixels after the orientation is
                          applied                                         [the whole image] */
    int64_t min_width, min_height; /* minimum size of the result: a JPEG is decoded at 1/2, 1/4 or
                                      1/8 of its size if the crop then still has at least this
                                      many pixels in both directions       [0: full size] */
    fg_image_presize presize;      /* resize the decoded image or crop; a JPEG is decoded at the
                                      smallest sufficient size, and min_width and min_height are
                                      not used                                        [none] */
    const uint8_t *background;     /* u8[3], RGB: color behind transparent pixels    [white] */
    bool ignore_orientation;       /* decode the pixels as they are stored           [false] */
    bool tolerate_corruption;      /* decode as much as possible of a truncated or corrupt JPEG; the
                                      rest of the pixels is undefined, usually gray  [false] */
    int64_t max_pixels;            /* refuse files with more pixels than this   [178956970] */
    uint64_t reserved[4];
} fg_image_decode_options;

/* Decodes the file `data` to `out`. `name` is used in messages. options may be NULL.
 *
 * Colors are not managed: embedded profiles and gamma are ignored, as in Pillow and torchvision.
 * Gray is the luma of BT.601. Transparent pixels are composited over the background, white by
 * default as on a web page or on paper, because the color stored in a fully transparent pixel is
 * arbitrary. CMYK files are assumed to have inverted values, as Adobe writes them. The limit
 * max_pixels guards against files that decompress to far more memory than expected; its default is
 * that of Pillow.
 *
 * out->region is the requested part of the image in pixels of the result. It is the whole result
 * unless the crop has fractions or the file is decoded at a reduced size: then the result is
 * the crop extended to whole pixels, and the region is a part of it. fg_image_resize by default
 * resizes the region.
 *
 * With a crop, only the part of a JPEG or PNG that is needed is decoded, and damage elsewhere may
 * not be detected, except that a truncated file is an error whatever the crop is. The pixels are
 * those of the full decode. JPEGs whose flaws do not change the image are decoded: bytes that do
 * not belong in front of a marker, data after the image, invalid metadata.
 *
 * Errors: FG_EINVAL (invalid options, or the crop is not inside the image), FG_EFORMAT
 * (malformed, truncated or corrupt, with the byte offset), FG_EUNSUPPORTED (unknown format,
 * unsupported feature, or more than max_pixels), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_image_decode(fg_image_decoder *decoder, const char *name,
                                             const void *data, size_t size,
                                             const fg_image_decode_options *options, fg_image *out,
                                             fg_error *err);

typedef struct fg_image_resize_options {
    fg_image_box box; /* part of the image that is resized   [the region of the image] */
    bool flip;        /* mirror the result horizontally                        [false] */
    uint64_t reserved[4];
} fg_image_resize_options;

/* Resizes an image, or a part of it, with bilinear interpolation and antialiasing: with one
 * interpolation, it does what a random resized crop with a flip needs. `out` is memory for
 * u8[height, width, channels of the image], outside the image. options may be NULL. The
 * caller may also set the members of `image`, with pixels in other memory and a capacity of 0.
 *
 * The result is within 1 of torchvision's resized_crop with antialias=True and of Pillow's resize
 * with BILINEAR. Pixels outside the box, extended to whole pixels, have no influence.
 * Errors: FG_EINVAL (sizes, or the box is not inside the image), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_image_resize(fg_image_decoder *decoder, const fg_image *image,
                                             int64_t width, int64_t height,
                                             const fg_image_resize_options *options, uint8_t *out,
                                             fg_error *err);

/* An encoded image. Initialize it with zeros; fg_image_bytes_fini frees the memory. Encoders reuse
 * the memory from call to call. One thread at a time. */
typedef struct fg_image_bytes {
    uint8_t *data;
    size_t size;     /* bytes used */
    size_t capacity; /* bytes allocated; only the library changes it */
    uint64_t reserved[2];
} fg_image_bytes;

/* Frees the memory and clears the struct. bytes may be NULL. */
FG_API void fg_image_bytes_fini(fg_image_bytes *bytes);

typedef struct fg_image_jpeg_options {
    int quality;      /* 1 to 100, as in libjpeg                                [90] */
    bool full_chroma; /* store chroma at full resolution (4:4:4)     [false: 4:2:0] */
    uint64_t reserved[2];
} fg_image_jpeg_options;

/* Encodes an image as a baseline JPEG file. options may be NULL. The caller may set the members of
 * `image`. After an error, out->size is undefined. Errors: FG_EINVAL (options, or the image is
 * larger than 65500 pixels in one direction), FG_ENOMEM. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_image_encode_jpeg(const fg_image *image,
                                                  const fg_image_jpeg_options *options,
                                                  fg_image_bytes *out, fg_error *err);

typedef struct fg_image_png_options {
    int compression; /* 1 (fast) to 9 (small), the levels of zlib      [6] */
    uint64_t reserved[2];
} fg_image_png_options;

/* Encodes an image as a PNG file with 8 bits per channel; lossless. options may be NULL. The caller
 * may set the members of `image`. After an error, out->size is undefined. Errors: FG_EINVAL,
 * FG_ENOMEM. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_image_encode_png(const fg_image *image,
                                                 const fg_image_png_options *options,
                                                 fg_image_bytes *out, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
