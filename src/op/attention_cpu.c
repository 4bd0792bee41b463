/* attention_cpu.c - attention by kernels (src/kernel/kernel_attention.c), which keep no scores: a
 * step of a GPT writes and reads each of its f32[B, heads, T, T] a dozen times otherwise.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "hlo/mlir.h"
#include "kernel/kernel.h"
#include "op/composite.h"
#include "op/lowerings.h"
#include "trace/trace.h"

/* Inputs of the operations: q T[B, T, K, G, D], k and v T[B, S, K, D], scale f32[]; for the
 * gradient also what the first one made, and the derivative by its result. */
enum { Q, K, V, SCALE, FORWARD, O = FORWARD, LSE, DOUT, BACKWARD };

/* Multiplications below which the backend is as fast; numbers of a head's keys, for the memory. */
enum { LEAST_MULTIPLICATIONS = 1 << 18, MOST_NUMBERS = 1 << 20 };

typedef struct attention_attr {
    int64_t is_causal;
} attention_attr;

static fgi_kernel_attention_numbers numbers_of(const fg_type *q, const fg_type *k, int products,
                                               int64_t is_causal)
{
    fgi_kernel_attention_numbers n = {0,         q->dim[0], q->dim[1], k->dim[1],
                                      k->dim[2], q->dim[3], q->dim[4], is_causal};
    n.flops = 2 * products * n.batch * n.queries * n.keys * n.kv_heads * n.group * n.width;
    return n;
}

static bool forward_infer(fgi_infer *c)
{
    const fg_type *q = c->in[Q];
    if (!fgi_infer_results(c, 2))
        return false;
    c->results->type[0] = *q;
    c->results->type[1] = (fg_type){FG_F32, 3, {q->dim[0], q->dim[2] * q->dim[3], q->dim[1]}};
    return true;
}

static bool backward_infer(fgi_infer *c)
{
    if (!fgi_infer_results(c, 3))
        return false;
    for (int i = Q; i <= V; i++)
        c->results->type[i] = *c->in[i];
    return true;
}

/* Samples are independent of each other. */
static bool rows_of_q(fgi_infer *c)
{
    const int count = c->arity == FORWARD ? 2 : 3;
    for (int i = 0; i < count && c->in_rows[Q] != NULL; i++)
        if (!fgi_rows_of_result(c, i, c->in_rows[Q]))
            return false;
    return true;
}

