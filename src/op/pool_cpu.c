/* pool_cpu.c - the gradient of max pooling for XLA's CPU backend, which runs select_and_scatter ten
 * times slower than comparisons of shifted images.
 *
 * Small windows are compared tap by tap in one loop. Code and work of that grow with the window's
 * area, so larger windows are taken in two stages: y is the maximum over rows of the maxima over
 * columns, and the first maximum of a window, in row-major order, is the first in the first row
 * that has it. Each stage is a loop over the taps of one direction.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/pool.h"

#include <math.h>

#include "ir/mlir.h"
#include "op/parts.h"

enum { MOST_TAPS = 16 };

/* One turn over windows that see one tap: the first maximum of each takes dy. */
typedef struct finds {
    fgi_part share; /* dy where this tap is the first maximum, else 0 */
    fgi_part open;  /* bool: windows whose maximum was not met yet */
} finds;

static finds find(fgi_emit *e, fgi_part tap, fgi_part y, fgi_part dy, const fgi_part *open)
{
    fg_type choice = y.type;
    choice.dtype = FG_BOOL;
    const fgi_part hit = fgi_part_line(e, &choice, "compare",
                                       "comparison_direction = #stablehlo<comparison_direction EQ>",
                                       2, (const fgi_part[]){tap, y});
    const fgi_part takes = open == NULL ? hit : fgi_part_pair(e, "and", hit, *open);
    const fgi_part miss = fgi_part_line(e, &choice, "not", NULL, 1, &hit);
    const fgi_part zero = fgi_part_splat(e, &y.type, 0);
    return (finds){
        .share = fgi_part_line(e, &y.type, "select", NULL, 3, (const fgi_part[]){takes, dy, zero}),
        .open = open == NULL ? miss : fgi_part_pair(e, "and", *open, miss)};
}

/* ---- small windows --------------------------------------------------------------------------- */

static fgi_part by_taps(fgi_emit *e, const void *context, const fgi_part *in)
{
    const fgi_pool_attr *attr = context;
    const fgi_part x = in[FGI_POOL_X], y = in[FGI_POOL_Y];
    const int64_t *size = y.type.dim, step[4] = {1, attr->stride, attr->stride, 1};
    const int64_t low[4] = {0, attr->low[0], attr->low[1], 0};
    const int64_t high[4] = {0, attr->high[0], attr->high[1], 0};
    const int64_t gap[4] = {0, attr->stride - 1, attr->stride - 1, 0};
    const int64_t reach[2] = {fgi_extent(size[1], attr->stride), fgi_extent(size[2], attr->stride)};
    const fgi_part padded = fgi_part_pad(e, x, (double)-INFINITY, low, high, NULL);
    fgi_part sum = {0};
    finds f = {0};
    for (int64_t at = 0; at < attr->size * attr->size; at++) {
        const int64_t i = at / attr->size, j = at % attr->size;
        const int64_t start[4] = {0, i, j, 0};
        const int64_t limit[4] = {x.type.dim[0], i + reach[0], j + reach[1], x.type.dim[3]};
        const int64_t before[4] = {0, i - attr->low[0], j - attr->low[1], 0};
        const int64_t after[4] = {0, x.type.dim[1] - before[1] - reach[0],
                                  x.type.dim[2] - before[2] - reach[1], 0};
        const fgi_part tap = fgi_part_slice(e, padded, start, limit, step);
        f = find(e, tap, y, in[FGI_POOL_DY], at == 0 ? NULL : &f.open);
        const fgi_part back = fgi_part_pad(e, f.share, 0, before, after, gap);
        sum = at == 0 ? back : fgi_part_pair(e, "add", sum, back);
    }
    return sum;
}

/* ---- large windows --------------------------------------------------------------------------- */

/* Windows over the middle dimension of [A, L, B]. */
typedef struct line {
    int64_t size, stride, low;
} line;

enum { DX, OPEN, X, Y, DY, LINE_STATE };

/* Tap i of every window. x and dx are [A, q, stride, B], so that what the windows see of them is
 * one block without gaps. */
static void line_turn(fgi_emit *e, const void *context, fgi_part i, fgi_part *state)
{
    const line *l = context;
    const int64_t *y = state[Y].type.dim, block[4] = {y[0], y[1], 1, y[2]};
    const fgi_place place = {.count = 2,
                             .axis = {1, 2},
                             .at = {fgi_part_index(e, "divide", i, l->stride),
                                    fgi_part_index(e, "remainder", i, l->stride)}};
    const fgi_part tap = fgi_part_reshape(e, fgi_part_block(e, state[X], &place, block), 3, y);
    const finds f = find(e, tap, state[Y], state[DY], &state[OPEN]);
    const fgi_part sum = fgi_part_pair(e, "add", fgi_part_block(e, state[DX], &place, block),
                                       fgi_part_reshape(e, f.share, 4, block));
    state[DX] = fgi_part_put_block(e, state[DX], sum, &place);
    state[OPEN] = f.open;
}

