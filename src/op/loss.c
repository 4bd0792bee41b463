/* loss.c - losses and metrics of a batch.
 *
 * Each is a mean: a sum over valid positions, divided by the sum of weights, which the mean's node
 * stores (fgi_set_denominator) so that means of several batches can be combined exactly. The sums
 * exclude padding rows (padding.c). Ignored positions are excluded by a select, so that they may be
 * infinite or NaN.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "op/op.h"

/* sum / weight, with a reciprocal, as fg_mean does if the count is known. */
static fg_tensor divided(fg_tensor sum, fg_tensor weight)
{
    const fg_tensor mean = fg_mul(sum, fg_div(fgi_full_like(weight, 1), weight));
    return fgi_set_denominator(mean, weight);
}

/* each * weight over the valid positions, divided by the sum of their weights. At other positions,
 * `each` may have any value. weight may be NULL: 1. All have the same shape. */
static fg_tensor counted_mean(fg_tensor each, const fg_tensor *weight, fg_tensor counts)
{
    const fg_tensor zero = fgi_full_like(each, 0);
    const fg_tensor one = weight != NULL ? *weight : fgi_full_like(each, 1);
    const fg_tensor term = weight != NULL ? fg_mul(each, *weight) : each;
    const fg_tensor sum = fg_where(counts, term, zero);
    const fg_tensor weights = fgi_with_rows(fg_where(counts, one, zero), fgi_node_of(sum)->rows);
    return divided(fg_sum(sum, 0, NULL), fg_sum(weights, 0, NULL));
}

fg_tensor fg_weighted_mean(fg_tensor value, fg_tensor weight)
{
    fg_trace *trace = fg_tensor_trace(value);
    if (fgi_is_poison(value) || fgi_is_poison(weight))
        return fgi_poison(trace);
    const fg_type *x = fg_tensor_type(value), *w = fg_tensor_type(weight);
    fg_type both = {0};
    const bool is_weight = w->dtype == FG_BOOL || fg_dtype_is_float(w->dtype);
    if (!fg_dtype_is_float(x->dtype) || !is_weight || !fgi_broadcast_shape(x, w, &both) ||
        !fgi_same_shape(x, &both)) {
        char a[96], b[96];
        return fgi_trace_fail(trace, FG_ESHAPE,
                              "weighted_mean(%s, %s): expected a floating-point value and a weight "
                              "that broadcasts to its shape, floating-point or bool",
                              fg_type_format(x, a, sizeof a), fg_type_format(w, b, sizeof b));
    }
    const fg_tensor each = fgi_batch_first(fgi_upcast(value));
    const fg_tensor wide =
        fg_broadcast_to(fg_cast(weight, fg_tensor_type(each)->dtype), x->rank, x->dim);
    const fg_tensor counts = fg_ne(wide, fgi_full_like(wide, 0));
    return counted_mean(each, w->dtype == FG_BOOL ? NULL : &wide, counts);
}

/* ---- classes --------------------------------------------------------------------------------- */

static bool expects_logits_and_label(const char *op, fg_tensor logits, fg_tensor label)
{
    if (fgi_is_poison(logits) || fgi_is_poison(label))
        return false;
    const fg_type *x = fg_tensor_type(logits), *y = fg_tensor_type(label);
    fg_type positions = *x;
    positions.rank--;
    const bool is_shape = y->rank >= 1 && x->rank == y->rank + 1 && fgi_same_shape(&positions, y);
    if (is_shape && y->dtype == FG_S32 && fg_dtype_is_float(x->dtype))
        return true;
    char a[96], b[96];
    (void)fgi_trace_fail(fg_tensor_trace(logits), is_shape ? FG_EDTYPE : FG_ESHAPE,
                         "%s(%s, %s): expected logits T[B, ..., C] and labels s32[B, ...]", op,
                         fg_type_format(x, a, sizeof a), fg_type_format(y, b, sizeof b));
    return false;
}

