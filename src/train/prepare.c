/* prepare.c - traces and compiles a step function, and opens its loader: a stage (stage.h) for the
 * data of a call. What is the same as before is kept.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "data/dataset.h"
#include "op/op.h"
#include "trace/precision.h"
#include "train/log_model.h"
#include "train/progress/progress.h"
#include "train/trainer.h"

/* ---- the program ----------------------------------------------------------------------------- */

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

/* What is uploaded of a batch; the first dimension is the batch axis. */
static fg_tensor uploaded(const fg_trainer *trainer, const fgi_stage *stage, int i)
{
    const fgi_sharding sharding = fgi_batch_sharding(trainer->client);
    return fg_batch_axis(
        fgi_trace_feed_sharded(stage->trace, i, &stage->spec.field_type[i], &sharding), 0);
}

static void set_fields(const fg_trainer *trainer, const fgi_stage *stage, fg_batch *batch)
{
    const fg_tensor first = uploaded(trainer, stage, 0);
    batch->field_count = fg_dataset_field_count(stage->spec.dataset);
    for (int i = 0; i < batch->field_count; i++) {
        const fg_tensor given = stage->spec.is_resident
                                    ? fgi_resident_field(stage->resident, i, first)
                                : i == 0 ? first
                                         : uploaded(trainer, stage, i);
        batch->field[i] = in_precision(trainer->precision, given);
    }
}

static const char *const part_names[] = {"train", "val", "test", "predict"};

typedef fg_tensor step_fn(void *self, fg_step *step, const fg_batch *batch);

/* The task's function for a stage; NULL: it has none. */
static step_fn *function_of(const fg_task_ops *ops, fgi_stage_kind kind)
{
    step_fn *const functions[] = {ops->train_step, ops->val_step,
                                  ops->test_step != NULL ? ops->test_step : ops->val_step,
                                  ops->predict_step};
    return functions[kind];
}

/* The pairs of all metrics as f32[2 n], and the counts of classes, added to the previous sums
 * unless new ones start; in training followed by the health of the update. */
static fg_tensor new_sums(fg_trainer *trainer, fg_step *step)
{
    fgi_stage *stage = step->stage;
    const int64_t pairs = (int64_t)stage->metrics.count, first = 0;
    const int64_t count = 2 * pairs + FGI_CLASS_COUNTS * stage->metrics.classes;
    const fg_type type = fgi_stage_sums_type(stage);
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
    return fg_concat(
        (fg_tensor[]){sums, fg_variable_value(step->trace, trainer->model.optimizer->guard.health)},
        2, 0);
}

/* Updates the parameters, and then what callbacks add; or adds the gradients to those of the step.
 */
static void add_update(const fg_trainer *trainer, const fg_step *step, fg_tensor loss)
{
    fg_optimizer *optimizer = trainer->model.optimizer;
    fg_tensor losses[FG_MOST_PARTS], weights[FG_MOST_PARTS];
    fgi_step_losses(step, loss, losses);
    if (step->stage->accumulator == NULL) {
        fgi_optimizer_minimize(optimizer, losses);
        fgi_callbacks_update(trainer->callbacks, step->trace, optimizer);
        return;
    }
    for (size_t i = 0; i < fgi_optimizer_loss_count(optimizer); i++)
        weights[i] = fgi_step_loss_weight(step, losses[i]);
    fgi_accumulate(step->stage->accumulator, losses, weights);
}

static const char *const function[] = {"train_step", "val_step", "test_step", "predict_step"};

/* The logger of the run, which may not be open yet. */
static struct fgi_logger *logger_of(const fg_trainer *trainer)
{
    struct fgi_logger *logger = fgi_run_logger(trainer->run);
    return logger != NULL ? logger : fgi_run_next_logger(trainer->run);
}

