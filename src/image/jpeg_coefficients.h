/* jpeg_coefficients.h - the quantized DCT coefficients of a JPEG as a record of a pack: no Huffman
 * decoding when it is read, and the pixels can be computed on the device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_COEFFICIENTS_H
#define FGI_IMAGE_JPEG_COEFFICIENTS_H

#include <fulgurite/base.h>
#include "base/buf.h"

/* Record, version 1, all integers little-endian:
 *
 *   offset  type              content
 *        0  u8[4]             "FGDC"
 *        4  u16               version, 1
 *        6  u8                components c: 1 (gray) or 3 (Y, Cb, Cr)
 *        7  u8                0
 *        8  u16, u16          width, height in pixels
 *       12  u8[4]             sampling factor of each component, horizontal * 16 + vertical; 0s
 *       16  u32               number of exceptions e
 *       20  u32               size of the compressed block in bytes
 *       24  u16[c][64]        quantization tables, zigzag order
 *        .  u32[e]            exceptions: indexes into `ac`, ascending
 *        .  s16[e]            their values
 *        .  u8[...]           LZ4 block of the dense entry, in which dc is stored as differences
 *
 * Dense entry of N blocks, 65 N bytes:
 *
 *   s16[N]      dc   in the record: the difference from the previous block of the component (the
 *                    first one: from 0); after unpacking: the value
 *   s8[63][N]   ac   coefficients 1..63 in zigzag order, values outside of s8 clamped to -128, 127;
 *                    the exceptions are their exact values
 *
 * Blocks are numbered from left to right and top to bottom, first those of Y, then Cb, then Cr.
 * Component i has ceil(ceil(width * h_i / h_max) / 8) columns of blocks, and rows in the same way.
 *
 * To get pixels, a device computes, in f32 or (with an error of 0.01 of 255) in bf16 with f32 sums:
 *
 *   1. k[64][N]: k[0] = dc, k[1..63] = ac, with the exceptions stored into it; multiply k[z][n] by
 *      the quantization table of n's component at z.
 *   2. s[64][N] = basis[64][64] k + 128, clamped to 0..255; row p of the basis is pixel (p / 8,
 *      p % 8) of a block (fgi_jpeg_coefficient_basis).
 *   3. Each component: its blocks side by side, cropped to ceil(width * h_i / h_max) x
 *      ceil(height * v_i / v_max).
 *   4. Upsampling of a component with half of the columns: out[2 i] = 3/4 s[i] + 1/4 s[i - 1],
 *      out[2 i + 1] = 3/4 s[i] + 1/4 s[i + 1], with indexes clamped to the component; then
 *      cropped to the width. Rows in the same way.
 *   5. R = Y + 1.402 (Cr - 128), G = Y - 0.344136 (Cb - 128) - 0.714136 (Cr - 128),
 *      B = Y + 1.772 (Cb - 128), clamped to 0..255. Gray: R = G = B = Y. */

/* One component: its place among the blocks. */
typedef struct fgi_jpeg_component {
    int h, v;           /* sampling factors, 1 or 2 */
    int width, height;  /* in samples */
    int columns, rows;  /* of blocks */
    size_t first;       /* number of its first block */
    uint16_t quant[64]; /* zigzag order */
} fgi_jpeg_component;

/* A record that was opened. Points into it. */
typedef struct fgi_jpeg_coefficients {
    int width, height, components;
    fgi_jpeg_component component[3];
    size_t blocks; /* N */
    size_t exceptions;
    const uint8_t *exception_bytes, *compressed;
    size_t compressed_bytes;
} fgi_jpeg_coefficients;

/* An AC coefficient outside of s8: ac[index] = value. */
typedef struct fgi_jpeg_exception {
    uint32_t index;
    int16_t value;
} fgi_jpeg_exception;

static inline size_t fgi_jpeg_dense_bytes(size_t blocks) { return 65 * blocks; }

/* Appends the record of a JPEG. Lossless. Errors: FG_EFORMAT "name: byte N: ..." for a damaged
 * JPEG, FG_EUNSUPPORTED for CMYK, RGB and sampling factors other than 1 and 2, FG_ENOMEM.
 * Thread-safe. */
fg_status fgi_jpeg_coefficients_write(const char *name, const void *jpeg, size_t size, fgi_buf *out,
                                      fg_error *err);

/* Encodes pixels, RGB u8[height, width, 3], as a JPEG of this quality (1..100) with chroma of half
 * the width and height (4:2:0), then appends its record. Errors: FG_EINVAL, FG_ENOMEM. */
fg_status fgi_jpeg_coefficients_encode(const char *name, const uint8_t *pixels, int width,
                                       int height, int quality, fgi_buf *out, fg_error *err);

/* Reads the header of a record. FG_EFORMAT "name: coefficients: byte N: ...". */
fg_status fgi_jpeg_coefficients_open(const char *name, const void *record, size_t size,
                                     fgi_jpeg_coefficients *out, fg_error *err);

/* Unpacks to a dense entry of fgi_jpeg_dense_bytes(blocks) bytes, aligned to 2. No allocation. */
fg_status fgi_jpeg_coefficients_unpack(const char *name, const fgi_jpeg_coefficients *record,
                                       void *dense, fg_error *err);

/* Exception i < record->exceptions. */
fgi_jpeg_exception fgi_jpeg_coefficients_exception(const fgi_jpeg_coefficients *record, size_t i);

/* Widens a dense entry to s16[64][N] with all exceptions: the exact coefficients. */
void fgi_jpeg_coefficients_widen(const fgi_jpeg_coefficients *record, const void *dense,
                                 int16_t *out);

/* The matrix of step 2, f32[64][64]: basis[p][z] = C(u) C(v) / 4 cos((2x + 1) u pi / 16)
 * cos((2y + 1) v pi / 16) for pixel p = 8 y + x and the coefficient z of horizontal frequency u and
 * vertical frequency v; C(0) = 1 / sqrt(2), otherwise 1. */
void fgi_jpeg_coefficient_basis(float basis[64 * 64]);

/* The formula above on the host, for tests and for sources without a device: f32[height, width, 3]
 * in 0..255, not rounded, from s16[64][N]. FG_ENOMEM. */
fg_status fgi_jpeg_coefficients_to_rgb(const fgi_jpeg_coefficients *record,
                                       const int16_t *coefficients, float *rgb, fg_error *err);

#endif
