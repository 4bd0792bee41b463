/* trial.c - training steps that leave no trace. The state is that which fit.c and snapshot.h change
 * or save: variables of the module and of the optimizer, the sums of an open window of metrics, the
 * position, the schedule.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trial.h"

#include "base/alloc.h"
#include "base/error.h"
#include "optim/optimizer.h"
#include "train/trainer.h"

/* What the steps of a trial change. */
struct fgi_trial {
    fg_trainer *trainer;
    fgi_fit fit;
    bool is_restored; /* as in fgi_model */
    fgi_cursor cursor;
    size_t count; /* of the variables */
    fg_variable **variable;
    void **value; /* on the host */
    bool has_sums;
    float sums[FGI_MOST_SUMS]; /* of an open window of metrics */
    bool is_kept;              /* all of these */
    bool has_started;          /* the variables may no longer be those */
    int64_t epoch;             /* of the data, for the next pass */
    bool is_epoch_over;        /* the next step begins a pass */
};

static fg_status begin(fgi_trial *trial, const fg_task *task, const fg_fit_data *data,
                       fg_error *err)
{
    fg_trainer *trainer = trial->trainer;
    FGI_TRY(fgi_trainer_prepare(trainer, task, true, err));
    fgi_optimizer_keep_place(trainer->model.optimizer);
    FGI_TRY(fgi_settings_make(trainer, data, err));
    FGI_TRY(fgi_state_restore(trainer, err));
    trial->cursor = trainer->cursor;
    trial->epoch = trainer->cursor.epoch;
    return FG_OK;
}

static void end(fgi_trial *trial)
{
    for (size_t i = 0; trial->value != NULL && i < trial->count; i++)
        fgi_free(trial->value[i]);
    fgi_free(trial->value);
    fgi_free(trial->variable);
    /* a fit that resumes also restores its results */
    trial->trainer->model.is_restored = trial->is_restored;
    trial->trainer->fit = trial->fit;
}

/* ---- keeping and restoring ------------------------------------------------------------------- */

static fg_status keep_variable(fgi_trial *trial, fg_variable *variable, fg_error *err)
{
    const size_t size = fg_type_bytes(fg_variable_type(variable));
    void *value = fgi_alloc(size > 0 ? size : 1);
    if (value == NULL)
        return fgi_no_memory(err);
    trial->variable[trial->count] = variable;
    trial->value[trial->count++] = value;
    return fg_variable_read(variable, value, size, err);
}

static fg_status keep_variables(fgi_trial *trial, fg_error *err)
{
    const fg_module *root = trial->trainer->model.root;
    const fg_optimizer *optimizer = trial->trainer->model.optimizer;
    const size_t own = fg_module_variable_count(root);
    const size_t all = own + fg_optimizer_variable_count(optimizer);
    trial->variable = fgi_calloc(all + 1, sizeof(fg_variable *));
    trial->value = fgi_calloc(all + 1, sizeof(void *));
    if (trial->variable == NULL || trial->value == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < all; i++)
        FGI_TRY(keep_variable(trial,
                              i < own ? fg_module_variable_at(root, i)
                                      : fg_optimizer_variable_at(optimizer, i - own),
                              err));
    return FG_OK;
}

static fg_status keep(fgi_trial *trial, fg_error *err)
{
    fg_trainer *trainer = trial->trainer;
    trial->has_sums = trainer->windows.is_open;
    if (trial->has_sums)
        FGI_TRY(fgi_windows_peek(&trainer->windows, trial->sums, err));
    FGI_TRY(keep_variables(trial, err));
    trial->is_kept = true;
    return FG_OK;
}

static fg_status restore_variables(fgi_trial *trial, fg_error *err)
{
    for (size_t i = 0; i < trial->count; i++)
        FGI_TRY(fg_variable_set(trial->variable[i], trial->value[i],
                                fg_type_bytes(fg_variable_type(trial->variable[i])), err));
    trial->trainer->model.lost_step = 0; /* `begin` refuses lost weights */
    return FG_OK;
}

static fg_status restore(fgi_trial *trial, const fg_fit_data *data, fg_error *err)
{
    fg_trainer *trainer = trial->trainer;
    fgi_stage *stage = trainer->stage[FGI_TRAIN];
    if (trial->has_sums) /* those of the program that the fit has run */
        FGI_TRY(fgi_stage_prepare(trainer, FGI_TRAIN, data, err));
    fgi_optimizer_return(trainer->model.optimizer);
    trainer->cursor = trial->cursor;
    FGI_TRY(fgi_feed_drain(trainer->feed, err));
    FGI_TRY(restore_variables(trial, err));
    if (stage->program == NULL)
        return FG_OK;
    fgi_stage_drop_sums(stage); /* a step that failed has left no valid ones */
    return trial->has_sums ? fgi_stage_set_sums(stage, trial->sums, err)
                           : fgi_stage_clear_sums(stage, err);
}

/* ---- a step ---------------------------------------------------------------------------------- */

fg_optimizer *fgi_trial_optimizer(const fgi_trial *trial)
{
    return trial->trainer->model.optimizer;
}

fgi_stage *fgi_trial_stage(const fgi_trial *trial) { return trial->trainer->stage[FGI_TRAIN]; }

