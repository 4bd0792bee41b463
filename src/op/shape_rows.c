/* shape_rows.c - position of rows after an operation that moves elements.
 *
 * Rows can be tracked if each dimension is n x B x step (graph.h). Anything else, such as half of
 * the batch or the batch in reverse order, is an error.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/shape.h"

static int64_t at_least_one(int64_t n) { return n > 0 ? n : 1; }

/* Number of contiguous elements in memory with the same index in dimension `axis`. */
static int64_t stride_of(const fg_type *type, int axis)
{
    int64_t stride = 1;
    for (int i = type->rank - 1; i > axis; i--)
        stride *= at_least_one(type->dim[i]);
    return stride;
}

/* The row changes after every `run` elements in memory, through all B rows, repeatedly. A dimension
 * represents that if its own stride divides the run, and B runs divide its extent. With B > 1 there
 * is at most one. */
static int holder_of(const fg_type *type, int64_t run, int64_t batch)
{
    for (int d = 0; d < type->rank; d++) {
        const int64_t stride = stride_of(type, d);
        if (run % stride == 0 && at_least_one(type->dim[d]) % (run / stride * batch) == 0)
            return d;
    }
    return -1;
}

bool fgi_reshape_rows(fgi_infer *c)
{
    const fg_type *a = c->in[0];
    for (int d = 0; d < a->rank; d++) {
        const int64_t step = c->in_rows[0]->step[d], run = step * stride_of(a, d);
        if (step == 0)
            continue;
        const int to = holder_of(&c->out, run, c->batch);
        if (to < 0)
            return fgi_rows_mixed(
                c, d,
                "keep the batch axis separate: reshape [B, ...] to [B, ...] or to [B * T, ...]");
        if (c->rows.step[to] != 0)
            return fgi_rows_mixed(c, d, "keep the two batch axes separate, or reduce one of them");
        c->rows.step[to] = run / stride_of(&c->out, to);
    }
    return true;
}

bool fgi_permute_rows(fgi_infer *c)
{
    const fgi_shape_attr *attr = c->attr;
    for (int i = 0; i < c->out.rank; i++)
        c->rows.step[i] = c->in_rows[0]->step[attr->dim[i]];
    return true;
}

bool fgi_broadcast_rows(fgi_infer *c)
{
    const fgi_broadcast_attr *attr = c->attr;
    const fg_type *a = c->in[0];
    for (int i = 0; i < a->rank; i++) { /* broadcast along a batch axis: from one row */
        const bool is_repeated = a->dim[i] != c->out.dim[attr->axis[i]];
        const int64_t step = c->in_rows[0]->step[i];
        c->rows.step[attr->axis[i]] =
            step != 0 && is_repeated ? at_least_one(c->out.dim[attr->axis[i]]) : step;
    }
    return true;
}

/* Whole batches one after another, or the same elements of each row, [B * T] to [B]. */
bool fgi_slice_rows(fgi_infer *c)
{
    const fgi_slice_attr *attr = c->attr;
    for (int d = 0; d < c->out.rank; d++) {
        const int64_t step = c->in_rows[0]->step[d], batch = c->batch * step;
        const int64_t start = attr->start[d], limit = attr->limit[d], by = attr->stride[d];
        if (step == 0)
            continue;
        const bool is_chunk = by == 1 && start % batch == 0 && limit % batch == 0;
        const bool is_comb = start < by && step % by == 0 && c->out.dim[d] * by == c->in[0]->dim[d];
        if (!is_chunk && !is_comb)
            return fgi_rows_mixed(c, d,
                                  "use every sample (select with fg_where instead of slicing), or "
                                  "provide slices of the batch as fields of the dataset");
        c->rows.step[d] = is_chunk ? step : step / by;
    }
    return true;
}

/* The inverse of both. */
bool fgi_pad_rows(fgi_infer *c)
{
    const fgi_pad_attr *attr = c->attr;
    for (int d = 0; c->in_rows[0] != NULL && d < c->out.rank; d++) {
        const int64_t step = c->in_rows[0]->step[d], batch = c->batch * step;
        const int64_t low = attr->low[d], high = attr->high[d], by = attr->interior[d] + 1;
        if (step == 0)
            continue;
        const bool is_chunk = by == 1 && low % batch == 0 && high % batch == 0;
        const bool is_comb = low >= 0 && low < by && c->in[0]->dim[d] * by == c->out.dim[d];
        if (!is_chunk && !is_comb)
            return fgi_rows_mixed(c, d, "pad other axes, such as time or height and width");
        c->rows.step[d] = is_chunk ? step : step * by;
    }
    return true;
}

bool fgi_concat_rows(fgi_infer *c)
{
    const int axis = (int)((const fgi_axis_attr *)c->attr)->axis;
    int with_rows = 0;
    for (int i = 0; i < c->arity; i++) {
        with_rows += c->in_rows[i] != NULL && c->in_rows[i]->step[axis] != 0;
        for (int d = 0; c->in_rows[i] != NULL && d < c->out.rank; d++)
            if (!fgi_rows_join(c, d, c->in_rows[i]->step[d]))
                return false;
    }
    if (with_rows > 0 && with_rows < c->arity)
        return fgi_rows_mixed(
            c, axis,
            "concatenate only values that all have the batch axis there, or compute with each part "
            "and concatenate after reducing over the batch axis");
    return true;
}

bool fgi_reverse_rows(fgi_infer *c)
{
    const fgi_shape_attr *attr = c->attr;
    for (int i = 0; i < attr->rank; i++)
        if (c->in_rows[0]->step[attr->dim[i]] != 0)
            return fgi_rows_mixed(c, (int)attr->dim[i], "reverse other axes, such as time");
    return fgi_rows_pointwise(c);
}