static void emit(fgi_emit *e)
{
    const fgi_node *node = e->node;
    const bool is_forward = node->arity == FORWARD;
    const fgi_kernel_attention_numbers numbers =
        numbers_of(&node->in[Q]->type, &node->in[K]->type, is_forward ? 2 : 4,
                   ((const attention_attr *)node->attr)->is_causal);
    fgi_value in[BACKWARD], out[3];
    fgi_buf text = {0};
    for (int i = 0; i < node->arity; i++)
        in[i] = fgi_emit_in(e, i);
    for (int i = 0; i < (is_forward ? 2 : 3); i++)
        out[i] = fgi_emit_result_at(e, i);
    fgi_buf_printf(&text,
                   "call_target_name = \"%s\", api_version = 4 : i32, backend_config = {%s = "
                   "%" PRId64 " : i64, %s = ",
                   is_forward ? FGI_KERNEL_ATTENTION : FGI_KERNEL_ATTENTION_DX, FGI_KERNEL_CALL,
                   fgi_emit_call(e), FGI_KERNEL_NUMBERS);
    fgi_mlir_array(&text, sizeof numbers / sizeof(int64_t), (const int64_t *)&numbers);
    fgi_buf_putc(&text, '}');
    if (text.failed)
        e->b.out->failed = true;
    else
        fgi_build_results(&e->b, is_forward ? 2 : 3, out,
                          &(fgi_operation){"custom_call", text.data, node->arity, in});
    fgi_buf_fini(&text);
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

/* dq, dk and dv in closed form, from q, k, v, scale and dout, in f32. Source: Dao et al. 2022,
 * appendix B. */
static void closed_form(const fg_tensor *in, fg_tensor dout, bool is_causal, fg_tensor *out)
{
    const fg_tensor q = fgi_upcast(in[Q]), k = fgi_upcast(in[K]), v = fgi_upcast(in[V]);
    const int last = 4;
    fg_tensor score = fg_mul(einsum("btkgd,bskd->bkgts", q, k), in[SCALE]);
    const fg_type *type = fg_tensor_type(score);
    if (is_causal)
        score = fg_where(
            fg_broadcast_to(seen(fg_tensor_trace(q), type->dim[3], type->dim[4]), 5, type->dim),
            score, fgi_full_like(score, -1e30));
    const fg_tensor p = fg_softmax(score), dp = einsum("btkgd,bskd->bkgts", dout, v);
    const fg_tensor shared = fgi_expand(fg_sum(fg_mul(p, dp), 1, &last), 1, &last, type);
    const fg_tensor ds = fg_mul(fg_mul(p, fg_sub(dp, shared)), in[SCALE]);
    out[Q] = einsum("bkgts,bskd->btkgd", ds, k);
    out[K] = einsum("bkgts,btkgd->bskd", ds, q);
    out[V] = einsum("bkgts,btkgd->bskd", p, dout);
}

/* Of the closed form. */
static void backward_vjp(fgi_vjp *v)
{
    static const int by[] = {Q, K, V, DOUT};
    enum { COUNT = sizeof by / sizeof by[0] };
    fg_tensor made[3], dof[3] = {{0}}, din[COUNT];
    fgi_node *of[3], *wrt[COUNT];
    closed_form(v->in, fgi_upcast(v->in[DOUT]), ((const attention_attr *)v->attr)->is_causal != 0,
                made);
    for (int i = 0; i < 3; i++) {
        of[i] = fgi_node_of(made[i]);
        if (v->douts[i].handle != 0)
            dof[i] = fgi_upcast(v->douts[i]);
    }
    for (int i = 0; i < COUNT; i++)
        wrt[i] = fgi_node_of(v->in[by[i]]);
    fgi_grad_path(fg_tensor_trace(v->out), &(fgi_path){of, dof, 3, wrt, COUNT}, din);
    for (int i = 0; i < COUNT; i++)
        v->din[by[i]] = din[i];
}

static const fgi_op backward_op = {.name = "attention_dx",
                                   .arity = BACKWARD,
                                   .infer = backward_infer,
                                   .rows = rows_of_q,
                                   .emit = emit,
                                   .vjp = backward_vjp};

static const fgi_op forward_op = {
    .name = "attention", .arity = FORWARD, .infer = forward_infer, .rows = rows_of_q, .emit = emit};

/* Its inputs are those of the gradient, with the result in place of the derivative by it; its value
 * is that of o. Nothing is emitted. */
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
    /* o is first in the node's inputs */
    const fg_tensor in[BACKWARD] = {v->in[1 + Q], v->in[1 + K], v->in[1 + V], v->in[1 + SCALE],
                                    v->in[0],     v->in[LSE],   v->dout};
    fg_tensor out[3];
    fgi_apply_results(&backward_op, &(fgi_operands){in, BACKWARD, v->attr, sizeof(attention_attr)},
                      out, 3);
    for (int i = Q; i <= V; i++)
        v->din[1 + i] = out[i];
}

static const fgi_op result_op = {.name = "attention_result",
                                 .arity = DOUT,
                                 .infer = result_infer,
                                 .rows = result_rows,
                                 .vjp = result_vjp};

/* ---- selection ------------------------------------------------------------------------------- */

static bool is_fast(const fg_tensor *in, int count)
{
    const fg_client *client = fg_tensor_trace(in[Q])->client;
    const fg_type *q = fg_tensor_type(in[Q]), *k = fg_tensor_type(in[K]);
    const double each = (double)fg_type_count(q) * (double)k->dim[1];
    (void)count;
    return fgi_client_has_kernels(client) && fg_client_info_of(client)->device_count == 1 &&
           (q->dtype == FG_F32 ||
            (q->dtype == FG_BF16 && fgi_kernel_half() != FGI_KERNEL_HALF_TILES)) &&
           q->dim[1] <= k->dim[1] && each >= LEAST_MULTIPLICATIONS &&
           k->dim[1] * k->dim[3] <= MOST_NUMBERS;
}

static void call(const fg_tensor *in, attention_attr attr, fg_tensor *y)
{
    fg_tensor out[2];
    fgi_apply_results(&forward_op, &(fgi_operands){in, FORWARD, &attr, sizeof attr}, out, 2);
    const fg_tensor all[] = {out[0], in[Q], in[K], in[V], in[SCALE], out[1]};
    *y = fgi_apply(&result_op, all, DOUT, &attr, sizeof attr);
}

static void call_plain(const fg_tensor *in, int count, fg_tensor *out)
{
    (void)count;
    call(in, (attention_attr){0}, out);
}

static void call_causal(const fg_tensor *in, int count, fg_tensor *out)
{
    (void)count;
    call(in, (attention_attr){1}, out);
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
