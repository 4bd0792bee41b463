/* pack_planes.c - samples of records that are YCbCr planes: copied from the mapping into the batch
 * as they are; the device computes the pixels (src/decode). Only if the host has nothing else to
 * do: all records have one size, which is that of the samples, and are not cropped.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "data/encoding.h"
#include "data/image_boxes.h"
#include "data/pack_samples.h"

/* Whether samples are whole images of this size. */
static bool takes_whole(const fg_images_options *o, int64_t width, int64_t height)
{
    if (o->channels != 3 || o->width != width || o->height != height)
        return false;
    if (o->crop == FG_IMAGE_CROP_WINDOW)
        return o->flip_probability == 0;
    return o->crop == FG_IMAGE_CROP_CENTER && o->center_fraction == 1;
}

fg_status fgi_pack_keeps_planes(const fgi_pack_samples *s, bool *out, fg_error *err)
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

/* Chosen by fgi_pack_keeps_planes: by the codec, the records are images. */
static bool can_read(fg_pack_codec codec)
{
    (void)codec;
    return false;
}

static fg_status prepare(fgi_pack_samples *s, fg_error *err)
{
    (void)err;
    s->encoding = (fg_image_encoding){.coding = FG_IMAGE_YCC420,
                                      .width = s->rule.options.width,
                                      .height = s->rule.options.height,
                                      .channels = 3};
    return FG_OK;
}

static fg_status describe(const fgi_pack_samples *s, fg_field out[FG_MAX_FIELDS], int *out_count,
                          fg_error *err)
{
    (void)err;
    out[0] = (fg_field){"image", fg_image_encoding_type(&s->encoding)};
    *out_count = 1;
    return FG_OK;
}

static fg_status read_planes(const fgi_pack_samples *s, fgi_image_worker *worker,
                             const fgi_pack_sample *sample, void *const *out_fields, fg_error *err)
{
    (void)worker;
    FGI_TRY(fgi_pack_check_ycc(s, sample, err));
    memcpy(out_fields[0], sample->data, sample->entry.size_bytes);
    return FG_OK;
}

const fgi_sample_kind fgi_plane_samples = {
    .can_read = can_read, .prepare = prepare, .describe = describe, .read = read_planes};
