/* task.h - tasks: how to build a model, and what one step computes.
 *
 * Each step function is called once for each batch shape, to be traced; after that, its program is
 * launched repeatedly. It must have no side effects; log any value you want to see.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_TASK_H
#define FULGURITE_TASK_H

#include <fulgurite/data.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>
#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A step while it is traced, and its batch. Both are only valid during the call of the step
 * function. */
typedef struct fg_step fg_step;
typedef struct fg_batch fg_batch;

/* Returns a field of the batch by name, T[B, ...]. If there is none, returns poison and stores an
 * error in the trace that lists the names. */
FG_API fg_tensor fg_batch_field(const fg_batch *batch, const char *name);
/* Returns a field by index: in every reader, 0 is the input and 1 the target. */
FG_API fg_tensor fg_batch_at(const fg_batch *batch, int index);
/* Returns the number of valid rows, f32[]: fewer than B in a partial last batch. Divide by this,
 * not by B, which includes padding rows. */
FG_API fg_tensor fg_batch_count(const fg_batch *batch);
FG_API int fg_batch_field_count(const fg_batch *batch);
/* Returns the key of random numbers that depend on the sample, not on its row (ops/random.h,
 * aug.h): of options.seed, the epoch, and the index of each sample in the dataset, modulo 2^32; in
 * a dataset that draws its samples (sampling.h), the index of the draw. In evaluation the epoch is
 * 0. A resumed run continues with the same numbers. */
FG_API fg_sample_key fg_batch_key(const fg_batch *batch);

/* Logs a metric of this step under "train_NAME", "val_NAME" or "test_NAME". value has a
 * floating-point or integer dtype:
 *
 *   T[B, ...] or T[B * T]   values of samples or tokens, which are averaged
 *   T[]                     a mean over the batch
 *
 * The reported value is the mean over all batches since the last line, or over the epoch or
 * evaluation: the Trainer keeps (sum, sum of weights) on the device and reads it every log_every
 * steps without waiting. Padding rows are masked out. A scalar is weighted by its denominator if it
 * comes from a loss in ops.h, fg_mean or fg_weighted_mean, even if it was scaled: the mean loss per
 * token is exact, and so is the perplexity, exp of the reported loss. Otherwise it is weighted by
 * the number of samples in the batch. The loss that a step returns is logged as "loss"
 * automatically: logging another value under that name is an error (FG_EINVAL, stored in the
 * trace). At most FG_MAX_METRICS names. */
#define FG_MAX_METRICS 16
FG_API void fg_step_log(fg_step *step, const char *name, fg_tensor value);
/* Logs a weighted mean: sum(weight * value) / sum(weight) over all batches. weight is numeric or
 * bool and broadcasts to the shape of value; where it is 0, value has no effect. For example, the
 * accuracy over tokens except padding:
 *     fg_step_log_weighted(step, "acc", fg_accuracy(logits, label), fg_ne(label, padding)); */
FG_API void fg_step_log_weighted(fg_step *step, const char *name, fg_tensor value,
                                 fg_tensor weight);
/* Sets the denominator of the returned loss, and of those of fg_step_set_loss: f32[] or an integer
 * scalar. It is the weight of this batch when losses are averaged and gradients accumulated
 * (accumulate_grad_batches). Only needed if the graph does not show it: for a loss that you divide
 * by a sum of weights yourself, or one that combines means with different denominators. */
FG_API void fg_step_set_weight(fg_step *step, fg_tensor weight);
/* Sets the loss that a part of a joined optimizer minimizes (fg_optimizer_join): a floating-point
 * scalar, logged as "NAME_loss". Parts without one minimize the returned loss. In validation and
 * test, it is only logged. Errors, stored in the trace: FG_ENOTFOUND (the optimizer has no part
 * with this name), FG_ESHAPE, FG_EINVAL (set twice, or for more than FG_MOST_PARTS names). */
FG_API void fg_step_set_loss(fg_step *step, const char *name, fg_tensor loss);
/* Options of fg_step_log_regression; 0 is the default in []. */
typedef struct fg_regression_options {
    double unit;   /* mae and rmse are multiplied by this: for a standardized target, its standard
                      deviation                                                               [1] */
    double center; /* a value near the targets, so that r2 is not a difference of large sums [0] */
    uint64_t reserved[2];
} fg_regression_options;

