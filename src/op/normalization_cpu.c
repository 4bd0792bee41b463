/* normalization_cpu.c - batch normalization in training by kernels
 * (src/kernel/kernel_batch_norm.c), which read the batch half as often as the backend's loops.
 *
 * A relu that follows, also after a sum, is computed by the kernel too, and so is its gradient. The
 * graph is the same without that: each operation that others read as well is also computed alone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernel/kernel.h"
#include "op/composite.h"
#include "op/kernel_call.h"
#include "op/lowerings.h"
#include "trace/trace.h"

/* Elements below which the backend, which fuses, is as fast. Numbers of rows are f32. */
enum { LEAST_ELEMENTS = 1 << 15, LEAST_CHANNELS = 16, MOST_ROWS = 1 << 24 };

/* Inputs of the gradient: those of the normalization, which are in the kernel's order, and the
 * derivative by the result. */
enum { DY = FGI_KERNEL_NORM_DY, BACKWARD };
_Static_assert((int)FGI_BATCH_NORM_INPUTS == (int)FGI_KERNEL_NORM_IN &&
                   (int)FGI_BATCH_NORM_COUNT == (int)FGI_KERNEL_NORM_COUNT,
               "the inputs are the kernel's operands");

static int64_t channels_of(const fg_type *x) { return x->dim[x->rank - 1]; }

static fg_type vector_of(const fg_type *x) { return (fg_type){FG_F32, 1, {channels_of(x)}}; }

/* ---- emission -------------------------------------------------------------------------------- */

/* The node whose value is that of `node`'s input i. */
static const fgi_node *input_of(const fgi_node *node, int i)
{
    const fgi_node *in = node->in[i]->first;
    return in->op->emit == NULL && in->arity > 0 && in->results == NULL && in->op != &fgi_result_op
               ? in->in[0]->first
               : in;
}

/* Whether `a` is an application of `op` in the region of `node`: whose inputs are values there. */
static bool is_local(const fgi_node *a, const fgi_op *op, const fgi_node *node)
{
    return a->op == op && a->region == node->region;
}

/* Input i of a node, or, of the same shape, the bf16 that it was widened from. */
static fgi_value narrow_in(const fgi_emit *e, const fgi_node *node, int i)
{
    const fgi_node *in = node->in[i]->first;
    if (is_local(in, &fgi_cast_op, e->node) && in->type.dtype == FG_F32 &&
        in->in[0]->type.dtype == FG_BF16)
        in = in->in[0]->first;
    return (fgi_value){e->value[in->id], in->type};
}

static void call(fgi_emit *e, const char *kernel, int in_count, const fgi_value *in, int out_count,
                 const fgi_value *out)
{
    fgi_emit_kernel(e, &(fgi_kernel_call){kernel, in_count, out_count, in, out, 0, NULL});
}

/* Memory for a call. */
static fgi_value memory_for(fgi_emit *e, const fg_type *x)
{
    const int64_t rows = fg_type_count(x) / channels_of(x);
    const int64_t size = fgi_kernel_batch_norm_memory(rows, channels_of(x));
    return fgi_build_value(&e->b, &(fg_type){FG_F32, 1, {size}});
}

static fgi_value repeated(fgi_emit *e, fgi_value x, const fg_type *type, int64_t axis)
{
    return fgi_build_broadcast(&e->b, x, type, &axis);
}

/* Of n valid rows, which are the first ones of x, those of each device: f32[devices]. On one
 * device: n. */
static fgi_value rows_by_device(fgi_emit *e, fgi_value n, const fg_type *x)
{
    const fg_type type = {FG_F32, 1, {e->batch_shards}};
    const int64_t rows = fg_type_count(x) / channels_of(x) / e->batch_shards;
    if (e->batch_shards == 1)
        return n;
    fgi_builder *b = &e->b;
    const fgi_value most = fgi_build_splat(b, &type, (double)rows);
    const fgi_value first = fgi_build_binary(b, "multiply", fgi_build_iota(b, &type, 0), most);
    const fgi_value left = fgi_build_binary(b, "subtract", repeated(e, n, &type, 0), first);
    return fgi_build_binary(b, "maximum", fgi_build_splat(b, &type, 0),
                            fgi_build_binary(b, "minimum", left, most));
}

/* A device's number of them. */
static fgi_value scalar(fgi_emit *e, fgi_value n)
{
    return n.type.rank == 0 ? n : fgi_build_reshape(&e->b, n, 0, NULL);
}

/* ---- statistics ------------------------------------------------------------------------------ */

enum { STATISTICS_X, STATISTICS_N, STATISTICS_IN };

