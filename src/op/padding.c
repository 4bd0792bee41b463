/* padding.c - batches with padding rows: where rows are introduced, where they end, and how many
 * are valid.
 *
 * A value gets rows when a batch axis is marked; rules next to each operation's shape rule
 * propagate them (trace/rows.c). They end in one place only: mask_rows, which replaces the elements
 * of padding rows by a neutral number with a select, so that not even a NaN passes. Reductions and
 * contractions over a batch axis apply it to their operands.
 *
 * Gradients are not masked again. The gradient of a padding row is exactly zero, because the only
 * path from it to the loss is through a select that did not choose it; so sums over rows are
 * correct.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "op/op.h"

/* ---- marking --------------------------------------------------------------------------------- */

static bool same_infer(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

static bool mark_rows(fgi_infer *c)
{
    c->rows = *(const fgi_rows *)c->attr;
    return true;
}

static void mark_vjp(fgi_vjp *v) { v->din[0] = v->dout; }

/* The value itself; nothing is emitted. Its rows are those of the attribute. */
static const fgi_op mark = {.name = "batch_axis",
                            .arity = 1,
                            .role = FGI_MOVES,
                            .infer = same_infer,
                            .rows = mark_rows,
                            .makes_rows = true,
                            .vjp = mark_vjp};

fg_tensor fgi_with_rows(fg_tensor a, const fgi_rows *rows)
{
    static const fgi_rows none;
    const fgi_rows *want = rows != NULL ? rows : &none;
    if (fgi_is_poison(a))
        return a;
    const fgi_rows *have = fgi_node_of(a)->rows != NULL ? fgi_node_of(a)->rows : &none;
    if (memcmp(have, want, sizeof *have) == 0)
        return a;
    return fgi_apply(&mark, &a, 1, want, sizeof *want);
}

static fg_tensor mark_axis(fg_tensor a, int at)
{
    fg_trace *trace = fg_tensor_trace(a);
    const int64_t batch = fgi_trace_batch(trace), size = fg_tensor_dim(a, at);
    if (batch == 0)
        return a;
    if (size != batch)
        return fgi_trace_fail(trace, FG_ESHAPE,
                              "batch_axis: dimension %d has %" PRId64
                              " elements, but the trace's mask has %" PRId64 " rows",
                              at, size, batch);
    fgi_rows rows = {{0}};
    if (fgi_node_of(a)->rows != NULL)
        rows = *fgi_node_of(a)->rows;
    rows.step[at] = 1;
    return fgi_with_rows(a, &rows);
}

fg_tensor fg_batch_axis(fg_tensor a, int axis)
{
    int at;
    if (fgi_is_poison(a))
        return a;
    if (fgi_axes(a, "batch_axis", 1, &axis, &at) < 0)
        return fgi_poison(fg_tensor_trace(a));
    fgi_trace_note_mark(fg_tensor_trace(a));
    return mark_axis(a, at);
}

fg_tensor fgi_batch_first(fg_tensor a)
{
    if (fgi_is_poison(a) || fgi_node_of(a)->rows != NULL || fg_tensor_type(a)->rank == 0 ||
        !fgi_trace_assumes_rows(fg_tensor_trace(a)))
        return a;
    return mark_axis(a, 0);
}

/* ---- masking --------------------------------------------------------------------------------- */

/* (valid bool, a, fill): a where valid, else fill. The axes of the attribute, one bit each, no
 * longer have rows. */
enum { MASK_VALID, MASK_A, MASK_FILL };

typedef struct mask_attr {
    int64_t axes;
} mask_attr;

static bool mask_infer(fgi_infer *c)
{
    const fg_type *a = c->in[MASK_A];
    return fgi_infer_ok(c, a->dtype, a->rank, a->dim);
}

static bool mask_rows(fgi_infer *c)
{
    const mask_attr *attr = c->attr;
    for (int d = 0; c->in_rows[MASK_A] != NULL && d < c->out.rank; d++)
        if ((attr->axes >> d & 1) == 0)
            c->rows.step[d] = c->in_rows[MASK_A]->step[d];
    return true;
}

static void mask_emit(fgi_emit *e) { fgi_emit_simple(e, "select", NULL); }

static void mask_vjp(fgi_vjp *v)
{
    v->din[MASK_A] = fg_where(v->in[MASK_VALID], v->dout, fgi_full_like(v->dout, 0));
}

static const fgi_op mask_op = {.name = "mask_rows",
                               .arity = 3,
                               .role = FGI_POINTWISE,
                               .infer = mask_infer,
                               .rows = mask_rows,
                               .emit = mask_emit,
                               .vjp = mask_vjp};

unsigned fgi_row_axes(fg_tensor a, int count, const int *axis)
{
    unsigned axes = 0;
    for (int i = 0; fgi_node_of(a)->rows != NULL && i < count; i++)
        axes |= fgi_node_of(a)->rows->step[axis[i]] != 0 ? 1u << axis[i] : 0;
    return axes;
}

/* Which rows of the batch are valid: bool[B]. */
static fg_tensor valid_rows(fg_trace *trace)
{
    fg_tensor mask;
    if (!fg_trace_mask(trace, &mask))
        return fgi_poison(trace);
    return fg_ne(mask, fg_zeros(trace, FG_F32, FG_SCALAR));
}

/* Which elements along an axis with rows are valid: bool[dim]. */
static fg_tensor valid_along(fg_tensor a, int axis)
{
    fg_trace *trace = fg_tensor_trace(a);
    const int64_t batch = fgi_trace_batch(trace), step = fgi_node_of(a)->rows->step[axis];
    const int64_t size = fg_tensor_dim(a, axis);
    const fg_tensor valid = valid_rows(trace);
    if (size == batch)
        return valid;
    const fg_type type = {FG_BOOL, 3, {size / (batch * step), batch, step}};
    return fg_reshape(fgi_expand(valid, 2, (const int[]){0, 2}, &type), FG_DIMS(size));
}

fg_tensor fgi_valid_elements(fg_tensor a, unsigned axes)
{
    const fg_type *type = fg_tensor_type(a);
    fg_type shape = *type;
    shape.dtype = FG_BOOL;
    fg_tensor all = {0};
    for (int d = 0; d < type->rank; d++) {
        int others[FG_MAX_RANK], count = 0;
        if ((axes >> d & 1) == 0)
            continue;
        for (int i = 0; i < type->rank; i++)
            if (i != d)
                others[count++] = i;
        const fg_tensor one = fgi_expand(valid_along(a, d), count, others, &shape);
        all = all.handle == 0 ? one : fg_and(all, one);
    }
    return all;
}

fg_tensor fgi_mask_rows(fg_tensor a, unsigned axes, double fill)
{
    if (fgi_is_poison(a) || axes == 0 || fgi_trace_is_derivative(fg_tensor_trace(a)))
        return a;
    const mask_attr attr = {.axes = axes};
    const fg_tensor in[] = {fgi_valid_elements(a, axes), a, fgi_full_like(a, fill)};
    return fgi_apply(&mask_op, in, 3, &attr, sizeof attr);
}

bool fgi_masked_by(fg_tensor a, fg_tensor *out_valid)
{
    const bool is_masked = fgi_node_of(a)->op == &mask_op;
    if (is_masked)
        *out_valid = fgi_tensor_of(fgi_node_of(a)->in[MASK_VALID]);
    return is_masked;
}

/* ---- counting -------------------------------------------------------------------------------- */

static fg_tensor valid_count(fg_trace *trace)
{
    fg_tensor count;
    if (fgi_trace_valid_count(trace, &count))
        return count;
    return fg_sum(fg_cast(valid_rows(trace), FG_F32), 0, NULL);
}

fg_tensor fgi_row_denominator(fg_tensor a, unsigned axes)
{
    fg_trace *trace = fg_tensor_trace(a);
    fg_tensor rows = valid_count(trace), total = rows;
    for (axes &= axes - 1; axes != 0; axes &= axes - 1)
        total = fg_mul(total, rows);
    return total;
}

fg_tensor fgi_count_valid(fg_tensor a, int count, const int *axis, fg_dtype dtype)
{
    fg_trace *trace = fg_tensor_trace(a);
    const unsigned axes = fgi_row_axes(a, count, axis);
    double each = 1;
    fg_tensor total = {0};
    for (int i = 0; i < count; i++) {
        const int64_t size = fg_tensor_dim(a, axis[i]);
        const bool has_rows = (axes >> axis[i] & 1) != 0;
        each *= (double)(has_rows ? size / fgi_trace_batch(trace) : size);
        if (!has_rows)
            continue;
        const fg_tensor rows = fg_cast(valid_count(trace), dtype);
        total = total.handle == 0 ? rows : fg_mul(total, rows);
    }
    return total.handle == 0 ? fg_full(trace, dtype, each, FG_SCALAR) : fg_mul_scalar(total, each);
}

/* ---- the next sample ------------------------------------------------------------------------- */

/* The first row of a. */
static fg_tensor first_row(fg_tensor a)
{
    const int64_t start[FG_MAX_RANK] = {0};
    int64_t end[FG_MAX_RANK] = {0};
    memcpy(end, fg_tensor_type(a)->dim, sizeof end);
    end[0] = 1;
    return fg_slice(a, start, end, NULL);
}

/* Each row moved to the place of the row before it, as a pad: on several devices, XLA then
 * exchanges a single row between neighbors. Given a slice and a concatenation instead, it exchanges
 * all rows of a batch (all-to-all) on GPUs. */
static fg_tensor next_rows(fg_tensor a)
{
    const int64_t low[FG_MAX_RANK] = {-1}, high[FG_MAX_RANK] = {1};
    return fg_pad(a, 0, low, high, NULL);
}

/* Whether row i of a is the last valid one: bool[B, 1, ...]. */
static fg_tensor is_last_row(fg_tensor a, bool has_rows)
{
    fg_trace *trace = fg_tensor_trace(a);
    const int64_t batch = fg_tensor_dim(a, 0);
    int64_t dim[FG_MAX_RANK] = {batch};
    for (int i = 1; i < fg_tensor_type(a)->rank; i++)
        dim[i] = 1;
    const fg_tensor row = fg_iota(trace, FG_F32, 0, fg_tensor_type(a)->rank, dim);
    const fg_tensor count =
        has_rows ? valid_count(trace) : fg_full(trace, FG_F32, (double)batch, FG_SCALAR);
    return fg_eq(fg_add_scalar(row, 1), count);
}

fg_tensor fg_batch_roll(fg_tensor a)
{
    char text[96];
    fg_trace *trace = fg_tensor_trace(a);
    a = fgi_batch_first(a);
    if (fgi_is_poison(a))
        return a;
    const fg_type *type = fg_tensor_type(a);
    const fgi_rows *rows = fgi_node_of(a)->rows;
    bool is_first = type->rank > 0;
    for (int i = 0; rows != NULL && i < type->rank; i++)
        is_first = is_first && rows->step[i] == (i == 0 ? 1 : 0);
    if (!is_first || (rows != NULL && type->dim[0] != fgi_trace_batch(trace)))
        return fgi_trace_fail(
            trace, type->rank > 0 ? FG_EINVAL : FG_ESHAPE,
            "batch_roll: got %s: expected T[B, ...], whose first dimension is the "
            "only batch axis",
            fg_type_format(type, text, sizeof text));
    if (type->dim[0] < 2)
        return a;
    /* the order of rows changes, which operations on rows refuse */
    const fg_tensor plain = fgi_with_rows(a, NULL);
    const fg_tensor rolled =
        fg_where(is_last_row(plain, rows != NULL), first_row(plain), next_rows(plain));
    return fgi_with_rows(rolled, rows);
}

fg_tensor fgi_set_denominator(fg_tensor mean, fg_tensor weight)
{
    if (!fgi_is_poison(mean) && !fgi_is_poison(weight) && fg_tensor_type(mean)->rank == 0)
        fgi_node_of(mean)->denominator = fgi_node_of(weight);
    return mean;
}
