/* pack_export.h - the contents of a pack as images and as files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_PACK_EXPORT_H
#define FULGURITE_PACK_EXPORT_H

#include <fulgurite/base.h>
#include <fulgurite/image.h>
#include <fulgurite/pack.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Decodes a record to pixels, RGB or gray: a file in a format of fg_image_decode, a JPEG with or
 * without a table of segments, raw pixels, YCbCr planes, DCT coefficients; of arrays, the first
 * field of type u8[H,W,1], u8[H,W,3] or u8[H,W]. YCbCr and coefficients are converted as libjpeg
 * does (JFIF colors, chroma upsampled with weights of 3/4 and 1/4), within rounding. Errors: those
 * of fg_pack_record and fg_image_decode, FG_EFORMAT (the size of the record does not match its
 * image), FG_EUNSUPPORTED (not an image). One thread at a time per decoder. */
FG_API FG_MUST_USE fg_status fg_pack_image(fg_pack *pack, int64_t record, fg_image_decoder *decoder,
                                           fg_image *out, fg_error *err);

/* Some records of a pack. */
typedef struct fg_pack_select_options {
    const char *split;      /* only this split: "train", "val", "test" or "none"    [NULL: all] */
    const char *class_name; /* only records with this class, or one of several      [NULL: all] */
    int64_t limit;          /* at most this many                                      [0: all] */
    bool shuffle;           /* in random order: a random sample, with a limit          [false] */
    uint64_t seed;          /* of the order                                                [0] */
    uint64_t reserved[4];
} fg_pack_select_options;

/* Writes the numbers of the selected records to out_records[0..*out_count), in the order of the
 * pack unless shuffled; at most `capacity` of them. Records that were lost by a rebuild are never
 * selected. selection may be NULL. Errors: FG_EINVAL (split, limit), FG_ENOTFOUND (no such class),
 * FG_ENOMEM, and those of fg_pack_entry_at. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_pack_select(fg_pack *pack, const fg_pack_select_options *selection,
                                            int64_t *out_records, int64_t capacity,
                                            int64_t *out_count, fg_error *err);

typedef struct fg_pack_export_options {
    fg_pack_select_options
        select;        /* which records                                            [all] */
    bool as_jpeg;      /* encode pixels as JPEG instead of PNG                    [false] */
    int quality;       /* of those JPEGs, 1 to 100                                   [90] */
    bool replace;      /* write into a folder that is not empty, and replace files of the same
                          names                                                   [false] */
    bool skip_damaged; /* continue after damaged records, and count them          [false] */
    uint64_t reserved[4];
} fg_pack_export_options;

typedef struct fg_pack_export_result {
    int64_t records;     /* exported */
    int64_t files;       /* written; several per record of arrays */
    int64_t damaged;     /* records that were skipped, see skip_damaged */
    uint64_t size_bytes; /* of the files */
    bool has_manifest;   /* manifest.jsonl was written */
    uint64_t reserved[4];
} fg_pack_export_result;

/* Writes records of a pack as files below the folder out_path.
 *
 * Codecs file and jpeg give the bytes of the original file, jpeg-seg the JPEG without its table,
 * raw, ycc and dct a PNG or JPEG file, arrays one .npy file per field: NAME.FIELD.npy.
 *
 * The path of a file is SPLIT/CLASS/NAME. SPLIT is train, val, test or none, and is left out if no
 * record of the pack has a split; CLASS is left out if the pack has no classes, and "unlabeled" for
 * a record without a label. Of several labels, the first counts. If the name of the record begins
 * with the same folders, they are not repeated. So fg_catalog_open reads the folder as the same
 * samples, splits and classes, if the classes are sorted.
 *
 * A file of codec file keeps its extension if that is one of images, whatever its format; other
 * files get the extension of what is written.
 *
 * Names become safe: a component "..", "." or "" is replaced or removed, a leading dot becomes "_",
 * components are at most 200 bytes (a longer one is cut and gets a hash). If two records have the
 * same path, or one is a folder in the path of the other, the number of the record is added to the
 * later name. The variants of a sample after the first get "-v1", "-v2" and so on.
 *
 * If a selected record has a list of labels or a group, and is not an array, the folder also gets
 * manifest.jsonl, which fg_catalog_open reads as the same samples, names, labels, splits, groups
 * and classes. Names and classes that are not UTF-8 are then escaped (fg_catalog_escape).
 *
 * If out_path does not exist, the files are written to a temporary folder next to it, which then
 * gets the name out_path: an interrupted export leaves no out_path. If it exists, it must be empty,
 * or `replace` set: each file is then written under a temporary name and renamed; other files are
 * kept. Nothing is written outside out_path unless it contains symbolic links to folders.
 *
 * options and out_result may be NULL. Errors: FG_EINVAL (options; out_path is not empty),
 * FG_ENOTFOUND (the parent folder does not exist), FG_EIO, FG_ENOMEM, and those of
 * fg_pack_select and fg_pack_image. */
FG_API FG_MUST_USE fg_status fg_pack_export(fg_pack *pack, const char *out_path,
                                            const fg_pack_export_options *options,
                                            fg_pack_export_result *out_result, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
