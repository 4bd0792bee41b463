/* shape.c - operations that only move elements, and the helpers for axes and broadcasting for other
 * families.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "op/op.h"
#include "op/shape.h"
#include "base/text.h"

bool fgi_same_shape(const fg_type *a, const fg_type *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0;
}

/* ---- reshape --------------------------------------------------------------------------------- */

static bool reshape_infer(fgi_infer *c)
{
    const fgi_shape_attr *attr = c->attr;
    const fg_type *a = c->in[0];
    char text[96];
    if (!fgi_infer_ok(c, a->dtype, (int)attr->rank, attr->dim))
        return false;
    if (fg_type_count(&c->out) != fg_type_count(a))
        return fgi_infer_fail(c, FG_ESHAPE, "%" PRId64 " element%s cannot be reshaped to %s",
                              fg_type_count(a), fgi_s(fg_type_count(a)),
                              fg_type_format(&c->out, text, sizeof text));
    return true;
}

static void reshape_emit(fgi_emit *e) { fgi_emit_simple(e, "reshape", NULL); }

static void reshape_vjp(fgi_vjp *v)
{
    v->din[0] = fgi_reshape_to(v->dout, fg_tensor_type(v->in[0]));
}

static const fgi_op reshape = {.name = "reshape",
                               .arity = 1,
                               .role = FGI_MOVES,
                               .infer = reshape_infer,
                               .rows = fgi_reshape_rows,
                               .emit = reshape_emit,
                               .vjp = reshape_vjp};

fg_tensor fg_reshape(fg_tensor a, int rank, const int64_t *dim)
{
    fg_trace *trace = fg_tensor_trace(a);
    if (fgi_is_poison(a))
        return a;
    if (rank < 0 || rank > FG_MAX_RANK)
        return fgi_trace_fail(trace, FG_ESHAPE, "reshape: rank is %d: expected 0 to %d", rank,
                              FG_MAX_RANK);
    fgi_shape_attr attr = {.rank = rank};
    int64_t known = 1;
    int open = -1;
    for (int i = 0; i < rank; i++) {
        attr.dim[i] = dim[i];
        if (dim[i] != -1 && __builtin_mul_overflow(known, dim[i], &known))
            return fgi_trace_fail(trace, FG_ESHAPE,
                                  "reshape: the shape has more than 2^63 - 1 elements");
        if (dim[i] != -1)
            continue;
        if (open < 0)
            open = i;
        else
            return fgi_trace_fail(trace, FG_EINVAL, "reshape: only one dimension may be -1");
    }
    if (open >= 0)
        attr.dim[open] = known > 0 ? fg_type_count(fg_tensor_type(a)) / known : 0;
    fg_type type = {.rank = rank};
    memcpy(type.dim, attr.dim, sizeof attr.dim);
    if (fgi_same_shape(&type, fg_tensor_type(a)))
        return a;
    return fgi_apply(&reshape, &a, 1, &attr, sizeof attr);
}

fg_tensor fgi_reshape_to(fg_tensor a, const fg_type *type)
{
    return fg_reshape(a, type->rank, type->dim);
}

fg_tensor fg_flatten(fg_tensor a, int axis)
{
    const fg_type *type = fg_tensor_type(a);
    if (fgi_is_poison(a))
        return a;
    if (axis < -type->rank || axis >= type->rank)
        return fgi_trace_fail(fg_tensor_trace(a), FG_EINVAL,
                              "flatten: axis %d is out of range for rank %d", axis, type->rank);
    axis += axis < 0 ? type->rank : 0;
    int64_t dim[FG_MAX_RANK], rest = 1;
    for (int i = 0; i < type->rank; i++) {
        dim[i < axis ? i : axis] = type->dim[i];
        rest *= i < axis ? 1 : type->dim[i];
    }
    dim[axis] = rest;
    return fg_reshape(a, axis + 1, dim);
}

/* ---- permute --------------------------------------------------------------------------------- */

