/* ycc.c - raw YCbCr 4:2:0 to RGB, in integers.
 *
 * A chroma sample is in the middle of four pixels. The value at a pixel is 9/16 of the nearest
 * sample, 3/16 of its horizontal and vertical neighbors and 1/16 of the diagonal one; outside
 * the plane, the samples at its edge are repeated.
 * Source: ITU-T T.871 (JFIF), section 7, for the conversion; libjpeg for the rounding of both.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/ycc.h"

enum { HALF = 1 << 15 };

static int clamp(int value, int high) { return value < 0 ? 0 : value > high ? high : value; }

static uint8_t to_byte(int value) { return (uint8_t)clamp(value, 255); }

/* A plane of chroma at one row of pixels: the rows of samples next to it. */
typedef struct chroma_row {
    const uint8_t *near, *far;
    int count;
} chroma_row;

static chroma_row row_of(const uint8_t *plane, int columns, int rows, int y)
{
    const int other = clamp(y % 2 == 0 ? y / 2 - 1 : y / 2 + 1, rows - 1);
    return (chroma_row){plane + (size_t)(y / 2) * (size_t)columns,
                        plane + (size_t)other * (size_t)columns, columns};
}

/* At pixel x, minus 128. Halves are rounded up and down in turn, as in libjpeg. */
static int chroma_at(const chroma_row *row, int x)
{
    const int i = x / 2, k = clamp(x % 2 == 0 ? i - 1 : i + 1, row->count - 1);
    const int near = 3 * row->near[i] + row->far[i], far = 3 * row->near[k] + row->far[k];
    return ((3 * near + far + (x % 2 == 0 ? 8 : 7)) >> 4) - 128;
}

static void convert(int y, int cb, int cr, uint8_t rgb[3])
{
    rgb[0] = to_byte(y + ((91881 * cr + HALF) >> 16));               /* 1.402 */
    rgb[1] = to_byte(y + ((-22554 * cb - 46802 * cr + HALF) >> 16)); /* 0.344136, 0.714136 */
    rgb[2] = to_byte(y + ((116130 * cb + HALF) >> 16));              /* 1.772 */
}

void fgi_ycc_to_rgb(const uint8_t *planes, int64_t width, int64_t height, int64_t x, int64_t y,
                    fg_image *out)
{
    const int columns = (int)((width + 1) / 2), rows = (int)((height + 1) / 2);
    const uint8_t *cb = planes + (size_t)width * (size_t)height;
    const uint8_t *cr = cb + (size_t)columns * (size_t)rows;
    uint8_t *rgb = out->pixels;
    for (int64_t j = y; j < y + out->height; j++) {
        const uint8_t *luma = planes + (size_t)j * (size_t)width;
        const chroma_row b = row_of(cb, columns, rows, (int)j);
        const chroma_row r = row_of(cr, columns, rows, (int)j);
        for (int64_t i = x; i < x + out->width; i++, rgb += 3)
            convert(luma[i], chroma_at(&b, (int)i), chroma_at(&r, (int)i), rgb);
    }
}
