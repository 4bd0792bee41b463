/* linear.c - a model with a single linear layer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

typedef struct linear {
    fg_linear *fc;
} linear;

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    const fg_linear_options o = {.in = fg_type_count(&shape->input), .out = shape->outputs};
    ((linear *)self)->fc = fg_linear_create(root, "fc", &o);
}

static fg_tensor apply(const void *self, fg_tensor x)
{
    return fg_linear_apply(((const linear *)self)->fc, fg_flatten_images(x));
}

const fg_model_entry fgi_linear_row = {
    .entry = {.name = "linear", .help = "one linear layer", .size = sizeof(linear)},
    .build = build,
    .apply = apply};
