/* stage.c - a step function traced into a program.
 *
 * The program's feeds are the batch's fields and, but for predict, the metrics' sums; its result is
 * the new sums, or the prediction. Rows that fill up a tail batch are masked by a scalar that says
 * how many count, so that every batch of a stage is one program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "op/op.h"
#include "trace/precision.h"
#include "train/accumulate.h"
#include "train/device_memory.h"
#include "train/feed.h"
#include "train/fit_settings.h"
#include "train/health.h"
#include "train/ledger.h"
#include "train/progress.h"
#include "train/signals.h"
#include "train/step.h"
#include "train/strategy.h"
#include "train/trainer.h"

const char *fgi_stage_prefix(fgi_stage_kind kind)
{
    static const char *const prefix[] = {"train_", "val_", "test_", ""};
    return prefix[kind];
}

void fgi_stage_drop_first(fgi_stage *stage)
{
    if (stage->first != NULL)
        fg_loader_release(stage->loader, stage->first);
    stage->first = NULL;
}

void fgi_stage_fini(fgi_stage *stage)
{
    fgi_stage_drop_first(stage);
    fg_loader_destroy(stage->loader);
    fg_array_release(stage->sums);
    fgi_step_program_destroy(stage->program);
    fgi_accumulator_destroy(stage->accumulator);
    fg_trace_destroy(stage->trace);
}

/* ---- tracing --------------------------------------------------------------------------------- */

/* The mask of a stage whose last batch is not full, and the number of valid rows. */
static void set_mask(fg_step *step)
{
    const int64_t rows = step->stage->batch_size;
    step->count = fg_full(step->trace, FG_F32, (double)rows, FG_SCALAR);
    if (!step->stage->has_tail)
        return;
    const fg_tensor valid = fg_scalar_value(step->trace, &step->stage->valid);
    const fg_tensor row = fg_iota(step->trace, FG_S32, 0, FG_DIMS(rows));
    step->count = fg_cast(valid, FG_F32);
    fgi_trace_set_mask(step->trace, fg_cast(fg_lt(row, valid), FG_F32), &step->count);
}

/* Floating data are f64 where everything is. Narrower ones stay as they are: what needs them
 * narrow casts them, and targets keep their digits. */
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
        fgi_trace_feed_sharded(stage->trace, i, &stage->field_type[i], &sharding);
    return fg_batch_axis(in_precision(trainer->precision, given), 0);
}

static fg_tensor call_step(fg_trainer *trainer, fg_step *step, const fg_batch *batch)
{
    const fg_task_ops *ops = trainer->task.ops;
    void *self = trainer->task.self;
    switch (step->stage->kind) {
    case FGI_TRAIN: return ops->train_step(self, step, batch);
    case FGI_VAL: return ops->val_step(self, step, batch);
    case FGI_TEST:
        return (ops->test_step != NULL ? ops->test_step : ops->val_step)(self, step, batch);
    case FGI_PREDICT: break;
    }
    return ops->predict_step(self, step, batch);
}

size_t fgi_stage_sums(const fgi_stage *stage)
{
    return 2 * stage->metric_count + (stage->kind == FGI_TRAIN ? FGI_HEALTH_SIZE : 0);
}

static fg_type sums_type(const fgi_stage *stage)
{
    return (fg_type){.dtype = FG_F32, .rank = 1, .dim = {(int64_t)fgi_stage_sums(stage)}};
}

/* All metrics' pairs as f32[2 n], added to the sums unless these begin anew; behind them what the
 * optimizer tells. */
static fg_tensor new_sums(fg_trainer *trainer, fg_step *step)
{
    fgi_stage *stage = step->stage;
    const int64_t count = 2 * (int64_t)stage->metric_count, first = 0;
    const fg_type type = sums_type(stage);
    const fg_tensor now = fg_concat(step->pair, (int)stage->metric_count, 0);
    const fg_tensor given = fgi_trace_feed(step->trace, stage->field_count, &type);
    const fg_tensor before = fg_slice(given, &first, &count, NULL);
    const fg_tensor fresh = fg_ne(fg_scalar_value(step->trace, &stage->fresh),
                                  fg_zeros(step->trace, FG_U32, FG_SCALAR));
    const fg_tensor zero = fg_zeros(step->trace, FG_F32, FG_DIMS(count));
    const fg_tensor sums = fg_add(now, fg_where(fresh, zero, before));
    if (stage->kind != FGI_TRAIN)
        return sums;
    return fg_concat((fg_tensor[]){sums, fgi_health_value(trainer, step->trace)}, 2, 0);
}

