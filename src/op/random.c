/* random.c - counted randomness as part of the program: Threefry-2x32 from integer operations.
 *
 * The key comes from the trace's (seed, step); the counter is the element's index and the call's
 * order in the trace. Nothing depends on the device that computes it.
 * Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "op/op.h"

/* One op makes both words of a block: T = u32[..., n] counters -> u32[..., 2n], first words then
 * second words. Inputs: the key's two words, u32[]. */
typedef struct bits_attr {
    int64_t place;
    fg_type half; /* u32[..., n]: the counters' shape */
} bits_attr;

static bool bits_infer(fgi_infer *c)
{
    const bits_attr *attr = c->attr;
    int64_t dim[FG_MAX_RANK];
    memcpy(dim, attr->half.dim, sizeof dim);
    if (__builtin_mul_overflow(dim[attr->half.rank - 1], 2, &dim[attr->half.rank - 1]))
        return fgi_infer_fail(c, FG_ESHAPE, "the result would be larger than can be counted");
    return fgi_infer_ok(c, attr->half.dtype, attr->half.rank, dim);
}

/* Writes lines on values of one type. */
typedef struct pen {
    fgi_emit *e;
    const fg_type *type;
    uint32_t left[8], right[8]; /* constants of the rotations */
} pen;

static uint32_t two(pen *p, const char *op, uint32_t a, uint32_t b)
{
    const uint32_t r = fgi_emit_temp(p->e);
    fgi_emit_line(p->e, r, p->type, op, NULL, 2, (const uint32_t[]){a, b},
                  (const fg_type *const[]){p->type, p->type});
    return r;
}

static uint32_t number(pen *p, uint32_t value)
{
    const uint32_t r = fgi_emit_temp(p->e);
    fgi_emit_splat(p->e, r, p->type, value);
    return r;
}

static const uint32_t rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};

static void begin(pen *p, fgi_emit *e, const fg_type *type)
{
    p->e = e;
    p->type = type;
    for (int i = 0; i < 8; i++) {
        p->left[i] = number(p, rotation[i]);
        p->right[i] = number(p, 32 - rotation[i]);
    }
}

/* Twenty rounds on (x[0], x[1]) under key (k0, k1), all values of the pen's type. */
static void threefry(pen *p, uint32_t k0, uint32_t k1, uint32_t x[2])
{
    const uint32_t parity = number(p, 0x1BD11BDA);
    const uint32_t key[3] = {k0, k1, two(p, "xor", two(p, "xor", k0, k1), parity)};
    x[0] = two(p, "add", x[0], key[0]);
    x[1] = two(p, "add", x[1], key[1]);
    for (uint32_t round = 0; round < 20; round++) {
        const uint32_t r = round % 8;
        x[0] = two(p, "add", x[0], x[1]);
        const uint32_t high = two(p, "shift_left", x[1], p->left[r]);
        const uint32_t low = two(p, "shift_right_logical", x[1], p->right[r]);
        x[1] = two(p, "xor", two(p, "or", high, low), x[0]);
        if (round % 4 == 3) {
            const uint32_t s = round / 4 + 1;
            x[0] = two(p, "add", x[0], key[s % 3]);
            x[1] = two(p, "add", two(p, "add", x[1], key[(s + 1) % 3]), number(p, s));
        }
    }
}

static uint32_t spread(fgi_emit *e, uint32_t scalar, const fg_type *type)
{
    const fg_type word = {.dtype = FG_U32};
    const uint32_t r = fgi_emit_temp(e);
    fgi_emit_line(e, r, type, "broadcast_in_dim", "broadcast_dimensions = array<i64>", 1, &scalar,
                  (const fg_type *const[]){&word});
    return r;
}

