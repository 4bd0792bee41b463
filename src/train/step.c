/* step.c - what step functions call: the fields of a batch, metrics, the weight of a loss.
 *
 * A logged value is a pair on the device, the weighted sum and the sum of weights, which the
 * program adds to those of the previous steps (stage.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "op/op.h"
#include "trace/trace.h"
#include "train/metrics.h"
#include "train/stage.h"
#include "train/step.h"

int fg_batch_field_count(const fg_batch *batch) { return batch->field_count; }

/* ---- the denominator of a loss --------------------------------------------------------------- */

/* What a scalar of a step was divided by. */
typedef enum fgi_denominator {
    FGI_BY_ROWS,    /* valid rows, or nothing: a mean over samples */
    FGI_BY_WEIGHTS, /* a sum of weights, such as tokens, or a multiple of it */
    FGI_BY_SEVERAL  /* several, or the value is not linear in such a mean */
} fgi_denominator;

/* The denominator of a value: none, because it is independent of the batch; the rows, also for any
 * other dependency on the batch; the weights of a node; or several. */
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

/* rows: the number of valid rows; *out_weight is set for FGI_BY_WEIGHTS. */
static fgi_denominator denominator_of(fg_tensor value, fg_tensor rows, fg_tensor *out_weight)
{
    const fgi_node *node = fgi_node_of(value);
    const fg_trace *trace = node->trace;
    origin *of = fgi_calloc((size_t)node->id + 1, sizeof *of);
    if (of == NULL || fgi_is_poison(value)) {
        fgi_free(of);
        return FGI_BY_ROWS;
    }
    for (size_t id = 0; id <= node->id; id++)
        of[id] = origin_of(trace->nodes[id], fgi_node_of(rows), of);
    const origin found = of[node->id];
    fgi_free(of);
    if (found.kind == WEIGHTS)
        *out_weight = fgi_tensor_of(found.weight);
    return found.kind == SEVERAL   ? FGI_BY_SEVERAL
           : found.kind == WEIGHTS ? FGI_BY_WEIGHTS
                                   : FGI_BY_ROWS;
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

fgi_stage *fgi_step_stage(const fg_step *step) { return step->stage; }

/* ---- logging --------------------------------------------------------------------------------- */

static const int every_axis[FG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};

static fg_tensor pair_of(fg_tensor sum, fg_tensor weight)
{
    const fg_tensor parts[] = {fg_reshape(fg_cast(sum, FG_F32), FG_DIMS(1)),
                               fg_reshape(fg_cast(weight, FG_F32), FG_DIMS(1))};
    return fg_concat(parts, 2, 0);
}

/* (weight * value, weight); (0, 0) if the weight is 0: such a mean is NaN. */
static fg_tensor weighted_pair(fg_tensor value, fg_tensor weight)
{
    const fg_tensor zero = fgi_full_like(value, 0);
    return pair_of(fg_where(fg_ne(weight, zero), fg_mul(value, weight), zero), weight);
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
    if (denominator_of(value, step->count, &weight) == FGI_BY_WEIGHTS)
        return weighted_pair(wide, fg_cast(weight, FG_F32));
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
    else if (!fgi_metrics_has_room(fgi_stage_metrics(stage), 1))
        (void)fgi_trace_fail(step->trace, FG_EINVAL, "log '%s': a step logs at most %d names", name,
                             FG_MAX_METRICS);
    else if (type->rank > 0 && type->dim[0] % fgi_stage_batch_size(stage) != 0)
        (void)fgi_trace_fail(step->trace, FG_ESHAPE,
                             "log '%s': is %s, but must be a scalar or [B, ...] with B = %lld",
                             name, fg_type_format(type, text, sizeof text),
                             (long long)fgi_stage_batch_size(stage));
    else if (fgi_metrics_has(fgi_stage_metrics(stage), name))
        (void)fgi_trace_fail(step->trace, FG_EINVAL, "log '%s': logged twice in one step", name);
    return fg_trace_error(step->trace, NULL) == FG_OK;
}

static void put(fg_step *step, const char *name, fg_tensor pair)
{
    fgi_metrics *metrics = fgi_stage_metrics(step->stage);
    step->pair[fgi_metrics_count(metrics)] = pair;
    fgi_metrics_add(metrics, name);
}

/* The loss that a step returns is logged under this name. */
static const char loss_name[] = "loss";

/* False after storing an error. */
static bool is_free(const fg_step *step, const char *name)
{
    const bool is_taken =
        strcmp(name, loss_name) == 0 && fgi_stage_get_kind(step->stage) != FGI_PREDICT;
    if (is_taken)
        (void)fgi_trace_fail(step->trace, FG_EINVAL,
                             "log 'loss': this is the name of the value that the step returns, "
                             "which is logged automatically\nlog other values under other names");
    return !is_taken;
}

static void log_plain(fg_step *step, const char *name, fg_tensor value)
{
    if (fgi_is_poison(value) || fgi_stage_get_kind(step->stage) == FGI_PREDICT ||
        !may_log(step, name, value))
        return;
    put(step, name, plain_pair(step, value));
}

static void log_weighted(fg_step *step, const char *name, fg_tensor value, fg_tensor weight)
{
    if (fgi_is_poison(value) || fgi_is_poison(weight) ||
        fgi_stage_get_kind(step->stage) == FGI_PREDICT || !may_log(step, name, value))
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

void fgi_step_log_loss(fg_step *step, fg_tensor loss)
{
    if (step->weight.handle == 0)
        log_plain(step, loss_name, loss);
    else
        log_weighted(step, loss_name, loss, step->weight);
}

fg_tensor fgi_step_loss_weight(const fg_step *step, fg_tensor loss)
{
    fg_tensor weight;
    if (step->weight.handle != 0)
        return step->weight;
    switch (denominator_of(loss, step->count, &weight)) {
    case FGI_BY_ROWS: break;
    case FGI_BY_WEIGHTS: return fg_stop_gradient(fg_cast(weight, FG_F32));
    case FGI_BY_SEVERAL:
        return fgi_trace_fail(step->trace, FG_EINVAL,
                              "the loss combines means with different denominators, such as the "
                              "tokens and the samples of a batch, or is no longer linear in one: "
                              "the batches of a step (accumulate_grad_batches) can't be weighted\n"
                              "return one mean, or call fg_step_set_weight with the "
                              "weight of the batch's loss");
    }
    return step->count;
}
