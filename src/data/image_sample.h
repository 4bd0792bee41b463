/* image_sample.h - what datasets of images share: the options, which part of an image becomes a
 * sample.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_IMAGE_SAMPLE_H
#define FGI_DATA_IMAGE_SAMPLE_H

#include <fulgurite/images.h>
#include "data/image_boxes.h"
#include "data/image_workers.h"

/* ---- rules ----------------------------------------------------------------------------------- */

/* How an image becomes a sample of a fixed size. */
typedef struct fgi_image_rule {
    fg_images_options options; /* with defaults filled in */
    fgi_box_limits limits;
    fgi_key key;
} fgi_image_rule;

/* options may be NULL. FG_EINVAL. */
fg_status fgi_image_rule_init(fgi_image_rule *rule, const fg_images_options *options,
                              fg_error *err);

/* The part of one image. */
typedef struct fgi_image_cut {
    fg_image_box box;
    bool is_flipped;
} fgi_image_cut;

/* Whether the cuts of a sample vary by epoch. */
static inline bool fgi_image_rule_is_random(const fgi_image_rule *rule)
{
    return rule->options.crop != FG_IMAGE_CROP_CENTER;
}
/* The cut of sample `index` in an epoch, of an image of width x height pixels. */
fgi_image_cut fgi_image_rule_cut(const fgi_image_rule *rule, int64_t epoch, int64_t index,
                                 int64_t width, int64_t height);

/* An encoded image. */
typedef struct fgi_encoded_image {
    const char *name; /* for messages */
    const void *data;
    size_t size;
    const void *segments; /* the table of a JPEG's segments; NULL: none */
    size_t segments_size;
} fgi_encoded_image;

/* Decodes and resizes the sample: u8[height, width, channels]. */
fg_status fgi_image_rule_decode(const fgi_image_rule *rule, fgi_image_worker *worker,
                                const fgi_encoded_image *encoded, int64_t epoch, int64_t index,
                                uint8_t *out, fg_error *err);

/* Resizes the cut of an image, whose coordinates are those of the image. A cut of whole pixels that
 * already has the size of a sample is copied. */
fg_status fgi_image_rule_resize(const fgi_image_rule *rule, fgi_image_worker *worker,
                                const fg_image *image, const fgi_image_cut *cut, uint8_t *out,
                                fg_error *err);

#endif
