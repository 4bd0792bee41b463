/* step.c - what step functions call: the fields of a batch, metrics, also those of a
 * classification or regression, and the weight of a loss.
 *
 * A logged value is a pair on the device, the weighted sum and the sum of weights, which the
 * program adds to those of the previous steps (stage.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/step/stage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <fulgurite/ops.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "op/op.h"

int fg_batch_field_count(const fg_batch *batch) { return batch->field_count; }

/* ---- the denominator of a loss --------------------------------------------------------------- */

/* The denominator of a value: none, because it is independent of the batch; the rows, also for any
 * other dependency on the batch, and nothing: a mean over samples; the weights of a node, such as
 * tokens, or a multiple of their sum; or several, or the value is not linear in such a mean. */
typedef enum kind { FREE, ROWS, WEIGHTS, SEVERAL } kind;

typedef struct origin {
    kind kind;
    const fgi_node *weight; /* the first node of its structure */
} origin;

static origin join(origin a, origin b)
{
    if (a.kind == FREE || b.kind == FREE)
        return a.kind == FREE ? b : a;
    const bool is_same = a.kind == b.kind && a.weight == b.weight;
    return is_same ? a : (origin){.kind = SEVERAL};
}

/* The result of an operation on a weighted mean. */
static origin through(const fgi_node *node, origin all, const origin *of)
{
    const fgi_linearity linearity = fgi_linearity_of(node->op);
    const bool has_second = node->arity > 1 && of[node->in[1]->id].kind != FREE;
    bool keeps = linearity == FGI_LINEAR;
    if (linearity == FGI_LINEAR_IN_FIRST)
        keeps = !has_second;
    if (linearity == FGI_BILINEAR)
        keeps = !has_second || of[node->in[0]->id].kind == FREE;
    return all.kind != WEIGHTS || keeps ? all : (origin){.kind = SEVERAL};
}

static origin origin_of(const fgi_node *node, const fgi_node *rows, const origin *of)
{
    const fg_trace *trace = node->trace;
    if (node->denominator != NULL && node->denominator->first != rows->first)
        return (origin){WEIGHTS, node->denominator->first};
    if (node->denominator != NULL)
        return (origin){.kind = ROWS};
    if (node->op == &fgi_leaf_op) {
        const bool is_feed = trace->leaves[fgi_leaf_index(node)].kind == FGI_LEAF_FEED;
        return (origin){.kind = is_feed ? ROWS : FREE};
    }
    origin all = {.kind = FREE};
    for (int i = 0; i < node->arity; i++)
        all = join(all, of[node->in[i]->id]);
    return through(node, all, of);
}

/* rows: the number of valid rows; *out_weight is set for WEIGHTS. */
static kind denominator_of(fg_tensor value, fg_tensor rows, fg_tensor *out_weight)
{
    const fgi_node *node = fgi_node_of(value);
    const fg_trace *trace = node->trace;
    origin *of = fgi_calloc((size_t)node->id + 1, sizeof *of);
    if (of == NULL || fgi_is_poison(value)) {
        fgi_free(of);
        return ROWS;
    }
    for (size_t id = 0; id <= node->id; id++)
        of[id] = origin_of(trace->nodes[id], fgi_node_of(rows), of);
    const origin found = of[node->id];
    fgi_free(of);
    if (found.kind == WEIGHTS)
        *out_weight = fgi_tensor_of(found.weight);
    return found.kind;
}

/* ---- what a step logs ------------------------------------------------------------------------ */

fg_tensor fg_batch_at(const fg_batch *batch, int index)
{
    if (index >= 0 && index < batch->field_count)
        return batch->field[index];
    return fgi_trace_fail(batch->trace, FG_ENOTFOUND, "batch: no field %d; there are %d", index,
                          batch->field_count);
}

fg_tensor fg_batch_field(const fg_batch *batch, const char *name)
{
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; i < batch->field_count; i++) {
        const char *have = fg_dataset_field(batch->dataset, i)->name;
        if (strcmp(have, name) == 0)
            return batch->field[i];
        const int n =
            snprintf(names + used, sizeof names - used, "%s'%s'", i == 0 ? "" : ", ", have);
        used = n > 0 && (size_t)n < sizeof names - used ? used + (size_t)n : sizeof names - 1;
    }
    return fgi_trace_fail(batch->trace, FG_ENOTFOUND, "batch: no field '%s'; there are %s", name,
                          names);
}