/* Writes the whole step into the trace and returns what its program gives back. */
static fg_tensor trace_step(fg_trainer *trainer, fg_step *step, const fg_batch *batch)
{
    fgi_stage *stage = step->stage;
    static const char *const function[] = {"train_step", "val_step", "test_step", "predict_step"};
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
    if (stage->accumulator != NULL)
        fgi_accumulate(stage->accumulator, value, fgi_step_loss_weight(step, value));
    else if (stage->kind == FGI_TRAIN)
        fg_optimizer_minimize(trainer->optimizer, value);
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
    if (type->rank < 1 || type->dim[0] != stage->batch_size)
        return fgi_fail(err, FG_ESHAPE, "the predict step returned %s: expected one row per sample",
                        fg_type_format(type, text, sizeof text));
    for (int i = 0; i < type->rank && fgi_node_of(value)->rows != NULL; i++)
        if (fgi_node_of(value)->rows->step[i] != (i == 0 ? 1 : 0))
            return fgi_fail(err, FG_EINVAL,
                            "the predict step returned %s, whose dimension %d is a batch axis%s: "
                            "it must be [B, ...] with one row a sample, and nothing else may run "
                            "over the samples of the batch",
                            fg_type_format(type, text, sizeof text), i,
                            i == 0 ? " merged with another one" : " too");
    return FG_OK;
}

static fg_status build_program(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    FGI_TRY(fg_trace_create(trainer->client, &stage->trace, err));
    fg_trace *trace = stage->trace;
    fg_step step = {.trace = trace, .stage = stage};
    fg_batch batch = {.trace = trace, .dataset = stage->dataset, .field_count = stage->field_count};
    trace->is_step = true;
    stage->valid.dtype = FG_S32;
    stage->fresh.dtype = FG_U32;
    stage->metric_count = 0;
    memset(stage->rule, 0, sizeof stage->rule);
    FGI_TRY(fg_trace_set_precision(trace, trainer->precision->name, err));
    fg_trace_set_training(trace, stage->kind == FGI_TRAIN);
    if (stage->kind == FGI_PREDICT)
        trace->result_sharding = fgi_batch_sharding(trainer);
    set_mask(&step);
    batch.count = step.count;
    for (int i = 0; i < stage->field_count; i++)
        batch.field[i] = field_of(trainer, stage, i);
    const fg_tensor result = trace_step(trainer, &step, &batch);
    FGI_TRY(fg_trace_error(trace, err));
    FGI_TRY(check_prediction(stage, result, err));
    FGI_TRY(fgi_step_program_create(trace, &result, 1, &stage->program, err));
    fg_trace_reset(trace);
    return FG_OK;
}

fg_status fgi_stage_clear_sums(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    static const float zeros[FGI_MOST_SUMS];
    stage->fresh.value.u32 = 1;
    if (stage->kind == FGI_PREDICT || stage->sums != NULL)
        return FG_OK;
    const fg_type type = sums_type(stage);
    return fgi_array_upload(trainer->client, &type, NULL, zeros, FGI_UPLOAD_COPY, &stage->sums,
                            NULL, err);
}

/* ---- loader ---------------------------------------------------------------------------------- */

static fg_status open_loader(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    const bool is_train = stage->kind == FGI_TRAIN;
    const fg_client_info *info = fg_client_get_info(trainer->client);
    if (info->process_count > 1)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "this is process %d of %d: the Trainer supports one process only\n"
                        "limit the plugin to this machine's devices",
                        info->process_index, info->process_count);
    const fg_loader_options options = {
        .batch_size = stage->batch_size,
        .shuffle = !stage->no_shuffle,
        .seed = trainer->options.seed,
        .drop_last = stage->drop_last,
        .shuffle_buffer = stage->shuffle_buffer,
        .run_ahead = is_train,
        .synchronous = stage->workers<0, .workers = stage->workers> 0 ? stage->workers : 0,
        .prefetch = FGI_SLOTS,
        .epoch = is_train ? trainer->cursor.epoch : 0,
        .position = is_train ? trainer->cursor.position : 0,
    };
    return fg_loader_create(stage->dataset, &options, &stage->loader, err);
}

static fg_status check_step_functions(const fg_trainer *trainer, fgi_stage_kind kind, fg_error *err)
{
    const fg_task_ops *ops = trainer->task.ops;
    const bool there = kind == FGI_TRAIN  ? ops->train_step != NULL
                       : kind == FGI_VAL  ? ops->val_step != NULL
                       : kind == FGI_TEST ? ops->test_step != NULL || ops->val_step != NULL
                                          : ops->predict_step != NULL;
    static const char *const name[] = {"train", "val", "test", "predict"};
    if (!there)
        return fgi_fail(err, FG_EINVAL, "task '%s' has no %s_step", trainer->task.name, name[kind]);
    return FG_OK;
}

bool fgi_same_type(const fg_type *a, const fg_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0;
}

