/* remat.c - rematerialization: a part of the graph is computed again for its gradient.
 *
 * The part ends with a node that passes its outputs on. The gradient of that node copies the part,
 * with its inputs behind a barrier that waits for the derivatives, and differentiates the copy: so
 * the compiler can neither reuse the first values nor compute the second ones early.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/remat.h"

#include <string.h>

#include "base/alloc.h"
#include "op/op.h"
#include "trace/body.h"
#include "trace/trace.h"

/* ---- the barrier ----------------------------------------------------------------------------- */

static bool barrier_infer(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

static bool barrier_rows(fgi_infer *c)
{
    if (c->in_rows[0] != NULL)
        c->rows = *c->in_rows[0];
    return true;
}

static void barrier_emit(fgi_emit *e)
{
    const fgi_value in[2] = {fgi_emit_in(e, 0), fgi_emit_in(e, 1)};
    const fgi_value out[2] = {fgi_emit_result(e), fgi_build_value(&e->b, &in[1].type)};
    fgi_build_results(&e->b, 2, out, &(fgi_operation){"optimization_barrier", NULL, 2, in});
}

static void barrier_vjp(fgi_vjp *v) { v->din[0] = v->dout; }

const fgi_op fgi_barrier_op = {.name = "barrier",
                               .arity = 2,
                               .infer = barrier_infer,
                               .rows = barrier_rows,
                               .emit = barrier_emit,
                               .vjp = barrier_vjp};

/* ---- copies ---------------------------------------------------------------------------------- */

/* Copies of nodes, by node id; NULL: the node itself is used. */
typedef struct copies {
    fg_trace *trace;
    fgi_node **of;
    size_t count; /* nodes when it was made */
} copies;

static fgi_node *copy_of(const copies *c, fgi_node *node)
{
    return node->id < c->count && c->of[node->id] != NULL ? c->of[node->id] : node;
}

static fg_tensor copied(const copies *c, fgi_node *node) { return fgi_tensor_of(copy_of(c, node)); }

static fg_tensor copy_node(copies *c, fgi_node *node);

static bool copy_list(copies *c, fgi_node ***list, int *count, fgi_node *const *from, int n)
{
    bool is_good = true;
    for (int i = 0; is_good && i < n; i++)
        is_good = fgi_region_push(c->trace, list, count, copy_of(c, from[i]));
    return is_good;
}

static bool copy_body(copies *c, const fgi_region *from, fgi_region *to)
{
    int next = 0;
    fg_trace *trace = c->trace;
    for (int i = 0; i < from->carry_count; i++)
        c->of[from->carry[i]->id] =
            fgi_node_of(fgi_region_carry(to, trace, &from->carry[i]->type, from->carry[i]->rows));
    for (int i = 0; i < from->x_count; i++)
        c->of[from->x[i]->id] =
            fgi_node_of(fgi_region_x(to, trace, &from->x[i]->type, from->x[i]->rows));
    if (from->index != NULL)
        c->of[from->index->id] = fgi_node_of(fgi_region_index(to, trace));
    for (size_t id = from->first_id; trace->error.status == FG_OK && id < from->loop->id; id++)
        if (trace->nodes[id]->region == from && c->of[id] == NULL)
            (void)copy_node(c, trace->nodes[id]);
    if (from->condition != NULL)
        to->condition = copy_of(c, from->condition);
    return trace->error.status == FG_OK &&
           copy_list(c, &to->next, &next, from->next, from->carry_count) &&
           copy_list(c, &to->y, &to->y_count, from->y, from->y_count);
}

static fg_tensor copy_loop(copies *c, fgi_node *loop)
{
    const fgi_region *from = loop->body;
    fg_tensor in[FGI_MAX_INPUTS];
    fgi_region *to = fgi_region_open(c->trace, from->source);
    if (to == NULL)
        return fgi_poison(c->trace);
    to->length = from->length;
    to->is_reverse = from->is_reverse;
    for (int i = 0; i < loop->arity; i++)
        in[i] = copied(c, loop->in[i]);
    if (!copy_body(c, from, to)) {
        fgi_region_close(c->trace, to);
        return fgi_poison(c->trace);
    }
    const fgi_loop_inputs inputs = {in, in + from->carry_count,
                                    from->is_counted ? in[loop->arity - 1] : (fg_tensor){0}};
    fgi_node *node = fgi_region_finish(to, c->trace, loop->op, &inputs);
    return node != NULL ? fgi_tensor_of(node) : fgi_poison(c->trace);
}

static fg_tensor copy_node(copies *c, fgi_node *node)
{
    fg_tensor in[FGI_MAX_INPUTS] = {{0}}, out;
    fgi_trace_borrow_location(c->trace, node);
    for (int i = 0; i < node->arity; i++)
        in[i] = copied(c, node->in[i]);
    if (node->body != NULL)
        out = copy_loop(c, node);
    else if (node->op == &fgi_result_op)
        out = fgi_result(fgi_node_of(in[0]), (int)*(const int64_t *)node->attr);
    else if (node->op == &fgi_alias_op)
        out = fgi_alias(in[0]);
    else if (node->arity == 0)
        out = fgi_tensor_of(node);
    else
        out = fgi_apply(node->op, in, node->arity, node->attr, node->attr_size);
    if (node->results != NULL && node->body == NULL && !fgi_is_poison(out))
        for (int i = 0; i < node->results->count; i++)
            (void)fgi_result(fgi_node_of(out), i);
    if (node->id < c->count)
        c->of[node->id] = fgi_node_of(out);
    return out;
}

/* ---- the part -------------------------------------------------------------------------------- */

/* Inputs of the node: `captured` values from outside, then the outputs. */
typedef struct part_attr {
    int64_t captured;
} part_attr;

static bool part_infer(fgi_infer *c)
{
    const part_attr *attr = c->attr;
    const int count = c->arity - (int)attr->captured;
    if (!fgi_infer_results(c, count))
        return false;
    for (int i = 0; i < count; i++)
        c->results->type[i] = *c->in[attr->captured + i];
    return true;
}

static bool part_rows(fgi_infer *c)
{
    const part_attr *attr = c->attr;
    for (int i = (int)attr->captured; i < c->arity; i++)
        if (c->in_rows[i] != NULL && !fgi_rows_of_result(c, i - (int)attr->captured, c->in_rows[i]))
            return false;
    return true;
}

static void part_emit(fgi_emit *e)
{
    const part_attr *attr = e->node->attr;
    for (int i = (int)attr->captured; i < e->node->arity; i++)
        fgi_emit_become_at(e, i - (int)attr->captured, fgi_emit_in(e, i));
}

/* Marks the nodes between the captured values and the outputs. */
static void mark_part(const fgi_vjp *v, int captured, bool *is_part)
{
    const fgi_node *node = fgi_node_of(v->out);
    size_t last = 0;
    for (int i = captured; i < v->arity; i++) {
        const size_t id = node->in[i]->id;
        is_part[id] = true;
        last = last > id ? last : id;
    }
    for (int i = 0; i < captured; i++)
        is_part[node->in[i]->id] = false;
    for (size_t id = last + 1; id-- > 0;) {
        const fgi_node *at = node->trace->nodes[id];
        for (int k = 0; is_part[id] && k < at->arity; k++) {
            bool is_outside = false;
            for (int i = 0; i < captured && !is_outside; i++)
                is_outside = node->in[i] == at->in[k];
            is_part[at->in[k]->id] |= !is_outside;
        }
    }
}

/* Array leaves are on the device anyway. */
static bool waits(const fgi_node *node) { return node->op != &fgi_leaf_op || node->type.rank == 0; }

static void copy_part(copies *c, const fgi_vjp *v, int captured, const bool *is_part)
{
    fg_tensor after = {0};
    for (int i = 0; i < v->arity - captured && after.handle == 0; i++)
        after = v->douts[i];
    for (int i = 0; i < captured; i++) {
        fgi_node *node = fgi_node_of(v->in[i]);
        if (waits(node))
            c->of[node->id] = fgi_node_of(FGI_APPLY2(fgi_barrier_op, v->in[i], after));
    }
    for (size_t id = 0; id < c->count && c->trace->error.status == FG_OK; id++)
        if (is_part[id])
            (void)copy_node(c, c->trace->nodes[id]);
}

static void differentiate(const copies *c, fgi_vjp *v, int captured)
{
    fgi_node *of[FGI_MAX_INPUTS], *wrt[FGI_MAX_INPUTS];
    for (int i = 0; i < captured; i++)
        wrt[i] = copy_of(c, fgi_node_of(v->in[i]));
    for (int i = captured; i < v->arity; i++)
        of[i - captured] = copy_of(c, fgi_node_of(v->in[i]));
    fgi_grad_path(c->trace,
                  &(fgi_path){.of = of,
                              .dof = v->douts,
                              .of_count = v->arity - captured,
                              .wrt = wrt,
                              .wrt_count = captured},
                  v->din);
}

static void part_vjp(fgi_vjp *v)
{
    fg_trace *trace = fg_tensor_trace(v->out);
    const part_attr *attr = v->attr;
    const fgi_node *place = trace->place;
    copies c = {.trace = trace, .count = trace->node_count};
    c.of = fgi_calloc(c.count + 1, sizeof *c.of);
    bool *is_part = fgi_calloc(c.count + 1, sizeof *is_part);
    if (c.of == NULL || is_part == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    } else {
        mark_part(v, (int)attr->captured, is_part);
        copy_part(&c, v, (int)attr->captured, is_part);
        fgi_trace_borrow_location(trace, place);
        if (trace->error.status == FG_OK)
            differentiate(&c, v, (int)attr->captured);
    }
    fgi_free(c.of);
    fgi_free(is_part);
}

static const fgi_op part_op = {.name = "remat",
                               .arity = -1,
                               .infer = part_infer,
                               .rows = part_rows,
                               .emit = part_emit,
                               .vjp = part_vjp};

void fg_remat_begin(fg_trace *trace)
{
    if (trace->error.status != FG_OK)
        return;
    if (trace->remat_depth < FGI_REMAT_DEPTH)
        trace->remat_begin[trace->remat_depth] = trace->node_count;
    else
        (void)fgi_trace_fail(trace, FG_EINVAL, "remat: nested more than %d deep",
                             (int)FGI_REMAT_DEPTH);
    trace->remat_depth++;
}

static bool is_constant(const fgi_node *node)
{
    return node->arity == 0 && node->op->emit != NULL && node->op != &fgi_leaf_op;
}

/* The nodes before `begin`, and leaves, that the outputs are computed from: at most FGI_MAX_INPUTS;
 * returns their number, or -1 when out of memory. */
static int find_captured(fg_trace *trace, size_t begin, const fg_tensor *out, int count,
                         fg_tensor *in)
{
    int found = 0;
    bool *is_used = fgi_calloc(trace->node_count + 1, sizeof *is_used);
    if (is_used == NULL)
        return -1;
    for (int i = 0; i < count; i++)
        is_used[fgi_node_of(out[i])->id] = true;
    for (size_t id = trace->node_count; id-- > 0;) {
        const fgi_node *node = trace->nodes[id];
        if (!is_used[id])
            continue;
        for (int i = 0; id >= begin && i < node->arity; i++)
            is_used[node->in[i]->id] = true;
        if ((id < begin || node->op == &fgi_leaf_op) && !is_constant(node) &&
            found < FGI_MAX_INPUTS)
            in[found++] = fgi_tensor_of(node);
    }
    fgi_free(is_used);
    return found;
}

void fg_remat_end(fg_trace *trace, fg_tensor *out, int count)
{
    fg_tensor in[FGI_MAX_INPUTS];
    if (trace->error.status != FG_OK)
        return;
    if (trace->remat_depth == 0) {
        (void)fgi_trace_fail(trace, FG_EINVAL, "remat: fg_remat_end without fg_remat_begin");
        return;
    }
    const size_t begin = trace->remat_begin[--trace->remat_depth];
    for (int i = 0; i < count; i++)
        if (fgi_is_poison(out[i]))
            return;
    const int captured = find_captured(trace, begin, out, count, in);
    if (captured < 0 || captured + count > FGI_MAX_INPUTS) {
        (void)fgi_trace_fail(trace, captured < 0 ? FG_ENOMEM : FG_EINVAL,
                             "remat: the part uses more than %d values from outside",
                             (int)FGI_MAX_INPUTS - count);
        return;
    }
    const part_attr attr = {.captured = captured};
    memcpy(in + captured, out, (size_t)count * sizeof *out);
    fgi_apply_results(&part_op, &(fgi_operands){in, captured + count, &attr, sizeof attr}, out,
                      count);
}
