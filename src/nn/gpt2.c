/* gpt2.c - GPT-2: pre-norm transformer blocks with learned positions, whose embedding is also the
 * output layer. Variables have the names of the published files, "h.0.attn.c_attn.weight".
 * Source: Radford et al. 2019, "Language models are unsupervised multitask learners".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "nn/model.h"

enum { MOST_LAYERS = 256 };

typedef struct gpt2 {
    int64_t layers, width, heads, length, document_end, query_chunk;
    bool remat;
    double dropout;
    fg_module *module;
    fg_embedding *wte, *wpe;
    fg_transformer_block *block[MOST_LAYERS];
    fg_norm *norm;
} gpt2;

/* Weights with deviation 0.02; those that add to the residual stream are scaled by its length. */
static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    gpt2 *m = self;
    const fg_init init = {FG_INIT_NORMAL, 0.02};
    const fg_transformer_block_options block = {
        .attention = {.width = m->width,
                      .heads = m->heads,
                      .causal = true,
                      .dropout = m->dropout,
                      .query_chunk = m->query_chunk,
                      .is_conv1d = true,
                      .init = init,
                      .out_init = {FG_INIT_NORMAL, 0.02 / sqrt(2 * (double)m->layers)},
                      .query = "c_attn",
                      .out = "c_proj"},
        .activation = fg_gelu_tanh,
        .dropout = m->dropout,
        .remat = m->remat,
        .norm1_name = "ln_1",
        .norm2_name = "ln_2",
        .up_name = "mlp.c_fc",
        .down_name = "mlp.c_proj"};
    m->module = root;
    if (!fgi_check_length(root, shape, m->length))
        return;
    m->wte = fg_embedding_create(root, "wte",
                                 &(fg_embedding_options){shape->outputs, m->width, init, {0}});
    m->wpe =
        fg_embedding_create(root, "wpe", &(fg_embedding_options){m->length, m->width, init, {0}});
    for (int64_t i = 0; i < m->layers; i++)
        m->block[i] = fg_transformer_block_create(root, fgi_numbered("h.", i).text, &block);
    m->norm = fg_norm_create(root, "ln_f", &(fg_norm_options){.channels = m->width});
}

static fg_tensor apply(const void *self, fg_tensor tokens)
{
    const gpt2 *m = self;
    const fg_attention_masks masks = {.segment = fgi_documents(m->module, tokens, m->document_end)};
    const fg_tensor position = fgi_positions(m->module, tokens, masks.segment);
    fg_tensor x = fg_add(fg_embedding_apply(m->wte, tokens), fg_embedding_apply(m->wpe, position));
    x = fg_dropout(x, m->dropout);
    for (int64_t i = 0; i < m->layers; i++)
        x = fg_transformer_block_apply(m->block[i], x, &masks);
    return fg_embedding_logits(m->wte, fg_norm_apply(m->norm, x));
}

static const fg_option options[] = {
    FG_OPTION(gpt2, layers, INT, "auto", "auto|1..256", "6", "Number of transformer blocks.",
              .automatic = "12"),
    FG_OPTION(gpt2, width, INT, "auto", "auto|1..65536", "384", "Size of the hidden state.",
              .automatic = "768"),
    FG_OPTION(gpt2, heads, INT, "12", "1..1024", "6", "Attention heads; must divide width."),
    FG_OPTION(gpt2, length, INT, "1024", "1..1048576", "256",
              "Largest number of tokens in a sequence."),
    FG_OPTION(gpt2, dropout, FLOAT, "0", "0..<1", "0.1",
              "Dropout probability of embeddings, attention weights and layer outputs."),
    FGI_OPTION_DOCUMENT_END(gpt2),
    FGI_OPTIONS_MEMORY(gpt2),
};

static const fg_config_rule rules[] = {
    {.key = "n_layer", .option = "layers", .initial = "12"},
    {.key = "n_embd", .option = "width", .initial = "768"},
    {.key = "n_head", .option = "heads", .initial = "12", .divides = "n_embd"},
    {.key = "n_positions", .option = "length", .initial = "1024"},
    {.key = "n_inner", .expected = "4", .times = "n_embd", .initial = "null"},
    {.key = "activation_function", .expected = "\"gelu_new\"", .initial = "\"gelu_new\""},
    {.key = "layer_norm_epsilon", .expected = "1e-5", .initial = "1e-5"},
    {.key = "tie_word_embeddings", .expected = "true", .initial = "true"},
    {.key = "scale_attn_weights", .expected = "true", .initial = "true"},
    {.key = "scale_attn_by_inverse_layer_idx", .expected = "false", .initial = "false"},
    {.key = "add_cross_attention", .expected = "false", .initial = "false"},
    {.key = NULL},
};

static const fg_published published[] = {
    {.type = "gpt2", .architecture = "GPT2LMHeadModel", .prefix = "transformer.", .rules = rules},
    {.type = NULL}};

const fg_model_entry fgi_gpt2_row = {
    .entry = {.name = "gpt2", .help = "GPT-2, a language model", FG_OPTIONS(options, gpt2)},
    .takes_tokens = true,
    .per_token = true,
    .build = build,
    .apply = apply,
    .published = published};
