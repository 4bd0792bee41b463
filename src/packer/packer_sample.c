/* packer_sample.c - makes the records of a sample: reads its file, decodes and resizes it as far as
 * the codec requires, and encodes it. A JPEG is stored without decoding its pixels where this gives
 * what was asked for; it is then only decoded at a reduced size, to detect damage.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "catalog/draft.h"
#include "data/image_boxes.h"
#include "image/decoder.h"
#include "image/jpeg_coefficients.h"
#include "image/jpeg_segment_record.h"
#include "image/jpeg_transcode.h"
#include "image/ycc420.h"
#include "packer/packer.h"

enum { MEASURED_SIDE = 256, LONGEST_SIDE = 65500, PROBES = 256 };

/* Everything of one sample while it is made. */
typedef struct sample {
    const fgi_packer_plan *plan;
    fgi_packer_tools *tools;
    fgi_packer_output *out;
    const char *name; /* for messages */
    const void *file;
    size_t size;
    fg_image_info info;
    bool is_measured;
} sample;

fg_status fgi_packer_output_init(fgi_packer_output *output, const fgi_packer_plan *plan,
                                 fg_error *err)
{
    *output = (fgi_packer_output){0};
    output->records = fgi_calloc((size_t)plan->o.variant_count, sizeof(*output->records));
    return output->records != NULL ? FG_OK : fgi_no_memory(err);
}

void fgi_packer_output_fini(fgi_packer_output *output)
{
    fgi_buf_fini(&output->bytes);
    fgi_free(output->records);
    *output = (fgi_packer_output){0};
}

fg_status fgi_packer_tools_init(fgi_packer_tools *tools, fg_error *err)
{
    *tools = (fgi_packer_tools){0};
    return fg_image_decoder_create(&tools->decoder, err);
}

void fgi_packer_tools_fini(fgi_packer_tools *tools)
{
    fg_image_decoder_destroy(tools->decoder);
    fg_catalog_bytes_fini(&tools->bytes);
    fg_image_fini(&tools->image);
    fg_image_fini(&tools->planes);
    fg_image_fini(&tools->variant);
    fg_image_bytes_fini(&tools->encoded);
    fgi_buf_fini(&tools->jpeg);
    fgi_buf_fini(&tools->table);
    *tools = (fgi_packer_tools){0};
}

fg_pack_codec fgi_packer_codec(fg_pack_choice choice)
{
    switch (choice) {
    case FG_PACK_CHOICE_JPEG: return FG_PACK_JPEG;
    case FG_PACK_CHOICE_SEG: return FG_PACK_JPEG_SEG;
    case FG_PACK_CHOICE_RAW: return FG_PACK_RAW_RGB;
    case FG_PACK_CHOICE_YCC: return FG_PACK_RAW_YCC420;
    case FG_PACK_CHOICE_DCT: return FG_PACK_DCT;
    default: return FG_PACK_FILE;
    }
}

/* ---- pixels ---------------------------------------------------------------------------------- */

static void measure(const sample *s, const fg_image *image)
{
    const size_t count = (size_t)(image->width * image->height);
    uint64_t sum[3] = {0}, square[3] = {0};
    for (size_t i = 0; i < 3 * count; i += 3)
        for (size_t c = 0; c < 3; c++) {
            const uint64_t value = image->pixels[i + c];
            sum[c] += value;
            square[c] += value * value;
        }
    for (size_t c = 0; c < 3; c++) {
        s->out->mean[c] = (double)sum[c] / (255.0 * (double)count);
        s->out->square[c] = (double)square[c] / (255.0 * 255.0 * (double)count);
    }
}

static fg_status decode_with(sample *s, fg_image_decode_options *options, fg_error *err)
{
    fgi_packer_tools *t = s->tools;
    options->tolerate_corruption = s->plan->o.tolerate_corruption;
    FGI_TRY(fg_image_decode(t->decoder, s->name, s->file, s->size, options, &t->image, err));
    s->out->is_flawed = t->decoder->warning[0] != '\0';
    return FG_OK;
}

