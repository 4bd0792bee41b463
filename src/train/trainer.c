/* trainer.c - creates and destroys a Trainer: options, parts, the model, the client.
 *
 * A Trainer owns its parts, the module that its task built, its callbacks, and the client unless
 * one was given.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include <fulgurite/check.h>
#include <fulgurite/chip.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/here.h"
#include "base/log.h"
#include "base/reserved.h"
#include "base/text.h"
#include "base/thread.h"
#include "log/logger.h"
#include "optim/optimizer.h"
#include "pjrt/pjrt.h"
#include "trace/precision.h"
#include "train/progress/progress.h"
#include "train/trainer.h"

/* Before divergence is reported: the last good checkpoint may be under way. */
static void end_save(void *self)
{
    fg_error local = {0};
    if (fgi_saver_collect(((fg_trainer *)self)->saver, true, &local) != FG_OK)
        fgi_log(FG_LOG_ERROR, "%s", local.message);
}

static fg_status create_progress(fg_trainer *trainer, fg_error *err)
{
    const fg_trainer_output *o = &trainer->options.output;
    const fgi_progress_sources sources = {.trainer = trainer,
                                          .cursor = &trainer->cursor,
                                          .feed = trainer->feed,
                                          .val = trainer->stage[FGI_VAL],
                                          .checkpoints = &trainer->options.checkpoints};
    fgi_progress *progress = NULL;
    if (o->progress == NULL)
        return FG_OK;
    FGI_TRY(fgi_progress_create(o, &sources, &progress, err));
    FGI_TRY(fg_trainer_add_callback(trainer, &fgi_progress_ops, progress, err));
    trainer->progress = progress;
    fgi_spans_listen(&trainer->spans, fgi_progress_listener(progress));
    return FG_OK;
}

/* The parts that record what happens. */
static fg_status create_observers(fg_trainer *trainer, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    FGI_TRY(fgi_watchdog_create(o, &trainer->watchdog, err));
    FGI_TRY(fgi_step_profile_create(o->output.profile, o->checkpoints.run_dir, &trainer->cursor,
                                    &trainer->step_profile, err));
    FGI_TRY(fgi_run_create(&o->checkpoints, &o->output.loggers, &trainer->run, err));
    FGI_TRY(fgi_callbacks_create(&trainer->call, &trainer->callbacks, err));
    fgi_spans_listen(&trainer->spans, fgi_watchdog_listener(trainer->watchdog));
    fgi_spans_listen(&trainer->spans, fgi_ledger_listener(&trainer->ledger));
    fgi_spans_listen(&trainer->spans, fgi_signals_listener());
    return FG_OK;
}

/* The parts that run steps. */
static fg_status create_loop(fg_trainer *trainer, fg_error *err)
{
    const fgi_feed_uses feed = {.cursor = &trainer->cursor,
                                .call = &trainer->call,
                                .spans = &trainer->spans,
                                .ledger = &trainer->ledger,
                                .profile = trainer->step_profile,
                                .watchdog = trainer->watchdog,
                                .lost_step = &trainer->model.lost_step,
                                .begin = fgi_stage_begin_launch,
                                .self = trainer};
    for (int i = 0; i < 4; i++)
        FGI_TRY(fgi_stage_create((fgi_stage_kind)i, &trainer->stage[i], err));
    FGI_TRY(fgi_feed_create(&feed, &trainer->feed, err));
    trainer->windows.of = (fgi_windows_uses){.stage = trainer->stage[FGI_TRAIN],
                                             .feed = trainer->feed,
                                             .spans = &trainer->spans,
                                             .cursor = &trainer->cursor,
                                             .take = fgi_fit_take,
                                             .self = trainer};
    return FG_OK;
}