/* Inputs of a cross-entropy, by position. */
typedef struct classes {
    fg_tensor x, label, hot;   /* T[..., C], s32[...], bool[..., C] */
    fg_tensor class_weight;    /* T[..., C], or empty: 1 */
    fg_tensor position_weight; /* T[...], or empty: 1 */
    fg_tensor counts;          /* bool[...], or empty: all */
    double smoothing;
} classes;

/* Sum over classes of a where hot is true. */
static fg_tensor pick(const classes *c, fg_tensor a)
{
    return fg_sum(fg_where(c->hot, a, fgi_full_like(a, 0)), 1, (const int[]){-1});
}

/* The last axis is the class axis: rounded like a mean. */
static fg_tensor class_mean(fg_tensor a) { return fg_mean(a, 1, (const int[]){-1}); }

/* For each position, -log softmax(x)[label] times the label's weight, mixed with the mean over all
 * classes c of -log softmax(x)[c] times c's weight. */
static fg_tensor each_entropy(const classes *c, const fg_tensor *label_weight)
{
    const fg_tensor lse = fg_logsumexp(c->x);
    const double rest = 1 - c->smoothing;
    if (label_weight == NULL) {
        const fg_tensor target = pick(c, c->x);
        if (c->smoothing == 0)
            return fg_sub(lse, target);
        const fg_tensor even = fg_mul_scalar(class_mean(c->x), c->smoothing);
        return fg_sub(lse, fg_add(fg_mul_scalar(target, rest), even));
    }
    const fg_tensor own = fg_mul(fg_sub(lse, pick(c, c->x)), *label_weight);
    if (c->smoothing == 0)
        return own;
    const fg_tensor weight = class_mean(c->class_weight);
    const fg_tensor even = fg_sub(fg_mul(lse, weight), class_mean(fg_mul(c->x, c->class_weight)));
    return fg_add(fg_mul_scalar(own, rest), fg_mul_scalar(even, c->smoothing));
}

/* 1, or NaN if a valid position has a label that is not a class index: then loss and gradient are
 * NaN. */
static fg_tensor label_check(const classes *c)
{
    const fg_type *type = fg_tensor_type(c->label);
    fg_trace *trace = fg_tensor_trace(c->x);
    const int64_t count = fg_tensor_dim(c->x, -1);
    int axis[FG_MAX_RANK];
    for (int i = 0; i < type->rank; i++)
        axis[i] = i;
    const fg_tensor below = fg_lt(c->label, fgi_full_like(c->label, 0));
    const fg_tensor above = fg_gt(c->label, fgi_full_like(c->label, (double)(count - 1)));
    fg_tensor bad = fg_or(below, above);
    if (c->counts.handle != 0)
        bad = fg_and(bad, c->counts);
    bad = fgi_mask_rows(bad, fgi_row_axes(bad, type->rank, axis), 0);
    const fg_dtype dtype = fg_tensor_type(c->x)->dtype;
    return fg_where(bad, fg_full(trace, dtype, (double)NAN, FG_SCALAR),
                    fg_ones(trace, dtype, FG_SCALAR));
}

static fg_tensor mean_entropy(const classes *c)
{
    const bool has_class_weight = c->class_weight.handle != 0;
    fg_tensor weight = c->position_weight, label_weight = {0};
    if (has_class_weight) {
        label_weight = pick(c, c->class_weight);
        weight = weight.handle != 0 ? fg_mul(weight, label_weight) : label_weight;
    }
    fg_tensor each = each_entropy(c, has_class_weight ? &label_weight : NULL);
    each = fg_mul(each, label_check(c));
    if (!has_class_weight && c->counts.handle == 0)
        return fg_mean(each, 0, NULL);
    if (!has_class_weight)
        return counted_mean(each, weight.handle != 0 ? &weight : NULL, c->counts);
    /* each already contains the label's weight, which may be 0: do not multiply by it again */
    if (c->position_weight.handle != 0)
        each = fg_mul(each, c->position_weight);
    if (c->counts.handle != 0) {
        const fg_tensor zero = fgi_full_like(each, 0);
        each = fg_where(c->counts, each, zero);
        weight = fg_where(c->counts, weight, zero);
    }
    weight = fgi_with_rows(weight, fgi_node_of(each)->rows);
    return divided(fg_sum(each, 0, NULL), fg_sum(weight, 0, NULL));
}

