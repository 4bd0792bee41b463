/* resize.c - bilinear resizing with antialiasing, of a part of an image, with an optional flip.
 *
 * Each row of the result is computed in two steps: a weighted sum of source rows, then weighted
 * sums of its columns. In between, values have 8 fractional bits. All arithmetic is on 16-bit
 * integers (the high half of 16 x 16 bit products), so that SIMD units process many at once and the
 * result is the same on all machines. The high half drops a fraction, on average half of the last
 * bit, which is added back at the start of each sum.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/resize.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/error.h"
#include "base/reserved.h"
#include "image/decoder.h"
#include "image/resize_avx2.h"
#include "image/resize_exact.h"
#include "image/taps.h"

enum { LANES = 8, PAIR = 2, ROW_PADDING = 64, HALF = 128 };

typedef uint16_t lanes __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));

/* The high halves of the products. */
static lanes multiply_high(lanes a, lanes b)
{
#if defined(__SSE2__)
    return (lanes)_mm_mulhi_epu16((__m128i)a, (__m128i)b);
#else
    lanes out;
    for (int i = 0; i < LANES; i++)
        out[i] = (uint16_t)((uint32_t)a[i] * b[i] >> 16);
    return out;
#endif
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void start_sum(uint16_t *restrict sum, size_t size, uint16_t value)
{
    for (size_t i = 0; i < size; i++)
        sum[i] = value;
}

static void add_row(uint16_t *restrict sum, const uint8_t *restrict row, size_t size,
                    uint16_t weight)
{
    for (size_t i = 0; i < size; i++)
        sum[i] = (uint16_t)(sum[i] + ((uint32_t)(row[i] << 8) * weight >> 16));
}

static void add_two_rows(uint16_t *restrict sum, const uint8_t *restrict a,
                         const uint8_t *restrict b, size_t size, const uint16_t *weight)
{
    const uint16_t wa = weight[0], wb = weight[1];
    for (size_t i = 0; i < size; i++)
        sum[i] = (uint16_t)(sum[i] + ((uint32_t)(a[i] << 8) * wa >> 16) +
                            ((uint32_t)(b[i] << 8) * wb >> 16));
}

/* Row y of the result before its columns are resized: `size` values from `rows`, the address of
 * source row 0, whose rows are `stride` bytes apart. */
static void sum_rows(const fgi_taps *taps, int64_t y, const uint8_t *rows, size_t stride,
                     uint16_t *sum, size_t size)
{
    const uint8_t *row = rows + (size_t)taps->first[y] * stride;
    const uint16_t *weight = taps->weight + (size_t)y * taps->stride;
    const int32_t count = taps->count[y];
    if (count == 1) {
        for (size_t i = 0; i < size; i++)
            sum[i] = (uint16_t)(row[i] << 8);
        return;
    }
    start_sum(sum, size, fgi_resize_dropped(count));
    int32_t k = 0;
    for (; k + 1 < count; k += 2)
        add_two_rows(sum, row + (size_t)k * stride, row + (size_t)(k + 1) * stride, size,
                     weight + k);
    if (k < count)
        add_row(sum, row + (size_t)k * stride, size, weight[k]);
}

/* ---- columns --------------------------------------------------------------------------------- */

static uint64_t load_64(const uint16_t *at)
{
    uint64_t out;
    memcpy(&out, at, sizeof out);
    return out;
}

/* Two neighboring RGB pixels in the lanes 0-2 and 4-6. */
static lanes load_pair(const uint16_t *at) { return (lanes)(halves){load_64(at), load_64(at + 3)}; }

static lanes load(const uint16_t *at)
{
    lanes out;
    memcpy(&out, at, sizeof out);
    return out;
}

/* RGB: `expanded` has each pair of weights four times, for the lanes of load_pair. */
static void sum_columns_rgb(const fgi_taps *taps, const lanes *expanded, const uint16_t *sum,
                            uint8_t *out, ptrdiff_t step)
{
    for (int64_t x = 0; x < taps->size; x++, out += step) {
        const uint16_t *in = sum + 3 * taps->first[x];
        const lanes *weight = expanded + (size_t)x * (taps->stride / PAIR);
        const int32_t count = taps->count[x];
        lanes total = {0};
        for (int32_t k = 0; k < count; k += PAIR)
            total += multiply_high(load_pair(in + 3 * (ptrdiff_t)k), *weight++);
        const uint16_t add = (uint16_t)(fgi_resize_dropped(count) + HALF);
        total += (lanes)(halves){((halves)total)[1], 0};
        total += (lanes){add, add, add};
        const uint64_t pixel = ((halves)total)[0];
        out[0] = (uint8_t)(pixel >> 8);
        out[1] = (uint8_t)(pixel >> 24);
        out[2] = (uint8_t)(pixel >> 40);
    }
}

/* Gray: eight taps at a time. */
static void sum_columns_gray(const fgi_taps *taps, const uint16_t *sum, uint8_t *out,
                             ptrdiff_t step)
{
    for (int64_t x = 0; x < taps->size; x++, out += step) {
        const uint16_t *in = sum + taps->first[x];
        const uint16_t *weight = taps->weight + (size_t)x * taps->stride;
        const int32_t count = taps->count[x];
        lanes total = {0};
        for (int32_t k = 0; k < count; k += LANES)
            total += multiply_high(load(in + k), load(weight + k));
        uint32_t all = (uint32_t)fgi_resize_dropped(count) + HALF;
        for (int i = 0; i < LANES; i++)
            all += total[i];
        *out = (uint8_t)(all >> 8);
    }
}

static void expand(const fgi_taps *taps, lanes *out)
{
    const size_t pairs = (size_t)taps->size * taps->stride / PAIR;
    for (size_t i = 0; i < pairs; i++) {
        const uint16_t a = taps->weight[PAIR * i], b = taps->weight[PAIR * i + 1];
        out[i] = (lanes){a, a, a, a, b, b, b, b};
    }
}

/* ---- an image -------------------------------------------------------------------------------- */

/* Weights of both axes and the row between the two steps, all in the decoder's memory. */
typedef struct plan {
    fgi_taps columns, rows;
    lanes *expanded;
    uint16_t *sum;
    void *avx2;         /* memory of fgi_avx2_resize; NULL: not used */
    int64_t first, end; /* source columns that are read */
} plan;

static fgi_axis axis_of(double begin, double length, double low, double room, int64_t size)
{
    const int64_t high = (int64_t)ceil(low + room);
    return (fgi_axis){begin, length, (int64_t)floor(low), high < size ? high : size};
}

static fg_status make_plan(fg_image_decoder *decoder, const fg_image *image, const fgi_resize *r,
                           const fgi_axis *x, const fgi_axis *y, plan *out, fg_error *err)
{
    const size_t x_bytes = (fgi_taps_bytes(x, r->width, LANES) + 15) & ~(size_t)15;
    const size_t y_bytes = (fgi_taps_bytes(y, r->height, PAIR) + 15) & ~(size_t)15;
    const size_t row_bytes =
        (size_t)(x->high - x->low) * (size_t)image->channels * sizeof(uint16_t) + ROW_PADDING;
    const size_t expanded_bytes = image->channels == 3 ? 4 * x_bytes : 0;
    const bool has_avx2 = image->channels == 3 && fgi_avx2_is_used();
    const size_t sum_bytes = (row_bytes + 15) & ~(size_t)15;
    const size_t avx2_bytes = has_avx2 ? fgi_avx2_bytes(x->high - x->low) : 0;
    FGI_TRY(fgi_pixel_block_reserve(
        &decoder->weights, x_bytes + y_bytes + expanded_bytes + sum_bytes + avx2_bytes, err));
    uint8_t *memory = decoder->weights.data;
    out->columns = fgi_taps_make(x, r->width, LANES, memory);
    out->rows = fgi_taps_make(y, r->height, PAIR, memory + x_bytes);
    out->expanded = (lanes *)(memory + x_bytes + y_bytes);
    out->sum = (uint16_t *)(memory + x_bytes + y_bytes + expanded_bytes);
    out->avx2 = has_avx2 ? (uint8_t *)out->sum + sum_bytes : NULL;
    memset(out->sum, 0, row_bytes);
    if (image->channels == 3)
        expand(&out->columns, out->expanded);
    const int64_t last = r->width - 1;
    out->first = out->columns.first[0];
    out->end = out->columns.first[last] + out->columns.count[last];
    for (int64_t i = 0; i <= last; i++)
        out->columns.first[i] -= (int32_t)out->first;
    return FG_OK;
}

/* Computes the first rows of the result; returns how many. */
static int64_t resize_avx2(const plan *p, const fgi_resize *r, const uint8_t *rows, size_t stride)
{
    if (p->avx2 == NULL)
        return 0;
    return fgi_avx2_resize_rgb(&(fgi_avx2_resize){.columns = &p->columns,
                                                  .rows = &p->rows,
                                                  .pixels = rows,
                                                  .stride = stride,
                                                  .width = p->end - p->first,
                                                  .flip = r->flip,
                                                  .out = r->out,
                                                  .memory = p->avx2});
}

fg_status fgi_image_resize(fg_image_decoder *decoder, const fg_image *image, const fgi_resize *r,
                           fg_error *err)
{
    plan p;
    const fgi_axis across =
        axis_of(r->box.x, r->box.width, r->within.x, r->within.width, image->width);
    const fgi_axis down =
        axis_of(r->box.y, r->box.height, r->within.y, r->within.height, image->height);
    if (fgi_exact_is_needed(&across, r->width, &down, r->height))
        return fgi_exact_resize(decoder, image, r, &across, &down, err);
    FGI_TRY(make_plan(decoder, image, r, &across, &down, &p, err));
    const size_t channels = (size_t)image->channels, stride = (size_t)image->width * channels;
    const uint8_t *rows = image->pixels + (size_t)p.first * channels;
    const ptrdiff_t step = r->flip ? -(ptrdiff_t)channels : (ptrdiff_t)channels;
    for (int64_t y = resize_avx2(&p, r, rows, stride); y < r->height; y++) {
        uint8_t *out = r->out + (size_t)y * (size_t)r->width * channels;
        if (r->flip)
            out += (size_t)(r->width - 1) * channels;
        sum_rows(&p.rows, y, rows, stride, p.sum, (size_t)(p.end - p.first) * channels);
        if (channels == 3)
            sum_columns_rgb(&p.columns, p.expanded, p.sum, out, step);
        else
            sum_columns_gray(&p.columns, p.sum, out, step);
    }
    return FG_OK;
}

static fg_status check(const fg_image *image, int64_t width, int64_t height, fg_image_box box,
                       fg_error *err)
{
    FGI_TRY_RESERVED(fg_image, image, err);
    if (image->pixels == NULL || width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX)
        return fgi_fail(err, FG_EINVAL,
                        "fg_image_resize: expected an image and a size of at least 1x1, got "
                        "%" PRId64 "x%" PRId64 " to be resized to %" PRId64 "x%" PRId64,
                        image->width, image->height, width, height);
    const bool is_inside = box.x >= 0 && box.y >= 0 && box.width > 0 && box.height > 0 &&
                           box.x + box.width <= (double)image->width &&
                           box.y + box.height <= (double)image->height;
    if (!is_inside)
        return fgi_fail(err, FG_EINVAL,
                        "fg_image_resize: the box of %gx%g pixels at (%g, %g) is not inside the "
                        "image of %" PRId64 "x%" PRId64 " pixels",
                        box.width, box.height, box.x, box.y, image->width, image->height);
    return FG_OK;
}

fg_status fg_image_resize(fg_image_decoder *decoder, const fg_image *image, int64_t width,
                          int64_t height, const fg_image_resize_options *options, uint8_t *out,
                          fg_error *err)
{
    static const fg_image_resize_options defaults = {0};
    const fg_image_resize_options *o = options == NULL ? &defaults : options;
    FGI_TRY_RESERVED(fg_image_resize_options, o, err);
    const bool is_default =
        o->box.x == 0 && o->box.y == 0 && o->box.width == 0 && o->box.height == 0;
    const fg_image_box box = is_default ? image->region : o->box;
    FGI_TRY(check(image, width, height, box, err));
    fgi_resize resize = {
        .box = box, .within = box, .width = width, .height = height, .flip = o->flip};
    resize.out = out;
    return fgi_image_resize(decoder, image, &resize, err);
}
