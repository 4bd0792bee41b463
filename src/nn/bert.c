/* bert.c - BERT for classes of texts: post-norm transformer blocks over all tokens, whose first one
 * is classified. Variables have the names of the published files,
 * "bert.encoder.layer.0.attention.self.query.weight". Source: Devlin et al. 2019, "BERT".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

enum { MOST_LAYERS = 256, TOKEN_TYPES = 2 };

typedef struct bert {
    int64_t vocabulary, layers, width, heads, intermediate, length, padding, query_chunk;
    bool remat;
    double dropout;
    fg_module *module;
    fg_embedding *word, *position, *type;
    fg_norm *norm;
    fg_transformer_block *block[MOST_LAYERS];
    fg_linear *pooler, *classifier;
} bert;

static void build_embeddings(bert *m, fg_module *parent)
{
    const fg_init init = {FG_INIT_NORMAL, 0.02};
    fg_module *module = fg_module_child(parent, "embeddings");
    m->word = fg_embedding_create(module, "word_embeddings",
                                  &(fg_embedding_options){m->vocabulary, m->width, init, {0}});
    m->position = fg_embedding_create(module, "position_embeddings",
                                      &(fg_embedding_options){m->length, m->width, init, {0}});
    m->type = fg_embedding_create(module, "token_type_embeddings",
                                  &(fg_embedding_options){TOKEN_TYPES, m->width, init, {0}});
    m->norm =
        fg_norm_create(module, "LayerNorm", &(fg_norm_options){.channels = m->width, .eps = 1e-12});
}

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    bert *m = self;
    const fg_init init = {FG_INIT_NORMAL, 0.02};
    const fg_transformer_block_options block = {.attention = {.width = m->width,
                                                              .heads = m->heads,
                                                              .dropout = m->dropout,
                                                              .query_chunk = m->query_chunk,
                                                              .init = init,
                                                              .out_init = init,
                                                              .query = "self.query",
                                                              .key = "self.key",
                                                              .value = "self.value",
                                                              .out = "output.dense"},
                                                .hidden = m->intermediate,
                                                .post_norm = true,
                                                .eps = 1e-12,
                                                .dropout = m->dropout,
                                                .remat = m->remat,
                                                .norm1_name = "attention.output.LayerNorm",
                                                .attention_name = "attention",
                                                .norm2_name = "output.LayerNorm",
                                                .up_name = "intermediate.dense",
                                                .down_name = "output.dense"};
    m->module = root;
    if (shape->per_token)
        (void)fgi_module_fail(root, FG_EINVAL,
                              "bert reads all tokens of a text, also those that a language model "
                              "predicts\nset model.name: gpt2, llama or lstm");
    if (!fgi_check_length(root, shape, m->length))
        return;
    fg_module *body = fg_module_child(root, "bert");
    build_embeddings(m, body);
    for (int64_t i = 0; i < m->layers; i++)
        m->block[i] =
            fg_transformer_block_create(body, fgi_numbered("encoder.layer.", i).text, &block);
    m->pooler = fg_linear_create(
        body, "pooler.dense", &(fg_linear_options){.in = m->width, .out = m->width, .init = init});
    m->classifier =
        fg_linear_create(root, "classifier",
                         &(fg_linear_options){.in = m->width, .out = shape->outputs, .init = init});
}

static fg_tensor apply(const void *self, fg_tensor tokens)
{
    const bert *m = self;
    fg_trace *trace = fg_tensor_trace(tokens);
    const fg_tensor padding = fg_full(trace, FG_S32, (double)m->padding, FG_SCALAR);
    const fg_attention_masks masks = {.valid = fg_ne(tokens, padding)};
    const fg_tensor type = fg_embedding_apply(m->type, fg_zeros(trace, FG_S32, FG_DIMS(1)));
    const fg_tensor position =
        fg_embedding_apply(m->position, fgi_positions(m->module, tokens, (fg_tensor){0}));
    fg_tensor x = fg_add(fg_embedding_apply(m->word, tokens), fg_add(position, type));
    x = fg_dropout(fg_norm_apply(m->norm, x), m->dropout);
    for (int64_t i = 0; i < m->layers; i++)
        x = fg_transformer_block_apply(m->block[i], x, &masks);
    const int64_t start[3] = {0}, end[] = {fg_tensor_dim(x, 0), 1, m->width};
    x = fg_reshape(fg_slice(x, start, end, NULL), FG_DIMS(-1, m->width));
    x = fg_tanh(fg_linear_apply(m->pooler, x));
    return fg_linear_apply(m->classifier, fg_dropout(x, m->dropout));
}

static const fg_option options[] = {
    FG_OPTION(bert, vocabulary, INT, "auto", "auto|1..2147483647", "8192", "Number of tokens.",
              .automatic = "30522"),
    FG_OPTION(bert, layers, INT, "auto", "auto|1..256", "6", "Number of transformer blocks.",
              .automatic = "12"),
    FG_OPTION(bert, width, INT, "auto", "auto|1..65536", "384", "Size of the hidden state.",
              .automatic = "768"),
    FG_OPTION(bert, heads, INT, "12", "1..1024", "6", "Attention heads; must divide width."),
    FG_OPTION(bert, intermediate, INT, "3072", "1..1048576", "1024",
              "Size of the MLP's hidden layer."),
    FG_OPTION(bert, length, INT, "1024", "1..1048576", "256",
              "Largest number of tokens in a sequence."),
    FG_OPTION(bert, padding, INT, "0", "0..2147483647", "1",
              "Token that completes a sequence, to which no token attends."),
    FG_OPTION(bert, dropout, FLOAT, "0", "0..<1", "0.1",
              "Dropout probability of embeddings, attention weights and layer outputs."),
    FGI_OPTIONS_MEMORY(bert),
};

static const fg_config_rule rules[] = {
    {.key = "vocab_size", .option = "vocabulary", .initial = "30522"},
    {.key = "num_hidden_layers", .option = "layers", .initial = "12"},
    {.key = "hidden_size", .option = "width", .initial = "768"},
    {.key = "num_attention_heads", .option = "heads", .initial = "12", .divides = "hidden_size"},
    {.key = "intermediate_size", .option = "intermediate", .initial = "3072"},
    {.key = "max_position_embeddings", .option = "length", .initial = "512"},
    {.key = "pad_token_id", .option = "padding", .initial = "0"},
    {.key = "type_vocab_size", .expected = "2", .initial = "2"},
    {.key = "hidden_act", .expected = "\"gelu\"", .initial = "\"gelu\""},
    {.key = "layer_norm_eps", .expected = "1e-12", .initial = "1e-12"},
    {.key = "is_decoder", .expected = "false", .initial = "false"},
    {.key = "position_embedding_type", .expected = "\"absolute\"", .initial = "\"absolute\""},
    {.key = NULL},
};

/* Files without a classifier lack the prefix; files of early versions have other names in norms. */
static const fg_name_rule names[] = {
    {"bert.*", "bert.*"},
    {"bert.embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.gamma"},
    {"bert.embeddings.LayerNorm.bias", "bert.embeddings.LayerNorm.beta"},
    {"bert.encoder.layer.#.attention.output.LayerNorm.weight",
     "bert.encoder.layer.#.attention.output.LayerNorm.gamma"},
    {"bert.encoder.layer.#.attention.output.LayerNorm.bias",
     "bert.encoder.layer.#.attention.output.LayerNorm.beta"},
    {"bert.encoder.layer.#.output.LayerNorm.weight", "bert.encoder.layer.#.output.LayerNorm.gamma"},
    {"bert.encoder.layer.#.output.LayerNorm.bias", "bert.encoder.layer.#.output.LayerNorm.beta"},
    {NULL, NULL},
};

static const fg_published published[] = {{.type = "bert",
                                          .architecture = "BertForSequenceClassification",
                                          .prefix = "bert.",
                                          .rules = rules,
                                          .names = names},
                                         {.type = NULL}};

const fg_model_entry fgi_bert_row = {
    .entry = {.name = "bert", .help = "BERT, for classes of texts", FG_OPTIONS(options, bert)},
    .takes_tokens = true,
    .build = build,
    .apply = apply,
    .published = published,
    .head = "@(classifier|bert.pooler).*"}; /* many files lack the pooler */
