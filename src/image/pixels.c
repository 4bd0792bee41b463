/* pixels.c - conversion of rows to gray or RGB. The roundings are those of Pillow: luma with
 * weights in 1/65536, divisions by 255 rounded to nearest.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/pixels.h"

#include <string.h>

static uint8_t divide_by_255(uint32_t value)
{
    value += 128;
    return (uint8_t)((value + (value >> 8)) >> 8);
}

/* BT.601 */
static uint8_t luma(const uint8_t *rgb)
{
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

static int channels_of(fgi_pixel_kind kind)
{
    static const int channels[] = {[FGI_GRAY] = 1, [FGI_GRAY_ALPHA] = 2, [FGI_RGB] = 3};
    return kind <= FGI_RGB ? channels[kind] : 4;
}

/* One pixel to RGB. */
static void to_rgb(fgi_pixel_kind kind, const uint8_t *in, const uint8_t *background, uint8_t *rgb)
{
    const bool is_gray = kind == FGI_GRAY || kind == FGI_GRAY_ALPHA;
    const uint32_t alpha = kind == FGI_RGB ? 255 : in[channels_of(kind) - 1]; /* or key */
    for (int c = 0; c < 3; c++) {
        const uint32_t value = in[is_gray ? 0 : c], behind = background[c] * (255 - alpha);
        switch (kind) {
        case FGI_GRAY:
        case FGI_RGB: rgb[c] = (uint8_t)value; break;
        case FGI_GRAY_ALPHA:
        case FGI_RGBA: rgb[c] = divide_by_255(value * alpha + behind); break;
        case FGI_RGBA_PREMULTIPLIED: {
            const uint32_t sum = value + divide_by_255(behind);
            rgb[c] = (uint8_t)(sum > 255 ? 255 : sum);
            break;
        }
        case FGI_CMYK_INVERTED: rgb[c] = (uint8_t)(alpha - divide_by_255((255 - value) * alpha));
        }
    }
}

/* Copies pixels that need no conversion. */
static bool copy(fgi_pixel_kind kind, const uint8_t *in, int64_t count, int channels, uint8_t *out)
{
    if (channels_of(kind) != channels)
        return false;
    memcpy(out, in, (size_t)count * (size_t)channels);
    return true;
}

void fgi_put_row(const fgi_image_request *request, int64_t y, fgi_pixel_kind kind,
                 const uint8_t *row)
{
    const fg_image *image = request->image;
    if (y < request->y || y - request->y >= image->height)
        return;
    const int step = channels_of(kind), channels = image->channels;
    const uint8_t *in = row + request->x * step;
    uint8_t *out = image->pixels + (y - request->y) * image->width * channels;
    if (copy(kind, in, image->width, channels, out))
        return;
    for (int64_t x = 0; x < image->width; x++, in += step, out += channels) {
        uint8_t rgb[3];
        if (kind == FGI_GRAY) {
            memset(out, in[0], 3);
            continue;
        }
        to_rgb(kind, in, request->background, rgb);
        if (channels == 3)
            memcpy(out, rgb, 3);
        else
            *out = luma(rgb);
    }
}
