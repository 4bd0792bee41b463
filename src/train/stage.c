/* stage.c - a step function as a program: its loader, its launches, its sums.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/text.h"
#include "data/loader.h"
#include "op/op.h"
#include "optim/optimizer.h"
#include "trace/precision.h"
#include "train/accumulate.h"
#include "train/activity.h"
#include "train/callbacks.h"
#include "train/device_memory.h"
#include "train/feed.h"
#include "train/fit_settings.h"
#include "train/input_report.h"
#include "train/log_model.h"
#include "train/stage.h"
#include "train/run_folder.h"
#include "train/sample_rows.h"
#include "train/step.h"
#include "train/strategy.h"
#include "train/trainer.h"

/* What loader and program depend on. */
typedef struct fgi_stage_spec {
    fg_dataset *dataset; /* borrowed; the loader holds a reference */
    bool no_shuffle, drop_last;
    int64_t shuffle_buffer; /* 0: not a source, or not shuffled */
    int workers;
    bool has_tail; /* the last batch is not full: the program masks its padding rows */
    int64_t batch_size;
    int field_count;
    fg_type field_type[FG_MAX_FIELDS];
    uint64_t trainable; /* in training: identifies the set of trainable variables */
} fgi_stage_spec;

struct fgi_stage {
    fgi_stage_kind kind;
    fg_client *client;
    fgi_stage_spec spec;
    fg_trace *trace; /* kept for its scalars; holds no nodes after tracing */
    fgi_step_program *program;
    struct fgi_accumulator *accumulator; /* in training with several batches per step */
    fg_loader *loader;
    fg_loader_stats loaded;            /* when the current call started */
    struct fgi_worker_cpu *worker_cpu; /* of the loader's threads */
    const fg_host_batch *first;        /* of the next pass, read in advance */
    fg_scalar valid;                   /* s32: valid rows of the batch */
    fg_scalar fresh;                   /* u32: 1 when this launch starts new sums */
    fg_scalar sample_key[2]; /* u32: of the random numbers of samples, from seed and epoch */
    uint32_t *samples;       /* [B], of a batch being uploaded; NULL: the program has none */
    fgi_metrics *metrics;
    fg_array *sums;
    bool has_rows; /* its step logs rows of samples */
    fgi_sample_rows rows;
    fgi_history history, update_history; /* of its programs */
};

const char *fgi_stage_prefix(fgi_stage_kind kind)
{
    static const char *const prefix[] = {"train_", "val_", "test_", ""};
    return prefix[kind];
}

fgi_stage_kind fgi_stage_get_kind(const fgi_stage *stage) { return stage->kind; }

int64_t fgi_stage_batch_size(const fgi_stage *stage) { return stage->spec.batch_size; }

fg_client *fgi_stage_client(const fgi_stage *stage) { return stage->client; }

int fgi_stage_field_count(const fgi_stage *stage) { return stage->spec.field_count; }

/* Processor time of the loader's threads: before the current call, and in it. */
struct fgi_worker_cpu {
    int64_t before_ns[FGI_MOST_WORKERS];
    double seconds[FGI_MOST_WORKERS];
};

static const double *worker_cpu(const fgi_stage *stage)
{
    int64_t now_ns[FGI_MOST_WORKERS];
    if (stage->loader == NULL)
        return NULL;
    const int count = fgi_loader_cpu(stage->loader, now_ns);
    for (int i = 0; i < count; i++)
        stage->worker_cpu->seconds[i] =
            (double)(now_ns[i] - stage->worker_cpu->before_ns[i]) * 1e-9;
    return count > 0 ? stage->worker_cpu->seconds : NULL;
}

void fgi_stage_report_input(const fgi_stage *stage, fg_input_report *out)
{
    const fg_loader_stats now =
        stage->loader != NULL ? fg_loader_stats_of(stage->loader) : stage->loaded;
    fgi_input_report_load(out, &stage->loaded, &now);
    out->worker_cpu_s = worker_cpu(stage);
}

const fg_dataset *fgi_stage_dataset(const fgi_stage *stage) { return stage->spec.dataset; }

fg_loader *fgi_stage_loader(const fgi_stage *stage) { return stage->loader; }

fgi_step_program *fgi_stage_program(const fgi_stage *stage) { return stage->program; }

fgi_accumulator *fgi_stage_accumulator(const fgi_stage *stage) { return stage->accumulator; }

fgi_metrics *fgi_stage_metrics(const fgi_stage *stage) { return stage->metrics; }

/* ---- the first batch ------------------------------------------------------------------------- */

