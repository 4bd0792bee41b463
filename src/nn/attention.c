/* attention.c - scaled dot-product attention, and rotary positions.
 *
 * The queries are viewed as [B, T, K, G, D]: K heads of keys and values, each for G heads of
 * queries. Scores and weights are f32[B, K, T, G, S]. The gradient is written in closed form, which
 * needs the weights but not the scores, and one sum over D instead of S.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "base/number.h"
#include <fulgurite/transformer.h>
#include "op/op.h"
#include "trace/graph.h"

typedef struct sizes {
    int64_t batch, queries, keys, kv_heads, group, width; /* B, T, S, K, G, D */
} sizes;

/* ---- masks and biases
 * ------------------------------------------------------------------------- */

/* s32[T, S]: position of the query minus that of the key. */
static fg_tensor distances(fg_trace *trace, const sizes *s, fg_tensor position)
{
    const int64_t dim[] = {s->queries, s->keys};
    const fg_tensor query = fg_iota(trace, FG_S32, 0, 2, dim);
    const fg_tensor first = position.handle != 0
                                ? position
                                : fg_full(trace, FG_S32, (double)(s->keys - s->queries), FG_SCALAR);
    return fg_sub(fg_add(query, first), fg_iota(trace, FG_S32, 1, 2, dim));
}

static fg_tensor both(fg_tensor a, fg_tensor b) { return a.handle != 0 ? fg_and(a, b) : b; }

/* Which keys each query may attend to: bool, broadcast to the scores. Empty: all. */
static fg_tensor allowed(const sizes *s, fg_tensor away, const fg_attention_options *o)
{
    fg_tensor ok = {0};
    if (o->causal)
        ok = fg_ge(away, fgi_full_like(away, 0));
    if (o->window > 0)
        ok = both(ok, fg_lt(fg_abs(away), fgi_full_like(away, (double)o->window)));
    if (ok.handle != 0)
        ok = fg_reshape(ok, FG_DIMS(1, 1, s->queries, 1, s->keys));
    if (o->valid.handle != 0)
        ok = both(ok, fg_reshape(o->valid, FG_DIMS(s->batch, 1, 1, 1, s->keys)));
    if (o->segment.handle != 0)
        ok = both(ok, fg_eq(fg_reshape(o->segment, FG_DIMS(s->batch, 1, s->queries, 1, 1)),
                            fg_reshape(o->segment, FG_DIMS(s->batch, 1, 1, 1, s->keys))));
    return ok;
}

/* For n heads, a power of two: 2^(-8/n), 2^(-16/n), ...; for another number, those of the next
 * smaller power of two, then every second one of the next larger. Source: Press et al. 2022,
 * section 3 and the code published with it. */
static fg_tensor alibi_slopes(fg_trace *trace, const sizes *s)
{
    enum { MOST_HEADS = 1024 };
    float slope[MOST_HEADS];
    const int64_t heads = s->kv_heads * s->group;
    int64_t power = 1;
    if (heads > MOST_HEADS)
        return fgi_trace_fail(trace, FG_EUNSUPPORTED, "attention: ALiBi with %" PRId64 " heads",
                              heads);
    while (2 * power <= heads)
        power *= 2;
    for (int64_t i = 0; i < heads; i++) {
        const double n = (double)power;
        const double step = i < power ? 8 * (double)(i + 1) : 4 * (double)(2 * (i - power) + 1);
        slope[i] = (float)exp2(-step / n);
    }
    const fg_type type = {FG_F32, 5, {1, s->kv_heads, 1, s->group, 1}};
    return fg_constant(trace, &type, slope);
}

/* ---- scores, weights, results
 * ------------------------------------------------------------------ */

