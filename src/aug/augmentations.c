/* augmentations.c - the augmentations that a configuration can name: a row each; and the functions
 * of aug.h, which call these rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/augmentations.h"

#include <string.h>

#include "base/alloc.h"
#include "op/op.h"
#include "option/option.h"

void fgi_aug_size_of(const void *own, int64_t *height, int64_t *width)
{
    int64_t size[2];
    memcpy(size, own, sizeof size);
    *height = size[0] != FG_AUTO ? size[0] : *height;
    *width = size[1] != FG_AUTO ? size[1] : *width;
}

/* u8 images as f32 from 0 to 1, floating-point ones unchanged. Poison after an error. */
static fg_tensor begin(const char *name, fg_tensor image, fgi_reserved reserved)
{
    char text[96];
    fg_trace *trace = fg_tensor_trace(image);
    if (fgi_is_poison(image) || !fgi_trace_check_reserved(trace, reserved))
        return fgi_poison(trace);
    const fg_type *type = fg_tensor_type(image);
    const bool is_float = fg_dtype_is_float(type->dtype);
    if (type->rank != 4 || (!is_float && type->dtype != FG_U8))
        return fgi_trace_fail(trace, type->rank != 4 ? FG_ESHAPE : FG_EDTYPE,
                              "%s: got %s: expected images T[B,H,W,C], u8 or floating-point", name,
                              fg_type_format(type, text, sizeof text));
    return is_float ? image : fg_mul_scalar(fg_cast(image, FG_F32), 1.0 / 255);
}

fg_tensor fgi_aug_call(const fg_augmentation_entry *row, fg_tensor image, fg_tensor *target,
                       const fg_sample_key *key, fgi_reserved options)
{
    fg_error err = {0};
    void *own;
    const fg_tensor x = begin(row->entry.name, image, options);
    if (fgi_is_poison(x))
        return x;
    if (fgi_row_of(&row->entry, options.options, &own, &err) != FG_OK)
        return fgi_trace_fail(fg_tensor_trace(x), err.status, "%s", err.message);
    const fg_tensor changed =
        target != NULL ? row->mix(x, target, key, own) : row->apply(x, key, own);
    fgi_free(own);
    return changed;
}

#define ROWS(ROW)                                                                                  \
    ROW(fgi_random_crop_row)                                                                       \
    ROW(fgi_random_resized_crop_row)                                                               \
    ROW(fgi_random_flip_row)                                                                       \
    ROW(fgi_random_affine_row)                                                                     \
    ROW(fgi_rand_augment_row)                                                                      \
    ROW(fgi_trivial_augment_row)                                                                   \
    ROW(fgi_color_jitter_row)                                                                      \
    ROW(fgi_grayscale_row)                                                                         \
    ROW(fgi_sharpness_row)                                                                         \
    ROW(fgi_autocontrast_row)                                                                      \
    ROW(fgi_equalize_row)                                                                          \
    ROW(fgi_posterize_row)                                                                         \
    ROW(fgi_solarize_row)                                                                          \
    ROW(fgi_invert_row)                                                                            \
    ROW(fgi_gaussian_blur_row)                                                                     \
    ROW(fgi_random_erasing_row)                                                                    \
    ROW(fgi_mixup_row)                                                                             \
    ROW(fgi_cutmix_row)                                                                            \
    ROW(fgi_resize_row)                                                                            \
    ROW(fgi_center_crop_row)                                                                       \
    ROW(fgi_normalize_row)

#define DECLARE(name) extern const fg_augmentation_entry name;
ROWS(DECLARE)

#define ADDRESS(name) &(name).entry,
const fg_entry *const fgi_augmentation_rows[] = {ROWS(ADDRESS)};
const size_t fgi_augmentation_row_count =
    sizeof fgi_augmentation_rows / sizeof fgi_augmentation_rows[0];
