/* ops.h - operations on tensors.
 *
 * These rules apply to every operation:
 *   - T is any floating dtype (f32, bf16, f16, f64) unless stated otherwise. Operands with the same
 *     letter must have the same dtype: there are no implicit conversions.
 *   - Binary arithmetic, comparisons and fg_where broadcast their operands as NumPy does: shapes
 *     are aligned at the last dimension, and dimensions of size 1 are repeated.
 *   - Axes start at 0; negative axes count from the end. An options pointer may be NULL; a field
 *     that is 0 has the default given in [].
 *   - Errors (FG_ESHAPE, FG_EDTYPE, FG_EINVAL) are kept in the trace with the file and line of the
 *     call; the operation then returns the trace's poison value.
 *   - All floating operands are differentiable unless stated otherwise.
 *   - In batches with padding rows, reductions count valid rows only ("batches with padding rows").
 *   - Owner thread of the trace only.
 * Source of the semantics: StableHLO specification, the operation of the same name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_H
#define FULGURITE_OPS_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- constants ------------------------------------------------------------------------------- */

/* A tensor filled with one value: fg_full(trace, FG_F32, 0.5, FG_DIMS(2, 3)). value is rounded to a
 * floating dtype; an integer dtype or bool must represent it exactly. */
FG_API fg_tensor fg_full(fg_trace *trace, fg_dtype dtype, double value, int rank,
                         const int64_t *dim);
FG_API fg_tensor fg_zeros(fg_trace *trace, fg_dtype dtype, int rank, const int64_t *dim);
FG_API fg_tensor fg_ones(fg_trace *trace, fg_dtype dtype, int rank, const int64_t *dim);
/* A constant with data from host memory, row-major, embedded in the program. Use it for small
 * tables only (at most 64 KiB); for data that changes from step to step, use an input or a
 * variable. */
FG_API fg_tensor fg_constant(fg_trace *trace, const fg_type *type, const void *data);
/* The index of each element along `axis`, in any arithmetic dtype. */
FG_API fg_tensor fg_iota(fg_trace *trace, fg_dtype dtype, int axis, int rank, const int64_t *dim);

/* ---- elementwise arithmetic ------------------------------------------------------------------ */

/* a + b, a - b, a * b, a / b; also for integers (fg_div truncates). Gradients are summed over
 * broadcast dimensions. */