static bool statistics_infer(fgi_infer *c)
{
    if (!fgi_infer_results(c, 2))
        return false;
    c->results->type[FGI_BY_CHANNEL_MEAN] = c->results->type[FGI_BY_CHANNEL_VAR] =
        vector_of(c->in[STATISTICS_X]);
    return true;
}

/* Only valid rows count. */
static bool no_rows(fgi_infer *c)
{
    (void)c;
    return true;
}

static void measure(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    const fgi_value of[] = {in[STATISTICS_X], scalar(e, in[STATISTICS_N])};
    const fg_type vector = vector_of(&in->type);
    const fgi_value all[] = {fgi_build_value(&e->b, &vector), fgi_build_value(&e->b, &vector),
                             memory_for(e, &in->type)};
    call(e, FGI_KERNEL_BATCH_STATISTICS, STATISTICS_IN, of, 3, all);
    for (int i = 0; i < 2; i++)
        out[i] = out[i].type.rank == 1
                     ? all[i]
                     : fgi_build_reshape(&e->b, all[i], out[i].type.rank, out[i].type.dim);
}

/* The sum over the devices of n x [devices, C], divided by that of n. */
static fgi_value average(fgi_emit *e, fgi_value n, fgi_value all, fgi_value x)
{
    static const int64_t axis = 0;
    fgi_builder *b = &e->b;
    const fgi_value weighted = fgi_build_binary(b, "multiply", x, repeated(e, n, &x.type, 0));
    const fgi_value sum = fgi_build_sum(b, weighted, 1, &axis);
    return fgi_build_binary(b, "divide", sum, repeated(e, all, &sum.type, 0));
}

/* mean and variance of all devices' n rows from theirs. Source: Chan, Golub and LeVeque 1983,
 * "Algorithms for computing the sample variance". */
static void join(fgi_emit *e, fgi_value n, fgi_value all, fgi_value *mean, fgi_value *var)
{
    fgi_builder *b = &e->b;
    const fgi_value joined = average(e, n, all, *mean);
    const fgi_value away =
        fgi_build_binary(b, "subtract", *mean, repeated(e, joined, &mean->type, 1));
    const fgi_value square = fgi_build_binary(b, "multiply", away, away);
    *var = average(e, n, all, fgi_build_binary(b, "add", *var, square));
    *mean = joined;
}

static void statistics_emit(fgi_emit *e)
{
    static const fgi_shard_kind by_rows[] = {FGI_BY_ROWS, FGI_BY_ROWS};
    const fgi_value x = narrow_in(e, e->node, STATISTICS_X), n = fgi_emit_in(e, STATISTICS_N);
    const fgi_value in[] = {x, rows_by_device(e, n, &x.type)};
    const fg_type vector = vector_of(&x.type);
    const fg_type type =
        e->batch_shards == 1 ? vector : (fg_type){FG_F32, 2, {e->batch_shards, vector.dim[0]}};
    const fg_type types[] = {type, type};
    const fgi_shard_call each = {STATISTICS_IN, 2, in, by_rows, types, by_rows};
    fgi_value out[2];
    fgi_emit_each_shard(e, &each, measure, out);
    if (e->batch_shards > 1)
        join(e, in[STATISTICS_N], n, &out[FGI_BY_CHANNEL_MEAN], &out[FGI_BY_CHANNEL_VAR]);
    for (int i = 0; i < 2; i++)
        fgi_emit_become_at(e, i, out[i]);
}

/* dx = (dmean + 2 dvar (x - mean)) / n, in valid rows */
static void statistics_vjp(fgi_vjp *v)
{
    const fg_tensor x = fg_cast(v->in[STATISTICS_X], FG_F32), n = v->in[STATISTICS_N];
    const fg_tensor dmean = v->douts[FGI_BY_CHANNEL_MEAN], dvar = v->douts[FGI_BY_CHANNEL_VAR];
    const fg_tensor mean = fgi_result(fgi_node_of(v->out), FGI_BY_CHANNEL_MEAN);
    fg_tensor dx = fgi_full_like(x, 0);
    if (dmean.handle != 0)
        dx = fg_add(dx, fg_div(dmean, n));
    if (dvar.handle != 0)
        dx = fg_add(dx, fg_mul(fg_sub(x, mean), fg_div(fg_mul_scalar(dvar, 2), n)));
    if (fgi_node_of(x)->rows != NULL)
        dx = fg_where(fgi_valid_elements(x, 1), dx, fgi_full_like(dx, 0));
    v->din[STATISTICS_X] = fg_cast(dx, fg_tensor_type(v->in[STATISTICS_X])->dtype);
}