static bool permute_infer(fgi_infer *c)
{
    const fgi_shape_attr *attr = c->attr;
    const fg_type *a = c->in[0];
    int64_t dim[FG_MAX_RANK];
    unsigned seen = 0;
    for (int i = 0; i < a->rank; i++) {
        if (attr->dim[i] < 0 || attr->dim[i] >= a->rank)
            return fgi_infer_fail(c, FG_EINVAL, "axis %" PRId64 " is out of range for rank %d",
                                  attr->dim[i], a->rank);
        seen |= 1u << attr->dim[i];
        dim[i] = a->dim[attr->dim[i]];
    }
    if (seen != (1u << a->rank) - 1)
        return fgi_infer_fail(c, FG_EINVAL, "an axis is given twice");
    return fgi_infer_ok(c, a->dtype, a->rank, dim);
}

static void permute_emit(fgi_emit *e)
{
    const fgi_shape_attr *attr = e->node->attr;
    fgi_buf text = {0};
    fgi_build_array(&text, "permutation", (int)attr->rank, attr->dim);
    fgi_emit_text(e, "transpose", &text);
}

static void permute_vjp(fgi_vjp *v)
{
    const fgi_shape_attr *attr = v->attr;
    int inverse[FG_MAX_RANK] = {0};
    for (int i = 0; i < attr->rank; i++)
        inverse[attr->dim[i]] = i;
    v->din[0] = fg_permute(v->dout, inverse);
}

static const fgi_op permute = {.name = "permute",
                               .arity = 1,
                               .role = FGI_MOVES,
                               .infer = permute_infer,
                               .rows = fgi_permute_rows,
                               .emit = permute_emit,
                               .vjp = permute_vjp};

fg_tensor fg_permute(fg_tensor a, const int *axis)
{
    if (fgi_is_poison(a))
        return a;
    const int rank = fg_tensor_type(a)->rank;
    fgi_shape_attr attr = {.rank = rank};
    bool is_identity = true;
    for (int i = 0; i < rank; i++) {
        attr.dim[i] = axis[i] < 0 ? axis[i] + rank : axis[i];
        is_identity &= attr.dim[i] == i;
    }
    return is_identity ? a : fgi_apply(&permute, &a, 1, &attr, sizeof attr);
}

fg_tensor fg_transpose(fg_tensor a)
{
    int axis[FG_MAX_RANK] = {0};
    const int rank = fg_tensor_type(a)->rank;
    if (fgi_is_poison(a))
        return a;
    if (rank < 2)
        return fgi_trace_fail(fg_tensor_trace(a), FG_ESHAPE,
                              "transpose: rank is %d: expected at least 2", rank);
    for (int i = 0; i < rank; i++)
        axis[i] = i;
    axis[rank - 2] = rank - 1;
    axis[rank - 1] = rank - 2;
    return fg_permute(a, axis);
}

/* ---- broadcast ------------------------------------------------------------------------------- */

static bool broadcast_infer(fgi_infer *c)
{
    const fgi_broadcast_attr *attr = c->attr;
    const fg_type *a = c->in[0];
    bool fits = attr->rank >= a->rank;
    for (int i = 0; fits && i < a->rank; i++)
        fits = a->dim[i] == 1 || a->dim[i] == attr->dim[attr->axis[i]];
    if (!fits)
        return fgi_infer_fail(c, FG_ESHAPE, "cannot be broadcast to that shape");
    return fgi_infer_ok(c, a->dtype, (int)attr->rank, attr->dim);
}

static void broadcast_emit(fgi_emit *e)
{
    const fgi_broadcast_attr *attr = e->node->attr;
    fgi_buf text = {0};
    fgi_build_array(&text, "broadcast_dimensions", e->node->in[0]->type.rank, attr->axis);
    fgi_emit_text(e, "broadcast_in_dim", &text);
}

/* fg_sum. Of concatenated values (the gradients of a layer's slices) it is the concatenation of
 * their sums, which a compiler fuses with the loops that compute them instead of reading all of
 * them again. */
static fg_tensor sum_pieces(fg_tensor a, int count, const int *axis)
{
    const fgi_node *node = fgi_node_of(a);
    fg_tensor piece[FGI_MAX_INPUTS] = {{0}};
    while (node->op->makes_rows) /* a mark, which emits nothing */
        node = node->in[0];
    if (node->op != &fgi_concat_op)
        return fg_sum(a, count, axis);
    const int joined = (int)((const fgi_axis_attr *)node->attr)->axis;
    int to = joined;
    for (int i = 0; i < count; i++) {
        if (axis[i] == joined)
            return fg_sum(a, count, axis);
        to -= axis[i] < joined;
    }
    for (int i = 0; i < node->arity; i++)
        piece[i] = fg_sum(fgi_tensor_of(node->in[i]), count, axis);
    return fg_concat(piece, node->arity, to);
}