fg_tensor fg_batch_count(const fg_batch *batch) { return batch->count; }

fg_trace *fg_step_trace(const fg_step *step) { return step->trace; }

static fg_tensor key_word(fg_step *step, int word)
{
    fg_scalar *scalar = &step->stage->sample_key[word];
    scalar->dtype = FG_U32;
    return fg_reshape(fg_scalar_value(step->trace, scalar), FG_DIMS(1));
}

fg_sample_key fg_batch_key(const fg_batch *batch)
{
    fg_step *step = batch->step;
    fgi_stage *stage = step->stage;
    const fg_type type = {.dtype = FG_U32, .rank = 1, .dim = {stage->spec.batch_size}};
    if (step->key.sample.handle != 0)
        return step->key;
    if (stage->samples == NULL)
        stage->samples = fgi_calloc((size_t)(stage->spec.batch_size * fgi_stage_launch_most(stage)),
                                    sizeof *stage->samples);
    if (stage->samples == NULL) {
        const fg_tensor poison = fgi_trace_fail(step->trace, FG_ENOMEM, "out of memory");
        return (fg_sample_key){.key = poison, .sample = poison};
    }
    const int feed = stage->spec.field_count + (stage->kind != FGI_PREDICT ? 1 : 0);
    const fg_tensor words[] = {key_word(step, 0), key_word(step, 1)};
    step->key.key = fg_concat(words, 2, 0);
    step->key.sample =
        fg_batch_axis(fgi_trace_feed_sharded(step->trace, feed, &type, &step->sharding), 0);
    return step->key;
}

/* ---- logging --------------------------------------------------------------------------------- */

static const int every_axis[FG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};

static fg_tensor pair_of(fg_tensor sum, fg_tensor weight)
{
    const fg_tensor parts[] = {fg_reshape(fg_cast(sum, FG_F32), FG_DIMS(1)),
                               fg_reshape(fg_cast(weight, FG_F32), FG_DIMS(1))};
    return fg_concat(parts, 2, 0);
}

/* weight * mean; 0 if the weight is 0: such a mean is NaN. */
static fg_tensor sum_of(fg_tensor mean, fg_tensor weight)
{
    const fg_tensor zero = fgi_full_like(mean, 0);
    return fg_where(fg_ne(weight, zero), fg_mul(mean, weight), zero);
}

/* The sum of a value, and the number of its elements. A scalar is a mean, whose denominator the
 * graph may contain; otherwise it is a mean over samples. */
static fg_tensor plain_pair(const fg_step *step, fg_tensor value)
{
    const int rank = fg_tensor_type(value)->rank;
    const fg_tensor wide = fg_cast(value, FG_F32);
    fg_tensor weight;
    if (rank > 0)
        return pair_of(fg_sum(wide, 0, NULL), fgi_count_valid(wide, rank, every_axis, FG_F32));
    if (denominator_of(value, step->count, &weight) == WEIGHTS) {
        weight = fg_cast(weight, FG_F32);
        return pair_of(sum_of(wide, weight), weight);
    }
    return pair_of(fg_mul(wide, step->count), step->count);
}

/* Whether the step may log a value under that name; otherwise stores an error. */
static bool may_log(const fg_step *step, const char *name, fg_tensor value)
{
    const fgi_stage *stage = step->stage;
    const fg_type *type = fg_tensor_type(value);
    char text[96];
    if (!fgi_is_metric_name(name, 47))
        (void)fgi_trace_fail(step->trace, FG_EINVAL,
                             "log '%s': a name has 1 to 47 letters, digits, '_', '.', '/', '-'",
                             name);
    else if (!fgi_metrics_has_room(&stage->metrics, 1))
        (void)fgi_trace_fail(step->trace, FG_EINVAL, "log '%s': a step logs at most %d names", name,
                             FG_MAX_METRICS);
    else if (type->rank > 0 && type->dim[0] % stage->spec.batch_size != 0)
        (void)fgi_trace_fail(step->trace, FG_ESHAPE,
                             "log '%s': is %s, but must be a scalar or [B, ...] with B = %lld",
                             name, fg_type_format(type, text, sizeof text),
                             (long long)stage->spec.batch_size);
    else if (fgi_metrics_has(&stage->metrics, name))
        (void)fgi_trace_fail(step->trace, FG_EINVAL, "log '%s': logged twice in one step", name);
    return fg_trace_error(step->trace, NULL) == FG_OK;
}

