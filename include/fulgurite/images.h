/* images.h - datasets of image files: decoded, cropped and resized while loading.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_IMAGES_H
#define FULGURITE_IMAGES_H

#include <fulgurite/base.h>
#include <fulgurite/catalog.h>
#include <fulgurite/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The part of each image that becomes a sample, in one interpolation. Values are stable. */
typedef enum fg_image_crop {
    /* The box in the middle with the aspect ratio of the samples and center_fraction of the size of
     * the largest such box: with 224/256, torchvision's Resize(256) and CenterCrop(224). */
    FG_IMAGE_CROP_CENTER = 0,
    /* A box with a random area and aspect ratio, mirrored with flip_probability: torchvision's
     * RandomResizedCrop and RandomHorizontalFlip. A pure function of (seed, epoch, index of the
     * sample). Source: Szegedy et al. 2015, "Going deeper with convolutions". */
    FG_IMAGE_CROP_RANDOM = 1,
    /* A window of the size of the samples at a random place, mirrored with flip_probability:
     * torchvision's RandomCrop and RandomHorizontalFlip. Nothing is resized, unless an image is
     * smaller than the window: then the largest box with the aspect ratio of the samples is. */
    FG_IMAGE_CROP_WINDOW = 2
} fg_image_crop;

typedef struct fg_images_options {
    int64_t height, width;       /* of the samples, in pixels                             [224] */
    int channels;                /* 1: gray, 3: RGB                                       [3] */
    fg_image_crop crop;          /* [FG_IMAGE_CROP_CENTER] */
    double center_fraction;      /* above 0, at most 1                                    [0.875] */
    double scale_min, scale_max; /* random area: fraction of the image's, 0 to 1    [0.08 and 1] */
    double ratio_min, ratio_max; /* random width / height, above 0                [3/4 and 4/3] */
    double flip_probability;     /* 0 to 1; FG_ZERO: never                                [0.5] */
    uint64_t seed;               /* keys the random boxes, together with the epoch        [0] */
    const uint8_t *splits;    /* u8[count of catalog]: only samples whose value is `split`, such as
                              fg_catalog_split gives                          [NULL: all samples] */
    uint8_t split;            /* fg_data_split, with `splits`                                [0] */
    bool no_labels;           /* without the field `label`; samples need none            [false] */
    bool multilabel;          /* several labels per sample, or none: the field `labels`  [false] */
    bool skip_damaged;        /* in place of an image that cannot be decoded, the next one is read
                              (fg_dataset_damaged); packs: see fg_pack_bad            [false] */
    bool tolerate_corruption; /* decode as much as possible of truncated and corrupt JPEGs; the
                                 rest is gray (fg_dataset_flawed)                     [false] */
    bool check; /* of fg_images_create: look at the beginning and the end of the files now, so that
                   truncated ones are found before the first sample is read           [false] */
    bool check_decodes;    /* with `check`: decode each file once instead, which also finds damage
                              within a file; check_seconds is not used                [false] */
    double check_seconds;  /* that this may take: of more files, some are checked      [no limit] */
    uint64_t decode_bytes; /* memory in which all threads together decode large images: a thread
                              waits while the others use too much. Progressive JPEGs need 3 bytes
                              per pixel, WebP 8 [1/8 of the machine's memory, at least 64 MiB] */
    uint64_t reserved[1];
} fg_images_options;

/* Creates a dataset of the images of a catalog, in its order. It keeps the catalog alive.
 *
 *   image  u8[height,width,channels]
 *   label  s32[]    class index; classes are those of the catalog. Only if samples have labels.
 *   labels u8[C]    in its place, with `multilabel`: 1 for each class that the sample has
 *
 * Files are read and decoded when a loader asks for them, by its threads. Reading fails with the
 * name of the file if it is corrupt or missing, and with FG_EUNSUPPORTED if its format is not
 * supported. A truncated file is an error whatever the crop is; other damage only if it is in the
 * rows of the crop or above, unless check_decodes finds it before. options may be NULL. Errors:
 * FG_EINVAL (options; a sample without a label although others have one), FG_EFORMAT,
 * FG_EUNSUPPORTED, FG_ENOTFOUND and FG_EIO (with `check`: a file; with skip_damaged, only those
 * that cannot be read), FG_ENOMEM. Sources of the defaults: torchvision, RandomResizedCrop. */
FG_API FG_MUST_USE fg_status fg_images_create(fg_catalog *catalog, const fg_images_options *options,
                                              fg_dataset **out, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
