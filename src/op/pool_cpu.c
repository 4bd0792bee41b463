/* pool_cpu.c - lowerings of max pooling and its gradient for XLA's CPU backend: kernels
 * (src/kernel/kernel_pool.c), and for the gradient comparisons of shifted images, ten times faster
 * than select_and_scatter.
 *
 * Small windows are compared element by element in one loop. Code size and work grow with the
 * window's area, so larger windows are processed in two stages: y is the maximum over rows of the
 * maxima over columns, and the first maximum of a window, in row-major order, is the first in the
 * first row that has it. Each stage is a loop over the elements of one direction.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/pool.h"

#include <inttypes.h>
#include <math.h>

#include "hlo/mlir.h"
#include "kernel/kernel.h"
#include "op/kernel_call.h"
#include "op/lowerings.h"

/* Elements below which the backend is as fast. */
enum { MOST_TAPS = 16, LEAST_ELEMENTS = 1 << 15, LEAST_CHANNELS = 4 };

/* One iteration for one window element: the first maximum of each window receives dy. */
typedef struct finds {
    fgi_value term; /* dy where this element is the first maximum, else 0 */
    fgi_value open; /* bool: windows whose maximum was not found yet */
} finds;

static finds find(fgi_builder *b, fgi_value tap, fgi_value y, fgi_value dy, const fgi_value *open)
{
    finds f;
    const fgi_value hit = fgi_build_compare(b, "EQ", tap, y);
    const fgi_value takes = open == NULL ? hit : fgi_build_binary(b, "and", hit, *open);
    const fgi_value miss = fgi_build_unary(b, "not", hit);
    const fgi_value zero = fgi_build_splat(b, &y.type, 0);
    f.term = fgi_build_select(b, takes, dy, zero);
    f.open = open == NULL ? miss : fgi_build_binary(b, "and", *open, miss);
    return f;
}

/* ---- small windows --------------------------------------------------------------------------- */

static fgi_value by_taps(fgi_builder *b, const void *context, const fgi_value *in)
{
    const fgi_pool_attr *attr = context;
    const fgi_value x = in[FGI_POOL_X], y = in[FGI_POOL_Y];
    const int64_t *size = y.type.dim, step[4] = {1, attr->stride, attr->stride, 1};
    const int64_t low[4] = {0, attr->low[0], attr->low[1], 0};
    const int64_t high[4] = {0, attr->high[0], attr->high[1], 0};
    const int64_t gap[4] = {0, attr->stride - 1, attr->stride - 1, 0};
    const int64_t reach[2] = {fgi_extent(size[1], attr->stride), fgi_extent(size[2], attr->stride)};
    const fgi_value padded = fgi_build_pad(b, x, (double)-INFINITY, low, high, NULL);
    fgi_value sum = {0};
    finds f = {0};
    for (int64_t at = 0; at < attr->size * attr->size; at++) {
        const int64_t i = at / attr->size, j = at % attr->size;
        const int64_t start[4] = {0, i, j, 0};
        const int64_t limit[4] = {x.type.dim[0], i + reach[0], j + reach[1], x.type.dim[3]};
        const int64_t before[4] = {0, i - attr->low[0], j - attr->low[1], 0};
        const int64_t after[4] = {0, x.type.dim[1] - before[1] - reach[0],
                                  x.type.dim[2] - before[2] - reach[1], 0};
        const fgi_value tap = fgi_build_slice(b, padded, start, limit, step);
        f = find(b, tap, y, in[FGI_POOL_DY], at == 0 ? NULL : &f.open);
        const fgi_value back = fgi_build_pad(b, f.term, 0, before, after, gap);
        sum = at == 0 ? back : fgi_build_binary(b, "add", sum, back);
    }
    return sum;
}

/* ---- large windows --------------------------------------------------------------------------- */

/* Windows over the middle dimension of [A, L, B]. */
typedef struct line {
    int64_t size, stride, low;
} line;

