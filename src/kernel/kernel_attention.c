/* kernel_attention.c - attention and its gradient without matrices of all queries and keys: a
 * thread takes a head, and a few of its queries at a time, whose scores are only in its cache.
 * Everything is computed in f32, also for bf16 tensors where there are no tiles of AMX.
 *
 * Source: Dao et al. 2022, "FlashAttention: fast and memory-efficient exact attention with
 * IO-awareness"; here all keys are seen at a time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/attention.h"

#include "base/alloc.h"

/* Queries at a time, of the gradient; columns that registers hold, which the keys and the width are
 * padded to. */
enum { BLOCK = 4 * FGI_MOST_ROWS, PANEL = FGI_ATTENTION_UNIT, MATRICES = 6, MOST_THREADS = 64 };

/* The memory of a thread: matrices in panels of columns, and rows of BLOCK queries. */
typedef struct worker {
    float *kt, *vt, *k, *v;       /* [D, keys] in panels, and [keys, D] */
    float *q, *dout;              /* [BLOCK, D] in panels */
    float *scores, *dscores;      /* [BLOCK, keys] */
    float *strip, *sum, *dk, *dv; /* [D][16]; [BLOCK, D]; [keys, D] */
} worker;

#define VARIANT int rows, int wide

/* ---- matrices -------------------------------------------------------------------------------- */

/* The matrix [inner, columns] in panels of `high` rows. */
INLINED void pack(const fgi_attention *p, const fgi_operand *of, int64_t inner, int64_t columns,
                  int64_t high, float *out)
{
    for (int64_t c = 0; c < columns; c += p->panel)
        fgi_pack_panel(of, 0, inner, c, fgi_least(p->panel, columns - c), p->panel, out + c * high);
}

/* NOLINTBEGIN(readability-non-const-parameter): y is written */
/* y [count, columns] = a [count, inner] b, or is increased by it; b in panels of `high` rows, y in
 * rows of `stride`. */
INLINED void multiply(const fgi_attention *p, int64_t count, int64_t inner, int64_t columns,
                      fgi_matrix a, const float *b, int64_t high, float *y, int64_t stride,
                      bool adds, VARIANT)
{
    for (int64_t c = 0; c < columns; c += p->panel) {
        const fgi_block_matmul matmul = {.rows = count,
                                         .inner = inner,
                                         .a = a,
                                         .b = b + c * high,
                                         .b_row = wide * FGI_WIDE,
                                         .y = y + c,
                                         .y_row = stride,
                                         .adds = adds};
        fgi_multiply_panel(&matmul, rows, wide);
    }
}
/* NOLINTEND(readability-non-const-parameter) */

/* Rows [count, D] times a matrix [D, keys] in panels: up to `keys` columns of y. */
INLINED void by_keys(const fgi_attention *p, const worker *w, const fgi_operand *from,
                     int64_t count, const float *b, int64_t keys, float *y, VARIANT)
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

INLINED void store(const fgi_attention *p, const float *from, int64_t count, const fgi_operand *to)
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

/* Queries from `first` of a head: o, and the logarithm of the sum of exponentials. */
INLINED void attend(const fgi_attention *p, const worker *w, int64_t batch, int64_t head,
                    int64_t first, VARIANT)
{
    const int64_t count = fgi_least(BLOCK, p->n->queries - first);
    const int64_t seen = fgi_blocks(fgi_seen_by(p, first + count - 1), PANEL) * PANEL;
    const fgi_operand q = fgi_rows_of_head(p, &p->q, batch, head, first, false);
    const fgi_operand o = fgi_rows_of_head(p, &p->o, batch, head, first, false);
    float *lse = p->lse + (batch * p->q.count + head) * p->n->queries + first;
    by_keys(p, w, &q, count, w->kt, seen, w->scores, rows, wide);
    for (int64_t i = 0; i < count; i++) {
        float *score = w->scores + i * p->keys;
        const int64_t keys = fgi_seen_by(p, first + i);
        const float most = fgi_find_largest(score, keys) * p->scale;
        const float sum = fgi_exponentials(score, keys, seen, p->scale, most);
        lse[i] = most + logf(sum);
        for (int64_t k = 0; k < seen; k += FGI_WIDE)
            *fgi_vectors(score + k) *= 1 / sum;
    }
    multiply(p, count, seen, p->width, (fgi_matrix){w->scores, p->keys, 1}, w->v, p->keys, w->sum,
             p->width, false, rows, wide);
    store(p, w->sum, count, &o);
}

