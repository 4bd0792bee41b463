/* reduce.c - sums, maxima and operations based on them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "op/reduce.h"

static bool reduce_infer(fgi_infer *c)
{
    const fgi_reduce_attr *attr = c->attr;
    const fg_type *a = c->in[0];
    int64_t dim[FG_MAX_RANK];
    unsigned gone = 0;
    int rank = 0;
    if (a->dtype == FG_BOOL)
        return fgi_infer_fail(c, FG_EDTYPE, "expected a numeric dtype, not bool: cast it first");
    for (int i = 0; i < attr->count; i++)
        gone |= 1u << attr->axis[i];
    for (int i = 0; i < a->rank; i++)
        if ((gone & 1u << i) == 0)
            dim[rank++] = a->dim[i];
    return fgi_infer_ok(c, a->dtype, rank, dim);
}

/* Reduced axes have no rows: padding rows were masked before, or, in a gradient, are 0. */
static bool reduce_rows(fgi_infer *c)
{
    const fgi_reduce_attr *attr = c->attr;
    unsigned gone = 0;
    int to = 0;
    for (int i = 0; i < attr->count; i++)
        gone |= 1u << attr->axis[i];
    for (int i = 0; i < c->in[0]->rank; i++)
        if ((gone & 1u << i) == 0)
            c->rows.step[to++] = c->in_rows[0]->step[i];
        else if (c->in_rows[0]->step[i] != 0 && !c->is_derivative)
            return fgi_rows_mixed(c, i, "mask the padding rows first");
    return true;
}

static void emit_reduce(fgi_emit *e, const char *body, double init)
{
    const fgi_reduce_attr *attr = e->node->attr;
    fgi_buf text = {0};
    fgi_build_array(&text, "dimensions", (int)attr->count, attr->axis);
    fgi_emit_reduction(e, "reduce", body, init, &text);
}

static int attr_axes(const fgi_reduce_attr *attr, int *axis)
{
    for (int i = 0; i < attr->count; i++)
        axis[i] = (int)attr->axis[i];
    return (int)attr->count;
}

/* ---- sum ------------------------------------------------------------------------------------- */

static void sum_emit(fgi_emit *e) { emit_reduce(e, "add", 0); }

static void sum_vjp(fgi_vjp *v)
{
    int axis[FG_MAX_RANK];
    const int count = attr_axes(v->attr, axis);
    v->din[0] = fgi_expand(v->dout, count, axis, fg_tensor_type(v->in[0]));
}

const fgi_op fgi_sum_op = {.name = "sum",
                           .arity = 1,
                           .infer = reduce_infer,
                           .rows = reduce_rows,
                           .emit = sum_emit,
                           .vjp = sum_vjp};

/* ---- max ------------------------------------------------------------------------------------- */

static double lowest(fg_dtype dtype)
{
    switch (dtype) {
    case FG_S8: return -128.0;
    case FG_S16: return -32768.0;
    case FG_S32: return -2147483648.0;
    case FG_S64: return -9223372036854775808.0;
    default: return fg_dtype_is_float(dtype) ? (double)-INFINITY : 0.0;
    }
}

static void max_emit(fgi_emit *e) { emit_reduce(e, "maximum", lowest(e->node->type.dtype)); }

static void max_vjp(fgi_vjp *v)
{
    int axis[FG_MAX_RANK];
    const fg_type *type = fg_tensor_type(v->in[0]);
    const int count = attr_axes(v->attr, axis);
    const fg_tensor top = fgi_expand(v->out, count, axis, type);
    fg_tensor valid, is_top = fg_eq(v->in[0], top);
    if (fgi_masked_by(v->in[0],
                      &valid)) /* padding rows are equal to samples that are all -infinity */
        is_top = fg_and(is_top, valid);
    const fg_tensor hit = fg_cast(is_top, type->dtype);
    const fg_tensor term = fg_div(v->dout, fg_sum(hit, count, axis));
    v->din[0] = fg_mul(hit, fgi_expand(term, count, axis, type));
}

static const fgi_op max_op = {.name = "max",
                              .arity = 1,
                              .infer = reduce_infer,
                              .rows = reduce_rows,
                              .emit = max_emit,
                              .vjp = max_vjp};

/* ---- public ---------------------------------------------------------------------------------- */

/* Over the valid elements; a neutral number replaces the others. */
static fg_tensor reduce(const fgi_op *op, fg_tensor a, int axis_count, const int *axis)
{
    int at[FG_MAX_RANK];
    if (fgi_is_poison(a))
        return a;
    const int count = fgi_axes(a, op->name, axis_count, axis, at);
    if (count < 0)
        return fgi_poison(fg_tensor_trace(a));
    if (count == 0)
        return a;
    fgi_reduce_attr attr = {.count = count};
    for (int i = 0; i < count; i++)
        attr.axis[i] = at[i];
    const double neutral = op == &max_op ? lowest(fg_tensor_type(a)->dtype) : 0;
    a = fgi_mask_rows(a, fgi_row_axes(a, count, at), neutral);
    return fgi_apply(op, &a, 1, &attr, sizeof attr);
}

fg_tensor fg_sum(fg_tensor a, int axis_count, const int *axis)
{
    return fgi_cast_back(reduce(&fgi_sum_op, fgi_upcast(a), axis_count, axis), a);
}

fg_tensor fg_max(fg_tensor a, int axis_count, const int *axis)
{
    return reduce(&max_op, a, axis_count, axis);
}

