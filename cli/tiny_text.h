/* tiny_text.h - text in pixels, for labels in images that the library draws: capital letters,
 * digits and punctuation, 5 pixels high.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TINY_TEXT_H
#define TINY_TEXT_H

#include <fulgurite/image.h>

enum { TINY_TEXT_HEIGHT = 5 };

/* Width of the text in pixels. Lower-case letters are drawn as capitals; characters without a
 * picture, such as those outside ASCII, as "?". */
int64_t tiny_text_width(const char *text);

/* Draws the text in black, each pixel as a square of `scale` pixels, with its upper left corner at
 * (x, y). What would be more than `width` pixels wide, or outside the image, is left out: a
 * character is drawn whole or not at all. */
void tiny_text_draw(fg_image *image, int64_t x, int64_t y, int64_t width, int scale,
                    const char *text);

#endif
