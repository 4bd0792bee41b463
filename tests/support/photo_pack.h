/* photo_pack.h - packs of synthetic photos, with each codec of images, and the same photos as
 * files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_PHOTO_PACK_H
#define FGT_PHOTO_PACK_H

#include <fulgurite/image.h>
#include <fulgurite/pack.h>

typedef struct photo_spec {
    fg_pack_codec codec;
    bool as_png; /* with FG_PACK_FILE: PNG, lossless                                [JPEG] */
    int count;
    int width, height; /* of photo 0; photo i is i pixels wider                 [48, 40] */
    bool is_equal;     /* all photos have the size of photo 0 */
    int variants;      /* photo v of sample s is photo s * variants + v              [1] */
    int classes;       /* labels are sample mod classes, named "a", "b" ...           [0] */
    bool has_splits;   /* every third sample is for validation */
    uint64_t shard_bytes;
} photo_spec;

/* Photo `i` of a spec: u8[height, width, 3], a texture that differs from photo to photo. */
void photo_make(const photo_spec *spec, int i, fg_image *out);
/* The name of its record, and of its file below the folder: "a/photo 3.png". */
const char *photo_name(const photo_spec *spec, int i);

/* Writes a pack; an existing one is replaced. */
void photo_pack_write(const char *path, const photo_spec *spec);
/* Writes the same photos as files below `folder`, one folder per class; PNG if the codec is
 * FG_PACK_RAW_RGB or as_png is set, else JPEG. */
void photo_files_write(const char *folder, const photo_spec *spec);

#endif
