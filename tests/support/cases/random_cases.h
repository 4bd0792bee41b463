/* random_cases.h - random numbers and dropout: errors only. test_random.c tests the values.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
FAILS(fg_random_bits(o.t, FG_DIMS(INT64_MAX)), FG_ESHAPE, "random_bits: its size overflows 64 bits")
FAILS(fg_dropout(o.m, 1), FG_EINVAL, "dropout: rate is 1: expected 0 <= rate < 1")
FAILS(fg_random_uniform(o.t, FG_DIMS(-2)), FG_ESHAPE, "random_bits: dimension 0 is negative")
/* clang-format on */
