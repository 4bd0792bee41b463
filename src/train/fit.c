/* fit.c - the training loop.
 *
 * The order of things: for each epoch, for each batch: launch, read metrics that have arrived,
 * close a window of metrics every log_every steps, validate and save where it is due, look for a
 * reason to stop. Nothing in it waits for the device but windows at the end of an epoch,
 * validation, saving, and the limit of launches ahead.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/thread.h"
#include "train/trainer.h"

/* ---- how long -------------------------------------------------------------------------------- */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Sizes of this fit, from data and limits, before anything is compiled. */
static fg_status plan(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    const int64_t size = data->batch_size > 0 ? data->batch_size : 32;
    if (data->train == NULL)
        return fgi_fail(err, FG_EINVAL, "no training data were given");
    const int64_t count = fg_dataset_count(data->train);
    int64_t steps = data->drop_last ? count / size : (count + size - 1) / size;
    if (o->limit_train_batches > 0)
        steps = smaller(steps, o->limit_train_batches);
    if (steps == 0)
        return fgi_fail(err, FG_EINVAL, "an epoch has no step: %lld samples in batches of %lld%s",
                        (long long)count, (long long)size,
                        data->drop_last ? ", the incomplete one left out" : "");
    trainer->steps_per_epoch = steps;
    trainer->total_steps = o->max_epochs > 0 ? steps * o->max_epochs : o->max_steps;
    if (o->max_steps > 0)
        trainer->total_steps = smaller(trainer->total_steps, o->max_steps);
    return fg_optimizer_set_schedule(trainer->optimizer, o->schedule, trainer->total_steps, err);
}

static bool is_over(const fg_trainer *trainer)
{
    const fg_trainer_options *o = &trainer->options;
    return trainer->is_stopping || (o->max_steps > 0 && trainer->step >= o->max_steps) ||
           (o->max_epochs > 0 && trainer->epoch >= o->max_epochs);
}

/* ---- validation and saving ------------------------------------------------------------------- */

/* Whether `metrics` has the monitored number, and it is the best so far. */
static bool is_new_best(fg_trainer *trainer, const fg_metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double value = metrics[i].value;
        if (strcmp(metrics[i].name, trainer->options.monitor) != 0 || isnan(value))
            continue;
        const bool better =
            !trainer->has_best ||
            (trainer->options.monitor_max ? value > trainer->best : value < trainer->best);
        if (better)
            trainer->best = value;
        trainer->has_best = true;
        return better;
    }
    return false;
}

static fg_status save(fg_trainer *trainer, bool is_best, fg_error *err)
{
    if (trainer->options.run_dir == NULL || (trainer->saved_step == trainer->step && !is_best))
        return FG_OK;
    const int64_t begin = fgi_now_ns();
    FGI_TRY(fgi_state_save(trainer, is_best, err));
    const int64_t end = fgi_now_ns();
    trainer->feed.wait_ns += end - begin;
    fgi_ledger_add(&trainer->ledger, FGI_CHECKPOINT, begin, end);
    trainer->saved_step = trainer->step;
    fg_progress at = fgi_progress_at(trainer);
    at.path = trainer->result.checkpoint;
    return fgi_notify(trainer, FGI_ON_SAVED, &at, err);
}

