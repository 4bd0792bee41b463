/* random_erasing.c - a random box of the image is replaced by a number.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/aug_draw.h"
#include "aug/augmentations.h"

fg_tensor fg_aug_random_erasing(fg_tensor image, const fg_sample_key *key,
                                const fg_aug_random_erasing_options *options)
{
    static const char name[] = "random_erasing";
    const fg_aug_random_erasing_options o =
        options != NULL ? *options : (fg_aug_random_erasing_options){0};
    const double p = fgi_or_default(o.p, 0.5);
    /* the ratio of this function is that of height to width */
    const fgi_aug_boxes boxes = {.scale_min = fgi_or_default(o.scale_min, 0.02),
                                 .scale_max = fgi_or_default(o.scale_max, 0.33),
                                 .ratio_min = fgi_or_default(o.ratio_min, 0.3),
                                 .ratio_max = fgi_or_default(o.ratio_max, 3.3),
                                 .is_smaller = true};
    const fg_tensor x =
        fgi_aug_begin(name, image, FGI_RESERVED(fg_aug_random_erasing_options, options));
    if (fgi_is_poison(x) || !fgi_aug_check(x, name, "p", p, 0, 1) ||
        !fgi_aug_check_boxes(x, name, &boxes))
        return fgi_poison(fg_tensor_trace(image));
    if (key == NULL)
        return x;
    fg_tensor found;
    const fg_type *type = fg_tensor_type(x);
    const int64_t height = type->dim[1], width = type->dim[2];
    const fg_tensor u = fgi_aug_uniform(key, name, FGI_AUG_BOX_NUMBERS + 1);
    /* on the transposed image, so that width to height is height to width */
    const fg_tensor box = fgi_aug_draw_box(u, &boxes, width, height, &found);
    const fg_tensor columns =
        fgi_aug_within(fgi_aug_columns(box, 0, 1), fgi_aug_columns(box, 2, 1), 2, width);
    const fg_tensor rows =
        fgi_aug_within(fgi_aug_columns(box, 1, 1), fgi_aug_columns(box, 3, 1), 1, height);
    const fg_tensor chosen = fg_and(fgi_aug_happens(fgi_aug_columns(u, FGI_AUG_BOX_NUMBERS, 1), p),
                                    fg_reshape(found, FG_DIMS(-1, 1, 1, 1)));
    const fg_tensor erased = fg_and(fg_and(rows, columns), chosen);
    return fg_where(erased, fg_full(fg_tensor_trace(x), type->dtype, o.value, FG_SCALAR), x);
}

/* ---- the row --------------------------------------------------------------------------------- */

static fg_tensor apply_random_erasing(fg_tensor image, const fg_sample_key *key,
                                      const fg_option_values *values)
{
    return fg_aug_random_erasing(
        image, key,
        &(fg_aug_random_erasing_options){.p = fg_option_number(values, "p"),
                                         .scale_min = fg_option_number(values, "scale_min"),
                                         .scale_max = fg_option_number(values, "scale_max"),
                                         .ratio_min = fg_option_number(values, "ratio_min"),
                                         .ratio_max = fg_option_number(values, "ratio_max"),
                                         .value = fg_option_float(values, "value")});
}

static const fg_option random_erasing_options[] = {
    FGI_AUG_NUMBER("p", "0.5", "1", "Probability."),
    FGI_AUG_NUMBER("scale_min", "0.02", "1", "Smallest fraction of the image's area."),
    FGI_AUG_NUMBER("scale_max", "0.33", "1", "Largest fraction of the image's area."),
    FGI_AUG_NUMBER("ratio_min", "0.3", "1000", "Smallest ratio of height to width."),
    FGI_AUG_NUMBER("ratio_max", "3.3", "1000", "Largest ratio of height to width."),
    {.name = "value",
     .kind = FG_OPTION_FLOAT,
     .initial = "0",
     .example = "0.5",
     .help = "Value of the erased box, in the range of the images."},
};

const fg_augmentation_entry fgi_random_erasing_row = {
    .entry = {.name = "random_erasing",
              .help = "erase a random box",
              .spellings = "RandomErasing|cutout",
              .options = random_erasing_options,
              .option_count = sizeof random_erasing_options / sizeof random_erasing_options[0]},
    .apply = apply_random_erasing};
