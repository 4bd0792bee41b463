/* matmul_cpu.c - matmuls by kernels (src/kernel), where these are faster than XLA's CPU backend,
 * which packs the operands of each one; and what is added to them in the same call. The limits are
 * those of bench/kernel_bench.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernel/kernel.h"
#include "op/dot.h"
#include "op/kernel_call.h"
#include "op/lowerings.h"
#include "op/shape.h"
#include "trace/trace.h"

/* Of multiplications, below which oneDNN, and calls on several devices, are slower; with fewer rows
 * or columns, the backend's multiplication of a matrix by a vector is faster. */
enum { LEAST_MULTIPLICATIONS = 1 << 20, LEAST_ROWS = 4 };

/* On one device, the operands of a call need not be divided. */
static bool has_one_device(const fgi_emit *e)
{
    return fg_client_info_of(e->client)->device_count == 1;
}

/* An operand as [batch, rows, columns], one of which is contracted. */
typedef struct view {
    bool is_transposed; /* the contracted axes are first in a, or last in b */
    int64_t batch, free, inner;
} view;

/* False if its axes are in another order. */
static bool view_of(const fgi_dot_attr *attr, int side, const fg_type *type, view *out)
{
    const int batch = (int)attr->batch_count, count = (int)attr->contract_count;
    const int first = count > 0 ? (int)attr->contract[side][0] : 0;
    *out = (view){.is_transposed = (first == batch) == (side == 0), .batch = 1, .inner = 1};
    if (count == 0 || (first != batch && first + count != type->rank))
        return false;
    if (type->rank == batch + count) /* no free axes */
        return false;
    for (int i = 0; i < batch; i++) {
        out->batch *= type->dim[i];
        if (attr->batch[side][i] != i)
            return false;
    }
    for (int i = 0; i < count; i++) {
        out->inner *= type->dim[first + i];
        if (attr->contract[side][i] != first + i)
            return false;
    }
    const int64_t each = out->batch * out->inner;
    out->free = each > 0 ? fg_type_count(type) / each : 0;
    return true;
}

/* How the devices share the operands and the result. */
static bool kinds_of(const fgi_emit *e, const view *a, const view *b, fgi_shard_kind in[2],
                     fgi_shard_kind *out)
{
    const fgi_dot_attr *attr = e->node->attr;
    const bool is_sum = attr->batch_count == 0 && a->is_transposed && !b->is_transposed;
    in[0] = FGI_BY_ROWS;
    in[1] = attr->batch_count > 0 || is_sum ? FGI_BY_ROWS : FGI_WHOLE;
    *out = is_sum ? FGI_SUM_OF_PARTS : FGI_BY_ROWS;
    return fgi_client_has_shards(e->client, e->node->in[0]->type.dim[0]) &&
           (e->batch_shards == 1 || attr->batch_count > 0 || is_sum || !a->is_transposed);
}

static fgi_kernel_matmul_numbers numbers_of(const view *a, const view *b)
{
    return (fgi_kernel_matmul_numbers){.flops = 2 * a->batch * a->free * a->inner * b->free,
                                       .batch = a->batch,
                                       .rows = a->free,
                                       .inner = a->inner,
                                       .columns = b->free,
                                       .a_is_transposed = a->is_transposed,
                                       .b_is_transposed = b->is_transposed};
}

/* The kernel that is faster than the backend's, or NULL. Its matmul of bf16 is as fast as the
 * processor, unless a is transposed: the gradient of a weight. */
static const char *kernel_of(const fgi_emit *e, const view *a, const view *b, bool is_half)
{
    const fgi_kernel_halves half = fgi_kernel_half();
    const fgi_kernel_matmul_numbers n = numbers_of(a, b);
    const bool is_fast = half == FGI_KERNEL_HALF_TWICE || half == FGI_KERNEL_HALF_TILES;
    if (!is_half || !is_fast || fgi_kernel_tiles_multiply(&n))
        return FGI_KERNEL_MATMUL;
    if ((half == FGI_KERNEL_HALF_TILES || a->is_transposed) && fgi_client_has_dnnl(e->client) &&
        n.flops >= 2 * (int64_t)LEAST_MULTIPLICATIONS)
        return FGI_KERNEL_MATMUL_DNNL;
    return a->is_transposed ? FGI_KERNEL_MATMUL : NULL;
}

