/* thumbnail.h - a sample of a dataset as a small picture.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DOC_THUMBNAIL_H
#define FGI_DOC_THUMBNAIL_H

#include <fulgurite/data.h>

/* The sample as a data URI with a picture of at most 96 pixels on each side (fgi_free), as the
 * dataset gives it: without the augmentations of the step. Its first field is an image if it is
 * T[H,W], T[H,W,1 or 3], has as many values as `given` ([H, W, C], 0: unknown), or is encoded for
 * the device (fg_dataset_encoding). NULL: it is not an image, or cannot be read. */
char *fgi_thumbnail(const fg_dataset *dataset, int64_t index, const int64_t given[3]);

#endif
