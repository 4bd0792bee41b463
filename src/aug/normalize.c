/* normalize.c - images whose channels have mean 0 and standard deviation 1.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/aug_draw.h"
#include "aug/augmentations.h"
#include "base/alloc.h"

/* A constant T[count] with the image's dtype; poison after an error. */
static fg_tensor channels(fg_tensor image, const char *option, const double *values, int count)
{
    fg_trace *trace = fg_tensor_trace(image);
    const int64_t have = fg_tensor_dim(image, 3);
    if (count != 1 && count != have)
        return fgi_trace_fail(trace, FG_EINVAL, "normalize: %s has %d numbers: expected 1 or %lld",
                              option, count, (long long)have);
    double *copy = fgi_calloc((size_t)count, sizeof *copy);
    if (copy == NULL)
        return fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    for (int i = 0; i < count; i++)
        copy[i] = values[i];
    const fg_type type = {.dtype = FG_F64, .rank = 1, .dim = {count}};
    const fg_tensor wide = fg_constant(trace, &type, copy);
    fgi_free(copy);
    return fg_cast(wide, fg_tensor_type(image)->dtype);
}

fg_tensor fg_aug_normalize(fg_tensor image, const fg_sample_key *key,
                           const fg_aug_normalize_options *options)
{
    const fg_aug_normalize_options o = options != NULL ? *options : (fg_aug_normalize_options){0};
    (void)key;
    fg_tensor x =
        fgi_aug_begin("normalize", image, FGI_RESERVED(fg_aug_normalize_options, options));
    if (fgi_is_poison(x))
        return x;
    if (o.mean_count != 0)
        x = fg_sub(x, channels(x, "mean", o.mean, o.mean_count));
    if (o.std_count != 0 && !fgi_is_poison(x))
        x = fg_div(x, channels(x, "std", o.std, o.std_count));
    return x;
}

/* ---- the row --------------------------------------------------------------------------------- */

static fg_tensor apply_normalize(fg_tensor image, const fg_sample_key *key,
                                 const fg_option_values *values)
{
    enum { MOST = 64 };
    double mean[MOST], std[MOST];
    const size_t means = fg_option_count(values, "mean"), stds = fg_option_count(values, "std");
    if (means > MOST || stds > MOST)
        return fgi_trace_fail(fg_tensor_trace(image), FG_EINVAL,
                              "normalize: expected at most %d channels", MOST);
    for (size_t i = 0; i < means; i++)
        mean[i] = fg_option_float_at(values, "mean", i);
    for (size_t i = 0; i < stds; i++)
        std[i] = fg_option_float_at(values, "std", i);
    return fg_aug_normalize(
        image, key,
        &(fg_aug_normalize_options){
            .mean = mean, .std = std, .mean_count = (int)means, .std_count = (int)stds});
}

static const fg_option normalize_options[] = {
    {.name = "mean",
     .kind = FG_OPTION_FLOATS,
     .initial = "[]",
     .example = "[0.485, 0.456, 0.406]",
     .help = "Mean to subtract: one number, or one per channel."},
    {.name = "std",
     .kind = FG_OPTION_FLOATS,
     .initial = "[]",
     .range = "0<..",
     .example = "[0.229, 0.224, 0.225]",
     .help = "Standard deviation to divide by: one number, or one per channel."},
};

const fg_augmentation_entry fgi_normalize_row = {
    .entry = {.name = "normalize",
              .help = "subtract the mean and divide by the standard deviation",
              .spellings = "Normalize",
              .options = normalize_options,
              .option_count = sizeof normalize_options / sizeof normalize_options[0]},
    .apply = apply_normalize,
    .needs = "mean|std"};
