/* random_resized_crop.c - random boxes of images, resized in one interpolation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "aug/aug_size.h"
#include "aug/aug_draw.h"
#include "aug/augmentations.h"

static int64_t at_least_one(double n) { return n < 1 ? 1 : (int64_t)n; }

/* The largest box in the middle of the image whose ratio of width to height is `ratio`. */
static fgi_aug_box largest(int64_t height, int64_t width, double ratio)
{
    fgi_aug_box box = {.height = height, .width = width};
    if ((double)width > (double)height * ratio)
        box.width = at_least_one(floor((double)height * ratio + 0.5));
    else
        box.height = at_least_one(floor((double)width / ratio + 0.5));
    box.height = box.height < height ? box.height : height;
    box.width = box.width < width ? box.width : width;
    box.top = (height - box.height) / 2;
    box.left = (width - box.width) / 2;
    return box;
}

/* The box of images for which no random box fits. */
static fgi_aug_box fallback(const fgi_aug_boxes *boxes, int64_t height, int64_t width)
{
    const double ratio = (double)width / (double)height;
    return largest(height, width, fmin(fmax(ratio, boxes->ratio_min), boxes->ratio_max));
}

fg_tensor fg_aug_random_resized_crop(fg_tensor image, const fg_sample_key *key,
                                     const fg_aug_random_resized_crop_options *options)
{
    static const char name[] = "random_resized_crop";
    fg_aug_random_resized_crop_options o =
        options != NULL ? *options : (fg_aug_random_resized_crop_options){0};
    const fgi_aug_boxes boxes = {.scale_min = fgi_or_default(o.scale_min, 0.08),
                                 .scale_max = fgi_or_default(o.scale_max, 1),
                                 .ratio_min = fgi_or_default(o.ratio_min, 3.0 / 4),
                                 .ratio_max = fgi_or_default(o.ratio_max, 4.0 / 3)};
    const fg_tensor x =
        fgi_aug_begin(name, image, FGI_RESERVED(fg_aug_random_resized_crop_options, options));
    if (fgi_is_poison(x) || !fgi_aug_size(x, name, &o.height, &o.width) ||
        !fgi_aug_check_boxes(x, name, &boxes))
        return fgi_poison(fg_tensor_trace(image));
    const int64_t height = fg_tensor_dim(x, 1), width = fg_tensor_dim(x, 2);
    if (key == NULL) {
        const fgi_aug_box middle = largest(height, width, (double)o.width / (double)o.height);
        return fgi_aug_box_of_all(x, middle, o.height, o.width, o.no_antialias);
    }
    fg_tensor found;
    const fg_tensor u = fgi_aug_uniform(key, name, FGI_AUG_BOX_NUMBERS);
    const fg_tensor drawn = fgi_aug_draw_box(u, &boxes, height, width, &found);
    const fgi_aug_box other = fallback(&boxes, height, width);
    const float four[4] = {(float)other.top, (float)other.left, (float)other.height,
                           (float)other.width};
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {1, 4}};
    const fg_tensor box = fg_where(found, drawn, fg_constant(fg_tensor_trace(x), &type, four));
    return fg_crop_resize(x, box, o.height, o.width,
                          &(fg_crop_resize_options){.no_antialias = o.no_antialias});
}

/* ---- the row --------------------------------------------------------------------------------- */

static fg_tensor apply_random_resized_crop(fg_tensor image, const fg_sample_key *key,
                                           const fg_option_values *values)
{
    fg_aug_random_resized_crop_options o = {.scale_min = fg_option_number(values, "scale_min"),
                                            .scale_max = fg_option_number(values, "scale_max"),
                                            .ratio_min = fg_option_number(values, "ratio_min"),
                                            .ratio_max = fg_option_number(values, "ratio_max"),
                                            .no_antialias = !fg_option_bool(values, "antialias")};
    fgi_aug_size_by_options(values, &o.height, &o.width);
    return fg_aug_random_resized_crop(image, key, &o);
}

static const fg_option random_resized_crop_options[] = {
    FGI_AUG_SIZE_OPTIONS,
    FGI_AUG_NUMBER("scale_min", "0.08", "1", "Smallest fraction of the image's area."),
    FGI_AUG_NUMBER("scale_max", "1", "1", "Largest fraction of the image's area."),
    FGI_AUG_NUMBER("ratio_min", "0.75", "1000", "Smallest ratio of width to height."),
    FGI_AUG_NUMBER("ratio_max", "1.3333333333333333", "1000", "Largest ratio of width to height."),
    {.name = "antialias",
     .kind = FG_OPTION_BOOL,
     .initial = "true",
     .example = "false",
     .help = "Apply a low-pass filter when downscaling (antialiasing)."},
};

const fg_augmentation_entry fgi_random_resized_crop_row = {
    .entry = {.name = "random_resized_crop",
              .help = "crop a random box and resize it",
              .spellings = "RandomResizedCrop",
              .options = random_resized_crop_options,
              .option_count =
                  sizeof random_resized_crop_options / sizeof random_resized_crop_options[0]},
    .apply = apply_random_resized_crop,
    .size = fgi_aug_size_by_options};
