/* gather.c - elements at computed positions: fg_gather and fg_dynamic_slice; fg_scatter_add, the
 * gradient of both; fg_dynamic_update_slice. StableHLO: gather, scatter, dynamic_update_slice.
 *
 * All move slices of an operand. Dimensions that are shared with the indices (the
 * first `batch` ones of both) are batching dimensions, so that a batch that is sharded over devices
 * is gathered without communication.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

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
} gather_attr;

/* Operands of the operations that write slices; those that read have the first two. */
enum { OPERAND, INDEX, SLICES };

static bool is_indexed(const gather_attr *attr, int axis)
{
    return axis >= attr->first && axis < attr->first + attr->count;
}

/* Whether slices may start elsewhere along an axis of this size. */
static bool moves(const gather_attr *attr, int axis, int64_t size)
{
    return is_indexed(attr, axis) && (attr->is_vector == 0 || attr->size[axis] != size);
}

/* Position in the slices of axis `axis` of the operand, which they keep or which is shared;
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

/* The dimensions of the indices that are dimensions of the slices. */
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
static void put_numbers(fgi_buf *text, const fgi_node *node, const char *const name[5])
{
    const gather_attr *attr = node->attr;
    const int index_rank = node->in[INDEX]->type.rank;
    int offset[FG_MAX_RANK], offsets = 0, shared[FG_MAX_RANK], indexed[FG_MAX_RANK];
    for (int i = (int)attr->batch; i < node->in[OPERAND]->type.rank; i++)
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
    put_numbers(&text, e->node, name);
    fgi_build_array(&text, "slice_sizes", e->node->in[OPERAND]->type.rank, attr->size);
    fgi_emit_text(e, "gather", &text);
}

/* body: "add", or NULL to replace elements. */
static void emit_scatter(fgi_emit *e, const char *body)
{
    static const char *const name[5] = {"update_window_dims", "inserted_window_dims",
                                        "input_batching_dims", "scatter_indices_batching_dims",
                                        "scatter_dims_to_operand_dims"};
    fgi_buf text = {0};
    fgi_buf_puts(&text, "scatter_dimension_numbers = #stablehlo.scatter<");
    put_numbers(&text, e->node, name);
    fgi_buf_printf(&text, ", unique_indices = %s", body == NULL ? "true" : "false");
    const fgi_value y = fgi_emit_result(e);
    fgi_build_scatter(&e->b, &y, body, fgi_emit_in(e, OPERAND), fgi_emit_in(e, INDEX),
                      fgi_emit_in(e, SLICES), &text);
}

static void add_emit(fgi_emit *e) { emit_scatter(e, "add"); }

