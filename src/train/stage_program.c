/* stage_program.c - a step function traced into a program.
 *
 * The program's feeds are the fields of the batch and, except for predict, the metrics' sums; its
 * result is the new sums, or the prediction. The padding rows of a partial last batch are masked,
 * using a scalar that is the number of valid rows, so that all batches of a stage share a program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "op/op.h"
#include "trace/precision.h"
#include "train/accumulate.h"
#include "train/callback_programs.h"
#include "train/health.h"
#include "train/log_model.h"
#include "train/stage.h"
#include "train/stage_parts.h"
#include "train/step.h"
#include "train/strategy.h"
#include "train/trainer.h"

/* Sets the number of valid rows and, if the last batch is not full, the mask. */
static void set_mask(fg_step *step)
{
    const int64_t rows = step->stage->spec.batch_size;
    step->count = fg_full(step->trace, FG_F32, (double)rows, FG_SCALAR);
    if (!step->stage->spec.has_tail)
        return;
    const fg_tensor valid = fg_scalar_value(step->trace, &step->stage->valid);
    const fg_tensor row = fg_iota(step->trace, FG_S32, 0, FG_DIMS(rows));
    step->count = fg_cast(valid, FG_F32);
    fgi_trace_set_mask(step->trace, fg_cast(fg_lt(row, valid), FG_F32), &step->count);
}

/* With f64 precision, floating-point data are cast to f64. Narrower precisions leave data as they
 * are: operations cast what they need, and targets keep their precision. */
static fg_tensor in_precision(const fgi_precision *precision, fg_tensor field)
{
    const bool is_float = fg_dtype_is_float(fg_tensor_type(field)->dtype);
    return precision->data == FG_F64 && is_float ? fg_cast(field, FG_F64) : field;
}

/* A field of the batch, whose first dimension is the batch axis. */
static fg_tensor field_of(fg_trainer *trainer, fgi_stage *stage, int i)
{
    const fgi_sharding sharding = fgi_batch_sharding(trainer);
    const fg_tensor given =
        fgi_trace_feed_sharded(stage->trace, i, &stage->spec.field_type[i], &sharding);
    return fg_batch_axis(in_precision(trainer->precision, given), 0);
}

static fg_tensor call_step(fg_trainer *trainer, fg_step *step, const fg_batch *batch)
{
    const fg_task_ops *ops = trainer->model.task.ops;
    void *self = trainer->model.task.self;
    switch (step->stage->kind) {
    case FGI_TRAIN: return ops->train_step(self, step, batch);
    case FGI_VAL: return ops->val_step(self, step, batch);
    case FGI_TEST:
        return (ops->test_step != NULL ? ops->test_step : ops->val_step)(self, step, batch);
    case FGI_PREDICT: break;
    }
    return ops->predict_step(self, step, batch);
}

/* The pairs of all metrics as f32[2 n], and the counts of classes, added to the previous sums
 * unless new ones start; in training followed by the health of the update. */
static fg_tensor new_sums(fg_trainer *trainer, fg_step *step)
{
    fgi_stage *stage = step->stage;
    const int64_t pairs = (int64_t)fgi_metrics_count(stage->metrics), first = 0;
    const int64_t count = 2 * pairs + FGI_CLASS_COUNTS * fgi_metrics_classes(stage->metrics);
    const fg_type type = {.dtype = FG_F32, .rank = 1, .dim = {(int64_t)fgi_stage_sum_count(stage)}};
    fg_tensor now = fg_concat(step->pair, (int)pairs, 0);
    if (step->class_counts.handle != 0)
        now = fg_concat((fg_tensor[]){now, step->class_counts}, 2, 0);
    const fg_tensor given = fgi_trace_feed(step->trace, stage->spec.field_count, &type);
    const fg_tensor before = fg_slice(given, &first, &count, NULL);
    const fg_tensor fresh = fg_ne(fg_scalar_value(step->trace, &stage->fresh),
                                  fg_zeros(step->trace, FG_U32, FG_SCALAR));
    const fg_tensor zero = fg_zeros(step->trace, FG_F32, FG_DIMS(count));
    const fg_tensor sums = fg_add(now, fg_where(fresh, zero, before));
    if (stage->kind != FGI_TRAIN)
        return sums;
    return fg_concat((fg_tensor[]){sums, fgi_health_value(trainer, step->trace)}, 2, 0);
}

/* Updates the parameters, and then what callbacks add. */
static void add_update(const fg_trainer *trainer, fg_tensor loss)
{
    fg_optimizer_minimize(trainer->model.optimizer, loss);
    fgi_callbacks_update(trainer, fg_tensor_trace(loss));
}

static const char *const function[] = {"train_step", "val_step", "test_step", "predict_step"};

