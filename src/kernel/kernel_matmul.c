/* kernel_matmul.c - matmuls of any size: blocks of the result, each by one thread, which copies the
 * rows and columns that it multiplies to where they are adjacent. Everything is added up in f32,
 * in an order that does not depend on the number of threads.
 *
 * Source of the blocking: Goto and van de Geijn 2008, "Anatomy of high-performance matrix
 * multiplication".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "kernel/kernel.h"
#include "kernel/parallel.h"
#include "kernel/terms.h"

/* Of a block of the result; of a and b at a time. MOST_PANEL: columns that registers hold. */
enum {
    ROWS = 32 * FGI_MOST_ROWS,
    FEW_ROWS = 4 * FGI_MOST_ROWS,
    COLUMNS = 256,
    FEW_COLUMNS = 64,
    INNER = 256,
    AHEAD = 16, /* rows of a transposed operand that are read ahead */
    MOST_PANEL = FGI_MOST_WIDE * FGI_WIDE,
    MOST_THREADS = 64
};

typedef struct problem {
    fgi_kernel_matmul_numbers size;
    fgi_operand a, b;
    int64_t a_each, b_each; /* bytes from one matrix to the next */
    char *y;
    bool y_is_half;
    fgi_terms terms;
    int64_t rows, columns, across, down; /* of a block; blocks in a row and a column of y */
    float *memory;                       /* of the threads */
} problem;

/* The memory of a thread. */
typedef struct worker {
    float a[FGI_WIDE * INNER], b[INNER * COLUMNS], y[ROWS * COLUMNS];
} worker;

/* ---- blocks ---------------------------------------------------------------------------------- */

/* A block of y: rows from m, columns from n. */
typedef struct block {
    fgi_operand a, b;
    char *y;
    int64_t m, rows, n, columns, panel, padded; /* padded: columns in panels */
    int64_t direct;                             /* columns that are written to y at once */
} block;

#define VARIANT int rows, int wide

/* Increases rows from m of the block by the product over inner numbers from k. */
INLINED void multiply_strip(const problem *p, const block *of, int64_t m, int64_t count, int64_t k,
                            int64_t inner, worker *w, bool a_is_transposed, bool is_half, VARIANT)
{
    const int64_t size = is_half ? 2 : 4;
    const char *from = of->a.data + ((of->m + m) * of->a.row + k * of->a.column) * size;
    if (a_is_transposed)
        for (int64_t i = 0; i < inner; i++) {
            const char *run = from + i * of->a.column * size;
            __builtin_prefetch(run + AHEAD * of->a.column * size);
            if (of->m + m + FGI_WIDE <= of->a.column)
                fgi_pack_run(run, is_half, FGI_WIDE, w->a + i * FGI_WIDE);
            else
                fgi_pack_run(run, is_half, count, w->a + i * FGI_WIDE);
        }
    else
        fgi_pack_transposed(from, is_half, of->a.row * size, count, inner, w->a, FGI_WIDE);
    for (int64_t c = 0; c < of->padded; c += of->panel) {
        const bool is_direct = c < of->direct;
        float *y = (float *)(void *)of->y + (of->m + m) * p->size.columns + of->n + c;
        const fgi_block_matmul matmul = {.rows = count,
                                         .inner = inner,
                                         .a = {w->a, 1, FGI_WIDE},
                                         .b = w->b + c * inner,
                                         .b_row = wide * FGI_WIDE,
                                         .y = is_direct ? y : w->y + m * of->padded + c,
                                         .y_row = is_direct ? p->size.columns : of->padded,
                                         .adds = k > 0};
        fgi_multiply_panel(&matmul, rows, wide);
        const fgi_part part = {of->m + m, of->n + c,   count, fgi_least(of->panel, of->columns - c),
                               matmul.y,  matmul.y_row};
        if (k + inner == p->size.inner)
            fgi_add_terms(&p->terms, &part);
    }
}

INLINED void multiply_part(const problem *p, const block *of, int64_t k, worker *w, VARIANT)
{
    const int64_t inner = fgi_least(INNER, p->size.inner - k);
    for (int64_t c = 0; c < of->padded; c += of->panel) {
        const int64_t count = fgi_least(of->panel, of->columns - c);
        fgi_pack_panel(&of->b, k, inner, of->n + c, count, of->panel, w->b + c * inner);
    }
    for (int64_t m = 0; m < of->rows; m += rows) {
        const int64_t count = fgi_least(rows, of->rows - m);
        if (p->size.a_is_transposed)
            multiply_strip(p, of, m, count, k, inner, w, true, of->a.is_half, rows, wide);
        else
            multiply_strip(p, of, m, count, k, inner, w, false, of->a.is_half, rows, wide);
    }
}

INLINED void store_rows(const problem *p, const block *of, const float *from)
{
    const int64_t size = p->y_is_half ? 2 : 4;
    for (int64_t m = 0; m < of->rows && of->direct < of->columns; m++, from += of->padded) {
        char *y = of->y + ((of->m + m) * p->size.columns + of->n) * size;
        for (int64_t c = of->direct; c < of->columns; c += FGI_WIDE) {
            char whole[FGI_WIDE * sizeof(float)];
            fgi_store(whole, (const fgi_wide *)(const void *)(from + c), p->y_is_half);
            if (c + FGI_WIDE <= of->columns)
                memcpy(y + c * size, whole, (size_t)(FGI_WIDE * size));
            else
                memcpy(y + c * size, whole, (size_t)((of->columns - c) * size));
        }
    }
}

