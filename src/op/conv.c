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
#include <stdio.h>
#include <string.h>

#include "ir/mlir.h"
#include "op/op.h"

/* x T[N,H,W,C], kernel T[kh,kw,C/groups,Co] -> T[N,H',W',Co]; index 0 is height, 1 width. Elements
 * of x stand x_dilation apart, taps of the kernel k_dilation. */
typedef struct conv_attr {
    int64_t stride[2], low[2], high[2], x_dilation[2], k_dilation[2], groups;
} conv_attr;

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
        const int64_t room = fgi_extent(x->dim[i + 1], attr->x_dilation[i]) + attr->low[i] +
                             attr->high[i] - fgi_extent(k->dim[i], attr->k_dilation[i]);
        if (room < 0)
            return fgi_infer_fail(c, FG_ESHAPE, "the kernel is larger than the padded image");
        dim[i + 1] = room / attr->stride[i] + 1;
    }
    return fgi_infer_ok(c, x->dtype, 4, dim);
}

/* ---- depthwise on the CPU --------------------------------------------------------------------
 * Kernels that see one channel each. XLA's CPU backend runs them as scalar loops; a sum of shifted
 * and scaled images is 50 times faster.
 */

enum { MOST_TAPS = 64 };

static bool is_depthwise(const fgi_node *node)
{
    const conv_attr *attr = node->attr;
    const int64_t *k = node->in[1]->type.dim;
    return k[2] == 1 && attr->groups > 1 && k[0] * k[1] <= MOST_TAPS;
}

static uint32_t line(fgi_emit *e, const fg_type *type, const char *name, const char *attributes,
                     uint32_t in, const fg_type *in_type)
{
    const uint32_t r = fgi_emit_temp(e);
    fgi_emit_line(e, r, type, name, attributes, 1, &in, &in_type);
    return r;
}

static uint32_t cut(fgi_emit *e, const fg_type *type, uint32_t in, const fg_type *in_type,
                    const int64_t *start, const int64_t *limit, const int64_t *stride)
{
    fgi_buf text = {0};
    fgi_buf_puts(&text, "start_indices = ");
    fgi_mlir_array(&text, 4, start);
    fgi_buf_puts(&text, ", limit_indices = ");
    fgi_mlir_array(&text, 4, limit);
    fgi_buf_puts(&text, ", strides = ");
    fgi_mlir_array(&text, 4, stride);
    uint32_t r = 0;
    if (text.failed)
        e->out->failed = true;
    else
        r = line(e, type, "slice", text.data, in, in_type);
    fgi_buf_fini(&text);
    return r;
}

/* x with its padding around and between its elements, and as many channels as the result has. */
static uint32_t emit_padded(fgi_emit *e, fg_type *out)
{
    const conv_attr *attr = e->node->attr;
    const fg_type *x = &e->node->in[0]->type, scalar = {.dtype = x->dtype};
    const int64_t wide = e->node->type.dim[3] / x->dim[3];
    char text[256];
    *out = *x;
    for (int i = 0; i < 2; i++)
        out->dim[i + 1] =
            fgi_extent(x->dim[i + 1], attr->x_dilation[i]) + attr->low[i] + attr->high[i];
    const uint32_t zero = fgi_emit_temp(e), padded = fgi_emit_temp(e);
    fgi_emit_splat(e, zero, &scalar, 0);
    (void)snprintf(text, sizeof text,
                   "edge_padding_low = array<i64: 0, %" PRId64 ", %" PRId64 ", 0>, "
                   "edge_padding_high = array<i64: 0, %" PRId64 ", %" PRId64 ", 0>, "
                   "interior_padding = array<i64: 0, %" PRId64 ", %" PRId64 ", 0>",
                   attr->low[0], attr->low[1], attr->high[0], attr->high[1],
                   attr->x_dilation[0] - 1, attr->x_dilation[1] - 1);
    fgi_emit_line(e, padded, out, "pad", text, 2, (const uint32_t[]){fgi_emit_in(e, 0), zero},
                  (const fg_type *const[]){x, &scalar});
    if (wide == 1)
        return padded;
    fg_type repeated = *out;
    repeated.rank = 5;
    repeated.dim[4] = wide;
    const uint32_t r = line(e, &repeated, "broadcast_in_dim",
                            "broadcast_dimensions = array<i64: 0, 1, 2, 3>", padded, out);
    out->dim[3] *= wide;
    return line(e, out, "reshape", NULL, r, &repeated);
}

