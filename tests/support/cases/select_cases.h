/* select_cases.h - the battery: comparison, selection and one-hot encoding. op_cases.h explains the
 * rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(eq, VALUE + BF16, "T[3,5]= T[5]=", fg_eq(a, b), "a == b")
ROW(eq_bool, VALUE, "bool[9] bool[9]", fg_eq(a, b), "a == b")
ROW(ne, VALUE, "T[3,5]= T[5]=", fg_ne(a, b), "a != b")
ROW(lt, VALUE, "T[3,5]= T[5]=", fg_lt(a, b), "a < b")
ROW(lt_u8, VALUE, "u8[7]<9 u8[7]<9", fg_lt(a, fg_add_scalar(b, 200)), "a < b + 200")
ROW(le, VALUE, "T[3,5]= T[5]=", fg_le(a, b), "a <= b")
ROW(gt, VALUE, "T[3,5]= T[5]=", fg_gt(a, b), "a > b")
ROW(gt_s32, VALUE, "s32[3,5]= s32[5]=", fg_gt(a, b), "a > b")
ROW(ge, VALUE, "T[3,5]= T[5]=", fg_ge(a, b), "a >= b")
ROW(nan_compare, VALUE, "T[9]=", fg_or(fg_eq(fg_log(a), fg_log(a)), fg_lt(fg_log(a), a)), "(a.log() == a.log()) | (a.log() < a)")
ROW(nan_differs, VALUE, "T[9]=", fg_ne(fg_log(a), fg_log(a)), "a.log() != a.log()")
ROW(and, VALUE, "bool[9] bool[9]", fg_and(a, b), "a & b")
ROW(or, VALUE, "bool[9] bool[9]", fg_or(a, b), "a | b")
ROW(not, VALUE, "bool[9]", fg_not(a), "~a")
ROW(and_s32, VALUE, "s32[9] s32[9]", fg_and(a, b), "a & b")
ROW(not_s32, VALUE, "s32[9]", fg_not(a), "~a")
ROW(where, ALL + TWICE, "bool[2,3] T[2,3] T[2,3]", fg_where(a, b, c), "torch.where(a, b, c)")
ROW(where_broadcast, ALL + BF16, "bool[3,1] T[4] T[2,1,1]", fg_where(a, b, c), "torch.where(a, b, c)")
ROW(where_s32, VALUE, "bool[5] s32[5] s32[]", fg_where(a, b, c), "torch.where(a, b, c)")
ROW(one_hot, VALUE, "s32[2,3]<5", fg_one_hot(a, 4, FG_F32), "one_hot(a, 4).to(torch.float32)")
ROW(one_hot_bool, VALUE, "s32[3]<5", fg_one_hot(a, 5, FG_BOOL), "one_hot(a, 5).to(torch.bool)")
ROW(one_hot_negative, VALUE, "s32[9]=", fg_one_hot(a, 3, FG_S32), "one_hot(a, 3).to(torch.int32)")

FAILS(fg_and(o.m, o.m), FG_EDTYPE, "and(f32[3,4], f32[3,4]): expected bool or an integer dtype")
FAILS(fg_or(o.b, o.u), FG_EDTYPE, "or(bool[3,4], u8[3,4]): the dtypes differ: cast one of them")
FAILS(fg_not(o.m), FG_EDTYPE, "not(f32[3,4]): expected bool or an integer dtype")
FAILS(fg_lt(o.m, o.d), FG_EDTYPE, "lt(f32[3,4], f64[3,4]): the dtypes differ: cast one of them")
FAILS(fg_eq(o.m, o.n), FG_ESHAPE, "eq(f32[3,4], f32[5,6]): the shapes cannot be broadcast")
FAILS(fg_where(o.m, o.m, o.m), FG_EDTYPE, "where(f32[3,4], f32[3,4], f32[3,4]): expected a bool condition as the first operand")
FAILS(fg_where(o.b, o.m, o.d), FG_EDTYPE, "where(bool[3,4], f32[3,4], f64[3,4]): the dtypes differ: cast one of them")
FAILS(fg_where(o.b, o.n, o.n), FG_ESHAPE, "where(bool[3,4], f32[5,6], f32[5,6]): the shapes cannot be broadcast")
FAILS(fg_one_hot(o.m, 3, FG_F32), FG_EDTYPE, "one_hot: expected s32 indices, got f32")
FAILS(fg_one_hot(o.i, -1, FG_F32), FG_ESHAPE, "one_hot: depth -1 is not valid for indices of rank 1")
/* clang-format on */
