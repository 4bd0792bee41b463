/* dot.c - matmuls: the general contraction, and fg_matmul, which is based on it. StableHLO:
 * dot_general. y = a b gives da = dy b', db = a' dy (Giles 2008, "Multiplication").
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "op/dot.h"

/* The axes of operand `side` (0: a, 1: b) that are neither batch nor contracted axes, in order. */
static int free_axes(const fgi_dot_attr *attr, int side, int rank, int *out)
{
    unsigned used = 0;
    int count = 0;
    for (int i = 0; i < attr->batch_count; i++)
        used |= 1u << attr->batch[side][i];
    for (int i = 0; i < attr->contract_count; i++)
        used |= 1u << attr->contract[side][i];
    for (int i = 0; i < rank; i++)
        if ((used & 1u << i) == 0)
            out[count++] = i;
    return count;
}

static bool pairs_agree(fgi_infer *c, const char *what, int64_t count, const int64_t *a_axis,
                        const int64_t *b_axis, unsigned seen[2])
{
    const fg_type *a = c->in[0], *b = c->in[1];
    for (int i = 0; i < count; i++) {
        if (a_axis[i] < 0 || a_axis[i] >= a->rank || b_axis[i] < 0 || b_axis[i] >= b->rank)
            return fgi_infer_fail(c, FG_EINVAL, "%s axis %d is out of range", what, i);
        if ((seen[0] & 1u << a_axis[i]) != 0 || (seen[1] & 1u << b_axis[i]) != 0)
            return fgi_infer_fail(c, FG_EINVAL, "%s axis %d is given twice", what, i);
        seen[0] |= 1u << a_axis[i];
        seen[1] |= 1u << b_axis[i];
        if (a->dim[a_axis[i]] != b->dim[b_axis[i]])
            return fgi_infer_fail(c, FG_ESHAPE, "%s sizes differ: %" PRId64 ", %" PRId64, what,
                                  a->dim[a_axis[i]], b->dim[b_axis[i]]);
    }
    return true;
}

static bool dot_infer(fgi_infer *c)
{
    const fgi_dot_attr *attr = c->attr;
    const fg_type *a = c->in[0], *b = c->in[1];
    int64_t dim[3 * FG_MAX_RANK];
    int axis[FG_MAX_RANK], rank = 0;
    if (a->dtype != b->dtype)
        return fgi_infer_fail(c, FG_EDTYPE, "the dtypes differ: cast one of them");
    if (a->dtype == FG_BOOL)
        return fgi_infer_fail(c, FG_EDTYPE, "expected a numeric dtype, not bool: cast it first");
    if (attr->result != (int64_t)a->dtype && !(fgi_is_half(a->dtype) && attr->result == FG_F32))
        return fgi_infer_fail(c, FG_EDTYPE, "cannot be accumulated in %s",
                              fg_dtype_name((fg_dtype)attr->result));
    unsigned seen[2] = {0, 0};
    if (!pairs_agree(c, "batch", attr->batch_count, attr->batch[0], attr->batch[1], seen) ||
        !pairs_agree(c, "inner", attr->contract_count, attr->contract[0], attr->contract[1], seen))
        return false;
    for (int i = 0; i < attr->batch_count; i++)
        dim[rank++] = a->dim[attr->batch[0][i]];
    const int a_free = free_axes(attr, 0, a->rank, axis);
    for (int i = 0; i < a_free; i++)
        dim[rank++] = a->dim[axis[i]];
    const int b_free = free_axes(attr, 1, b->rank, axis);
    for (int i = 0; i < b_free; i++)
        dim[rank++] = b->dim[axis[i]];
    return fgi_infer_ok(c, (fg_dtype)attr->result, rank, dim);
}

/* Where the result's dimensions come from. Contracted dimensions no longer have rows (apply), or
 * belong to a gradient. */
