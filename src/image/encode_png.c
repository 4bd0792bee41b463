/* encode_png.c - writes PNG files with libpng.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/reserved.h"
#include "image/encoded.h"
#include "image/png_common.h"

enum { DEFAULT_COMPRESSION = 6 };

typedef struct sink {
    fgi_png png;
    fg_image_bytes *out;
} sink;

static void write_bytes(png_structp png, png_bytep data, size_t size)
{
    sink *to = png_get_io_ptr(png);
    const fg_status status = fgi_image_bytes_add(to->out, data, size, to->png.err);
    if (status != FG_OK)
        fgi_png_leave(png, status);
}

static void flush(png_structp png) {}

static void write_image(png_structp png, png_infop info, const fg_image *image, int compression,
                        sink *to)
{
    const size_t stride = (size_t)image->width * (size_t)image->channels;
    if (setjmp(png_jmpbuf(png)) != 0)
        return;
    png_set_write_fn(png, to, write_bytes, flush);
    png_set_compression_level(png, compression == 0 ? DEFAULT_COMPRESSION : compression);
    png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8,
                 image->channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int64_t y = 0; y < image->height; y++)
        png_write_row(png, image->pixels + (size_t)y * stride);
    png_write_end(png, NULL);
}

fg_status fg_image_encode_png(const fg_image *image, const fg_image_png_options *options,
                              fg_image_bytes *out, fg_error *err)
{
    static const fg_image_png_options defaults = {0};
    const fg_image_png_options *o = options == NULL ? &defaults : options;
    FGI_TRY_RESERVED(fg_image_png_options, o, err);
    FGI_TRY(fgi_image_check_encoding("fg_image_encode_png", image, out, err));
    if (o->compression < 0 || o->compression > 9)
        return fgi_fail(err, FG_EINVAL,
                        "fg_image_encode_png: expected a compression of 1 to 9, got %d",
                        o->compression);
    sink to = {.png = {.err = err}, .out = out};
    png_structp png =
        png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &to.png, fgi_png_on_error,
                                  fgi_png_on_warning, &to.png, fgi_png_alloc, fgi_png_free);
    if (png == NULL)
        return fgi_no_memory(err);
    png_infop info = png_create_info_struct(png);
    if (info == NULL)
        to.png.status = fgi_no_memory(err);
    else
        write_image(png, info, image, o->compression, &to);
    png_destroy_write_struct(&png, &info);
    return to.png.status;
}
