/* augmentations.c - the augmentations that a configuration can name: a row each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug/augmentations.h"

void fgi_aug_size_by_options(const fg_option_values *values, int64_t *height, int64_t *width)
{
    const int64_t h = fg_option_int(values, "height"), w = fg_option_int(values, "width");
    *height = h > 0 ? h : *height;
    *width = w > 0 ? w : *width;
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