/* Whether the stage's loader is for these data. */
static bool has_loader(const fgi_stage *stage, const fgi_stage *requested)
{
    return stage->loader != NULL && stage->dataset == requested->dataset &&
           stage->batch_size == requested->batch_size &&
           stage->no_shuffle == requested->no_shuffle && stage->drop_last == requested->drop_last &&
           stage->shuffle_buffer == requested->shuffle_buffer &&
           stage->workers == requested->workers;
}

/* Whether the stage's program takes these data's batches. */
static bool has_program(const fgi_stage *stage, const fgi_stage *requested)
{
    if (stage->program == NULL || stage->batch_size != requested->batch_size ||
        stage->trainable != requested->trainable || stage->has_tail != requested->has_tail ||
        stage->field_count != requested->field_count)
        return false;
    for (int i = 0; i < stage->field_count; i++)
        if (!fgi_same_type(&stage->field_type[i], &requested->field_type[i]) ||
            strcmp(fg_dataset_field(stage->dataset, i)->name,
                   fg_dataset_field(requested->dataset, i)->name) != 0)
            return false;
    return true;
}

/* The part of the data that a stage reads; NULL: none was given. */
static fg_dataset *data_of(fgi_stage_kind kind, const fg_fit_data *data)
{
    switch (kind) {
    case FGI_TRAIN: return data->train;
    case FGI_VAL: return data->val;
    case FGI_TEST: return data->test;
    case FGI_PREDICT: return data->predict;
    }
    return NULL;
}

/* What the stage will be like for these data, without loader and program. */
static fgi_stage describe(fgi_stage_kind kind, const fg_fit_data *data, int64_t batch_size)
{
    fg_dataset *dataset = data_of(kind, data);
    fgi_stage stage = {.kind = kind,
                       .dataset = dataset,
                       .workers = data->workers,
                       .no_shuffle = kind != FGI_TRAIN || data->no_shuffle,
                       .drop_last = kind == FGI_TRAIN && data->drop_last,
                       .shuffle_buffer = kind == FGI_TRAIN ? fgi_shuffle_buffer(data) : 0,
                       .batch_size = batch_size,
                       .field_count = fg_dataset_field_count(dataset)};
    const int64_t count = fg_dataset_count(dataset);
    stage.has_tail = !stage.drop_last && batch_size > 1 && (count < 0 || count % batch_size != 0);
    for (int i = 0; i < stage.field_count; i++) {
        const fg_type *sample = &fg_dataset_field(dataset, i)->type;
        fg_type *type = &stage.field_type[i];
        *type = (fg_type){.dtype = sample->dtype, .rank = sample->rank + 1, .dim = {batch_size}};
        memcpy(type->dim + 1, sample->dim, (size_t)sample->rank * sizeof sample->dim[0]);
    }
    return stage;
}

/* The step's program and, where gradients are summed over batches, that of the update. */
static fg_status build_programs(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    const bool sums =
        stage->kind == FGI_TRAIN && trainer->options.numerics.accumulate_grad_batches > 1;
    if (sums)
        FGI_TRY(fgi_accumulator_create(trainer->optimizer, &stage->accumulator, err));
    FGI_TRY(build_program(trainer, stage, err)); /* which says what has gradients */
    if (sums)
        FGI_TRY(fgi_accumulator_compile(stage->accumulator, trainer->client, err));
    return FG_OK;
}

/* Differs where other variables are trainable. */
static uint64_t trainable_mark(const fg_trainer *trainer, fgi_stage_kind kind)
{
    fgi_hash hash = {0, 0};
    const size_t count = kind == FGI_TRAIN ? fg_module_variable_count(trainer->root) : 0;
    for (size_t i = 0; i < count; i++) {
        const unsigned char bit = fg_variable_is_trainable(fg_module_variable_at(trainer->root, i));
        hash = fgi_hash_more(hash, &bit, 1);
    }
    return hash.lo;
}

fg_status fgi_stage_refresh(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    const uint64_t trainable = trainable_mark(trainer, stage->kind);
    if (stage->program != NULL && stage->trainable == trainable)
        return FG_OK;
    FGI_TRY(fgi_feed_drain(trainer, err));
    fgi_step_program_destroy(stage->program);
    fgi_accumulator_destroy(stage->accumulator);
    fg_trace_destroy(stage->trace);
    stage->program = NULL;
    stage->accumulator = NULL;
    stage->trace = NULL;
    stage->trainable = trainable;
    return build_programs(trainer, stage, err);
}

static const char *const stage_names[] = {"training", "validation", "test", "prediction"};
static const char *const part_names[] = {"train", "val", "test", "predict"};

