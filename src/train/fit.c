/* fit.c - the training loop.
 *
 * For each epoch, for each batch: launch, process metrics that have arrived, close a window of
 * metrics every log_every steps, validate and save when due, check whether to stop. It only waits
 * for the device at the end of an epoch, in validation, when saving, and when too many steps are in
 * flight.
 *
 * A stop may occur between any two of these; the checkpoint records what was due and has not been
 * done, and the resumed run starts with that. A limit, unlike a signal, leaves time to validate the
 * last weights.
 *
 * A fit that has diverged goes back to its last good checkpoint, with a smaller learning rate:
 * everything is restored as when a run resumes from it, on the same devices and with the same
 * programs. Then the state is saved again, so a run that is killed resumes with the smaller rate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/timeline.h"
#include "log/logger.h"
#include "profile/profile_files.h"
#include "train/progress/progress.h"
#include "train/trainer.h"

/* ---- how long -------------------------------------------------------------------------------- */

static bool ends_epoch(const fg_trainer *trainer, const fgi_cursor *cursor)
{
    return fgi_cursor_ends_epoch(cursor, trainer->fit.train_limit, trainer->fit.drop_last);
}

static bool epoch_is_over(const fg_trainer *trainer)
{
    return ends_epoch(trainer, &trainer->cursor);
}

/* Whether all steps are done. */
static bool is_over(const fg_trainer *trainer)
{
    const fg_trainer_options *o = &trainer->options;
    return (o->limits.max_steps > 0 && trainer->cursor.step >= o->limits.max_steps) ||
           (o->limits.max_epochs > 0 && trainer->cursor.epoch >= o->limits.max_epochs);
}

/* Calls all callbacks, at the current position. */
static fg_status notify(fg_trainer *trainer, fgi_event_kind kind, fg_error *err)
{
    const fg_progress at = fgi_progress_at(trainer);
    return fgi_notify(trainer->callbacks, kind, &at, err);
}

/* ---- validation and saving ------------------------------------------------------------------- */

/* Whether there are steps to do, or the end of an epoch that was postponed by a stop. */
static bool has_more(const fg_trainer *trainer)
{
    return !is_over(trainer) || epoch_is_over(trainer);
}

/* Whether which states are saved may depend on the time: training does not return to one, and no
 * other process saves its part. */
static bool saves_may_wait(const fg_trainer *trainer)
{
    return !trainer->options.checkpoints.wait_for_saves &&
           strcmp(trainer->options.divergence.on_divergence, "rollback") != 0 &&
           fg_client_info_of(trainer->client)->process_count == 1;
}

/* Saves the state now, within a second, or not at all, which is said once. */
static fg_status offer(fg_trainer *trainer, fgi_rank rank, fg_error *err)
{
    const bool has_said = trainer->saver->has_skipped;
    FGI_TRY(fgi_saver_offer(trainer->saver, rank, err));
    if (trainer->saver->has_skipped && !has_said && has_more(trainer))
        fgi_progress_say(trainer->progress,
                         "not every epoch is saved, because they end less than a second after the "
                         "last save began; trainer.ckpt_every_epochs=1 saves each");
    return FG_OK;
}

/* Starts saving this state unless it is saved already; may_wait: now, within a second, or not. */
static fg_status save(fg_trainer *trainer, fgi_rank rank, bool may_wait, fg_error *err)
{
    trainer->saver->is_requested = false;
    if (trainer->options.checkpoints.run_dir == NULL)
        return FG_OK;
    if (trainer->saver->is_current && rank == FGI_RANK_NONE)
        return may_wait ? FG_OK : fgi_saver_collect(trainer->saver, true, err);
    if (fgi_divergence_is_suspected(&trainer->divergence) && rank != FGI_RANK_BEST) {
        fgi_best_list_forget(&trainer->cursor.top, trainer->cursor.step);
        return FG_OK; /* wait until the loss has fallen again */
    }
    return may_wait && saves_may_wait(trainer) ? offer(trainer, rank, err)
                                               : fgi_saver_begin(trainer->saver, err);
}

static bool is_due(int64_t every, int64_t count) { return every > 0 && count % every == 0; }

/* Saves that an option or a callback asks for begin now. */
static fg_status save_due(fg_trainer *trainer, fgi_rank rank, bool is_epoch_end, fg_error *err)
{
    const fg_trainer_checkpoints *o = &trainer->options.checkpoints;
    const bool is_asked_for = trainer->saver->is_requested ||
                              is_due(o->ckpt_every_steps, trainer->cursor.step) ||
                              (is_epoch_end && is_due(o->ckpt_every_epochs, trainer->cursor.epoch));
    const bool is_usual = is_epoch_end && o->ckpt_every_epochs == FG_AUTO;
    if (rank == FGI_RANK_NONE && !is_asked_for && !is_usual)
        return FG_OK;
    return save(trainer, rank, !is_asked_for, err);
}

/* How good the state is by the monitored metric, which the cursor's list records and the schedule
 * may follow. */
