/* convnext.c - ConvNeXt: stages of depthwise convolutions followed by an MLP of each pixel.
 * Variables have timm's names, "stages.0.blocks.0.conv_dw.weight". Source: Liu et al. 2022, "A
 * ConvNet for the 2020s"; timm's ConvNeXt.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include <stdio.h>

#include "nn/model.h"

enum { STAGES = 4, MOST_BLOCKS = 256, KERNEL = 7 };

typedef struct block {
    fg_module *module;
    fg_conv *conv;
    fg_norm *norm;
    fg_linear *up, *down;
    fg_variable *gamma;
    double drop_path;
} block;

typedef struct stage {
    fg_norm *norm; /* before the convolution that halves the resolution; NULL in the first stage */
    fg_conv *down;
    int64_t first, end; /* blocks */
} stage;

typedef struct convnext {
    int64_t depths[STAGES], widths[STAGES];
    double drop_path;
    fg_conv *stem;
    fg_norm *stem_norm, *head_norm;
    stage stage[STAGES];
    block block[MOST_BLOCKS];
    fg_linear *head;
} convnext;

static fg_norm *make_norm(fg_module *parent, const char *name, int64_t width)
{
    return fg_norm_create(parent, name, &(fg_norm_options){.channels = width, .eps = 1e-6});
}

static block make_block(fg_module *parent, const char *name, int64_t width, double drop_path)
{
    const fg_init init = {FG_INIT_NORMAL, 0.02};
    const fg_variable_options scale = {.init = {FG_INIT_CONSTANT, 1e-6}};
    block b = {.module = fg_module_child(parent, name), .drop_path = drop_path};
    if (b.module == NULL)
        return b;
    fg_module_describe(b.module, "convnext_block", NULL);
    b.gamma = fgi_layer_vector(b.module, "gamma", width, &scale);
    b.conv = fg_conv_create(b.module, "conv_dw",
                            &(fg_conv_options){.in = width,
                                               .out = width,
                                               .kernel = KERNEL,
                                               .pad = KERNEL / 2,
                                               .groups = width,
                                               .init = init});
    b.norm = make_norm(b.module, "norm", width);
    b.up = fg_linear_create(b.module, "mlp.fc1",
                            &(fg_linear_options){.in = width, .out = 4 * width, .init = init});
    b.down = fg_linear_create(b.module, "mlp.fc2",
                              &(fg_linear_options){.in = 4 * width, .out = width, .init = init});
    return b;
}

/* Returns the number of blocks so far. */
static int64_t make_stage(convnext *m, fg_module *root, int i, int64_t first, int64_t blocks)
{
    stage *s = &m->stage[i];
    fg_module *module = fg_module_child(root, fgi_numbered("stages.", i).text);
    *s = (stage){.first = first, .end = first + m->depths[i]};
    if (i > 0) {
        s->norm = make_norm(module, "downsample.0", m->widths[i - 1]);
        s->down = fg_conv_create(
            module, "downsample.1",
            &(fg_conv_options){
                .in = m->widths[i - 1], .out = m->widths[i], .kernel = 2, .stride = 2});
    }
    for (int64_t k = first; k < s->end; k++)
        m->block[k] = make_block(module, fgi_numbered("blocks.", k - first).text, m->widths[i],
                                 fgi_drop_path_of(m->drop_path, k, blocks));
    return s->end;
}

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    convnext *m = self;
    int64_t blocks = 0, made = 0;
    for (int i = 0; i < STAGES; i++)
        blocks += m->depths[i];
    if (!fgi_check_image(root, shape, 32))
        return;
    m->stem = fg_conv_create(
        root, "stem.0",
        &(fg_conv_options){.in = shape->image[2], .out = m->widths[0], .kernel = 4, .stride = 4});
    m->stem_norm = make_norm(root, "stem.1", m->widths[0]);
    for (int i = 0; i < STAGES; i++)
        made = make_stage(m, root, i, made, blocks);
    m->head_norm = make_norm(root, "head.norm", m->widths[STAGES - 1]);
    m->head = fg_linear_create(
        root, "head.fc", &(fg_linear_options){.in = m->widths[STAGES - 1], .out = shape->outputs});
}

static fg_tensor apply_block(const block *b, fg_tensor x)
{
    fg_tensor y = fg_norm_apply(b->norm, fg_conv_apply(b->conv, x));
    y = fg_linear_apply(b->down, fg_gelu(fg_linear_apply(b->up, y)));
    fg_scope_push(fg_tensor_trace(x), fg_module_name(b->module));
    y = fg_mul(y, fgi_layer_value(y, b->gamma, fg_tensor_type(y)->dtype));
    return fgi_layer_leave(b->module, fg_add(x, fg_drop_path(y, b->drop_path)));
}

