/* select.c - comparisons, selection and one-hot encoding.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "op/op.h"

static bool compare_infer(fgi_infer *c)
{
    return fgi_infer_agree(c) && fgi_infer_ok(c, FG_BOOL, c->in[0]->rank, c->in[0]->dim);
}

static void compare_emit(fgi_emit *e, const char *direction)
{
    const fg_dtype dtype = e->node->in[0]->type.dtype;
    const bool is_unsigned =
        dtype == FG_BOOL || dtype == FG_U8 || dtype == FG_U16 || dtype == FG_U32 || dtype == FG_U64;
    const char *type = fg_dtype_is_float(dtype) ? "FLOAT" : is_unsigned ? "UNSIGNED" : "SIGNED";
    fgi_emit_attributes(e, "compare",
                        "comparison_direction = #stablehlo<comparison_direction %s>, "
                        "compare_type = #stablehlo<comparison_type %s>",
                        direction, type);
}

#define COMPARE(id, direction)                                                                     \
    static void id##_emit(fgi_emit *e) { compare_emit(e, direction); }                             \
    static const fgi_op id##_op = {.name = #id,                                                    \
                                   .arity = 2,                                                     \
                                   .role = FGI_POINTWISE,                                          \
                                   .infer = compare_infer,                                         \
                                   .rows = fgi_rows_pointwise,                                     \
                                   .emit = id##_emit};                                             \
    fg_tensor fg_##id(fg_tensor a, fg_tensor b)                                                    \
    {                                                                                              \
        fgi_broadcast_both(&a, &b);                                                                \
        return FGI_APPLY2(id##_op, a, b);                                                          \
    }

COMPARE(eq, "EQ")
COMPARE(ne, "NE")
COMPARE(lt, "LT")
COMPARE(le, "LE")
COMPARE(gt, "GT")
COMPARE(ge, "GE")

static bool where_infer(fgi_infer *c)
{
    const fg_type *condition = c->in[0], *a = c->in[1], *b = c->in[2];
    if (condition->dtype != FG_BOOL)
        return fgi_infer_fail(c, FG_EDTYPE, "expected a bool condition as the first operand");
    if (a->dtype != b->dtype)
        return fgi_infer_fail(c, FG_EDTYPE, "the dtypes differ: cast one of them");
    if (!fgi_same_shape(a, b) || !fgi_same_shape(condition, a))
        return fgi_infer_fail(c, FG_ESHAPE, "the shapes cannot be broadcast");
    return fgi_infer_ok(c, a->dtype, a->rank, a->dim);
}

static void where_emit(fgi_emit *e) { fgi_emit_simple(e, "select", NULL); }

static void where_vjp(fgi_vjp *v)
{
    const fg_tensor zero = fgi_full_like(v->dout, 0);
    if (v->need[1])
        v->din[1] = fg_where(v->in[0], v->dout, zero);
    if (v->need[2])
        v->din[2] = fg_where(v->in[0], zero, v->dout);
}

static const fgi_op where_op = {.name = "where",
                                .arity = 3,
                                .role = FGI_POINTWISE,
                                .infer = where_infer,
                                .rows = fgi_rows_pointwise,
                                .emit = where_emit,
                                .vjp = where_vjp};

fg_tensor fg_where(fg_tensor condition, fg_tensor a, fg_tensor b)
{
    fgi_broadcast_both(&a, &b);
    fgi_broadcast_both(&condition, &a);
    fgi_broadcast_both(&a, &b);
    return FGI_APPLY3(where_op, condition, a, b);
}

fg_tensor fg_one_hot(fg_tensor index, int64_t depth, fg_dtype dtype)
{
    fg_trace *trace = fg_tensor_trace(index);
    const fg_type *type = fg_tensor_type(index);
    if (fgi_is_poison(index))
        return index;
    if (type->dtype != FG_S32)
        return fgi_trace_fail(trace, FG_EDTYPE, "one_hot: expected s32 indices, got %s",
                              fg_dtype_name(type->dtype));
    if (type->rank >= FG_MAX_RANK || depth < 0)
        return fgi_trace_fail(trace, FG_ESHAPE,
                              "one_hot: depth %" PRId64 " is not valid for indices of rank %d",
                              depth, type->rank);
    fg_type wide = *type;
    wide.dim[wide.rank++] = depth;
    const int axis = type->rank;
    const fg_tensor place = fg_iota(trace, FG_S32, axis, wide.rank, wide.dim);
    return fg_cast(fg_eq(fgi_expand(index, 1, &axis, &wide), place), dtype);
}
