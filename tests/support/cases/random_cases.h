/* random_cases.h - random numbers and dropout: errors only. test_random.c tests the values.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
FAILS(fg_random_bits(o.t, FG_DIMS(INT64_MAX)), FG_ESHAPE, "random_bits: its size overflows 64 bits")
FAILS(fg_dropout(o.m, 1), FG_EINVAL, "dropout: rate is 1: expected 0 <= rate < 1")
FAILS(fg_random_uniform(o.t, FG_DIMS(-2)), FG_ESHAPE, "random_bits: dimension 0 is negative")
FAILS(fg_random_sample_bits(&(fg_sample_key){.key = o.v, .sample = o.i}, "x", 3), FG_ESHAPE, "random_sample_bits(f32[4], s32[3]): expected a key u32[2] and samples u32[B]")
FAILS(fg_random_sample_uniform(&(fg_sample_key){.key = o.v, .sample = o.i}, "x", 0), FG_ESHAPE, "random_sample_bits: count is 0: expected 1 to 2^31 - 1")
FAILS(fg_drop_path(o.m, 1), FG_EINVAL, "drop_path: rate is 1: expected 0 <= rate < 1")
FAILS(fg_dropout(o.m, -0.5), FG_EINVAL, "dropout: rate is -0.5: expected 0 <= rate < 1")
FAILS(fg_drop_path(o.m, 1), FG_EINVAL, "drop_path: rate is 1: expected 0 <= rate < 1")
FAILS(fg_random_sample_bits(&(fg_sample_key){.key = fg_zeros(o.t, FG_U32, FG_DIMS(2)), .sample = fg_zeros(o.t, FG_U32, FG_DIMS(3))}, "a", (int64_t)INT32_MAX + 1), FG_ESHAPE, "random_sample_bits: count is 2147483648: expected 1 to 2^31 - 1")
FAILS(fg_random_normal(o.t, FG_DIMS(-2)), FG_ESHAPE, "random_normal: dimension 0 is negative")
FAILS(fg_random_normal(o.t, FG_DIMS(INT64_MAX)), FG_ESHAPE, "random_normal: its size overflows 64 bits")
FAILS(fg_random_categorical(o.i), FG_EDTYPE, "random_categorical: expected floating-point logits [..., K]")
FAILS(fg_random_permutation(o.t, -1), FG_ESHAPE, "random_permutation: n is -1: expected 0 to 2^31 - 1")
/* clang-format on */
