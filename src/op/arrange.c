/* arrange.c - operations on shapes that are composed of those in shape.c, gather.c and select.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "op/op.h"

enum { MOST_STACKED = 64 }; /* as fg_concat */

/* The elements start to limit along one axis. */
static fg_tensor piece(fg_tensor a, int axis, int64_t start, int64_t limit)
{
    int64_t from[FG_MAX_RANK] = {0}, to[FG_MAX_RANK];
    memcpy(to, fg_tensor_type(a)->dim, sizeof to);
    from[axis] = start;
    to[axis] = limit;
    return fg_slice(a, from, to, NULL);
}

fg_tensor fg_unsqueeze(fg_tensor a, int axis_count, const int *axis)
{
    const fg_type *type = fg_tensor_type(a);
    const int rank = type->rank + axis_count;
    int64_t dim[FG_MAX_RANK] = {0};
    if (fgi_is_poison(a))
        return a;
    if (axis_count < 0 || rank > FG_MAX_RANK)
        return fgi_trace_fail(fg_tensor_trace(a), FG_ESHAPE,
                              "unsqueeze: %d axes added to rank %d: expected rank %d at most",
                              axis_count, type->rank, FG_MAX_RANK);
    for (int i = 0; i < axis_count; i++) {
        const int at = axis[i] + (axis[i] < 0 ? rank : 0);
        if (at < 0 || at >= rank || dim[at] != 0)
            return fgi_trace_fail(fg_tensor_trace(a), FG_EINVAL,
                                  "unsqueeze: axis %d is out of range for rank %d or given twice",
                                  axis[i], rank);
        dim[at] = 1;
    }
    for (int i = 0, from = 0; i < rank; i++)
        if (dim[i] == 0)
            dim[i] = type->dim[from++];
    return fg_reshape(a, rank, dim);
}

fg_tensor fg_stack(const fg_tensor *in, int count, int axis)
{
    fg_tensor part[MOST_STACKED];
    char text[96], other[96];
    fg_trace *trace = fg_tensor_trace(in[0]);
    if (count < 1 || count > MOST_STACKED)
        return fgi_trace_fail(trace, FG_EINVAL, "stack: %d tensors: expected 1 to %d", count,
                              MOST_STACKED);
    for (int i = 0; i < count; i++) {
        if (fgi_is_poison(in[i]))
            return fgi_poison(trace);
        const fg_type *first = fg_tensor_type(in[0]), *type = fg_tensor_type(in[i]);
        if (!fgi_same_shape(type, first))
            return fgi_trace_fail(trace, FG_ESHAPE, "stack(%s, ..., %s): the shapes differ",
                                  fg_type_format(first, text, sizeof text),
                                  fg_type_format(type, other, sizeof other));
        part[i] = fg_unsqueeze(in[i], 1, &axis);
    }
    return fgi_is_poison(part[0]) ? part[0] : fg_concat(part, count, axis);
}

/* Whether the parts are all of the axis; otherwise keeps an error. */
static bool parts_fit(fg_tensor a, int axis, int count, const int64_t *size)
{
    char text[96];
    const int64_t dim = fg_tensor_dim(a, axis);
    int64_t sum = 0;
    bool fits = count > 0 && (size != NULL || dim % count == 0);
    for (int i = 0; fits && size != NULL && i < count; i++)
        fits = size[i] >= 0 && size[i] <= dim - sum && ((sum += size[i]), true);
    if (fits && (size == NULL || sum == dim))
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(a), FG_ESHAPE,
                         "split(%s): the %" PRId64 " elements along axis %d cannot be split into "
                         "%d parts of %s",
                         fg_type_format(fg_tensor_type(a), text, sizeof text), dim, axis, count,
                         size != NULL ? "these sizes" : "equal size");
    return false;
}

void fg_split(fg_tensor a, int axis, int count, const int64_t *size, fg_tensor *out)
{
    int at = 0;
    int64_t start = 0;
    const bool fits = !fgi_is_poison(a) && fgi_axes(a, "split", 1, &axis, &at) >= 0 &&
                      parts_fit(a, at, count, size);
    for (int i = 0; i < count; i++) {
        if (!fits) {
            out[i] = fgi_poison(fg_tensor_trace(a));
            continue;
        }
        const int64_t limit = start + (size != NULL ? size[i] : fg_tensor_dim(a, at) / count);
        out[i] = piece(a, at, start, limit);
        start = limit;
    }
}