/* With a reciprocal, as for a count that is known at trace time. */
static fg_tensor mean_of_valid(fg_tensor a, fg_tensor sum, int count, const int *axis)
{
    const fg_tensor n = fgi_count_valid(a, count, axis, fg_tensor_type(sum)->dtype);
    const fg_tensor rows = fgi_row_denominator(a, fgi_row_axes(a, count, axis));
    return fgi_set_denominator(fg_mul(sum, fg_div(fgi_full_like(n, 1), n)), rows);
}

fg_tensor fg_mean(fg_tensor a, int axis_count, const int *axis)
{
    const fg_type *type = fg_tensor_type(a);
    if (fgi_is_poison(a))
        return a;
    if (!fg_dtype_is_float(type->dtype))
        return fgi_trace_fail(fg_tensor_trace(a), FG_EDTYPE,
                              "mean: expected a floating-point dtype, got %s: cast it first",
                              fg_dtype_name(type->dtype));
    int at[FG_MAX_RANK];
    const int count = fgi_axes(a, "mean", axis_count, axis, at);
    if (count < 0)
        return fgi_poison(fg_tensor_trace(a));
    const fg_tensor wide = fgi_upcast(a), sum = fg_sum(wide, axis_count, axis);
    if (fgi_is_poison(sum))
        return sum;
    if (fgi_row_axes(a, count, at) != 0)
        return fgi_cast_back(mean_of_valid(wide, sum, count, at), a);
    const double parts = (double)fg_type_count(type) / (double)fg_type_count(fg_tensor_type(sum));
    return fgi_cast_back(fg_mul_scalar(sum, 1.0 / parts), a);
}

/* ---- over the last axis ---------------------------------------------------------------------- */

static const int last[] = {-1};

static bool expects_axis(fg_tensor a, const char *op)
{
    if (fgi_is_poison(a))
        return false;
    if (fg_tensor_type(a)->rank > 0)
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(a), FG_ESHAPE, "%s: expected at least one dimension", op);
    return false;
}

/* a in f32 or f64, with -infinity in padding rows if the last axis is the batch axis. */
static fg_tensor wide_valid(fg_tensor a)
{
    const int axis = fg_tensor_type(a)->rank - 1;
    return fgi_mask_rows(fgi_upcast(a), fgi_row_axes(a, 1, &axis), (double)-INFINITY);
}

/* The largest element of a along the last axis, without a gradient. */
static fg_tensor top_of(fg_tensor a) { return fg_stop_gradient(fg_max(a, 1, last)); }

/* a minus one number for each position along the other axes. */
static fg_tensor less(fg_tensor a, fg_tensor by)
{
    const int axis = fg_tensor_type(a)->rank - 1;
    return fg_sub(a, fgi_expand(by, 1, &axis, fg_tensor_type(a)));
}

/* If all elements are -infinity, the result is -infinity and the gradient 0. */
fg_tensor fg_logsumexp(fg_tensor a)
{
    if (!expects_axis(a, "logsumexp"))
        return fgi_poison(fg_tensor_trace(a));
    const fg_tensor x = wide_valid(a), top = top_of(x), zero = fgi_full_like(top, 0);
    const fg_tensor shift = fg_where(fg_is_finite(top), top, zero);
    const fg_tensor sum = fg_sum(fg_exp(less(x, shift)), 1, last);
    const fg_tensor is_none = fg_eq(sum, zero);
    const fg_tensor log = fg_log(fg_where(is_none, fgi_full_like(sum, 1), sum));
    const fg_tensor lowest_of_all = fgi_full_like(sum, (double)-INFINITY);
    return fgi_cast_back(fg_where(is_none, lowest_of_all, fg_add(log, shift)), a);
}

fg_tensor fg_log_softmax(fg_tensor a)
{
    if (!expects_axis(a, "log_softmax"))
        return fgi_poison(fg_tensor_trace(a));
    const fg_tensor x = wide_valid(a), top = top_of(x);
    const fg_tensor norm = fg_log(fg_sum(fg_exp(less(x, top)), 1, last));
    return fgi_cast_back(less(less(fgi_upcast(a), top), norm), a);
}

fg_tensor fg_softmax(fg_tensor a)
{
    if (!expects_axis(a, "softmax"))
        return fgi_poison(fg_tensor_trace(a));
    const fg_tensor x = wide_valid(a), e = fg_exp(less(x, top_of(x)));
    const int axis = fg_tensor_type(a)->rank - 1;
    const fg_tensor sum = fgi_expand(fg_sum(e, 1, last), 1, &axis, fg_tensor_type(x));
    return fgi_cast_back(fgi_with_rows(fg_div(e, sum), fgi_node_of(a)->rows), a);
}

/* The smallest index whose element is not less than the largest: in range also for NaNs. */
fg_tensor fg_argmax(fg_tensor a)
{
    if (!expects_axis(a, "argmax"))
        return fgi_poison(fg_tensor_trace(a));
    fg_trace *trace = fg_tensor_trace(a);
    const fg_type *type = fg_tensor_type(a);
    const int axis = type->rank - 1;
    const fg_tensor top = fgi_expand(fg_max(a, 1, last), 1, &axis, type);
    const fg_tensor index = fg_iota(trace, FG_S32, axis, type->rank, type->dim);
    const fg_tensor beyond =
        fg_full(trace, FG_S32, -(double)type->dim[axis], type->rank, type->dim);
    const fg_tensor hit = fg_not(fg_lt(a, top));
    return fg_neg(fg_max(fg_where(hit, fg_neg(index), beyond), 1, last));
}
