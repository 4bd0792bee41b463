/* decode_pnm.c - PBM, PGM and PPM, in text and binary (P1 to P6). Values are scaled to 8 bits.
 * Source: Netpbm, "pbm(5)", "pgm(5)", "ppm(5)".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "image/decoder.h"
#include "image/pixels.h"

enum { MOST_DIGITS = 9, MOST_VALUE = 65535 };

/* A file being read, and its header. */
typedef struct reader {
    const fgi_image_file *file;
    size_t at;
    int kind; /* 1 to 6 */
    int64_t width, height;
    uint32_t most; /* the value of white */
    fg_error *err;
} reader;

static bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool matches(const fgi_image_file *file)
{
    return file->size >= 3 && file->data[0] == 'P' && file->data[1] >= '1' &&
           file->data[1] <= '6' && (is_blank(file->data[2]) || file->data[2] == '#');
}

static bool is_text(const reader *r) { return r->kind <= 3; }

static bool is_bits(const reader *r) { return r->kind == 1 || r->kind == 4; }

static int channels_of(const reader *r) { return r->kind % 3 == 0 ? 3 : 1; }

static fg_status fail(const reader *r, const char *what)
{
    return fgi_image_corrupt(
        r->file, r->at, r->err,
        r->at < r->file->size ? what : "truncated PNM: the file ends before the image does");
}

/* Blanks, and comments from # to the end of the line. */
static void skip_blanks(reader *r)
{
    const uint8_t *data = r->file->data;
    bool is_comment = false;
    for (; r->at < r->file->size; r->at++) {
        const uint8_t c = data[r->at];
        if (is_comment ? c == '\n' || c == '\r' : c == '#')
            is_comment = !is_comment;
        else if (!is_comment && !is_blank(c))
            return;
    }
}

static fg_status read_number(reader *r, int most_digits, uint32_t *out)
{
    int digits = 0;
    *out = 0;
    skip_blanks(r);
    for (; r->at < r->file->size && digits < most_digits; r->at++, digits++) {
        const uint8_t c = r->file->data[r->at];
        if (c < '0' || c > '9')
            break;
        *out = *out * 10 + (c - '0');
    }
    return digits > 0 ? FG_OK : fail(r, "expected a number");
}

static fg_status read_header(const fgi_image_file *file, reader *r, fg_error *err)
{
    uint32_t width = 0, height = 0;
    *r = (reader){.file = file, .at = 2, .kind = file->data[1] - '0', .most = 1, .err = err};
    FGI_TRY(read_number(r, MOST_DIGITS, &width));
    FGI_TRY(read_number(r, MOST_DIGITS, &height));
    if (!is_bits(r))
        FGI_TRY(read_number(r, MOST_DIGITS, &r->most));
    if (width == 0 || height == 0)
        return fail(r, "the PNM has a width or height of 0");
    if (r->most == 0 || r->most > MOST_VALUE)
        return fail(r, "the largest value of the PNM is not 1 to 65535");
    if (r->at == file->size || !is_blank(file->data[r->at]))
        return fail(r, "expected whitespace after the header of the PNM");
    r->at++;
    r->width = width;
    r->height = height;
    return FG_OK;
}

static fg_status probe(const fgi_image_file *file, fg_image_info *out, fg_error *err)
{
    reader r;
    FGI_TRY(read_header(file, &r, err));
    out->width = r.width;
    out->height = r.height;
    out->channels = channels_of(&r);
    out->bits = is_bits(&r) ? 1 : r.most < 256 ? 8 : 16;
    return FG_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint8_t scale(const reader *r, uint32_t value)
{
    return (uint8_t)((2 * 255 * value + r->most) / (2 * r->most));
}

/* A bit of 1 is black; bits in text need no blanks between them. */
static fg_status read_text(reader *r, uint8_t *row)
{
    for (int64_t i = 0; i < r->width * channels_of(r); i++) {
        uint32_t value = 0;
        FGI_TRY(read_number(r, is_bits(r) ? 1 : MOST_DIGITS, &value));
        if (value > r->most)
            return fail(r, "the PNM has a value above the maximum in its header");
        row[i] = is_bits(r) ? (value != 0 ? 0 : 255) : scale(r, value);
    }
    return FG_OK;
}

static size_t row_bytes(const reader *r)
{
    const size_t count = (size_t)(r->width * channels_of(r));
    return is_bits(r) ? (count + 7) / 8 : count * (r->most < 256 ? 1 : 2);
}

static void read_binary(const reader *r, const uint8_t *in, uint8_t *row)
{
    for (int64_t i = 0; i < r->width * channels_of(r); i++) {
        if (is_bits(r)) {
            row[i] = (in[i / 8] >> (7 - i % 8) & 1) != 0 ? 0 : 255;
            continue;
        }
        const uint32_t value = r->most < 256 ? in[i] : (uint32_t)in[2 * i] << 8 | in[2 * i + 1];
        row[i] = value >= r->most ? 255 : scale(r, value);
    }
}

/* Rows outside the requested area are read as well in text, where each may be malformed. */
static fg_status decode(fg_image_decoder *decoder, const fgi_image_file *file,
                        const fgi_image_request *request, fg_error *err)
{
    reader r;
    FGI_TRY(read_header(file, &r, err));
    const size_t bytes = row_bytes(&r);
    if (!is_text(&r) && r.height > 0 && bytes > (file->size - r.at) / (size_t)r.height) {
        r.at = file->size;
        return fail(&r, "");
    }
    FGI_TRY(fgi_pixel_block_reserve(&decoder->rows, (size_t)(r.width * channels_of(&r)), err));
    uint8_t *row = decoder->rows.data;
    for (int64_t y = 0; y < r.height; y++) {
        if (is_text(&r))
            FGI_TRY(read_text(&r, row));
        else if (y >= request->y && y < request->y + request->image->height)
            read_binary(&r, file->data + r.at + (size_t)y * bytes, row);
        fgi_put_row(request, y, channels_of(&r) == 3 ? FGI_RGB : FGI_GRAY, row);
    }
    return FG_OK;
}

const fgi_image_codec fgi_pnm_codec = {
    .name = "PNM",
    .format = FG_IMAGE_PNM,
    .max_scale = 1,
    .matches = matches,
    .probe = probe,
    .decode = decode,
};
