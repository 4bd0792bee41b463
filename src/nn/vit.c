/* vit.c - vision transformers: pre-norm transformer blocks over a class token and the patches of an
 * image. Variables have timm's names, "blocks.0.attn.qkv.weight". Source: Dosovitskiy et al. 2021,
 * "An image is worth 16x16 words"; timm's VisionTransformer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "nn/model.h"

enum { MOST_LAYERS = 256 };

typedef struct vit {
    int64_t layers, width, heads, patch, query_chunk;
    bool remat;
    double dropout, drop_path, norm_eps;
    fg_module *module;
    fg_conv *embed;
    fg_variable *cls_token, *pos_embed;
    fg_transformer_block *block[MOST_LAYERS];
    fg_norm *norm;
    fg_linear *head;
} vit;

static void build_embeddings(vit *m, const fg_model_shape *shape)
{
    const int64_t *image = shape->image, patches = image[0] / m->patch * (image[1] / m->patch);
    const fg_variable_options normal = {.init = {FG_INIT_NORMAL, 0.02}};
    if (image[0] % m->patch != 0 || image[1] % m->patch != 0)
        (void)fgi_module_fail(m->module, FG_EINVAL,
                              "vit: images of %" PRId64 "x%" PRId64
                              " pixels: expected multiples of the patch size, %" PRId64
                              "\nset data.size, or model.patch",
                              image[0], image[1], m->patch);
    const fg_type cls = {FG_F32, 3, {1, 1, m->width}},
                  pos = {FG_F32, 3, {1, patches + 1, m->width}};
    m->cls_token = fg_module_variable(m->module, "cls_token", &cls, &normal);
    m->pos_embed = fg_module_variable(m->module, "pos_embed", &pos, &normal);
    m->embed = fg_conv_create(
        m->module, "patch_embed.proj",
        &(fg_conv_options){
            .in = image[2], .out = m->width, .kernel = m->patch, .stride = m->patch});
}

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    vit *m = self;
    const fg_init init = {FG_INIT_NORMAL, 0.02};
    fg_transformer_block_options block = {.attention = {.width = m->width,
                                                        .heads = m->heads,
                                                        .query_chunk = m->query_chunk,
                                                        .init = init,
                                                        .out_init = init},
                                          .eps = m->norm_eps,
                                          .dropout = m->dropout,
                                          .remat = m->remat};
    m->module = root;
    build_embeddings(m, shape);
    for (int64_t i = 0; i < m->layers; i++) {
        block.drop_path = fgi_drop_path_of(m->drop_path, i, m->layers);
        m->block[i] = fg_transformer_block_create(root, fgi_numbered("blocks.", i).text, &block);
    }
    m->norm =
        fg_norm_create(root, "norm", &(fg_norm_options){.channels = m->width, .eps = m->norm_eps});
    m->head = fg_linear_create(
        root, "head", &(fg_linear_options){.in = m->width, .out = shape->outputs, .init = init});
}

/* The class token, whose position is the first one, and the patches: T[N, 1 + patches, width]. */
static fg_tensor embed(const vit *m, fg_tensor x)
{
    const fg_tensor patches = fg_conv_apply(m->embed, x);
    const fg_dtype dtype = fg_tensor_type(patches)->dtype;
    const int64_t count = fg_tensor_dim(patches, 1) * fg_tensor_dim(patches, 2);
    const int64_t before[3] = {0, 1, 0}, after[3] = {0, count, 0}, none[3] = {0};
    x = fg_pad(fg_reshape(patches, FG_DIMS(-1, count, m->width)), 0, before, none, NULL);
    const fg_tensor cls = fg_pad(fgi_layer_value(x, m->cls_token, dtype), 0, none, after, NULL);
    return fg_add(x, fg_add(cls, fgi_layer_value(x, m->pos_embed, dtype)));
}

