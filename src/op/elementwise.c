/* elementwise.c - elementwise arithmetic: one operand, two operands, casts.
 *
 * An operation here is a row: StableHLO name, supported dtypes, and gradient.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "op/composite.h"
#include "trace/lowering.h"

/* ---- one operand ----------------------------------------------------------------------------- */

static bool same_float(fgi_infer *c)
{
    const fg_type *a = c->in[0];
    if (!fg_dtype_is_float(a->dtype))
        return fgi_infer_fail(c, FG_EDTYPE, "expected a floating-point dtype: cast it first");
    return fgi_infer_ok(c, a->dtype, a->rank, a->dim);
}

static bool same_number(fgi_infer *c)
{
    const fg_type *a = c->in[0];
    if (a->dtype == FG_BOOL)
        return fgi_infer_fail(c, FG_EDTYPE, "expected a numeric dtype, not bool: cast it first");
    return fgi_infer_ok(c, a->dtype, a->rank, a->dim);
}

static bool same_signed(fgi_infer *c)
{
    const fg_dtype dtype = c->in[0]->dtype;
    if (dtype == FG_U8 || dtype == FG_U16 || dtype == FG_U32 || dtype == FG_U64)
        return fgi_infer_fail(c, FG_EDTYPE, "expected a signed dtype: cast it first");
    return same_number(c);
}

/* Defines the row `id`: lowered to a StableHLO operation, with the gradient din as an expression of
 * x (input), y (output) and d (gradient of y). */
#define UNARY(id, stablehlo, rule, derivative)                                                     \
    static void id##_emit(fgi_emit *e) { fgi_emit_simple(e, stablehlo, NULL); }                    \
    static void id##_vjp(fgi_vjp *v)                                                               \
    {                                                                                              \
        const fg_tensor x = v->in[0], y = v->out, d = v->dout;                                     \
        (void)x, (void)y;                                                                          \
        v->din[0] = (derivative);                                                                  \
    }                                                                                              \
    static const fgi_op id##_op = {.name = #id,                                                    \
                                   .arity = 1,                                                     \
                                   .role = FGI_POINTWISE,                                          \
                                   .infer = (rule),                                                \
                                   .rows = fgi_rows_pointwise,                                     \
                                   .emit = id##_emit,                                              \
                                   .vjp = id##_vjp};                                               \
    fg_tensor fg_##id(fg_tensor a) { return FGI_APPLY1(id##_op, a); }

/* The same without a gradient. */
#define UNARY_FLAT(id, stablehlo, rule)                                                            \
    static void id##_emit(fgi_emit *e) { fgi_emit_simple(e, stablehlo, NULL); }                    \
    static const fgi_op id##_op = {.name = #id,                                                    \
                                   .arity = 1,                                                     \
                                   .role = FGI_POINTWISE,                                          \
                                   .infer = (rule),                                                \
                                   .rows = fgi_rows_pointwise,                                     \
                                   .emit = id##_emit};                                             \
    fg_tensor fg_##id(fg_tensor a) { return FGI_APPLY1(id##_op, a); }

UNARY_FLAT(sign, "sign", same_signed)
UNARY_FLAT(floor, "floor", same_float)
UNARY(neg, "negate", same_number, fg_neg(d))
UNARY(abs, "abs", same_signed, fg_mul(d, fg_sign(x)))
UNARY(exp, "exponential", same_float, fg_mul(d, y))
UNARY(log, "log", same_float, fg_div(d, x))
UNARY(log1p, "log_plus_one", same_float, fg_div(d, fg_add_scalar(x, 1)))
UNARY(expm1, "exponential_minus_one", same_float, fg_mul(d, fg_add_scalar(y, 1)))
UNARY(sqrt, "sqrt", same_float, fg_div(fg_mul_scalar(d, 0.5), y))
UNARY(rsqrt, "rsqrt", same_float, fg_mul(fg_mul_scalar(d, -0.5), fg_div(y, x)))
UNARY(cos, "cosine", same_float, fg_neg(fg_mul(d, fg_sin(x))))
UNARY(sin, "sine", same_float, fg_mul(d, fg_cos(x)))
UNARY(tanh, "tanh", same_float, fg_mul(d, fg_sub(fgi_full_like(y, 1), fg_square(y))))
UNARY(sigmoid, "logistic", same_float, fg_mul(d, fg_mul(y, fg_sub(fgi_full_like(y, 1), y))))

