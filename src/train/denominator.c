/* denominator.c - finds the denominator of a loss in the graph.
 *
 * The node of a mean stores the sum of weights that it was divided by (fgi_set_denominator).
 * Scaling a mean, adding a value that does not depend on the batch, and adding another mean with
 * the same denominator give a value that is averaged over batches with the same weights. One pass
 * over the trace determines these weights for each value.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "op/op.h"
#include "trace/trace.h"
#include "train/step.h"

/* The denominator of a value: none, because it is independent of the batch; the rows, also for any
 * other dependency on the batch; the weights of a node; or several. */
typedef enum kind { FREE, ROWS, WEIGHTS, SEVERAL } kind;

typedef struct origin {
    kind kind;
    const fgi_node *weight; /* the first node of its structure */
} origin;

static origin join(origin a, origin b)
{
    if (a.kind == FREE || b.kind == FREE)
        return a.kind == FREE ? b : a;
    const bool is_same = a.kind == b.kind && a.weight == b.weight;
    return is_same ? a : (origin){.kind = SEVERAL};
}

/* The result of an operation on a weighted mean. */
static origin through(const fgi_node *node, origin all, const origin *of)
{
    const fgi_linearity linearity = fgi_linearity_of(node->op);
    const bool has_second = node->arity > 1 && of[node->in[1]->id].kind != FREE;
    bool keeps = linearity == FGI_LINEAR;
    if (linearity == FGI_LINEAR_IN_FIRST)
        keeps = !has_second;
    if (linearity == FGI_BILINEAR)
        keeps = !has_second || of[node->in[0]->id].kind == FREE;
    return all.kind != WEIGHTS || keeps ? all : (origin){.kind = SEVERAL};
}

static origin origin_of(const fgi_node *node, const fgi_node *rows, const origin *of)
{
    const fg_trace *trace = node->trace;
    if (node->denominator != NULL && node->denominator->first != rows->first)
        return (origin){WEIGHTS, node->denominator->first};
    if (node->denominator != NULL)
        return (origin){.kind = ROWS};
    if (node->op == &fgi_leaf_op) {
        const bool is_feed = trace->leaves[fgi_leaf_index(node)].kind == FGI_LEAF_FEED;
        return (origin){.kind = is_feed ? ROWS : FREE};
    }
    origin all = {.kind = FREE};
    for (int i = 0; i < node->arity; i++)
        all = join(all, of[node->in[i]->id]);
    return through(node, all, of);
}

fgi_denominator fgi_denominator_of(fg_tensor value, fg_tensor rows, fg_tensor *out_weight)
{
    const fgi_node *node = fgi_node_of(value);
    const fg_trace *trace = node->trace;
    origin *of = fgi_calloc((size_t)node->id + 1, sizeof *of);
    if (of == NULL || fgi_is_poison(value)) {
        fgi_free(of);
        return FGI_BY_ROWS;
    }
    for (size_t id = 0; id <= node->id; id++)
        of[id] = origin_of(trace->nodes[id], fgi_node_of(rows), of);
    const origin found = of[node->id];
    fgi_free(of);
    if (found.kind == WEIGHTS)
        *out_weight = fgi_tensor_of(found.weight);
    return found.kind == SEVERAL   ? FGI_BY_SEVERAL
           : found.kind == WEIGHTS ? FGI_BY_WEIGHTS
                                   : FGI_BY_ROWS;
}