static void put(fg_step *step, const char *name, fg_tensor pair)
{
    fgi_metrics *metrics = &step->stage->metrics;
    step->pair[metrics->count] = pair;
    fgi_metrics_add(metrics, name);
}

/* The loss that a step returns is logged under this name. */
static const char loss_name[] = "loss";

/* False after storing an error. */
static bool is_free(const fg_step *step, const char *name)
{
    const bool is_taken = strcmp(name, loss_name) == 0 && step->stage->kind != FGI_PREDICT;
    if (is_taken)
        (void)fgi_trace_fail(step->trace, FG_EINVAL,
                             "log 'loss': this is the name of the value that the step returns, "
                             "which is logged automatically\nlog other values under other names");
    return !is_taken;
}

static void log_plain(fg_step *step, const char *name, fg_tensor value)
{
    if (fgi_is_poison(value) || step->stage->kind == FGI_PREDICT || !may_log(step, name, value))
        return;
    put(step, name, plain_pair(step, value));
}

static void log_weighted(fg_step *step, const char *name, fg_tensor value, fg_tensor weight)
{
    if (fgi_is_poison(value) || fgi_is_poison(weight) || step->stage->kind == FGI_PREDICT ||
        !may_log(step, name, value))
        return;
    const fg_type *x = fg_tensor_type(value), *w = fg_tensor_type(weight);
    fg_type both = {0};
    if (!fgi_broadcast_shape(x, w, &both) || !fgi_same_shape(x, &both)) {
        char a[96], b[96];
        (void)fgi_trace_fail(step->trace, FG_ESHAPE,
                             "log '%s': the weight is %s, but must broadcast to the value, %s",
                             name, fg_type_format(w, b, sizeof b), fg_type_format(x, a, sizeof a));
        return;
    }
    const fg_tensor wide = fg_broadcast_to(fg_cast(weight, FG_F32), x->rank, x->dim);
    const fg_tensor each = fg_mul(fg_cast(value, FG_F32), wide), zero = fgi_full_like(each, 0);
    const fg_tensor counted = fg_where(fg_ne(wide, zero), each, zero);
    const fg_tensor weights = fgi_with_rows(wide, fgi_node_of(counted)->rows);
    put(step, name, pair_of(fg_sum(counted, 0, NULL), fg_sum(weights, 0, NULL)));
}

void fg_step_log(fg_step *step, const char *name, fg_tensor value)
{
    if (is_free(step, name))
        log_plain(step, name, value);
}

void fg_step_log_weighted(fg_step *step, const char *name, fg_tensor value, fg_tensor weight)
{
    if (is_free(step, name))
        log_weighted(step, name, value, weight);
}

/* ---- the loss -------------------------------------------------------------------------------- */

void fg_step_set_weight(fg_step *step, fg_tensor weight)
{
    const fg_type *type = fg_tensor_type(weight);
    char text[96];
    if (fgi_is_poison(weight))
        return;
    if (type->rank != 0 || type->dtype == FG_BOOL)
        (void)fgi_trace_fail(step->trace, FG_ESHAPE,
                             "set_weight: is %s, but must be a number: the denominator of the "
                             "loss",
                             fg_type_format(type, text, sizeof text));
    else
        step->weight = fg_stop_gradient(fg_cast(weight, FG_F32));
}

bool fgi_step_is_loss(const fg_step *step, const char *what, fg_tensor value)
{
    const fg_type *type = fg_tensor_type(value);
    char text[96];
    const bool is_loss = type->rank == 0 && fg_dtype_is_float(type->dtype);
    if (!is_loss)
        (void)fgi_trace_fail(step->trace, FG_ESHAPE,
                             "%s %s: expected its loss, a floating-point scalar", what,
                             fg_type_format(type, text, sizeof text));
    return is_loss;
}