/* The gradient of maxima over lines: x and the result are [A, L, B], y and dy [A, L', B]. */
static fgi_part by_lines(fgi_emit *e, fgi_part x, fgi_part y, fgi_part dy, const line *l)
{
    const int64_t *d = x.type.dim, q = (l->size - 1) / l->stride + y.type.dim[1];
    const int64_t left = q * l->stride - l->low - d[1]; /* < 0: no window sees the last ones */
    const fgi_part padded = fgi_part_pad(e, x, (double)-INFINITY, (const int64_t[]){0, l->low, 0},
                                         (const int64_t[]){0, left, 0}, NULL);
    const fgi_part folded =
        fgi_part_reshape(e, padded, 4, (const int64_t[]){d[0], q, l->stride, d[2]});
    fg_type choice = y.type;
    choice.dtype = FG_BOOL;
    fgi_part state[LINE_STATE] = {fgi_part_splat(e, &folded.type, 0), fgi_part_splat(e, &choice, 1),
                                  folded, y, dy};
    fgi_part_loop(e, l->size, LINE_STATE, state, line_turn, l);
    const fgi_part sum = fgi_part_reshape(e, state[DX], 3, padded.type.dim);
    return fgi_part_pad(e, sum, 0, (const int64_t[]){0, -l->low, 0}, (const int64_t[]){0, -left, 0},
                        NULL);
}

/* a [N, H, W, C] with the dimensions before and after `axis` put together. */
static fgi_part as_lines(fgi_emit *e, fgi_part a, int axis)
{
    const int64_t *d = a.type.dim;
    return fgi_part_reshape(e, a, 3,
                            axis == 1 ? (const int64_t[]){d[0], d[1], d[2] * d[3]}
                                      : (const int64_t[]){d[0] * d[1], d[2], d[3]});
}

/* The maxima over the windows' columns: [N, H, W', C]. */
static fgi_part row_maxima(fgi_emit *e, const fgi_pool_attr *attr, fgi_part x, int64_t columns)
{
    fgi_buf text = {0};
    fg_type type = x.type;
    type.dim[2] = columns;
    fgi_buf_puts(&text, "window_dimensions = ");
    fgi_mlir_array(&text, 4, (const int64_t[]){1, 1, attr->size, 1});
    fgi_buf_puts(&text, ", window_strides = ");
    fgi_mlir_array(&text, 4, (const int64_t[]){1, 1, attr->stride, 1});
    fgi_buf_puts(&text, ", padding = ");
    fgi_mlir_pairs(&text, 4, (const int64_t[]){0, 0, attr->low[1], 0},
                   (const int64_t[]){0, 0, attr->high[1], 0});
    const fgi_part init = fgi_part_splat(e, &(fg_type){.dtype = type.dtype}, (double)-INFINITY);
    const fgi_part r = {fgi_emit_temp(e), type};
    const fgi_region region = {r.id, x.id, init.id, &r.type, &x.type};
    fgi_emit_region(e, "reduce_window", "maximum", &region);
    if (text.failed)
        e->out->failed = true;
    else
        fgi_buf_printf(e->out, " {%s}", text.data);
    fgi_emit_region_end(e, &region);
    fgi_buf_fini(&text);
    return r;
}

static fgi_part by_stages(fgi_emit *e, const fgi_pool_attr *attr, const fgi_part *in)
{
    const fgi_part x = in[FGI_POOL_X], y = in[FGI_POOL_Y], dy = in[FGI_POOL_DY];
    const line down = {attr->size, attr->stride, attr->low[0]};
    const line across = {attr->size, attr->stride, attr->low[1]};
    const fgi_part rows = row_maxima(e, attr, x, y.type.dim[2]);
    fgi_part d_rows =
        by_lines(e, as_lines(e, rows, 1), as_lines(e, y, 1), as_lines(e, dy, 1), &down);
    d_rows = fgi_part_reshape(e, d_rows, 4, rows.type.dim);
    const fgi_part dx =
        by_lines(e, as_lines(e, x, 2), as_lines(e, rows, 2), as_lines(e, d_rows, 2), &across);
    return fgi_part_reshape(e, dx, 4, x.type.dim);
}

bool fgi_pool_cpu_dx(fgi_emit *e)
{
    const fgi_pool_attr *attr = e->node->attr;
    const fgi_part in[] = {fgi_part_in(e, FGI_POOL_X), fgi_part_in(e, FGI_POOL_Y),
                           fgi_part_in(e, FGI_POOL_DY)};
    if (!fgi_emit_has(e, FGI_LOWER_POOL))
        return false;
    fgi_part_become(e, attr->size * attr->size <= MOST_TAPS
                           ? fgi_part_isolated(e, &e->node->type, 3, in, by_taps, attr)
                           : by_stages(e, attr, in));
    return true;
}
