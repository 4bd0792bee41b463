/* format_crop.h - the options of data formats whose samples are images, which say how an image
 * becomes a sample, and how such samples are held out.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_FORMAT_CROP_H
#define FGI_DATA_FORMAT_CROP_H

#include <fulgurite/images.h>
#include "data/formats.h"

/* The rows of options. */
#define FGI_OPTIONS_CROP                                                                           \
    {.name = "size",                                                                               \
     .kind = FG_OPTION_INT,                                                                        \
     .initial = "224",                                                                             \
     .range = "1..65536",                                                                          \
     .example = "160",                                                                             \
     .help = "Height and width of the samples, in pixels."},                                       \
        {.name = "channels",                                                                       \
         .kind = FG_OPTION_CHOICE,                                                                 \
         .initial = "3",                                                                           \
         .range = "1|3",                                                                           \
         .example = "1",                                                                           \
         .help = "1: gray, 3: RGB."},                                                              \
        {.name = "crop",                                                                           \
         .kind = FG_OPTION_CHOICE,                                                                 \
         .initial = "random",                                                                      \
         .range = "random|window|center",                                                          \
         .example = "center",                                                                      \
         .help = "How training images are cropped. random: a box with a random area and aspect "   \
                 "ratio (RandomResizedCrop). window: a random window of size x size pixels, "      \
                 "without resizing (RandomCrop). center: like validation images."},                \
        {.name = "crop_scale",                                                                     \
         .kind = FG_OPTION_FLOATS,                                                                 \
         .initial = "[0.08, 1]",                                                                   \
         .range = "1e-6..1",                                                                       \
         .min_count = 2,                                                                           \
         .max_count = 2,                                                                           \
         .example = "[0.25, 1]",                                                                   \
         .help = "Range of the area of random boxes, as a fraction of the image."},                \
        {.name = "crop_ratio",                                                                     \
         .kind = FG_OPTION_FLOATS,                                                                 \
         .initial = "[0.75, 1.3333333333333333]",                                                  \
         .range = "1e-3..1e3",                                                                     \
         .min_count = 2,                                                                           \
         .max_count = 2,                                                                           \
         .example = "[1, 1]",                                                                      \
         .help = "Range of width / height of random boxes."},                                      \
        {.name = "flip",                                                                           \
         .kind = FG_OPTION_FLOAT,                                                                  \
         .initial = "0.5",                                                                         \
         .range = "0..1",                                                                          \
         .example = "0",                                                                           \
         .help = "Probability that a training image is mirrored horizontally, with crop random "   \
                 "or window."},                                                                    \
        {.name = "crop_seed",                                                                      \
         .kind = FG_OPTION_INT,                                                                    \
         .initial = "0",                                                                           \
         .range = "0..",                                                                           \
         .example = "1",                                                                           \
         .help = "Seed of random boxes, windows and flips."},                                      \
    {                                                                                              \
        .name = "center_fraction", .kind = FG_OPTION_FLOAT, .initial = "0.875",                    \
        .range = "1e-3..1", .example = "1",                                                        \
        .help = "Size of the box in the middle of an image, as a fraction of the largest square."  \
    }

#define FGI_OPTION_DAMAGED                                                                         \
    {                                                                                              \
        .name = "damaged", .kind = FG_OPTION_CHOICE, .initial = "fail", .range = "fail|skip",      \
        .example = "skip",                                                                         \
        .help = "What to do with a training sample that cannot be read: a damaged record, or an "  \
                "image that cannot be decoded. fail: stop, and name it. skip: train with the "     \
                "next sample instead, and report it at the end. Samples for validation, test and " \
                "predict are never replaced. Rows of a list whose file does not exist are left "   \
                "out, which is printed."                                                           \
    }

/* The rows of options that say how files are decoded. */
#define FGI_OPTIONS_DECODE                                                                         \
    {.name = "tolerate_corruption",                                                                \
     .kind = FG_OPTION_BOOL,                                                                       \
     .initial = "false",                                                                           \
     .example = "true",                                                                            \
     .help =                                                                                       \
         "Decode as much as possible of truncated and corrupt JPEGs, instead of treating them "    \
         "as damaged; missing pixels are gray. JPEGs with harmless flaws are always decoded."},    \
    {                                                                                              \
        .name = "decode_memory", .kind = FG_OPTION_INT, .initial = "auto",                         \
        .range = "auto|1..1048576", .example = "512",                                              \
        .help =                                                                                    \
            "Memory limit in MiB for decoding large images (progressive JPEGs, WebP, large PNG "   \
            "files), for all threads of a loader together. A thread waits while the others use "   \
            "too much. auto: 1/8 of the machine's memory, at least 64 MiB."                        \
    }

#define FGI_OPTION_CHECK                                                                           \
    {                                                                                              \
        .name = "check", .kind = FG_OPTION_CHOICE, .initial = "auto",                              \
        .range = "auto|all|decode|never", .example = "decode",                                     \
        .help = "Check the beginning and the end of each training and validation file before "     \
                "training, to find truncated files. auto: for at most 2 seconds, "                 \
                "and print how many files were checked if that is not enough for all. all: until " \
                "all files are checked. decode: decode each file once, which also finds damage "   \
                "within a file; otherwise, that is only noticed by crops that need this part."     \
    }

/* Whether damaged samples are replaced by others. */
bool fgi_crop_skips(const fg_option_values *values);

/* FG_EINVAL if options contradict each other. */
fg_status fgi_crop_check(const fg_option_values *values, fg_error *err);

/* The options of training samples, or of samples that are cropped in the middle. With `input`, they
 * have the size that a checkpoint was trained with, which no option says if the device decoded its
 * training samples. NULL: the size that the options say. */
fg_images_options fgi_crop_options(const fg_option_values *values, const fg_type *input,
                                   bool is_training);

/* FG_EINVAL if a source whose samples have splits has none (`count`) for the part. */
fg_status fgi_crop_check_count(const char *path, fg_data_part part, int64_t count, fg_error *err);

/* The request for validation samples that are opened with the training samples: with the same
 * classes. Valid as long as `train`. */
fg_format_request fgi_crop_val_request(const fg_format_request *request, const fg_dataset *train);

/* Warns if `count` samples of the source have several labels. */
void fgi_crop_warn_labels(const fg_format_request *request, const char *path, int64_t count);

/* Appends a hint to the error if `applies`; returns its status. */
fg_status fgi_crop_hint(fg_status status, bool applies, const char *hint, fg_error *err);

/* Holds out rows as fg_dataset_split does: out->samples are of `varied`, out->val of `middle`, a
 * dataset of the same samples. Damaged samples of out->samples are not replaced by those of
 * out->val. */
fg_status fgi_crop_hold_out(const fg_format_request *request, fg_dataset *varied,
                            fg_dataset *middle, fg_format_data *out, fg_error *err);

#endif
