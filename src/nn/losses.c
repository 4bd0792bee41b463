/* losses.c - the list of built-in losses. The first loss for a task is the task's default.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

#define ROWS(ROW)                                                                                  \
    ROW(fgi_cross_entropy_row)                                                                     \
    ROW(fgi_focal_row)                                                                             \
    ROW(fgi_bce_with_logits_row)                                                                   \
    ROW(fgi_sigmoid_focal_row)                                                                     \
    ROW(fgi_mse_row)                                                                               \
    ROW(fgi_l1_row)                                                                                \
    ROW(fgi_huber_row)                                                                             \
    ROW(fgi_smooth_l1_row)                                                                         \
    ROW(fgi_quantile_row)                                                                          \
    ROW(fgi_kl_div_row)

#define DECLARE(name) extern const fg_loss_entry name;
ROWS(DECLARE)

#define ADDRESS(name) &(name).entry,
const fg_entry *const fgi_loss_rows[] = {ROWS(ADDRESS)};
const size_t fgi_loss_row_count = sizeof fgi_loss_rows / sizeof fgi_loss_rows[0];
