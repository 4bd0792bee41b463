/* loss_cross_entropy.c - softmax cross-entropy, the loss for classification.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

static fg_tensor apply(fg_tensor logits, fg_tensor label, const fg_option_values *values)
{
    return fg_cross_entropy(
        logits, label,
        &(fg_cross_entropy_options){.label_smoothing = fg_option_float(values, "label_smoothing")});
}

static const fg_option options[] = {
    {.name = "label_smoothing",
     .kind = FG_OPTION_FLOAT,
     .initial = "0",
     .min = 0,
     .max = 1,
     .example = "0.1",
     .help = "Mixes this fraction of the uniform distribution into the target."},
};

const fg_loss_entry fgi_cross_entropy_row = {
    .entry = {.name = "cross_entropy",
              .help = "cross-entropy of a softmax over the classes",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .task = "classification",
    .apply = apply};
