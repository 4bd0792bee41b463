/* decode_bmp.c - BMP: palettes of 1 to 8 bits, run-length encoded or not, 16 to 32 bits with any
 * masks, all header versions. Source: Microsoft, "Bitmap Storage", BITMAPV5HEADER, and "Bitmap
 * Compression".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "image/decoder.h"
#include "image/pixels.h"

enum { FILE_HEADER = 14, CORE = 12, INFO = 40, WITH_ALPHA = 56, LARGEST = 124 };
enum { RGB = 0, RLE8 = 1, RLE4 = 2, MASKS = 3, ALPHA_MASKS = 6 };

/* Part of a pixel of 16 or 32 bits: (pixel & mask) >> shift, of at most `most`. */
typedef struct channel {
    uint32_t mask, most;
    int shift;
} channel;

typedef struct header {
    const fgi_image_file *file;
    int64_t width, height;
    bool is_top_down;
    uint32_t bits, compression;
    size_t pixels;       /* byte offset */
    size_t stride;       /* bytes from row to row */
    channel channels[4]; /* red, green, blue, alpha */
    uint8_t palette[256 * 3];
    fg_error *err;
} header;

static bool matches(const fgi_image_file *file)
{
    return file->size >= 2 && file->data[0] == 'B' && file->data[1] == 'M';
}

static uint32_t u16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }

static uint32_t u32(const uint8_t *p) { return u16(p) | u16(p + 2) << 16; }

static fg_status truncated(const header *h)
{
    return fgi_image_corrupt(h->file, h->file->size, h->err,
                             "truncated BMP: the file ends before the image does");
}

static fg_status unsupported(const header *h, const char *what, uint32_t number)
{
    return fgi_fail(h->err, FG_EUNSUPPORTED, "%s: unsupported BMP: %s %u", h->file->name, what,
                    number);
}

static bool has_alpha(const header *h) { return h->bits > 8 && h->channels[3].mask != 0; }

/* ---- the header ------------------------------------------------------------------------------ */

static bool set_channel(channel *c, uint32_t mask)
{
    *c = (channel){.mask = mask};
    while (mask != 0 && (mask >> c->shift & 1) == 0)
        c->shift++;
    c->most = mask >> c->shift;
    return (c->most & ((uint64_t)c->most + 1)) == 0; /* the bits are adjacent */
}

/* Masks are in the header, or after it if it is an older one. */
static fg_status read_masks(header *h, uint32_t size, size_t *end)
{
    static const uint32_t of_16[] = {0x7c00, 0x3e0, 0x1f, 0}, of_32[] = {0xff0000, 0xff00, 0xff, 0};
    const bool has_masks = h->compression == MASKS || h->compression == ALPHA_MASKS;
    const bool has_fourth = size == INFO ? h->compression == ALPHA_MASKS : size >= WITH_ALPHA;
    const size_t start = FILE_HEADER + INFO, count = has_fourth ? 4 : 3;
    if (has_masks && *end < start + 4 * count)
        *end = start + 4 * count;
    if (*end > h->file->size)
        return truncated(h);
    for (size_t i = 0; i < 4; i++) {
        uint32_t mask = h->bits == 16 ? of_16[i] : of_32[i];
        if (has_masks)
            mask = i < count ? u32(h->file->data + start + 4 * i) : 0;
        if (!set_channel(&h->channels[i], mask))
            return unsupported(h, "mask", mask);
    }
    return FG_OK;
}

/* Colors that are not in the palette are black. */
static fg_status read_palette(header *h, uint32_t size, uint32_t used, size_t *end)
{
    const size_t entry = size == CORE ? 3 : 4, most = (size_t)1 << h->bits;
    size_t count = used == 0 || used > most ? most : used;
    if (h->pixels >= *end && count > (h->pixels - *end) / entry) /* the pixels begin earlier */
        count = (h->pixels - *end) / entry;
    if (count * entry > h->file->size - *end)
        return truncated(h);
    const uint8_t *colors = h->file->data + *end;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < 3; c++)
            h->palette[3 * i + c] = colors[entry * i + 2 - c];
    *end += count * entry;
    return FG_OK;
}

