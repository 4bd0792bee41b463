/* image_sample.c - an image becomes a sample: its box is chosen, it is decoded as far as the box
 * needs, and resized in one interpolation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/image_sample.h"

#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/number.h"
#include "data/stages.h"
#include "image/decoder.h"
#include "image/window.h"

/* ---- boxes ----------------------------------------------------------------------------------- */

static fg_image_box choose_box(const fgi_image_rule *rule, fgi_key key, int64_t width,
                               int64_t height)
{
    const fg_images_options *o = &rule->options;
    if (o->crop == FG_IMAGE_CROP_RANDOM)
        return fgi_random_box(key, width, height, &rule->limits);
    if (o->crop == FG_IMAGE_CROP_WINDOW)
        return fgi_window_box(key, width, height, o->width, o->height);
    return fgi_center_box(width, height, (double)o->width / (double)o->height, o->center_fraction);
}

fgi_image_cut fgi_image_rule_cut(const fgi_image_rule *rule, int64_t epoch, int64_t index,
                                 int64_t width, int64_t height)
{
    const fg_images_options *o = &rule->options;
    const fgi_key key = fgi_key_fold(fgi_key_fold(rule->key, (uint64_t)epoch), (uint64_t)index);
    fgi_image_cut cut = {.box = choose_box(rule, key, width, height)};
    cut.is_flipped =
        fgi_image_rule_is_random(rule) &&
        (double)fgi_rng_uniform(fgi_key_fold_text(key, "flip"), 0) < o->flip_probability;
    return cut;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

static bool is_whole(double value) { return value == floor(value); }

static fg_status resize(const fgi_image_rule *rule, fgi_image_worker *worker, const fg_image *image,
                        const fgi_image_cut *cut, uint8_t *out, fg_error *err)
{
    const fg_images_options *o = &rule->options;
    const fg_image_box *box = &cut->box;
    if (box->width == (double)o->width && box->height == (double)o->height && is_whole(box->x) &&
        is_whole(box->y)) {
        fgi_image_window(image, (int64_t)box->x, (int64_t)box->y, o->width, o->height,
                         cut->is_flipped, out);
        return FG_OK;
    }
    const fg_image_resize_options options = {.box = *box, .flip = cut->is_flipped};
    return fg_image_resize(worker->decoder, image, o->width, o->height, &options, out, err);
}

fg_status fgi_image_rule_resize(const fgi_image_rule *rule, fgi_image_worker *worker,
                                const fg_image *image, const fgi_image_cut *cut, uint8_t *out,
                                fg_error *err)
{
    const fgi_load_stage before = fgi_load_enter(FGI_LOAD_RESIZE);
    const fg_status status = resize(rule, worker, image, cut, out, err);
    (void)fgi_load_enter(before);
    return status;
}

static fg_status decode(const fgi_image_rule *rule, fgi_image_worker *worker,
                        const fgi_encoded_image *encoded, int64_t epoch, int64_t index,
                        uint8_t *out, fg_error *err)
{
    const fg_images_options *o = &rule->options;
    fg_image_info info;
    FGI_TRY(fg_image_probe(encoded->name, encoded->data, encoded->size, &info, err));
    fgi_image_cut cut = fgi_image_rule_cut(rule, epoch, index, info.width, info.height);
    const fg_image_decode_options decoding = {.channels = o->channels,
                                              .crop = cut.box,
                                              .min_width = o->width,
                                              .min_height = o->height,
                                              .tolerate_corruption = o->tolerate_corruption};
    const fgi_image_segments segments = {encoded->segments, encoded->segments_size};
    fgi_image_worker_reserve(
        worker, fgi_image_decode_bytes(encoded->name, encoded->data, encoded->size, &decoding));
    FGI_TRY(fgi_image_decode(worker->decoder, encoded->name, encoded->data, encoded->size,
                             &segments, &decoding, &worker->image, err));
    cut.box = worker->image.region;
    return fgi_image_rule_resize(rule, worker, &worker->image, &cut, out, err);
}

fg_status fgi_image_rule_decode(const fgi_image_rule *rule, fgi_image_worker *worker,
                                const fgi_encoded_image *encoded, int64_t epoch, int64_t index,
                                uint8_t *out, fg_error *err)
{
    const fgi_load_stage before = fgi_load_enter(FGI_LOAD_DECODE);
    const fg_status status = decode(rule, worker, encoded, epoch, index, out, err);
    fgi_image_worker_release(worker);
    (void)fgi_load_enter(before);
    int64_t *entropy_ns = &worker->decoder->entropy_ns; /* a large estimate is used up later */
    *entropy_ns -= fgi_load_move(FGI_LOAD_DECODE, FGI_LOAD_ENTROPY, *entropy_ns);
    return status;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool is_between(double value, double low, double high)
{
    return value >= low && value <= high;
}

static fg_status check_size(const fg_images_options *o, fg_error *err)
{
    if (o->height < 1 || o->width < 1 || o->height > 65536 || o->width > 65536)
        return fgi_fail(err, FG_EINVAL,
                        "samples of %lld x %lld pixels: expected a height and width of 1 to 65536",
                        (long long)o->height, (long long)o->width);
    if (o->channels != 1 && o->channels != 3)
        return fgi_fail(err, FG_EINVAL, "channels is %d: expected 1 or 3", o->channels);
    if (!(o->center_fraction > 0 && o->center_fraction <= 1))
        return fgi_fail(err, FG_EINVAL,
                        "center_fraction is %g: expected a number above 0, at most 1",
                        o->center_fraction);
    if ((int)o->crop < FG_IMAGE_CROP_CENTER || o->crop > FG_IMAGE_CROP_WINDOW)
        return fgi_fail(err, FG_EINVAL, "crop is %d: expected a value of fg_image_crop",
                        (int)o->crop);
    return FG_OK;
}

static fg_status check(const fg_images_options *o, fg_error *err)
{
    FGI_TRY(check_size(o, err));
    if (!is_between(o->scale_max, 0, 1) || !is_between(o->scale_min, 0, o->scale_max))
        return fgi_fail(err, FG_EINVAL, "scale is %g to %g: expected two numbers from 0 to 1",
                        o->scale_min, o->scale_max);
    if (!is_between(o->ratio_max, 1e-3, 1e3) || !is_between(o->ratio_min, 1e-3, o->ratio_max))
        return fgi_fail(err, FG_EINVAL,
                        "ratio is %g to %g: expected two numbers from 0.001 to 1000", o->ratio_min,
                        o->ratio_max);
    if (!is_between(o->flip_probability, 0, 1))
        return fgi_fail(err, FG_EINVAL, "flip_probability is %g: expected 0 to 1",
                        o->flip_probability);
    return FG_OK;
}

fg_status fgi_image_rule_init(fgi_image_rule *rule, const fg_images_options *options, fg_error *err)
{
    fg_images_options o = options != NULL ? *options : (fg_images_options){0};
    o.height = o.height != 0 ? o.height : 224;
    o.width = o.width != 0 ? o.width : 224;
    o.channels = o.channels != 0 ? o.channels : 3;
    o.center_fraction = fgi_or_default(o.center_fraction, 0.875);
    o.scale_min = fgi_or_default(o.scale_min, 0.08);
    o.scale_max = fgi_or_default(o.scale_max, 1);
    o.ratio_min = fgi_or_default(o.ratio_min, 3.0 / 4);
    o.ratio_max = fgi_or_default(o.ratio_max, 4.0 / 3);
    o.flip_probability = fgi_or_default(o.flip_probability, 0.5);
    rule->options = o;
    rule->limits = (fgi_box_limits){o.scale_min, o.scale_max, o.ratio_min, o.ratio_max};
    rule->key = fgi_key_fold_text(fgi_key_from_seed(o.seed), "data.images");
    return check(&rule->options, err);
}
