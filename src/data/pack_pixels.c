/* pack_pixels.c - samples of records that are images: a row per codec.
 *
 * Encoded images are decoded as image files are. Raw pixels are used where they are, in the
 * mapping.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
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

fg_status fgi_pack_check_ycc(const fgi_pack_samples *s, const fgi_pack_sample *sample,
                             fg_error *err)
{
    const fg_pack_entry *e = &sample->entry;
    const uint64_t chroma = 2 * (((uint64_t)e->width + 1) / 2) * (((uint64_t)e->height + 1) / 2);
    return check_size(s, sample, 1, chroma, err);
}

static fg_status read_ycc(const fgi_pack_samples *s, fgi_image_worker *worker,
                          const fgi_pack_sample *sample, uint8_t *out, fg_error *err)
{
    const fg_pack_entry *e = &sample->entry;
    FGI_TRY(fgi_pack_check_ycc(s, sample, err));
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

/* ---- rows ------------------------------------------------------------------------------------ */

static const fgi_pack_image_codec codecs[] = {
    {FG_PACK_FILE, read_file},   {FG_PACK_JPEG, read_file},      {FG_PACK_JPEG_SEG, read_segments},
    {FG_PACK_RAW_RGB, read_rgb}, {FG_PACK_RAW_YCC420, read_ycc},
};

static const fgi_pack_image_codec *find(fg_pack_codec codec)
{
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++)
        if (codecs[i].codec == codec)
            return &codecs[i];
    return NULL;
}

static bool can_read(fg_pack_codec codec) { return find(codec) != NULL; }

static fg_status describe(const fgi_pack_samples *s, fg_field out[FG_MAX_FIELDS], int *out_count,
                          fg_error *err)
{
    const fg_images_options *o = &s->rule.options;
    out[0] = (fg_field){"image", {FG_U8, 3, {o->height, o->width, o->channels}}};
    *out_count = 1;
    return FG_OK;
}

/* The codec is that of the record, which was checked when the dataset was created. */
static fg_status read_image(const fgi_pack_samples *s, fgi_image_worker *worker,
                            const fgi_pack_sample *sample, void *const *out_fields, fg_error *err)
{
    const fgi_pack_image_codec *codec = find(sample->entry.codec);
    if (codec != NULL)
        return codec->read(s, worker, sample, out_fields[0], err);
    char name[FGI_PACK_SAMPLE_NAME];
    return fgi_fail(err, FG_EUNSUPPORTED, "%s: codec %d is not an image",
                    fgi_pack_sample_name(s, sample, name), (int)sample->entry.codec);
}

const fgi_sample_kind fgi_image_samples = {
    .can_read = can_read, .describe = describe, .read = read_image};