/* The parts that guard a fit: its health, and its checkpoints. */
static fg_status create_guards(fg_trainer *trainer, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    trainer->health = (fgi_health){.of = {.options = o,
                                          .precision = trainer->precision,
                                          .client = &trainer->client,
                                          .optimizer = &trainer->model.optimizer}};
    trainer->divergence = (fgi_divergence){.of = {.options = o,
                                                  .call = &trainer->call,
                                                  .cursor = &trainer->cursor,
                                                  .optimizer = &trainer->model.optimizer,
                                                  .stage = trainer->stage[FGI_TRAIN],
                                                  .health = &trainer->health,
                                                  .settle = end_save,
                                                  .self = trainer},
                                           .at.lr_factor = 1};
    const fgi_saver_uses saver = {.o = &o->checkpoints,
                                  .cursor = &trainer->cursor,
                                  .call = &trainer->call,
                                  .spans = &trainer->spans,
                                  .windows = &trainer->windows,
                                  .watchdog = trainer->watchdog,
                                  .callbacks = trainer->callbacks,
                                  .divergence = &trainer->divergence,
                                  .take = fgi_state_take,
                                  .self = trainer};
    return fgi_saver_create(&saver, &trainer->saver, err);
}

static fg_status create_parts(fg_trainer *trainer, fg_error *err)
{
    FGI_TRY(create_observers(trainer, err));
    FGI_TRY(create_loop(trainer, err));
    FGI_TRY(create_guards(trainer, err));
    return create_progress(trainer, err);
}

/* Copies what is no row of the table, and completes the schedule. */
static fg_status keep_options(fg_trainer *trainer, fg_error *err)
{
    fg_schedule schedule;
    if (!fgi_options_keep(&trainer->options, &trainer->strings))
        return fgi_no_memory(err);
    if (trainer->options.lr.schedule == NULL)
        return FG_OK;
    FGI_TRY(fgi_schedule_complete(trainer->options.lr.schedule, &schedule,
                                  &trainer->schedule_options, err));
    fg_schedule *own = fgi_arena_copy(&trainer->strings, &schedule, sizeof schedule);
    trainer->options.lr.schedule = own;
    return own != NULL ? FG_OK : fgi_no_memory(err);
}

fg_status fg_trainer_create(const fg_trainer_options *options, fg_trainer **out, fg_error *err)
{
    fg_trainer_options *o = NULL;
    *out = NULL;
    FGI_TRY(fgi_trainer_options_create(options, &o, err));
    fg_trainer *trainer = fgi_calloc(1, sizeof *trainer);
    if (trainer == NULL) {
        fgi_free(o);
        return fgi_no_memory(err);
    }
    trainer->options = *o;
    trainer->own_options = o;
    trainer->cursor = fgi_cursor_start();
    trainer->precision = fgi_precision_find(o->numerics.precision, NULL);    /* checked above */
    (void)fgi_accumulation_init(&o->numerics, &trainer->accumulation, NULL); /* checked above */
    trainer->launch_steps =
        o->devices.steps_per_launch == FG_AUTO ? 0 : o->devices.steps_per_launch;
    fg_status status = keep_options(trainer, err);
    if (status == FG_OK)
        status = create_parts(trainer, err);
    if (status == FG_OK)
        *out = trainer;
    else
        fg_trainer_destroy(trainer);
    return status;
}

void fg_trainer_destroy(fg_trainer *trainer)
{
    if (trainer == NULL)
        return;
    fgi_callbacks_destroy(trainer->callbacks);
    fgi_watchdog_destroy(trainer->watchdog);
    fgi_run_destroy(trainer->run);
    fgi_windows_fini(&trainer->windows);
    for (int i = 0; i < 4; i++)
        fgi_stage_destroy(trainer->stage[i]);
    fgi_feed_destroy(trainer->feed);
    fgi_free(trainer->saver);
    fgi_step_profile_destroy(trainer->step_profile);
    fg_load_report_fini(&trainer->model.load_report);
    fg_module_destroy(trainer->model.root);
    if (trainer->client != trainer->options.devices.client)
        fg_client_close(trainer->client);
    fgi_free(trainer->schedule_options);
    fgi_free(trainer->own_options);
    fgi_arena_fini(&trainer->strings);
    fgi_free(trainer);
}

