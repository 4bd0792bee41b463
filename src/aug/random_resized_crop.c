/* random_resized_crop.c - random boxes of images, resized in one interpolation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

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

static fg_tensor apply(fg_tensor x, const fg_sample_key *key, const void *own)
{
    static const char name[] = "random_resized_crop";
    fg_aug_random_resized_crop_options o = *(const fg_aug_random_resized_crop_options *)own;
    const fgi_aug_boxes boxes = {.scale_min = o.scale_min,
                                 .scale_max = o.scale_max,
                                 .ratio_min = o.ratio_min,
                                 .ratio_max = o.ratio_max};
    if (!fgi_aug_size(x, name, &o.height, &o.width) || !fgi_aug_check_boxes(x, name, &boxes))
        return fgi_poison(fg_tensor_trace(x));
    const int64_t height = fg_tensor_dim(x, 1), width = fg_tensor_dim(x, 2);
    if (key == NULL) {
        const fgi_aug_box middle = largest(height, width, (double)o.width / (double)o.height);
        return fgi_aug_box_of_all(x, middle, o.height, o.width, o.no_antialias);
    }
    fg_tensor found;
    const fg_tensor u = fg_random_sample_uniform(key, name, FGI_AUG_BOX_NUMBERS);
    const fg_tensor drawn = fgi_aug_draw_box(u, &boxes, height, width, &found);
    const fgi_aug_box other = fallback(&boxes, height, width);
    const float four[4] = {(float)other.top, (float)other.left, (float)other.height,
                           (float)other.width};
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {1, 4}};
    const fg_tensor box = fg_where(found, drawn, fg_constant(fg_tensor_trace(x), &type, four));
    return fg_crop_resize(x, box, o.height, o.width,
                          &(fg_crop_resize_options){.no_antialias = o.no_antialias});
}

static const fg_option random_resized_crop_options[] = {
    FGI_AUG_SIZE_OPTIONS(fg_aug_random_resized_crop_options),
    FGI_AUG_BOX_OPTIONS(fg_aug_random_resized_crop_options, "0.08", "1", "0.75",
                        "1.3333333333333333", "width to height"),
    FGI_AUG_ANTIALIAS_OPTION(fg_aug_random_resized_crop_options),
};

FGI_AUG_ROW(random_resized_crop, "RandomResizedCrop", "crop a random box and resize it",
            .apply = apply, .size = fgi_aug_size_of)