enum { DX, OPEN, X, Y, DY, LINE_STATE };

/* Element i of every window. x and dx are [A, q, stride, B], so that these elements are one
 * contiguous block. */
static void line_turn(fgi_builder *b, const void *context, fgi_value i, fgi_value *state)
{
    const line *l = context;
    const int64_t *y = state[Y].type.dim, block[4] = {y[0], y[1], 1, y[2]};
    fgi_block_start start = {.count = 2, .axis = {1, 2}};
    start.at[0] = fgi_build_index(b, "divide", i, l->stride);
    start.at[1] = fgi_build_index(b, "remainder", i, l->stride);
    const fgi_value seen = fgi_build_dynamic_slice(b, state[X], &start, block);
    const fgi_value tap = fgi_build_reshape(b, seen, 3, y);
    const finds f = find(b, tap, state[Y], state[DY], &state[OPEN]);
    const fgi_value term = fgi_build_reshape(b, f.term, 4, block);
    const fgi_value before = fgi_build_dynamic_slice(b, state[DX], &start, block);
    const fgi_value sum = fgi_build_binary(b, "add", before, term);
    state[DX] = fgi_build_dynamic_update_slice(b, state[DX], sum, &start);
    state[OPEN] = f.open;
}

/* The gradient of maxima over lines: x and the result are [A, L, B], y and dy [A, L', B]. */
static fgi_value by_lines(fgi_builder *b, fgi_value x, fgi_value y, fgi_value dy, const line *l)
{
    const int64_t *d = x.type.dim, q = (l->size - 1) / l->stride + y.type.dim[1];
    const int64_t left = q * l->stride - l->low - d[1]; /* < 0: no window covers the last ones */
    const fgi_value padded = fgi_build_pad(b, x, (double)-INFINITY, (const int64_t[]){0, l->low, 0},
                                           (const int64_t[]){0, left, 0}, NULL);
    const fgi_value folded =
        fgi_build_reshape(b, padded, 4, (const int64_t[]){d[0], q, l->stride, d[2]});
    fg_type choice = y.type;
    choice.dtype = FG_BOOL;
    fgi_value state[LINE_STATE] = {[X] = folded, [Y] = y, [DY] = dy};
    state[DX] = fgi_build_splat(b, &folded.type, 0);
    state[OPEN] = fgi_build_splat(b, &choice, 1);
    fgi_build_loop(b, l->size, LINE_STATE, state, line_turn, l);
    const fgi_value sum = fgi_build_reshape(b, state[DX], 3, padded.type.dim);
    return fgi_build_pad(b, sum, 0, (const int64_t[]){0, -l->low, 0},
                         (const int64_t[]){0, -left, 0}, NULL);
}

/* a [N, H, W, C] with the dimensions before and after `axis` merged. */
static fgi_value as_lines(fgi_builder *b, fgi_value a, int axis)
{
    const int64_t *d = a.type.dim;
    return fgi_build_reshape(b, a, 3,
                             axis == 1 ? (const int64_t[]){d[0], d[1], d[2] * d[3]}
                                       : (const int64_t[]){d[0] * d[1], d[2], d[3]});
}

/* The maxima over the windows' columns: [N, H, W', C]. */
static fgi_value row_maxima(fgi_builder *b, const fgi_pool_attr *attr, fgi_value x, int64_t columns)
{
    fgi_buf text = {0};
    fg_type type = x.type;
    type.dim[2] = columns;
    fgi_build_array(&text, "window_dimensions", 4, (const int64_t[]){1, 1, attr->size, 1});
    fgi_build_array(&text, "window_strides", 4, (const int64_t[]){1, 1, attr->stride, 1});
    fgi_buf_puts(&text, ", padding = ");
    fgi_mlir_pairs(&text, 4, (const int64_t[]){0, 0, attr->low[1], 0},
                   (const int64_t[]){0, 0, attr->high[1], 0});
    const fgi_value init = fgi_build_splat(b, &(fg_type){.dtype = type.dtype}, (double)-INFINITY);
    const fgi_value r = fgi_build_value(b, &type);
    fgi_build_reduction(b, &r, "reduce_window", "maximum", x, init, &text);
    return r;
}

