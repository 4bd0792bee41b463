/* loss_multilabel.c - losses for several labels per sample: binary cross-entropy and its focal
 * form.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "nn/model.h"

typedef struct bce {
    double label_smoothing;
    fg_strings pos_weight;
} bce;

static fg_status check_bce(const void *options, int64_t labels, fg_error *err)
{
    return fgi_class_weights_check("pos_weight", ((const bce *)options)->pos_weight, labels, err);
}

static fg_tensor apply_bce(fg_tensor logits, fg_tensor target, const void *options)
{
    const bce *o = options;
    return fg_bce_with_logits(
        logits, target,
        &(fg_bce_options){.label_smoothing = o->label_smoothing,
                          .pos_weight = fgi_class_weights(fg_tensor_trace(logits), o->pos_weight)});
}

static const fg_option bce_options[] = {
    FG_OPTION(bce, label_smoothing, FLOAT, "0", "0..1", "0.1",
              "Mixes this fraction of the uniform distribution into the target."),
    FG_OPTION(bce, pos_weight, STRINGS, "[]", NULL, "balanced",
              "Weights of the samples that have a label in the training loss: a list of numbers in "
              "the order of the labels, or balanced: samples without the label / samples with it. "
              "Above 1, they raise recall. Validation losses are not weighted."),
};

const fg_loss_entry fgi_bce_with_logits_row = {
    .entry = {.name = "bce_with_logits",
              .help = "binary cross-entropy of a sigmoid for each label",
              .spellings = "bce|BCEWithLogitsLoss|binary_cross_entropy",
              FG_OPTIONS(bce_options, bce)},
    .task = "multilabel",
    .check = check_bce,
    .apply = apply_bce};

/* ---- focal loss ------------------------------------------------------------------------------ */

typedef struct sigmoid_focal {
    double gamma; /* first: see fgi_focal_check */
    double alpha;
} sigmoid_focal;

static fg_tensor apply_focal(fg_tensor logits, fg_tensor target, const void *options)
{
    const sigmoid_focal *o = options;
    return fg_sigmoid_focal_loss(
        logits, target,
        &(fg_sigmoid_focal_options){.gamma = o->gamma == 0 ? FG_ZERO : o->gamma,
                                    .alpha = o->alpha});
}

static const fg_option focal_options[] = {
    FGI_OPTION_FOCAL_GAMMA(sigmoid_focal),
    FG_OPTION(sigmoid_focal, alpha, FLOAT, "0", "0..<1", "0.25",
              "Weight of the samples that have a label; the others have 1 - alpha. 0: all have 1."),
};

const fg_loss_entry fgi_sigmoid_focal_row = {
    .entry = {.name = "sigmoid_focal",
              .help = "binary cross-entropy in which labels that are predicted well have little "
                      "weight",
              .spellings = "sigmoid_focal_loss",
              FG_OPTIONS(focal_options, sigmoid_focal)},
    .task = "multilabel",
    .check = fgi_focal_check,
    .apply = apply_focal};
