/* transformer.c - multi-head attention and transformer blocks, composed of other layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "nn/layer.h"
#include "op/op.h"

/* ---- multi-head attention
 * --------------------------------------------------------------------- */

enum { QUERY, KEY, VALUE, PARTS };

struct fg_multihead_attention {
    fg_module *module;
    fg_linear *in[PARTS]; /* the first computes all three, if there is no other */
    fg_linear *out;
    fg_multihead_attention_options o; /* with defaults */
};

static fg_multihead_attention_options with_defaults(const fg_multihead_attention_options *options)
{
    fg_multihead_attention_options o =
        options != NULL ? *options : (fg_multihead_attention_options){0};
    if (o.kv_heads == 0)
        o.kv_heads = o.heads;
    if (o.head_width == 0 && o.heads > 0 && o.width % o.heads == 0)
        o.head_width = o.width / o.heads;
    o.rotary_base = o.rotary_base != 0 ? o.rotary_base : 10000;
    o.query = o.query != NULL ? o.query : "qkv";
    o.out = o.out != NULL ? o.out : "proj";
    return o;
}

static bool check(fg_module *module, const fg_multihead_attention_options *o)
{
    const char *name = fg_module_name(module);
    if (o->width < 1 || o->heads < 1 || o->head_width < 1)
        (void)fgi_module_fail(module, FG_EINVAL,
                              "attention '%s': width %" PRId64 ", heads %" PRId64
                              ": both must be given, and heads must divide width",
                              name, o->width, o->heads);
    else if (o->kv_heads < 1 || o->heads % o->kv_heads != 0)
        (void)fgi_module_fail(module, FG_EINVAL,
                              "attention '%s': kv_heads %" PRId64 " do not divide heads %" PRId64,
                              name, o->kv_heads, o->heads);
    else if (o->position == FG_POSITION_ROTARY && o->head_width % 2 != 0)
        (void)fgi_module_fail(module, FG_EINVAL,
                              "attention '%s': rotary positions require an even head width, not "
                              "%" PRId64,
                              name, o->head_width);
    else if (o->window < 0 || o->query_chunk < 0 || !(o->dropout >= 0 && o->dropout < 1) ||
             (o->key == NULL) != (o->value == NULL))
        (void)fgi_module_fail(module, FG_EINVAL,
                              "attention '%s': window is %" PRId64 ", query_chunk %" PRId64
                              ", dropout %g: expected at least 0, dropout below 1, and names for "
                              "key and value or for none of them",
                              name, o->window, o->query_chunk, o->dropout);
    return fg_module_error(module, NULL) == FG_OK;
}

fg_multihead_attention *fg_multihead_attention_create(fg_module *parent, const char *name,
                                                      const fg_multihead_attention_options *options)
{
    const fg_multihead_attention_options o = with_defaults(options);
    fg_module *module = fg_module_child(parent, name);
    if (module == NULL ||
        !fgi_module_check_reserved(module, FGI_RESERVED(fg_multihead_attention_options, options)) ||
        !check(module, &o))
        return NULL;
    char detail[64];
    (void)snprintf(detail, sizeof detail, "%" PRId64 ", %" PRId64 " heads", o.width, o.heads);
    fg_module_describe(module, "attention", detail);
    fg_multihead_attention *layer = fgi_layer_create(module, sizeof *layer);
    if (layer == NULL)
        return NULL;
    const int64_t width = o.heads * o.head_width, kv_width = o.kv_heads * o.head_width;
    fg_linear_options in = {.in = o.width,
                            .out = o.key != NULL ? width : width + 2 * kv_width,
                            .no_bias = o.no_bias,
                            .is_conv1d = o.is_conv1d,
                            .init = o.init};
    const fg_linear_options out = {.in = width,
                                   .out = o.width,
                                   .no_bias = o.no_out_bias,
                                   .is_conv1d = o.is_conv1d,
                                   .init = o.out_init};
    layer->module = module;
    layer->o = o;
    layer->in[QUERY] = fg_linear_create(module, o.query, &in);
    in.out = kv_width;
    if (o.key != NULL) {
        layer->in[KEY] = fg_linear_create(module, o.key, &in);
        layer->in[VALUE] = fg_linear_create(module, o.value, &in);
    }
    layer->out = fg_linear_create(module, o.out, &out);
    return fg_module_error(module, NULL) == FG_OK ? layer : NULL;
}

