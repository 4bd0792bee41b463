/* sort_cases.h - the battery: elements in order. op_cases.h explains the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(sort, ALL + TWICE + BF16 + F16, "T[3,7]", fgt_sorted(fg_square(a), 1, false), "(a * a).sort(dim=1, stable=True).values")
ROW(sort_down, ALL, "T[5,2]", fgt_sorted(a, 0, true), "a.sort(dim=0, descending=True, stable=True).values")
ROW(sort_ties, VALUE, "T[4,9]=", fgt_order(a, -1, false), "a.sort(dim=-1, stable=True).indices.to(torch.int32)")
ROW(sort_ties_down, VALUE, "T[4,9]=", fgt_order(a, -1, true), "a.sort(dim=-1, descending=True, stable=True).indices.to(torch.int32)")
ROW(sort_nan, VALUE, "T[2,5]=", fgt_order(fg_div(a, a), 1, false), "(a / a).sort(dim=1, stable=True).indices.to(torch.int32)")
ROW(sort_nan_down, VALUE, "T[2,5]=", fgt_order(fg_neg(fg_div(a, a)), 1, true), "(a / a).sort(dim=1, descending=True, stable=True).indices.to(torch.int32)")
ROW(sort_integers, VALUE, "s32[3,8]<4", fgt_order(a, 1, false), "a.sort(dim=1, stable=True).indices.to(torch.int32)")
ROW(top_k, ALL + TWICE, "T[3,7]", fgt_largest(fg_sin(a), 3), "a.sin().topk(3).values")
ROW(top_k_all, ALL, "T[4]", fgt_largest(a, 4), "a.topk(4).values")

FAILS(fgt_sorted(o.m, 2, false), FG_EINVAL, "sort: axis 2 is out of range for rank 2 or given twice")
FAILS(fgt_sorted(o.b, 0, false), FG_EDTYPE, "sort(bool[3,4], s32[3,4]): expected a numeric dtype, not bool: cast it first")
FAILS(fgt_largest(o.m, 0), FG_EINVAL, "top_k: k is 0: expected 1 to 4, the size of the last axis")
FAILS(fgt_largest(o.m, 5), FG_EINVAL, "top_k: k is 5: expected 1 to 4, the size of the last axis")
FAILS(fgt_largest(o.s, 1), FG_EINVAL, "top_k: k is 1: expected 1 to 0, the size of the last axis")
/* clang-format on */
