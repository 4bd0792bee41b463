/* window.h - copies a part of an image, without resizing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_WINDOW_H
#define FGI_IMAGE_WINDOW_H

#include <fulgurite/image.h>

/* Copies the pixels of the window at (x, y), which must be inside the image, to
 * u8[height, width, channels of the image]; if is_flipped, mirrored horizontally. */
void fgi_image_window(const fg_image *image, int64_t x, int64_t y, int64_t width, int64_t height,
                      bool is_flipped, uint8_t *out);

/* The mirrored rows without instructions of the processor: for the test that both agree. */
void fgi_image_window_portable(const fg_image *image, int64_t x, int64_t y, int64_t width,
                               int64_t height, bool is_flipped, uint8_t *out);

#endif
