/* gather.c - elements at computed positions: fg_gather and fg_dynamic_slice, and their gradient,
 * which adds up what was taken from the same position. StableHLO: gather, scatter.
 *
 * Both operations move slices of the operand. Dimensions that are shared with the indices (the
 * first `batch` ones of both) are batching dimensions, so that a batch that is sharded over devices
 * is gathered without communication.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "op/op.h"

/* Axes of the operand: `batch` shared ones; indexed ones, along which the indices say where a slice
 * starts; others, which are taken whole. */
typedef struct gather_attr {
    int64_t batch;
    int64_t is_vector; /* the last dimension of the indices runs over the indexed axes, and the
                          slices keep these axes; else one axis is indexed, and is removed */
    int64_t count;     /* indexed axes: first, first + 1 ... */
    int64_t first;
    int64_t size[FG_MAX_RANK]; /* of a slice; 1 along shared axes */
    fg_type operand;
} gather_attr;

static bool is_indexed(const gather_attr *attr, int axis)
{
    return axis >= attr->first && axis < attr->first + attr->count;
}

/* Position in the result of axis `axis` of the operand, which the slices keep or which is shared;
 * of dimension `axis` of the indices, which is not their last if is_vector is set. */
static int operand_place(const gather_attr *attr, int index_rank, int axis)
{
    const bool is_behind = attr->is_vector == 0 && axis > attr->first;
    return is_behind ? axis - 1 + index_rank - (int)attr->batch : axis;
}

static int index_place(const gather_attr *attr, int axis)
{
    return axis < attr->batch ? axis : (int)attr->first + axis - (int)attr->batch;
}

/* The dimensions of the indices that are dimensions of the result. */
static int index_dims(const gather_attr *attr, int index_rank)
{
    return index_rank - (int)attr->is_vector;
}

/* ---- lowering -------------------------------------------------------------------------------- */

static void put_list(fgi_buf *text, const char *name, int count, const int *axis)
{
    if (count == 0)
        return;
    fgi_buf_printf(text, "%s = [", name);
    for (int i = 0; i < count; i++)
        fgi_buf_printf(text, "%s%d", i == 0 ? "" : ", ", axis[i]);
    fgi_buf_puts(text, "], ");
}

/* The dimension numbers, under the names that gather or scatter has for them. */
static void put_numbers(fgi_buf *text, const gather_attr *attr, int index_rank,
                        const char *const name[5])
{
    int offset[FG_MAX_RANK], offsets = 0, shared[FG_MAX_RANK], indexed[FG_MAX_RANK];
    for (int i = (int)attr->batch; i < attr->operand.rank; i++)
        if (attr->is_vector != 0 || !is_indexed(attr, i))
            offset[offsets++] = operand_place(attr, index_rank, i);
    for (int i = 0; i < attr->batch; i++)
        shared[i] = i;
    for (int i = 0; i < attr->count; i++)
        indexed[i] = (int)attr->first + i;
    put_list(text, name[0], offsets, offset);
    put_list(text, name[1], attr->is_vector != 0 ? 0 : (int)attr->count, indexed);
    put_list(text, name[2], (int)attr->batch, shared);
    put_list(text, name[3], (int)attr->batch, shared);
    put_list(text, name[4], (int)attr->count, indexed);
    fgi_buf_printf(text, "index_vector_dim = %d>, indices_are_sorted = false",
                   index_dims(attr, index_rank));
}

static void gather_emit(fgi_emit *e)
{
    static const char *const name[5] = {"offset_dims", "collapsed_slice_dims",
                                        "operand_batching_dims", "start_indices_batching_dims",
                                        "start_index_map"};
    const gather_attr *attr = e->node->attr;
    fgi_buf text = {0};
    fgi_buf_puts(&text, "dimension_numbers = #stablehlo.gather<");
    put_numbers(&text, attr, e->node->in[1]->type.rank, name);
    fgi_build_array(&text, "slice_sizes", attr->operand.rank, attr->size);
    fgi_emit_text(e, "gather", &text);
}

