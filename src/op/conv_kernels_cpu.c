/* conv_kernels_cpu.c - convolutions and their gradients by kernels (src/kernel): Winograd's
 * algorithm for 3 x 3 kernels, matmuls for 1 x 1, and oneDNN. The limits are those of
 * bench/kernel_bench.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/resources.h"
#include "kernel/kernel.h"
#include "op/conv.h"
#include "op/kernel_call.h"
#include "op/lowerings.h"

/* Fewer channels cost more to transform than the products save; a call of oneDNN costs as much as
 * this number of multiplications. */
enum { TILE = 4, LEAST_CHANNELS = 32, LEAST_HALF_CHANNELS = 16, LEAST_MULTIPLICATIONS = 1 << 21 };

/* x, k and y of the convolution, with the dimensions of the window. */
typedef struct types {
    fg_type x, k, y;
} types;

/* a and b are the operands. */
static types types_of(const fgi_op *op, fg_type a, fg_type b, fg_type result)
{
    if (op == &fgi_conv)
        return (types){a, b, result};
    return op == &fgi_conv_dx ? (types){result, b, a} : (types){a, result, b};
}

static bool has_kernel(const fgi_emit *e, const types *t)
{
    return fgi_client_has_kernels(e->client) && fgi_client_has_shards(e->client, t->x.dim[0]) &&
           (t->x.dtype == FG_F32 || t->x.dtype == FG_BF16);
}

static const char *kernel_of(const fgi_op *op, const char *y, const char *dx, const char *dk)
{
    if (op == &fgi_conv)
        return y;
    return op == &fgi_conv_dx ? dx : dk;
}

/* Emits the calls of each device. The gradient of k is the sum over the devices. */
static void emit_calls(fgi_emit *e, fgi_shard_body body)
{
    const bool is_dk = e->node->op == &fgi_conv_dk;
    const fgi_value in[] = {fgi_conv_in(e, 0), fgi_conv_in(e, 1)};
    const fgi_shard_kind kind[] = {FGI_BY_ROWS, is_dk ? FGI_BY_ROWS : FGI_WHOLE};
    const fgi_shard_kind out_kind = is_dk ? FGI_SUM_OF_PARTS : FGI_BY_ROWS;
    const fg_type type = fgi_conv_type(e);
    const fgi_shard_call call = {2, 1, in, kind, &type, &out_kind};
    fgi_value out;
    fgi_emit_each_shard(e, &call, body, &out);
    fgi_conv_become(e, out);
}

/* Emits the call of a kernel with memory of this size as a second result; 0: none. */
static fgi_value call_kernel(fgi_emit *e, const fgi_kernel_call *of, const fg_type *result,
                             int64_t memory)
{
    const fgi_value out[] = {
        fgi_build_value(&e->b, result),
        fgi_build_value(&e->b, &(fg_type){.dtype = FG_F32, .rank = 1, .dim = {memory}})};
    fgi_kernel_call call = *of;
    call.in_count = 2;
    call.out_count = memory > 0 ? 2 : 1;
    call.out = out;
    fgi_emit_kernel(e, &call);
    return out[0];
}

/* Of all groups. */
static int64_t multiplications(const types *t)
{
    return fg_type_count(&t->y) * (fg_type_count(&t->k) / t->k.dim[t->k.rank - 1]);
}

/* bf16, by oneDNN. */
static bool is_faster_in_tiles(const fgi_emit *e, const types *t)
{
    return t->x.dtype == FG_BF16 && fgi_kernel_half() == FGI_KERNEL_HALF_TILES &&
           fgi_client_has_dnnl(e->client);
}

static fgi_kernel_conv_numbers numbers_of(const fgi_conv_attr *attr, const types *t)
{
    fgi_kernel_conv_numbers n = {.flops = 2 * multiplications(t), .groups = attr->groups};
    for (int i = 0; i < attr->dims; i++) {
        n.stride[i] = attr->stride[i];
        n.dilation[i] = attr->dilation[i];
        n.low[i] = attr->low[i];
    }
    return n;
}

/* ---- tiles of bf16 --------------------------------------------------------------------------- */

static bool is_tiles(const fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    const types t =
        types_of(e->node->op, e->node->in[0]->type, e->node->in[1]->type, e->node->type);
    const int64_t from = t.x.dim[t.x.rank - 1], to = t.y.dim[t.y.rank - 1];
    return has_kernel(e, &t) && t.x.dtype == FG_BF16 && fgi_kernel_tiles_run() && attr->rank == 2 &&
           attr->groups == 1 && attr->stride[0] == attr->stride[1] &&
           from % FGI_KERNEL_TILES_UNIT == 0 && to % FGI_KERNEL_TILES_UNIT == 0 &&
           from <= FGI_KERNEL_TILES_CHANNELS && to <= FGI_KERNEL_TILES_CHANNELS &&
           attr->k_size[0] * attr->k_size[1] <= FGI_KERNEL_TILES_TAPS &&
           multiplications(&t) >= LEAST_MULTIPLICATIONS;
}