/* Sums over broadcast dimensions; broadcast dimensions of size 1 are restored by a reshape. */
static void broadcast_vjp(fgi_vjp *v)
{
    const fgi_broadcast_attr *attr = v->attr;
    const fg_type *in = fg_tensor_type(v->in[0]), *out = fg_tensor_type(v->out);
    bool is_kept[FG_MAX_RANK] = {false};
    int axis[FG_MAX_RANK], count = 0;
    for (int i = 0; i < in->rank; i++)
        is_kept[attr->axis[i]] = in->dim[i] == out->dim[attr->axis[i]];
    for (int i = 0; i < out->rank; i++)
        if (!is_kept[i])
            axis[count++] = i;
    const fg_tensor sum = count > 0 ? sum_pieces(v->dout, count, axis) : v->dout;
    v->din[0] = fgi_reshape_to(sum, in);
}

const fgi_op fgi_broadcast_op = {.name = "broadcast",
                                 .arity = 1,
                                 .role = FGI_MOVES,
                                 .infer = broadcast_infer,
                                 .rows = fgi_broadcast_rows,
                                 .emit = broadcast_emit,
                                 .vjp = broadcast_vjp};

static fg_tensor apply_broadcast(fg_tensor a, const fgi_broadcast_attr *attr)
{
    fg_type type = {.rank = (int)attr->rank};
    memcpy(type.dim, attr->dim, sizeof type.dim);
    return fgi_same_shape(&type, fg_tensor_type(a))
               ? a
               : fgi_apply(&fgi_broadcast_op, &a, 1, attr, sizeof *attr);
}

fg_tensor fg_broadcast_to(fg_tensor a, int rank, const int64_t *dim)
{
    if (fgi_is_poison(a))
        return a;
    if (rank < 0 || rank > FG_MAX_RANK)
        return fgi_trace_fail(fg_tensor_trace(a), FG_ESHAPE,
                              "broadcast: rank is %d: expected 0 to %d", rank, FG_MAX_RANK);
    const int shift = rank - fg_tensor_type(a)->rank;
    fgi_broadcast_attr attr = {.rank = rank};
    for (int i = 0; i < rank; i++)
        attr.dim[i] = dim[i];
    for (int i = 0; i + shift < rank && shift >= 0; i++)
        attr.axis[i] = i + shift;
    return apply_broadcast(a, &attr);
}

fg_tensor fgi_expand(fg_tensor a, int axis_count, const int *axis, const fg_type *type)
{
    unsigned gone = 0;
    int rank = 0;
    fgi_broadcast_attr attr = {.rank = type->rank};
    if (fgi_is_poison(a))
        return a;
    for (int i = 0; i < axis_count; i++)
        gone |= 1u << axis[i];
    for (int i = 0; i < type->rank; i++) {
        attr.dim[i] = type->dim[i];
        if ((gone & 1u << i) == 0)
            attr.axis[rank++] = i;
    }
    return apply_broadcast(a, &attr);
}

bool fgi_broadcast_shape(const fg_type *a, const fg_type *b, fg_type *out)
{
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 1; i <= out->rank; i++) {
        const int64_t m = i <= a->rank ? a->dim[a->rank - i] : 1;
        const int64_t n = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (m != n && m != 1 && n != 1)
            return false;
        out->dim[out->rank - i] = m == 1 ? n : m;
    }
    return true;
}

void fgi_broadcast_both(fg_tensor *a, fg_tensor *b)
{
    fg_type type = {0};
    if (fgi_is_poison(*a) || fgi_is_poison(*b))
        return;
    fgi_upcast_both(a, b);
    if (fgi_same_shape(fg_tensor_type(*a), fg_tensor_type(*b)) ||
        !fgi_broadcast_shape(fg_tensor_type(*a), fg_tensor_type(*b), &type))
        return;
    *a = fg_broadcast_to(*a, type.rank, type.dim);
    *b = fg_broadcast_to(*b, type.rank, type.dim);
}

