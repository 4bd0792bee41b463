/* decode_tiff.c - TIFF, with libtiff: the first page, through its conversion to RGBA, which
 * supports all common kinds. Source of the tags: TIFF 6.0.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include <tiffio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/library.h"
#include "base/print.h"
#include "image/decoder.h"
#include "image/pixels.h"

/* A corrupt file may declare strips and tags of any size: libtiff allocates at most this much at
 * once for tags, and for a strip or tile this much more per pixel. */
enum { TAG_BYTES = 1 << 24, PIXEL_BYTES = 32 };

/* TIFF is rare in training data, and libtiff brings five more compression libraries and the C++
 * runtime into a process, so it is not linked. Before version 4.5, it lacks functions. */
#define FUNCTIONS(X)                                                                               \
    X(open_options_alloc, TIFFOpenOptionsAlloc)                                                    \
    X(open_options_free, TIFFOpenOptionsFree)                                                      \
    X(set_max_alloc, TIFFOpenOptionsSetMaxSingleMemAlloc)                                          \
    X(set_error_handler, TIFFOpenOptionsSetErrorHandlerExtR)                                       \
    X(set_warning_handler, TIFFOpenOptionsSetWarningHandlerExtR)                                   \
    X(client_open, TIFFClientOpenExt)                                                              \
    X(close, TIFFClose)                                                                            \
    X(get_field, TIFFGetField)                                                                     \
    X(get_field_defaulted, TIFFGetFieldDefaulted)                                                  \
    X(image_begin, TIFFRGBAImageBegin)                                                             \
    X(image_get, TIFFRGBAImageGet)                                                                 \
    X(image_end, TIFFRGBAImageEnd)
FGI_LIBRARY(libtiff, FUNCTIONS, "libtiff.so.6")

typedef struct reader {
    const fgi_image_file *file;
    uint64_t offset;
    bool is_truncated; /* libtiff tried to read past the end */
    TIFF *tiff;
    char message[256]; /* first error of libtiff */
} reader;

static bool matches(const fgi_image_file *file)
{
    static const char *const heads[] = {"II*\0", "MM\0*", "II+\0", "MM\0+"};
    for (size_t i = 0; i < 4; i++)
        if (file->size >= 8 && memcmp(file->data, heads[i], 4) == 0)
            return true;
    return false;
}

/* ---- libtiff's view of the file -------------------------------------------------------------- */

static tmsize_t read_bytes(thandle_t self, void *out, tmsize_t count)
{
    reader *r = (reader *)self;
    const size_t size = r->file->size;
    const size_t left = r->offset < size ? size - (size_t)r->offset : 0;
    const size_t part = (size_t)count < left ? (size_t)count : left;
    r->is_truncated |= part < (size_t)count;
    if (part > 0)
        memcpy(out, r->file->data + r->offset, part);
    r->offset += part;
    return (tmsize_t)part;
}

static tmsize_t write_bytes(thandle_t self, void *data, tmsize_t count) { return 0; }

static toff_t seek(thandle_t self, toff_t offset, int whence)
{
    reader *r = (reader *)self;
    const uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? r->offset : r->file->size;
    r->offset = base + offset;
    return r->offset;
}

static int close_file(thandle_t self) { return 0; }

static toff_t size_of(thandle_t self) { return ((reader *)self)->file->size; }

FG_PRINTF(4, 0)
static int on_error(TIFF *tiff, void *self, const char *module, const char *format, va_list args)
{
    reader *r = self;
    if (r->message[0] == '\0')
        (void)fgi_vsnprintf(r->message, sizeof r->message, format, args);
    return 1;
}

static int on_warning(TIFF *tiff, void *self, const char *module, const char *format, va_list args)
{
    return 1;
}

static fg_status failed(const reader *r, fg_error *err)
{
    if (r->is_truncated)
        return fgi_image_corrupt(r->file, r->file->size, err,
                                 "truncated TIFF: the file ends before the image does");
    return fgi_fail(err, FG_EFORMAT, "%s: byte %" PRIu64 ": libtiff reports '%s'", r->file->name,
                    r->offset, r->message);
}

/* `pixels` is 0 if only tags are read. */
static fg_status open_tiff(reader *r, int64_t pixels, fg_error *err)
{
    if (!libtiff_is_loaded())
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: TIFF files require libtiff 4.5 or newer, which is not installed\n"
                        "install it (on Debian and Ubuntu: apt install libtiff6), or convert the "
                        "file to PNG",
                        r->file->name);
    TIFFOpenOptions *options = fgi_alloc_fault() ? NULL : libtiff.open_options_alloc();
    if (options == NULL)
        return fgi_no_memory(err);
    libtiff.set_max_alloc(options, TAG_BYTES + PIXEL_BYTES * (tmsize_t)pixels);
    libtiff.set_error_handler(options, on_error, r);
    libtiff.set_warning_handler(options, on_warning, r);
    r->tiff = libtiff.client_open(r->file->name, "rm", (thandle_t)r, read_bytes, write_bytes, seek,
                                  close_file, size_of, NULL, NULL, options);
    libtiff.open_options_free(options);
    return r->tiff != NULL ? FG_OK : failed(r, err);
}

