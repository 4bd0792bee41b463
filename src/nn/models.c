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
    ROW(fgi_resnet50_row)                                                                          \
    ROW(fgi_resnet101_row)                                                                         \
    ROW(fgi_resnet152_row)                                                                         \
    ROW(fgi_resnext50_32x4d_row)                                                                   \
    ROW(fgi_resnext101_32x8d_row)                                                                  \
    ROW(fgi_resnext101_64x4d_row)                                                                  \
    ROW(fgi_wide_resnet50_2_row)                                                                   \
    ROW(fgi_wide_resnet101_2_row)                                                                  \
    ROW(fgi_gpt2_row)                                                                              \
    ROW(fgi_llama_row)                                                                             \
    ROW(fgi_bert_row)                                                                              \
    ROW(fgi_vit_row)                                                                               \
    ROW(fgi_vit_tiny_row)                                                                          \
    ROW(fgi_vit_small_row)                                                                         \
    ROW(fgi_vit_base_row)                                                                          \
    ROW(fgi_vit_large_row)                                                                         \
    ROW(fgi_convnext_row)                                                                          \
    ROW(fgi_efficientnet_row)                                                                      \
    ROW(fgi_mobilenet_v3_large_row)                                                                \
    ROW(fgi_mobilenet_v3_small_row)                                                                \
    ROW(fgi_unet_row)                                                                              \
    ROW(fgi_lstm_row)

#define DECLARE(name) extern const fg_model_entry name;
ROWS(DECLARE)

#define ADDRESS(name) &(name).entry,
const fg_entry *const fgi_model_rows[] = {ROWS(ADDRESS)};
const size_t fgi_model_row_count = sizeof fgi_model_rows / sizeof fgi_model_rows[0];
