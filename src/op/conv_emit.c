/* conv_emit.c - convolutions and their gradients as single StableHLO convolutions, whose dimension
 * numbers define the role of each dimension: the form that XLA expects.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "hlo/mlir.h"
#include "op/conv.h"

/* ---- images of one dimension ---------------------------------------------------------------- */

static bool is_kernel(const fgi_node *node, int i)
{
    return node->op == &fgi_conv_dk ? i < 0 : i == 1;
}

/* The type of operand i, or of the result if i is -1, with the dimensions of the window. */
static fg_type lifted(const fgi_emit *e, int i)
{
    fg_type type = i < 0 ? e->node->type : e->node->in[i]->type;
    const int at = is_kernel(e->node, i) ? 0 : 1;
    if (((const fgi_conv_attr *)e->node->attr)->rank != 1)
        return type;
    for (int d = type.rank++; d > at; d--)
        type.dim[d] = type.dim[d - 1];
    type.dim[at] = 1;
    return type;
}

fg_type fgi_conv_type(const fgi_emit *e) { return lifted(e, -1); }
fg_type fgi_conv_in_type(const fgi_emit *e, int i) { return lifted(e, i); }

fgi_value fgi_conv_in(fgi_emit *e, int i)
{
    const fgi_value value = fgi_emit_in(e, i);
    const fg_type type = lifted(e, i);
    return type.rank == value.type.rank ? value
                                        : fgi_build_reshape(&e->b, value, type.rank, type.dim);
}

void fgi_conv_become(fgi_emit *e, fgi_value value)
{
    const fg_type *type = &e->node->type;
    if (type->rank != value.type.rank)
        value = fgi_build_reshape(&e->b, value, type->rank, type->dim);
    fgi_emit_become(e, value);
}

/* ---- windows --------------------------------------------------------------------------------- */

static fgi_conv_window window_of(const fgi_conv_attr *attr, fgi_conv_roles roles)
{
    return (fgi_conv_window){
        .dims = (int)attr->dims, .feature_groups = 1, .batch_groups = 1, .roles = roles};
}

fgi_conv_window fgi_conv_window_y(const fgi_conv_attr *attr)
{
    fgi_conv_window w = window_of(attr, FGI_CONV_Y);
    for (int i = 0; i < w.dims; i++) {
        w.stride[i] = attr->stride[i];
        w.low[i] = attr->low[i];
        w.high[i] = attr->high[i];
        w.lhs_dilation[i] = 1;
        w.rhs_dilation[i] = attr->dilation[i];
    }
    return w;
}

/* Each element of dy is propagated to its window: dy is dilated by the stride. */
fgi_conv_window fgi_conv_window_dx(const fgi_conv_attr *attr, const int64_t *y_size)
{
    fgi_conv_window w = window_of(attr, FGI_CONV_DX);
    for (int i = 0; i < w.dims; i++) {
        const int64_t taps = fgi_extent(attr->k_size[i], attr->dilation[i]);
        w.stride[i] = 1;
        w.lhs_dilation[i] = attr->stride[i];
        w.rhs_dilation[i] = attr->dilation[i];
        w.low[i] = taps - 1 - attr->low[i];
        w.high[i] = attr->x_size[i] + taps - 1 - fgi_extent(y_size[i], attr->stride[i]) - w.low[i];
    }
    return w;
}

/* The kernel's gradient correlates x with dy: channels become the batch dimension, and the batch
 * becomes the feature dimension that is contracted. */
fgi_conv_window fgi_conv_window_dk(const fgi_conv_attr *attr, const int64_t *y_size)
{
    fgi_conv_window w = window_of(attr, FGI_CONV_DK);
    for (int i = 0; i < w.dims; i++) {
        w.stride[i] = attr->dilation[i];
        w.lhs_dilation[i] = 1;
        w.rhs_dilation[i] = attr->stride[i];
        w.low[i] = attr->low[i];
        w.high[i] = fgi_extent(y_size[i], attr->stride[i]) +
                    fgi_extent(attr->k_size[i], attr->dilation[i]) - 1 - attr->x_size[i] -
                    attr->low[i];
    }
    return w;
}

