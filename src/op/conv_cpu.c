/* conv_cpu.c - lowerings of convolutions for XLA's CPU backend. Each slow case and its replacement
 * was measured; docs/decisions/cpu-backend.md has the results.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/conv.h"
#include "op/lowerings.h"
#include "op/reduce.h"

enum { MOST_TAPS = 64, CHUNK = 16, CHUNK_LEAST_PIXELS = 64, MOST_CHUNKS = 8 };

static const char chunk_rule[] = "batch-chunks";

/* Arguments of the body of a loop or function. */
typedef struct problem {
    const fgi_emit *e;
    const fgi_conv_attr *attr;
    fgi_conv_window window;
    fg_type y; /* of the result */
} problem;

static problem problem_of(const fgi_emit *e, fgi_conv_window window)
{
    return (problem){e, e->node->attr, window, fgi_conv_type(e)};
}

/* ---- depthwise convolutions as sums of shifted images ---------------------------------------- */

/* The forward convolution has one input channel per group, and a small kernel. */
static bool is_depthwise(const fgi_emit *e, const fg_type *x)
{
    const fgi_conv_attr *attr = e->node->attr;
    return attr->dims == 2 && attr->groups > 1 && x->dim[x->rank - 1] == attr->groups &&
           attr->k_size[1] <= MOST_TAPS;
}

static bool y_is_depthwise(const fgi_emit *e) { return is_depthwise(e, &e->node->in[0]->type); }

static bool dx_is_depthwise(const fgi_emit *e)
{
    const fg_type *x = &e->node->type, *dy = &e->node->in[0]->type;
    return is_depthwise(e, x) &&
           dy->dim[dy->rank - 1] == ((const fgi_conv_attr *)e->node->attr)->groups;
}

/* 16-bit floats as f32, in which products are added up. */
static fgi_value in_f32(fgi_builder *b, fgi_value x)
{
    return fgi_build_convert(b, x, fgi_is_half(x.type.dtype) ? FG_F32 : x.type.dtype);
}

/* x with padding around and between its elements, and `wide` copies of each channel. */
static fgi_value padded(fgi_builder *b, fgi_value x, const fgi_conv_window *w, int64_t wide)
{
    const int64_t low[4] = {0, w->low[0], w->low[1], 0}, high[4] = {0, w->high[0], w->high[1], 0};
    const int64_t gap[4] = {0, w->lhs_dilation[0] - 1, w->lhs_dilation[1] - 1, 0};
    x = fgi_build_pad(b, x, 0, low, high, gap);
    if (wide == 1)
        return x;
    fg_type type = x.type;
    type.rank = 5;
    type.dim[4] = wide;
    x = fgi_build_broadcast(b, x, &type, (const int64_t[]){0, 1, 2, 3});
    type.dim[3] *= wide;
    return fgi_build_reshape(b, x, 4, type.dim);
}

/* The elements of the padded x for kernel element (i, j): an image with the size of y. */
static fgi_value seen(fgi_builder *b, fgi_value x, const fgi_conv_window *w, const int64_t *y_size,
                      int64_t i, int64_t j)
{
    const int64_t start[4] = {0, i * w->rhs_dilation[0], j * w->rhs_dilation[1], 0};
    const int64_t stride[4] = {1, w->stride[0], w->stride[1], 1};
    const int64_t limit[4] = {x.type.dim[0], start[1] + fgi_extent(y_size[0], stride[1]),
                              start[2] + fgi_extent(y_size[1], stride[2]), x.type.dim[3]};
    return fgi_build_slice(b, x, start, limit, stride);
}

/* Kernel element (i, j), a number per channel, broadcast to `type`. */
static fgi_value tap(fgi_builder *b, fgi_value k, const fg_type *type, int64_t i, int64_t j)
{
    const int64_t start[4] = {i, j, 0, 0}, limit[4] = {i + 1, j + 1, 1, k.type.dim[3]};
    const fgi_value cut = fgi_build_slice(b, k, start, limit, NULL);
    const fgi_value row = fgi_build_reshape(b, cut, 1, &k.type.dim[3]);
    return fgi_build_broadcast(b, row, type, (const int64_t[]){3});
}

/* sum (NULL: 0) plus the products of all kernel elements with their shifted images. */
static fgi_value add_taps(fgi_builder *b, const problem *p, const fgi_value *sum, fgi_value x,
                          fgi_value k)
{
    const int64_t *size = k.type.dim;
    fgi_value r = sum != NULL ? *sum : (fgi_value){0};
    for (int64_t at = 0; at < size[0] * size[1]; at++) {
        const int64_t i = at / size[1], j = at % size[1];
        const fgi_value factor = tap(b, k, &p->y, i, j);
        const fgi_value image = seen(b, x, &p->window, &p->y.dim[1], i, j);
        const fgi_value term = fgi_build_binary(b, "multiply", image, factor);
        r = at == 0 && sum == NULL ? term : fgi_build_binary(b, "add", r, term);
    }
    return r;
}

