/* decode_webp.c - WebP, with libwebp. Of an animation, the first frame, on a transparent canvas.
 * Source of the chunks that are read here: RFC 9649, section 2.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include "base/alloc.h"
#include "base/error.h"
#include "image/decoder.h"
#include "image/exif.h"
#include "image/pixels.h"

enum { HEADER = 12, CHUNK_HEADER = 8 };

static bool matches(const fgi_image_file *file)
{
    return file->size >= HEADER && memcmp(file->data, "RIFF", 4) == 0 &&
           memcmp(file->data + 8, "WEBP", 4) == 0;
}

/* libwebp reports no positions: a file that ends early is reported at its end, others at byte 0. */
static fg_status failed(const fgi_image_file *file, VP8StatusCode code, fg_error *err)
{
    switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY: return fgi_no_memory(err);
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
        return fgi_image_corrupt(file, file->size, err,
                                 "truncated WebP: the file ends before the image does");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: byte 0: libwebp does not support a feature of this WebP", file->name);
    default: return fgi_image_corrupt(file, 0, err, "corrupt WebP data");
    }
}

/* ---- headers --------------------------------------------------------------------------------- */

static int orientation_of(const fgi_image_file *file)
{
    for (size_t at = HEADER; file->size - at > CHUNK_HEADER;) {
        const uint8_t *p = file->data + at, *data = p + CHUNK_HEADER;
        size_t size = (size_t)p[4] | (size_t)p[5] << 8 | (size_t)p[6] << 16 | (size_t)p[7] << 24;
        const size_t left = file->size - at - CHUNK_HEADER, padded = size + (size & 1);
        if (size > left)
            return 1;
        if (memcmp(p, "EXIF", 4) == 0) { /* some programs write the header of JPEG's segment too */
            const size_t skip = size >= 6 && memcmp(data, "Exif\0\0", 6) == 0 ? 6 : 0;
            return fgi_exif_orientation(data + skip, size - skip);
        }
        if (padded > left)
            return 1;
        at += CHUNK_HEADER + padded;
    }
    return 1;
}

static fg_status probe(const fgi_image_file *file, fg_image_info *out, fg_error *err)
{
    WebPBitstreamFeatures features;
    const VP8StatusCode code = WebPGetFeatures(file->data, file->size, &features);
    if (code != VP8_STATUS_OK)
        return failed(file, code, err);
    out->width = features.width;
    out->height = features.height;
    out->channels = features.has_alpha ? 4 : 3;
    out->bits = 8;
    out->orientation = orientation_of(file);
    return FG_OK;
}

/* The size in the RIFF header, without the first 8 bytes. */
static uint64_t riff_size(const uint8_t *header)
{
    return header[4] | (uint64_t)header[5] << 8 | (uint64_t)header[6] << 16 |
           (uint64_t)header[7] << 24;
}

static bool has_ends(const fgi_image_ends *ends)
{
    return riff_size(ends->first) + 8 <= ends->size;
}

static fg_status check_end(const fgi_image_file *file, fg_error *err)
{
    return riff_size(file->data) + 8 <= file->size
               ? FG_OK
               : fgi_image_corrupt(file, file->size, err,
                                   "truncated WebP: the file ends before the image does");
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* One frame of an animation, or the only image: its encoded bytes and its place. */
typedef struct frame {
    const uint8_t *data;
    size_t size;
    int x, y, width, height; /* in the canvas */
    bool has_alpha;
} frame;

/* Decodes to rows of RGBA or RGB, `stride` bytes apart. */
static VP8StatusCode decode_frame(const frame *f, uint8_t *rows, size_t stride, size_t size)
{
    WebPDecoderConfig config;
    if (fgi_alloc_fault() || !WebPInitDecoderConfig(&config))
        return VP8_STATUS_OUT_OF_MEMORY;
    config.output.colorspace = f->has_alpha ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = rows;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = size;
    const VP8StatusCode code = WebPDecode(f->data, f->size, &config);
    WebPFreeDecBuffer(&config.output);
    return code;
}

static fg_status decode_on_canvas(fg_image_decoder *decoder, const fgi_image_file *file,
                                  const frame *f, int64_t width, int64_t height,
                                  const fgi_image_request *request, fg_error *err)
{
    const size_t pixel = f->has_alpha ? 4 : 3, stride = (size_t)width * pixel;
    const size_t size = stride * (size_t)height, offset = (size_t)f->y * stride;
    FGI_TRY(fgi_pixel_block_reserve(&decoder->rows, size, err));
    const size_t first = offset + (size_t)f->x * pixel;
    if (f->width != width || f->height != height)
        memset(decoder->rows.data, 0, size);
    const VP8StatusCode code = decode_frame(f, decoder->rows.data + first, stride, size - first);
    if (code != VP8_STATUS_OK)
        return failed(file, code, err);
    for (int64_t y = 0; y < height; y++)
        fgi_put_row(request, y, f->has_alpha ? FGI_RGBA : FGI_RGB,
                    decoder->rows.data + (size_t)y * stride);
    return FG_OK;
}

static fg_status decode_first(fg_image_decoder *decoder, const fgi_image_file *file,
                              const fgi_image_request *request, fg_error *err)
{
    const WebPData data = {file->data, file->size};
    if (fgi_alloc_fault())
        return fgi_no_memory(err);
    WebPDemuxer *demuxer = WebPDemux(&data);
    WebPIterator it;
    if (demuxer == NULL)
        return failed(file, VP8_STATUS_NOT_ENOUGH_DATA, err);
    fg_status status;
    if (WebPDemuxGetFrame(demuxer, 1, &it)) {
        const frame f = {it.fragment.bytes, it.fragment.size, it.x_offset, it.y_offset,
                         it.width,          it.height,        true};
        status = decode_on_canvas(decoder, file, &f, WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH),
                                  WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT), request, err);
        WebPDemuxReleaseIterator(&it);
    } else {
        status = fgi_image_corrupt(file, 0, err, "the WebP animation has no frames");
    }
    WebPDemuxDelete(demuxer);
    return status;
}

static fg_status decode(fg_image_decoder *decoder, const fgi_image_file *file,
                        const fgi_image_request *request, fg_error *err)
{
    WebPBitstreamFeatures features;
    const VP8StatusCode code = WebPGetFeatures(file->data, file->size, &features);
    if (code != VP8_STATUS_OK)
        return failed(file, code, err);
    if (features.has_animation)
        return decode_first(decoder, file, request, err);
    const frame whole = {
        file->data, file->size, 0, 0, features.width, features.height, features.has_alpha != 0};
    return decode_on_canvas(decoder, file, &whole, features.width, features.height, request, err);
}

/* The canvas, and all pixels within the library if it is lossless. */
static size_t memory(const fgi_image_file *file, const fg_image_info *info)
{
    return (size_t)(info->width * info->height) * 8;
}

const fgi_image_codec fgi_webp_codec = {
    .name = "WebP",
    .format = FG_IMAGE_WEBP,
    .max_scale = 1,
    .matches = matches,
    .probe = probe,
    .decode = decode,
    .check_end = check_end,
    .has_ends = has_ends,
    .memory = memory,
};
