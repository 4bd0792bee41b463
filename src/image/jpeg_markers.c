/* jpeg_markers.c - reads the markers in front of the first scan of a JPEG file, without libjpeg: it
 * is faster than preparing to decode, and messages can name what is not supported. Source: ITU-T
 * T.81, annex B.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_markers.h"

#include <string.h>
#include "base/error.h"
#include "image/exif.h"

enum { SOF0 = 0xc0, DHT = 0xc4, JPG = 0xc8, DAC = 0xcc, SOF15 = 0xcf, RST0 = 0xd0, RST7 = 0xd7 };
enum { EOI = 0xd9, SOS = 0xda, APP1 = 0xe1, TEM = 0x01, FRAME_BYTES = 8 };

static bool is_frame(int marker)
{
    return marker >= SOF0 && marker <= SOF15 && marker != DHT && marker != JPG && marker != DAC;
}

/* What is not supported about a frame, or NULL. */
static const char *unsupported(int marker, int bits)
{
    if (marker == 0xc3 || marker == 0xcb)
        return "lossless JPEG";
    if ((marker >= 0xc5 && marker <= 0xc7) || marker >= 0xcd)
        return "hierarchical JPEG";
    if (bits == 12)
        return "12-bit JPEG";
    return bits == 8 ? NULL : "JPEG with an invalid precision";
}

/* The sum of the sizes of all components. */
static int64_t count_samples(const uint8_t *factors, size_t size, const fgi_jpeg_header *header)
{
    int most = 1, sum = 0;
    const int64_t pixels = header->width * header->height;
    for (int i = 0; i < header->components; i++) {
        if ((size_t)i * 3 + 3 > size)
            return pixels * header->components;
        const int h = factors[3 * i + 1] >> 4, v = factors[3 * i + 1] & 15;
        most = h * v > most ? h * v : most;
        sum += h * v;
    }
    return pixels * sum / most;
}

/* A gray image has factors without effect. */
static fgi_jpeg_sampling read_sampling(const uint8_t *factors, size_t size, int components)
{
    if (components == 1)
        return (fgi_jpeg_sampling){1, 1, 1};
    const int h = size >= 9 ? factors[1] >> 4 : 0, v = size >= 9 ? factors[1] & 15 : 0;
    if (components != 3 || h < 1 || h > 2 || v < 1 || v > 2 || factors[4] != 0x11 ||
        factors[7] != 0x11)
        return (fgi_jpeg_sampling){0, 0, 0};
    return (fgi_jpeg_sampling){3, (uint8_t)h, (uint8_t)v};
}

static fg_status read_frame(const fgi_image_file *file, size_t offset, size_t length,
                            fgi_jpeg_header *out, fg_error *err)
{
    const uint8_t *p = file->data + offset;
    if (length < FRAME_BYTES)
        return fgi_image_corrupt(file, offset, err, "the frame header of the JPEG is too short");
    const int marker = p[1];
    out->frame_offset = offset;
    out->bits = p[4];
    out->height = p[5] << 8 | p[6];
    out->width = p[7] << 8 | p[8];
    out->components = p[9];
    out->is_progressive = marker == 0xc2 || marker == 0xca;
    out->is_arithmetic = marker >= 0xc9;
    const char *what = unsupported(marker, out->bits);
    if (what != NULL)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: byte %zu: %s is not supported\nconvert the file to 8-bit JPEG or PNG",
                        file->name, offset, what);
    if (out->width == 0 || out->height == 0)
        return fgi_image_corrupt(file, offset, err, "the JPEG has a width or height of 0");
    if (out->components != 1 && out->components != 3 && out->components != 4)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: byte %zu: a JPEG with %d components is not supported", file->name,
                        offset, out->components);
    out->samples = count_samples(p + 10, length - FRAME_BYTES, out);
    out->sampling = read_sampling(p + 10, length - FRAME_BYTES, out->components);
    return FG_OK;
}

static void read_application(const uint8_t *content, size_t size, fgi_jpeg_header *out)
{
    if (out->orientation == 0 && size > 6 && memcmp(content, "Exif\0\0", 6) == 0)
        out->orientation = fgi_exif_orientation(content + 6, size - 6);
}

/* The offset of the next marker (its 0xff) at or after `at`, or the file's size. */
static size_t next_marker(const fgi_image_file *file, size_t at)
{
    for (; at + 1 < file->size; at++)
        if (file->data[at] == 0xff && file->data[at + 1] != 0xff && file->data[at + 1] != 0)
            return at;
    return file->size;
}

/* Reads the segment at *at and moves *at behind it. */
static fg_status read_segment(const fgi_image_file *file, size_t *at, fgi_jpeg_header *out,
                              fg_error *err)
{
    const size_t offset = *at;
    const uint8_t *p = file->data + offset;
    const int marker = p[1];
    if (marker == TEM || (marker >= RST0 && marker <= RST7)) {
        *at += 2;
        return FG_OK;
    }
    if (marker == EOI)
        return fgi_image_corrupt(file, offset, err, "the JPEG ends without an image");
    const size_t left = file->size - offset - 2;
    const size_t length = left < 2 ? 0 : (size_t)p[2] << 8 | p[3];
    if (left < 2 || length > left)
        return fgi_image_corrupt(file, file->size, err,
                                 "truncated JPEG: the file ends within its headers");
    if (length < 2)
        return fgi_image_corrupt(file, offset, err, "a marker of the JPEG has a length below 2");
    *at += 2 + length;
    if (marker == APP1)
        read_application(p + 4, length - 2, out);
    if (is_frame(marker))
        return read_frame(file, offset, length, out, err);
    if (marker == SOS)
        out->scan_offset = offset;
    return FG_OK;
}

fg_status fgi_jpeg_header_read(const fgi_image_file *file, fgi_jpeg_header *out, fg_error *err)
{
    *out = (fgi_jpeg_header){0};
    size_t at = 2;
    while (out->scan_offset == 0) {
        at = next_marker(file, at);
        if (at >= file->size)
            return fgi_image_corrupt(file, file->size, err,
                                     "truncated JPEG: the file ends within its headers");
        FGI_TRY(read_segment(file, &at, out, err));
    }
    if (out->width == 0)
        return fgi_image_corrupt(file, out->scan_offset, err,
                                 "the JPEG has a scan without a frame header");
    if (out->orientation == 0)
        out->orientation = 1;
    return FG_OK;
}
