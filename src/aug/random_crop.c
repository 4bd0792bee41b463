/* random_crop.c - blocks cut out of padded images at random positions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "aug/aug_size.h"
#include "aug/aug_draw.h"
#include "aug/augmentations.h"

static fg_tensor padded(fg_tensor x, const fg_aug_random_crop_options *o)
{
    const int64_t around[4] = {0, o->padding, o->padding, 0};
    if (o->padding == 0)
        return x;
    if (o->mode == NULL || strcmp(o->mode, "constant") == 0)
        return fg_pad(x, o->fill, around, around, NULL);
    const bool mirrors = strcmp(o->mode, "reflect") == 0;
    return fgi_aug_continued(fgi_aug_continued(x, 1, o->padding, mirrors), 2, o->padding, mirrors);
}

static bool is_valid(fg_tensor x, const fg_aug_random_crop_options *o)
{
    fg_trace *trace = fg_tensor_trace(x);
    const int64_t h = fg_tensor_dim(x, 1), w = fg_tensor_dim(x, 2), p = o->padding;
    const bool mirrors = o->mode != NULL && strcmp(o->mode, "reflect") == 0;
    if (o->mode != NULL && !mirrors && strcmp(o->mode, "constant") != 0 &&
        strcmp(o->mode, "edge") != 0)
        (void)fgi_trace_fail(trace, FG_EINVAL,
                             "random_crop: mode is '%s': expected constant, edge or reflect",
                             o->mode);
    else if (p < 0 || p >= FGI_LARGEST_WINDOW || (mirrors && (p >= h || p >= w)))
        (void)fgi_trace_fail(trace, FG_EINVAL,
                             "random_crop: padding is %" PRId64 ": expected 0 to %" PRId64, p,
                             mirrors ? (h < w ? h : w) - 1 : (int64_t)FGI_LARGEST_WINDOW - 1);
    else if (o->height > h + 2 * p || o->width > w + 2 * p)
        (void)fgi_trace_fail(trace, FG_ESHAPE,
                             "random_crop: %" PRId64 " x %" PRId64
                             " pixels are more than the padded image's %" PRId64 " x %" PRId64,
                             o->height, o->width, h + 2 * p, w + 2 * p);
    else
        return true;
    return false;
}

fg_tensor fg_aug_random_crop(fg_tensor image, const fg_sample_key *key,
                             const fg_aug_random_crop_options *options)
{
    static const char name[] = "random_crop";
    fg_aug_random_crop_options o = options != NULL ? *options : (fg_aug_random_crop_options){0};
    fg_tensor x = fgi_aug_begin(name, image, FGI_RESERVED(fg_aug_random_crop_options, options));
    if (fgi_is_poison(x) || !fgi_aug_size(x, name, &o.height, &o.width) || !is_valid(x, &o))
        return fgi_poison(fg_tensor_trace(image));
    x = padded(x, &o);
    const fg_type *type = fg_tensor_type(x);
    const int64_t rows = type->dim[1] - o.height + 1, columns = type->dim[2] - o.width + 1;
    if (key == NULL || (rows == 1 && columns == 1))
        return fgi_aug_middle(x, o.height, o.width);
    const fg_type two = {.dtype = FG_F32, .rank = 2, .dim = {1, 2}};
    const float counts[2] = {(float)rows, (float)columns};
    const fg_tensor n = fg_constant(fg_tensor_trace(x), &two, counts);
    const fg_tensor place = fg_cast(fgi_aug_below(fgi_aug_uniform(key, name, 2), n), FG_S32);
    const fg_tensor start =
        fg_pad(place, 0, (const int64_t[]){0, 0}, (const int64_t[]){0, 1}, NULL);
    return fg_dynamic_slice(x, start,
                            (const int64_t[]){type->dim[0], o.height, o.width, type->dim[3]});
}

/* ---- the row --------------------------------------------------------------------------------- */

static fg_tensor apply_random_crop(fg_tensor image, const fg_sample_key *key,
                                   const fg_option_values *values)
{
    fg_aug_random_crop_options o = {.padding = fg_option_int(values, "padding"),
                                    .mode = fg_option_string(values, "mode"),
                                    .fill = fg_option_float(values, "fill")};
    fgi_aug_size_by_options(values, &o.height, &o.width);
    return fg_aug_random_crop(image, key, &o);
}

static const fg_option random_crop_options[] = {
    FGI_AUG_SIZE_OPTIONS,
    {.name = "padding",
     .kind = FG_OPTION_INT,
     .initial = "0",
     .range = "0..1048576",
     .example = "4",
     .help = "Padding on each side before cropping, in pixels."},
    {.name = "mode",
     .kind = FG_OPTION_CHOICE,
     .initial = "constant",
     .range = "constant|edge|reflect",
     .example = "reflect",
     .help = "Padding mode. constant: the value fill; edge: the nearest pixel; reflect: the "
             "mirrored image."},
    {.name = "fill",
     .kind = FG_OPTION_FLOAT,
     .initial = "0",
     .example = "0.5",
     .help = "Value of the padding, in the range of the scaled images."},
};

const fg_augmentation_entry fgi_random_crop_row = {
    .entry = {.name = "random_crop",
              .help = "pad, then crop at a random position",
              .spellings = "RandomCrop",
              .options = random_crop_options,
              .option_count = sizeof random_crop_options / sizeof random_crop_options[0]},
    .apply = apply_random_crop,
    .size = fgi_aug_size_by_options,
    .needs = "height|width|padding"};
