/* resize_exact.c - see resize_exact.h. Weights have 24 bits, so that a sum of 255s just fits in
 * 32 bits; sums of columns have 64. Integers only: the result is the same on all machines.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/resize_exact.h"

#include <string.h>

#include "base/error.h"
#include "image/decoder.h"

enum { MOST_TAPS = 120, WEIGHT_BITS = 24, SUM_BITS = 16 /* fraction of a row's sums */ };

bool fgi_exact_is_needed(const fgi_axis *x, int64_t width, const fgi_axis *y, int64_t height)
{
    return fgi_taps_most(x, width) + fgi_taps_most(y, height) > MOST_TAPS;
}

/* The weights of the columns, and what one row of the result needs. */
typedef struct work {
    int64_t *first, *count; /* [width] */
    uint32_t *columns;      /* [width][stride] */
    uint32_t *rows;         /* weights of the current row */
    uint32_t *sums;
    size_t stride, values; /* of a row of sums */
} work;

static fg_status make_work(fg_image_decoder *decoder, const fgi_resize *r, const fgi_axis *x,
                           const fgi_axis *y, size_t channels, work *out, fg_error *err)
{
    const size_t width = (size_t)r->width, rows = (size_t)fgi_taps_most(y, r->height);
    *out = (work){.stride = (size_t)fgi_taps_most(x, r->width),
                  .values = (size_t)(x->high - x->low) * channels};
    const size_t numbers = width * out->stride + rows + out->values;
    FGI_TRY(fgi_pixel_block_reserve(&decoder->weights,
                                    2 * width * sizeof(int64_t) + numbers * sizeof(uint32_t), err));
    out->first = (int64_t *)(void *)decoder->weights.data;
    out->count = out->first + width;
    out->columns = (uint32_t *)(out->count + width);
    out->rows = out->columns + width * out->stride;
    out->sums = out->rows + rows;
    for (int64_t i = 0; i < r->width; i++)
        out->count[i] = fgi_taps_exact(x, r->width, i, WEIGHT_BITS, &out->first[i],
                                       out->columns + (size_t)i * out->stride);
    return FG_OK;
}

/* The weighted sum of source rows for row `i` of the result. */
static void sum_rows(const work *w, const fg_image *image, const fgi_axis *x, const fgi_axis *y,
                     int64_t height, int64_t i)
{
    const size_t channels = (size_t)image->channels, stride = (size_t)image->width * channels;
    int64_t first;
    const int64_t count = fgi_taps_exact(y, height, i, WEIGHT_BITS, &first, w->rows);
    memset(w->sums, 0, w->values * sizeof *w->sums);
    for (int64_t k = 0; k < count; k++) {
        const uint8_t *row =
            image->pixels + (size_t)(first + k) * stride + (size_t)x->low * channels;
        const uint32_t weight = w->rows[k];
        uint32_t *restrict sums = w->sums;
        for (size_t v = 0; v < w->values; v++)
            sums[v] += row[v] * weight;
    }
    for (size_t v = 0; v < w->values; v++)
        w->sums[v] = (w->sums[v] + (1 << (WEIGHT_BITS - SUM_BITS - 1))) >> (WEIGHT_BITS - SUM_BITS);
}

static uint8_t sum_column(const uint32_t *sums, const uint32_t *weight, int64_t count,
                          size_t channels)
{
    uint64_t total = UINT64_C(1) << (WEIGHT_BITS + SUM_BITS - 1);
    for (int64_t k = 0; k < count; k++)
        total += (uint64_t)sums[(size_t)k * channels] * weight[k];
    return (uint8_t)(total >> (WEIGHT_BITS + SUM_BITS));
}

fg_status fgi_exact_resize(fg_image_decoder *decoder, const fg_image *image, const fgi_resize *r,
                           const fgi_axis *x, const fgi_axis *y, fg_error *err)
{
    work w;
    const size_t channels = (size_t)image->channels;
    FGI_TRY(make_work(decoder, r, x, y, channels, &w, err));
    for (int64_t i = 0; i < r->height; i++) {
        uint8_t *out = r->out + (size_t)(i * r->width) * channels;
        sum_rows(&w, image, x, y, r->height, i);
        for (int64_t k = 0; k < r->width; k++) {
            const int64_t column = r->flip ? r->width - 1 - k : k;
            const uint32_t *sums = w.sums + (size_t)(w.first[column] - x->low) * channels;
            for (size_t c = 0; c < channels; c++)
                *out++ = sum_column(sums + c, w.columns + (size_t)column * w.stride,
                                    w.count[column], channels);
        }
    }
    return FG_OK;
}