/* Whether a part of the optimizer has that name; before there is one, any name will do. */
static bool is_part(const fg_step *step, const char *name)
{
    char known[256];
    const char *names[FG_MOST_PARTS];
    const size_t count = step->optimizer != NULL ? step->optimizer->part_count : 0;
    bool is = step->optimizer == NULL;
    for (size_t i = 0; i < count; i++) {
        names[i] = fg_optimizer_part_name(step->optimizer, i);
        is = is || strcmp(names[i], name) == 0;
    }
    if (!is)
        (void)fgi_trace_fail(step->trace, FG_ENOTFOUND,
                             "set_loss: the optimizer has no part '%s' (fg_optimizer_join)%s", name,
                             fgi_suggest(name, names, count, known, sizeof known));
    return is;
}

void fg_step_set_loss(fg_step *step, const char *name, fg_tensor loss)
{
    if (fgi_is_poison(loss) || !is_part(step, name) || !fgi_step_is_loss(step, "set_loss:", loss))
        return;
    bool is_new = step->loss_count < FG_MOST_PARTS;
    for (size_t i = 0; i < step->loss_count; i++)
        is_new = is_new && strcmp(step->loss[i].name, name) != 0;
    if (!is_new) {
        (void)fgi_trace_fail(step->trace, FG_EINVAL,
                             "set_loss: '%s' is set twice, or more than %d losses are set", name,
                             FG_MOST_PARTS);
        return;
    }
    step->loss[step->loss_count].value = loss;
    (void)snprintf(step->loss[step->loss_count].name, sizeof step->loss[0].name, "%s", name);
    step->loss_count++;
}

void fgi_step_losses(const fg_step *step, fg_tensor loss, fg_tensor *out)
{
    for (size_t i = 0; i < FG_MOST_PARTS; i++) {
        const char *name = fg_optimizer_part_name(step->optimizer, i);
        out[i] = loss;
        for (size_t k = 0; name != NULL && k < step->loss_count; k++)
            if (strcmp(step->loss[k].name, name) == 0)
                out[i] = step->loss[k].value;
    }
}

static void log_loss(fg_step *step, const char *name, fg_tensor loss)
{
    if (step->weight.handle == 0)
        log_plain(step, name, loss);
    else
        log_weighted(step, name, loss, step->weight);
}

void fgi_step_log_losses(fg_step *step, fg_tensor loss)
{
    char name[48];
    log_loss(step, loss_name, loss);
    for (size_t i = 0; i < step->loss_count; i++) {
        (void)snprintf(name, sizeof name, "%s_loss", step->loss[i].name);
        log_loss(step, name, step->loss[i].value);
    }
}

fg_tensor fgi_step_loss_weight(const fg_step *step, fg_tensor loss)
{
    fg_tensor weight;
    if (step->weight.handle != 0)
        return step->weight;
    const kind denominator = denominator_of(loss, step->count, &weight);
    if (denominator == WEIGHTS)
        return fg_stop_gradient(fg_cast(weight, FG_F32));
    if (denominator == SEVERAL)
        return fgi_trace_fail(step->trace, FG_EINVAL,
                              "the loss combines means with different denominators, such as the "
                              "tokens and the samples of a batch, or is no longer linear in one: "
                              "the batches of a step (accumulate_grad_batches) can't be weighted\n"
                              "return one mean, or call fg_step_set_weight with the "
                              "weight of the batch's loss");
    return step->count;
}

/* Sets the rule of the metric logged last. */
static void set_rule(fg_step *step, fgi_metric_rule rule)
{
    fgi_stage *stage = step->stage;
    if (stage->kind != FGI_PREDICT && fg_trace_error(step->trace, NULL) == FG_OK)
        stage->metrics.rule[stage->metrics.count - 1] = rule;
}

/* ---- classification -------------------------------------------------------------------------- */