static fg_tensor apply(const void *self, fg_tensor x)
{
    const convnext *m = self;
    x = fg_norm_apply(m->stem_norm, fg_conv_apply(m->stem, x));
    for (int i = 0; i < STAGES; i++) {
        if (m->stage[i].down != NULL)
            x = fg_conv_apply(m->stage[i].down, fg_norm_apply(m->stage[i].norm, x));
        for (int64_t k = m->stage[i].first; k < m->stage[i].end; k++)
            x = apply_block(&m->block[k], x);
    }
    return fg_linear_apply(m->head, fg_norm_apply(m->head_norm, fg_global_avg_pool(x)));
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define OF_STAGES(member, initial_, range_, example_, help_)                                       \
    {                                                                                              \
        .name = #member, .kind = FG_OPTION_INTS, .min_count = STAGES, .max_count = STAGES,         \
        .offset = offsetof(convnext, member), .initial = (initial_), .range = (range_),            \
        .example = (example_), .help = (help_)                                                     \
    }

static const fg_option options[] = {
    OF_STAGES(depths, "[3, 3, 9, 3]", "1..64", "[3, 3, 27, 3]", "Number of blocks in each stage."),
    OF_STAGES(widths, "[96, 192, 384, 768]", "1..65536", "[40, 80, 160, 320]",
              "Number of channels in each stage."),
    FG_OPTION(convnext, drop_path, FLOAT, "0", "0..<1", "0.1",
              "Probability of skipping the last block (stochastic depth); it increases from 0 at "
              "the first block."),
};

static const fg_config_rule rules[] = {
    {.key = "depths", .option = "depths", .initial = "[3, 3, 9, 3]"},
    {.key = "hidden_sizes", .option = "widths", .initial = "[96, 192, 384, 768]"},
    {.key = "patch_size", .expected = "4", .initial = "4"},
    {.key = "hidden_act", .expected = "\"gelu\"", .initial = "\"gelu\""},
    {.key = "layer_norm_eps", .expected = "1e-12", .initial = "1e-12"},
    {.key = NULL},
};

#define BLOCK "stages.#.blocks.#."
#define LAYER "convnext.encoder.stages.#.layers.#."
static const fg_name_rule names[] = {
    {"stem.0.*", "convnext.embeddings.patch_embeddings.*"},
    {"stem.1.*", "convnext.embeddings.layernorm.*"},
    {"stages.#.downsample.#.*", "convnext.encoder.stages.#.downsampling_layer.#.*"},
    {BLOCK "conv_dw.*", LAYER "dwconv.*"},
    {BLOCK "norm.*", LAYER "layernorm.*"},
    {BLOCK "mlp.fc1.*", LAYER "pwconv1.*"},
    {BLOCK "mlp.fc2.*", LAYER "pwconv2.*"},
    {BLOCK "gamma", LAYER "layer_scale_parameter"},
    {"head.norm.*", "convnext.layernorm.*"},
    {"head.fc.*", "classifier.*"},
    {NULL, NULL},
};

static const fg_config_rule timm_rules[] = {
    {.key = "global_pool", .expected = "\"avg\"", .initial = "\"avg\""},
    {.key = NULL},
};

#define TIMM(its_name, its_options)                                                                \
    {                                                                                              \
        .architecture = (its_name), .options = (its_options), .rules = timm_rules                  \
    }

static const fg_published published[] = {
    {.type = "convnext",
     .architecture = "ConvNextForImageClassification",
     .prefix = "convnext.",
     .rules = rules,
     .names = names},
    TIMM("convnext_tiny", NULL),
    TIMM("convnext_small", "{depths: [3, 3, 27, 3]}"),
    TIMM("convnext_base", "{depths: [3, 3, 27, 3], widths: [128, 256, 512, 1024]}"),
    TIMM("convnext_large", "{depths: [3, 3, 27, 3], widths: [192, 384, 768, 1536]}"),
    {.type = NULL}};

const fg_model_entry fgi_convnext_row = {
    .entry = {.name = "convnext", .help = "ConvNeXt", FG_OPTIONS(options, convnext)},
    .takes_images = true,
    .build = build,
    .apply = apply,
    .published = published,
    .head = "head.fc.*"};
