/* random.c - counter-based random numbers as part of the program: Threefry-2x32 from integer
 * operations.
 *
 * The key comes from the trace's (seed, step); the counter is the element's index and the position
 * of the call in the trace. The result does not depend on the device. Source: Salmon et al. 2011,
 * "Parallel random numbers: as easy as 1, 2, 3".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "op/op.h"
#include "base/hash.h"
#include "trace/body.h"
#include "trace/trace.h"

/* One operation creates both words of a block: T = u32[..., n] counters -> u32[..., 2n], first
 * words then second words. Inputs: the two words of the key, u32[]; in a loop, the number of the
 * iteration, u32[]. */
typedef struct bits_attr {
    int64_t place;
    fg_type half; /* u32[..., n]: shape of the counters */
} bits_attr;

static bool bits_infer(fgi_infer *c)
{
    const bits_attr *attr = c->attr;
    int64_t dim[FG_MAX_RANK];
    memcpy(dim, attr->half.dim, sizeof dim);
    if (__builtin_mul_overflow(dim[attr->half.rank - 1], 2, &dim[attr->half.rank - 1]))
        return fgi_infer_fail(c, FG_ESHAPE, "the result would have more than 2^63 - 1 elements");
    return fgi_infer_ok(c, attr->half.dtype, attr->half.rank, dim);
}

static const uint32_t rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};

/* Threefry on values of one type. */
typedef struct lane {
    fgi_builder *b;
    const fg_type *type;
    fgi_value left[8], right[8]; /* the rotations as constants */
} lane;

static fgi_value number(const lane *l, uint32_t value)
{
    return fgi_build_splat(l->b, l->type, value);
}

static lane lane_of(fgi_builder *b, const fg_type *type)
{
    lane l = {.b = b, .type = type};
    for (int i = 0; i < 8; i++) {
        l.left[i] = number(&l, rotation[i]);
        l.right[i] = number(&l, 32 - rotation[i]);
    }
    return l;
}

/* Twenty rounds on (x[0], x[1]) with key (k0, k1), all values of the lane's type. */
static void threefry(const lane *l, fgi_value k0, fgi_value k1, fgi_value x[2])
{
    fgi_builder *b = l->b;
    const fgi_value parity = number(l, 0x1BD11BDA);
    const fgi_value both = fgi_build_binary(b, "xor", k0, k1);
    const fgi_value key[3] = {k0, k1, fgi_build_binary(b, "xor", both, parity)};
    x[0] = fgi_build_binary(b, "add", x[0], key[0]);
    x[1] = fgi_build_binary(b, "add", x[1], key[1]);
    for (uint32_t round = 0; round < 20; round++) {
        const uint32_t r = round % 8;
        x[0] = fgi_build_binary(b, "add", x[0], x[1]);
        const fgi_value high = fgi_build_binary(b, "shift_left", x[1], l->left[r]);
        const fgi_value low = fgi_build_binary(b, "shift_right_logical", x[1], l->right[r]);
        x[1] = fgi_build_binary(b, "xor", fgi_build_binary(b, "or", high, low), x[0]);
        if (round % 4 == 3) {
            const uint32_t s = round / 4 + 1;
            x[0] = fgi_build_binary(b, "add", x[0], key[s % 3]);
            const fgi_value group = number(l, s);
            x[1] = fgi_build_binary(b, "add", x[1], key[(s + 1) % 3]);
            x[1] = fgi_build_binary(b, "add", x[1], group);
        }
    }
}

/* Row-major index of each element, modulo 2^32. */
static fgi_value counters(const lane *l)
{
    const fg_type *type = l->type;
    fgi_value sum = {0};
    uint32_t step = 1;
    for (int axis = type->rank - 1; axis >= 0; axis--) {
        const fgi_value index = fgi_build_iota(l->b, type, axis);
        const fgi_value part =
            step == 1 ? index : fgi_build_binary(l->b, "multiply", index, number(l, step));
        sum = axis == type->rank - 1 ? part : fgi_build_binary(l->b, "add", sum, part);
        step *= (uint32_t)type->dim[axis];
    }
    return sum;
}

/* In a loop, the key is the block with the number of the iteration under the trace's key. */
static void key_of_iteration(fgi_emit *e, fgi_value key[2])
{
    static const uint32_t tag = 0x6C6F6F70; /* "loop" */
    const lane scalar = lane_of(&e->b, &key[0].type);
    fgi_value x[2] = {fgi_emit_in(e, 2), number(&scalar, tag)};
    threefry(&scalar, key[0], key[1], x);
    key[0] = x[0];
    key[1] = x[1];
}

