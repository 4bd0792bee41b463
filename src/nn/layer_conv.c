/* layer_conv.c - the 2-D convolution layer. The kernel is [kh, kw, in/groups, out] in memory and,
 * as in PyTorch, [out, in/groups, kh, kw] in files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "nn/layer.h"

struct fg_conv {
    fg_module *module;
    fg_variable *weight, *bias; /* bias may be NULL */
    int64_t in;
    fg_conv2d_options window;
};

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

static fg_conv_options with_defaults(const fg_conv_options *options)
{
    fg_conv_options o = options != NULL ? *options : (fg_conv_options){0};
    o.kernel = or_default(o.kernel, 3);
    o.stride = or_default(o.stride, 1);
    o.dilation = or_default(o.dilation, 1);
    o.groups = or_default(o.groups, 1);
    return o;
}

static bool check(fg_module *module, const fg_conv_options *o)
{
    const char *name = fg_module_name(module);
    if (o->in < 1 || o->out < 1)
        (void)fgi_module_fail(module, FG_EINVAL,
                              "conv '%s': in %" PRId64 ", out %" PRId64 "; both must be given",
                              name, o->in, o->out);
    else if (o->kernel < 1 || o->stride < 1 || o->dilation < 1 || o->pad < 0)
        (void)fgi_module_fail(module, FG_EINVAL,
                              "conv '%s': kernel %" PRId64 ", stride %" PRId64 ", dilation %" PRId64
                              ", pad %" PRId64 ": negative",
                              name, o->kernel, o->stride, o->dilation, o->pad);
    else if (o->groups < 1 || o->in % o->groups != 0 || o->out % o->groups != 0)
        (void)fgi_module_fail(module, FG_EINVAL,
                              "conv '%s': groups %" PRId64 " do not divide in %" PRId64
                              " and out %" PRId64,
                              name, o->groups, o->in, o->out);
    return fg_module_error(module, NULL) == FG_OK;
}

static void describe(fg_module *module, const fg_conv_options *o)
{
    char text[192];
    int n = snprintf(text, sizeof text, "%" PRId64 " -> %" PRId64 ", %" PRId64 "x%" PRId64, o->in,
                     o->out, o->kernel, o->kernel);
    const struct {
        const char *name;
        int64_t value, usual;
    } part[] = {{"stride", o->stride, 1},
                {"pad", o->pad, 0},
                {"dilation", o->dilation, 1},
                {"groups", o->groups, 1}};
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        if (part[i].value != part[i].usual && n >= 0 && (size_t)n < sizeof text)
            n += snprintf(text + n, sizeof text - (size_t)n, ", %s %" PRId64, part[i].name,
                          part[i].value);
    fg_module_describe(module, "conv", text);
}

fg_conv *fg_conv_create(fg_module *parent, const char *name, const fg_conv_options *options)
{
    const fg_conv_options o = with_defaults(options);
    fg_module *module = fg_module_child(parent, name);
    if (module == NULL ||
        !fgi_module_check_reserved(module, FGI_RESERVED(fg_conv_options, options)) ||
        !check(module, &o))
        return NULL;
    describe(module, &o);
    fg_conv *layer = fgi_layer_create(module, sizeof *layer);
    if (layer == NULL)
        return NULL;
    const int64_t in_each = o.in / o.groups;
    const fg_type type = {.dtype = FG_F32, .rank = 4, .dim = {o.kernel, o.kernel, in_each, o.out}};
    fg_variable_options init = fgi_init_fan_in(o.kernel * o.kernel * in_each);
    layer->module = module;
    layer->in = o.in;
    layer->window = (fg_conv2d_options){
        .stride = o.stride, .pad = o.pad, .dilation = o.dilation, .groups = o.groups};
    const int file_axis[] = {3, 2, 0, 1};
    for (int i = 0; i < 4; i++)
        init.file_axis[i] = file_axis[i];
    const fg_variable_options bias = {.init = init.init};
    if (o.init.kind != FG_INIT_ZEROS)
        init.init = o.init;
    layer->weight = fg_module_variable(module, "weight", &type, &init);
    if (!o.no_bias)
        layer->bias = fgi_layer_vector(module, "bias", o.out, &bias);
    return fg_module_error(module, NULL) == FG_OK ? layer : NULL;
}

fg_tensor fg_conv_apply(const fg_conv *layer, fg_tensor x)
{
    fg_tensor y;
    if (!fgi_layer_enter(layer, "conv", x, &y))
        return y;
    const fg_type *type = fg_tensor_type(x);
    if (type->rank != 4 || type->dim[3] != layer->in || !fg_dtype_is_float(type->dtype))
        return fgi_layer_fail(layer->module, x,
                              "expected floating-point images [N, H, W, %" PRId64 "]", layer->in);
    fg_scope_push(fg_tensor_trace(x), fg_module_name(layer->module));
    y = fg_conv2d(x, fgi_layer_value(x, layer->weight, type->dtype), &layer->window);
    if (layer->bias != NULL)
        y = fg_add(y, fgi_layer_value(x, layer->bias, type->dtype));
    return fgi_layer_leave(layer->module, y);
}
