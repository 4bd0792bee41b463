/* conv_cpu.c - convolutions as XLA's CPU backend does them well. What it does badly, and what is
 * written instead, was measured one by one: docs/decisions.md has the figures, src/trace/cpu.c the
 * list of rules.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/conv.h"

enum { MOST_TAPS = 64, MOST_GROUPS = 256, CHUNK = 16, CHUNK_LEAST_PIXELS = 64 };

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
           attr->k_size[0] * attr->k_size[1] <= MOST_TAPS &&
           (is_dk || !is_dx || outputs == channels);
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

/* A sum of shifted and scaled images: k is [kh,kw,1,Co]. */
static void emit_shifted(fgi_emit *e, fgi_part x, fgi_part k, const fgi_window *w)
{
    const fg_type *y = &e->node->type;
    const int64_t *size = k.type.dim;
    const fgi_part image = padded(e, x, w, y->dim[3] / x.type.dim[3]);
    fgi_part sum = {0};
    for (int64_t at = 0; at < size[0] * size[1]; at++) {
        const int64_t i = at / size[1], j = at % size[1];
        const fgi_part term =
            fgi_part_pair(e, "multiply", seen(e, image, w, &y->dim[1], i, j), tap(e, k, y, i, j));
        sum = at == 0 ? term : fgi_part_pair(e, "add", sum, term);
    }
    fgi_part_become(e, sum);
}

/* The kernel's derivative, tap by tap: sums of products of images. */
static void emit_shifted_dk(fgi_emit *e, fgi_part x, fgi_part dy)
{
    const fgi_conv_attr *attr = e->node->attr;
    const fgi_window w = fgi_conv_window_y(attr);
    const int64_t outputs = dy.type.dim[3];
    const int taps = (int)(attr->k_size[0] * attr->k_size[1]);
    const fgi_part image = padded(e, x, &w, outputs / x.type.dim[3]);
    fgi_part row[MOST_TAPS];
    for (int at = 0; at < taps; at++) {
        const int64_t i = at / attr->k_size[1], j = at % attr->k_size[1];
        const fgi_part product =
            fgi_part_pair(e, "multiply", seen(e, image, &w, &dy.type.dim[1], i, j), dy);
        row[at] =
            fgi_part_reshape(e, fgi_part_sum_leading(e, product, 3), 2, (int64_t[]){1, outputs});
    }
    const fgi_part all = fgi_part_concatenate(e, taps, row, 0);
    fgi_part_become(e, fgi_part_reshape(e, all, 4, e->node->type.dim));
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

/* Samples first ... first + count - 1 of each device's share of the batch. */
static fgi_part samples(fgi_emit *e, fgi_part a, int64_t devices, int64_t first, int64_t count)
{
    const int64_t *d = a.type.dim, each = d[0] / devices;
    const int64_t split[5] = {devices, each, d[1], d[2], d[3]};
    const int64_t start[5] = {0, first}, limit[5] = {devices, first + count, d[1], d[2], d[3]};
    const int64_t joined[4] = {devices * count, d[1], d[2], d[3]};
    const fgi_part cut = fgi_part_slice(e, fgi_part_reshape(e, a, 5, split), start, limit, NULL);
    return fgi_part_reshape(e, cut, 4, joined);
}

/* How many samples of each device to take at a time; 0: all. The backend packs a matrix with a row
 * for each pixel of each sample, and is quickest when that stays in the caches. */
static int64_t chunk_of(const fgi_emit *e, const fg_type *dy, int64_t devices)
{
    const int64_t each = dy->dim[0] / devices, pixels = dy->dim[1] * dy->dim[2];
    const bool goes = fgi_emit_has(e, FGI_LOWER_CHUNKS) && dy->dim[0] % devices == 0 &&
                      each > CHUNK && each % CHUNK == 0 && each / CHUNK <= MOST_GROUPS &&
                      pixels >= CHUNK_LEAST_PIXELS;
    return goes ? CHUNK : 0;
}

/* One group's derivative. */
static fgi_part dense_dk(fgi_emit *e, const fg_type *type, fgi_part x, fgi_part dy)
{
    const fgi_window w = fgi_conv_window_dk(e->node->attr, &dy.type.dim[1]);
    const int64_t devices = e->data_devices, chunk = chunk_of(e, &dy.type, devices);
    fgi_part sum = {0};
    if (chunk == 0)
        return fgi_conv_line(e, type, x, dy, &w);
    for (int64_t first = 0; first < x.type.dim[0] / devices; first += chunk) {
        const fgi_part term = fgi_conv_line(e, type, samples(e, x, devices, first, chunk),
                                            samples(e, dy, devices, first, chunk), &w);
        sum = first == 0 ? term : fgi_part_pair(e, "add", sum, term);
    }
    return sum;
}

/* The group's channels, which come one group after another. */
static fgi_part channels(fgi_emit *e, fgi_part a, int64_t group, int64_t groups)
{
    const int64_t *d = a.type.dim, each = d[3] / groups;
    const int64_t start[4] = {0, 0, 0, group * each};
    const int64_t limit[4] = {d[0], d[1], d[2], (group + 1) * each};
    return fgi_part_slice(e, a, start, limit, NULL);
}

/* Groups are taken one by one: as one operation they are a scalar loop. */
bool fgi_conv_cpu_dk(fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    const int64_t groups = attr->groups;
    const fgi_part x = fgi_part_in(e, 0), dy = fgi_part_in(e, 1);
    fg_type type = e->node->type;
    fgi_part part[MOST_GROUPS];
    if (is_depthwise(e)) {
        emit_shifted_dk(e, x, dy);
        return true;
    }
    if (groups > MOST_GROUPS || (groups > 1 && !fgi_emit_has(e, FGI_LOWER_GROUPS)))
        return false;
    if (groups == 1) {
        fgi_part_become(e, dense_dk(e, &type, x, dy));
        return true;
    }
    type.dim[3] /= groups;
    for (int64_t i = 0; i < groups; i++)
        part[i] = dense_dk(e, &type, channels(e, x, i, groups), channels(e, dy, i, groups));
    fgi_part_become(e, fgi_part_concatenate(e, (int)groups, part, 3));
    return true;
}