/* ---- headers --------------------------------------------------------------------------------- */

static fg_status read_info(const reader *r, fg_image_info *out, fg_error *err)
{
    uint32_t width = 0, height = 0;
    uint16_t channels = 1, bits = 1, orientation = 1, photometric = PHOTOMETRIC_MINISBLACK;
    (void)libtiff.get_field(r->tiff, TIFFTAG_IMAGEWIDTH, &width);
    (void)libtiff.get_field(r->tiff, TIFFTAG_IMAGELENGTH, &height);
    (void)libtiff.get_field_defaulted(r->tiff, TIFFTAG_SAMPLESPERPIXEL, &channels);
    (void)libtiff.get_field_defaulted(r->tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    (void)libtiff.get_field_defaulted(r->tiff, TIFFTAG_ORIENTATION, &orientation);
    (void)libtiff.get_field(r->tiff, TIFFTAG_PHOTOMETRIC, &photometric);
    if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX)
        return fgi_image_corrupt(r->file, 4, err, "the TIFF has an invalid width or height");
    out->width = width;
    out->height = height;
    out->channels = photometric == PHOTOMETRIC_PALETTE ? 3 : channels;
    out->bits = bits;
    out->orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
    return FG_OK;
}

static fg_status probe(const fgi_image_file *file, fg_image_info *out, fg_error *err)
{
    reader r = {.file = file};
    FGI_TRY(open_tiff(&r, 0, err));
    const fg_status status = read_info(&r, out, err);
    libtiff.close(r.tiff);
    return status;
}

/* A TIFF file has its first directory anywhere, usually at its end. A large one (BigTIFF) has a
 * longer offset. */
static bool has_ends(const fgi_image_ends *ends)
{
    const uint8_t *p = ends->first;
    const bool is_big_endian = p[0] == 'M', is_large = p[is_big_endian ? 3 : 2] == 43;
    const int begin = is_large ? 8 : 4, count = is_large ? 8 : 4;
    uint64_t offset = 0;
    for (int i = 0; i < count; i++)
        offset = offset << 8 | p[begin + (is_big_endian ? i : count - 1 - i)];
    return offset < ends->size && libtiff_is_loaded();
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* libtiff's pixels are 32-bit numbers 0xAABBGGRR, with color multiplied by alpha. */
static void put_rows(TIFFRGBAImage *image, const fgi_image_request *request, uint32_t *pixels)
{
    for (size_t y = 0; y < image->height; y++) {
        uint32_t *row = pixels + y * image->width;
        uint8_t *bytes = (uint8_t *)row;
        for (size_t x = 0; x < image->width; x++) {
            const uint32_t pixel = row[x];
            for (size_t c = 0; c < 4; c++)
                bytes[4 * x + c] = (uint8_t)(pixel >> 8 * c);
        }
        fgi_put_row(request, (int64_t)y, FGI_RGBA_PREMULTIPLIED, bytes);
    }
}

static fg_status read_pixels(fg_image_decoder *decoder, const reader *r, TIFFRGBAImage *image,
                             const fgi_image_request *request, fg_error *err)
{
    image->req_orientation = image->orientation; /* the caller applies it */
    FGI_TRY(fgi_pixel_block_reserve(&decoder->rows,
                                    (size_t)image->width * image->height * sizeof(uint32_t), err));
    uint32_t *pixels = (uint32_t *)(void *)decoder->rows.data;
    if (libtiff.image_get(image, pixels, image->width, image->height) == 0 ||
        r->message[0] != '\0' || r->is_truncated)
        return failed(r, err);
    put_rows(image, request, pixels);
    return FG_OK;
}

static fg_status decode(fg_image_decoder *decoder, const fgi_image_file *file,
                        const fgi_image_request *request, fg_error *err)
{
    reader r = {.file = file};
    TIFFRGBAImage image;
    char message[1024] = "";
    FGI_TRY(open_tiff(&r, request->pixels, err));
    fg_status status;
    if (libtiff.image_begin(&image, r.tiff, 1, message) != 0) {
        status = read_pixels(decoder, &r, &image, request, err);
        libtiff.image_end(&image);
    } else if (r.message[0] != '\0' || r.is_truncated) {
        status = failed(&r, err);
    } else {
        status = fgi_fail(err, FG_EUNSUPPORTED,
                          "%s: this kind of TIFF is not supported: libtiff "
                          "reports '%s'\nconvert the file to PNG",
                          file->name, message);
    }
    libtiff.close(r.tiff);
    return status;
}

/* All pixels. */
static size_t memory(const fgi_image_file *file, const fg_image_info *info)
{
    return (size_t)(info->width * info->height) * 4;
}

const fgi_image_codec fgi_tiff_codec = {
    .name = "TIFF",
    .format = FG_IMAGE_TIFF,
    .max_scale = 1,
    .matches = matches,
    .probe = probe,
    .decode = decode,
    .has_ends = has_ends,
    .memory = memory,
};
