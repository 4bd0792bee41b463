/* gather.h - elements at positions that are computed on the device.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_GATHER_H
#define FULGURITE_OPS_GATHER_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of a along `axis` at the positions `index`, any dtype. The first batch_dims dimensions
 * of both are shared: with 1, sample i of the index selects from sample i of a. batch_dims <= axis.
 *
 *   a        T[b..., p..., N, q...]   N is dimension `axis`
 *   index    s32[b..., k...]          moved into 0 to N - 1
 *   returns  T[b..., p..., k..., q...]
 *
 * The axis must not be a batch axis (ops/padding.h). Gradient: to a; elements that are selected
 * several times receive the sum. Source: TensorFlow, "tf.gather"; with batch_dims 0 and an index of
 * rank 1, PyTorch's index_select. */
FG_API fg_tensor fg_gather(fg_tensor a, fg_tensor index, int axis, int batch_dims);

/* The block of a with these sizes that starts at `start`, any dtype: one start for all of a, or one
 * for each sample.
 *
 *   a        T[d...]          start  s32[rank]          size: rank numbers
 *   a        T[B, d...]       start  s32[B, rank - 1]   size: rank numbers, the first is B
 *   returns  T[size...]
 *
 * A block that would extend over the end is moved back, and one that would begin before 0 is moved
 * to 0. Axes with a start must not be batch axes (ops/padding.h). Gradient: to a. Source: StableHLO
 * specification, "dynamic_slice". */
FG_API fg_tensor fg_dynamic_slice(fg_tensor a, fg_tensor start, const int64_t *size);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_gather(...)        FG_HERE(fg_gather(__VA_ARGS__))
#define fg_dynamic_slice(...) FG_HERE(fg_dynamic_slice(__VA_ARGS__))
#endif
#endif
