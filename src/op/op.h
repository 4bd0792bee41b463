/* op.h - shared by the files of this folder: broadcasting, axis lists, type checks.
 *
 * Each file contains one family of operations: shape rule, lowering and gradient in a constant
 * fgi_op, and the public function that applies it. Composite operations have no fgi_op: their
 * gradient follows from their parts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_OP_H
#define FGI_OP_OP_H

#include <fulgurite/ops.h>
#include "trace/graph.h"

/* Broadcasts both to a common shape. Leaves both unchanged if they are not compatible, which the
 * operation's shape rule then reports, or after an error. */
void fgi_broadcast_both(fg_tensor *a, fg_tensor *b);
/* The common shape of two types under NumPy's rules; false if there is none. */
bool fgi_broadcast_shape(const fg_type *a, const fg_type *b, fg_type *out);
/* Whether the type is valid; otherwise keeps an error that names `op`. */
bool fgi_check_type(fg_trace *trace, const char *op, fg_dtype dtype, int rank, const int64_t *dim);
/* A constant with the dtype and shape of `like`. */
fg_tensor fgi_full_like(fg_tensor like, double value);
/* a + b. Gradients of adjacent slices of one value, each padded with zeros, are concatenated
 * instead of added (adjoin.c). */
fg_tensor fgi_add_derivatives(fg_tensor a, fg_tensor b);
fg_tensor fgi_reshape_to(fg_tensor a, const fg_type *type);
bool fgi_same_shape(const fg_type *a, const fg_type *b);
/* Sizes, strides and padding of windows must be below this, so that sums of them fit int64_t. */
enum { FGI_LARGEST_WINDOW = 1 << 30 };
/* Checks the axes and makes them nonnegative; all axes if count is 0. Returns the number of axes,
 * or -1 after keeping an error. out has room for FG_MAX_RANK. */
int fgi_axes(fg_tensor a, const char *op, int count, const int *axis, int *out);
/* a, whose axes were reduced, broadcast along them to `type`. */
fg_tensor fgi_expand(fg_tensor a, int axis_count, const int *axis, const fg_type *type);

/* Operations that lowerings of others recognize; relu's gradient: (y, dy) -> dx (elementwise.c) */
extern const fgi_op fgi_add_op, fgi_cast_op, fgi_relu_op, fgi_relu_dx_op;

/* How a result depends on its operands, which determines whether properties of a mean apply to it.
 */
typedef enum fgi_linearity {
    FGI_NOT_LINEAR,
    FGI_LINEAR,         /* in all operands together: sums, casts, moves */
    FGI_BILINEAR,       /* in each operand: a product                   */
    FGI_LINEAR_IN_FIRST /* a quotient                                   */
} fgi_linearity;
fgi_linearity fgi_linearity_of(const fgi_op *op);

/* Padding rows (padding.c). a with these rows and no others; NULL: none. */
fg_tensor fgi_with_rows(fg_tensor a, const fgi_rows *rows);
/* a, with dimension 0 as the batch axis if a mask is set and no rows are known for a: for losses
 * and layers, whose operands are batches. */
fg_tensor fgi_batch_first(fg_tensor a);
/* The axes along which a has rows, one bit each. */
unsigned fgi_row_axes(fg_tensor a, int count, const int *axis);
/* a with padding rows replaced by `fill` along these axes, which then no longer have rows. In
 * gradients a itself, because these elements are already 0. */
fg_tensor fgi_mask_rows(fg_tensor a, unsigned axes, double fill);
/* Which elements are valid along axes with rows, of which there is at least one: bool with a's
 * shape. */
fg_tensor fgi_valid_elements(fg_tensor a, unsigned axes);
/* Whether a is such a value; then which elements were not replaced: bool with a's shape. */
bool fgi_masked_by(fg_tensor a, fg_tensor *out_valid);
/* Number of valid elements of a along these axes: dtype[]. */
fg_tensor fgi_count_valid(fg_tensor a, int count, const int *axis, fg_dtype dtype);
/* The same up to a constant factor, and without a factor for axes without rows: f32[]. Means over
 * the same number of values per sample have the same one. axes is not 0. */
fg_tensor fgi_row_denominator(fg_tensor a, unsigned axes);
/* Records the sum of weights that a mean of rank 0 was divided by, up to a factor that is the same
 * for all batches; returns the mean. */
fg_tensor fgi_set_denominator(fg_tensor mean, fg_tensor weight);

/* Mean and biased variance of each channel of x T[..., C] (f32 or f64), with n valid values per
 * channel: T[C]. `shift` T[C] is close to the mean, to reduce rounding errors (mean_variance.c). */
