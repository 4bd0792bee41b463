/* attention_cpu.c - attention by kernels (src/kernel/kernel_attention.c), which keep no scores: a
 * step of a GPT writes and reads each of its f32[B, heads, T, T] a dozen times otherwise.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernel/kernel.h"
#include "op/composite.h"
#include "op/kernel_call.h"
#include "op/lowerings.h"
#include "trace/trace.h"

/* Multiplications below which the backend is as fast; numbers of a head's keys, for the memory. */
enum { LEAST_MULTIPLICATIONS = 1 << 18, MOST_NUMBERS = 1 << 20 };

/* Inputs of the operations: PARTS tensors q T[B, T, K, G, D], k and v T[B, S, K, D], or one that
 * they are slices of, T[B, T, (K G + 2 K) D]; scale f32[]; for the gradient also what the first one
 * made, and the derivative by its result. */
enum { Q, K, V, PARTS };
enum { SCALE, O, LSE, DOUT, OTHERS };
enum { FORWARD = O, MOST_IN = PARTS + OTHERS };

typedef struct attention_attr {
    int64_t is_causal, parts; /* 1 or PARTS */
    int64_t kv_heads, group, width;
} attention_attr;

/* Where one of the OTHERS is. */
static int place_of(const attention_attr *attr, int which) { return (int)attr->parts + which; }

static bool is_forward(int arity, const attention_attr *attr)
{
    return arity == place_of(attr, FORWARD);
}

static int result_count(int arity, const attention_attr *attr)
{
    return is_forward(arity, attr) ? 2 : (int)attr->parts;
}

static bool infer(fgi_infer *c)
{
    const attention_attr *attr = c->attr;
    const int count = result_count(c->arity, attr);
    const int64_t batch = c->in[0]->dim[0], queries = c->in[0]->dim[1];
    if (!fgi_infer_results(c, count))
        return false;
    for (int i = 0; i < count; i++)
        c->results->type[i] = *c->in[i];
    if (!is_forward(c->arity, attr))
        return true;
    c->results->type[0] =
        (fg_type){c->in[0]->dtype, 5, {batch, queries, attr->kv_heads, attr->group, attr->width}};
    c->results->type[1] = (fg_type){FG_F32, 3, {batch, attr->kv_heads * attr->group, queries}};
    return true;
}

/* Samples are independent of each other. */
static bool rows_of_first(fgi_infer *c)
{
    const int count = result_count(c->arity, c->attr);
    for (int i = 0; i < count && c->in_rows[0] != NULL; i++)
        if (!fgi_rows_of_result(c, i, c->in_rows[0]))
            return false;
    return true;
}

static fgi_kernel_attention_numbers numbers_of(const fgi_node *node)
{
    const attention_attr *attr = node->attr;
    const fg_type *first = &node->in[0]->type, *k = &node->in[attr->parts == 1 ? 0 : K]->type;
    const int products = is_forward(node->arity, attr) ? 2 : 4;
    fgi_kernel_attention_numbers n = {0,           first->dim[0],  first->dim[1],
                                      k->dim[1],   attr->kv_heads, attr->group,
                                      attr->width, attr->is_causal};
    n.flops = 2 * products * n.batch * n.queries * n.keys * n.kv_heads * n.group * n.width;
    return n;
}

/* For the samples of a device. */
static void call_kernel(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    static const char *const names[][2] = {
        {FGI_KERNEL_ATTENTION_DX, FGI_KERNEL_ATTENTION},
        {FGI_KERNEL_ATTENTION_PACKED_DX, FGI_KERNEL_ATTENTION_PACKED}};
    const fgi_node *node = e->node;
    const attention_attr *attr = node->attr;
    const int count = result_count(node->arity, attr);
    fgi_kernel_attention_numbers n = numbers_of(node);
    n.flops /= e->batch_shards;
    n.batch /= e->batch_shards;
    for (int i = 0; i < count; i++)
        out[i] = fgi_build_value(&e->b, &out[i].type);
    fgi_emit_kernel(e, &(fgi_kernel_call){names[attr->parts == 1][is_forward(node->arity, attr)],
                                          node->arity, count, in, out, sizeof n, &n});
}

static void emit(fgi_emit *e)
{
    static const fgi_shard_kind by_rows[MOST_IN] = {
        FGI_BY_ROWS, FGI_BY_ROWS, FGI_BY_ROWS, FGI_BY_ROWS, FGI_BY_ROWS, FGI_BY_ROWS, FGI_BY_ROWS};
    fgi_shard_kind kind[MOST_IN];
    memcpy(kind, by_rows, sizeof kind);
    kind[place_of(e->node->attr, SCALE)] = FGI_WHOLE;
    fgi_emit_node_of_shards(e, kind, result_count(e->node->arity, e->node->attr), by_rows,
                            call_kernel);
}

