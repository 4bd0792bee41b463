/* saver.c - checkpoints written while training continues.
 *
 * The state is copied to the host between two steps; a thread then writes the copy while further
 * steps run. One save is under way at a time: the next one waits for it. Its outcome is handled on
 * the Trainer's thread, between steps, at the next save or at the end of the fit.
 *
 * A checkpoint that cannot be written does not end the run, because the previous one still exists.
 * Only several failures in a row, or one at the end, are an error.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/thread.h"
#include "train/accumulate.h"
#include "train/activity.h"
#include "base/timeline.h"
#include "train/callbacks.h"
#include "train/divergence.h"
#include "train/health.h"
#include "train/rank.h"
#include "train/saver.h"
#include "train/snapshot.h"
#include "train/trainer.h"
#include "train/watchdog.h"
#include "train/windows.h"

struct fgi_saver {
    fgi_snapshot *snapshot; /* being written, or NULL */
    fgi_thread thread;
    bool has_thread;
    atomic_bool is_written; /* set by the thread when it is done */
    fg_error error;         /* owned by the thread until then */
    int failures;           /* in a row */
    bool has_given_up;      /* its error has ended the fit */
    bool is_ending;         /* the fit is ending, which counts failures itself */
    int64_t begun_ns;       /* when the last save, or the fit, began; monotonic */
    bool is_current;        /* the current state is in the last checkpoint */
    bool is_requested;      /* by a callback, since the last save */
    char last[512];         /* saved or loaded by this Trainer; "": none */
};

