/* encoded.h - memory for encoded images.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_ENCODED_H
#define FGI_IMAGE_ENCODED_H

#include <fulgurite/image.h>

/* Enlarges the capacity; keeps the content. */
fg_status fgi_image_bytes_grow(fg_image_bytes *bytes, fg_error *err);
/* Appends to the content. */
fg_status fgi_image_bytes_add(fg_image_bytes *bytes, const void *data, size_t size, fg_error *err);

/* Checks the arguments of an encoder and empties `out`. */
fg_status fgi_image_check_encoding(const char *function, const fg_image *image, fg_image_bytes *out,
                                   fg_error *err);

#endif
