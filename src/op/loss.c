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
static bool take_weight(const char *op, const char *name, fg_tensor weight, fg_tensor x,
                        const fg_type *shape, fg_tensor *out)
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
        "%s: %s is %s: expected a floating-point or bool tensor that broadcasts to %s", op, name,
        fg_type_format(have, a, sizeof a), fg_type_format(shape, b, sizeof b));
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
    if (!take_weight("cross_entropy", "class_weight", o->class_weight, x, &all, &class_weight) ||
        !take_weight("cross_entropy", "weight", o->weight, x, &positions, &weight))
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
    if (!take_weight("cross_entropy", "class_weight", o.class_weight, c.x, &all, &c.class_weight) ||
        !take_weight("cross_entropy", "weight", o.weight, c.x, &positions, &c.position_weight))
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

/* ---- several labels per sample --------------------------------------------------------------- */

/* Widens both to the type of the logits; false after an error. */
static bool take_binary(const char *op, fg_tensor *logits, fg_tensor *target)
{
    if (fgi_is_poison(*logits) || fgi_is_poison(*target))
        return false;
    const fg_type *x = fg_tensor_type(*logits), *t = fg_tensor_type(*target);
    const bool is_binary = t->dtype == FG_BOOL || t->dtype == FG_U8 || fg_dtype_is_float(t->dtype);
    if (x->rank >= 1 && fgi_same_shape(x, t) && is_binary && fg_dtype_is_float(x->dtype)) {
        *logits = fgi_batch_first(fgi_upcast(*logits));
        *target = fg_cast(fgi_batch_first(*target), fg_tensor_type(*logits)->dtype);
        return true;
    }
    char a[96], b[96];
    (void)fgi_trace_fail(fg_tensor_trace(*logits), fgi_same_shape(x, t) ? FG_EDTYPE : FG_ESHAPE,
                         "%s(%s, %s): expected floating-point logits T[B, ...], and targets of the "
                         "same shape, floating-point, bool or u8",
                         op, fg_type_format(x, a, sizeof a), fg_type_format(t, b, sizeof b));
    return false;
}

/* The loss of each element; pos_weight may be empty: 1. */
static fg_tensor each_binary(fg_tensor x, fg_tensor t, fg_tensor pos_weight)
{
    fg_tensor slope = fgi_full_like(t, 1);
    if (pos_weight.handle != 0)
        slope = fg_add_scalar(fg_mul(fg_add_scalar(pos_weight, -1), t), 1);
    const fg_tensor of_zero = fg_mul(fg_sub(fgi_full_like(t, 1), t), x);
    return fg_add(of_zero, fg_mul(slope, fg_softplus(fg_neg(x))));
}

fg_tensor fg_bce_with_logits(fg_tensor logits, fg_tensor target, const fg_bce_options *opt)
{
    const fg_bce_options o = opt != NULL ? *opt : (fg_bce_options){0};
    fg_trace *trace = fg_tensor_trace(logits);
    fg_tensor x = logits, t = target, pos_weight;
    if (!take_binary("bce_with_logits", &x, &t) ||
        !fgi_trace_check_reserved(trace, FGI_RESERVED(fg_bce_options, opt)))
        return fgi_poison(trace);
    if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
        return fgi_trace_fail(trace, FG_EINVAL,
                              "bce_with_logits: label_smoothing is %g: expected 0 to 1",
                              o.label_smoothing);
    if (!take_weight("bce_with_logits", "pos_weight", o.pos_weight, x, fg_tensor_type(x),
                     &pos_weight))
        return fgi_poison(trace);
    if (o.label_smoothing != 0)
        t = fg_add_scalar(fg_mul_scalar(t, 1 - o.label_smoothing), o.label_smoothing / 2);
    return fg_mean(each_binary(x, t, pos_weight), 0, NULL);
}

/* ---- focal loss ------------------------------------------------------------------------------ */

/* each * rest^gamma */
static fg_tensor focused(fg_tensor each, fg_tensor rest, double gamma)
{
    return gamma == 0 ? each : fg_mul(each, fg_pow(rest, fgi_full_like(rest, gamma)));
}

/* The exponent: 2 by default. */
static double gamma_of(double gamma) { return gamma == 0 && !signbit(gamma) ? 2 : gamma; }

