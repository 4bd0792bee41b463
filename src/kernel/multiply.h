/* multiply.h - the innermost part of matmuls: a block of the result that fits in registers,
 * of 12 x 32 floats with AVX-512 and 6 x 16 otherwise.
 *
 * Source: Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_MULTIPLY_H
#define FGI_KERNEL_MULTIPLY_H

#include "kernel/vector.h"

enum { FGI_MOST_ROWS = 12, FGI_MOST_WIDE = 2 };

/* Element (i, k) is data[i * row + k * column]. */
typedef struct fgi_matrix {
    const float *data;
    int64_t row, column;
} fgi_matrix;

/* sum = a [rows, inner] b [inner, 16 * wide]; b has columns of 1. */
INLINED void fgi_multiply_block(int rows, int wide, int64_t inner, const fgi_matrix *a,
                                const fgi_matrix *b, fgi_wide sum[FGI_MOST_ROWS][FGI_MOST_WIDE])
{
    for (int r = 0; r < rows; r++)
        for (int w = 0; w < wide; w++)
            sum[r][w] = (fgi_wide){0};
    for (int64_t k = 0; k < inner; k++) {
        const fgi_wide *from = (const fgi_wide *)(const void *)(b->data + k * b->row);
        for (int r = 0; r < rows; r++)
            for (int w = 0; w < wide; w++)
                sum[r][w] += a->data[r * a->row + k * a->column] * from[w];
    }
}

/* y[rows, 16 * wide] = a[rows, inner] b[inner, 16 * wide], or is increased by it. */
typedef struct fgi_block_matmul {
    int64_t rows, inner;
    fgi_matrix a, b;
    float *y;
    int64_t y_row;
    bool adds;
} fgi_block_matmul;

INLINED void fgi_multiply_rows(const fgi_block_matmul *p, int rows, int wide, int64_t first)
{
    fgi_wide sum[FGI_MOST_ROWS][FGI_MOST_WIDE];
    const fgi_matrix a = {p->a.data + first * p->a.row, p->a.row, p->a.column};
    fgi_multiply_block(rows, wide, p->inner, &a, &p->b, sum);
    for (int r = 0; r < rows; r++) {
        fgi_wide *to = (fgi_wide *)(void *)(p->y + (first + r) * p->y_row);
        for (int w = 0; w < wide; w++)
            to[w] = sum[r][w] + (p->adds ? to[w] : (fgi_wide){0});
    }
}

/* In blocks of up to `most` rows, a constant: 6 or 12. The compiler knows the rows of each. */
INLINED void fgi_multiply_panel(const fgi_block_matmul *p, int most, int wide)
{
    const int64_t blocks = (p->rows + most - 1) / most;
    for (int64_t i = 0, first = 0, rows; i < blocks; i++, first += rows) {
        rows = (p->rows - first + blocks - i - 1) / (blocks - i);
        switch (rows > 6 && most <= 6 ? 0 : rows) {
        case 1: fgi_multiply_rows(p, 1, wide, first); break;
        case 2: fgi_multiply_rows(p, 2, wide, first); break;
        case 3: fgi_multiply_rows(p, 3, wide, first); break;
        case 4: fgi_multiply_rows(p, 4, wide, first); break;
        case 5: fgi_multiply_rows(p, 5, wide, first); break;
        case 6: fgi_multiply_rows(p, 6, wide, first); break;
        case 7: fgi_multiply_rows(p, 7, wide, first); break;
        case 8: fgi_multiply_rows(p, 8, wide, first); break;
        case 9: fgi_multiply_rows(p, 9, wide, first); break;
        case 10: fgi_multiply_rows(p, 10, wide, first); break;
        case 11: fgi_multiply_rows(p, 11, wide, first); break;
        case 12: fgi_multiply_rows(p, 12, wide, first); break;
        default: break;
        }
    }
}

#endif
