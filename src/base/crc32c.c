/* crc32c.c - CRC-32C, with the CRC instructions of x86-64 (SSE4.2) and ARMv8 where they exist.
 *
 * The instruction has a latency of three cycles, but one can start each cycle. So a long range is
 * processed as three adjacent lanes at once. The CRC of their concatenation follows from the three
 * values: a CRC is linear over GF(2), so appending n zero bytes to a message multiplies its CRC by
 * x^(8n) modulo the polynomial. That product is looked up, one table per byte of the CRC.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#define HAS_INSTRUCTION __builtin_cpu_supports("sse4.2")
#define WITH_CRC        __attribute__((target("sse4.2")))
#define STEP_8(crc, value)                                                                         \
    ((uint32_t)__builtin_ia32_crc32di((unsigned long long)(crc), (unsigned long long)(value)))
#define STEP_1(crc, value) ((uint32_t)__builtin_ia32_crc32qi((crc), (unsigned char)(value)))
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define HAS_INSTRUCTION true
#define WITH_CRC
#define STEP_8(crc, value) __crc32cd((crc), (value))
#define STEP_1(crc, value) __crc32cb((crc), (value))
#endif

enum {
    LONG_LANE = 8192, /* bytes; three of them fit in the L1 cache */
    SHORT_LANE = 256,
};

static const uint32_t polynomial = 0x82f63b78; /* reflected: bit 31 is x^0 */

static uint32_t slices[8][256];      /* slices[k][b]: CRC of byte b followed by k zero bytes */
static uint32_t long_shift[4][256];  /* products with x^(8 LONG_LANE) */
static uint32_t short_shift[4][256]; /* products with x^(8 SHORT_LANE) */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* a * b modulo the polynomial. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (int i = 31; i >= 0; i--) {
        product ^= (a >> i & 1) != 0 ? b : 0;
        b = b >> 1 ^ ((b & 1) != 0 ? polynomial : 0);
    }
    return product;
}

/* x^(8 bytes) modulo the polynomial, for a power of two. */
static uint32_t power(int bytes)
{
    uint32_t p = (uint32_t)1 << 23; /* x^8 */
    for (int n = 1; n < bytes; n *= 2)
        p = multiply(p, p);
    return p;
}

static void fill_shift(uint32_t table[4][256], int bytes)
{
    const uint32_t factor = power(bytes);
    for (int k = 0; k < 4; k++)
        for (uint32_t b = 0; b < 256; b++)
            table[k][b] = multiply(factor, b << (8 * k));
}

static void fill_tables(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int i = 0; i < 8; i++)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? polynomial : 0);
        slices[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t b = 0; b < 256; b++)
            slices[k][b] = slices[k - 1][b] >> 8 ^ slices[0][slices[k - 1][b] & 0xff];
    fill_shift(long_shift, LONG_LANE);
    fill_shift(short_shift, SHORT_LANE);
}

static uint64_t load_8(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value); /* the library requires a little-endian host */
    return value;
}

uint32_t fgi_crc32c_portable(uint32_t crc, const void *data, size_t size)
{
    const unsigned char *at = data;
    (void)pthread_once(&once, fill_tables);
    crc = ~crc;
    for (; size >= 8; size -= 8, at += 8) {
        const uint64_t v = load_8(at) ^ crc;
        crc = 0;
        for (int k = 0; k < 8; k++)
            crc ^= slices[7 - k][v >> (8 * k) & 0xff];
    }
    for (; size > 0; size--, at++)
        crc = crc >> 8 ^ slices[0][(crc ^ *at) & 0xff];
    return ~crc;
}

#ifdef HAS_INSTRUCTION
static uint32_t shift(uint32_t table[4][256], uint32_t crc)
{
    return table[0][crc & 0xff] ^ table[1][crc >> 8 & 0xff] ^ table[2][crc >> 16 & 0xff] ^
           table[3][crc >> 24];
}

/* Three lanes of `lane` bytes each. */
WITH_CRC static uint32_t add_lanes(uint32_t crc, const unsigned char *at, size_t lane,
                                   uint32_t table[4][256])
{
    uint32_t second = 0, third = 0;
    for (size_t i = 0; i < lane; i += 8) {
        crc = STEP_8(crc, load_8(at + i));
        second = STEP_8(second, load_8(at + lane + i));
        third = STEP_8(third, load_8(at + 2 * lane + i));
    }
    return shift(table, shift(table, crc) ^ second) ^ third;
}

WITH_CRC static uint32_t with_instruction(uint32_t crc, const unsigned char *at, size_t size)
{
    crc = ~crc;
    for (; size >= 3 * LONG_LANE; size -= 3 * LONG_LANE, at += 3 * LONG_LANE)
        crc = add_lanes(crc, at, LONG_LANE, long_shift);
    for (; size >= 3 * SHORT_LANE; size -= 3 * SHORT_LANE, at += 3 * SHORT_LANE)
        crc = add_lanes(crc, at, SHORT_LANE, short_shift);
    for (; size >= 8; size -= 8, at += 8)
        crc = STEP_8(crc, load_8(at));
    for (; size > 0; size--, at++)
        crc = STEP_1(crc, *at);
    return ~crc;
}
#endif

uint32_t fgi_crc32c(uint32_t crc, const void *data, size_t size)
{
#ifdef HAS_INSTRUCTION
    if (HAS_INSTRUCTION) {
        (void)pthread_once(&once, fill_tables);
        return with_instruction(crc, data, size);
    }
#endif
    return fgi_crc32c_portable(crc, data, size);
}

uint32_t fgi_crc32c_masked(const void *data, size_t size)
{
    const uint32_t crc = fgi_crc32c(0, data, size);
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}
