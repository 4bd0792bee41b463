/* kernel_attention.c - attention and its gradient without matrices of all queries and keys: a
 * thread takes a head, and a few of its queries at a time, whose scores are only in its cache.
 * Everything is computed in f32, also for bf16 tensors.
 *
 * Source: Dao et al. 2022, "FlashAttention: fast and memory-efficient exact attention with
 * IO-awareness"; here all keys are seen at a time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/alloc.h"
#include "kernel/kernel.h"
#include "kernel/pack.h"
#include "kernel/parallel.h"

/* Queries at a time, of the gradient; columns that registers hold, which the keys and the width are
 * padded to. */
enum {
    BLOCK = 4 * FGI_MOST_ROWS,
    PANEL = FGI_MOST_WIDE * FGI_WIDE,
    MATRICES = 6,
    MOST_THREADS = 64
};

/* A tensor [B, T, heads, D], or a part of [B, T, row]; a head of a sample is a matrix [T, D]. */
typedef struct heads {
    char *data;
    int64_t length, count, row;
    bool is_half;
} heads;

typedef struct problem {
    const fgi_kernel_attention_numbers *n;
    float scale;
    heads q, k, v, o, dout, dq, dk, dv;
    float *lse;                 /* [B, heads, T] */
    int64_t keys, width, panel; /* padded; columns of a panel */
    int64_t worker_size;
    float *memory;
} problem;

/* The memory of a thread: matrices in panels of columns, and rows of BLOCK queries. */
typedef struct worker {
    float *kt, *vt, *k, *v;       /* [D, keys] in panels, and [keys, D] */
    float *q, *dout;              /* [BLOCK, D] in panels */
    float *scores, *dscores;      /* [BLOCK, keys] */
    float *strip, *sum, *dk, *dv; /* [D][16]; [BLOCK, D]; [keys, D] */
} worker;

#define VARIANT int rows, int wide

/* ---- numbers --------------------------------------------------------------------------------- */

INLINED fgi_wide *vectors(float *at) { return (fgi_wide *)(void *)at; }

INLINED float total(const fgi_wide *x)
{
    float sum = 0;
    for (int i = 0; i < FGI_WIDE; i++)
        sum += (*x)[i];
    return sum;
}

