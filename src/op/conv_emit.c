/* conv_emit.c - convolutions and their gradients as single StableHLO convolutions, whose dimension
 * numbers say which dimension plays which part: the form that XLA is used to.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "ir/mlir.h"
#include "op/conv.h"

fgi_window fgi_conv_window_y(const fgi_conv_attr *attr)
{
    fgi_window w = {.feature_groups = 1, .batch_groups = 1, .dims = FGI_CONV_Y};
    for (int i = 0; i < 2; i++) {
        w.stride[i] = attr->stride[i];
        w.low[i] = attr->low[i];
        w.high[i] = attr->high[i];
        w.lhs_dilation[i] = 1;
        w.rhs_dilation[i] = attr->dilation[i];
    }
    return w;
}

/* Each element of dy goes back to where its window stood: dy spread out by the stride. */
fgi_window fgi_conv_window_dx(const fgi_conv_attr *attr, const int64_t *y_size)
{
    fgi_window w = {.feature_groups = 1, .batch_groups = 1, .dims = FGI_CONV_DX};
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

/* The kernel's derivative correlates x with dy: channels become the batch, and the batch becomes
 * the channels that are summed over. */
fgi_window fgi_conv_window_dk(const fgi_conv_attr *attr, const int64_t *y_size)
{
    fgi_window w = {.feature_groups = 1, .batch_groups = 1, .dims = FGI_CONV_DK};
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

fgi_part fgi_conv_line(fgi_emit *e, const fg_type *type, fgi_part lhs, fgi_part rhs,
                       const fgi_window *w)
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
    const fgi_part in[] = {lhs, rhs};
    const fgi_part r = fgi_part_line(e, type, "convolution", text.failed ? NULL : text.data, 2, in);
    if (text.failed)
        e->out->failed = true;
    fgi_buf_fini(&text);
    return r;
}

fgi_part fgi_conv_turned(fgi_emit *e, fgi_part k, int64_t groups)
{
    const int64_t *d = k.type.dim, in = d[2], out = d[3] / groups;
    const fgi_part split = fgi_part_reshape(e, k, 5, (int64_t[]){d[0], d[1], in, groups, out});
    const fgi_part swapped = fgi_part_transpose(e, split, (const int64_t[]){0, 1, 4, 3, 2});
    return fgi_part_reshape(e, swapped, 4, (int64_t[]){d[0], d[1], out, groups * in});
}

/* ---- the three ------------------------------------------------------------------------------- */

void fgi_conv_emit_y(fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    if (fgi_conv_cpu_y(e))
        return;
    fgi_window w = fgi_conv_window_y(attr);
    w.feature_groups = attr->groups;
    const fgi_part x = fgi_part_in(e, 0), k = fgi_part_in(e, 1);
    fgi_part_become(e, fgi_conv_line(e, &e->node->type, x, k, &w));
}

void fgi_conv_emit_dx(fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    if (fgi_conv_cpu_dx(e))
        return;
    const fgi_part dy = fgi_part_in(e, 0);
    fgi_part k = fgi_part_in(e, 1);
    fgi_window w = fgi_conv_window_dx(attr, &dy.type.dim[1]);
    w.is_reversed = true;
    if (attr->groups > 1) {
        k = fgi_conv_turned(e, k, attr->groups);
        w.dims = FGI_CONV_Y;
        w.feature_groups = attr->groups;
    }
    fgi_part_become(e, fgi_conv_line(e, &e->node->type, dy, k, &w));
}

void fgi_conv_emit_dk(fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    if (fgi_conv_cpu_dk(e))
        return;
    const fgi_part x = fgi_part_in(e, 0), dy = fgi_part_in(e, 1);
    fgi_window w = fgi_conv_window_dk(attr, &dy.type.dim[1]);
    w.batch_groups = attr->groups;
    fgi_part_become(e, fgi_conv_line(e, &e->node->type, x, dy, &w));
}