int fgi_axes(fg_tensor a, const char *op, int count, const int *axis, int *out)
{
    const fg_type *type = fg_tensor_type(a);
    unsigned seen = 0;
    if (count < 0) {
        (void)fgi_trace_fail(fg_tensor_trace(a), FG_EINVAL, "%s: %d axes: expected at least 0", op,
                             count);
        return -1;
    }
    if (count == 0)
        for (int i = 0; i < type->rank; i++)
            out[i] = i;
    for (int i = 0; i < count; i++) {
        const int at = axis[i] < 0 ? axis[i] + type->rank : axis[i];
        if (at < 0 || at >= type->rank || (seen & 1u << at) != 0) {
            (void)fgi_trace_fail(fg_tensor_trace(a), FG_EINVAL,
                                 "%s: axis %d is out of range for rank %d or given twice", op,
                                 axis[i], type->rank);
            return -1;
        }
        seen |= 1u << at;
        out[i] = at;
    }
    return count == 0 ? type->rank : count;
}

/* ---- slice ----------------------------------------------------------------------------------- */

static bool slice_infer(fgi_infer *c)
{
    const fgi_slice_attr *attr = c->attr;
    const fg_type *a = c->in[0];
    int64_t dim[FG_MAX_RANK];
    for (int i = 0; i < a->rank; i++) {
        const int64_t start = attr->start[i], limit = attr->limit[i], stride = attr->stride[i];
        if (start < 0 || limit < start || limit > a->dim[i] || stride < 1)
            return fgi_infer_fail(c, FG_ESHAPE,
                                  "dimension %d: %" PRId64 " to %" PRId64 " by %" PRId64
                                  " is outside 0 to %" PRId64,
                                  i, start, limit, stride, a->dim[i]);
        dim[i] = limit > start ? (limit - start - 1) / stride + 1 : 0;
    }
    return fgi_infer_ok(c, a->dtype, a->rank, dim);
}

static void slice_emit(fgi_emit *e)
{
    const fgi_slice_attr *attr = e->node->attr;
    const int rank = e->node->type.rank;
    fgi_buf text = {0};
    fgi_build_array(&text, "start_indices", rank, attr->start);
    fgi_build_array(&text, "limit_indices", rank, attr->limit);
    fgi_build_array(&text, "strides", rank, attr->stride);
    fgi_emit_text(e, "slice", &text);
}

static void slice_vjp(fgi_vjp *v)
{
    const fgi_slice_attr *attr = v->attr;
    const fg_type *in = fg_tensor_type(v->in[0]), *out = fg_tensor_type(v->out);
    int64_t low[FG_MAX_RANK] = {0}, high[FG_MAX_RANK] = {0}, interior[FG_MAX_RANK] = {0};
    for (int i = 0; i < in->rank; i++) {
        const int64_t covered = out->dim[i] == 0 ? 0 : (out->dim[i] - 1) * attr->stride[i] + 1;
        low[i] = attr->start[i];
        high[i] = in->dim[i] - attr->start[i] - covered;
        interior[i] = attr->stride[i] - 1;
    }
    v->din[0] = fg_pad(v->dout, 0, low, high, interior);
}

static const fgi_op slice = {.name = "slice",
                             .arity = 1,
                             .role = FGI_MOVES,
                             .infer = slice_infer,
                             .rows = fgi_slice_rows,
                             .emit = slice_emit,
                             .vjp = slice_vjp};

/* A stride that is not larger than the slice and selects the same elements. */
static int64_t short_stride(int64_t start, int64_t limit, int64_t stride)
{
    if (start < 0 || limit <= start || stride <= limit - start)
        return stride;
    return limit - start;
}

fg_tensor fg_slice(fg_tensor a, const int64_t *start, const int64_t *limit, const int64_t *stride)
{
    if (fgi_is_poison(a))
        return a;
    fgi_slice_attr attr = {0};
    for (int i = 0; i < fg_tensor_type(a)->rank; i++) {
        attr.start[i] = start[i];
        attr.limit[i] = limit[i];
        attr.stride[i] = stride != NULL ? short_stride(start[i], limit[i], stride[i]) : 1;
    }
    return fgi_apply(&slice, &a, 1, &attr, sizeof attr);
}

/* ---- pad ------------------------------------------------------------------------------------- */