void fgi_stage_keep_first(fgi_stage *stage, const fg_host_batch *take_batch)
{
    stage->first = take_batch;
}

bool fgi_stage_has_first(const fgi_stage *stage) { return stage->first != NULL; }

const fg_host_batch *fgi_stage_take_first(fgi_stage *stage)
{
    const fg_host_batch *first = stage->first;
    stage->first = NULL;
    return first;
}

static void drop_first(fgi_stage *stage)
{
    if (stage->first != NULL)
        fg_loader_release(stage->loader, stage->first);
    stage->first = NULL;
}

/* ---- sums ------------------------------------------------------------------------------------ */

size_t fgi_stage_sum_count(const fgi_stage *stage)
{
    return 2 * fgi_metrics_count(stage->metrics) +
           FGI_CLASS_COUNTS * (size_t)fgi_metrics_classes(stage->metrics) +
           (stage->kind == FGI_TRAIN ? FGI_HEALTH_SIZE : 0);
}

static fg_type sums_type(const fgi_stage *stage)
{
    return (fg_type){.dtype = FG_F32, .rank = 1, .dim = {(int64_t)fgi_stage_sum_count(stage)}};
}

void fgi_stage_restart_sums(fgi_stage *stage) { stage->fresh.value.u32 = 1; }

fg_status fgi_stage_clear_sums(fgi_stage *stage, fg_error *err)
{
    fgi_stage_restart_sums(stage);
    fgi_sample_rows_clear(&stage->rows);
    stage->rows.client = stage->client;
    if (stage->kind == FGI_PREDICT || stage->sums != NULL)
        return FG_OK;
    const fg_type type = sums_type(stage);
    float *zeros = fgi_calloc(fgi_stage_sum_count(stage), sizeof *zeros);
    if (zeros == NULL)
        return fgi_no_memory(err);
    const fg_status status = fgi_array_upload(stage->client, &type, NULL, zeros, FGI_UPLOAD_COPY,
                                              &stage->sums, NULL, err);
    fgi_free(zeros);
    return status;
}

fgi_sample_rows *fgi_stage_rows(fgi_stage *stage) { return &stage->rows; }

fg_status fgi_stage_set_sums(fgi_stage *stage, const float *sums, fg_error *err)
{
    const fg_type type = sums_type(stage);
    fg_array *array = NULL;
    FGI_TRY(fgi_array_upload(stage->client, &type, NULL, sums, FGI_UPLOAD_COPY, &array, NULL, err));
    fgi_stage_drop_sums(stage);
    stage->sums = array;
    stage->fresh.value.u32 = 0;
    return FG_OK;
}

fg_status fgi_stage_read_sums(const fgi_stage *stage, float *out, fgi_event **out_arrived,
                              fg_error *err)
{
    return fgi_array_download(stage->sums, out, fgi_stage_sum_count(stage) * sizeof(float),
                              out_arrived, err);
}

void fgi_stage_drop_sums(fgi_stage *stage)
{
    fg_array_release(stage->sums);
    stage->sums = NULL;
}

/* ---- keys of samples ------------------------------------------------------------------------- */

static fg_type samples_type(const fgi_stage *stage)
{
    return (fg_type){.dtype = FG_U32, .rank = 1, .dim = {stage->spec.batch_size}};
}

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
    const fg_type type = samples_type(stage);
    if (step->key.sample.handle != 0)
        return step->key;
    if (stage->samples == NULL)
        stage->samples = fgi_calloc((size_t)stage->spec.batch_size, sizeof *stage->samples);
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

static void set_sample_key(fgi_stage *stage, uint64_t seed, int64_t epoch)
{
    const fgi_key run = fgi_key_fold_text(fgi_key_from_seed(seed), "samples");
    const fgi_key key = fgi_key_fold(run, (uint64_t)epoch);
    for (int i = 0; i < 2; i++)
        stage->sample_key[i].value.u32 = key.word[i];
}

fg_status fgi_stage_upload_samples(fgi_stage *stage, const fg_host_batch *batch, fg_array **out,
                                   fg_error *err)
{
    const fg_type type = samples_type(stage);
    const fgi_sharding sharding = fgi_batch_sharding(stage->client);
    *out = NULL;
    if (stage->samples == NULL)
        return FG_OK;
    for (int64_t i = 0; i < stage->spec.batch_size; i++)
        stage->samples[i] = (uint32_t)batch->indices[i];
    return fgi_array_upload(stage->client, &type, &sharding, stage->samples, FGI_UPLOAD_COPY, out,
                            NULL, err);
}

/* ---- launching ------------------------------------------------------------------------------- */

