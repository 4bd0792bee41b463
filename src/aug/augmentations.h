/* augmentations.h - the built-in rows of augmentations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_AUG_AUGMENTATIONS_H
#define FGI_AUG_AUGMENTATIONS_H

#include <fulgurite/aug.h>

#include "base/reserved.h"

extern const fg_entry *const fgi_augmentation_rows[];
extern const size_t fgi_augmentation_row_count;

/* Calls a row's function with the options of a C program, where 0 means the default. target: NULL
 * for a row with `apply`. */
fg_tensor fgi_aug_call(const fg_augmentation_entry *row, fg_tensor image, fg_tensor *target,
                       const fg_sample_key *key, fgi_reserved options);

/* The row of an augmentation, whose options NAME_options fill fg_aug_NAME_options; and fg_aug_NAME,
 * which calls it. The last arguments are other members of the row. */
#define FGI_AUG_ROW(name_, spellings_, help_, ...)                                                 \
    FGI_AUG_ENTRY(name_, spellings_, help_, __VA_ARGS__)                                           \
    fg_tensor fg_aug_##name_(fg_tensor image, const fg_sample_key *key,                            \
                             const fg_aug_##name_##_options *options)                              \
    {                                                                                              \
        return fgi_aug_call(&fgi_##name_##_row, image, NULL, key,                                  \
                            FGI_RESERVED(fg_aug_##name_##_options, options));                      \
    }
/* The same for a row that mixes samples. */
#define FGI_AUG_MIX_ROW(name_, spellings_, help_, ...)                                             \
    FGI_AUG_ENTRY(name_, spellings_, help_, __VA_ARGS__)                                           \
    fg_tensor fg_aug_##name_(fg_tensor image, fg_tensor *target, const fg_sample_key *key,         \
                             const fg_aug_##name_##_options *options)                              \
    {                                                                                              \
        return fgi_aug_call(&fgi_##name_##_row, image, target, key,                                \
                            FGI_RESERVED(fg_aug_##name_##_options, options));                      \
    }
#define FGI_AUG_ENTRY(name_, spellings_, help_, ...)                                               \
    const fg_augmentation_entry fgi_##name_##_row = {                                              \
        .entry = {.name = #name_,                                                                  \
                  .help = (help_),                                                                 \
                  .spellings = (spellings_),                                                       \
                  FG_OPTIONS(name_##_options, fg_aug_##name_##_options)},                          \
        __VA_ARGS__};

/* The options height and width, the first members of their struct; auto is FG_AUTO. */
#define FGI_AUG_SIZE_OPTIONS(type)                                                                 \
    FG_OPTION(type, height, INT, "auto", "auto|1..1048576", "224",                                 \
              "Height of the result in pixels. auto: that of the images."),                        \
        FG_OPTION(type, width, INT, "auto", "auto|1..1048576", "224",                              \
                  "Width of the result in pixels. auto: that of the images.")
/* fg_augmentation_entry.size for them. */
void fgi_aug_size_of(const void *own, int64_t *height, int64_t *width);
#define FGI_AUG_ANTIALIAS_OPTION(type)                                                             \
    FG_OPTION_NOT("antialias", type, no_antialias, "false",                                        \
                  "Apply a low-pass filter when downscaling (antialiasing).")

#endif
