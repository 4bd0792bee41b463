/* conv.c - 2-D convolution, channels last, and its two gradients as separate operations: the three
 * are closed under differentiation. conv_emit.c lowers them, conv_cpu.c for XLA's CPU backend.
 * Source: StableHLO specification, "convolution"; Dumoulin and Visin 2016, "A guide to convolution
 * arithmetic for deep learning".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/conv.h"

#include <inttypes.h>

static bool is_pair(fgi_infer *c, const char *wants)
{
    const fg_type *a = c->in[0], *b = c->in[1];
    if (a->rank != 4 || b->rank != 4)
        return fgi_infer_fail(c, FG_ESHAPE, "expected %s", wants);
    if (a->dtype != b->dtype || !fg_dtype_is_float(a->dtype))
        return fgi_infer_fail(c, FG_EDTYPE, "expected two operands of one floating-point dtype");
    return true;
}

/* -1 if there is no result. */
static int64_t out_size(const fgi_conv_attr *attr, int i)
{
    const int64_t room = attr->x_size[i] + attr->low[i] + attr->high[i] -
                         fgi_extent(attr->k_size[i], attr->dilation[i]);
    return room < 0 ? -1 : room / attr->stride[i] + 1;
}

/* Input channels of a kernel with this number of groups; -1 on overflow. */
static int64_t channels_of(const fg_type *k, int64_t groups)
{
    int64_t channels;
    return __builtin_mul_overflow(k->dim[2], groups, &channels) ? -1 : channels;
}

static bool y_infer(fgi_infer *c)
{
    const fgi_conv_attr *attr = c->attr;
    const fg_type *x = c->in[0], *k = c->in[1];
    if (!is_pair(c, "x [N,H,W,C] and a kernel [kh,kw,C/groups,Co]"))
        return false;
    if (attr->groups < 1 || x->dim[3] != channels_of(k, attr->groups) ||
        k->dim[3] % attr->groups != 0)
        return fgi_infer_fail(c, FG_ESHAPE,
                              "%" PRId64 " input channels in %" PRId64
                              " groups do not match a kernel with %" PRId64 " input and %" PRId64
                              " output channels",
                              x->dim[3], attr->groups, k->dim[2], k->dim[3]);
    int64_t dim[4] = {x->dim[0], 0, 0, k->dim[3]};
    for (int i = 0; i < 2; i++) {
        dim[i + 1] = out_size(attr, i);
        if (k->dim[i] < 1)
            return fgi_infer_fail(c, FG_ESHAPE, "the kernel has no elements");
        if (dim[i + 1] < 0)
            return fgi_infer_fail(c, FG_ESHAPE, "the kernel is larger than the padded image");
    }
    return fgi_infer_ok(c, x->dtype, 4, dim);
}

static bool dx_infer(fgi_infer *c)
{
    const fgi_conv_attr *attr = c->attr;
    const fg_type *dy = c->in[0], *k = c->in[1];
    if (!is_pair(c, "dy [N,H',W',Co] and a kernel [kh,kw,C/groups,Co]"))
        return false;
    const int64_t channels = channels_of(k, attr->groups);
    return fgi_infer_ok(c, dy->dtype, 4,
                        (int64_t[]){dy->dim[0], attr->x_size[0], attr->x_size[1], channels});
}

static bool dk_infer(fgi_infer *c)
{
    const fgi_conv_attr *attr = c->attr;
    const fg_type *x = c->in[0], *dy = c->in[1];
    if (!is_pair(c, "x [N,H,W,C] and dy [N,H',W',Co]"))
        return false;
    return fgi_infer_ok(
        c, x->dtype, 4,
        (int64_t[]){attr->k_size[0], attr->k_size[1], x->dim[3] / attr->groups, dy->dim[3]});
}

/* Rows are images: along dimension 0 of the first operand, and for dk also of the second. */
static bool image_rows(fgi_infer *c, int count)
{
    for (int i = 0; i < c->arity; i++)
        for (int d = i < count ? 1 : 0; c->in_rows[i] != NULL && d < 4; d++)
            if (c->in_rows[i]->step[d] != 0)
                return fgi_rows_mixed(c, d,
                                      "make the batch the first dimension of x [N,H,W,C], and the "
                                      "kernel independent of the batch");
    return true;
}

static bool conv_rows(fgi_infer *c)
{
    return image_rows(c, 1) && fgi_rows_join(c, 0, c->in_rows[0]->step[0]);
}

static bool dk_rows(fgi_infer *c) { return image_rows(c, 2); }

static fg_tensor y_of(fg_tensor x, fg_tensor k, const fgi_conv_attr *attr);
static fg_tensor dx_of(fg_tensor dy, fg_tensor k, const fgi_conv_attr *attr);
static fg_tensor dk_of(fg_tensor x, fg_tensor dy, const fgi_conv_attr *attr);

/* All three are linear in both operands, so each gradient is one of the other two. */
static void y_vjp(fgi_vjp *v)
{
    if (v->need[0])
        v->din[0] = dx_of(v->dout, v->in[1], v->attr);
    if (v->need[1])
        v->din[1] = dk_of(v->in[0], v->dout, v->attr);
}