static bool is_finite_infer(fgi_infer *c)
{
    return same_float(c) && fgi_infer_ok(c, FG_BOOL, c->in[0]->rank, c->in[0]->dim);
}

UNARY_FLAT(is_finite, "is_finite", is_finite_infer)

/* The value itself; nothing is emitted. The node only stops the gradient. */
static bool stop_infer(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

static const fgi_op stop_op = {.name = "stop_gradient",
                               .arity = 1,
                               .role = FGI_MOVES,
                               .infer = stop_infer,
                               .rows = fgi_rows_pointwise};

fg_tensor fg_stop_gradient(fg_tensor a) { return FGI_APPLY1(stop_op, a); }

fg_tensor fg_square(fg_tensor a) { return fg_mul(a, a); }

/* ---- activation functions -------------------------------------------------------------------- */

/* Not part of StableHLO: XLA replaces the call by its own erf. */
static void erf_emit(fgi_emit *e)
{
    fgi_emit_simple(
        e, "custom_call",
        "call_target_name = \"mhlo.erf\", mhlo.attributes = {}, mhlo.version = 1 : i64");
}

/* 2 / sqrt(pi) exp(-x^2) */
static void erf_vjp(fgi_vjp *v)
{
    const fg_tensor slope = fg_exp(fg_neg(fg_square(v->in[0])));
    v->din[0] = fg_mul(v->dout, fg_mul_scalar(slope, 1.1283791670955126));
}

static const fgi_op erf_op = {.name = "erf",
                              .arity = 1,
                              .role = FGI_POINTWISE,
                              .infer = same_float,
                              .rows = fgi_rows_pointwise,
                              .emit = erf_emit,
                              .vjp = erf_vjp};

fg_tensor fg_erf(fg_tensor a) { return FGI_APPLY1(erf_op, a); }

/* max(x, 0) + log(1 + exp(-|x|)): without overflow. One node, because the derivatives of max and
 * |x| at 0 are not that of the sum. */
static void softplus_emit(fgi_emit *e)
{
    const fgi_value x = fgi_emit_in(e, 0), zero = fgi_build_splat(&e->b, &x.type, 0);
    const fgi_value minus = fgi_build_unary(&e->b, "negate", fgi_build_unary(&e->b, "abs", x));
    const fgi_value exp = fgi_build_unary(&e->b, "exponential", minus);
    fgi_emit_become(e, fgi_build_binary(&e->b, "add", fgi_build_binary(&e->b, "maximum", x, zero),
                                        fgi_build_unary(&e->b, "log_plus_one", exp)));
}

static void softplus_vjp(fgi_vjp *v) { v->din[0] = fg_mul(v->dout, fg_sigmoid(v->in[0])); }

static const fgi_op softplus_op = {.name = "softplus",
                                   .arity = 1,
                                   .role = FGI_POINTWISE,
                                   .infer = same_float,
                                   .rows = fgi_rows_pointwise,
                                   .emit = softplus_emit,
                                   .vjp = softplus_vjp};

bool fgi_expects_float(fg_tensor a, const char *op)
{
    if (fgi_is_poison(a) || fg_dtype_is_float(fg_tensor_type(a)->dtype))
        return !fgi_is_poison(a);
    (void)fgi_trace_fail(fg_tensor_trace(a), FG_EDTYPE,
                         "%s: expected a floating-point dtype, got %s: cast it first", op,
                         fg_dtype_name(fg_tensor_type(a)->dtype));
    return false;
}

/* A composition: y is an expression of x, which is f32 where a is f16 or bf16, so that only the
 * result is rounded. */
#define ACTIVATION(id, y)                                                                          \
    fg_tensor fg_##id(fg_tensor a)                                                                 \
    {                                                                                              \
        if (!fgi_expects_float(a, #id))                                                            \
            return fgi_poison(fg_tensor_trace(a));                                                 \
        const fg_tensor x = fgi_upcast(a);                                                         \
        return fg_cast((y), fg_tensor_type(a)->dtype);                                             \
    }

/* x (1 + f(scale x)) / 2 */
#define GATED(f, scaled) fg_mul(fg_mul_scalar(x, 0.5), fg_add_scalar(f(scaled), 1))

static void gelu(const fg_tensor *in, int count, fg_tensor *out)
{
    const fg_tensor x = fgi_upcast(*in);
    (void)count;
    *out =
        fg_cast(GATED(fg_erf, fg_mul_scalar(x, 0.70710678118654752)), fg_tensor_type(*in)->dtype);
}

static void gelu_tanh(const fg_tensor *in, int count, fg_tensor *out)
{
    const fg_tensor x = fgi_upcast(*in);
    const fg_tensor cubic = fg_add_scalar(fg_mul_scalar(fg_square(x), 0.044715), 1);
    (void)count;
    *out = fg_cast(GATED(fg_tanh, fg_mul(fg_mul_scalar(x, 0.79788456080286536), cubic)),
                   fg_tensor_type(*in)->dtype);
}

const fgi_op fgi_gelu_op = {.name = "gelu", .compose = gelu};
const fgi_op fgi_gelu_tanh_op = {.name = "gelu_tanh", .compose = gelu_tanh};

static fg_tensor composed(const fgi_op *op, fg_tensor a)
{
    if (!fgi_expects_float(a, op->name))
        return fgi_poison(fg_tensor_trace(a));
    fgi_compose(op, &a, 1, &a);
    return a;
}

fg_tensor fg_gelu(fg_tensor a) { return composed(&fgi_gelu_op, a); }

fg_tensor fg_gelu_tanh(fg_tensor a) { return composed(&fgi_gelu_tanh_op, a); }

ACTIVATION(silu, fg_mul(x, fg_sigmoid(x)))
ACTIVATION(softplus, FGI_APPLY1(softplus_op, x))
ACTIVATION(mish, fg_mul(x, fg_tanh(FGI_APPLY1(softplus_op, x))))
ACTIVATION(relu6, fg_clamp(x, 0, 6))
ACTIVATION(hardsigmoid, fg_mul_scalar(fg_clamp(fg_add_scalar(x, 3), 0, 6), 1.0 / 6))
ACTIVATION(hardswish, fg_mul(x, fg_hardsigmoid(x)))

/* expm1 of a where it is selected only: of a large number it is infinite, and its gradient NaN. */
fg_tensor fg_elu(fg_tensor a, double alpha)
{
    if (!fgi_expects_float(a, "elu"))
        return fgi_poison(fg_tensor_trace(a));
    const fg_tensor zero = fgi_full_like(a, 0), is_positive = fg_gt(a, zero);
    const fg_tensor curve = fg_expm1(fg_where(is_positive, zero, a));
    return fg_where(is_positive, a, fg_mul_scalar(curve, alpha));
}

fg_tensor fg_leaky_relu(fg_tensor a, double slope)
{
    if (!fgi_expects_float(a, "leaky_relu"))
        return fgi_poison(fg_tensor_trace(a));
    return fg_where(fg_gt(a, fgi_full_like(a, 0)), a, fg_mul_scalar(a, slope));
}

/* With selections, because fg_maximum and fg_minimum pass half of the gradient at the limits. */
fg_tensor fg_clamp(fg_tensor a, double low, double high)
{
    if (fgi_is_poison(a))
        return a;
    if (!(low <= high))
        return fgi_trace_fail(fg_tensor_trace(a), FG_EINVAL,
                              "clamp: low %g is greater than high %g, or one is NaN", low, high);
    fg_tensor y = a;
    if (low != (double)-INFINITY)
        y = fg_where(fg_le(a, fgi_full_like(a, low)), fgi_full_like(a, low), y);
    if (high != (double)INFINITY)
        y = fg_where(fg_ge(a, fgi_full_like(a, high)), fgi_full_like(a, high), y);
    return y;
}

/* ---- cast ------------------------------------------------------------------------------------ */

typedef struct cast_attr {
    int64_t dtype;
} cast_attr;

static bool cast_infer(fgi_infer *c)
{
    const cast_attr *attr = c->attr;
    if (fg_dtype_size((fg_dtype)attr->dtype) == 0)
        return fgi_infer_fail(c, FG_EDTYPE, "unknown dtype %d", (int)attr->dtype);
    return fgi_infer_ok(c, (fg_dtype)attr->dtype, c->in[0]->rank, c->in[0]->dim);
}

static void cast_emit(fgi_emit *e) { fgi_emit_simple(e, "convert", NULL); }

static void cast_vjp(fgi_vjp *v)
{
    if (fg_dtype_is_float(fg_tensor_type(v->out)->dtype))
        v->din[0] = fg_cast(v->dout, fg_tensor_type(v->in[0])->dtype);
}

const fgi_op fgi_cast_op = {.name = "cast",
                            .arity = 1,
                            .role = FGI_POINTWISE,
                            .infer = cast_infer,
                            .rows = fgi_rows_pointwise,
                            .emit = cast_emit,
                            .vjp = cast_vjp};

fg_tensor fg_cast(fg_tensor a, fg_dtype dtype)
{
    const cast_attr attr = {.dtype = (int64_t)dtype};
    if (fgi_is_poison(a) || fg_tensor_type(a)->dtype == dtype)
        return a;
    return fgi_apply(&fgi_cast_op, &a, 1, &attr, sizeof attr);
}

/* ---- two operands ---------------------------------------------------------------------------- */

bool fgi_infer_agree(fgi_infer *c)
{
    const fg_type *a = c->in[0], *b = c->in[1];
    if (a->dtype != b->dtype)
        return fgi_infer_fail(c, FG_EDTYPE, "the dtypes differ: cast one of them");
    if (!fgi_same_shape(a, b))
        return fgi_infer_fail(c, FG_ESHAPE, "the shapes cannot be broadcast");
    return true;
}

static bool binary_number(fgi_infer *c)
{
    if (c->in[0]->dtype == FG_BOOL)
        return fgi_infer_fail(c, FG_EDTYPE, "expected a numeric dtype, not bool: cast it first");
    return fgi_infer_agree(c) && fgi_infer_ok(c, c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

static bool binary_float(fgi_infer *c)
{
    if (!fg_dtype_is_float(c->in[0]->dtype))
        return fgi_infer_fail(c, FG_EDTYPE, "expected a floating-point dtype: cast it first");
    return binary_number(c);
}

static bool binary_bits(fgi_infer *c)
{
    if (fg_dtype_is_float(c->in[0]->dtype))
        return fgi_infer_fail(c, FG_EDTYPE, "expected bool or an integer dtype");
    return fgi_infer_agree(c) && fgi_infer_ok(c, c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

static fg_tensor binary(const fgi_op *op, fg_tensor a, fg_tensor b)
{
    fgi_broadcast_both(&a, &b);
    return fgi_apply(op, (const fg_tensor[]){a, b}, 2, NULL, 0);
}

/* A row with two operands a and b; da and db are expressions of a, b, y and d. */
#define BINARY_EMIT(id, lowering, commutes, rule, da, db)                                          \
    static void id##_emit(fgi_emit *e) { lowering; }                                               \
    static void id##_vjp(fgi_vjp *v)                                                               \
    {                                                                                              \
        const fg_tensor a = v->in[0], b = v->in[1], y = v->out, d = v->dout;                       \
        (void)a, (void)b, (void)y;                                                                 \
        if (v->need[0])                                                                            \
            v->din[0] = (da);                                                                      \
        if (v->need[1])                                                                            \
            v->din[1] = (db);                                                                      \
    }                                                                                              \
    const fgi_op fgi_##id##_op = {.name = #id,                                                     \
                                  .arity = 2,                                                      \
                                  .role = FGI_POINTWISE,                                           \
                                  .is_commutative = (commutes),                                    \
                                  .infer = (rule),                                                 \
                                  .rows = fgi_rows_pointwise,                                      \
                                  .emit = id##_emit,                                               \
                                  .vjp = id##_vjp};                                                \
    fg_tensor fg_##id(fg_tensor a, fg_tensor b) { return binary(&fgi_##id##_op, a, b); }

#define BINARY(id, stablehlo, ...) BINARY_EMIT(id, fgi_emit_simple(e, stablehlo, NULL), __VA_ARGS__)

#define BINARY_FLAT(id, stablehlo, rule)                                                           \
    static void id##_emit(fgi_emit *e) { fgi_emit_simple(e, stablehlo, NULL); }                    \
    static const fgi_op id##_op = {.name = #id,                                                    \
                                   .arity = 2,                                                     \
                                   .role = FGI_POINTWISE,                                          \
                                   .is_commutative = true,                                         \
                                   .infer = (rule),                                                \
                                   .rows = fgi_rows_pointwise,                                     \
                                   .emit = id##_emit};                                             \
    fg_tensor fg_##id(fg_tensor a, fg_tensor b) { return binary(&id##_op, a, b); }

/* XLA's CPU backend returns the first operand if one is NaN. */
static void emit_winner(fgi_emit *e, const char *stablehlo)
{
    const fgi_value a = fgi_emit_in(e, 0), b = fgi_emit_in(e, 1);
    const fgi_node *second = e->node->in[1];
    const bool is_number = second->op->number != NULL && !isnan(second->op->number(second->attr));
    if (is_number || !fg_dtype_is_float(b.type.dtype)) {
        fgi_emit_simple(e, stablehlo, NULL);
        return;
    }
    const fgi_value y = fgi_build_binary(&e->b, stablehlo, a, b);
    fgi_emit_become(e, fgi_build_select(&e->b, fgi_build_compare(&e->b, "EQ", b, b), y, b));
}

/* a / b rounded toward 0, where y is fmod(a, b). */
static fg_tensor whole_quotient(fg_tensor a, fg_tensor b, fg_tensor y)
{
    return fg_floor(fg_add_scalar(fg_div(fg_sub(a, y), b), 0.5));
}

/* The part of d for the operand `mine` of max or min: all of it where it won, half where both are
 * equal. */
static fg_tensor winner_gradient(fg_tensor d, fg_tensor mine, fg_tensor other, fg_tensor y)
{
    const fg_tensor zero = fgi_full_like(d, 0);
    const fg_tensor tie = fg_where(fg_eq(mine, other), fg_mul_scalar(d, 0.5), zero);
    return fg_where(fg_and(fg_eq(mine, y), fg_ne(mine, other)), d, tie);
}

/* d * b * a^(b - 1); 0 where b is 0, also at a = 0. */
static fg_tensor pow_base_gradient(fg_tensor d, fg_tensor a, fg_tensor b)
{
    const fg_tensor zero = fgi_full_like(b, 0);
    const fg_tensor slope = fg_mul(b, fg_pow(a, fg_add_scalar(b, -1)));
    return fg_mul(d, fg_where(fg_eq(b, zero), zero, slope));
}

/* d * y * log(a) where a > 0, else 0. */
static fg_tensor pow_exponent_gradient(fg_tensor d, fg_tensor a, fg_tensor y)
{
    const fg_tensor zero = fgi_full_like(a, 0), one = fgi_full_like(a, 1);
    const fg_tensor positive = fg_gt(a, zero);
    const fg_tensor log_a = fg_log(fg_where(positive, a, one));
    return fg_where(positive, fg_mul(d, fg_mul(y, log_a)), zero);
}

static void add_emit(fgi_emit *e) { fgi_emit_simple(e, "add", NULL); }

static void add_vjp(fgi_vjp *v)
{
    for (int i = 0; i < 2; i++)
        if (v->need[i])
            v->din[i] = v->dout;
}

const fgi_op fgi_add_op = {.name = "add",
                           .arity = 2,
                           .role = FGI_POINTWISE,
                           .is_commutative = true,
                           .infer = binary_number,
                           .rows = fgi_rows_pointwise,
                           .emit = add_emit,
                           .vjp = add_vjp};

fg_tensor fg_add(fg_tensor a, fg_tensor b) { return binary(&fgi_add_op, a, b); }

BINARY(sub, "subtract", false, binary_number, d, fg_neg(d))
BINARY(mul, "multiply", true, binary_number, fg_mul(d, b), fg_mul(d, a))
BINARY(div, "divide", false, binary_number, fg_div(d, b), fg_neg(fg_div(fg_mul(d, y), b)))
BINARY_EMIT(maximum, emit_winner(e, "maximum"), true, binary_number, winner_gradient(d, a, b, y),
            winner_gradient(d, b, a, y))
BINARY_EMIT(minimum, emit_winner(e, "minimum"), true, binary_number, winner_gradient(d, a, b, y),
            winner_gradient(d, b, a, y))
BINARY(fmod, "remainder", false, binary_number, d, fg_neg(fg_mul(d, whole_quotient(a, b, y))))
BINARY(pow, "power", false, binary_float, pow_base_gradient(d, a, b),
       pow_exponent_gradient(d, a, y))
BINARY_FLAT(and, "and", binary_bits)
BINARY_FLAT(or, "or", binary_bits)

/* fmod has the sign of a: a number with the wrong sign is moved by b. */
fg_tensor fg_remainder(fg_tensor a, fg_tensor b)
{
    fgi_broadcast_both(&a, &b);
    const fg_tensor r = fg_fmod(a, b);
    if (fgi_is_poison(r))
        return r;
    const fg_tensor zero = fgi_full_like(r, 0);
    const fg_tensor differs = fg_ne(fg_lt(r, zero), fg_lt(b, zero));
    return fg_where(fg_and(fg_ne(r, zero), differs), fg_add(r, b), r);
}

static bool not_infer(fgi_infer *c)
{
    if (fg_dtype_is_float(c->in[0]->dtype))
        return fgi_infer_fail(c, FG_EDTYPE, "expected bool or an integer dtype");
    return fgi_infer_ok(c, c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

UNARY_FLAT(not, "not", not_infer)

/* ---- relu ------------------------------------------------------------------------------------ */

/* relu passes d where y > 0: where max was tied at 0 the gradient is 0. */
static void relu_emit(fgi_emit *e)
{
    const fgi_value zero = fgi_build_splat(&e->b, &e->node->type, 0), y = fgi_emit_result(e);
    fgi_build_into(&e->b, &y, "maximum", NULL, 2, (const fgi_value[]){fgi_emit_in(e, 0), zero});
}

enum { RELU_Y, RELU_DY };

static void relu_dx_emit(fgi_emit *e)
{
    const fgi_value y = fgi_emit_in(e, RELU_Y), dy = fgi_emit_in(e, RELU_DY);
    const fgi_value zero = fgi_build_splat(&e->b, &y.type, 0);
    const fgi_value passes = fgi_build_compare(&e->b, "GT", y, zero);
    fgi_emit_become(e, fgi_build_select(&e->b, passes, dy, zero));
}

static void relu_dx_vjp(fgi_vjp *v)
{
    if (v->need[RELU_DY])
        v->din[RELU_DY] = FGI_APPLY2(fgi_relu_dx_op, v->in[RELU_Y], v->dout);
}

const fgi_op fgi_relu_dx_op = {.name = "relu_dx",
                               .arity = 2,
                               .role = FGI_POINTWISE,
                               .infer = binary_number,
                               .rows = fgi_rows_pointwise,
                               .emit = relu_dx_emit,
                               .vjp = relu_dx_vjp};

static void relu_vjp(fgi_vjp *v) { v->din[0] = FGI_APPLY2(fgi_relu_dx_op, v->out, v->dout); }

const fgi_op fgi_relu_op = {.name = "relu",
                            .arity = 1,
                            .role = FGI_POINTWISE,
                            .infer = same_number,
                            .rows = fgi_rows_pointwise,
                            .emit = relu_emit,
                            .vjp = relu_vjp};

fg_tensor fg_relu(fg_tensor a) { return FGI_APPLY1(fgi_relu_op, a); }

fg_tensor fg_mul_scalar(fg_tensor a, double factor)
{
    return factor == 1 ? a : fg_mul(a, fgi_full_like(a, factor));
}

fg_tensor fg_add_scalar(fg_tensor a, double term) { return fg_add(a, fgi_full_like(a, term)); }

fgi_linearity fgi_linearity_of(const fgi_op *op)
{
    if (op == &fgi_add_op || op == &fgi_sub_op || op == &neg_op || op == &fgi_cast_op ||
        op->role == FGI_MOVES || op == &fgi_alias_op)
        return FGI_LINEAR;
    if (op == &fgi_mul_op)
        return FGI_BILINEAR;
    return op == &fgi_div_op ? FGI_LINEAR_IN_FIRST : FGI_NOT_LINEAR;
}
