/* resample_cases.h - the battery: images. op_cases.h explains the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(crop_resize, ALL + TWICE, "T[4,7,8,3] s32[4,4]<3", fg_crop_resize(a, fg_cast(fg_add_scalar(b, 1), FG_F32), 5, 4, NULL), "crop_resize(a, b + 1, 5, 4)")
ROW(crop_resize_smaller, ALL + BF16, "T[2,12,13,2] s32[2,4]<3", fg_crop_resize(a, fg_cast(fg_add(b, fg_constant(trace, &(fg_type){FG_S32, 1, {4}}, (const int32_t[]){0, 0, 8, 9})), FG_F32), 3, 4, NULL), "crop_resize(a, b + torch.tensor([0, 0, 8, 9]), 3, 4)")
ROW(crop_resize_plain, VALUE + GRAD, "T[2,12,13,2] s32[2,4]<3", fg_crop_resize(a, fg_cast(fg_add(b, fg_constant(trace, &(fg_type){FG_S32, 1, {4}}, (const int32_t[]){0, 0, 8, 9})), FG_F32), 3, 4, &(fg_crop_resize_options){.no_antialias = true}), "crop_resize(a, b + torch.tensor([0, 0, 8, 9]), 3, 4, antialias=False)")
ROW(crop_resize_larger, VALUE + GRAD, "T[2,3,3,1] s32[2,4]<1", fg_crop_resize(a, fg_cast(fg_add(b, fg_constant(trace, &(fg_type){FG_S32, 1, {4}}, (const int32_t[]){0, 0, 3, 3})), FG_F32), 9, 7, NULL), "crop_resize(a, b + torch.tensor([0, 0, 3, 3]), 9, 7)")
ROW(affine_sample, ALL + TWICE, "T[4,5,6,2] s32[4,2,3]<5", fg_affine_sample(a, fg_mul_scalar(fg_cast(fg_add_scalar(b, -2), FG_F32), 0.375), NULL), "affine_sample(a, (b.double() - 2) * 0.375)")
ROW(affine_sample_size, ALL, "T[2,5,4,1] s32[2,2,3]<5", fg_affine_sample(a, fg_mul_scalar(fg_cast(fg_add_scalar(b, -2), FG_F32), 0.625), &(fg_affine_options){.height = 3, .width = 8}), "affine_sample(a, (b.double() - 2) * 0.625, (3, 8))")
ROW(affine_sample_nearest, ALL + BF16, "T[2,5,4,1] s32[2,2,3]<5", fg_affine_sample(a, fg_mul_scalar(fg_cast(fg_add_scalar(b, -2), FG_F32), 0.37), &(fg_affine_options){.nearest = true}), "affine_sample(a, (b.double() - 2) * 0.37, mode='nearest')")
ROW(affine_sample_fill, VALUE, "T[2,5,4,1] s32[2,2,3]<5", fg_affine_sample(a, fg_mul_scalar(fg_cast(fg_add_scalar(b, -2), FG_F32), 0.625), &(fg_affine_options){.fill = 2.5}), "affine_sample(a - 2.5, (b.double() - 2) * 0.625) + 2.5")
ROW(affine_sample_nearest_fill, VALUE, "T[2,5,4,1] s32[2,2,3]<5", fg_affine_sample(a, fg_mul_scalar(fg_cast(fg_add_scalar(b, -2), FG_F32), 0.37), &(fg_affine_options){.nearest = true, .fill = 2.5}), "affine_sample(a - 2.5, (b.double() - 2) * 0.37, mode='nearest') + 2.5")
ROW(resize_nearest, ALL + TWICE + BF16, "T[2,3,4,2]", fg_resize(a, (const int64_t[]){6, 3}, FG_RESIZE_NEAREST), "F.interpolate(channels_first(a), (6, 3)).movedim(1, -1)")
ROW(resize_linear, ALL + TWICE + BF16 + F16, "T[2,3,4,2]", fg_resize(a, (const int64_t[]){6, 3}, FG_RESIZE_LINEAR), "F.interpolate(channels_first(a), (6, 3), mode='bilinear').movedim(1, -1)")
ROW(resize_linear_1d, ALL, "T[2,5,2]", fg_resize(a, (const int64_t[]){7}, FG_RESIZE_LINEAR), "F.interpolate(channels_first(a), 7, mode='linear').movedim(1, -1)")
ROW(resize_linear_3d, VALUE + GRAD, "T[1,2,3,2,1]", fg_resize(a, (const int64_t[]){3, 3, 5}, FG_RESIZE_LINEAR), "F.interpolate(channels_first(a), (3, 3, 5), mode='trilinear').movedim(1, -1)")

FAILS(fg_resize(o.m, (const int64_t[]){2}, FG_RESIZE_NEAREST), FG_ESHAPE, "resize(f32[3,4]): expected floating-point images [N,L,C], [N,H,W,C] or [N,D,H,W,C] and results of 1 to 32767 pixels along each dimension")
FAILS(fg_resize(o.x, (const int64_t[]){2, 40000}, FG_RESIZE_LINEAR), FG_ESHAPE, "resize(f32[2,8,6,3]): expected floating-point images [N,L,C], [N,H,W,C] or [N,D,H,W,C] and results of 1 to 32767 pixels along each dimension")
FAILS(fg_resize(o.x, (const int64_t[]){2, 2}, (fg_resize_mode)2), FG_EINVAL, "resize: unknown mode 2")
FAILS(fg_crop_resize(o.u, o.m, 2, 2, NULL), FG_EDTYPE, "crop_resize: got u8[3,4]: expected images T[B,H,W,C], floating-point")
FAILS(fg_crop_resize(o.m, o.m, 2, 2, NULL), FG_ESHAPE, "crop_resize: got f32[3,4]: expected images T[B,H,W,C], floating-point")
FAILS(fg_crop_resize(o.x, o.m, 2, 2, NULL), FG_ESHAPE, "crop_resize: got f32[3,4] for each image's place: expected f32[2,4]")
FAILS(fg_crop_resize(o.x, fg_zeros(o.t, FG_F32, FG_DIMS(2, 4)), 0, 2, NULL), FG_ESHAPE, "crop_resize: a result of 0 x 2 pixels is not valid")
FAILS(fg_affine_sample(o.x, o.m, NULL), FG_ESHAPE, "affine_sample: got f32[3,4] for each image's place: expected f32[2,2,3]")
FAILS(fg_affine_sample(fg_zeros(o.t, FG_F32, FG_DIMS(2, 0, 4, 1)), fg_zeros(o.t, FG_F32, FG_DIMS(2, 2, 3)), &(fg_affine_options){.height = 1}), FG_ESHAPE, "affine_sample: expected images of 1 to 2^31 - 1 pixels")
FAILS(fg_crop_resize(o.x, fg_zeros(o.t, FG_F32, FG_DIMS(2, 4)), 2, 0, NULL), FG_ESHAPE, "crop_resize: a result of 2 x 0 pixels is not valid")
FAILS(fg_crop_resize(o.x, fg_zeros(o.t, FG_F32, FG_DIMS(2, 4)), (1 << 30) + 1, 2, NULL), FG_ESHAPE, "crop_resize: a result of 1073741825 x 2 pixels is not valid")
FAILS(fg_crop_resize(o.x, fg_zeros(o.t, FG_F32, FG_DIMS(2, 4)), 2, (1 << 30) + 1, NULL), FG_ESHAPE, "crop_resize: a result of 2 x 1073741825 pixels is not valid")
FAILS(fg_crop_resize(o.x, fg_zeros(o.t, FG_S32, FG_DIMS(2, 4)), 2, 2, NULL), FG_ESHAPE, "crop_resize: got s32[2,4] for each image's place: expected s32[2,4]")
FAILS(fg_affine_sample(o.x, fg_zeros(o.t, FG_F32, FG_DIMS(2, 2, 3)), &(fg_affine_options){.height = -1}), FG_ESHAPE, "affine_sample: a result of -1 x 6 pixels is not valid")
FAILS(fg_affine_sample(o.x, fg_zeros(o.t, FG_F32, FG_DIMS(2, 2, 3)), &(fg_affine_options){.width = -1}), FG_ESHAPE, "affine_sample: a result of 8 x -1 pixels is not valid")
FAILS(fg_affine_sample(o.m, fg_zeros(o.t, FG_F32, FG_DIMS(2, 2, 3)), NULL), FG_ESHAPE, "affine_sample: got f32[3,4]: expected images T[B,H,W,C], floating-point")
FAILS(fg_affine_sample(fg_zeros(o.t, FG_F32, FG_DIMS(2, 4, 0, 1)), fg_zeros(o.t, FG_F32, FG_DIMS(2, 2, 3)), &(fg_affine_options){.width = 1}), FG_ESHAPE, "affine_sample: expected images of 1 to 2^31 - 1 pixels")
FAILS(fg_affine_sample(fg_zeros(o.t, FG_F32, FG_DIMS(2, 1 << 16, 1 << 15, 1)), fg_zeros(o.t, FG_F32, FG_DIMS(2, 2, 3)), NULL), FG_ESHAPE, "affine_sample: expected images of 1 to 2^31 - 1 pixels")
/* clang-format on */