static fgi_value by_stages(fgi_builder *b, const fgi_pool_attr *attr, const fgi_value *in)
{
    const fgi_value x = in[FGI_POOL_X], y = in[FGI_POOL_Y], dy = in[FGI_POOL_DY];
    const line down = {attr->size, attr->stride, attr->low[0]};
    const line across = {attr->size, attr->stride, attr->low[1]};
    const fgi_value rows = row_maxima(b, attr, x, y.type.dim[2]);
    const fgi_value dy_lines = as_lines(b, dy, 1), y_lines = as_lines(b, y, 1);
    fgi_value d_rows = by_lines(b, as_lines(b, rows, 1), y_lines, dy_lines, &down);
    d_rows = fgi_build_reshape(b, d_rows, 4, rows.type.dim);
    const fgi_value d_row_lines = as_lines(b, d_rows, 2), row_lines = as_lines(b, rows, 2);
    const fgi_value dx = by_lines(b, as_lines(b, x, 2), row_lines, d_row_lines, &across);
    return fgi_build_reshape(b, dx, 4, x.type.dim);
}

static void emit_dx(fgi_emit *e)
{
    const fgi_pool_attr *attr = e->node->attr;
    const fgi_value in[] = {fgi_emit_in(e, FGI_POOL_X), fgi_emit_in(e, FGI_POOL_Y),
                            fgi_emit_in(e, FGI_POOL_DY)};
    fgi_emit_become(e, attr->size * attr->size <= MOST_TAPS
                           ? fgi_build_call(&e->b, &e->node->type, 3, in, by_taps, attr)
                           : by_stages(&e->b, attr, in));
}

const fgi_lowering fgi_max_pool_dx_cpu = {
    .op = &fgi_max_pool_dx, .platform = FGI_CPU, .rule = "compared-maxima", .emit = emit_dx};

/* ---- kernels --------------------------------------------------------------------------------- */

static bool is_large(const fgi_emit *e)
{
    const fg_type *x = &e->node->in[FGI_POOL_X]->type;
    return (x->dtype == FG_F32 || x->dtype == FG_BF16) && x->dim[3] >= LEAST_CHANNELS &&
           fg_type_count(x) >= LEAST_ELEMENTS && fgi_client_has_kernels(e->client) &&
           fgi_client_has_shards(e->client, x->dim[0]);
}

static void call_kernel(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    const fgi_pool_attr *attr = e->node->attr;
    const fgi_kernel_pool_numbers n = {0, attr->size, attr->stride, {attr->low[0], attr->low[1]}};
    const bool is_dx = e->node->op == &fgi_max_pool_dx;
    *out = fgi_build_value(&e->b, &out->type);
    fgi_emit_kernel(e, &(fgi_kernel_call){is_dx ? FGI_KERNEL_MAX_POOL_DX : FGI_KERNEL_MAX_POOL,
                                          e->node->arity, 1, in, out, sizeof n, &n});
}

static void emit_kernel(fgi_emit *e)
{
    static const fgi_shard_kind by_rows[] = {FGI_BY_ROWS, FGI_BY_ROWS, FGI_BY_ROWS};
    fgi_emit_node_of_shards(e, by_rows, 1, by_rows, call_kernel);
}

#define KERNEL .platform = FGI_CPU, .rule = "pool-kernel", .applies = is_large, .emit = emit_kernel
const fgi_lowering fgi_max_pool_kernel_cpu = {.op = &fgi_max_pool_op, KERNEL};
const fgi_lowering fgi_max_pool_dx_kernel_cpu = {.op = &fgi_max_pool_dx, KERNEL};
