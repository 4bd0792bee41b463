/* random_flip.c - images mirrored at random.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/aug_draw.h"
#include "aug/augmentations.h"

fg_tensor fg_aug_random_flip(fg_tensor image, const fg_sample_key *key,
                             const fg_aug_random_flip_options *options)
{
    const fg_aug_random_flip_options o =
        options != NULL ? *options : (fg_aug_random_flip_options){0};
    const double p = fgi_or_default(o.p, 0.5);
    const char *name = o.vertical ? "random_flip.vertical" : "random_flip";
    const fg_tensor x =
        fgi_aug_begin("random_flip", image, FGI_RESERVED(fg_aug_random_flip_options, options));
    if (fgi_is_poison(x) || !fgi_aug_check(x, "random_flip", "p", p, 0, 1))
        return fgi_poison(fg_tensor_trace(image));
    if (key == NULL)
        return x;
    const fg_tensor is_flipped = fgi_aug_happens(fgi_aug_uniform(key, name, 1), p);
    const int axis = o.vertical ? 1 : 2;
    return fg_where(is_flipped, fg_reverse(x, 1, &axis), x);
}

/* ---- the row --------------------------------------------------------------------------------- */

static fg_tensor apply_random_flip(fg_tensor image, const fg_sample_key *key,
                                   const fg_option_values *values)
{
    return fg_aug_random_flip(
        image, key,
        &(fg_aug_random_flip_options){.p = fg_option_number(values, "p"),
                                      .vertical = fg_option_bool(values, "vertical")});
}

static const fg_option random_flip_options[] = {
    FGI_AUG_NUMBER("p", "0.5", "1", "Probability."),
    {.name = "vertical",
     .kind = FG_OPTION_BOOL,
     .initial = "false",
     .example = "true",
     .help = "Flip vertically instead of horizontally."},
};

const fg_augmentation_entry fgi_random_flip_row = {
    .entry = {.name = "random_flip",
              .help = "flip images at random",
              .spellings = "flip|hflip|RandomHorizontalFlip",
              .options = random_flip_options,
              .option_count = sizeof random_flip_options / sizeof random_flip_options[0]},
    .apply = apply_random_flip};
