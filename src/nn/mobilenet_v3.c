/* mobilenet_v3.c - MobileNetV3: inverted residual blocks found by search. Variables have timm's
 * names, "blocks.1.0.conv_dw.weight". Source: Howard et al. 2019, "Searching for MobileNetV3";
 * timm's MobileNetV3.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/inverted_residual.h"

enum { STEM = 16, MOST_BLOCKS = 16 };

typedef struct plan {
    int64_t stage, kernel, stride, expanded, channels;
    bool squeezes, is_hard; /* squeeze and excitation; hard swish, not ReLU */
} plan;

/* Tables 1 and 2 of the paper; the first block of a network never widens. */
static const plan large[] = {
    {0, 3, 1, 16, 16, false, false}, {1, 3, 2, 64, 24, false, false},
    {1, 3, 1, 72, 24, false, false}, {2, 5, 2, 72, 40, true, false},
    {2, 5, 1, 120, 40, true, false}, {2, 5, 1, 120, 40, true, false},
    {3, 3, 2, 240, 80, false, true}, {3, 3, 1, 200, 80, false, true},
    {3, 3, 1, 184, 80, false, true}, {3, 3, 1, 184, 80, false, true},
    {4, 3, 1, 480, 112, true, true}, {4, 3, 1, 672, 112, true, true},
    {5, 5, 2, 672, 160, true, true}, {5, 5, 1, 960, 160, true, true},
    {5, 5, 1, 960, 160, true, true},
};
static const plan small[] = {
    {0, 3, 2, 16, 16, true, false},  {1, 3, 2, 72, 24, false, false},
    {1, 3, 1, 88, 24, false, false}, {2, 5, 2, 96, 40, true, true},
    {2, 5, 1, 240, 40, true, true},  {2, 5, 1, 240, 40, true, true},
    {3, 5, 1, 120, 48, true, true},  {3, 5, 1, 144, 48, true, true},
    {4, 5, 2, 288, 96, true, true},  {4, 5, 1, 576, 96, true, true},
    {4, 5, 1, 576, 96, true, true},
};

typedef struct mobilenet_v3 {
    double dropout;
    fg_conv *stem, *widen, *head;
    fg_batch_norm *stem_norm, *widen_norm;
    fgi_inverted block[MOST_BLOCKS];
    int block_count;
    fg_linear *classifier;
} mobilenet_v3;

static void make_block(mobilenet_v3 *m, fg_module *stage, const plan *p, int64_t number, int64_t in)
{
    const fgi_inverted_spec spec = {
        .kernel = p->kernel,
        .stride = p->stride,
        .in = in,
        .out = p->channels,
        .expanded = p->expanded,
        .squeezed = p->squeezes ? fgi_round_channels(0.25 * (double)p->expanded) : 0,
        .activation = p->is_hard ? fg_hardswish : fg_relu,
        .squeeze_activation = fg_relu,
        .gate = fg_hardsigmoid,
        .is_separable = p->stage == 0};
    m->block[m->block_count++] =
        fgi_inverted_create(stage, fgi_numbered("", number).text, &spec, 0);
}

static void build(void *self, fg_module *root, const fg_model_shape *shape, const plan *plans,
                  int count, int64_t head)
{
    mobilenet_v3 *m = self;
    fg_module *stage = NULL;
    int64_t in = STEM, number = 0;
    if (!fgi_check_image(root, shape, 32))
        return;
    m->stem = fgi_plain_conv(
        root, "conv_stem",
        (fg_conv_options){.in = shape->image[2], .out = STEM, .kernel = 3, .stride = 2});
    m->stem_norm = fgi_plain_norm(root, "bn1", STEM);
    for (int i = 0; i < count; i++, number++) {
        if (i == 0 || plans[i].stage != plans[i - 1].stage) {
            stage = fg_module_child(root, fgi_numbered("blocks.", plans[i].stage).text);
            number = 0;
        }
        make_block(m, stage, &plans[i], number, in);
        in = plans[i].channels;
    }
    const int64_t wide = 6 * in;
    stage = fg_module_child(root, fgi_numbered("blocks.", plans[count - 1].stage + 1).text);
    m->widen =
        fgi_plain_conv(stage, "0.conv", (fg_conv_options){.in = in, .out = wide, .kernel = 1});
    m->widen_norm = fgi_plain_norm(stage, "0.bn1", wide);
    m->head =
        fg_conv_create(root, "conv_head", &(fg_conv_options){.in = wide, .out = head, .kernel = 1});
    m->classifier = fg_linear_create(root, "classifier",
                                     &(fg_linear_options){.in = head, .out = shape->outputs});
}

static fg_tensor apply(const void *self, fg_tensor x)
{
    const mobilenet_v3 *m = self;
    x = fg_hardswish(fg_batch_norm_apply(m->stem_norm, fg_conv_apply(m->stem, x)));
    for (int i = 0; i < m->block_count; i++)
        x = fgi_inverted_apply(&m->block[i], x);
    x = fg_hardswish(fg_batch_norm_apply(m->widen_norm, fg_conv_apply(m->widen, x)));
    x = fg_global_avg_pool(x);
    x = fg_reshape(x, FG_DIMS(-1, 1, 1, fg_tensor_dim(x, 1)));
    x = fg_flatten(fg_hardswish(fg_conv_apply(m->head, x)), 1);
    return fg_linear_apply(m->classifier, fg_dropout(x, m->dropout));
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const fg_option options[] = {
    FG_OPTION(mobilenet_v3, dropout, FLOAT, "0", "0..<1", "0.2",
              "Dropout probability before the classifier."),
};

#define COUNT(list) ((int)(sizeof(list) / sizeof((list)[0])))
#define ROW(title, published_name, plans, head_width)                                              \
    static void build_##title(void *self, fg_module *root, const fg_model_shape *shape)            \
    {                                                                                              \
        build(self, root, shape, plans, COUNT(plans), head_width);                                 \
    }                                                                                              \
    static const fg_published published_##title[] = {{.architecture = (published_name)},           \
                                                     {.type = NULL}};                              \
    const fg_model_entry fgi_##title##_row = {                                                     \
        .entry = {.name = #title, .help = "MobileNetV3", FG_OPTIONS(options, mobilenet_v3)},       \
        .takes_images = true,                                                                      \
        .build = build_##title,                                                                    \
        .apply = apply,                                                                            \
        .published = published_##title,                                                            \
        .head = "classifier.*"}

ROW(mobilenet_v3_large, "mobilenetv3_large_100", large, 1280);
ROW(mobilenet_v3_small, "mobilenetv3_small_100", small, 1024);