/* Traces the whole step; returns the result of its program. */
static fg_tensor trace_step(fg_trainer *trainer, fg_step *step, const fg_batch *batch)
{
    fgi_stage *stage = step->stage;
    const fg_tensor value =
        function_of(trainer->model.task.ops, stage->kind)(trainer->model.task.self, step, batch);
    const char *dead = fgi_tensor_dead(value);
    if (dead != NULL)
        return fgi_trace_fail(step->trace, FG_EINVAL, "what %s returned: %s", function[stage->kind],
                              dead);
    if (stage->kind == FGI_PREDICT || fgi_is_poison(value))
        return value;
    char what[64];
    (void)snprintf(what, sizeof what, "the %sstep returned", fgi_stage_prefix(stage->kind));
    if (!fgi_step_is_loss(step, what, value))
        return fgi_poison(step->trace);
    fgi_step_log_losses(step, value);
    if (stage->kind == FGI_TRAIN) {
        fgi_log_model(logger_of(trainer), trainer->model.root, trainer->cursor.step, value);
        add_update(trainer, step, value);
    }
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
    fg_step step = {.trace = trace,
                    .stage = stage,
                    .optimizer = trainer->model.optimizer,
                    .chosen = trainer->model.task.metrics,
                    .sharding = fgi_batch_sharding(trainer->client)};
    fg_batch batch = {.step = &step, .trace = trace, .dataset = stage->spec.dataset};
    trace->is_step = true;
    trace->launch = (fgi_launch){.steps = stage->spec.launch_steps,
                                 .carried_feed = stage->spec.field_count}; /* the sums */
    trace->label = function[stage->kind];
    trace->step = trainer->cursor.step;
    trace->history = &stage->history;
    for (int i = 0; i < stage->spec.field_count; i++)
        trace->feed_name[i] =
            stage->spec.is_resident ? "row" : fg_dataset_field(stage->spec.dataset, i)->name;
    stage->valid.dtype = FG_S32;
    stage->fresh.dtype = FG_U32;
    stage->metrics = (fgi_metrics){0};
    FGI_TRY(fg_trace_set_precision(trace, trainer->precision->name, err));
    fg_trace_set_training(trace, stage->kind == FGI_TRAIN);
    if (stage->kind != FGI_TRAIN)
        fgi_callbacks_substitute(trainer->callbacks, trace);
    if (stage->kind == FGI_PREDICT)
        trace->result_sharding = fgi_batch_sharding(trainer->client);
    fg_here(trainer->call.file, trainer->call.line); /* that gave the data */
    set_mask(&step);
    batch.count = step.count;
    set_fields(trainer, stage, &batch);
    const fg_tensor result[] = {trace_step(trainer, &step, &batch), step.rows};
    FGI_TRY(fg_trace_error(trace, err));
    FGI_TRY(check_prediction(stage, result[0], err));
    stage->has_rows = step.rows.handle != 0;
    FGI_TRY(fgi_stage_make_stacks(stage, err));
    FGI_TRY(fgi_step_program_create(trace, result, stage->has_rows ? 2 : 1, &stage->program, err));
    fg_trace_reset(trace);
    return FG_OK;
}

static fg_status build(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    const bool sums = stage->kind == FGI_TRAIN && fgi_accumulation_most(&trainer->accumulation) > 1;
    if (sums)
        FGI_TRY(fgi_accumulator_create(trainer->model.optimizer, &stage->accumulator, err));
    if (stage->spec.is_resident && stage->resident == NULL)
        FGI_TRY(fgi_resident_create(stage->spec.dataset, &stage->resident, err));
    FGI_TRY(build_program(trainer, stage, err)); /* determines which parameters have gradients */
    if (sums)
        FGI_TRY(fgi_accumulator_compile(stage->accumulator, trainer->client, trainer->callbacks,
                                        trainer->cursor.step, &stage->update_history, err));
    return FG_OK;
}

/* ---- loader ---------------------------------------------------------------------------------- */

/* How many batches the loader prepares: more of small ones, which a launch uses many of. */
static int slots_of(const fgi_stage_spec *spec)
{
    enum { MOST_BYTES = 1 << 20 };
    int64_t bytes = 1;
    for (int f = 0; f < spec->field_count; f++)
        bytes += (int64_t)fg_type_bytes(&spec->field_type[f]);
    const int64_t fitting = MOST_BYTES / bytes;
    return fitting < FGI_SLOTS        ? FGI_SLOTS
           : fitting < FGI_MOST_SLOTS ? (int)fitting
                                      : FGI_MOST_SLOTS;
}

static fg_status open_loader(const fg_trainer *trainer, fgi_stage_kind kind,
                             const fgi_stage_spec *spec, fg_loader **out, fg_error *err)
{
    const bool is_train = kind == FGI_TRAIN;
    FGI_TRY(fgi_strategy_can_run(trainer->client, err));
    const fg_loader_options options = {
        .batch_size = spec->batch_size,
        .shuffle = !spec->no_shuffle,
        .seed = trainer->options.seed,
        .drop_last = spec->drop_last,
        .shuffle_buffer = spec->shuffle_buffer,
        .run_ahead = is_train,
        .workers = spec->workers,
        .prefetch = slots_of(spec),
        .epoch = is_train ? trainer->cursor.epoch : 0,
        .position = is_train ? trainer->cursor.position : 0,
    };
    if (!spec->is_resident)
        return fg_loader_create(spec->dataset, &options, out, err);
    fg_dataset *rows = NULL;
    FGI_TRY(fgi_dataset_row_numbers(spec->dataset, &rows, err));
    const fg_status status = fg_loader_create(rows, &options, out, err);
    fg_dataset_destroy(rows); /* the loader keeps it */
    return status;
}

