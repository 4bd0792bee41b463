/* gelu_cpu.c - GELU by kernels (src/kernel/kernel_gelu.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/kernel.h"
#include "op/composite.h"
#include "op/kernel_call.h"
#include "op/lowerings.h"
#include "trace/trace.h"

/* Elements below which the backend, which fuses, is as fast. */
enum { LEAST_ELEMENTS = 1 << 15 };

typedef struct gelu_attr {
    int64_t is_tanh;
} gelu_attr;

static bool like_x(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

static void call_kernel(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    const bool is_tanh = ((const gelu_attr *)e->node->attr)->is_tanh != 0;
    *out = fgi_build_value(&e->b, &out->type);
    fgi_emit_kernel(e, &(fgi_kernel_call){is_tanh ? FGI_KERNEL_GELU_TANH : FGI_KERNEL_GELU,
                                          e->node->arity, 1, in, out, 0, NULL});
}

static void emit(fgi_emit *e)
{
    static const fgi_shard_kind by_rows[] = {FGI_BY_ROWS, FGI_BY_ROWS};
    fgi_emit_node_of_shards(e, by_rows, 1, by_rows, call_kernel);
}

/* The derivative of dx by x and dy: of that of the plain form. */
static void dx_vjp(fgi_vjp *v)
{
    fg_tensor y, dx, din[2];
    fg_trace *trace = fg_tensor_trace(v->out);
    (((const gelu_attr *)v->attr)->is_tanh != 0 ? &fgi_gelu_tanh_op : &fgi_gelu_op)
        ->compose(v->in, 1, &y);
    fgi_node *const x = fgi_node_of(v->in[0]), *const dy = fgi_node_of(v->in[1]);
    fgi_node *const of_y = fgi_node_of(y);
    fgi_grad_path(trace, &(fgi_path){&of_y, &v->in[1], 1, &x, 1}, &dx);
    fgi_node *const of_dx = fgi_node_of(dx), *const wrt[] = {x, dy};
    fgi_grad_path(trace, &(fgi_path){&of_dx, &v->dout, 1, wrt, 2}, din);
    v->din[0] = din[0];
    v->din[1] = din[1];
}

static const fgi_op dx_op = {.name = "gelu_dx",
                             .arity = 2,
                             .infer = like_x,
                             .rows = fgi_rows_pointwise,
                             .emit = emit,
                             .vjp = dx_vjp};

static void gelu_vjp(fgi_vjp *v)
{
    v->din[0] =
        fgi_apply(&dx_op, (const fg_tensor[]){v->in[0], v->dout}, 2, v->attr, sizeof(gelu_attr));
}

static const fgi_op gelu_op = {.name = "gelu",
                               .arity = 1,
                               .infer = like_x,
                               .rows = fgi_rows_pointwise,
                               .emit = emit,
                               .vjp = gelu_vjp};

static bool is_large(const fg_tensor *in, int count)
{
    const fg_client *client = fg_tensor_trace(*in)->client;
    const fg_type *type = fg_tensor_type(*in);
    (void)count;
    return (type->dtype == FG_F32 || type->dtype == FG_BF16) &&
           fg_type_count(type) >= LEAST_ELEMENTS && fgi_client_has_kernels(client) &&
           fgi_client_has_shards(client, type->dim[0]);
}

static void call_gelu(const fg_tensor *in, int count, fg_tensor *out)
{
    (void)count;
    *out = fgi_apply(&gelu_op, in, 1, &(gelu_attr){0}, sizeof(gelu_attr));
}

static void call_gelu_tanh(const fg_tensor *in, int count, fg_tensor *out)
{
    (void)count;
    *out = fgi_apply(&gelu_op, in, 1, &(gelu_attr){1}, sizeof(gelu_attr));
}

#define KERNEL .platform = FGI_CPU, .rule = "gelu-kernel", .composes = is_large
const fgi_lowering fgi_gelu_cpu = {.op = &fgi_gelu_op, KERNEL, .compose = call_gelu};
const fgi_lowering fgi_gelu_tanh_cpu = {.op = &fgi_gelu_tanh_op, KERNEL, .compose = call_gelu_tanh};
