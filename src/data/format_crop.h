/* format_crop.h - the options of data formats whose samples are images, which say how an image
 * becomes a sample, and how such samples are held out.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_FORMAT_CROP_H
#define FGI_DATA_FORMAT_CROP_H

#include <fulgurite/images.h>
#include "data/formats.h"

/* The first member of the structs of these formats, which the rows below fill. */
typedef struct fgi_crop {
    const char *paths[4]; /* by fg_data_part */
    int64_t size, crop_seed;
    int64_t decode_memory; /* MiB, or FG_AUTO */
    enum { FGI_CHANNELS_GRAY, FGI_CHANNELS_RGB } channels;
    enum { FGI_CROP_RANDOM, FGI_CROP_WINDOW, FGI_CROP_CENTER } crop;
    enum { FGI_DAMAGED_FAIL, FGI_DAMAGED_SKIP } damaged;
    double crop_scale[2], crop_ratio[2], flip, center_fraction;
    bool tolerate_corruption;
} fgi_crop;

/* The options that name the samples of a part; `predict` is FGI_OPTION_PREDICT(fgi_crop). */
#define FGI_OPTION_PATH(name, part, example, help)                                                 \
    FG_OPTION_AS(name, fgi_crop, paths[part], STRING, NULL, NULL, example, help)

#define FGI_OPTIONS_CROP                                                                           \
    FG_OPTION(fgi_crop, size, INT, "224", "1..65536", "160",                                       \
              "Height and width of the samples, in pixels."),                                      \
        FG_OPTION_ENUM(fgi_crop, channels, "3", "1|3", "1", "1: gray, 3: RGB."),                   \
        FG_OPTION_ENUM(                                                                            \
            fgi_crop, crop, "random", "random|window|center", "center",                            \
            "How training images are cropped. random: a box with a random area and aspect "        \
            "ratio (RandomResizedCrop). window: a random window of size x size pixels, "           \
            "without resizing (RandomCrop). center: like validation images."),                     \
        FG_OPTION_PAIR(fgi_crop, crop_scale, FLOATS, "[0.08, 1]", "1e-6..1", "[0.25, 1]",          \
                       "Range of the area of random boxes, as a fraction of the image."),          \
        FG_OPTION_PAIR(fgi_crop, crop_ratio, FLOATS, "[0.75, 1.3333333333333333]", "1e-3..1e3",    \
                       "[1, 1]", "Range of width / height of random boxes."),                      \
        FG_OPTION(fgi_crop, flip, FLOAT, "0.5", "0..1", "0",                                       \
                  "Probability that a training image is mirrored horizontally, with crop random "  \
                  "or window."),                                                                   \
        FG_OPTION(fgi_crop, crop_seed, INT, "0", "0..", "1",                                       \
                  "Seed of random boxes, windows and flips."),                                     \
        FG_OPTION(fgi_crop, center_fraction, FLOAT, "0.875", "1e-3..1", "1",                       \
                  "Size of the box in the middle of an image, as a fraction of the largest "       \
                  "square.")

#define FGI_OPTION_DAMAGED                                                                         \
    FG_OPTION_ENUM(                                                                                \
        fgi_crop, damaged, "fail", "fail|skip", "skip",                                            \
        "What to do with a training sample that cannot be read: a damaged record, or an "          \
        "image that cannot be decoded. fail: stop, and name it. skip: train with the "             \
        "next sample instead, and report it at the end. Samples for validation, test and "         \
        "predict are never replaced. Rows of a list whose file does not exist are left "           \
        "out, which is printed.")

/* How files are decoded. */
#define FGI_OPTIONS_DECODE                                                                         \
    FG_OPTION(fgi_crop, tolerate_corruption, BOOL, "false", NULL, "true",                          \
              "Decode as much as possible of truncated and corrupt JPEGs, instead of treating "    \
              "them as damaged; missing pixels are gray. JPEGs with harmless flaws are always "    \
              "decoded."),                                                                         \
        FG_OPTION(fgi_crop, decode_memory, INT, "auto", "auto|1..1048576", "512",                  \
                  "Memory limit in MiB for decoding large images (progressive JPEGs, WebP, large " \
                  "PNG files), for all threads of a loader together. A thread waits while the "    \
                  "others use too much. auto: 1/8 of the machine's memory, at least 64 MiB.")

/* FG_EINVAL if options contradict each other. */
fg_status fgi_crop_check(const fgi_crop *o, const fg_option_values *values, fg_error *err);

/* The options of training samples, or of samples that are cropped in the middle. With `input`, they
 * have the size that a checkpoint was trained with, which no option says if the device decoded its
 * training samples. NULL: the size that the options say. */
fg_images_options fgi_crop_options(const fgi_crop *o, const fg_type *input, bool is_training);

/* FG_EINVAL if a source whose samples have splits has none (`count`) for the part. */
fg_status fgi_crop_check_count(const char *path, fg_data_part part, int64_t count, fg_error *err);

/* Whether the samples of the source have several labels: as request->task says; if that is auto,
 * because the options say so, or `count` samples have several. Warns if it is false, and some
 * have. */
bool fgi_crop_is_multilabel(const fg_format_request *request, const char *path, bool is_given,
                            int64_t count);

/* Appends a hint to the error if `applies`; returns its status. */
fg_status fgi_crop_hint(fg_status status, bool applies, const char *hint, fg_error *err);

/* Holds out rows as fg_dataset_split does: out->samples are of `varied`, out->val of `middle`, a
 * dataset of the same samples. Damaged samples of out->samples are not replaced by those of
 * out->val. */
fg_status fgi_crop_hold_out(const fg_format_request *request, fg_dataset *varied,
                            fg_dataset *middle, fg_format_data *out, fg_error *err);

/* Where a format finds samples. An object of `size` bytes, 0 at first, is the source of a part. */
typedef struct fgi_crop_source {
    size_t size;
    /* own: the struct of the format; both are valid until the object is closed, which it is also
     * after an error. *out_has_val: some samples are of the split val. */
    fg_status (*open)(void *self, const void *own, const fg_format_request *request,
                      bool *out_has_val, fg_error *err);
    /* The samples, cropped as for training or in the middle. is_fit: they are those of a fit,
     * before which files are checked. */
    fg_status (*create)(const void *self, bool is_training, bool is_fit, fg_dataset **out,
                        fg_error *err);
    void (*close)(void *self);
} fgi_crop_source;

/* Opens the request's part: to train, with validation samples, which are held out or of the option
 * val. */
fg_status fgi_crop_open(const fgi_crop_source *source, const fgi_crop *own,
                        const fg_format_request *request, fg_format_data *out, fg_error *err);

#endif
