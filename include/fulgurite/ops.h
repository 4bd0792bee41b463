/* ops.h - operations on tensors.
 *
 * Rules that hold for every operation, so that the comments below need not repeat them:
 *   - T is any floating dtype (f32, bf16, f16, f64) unless said otherwise; operands that share a
 *     letter have one dtype: nothing is converted silently.
 *   - Two-operand arithmetic, comparison and fg_where broadcast their operands as NumPy does:
 *     shapes are aligned at the end, and a dimension of 1 is repeated.
 *   - Axes count from 0; negative ones from the end. An options pointer may be NULL; a field left 0
 *     takes the default in [].
 *   - Errors (FG_ESHAPE, FG_EDTYPE, FG_EINVAL) are kept in the trace with the user's line; the
 *     result is then the trace's poison value.
 *   - Gradients flow to every floating operand unless said otherwise.
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

/* One value everywhere: fg_full(trace, FG_F32, 0.5, FG_DIMS(2, 3)). value is rounded to a floating
 * dtype; integers and bool must hold it exactly. */
FG_API fg_tensor fg_full(fg_trace *trace, fg_dtype dtype, double value, int rank,
                         const int64_t *dim);
FG_API fg_tensor fg_zeros(fg_trace *trace, fg_dtype dtype, int rank, const int64_t *dim);
FG_API fg_tensor fg_ones(fg_trace *trace, fg_dtype dtype, int rank, const int64_t *dim);
/* Numbers from the host, row-major, written into the program: for small tables only (at most
 * 64 KiB); what changes from step to step is an input or a variable. */
FG_API fg_tensor fg_constant(fg_trace *trace, const fg_type *type, const void *data);
/* Each element's index along `axis`, in any arithmetic dtype. */
FG_API fg_tensor fg_iota(fg_trace *trace, fg_dtype dtype, int axis, int rank, const int64_t *dim);

/* ---- arithmetic, element by element ---------------------------------------------------------- */

/* a op b; also for integers (fg_div truncates there). Gradients are summed over what was
 * broadcast. */
