/* leaf.c - external values of a trace: variables, arrays, fed batches, scalars.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "trace/body.h"
#include "trace/trace.h"

/* The hash of a leaf covers its index in the table, its kind and its type, but not which array it
 * is. */
typedef struct leaf_attr {
    uint64_t index;
    int64_t kind;
    fg_type type;
    fgi_sharding sharding;
} leaf_attr;

const fgi_sharding *fgi_leaf_sharding(const fgi_node *node)
{
    const leaf_attr *attr = node->attr;
    return &attr->sharding;
}

size_t fgi_leaf_index(const fgi_node *node)
{
    const leaf_attr *attr = node->attr;
    return (size_t)attr->index;
}

/* Array leaves are arguments of the program; nothing is emitted. A scalar leaf is one word of the
 * packed argument: extract it and convert it to its dtype. */
static void leaf_emit(fgi_emit *e)
{
    const fgi_node *node = e->node;
    const fgi_leaf *leaf = &node->trace->leaves[fgi_leaf_index(node)];
    if (leaf->kind != FGI_LEAF_SCALAR)
        return;
    const fg_type word = {.dtype = FG_U32};
    const bool is_word = node->type.dtype == FG_U32;
    const fgi_value result = fgi_emit_result(e);
    const fgi_value whole = is_word ? result : fgi_build_value(&e->b, &word);
    fgi_emit_scalar_word(e, &whole);
    if (!is_word)
        fgi_build_into(&e->b, &result, "bitcast_convert", NULL, 1, &whole);
}

const fgi_op fgi_leaf_op = {.name = "input", .emit = leaf_emit};

static fgi_hash key_of(const void *address)
{
    const uint64_t word = (uint64_t)(uintptr_t)address;
    return fgi_hash_bytes(&word, sizeof word);
}

/* The leaf for `key` (an address, or NULL for a new leaf each time), created on first use. */
static fg_tensor leaf(fg_trace *trace, const void *key, const fgi_leaf *init, const fg_type *type,
                      const fgi_sharding *sharding)
{
    if (trace->error.status != FG_OK)
        return fgi_poison(trace);
    fgi_node *node = key != NULL ? fgi_map_get(&trace->leaf_by_key, key_of(key)) : NULL;
    if (node != NULL)
        return fgi_tensor_of(node);
    fgi_leaf *grown =
        fgi_grow(trace->leaves, trace->leaf_count, &trace->leaf_capacity, sizeof *grown);
    if (grown == NULL)
        return fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    trace->leaves = grown;
    leaf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.index = trace->leaf_count;
    attr.kind = (int64_t)init->kind;
    attr.type.dtype = type->dtype;
    attr.type.rank = type->rank;
    memcpy(attr.type.dim, type->dim, (size_t)type->rank * sizeof type->dim[0]);
    if (sharding != NULL)
        attr.sharding = *sharding;
    node = fgi_node_create(trace, &fgi_leaf_op, 0);
    if (node == NULL)
        return fgi_poison(trace);
    node->attr = fgi_arena_copy(&trace->arena, &attr, sizeof attr);
    node->attr_size = sizeof attr;
    node->type = attr.type;
    node->hash = fgi_hash_bytes(&attr, sizeof attr);
    if (node->attr == NULL || (key != NULL && !fgi_map_put(&trace->leaf_by_key, key_of(key), node)))
        return fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    const fg_tensor tensor = fgi_node_enter(trace, node);
    if (fgi_is_poison(tensor))
        return tensor;
    fgi_leaf *entry = &trace->leaves[trace->leaf_count++];
    *entry = *init;
    entry->node = node;
    if (entry->kind == FGI_LEAF_ARRAY)
        (void)fg_array_retain(entry->of.array);
    return tensor;
}

void fgi_leaves_release(fgi_leaf *leaves, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (leaves[i].kind == FGI_LEAF_ARRAY)
            fg_array_release(leaves[i].of.array);
}

fg_tensor fg_input(fg_trace *trace, fg_array *array)
{
    const fgi_leaf init = {.kind = FGI_LEAF_ARRAY, .of.array = array};
    return leaf(trace, array, &init, fg_array_type(array), fgi_array_sharding(array));
}

fg_tensor fgi_trace_feed(fg_trace *trace, int feed, const fg_type *type)
{
    return fgi_trace_feed_sharded(trace, feed, type, NULL);
}

fg_tensor fgi_trace_feed_sharded(fg_trace *trace, int feed, const fg_type *type,
                                 const fgi_sharding *sharding)
{
    const fgi_leaf init = {.kind = FGI_LEAF_FEED, .of.feed = feed};
    return leaf(trace, NULL, &init, type, sharding);
}

fg_tensor fg_scalar_value(fg_trace *trace, const fg_scalar *scalar)
{
    if (scalar->dtype != FG_F32 && scalar->dtype != FG_S32 && scalar->dtype != FG_U32)
        return fgi_trace_fail(trace, FG_EDTYPE, "scalar: dtype is %s: expected f32, s32 or u32",
                              fg_dtype_name(scalar->dtype));
    const fgi_leaf init = {.kind = FGI_LEAF_SCALAR, .of.scalar = scalar};
    return leaf(trace, scalar, &init, &(fg_type){.dtype = scalar->dtype}, NULL);
}