/* ---- gradients ------------------------------------------------------------------------------- */

static fg_tensor einsum(const char *equation, fg_tensor a, fg_tensor b)
{
    return fg_einsum(equation, (const fg_tensor[]){a, b}, 2);
}

/* Which keys each query sees: bool[T, S]. */
static fg_tensor seen(fg_trace *trace, int64_t queries, int64_t keys)
{
    const int64_t dim[] = {queries, keys};
    const fg_tensor query = fg_iota(trace, FG_S32, 0, 2, dim),
                    key = fg_iota(trace, FG_S32, 1, 2, dim);
    return fg_le(key, fg_add_scalar(query, (double)(keys - queries)));
}

/* Derivatives by q, k and v as one by what they are slices of. */
static fg_tensor joined(const fg_tensor *d)
{
    fg_tensor flat[PARTS];
    for (int i = 0; i < PARTS; i++) {
        const fg_type *type = fg_tensor_type(d[i]);
        const int64_t each = fg_type_count(type) / type->dim[0] / type->dim[1];
        flat[i] = fg_reshape(d[i], FG_DIMS(type->dim[0], type->dim[1], each));
    }
    return fg_concat(flat, PARTS, 2);
}

/* q, k and v. */
static void part(const fg_tensor *in, const attention_attr *attr, fg_tensor out[PARTS])
{
    const fg_type *type = fg_tensor_type(in[0]);
    const int64_t heads[] = {attr->kv_heads * attr->group, attr->kv_heads, attr->kv_heads};
    int64_t start[] = {0, 0, 0}, end[] = {type->dim[0], type->dim[1], 0};
    for (int i = 0; i < PARTS; i++) {
        if (attr->parts > 1) {
            out[i] = in[i];
            continue;
        }
        start[2] = end[2];
        end[2] += heads[i] * attr->width;
        const int64_t dim[] = {end[0], end[1], attr->kv_heads, i == Q ? attr->group : attr->width,
                               attr->width};
        out[i] = fg_reshape(fg_slice(in[0], start, end, NULL), i == Q ? 5 : 4, dim);
    }
}

/* dq, dk and dv in closed form, from q, k, v, scale and dout, in f32. Source: Dao et al. 2022,
 * appendix B. */
static void closed_form(const fg_tensor *of, fg_tensor scale, fg_tensor dout, bool is_causal,
                        fg_tensor *out)
{
    const fg_tensor q = fgi_upcast(of[Q]), k = fgi_upcast(of[K]), v = fgi_upcast(of[V]);
    const int last = 4;
    fg_tensor score = fg_mul(einsum("btkgd,bskd->bkgts", q, k), scale);
    const fg_type *type = fg_tensor_type(score);
    if (is_causal)
        score = fg_where(
            fg_broadcast_to(seen(fg_tensor_trace(q), type->dim[3], type->dim[4]), 5, type->dim),
            score, fgi_full_like(score, -1e30));
    const fg_tensor p = fg_softmax(score), dp = einsum("btkgd,bskd->bkgts", dout, v);
    const fg_tensor shared = fgi_expand(fg_sum(fg_mul(p, dp), 1, &last), 1, &last, type);
    const fg_tensor ds = fg_mul(fg_mul(p, fg_sub(dp, shared)), scale);
    out[Q] = einsum("bkgts,bskd->btkgd", ds, k);
    out[K] = einsum("bkgts,btkgd->bskd", ds, q);
    out[V] = einsum("bkgts,btkgd->bskd", p, dout);
}

/* Of the closed form. */
static void backward_vjp(fgi_vjp *v)
{
    const attention_attr *attr = v->attr;
    const int parts = (int)attr->parts, at_dout = place_of(attr, DOUT);
    fg_tensor of[PARTS], made[PARTS], dof[PARTS] = {{0}}, din[PARTS + 1];
    fgi_node *by[PARTS], *wrt[PARTS + 1];
    part(v->in, attr, of);
    closed_form(of, v->in[place_of(attr, SCALE)], fgi_upcast(v->in[at_dout]), attr->is_causal != 0,
                made);
    if (parts == 1)
        made[0] = joined(made);
    for (int i = 0; i < parts; i++) {
        by[i] = fgi_node_of(made[i]);
        wrt[i] = fgi_node_of(v->in[i]);
        if (v->douts[i].handle != 0)
            dof[i] = fgi_upcast(v->douts[i]);
    }
    wrt[parts] = fgi_node_of(v->in[at_dout]);
    fgi_grad_path(fg_tensor_trace(v->out), &(fgi_path){by, dof, parts, wrt, parts + 1}, din);
    for (int i = 0; i < parts; i++)
        v->din[i] = din[i];
    v->din[at_dout] = din[parts];
}

