/* photos.h - image folders of golden images, and packs compared as a whole.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_PHOTOS_H
#define FGT_PHOTOS_H

#include <fulgurite/packer.h>

/* Links the golden image to folder/name; makes the folder. */
void photos_put(const char *image, const char *folder, const char *name);
/* The folder "photos" in a new temporary folder, with the classes cat (5 JPEGs: baseline,
 * progressive, rotated, gray, CMYK) and dog (PNG with alpha, GIF, WebP, 2 files). Static storage,
 * like fgt_path. */
const char *photos_make(void);

/* All bytes of a file; the caller calls free. Fails the test if it cannot be read. */
char *photos_read(const char *path, size_t *out_size);
/* Fails the test unless both files have the same bytes. */
void photos_check_same(const char *a, const char *b);

/* The options with a function that reports the progress. In static memory: until the next call. */
const fg_pack_build_options *photos_reported(const fg_pack_build_options *options,
                                             fg_pack_progress_fn *progress, void *self);
/* Builds with these options, or fails the test. */
void photos_pack(const char *source, const char *path, const fg_pack_build_options *options);
/* The number of the record with that name, or fails the test. */
int64_t photos_find(fg_pack *pack, const char *name);

#endif
