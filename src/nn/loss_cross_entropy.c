/* loss_cross_entropy.c - softmax cross-entropy, the loss for classification.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/alloc.h"
#include "base/text.h"
#include "nn/model.h"
#include "op/op.h"
#include "trace/trace.h"

/* class_weight as f32[C] for these logits; empty: none, or not in training, so that losses of
 * evaluations do not depend on it. */
static fg_tensor class_weight(fg_tensor logits, const fg_option_values *values)
{
    static const char name[] = "class_weight";
    fg_trace *trace = fg_tensor_trace(logits);
    const size_t count = fg_option_count(values, name);
    const fg_type type = {.dtype = FG_F32, .rank = 1, .dim = {(int64_t)count}};
    char where[128];
    if (count == 0 || !trace->is_training || fgi_is_poison(logits))
        return (fg_tensor){0};
    (void)fg_option_where(values, name, where, sizeof where);
    float *weights = fgi_calloc(count, sizeof *weights);
    if (weights == NULL)
        return fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    fg_tensor result = {0};
    for (size_t i = 0; i < count && result.handle == 0; i++) {
        const char *text = fg_option_string_at(values, name, i);
        double weight = 0;
        if (!fgi_parse_f64(fgi_str_of(text), &weight) || !(weight >= 0) || !isfinite(weight))
            result = fgi_trace_fail(trace, FG_EINVAL,
                                    "%s: expected balanced or numbers of at least 0, got '%s'",
                                    where, text);
        weights[i] = (float)weight;
    }
    if (result.handle == 0 && (int64_t)count != fg_tensor_dim(logits, -1))
        result = fgi_trace_fail(trace, FG_EINVAL,
                                "%s: expected balanced or one weight for each of the %lld classes, "
                                "got %zu",
                                where, (long long)fg_tensor_dim(logits, -1), count);
    if (result.handle == 0)
        result = fg_constant(trace, &type, weights);
    fgi_free(weights);
    return result;
}

static fg_tensor apply(fg_tensor logits, fg_tensor label, const fg_option_values *values)
{
    return fg_cross_entropy(
        logits, label,
        &(fg_cross_entropy_options){.label_smoothing = fg_option_float(values, "label_smoothing"),
                                    .class_weight = class_weight(logits, values)});
}

static const fg_option options[] = {
    {.name = "label_smoothing",
     .kind = FG_OPTION_FLOAT,
     .initial = "0",
     .range = "0..1",
     .example = "0.1",
     .help = "Mixes this fraction of the uniform distribution into the target."},
    {.name = "class_weight",
     .kind = FG_OPTION_STRINGS,
     .initial = "[]",
     .example = "balanced",
     .help = "Weights of the classes in the training loss: a list of numbers in the order of the "
             "classes, or balanced: samples / (classes x samples of the class). Validation losses "
             "are not weighted."},
};

const fg_loss_entry fgi_cross_entropy_row = {
    .entry = {.name = "cross_entropy",
              .help = "cross-entropy of a softmax over the classes",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .task = "classification",
    .apply = apply};