/* Traces the whole step; returns the result of its program. */
static fg_tensor trace_step(fg_trainer *trainer, fg_step *step, const fg_batch *batch)
{
    fgi_stage *stage = step->stage;
    const fg_tensor value = call_step(trainer, step, batch);
    const char *dead = fgi_tensor_dead(value);
    if (dead != NULL)
        return fgi_trace_fail(step->trace, FG_EINVAL, "what %s returned: %s", function[stage->kind],
                              dead);
    if (stage->kind == FGI_PREDICT || fgi_is_poison(value))
        return value;
    const fg_type *type = fg_tensor_type(value);
    char text[96];
    if (type->rank != 0 || !fg_dtype_is_float(type->dtype))
        return fgi_trace_fail(step->trace, FG_ESHAPE,
                              "the %sstep returned %s: expected its loss, a floating-point scalar",
                              fgi_stage_prefix(stage->kind),
                              fg_type_format(type, text, sizeof text));
    fgi_step_log_loss(step, value);
    if (stage->kind == FGI_TRAIN)
        fgi_log_model(trainer, value);
    if (stage->accumulator != NULL)
        fgi_accumulate(stage->accumulator, value, fgi_step_loss_weight(step, value));
    else if (stage->kind == FGI_TRAIN)
        add_update(trainer, value);
    if (fg_trace_error(step->trace, NULL) != FG_OK)
        return fgi_poison(step->trace);
    return new_sums(trainer, step);
}

static fg_status check_prediction(const fgi_stage *stage, fg_tensor value, fg_error *err)
{
    char text[96];
    const fg_type *type = fg_tensor_type(value);
    if (stage->kind != FGI_PREDICT || fgi_is_poison(value))
        return FG_OK;
    if (type->rank < 1 || type->dim[0] != stage->spec.batch_size)
        return fgi_fail(err, FG_ESHAPE, "the predict step returned %s: expected one row per sample",
                        fg_type_format(type, text, sizeof text));
    for (int i = 0; i < type->rank && fgi_node_of(value)->rows != NULL; i++)
        if (fgi_node_of(value)->rows->step[i] != (i == 0 ? 1 : 0))
            return fgi_fail(err, FG_EINVAL,
                            "the predict step returned %s, whose dimension %d is %s: it must be "
                            "[B, ...] with one row per sample, and no other dimension may be a "
                            "batch axis",
                            fg_type_format(type, text, sizeof text), i,
                            i == 0 ? "not the batch axis alone" : "a batch axis too");
    return FG_OK;
}

static fg_status build_program(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    FGI_TRY(fg_trace_create(trainer->client, &stage->trace, err));
    fg_trace *trace = stage->trace;
    fg_step step = {.trace = trace, .stage = stage, .sharding = fgi_batch_sharding(trainer)};
    fg_batch batch = {.step = &step,
                      .trace = trace,
                      .dataset = stage->spec.dataset,
                      .field_count = stage->spec.field_count};
    trace->is_step = true;
    trace->label = function[stage->kind];
    trace->step = trainer->cursor.step;
    trace->history = &stage->history;
    for (int i = 0; i < stage->spec.field_count; i++)
        trace->feed_name[i] = fg_dataset_field(stage->spec.dataset, i)->name;
    stage->valid.dtype = FG_S32;
    stage->fresh.dtype = FG_U32;
    fgi_metrics_clear(stage->metrics);
    FGI_TRY(fg_trace_set_precision(trace, trainer->precision->name, err));
    fg_trace_set_training(trace, stage->kind == FGI_TRAIN);
    if (stage->kind != FGI_TRAIN)
        fgi_callbacks_substitute(trainer, trace);
    if (stage->kind == FGI_PREDICT)
        trace->result_sharding = fgi_batch_sharding(trainer);
    fg_here(trainer->call.file, trainer->call.line); /* that gave the data */
    set_mask(&step);
    batch.count = step.count;
    for (int i = 0; i < stage->spec.field_count; i++)
        batch.field[i] = field_of(trainer, stage, i);
    const fg_tensor result[] = {trace_step(trainer, &step, &batch), step.rows};
    FGI_TRY(fg_trace_error(trace, err));
    FGI_TRY(check_prediction(stage, result[0], err));
    stage->has_rows = step.rows.handle != 0;
    FGI_TRY(fgi_step_program_create(trace, result, stage->has_rows ? 2 : 1, &stage->program, err));
    fg_trace_reset(trace);
    return FG_OK;
}

fg_status fgi_stage_build(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    const bool sums = stage->kind == FGI_TRAIN && fgi_accumulation_most(&trainer->accumulation) > 1;
    if (sums)
        FGI_TRY(fgi_accumulator_create(trainer->model.optimizer, &stage->accumulator, err));
    FGI_TRY(build_program(trainer, stage, err)); /* determines which parameters have gradients */
    if (sums)
        FGI_TRY(fgi_accumulator_compile(stage->accumulator, trainer, &stage->update_history, err));
    return FG_OK;
}
