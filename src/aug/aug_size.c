/* aug_size.c - the same size for every image: resize and center_crop.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "aug/aug_draw.h"
#include "aug/augmentations.h"

bool fgi_aug_size(fg_tensor image, const char *name, int64_t *height, int64_t *width)
{
    *height = *height != FG_AUTO ? *height : fg_tensor_dim(image, 1);
    *width = *width != FG_AUTO ? *width : fg_tensor_dim(image, 2);
    if (fg_type_count(fg_tensor_type(image)) > 0)
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(image), FG_ESHAPE,
                         "%s: a result of %" PRId64 " x %" PRId64 " pixels is not valid", name,
                         *height, *width);
    return false;
}

fg_tensor fgi_aug_box_of_all(fg_tensor image, fgi_aug_box box, int64_t height, int64_t width,
                             bool no_antialias)
{
    const int64_t batch = fg_tensor_dim(image, 0);
    const float four[4] = {(float)box.top, (float)box.left, (float)box.height, (float)box.width};
    const fg_type type = {.dtype = FG_F32, .rank = 1, .dim = {4}};
    const fg_tensor one = fg_constant(fg_tensor_trace(image), &type, four);
    return fg_crop_resize(image, fg_broadcast_to(one, FG_DIMS(batch, 4)), height, width,
                          &(fg_crop_resize_options){.no_antialias = no_antialias});
}

fg_tensor fgi_aug_middle(fg_tensor image, int64_t height, int64_t width)
{
    const fg_type *type = fg_tensor_type(image);
    const int64_t top = (type->dim[1] - height) / 2, left = (type->dim[2] - width) / 2;
    const int64_t start[4] = {0, top, left, 0};
    const int64_t limit[4] = {type->dim[0], top + height, left + width, type->dim[3]};
    return fg_slice(image, start, limit, NULL);
}

fg_tensor fgi_aug_part(fg_tensor x, int axis, int64_t first, int64_t limit)
{
    int64_t start[4] = {0}, end[4];
    memcpy(end, fg_tensor_type(x)->dim, sizeof end);
    start[axis] = first;
    end[axis] = limit;
    return fg_slice(x, start, end, NULL);
}

fg_tensor fgi_aug_continued(fg_tensor x, int axis, int64_t by, bool mirrors)
{
    const int64_t n = fg_tensor_dim(x, axis);
    fg_tensor before, after;
    if (mirrors) {
        before = fg_reverse(fgi_aug_part(x, axis, 1, by + 1), 1, &axis);
        after = fg_reverse(fgi_aug_part(x, axis, n - 1 - by, n - 1), 1, &axis);
    } else {
        fg_type type = *fg_tensor_type(x);
        type.dim[axis] = by;
        before = fg_broadcast_to(fgi_aug_part(x, axis, 0, 1), 4, type.dim);
        after = fg_broadcast_to(fgi_aug_part(x, axis, n - 1, n), 4, type.dim);
    }
    return fg_concat((const fg_tensor[]){before, x, after}, 3, axis);
}

/* ---- the row of resize ----------------------------------------------------------------------- */

static fg_tensor apply_resize(fg_tensor x, const fg_sample_key *key, const void *own)
{
    fg_aug_resize_options o = *(const fg_aug_resize_options *)own;
    (void)key;
    if (!fgi_aug_size(x, "resize", &o.height, &o.width))
        return fgi_poison(fg_tensor_trace(x));
    const fgi_aug_box all = {0, 0, fg_tensor_dim(x, 1), fg_tensor_dim(x, 2)};
    if (all.height == o.height && all.width == o.width)
        return x;
    return fgi_aug_box_of_all(x, all, o.height, o.width, o.no_antialias);
}

static const fg_option resize_options[] = {
    FGI_AUG_SIZE_OPTIONS(fg_aug_resize_options),
    FGI_AUG_ANTIALIAS_OPTION(fg_aug_resize_options),
};

FGI_AUG_ROW(resize, "Resize", "resize the whole image", .apply = apply_resize,
            .size = fgi_aug_size_of, .needs = "height|width")

/* ---- the row of center_crop ------------------------------------------------------------------ */

static fg_tensor apply_center_crop(fg_tensor x, const fg_sample_key *key, const void *own)
{
    fg_aug_center_crop_options o = *(const fg_aug_center_crop_options *)own;
    (void)key;
    if (!fgi_aug_size(x, "center_crop", &o.height, &o.width))
        return fgi_poison(fg_tensor_trace(x));
    if (o.height > fg_tensor_dim(x, 1) || o.width > fg_tensor_dim(x, 2))
        return fgi_trace_fail(fg_tensor_trace(x), FG_ESHAPE,
                              "center_crop: %" PRId64 " x %" PRId64
                              " pixels are more than the image's %" PRId64 " x %" PRId64,
                              o.height, o.width, fg_tensor_dim(x, 1), fg_tensor_dim(x, 2));
    return fgi_aug_middle(x, o.height, o.width);
}

static const fg_option center_crop_options[] = {
    FGI_AUG_SIZE_OPTIONS(fg_aug_center_crop_options),
};

FGI_AUG_ROW(center_crop, "CenterCrop", "crop the center of the image", .apply = apply_center_crop,
            .size = fgi_aug_size_of, .needs = "height|width")