/* Everything an empty stage needs. */
static fg_status open_stage(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    FGI_TRY(open_loader(trainer, stage, err)); /* it reads while the program compiles */
    const int64_t begin = fgi_now_ns();
    const fgi_watch before = fgi_watch_set(
        &trainer->watchdog, (fgi_watch){.doing = FGI_DOING_COMPILE, .stage = (int)stage->kind});
    fgi_progress_compile_begin(trainer->progress, stage_names[stage->kind]);
    fgi_signals_compiling(true);
    const fg_status status = build_programs(trainer, stage, err);
    fgi_signals_compiling(false);
    fgi_progress_compile_end(trainer->progress);
    (void)fgi_watch_set(&trainer->watchdog, before);
    if (status != FG_OK)
        return status;
    FGI_TRY(fgi_memory_check(trainer, stage, err));
    FGI_TRY(fgi_stage_clear_sums(trainer, stage, err));
    fgi_ledger_add(trainer->ledger, FGI_COMPILE, begin, fgi_now_ns());
    return FG_OK;
}

/* Another loader for the program that is there. */
static fg_status change_loader(fg_trainer *trainer, fgi_stage *stage, const fgi_stage *requested,
                               fg_error *err)
{
    fgi_stage fresh = *requested;
    FGI_TRY(open_loader(trainer, &fresh, err));
    if (stage->sums == NULL) { /* it was compiled, but never run */
        const fg_status status = fgi_stage_clear_sums(trainer, stage, err);
        if (status != FG_OK) {
            fg_loader_destroy(fresh.loader);
            return status;
        }
    }
    fgi_stage_drop_first(stage);
    fg_loader_destroy(stage->loader);
    stage->loader = fresh.loader;
    stage->dataset = requested->dataset;
    stage->no_shuffle = requested->no_shuffle;
    stage->drop_last = requested->drop_last;
    stage->shuffle_buffer = requested->shuffle_buffer;
    stage->workers = requested->workers;
    return FG_OK;
}

/* The stage that these data make, checked; nothing of it is open yet. */
static fg_status describe_checked(const fg_trainer *trainer, fgi_stage_kind kind,
                                  const fg_fit_data *data, fgi_stage *out, fg_error *err)
{
    int64_t batch_size = 0;
    FGI_TRY(check_step_functions(trainer, kind, err));
    if (data_of(kind, data) == NULL)
        return fgi_fail(err, FG_EINVAL, "no %s data were given: set %s of fg_fit_data",
                        stage_names[kind], part_names[kind]);
    FGI_TRY(fgi_batch_size(trainer, data, &batch_size, err));
    if (kind == FGI_VAL)
        FGI_TRY(fgi_fraction_check("limit_val", trainer->options.limits.limit_val_fraction,
                                   data->val, err));
    *out = describe(kind, data, batch_size);
    out->trainable = trainable_mark(trainer, kind);
    const int64_t count = fg_dataset_count(out->dataset);
    if (count == 0 || (out->drop_last && count >= 0 && count < batch_size))
        return fgi_fail(err, FG_EINVAL, "the %s data have %lld samples: no batch of %lld",
                        stage_names[kind], (long long)count, (long long)batch_size);
    return FG_OK;
}

fg_status fgi_stage_compile(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err)
{
    fgi_stage *stage = &trainer->stage[kind];
    fgi_stage requested;
    FGI_TRY(describe_checked(trainer, kind, data, &requested, err));
    FGI_TRY(fgi_feed_drain(trainer, err));
    if (has_program(stage, &requested))
        return FG_OK;
    fgi_stage_fini(stage);
    *stage = requested;
    const fg_status status = build_programs(trainer, stage, err);
    if (status != FG_OK) {
        fgi_stage_fini(stage);
        *stage = (fgi_stage){.kind = kind};
    }
    return status;
}

fg_status fgi_stage_prepare(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err)
{
    fgi_stage *stage = &trainer->stage[kind];
    fgi_stage requested;
    FGI_TRY(describe_checked(trainer, kind, data, &requested, err));
    if (has_loader(stage, &requested))
        return fgi_stage_refresh(trainer, stage, err);
    FGI_TRY(fgi_feed_drain(trainer, err));
    if (has_program(stage, &requested))
        return change_loader(trainer, stage, &requested, err);
    fgi_stage_fini(stage);
    *stage = requested;
    const fg_status status = open_stage(trainer, stage, err);
    if (status != FG_OK) {
        fgi_stage_fini(stage);
        *stage = (fgi_stage){.kind = kind};
    }
    return status;
}

int64_t fgi_stage_batches(const fgi_stage *stage, int64_t limit)
{
    const int64_t count = fg_loader_batch_count(stage->loader);
    return limit > 0 && (limit < count || count < 0) ? limit : count;
}

int64_t fgi_stage_limit(const fg_trainer *trainer, fgi_stage_kind kind)
{
    const fg_trainer_options *o = &trainer->options;
    const int64_t all = fg_loader_batch_count(trainer->stage[kind].loader);
    return kind == FGI_VAL
               ? fgi_limit(o->limits.limit_val_batches, o->limits.limit_val_fraction, all)
               : 0;
}
