/* decode.c - the steps that all formats share: find the codec, check limits, map the requested crop
 * to stored pixels, decode, apply the orientation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "image/codec.h"
#include "image/decoder.h"
#include "image/orient.h"
#include "image/presize.h"

/* Pillow refuses more than twice Image.MAX_IMAGE_PIXELS, which is 2^30 / 4 / 3. */
#define DEFAULT_MAX_PIXELS INT64_C(178956970)

/* ---- decoders -------------------------------------------------------------------------------- */

fg_status fg_image_decoder_create(fg_image_decoder **out, fg_error *err)
{
    *out = fgi_calloc(1, sizeof **out);
    return *out == NULL ? fgi_no_memory(err) : FG_OK;
}

void fg_image_decoder_destroy(fg_image_decoder *decoder)
{
    if (decoder == NULL)
        return;
    const fgi_image_codec *codec;
    for (size_t i = 0; (codec = fgi_image_codec_at(i)) != NULL; i++)
        if (codec->close != NULL)
            codec->close(decoder);
    fgi_pixel_block_fini(&decoder->rows);
    fgi_pixel_block_fini(&decoder->coefficients);
    fgi_pixel_block_fini(&decoder->weights);
    fg_image_fini(&decoder->stored);
    fg_image_fini(&decoder->upright);
    fgi_free(decoder);
}

void fgi_image_decoder_drop(fg_image_decoder *decoder)
{
    fgi_pages_drop(decoder->rows.data, decoder->rows.capacity);
    fgi_pages_drop(decoder->coefficients.data, decoder->coefficients.capacity);
    fgi_pages_drop(decoder->stored.pixels, decoder->stored.capacity);
    fgi_pages_drop(decoder->upright.pixels, decoder->upright.capacity);
}

/* ---- headers --------------------------------------------------------------------------------- */

/* The info has the stored size. */
static fg_status probe_stored(const fgi_image_file *file, const fgi_image_codec **codec,
                              fg_image_info *out, fg_error *err)
{
    *out = (fg_image_info){.orientation = 1};
    if (file->data == NULL && file->size != 0)
        return fgi_fail(err, FG_EINVAL, "%s: data is NULL", file->name);
    FGI_TRY(fgi_image_codec_find(file, codec, err));
    out->format = (*codec)->format;
    return (*codec)->probe(file, out, err);
}

fg_status fg_image_probe(const char *name, const void *data, size_t size, fg_image_info *out,
                         fg_error *err)
{
    const fgi_image_file file = {.name = name, .data = data, .size = size};
    const fgi_image_codec *codec;
    const fg_status status = probe_stored(&file, &codec, out, err);
    if (status != FG_OK) {
        *out = (fg_image_info){0};
        return status;
    }
    if (fgi_orientation_swaps(out->orientation)) {
        const int64_t width = out->width;
        out->width = out->height;
        out->height = width;
    }
    return FG_OK;
}

bool fgi_image_has_ends(const fgi_image_ends *ends)
{
    const fgi_image_file file = {.name = "", .data = ends->first, .size = sizeof ends->first};
    const fgi_image_codec *codec;
    return fgi_image_codec_find(&file, &codec, NULL) == FG_OK &&
           (codec->has_ends == NULL || codec->has_ends(ends));
}

static fg_status check_end(const fgi_image_codec *codec, const fgi_image_file *file,
                           bool is_tolerant, fg_error *err)
{
    const bool is_checked = codec->check_end != NULL && !(is_tolerant && codec->can_tolerate);
    return is_checked ? codec->check_end(file, err) : FG_OK;
}

fg_status fgi_image_check(const char *name, const void *data, size_t size, bool is_tolerant,
                          fg_error *err)
{
    const fgi_image_file file = {.name = name, .data = data, .size = size};
    const fgi_image_codec *codec;
    fg_image_info info;
    FGI_TRY(probe_stored(&file, &codec, &info, err));
    return check_end(codec, &file, is_tolerant, err);
}

/* ---- what is decoded ------------------------------------------------------------------------- */

