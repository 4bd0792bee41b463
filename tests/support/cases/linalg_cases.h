/* linalg_cases.h - the battery: linear algebra. op_cases.h explains the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(cholesky, ALL + TWICE, "T[3,3]~", fg_cholesky(fg_add(fg_matmul(a, fg_transpose(a)), fg_cast(fg_eq(fg_iota(trace, FG_S32, 0, FG_DIMS(3, 3)), fg_iota(trace, FG_S32, 1, FG_DIMS(3, 3))), fg_tensor_type(a)->dtype))), "torch.linalg.cholesky(a @ a.T + torch.eye(3))")
ROW(cholesky_batch, ALL, "T[4,2,3]", fg_cholesky(fg_matmul(a, fg_permute(a, (const int[]){0, 2, 1}))), "torch.linalg.cholesky(a @ a.mT)")
ROW(triangular_solve, ALL + TWICE, "T[3,3]+ T[3,2]", fg_triangular_solve(a, b, NULL), "torch.linalg.solve_triangular(a, b, upper=False)")
ROW(triangular_solve_upper, ALL, "T[4,2,2]+ T[4,2,3]", fg_triangular_solve(a, b, &(fg_triangular_solve_options){.upper = true}), "torch.linalg.solve_triangular(a, b, upper=True)")
ROW(triangular_solve_transpose, ALL, "T[3,3]+ T[3,2]", fg_triangular_solve(a, b, &(fg_triangular_solve_options){.transpose = true}), "torch.linalg.solve_triangular(a.T, b, upper=True)")
ROW(cholesky_solve, ALL, "T[3,2] T[3,3]+", fg_cholesky_solve(a, b), "torch.cholesky_solve(a, b.tril())")
ROW(solve, ALL + TWICE, "T[3,3]+ T[3,2]", fg_solve(fg_roll(fg_triu(a, 0), 1, 0), b), "torch.linalg.solve(a.triu().roll(1, 0), b)")
ROW(solve_batch, ALL, "T[4,3,3]~ T[4,3,2]", fg_solve(a, b), "torch.linalg.solve(a, b)")
ROW(solve_one, ALL, "T[1,1] T[1,2]", fg_solve(a, b), "torch.linalg.solve(a, b)")
ROW(solve_singular, VALUE, "T[3,1] T[3,2]", fg_cast(fg_is_finite(fg_solve(fg_matmul(a, fg_transpose(fg_sub(a, a))), b)), fg_tensor_type(a)->dtype), "torch.zeros(3, 2)")

FAILS(fg_cholesky(o.m), FG_ESHAPE, "cholesky(f32[3,4]): expected square matrices [..., n, n]")
FAILS(fg_cholesky(fg_zeros(o.t, FG_BF16, FG_DIMS(2, 2))), FG_EDTYPE, "cholesky(bf16[2,2]): expected f32 or f64: cast it first")
FAILS(fg_triangular_solve(o.n, o.m, NULL), FG_ESHAPE, "triangular_solve(f32[5,6], f32[3,4]): expected square matrices [..., n, n]")
FAILS(fg_triangular_solve(fg_zeros(o.t, FG_F32, FG_DIMS(2, 2)), o.m, NULL), FG_ESHAPE, "triangular_solve(f32[2,2], f32[3,4]): expected matrices [..., n, n] and [..., n, k]")
FAILS(fg_cholesky_solve(o.d, fg_zeros(o.t, FG_F32, FG_DIMS(3, 3))), FG_EDTYPE, "triangular_solve(f32[3,3], f64[3,4]): the dtypes differ: cast one of them")
FAILS(fg_solve(o.m, o.n), FG_ESHAPE, "solve(f32[3,4], f32[5,6]): expected square matrices [..., n, n]")
FAILS(fg_solve(fg_zeros(o.t, FG_F16, FG_DIMS(2, 2)), o.m), FG_EDTYPE, "solve(f16[2,2], f32[3,4]): expected f32 or f64: cast it first")
FAILS(fg_solve(fg_zeros(o.t, FG_F32, FG_DIMS(3, 3)), o.n), FG_ESHAPE, "solve(f32[3,3], f32[5,6]): expected matrices [..., n, n] and [..., n, k]")
/* clang-format on */