/* Whether the stage's loader is for these data. */
static bool has_loader(const fgi_stage *stage, const fgi_stage_spec *requested)
{
    return stage->loader != NULL && stage->spec.dataset == requested->dataset &&
           stage->spec.is_resident == requested->is_resident &&
           stage->spec.batch_size == requested->batch_size &&
           stage->spec.no_shuffle == requested->no_shuffle &&
           stage->spec.drop_last == requested->drop_last &&
           stage->spec.shuffle_buffer == requested->shuffle_buffer &&
           stage->spec.workers == requested->workers;
}

/* Whether the stage's program accepts batches of these data. */
static bool has_program(const fgi_stage *stage, const fgi_stage_spec *requested)
{
    if (stage->program == NULL || stage->spec.batch_size != requested->batch_size ||
        stage->spec.trainable != requested->trainable ||
        stage->spec.has_tail != requested->has_tail ||
        stage->spec.is_resident != requested->is_resident ||
        (requested->is_resident && stage->spec.dataset != requested->dataset) ||
        stage->spec.launch_steps != requested->launch_steps ||
        stage->spec.field_count != requested->field_count)
        return false;
    for (int i = 0; i < stage->spec.field_count; i++)
        if (!fg_type_equal(&stage->spec.field_type[i], &requested->field_type[i]) ||
            strcmp(fg_dataset_field(stage->spec.dataset, i)->name,
                   fg_dataset_field(requested->dataset, i)->name) != 0)
            return false;
    return true;
}

/* The part of the data that a stage reads; NULL: none was given. */
static fg_dataset *data_of(fgi_stage_kind kind, const fg_fit_data *data)
{
    fg_dataset *const parts[] = {data->train, data->val, data->test, data->predict};
    return parts[kind];
}

/* What the stage depends on for these data; dataset and batch size were checked. */
static fgi_stage_spec describe(fgi_stage_kind kind, const fg_fit_data *data, bool is_resident,
                               int64_t batch_size)
{
    static const fg_type row_number = {.dtype = FG_S32};
    fg_dataset *dataset = data_of(kind, data);
    fgi_stage_spec spec = {.dataset = dataset,
                           .workers = data->workers == FG_AUTO ? 0
                                      : data->workers == 0     ? FG_NONE
                                                               : data->workers,
                           .no_shuffle = kind != FGI_TRAIN || data->no_shuffle,
                           .drop_last = kind == FGI_TRAIN && data->drop_last,
                           .shuffle_buffer = kind == FGI_TRAIN ? fgi_shuffle_buffer(data) : 0,
                           .batch_size = batch_size,
                           .is_resident = is_resident,
                           .field_count = is_resident ? 1 : fg_dataset_field_count(dataset)};
    const int64_t count = fg_dataset_count(dataset);
    spec.has_tail = !spec.drop_last && batch_size > 1 && (count < 0 || count % batch_size != 0);
    for (int i = 0; i < spec.field_count; i++) {
        const fg_type *sample = is_resident ? &row_number : &fg_dataset_field(dataset, i)->type;
        fg_type *type = &spec.field_type[i];
        *type = (fg_type){.dtype = sample->dtype, .rank = sample->rank + 1, .dim = {batch_size}};
        memcpy(type->dim + 1, sample->dim, (size_t)sample->rank * sizeof sample->dim[0]);
    }
    return spec;
}

/* Identifies the set of trainable variables. */
static uint64_t trainable_mark(const fg_trainer *trainer, fgi_stage_kind kind)
{
    fgi_hash hash = {0, 0};
    const size_t count = kind == FGI_TRAIN ? fg_module_variable_count(trainer->model.root) : 0;
    for (size_t i = 0; i < count; i++) {
        const unsigned char bit =
            fg_variable_is_trainable(fg_module_variable_at(trainer->model.root, i));
        hash = fgi_hash_more(hash, &bit, 1);
    }
    return hash.lo;
}

