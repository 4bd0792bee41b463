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
/* Mean absolute error, the mean of |a - b|, with the same types. Gradient 0 where a = b. Source:
 * PyTorch, "L1Loss". */
FG_API fg_tensor fg_l1(fg_tensor a, fg_tensor b);
/* Huber loss, the mean of d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), for d = a - b,
 * with the same types; delta > 0. The smooth L1 loss is fg_huber(a, b, beta) / beta. Source: Huber
 * 1964, "Robust estimation of a location parameter"; PyTorch, "HuberLoss". */
FG_API fg_tensor fg_huber(fg_tensor a, fg_tensor b, double delta);
#define FG_MAX_QUANTILES 64
/* Quantile (pinball) loss for predictions of `count` quantiles, each above 0 and below 1: the mean
 * over all elements of max(q d, (q - 1) d), for d = target - prediction of the quantile q.
 *   prediction   T[B, count], or T[B] for one quantile      target   T[B]
 *   returns      f32[], f64[] for f64
 * Source: Koenker and Bassett 1978, "Regression quantiles"; scikit-learn, "mean_pinball_loss". */
FG_API fg_tensor fg_quantile_loss(fg_tensor prediction, fg_tensor target, const double *quantiles,
                                  int count);

/* Binary cross-entropy of sigmoid(logits), the loss for several labels per sample: the mean over
 * all elements of (-pos_weight t log p - (1 - t) log(1 - p)), for p = sigmoid(logits).
 *   logits, target   T[B, ...]; the target is floating-point, bool or u8, from 0 to 1
 *   returns          f32[], f64[] for f64
 * Computed from the logits, so it is finite for any finite logit. opt may be NULL. Gradient: also
 * to a floating-point target. Source: PyTorch, "BCEWithLogitsLoss". */
typedef struct fg_bce_options {
    fg_tensor pos_weight;   /* of targets of 1: floating, broadcasts to logits' shape, such as T[C];
                             above 1, it raises recall                             [none: 1] */
    double label_smoothing; /* mixes 1/2 into the target with this weight, 0 to 1       [0] */
    uint64_t reserved[2];
} fg_bce_options;
FG_API fg_tensor fg_bce_with_logits(fg_tensor logits, fg_tensor target, const fg_bce_options *opt);

/* Focal loss: the cross-entropy of softmax(logits) in which the class c has the factor
 * (1 - softmax(logits)[c])^gamma, so that samples that are classified well have little weight;
 * averaged over positions.
 *   logits   T[B, ..., C]      label   s32[B, ...], or probabilities T[B, ..., C]
 *   returns  f32[], f64[] for f64
 * Labels that are not class indices make the loss and its gradient NaN. opt may be NULL. Source:
 * Lin et al. 2017, "Focal loss for dense object detection". */
typedef struct fg_focal_options {
    double gamma;           /* FG_ZERO (cross-entropy), or at least 1                       [2] */
    fg_tensor class_weight; /* T[C], factor of each class                             [none: 1] */
    uint64_t reserved[2];
} fg_focal_options;
FG_API fg_tensor fg_focal_loss(fg_tensor logits, fg_tensor label, const fg_focal_options *opt);
/* The same for several labels per sample, with p = sigmoid(logits): the binary cross-entropy of
 * each element, of fg_bce_with_logits, times |target - p|^gamma, averaged over all elements. Types
 * are those of fg_bce_with_logits. opt may be NULL. Source: torchvision, "sigmoid_focal_loss". */
typedef struct fg_sigmoid_focal_options {
    double gamma; /* FG_ZERO (binary cross-entropy), or at least 1                          [2] */
    double alpha; /* factor of targets of 1, and 1 - alpha that of targets of 0       [none: 1] */
    uint64_t reserved[2];
} fg_sigmoid_focal_options;
FG_API fg_tensor fg_sigmoid_focal_loss(fg_tensor logits, fg_tensor target,
                                       const fg_sigmoid_focal_options *opt);

/* Kullback-Leibler divergence of the distribution softmax(logits) from the target distribution: the
 * mean over positions of sum over classes of t (log t - log softmax(logits)), where 0 log 0 is 0.
 *   logits, target   T[B, ..., C]; the target's rows are probabilities
 *   returns          f32[], f64[] for f64; 0 if the distributions are equal
 * Gradient: to the logits and the target. Source: PyTorch, "KLDivLoss" with reduction "batchmean",
 * of log_softmax(logits). */
FG_API fg_tensor fg_kl_div(fg_tensor logits, fg_tensor target);
/* 1 where the largest logit is that of the label, else 0: T[B, ..., C], s32[B, ...] -> f32[B, ...].
 * It is not averaged: log it directly, or, if labels are ignored, with weights
 * (fg_step_log_weighted). No gradient. */
FG_API fg_tensor fg_accuracy(fg_tensor logits, fg_tensor label);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_weighted_mean(...)      FG_HERE(fg_weighted_mean(__VA_ARGS__))
#define fg_cross_entropy(...)      FG_HERE(fg_cross_entropy(__VA_ARGS__))
#define fg_mse(...)                FG_HERE(fg_mse(__VA_ARGS__))
#define fg_l1(...)                 FG_HERE(fg_l1(__VA_ARGS__))
#define fg_huber(...)              FG_HERE(fg_huber(__VA_ARGS__))
#define fg_quantile_loss(...)      FG_HERE(fg_quantile_loss(__VA_ARGS__))
#define fg_bce_with_logits(...)    FG_HERE(fg_bce_with_logits(__VA_ARGS__))
#define fg_focal_loss(...)         FG_HERE(fg_focal_loss(__VA_ARGS__))
#define fg_sigmoid_focal_loss(...) FG_HERE(fg_sigmoid_focal_loss(__VA_ARGS__))
#define fg_kl_div(...)             FG_HERE(fg_kl_div(__VA_ARGS__))
#define fg_accuracy(...)           FG_HERE(fg_accuracy(__VA_ARGS__))
#endif
#endif