/* size + (size - 1) interior + low + high; false on overflow. */
static bool padded_size(int64_t size, int64_t low, int64_t high, int64_t interior, int64_t *out)
{
    int64_t gaps = 0, inner = 0, edges = 0;
    return !__builtin_mul_overflow(size > 0 ? size - 1 : 0, interior, &gaps) &&
           !__builtin_add_overflow(size, gaps, &inner) &&
           !__builtin_add_overflow(low, high, &edges) && !__builtin_add_overflow(inner, edges, out);
}

/* The value is a second operand of rank 0. Padding of more than half the range of int64_t, which
 * its gradient would have to negate, is rejected: no result could have so many elements. */
static bool pad_infer(fgi_infer *c)
{
    const fgi_pad_attr *attr = c->attr;
    const fg_type *a = c->in[0];
    int64_t dim[FG_MAX_RANK];
    for (int i = 0; i < a->rank; i++) {
        if (attr->interior[i] < 0)
            return fgi_infer_fail(c, FG_EINVAL, "interior of dimension %d is negative", i);
        if (attr->low[i] < -INT64_MAX / 2 || attr->high[i] < -INT64_MAX / 2 ||
            attr->interior[i] > INT64_MAX / 2)
            return fgi_infer_fail(c, FG_ESHAPE, "the padding of dimension %d is too large", i);
        if (!padded_size(a->dim[i], attr->low[i], attr->high[i], attr->interior[i], &dim[i]))
            return fgi_infer_fail(
                c, FG_ESHAPE, "dimension %d of the result would have more than 2^63 - 1 elements",
                i);
    }
    return fgi_infer_ok(c, a->dtype, a->rank, dim);
}

static void pad_emit(fgi_emit *e)
{
    const fgi_pad_attr *attr = e->node->attr;
    const int rank = e->node->type.rank;
    fgi_buf text = {0};
    fgi_build_array(&text, "edge_padding_low", rank, attr->low);
    fgi_build_array(&text, "edge_padding_high", rank, attr->high);
    fgi_build_array(&text, "interior_padding", rank, attr->interior);
    fgi_emit_text(e, "pad", &text);
}

/* Inverse of pad: removes the padding, then takes every (interior + 1)-th element. */
static void pad_vjp(fgi_vjp *v)
{
    const fgi_pad_attr *attr = v->attr;
    const fg_type *in = fg_tensor_type(v->in[0]);
    int64_t low[FG_MAX_RANK] = {0}, high[FG_MAX_RANK] = {0};
    int64_t start[FG_MAX_RANK] = {0}, limit[FG_MAX_RANK], stride[FG_MAX_RANK];
    for (int i = 0; i < in->rank; i++) {
        low[i] = -attr->low[i];
        high[i] = -attr->high[i];
        stride[i] = attr->interior[i] + 1;
        limit[i] = in->dim[i] > 0 ? (in->dim[i] - 1) * stride[i] + 1 : 0;
    }
    v->din[0] = fg_slice(fg_pad(v->dout, 0, low, high, NULL), start, limit, stride);
}

const fgi_op fgi_pad_op = {.name = "pad",
                           .arity = 2,
                           .role = FGI_MOVES,
                           .infer = pad_infer,
                           .rows = fgi_pad_rows,
                           .emit = pad_emit,
                           .vjp = pad_vjp};

fg_tensor fg_pad(fg_tensor a, double value, const int64_t *low, const int64_t *high,
                 const int64_t *interior)
{
    if (fgi_is_poison(a))
        return a;
    fgi_pad_attr attr = {0};
    const fg_type *type = fg_tensor_type(a);
    bool is_identity = true;
    for (int i = 0; i < type->rank; i++) {
        attr.low[i] = low[i];
        attr.high[i] = high[i];
        attr.interior[i] = interior != NULL ? interior[i] : 0;
        is_identity &= low[i] == 0 && high[i] == 0 && attr.interior[i] == 0;
    }
    if (is_identity)
        return a;
    const fg_tensor fill = fg_full(fg_tensor_trace(a), type->dtype, value, FG_SCALAR);
    return fgi_apply(&fgi_pad_op, (const fg_tensor[]){a, fill}, 2, &attr, sizeof attr);
}