/* That of a device's part of e->node, whose kinds these are. */
static const char *kernel_of_part(const fgi_emit *e, const fgi_shard_kind kind[2])
{
    fg_type type[] = {e->node->in[0]->type, e->node->in[1]->type};
    view a, b;
    for (int i = 0; i < 2; i++)
        if (kind[i] == FGI_BY_ROWS)
            type[i].dim[0] /= e->batch_shards;
    return view_of(e->node->attr, 0, &type[0], &a) && view_of(e->node->attr, 1, &type[1], &b)
               ? kernel_of(e, &a, &b, type[0].dtype == FG_BF16)
               : NULL;
}

static bool is_matmul(const fgi_emit *e)
{
    const fgi_dot_attr *attr = e->node->attr;
    const fg_type *x = &e->node->in[0]->type, *k = &e->node->in[1]->type;
    fgi_shard_kind kind[2], out;
    view a, b;
    if (!view_of(attr, 0, x, &a) || !view_of(attr, 1, k, &b) || x->dtype != k->dtype ||
        (x->dtype != FG_F32 && x->dtype != FG_BF16))
        return false;
    const double each = (double)a.batch * (double)a.free * (double)a.inner * (double)b.free;
    return (has_one_device(e) || each >= LEAST_MULTIPLICATIONS * (double)e->batch_shards) &&
           fgi_client_has_kernels(e->client) && kinds_of(e, &a, &b, kind, &out) &&
           a.free >= LEAST_ROWS && b.free >= LEAST_ROWS && kernel_of_part(e, kind) != NULL;
}

/* A device's product, of the first two operands; the others are terms. */
static void put_call(fgi_emit *e, const fgi_dot_attr *attr, bool is_relu, int count,
                     const fgi_value *in, fgi_value *y)
{
    view a, b;
    (void)view_of(attr, 0, &in[0].type, &a);
    (void)view_of(attr, 1, &in[1].type, &b);
    fgi_kernel_matmul_numbers n = numbers_of(&a, &b);
    n.is_relu = is_relu;
    *y = fgi_build_value(&e->b, &y->type);
    const char *kernel = kernel_of(e, &a, &b, in[0].type.dtype == FG_BF16);
    fgi_emit_kernel(e, &(fgi_kernel_call){kernel, count, 1, in, y, sizeof n, &n});
}

static void call_dot(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    put_call(e, e->node->attr, false, 2, in, out);
}

static void emit_matmul(fgi_emit *e)
{
    const fgi_value in[] = {fgi_emit_in(e, 0), fgi_emit_in(e, 1)};
    fgi_shard_kind kind[2], out_kind;
    fgi_value y;
    view a, b;
    (void)view_of(e->node->attr, 0, &in[0].type, &a);
    (void)view_of(e->node->attr, 1, &in[1].type, &b);
    (void)kinds_of(e, &a, &b, kind, &out_kind);
    const fgi_shard_call call = {2, 1, in, kind, &e->node->type, &out_kind};
    fgi_emit_each_shard(e, &call, call_dot, &y);
    fgi_emit_become(e, y);
}

#define MATMUL                                                                                     \
    .platform = FGI_CPU, .rule = "matmul-kernel", .applies = is_matmul, .emit = emit_matmul
const fgi_lowering fgi_dot_kernel_cpu = {.op = &fgi_dot, MATMUL};
const fgi_lowering fgi_matmul_kernel_cpu = {.op = &fgi_matmul, MATMUL};

/* ---- sums that begin with a matmul ----------------------------------------------------------- */

/* relu(dot + terms), or without relu. */
typedef struct sum {
    const fgi_node *dot, *term[FGI_KERNEL_MATMUL_TERMS];
    int count;
    bool is_relu;
} sum;

