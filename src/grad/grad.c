/* grad.c - derivatives of a scalar, graph to graph.
 *
 * One sweep marks what depends on the wanted tensors, a second goes back from the loss in order of
 * descending id (inputs have smaller ids than what uses them) and adds up what each operation's vjp
 * gives. New nodes inherit scope and line of the operation they differentiate.
 * Source: Griewank and Walther 2008, "Evaluating Derivatives", chapter 3.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>
#include "base/alloc.h"
#include "trace/trace.h"

enum { MAX_INPUTS = 64 };

typedef struct sweep {
    fg_trace *trace;
    size_t count;       /* nodes there when the sweep began */
    bool *depends;      /* on a wanted tensor, by node id */
    fg_tensor *adjoint; /* derivative of the loss by the node, or an empty tensor */
} sweep;

static void mark(sweep *s, const fg_tensor *wrt, size_t count)
{
    for (size_t i = 0; i < count; i++)
        s->depends[wrt[i].node->id] = true;
    for (size_t id = 0; id < s->count; id++) {
        const fgi_node *node = s->trace->nodes[id];
        for (int i = 0; i < node->arity; i++)
            s->depends[id] |= s->depends[node->in[i]->id];
    }
}

static void add_to(sweep *s, const fgi_node *node, fg_tensor share)
{
    fg_tensor *adjoint = &s->adjoint[node->id];
    *adjoint = adjoint->node != NULL ? fg_add(*adjoint, share) : share;
}

static void step_back(sweep *s, fgi_node *node)
{
    fg_tensor in[MAX_INPUTS], din[MAX_INPUTS];
    bool need[MAX_INPUTS];
    for (int i = 0; i < node->arity; i++) {
        in[i] = (fg_tensor){node->in[i]};
        din[i] = (fg_tensor){NULL};
        need[i] = s->depends[node->in[i]->id] && fg_dtype_is_float(node->in[i]->type.dtype);
    }
    fgi_vjp v = {.attr = node->attr,
                 .arity = node->arity,
                 .in = in,
                 .out = {node},
                 .dout = s->adjoint[node->id],
                 .need = need,
                 .din = din};
    node->op->vjp(&v);
    for (int i = 0; i < node->arity; i++)
        if (need[i] && din[i].node != NULL) /* a sum within it may have widened it */
            add_to(s, node->in[i], fg_cast(din[i], node->in[i]->type.dtype));
}

static void sweep_back(sweep *s, fg_tensor loss)
{
    s->adjoint[loss.node->id] = fg_ones(s->trace, fg_tensor_type(loss)->dtype, FG_SCALAR);
    for (size_t id = (size_t)loss.node->id + 1; id-- > 0;) {
        fgi_node *node = s->trace->nodes[id];
        if (s->adjoint[id].node == NULL || !s->depends[id] || node->op->vjp == NULL)
            continue;
        fgi_trace_borrow_place(s->trace, node);
        step_back(s, node);
        if (s->trace->error.status != FG_OK)
            break;
    }
    fgi_trace_borrow_place(s->trace, NULL);
}

static bool check_loss(fg_tensor loss)
{
    const fg_type *type = fg_tensor_type(loss);
    char text[96];
    if (type->rank == 0 && fg_dtype_is_float(type->dtype))
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(loss), type->rank != 0 ? FG_ESHAPE : FG_EDTYPE,
                         "grad: the loss is %s, a floating scalar is wanted",
                         fg_type_format(type, text, sizeof text));
    return false;
}

static bool check_wanted(fg_trace *trace, fg_tensor wanted, size_t i)
{
    const fgi_node *node = wanted.node;
    char text[96];
    if (node->trace != trace || !fg_dtype_is_float(node->type.dtype)) {
        (void)fgi_trace_fail(trace, FG_EDTYPE,
                             "grad: tensor %zu is %s; a floating one of the same trace is wanted",
                             i, fg_type_format(&node->type, text, sizeof text));
        return false;
    }
    /* Equal constants are one node: what else the program uses that number for is not meant. */
    if (node->arity == 0 && node->op != &fgi_leaf_op) {
        (void)fgi_trace_fail(trace, FG_EINVAL,
                             "grad: tensor %zu is a constant; make it an input or a variable", i);
        return false;
    }
    return true;
}

static bool check(fg_tensor loss, const fg_tensor *wrt, size_t count)
{
    fg_trace *trace = fg_tensor_trace(loss);
    bool is_good = trace->error.status == FG_OK && check_loss(loss);
    for (size_t i = 0; i < count && is_good; i++)
        is_good = check_wanted(trace, wrt[i], i);
    return is_good;
}

void fg_grad(fg_tensor loss, const fg_tensor *wrt, size_t count, fg_tensor *out)
{
    fg_trace *trace = fg_tensor_trace(loss);
    for (size_t i = 0; i < count; i++)
        out[i] = (fg_tensor){&trace->poison};
    if (!check(loss, wrt, count))
        return;
    sweep s = {.trace = trace, .count = trace->node_count};
    s.depends = fgi_calloc(s.count, sizeof *s.depends);
    s.adjoint = fgi_calloc(s.count, sizeof *s.adjoint);
    if (s.depends == NULL || s.adjoint == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    } else {
        mark(&s, wrt, count);
        sweep_back(&s, loss);
        for (size_t i = 0; i < count && trace->error.status == FG_OK; i++) {
            const fg_type *type = fg_tensor_type(wrt[i]);
            const fg_tensor d = s.adjoint[wrt[i].node->id];
            out[i] = d.node != NULL ? d : fg_zeros(trace, type->dtype, type->rank, type->dim);
        }
    }
    fgi_free(s.depends);
    fgi_free(s.adjoint);
}

void fg_grad_variables(fg_tensor loss, fg_variable *const *variables, size_t count, fg_tensor *out)
{
    fg_trace *trace = fg_tensor_trace(loss);
    fg_tensor *wrt = fgi_calloc(count + 1, sizeof *wrt);
    for (size_t i = 0; i < count; i++)
        out[i] = (fg_tensor){&trace->poison};
    if (wrt == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        return;
    }
    for (size_t i = 0; i < count; i++)
        wrt[i] = fgi_variable_initial(trace, variables[i]);
    fg_grad(loss, wrt, count, out);
    fgi_free(wrt);
}
