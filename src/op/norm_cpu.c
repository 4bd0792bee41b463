/* norm_cpu.c - layer norm and RMS norm by kernels (src/kernel/kernel_norm.c). The backend reads x
 * once for each statistic, and in the gradient again for each sum.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/kernel.h"
#include "op/composite.h"
#include "op/kernel_call.h"
#include "op/lowerings.h"
#include "trace/trace.h"

/* Inputs and results of the kernels. */
enum { X, WEIGHT, BIAS, EPS, FORWARD };
enum { MEAN = 2, RSTD, DY, BACKWARD };
enum { Y, OUT_MEAN, OUT_RSTD, FORWARD_OUT };
enum { DX, DWEIGHT, DBIAS, MEMORY, BACKWARD_OUT };

/* Elements below which the backend, which fuses, is as fast; the sums of weights' gradients. */
enum { LEAST_ELEMENTS = 1 << 13, CHUNK_ROWS = 16, MOST_CHUNKS = 64 };

typedef struct norm_attr {
    int64_t is_rms;
    double eps;
} norm_attr;

static bool is_rms(const void *attr) { return ((const norm_attr *)attr)->is_rms != 0; }

/* ---- operations ------------------------------------------------------------------------------ */

static bool forward_infer(fgi_infer *c)
{
    if (!fgi_infer_results(c, FORWARD_OUT))
        return false;
    fg_type by_row = *c->in[X];
    by_row.dtype = FG_F32;
    by_row.rank--;
    by_row.dim[by_row.rank] = 0;
    c->results->type[Y] = *c->in[X];
    c->results->type[OUT_MEAN] = c->results->type[OUT_RSTD] = by_row;
    return true;
}

static bool backward_infer(fgi_infer *c)
{
    if (!fgi_infer_results(c, BACKWARD_OUT))
        return false;
    const int64_t width = c->in[WEIGHT]->dim[0], rows = fg_type_count(c->in[X]) / width;
    const int64_t chunks = (rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
    c->results->type[DX] = *c->in[X];
    c->results->type[DWEIGHT] = c->results->type[DBIAS] = *c->in[WEIGHT];
    c->results->type[MEMORY] =
        (fg_type){FG_F32, 3, {chunks < MOST_CHUNKS ? chunks : MOST_CHUNKS, 2, width}};
    return true;
}

/* Rows are independent of each other. In sums of gradients, padding rows are 0. */
static bool forward_rows(fgi_infer *c)
{
    for (int i = 0; i < FORWARD_OUT && c->in_rows[X] != NULL; i++)
        if (!fgi_rows_of_result(c, i, c->in_rows[X]))
            return false;
    return true;
}

static bool backward_rows(fgi_infer *c)
{
    return c->in_rows[X] == NULL || fgi_rows_of_result(c, DX, c->in_rows[X]);
}

/* For the rows of a device; with memory for the sums of the gradients of weight and bias. */
static void call_kernel(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    const fgi_node *node = e->node;
    const bool is_forward = node->arity == FORWARD, is_plain = !is_rms(node->attr);
    const int count = is_forward ? FORWARD_OUT : MEMORY;
    fgi_value all[BACKWARD_OUT];
    for (int i = 0; i < count; i++)
        all[i] = out[i] = fgi_build_value(&e->b, &out[i].type);
    if (!is_forward)
        all[MEMORY] = fgi_build_value(&e->b, &node->results->type[MEMORY]);
    const char *kernel = is_forward ? is_plain ? FGI_KERNEL_LAYER_NORM : FGI_KERNEL_RMS_NORM
                         : is_plain ? FGI_KERNEL_LAYER_NORM_DX
                                    : FGI_KERNEL_RMS_NORM_DX;
    fgi_emit_kernel(e, &(fgi_kernel_call){kernel, node->arity, is_forward ? count : BACKWARD_OUT,
                                          in, all, 0, NULL});
}

static void emit(fgi_emit *e)
{
    static const fgi_shard_kind forward[] = {FGI_BY_ROWS, FGI_WHOLE, FGI_WHOLE, FGI_WHOLE};
    static const fgi_shard_kind backward[] = {FGI_BY_ROWS, FGI_WHOLE, FGI_BY_ROWS, FGI_BY_ROWS,
                                              FGI_BY_ROWS};
    static const fgi_shard_kind by_rows[] = {FGI_BY_ROWS, FGI_BY_ROWS, FGI_BY_ROWS};
    static const fgi_shard_kind gradients[] = {FGI_BY_ROWS, FGI_SUM_OF_PARTS, FGI_SUM_OF_PARTS};
    if (e->node->arity == FORWARD)
        fgi_emit_node_of_shards(e, forward, FORWARD_OUT, by_rows, call_kernel);
    else
        fgi_emit_node_of_shards(e, backward, MEMORY, gradients, call_kernel);
}

/* The derivatives of dx, dweight and dbias by x, weight and dy: of those of the plain form. */
static void backward_vjp(fgi_vjp *v)
{
    static const int by[] = {X, WEIGHT, DY};
    enum { COUNT = sizeof by / sizeof by[0] };
    fg_trace *trace = fg_tensor_trace(v->out);
    const fg_type *of_weight = fg_tensor_type(v->in[WEIGHT]);
    const fg_tensor in[] = {v->in[X],
                            fg_full(trace, FG_F32, ((const norm_attr *)v->attr)->eps, FG_SCALAR),
                            v->in[WEIGHT], fg_zeros(trace, FG_F32, 1, of_weight->dim)};
    fg_tensor y, first[MEMORY], din[COUNT];
    (is_rms(v->attr) ? &fgi_rms_norm_op : &fgi_layer_norm_op)->compose(in, FGI_NORM_MOST, &y);
    fgi_node *const of_y = fgi_node_of(y), *of[MEMORY], *wrt[COUNT];
    fgi_node *const parameters[] = {fgi_node_of(v->in[X]), fgi_node_of(v->in[WEIGHT]),
                                    fgi_node_of(in[FGI_NORM_BIAS])};
    fgi_grad_path(trace, &(fgi_path){&of_y, &v->in[DY], 1, parameters, MEMORY}, first);
    for (int i = 0; i < MEMORY; i++)
        of[i] = fgi_node_of(first[i]);
    for (int i = 0; i < COUNT; i++)
        wrt[i] = fgi_node_of(v->in[by[i]]);
    fgi_grad_path(trace, &(fgi_path){of, v->douts, MEMORY, wrt, COUNT}, din);
    for (int i = 0; i < COUNT; i++)
        v->din[by[i]] = din[i];
}

static const fgi_op backward_op = {.name = "norm_dx",
                                   .arity = BACKWARD,
                                   .infer = backward_infer,
                                   .rows = backward_rows,
                                   .emit = emit,
                                   .vjp = backward_vjp};

static const fgi_op forward_op = {
    .name = "norm", .arity = FORWARD, .infer = forward_infer, .rows = forward_rows, .emit = emit};

/* Its value is that of y, its first input, which its gradient does not depend on. Nothing is
 * emitted. */
enum { OF_Y, OF_X, OF_WEIGHT, OF_BIAS, OF_MEAN, OF_RSTD, RESULT };

static bool result_infer(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[OF_Y]->dtype, c->in[OF_Y]->rank, c->in[OF_Y]->dim);
}