/* Logs regression metrics of predictions and targets, both floating-point T[B] or T[B, K]:
 *
 *   mae    mean of |p - y|                                                                  default
 *   mse    mean of (p - y)^2
 *   rmse   square root of the mean of (p - y)^2                                             default
 *   r2     1 - sum of (p - y)^2 / sum of (y - mean of y)^2, the coefficient of determination; NaN
 *          if all targets are equal; not for T[B, K]                                        default
 *
 * over all valid rows of an epoch, or of the steps of a log line. They are computed from sums, so
 * they do not depend on batches, devices or padding rows. Uses the names above, and "r2_squares"
 * and "r2_errors", which are not shown. opt may be NULL. Source: scikit-learn,
 * "mean_squared_error", "r2_score". Errors, stored in the trace: FG_ESHAPE, FG_EDTYPE, FG_EINVAL.
 */
FG_API void fg_step_log_regression(fg_step *step, fg_tensor prediction, fg_tensor target,
                                   const fg_regression_options *opt);
/* Logs the metrics of a classification with one label per sample, from logits T[B, C] and labels
 * s32[B]. Those after acc are only computed in validation and test:
 *
 *   acc           fraction of the samples whose largest logit is that of their label        default
 *   topK_acc      fraction of the samples whose label has one of the K largest logits: top5_acc; of
 *                 equal logits, the first one is larger
 *   f1            mean over the classes of 2 hits / (samples + predictions)                 default
 *   precision     mean over the classes of hits / predictions of the class                  default
 *   recall        mean over the classes of hits / samples of the class                      default
 *   balanced_acc  the same over the classes that have samples
 *   f1_micro, precision_micro, recall_micro
 *                 of the sums over all classes, which are equal to acc
 *   auc           area under the ROC curve: of the second of two classes, else the mean over the
 *                 classes, each against the rest
 *   ap            average precision, the area under the curve of precision by recall, too
 *   log_loss      mean of -log softmax(logits)[label]
 *   perplexity    e to the power of log_loss
 *
 * The means over classes are over those that occur as a label or a prediction (auc, ap: that have
 * samples and, for auc, others), all with the same weight ("macro"); a class that is never
 * predicted has precision 0. Source: scikit-learn, "precision_recall_fscore_support",
 * "balanced_accuracy_score", "top_k_accuracy_score", "roc_auc_score" (multi_class "ovr"),
 * "average_precision_score", "log_loss". Everything is summed on the device, over all valid rows of
 * an evaluation, so it does not depend on batches, devices or padding rows. auc and ap are exact:
 * f32 scores, one for two classes and C for more, are copied to the host with each batch and sorted
 * at the end, which needs 4 bytes per score there. Errors, stored in the trace: FG_ESHAPE,
 * FG_EDTYPE, FG_EINVAL (an unknown name in fg_task.metrics; one of the names is logged twice; more
 * than FG_MAX_METRICS). */
FG_API void fg_step_log_classification(fg_step *step, fg_tensor logits, fg_tensor label);
/* Logs the metrics of a language model from its loss, the mean cross-entropy of the next token in
 * nats:
 *
 *   perplexity     exp(loss)
 *   bits_per_byte  the sum of the losses of all tokens / (ln 2 * the bytes of text that these
 *                  tokens encode); bytes_per_token, f32[], is the mean number of bytes per
 *                  predicted token of this batch; (fg_tensor){0}: not logged
 *
 * Both follow from sums over all tokens, not from the values of batches. Errors, stored in the
 * trace: those of fg_step_log. */