static bool is_gamma(const char *op, fg_trace *trace, double gamma)
{
    if (gamma == 0 || gamma >= 1)
        return true;
    (void)fgi_trace_fail(trace, FG_EINVAL, "%s: gamma is %g: expected 0 or at least 1", op, gamma);
    return false;
}

fg_tensor fg_sigmoid_focal_loss(fg_tensor logits, fg_tensor target,
                                const fg_sigmoid_focal_options *opt)
{
    const fg_sigmoid_focal_options o = opt != NULL ? *opt : (fg_sigmoid_focal_options){0};
    fg_trace *trace = fg_tensor_trace(logits);
    fg_tensor x = logits, t = target;
    if (!take_binary("sigmoid_focal_loss", &x, &t) ||
        !is_gamma("sigmoid_focal_loss", trace, gamma_of(o.gamma)) ||
        !fgi_trace_check_reserved(trace, FGI_RESERVED(fg_sigmoid_focal_options, opt)))
        return fgi_poison(trace);
    if (!(o.alpha >= 0 && o.alpha <= 1))
        return fgi_trace_fail(trace, FG_EINVAL, "sigmoid_focal_loss: alpha is %g: expected 0 to 1",
                              o.alpha);
    const fg_tensor p = fg_sigmoid(x);
    const fg_tensor rest = fg_sub(fg_add(p, t), fg_mul_scalar(fg_mul(p, t), 2));
    fg_tensor each = focused(each_binary(x, t, (fg_tensor){0}), rest, gamma_of(o.gamma));
    if (o.alpha != 0)
        each = fg_mul(each, fg_add_scalar(fg_mul_scalar(t, 2 * o.alpha - 1), 1 - o.alpha));
    return fg_mean(each, 0, NULL);
}

/* target: probabilities T[B, ..., C] */
static fg_tensor mean_focal(fg_tensor x, fg_tensor target, fg_tensor class_weight, double gamma)
{
    const fg_tensor zero = fgi_full_like(x, 0), minus = fg_neg(fg_log_softmax(x));
    const fg_tensor rest = fg_sub(fgi_full_like(x, 1), fg_exp(fg_neg(minus)));
    fg_tensor each = fg_mul(target, focused(minus, rest, gamma));
    if (class_weight.handle != 0)
        each = fg_mul(each, class_weight);
    each = fg_where(fg_eq(target, zero), zero, each);
    return fg_sum(each, 1, (const int[]){-1});
}

fg_tensor fg_focal_loss(fg_tensor logits, fg_tensor label, const fg_focal_options *opt)
{
    const fg_focal_options o = opt != NULL ? *opt : (fg_focal_options){0};
    fg_trace *trace = fg_tensor_trace(logits);
    const bool has_probabilities = is_soft(logits, label);
    if ((!has_probabilities && !expects_logits_and_label("focal_loss", logits, label)) ||
        !is_gamma("focal_loss", trace, gamma_of(o.gamma)) ||
        !fgi_trace_check_reserved(trace, FGI_RESERVED(fg_focal_options, opt)))
        return fgi_poison(trace);
    classes c = {.x = fgi_batch_first(fgi_upcast(logits)), .label = fgi_batch_first(label)};
    const fg_type all = *fg_tensor_type(c.x);
    if (!take_weight("focal_loss", "class_weight", o.class_weight, c.x, &all, &c.class_weight))
        return fgi_poison(trace);
    const fg_tensor target = has_probabilities
                                 ? fg_cast(c.label, all.dtype)
                                 : fg_one_hot(c.label, all.dim[all.rank - 1], all.dtype);
    const fg_tensor each = mean_focal(c.x, target, c.class_weight, gamma_of(o.gamma));
    return fg_mean(has_probabilities ? each : fg_mul(each, label_check(&c)), 0, NULL);
}

/* ---- distributions --------------------------------------------------------------------------- */

