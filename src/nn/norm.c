/* norm.c - layer norm, RMS norm, group norm and instance norm.
 *
 * All of them normalize some axes of a view of x (op/layer_norm.c): the last axis, or, with groups,
 * positions and the channels of a group.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "nn/layer.h"
#include "op/composite.h"
#include "trace/lowering.h"

struct fg_norm {
    fg_module *module;
    fg_variable *weight, *bias; /* may be NULL */
    fg_norm_kind kind;
    int64_t channels, groups; /* groups: 0 for norms over the last dimension */
    double eps;
};

static const char *const titles[] = {"layer_norm", "rms_norm", "group_norm", "instance_norm"};

static bool check_options(fg_module *module, const fg_norm_options *o)
{
    const char *name = fg_module_name(module);
    if ((unsigned)o->kind > FG_INSTANCE_NORM)
        (void)fgi_module_fail(module, FG_EINVAL, "norm '%s': unknown kind %d", name, (int)o->kind);
    else if (o->channels < 1 || !(o->eps >= 0))
        (void)fgi_module_fail(module, FG_EINVAL,
                              "%s '%s': channels %" PRId64 ", eps %g; channels must be given",
                              titles[o->kind], name, o->channels, o->eps);
    else if (o->kind == FG_GROUP_NORM && (o->groups < 1 || o->channels % o->groups != 0))
        (void)fgi_module_fail(module, FG_EINVAL,
                              "group_norm '%s': groups %" PRId64
                              ": expected a divisor of channels, %" PRId64,
                              name, o->groups, o->channels);
    return fg_module_error(module, NULL) == FG_OK;
}

fg_norm *fg_norm_create(fg_module *parent, const char *name, const fg_norm_options *options)
{
    const fg_norm_options o = options != NULL ? *options : (fg_norm_options){0};
    fg_module *module = fg_module_child(parent, name);
    if (module == NULL ||
        !fgi_module_check_reserved(module, FGI_RESERVED(fg_norm_options, options)) ||
        !check_options(module, &o))
        return NULL;
    char detail[32];
    (void)snprintf(detail, sizeof detail, "%" PRId64, o.channels);
    fg_module_describe(module, titles[o.kind], detail);
    fg_norm *layer = fgi_layer_create(module, sizeof *layer);
    if (layer == NULL)
        return NULL;
    const fg_variable_options ones = {.init = {FG_INIT_CONSTANT, 1}};
    layer->module = module;
    layer->kind = o.kind;
    layer->channels = o.channels;
    layer->groups = o.kind == FG_GROUP_NORM      ? o.groups
                    : o.kind == FG_INSTANCE_NORM ? o.channels
                                                 : 0;
    layer->eps = fgi_or_default(o.eps, 1e-5);
    if (!o.no_weight)
        layer->weight = fgi_layer_vector(module, "weight", o.channels, &ones);
    if (!o.no_weight && !o.no_bias && o.kind != FG_RMS_NORM)
        layer->bias = fgi_layer_vector(module, "bias", o.channels, NULL);
    return fg_module_error(module, NULL) == FG_OK ? layer : NULL;
}

/* x [N, ..., C] as [N, positions, groups, C / groups], of which the axes 1 and 3 are normalized. */
static fg_tensor normalize_groups(const fg_norm *layer, fg_tensor x)
{
    const fg_type *type = fg_tensor_type(x);
    const int64_t positions = fg_type_count(type) / type->dim[0] / layer->channels;
    const int64_t dim[] = {type->dim[0], positions, layer->groups, layer->channels / layer->groups};
    const fg_tensor z =
        fgi_norm_over(fg_reshape(x, 4, dim), 2, (const int[]){1, 3}, true, layer->eps);
    return fg_reshape(z, type->rank, type->dim);
}

/* Over the last axis: by a kernel, if the platform has one. */
static fg_tensor normalize_last(const fg_norm *layer, fg_tensor x, fg_tensor weight, fg_tensor bias)
{
    const fg_dtype dtype = fg_tensor_type(x)->dtype == FG_F64 ? FG_F64 : FG_F32;
    const fg_tensor eps = fg_full(fg_tensor_trace(x), dtype, layer->eps, FG_SCALAR);
    const fg_tensor in[] = {x, eps, weight, bias};
    const int count = weight.handle == 0 ? 2 : bias.handle == 0 ? 3 : 4;
    fg_tensor y;
    fgi_compose(layer->kind == FG_RMS_NORM ? &fgi_rms_norm_op : &fgi_layer_norm_op, in, count, &y);
    return y;
}

fg_tensor fg_norm_apply(const fg_norm *layer, fg_tensor x)
{
    fg_tensor y, weight = {0}, bias = {0};
    if (!fgi_layer_enter(layer, "norm", x, &y))
        return y;
    const fg_type *type = fg_tensor_type(x);
    if (type->rank < 2 || fg_tensor_dim(x, -1) != layer->channels || fg_type_count(type) == 0 ||
        !fg_dtype_is_float(type->dtype))
        return fgi_layer_fail(layer->module, x,
                              "expected a floating-point tensor [N, ..., %" PRId64 "]",
                              layer->channels);
    fg_trace *trace = fg_tensor_trace(x);
    fg_scope_push(trace, fg_module_name(layer->module));
    if (layer->weight != NULL)
        weight = fg_variable_value(trace, layer->weight);
    if (layer->bias != NULL)
        bias = fg_variable_value(trace, layer->bias);
    y = layer->groups > 0 ? fgi_scale_and_shift(normalize_groups(layer, x), weight, bias)
                          : normalize_last(layer, x, weight, bias);
    return fgi_layer_leave(layer->module, fg_cast(y, type->dtype));
}
