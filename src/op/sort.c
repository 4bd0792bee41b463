/* sort.c - sorting: an operation with two results, the operands in the order of the first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "op/op.h"

/* in[0]: the key; in[1]: values that are moved with it. */
typedef struct sort_attr {
    int64_t axis, descending;
} sort_attr;

static bool sort_infer(fgi_infer *c)
{
    if (c->in[0]->dtype == FG_BOOL)
        return fgi_infer_fail(c, FG_EDTYPE, "expected a numeric dtype, not bool: cast it first");
    if (!fgi_infer_results(c, c->arity))
        return false;
    for (int i = 0; i < c->arity; i++)
        c->results->type[i] = *c->in[i];
    return true;
}

static bool sort_rows(fgi_infer *c)
{
    const sort_attr *attr = c->attr;
    c->out.rank = c->in[0]->rank;
    if (!fgi_rows_pointwise(c))
        return false;
    if (c->rows.step[attr->axis] != 0)
        return fgi_rows_mixed(c, (int)attr->axis, "sort along another axis");
    for (int i = 0; i < c->arity; i++)
        if (!fgi_rows_of_result(c, i, &c->rows))
            return false;
    return true;
}

static void sort_emit(fgi_emit *e)
{
    const sort_attr *attr = e->node->attr;
    const fgi_value in[2] = {fgi_emit_in(e, 0), fgi_emit_in(e, 1)};
    const fgi_value out[2] = {fgi_emit_result_at(e, 0), fgi_emit_result_at(e, 1)};
    fgi_build_sort(&e->b, 2, out, in, (int)attr->axis, attr->descending != 0);
}

static const fgi_op sort_op;

static void apply_sort(fg_tensor key, fg_tensor moved, const sort_attr *attr, fg_tensor *out)
{
    const fg_tensor in[2] = {key, moved};
    fgi_apply_results(&sort_op, &(fgi_operands){in, 2, attr, sizeof *attr}, out, 2);
}

/* Moves the derivatives back to where the elements came from, by sorting these places. */
static void sort_vjp(fgi_vjp *v)
{
    const sort_attr *attr = v->attr, back = {.axis = attr->axis};
    const fg_type *type = fg_tensor_type(v->in[0]);
    fg_trace *trace = fg_tensor_trace(v->in[0]);
    const fg_tensor place = fg_iota(trace, FG_S32, (int)attr->axis, type->rank, type->dim);
    fg_tensor from[2], out[2];
    apply_sort(v->in[0], place, attr, from);
    for (int i = 0; i < 2; i++)
        if (v->need[i] && v->douts[i].handle != 0) {
            apply_sort(from[1], v->douts[i], &back, out);
            v->din[i] = out[1];
        }
}

static const fgi_op sort_op = {.name = "sort",
                               .arity = 2,
                               .infer = sort_infer,
                               .rows = sort_rows,
                               .emit = sort_emit,
                               .vjp = sort_vjp};

static void put(fg_tensor *out, fg_tensor value)
{
    if (out != NULL)
        *out = value;
}

void fg_sort(fg_tensor a, int axis, bool descending, fg_tensor *out_values, fg_tensor *out_indices)
{
    const fg_type *type = fg_tensor_type(a);
    int at = 0;
    fg_tensor out[2] = {a, a};
    if (!fgi_is_poison(a) && fgi_axes(a, "sort", 1, &axis, &at) < 0)
        out[0] = out[1] = fgi_poison(fg_tensor_trace(a));
    if (!fgi_is_poison(out[0])) {
        const sort_attr attr = {.axis = at, .descending = descending};
        apply_sort(a, fg_iota(fg_tensor_trace(a), FG_S32, at, type->rank, type->dim), &attr, out);
    }
    put(out_values, out[0]);
    put(out_indices, out[1]);
}

void fg_top_k(fg_tensor a, int64_t k, fg_tensor *out_values, fg_tensor *out_indices)
{
    const fg_type *type = fg_tensor_type(a);
    const int last = type->rank - 1;
    fg_tensor out[2] = {a, a};
    int64_t start[FG_MAX_RANK] = {0}, end[FG_MAX_RANK] = {0};
    if (!fgi_is_poison(a) && (last < 0 || k < 1 || k > type->dim[last]))
        out[0] = out[1] = fgi_trace_fail(fg_tensor_trace(a), FG_EINVAL,
                                         "top_k: k is %" PRId64 ": expected 1 to %" PRId64
                                         ", the size of the last axis",
                                         k, last < 0 ? 0 : type->dim[last]);
    if (!fgi_is_poison(out[0])) {
        for (int i = 0; i < last; i++)
            end[i] = type->dim[i];
        end[last] = k;
        fg_sort(a, last, true, &out[0], &out[1]);
        out[0] = fg_slice(out[0], start, end, NULL);
        out[1] = fg_slice(out[1], start, end, NULL);
    }
    put(out_values, out[0]);
    put(out_indices, out[1]);
}
