/* multiply.h - the innermost part of matmuls, for kernels that arrange their operands.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_MULTIPLY_H
#define FGI_KERNEL_MULTIPLY_H

#include <stdbool.h>
#include <stdint.h>

enum { FGI_MOST_ROWS = 12, FGI_MOST_WIDE = 2 };

/* Element (i, k) is data[i * row + k * column]; one of them is 1. */
typedef struct fgi_matrix {
    const float *data;
    int64_t row, column;
} fgi_matrix;

/* y[rows, 16 * wide] = a[rows, inner] b[inner, 16 * wide], or is increased by it. */
typedef struct fgi_block_matmul {
    int64_t rows, inner;
    fgi_matrix a;
    const float *b;
    int64_t b_row; /* floats from one row of b to the next */
    float *y;
    int64_t y_row;
    bool adds;
} fgi_block_matmul;

/* wide: FGI_MOST_WIDE, where the processor has AVX-512, or 1. In blocks of up to `most` rows: up to
 * FGI_MOST_ROWS, or half as many if wide is 1. */
void fgi_multiply_panel(const fgi_block_matmul *p, int most, int wide);

#endif
