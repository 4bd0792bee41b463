/* resize_avx2.c - resizing RGB images on CPUs with AVX2: 16 values per instruction.
 *
 * Four rows of the result are computed together. Their sums of source rows are reordered so that
 * the 12 values of a column are in one vector; a tap of all four rows is then one load, one
 * multiplication by the same weight and one addition.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/resize_avx2.h"

#include <stdatomic.h>
#include <string.h>

#include "image/resize.h"

static atomic_bool is_off;

void fgi_avx2_allow(bool is_allowed) { atomic_store(&is_off, !is_allowed); }

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

enum { LANES = 16, BLOCK = 2 * LANES, ROWS = 4, PIXEL = 4, COLUMN = ROWS * PIXEL };

bool fgi_avx2_is_used(void)
{
    return __builtin_cpu_supports("avx2") != 0 &&
           !atomic_load_explicit(&is_off, memory_order_relaxed);
}

AVX2 static __m256i load(const void *at) { return _mm256_loadu_si256(at); }

AVX2 static void store(void *at, __m256i value) { _mm256_storeu_si256(at, value); }

/* ---- rows ------------------------------------------------------------------------------------ */

/* 32 values of a row, whose first tap is at `row`. A byte b becomes b * 256 by interleaving it with
 * zeros, within each half of a vector; the order is restored at the end. */
AVX2 static void sum_block(const uint8_t *row, size_t stride, const uint16_t *weight, int32_t count,
                           uint16_t *out)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i low = _mm256_set1_epi16((short)fgi_resize_dropped(count)), high = low;
    for (int32_t k = 0; k < count; k++, row += stride) {
        const __m256i bytes = load(row), w = _mm256_set1_epi16((short)weight[k]);
        low = _mm256_add_epi16(low, _mm256_mulhi_epu16(_mm256_unpacklo_epi8(zero, bytes), w));
        high = _mm256_add_epi16(high, _mm256_mulhi_epu16(_mm256_unpackhi_epi8(zero, bytes), w));
    }
    store(out, _mm256_permute2x128_si256(low, high, 0x20));
    store(out + LANES, _mm256_permute2x128_si256(low, high, 0x31));
}

/* Row y of the result before its columns are resized. */
AVX2 static void sum_rows(const fgi_avx2_resize *r, int64_t y, uint16_t *out)
{
    const fgi_taps *taps = r->rows;
    const size_t size = 3 * (size_t)r->width;
    const uint8_t *row = r->pixels + (size_t)taps->first[y] * r->stride;
    const uint16_t *weight = taps->weight + (size_t)y * taps->stride;
    const int32_t count = taps->count[y];
    if (count == 1) { /* its weight is 65536, which is not stored */
        for (size_t i = 0; i < size; i++)
            out[i] = (uint16_t)(row[i] << 8);
        return;
    }
    size_t i = 0;
    for (; i + BLOCK <= size; i += BLOCK)
        sum_block(row + i, r->stride, weight, count, out + i);
    if (i < size) /* the last block overlaps the one before it */
        sum_block(row + size - BLOCK, r->stride, weight, count, out + size - BLOCK);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The values of rows that are row_size values apart, by columns. A pixel is copied with the value
 * after it, which is not used. */
static void reorder(const uint16_t *sums, size_t row_size, int64_t width, uint16_t *out)
{
    for (int64_t x = 0; x < width; x++, sums += 3, out += COLUMN)
        for (size_t r = 0; r < ROWS; r++)
            memcpy(out + PIXEL * r, sums + r * row_size, PIXEL * sizeof *sums);
}

/* A pixel of each row, in the first three bytes of each of four numbers. */
AVX2 static inline __m128i sum_taps(const uint16_t *column, const uint16_t *weight, int32_t count)
{
    const int rounded = fgi_resize_dropped(count) + 128;
    __m256i total = _mm256_set1_epi16((short)rounded);
    for (int32_t k = 0; k < count; k++, column += COLUMN)
        total = _mm256_add_epi16(
            total, _mm256_mulhi_epu16(load(column), _mm256_set1_epi16((short)weight[k])));
    total = _mm256_srli_epi16(total, 8);
    return _mm_packus_epi16(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
}

/* Column i of the result, from the left; `reordered` has the columns of the source. */
AVX2 static inline __m128i column_at(const fgi_avx2_resize *r, const uint16_t *reordered, int64_t i)
{
    const fgi_taps *taps = r->columns;
    const int64_t x = r->flip ? taps->size - 1 - i : i;
    return sum_taps(reordered + (size_t)taps->first[x] * COLUMN,
                    taps->weight + (size_t)x * taps->stride, taps->count[x]);
}

AVX2 static void sum_columns(const fgi_avx2_resize *r, const uint16_t *reordered, uint8_t *out)
{
    const int64_t last = r->columns->size - 1;
    const size_t row_bytes = 3 * (size_t)r->columns->size;
    uint8_t *second = out + row_bytes, *third = second + row_bytes, *fourth = third + row_bytes;
    for (int64_t i = 0; i < last; i++) { /* the fourth byte is replaced by the next pixel */
        const __m128i pixels = column_at(r, reordered, i);
        _mm_storeu_si32(out + 3 * i, pixels);
        _mm_storeu_si32(second + 3 * i, _mm_srli_si128(pixels, 4));
        _mm_storeu_si32(third + 3 * i, _mm_srli_si128(pixels, 8));
        _mm_storeu_si32(fourth + 3 * i, _mm_srli_si128(pixels, 12));
    }
    uint32_t pixel[ROWS];
    _mm_storeu_si128((__m128i *)(void *)pixel, column_at(r, reordered, last));
    for (size_t k = 0; k < ROWS; k++)
        memcpy(out + k * row_bytes + 3 * last, &pixel[k], 3);
}

/* ---- an image -------------------------------------------------------------------------------- */

/* Values of a row of sums, and the one that reorder reads after it. */
static size_t row_size_of(int64_t width) { return (3 * (size_t)width + LANES) / LANES * LANES; }

size_t fgi_avx2_bytes(int64_t width)
{
    return (row_size_of(width) * ROWS + (size_t)width * COLUMN) * sizeof(uint16_t);
}

int64_t fgi_avx2_resize_rgb(const fgi_avx2_resize *r)
{
    const size_t row_size = row_size_of(r->width);
    uint16_t *sums = r->memory, *reordered = sums + ROWS * row_size;
    if (3 * r->width < BLOCK)
        return 0;
    for (size_t k = 0; k < ROWS; k++)
        sums[k * row_size + 3 * (size_t)r->width] = 0;
    int64_t y = 0;
    for (; y + ROWS <= r->rows->size; y += ROWS) {
        for (int64_t k = 0; k < ROWS; k++)
            sum_rows(r, y + k, sums + (size_t)k * row_size);
        reorder(sums, row_size, r->width, reordered);
        sum_columns(r, reordered, r->out + (size_t)y * 3 * (size_t)r->columns->size);
    }
    return y;
}

#else

bool fgi_avx2_is_used(void) { return false; }

size_t fgi_avx2_bytes(int64_t width) { return 0; }

int64_t fgi_avx2_resize_rgb(const fgi_avx2_resize *r) { return 0; }

#endif
