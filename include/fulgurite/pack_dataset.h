/* pack_dataset.h - packs as datasets: records become samples while loading.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_PACK_DATASET_H
#define FULGURITE_PACK_DATASET_H

#include <fulgurite/base.h>
#include <fulgurite/data.h>
#include <fulgurite/images.h>
#include <fulgurite/pack.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happens when a sample cannot be read because its record is damaged. Values are stable. */
typedef enum fg_pack_bad {
    FG_PACK_BAD_FAIL = 0, /* reading fails with a message that names the record */
    /* The next sample that is intact is read instead, so batches keep their size and the order of
     * all other samples does not change. It stays the same after resuming. */
    FG_PACK_BAD_SKIP = 1
} fg_pack_bad;

typedef struct fg_pack_dataset_options {
    /* Size, crop and seed of images, as in fg_images_create; not used for records of codec
     * FG_PACK_ARRAYS. `splits`, if not NULL, is u8[number of samples]. */
    fg_images_options images;
    bool use_splits;    /* only samples whose split in the pack is images.split; images.splits must
                           be NULL                                                       [false] */
    bool first_variant; /* always read variant 0 of a sample              [false: in turn, below] */
    fg_pack_bad bad;    /*                                                    [FG_PACK_BAD_FAIL] */
    fg_pack_fault_fn *fault; /* with FG_PACK_BAD_SKIP: called once for each damaged record, by the
                                loader's threads, one at a time                          [none] */
    void *fault_self;        /* first argument of `fault` */
    uint64_t preload_bytes;  /* read the whole pack into the page cache now, if it has at most this
                                many bytes                                             [0: never] */
    /* The classes, in order, such as those of a trained model: labels become indices of them, by
     * the names of the classes. A sample of another class is an error. The classes remain
     * those of the pack if `label` is not field 1: targets of arrays are never changed.
     *                                                                [the classes of the pack] */
    const char *const *class_names;
    int64_t class_count;
    /* Planes of FG_PACK_RAW_YCC420 stay as they are, and the device converts them: half as many
     * bytes. Only if all records are planes of one size, and `images` takes them whole: that height
     * and width, 3 channels, and FG_IMAGE_CROP_CENTER with a center_fraction of 1, or
     * FG_IMAGE_CROP_WINDOW with a flip_probability of FG_ZERO              [false: always RGB] */
    bool keep_planes;
    uint64_t reserved[2];
} fg_pack_dataset_options;

/* Creates a dataset of the samples of a pack, in its order. It keeps the pack open.
 *
 *   image  u8[height,width,channels]   records of codecs FG_PACK_FILE, FG_PACK_JPEG,
 *                                      FG_PACK_JPEG_SEG, FG_PACK_RAW_RGB, FG_PACK_RAW_YCC420
 *   label  s32[]                       class index; only if the pack has classes
 *   labels u8[C]                       in its place, with images.multilabel
 *
 * or, if the codec is FG_PACK_ARRAYS, the fields of the pack, and `label` if the pack has classes
 * and no field with that name. A pack may have records of several codecs, but only those of one of
 * these kinds.
 *
 * or, if the codec is FG_PACK_DCT, images that the device decodes (fg_dataset_encoding, and
 * fg_decode_images in decode.h):
 *
 *   image  s8[bytes]                   DCT coefficients of an image; all images must have the same
 *                                      size and sampling factors. Of the options for images, only
 *                                      the channels and the seed are used: augmentation crops and
 *                                      resizes on the device
 *   label  s32[]
 *
 * With keep_planes, the same holds for planes: u8[bytes].
 *
 * A crop is the same part of an image as in fg_images_create: the same options give the same
 * samples, if the codec is lossless. Of FG_PACK_JPEG_SEG, only the segments of the crop are
 * decoded; of FG_PACK_RAW_RGB, FG_IMAGE_CROP_WINDOW and a center crop that needs no resizing are
 * copied from the mapping.
 *
 * If the pack has K variants per sample, sample i is record i * K + (epoch + r(i)) mod K with a
 * number r(i) that follows from the seed: every variant of a sample occurs once in K epochs, and an
 * epoch has about equally many samples of each variant.
 *
 * Checksums are verified as fg_pack_options.check says. Reading fails with FG_EIO if a file has
 * shrunk, and never returns zeros in place of its bytes. Labels come from the column of the pack.
 * options may be NULL. Errors: FG_EINVAL (options; records without a label in a pack with classes;
 * records of several kinds; coefficients of images of different sizes), FG_EFORMAT (a class that
 * is not in class_names), FG_EUNSUPPORTED (a codec that cannot be decoded), those of
 * fg_pack_entry_at, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_pack_dataset_create(fg_pack *pack,
                                                    const fg_pack_dataset_options *options,
                                                    fg_dataset **out, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