fgi_value fgi_conv_line(fgi_builder *b, const fg_type *type, fgi_value lhs, fgi_value rhs,
                        const fgi_conv_window *w)
{
    static const char *const roles[][2] = {
        [FGI_CONV_Y] = {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                        "[b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f]"},
        [FGI_CONV_DX] = {"[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]",
                         "[b, 0, 1, 2, f]x[0, 1, 2, o, i]->[b, 0, 1, 2, f]"},
        [FGI_CONV_DK] = {"[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]",
                         "[f, 0, 1, 2, b]x[i, 0, 1, 2, o]->[0, 1, 2, b, f]"}};
    fgi_buf text = {0};
    fgi_buf_puts(&text, "window_strides = ");
    fgi_mlir_array(&text, w->dims, w->stride);
    fgi_buf_puts(&text, ", padding = ");
    fgi_mlir_pairs(&text, w->dims, w->low, w->high);
    fgi_buf_puts(&text, ", lhs_dilation = ");
    fgi_mlir_array(&text, w->dims, w->lhs_dilation);
    fgi_buf_puts(&text, ", rhs_dilation = ");
    fgi_mlir_array(&text, w->dims, w->rhs_dilation);
    if (w->is_reversed)
        fgi_buf_printf(&text, ", window_reversal = array<i1: true, true%s>",
                       w->dims == 3 ? ", true" : "");
    fgi_buf_printf(&text,
                   ", dimension_numbers = #stablehlo.conv<%s>, feature_group_count = %" PRId64
                   " : i64, batch_group_count = %" PRId64 " : i64",
                   roles[w->roles][w->dims == 3], w->feature_groups, w->batch_groups);
    return fgi_build_text(b, type, "convolution", &text, 2, (const fgi_value[]){lhs, rhs});
}

/* [kh,kw,C/g,Co] -> [kh,kw,Co/g,C]: the kernel for the gradient of x. */
static fgi_value transposed(fgi_builder *b, fgi_value k, int64_t groups)
{
    const int n = k.type.rank - 2;
    fg_type split = k.type, whole = k.type;
    int64_t order[FG_MAX_RANK] = {0, 1, 2};
    split.rank++;
    split.dim[n + 1] = groups;
    split.dim[n + 2] = k.type.dim[n + 1] / groups;
    order[n] = n + 2;
    order[n + 1] = n + 1;
    order[n + 2] = n;
    whole.dim[n] = split.dim[n + 2];
    whole.dim[n + 1] = groups * k.type.dim[n];
    const fgi_value parts = fgi_build_reshape(b, k, split.rank, split.dim);
    return fgi_build_reshape(b, fgi_build_transpose(b, parts, order), whole.rank, whole.dim);
}

/* With the dimensions in the order that XLA's backends use. The CPU backend transposes other orders
 * itself, but not within loops, where they would run as scalar code. */
fgi_value fgi_conv_dense_dk(fgi_builder *b, const fg_type *type, fgi_value x, fgi_value dy,
                            const fgi_conv_window *window)
{
    const int n = window->dims;
    fgi_conv_window w = *window;
    fg_type turned = *type;
    int64_t swap[FG_MAX_RANK] = {n + 1, 1, 2}, first_to_last[FG_MAX_RANK], back[FG_MAX_RANK];
    w.roles = FGI_CONV_Y;
    for (int i = 0; i < n; i++) {
        turned.dim[i + 1] = type->dim[i];
        swap[i + 1] = first_to_last[i] = back[i] = i + 1;
    }
    turned.dim[0] = type->dim[n];
    swap[n + 1] = first_to_last[n] = back[n] = 0;
    first_to_last[n + 1] = back[n + 1] = n + 1;
    x = fgi_build_transpose(b, x, swap);
    dy = fgi_build_transpose(b, dy, first_to_last);
    return fgi_build_transpose(b, fgi_conv_line(b, &turned, x, dy, &w), back);
}

/* ---- the three ------------------------------------------------------------------------------- */

void fgi_conv_emit_y(fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    fgi_conv_window w = fgi_conv_window_y(attr);
    w.feature_groups = attr->groups;
    const fg_type type = fgi_conv_type(e);
    const fgi_value x = fgi_conv_in(e, 0), k = fgi_conv_in(e, 1);
    fgi_conv_become(e, fgi_conv_line(&e->b, &type, x, k, &w));
}

void fgi_conv_emit_dx_of(fgi_emit *e, fgi_value k, bool reverses)
{
    const fgi_conv_attr *attr = e->node->attr;
    const fg_type type = fgi_conv_type(e);
    const fgi_value dy = fgi_conv_in(e, 0);
    fgi_conv_window w = fgi_conv_window_dx(attr, &dy.type.dim[1]);
    w.is_reversed = reverses;
    if (attr->groups > 1 || !reverses) { /* for the CPU: see fgi_conv_dense_dk */
        k = transposed(&e->b, k, attr->groups);
        w.roles = FGI_CONV_Y;
        w.feature_groups = attr->groups;
    }
    fgi_conv_become(e, fgi_conv_line(&e->b, &type, dy, k, &w));
}

void fgi_conv_emit_dx(fgi_emit *e) { fgi_conv_emit_dx_of(e, fgi_conv_in(e, 1), true); }

void fgi_conv_emit_dk(fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    const fg_type type = fgi_conv_type(e);
    const fgi_value x = fgi_conv_in(e, 0), dy = fgi_conv_in(e, 1);
    fgi_conv_window w = fgi_conv_window_dk(attr, &dy.type.dim[1]);
    w.batch_groups = attr->groups;
    fgi_conv_become(e, attr->groups == 1 ? fgi_conv_dense_dk(&e->b, &type, x, dy, &w)
                                         : fgi_conv_line(&e->b, &type, x, dy, &w));
}