static bool is_checked(fg_step *step, fg_tensor logits, fg_tensor label)
{
    const fg_type *x = fg_tensor_type(logits), *y = fg_tensor_type(label);
    char a[96], b[96];
    if (fgi_is_poison(logits) || fgi_is_poison(label))
        return false;
    if (x->rank != 2 || y->rank != 1 || x->dim[0] != y->dim[0])
        (void)fgi_trace_fail(step->trace, FG_ESHAPE,
                             "log_classification(%s, %s): expected logits [B, C] and labels [B]",
                             fg_type_format(x, a, sizeof a), fg_type_format(y, b, sizeof b));
    else if (!fg_dtype_is_float(x->dtype) || y->dtype != FG_S32)
        (void)fgi_trace_fail(step->trace, FG_EDTYPE,
                             "log_classification(%s, %s): expected floating logits and s32 labels",
                             fg_type_format(x, a, sizeof a), fg_type_format(y, b, sizeof b));
    return fg_trace_error(step->trace, NULL) == FG_OK;
}

/* Whether the step is one of a validation or a test. */
static bool counts_samples(const fg_step *step)
{
    return step->stage->kind == FGI_VAL || step->stage->kind == FGI_TEST;
}

/* f32[B] as f32[B, 1] */
static fg_tensor column(fg_tensor value)
{
    return fg_reshape(fg_cast(value, FG_F32), FG_DIMS(fg_tensor_dim(value, 0), 1));
}

/* In validation and test, keeps values of each sample, T[B] (sample_rows.h). Class indices are
 * exact in f32: there are fewer than 2^24. */
static void keep_rows(fg_step *step, fg_tensor target, fg_tensor prediction, fg_tensor loss)
{
    const fg_tensor parts[FGI_ROW_VALUES] = {column(target), column(prediction), column(loss)};
    if (counts_samples(step))
        step->rows = fg_concat(parts, FGI_ROW_VALUES, 1);
}

/* Whether the task logs this metric. */
static bool logs(const fg_step *step, unsigned task, const char *name)
{
    return fgi_metric_is_chosen(step->chosen, task, fgi_metric_row_find(name, NULL));
}

/* False after storing an error. */
static bool are_known(fg_step *step, unsigned task)
{
    fg_error err = {0};
    if (fgi_metrics_check(step->chosen, task, &err) != FG_OK)
        (void)fgi_trace_fail(step->trace, err.status, "%s", err.message);
    return fg_trace_error(step->trace, NULL) == FG_OK;
}

/* Adds the metrics that follow from counts of classes, and from scores. */
static void add_rows(fg_step *step, unsigned task)
{
    fgi_metrics *metrics = &step->stage->metrics;
    for (size_t i = 0; i < fgi_metric_row_count; i++) {
        const fgi_metric_row *row = &fgi_metric_rows[i];
        if (row->of_classes == FGI_OF_CLASSES || !fgi_metric_is_chosen(step->chosen, task, row))
            continue;
        if (fgi_metrics_has(metrics, row->name) || !fgi_metrics_has_room(metrics, 1)) {
            (void)fgi_trace_fail(step->trace, FG_EINVAL,
                                 "log_classification: '%s' is logged twice in one step, or there "
                                 "are more than %d metrics",
                                 row->name, FG_MAX_METRICS);
            return;
        }
        metrics->rows[metrics->row_count++] = row;
    }
}

/* Sums over the batch of actual and predicted classes, f32[B, C], and of their product. */
static void count_classes(fg_step *step, fg_tensor actual, fg_tensor guess)
{
    const fg_tensor counts[FGI_CLASS_COUNTS] = {fg_sum(actual, 1, (const int[]){0}),
                                                fg_sum(guess, 1, (const int[]){0}),
                                                fg_sum(fg_mul(actual, guess), 1, (const int[]){0})};
    step->class_counts = fg_concat(counts, FGI_CLASS_COUNTS, 0);
    step->stage->metrics.classes = fg_tensor_dim(actual, 1);
}

/* Of each sample, whether its label is one of the k largest logits: fewer than k others are larger,
 * or equal and before it. */
