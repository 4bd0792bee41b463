/* conv_emit.c - convolutions and their gradients as single StableHLO convolutions, whose dimension
 * numbers define the role of each dimension: the form that XLA expects.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "hlo/mlir.h"
#include "op/conv.h"

fgi_conv_window fgi_conv_window_y(const fgi_conv_attr *attr)
{
    fgi_conv_window w = {.feature_groups = 1, .batch_groups = 1, .dims = FGI_CONV_Y};
    for (int i = 0; i < 2; i++) {
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
    fgi_conv_window w = {.feature_groups = 1, .batch_groups = 1, .dims = FGI_CONV_DX};
    for (int i = 0; i < 2; i++) {
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
    fgi_conv_window w = {.feature_groups = 1, .batch_groups = 1, .dims = FGI_CONV_DK};
    for (int i = 0; i < 2; i++) {
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
    fgi_buf text = {0};
    fgi_buf_puts(&text, "window_strides = ");
    fgi_mlir_array(&text, 2, w->stride);
    fgi_buf_puts(&text, ", padding = ");
    fgi_mlir_pairs(&text, 2, w->low, w->high);
    fgi_buf_puts(&text, ", lhs_dilation = ");
    fgi_mlir_array(&text, 2, w->lhs_dilation);
    fgi_buf_puts(&text, ", rhs_dilation = ");
    fgi_mlir_array(&text, 2, w->rhs_dilation);
    if (w->is_reversed)
        fgi_buf_puts(&text, ", window_reversal = array<i1: true, true>");
    fgi_buf_printf(&text,
                   ", dimension_numbers = #stablehlo.conv<%s>, feature_group_count = %" PRId64
                   " : i64, batch_group_count = %" PRId64 " : i64",
                   w->dims, w->feature_groups, w->batch_groups);
    return fgi_build_text(b, type, "convolution", &text, 2, (const fgi_value[]){lhs, rhs});
}

/* [kh,kw,C/g,Co] -> [kh,kw,Co/g,C]: the kernel for the gradient of x. */
static fgi_value transposed(fgi_builder *b, fgi_value k, int64_t groups)
{
    const int64_t *d = k.type.dim, in = d[2], out = d[3] / groups;
    const fgi_value split = fgi_build_reshape(b, k, 5, (int64_t[]){d[0], d[1], in, groups, out});
    const fgi_value swapped = fgi_build_transpose(b, split, (const int64_t[]){0, 1, 4, 3, 2});
    return fgi_build_reshape(b, swapped, 4, (int64_t[]){d[0], d[1], out, groups * in});
}

/* With the dimensions in the order that XLA's backends use. The CPU backend transposes other orders
 * itself, but not within loops, where they would run as scalar code. */
fgi_value fgi_conv_dense_dk(fgi_builder *b, const fg_type *type, fgi_value x, fgi_value dy,
                            const fgi_conv_window *window)
{
    fgi_conv_window w = *window;
    fg_type turned = *type;
    w.dims = FGI_CONV_Y;
    turned.dim[0] = type->dim[2];
    turned.dim[1] = type->dim[0];
    turned.dim[2] = type->dim[1];
    x = fgi_build_transpose(b, x, (const int64_t[]){3, 1, 2, 0});
    dy = fgi_build_transpose(b, dy, (const int64_t[]){1, 2, 0, 3});
    const fgi_value dk = fgi_conv_line(b, &turned, x, dy, &w);
    return fgi_build_transpose(b, dk, (const int64_t[]){1, 2, 0, 3});
}

/* ---- the three ------------------------------------------------------------------------------- */

void fgi_conv_emit_y(fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    fgi_conv_window w = fgi_conv_window_y(attr);
    w.feature_groups = attr->groups;
    const fgi_value x = fgi_emit_in(e, 0), k = fgi_emit_in(e, 1);
    fgi_emit_become(e, fgi_conv_line(&e->b, &e->node->type, x, k, &w));
}

void fgi_conv_emit_dx_of(fgi_emit *e, fgi_value k, bool reverses)
{
    const fgi_conv_attr *attr = e->node->attr;
    const fgi_value dy = fgi_emit_in(e, 0);
    fgi_conv_window w = fgi_conv_window_dx(attr, &dy.type.dim[1]);
    w.is_reversed = reverses;
    if (attr->groups > 1) {
        k = transposed(&e->b, k, attr->groups);
        w.dims = FGI_CONV_Y;
        w.feature_groups = attr->groups;
    }
    fgi_emit_become(e, fgi_conv_line(&e->b, &e->node->type, dy, k, &w));
}

void fgi_conv_emit_dx(fgi_emit *e) { fgi_conv_emit_dx_of(e, fgi_emit_in(e, 1), true); }

void fgi_conv_emit_dk(fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    const fgi_value x = fgi_emit_in(e, 0), dy = fgi_emit_in(e, 1);
    fgi_conv_window w = fgi_conv_window_dk(attr, &dy.type.dim[1]);
    w.batch_groups = attr->groups;
    fgi_emit_become(e, attr->groups == 1 ? fgi_conv_dense_dk(&e->b, &e->node->type, x, dy, &w)
                                         : fgi_conv_line(&e->b, &e->node->type, x, dy, &w));
}
