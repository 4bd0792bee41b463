/* llama.c - Llama: pre-norm transformer blocks with RMS norm, rotary positions, grouped-query
 * attention and a gated MLP. Variables have the names of the published files,
 * "model.layers.0.self_attn.q_proj.weight". Source: Touvron et al. 2023, "LLaMA" and "Llama 2".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

enum { MOST_LAYERS = 256 };

typedef struct llama {
    int64_t layers, width, heads, kv_heads, head_width, intermediate, window, document_end,
        query_chunk;
    double rotary_base, eps;
    bool tied, remat;
    fg_module *module;
    fg_embedding *embed;
    fg_transformer_block *block[MOST_LAYERS];
    fg_norm *norm;
    fg_linear *head; /* NULL if it is tied to the embedding */
} llama;

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    llama *m = self;
    const fg_init init = {FG_INIT_NORMAL, 0.02};
    const fg_transformer_block_options block = {.attention = {.width = m->width,
                                                              .heads = m->heads,
                                                              .kv_heads = m->kv_heads,
                                                              .head_width = m->head_width,
                                                              .causal = true,
                                                              .window = m->window,
                                                              .query_chunk = m->query_chunk,
                                                              .position = FG_POSITION_ROTARY,
                                                              .rotary_base = m->rotary_base,
                                                              .no_bias = true,
                                                              .no_out_bias = true,
                                                              .init = init,
                                                              .out_init = init,
                                                              .query = "q_proj",
                                                              .key = "k_proj",
                                                              .value = "v_proj",
                                                              .out = "o_proj"},
                                                .hidden = m->intermediate,
                                                .activation = fg_silu,
                                                .gated = true,
                                                .norm = FG_RMS_NORM,
                                                .eps = m->eps,
                                                .remat = m->remat,
                                                .norm1_name = "input_layernorm",
                                                .attention_name = "self_attn",
                                                .norm2_name = "post_attention_layernorm",
                                                .up_name = "mlp.up_proj",
                                                .down_name = "mlp.down_proj",
                                                .gate_name = "mlp.gate_proj"};
    fg_module *body = fg_module_child(root, "model");
    m->module = root;
    m->embed = fg_embedding_create(body, "embed_tokens",
                                   &(fg_embedding_options){shape->outputs, m->width, init, {0}});
    for (int64_t i = 0; i < m->layers; i++)
        m->block[i] = fg_transformer_block_create(body, fgi_numbered("layers.", i).text, &block);
    m->norm = fg_norm_create(
        body, "norm", &(fg_norm_options){.channels = m->width, .kind = FG_RMS_NORM, .eps = m->eps});
    if (!m->tied)
        m->head = fg_linear_create(
            root, "lm_head",
            &(fg_linear_options){
                .in = m->width, .out = shape->outputs, .no_bias = true, .init = init});
}

static fg_tensor apply(const void *self, fg_tensor tokens)
{
    const llama *m = self;
    const fg_attention_masks masks = {.segment = fgi_documents(m->module, tokens, m->document_end)};
    fg_tensor x = fg_embedding_apply(m->embed, tokens);
    for (int64_t i = 0; i < m->layers; i++)
        x = fg_transformer_block_apply(m->block[i], x, &masks);
    x = fg_norm_apply(m->norm, x);
    return m->tied ? fg_embedding_logits(m->embed, x) : fg_linear_apply(m->head, x);
}

static const fg_option options[] = {
    FG_OPTION(llama, layers, INT, "auto", "auto|1..256", "6", "Number of transformer blocks.",
              .automatic = "12"),
    FG_OPTION(llama, width, INT, "auto", "auto|1..65536", "384", "Size of the hidden state.",
              .automatic = "768"),
    FG_OPTION(llama, heads, INT, "12", "1..1024", "6", "Attention heads of queries."),
    FG_OPTION(llama, kv_heads, INT, "0", "0..1024", "4",
              "Attention heads of keys and values; must divide heads. 0: as many as heads."),
    FG_OPTION(llama, head_width, INT, "0", "0..65536", "128",
              "Size of an attention head. 0: width divided by heads."),
    FG_OPTION(llama, intermediate, INT, "3072", "1..1048576", "1024",
              "Size of the MLP's hidden layer."),
    FG_OPTION(llama, window, INT, "0", "0..", "4096",
              "Attend to this number of tokens before each one at most. 0: to all."),
    FG_OPTION(llama, rotary_base, FLOAT, "10000", "0<..", "500000",
              "Base of the rotary position embedding."),
    FG_OPTION(llama, eps, FLOAT, "1e-5", "0..", "1e-6", "Added to the mean square in RMS norms."),
    FG_OPTION(llama, tied, BOOL, "false", NULL, "true",
              "Use the embedding as the output layer too."),
    FGI_OPTION_DOCUMENT_END(llama),
    FGI_OPTIONS_MEMORY(llama),
};

#define RULES                                                                                      \
    {.key = "num_hidden_layers", .option = "layers", .initial = "32"},                             \
        {.key = "hidden_size", .option = "width", .initial = "4096"},                              \
        {.key = "num_attention_heads", .option = "heads", .initial = "32"},                        \
        {.key = "num_key_value_heads",                                                             \
         .option = "kv_heads",                                                                     \
         .initial = "0",                                                                           \
         .divides = "num_attention_heads"},                                                        \
        {.key = "head_dim", .option = "head_width", .initial = "0"},                               \
        {.key = "intermediate_size", .option = "intermediate", .initial = "11008"},                \
        {.key = "rms_norm_eps", .option = "eps", .initial = "1e-6"},                               \
        {.key = "tie_word_embeddings", .option = "tied", .initial = "false"},                      \
        {.key = "hidden_act", .expected = "\"silu\"", .initial = "\"silu\""},                      \
        {.key = "attention_bias", .expected = "false", .initial = "false"},                        \
    {                                                                                              \
        .key = "mlp_bias", .expected = "false", .initial = "false"                                 \
    }

/* Versions of transformers differ in the keys of rotary positions. */
static const fg_config_rule rules[] = {
    RULES,
    {.key = "rope_parameters.rope_type", .expected = "\"default\"", .initial = "\"default\""},
    {.key = "rope_parameters.rope_theta", .option = "rotary_base"},
    {.key = NULL},
};
static const fg_config_rule version_4_rules[] = {
    RULES,
    {.key = "rope_parameters", .expected = "null", .initial = "null"},
    {.key = "rope_theta", .option = "rotary_base", .initial = "10000"},
    {.key = "rope_scaling", .expected = "null", .initial = "null"},
    {.key = NULL},
};

static const fg_published published[] = {
    {.type = "llama", .architecture = "LlamaForCausalLM", .rules = rules},
    {.type = "llama", .architecture = "LlamaForCausalLM", .rules = version_4_rules},
    {.type = NULL}};

const fg_model_entry fgi_llama_row = {
    .entry = {.name = "llama", .help = "Llama, a language model", FG_OPTIONS(options, llama)},
    .takes_tokens = true,
    .per_token = true,
    .build = build,
    .apply = apply,
    .published = published};
