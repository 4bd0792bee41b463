/* grad.c - reverse-mode automatic differentiation of a scalar, graph to graph.
 *
 * A first pass marks the nodes that depend on the requested tensors. A second pass goes from the
 * loss in order of descending id (inputs have smaller ids than the nodes that use them) and
 * accumulates what the vjp of each operation returns. New nodes inherit scope and line of the
 * operation that they differentiate.
 *
 * Identical operations are separate nodes, but their gradients are added up and propagated as one,
 * which needs one vjp instead of two. A requested tensor, and what was computed from it, is kept
 * separate from identical nodes: its gradient counts only its own uses. Source: Griewank and
 * Walther 2008, "Evaluating Derivatives", chapter 3.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>
#include "base/alloc.h"
#include "op/op.h"
#include "trace/trace.h"

enum { MAX_INPUTS = FGI_MAX_INPUTS };

typedef struct sweep {
    fg_trace *trace;
    size_t count;       /* number of nodes when the pass began */
    bool stops;         /* at the requested tensors; else also what they depend on is visited */
    bool *is_needed;    /* by node id */
    uint32_t *stand_in; /* by node id: the node that its gradient is added to */
    bool *depends;      /* for representatives: depends on a requested tensor */
    fg_tensor *adjoint; /* for representatives: gradient of the loss, or an empty tensor */
} sweep;

static bool sweep_init(sweep *s, fg_trace *trace)
{
    *s = (sweep){.trace = trace, .count = trace->node_count};
    s->is_needed = fgi_calloc(s->count + 1, sizeof *s->is_needed);
    s->stand_in = fgi_calloc(s->count + 1, sizeof *s->stand_in);
    s->depends = fgi_calloc(s->count + 1, sizeof *s->depends);
    s->adjoint = fgi_calloc(s->count + 1, sizeof *s->adjoint);
    if (s->is_needed != NULL && s->stand_in != NULL && s->depends != NULL && s->adjoint != NULL)
        return true;
    (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    return false;
}

static void sweep_fini(sweep *s)
{
    fgi_free(s->is_needed);
    fgi_free(s->stand_in);
    fgi_free(s->depends);
    fgi_free(s->adjoint);
}

/* Whether both have the same inputs for the purpose of differentiation. */
static bool same_inputs(const sweep *s, const fgi_node *a, const fgi_node *b)
{
    bool same = true, swapped = a->op->is_commutative && a->arity == 2;
    for (int i = 0; i < a->arity; i++)
        same &= s->stand_in[a->in[i]->id] == s->stand_in[b->in[i]->id];
    for (int i = 0; i < a->arity && swapped; i++)
        swapped &= s->stand_in[a->in[i]->id] == s->stand_in[b->in[1 - i]->id];
    return same || swapped;
}

static uint32_t stand_in(const sweep *s, const fgi_node *node)
{
    const fgi_node *first = node->first;
    if (s->is_needed[node->id] || first == node)
        return node->id;
    if (node->op == &fgi_alias_op)
        return s->stand_in[node->in[0]->id];
    return !s->is_needed[first->id] && same_inputs(s, node, first) ? first->id : node->id;
}

static void mark(sweep *s)
{
    for (size_t id = 0; id < s->count; id++) {
        const fgi_node *node = s->trace->nodes[id];
        s->stand_in[id] = stand_in(s, node);
        s->depends[id] = s->is_needed[id];
        for (int i = 0; i < node->arity && !s->depends[id]; i++)
            s->depends[id] = s->depends[s->stand_in[node->in[i]->id]];
    }
}

static void add_to(sweep *s, const fgi_node *node, fg_tensor term)
{
    fg_tensor *adjoint = &s->adjoint[s->stand_in[node->id]];
    *adjoint = adjoint->handle != 0 ? fgi_add_derivatives(*adjoint, term) : term;
}

static bool is_end(const sweep *s, size_t id) { return s->stops && s->is_needed[id]; }

/* The derivatives by the results of a node with several; results may be newer than the pass. */
static bool collect(const sweep *s, const fgi_node *node, fg_tensor *out)
{
    bool has_any = false;
    for (int i = 0; i < node->results->count; i++) {
        const uint32_t id = node->results->node[i]->id;
        out[i] = id < s->count && !is_end(s, id) ? s->adjoint[id] : (fg_tensor){0};
        has_any |= out[i].handle != 0;
    }
    return has_any;
}

static void step_back(sweep *s, fgi_node *node)
{
    fg_tensor in[MAX_INPUTS], din[MAX_INPUTS], douts[MAX_INPUTS];
    bool need[MAX_INPUTS];
    if (node->results != NULL && !collect(s, node, douts))
        return;
    for (int i = 0; i < node->arity; i++) {
        in[i] = fgi_tensor_of(node->in[i]);
        din[i] = (fg_tensor){0};
        need[i] =
            s->depends[s->stand_in[node->in[i]->id]] && fg_dtype_is_float(node->in[i]->type.dtype);
    }
    fgi_vjp v = {.attr = node->attr,
                 .arity = node->arity,
                 .in = in,
                 .out = fgi_tensor_of(node),
                 .dout = s->adjoint[node->id],
                 .douts = douts,
                 .need = need,
                 .din = din};
    node->op->vjp(&v);
    for (int i = 0; i < node->arity; i++)
        if (need[i] && din[i].handle != 0) /* a sum in it may have a wider dtype */
            add_to(s, node->in[i],
                   fgi_with_rows(fg_cast(din[i], node->in[i]->type.dtype), node->in[i]->rows));
}

/* From node `last` on, whose derivatives are set. */
static void sweep_back(sweep *s, size_t last)
{
    const fgi_node *place = s->trace->place;
    for (size_t id = last + 1; id-- > 0 && s->trace->error.status == FG_OK;) {
        fgi_node *node = s->trace->nodes[id];
        const bool has_adjoint = s->adjoint[id].handle != 0 || node->results != NULL;
        if (!has_adjoint || !s->depends[id] || node->op->vjp == NULL || is_end(s, id))
            continue;
        fgi_trace_borrow_location(s->trace, node);
        step_back(s, node);
    }
    fgi_trace_borrow_location(s->trace, place);
}

static bool check_loss(fg_tensor loss)
{
    const fg_type *type = fg_tensor_type(loss);
    char text[96];
    if (type->rank == 0 && fg_dtype_is_float(type->dtype))
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(loss), type->rank != 0 ? FG_ESHAPE : FG_EDTYPE,
                         "grad: the loss is %s: expected a floating-point scalar",
                         fg_type_format(type, text, sizeof text));
    return false;
}

