/* loss_cross_entropy.c - softmax cross-entropy and the focal loss, the losses for
 * classification; weights of classes.
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

fg_status fgi_class_weights_check(const char *option, fg_strings given, int64_t classes,
                                  fg_error *err)
{
    for (size_t i = 0; i < given.count; i++) {
        double weight = 0;
        if (!fgi_parse_f64(fgi_str_of(given.at[i]), &weight) || !(weight >= 0) || isinf(weight))
            return fgi_fail(err, FG_EINVAL,
                            "%s: expected balanced or numbers of at least 0, got '%s'", option,
                            given.at[i]);
    }
    if (given.count > 0 && (int64_t)given.count != classes)
        return fgi_fail(err, FG_EINVAL,
                        "%s: expected balanced or one weight for each of the %lld classes, got %zu",
                        option, (long long)classes, given.count);
    return FG_OK;
}

fg_tensor fgi_class_weights(fg_trace *trace, fg_strings given)
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

static fg_status check(const void *options, int64_t classes, fg_error *err)
{
    return fgi_class_weights_check("class_weight", ((const cross_entropy *)options)->class_weight,
                                   classes, err);
}

static fg_tensor apply(fg_tensor logits, fg_tensor label, const void *options)
{
    const cross_entropy *o = options;
    const fg_type *type = fg_tensor_type(label);
    const bool is_sequence = type->dtype == FG_S32 && type->rank > 1;
    return fg_cross_entropy(
        logits, label,
        &(fg_cross_entropy_options){
            .label_smoothing = o->label_smoothing,
            .ignore_index = is_sequence ? FGI_NO_LABEL : 0,
            .class_weight = fgi_class_weights(fg_tensor_trace(logits), o->class_weight)});
}

#define OPTION_CLASS_WEIGHT(type)                                                                  \
    FG_OPTION(                                                                                     \
        type, class_weight, STRINGS, "[]", NULL, "balanced",                                       \
        "Weights of the classes in the training loss: a list of numbers in the order of the "      \
        "classes, or balanced: samples / (classes x samples of the class). Validation losses "     \
        "are not weighted.")

static const fg_option cross_entropy_options[] = {
    FG_OPTION(cross_entropy, label_smoothing, FLOAT, "0", "0..1", "0.1",
              "Mixes this fraction of the uniform distribution into the target."),
    OPTION_CLASS_WEIGHT(cross_entropy),
};

const fg_loss_entry fgi_cross_entropy_row = {
    .entry = {.name = "cross_entropy",
              .help = "cross-entropy of a softmax over the classes",
              FG_OPTIONS(cross_entropy_options, cross_entropy)},
    .task = "classification",
    .check = check,
    .apply = apply};

/* ---- focal loss ------------------------------------------------------------------------------ */

typedef struct focal {
    double gamma; /* first: see fgi_focal_check */
    fg_strings class_weight;
} focal;

fg_status fgi_focal_check(const void *options, int64_t outputs, fg_error *err)
{
    const double gamma = *(const double *)options;
    (void)outputs;
    return gamma == 0 || gamma >= 1
               ? FG_OK
               : fgi_fail(err, FG_EINVAL, "gamma: expected 0 or at least 1, got %g", gamma);
}

static fg_status check_focal(const void *options, int64_t classes, fg_error *err)
{
    FGI_TRY(fgi_focal_check(options, classes, err));
    return fgi_class_weights_check("class_weight", ((const focal *)options)->class_weight, classes,
                                   err);
}

static fg_tensor apply_focal(fg_tensor logits, fg_tensor label, const void *options)
{
    const focal *o = options;
    return fg_focal_loss(logits, label,
                         &(fg_focal_options){.gamma = o->gamma == 0 ? FG_ZERO : o->gamma,
                                             .class_weight = fgi_class_weights(
                                                 fg_tensor_trace(logits), o->class_weight)});
}

static const fg_option focal_options[] = {
    FGI_OPTION_FOCAL_GAMMA(focal),
    OPTION_CLASS_WEIGHT(focal),
};

const fg_loss_entry fgi_focal_row = {
    .entry = {.name = "focal",
              .help = "cross-entropy in which samples that are classified well have little weight",
              .spellings = "focal_loss",
              FG_OPTIONS(focal_options, focal)},
    .task = "classification",
    .check = check_focal,
    .apply = apply_focal};