enum { SUM, IMAGE, KERNEL, ROW_STATE };

/* Adds row i of the kernel. */
static void add_row(fgi_builder *b, const void *context, fgi_value i, fgi_value *state)
{
    const problem *p = context;
    const fgi_conv_window *w = &p->window;
    const int64_t *x = state[IMAGE].type.dim, *k = state[KERNEL].type.dim;
    const int64_t rows = fgi_extent(p->y.dim[1], w->stride[0]);
    const fgi_value first = fgi_build_index(b, "multiply", i, w->rhs_dilation[0]);
    const fgi_value band = fgi_build_dynamic_slice(
        b, state[IMAGE], &(fgi_block_start){.count = 1, .axis = {1}, .at = {first}},
        (const int64_t[]){x[0], rows, x[2], x[3]});
    const fgi_value row = fgi_build_dynamic_slice(
        b, state[KERNEL], &(fgi_block_start){.count = 1, .axis = {0}, .at = {i}},
        (const int64_t[]){1, k[1], k[2], k[3]});
    state[SUM] = add_taps(b, p, &state[SUM], band, row);
}

/* The sum of shifted images: in one loop, which reads and writes each number once, or, if that is
 * too much code, one kernel row at a time. */
static fgi_value shifted(fgi_builder *b, const void *context, const fgi_value *in)
{
    const fg_dtype dtype = in[0].type.dtype;
    const fgi_value x = in_f32(b, in[0]), k = in_f32(b, in[1]);
    problem p = *(const problem *)context;
    p.y.dtype = x.type.dtype;
    const fgi_value image = padded(b, x, &p.window, p.y.dim[3] / x.type.dim[3]);
    if (k.type.dim[0] * k.type.dim[1] <= MOST_TAPS)
        return fgi_build_convert(b, add_taps(b, &p, NULL, image, k), dtype);
    fgi_value state[ROW_STATE] = {fgi_build_splat(b, &p.y, 0), image, k};
    fgi_build_loop(b, k.type.dim[0], ROW_STATE, state, add_row, &p);
    return fgi_build_convert(b, state[SUM], dtype);
}

/* A sum of shifted and scaled images as a separate function: k is [kh,kw,1,Co]. Otherwise a loop
 * that reads the result for each of its own kernel elements would recompute it each time. */
static void emit_shifted(fgi_emit *e, fgi_value x, fgi_value k, fgi_conv_window w)
{
    const fgi_value in[] = {x, k};
    const problem p = problem_of(e, w);
    const bool is_point = k.type.dim[0] * k.type.dim[1] == 1;
    fgi_conv_become(e, is_point ? shifted(&e->b, &p, in)
                                : fgi_build_call(&e->b, &p.y, 2, in, shifted, &p));
}

static void emit_depthwise_y(fgi_emit *e)
{
    emit_shifted(e, fgi_conv_in(e, 0), fgi_conv_in(e, 1), fgi_conv_window_y(e->node->attr));
}

static fgi_value reversed(fgi_emit *e)
{
    const fgi_value k = fgi_conv_in(e, 1);
    return fgi_build_reverse(&e->b, k, k.type.rank - 2, (const int64_t[]){0, 1, 2});
}

static void emit_depthwise_dx(fgi_emit *e)
{
    const fgi_value dy = fgi_conv_in(e, 0);
    const fgi_value k = reversed(e);
    emit_shifted(e, dy, k, fgi_conv_window_dx(e->node->attr, &dy.type.dim[1]));
}

enum { TAPS, DK_IMAGE, DK_DY, DK_STATE };

/* Element i of the kernel's gradient: the sum of the products of dy and the shifted image. */
static void add_tap(fgi_builder *b, const void *context, fgi_value i, fgi_value *state)
{
    const problem *p = context;
    const fgi_conv_window *w = &p->window;
    const int64_t *x = state[DK_IMAGE].type.dim, *y = state[DK_DY].type.dim;
    const int64_t size[4] = {x[0], fgi_extent(y[1], w->stride[0]), fgi_extent(y[2], w->stride[1]),
                             x[3]};
    const fgi_value row = fgi_build_index(b, "divide", i, p->attr->k_size[1]);
    const fgi_value column = fgi_build_index(b, "remainder", i, p->attr->k_size[1]);
    fgi_block_start start = {.count = 2, .axis = {1, 2}};
    start.at[0] = fgi_build_index(b, "multiply", row, w->rhs_dilation[0]);
    start.at[1] = fgi_build_index(b, "multiply", column, w->rhs_dilation[1]);
    const fgi_value block = fgi_build_dynamic_slice(b, state[DK_IMAGE], &start, size);
    const fgi_value image = seen(b, block, w, &y[1], 0, 0);
    const fgi_value product = fgi_build_binary(b, "multiply", image, state[DK_DY]);
    const fgi_value sum = fgi_sum_leading_cpu(p->e, b, product, 3);
    state[TAPS] = fgi_build_dynamic_update_slice(
        b, state[TAPS], fgi_build_reshape(b, sum, 2, (int64_t[]){1, y[3]}),
        &(fgi_block_start){.count = 1, .axis = {0}, .at = {i}});
}