/* Queries from `first` of a head: dq, and what they add to dk and dv. */
INLINED void attend_back(const fgi_attention *p, const worker *w, int64_t batch, int64_t head,
                         int64_t first, VARIANT)
{
    const int64_t count = fgi_least(BLOCK, p->n->queries - first), width = p->n->width;
    const int64_t seen = fgi_blocks(fgi_seen_by(p, first + count - 1), PANEL) * PANEL;
    const fgi_operand q = fgi_rows_of_head(p, &p->q, batch, head, first, false);
    const fgi_operand o = fgi_rows_of_head(p, &p->o, batch, head, first, false);
    const fgi_operand dout = fgi_rows_of_head(p, &p->dout, batch, head, first, false);
    const fgi_operand dq = fgi_rows_of_head(p, &p->dq, batch, head, first, false);
    const float *lse = p->lse + (batch * p->q.count + head) * p->n->queries + first;
    by_keys(p, w, &q, count, w->kt, seen, w->scores, rows, wide);
    by_keys(p, w, &dout, count, w->vt, seen, w->dscores, rows, wide);
    for (int64_t i = 0; i < count; i++)
        fgi_differentiate(w->scores + i * p->keys, w->dscores + i * p->keys,
                          fgi_seen_by(p, first + i), seen, p->scale, lse[i],
                          fgi_shared(p, &o, &dout, i));
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
INLINED int64_t share(const fgi_attention *p, float *memory, worker *w)
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
INLINED void load_head(const fgi_attention *p, const worker *w, int64_t batch, int64_t head)
{
    const fgi_operand kt = fgi_rows_of_head(p, &p->k, batch, head, 0, true);
    const fgi_operand k = fgi_rows_of_head(p, &p->k, batch, head, 0, false);
    const fgi_operand vt = fgi_rows_of_head(p, &p->v, batch, head, 0, true);
    const fgi_operand v = fgi_rows_of_head(p, &p->v, batch, head, 0, false);
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
    const fgi_attention *p = context;
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
    const fgi_operand dk = fgi_rows_of_head(p, &p->dk, batch, head, 0, false);
    const fgi_operand dv = fgi_rows_of_head(p, &p->dv, batch, head, 0, false);
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

static fgi_work work(void)
{
    if (HAS_AVX512)
        return run_avx512;
    return HAS_AVX2 ? run_avx2 : run_any;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static fgi_heads heads_of(const fgi_ffi_buffer *buffer, int64_t length, int64_t count,
                          int64_t width)
{
    return (fgi_heads){buffer->data, length, count, count * width, buffer->dtype == FGI_FFI_BF16};
}

/* Queries, keys and values: three tensors, or one [B, T, numbers of all] at buffer[0]. */
static void set_operands(const fgi_kernel_attention_numbers *n, const fgi_ffi_buffer *const *buffer,
                         bool is_packed, fgi_heads *const out[3])
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

static fgi_attention problem_of(fgi_ffi_call *call, bool is_packed)
{
    const fgi_kernel_attention_numbers *n = (const void *)fgi_ffi_numbers(call);
    fgi_attention p = {.n = n,
                       .scale = *(const float *)call->in.buffer[is_packed ? 1 : 3]->data,
                       .keys = fgi_blocks(n->keys, PANEL) * PANEL,
                       .width = fgi_blocks(n->width, PANEL) * PANEL,
                       .panel = HAS_AVX512 ? PANEL : FGI_WIDE};
    worker unused;
    set_operands(n, call->in.buffer, is_packed, (fgi_heads *const[]){&p.q, &p.k, &p.v});
    p.worker_size =
        fgi_attention_has_tiles(&p) ? fgi_attention_tiles_memory(&p) : share(&p, NULL, &unused);
    return p;
}

static void *run(fgi_ffi_call *call, fgi_attention *p)
{
    const int64_t count = p->n->batch * p->n->kv_heads;
    const int threads = fgi_parallel_threads(call, (int)fgi_least(count, MOST_THREADS));
    p->memory = fgi_alloc_aligned((size_t)(threads * p->worker_size) * sizeof *p->memory);
    if (p->memory == NULL)
        return fgi_ffi_fail(call, "attention: out of memory");
    fgi_parallel(call, threads, count, fgi_attention_has_tiles(p) ? fgi_attention_tiles : work(),
                 p);
    fgi_free_aligned(p->memory);
    return NULL;
}

static void *forward(fgi_ffi_call *call, bool is_packed)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    fgi_attention p = problem_of(call, is_packed);
    p.o = heads_of(call->out.buffer[0], p.q.length, p.q.count, p.n->width);
    p.lse = call->out.buffer[1]->data;
    return run(call, &p);
}

static void *backward(fgi_ffi_call *call, bool is_packed)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *const *in = call->in.buffer + (is_packed ? 2 : 4);
    fgi_attention p = problem_of(call, is_packed);
    p.o = heads_of(in[0], p.q.length, p.q.count, p.n->width);
    p.lse = in[1]->data;
    p.dout = heads_of(in[2], p.q.length, p.q.count, p.n->width);
    set_operands(p.n, call->out.buffer, is_packed, (fgi_heads *const[]){&p.dq, &p.dk, &p.dv});
    return run(call, &p);
}

void *fgi_kernel_attention(fgi_ffi_call *call) { return forward(call, false); }
void *fgi_kernel_attention_dx(fgi_ffi_call *call) { return backward(call, false); }
void *fgi_kernel_attention_packed(fgi_ffi_call *call) { return forward(call, true); }
void *fgi_kernel_attention_packed_dx(fgi_ffi_call *call) { return backward(call, true); }