/* The most batches of a launch; 0: no loop. */
static int64_t launch_steps(const fg_trainer *trainer, fgi_stage_kind kind)
{
    const bool is_fit = trainer->call.is_running && !trainer->call.is_search;
    const int64_t steps = trainer->launch_steps;
    return kind == FGI_TRAIN && is_fit && steps > 1 ? steps : 0;
}

/* ---- preparing ------------------------------------------------------------------------------- */

/* Compiles the programs, which takes a while. */
static fg_status compile(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    fgi_span span = {FGI_COMPILE, (int)stage->kind, .number = -1};
    fgi_span_begin(&trainer->spans, &span);
    const fg_status status = build(trainer, stage, err);
    fgi_span_end(&span);
    return status == FG_OK ? fgi_memory_check(&trainer->model, stage, err) : status;
}

fg_status fgi_stage_refresh(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    const uint64_t trainable = trainable_mark(trainer, stage->kind);
    const int64_t steps = launch_steps(trainer, stage->kind);
    if (stage->program != NULL && stage->spec.trainable == trainable &&
        stage->spec.launch_steps == steps)
        return FG_OK;
    FGI_TRY(fgi_feed_drain(trainer->feed, err));
    fgi_stage_drop_programs(stage);
    stage->spec.trainable = trainable;
    stage->spec.launch_steps = steps;
    return compile(trainer, stage, err);
}

/* Reads the samples that stay on the devices, if there are any. */
static fg_status load_resident(const fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    const fgi_stage_spec *spec = &stage->spec;
    char line[200];
    if (!spec->is_resident || stage->resident->is_loaded)
        return FG_OK;
    FGI_TRY(fgi_resident_load(stage->resident, spec->dataset, spec->workers, err));
    (void)fgi_snprintf(line, sizeof line,
                       "data.resident: %" PRId64 " %s samples (%s) stay on each device; false "
                       "uploads every batch",
                       fg_dataset_count(spec->dataset), fgi_stage_noun(stage->kind),
                       fgi_bytes_words((double)fgi_resident_bytes(spec->dataset)));
    fgi_progress_say(trainer->progress, line);
    return FG_OK;
}

/* Fills an empty stage; the loader reads while the program compiles. */
static fg_status open_stage(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    fg_loader *loader = NULL;
    FGI_TRY(open_loader(trainer, stage->kind, &stage->spec, &loader, err));
    fgi_stage_set_loader(stage, loader);
    FGI_TRY(compile(trainer, stage, err));
    FGI_TRY(load_resident(trainer, stage, err));
    return fgi_stage_clear_sums(stage, err);
}

/* Replaces the loader of a stage whose program fits; it may have been compiled, but never run. */
static fg_status change_loader(fg_trainer *trainer, fgi_stage *stage,
                               const fgi_stage_spec *requested, fg_error *err)
{
    fg_loader *loader = NULL;
    FGI_TRY(open_loader(trainer, stage->kind, requested, &loader, err));
    fgi_stage_set_loader(stage, loader);
    stage->spec = *requested;
    FGI_TRY(load_resident(trainer, stage, err));
    return stage->sums == NULL ? fgi_stage_clear_sums(stage, err) : FG_OK;
}

/* Those of training come first, and the others are in addition to them. */
static fg_status choose_resident(const fg_client *client, fgi_stage_kind kind,
                                 const fg_fit_data *data, bool *out, fg_error *err)
{
    bool is_beside = false;
    if (kind == FGI_PREDICT) /* such data are read once */
        return FG_OK;
    if (kind != FGI_TRAIN && data->train != NULL && data->resident == FG_RESIDENT_AUTO)
        FGI_TRY(fgi_resident_choose(client, data->train, data->resident, 0, &is_beside, err));
    return fgi_resident_choose(client, data_of(kind, data), data->resident,
                               is_beside ? fgi_resident_bytes(data->train) : 0, out, err);
}

