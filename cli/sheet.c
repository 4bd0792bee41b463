/* sheet.c - see sheet.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "sheet.h"

#include <fulgurite/catalog.h>
#include <string.h>

#include "base/error.h"
#include "tiny_text.h"

enum { WHITE = 255, EMPTY = 235, SMALLEST_CELL = 16, LARGEST_SHEET = 1 << 26, LARGE_TEXT = 2 };

static int64_t left_of(const contact_sheet *s, int column)
{
    return SHEET_GAP + column * (int64_t)(s->cell + SHEET_GAP);
}

static int64_t top_of(const contact_sheet *s, int row)
{
    return SHEET_GAP + row * (int64_t)(s->cell + SHEET_LABEL + SHEET_GAP);
}

static uint8_t *pixel(const contact_sheet *s, int64_t x, int64_t y)
{
    return s->canvas.pixels + (y * s->canvas.width + x) * 3;
}

fg_status sheet_create(int rows, int columns, int cell, contact_sheet *out, fg_error *err)
{
    *out = (contact_sheet){.rows = rows, .columns = columns, .cell = cell};
    const int64_t most = LARGEST_SHEET / SMALLEST_CELL / SMALLEST_CELL;
    const bool is_small = rows <= most && columns <= most && cell <= LARGEST_SHEET / 16;
    if (rows < 1 || columns < 1 || cell < SMALLEST_CELL || !is_small ||
        top_of(out, rows) > LARGEST_SHEET / left_of(out, columns))
        return fgi_fail(err, FG_EINVAL,
                        "%d rows, %d columns, cells of %d pixels: expected at least 1 row, 1 "
                        "column and %d pixels, and at most %d million pixels in the sheet",
                        rows, columns, cell, SMALLEST_CELL, LARGEST_SHEET / 1000000);
    FGI_TRY(fg_image_decoder_create(&out->decoder, err));
    FGI_TRY(fg_image_reserve(&out->canvas, left_of(out, columns), top_of(out, rows), 3, err));
    memset(out->canvas.pixels, WHITE, (size_t)(out->canvas.width * out->canvas.height * 3));
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            for (int y = 0; y < cell; y++)
                memset(pixel(out, left_of(out, column), top_of(out, row) + y), EMPTY,
                       3 * (size_t)cell);
    return FG_OK;
}

void sheet_fini(contact_sheet *sheet)
{
    fg_image_fini(&sheet->canvas);
    fg_image_fini(&sheet->scaled);
    fg_image_decoder_destroy(sheet->decoder);
    *sheet = (contact_sheet){0};
}

/* Copies the scaled image, gray or RGB, to (x, y). */
static void copy_scaled(contact_sheet *s, int64_t x, int64_t y)
{
    const fg_image *image = &s->scaled;
    const uint8_t *from = image->pixels;
    for (int64_t row = 0; row < image->height; row++) {
        uint8_t *to = pixel(s, x, y + row);
        for (int64_t i = 0; i < image->width; i++, to += 3, from += image->channels) {
            to[0] = from[0];
            to[1] = from[image->channels == 3 ? 1 : 0];
            to[2] = from[image->channels == 3 ? 2 : 0];
        }
    }
}

static void put_label(contact_sheet *s, int row, int column, const char *label)
{
    char text[128];
    (void)fg_catalog_escape(label, text, sizeof text);
    const int scale = LARGE_TEXT * tiny_text_width(text) <= s->cell ? LARGE_TEXT : 1;
    tiny_text_draw(&s->canvas, left_of(s, column), top_of(s, row) + s->cell + 2, s->cell, scale,
                   text);
}

fg_status sheet_put(contact_sheet *sheet, int row, int column, const fg_image *image,
                    const char *label, fg_error *err)
{
    const int64_t cell = sheet->cell,
                  longer = image->width > image->height ? image->width : image->height;
    int64_t width = image->width * cell / longer, height = image->height * cell / longer;
    width = width > 0 ? width : 1;
    height = height > 0 ? height : 1;
    FGI_TRY(fg_image_reserve(&sheet->scaled, width, height, image->channels, err));
    FGI_TRY(fg_image_resize(sheet->decoder, image, width, height, NULL, sheet->scaled.pixels, err));
    copy_scaled(sheet, left_of(sheet, column) + (cell - width) / 2,
                top_of(sheet, row) + (cell - height) / 2);
    if (label != NULL)
        put_label(sheet, row, column, label);
    return FG_OK;
}

fg_status sheet_write(const contact_sheet *sheet, const char *path, fg_error *err)
{
    fg_image_bytes png = {0};
    fg_status status = fg_image_encode_png(&sheet->canvas, NULL, &png, err);
    if (status == FG_OK)
        status = fg_file_write(path, png.data, png.size, err);
    fg_image_bytes_fini(&png);
    return status;
}