static fg_tensor variable_leaf(fg_trace *trace, fg_variable *variable)
{
    const fgi_leaf init = {.kind = FGI_LEAF_VARIABLE, .of.variable = variable};
    return leaf(trace, variable, &init, fg_variable_type(variable),
                fgi_variable_sharding(variable));
}

fg_tensor fgi_variable_part(fg_trace *trace, fg_variable *variable)
{
    const fg_tensor tensor = variable_leaf(trace, variable);
    if (fgi_is_poison(tensor))
        return tensor;
    fgi_leaf *entry = &trace->leaves[fgi_leaf_index(fgi_node_of(tensor))];
    if (entry->assigned == NULL)
        return tensor;
    if (entry->current == NULL) {
        const fg_tensor alias = fgi_alias(fgi_tensor_of(entry->assigned));
        if (fgi_is_poison(alias))
            return alias;
        entry->current = fgi_node_of(alias);
    }
    return fgi_tensor_of(entry->current);
}

/* The same, or the value that is used instead. */
static fg_tensor part_or_substitute(fg_trace *trace, fg_variable *variable)
{
    fg_tensor (*substitute)(void *, fg_trace *, fg_variable *) = trace->substitute;
    char a[96], b[96];
    if (substitute == NULL)
        return fgi_variable_part(trace, variable);
    trace->substitute = NULL; /* it reads its own values */
    const fg_tensor value = substitute(trace->substitute_self, trace, variable);
    trace->substitute = substitute;
    if (value.handle == 0)
        return fgi_variable_part(trace, variable);
    if (fgi_is_poison(value) || fg_type_equal(fg_tensor_type(value), fg_variable_type(variable)))
        return value;
    return fgi_trace_fail(trace, FG_ESHAPE, "the value of a callback for '%s' is %s: expected %s",
                          fg_variable_name(variable),
                          fg_type_format(fg_tensor_type(value), a, sizeof a),
                          fg_type_format(fg_variable_type(variable), b, sizeof b));
}

fg_tensor fg_variable_value(fg_trace *trace, fg_variable *variable)
{
    const fg_tensor part = part_or_substitute(trace, variable);
    const fg_client *client = fg_trace_client(trace);
    if (client == NULL || fg_variable_kind_of(variable) != FG_PARAMETER)
        return part;
    const fgi_mesh *mesh = fgi_client_mesh(client);
    const fgi_sharding *sharding = fgi_variable_sharding(variable);
    const fgi_sharding gathered =
        fgi_sharding_without(sharding, (fgi_axis_set)(mesh->batch | mesh->fsdp));
    if (fgi_sharding_equal(sharding, &gathered))
        return part;
    return fgi_reshard(part, sharding, &gathered);
}

/* The value that is about to be replaced is added to the older ones, unless it was never read. */
static bool keep_version(fg_trace *trace, fgi_leaf *leaf)
{
    if (leaf->assigned != NULL && leaf->current == NULL)
        return true;
    fgi_version *version = fgi_arena_alloc(&trace->arena, sizeof *version);
    if (version == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        return false;
    }
    *version = (fgi_version){leaf->assigned != NULL ? leaf->current : leaf->node, leaf->older};
    leaf->older = version;
    return true;
}

const fgi_version *fgi_variable_older(fg_trace *trace, fg_variable *variable)
{
    const fg_tensor tensor = variable_leaf(trace, variable);
    return fgi_is_poison(tensor) ? NULL : trace->leaves[fgi_leaf_index(fgi_node_of(tensor))].older;
}

void fg_assign(fg_variable *variable, fg_tensor value)
{
    fg_trace *trace = fg_tensor_trace(value);
    if (fgi_is_poison(value))
        return;
    if (!fgi_region_is_outside(fgi_node_of(value), "assign"))
        return;
    if (fgi_node_of(value)->rows != NULL) {
        (void)fgi_trace_fail(trace, FG_EINVAL,
                             "assign: variable '%s' would store one value per sample, but the last "
                             "batch of an epoch contains padding rows\nreduce over the batch axis "
                             "first, or drop the incomplete batch (drop_last)",
                             fg_variable_name(variable));
        return;
    }
    const fg_type *have = fg_variable_type(variable), *given = fg_tensor_type(value);
    if (!fg_type_equal(have, given)) {
        char a[96], b[96];
        (void)fgi_trace_fail(trace, have->dtype != given->dtype ? FG_EDTYPE : FG_ESHAPE,
                             "assign: variable '%s' is %s, but the value is %s",
                             fg_variable_name(variable), fg_type_format(have, a, sizeof a),
                             fg_type_format(given, b, sizeof b));
        return;
    }
    const fg_tensor tensor = variable_leaf(trace, variable);
    if (fgi_is_poison(tensor))
        return;
    fgi_leaf *entry = &trace->leaves[fgi_leaf_index(fgi_node_of(tensor))];
    if (!keep_version(trace, entry))
        return;
    entry->assigned = fgi_node_of(value);
    entry->current = NULL;
}
