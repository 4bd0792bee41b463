/* exif.h - the orientation in EXIF metadata.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_EXIF_H
#define FGI_IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* The orientation, 1 to 8, of EXIF data, which begins with a TIFF header ("II*\0" or "MM\0*"). 1 if
 * there is none, or if the data is malformed: metadata must not prevent the use of an image. */
int fgi_exif_orientation(const uint8_t *data, size_t size);

#endif