/* Validates; *out_best tells whether the monitored metric has improved. */
static fg_status validate(fg_trainer *trainer, const fg_fit_data *data, bool *out_best,
                          fg_error *err)
{
    fg_metric metrics[FG_MAX_METRICS];
    size_t count = 0;
    fg_progress at = fgi_progress_at(trainer);
    *out_best = false;
    if (data->val == NULL || trainer->task.ops->val_step == NULL ||
        trainer->validated_step == trainer->step)
        return FG_OK;
    const int64_t begin = fgi_now_ns();
    FGI_TRY(fgi_notify(trainer, FGI_ON_VAL_START, &at, err));
    FGI_TRY(fgi_evaluate(trainer, FGI_VAL, data, trainer->options.limit_val_batches, metrics,
                         &count, err));
    trainer->validated_step = trainer->step;
    *out_best = is_new_best(trainer, metrics, count);
    at.metrics = metrics;
    at.metric_count = count;
    FGI_TRY(fgi_notify(trainer, FGI_ON_VAL_END, &at, err));
    const int64_t passed = fgi_now_ns() - begin;
    trainer->window_start_ns += passed; /* rates are of training */
    return FG_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool is_due(int64_t every, int64_t count) { return every > 0 && count % every == 0; }

/* What is due after a step inside an epoch; its end has its own. */
static fg_status after_step(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    fgi_stage *stage = &trainer->stage[FGI_TRAIN];
    const fg_progress at = fgi_progress_at(trainer);
    bool is_best = false;
    FGI_TRY(fgi_notify(trainer, FGI_ON_BATCH_END, &at, err));
    if (is_due(o->log_every, trainer->step))
        FGI_TRY(fgi_windows_close(trainer, &trainer->train_windows, stage, err));
    FGI_TRY(fgi_windows_collect(trainer, &trainer->train_windows, stage, false, err));
    if (o->handle_signals && fgi_signals_caught())
        trainer->is_stopping = true;
    if (trainer->epoch_batches == trainer->steps_per_epoch)
        return FG_OK;
    if (is_due(o->val_every_steps, trainer->step))
        FGI_TRY(validate(trainer, data, &is_best, err));
    if (is_best || is_due(o->save_every_steps, trainer->step))
        FGI_TRY(save(trainer, is_best, err));
    return FG_OK;
}

static fg_status train_batch(fg_trainer *trainer, const fg_host_batch *batch, fg_error *err)
{
    const int64_t next_position = batch->next_position, valid = batch->valid;
    FGI_TRY(fgi_feed_launch(trainer, &trainer->stage[FGI_TRAIN], batch, NULL, err));
    trainer->step++;
    trainer->epoch_batches++;
    trainer->position = next_position;
    trainer->window_samples += valid;
    trainer->train_windows.is_open = true;
    return FG_OK;
}

/* Metrics of the whole epoch, validation, saving; then the next epoch begins. */
static fg_status end_epoch(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    fgi_stage *stage = &trainer->stage[FGI_TRAIN];
    fg_metric metrics[FG_MAX_METRICS];
    bool is_best = false;
    FGI_TRY(fgi_windows_close(trainer, &trainer->train_windows, stage, err));
    FGI_TRY(fgi_windows_collect(trainer, &trainer->train_windows, stage, true, err));
    const size_t count = fgi_windows_means(&trainer->train_windows, stage, metrics);
    fgi_result_put(&trainer->result, metrics, count);
    if (is_due(o->val_every_epochs, trainer->epoch + 1) ||
        is_due(o->val_every_steps, trainer->step))
        FGI_TRY(validate(trainer, data, &is_best, err));
    fg_progress at = fgi_progress_at(trainer);
    fgi_windows_clear(&trainer->train_windows);
    trainer->epoch++;
    trainer->position = 0;
    trainer->epoch_batches = 0;
    at.metrics = metrics;
    at.metric_count = count;
    FGI_TRY(fgi_notify(trainer, FGI_ON_EPOCH_END, &at, err));
    if (is_best || is_due(o->save_every_epochs, trainer->epoch) ||
        is_due(o->save_every_steps, trainer->step))
        FGI_TRY(save(trainer, is_best, err));
    return FG_OK;
}

static fg_status run_epoch(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    fgi_stage *stage = &trainer->stage[FGI_TRAIN];
    const fg_progress at = fgi_progress_at(trainer);
    FGI_TRY(fg_loader_start_epoch(stage->loader, trainer->epoch, trainer->position, err));
    FGI_TRY(fgi_notify(trainer, FGI_ON_EPOCH_START, &at, err));
    while (trainer->epoch_batches < trainer->steps_per_epoch && !is_over(trainer)) {
        const int64_t begin = fgi_now_ns(), waited = trainer->feed.wait_ns;
        const fg_host_batch *batch = NULL;
        FGI_TRY(fgi_feed_next(trainer, stage, &batch, err));
        if (batch == NULL)
            break;
        FGI_TRY(train_batch(trainer, batch, err));
        FGI_TRY(after_step(trainer, data, err));
        trainer->ledger.work_ns += fgi_now_ns() - begin - (trainer->feed.wait_ns - waited);
    }
    if (trainer->epoch_batches < trainer->steps_per_epoch)
        return FG_OK; /* stopped inside */
    return end_epoch(trainer, data, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* A window that was open when the checkpoint was made goes on. */
static fg_status continue_window(fg_trainer *trainer, fg_error *err)
{
    fgi_stage *stage = &trainer->stage[FGI_TRAIN];
    if (!trainer->restored.is_open || trainer->restored.metric_count != stage->metric_count)
        return FG_OK;
    const fg_type type = {.dtype = FG_F32, .rank = 1, .dim = {2 * (int64_t)stage->metric_count}};
    fg_array *sums = NULL;
    FGI_TRY(fgi_array_upload(trainer->client, &type, trainer->restored.sums, FGI_UPLOAD_COPY, &sums,
                             NULL, err));
    fg_array_release(stage->sums);
    stage->sums = sums;
    stage->fresh.value.u32 = 0;
    trainer->train_windows.is_open = true;
    trainer->restored.is_open = false;
    return FG_OK;
}

static fg_status open_run(fg_trainer *trainer, fg_error *err)
{
    if (trainer->options.run_dir == NULL || trainer->logger != NULL)
        return FG_OK;
    FGI_TRY(fgi_folder_make(trainer->options.run_dir, err));
    FGI_TRY(fgi_logger_create(trainer->options.run_dir, trainer->step, &trainer->logger, err));
    return fg_trainer_add_callback(trainer, &fgi_logger_ops, trainer->logger, err);
}

/* The steps are done: the last metrics, and the state. A run that was stopped leaves its window
 * open, in the checkpoint, for the run that goes on. */
static fg_status end_run(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    fgi_stage *stage = &trainer->stage[FGI_TRAIN];
    fgi_windows *windows = &trainer->train_windows;
    fg_metric metrics[FG_MAX_METRICS];
    bool is_best = false;
    if (!trainer->is_stopping)
        FGI_TRY(fgi_windows_close(trainer, windows, stage, err));
    FGI_TRY(fgi_windows_collect(trainer, windows, stage, true, err));
    if (trainer->epoch_batches > 0)
        fgi_result_put(&trainer->result, metrics, fgi_windows_means(windows, stage, metrics));
    if (trainer->epoch_batches > 0 && !trainer->is_stopping)
        FGI_TRY(validate(trainer, data, &is_best, err));
    FGI_TRY(fgi_feed_drain(trainer, err));
    return save(trainer, is_best, err);
}

static fg_status run(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                     fg_error *err)
{
    FGI_TRY(fgi_trainer_prepare(trainer, task, true, err));
    FGI_TRY(plan(trainer, data, err));
    FGI_TRY(open_run(trainer, err));
    FGI_TRY(fgi_stage_prepare(trainer, FGI_TRAIN, data, err));
    FGI_TRY(continue_window(trainer, err));
    const fg_progress at = fgi_progress_at(trainer);
    FGI_TRY(fgi_notify(trainer, FGI_ON_FIT_START, &at, err));
    trainer->window_start_ns = fgi_now_ns();
    trainer->window_samples = 0;
    while (!is_over(trainer))
        FGI_TRY(run_epoch(trainer, data, err));
    return end_run(trainer, data, err);
}

static void put_result(fg_trainer *trainer, const fg_client_stats *before, fg_status status)
{
    fg_result *result = &trainer->result;
    fgi_program_cost cost;
    fgi_ledger_result(&trainer->ledger, result);
    result->status = status;
    result->epochs = trainer->epoch;
    result->steps = trainer->step;
    result->device_peak_bytes = -1;
    const fgi_stage *stage = &trainer->stage[FGI_TRAIN];
    if (stage->program != NULL && fgi_step_program_cost(stage->program, &cost, NULL) == FG_OK)
        result->device_peak_bytes = cost.peak_bytes;
    if (trainer->client == NULL)
        return;
    const fg_client_stats now = fg_client_get_stats(trainer->client);
    result->compiles = now.compiles - before->compiles;
    result->compile_cache_hits = now.compile_cache_hits - before->compile_cache_hits;
    result->compile_s = now.compile_s - before->compile_s;
    result->host_reads = now.host_reads - before->host_reads;
}

fg_status fg_trainer_fit(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                         fg_error *err)
{
    const fg_client_stats before =
        trainer->client != NULL ? fg_client_get_stats(trainer->client) : (fg_client_stats){0};
    fg_error first = {0}, later = {0};
    trainer->result = (fg_result){0};
    trainer->is_stopping = false;
    trainer->is_running = true;
    fgi_ledger_start(&trainer->ledger, fgi_now_ns());
    if (trainer->options.handle_signals)
        fgi_signals_catch();
    fg_status status = run(trainer, task, data, &first);
    const fg_status drained = fgi_feed_drain(trainer, &later);
    if (status == FG_OK && drained != FG_OK) {
        status = drained;
        first = later;
    }
    if (trainer->options.handle_signals)
        fgi_signals_release();
    if (status == FG_OK && trainer->is_stopping)
        status = fgi_fail(&first, FG_ESTOPPED, "stopped at step %lld%s%s", (long long)trainer->step,
                          trainer->result.checkpoint[0] != '\0' ? "; saved in " : "",
                          trainer->result.checkpoint);
    put_result(trainer, &before, status);
    trainer->is_running = false;
    const fg_progress at = fgi_progress_at(trainer);
    const fg_status told = fgi_notify(trainer, FGI_ON_FIT_END, &at, &later);
    if (status == FG_OK && told != FG_OK) {
        status = told;
        first = later;
    }
    if (status != FG_OK && err != NULL)
        *err = first;
    return status;
}