static bool is_own_matmul(const fgi_emit *e, const fgi_node *node)
{
    if (node->op != &fgi_dot && node->op != &fgi_matmul)
        return false;
    const fgi_emit of = {.node = node, .client = e->client, .batch_shards = e->batch_shards};
    const fgi_dot_attr *attr = node->attr;
    fgi_shard_kind kind[2], out;
    view a, b;
    return is_matmul(&of) && view_of(attr, 0, &node->in[0]->type, &a) &&
           view_of(attr, 1, &node->in[1]->type, &b) && a.batch == 1 && a.inner > 0 &&
           kinds_of(&of, &a, &b, kind, &out) && (has_one_device(e) || out == FGI_BY_ROWS) &&
           strcmp(kernel_of_part(&of, kind), FGI_KERNEL_MATMUL) == 0;
}

/* The vector that the node repeats in each row; the node itself if it is in memory anyway, because
 * others read it; else NULL. */
static const fgi_node *term_of(const fgi_emit *e, const fgi_node *node)
{
    const int last = node->type.rank - 1;
    if (node->op != &fgi_broadcast_op)
        return fgi_emit_has_one_reader(e, node) ? NULL : node;
    const fgi_node *in = node->in[0]->first;
    const fgi_broadcast_attr *attr = node->attr;
    return in->type.rank == 1 && attr->axis[0] == last && in->type.dim[0] == node->type.dim[last]
               ? in
               : NULL;
}

/* Whether the node is such a sum, which nothing else reads in part. */
static bool find_dot(const fgi_emit *e, const fgi_node *node, sum *out)
{
    if (is_own_matmul(e, node))
        out->dot = node;
    else if (node->op == &fgi_add_op && out->count < FGI_KERNEL_MATMUL_TERMS)
        for (int i = 0; i < 2 && out->dot == NULL; i++) {
            const fgi_node *in = node->in[i]->first;
            const fgi_node *term = term_of(e, node->in[1 - i]->first);
            const int count = out->count;
            if (term == NULL || !fgi_emit_has_one_reader(e, in))
                continue;
            out->term[out->count++] = term;
            if (!find_dot(e, in, out))
                out->count = count;
        }
    return out->dot != NULL;
}

static bool is_sum_of(const fgi_emit *e, sum *out)
{
    const fgi_node *node = e->node;
    *out = (sum){.is_relu = node->op == &fgi_relu_op};
    if (!fgi_client_has_kernels(e->client))
        return false;
    if (out->is_relu && !fgi_emit_has_one_reader(e, node->in[0]->first))
        return false;
    return find_dot(e, out->is_relu ? node->in[0]->first : node, out);
}

static bool is_sum(const fgi_emit *e)
{
    sum s;
    return is_sum_of(e, &s);
}

static void call_sum(fgi_emit *e, const fgi_value *in, fgi_value *y)
{
    const fgi_node *node = e->node;
    sum s;
    if (!is_sum_of(e, &s))
        return;
    e->node = s.dot;
    put_call(e, s.dot->attr, s.is_relu, 2 + s.count, in, y);
    e->node = node;
}

/* The calls of its parts are left to the compiler, which removes them. */
static void emit_sum(fgi_emit *e)
{
    sum s;
    fgi_value in[2 + FGI_KERNEL_MATMUL_TERMS], y;
    fgi_shard_kind kind[2 + FGI_KERNEL_MATMUL_TERMS];
    static const fgi_shard_kind by_rows = FGI_BY_ROWS;
    if (!is_sum_of(e, &s))
        return;
    for (int i = 0; i < 2 + s.count; i++) {
        const fgi_node *from = i < 2 ? s.dot->in[i]->first : s.term[i - 2];
        in[i] = (fgi_value){e->value[from->id], from->type};
        kind[i] = i == 1 || (i > 1 && from->type.rank == 1) ? FGI_WHOLE : FGI_BY_ROWS;
    }
    if (e->b.location.op != NULL)
        e->b.location = (fgi_location){s.dot->scope, s.dot->op->name, s.dot->file, s.dot->line};
    const fgi_shard_call call = {2 + s.count, 1, in, kind, &e->node->type, &by_rows};
    fgi_emit_each_shard(e, &call, call_sum, &y);
    fgi_emit_become(e, y);
}

#define SUM .platform = FGI_CPU, .rule = "matmul-sum", .applies = is_sum, .emit = emit_sum
const fgi_lowering fgi_add_matmul_cpu = {.op = &fgi_add_op, SUM};
const fgi_lowering fgi_relu_matmul_cpu = {.op = &fgi_relu_op, SUM};
