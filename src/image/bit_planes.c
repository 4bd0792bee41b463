/* bit_planes.c - packs and unpacks groups of 64 values. With AVX2, a plane of 32 values becomes a
 * vector of bytes that are 0 or the plane's value by one shuffle and one comparison; otherwise, a
 * table has the eight bytes of each byte of a plane.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/bit_planes.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_VECTORS  __builtin_cpu_supports("avx2")
#define WITH_VECTORS __attribute__((target("avx2")))
#endif

enum { GROUP = 64, MOST_WIDTH = 8, PLANE_BYTES = GROUP / 8 };

static size_t groups_of(size_t count) { return (count + GROUP - 1) / GROUP; }

/* The value of the set bits of plane k: the highest plane is negative. Modulo 256. */
static uint8_t weight(int k, int width)
{
    return (uint8_t)(k == width - 1 ? 0x100 - (1 << k) : 1 << k);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int width_of(const int8_t *values, size_t count)
{
    unsigned bits = 0, any = 0;
    for (size_t i = 0; i < count; i++) {
        any |= (uint8_t)values[i];
        bits |= (uint8_t)(values[i] < 0 ? ~values[i] : values[i]);
    }
    int width = any != 0;
    for (; bits != 0; bits >>= 1)
        width++;
    return width;
}

static void put_planes(const int8_t *values, size_t count, int width, fgi_buf *out)
{
    for (int k = 0; k < width; k++) {
        uint8_t plane[PLANE_BYTES] = {0};
        for (size_t i = 0; i < count; i++)
            plane[i / 8] |= (uint8_t)(((uint8_t)values[i] >> k & 1) << (i % 8));
        fgi_buf_add(out, plane, sizeof plane);
    }
}

void fgi_bit_planes_write(const int8_t *values, size_t count, fgi_buf *out)
{
    const size_t groups = groups_of(count);
    for (int pass = 0; pass < 2; pass++) {
        uint8_t widths = 0;
        for (size_t g = 0; g < groups; g++) {
            const size_t left = count - g * GROUP, size = left < GROUP ? left : GROUP;
            const int width = width_of(values + g * GROUP, size);
            if (pass == 1) {
                put_planes(values + g * GROUP, size, width, out);
                continue;
            }
            widths |= (uint8_t)(width << (g % 2 * 4));
            if (g % 2 == 1 || g + 1 == groups) {
                fgi_buf_putc(out, (char)widths);
                widths = 0;
            }
        }
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static int width_at(const uint8_t *widths, size_t group)
{
    return widths[group / 2] >> (group % 2 * 4) & 15;
}

/* Sixteen widths at once: adds them, and sets *bad if one is above 8. */
static size_t add_widths(uint64_t widths, uint64_t *bad)
{
    const uint64_t low = UINT64_C(0x7777777777777777), ones = UINT64_C(0x0101010101010101);
    *bad |= ((widths & low) + low) & widths & ~low;
    const uint64_t pairs = (widths & 0x0f * ones) + (widths >> 4 & 0x0f * ones);
    return (size_t)(pairs * ones >> 56);
}

/* Whether the widths are valid and the planes have exactly the rest of the bytes. */
static bool is_valid(const uint8_t *bytes, size_t size, size_t groups)
{
    const size_t half = (groups + 1) / 2;
    size_t planes = 0;
    uint64_t bad = 0;
    if (size < half || (groups % 2 == 1 && bytes[half - 1] >> 4 != 0))
        return false;
    for (size_t i = 0; i < half; i += 8) {
        uint64_t widths = 0;
        memcpy(&widths, bytes + i, half - i < 8 ? half - i : 8);
        planes += add_widths(widths, &bad);
    }
    return bad == 0 && planes * PLANE_BYTES == size - half;
}

static uint64_t spread[256]; /* byte i of spread[b] is bit i of b */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_spread(void)
{
    for (unsigned b = 0; b < 256; b++) {
        uint8_t bytes[8];
        for (int i = 0; i < 8; i++)
            bytes[i] = b >> i & 1;
        memcpy(&spread[b], bytes, sizeof bytes);
    }
}

/* Reads whole groups; the table of the widths is that of all. Returns the end of their planes.
 * Products with bytes of 0 and 1 have no carries. */
static const uint8_t *read_groups(const uint8_t *widths, size_t first, size_t end,
                                  const uint8_t *planes, int8_t *out)
{
    for (size_t g = first; g < end; g++, out += GROUP) {
        const int width = width_at(widths, g);
        for (size_t i = 0; i < PLANE_BYTES; i++) {
            uint64_t values = 0;
            for (int k = 0; k < width; k++)
                values |= spread[planes[(size_t)k * PLANE_BYTES + i]] * weight(k, width);
            memcpy(out + 8 * i, &values, sizeof values);
        }
        planes += width * PLANE_BYTES;
    }
    return planes;
}

#ifdef HAS_VECTORS
/* 32 bits of a plane as bytes: -1 where a bit is set. */
WITH_VECTORS static inline __m256i mask_of(const uint8_t *plane)
{
    const __m256i copies = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                            2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
    int32_t bits;
    memcpy(&bits, plane, sizeof bits);
    const __m256i spread_bits = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), copies);
    return _mm256_cmpeq_epi8(_mm256_and_si256(spread_bits, bit), bit);
}

/* From the highest plane, which is the sign, to the lowest: twice the value plus the bit. */
WITH_VECTORS static const uint8_t *read_groups_vectors(const uint8_t *widths, size_t first,
                                                       size_t end, const uint8_t *planes,
                                                       int8_t *out)
{
    for (size_t g = first; g < end; g++, out += GROUP) {
        const int width = width_at(widths, g);
        const uint8_t *plane = planes + width * PLANE_BYTES;
        __m256i low = _mm256_setzero_si256(), high = low;
        if (plane > planes) {
            plane -= PLANE_BYTES;
            low = mask_of(plane);
            high = mask_of(plane + PLANE_BYTES / 2);
        }
        while (plane > planes) {
            plane -= PLANE_BYTES;
            low = _mm256_sub_epi8(_mm256_add_epi8(low, low), mask_of(plane));
            high = _mm256_sub_epi8(_mm256_add_epi8(high, high), mask_of(plane + PLANE_BYTES / 2));
        }
        _mm256_storeu_si256((__m256i *)(void *)out, low);
        _mm256_storeu_si256((__m256i *)(void *)(out + GROUP / 2), high);
        planes += width * PLANE_BYTES;
    }
    return planes;
}
#endif

typedef const uint8_t *(*group_reader)(const uint8_t *widths, size_t first, size_t end,
                                       const uint8_t *planes, int8_t *out);

static bool read_all(const uint8_t *bytes, size_t size, int8_t *values, size_t count,
                     group_reader read)
{
    const size_t groups = groups_of(count), whole = count / GROUP;
    if (!is_valid(bytes, size, groups))
        return false;
    const uint8_t *planes = read(bytes, 0, whole, bytes + (groups + 1) / 2, values);
    if (whole < groups) {
        int8_t last[GROUP];
        (void)read(bytes, whole, groups, planes, last);
        memcpy(values + whole * GROUP, last, count - whole * GROUP);
    }
    return true;
}

bool fgi_bit_planes_read_portable(const uint8_t *bytes, size_t size, int8_t *values, size_t count)
{
    (void)pthread_once(&once, fill_spread);
    return read_all(bytes, size, values, count, read_groups);
}

bool fgi_bit_planes_read(const uint8_t *bytes, size_t size, int8_t *values, size_t count)
{
#ifdef HAS_VECTORS
    if (HAS_VECTORS)
        return read_all(bytes, size, values, count, read_groups_vectors);
#endif
    return fgi_bit_planes_read_portable(bytes, size, values, count);
}
