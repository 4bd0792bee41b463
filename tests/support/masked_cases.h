/* masked_cases.h - uses of the batch axis in addition to those in op_cases.h, in the same form but
 * without the PyTorch expression: they are compared with the batch without padding. B is the first
 * dimension of each input for which that is 4. Included several times.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(gram, ALL + TWICE, "T[4,3]", fg_matmul(fg_transpose(a), a))
ROW(between_samples, ALL + TWICE, "T[4,3]", fg_matmul(a, fg_transpose(a)))
ROW(between_softmax, ALL + TWICE, "T[4,3]", fg_matmul(fg_softmax(fg_matmul(a, fg_transpose(a))), a))
ROW(between_log_softmax, ALL, "T[4,3]", fg_log_softmax(fg_matmul(a, fg_transpose(a))))
ROW(between_logsumexp, ALL, "T[4,3]", fg_logsumexp(fg_matmul(a, fg_transpose(a))))
ROW(between_argmax, VALUE, "T[4,3]", fg_argmax(fg_matmul(a, fg_transpose(a))))
ROW(between_mean, ALL + TWICE, "T[4,3]", fg_mean(fg_matmul(a, fg_transpose(a)), 0, NULL))
ROW(contrastive, ALL, "T[4,3] T[4,3]", fg_cross_entropy(fg_matmul(a, fg_transpose(b)), fg_iota(trace, FG_S32, 0, FG_DIMS(fg_tensor_dim(a, 0))), &(fg_cross_entropy_options){.label_smoothing = 0.1}))
ROW(views, ALL, "T[4,3] T[4,3]", fg_logsumexp(fg_matmul(fg_concat((const fg_tensor[]){a, b}, 2, 0), fg_transpose(fg_concat((const fg_tensor[]){b, a}, 2, 0)))))
ROW(tokens, ALL, "T[4,5,3] T[3,2]", fg_matmul(fg_reshape(a, FG_DIMS(-1, 3)), b))
ROW(tokens_back, ALL, "T[4,5,3]", fg_mean(fg_reshape(fg_relu(fg_reshape(a, FG_DIMS(-1, 3))), FG_DIMS(fg_tensor_dim(a, 0), 5, 3)), 2, (const int[]){0, 2}))
ROW(tokens_max, ALL, "T[4,5,3]", fg_max(fg_reshape(fg_permute(a, (const int[]){1, 0, 2}), FG_DIMS(-1, 3)), 1, (const int[]){0}))
ROW(last_tokens, ALL, "T[4,5]", fg_slice(fg_reshape(a, FG_DIMS(-1)), (const int64_t[]){4}, (const int64_t[]){fg_tensor_dim(a, 0) * 5}, (const int64_t[]){5}))
ROW(time_first, ALL, "T[4,5,3]", fg_mean(fg_permute(a, (const int[]){1, 0, 2}), 1, (const int[]){1}))
ROW(standardized, ALL + TWICE, "T[4,3]", fg_div(fg_sub(a, fg_mean(a, 1, (const int[]){0})), fg_sqrt(fg_mean(fg_square(fg_sub(a, fg_mean(a, 1, (const int[]){0}))), 1, (const int[]){0}))))
ROW(unit_rows, ALL + TWICE, "T[4,3]", fg_sum(fg_mul(a, fg_broadcast_to(fg_reshape(fg_rsqrt(fg_sum(fg_square(a), 1, (const int[]){1})), FG_DIMS(-1, 1)), 2, fg_tensor_type(a)->dim)), 1, (const int[]){0}))
ROW(max_of_none, VALUE, "T[4,3]", fg_max(fg_log(fg_sub(a, a)), 1, (const int[]){0}))
ROW(max_of_infinite, VALUE + GRAD, "T[4,3]", fg_mul(fg_stop_gradient(fg_exp(fg_max(fg_log(fg_sub(a, a)), 1, (const int[]){0}))), fg_max(a, 1, (const int[]){0})))
ROW(weights_of_samples, ALL, "T[4,3] T[4]+", fg_weighted_mean(fg_transpose(a), b))
ROW(integers, VALUE, "s32[4,3]", fg_sum(a, 1, (const int[]){0}))
ROW(any_of, VALUE, "s32[4,3]=", fg_max(a, 0, NULL))
ROW(variance_of_samples, ALL, "T[4,3]", fg_variance(a, 1, (const int[]){0}, 1))
ROW(prod_of_samples, ALL, "T[4,3]", fg_prod(a, 1, (const int[]){0}))
ROW(min_of_samples, ALL, "T[4,3]", fg_min(a, 0, NULL))
ROW(all_of_samples, VALUE, "s32[4,3]=", fg_all(fg_not(fg_eq(a, fg_full(trace, FG_S32, 1, FG_SCALAR))), 1, (const int[]){0}))
ROW(argmin_of_samples, VALUE, "T[4,3]", fg_argmin_axis(a, 0))
ROW(einsum_of_samples, ALL, "T[4,3] T[4,2]", fg_einsum("bi,bj->ij", (const fg_tensor[]){a, b}, 2))
ROW(scatter_samples, ALL + TWICE, "T[4,3] s32[4]<3", fg_square(fg_scatter_add(fg_zeros(trace, FG_F32, FG_DIMS(5, 3)), b, a, 0, 0)))
ROW(scatter_to_samples, ALL, "T[4,3,2] s32[4,2]<3 T[4,2,2]", fg_scatter_add(a, b, c, 1, 1))
ROW(histogram, VALUE, "s32[4]<3", fg_scatter_add(fg_zeros(trace, FG_F32, FG_DIMS(3)), a, fg_full(trace, FG_F32, 1, FG_DIMS(fg_tensor_dim(a, 0))), 0, 0))
/* clang-format on */
