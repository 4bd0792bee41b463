/* linalg.c - factorizations and systems of equations. StableHLO: cholesky, triangular_solve, which
 * XLA's CPU, GPU and TPU backends lower.
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
