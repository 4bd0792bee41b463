/* layer.h - helpers for the layers in this folder, implemented with the public module functions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_NN_LAYER_H
#define FGI_NN_LAYER_H

#include <fulgurite/transformer.h>
#include "base/number.h"
#include "base/reserved.h"

/* Records an error in the root of `module`, which must not be NULL. Returns NULL, for the caller to
 * return. */
void *fgi_module_fail(fg_module *module, fg_status status, const char *format, ...) FG_PRINTF(3, 4);
/* Checks that `reserved` of a layer's options is zero; otherwise records an error and returns
 * false. */
bool fgi_module_check_reserved(fg_module *module, fgi_reserved reserved);
/* A layer's struct, zeroed and owned by the module; NULL after an error. */
void *fgi_layer_create(fg_module *module, size_t size);
/* A variable of rank 1, f32. */
fg_variable *fgi_layer_vector(fg_module *module, const char *name, int64_t size,
                              const fg_variable_options *options);
/* A parameter initialized uniformly in +-1/sqrt(fan_in): PyTorch's kaiming_uniform with a =
 * sqrt(5). Source: He et al. 2015, "Delving deep into rectifiers", with the gain of a leaky
 * rectifier. */
fg_variable_options fgi_init_fan_in(int64_t fan_in);

/* The key/value cache of this module itself; NULL: none. */
fg_kv_cache **fgi_module_kv_cache(fg_module *module);
fg_module *fgi_module_parent(const fg_module *module);
/* The cache in use in the module, and the position of the first new element; NULL: none. */
fg_kv_cache *fgi_kv_cache_in_use(fg_module *module, fg_tensor *out_position);
/* A variable of the cache for a layer's module (which: 0, 1), of the same type for both, such as a
 * state; NULL after an error, kept in the trace. */
fg_variable *fgi_kv_cache_variable(fg_kv_cache *cache, fg_module *module, int which,
                                   fg_trace *trace, const fg_type *type);
/* Stores k or v T[B, T, K, D] of an attention layer's module (which: 0, 1) at the cache's position,
 * and returns all that it contains, T[B, length, K, D]. */
fg_tensor fgi_kv_cache_store(fg_kv_cache *cache, fg_module *module, int which, fg_tensor new);

/* fg_attention of q, k and v, which are slices of `packed` that the caller uses for nothing else,
 * one after another; packed may be empty. */
fg_tensor fgi_attention_of(fg_tensor packed, fg_tensor q, fg_tensor k, fg_tensor v,
                           const fg_attention_options *options);

/* Starts an application of the layer. Returns false if there is nothing to compute (x is poison, or
 * the layer was never built); *out is then the result. */
bool fgi_layer_enter(const void *layer, const char *kind, fg_tensor x, fg_tensor *out);
/* Records "kind 'name' on f32[3,4]: text" as the trace's error; returns poison. */
fg_tensor fgi_layer_fail(const fg_module *module, fg_tensor x, const char *format, ...)
    FG_PRINTF(3, 4);
/* The variable's value, cast to the given dtype, or to the dtype of matmuls under the trace's
 * precision. */
fg_tensor fgi_layer_value(fg_tensor x, fg_variable *variable, fg_dtype dtype);
/* Ends an application of the layer: leaves its scope, records the output type and returns y. */
fg_tensor fgi_layer_leave(fg_module *module, fg_tensor y);

#endif
