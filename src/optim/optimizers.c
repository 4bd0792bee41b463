/* optimizers.c - the optimizers that exist: a row each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

const fg_optimizer_entry *const fgi_optimizer_rows[] = {
    &fgi_sgd_row,
    &fgi_adam_row,
    &fgi_adamw_row,
};
const size_t fgi_optimizer_row_count = sizeof fgi_optimizer_rows / sizeof fgi_optimizer_rows[0];
