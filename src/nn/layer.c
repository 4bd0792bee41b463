/* layer.c - code that all layers share: creation, and the start and end of each application.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/layer.h"

#include <math.h>
#include <stdarg.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "trace/graph.h"
#include "trace/precision.h"

void *fgi_layer_create(fg_module *module, size_t size)
{
    if (fg_module_error(module, NULL) != FG_OK)
        return NULL;
    void *layer = fgi_calloc(1, size);
    if (layer == NULL)
        return fgi_module_fail(module, FG_ENOMEM, "out of memory");
    return fg_module_attach(module, layer, fgi_free);
}

fg_variable *fgi_layer_vector(fg_module *module, const char *name, int64_t size,
                              const fg_variable_options *options)
{
    const fg_type type = {.dtype = FG_F32, .rank = 1, .dim = {size}};
    return fg_module_variable(module, name, &type, options);
}

fg_variable_options fgi_init_fan_in(int64_t fan_in)
{
    return (fg_variable_options){.init = {FG_INIT_UNIFORM, 1 / sqrt((double)fan_in)}};
}

bool fgi_layer_enter(const void *layer, const char *kind, fg_tensor x, fg_tensor *out)
{
    *out = x;
    if (fgi_is_poison(x))
        return false;
    if (layer == NULL)
        *out = fgi_trace_fail(fg_tensor_trace(x), FG_EINVAL,
                              "%s: the layer is NULL: it could not be built\n"
                              "fg_module_error of its root says why",
                              kind);
    return layer != NULL;
}

fg_tensor fgi_layer_fail(const fg_module *module, fg_tensor x, const char *format, ...)
{
    char text[256], type[96];
    fg_module_info info = {.kind = ""};
    va_list args;
    va_start(args, format);
    (void)fgi_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fg_module_info_at((fg_module *)module, 0, &info);
    return fgi_trace_fail(fg_tensor_trace(x), FG_ESHAPE, "%s '%s' on %s: %s", info.kind, info.name,
                          fg_type_format(fg_tensor_type(x), type, sizeof type), text);
}

fg_tensor fgi_layer_value(fg_tensor x, fg_variable *variable, fg_dtype dtype)
{
    fg_trace *trace = fg_tensor_trace(x);
    const fg_dtype product = fgi_trace_precision(trace)->matmul;
    return fg_cast(fg_variable_value(trace, variable), product != FG_DTYPE_NONE ? product : dtype);
}

fg_tensor fgi_layer_leave(fg_module *module, fg_tensor y)
{
    fg_scope_pop(fg_tensor_trace(y));
    fg_module_note_output(module, y);
    return y;
}