fg_status fgi_trial_start(fgi_trial *trial, const fg_fit_data *data, int64_t step, fg_error *err)
{
    fg_trainer *trainer = trial->trainer;
    if (trial->has_started) { /* a step that failed may have lost them */
        FGI_TRY(fgi_feed_drain(trainer->feed, err));
        FGI_TRY(restore_variables(trial, err));
    }
    FGI_TRY(fgi_stage_prepare(trainer, FGI_TRAIN, data, err));
    trial->is_epoch_over = trial->has_started = true;
    trainer->cursor.step = step;
    return FG_OK;
}

/* Launches the next batch of the data, which start again at their end. */
static fg_status launch_batch(fgi_trial *trial, fgi_stage *stage, fg_error *err)
{
    const fg_host_batch *batch = NULL;
    for (int tries = 0; tries < 2 && batch == NULL; tries++) {
        if (trial->is_epoch_over)
            FGI_TRY(fg_loader_start_epoch(stage->loader, trial->epoch++, 0, err));
        FGI_TRY(fgi_feed_next(trial->trainer->feed, stage, &batch, err));
        trial->is_epoch_over = batch == NULL || batch->is_last;
    }
    if (batch == NULL)
        return fgi_fail(err, FG_EINVAL, "the training data have no batch");
    return fgi_feed_launch(trial->trainer->feed, stage, batch, NULL, err);
}

static fg_status launch_step(fgi_trial *trial, fgi_stage *stage, fg_error *err)
{
    const fg_trainer *trainer = trial->trainer;
    fgi_accumulator *accumulator = stage->accumulator;
    fgi_stage_restart_sums(stage);
    if (accumulator != NULL)
        accumulator->batches = 0;
    do {
        FGI_TRY(launch_batch(trial, stage, err));
    } while (accumulator != NULL && !trial->is_epoch_over &&
             accumulator->batches < fgi_accumulation_at(&trainer->accumulation, 0));
    return accumulator != NULL ? fgi_feed_update(trainer->feed, stage, err) : FG_OK;
}

static fg_status run_step(fgi_trial *trial, fgi_stage *stage, float *out_sums, fg_error *err)
{
    fgi_event *arrived = NULL;
    fgi_feed *feed = trial->trainer->feed;
    FGI_TRY(launch_step(trial, stage, err));
    FGI_TRY(fgi_stage_read_sums(stage, out_sums, &arrived, err));
    const fg_status status = fgi_event_wait(arrived, err);
    fgi_event_destroy(arrived);
    return status == FG_OK ? fgi_feed_drain(feed, err) : status;
}

fg_status fgi_trial_step(fgi_trial *trial, double *out_loss, fg_error *err)
{
    fg_trainer *trainer = trial->trainer;
    fgi_stage *stage = trainer->stage[FGI_TRAIN];
    const size_t loss = fgi_metrics_find(&stage->metrics, "loss");
    float sums[FGI_MOST_SUMS] = {0};
    fg_error later = {0};
    if (loss >= stage->metrics.count)
        return fgi_fail(err, FG_EINTERNAL, "the training step has no loss");
    if (fgi_trainer_stops(trainer))
        return fgi_fail(err, FG_ESTOPPED, "stopped by a signal");
    const fg_status status = run_step(trial, stage, sums, err);
    if (status != FG_OK && fgi_feed_drain(trainer->feed, &later) != FG_OK)
        *err = later; /* the cause */
    *out_loss = (double)sums[2 * loss] / (double)sums[2 * loss + 1];
    trainer->cursor.step++;
    return status != FG_OK ? err->status : FG_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Runs it and restores what it changed, also after a failure. */
static fg_status run_and_restore(fgi_trial *trial, const fg_fit_data *data, fgi_trial_fn *run,
                                 void *self, fg_error *err)
{
    fg_error later = {0};
    const fg_status kept = keep(trial, err);
    const fg_status status = kept == FG_OK ? run(self, trial, err) : kept;
    const fg_status restored = trial->is_kept ? restore(trial, data, &later) : FG_OK;
    if (status != FG_OK || restored == FG_OK)
        return status;
    *err = later;
    return restored;
}

fg_status fgi_trial_run(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                        bool is_search, fgi_trial_fn *run, void *self, fg_error *err)
{
    fg_error first = {0};
    FGI_TRY(fgi_trainer_enter(trainer, task, data, err));
    const bool catches = is_search && trainer->options.handle_signals;
    trainer->call.is_running = trainer->call.is_search = is_search;
    if (catches)
        fgi_signals_catch(&trainer->options, &trainer->call);
    fgi_trial trial = {.trainer = trainer,
                       .fit = trainer->fit,
                       .is_restored = trainer->model.is_restored,
                       .is_epoch_over = true};
    fg_status status = begin(&trial, task, data, &first);
    if (status == FG_OK)
        status = run_and_restore(&trial, data, run, self, &first);
    end(&trial);
    if (status == FG_EDEVMEM && is_search)
        fgi_memory_explain(trainer, data, &first);
    if (catches)
        fgi_signals_release();
    trainer->call.is_running = false;
    return fgi_trainer_leave(trainer, status, &first, err);
}