fg_status fg_trainer_set_accumulation(fg_trainer *trainer, fg_int_map schedule, fg_error *err)
{
    fg_trainer_numerics numerics = trainer->options.numerics;
    fgi_accumulation parts;
    if (numerics.accumulate_schedule.count > 0)
        return fgi_fail(err, FG_EINVAL, "the Trainer has an accumulate_schedule already");
    if (trainer->model.root != NULL)
        return fgi_fail(err, FG_EINVAL,
                        "the Trainer has been used: set the batches per step before the first fit");
    numerics.accumulate_schedule = schedule;
    FGI_TRY(fgi_accumulation_init(&numerics, &parts, err));
    schedule.at =
        fgi_arena_copy(&trainer->strings, schedule.at, schedule.count * sizeof *schedule.at);
    if (schedule.at == NULL)
        return fgi_no_memory(err);
    trainer->options.numerics.accumulate_schedule = schedule;
    trainer->accumulation = parts;
    return FG_OK;
}

const fg_profile_info *fg_trainer_profile(const fg_trainer *trainer)
{
    return fgi_step_profile_info(trainer->step_profile);
}

void fg_trainer_request_save(const fg_trainer *trainer) { trainer->saver->is_requested = true; }

fg_module *fg_trainer_module(const fg_trainer *trainer) { return trainer->model.root; }

const fg_load_report *fg_trainer_load_report(const fg_trainer *trainer)
{
    return &trainer->model.load_report;
}

fg_client *fg_trainer_client(const fg_trainer *trainer) { return trainer->client; }

const fg_result *fg_trainer_result(const fg_trainer *trainer) { return &trainer->call.result; }

fgi_fit_facts fgi_fit_facts_of(const fg_trainer *trainer)
{
    const fgi_stage *stage = trainer->stage[FGI_TRAIN];
    return (fgi_fit_facts){.options = &trainer->options,
                           .stages = trainer->stage,
                           .optimizer = trainer->model.optimizer,
                           .train = stage != NULL ? stage->spec.dataset : NULL,
                           .validations = trainer->fit.validations,
                           .is_extra = trainer->fit.is_extra};
}

bool fgi_trainer_stops(fg_trainer *trainer)
{
    return fgi_stop_requested(&trainer->options, &trainer->call, trainer->run);
}

fg_progress fgi_progress_at(const fg_trainer *trainer)
{
    const fg_optimizer *optimizer = trainer->model.optimizer;
    fg_progress at = {
        .step = trainer->cursor.step,
        .epoch = trainer->cursor.epoch,
        .batch = trainer->cursor.epoch_batches,
        .batches = trainer->fit.batches_per_epoch,
        .total_steps = trainer->fit.settings.total_steps,
        .lr = optimizer != NULL ? fg_optimizer_lr(optimizer) : 0,
        .momentum = optimizer != NULL ? fg_optimizer_momentum(optimizer) : (double)NAN,
        .weight_decay = optimizer != NULL ? fg_optimizer_weight_decay(optimizer) : (double)NAN,
        .trainer = trainer,
    };
    for (size_t i = 0; optimizer != NULL && i < optimizer->part_count; i++)
        at.part_lr[i] = fg_optimizer_lr(optimizer->parts[i]);
    return at;
}

fg_status fg_trainer_add_callback(fg_trainer *trainer, const fg_callback_ops *ops, void *take_self,
                                  fg_error *err)
{
    fg_status status = FG_OK;
    if (ops->build != NULL && trainer->model.root != NULL)
        status = fgi_fail(err, FG_EINVAL,
                          "callback '%s' changes the model: add it before the first fit or "
                          "evaluation",
                          ops->name != NULL ? ops->name : "");
    if (status == FG_OK)
        status = fgi_callbacks_add(trainer->callbacks, ops, take_self, err);
    if (status == FG_OK && ops->setup != NULL) {
        status = ops->setup(take_self, trainer, err);
        if (status != FG_OK)
            fgi_callbacks_remove_last(trainer->callbacks);
    }
    if (status != FG_OK && ops->destroy != NULL)
        ops->destroy(take_self);
    return status;
}

