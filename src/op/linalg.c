/* linalg.c - factorizations and systems of equations. StableHLO: cholesky, triangular_solve, which
 * XLA's CPU, GPU and TPU backends lower; general systems are solved by a loop.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/op.h"

/* Whether the last two dimensions of the first operand are square. */
static bool is_square(fgi_infer *c)
{
    const fg_type *a = c->in[0];
    if (a->rank < 2 || a->dim[a->rank - 1] != a->dim[a->rank - 2])
        return fgi_infer_fail(c, FG_ESHAPE, "expected square matrices [..., n, n]");
    if (a->dtype != FG_F32 && a->dtype != FG_F64)
        return fgi_infer_fail(c, FG_EDTYPE, "expected f32 or f64: cast it first");
    return true;
}

/* Rows are matrices. */
static bool matrix_rows(fgi_infer *c)
{
    for (int i = 0; i < c->arity; i++)
        for (int d = c->out.rank - 2; c->in_rows[i] != NULL && d < c->out.rank; d++)
            if (c->in_rows[i]->step[d] != 0)
                return fgi_rows_mixed(c, d, "make the batch a leading dimension of the matrices");
    return fgi_rows_pointwise(c);
}

/* a with its two last dimensions swapped. */
static fg_tensor swapped(fg_tensor a)
{
    int axis[FG_MAX_RANK];
    const int rank = fg_tensor_type(a)->rank;
    for (int i = 0; i < rank; i++)
        axis[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return fg_permute(a, axis);
}

/* The triangle of a; its diagonal times `diagonal`. */
static fg_tensor triangle(fg_tensor a, bool is_upper, double diagonal)
{
    fg_type type = *fg_tensor_type(a);
    fg_trace *trace = fg_tensor_trace(a);
    const fg_tensor row = fg_iota(trace, FG_S32, type.rank - 2, type.rank, type.dim);
    const fg_tensor column = fg_iota(trace, FG_S32, type.rank - 1, type.rank, type.dim);
    const fg_tensor inside = is_upper ? fg_lt(row, column) : fg_gt(row, column);
    const fg_tensor edge =
        fg_where(fg_eq(row, column), fg_mul_scalar(a, diagonal), fgi_full_like(a, 0));
    return fg_where(inside, a, edge);
}

/* ---- triangular systems ---------------------------------------------------------------------- */

typedef struct solve_attr {
    int64_t is_upper, is_transposed;
} solve_attr;

static bool solve_infer(fgi_infer *c)
{
    const fg_type *a = c->in[0], *b = c->in[1];
    if (!is_square(c))
        return false;
    if (b->dtype != a->dtype)
        return fgi_infer_fail(c, FG_EDTYPE, "the dtypes differ: cast one of them");
    bool is_match = b->rank == a->rank;
    for (int i = 0; is_match && i < a->rank - 1; i++)
        is_match = a->dim[i] == b->dim[i];
    if (!is_match)
        return fgi_infer_fail(c, FG_ESHAPE, "expected matrices [..., n, n] and [..., n, k]");
    return fgi_infer_ok(c, b->dtype, b->rank, b->dim);
}

static void solve_emit(fgi_emit *e)
{
    const solve_attr *attr = e->node->attr;
    fgi_emit_attributes(e, "triangular_solve",
                        "left_side = true, lower = %s, unit_diagonal = false, transpose_a = "
                        "#stablehlo<transpose %s>",
                        attr->is_upper != 0 ? "false" : "true",
                        attr->is_transposed != 0 ? "TRANSPOSE" : "NO_TRANSPOSE");
}

/* x = a^-1 b: db = a^-T dx, da = -db x^T, of which the triangle counts. Giles 2008, "Collected
 * matrix derivative results". */
static void solve_vjp(fgi_vjp *v)
{
    const solve_attr *attr = v->attr;
    const bool is_upper = attr->is_upper != 0, is_transposed = attr->is_transposed != 0;
    const fg_tensor db = fg_triangular_solve(
        v->in[0], v->dout,
        &(fg_triangular_solve_options){.upper = is_upper, .transpose = !is_transposed});
    v->din[1] = db;
    if (!v->need[0])
        return;
    const fg_tensor left = is_transposed ? v->out : db, right = is_transposed ? db : v->out;
    v->din[0] = fg_neg(triangle(fg_matmul(left, swapped(right)), is_upper, 1));
}

static const fgi_op triangular_solve = {.name = "triangular_solve",
                                        .arity = 2,
                                        .infer = solve_infer,
                                        .rows = matrix_rows,
                                        .emit = solve_emit,
                                        .vjp = solve_vjp};

fg_tensor fg_triangular_solve(fg_tensor a, fg_tensor b, const fg_triangular_solve_options *options)
{
    const fg_triangular_solve_options o =
        options != NULL ? *options : (fg_triangular_solve_options){0};
    if (!fgi_trace_check_reserved(fg_tensor_trace(a),
                                  FGI_RESERVED(fg_triangular_solve_options, options)))
        return fgi_poison(fg_tensor_trace(a));
    const solve_attr attr = {o.upper, o.transpose};
    return fgi_apply(&triangular_solve, (const fg_tensor[]){a, b}, 2, &attr, sizeof attr);
}

/* ---- general systems ------------------------------------------------------------------------- */

/* Sums along an axis, which remains with size 1. */
static fg_tensor sum_along(fg_tensor a, int axis)
{
    return fg_unsqueeze(fg_sum(a, 1, &axis), 1, &axis);
}

/* Row x[0] of Gauss-Jordan elimination with partial pivoting of [a b], T[..., n, n + k]: swaps it
 * with the row of its pivot, and makes its column that of the identity. */
static void eliminate(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                      fg_tensor *y)
{
    const fg_tensor m = carry[0], zero = fgi_full_like(m, 0);
    const fg_type type = *fg_tensor_type(m);
    const int rows = type.rank - 2, columns = type.rank - 1;
    fg_trace *trace = fg_tensor_trace(m);
    (void)self, (void)y;
    const fg_tensor row = fg_iota(trace, FG_S32, rows, type.rank, type.dim);
    const fg_tensor column = fg_iota(trace, FG_S32, columns, type.rank, type.dim);
    const fg_tensor is_row = fg_eq(row, x[0]), is_column = fg_eq(column, x[0]);
    const fg_tensor is_candidate = fg_and(is_column, fg_ge(row, x[0]));
    const fg_tensor size =
        fg_max(fg_where(is_candidate, fg_abs(m), fgi_full_like(m, -1)), 1, &columns);
    const fg_tensor at = fg_unsqueeze(fg_argmax(size), 2, (const int[]){rows, columns});
    const fg_tensor is_pivot = fg_eq(row, at);
    const fg_tensor pivot =
        fg_broadcast_to(sum_along(fg_where(is_pivot, m, zero), rows), type.rank, type.dim);
    const fg_tensor moved = fg_where(
        is_pivot, fg_broadcast_to(sum_along(fg_where(is_row, m, zero), rows), type.rank, type.dim),
        m);
    const fg_tensor factor = sum_along(fg_where(is_column, moved, zero), columns);
    const fg_tensor scale = sum_along(fg_where(is_column, pivot, zero), columns);
    const fg_tensor scaled = fg_div(pivot, scale);
    next[0] = fg_where(is_row, scaled, fg_sub(moved, fg_mul(factor, scaled)));
}

/* Golub and Van Loan, "Matrix computations", 3.4. */
static fg_tensor eliminated(fg_tensor a, fg_tensor b)
{
    const fg_type type = *fg_tensor_type(b);
    fg_trace *trace = fg_tensor_trace(a);
    const int axis = type.rank - 1;
    const int64_t n = type.dim[axis - 1];
    const fg_tensor both = fg_concat((const fg_tensor[]){a, b}, 2, axis);
    const fg_tensor index = fg_iota(trace, FG_S32, 0, 1, &n);
    fg_tensor end, parts[2];
    fg_scan(&(fg_scan_options){.carry_count = 1, .x_count = 1, .body = eliminate}, &both, &index,
            &end, NULL);
    fg_split(end, axis, 2, (const int64_t[]){n, type.dim[axis]}, parts);
    return parts[1];
}

/* The third operand is the result. */
static void system_emit(fgi_emit *e) { fgi_emit_become(e, fgi_emit_in(e, 2)); }

/* As for triangular systems. */
static void system_vjp(fgi_vjp *v)
{
    const fg_tensor db = fg_solve(swapped(v->in[0]), v->dout);
    v->din[1] = db;
    if (v->need[0])
        v->din[0] = fg_neg(fg_matmul(db, swapped(v->out)));
}

static const fgi_op solve = {.name = "solve",
                             .arity = -1,
                             .infer = solve_infer,
                             .rows = matrix_rows,
                             .emit = system_emit,
                             .vjp = system_vjp};

/* With two operands, the operation only checks them. */
fg_tensor fg_solve(fg_tensor a, fg_tensor b)
{
    const fg_tensor checked = fgi_apply(&solve, (const fg_tensor[]){a, b}, 2, NULL, 0);
    if (fgi_is_poison(checked) || fg_tensor_type(a)->dim[fg_tensor_type(a)->rank - 1] == 0)
        return fgi_is_poison(checked) ? checked : b;
    return fgi_apply(&solve, (const fg_tensor[]){a, b, eliminated(a, b)}, 3, NULL, 0);
}

/* ---- Cholesky -------------------------------------------------------------------------------- */

static bool cholesky_infer(fgi_infer *c)
{
    return is_square(c) && fgi_infer_ok(c, c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

/* What XLA leaves above the diagonal is replaced by 0. */
static void cholesky_emit(fgi_emit *e) { fgi_emit_simple(e, "cholesky", "lower = true"); }

/* l l^T = a: da = l^-T p l^-1 with p the lower triangle of l^T dl, half the diagonal, made
 * symmetric. Murray 2016, "Differentiation of the Cholesky decomposition". */
static void cholesky_vjp(fgi_vjp *v)
{
    const fg_triangular_solve_options back = {.transpose = true};
    const fg_tensor l = triangle(v->out, false, 1), dl = triangle(v->dout, false, 1);
    const fg_tensor p = triangle(fg_matmul(swapped(l), dl), false, 0.5);
    const fg_tensor left = fg_triangular_solve(l, p, &back);
    const fg_tensor s = fg_triangular_solve(l, swapped(left), &back);
    v->din[0] = fg_mul_scalar(fg_add(s, swapped(s)), 0.5);
}

static const fgi_op cholesky = {.name = "cholesky",
                                .arity = 1,
                                .infer = cholesky_infer,
                                .rows = matrix_rows,
                                .emit = cholesky_emit,
                                .vjp = cholesky_vjp};

fg_tensor fg_cholesky(fg_tensor a)
{
    const fg_tensor l = FGI_APPLY1(cholesky, a);
    return fgi_is_poison(l) ? l : triangle(l, false, 1);
}

fg_tensor fg_cholesky_solve(fg_tensor b, fg_tensor l)
{
    const fg_tensor y = fg_triangular_solve(l, b, NULL);
    return fg_triangular_solve(l, y, &(fg_triangular_solve_options){.transpose = true});
}
