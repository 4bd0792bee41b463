/* models.c - the models that exist: a row each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

const fg_model_entry *const fgi_model_rows[] = {
    &fgi_mlp_row,      &fgi_linear_row,   &fgi_lenet_row,
    &fgi_resnet18_row, &fgi_resnet34_row, &fgi_resnet50_row,
};
const size_t fgi_model_row_count = sizeof fgi_model_rows / sizeof fgi_model_rows[0];
