/* resnet.c - residual networks with 18, 34 and 50 layers, composed of public layers.
 *
 * A stage is a sequence of blocks; the first block of every stage except the first halves the
 * resolution. ResNet-50 uses bottleneck blocks with the stride in the 3x3 convolution ("v1.5"),
 * like published weights.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/model.h"

enum { STAGES = 4, MOST_BLOCKS = 16, MOST_PARTS = 3, WIDENING = 4, USUAL_WIDTH = 64 };

/* A convolution without bias, followed by batch normalization. */
typedef struct unit {
    fg_conv *conv;
    fg_batch_norm *norm;
} unit;

typedef struct block {
    fg_module *module, *stage, *downsample;
    unit part[MOST_PARTS], shortcut; /* shortcut.conv is NULL for an identity shortcut */
    int part_count;
} block;

struct fg_resnet {
    fg_module *module;
    int64_t in;
    bool has_small_stem;
    unit stem;
    block block[MOST_BLOCKS];
    int block_count;
    fg_linear *fc;
};

static const struct kind {
    int depth, blocks[STAGES];
    bool is_bottleneck;
} kinds[] = {
    {18, {2, 2, 2, 2}, false},
    {34, {3, 4, 6, 3}, false},
    {50, {3, 4, 6, 3}, true},
};

static const struct kind *kind_of(int depth)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].depth == depth)
            return &kinds[i];
    return NULL;
}

/* ---- building -------------------------------------------------------------------------------- */

/* Kernels are initialized from a normal distribution scaled by fan-out. Source: He et al. 2015,
 * "Delving deep into rectifiers", section 2.2, backward case. */
static unit make_unit(fg_module *parent, const char *conv, const char *norm, fg_conv_options o)
{
    const double fan_out = (double)o.kernel * (double)o.kernel * (double)o.out;
    o.pad = o.kernel / 2;
    o.no_bias = true;
    o.init = (fg_init){FG_INIT_NORMAL, sqrt(2 / fan_out)};
    unit u = {.conv = fg_conv_create(parent, conv, &o)};
    u.norm = fg_batch_norm_create(parent, norm, &(fg_batch_norm_options){.channels = o.out});
    return u;
}

/* Maps `in` channels to `width` (bottleneck blocks: to 4 * width). */
static block make_block(fg_module *parent, const char *name, bool is_bottleneck, int64_t in,
                        int64_t width, int64_t stride)
{
    const int64_t out = is_bottleneck ? WIDENING * width : width;
    const fg_conv_options plain[] = {{.in = in, .out = width, .kernel = 3, .stride = stride},
                                     {.in = width, .out = width, .kernel = 3}};
    const fg_conv_options narrow[] = {{.in = in, .out = width, .kernel = 1},
                                      {.in = width, .out = width, .kernel = 3, .stride = stride},
                                      {.in = width, .out = out, .kernel = 1}};
    block b = {.module = fg_module_child(parent, name),
               .stage = parent,
               .part_count = is_bottleneck ? 3 : 2};
    for (int i = 0; i < b.part_count; i++) {
        char conv[16], norm[16];
        (void)snprintf(conv, sizeof conv, "conv%d", i + 1);
        (void)snprintf(norm, sizeof norm, "bn%d", i + 1);
        b.part[i] = make_unit(b.module, conv, norm, is_bottleneck ? narrow[i] : plain[i]);
    }
    if (stride != 1 || in != out) {
        b.downsample = fg_module_child(b.module, "downsample");
        b.shortcut =
            make_unit(b.downsample, "0", "1",
                      (fg_conv_options){.in = in, .out = out, .kernel = 1, .stride = stride});
    }
    if (b.module != NULL)
        fg_module_describe(b.module, is_bottleneck ? "bottleneck" : "basic_block", NULL);
    return b;
}

static void make_stages(fg_resnet *net, const struct kind *kind, int64_t width)
{
    int64_t in = width;
    for (int stage = 0; stage < STAGES; stage++, width *= 2) {
        char name[16];
        (void)snprintf(name, sizeof name, "layer%d", stage + 1);
        fg_module *module = fg_module_child(net->module, name);
        for (int i = 0; i < kind->blocks[stage]; i++) {
            (void)snprintf(name, sizeof name, "%d", i);
            net->block[net->block_count++] = make_block(module, name, kind->is_bottleneck, in,
                                                        width, stage > 0 && i == 0 ? 2 : 1);
            in = kind->is_bottleneck ? WIDENING * width : width;
        }
    }
}

static bool check(fg_module *module, const fg_resnet_options *o)
{
    if (kind_of(o->depth) == NULL)
        (void)fgi_module_fail(module, FG_EINVAL, "resnet: depth is %d: expected 18, 34 or 50",
                              o->depth);
    else if (strcmp(o->stem, "imagenet") != 0 && strcmp(o->stem, "small") != 0)
        (void)fgi_module_fail(module, FG_EINVAL,
                              "resnet: stem is '%s': expected 'imagenet' or 'small'", o->stem);
    else if (o->in < 1 || o->classes < 1 || o->width < 1)
        (void)fgi_module_fail(module, FG_EINVAL,
                              "resnet: in %" PRId64 ", classes %" PRId64 ", width %" PRId64
                              "; classes must be given, none may be negative",
                              o->in, o->classes, o->width);
    else
        return true;
    return false;
}

