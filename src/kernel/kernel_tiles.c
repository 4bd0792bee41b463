/* kernel_tiles.c - convolutions, their gradients and matmuls in bf16, by matrix tiles (tiles.h).
 *
 * A convolution is a matmul of patches, one for each pixel of its result, and the kernel: of each
 * tap, in steps of 32 channels. Patches are gathered where they are multiplied. In the gradient of
 * x, pixels whose distance is a multiple of the stride have the same taps: they are a phase. The
 * gradient of the kernel is the product of transposed dy and patches, transposed. Matmuls are
 * convolutions of one pixel: a b, the gradient of x, a b', and that of the kernel, a' b.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "kernel/kernel.h"
#include "kernel/parallel.h"
#include "kernel/terms.h"
#include "kernel/tiles.h"

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Steps at a time; blocks of rows and columns that a thread computes at a time. */
enum {
    STEPS = 16,
    ROW_BLOCKS = 4,
    COLUMN_BLOCKS = 16,
    DK_ROW_BLOCKS = 16,
    DK_BLOCKS = 128, /* of a gradient of a kernel at a time */
    DK_JOBS = 16,
    DK_FEW = 4, /* areas whose pixels are split */
    MOST_THREADS = 64,
    MOST_CHANNELS = 1 << 14,
    LEAST_MULTIPLICATIONS = 1 << 18 /* of a matmul that is worth several threads */
};

typedef struct tap {
    int64_t row, column; /* of the source, for the first pixel */
    int64_t place;       /* in the kernel */
} tap;

/* Images that patches are gathered from: the patch of pixel (i, j) has (i * step + row,
 * j * step + column) of each tap. */
typedef struct source {
    const uint16_t *data;
    int64_t height, width, channels, step;
    int64_t rows, columns; /* of pixels in an image */
    tap tap[FGI_KERNEL_TILES_TAPS];
    int64_t taps;
} source;

typedef struct problem {
    source from;
    int64_t pixels;
    /* The result, whose pixel (i, j) is (i * step + row, j * step + column). */
    const fgi_ffi_buffer *to;
    int64_t row, column, step;
    fgi_terms terms;                   /* of a matmul */
    const uint16_t *other;             /* k, or dy for dk */
    int64_t columns;                   /* channels of the result, or of dy */
    bool is_turned;                    /* k is read transposed */
    int64_t taps;                      /* of k */
    uint16_t *packed;                  /* k or dy as tiles */
    int64_t steps;                     /* of a tap, or of all pixels for dk */
    int64_t row_blocks, column_blocks; /* of the result at a time */
    int64_t across;                    /* as many of these in a row of the result */
    int64_t parts;                     /* of the pixels, for dk, whose sums are in */
    float *partial;                    /* [areas, parts, row_blocks 32, column_blocks 32] */
    struct worker *memory;
} problem;

/* The memory of a thread. */
typedef struct worker {
    uint16_t patches[ROW_BLOCKS * STEPS * FGI_TILE_STEP];
    const uint16_t *from[STEPS * FGI_TILE_INNER];
    float sum[DK_BLOCKS * FGI_TILE_STEP];
} worker;

/* A pixel of the patches: image, row, column. */
typedef struct pixel {
    int64_t image, row, column;
} pixel;

static const uint16_t nothing[MOST_CHANNELS];

INLINED pixel pixel_at(const source *from, int64_t i)
{
    const int64_t each = from->rows * from->columns, at = i % each;
    return (pixel){i / each, at / from->columns, at % from->columns};
}

/* The channels of a tap in the patches of `count` pixels in a row. */
INLINED void find_row(const source *from, const pixel *at, const tap *t, int64_t count,
                      const uint16_t **out)
{
    const int64_t row = at->row * from->step + t->row;
    const uint16_t *data =
        from->data + (at->image * from->height + row) * from->width * from->channels;
    for (int64_t i = 0; i < count; i++) {
        const int64_t column = (at->column + i) * from->step + t->column;
        const bool is_inside =
            row >= 0 && row < from->height && column >= 0 && column < from->width;
        out[i] = is_inside ? data + column * from->channels : nothing;
    }
}