static bool result_rows(fgi_infer *c)
{
    if (c->in_rows[OF_Y] != NULL)
        c->rows = *c->in_rows[OF_Y];
    return true;
}

static void result_vjp(fgi_vjp *v)
{
    const fg_tensor in[BACKWARD] = {v->in[OF_X], v->in[OF_WEIGHT], v->in[OF_MEAN], v->in[OF_RSTD],
                                    v->dout};
    fg_tensor out[BACKWARD_OUT];
    fgi_apply_results(&backward_op, &(fgi_operands){in, BACKWARD, v->attr, sizeof(norm_attr)}, out,
                      BACKWARD_OUT);
    v->din[OF_X] = out[DX];
    v->din[OF_WEIGHT] = out[DWEIGHT];
    v->din[OF_BIAS] = out[DBIAS];
}

static const fgi_op result_op = {.name = "norm_result",
                                 .arity = RESULT,
                                 .infer = result_infer,
                                 .rows = result_rows,
                                 .vjp = result_vjp};

/* ---- selection ------------------------------------------------------------------------------- */

static bool is_large(const fg_tensor *in, int count)
{
    const fg_client *client = fg_tensor_trace(in[FGI_NORM_X])->client;
    const fg_type *type = fg_tensor_type(in[FGI_NORM_X]);
    (void)count;
    return (type->dtype == FG_F32 || type->dtype == FG_BF16) &&
           fg_type_count(type) >= LEAST_ELEMENTS && fgi_client_has_kernels(client) &&
           fgi_client_has_shards(client, type->rank > 1 ? type->dim[0] : 1);
}

static fg_tensor call(const fg_tensor *in, int count, int64_t is_rms)
{
    const fg_tensor x = in[FGI_NORM_X], eps = in[FGI_NORM_EPS];
    fg_trace *trace = fg_tensor_trace(x);
    const int64_t width = fg_tensor_dim(x, -1);
    const norm_attr attr = {is_rms, fgi_norm_eps(eps)};
    const fg_tensor weight = count > FGI_NORM_WEIGHT ? fg_cast(in[FGI_NORM_WEIGHT], FG_F32)
                                                     : fg_ones(trace, FG_F32, FG_DIMS(width));
    const fg_tensor bias = count > FGI_NORM_BIAS ? fg_cast(in[FGI_NORM_BIAS], FG_F32)
                                                 : fg_zeros(trace, FG_F32, FG_DIMS(width));
    fg_tensor out[FORWARD_OUT];
    fgi_apply_results(
        &forward_op,
        &(fgi_operands){(const fg_tensor[]){x, weight, bias, eps}, FORWARD, &attr, sizeof attr},
        out, FORWARD_OUT);
    const fg_tensor all[] = {out[Y], x, weight, bias, out[OUT_MEAN], out[OUT_RSTD]};
    return fgi_apply(&result_op, all, RESULT, &attr, sizeof attr);
}

static void call_layer_norm(const fg_tensor *in, int count, fg_tensor *out)
{
    *out = call(in, count, 0);
}

static void call_rms_norm(const fg_tensor *in, int count, fg_tensor *out)
{
    *out = call(in, count, 1);
}

#define KERNEL .platform = FGI_CPU, .rule = "norm-kernel", .composes = is_large
const fgi_lowering fgi_layer_norm_cpu = {
    .op = &fgi_layer_norm_op, KERNEL, .compose = call_layer_norm};
const fgi_lowering fgi_rms_norm_cpu = {.op = &fgi_rms_norm_op, KERNEL, .compose = call_rms_norm};
