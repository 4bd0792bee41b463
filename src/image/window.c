/* window.c - copies a part of an image. A crop of raw pixels is nothing else, so this runs at the
 * speed of memory: mirrored rows, too, where the processor can permute bytes (SSSE3).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/window.h"

#include <string.h>
#if defined(__x86_64__)
#include <tmmintrin.h>
#define HAS_SHUFFLE  __builtin_cpu_supports("ssse3")
#define WITH_SHUFFLE __attribute__((target("ssse3")))
#else
#define HAS_SHUFFLE false
#define WITH_SHUFFLE
#endif

enum {
    GROUP = 5, /* pixels that are permuted at once */
    AHEAD = 2, /* rows */
    CACHE_LINE = 64
};

/* Mirrors a row of `width` pixels. */
typedef void mirror(const uint8_t *row, int64_t width, uint8_t *out);

static void mirror_gray(const uint8_t *row, int64_t width, uint8_t *out)
{
    for (int64_t x = 0; x < width; x++)
        out[x] = row[width - 1 - x];
}

static void mirror_rgb(const uint8_t *row, int64_t width, uint8_t *out)
{
    const uint8_t *from = row + 3 * (width - 1);
    for (int64_t x = 0; x < width; x++, from -= 3, out += 3) {
        out[0] = from[0];
        out[1] = from[1];
        out[2] = from[2];
    }
}

/* Reads and writes 16 bytes for five pixels. The first and the last group are done one by one, so
 * that the byte too many is always inside the row. */
WITH_SHUFFLE static void mirror_rgb_fast(const uint8_t *row, int64_t width, uint8_t *out)
{
#if defined(__x86_64__)
    const __m128i order = _mm_setr_epi8(12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2, 15);
    int64_t done = width < GROUP ? width : GROUP;
    mirror_rgb(row + 3 * (width - done), done, out);
    for (; width - done > GROUP; done += GROUP) {
        const uint8_t *from = row + 3 * (width - done - GROUP);
        const __m128i pixels = _mm_loadu_si128((const __m128i *)from);
        _mm_storeu_si128((__m128i *)(out + 3 * done), _mm_shuffle_epi8(pixels, order));
    }
    mirror_rgb(row, width - done, out + 3 * done);
#else
    mirror_rgb(row, width, out);
#endif
}

/* The processor does not foresee that the end of a row is followed by the begin of the next one, or
 * that rows are read backwards: without this, mirroring takes twice as long as copying. */
static void fetch(const uint8_t *row, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += CACHE_LINE)
        __builtin_prefetch(row + i);
}

static void copy(const fg_image *image, int64_t x, int64_t y, int64_t width, int64_t height,
                 mirror *flip, uint8_t *out)
{
    const size_t channels = (size_t)image->channels;
    const size_t stride = (size_t)image->width * channels, bytes = (size_t)width * channels;
    const uint8_t *row = image->pixels + (size_t)y * stride + (size_t)x * channels;
    for (int64_t i = 0; i < height; i++, row += stride, out += bytes) {
        if (i + AHEAD < height)
            fetch(row + AHEAD * stride, bytes);
        if (flip != NULL)
            flip(row, width, out);
        else
            memcpy(out, row, bytes);
    }
}

void fgi_image_window(const fg_image *image, int64_t x, int64_t y, int64_t width, int64_t height,
                      bool is_flipped, uint8_t *out)
{
    mirror *flip = image->channels == 1 ? mirror_gray : HAS_SHUFFLE ? mirror_rgb_fast : mirror_rgb;
    copy(image, x, y, width, height, is_flipped ? flip : NULL, out);
}

void fgi_image_window_portable(const fg_image *image, int64_t x, int64_t y, int64_t width,
                               int64_t height, bool is_flipped, uint8_t *out)
{
    mirror *flip = image->channels == 1 ? mirror_gray : mirror_rgb;
    copy(image, x, y, width, height, is_flipped ? flip : NULL, out);
}
