/* linalg.h - linear algebra: the Cholesky decomposition and systems of linear equations.
 *
 * The rules for all operations are in ops.h. T is f32 or f64. The last two dimensions are matrices,
 * the others are batch dimensions, which must be equal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_LINALG_H
#define FULGURITE_OPS_LINALG_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The lower triangular l with l l^T = a of symmetric, positive definite matrices:
 * T[..., n, n] -> T[..., n, n]. Only the lower triangle of a is read; its gradient is symmetric, as
 * in PyTorch. NaN if a is not positive definite. Source: StableHLO specification, "cholesky". */
FG_API fg_tensor fg_cholesky(fg_tensor a);

/* x with a x = b for triangular a: T[..., n, n], T[..., n, k] -> T[..., n, k]. The other triangle
 * of a is not read. Source: StableHLO specification, "triangular_solve". */
typedef struct fg_triangular_solve_options {
    bool upper;     /* a is upper triangular     [false: lower] */
    bool transpose; /* solve a^T x = b instead   [false]        */
    uint64_t reserved[2];
} fg_triangular_solve_options;
FG_API fg_tensor fg_triangular_solve(fg_tensor a, fg_tensor b,
                                     const fg_triangular_solve_options *options);

/* x with l l^T x = b, from the result of fg_cholesky: T[..., n, k], T[..., n, n] -> T[..., n, k].
 * Source: PyTorch, cholesky_solve. */
FG_API fg_tensor fg_cholesky_solve(fg_tensor b, fg_tensor l);

/* x with a x = b for any square a: T[..., n, n], T[..., n, k] -> T[..., n, k]. Gauss-Jordan
 * elimination with partial pivoting, a loop of n iterations; for symmetric, positive definite or
 * triangular a, the functions above are faster. inf or NaN if a is singular. Gradient: to a and b.
 * Source: PyTorch, "torch.linalg.solve"; Golub and Van Loan, "Matrix computations". */
FG_API fg_tensor fg_solve(fg_tensor a, fg_tensor b);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_cholesky(...)         FG_HERE(fg_cholesky(__VA_ARGS__))
#define fg_triangular_solve(...) FG_HERE(fg_triangular_solve(__VA_ARGS__))
#define fg_cholesky_solve(...)   FG_HERE(fg_cholesky_solve(__VA_ARGS__))
#define fg_solve(...)            FG_HERE(fg_solve(__VA_ARGS__))
#endif
#endif
