/* padding_cases.h - the battery: the batch axis. op_cases.h explains the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(batch_axis, VALUE + GRAD, "T[2,3]", fg_batch_axis(a, 0), "a")
ROW(batch_roll, VALUE + GRAD, "T[4,3]", fg_batch_roll(a), "torch.roll(a, -1, 0)")
ROW(batch_roll_mixture, ALL + TWICE, "T[4,2,3] T[4,1,1]~", fg_add(fg_mul(a, b), fg_mul(fg_batch_roll(a), fg_add_scalar(fg_neg(b), 1))), "a * b + torch.roll(a, -1, 0) * (1 - b)")
FAILS(fg_batch_roll(o.s), FG_ESHAPE, "batch_roll: got f32[]: expected T[B, ...], whose first dimension is the only batch axis")
FAILS(fg_batch_axis(o.m, 2), FG_EINVAL, "batch_axis: axis 2 is out of range for rank 2 or given twice")
ROW(batch_roll_two, VALUE + GRAD, "T[2,3]", fg_batch_roll(a), "torch.roll(a, -1, 0)")
ROW(batch_roll_one, VALUE + GRAD, "T[1,3]", fg_batch_roll(a), "a")
/* clang-format on */
