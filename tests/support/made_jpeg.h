/* made_jpeg.h - JPEGs that tests make with libjpeg, and what libjpeg itself decodes from them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_MADE_JPEG_H
#define FGT_MADE_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fgt_jpeg_spec {
    int width, height;
    int components; /* 1 or 3                                        [3] */
    int h, v;       /* sampling factors of Y; those of chroma are 1  [2, 2] */
    int quality;    /*                                               [90] */
    int restart;    /* MCUs between restart markers                  [none] */
    bool progressive, optimized;
    bool metadata; /* Exif with orientation 6, an ICC profile, a comment */
    bool smooth;   /* a gradient without noise */
} fgt_jpeg_spec;

/* A JPEG of a texture with edges and noise, the same for the same spec. The caller calls free. */
uint8_t *fgt_jpeg_make(const fgt_jpeg_spec *spec, size_t *size);
/* The pixels of a JPEG at 1/divisor of its size, RGB, decoded by libjpeg alone. The caller calls
 * free. */
uint8_t *fgt_jpeg_pixels(const uint8_t *jpeg, size_t size, int divisor, int *width, int *height);
/* Fails the test unless both JPEGs have the same size, sampling, quantization tables and
 * coefficients. */
void fgt_jpeg_same_coefficients(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size);
/* The coefficient `z` (natural order) of a block. */
int fgt_jpeg_coefficient(const uint8_t *jpeg, size_t size, int component, int row, int column,
                         int z);

#endif