/* Those of pixels from `first`; those after the last pixel are 0. */
INLINED void find(const problem *p, int64_t first, const tap *t, int64_t count,
                  const uint16_t **out)
{
    const source *from = &p->from;
    const int64_t valid = fgi_least(count, p->pixels - first);
    pixel at = pixel_at(from, first);
    for (int64_t i = 0, run; i < valid; i += run) {
        run = fgi_least(valid - i, from->columns - at.column);
        find_row(from, &at, t, run, out + i);
        at.column = 0;
        if (++at.row == from->rows)
            at.row = 0, at.image++;
    }
    for (int64_t i = valid < 0 ? 0 : valid; i < count; i++)
        out[i] = nothing;
}

/* ---- convolution and gradient of x ----------------------------------------------------------- */

/* Columns 32 i to 32 i + 31 of k. */
INLINED void pack_kernel(const problem *p, int64_t i)
{
    uint16_t *to = p->packed + i * p->taps * p->steps * FGI_TILE_STEP;
    const int64_t inner = p->from.channels, columns = p->columns, first = i * FGI_TILE_BLOCK;
    for (int64_t step = 0; step < p->taps * p->steps; step++, to += FGI_TILE_STEP) {
        const int64_t place = step / p->steps, k = step % p->steps * FGI_TILE_INNER;
        const uint16_t *from = p->other + place * inner * columns;
        for (int pair = 0; pair < FGI_WIDE && !p->is_turned; pair++) {
            const uint16_t *row = from + (k + 2 * pair) * columns + first;
            fgi_tile_pairs(row, row + columns, to + pair * FGI_TILE_INNER);
        }
        for (int half = 0; half < 2 && p->is_turned; half++) {
            fgi_wide row[FGI_WIDE];
            for (int c = 0; c < FGI_WIDE; c++)
                row[c] =
                    *(const fgi_wide *)(const void *)(from + (first + half * FGI_WIDE + c) * inner +
                                                      k);
            fgi_transpose(row);
            memcpy(to + half * FGI_TILE_STEP / 2, row, sizeof row);
        }
    }
}

/* Steps from `step` of the patches of 32 pixels. */
INLINED void gather(const problem *p, int64_t first, int64_t step, int64_t steps, uint16_t *to)
{
    enum { RUN = FGI_TILE_INNER * sizeof *to };
    const uint16_t *from[FGI_TILE_BLOCK];
    for (int64_t s = 0, count; s < steps; s += count, to += count * FGI_TILE_STEP) {
        const int64_t k = (step + s) % p->steps;
        count = fgi_least(p->steps - k, steps - s);
        find(p, first, &p->from.tap[(step + s) / p->steps], FGI_TILE_BLOCK, from);
        for (int64_t r = 0; r < FGI_TILE_BLOCK; r++)
            for (int64_t i = 0; i < count; i++)
                memcpy(to + i * FGI_TILE_STEP + r * FGI_TILE_INNER,
                       from[r] + (k + i) * FGI_TILE_INNER, RUN);
    }
}

/* Stores rows of the result, of `columns` columns from c. */
INLINED void store(const problem *p, int64_t first, float *sum, int64_t c, int64_t columns)
{
    const bool is_half = p->to->dtype == FGI_FFI_BF16;
    const int64_t size = is_half ? 2 : 4, *dim = p->to->dim;
    pixel at = pixel_at(&p->from, first);
    const int64_t rows = fgi_least(p->row_blocks * FGI_TILE_BLOCK, p->pixels - first);
    fgi_add_terms(&p->terms, &(fgi_part){first, c, rows, columns, sum, columns});
    for (int64_t r = 0; r < rows; r++) {
        const int64_t row = at.row * p->step + p->row, column = at.column * p->step + p->column;
        char *to = (char *)p->to->data +
                   (((at.image * dim[1] + row) * dim[2] + column) * dim[3] + c) * size;
        for (int64_t i = 0; i < columns; i += FGI_WIDE)
            fgi_store(to + i * size, (const fgi_wide *)(const void *)(sum + i), is_half);
        sum += columns;
        at = pixel_at(&p->from, first + r + 1);
    }
}