/* Describes the stage for these data, and checks it; nothing is opened. */
static fg_status describe_checked(const fg_trainer *trainer, fgi_stage_kind kind,
                                  const fg_fit_data *data, fgi_stage_spec *out, fg_error *err)
{
    const fg_amount limit = trainer->options.limits.limit_val_batches;
    fg_fit_data own;
    int64_t batch_size = 0;
    if (function_of(trainer->model.task.ops, kind) == NULL)
        return fgi_fail(err, FG_EINVAL, "task '%s' has no %s_step", trainer->model.task.name,
                        part_names[kind]);
    if (data_of(kind, data) == NULL)
        return fgi_fail(err, FG_EINVAL, "no %s data were given: set %s of fg_fit_data",
                        fgi_stage_noun(kind), part_names[kind]);
    FGI_TRY(fgi_batch_size(trainer, data, &batch_size, err));
    if (kind == FGI_VAL)
        FGI_TRY(fgi_fraction_check("limit_val_batches", limit, data->val, err));
    if (kind == FGI_VAL && limit.count == 0 && limit.fraction == 0)
        return fgi_fail(err, FG_EINVAL,
                        "trainer.limit_val_batches: expected at least one batch, got 0");
    FGI_TRY(fgi_fit_data_complete(data, &own, err));
    bool is_resident = false;
    FGI_TRY(choose_resident(trainer->client, kind, data, &is_resident, err));
    *out = describe(kind, &own, is_resident, batch_size);
    out->trainable = trainable_mark(trainer, kind);
    out->launch_steps = launch_steps(trainer, kind);
    const int64_t count = fg_dataset_count(out->dataset);
    if (count == 0 || (out->drop_last && count >= 0 && count < batch_size))
        return fgi_fail(err, FG_EINVAL, "the %s data have %lld sample%s: no batch of %lld",
                        fgi_stage_noun(kind), (long long)count, fgi_s(count),
                        (long long)batch_size);
    return FG_OK;
}

/* Makes the stage one for these data; is_run: with a loader, to be run. */
static fg_status prepare(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                         bool is_run, fg_error *err)
{
    fgi_stage *stage = trainer->stage[kind];
    fgi_stage_spec requested;
    FGI_TRY(describe_checked(trainer, kind, data, &requested, err));
    stage->client = trainer->client;
    if (is_run && has_loader(stage, &requested)) {
        fgi_stage_watch_input(stage);
        return fgi_stage_refresh(trainer, stage, err);
    }
    FGI_TRY(fgi_feed_drain(trainer->feed, err));
    if (has_program(stage, &requested))
        return is_run ? change_loader(trainer, stage, &requested, err) : FG_OK;
    fgi_stage_empty(stage);
    stage->spec = requested;
    const fg_status status = is_run ? open_stage(trainer, stage, err) : build(trainer, stage, err);
    if (status != FG_OK)
        fgi_stage_empty(stage);
    return status;
}

fg_status fgi_stage_prepare(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err)
{
    return prepare(trainer, kind, data, true, err);
}

fg_status fgi_stage_compile(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err)
{
    return prepare(trainer, kind, data, false, err);
}

int64_t fgi_stage_limit(const fg_trainer *trainer, fgi_stage_kind kind)
{
    const fg_trainer_options *o = &trainer->options;
    const int64_t all = fg_loader_batch_count(trainer->stage[kind]->loader);
    return kind == FGI_VAL ? fgi_limit(o->limits.limit_val_batches, all) : 0;
}

/* ---- launching ------------------------------------------------------------------------------- */

static void begin_update(fg_trainer *trainer, const fgi_stage *stage)
{
    if (stage->accumulator != NULL)
        fg_trace_set_seed(stage->accumulator->trace,
                          ~trainer->options.seed, /* not the batches' bits */
                          (uint64_t)trainer->cursor.step);
    fg_optimizer_begin_step(trainer->model.optimizer, trainer->cursor.step);
    if (!trainer->call.is_running || trainer->call.is_search)
        return;
    fg_progress at = fgi_progress_at(trainer);
    at.is_epoch_end = trainer->fit.ends_epoch;
    fgi_callbacks_step_start(trainer->callbacks, &at, trainer->model.optimizer);
}

void fgi_stage_begin_launch(void *self, fgi_stage *stage, const fg_host_batch *batch)
{
    fg_trainer *trainer = self;
    if (batch == NULL) {
        begin_update(trainer, stage);
        return;
    }
    fgi_stage_set_batch(stage, batch, trainer->options.seed);
    if (stage->kind != FGI_TRAIN)
        return;
    const int64_t batches = fgi_accumulation_most(&trainer->accumulation);
    const int64_t done = stage->accumulator != NULL ? stage->accumulator->batches : 0;
    const int64_t number = trainer->cursor.step * batches + done;
    fg_trace_set_seed(stage->trace, trainer->options.seed, (uint64_t)number);
    if (stage->accumulator == NULL) {
        begin_update(trainer, stage);
        return;
    }
    fg_optimizer_begin_step(trainer->model.optimizer, trainer->cursor.step);
    fgi_accumulator_add(stage->accumulator);
}