FG_API void fg_step_log_language(fg_step *step, fg_tensor loss, fg_tensor bytes_per_token);
/* Logs the metrics of several labels per sample, from logits T[B, C] and targets T[B, C]:
 * floating-point, bool or u8, 1 where a sample has the label. A label is predicted if its logit is
 * above 0, the probability above 1/2. Those after acc are only computed in validation and test:
 *
 *   acc           fraction of the samples all of whose labels are predicted correctly       default
 *   f1, precision, recall
 *                 means over all labels, as for a classification                            default
 *   f1_micro      of the sums over all labels                                               default
 *   precision_micro, recall_micro
 *                 in the same way
 *   ap            mean over the labels of the average precision, which the field calls mAP  default
 *   auc           mean over the labels of the area under the ROC curve
 *   log_loss      mean over samples and labels of the binary cross-entropy
 *
 * A mean over labels counts 0 for a label without predictions (precision) or samples (recall);
 * those of ap and auc leave out labels that all samples or no samples have. Everything else,
 * sources and errors are as for a classification; the scores of ap and auc, and the targets, take 8
 * bytes for each label of each sample. */
FG_API void fg_step_log_multilabel(fg_step *step, fg_tensor logits, fg_tensor target);
/* Returns the trace of the step, borrowed. */
FG_API fg_trace *fg_step_trace(const fg_step *step);

/* The functions of a task.
 *
 * The last batch of an epoch is padded, unless drop_last is set or the batch size divides the
 * number of samples. Steps ignore padding rows automatically: fg_mean, fg_sum, fg_max, losses and
 * batch norm only use valid rows, and an operation that would mix samples with padding rows is an
 * error (ops/padding.h; docs/howto/padding.md). */
typedef struct fg_task_ops {
    /* Creates the layers, in root. Called once. Errors are stored in the module. */
    void (*build)(void *self, fg_module *root);
    /* Returns the loss, f32[], of a training batch. */
    fg_tensor (*train_step)(void *self, fg_step *step, const fg_batch *batch);
    /* Returns the loss of a validation batch; the trace is not in training mode. NULL: no
     * validation. */
    fg_tensor (*val_step)(void *self, fg_step *step, const fg_batch *batch);
    /* Returns the loss of a test batch. NULL: val_step is used. */
    fg_tensor (*test_step)(void *self, fg_step *step, const fg_batch *batch);
    /* Returns the predictions, T[B, ...]. NULL: no prediction. */
    fg_tensor (*predict_step)(void *self, fg_step *step, const fg_batch *batch);
    /* Creates the optimizer of root's parameters, or joins several (fg_optimizer_join). Called
     * once, before the first fit. */
    fg_optimizer *(*optimizer)(void *self, fg_module *root);
    void (*reserved[4])(void); /* must be NULL */
} fg_task_ops;

/* A task: a table of functions, and the argument that they are called with. */
typedef struct fg_task {
    const char *name;
    void *self;
    const fg_task_ops *ops;
    /* For callbacks that receive predictions T[B, class_count], one value for each class: how many
     * classes there are, and their names, borrowed. 0: the predictions are not classes [0, NULL] */
    int64_t class_count;
    const char *const *class_names; /* NULL: the classes have no names */
    bool is_multilabel; /* a sample has each class with its own probability      [false] */
    /* The metrics that fg_step_log_classification, _multilabel and _regression log, by the names in
     * their comments; borrowed. None: those that are marked as the default. */
    fg_strings metrics;
    uint64_t reserved[2]; /* must be 0 */
} fg_task;

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_batch_field(...)         FG_HERE(fg_batch_field(__VA_ARGS__))
#define fg_batch_at(...)            FG_HERE(fg_batch_at(__VA_ARGS__))
#define fg_batch_count(...)         FG_HERE(fg_batch_count(__VA_ARGS__))
#define fg_step_log(...)            FG_HERE(fg_step_log(__VA_ARGS__))
#define fg_step_log_weighted(...)   FG_HERE(fg_step_log_weighted(__VA_ARGS__))
#define fg_step_set_weight(...)     FG_HERE(fg_step_set_weight(__VA_ARGS__))
#define fg_step_set_loss(...)       FG_HERE(fg_step_set_loss(__VA_ARGS__))
#define fg_step_log_regression(...) FG_HERE(fg_step_log_regression(__VA_ARGS__))
#define fg_step_log_multilabel(...) FG_HERE(fg_step_log_multilabel(__VA_ARGS__))
#endif
#endif