WITH_TILES static void multiply_patches(void *context, int64_t i, int index)
{
    const problem *p = context;
    worker *w = p->memory + index;
    const int64_t first = i / p->across * p->row_blocks * FGI_TILE_BLOCK;
    const int64_t block = i % p->across * p->column_blocks;
    const int64_t blocks = fgi_least(p->column_blocks, p->columns / FGI_TILE_BLOCK - block);
    const int64_t columns = blocks * FGI_TILE_BLOCK, steps = p->from.taps * p->steps;
    if (steps == 0)
        memset(w->sum, 0, sizeof w->sum);
    fgi_tiles_begin();
    for (int64_t step = 0; step < steps; step += STEPS) {
        const int64_t count = fgi_least(STEPS, steps - step);
        int64_t at[STEPS];
        for (int64_t s = 0; s < count; s++)
            at[s] = (p->from.tap[(step + s) / p->steps].place * p->steps + (step + s) % p->steps) *
                    FGI_TILE_STEP;
        for (int64_t r = 0; r < p->row_blocks; r++)
            gather(p, first + r * FGI_TILE_BLOCK, step, count,
                   w->patches + r * STEPS * FGI_TILE_STEP);
        for (int64_t c = 0; c < blocks; c++)
            for (int64_t r = 0; r < p->row_blocks; r++)
                fgi_tiles_multiply(w->patches + r * STEPS * FGI_TILE_STEP,
                                   p->packed + (block + c) * p->taps * p->steps * FGI_TILE_STEP, at,
                                   count, w->sum + (r * columns + c) * FGI_TILE_BLOCK, columns,
                                   step > 0);
    }
    fgi_tiles_end();
    store(p, first, w->sum, block * FGI_TILE_BLOCK, columns);
}

WITH_TILES static void pack_columns(void *context, int64_t i, int index)
{
    (void)index;
    pack_kernel(context, i);
}

/* ---- gradient of the kernel ------------------------------------------------------------------ */

/* 32 pixels of dy, transposed: [channels / 32, steps] steps. */
WITH_TILES static void pack_dy(void *context, int64_t i, int index)
{
    const problem *p = context;
    (void)index;
    for (int64_t c = 0; c < p->columns; c += FGI_WIDE) {
        uint16_t *to = p->packed + (c / FGI_TILE_BLOCK * p->steps + i) * FGI_TILE_STEP +
                       c % FGI_TILE_BLOCK * FGI_TILE_INNER;
        fgi_wide row[FGI_WIDE];
        for (int pair = 0; pair < FGI_WIDE; pair++) {
            const int64_t at = i * FGI_TILE_INNER + 2 * pair;
            const uint16_t *one = p->other + at * p->columns + c, *other = one + p->columns;
            fgi_tile_pair(at < p->pixels ? one : nothing, at + 1 < p->pixels ? other : nothing,
                          &row[pair]);
        }
        fgi_transpose(row);
        memcpy(to, row, sizeof row);
    }
}

/* 32 columns of patches from k. */
INLINED void pair_patches(const uint16_t *const *from, int64_t k, int64_t steps, uint16_t *to)
{
    for (int64_t s = 0; s < steps; s++, to += FGI_TILE_STEP)
        for (int pair = 0; pair < FGI_WIDE; pair++, from += 2)
            fgi_tile_pairs(from[0] + k, from[1] + k, to + pair * FGI_TILE_INNER);
}

/* Rows of the gradient of k: the transposed sums. */
INLINED void store_transposed(const problem *p, const float *sum, int64_t row, int64_t rows,
                              int64_t column, int64_t columns)
{
    const bool is_half = p->to->dtype == FGI_FFI_BF16;
    const int64_t size = is_half ? 2 : 4;
    for (int64_t r = 0; r < rows; r += FGI_WIDE)
        for (int64_t c = 0; c < columns; c += FGI_WIDE) {
            fgi_wide block[FGI_WIDE];
            for (int i = 0; i < FGI_WIDE; i++)
                block[i] = *(const fgi_wide *)(const void *)(sum + (c + i) * rows + r);
            fgi_transpose(block);
            for (int i = 0; i < FGI_WIDE; i++)
                fgi_store((char *)p->to->data + ((row + r + i) * p->columns + column + c) * size,
                          &block[i], is_half);
        }
}