/* A single block is written in place. */
static void update_emit(fgi_emit *e)
{
    const gather_attr *attr = e->node->attr;
    const fgi_value index = fgi_emit_in(e, INDEX);
    fgi_block_start start = {.count = (int)attr->count};
    if (attr->batch != 0) {
        emit_scatter(e, NULL);
        return;
    }
    for (int i = 0; i < start.count; i++) {
        const int64_t first = i, limit = i + 1;
        const fgi_value one = fgi_build_slice(&e->b, index, &first, &limit, NULL);
        start.axis[i] = i;
        start.at[i] = fgi_build_reshape(&e->b, one, 0, NULL);
    }
    fgi_emit_become(e, fgi_build_dynamic_update_slice(&e->b, fgi_emit_in(e, OPERAND),
                                                      fgi_emit_in(e, SLICES), &start));
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* The type of the slices. */
static bool infer_slices(fgi_infer *c, fg_type *out)
{
    const gather_attr *attr = c->attr;
    const fg_type *a = c->in[OPERAND], *index = c->in[INDEX];
    const int places = index_dims(attr, index->rank);
    if (index->dtype != FG_S32)
        return fgi_infer_fail(c, FG_EDTYPE, "expected s32 indices");
    for (int i = 0; i < attr->batch; i++)
        if (a->dim[i] != index->dim[i])
            return fgi_infer_fail(
                c, FG_ESHAPE, "dimension %d is shared, but has the sizes %" PRId64 " and %" PRId64,
                i, a->dim[i], index->dim[i]);
    *out = (fg_type){.dtype = a->dtype, .rank = a->rank};
    if (attr->is_vector == 0)
        out->rank += places - (int)attr->batch - 1;
    for (int i = 0; i < a->rank; i++)
        if (i >= attr->batch && (attr->is_vector != 0 || !is_indexed(attr, i)))
            out->dim[operand_place(attr, index->rank, i)] = attr->size[i];
    for (int i = 0; i < places; i++)
        out->dim[index_place(attr, i)] = index->dim[i];
    return true;
}

static bool gather_infer(fgi_infer *c)
{
    fg_type type = {.rank = 0};
    return infer_slices(c, &type) && fgi_infer_ok(c, type.dtype, type.rank, type.dim);
}

static bool write_infer(fgi_infer *c)
{
    char text[96];
    fg_type type = {.rank = 0};
    const fg_type *a = c->in[OPERAND], *slices = c->in[SLICES];
    if (!infer_slices(c, &type))
        return false;
    if (slices->dtype != type.dtype || !fgi_same_shape(slices, &type))
        return fgi_infer_fail(c, slices->dtype != type.dtype ? FG_EDTYPE : FG_ESHAPE,
                              "expected updates %s", fg_type_format(&type, text, sizeof text));
    return fgi_infer_ok(c, a->dtype, a->rank, a->dim);
}

static bool add_infer(fgi_infer *c)
{
    if (c->in[OPERAND]->dtype == FG_BOOL)
        return fgi_infer_fail(c, FG_EDTYPE, "expected numbers: cast it first");
    return write_infer(c);
}

/* Along shared axes and axes that are taken whole, samples stay where they are. */
static bool gather_rows(fgi_infer *c)
{
    const gather_attr *attr = c->attr;
    const fgi_rows *a = c->in_rows[OPERAND], *index = c->in_rows[INDEX];
    const int rank = c->in[INDEX]->rank;
    for (int i = 0; a != NULL && i < c->in[OPERAND]->rank; i++) {
        const bool is_moved = moves(attr, i, c->in[OPERAND]->dim[i]);
        if (is_moved && a->step[i] != 0)
            return fgi_rows_mixed(c, i, "gather along other axes");
        if (!is_moved && !fgi_rows_join(c, operand_place(attr, rank, i), a->step[i]))
            return false;
    }
    for (int i = 0; index != NULL && i < index_dims(attr, rank); i++)
        if (!fgi_rows_join(c, index_place(attr, i), index->step[i]))
            return false;
    return true;
}

/* Slices along the indices are added up: fg_scatter_add has masked them, and in gradients what
 * padding rows add is 0. */
static bool write_rows(fgi_infer *c)
{
    const gather_attr *attr = c->attr;
    const fgi_rows *index = c->in_rows[INDEX];
    for (int i = 0; i < c->out.rank; i++) {
        const fgi_rows *a = c->in_rows[OPERAND], *slices = c->in_rows[SLICES];
        const int place = operand_place(attr, c->in[INDEX]->rank, i);
        const bool is_moved = moves(attr, i, c->out.dim[i]);
        const int64_t own = a != NULL ? a->step[i] : 0;
        const bool has_place = slices != NULL && (attr->is_vector != 0 || !is_indexed(attr, i));
        const int64_t other = has_place ? slices->step[place] : 0;
        if (is_moved && !c->is_derivative && (own != 0 || other != 0))
            return fgi_rows_mixed(c, i, "write along other axes");
        if (!is_moved && (!fgi_rows_join(c, i, own) || !fgi_rows_join(c, i, other)))
            return false;
    }
    for (int i = 0; index != NULL && i < attr->batch; i++)
        if (!fgi_rows_join(c, i, index->step[i]))
            return false;
    return true;
}

/* ---- gradients ------------------------------------------------------------------------------- */

static void gather_vjp(fgi_vjp *v);
static void add_vjp(fgi_vjp *v);
static void update_vjp(fgi_vjp *v);

static const fgi_op gather = {.name = "gather",
                              .arity = 2,
                              .infer = gather_infer,
                              .rows = gather_rows,
                              .emit = gather_emit,
                              .vjp = gather_vjp};

static const fgi_op scatter_add = {.name = "scatter_add",
                                   .arity = 3,
                                   .infer = add_infer,
                                   .rows = write_rows,
                                   .emit = add_emit,
                                   .vjp = add_vjp};

static const fgi_op update_slice = {.name = "dynamic_update_slice",
                                    .arity = 3,
                                    .infer = write_infer,
                                    .rows = write_rows,
                                    .emit = update_emit,
                                    .vjp = update_vjp};

static fg_tensor read_slices(fg_tensor a, fg_tensor index, const gather_attr *attr)
{
    return fgi_apply(&gather, (const fg_tensor[]){a, index}, 2, attr, sizeof *attr);
}

static fg_tensor write_slices(const fgi_op *op, fg_tensor a, fg_tensor index, fg_tensor slices,
                              const gather_attr *attr)
{
    return fgi_apply(op, (const fg_tensor[]){a, index, slices}, 3, attr, sizeof *attr);
}

static void gather_vjp(fgi_vjp *v)
{
    const fg_tensor zeros = fgi_full_like(v->in[OPERAND], 0);
    if (v->need[OPERAND])
        v->din[OPERAND] = write_slices(&scatter_add, zeros, v->in[INDEX], v->dout, v->attr);
}

static void add_vjp(fgi_vjp *v)
{
    v->din[OPERAND] = v->dout;
    if (v->need[SLICES])
        v->din[SLICES] = read_slices(v->dout, v->in[INDEX], v->attr);
}

static void update_vjp(fgi_vjp *v)
{
    const fg_tensor zeros = fgi_full_like(v->in[SLICES], 0);
    if (v->need[OPERAND])
        v->din[OPERAND] = write_slices(&update_slice, v->dout, v->in[INDEX], zeros, v->attr);
    if (v->need[SLICES])
        v->din[SLICES] = read_slices(v->dout, v->in[INDEX], v->attr);
}

/* ---- public functions ------------------------------------------------------------------------ */

/* Indices moved into 0 to limit. */
static fg_tensor clamped(fg_tensor index, fg_tensor limit)
{
    return fg_minimum(fg_maximum(index, fgi_full_like(index, 0)), limit);
}

/* The attributes of `op` along an axis, with the index moved into the operand. False after keeping
 * an error. */
static bool along_axis(const char *op, fg_tensor a, fg_tensor *index, int axis, int batch_dims,
                       gather_attr *attr)
{
    fg_trace *trace = fg_tensor_trace(a);
    const fg_type *x = fg_tensor_type(a), *at = fg_tensor_type(*index);
    const int whole = axis < 0 ? axis + x->rank : axis;
    if (whole < 0 || whole >= x->rank || batch_dims < 0 || batch_dims > whole ||
        batch_dims > at->rank) {
        (void)fgi_trace_fail(trace, FG_EINVAL,
                             "%s: axis %d with %d shared dimensions is not valid for ranks %d "
                             "and %d",
                             op, axis, batch_dims, x->rank, at->rank);
        return false;
    }
    if (x->dim[whole] < 1 || x->dim[whole] > INT32_MAX ||
        x->rank + at->rank - batch_dims - 1 > FG_MAX_RANK) {
        (void)fgi_trace_fail(
            trace, FG_ESHAPE,
            "%s: expected a dimension of 1 to 2^31 - 1 elements and no more than %d "
            "dimensions of values and indices together",
            op, FG_MAX_RANK);
        return false;
    }
    *attr = (gather_attr){.batch = batch_dims, .count = 1, .first = whole};
    for (int i = 0; i < x->rank; i++)
        attr->size[i] = i < batch_dims || i == whole ? 1 : x->dim[i];
    if (at->dtype == FG_S32)
        *index = clamped(*index, fgi_full_like(*index, (double)(x->dim[whole] - 1)));
    return true;
}

fg_tensor fg_gather(fg_tensor a, fg_tensor index, int axis, int batch_dims)
{
    gather_attr attr;
    if (fgi_is_poison(a) || fgi_is_poison(index) ||
        !along_axis("gather", a, &index, axis, batch_dims, &attr))
        return fgi_poison(fg_tensor_trace(a));
    return read_slices(a, index, &attr);
}

/* The updates with zeros where they, or the index, belong to padding rows along its dimensions. */
static fg_tensor masked(fg_tensor updates, fg_tensor index, const gather_attr *attr)
{
    const fgi_rows *of_index = fgi_node_of(index)->rows;
    const int batch = (int)attr->batch, count = fg_tensor_type(index)->rank - batch;
    int place[FG_MAX_RANK];
    fgi_rows rows = {{0}};
    for (int i = 0; i < count; i++)
        place[i] = index_place(attr, batch + i);
    updates = fgi_mask_rows(updates, fgi_row_axes(updates, count, place), 0);
    if (of_index == NULL)
        return updates;
    if (fgi_node_of(updates)->rows != NULL)
        rows = *fgi_node_of(updates)->rows;
    for (int i = 0; i < count; i++)
        rows.step[place[i]] = of_index->step[batch + i];
    updates = fgi_with_rows(updates, &rows);
    return fgi_mask_rows(updates, fgi_row_axes(updates, count, place), 0);
}

fg_tensor fg_scatter_add(fg_tensor a, fg_tensor index, fg_tensor updates, int axis, int batch_dims)
{
    gather_attr attr;
    if (fgi_is_poison(a) || fgi_is_poison(index) || fgi_is_poison(updates) ||
        !along_axis("scatter_add", a, &index, axis, batch_dims, &attr))
        return fgi_poison(fg_tensor_trace(a));
    if (fg_tensor_type(updates)->rank ==
        fg_tensor_type(a)->rank + fg_tensor_type(index)->rank - batch_dims - 1)
        updates = masked(updates, index, &attr);
    return write_slices(&scatter_add, a, index, updates, &attr);
}

/* The attributes of `op` on a block of a with these sizes, with the start moved so that it is
 * inside. False after keeping an error. */
static bool at_start(const char *op, fg_tensor a, fg_tensor *start, const int64_t *size,
                     gather_attr *attr)
{
    fg_trace *trace = fg_tensor_trace(a);
    const fg_type *x = fg_tensor_type(a), *at = fg_tensor_type(*start);
    const int batch = at->rank - 1;
    const bool is_shape =
        (at->rank == 1 || (at->rank == 2 && x->rank > 0)) && at->dim[batch] == x->rank - batch;
    int32_t last[FG_MAX_RANK];
    if (!is_shape || at->dtype != FG_S32) {
        char p[96], q[96];
        (void)fgi_trace_fail(trace, is_shape ? FG_EDTYPE : FG_ESHAPE,
                             "%s(%s, %s): expected the start s32[%d], or one for each "
                             "sample, s32[B,%d]",
                             op, fg_type_format(x, p, sizeof p), fg_type_format(at, q, sizeof q),
                             x->rank, x->rank - 1);
        return false;
    }
    *attr = (gather_attr){.batch = batch, .is_vector = 1, .count = x->rank - batch, .first = batch};
    for (int i = 0; i < x->rank; i++) {
        const bool is_whole = i < batch;
        if (size[i] < 1 || size[i] > x->dim[i] || (is_whole && size[i] != x->dim[i]) ||
            x->dim[i] > INT32_MAX) {
            (void)fgi_trace_fail(trace, FG_ESHAPE,
                                 "%s: size %" PRId64 " of dimension %d: expected %s%" PRId64, op,
                                 size[i], i, is_whole ? "" : "1 to ", x->dim[i]);
            return false;
        }
        attr->size[i] = is_whole ? 1 : size[i];
        if (!is_whole)
            last[i - batch] = (int32_t)(x->dim[i] - size[i]);
    }
    const fg_type bound = {.dtype = FG_S32, .rank = 1, .dim = {attr->count}};
    *start = clamped(*start, fg_constant(trace, &bound, last));
    return true;
}

fg_tensor fg_dynamic_slice(fg_tensor a, fg_tensor start, const int64_t *size)
{
    gather_attr attr;
    if (fgi_is_poison(a) || fgi_is_poison(start) ||
        !at_start("dynamic_slice", a, &start, size, &attr))
        return fgi_poison(fg_tensor_trace(a));
    return read_slices(a, start, &attr);
}

fg_tensor fg_dynamic_update_slice(fg_tensor a, fg_tensor block, fg_tensor start)
{
    fg_trace *trace = fg_tensor_trace(a);
    gather_attr attr;
    char p[96], q[96];
    if (fgi_is_poison(a) || fgi_is_poison(block) || fgi_is_poison(start))
        return fgi_poison(trace);
    const fg_type *x = fg_tensor_type(a), *y = fg_tensor_type(block);
    if (x->rank != y->rank || x->dtype != y->dtype)
        return fgi_trace_fail(trace, x->rank != y->rank ? FG_ESHAPE : FG_EDTYPE,
                              "dynamic_update_slice(%s, %s): expected a block of the same rank and "
                              "dtype",
                              fg_type_format(x, p, sizeof p), fg_type_format(y, q, sizeof q));
    if (!at_start("dynamic_update_slice", a, &start, y->dim, &attr))
        return fgi_poison(trace);
    return write_slices(&update_slice, a, start, block, &attr);
}