static const fgi_op backward_op = {.name = "attention_dx",
                                   .arity = -1,
                                   .infer = infer,
                                   .rows = rows_of_first,
                                   .emit = emit,
                                   .vjp = backward_vjp};

static const fgi_op forward_op = {
    .name = "attention", .arity = -1, .infer = infer, .rows = rows_of_first, .emit = emit};

/* Its inputs are o, which its value is that of, and those of the gradient without o and the
 * derivative by it. Nothing is emitted. */
static bool result_infer(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

static bool result_rows(fgi_infer *c)
{
    if (c->in_rows[0] != NULL)
        c->rows = *c->in_rows[0];
    return true;
}

static void result_vjp(fgi_vjp *v)
{
    const attention_attr *attr = v->attr;
    const int parts = (int)attr->parts, count = place_of(attr, OTHERS);
    fg_tensor in[MOST_IN], out[PARTS];
    for (int i = 0; i <= parts; i++) /* and the scale */
        in[i] = v->in[1 + i];
    in[place_of(attr, O)] = v->in[0];
    in[place_of(attr, LSE)] = v->in[2 + parts];
    in[place_of(attr, DOUT)] = v->dout;
    fgi_apply_results(&backward_op, &(fgi_operands){in, count, attr, sizeof *attr}, out, parts);
    for (int i = 0; i < parts; i++)
        v->din[1 + i] = out[i];
}

static const fgi_op result_op = {.name = "attention_result",
                                 .arity = -1,
                                 .infer = result_infer,
                                 .rows = result_rows,
                                 .vjp = result_vjp};

/* ---- selection ------------------------------------------------------------------------------- */

static bool is_fast(const fg_tensor *in, int count)
{
    const fg_client *client = fg_tensor_trace(in[0])->client;
    const fg_type *q = fg_tensor_type(in[FGI_ATTENTION_Q]);
    const fg_type *k = fg_tensor_type(in[FGI_ATTENTION_K]);
    const double each = (double)fg_type_count(q) * (double)k->dim[1];
    (void)count;
    return fgi_client_has_kernels(client) && fgi_client_has_shards(client, q->dim[0]) &&
           (q->dtype == FG_F32 || q->dtype == FG_BF16) && q->dim[1] <= k->dim[1] &&
           each >= LEAST_MULTIPLICATIONS && k->dim[1] * k->dim[3] <= MOST_NUMBERS;
}

/* The last of five inputs is what queries, keys and values are slices of. */
static fg_tensor call(const fg_tensor *in, int count, int64_t is_causal)
{
    const bool is_packed = count > FGI_ATTENTION_PACKED;
    const fg_type *q = fg_tensor_type(in[FGI_ATTENTION_Q]);
    const attention_attr attr = {is_causal, is_packed ? 1 : PARTS, q->dim[2], q->dim[3], q->dim[4]};
    const int parts = (int)attr.parts;
    fg_tensor all[1 + MOST_IN], out[2]; /* after o, the forward operation's */
    for (int i = 0; i < parts; i++)
        all[1 + i] = is_packed ? in[FGI_ATTENTION_PACKED] : in[i];
    all[1 + parts] = in[FGI_ATTENTION_SCALE];
    fgi_apply_results(&forward_op, &(fgi_operands){all + 1, parts + 1, &attr, sizeof attr}, out, 2);
    all[0] = out[0];
    all[2 + parts] = out[1];
    return fgi_apply(&result_op, all, parts + 3, &attr, sizeof attr);
}

static void call_plain(const fg_tensor *in, int count, fg_tensor *out)
{
    *out = call(in, count, 0);
}

static void call_causal(const fg_tensor *in, int count, fg_tensor *out)
{
    *out = call(in, count, 1);
}

#define KERNEL .platform = FGI_CPU, .rule = "attention-kernel", .composes = is_fast
const fgi_lowering fgi_attention_cpu = {.op = &fgi_attention_op, KERNEL, .compose = call_plain};
const fgi_lowering fgi_causal_attention_cpu = {
    .op = &fgi_causal_attention_op, KERNEL, .compose = call_causal};

/* Without a kernel. */
static void refuse(const fg_tensor *in, int count, fg_tensor *out)
{
    (void)in, (void)count;
    *out = (fg_tensor){0};
}

const fgi_op fgi_attention_op = {.name = "attention", .compose = refuse};
const fgi_op fgi_causal_attention_op = {.name = "causal_attention", .compose = refuse};