/* A decode in progress. Boxes are in pixels of the stored image at full size. */
typedef struct job {
    const fgi_image_file *file;
    const fgi_image_codec *codec;
    const fg_image_decode_options *options;
    fg_image_info info;
    fg_image_box crop;
    fgi_presize_plan plan;
    int channels, scale;
} job;

static fg_status check_options(const job *j, fg_error *err)
{
    const fg_image_decode_options *o = j->options;
    FGI_TRY_RESERVED(fg_image_decode_options, o, err);
    if (o->channels != 0 && o->channels != 1 && o->channels != 3)
        return fgi_fail(err, FG_EINVAL, "%s: expected 1 or 3 channels, got %d", j->file->name,
                        o->channels);
    if (o->min_width < 0 || o->min_height < 0 || o->max_pixels < 0)
        return fgi_fail(err, FG_EINVAL,
                        "%s: min_width, min_height and max_pixels must not be negative",
                        j->file->name);
    return FG_OK;
}

static fg_status check_size(const job *j, fg_error *err)
{
    const int64_t most = j->options->max_pixels == 0 ? DEFAULT_MAX_PIXELS : j->options->max_pixels;
    if (j->info.width <= most / j->info.height)
        return FG_OK;
    return fgi_fail(err, FG_EUNSUPPORTED,
                    "%s: the image has %" PRId64 "x%" PRId64
                    " pixels, more than the limit of %" PRId64
                    "\nif you trust the file, make the image smaller, or raise max_pixels "
                    "(fg_image_decode_options)",
                    j->file->name, j->info.width, j->info.height, most);
}

/* The crop, from displayed to stored pixels, and the size it is resized to. */
static fg_status place_crop(job *j, fg_error *err)
{
    const bool swaps = fgi_orientation_swaps(j->info.orientation);
    const double stored_width = (double)j->info.width, stored_height = (double)j->info.height;
    const double width = swaps ? stored_height : stored_width;
    const double height = swaps ? stored_width : stored_height;
    fg_image_box crop = j->options->crop;
    if (crop.x == 0 && crop.y == 0 && crop.width == 0 && crop.height == 0)
        crop = (fg_image_box){0, 0, width, height};
    const bool is_inside = crop.x >= 0 && crop.y >= 0 && crop.width > 0 && crop.height > 0 &&
                           crop.x + crop.width <= width && crop.y + crop.height <= height;
    if (!is_inside)
        return fgi_fail(err, FG_EINVAL,
                        "%s: the crop of %gx%g pixels at (%g, %g) is not inside the image of "
                        "%gx%g pixels",
                        j->file->name, crop.width, crop.height, crop.x, crop.y, width, height);
    j->crop = fgi_unorient_box(j->info.orientation, stored_width, stored_height, crop);
    return fgi_presize_plan_make(&j->options->presize, crop.width, crop.height, &j->plan, err);
}

/* The largest reduction that keeps the minimum size. */
static int choose_scale(const job *j)
{
    const bool swaps = fgi_orientation_swaps(j->info.orientation);
    const bool is_presized = j->options->presize.rule != FG_IMAGE_PRESIZE_NONE;
    const int64_t min_width = is_presized ? j->plan.resized_width : j->options->min_width;
    const int64_t min_height = is_presized ? j->plan.resized_height : j->options->min_height;
    const double width = (double)(swaps ? min_height : min_width);
    const double height = (double)(swaps ? min_width : min_height);
    int scale = 1;
    if (width > 0 && height > 0)
        while (scale < j->codec->max_scale && j->crop.width / (2 * scale) >= width &&
               j->crop.height / (2 * scale) >= height)
            scale *= 2;
    return scale;
}

static fg_status prepare(job *j, fg_error *err)
{
    FGI_TRY(check_options(j, err));
    FGI_TRY(probe_stored(j->file, &j->codec, &j->info, err));
    if (j->options->ignore_orientation)
        j->info.orientation = 1;
    FGI_TRY(check_size(j, err));
    FGI_TRY(place_crop(j, err));
    j->channels = j->options->channels == 0 ? 3 : j->options->channels;
    j->scale = choose_scale(j);
    return FG_OK;
}

