/* taps.c - weights of the triangle filter, in fixed point. The positions of the taps are those of
 * Pillow's BILINEAR and of torchvision with antialias=True.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/taps.h"

#include <math.h>
#include <string.h>

enum { ONE = 65536 };

static size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

/* Half of the filter's width, in source pixels. */
static double support_of(const fgi_axis *axis, int64_t size)
{
    const double scale = axis->length / (double)size;
    return scale < 1 ? 1 : scale;
}

int64_t fgi_taps_most(const fgi_axis *axis, int64_t size)
{
    const double most = 2 * ceil(support_of(axis, size)) + 1;
    const int64_t all = axis->high - axis->low;
    return most < (double)all ? (int64_t)most : all;
}

static size_t stride_of(const fgi_axis *axis, int64_t size, size_t group)
{
    return round_up((size_t)fgi_taps_most(axis, size), group);
}

size_t fgi_taps_bytes(const fgi_axis *axis, int64_t size, size_t group)
{
    const size_t places = round_up((size_t)size * sizeof(int32_t), 16);
    return 2 * places + (size_t)size * stride_of(axis, size, group) * sizeof(uint16_t);
}

/* The triangle of this half-width around `center`, at pixel `i`. */
static double triangle(int64_t i, double center, double support)
{
    const double distance = fabs(((double)i + 0.5 - center) / support);
    return distance < 1 ? 1 - distance : 0;
}

/* Converts to fixed point. What rounding adds or removes is corrected in the largest weight. */
static void fill(uint16_t *out, int64_t first, int64_t count, double center, double support)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++)
        sum += triangle(first + k, center, support);
    int64_t largest = 0, left = ONE;
    for (int64_t k = 0; k < count; k++) {
        const double weight = triangle(first + k, center, support) / sum * ONE;
        const int64_t rounded = (int64_t)(weight + 0.5);
        out[k] = (uint16_t)(rounded < ONE ? rounded : ONE - 1);
        left -= out[k];
        if (out[k] > out[largest])
            largest = k;
    }
    const int64_t corrected = out[largest] + left;
    out[largest] = (uint16_t)(corrected < ONE ? corrected : ONE - 1);
}

/* The pixels [*first, *end) around the center of result i, which is returned. */
static double reach(const fgi_axis *axis, int64_t size, int64_t i, double support, int64_t *first,
                    int64_t *end)
{
    const double center = axis->begin + ((double)i + 0.5) * axis->length / (double)size;
    *first = (int64_t)floor(center - support + 0.5);
    *end = (int64_t)floor(center + support + 0.5);
    *first = *first < axis->low ? axis->low : *first;
    *end = *end > axis->high ? axis->high : *end;
    return center;
}

/* Sets the taps of result i. */
static void place(const fgi_taps *taps, const fgi_axis *axis, int64_t i, double support)
{
    int64_t first, end;
    const double center = reach(axis, taps->size, i, support, &first, &end);
    while (end - first > 1 && triangle(first, center, support) * 2 * ONE < support)
        first++; /* rounds to 0 */
    while (end - first > 1 && triangle(end - 1, center, support) * 2 * ONE < support)
        end--;
    taps->first[i] = (int32_t)first;
    taps->count[i] = (int32_t)(end - first);
    fill(taps->weight + (size_t)i * taps->stride, first, end - first, center, support);
}

fgi_taps fgi_taps_make(const fgi_axis *axis, int64_t size, size_t group, void *memory)
{
    const size_t places = round_up((size_t)size * sizeof(int32_t), 16);
    fgi_taps taps = {.size = size, .stride = stride_of(axis, size, group)};
    taps.first = memory;
    taps.count = (int32_t *)((char *)memory + places);
    taps.weight = (uint16_t *)((char *)memory + 2 * places);
    memset(taps.weight, 0, (size_t)size * taps.stride * sizeof(uint16_t));
    const double support = support_of(axis, size);
    for (int64_t i = 0; i < size; i++)
        place(&taps, axis, i, support);
    return taps;
}

/* Rounds the sums up to each weight, so that errors do not add up. */
int64_t fgi_taps_exact(const fgi_axis *axis, int64_t size, int64_t i, int bits, int64_t *first,
                       uint32_t *weight)
{
    const double support = support_of(axis, size), one = (double)(1U << bits);
    int64_t end;
    const double center = reach(axis, size, i, support, first, &end);
    double sum = 0, part = 0;
    for (int64_t k = *first; k < end; k++)
        sum += triangle(k, center, support);
    uint32_t before = 0;
    for (int64_t k = *first; k < end; k++) {
        part += triangle(k, center, support);
        const uint32_t rounded = (uint32_t)(part / sum * one + 0.5);
        weight[k - *first] = rounded - before;
        before = rounded;
    }
    return end - *first;
}
