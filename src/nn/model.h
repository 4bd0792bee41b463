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
extern const fg_model_entry fgi_linear_row, fgi_lstm_row;

/* Whether samples of this type are tokens for the model. */
static inline bool fgi_is_tokens(const fg_model_entry *entry, const fg_type *sample)
{
    return entry->takes_tokens ||
           (entry->takes_series && sample->dtype == FG_S32 && sample->rank == 1);
}

extern const fg_loss_entry fgi_cross_entropy_row, fgi_focal_row, fgi_l1_row, fgi_huber_row,
    fgi_smooth_l1_row, fgi_quantile_row, fgi_kl_div_row, fgi_bce_with_logits_row,
    fgi_sigmoid_focal_row;

/* The label of positions of a sequence that cross_entropy leaves out. */
enum { FGI_NO_LABEL = -100 };

/* Of an option that lists a weight for each class: checks it, and returns f32[C]; empty: there are
 * none, or the trace is not in training, so that losses of evaluations do not depend on them. */
fg_status fgi_class_weights_check(const char *option, fg_strings given, int64_t classes,
                                  fg_error *err);
fg_tensor fgi_class_weights(fg_trace *trace, fg_strings given);

/* The option `gamma` of focal losses, and a check of their structs, whose first member it is. */
#define FGI_OPTION_FOCAL_GAMMA(type)                                                               \
    FG_OPTION(type, gamma, FLOAT, "2", "0..", "1.5",                                               \
              "How little weight a sample has that is predicted well: its loss is multiplied by "  \
              "(1 - probability of the target)^gamma. 0 (cross-entropy), or at least 1.")
fg_status fgi_focal_check(const void *options, int64_t outputs, fg_error *err);

/* "h.3" of "h." and 3. */
typedef struct fgi_name {
    char text[64];
} fgi_name;
fgi_name fgi_numbered(const char *prefix, int64_t number);
/* The embedding of positions has at least as many as the tokens of a sample; otherwise the root
 * keeps an error. */
bool fgi_check_length(fg_module *root, const fg_model_shape *shape, int64_t length);
/* The number of documents that end before each of the tokens s32[N,T], with the token `end`:
 * s32[N,T]. Empty if `end` is negative, and while a key/value cache is used. */
fg_tensor fgi_documents(fg_module *module, fg_tensor tokens, int64_t end);
/* Positions of tokens s32[N,T]: s32[T], starting at that of the module's key/value cache. With
 * documents, s32[N,T], starting at 0 in each document. */
fg_tensor fgi_positions(fg_module *module, fg_tensor tokens, fg_tensor document);

/* The option document_end of language models. */
#define FGI_OPTION_DOCUMENT_END(type)                                                              \
    FG_OPTION(type, document_end, INT, "-1", "-1..2147483647", "50256",                            \
              "Token at the end of each document, if samples contain several: tokens do not "      \
              "attend to other documents, positions start at 0 in each, and its first token is "   \
              "not predicted. -1: samples are not divided.")

/* Images have at least this height and width; otherwise the root keeps an error. */
bool fgi_check_image(fg_module *root, const fg_model_shape *shape, int64_t least);
/* Stochastic depth of block i of n: from 0 to `rate`. Source: Huang et al. 2016, "Deep networks
 * with stochastic depth", section 3. */
double fgi_drop_path_of(double rate, int64_t i, int64_t n);

/* The options query_chunk and remat of transformers, which save memory. */
#define FGI_OPTIONS_MEMORY(type)                                                                   \
    FG_OPTION(type, query_chunk, INT, "0", "0..2147483647", "128",                                 \
              "Compute attention for this number of queries at a time: longer sequences fit in "   \
              "memory, but take more time. 0: for all at once."),                                  \
        FG_OPTION(type, remat, BOOL, "false", NULL, "true",                                        \
                  "Rematerialization: compute each transformer block again for its gradient, "     \
                  "which needs less memory and more time.")

/* The option `activation`, in the order of its words, and the function with this name. */
typedef enum fgi_activation {
    FGI_RELU = 0,
    FGI_TANH,
    FGI_SIGMOID,
    FGI_GELU,
    FGI_GELU_TANH,
    FGI_SILU,
    FGI_SOFTPLUS,
    FGI_ELU,        /* alpha 1 */
    FGI_LEAKY_RELU, /* slope 0.01 */
    FGI_MISH,
    FGI_HARDSWISH
} fgi_activation;
#define FGI_ACTIVATIONS                                                                            \
    "relu|tanh|sigmoid|gelu|gelu_tanh|silu|softplus|elu|leaky_relu|mish|hardswish"
fg_tensor fgi_activate(fgi_activation activation, fg_tensor x);
#define FGI_OPTION_ACTIVATION(type)                                                                \
    FG_OPTION_ENUM(type, activation, "relu", FGI_ACTIVATIONS, "tanh",                              \
                   "Activation function between layers.")

#endif