/* Row-major index of each element, modulo 2^32. */
static uint32_t counters(pen *p)
{
    const fg_type *type = p->type;
    uint32_t sum = 0;
    uint32_t step = 1;
    for (int axis = type->rank - 1; axis >= 0; axis--) {
        char text[48];
        const uint32_t index = fgi_emit_temp(p->e);
        (void)snprintf(text, sizeof text, "iota_dimension = %d : i64", axis);
        fgi_emit_line(p->e, index, type, "iota", text, 0, NULL, NULL);
        const uint32_t part = step == 1 ? index : two(p, "multiply", index, number(p, step));
        sum = axis == type->rank - 1 ? part : two(p, "add", sum, part);
        step *= (uint32_t)type->dim[axis];
    }
    return sum;
}

static void bits_emit(fgi_emit *e)
{
    const bits_attr *attr = e->node->attr;
    pen lane;
    begin(&lane, e, &attr->half);
    uint32_t x[2] = {counters(&lane), number(&lane, (uint32_t)attr->place)};
    threefry(&lane, spread(e, fgi_emit_in(e, 0), &attr->half),
             spread(e, fgi_emit_in(e, 1), &attr->half), x);
    char text[48];
    (void)snprintf(text, sizeof text, "dimension = %d : i64", attr->half.rank - 1);
    fgi_emit_line(e, fgi_emit_result(e), &e->node->type, "concatenate", text, 2, x,
                  (const fg_type *const[]){&attr->half, &attr->half});
}

static const fgi_op random_bits = {.name = "random_bits",
                                   .arity = 2,
                                   .infer = bits_infer,
                                   .rows = fgi_rows_never,
                                   .emit = bits_emit};

fg_tensor fg_random_bits(fg_trace *trace, int rank, const int64_t *dim)
{
    bits_attr attr;
    if (!fgi_check_type(trace, "random_bits", FG_U32, rank, dim))
        return fgi_poison(trace);
    memset(&attr, 0, sizeof attr);
    attr.place = fgi_trace_next_place(trace);
    attr.half.dtype = FG_U32;
    attr.half.rank = rank > 0 ? rank : 1;
    attr.half.dim[0] = 1;
    int64_t start[FG_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++)
        attr.half.dim[i] = i == rank - 1 ? (dim[i] + 1) / 2 : dim[i];
    const fg_scalar *key = fgi_trace_key(trace);
    const fg_tensor in[2] = {fg_scalar_value(trace, &key[0]), fg_scalar_value(trace, &key[1])};
    const fg_tensor pairs = fgi_apply(&random_bits, in, 2, &attr, sizeof attr);
    if (rank == 0)
        return fg_reshape(fg_slice(pairs, start, (const int64_t[]){1}, NULL), FG_SCALAR);
    return dim[rank - 1] % 2 == 0 ? pairs : fg_slice(pairs, start, dim, NULL);
}

fg_tensor fg_random_uniform(fg_trace *trace, int rank, const int64_t *dim)
{
    const fg_tensor bits = fg_random_bits(trace, rank, dim);
    const fg_tensor top = fg_div(bits, fgi_full_like(bits, 256));
    return fg_scale(fg_cast(top, FG_F32), 1.0 / 16777216);
}

fg_tensor fg_dropout(fg_tensor a, double rate)
{
    fg_trace *trace = fg_tensor_trace(a);
    if (fgi_is_poison(a))
        return a;
    if (!(rate >= 0 && rate < 1))
        return fgi_trace_fail(trace, FG_EINVAL, "dropout: rate %g; 0 <= rate < 1 is wanted", rate);
    if (!fg_trace_training(trace) || rate == 0)
        return a;
    const fg_type *type = fg_tensor_type(a);
    const fg_tensor bits = fg_random_bits(trace, type->rank, type->dim);
    const fg_tensor keeps =
        fg_ge(bits, fgi_full_like(bits, (double)(uint32_t)(rate * 4294967296.0)));
    return fg_where(keeps, fg_scale(a, 1 / (1 - rate)), fgi_full_like(a, 0));
}