INLINED void multiply_block(void *context, int64_t i, int index, VARIANT)
{
    const problem *p = context;
    worker *w = (worker *)(void *)p->memory + index;
    const int64_t batch = i / (p->across * p->down), at = i % (p->across * p->down);
    const int64_t matrix = p->size.rows * p->size.columns * (p->y_is_half ? 2 : 4);
    block of = {.a = p->a, .b = p->b, .y = p->y + batch * matrix, .panel = wide * FGI_WIDE};
    of.m = at / p->across * p->rows, of.n = at % p->across * p->columns;
    of.rows = fgi_least(p->rows, p->size.rows - of.m);
    of.columns = fgi_least(p->columns, p->size.columns - of.n);
    of.padded = fgi_blocks(of.columns, of.panel) * of.panel;
    if (!p->y_is_half && p->size.inner > 0)
        of.direct = of.columns / of.panel * of.panel;
    of.a.data += batch * p->a_each;
    of.b.data += batch * p->b_each;
    for (int64_t k = 0; k < p->size.inner; k += INNER)
        multiply_part(p, &of, k, w, rows, wide);
    if (p->size.inner == 0)
        memset(w->y, 0, sizeof w->y);
    store_rows(p, &of, w->y);
}

WITH_AVX512 static void multiply_avx512(void *context, int64_t i, int index)
{
    multiply_block(context, i, index, FGI_MOST_ROWS, 2);
}

WITH_AVX2 static void multiply_avx2(void *context, int64_t i, int index)
{
    multiply_block(context, i, index, FGI_MOST_ROWS / 2, 1);
}

static void multiply_any(void *context, int64_t i, int index)
{
    multiply_block(context, i, index, FGI_MOST_ROWS / 2, 1);
}

static fgi_work multiply(void)
{
    if (HAS_AVX512)
        return multiply_avx512;
    return HAS_AVX2 ? multiply_avx2 : multiply_any;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static fgi_operand operand_of(const fgi_ffi_buffer *buffer, int64_t rows, int64_t columns,
                              bool is_transposed)
{
    const bool is_half = buffer->dtype == FGI_FFI_BF16;
    return (fgi_operand){.data = buffer->data,
                         .row = is_transposed ? 1 : columns,
                         .column = is_transposed ? rows : 1,
                         .is_half = is_half};
}

/* Blocks of about equal size, enough for all threads. */
static void cut(problem *p, int threads)
{
    const int64_t rows = p->size.rows, columns = p->size.columns, enough = 4 * (int64_t)threads;
    int64_t across = fgi_blocks(columns, COLUMNS), down = fgi_blocks(rows, ROWS);
    if (p->size.batch * across * down < enough)
        across =
            fgi_least(fgi_blocks(enough, p->size.batch * down), fgi_blocks(columns, FEW_COLUMNS));
    if (p->size.batch * across * down < enough)
        down = fgi_least(fgi_blocks(enough, p->size.batch * across), fgi_blocks(rows, FEW_ROWS));
    p->columns = fgi_blocks(fgi_blocks(columns, across), MOST_PANEL) * MOST_PANEL;
    p->rows = fgi_blocks(fgi_blocks(rows, down), FGI_MOST_ROWS) * FGI_MOST_ROWS;
    p->across = fgi_blocks(columns, p->columns);
    p->down = fgi_blocks(rows, p->rows);
}

void *fgi_kernel_matmul(fgi_ffi_call *call)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *const *in = call->in.buffer, *y = call->out.buffer[0];
    const fgi_kernel_matmul_numbers *n = (const void *)fgi_ffi_numbers(call);
    if (fgi_ffi_count(y) == 0)
        return NULL;
    if (in[0]->dtype == FGI_FFI_BF16 && fgi_kernel_tiles_multiply(n) &&
        (call->in.count == 2 || !n->a_is_transposed))
        return fgi_tiles_matmul(call, n);
    const double multiplications =
        (double)n->batch * (double)n->rows * (double)n->inner * (double)n->columns;
    problem p = {.size = *n,
                 .a = operand_of(in[0], n->rows, n->inner, n->a_is_transposed != 0),
                 .b = operand_of(in[1], n->inner, n->columns, n->b_is_transposed != 0),
                 .y = y->data,
                 .y_is_half = y->dtype == FGI_FFI_BF16,
                 .terms = fgi_terms_of(call, n)};
    p.a_each = n->rows * n->inner * (p.a.is_half ? 2 : 4);
    p.b_each = n->inner * n->columns * (p.b.is_half ? 2 : 4);
    int threads = multiplications < 1 << 18 ? 1 : fgi_parallel_threads(call, MOST_THREADS);
    cut(&p, threads);
    threads = (int)fgi_least(threads, n->batch * p.across * p.down);
    p.memory = fgi_alloc_aligned((size_t)threads * sizeof(worker));
    if (p.memory == NULL)
        return fgi_ffi_fail(call, "out of memory");
    fgi_parallel(call, threads, n->batch * p.across * p.down, multiply(), &p);
    fgi_free_aligned(p.memory);
    return NULL;
}
