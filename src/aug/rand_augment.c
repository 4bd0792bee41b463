/* rand_augment.c - random operations of one magnitude (RandAugment), and one random operation of a
 * random magnitude (TrivialAugment).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/aug_draw.h"
#include "aug/augmentations.h"
#include "aug/policy.h"

enum { BINS = 31, MOST_OPERATIONS = 16 };

/* Uniform numbers as one of the operations. */
static fg_tensor operation_of(fg_tensor u)
{
    return fgi_aug_below(u, fgi_full_like(u, FGI_AUG_OPERATIONS));
}

static fg_tensor is_below_half(fg_tensor u) { return fg_lt(u, fgi_full_like(u, 0.5)); }

fg_tensor fg_aug_rand_augment(fg_tensor image, const fg_sample_key *key,
                              const fg_aug_rand_augment_options *options)
{
    static const char name[] = "rand_augment";
    const fg_aug_rand_augment_options o =
        options != NULL ? *options : (fg_aug_rand_augment_options){0};
    const int64_t operations = o.operations != 0 ? o.operations : 2;
    const int64_t bins = o.bins != 0 ? o.bins : BINS;
    const double magnitude = fgi_or_default(o.magnitude, 9);
    fg_tensor x = fgi_aug_begin(name, image, FGI_RESERVED(fg_aug_rand_augment_options, options));
    if (fgi_is_poison(x) || !fgi_aug_policy_check(x, name, bins) ||
        !fgi_aug_check(x, name, "operations", (double)operations, 1, MOST_OPERATIONS) ||
        !fgi_aug_check(x, name, "magnitude", magnitude, 0, (double)(bins - 1)))
        return fgi_poison(fg_tensor_trace(image));
    if (key == NULL)
        return x;
    fgi_aug_space space = fgi_aug_rand_space(x, bins);
    space.fill = o.fill;
    space.is_linear = o.bilinear;
    const fg_tensor u = fgi_aug_uniform(key, name, 2 * operations);
    for (int64_t i = 0; i < operations; i++) {
        const fg_tensor choice = operation_of(fgi_aug_columns(u, 2 * i, 1));
        const fg_tensor is_negative = is_below_half(fgi_aug_columns(u, 2 * i + 1, 1));
        x = fgi_aug_policy(x, &space, choice, fg_floor(fgi_full_like(choice, magnitude)),
                           is_negative);
    }
    return x;
}

fg_tensor fg_aug_trivial_augment(fg_tensor image, const fg_sample_key *key,
                                 const fg_aug_trivial_augment_options *options)
{
    static const char name[] = "trivial_augment";
    const fg_aug_trivial_augment_options o =
        options != NULL ? *options : (fg_aug_trivial_augment_options){0};
    const int64_t bins = o.bins != 0 ? o.bins : BINS;
    const fg_tensor x =
        fgi_aug_begin(name, image, FGI_RESERVED(fg_aug_trivial_augment_options, options));
    if (fgi_is_poison(x) || !fgi_aug_policy_check(x, name, bins))
        return fgi_poison(fg_tensor_trace(image));
    if (key == NULL)
        return x;
    fgi_aug_space space = fgi_aug_trivial_space(bins);
    space.fill = o.fill;
    space.is_linear = o.bilinear;
    const fg_tensor u = fgi_aug_uniform(key, name, 3);
    const fg_tensor bin = fgi_aug_columns(u, 1, 1);
    return fgi_aug_policy(x, &space, operation_of(fgi_aug_columns(u, 0, 1)),
                          fgi_aug_below(bin, fgi_full_like(bin, (double)bins)),
                          is_below_half(fgi_aug_columns(u, 2, 1)));
}

/* ---- the rows -------------------------------------------------------------------------------- */

#define BINS_OPTION                                                                                \
    {                                                                                              \
        .name = "bins", .kind = FG_OPTION_INT, .initial = "31", .range = "2..256",                 \
        .example = "11", .help = "Number of magnitudes."                                           \
    }

#define OUTSIDE_OPTIONS                                                                            \
    {.name = "fill",                                                                               \
     .kind = FG_OPTION_FLOAT,                                                                      \
     .initial = "0",                                                                               \
     .example = "0.5",                                                                             \
     .help = "The value of pixels outside the image, in the range of the scaled images."},         \
    {                                                                                              \
        .name = "bilinear", .kind = FG_OPTION_BOOL, .initial = "false", .example = "true",         \
        .help = "Interpolate linearly instead of selecting the nearest pixel."                     \
    }

static fg_tensor apply_rand_augment(fg_tensor image, const fg_sample_key *key,
                                    const fg_option_values *values)
{
    return fg_aug_rand_augment(
        image, key,
        &(fg_aug_rand_augment_options){.operations = fg_option_int(values, "operations"),
                                       .magnitude = fg_option_number(values, "magnitude"),
                                       .bins = fg_option_int(values, "bins"),
                                       .fill = fg_option_float(values, "fill"),
                                       .bilinear = fg_option_bool(values, "bilinear")});
}

static const fg_option rand_augment_options[] = {
    {.name = "operations",
     .kind = FG_OPTION_INT,
     .initial = "2",
     .range = "1..16",
     .example = "1",
     .help = "Number of operations that are applied one after another."},
    {.name = "magnitude",
     .kind = FG_OPTION_INT,
     .initial = "9",
     .range = "0..255",
     .example = "5",
     .help = "Magnitude of the operations, from 0 to bins - 1."},
    BINS_OPTION,
    OUTSIDE_OPTIONS,
};

const fg_augmentation_entry fgi_rand_augment_row = {
    .entry = {.name = "rand_augment",
              .help = "apply random operations of the same magnitude (RandAugment)",
              .spellings = "RandAugment|randaugment",
              .options = rand_augment_options,
              .option_count = sizeof rand_augment_options / sizeof rand_augment_options[0]},
    .apply = apply_rand_augment};

static fg_tensor apply_trivial_augment(fg_tensor image, const fg_sample_key *key,
                                       const fg_option_values *values)
{
    return fg_aug_trivial_augment(
        image, key,
        &(fg_aug_trivial_augment_options){.bins = fg_option_int(values, "bins"),
                                          .fill = fg_option_float(values, "fill"),
                                          .bilinear = fg_option_bool(values, "bilinear")});
}

static const fg_option trivial_augment_options[] = {
    BINS_OPTION,
    OUTSIDE_OPTIONS,
};

const fg_augmentation_entry fgi_trivial_augment_row = {
    .entry = {.name = "trivial_augment",
              .help = "apply one random operation of a random magnitude (TrivialAugment)",
              .spellings = "TrivialAugmentWide|trivialaugment",
              .options = trivial_augment_options,
              .option_count = sizeof trivial_augment_options / sizeof trivial_augment_options[0]},
    .apply = apply_trivial_augment};