static fg_status rank_metrics(fg_trainer *trainer, const fg_metric *metrics, size_t count,
                              fgi_rank *out, fg_error *err)
{
    const fgi_best_rule rule = fgi_best_rule_of(&trainer->options.checkpoints);
    const size_t i = fgi_metric_find(metrics, count, rule.monitor);
    if (i < count)
        FGI_TRY(
            fgi_optimizer_observe(trainer->model.optimizer, metrics[i].value, rule.is_max, err));
    *out = fgi_rank_metrics(&trainer->cursor.top, &rule, trainer->cursor.step, metrics, count,
                            trainer->saver->snapshot != NULL || trainer->saver->waiting != NULL);
    return FG_OK;
}

static bool has_validation(const fg_trainer *trainer, const fg_fit_data *data)
{
    return data->val != NULL && trainer->model.task.ops->val_step != NULL;
}

/* Validates unless that was done at this step; *out_rank: that of the monitored metric. A stop
 * postpones it to the end of the fit or to the resumed run. */
static fg_status validate(fg_trainer *trainer, const fg_fit_data *data, fgi_rank *out_rank,
                          fg_error *err)
{
    fg_metric metrics[FG_MAX_METRICS];
    size_t count = 0;
    fg_progress at = fgi_progress_at(trainer);
    int64_t limit;
    *out_rank = FGI_RANK_NONE;
    if (!has_validation(trainer, data) || trainer->cursor.validated_step == trainer->cursor.step)
        return FG_OK;
    const int64_t begin = fgi_now_ns();
    trainer->saver->is_current = false;
    trainer->cursor.owes_validation = true;
    if (fgi_trainer_stops(trainer))
        return FG_OK;
    const int64_t deadline_ns = trainer->call.deadline_ns;
    FGI_TRY(fgi_stage_prepare(trainer, FGI_VAL, data, err));
    limit = fgi_stage_limit(trainer, FGI_VAL);
    at.batch = 0;
    at.batches = fgi_stage_batches(trainer->stage[FGI_VAL], limit);
    FGI_TRY(fgi_notify(trainer->callbacks, FGI_ON_VAL_START, &at, err));
    trainer->call.deadline_ns = 0; /* a limit of time would only make it start again */
    FGI_TRY(fgi_evaluate(trainer, FGI_VAL, limit, metrics, &count, err));
    trainer->call.deadline_ns = deadline_ns;
    if (trainer->call.is_stopping) /* cut short */
        return FG_OK;
    /* metrics of the previous steps have arrived by now, and are logged in the order of steps */
    FGI_TRY(fgi_windows_collect(&trainer->windows, 0, err));
    at.batch = trainer->call.evaluated_batches;
    trainer->cursor.owes_validation = false;
    trainer->cursor.validated_step = trainer->cursor.step;
    FGI_TRY(rank_metrics(trainer, metrics, count, out_rank, err));
    at.metrics = metrics;
    at.metric_count = count;
    FGI_TRY(fgi_notify(trainer->callbacks, FGI_ON_VAL_END, &at, err));
    trainer->windows.start_ns += fgi_now_ns() - begin;
    fgi_timeline_end(begin, "trainer", "validation", trainer->cursor.step);
    return FG_OK;
}

/* ---- metrics --------------------------------------------------------------------------------- */

static fg_status close_window(fg_trainer *trainer, fg_error *err)
{
    const fg_progress at = fgi_progress_at(trainer);
    return fgi_windows_close(&trainer->windows, &at, err);
}

/* The learning rates of a joined optimizer's parts. */
static size_t put_rates(const fg_trainer *trainer, const fg_progress *at, fg_metric *out)
{
    const fg_optimizer *optimizer = trainer->model.optimizer;
    for (size_t i = 0; i < optimizer->part_count; i++) {
        (void)snprintf(out[i].name, sizeof out[i].name, "lr/%s",
                       fg_optimizer_part_name(optimizer, i));
        out[i].value = at->part_lr[i];
    }
    return optimizer->part_count;
}

/* A log line of these sums. */
static fg_status log_window(fg_trainer *trainer, const float *sums, const fg_progress *closed,
                            fg_error *err)
{
    fg_metric metrics[FG_MAX_METRICS + FGI_HEALTH_METRICS + FG_MOST_PARTS + FG_MAX_LOG_VALUES];
    const fgi_metrics *list = &trainer->stage[FGI_TRAIN]->metrics;
    double wide[2 * FG_MAX_METRICS];
    const size_t count = list->count, loss = fgi_metrics_find(list, "loss");
    for (size_t i = 0; i < 2 * count; i++)
        wide[i] = (double)sums[i];
    fg_progress at = *closed;
    at.metrics = metrics;
    at.metric_count = fgi_metrics_values(list, "train_", wide, NULL, NULL, metrics);
    at.metric_count += fgi_health_metrics(&trainer->health, metrics + at.metric_count);
    at.metric_count += put_rates(trainer, &at, metrics + at.metric_count);
    FGI_TRY(
        fgi_measure(trainer->callbacks, &at, metrics, at.metric_count + FG_MAX_LOG_VALUES, err));
    FGI_TRY(fgi_notify(trainer->callbacks, FGI_ON_LOG, &at, err));
    if (loss == count || !(fabs(wide[2 * loss + 1]) > 0)) /* no loss, or no sample */
        return fgi_divergence_check(&trainer->divergence, at.step, err);
    return fgi_divergence_line(&trainer->divergence, wide[2 * loss] / wide[2 * loss + 1], at.step,
                               err);
}

