/* taps.h - the weights of a resize along one axis.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_TAPS_H
#define FGI_IMAGE_TAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Result i is the sum of weight[i * stride + k] / 65536 times pixel first[i] + k, over k below
 * count[i]. The weights of a result add up to 65536; if there is only one, it is stored as 65535.
 * Weights past the count, up to the stride, are 0. */
typedef struct fgi_taps {
    int64_t size;
    size_t stride;
    int32_t *first, *count;
    uint16_t *weight;
} fgi_taps;

/* Part of an axis, in pixels: [begin, begin + length) is resized, pixels outside [low, high) are
 * not read. */
typedef struct fgi_axis {
    double begin, length;
    int64_t low, high;
} fgi_axis;

/* Bytes of memory, aligned to 16 bytes, that the taps need; the stride is a multiple of `group`. */
size_t fgi_taps_bytes(const fgi_axis *axis, int64_t size, size_t group);
/* Computes the weights of bilinear interpolation with antialiasing: a triangle whose half-width is
 * one source pixel, or one result pixel if that is larger. `memory` has fgi_taps_bytes. */
fgi_taps fgi_taps_make(const fgi_axis *axis, int64_t size, size_t group, void *memory);

/* The largest number of taps that a result can have. */
int64_t fgi_taps_most(const fgi_axis *axis, int64_t size);
/* The weights of result i, which add up to 2^bits, at most 24: returns how many. `weight` has room
 * for fgi_taps_most. */
int64_t fgi_taps_exact(const fgi_axis *axis, int64_t size, int64_t i, int bits, int64_t *first,
                       uint32_t *weight);

#endif