/* The kernel's gradient, element by element. */
static void emit_depthwise_dk(fgi_emit *e)
{
    const fgi_value x = in_f32(&e->b, fgi_conv_in(e, 0)), dy = in_f32(&e->b, fgi_conv_in(e, 1));
    const problem p = problem_of(e, fgi_conv_window_y(e->node->attr));
    const int64_t outputs = dy.type.dim[3], taps = p.attr->k_size[0] * p.attr->k_size[1];
    const fg_type all = {dy.type.dtype, 2, {taps, outputs}};
    fgi_value state[DK_STATE] = {fgi_build_splat(&e->b, &all, 0)};
    state[DK_IMAGE] = padded(&e->b, x, &p.window, outputs / x.type.dim[3]);
    state[DK_DY] = dy;
    fgi_build_loop(&e->b, taps, DK_STATE, state, add_tap, &p);
    const fgi_value dk = fgi_build_convert(&e->b, state[TAPS], p.y.dtype);
    fgi_conv_become(e, fgi_build_reshape(&e->b, dk, 4, p.y.dim));
}

const fgi_lowering fgi_conv_depthwise_cpu = {.op = &fgi_conv,
                                             .platform = FGI_CPU,
                                             .rule = "depthwise",
                                             .applies = y_is_depthwise,
                                             .emit = emit_depthwise_y};
const fgi_lowering fgi_conv_dx_depthwise_cpu = {.op = &fgi_conv_dx,
                                                .platform = FGI_CPU,
                                                .rule = "depthwise",
                                                .applies = dx_is_depthwise,
                                                .emit = emit_depthwise_dx};
const fgi_lowering fgi_conv_dk_depthwise_cpu = {.op = &fgi_conv_dk,
                                                .platform = FGI_CPU,
                                                .rule = "depthwise",
                                                .applies = y_is_depthwise,
                                                .emit = emit_depthwise_dk};

/* ---- dx with a reversed kernel --------------------------------------------------------------- */

/* The kernel is reversed by a separate operation, because a reversed window is a scalar loop. */
static void emit_reversed_dx(fgi_emit *e) { fgi_conv_emit_dx_of(e, reversed(e), false); }

const fgi_lowering fgi_conv_dx_reverse_cpu = {
    .op = &fgi_conv_dx, .platform = FGI_CPU, .rule = "reversed-kernel", .emit = emit_reversed_dx};

/* ---- dk in chunks of the batch --------------------------------------------------------------- */

/* Number of samples per device to process at a time; 0: all. The backend creates a matrix with a
 * row for each pixel of each sample, and is fastest if that fits in the caches. */
static int64_t chunk_of(const fgi_emit *e)
{
    const fg_type *dy = &e->node->in[1]->type;
    const int64_t devices = e->batch_shards, each = dy->dim[0] / devices;
    const int64_t pixels = dy->dim[1] * (dy->rank > 3 ? dy->dim[2] : 1);
    const bool is_chunked = dy->rank < 5 && dy->dim[0] % devices == 0 && each > CHUNK &&
                            each % CHUNK == 0 && pixels >= CHUNK_LEAST_PIXELS;
    return is_chunked ? CHUNK : 0;
}

static bool has_chunks(const fgi_emit *e)
{
    return ((const fgi_conv_attr *)e->node->attr)->groups == 1 && chunk_of(e) != 0;
}

/* a [N, ...] with a dimension for the devices, each with its shard of the batch: [devices,
 * N/devices, ...]. */
static fgi_value shares(fgi_builder *b, fgi_value a, int64_t devices)
{
    const int64_t *d = a.type.dim;
    return fgi_build_reshape(b, a, 5, (int64_t[]){devices, d[0] / devices, d[1], d[2], d[3]});
}

/* CHUNK samples of each shard, starting at `first`. */
static fgi_value samples(fgi_builder *b, fgi_value a, fgi_value first)
{
    const int64_t *d = a.type.dim;
    const fgi_value cut =
        fgi_build_dynamic_slice(b, a, &(fgi_block_start){.count = 1, .axis = {1}, .at = {first}},
                                (const int64_t[]){d[0], CHUNK, d[2], d[3], d[4]});
    return fgi_build_reshape(b, cut, 4, (int64_t[]){d[0] * CHUNK, d[2], d[3], d[4]});
}

enum { DK, X, DY, DENSE_STATE };

