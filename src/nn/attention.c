/* attention.c - scaled dot-product attention, and rotary positions.
 *
 * The queries are viewed as [B, T, K, G, D]: K heads of keys and values, each for G heads of
 * queries. Scores and weights are f32[B, K, T, G, S]. The gradient is written in closed form, which
 * needs the weights but not the scores, and one sum over D instead of S. With chunks of queries, a
 * loop computes those of one chunk, and its gradient computes them again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "nn/layer.h"
#include "op/composite.h"
#include "trace/lowering.h"

typedef struct sizes {
    int64_t batch, queries, keys, kv_heads, group, width; /* B, T, S, K, G, D */
} sizes;

/* ---- masks and biases
 * ------------------------------------------------------------------------- */

static fg_tensor first_position(fg_trace *trace, const sizes *s, const fg_attention_options *o)
{
    return o->position.handle != 0
               ? o->position
               : fg_full(trace, FG_S32, (double)(s->keys - s->queries), FG_SCALAR);
}

/* s32[T, S]: position of the query minus that of the key. */
static fg_tensor distances(fg_trace *trace, const sizes *s, const fg_attention_options *o)
{
    const int64_t dim[] = {s->queries, s->keys};
    const fg_tensor query = fg_add(fg_iota(trace, FG_S32, 0, 2, dim), first_position(trace, s, o));
    return fg_sub(query, fg_iota(trace, FG_S32, 1, 2, dim));
}

static fg_tensor both(fg_tensor a, fg_tensor b) { return a.handle != 0 ? fg_and(a, b) : b; }