static void begin_update(fg_trainer *trainer, fgi_stage *stage)
{
    if (stage->accumulator != NULL)
        fgi_accumulator_begin_update(stage->accumulator, trainer->options.seed,
                                     trainer->cursor.step);
    fg_optimizer_begin_step(trainer->model.optimizer, trainer->cursor.step);
    fgi_trainer_step_start(trainer);
}

void fgi_stage_begin_launch(void *self, fgi_stage *stage, const fg_host_batch *batch)
{
    fg_trainer *trainer = self;
    if (batch == NULL) {
        begin_update(trainer, stage);
        return;
    }
    stage->valid.value.s32 = (int32_t)batch->valid;
    set_sample_key(stage, trainer->options.seed, batch->epoch);
    if (stage->kind != FGI_TRAIN)
        return;
    const int64_t batches = fgi_accumulation_most(&trainer->accumulation);
    const int64_t number =
        trainer->cursor.step * batches + fgi_accumulator_batches(stage->accumulator);
    fg_trace_set_seed(stage->trace, trainer->options.seed, (uint64_t)number);
    if (stage->accumulator == NULL) {
        begin_update(trainer, stage);
        return;
    }
    fg_optimizer_begin_step(trainer->model.optimizer, trainer->cursor.step);
    fgi_accumulator_add(stage->accumulator);
}

fg_status fgi_stage_launch(fgi_stage *stage, fg_array *const *fields, fg_array *samples,
                           fg_array **out_prediction, fgi_event **out_done, fg_error *err)
{
    fg_array *feeds[FG_MAX_FIELDS + 2] = {NULL}, *out[2] = {NULL};
    size_t count = (size_t)stage->spec.field_count;
    const bool has_sums = stage->kind != FGI_PREDICT;
    memcpy(feeds, fields, count * sizeof feeds[0]);
    if (has_sums)
        feeds[count++] = stage->sums;
    if (samples != NULL)
        feeds[count++] = samples;
    if (stage->has_rows)
        FGI_TRY(fgi_sample_rows_reserve(&stage->rows, fgi_metrics_classes(stage->metrics), err));
    FGI_TRY(fgi_step_program_launch(stage->program, feeds, count, out, out_done, err));
    if (!has_sums) {
        *out_prediction = out[0];
        return FG_OK;
    }
    if (stage->has_rows)
        fgi_sample_rows_add(&stage->rows, out[1], stage->valid.value.s32);
    fgi_stage_drop_sums(stage);
    stage->sums = out[0];
    stage->fresh.value.u32 = 0;
    return FG_OK;
}

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

/* A field of the batch, whose first dimension is the batch axis. */
static fg_tensor field_of(fg_trainer *trainer, fgi_stage *stage, int i)
{
    const fgi_sharding sharding = fgi_batch_sharding(trainer->client);
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
    return fg_concat(
        (fg_tensor[]){
            sums, fg_variable_value(step->trace, fgi_optimizer_health(trainer->model.optimizer))},
        2, 0);
}

/* Updates the parameters, and then what callbacks add. */
static void add_update(const fg_trainer *trainer, fg_tensor loss)
{
    fg_optimizer_minimize(trainer->model.optimizer, loss);
    fgi_callbacks_update(trainer->callbacks, fg_tensor_trace(loss), trainer->model.optimizer);
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
        fgi_log_model(logger_of(trainer), trainer->model.root, trainer->cursor.step, value);
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
    fg_step step = {
        .trace = trace, .stage = stage, .sharding = fgi_batch_sharding(trainer->client)};
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
        fgi_callbacks_substitute(trainer->callbacks, trace);
    if (stage->kind == FGI_PREDICT)
        trace->result_sharding = fgi_batch_sharding(trainer->client);
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

static fg_status build(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    const bool sums = stage->kind == FGI_TRAIN && fgi_accumulation_most(&trainer->accumulation) > 1;
    if (sums)
        FGI_TRY(fgi_accumulator_create(trainer->model.optimizer, &stage->accumulator, err));
    FGI_TRY(build_program(trainer, stage, err)); /* determines which parameters have gradients */
    if (sums)
        FGI_TRY(fgi_accumulator_compile(stage->accumulator, trainer->client, trainer->callbacks,
                                        trainer->cursor.step, &stage->update_history, err));
    return FG_OK;
}

/* ---- loader ---------------------------------------------------------------------------------- */

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
        .synchronous = spec->workers<0, .workers = spec->workers> 0 ? spec->workers : 0,
        .prefetch = FGI_SLOTS,
        .epoch = is_train ? trainer->cursor.epoch : 0,
        .position = is_train ? trainer->cursor.position : 0,
    };
    return fg_loader_create(spec->dataset, &options, out, err);
}

