/* classification.c - metrics of classes. The device counts, for each class, its samples, how often
 * it was predicted, and how often both were true; F1, precision and recall follow from the counts
 * of a whole evaluation (metrics.c), so that neither batches nor devices nor padding rows change
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>

#include "op/op.h"
#include "train/sample_rows.h"
#include "train/step.h"

static bool is_checked(fg_step *step, fg_tensor logits, fg_tensor label)
{
    const fg_type *x = fg_tensor_type(logits), *y = fg_tensor_type(label);
    char a[96], b[96];
    if (fgi_is_poison(logits) || fgi_is_poison(label))
        return false;
    if (x->rank != 2 || y->rank != 1 || x->dim[0] != y->dim[0])
        (void)fgi_trace_fail(step->trace, FG_ESHAPE,
                             "log_classification(%s, %s): expected logits [B, C] and labels [B]",
                             fg_type_format(x, a, sizeof a), fg_type_format(y, b, sizeof b));
    else if (!fg_dtype_is_float(x->dtype) || y->dtype != FG_S32)
        (void)fgi_trace_fail(step->trace, FG_EDTYPE,
                             "log_classification(%s, %s): expected floating logits and s32 labels",
                             fg_type_format(x, a, sizeof a), fg_type_format(y, b, sizeof b));
    return fg_trace_error(step->trace, NULL) == FG_OK;
}

/* f32[B] as f32[B, 1] */
static fg_tensor column(fg_tensor value)
{
    return fg_reshape(fg_cast(value, FG_F32), FG_DIMS(fg_tensor_dim(value, 0), 1));
}

/* Class indices are exact in f32: there are fewer than 2^24. */
void fgi_step_keep_rows(fg_step *step, fg_tensor target, fg_tensor prediction, fg_tensor loss)
{
    const fgi_stage_kind kind = fgi_stage_get_kind(step->stage);
    const fg_tensor parts[FGI_ROW_VALUES] = {column(target), column(prediction), column(loss)};
    if (kind == FGI_VAL || kind == FGI_TEST)
        step->rows = fg_concat(parts, FGI_ROW_VALUES, 1);
}

static void count_classes(fg_step *step, fg_tensor logits, fg_tensor label)
{
    fgi_metrics *metrics = fgi_stage_metrics(step->stage);
    const int64_t classes = fg_tensor_dim(logits, 1);
    static const char *const names[] = {"f1", "precision", "recall"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (fgi_metrics_has(metrics, names[i]) || !fgi_metrics_has_room(metrics, 3)) {
            (void)fgi_trace_fail(step->trace, FG_EINVAL,
                                 "log_classification: '%s' is logged twice in one step, or there "
                                 "are more than %d metrics",
                                 names[i], FG_MAX_METRICS);
            return;
        }
    const fg_tensor x = fg_cast(logits, FG_F32), predicted = fg_argmax(logits);
    const fg_tensor actual = fg_one_hot(label, classes, FG_F32);
    const fg_tensor guess = fg_one_hot(predicted, classes, FG_F32);
    const fg_tensor zero = fgi_full_like(actual, 0);
    const fg_tensor counts[FGI_CLASS_COUNTS] = {fg_sum(actual, 1, (const int[]){0}),
                                                fg_sum(guess, 1, (const int[]){0}),
                                                fg_sum(fg_mul(actual, guess), 1, (const int[]){0})};
    const fg_tensor log_p = fg_where(fg_ne(actual, zero), fg_log_softmax(x), zero);
    step->class_counts = fg_concat(counts, FGI_CLASS_COUNTS, 0);
    fgi_metrics_set_classes(metrics, classes);
    fgi_step_keep_rows(step, label, predicted, fg_neg(fg_sum(log_p, 1, (const int[]){1})));
}

void fg_step_log_classification(fg_step *step, fg_tensor logits, fg_tensor label)
{
    const fgi_stage_kind kind = fgi_stage_get_kind(step->stage);
    if (!is_checked(step, logits, label))
        return;
    fg_step_log(step, "acc", fg_accuracy(logits, label));
    if ((kind == FGI_VAL || kind == FGI_TEST) && fg_trace_error(step->trace, NULL) == FG_OK)
        count_classes(step, logits, label);
}