static bool dot_rows(fgi_infer *c)
{
    static const fgi_rows none;
    const fgi_dot_attr *attr = c->attr;
    const fgi_rows *rows[2] = {c->in_rows[0] != NULL ? c->in_rows[0] : &none,
                               c->in_rows[1] != NULL ? c->in_rows[1] : &none};
    int axis[FG_MAX_RANK], to = 0;
    for (int i = 0; i < attr->batch_count; i++, to++)
        for (int side = 0; side < 2; side++)
            if (!fgi_rows_join(c, to, rows[side]->step[attr->batch[side][i]]))
                return false;
    for (int side = 0; side < 2; side++) {
        const int count = free_axes(attr, side, c->in[side]->rank, axis);
        for (int i = 0; i < count; i++)
            c->rows.step[to++] = rows[side]->step[axis[i]];
        for (int i = 0; i < attr->contract_count && !c->is_derivative; i++)
            if (rows[side]->step[attr->contract[side][i]] != 0)
                return fgi_rows_mixed(c, (int)attr->contract[side][i],
                                      "mask the padding rows first");
    }
    return true;
}

static void put_axes(fgi_buf *text, const char *name, int64_t count, const int64_t *axis)
{
    if (count == 0)
        return;
    const char last = text->data[text->size - 1];
    fgi_buf_printf(text, "%s%s = [", last == '<' ? "" : ", ", name);
    for (int i = 0; i < count; i++)
        fgi_buf_printf(text, "%s%" PRId64, i == 0 ? "" : ", ", axis[i]);
    fgi_buf_putc(text, ']');
}

void fgi_dot_put_numbers(fgi_buf *text, const fgi_dot_attr *attr)
{
    fgi_buf_puts(text, "dot_dimension_numbers = #stablehlo.dot<");
    if (!text->failed) {
        put_axes(text, "lhs_batching_dimensions", attr->batch_count, attr->batch[0]);
        put_axes(text, "rhs_batching_dimensions", attr->batch_count, attr->batch[1]);
        put_axes(text, "lhs_contracting_dimensions", attr->contract_count, attr->contract[0]);
        put_axes(text, "rhs_contracting_dimensions", attr->contract_count, attr->contract[1]);
    }
    fgi_buf_putc(text, '>');
}

static void dot_emit(fgi_emit *e)
{
    fgi_buf text = {0};
    fgi_dot_put_numbers(&text, e->node->attr);
    fgi_emit_text(e, "dot_general", &text);
}

/* Gradient of operand `side`: the contraction of dy with the other operand over that operand's free
 * axes. Its dimensions are the batch, then the operand's own free axes, then its contracted ones in
 * the order of the other operand; or, with the factors swapped, contracted ones first. The order
 * that matches the operand is used if there is one, so that no transpose is needed. */
typedef struct gradient {
    int batch, free_count, contract_count, their_free_count;
    int my_free[FG_MAX_RANK], their_free[FG_MAX_RANK];
    int contract_place[FG_MAX_RANK]; /* position of contracted axis i in the result */
} gradient;

static gradient axes_of(const fgi_dot_attr *attr, int side, int my_rank, int their_rank)
{
    gradient s = {.batch = (int)attr->batch_count, .contract_count = (int)attr->contract_count};
    s.free_count = free_axes(attr, side, my_rank, s.my_free);
    s.their_free_count = free_axes(attr, 1 - side, their_rank, s.their_free);
    for (int i = 0; i < s.contract_count; i++)
        for (int k = 0; k < s.contract_count; k++)
            s.contract_place[i] += attr->contract[1 - side][k] < attr->contract[1 - side][i];
    return s;
}

/* The position of each of the operand's axes in the result; true if that is the operand's own
 * order. */
