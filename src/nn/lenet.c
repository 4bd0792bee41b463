/* lenet.c - LeNet-5, for images.
 * Source: LeCun et al. 1998, "Gradient-based learning applied to document recognition".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "nn/model.h"

enum { SMALL_SIDE = 16, LEAST_SIDE = 4 };

typedef struct lenet {
    fgi_activation activation;
    fg_conv *conv[2];
    fg_linear *linear[3];
} lenet;

static fg_linear *add_linear(fg_module *root, const char *name, int64_t in, int64_t out)
{
    return fg_linear_create(root, name, &(fg_linear_options){.in = in, .out = out});
}

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    lenet *m = self;
    const int64_t *image = shape->image;
    const bool small = image[0] < SMALL_SIDE || image[1] < SMALL_SIDE;
    const int64_t shrink = small ? 0 : 4; /* by the second convolution, each side */
    const int64_t rows = (image[0] / 2 - shrink) / 2, columns = (image[1] / 2 - shrink) / 2;
    if (!fgi_check_image(root, shape, LEAST_SIDE))
        return;
    fg_conv_options conv = {
        .in = image[2], .out = 6, .kernel = small ? 3 : 5, .pad = small ? 1 : 2};
    m->conv[0] = fg_conv_create(root, "conv1", &conv);
    conv = (fg_conv_options){.in = 6, .out = 16, .kernel = conv.kernel, .pad = small ? 1 : 0};
    m->conv[1] = fg_conv_create(root, "conv2", &conv);
    m->linear[0] = add_linear(root, "fc1", 16 * rows * columns, 120);
    m->linear[1] = add_linear(root, "fc2", 120, 84);
    m->linear[2] = add_linear(root, "fc3", 84, shape->outputs);
}

static fg_tensor apply(const void *self, fg_tensor x)
{
    const lenet *m = self;
    for (int i = 0; i < 2; i++)
        x = fg_max_pool(fgi_activate(m->activation, fg_conv_apply(m->conv[i], x)), NULL);
    x = fg_flatten_images(x);
    for (int i = 0; i < 2; i++)
        x = fgi_activate(m->activation, fg_linear_apply(m->linear[i], x));
    return fg_linear_apply(m->linear[2], x);
}

static const fg_option options[] = {FGI_OPTION_ACTIVATION(lenet)};

const fg_model_entry fgi_lenet_row = {
    .entry = {.name = "lenet", .help = "LeNet-5", FG_OPTIONS(options, lenet)},
    .takes_images = true,
    .build = build,
    .apply = apply};
