/* unet.c - U-Net: images to images of the same size. A contracting path of convolutions and max
 * pooling, and an expanding one of transposed convolutions, whose stages also get the features of
 * the contracting stage of their size. Variables have the names of the usual PyTorch
 * implementation, "down1.maxpool_conv.1.double_conv.0.weight". Source: Ronneberger et al. 2015,
 * "U-Net: convolutional networks for biomedical image segmentation", with padded convolutions and
 * batch norm.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "nn/model.h"

enum { MOST_DEPTH = 8 };

/* Two 3x3 convolutions, each with batch norm and ReLU. */
typedef struct pair {
    fg_conv *conv[2];
    fg_batch_norm *norm[2];
} pair;

/* Doubles height and width, then a pair. */
typedef struct expansion {
    fg_module *module;
    fg_variable *weight, *bias;
    pair pair;
} expansion;

typedef struct unet {
    int64_t width, depth;
    pair first, down[MOST_DEPTH];
    expansion up[MOST_DEPTH];
    fg_conv *last;
} unet;

static pair make_pair(fg_module *parent, const char *name, int64_t in, int64_t out)
{
    pair p;
    fg_module *module = fg_module_child(parent, name);
    for (int i = 0; i < 2; i++) {
        p.conv[i] = fg_conv_create(
            module, fgi_numbered("", 3 * i).text,
            &(fg_conv_options){
                .in = i == 0 ? in : out, .out = out, .kernel = 3, .pad = 1, .no_bias = true});
        p.norm[i] = fg_batch_norm_create(module, fgi_numbered("", 3 * i + 1).text,
                                         &(fg_batch_norm_options){.channels = out});
    }
    return p;
}

/* From `in` channels to half as many, also after those of the contracting path are added. */
static expansion make_expansion(fg_module *parent, const char *name, int64_t in)
{
    expansion e = {.module = fg_module_child(parent, name)};
    const int64_t out = in / 2;
    const fg_type kernel = {FG_F32, 4, {2, 2, out, in}};
    fg_module *up = fg_module_child(e.module, "up");
    fg_variable_options init = fgi_init_fan_in(4 * out); /* as PyTorch counts it */
    e.bias = fgi_layer_vector(up, "bias", out, &(fg_variable_options){.init = init.init});
    for (int i = 0; i < 4; i++)
        init.file_axis[i] = (const int[]){3, 2, 0, 1}[i];
    e.weight = fg_module_variable(up, "weight", &kernel, &init);
    e.pair = make_pair(e.module, "conv.double_conv", in, out);
    return e;
}

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    unet *m = self;
    const int64_t *image = shape->image, pixels = image[0] * image[1];
    if (!fgi_check_image(root, shape, (int64_t)1 << m->depth))
        return;
    if (shape->outputs % pixels != 0) {
        (void)fgi_module_fail(
            root, FG_EINVAL,
            "unet: %" PRId64 " outputs for images of %" PRId64 "x%" PRId64
            " pixels: expected values for each pixel, as targets of the "
            "same height and width have\nfor a class or values of each image, set "
            "model.name: resnet18, for example",
            shape->outputs, image[0], image[1]);
        return;
    }
    int64_t width = m->width;
    m->first = make_pair(root, "inc.double_conv", image[2], width);
    for (int64_t i = 0; i < m->depth; i++, width *= 2) {
        fg_module *down = fg_module_child(root, fgi_numbered("down", i + 1).text);
        m->down[i] = make_pair(down, "maxpool_conv.1.double_conv", width, 2 * width);
    }
    for (int64_t i = 0; i < m->depth; i++, width /= 2)
        m->up[i] = make_expansion(root, fgi_numbered("up", i + 1).text, width);
    m->last = fg_conv_create(
        root, "outc.conv",
        &(fg_conv_options){.in = m->width, .out = shape->outputs / pixels, .kernel = 1});
}

static fg_tensor apply_pair(const pair *p, fg_tensor x)
{
    for (int i = 0; i < 2; i++)
        x = fg_relu(fg_batch_norm_apply(p->norm[i], fg_conv_apply(p->conv[i], x)));
    return x;
}

/* Sizes that are odd are padded to that of `skipped`. */
static fg_tensor apply_expansion(const expansion *e, fg_tensor x, fg_tensor skipped)
{
    int64_t low[4] = {0}, high[4] = {0};
    const fg_dtype dtype = fg_tensor_type(x)->dtype;
    fg_scope_push(fg_tensor_trace(x), fg_module_name(e->module));
    x = fg_conv_transpose2d(x, fgi_layer_value(x, e->weight, dtype),
                            &(fg_conv_transpose_options){.stride = 2});
    x = fgi_layer_leave(e->module, fg_add(x, fgi_layer_value(x, e->bias, dtype)));
    for (int i = 1; i < 3; i++) {
        const int64_t less = fg_tensor_dim(skipped, i) - fg_tensor_dim(x, i);
        low[i] = less / 2;
        high[i] = less - less / 2;
    }
    x = fg_pad(x, 0, low, high, NULL);
    return apply_pair(&e->pair, fg_concat((const fg_tensor[]){skipped, x}, 2, 3));
}

static fg_tensor apply(const void *self, fg_tensor x)
{
    const unet *m = self;
    fg_tensor skipped[MOST_DEPTH];
    x = apply_pair(&m->first, x);
    for (int64_t i = 0; i < m->depth; i++) {
        skipped[i] = x;
        x = apply_pair(&m->down[i], fg_max_pool(x, NULL));
    }
    for (int64_t i = 0; i < m->depth; i++)
        x = apply_expansion(&m->up[i], x, skipped[m->depth - 1 - i]);
    return fg_flatten(fg_conv_apply(m->last, x), 1);
}

static const fg_option options[] = {
    FG_OPTION(unet, width, INT, "auto", "auto|1..65536", "32",
              "Channels of the first stage; each later one has twice as many.", .automatic = "64"),
    FG_OPTION(unet, depth, INT, "4", "1..8", "3",
              "How many times height and width are halved, and doubled again."),
};

const fg_model_entry fgi_unet_row = {
    .entry = {.name = "unet",
              .help = "U-Net, from images to images of the same size",
              FG_OPTIONS(options, unet)},
    .takes_images = true,
    .build = build,
    .apply = apply,
    .head = "outc.*"};
