/* gather.h - elements at positions that are computed on the device: read, written, added up.
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
 * to 0. An axis of which the block is only a part must not be a batch axis
 * (ops/padding.h). Gradient: to a. Source: StableHLO
 * specification, "dynamic_slice". */
FG_API fg_tensor fg_dynamic_slice(fg_tensor a, fg_tensor start, const int64_t *size);

/* a, to which `updates` are added along `axis` at the positions `index`: the gradient of fg_gather,
 * whose arguments these are. Any dtype except bool.
 *
 *   a        T[b..., p..., N, q...]   N is dimension `axis`
 *   index    s32[b..., k...]          moved into 0 to N - 1
 *   updates  T[b..., p..., k..., q...]
 *   returns  the type of a
 *
 * Updates at the same position are added up. The axis must not be a batch axis (ops/padding.h);
 * updates of padding rows are not added. Gradient: to a and updates. Source: StableHLO
 * specification, "scatter"; with batch_dims 0 and an index of rank 1, PyTorch's index_add. */
FG_API fg_tensor fg_scatter_add(fg_tensor a, fg_tensor index, fg_tensor updates, int axis,
                                int batch_dims);

/* a, with the block that starts at `start` replaced, any dtype: one start for all of a, or one for
 * each sample. If a is a variable to which the result is assigned, the block is written in place.
 *
 *   a        T[d...]      block  T[e...]      start  s32[rank]
 *   a        T[B, d...]   block  T[B, e...]   start  s32[B, rank - 1]
 *   returns  the type of a
 *
 * A block that would extend over the end is moved back, and one that would begin before 0 is moved
 * to 0. An axis of which the block is only a part must not be a batch axis (ops/padding.h).
 * Gradient: to a and block. Source: StableHLO specification, "dynamic_update_slice". */
FG_API fg_tensor fg_dynamic_update_slice(fg_tensor a, fg_tensor block, fg_tensor start);

/* Elements of a along `axis` at the positions `index`, one index for each element of the result;
 * any dtype. The other dimensions are shared: PyTorch's gather, with
 * y[i][j] = a[i][index[i][j]] for matrices and axis 1.
 *
 *   a        T[p..., N, q...]     index  s32[p..., K, q...]   moved into 0 to N - 1
 *   returns  T[p..., K, q...]
 *
 * The axis must not be a batch axis (ops/padding.h). Gradient: to a; elements that are selected
 * several times receive the sum. Source: NumPy, "take_along_axis". */
FG_API fg_tensor fg_take_along_axis(fg_tensor a, fg_tensor index, int axis);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_gather(...)               FG_HERE(fg_gather(__VA_ARGS__))
#define fg_dynamic_slice(...)        FG_HERE(fg_dynamic_slice(__VA_ARGS__))
#define fg_scatter_add(...)          FG_HERE(fg_scatter_add(__VA_ARGS__))
#define fg_dynamic_update_slice(...) FG_HERE(fg_dynamic_update_slice(__VA_ARGS__))
#define fg_take_along_axis(...)      FG_HERE(fg_take_along_axis(__VA_ARGS__))
#endif
#endif
