/* pack_coefficients.c - samples of records that are DCT coefficients, unpacked straight into
 * the batch; the device computes the pixels (src/decode). All entries of a batch have the same
 * layout, which is that of the first record; how many coefficients need two bytes follows from the
 * flags of all records in the index.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/error.h"
#include "data/encoding.h"
#include "data/pack_samples.h"
#include "data/stages.h"

enum { HIGH_BITS = 127 };

static bool can_read(fg_pack_codec codec) { return codec == FG_PACK_DCT; }

static fg_status open_record(const fgi_pack_samples *s, int64_t record, fgi_jpeg_coefficients *out,
                             fg_error *err)
{
    char name[FGI_PACK_SAMPLE_NAME];
    fgi_pack_sample sample = {.record = record};
    const void *data;
    FGI_TRY(fgi_pack_record(s->pack, record, &sample.entry, &data, err));
    return fgi_jpeg_coefficients_open(fgi_pack_sample_name(s, &sample, name), data,
                                      sample.entry.size_bytes, out, err);
}

/* Whether a record has the layout of the dataset. */
static bool is_same(const fg_image_encoding *encoding, const fgi_jpeg_coefficients *record)
{
    bool same = record->width == encoding->width && record->height == encoding->height &&
                record->components == encoding->components;
    for (int i = 0; same && i < record->components; i++)
        same = record->component[i].h == encoding->h[i] && record->component[i].v == encoding->v[i];
    return same;
}

static fg_status differs(const fgi_pack_samples *s, const fgi_pack_sample *sample,
                         const fg_pack_entry *entry, fg_error *err)
{
    char name[FGI_PACK_SAMPLE_NAME];
    return fgi_fail(err, FG_EINVAL,
                    "%s has %" PRIu32 " x %" PRIu32 " pixels, but the first record has %" PRId64
                    " x %" PRId64 ": all images of a pack of DCT coefficients must have the same "
                    "size and chroma sampling\nbuild the pack with one size for all images",
                    fgi_pack_sample_name(s, sample, name), entry->width, entry->height,
                    s->encoding.width, s->encoding.height);
}

/* Raises encoding.high to what a record needs. */
static fg_status add_record(fgi_pack_samples *s, const fgi_pack_columns *columns, int64_t record,
                            fg_error *err)
{
    const int64_t at = record - columns->first;
    int high = columns->flags[at] & HIGH_BITS;
    if ((columns->flags[at] & FG_PACK_LOST) != 0)
        return FG_OK;
    if (columns->width[at] != s->encoding.width || columns->height[at] != s->encoding.height) {
        fgi_pack_sample sample = {.record = record};
        FGI_TRY(fg_pack_entry_at(s->pack, record, &sample.entry, err));
        return differs(s, &sample, &sample.entry, err);
    }
    if (high == 0) { /* not known */
        fgi_jpeg_coefficients opened;
        const fg_status status = open_record(s, record, &opened, err);
        if (status != FG_OK)
            return status == FG_EFORMAT ? FG_OK : status; /* reported when it is read */
        high = fgi_jpeg_coefficients_high(&opened);
    }
    if (high > s->encoding.high)
        s->encoding.high = high;
    return FG_OK;
}

/* The layout of the first record that can be read. */
static fg_status find_layout(fgi_pack_samples *s, fg_error *err)
{
    fgi_jpeg_coefficients record;
    fg_status status = FG_EFORMAT;
    for (int64_t i = 0; i < fg_pack_count(s->pack) && status == FG_EFORMAT; i++)
        status = open_record(s, i, &record, err);
    if (status != FG_OK)
        return status;
    s->encoding = (fg_image_encoding){.coding = FG_IMAGE_DCT,
                                      .width = record.width,
                                      .height = record.height,
                                      .channels = (int)s->rule.options.channels,
                                      .components = record.components,
                                      .high = 1};
    for (int i = 0; i < record.components; i++) {
        s->encoding.h[i] = record.component[i].h;
        s->encoding.v[i] = record.component[i].v;
    }
    return FG_OK;
}

/* Of all records, so that datasets of different splits of a pack have the same type. */
static fg_status prepare(fgi_pack_samples *s, fg_error *err)
{
    fgi_pack_columns columns = {0};
    FGI_TRY(find_layout(s, err));
    for (int64_t i = 0; i < fg_pack_count(s->pack); i++) {
        FGI_TRY(fgi_pack_columns_at(s->pack, i, &columns, err));
        FGI_TRY(add_record(s, &columns, i, err));
    }
    return fg_pack_intact(s->pack, err);
}

static fg_status describe(const fgi_pack_samples *s, fg_field out[FG_MAX_FIELDS], int *out_count,
                          fg_error *err)
{
    const int64_t bytes = (int64_t)fgi_encoding_bytes(&s->encoding);
    out[0] = (fg_field){"image", {.dtype = FG_S8, .rank = 1, .dim = {bytes}}};
    *out_count = 1;
    return FG_OK;
}

static fg_status read_coefficients(const fgi_pack_samples *s, fgi_image_worker *worker,
                                   const fgi_pack_sample *sample, void *const *out_fields,
                                   fg_error *err)
{
    char name[FGI_PACK_SAMPLE_NAME];
    fgi_jpeg_coefficients record;
    (void)fgi_load_enter(FGI_LOAD_DECODE);
    FGI_TRY(fgi_jpeg_coefficients_open(fgi_pack_sample_name(s, sample, name), sample->data,
                                       sample->entry.size_bytes, &record, err));
    if (!is_same(&s->encoding, &record))
        return differs(s, sample, &sample->entry, err);
    return fgi_jpeg_coefficients_entry(name, &record, s->encoding.high, out_fields[0], err);
}

const fgi_sample_kind fgi_coefficient_samples = {
    .can_read = can_read, .prepare = prepare, .describe = describe, .read = read_coefficients};
