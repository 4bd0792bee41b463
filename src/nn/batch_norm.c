/* batch_norm.c - batch normalization.
 *
 * Statistics are computed in f32 (f64 for f64 inputs) over all dimensions except the last, with
 * fgi_mean_variance shifted by the running mean. Like all sums over the batch, they exclude padding
 * rows; the number of valid rows is then computed in the program. The normalization is one
 * operation (src/op/normalization.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "nn/layer.h"
#include "op/op.h"

struct fg_batch_norm {
    fg_module *module;
    fg_variable *weight, *bias, *running_mean, *running_var, *batches;
    int64_t channels;
    double momentum, eps;
};

/* Mean, biased variance and unbiased variance of a batch: f32[C]; the number of values per channel.
 */
typedef struct statistics {
    fg_tensor mean, var, unbiased, n;
} statistics;

fg_batch_norm *fg_batch_norm_create(fg_module *parent, const char *name,
                                    const fg_batch_norm_options *options)
{
    const fg_batch_norm_options o = options != NULL ? *options : (fg_batch_norm_options){0};
    fg_module *module = fg_module_child(parent, name);
    if (module == NULL)
        return NULL;
    if (!fgi_module_check_reserved(module, FGI_RESERVED(fg_batch_norm_options, options)))
        return NULL;
    if (o.channels < 1 || !(o.momentum >= 0 && o.momentum <= 1) || !(o.eps >= 0))
        return fgi_module_fail(module, FG_EINVAL,
                               "batch_norm '%s': channels %" PRId64 ", momentum %g, eps %g; "
                               "channels must be given, momentum is 0 to 1",
                               fg_module_name(module), o.channels, o.momentum, o.eps);
    char detail[32];
    (void)snprintf(detail, sizeof detail, "%" PRId64, o.channels);
    fg_module_describe(module, "batch_norm", detail);
    fg_batch_norm *layer = fgi_layer_create(module, sizeof *layer);
    if (layer == NULL)
        return NULL;
    const fg_variable_options ones = {.init = {FG_INIT_CONSTANT, 1}};
    const fg_variable_options mean = {.kind = FG_BUFFER};
    const fg_variable_options var = {.kind = FG_BUFFER, .init = {FG_INIT_CONSTANT, 1}};
    const fg_type count = {.dtype = FG_S64};
    layer->module = module;
    layer->channels = o.channels;
    layer->momentum = fgi_or_default(o.momentum, 0.1);
    layer->eps = fgi_or_default(o.eps, 1e-5);
    layer->weight = fgi_layer_vector(module, "weight", o.channels, &ones);
    layer->bias = fgi_layer_vector(module, "bias", o.channels, NULL);
    layer->running_mean = fgi_layer_vector(module, "running_mean", o.channels, &mean);
    layer->running_var = fgi_layer_vector(module, "running_var", o.channels, &var);
    layer->batches = fg_module_variable(module, "num_batches_tracked", &count, &mean);
    return fg_module_error(module, NULL) == FG_OK ? layer : NULL;
}

/* n/(n - 1), and 1 for a single value. */
static fg_tensor bessel(fg_tensor n)
{
    const fg_tensor one = fg_ones(fg_tensor_trace(n), fg_tensor_type(n)->dtype, FG_SCALAR);
    return fg_div(n, fg_maximum(fg_add_scalar(n, -1), one));
}

static const int every_axis[FG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};

/* x T[N, ..., C]: f32 or f64. `near` is the running mean, which is close to the batch mean except
 * in the first steps. */
static statistics measure(fg_tensor x, fg_tensor near)
{
    const fg_type *type = fg_tensor_type(x);
    const int axes = type->rank - 1;
    statistics s = {.n = fgi_count_valid(x, axes, every_axis, type->dtype)};
    fgi_mean_variance(x, near, s.n, &s.mean, &s.var);
    s.unbiased = fg_mul(s.var, bessel(s.n));
    return s;
}