/* Queries, keys and values T[B, T, heads, head_width] of x; returns what they are slices of, or
 * empty. */
static fg_tensor project(const fg_multihead_attention *layer, fg_tensor x, fg_tensor part[PARTS])
{
    const fg_multihead_attention_options *o = &layer->o;
    const int64_t heads[] = {o->heads, o->kv_heads, o->kv_heads};
    const int64_t batch = fg_tensor_dim(x, 0), length = fg_tensor_dim(x, 1);
    const fg_tensor first = fg_linear_apply(layer->in[QUERY], x);
    int64_t start[3] = {0, 0, 0}, end[3] = {batch, length, 0};
    for (int i = 0; i < PARTS; i++) {
        start[2] = end[2];
        end[2] += heads[i] * o->head_width;
        part[i] = layer->in[KEY] == NULL ? fg_slice(first, start, end, NULL)
                  : i == 0               ? first
                                         : fg_linear_apply(layer->in[i], x);
        part[i] = fg_reshape(part[i], FG_DIMS(batch, length, heads[i], o->head_width));
    }
    return layer->in[KEY] == NULL ? first : (fg_tensor){0};
}

fg_tensor fg_multihead_attention_apply(const fg_multihead_attention *layer, fg_tensor x,
                                       const fg_attention_masks *masks)
{
    fg_tensor y, part[PARTS], position;
    if (!fgi_layer_enter(layer, "attention", x, &y))
        return y;
    const fg_multihead_attention_options *o = &layer->o;
    if (!fgi_trace_check_reserved(fg_tensor_trace(x), FGI_RESERVED(fg_attention_masks, masks)))
        return fgi_poison(fg_tensor_trace(x));
    if (fg_tensor_type(x)->rank != 3 || fg_tensor_dim(x, 2) != o->width)
        return fgi_layer_fail(layer->module, x,
                              "expected floating-point sequences [B, T, %" PRId64 "]", o->width);
    fg_scope_push(fg_tensor_trace(x), fg_module_name(layer->module));
    fg_tensor packed = project(layer, x, part);
    fg_kv_cache *cache = fgi_kv_cache_in_use(layer->module, &position);
    if (o->position == FG_POSITION_ROTARY || cache != NULL)
        packed = (fg_tensor){0};
    for (int i = QUERY; o->position == FG_POSITION_ROTARY && i <= KEY; i++)
        part[i] = fg_rotary(part[i], o->rotary_base, position);
    for (int i = KEY; cache != NULL && i < PARTS; i++)
        part[i] = fgi_kv_cache_store(cache, layer->module, i - KEY, part[i]);
    const fg_attention_options how = {.causal = o->causal || cache != NULL,
                                      .alibi = o->position == FG_POSITION_ALIBI,
                                      .window = o->window,
                                      .valid = masks != NULL ? masks->valid : (fg_tensor){0},
                                      .segment = masks != NULL ? masks->segment : (fg_tensor){0},
                                      .position = position,
                                      .dropout = o->dropout,
                                      .query_chunk = o->query_chunk};
    y = fgi_attention_of(packed, part[QUERY], part[KEY], part[VALUE], &how);
    y = fg_linear_apply(layer->out, fg_reshape(y, FG_DIMS(fg_tensor_dim(x, 0), fg_tensor_dim(x, 1),
                                                          o->heads * o->head_width)));
    return fgi_layer_leave(layer->module, y);
}

/* ---- transformer blocks
 * ------------------------------------------------------------------------ */

struct fg_transformer_block {
    fg_module *module;
    fg_norm *norm[2];
    fg_multihead_attention *attention;
    fg_linear *up, *down, *gate; /* gate: NULL if there is none */
    fg_transformer_block_options o;
};

static const char *or_name(const char *name, const char *otherwise)
{
    return name != NULL ? name : otherwise;
}