static fg_tensor apply(const void *self, fg_tensor x)
{
    const vit *m = self;
    x = fg_dropout(embed(m, x), m->dropout);
    for (int64_t i = 0; i < m->layers; i++)
        x = fg_transformer_block_apply(m->block[i], x, NULL);
    x = fg_norm_apply(m->norm, x);
    const int64_t start[3] = {0}, end[] = {fg_tensor_dim(x, 0), 1, m->width};
    return fg_linear_apply(m->head,
                           fg_reshape(fg_slice(x, start, end, NULL), FG_DIMS(-1, m->width)));
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define COMMON_OPTIONS                                                                             \
    FG_OPTION(vit, patch, INT, "16", "1..4096", "8",                                               \
              "Height and width of a patch, in pixels; must divide the size of images."),          \
        FG_OPTION(vit, dropout, FLOAT, "0", "0..<1", "0.1",                                        \
                  "Dropout probability of embeddings and layer outputs."),                         \
        FG_OPTION(vit, drop_path, FLOAT, "0", "0..<1", "0.1",                                      \
                  "Probability of skipping the last block (stochastic depth); it increases from "  \
                  "0 at the first block."),                                                        \
        FG_OPTION(vit, norm_eps, FLOAT, "1e-6", "0<..", "1e-12",                                   \
                  "Added to the variance in layer norms."),                                        \
        FGI_OPTIONS_MEMORY(vit)

static const fg_option options[] = {
    COMMON_OPTIONS,
    FG_OPTION(vit, layers, INT, "auto", "auto|1..256", "6", "Number of transformer blocks.",
              .automatic = "12"),
    FG_OPTION(vit, width, INT, "auto", "auto|1..65536", "384", "Size of the hidden state.",
              .automatic = "768"),
    FG_OPTION(vit, heads, INT, "12", "1..1024", "6", "Attention heads; must divide width."),
};
static const fg_option common_options[] = {COMMON_OPTIONS};

/* transformers' ViTConfig. */
#define LAYER "vit.encoder.layer.#."
static const fg_name_rule names[] = {
    {"cls_token", "vit.embeddings.cls_token"},
    {"pos_embed", "vit.embeddings.position_embeddings"},
    {"patch_embed.proj.*", "vit.embeddings.patch_embeddings.projection.*"},
    {"blocks.#.norm1.*", LAYER "layernorm_before.*"},
    {"blocks.#.attn.qkv.*", LAYER "attention.attention.query.*|" LAYER
                                  "attention.attention.key.*|" LAYER "attention.attention.value.*"},
    {"blocks.#.attn.proj.*", LAYER "attention.output.dense.*"},
    {"blocks.#.norm2.*", LAYER "layernorm_after.*"},
    {"blocks.#.mlp.fc1.*", LAYER "intermediate.dense.*"},
    {"blocks.#.mlp.fc2.*", LAYER "output.dense.*"},
    {"norm.*", "vit.layernorm.*"},
    {"head.*", "classifier.*"},
    {NULL, NULL},
};

#define HF_RULES(layers_, width_, heads_)                                                          \
    {                                                                                              \
        {.key = "num_hidden_layers", layers_, .initial = "12"},                                    \
            {.key = "hidden_size", width_, .initial = "768"},                                      \
            {.key = "num_attention_heads", heads_, .initial = "12", .divides = "hidden_size"},     \
            {.key = "patch_size", .option = "patch", .initial = "16"},                             \
            {.key = "layer_norm_eps", .option = "norm_eps", .initial = "1e-12"},                   \
            {.key = "intermediate_size",                                                           \
             .expected = "4",                                                                      \
             .times = "hidden_size",                                                               \
             .initial = "3072"},                                                                   \
            {.key = "hidden_act", .expected = "\"gelu\"", .initial = "\"gelu\""},                  \
            {.key = "qkv_bias", .expected = "true", .initial = "true"},                            \
        {                                                                                          \
            .key = NULL                                                                            \
        }                                                                                          \
    }
#define HF(its_rules)                                                                              \
    {                                                                                              \
        .type = "vit", .architecture = "ViTForImageClassification", .prefix = "vit.",              \
        .rules = (its_rules), .names = names                                                       \
    }

static const fg_config_rule hf_rules[] =
    HF_RULES(.option = "layers", .option = "width", .option = "heads");
static const fg_published published[] = {HF(hf_rules), {.type = NULL}};

const fg_model_entry fgi_vit_row = {
    .entry = {.name = "vit", .help = "vision transformer", FG_OPTIONS(options, vit)},
    .takes_images = true,
    .build = build,
    .apply = apply,
    .published = published,
    .head = "head.*"};

static const fg_config_rule timm_rules[] = {
    {.key = "global_pool", .expected = "\"token\"", .initial = "\"token\""},
    {.key = NULL},
};

#define TIMM(its_architecture, its_options)                                                        \
    {                                                                                              \
        .architecture = (its_architecture), .options = (its_options), .rules = timm_rules          \
    }
#define FORMS(title)                                                                               \
    {                                                                                              \
        TIMM(#title "_patch16_224", "{patch: 16}"), TIMM(#title "_patch16_384", "{patch: 16}"),    \
            TIMM(#title "_patch32_224", "{patch: 32}"),                                            \
            TIMM(#title "_patch32_384", "{patch: 32}"), TIMM(#title "_patch8_224", "{patch: 8}"),  \
            HF(hf_rules_##title),                                                                  \
        {                                                                                          \
            .type = NULL                                                                           \
        }                                                                                          \
    }

#define ROW(title, its_layers, its_width, its_heads)                                               \
    static const fg_config_rule hf_rules_##title[] =                                               \
        HF_RULES(.expected = #its_layers, .expected = #its_width, .expected = #its_heads);         \
    static const fg_published published_##title[] = FORMS(title);                                  \
    static void build_##title(void *self, fg_module *root, const fg_model_shape *shape)            \
    {                                                                                              \
        vit *m = self;                                                                             \
        m->layers = its_layers;                                                                    \
        m->width = its_width;                                                                      \
        m->heads = its_heads;                                                                      \
        build(self, root, shape);                                                                  \
    }                                                                                              \
    const fg_model_entry fgi_##title##_row = {                                                     \
        .entry = {.name = #title, .help = "vision transformer", FG_OPTIONS(common_options, vit)},  \
        .takes_images = true,                                                                      \
        .build = build_##title,                                                                    \
        .apply = apply,                                                                            \
        .published = published_##title,                                                            \
        .head = "head.*"}

ROW(vit_tiny, 12, 192, 3);
ROW(vit_small, 12, 384, 6);
ROW(vit_base, 12, 768, 12);
ROW(vit_large, 24, 1024, 16);
