/* layer_linear.c - y = x W + b.
 *
 * The weight is [in, out] in memory, so that the matmul and its gradients need no transpose; files
 * store [out, in], as PyTorch does.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "nn/layer.h"

struct fg_linear {
    fg_module *module;
    fg_variable *weight, *bias; /* bias may be NULL */
    int64_t in;
};

fg_linear *fg_linear_create(fg_module *parent, const char *name, const fg_linear_options *options)
{
    const fg_linear_options o = options != NULL ? *options : (fg_linear_options){0};
    fg_module *module = fg_module_child(parent, name);
    if (module == NULL)
        return NULL;
    if (!fgi_module_check_reserved(module, FGI_RESERVED(fg_linear_options, options)))
        return NULL;
    if (o.in < 1 || o.out < 1)
        return fgi_module_fail(module, FG_EINVAL,
                               "linear '%s': in %" PRId64 ", out %" PRId64 "; both must be given",
                               fg_module_name(module), o.in, o.out);
    char detail[64];
    (void)snprintf(detail, sizeof detail, "%" PRId64 " -> %" PRId64, o.in, o.out);
    fg_module_describe(module, "linear", detail);
    fg_linear *layer = fgi_layer_create(module, sizeof *layer);
    if (layer == NULL)
        return NULL;
    fg_variable_options weight_init = fgi_init_fan_in(o.in), bias_init = weight_init;
    weight_init.file_axis[0] = o.is_conv1d ? 0 : 1;
    if (o.init.kind != FG_INIT_ZEROS) {
        weight_init.init = o.init;
        bias_init = (fg_variable_options){0};
    }
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {o.in, o.out}};
    layer->module = module;
    layer->in = o.in;
    layer->weight = fg_module_variable(module, "weight", &type, &weight_init);
    if (!o.no_bias)
        layer->bias = fgi_layer_vector(module, "bias", o.out, &bias_init);
    return fg_module_error(module, NULL) == FG_OK ? layer : NULL;
}

fg_tensor fg_linear_apply(const fg_linear *layer, fg_tensor x)
{
    fg_tensor y;
    if (!fgi_layer_enter(layer, "linear", x, &y))
        return y;
    const fg_type *type = fg_tensor_type(x);
    if (type->rank < 1 || fg_tensor_dim(x, -1) != layer->in || !fg_dtype_is_float(type->dtype))
        return fgi_layer_fail(layer->module, x,
                              "expected a floating-point tensor whose last dimension is %" PRId64,
                              layer->in);
    fg_scope_push(fg_tensor_trace(x), fg_module_name(layer->module));
    const fg_dot_options contract = {
        .contract_count = 1, .a_contract = {type->rank - 1}, .b_contract = {0}};
    y = fg_dot(x, fgi_layer_value(x, layer->weight, type->dtype), &contract);
    if (layer->bias != NULL)
        y = fg_add(y, fgi_layer_value(x, layer->bias, type->dtype));
    return fgi_layer_leave(layer->module, y);
}