static void scatter_emit(fgi_emit *e)
{
    static const char *const name[5] = {"update_window_dims", "inserted_window_dims",
                                        "input_batching_dims", "scatter_indices_batching_dims",
                                        "scatter_dims_to_operand_dims"};
    const gather_attr *attr = e->node->attr;
    fgi_buf text = {0};
    fgi_buf_puts(&text, "scatter_dimension_numbers = #stablehlo.scatter<");
    put_numbers(&text, attr, e->node->in[1]->type.rank, name);
    fgi_buf_puts(&text, ", unique_indices = false");
    const fgi_value zeros = fgi_build_splat(&e->b, &attr->operand, 0), y = fgi_emit_result(e);
    fgi_build_scatter_add(&e->b, &y, zeros, fgi_emit_in(e, 1), fgi_emit_in(e, 0), &text);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool gather_infer(fgi_infer *c)
{
    const gather_attr *attr = c->attr;
    const fg_type *a = c->in[0], *index = c->in[1];
    const int places = index_dims(attr, index->rank);
    const int rank = a->rank + (attr->is_vector != 0 ? 0 : places - (int)attr->batch - 1);
    int64_t dim[2 * FG_MAX_RANK] = {0};
    if (index->dtype != FG_S32)
        return fgi_infer_fail(c, FG_EDTYPE, "expected s32 indices");
    for (int i = 0; i < attr->batch; i++)
        if (a->dim[i] != index->dim[i])
            return fgi_infer_fail(
                c, FG_ESHAPE, "dimension %d is shared, but has the sizes %" PRId64 " and %" PRId64,
                i, a->dim[i], index->dim[i]);
    for (int i = 0; i < a->rank; i++)
        if (i >= attr->batch && (attr->is_vector != 0 || !is_indexed(attr, i)))
            dim[operand_place(attr, index->rank, i)] = attr->size[i];
    for (int i = 0; i < places; i++)
        dim[index_place(attr, i)] = index->dim[i];
    return fgi_infer_ok(c, a->dtype, rank, dim);
}

static bool scatter_infer(fgi_infer *c)
{
    const gather_attr *attr = c->attr;
    return fgi_infer_ok(c, attr->operand.dtype, attr->operand.rank, attr->operand.dim);
}

/* Along shared axes and axes that are taken whole, samples stay where they are. */
static bool gather_rows(fgi_infer *c)
{
    const gather_attr *attr = c->attr;
    const fgi_rows *a = c->in_rows[0], *index = c->in_rows[1];
    const int rank = c->in[1]->rank;
    for (int i = 0; a != NULL && i < attr->operand.rank; i++) {
        if (is_indexed(attr, i) && a->step[i] != 0)
            return fgi_rows_mixed(c, i, "gather along other axes");
        if (!is_indexed(attr, i) && !fgi_rows_join(c, operand_place(attr, rank, i), a->step[i]))
            return false;
    }
    for (int i = 0; index != NULL && i < index_dims(attr, rank); i++)
        if (!fgi_rows_join(c, index_place(attr, i), index->step[i]))
            return false;
    return true;
}

/* The opposite direction, in gradients only: what padding rows add is 0. */
static bool scatter_rows(fgi_infer *c)
{
    const gather_attr *attr = c->attr;
    const fgi_rows *from = c->in_rows[0], *index = c->in_rows[1];
    for (int i = 0; from != NULL && i < attr->operand.rank; i++)
        if (!is_indexed(attr, i) &&
            !fgi_rows_join(c, i, from->step[operand_place(attr, c->in[1]->rank, i)]))
            return false;
    for (int i = 0; index != NULL && i < attr->batch; i++)
        if (!fgi_rows_join(c, i, index->step[i]))
            return false;
    return true;
}

/* ---- gradients ------------------------------------------------------------------------------- */

static void gather_vjp(fgi_vjp *v);
static void scatter_vjp(fgi_vjp *v);

static const fgi_op gather = {.name = "gather",
                              .arity = 2,
                              .infer = gather_infer,
                              .rows = gather_rows,
                              .emit = gather_emit,
                              .vjp = gather_vjp};

static const fgi_op scatter_add = {.name = "scatter_add",
                                   .arity = 2,
                                   .infer = scatter_infer,
                                   .rows = scatter_rows,
                                   .emit = scatter_emit,
                                   .vjp = scatter_vjp};

static void gather_vjp(fgi_vjp *v)
{
    if (v->need[0])
        v->din[0] = fgi_apply(&scatter_add, (const fg_tensor[]){v->dout, v->in[1]}, 2, v->attr,
                              sizeof(gather_attr));
}

static void scatter_vjp(fgi_vjp *v)
{
    if (v->need[0])
        v->din[0] = fgi_apply(&gather, (const fg_tensor[]){v->dout, v->in[1]}, 2, v->attr,
                              sizeof(gather_attr));
}

/* ---- public functions ------------------------------------------------------------------------ */

/* The attributes for operand a, whose slices are whole; padding bytes are 0. */
static void init_attr(gather_attr *attr, const fg_type *a)
{
    memset(attr, 0, sizeof *attr);
    attr->operand.dtype = a->dtype;
    attr->operand.rank = a->rank;
    memcpy(attr->operand.dim, a->dim, (size_t)a->rank * sizeof a->dim[0]);
    memcpy(attr->size, a->dim, (size_t)a->rank * sizeof a->dim[0]);
}

/* Indices moved into 0 to limit. */
static fg_tensor clamped(fg_tensor index, fg_tensor limit)
{
    return fg_minimum(fg_maximum(index, fgi_full_like(index, 0)), limit);
}

fg_tensor fg_gather(fg_tensor a, fg_tensor index, int axis, int batch_dims)
{
    fg_trace *trace = fg_tensor_trace(a);
    gather_attr attr;
    if (fgi_is_poison(a) || fgi_is_poison(index))
        return fgi_poison(trace);
    const fg_type *x = fg_tensor_type(a), *at = fg_tensor_type(index);
    const int whole = axis < 0 ? axis + x->rank : axis;
    if (whole < 0 || whole >= x->rank || batch_dims < 0 || batch_dims > whole ||
        batch_dims > at->rank)
        return fgi_trace_fail(trace, FG_EINVAL,
                              "gather: axis %d with %d shared dimensions is not valid for ranks %d "
                              "and %d",
                              axis, batch_dims, x->rank, at->rank);
    if (x->dim[whole] < 1 || x->dim[whole] > INT32_MAX ||
        x->rank + at->rank - batch_dims - 1 > FG_MAX_RANK)
        return fgi_trace_fail(trace, FG_ESHAPE,
                              "gather: expected a dimension of 1 to 2^31 - 1 elements and a result "
                              "of rank %d at most",
                              FG_MAX_RANK);
    init_attr(&attr, x);
    attr.batch = batch_dims;
    attr.first = whole;
    attr.count = 1;
    attr.size[whole] = 1;
    for (int i = 0; i < batch_dims; i++)
        attr.size[i] = 1;
    if (at->dtype == FG_S32)
        index = clamped(index, fgi_full_like(index, (double)(x->dim[whole] - 1)));
    return fgi_apply(&gather, (const fg_tensor[]){a, index}, 2, &attr, sizeof attr);
}

/* Whether fg_dynamic_slice accepts these; otherwise keeps an error. */
static bool can_slice(fg_trace *trace, const fg_type *x, const fg_type *at, const int64_t *size)
{
    const int batch = at->rank - 1;
    const bool is_shape =
        (at->rank == 1 || (at->rank == 2 && x->rank > 0)) && at->dim[batch] == x->rank - batch;
    if (!is_shape || at->dtype != FG_S32) {
        char p[96], q[96];
        (void)fgi_trace_fail(trace, is_shape ? FG_EDTYPE : FG_ESHAPE,
                             "dynamic_slice(%s, %s): expected the start s32[%d], or one for each "
                             "sample, s32[B,%d]",
                             fg_type_format(x, p, sizeof p), fg_type_format(at, q, sizeof q),
                             x->rank, x->rank - 1);
        return false;
    }
    for (int i = 0; i < x->rank; i++) {
        const bool is_whole = i < batch;
        if (size[i] < 1 || size[i] > x->dim[i] || (is_whole && size[i] != x->dim[i]) ||
            x->dim[i] > INT32_MAX) {
            (void)fgi_trace_fail(trace, FG_ESHAPE,
                                 "dynamic_slice: size %" PRId64
                                 " of dimension %d: expected %s%" PRId64,
                                 size[i], i, is_whole ? "" : "1 to ", x->dim[i]);
            return false;
        }
    }
    return true;
}

fg_tensor fg_dynamic_slice(fg_tensor a, fg_tensor start, const int64_t *size)
{
    fg_trace *trace = fg_tensor_trace(a);
    gather_attr attr;
    int32_t last[FG_MAX_RANK];
    if (fgi_is_poison(a) || fgi_is_poison(start))
        return fgi_poison(trace);
    const fg_type *x = fg_tensor_type(a), *at = fg_tensor_type(start);
    if (!can_slice(trace, x, at, size))
        return fgi_poison(trace);
    init_attr(&attr, x);
    attr.is_vector = 1;
    attr.batch = at->rank - 1;
    attr.first = attr.batch;
    attr.count = x->rank - attr.batch;
    for (int i = 0; i < x->rank; i++) {
        attr.size[i] = i < attr.batch ? 1 : size[i];
        if (i >= attr.batch)
            last[i - attr.batch] = (int32_t)(x->dim[i] - size[i]);
    }
    const fg_type bound = {.dtype = FG_S32, .rank = 1, .dim = {attr.count}};
    start = clamped(start, fg_constant(trace, &bound, last));
    return fgi_apply(&gather, (const fg_tensor[]){a, start}, 2, &attr, sizeof attr);
}
