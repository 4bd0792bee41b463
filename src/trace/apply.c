/* apply.c - applies an operation: shape rule, structural hash, common subexpression elimination.
 *
 * Each application is a separate node. Equal ones have the same hash and point to the first of
 * them.
 *
 * This is the hot path of tracing: one hash, one lookup and one arena allocation per operation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "trace/body.h"
#include "trace/trace.h"

enum { MAX_INPUTS = FGI_MAX_INPUTS, HASH_WORDS = 2 * MAX_INPUTS + 2 };

bool fgi_type_is_countable(const fg_type *type)
{
    int64_t bytes = (int64_t)fg_dtype_size(type->dtype);
    for (int i = 0; i < type->rank; i++)
        if (type->dim[i] > 1 && __builtin_mul_overflow(bytes, type->dim[i], &bytes))
            return false;
    return true;
}

bool fgi_infer_ok(fgi_infer *c, fg_dtype dtype, int rank, const int64_t *dim)
{
    if (rank < 0 || rank > FG_MAX_RANK)
        return fgi_infer_fail(c, FG_ESHAPE, "the result would have rank %d: expected at most %d",
                              rank, FG_MAX_RANK);
    c->out.dtype = dtype;
    c->out.rank = rank;
    for (int i = 0; i < rank; i++) {
        if (dim[i] < 0)
            return fgi_infer_fail(c, FG_ESHAPE, "dimension %d of the result would be negative", i);
        c->out.dim[i] = dim[i];
    }
    if (!fgi_type_is_countable(&c->out))
        return fgi_infer_fail(c, FG_ESHAPE, "the result would have more than 2^63 - 1 elements");
    return true;
}

bool fgi_infer_results(fgi_infer *c, int count)
{
    fgi_arena *arena = &c->trace->arena;
    const size_t n = (size_t)count;
    fgi_results *results = fgi_arena_alloc(arena, sizeof *results);
    if (results != NULL)
        *results = (fgi_results){.count = count,
                                 .type = fgi_arena_alloc(arena, n * sizeof(fg_type)),
                                 .rows = fgi_arena_alloc(arena, n * sizeof(fgi_rows *)),
                                 .node = fgi_arena_alloc(arena, n * sizeof(fgi_node *))};
    if (results == NULL || results->type == NULL || results->rows == NULL || results->node == NULL)
        return fgi_infer_fail(c, FG_ENOMEM, "out of memory");
    c->results = results;
    return true;
}

bool fgi_rows_of_result(fgi_infer *c, int i, const fgi_rows *rows)
{
    c->results->rows[i] = fgi_arena_copy(&c->trace->arena, rows, sizeof *rows);
    return c->results->rows[i] != NULL || fgi_infer_fail(c, FG_ENOMEM, "out of memory");
}

bool fgi_infer_fail(fgi_infer *c, fg_status status, const char *format, ...)
{
    char operands[256] = "", text[384];
    size_t used = 0;
    for (int i = 0; i < c->arity && used < sizeof operands; i++) {
        char type[96];
        const int n = snprintf(operands + used, sizeof operands - used, "%s%s", i == 0 ? "" : ", ",
                               fg_type_format(c->in[i], type, sizeof type));
        used += n > 0 ? (size_t)n : 0;
    }
    va_list args;
    va_start(args, format);
    (void)fgi_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fgi_trace_fail(c->trace, status, "%s(%s): %s", c->op->name, operands, text);
    return false;
}

fgi_node *fgi_node_create(fg_trace *trace, const fgi_op *op, int arity)
{
    fgi_node *node =
        fgi_arena_alloc(&trace->arena, sizeof *node + (size_t)arity * sizeof(fgi_node *));
    if (node == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        return NULL;
    }
    node->op = op;
    node->trace = trace;
    node->arity = arity;
    node->in = (fgi_node **)(node + 1);
    if (trace->place != NULL) {
        node->scope = trace->place->scope;
        node->file = trace->place->file;
        node->line = trace->place->line;
    } else {
        node->scope = trace->scope_depth > 0 ? trace->scope[trace->scope_depth - 1] : NULL;
        fgi_trace_source_line(trace, &node->file, &node->line);
    }
    return node;
}

fg_tensor fgi_node_enter(fg_trace *trace, fgi_node *node)
{
    if (trace->node_count >= FGI_NODE_MASK)
        return fgi_trace_fail(trace, FG_EUNSUPPORTED, "a trace has at most %llu operations",
                              (unsigned long long)FGI_NODE_MASK);
    if (trace->node_count == trace->node_capacity) {
        fgi_node **grown =
            fgi_grow(trace->nodes, trace->node_count, &trace->node_capacity, sizeof *trace->nodes);
        if (grown == NULL)
            return fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        trace->nodes = grown;
        fgi_handles_renew(trace);
    }
    if (node->first == NULL) {
        if (!fgi_map_put(&trace->by_hash, node->hash, node))
            return fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        node->first = node;
    }
    node->id = (uint32_t)trace->node_count;
    trace->nodes[trace->node_count++] = node;
    return fgi_tensor_of(node);
}

/* Hash of an application: operation, attributes, hashes of the inputs. The inputs of a commutative
 * operation are put in a canonical order. */
