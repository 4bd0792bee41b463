/* loss.c - losses and metrics over a batch, weighed by the trace's mask where one is set.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "op/op.h"

fg_tensor fg_one_hot(fg_tensor index, int64_t depth, fg_dtype dtype)
{
    fg_trace *trace = fg_tensor_trace(index);
    const fg_type *type = fg_tensor_type(index);
    if (fgi_is_poison(index))
        return index;
    if (type->dtype != FG_S32)
        return fgi_trace_fail(trace, FG_EDTYPE, "one_hot: wants s32 indices, not %s",
                              fg_dtype_name(type->dtype));
    if (type->rank >= FG_MAX_RANK || depth < 0)
        return fgi_trace_fail(trace, FG_ESHAPE, "one_hot: depth %" PRId64 " for indices of rank %d",
                              depth, type->rank);
    fg_type wide = *type;
    wide.dim[wide.rank++] = depth;
    const int axis = type->rank;
    const fg_tensor place = fg_iota(trace, FG_S32, axis, wide.rank, wide.dim);
    return fg_cast(fg_eq(fgi_expand(index, 1, &axis, &wide), place), dtype);
}

/* Mean of f32[B] or f64[B] over the samples that count; rounds as fg_mean does, by a reciprocal. */
static fg_tensor sample_mean(fg_tensor each)
{
    fg_tensor mask;
    if (fgi_is_poison(each) || !fg_trace_mask(fg_tensor_trace(each), &mask))
        return fg_mean(each, 0, NULL);
    if (fg_tensor_dim(mask, 0) != fg_tensor_dim(each, 0))
        return fgi_trace_fail(fg_tensor_trace(each), FG_ESHAPE,
                              "loss over %" PRId64 " samples under a mask of %" PRId64,
                              fg_tensor_dim(each, 0), fg_tensor_dim(mask, 0));
    mask = fg_cast(mask, fg_tensor_type(each)->dtype);
    const fg_tensor count = fg_sum(mask, 0, NULL);
    return fg_mul(fg_sum(fg_mul(each, mask), 0, NULL), fg_div(fgi_full_like(count, 1), count));
}

static bool wants_logits_and_label(const char *op, fg_tensor logits, fg_tensor label)
{
    if (fgi_is_poison(logits) || fgi_is_poison(label))
        return false;
    const fg_type *x = fg_tensor_type(logits), *y = fg_tensor_type(label);
    if (x->rank == 2 && y->rank == 1 && y->dtype == FG_S32 && x->dim[0] == y->dim[0] &&
        fg_dtype_is_float(x->dtype))
        return true;
    char a[96], b[96];
    const bool is_shape = x->rank != 2 || y->rank != 1 || x->dim[0] != y->dim[0];
    (void)fgi_trace_fail(fg_tensor_trace(logits), is_shape ? FG_ESHAPE : FG_EDTYPE,
                         "%s(%s, %s): wants logits T[B,C] and labels s32[B]", op,
                         fg_type_format(x, a, sizeof a), fg_type_format(y, b, sizeof b));
    return false;
}

fg_tensor fg_cross_entropy(fg_tensor logits, fg_tensor label,
                           const fg_cross_entropy_options *options)
{
    const double smoothing = options != NULL ? options->label_smoothing : 0;
    const int last[] = {-1};
    if (!wants_logits_and_label("cross_entropy", logits, label))
        return fgi_poison(fg_tensor_trace(logits));
    if (!(smoothing >= 0 && smoothing <= 1))
        return fgi_trace_fail(fg_tensor_trace(logits), FG_EINVAL,
                              "cross_entropy: label_smoothing %g; 0 to 1 goes", smoothing);
    const fg_tensor x = fgi_wide(logits);
    const fg_tensor hot = fg_one_hot(label, fg_tensor_dim(x, 1), fg_tensor_type(x)->dtype);
    fg_tensor target = fg_sum(fg_mul(x, hot), 1, last);
    if (smoothing > 0)
        target = fg_add(fg_scale(target, 1 - smoothing), fg_scale(fg_mean(x, 1, last), smoothing));
    return sample_mean(fg_sub(fg_logsumexp(x), target));
}

fg_tensor fg_mse(fg_tensor a, fg_tensor b)
{
    if (fgi_is_poison(a) || fgi_is_poison(b))
        return fgi_poison(fg_tensor_trace(a));
    fgi_widen_both(&a, &b);
    const fg_type *x = fg_tensor_type(a), *y = fg_tensor_type(b);
    if (x->rank < 1 || !fgi_same_shape(x, y) || x->dtype != y->dtype) {
        char p[96], q[96];
        return fgi_trace_fail(fg_tensor_trace(a), x->dtype != y->dtype ? FG_EDTYPE : FG_ESHAPE,
                              "mse(%s, %s): wants two tensors [B, ...] of one type",
                              fg_type_format(x, p, sizeof p), fg_type_format(y, q, sizeof q));
    }
    const fg_tensor error = fg_square(fg_sub(fgi_wide(a), fgi_wide(b)));
    const fg_tensor flat = x->rank > 1 ? fg_mean(fg_flatten(error, 1), 1, (const int[]){1}) : error;
    return sample_mean(flat);
}

fg_tensor fg_accuracy(fg_tensor logits, fg_tensor label)
{
    if (!wants_logits_and_label("accuracy", logits, label))
        return fgi_poison(fg_tensor_trace(logits));
    return fg_cast(fg_eq(fg_argmax(logits), label), FG_F32);
}
