/* reduce.c - sums, products, maxima and operations based on them.
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

/* ---- prod ------------------------------------------------------------------------------------ */

static void prod_emit(fgi_emit *e) { emit_reduce(e, "multiply", 1); }

/* d times the product of the other elements, which is 0 if one of these is. */
static void prod_vjp(fgi_vjp *v)
{
    int axis[FG_MAX_RANK];
    const fg_tensor x = v->in[0], zero = fgi_full_like(x, 0), is_zero = fg_eq(x, zero);
    const fg_type *type = fg_tensor_type(x);
    const int count = attr_axes(v->attr, axis);
    const fg_tensor safe = fg_where(is_zero, fgi_full_like(x, 1), x),
                    own = fg_cast(is_zero, FG_S32);
    const fg_tensor zeros = fgi_expand(fg_sum(own, count, axis), count, axis, type);
    const fg_tensor whole = fg_mul(v->dout, fg_prod(safe, count, axis));
    const fg_tensor others = fg_div(fgi_expand(whole, count, axis, type), safe);
    v->din[0] = fg_where(fg_eq(zeros, own), others, zero);
}

static const fgi_op prod_op = {.name = "prod",
                               .arity = 1,
                               .infer = reduce_infer,
                               .rows = reduce_rows,
                               .emit = prod_emit,
                               .vjp = prod_vjp};

/* ---- public ---------------------------------------------------------------------------------- */

static bool expects_number(fg_tensor a, const char *op)
{
    char text[96];
    if (fgi_is_poison(a) || fg_tensor_type(a)->dtype != FG_BOOL)
        return !fgi_is_poison(a);
    (void)fgi_trace_fail(fg_tensor_trace(a), FG_EDTYPE,
                         "%s(%s): expected a numeric dtype, not bool: cast it first", op,
                         fg_type_format(fg_tensor_type(a), text, sizeof text));
    return false;
}

/* The axes for an operation that has no result for an empty one; returns their number, or -1 after
 * keeping an error. */
static int filled_axes(fg_tensor a, const char *op, int axis_count, const int *axis, int *out)
{
    char text[96];
    const int count = fgi_axes(a, op, axis_count, axis, out);
    for (int i = 0; i < count; i++)
        if (fg_tensor_dim(a, out[i]) == 0) {
            (void)fgi_trace_fail(fg_tensor_trace(a), FG_ESHAPE, "%s(%s): axis %d has no elements",
                                 op, fg_type_format(fg_tensor_type(a), text, sizeof text), out[i]);
            return -1;
        }
    return count;
}

/* Over the valid elements; a neutral number replaces the others. */
static fg_tensor reduce(const fgi_op *op, const char *name, fg_tensor a, int axis_count,
                        const int *axis)
{
    int at[FG_MAX_RANK];
    if (fgi_is_poison(a))
        return a;
    const int count = fgi_axes(a, name, axis_count, axis, at);
    if (count < 0)
        return fgi_poison(fg_tensor_trace(a));
    if (count == 0)
        return a;
    fgi_reduce_attr attr = {.count = count};
    for (int i = 0; i < count; i++)
        attr.axis[i] = at[i];
    const double neutral = op == &max_op    ? lowest(fg_tensor_type(a)->dtype)
                           : op == &prod_op ? 1
                                            : 0;
    a = fgi_mask_rows(a, fgi_row_axes(a, count, at), neutral);
    return fgi_apply(op, &a, 1, &attr, sizeof attr);
}

fg_tensor fg_sum(fg_tensor a, int axis_count, const int *axis)
{
    return fgi_cast_back(reduce(&fgi_sum_op, "sum", fgi_upcast(a), axis_count, axis), a);
}

fg_tensor fg_prod(fg_tensor a, int axis_count, const int *axis)
{
    return fgi_cast_back(reduce(&prod_op, "prod", fgi_upcast(a), axis_count, axis), a);
}

fg_tensor fg_max(fg_tensor a, int axis_count, const int *axis)
{
    int at[FG_MAX_RANK];
    if (!expects_number(a, "max") || filled_axes(a, "max", axis_count, axis, at) < 0)
        return fgi_poison(fg_tensor_trace(a));
    return reduce(&max_op, "max", a, axis_count, axis);
}

/* In the opposite order: -a, or all bits inverted, which no integer overflows. */
static fg_tensor mirrored(fg_tensor a)
{
    return fg_dtype_is_float(fg_tensor_type(a)->dtype) ? fg_neg(a) : fg_not(a);
}

