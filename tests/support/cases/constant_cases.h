/* constant_cases.h - the battery: constants. op_cases.h explains the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(iota, VALUE, "s32[]", fg_add(fg_iota(trace, FG_S32, 0, FG_DIMS(3, 2)), a), "torch.arange(3, dtype=torch.int32)[:, None].expand(3, 2) + a")
ROW(iota_last, VALUE, "s32[]", fg_iota(trace, FG_F32, -1, FG_DIMS(2, 3)), "torch.arange(3, dtype=torch.float32).expand(2, 3)")
ROW(constant, VALUE, "s32[]", fg_add(fg_constant(trace, &(fg_type){.dtype = FG_S32, .rank = 2, .dim = {2, 2}}, (const int32_t[]){1, -2, 3, 400000}), a), "torch.tensor([[1, -2], [3, 400000]], dtype=torch.int32) + a")
ROW(constant_u8, VALUE, "u8[]<5", fg_add(fg_constant(trace, &(fg_type){.dtype = FG_U8, .rank = 1, .dim = {3}}, (const uint8_t[]){1, 128, 255}), a), "torch.tensor([1, 128, 255], dtype=torch.uint8) + a")
ROW(full_values, VALUE, "T[]", fg_add(a, fg_concat((const fg_tensor[]){fg_full(trace, fg_tensor_type(a)->dtype, 1e-3, FG_DIMS(1)), fg_full(trace, fg_tensor_type(a)->dtype, -12345, FG_DIMS(1)), fg_full(trace, fg_tensor_type(a)->dtype, 0.1, FG_DIMS(1))}, 3, 0)), "a + torch.tensor([1e-3, -12345.0, 0.1], dtype=torch.float64)")
ROW(ones, VALUE, "s32[2]", fg_sub(fg_add(a, fg_ones(trace, FG_S32, FG_DIMS(3, 1))), fg_zeros(trace, FG_S32, FG_DIMS(3, 1))), "a + torch.ones(3, 1, dtype=torch.int32) - torch.zeros(3, 1, dtype=torch.int32)")
ROW(iota_middle, VALUE, "s32[]", fg_add(fg_iota(trace, FG_S32, -2, FG_DIMS(2, 3, 2)), a), "torch.arange(3, dtype=torch.int32)[:, None].expand(2, 3, 2) + a")

FAILS(fg_zeros(o.t, FG_F32, FG_DIMS(0, INT64_MAX, INT64_MAX)), FG_ESHAPE, "full: its size overflows 64 bits")
FAILS(fg_iota(o.t, FG_S32, 0, FG_DIMS(INT64_MAX)), FG_ESHAPE, "iota: its size overflows 64 bits")
FAILS(fg_zeros(o.t, FG_F32, FG_DIMS(2, -1)), FG_ESHAPE, "full: dimension 1 is negative")
FAILS(fg_zeros(o.t, FG_U8, FG_DIMS(INT64_MAX, 2)), FG_ESHAPE, "full: its size overflows 64 bits")
FAILS(fg_full(o.t, FG_F32, 0, 9, NULL), FG_ESHAPE, "full: rank is 9: expected 0 to 8")
FAILS(fg_ones(o.t, FG_DTYPE_NONE, FG_SCALAR), FG_EDTYPE, "full: unknown dtype 0")
FAILS(fg_full(o.t, FG_S8, (double)NAN, FG_SCALAR), FG_EINVAL, "full: s8 cannot represent nan")
FAILS(fg_iota(o.t, FG_F32, 1, FG_DIMS(3)), FG_EINVAL, "iota: axis 1 is out of range for rank 1, or dtype f32 is not arithmetic")
FAILS(fg_iota(o.t, FG_BOOL, 0, FG_DIMS(3)), FG_EINVAL, "iota: axis 0 is out of range for rank 1, or dtype bool is not arithmetic")
FAILS(fg_constant(o.t, &bool_34, "abcdefghijkl"), FG_EDTYPE, "constant: bool is not supported: pass u8 and cast it")
FAILS(fg_constant(o.t, &(fg_type){.dtype = FG_F32, .rank = 1, .dim = {20000}}, NULL), FG_EINVAL, "constant: 80000 bytes would be embedded in the program: expected at most 65536; use an input or a variable")
FAILS(fg_full(o.t, FG_F32, 0, -1, NULL), FG_ESHAPE, "full: rank is -1: expected 0 to 8")
FAILS(fg_iota(o.t, FG_S32, -3, FG_DIMS(3, 2)), FG_EINVAL, "iota: axis -3 is out of range for rank 2, or dtype s32 is not arithmetic")
FAILS(fg_constant(o.t, &(fg_type){.dtype = FG_F32, .rank = 1, .dim = {16385}}, NULL), FG_EINVAL, "constant: 65540 bytes would be embedded in the program: expected at most 65536; use an input or a variable")
FAILS(fg_full(o.t, FG_BOOL, 2, FG_SCALAR), FG_EINVAL, "full: bool cannot represent 2")
FAILS(fg_full(o.t, FG_U16, -1, FG_SCALAR), FG_EINVAL, "full: u16 cannot represent -1")
FAILS(fg_full(o.t, FG_S8, 128, FG_SCALAR), FG_EINVAL, "full: s8 cannot represent 128")
FAILS(fg_full(o.t, FG_S64, 0x1p63, FG_SCALAR), FG_EINVAL, "full: s64 cannot represent 9.22337e+18")
/* clang-format on */
