/* norm.c - layer norm, RMS norm, group norm and instance norm.
 *
 * All of them normalize some axes of a view of x: the last axis, or, with groups, positions and the
 * channels of a group. Statistics are computed in f32 (f64 for f64 inputs). The gradient is written
 * in closed form: differentiating each operation would read x several times more, and would lose
 * precision in differences of large numbers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "nn/layer.h"
#include "op/op.h"
#include "trace/graph.h"

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

/* ---- normalization
 * ---------------------------------------------------------------------------- */

/* Inputs of the operation below. Its value is that of z; it depends on x through z, rstd and mean,
 * and its derivative includes all three paths. Without a mean it is 0. */
enum { Z, X, RSTD, MEAN };

typedef struct normalize_attr {
    int64_t count, axis[2];
} normalize_attr;

static bool normalize_infer(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[Z]->dtype, c->in[Z]->rank, c->in[Z]->dim);
}

static bool normalize_rows(fgi_infer *c)
{
    if (c->in_rows[Z] != NULL)
        c->rows = *c->in_rows[Z];
    return true;
}

/* The mean of a over the normalized axes, repeated along them. */
static fg_tensor mean_over(fg_tensor a, const normalize_attr *attr)
{
    int axis[2] = {(int)attr->axis[0], (int)attr->axis[1]};
    const int count = (int)attr->count;
    return fgi_expand(fg_mean(a, count, axis), count, axis, fg_tensor_type(a));
}

/* dx = rstd (dz - mean(dz) - z mean(dz z)). Source: Ba et al. 2016, section 3, differentiated. */
static void normalize_vjp(fgi_vjp *v)
{
    const fg_tensor *in = v->in, dz = v->dout;
    const bool has_mean = v->arity > MEAN;
    const fg_tensor z = fg_mul(has_mean ? fg_sub(in[X], in[MEAN]) : in[X], in[RSTD]);
    fg_tensor rest = fg_sub(dz, fg_mul(z, mean_over(fg_mul(dz, z), v->attr)));
    if (has_mean)
        rest = fg_sub(rest, mean_over(dz, v->attr));
    if (v->need[X])
        v->din[X] = fg_mul(rest, in[RSTD]);
}

static const fgi_op normalize_op = {.name = "normalize",
                                    .arity = -1,
                                    .infer = normalize_infer,
                                    .rows = normalize_rows,
                                    .vjp = normalize_vjp};

/* x, in f32 or f64, with mean 0 and variance 1 over the axes. */
static fg_tensor normalize(const fg_norm *layer, fg_tensor x, const normalize_attr *attr)
{
    const bool has_mean = layer->kind != FG_RMS_NORM;
    const fg_tensor mean = has_mean ? mean_over(x, attr) : x;
    const fg_tensor away = has_mean ? fg_sub(x, mean) : x;
    const fg_tensor rstd = fg_rsqrt(fg_add_scalar(mean_over(fg_square(away), attr), layer->eps));
    const fg_tensor in[] = {fg_mul(away, rstd), x, rstd, mean};
    return fgi_apply(&normalize_op, in, has_mean ? 4 : MEAN, attr, sizeof *attr);
}

/* x [N, ..., C] as [N, positions, groups, C / groups], of which the axes 1 and 3 are normalized. */
static fg_tensor normalize_groups(const fg_norm *layer, fg_tensor x)
{
    const fg_type *type = fg_tensor_type(x);
    const int64_t positions = fg_type_count(type) / type->dim[0] / layer->channels;
    const int64_t dim[] = {type->dim[0], positions, layer->groups, layer->channels / layer->groups};
    const fg_tensor z =
        normalize(layer, fg_reshape(x, 4, dim), &(normalize_attr){.count = 2, .axis = {1, 3}});
    return fgi_reshape_to(z, type);
}

fg_tensor fg_norm_apply(const fg_norm *layer, fg_tensor x)
{
    fg_tensor y;
    if (!fgi_layer_enter(layer, "norm", x, &y))
        return y;
    const fg_type *type = fg_tensor_type(x);
    if (type->rank < 2 || fg_tensor_dim(x, -1) != layer->channels || fg_type_count(type) == 0 ||
        !fg_dtype_is_float(type->dtype))
        return fgi_layer_fail(layer->module, x,
                              "expected a floating-point tensor [N, ..., %" PRId64 "]",
                              layer->channels);
    fg_scope_push(fg_tensor_trace(x), fg_module_name(layer->module));
    const fg_dtype dtype = type->dtype == FG_F64 ? FG_F64 : FG_F32;
    const fg_tensor wide = fg_cast(x, dtype);
    y = layer->groups > 0
            ? normalize_groups(layer, wide)
            : normalize(layer, wide, &(normalize_attr){.count = 1, .axis = {type->rank - 1}});
    if (layer->weight != NULL)
        y = fg_mul(y, fg_cast(fg_variable_value(fg_tensor_trace(x), layer->weight), dtype));
    if (layer->bias != NULL)
        y = fg_add(y, fg_cast(fg_variable_value(fg_tensor_trace(x), layer->bias), dtype));
    return fgi_layer_leave(layer->module, fg_cast(y, type->dtype));
}
