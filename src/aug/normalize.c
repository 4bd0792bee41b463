/* normalize.c - images whose channels have mean 0 and standard deviation 1.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/aug_draw.h"
#include "aug/augmentations.h"

/* A constant T[count] with the image's dtype; poison after an error. */
static fg_tensor channels(fg_tensor image, const char *option, fg_floats values)
{
    fg_trace *trace = fg_tensor_trace(image);
    const int64_t have = fg_tensor_dim(image, 3), count = (int64_t)values.count;
    if (count != 1 && count != have)
        return fgi_trace_fail(trace, FG_EINVAL,
                              "normalize: %s has %lld numbers: expected 1 or %lld", option,
                              (long long)count, (long long)have);
    const fg_type type = {.dtype = FG_F64, .rank = 1, .dim = {count}};
    return fg_cast(fg_constant(trace, &type, values.at), fg_tensor_type(image)->dtype);
}

static fg_tensor apply(fg_tensor x, const fg_sample_key *key, const void *own)
{
    const fg_aug_normalize_options *o = own;
    (void)key;
    if (o->mean.count != 0)
        x = fg_sub(x, channels(x, "mean", o->mean));
    if (o->std.count != 0 && !fgi_is_poison(x))
        x = fg_div(x, channels(x, "std", o->std));
    return x;
}

static const fg_option normalize_options[] = {
    FG_OPTION(fg_aug_normalize_options, mean, FLOATS, "[]", NULL, "[0.485, 0.456, 0.406]",
              "Mean to subtract: one number, or one per channel."),
    FG_OPTION(fg_aug_normalize_options, std, FLOATS, "[]", "0<..", "[0.229, 0.224, 0.225]",
              "Standard deviation to divide by: one number, or one per channel."),
};

FGI_AUG_ROW(normalize, "Normalize", "subtract the mean and divide by the standard deviation",
            .apply = apply, .needs = "mean|std")
