/* mlp.c - multilayer perceptron: fully connected hidden layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "nn/model.h"

enum { MOST_HIDDEN = 16 };

typedef struct mlp {
    fg_ints hidden;
    fgi_activation activation;
    double dropout;
    fg_linear *layer[MOST_HIDDEN + 1];
} mlp;

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    mlp *m = self;
    int64_t in = fg_type_count(&shape->input);
    for (size_t i = 0; i <= m->hidden.count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "fc%zu", i + 1);
        const int64_t out = i < m->hidden.count ? m->hidden.at[i] : shape->outputs;
        m->layer[i] = fg_linear_create(root, name, &(fg_linear_options){.in = in, .out = out});
        in = out;
    }
}

static fg_tensor apply(const void *self, fg_tensor x)
{
    const mlp *m = self;
    x = fg_flatten_images(x);
    for (size_t i = 0; i < m->hidden.count; i++) {
        x = fgi_activate(m->activation, fg_linear_apply(m->layer[i], x));
        x = fg_dropout(x, m->dropout);
    }
    return fg_linear_apply(m->layer[m->hidden.count], x);
}

static const fg_option options[] = {
    FG_OPTION(mlp, hidden, INTS, "[512, 512]", "1..1048576", "[256, 64]",
              "Units of each hidden layer; model linear has none.", .min_count = 1,
              .max_count = MOST_HIDDEN),
    FGI_OPTION_ACTIVATION(mlp),
    FG_OPTION(mlp, dropout, FLOAT, "0", "0..<1", "0.1", "Dropout probability of the hidden units."),
};

const fg_model_entry fgi_mlp_row = {
    .entry = {.name = "mlp", .help = "fully connected layers", FG_OPTIONS(options, mlp)},
    .build = build,
    .apply = apply};
