/* resnet.c - residual networks with 18 to 152 layers, composed of public layers.
 *
 * The stem (conv1, bn1) is a 7x7 convolution with stride 2 before 3x3 max pooling, or, for small
 * images, a 3x3 convolution. Stages layer1 to layer4 have width, 2, 4 and 8 times width channels.
 * A stage is a sequence of blocks; the first block of every stage except the first halves the
 * resolution. From 50 layers on, blocks are bottlenecks with the stride in the 3x3 convolution
 * ("v1.5"), like published weights; that convolution is wider in ResNeXts, in groups, and in wide
 * networks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "nn/model.h"

enum { STAGES = 4, MOST_BLOCKS = 50, MOST_PARTS = 3, WIDENING = 4, PLAIN_WIDTH = 64 };

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

enum stem { IMAGENET, SMALL };

typedef struct resnet {
    enum stem stem;
    int64_t width;
    fg_module *module;
    unit first;
    block block[MOST_BLOCKS];
    int block_count;
    fg_linear *fc;
} resnet;

typedef struct kind {
    const char *name;
    int blocks[STAGES];
    bool is_bottleneck;
    int groups, group_width; /* of 3x3 convolutions in bottlenecks, in layer1 for width 64 */
} kind;

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
static block make_block(fg_module *parent, const char *name, const kind *k, int64_t in,
                        int64_t width, int64_t stride)
{
    const bool is_bottleneck = k->is_bottleneck;
    const int64_t out = is_bottleneck ? WIDENING * width : width;
    const int64_t middle = width * k->groups * k->group_width / PLAIN_WIDTH;
    const fg_conv_options plain[] = {{.in = in, .out = width, .kernel = 3, .stride = stride},
                                     {.in = width, .out = width, .kernel = 3}};
    const fg_conv_options narrow[] = {
        {.in = in, .out = middle, .kernel = 1},
        {.in = middle, .out = middle, .kernel = 3, .stride = stride, .groups = k->groups},
        {.in = middle, .out = out, .kernel = 1}};
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

/* Returns the channels of the last block. */
static int64_t make_stages(resnet *net, const kind *k)
{
    int64_t width = net->width, in = width;
    for (int stage = 0; stage < STAGES; stage++, width *= 2) {
        char name[16];
        (void)snprintf(name, sizeof name, "layer%d", stage + 1);
        fg_module *module = fg_module_child(net->module, name);
        for (int i = 0; i < k->blocks[stage]; i++) {
            (void)snprintf(name, sizeof name, "%d", i);
            net->block[net->block_count++] =
                make_block(module, name, k, in, width, stage > 0 && i == 0 ? 2 : 1);
            in = k->is_bottleneck ? WIDENING * width : width;
        }
    }
    return in;
}

static void build(void *self, fg_module *module, const fg_model_shape *shape, const kind *k)
{
    resnet *net = self;
    const bool is_small = net->stem == SMALL;
    const fg_conv_options stem = {.in = shape->image[2],
                                  .out = net->width,
                                  .kernel = is_small ? 3 : 7,
                                  .stride = is_small ? 1 : 2};
    if (k->is_bottleneck && net->width * k->group_width % PLAIN_WIDTH != 0)
        (void)fgi_module_fail(module, FG_EINVAL,
                              "%s: model.width is %" PRId64 ": expected a multiple of %d", k->name,
                              net->width, PLAIN_WIDTH / k->group_width);
    fg_module_describe(module, k->name, is_small ? "small" : "imagenet");
    net->module = module;
    net->first = make_unit(module, "conv1", "bn1", stem);
    const fg_linear_options fc = {.in = make_stages(net, k), .out = shape->outputs};
    net->fc = fg_linear_create(module, "fc", &fc);
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

static fg_tensor apply(const void *self, fg_tensor x)
{
    const resnet *net = self;
    x = fg_relu(apply_unit(&net->first, x));
    if (net->stem == IMAGENET)
        x = fg_max_pool(x, &(fg_pool_options){.size = 3, .stride = 2, .pad = 1});
    for (int i = 0; i < net->block_count; i++)
        x = apply_block(&net->block[i], x);
    return fg_linear_apply(net->fc, fg_global_avg_pool(x));
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const fg_option options[] = {
    FG_OPTION_ENUM(resnet, stem, "imagenet", "imagenet|small", "small",
                   "First layers. imagenet: 7x7 convolution with stride 2, then max pooling; "
                   "small: 3x3 convolution, for images of about 32x32 pixels."),
    FG_OPTION(resnet, width, INT, "auto", "auto|1..65536", "32",
              "Channels of the first stage; later stages have 2, 4 and 8 times as many.",
              .automatic = "64"),
};

/* transformers' ResNetConfig, whose networks have no groups. */
#define NAMES "resnet.encoder.stages.#.layers.#."
static const fg_name_rule names[] = {
    {"conv1.*", "resnet.embedder.embedder.convolution.*"},
    {"bn1.*", "resnet.embedder.embedder.normalization.*"},
    {"layer#1.#.conv#1.*", NAMES "layer.#.convolution.*"},
    {"layer#1.#.bn#1.*", NAMES "layer.#.normalization.*"},
    {"layer#1.#.downsample.0.*", NAMES "shortcut.convolution.*"},
    {"layer#1.#.downsample.1.*", NAMES "shortcut.normalization.*"},
    {"fc.*", "classifier.1.*"},
    {NULL, NULL},
};

static const fg_config_rule timm_rules[] = {
    {.key = "global_pool", .expected = "\"avg\"", .initial = "\"avg\""},
    {.key = NULL},
};

#define TIMM(title)                                                                                \
    {                                                                                              \
        .architecture = #title, .rules = timm_rules                                                \
    }

#define ROW(title, published_, ...)                                                                \
    static void build_##title(void *self, fg_module *root, const fg_model_shape *shape)            \
    {                                                                                              \
        build(self, root, shape, &(kind){#title, __VA_ARGS__});                                    \
    }                                                                                              \
    const fg_model_entry fgi_##title##_row = {                                                     \
        .entry = {.name = #title, .help = "residual network", FG_OPTIONS(options, resnet)},        \
        .takes_images = true,                                                                      \
        .build = build_##title,                                                                    \
        .apply = apply,                                                                            \
        .published = published_,                                                                   \
        .head = "fc.*"}

#define BLOCKS(...)                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* A network that transformers has too; hidden: channels of the stages by those of the stem. */
#define RESNET(title, is_bottleneck, layer, hidden, depths, ...)                                   \
    static const fg_config_rule rules_##title[] = {                                                \
        {.key = "layer_type", .expected = "\"" layer "\"", .initial = "\"bottleneck\""},           \
        {.key = "depths", .expected = depths, .initial = "[3, 4, 6, 3]"},                          \
        {.key = "embedding_size", .option = "width", .initial = "64"},                             \
        {.key = "hidden_sizes",                                                                    \
         .expected = hidden,                                                                       \
         .times = "embedding_size",                                                                \
         .initial = "[256, 512, 1024, 2048]"},                                                     \
        {.key = "hidden_act", .expected = "\"relu\"", .initial = "\"relu\""},                      \
        {.key = "downsample_in_first_stage", .expected = "false", .initial = "false"},             \
        {.key = "downsample_in_bottleneck", .expected = "false", .initial = "false"},              \
        {.key = NULL}};                                                                            \
    static const fg_published published_##title[] = {                                              \
        {.type = "resnet",                                                                         \
         .architecture = "ResNetForImageClassification",                                           \
         .prefix = "resnet.",                                                                      \
         .rules = rules_##title,                                                                   \
         .names = names},                                                                          \
        TIMM(title),                                                                               \
        {.type = NULL}};                                                                           \
    ROW(title, published_##title, BLOCKS(__VA_ARGS__), is_bottleneck, 1, 64)

#define BASIC(title, ...)      RESNET(title, false, "basic", "[1, 2, 4, 8]", __VA_ARGS__)
#define BOTTLENECK(title, ...) RESNET(title, true, "bottleneck", "[4, 8, 16, 32]", __VA_ARGS__)
BASIC(resnet18, "[2, 2, 2, 2]", 2, 2, 2, 2);
BASIC(resnet34, "[3, 4, 6, 3]", 3, 4, 6, 3);
BOTTLENECK(resnet50, "[3, 4, 6, 3]", 3, 4, 6, 3);
BOTTLENECK(resnet101, "[3, 4, 23, 3]", 3, 4, 23, 3);
BOTTLENECK(resnet152, "[3, 8, 36, 3]", 3, 8, 36, 3);

#define WIDE(title, groups, group_width, ...)                                                      \
    static const fg_published published_##title[] = {TIMM(title), {.type = NULL}};                 \
    ROW(title, published_##title, BLOCKS(__VA_ARGS__), true, groups, group_width)
WIDE(resnext50_32x4d, 32, 4, 3, 4, 6, 3);
WIDE(resnext101_32x8d, 32, 8, 3, 4, 23, 3);
WIDE(resnext101_64x4d, 64, 4, 3, 4, 23, 3);
WIDE(wide_resnet50_2, 1, 128, 3, 4, 6, 3);
WIDE(wide_resnet101_2, 1, 128, 3, 4, 23, 3);
