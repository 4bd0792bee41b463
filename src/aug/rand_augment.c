/* rand_augment.c - random operations of one magnitude (RandAugment), and one random operation of a
 * random magnitude (TrivialAugment).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/aug_draw.h"
#include "aug/augmentations.h"
#include "aug/policy.h"

/* Uniform numbers as one of the operations. */
static fg_tensor operation_of(fg_tensor u)
{
    return fgi_aug_below(u, fgi_full_like(u, FGI_AUG_OPERATIONS));
}

static fg_tensor is_below_half(fg_tensor u) { return fg_lt(u, fgi_full_like(u, 0.5)); }

/* ---- the row of rand_augment ----------------------------------------------------------------- */

static fg_tensor apply_rand_augment(fg_tensor x, const fg_sample_key *key, const void *own)
{
    static const char name[] = "rand_augment";
    const fg_aug_rand_augment_options *o = own;
    if (!fgi_aug_policy_check(x, name) ||
        !fgi_aug_check(x, name, "magnitude", (double)o->magnitude, (double)(o->bins - 1)))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL)
        return x;
    fgi_aug_space space = fgi_aug_rand_space(x, o->bins);
    space.fill = o->fill;
    space.is_linear = o->bilinear;
    const fg_tensor u = fgi_aug_uniform(key, name, 2 * o->operations);
    for (int64_t i = 0; i < o->operations; i++) {
        const fg_tensor choice = operation_of(fgi_aug_columns(u, 2 * i, 1));
        const fg_tensor is_negative = is_below_half(fgi_aug_columns(u, 2 * i + 1, 1));
        x = fgi_aug_policy(x, &space, choice, fgi_full_like(choice, (double)o->magnitude),
                           is_negative);
    }
    return x;
}

#define SPACE_OPTIONS(type)                                                                        \
    FG_OPTION(type, bins, INT, "31", "2..256", "11", "Number of magnitudes."),                     \
        FG_OPTION(type, fill, FLOAT, "0", NULL, "0.5",                                             \
                  "The value of pixels outside the image, in the range of the scaled images."),    \
        FG_OPTION(type, bilinear, BOOL, "false", NULL, "true",                                     \
                  "Interpolate linearly instead of selecting the nearest pixel.")

static const fg_option rand_augment_options[] = {
    FG_OPTION(fg_aug_rand_augment_options, operations, INT, "2", "1..16", "1",
              "Number of operations that are applied one after another."),
    FG_OPTION(fg_aug_rand_augment_options, magnitude, INT, "9", "0..255", "5",
              "Magnitude of the operations, from 0 to bins - 1."),
    SPACE_OPTIONS(fg_aug_rand_augment_options),
};

const fg_augmentation_entry fgi_rand_augment_row = {
    .entry = {.name = "rand_augment",
              .help = "apply random operations of the same magnitude (RandAugment)",
              .spellings = "RandAugment|randaugment",
              FG_OPTIONS(rand_augment_options, fg_aug_rand_augment_options)},
    .apply = apply_rand_augment};

FGI_AUG_FUNCTION(rand_augment)

/* ---- the row of trivial_augment -------------------------------------------------------------- */

static fg_tensor apply_trivial_augment(fg_tensor x, const fg_sample_key *key, const void *own)
{
    static const char name[] = "trivial_augment";
    const fg_aug_trivial_augment_options *o = own;
    if (!fgi_aug_policy_check(x, name))
        return fgi_poison(fg_tensor_trace(x));
    if (key == NULL)
        return x;
    fgi_aug_space space = fgi_aug_trivial_space(o->bins);
    space.fill = o->fill;
    space.is_linear = o->bilinear;
    const fg_tensor u = fgi_aug_uniform(key, name, 3);
    const fg_tensor bin = fgi_aug_columns(u, 1, 1);
    return fgi_aug_policy(x, &space, operation_of(fgi_aug_columns(u, 0, 1)),
                          fgi_aug_below(bin, fgi_full_like(bin, (double)o->bins)),
                          is_below_half(fgi_aug_columns(u, 2, 1)));
}

static const fg_option trivial_augment_options[] = {
    SPACE_OPTIONS(fg_aug_trivial_augment_options),
};

const fg_augmentation_entry fgi_trivial_augment_row = {
    .entry = {.name = "trivial_augment",
              .help = "apply one random operation of a random magnitude (TrivialAugment)",
              .spellings = "TrivialAugmentWide|trivialaugment",
              FG_OPTIONS(trivial_augment_options, fg_aug_trivial_augment_options)},
    .apply = apply_trivial_augment};

FGI_AUG_FUNCTION(trivial_augment)