/* Rows and columns of the gradient, in blocks, and the sums of a part of the pixels. */
typedef struct area {
    int64_t row, rows, column, columns;
    float *sum;
} area;

INLINED area area_of(const problem *p, int64_t job, float *sum)
{
    const int64_t row = job / p->across * p->row_blocks,
                  column = job % p->across * p->column_blocks;
    const int64_t all = p->from.taps * p->from.channels / FGI_TILE_BLOCK;
    return (area){row, fgi_least(p->row_blocks, p->columns / FGI_TILE_BLOCK - row), column,
                  fgi_least(p->column_blocks, all - column), sum};
}

INLINED float *part_of(const problem *p, int64_t i)
{
    return p->partial + i * p->row_blocks * p->column_blocks * FGI_TILE_STEP;
}

INLINED void store_rows(const problem *p, const area *to, int64_t row, int64_t rows)
{
    const int64_t width = to->columns * FGI_TILE_BLOCK;
    store_transposed(p, to->sum + row * FGI_TILE_BLOCK * width, to->column * FGI_TILE_BLOCK, width,
                     (to->row + row) * FGI_TILE_BLOCK, rows * FGI_TILE_BLOCK);
}

/* Adds the products of `count` steps of pixels, or sets the sums to them. */
WITH_TILES static void multiply_steps(const problem *p, const area *to, int64_t step, int64_t count,
                                      bool adds, worker *w)
{
    const int64_t each = p->from.channels / FGI_TILE_BLOCK, width = to->columns * FGI_TILE_BLOCK;
    int64_t at[STEPS];
    for (int s = 0; s < STEPS; s++)
        at[s] = (int64_t)s * FGI_TILE_STEP;
    for (int64_t c = 0; c < to->columns; c++) {
        const int64_t k = (to->column + c) % each;
        if (c == 0 || k == 0)
            find(p, step * FGI_TILE_INNER, &p->from.tap[(to->column + c) / each],
                 count * FGI_TILE_INNER, w->from);
        pair_patches(w->from, k * FGI_TILE_BLOCK, count, w->patches);
        for (int64_t r = 0; r < to->rows; r++)
            fgi_tiles_multiply(p->packed + ((to->row + r) * p->steps + step) * FGI_TILE_STEP,
                               w->patches, at, count, to->sum + (r * width + c) * FGI_TILE_BLOCK,
                               width, adds);
    }
}

/* Part i % parts of the pixels. */
WITH_TILES static void multiply_dy(void *context, int64_t i, int index)
{
    const problem *p = context;
    worker *w = p->memory + index;
    const area to = area_of(p, i / p->parts, p->parts > 1 ? part_of(p, i) : w->sum);
    const int64_t each = fgi_blocks(p->steps, p->parts), begin = i % p->parts * each;
    const int64_t end = fgi_least(p->steps, begin + each);
    if (begin >= end)
        memset(to.sum, 0, (size_t)(to.rows * to.columns * FGI_TILE_STEP) * sizeof *to.sum);
    fgi_tiles_begin();
    for (int64_t step = begin; step < end; step += STEPS)
        multiply_steps(p, &to, step, fgi_least(STEPS, end - step), step > begin, w);
    fgi_tiles_end();
    if (p->parts == 1)
        store_rows(p, &to, 0, to.rows);
}

