/* conv.c - convolution in one to three dimensions, channels last, and its two gradients as separate
 * operations: the three are closed under differentiation. The gradient by the image is also the
 * transposed convolution. conv_emit.c lowers them, conv_cpu.c for XLA's CPU backend.
 * Source: StableHLO specification, "convolution"; Dumoulin and Visin 2016, "A guide to convolution
 * arithmetic for deep learning".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/conv.h"

#include <inttypes.h>

enum { X, K, DY };
static const char *const form[][FGI_CONV_MOST] = {
    [X] = {"x [N,L,C]", "x [N,H,W,C]", "x [N,D,H,W,C]"},
    [K] = {"a kernel [k,C/groups,Co]", "a kernel [kh,kw,C/groups,Co]",
           "a kernel [kd,kh,kw,C/groups,Co]"},
    [DY] = {"dy [N,L',Co]", "dy [N,H',W',Co]", "dy [N,D',H',W',Co]"}};

static bool is_pair(fgi_infer *c, int first, int second)
{
    const fgi_conv_attr *attr = c->attr;
    const fg_type *a = c->in[0], *b = c->in[1];
    if (a->rank != attr->rank + 2 || b->rank != attr->rank + 2)
        return fgi_infer_fail(c, FG_ESHAPE, "expected %s and %s", form[first][attr->rank - 1],
                              form[second][attr->rank - 1]);
    if (a->dtype != b->dtype || !fg_dtype_is_float(a->dtype))
        return fgi_infer_fail(c, FG_EDTYPE, "expected two operands of one floating-point dtype");
    return true;
}

/* Where dimension i of the image is among those of the window. */
static int place(const fgi_conv_attr *attr, int i) { return (int)(attr->dims - attr->rank) + i; }

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
    return __builtin_mul_overflow(k->dim[k->rank - 2], groups, &channels) ? -1 : channels;
}

/* Whether `channels` of the image are those that the kernel expects. */
static bool is_match(fgi_infer *c, const fg_type *k, int64_t channels, int64_t expected)
{
    const fgi_conv_attr *attr = c->attr;
    const int last = (int)attr->rank + 1;
    for (int i = 0; i < attr->rank; i++)
        if (k->dim[i] < 1)
            return fgi_infer_fail(c, FG_ESHAPE, "the kernel has no elements");
    if (channels != expected || k->dim[last] % attr->groups != 0)
        return fgi_infer_fail(c, FG_ESHAPE,
                              "%" PRId64 " input channels in %" PRId64
                              " groups do not match a kernel with %" PRId64 " input and %" PRId64
                              " output channels",
                              channels, attr->groups, k->dim[last - 1], k->dim[last]);
    return true;
}

static bool y_infer(fgi_infer *c)
{
    const fgi_conv_attr *attr = c->attr;
    const fg_type *x = c->in[0], *k = c->in[1];
    const int last = (int)attr->rank + 1;
    int64_t dim[FG_MAX_RANK] = {x->dim[0]};
    if (!is_pair(c, X, K) || !is_match(c, k, x->dim[last], channels_of(k, attr->groups)))
        return false;
    for (int i = 0; i < attr->rank; i++) {
        dim[i + 1] = out_size(attr, place(attr, i));
        if (dim[i + 1] < 0)
            return fgi_infer_fail(c, FG_ESHAPE, "the kernel is larger than the padded image");
    }
    dim[last] = k->dim[last];
    return fgi_infer_ok(c, x->dtype, last + 1, dim);
}

static bool dx_infer(fgi_infer *c)
{
    const fgi_conv_attr *attr = c->attr;
    const fg_type *dy = c->in[0], *k = c->in[1];
    const int last = (int)attr->rank + 1;
    int64_t dim[FG_MAX_RANK] = {dy->dim[0]};
    if (!is_pair(c, DY, K) || !is_match(c, k, dy->dim[last], k->dim[last]))
        return false;
    for (int i = 0; i < attr->rank; i++) {
        dim[i + 1] = attr->x_size[place(attr, i)];
        if (dim[i + 1] < 0)
            return fgi_infer_fail(c, FG_ESHAPE, "the padding is larger than the result");
    }
    dim[last] = channels_of(k, attr->groups);
    return fgi_infer_ok(c, dy->dtype, last + 1, dim);
}