static void move(fg_variable *running, fg_tensor batch, double momentum)
{
    const fg_tensor old = fg_variable_value(fg_tensor_trace(batch), running);
    const fg_tensor seen = fg_cast(batch, fg_tensor_type(old)->dtype);
    fg_assign(running, fg_add(fg_mul_scalar(old, 1 - momentum), fg_mul_scalar(seen, momentum)));
}

/* The running mean; 0 where a bad batch has left a non-finite value, so that training can recover.
 */
static fg_tensor shift_of(const fg_batch_norm *layer, fg_tensor x)
{
    const fg_tensor value = fg_variable_value(fg_tensor_trace(x), layer->running_mean);
    const fg_tensor mean = fg_stop_gradient(fg_cast(value, fg_tensor_type(x)->dtype));
    return fg_where(fg_is_finite(mean), mean, fgi_full_like(mean, 0));
}

/* Updates the running statistics with those of the batch. */
static statistics train(const fg_batch_norm *layer, fg_tensor x)
{
    fg_trace *trace = fg_tensor_trace(x);
    const statistics s = measure(x, shift_of(layer, x));
    move(layer->running_mean, s.mean, layer->momentum);
    move(layer->running_var, s.unbiased, layer->momentum);
    fg_assign(layer->batches,
              fg_add(fg_variable_value(trace, layer->batches), fg_ones(trace, FG_S64, FG_SCALAR)));
    return s;
}

static bool check(const fg_batch_norm *layer, fg_tensor x, fg_tensor *out)
{
    fg_trace *trace = fg_tensor_trace(x);
    const fg_type *type = fg_tensor_type(x);
    if (type->rank < 2 || fg_tensor_dim(x, -1) != layer->channels ||
        !fg_dtype_is_float(type->dtype)) {
        *out = fgi_layer_fail(layer->module, x,
                              "expected a floating-point tensor [N, ..., %" PRId64 "]",
                              layer->channels);
        return false;
    }
    if (fgi_trace_assumes_rows(trace) && fgi_node_of(x)->rows == NULL &&
        fgi_trace_batch(trace) != type->dim[0]) {
        *out = fgi_layer_fail(layer->module, x, "the mask has %" PRId64 " samples",
                              fgi_trace_batch(trace));
        return false;
    }
    return true;
}

/* ---- applying -------------------------------------------------------------------------------- */

fg_tensor fg_batch_norm_apply(const fg_batch_norm *layer, fg_tensor x)
{
    fg_tensor y;
    if (!fgi_layer_enter(layer, "batch_norm", x, &y) || !check(layer, x, &y))
        return y;
    fg_trace *trace = fg_tensor_trace(x);
    fg_scope_push(trace, fg_module_name(layer->module));
    const fg_dtype dtype = fg_tensor_type(x)->dtype == FG_F64 ? FG_F64 : FG_F32;
    x = fgi_batch_first(x);
    const fg_tensor wide = fg_cast(x, dtype);
    const bool is_training =
        fg_trace_training(trace) && fg_variable_is_trainable(layer->running_mean);
    statistics s = {.n = {0}};
    if (is_training) {
        s = train(layer, wide);
    } else {
        s.mean = fg_cast(fg_variable_value(trace, layer->running_mean), dtype);
        s.var = fg_cast(fg_variable_value(trace, layer->running_var), dtype);
    }
    const fg_tensor weight = fg_cast(fg_variable_value(trace, layer->weight), dtype);
    const fg_tensor bias = fg_cast(fg_variable_value(trace, layer->bias), dtype);
    const fg_tensor rstd = fg_rsqrt(fg_add_scalar(s.var, layer->eps));
    const fg_tensor in[FGI_BATCH_NORM_INPUTS] = {
        is_training ? x : wide, weight, bias, s.mean, rstd, s.n};
    y = is_training ? fgi_normalize_batch(in)
                    : fg_cast(fgi_batch_norm_value(in), fg_tensor_type(x)->dtype);
    return fgi_layer_leave(layer->module, y);
}
