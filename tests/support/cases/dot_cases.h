/* dot_cases.h - the battery: matrix multiplication. op_cases.h explains the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(matmul, ALL + TWICE + BF16 + F16, "T[3,4] T[4,5]", fg_matmul(a, b), "a @ b")
ROW(matmul_odd, VALUE + GRAD + BF16, "T[17,33] T[33,9]", fg_matmul(a, b), "a @ b")
ROW(matmul_one, VALUE + GRAD, "T[1,1] T[1,1]", fg_matmul(a, b), "a @ b")
ROW(matmul_outer, VALUE + GRAD, "T[3,1] T[1,4]", fg_matmul(a, b), "a @ b")
ROW(matmul_batch, ALL + TWICE + BF16, "T[2,3,4] T[2,4,2]", fg_matmul(a, b), "a @ b")
ROW(matmul_batches, VALUE + GRAD, "T[2,3,2,4] T[2,3,4,3]", fg_matmul(a, b), "a @ b")
ROW(matmul_transposed, ALL, "T[4,3] T[5,4]", fg_matmul(fg_transpose(a), fg_transpose(b)), "a.T @ b.T")
ROW(matmul_square, ALL, "T[3,3]", fg_matmul(a, a), "a @ a")
ROW(matmul_sum, ALL + TWICE + BF16, "T[3,3] T[3,3]", fg_add(fg_matmul(a, b), fg_matmul(b, a)), "a @ b + b @ a")
ROW(matmul_chain, ALL + BF16, "T[2,3] T[3,3]", fg_matmul(fg_matmul(a, b), b), "a @ b @ b")
ROW(matmul_of_sum, ALL + TWICE + BF16, "T[2,3] T[2,3] T[3,2]", fg_matmul(fg_add(a, b), c), "(a + b) @ c")
ROW(matmul_of_turned, VALUE + GRAD, "T[3,2] T[3,2] T[3,2]", fg_matmul(fg_transpose(fg_mul(a, b)), fg_slice(fg_sub(c, a), (const int64_t[]){0, 0}, (const int64_t[]){3, 2}, NULL)), "(a * b).T @ (c - a)")
ROW(matmul_moved, VALUE + GRAD, "T[4,3] T[3,4]", fg_add(fg_reshape(fg_matmul(a, b), FG_DIMS(2, 8)), fg_reshape(fg_transpose(fg_matmul(a, b)), FG_DIMS(2, 8))), "(a @ b).reshape(2, 8) + (a @ b).T.reshape(2, 8)")
ROW(matmul_s32, VALUE, "s32[3,4] s32[4,2]", fg_matmul(a, b), "a @ b")
ROW(dot_vectors, ALL, "T[5] T[5]", fg_dot(a, b, &(fg_dot_options){.contract_count = 1}), "torch.dot(a, b)")
ROW(dot_two, ALL + BF16, "T[2,3,4] T[4,5,2]", fg_dot(a, b, &(fg_dot_options){.contract_count = 2, .a_contract = {0, 2}, .b_contract = {2, 0}}), "torch.einsum('ijk,kli->jl', a, b)")
ROW(dot_crossed, ALL + TWICE, "T[2,3,4] T[3,2,5]", fg_dot(a, b, &(fg_dot_options){.contract_count = 2, .a_contract = {1, 0}, .b_contract = {0, 1}}), "torch.einsum('ijk,jil->kl', a, b)")
ROW(dot_batch, ALL, "T[3,2,4] T[5,4,2]", fg_dot(a, b, &(fg_dot_options){.batch_count = 1, .a_batch = {1}, .b_batch = {-1}, .contract_count = 1, .a_contract = {-1}, .b_contract = {1}}), "torch.einsum('ijk,lkj->jil', a, b)")
ROW(dot_outer, VALUE + GRAD, "T[2] T[3]", fg_dot(a, b, NULL), "torch.outer(a, b)")
ROW(dot_wide, ALL + BF16 + F16, "T[3,4] T[5,4]", fg_dot(a, b, &(fg_dot_options){.contract_count = 1, .a_contract = {1}, .b_contract = {1}, .result = fg_tensor_type(a)->dtype == FG_F64 ? FG_F64 : FG_F32}), "a @ b.T")

FAILS(fg_matmul(o.m, o.n), FG_ESHAPE, "matmul(f32[3,4], f32[5,6]): inner sizes differ: 4, 5")
FAILS(fg_relu(fg_matmul(o.m, o.d)), FG_EDTYPE, "matmul(f32[3,4], f64[3,4]): the dtypes differ: cast one of them")
FAILS(fg_matmul(o.m, o.v), FG_ESHAPE, "matmul(f32[3,4], f32[4]): expected two tensors of the same rank, at least 2")
FAILS(fg_matmul(o.b, o.b), FG_EDTYPE, "matmul(bool[3,4], bool[3,4]): expected a numeric dtype, not bool: cast it first")
FAILS(fg_dot(o.m, o.m, &(fg_dot_options){.contract_count = 1, .a_contract = {2}}), FG_EINVAL, "dot(f32[3,4], f32[3,4]): inner axis 0 is out of range")
FAILS(fg_dot(o.m, o.m, &(fg_dot_options){.contract_count = 2, .a_contract = {0, 0}, .b_contract = {0, 1}}), FG_EINVAL, "dot(f32[3,4], f32[3,4]): inner axis 1 is given twice")
FAILS(fg_dot(o.m, o.m, &(fg_dot_options){.batch_count = 1, .a_batch = {0}, .b_batch = {1}}), FG_ESHAPE, "dot(f32[3,4], f32[3,4]): batch sizes differ: 3, 4")
FAILS(fg_dot(o.m, o.m, &(fg_dot_options){.result = FG_F64}), FG_EDTYPE, "dot(f32[3,4], f32[3,4]): cannot be accumulated in f64")
/* clang-format on */