/* The fields that all versions but the first have. */
static void read_info(header *h, const uint8_t *p, uint32_t *out_used)
{
    const int64_t height = (int32_t)u32(p + 8);
    h->width = (int32_t)u32(p + 4);
    h->height = height < 0 ? -height : height;
    h->is_top_down = height < 0;
    h->bits = u16(p + 14);
    h->compression = u32(p + 16);
    *out_used = u32(p + 32);
}

static fg_status check_kind(const header *h)
{
    const uint32_t bits = h->bits;
    const bool is_known =
        bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
    const bool has_masks = h->compression == MASKS || h->compression == ALPHA_MASKS;
    if (!is_known)
        return unsupported(h, "bits per pixel", bits);
    if (!(h->compression == RGB || (h->compression == RLE8 && bits == 8) ||
          (h->compression == RLE4 && bits == 4) || (has_masks && (bits == 16 || bits == 32))))
        return unsupported(h, "compression", h->compression);
    if (h->width <= 0 || h->height == 0)
        return fgi_image_corrupt(h->file, FILE_HEADER + 4, h->err,
                                 "the BMP has a width or height below 1");
    return FG_OK;
}

static fg_status read_header(const fgi_image_file *file, header *h, fg_error *err)
{
    const uint8_t *p = file->data + FILE_HEADER;
    memset(h, 0, sizeof *h);
    h->file = file;
    h->err = err;
    if (file->size < FILE_HEADER + CORE)
        return truncated(h);
    const uint32_t size = u32(p);
    if (size != CORE && (size < INFO || size > LARGEST))
        return unsupported(h, "size of the header", size);
    if (file->size < FILE_HEADER + size)
        return truncated(h);
    uint32_t used = 0;
    if (size == CORE) {
        h->width = u16(p + 4);
        h->height = u16(p + 6);
        h->bits = u16(p + 10);
    } else {
        read_info(h, p, &used);
    }
    FGI_TRY(check_kind(h));
    size_t end = FILE_HEADER + (size_t)size;
    h->pixels = u32(file->data + 10);
    FGI_TRY(read_masks(h, size, &end));
    if (h->bits <= 8)
        FGI_TRY(read_palette(h, size, used, &end));
    if (h->pixels < end)
        h->pixels = end;
    h->stride = ((size_t)h->width * h->bits + 31) / 32 * 4;
    return FG_OK;
}

static fg_status probe(const fgi_image_file *file, fg_image_info *out, fg_error *err)
{
    header h;
    FGI_TRY(read_header(file, &h, err));
    out->width = h.width;
    out->height = h.height;
    out->channels = has_alpha(&h) ? 4 : 3;
    out->bits = h.bits <= 8 ? (int)h.bits : h.bits == 16 ? 5 : 8;
    return FG_OK;
}

/* ---- run-length encoding --------------------------------------------------------------------- */

/* Indices of the image, a byte each, in the order of the file, and the place of the next one. */
typedef struct runs {
    const header *h;
    uint8_t *indices;
    int64_t x, y;
    size_t at;
    bool is_end;
} runs;