static fgi_hash structure(const fgi_op *op, fgi_node *const *in, int count, const void *attr,
                          size_t attr_size)
{
    uint64_t word[HASH_WORDS];
    size_t n = 0;
    word[n++] = (uint64_t)(uintptr_t)op;
    word[n++] = attr_size;
    bool swap = op->is_commutative && count == 2 && in[1]->hash.lo < in[0]->hash.lo;
    for (int i = 0; i < count; i++) {
        const fgi_hash h = in[swap ? 1 - i : i]->hash;
        word[n++] = h.lo;
        word[n++] = h.hi;
    }
    const fgi_hash hash = fgi_hash_bytes(word, n * sizeof *word);
    return attr_size > 0 ? fgi_hash_more(hash, attr, attr_size) : hash;
}

/* Calls the row rule if an operand has rows. */
static bool infer_rows(fgi_infer *c, fgi_node *const *in, int count)
{
    const fgi_rows *rows[MAX_INPUTS];
    bool has_rows = c->op->makes_rows;
    for (int i = 0; i < count; i++) {
        rows[i] = in[i]->rows;
        has_rows |= rows[i] != NULL;
    }
    if (!has_rows)
        return true;
    c->in_rows = rows;
    c->batch = fgi_trace_batch(c->trace);
    c->is_derivative = c->trace->place != NULL;
    if (c->op->rows == NULL)
        return fgi_infer_fail(c, FG_EUNSUPPORTED,
                              "is not supported on batches with padding rows: it has no row rule");
    return c->op->rows(c);
}

static bool keep_rows(fg_trace *trace, fgi_node *node, const fgi_rows *rows)
{
    bool has_rows = false;
    for (int i = 0; i < node->type.rank; i++)
        has_rows |= rows->step[i] != 0;
    trace->has_rows |= has_rows;
    if (has_rows)
        node->rows = fgi_arena_copy(&trace->arena, rows, sizeof *rows);
    return !has_rows || node->rows != NULL;
}

/* The type and attributes of a node that is the first of its structure; false after an error. */
static bool settle(fgi_node *node, fgi_node *const *in, int count, const void *attr,
                   size_t attr_size)
{
    fg_trace *trace = node->trace;
    const fg_type *types[MAX_INPUTS];
    for (int i = 0; i < count; i++)
        types[i] = &in[i]->type;
    fgi_infer infer = {
        .trace = trace, .op = node->op, .in = types, .arity = node->arity, .attr = attr};
    if (!node->op->infer(&infer) || !infer_rows(&infer, in, count))
        return false;
    node->type = infer.out;
    node->results = infer.results;
    if (!keep_rows(trace, node, &infer.rows)) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        return false;
    }
    if (attr_size == 0)
        return true;
    node->attr = fgi_arena_copy(&trace->arena, attr, attr_size);
    node->attr_size = (uint32_t)attr_size;
    if (node->attr == NULL)
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    return node->attr != NULL;
}

/* What a node shares with an equal one; false when out of memory. */
static bool repeat(fgi_node *node)
{
    const fgi_node *first = node->first;
    node->type = first->type;
    node->attr = first->attr;
    node->attr_size = first->attr_size;
    node->rows = first->rows;
    if (first->results == NULL)
        return true;
    fgi_arena *arena = &node->trace->arena;
    node->results = fgi_arena_copy(arena, first->results, sizeof *first->results);
    if (node->results != NULL)
        node->results->node =
            fgi_arena_alloc(arena, (size_t)node->results->count * sizeof(fgi_node *));
    return node->results != NULL && node->results->node != NULL;
}

static fg_tensor apply(fg_trace *trace, const fgi_op *op, fgi_node *const *in, int count,
                       const void *attr, size_t attr_size)
{
    fgi_region *region = NULL;
    fgi_hash hash = structure(op, in, count, attr, attr_size);
    if (trace->region_count > 0 && !fgi_region_place(trace, in, count, &region, &hash))
        return fgi_poison(trace);
    fgi_node *node = fgi_node_create(trace, op, count);
    if (node == NULL)
        return fgi_poison(trace);
    node->hash = hash;
    node->region = region;
    node->first = fgi_map_get(&trace->by_hash, hash);
    if (node->first != NULL) {
        if (!repeat(node))
            return fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    } else if (!settle(node, in, count, attr, attr_size)) {
        return fgi_poison(trace);
    }
    for (int i = 0; i < count; i++)
        node->in[i] = in[i];
    return fgi_node_enter(trace, node);
}

