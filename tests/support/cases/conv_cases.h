/* conv_cases.h - the battery: convolution. op_cases.h explains the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(conv2d, ALL + TWICE, "T[2,5,4,3] T[3,3,3,2]", fg_conv2d(a, b, NULL), "conv(a, b)")
ROW(conv2d_pad, ALL + BF16, "T[2,4,5,2] T[3,3,2,3]", fg_conv2d(a, b, &(fg_conv2d_options){.pad = 1}), "conv(a, b, pad=1)")
ROW(conv2d_pad_wide, VALUE + GRAD + DIFF, "T[1,3,3,2] T[2,2,2,2]", fg_conv2d(a, b, &(fg_conv2d_options){.pad = 3}), "conv(a, b, pad=3)")
ROW(conv2d_stride, ALL + TWICE + BF16 + F16, "T[2,6,7,2] T[3,3,2,2]", fg_conv2d(a, b, &(fg_conv2d_options){.stride = 2, .pad = 1}), "conv(a, b, stride=2, pad=1)")
ROW(conv2d_stride_rest, VALUE + GRAD + DIFF, "T[1,8,7,2] T[2,3,2,2]", fg_conv2d(a, b, &(fg_conv2d_options){.stride = 3}), "conv(a, b, stride=3)")
ROW(conv2d_dilation, ALL + TWICE, "T[1,7,6,2] T[3,2,2,2]", fg_conv2d(a, b, &(fg_conv2d_options){.dilation = 2, .pad = 1}), "conv(a, b, dilation=2, pad=1)")
ROW(conv2d_all, VALUE + GRAD + DIFF, "T[2,9,8,4] T[3,2,2,6]", fg_conv2d(a, b, &(fg_conv2d_options){.stride = 2, .pad = 2, .dilation = 2, .groups = 2}), "conv(a, b, stride=2, pad=2, dilation=2, groups=2)")
ROW(conv2d_groups, ALL + TWICE + BF16, "T[2,4,4,4] T[3,3,2,6]", fg_conv2d(a, b, &(fg_conv2d_options){.pad = 1, .groups = 2}), "conv(a, b, pad=1, groups=2)")
ROW(conv2d_depthwise, ALL + TWICE, "T[2,5,4,3] T[3,3,1,3]", fg_conv2d(a, b, &(fg_conv2d_options){.pad = 1, .groups = 3}), "conv(a, b, pad=1, groups=3)")
ROW(conv2d_depthwise_two, VALUE + GRAD + DIFF, "T[2,5,5,3] T[3,3,1,6]", fg_conv2d(a, b, &(fg_conv2d_options){.stride = 2, .pad = 1, .groups = 3}), "conv(a, b, stride=2, pad=1, groups=3)")
ROW(conv2d_one, VALUE + GRAD, "T[2,3,3,4] T[1,1,4,5]", fg_conv2d(a, b, NULL), "conv(a, b)")
ROW(conv2d_one_stride, VALUE + GRAD, "T[2,5,4,3] T[1,1,3,2]", fg_conv2d(a, b, &(fg_conv2d_options){.stride = 2}), "conv(a, b, stride=2)")
ROW(conv2d_whole, VALUE + GRAD, "T[2,3,4,2] T[3,4,2,3]", fg_conv2d(a, b, NULL), "conv(a, b)")
ROW(conv2d_many, VALUE + GRAD + BF16, "T[3,9,9,5] T[5,5,5,7]", fg_conv2d(a, b, &(fg_conv2d_options){.pad = 2}), "conv(a, b, pad=2)")

FAILS(fg_conv2d(o.x, o.k, &(fg_conv2d_options){.groups = INT64_MAX / 2}), FG_ESHAPE, "conv2d(f32[2,8,6,3], f32[3,3,3,4]): 3 input channels in 4611686018427387903 groups do not match a kernel with 3 input and 4 output channels")
FAILS(fg_conv2d(o.m, o.k, NULL), FG_ESHAPE, "conv2d(f32[3,4], f32[3,3,3,4]): expected x [N,H,W,C] and a kernel [kh,kw,C/groups,Co]")
FAILS(fg_conv2d(o.x, fg_cast(o.k, FG_BF16), NULL), FG_EDTYPE, "conv2d(f32[2,8,6,3], bf16[3,3,3,4]): expected two operands of one floating-point dtype")
FAILS(fg_conv2d(o.x, o.k, &(fg_conv2d_options){.groups = 2}), FG_ESHAPE, "conv2d(f32[2,8,6,3], f32[3,3,3,4]): 3 input channels in 2 groups do not match a kernel with 3 input and 4 output channels")
FAILS(fg_conv2d(o.x, o.k, &(fg_conv2d_options){.dilation = 4}), FG_ESHAPE, "conv2d(f32[2,8,6,3], f32[3,3,3,4]): the kernel is larger than the padded image")
FAILS(fg_conv2d(o.x, o.k, &(fg_conv2d_options){.stride = -1}), FG_EINVAL, "conv2d: stride -1, pad 0, dilation 0, groups 0: expected 0 to 1073741824")
FAILS(fg_conv2d(o.x, o.k, &(fg_conv2d_options){.stride = (1 << 30) + 1}), FG_EINVAL, "conv2d: stride 1073741825, pad 0, dilation 0, groups 0: expected 0 to 1073741824")
FAILS(fg_conv2d(o.x, o.k, &(fg_conv2d_options){.pad = (1 << 30) + 1}), FG_EINVAL, "conv2d: stride 0, pad 1073741825, dilation 0, groups 0: expected 0 to 1073741824")
FAILS(fg_conv2d(o.x, o.k, &(fg_conv2d_options){.dilation = (1 << 30) + 1}), FG_EINVAL, "conv2d: stride 0, pad 0, dilation 1073741825, groups 0: expected 0 to 1073741824")
FAILS(fg_conv2d(o.x, o.k, &(fg_conv2d_options){.pad = -1}), FG_EINVAL, "conv2d: stride 0, pad -1, dilation 0, groups 0: expected 0 to 1073741824")
FAILS(fg_conv2d(o.x, o.k, &(fg_conv2d_options){.dilation = -1}), FG_EINVAL, "conv2d: stride 0, pad 0, dilation -1, groups 0: expected 0 to 1073741824")
FAILS(fg_conv2d(o.x, o.k, &(fg_conv2d_options){.groups = -1}), FG_EINVAL, "conv2d: stride 0, pad 0, dilation 0, groups -1: expected 0 to 1073741824")
FAILS(fg_conv2d(o.x, fg_zeros(o.t, FG_F32, FG_DIMS(3, 3, 1, 4)), &(fg_conv2d_options){.groups = 3}), FG_ESHAPE, "conv2d(f32[2,8,6,3], f32[3,3,1,4]): 3 input channels in 3 groups do not match a kernel with 1 input and 4 output channels")
FAILS(fg_conv2d(o.x, fg_zeros(o.t, FG_F32, FG_DIMS(3, 0, 3, 4)), NULL), FG_ESHAPE, "conv2d(f32[2,8,6,3], f32[3,0,3,4]): the kernel has no elements")
FAILS(fg_conv2d(o.x, fg_zeros(o.t, FG_F32, FG_DIMS(8, 7, 3, 4)), NULL), FG_ESHAPE, "conv2d(f32[2,8,6,3], f32[8,7,3,4]): the kernel is larger than the padded image")
FAILS(fg_conv2d(o.x, o.m, NULL), FG_ESHAPE, "conv2d(f32[2,8,6,3], f32[3,4]): expected x [N,H,W,C] and a kernel [kh,kw,C/groups,Co]")
FAILS(fg_conv2d(fg_cast(o.x, FG_S32), fg_cast(o.k, FG_S32), NULL), FG_EDTYPE, "conv2d(s32[2,8,6,3], s32[3,3,3,4]): expected two operands of one floating-point dtype")
/* clang-format on */
