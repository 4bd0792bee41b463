/* record_image.c - the pixels of a record of a pack, whatever its codec.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/pack_export.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "image/jpeg_coefficients.h"
#include "image/jpeg_segment_record.h"
#include "image/ycc.h"
#include "image/ycc420.h"

/* A record that is decoded. */
typedef struct source {
    const char *name; /* for messages */
    const fg_pack_entry *entry;
    const uint8_t *data;
    size_t size;
} source;

/* `expected` bytes, for at most 2^32 pixels: more do not fit in a record. */
static fg_status check_size(const source *s, uint64_t expected, fg_error *err)
{
    if (s->size == expected && (uint64_t)s->entry->width * s->entry->height <= UINT32_MAX)
        return FG_OK;
    return fgi_fail(err, FG_EFORMAT,
                    "%s: the record has %zu bytes: expected %" PRIu64
                    " for %u x %u pixels of codec %s",
                    s->name, s->size, expected, (unsigned)s->entry->width,
                    (unsigned)s->entry->height, fg_pack_codec_name(s->entry->codec));
}

static fg_status copy_pixels(int64_t width, int64_t height, int channels, const uint8_t *pixels,
                             fg_image *out, fg_error *err)
{
    FGI_TRY(fg_image_reserve(out, width, height, channels, err));
    memcpy(out->pixels, pixels, (size_t)width * (size_t)height * (size_t)channels);
    return FG_OK;
}

static fg_status decode_raw(const source *s, fg_image *out, fg_error *err)
{
    const uint64_t pixels = (uint64_t)s->entry->width * s->entry->height;
    FGI_TRY(check_size(s, 3 * pixels, err));
    return copy_pixels(s->entry->width, s->entry->height, 3, s->data, out, err);
}

static fg_status decode_ycc(const source *s, fg_image *out, fg_error *err)
{
    const int64_t width = s->entry->width, height = s->entry->height;
    FGI_TRY(check_size(s, fgi_ycc420_bytes(width, height), err));
    FGI_TRY(fg_image_reserve(out, width, height, 3, err));
    fgi_ycc_to_rgb(s->data, width, height, 0, 0, out);
    return FG_OK;
}

/* ---- coefficients ---------------------------------------------------------------------------- */

static uint8_t to_byte(float value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5F);
}

typedef struct coefficients {
    void *dense;
    int16_t *wide;
    float *rgb;
} coefficients;

static fg_status unpack(const source *s, const fgi_jpeg_coefficients *record, coefficients *c,
                        fg_image *out, fg_error *err)
{
    const size_t values = 3 * (size_t)record->width * (size_t)record->height;
    c->dense = fgi_alloc(fgi_jpeg_dense_bytes(record->blocks));
    c->wide = fgi_alloc(64 * record->blocks * sizeof *c->wide);
    c->rgb = fgi_alloc(values * sizeof *c->rgb);
    if (c->dense == NULL || c->wide == NULL || c->rgb == NULL)
        return fgi_no_memory(err);
    FGI_TRY(fgi_jpeg_coefficients_unpack(s->name, record, c->dense, err));
    fgi_jpeg_coefficients_widen(record, c->dense, c->wide);
    FGI_TRY(fgi_jpeg_coefficients_to_rgb(record, c->wide, c->rgb, err));
    FGI_TRY(fg_image_reserve(out, record->width, record->height, 3, err));
    for (size_t i = 0; i < values; i++)
        out->pixels[i] = to_byte(c->rgb[i]);
    return FG_OK;
}

static fg_status decode_dct(const source *s, fg_image *out, fg_error *err)
{
    fgi_jpeg_coefficients record;
    coefficients c = {0};
    FGI_TRY(fgi_jpeg_coefficients_open(s->name, s->data, s->size, &record, err));
    const fg_status status = unpack(s, &record, &c, out, err);
    fgi_free(c.dense);
    fgi_free(c.wide);
    fgi_free(c.rgb);
    return status;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static bool is_image(const fg_type *type)
{
    return type->dtype == FG_U8 &&
           (type->rank == 2 || (type->rank == 3 && (type->dim[2] == 1 || type->dim[2] == 3)));
}

static fg_status decode_arrays(const source *s, const fg_pack_info *info, fg_image *out,
                               fg_error *err)
{
    size_t offset = 0;
    for (int i = 0; i < info->field_count; i++) {
        const fg_type *type = &info->fields[i].type;
        const size_t bytes = fg_type_bytes(type);
        if (offset + bytes > s->size)
            break;
        if (is_image(type))
            return copy_pixels(type->dim[1], type->dim[0], type->rank == 3 ? (int)type->dim[2] : 1,
                               s->data + offset, out, err);
        offset += bytes;
    }
    return fgi_fail(err, FG_EUNSUPPORTED,
                    "%s: the record is not an image: expected a field u8[height,width,1] or "
                    "u8[height,width,3]",
                    s->name);
}

/* ---- any record ------------------------------------------------------------------------------ */

static fg_status decode(const source *s, const fg_pack_info *info, fg_image_decoder *decoder,
                        fg_image *out, fg_error *err)
{
    fgi_jpeg_record jpeg;
    switch (s->entry->codec) {
    case FG_PACK_FILE:
    case FG_PACK_JPEG: return fg_image_decode(decoder, s->name, s->data, s->size, NULL, out, err);
    case FG_PACK_JPEG_SEG:
        FGI_TRY(fgi_jpeg_record_split(s->name, s->data, s->size, &jpeg, err));
        return fg_image_decode(decoder, s->name, jpeg.bytes, jpeg.size, NULL, out, err);
    case FG_PACK_RAW_RGB: return decode_raw(s, out, err);
    case FG_PACK_RAW_YCC420: return decode_ycc(s, out, err);
    case FG_PACK_DCT: return decode_dct(s, out, err);
    case FG_PACK_ARRAYS: return decode_arrays(s, info, out, err);
    default:
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: unknown codec %d: the record was written by a newer version", s->name,
                        (int)s->entry->codec);
    }
}

fg_status fg_pack_image(fg_pack *pack, int64_t record, fg_image_decoder *decoder, fg_image *out,
                        fg_error *err)
{
    fg_pack_entry entry;
    const void *data;
    char name[512];
    source s = {.name = name, .entry = &entry};
    FGI_TRY(fg_pack_entry_at(pack, record, &entry, err));
    FGI_TRY(fg_pack_record(pack, record, &data, &s.size, err));
    s.data = data;
    (void)fgi_text_escape(fgi_str_of(entry.name), name, sizeof name);
    const fg_status status = decode(&s, fg_pack_info_of(pack), decoder, out, err);
    /* pages of a file that has shrunk were zeros: that is the cause of any other failure, too */
    FGI_TRY(fg_pack_intact(pack, err));
    return status;
}