fg_tensor fg_roll(fg_tensor a, int64_t shift, int axis)
{
    int at;
    if (fgi_is_poison(a) || fgi_axes(a, "roll", 1, &axis, &at) < 0)
        return fgi_poison(fg_tensor_trace(a));
    if (fgi_row_axes(a, 1, &at) != 0)
        return fgi_trace_fail(fg_tensor_trace(a), FG_EINVAL,
                              "roll: axis %d is the batch axis, and the last batch of an epoch "
                              "contains padding rows\nuse fg_batch_roll; or drop the incomplete "
                              "batch (drop_last)",
                              at);
    const int64_t size = fg_tensor_dim(a, at), by = size > 1 ? shift % size : 0;
    const int64_t first = by > 0 ? size - by : -by;
    if (first == 0)
        return a;
    const fg_tensor part[] = {piece(a, at, first, size), piece(a, at, 0, first)};
    return fg_concat(part, 2, at);
}

static fg_tensor repeat_axis(fg_tensor a, int axis, int64_t times)
{
    const fg_type *type = fg_tensor_type(a);
    int64_t dim[FG_MAX_RANK], wide[4] = {1, 1, type->dim[axis], 1};
    memcpy(dim, type->dim, sizeof dim);
    for (int i = 0; i < type->rank; i++)
        wide[i < axis ? 0 : 3] *= i == axis ? 1 : dim[i];
    const fg_tensor one = fg_reshape(a, 4, wide);
    wide[1] = times;
    const fg_tensor all = fg_broadcast_to(one, 4, wide);
    if (fgi_is_poison(all))
        return all;
    dim[axis] *= times;
    return fg_reshape(all, type->rank, dim);
}

fg_tensor fg_repeat(fg_tensor a, const int64_t *times)
{
    const int rank = fg_tensor_type(a)->rank;
    for (int i = 0; i < rank && !fgi_is_poison(a); i++) {
        if (times[i] < 0)
            return fgi_trace_fail(fg_tensor_trace(a), FG_EINVAL,
                                  "repeat: %" PRId64 " times along axis %d: expected at least 0",
                                  times[i], i);
        if (times[i] != 1)
            a = repeat_axis(a, i, times[i]);
    }
    return a;
}

/* a where the column minus the row is at most (or, for the upper triangle, at least) `diagonal`. */
static fg_tensor triangle(fg_tensor a, const char *op, int diagonal, bool is_upper)
{
    const fg_type *type = fg_tensor_type(a);
    fg_trace *trace = fg_tensor_trace(a);
    if (fgi_is_poison(a))
        return a;
    if (type->rank < 2)
        return fgi_trace_fail(trace, FG_ESHAPE, "%s: rank is %d: expected at least 2", op,
                              type->rank);
    const int64_t *dim = &type->dim[type->rank - 2];
    const fg_tensor place =
        fg_sub(fg_iota(trace, FG_S32, 1, 2, dim), fg_iota(trace, FG_S32, 0, 2, dim));
    const fg_tensor limit = fgi_full_like(place, diagonal);
    return fg_where(is_upper ? fg_ge(place, limit) : fg_le(place, limit), a, fgi_full_like(a, 0));
}

fg_tensor fg_tril(fg_tensor a, int diagonal) { return triangle(a, "tril", diagonal, false); }
fg_tensor fg_triu(fg_tensor a, int diagonal) { return triangle(a, "triu", diagonal, true); }

/* A gather along the last axis that shares all others. */
fg_tensor fg_take_along_axis(fg_tensor a, fg_tensor index, int axis)
{
    int at, order[FG_MAX_RANK], back[FG_MAX_RANK];
    char x[96], y[96];
    if (fgi_is_poison(a) || fgi_is_poison(index) ||
        fgi_axes(a, "take_along_axis", 1, &axis, &at) < 0)
        return fgi_poison(fg_tensor_trace(a));
    const fg_type *type = fg_tensor_type(a), *places = fg_tensor_type(index);
    const int rank = type->rank;
    bool fits = rank == places->rank;
    for (int i = 0; fits && i < rank; i++)
        fits = i == at || type->dim[i] == places->dim[i];
    if (!fits)
        return fgi_trace_fail(fg_tensor_trace(a), FG_ESHAPE,
                              "take_along_axis(%s, %s): the shapes differ in dimensions other than "
                              "axis %d",
                              fg_type_format(type, x, sizeof x),
                              fg_type_format(places, y, sizeof y), at);
    for (int i = 0; i < rank; i++) {
        order[i] = i == rank - 1 ? at : i + (i >= at);
        back[order[i]] = i;
    }
    const fg_tensor taken =
        fg_gather(fg_permute(a, order), fg_permute(index, order), rank - 1, rank - 1);
    return fg_permute(taken, back);
}
