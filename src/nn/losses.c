/* losses.c - the losses that exist: a row each. The first one for a task is its default.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

const fg_loss_entry *const fgi_loss_rows[] = {
    &fgi_cross_entropy_row,
    &fgi_mse_row,
};
const size_t fgi_loss_row_count = sizeof fgi_loss_rows / sizeof fgi_loss_rows[0];