fg_tensor fg_kl_div(fg_tensor logits, fg_tensor target)
{
    if (fgi_is_poison(logits) || fgi_is_poison(target))
        return fgi_poison(fg_tensor_trace(logits));
    if (!is_soft(logits, target)) {
        char a[96], b[96];
        return fgi_trace_fail(
            fg_tensor_trace(logits), FG_ESHAPE,
            "kl_div(%s, %s): expected logits and probabilities, both T[B, ..., C]",
            fg_type_format(fg_tensor_type(logits), a, sizeof a),
            fg_type_format(fg_tensor_type(target), b, sizeof b));
    }
    const fg_tensor x = fgi_batch_first(fgi_upcast(logits));
    const fg_tensor t = fg_cast(fgi_batch_first(target), fg_tensor_type(x)->dtype);
    const fg_tensor zero = fgi_full_like(t, 0), is_zero = fg_eq(t, zero);
    const fg_tensor log_t = fg_log(fg_where(is_zero, fgi_full_like(t, 1), t));
    const fg_tensor terms = fg_mul(t, fg_sub(log_t, fg_log_softmax(x)));
    return fg_mean(fg_sum(fg_where(is_zero, zero, terms), 1, (const int[]){-1}), 0, NULL);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* a - b, batch first and wide; poison after an error. */
static fg_tensor difference(const char *op, fg_tensor a, fg_tensor b)
{
    if (fgi_is_poison(a) || fgi_is_poison(b))
        return fgi_poison(fg_tensor_trace(a));
    fgi_upcast_both(&a, &b);
    const fg_type *x = fg_tensor_type(a), *y = fg_tensor_type(b);
    if (x->rank < 1 || !fgi_same_shape(x, y) || x->dtype != y->dtype ||
        !fg_dtype_is_float(x->dtype)) {
        char p[96], q[96];
        return fgi_trace_fail(fg_tensor_trace(a), x->dtype != y->dtype ? FG_EDTYPE : FG_ESHAPE,
                              "%s(%s, %s): expected two tensors T[B, ...] of the same type", op,
                              fg_type_format(x, p, sizeof p), fg_type_format(y, q, sizeof q));
    }
    return fgi_batch_first(fg_sub(fgi_upcast(a), fgi_upcast(b)));
}

fg_tensor fg_mse(fg_tensor a, fg_tensor b)
{
    return fg_mean(fg_square(difference("mse", a, b)), 0, NULL);
}

fg_tensor fg_l1(fg_tensor a, fg_tensor b)
{
    return fg_mean(fg_abs(difference("l1", a, b)), 0, NULL);
}

fg_tensor fg_huber(fg_tensor a, fg_tensor b, double delta)
{
    if (!(delta > 0) || isinf(delta))
        return fgi_trace_fail(fg_tensor_trace(a), FG_EINVAL,
                              "huber: delta is %g: expected a number above 0", delta);
    const fg_tensor d = difference("huber", a, b), size = fg_abs(d);
    const fg_tensor line = fg_mul_scalar(fg_add_scalar(size, -delta / 2), delta);
    const fg_tensor is_near = fg_le(size, fgi_full_like(size, delta));
    return fg_mean(fg_where(is_near, fg_mul_scalar(fg_square(d), 0.5), line), 0, NULL);
}

fg_tensor fg_quantile_loss(fg_tensor prediction, fg_tensor target, const double *quantiles,
                           int count)
{
    fg_trace *trace = fg_tensor_trace(prediction);
    if (fgi_is_poison(prediction) || fgi_is_poison(target))
        return fgi_poison(trace);
    const fg_type *y = fg_tensor_type(target), *p = fg_tensor_type(prediction);
    fg_tensor q[FG_MAX_QUANTILES];
    if (count < 1 || count > FG_MAX_QUANTILES || p->rank < 1 || p->rank > 2 || y->rank != 1 ||
        p->dim[0] != y->dim[0] || fg_type_count(p) != p->dim[0] * count)
        return fgi_trace_fail(trace, FG_ESHAPE,
                              "quantile_loss: expected predictions T[B, %d] and targets T[B]",
                              count);
    for (int i = 0; i < count; i++)
        if (!(quantiles[i] > 0 && quantiles[i] < 1))
            return fgi_trace_fail(trace, FG_EINVAL,
                                  "quantile_loss: a quantile is %g: expected above 0 and below 1",
                                  quantiles[i]);
    prediction = fg_reshape(prediction, FG_DIMS(-1, count));
    target =
        fg_broadcast_to(fg_reshape(target, FG_DIMS(-1, 1)), 2, fg_tensor_type(prediction)->dim);
    const fg_tensor d = difference("quantile_loss", target, prediction);
    for (int i = 0; i < count; i++)
        q[i] = fg_full(trace, fg_tensor_type(d)->dtype, quantiles[i], FG_DIMS(1));
    const fg_tensor all = fg_concat(q, count, 0), is_below = fg_lt(d, fgi_full_like(d, 0));
    return fg_mean(fg_mul(d, fg_where(is_below, fg_add_scalar(all, -1), all)), 0, NULL);
}