/* Notes the loss of the first step of the run. */
static void note_first(fg_trainer *trainer, const float *sums)
{
    const fgi_metrics *list = &trainer->stage[FGI_TRAIN]->metrics;
    const size_t loss = fgi_metrics_find(list, "loss");
    if (loss < list->count)
        fgi_divergence_first(&trainer->divergence, (double)sums[2 * loss],
                             (double)sums[2 * loss + 1]);
}

fg_status fgi_fit_take(void *self, fgi_window_end end, const float *sums, const fg_progress *at,
                       fg_error *err)
{
    fg_trainer *trainer = self;
    const float *health = sums + 2 * trainer->stage[FGI_TRAIN]->metrics.count;
    if (end != FGI_WINDOW_OPEN && at->step == 1)
        note_first(trainer, sums);
    if (end == FGI_WINDOW_FIRST)
        return FG_OK;
    FGI_TRY(fgi_divergence_take(&trainer->divergence, health, at->step, err));
    return end == FGI_WINDOW_CLOSED ? log_window(trainer, sums, at, err)
                                    : fgi_divergence_check(&trainer->divergence, at->step, err);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Whether the fit validates: when it is due, and once more if its last weights were not. */
static bool validates(const fg_trainer *trainer, const fg_fit_data *data)
{
    const fg_trainer_options *o = &trainer->options;
    return has_validation(trainer, data) &&
           (o->validation.val_every_epochs > 0 || o->validation.val_every_steps > 0);
}

/* Whether the last weights of the fit are still to be validated. */
static bool owes_last(const fg_trainer *trainer, const fg_fit_data *data)
{
    return trainer->cursor.step > 0 && trainer->cursor.validated_step != trainer->cursor.step &&
           validates(trainer, data);
}

/* Validation and saving within an epoch; end_epoch handles the end. */
static fg_status do_due(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    fgi_rank rank = FGI_RANK_NONE;
    if (trainer->cursor.step == 0 || epoch_is_over(trainer))
        return FG_OK;
    if (is_due(o->validation.val_every_steps, trainer->cursor.step))
        FGI_TRY(validate(trainer, data, &rank, err));
    return save_due(trainer, rank, false, err);
}

/* Adds the next batch to the launch. */
static fg_status train_batch(fg_trainer *trainer, fg_error *err)
{
    fgi_stage *stage = trainer->stage[FGI_TRAIN];
    const fg_host_batch *batch = NULL;
    FGI_TRY(fgi_feed_next(trainer->feed, stage, &batch, err));
    if (batch == NULL && trainer->cursor.sample_count < 0)
        return fgi_fail(err, FG_EINVAL, "the training source returned no %s in epoch %lld",
                        trainer->cursor.position > 0 ? "further sample"
                        : trainer->fit.drop_last     ? "whole batch"
                                                     : "sample",
                        (long long)trainer->cursor.epoch);
    if (batch == NULL)
        return fgi_fail(err, FG_EINTERNAL, "the loader ended the epoch at sample %lld of %lld",
                        (long long)trainer->cursor.position,
                        (long long)trainer->cursor.sample_count);
    const fgi_cursor next = fgi_cursor_after(&trainer->cursor, batch);
    const int64_t valid = batch->valid;
    fgi_divergence_note_batch(&trainer->divergence, batch);
    trainer->fit.ends_epoch = ends_epoch(trainer, &next);
    trainer->cursor.has_read_epoch = batch->is_last;
    if (stage->accumulator == NULL || stage->accumulator->batches == 0)
        fgi_signals_steps(1);
    FGI_TRY(fgi_feed_add(trainer->feed, stage, batch, err));
    trainer->cursor = next;
    trainer->cursor.step += stage->accumulator == NULL;
    fgi_windows_add(&trainer->windows, valid);
    trainer->saver->is_current = false;
    return FG_OK;
}

/* Whether the batches of the step have been launched. */
static bool has_all_batches(const fg_trainer *trainer)
{
    const fgi_accumulator *accumulator = trainer->stage[FGI_TRAIN]->accumulator;
    const int64_t batches = fgi_accumulation_at(&trainer->accumulation, trainer->cursor.epoch);
    return accumulator == NULL || accumulator->batches == batches || epoch_is_over(trainer);
}

/* Launches the next batches, at most that many, of one step if they are accumulated; calls
 * batch_end for each. */
static fg_status train_launch(fg_trainer *trainer, int64_t most, fg_progress *at, fg_error *err)
{
    fgi_stage *stage = trainer->stage[FGI_TRAIN];
    int64_t count = 0;
    bool is_over = false;
    fgi_stage_begin_stack(stage);
    while (count < most && !is_over) {
        FGI_TRY(train_batch(trainer, err));
        at[count++] = fgi_progress_at(trainer);
        is_over =
            epoch_is_over(trainer) || (stage->accumulator != NULL && has_all_batches(trainer));
    }
    FGI_TRY(fgi_feed_launch_added(trainer->feed, stage, err));
    if (stage->accumulator != NULL && is_over) {
        FGI_TRY(fgi_feed_update(trainer->feed, stage, err));
        trainer->cursor.step++;
        at[count - 1] = fgi_progress_at(trainer);
    }
    for (int64_t i = 0; i < count; i++)
        FGI_TRY(fgi_notify(trainer->callbacks, FGI_ON_BATCH_END, &at[i], err));
    return FG_OK;
}

/* Launches the batches of one step or, in a launch of several, of these. A stop waits for its end,
 * so that checkpoints are taken between steps. */
static fg_status launch_steps(fg_trainer *trainer, fg_error *err)
{
    fgi_stage *stage = trainer->stage[FGI_TRAIN];
    const int64_t most =
        stage->accumulator != NULL ? fgi_stage_launch_most(stage) : fgi_steps_to_launch(trainer);
    fg_progress one, *at = most > 1 ? fgi_calloc((size_t)most, sizeof *at) : &one;
    fg_status status = at != NULL ? FG_OK : fgi_no_memory(err);
    if (stage->accumulator != NULL)
        stage->accumulator->batches = 0;
    trainer->fit.step_start = trainer->cursor;
    trainer->fit.is_in_step = true;
    while (status == FG_OK && trainer->fit.is_in_step) {
        status = train_launch(trainer, most, at, err);
        if (status == FG_OK)
            trainer->fit.is_in_step = !has_all_batches(trainer);
    }
    if (at != &one)
        fgi_free(at);
    return status;
}

/* Launches steps, and processes metrics that have arrived. */
static fg_status train_steps(fg_trainer *trainer, int64_t *out_steps, fg_error *err)
{
    fgi_windows *windows = &trainer->windows;
    const int64_t begin = fgi_timeline_begin(), before = trainer->cursor.step;
    FGI_TRY(launch_steps(trainer, err));
    *out_steps = trainer->cursor.step - before;
    trainer->cursor.owes_validation = false;
    if (is_due(trainer->options.output.log_every, trainer->cursor.step))
        FGI_TRY(close_window(trainer, err));
    const fg_progress at = fgi_progress_at(trainer);
    if (at.step == 1)
        FGI_TRY(fgi_windows_read_first(windows, &at, err));
    FGI_TRY(fgi_windows_collect(windows, FGI_WINDOWS, err));
    fgi_timeline_end(begin, FGI_PROFILE_STEP, "train step", trainer->cursor.step);
    return FG_OK;
}

/* Whether validation is due at the end of this epoch. */
static bool is_due_at_end(const fg_trainer *trainer, const fg_fit_data *data)
{
    const fg_trainer_options *o = &trainer->options;
    const int64_t next = trainer->cursor.epoch + 1, step = trainer->cursor.step;
    const bool is_last = (o->limits.max_epochs > 0 && next >= o->limits.max_epochs) ||
                         (o->limits.max_steps > 0 && step >= o->limits.max_steps);
    return is_due(o->validation.val_every_epochs, next) ||
           is_due(o->validation.val_every_steps, step) || (is_last && owes_last(trainer, data));
}

/* Metrics of the whole epoch, validation, saving; advances to the next epoch. */
static fg_status end_epoch(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    fg_metric metrics[FG_MAX_METRICS];
    fgi_rank rank = FGI_RANK_NONE;
    FGI_TRY(close_window(trainer, err));
    FGI_TRY(fgi_windows_collect(&trainer->windows, 0, err));
    const size_t count = fgi_windows_means(&trainer->windows, NULL, metrics);
    fgi_result_put(&trainer->call.result, metrics, count);
    trainer->cursor.owes_validation = false; /* it may not be due any more in a resumed run */
    if (is_due_at_end(trainer, data))
        FGI_TRY(validate(trainer, data, &rank, err));
    if (trainer->cursor.owes_validation)
        return FG_OK;
    if (fgi_is_of_training(trainer->options.checkpoints.monitor))
        FGI_TRY(rank_metrics(trainer, metrics, count, &rank, err));
    fg_progress at = fgi_progress_at(trainer);
    fgi_windows_clear(&trainer->windows);
    trainer->cursor.epoch++;
    trainer->cursor.position = 0;
    trainer->cursor.has_read_epoch = false;
    trainer->cursor.epoch_batches = 0;
    trainer->saver->is_current = false;
    at.metrics = metrics;
    at.metric_count = count;
    FGI_TRY(fgi_notify(trainer->callbacks, FGI_ON_EPOCH_END, &at, err));
    return save_due(trainer, rank, true, err);
}

/* Stops the profile when that is due. The time is not that of training. */
static fg_status end_profile(fg_trainer *trainer, fg_error *err)
{
    if (!fgi_step_profile_is_due(trainer->step_profile))
        return FG_OK;
    FGI_TRY(fgi_feed_drain(trainer->feed, err));
    const int64_t begin = fgi_now_ns();
    fgi_step_profile_stop(trainer->step_profile);
    trainer->windows.start_ns += fgi_now_ns() - begin;
    return FG_OK;
}

/* Runs an epoch, or the rest of it. */
static fg_status run_epoch(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    fgi_stage *stage = trainer->stage[FGI_TRAIN];
    FGI_TRY(
        fg_loader_start_epoch(stage->loader, trainer->cursor.epoch, trainer->cursor.position, err));
    FGI_TRY(notify(trainer, FGI_ON_EPOCH_START, err));
    FGI_TRY(fgi_stage_refresh(trainer, stage, err));
    if (trainer->cursor.owes_validation)
        FGI_TRY(do_due(trainer, data, err));
    while (!epoch_is_over(trainer) && !is_over(trainer) && !fgi_trainer_stops(trainer)) {
        fgi_step_profile_before(trainer->step_profile);
        const int64_t watch = fgi_work_begin(&trainer->ledger);
        int64_t steps = 0;
        FGI_TRY(train_steps(trainer, &steps, err));
        fgi_work_end(&trainer->ledger, watch, steps);
        FGI_TRY(do_due(trainer, data, err));
        if (fgi_save_requested(&trainer->options, &trainer->call) ||
            fgi_saver_is_due(trainer->saver))
            FGI_TRY(save(trainer, FGI_RANK_NONE, false, err));
        FGI_TRY(fgi_saver_collect(trainer->saver, false, err));
        FGI_TRY(end_profile(trainer, err));
        FGI_TRY(fgi_launch_steps_choose(trainer, err));
    }
    if (!epoch_is_over(trainer) || fgi_trainer_stops(trainer))
        return FG_OK;
    return end_epoch(trainer, data, err);
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Whether a limit ended the run: of its time, or of a callback. Not a signal or a request, after
 * which the process may be killed soon. */
static bool is_at_limit(const fg_trainer *trainer)
{
    return trainer->call.failure.status == FG_OK && !trainer->call.is_asked_to_stop &&
           trainer->call.result.stop_signal == 0 && trainer->call.result.stop_reason[0] != '\0';
}

/* Validates the last weights, unless that is done or a signal stopped the run. What a limit within
 * an epoch has made necessary leaves no trace in the resumed run, except among the best. */
static fg_status validate_last(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    const bool is_stopping = trainer->call.is_stopping;
    fgi_rank rank = FGI_RANK_NONE;
    if (!owes_last(trainer, data) || (is_stopping && !is_at_limit(trainer)))
        return FG_OK;
    if (is_stopping) /* a limit of time may be that of the machine, too */
        FGI_TRY(save(trainer, FGI_RANK_NONE, false, err));
    trainer->fit.is_extra = is_stopping && !trainer->cursor.owes_validation &&
                            !(epoch_is_over(trainer) && is_due_at_end(trainer, data));
    trainer->call.deadline_ns = 0;
    trainer->call.is_stopping = false;
    const fg_status status = validate(trainer, data, &rank, err);
    trainer->call.is_stopping |= is_stopping;
    return status;
}

/* The steps are done: handles the last metrics, and saves the state. A run that was stopped leaves
 * its window open in the checkpoint, for the resumed run. */
static fg_status end_run(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    fgi_windows *windows = &trainer->windows;
    fg_metric metrics[FG_MAX_METRICS];
    float open_sums[FGI_MOST_SUMS] = {0};
    if (!trainer->call.is_stopping) {
        if (windows->is_open) /* a checkpoint of this step has it open */
            trainer->saver->is_current = false;
        FGI_TRY(close_window(trainer, err));
    }
    FGI_TRY(fgi_windows_collect(windows, 0, err));
    FGI_TRY(fgi_windows_peek(windows, open_sums, err));
    if (!trainer->call.is_stopping && !trainer->call.result.nothing_to_do)
        fgi_divergence_end(&trainer->divergence);
    if (trainer->cursor.epoch_batches > 0 && !trainer->call.result.nothing_to_do)
        fgi_result_put(&trainer->call.result, metrics,
                       fgi_windows_means(windows, open_sums, metrics));
    FGI_TRY(validate_last(trainer, data, err));
    FGI_TRY(fgi_feed_drain(trainer->feed, err));
    FGI_TRY(fgi_divergence_read(&trainer->divergence, err));
    if (trainer->call.failure.status != FG_OK && trainer->cursor.step == 0)
        return FG_OK; /* there is nothing to save */
    return fgi_saver_finish(trainer->saver, err);
}

/* Whether the run was complete before this call: no step, validation or log line is missing.
 */
static bool is_complete(const fg_trainer *trainer, const fg_fit_data *data)
{
    const bool owes = trainer->cursor.owes_validation || owes_last(trainer, data);
    return !has_more(trainer) && !owes && !trainer->windows.restored.is_open;
}

/* Compiles the validation step and reads the first batch, to find mistakes before training. */
static fg_status try_validation(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    if (!validates(trainer, data))
        return FG_OK;
    FGI_TRY(fgi_stage_prepare(trainer, FGI_VAL, data, err));
    return fgi_evaluate_ahead(trainer, FGI_VAL, err);
}

/* Finds the position in the data. */
static fg_status find_place(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    int64_t size = 0;
    FGI_TRY(fgi_batch_size(trainer, data, &size, err));
    FGI_TRY(fgi_cursor_place(&trainer->cursor, data, size, trainer->call.result.checkpoint, err));
    trainer->fit.drop_last = data->drop_last;
    return FG_OK;
}

/* Locks the run folder, and restores the position and state to start from. */
static fg_status find_start(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                            fg_error *err)
{
    FGI_TRY(fgi_trainer_prepare(trainer, task, true, err));
    FGI_TRY(fgi_run_claim(trainer->run, trainer->client, err));
    FGI_TRY(fgi_settings_make(trainer, data, err));
    FGI_TRY(fgi_state_restore(trainer, err));
    FGI_TRY(find_place(trainer, data, err));
    FGI_TRY(fgi_run_check(trainer->run, trainer->call.result.checkpoint, err));
    return fgi_settings_settle(trainer, err);
}

/* Everything before the first step: mistakes are found here, before anything in the folder is
 * changed. A run that was complete compiles nothing. */
static fg_status begin_run(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                           fg_error *err)
{
    FGI_TRY(find_start(trainer, task, data, err));
    if (trainer->cursor.step > 0) /* report the learning rate of the last step until the next one */
        fg_optimizer_begin_step(trainer->model.optimizer, trainer->cursor.step - 1);
    trainer->call.result.nothing_to_do = is_complete(trainer, data);
    if (trainer->call.result.nothing_to_do) /* if this Trainer trained it */
        fgi_result_put(&trainer->call.result, trainer->last_fit.metrics, trainer->last_fit.count);
    fgi_step_profile_begin(trainer->step_profile, trainer->client,
                           trainer->fit.settings.total_steps, trainer->call.result.nothing_to_do);
    if (!trainer->call.result.nothing_to_do) {
        FGI_TRY(fgi_stage_prepare(trainer, FGI_TRAIN, data, err));
        FGI_TRY(try_validation(trainer, data, err));
        FGI_TRY(fgi_rank_check(trainer->stage, &trainer->options.checkpoints, err));
        fgi_settings_compare(trainer);
        trainer->fit.validations = validates(trainer, data) ? fgi_settings_validations(trainer) : 0;
        FGI_TRY(fgi_windows_continue(&trainer->windows, err));
    }
    FGI_TRY(fgi_run_clear(trainer->run, trainer->call.result.checkpoint, err));
    if (!trainer->call.result.nothing_to_do) {
        FGI_TRY(fgi_state_settle(trainer, err));
        FGI_TRY(
            fgi_run_open(trainer->run, trainer->client, &trainer->cursor, trainer->callbacks, err));
    }
    trainer->fit.has_started = true;
    fgi_windows_start_clock(&trainer->windows);
    return notify(trainer, FGI_ON_FIT_START, err);
}

/* A rollback requires a checkpoint to go back to, from the first step on. */
static fg_status save_first(fg_trainer *trainer, fg_error *err)
{
    if (strcmp(trainer->options.divergence.on_divergence, "rollback") != 0 ||
        fgi_divergence_good(&trainer->divergence)[0] != '\0' || !has_more(trainer))
        return FG_OK;
    trainer->saver->is_current = false;
    return save(trainer, FGI_RANK_NONE, false, err);
}

static fg_status run_steps(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    while (has_more(trainer) && !fgi_trainer_stops(trainer))
        FGI_TRY(run_epoch(trainer, data, err));
    if (trainer->cursor.owes_validation && !fgi_trainer_stops(trainer)) /* of the last step */
        FGI_TRY(do_due(trainer, data, err));
    return end_run(trainer, data, err);
}

/* ---- going back ------------------------------------------------------------------------------ */

/* Nothing is still in progress: no step, read or save. */
static fg_status settle(fg_trainer *trainer, fg_error *err)
{
    const fg_status status = fgi_feed_drain(trainer->feed, err);
    fgi_windows_abandon(&trainer->windows);
    trainer->fit.is_in_step = false;
    if (status != FG_OK)
        return status;
    return fgi_saver_collect(trainer->saver, true, err);
}

/* Loads the checkpoint as a run that resumes does. */
static fg_status load(fg_trainer *trainer, const char *path, fg_error *err)
{
    fgi_stage *stage = trainer->stage[FGI_TRAIN];
    FGI_TRY(fgi_state_go_back(trainer, path, err));
    FGI_TRY(fgi_state_settle(trainer, err));
    fgi_stage_restart_sums(stage);
    FGI_TRY(fgi_windows_continue(&trainer->windows, err));
    return fgi_run_reopen(trainer->run, &trainer->cursor, err);
}

static fg_status return_to_good(fg_trainer *trainer, const fg_error *why, fg_error *err)
{
    const int64_t count = trainer->divergence.at.rollbacks;
    const double factor = trainer->divergence.at.lr_factor;
    char path[512];
    (void)snprintf(path, sizeof path, "%s", fgi_divergence_good(&trainer->divergence));
    FGI_TRY(load(trainer, path, err));
    fgi_divergence_went_back(&trainer->divergence, count, factor);
    trainer->saver->is_current = false; /* it has the previous learning rate */
    fgi_log(FG_LOG_WARNING,
            "%s\nrollback %lld of at most %lld: training continues from step %lld (%s) with %g "
            "times the configured learning rate",
            why->message, (long long)count + 1,
            (long long)trainer->options.divergence.max_rollbacks, (long long)trainer->cursor.step,
            path, trainer->divergence.at.lr_factor);
    return FG_OK;
}

/* Loads the last good checkpoint with a smaller learning rate. *err is the divergence; on failure,
 * it also says why training cannot go back. */
static fg_status go_back(fg_trainer *trainer, fg_error *err)
{
    const fg_error why = *err;
    fg_error local = {0};
    const int64_t most = trainer->options.divergence.max_rollbacks;
    fg_status status = settle(trainer, &local);
    if (status == FG_OK && trainer->divergence.at.rollbacks >= most)
        return fgi_fail(err, FG_ENUMERIC,
                        "%s\nthe limit of rollbacks is reached (max_rollbacks=%lld)", why.message,
                        (long long)most);
    if (status == FG_OK && fgi_divergence_good(&trainer->divergence)[0] == '\0')
        return fgi_fail(err, FG_ENUMERIC, "%s\nthere is no good checkpoint to roll back to",
                        why.message);
    if (status == FG_OK)
        status = return_to_good(trainer, &why, &local);
    if (status == FG_OK)
        return FG_OK;
    return fgi_fail(err, FG_ENUMERIC, /* so the state is not saved */
                    "%s\ncannot roll back: %s", why.message, local.message);
}

/* After divergence: continues from the last good checkpoint, which is saved again with the smaller
 * learning rate. */
static fg_status roll_back(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    FGI_TRY(go_back(trainer, err));
    FGI_TRY(find_place(trainer, data, err));
    FGI_TRY(fgi_settings_settle(trainer, err));
    if (trainer->cursor.step > 0)
        fg_optimizer_begin_step(trainer->model.optimizer, trainer->cursor.step - 1);
    fgi_windows_start_clock(&trainer->windows);
    FGI_TRY(notify(trainer, FGI_ON_ROLLED_BACK, err));
    return save(trainer, FGI_RANK_NONE, false, err);
}

static fg_status run(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                     fg_error *err)
{
    FGI_TRY(begin_run(trainer, task, data, err));
    fgi_divergence_start(&trainer->divergence);
    FGI_TRY(save_first(trainer, err));
    if (has_more(trainer))
        FGI_TRY(fgi_sanity_check(trainer, data, err));
    fg_status status = run_steps(trainer, data, err);
    while (status == FG_ENUMERIC && fgi_divergence_wants_rollback(&trainer->divergence)) {
        FGI_TRY(roll_back(trainer, data, err));
        status = run_steps(trainer, data, err);
    }
    return status;
}

/* Whether the weights were lost when a step failed; records which. */
static bool has_lost_weights(fg_trainer *trainer)
{
    for (size_t i = 0;
         trainer->model.root != NULL && i < fg_module_variable_count(trainer->model.root); i++)
        if (trainer->model.lost_step == 0 &&
            fgi_variable_is_lost(fg_module_variable_at(trainer->model.root, i)))
            trainer->model.lost_step = trainer->cursor.step + 1;
    if (trainer->model.lost_step == 0 &&
        fgi_accumulator_is_lost(trainer->stage[FGI_TRAIN]->accumulator))
        trainer->model.lost_step = trainer->cursor.step + 1;
    return trainer->model.lost_step != 0;
}

/* After a failure that left the weights intact: saves them if that makes sense. */
static void rescue(fg_trainer *trainer, fg_error *err)
{
    const fgi_cursor *start = &trainer->fit.step_start;
    if (!trainer->fit.has_started || !fgi_saver_can_rescue(trainer->saver, err->status))
        return;
    if (trainer->fit.is_in_step) { /* none of whose batches has changed a parameter */
        trainer->cursor.step = start->step;
        trainer->cursor.position = start->position;
        trainer->cursor.epoch_batches = start->epoch_batches;
        trainer->cursor.has_read_epoch = start->has_read_epoch;
    }
    fgi_saver_rescue(trainer->saver, err);
}

/* An error ends the fit: saves what can be saved, and adds the path to the error. */
static void end_failed(fg_trainer *trainer, fg_error *err)
{
    const char *path = trainer->call.result.checkpoint;
    const bool is_lost = has_lost_weights(trainer);
    if (!is_lost)
        rescue(trainer, err);
    fgi_saver_abandon(trainer->saver);
    fgi_windows_abandon(&trainer->windows);
    if (is_lost)
        (void)fgi_fail_at(err, err->status, err->file, err->line,
                          "%s\nthe weights on the device are lost; %s%s", err->message,
                          path[0] != '\0' ? "the last saved are in " : "this fit saved none", path);
}

/* The status of a stop: the reason, and the path of the saved state; FG_OK if a callback gave a
 * reason. */
static fg_status end_stopped(const fg_trainer *trainer, fg_error *err)
{
    const fg_error *failure = &trainer->call.failure;
    const char *path = trainer->call.result.checkpoint;
    const char *saved = path[0] != '\0' ? "; saved in " : "";
    if (failure->status == FG_OK && trainer->call.result.stop_reason[0] != '\0')
        return FG_OK; /* a normal end */
    if (failure->status == FG_OK)
        return fgi_fail(err, FG_ESTOPPED, "stopped at step %lld%s%s%s",
                        (long long)trainer->cursor.step,
                        trainer->call.is_asked_to_stop ? " on request" : "", saved, path);
    if (path[0] == '\0')
        return fgi_fail(err, failure->status, "%s", failure->message);
    return fgi_fail(err, failure->status, "%s\nstopped at step %lld%s%s", failure->message,
                    (long long)trainer->cursor.step, saved, path);
}

/* Cleans up after run, whether it succeeded or not. */
static fg_status clean_up(fg_trainer *trainer, fg_status status, fg_error *err)
{
    fg_error later = {0};
    const fg_error *failure = &trainer->call.failure;
    const fg_status drained = fgi_feed_drain(trainer->feed, &later);
    fgi_step_profile_end(trainer->step_profile, trainer->fit.has_started);
    if (status == FG_OK && drained != FG_OK) {
        status = drained;
        *err = later;
    }
    if (status == FG_OK)
        return trainer->call.is_stopping ? end_stopped(trainer, err) : FG_OK;
    end_failed(trainer, err);
    if (failure->status == FG_OK)
        return status;
    return fgi_fail_at(err, failure->status, failure->file, failure->line, "%s\n%s",
                       failure->message, err->message);
}

/* Keeps the metrics for a later fit that finds the run complete. */
static void keep_metrics(fg_trainer *trainer)
{
    const fg_result *result = &trainer->call.result;
    trainer->last_fit.count = result->metric_count;
    memcpy(trainer->last_fit.metrics, result->metrics,
           result->metric_count * sizeof result->metrics[0]);
}

/* When a fit that starts now must end, by the monotonic clock; 0: no limit. */
static int64_t deadline(const fg_trainer *trainer)
{
    const double seconds = trainer->options.limits.max_time;
    return seconds > 0 ? fgi_now_ns() + (int64_t)(seconds * 1e9) : 0;
}

fg_status fg_trainer_fit(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                         fg_error *err)
{
    fg_error first = {0}, later = {0};
    FGI_TRY(fgi_trainer_enter(trainer, task, data, err));
    fg_fit_data own = *data;
    const fg_trainer_limits *limits = &trainer->options.limits;
    own.no_shuffle |= limits->overfit_batches.count > 0 || limits->overfit_batches.fraction > 0;
    if (limits->limit_val_batches.count == 0 && limits->limit_val_batches.fraction == 0)
        own.val = NULL;
    data = &own;
    trainer->call.is_running = true;
    trainer->call.deadline_ns = deadline(trainer);
    trainer->fit = (fgi_fit){.total_steps = 0};
    fgi_saver_reset(trainer->saver);
    fgi_callbacks_reset(trainer->callbacks);
    if (trainer->options.handle_signals)
        fgi_signals_catch(&trainer->options, &trainer->call);
    fg_status status = run(trainer, task, data, &first);
    status = clean_up(trainer, status, &first);
    if (status == FG_EDEVMEM)
        fgi_memory_explain(trainer, data, &first);
    if (trainer->options.handle_signals)
        fgi_signals_release();
    fgi_result_end(trainer, FGI_TRAIN);
    if (trainer->fit.has_started)
        keep_metrics(trainer);
    trainer->call.is_running = false;
    fgi_logger_set_end(fgi_run_logger(trainer->run), status, first.message);
    const fg_status ended =
        trainer->fit.has_started ? notify(trainer, FGI_ON_FIT_END, &later) : FG_OK;
    if (status == FG_OK && ended != FG_OK) {
        status = ended;
        first = later;
    }
    fgi_run_release(trainer->run);
    return fgi_trainer_leave(trainer, status, &first, err);
}