FG_API fg_tensor fg_add(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_sub(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_mul(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_div(fg_tensor a, fg_tensor b);
/* Elementwise maximum and minimum. If both are equal, each receives half of the gradient, as in
 * PyTorch. */
FG_API fg_tensor fg_maximum(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_minimum(fg_tensor a, fg_tensor b);
/* a to the power of b; T only. The gradient with respect to b uses log(a) where a > 0 and is 0
 * elsewhere. */
FG_API fg_tensor fg_pow(fg_tensor a, fg_tensor b);

/* a * factor and a + term with a host number that becomes part of the program, as in fg_full. */
FG_API fg_tensor fg_mul_scalar(fg_tensor a, double factor);
FG_API fg_tensor fg_add_scalar(fg_tensor a, double term);

FG_API fg_tensor fg_neg(fg_tensor a);  /* also for integers */
FG_API fg_tensor fg_abs(fg_tensor a);  /* also for signed integers; gradient 0 at 0 */
FG_API fg_tensor fg_sign(fg_tensor a); /* also for signed integers; no gradient */
FG_API fg_tensor fg_exp(fg_tensor a);
FG_API fg_tensor fg_log(fg_tensor a);
FG_API fg_tensor fg_log1p(fg_tensor a); /* log(1 + a), accurate near 0 */
FG_API fg_tensor fg_sqrt(fg_tensor a);
FG_API fg_tensor fg_rsqrt(fg_tensor a);
FG_API fg_tensor fg_sin(fg_tensor a);
FG_API fg_tensor fg_cos(fg_tensor a);
FG_API fg_tensor fg_tanh(fg_tensor a);
FG_API fg_tensor fg_sigmoid(fg_tensor a); /* 1 / (1 + exp(-a)) */
FG_API fg_tensor fg_floor(fg_tensor a);   /* no gradient */
FG_API fg_tensor fg_relu(fg_tensor a);    /* max(a, 0); gradient 0 at 0 */
FG_API fg_tensor fg_square(fg_tensor a);
/* True where a is finite: bool, no gradient. */
FG_API fg_tensor fg_is_finite(fg_tensor a);

/* Converts a to another dtype. Floats are truncated to integers; bool is a != 0. Differentiable
 * between floating dtypes: the gradient is cast back. */
FG_API fg_tensor fg_cast(fg_tensor a, fg_dtype dtype);
/* Returns a and blocks its gradient. */
FG_API fg_tensor fg_stop_gradient(fg_tensor a);

/* ---- comparison and selection ---------------------------------------------------------------- */

/* Comparisons, for every dtype, with bool results; false where an operand is NaN (fg_ne: true). No
 * gradient. */
FG_API fg_tensor fg_eq(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_ne(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_lt(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_le(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_gt(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_ge(fg_tensor a, fg_tensor b);
/* Logical operations on bool, bitwise ones on integers. */
FG_API fg_tensor fg_and(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_or(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_not(fg_tensor a);
/* Selects a where condition is true, else b: bool, T, T -> T, for any dtype. */
FG_API fg_tensor fg_where(fg_tensor condition, fg_tensor a, fg_tensor b);

/* ---- shapes; any dtype ----------------------------------------------------------------------- */

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

/* ---- reductions ------------------------------------------------------------------------------ */

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

/* ---- matrix multiplication, convolution and pooling -------------------------------------------
 */

/* Matrix multiplication over the last two dimensions; the leading dimensions must be equal and are
 * batch dimensions. T[..., m, k] x T[..., k, n] -> T[..., m, n] */
FG_API fg_tensor fg_matmul(fg_tensor a, fg_tensor b);

/* General contraction (StableHLO "dot_general"). The result has the batch dimensions, then the
 * remaining dimensions of a, then those of b. The arrays contain corresponding axes of a and b. */
typedef struct fg_dot_options {
    int batch_count;
    int a_batch[FG_MAX_RANK], b_batch[FG_MAX_RANK];
    int contract_count;
    int a_contract[FG_MAX_RANK], b_contract[FG_MAX_RANK];
    fg_dtype
        result; /* accumulation and result dtype; may be f32 for bf16 and f16 [the operands'] */
    uint64_t reserved[2]; /* must be 0 */
} fg_dot_options;
FG_API fg_tensor fg_dot(fg_tensor a, fg_tensor b, const fg_dot_options *options);

/* 2-D convolution (cross-correlation), channels last.
 *
 *   x        T[N, H, W, Cin]
 *   kernel   T[kh, kw, Cin/groups, Cout]
 *   returns  T[N, H', W', Cout]     H' = floor((H + 2 pad - dilation (kh - 1) - 1)/stride) + 1
 *
 * Source: StableHLO specification, "convolution". */
typedef struct fg_conv2d_options {
    int64_t stride;   /* in pixels                            [1] */
    int64_t pad;      /* padding on each side, in pixels      [0] */
    int64_t dilation; /* distance of kernel elements          [1] */
    int64_t groups;   /* must divide Cin and Cout             [1] */
    uint64_t reserved[2];
} fg_conv2d_options;
FG_API fg_tensor fg_conv2d(fg_tensor x, fg_tensor kernel, const fg_conv2d_options *options);

/* Pooling of T[N, H, W, C] over windows of size x size: T[N, H', W', C] with
 * H' = floor((H + 2 pad - size)/stride) + 1.
 *   - fg_max_pool: the first of equal elements of a window, in row-major order, receives the
 *     gradient. Whether NaN is propagated or ignored depends on the platform.
 *   - fg_avg_pool divides by size * size, including padding, as PyTorch does by default. */
typedef struct fg_pool_options {
    int64_t size;   /* window size in pixels            [2]    */
    int64_t stride; /* in pixels                        [size] */
    int64_t pad;    /* padding on each side, in pixels  [0]    */
    uint64_t reserved[2];
} fg_pool_options;
FG_API fg_tensor fg_max_pool(fg_tensor x, const fg_pool_options *options);
FG_API fg_tensor fg_avg_pool(fg_tensor x, const fg_pool_options *options);
/* Global average pooling, the mean over H and W: T[N, H, W, C] -> T[N, C]. */
FG_API fg_tensor fg_global_avg_pool(fg_tensor x);

/* ---- indices --------------------------------------------------------------------------------- */

/* One-hot encoding: s32[...] -> dtype[..., depth]. An index out of range is encoded as all zeros.
 */
FG_API fg_tensor fg_one_hot(fg_tensor index, int64_t depth, fg_dtype dtype);

/* ---- randomness ------------------------------------------------------------------------------ */

/* Counter-based random bits: u32 of the given shape, a function of the trace's (seed, step), of the
 * position of this call among the trace's random calls, and of the element's index. No gradient.
 * Source: Salmon et al. 2011, Threefry-2x32 with 20 rounds. */
FG_API fg_tensor fg_random_bits(fg_trace *trace, int rank, const int64_t *dim);
/* Uniform random numbers in [0, 1), multiples of 2^-24: f32. */
FG_API fg_tensor fg_random_uniform(fg_trace *trace, int rank, const int64_t *dim);
/* Dropout. In training, sets each element to 0 with probability rate, 0 <= rate < 1, and scales the
 * others by 1/(1 - rate); otherwise the identity. Source: Srivastava et al. 2014, "Dropout". */
FG_API fg_tensor fg_dropout(fg_tensor a, double rate);

/* ---- batches with padding rows --------------------------------------------------------------- */

/* The last batch of an epoch is filled up with padding rows, so that all batches have the same
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

/* ---- losses and metrics ---------------------------------------------------------------------- */

/* Every loss is a mean over valid rows and records the sum of weights that it was divided by. The
 * Trainer weights the losses of different batches by that sum (fg_step_log,
 * accumulate_grad_batches). */

/* Weighted mean over all elements, sum(weight * value) / sum(weight): for sample or token weights,
 * and, with a bool weight, for masks. Where the weight is 0, the value is ignored and may be NaN.
 *   value    T[...]      weight   bool or floating; broadcasts to value's shape
 *   returns  f32[], f64[] for f64; NaN if all weights are 0 */
FG_API fg_tensor fg_weighted_mean(fg_tensor value, fg_tensor weight);

/* Cross-entropy loss: -log softmax(logits)[label], averaged over all valid positions: sum(w * loss)
 * / sum(w). logits   T[B, ..., C]      label   s32[B, ...]      returns f32[], f64[] for f64
 *
 * A sample has one position, [B, C], or many, such as [B, T, C] for tokens and [B, H, W, C] for
 * pixels. A label from 0 to C - 1 is a class index. Positions whose label is ignore_index, if
 * given, are ignored; any other label makes the loss and its gradient NaN. A logit of -infinity
 * excludes a class. Computed in f32 or f64. Source: PyTorch, "CrossEntropyLoss", with reduction
 * "mean". */
typedef struct fg_cross_entropy_options {
    double label_smoothing; /* weight of the uniform distribution in the target, 0 to 1     [0] */
    int64_t ignore_index;   /* label of positions to ignore, such as PyTorch's -100      [none] */
    bool has_ignore_index;  /* use ignore_index even if it is 0                         [false] */
    fg_tensor class_weight; /* T[C], weight of each class                            [none: 1] */
    fg_tensor weight;       /* weight of each position: floating or bool, broadcasts to label's
                               shape                                                 [none: 1] */
    uint64_t reserved[2];
} fg_cross_entropy_options;
FG_API fg_tensor fg_cross_entropy(fg_tensor logits, fg_tensor label,
                                  const fg_cross_entropy_options *options);
/* Mean squared error, the mean of (a - b)^2 over all elements: T[B, ...], same shape -> f32[],
 * f64[] for f64. With weights: fg_weighted_mean(fg_square(fg_sub(a, b)), weight). */
FG_API fg_tensor fg_mse(fg_tensor a, fg_tensor b);
/* 1 where the largest logit is that of the label, else 0: T[B, ..., C], s32[B, ...] -> f32[B, ...].
 * It is not averaged: log it directly, or, if labels are ignored, with weights
 * (fg_step_log_weighted). No gradient. */
FG_API fg_tensor fg_accuracy(fg_tensor logits, fg_tensor label);

#ifdef __cplusplus
}
#endif
#endif
