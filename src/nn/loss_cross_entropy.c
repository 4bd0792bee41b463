/* loss_cross_entropy.c - softmax cross-entropy, the loss for classification.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "nn/model.h"
#include "op/op.h"
#include "trace/trace.h"

typedef struct cross_entropy {
    double label_smoothing;
    fg_strings class_weight;
} cross_entropy;

static fg_status check(const void *options, int64_t classes, fg_error *err)
{
    const fg_strings given = ((const cross_entropy *)options)->class_weight;
    for (size_t i = 0; i < given.count; i++) {
        double weight = 0;
        if (!fgi_parse_f64(fgi_str_of(given.at[i]), &weight) || !(weight >= 0) || isinf(weight))
            return fgi_fail(err, FG_EINVAL,
                            "class_weight: expected balanced or numbers of at least 0, got '%s'",
                            given.at[i]);
    }
    if (given.count > 0 && (int64_t)given.count != classes)
        return fgi_fail(err, FG_EINVAL,
                        "class_weight: expected balanced or one weight for each of the %lld "
                        "classes, got %zu",
                        (long long)classes, given.count);
    return FG_OK;
}

/* f32[C]; empty: none, or not in training, so that losses of evaluations do not depend on it. */
static fg_tensor class_weight(fg_trace *trace, fg_strings given)
{
    const fg_type type = {.dtype = FG_F32, .rank = 1, .dim = {(int64_t)given.count}};
    if (given.count == 0 || !trace->is_training)
        return (fg_tensor){0};
    float *weights = fgi_calloc(given.count, sizeof *weights);
    if (weights == NULL)
        return fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    for (size_t i = 0; i < given.count; i++)
        weights[i] = (float)fgi_strtod(given.at[i], NULL);
    const fg_tensor result = fg_constant(trace, &type, weights);
    fgi_free(weights);
    return result;
}

static fg_tensor apply(fg_tensor logits, fg_tensor label, const void *options)
{
    const cross_entropy *o = options;
    const fg_tensor weight = class_weight(fg_tensor_trace(logits), o->class_weight);
    return fg_cross_entropy(
        logits, label,
        &(fg_cross_entropy_options){.label_smoothing = o->label_smoothing, .class_weight = weight});
}

static const fg_option options[] = {
    FG_OPTION(cross_entropy, label_smoothing, FLOAT, "0", "0..1", "0.1",
              "Mixes this fraction of the uniform distribution into the target."),
    FG_OPTION(cross_entropy, class_weight, STRINGS, "[]", NULL, "balanced",
              "Weights of the classes in the training loss: a list of numbers in the order of the "
              "classes, or balanced: samples / (classes x samples of the class). Validation losses "
              "are not weighted."),
};

const fg_loss_entry fgi_cross_entropy_row = {
    .entry = {.name = "cross_entropy",
              .help = "cross-entropy of a softmax over the classes",
              FG_OPTIONS(options, cross_entropy)},
    .task = "classification",
    .check = check,
    .apply = apply};
