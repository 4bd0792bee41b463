/* linear.c - a model with a single linear layer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

static void *build(fg_module *root, const fg_model_shape *shape, const fg_option_values *values)
{
    (void)values;
    return fg_linear_create(
        root, "fc",
        &(fg_linear_options){.in = fg_type_count(&shape->input), .out = shape->outputs});
}

static fg_tensor apply(const void *model, fg_tensor x)
{
    return fg_linear_apply(model, fg_flatten_images(x));
}

const fg_model_entry fgi_linear_row = {
    .entry = {.name = "linear", .help = "one linear layer"}, .build = build, .apply = apply};
