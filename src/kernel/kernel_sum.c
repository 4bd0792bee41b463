/* kernel_sum.c - sums of the columns of a matrix in bf16, in f32: of fixed blocks of rows, and then
 * of these in order, so the number of threads does not change the result.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/kernel.h"
#include "kernel/pack.h"
#include "kernel/parallel.h"

/* Rows and vectors of columns at a time, whose sums are in registers. */
enum { ROWS = 256, VECTORS = 8, MOST_THREADS = 64 };

typedef struct problem {
    const char *x;
    int64_t rows, columns;
    float *sums; /* [blocks, columns] */
} problem;

int64_t fgi_kernel_column_sums_memory(int64_t rows, int64_t columns)
{
    return fgi_blocks(rows, ROWS) * columns;
}

/* Columns from c, `count` of them. */
INLINED void add_columns(const problem *p, int64_t block, int64_t c, int64_t count, int vectors)
{
    const int64_t end = fgi_least(p->rows, (block + 1) * ROWS);
    fgi_wide sum[VECTORS], x;
    for (int v = 0; v < vectors; v++)
        sum[v] = (fgi_wide){0};
    for (int64_t row = block * ROWS; row < end; row++)
        for (int v = 0; v < vectors; v++) {
            const char *from = p->x + (row * p->columns + c + v * FGI_WIDE) * 2;
            fgi_load_few(&x, from, vectors > 1 ? FGI_WIDE : count, true);
            sum[v] += x;
        }
    memcpy(p->sums + block * p->columns + c, sum, (size_t)count * sizeof(float));
}

/* Fewer columns than a vector has lanes: sixteen rows are as many vectors as there are columns, and
 * each lane belongs to one column. */
INLINED void add_few_columns(const problem *p, int64_t block)
{
    const int64_t rows = fgi_least(p->rows - block * ROWS, ROWS), whole = rows - rows % FGI_WIDE;
    const char *from = p->x + block * ROWS * p->columns * 2;
    float *out = p->sums + block * p->columns, left[FGI_WIDE * FGI_WIDE];
    fgi_wide sum[FGI_WIDE] = {{0}}, x;
    for (int64_t row = 0; row < whole; row += FGI_WIDE)
        for (int64_t v = 0; v < p->columns; v++) {
            fgi_load(&x, from + (row * p->columns + v * FGI_WIDE) * 2, true);
            sum[v] += x;
        }
    fgi_pack_run(from + whole * p->columns * 2, true, (rows - whole) * p->columns, left);
    memset(out, 0, (size_t)p->columns * sizeof *out);
    for (int64_t i = 0; i < FGI_WIDE * p->columns; i++)
        out[i % p->columns] += sum[i / FGI_WIDE][i % FGI_WIDE];
    for (int64_t i = 0; i < (rows - whole) * p->columns; i++)
        out[i % p->columns] += left[i];
}

INLINED void add_block(const problem *p, int64_t block)
{
    int64_t c = 0;
    if (p->columns < FGI_WIDE) {
        add_few_columns(p, block);
        return;
    }
    for (; c + VECTORS * FGI_WIDE <= p->columns; c += VECTORS * FGI_WIDE)
        add_columns(p, block, c, VECTORS * FGI_WIDE, VECTORS);
    for (; c < p->columns; c += FGI_WIDE)
        add_columns(p, block, c, fgi_least(FGI_WIDE, p->columns - c), 1);
}

FGI_WORK(add_block)

void *fgi_kernel_column_sums(fgi_ffi_call *call)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *x = call->in.buffer[0], *y = call->out.buffer[0];
    problem p = {.x = x->data, .columns = fgi_ffi_count(y), .sums = call->out.buffer[1]->data};
    float *sum = y->data;
    p.rows = fgi_ffi_count(x) / p.columns;
    const int64_t blocks = fgi_blocks(p.rows, ROWS);
    fgi_parallel(call, fgi_parallel_threads(call, MOST_THREADS), blocks, add_block_work(), &p);
    memset(sum, 0, (size_t)p.columns * sizeof *sum);
    for (int64_t i = 0; i < blocks; i++)
        for (int64_t c = 0; c < p.columns; c++)
            sum[c] += p.sums[i * p.columns + c];
    return NULL;
}