static void bits_emit(fgi_emit *e)
{
    const bits_attr *attr = e->node->attr;
    const fg_type *type = &attr->half;
    fgi_value key[2] = {fgi_emit_in(e, 0), fgi_emit_in(e, 1)};
    if (e->node->arity > 2)
        key_of_iteration(e, key);
    const lane l = lane_of(&e->b, type);
    fgi_value x[2];
    x[0] = counters(&l);
    x[1] = number(&l, (uint32_t)attr->place);
    const fgi_value k1 = fgi_build_broadcast(&e->b, key[1], type, NULL);
    const fgi_value k0 = fgi_build_broadcast(&e->b, key[0], type, NULL);
    threefry(&l, k0, k1, x);
    const fgi_value y = fgi_emit_result(e);
    fgi_buf text = {0};
    fgi_buf_printf(&text, "dimension = %d : i64", type->rank - 1);
    fgi_build_text_into(&e->b, &y, "concatenate", &text, 2, x);
}

/* A number, u32[], that is different in each iteration of the open loops. */
static fg_tensor iteration(fg_trace *trace)
{
    fg_tensor number = {0};
    double step = 1;
    for (fgi_region *r = trace->region; r != NULL; r = r->outer) {
        const fg_tensor t = fg_cast(fgi_region_index(r, trace), FG_U32);
        const fg_tensor part = fg_mul_scalar(t, step);
        number = number.handle != 0 ? fg_add(number, part) : part;
        step = (double)(uint32_t)(int64_t)(step * (r->length > 0 ? (double)r->length : 65537));
    }
    return number;
}

static const fgi_op random_bits = {.name = "random_bits",
                                   .arity = -1,
                                   .infer = bits_infer,
                                   .rows = fgi_rows_never,
                                   .emit = bits_emit};

fg_tensor fg_random_bits(fg_trace *trace, int rank, const int64_t *dim)
{
    bits_attr attr;
    if (!fgi_check_type(trace, "random_bits", FG_U32, rank, dim))
        return fgi_poison(trace);
    memset(&attr, 0, sizeof attr);
    attr.place = fgi_trace_next_random_id(trace);
    attr.half.dtype = FG_U32;
    attr.half.rank = rank > 0 ? rank : 1;
    attr.half.dim[0] = 1;
    int64_t start[FG_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++)
        attr.half.dim[i] = i == rank - 1 ? (dim[i] + 1) / 2 : dim[i];
    const fg_scalar *key = fgi_trace_key(trace);
    const bool is_in_loop = trace->region != NULL;
    const fg_tensor in[3] = {fg_scalar_value(trace, &key[0]), fg_scalar_value(trace, &key[1]),
                             is_in_loop ? iteration(trace) : (fg_tensor){0}};
    const fg_tensor pairs = fgi_apply(&random_bits, in, is_in_loop ? 3 : 2, &attr, sizeof attr);
    if (rank == 0)
        return fg_reshape(fg_slice(pairs, start, (const int64_t[]){1}, NULL), FG_SCALAR);
    return dim[rank - 1] % 2 == 0 ? pairs : fg_slice(pairs, start, dim, NULL);
}

/* The upper 24 bits, the precision of f32. */
static fg_tensor uniform_of(fg_tensor bits)
{
    const fg_tensor top = fg_div(bits, fgi_full_like(bits, 256));
    return fg_mul_scalar(fg_cast(top, FG_F32), 1.0 / 16777216);
}

fg_tensor fg_random_uniform(fg_trace *trace, int rank, const int64_t *dim)
{
    return uniform_of(fg_random_bits(trace, rank, dim));
}

/* Integers below `range` from the upper bits, plus 1/2, as fractions of the range. */
static fg_tensor open_uniform_of(fg_tensor bits, double range)
{
    const fg_tensor top = fg_div(bits, fgi_full_like(bits, 4294967296.0 / range));
    return fg_mul_scalar(fg_add_scalar(fg_cast(top, FG_F32), 0.5), 1 / range);
}

