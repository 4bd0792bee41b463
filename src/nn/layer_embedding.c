/* layer_embedding.c - rows of a table, and products with all of them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "nn/layer.h"

struct fg_embedding {
    fg_module *module;
    fg_variable *weight;
    int64_t width;
};

fg_embedding *fg_embedding_create(fg_module *parent, const char *name,
                                  const fg_embedding_options *options)
{
    const fg_embedding_options o = options != NULL ? *options : (fg_embedding_options){0};
    fg_module *module = fg_module_child(parent, name);
    if (module == NULL ||
        !fgi_module_check_reserved(module, FGI_RESERVED(fg_embedding_options, options)))
        return NULL;
    if (o.count < 1 || o.count > INT32_MAX || o.width < 1)
        return fgi_module_fail(module, FG_EINVAL,
                               "embedding '%s': count %" PRId64 ", width %" PRId64
                               "; both must be given, count below 2^31",
                               fg_module_name(module), o.count, o.width);
    char detail[64];
    (void)snprintf(detail, sizeof detail, "%" PRId64 " x %" PRId64, o.count, o.width);
    fg_module_describe(module, "embedding", detail);
    fg_embedding *layer = fgi_layer_create(module, sizeof *layer);
    if (layer == NULL)
        return NULL;
    const fg_variable_options init = {
        .init = o.init.kind != FG_INIT_ZEROS ? o.init : (fg_init){FG_INIT_NORMAL, 1}};
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {o.count, o.width}};
    layer->module = module;
    layer->width = o.width;
    layer->weight = fg_module_variable(module, "weight", &type, &init);
    return fg_module_error(module, NULL) == FG_OK ? layer : NULL;
}

fg_tensor fg_embedding_apply(const fg_embedding *layer, fg_tensor index)
{
    fg_tensor y;
    if (!fgi_layer_enter(layer, "embedding", index, &y))
        return y;
    if (fg_tensor_type(index)->dtype != FG_S32 || fg_tensor_type(index)->rank >= FG_MAX_RANK)
        return fgi_layer_fail(layer->module, index, "expected s32 indices");
    fg_trace *trace = fg_tensor_trace(index);
    fg_scope_push(trace, fg_module_name(layer->module));
    y = fg_gather(fg_variable_value(trace, layer->weight), index, 0, 0);
    return fgi_layer_leave(layer->module, fg_cast(y, fg_trace_float(trace)));
}

fg_tensor fg_embedding_logits(const fg_embedding *layer, fg_tensor x)
{
    fg_tensor y;
    if (!fgi_layer_enter(layer, "embedding", x, &y))
        return y;
    const fg_type *type = fg_tensor_type(x);
    if (type->rank < 1 || fg_tensor_dim(x, -1) != layer->width || !fg_dtype_is_float(type->dtype))
        return fgi_layer_fail(layer->module, x,
                              "expected a floating-point tensor whose last dimension is %" PRId64,
                              layer->width);
    fg_scope_push(fg_tensor_trace(x), fg_module_name(layer->module));
    const fg_dot_options rows = {
        .contract_count = 1, .a_contract = {type->rank - 1}, .b_contract = {1}};
    y = fg_dot(x, fgi_layer_value(x, layer->weight, type->dtype), &rows);
    return fgi_layer_leave(layer->module, y);
}
