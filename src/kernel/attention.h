/* attention.h - what both forms of attention share: kernel_attention.c, in f32, and
 * kernel_attention_tiles.c, with products of bf16.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_ATTENTION_H
#define FGI_KERNEL_ATTENTION_H

#include <math.h>

#include "kernel/kernel.h"
#include "kernel/pack.h"
#include "kernel/parallel.h"

/* Keys and the width of a head are padded to a multiple of this. */
enum { FGI_ATTENTION_UNIT = FGI_MOST_WIDE * FGI_WIDE };

/* A tensor [B, T, heads, D], or a part of [B, T, row]; a head of a sample is a matrix [T, D]. */
typedef struct fgi_heads {
    char *data;
    int64_t length, count, row;
    bool is_half;
} fgi_heads;

/* A call: the gradient, if there is dq. */
typedef struct fgi_attention {
    const fgi_kernel_attention_numbers *n;
    float scale;
    fgi_heads q, k, v, o, dout, dq, dk, dv;
    float *lse;                 /* [B, heads, T] */
    int64_t keys, width, panel; /* padded; columns of a panel */
    int64_t worker_size;        /* floats */
    float *memory;
} fgi_attention;

/* With tiles of AMX: whether the call can be computed so, the memory of a thread in floats, and
 * head i of the keys. */
bool fgi_attention_has_tiles(const fgi_attention *p);
int64_t fgi_attention_tiles_memory(const fgi_attention *p);
void fgi_attention_tiles(void *attention, int64_t i, int worker);

INLINED fgi_wide *fgi_vectors(float *at) { return (fgi_wide *)(void *)at; }

INLINED float fgi_total(const fgi_wide *x)
{
    float sum = 0;
    for (int i = 0; i < FGI_WIDE; i++)
        sum += (*x)[i];
    return sum;
}

INLINED float fgi_find_largest(float *x, int64_t count)
{
    fgi_wide most = (fgi_wide){0} - INFINITY;
    for (int64_t i = 0; i < count; i += FGI_WIDE) {
        fgi_wide here = *fgi_vectors(x + i);
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

/* Where the head begins. */
INLINED char *fgi_head_of(const fgi_heads *of, int64_t batch, int64_t head, int64_t width)
{
    return of->data + (batch * of->length * of->row + head * width) * (of->is_half ? 2 : 4);
}

/* Rows from `first` of a head as a matrix. */
INLINED fgi_operand fgi_rows_of_head(const fgi_attention *p, const fgi_heads *of, int64_t batch,
                                     int64_t head, int64_t first, bool is_transposed)
{
    return (fgi_operand){.data = fgi_head_of(of, batch, head, p->n->width) +
                                 first * of->row * (of->is_half ? 2 : 4),
                         .row = is_transposed ? 1 : of->row,
                         .column = is_transposed ? of->row : 1,
                         .is_half = of->is_half};
}

/* Keys that a query sees. */
INLINED int64_t fgi_seen_by(const fgi_attention *p, int64_t query)
{
    return p->n->is_causal ? query + 1 + p->n->keys - p->n->queries : p->n->keys;
}

/* e^(score - by) for `count` keys, zeros up to `padded`; their sum. */
INLINED float fgi_exponentials(float *score, int64_t count, int64_t padded, float scale, float by)
{
    fgi_wide sum = {0};
    for (int64_t i = 0; i < padded; i += FGI_WIDE) {
        fgi_wide x = *fgi_vectors(score + i) * scale - by;
        fgi_wide_bits is_seen;
        fgi_find_below(i, count, &is_seen);
        fgi_exp(&x);
        fgi_keep(&is_seen, &x, 0);
        *fgi_vectors(score + i) = x;
        sum += x;
    }
    return fgi_total(&sum);
}

/* The sum over D of dout o, of query i. */
INLINED float fgi_shared(const fgi_attention *p, const fgi_operand *o, const fgi_operand *dout,
                         int64_t i)
{
    const int64_t size = o->is_half ? 2 : 4;
    fgi_wide sum = {0}, a, b;
    for (int64_t c = 0; c < p->n->width; c += FGI_WIDE) {
        fgi_load_few(&a, o->data + (i * o->row + c) * size, p->n->width - c, o->is_half);
        fgi_load_few(&b, dout->data + (i * dout->row + c) * size, p->n->width - c, o->is_half);
        sum += a * b;
    }
    return fgi_total(&sum);
}

/* Scores become weights, and the gradients of weights those of scores: of the first `count` keys;
 * zeros up to `padded`. */
INLINED void fgi_differentiate(float *score, float *dscore, int64_t count, int64_t padded,
                               float scale, float lse, float shared)
{
    (void)fgi_exponentials(score, count, padded, scale, lse);
    for (int64_t k = 0; k < padded; k += FGI_WIDE)
        *fgi_vectors(dscore + k) =
            *fgi_vectors(score + k) * (*fgi_vectors(dscore + k) - shared) * scale;
}

#endif
