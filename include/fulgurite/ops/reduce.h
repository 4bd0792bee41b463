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

/* Sum, mean and maximum over the given axes, which are removed from the shape; axis_count 0 reduces
 * all axes. Sum and max also accept integers. The gradient of max is divided equally among the
 * elements that are equal to it. Sums of f16 and bf16 are computed in f32. If an element is NaN,
 * max returns NaN or ignores it, depending on the platform. */
FG_API fg_tensor fg_sum(fg_tensor a, int axis_count, const int *axis);
FG_API fg_tensor fg_mean(fg_tensor a, int axis_count, const int *axis);
FG_API fg_tensor fg_max(fg_tensor a, int axis_count, const int *axis);
/* log(sum(exp(a))) over the last axis, without overflow. If all elements are -infinity, the result
 * is -infinity and its gradient is 0 (in PyTorch, the gradient is NaN). */
FG_API fg_tensor fg_logsumexp(fg_tensor a);
/* Index of the largest element along the last axis; the first one if several are equal. s32, always
 * within the axis. No gradient. */
FG_API fg_tensor fg_argmax(fg_tensor a);
/* Softmax and its logarithm over the last axis. NaN if all elements are -infinity, as in PyTorch.
 */
FG_API fg_tensor fg_softmax(fg_tensor a);
FG_API fg_tensor fg_log_softmax(fg_tensor a);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_sum(...)         FG_HERE(fg_sum(__VA_ARGS__))
#define fg_mean(...)        FG_HERE(fg_mean(__VA_ARGS__))
#define fg_max(...)         FG_HERE(fg_max(__VA_ARGS__))
#define fg_logsumexp(...)   FG_HERE(fg_logsumexp(__VA_ARGS__))
#define fg_argmax(...)      FG_HERE(fg_argmax(__VA_ARGS__))
#define fg_softmax(...)     FG_HERE(fg_softmax(__VA_ARGS__))
#define fg_log_softmax(...) FG_HERE(fg_log_softmax(__VA_ARGS__))
#endif
#endif
