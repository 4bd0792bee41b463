/* jpeg_coefficients.h - the quantized DCT coefficients of a JPEG as a record of a pack: no Huffman
 * decoding when it is read, and the pixels can be computed on the device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_COEFFICIENTS_H
#define FGI_IMAGE_JPEG_COEFFICIENTS_H

#include <fulgurite/image.h>
#include "base/buf.h"
#include "image/jpeg_markers.h"

/* Record, version 2, all integers little-endian:
 *
 *   offset  type              content
 *        0  u8[4]             "FGDC"
 *        4  u16               version, 2; 1: see below
 *        6  u8                components c: 1 (gray) or 3 (Y, Cb, Cr)
 *        7  u8                0
 *        8  u16, u16          width, height in pixels
 *       12  u8[4]             sampling factor of each component, horizontal * 16 + vertical; 0s
 *       16  u32               number of exceptions e
 *       20  u32               size of the compressed block in bytes
 *       24  u16[c][64]        quantization tables, zigzag order
 *        .  u32[e]            exceptions: indexes into `ac`, ascending
 *        .  s16[e]            their values
 *        .  u8[...]           bit planes of the dense coefficients (bit_planes.h); in version 1,
 *                             which is still read, an LZ4 block of them
 *
 * Dense coefficients of N blocks, s8[65][N]:
 *
 *   rows 0, 1     the difference of dc from that of the previous block of the component (the first
 *                 one: from 0), split as below: row 0 has the low, row 1 the high bytes. After
 *                 unpacking: dc itself
 *   row 1 + z     coefficient z of the zigzag order, 1 to 63; values outside s8 are clamped to
 *                 -128, 127, and the exceptions are their exact values
 *
 * Integers that do not fit s8 are split into two: low + 256 high, with low from -128 to 127. The
 * high bytes of small numbers, also of negative ones, are 0 and compress to nothing, and both parts
 * can be converted to floating-point numbers without a bit operation.
 *
 * Blocks are numbered from left to right and top to bottom, first those of Y, then Cb, then Cr.
 * Component i has ceil(ceil(width * h_i / h_max) / 8) columns of blocks, and rows in the same way.
 *
 * Entry of a batch, s8[(64 + high) N + 128 c]: what a device gets (decode.h). `high` is the number
 * of coefficients with high bytes, the same for all images: 1 if there are no exceptions, dc only.
 *
 *   rows 0 to 64          as above, with the low bytes of exceptions
 *   rows 65 to 63 + high  s8[high - 1][N]: high bytes of coefficients 1 to high - 1
 *   then                  s8[2][c][64]: low and high bytes of the quantization tables
 *
 * To get pixels, which are then those of libjpeg but for rounding errors of the inverse DCT:
 *
 *   1. k[64][N]: the coefficients; multiply k[z][n] by the quantization table of n's component at
 *      z.
 *   2. s[64][N] = basis[64][64] k + 128, rounded and clamped to 0..255; row p of the basis is pixel
 *      (p / 8, p % 8) of a block (fgi_jpeg_coefficient_basis).
 *   3. Each component: its blocks side by side, cropped to ceil(width * h_i / h_max) x
 *      ceil(height * v_i / v_max).
 *   4. Upsampling of a component with half of the columns: out[2 i] = 3/4 s[i] + 1/4 s[i - 1],
 *      out[2 i + 1] = 3/4 s[i] + 1/4 s[i + 1], with indexes clamped to the component; then
 *      cropped to the width. Rows in the same way. Rounded once, after both, by adding a number and
 *      taking the integer below: 1/2 for even columns and 7/16 for odd ones; if only the columns or
 *      only the rows are half as many, 1/4 for even ones and 1/2 for odd ones.
 *   5. R = Y + 1.402 (Cr - 128), G = Y - 0.344136 (Cb - 128) - 0.714136 (Cr - 128),
 *      B = Y + 1.772 (Cb - 128), rounded and clamped to 0..255. Gray: R = G = B = Y. */

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
    int version, width, height, components;
    int h_max, v_max; /* the largest sampling factors */
    fgi_jpeg_component component[3];
    size_t blocks; /* N */
    size_t exceptions;
    const uint8_t *exception_bytes, *compressed;
    size_t compressed_bytes;
} fgi_jpeg_coefficients;

