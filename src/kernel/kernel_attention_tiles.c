/* kernel_attention_tiles.c - attention and its gradient in bf16, by matrix tiles (tiles.h): a
 * thread takes a head, and ROWS of its queries at a time. Scores, exponentials and sums are f32;
 * exponentials and the gradients of scores are rounded to bf16 where they are multiplied.
 *
 * A left operand is blocks of 32 rows, a right one blocks of 32 columns; each block has steps of 32
 * of the numbers that are added up. The gradients of keys and values are computed transposed, so
 * that only pairs of rows of weights are needed.
 *
 * Source: Dao et al. 2022, "FlashAttention: fast and memory-efficient exact attention with
 * IO-awareness"; here all keys are seen at a time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/attention.h"
#include "kernel/tiles.h"

enum { UNIT = FGI_TILE_BLOCK, ROWS = 128, ROW_STEPS = ROWS / UNIT, STEPS = 32, MOST_WIDTH = 256 };

/* The memory of a thread. */
typedef struct worker {
    uint16_t *kt, *vt, *k, *v;         /* right: [D, keys], [keys, D] */
    uint16_t *q, *dout;                /* left: [ROWS, D] */
    uint16_t *qt, *doutt;              /* left: [D, ROWS] */
    uint16_t *left;                    /* [ROWS, keys]: weights, or gradients of scores */
    uint16_t *weights, *dscores;       /* right: [ROWS, keys] */
    float *score, *dscore, *dkt, *dvt; /* [ROWS, keys], [D, keys] */
    float *sum;                        /* [ROWS, D] */
} worker;

/* y [rows, columns] = a b, or is increased by it: of each block of a and b, which have a_steps and
 * b_steps, the first `steps` steps. */
typedef struct product {
    const uint16_t *a;
    int64_t a_steps;
    const uint16_t *b;
    int64_t b_steps;
    int64_t rows, columns, steps;
    float *y;
    int64_t y_row;
    bool adds;
} product;

static const uint16_t nothing[MOST_WIDTH];