/* Which keys each query may attend to: bool, broadcast to the scores. Empty: all. */
static fg_tensor allowed(const sizes *s, fg_tensor away, fg_tensor query_segment,
                         const fg_attention_options *o)
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
        ok = both(ok, fg_eq(fg_reshape(query_segment, FG_DIMS(s->batch, 1, s->queries, 1, 1)),
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
 * of v. */
static fg_tensor weighted(fg_tensor weights, fg_tensor v)
{
    return fg_dot(fg_cast(weights, fg_tensor_type(v)->dtype), v,
                  &(fg_dot_options){.batch_count = 2,
                                    .a_batch = {0, 1},
                                    .b_batch = {0, 2},
                                    .contract_count = 1,
                                    .a_contract = {4},
                                    .b_contract = {1}});
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

/* Inputs of the operation below. Its value is that of the result, T[B, K, T, G, D]; its
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
 * et al. 2022, "FlashAttention", appendix B. Otherwise o is only an operand of the output
 * projection, so it is stored as that reads it. */
static void attention_vjp(fgi_vjp *v)
{
    const fg_tensor *in = v->in, p = in[WEIGHTS];
    const fg_tensor dout = v->dout;
    const double scale = ((const attention_attr *)v->attr)->scale;
    const bool drops = v->arity > FACTOR;
    if (v->need[V])
        v->din[V] = gathered(drops ? fg_mul(p, in[FACTOR]) : p, dout);
    if (!v->need[Q] && !v->need[K])
        return;
    const int last = 4;
    const fg_tensor shared = fg_sum(fg_mul(fgi_as_operand(dout), fgi_as_operand(v->out)), 1, &last);
    const fg_tensor grouped = fg_permute(dout, (const int[]){0, 2, 1, 3, 4});
    fg_tensor dp = products(grouped, in[V]);
    if (drops)
        dp = fg_mul(dp, in[FACTOR]);
    const fg_tensor ds = fg_mul_scalar(
        fg_mul(p, fg_sub(dp, fgi_expand(shared, 1, &last, fg_tensor_type(p)))), scale);
    if (v->need[Q])
        v->din[Q] = fg_permute(weighted(ds, in[K]), (const int[]){0, 2, 1, 3, 4});
    if (v->need[K])
        v->din[K] = gathered(ds, fg_permute(in[Q], (const int[]){0, 2, 1, 3, 4}));
}

static const fgi_op attention_op = {.name = "attention",
                                    .arity = -1,
                                    .infer = attention_infer,
                                    .rows = attention_rows,
                                    .vjp = attention_vjp};

/* By a kernel of the platform, or empty. packed: what q, k and v are slices of, or empty. */
static fg_tensor by_kernel(fg_tensor q, fg_tensor k, fg_tensor v, fg_tensor packed,
                           const fg_attention_options *o)
{
    fg_trace *trace = fg_tensor_trace(q);
    fg_tensor out = {0};
    if (o->alibi || o->window > 0 || o->valid.handle != 0 || o->segment.handle != 0 ||
        o->position.handle != 0 || (o->dropout > 0 && fg_trace_training(trace)))
        return out;
    const fg_tensor in[] = {q, k, v, fg_full(trace, FG_F32, o->scale, FG_SCALAR), packed};
    fgi_compose(o->causal ? &fgi_causal_attention_op : &fgi_attention_op, in,
                packed.handle != 0 ? 5 : 4, &out);
    return out;
}

/* softmax(scale q k' + bias) v: T[B, T, K, G, D], like q. */
static fg_tensor attend(const sizes *s, fg_tensor q, fg_tensor query_segment, fg_tensor k,
                        fg_tensor v, const fg_attention_options *o)
{
    fg_trace *trace = fg_tensor_trace(q);
    const fg_tensor away = distances(trace, s, o);
    fg_tensor scores = fg_mul_scalar(products(q, k), o->scale);
    const fg_type *type = fg_tensor_type(scores);
    if (o->alibi) {
        const fg_tensor far =
            fg_reshape(fg_cast(fg_abs(away), FG_F32), FG_DIMS(1, 1, s->queries, 1, s->keys));
        scores = fg_sub(scores, fg_cast(fg_mul(far, alibi_slopes(trace, s)), type->dtype));
    }
    const fg_tensor ok = allowed(s, away, query_segment, o);
    if (ok.handle != 0) /* finite: a query without keys has no NaN */
        scores = fg_where(fg_broadcast_to(ok, type->rank, type->dim), scores,
                          fgi_full_like(scores, -1e30));
    const fg_tensor weights = fg_softmax(scores);
    fg_tensor in[] = {v, q, k, v, weights, weights};
    const bool drops = o->dropout > 0 && fg_trace_training(trace);
    if (drops)
        in[FACTOR] = fg_dropout(fgi_full_like(weights, 1), o->dropout);
    in[RESULT] = weighted(drops ? fg_mul(weights, in[FACTOR]) : weights, v);
    const fg_tensor y = fgi_apply(&attention_op, in, drops ? 6 : FACTOR,
                                  &(attention_attr){o->scale}, sizeof(attention_attr));
    return fg_permute(y, (const int[]){0, 2, 1, 3, 4});
}

/* ---- chunks of queries
 * ------------------------------------------------------------------------- */

typedef struct chunks {
    sizes s; /* of a chunk */
    fg_tensor k, v;
    const fg_attention_options *o;
} chunks;

/* x: queries T[B, C, K, G, D], the position of the first one, segments s32[B, C]. */
static void attend_chunk(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                         fg_tensor *y)
{
    const chunks *c = self;
    fg_trace *trace = fg_tensor_trace(x[0]);
    fg_attention_options o = *c->o;
    (void)carry, (void)next;
    o.position = x[1];
    fg_remat_begin(trace);
    y[0] = attend(&c->s, x[0], o.segment.handle != 0 ? x[2] : o.segment, c->k, c->v, &o);
    fg_remat_end(trace, y, 1);
}

/* [B, T, ...] -> [n, B, C, ...], with zeros after the T queries. */
static fg_tensor in_chunks(fg_tensor a, int64_t chunk)
{
    static const int to_front[] = {1, 0, 2, 3, 4, 5};
    const fg_type *type = fg_tensor_type(a);
    const int64_t count = (type->dim[1] + chunk - 1) / chunk, none[FG_MAX_RANK] = {0};
    int64_t after[FG_MAX_RANK] = {0}, dim[FG_MAX_RANK] = {type->dim[0], count, chunk};
    after[1] = count * chunk - type->dim[1];
    for (int i = 2; i < type->rank; i++)
        dim[i + 1] = type->dim[i];
    const int rank = type->rank + 1;
    return fg_permute(fg_reshape(fg_pad(a, 0, none, after, NULL), rank, dim), to_front);
}

static fg_tensor attend_in_chunks(const sizes *s, fg_tensor q, fg_tensor k, fg_tensor v,
                                  const fg_attention_options *o)
{
    const int64_t chunk = o->query_chunk, count = (s->queries + chunk - 1) / chunk;
    fg_trace *trace = fg_tensor_trace(q);
    chunks c = {.s = *s, .k = k, .v = v, .o = o};
    c.s.queries = chunk;
    const fg_tensor first = fg_mul_scalar(fg_iota(trace, FG_S32, 0, FG_DIMS(count)), (double)chunk);
    fg_tensor x[] = {in_chunks(q, chunk), fg_add(first, first_position(trace, s, o)), {0}}, y;
    if (o->segment.handle != 0)
        x[2] = in_chunks(o->segment, chunk);
    fg_scan(&(fg_scan_options){.x_count = o->segment.handle != 0 ? 3 : 2,
                               .y_count = 1,
                               .body = attend_chunk,
                               .self = &c},
            NULL, x, NULL, &y);
    y = fg_reshape(fg_permute(y, (const int[]){1, 0, 2, 3, 4, 5}),
                   FG_DIMS(s->batch, count * chunk, s->kv_heads, s->group, s->width));
    const int64_t start[5] = {0};
    return fg_slice(y, start, fg_tensor_type(q)->dim, NULL);
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
    return fgi_attention_of((fg_tensor){0}, q, k, v, options);
}

fg_tensor fgi_attention_of(fg_tensor packed, fg_tensor q, fg_tensor k, fg_tensor v,
                           const fg_attention_options *options)
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
    if (o.window < 0 || o.query_chunk < 0 || !(o.dropout >= 0 && o.dropout < 1))
        return fgi_trace_fail(trace, FG_EINVAL,
                              "attention: window is %" PRId64 ", query_chunk %" PRId64
                              " and dropout %g: expected at least 0, and dropout below 1",
                              o.window, o.query_chunk, o.dropout);
    const sizes s = {
        type->dim[0], type->dim[1], keys->dim[1], keys->dim[2], type->dim[2] / keys->dim[2],
        type->dim[3]};
    const fg_type whole = *type;
    o.scale = o.scale != 0 ? o.scale : 1 / sqrt((double)s.width);
    q = fg_reshape(q, FG_DIMS(s.batch, s.queries, s.kv_heads, s.group, s.width));
    const bool is_split = o.query_chunk > 0 && o.query_chunk < s.queries;
    fg_tensor y = is_split ? attend_in_chunks(&s, q, k, v, &o) : by_kernel(q, k, v, packed, &o);
    if (y.handle == 0)
        y = attend(&s, q, o.segment, k, v, &o);
    return fgi_reshape_to(y, &whole);
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
