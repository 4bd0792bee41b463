/* kernel_matmul.c - matmuls of small matrices, on one thread: a few rows of the result at a time,
 * in registers, by 16 columns. Columns of b that are not adjacent in memory, and the last ones if
 * there are fewer, are copied first.
 *
 * Source of the blocking: Goto and van de Geijn 2008, "Anatomy of high-performance matrix
 * multiplication", whose outer loops small matrices do not need.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/vector.h"

enum { COLUMNS = 2 * FGI_LANES, ROWS = 6 };

/* Element (i, k) is data[i * row + k * column]. */
typedef struct matrix {
    const float *data;
    int64_t row, column;
} matrix;

typedef struct sizes {
    int64_t rows, inner, columns;
} sizes;

/* The last `count` columns of b as [inner, COLUMNS]; the rest of a row is anything. */
INLINED void copy_columns(const matrix *b, int64_t inner, int64_t count, float *out)
{
    const int64_t end = (inner - 1) * b->row + count;
    int64_t k = 0;
    for (; b->column == 1 && k * b->row + COLUMNS <= end; k++)
        memcpy(out + k * COLUMNS, b->data + k * b->row, COLUMNS * sizeof *out);
    for (; k < inner; k++)
        for (int64_t n = 0; n < COLUMNS; n++)
            out[k * COLUMNS + n] = n < count ? b->data[k * b->row + n * b->column] : 0;
}

INLINED void store(float *to, const fgi_floats sum[2], int64_t count)
{
    if (count < COLUMNS) {
        memcpy(to, sum, (size_t)count * sizeof *to);
        return;
    }
    ((fgi_floats *)(void *)to)[0] = sum[0];
    ((fgi_floats *)(void *)to)[1] = sum[1];
}

/* `rows` rows of the result by COLUMNS columns, of which `count` are stored. */
INLINED void multiply_block(int rows, const sizes *size, const matrix *a, const matrix *b,
                            int64_t count, float *y)
{
    fgi_floats sum[ROWS][2];
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = (fgi_floats){0};
    for (int64_t k = 0; k < size->inner; k++) {
        const fgi_floats *from = (const fgi_floats *)(const void *)(b->data + k * b->row);
        for (int r = 0; r < rows; r++) {
            const float x = a->data[r * a->row + k * a->column];
            sum[r][0] += x * from[0];
            sum[r][1] += x * from[1];
        }
    }
    for (int r = 0; r < rows; r++)
        store(y + r * size->columns, sum[r], count);
}

/* All rows by COLUMNS columns. The number of rows of a block is known to the compiler. */
INLINED void multiply_columns(const sizes *size, const matrix *a, const matrix *b, int64_t count,
                              float *y)
{
    const int64_t blocks = (size->rows + ROWS - 1) / ROWS;
    for (int64_t i = 0, first = 0; i < blocks; i++) {
        const int64_t rows = (size->rows - first + blocks - i - 1) / (blocks - i);
        const matrix part = {a->data + first * a->row, a->row, a->column};
        float *to = y + first * size->columns;
        switch (rows) {
        case 1: multiply_block(1, size, &part, b, count, to); break;
        case 2: multiply_block(2, size, &part, b, count, to); break;
        case 3: multiply_block(3, size, &part, b, count, to); break;
        case 4: multiply_block(4, size, &part, b, count, to); break;
        case 5: multiply_block(5, size, &part, b, count, to); break;
        default: multiply_block(ROWS, size, &part, b, count, to); break;
        }
        first += rows;
    }
}

INLINED void multiply(const sizes *size, const matrix *a, const matrix *b, float *y)
{
    float copy[FGI_KERNEL_INNER * COLUMNS];
    for (int64_t n = 0; n < size->columns; n += COLUMNS) {
        const int64_t count = size->columns - n < COLUMNS ? size->columns - n : COLUMNS;
        matrix part = {b->data + n * b->column, b->row, b->column};
        if (b->column != 1 || count < COLUMNS) {
            copy_columns(&part, size->inner, count, copy);
            part = (matrix){copy, COLUMNS, 1};
        }
        multiply_columns(size, a, &part, count, y + n);
    }
}

WITH_AVX2 static void multiply_avx2(const sizes *size, const matrix *a, const matrix *b, float *y)
{
    multiply(size, a, b, y);
}

static void multiply_any(const sizes *size, const matrix *a, const matrix *b, float *y)
{
    multiply(size, a, b, y);
}

static matrix operand(const fgi_ffi_buffer *buffer, bool is_transposed)
{
    const int64_t columns = buffer->dim[1];
    return (matrix){buffer->data, is_transposed ? 1 : columns, is_transposed ? columns : 1};
}

static void *run(fgi_ffi_call *call, bool transposes_a, bool transposes_b)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *const *in = call->in.buffer, *y = call->out.buffer[0];
    const matrix a = operand(in[0], transposes_a), b = operand(in[1], transposes_b);
    const sizes size = {y->dim[0], in[0]->dim[transposes_a ? 0 : 1], y->dim[1]};
    (HAS_AVX2 ? multiply_avx2 : multiply_any)(&size, &a, &b, y->data);
    return NULL;
}

void *fgi_kernel_matmul(fgi_ffi_call *call) { return run(call, false, false); }
void *fgi_kernel_matmul_bt(fgi_ffi_call *call) { return run(call, false, true); }
void *fgi_kernel_matmul_at(fgi_ffi_call *call) { return run(call, true, false); }