static void add_chunk(fgi_builder *b, const void *context, fgi_value i, fgi_value *state)
{
    const problem *p = context;
    const fgi_value first = fgi_build_index(b, "multiply", i, CHUNK);
    const fgi_value dy = samples(b, state[DY], first);
    const fgi_value x = samples(b, state[X], first);
    fg_type type = state[DK].type;
    type.dtype = x.type.dtype;
    const fgi_value term = in_f32(b, fgi_conv_dense_dk(b, &type, x, dy, &p->window));
    state[DK] = fgi_build_binary(b, "add", state[DK], term);
}

/* The gradient of a dense kernel, or of one group's. A small number of chunks is unrolled: the
 * backend then runs several in parallel. */
static fgi_value dense_dk(fgi_builder *b, const fgi_emit *e, const fg_type *type, fgi_value x,
                          fgi_value dy)
{
    const problem p = problem_of(e, fgi_conv_window_dk(e->node->attr, &dy.type.dim[1]));
    const int64_t devices = e->batch_shards, chunk = chunk_of(e);
    if (chunk == 0 || !fgi_rule_is_on(e->client, chunk_rule))
        return fgi_conv_dense_dk(b, type, x, dy, &p.window);
    fgi_value state[DENSE_STATE] = {in_f32(b, fgi_build_splat(b, type, 0))};
    state[X] = shares(b, x, devices);
    state[DY] = shares(b, dy, devices);
    const int64_t chunks = dy.type.dim[0] / devices / chunk;
    if (chunks > MOST_CHUNKS)
        fgi_build_loop(b, chunks, DENSE_STATE, state, add_chunk, &p);
    for (int64_t i = 0; i < chunks && chunks <= MOST_CHUNKS; i++)
        add_chunk(b, &p, fgi_build_splat(b, &(fg_type){.dtype = FG_S32}, (double)i), state);
    return fgi_build_convert(b, state[DK], type->dtype);
}

static void emit_dense_dk(fgi_emit *e)
{
    const fg_type type = fgi_conv_type(e);
    const fgi_value x = fgi_conv_in(e, 0), dy = fgi_conv_in(e, 1);
    fgi_conv_become(e, dense_dk(&e->b, e, &type, x, dy));
}

const fgi_lowering fgi_conv_dk_chunks_cpu = {.op = &fgi_conv_dk,
                                             .platform = FGI_CPU,
                                             .rule = chunk_rule,
                                             .applies = has_chunks,
                                             .emit = emit_dense_dk};

/* ---- dk group by group ----------------------------------------------------------------------- */

static bool has_groups(const fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    return attr->dims == 2 && attr->groups > 1;
}

/* The channels of group i; groups are contiguous. */
static fgi_block_start start_of_group(fgi_builder *b, const fgi_value *a, fgi_value i,
                                      int64_t groups)
{
    const fgi_value first = fgi_build_index(b, "multiply", i, a->type.dim[3] / groups);
    return (fgi_block_start){.count = 1, .axis = {3}, .at = {first}};
}

static fgi_value channels(fgi_builder *b, fgi_value a, fgi_value i, int64_t groups)
{
    const int64_t *d = a.type.dim;
    const fgi_block_start start = start_of_group(b, &a, i, groups);
    return fgi_build_dynamic_slice(b, a, &start,
                                   (const int64_t[]){d[0], d[1], d[2], d[3] / groups});
}

static void put_group(fgi_builder *b, const void *context, fgi_value i, fgi_value *state)
{
    const problem *p = context;
    const int64_t groups = p->attr->groups;
    fg_type type = state[DK].type;
    type.dim[3] /= groups;
    const fgi_value dy = channels(b, state[DY], i, groups);
    const fgi_value x = channels(b, state[X], i, groups);
    const fgi_value term = dense_dk(b, p->e, &type, x, dy);
    const fgi_block_start start = start_of_group(b, &state[DK], i, groups);
    state[DK] = fgi_build_dynamic_update_slice(b, state[DK], term, &start);
}

/* Groups are processed one by one: as one operation they are a scalar loop. */
static void emit_grouped_dk(fgi_emit *e)
{
    const problem p = problem_of(e, (fgi_conv_window){0});
    fgi_value state[DENSE_STATE] = {fgi_build_splat(&e->b, &p.y, 0)};
    state[X] = fgi_conv_in(e, 0);
    state[DY] = fgi_conv_in(e, 1);
    fgi_build_loop(&e->b, p.attr->groups, DENSE_STATE, state, put_group, &p);
    fgi_conv_become(e, state[DK]);
}

const fgi_lowering fgi_conv_dk_groups_cpu = {.op = &fgi_conv_dk,
                                             .platform = FGI_CPU,
                                             .rule = "group-by-group",
                                             .applies = has_groups,
                                             .emit = emit_grouped_dk};
