/* random_crop.c - blocks cut out of padded images at random positions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "aug/aug_draw.h"
#include "aug/augmentations.h"

static bool mirrors(const fg_aug_random_crop_options *o) { return strcmp(o->mode, "reflect") == 0; }

static fg_tensor padded(fg_tensor x, const fg_aug_random_crop_options *o)
{
    const int64_t around[4] = {0, o->padding, o->padding, 0};
    if (o->padding == 0)
        return x;
    if (strcmp(o->mode, "constant") == 0)
        return fg_pad(x, o->fill, around, around, NULL);
    const fg_tensor high = fgi_aug_continued(x, 1, o->padding, mirrors(o));
    return fgi_aug_continued(high, 2, o->padding, mirrors(o));
}

static bool is_valid(fg_tensor x, const fg_aug_random_crop_options *o)
{
    fg_trace *trace = fg_tensor_trace(x);
    const int64_t h = fg_tensor_dim(x, 1), w = fg_tensor_dim(x, 2), p = o->padding;
    if (mirrors(o) && (p >= h || p >= w))
        (void)fgi_trace_fail(trace, FG_EINVAL,
                             "random_crop: padding is %" PRId64 ": expected 0 to %" PRId64, p,
                             (h < w ? h : w) - 1);
    else if (o->height > h + 2 * p || o->width > w + 2 * p)
        (void)fgi_trace_fail(trace, FG_ESHAPE,
                             "random_crop: %" PRId64 " x %" PRId64
                             " pixels are more than the padded image's %" PRId64 " x %" PRId64,
                             o->height, o->width, h + 2 * p, w + 2 * p);
    else
        return true;
    return false;
}

static fg_tensor apply(fg_tensor x, const fg_sample_key *key, const void *own)
{
    static const char name[] = "random_crop";
    fg_aug_random_crop_options o = *(const fg_aug_random_crop_options *)own;
    if (!fgi_aug_size(x, name, &o.height, &o.width) || !is_valid(x, &o))
        return fgi_poison(fg_tensor_trace(x));
    x = padded(x, &o);
    const fg_type *type = fg_tensor_type(x);
    const int64_t rows = type->dim[1] - o.height + 1, columns = type->dim[2] - o.width + 1;
    if (key == NULL || (rows == 1 && columns == 1))
        return fgi_aug_middle(x, o.height, o.width);
    const fg_type two = {.dtype = FG_F32, .rank = 2, .dim = {1, 2}};
    const float counts[2] = {(float)rows, (float)columns};
    const fg_tensor n = fg_constant(fg_tensor_trace(x), &two, counts);
    const fg_tensor place =
        fg_cast(fgi_aug_below(fg_random_sample_uniform(key, name, 2), n), FG_S32);
    const fg_tensor start =
        fg_pad(place, 0, (const int64_t[]){0, 0}, (const int64_t[]){0, 1}, NULL);
    return fg_dynamic_slice(x, start,
                            (const int64_t[]){type->dim[0], o.height, o.width, type->dim[3]});
}

static const fg_option random_crop_options[] = {
    FGI_AUG_SIZE_OPTIONS(fg_aug_random_crop_options),
    FG_OPTION(fg_aug_random_crop_options, padding, INT, "0", "0..1048576", "4",
              "Padding on each side before cropping, in pixels."),
    FG_OPTION(fg_aug_random_crop_options, mode, CHOICE, "constant", "constant|edge|reflect",
              "reflect",
              "Padding mode. constant: the value fill; edge: the nearest pixel; reflect: the "
              "mirrored image."),
    FG_OPTION(fg_aug_random_crop_options, fill, FLOAT, "0", NULL, "0.5",
              "Value of the padding, in the range of the scaled images."),
};

FGI_AUG_ROW(random_crop, "RandomCrop", "pad, then crop at a random position", .apply = apply,
            .size = fgi_aug_size_of, .needs = "height|width|padding")