void fgi_mean_variance(fg_tensor x, fg_tensor shift, fg_tensor n, fg_tensor *out_mean,
                       fg_tensor *out_var);
/* x with variance 1, and mean 0 if has_mean, over one or two axes, in f32, or f64 for f64;
 * y * weight + bias, either of which may be empty (layer_norm.c). */
fg_tensor fgi_norm_over(fg_tensor x, int count, const int *axis, bool has_mean, double eps);
fg_tensor fgi_scale_and_shift(fg_tensor y, fg_tensor weight, fg_tensor bias);
/* Batch norm in training (normalization.c): these inputs -> y like x. The derivative by x includes
 * that through mean and rstd, by which there is none. */
enum {
    FGI_BATCH_NORM_X, /* T[N, ..., C]; the next four are vectors in the dtype of the statistics */
    FGI_BATCH_NORM_WEIGHT, /* f32[C]; f64[C] for f64, and so on */
    FGI_BATCH_NORM_BIAS,
    FGI_BATCH_NORM_MEAN,
    FGI_BATCH_NORM_RSTD,  /* 1 / sqrt(variance + eps) */
    FGI_BATCH_NORM_COUNT, /* valid values of a channel: f32[] */
    FGI_BATCH_NORM_INPUTS
};
fg_tensor fgi_normalize_batch(const fg_tensor *in);
/* The value alone, for x in the dtype of the statistics. */
fg_tensor fgi_batch_norm_value(const fg_tensor *in);
/* The derivatives by x, weight and bias, in the dtype of the statistics. */
void fgi_normalize_batch_dx(const fg_tensor *in, fg_tensor dy, fg_tensor *din);
/* f32[]: 0 if and only if all elements of these tensors, at least one, are finite (nonfinite.c). */
fg_tensor fgi_nonfinite(const fg_tensor *list, size_t count);
/* Adam's update of parameters p with moments m and s and gradient g, all of one type, f32 or f64.
 * The other operands are numbers of that dtype (adam_update.c). */
typedef struct fgi_adam_operands {
    fg_tensor p, m, s, g;
    fg_tensor rest, beta2, rest2; /* 1 - beta1, beta2, 1 - beta2 */
    fg_tensor widen, eps, rate;   /* 1 / sqrt(1 - beta2^t), epsilon, lr / (1 - beta1^t) */
    fg_tensor penalty, keep;      /* g + penalty p; keep p; empty: neither */
    fg_tensor after; /* any number that depends on all gradients: where p is updated in place, this
                        is not done before the gradients have been computed from it; empty: none */
} fgi_adam_operands;
typedef struct fgi_adam_results {
    fg_tensor p, m, s;
} fgi_adam_results;
void fgi_adam_update(const fgi_adam_operands *list, int count, fgi_adam_results *out);
/* Parts of it, without p, rate, penalty and keep: the new moments; the denominator. */
void fgi_adam_moments(const fgi_adam_operands *on, fg_tensor g, fg_tensor *out_m, fg_tensor *out_s);
fg_tensor fgi_adam_size(const fgi_adam_operands *on, fg_tensor s);

static inline bool fgi_is_half(fg_dtype dtype) { return dtype == FG_BF16 || dtype == FG_F16; }

/* Fails unless two operands have the same type (elementwise.c). */
bool fgi_infer_agree(fgi_infer *c);
/* False if a is poison, or, after keeping an error that names `op`, not floating-point
 * (elementwise.c). */
bool fgi_expects_float(fg_tensor a, const char *op);

/* dtypes under the trace's precision (upcast.c). The operand of a matmul or a convolution in the
 * dtype that these compute in. */
fg_tensor fgi_for_matmul(fg_tensor a);
/* f32 for bf16 and f16: for sums, softmax and losses. */
fg_tensor fgi_upcast(fg_tensor a);
/* The same after the rounding of a matmul's operands, which TPUs round to bf16 (operand.c). */
fg_tensor fgi_as_operand(fg_tensor a);
/* A result of that, in a's dtype again; under a precision it stays wide. */
fg_tensor fgi_cast_back(fg_tensor wide, fg_tensor a);
/* Under a precision, two floating operands in the wider of their dtypes. */
void fgi_upcast_both(fg_tensor *a, fg_tensor *b);

/* f32 to bf16 with stochastic rounding; values that are not finite are rounded to nearest
 * (rounding.c). Uses the trace's random numbers. */
fg_tensor fgi_round_stochastic(fg_tensor a);

/* Size that n elements occupy if they are `dilation` apart; at most half of INT64_MAX, which is
 * larger than any image. */
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