static const fgi_op statistics_op = {.name = "batch_statistics",
                                     .arity = STATISTICS_IN,
                                     .infer = statistics_infer,
                                     .rows = no_rows,
                                     .emit = statistics_emit,
                                     .vjp = statistics_vjp};

static void call_statistics(const fg_tensor *in, int count, fg_tensor *out)
{
    const fg_tensor of[] = {in[FGI_BY_CHANNEL_X], in[FGI_BY_CHANNEL_N]};
    (void)count;
    fgi_apply_results(&statistics_op, &(fgi_operands){of, STATISTICS_IN, NULL, 0}, out, 2);
}

/* ---- gradient -------------------------------------------------------------------------------- */

enum { DX, DWEIGHT, DBIAS, GRADIENTS };

static bool backward_infer(fgi_infer *c)
{
    if (!fgi_infer_results(c, GRADIENTS))
        return false;
    c->results->type[DX] = *c->in[FGI_BATCH_NORM_X];
    c->results->type[DWEIGHT] = c->results->type[DBIAS] = vector_of(c->in[FGI_BATCH_NORM_X]);
    return true;
}

static bool backward_rows(fgi_infer *c)
{
    const fgi_rows *rows = c->in_rows[FGI_BATCH_NORM_X];
    return rows == NULL || fgi_rows_of_result(c, DX, rows);
}

static bool is_relu_of(const fgi_node *relu, const fgi_node *backward);

/* Whether dy is the gradient of a relu of the normalization, which the kernels compute too. */
static bool is_after_relu(const fgi_node *backward)
{
    const fgi_node *dy = backward->in[DY]->first;
    return is_local(dy, &fgi_relu_dx_op, backward) && is_relu_of(dy->in[0]->first, backward);
}

static void add_up(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    fgi_value of[FGI_KERNEL_NORM_SUMS_IN];
    memcpy(of, in, sizeof of);
    of[FGI_KERNEL_NORM_COUNT] = scalar(e, in[FGI_KERNEL_NORM_COUNT]);
    for (int i = 0; i < 2; i++)
        out[i] = fgi_build_value(&e->b, &out[i].type);
    const fgi_value all[] = {out[0], out[1], memory_for(e, &in->type)};
    call(e, is_after_relu(e->node) ? FGI_KERNEL_BATCH_NORM_RELU_SUMS : FGI_KERNEL_BATCH_NORM_SUMS,
         FGI_KERNEL_NORM_SUMS_IN, of, 3, all);
}

static void differentiate(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    fgi_value of[FGI_KERNEL_NORM_DX_IN];
    memcpy(of, in, sizeof of);
    of[FGI_KERNEL_NORM_COUNT] = scalar(e, in[FGI_KERNEL_NORM_COUNT]);
    *out = fgi_build_value(&e->b, &out->type);
    const fgi_value all[] = {*out, memory_for(e, &in->type)};
    call(e, is_after_relu(e->node) ? FGI_KERNEL_BATCH_NORM_RELU_DX : FGI_KERNEL_BATCH_NORM_DX,
         FGI_KERNEL_NORM_DX_IN, of, 2, all);
}

/* Writes dx in the dtype that x was widened from: its derivative is rounded to that. */
static void backward_emit(fgi_emit *e)
{
    static const fgi_shard_kind sums[] = {FGI_SUM_OF_PARTS, FGI_SUM_OF_PARTS}, dx = FGI_BY_ROWS;
    const fgi_shard_kind kind[FGI_KERNEL_NORM_DX_IN] = {[FGI_KERNEL_NORM_X] = FGI_BY_ROWS,
                                                        [FGI_KERNEL_NORM_COUNT] = FGI_BY_ROWS,
                                                        [FGI_KERNEL_NORM_DY] = FGI_BY_ROWS};
    const fgi_node *node = e->node, *dy = node->in[DY]->first;
    fgi_value in[FGI_KERNEL_NORM_DX_IN], out[2];
    for (int i = 0; i < BACKWARD; i++)
        in[i] = fgi_emit_in(e, i);
    in[FGI_KERNEL_NORM_ALL] = in[FGI_KERNEL_NORM_COUNT];
    in[FGI_KERNEL_NORM_X] = narrow_in(e, node, FGI_BATCH_NORM_X);
    in[FGI_KERNEL_NORM_COUNT] = rows_by_device(e, in[FGI_KERNEL_NORM_ALL], &in->type);
    in[DY] = is_after_relu(node) ? narrow_in(e, dy, 1) : narrow_in(e, node, DY);
    const fg_type vector = vector_of(&in->type), types[] = {vector, vector};
    fgi_emit_each_shard(e, &(fgi_shard_call){FGI_KERNEL_NORM_SUMS_IN, 2, in, kind, types, sums},
                        add_up, out);
    for (int i = 0; i < 2; i++) {
        in[FGI_KERNEL_NORM_DWEIGHT + i] = out[i];
        fgi_emit_become_at(e, DWEIGHT + i, out[i]);
    }
    fgi_emit_each_shard(e, &(fgi_shard_call){FGI_KERNEL_NORM_DX_IN, 1, in, kind, &in->type, &dx},
                        differentiate, out);
    fgi_emit_become_at(e, DX,
                       fgi_build_convert(&e->b, out[0], node->in[FGI_BATCH_NORM_X]->type.dtype));
}

