/* models.c - the list of built-in models.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

#define ROWS(ROW)                                                                                  \
    ROW(fgi_mlp_row)                                                                               \
    ROW(fgi_linear_row)                                                                            \
    ROW(fgi_lenet_row)                                                                             \
    ROW(fgi_resnet18_row)                                                                          \
    ROW(fgi_resnet34_row)                                                                          \
    ROW(fgi_resnet50_row)

#define DECLARE(name) extern const fg_model_entry name;
ROWS(DECLARE)

#define ADDRESS(name) &(name).entry,
const fg_entry *const fgi_model_rows[] = {ROWS(ADDRESS)};
const size_t fgi_model_row_count = sizeof fgi_model_rows / sizeof fgi_model_rows[0];
