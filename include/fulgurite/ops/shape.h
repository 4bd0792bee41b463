/* shape.h - shapes: reshape, transpose, slice, pad, concatenate; any dtype.
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
#endif
#endif