static bool check_wanted(fg_trace *trace, fg_tensor requested, size_t i)
{
    const fg_type *type = fg_tensor_type(requested);
    char text[96];
    if (fg_tensor_trace(requested) == trace && fg_dtype_is_float(type->dtype))
        return true;
    (void)fgi_trace_fail(
        trace, FG_EDTYPE,
        "grad: tensor %zu is %s: expected a floating-point tensor of the same trace", i,
        fg_type_format(type, text, sizeof text));
    return false;
}

static bool check(fg_tensor loss, const fg_tensor *wrt, size_t count)
{
    fg_trace *trace = fg_tensor_trace(loss);
    bool is_good = trace->error.status == FG_OK && check_loss(loss);
    for (size_t i = 0; i < count && is_good; i++)
        is_good = check_wanted(trace, wrt[i], i);
    return is_good;
}

/* Empty tensors for tensors that the loss does not depend on; poison values everywhere after an
 * error. */
static void grad(fg_tensor loss, const fg_tensor *wrt, size_t count, fg_tensor *out)
{
    fg_trace *trace = fg_tensor_trace(loss);
    sweep s = {0};
    bool is_good = check(loss, wrt, count) && sweep_init(&s, trace);
    if (is_good) {
        for (size_t i = 0; i < count; i++)
            s.is_needed[fgi_node_of(wrt[i])->id] = true;
        mark(&s);
        const size_t last = s.stand_in[fgi_node_of(loss)->id];
        s.adjoint[last] = fg_ones(trace, fg_tensor_type(loss)->dtype, FG_SCALAR);
        sweep_back(&s, last);
        is_good = trace->error.status == FG_OK;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = is_good ? s.adjoint[fgi_node_of(wrt[i])->id] : fgi_poison(trace);
    sweep_fini(&s);
}

void fgi_grad_path(fg_trace *trace, const fgi_path *path, fg_tensor *out)
{
    sweep s = {0};
    size_t last = 0;
    const bool is_ready = trace->error.status == FG_OK && sweep_init(&s, trace);
    if (is_ready) {
        s.stops = true;
        for (int i = 0; i < path->wrt_count; i++)
            s.is_needed[path->wrt[i]->id] = true;
        mark(&s);
        for (int i = 0; i < path->of_count; i++) {
            const uint32_t id = s.stand_in[path->of[i]->id];
            if (path->dof[i].handle != 0)
                add_to(&s, path->of[i], path->dof[i]);
            last = last > id ? last : id;
        }
        sweep_back(&s, last);
    }
    for (int i = 0; i < path->wrt_count; i++)
        out[i] = is_ready && trace->error.status == FG_OK ? s.adjoint[path->wrt[i]->id]
                                                          : fgi_poison(trace);
    sweep_fini(&s);
}

static void fill_with_zeros(fg_trace *trace, const fg_type *type, fg_tensor *gradient)
{
    if (gradient->handle == 0)
        *gradient = fg_zeros(trace, type->dtype, type->rank, type->dim);
}

void fg_grad(fg_tensor loss, const fg_tensor *wrt, size_t count, fg_tensor *out)
{
    grad(loss, wrt, count, out);
    for (size_t i = 0; i < count; i++) {
        fill_with_zeros(fg_tensor_trace(loss), fg_tensor_type(wrt[i]), &out[i]);
        out[i] = fgi_with_rows(out[i], fgi_node_of(wrt[i])->rows);
    }
}

/* ---- gradients of variables ------------------------------------------------------------------ */

/* The nodes that the loss was computed from, by node id; NULL when out of memory. */
static bool *reached_from(const fg_trace *trace, fg_tensor loss)
{
    bool *reached = fgi_calloc(trace->node_count + 1, sizeof *reached);
    if (reached == NULL)
        return NULL;
    reached[fgi_node_of(loss)->id] = true;
    for (size_t id = (size_t)fgi_node_of(loss)->id + 1; id-- > 0;) {
        const fgi_node *node = trace->nodes[id];
        for (int i = 0; reached[id] && i < node->arity; i++)
            reached[node->in[i]->id] = true;
    }
    return reached;
}

/* The value to differentiate by: the current one or, if the loss was not computed from it, the
 * newest of the older ones that it was computed from. The latter is an error in an update. */
static fg_tensor version_of(fg_variable *variable, fg_tensor now, const bool *reached,
                            bool is_update)
{
    fg_trace *trace = fg_tensor_trace(now);
    const fgi_version *older = fgi_variable_older(trace, variable);
    if (reached[fgi_node_of(now)->id])
        return now;
    while (older != NULL && !reached[older->node->id])
        older = older->next;
    if (older == NULL)
        return now;
    if (!is_update)
        return fgi_tensor_of(older->node);
    return fgi_trace_fail(
        trace, FG_EINVAL,
        "the loss was computed before parameter '%s' was assigned, so its gradient is not with "
        "respect to the value that would be updated\ncompute the loss again after the assignment, "
        "or compute all gradients before it (fg_grad_variables) and apply them "
        "(fg_optimizer_apply)",
        fg_variable_name(variable));
}

/* The values of the variables to differentiate by. */
static void choose_versions(fg_tensor loss, fg_variable *const *variables, size_t count,
                            bool is_update, fg_tensor *wrt)
{
    fg_trace *trace = fg_tensor_trace(loss);
    bool has_older = false;
    for (size_t i = 0; i < count; i++) {
        wrt[i] = fgi_variable_part(trace, variables[i]);
        has_older |= fgi_variable_older(trace, variables[i]) != NULL;
    }
    if (!has_older || trace->error.status != FG_OK)
        return;
    bool *reached = reached_from(trace, loss);
    if (reached == NULL)
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    for (size_t i = 0; i < count && trace->error.status == FG_OK; i++)
        wrt[i] = version_of(variables[i], wrt[i], reached, is_update);
    fgi_free(reached);
}

static void grad_variables(fg_tensor loss, fg_variable *const *variables, size_t count,
                           bool is_update, fg_tensor *out)
{
    fg_trace *trace = fg_tensor_trace(loss);
    fg_tensor *wrt = fgi_calloc(count + 1, sizeof *wrt);
    if (wrt == NULL)
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    else if (trace->error.status == FG_OK)
        choose_versions(loss, variables, count, is_update, wrt);
    if (wrt != NULL && trace->error.status == FG_OK)
        grad(loss, wrt, count, out);
    for (size_t i = 0; i < count && trace->error.status != FG_OK; i++)
        out[i] = fgi_poison(trace);
    fgi_free(wrt);
}

void fgi_grad_parameters(fg_tensor loss, fg_variable *const *parameters, size_t count,
                         fg_tensor *out)
{
    grad_variables(loss, parameters, count, true, out);
}

void fg_grad_variables(fg_tensor loss, fg_variable *const *variables, size_t count, fg_tensor *out)
{
    grad_variables(loss, variables, count, false, out);
    for (size_t i = 0; i < count; i++)
        fill_with_zeros(fg_tensor_trace(loss), fg_variable_type(variables[i]), &out[i]);
}