fg_tensor fg_random_normal(fg_trace *trace, int rank, const int64_t *dim)
{
    int64_t even[FG_MAX_RANK] = {2}, half[FG_MAX_RANK] = {1}, start[FG_MAX_RANK] = {0};
    if (!fgi_check_type(trace, "random_normal", FG_F32, rank, dim))
        return fgi_poison(trace);
    for (int i = 0; i < rank; i++)
        half[i] = even[i] = dim[i];
    const int last = rank > 0 ? rank - 1 : 0, count = last + 1;
    if (rank > 0)
        half[last] = dim[last] / 2 + dim[last] % 2;
    even[last] = 2 * half[last];
    const fg_tensor bits = fg_random_bits(trace, count, even);
    start[last] = half[last];
    const fg_tensor angle =
        fg_mul_scalar(uniform_of(fg_slice(bits, start, even, NULL)), 2 * 3.14159265358979323846);
    start[last] = 0;
    const fg_tensor u = open_uniform_of(fg_slice(bits, start, half, NULL), 4294967296.0);
    const fg_tensor radius = fg_sqrt(fg_mul_scalar(fg_log(u), -2));
    const fg_tensor both[2] = {fg_mul(radius, fg_cos(angle)), fg_mul(radius, fg_sin(angle))};
    const fg_tensor pairs = fg_concat(both, 2, last);
    if (rank == 0)
        return fg_reshape(fg_slice(pairs, start, half, NULL), FG_SCALAR);
    return dim[last] == even[last] ? pairs : fg_slice(pairs, start, dim, NULL);
}

fg_tensor fg_random_categorical(fg_tensor logits)
{
    if (fgi_is_poison(logits))
        return logits;
    const fg_type *type = fg_tensor_type(logits);
    if (!fg_dtype_is_float(type->dtype) || type->rank < 1)
        return fgi_trace_fail(fg_tensor_trace(logits), FG_EDTYPE,
                              "random_categorical: expected floating-point logits [..., K]");
    const fg_tensor bits = fg_random_bits(fg_tensor_trace(logits), type->rank, type->dim);
    /* 23 bits and a half: never 1, of which the noise would be infinite */
    const fg_tensor noise = fg_neg(fg_log(fg_neg(fg_log(open_uniform_of(bits, 8388608.0)))));
    return fg_argmax(fg_add(fg_cast(logits, FG_F32), noise));
}

/* ---- permutations ---------------------------------------------------------------------------- */

static bool order_infer(fgi_infer *c)
{
    return fgi_infer_ok(c, FG_S32, c->in[0]->rank, c->in[0]->dim);
}

static void order_emit(fgi_emit *e)
{
    fgi_emit_become(e, fgi_build_order(&e->b, fgi_emit_in(e, 0)));
}

static const fgi_op order = {.name = "random_permutation",
                             .arity = 1,
                             .infer = order_infer,
                             .rows = fgi_rows_never,
                             .emit = order_emit};

fg_tensor fg_random_permutation(fg_trace *trace, int64_t n)
{
    if (n < 0 || n > INT32_MAX)
        return fgi_trace_fail(trace, FG_ESHAPE,
                              "random_permutation: n is %lld: expected 0 to 2^31 - 1",
                              (long long)n);
    const fg_tensor bits = fg_random_bits(trace, FG_DIMS(n));
    return FGI_APPLY1(order, bits);
}

/* ---- of samples ------------------------------------------------------------------------------ */

/* u32[B, 2 n]: block (sample, i) gives numbers i and n + i of each sample, under the key that is
 * block `tag` of the given key. Inputs: the key, u32[2]; the samples, u32[B]. */
typedef struct sample_attr {
    uint32_t tag[2];
    fg_type half; /* u32[B,n] */
} sample_attr;

static bool sample_infer(fgi_infer *c)
{
    const sample_attr *attr = c->attr;
    const fg_type *key = c->in[0], *sample = c->in[1];
    const bool is_key = key->dtype == FG_U32 && key->rank == 1 && key->dim[0] == 2;
    if (!is_key || sample->dtype != FG_U32 || sample->rank != 1)
        return fgi_infer_fail(c, FG_ESHAPE, "expected a key u32[2] and samples u32[B]");
    return fgi_infer_ok(c, FG_U32, 2, (int64_t[]){attr->half.dim[0], 2 * attr->half.dim[1]});
}

static bool sample_rows(fgi_infer *c)
{
    if (c->in_rows[0] != NULL)
        return fgi_rows_never(c);
    c->rows.step[0] = c->in_rows[1]->step[0];
    return true;
}

