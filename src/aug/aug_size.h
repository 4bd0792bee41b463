/* aug_size.h - the size of results, and the same box for every image.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_AUG_SIZE_H
#define FGI_AUG_SIZE_H

#include <fulgurite/ops.h>

/* In pixels. */
typedef struct fgi_aug_box {
    int64_t top, left, height, width;
} fgi_aug_box;

/* Replaces sizes that are FG_AUTO by those of the image; false after an error for images without
 * pixels. */
bool fgi_aug_size(fg_tensor image, const char *name, int64_t *height, int64_t *width);
/* fg_crop_resize with the same box for every image. */
fg_tensor fgi_aug_box_of_all(fg_tensor image, fgi_aug_box box, int64_t height, int64_t width,
                             bool no_antialias);
/* The height x width pixels in the middle. */
fg_tensor fgi_aug_middle(fg_tensor image, int64_t height, int64_t width);
/* Elements first to limit - 1 along an axis. */
fg_tensor fgi_aug_part(fg_tensor x, int axis, int64_t first, int64_t limit);
/* x with `by` more elements at both ends of an axis: the mirrored ones, or the outermost one
 * repeated. */
fg_tensor fgi_aug_continued(fg_tensor x, int axis, int64_t by, bool mirrors);

#endif