static fg_tensor is_in_top(fg_tensor x, fg_tensor actual, fg_tensor label, int64_t k)
{
    const fg_type *type = fg_tensor_type(x);
    const fg_tensor zero = fgi_full_like(x, 0);
    const fg_tensor own = fg_sum(fg_where(fg_ne(actual, zero), x, zero), 1, (const int[]){1});
    const fg_tensor wide = fg_broadcast_to(column(own), 2, type->dim);
    const fg_tensor index =
        fg_iota(fg_tensor_trace(x), FG_S32, 1, FG_DIMS(type->dim[0], type->dim[1]));
    const fg_tensor before =
        fg_lt(index, fg_broadcast_to(fg_reshape(label, FG_DIMS(-1, 1)), 2, type->dim));
    const fg_tensor is_ahead = fg_or(fg_gt(x, wide), fg_and(fg_eq(x, wide), before));
    const fg_tensor ahead = fg_sum(fg_cast(is_ahead, FG_F32), 1, (const int[]){1});
    return fg_cast(fg_lt(ahead, fgi_full_like(ahead, (double)k)), FG_F32);
}

/* Evaluations only; nll: the loss of each sample. */
static void log_chosen(fg_step *step, fg_tensor x, fg_tensor actual, fg_tensor label, fg_tensor nll)
{
    for (size_t i = 0; i < step->chosen.count; i++) {
        int64_t k;
        (void)fgi_metric_row_find(step->chosen.at[i], &k);
        if (k > 0)
            fg_step_log(step, step->chosen.at[i], is_in_top(x, actual, label, k));
    }
    if (logs(step, FGI_CLASSIFICATION, "log_loss"))
        fg_step_log(step, "log_loss", nll);
    if (!logs(step, FGI_CLASSIFICATION, "perplexity"))
        return;
    fg_step_log(step, "perplexity", nll);
    set_rule(step, (fgi_metric_rule){.kind = FGI_EXPONENTIAL});
}

/* What ranks samples by class: f32[B, 1] for two classes, the difference of their logits; else
 * f32[B, C], the log probabilities. */
static fg_tensor scores_of(fg_tensor x, fg_tensor log_p)
{
    const int64_t rows = fg_tensor_dim(x, 0);
    if (fg_tensor_dim(x, 1) != 2)
        return log_p;
    return fg_sub(fg_slice(x, (const int64_t[]){0, 1}, (const int64_t[]){rows, 2}, NULL),
                  fg_slice(x, (const int64_t[]){0, 0}, (const int64_t[]){rows, 1}, NULL));
}

static void evaluate_classes(fg_step *step, fg_tensor logits, fg_tensor label)
{
    const int64_t classes = fg_tensor_dim(logits, 1);
    const fg_tensor x = fg_cast(logits, FG_F32), predicted = fg_argmax(logits);
    const fg_tensor actual = fg_one_hot(label, classes, FG_F32);
    const fg_tensor zero = fgi_full_like(actual, 0), log_p = fg_log_softmax(x);
    const fg_tensor own = fg_where(fg_ne(actual, zero), log_p, zero);
    const fg_tensor nll = fg_neg(fg_sum(own, 1, (const int[]){1}));
    add_rows(step, FGI_CLASSIFICATION);
    if (fg_trace_error(step->trace, NULL) != FG_OK)
        return;
    log_chosen(step, x, actual, label, nll);
    count_classes(step, actual, fg_one_hot(predicted, classes, FG_F32));
    keep_rows(step, label, predicted, nll);
    if (fgi_metrics_rank(&step->stage->metrics))
        step->rows = fg_concat((fg_tensor[]){step->rows, scores_of(x, log_p)}, 2, 1);
}

void fg_step_log_classification(fg_step *step, fg_tensor logits, fg_tensor label)
{
    if (!is_checked(step, logits, label) || !are_known(step, FGI_CLASSIFICATION))
        return;
    if (logs(step, FGI_CLASSIFICATION, "acc"))
        fg_step_log(step, "acc", fg_accuracy(logits, label));
    if (counts_samples(step) && fg_trace_error(step->trace, NULL) == FG_OK)
        evaluate_classes(step, logits, label);
}

/* One value per sample. */
static fg_tensor by_sample(fg_tensor value)
{
    return fg_tensor_type(value)->rank == 1 ? value : fg_mean(value, 1, (const int[]){1});
}