/* q k' [B, K, T, G, S] in f32. */
static fg_tensor products(fg_tensor q, fg_tensor k)
{
    const fg_dtype dtype = fg_tensor_type(q)->dtype;
    return fg_dot(q, k,
                  &(fg_dot_options){.batch_count = 2,
                                    .a_batch = {0, 2},
                                    .b_batch = {0, 2},
                                    .contract_count = 1,
                                    .a_contract = {4},
                                    .b_contract = {3},
                                    .result = fgi_is_half(dtype) ? FG_F32 : dtype});
}

/* Contracts the keys: weights [B, K, T, G, S] and v [B, S, K, D] -> [B, K, T, G, D], in the dtype
 * of the weights. */
static fg_tensor weighted(fg_tensor weights, fg_tensor v)
{
    return fg_dot(fg_cast(weights, fg_tensor_type(v)->dtype), v,
                  &(fg_dot_options){.batch_count = 2,
                                    .a_batch = {0, 1},
                                    .b_batch = {0, 2},
                                    .contract_count = 1,
                                    .a_contract = {4},
                                    .b_contract = {1},
                                    .result = fg_tensor_type(weights)->dtype});
}

/* Contracts the queries: weights [B, K, T, G, S] and a [B, K, T, G, D] -> [B, S, K, D]. */
static fg_tensor gathered(fg_tensor weights, fg_tensor a)
{
    const fg_tensor sum = fg_dot(fg_cast(weights, fg_tensor_type(a)->dtype), a,
                                 &(fg_dot_options){.batch_count = 2,
                                                   .a_batch = {0, 1},
                                                   .b_batch = {0, 1},
                                                   .contract_count = 2,
                                                   .a_contract = {2, 3},
                                                   .b_contract = {2, 3}});
    return fg_permute(sum, (const int[]){0, 2, 1, 3});
}

/* Inputs of the operation below. Its value is that of the result, f32[B, K, T, G, D]; its
 * derivative by q, k and v includes the path through the weights. FACTOR is what dropout multiplies
 * them by. */
enum { RESULT, Q, K, V, WEIGHTS, FACTOR };

typedef struct attention_attr {
    double scale;
} attention_attr;

static bool attention_infer(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[RESULT]->dtype, c->in[RESULT]->rank, c->in[RESULT]->dim);
}

static bool attention_rows(fgi_infer *c)
{
    if (c->in_rows[RESULT] != NULL)
        c->rows = *c->in_rows[RESULT];
    return true;
}

/* With o = p v, p = softmax(s): ds = p (dp - sum(do o)), because sum(dp p) = sum(do o). Source: Dao
 * et al. 2022, "FlashAttention", appendix B. */
static void attention_vjp(fgi_vjp *v)
{
    const fg_tensor *in = v->in, p = in[WEIGHTS];
    const fg_dtype dtype = fg_tensor_type(in[V])->dtype;
    const fg_tensor dout = fg_cast(v->dout, dtype);
    const double scale = ((const attention_attr *)v->attr)->scale;
    const bool drops = v->arity > FACTOR;
    if (v->need[V])
        v->din[V] = gathered(drops ? fg_mul(p, in[FACTOR]) : p, dout);
    if (!v->need[Q] && !v->need[K])
        return;
    const int last = 4;
    const fg_tensor shared = fg_sum(fg_mul(v->dout, v->out), 1, &last);
    const fg_tensor grouped = fg_permute(dout, (const int[]){0, 2, 1, 3, 4});
    fg_tensor dp = products(grouped, in[V]);
    if (drops)
        dp = fg_mul(dp, in[FACTOR]);
    const fg_tensor ds = fg_mul_scalar(
        fg_mul(p, fg_sub(dp, fgi_expand(shared, 1, &last, fg_tensor_type(p)))), scale);
    if (v->need[Q])
        v->din[Q] = fg_cast(fg_permute(weighted(ds, in[K]), (const int[]){0, 2, 1, 3, 4}), dtype);
    if (v->need[K])
        v->din[K] = gathered(ds, fg_permute(in[Q], (const int[]){0, 2, 1, 3, 4}));
}

