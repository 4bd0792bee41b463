/* random_flip.c - images mirrored at random.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/aug_draw.h"
#include "aug/augmentations.h"

static fg_tensor apply(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_random_flip_options *o = own;
    const char *name = o->vertical ? "random_flip.vertical" : "random_flip";
    const int axis = o->vertical ? 1 : 2;
    if (key == NULL)
        return x;
    const fg_tensor is_flipped = fgi_aug_happens(fgi_aug_uniform(key, name, 1), o->p);
    return fg_where(is_flipped, fg_reverse(x, 1, &axis), x);
}

static const fg_option random_flip_options[] = {
    FG_OPTION(fg_aug_random_flip_options, p, FLOAT, "0.5", "0..1", "0.25", "Probability."),
    FG_OPTION(fg_aug_random_flip_options, vertical, BOOL, "false", NULL, "true",
              "Flip vertically instead of horizontally."),
};

const fg_augmentation_entry fgi_random_flip_row = {
    .entry = {.name = "random_flip",
              .help = "flip images at random",
              .spellings = "flip|hflip|RandomHorizontalFlip",
              FG_OPTIONS(random_flip_options, fg_aug_random_flip_options)},
    .apply = apply};

FGI_AUG_FUNCTION(random_flip)