/* The kernel's tap (i, j), a number for each channel, all over the result. */
static uint32_t emit_tap(fgi_emit *e, int64_t i, int64_t j)
{
    const fg_type *y = &e->node->type, *k = &e->node->in[1]->type;
    const fg_type one = {.dtype = y->dtype, .rank = 4, .dim = {1, 1, 1, y->dim[3]}};
    const fg_type row = {.dtype = y->dtype, .rank = 1, .dim = {y->dim[3]}};
    const int64_t start[4] = {i, j, 0, 0}, limit[4] = {i + 1, j + 1, 1, y->dim[3]};
    const uint32_t tap = cut(e, &one, fgi_emit_in(e, 1), k, start, limit, (int64_t[]){1, 1, 1, 1});
    const uint32_t flat = line(e, &row, "reshape", NULL, tap, &one);
    return line(e, y, "broadcast_in_dim", "broadcast_dimensions = array<i64: 3>", flat, &row);
}

static void emit_depthwise(fgi_emit *e)
{
    const conv_attr *attr = e->node->attr;
    const fg_type *y = &e->node->type;
    const fg_type *const pair[] = {y, y};
    const int64_t *k = e->node->in[1]->type.dim;
    const int64_t stride[4] = {1, attr->stride[0], attr->stride[1], 1};
    fg_type x;
    uint32_t sum = 0;
    const uint32_t padded = emit_padded(e, &x);
    for (int64_t at = 0; at < k[0] * k[1]; at++) {
        const int64_t i = at / k[1], j = at % k[1];
        const int64_t start[4] = {0, i * attr->k_dilation[0], j * attr->k_dilation[1], 0};
        const int64_t limit[4] = {x.dim[0], start[1] + fgi_extent(y->dim[1], stride[1]),
                                  start[2] + fgi_extent(y->dim[2], stride[2]), x.dim[3]};
        const bool is_last = at == k[0] * k[1] - 1;
        const uint32_t image = cut(e, y, padded, &x, start, limit, stride);
        const uint32_t term = at == 0 && is_last ? fgi_emit_result(e) : fgi_emit_temp(e);
        fgi_emit_line(e, term, y, "multiply", NULL, 2, (const uint32_t[]){image, emit_tap(e, i, j)},
                      pair);
        const uint32_t total = at > 0 && is_last ? fgi_emit_result(e) : fgi_emit_temp(e);
        if (at > 0)
            fgi_emit_line(e, total, y, "add", NULL, 2, (const uint32_t[]){sum, term}, pair);
        sum = at > 0 ? total : term;
    }
}

static void conv_emit(fgi_emit *e)
{
    const conv_attr *attr = e->node->attr;
    fgi_buf text = {0};
    if (e->is_cpu && is_depthwise(e->node)) {
        emit_depthwise(e);
        return;
    }
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
        const int64_t taps = fgi_extent(k[i], attr->k_dilation[i]);
        back.stride[i] = attr->x_dilation[i];
        back.x_dilation[i] = attr->stride[i];
        back.k_dilation[i] = attr->k_dilation[i];
        back.low[i] = taps - 1 - attr->low[i];
        back.high[i] = fgi_extent(x[i + 1], attr->x_dilation[i]) + taps - 1 -
                       fgi_extent(y[i + 1], attr->stride[i]) - back.low[i];
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
        back.high[i] = fgi_extent(y[i + 1], attr->stride[i]) +
                       fgi_extent(k[i], attr->k_dilation[i]) - 1 -
                       fgi_extent(x[i + 1], attr->x_dilation[i]) - attr->low[i];
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

/* Along axis i: pairs of an element of the result and a tap that meets an element of x, neither
 * padding nor a gap of dilation. */
static double pairs_along(const fgi_node *node, int i)
{
    const conv_attr *attr = node->attr;
    const int64_t x = node->in[0]->type.dim[i + 1], k = node->in[1]->type.dim[i];
    double count = 0;
    for (int64_t y = 0; y < node->type.dim[i + 1]; y++)
        for (int64_t tap = 0; tap < k; tap++) {
            const int64_t at = y * attr->stride[i] + tap * attr->k_dilation[i] - attr->low[i];
            count += at >= 0 && at % attr->x_dilation[i] == 0 && at / attr->x_dilation[i] < x;
        }
    return count;
}

static double conv_flops(const fgi_node *node)
{
    const int64_t *y = node->type.dim, *k = node->in[1]->type.dim;
    return 2 * (double)y[0] * (double)y[3] * (double)k[2] * pairs_along(node, 0) *
           pairs_along(node, 1);
}

static const fgi_op conv2d = {.name = "conv2d",
                              .arity = 2,
                              .infer = conv_infer,
                              .emit = conv_emit,
                              .vjp = conv_vjp,
                              .flops = conv_flops};

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
    if (fgi_is_poison(x) || fgi_is_poison(kernel))
        return fgi_poison(fg_tensor_trace(x));
    return conv(fgi_for_product(x), fgi_for_product(kernel), &attr);
}
