/* image_files.h - the images in tests/golden/image, and comparisons with the pixels recorded with
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_IMAGE_FILES_H
#define FGT_IMAGE_FILES_H

#include <fulgurite/image.h>
#include <fulgurite/images.h>

/* A file in a block of its exact size, so that ASan detects reads past its end. */
typedef struct fgt_file {
    const char *name;
    uint8_t *data;
    size_t size;
} fgt_file;

/* Fails the test if there is no such file. */
fgt_file fgt_file_read(const char *name);
void fgt_file_free(fgt_file *file);

/* fg_image_decode of the file. */
fg_status fgt_decode(fg_image_decoder *decoder, const fgt_file *file,
                     const fg_image_decode_options *options, fg_image *out, fg_error *err);

/* Fails the test unless the image has this size and no value differs by more than `bound` from the
 * bytes of the golden file `expected`. */
void fgt_image_check(const fg_image *image, int64_t width, int64_t height, const char *expected,
                     int bound);
/* The largest difference of two images, or 256 if their sizes differ. */
int fgt_image_difference(const fg_image *a, const fg_image *b);

/* Decodes a golden file with the options and compares it with the golden file `expected`. */
void fgt_check_decode(const char *name, const fg_image_decode_options *options, int64_t width,
                      int64_t height, const char *expected, int bound);

/* Decodes each prefix of the file (at most a few hundred) that lacks more than the last `optional`
 * bytes, and one pixel of it: all fail with FG_EFORMAT or, where not even the format can be
 * recognized, FG_EUNSUPPORTED. So do checks of JPEG, PNG, WebP and GIF without
 * decoding. */
void fgt_check_truncations(const char *name, size_t optional);
/* Decodes the file with single bits flipped, completely and a part of it: no crash, no leak. */
void fgt_check_flips(const char *name);
/* Decodes the file, with each allocation failing. */
void fgt_check_allocations(const char *name);

/* Copies a golden image to folder/name. */
void fgt_image_put(const char *image, const char *folder, const char *name);
/* The folder of all tests of this program. */
const char *fgt_image_folder(void);
/* A folder with the classes cat (two images) and dog (one). */
const char *fgt_photos(void);
/* The dataset of that folder. */
fg_dataset *fgt_photos_open(const fg_images_options *options);

#endif