/* Of the closed form. */
static void backward_vjp(fgi_vjp *v)
{
    static const int by[] = {FGI_BATCH_NORM_X, FGI_BATCH_NORM_WEIGHT, FGI_BATCH_NORM_MEAN,
                             FGI_BATCH_NORM_RSTD, DY};
    static const int of[] = {FGI_BATCH_NORM_X, FGI_BATCH_NORM_WEIGHT, FGI_BATCH_NORM_BIAS};
    enum { COUNT = sizeof by / sizeof by[0] };
    fg_tensor made[FGI_BATCH_NORM_INPUTS], dof[GRADIENTS] = {{0}}, din[COUNT];
    fgi_node *results[GRADIENTS], *wrt[COUNT];
    fgi_normalize_batch_dx(v->in, v->in[DY], made);
    for (int i = 0; i < GRADIENTS; i++) {
        results[i] = fgi_node_of(made[of[i]]);
        if (v->douts[i].handle != 0)
            dof[i] = fg_cast(v->douts[i], FG_F32);
    }
    for (int i = 0; i < COUNT; i++)
        wrt[i] = fgi_node_of(v->in[by[i]]);
    fgi_grad_path(fg_tensor_trace(v->out), &(fgi_path){results, dof, GRADIENTS, wrt, COUNT}, din);
    for (int i = 0; i < COUNT; i++)
        v->din[by[i]] = din[i];
}

static const fgi_op backward_op = {.name = "batch_norm_dx",
                                   .arity = BACKWARD,
                                   .infer = backward_infer,
                                   .rows = backward_rows,
                                   .emit = backward_emit,
                                   .vjp = backward_vjp};

/* ---- normalization --------------------------------------------------------------------------- */

static bool like_x(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[FGI_BATCH_NORM_X]->dtype, c->in[FGI_BATCH_NORM_X]->rank,
                        c->in[FGI_BATCH_NORM_X]->dim);
}

static bool rows_of_x(fgi_infer *c)
{
    if (c->in_rows[FGI_BATCH_NORM_X] != NULL)
        c->rows = *c->in_rows[FGI_BATCH_NORM_X];
    return true;
}

static const fgi_node *norm_before(const fgi_node *relu, const fgi_node **out_other);

/* The normalization that e->node is, or that its relu follows, perhaps after a sum. */
static const fgi_node *norm_of(const fgi_emit *e, const fgi_node **out_other)
{
    *out_other = NULL;
    return e->node->op == &fgi_relu_op ? norm_before(e->node, out_other) : e->node;
}

static void normalize(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    const fgi_node *other, *norm = norm_of(e, &other);
    *out = fgi_build_value(&e->b, &out->type);
    call(e, norm == e->node ? FGI_KERNEL_BATCH_NORM : FGI_KERNEL_BATCH_NORM_RELU,
         FGI_BATCH_NORM_INPUTS + (other != NULL), in, 1, out);
}

static void forward_emit(fgi_emit *e)
{
    static const fgi_shard_kind kind[FGI_BATCH_NORM_INPUTS + 1] = {
        [FGI_BATCH_NORM_X] = FGI_BY_ROWS, [FGI_BATCH_NORM_INPUTS] = FGI_BY_ROWS};
    const fgi_node *other, *norm = norm_of(e, &other);
    fgi_value in[FGI_BATCH_NORM_INPUTS + 1], y;
    for (int i = 0; i < FGI_BATCH_NORM_INPUTS; i++) {
        const fgi_node *of = norm->in[i]->first;
        in[i] = (fgi_value){e->value[of->id], of->type};
    }
    in[FGI_BATCH_NORM_X] = narrow_in(e, norm, FGI_BATCH_NORM_X);
    if (other != NULL)
        in[FGI_BATCH_NORM_INPUTS] = (fgi_value){e->value[other->id], other->type};
    if (e->b.location.op != NULL)
        e->b.location.scope = norm->scope;
    const fgi_shard_call each = {
        FGI_BATCH_NORM_INPUTS + (other != NULL), 1, in, kind, &e->node->type, kind};
    fgi_emit_each_shard(e, &each, normalize, &y);
    fgi_emit_become(e, y);
}

