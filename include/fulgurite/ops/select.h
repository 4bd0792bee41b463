/* select.h - comparison, selection and one-hot encoding.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_SELECT_H
#define FULGURITE_OPS_SELECT_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Comparisons, for every dtype, with bool results; false where an operand is NaN (fg_ne: true). No
 * gradient. */
FG_API fg_tensor fg_eq(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_ne(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_lt(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_le(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_gt(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_ge(fg_tensor a, fg_tensor b);
/* Logical operations on bool, bitwise ones on integers. */
FG_API fg_tensor fg_and(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_or(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_not(fg_tensor a);
/* Selects a where condition is true, else b: bool, T, T -> T, for any dtype. */
FG_API fg_tensor fg_where(fg_tensor condition, fg_tensor a, fg_tensor b);

/* One-hot encoding: s32[...] -> dtype[..., depth]. An index out of range is encoded as all zeros.
 */
FG_API fg_tensor fg_one_hot(fg_tensor index, int64_t depth, fg_dtype dtype);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_eq(...)      FG_HERE(fg_eq(__VA_ARGS__))
#define fg_ne(...)      FG_HERE(fg_ne(__VA_ARGS__))
#define fg_lt(...)      FG_HERE(fg_lt(__VA_ARGS__))
#define fg_le(...)      FG_HERE(fg_le(__VA_ARGS__))
#define fg_gt(...)      FG_HERE(fg_gt(__VA_ARGS__))
#define fg_ge(...)      FG_HERE(fg_ge(__VA_ARGS__))
#define fg_and(...)     FG_HERE(fg_and(__VA_ARGS__))
#define fg_or(...)      FG_HERE(fg_or(__VA_ARGS__))
#define fg_not(...)     FG_HERE(fg_not(__VA_ARGS__))
#define fg_where(...)   FG_HERE(fg_where(__VA_ARGS__))
#define fg_one_hot(...) FG_HERE(fg_one_hot(__VA_ARGS__))
#endif
#endif
