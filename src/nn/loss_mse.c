/* loss_mse.c - mean squared error, the loss for regression.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

static fg_tensor apply(fg_tensor prediction, fg_tensor target, const void *options)
{
    (void)options;
    return fg_mse(prediction, target);
}

const fg_loss_entry fgi_mse_row = {
    .entry = {.name = "mse", .help = "mean squared error"}, .task = "regression", .apply = apply};