static fg_status build_module(fg_trainer *trainer, const fg_task *task, fg_error *err)
{
    if (trainer->model.root != NULL)
        return FG_OK;
    if (task->ops->build == NULL)
        return fgi_fail(err, FG_EINVAL, "task '%s' has no build function",
                        task->name != NULL ? task->name : "");
    fg_module *root = NULL;
    const char *name = fgi_arena_strdup(&trainer->strings, task->name != NULL ? task->name : "");
    if (name == NULL)
        return fgi_no_memory(err);
    FGI_TRY(fg_module_create(NULL, trainer->options.seed, &root, err));
    fg_module_set_precision(root, trainer->precision->name);
    task->ops->build(task->self, root);
    fg_status status = fg_module_error(root, err);
    if (status == FG_OK)
        status = fgi_sharding_apply(&trainer->options.devices, trainer->client, root, err);
    if (status == FG_OK)
        status = fgi_callbacks_build(trainer->callbacks, root, err);
    if (status != FG_OK) {
        fg_module_destroy(root);
        return status;
    }
    trainer->model.root = root;
    trainer->model.task = *task;
    trainer->model.task.name = name;
    return FG_OK;
}

static void report_frozen(const fg_trainer *trainer)
{
    const int64_t frozen = fg_module_frozen_count(trainer->model.root);
    if (frozen > 0)
        fgi_log(FG_LOG_INFO, "%lld of %lld parameters are frozen", (long long)frozen,
                (long long)fg_module_parameter_count(trainer->model.root));
}

static fg_clip clip_of(const fg_trainer_options *o)
{
    const char *algorithm = o->numerics.gradient_clip_algorithm;
    return algorithm != NULL && strcmp(algorithm, "value") == 0 ? FG_CLIP_VALUE : FG_CLIP_NORM;
}

/* Loss scaling, stochastic rounding, clipping, and the detection of anomalies. */
static fg_status prepare_optimizer(fg_trainer *trainer, fg_error *err)
{
    fg_optimizer *optimizer = trainer->model.optimizer;
    if (trainer->precision->scales_loss)
        FGI_TRY(fgi_optimizer_need_loss_scale(optimizer, err));
    if (trainer->options.numerics.stochastic_rounding)
        fg_optimizer_set_stochastic_rounding(optimizer, true);
    if (trainer->options.numerics.gradient_clip_val > 0)
        FGI_TRY(fg_optimizer_set_clip(optimizer, clip_of(&trainer->options),
                                      trainer->options.numerics.gradient_clip_val, err));
    return fgi_optimizer_watch(optimizer, trainer->options.numerics.detect_anomaly, err);
}

static fg_status build_optimizer(fg_trainer *trainer, fg_error *err)
{
    if (trainer->model.optimizer != NULL)
        return FG_OK;
    const fg_task *task = &trainer->model.task;
    if (task->ops->optimizer == NULL)
        return fgi_fail(err, FG_EINVAL, "task '%s' has no optimizer function", task->name);
    trainer->model.optimizer = task->ops->optimizer(task->self, trainer->model.root);
    FGI_TRY(fg_module_error(trainer->model.root, err));
    if (trainer->model.optimizer == NULL)
        return fgi_fail(err, FG_EINVAL, "task '%s': its optimizer function returned NULL",
                        task->name);
    report_frozen(trainer);
    return prepare_optimizer(trainer, err);
}

static void warn_of_precision(const fg_trainer *trainer)
{
    const fg_dtype matmul = trainer->precision->matmul;
    if (matmul == FG_F16 && fgi_client_support(trainer->client, matmul) == FGI_WIDENED)
        fgi_log(
            FG_LOG_WARNING,
            "precision '%s': the device rounds to f16 but computes in f32, slower than '32-true': "
            "use it only to test what a device that computes in f16 will do",
            trainer->precision->name);
}

static void say(void *self, const char *line)
{
    const fg_trainer *trainer = self;
    fgi_progress_say(trainer->progress, line);
}

fg_status fg_trainer_connect(fg_trainer *trainer, fg_error *err)
{
    const fg_check_options check = {.say = say, .say_self = trainer};
    return fgi_strategy_open(&trainer->options.devices, &check, &trainer->client, err);
}

