/* ycc420.c - converts RGB pixels to planes, in fixed point with 16 bits after the point. The sums
 * of the coefficients are exact, so gray pixels have Cb = Cr = 128.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/ycc420.h"

enum {
    BITS = 16,
    HALF = 1 << (BITS - 1),
    Y_R = 19595, /* 0.299 */
    Y_G = 38470, /* 0.587 */
    Y_B = 7471,  /* 0.114 */
    CB_R = -11059,
    CB_G = -21709,
    CR_G = -27439,
    CR_B = -5329
};

static int64_t half(int64_t size) { return (size + 1) / 2; }

size_t fgi_ycc420_bytes(int64_t width, int64_t height)
{
    return (size_t)(width * height) + 2 * (size_t)(half(width) * half(height));
}

/* (sum * coefficient) / (count * 2^16) + 128, rounded; at most 255. */
static uint8_t chroma(int64_t weighted, int64_t count)
{
    const int64_t unit = count << BITS;
    const int64_t value = (weighted + 128 * unit + unit / 2) / unit;
    return (uint8_t)(value > 255 ? 255 : value);
}

static void convert_luma(const uint8_t *rgb, int64_t count, uint8_t *y)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = (uint8_t)((Y_R * rgb[3 * i] + Y_G * rgb[3 * i + 1] + Y_B * rgb[3 * i + 2] + HALF) >>
                         BITS);
}

void fgi_ycc420_from_rgb(const uint8_t *rgb, int64_t width, int64_t height, uint8_t *out)
{
    const int64_t columns = half(width), rows = half(height);
    uint8_t *cb = out + width * height, *cr = cb + rows * columns;
    convert_luma(rgb, width * height, out);
    for (int64_t row = 0; row < rows; row++) {
        const uint8_t *upper = rgb + 2 * row * width * 3;
        const uint8_t *lower = 2 * row + 1 < height ? upper + width * 3 : upper;
        for (int64_t column = 0; column < columns; column++) {
            const int64_t left = 6 * column, right = 2 * column + 1 < width ? left + 3 : left;
            int64_t sum[3];
            for (int c = 0; c < 3; c++)
                sum[c] = upper[left + c] + upper[right + c] + lower[left + c] + lower[right + c];
            cb[row * columns + column] = chroma(CB_R * sum[0] + CB_G * sum[1] + HALF * sum[2], 4);
            cr[row * columns + column] = chroma(HALF * sum[0] + CR_G * sum[1] + CR_B * sum[2], 4);
        }
    }
}
