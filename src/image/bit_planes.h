/* bit_planes.h - small integers with as few bits as the largest one nearby needs: coefficients of
 * high frequencies are nearly all 0, +1 and -1. Faster than a general compressor, because there is
 * nothing to search for and no decision per value.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_BIT_PLANES_H
#define FGI_IMAGE_BIT_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

/* Format of s8[count], in groups of 64 values; the last one is padded with zeros:
 *
 *   u8[ceil(groups / 2)]  the width w of each group, 0 to 8 bits, half a byte each: the lower half
 *                         is that of the group with the even number; an unused half is 0
 *   u64[w]                of each group: plane k has bit k of each value, value i in bit i, little-
 *                         endian
 *
 * The values of a group are integers of w bits in two's complement; w = 0: all are 0. */

/* Appends the planes of values. Out of memory: out->failed. */
void fgi_bit_planes_write(const int8_t *values, size_t count, fgi_buf *out);

/* Reads all `count` values. False if `size` bytes are not exactly what such values have. Never
 * reads nor writes outside. */
bool fgi_bit_planes_read(const uint8_t *bytes, size_t size, int8_t *values, size_t count);

/* The same without vector instructions of the CPU, for tests. */
bool fgi_bit_planes_read_portable(const uint8_t *bytes, size_t size, int8_t *values, size_t count);

#endif
