/* sheet.h - contact sheets: images with labels in a grid, as one PNG file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SHEET_H
#define SHEET_H

#include <fulgurite/image.h>

/* Space around cells, and the height of the label below each one, in pixels. */
enum { SHEET_GAP = 4, SHEET_LABEL = 14 };

typedef struct contact_sheet {
    int rows, columns;
    int cell; /* sides of the square that an image is scaled into, in pixels */
    fg_image canvas, scaled;
    fg_image_decoder *decoder; /* the memory to resize with */
} contact_sheet;

/* An empty sheet. The upper left corner of cell (row, column) is at x = GAP + column * (cell +
 * GAP), y = GAP + row * (cell + LABEL + GAP). FG_EINVAL (rows, columns and cells of at least 1, 16
 * for cells, and at most 2^26 pixels), FG_ENOMEM. */
fg_status sheet_create(int rows, int columns, int cell, contact_sheet *out, fg_error *err);
void sheet_fini(contact_sheet *sheet);

/* Draws an image (gray or RGB) into a cell, as large as its aspect ratio allows and in the middle,
 * and the label (may be NULL) below it, escaped and cut. FG_ENOMEM. */
fg_status sheet_put(contact_sheet *sheet, int row, int column, const fg_image *image,
                    const char *label, fg_error *err);

/* Writes the sheet as a PNG file, atomically. */
fg_status sheet_write(const contact_sheet *sheet, const char *path, fg_error *err);

#endif