static void call_tiles(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    const fgi_op *op = e->node->op;
    const types t = types_of(op, in[0].type, in[1].type, out->type);
    const fgi_kernel_conv_numbers numbers = numbers_of(e->node->attr, &t);
    const fgi_kernel_call call = {
        .kernel = kernel_of(op, FGI_KERNEL_TILES, FGI_KERNEL_TILES_DX, FGI_KERNEL_TILES_DK),
        .in = in,
        .size = sizeof numbers,
        .numbers = &numbers};
    *out = call_kernel(e, &call, &out->type,
                       fgi_kernel_tiles_memory(t.k.dim, t.y.dim, op == &fgi_conv_dk));
}

static void emit_tiles(fgi_emit *e) { emit_calls(e, call_tiles); }

#define TILES .platform = FGI_CPU, .rule = "conv-kernel", .applies = is_tiles, .emit = emit_tiles
const fgi_lowering fgi_conv_tiles_cpu = {.op = &fgi_conv, TILES};
const fgi_lowering fgi_conv_dx_tiles_cpu = {.op = &fgi_conv_dx, TILES};
const fgi_lowering fgi_conv_dk_tiles_cpu = {.op = &fgi_conv_dk, TILES};

/* ---- Winograd's algorithm -------------------------------------------------------------------- */

/* Whether tiles of these images consist of more than half of pixels. */
static bool fits(const fg_type *image)
{
    const int64_t h = image->dim[1], w = image->dim[2];
    const int64_t tiles = (h + TILE - 1) / TILE * ((w + TILE - 1) / TILE);
    return 2 * h * w > tiles * TILE * TILE;
}

static bool is_winograd(const fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    const types t =
        types_of(e->node->op, e->node->in[0]->type, e->node->in[1]->type, e->node->type);
    const int64_t from = t.x.dim[t.x.rank - 1], to = t.y.dim[t.y.rank - 1];
    if (!has_kernel(e, &t) || !fgi_kernel_winograd_runs() || attr->rank != 2 || attr->groups != 1 ||
        is_faster_in_tiles(e, &t))
        return false;
    for (int i = 0; i < 2; i++)
        if (attr->k_size[i] != 3 || attr->stride[i] != 1 || attr->dilation[i] != 1)
            return false;
    return from % FGI_KERNEL_WINOGRAD_UNIT == 0 && to % FGI_KERNEL_WINOGRAD_UNIT == 0 &&
           from >= LEAST_CHANNELS && to >= LEAST_CHANNELS && fits(&t.x) && fits(&t.y);
}

static void call_winograd(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    const fgi_conv_attr *attr = e->node->attr;
    const fgi_op *op = e->node->op;
    const types t = types_of(op, in[0].type, in[1].type, out->type);
    const bool is_dx = op == &fgi_conv_dx;
    const int64_t memory =
        fgi_kernel_winograd_memory(is_dx ? t.x.dim : t.y.dim, is_dx ? t.y.dim[3] : t.x.dim[3],
                                   fgi_cpu_count(), op == &fgi_conv_dk);
    const int64_t numbers[] = {2 * multiplications(&t), attr->low[0], attr->low[1]};
    const fgi_kernel_call call = {
        .kernel =
            kernel_of(op, FGI_KERNEL_WINOGRAD, FGI_KERNEL_WINOGRAD_DX, FGI_KERNEL_WINOGRAD_DK),
        .in = in,
        .size = sizeof numbers,
        .numbers = numbers};
    *out = call_kernel(e, &call, &out->type, memory);
}

static void emit_winograd(fgi_emit *e) { emit_calls(e, call_winograd); }

#define WINOGRAD                                                                                   \
    .platform = FGI_CPU, .rule = "conv-kernel", .applies = is_winograd, .emit = emit_winograd
const fgi_lowering fgi_conv_winograd_cpu = {.op = &fgi_conv, WINOGRAD};
const fgi_lowering fgi_conv_dx_winograd_cpu = {.op = &fgi_conv_dx, WINOGRAD};
const fgi_lowering fgi_conv_dk_winograd_cpu = {.op = &fgi_conv_dk, WINOGRAD};

/* ---- one pixel: matmuls ---------------------------------------------------------------------- */

static bool is_matmul(const fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    const types t =
        types_of(e->node->op, e->node->in[0]->type, e->node->in[1]->type, e->node->type);
    if (!has_kernel(e, &t) || attr->groups != 1 || is_faster_in_tiles(e, &t) ||
        multiplications(&t) < LEAST_MULTIPLICATIONS)
        return false;
    for (int i = 0; i < attr->dims; i++)
        if (attr->k_size[i] != 1 || attr->stride[i] != 1 || attr->low[i] != 0 || attr->high[i] != 0)
            return false;
    return true;
}

