/* conv_cpu.c - convolutions as XLA's CPU backend does them well. What it does badly, and what is
 * written instead, was measured one by one: docs/decisions.md has the figures, src/trace/cpu.c the
 * list of rules.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/conv.h"

enum { MOST_TAPS = 64, CHUNK = 16, CHUNK_LEAST_PIXELS = 64, MOST_CHUNKS = 8 };

/* ---- kernels that see one channel each ------------------------------------------------------- */

/* The forward problem has one input channel a group. */
static bool is_depthwise(const fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    const fg_type *y = &e->node->type, *a = &e->node->in[0]->type;
    const bool is_dk = e->node->op->emit == fgi_conv_emit_dk;
    const bool is_dx = e->node->op->emit == fgi_conv_emit_dx;
    const int64_t channels = (is_dx ? y : a)->dim[3];
    const int64_t outputs = (is_dx ? a : y)->dim[3];
    return fgi_emit_has(e, FGI_LOWER_DEPTHWISE) && attr->groups > 1 && channels == attr->groups &&
           attr->k_size[1] <= MOST_TAPS && (is_dk || !is_dx || outputs == channels);
}

/* x with its padding around and between its elements, and `wide` copies of each channel. */
static fgi_part padded(fgi_emit *e, fgi_part x, const fgi_window *w, int64_t wide)
{
    const int64_t low[4] = {0, w->low[0], w->low[1], 0}, high[4] = {0, w->high[0], w->high[1], 0};
    const int64_t gap[4] = {0, w->lhs_dilation[0] - 1, w->lhs_dilation[1] - 1, 0};
    x = fgi_part_pad(e, x, 0, low, high, gap);
    if (wide == 1)
        return x;
    fg_type type = x.type;
    type.rank = 5;
    type.dim[4] = wide;
    x = fgi_part_broadcast(e, x, &type, (const int64_t[]){0, 1, 2, 3});
    type.dim[3] *= wide;
    return fgi_part_reshape(e, x, 4, type.dim);
}

/* What tap (i, j) sees of the padded x: an image of y's size. */
static fgi_part seen(fgi_emit *e, fgi_part x, const fgi_window *w, const int64_t *y_size, int64_t i,
                     int64_t j)
{
    const int64_t start[4] = {0, i * w->rhs_dilation[0], j * w->rhs_dilation[1], 0};
    const int64_t stride[4] = {1, w->stride[0], w->stride[1], 1};
    const int64_t limit[4] = {x.type.dim[0], start[1] + fgi_extent(y_size[0], stride[1]),
                              start[2] + fgi_extent(y_size[1], stride[2]), x.type.dim[3]};
    return fgi_part_slice(e, x, start, limit, stride);
}

/* k's tap (i, j), a number for each channel, all over `type`. */
static fgi_part tap(fgi_emit *e, fgi_part k, const fg_type *type, int64_t i, int64_t j)
{
    const int64_t start[4] = {i, j, 0, 0}, limit[4] = {i + 1, j + 1, 1, k.type.dim[3]};
    const fgi_part row = fgi_part_reshape(e, fgi_part_slice(e, k, start, limit, NULL), 1,
                                          (int64_t[]){k.type.dim[3]});
    return fgi_part_broadcast(e, row, type, (const int64_t[]){3});
}

/* sum (NULL: 0) and the products of all taps of k with what they see of the padded x. */
static fgi_part add_taps(fgi_emit *e, const fgi_part *sum, fgi_part x, fgi_part k,
                         const fgi_window *w)
{
    const fg_type *y = &e->node->type;
    const int64_t *size = k.type.dim;
    fgi_part r = sum != NULL ? *sum : (fgi_part){0};
    for (int64_t at = 0; at < size[0] * size[1]; at++) {
        const int64_t i = at / size[1], j = at % size[1];
        const fgi_part term =
            fgi_part_pair(e, "multiply", seen(e, x, w, &y->dim[1], i, j), tap(e, k, y, i, j));
        r = at == 0 && sum == NULL ? term : fgi_part_pair(e, "add", r, term);
    }
    return r;
}

