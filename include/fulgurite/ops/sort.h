/* sort.h - elements in order.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_SORT_H
#define FULGURITE_OPS_SORT_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sorts a, of any dtype except bool, along `axis`, which must not be a batch axis. Equal elements
 * keep their order; NaN is larger than all numbers.
 *
 *   out_values   T[...], of the shape of a
 *   out_indices  s32[...]: the positions of these elements along the axis
 *
 * Either may be NULL. Gradient: of the values, to a. Errors: FG_EINVAL, FG_EDTYPE. Source: PyTorch,
 * "torch.sort" with stable=True. */
FG_API void fg_sort(fg_tensor a, int axis, bool descending, fg_tensor *out_values,
                    fg_tensor *out_indices);
/* The k largest elements along the last axis, the largest first: T[..., k], s32[..., k]; of equal
 * elements the first ones. For the rest see fg_sort. Source: PyTorch, "torch.topk". */
FG_API void fg_top_k(fg_tensor a, int64_t k, fg_tensor *out_values, fg_tensor *out_indices);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_sort(...)  FG_HERE(fg_sort(__VA_ARGS__))
#define fg_top_k(...) FG_HERE(fg_top_k(__VA_ARGS__))
#endif
#endif
