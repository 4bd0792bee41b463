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
    const fg_tensor is_flipped = fgi_aug_happens(fg_random_sample_uniform(key, name, 1), o->p);
    return fg_where(is_flipped, fg_reverse(x, 1, &axis), x);
}

static const fg_option random_flip_options[] = {
    FG_OPTION(fg_aug_random_flip_options, p, FLOAT, "0.5", "0..1", "0.25", "Probability."),
    FG_OPTION(fg_aug_random_flip_options, vertical, BOOL, "false", NULL, "true",
              "Flip vertically instead of horizontally."),
};

FGI_AUG_ROW(random_flip, "flip|hflip|RandomHorizontalFlip", "flip images at random", .apply = apply)
