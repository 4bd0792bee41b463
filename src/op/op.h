/* op.h - what the files of this folder share: broadcasting, axis lists, type checks.
 *
 * Each file holds one family of operations: shape rule, emission and gradient side by side in one
 * constant fgi_op, and the public function that applies it. Operations made of others have no
 * fgi_op: their gradient is that of their parts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_OP_H
#define FGI_OP_OP_H

#include <fulgurite/ops.h>
#include "trace/graph.h"

/* Repeats dimensions so that both have one shape; leaves both alone when they do not go together
 * (the operation's shape rule then says so) or an error is there already. */
void fgi_broadcast_both(fg_tensor *a, fg_tensor *b);
/* The common shape of two under NumPy's rules; false when there is none. */
bool fgi_broadcast_shape(const fg_type *a, const fg_type *b, fg_type *out);
/* Whether there is such a type; keeps an error that names `op` otherwise. */
bool fgi_check_type(fg_trace *trace, const char *op, fg_dtype dtype, int rank, const int64_t *dim);
/* Same dtype and shape as `like`, one value everywhere. */
fg_tensor fgi_full_like(fg_tensor like, double value);
/* a + b. The derivatives by neighbouring slices of one value, each padded with zeros, are put
 * together instead of added (adjoin.c). */
fg_tensor fgi_add_derivatives(fg_tensor a, fg_tensor b);
fg_tensor fgi_reshape_to(fg_tensor a, const fg_type *type);
bool fgi_same_shape(const fg_type *a, const fg_type *b);
/* Sizes, strides and paddings of windows stay below this, so that sums of them fit int64_t. */
enum { FGI_LARGEST_WINDOW = 1 << 30 };
/* Checks and turns negative axes to positive; all axes when count is 0. Returns the number of
 * axes, or -1 after keeping an error. out has room for FG_MAX_RANK. */
int fgi_axes(fg_tensor a, const char *op, int count, const int *axis, int *out);
/* a, from which the axes were reduced, repeated along them to `type`. */
fg_tensor fgi_expand(fg_tensor a, int axis_count, const int *axis, const fg_type *type);

/* How a result depends on its operands: what is known of a mean carries over to it or not. */
typedef enum fgi_linearity {
    FGI_NOT_LINEAR,
    FGI_LINEAR,         /* in all operands together: sums, casts, moves */
    FGI_BILINEAR,       /* in each operand: a product                   */
    FGI_LINEAR_IN_FIRST /* a quotient                                   */
} fgi_linearity;
fgi_linearity fgi_linearity_of(const fgi_op *op);

/* Padding rows (padding.c). a with these rows and no others; NULL: none. */
fg_tensor fgi_with_rows(fg_tensor a, const fgi_rows *rows);
/* a, its dimension 0 being the batch axis where a mask is set and nothing is known of a's rows: for
 * losses and layers, whose operands are batches. */
fg_tensor fgi_batch_first(fg_tensor a);
/* Those of the axes along which a has rows, a bit each. */
unsigned fgi_row_axes(fg_tensor a, int count, const int *axis);
/* a with `fill` in place of padding rows along these axes, which then have no rows any more. In
 * gradients a itself, where such elements are 0 anyhow. */
fg_tensor fgi_mask_rows(fg_tensor a, unsigned axes, double fill);
/* Which elements are valid, as to axes with rows, at least one: bool of a's shape. */
fg_tensor fgi_valid_elements(fg_tensor a, unsigned axes);
/* Whether a is such a value; then which elements were not replaced: bool of a's shape. */
bool fgi_masked_by(fg_tensor a, fg_tensor *out_valid);
/* How many elements that are valid a has along these axes: dtype[]. */
fg_tensor fgi_count_valid(fg_tensor a, int count, const int *axis, fg_dtype dtype);
/* The same but for a constant factor, and without one for what is no row: f32[]. Means over as many
 * values of each sample have the same. axes is not 0. */
fg_tensor fgi_row_denominator(fg_tensor a, unsigned axes);
/* Notes by which sum of weights a mean of rank 0 was divided, up to a factor that no batch changes;
 * returns the mean. */
fg_tensor fgi_set_denominator(fg_tensor mean, fg_tensor weight);

/* Mean and biased variance of each channel of x T[..., C] (f32 or f64), which has n values in each:
 * T[C]. `shift` T[C] is near the mean, so that little is lost to rounding (mean_variance.c). */
void fgi_mean_variance(fg_tensor x, fg_tensor shift, fg_tensor n, fg_tensor *out_mean,
                       fg_tensor *out_var);
/* f32[n], n depending on a's shape and the platform: all zeros where all elements of a are finite,
 * else not (nonfinite.c). */
fg_tensor fgi_nonfinite(fg_tensor a);

static inline bool fgi_is_half(fg_dtype dtype) { return dtype == FG_BF16 || dtype == FG_F16; }

/* Number formats under the trace's precision (upcast.c). The operand of a product or a convolution
 * in the format that those compute in. */
fg_tensor fgi_for_matmul(fg_tensor a);
/* f32 for bf16 and f16: for sums, softmax and losses. */
fg_tensor fgi_upcast(fg_tensor a);
/* What was computed so, in a's format again; under a precision it stays wide. */
fg_tensor fgi_cast_back(fg_tensor wide, fg_tensor a);
/* Under a precision, two floating operands in the wider of their formats. */
void fgi_upcast_both(fg_tensor *a, fg_tensor *b);

/* f32 to bf16, up or down with the probability that keeps the mean; what is not finite is rounded
 * to nearest (rounding.c). Draws from the trace's randomness. */
fg_tensor fgi_round_stochastic(fg_tensor a);

/* Places that n elements take up which stand `dilation` apart; half of INT64_MAX where that is
 * less, which is larger than any image. */
static inline int64_t fgi_extent(int64_t n, int64_t dilation)
{
    int64_t places;
    if (n <= 0)
        return 0;
    if (__builtin_mul_overflow(n - 1, dilation, &places) || places >= INT64_MAX / 2)
        return INT64_MAX / 2;
    return places + 1;
}

#endif