enum { SUM, IMAGE, KERNEL, ROW_STATE };

/* Adds row i of the kernel. */
static void row_turn(fgi_emit *e, const void *window, fgi_part i, fgi_part *state)
{
    const fgi_window *w = window;
    const int64_t *x = state[IMAGE].type.dim, *k = state[KERNEL].type.dim;
    const int64_t rows = fgi_extent(e->node->type.dim[1], w->stride[0]);
    const fgi_part first = fgi_part_index(e, "multiply", i, w->rhs_dilation[0]);
    const fgi_part band =
        fgi_part_block(e, state[IMAGE], &(fgi_place){.count = 1, .axis = {1}, .at = {first}},
                       (const int64_t[]){x[0], rows, x[2], x[3]});
    const fgi_part row =
        fgi_part_block(e, state[KERNEL], &(fgi_place){.count = 1, .axis = {0}, .at = {i}},
                       (const int64_t[]){1, k[1], k[2], k[3]});
    state[SUM] = add_taps(e, &state[SUM], band, row, w);
}

/* The sum of shifted images: all at once, which reads and writes each number once, or where that is
 * too much code for one loop, a row of the kernel at a time. */
static fgi_part shifted(fgi_emit *e, const void *window, const fgi_part *in)
{
    const fgi_window *w = window;
    const fgi_part x = in[0], k = in[1];
    const fgi_part image = padded(e, x, w, e->node->type.dim[3] / x.type.dim[3]);
    if (k.type.dim[0] * k.type.dim[1] <= MOST_TAPS)
        return add_taps(e, NULL, image, k, w);
    fgi_part state[ROW_STATE] = {fgi_part_splat(e, &e->node->type, 0), image, k};
    fgi_part_loop(e, k.type.dim[0], ROW_STATE, state, row_turn, w);
    return state[SUM];
}

/* A sum of shifted and scaled images, by itself: k is [kh,kw,1,Co]. A loop that reads the result
 * under each of its own taps would otherwise compute it again for each. */
static void emit_shifted(fgi_emit *e, fgi_part x, fgi_part k, const fgi_window *w)
{
    const fgi_part in[] = {x, k};
    const bool is_point = k.type.dim[0] * k.type.dim[1] == 1;
    fgi_part_become(e, is_point ? shifted(e, w, in)
                                : fgi_part_isolated(e, &e->node->type, 2, in, shifted, w));
}

enum { TAPS, DK_IMAGE, DK_DY, DK_STATE };

/* Tap i of the kernel's derivative: the sum of the products of dy and what the tap sees. */
static void tap_turn(fgi_emit *e, const void *window, fgi_part i, fgi_part *state)
{
    const fgi_conv_attr *attr = e->node->attr;
    const fgi_window *w = window;
    const int64_t *x = state[DK_IMAGE].type.dim, *y = state[DK_DY].type.dim;
    const int64_t size[4] = {x[0], fgi_extent(y[1], w->stride[0]), fgi_extent(y[2], w->stride[1]),
                             x[3]};
    const fgi_part row = fgi_part_index(e, "divide", i, attr->k_size[1]);
    const fgi_part column = fgi_part_index(e, "remainder", i, attr->k_size[1]);
    const fgi_place place = {.count = 2,
                             .axis = {1, 2},
                             .at = {fgi_part_index(e, "multiply", row, w->rhs_dilation[0]),
                                    fgi_part_index(e, "multiply", column, w->rhs_dilation[1])}};
    const fgi_part block = fgi_part_block(e, state[DK_IMAGE], &place, size);
    const fgi_part product =
        fgi_part_pair(e, "multiply", seen(e, block, w, &y[1], 0, 0), state[DK_DY]);
    const fgi_part sum = fgi_part_sum_leading(e, product, 3);
    state[TAPS] =
        fgi_part_put_block(e, state[TAPS], fgi_part_reshape(e, sum, 2, (int64_t[]){1, y[3]}),
                           &(fgi_place){.count = 1, .axis = {0}, .at = {i}});
}

