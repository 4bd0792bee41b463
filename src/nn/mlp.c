/* mlp.c - multilayer perceptron: fully connected hidden layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "nn/model.h"

enum { MOST_HIDDEN = 16 };

typedef struct mlp {
    fg_linear *layer[MOST_HIDDEN + 1];
    int count;
    double dropout;
    fgi_activation *activation;
} mlp;

static void *build(fg_module *root, const fg_model_shape *shape, const fg_option_values *values)
{
    const int hidden = (int)fg_option_count(values, "hidden");
    mlp *m = fgi_layer_create(root, sizeof *m);
    int64_t in = fg_type_count(&shape->input);
    for (int i = 0; i <= hidden && m != NULL; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "fc%d", i + 1);
        const int64_t out =
            i < hidden ? fg_option_int_at(values, "hidden", (size_t)i) : shape->outputs;
        m->layer[i] = fg_linear_create(root, name, &(fg_linear_options){.in = in, .out = out});
        in = out;
    }
    if (m == NULL || fg_module_error(root, NULL) != FG_OK)
        return NULL;
    m->count = hidden + 1;
    m->dropout = fg_option_float(values, "dropout");
    m->activation = fgi_activation_of(values);
    return m;
}

static fg_tensor apply(const void *model, fg_tensor x)
{
    const mlp *m = model;
    const int last = m->count - 1;
    x = fg_flatten_images(x);
    for (int i = 0; i < last; i++)
        x = fg_dropout(m->activation(fg_linear_apply(m->layer[i], x)), m->dropout);
    return fg_linear_apply(m->layer[last], x);
}

static const fg_option options[] = {
    {.name = "hidden",
     .kind = FG_OPTION_INTS,
     .initial = "[512, 512]",
     .range = "1..1048576",
     .min_count = 1,
     .max_count = MOST_HIDDEN,
     .example = "[256, 64]",
     .help = "Units of each hidden layer; model linear has none."},
    FGI_OPTION_ACTIVATION,
    {.name = "dropout",
     .kind = FG_OPTION_FLOAT,
     .initial = "0",
     .range = "0..<1",
     .example = "0.1",
     .help = "Dropout probability of the hidden units."},
};

const fg_model_entry fgi_mlp_row = {.entry = {.name = "mlp",
                                              .help = "fully connected hidden layers",
                                              .options = options,
                                              .option_count = sizeof options / sizeof options[0]},
                                    .build = build,
                                    .apply = apply};