fg_status fgi_trainer_prepare(fg_trainer *trainer, const fg_task *task, bool with_optimizer,
                              fg_error *err)
{
    if (trainer->model.root != NULL &&
        (task->ops != trainer->model.task.ops || task->self != trainer->model.task.self))
        return fgi_fail(err, FG_EINVAL,
                        "the Trainer has task '%s' already: create another one for '%s'",
                        trainer->model.task.name, task->name != NULL ? task->name : "");
    if (trainer->model.lost_step != 0)
        return fgi_fail(err, FG_EDEVICE,
                        "the weights were lost when training step %lld failed: continue in another "
                        "Trainer, from a checkpoint if there is one",
                        (long long)trainer->model.lost_step);
    FGI_TRY(fg_trainer_connect(trainer, err));
    fgi_watch_client(trainer->watchdog, trainer->client);
    FGI_TRY(fgi_precision_check(trainer->precision, trainer->client, err));
    if (trainer->model.root == NULL)
        warn_of_precision(trainer);
    FGI_TRY(build_module(trainer, task, err));
    return with_optimizer ? build_optimizer(trainer, err) : FG_OK;
}

/* ---- calls and their results ----------------------------------------------------------------- */

/* The counters of the client, which may not be open yet. */
static fg_client_stats stats_of(const fg_trainer *trainer)
{
    const fg_client *client =
        trainer->client != NULL ? trainer->client : trainer->options.devices.client;
    return client != NULL ? fg_client_stats_of(client) : (fg_client_stats){0};
}

/* A callback, or whoever else runs on this thread, waited for a value. */
static void on_read(void *ledger, int64_t begin_ns, int64_t end_ns)
{
    fgi_ledger_add(ledger, FGI_READ, begin_ns, end_ns);
}

/* A monitor that is auto depends on whether there is validation. */
static void choose_monitor(fg_trainer *trainer, const fg_fit_data *data)
{
    const fg_trainer_options *given = trainer->own_options;
    const bool validates =
        given->validation.val_every_epochs > 0 || given->validation.val_every_steps > 0;
    const bool is_limited_to_none =
        given->limits.limit_val_batches.count == 0 && given->limits.limit_val_batches.fraction == 0;
    if (given->checkpoints.monitor == NULL)
        trainer->options.checkpoints.monitor =
            data->val != NULL && validates && !is_limited_to_none ? "val_loss" : "train_loss";
}

fg_status fgi_trainer_enter(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                            fg_error *err)
{
    if (trainer == NULL || task == NULL || task->ops == NULL || data == NULL)
        return fgi_fail(err, FG_EINVAL, "no %s given",
                        trainer == NULL ? "Trainer was"
                        : data == NULL  ? "data were"
                                        : "task, or one without ops, was");
    FGI_TRY_RESERVED(fg_task, task, err);
    FGI_TRY_RESERVED(fg_task_ops, task->ops, err);
    FGI_TRY_RESERVED(fg_fit_data, data, err);
    if (trainer->call.is_busy)
        return fgi_fail(err, FG_EINVAL,
                        "the Trainer is running: a callback must not start it again");
    FGI_TRY(fgi_watchdog_start(trainer->watchdog, err));
    choose_monitor(trainer, data);
    fgi_watch_checkpoint(trainer->watchdog, trainer->saver->last);
    trainer->call = (fgi_call){.is_busy = true, .stats_before = stats_of(trainer)};
    fgi_here_take(&trainer->call.file, &trainer->call.line);
    trainer->call.reads_before =
        fgi_watch_reads((fgi_read_watch){.fn = on_read, .self = &trainer->ledger});
    fgi_ledger_start(&trainer->ledger, fgi_now_ns());
    return FG_OK;
}

/* Google Cloud, "System architecture of Cloud TPU": matrix units multiply bf16 and, of some
 * generations, int8; f32 takes several passes. */
static bool is_emulated(const fg_chip *chip, fg_dtype dtype)
{
    static const fg_dtype list[] = {FG_F64, FG_S16, FG_S32, FG_S64, FG_U16, FG_U32, FG_U64};
    bool is_listed = false;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        is_listed = is_listed || dtype == list[i];
    return is_listed && chip != NULL && chip->generation != NULL;
}

