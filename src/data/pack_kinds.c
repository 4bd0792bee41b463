/* pack_kinds.c - how a record of a pack becomes a sample: a row per codec.
 *
 * Encoded images are decoded as image files are. Raw pixels are used where they are, in the
 * mapping. Planes and DCT coefficients are copied into the batch; the device computes the pixels
 * (src/decode). Arrays are the fields of the pack, one after the other.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "data/encoding.h"
#include "data/pack_samples.h"
#include "data/stages.h"
#include "image/jpeg_segment_record.h"
#include "image/pixels.h"
#include "image/ycc.h"

/* ---- encoded images -------------------------------------------------------------------------- */

static fg_status read_file(const fgi_pack_samples *s, fgi_image_worker *worker,
                           const fgi_pack_sample *sample, uint8_t *out, fg_error *err)
{
    char name[FGI_PACK_SAMPLE_NAME];
    const fgi_encoded_image encoded = {.name = fgi_pack_sample_name(s, sample, name),
                                       .data = sample->data,
                                       .size = sample->entry.size_bytes};
    return fgi_image_rule_decode(&s->rule, worker, &encoded, sample->epoch, sample->index, out,
                                 err);
}

static fg_status read_segments(const fgi_pack_samples *s, fgi_image_worker *worker,
                               const fgi_pack_sample *sample, uint8_t *out, fg_error *err)
{
    char name[FGI_PACK_SAMPLE_NAME];
    fgi_jpeg_record record;
    FGI_TRY(fgi_jpeg_record_split(fgi_pack_sample_name(s, sample, name), sample->data,
                                  sample->entry.size_bytes, &record, err));
    const fgi_encoded_image encoded = {.name = name,
                                       .data = record.bytes,
                                       .size = record.size,
                                       .segments = record.table,
                                       .segments_size = record.table_size};
    return fgi_image_rule_decode(&s->rule, worker, &encoded, sample->epoch, sample->index, out,
                                 err);
}

/* ---- raw pixels ------------------------------------------------------------------------------ */

/* The record must have the bytes of width x height pixels, and of `chroma` more samples. */
static fg_status check_size(const fgi_pack_samples *s, const fgi_pack_sample *sample,
                            uint64_t channels, uint64_t chroma, fg_error *err)
{
    const fg_pack_entry *e = &sample->entry;
    const uint64_t pixels = (uint64_t)e->width * e->height;
    if (e->width > 0 && e->height > 0 && pixels <= INT32_MAX &&
        pixels * channels + chroma == e->size_bytes)
        return FG_OK;
    char name[FGI_PACK_SAMPLE_NAME];
    return fgi_fail(err, FG_EFORMAT,
                    "%s: %" PRIu32 " bytes are not the pixels of an image of %" PRIu32 " x %" PRIu32
                    " pixels",
                    fgi_pack_sample_name(s, sample, name), e->size_bytes, e->width, e->height);
}

/* The whole pixels that a cut needs. */
typedef struct area {
    int64_t x, y, width, height;
} area;

static area area_of(const fg_image_box *box, const fg_pack_entry *entry)
{
    const area a = {.x = (int64_t)floor(box->x), .y = (int64_t)floor(box->y)};
    const int64_t right = (int64_t)ceil(box->x + box->width);
    const int64_t bottom = (int64_t)ceil(box->y + box->height);
    return (area){a.x, a.y, (right < entry->width ? right : entry->width) - a.x,
                  (bottom < entry->height ? bottom : entry->height) - a.y};
}

/* Resizes the area of the cut that was converted to worker->image. */
static fg_status resize_area(const fgi_pack_samples *s, fgi_image_worker *worker, fgi_image_cut cut,
                             const area *a, uint8_t *out, fg_error *err)
{
    cut.box.x -= (double)a->x;
    cut.box.y -= (double)a->y;
    return fgi_image_rule_resize(&s->rule, worker, &worker->image, &cut, out, err);
}

static fg_status read_gray(const fgi_pack_samples *s, fgi_image_worker *worker,
                           const fgi_pack_sample *sample, const fgi_image_cut *cut, uint8_t *out,
                           fg_error *err)
{
    const area a = area_of(&cut->box, &sample->entry);
    FGI_TRY(fg_image_reserve(&worker->image, a.width, a.height, 1, err));
    const fgi_image_request request = {.x = a.x, .y = a.y, .image = &worker->image, .scale = 1};
    const size_t stride = (size_t)sample->entry.width * 3;
    for (int64_t y = a.y; y < a.y + a.height; y++)
        fgi_put_row(&request, y, FGI_RGB, sample->data + (size_t)y * stride);
    return resize_area(s, worker, *cut, &a, out, err);
}