/* Block i % row_blocks of the rows of an area: the sum of the parts, in order. */
WITH_TILES static void add_parts(void *context, int64_t i, int index)
{
    const problem *p = context;
    const int64_t job = i / p->row_blocks, row = i % p->row_blocks;
    const area to = area_of(p, job, part_of(p, job * p->parts));
    const int64_t count = to.columns * FGI_TILE_STEP;
    (void)index;
    if (row >= to.rows)
        return;
    for (int64_t part = 1; part < p->parts; part++) {
        const float *from = part_of(p, job * p->parts + part) + row * count;
        for (int64_t k = 0; k < count; k++)
            to.sum[row * count + k] += from[k];
    }
    store_rows(p, &to, row, 1);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A process has to ask for the registers, because they are large. */
static bool has_registers(void)
{
#if defined(__linux__) && defined(__x86_64__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return HAS_AMX && syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}

/* The answer is kept: in a virtual machine, asking the processor takes microseconds. */
bool fgi_kernel_tiles_run(void)
{
    enum { UNKNOWN, NO, YES };
    static _Atomic int known = UNKNOWN;
    if (known == UNKNOWN)
        known = has_registers() ? YES : NO;
    return known == YES;
}

int64_t fgi_kernel_tiles_memory(const int64_t *k, const int64_t *y, bool is_dk)
{
    const int64_t pixels = fgi_blocks(y[0] * y[1] * y[2], FGI_TILE_INNER) * FGI_TILE_INNER;
    return (is_dk ? pixels * y[3] : k[0] * k[1] * k[2] * k[3]) / 2;
}

/* Calls work, with memory for each thread. */
static void *run(fgi_ffi_call *call, problem *p, int threads, int64_t count, fgi_work work)
{
    p->memory = fgi_alloc_aligned((size_t)threads * sizeof(worker));
    if (p->memory == NULL)
        return fgi_ffi_fail(call, "out of memory");
    fgi_parallel(call, threads, count, work, p);
    fgi_free_aligned(p->memory);
    return NULL;
}

static bool is_answered(fgi_ffi_call *call, void **answer)
{
    *answer = NULL;
    if (fgi_ffi_is_question(call))
        return true;
    if (!fgi_kernel_tiles_run())
        *answer = fgi_ffi_fail(call, "the program was compiled for a processor with AMX, which "
                                     "this one does not have: compile it again");
    return *answer != NULL;
}

/* Patches of x for the convolution. */
static source patches_of(const fgi_ffi_buffer *x, const int64_t *k, const int64_t *y,
                         const fgi_kernel_conv_numbers *n)
{
    source from = {.data = x->data,
                   .height = x->dim[1],
                   .width = x->dim[2],
                   .channels = x->dim[3],
                   .step = n->stride[0],
                   .rows = y[1],
                   .columns = y[2]};
    for (int64_t i = 0; i < k[0] * k[1]; i++)
        from.tap[from.taps++] =
            (tap){i / k[1] * n->dilation[0] - n->low[0], i % k[1] * n->dilation[1] - n->low[1], i};
    return from;
}

/* Of the pixels (row + step i, column + step j) of x. */
static source phase_of(const fgi_ffi_buffer *dy, const int64_t *k, const int64_t *x, int64_t row,
                       int64_t column, const fgi_kernel_conv_numbers *n)
{
    const int64_t step = n->stride[0];
    source from = {.data = dy->data,
                   .height = dy->dim[1],
                   .width = dy->dim[2],
                   .channels = dy->dim[3],
                   .step = 1,
                   .rows = fgi_blocks(x[1] - row, step),
                   .columns = fgi_blocks(x[2] - column, step)};
    for (int64_t i = 0; i < k[0] * k[1]; i++) {
        const int64_t down = row + n->low[0] - i / k[1] * n->dilation[0];
        const int64_t across = column + n->low[1] - i % k[1] * n->dilation[1];
        if (down % step == 0 && across % step == 0)
            from.tap[from.taps++] = (tap){down / step, across / step, i};
    }
    return from;
}

static void *run_patches(fgi_ffi_call *call, problem *p)
{
    const int threads = fgi_parallel_threads(call, MOST_THREADS);
    const int64_t enough = 4 * (int64_t)threads, columns = p->columns / FGI_TILE_BLOCK;
    p->pixels = p->to->dim[0] * p->from.rows * p->from.columns;
    const int64_t rows = fgi_blocks(p->pixels, FGI_TILE_BLOCK);
    p->row_blocks = ROW_BLOCKS, p->column_blocks = COLUMN_BLOCKS;
    while (p->column_blocks > 4 &&
           fgi_blocks(rows, p->row_blocks) * fgi_blocks(columns, p->column_blocks) < enough)
        p->column_blocks /= 2;
    while (p->row_blocks > 1 &&
           fgi_blocks(rows, p->row_blocks) * fgi_blocks(columns, p->column_blocks) < enough)
        p->row_blocks /= 2;
    p->across = fgi_blocks(columns, p->column_blocks);
    return run(call, p, threads, fgi_blocks(rows, p->row_blocks) * p->across, multiply_patches);
}

/* Rows are not split, because each column of patches is gathered for all rows of a job. Where there
 * are few columns, the pixels are: so that the sums do not depend on the number of threads, into a
 * fixed number of parts. */
static void *run_dk(fgi_ffi_call *call, problem *p, int64_t channels)
{
    const int threads = fgi_parallel_threads(call, MOST_THREADS);
    const int64_t rows = p->columns / FGI_TILE_BLOCK, columns = p->taps * channels / FGI_TILE_BLOCK;
    p->row_blocks = fgi_least(rows, DK_ROW_BLOCKS);
    p->column_blocks = fgi_least(columns, DK_BLOCKS / p->row_blocks);
    const int64_t down = fgi_blocks(rows, p->row_blocks);
    const int64_t areas = down * fgi_blocks(columns, p->column_blocks);
    p->parts = areas < DK_FEW ? fgi_least(DK_JOBS, fgi_blocks(p->steps, 2 * (int64_t)STEPS)) : 1;
    if (areas < DK_JOBS && p->parts == 1)
        p->column_blocks =
            fgi_least(p->column_blocks, fgi_blocks(columns, fgi_blocks(DK_JOBS, down)));
    p->across = fgi_blocks(columns, p->column_blocks);
    const int64_t count = down * p->across * p->parts;
    if (p->parts == 1)
        return run(call, p, threads, count, multiply_dy);
    p->partial = fgi_alloc_aligned((size_t)(part_of(p, count) - p->partial) * sizeof *p->partial);
    if (p->partial == NULL)
        return fgi_ffi_fail(call, "out of memory");
    void *failure = run(call, p, threads, count, multiply_dy);
    if (failure == NULL)
        fgi_parallel(call, threads, down * p->across * p->row_blocks, add_parts, p);
    fgi_free_aligned(p->partial);
    return failure;
}

static problem problem_of(const fgi_ffi_call *call, const fgi_ffi_buffer *k)
{
    return (problem){.to = call->out.buffer[0],
                     .step = 1,
                     .other = k->data,
                     .taps = k->dim[0] * k->dim[1],
                     .packed = call->out.buffer[1]->data};
}

static void pack(fgi_ffi_call *call, problem *p, int64_t count, fgi_work work)
{
    fgi_parallel(call, fgi_parallel_threads(call, MOST_THREADS), count, work, p);
}

void *fgi_kernel_tiles(fgi_ffi_call *call)
{
    void *answer;
    if (is_answered(call, &answer))
        return answer;
    const fgi_ffi_buffer *x = call->in.buffer[0], *k = call->in.buffer[1];
    const fgi_kernel_conv_numbers *n = (const void *)fgi_ffi_numbers(call);
    problem p = problem_of(call, k);
    p.from = patches_of(x, k->dim, p.to->dim, n);
    p.columns = k->dim[3];
    p.steps = k->dim[2] / FGI_TILE_INNER;
    pack(call, &p, p.columns / FGI_TILE_BLOCK, pack_columns);
    return run_patches(call, &p);
}

void *fgi_kernel_tiles_dx(fgi_ffi_call *call)
{
    void *answer;
    if (is_answered(call, &answer))
        return answer;
    const fgi_ffi_buffer *dy = call->in.buffer[0], *k = call->in.buffer[1];
    const fgi_kernel_conv_numbers *n = (const void *)fgi_ffi_numbers(call);
    problem p = problem_of(call, k);
    p.from = (source){.channels = k->dim[3]};
    p.columns = k->dim[2];
    p.is_turned = true;
    p.steps = k->dim[3] / FGI_TILE_INNER;
    p.step = n->stride[0];
    pack(call, &p, p.columns / FGI_TILE_BLOCK, pack_columns);
    for (p.row = 0; p.row < p.step && answer == NULL; p.row++)
        for (p.column = 0; p.column < p.step && answer == NULL; p.column++) {
            p.from = phase_of(dy, k->dim, p.to->dim, p.row, p.column, n);
            if (p.from.rows > 0 && p.from.columns > 0)
                answer = run_patches(call, &p);
        }
    return answer;
}

void *fgi_kernel_tiles_dk(fgi_ffi_call *call)
{
    void *answer;
    if (is_answered(call, &answer))
        return answer;
    const fgi_ffi_buffer *x = call->in.buffer[0], *dy = call->in.buffer[1];
    const fgi_kernel_conv_numbers *n = (const void *)fgi_ffi_numbers(call);
    problem p = problem_of(call, call->out.buffer[0]);
    p.other = dy->data;
    p.from = patches_of(x, p.to->dim, dy->dim, n);
    p.columns = dy->dim[3];
    p.pixels = dy->dim[0] * dy->dim[1] * dy->dim[2];
    p.steps = fgi_blocks(p.pixels, FGI_TILE_INNER);
    pack(call, &p, p.steps, pack_dy);
    return run_dk(call, &p, p.to->dim[2]);
}

/* ---- matmuls --------------------------------------------------------------------------------- */

bool fgi_kernel_tiles_multiply(const fgi_kernel_matmul_numbers *n)
{
    const bool is_dk = n->a_is_transposed;
    const int64_t others = is_dk ? n->rows : n->inner;
    const double multiplications = (double)n->rows * (double)n->inner * (double)n->columns;
    return n->batch == 1 && (!is_dk || (!n->b_is_transposed && !n->is_relu)) &&
           multiplications >= LEAST_MULTIPLICATIONS && n->columns % FGI_TILE_BLOCK == 0 &&
           others % FGI_TILE_BLOCK == 0 && n->columns <= MOST_CHANNELS && others <= MOST_CHANNELS &&
           fgi_kernel_tiles_run();
}

void *fgi_tiles_matmul(fgi_ffi_call *call, const fgi_kernel_matmul_numbers *n)
{
    const bool is_dk = n->a_is_transposed;
    const int64_t pixels = is_dk ? n->inner : n->rows, channels = is_dk ? n->rows : n->inner;
    int64_t dim[] = {1, 1, pixels, n->columns};
    fgi_ffi_buffer to = *call->out.buffer[0];
    to.dim = dim;
    problem p = {.from = {.data = call->in.buffer[0]->data,
                          .height = 1,
                          .width = pixels,
                          .channels = channels,
                          .step = 1,
                          .rows = 1,
                          .columns = pixels,
                          .tap = {{0, 0, 0}},
                          .taps = 1},
                 .pixels = pixels,
                 .to = &to,
                 .step = 1,
                 .terms = fgi_terms_of(call, n),
                 .other = call->in.buffer[1]->data,
                 .columns = n->columns,
                 .is_turned = n->b_is_transposed,
                 .taps = 1,
                 .steps = fgi_blocks(n->inner, FGI_TILE_INNER)};
    p.packed = fgi_alloc_aligned((size_t)(p.steps * FGI_TILE_INNER * n->columns) * 2);
    if (p.packed == NULL)
        return fgi_ffi_fail(call, "out of memory");
    pack(call, &p, is_dk ? p.steps : p.columns / FGI_TILE_BLOCK, is_dk ? pack_dy : pack_columns);
    void *failure = is_dk ? run_dk(call, &p, channels) : run_patches(call, &p);
    fgi_free_aligned(p.packed);
    return failure;
}