static fg_step_cost cost_of(const fg_trainer *trainer, const fgi_stage *stage)
{
    const double unknown = (double)NAN;
    fg_step_cost cost = {
        .flops = unknown, .seconds = unknown, .flops_16bit = unknown, .bytes = unknown};
    fg_device_info device = {0};
    if (stage->program == NULL || fg_device_info_at(trainer->client, 0, &device, NULL) != FG_OK)
        return cost;
    const fgi_matmul_flops *flops = fgi_step_program_flops(stage->program);
    const int count = fg_client_info_of(trainer->client)->device_count;
    cost.samples = stage->spec.batch_size;
    cost.flops = cost.seconds = 0;
    const fg_chip *chip = fg_chip_find(device.kind);
    for (int i = 0; i <= FG_F64; i++) {
        const double rate = fg_chip_matmul_rate(chip, (fg_dtype)i);
        cost.flops += flops->of[i];
        if (is_emulated(chip, (fg_dtype)i))
            cost.flops_emulated += flops->of[i];
        if (flops->of[i] > 0)
            cost.seconds += rate > 0 ? flops->of[i] / (rate * count) : (double)NAN;
    }
    cost.flops_16bit = flops->of[FG_BF16] + flops->of[FG_F16];
    const fgi_program_cost reported =
        fgi_executable_cost(fgi_step_program_executable(stage->program));
    if (reported.bytes_accessed > 0)
        cost.bytes = reported.bytes_accessed * count;
    return cost;
}

fg_step_cost fg_trainer_step_cost(const fg_trainer *trainer)
{
    return cost_of(trainer, trainer->stage[FGI_TRAIN]);
}

/* Compares the FLOPs of the train program with the peak rate of the devices. */
static void count_mxu(const fg_trainer *trainer, const fgi_stage *stage, fg_result *result)
{
    const fg_step_cost cost = cost_of(trainer, stage);
    result->step_flops = cost.flops;
    result->mxu_use = cost.seconds * result->samples_per_s / (double)cost.samples;
}

static void fill(const fg_trainer *trainer, fgi_stage_kind kind, fg_result *result)
{
    const fg_client_stats now = stats_of(trainer), before = trainer->call.stats_before;
    fgi_stage *stage = trainer->stage[kind];
    fgi_stage_report_input(stage, &result->input);
    fgi_ledger_result(&trainer->ledger, result);
    result->epochs = trainer->cursor.epoch;
    result->steps = trainer->cursor.step;
    fgi_health_result(&trainer->health, result);
    result->rollbacks = trainer->divergence.at.rollbacks;
    result->rollback_lr_factor = trainer->divergence.at.lr_factor;
    result->device_peak_bytes = -1;
    if (stage->program != NULL)
        result->device_peak_bytes =
            fgi_executable_cost(fgi_step_program_executable(stage->program)).peak_bytes;
    count_mxu(trainer, stage, result);
    result->compiles = now.compiles - before.compiles;
    result->compile_cache_hits = now.compile_cache_hits - before.compile_cache_hits;
    result->compile_s = now.compile_s - before.compile_s;
    result->host_reads = now.host_reads - before.host_reads;
}

void fgi_result_end(fg_trainer *trainer, fgi_stage_kind kind)
{
    (void)fgi_plugin_unwatch(); /* a step that failed did not reset it */
    if (kind == FGI_TRAIN)
        fgi_feed_close_window(trainer->feed, trainer->cursor.step);
    fill(trainer, kind, &trainer->call.result);
}

void fg_trainer_result_so_far(const fg_trainer *trainer, fg_result *out)
{
    *out = trainer->call.result;
    fill(trainer, FGI_TRAIN, out);
}

fg_status fgi_trainer_leave(fg_trainer *trainer, fg_status status, const fg_error *error,
                            fg_error *err)
{
    (void)fgi_watch_reads(trainer->call.reads_before);
    fgi_watchdog_stop(trainer->watchdog);
    fgi_progress_stop(trainer->progress);
    trainer->call.result.status = status;
    trainer->call.is_busy = false;
    if (status != FG_OK && err != NULL)
        *err = *error;
    return status;
}

