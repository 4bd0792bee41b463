/* padding.h - batches with padding rows.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_PADDING_H
#define FULGURITE_OPS_PADDING_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The last batch of an epoch is completed with padding rows, so that all batches have the same
 * shape. When the trace has a mask (fg_trace_set_mask; the Trainer sets it), operations track the
 * batch axis, so that padding rows cannot affect results:
 *
 *   - fg_sum, fg_mean, fg_max and operations based on them count only valid rows along a batch
 *     axis; fg_mean divides by the number of valid rows. The same applies to fg_dot and fg_matmul
 *     if they contract the batch axis.
 *   - Other operations keep the batch axis or move it. It may be merged with other dimensions and
 *     split from them again ([B,T,C] to [B*T,C] and back), and a value may have several batch axes
 *     ([B,B] from x[B,C] times its transpose).
 *   - Operations that would mix samples with padding rows in any other way fail with FG_EINVAL:
 *     reversing, slicing or padding the batch axis, reshaping [B] to [B/2,2], storing one value per
 *     sample in a variable, and so on.
 *
 * Valid elements never depend on the content of padding rows, and only valid rows contribute to
 * gradients, provided that the values computed from padding rows are finite. Therefore padding rows
 * should repeat a sample, as those of the loader do, rather than be zeros, whose logarithm is
 * infinite. */

/* Marks dimension `axis` of a as the batch axis, and returns a. Its size must be that of the mask,
 * B. The Trainer marks the fields of its batches; custom loops mark their inputs, after
 * fg_trace_set_mask. Without a mask this has no effect. If nothing was marked, losses and layers
 * use dimension 0 as the batch axis. Errors: FG_ESHAPE, FG_EINVAL. */
FG_API fg_tensor fg_batch_axis(fg_tensor a, int axis);
/* The next sample of the batch for each sample, any dtype: T[B, ...] -> T[B, ...], whose row i is
 * row i + 1 of a, and whose last valid row is row 0. Dimension 0 must be the batch axis, and valid
 * rows must come before padding rows. On several devices, each one receives a row from the next,
 * and row 0. Gradient: to a. Errors: FG_ESHAPE, FG_EINVAL. */
FG_API fg_tensor fg_batch_roll(fg_tensor a);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_batch_axis(...) FG_HERE(fg_batch_axis(__VA_ARGS__))
#define fg_batch_roll(...) FG_HERE(fg_batch_roll(__VA_ARGS__))
#endif
#endif