fg_tensor fg_min(fg_tensor a, int axis_count, const int *axis)
{
    int at[FG_MAX_RANK];
    if (!expects_number(a, "min") || filled_axes(a, "min", axis_count, axis, at) < 0)
        return fgi_poison(fg_tensor_trace(a));
    return mirrored(reduce(&max_op, "min", mirrored(a), axis_count, axis));
}

static fg_tensor any(const char *name, fg_tensor is_true, int axis_count, const int *axis)
{
    return fg_cast(reduce(&max_op, name, fg_cast(is_true, FG_U8), axis_count, axis), FG_BOOL);
}

fg_tensor fg_any(fg_tensor a, int axis_count, const int *axis)
{
    return any("any", fg_cast(a, FG_BOOL), axis_count, axis);
}

fg_tensor fg_all(fg_tensor a, int axis_count, const int *axis)
{
    return fg_not(any("all", fg_not(fg_cast(a, FG_BOOL)), axis_count, axis));
}

/* Adds the sums of 1, 2, 4 ... elements before each one. */
fg_tensor fg_cumsum(fg_tensor a, int axis)
{
    int at;
    if (!expects_number(a, "cumsum") || fgi_axes(a, "cumsum", 1, &axis, &at) < 0)
        return fgi_poison(fg_tensor_trace(a));
    fg_tensor sum = fgi_upcast(a);
    for (int64_t by = 1; by < fg_tensor_dim(a, at); by *= 2) {
        int64_t low[FG_MAX_RANK] = {0}, high[FG_MAX_RANK] = {0};
        low[at] = by;
        high[at] = -by;
        sum = fg_add(sum, fg_pad(sum, 0, low, high, NULL));
    }
    return fgi_cast_back(sum, a);
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
    int at[FG_MAX_RANK];
    const fg_type *type = fg_tensor_type(a);
    const int count =
        fgi_expects_float(a, "mean") ? filled_axes(a, "mean", axis_count, axis, at) : -1;
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

fg_tensor fg_variance(fg_tensor a, int axis_count, const int *axis, double correction)
{
    int at[FG_MAX_RANK];
    const int count =
        fgi_expects_float(a, "variance") ? filled_axes(a, "variance", axis_count, axis, at) : -1;
    if (count < 0)
        return fgi_poison(fg_tensor_trace(a));
    const fg_tensor x = fgi_upcast(a);
    const fg_tensor mean = fgi_expand(fg_mean(x, count, at), count, at, fg_tensor_type(x));
    const fg_tensor biased = fg_mean(fg_square(fg_sub(x, mean)), count, at);
    if (correction == 0)
        return fgi_cast_back(biased, a);
    const fg_tensor n = fgi_count_valid(x, count, at, fg_tensor_type(x)->dtype);
    const fg_tensor rest = fg_maximum(fg_add_scalar(n, -correction), fgi_full_like(n, 0));
    return fgi_cast_back(fg_mul(biased, fg_div(n, rest)), a);
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
static fg_tensor top_of(fg_tensor a)
{
    return fg_stop_gradient(reduce(&max_op, "max", a, 1, last));
}

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

/* The smallest index whose element is not beaten by the best one: in range also for NaNs. */
static fg_tensor first_best(fg_tensor a, const char *op, int axis,
                            fg_tensor (*best)(fg_tensor a, int axis_count, const int *axis),
                            fg_tensor (*is_beaten)(fg_tensor a, fg_tensor by))
{
    int at;
    if (!expects_number(a, op) || filled_axes(a, op, 1, &axis, &at) < 0)
        return fgi_poison(fg_tensor_trace(a));
    fg_trace *trace = fg_tensor_trace(a);
    const fg_type *type = fg_tensor_type(a);
    const fg_tensor top = fgi_expand(best(a, 1, &at), 1, &at, type);
    const fg_tensor index = fg_iota(trace, FG_S32, at, type->rank, type->dim);
    const fg_tensor beyond = fg_full(trace, FG_S32, -(double)type->dim[at], type->rank, type->dim);
    const fg_tensor hit = fg_not(is_beaten(a, top));
    return fg_neg(fg_max(fg_where(hit, fg_neg(index), beyond), 1, &at));
}

fg_tensor fg_argmax_axis(fg_tensor a, int axis)
{
    return first_best(a, "argmax", axis, fg_max, fg_lt);
}

fg_tensor fg_argmin_axis(fg_tensor a, int axis)
{
    return first_best(a, "argmin", axis, fg_min, fg_gt);
}

fg_tensor fg_argmax(fg_tensor a)
{
    return expects_axis(a, "argmax") ? fg_argmax_axis(a, -1) : fgi_poison(fg_tensor_trace(a));
}
