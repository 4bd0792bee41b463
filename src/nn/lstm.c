/* lstm.c - LSTM for texts and series: an embedding for tokens, the LSTM, and a linear layer, of
 * each time step for a language model, otherwise of the last state. Variables have the names of a
 * PyTorch module with the attributes embedding, lstm and fc.
 * Source: Hochreiter and Schmidhuber 1997, "Long short-term memory".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

typedef struct lstm {
    int64_t layers, width, vocabulary, padding;
    double dropout;
    bool bidirectional, has_tokens, per_token;
    fg_embedding *embedding; /* NULL for a series */
    fg_recurrent *lstm;
    fg_linear *fc;
} lstm;

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    lstm *m = self;
    const fg_type *input = &shape->input;
    char text[96];
    m->has_tokens = fgi_is_tokens(&fgi_lstm_row, input);
    m->per_token = shape->per_token;
    if (input->rank > 2)
        (void)fgi_module_fail(root, FG_EINVAL,
                              "lstm on %s: expected tokens s32[T], or numbers [T] or [T, F]"
                              "\nfor images, set model.name: resnet18, for example",
                              fg_type_format(input, text, sizeof text));
    if (m->per_token && m->bidirectional)
        (void)fgi_module_fail(root, FG_EINVAL,
                              "lstm: a bidirectional model would read the tokens that it predicts"
                              "\nset model.bidirectional: false");
    if (fg_module_error(root, NULL) != FG_OK)
        return;
    const int64_t tokens = m->per_token ? shape->outputs : m->vocabulary;
    if (m->has_tokens)
        m->embedding = fg_embedding_create(
            root, "embedding", &(fg_embedding_options){.count = tokens, .width = m->width});
    m->lstm = fg_recurrent_create(root, "lstm",
                                  &(fg_recurrent_options){.in = m->has_tokens      ? m->width
                                                                : input->rank == 2 ? input->dim[1]
                                                                                   : 1,
                                                          .hidden = m->width,
                                                          .layers = m->layers,
                                                          .bidirectional = m->bidirectional,
                                                          .dropout = m->dropout});
    m->fc = fg_linear_create(
        root, "fc",
        &(fg_linear_options){.in = m->width * (m->bidirectional ? 2 : 1), .out = shape->outputs});
}

/* The last state of the last layer, of both directions: T[N, D width]. */
static fg_tensor last_state(const lstm *m, fg_tensor h)
{
    const fg_type *type = fg_tensor_type(h);
    const int64_t start[] = {type->dim[0] - (m->bidirectional ? 2 : 1), 0, 0};
    const fg_tensor last = fg_permute(fg_slice(h, start, type->dim, NULL), (const int[]){1, 0, 2});
    return fg_flatten(last, 1);
}

static fg_tensor apply(const void *self, fg_tensor x)
{
    const lstm *m = self;
    fg_recurrent_state state = {.reserved = {0}};
    const fg_tensor padding = fg_full(fg_tensor_trace(x), FG_S32, (double)m->padding, FG_SCALAR);
    if (m->has_tokens && !m->per_token)
        state.valid = fg_ne(x, padding);
    if (m->has_tokens)
        x = fg_embedding_apply(m->embedding, x);
    else if (fg_tensor_type(x)->rank == 2)
        x = fg_unsqueeze(x, 1, (const int[]){2});
    const fg_tensor y = fg_recurrent_apply(m->lstm, x, &state);
    return fg_linear_apply(m->fc,
                           fg_dropout(m->per_token ? y : last_state(m, state.h), m->dropout));
}

static const fg_option options[] = {
    FG_OPTION(lstm, layers, INT, "auto", "auto|1..256", "2", "Number of layers, at most 64.",
              .automatic = "1"),
    FG_OPTION(lstm, width, INT, "auto", "auto|1..65536", "256",
              "Size of the hidden state, and of the embedding of tokens.", .automatic = "128"),
    FG_OPTION(lstm, bidirectional, BOOL, "false", NULL, "true",
              "Read sequences in both directions. Not for language models."),
    FG_OPTION(lstm, dropout, FLOAT, "0", "0..<1", "0.1",
              "Dropout probability of the results of each layer."),
    FG_OPTION(lstm, vocabulary, INT, "auto", "auto|1..2147483647", "8192",
              "Number of tokens, for classes of texts; a language model has those of the data.",
              .automatic = "256"),
    FG_OPTION(lstm, padding, INT, "0", "0..2147483647", "1",
              "Token that completes a text, which is not read. Only for classes of texts."),
};

const fg_model_entry fgi_lstm_row = {
    .entry = {.name = "lstm", .help = "LSTM, for texts and series", FG_OPTIONS(options, lstm)},
    .takes_series = true,
    .build = build,
    .apply = apply,
    .head = "fc.*"};