fg_status fgi_saver_create(fgi_saver **out, fg_error *err)
{
    *out = fgi_calloc(1, sizeof **out);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

void fgi_saver_destroy(fgi_saver *saver) { fgi_free(saver); }

void fgi_saver_reset(fgi_saver *saver)
{
    saver->failures = 0;
    saver->has_given_up = false;
    saver->is_requested = false;
    saver->begun_ns = fgi_now_ns();
}

bool fgi_saver_is_due(const fg_trainer *trainer)
{
    const double every_s = trainer->options.checkpoints.save_every_s;
    return every_s > 0 && (double)(fgi_now_ns() - trainer->saver->begun_ns) >= every_s * 1e9;
}

bool fgi_saver_is_busy(const fgi_saver *saver) { return saver->snapshot != NULL; }

bool fgi_saver_is_current(const fgi_saver *saver) { return saver->is_current; }

void fgi_saver_set_current(fgi_saver *saver, bool is_current) { saver->is_current = is_current; }

void fgi_saver_request(fgi_saver *saver, bool is_requested) { saver->is_requested = is_requested; }

bool fgi_saver_is_requested(const fgi_saver *saver) { return saver->is_requested; }

void fg_trainer_request_save(const fg_trainer *trainer) { fgi_saver_request(trainer->saver, true); }

const char *fgi_saver_last(const fgi_saver *saver) { return saver->last; }

static void *write_snapshot(void *self)
{
    fgi_saver *saver = self;
    const int64_t begin = fgi_timeline_begin();
    const fg_status status = fgi_snapshot_write(saver->snapshot, &saver->error);
    fgi_timeline_end(begin, "checkpoint", "write checkpoint",
                     fgi_snapshot_get_info(saver->snapshot)->at.step);
    saver->error.status = status;
    atomic_store_explicit(&saver->is_written, true, memory_order_release);
    return NULL;
}

static void *run_thread(void *self)
{
    fgi_timeline_name_thread("checkpoint writer");
    (void)write_snapshot(self);
    fgi_timeline_thread_ends();
    return NULL;
}

/* Waits for the thread, if there is one. */
static void join(fg_trainer *trainer)
{
    fgi_saver *saver = trainer->saver;
    if (!saver->has_thread)
        return;
    fgi_span span = {FGI_CHECKPOINT, FGI_TRAIN, trainer->cursor.step, "checkpoint",
                     .name = "wait for checkpoint"};
    fgi_span_begin(&trainer->spans, &span);
    fgi_thread_join(saver->thread);
    saver->has_thread = false;
    fgi_windows_exclude(trainer->windows, fgi_span_end(&span));
}

void fgi_checkpoint_remember(fg_trainer *trainer, const char *path)
{
    fg_result *result = &trainer->call.result;
    (void)snprintf(result->checkpoint, sizeof result->checkpoint, "%s", path);
    (void)snprintf(trainer->saver->last, sizeof trainer->saver->last, "%s", path);
    fgi_watch_checkpoint(trainer->watchdog, path);
}

/* "the last checkpoint is PATH" */
static void put_kept(const fg_trainer *trainer, char *out, size_t size)
{
    const char *path = trainer->call.result.checkpoint;
    (void)snprintf(out, size, "%s%s",
                   path[0] != '\0' ? "the last checkpoint is " : "there is no checkpoint", path);
}

/* The state is not on the disk; several failures in a row are an error. */
static fg_status take_failure(fg_trainer *trainer, const fgi_snapshot_info *info, fg_error *err)
{
    fgi_saver *saver = trainer->saver;
    const fg_error *why = &saver->error;
    char kept[600];
    put_kept(trainer, kept, sizeof kept);
    saver->is_current = false;
    saver->failures++;
    if (saver->failures >= FGI_SAVES_FAILED && !saver->is_ending) {
        saver->has_given_up = true;
        return fgi_fail(err, why->status, "%d checkpoints in a row could not be written: %s\n%s",
                        saver->failures, why->message, kept);
    }
    fgi_log(FG_LOG_ERROR, "the checkpoint of step %lld could not be written: %s; %s",
            (long long)info->at.step, why->message, kept);
    return FG_OK;
}

static fg_status take_success(fg_trainer *trainer, const fgi_snapshot_info *info, fg_error *err)
{
    fgi_saver *saver = trainer->saver;
    const fgi_best_rule rule = fgi_best_rule_of(&trainer->options.checkpoints);
    fg_progress at = info->at;
    saver->failures = 0;
    fgi_best_list_enter(&trainer->cursor.top, &rule, at.step, info->name);
    fgi_checkpoint_remember(trainer, info->path);
    fgi_divergence_note_checkpoint(trainer->divergence, info->path, info->at.step,
                                   info->is_suspected);
    at.path = trainer->call.result.checkpoint;
    return fgi_notify(trainer->callbacks, FGI_ON_SAVED, &at, err);
}

fg_status fgi_saver_collect(fg_trainer *trainer, bool wait, fg_error *err)
{
    fgi_saver *saver = trainer->saver;
    fg_status status = FG_OK;
    if (saver->snapshot == NULL ||
        (!wait && !atomic_load_explicit(&saver->is_written, memory_order_acquire)))
        return FG_OK;
    join(trainer);
    fgi_snapshot *snapshot = saver->snapshot;
    saver->snapshot = NULL;
    const fgi_snapshot_info *info = fgi_snapshot_get_info(snapshot);
    status = saver->error.status != FG_OK ? take_failure(trainer, info, err)
                                          : take_success(trainer, info, err);
    fgi_snapshot_destroy(snapshot);
    return status;
}

void fgi_saver_abandon(fg_trainer *trainer)
{
    fgi_saver *saver = trainer->saver;
    join(trainer);
    if (saver->snapshot != NULL && saver->error.status == FG_OK)
        fgi_checkpoint_remember(trainer, fgi_snapshot_get_info(saver->snapshot)->path);
    fgi_snapshot_destroy(saver->snapshot);
    saver->snapshot = NULL;
}

static void start_writing(fgi_saver *saver, fgi_snapshot *take_snapshot)
{
    saver->snapshot = take_snapshot;
    atomic_store(&saver->is_written, false);
    saver->is_current = true;
    saver->has_thread = fgi_thread_start(&saver->thread, run_thread, saver, NULL) == FG_OK;
    if (!saver->has_thread)
        (void)write_snapshot(saver); /* no thread: write it now */
}

fg_status fgi_saver_begin(fg_trainer *trainer, fg_error *err)
{
    fgi_saver *saver = trainer->saver;
    fgi_snapshot *snapshot = NULL;
    FGI_TRY(fgi_saver_collect(trainer, true, err));
    if (fgi_stage_accumulator(trainer->stage[FGI_TRAIN]) != NULL) /* the last update is not known */
        FGI_TRY(fgi_divergence_read(trainer->divergence, err));
    fgi_span span = {FGI_CHECKPOINT, FGI_TRAIN, trainer->cursor.step, "checkpoint",
                     .name = "start checkpoint"};
    fgi_span_begin(&trainer->spans, &span);
    saver->begun_ns = span.begin_ns;
    const fg_status status = fgi_snapshot_take(trainer, &snapshot, err);
    if (status == FG_OK)
        start_writing(saver, snapshot);
    fgi_windows_exclude(trainer->windows, fgi_span_end(&span));
    if (status != FG_OK)
        return status;
    return trainer->options.checkpoints.wait_for_saves ? fgi_saver_collect(trainer, true, err)
                                                       : FG_OK;
}

/* Saves the state; is_current is whether that succeeded. */
static fg_status try_to_save(fg_trainer *trainer, fg_error *err)
{
    FGI_TRY(fgi_saver_begin(trainer, err));
    return fgi_saver_collect(trainer, true, err);
}

fg_status fgi_saver_finish(fg_trainer *trainer, fg_error *err)
{
    fgi_saver *saver = trainer->saver;
    char kept[600];
    if (trainer->options.checkpoints.run_dir == NULL)
        return FG_OK;
    saver->is_ending = true;
    fg_status status = fgi_saver_collect(trainer, true, err);
    for (int i = 0; i < 2 && status == FG_OK && !trainer->saver->is_current; i++)
        status = try_to_save(trainer, err);
    saver->is_ending = false;
    if (status != FG_OK || saver->is_current)
        return status;
    put_kept(trainer, kept, sizeof kept);
    saver->has_given_up = true;
    return fgi_fail(err, saver->error.status, "the state at step %lld could not be saved: %s\n%s",
                    (long long)trainer->cursor.step, saver->error.message, kept);
}

/* Whether there is a state that can be saved and is worth it. After a NaN in a gradient it is not:
 * the previous checkpoint is more useful. */
static bool can_be_saved(const fg_trainer *trainer, fg_status status)
{
    return trainer->fit.has_started && trainer->options.checkpoints.run_dir != NULL &&
           trainer->cursor.step > 0 && !trainer->saver->is_current &&
           !trainer->saver->has_given_up && status != FG_ENUMERIC;
}

void fgi_saver_rescue(fg_trainer *trainer, fg_error *err)
{
    fg_error why = {0};
    join(trainer);
    if (trainer->saver->snapshot != NULL && trainer->saver->error.status != FG_OK)
        trainer->saver->is_current = false; /* try again */
    if (!can_be_saved(trainer, err->status))
        return;
    if (trainer->fit.is_in_step) { /* none of whose batches has changed a parameter */
        const fgi_cursor *start = &trainer->fit.step_start;
        trainer->cursor.position = start->position;
        trainer->cursor.epoch_batches = start->epoch_batches;
        trainer->cursor.has_read_epoch = start->has_read_epoch;
    }
    if (fgi_saver_finish(trainer, &why) == FG_OK)
        (void)fgi_fail(err, err->status, "%s\nstopped at step %lld; saved in %s", err->message,
                       (long long)trainer->cursor.step, trainer->call.result.checkpoint);
    else if (strcmp(err->message, why.message) != 0)
        (void)fgi_fail(err, err->status, "%s\n%s", err->message, why.message);
}
