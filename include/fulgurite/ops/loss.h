/* loss.h - losses and metrics.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_LOSS_H
#define FULGURITE_OPS_LOSS_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every loss is a mean over valid rows and records the sum of weights that it was divided by. The
 * Trainer weights the losses of different batches by that sum (fg_step_log,
 * accumulate_grad_batches). */

/* Weighted mean over all elements, sum(weight * value) / sum(weight): for sample or token weights,
 * and, with a bool weight, for masks. Where the weight is 0, the value is ignored and may be NaN.
 *   value    T[...]      weight   bool or floating; broadcasts to value's shape
 *   returns  f32[], f64[] for f64; NaN if all weights are 0 */
FG_API fg_tensor fg_weighted_mean(fg_tensor value, fg_tensor weight);

/* Cross-entropy loss: -log softmax(logits)[label], averaged over all valid positions,
 * sum(w * loss) / sum(w).
 *   logits   T[B, ..., C]      label   s32[B, ...]
 *   returns  f32[], f64[] for f64
 *
 * A sample has one position, [B, C], or many, such as [B, T, C] for tokens and [B, H, W, C] for
 * pixels. A label from 0 to C - 1 is a class index. Positions whose label is ignore_index, if
 * given, are ignored; any other label makes the loss and its gradient NaN. A logit of -infinity
 * excludes a class. Computed in f32 or f64.
 *
 * In place of labels, target probabilities t: T[B, ..., C], like logits, such as those of mixed
 * samples (aug.h): -sum over classes of class_weight t log softmax(logits), averaged over positions
 * by `weight` only. There is no ignore_index then. Gradient: also to t. Source: PyTorch,
 * "CrossEntropyLoss", with reduction "mean". */
typedef struct fg_cross_entropy_options {
    double label_smoothing; /* weight of the uniform distribution in the target, 0 to 1     [0] */
    int64_t ignore_index;   /* label of positions to ignore, such as PyTorch's -100;
                               FG_NONE: label 0                                      [none] */
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

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_weighted_mean(...) FG_HERE(fg_weighted_mean(__VA_ARGS__))
#define fg_cross_entropy(...) FG_HERE(fg_cross_entropy(__VA_ARGS__))
#define fg_mse(...)           FG_HERE(fg_mse(__VA_ARGS__))
#define fg_accuracy(...)      FG_HERE(fg_accuracy(__VA_ARGS__))
#endif
#endif