/* The kernel's derivative, tap by tap. */
static void emit_shifted_dk(fgi_emit *e, fgi_part x, fgi_part dy)
{
    const fgi_conv_attr *attr = e->node->attr;
    const fgi_window w = fgi_conv_window_y(attr);
    const int64_t outputs = dy.type.dim[3], taps = attr->k_size[0] * attr->k_size[1];
    const fg_type all = {dy.type.dtype, 2, {taps, outputs}};
    fgi_part state[DK_STATE] = {fgi_part_splat(e, &all, 0),
                                padded(e, x, &w, outputs / x.type.dim[3]), dy};
    fgi_part_loop(e, taps, DK_STATE, state, tap_turn, &w);
    fgi_part_become(e, fgi_part_reshape(e, state[TAPS], 4, e->node->type.dim));
}

/* ---- y and dx -------------------------------------------------------------------------------- */

bool fgi_conv_cpu_y(fgi_emit *e)
{
    const fgi_window w = fgi_conv_window_y(e->node->attr);
    if (!is_depthwise(e))
        return false;
    emit_shifted(e, fgi_part_in(e, 0), fgi_part_in(e, 1), &w);
    return true;
}

/* Kernels are reversed by an operation of its own: a reversed window is a scalar loop. */
bool fgi_conv_cpu_dx(fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    const bool depthwise = is_depthwise(e);
    if (!depthwise && !fgi_emit_has(e, FGI_LOWER_REVERSE))
        return false;
    const fgi_part dy = fgi_part_in(e, 0);
    fgi_window w = fgi_conv_window_dx(attr, &dy.type.dim[1]);
    fgi_part k = fgi_part_reverse(e, fgi_part_in(e, 1), 2, (const int64_t[]){0, 1});
    if (depthwise) {
        emit_shifted(e, dy, k, &w);
        return true;
    }
    if (attr->groups > 1) {
        k = fgi_conv_turned(e, k, attr->groups);
        w.dims = FGI_CONV_Y;
        w.feature_groups = attr->groups;
    }
    fgi_part_become(e, fgi_conv_line(e, &e->node->type, dy, k, &w));
    return true;
}

/* ---- dk -------------------------------------------------------------------------------------- */

/* How many samples of each device to take at a time; 0: all. The backend packs a matrix with a row
 * for each pixel of each sample, and is quickest when that stays in the caches. */
static int64_t chunk_of(const fgi_emit *e, const fg_type *dy, int64_t devices)
{
    const int64_t each = dy->dim[0] / devices, pixels = dy->dim[1] * dy->dim[2];
    const bool goes = fgi_emit_has(e, FGI_LOWER_CHUNKS) && dy->dim[0] % devices == 0 &&
                      each > CHUNK && each % CHUNK == 0 && pixels >= CHUNK_LEAST_PIXELS;
    return goes ? CHUNK : 0;
}

/* a [N, ...] with each device's share of the batch by itself: [devices, N/devices, ...]. */
static fgi_part shares(fgi_emit *e, fgi_part a, int64_t devices)
{
    const int64_t *d = a.type.dim;
    return fgi_part_reshape(e, a, 5, (int64_t[]){devices, d[0] / devices, d[1], d[2], d[3]});
}

/* CHUNK samples of each share, beginning at `first`. */
static fgi_part samples(fgi_emit *e, fgi_part a, fgi_part first)
{
    const int64_t *d = a.type.dim;
    const fgi_part cut = fgi_part_block(e, a, &(fgi_place){.count = 1, .axis = {1}, .at = {first}},
                                        (const int64_t[]){d[0], CHUNK, d[2], d[3], d[4]});
    return fgi_part_reshape(e, cut, 4, (int64_t[]){d[0] * CHUNK, d[2], d[3], d[4]});
}

/* The convolution of dk with its dimensions in the backend's own order. It puts those of others in
 * order itself, but not within loops, where they would be run as scalar code. */
