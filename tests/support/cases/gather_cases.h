/* gather_cases.h - the battery: elements at computed positions. op_cases.h explains the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(gather, ALL + TWICE + BF16, "T[5,3] s32[4]<5", fg_gather(a, b, 0, 0), "torch.index_select(a, 0, b)")
ROW(gather_middle, ALL, "T[2,5,3] s32[4]<5", fg_gather(a, b, 1, 0), "torch.index_select(a, 1, b)")
ROW(gather_matrix, ALL, "T[2,5,3] s32[3,2]<5", fg_gather(a, b, -1, 0), "a[:, :, (b.long()).clamp(max=2)]")
ROW(gather_one, VALUE + GRAD, "T[5,3] s32[]<5", fg_gather(a, b, 0, 0), "a[b.long()]")
ROW(gather_clamped, ALL, "T[3] s32[9]=", fg_gather(a, fg_mul_scalar(b, 7), 0, 0), "a[(b.long() * 7).clamp(0, 2)]")
ROW(gather_u8, VALUE, "u8[5,2]<200 s32[3]<5", fg_gather(a, b, 0, 0), "torch.index_select(a, 0, b)")
ROW(gather_bool, VALUE, "bool[7] s32[3]<7", fg_gather(a, b, 0, 0), "torch.index_select(a, 0, b)")
ROW(gather_batched, ALL + TWICE, "T[4,5,3] s32[4,6]<5", fg_gather(a, b, 1, 1), "torch.gather(a, 1, b.long()[:, :, None].expand(-1, -1, 3))")
ROW(gather_batched_behind, ALL, "T[4,2,5] s32[4,3]<5", fg_gather(a, b, 2, 1), "torch.gather(a, 2, b.long()[:, None, :].expand(-1, 2, -1))")
ROW(gather_embedding, ALL, "T[5,3] s32[4,2]<5", fg_gather(a, b, 0, 0), "F.embedding(b, a)")
ROW(dynamic_slice, ALL + TWICE + BF16, "T[6,5] s32[2]<3", fg_dynamic_slice(a, b, (const int64_t[]){2, 3}), "block(a, b, (2, 3))")
ROW(dynamic_slice_moved, ALL, "T[6,5] s32[2]<6", fg_dynamic_slice(a, fg_mul_scalar(b, 3), (const int64_t[]){4, 4}), "block(a, b * 3, (4, 4))")
ROW(dynamic_slice_samples, ALL + TWICE, "T[4,5,6,2] s32[4,3]<3", fg_dynamic_slice(a, fg_add_scalar(b, -1), (const int64_t[]){fg_tensor_dim(a, 0), 3, 4, 2}), "torch.stack([block(one, at - 1, (3, 4, 2)) for one, at in zip(a, b)])")
ROW(dynamic_slice_u8, VALUE, "u8[3,4,4,3]<250 s32[3,3]<3", fg_dynamic_slice(a, b, (const int64_t[]){3, 2, 2, 3}), "torch.stack([block(one, at, (2, 2, 3)) for one, at in zip(a, b)])")

FAILS(fg_gather(o.m, o.v, 0, 0), FG_EDTYPE, "gather(f32[3,4], f32[4]): expected s32 indices")
FAILS(fg_gather(o.m, o.i, 2, 0), FG_EINVAL, "gather: axis 2 with 0 shared dimensions is not valid for ranks 2 and 1")
FAILS(fg_gather(o.m, o.i, 0, 1), FG_EINVAL, "gather: axis 0 with 1 shared dimensions is not valid for ranks 2 and 1")
FAILS(fg_gather(o.x, o.i, 1, 1), FG_ESHAPE, "gather(f32[2,8,6,3], s32[3]): dimension 0 is shared, but has the sizes 2 and 3")
FAILS(fg_gather(fg_zeros(o.t, FG_F32, FG_DIMS(0, 2)), o.i, 0, 0), FG_ESHAPE, "gather: expected a dimension of 1 to 2^31 - 1 elements and a result of rank 8 at most")
FAILS(fg_dynamic_slice(o.m, o.i, (const int64_t[]){1, 1}), FG_ESHAPE, "dynamic_slice(f32[3,4], s32[3]): expected the start s32[2], or one for each sample, s32[B,1]")
FAILS(fg_dynamic_slice(o.m, fg_zeros(o.t, FG_F32, FG_DIMS(2)), (const int64_t[]){1, 1}), FG_EDTYPE, "dynamic_slice(f32[3,4], f32[2]): expected the start s32[2], or one for each sample, s32[B,1]")
FAILS(fg_dynamic_slice(o.m, fg_zeros(o.t, FG_S32, FG_DIMS(2)), (const int64_t[]){1, 5}), FG_ESHAPE, "dynamic_slice: size 5 of dimension 1: expected 1 to 4")
FAILS(fg_dynamic_slice(o.m, fg_zeros(o.t, FG_S32, FG_DIMS(3, 1)), (const int64_t[]){2, 2}), FG_ESHAPE, "dynamic_slice: size 2 of dimension 0: expected 3")
FAILS(fg_dynamic_slice(o.m, fg_zeros(o.t, FG_S32, FG_DIMS(2, 1)), (const int64_t[]){3, 2}), FG_ESHAPE, "gather(f32[3,4], s32[2,1]): dimension 0 is shared, but has the sizes 3 and 2")
FAILS(fg_gather(o.m, o.i, -3, 0), FG_EINVAL, "gather: axis -3 with 0 shared dimensions is not valid for ranks 2 and 1")
FAILS(fg_gather(o.m, o.i, 1, -1), FG_EINVAL, "gather: axis 1 with -1 shared dimensions is not valid for ranks 2 and 1")
FAILS(fg_gather(o.x, o.i, 3, 2), FG_EINVAL, "gather: axis 3 with 2 shared dimensions is not valid for ranks 4 and 1")
FAILS(fg_gather(fg_zeros(o.t, FG_U8, FG_DIMS(2, (int64_t)1 << 31)), o.i, 1, 0), FG_ESHAPE, "gather: expected a dimension of 1 to 2^31 - 1 elements and a result of rank 8 at most")
FAILS(fg_gather(o.x, fg_zeros(o.t, FG_S32, FG_DIMS(2, 8, 6, 1, 1, 1)), 3, 0), FG_ESHAPE, "gather: expected a dimension of 1 to 2^31 - 1 elements and a result of rank 8 at most")
FAILS(fg_dynamic_slice(o.m, fg_zeros(o.t, FG_S32, FG_DIMS(2)), (const int64_t[]){0, 1}), FG_ESHAPE, "dynamic_slice: size 0 of dimension 0: expected 1 to 3")
FAILS(fg_dynamic_slice(o.m, fg_zeros(o.t, FG_S32, FG_DIMS(3, 2)), (const int64_t[]){3, 1}), FG_ESHAPE, "dynamic_slice(f32[3,4], s32[3,2]): expected the start s32[2], or one for each sample, s32[B,1]")
FAILS(fg_dynamic_slice(fg_zeros(o.t, FG_U8, FG_DIMS((int64_t)1 << 31)), fg_zeros(o.t, FG_S32, FG_DIMS(1)), (const int64_t[]){1}), FG_ESHAPE, "dynamic_slice: size 1 of dimension 0: expected 1 to 2147483648")
/* clang-format on */