/* ---- several labels per sample --------------------------------------------------------------- */

static bool is_multilabel_checked(fg_step *step, fg_tensor logits, fg_tensor target)
{
    const fg_type *x = fg_tensor_type(logits), *t = fg_tensor_type(target);
    char a[96], b[96];
    if (fgi_is_poison(logits) || fgi_is_poison(target))
        return false;
    const bool is_binary = t->dtype == FG_BOOL || t->dtype == FG_U8 || fg_dtype_is_float(t->dtype);
    if (x->rank != 2 || !fgi_same_shape(x, t))
        (void)fgi_trace_fail(step->trace, FG_ESHAPE,
                             "log_multilabel(%s, %s): expected logits and targets, both [B, C]",
                             fg_type_format(x, a, sizeof a), fg_type_format(t, b, sizeof b));
    else if (!fg_dtype_is_float(x->dtype) || !is_binary)
        (void)fgi_trace_fail(step->trace, FG_EDTYPE,
                             "log_multilabel(%s, %s): expected floating logits, and targets that "
                             "are floating, bool or u8",
                             fg_type_format(x, a, sizeof a), fg_type_format(t, b, sizeof b));
    return fg_trace_error(step->trace, NULL) == FG_OK;
}

static fg_tensor number_of(fg_tensor labels) { return fg_sum(labels, 1, (const int[]){1}); }

void fg_step_log_multilabel(fg_step *step, fg_tensor logits, fg_tensor target)
{
    if (!is_multilabel_checked(step, logits, target) || !are_known(step, FGI_MULTILABEL))
        return;
    const fg_tensor x = fg_cast(logits, FG_F32), t = fg_cast(target, FG_F32);
    const fg_tensor is_actual = fg_gt(t, fgi_full_like(t, 0.5)),
                    is_estimate = fg_gt(x, fgi_full_like(x, 0));
    const fg_tensor actual = fg_cast(is_actual, FG_F32), guess = fg_cast(is_estimate, FG_F32);
    const fg_tensor wrong = number_of(fg_abs(fg_sub(actual, guess)));
    if (logs(step, FGI_MULTILABEL, "acc"))
        fg_step_log(step, "acc", fg_cast(fg_eq(wrong, fgi_full_like(wrong, 0)), FG_F32));
    if (!counts_samples(step) || fg_trace_error(step->trace, NULL) != FG_OK)
        return;
    const fg_tensor each =
        fg_add(fg_softplus(fg_neg(x)), fg_mul(fg_sub(fgi_full_like(t, 1), t), x));
    const fg_tensor loss = by_sample(each);
    if (logs(step, FGI_MULTILABEL, "log_loss"))
        fg_step_log(step, "log_loss", loss);
    add_rows(step, FGI_MULTILABEL);
    count_classes(step, actual, guess);
    step->stage->metrics.is_multilabel = true;
    keep_rows(step, number_of(actual), number_of(guess), loss);
    if (fgi_metrics_rank(&step->stage->metrics))
        step->rows = fg_concat((fg_tensor[]){step->rows, x, actual}, 3, 1);
}

/* ---- regression ------------------------------------------------------------------------------ */

static bool is_regression_checked(fg_step *step, fg_tensor prediction, fg_tensor target)
{
    const fg_type *p = fg_tensor_type(prediction), *y = fg_tensor_type(target);
    char a[96], b[96];
    if (fgi_is_poison(prediction) || fgi_is_poison(target))
        return false;
    if (!fg_dtype_is_float(p->dtype) || !fg_dtype_is_float(y->dtype))
        (void)fgi_trace_fail(step->trace, FG_EDTYPE,
                             "log_regression(%s, %s): expected floating predictions and targets",
                             fg_type_format(p, a, sizeof a), fg_type_format(y, b, sizeof b));
    else if (p->rank < 1 || p->rank > 2 || p->rank != y->rank ||
             memcmp(p->dim, y->dim, (size_t)p->rank * sizeof p->dim[0]) != 0)
        (void)fgi_trace_fail(step->trace, FG_ESHAPE,
                             "log_regression(%s, %s): expected two tensors [B] or [B, K] of the "
                             "same shape",
                             fg_type_format(p, a, sizeof a), fg_type_format(y, b, sizeof b));
    return fg_trace_error(step->trace, NULL) == FG_OK;
}