static const fgi_op attention_op = {.name = "attention",
                                    .arity = -1,
                                    .infer = attention_infer,
                                    .rows = attention_rows,
                                    .vjp = attention_vjp};

/* softmax(scale q k' + bias) v: [B, K, T, G, D]. */
static fg_tensor attend(const sizes *s, fg_tensor q, fg_tensor k, fg_tensor v,
                        const fg_attention_options *o)
{
    fg_trace *trace = fg_tensor_trace(q);
    const fg_tensor away = distances(trace, s, o->position);
    fg_tensor scores = fg_mul_scalar(products(q, k), o->scale);
    const fg_type *type = fg_tensor_type(scores);
    if (o->alibi) {
        const fg_tensor far =
            fg_reshape(fg_cast(fg_abs(away), FG_F32), FG_DIMS(1, 1, s->queries, 1, s->keys));
        scores = fg_sub(scores, fg_cast(fg_mul(far, alibi_slopes(trace, s)), type->dtype));
    }
    const fg_tensor ok = allowed(s, away, o);
    if (ok.handle != 0) /* finite: a query without keys has no NaN */
        scores = fg_where(fg_broadcast_to(ok, type->rank, type->dim), scores,
                          fgi_full_like(scores, -1e30));
    const fg_tensor weights = fg_softmax(scores);
    fg_tensor in[] = {v, q, k, v, weights, weights};
    if (o->dropout > 0 && fg_trace_training(trace)) {
        in[FACTOR] = fg_dropout(fgi_full_like(weights, 1), o->dropout);
        in[RESULT] = weighted(fg_mul(weights, in[FACTOR]), v);
        return fgi_apply(&attention_op, in, 6, &(attention_attr){o->scale}, sizeof(attention_attr));
    }
    in[RESULT] = weighted(weights, v);
    return fgi_apply(&attention_op, in, FACTOR, &(attention_attr){o->scale},
                     sizeof(attention_attr));
}

/* ---- public functions
 * -------------------------------------------------------------------------- */

/* Whether a, unless it is empty, has this type. */
static bool matches(fg_tensor a, fg_dtype dtype, int rank, const int64_t *dim)
{
    if (a.handle == 0)
        return true;
    const fg_type *type = fg_tensor_type(a);
    bool is_equal = type->dtype == dtype && type->rank == rank;
    for (int i = 0; is_equal && i < rank; i++)
        is_equal = type->dim[i] == dim[i];
    return is_equal;
}

static bool check(const fg_type *q, const fg_type *k, const fg_type *v,
                  const fg_attention_options *o)
{
    const bool has_shape = q->rank == 4 && k->rank == 4 && q->dtype == k->dtype &&
                           q->dtype == v->dtype && fg_dtype_is_float(q->dtype) &&
                           fgi_same_shape(k, v) && q->dim[0] == k->dim[0] &&
                           q->dim[3] == k->dim[3] && k->dim[2] > 0 && q->dim[2] % k->dim[2] == 0;
    return has_shape && matches(o->valid, FG_BOOL, 2, k->dim) &&
           matches(o->segment, FG_S32, 2, k->dim) &&
           (o->segment.handle == 0 || q->dim[1] == k->dim[1]) &&
           matches(o->position, FG_S32, 0, NULL);
}

