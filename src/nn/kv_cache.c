/* kv_cache.c - keys and values of earlier positions, as variables that attention layers share by
 * the module of the cache. The variables of a layer are created when it is first applied.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "nn/layer.h"
#include "trace/graph.h"

typedef struct slot {
    const fg_module *layer;
    fg_variable *variable[2];
} slot;

struct fg_kv_cache {
    fg_module *module;
    int64_t batch, length;
    slot *slots;
    size_t count, capacity;
    fg_tensor position; /* empty: not in use */
};

static void destroy(void *self)
{
    fg_kv_cache *cache = self;
    for (size_t i = 0; i < cache->count; i++)
        for (int k = 0; k < 2; k++)
            fg_variable_destroy(cache->slots[i].variable[k]);
    fgi_free(cache->slots);
    fgi_free(cache);
}

fg_kv_cache *fg_kv_cache_create(fg_module *module, int64_t batch, int64_t length)
{
    if (module == NULL || fg_module_error(module, NULL) != FG_OK)
        return NULL;
    if (batch < 1 || length < 1 || length > INT32_MAX || *fgi_module_kv_cache(module) != NULL)
        return fgi_module_fail(module, FG_EINVAL,
                               "kv_cache: batch %" PRId64 ", length %" PRId64
                               ": expected at least 1, and no other cache of module '%s'",
                               batch, length, fg_module_name(module));
    fg_kv_cache *cache = fgi_calloc(1, sizeof *cache);
    if (cache == NULL)
        return fgi_module_fail(module, FG_ENOMEM, "out of memory");
    *cache = (fg_kv_cache){.module = module, .batch = batch, .length = length};
    return *fgi_module_kv_cache(module) = fg_module_attach(module, cache, destroy);
}

void fg_kv_cache_begin(fg_kv_cache *cache, fg_tensor position)
{
    if (cache != NULL)
        cache->position = position;
}

void fg_kv_cache_end(fg_kv_cache *cache)
{
    if (cache != NULL)
        cache->position = (fg_tensor){0};
}

fg_kv_cache *fgi_kv_cache_in_use(fg_module *module, fg_tensor *out_position)
{
    *out_position = (fg_tensor){0};
    for (; module != NULL; module = fgi_module_parent(module)) {
        fg_kv_cache *cache = *fgi_module_kv_cache(module);
        if (cache != NULL && cache->position.handle != 0) {
            *out_position = cache->position;
            return cache;
        }
    }
    return NULL;
}

/* The slot of a layer, with variables for keys and values of this type; NULL after an error. */
static slot *slot_of(fg_kv_cache *cache, const fg_module *layer, const fg_type *type, fg_error *err)
{
    static const char *const names[] = {"cache.key", "cache.value"};
    for (size_t i = 0; i < cache->count; i++)
        if (cache->slots[i].layer == layer)
            return &cache->slots[i];
    slot *grown = fgi_grow(cache->slots, cache->count, &cache->capacity, sizeof *grown), made = {0};
    if (grown == NULL) {
        (void)fgi_no_memory(err);
        return NULL;
    }
    cache->slots = grown;
    made.layer = layer;
    for (int i = 0; i < 2; i++)
        if (fg_variable_create(names[i], type, &(fg_variable_options){.kind = FG_STATE},
                               &made.variable[i], err) != FG_OK) {
            fg_variable_destroy(made.variable[0]);
            return NULL;
        }
    grown[cache->count] = made;
    return &grown[cache->count++];
}

fg_variable *fgi_kv_cache_variable(fg_kv_cache *cache, fg_module *module, int which,
                                   fg_trace *trace, const fg_type *type)
{
    fg_error err = {0};
    const slot *s = slot_of(cache, module, type, &err);
    if (s == NULL)
        (void)fgi_trace_fail(trace, err.status, "%s", err.message);
    return s != NULL ? s->variable[which] : NULL;
}

fg_tensor fgi_kv_cache_store(fg_kv_cache *cache, fg_module *module, int which, fg_tensor new)
{
    fg_trace *trace = fg_tensor_trace(new);
    if (fgi_is_poison(new))
        return new;
    fg_type type = *fg_tensor_type(new);
    if (type.dim[0] != cache->batch || type.dim[1] > cache->length)
        return fgi_layer_fail(module, new,
                              "the key/value cache is for %" PRId64 " sequences of %" PRId64
                              " positions at most",
                              cache->batch, cache->length);
    type.dim[1] = cache->length;
    fg_variable *variable = fgi_kv_cache_variable(cache, module, which, trace, &type);
    if (variable == NULL)
        return fgi_poison(trace);
    const fg_tensor zero = fg_zeros(trace, FG_S32, FG_DIMS(1));
    const fg_tensor start[] = {zero, fg_reshape(cache->position, FG_DIMS(1)), zero, zero};
    const fg_tensor all =
        fg_dynamic_update_slice(fg_variable_value(trace, variable), new, fg_concat(start, 4, 0));
    fg_assign(variable, all);
    return all;
}