/* ---- concat ---------------------------------------------------------------------------------- */

static bool concat_infer(fgi_infer *c)
{
    const int axis = (int)((const fgi_axis_attr *)c->attr)->axis;
    fg_type sum = *c->in[0];
    for (int k = 1; k < c->arity; k++) {
        const fg_type *a = c->in[k];
        if (a->dtype != sum.dtype)
            return fgi_infer_fail(c, FG_EDTYPE, "the dtypes differ");
        bool fits = a->rank == sum.rank;
        for (int i = 0; fits && i < a->rank; i++)
            fits = i == axis || a->dim[i] == sum.dim[i];
        if (!fits)
            return fgi_infer_fail(c, FG_ESHAPE,
                                  "the shapes differ in dimensions other than axis %d", axis);
        if (__builtin_add_overflow(sum.dim[axis], a->dim[axis], &sum.dim[axis]))
            return fgi_infer_fail(c, FG_ESHAPE,
                                  "the result would have more than 2^63 - 1 elements");
    }
    return fgi_infer_ok(c, sum.dtype, sum.rank, sum.dim);
}

static void concat_emit(fgi_emit *e)
{
    const fgi_axis_attr *attr = e->node->attr;
    fgi_emit_attributes(e, "concatenate", "dimension = %d : i64", (int)attr->axis);
}

static void concat_vjp(fgi_vjp *v)
{
    const int axis = (int)((const fgi_axis_attr *)v->attr)->axis;
    int64_t start[FG_MAX_RANK] = {0}, limit[FG_MAX_RANK];
    memcpy(limit, fg_tensor_type(v->out)->dim, sizeof limit);
    for (int k = 0; k < v->arity; k++) {
        limit[axis] = start[axis] + fg_tensor_dim(v->in[k], axis);
        if (v->need[k])
            v->din[k] = fg_slice(v->dout, start, limit, NULL);
        start[axis] = limit[axis];
    }
}

const fgi_op fgi_concat_op = {.name = "concat",
                              .arity = -1,
                              .role = FGI_MOVES,
                              .infer = concat_infer,
                              .rows = fgi_concat_rows,
                              .emit = concat_emit,
                              .vjp = concat_vjp};

fg_tensor fg_concat(const fg_tensor *in, int count, int axis)
{
    int at[FG_MAX_RANK];
    if (fgi_is_poison(in[0]) || fgi_axes(in[0], "concat", 1, &axis, at) < 0)
        return fgi_poison(fg_tensor_trace(in[0]));
    const fgi_axis_attr attr = {.axis = at[0]};
    return count == 1 ? in[0] : fgi_apply(&fgi_concat_op, in, count, &attr, sizeof attr);
}

/* ---- reverse --------------------------------------------------------------------------------- */

static bool reverse_infer(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

static void reverse_emit(fgi_emit *e)
{
    const fgi_shape_attr *attr = e->node->attr;
    fgi_buf text = {0};
    fgi_build_array(&text, "dimensions", (int)attr->rank, attr->dim);
    fgi_emit_text(e, "reverse", &text);
}

static void reverse_vjp(fgi_vjp *v)
{
    const fgi_shape_attr *attr = v->attr;
    int axis[FG_MAX_RANK] = {0};
    for (int i = 0; i < attr->rank; i++)
        axis[i] = (int)attr->dim[i];
    v->din[0] = fg_reverse(v->dout, (int)attr->rank, axis);
}

static const fgi_op reverse = {.name = "reverse",
                               .arity = 1,
                               .role = FGI_MOVES,
                               .infer = reverse_infer,
                               .rows = fgi_reverse_rows,
                               .emit = reverse_emit,
                               .vjp = reverse_vjp};

fg_tensor fg_reverse(fg_tensor a, int axis_count, const int *axis)
{
    int at[FG_MAX_RANK];
    if (fgi_is_poison(a))
        return a;
    if (axis_count == 0)
        return a;
    if (fgi_axes(a, "reverse", axis_count, axis, at) < 0)
        return fgi_poison(fg_tensor_trace(a));
    fgi_shape_attr attr = {.rank = axis_count};
    for (int i = 0; i < axis_count; i++)
        attr.dim[i] = at[i];
    return fgi_apply(&reverse, &a, 1, &attr, sizeof attr);
}