fg_resnet *fg_resnet_create(fg_module *module, const fg_resnet_options *options)
{
    if (module == NULL || fg_module_error(module, NULL) != FG_OK)
        return NULL;
    if (!fgi_module_check_reserved(module, FGI_RESERVED(fg_resnet_options, options)))
        return NULL;
    fg_resnet_options o = options != NULL ? *options : (fg_resnet_options){0};
    o.depth = o.depth != 0 ? o.depth : 18;
    o.in = o.in != 0 ? o.in : 3;
    o.stem = o.stem != NULL ? o.stem : "imagenet";
    o.width = o.width != 0 ? o.width : USUAL_WIDTH;
    if (!check(module, &o))
        return NULL;
    fg_resnet *net = fgi_layer_create(module, sizeof *net);
    if (net == NULL)
        return NULL;
    const struct kind *kind = kind_of(o.depth);
    char name[24];
    (void)snprintf(name, sizeof name, "resnet%d", o.depth);
    fg_module_describe(module, name, o.stem);
    net->module = module;
    net->in = o.in;
    net->has_small_stem = strcmp(o.stem, "small") == 0;
    net->stem = make_unit(module, "conv1", "bn1",
                          (fg_conv_options){.in = o.in,
                                            .out = o.width,
                                            .kernel = net->has_small_stem ? 3 : 7,
                                            .stride = net->has_small_stem ? 1 : 2});
    make_stages(net, kind, o.width);
    const int64_t last = o.width << (STAGES - 1);
    net->fc = fg_linear_create(
        module, "fc",
        &(fg_linear_options){.in = kind->is_bottleneck ? WIDENING * last : last, .out = o.classes});
    return fg_module_error(module, NULL) == FG_OK ? net : NULL;
}

/* ---- applying -------------------------------------------------------------------------------- */

static fg_tensor apply_unit(const unit *u, fg_tensor x)
{
    return fg_batch_norm_apply(u->norm, fg_conv_apply(u->conv, x));
}

static fg_tensor apply_block(const block *b, fg_tensor x)
{
    fg_tensor y = x;
    for (int i = 0; i < b->part_count; i++) {
        y = apply_unit(&b->part[i], y);
        if (i < b->part_count - 1)
            y = fg_relu(y);
    }
    if (b->shortcut.conv != NULL) {
        x = apply_unit(&b->shortcut, x);
        fg_module_note_output(b->downsample, x);
    }
    fg_scope_push(fg_tensor_trace(x), fg_module_name(b->module));
    y = fgi_layer_leave(b->module, fg_relu(fg_add(y, x)));
    fg_module_note_output(b->stage, y);
    return y;
}

fg_tensor fg_resnet_apply(const fg_resnet *net, fg_tensor x)
{
    fg_tensor y;
    if (!fgi_layer_enter(net, "resnet", x, &y))
        return y;
    const fg_type *type = fg_tensor_type(x);
    if (type->rank != 4 || type->dim[3] != net->in || !fg_dtype_is_float(type->dtype))
        return fgi_layer_fail(net->module, x,
                              "expected floating-point images [N, H, W, %" PRId64 "]", net->in);
    y = fg_relu(apply_unit(&net->stem, x));
    if (!net->has_small_stem)
        y = fg_max_pool(y, &(fg_pool_options){.size = 3, .stride = 2, .pad = 1});
    for (int i = 0; i < net->block_count; i++)
        y = apply_block(&net->block[i], y);
    y = fg_linear_apply(net->fc, fg_global_avg_pool(y));
    fg_module_note_output(net->module, y);
    return y;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void *build(fg_module *root, const fg_model_shape *shape, const fg_option_values *values,
                   int depth)
{
    return fg_resnet_create(root, &(fg_resnet_options){.depth = depth,
                                                       .in = shape->image[2],
                                                       .classes = shape->outputs,
                                                       .stem = fg_option_string(values, "stem"),
                                                       .width = fg_option_int(values, "width")});
}

static void *build_18(fg_module *root, const fg_model_shape *shape, const fg_option_values *values)
{
    return build(root, shape, values, 18);
}

static void *build_34(fg_module *root, const fg_model_shape *shape, const fg_option_values *values)
{
    return build(root, shape, values, 34);
}

static void *build_50(fg_module *root, const fg_model_shape *shape, const fg_option_values *values)
{
    return build(root, shape, values, 50);
}

static fg_tensor apply(const void *model, fg_tensor x) { return fg_resnet_apply(model, x); }

static const fg_option options[] = {
    {.name = "stem",
     .kind = FG_OPTION_CHOICE,
     .initial = "imagenet",
     .range = "imagenet|small",
     .example = "small",
     .help = "First layers. imagenet: 7x7 convolution with stride 2, then max pooling; small: 3x3 "
             "convolution, for images of about 32x32 pixels."},
    {.name = "width",
     .kind = FG_OPTION_INT,
     .initial = "64",
     .range = "1..4096",
     .example = "32",
     .help = "Channels of the first stage; later stages have 2, 4 and 8 times as many."},
};

#define ROW(layers)                                                                                \
    {                                                                                              \
        .entry = {.name = "resnet" #layers,                                                        \
                  .help = "residual network, for images",                                          \
                  .options = options,                                                              \
                  .option_count = sizeof options / sizeof options[0]},                             \
        .takes_images = true, .build = build_##layers, .apply = apply                              \
    }
const fg_model_entry fgi_resnet18_row = ROW(18);
const fg_model_entry fgi_resnet34_row = ROW(34);
const fg_model_entry fgi_resnet50_row = ROW(50);
