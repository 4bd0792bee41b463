/* reduce.h - reductions and softmax.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_REDUCE_H
#define FULGURITE_OPS_REDUCE_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reductions over the given axes, which are removed from the shape; axis_count 0 reduces all axes.
 * fg_unsqueeze(fg_sum(a, 1, axis), 1, axis) keeps them with size 1 (keepdims). Sums and products of
 * f16 and bf16 are computed in f32.
 *
 *   sum, prod   also of integers; 0 and 1 over no elements. The gradient of prod is exact where
 *               elements are 0; its second derivative is not
 *   mean        FG_ESHAPE over no elements
 *   max, min    also of integers; FG_ESHAPE over no elements. The gradient is divided equally
 *               among the elements that are equal to the result. If an element is NaN, the result
 *               is NaN or ignores it, depending on the platform
 *   any, all    whether one element, or each, is not 0: bool; false and true over no elements. Any
 *               dtype; no gradient
 *   variance    sum((a - mean)^2) / (n - correction) over n elements. correction 0 is the biased
 *               estimate, 1 the unbiased one (PyTorch's default), which is NaN for one element.
 *               FG_ESHAPE over no elements */
FG_API fg_tensor fg_sum(fg_tensor a, int axis_count, const int *axis);
FG_API fg_tensor fg_prod(fg_tensor a, int axis_count, const int *axis);
FG_API fg_tensor fg_mean(fg_tensor a, int axis_count, const int *axis);
FG_API fg_tensor fg_max(fg_tensor a, int axis_count, const int *axis);
FG_API fg_tensor fg_min(fg_tensor a, int axis_count, const int *axis);
FG_API fg_tensor fg_any(fg_tensor a, int axis_count, const int *axis);
FG_API fg_tensor fg_all(fg_tensor a, int axis_count, const int *axis);
FG_API fg_tensor fg_variance(fg_tensor a, int axis_count, const int *axis, double correction);
/* Element i is the sum of the elements 0 to i along the axis; also of integers. Sums of f16 and
 * bf16 are computed in f32. The axis must not be a batch axis (ops/padding.h). */
FG_API fg_tensor fg_cumsum(fg_tensor a, int axis);
/* log(sum(exp(a))) over the last axis, without overflow. If all elements are -infinity, the result
 * is -infinity and its gradient is 0 (in PyTorch, the gradient is NaN). */
FG_API fg_tensor fg_logsumexp(fg_tensor a);
/* Index of the largest element along the last axis, of the largest and the smallest along any axis;
 * the first one if several are equal. s32, always within the axis, which must not be empty. The
 * axis is removed from the shape. No gradient. */
FG_API fg_tensor fg_argmax(fg_tensor a);
FG_API fg_tensor fg_argmax_axis(fg_tensor a, int axis);
FG_API fg_tensor fg_argmin_axis(fg_tensor a, int axis);
/* Softmax and its logarithm over the last axis. NaN if all elements are -infinity, as in PyTorch.
 */
FG_API fg_tensor fg_softmax(fg_tensor a);
FG_API fg_tensor fg_log_softmax(fg_tensor a);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_sum(...)         FG_HERE(fg_sum(__VA_ARGS__))
#define fg_prod(...)        FG_HERE(fg_prod(__VA_ARGS__))
#define fg_mean(...)        FG_HERE(fg_mean(__VA_ARGS__))
#define fg_max(...)         FG_HERE(fg_max(__VA_ARGS__))
#define fg_min(...)         FG_HERE(fg_min(__VA_ARGS__))
#define fg_any(...)         FG_HERE(fg_any(__VA_ARGS__))
#define fg_all(...)         FG_HERE(fg_all(__VA_ARGS__))
#define fg_variance(...)    FG_HERE(fg_variance(__VA_ARGS__))
#define fg_cumsum(...)      FG_HERE(fg_cumsum(__VA_ARGS__))
#define fg_logsumexp(...)   FG_HERE(fg_logsumexp(__VA_ARGS__))
#define fg_argmax(...)      FG_HERE(fg_argmax(__VA_ARGS__))
#define fg_argmax_axis(...) FG_HERE(fg_argmax_axis(__VA_ARGS__))
#define fg_argmin_axis(...) FG_HERE(fg_argmin_axis(__VA_ARGS__))
#define fg_softmax(...)     FG_HERE(fg_softmax(__VA_ARGS__))
#define fg_log_softmax(...) FG_HERE(fg_log_softmax(__VA_ARGS__))
#endif
#endif