static void sample_emit(fgi_emit *e)
{
    const sample_attr *attr = e->node->attr;
    const fg_type word = {.dtype = FG_U32}, *type = &attr->half;
    fgi_builder *b = &e->b;
    fgi_value key[2];
    for (int64_t i = 0; i < 2; i++) {
        const int64_t limit = i + 1;
        const fgi_value one = fgi_build_slice(b, fgi_emit_in(e, 0), &i, &limit, NULL);
        key[i] = fgi_build_reshape(b, one, 0, NULL);
    }
    const lane scalar = lane_of(b, &word);
    fgi_value folded[2] = {number(&scalar, attr->tag[0]), number(&scalar, attr->tag[1])};
    threefry(&scalar, key[0], key[1], folded);
    const lane l = lane_of(b, type);
    const int64_t first = 0;
    fgi_value x[2] = {fgi_build_broadcast(b, fgi_emit_in(e, 1), type, &first),
                      fgi_build_iota(b, type, 1)};
    const fgi_value k0 = fgi_build_broadcast(b, folded[0], type, NULL);
    threefry(&l, k0, fgi_build_broadcast(b, folded[1], type, NULL), x);
    const fgi_value y = fgi_emit_result(e);
    fgi_buf text = {0};
    fgi_buf_puts(&text, "dimension = 1 : i64");
    fgi_build_text_into(b, &y, "concatenate", &text, 2, x);
}

static const fgi_op sample_bits = {.name = "random_sample_bits",
                                   .arity = 2,
                                   .infer = sample_infer,
                                   .rows = sample_rows,
                                   .emit = sample_emit};

fg_tensor fg_random_sample_bits(const fg_sample_key *key, const char *purpose, int64_t count)
{
    fg_trace *trace = fg_tensor_trace(key->sample);
    sample_attr attr;
    if (fgi_is_poison(key->key) || fgi_is_poison(key->sample))
        return fgi_poison(trace);
    if (count < 1 || count > INT32_MAX)
        return fgi_trace_fail(trace, FG_ESHAPE,
                              "random_sample_bits: count is %lld: expected 1 to 2^31 - 1",
                              (long long)count);
    const uint64_t tag = fgi_checksum64(purpose, strlen(purpose)) + (uint64_t)key->repeat;
    memset(&attr, 0, sizeof attr);
    attr.tag[0] = (uint32_t)tag;
    attr.tag[1] = (uint32_t)(tag >> 32);
    attr.half.dtype = FG_U32;
    attr.half.rank = 2;
    attr.half.dim[0] = fg_tensor_type(key->sample)->dim[0];
    attr.half.dim[1] = (count + 1) / 2;
    const fg_tensor in[2] = {key->key, key->sample};
    const fg_tensor pairs = fgi_apply(&sample_bits, in, 2, &attr, sizeof attr);
    const int64_t start[2] = {0, 0}, limit[2] = {attr.half.dim[0], count};
    return count % 2 == 0 ? pairs : fg_slice(pairs, start, limit, NULL);
}

fg_tensor fg_random_sample_uniform(const fg_sample_key *key, const char *purpose, int64_t count)
{
    return uniform_of(fg_random_sample_bits(key, purpose, count));
}

/* ---- dropout --------------------------------------------------------------------------------- */

/* a with each element, or each element of dimension 0, set to 0 or scaled. */
static fg_tensor drop(const char *op, fg_tensor a, double rate, bool is_by_sample)
{
    fg_trace *trace = fg_tensor_trace(a);
    if (fgi_is_poison(a))
        return a;
    const fg_type *type = fg_tensor_type(a);
    if (!(rate >= 0 && rate < 1))
        return fgi_trace_fail(trace, FG_EINVAL, "%s: rate is %g: expected 0 <= rate < 1", op, rate);
    if (!fg_trace_training(trace) || rate == 0 || (is_by_sample && type->rank == 0))
        return a;
    const fg_tensor bits = fg_random_bits(trace, is_by_sample ? 1 : type->rank, type->dim);
    fg_tensor keeps = fg_ge(bits, fgi_full_like(bits, (double)(uint32_t)(rate * 4294967296.0)));
    if (is_by_sample)
        keeps = fgi_expand(keeps, type->rank - 1, (const int[]){1, 2, 3, 4, 5, 6, 7}, type);
    return fg_where(keeps, fg_mul_scalar(a, 1 / (1 - rate)), fgi_full_like(a, 0));
}

fg_tensor fg_dropout(fg_tensor a, double rate) { return drop("dropout", a, rate, false); }

fg_tensor fg_drop_path(fg_tensor a, double rate) { return drop("drop_path", a, rate, true); }