fg_tensor fgi_apply(const fgi_op *op, const fg_tensor *in, int count, const void *attr,
                    size_t attr_size)
{
    fg_trace *trace = fgi_node_of(in[0])->trace;
    fgi_node *nodes[MAX_INPUTS];
    if (trace->error.status != FG_OK)
        return fgi_poison(trace);
    if (count > MAX_INPUTS)
        return fgi_trace_fail(trace, FG_EINVAL, "%s: %d inputs: expected at most %d", op->name,
                              count, (int)MAX_INPUTS);
    for (int i = 0; i < count; i++) {
        const uint64_t id = in[i].handle - trace->base; /* wraps around for nodes of other traces */
        if (id == 0 || id > trace->node_count) {
            const char *dead = fgi_tensor_dead(in[i]);
            return dead != NULL
                       ? fgi_trace_fail(trace, FG_EINVAL, "%s: input %d: %s", op->name, i, dead)
                       : fgi_trace_fail(trace, FG_EINVAL, "%s: input %d belongs to another trace",
                                        op->name, i);
        }
        nodes[i] = trace->nodes[id - 1];
    }
    return apply(trace, op, nodes, count, attr, attr_size);
}

fg_tensor fgi_apply_source(fg_trace *trace, const fgi_op *op, const void *attr, size_t attr_size)
{
    if (trace->error.status != FG_OK)
        return fgi_poison(trace);
    return apply(trace, op, NULL, 0, attr, attr_size);
}

/* ---- several results ------------------------------------------------------------------------- */

const fgi_op fgi_result_op = {.name = "result", .arity = 1, .rows = fgi_rows_never};

fg_tensor fgi_result(fgi_node *node, int i)
{
    fg_trace *trace = node->trace;
    fgi_results *results = node->results;
    if (trace->error.status != FG_OK)
        return fgi_poison(trace);
    if (results->node[i] != NULL)
        return fgi_tensor_of(results->node[i]);
    fgi_node *result = fgi_node_create(trace, &fgi_result_op, 1);
    if (result == NULL)
        return fgi_poison(trace);
    const uint64_t word[] = {(uint64_t)(uintptr_t)&fgi_result_op, (uint64_t)i};
    const int64_t index = i;
    result->attr = fgi_arena_copy(&trace->arena, &index, sizeof index);
    if (result->attr == NULL)
        return fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    result->attr_size = sizeof index;
    result->in[0] = node;
    result->type = results->type[i];
    result->rows = results->rows[i];
    result->region = node->region;
    result->hash = fgi_hash_more(node->hash, word, sizeof word);
    result->first = fgi_map_get(&trace->by_hash, result->hash);
    results->node[i] = result;
    trace->has_rows |= result->rows != NULL;
    return fgi_node_enter(trace, result);
}

void fgi_apply_results(const fgi_op *op, const fgi_operands *on, fg_tensor *out, int out_count)
{
    const fg_tensor all = fgi_apply(op, on->in, on->count, on->attr, on->attr_size);
    fgi_node *node = fgi_node_of(all);
    for (int i = 0; i < out_count; i++)
        out[i] = fgi_is_poison(all) ? all : fgi_result(node, i);
}

/* ---- aliases --------------------------------------------------------------------------------- */

static bool alias_infer(fgi_infer *c)
{
    c->out = *c->in[0];
    return true;
}

static void alias_vjp(fgi_vjp *v) { v->din[0] = v->dout; }

const fgi_op fgi_alias_op = {.name = "alias",
                             .arity = 1,
                             .infer = alias_infer,
                             .rows = fgi_rows_pointwise,
                             .vjp = alias_vjp};

fg_tensor fgi_alias(fg_tensor tensor)
{
    fgi_node *of = fgi_node_of(tensor);
    fg_trace *trace = of->trace;
    if (trace->error.status != FG_OK || of->op == NULL)
        return fgi_poison(trace);
    fgi_node *node = fgi_node_create(trace, &fgi_alias_op, 1);
    if (node == NULL)
        return fgi_poison(trace);
    node->in[0] = of;
    node->type = of->type;
    node->rows = of->rows;
    node->region = of->region;
    node->hash = of->hash; /* what is computed from it is the same as from the tensor itself */
    node->first = of->first;
    return fgi_node_enter(trace, node);
}
