/* decode_png.c - PNG, with libpng. Of 16-bit channels, the upper 8 bits are used. Source of the
 * chunks that are read here: the PNG specification (third edition), chapters 5 and 11.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "image/decoder.h"
#include "image/exif.h"
#include "image/pixels.h"
#include "image/png_common.h"

enum { SIGNATURE = 8, FIRST_CHUNK_END = 33, CHUNK_OVERHEAD = 12 };

static bool matches(const fgi_image_file *file)
{
    return file->size >= SIGNATURE && memcmp(file->data, "\x89PNG\r\n\x1a\n", SIGNATURE) == 0;
}

/* ---- headers --------------------------------------------------------------------------------- */

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Chunks other than the first: what they add to the info. */
static void read_chunks(const fgi_image_file *file, fg_image_info *out)
{
    for (size_t at = FIRST_CHUNK_END; file->size - at >= CHUNK_OVERHEAD;) {
        const uint8_t *chunk = file->data + at;
        const size_t length = big_endian(chunk);
        if (length > file->size - at - CHUNK_OVERHEAD)
            return;
        if (memcmp(chunk + 4, "eXIf", 4) == 0)
            out->orientation = fgi_exif_orientation(chunk + 8, length);
        if (memcmp(chunk + 4, "tRNS", 4) == 0 && (out->channels == 1 || out->channels == 3))
            out->channels++;
        at += CHUNK_OVERHEAD + length;
    }
}

static fg_status probe(const fgi_image_file *file, fg_image_info *out, fg_error *err)
{
    static const int channels[] = {1, 0, 3, 3, 2, 0, 4};
    const uint8_t *p = file->data;
    if (file->size < FIRST_CHUNK_END)
        return fgi_image_corrupt(file, file->size, err,
                                 "truncated PNG: the file ends within its header");
    if (big_endian(p + 8) != 13 || memcmp(p + 12, "IHDR", 4) != 0)
        return fgi_image_corrupt(file, SIGNATURE, err, "the PNG does not begin with an IHDR chunk");
    out->width = big_endian(p + 16);
    out->height = big_endian(p + 20);
    out->bits = p[24];
    out->channels = p[25] <= 6 ? channels[p[25]] : 0;
    out->is_progressive = p[28] != 0;
    if (out->width == 0 || out->height == 0 || out->width > INT32_MAX || out->height > INT32_MAX)
        return fgi_image_corrupt(file, 16, err, "the PNG has an invalid width or height");
    if (out->channels == 0)
        return fgi_image_corrupt(file, 25, err, "the PNG has an invalid color type");
    read_chunks(file, out);
    return FG_OK;
}

static const uint8_t last_chunk[CHUNK_OVERHEAD] = "\0\0\0\0IEND\xae\x42\x60\x82";

static bool has_ends(const fgi_image_ends *ends)
{
    return memcmp(ends->last + FGI_IMAGE_END_BYTES - CHUNK_OVERHEAD, last_chunk, CHUNK_OVERHEAD) ==
           0;
}

/* Whether there is the last chunk, IEND, which other data may follow. */
static fg_status check_end(const fgi_image_file *file, fg_error *err)
{
    size_t at = FIRST_CHUNK_END;
    if (memcmp(file->data + file->size - CHUNK_OVERHEAD, last_chunk, CHUNK_OVERHEAD) == 0)
        return FG_OK;
    while (file->size - at >= CHUNK_OVERHEAD) {
        const uint8_t *chunk = file->data + at;
        const size_t length = big_endian(chunk);
        if (memcmp(chunk + 4, "IEND", 4) == 0)
            return FG_OK;
        if (length > file->size - at - CHUNK_OVERHEAD)
            break;
        at += CHUNK_OVERHEAD + length;
    }
    return fgi_image_corrupt(file, file->size, err,
                             "truncated PNG: the file ends before the image does");
}

/* ---- pixels ---------------------------------------------------------------------------------- */

static void read_bytes(png_structp png, png_bytep out, size_t size)
{
    fgi_png *self = png_get_io_ptr(png);
    const fgi_image_file *file = self->file;
    if (size > file->size - self->offset)
        fgi_png_leave(png, fgi_image_corrupt(file, file->size, self->err,
                                             "truncated PNG: the file ends before the image does"));
    memcpy(out, file->data + self->offset, size);
    self->offset += size;
}

/* Discards metadata: libpng would allocate as much memory for it as a corrupt length says. */
static void skip_metadata(png_structp png)
{
    static const png_byte names[] = "eXIf\0iCCP\0iTXt\0tEXt\0zTXt\0sPLT\0hIST\0pCAL\0sCAL\0tIME";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, sizeof names / 5);
}

/* Prepares rows of 8 bits per channel without palette. Returns the number of passes. */
static int start(png_structp png, png_infop info, fgi_png *self)
{
    png_set_read_fn(png, self, read_bytes);
    png_set_user_limits(png, INT32_MAX, INT32_MAX); /* checked by the caller */
    skip_metadata(png);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_strip_16(png);
    const int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    return passes;
}

static fg_status read_rows(fg_image_decoder *decoder, png_structp png, png_infop info, int passes,
                           const fgi_image_request *request, fg_error *err)
{
    static const fgi_pixel_kind kinds[] = {FGI_GRAY, FGI_GRAY_ALPHA, FGI_RGB, FGI_RGBA};
    const fgi_pixel_kind kind = kinds[png_get_channels(png, info) - 1];
    const int64_t height = png_get_image_height(png, info);
    const int64_t end = request->y + request->image->height;
    const size_t stride = png_get_rowbytes(png, info);
    const bool is_interlaced = passes > 1; /* each pass adds pixels to all rows */
    FGI_TRY(fgi_pixel_block_reserve(&decoder->rows, stride * (size_t)(is_interlaced ? height : 1),
                                    err));
    uint8_t *rows = decoder->rows.data;
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < (is_interlaced ? height : end); y++) {
            uint8_t *row = is_interlaced ? rows + (size_t)y * stride : rows;
            png_read_row(png, row, NULL);
            if (pass == passes - 1)
                fgi_put_row(request, y, kind, row);
        }
    if (end == height)
        png_read_end(png, NULL);
    return FG_OK;
}

/* The rows of all passes. */
static size_t memory(const fgi_image_file *file, const fg_image_info *info)
{
    return info->is_progressive ? (size_t)(info->width * info->height) * 4 : 0;
}

static fg_status decode(fg_image_decoder *decoder, const fgi_image_file *file,
                        const fgi_image_request *request, fg_error *err)
{
    fgi_png self = {.file = file, .err = err};
    png_structp png =
        png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &self, fgi_png_on_error, fgi_png_on_warning,
                                 &self, fgi_png_alloc, fgi_png_free);
    if (png == NULL)
        return fgi_no_memory(err);
    png_infop info = png_create_info_struct(png);
    if (info == NULL)
        self.status = fgi_no_memory(err);
    else if (setjmp(png_jmpbuf(png)) == 0)
        self.status = read_rows(decoder, png, info, start(png, info, &self), request, err);
    png_destroy_read_struct(&png, &info, NULL);
    if (self.status == FG_OK && self.is_out_of_memory) /* for a chunk that was then ignored */
        return fgi_no_memory(err);
    return self.status;
}

const fgi_image_codec fgi_png_codec = {
    .name = "PNG",
    .format = FG_IMAGE_PNG,
    .max_scale = 1,
    .matches = matches,
    .probe = probe,
    .decode = decode,
    .check_end = check_end,
    .has_ends = has_ends,
    .memory = memory,
};