/* Whole pixels that contain [begin, begin + length), of a file with `size` pixels. */
typedef struct span {
    int64_t first, count;
} span;

static span whole_pixels(double begin, double length, int64_t size)
{
    const int64_t first = (int64_t)floor(begin), end = (int64_t)ceil(begin + length);
    return (span){first, (end < size ? end : size) - first};
}

/* Decodes the crop to `image`, in stored orientation. */
static fg_status decode_stored(fg_image_decoder *decoder, const job *j, fg_image *image,
                               fg_error *err)
{
    const double scale = j->scale;
    const fg_image_box crop = {j->crop.x / scale, j->crop.y / scale, j->crop.width / scale,
                               j->crop.height / scale};
    const span x = whole_pixels(crop.x, crop.width, (j->info.width + j->scale - 1) / j->scale);
    const span y = whole_pixels(crop.y, crop.height, (j->info.height + j->scale - 1) / j->scale);
    FGI_TRY(fg_image_reserve(image, x.count, y.count, j->channels, err));
    image->region =
        (fg_image_box){crop.x - (double)x.first, crop.y - (double)y.first, crop.width, crop.height};
    fgi_image_request request = {.x = x.first,
                                 .y = y.first,
                                 .image = image,
                                 .pixels = j->info.width * j->info.height,
                                 .scale = j->scale,
                                 .background = {255, 255, 255},
                                 .is_tolerant = j->options->tolerate_corruption};
    for (int c = 0; c < 3 && j->options->background != NULL; c++)
        request.background[c] = j->options->background[c];
    return j->codec->decode(decoder, j->file, &request, err);
}

static fg_status decode_upright(fg_image_decoder *decoder, const job *j, fg_image *out,
                                fg_error *err)
{
    if (j->info.orientation == 1)
        return decode_stored(decoder, j, out, err);
    FGI_TRY(decode_stored(decoder, j, &decoder->stored, err));
    return fgi_orient(j->info.orientation, &decoder->stored, out, err);
}

size_t fgi_image_decode_bytes(const char *name, const void *data, size_t size,
                              const fg_image_decode_options *options)
{
    const fgi_image_file file = {.name = name, .data = data, .size = size};
    job j = {.file = &file, .options = options};
    if (prepare(&j, NULL) != FG_OK)
        return 0;
    const double scaled = j.crop.width * j.crop.height / (j.scale * j.scale);
    const int copies = 1 + (j.info.orientation != 1); /* before and after it is applied */
    const size_t buffers = j.codec->memory != NULL ? j.codec->memory(&file, &j.info) : 0;
    return (size_t)scaled * (size_t)(j.channels * copies) + buffers;
}

fg_status fgi_image_decode(fg_image_decoder *decoder, const char *name, const void *data,
                           size_t size, const fgi_image_segments *segments,
                           const fg_image_decode_options *options, fg_image *out, fg_error *err)
{
    static const fg_image_decode_options defaults = {0};
    const fgi_image_file file = {name, data, size, segments->data, segments->size};
    job j = {.file = &file, .options = options == NULL ? &defaults : options};
    FGI_TRY_RESERVED(fg_image, out, err);
    FGI_TRY(prepare(&j, err));
    if (segments->data == NULL)
        FGI_TRY(check_end(j.codec, &file, j.options->tolerate_corruption, err));
    decoder->warning[0] = '\0';
    decoder->is_corrupt = false;
    if (j.options->presize.rule == FG_IMAGE_PRESIZE_NONE)
        return decode_upright(decoder, &j, out, err);
    FGI_TRY(decode_upright(decoder, &j, &decoder->upright, err));
    return fgi_presize_apply(decoder, &j.plan, &decoder->upright, out, err);
}

fg_status fg_image_decode(fg_image_decoder *decoder, const char *name, const void *data,
                          size_t size, const fg_image_decode_options *options, fg_image *out,
                          fg_error *err)
{
    return fgi_image_decode(decoder, name, data, size, &(fgi_image_segments){NULL, 0}, options, out,
                            err);
}
