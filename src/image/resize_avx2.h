/* resize_avx2.h - resizing RGB images on CPUs with AVX2. The results are the same bits as those of
 * resize.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_RESIZE_AVX2_H
#define FGI_IMAGE_RESIZE_AVX2_H

#include <stdbool.h>

#include "image/taps.h"

typedef struct fgi_avx2_resize {
    const fgi_taps *columns, *rows; /* the first source column is 0 */
    const uint8_t *pixels;          /* source row 0, rows are `stride` bytes apart */
    size_t stride;
    int64_t width; /* source columns */
    bool flip;
    uint8_t *out; /* u8[rows->size, columns->size, 3] */
    void *memory; /* fgi_avx2_bytes(width), aligned to 16 bytes */
} fgi_avx2_resize;

/* Whether this CPU has AVX2, and fgi_avx2_allow has not turned it off. */
bool fgi_avx2_is_used(void);
/* For tests: compare the results with those of other CPUs. */
void fgi_avx2_allow(bool is_allowed);

size_t fgi_avx2_bytes(int64_t width);

/* Computes rows of the result, in groups from the first one; returns how many: those that are left
 * are less than a group, or all if the source is too narrow. Requires fgi_avx2_is_used(). */
int64_t fgi_avx2_resize_rgb(const fgi_avx2_resize *resize);

#endif