static fgi_image_cut cut_of(const fgi_pack_samples *s, const fgi_pack_sample *sample)
{
    return fgi_image_rule_cut(&s->rule, sample->epoch, sample->index, sample->entry.width,
                              sample->entry.height);
}

/* The bytes as an image, which is only read. */
static fg_image borrow(const fgi_pack_sample *sample, int channels)
{
    return (fg_image){.pixels = (uint8_t *)sample->data,
                      .width = sample->entry.width,
                      .height = sample->entry.height,
                      .channels = channels};
}

static fg_status read_rgb(const fgi_pack_samples *s, fgi_image_worker *worker,
                          const fgi_pack_sample *sample, uint8_t *out, fg_error *err)
{
    FGI_TRY(check_size(s, sample, 3, 0, err));
    const fgi_image_cut cut = cut_of(s, sample);
    if (s->rule.options.channels == 1)
        return read_gray(s, worker, sample, &cut, out, err);
    const fg_image image = borrow(sample, 3);
    return fgi_image_rule_resize(&s->rule, worker, &image, &cut, out, err);
}

static fg_status check_ycc(const fgi_pack_samples *s, const fgi_pack_sample *sample, fg_error *err)
{
    const fg_pack_entry *e = &sample->entry;
    const uint64_t chroma = 2 * (((uint64_t)e->width + 1) / 2) * (((uint64_t)e->height + 1) / 2);
    return check_size(s, sample, 1, chroma, err);
}

static fg_status read_ycc(const fgi_pack_samples *s, fgi_image_worker *worker,
                          const fgi_pack_sample *sample, uint8_t *out, fg_error *err)
{
    const fg_pack_entry *e = &sample->entry;
    FGI_TRY(check_ycc(s, sample, err));
    const fgi_image_cut cut = cut_of(s, sample);
    if (s->rule.options.channels == 1) {
        const fg_image luma = borrow(sample, 1);
        return fgi_image_rule_resize(&s->rule, worker, &luma, &cut, out, err);
    }
    const area a = area_of(&cut.box, e);
    FGI_TRY(fg_image_reserve(&worker->image, a.width, a.height, 3, err));
    (void)fgi_load_enter(FGI_LOAD_DECODE);
    fgi_ycc_to_rgb(sample->data, e->width, e->height, a.x, a.y, &worker->image);
    (void)fgi_load_enter(FGI_LOAD_COPY);
    return resize_area(s, worker, cut, &a, out, err);
}

/* ---- planes -----------------------------------------------------------------------------------
 * Only if the host has nothing else to do: all records have one size, which is that of the samples,
 * and are not cropped. */

/* Whether samples are whole images of this size. */
static bool takes_whole(const fg_images_options *o, int64_t width, int64_t height)
{
    if (o->channels != 3 || o->width != width || o->height != height)
        return false;
    if (o->crop == FG_IMAGE_CROP_WINDOW)
        return o->flip_probability == 0;
    return o->crop == FG_IMAGE_CROP_CENTER && o->center_fraction == 1;
}

static fg_status keeps_planes(const fgi_pack_samples *s, bool *out, fg_error *err)
{
    const fg_images_options *o = &s->rule.options;
    fgi_pack_columns columns = {0};
    *out = s->options.keep_planes && fg_pack_count(s->pack) > 0;
    for (int64_t i = 0; *out && i < fg_pack_count(s->pack); i++) {
        FGI_TRY(fgi_pack_columns_at(s->pack, i, &columns, err));
        const int64_t at = i - columns.first;
        if ((columns.flags[at] & FG_PACK_LOST) == 0)
            *out = columns.codec[at] == FG_PACK_RAW_YCC420 &&
                   takes_whole(o, columns.width[at], columns.height[at]);
    }
    return FG_OK;
}

static fg_status read_planes(const fgi_pack_samples *s, fgi_image_worker *worker,
                             const fgi_pack_sample *sample, void *const *out_fields, fg_error *err)
{
    (void)worker;
    FGI_TRY(check_ycc(s, sample, err));
    memcpy(out_fields[0], sample->data, sample->entry.size_bytes);
    return FG_OK;
}

static const fgi_sample_kind plane_samples = {.read = read_planes};

