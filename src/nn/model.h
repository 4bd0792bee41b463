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
extern const fg_model_entry fgi_linear_row;
extern const fg_loss_entry fgi_cross_entropy_row;

/* The option `activation`, in the order of its words, and the function with this name. */
typedef enum fgi_activation { FGI_RELU = 0, FGI_TANH = 1, FGI_SIGMOID = 2 } fgi_activation;
fg_tensor fgi_activate(fgi_activation activation, fg_tensor x);
#define FGI_OPTION_ACTIVATION(type)                                                                \
    FG_OPTION_ENUM(type, activation, "relu", "relu|tanh|sigmoid", "tanh",                          \
                   "Activation function between layers.")

#endif
