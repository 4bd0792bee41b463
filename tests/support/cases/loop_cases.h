/* loop_cases.h - the battery: loops. op_cases.h explains the rows; op_calls.h has the loops.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(loop_chain, ALL + TWICE + BF16, "T[5,3]~ T[3]", fgt_loop_chain(a, b, false), "loop_chain(a, b, False)")
ROW(loop_chain_reverse, ALL + TWICE, "T[5,3]~ T[3]", fgt_loop_chain(a, b, true), "loop_chain(a, b, True)")
ROW(loop_recurrent, ALL + TWICE + BF16, "T[4,2,3]~ T[3,4]~ T[4,4]~", fgt_loop_recurrent(a, b, c), "loop_recurrent(a, b, c)")
ROW(loop_recurrent_one, ALL, "T[1,2,3]~ T[3,4]~ T[4,4]~", fgt_loop_recurrent(a, b, c), "loop_recurrent(a, b, c)")
ROW(loop_nested, ALL + TWICE, "T[3,4] T[]", fgt_loop_nested(a, b), "loop_nested(a, b)")
ROW(loop_while, ALL + TWICE, "T[3]~", fgt_loop_while(a, 100), "loop_while(a, 100)")
ROW(loop_while_none, ALL, "T[3]~", fgt_loop_while(a, 0), "loop_while(a, 0)")
ROW(loop_while_limit, ALL, "T[3]~", fgt_loop_while(a, 1e9), "loop_while(a, 1e9)")
ROW(loop_power, ALL, "T[3]~ s32[]<4", fgt_loop_power(a, b), "a ** (b + 1)")

FAILS(fgt_loop_of(&(fg_scan_options){.carry_count = 1, .body = fgt_body_narrow}, o.s, o.m), FG_EINVAL, "scan: expected a length, because there is no x")
FAILS(fgt_loop_of(&(fg_scan_options){.carry_count = 65}, o.s, o.m), FG_EINVAL, "scan: 65 carried values, 0 x, 0 y, length 0: expected at most 64 of each, and a length from 1 to 2^31 - 1")
FAILS(fgt_loop_of(&(fg_scan_options){.carry_count = 1, .length = 2}, o.s, o.m), FG_EINVAL, "scan: expected a function for the body")
FAILS(fgt_loop_of(&(fg_scan_options){.length = 2}, o.s, o.m), FG_EINVAL, "an empty tensor was used: it has no value")
FAILS(fgt_loop_of(&(fg_scan_options){.x_count = 1, .length = 4, .body = fgt_body_narrow}, o.s, o.m), FG_ESHAPE, "scan: x 0 is f32[3,4]: expected a first dimension of 4, the number of iterations")
FAILS(fgt_loop_of(&(fg_scan_options){.x_count = 1, .body = fgt_body_narrow}, o.m, o.s), FG_ESHAPE, "scan: x 0 is f32[]: expected a first dimension of 1, the number of iterations")
FAILS(fgt_loop_of(&(fg_scan_options){.carry_count = 1, .length = 2, .body = fgt_body_narrow}, o.d, o.m), FG_EDTYPE, "scan: carried value 0 is f64[3,4], but the body computes f32[3,4]")
FAILS(fgt_loop_of(&(fg_scan_options){.carry_count = 1, .length = 2, .body = fgt_body_reshaped}, o.m, o.m), FG_ESHAPE, "scan: carried value 0 is f32[3,4], but the body computes f32[12]")
FAILS(fgt_loop_leak(o.m), FG_EINVAL, "a value that was computed in the body of a loop is used outside it: return it from the body")
FAILS(fgt_loop_endless(o.m), FG_EUNSUPPORTED, "the gradient of fg_while needs the values of each iteration: set the largest number of iterations (limit)")
/* clang-format on */