static fgi_part dk_line(fgi_emit *e, const fg_type *type, fgi_part x, fgi_part dy,
                        const fgi_window *window)
{
    fgi_window w = *window;
    fg_type turned = *type;
    w.dims = FGI_CONV_Y;
    turned.dim[0] = type->dim[2];
    turned.dim[1] = type->dim[0];
    turned.dim[2] = type->dim[1];
    x = fgi_part_transpose(e, x, (const int64_t[]){3, 1, 2, 0});
    dy = fgi_part_transpose(e, dy, (const int64_t[]){1, 2, 0, 3});
    return fgi_part_transpose(e, fgi_conv_line(e, &turned, x, dy, &w),
                              (const int64_t[]){1, 2, 0, 3});
}

enum { DK, X, DY, TURN_STATE };

static void chunk_turn(fgi_emit *e, const void *window, fgi_part i, fgi_part *state)
{
    const fgi_part first = fgi_part_index(e, "multiply", i, CHUNK);
    const fgi_part term = dk_line(e, &state[DK].type, samples(e, state[X], first),
                                  samples(e, state[DY], first), window);
    state[DK] = fgi_part_pair(e, "add", state[DK], term);
}

/* One group's derivative. A few chunks are written one by one: the backend then runs several at a
 * time. */
static fgi_part dense_dk(fgi_emit *e, const fg_type *type, fgi_part x, fgi_part dy)
{
    const fgi_window w = fgi_conv_window_dk(e->node->attr, &dy.type.dim[1]);
    const int64_t devices = e->data_devices, chunk = chunk_of(e, &dy.type, devices);
    if (chunk == 0)
        return dk_line(e, type, x, dy, &w);
    fgi_part state[TURN_STATE] = {fgi_part_splat(e, type, 0), shares(e, x, devices),
                                  shares(e, dy, devices)};
    const int64_t chunks = dy.type.dim[0] / devices / chunk;
    if (chunks > MOST_CHUNKS)
        fgi_part_loop(e, chunks, TURN_STATE, state, chunk_turn, &w);
    for (int64_t i = 0; i < chunks && chunks <= MOST_CHUNKS; i++)
        chunk_turn(e, &w, fgi_part_splat(e, &(fg_type){.dtype = FG_S32}, (double)i), state);
    return state[DK];
}

/* The channels of group i, which come one group after another, and where they are. */
static fgi_place place_of_group(fgi_emit *e, const fgi_part *a, fgi_part i, int64_t groups)
{
    const fgi_part first = fgi_part_index(e, "multiply", i, a->type.dim[3] / groups);
    return (fgi_place){.count = 1, .axis = {3}, .at = {first}};
}

static fgi_part channels(fgi_emit *e, fgi_part a, fgi_part i, int64_t groups)
{
    const int64_t *d = a.type.dim;
    const fgi_place place = place_of_group(e, &a, i, groups);
    return fgi_part_block(e, a, &place, (const int64_t[]){d[0], d[1], d[2], d[3] / groups});
}

static void group_turn(fgi_emit *e, const void *context, fgi_part i, fgi_part *state)
{
    const int64_t groups = *(const int64_t *)context;
    fg_type type = state[DK].type;
    type.dim[3] /= groups;
    const fgi_part term =
        dense_dk(e, &type, channels(e, state[X], i, groups), channels(e, state[DY], i, groups));
    const fgi_place place = place_of_group(e, &state[DK], i, groups);
    state[DK] = fgi_part_put_block(e, state[DK], term, &place);
}

/* Groups are taken one by one: as one operation they are a scalar loop. */
bool fgi_conv_cpu_dk(fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    const fgi_part x = fgi_part_in(e, 0), dy = fgi_part_in(e, 1);
    if (is_depthwise(e)) {
        emit_shifted_dk(e, x, dy);
        return true;
    }
    if (attr->groups > 1 && !fgi_emit_has(e, FGI_LOWER_GROUPS))
        return false;
    if (attr->groups == 1) {
        fgi_part_become(e, dense_dk(e, &e->node->type, x, dy));
        return true;
    }
    fgi_part state[TURN_STATE] = {fgi_part_splat(e, &e->node->type, 0), x, dy};
    fgi_part_loop(e, attr->groups, TURN_STATE, state, group_turn, &attr->groups);
    fgi_part_become(e, state[DK]);
    return true;
}