static fg_status prepare_images(fgi_pack_samples *s, fg_error *err)
{
    bool has_planes;
    FGI_TRY(keeps_planes(s, &has_planes, err));
    if (!has_planes)
        return FG_OK;
    s->kind = &plane_samples;
    s->encoding = (fg_image_encoding){.coding = FG_IMAGE_YCC420,
                                      .width = s->rule.options.width,
                                      .height = s->rule.options.height,
                                      .channels = 3};
    return FG_OK;
}

/* ---- coefficients -----------------------------------------------------------------------------
 * All entries of a batch have the same layout, which is that of the first record; how many
 * coefficients need two bytes follows from the flags of all records in the index. */

enum { HIGH_BITS = 127 };

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
static fg_status prepare_coefficients(fgi_pack_samples *s, fg_error *err)
{
    fgi_pack_columns columns = {0};
    FGI_TRY(find_layout(s, err));
    for (int64_t i = 0; i < fg_pack_count(s->pack); i++) {
        FGI_TRY(fgi_pack_columns_at(s->pack, i, &columns, err));
        FGI_TRY(add_record(s, &columns, i, err));
    }
    return fg_pack_intact(s->pack, err);
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

/* ---- arrays ---------------------------------------------------------------------------------- */

static fg_status read_arrays(const fgi_pack_samples *s, fgi_image_worker *worker,
                             const fgi_pack_sample *sample, void *const *out_fields, fg_error *err)
{
    const fg_pack_info *info = fg_pack_info_of(s->pack);
    size_t size = 0;
    for (int f = 0; f < info->field_count; f++)
        size += s->row_bytes[f];
    if (size != sample->entry.size_bytes) {
        char name[FGI_PACK_SAMPLE_NAME];
        return fgi_fail(err, FG_EFORMAT, "%s has %u bytes, but its fields have %zu",
                        fgi_pack_sample_name(s, sample, name), (unsigned)sample->entry.size_bytes,
                        size);
    }
    const uint8_t *from = sample->data;
    for (int f = 0; f < info->field_count; f++) {
        memcpy(out_fields[f], from, s->row_bytes[f]);
        from += s->row_bytes[f];
    }
    return FG_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static fg_status read_image(const fgi_pack_samples *s, fgi_image_worker *worker,
                            const fgi_pack_sample *sample, void *const *out_fields, fg_error *err);

const fgi_sample_kind fgi_image_samples = {.prepare = prepare_images, .read = read_image};
const fgi_sample_kind fgi_array_samples = {.read = read_arrays};
static const fgi_sample_kind coefficient_samples = {.prepare = prepare_coefficients,
                                                    .read = read_coefficients};

/* A codec; of images: how its records become pixels, u8[height, width, channels], as the rule of
 * the dataset says. */
static const struct codec {
    fg_pack_codec codec;
    const fgi_sample_kind *kind;
    fg_status (*read)(const fgi_pack_samples *s, fgi_image_worker *worker,
                      const fgi_pack_sample *sample, uint8_t *out, fg_error *err);
} codecs[] = {
    {FG_PACK_FILE, &fgi_image_samples, read_file},
    {FG_PACK_JPEG, &fgi_image_samples, read_file},
    {FG_PACK_JPEG_SEG, &fgi_image_samples, read_segments},
    {FG_PACK_RAW_RGB, &fgi_image_samples, read_rgb},
    {FG_PACK_RAW_YCC420, &fgi_image_samples, read_ycc},
    {FG_PACK_ARRAYS, &fgi_array_samples, NULL},
    {FG_PACK_DCT, &coefficient_samples, NULL},
};

static const struct codec *find(fg_pack_codec codec)
{
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++)
        if (codecs[i].codec == codec)
            return &codecs[i];
    return NULL;
}

const fgi_sample_kind *fgi_pack_kind_of(fg_pack_codec codec)
{
    const struct codec *row = find(codec);
    return row != NULL ? row->kind : NULL;
}

/* The codec is that of the record, which was checked when the dataset was created. */
static fg_status read_image(const fgi_pack_samples *s, fgi_image_worker *worker,
                            const fgi_pack_sample *sample, void *const *out_fields, fg_error *err)
{
    const struct codec *row = find(sample->entry.codec);
    if (row != NULL && row->read != NULL)
        return row->read(s, worker, sample, out_fields[0], err);
    char name[FGI_PACK_SAMPLE_NAME];
    return fgi_fail(err, FG_EUNSUPPORTED, "%s: codec %d is not an image",
                    fgi_pack_sample_name(s, sample, name), (int)sample->entry.codec);
}