static fg_status check_step_functions(const fg_trainer *trainer, fgi_stage_kind kind, fg_error *err)
{
    const fg_task_ops *ops = trainer->model.task.ops;
    const bool there = kind == FGI_TRAIN  ? ops->train_step != NULL
                       : kind == FGI_VAL  ? ops->val_step != NULL
                       : kind == FGI_TEST ? ops->test_step != NULL || ops->val_step != NULL
                                          : ops->predict_step != NULL;
    static const char *const name[] = {"train", "val", "test", "predict"};
    if (!there)
        return fgi_fail(err, FG_EINVAL, "task '%s' has no %s_step", trainer->model.task.name,
                        name[kind]);
    return FG_OK;
}

/* Whether the stage's loader is for these data. */
static bool has_loader(const fgi_stage *stage, const fgi_stage_spec *requested)
{
    return stage->loader != NULL && stage->spec.dataset == requested->dataset &&
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
    switch (kind) {
    case FGI_TRAIN: return data->train;
    case FGI_VAL: return data->val;
    case FGI_TEST: return data->test;
    case FGI_PREDICT: return data->predict;
    }
    return NULL;
}

/* What the stage depends on for these data; dataset and batch size were checked. */
static fgi_stage_spec describe(fgi_stage_kind kind, const fg_fit_data *data, int64_t batch_size)
{
    fg_dataset *dataset = data_of(kind, data);
    fgi_stage_spec spec = {.dataset = dataset,
                           .workers = data->workers,
                           .no_shuffle = kind != FGI_TRAIN || data->no_shuffle,
                           .drop_last = kind == FGI_TRAIN && data->drop_last,
                           .shuffle_buffer = kind == FGI_TRAIN ? fgi_shuffle_buffer(data) : 0,
                           .batch_size = batch_size,
                           .field_count = fg_dataset_field_count(dataset)};
    const int64_t count = fg_dataset_count(dataset);
    spec.has_tail = !spec.drop_last && batch_size > 1 && (count < 0 || count % batch_size != 0);
    for (int i = 0; i < spec.field_count; i++) {
        const fg_type *sample = &fg_dataset_field(dataset, i)->type;
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

/* Frees the programs, and with them what is only valid for them. */
static void drop_programs(fgi_stage *stage)
{
    fgi_step_program_destroy(stage->program);
    fgi_accumulator_destroy(stage->accumulator);
    fg_trace_destroy(stage->trace);
    fgi_free(stage->samples);
    stage->samples = NULL;
    stage->program = NULL;
    stage->accumulator = NULL;
    stage->trace = NULL;
}

/* Frees everything that it has been prepared with. */
static void empty(fgi_stage *stage)
{
    drop_first(stage);
    fg_loader_destroy(stage->loader);
    stage->loader = NULL;
    fgi_stage_drop_sums(stage);
    fgi_sample_rows_fini(&stage->rows);
    drop_programs(stage);
    stage->spec = (fgi_stage_spec){0};
    fgi_metrics_clear(stage->metrics);
}

static const char *const stage_names[] = {"training", "validation", "test", "prediction"};
static const char *const part_names[] = {"train", "val", "test", "predict"};

/* Compiles the programs, which takes a while. */
static fg_status compile(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    fgi_span span = {FGI_COMPILE, (int)stage->kind, .number = -1};
    fgi_span_begin(&trainer->spans, &span);
    const fg_status status = build(trainer, stage, err);
    fgi_span_end(&span);
    return status == FG_OK ? fgi_memory_check(trainer, stage, err) : status;
}

fg_status fgi_stage_refresh(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    const uint64_t trainable = trainable_mark(trainer, stage->kind);
    if (stage->program != NULL && stage->spec.trainable == trainable)
        return FG_OK;
    FGI_TRY(fgi_feed_drain(trainer->feed, err));
    drop_programs(stage);
    stage->spec.trainable = trainable;
    return compile(trainer, stage, err);
}

/* Fills an empty stage. */
static fg_status open_stage(fg_trainer *trainer, fgi_stage *stage, fg_error *err)
{
    /* the loader reads while the program compiles */
    FGI_TRY(open_loader(trainer, stage->kind, &stage->spec, &stage->loader, err));
    FGI_TRY(compile(trainer, stage, err));
    return fgi_stage_clear_sums(stage, err);
}

/* Replaces the loader of a stage whose program fits. */
static fg_status change_loader(fg_trainer *trainer, fgi_stage *stage,
                               const fgi_stage_spec *requested, fg_error *err)
{
    fg_loader *loader = NULL;
    FGI_TRY(open_loader(trainer, stage->kind, requested, &loader, err));
    if (stage->sums == NULL) { /* it was compiled, but never run */
        const fg_status status = fgi_stage_clear_sums(stage, err);
        if (status != FG_OK) {
            fg_loader_destroy(loader);
            return status;
        }
    }
    drop_first(stage);
    fg_loader_destroy(stage->loader);
    stage->loader = loader;
    stage->spec = *requested;
    return FG_OK;
}

/* Describes the stage for these data, and checks it; nothing is opened. */
static fg_status describe_checked(const fg_trainer *trainer, fgi_stage_kind kind,
                                  const fg_fit_data *data, fgi_stage_spec *out, fg_error *err)
{
    int64_t batch_size = 0;
    FGI_TRY(check_step_functions(trainer, kind, err));
    if (data_of(kind, data) == NULL)
        return fgi_fail(err, FG_EINVAL, "no %s data were given: set %s of fg_fit_data",
                        stage_names[kind], part_names[kind]);
    FGI_TRY(fgi_batch_size(trainer, data, &batch_size, err));
    if (kind == FGI_VAL)
        FGI_TRY(fgi_fraction_check("limit_val_batches", trainer->options.limits.limit_val_batches,
                                   data->val, err));
    *out = describe(kind, data, batch_size);
    out->trainable = trainable_mark(trainer, kind);
    const int64_t count = fg_dataset_count(out->dataset);
    if (count == 0 || (out->drop_last && count >= 0 && count < batch_size))
        return fgi_fail(err, FG_EINVAL, "the %s data have %lld sample%s: no batch of %lld",
                        stage_names[kind], (long long)count, fgi_s(count), (long long)batch_size);
    return FG_OK;
}

fg_status fgi_stage_compile(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err)
{
    fgi_stage *stage = trainer->stage[kind];
    fgi_stage_spec requested;
    FGI_TRY(describe_checked(trainer, kind, data, &requested, err));
    stage->client = trainer->client;
    FGI_TRY(fgi_feed_drain(trainer->feed, err));
    if (has_program(stage, &requested))
        return FG_OK;
    empty(stage);
    stage->spec = requested;
    const fg_status status = build(trainer, stage, err);
    if (status != FG_OK)
        empty(stage);
    return status;
}

fg_status fgi_stage_prepare(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err)
{
    fgi_stage *stage = trainer->stage[kind];
    fgi_stage_spec requested;
    FGI_TRY(describe_checked(trainer, kind, data, &requested, err));
    stage->client = trainer->client;
    stage->loaded = (fg_loader_stats){0};
    *stage->worker_cpu = (struct fgi_worker_cpu){.before_ns = {0}};
    if (has_loader(stage, &requested)) {
        stage->loaded = fg_loader_stats_of(stage->loader);
        (void)fgi_loader_cpu(stage->loader, stage->worker_cpu->before_ns);
        return fgi_stage_refresh(trainer, stage, err);
    }
    FGI_TRY(fgi_feed_drain(trainer->feed, err));
    if (has_program(stage, &requested))
        return change_loader(trainer, stage, &requested, err);
    empty(stage);
    stage->spec = requested;
    const fg_status status = open_stage(trainer, stage, err);
    if (status != FG_OK)
        empty(stage);
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
    const int64_t all = fg_loader_batch_count(trainer->stage[kind]->loader);
    return kind == FGI_VAL ? fgi_limit(o->limits.limit_val_batches, all) : 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

fg_status fgi_stage_create(fgi_stage_kind kind, fgi_stage **out, fg_error *err)
{
    *out = NULL;
    fgi_stage *stage = fgi_calloc(1, sizeof *stage);
    if (stage == NULL)
        return fgi_no_memory(err);
    fg_status status = fgi_metrics_create(&stage->metrics, err);
    stage->worker_cpu = status == FG_OK ? fgi_calloc(1, sizeof *stage->worker_cpu) : NULL;
    if (status == FG_OK && stage->worker_cpu == NULL) {
        fgi_metrics_destroy(stage->metrics);
        status = fgi_no_memory(err);
    }
    if (status != FG_OK) {
        fgi_free(stage);
        return status;
    }
    stage->kind = kind;
    *out = stage;
    return FG_OK;
}

void fgi_stage_destroy(fgi_stage *stage)
{
    if (stage == NULL)
        return;
    empty(stage);
    fgi_metrics_destroy(stage->metrics);
    fgi_history_fini(&stage->history);
    fgi_history_fini(&stage->update_history);
    fgi_free(stage->worker_cpu);
    fgi_free(stage);
}
