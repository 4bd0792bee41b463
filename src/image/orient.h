/* orient.h - the eight EXIF orientations. An orientation is how a stored image is turned to be
 * displayed: 1 as it is, 2 mirrored horizontally, 3 rotated by 180 degrees, 4 mirrored vertically,
 * 5 transposed, 6 rotated clockwise by 90 degrees, 7 transposed about the other diagonal, 8 rotated
 * counterclockwise by 90 degrees. Source: CIPA DC-008 (Exif 2.32), 4.6.4.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_ORIENT_H
#define FGI_IMAGE_ORIENT_H

#include <fulgurite/image.h>

/* Whether width and height are exchanged. */
bool fgi_orientation_swaps(int orientation);

/* A box of the stored image of this size in the displayed image, and the inverse (the size is the
 * stored one in both). */
fg_image_box fgi_orient_box(int orientation, double width, double height, fg_image_box box);
fg_image_box fgi_unorient_box(int orientation, double width, double height, fg_image_box box);

/* Writes `stored` to `out` as it is displayed, with its region. */
fg_status fgi_orient(int orientation, const fg_image *stored, fg_image *out, fg_error *err);

#endif
