/* random_erasing.c - a random box of the image is replaced by a number.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/aug_draw.h"
#include "aug/augmentations.h"

static fg_tensor apply(fg_tensor x, const fg_sample_key *key, const void *own)
{
    static const char name[] = "random_erasing";
    const fg_aug_random_erasing_options *o = own;
    /* the ratio of this function is that of height to width */
    const fgi_aug_boxes boxes = {.scale_min = o->scale_min,
                                 .scale_max = o->scale_max,
                                 .ratio_min = o->ratio_min,
                                 .ratio_max = o->ratio_max,
                                 .is_smaller = true};
    if (!fgi_aug_check_boxes(x, name, &boxes))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL)
        return x;
    fg_tensor found;
    const fg_type *type = fg_tensor_type(x);
    const int64_t height = type->dim[1], width = type->dim[2];
    const fg_tensor u = fg_random_sample_uniform(key, name, FGI_AUG_BOX_NUMBERS + 1);
    /* on the transposed image, so that width to height is height to width */
    const fg_tensor box = fgi_aug_draw_box(u, &boxes, width, height, &found);
    const fg_tensor columns =
        fgi_aug_within(fgi_aug_columns(box, 0, 1), fgi_aug_columns(box, 2, 1), 2, width);
    const fg_tensor rows =
        fgi_aug_within(fgi_aug_columns(box, 1, 1), fgi_aug_columns(box, 3, 1), 1, height);
    const fg_tensor chosen =
        fg_and(fgi_aug_happens(fgi_aug_columns(u, FGI_AUG_BOX_NUMBERS, 1), o->p),
               fg_reshape(found, FG_DIMS(-1, 1, 1, 1)));
    const fg_tensor erased = fg_and(fg_and(rows, columns), chosen);
    return fg_where(erased, fg_full(fg_tensor_trace(x), type->dtype, o->value, FG_SCALAR), x);
}

static const fg_option random_erasing_options[] = {
    FG_OPTION(fg_aug_random_erasing_options, p, FLOAT, "0.5", "0..1", "0.25", "Probability."),
    FGI_AUG_BOX_OPTIONS(fg_aug_random_erasing_options, "0.02", "0.33", "0.3", "3.3",
                        "height to width"),
    FG_OPTION(fg_aug_random_erasing_options, value, FLOAT, "0", NULL, "0.5",
              "Value of the erased box, in the range of the images."),
};

FGI_AUG_ROW(random_erasing, "RandomErasing|cutout", "erase a random box", .apply = apply)