/* An AC coefficient outside s8: ac[index] = value. */
typedef struct fgi_jpeg_exception {
    uint32_t index;
    int16_t value;
} fgi_jpeg_exception;

static inline size_t fgi_jpeg_dense_bytes(size_t blocks) { return 65 * blocks; }

static inline size_t fgi_jpeg_entry_bytes(int components, size_t blocks, int high)
{
    return (64 + (size_t)high) * blocks + 128 * (size_t)components;
}

/* Computes the rest of the layout of a record whose width, height, components, h and v are given,
 * except its tables and bytes. */
void fgi_jpeg_coefficients_lay_out(fgi_jpeg_coefficients *record);

/* Appends the record of a JPEG. Lossless. Errors: FG_EFORMAT "name: byte N: ..." for a damaged
 * JPEG, FG_EUNSUPPORTED for CMYK, RGB and sampling factors other than 1 and 2, FG_ENOMEM.
 * Thread-safe. */
fg_status fgi_jpeg_coefficients_write(const char *name, const void *jpeg, size_t size, fgi_buf *out,
                                      fg_error *err);

/* Encodes pixels, RGB u8[height, width, 3], as a JPEG of this quality (1..100) with this sampling,
 * then appends its record. Errors: FG_EINVAL, FG_ENOMEM. */
fg_status fgi_jpeg_coefficients_encode(const char *name, const fg_image *image, int quality,
                                       fgi_jpeg_sampling sampling, fgi_buf *out, fg_error *err);

/* Reads the header of a record. FG_EFORMAT "name: coefficients: byte N: ...". */
fg_status fgi_jpeg_coefficients_open(const char *name, const void *record, size_t size,
                                     fgi_jpeg_coefficients *out, fg_error *err);

/* Unpacks to the dense coefficients, fgi_jpeg_dense_bytes(blocks) bytes. No allocation. */
fg_status fgi_jpeg_coefficients_unpack(const char *name, const fgi_jpeg_coefficients *record,
                                       void *dense, fg_error *err);

/* The number of coefficients that need high bytes, 1 to 64: 1 + the largest zigzag index of an
 * exception. */
int fgi_jpeg_coefficients_high(const fgi_jpeg_coefficients *record);

/* Unpacks to the entry of a batch, fgi_jpeg_entry_bytes bytes. FG_EFORMAT: also if an exception
 * needs more than `high`. No allocation. */
fg_status fgi_jpeg_coefficients_entry(const char *name, const fgi_jpeg_coefficients *record,
                                      int high, void *entry, fg_error *err);

/* Exception i < record->exceptions. */
fgi_jpeg_exception fgi_jpeg_coefficients_exception(const fgi_jpeg_coefficients *record, size_t i);

/* Widens dense coefficients to s16[64][N] with all exceptions: the exact coefficients. */
void fgi_jpeg_coefficients_widen(const fgi_jpeg_coefficients *record, const void *dense,
                                 int16_t *out);

/* The matrix of step 2, f32[64][64]: basis[p][z] = C(u) C(v) / 4 cos((2x + 1) u pi / 16)
 * cos((2y + 1) v pi / 16) for pixel p = 8 y + x and the coefficient z of horizontal frequency u and
 * vertical frequency v; C(0) = 1 / sqrt(2), otherwise 1. */
void fgi_jpeg_coefficient_basis(float basis[64 * 64]);

/* The formula above on the host, for tests and for sources without a device: integers f32[height,
 * width, 3] in 0..255, from s16[64][N]. FG_ENOMEM. */
fg_status fgi_jpeg_coefficients_to_rgb(const fgi_jpeg_coefficients *record,
                                       const int16_t *coefficients, float *rgb, fg_error *err);

#endif