static void dx_vjp(fgi_vjp *v)
{
    if (v->need[0])
        v->din[0] = y_of(v->dout, v->in[1], v->attr);
    if (v->need[1])
        v->din[1] = dk_of(v->dout, v->in[0], v->attr);
}

static void dk_vjp(fgi_vjp *v)
{
    if (v->need[0])
        v->din[0] = dx_of(v->in[1], v->dout, v->attr);
    if (v->need[1])
        v->din[1] = y_of(v->in[0], v->dout, v->attr);
}

/* Multiplications and additions of one input channel with one output channel along one direction,
 * without kernel elements on padding. */
static double pairs_along(const fgi_conv_attr *attr, int i)
{
    double count = 0;
    for (int64_t at = 0; at < out_size(attr, i); at++)
        for (int64_t tap = 0; tap < attr->k_size[i]; tap++) {
            const int64_t place = at * attr->stride[i] - attr->low[i] + tap * attr->dilation[i];
            count += place >= 0 && place < attr->x_size[i];
        }
    return count;
}

/* The same for all three: every product of an element of x and a kernel element, for every output.
 */
static double flops(const fgi_node *node, int64_t channels, int64_t outputs)
{
    const fgi_conv_attr *attr = node->attr;
    const int64_t each = channels / attr->groups;
    return 2 * (double)node->in[0]->type.dim[0] * (double)each * (double)outputs *
           pairs_along(attr, 0) * pairs_along(attr, 1);
}

static double y_flops(const fgi_node *node)
{
    return flops(node, node->in[0]->type.dim[3], node->type.dim[3]);
}

static double dx_flops(const fgi_node *node)
{
    return flops(node, node->type.dim[3], node->in[0]->type.dim[3]);
}

static double dk_flops(const fgi_node *node)
{
    return flops(node, node->in[0]->type.dim[3], node->in[1]->type.dim[3]);
}

const fgi_op fgi_conv2d = {.name = "conv2d",
                           .arity = 2,
                           .infer = y_infer,
                           .rows = conv_rows,
                           .emit = fgi_conv_emit_y,
                           .vjp = y_vjp,
                           .flops = y_flops};
const fgi_op fgi_conv2d_dx = {.name = "conv2d_dx",
                              .arity = 2,
                              .infer = dx_infer,
                              .rows = conv_rows,
                              .emit = fgi_conv_emit_dx,
                              .vjp = dx_vjp,
                              .flops = dx_flops};
const fgi_op fgi_conv2d_dk = {.name = "conv2d_dk",
                              .arity = 2,
                              .infer = dk_infer,
                              .rows = dk_rows,
                              .emit = fgi_conv_emit_dk,
                              .vjp = dk_vjp,
                              .flops = dk_flops};

static fg_tensor y_of(fg_tensor x, fg_tensor k, const fgi_conv_attr *attr)
{
    return fgi_apply(&fgi_conv2d, (const fg_tensor[]){x, k}, 2, attr, sizeof *attr);
}

static fg_tensor dx_of(fg_tensor dy, fg_tensor k, const fgi_conv_attr *attr)
{
    return fgi_apply(&fgi_conv2d_dx, (const fg_tensor[]){dy, k}, 2, attr, sizeof *attr);
}

static fg_tensor dk_of(fg_tensor x, fg_tensor dy, const fgi_conv_attr *attr)
{
    return fgi_apply(&fgi_conv2d_dk, (const fg_tensor[]){x, dy}, 2, attr, sizeof *attr);
}

fg_tensor fg_conv2d(fg_tensor x, fg_tensor kernel, const fg_conv2d_options *options)
{
    const fg_conv2d_options o = options != NULL ? *options : (fg_conv2d_options){0};
    if (!fgi_trace_check_reserved(fg_tensor_trace(x), FGI_RESERVED(fg_conv2d_options, options)))
        return fgi_poison(fg_tensor_trace(x));
    const int64_t most = FGI_LARGEST_WINDOW;
    if (o.stride < 0 || o.stride > most || o.dilation < 0 || o.dilation > most || o.pad < 0 ||
        o.pad > most || o.groups < 0)
        return fgi_trace_fail(fg_tensor_trace(x), FG_EINVAL,
                              "conv2d: stride %" PRId64 ", pad %" PRId64 ", dilation %" PRId64
                              ", groups %" PRId64 ": expected 0 to %" PRId64,
                              o.stride, o.pad, o.dilation, o.groups, most);
    fgi_conv_attr attr = {.groups = o.groups != 0 ? o.groups : 1};
    for (int i = 0; i < 2; i++) {
        attr.stride[i] = o.stride != 0 ? o.stride : 1;
        attr.low[i] = attr.high[i] = o.pad;
        attr.dilation[i] = o.dilation != 0 ? o.dilation : 1;
        attr.x_size[i] = fg_tensor_dim(x, i + 1);
        attr.k_size[i] = fg_tensor_dim(kernel, i);
    }
    if (fgi_is_poison(x) || fgi_is_poison(kernel))
        return fgi_poison(fg_tensor_trace(x));
    return y_of(fgi_for_matmul(x), fgi_for_matmul(kernel), &attr);
}