/* ---- the log --------------------------------------------------------------------------------- */

fg_status fg_trainer_add_logger(fg_trainer *trainer, const fg_logger_ops *ops, void *take_self,
                                fg_error *err)
{
    fgi_logger *logger = fgi_run_next_logger(trainer->run);
    if (logger != NULL)
        return fgi_logger_add(logger, ops, take_self, err);
    if (ops->destroy != NULL)
        ops->destroy(take_self);
    return fgi_fail(err, FG_EINVAL, "logger '%s': the log is open already: add it before the fit",
                    ops->name != NULL ? ops->name : "");
}

fg_status fg_trainer_set_run_info(fg_trainer *trainer, const fg_run_info *info, fg_error *err)
{
    fgi_logger *logger = fgi_run_next_logger(trainer->run);
    if (logger != NULL)
        return fgi_logger_set_info(logger, info, err);
    return fgi_fail(err, FG_EINVAL,
                    "fg_trainer_set_run_info: the log is open already: call it before the fit");
}

enum { NAME_MAX_BYTES = 255, SIDE_MAX = 16384 };

/* Whether the item is to be logged; *out_status is then FG_OK. */
static bool is_wanted(const fg_trainer *trainer, const char *name, fg_status *out_status,
                      fg_error *err)
{
    const size_t size = name != NULL ? strlen(name) : 0;
    *out_status = FG_OK;
    if (!trainer->call.is_running || trainer->call.is_search)
        *out_status = fgi_fail(err, FG_EINVAL,
                               "texts, images and histograms can only be logged "
                               "during a fit");
    else if (size == 0 || size > NAME_MAX_BYTES || !fgi_text_is_utf8((fgi_str){name, size}))
        *out_status =
            fgi_fail(err, FG_EINVAL, "the name of a logged item: expected 1 to %d bytes of UTF-8",
                     NAME_MAX_BYTES);
    return *out_status == FG_OK && fgi_logger_takes_items(fgi_run_logger(trainer->run));
}

static void log_item(const fg_trainer *trainer, fg_log_item item)
{
    item.step = trainer->cursor.step;
    item.wall_time = fgi_wall_time();
    fgi_logger_item(fgi_run_logger(trainer->run), &item);
}

fg_status fg_trainer_log_text(const fg_trainer *trainer, const char *name, const char *text,
                              fg_error *err)
{
    fg_status status;
    if (!is_wanted(trainer, name, &status, err))
        return status;
    if (!fgi_text_is_utf8(fgi_str_of(text)))
        return fgi_fail(err, FG_EINVAL, "the text '%s': expected UTF-8", name);
    log_item(trainer, (fg_log_item){.kind = FG_LOG_TEXT, .name = name, .text = text});
    return FG_OK;
}

fg_status fg_trainer_log_image(const fg_trainer *trainer, const char *name, const fg_image *image,
                               fg_error *err)
{
    fg_status status;
    if (!is_wanted(trainer, name, &status, err))
        return status;
    if (image->height < 1 || image->height > SIDE_MAX || image->width < 1 ||
        image->width > SIDE_MAX || (image->channels != 1 && image->channels != 3))
        return fgi_fail(err, FG_EINVAL,
                        "the image '%s' has %lld x %lld pixels with %d channel%s: expected sides "
                        "from 1 to %d, and 1 or 3 channels",
                        name, (long long)image->width, (long long)image->height, image->channels,
                        fgi_s(image->channels), SIDE_MAX);
    log_item(trainer, (fg_log_item){.kind = FG_LOG_IMAGE,
                                    .name = name,
                                    .pixels = image->pixels,
                                    .height = image->height,
                                    .width = image->width,
                                    .channels = image->channels});
    return FG_OK;
}

fg_status fg_trainer_log_histogram(const fg_trainer *trainer, const char *name, const float *values,
                                   size_t count, fg_error *err)
{
    fg_status status;
    fgi_histogram histogram;
    if (is_wanted(trainer, name, &status, err) &&
        fgi_histogram_make(FG_F32, values, count, &histogram))
        log_item(trainer, fgi_histogram_item(&histogram, name));
    return status;
}
