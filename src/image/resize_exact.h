/* resize_exact.h - resizing with more precise weights, for large reductions, in which the rounding
 * errors of very many small weights would add up.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_RESIZE_EXACT_H
#define FGI_IMAGE_RESIZE_EXACT_H

#include "image/resize.h"
#include "image/taps.h"

/* Whether resize.c could be wrong by more than 1. A source pixel adds an error of at most 1/256 in
 * each of its two steps: half of it because the product is cut off, half because its weight is
 * rounded. Together they must be less than 1/2, so that the rounded results differ by 1. */
bool fgi_exact_is_needed(const fgi_axis *x, int64_t width, const fgi_axis *y, int64_t height);

/* The axes are those of the request. FG_ENOMEM. */
fg_status fgi_exact_resize(fg_image_decoder *decoder, const fg_image *image, const fgi_resize *r,
                           const fgi_axis *x, const fgi_axis *y, fg_error *err);

#endif