INLINED float largest(float *x, int64_t count)
{
    fgi_wide most = (fgi_wide){0} - INFINITY;
    for (int64_t i = 0; i < count; i += FGI_WIDE) {
        fgi_wide here = *vectors(x + i);
        fgi_wide_bits is_seen;
        fgi_find_below(i, count, &is_seen);
        fgi_keep(&is_seen, &here, -INFINITY);
        const fgi_wide_bits is_more = (fgi_wide_bits)(here > most);
        most = (fgi_wide)((is_more & (fgi_wide_bits)here) | (~is_more & (fgi_wide_bits)most));
    }
    float all = most[0];
    for (int i = 1; i < FGI_WIDE; i++)
        all = most[i] > all ? most[i] : all;
    return all;
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* Where the head begins. */
INLINED char *head_of(const heads *of, int64_t batch, int64_t head, int64_t width)
{
    return of->data + (batch * of->length * of->row + head * width) * (of->is_half ? 2 : 4);
}

/* Rows from `first` of a head as a matrix. */
INLINED fgi_operand rows_of(const problem *p, const heads *of, int64_t batch, int64_t head,
                            int64_t first, bool is_transposed)
{
    return (fgi_operand){.data = head_of(of, batch, head, p->n->width) +
                                 first * of->row * (of->is_half ? 2 : 4),
                         .row = is_transposed ? 1 : of->row,
                         .column = is_transposed ? of->row : 1,
                         .is_half = of->is_half};
}

/* The matrix [inner, columns] in panels of `high` rows. */
INLINED void pack(const problem *p, const fgi_operand *of, int64_t inner, int64_t columns,
                  int64_t high, float *out)
{
    for (int64_t c = 0; c < columns; c += p->panel)
        fgi_pack_panel(of, 0, inner, c, fgi_least(p->panel, columns - c), p->panel, out + c * high);
}

/* NOLINTBEGIN(readability-non-const-parameter): y is written */
/* y [count, columns] = a [count, inner] b, or is increased by it; b in panels of `high` rows, y in
 * rows of `stride`. */
INLINED void multiply(const problem *p, int64_t count, int64_t inner, int64_t columns, fgi_matrix a,
                      const float *b, int64_t high, float *y, int64_t stride, bool adds, VARIANT)
{
    for (int64_t c = 0; c < columns; c += p->panel) {
        const fgi_block_matmul matmul = {.rows = count,
                                         .inner = inner,
                                         .a = a,
                                         .b = {b + c * high, wide * FGI_WIDE, 1},
                                         .y = y + c,
                                         .y_row = stride,
                                         .adds = adds};
        fgi_multiply_panel(&matmul, rows, wide);
    }
}
/* NOLINTEND(readability-non-const-parameter) */

/* Rows [count, D] times a matrix [D, keys] in panels: up to `keys` columns of y. */
INLINED void by_keys(const problem *p, const worker *w, const fgi_operand *from, int64_t count,
                     const float *b, int64_t keys, float *y, VARIANT)
{
    const int64_t size = from->is_half ? 2 : 4, width = p->n->width;
    for (int64_t i = 0; i < count; i += rows) {
        const int64_t part = fgi_least(rows, count - i);
        const char *at = from->data + i * from->row * size;
        const fgi_matrix a = {w->strip, 1, FGI_WIDE};
        if (from->is_half)
            fgi_pack_transposed(at, true, from->row * size, part, width, w->strip, FGI_WIDE);
        else
            fgi_pack_transposed(at, false, from->row * size, part, width, w->strip, FGI_WIDE);
        multiply(p, part, width, keys, a, b, width, y + i * p->keys, p->keys, false, rows, wide);
    }
}

INLINED void store(const problem *p, const float *from, int64_t count, const fgi_operand *to)
{
    const int64_t size = to->is_half ? 2 : 4;
    for (int64_t i = 0; i < count; i++) {
        char *out = (char *)to->data + i * to->row * size;
        for (int64_t c = 0; c < p->n->width; c += FGI_WIDE) {
            fgi_wide whole;
            fgi_store((char *)&whole, (const fgi_wide *)(const void *)(from + i * p->width + c),
                      to->is_half);
            memcpy(out + c * size, &whole, (size_t)(fgi_least(FGI_WIDE, p->n->width - c) * size));
        }
    }
}

/* ---- queries --------------------------------------------------------------------------------- */

/* Keys that a query sees. */
INLINED int64_t seen_by(const problem *p, int64_t query)
{
    return p->n->is_causal ? query + 1 + p->n->keys - p->n->queries : p->n->keys;
}

/* e^(score - by) for `count` keys, zeros up to `padded`; their sum. */
INLINED float exponentials(float *score, int64_t count, int64_t padded, float scale, float by)
{
    fgi_wide sum = {0};
    for (int64_t i = 0; i < padded; i += FGI_WIDE) {
        fgi_wide x = *vectors(score + i) * scale - by;
        fgi_wide_bits is_seen;
        fgi_find_below(i, count, &is_seen);
        fgi_exp(&x);
        fgi_keep(&is_seen, &x, 0);
        *vectors(score + i) = x;
        sum += x;
    }
    return total(&sum);
}

/* Queries from `first` of a head: o, and the logarithm of the sum of exponentials. */
INLINED void attend(const problem *p, const worker *w, int64_t batch, int64_t head, int64_t first,
                    VARIANT)
{
    const int64_t count = fgi_least(BLOCK, p->n->queries - first);
    const int64_t seen = fgi_blocks(seen_by(p, first + count - 1), PANEL) * PANEL;
    const fgi_operand q = rows_of(p, &p->q, batch, head, first, false);
    const fgi_operand o = rows_of(p, &p->o, batch, head, first, false);
    float *lse = p->lse + (batch * p->q.count + head) * p->n->queries + first;
    by_keys(p, w, &q, count, w->kt, seen, w->scores, rows, wide);
    for (int64_t i = 0; i < count; i++) {
        float *score = w->scores + i * p->keys;
        const int64_t keys = seen_by(p, first + i);
        const float most = largest(score, keys) * p->scale;
        const float sum = exponentials(score, keys, seen, p->scale, most);
        lse[i] = most + logf(sum);
        for (int64_t k = 0; k < seen; k += FGI_WIDE)
            *vectors(score + k) *= 1 / sum;
    }
    multiply(p, count, seen, p->width, (fgi_matrix){w->scores, p->keys, 1}, w->v, p->keys, w->sum,
             p->width, false, rows, wide);
    store(p, w->sum, count, &o);
}

/* The sum over D of dout o. */
INLINED float shared(const problem *p, const float *o, const float *dout)
{
    float sum = 0;
    for (int64_t c = 0; c < p->n->width; c++)
        sum += o[c] * dout[c];
    return sum;
}

/* Scores become weights, and the gradients of weights those of scores. */
INLINED void differentiate(const problem *p, const worker *w, int64_t i, int64_t keys, int64_t seen,
                           float lse, float delta)
{
    float *score = w->scores + i * p->keys, *dscore = w->dscores + i * p->keys;
    (void)exponentials(score, keys, seen, p->scale, lse);
    for (int64_t k = 0; k < seen; k += FGI_WIDE)
        *vectors(dscore + k) = *vectors(score + k) * (*vectors(dscore + k) - delta) * p->scale;
}

/* Queries from `first` of a head: dq, and what they add to dk and dv. */
INLINED void attend_back(const problem *p, const worker *w, int64_t batch, int64_t head,
                         int64_t first, VARIANT)
{
    const int64_t count = fgi_least(BLOCK, p->n->queries - first), width = p->n->width;
    const int64_t seen = fgi_blocks(seen_by(p, first + count - 1), PANEL) * PANEL;
    const fgi_operand q = rows_of(p, &p->q, batch, head, first, false);
    const fgi_operand o = rows_of(p, &p->o, batch, head, first, false);
    const fgi_operand dout = rows_of(p, &p->dout, batch, head, first, false);
    const fgi_operand dq = rows_of(p, &p->dq, batch, head, first, false);
    const float *lse = p->lse + (batch * p->q.count + head) * p->n->queries + first;
    by_keys(p, w, &q, count, w->kt, seen, w->scores, rows, wide);
    by_keys(p, w, &dout, count, w->vt, seen, w->dscores, rows, wide);
    for (int64_t i = 0; i < count; i++) {
        float *a = w->sum, *b = w->sum + p->width;
        const int64_t size = o.is_half ? 2 : 4;
        fgi_pack_run(o.data + i * o.row * size, o.is_half, width, a);
        fgi_pack_run(dout.data + i * dout.row * size, dout.is_half, width, b);
        differentiate(p, w, i, seen_by(p, first + i), seen, lse[i], shared(p, a, b));
    }
    pack(p, &q, count, width, count, w->q);
    pack(p, &dout, count, width, count, w->dout);
    const fgi_matrix weights = {w->scores, 1, p->keys}, dscores = {w->dscores, 1, p->keys};
    multiply(p, fgi_least(seen, p->n->keys), count, p->width, weights, w->dout, count, w->dv,
             p->width, true, rows, wide);
    multiply(p, fgi_least(seen, p->n->keys), count, p->width, dscores, w->q, count, w->dk, p->width,
             true, rows, wide);
    multiply(p, count, seen, p->width, (fgi_matrix){w->dscores, p->keys, 1}, w->k, p->keys, w->sum,
             p->width, false, rows, wide);
    store(p, w->sum, count, &dq);
}

/* ---- heads ----------------------------------------------------------------------------------- */

/* Its parts of the memory, first the MATRICES of all keys; the numbers that it needs. */
INLINED int64_t share(const problem *p, float *memory, worker *w)
{
    const int64_t matrix = p->keys * p->width, rows = BLOCK * p->keys, block = BLOCK * p->width;
    float **const part[] = {&w->kt, &w->vt,   &w->k,   &w->v,     &w->dk,     &w->dv,
                            &w->q,  &w->dout, &w->sum, &w->strip, &w->scores, &w->dscores};
    const int64_t size[] = {matrix, matrix, matrix, matrix, matrix,
                            matrix, block,  block,  block,  FGI_WIDE * p->width,
                            rows,   rows};
    int64_t at = 0;
    for (size_t i = 0; i < sizeof size / sizeof size[0]; at += size[i], i++)
        *part[i] = memory + at;
    return at;
}

/* A head of keys and values, with zeros after the last key, and for its gradient. */
INLINED void load_head(const problem *p, const worker *w, int64_t batch, int64_t head)
{
    const fgi_operand kt = rows_of(p, &p->k, batch, head, 0, true);
    const fgi_operand k = rows_of(p, &p->k, batch, head, 0, false);
    const fgi_operand vt = rows_of(p, &p->v, batch, head, 0, true);
    const fgi_operand v = rows_of(p, &p->v, batch, head, 0, false);
    const int64_t keys = p->n->keys, width = p->n->width;
    memset(w->kt, 0, (size_t)(MATRICES * p->keys * p->width) * sizeof *w->kt);
    pack(p, &kt, width, keys, width, w->kt);
    if (p->dq.data == NULL) {
        pack(p, &v, keys, width, p->keys, w->v);
        return;
    }
    pack(p, &vt, width, keys, width, w->vt);
    pack(p, &k, keys, width, p->keys, w->k);
}

INLINED void run_head(void *context, int64_t i, int index, VARIANT)
{
    const problem *p = context;
    const int64_t batch = i / p->k.count, head = i % p->k.count, group = p->n->group;
    worker w;
    (void)share(p, p->memory + index * p->worker_size, &w);
    load_head(p, &w, batch, head);
    for (int64_t g = head * group; g < (head + 1) * group; g++)
        for (int64_t first = 0; first < p->n->queries; first += BLOCK)
            if (p->dq.data == NULL)
                attend(p, &w, batch, g, first, rows, wide);
            else
                attend_back(p, &w, batch, g, first, rows, wide);
    if (p->dq.data == NULL)
        return;
    const fgi_operand dk = rows_of(p, &p->dk, batch, head, 0, false);
    const fgi_operand dv = rows_of(p, &p->dv, batch, head, 0, false);
    store(p, w.dk, p->n->keys, &dk);
    store(p, w.dv, p->n->keys, &dv);
}

WITH_AVX512 static void run_avx512(void *context, int64_t i, int index)
{
    run_head(context, i, index, FGI_MOST_ROWS, 2);
}

WITH_AVX2 static void run_avx2(void *context, int64_t i, int index)
{
    run_head(context, i, index, FGI_MOST_ROWS / 2, 1);
}

static void run_any(void *context, int64_t i, int index)
{
    run_head(context, i, index, FGI_MOST_ROWS / 2, 1);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static heads heads_of(const fgi_ffi_buffer *buffer, int64_t length, int64_t count, int64_t width)
{
    return (heads){buffer->data, length, count, count * width, buffer->dtype == FGI_FFI_BF16};
}

/* Queries, keys and values: three tensors, or one [B, T, numbers of all] at buffer[0]. */
static void set_operands(const fgi_kernel_attention_numbers *n, const fgi_ffi_buffer *const *buffer,
                         bool is_packed, heads *const out[3])
{
    const int64_t count[] = {n->kv_heads * n->group, n->kv_heads, n->kv_heads};
    const int64_t length[] = {n->queries, n->keys, n->keys};
    int64_t before = 0;
    for (int i = 0; i < 3; i++) {
        *out[i] = heads_of(buffer[is_packed ? 0 : i], length[i], count[i], n->width);
        if (!is_packed)
            continue;
        out[i]->row = (count[0] + 2 * n->kv_heads) * n->width;
        out[i]->data += before * n->width * (out[i]->is_half ? 2 : 4);
        before += count[i];
    }
}

static problem problem_of(fgi_ffi_call *call, bool is_packed)
{
    const fgi_kernel_attention_numbers *n = (const void *)fgi_ffi_numbers(call);
    problem p = {.n = n,
                 .scale = *(const float *)call->in.buffer[is_packed ? 1 : 3]->data,
                 .keys = fgi_blocks(n->keys, PANEL) * PANEL,
                 .width = fgi_blocks(n->width, PANEL) * PANEL,
                 .panel = HAS_AVX512 ? PANEL : FGI_WIDE};
    worker unused;
    set_operands(n, call->in.buffer, is_packed, (heads *const[]){&p.q, &p.k, &p.v});
    p.worker_size = share(&p, NULL, &unused);
    return p;
}

static void *run(fgi_ffi_call *call, problem *p)
{
    const int64_t count = p->n->batch * p->n->kv_heads;
    const int threads = fgi_parallel_threads(call, (int)fgi_least(count, MOST_THREADS));
    p->memory = fgi_alloc_aligned((size_t)(threads * p->worker_size) * sizeof *p->memory);
    if (p->memory == NULL)
        return fgi_ffi_fail(call, "attention: out of memory");
    const fgi_work old = HAS_AVX2 ? run_avx2 : run_any;
    fgi_parallel(call, threads, count, HAS_AVX512 ? run_avx512 : old, p);
    fgi_free_aligned(p->memory);
    return NULL;
}

static void *forward(fgi_ffi_call *call, bool is_packed)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    problem p = problem_of(call, is_packed);
    p.o = heads_of(call->out.buffer[0], p.q.length, p.q.count, p.n->width);
    p.lse = call->out.buffer[1]->data;
    return run(call, &p);
}

static void *backward(fgi_ffi_call *call, bool is_packed)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *const *in = call->in.buffer + (is_packed ? 2 : 4);
    problem p = problem_of(call, is_packed);
    p.o = heads_of(in[0], p.q.length, p.q.count, p.n->width);
    p.lse = in[1]->data;
    p.dout = heads_of(in[2], p.q.length, p.q.count, p.n->width);
    set_operands(p.n, call->out.buffer, is_packed, (heads *const[]){&p.dq, &p.dk, &p.dv});
    return run(call, &p);
}

void *fgi_kernel_attention(fgi_ffi_call *call) { return forward(call, false); }
void *fgi_kernel_attention_dx(fgi_ffi_call *call) { return backward(call, false); }
void *fgi_kernel_attention_packed(fgi_ffi_call *call) { return forward(call, true); }
void *fgi_kernel_attention_packed_dx(fgi_ffi_call *call) { return backward(call, true); }