static bool dk_infer(fgi_infer *c)
{
    const fgi_conv_attr *attr = c->attr;
    const fg_type *x = c->in[0], *dy = c->in[1];
    const int last = (int)attr->rank + 1;
    int64_t dim[FG_MAX_RANK];
    if (!is_pair(c, X, DY))
        return false;
    for (int i = 0; i < attr->rank; i++)
        dim[i] = attr->k_size[place(attr, i)];
    dim[last - 1] = x->dim[last] / attr->groups;
    dim[last] = dy->dim[last];
    return fgi_infer_ok(c, x->dtype, last + 1, dim);
}

/* Rows are images: along dimension 0 of the first operand, and for dk also of the second. */
static bool image_rows(fgi_infer *c, int count)
{
    for (int i = 0; i < c->arity; i++)
        for (int d = i < count ? 1 : 0; c->in_rows[i] != NULL && d < c->in[i]->rank; d++)
            if (c->in_rows[i]->step[d] != 0)
                return fgi_rows_mixed(c, d,
                                      "make the batch the first dimension of the images, and the "
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
    double count = 2 * (double)node->in[0]->type.dim[0] * (double)each * (double)outputs;
    for (int i = 0; i < attr->dims; i++)
        count *= pairs_along(attr, i);
    return count;
}

static int64_t last_dim(const fgi_node *node) { return node->type.dim[node->type.rank - 1]; }

static double y_flops(const fgi_node *node)
{
    return flops(node, last_dim(node->in[0]), last_dim(node));
}

static double dx_flops(const fgi_node *node)
{
    return flops(node, last_dim(node), last_dim(node->in[0]));
}

static double dk_flops(const fgi_node *node)
{
    return flops(node, last_dim(node->in[0]), last_dim(node->in[1]));
}

const fgi_op fgi_conv = {.name = "conv",
                         .arity = 2,
                         .infer = y_infer,
                         .rows = conv_rows,
                         .emit = fgi_conv_emit_y,
                         .vjp = y_vjp,
                         .flops = y_flops};
const fgi_op fgi_conv_dx = {.name = "conv_transpose",
                            .arity = 2,
                            .infer = dx_infer,
                            .rows = conv_rows,
                            .emit = fgi_conv_emit_dx,
                            .vjp = dx_vjp,
                            .flops = dx_flops};
const fgi_op fgi_conv_dk = {.name = "conv_dk",
                            .arity = 2,
                            .infer = dk_infer,
                            .rows = dk_rows,
                            .emit = fgi_conv_emit_dk,
                            .vjp = dk_vjp,
                            .flops = dk_flops};

static fg_tensor y_of(fg_tensor x, fg_tensor k, const fgi_conv_attr *attr)
{
    return fgi_apply(&fgi_conv, (const fg_tensor[]){x, k}, 2, attr, sizeof *attr);
}

static fg_tensor dx_of(fg_tensor dy, fg_tensor k, const fgi_conv_attr *attr)
{
    return fgi_apply(&fgi_conv_dx, (const fg_tensor[]){dy, k}, 2, attr, sizeof *attr);
}

static fg_tensor dk_of(fg_tensor x, fg_tensor dy, const fgi_conv_attr *attr)
{
    return fgi_apply(&fgi_conv_dk, (const fg_tensor[]){x, dy}, 2, attr, sizeof *attr);
}

/* The attributes of `op` on images x of this rank with two more dimensions; false after keeping an
 * error. x_size is that of x. */
static bool attr_of(const char *op, fg_tensor x, fg_tensor kernel, int rank,
                    const fg_conv2d_options *options, fgi_conv_attr *out)
{
    const fg_conv2d_options o = options != NULL ? *options : (fg_conv2d_options){0};
    const int64_t most = FGI_LARGEST_WINDOW;
    if (!fgi_trace_check_reserved(fg_tensor_trace(x), FGI_RESERVED(fg_conv2d_options, options)))
        return false;
    if (o.stride < 0 || o.stride > most || o.dilation < 0 || o.dilation > most || o.pad < 0 ||
        o.pad > most || o.groups < 0) {
        (void)fgi_trace_fail(fg_tensor_trace(x), FG_EINVAL,
                             "%s: stride %" PRId64 ", pad %" PRId64 ", dilation %" PRId64
                             ", groups %" PRId64 ": expected 0 to %" PRId64,
                             op, o.stride, o.pad, o.dilation, o.groups, most);
        return false;
    }
    *out = (fgi_conv_attr){
        .rank = rank, .dims = rank > 1 ? rank : 2, .groups = o.groups != 0 ? o.groups : 1};
    for (int i = 0; i < out->dims; i++) {
        const int at = i - place(out, 0);
        const bool is_image = at >= 0; /* else the height of one dimension */
        out->stride[i] = is_image && o.stride != 0 ? o.stride : 1;
        out->dilation[i] = is_image && o.dilation != 0 ? o.dilation : 1;
        out->low[i] = out->high[i] = is_image ? o.pad : 0;
        out->x_size[i] = is_image ? fg_tensor_dim(x, at + 1) : 1;
        out->k_size[i] = is_image ? fg_tensor_dim(kernel, at) : 1;
    }
    return !fgi_is_poison(x) && !fgi_is_poison(kernel);
}

static fg_tensor conv(fg_tensor x, fg_tensor kernel, int rank, const fg_conv2d_options *options)
{
    fgi_conv_attr attr;
    if (!attr_of("conv", x, kernel, rank, options, &attr))
        return fgi_poison(fg_tensor_trace(x));
    return y_of(fgi_for_matmul(x), fgi_for_matmul(kernel), &attr);
}

fg_tensor fg_conv1d(fg_tensor x, fg_tensor kernel, const fg_conv2d_options *options)
{
    return conv(x, kernel, 1, options);
}

fg_tensor fg_conv2d(fg_tensor x, fg_tensor kernel, const fg_conv2d_options *options)
{
    return conv(x, kernel, 2, options);
}

fg_tensor fg_conv3d(fg_tensor x, fg_tensor kernel, const fg_conv2d_options *options)
{
    return conv(x, kernel, 3, options);
}

static fg_tensor conv_transpose(fg_tensor x, fg_tensor kernel, int rank,
                                const fg_conv_transpose_options *options)
{
    const fg_conv_transpose_options o = options != NULL ? *options : (fg_conv_transpose_options){0};
    const fg_conv2d_options same = {
        .stride = o.stride, .pad = o.pad, .dilation = o.dilation, .groups = o.groups};
    fg_trace *trace = fg_tensor_trace(x);
    fgi_conv_attr attr;
    if (!fgi_trace_check_reserved(trace, FGI_RESERVED(fg_conv_transpose_options, options)) ||
        !attr_of("conv_transpose", x, kernel, rank, &same, &attr))
        return fgi_poison(trace);
    if (o.output_pad < 0 || o.output_pad >= attr.stride[attr.dims - 1])
        return fgi_trace_fail(trace, FG_EINVAL,
                              "conv_transpose: output_pad %" PRId64
                              ": expected 0 to less than the stride, %" PRId64,
                              o.output_pad, attr.stride[attr.dims - 1]);
    for (int i = place(&attr, 0); i < attr.dims; i++) {
        const int64_t taps = fgi_extent(attr.k_size[i], attr.dilation[i]);
        const int64_t rest =
            fgi_extent(attr.x_size[i], attr.stride[i]) - 1 - 2 * o.pad + o.output_pad;
        if (__builtin_add_overflow(rest, taps, &attr.x_size[i]))
            attr.x_size[i] = INT64_MAX; /* no type is that large */
    }
    return dx_of(fgi_for_matmul(x), fgi_for_matmul(kernel), &attr);
}

fg_tensor fg_conv_transpose1d(fg_tensor x, fg_tensor kernel,
                              const fg_conv_transpose_options *options)
{
    return conv_transpose(x, kernel, 1, options);
}

fg_tensor fg_conv_transpose2d(fg_tensor x, fg_tensor kernel,
                              const fg_conv_transpose_options *options)
{
    return conv_transpose(x, kernel, 2, options);
}

fg_tensor fg_conv_transpose3d(fg_tensor x, fg_tensor kernel,
                              const fg_conv_transpose_options *options)
{
    return conv_transpose(x, kernel, 3, options);
}
