/* efficientnet.c - EfficientNet: inverted residual blocks, whose number and width are scaled
 * together. Variables have timm's names, "blocks.1.0.conv_dw.weight". Source: Tan and Le 2019,
 * "EfficientNet"; timm's EfficientNet.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nn/inverted_residual.h"

enum { STAGES = 7, MOST_BLOCKS = 128, STEM = 32, HEAD = 1280 };

/* Table 1 of the paper. */
static const struct {
    int64_t blocks, kernel, stride, expansion, channels;
} stages[STAGES] = {{1, 3, 1, 1, 16},  {2, 3, 2, 6, 24},  {2, 5, 2, 6, 40}, {3, 3, 2, 6, 80},
                    {3, 5, 1, 6, 112}, {4, 5, 2, 6, 192}, {1, 3, 1, 6, 320}};

typedef struct efficientnet {
    double width_factor, depth_factor, dropout, drop_path;
    fg_conv *stem, *head;
    fg_batch_norm *stem_norm, *head_norm;
    fgi_inverted block[MOST_BLOCKS];
    int64_t block_count;
    fg_linear *classifier;
} efficientnet;

static int64_t blocks_of(const efficientnet *m, int stage)
{
    return (int64_t)ceil(m->depth_factor * (double)stages[stage].blocks);
}

/* Returns the channels of the last block. */
static int64_t make_stages(efficientnet *m, fg_module *root, int64_t in)
{
    int64_t total = 0;
    for (int i = 0; i < STAGES; i++)
        total += blocks_of(m, i);
    for (int i = 0; i < STAGES; i++) {
        fg_module *stage = fg_module_child(root, fgi_numbered("blocks.", i).text);
        for (int64_t k = 0; k < blocks_of(m, i); k++) {
            const fgi_inverted_spec spec = {
                .kernel = stages[i].kernel,
                .stride = k == 0 ? stages[i].stride : 1,
                .in = in,
                .out = fgi_round_channels(m->width_factor * (double)stages[i].channels),
                .expanded = stages[i].expansion * in,
                .squeezed = llrint(0.25 * (double)in),
                .activation = fg_silu,
                .squeeze_activation = fg_silu,
                .gate = fg_sigmoid,
                .is_separable = stages[i].expansion == 1};
            /* timm's rates do not reach the given one */
            const double rate = m->drop_path * (double)m->block_count / (double)total;
            m->block[m->block_count++] =
                fgi_inverted_create(stage, fgi_numbered("", k).text, &spec, rate);
            in = spec.out;
        }
    }
    return in;
}

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    efficientnet *m = self;
    const int64_t stem = fgi_round_channels(m->width_factor * STEM);
    const int64_t head = fgi_round_channels(m->width_factor * HEAD);
    if (!fgi_check_image(root, shape, 32))
        return;
    m->stem = fgi_plain_conv(
        root, "conv_stem",
        (fg_conv_options){.in = shape->image[2], .out = stem, .kernel = 3, .stride = 2});
    m->stem_norm = fgi_plain_norm(root, "bn1", stem);
    const int64_t last = make_stages(m, root, stem);
    m->head =
        fgi_plain_conv(root, "conv_head", (fg_conv_options){.in = last, .out = head, .kernel = 1});
    m->head_norm = fgi_plain_norm(root, "bn2", head);
    m->classifier = fg_linear_create(root, "classifier",
                                     &(fg_linear_options){.in = head, .out = shape->outputs});
}

static fg_tensor apply(const void *self, fg_tensor x)
{
    const efficientnet *m = self;
    x = fg_silu(fg_batch_norm_apply(m->stem_norm, fg_conv_apply(m->stem, x)));
    for (int64_t i = 0; i < m->block_count; i++)
        x = fgi_inverted_apply(&m->block[i], x);
    x = fg_silu(fg_batch_norm_apply(m->head_norm, fg_conv_apply(m->head, x)));
    return fg_linear_apply(m->classifier, fg_dropout(fg_global_avg_pool(x), m->dropout));
}

static const fg_option options[] = {
    FG_OPTION(efficientnet, width_factor, FLOAT, "1", "0<..8", "1.4",
              "Factor for the number of channels; 1 is EfficientNet-B0."),
    FG_OPTION(efficientnet, depth_factor, FLOAT, "1", "0<..4", "1.8",
              "Factor for the number of blocks; 1 is EfficientNet-B0."),
    FG_OPTION(efficientnet, dropout, FLOAT, "0", "0..<1", "0.2",
              "Dropout probability before the classifier."),
    FG_OPTION(efficientnet, drop_path, FLOAT, "0", "0..<1", "0.1",
              "Probability of skipping the last block (stochastic depth); it increases from 0 at "
              "the first block."),
};

/* Source: the paper's code. */
static const fg_published published[] = {
    {.architecture = "efficientnet_b0"},
    {.architecture = "efficientnet_b1", .options = "{depth_factor: 1.1}"},
    {.architecture = "efficientnet_b2", .options = "{width_factor: 1.1, depth_factor: 1.2}"},
    {.architecture = "efficientnet_b3", .options = "{width_factor: 1.2, depth_factor: 1.4}"},
    {.architecture = "efficientnet_b4", .options = "{width_factor: 1.4, depth_factor: 1.8}"},
    {.type = NULL}};

const fg_model_entry fgi_efficientnet_row = {
    .entry = {.name = "efficientnet", .help = "EfficientNet", FG_OPTIONS(options, efficientnet)},
    .takes_images = true,
    .build = build,
    .apply = apply,
    .published = published,
    .head = "classifier.*"};