WITH_TILES static void multiply(const product *p)
{
    int64_t at[STEPS];
    for (int i = 0; i < STEPS; i++)
        at[i] = (int64_t)i * FGI_TILE_STEP;
    for (int64_t c = 0; c < p->columns; c += UNIT)
        for (int64_t s = 0; s < p->steps; s += STEPS)
            for (int64_t r = 0; r < p->rows; r += UNIT)
                fgi_tiles_multiply(p->a + (r / UNIT * p->a_steps + s) * FGI_TILE_STEP,
                                   p->b + (c / UNIT * p->b_steps + s) * FGI_TILE_STEP, at,
                                   fgi_least(STEPS, p->steps - s), p->y + r * p->y_row + c,
                                   p->y_row, p->adds || s > 0);
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Rows of a head: the first `count` of a matrix [rows, D], the others are 0. */
typedef struct rows {
    const uint16_t *data;
    int64_t row, count, all, width;
} rows;

INLINED rows rows_from(const fgi_operand *of, int64_t count, int64_t width)
{
    return (rows){(const void *)of->data, of->row, count, fgi_blocks(count, UNIT) * UNIT, width};
}

INLINED const uint16_t *row_at(const rows *m, int64_t i)
{
    return i < m->count ? m->data + i * m->row : nothing;
}

WITH_TILES static void pack_left(const rows *m, uint16_t *to)
{
    const int64_t steps = m->width / UNIT;
    for (int64_t r = 0; r < m->all; r++)
        for (int64_t s = 0; s < steps; s++)
            memcpy(to + (r / UNIT * steps + s) * FGI_TILE_STEP + r % UNIT * UNIT,
                   row_at(m, r) + s * UNIT, UNIT * sizeof *to);
}

/* [D, rows], in blocks of ROW_STEPS. */
WITH_TILES static void pack_left_transposed(const rows *m, uint16_t *to)
{
    for (int64_t r = 0; r < m->all; r += UNIT)
        for (int64_t c = 0; c < m->width; c += FGI_WIDE) {
            fgi_wide pair[FGI_WIDE];
            for (int i = 0; i < FGI_WIDE; i++)
                fgi_tile_pair(row_at(m, r + 2 * i) + c, row_at(m, r + 2 * i + 1) + c, &pair[i]);
            fgi_transpose(pair);
            memcpy(to + (c / UNIT * ROW_STEPS + r / UNIT) * FGI_TILE_STEP + c % UNIT * UNIT, pair,
                   sizeof pair);
        }
}

WITH_TILES static void pack_right(const rows *m, uint16_t *to)
{
    const int64_t steps = m->all / UNIT;
    for (int64_t r = 0; r < m->all; r += 2)
        for (int64_t c = 0; c < m->width; c += UNIT)
            fgi_tile_pairs(row_at(m, r) + c, row_at(m, r + 1) + c,
                           to + (c / UNIT * steps + r / UNIT) * FGI_TILE_STEP +
                               r % UNIT / 2 * UNIT);
}

/* [D, rows]. */
WITH_TILES static void pack_right_transposed(const rows *m, uint16_t *to)
{
    const int64_t steps = m->width / UNIT;
    for (int64_t r = 0; r < m->all; r += FGI_WIDE)
        for (int64_t s = 0; s < steps; s++) {
            fgi_wide pair[FGI_WIDE];
            for (int i = 0; i < FGI_WIDE; i++)
                memcpy(&pair[i], row_at(m, r + i) + s * UNIT, sizeof pair[i]);
            fgi_transpose(pair);
            memcpy(to + (r / UNIT * steps + s) * FGI_TILE_STEP + r % UNIT * UNIT, pair,
                   sizeof pair);
        }
}

/* Row i of a left operand [ROWS, keys]. */
WITH_TILES static void round_left(const fgi_attention *p, const float *row, int64_t keys, int64_t i,
                                  uint16_t *to)
{
    to += i / UNIT * p->keys / UNIT * FGI_TILE_STEP + i % UNIT * UNIT;
    for (int64_t k = 0; k < keys; k += UNIT)
        fgi_tile_round(row + k, to + k / UNIT * FGI_TILE_STEP);
}

/* Rows i and i + 1 of a right operand [ROWS, keys]. */
WITH_TILES static void round_right(const fgi_attention *p, const float *row, int64_t keys,
                                   int64_t i, uint16_t *to)
{
    to += i / UNIT * FGI_TILE_STEP + i % UNIT / 2 * UNIT;
    for (int64_t k = 0; k < keys; k += UNIT)
        fgi_tile_round_pairs(row + k, row + p->keys + k, to + k / UNIT * ROW_STEPS * FGI_TILE_STEP);
}

/* ---- queries --------------------------------------------------------------------------------- */

/* Queries from `first` of a head, `all` with padding, and the keys that the last one sees. */
typedef struct part {
    int64_t batch, head, first, count, all, seen;
} part;

INLINED part part_of(const fgi_attention *p, int64_t batch, int64_t head, int64_t first)
{
    const int64_t count = fgi_least(ROWS, p->n->queries - first);
    return (part){batch,
                  head,
                  first,
                  count,
                  fgi_blocks(count, UNIT) * UNIT,
                  fgi_blocks(fgi_seen_by(p, first + count - 1), UNIT) * UNIT};
}

INLINED fgi_operand rows_of(const fgi_attention *p, const fgi_heads *of, const part *at)
{
    return fgi_rows_of_head(p, of, at->batch, at->head, at->first, false);
}

INLINED float *lse_of(const fgi_attention *p, const part *at)
{
    return p->lse + (at->batch * p->q.count + at->head) * p->n->queries + at->first;
}

/* Rows of queries times the transposed keys or values. */
WITH_TILES static void multiply_keys(const fgi_attention *p, const part *at, const uint16_t *a,
                                     const uint16_t *b, float *y)
{
    const int64_t steps = p->width / UNIT;
    multiply(&(product){a, steps, b, steps, at->all, at->seen, steps, y, p->keys, false});
}

/* w->left times keys or values: w->sum. */
WITH_TILES static void multiply_left(const fgi_attention *p, const part *at, const worker *w,
                                     const uint16_t *b)
{
    const int64_t steps = p->keys / UNIT;
    multiply(&(product){w->left, steps, b, steps, at->all, p->width, at->seen / UNIT, w->sum,
                        p->width, false});
}

INLINED void store_row(const float *from, int64_t width, float factor, const fgi_operand *to,
                       int64_t i)
{
    for (int64_t c = 0; c < width; c += FGI_WIDE) {
        const fgi_wide x = *(const fgi_wide *)(const void *)(from + c) * factor;
        fgi_store((char *)to->data + (i * to->row + c) * 2, &x, true);
    }
}

WITH_TILES static void attend(const fgi_attention *p, const worker *w, const part *at)
{
    const fgi_operand q = rows_of(p, &p->q, at), o = rows_of(p, &p->o, at);
    const rows m = rows_from(&q, at->count, p->width);
    float factor[ROWS], *lse = lse_of(p, at);
    pack_left(&m, w->q);
    multiply_keys(p, at, w->q, w->kt, w->score);
    for (int64_t i = 0; i < at->count; i++) {
        float *score = w->score + i * p->keys;
        const int64_t keys = fgi_seen_by(p, at->first + i);
        const float most = fgi_find_largest(score, keys) * p->scale;
        const float sum = fgi_exponentials(score, keys, at->seen, p->scale, most);
        lse[i] = most + logf(sum);
        factor[i] = 1 / sum;
        round_left(p, score, at->seen, i, w->left);
    }
    multiply_left(p, at, w, w->v);
    for (int64_t i = 0; i < at->count; i++)
        store_row(w->sum + i * p->width, p->width, factor[i], &o, i);
}

/* What these queries add to dk or dv, transposed. */
WITH_TILES static void add_transposed(const fgi_attention *p, const part *at, const uint16_t *a,
                                      const uint16_t *b, float *y)
{
    multiply(&(product){a, ROW_STEPS, b, ROW_STEPS, p->width, at->seen, at->all / UNIT, y, p->keys,
                        true});
}

/* Scores and gradients of weights become operands. */
WITH_TILES static void differentiate(const fgi_attention *p, const worker *w, const part *at,
                                     const fgi_operand *o, const fgi_operand *dout)
{
    const float *lse = lse_of(p, at);
    for (int64_t i = 0; i < at->all; i++) {
        float *score = w->score + i * p->keys, *dscore = w->dscore + i * p->keys;
        if (i < at->count)
            fgi_differentiate(score, dscore, fgi_seen_by(p, at->first + i), at->seen, p->scale,
                              lse[i], fgi_shared(p, o, dout, i));
        else {
            memset(score, 0, (size_t)at->seen * sizeof *score);
            memset(dscore, 0, (size_t)at->seen * sizeof *dscore);
        }
        round_left(p, dscore, at->seen, i, w->left);
        if (i % 2 == 1) {
            round_right(p, score - p->keys, at->seen, i - 1, w->weights);
            round_right(p, dscore - p->keys, at->seen, i - 1, w->dscores);
        }
    }
}

WITH_TILES static void attend_back(const fgi_attention *p, const worker *w, const part *at)
{
    const fgi_operand q = rows_of(p, &p->q, at), dout = rows_of(p, &p->dout, at);
    const fgi_operand o = rows_of(p, &p->o, at), dq = rows_of(p, &p->dq, at);
    const rows of_q = rows_from(&q, at->count, p->width);
    const rows of_dout = rows_from(&dout, at->count, p->width);
    pack_left(&of_q, w->q);
    pack_left(&of_dout, w->dout);
    pack_left_transposed(&of_q, w->qt);
    pack_left_transposed(&of_dout, w->doutt);
    multiply_keys(p, at, w->q, w->kt, w->score);
    multiply_keys(p, at, w->dout, w->vt, w->dscore);
    differentiate(p, w, at, &o, &dout);
    add_transposed(p, at, w->doutt, w->weights, w->dvt);
    add_transposed(p, at, w->qt, w->dscores, w->dkt);
    multiply_left(p, at, w, w->k);
    for (int64_t i = 0; i < at->count; i++)
        store_row(w->sum + i * p->width, p->width, 1, &dq, i);
}

/* ---- heads ----------------------------------------------------------------------------------- */

/* Its parts of the memory; the number of floats. */
INLINED int64_t share(const fgi_attention *p, float *memory, worker *w)
{
    const int64_t matrix = p->keys * p->width, block = ROWS * p->width, all = ROWS * p->keys;
    uint16_t **const half[] = {&w->kt, &w->vt,    &w->k,    &w->v,       &w->q,      &w->dout,
                               &w->qt, &w->doutt, &w->left, &w->weights, &w->dscores};
    const int64_t half_size[] = {matrix, matrix, matrix, matrix, block, block,
                                 block,  block,  all,    all,    all};
    float **const whole[] = {&w->score, &w->dscore, &w->dkt, &w->dvt, &w->sum};
    const int64_t size[] = {all, all, matrix, matrix, block};
    int64_t at = 0;
    for (size_t i = 0; i < sizeof size / sizeof size[0]; at += size[i], i++)
        *whole[i] = memory + at;
    for (size_t i = 0; i < sizeof half / sizeof half[0]; at += half_size[i] / 2, i++)
        *half[i] = (uint16_t *)(void *)(memory + at);
    return at;
}

int64_t fgi_attention_tiles_memory(const fgi_attention *p)
{
    worker unused;
    return share(p, NULL, &unused);
}

bool fgi_attention_has_tiles(const fgi_attention *p)
{
    return p->q.is_half && p->n->width % UNIT == 0 && p->n->width <= MOST_WIDTH &&
           fgi_kernel_tiles_run();
}

WITH_TILES static void load_head(const fgi_attention *p, const worker *w, int64_t batch,
                                 int64_t head)
{
    const fgi_operand k = fgi_rows_of_head(p, &p->k, batch, head, 0, false);
    const fgi_operand v = fgi_rows_of_head(p, &p->v, batch, head, 0, false);
    const rows of_k = rows_from(&k, p->n->keys, p->width);
    const rows of_v = rows_from(&v, p->n->keys, p->width);
    pack_right_transposed(&of_k, w->kt);
    if (p->dq.data == NULL) {
        pack_right(&of_v, w->v);
        return;
    }
    pack_right(&of_k, w->k);
    pack_right_transposed(&of_v, w->vt);
    memset(w->dkt, 0, (size_t)(p->keys * p->width) * sizeof *w->dkt);
    memset(w->dvt, 0, (size_t)(p->keys * p->width) * sizeof *w->dvt);
}

/* [D, keys] to the rows of a head. */
WITH_TILES static void store_transposed(const fgi_attention *p, const float *from,
                                        const fgi_operand *to)
{
    for (int64_t k = 0; k < p->n->keys; k += FGI_WIDE)
        for (int64_t c = 0; c < p->width; c += FGI_WIDE) {
            fgi_wide row[FGI_WIDE];
            for (int i = 0; i < FGI_WIDE; i++)
                row[i] = *(const fgi_wide *)(const void *)(from + (c + i) * p->keys + k);
            fgi_transpose(row);
            for (int64_t i = 0; i < FGI_WIDE && k + i < p->n->keys; i++)
                fgi_store((char *)to->data + ((k + i) * to->row + c) * 2, &row[i], true);
        }
}

WITH_TILES void fgi_attention_tiles(void *attention, int64_t i, int worker_index)
{
    const fgi_attention *p = attention;
    const int64_t batch = i / p->k.count, head = i % p->k.count, group = p->n->group;
    worker w;
    (void)share(p, p->memory + worker_index * p->worker_size, &w);
    fgi_tiles_begin();
    load_head(p, &w, batch, head);
    for (int64_t g = head * group; g < (head + 1) * group; g++)
        for (int64_t first = 0; first < p->n->queries; first += ROWS) {
            const part at = part_of(p, batch, g, first);
            if (p->dq.data == NULL)
                attend(p, &w, &at);
            else
                attend_back(p, &w, &at);
        }
    fgi_tiles_end();
    if (p->dq.data == NULL)
        return;
    const fgi_operand dk = fgi_rows_of_head(p, &p->dk, batch, head, 0, false);
    const fgi_operand dv = fgi_rows_of_head(p, &p->dv, batch, head, 0, false);
    store_transposed(p, w.dkt, &dk);
    store_transposed(p, w.dvt, &dv);
}
