/* pool_cases.h - the battery: pooling. op_cases.h explains the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(max_pool, ALL, "T[1,4,6,3]", fg_max_pool(a, NULL), "max_pool(a)")
ROW(max_pool_odd, VALUE + GRAD + DIFF, "T[1,5,7,3]", fg_max_pool(a, NULL), "max_pool(a)")
ROW(max_pool_overlap, ALL + TWICE + BF16, "T[1,6,7,2]", fg_max_pool(a, &(fg_pool_options){.size = 3, .stride = 2, .pad = 1}), "max_pool(a, 3, 2, 1)")
ROW(max_pool_dense, VALUE + GRAD + DIFF, "T[1,5,5,2]", fg_max_pool(a, &(fg_pool_options){.size = 3, .stride = 1, .pad = 1}), "max_pool(a, 3, 1, 1)")
ROW(max_pool_gaps, VALUE + GRAD + DIFF, "T[1,7,7,2]", fg_max_pool(a, &(fg_pool_options){.size = 2, .stride = 3}), "max_pool(a, 2, 3, 0)")
ROW(max_pool_ties, VALUE + GRAD + BF16 + F16, "T[2,6,6,3]=", fg_max_pool(a, &(fg_pool_options){.size = 3, .stride = 2, .pad = 1}), "max_pool(a, 3, 2, 1)")
ROW(max_pool_ties_apart, VALUE + GRAD, "T[2,6,6,3]=", fg_max_pool(a, NULL), "max_pool(a)")
ROW(avg_pool, ALL + F16, "T[2,4,6,2]", fg_avg_pool(a, NULL), "avg_pool(a)")
ROW(avg_pool_overlap, ALL + TWICE + BF16, "T[1,6,7,2]", fg_avg_pool(a, &(fg_pool_options){.size = 3, .stride = 2, .pad = 1}), "avg_pool(a, 3, 2, 1)")
ROW(avg_pool_rest, VALUE + GRAD + DIFF, "T[1,8,5,2]", fg_avg_pool(a, &(fg_pool_options){.size = 3}), "avg_pool(a, 3, 3, 0)")
ROW(avg_pool_gaps, VALUE + GRAD + DIFF, "T[1,7,7,2]", fg_avg_pool(a, &(fg_pool_options){.size = 2, .stride = 3}), "avg_pool(a, 2, 3, 0)")
ROW(global_avg_pool, ALL + BF16, "T[2,3,5,2]", fg_global_avg_pool(a), "a.mean((1, 2))")
ROW(max_pool_squared, ALL + TWICE, "T[1,6,7,2]", fg_square(fg_max_pool(a, &(fg_pool_options){.size = 3, .stride = 2, .pad = 1})), "max_pool(a, 3, 2, 1).square()")

FAILS(fg_max_pool(o.m, NULL), FG_ESHAPE, "max_pool(f32[3,4]): expected [N,H,W,C]")
FAILS(fg_max_pool(o.x, &(fg_pool_options){.size = 7}), FG_ESHAPE, "max_pool(f32[2,8,6,3]): the window is larger than the padded image")
FAILS(fg_max_pool(fg_cast(o.x, FG_S32), NULL), FG_EDTYPE, "max_pool(s32[2,8,6,3]): expected a floating-point dtype: cast it first")
FAILS(fg_avg_pool(o.x, &(fg_pool_options){.size = 2, .pad = 2}), FG_EINVAL, "avg_pool: size 2, stride 2, pad 2: expected 0 to 1073741824, and pad less than size")
FAILS(fg_global_avg_pool(o.m), FG_ESHAPE, "global_avg_pool: expected [N,H,W,C], got rank 2")
FAILS(fg_max_pool(o.x, &(fg_pool_options){.size = -1, .stride = 1}), FG_EINVAL, "max_pool: size -1, stride 1, pad 0: expected 0 to 1073741824, and pad less than size")
FAILS(fg_max_pool(o.x, &(fg_pool_options){.size = (1 << 30) + 1}), FG_EINVAL, "max_pool: size 1073741825, stride 1073741825, pad 0: expected 0 to 1073741824, and pad less than size")
FAILS(fg_max_pool(o.x, &(fg_pool_options){.stride = -1}), FG_EINVAL, "max_pool: size 2, stride -1, pad 0: expected 0 to 1073741824, and pad less than size")
FAILS(fg_max_pool(o.x, &(fg_pool_options){.stride = (1 << 30) + 1}), FG_EINVAL, "max_pool: size 2, stride 1073741825, pad 0: expected 0 to 1073741824, and pad less than size")
FAILS(fg_max_pool(o.x, &(fg_pool_options){.pad = -1}), FG_EINVAL, "max_pool: size 2, stride 2, pad -1: expected 0 to 1073741824, and pad less than size")
FAILS(fg_max_pool(o.x, &(fg_pool_options){.size = 9}), FG_ESHAPE, "max_pool(f32[2,8,6,3]): the window is larger than the padded image")
FAILS(fg_avg_pool(o.x, &(fg_pool_options){.size = 8, .pad = 0}), FG_ESHAPE, "avg_pool(f32[2,8,6,3]): the window is larger than the padded image")
FAILS(fg_avg_pool(fg_zeros(o.t, FG_F32, FG_DIMS(1, 2, 2, 2, 2)), NULL), FG_ESHAPE, "avg_pool(f32[1,2,2,2,2]): expected [N,H,W,C]")
FAILS(fg_global_avg_pool(fg_zeros(o.t, FG_F32, FG_DIMS(1, 2, 2))), FG_ESHAPE, "global_avg_pool: expected [N,H,W,C], got rank 3")
FAILS(fg_global_avg_pool(fg_zeros(o.t, FG_F32, FG_DIMS(1, 2, 2, 2, 2))), FG_ESHAPE, "global_avg_pool: expected [N,H,W,C], got rank 5")
/* clang-format on */
