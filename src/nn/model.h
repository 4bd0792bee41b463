/* model.h - the rows of models and losses, and helpers for models.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_NN_MODEL_H
#define FGI_NN_MODEL_H

#include "nn/layer.h"

/* The built-in rows (models.c, losses.c). */
extern const fg_entry *const fgi_model_rows[];
extern const size_t fgi_model_row_count;
extern const fg_entry *const fgi_loss_rows[];
extern const size_t fgi_loss_row_count;
extern const fg_model_entry fgi_mlp_row, fgi_linear_row, fgi_lenet_row;
extern const fg_model_entry fgi_resnet18_row, fgi_resnet34_row, fgi_resnet50_row;
extern const fg_loss_entry fgi_cross_entropy_row, fgi_mse_row;

typedef fg_tensor fgi_activation(fg_tensor x);
/* The activation function named by the option `activation`. */
fgi_activation *fgi_activation_of(const fg_option_values *values);
#define FGI_OPTION_ACTIVATION                                                                      \
    {                                                                                              \
        .name = "activation", .kind = FG_OPTION_CHOICE, .initial = "relu",                         \
        .range = "relu|tanh|sigmoid", .example = "tanh",                                           \
        .help = "Activation function between layers."                                              \
    }

#endif