void fg_step_log_regression(fg_step *step, fg_tensor prediction, fg_tensor target,
                            const fg_regression_options *opt)
{
    const double unit = opt != NULL && opt->unit != 0 ? opt->unit : 1;
    const double center = opt != NULL ? opt->center : 0;
    if (!fgi_trace_check_reserved(step->trace, FGI_RESERVED(fg_regression_options, opt)))
        return;
    if (!(unit > 0) || !isfinite(unit) || !isfinite(center)) {
        (void)fgi_trace_fail(step->trace, FG_EINVAL,
                             "log_regression: unit %g and center %g: expected a unit above 0 and "
                             "finite numbers",
                             unit, center);
        return;
    }
    if (!is_regression_checked(step, prediction, target) || !are_known(step, FGI_REGRESSION))
        return;
    prediction = fg_cast(prediction, FG_F32);
    target = fg_cast(target, FG_F32);
    const fg_tensor error = fg_sub(prediction, target);
    const fg_tensor square = by_sample(fg_mul(error, error));
    if (logs(step, FGI_REGRESSION, "mae")) {
        fg_step_log(step, "mae", by_sample(fg_abs(error)));
        set_rule(step, (fgi_metric_rule){FGI_SCALED, unit});
    }
    if (logs(step, FGI_REGRESSION, "mse")) {
        fg_step_log(step, "mse", square);
        set_rule(step, (fgi_metric_rule){FGI_SCALED, unit * unit});
    }
    const bool has_r2 = logs(step, FGI_REGRESSION, "r2") && fg_tensor_type(target)->rank == 1;
    if (logs(step, FGI_REGRESSION, "rmse") || has_r2) { /* r2 follows from it */
        fg_step_log(step, logs(step, FGI_REGRESSION, "rmse") ? "rmse" : "r2_errors", square);
        set_rule(step, logs(step, FGI_REGRESSION, "rmse") ? (fgi_metric_rule){FGI_ROOT, unit}
                                                          : (fgi_metric_rule){.kind = FGI_HIDDEN});
    }
    if (fg_tensor_type(target)->rank != 1)
        return;
    keep_rows(step, target, prediction, fg_abs(error));
    if (!has_r2)
        return;
    const fg_tensor centered = fg_add_scalar(target, -center);
    fg_step_log(step, "r2", centered);
    set_rule(step, (fgi_metric_rule){.kind = FGI_DETERMINATION});
    fg_step_log(step, "r2_squares", fg_mul(centered, centered));
    set_rule(step, (fgi_metric_rule){.kind = FGI_HIDDEN});
}

/* The sums of the losses of tokens and of the bytes of text that they encode. */
static void log_bits_per_byte(fg_step *step, fg_tensor loss, fg_tensor bytes_per_token)
{
    static const char name[] = "bits_per_byte";
    if (fgi_is_poison(loss) || fgi_is_poison(bytes_per_token) || step->stage->kind == FGI_PREDICT ||
        !may_log(step, name, loss))
        return;
    const fg_tensor tokens = fg_cast(fgi_step_loss_weight(step, loss), FG_F32);
    put(step, name,
        pair_of(sum_of(fg_cast(loss, FG_F32), tokens), sum_of(bytes_per_token, tokens)));
    set_rule(step, (fgi_metric_rule){FGI_SCALED, 1 / M_LN2});
}

void fg_step_log_language(fg_step *step, fg_tensor loss, fg_tensor bytes_per_token)
{
    if (!are_known(step, FGI_LANGUAGE))
        return;
    if (logs(step, FGI_LANGUAGE, "perplexity")) {
        fg_step_log(step, "perplexity", loss);
        set_rule(step, (fgi_metric_rule){.kind = FGI_EXPONENTIAL});
    }
    if (bytes_per_token.handle != 0 && logs(step, FGI_LANGUAGE, "bits_per_byte"))
        log_bits_per_byte(step, loss, bytes_per_token);
}