static void make_mlp(fg_transformer_block *layer)
{
    const fg_transformer_block_options *o = &layer->o;
    const fg_multihead_attention_options *a = &o->attention;
    const fg_linear_options up = {.in = a->width,
                                  .out = o->hidden,
                                  .no_bias = a->no_out_bias,
                                  .is_conv1d = a->is_conv1d,
                                  .init = a->init};
    const fg_linear_options down = {.in = o->hidden,
                                    .out = a->width,
                                    .no_bias = a->no_out_bias,
                                    .is_conv1d = a->is_conv1d,
                                    .init = a->out_init};
    if (o->gated)
        layer->gate = fg_linear_create(layer->module, or_name(o->gate_name, "mlp.gate"), &up);
    layer->up = fg_linear_create(layer->module, or_name(o->up_name, "mlp.fc1"), &up);
    layer->down = fg_linear_create(layer->module, or_name(o->down_name, "mlp.fc2"), &down);
}

fg_transformer_block *fg_transformer_block_create(fg_module *parent, const char *name,
                                                  const fg_transformer_block_options *options)
{
    fg_transformer_block_options o = options != NULL ? *options : (fg_transformer_block_options){0};
    fg_module *module = fg_module_child(parent, name);
    if (module == NULL ||
        !fgi_module_check_reserved(module, FGI_RESERVED(fg_transformer_block_options, options)))
        return NULL;
    fg_module_describe(module, "transformer_block", NULL);
    fg_transformer_block *layer = fgi_layer_create(module, sizeof *layer);
    if (layer == NULL)
        return NULL;
    o.hidden = o.hidden != 0 ? o.hidden : 4 * o.attention.width;
    o.activation = o.activation != NULL ? o.activation : fg_gelu;
    const fg_norm_options norm = {.kind = o.norm, .channels = o.attention.width, .eps = o.eps};
    layer->module = module;
    layer->o = o;
    layer->norm[0] = fg_norm_create(module, or_name(o.norm1_name, "norm1"), &norm);
    layer->attention =
        fg_multihead_attention_create(module, or_name(o.attention_name, "attn"), &o.attention);
    layer->norm[1] = fg_norm_create(module, or_name(o.norm2_name, "norm2"), &norm);
    make_mlp(layer);
    return fg_module_error(module, NULL) == FG_OK ? layer : NULL;
}

static fg_tensor apply_mlp(const fg_transformer_block *layer, fg_tensor x)
{
    const fg_tensor up = fg_linear_apply(layer->up, x);
    const fg_tensor y = layer->gate != NULL
                            ? fg_mul(layer->o.activation(fg_linear_apply(layer->gate, x)), up)
                            : layer->o.activation(up);
    return fg_linear_apply(layer->down, y);
}

/* x + f(x) with dropout of f(x), in training. */
static fg_tensor add(const fg_transformer_block *layer, fg_tensor x, fg_tensor y)
{
    return fg_add(x, fg_drop_path(fg_dropout(y, layer->o.dropout), layer->o.drop_path));
}

fg_tensor fg_transformer_block_apply(const fg_transformer_block *layer, fg_tensor x,
                                     const fg_attention_masks *masks)
{
    fg_tensor y;
    if (!fgi_layer_enter(layer, "transformer_block", x, &y))
        return y;
    const bool post = layer->o.post_norm;
    if (layer->o.remat)
        fg_remat_begin(fg_tensor_trace(x));
    fg_tensor in = post ? x : fg_norm_apply(layer->norm[0], x);
    x = add(layer, x, fg_multihead_attention_apply(layer->attention, in, masks));
    if (post)
        x = fg_norm_apply(layer->norm[0], x);
    in = post ? x : fg_norm_apply(layer->norm[1], x);
    x = add(layer, x, apply_mlp(layer, in));
    y = post ? fg_norm_apply(layer->norm[1], x) : x;
    if (layer->o.remat)
        fg_remat_end(fg_tensor_trace(y), &y, 1);
    fg_module_note_output(layer->module, y);
    return y;
}
