/* padding_cases.h - the battery: the batch axis. op_cases.h explains the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(batch_axis, VALUE + GRAD, "T[2,3]", fg_batch_axis(a, 0), "a")
/* clang-format on */
