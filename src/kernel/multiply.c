/* multiply.c - the innermost part of matmuls: a block of the result that fits in registers, of
 * 12 x 32 floats with AVX-512 and 6 x 16 otherwise. It is compiled here once for each number of
 * rows, which takes long, and called for whole panels.
 *
 * Source: Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/multiply.h"

#include "kernel/vector.h"

/* Rows first.. of y. has_unit_rows: neighboring rows of a are neighbors in memory, which the
 * compiler then knows; else its columns are. */
INLINED void multiply_rows(const fgi_block_matmul *p, int rows, int wide, int64_t first,
                           bool has_unit_rows)
{
    fgi_wide sum[FGI_MOST_ROWS][FGI_MOST_WIDE];
    const int64_t row = has_unit_rows ? 1 : p->a.row, column = has_unit_rows ? p->a.column : 1;
    const float *a = p->a.data + first * row;
    for (int r = 0; r < rows; r++)
        for (int w = 0; w < wide; w++)
            sum[r][w] = (fgi_wide){0};
    for (int64_t k = 0; k < p->inner; k++) {
        const fgi_wide *from = (const fgi_wide *)(const void *)(p->b + k * p->b_row);
        for (int r = 0; r < rows; r++)
            for (int w = 0; w < wide; w++)
                sum[r][w] += a[r * row + k * column] * from[w];
    }
    for (int r = 0; r < rows; r++) {
        fgi_wide *to = (fgi_wide *)(void *)(p->y + (first + r) * p->y_row);
        for (int w = 0; w < wide; w++)
            to[w] = sum[r][w] + (p->adds ? to[w] : (fgi_wide){0});
    }
}

#define ROWS(n)                                                                                    \
    case n: multiply_rows(p, n, wide, first, has_unit_rows); break;

INLINED void multiply_few(const fgi_block_matmul *p, int64_t rows, int wide, int64_t first,
                          bool has_unit_rows)
{
    switch (rows) {
        ROWS(1)
        ROWS(2)
        ROWS(3)
        ROWS(4)
        ROWS(5)
        ROWS(6)
    default: break;
    }
}

INLINED void multiply_many(const fgi_block_matmul *p, int64_t rows, int wide, int64_t first,
                           bool has_unit_rows)
{
    switch (rows) {
        ROWS(7)
        ROWS(8)
        ROWS(9)
        ROWS(10)
        ROWS(11)
        ROWS(12)
    default: multiply_few(p, rows, wide, first, has_unit_rows); break;
    }
}

/* In blocks of up to `most` rows, of about the same number. */
INLINED void multiply(const fgi_block_matmul *p, int most, int wide, bool has_unit_rows)
{
    const int64_t blocks = (p->rows + most - 1) / most;
    for (int64_t i = 0, first = 0, rows; i < blocks; i++, first += rows) {
        rows = (p->rows - first + blocks - i - 1) / (blocks - i);
        if (wide > 1)
            multiply_many(p, rows, wide, first, has_unit_rows);
        else
            multiply_few(p, rows, wide, first, has_unit_rows);
    }
}

#define PANEL(name, target, wide)                                                                  \
    target static void name(const fgi_block_matmul *p, int most)                                   \
    {                                                                                              \
        if (p->a.row == 1)                                                                         \
            multiply(p, most, wide, true);                                                         \
        else                                                                                       \
            multiply(p, most, wide, false);                                                        \
    }
PANEL(panel_avx512, WITH_AVX512, FGI_MOST_WIDE)
PANEL(panel_avx2, WITH_AVX2, 1)
PANEL(panel_any, , 1)

void fgi_multiply_panel(const fgi_block_matmul *p, int most, int wide)
{
    if (wide == FGI_MOST_WIDE)
        panel_avx512(p, most);
    else if (HAS_AVX2)
        panel_avx2(p, most);
    else
        panel_any(p, most);
}