/* All pixels are rows: y = x k, dx = dy k', dk = x' dy. */
static void call_matmul(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    const fgi_op *op = e->node->op;
    const types t = types_of(op, in[0].type, in[1].type, out->type);
    const int64_t from = t.x.dim[t.x.rank - 1], to = t.y.dim[t.y.rank - 1];
    const int64_t pixels = fg_type_count(&t.x) / from;
    const bool is_dx = op == &fgi_conv_dx, is_dk = op == &fgi_conv_dk;
    const fgi_kernel_matmul_numbers numbers = {.flops = 2 * multiplications(&t),
                                               .batch = 1,
                                               .rows = is_dk ? from : pixels,
                                               .inner = is_dk   ? pixels
                                                        : is_dx ? to
                                                                : from,
                                               .columns = is_dx ? from : to,
                                               .a_is_transposed = is_dk,
                                               .b_is_transposed = is_dx};
    const fgi_kernel_call call = {
        .kernel = FGI_KERNEL_MATMUL, .in = in, .size = sizeof numbers, .numbers = &numbers};
    *out = call_kernel(e, &call, &out->type, 0);
}

static void emit_matmul(fgi_emit *e) { emit_calls(e, call_matmul); }

#define MATMUL .platform = FGI_CPU, .rule = "conv-kernel", .applies = is_matmul, .emit = emit_matmul
const fgi_lowering fgi_conv_matmul_cpu = {.op = &fgi_conv, MATMUL};
const fgi_lowering fgi_conv_dx_matmul_cpu = {.op = &fgi_conv_dx, MATMUL};
const fgi_lowering fgi_conv_dk_matmul_cpu = {.op = &fgi_conv_dk, MATMUL};

/* ---- oneDNN ---------------------------------------------------------------------------------- */

static fgi_ffi_buffer buffer_of(const fg_type *type)
{
    return (fgi_ffi_buffer){.dtype = type->dtype == FG_BF16 ? FGI_FFI_BF16 : FGI_FFI_F32,
                            .rank = type->rank,
                            .dim = type->dim};
}

/* Whether f32 is faster, to which oneDNN's kernels for bf16 widen few channels anyway. */
static bool widens(const types *t)
{
    return t->x.dtype == FG_BF16 && (t->x.dim[t->x.rank - 1] < LEAST_HALF_CHANNELS ||
                                     t->y.dim[t->y.rank - 1] < LEAST_HALF_CHANNELS);
}

static bool is_dnnl(const fgi_emit *e)
{
    const fgi_conv_attr *attr = e->node->attr;
    const fgi_op *op = e->node->op;
    types t = types_of(op, fgi_conv_in_type(e, 0), fgi_conv_in_type(e, 1), fgi_conv_type(e));
    if (!has_kernel(e, &t) || !fgi_client_has_dnnl(e->client) ||
        (t.x.dtype == FG_BF16 && fgi_kernel_half() == FGI_KERNEL_HALF_NONE))
        return false;
    t.x.dim[0] /= e->batch_shards;
    t.y.dim[0] /= e->batch_shards;
    if (multiplications(&t) < LEAST_MULTIPLICATIONS)
        return false;
    if (widens(&t))
        t.x.dtype = t.k.dtype = t.y.dtype = FG_F32;
    if (op == &fgi_conv_dk && e->batch_shards > 1)
        t.k.dtype = FG_F32;
    const fgi_ffi_buffer x = buffer_of(&t.x), k = buffer_of(&t.k), y = buffer_of(&t.y);
    const fgi_kernel_conv_numbers numbers = numbers_of(attr, &t);
    return fgi_kernel_conv_runs(op == &fgi_conv      ? FGI_KERNEL_CONV_OF_Y
                                : op == &fgi_conv_dx ? FGI_KERNEL_CONV_OF_X
                                                     : FGI_KERNEL_CONV_OF_K,
                                &x, &k, &y, &numbers);
}

static void call_dnnl(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    const fgi_op *op = e->node->op;
    const types t = types_of(op, in[0].type, in[1].type, out->type);
    if (widens(&t)) {
        const fgi_value wide[] = {fgi_build_convert(&e->b, in[0], FG_F32),
                                  fgi_build_convert(&e->b, in[1], FG_F32)};
        fgi_value y = {.type = out->type};
        y.type.dtype = FG_F32;
        call_dnnl(e, wide, &y);
        *out = fgi_build_convert(&e->b, y, out->type.dtype);
        return;
    }
    const fgi_kernel_conv_numbers numbers = numbers_of(e->node->attr, &t);
    const fgi_kernel_call call = {
        .kernel = kernel_of(op, FGI_KERNEL_CONV, FGI_KERNEL_CONV_DX, FGI_KERNEL_CONV_DK),
        .in = in,
        .size = sizeof numbers,
        .numbers = &numbers};
    *out = call_kernel(e, &call, &out->type, 0);
}

static void emit_dnnl(fgi_emit *e) { emit_calls(e, call_dnnl); }

#define DNNL .platform = FGI_CPU, .rule = "conv-kernel", .applies = is_dnnl, .emit = emit_dnnl
const fgi_lowering fgi_conv_dnnl_cpu = {.op = &fgi_conv, DNNL};
const fgi_lowering fgi_conv_dx_dnnl_cpu = {.op = &fgi_conv_dx, DNNL};
const fgi_lowering fgi_conv_dk_dnnl_cpu = {.op = &fgi_conv_dk, DNNL};