/* A tensor from the options, in the dtype and shape of the logits; false after an error. */
static bool take_weight(const char *name, fg_tensor weight, fg_tensor x, const fg_type *shape,
                        fg_tensor *out)
{
    char a[96], b[96];
    *out = weight;
    if (weight.handle == 0)
        return true;
    const fg_type *have = fg_tensor_type(weight);
    fg_type both = {0};
    const bool is_number = have->dtype == FG_BOOL || fg_dtype_is_float(have->dtype);
    if (!fgi_is_poison(weight) && is_number && fgi_broadcast_shape(shape, have, &both) &&
        fgi_same_shape(shape, &both)) {
        *out = fg_broadcast_to(fg_cast(weight, fg_tensor_type(x)->dtype), shape->rank, shape->dim);
        return true;
    }
    (void)fgi_trace_fail(
        fg_tensor_trace(x), FG_ESHAPE,
        "cross_entropy: %s is %s: expected a floating-point or bool tensor that broadcasts to %s",
        name, fg_type_format(have, a, sizeof a), fg_type_format(shape, b, sizeof b));
    return false;
}

/* The loss for probabilities t T[B, ..., C]: the mean over positions of -sum(t log softmax(x)). */
static fg_tensor soft_entropy(fg_tensor logits, fg_tensor target, const fg_cross_entropy_options *o)
{
    const fg_tensor x = fgi_batch_first(fgi_upcast(logits));
    const fg_dtype dtype = fg_tensor_type(x)->dtype;
    fg_tensor t = fg_cast(fgi_batch_first(target), dtype), class_weight, weight;
    if (fgi_is_poison(x) || fgi_is_poison(t))
        return fgi_poison(fg_tensor_trace(logits));
    const fg_type all = *fg_tensor_type(x);
    fg_type positions = all;
    positions.rank--;
    if (!take_weight("class_weight", o->class_weight, x, &all, &class_weight) ||
        !take_weight("weight", o->weight, x, &positions, &weight))
        return fgi_poison(fg_tensor_trace(logits));
    const double even = o->label_smoothing / (double)all.dim[all.rank - 1];
    if (even != 0)
        t = fg_add_scalar(fg_mul_scalar(t, 1 - o->label_smoothing), even);
    if (class_weight.handle != 0)
        t = fg_mul(t, class_weight);
    const fg_tensor zero = fgi_full_like(t, 0);
    const fg_tensor terms = fg_where(fg_eq(t, zero), zero, fg_mul(t, fg_log_softmax(x)));
    const fg_tensor each = fg_neg(fg_sum(terms, 1, (const int[]){-1}));
    if (weight.handle == 0)
        return fg_mean(each, 0, NULL);
    return counted_mean(each, &weight, fg_ne(weight, fgi_full_like(weight, 0)));
}

/* Whether the targets of these logits are probabilities. */
static bool is_soft(fg_tensor logits, fg_tensor label)
{
    if (fgi_is_poison(logits) || fgi_is_poison(label))
        return false;
    const fg_type *x = fg_tensor_type(logits), *t = fg_tensor_type(label);
    return fg_dtype_is_float(x->dtype) && fg_dtype_is_float(t->dtype) && x->rank > 1 &&
           fgi_same_shape(x, t);
}