static fg_status decode(sample *s, fg_image_decode_options *options, fg_error *err)
{
    FGI_TRY(decode_with(s, options, err));
    if (s->is_measured)
        measure(s, &s->tools->image);
    return FG_OK;
}

/* Decodes a file that is stored as it is, at a size that is cheap. */
static fg_status check_file(sample *s, fg_error *err)
{
    fg_image_decode_options options = {.min_width = 1, .min_height = 1};
    if (s->is_measured)
        options.presize = (fg_image_presize){.rule = FG_IMAGE_PRESIZE_SHORT, .size = MEASURED_SIDE};
    return decode(s, &options, err);
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* Ends record `variant` where the buffer ends. */
static fg_status end_record(sample *s, int64_t variant, int64_t width, int64_t height,
                            fg_error *err)
{
    fgi_packer_record *record = &s->out->records[variant];
    record->end = s->out->bytes.size;
    record->width = (uint32_t)width;
    record->height = (uint32_t)height;
    return fgi_buf_status(&s->out->bytes, err);
}

/* Appends a JPEG with the table of its segments. */
static fg_status put_segments(sample *s, const void *jpeg, size_t size, fg_error *err)
{
    fgi_packer_tools *t = s->tools;
    fgi_buf_clear(&t->jpeg);
    fgi_buf_clear(&t->table);
    FGI_TRY(fgi_jpeg_transcode_segments(s->name, jpeg, size, FGI_JPEG_SEGMENTS_AUTO, &t->jpeg,
                                        &t->table, err));
    fgi_jpeg_record_append(&t->jpeg, &t->table);
    FGI_TRY(fgi_buf_status(&t->jpeg, err));
    fgi_buf_add(&s->out->bytes, t->jpeg.data, t->jpeg.size);
    return FG_OK;
}

static fg_status put_jpeg(sample *s, const fg_image *image, fg_error *err)
{
    const fg_image_jpeg_options options = {.quality = (int)s->plan->o.quality};
    fg_image_bytes *encoded = &s->tools->encoded;
    FGI_TRY(fg_image_encode_jpeg(image, &options, encoded, err));
    if (s->plan->o.codec == FG_PACK_CHOICE_SEG)
        return put_segments(s, encoded->data, encoded->size, err);
    fgi_buf_add(&s->out->bytes, encoded->data, encoded->size);
    return FG_OK;
}

static fg_status put_planes(sample *s, const fg_image *image, fg_error *err)
{
    const size_t size = fgi_ycc420_bytes(image->width, image->height);
    FGI_TRY(fg_image_reserve(&s->tools->planes, (int64_t)size, 1, 1, err));
    fgi_ycc420_from_rgb(image->pixels, image->width, image->height, s->tools->planes.pixels);
    fgi_buf_add(&s->out->bytes, s->tools->planes.pixels, size);
    return FG_OK;
}

/* Sets the flags of the record that begins there: they tell readers how many coefficients need two
 * bytes. */
static fg_status put_flags(sample *s, int64_t variant, size_t begin, fg_error *err)
{
    const fgi_buf *bytes = &s->out->bytes;
    fgi_jpeg_coefficients record;
    FGI_TRY(fgi_buf_status(bytes, err));
    FGI_TRY(fgi_jpeg_coefficients_open(s->name, (const char *)bytes->data + begin,
                                       bytes->size - begin, &record, err));
    s->out->records[variant].flags = (uint8_t)fgi_jpeg_coefficients_high(&record);
    return FG_OK;
}

static fg_status put_coefficients(sample *s, int64_t variant, const fg_image *image, fg_error *err)
{
    const size_t begin = s->out->bytes.size;
    FGI_TRY(fgi_jpeg_coefficients_encode(s->name, image, (int)s->plan->o.quality, s->plan->sampling,
                                         &s->out->bytes, err));
    return put_flags(s, variant, begin, err);
}

/* A JPEG, and coefficients, which are those of one, have at most 65,500 pixels per side. */
static fg_status check_side(const sample *s, const fg_image *image, fg_error *err)
{
    if (image->width <= LONGEST_SIDE && image->height <= LONGEST_SIDE)
        return FG_OK;
    return fgi_fail(err, FG_EUNSUPPORTED,
                    "%s: the image would be stored with %" PRId64 "x%" PRId64
                    " pixels, but codec %s is limited to %d per side: set presize, such as "
                    "square=256 or max=1024, or use codec raw",
                    s->name, image->width, image->height, fgi_packer_codec_name(s->plan->o.codec),
                    LONGEST_SIDE);
}

/* Appends pixels as record `variant`. */
static fg_status put_pixels(sample *s, int64_t variant, const fg_image *image, fg_error *err)
{
    fgi_buf *bytes = &s->out->bytes;
    const fg_pack_choice codec = s->plan->o.codec;
    s->out->is_encoded = codec != FG_PACK_CHOICE_RAW && codec != FG_PACK_CHOICE_YCC;
    if (codec != FG_PACK_CHOICE_RAW && codec != FG_PACK_CHOICE_YCC)
        FGI_TRY(check_side(s, image, err));
    if (codec == FG_PACK_CHOICE_RAW)
        fgi_buf_add(bytes, image->pixels, (size_t)(image->width * image->height) * 3);
    else if (codec == FG_PACK_CHOICE_YCC)
        FGI_TRY(put_planes(s, image, err));
    else if (codec == FG_PACK_CHOICE_DCT)
        FGI_TRY(put_coefficients(s, variant, image, err));
    else
        FGI_TRY(put_jpeg(s, image, err));
    return end_record(s, variant, image->width, image->height, err);
}

/* ---- images as they are ---------------------------------------------------------------------- */

/* FG_EUNSUPPORTED if the JPEG is corrupt, which is tolerated: readers of the pack need not be. */
static fg_status put_file(sample *s, fg_error *err)
{
    FGI_TRY(check_file(s, err));
    if (s->tools->decoder->is_corrupt && s->plan->o.codec != FG_PACK_CHOICE_FILE)
        return FG_EUNSUPPORTED;
    fgi_buf_add(&s->out->bytes, s->file, s->size);
    return end_record(s, 0, s->info.width, s->info.height, err);
}

/* Ends a record of the file's own pixels. */
static fg_status end_own(sample *s, fg_error *err)
{
    if (s->is_measured)
        FGI_TRY(check_file(s, err));
    return end_record(s, 0, s->info.width, s->info.height, err);
}

/* FG_EINVAL if the JPEG cannot be transcoded. */
static fg_status put_transcoded(sample *s, fg_error *err)
{
    FGI_TRY(put_segments(s, s->file, s->size, err));
    return end_own(s, err);
}

/* The coefficients of the JPEG itself. FG_EUNSUPPORTED if it is not YCbCr. */
static fg_status put_own_coefficients(sample *s, fg_error *err)
{
    const size_t begin = s->out->bytes.size;
    FGI_TRY(fgi_jpeg_coefficients_write(s->name, s->file, s->size, &s->out->bytes, err));
    FGI_TRY(put_flags(s, 0, begin, err));
    return end_own(s, err);
}

bool fgi_packer_is_kept(const fgi_packer_plan *plan, const fg_image_info *info)
{
    int64_t width = info->width, height = info->height;
    return info->format == FG_IMAGE_JPEG && info->orientation == 1 && info->channels != 4 &&
           fg_image_presize_size(&plan->o.presize, &width, &height, NULL) == FG_OK &&
           width == info->width && height == info->height;
}

static bool is_equal(fgi_jpeg_sampling a, fgi_jpeg_sampling b)
{
    return a.components == b.components && a.h == b.h && a.v == b.v;
}

/* Whether the JPEG has the sampling of all coefficients. */
static bool has_sampling(const sample *s)
{
    fgi_jpeg_header header;
    const fgi_image_file file = {.name = s->name, .data = s->file, .size = s->size};
    return fgi_jpeg_header_read(&file, &header, NULL) == FG_OK &&
           is_equal(header.sampling, s->plan->sampling);
}

/* Stores a JPEG without encoding it again. FG_EINVAL or FG_EUNSUPPORTED if it cannot be. */
static fg_status put_kept(sample *s, fg_error *err)
{
    const fg_pack_choice codec = s->plan->o.codec;
    if (!fgi_packer_is_kept(s->plan, &s->info))
        return FG_EUNSUPPORTED;
    if (codec == FG_PACK_CHOICE_JPEG)
        return put_file(s, err);
    if (codec == FG_PACK_CHOICE_SEG)
        return put_transcoded(s, err);
    return codec == FG_PACK_CHOICE_DCT && has_sampling(s) ? put_own_coefficients(s, err)
                                                          : FG_EUNSUPPORTED;
}

static fg_status put_image(sample *s, fg_error *err)
{
    if (s->plan->o.codec == FG_PACK_CHOICE_FILE)
        return put_file(s, err);
    const fg_status status = put_kept(s, err);
    const bool is_tolerated = status == FG_EFORMAT && s->plan->o.tolerate_corruption;
    if (status != FG_EINVAL && status != FG_EUNSUPPORTED && !is_tolerated)
        return status;
    FGI_TRY(decode(s, &(fg_image_decode_options){.presize = s->plan->o.presize}, err));
    return put_pixels(s, 0, &s->tools->image, err);
}

/* ---- variants -------------------------------------------------------------------------------- */

static fg_image_box variant_box(const sample *s, int64_t i, int64_t variant, bool *is_flipped)
{
    static const fgi_box_limits limits = {0.08, 1, 3.0 / 4, 4.0 / 3};
    const fgi_key key = fgi_key_fold(fgi_key_fold(s->plan->key, (uint64_t)i), (uint64_t)variant);
    *is_flipped = (double)fgi_rng_uniform(fgi_key_fold_text(key, "flip"), 0) < 0.5;
    return fgi_random_box(key, s->info.width, s->info.height, &limits);
}

/* The smallest size of the whole image with which no variant has to be enlarged more than at full
 * size. */
static void choose_size(const sample *s, int64_t i, fg_image_decode_options *options)
{
    const double side = (double)s->plan->o.presize.size;
    double width = 1, height = 1;
    for (int64_t v = 0; v < s->plan->o.variant_count; v++) {
        bool is_flipped;
        const fg_image_box box = variant_box(s, i, v, &is_flipped);
        width = fmax(width, ceil((double)s->info.width * side / box.width));
        height = fmax(height, ceil((double)s->info.height * side / box.height));
    }
    options->min_width = (int64_t)width;
    options->min_height = (int64_t)height;
}

/* Decodes once, and resizes the box of each variant. */
static fg_status put_variants(sample *s, int64_t i, fg_error *err)
{
    fgi_packer_tools *t = s->tools;
    const int64_t side = s->plan->o.presize.size;
    fg_image_decode_options options = {0};
    choose_size(s, i, &options);
    FGI_TRY(decode_with(s, &options, err));
    const double dx = (double)t->image.width / (double)s->info.width;
    const double dy = (double)t->image.height / (double)s->info.height;
    FGI_TRY(fg_image_reserve(&t->variant, side, side, 3, err));
    for (int64_t v = 0; v < s->plan->o.variant_count; v++) {
        fg_image_resize_options resize = {0};
        const fg_image_box box = variant_box(s, i, v, &resize.flip);
        const double x = box.x * dx, y = box.y * dy;
        resize.box = (fg_image_box){x, y, fmin(box.width * dx, (double)t->image.width - x),
                                    fmin(box.height * dy, (double)t->image.height - y)};
        FGI_TRY(
            fg_image_resize(t->decoder, &t->image, side, side, &resize, t->variant.pixels, err));
        if (v == 0 && s->is_measured)
            measure(s, &t->variant);
        FGI_TRY(put_pixels(s, v, &t->variant, err));
    }
    return FG_OK;
}

/* ---- a sample -------------------------------------------------------------------------------- */

static fg_status make(sample *s, int64_t i, fg_error *err)
{
    const int64_t index = fgi_packer_index(s->plan, i);
    FGI_TRY(fg_catalog_read(s->plan->catalog, index, &s->tools->bytes, err));
    s->file = s->tools->bytes.data;
    s->size = s->tools->bytes.size;
    FGI_TRY(fg_image_probe(s->name, s->file, s->size, &s->info, err));
    return s->plan->o.variant_count > 1 ? put_variants(s, i, err) : put_image(s, err);
}

void fgi_packer_sample(const fgi_packer_plan *plan, fgi_packer_tools *tools, int64_t i,
                       fgi_packer_output *output)
{
    char shown[FGI_SHOWN_BYTES];
    fg_catalog_item item;
    fgi_buf_clear(&output->bytes);
    output->err = (fg_error){0};
    output->is_encoded = output->is_flawed = false;
    output->status = fgi_packer_item(plan, i, &item, &output->err);
    if (output->status != FG_OK)
        return;
    sample s = {.plan = plan,
                .tools = tools,
                .out = output,
                .name = fgi_shown(item.name, shown),
                .is_measured = i % fgi_packer_stride(plan) == 0};
    output->status = make(&s, i, &output->err);
}

/* ---- the chroma sampling of a pack of coefficients -------------------------------------------
 * All its records must have the same, so JPEGs with another sampling are encoded again. */

/* Of a JPEG whose coefficients can be stored; otherwise no components. */
static fgi_jpeg_sampling sampling_of(const fgi_packer_plan *plan, const fg_catalog_bytes *bytes)
{
    fg_image_info info;
    fgi_jpeg_header header = {0};
    const fgi_image_file file = {.name = "", .data = bytes->data, .size = bytes->size};
    if (fg_image_probe("", bytes->data, bytes->size, &info, NULL) == FG_OK &&
        fgi_packer_is_kept(plan, &info))
        (void)fgi_jpeg_header_read(&file, &header, NULL);
    return header.sampling;
}

/* The sampling of all images that are looked at, if they are JPEGs with the same one. Gray only if
 * all are looked at, because a color image cannot be stored as gray. Otherwise 4:2:0. */
void fgi_packer_find_sampling(fgi_packer_plan *plan)
{
    fg_catalog_bytes bytes = {0};
    fgi_jpeg_sampling all = {0};
    const int64_t probes = plan->count < PROBES ? plan->count : PROBES;
    bool is_one = plan->o.codec == FG_PACK_CHOICE_DCT && plan->o.variant_count == 1;
    for (int64_t i = 0; i < probes && is_one; i++) {
        const int64_t index = fgi_packer_index(plan, i * plan->count / probes);
        if (fg_catalog_read(plan->catalog, index, &bytes, NULL) != FG_OK)
            continue; /* reported when it is packed */
        const fgi_jpeg_sampling one = sampling_of(plan, &bytes);
        is_one = one.components != 0 && (all.components == 0 || is_equal(all, one));
        all = one;
    }
    fg_catalog_bytes_fini(&bytes);
    const bool is_gray = all.components == 1 && probes < plan->count;
    plan->sampling = is_one && all.components != 0 && !is_gray ? all : (fgi_jpeg_sampling){3, 2, 2};
}
