/* encoding.h - how datasets store images that the device decodes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_ENCODING_H
#define FGI_DATA_ENCODING_H

#include <fulgurite/data.h>

#include "image/jpeg_coefficients.h"

/* The encoding with its defaults; NULL: pixels. */
fg_image_encoding fgi_encoding_complete(const fg_image_encoding *encoding);
/* FG_EINVAL unless all members are valid. */
fg_status fgi_encoding_check(const fg_image_encoding *encoding, fg_error *err);
/* The components of a valid encoding other than FG_IMAGE_PIXELS. */
void fgi_encoding_layout(const fg_image_encoding *encoding, fgi_jpeg_coefficients *out);
/* Size of an encoded image, of a valid encoding. */
size_t fgi_encoding_bytes(const fg_image_encoding *encoding);
/* Whether images of both can be in one batch. Either may be NULL: pixels. */
bool fgi_encoding_equal(const fg_image_encoding *a, const fg_image_encoding *b);

#endif
