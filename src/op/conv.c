/* conv.c - 2-D convolution, channels last. One primitive with dilations on both sides is closed
 * under differentiation: both gradients are convolutions again.
 *
 * Kernels are reversed and transposed by operations of their own, never by a window attribute:
 * XLA's CPU backend runs a reversed window 35 times slower.
 * Source: StableHLO specification, "convolution"; Dumoulin and Visin 2016, "A guide to convolution
 * arithmetic for deep learning".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "ir/mlir.h"
#include "op/op.h"

/* x T[N,H,W,C], kernel T[kh,kw,C/groups,Co] -> T[N,H',W',Co]; index 0 is height, 1 width. Elements
 * of x stand x_dilation apart, taps of the kernel k_dilation. */
typedef struct conv_attr {
    int64_t stride[2], low[2], high[2], x_dilation[2], k_dilation[2], groups;
} conv_attr;

/* Extent of n elements that stand `dilation` apart. */
static int64_t extent(int64_t n, int64_t dilation) { return n > 0 ? (n - 1) * dilation + 1 : 0; }

static bool conv_infer(fgi_infer *c)
{
    const conv_attr *attr = c->attr;
    const fg_type *x = c->in[0], *k = c->in[1];
    if (x->rank != 4 || k->rank != 4)
        return fgi_infer_fail(c, FG_ESHAPE, "wants x [N,H,W,C] and a kernel [kh,kw,C/groups,Co]");
    if (x->dtype != k->dtype || !fg_dtype_is_float(x->dtype))
        return fgi_infer_fail(c, FG_EDTYPE, "wants two operands of one floating dtype");
    if (attr->groups < 1 || x->dim[3] != k->dim[2] * attr->groups || k->dim[3] % attr->groups != 0)
        return fgi_infer_fail(c, FG_ESHAPE,
                              "%" PRId64 " input channels in %" PRId64
                              " groups do not fit a kernel for %" PRId64 " to %" PRId64,
                              x->dim[3], attr->groups, k->dim[2], k->dim[3]);
    int64_t dim[4] = {x->dim[0], 0, 0, k->dim[3]};
    for (int i = 0; i < 2; i++) {
        if (k->dim[i] < 1)
            return fgi_infer_fail(c, FG_ESHAPE, "the kernel has no taps");
        const int64_t room = extent(x->dim[i + 1], attr->x_dilation[i]) + attr->low[i] +
                             attr->high[i] - extent(k->dim[i], attr->k_dilation[i]);
        if (room < 0)
            return fgi_infer_fail(c, FG_ESHAPE, "the kernel is larger than the padded image");
        dim[i + 1] = room / attr->stride[i] + 1;
    }
    return fgi_infer_ok(c, x->dtype, 4, dim);
}

static void conv_emit(fgi_emit *e)
{
    const conv_attr *attr = e->node->attr;
    fgi_buf text = {0};
    fgi_buf_puts(&text, "window_strides = ");
    fgi_mlir_array(&text, 2, attr->stride);
    fgi_buf_puts(&text, ", padding = ");
    fgi_mlir_pairs(&text, 2, attr->low, attr->high);
    fgi_buf_puts(&text, ", lhs_dilation = ");
    fgi_mlir_array(&text, 2, attr->x_dilation);
    fgi_buf_puts(&text, ", rhs_dilation = ");
    fgi_mlir_array(&text, 2, attr->k_dilation);
    fgi_buf_printf(&text,
                   ", dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>"
                   ", feature_group_count = %" PRId64 " : i64, batch_group_count = 1 : i64",
                   attr->groups);
    if (text.failed)
        e->out->failed = true;
    else
        fgi_emit_simple(e, "convolution", text.data);
    fgi_buf_fini(&text);
}

static fg_tensor conv(fg_tensor x, fg_tensor kernel, const conv_attr *attr);

/* [kh,kw,C/g,Co] -> [kh,kw,Co/g,C], reversed in height and width: the kernel that carries
 * derivatives back. */
static fg_tensor turned(fg_tensor kernel, int64_t groups)
{
    const int64_t *k = fg_tensor_type(kernel)->dim;
    const fg_tensor split = fg_reshape(kernel, FG_DIMS(k[0], k[1], k[2], groups, k[3] / groups));
    const fg_tensor swapped = fg_permute(split, (const int[]){0, 1, 4, 3, 2});
    const fg_tensor joined = fg_reshape(swapped, FG_DIMS(k[0], k[1], k[3] / groups, groups * k[2]));
    return fg_reverse(joined, 2, (const int[]){0, 1});
}