static bool axes_order(const fgi_dot_attr *attr, int side, const gradient *s, bool is_swapped,
                       int *axis)
{
    const int rank = s->batch + s->free_count + s->contract_count;
    const int free_at = s->batch + (is_swapped ? s->contract_count : 0);
    const int contract_at = s->batch + (is_swapped ? 0 : s->free_count);
    bool is_own = true;
    for (int i = 0; i < s->batch; i++)
        axis[attr->batch[side][i]] = i;
    for (int i = 0; i < s->free_count; i++)
        axis[s->my_free[i]] = free_at + i;
    for (int i = 0; i < s->contract_count; i++)
        axis[attr->contract[side][i]] = contract_at + s->contract_place[i];
    for (int i = 0; i < rank; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the loops above have set 0..rank-1 */
        is_own &= axis[i] == i;
    return is_own;
}

static fg_tensor operand_gradient(const fgi_vjp *v, int side)
{
    const fgi_dot_attr *attr = v->attr;
    const fg_tensor mine = v->in[side], theirs = v->in[1 - side];
    const gradient s =
        axes_of(attr, side, fg_tensor_type(mine)->rank, fg_tensor_type(theirs)->rank);
    fg_dot_options o = {.batch_count = s.batch,
                        .contract_count = s.their_free_count,
                        .result = fg_tensor_type(v->out)->dtype};
    for (int i = 0; i < s.batch; i++) {
        o.a_batch[i] = i;
        o.b_batch[i] = (int)attr->batch[1 - side][i];
    }
    for (int i = 0; i < s.their_free_count; i++) { /* dy: [batch, a's free, b's free] */
        o.a_contract[i] = s.batch + (side == 0 ? s.free_count : 0) + i;
        o.b_contract[i] = s.their_free[i];
    }
    int axis[FG_MAX_RANK] = {0};
    const fg_dtype dtype = fg_tensor_type(mine)->dtype;
    const fg_tensor dy = fg_cast(v->dout, dtype);
    if (axes_order(attr, side, &s, false, axis))
        return fg_cast(fg_dot(dy, theirs, &o), dtype);
    fg_dot_options swapped = o;
    memcpy(swapped.a_batch, o.b_batch, sizeof o.a_batch);
    memcpy(swapped.b_batch, o.a_batch, sizeof o.a_batch);
    memcpy(swapped.a_contract, o.b_contract, sizeof o.a_contract);
    memcpy(swapped.b_contract, o.a_contract, sizeof o.a_contract);
    (void)axes_order(attr, side, &s, true, axis);
    return fg_cast(fg_permute(fg_dot(theirs, dy, &swapped), axis), dtype);
}

static void dot_vjp(fgi_vjp *v)
{
    for (int side = 0; side < 2; side++)
        if (v->need[side])
            v->din[side] = operand_gradient(v, side);
}

/* One multiplication and one addition for each element of the result and of the contracted axes. */
static double dot_flops(const fgi_node *node)
{
    const fgi_dot_attr *attr = node->attr;
    double count = 2 * (double)fg_type_count(&node->type);
    for (int i = 0; i < attr->contract_count; i++)
        count *= (double)node->in[0]->type.dim[attr->contract[0][i]];
    return count;
}

/* A matrix multiplication is a contraction with its name in messages and programs. */
#define CONTRACTION(its_name)                                                                      \
    {                                                                                              \
        .name = (its_name), .arity = 2, .infer = dot_infer, .rows = dot_rows, .emit = dot_emit,    \
        .vjp = dot_vjp, .flops = dot_flops                                                         \
    }

const fgi_op fgi_dot = CONTRACTION("dot");
const fgi_op fgi_matmul = CONTRACTION("matmul");

/* A contraction over the batch counts valid rows only. Both operands are masked, because 0 times
 * NaN is NaN. False if their rows are in different orders. */
static bool mask_contracted(const char *op, const fgi_dot_attr *attr, fg_tensor in[2])
{
    int axis[2][FG_MAX_RANK];
    for (int i = 0; i < attr->contract_count; i++) {
        int64_t step[2] = {0, 0};
        for (int side = 0; side < 2; side++) {
            axis[side][i] = (int)attr->contract[side][i];
            if (axis[side][i] < 0 || axis[side][i] >= fg_tensor_type(in[side])->rank)
                return true; /* guaranteed by the shape rule */
            if (fgi_node_of(in[side])->rows != NULL)
                step[side] = fgi_node_of(in[side])->rows->step[axis[side][i]];
        }
        if (step[0] != 0 && step[1] != 0 && step[0] != step[1]) {
            (void)fgi_trace_fail(fg_tensor_trace(in[0]), FG_EINVAL,
                                 "%s: along inner axis %d the operands have the samples of the "
                                 "batch in different orders",
                                 op, i);
            return false;
        }
    }
    for (int side = 0; side < 2; side++)
        in[side] = fgi_mask_rows(in[side],
                                 fgi_row_axes(in[side], (int)attr->contract_count, axis[side]), 0);
    return true;
}

static fg_tensor apply(const fgi_op *op, fg_tensor a, fg_tensor b, const fg_dot_options *options)
{
    if (fgi_is_poison(a) || fgi_is_poison(b))
        return fgi_poison(fg_tensor_trace(a));
    if (!fgi_trace_check_reserved(fg_tensor_trace(a), FGI_RESERVED(fg_dot_options, options)))
        return fgi_poison(fg_tensor_trace(a));
    a = fgi_for_matmul(a);
    b = fgi_for_matmul(b);
    const fg_dot_options o = options != NULL ? *options : (fg_dot_options){0};
    if (o.batch_count < 0 || o.contract_count < 0 || o.batch_count > FG_MAX_RANK ||
        o.contract_count > FG_MAX_RANK)
        return fgi_trace_fail(fg_tensor_trace(a), FG_EINVAL, "%s: wrong number of axes", op->name);
    fgi_dot_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.batch_count = o.batch_count;
    attr.contract_count = o.contract_count;
    attr.result = o.result != FG_DTYPE_NONE ? (int64_t)o.result : fg_tensor_type(a)->dtype;
    const int rank[2] = {fg_tensor_type(a)->rank, fg_tensor_type(b)->rank};
    const int *batch[2] = {o.a_batch, o.b_batch}, *contract[2] = {o.a_contract, o.b_contract};
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < o.batch_count; i++)
            attr.batch[side][i] = batch[side][i] + (batch[side][i] < 0 ? rank[side] : 0);
        for (int i = 0; i < o.contract_count; i++)
            attr.contract[side][i] = contract[side][i] + (contract[side][i] < 0 ? rank[side] : 0);
    }
    fg_tensor in[2] = {a, b};
    if (!mask_contracted(op->name, &attr, in))
        return fgi_poison(fg_tensor_trace(a));
    return fgi_apply(op, in, 2, &attr, sizeof attr);
}

fg_tensor fg_dot(fg_tensor a, fg_tensor b, const fg_dot_options *options)
{
    return apply(&fgi_dot, a, b, options);
}

fg_tensor fg_matmul(fg_tensor a, fg_tensor b)
{
    const int rank = fg_tensor_type(a)->rank;
    fg_dot_options options = {.contract_count = 1, .a_contract = {-1}, .b_contract = {-2}};
    if (fgi_is_poison(a) || fgi_is_poison(b))
        return fgi_poison(fg_tensor_trace(a));
    if (rank < 2 || fg_tensor_type(b)->rank != rank) {
        char x[96], y[96];
        return fgi_trace_fail(fg_tensor_trace(a), FG_ESHAPE,
                              "matmul(%s, %s): expected two tensors of the same rank, at least 2",
                              fg_type_format(fg_tensor_type(a), x, sizeof x),
                              fg_type_format(fg_tensor_type(b), y, sizeof y));
    }
    for (int i = 0; i < rank - 2; i++)
        options.a_batch[i] = options.b_batch[i] = i;
    options.batch_count = rank - 2;
    return apply(&fgi_matmul, a, b, &options);
}