static uint8_t index_in(const runs *r, const uint8_t *p, size_t i)
{
    return (uint8_t)(r->h->bits == 8 ? p[i] : p[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15);
}

static void put_index(runs *r, uint8_t index)
{
    if (r->x < r->h->width && r->y < r->h->height)
        r->indices[r->y * r->h->width + r->x] = index;
    r->x += r->x < r->h->width;
}

/* Two bytes of 0 and `code`, and what follows them. */
static fg_status escape(runs *r, uint8_t code)
{
    const uint8_t *p = r->h->file->data + r->at;
    const size_t left = r->h->file->size - r->at;
    const size_t bytes = code == 2 ? 2 : code < 2 ? 0 : r->h->bits == 8 ? code : (code + 1u) / 2;
    if (left < bytes)
        return truncated(r->h);
    r->at += code > 2 ? (bytes + 1) / 2 * 2 : bytes;
    r->at = r->at > r->h->file->size ? r->h->file->size : r->at;
    if (code == 0) {
        r->x = 0;
        r->y++;
    } else if (code == 2) {
        r->x = r->x + p[0] < r->h->width ? r->x + p[0] : r->h->width;
        r->y += p[1];
    }
    r->is_end = code == 1;
    for (size_t i = 0; code > 2 && i < code; i++)
        put_index(r, index_in(r, p, i));
    return FG_OK;
}

/* Pixels that are skipped have the first color. */
static fg_status read_runs(const header *h, uint8_t *indices)
{
    runs r = {.h = h, .indices = indices, .at = h->pixels};
    memset(indices, 0, (size_t)(h->width * h->height));
    while (!r.is_end && r.y < h->height) {
        if (r.at > h->file->size || h->file->size - r.at < 2)
            return r.y == h->height - 1 && r.x == h->width ? FG_OK : truncated(h);
        const uint8_t *p = h->file->data + r.at;
        r.at += 2;
        if (p[0] == 0)
            FGI_TRY(escape(&r, p[1]));
        for (size_t i = 0; i < p[0]; i++)
            put_index(&r, h->bits == 8 ? p[1] : index_in(&r, p + 1, i % 2));
    }
    return FG_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void put_channels(const header *h, const uint8_t *pixel, int count, uint8_t *out)
{
    const uint32_t bits = h->bits == 16 ? u16(pixel) : u32(pixel);
    for (int c = 0; c < count; c++) {
        const channel *part = &h->channels[c];
        const uint64_t value = (bits & part->mask) >> part->shift;
        out[c] = (uint8_t)(part->most > 0 ? value * 255 / part->most : 0);
    }
}

/* One row to RGB or RGBA. Runs have been decoded to a byte per pixel. */
static void convert(const header *h, bool is_run, const uint8_t *in, uint8_t *out)
{
    const uint32_t bits = is_run ? 8 : h->bits;
    const int count = has_alpha(h) ? 4 : 3;
    for (size_t x = 0; x < (size_t)h->width; x++, out += count) {
        const size_t bit = x * bits;
        const uint8_t *pixel = in + bit / 8;
        if (bits == 24) {
            const uint8_t rgb[] = {pixel[2], pixel[1], pixel[0]};
            memcpy(out, rgb, 3);
        } else if (bits > 8) {
            put_channels(h, pixel, count, out);
        } else {
            const size_t index = *pixel >> (8 - bits - bit % 8) & ((1u << bits) - 1);
            memcpy(out, h->palette + 3 * index, 3);
        }
    }
}

/* Bytes for the indices of runs; 0: none. */
static size_t run_bytes(const header *h)
{
    const bool is_run = h->compression == RLE8 || h->compression == RLE4;
    return is_run ? (size_t)(h->width * h->height) : 0;
}

static size_t memory(const fgi_image_file *file, const fg_image_info *info)
{
    header h;
    fg_error ignored;
    return read_header(file, &h, &ignored) == FG_OK ? run_bytes(&h) : 0;
}

static fg_status decode(fg_image_decoder *decoder, const fgi_image_file *file,
                        const fgi_image_request *request, fg_error *err)
{
    header h;
    FGI_TRY(read_header(file, &h, err));
    const size_t indices = run_bytes(&h), stride = indices > 0 ? (size_t)h.width : h.stride;
    const size_t last = ((size_t)h.width * h.bits + 7) / 8; /* which may have no padding */
    const size_t needed = stride * (size_t)(h.height - 1) + last;
    if (indices == 0 && (h.pixels > file->size || file->size - h.pixels < needed))
        return truncated(&h);
    FGI_TRY(fgi_pixel_block_reserve(&decoder->rows, indices + 4 * (size_t)h.width, err));
    uint8_t *converted = decoder->rows.data + indices;
    if (indices > 0)
        FGI_TRY(read_runs(&h, decoder->rows.data));
    const uint8_t *rows = indices > 0 ? decoder->rows.data : file->data + h.pixels;
    for (int64_t y = request->y; y < request->y + request->image->height; y++) {
        const int64_t row = h.is_top_down ? y : h.height - 1 - y;
        convert(&h, indices > 0, rows + (size_t)row * stride, converted);
        fgi_put_row(request, y, has_alpha(&h) ? FGI_RGBA : FGI_RGB, converted);
    }
    return FG_OK;
}

const fgi_image_codec fgi_bmp_codec = {
    .name = "BMP",
    .format = FG_IMAGE_BMP,
    .max_scale = 1,
    .matches = matches,
    .probe = probe,
    .decode = decode,
    .memory = memory,
};