fg_tensor fg_cross_entropy(fg_tensor logits, fg_tensor label,
                           const fg_cross_entropy_options *options)
{
    const fg_cross_entropy_options o = options != NULL ? *options : (fg_cross_entropy_options){0};
    fg_trace *trace = fg_tensor_trace(logits);
    const bool has_probabilities = is_soft(logits, label);
    if (!has_probabilities && !expects_logits_and_label("cross_entropy", logits, label))
        return fgi_poison(trace);
    if (!fgi_trace_check_reserved(trace, FGI_RESERVED(fg_cross_entropy_options, options)))
        return fgi_poison(trace);
    if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
        return fgi_trace_fail(trace, FG_EINVAL,
                              "cross_entropy: label_smoothing is %g: expected 0 to 1",
                              o.label_smoothing);
    const int64_t ignored = o.ignore_index == FG_NONE ? 0 : o.ignore_index;
    if (ignored < INT32_MIN || ignored > INT32_MAX)
        return fgi_trace_fail(trace, FG_EINVAL, "cross_entropy: ignore_index does not fit in s32");
    const bool ignores = o.ignore_index != 0;
    if (has_probabilities && ignores)
        return fgi_trace_fail(trace, FG_EINVAL,
                              "cross_entropy: ignore_index is for labels, but the targets are "
                              "probabilities: use weight");
    if (has_probabilities)
        return soft_entropy(logits, label, &o);
    classes c = {.x = fgi_batch_first(fgi_upcast(logits)),
                 .label = fgi_batch_first(label),
                 .smoothing = o.label_smoothing};
    if (fgi_is_poison(c.x) || fgi_is_poison(c.label))
        return fgi_poison(trace);
    const fg_type all = *fg_tensor_type(c.x), positions = *fg_tensor_type(c.label);
    if (!take_weight("class_weight", o.class_weight, c.x, &all, &c.class_weight) ||
        !take_weight("weight", o.weight, c.x, &positions, &c.position_weight))
        return fgi_poison(trace);
    c.hot = fg_one_hot(c.label, all.dim[all.rank - 1], FG_BOOL);
    if (ignores)
        c.counts = fg_ne(c.label, fgi_full_like(c.label, (double)ignored));
    if (c.position_weight.handle != 0) {
        const fg_tensor weighs = fg_ne(c.position_weight, fgi_full_like(c.position_weight, 0));
        c.counts = c.counts.handle != 0 ? fg_and(c.counts, weighs) : weighs;
    }
    if (c.counts.handle !=
        0) { /* positions that are ignored have no gradient, even if they are NaN */
        const int last = positions.rank;
        c.x = fg_where(fgi_expand(c.counts, 1, &last, &all), c.x, fgi_full_like(c.x, 0));
    }
    return mean_entropy(&c);
}

fg_tensor fg_accuracy(fg_tensor logits, fg_tensor label)
{
    if (!expects_logits_and_label("accuracy", logits, label))
        return fgi_poison(fg_tensor_trace(logits));
    return fg_cast(fg_eq(fg_argmax(logits), label), FG_F32);
}

/* ---- numbers --------------------------------------------------------------------------------- */

fg_tensor fg_mse(fg_tensor a, fg_tensor b)
{
    if (fgi_is_poison(a) || fgi_is_poison(b))
        return fgi_poison(fg_tensor_trace(a));
    fgi_upcast_both(&a, &b);
    const fg_type *x = fg_tensor_type(a), *y = fg_tensor_type(b);
    if (x->rank < 1 || !fgi_same_shape(x, y) || x->dtype != y->dtype) {
        char p[96], q[96];
        return fgi_trace_fail(fg_tensor_trace(a), x->dtype != y->dtype ? FG_EDTYPE : FG_ESHAPE,
                              "mse(%s, %s): expected two tensors T[B, ...] of the same type",
                              fg_type_format(x, p, sizeof p), fg_type_format(y, q, sizeof q));
    }
    return fg_mean(fgi_batch_first(fg_square(fg_sub(fgi_upcast(a), fgi_upcast(b)))), 0, NULL);
}