fg_tensor fg_attention(fg_tensor q, fg_tensor k, fg_tensor v, const fg_attention_options *options)
{
    fg_trace *trace = fg_tensor_trace(q);
    fg_attention_options o = options != NULL ? *options : (fg_attention_options){0};
    char text[3][96];
    if (fgi_is_poison(q) || fgi_is_poison(k) || fgi_is_poison(v) ||
        !fgi_trace_check_reserved(trace, FGI_RESERVED(fg_attention_options, options)))
        return fgi_poison(trace);
    const fg_type *type = fg_tensor_type(q), *keys = fg_tensor_type(k);
    if (!check(type, keys, fg_tensor_type(v), &o))
        return fgi_trace_fail(trace, FG_ESHAPE,
                              "attention(%s, %s, %s): expected T[B,T,H,D] and twice T[B,S,K,D], "
                              "where K divides H; valid bool[B,S], segment s32[B,T] with T = S, "
                              "position s32[]",
                              fg_type_format(type, text[0], sizeof text[0]),
                              fg_type_format(keys, text[1], sizeof text[1]),
                              fg_type_format(fg_tensor_type(v), text[2], sizeof text[2]));
    if (o.window < 0 || !(o.dropout >= 0 && o.dropout < 1))
        return fgi_trace_fail(trace, FG_EINVAL,
                              "attention: window is %" PRId64
                              " and dropout %g: expected at least 0, "
                              "and dropout below 1",
                              o.window, o.dropout);
    const sizes s = {
        type->dim[0], type->dim[1], keys->dim[1], keys->dim[2], type->dim[2] / keys->dim[2],
        type->dim[3]};
    const fg_type whole = *type;
    o.scale = o.scale != 0 ? o.scale : 1 / sqrt((double)s.width);
    q = fg_reshape(q, FG_DIMS(s.batch, s.queries, s.kv_heads, s.group, s.width));
    const fg_tensor y = fg_cast(attend(&s, q, k, v, &o), whole.dtype);
    return fgi_reshape_to(fg_permute(y, (const int[]){0, 2, 1, 3, 4}), &whole);
}

/* cos or sin of the angles, in both halves: f32[1, T, 1, D]. */
static fg_tensor circle(fg_tensor angle, fg_tensor (*f)(fg_tensor))
{
    const fg_tensor half = f(angle);
    return fg_concat((const fg_tensor[]){half, half}, 2, 3);
}

fg_tensor fg_rotary(fg_tensor x, double base, fg_tensor position)
{
    fg_trace *trace = fg_tensor_trace(x);
    char text[96];
    if (fgi_is_poison(x))
        return x;
    const fg_type *type = fg_tensor_type(x);
    if (type->rank != 4 || type->dim[3] % 2 != 0 || !fg_dtype_is_float(type->dtype) ||
        !(base > 0) || !matches(position, FG_S32, 0, NULL))
        return fgi_trace_fail(
            trace, FG_ESHAPE,
            "rotary(%s, %g): expected T[B,T,H,D] with even D, a positive base, and "
            "the position s32[]",
            fg_type_format(type, text, sizeof text), base);
    const int64_t half = type->dim[3] / 2, angles[] = {1, type->dim[1], 1, half};
    fg_tensor at = fg_iota(trace, FG_F32, 1, 4, angles);
    if (position.handle != 0)
        at = fg_add(at, fg_cast(position, FG_F32));
    const fg_tensor index = fg_iota(trace, FG_F32, 3, 4, angles);
    const fg_tensor angle = fg_mul(at, fg_exp(fg_mul_scalar(index, -log(base) / (double)half)));
    const int64_t low[4] = {0}, middle[] = {type->dim[0], type->dim[1], type->dim[2], half};
    const int64_t start[] = {0, 0, 0, half};
    const fg_tensor wide = fg_cast(x, type->dtype == FG_F64 ? FG_F64 : FG_F32);
    const fg_tensor parts[] = {fg_neg(fg_slice(wide, start, type->dim, NULL)),
                               fg_slice(wide, low, middle, NULL)};
    const fg_dtype dtype = fg_tensor_type(wide)->dtype;
    const fg_tensor straight = fg_mul(wide, fg_cast(circle(angle, fg_cos), dtype));
    const fg_tensor across = fg_mul(fg_concat(parts, 2, 3), fg_cast(circle(angle, fg_sin), dtype));
    return fg_cast(fg_add(straight, across), type->dtype);
}