static fg_tensor input_share(const fgi_vjp *v)
{
    const conv_attr *attr = v->attr;
    const int64_t *x = fg_tensor_type(v->in[0])->dim, *k = fg_tensor_type(v->in[1])->dim;
    const int64_t *y = fg_tensor_type(v->out)->dim;
    conv_attr back = {.groups = attr->groups};
    for (int i = 0; i < 2; i++) {
        const int64_t taps = extent(k[i], attr->k_dilation[i]);
        back.stride[i] = attr->x_dilation[i];
        back.x_dilation[i] = attr->stride[i];
        back.k_dilation[i] = attr->k_dilation[i];
        back.low[i] = taps - 1 - attr->low[i];
        back.high[i] = extent(x[i + 1], attr->x_dilation[i]) + taps - 1 -
                       extent(y[i + 1], attr->stride[i]) - back.low[i];
    }
    return conv(v->dout, turned(v->in[1], attr->groups), &back);
}

/* The kernel's derivative correlates x with dy: channels become the batch and the batch becomes
 * the channels that are summed over. */
static fg_tensor kernel_share(const fgi_vjp *v)
{
    const conv_attr *attr = v->attr;
    const int64_t g = attr->groups;
    const int64_t *x = fg_tensor_type(v->in[0])->dim, *k = fg_tensor_type(v->in[1])->dim;
    const int64_t *y = fg_tensor_type(v->out)->dim;
    conv_attr back = {.groups = g};
    for (int i = 0; i < 2; i++) {
        back.stride[i] = attr->k_dilation[i];
        back.x_dilation[i] = attr->x_dilation[i];
        back.k_dilation[i] = attr->stride[i];
        back.low[i] = attr->low[i];
        back.high[i] = extent(y[i + 1], attr->stride[i]) + extent(k[i], attr->k_dilation[i]) - 1 -
                       extent(x[i + 1], attr->x_dilation[i]) - attr->low[i];
    }
    const fg_tensor split = fg_reshape(v->in[0], FG_DIMS(x[0], x[1], x[2], g, x[3] / g));
    const fg_tensor turned_x = fg_reshape(fg_permute(split, (const int[]){4, 1, 2, 3, 0}),
                                          FG_DIMS(x[3] / g, x[1], x[2], g * x[0]));
    const fg_tensor turned_dy = fg_permute(v->dout, (const int[]){1, 2, 0, 3});
    return fg_permute(conv(turned_x, turned_dy, &back), (const int[]){1, 2, 0, 3});
}

static void conv_vjp(fgi_vjp *v)
{
    if (v->need[0])
        v->din[0] = input_share(v);
    if (v->need[1])
        v->din[1] = kernel_share(v);
}

static const fgi_op conv2d = {
    .name = "conv2d", .arity = 2, .infer = conv_infer, .emit = conv_emit, .vjp = conv_vjp};

static fg_tensor conv(fg_tensor x, fg_tensor kernel, const conv_attr *attr)
{
    return fgi_apply(&conv2d, (const fg_tensor[]){x, kernel}, 2, attr, sizeof *attr);
}

fg_tensor fg_conv2d(fg_tensor x, fg_tensor kernel, const fg_conv2d_options *options)
{
    const fg_conv2d_options o = options != NULL ? *options : (fg_conv2d_options){0};
    const int64_t most = FGI_LARGEST_WINDOW;
    if (o.stride < 0 || o.stride > most || o.dilation < 0 || o.dilation > most || o.pad < 0 ||
        o.pad > most || o.groups < 0)
        return fgi_trace_fail(fg_tensor_trace(x), FG_EINVAL,
                              "conv2d: stride %" PRId64 ", pad %" PRId64 ", dilation %" PRId64
                              ", groups %" PRId64 ": none may be negative",
                              o.stride, o.pad, o.dilation, o.groups);
    conv_attr attr = {.groups = o.groups != 0 ? o.groups : 1};
    for (int i = 0; i < 2; i++) {
        attr.stride[i] = o.stride != 0 ? o.stride : 1;
        attr.low[i] = attr.high[i] = o.pad;
        attr.x_dilation[i] = 1;
        attr.k_dilation[i] = o.dilation != 0 ? o.dilation : 1;
    }
    return conv(x, kernel, &attr);
}