FG_API fg_tensor fg_add(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_sub(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_mul(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_div(fg_tensor a, fg_tensor b);
/* The larger and the smaller; at equality the gradient is halved between both, as PyTorch does. */
FG_API fg_tensor fg_maximum(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_minimum(fg_tensor a, fg_tensor b);
/* a to the power b; T only. The gradient by b uses log(a) where a > 0 and is 0 elsewhere. */
FG_API fg_tensor fg_pow(fg_tensor a, fg_tensor b);

/* a * factor and a + term by a host number that becomes part of the program, as in fg_full. */
FG_API fg_tensor fg_mul_scalar(fg_tensor a, double factor);
FG_API fg_tensor fg_add_scalar(fg_tensor a, double term);

FG_API fg_tensor fg_neg(fg_tensor a);  /* also for integers */
FG_API fg_tensor fg_abs(fg_tensor a);  /* also for signed integers; gradient 0 at 0 */
FG_API fg_tensor fg_sign(fg_tensor a); /* also for signed integers; no gradient */
FG_API fg_tensor fg_exp(fg_tensor a);
FG_API fg_tensor fg_log(fg_tensor a);
FG_API fg_tensor fg_log1p(fg_tensor a); /* log(1 + a), exact near 0 */
FG_API fg_tensor fg_sqrt(fg_tensor a);
FG_API fg_tensor fg_rsqrt(fg_tensor a);
FG_API fg_tensor fg_sin(fg_tensor a);
FG_API fg_tensor fg_cos(fg_tensor a);
FG_API fg_tensor fg_tanh(fg_tensor a);
FG_API fg_tensor fg_sigmoid(fg_tensor a); /* 1 / (1 + exp(-a)) */
FG_API fg_tensor fg_floor(fg_tensor a);   /* no gradient */
FG_API fg_tensor fg_relu(fg_tensor a);    /* max(a, 0); gradient 0 at 0 */
FG_API fg_tensor fg_square(fg_tensor a);
/* 1 where finite: bool, no gradient. */
FG_API fg_tensor fg_is_finite(fg_tensor a);

/* a in another dtype; floats to integers truncate, to bool compare with 0. Gradient: the cast
 * back, between floating dtypes. */
FG_API fg_tensor fg_cast(fg_tensor a, fg_dtype dtype);
/* The value, through which no gradient flows. */
FG_API fg_tensor fg_stop_gradient(fg_tensor a);

/* ---- comparing and choosing ------------------------------------------------------------------ */

/* bool results, for every dtype; false where an operand is NaN (fg_ne: true). No gradient. */
FG_API fg_tensor fg_eq(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_ne(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_lt(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_le(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_gt(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_ge(fg_tensor a, fg_tensor b);
/* bool, bool -> bool; bitwise for integers. */
FG_API fg_tensor fg_and(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_or(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_not(fg_tensor a);
/* where(condition, a, b): bool, T, T -> T, any dtype. */
FG_API fg_tensor fg_where(fg_tensor condition, fg_tensor a, fg_tensor b);

/* ---- shapes; any dtype ----------------------------------------------------------------------- */

/* Same elements in row-major order; one dimension may be -1 and is then computed. */
FG_API fg_tensor fg_reshape(fg_tensor a, int rank, const int64_t *dim);
/* Keeps the dimensions before `axis` and makes one of the rest: f32[B,28,28] at 1 -> f32[B,784]. */
FG_API fg_tensor fg_flatten(fg_tensor a, int axis);
/* Dimension i of the result is dimension axis[i] of a; axis has as many entries as a has ranks. */
FG_API fg_tensor fg_permute(fg_tensor a, const int *axis);
/* Swaps the last two dimensions; wants rank >= 2. */
FG_API fg_tensor fg_transpose(fg_tensor a);
/* Repeats dimensions of 1 and adds dimensions in front, as NumPy's broadcast_to. */
FG_API fg_tensor fg_broadcast_to(fg_tensor a, int rank, const int64_t *dim);
/* Elements start, start + stride, ... below limit of each dimension; stride may be NULL (all 1). */
FG_API fg_tensor fg_slice(fg_tensor a, const int64_t *start, const int64_t *limit,
                          const int64_t *stride);
/* Adds low[i] elements before, high[i] after and interior[i] between those of dimension i, all
 * equal to value; low and high may be negative and then cut. interior may be NULL (all 0). */
FG_API fg_tensor fg_pad(fg_tensor a, double value, const int64_t *low, const int64_t *high,
                        const int64_t *interior);
/* Joins 1 to 64 tensors along an axis; other dimensions agree. */
FG_API fg_tensor fg_concat(const fg_tensor *in, int count, int axis);
/* Reverses the order along the axes. */
FG_API fg_tensor fg_reverse(fg_tensor a, int axis_count, const int *axis);

/* ---- reductions ------------------------------------------------------------------------------ */

/* Over the axes given, which vanish; axis_count 0 means over all. Sum and max also for integers.
 * The gradient of max goes to the elements equal to it, in equal parts. f16 and bf16 sums are
 * computed in f32. The max of numbers among which is a NaN may be either, by platform. */
FG_API fg_tensor fg_sum(fg_tensor a, int axis_count, const int *axis);
FG_API fg_tensor fg_mean(fg_tensor a, int axis_count, const int *axis);
FG_API fg_tensor fg_max(fg_tensor a, int axis_count, const int *axis);
/* log(sum(exp(a))) over the last axis, without overflow. Where all elements are -infinity it is
 * -infinity, with gradient 0 (PyTorch's gradient is NaN there). */
FG_API fg_tensor fg_logsumexp(fg_tensor a);
/* Index of the largest element along the last axis, the first where several are equal: s32, always
 * within the axis. No gradient. */
FG_API fg_tensor fg_argmax(fg_tensor a);
/* Over the last axis. NaN where all elements are -infinity, as in PyTorch. */
FG_API fg_tensor fg_softmax(fg_tensor a);
FG_API fg_tensor fg_log_softmax(fg_tensor a);

/* ---- products -------------------------------------------------------------------------------- */

/* Matrix product over the last two dimensions; dimensions before them agree and are batches.
 *   T[..., m, k] x T[..., k, n] -> T[..., m, n] */
FG_API fg_tensor fg_matmul(fg_tensor a, fg_tensor b);

/* The general contraction that fg_matmul and layers are made of. Result: batch dimensions, then
 * a's free ones, then b's. Lists hold axes of a and of b, pair by pair. */
typedef struct fg_dot_options {
    int batch_count;
    int a_batch[FG_MAX_RANK], b_batch[FG_MAX_RANK];
    int contract_count;
    int a_contract[FG_MAX_RANK], b_contract[FG_MAX_RANK];
    fg_dtype
        result; /* f32 for bf16 and f16 operands: accumulated in and returned  [the operands'] */
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
    int64_t stride;   /* pixels               [1] */
    int64_t pad;      /* pixels, each side    [0] */
    int64_t dilation; /* pixels between taps  [1] */
    int64_t groups;   /* divides Cin and Cout [1] */
    uint64_t reserved[2];
} fg_conv2d_options;
FG_API fg_tensor fg_conv2d(fg_tensor x, fg_tensor kernel, const fg_conv2d_options *options);

/* Pooling of T[N, H, W, C] over windows of size x size: T[N, H', W', C] with
 * H' = floor((H + 2 pad - size)/stride) + 1.
 * max: the gradient goes to the first of equal elements of a window, in row-major order.
 * avg: every window counts size * size elements, padding included, as PyTorch does by default.
 * max may pass over NaNs, by platform. */
typedef struct fg_pool_options {
    int64_t size;   /* pixels               [2]    */
    int64_t stride; /* pixels               [size] */
    int64_t pad;    /* pixels, each side    [0]    */
    uint64_t reserved[2];
} fg_pool_options;
FG_API fg_tensor fg_max_pool(fg_tensor x, const fg_pool_options *options);
FG_API fg_tensor fg_avg_pool(fg_tensor x, const fg_pool_options *options);
/* Mean over H and W: T[N, H, W, C] -> T[N, C]. */
FG_API fg_tensor fg_global_avg_pool(fg_tensor x);

/* ---- indices --------------------------------------------------------------------------------- */

/* 1 at the index and 0 elsewhere: s32[...] -> dtype[..., depth]; an index outside gives zeros. */
FG_API fg_tensor fg_one_hot(fg_tensor index, int64_t depth, fg_dtype dtype);

/* ---- randomness ------------------------------------------------------------------------------ */

/* Counted random bits: u32 of the given shape, a function of the trace's (seed, step), of this
 * call's order among the trace's random calls and of the element's index. No gradient.
 * Source: Salmon et al. 2011, Threefry-2x32 with 20 rounds. */
FG_API fg_tensor fg_random_bits(fg_trace *trace, int rank, const int64_t *dim);
/* Uniform in [0, 1), multiples of 2^-24: f32. */
FG_API fg_tensor fg_random_uniform(fg_trace *trace, int rank, const int64_t *dim);
/* In training, drops each element with probability rate and scales the others by 1/(1 - rate);
 * otherwise the identity. 0 <= rate < 1.  Source: Srivastava et al. 2014, "Dropout". */
FG_API fg_tensor fg_dropout(fg_tensor a, double rate);

/* ---- batches with padding rows --------------------------------------------------------------- */

/* The last batch of an epoch is filled up with padding rows, so that every batch has one shape.
 * Under the trace's mask (fg_trace_set_mask; the Trainer sets it) operations keep track of the
 * batch axis, so that padding can't leak into results:
 *
 *   - fg_sum, fg_mean, fg_max, and what is made of them, count only valid rows along a batch
 *     axis; fg_mean divides by their number. So do fg_dot and fg_matmul where they contract over
 * it.
 *   - Other operations keep the batch axis or move it. It may be merged with other dimensions and
 *     split from them again ([B,T,C] to [B*T,C] and back), and a value may have several
 *     ([B,B] from x[B,C] times its transpose).
 *   - What would mix samples with padding rows in another way (reversing or cutting the batch axis,
 *     padding it, reshaping [B] to [B/2,2], storing one value a sample in a variable, ...) is an
 *     error, FG_EINVAL.
 *
 * Valid elements never depend on what padding rows contain, and gradients come from valid rows
 * alone, as long as the values computed from padding rows are finite: let padding rows repeat a
 * sample, as the loader does, rather than be zeros, whose logarithm is not. */

/* a, whose dimension `axis` is the batch axis: as long as the mask, B. The Trainer marks the fields
 * of its batches; own loops mark their inputs, after fg_trace_set_mask. Without a mask nothing is
 * marked. Where nothing was ever marked, losses and layers take dimension 0 for the batch axis.
 * Errors: FG_ESHAPE, FG_EINVAL. */
FG_API fg_tensor fg_batch_axis(fg_tensor a, int axis);

/* ---- losses and metrics ---------------------------------------------------------------------- */

/* Every loss is a mean over valid rows, and knows the sum of weights that it was divided by: the
 * Trainer weighs its losses of different batches by that (fg_step_log, accumulate_grad_batches). */

/* sum(weight * value) / sum(weight) over all elements: for weights of samples or tokens, and, with
 * a bool weight, for masks. Where the weight is 0 the value may be anything, also NaN.
 *   value    T[...]      weight   bool or floating; broadcasts to value's shape
 *   returns  f32[], f64[] for f64; NaN when all weights are 0 */
FG_API fg_tensor fg_weighted_mean(fg_tensor value, fg_tensor weight);

/* -log softmax(logits)[label], averaged over all positions that count: sum(w * loss) / sum(w).
 *   logits   T[B, ..., C]      label   s32[B, ...]      returns f32[], f64[] for f64
 *
 * One position a sample, [B, C], or many, as [B, T, C] for tokens and [B, H, W, C] for pixels. A
 * label from 0 to C - 1 is a class; the label ignore_index, if given, is left out; any other label
 * makes the loss and its gradient NaN. Logits of -infinity exclude a class. Computed in f32 or f64.
 * Source: PyTorch, "CrossEntropyLoss", with reduction "mean". */
typedef struct fg_cross_entropy_options {
    double label_smoothing; /* mixes the target with the uniform distribution: 0 to 1  [0] */
    int64_t ignore_index;   /* label whose positions don't count, such as PyTorch's -100  [none] */
    bool has_ignore_index;  /* ignore_index is meant even where it is 0                  [false] */
    fg_tensor class_weight; /* T[C], of each class                              [none: 1] */
    fg_tensor weight;       /* of each position: floating or bool, broadcasts to label's shape
                                                                                [none: 1] */
    uint64_t reserved[2];
} fg_cross_entropy_options;
FG_API fg_tensor fg_cross_entropy(fg_tensor logits, fg_tensor label,
                                  const fg_cross_entropy_options *options);
/* Mean over all elements of (a - b)^2: T[B, ...], same shape -> f32[], f64[] for f64. For weights:
 * fg_weighted_mean(fg_square(fg_sub(a, b)), weight). */
FG_API fg_tensor fg_mse(fg_tensor a, fg_tensor b);
/* 1 where the largest logit is the label's: T[B, ..., C], s32[B, ...] -> f32[B, ...]. Not averaged:
 * log it as it is, or, where labels are ignored, with weights (fg_step_log_weighted). No gradient.
 */
FG_API fg_tensor fg_accuracy(fg_tensor logits, fg_tensor label);

#ifdef __cplusplus
}
#endif
#endif
