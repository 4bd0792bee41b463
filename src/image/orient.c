/* orient.c - applies EXIF orientations. Each one is a transposition or none, followed by mirroring
 * of each axis or not.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/orient.h"

#include "base/error.h"

bool fgi_orientation_swaps(int orientation) { return orientation >= 5; }

static bool mirrors_x(int orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
}

static bool mirrors_y(int orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
}

static fg_image_box transposed(fg_image_box b)
{
    return (fg_image_box){b.y, b.x, b.height, b.width};
}

static fg_image_box mirrored(int orientation, double width, double height, fg_image_box b)
{
    if (mirrors_x(orientation))
        b.x = width - b.x - b.width;
    if (mirrors_y(orientation))
        b.y = height - b.y - b.height;
    return b;
}

fg_image_box fgi_orient_box(int orientation, double width, double height, fg_image_box box)
{
    if (fgi_orientation_swaps(orientation))
        return mirrored(orientation, height, width, transposed(box));
    return mirrored(orientation, width, height, box);
}

fg_image_box fgi_unorient_box(int orientation, double width, double height, fg_image_box box)
{
    if (fgi_orientation_swaps(orientation))
        return transposed(mirrored(orientation, height, width, box));
    return mirrored(orientation, width, height, box);
}

/* Copies pixels to `to`, one after another, from addresses that are `step` bytes apart. */
static void copy_line(const uint8_t *from, ptrdiff_t step, int64_t count, int channels, uint8_t *to)
{
    if (channels == 1) {
        for (int64_t i = 0; i < count; i++)
            to[i] = from[i * step];
        return;
    }
    for (int64_t i = 0; i < count; i++, from += step, to += 3) {
        to[0] = from[0];
        to[1] = from[1];
        to[2] = from[2];
    }
}

fg_status fgi_orient(int orientation, const fg_image *stored, fg_image *out, fg_error *err)
{
    const bool swaps = fgi_orientation_swaps(orientation);
    const int64_t width = swaps ? stored->height : stored->width;
    const int64_t height = swaps ? stored->width : stored->height;
    FGI_TRY(fg_image_reserve(out, width, height, stored->channels, err));
    out->region =
        fgi_orient_box(orientation, (double)stored->width, (double)stored->height, stored->region);
    const ptrdiff_t pixel = stored->channels, row = stored->width * pixel;
    /* where one step to the right and one step down in the result lead in the stored image */
    const ptrdiff_t right = (swaps ? row : pixel) * (mirrors_x(orientation) ? -1 : 1);
    const ptrdiff_t down = (swaps ? pixel : row) * (mirrors_y(orientation) ? -1 : 1);
    const uint8_t *first = stored->pixels;
    if (right < 0)
        first -= right * (width - 1);
    if (down < 0)
        first -= down * (height - 1);
    for (int64_t y = 0; y < height; y++)
        copy_line(first + y * down, right, width, stored->channels,
                  out->pixels + y * width * pixel);
    return FG_OK;
}
