/* rounding.c - stochastic rounding: up or down with the probability that preserves the mean.
 *
 * An f32 is a bf16 followed by 16 more bits. A random number below 2^16 is added to the bits and
 * the lower 16 bits are cut off: the probability of a carry is the fraction that the cut bits
 * represent. Source: Zamirai et al. 2021, "Revisiting bfloat16 training".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/op.h"

typedef struct bitcast_attr {
    int64_t dtype;
} bitcast_attr;

static bool bitcast_infer(fgi_infer *c)
{
    const bitcast_attr *attr = c->attr;
    if (fg_dtype_size((fg_dtype)attr->dtype) != fg_dtype_size(c->in[0]->dtype))
        return fgi_infer_fail(c, FG_EDTYPE, "%s has a different size",
                              fg_dtype_name((fg_dtype)attr->dtype));
    return fgi_infer_ok(c, (fg_dtype)attr->dtype, c->in[0]->rank, c->in[0]->dim);
}

static void bitcast_emit(fgi_emit *e) { fgi_emit_simple(e, "bitcast_convert", NULL); }

static const fgi_op bitcast_op = {.name = "bitcast",
                                  .arity = 1,
                                  .role = FGI_POINTWISE,
                                  .infer = bitcast_infer,
                                  .rows = fgi_rows_pointwise,
                                  .emit = bitcast_emit};

static fg_tensor bitcast(fg_tensor a, fg_dtype dtype)
{
    const bitcast_attr attr = {.dtype = (int64_t)dtype};
    return fgi_is_poison(a) ? a : fgi_apply(&bitcast_op, &a, 1, &attr, sizeof attr);
}

fg_tensor fgi_round_stochastic(fg_tensor a)
{
    const fg_type *type = fg_tensor_type(a);
    if (fgi_is_poison(a))
        return a;
    const fg_tensor bits = bitcast(a, FG_U32);
    const fg_tensor chance = fg_random_bits(fg_tensor_trace(a), type->rank, type->dim);
    const fg_tensor below = fg_and(chance, fgi_full_like(bits, 0xFFFF));
    const fg_tensor kept = fg_and(fg_add(bits, below), fgi_full_like(bits, 0xFFFF0000));
    return fg_cast(fg_where(fg_is_finite(a), bitcast(kept, FG_F32), a), FG_BF16);
}
