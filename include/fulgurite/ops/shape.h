/* shape.h - shapes: reshape, transpose, slice, pad, concatenate, split, repeat; any dtype.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_SHAPE_H
#define FULGURITE_OPS_SHAPE_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes the shape and keeps the elements in row-major order; one dimension may be -1 and is then
 * inferred. */
FG_API fg_tensor fg_reshape(fg_tensor a, int rank, const int64_t *dim);
/* Merges the dimensions starting at `axis`: f32[B,28,28] with axis 1 -> f32[B,784]. */
FG_API fg_tensor fg_flatten(fg_tensor a, int axis);
/* Dimension i of the result is dimension axis[i] of a; the number of entries of axis is the rank of
 * a. */
FG_API fg_tensor fg_permute(fg_tensor a, const int *axis);
/* Swaps the last two dimensions; requires rank >= 2. */
FG_API fg_tensor fg_transpose(fg_tensor a);
/* Repeats dimensions of size 1 and prepends dimensions, like NumPy's broadcast_to. */
FG_API fg_tensor fg_broadcast_to(fg_tensor a, int rank, const int64_t *dim);
/* For each dimension, the elements start, start + stride, ... below limit; stride may be NULL (all
 * 1). */
FG_API fg_tensor fg_slice(fg_tensor a, const int64_t *start, const int64_t *limit,
                          const int64_t *stride);
/* Pads dimension i with low[i] elements before, high[i] after and interior[i] between its elements,
 * all equal to value. Negative low and high remove elements. interior may be NULL (all 0). */
FG_API fg_tensor fg_pad(fg_tensor a, double value, const int64_t *low, const int64_t *high,
                        const int64_t *interior);
/* Concatenates 1 to 64 tensors along an axis; their other dimensions must be equal. */
FG_API fg_tensor fg_concat(const fg_tensor *in, int count, int axis);
/* Reverses the order of elements along the axes. */
FG_API fg_tensor fg_reverse(fg_tensor a, int axis_count, const int *axis);
/* Inserts dimensions of size 1, so that they are these axes of the result. */
FG_API fg_tensor fg_unsqueeze(fg_tensor a, int axis_count, const int *axis);
/* Concatenates 1 to 64 tensors of the same shape along a new axis of the result. */
FG_API fg_tensor fg_stack(const fg_tensor *in, int count, int axis);
/* Writes the `count` parts of a along an axis to out, in order; size has the size of each part, or
 * is NULL for equal parts. FG_ESHAPE unless the parts are all of the axis. */
FG_API void fg_split(fg_tensor a, int axis, int count, const int64_t *size, fg_tensor *out);
/* Moves elements by `shift` along an axis; those moved over the end continue at the start. The axis
 * must not be a batch axis (fg_batch_roll). */
FG_API fg_tensor fg_roll(fg_tensor a, int64_t shift, int axis);
/* Repeats all of a along each dimension, times[i] times along dimension i: NumPy's tile. */
FG_API fg_tensor fg_repeat(fg_tensor a, const int64_t *times);
/* The lower and the upper triangle of the matrices in the last two dimensions; other elements
 * become 0. `diagonal` moves the limit, which belongs to both, to the right (> 0) or the left. */
FG_API fg_tensor fg_tril(fg_tensor a, int diagonal);
FG_API fg_tensor fg_triu(fg_tensor a, int diagonal);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_reshape(...)      FG_HERE(fg_reshape(__VA_ARGS__))
#define fg_flatten(...)      FG_HERE(fg_flatten(__VA_ARGS__))
#define fg_permute(...)      FG_HERE(fg_permute(__VA_ARGS__))
#define fg_transpose(...)    FG_HERE(fg_transpose(__VA_ARGS__))
#define fg_broadcast_to(...) FG_HERE(fg_broadcast_to(__VA_ARGS__))
#define fg_slice(...)        FG_HERE(fg_slice(__VA_ARGS__))
#define fg_pad(...)          FG_HERE(fg_pad(__VA_ARGS__))
#define fg_concat(...)       FG_HERE(fg_concat(__VA_ARGS__))
#define fg_reverse(...)      FG_HERE(fg_reverse(__VA_ARGS__))
#define fg_unsqueeze(...)    FG_HERE(fg_unsqueeze(__VA_ARGS__))
#define fg_stack(...)        FG_HERE(fg_stack(__VA_ARGS__))
#define fg_split(...)        FG_HERE(fg_split(__VA_ARGS__))
#define fg_roll(...)         FG_HERE(fg_roll(__VA_ARGS__))
#define fg_repeat(...)       FG_HERE(fg_repeat(__VA_ARGS__))
#define fg_tril(...)         FG_HERE(fg_tril(__VA_ARGS__))
#define fg_triu(...)         FG_HERE(fg_triu(__VA_ARGS__))
#endif
#endif