static void forward_vjp(fgi_vjp *v)
{
    fg_tensor in[BACKWARD], out[GRADIENTS];
    for (int i = 0; i < FGI_BATCH_NORM_INPUTS; i++)
        in[i] = v->in[i];
    in[DY] = v->dout;
    fgi_apply_results(&backward_op, &(fgi_operands){in, BACKWARD, NULL, 0}, out, GRADIENTS);
    v->din[FGI_BATCH_NORM_X] = out[DX];
    v->din[FGI_BATCH_NORM_WEIGHT] = out[DWEIGHT];
    v->din[FGI_BATCH_NORM_BIAS] = out[DBIAS];
}

static const fgi_op forward_op = {.name = "batch_norm",
                                  .arity = FGI_BATCH_NORM_INPUTS,
                                  .infer = like_x,
                                  .rows = rows_of_x,
                                  .emit = forward_emit,
                                  .vjp = forward_vjp};

static void call_norm(const fg_tensor *in, int count, fg_tensor *out)
{
    *out = fgi_apply(&forward_op, in, count, NULL, 0);
}

/* ---- relu ------------------------------------------------------------------------------------ */

/* The normalization whose result, alone or in a sum, is the input of a relu; else NULL. out_other:
 * the other operand of the sum. */
static const fgi_node *norm_before(const fgi_node *relu, const fgi_node **out_other)
{
    const fgi_node *in = input_of(relu, 0);
    *out_other = NULL;
    if (is_local(in, &forward_op, relu))
        return in;
    for (int i = 0; i < 2 && is_local(in, &fgi_add_op, relu); i++)
        if (is_local(input_of(in, i), &forward_op, relu)) {
            *out_other = in->in[1 - i]->first;
            return input_of(in, i);
        }
    return NULL;
}

/* Whether `relu` is that of the normalization whose gradient `backward` is. */
static bool is_relu_of(const fgi_node *relu, const fgi_node *backward)
{
    const fgi_node *other, *norm;
    if (!is_local(relu, &fgi_relu_op, backward))
        return false;
    norm = norm_before(relu, &other);
    for (int i = 0; norm != NULL && i < FGI_BATCH_NORM_INPUTS; i++)
        if (norm->in[i]->first != backward->in[i]->first)
            return false;
    return norm != NULL && other == NULL;
}

static bool follows_norm(const fgi_emit *e)
{
    const fgi_node *other;
    return norm_before(e->node, &other) != NULL;
}

/* ---- selection ------------------------------------------------------------------------------- */

/* Whether the rows of x that count are the first ones. */
static bool has_first_rows(fg_tensor x)
{
    const fgi_rows *rows = fgi_node_of(x)->rows;
    fg_tensor count;
    if (rows == NULL)
        return true;
    for (int i = 1; i < fg_tensor_type(x)->rank; i++)
        if (rows->step[i] != 0)
            return false;
    return rows->step[0] == 1 && fg_tensor_dim(x, 0) == fgi_trace_batch(fg_tensor_trace(x)) &&
           fgi_trace_valid_count(fg_tensor_trace(x), &count);
}

static bool is_large(const fg_tensor *in, int count)
{
    const fg_client *client = fg_tensor_trace(*in)->client;
    const fg_type *x = fg_tensor_type(*in);
    (void)count;
    return (x->dtype == FG_F32 || x->dtype == FG_BF16) && channels_of(x) >= LEAST_CHANNELS &&
           fg_type_count(x) >= LEAST_ELEMENTS && fg_type_count(x) / channels_of(x) <= MOST_ROWS &&
           fgi_client_has_kernels(client) && fgi_client_has_shards(client, x->dim[0]) &&
           has_first_rows(*in);
}

#define KERNEL .platform = FGI_CPU, .rule = "batch-norm-kernel"
const fgi_lowering fgi_statistics_kernel_cpu = {
    .op = &fgi_mean_variance_op, KERNEL, .composes = is_large, .compose = call_statistics};
const fgi_lowering fgi_normalize_cpu = {
    .op = &fgi_normalize_op, KERNEL, .composes = is_large, .compose = call_norm};
const fgi_lowering fgi_normalize_relu_cpu = {
    .op = &fgi_relu_op, KERNEL, .applies = follows_norm, .emit = forward_emit};
