/* augmentations.h - the built-in rows of augmentations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_AUG_AUGMENTATIONS_H
#define FGI_AUG_AUGMENTATIONS_H

#include <fulgurite/aug.h>

extern const fg_entry *const fgi_augmentation_rows[];
extern const size_t fgi_augmentation_row_count;

/* For rows with the options height and width, of which `auto` means the size of the images. */
#define FGI_AUG_SIZE_OPTIONS                                                                       \
    {.name = "height",                                                                             \
     .kind = FG_OPTION_INT,                                                                        \
     .initial = "auto",                                                                            \
     .range = "auto|1..1048576",                                                                   \
     .example = "224",                                                                             \
     .help = "Height of the result in pixels. auto: that of the images."},                         \
    {                                                                                              \
        .name = "width", .kind = FG_OPTION_INT, .initial = "auto", .range = "auto|1..1048576",     \
        .example = "224", .help = "Width of the result in pixels. auto: that of the images."       \
    }
/* fg_augmentation_entry.size for them. */
void fgi_aug_size_by_options(const fg_option_values *values, int64_t *height, int64_t *width);
/* An option `name` that is a number from 0 to `most`. */
#define FGI_AUG_NUMBER(option, default, most, text)                                                \
    {                                                                                              \
        .name = (option), .kind = FG_OPTION_FLOAT, .initial = (default), .range = "0.." most,      \
        .example = "0.25", .help = (text)                                                          \
    }

#endif
