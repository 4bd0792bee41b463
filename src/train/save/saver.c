/* saver.c - checkpoints written while training continues.
 *
 * The state is copied to the host between two steps; a thread then writes the copy while further
 * steps run. One save is under way at a time: the next one waits for it. Its outcome is handled on
 * the Trainer's thread, between steps, at the next save or at the end of the fit.
 *
 * Epochs of some milliseconds would wait for the disk most of the time. So saves that no option
 * asks for are at least a second apart: in between, a state that is the best one so far waits in
 * memory until it is written or a better one replaces it, and other states are not saved.
 *
 * A checkpoint that cannot be written does not end the run, because the previous one still exists.
 * Only several failures in a row, or one at the end, are an error.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "base/thread.h"
#include "train/watch/watch.h"
#include "base/timeline.h"
#include "train/save/saver.h"

fg_status fgi_saver_create(const fgi_saver_uses *uses, fgi_saver **out, fg_error *err)
{
    *out = fgi_calloc(1, sizeof **out);
    if (*out == NULL)
        return fgi_no_memory(err);
    (*out)->of = *uses;
    return FG_OK;
}

void fgi_saver_reset(fgi_saver *saver)
{
    saver->failures = 0;
    saver->has_given_up = false;
    saver->is_requested = false;
    saver->has_begun = false;
    saver->has_skipped = false;
    saver->begun_ns = fgi_now_ns();
}

bool fgi_saver_is_due(const fgi_saver *saver)
{
    const double every_s = saver->of.o->ckpt_every_time;
    return every_s > 0 && (double)(fgi_now_ns() - saver->begun_ns) >= every_s * 1e9;
}

static void *write_snapshot(void *self)
{
    fgi_saver *saver = self;
    const int64_t begin = fgi_timeline_begin();
    const fg_status status = fgi_snapshot_write(saver->snapshot, &saver->error);
    fgi_timeline_end(begin, "checkpoint", "write checkpoint", saver->snapshot->at.step);
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
static void join(fgi_saver *saver)
{
    if (!saver->has_thread)
        return;
    fgi_span span = {FGI_CHECKPOINT, FGI_TRAIN, saver->of.cursor->step, "checkpoint",
                     .name = "wait for checkpoint"};
    fgi_span_begin(saver->of.spans, &span);
    fgi_thread_join(saver->thread);
    saver->has_thread = false;
    saver->of.windows->start_ns += fgi_span_end(&span);
}

void fgi_saver_remember(fgi_saver *saver, const char *path)
{
    fg_result *result = &saver->of.call->result;
    (void)fgi_snprintf(result->checkpoint, sizeof result->checkpoint, "%s", path);
    (void)fgi_snprintf(saver->last, sizeof saver->last, "%s", path);
    fgi_watch_checkpoint(saver->of.watchdog, path);
}

/* "the last checkpoint is PATH" */
static void put_kept(const fgi_saver *saver, char *out, size_t size)
{
    const char *path = saver->of.call->result.checkpoint;
    (void)snprintf(out, size, "%s%s",
                   path[0] != '\0' ? "the last checkpoint is " : "there is no checkpoint", path);
}

/* The state is not on the disk; several failures in a row are an error. */
static fg_status take_failure(fgi_saver *saver, const fgi_snapshot *snapshot, fg_error *err)
{
    const fg_error *why = &saver->error;
    char kept[600];
    put_kept(saver, kept, sizeof kept);
    saver->is_current = false;
    saver->failures++;
    if (saver->failures >= FGI_SAVES_FAILED && !saver->is_ending) {
        saver->has_given_up = true;
        return fgi_fail(err, why->status, "%d checkpoints in a row could not be written: %s\n%s",
                        saver->failures, why->message, kept);
    }
    fgi_log(FG_LOG_ERROR, "the checkpoint of step %lld could not be written: %s; %s",
            (long long)snapshot->at.step, why->message, kept);
    return FG_OK;
}

static fg_status take_success(fgi_saver *saver, const fgi_snapshot *snapshot, fg_error *err)
{
    const fgi_best_rule rule = fgi_best_rule_of(saver->of.o);
    fg_progress at = snapshot->at;
    saver->failures = 0;
    fgi_best_list_enter(&saver->of.cursor->top, &rule, at.step, snapshot->name);
    fgi_saver_remember(saver, snapshot->path);
    fgi_divergence_note_checkpoint(saver->of.divergence, snapshot->path, snapshot->at.step,
                                   snapshot->is_suspected);
    at.path = saver->of.call->result.checkpoint;
    return fgi_notify(saver->of.callbacks, FGI_ON_SAVED, &at, err);
}

static bool is_writing(const fgi_saver *saver)
{
    return saver->snapshot != NULL &&
           !atomic_load_explicit(&saver->is_written, memory_order_acquire);
}

/* Handles the save that was begun; wait: also one that is still being written. */
static fg_status end_save(fgi_saver *saver, bool wait, fg_error *err)
{
    fg_status status = FG_OK;
    if (saver->snapshot == NULL || (!wait && is_writing(saver)))
        return FG_OK;
    join(saver);
    fgi_snapshot *snapshot = saver->snapshot;
    saver->snapshot = NULL;
    status = saver->error.status != FG_OK ? take_failure(saver, snapshot, err)
                                          : take_success(saver, snapshot, err);
    fgi_snapshot_destroy(snapshot);
    return status;
}

static void start_writing(fgi_saver *saver, fgi_snapshot *take_snapshot)
{
    saver->snapshot = take_snapshot;
    saver->begun_ns = fgi_now_ns();
    saver->has_begun = true;
    atomic_store(&saver->is_written, false);
    saver->has_thread = fgi_thread_start(&saver->thread, run_thread, saver, NULL) == FG_OK;
    if (!saver->has_thread)
        (void)write_snapshot(saver); /* no thread: write it now */
}

/* Starts writing the state that waits. */
static void write_waiting(fgi_saver *saver)
{
    fgi_snapshot *snapshot = saver->waiting;
    saver->waiting = NULL;
    if (snapshot != NULL)
        start_writing(saver, snapshot);
}

static bool is_too_soon(const fgi_saver *saver)
{
    return saver->has_begun && fgi_now_ns() - saver->begun_ns < FGI_SAVE_GAP_NS;
}

fg_status fgi_saver_collect(fgi_saver *saver, bool wait, fg_error *err)
{
    FGI_TRY(end_save(saver, wait, err));
    if (saver->snapshot != NULL || (!wait && is_too_soon(saver)))
        return FG_OK;
    write_waiting(saver);
    return end_save(saver, wait, err);
}

/* Ends the save that was begun, and only records its path. */
static void abandon_save(fgi_saver *saver)
{
    join(saver);
    if (saver->snapshot != NULL && saver->error.status == FG_OK)
        fgi_saver_remember(saver, saver->snapshot->path);
    fgi_snapshot_destroy(saver->snapshot);
    saver->snapshot = NULL;
}

void fgi_saver_abandon(fgi_saver *saver)
{
    abandon_save(saver);
    write_waiting(saver);
    abandon_save(saver);
}

/* Copies the current state to the host. */
static fg_status take(fgi_saver *saver, fgi_snapshot **out, fg_error *err)
{
    fgi_span span = {FGI_CHECKPOINT, FGI_TRAIN, saver->of.cursor->step, "checkpoint",
                     .name = "start checkpoint"};
    fgi_span_begin(saver->of.spans, &span);
    const fg_status status = saver->of.take(saver->of.self, out, err);
    saver->is_current |= status == FG_OK;
    saver->of.windows->start_ns += fgi_span_end(&span);
    return status;
}

fg_status fgi_saver_begin(fgi_saver *saver, fg_error *err)
{
    fgi_snapshot *snapshot = NULL;
    FGI_TRY(fgi_saver_collect(saver, true, err));
    FGI_TRY(take(saver, &snapshot, err));
    start_writing(saver, snapshot);
    return saver->of.o->wait_for_saves ? fgi_saver_collect(saver, true, err) : FG_OK;
}

fg_status fgi_saver_offer(fgi_saver *saver, fgi_rank rank, fg_error *err)
{
    const bool is_only = rank == FGI_RANK_BEST && saver->of.o->save_top_k == 1;
    const bool may_wait = is_only && is_too_soon(saver);
    fgi_snapshot *snapshot = NULL;
    if (rank == FGI_RANK_NONE && (is_too_soon(saver) || is_writing(saver))) {
        saver->has_skipped = true;
        return FG_OK;
    }
    if (may_wait)
        FGI_TRY(take(saver, &snapshot, err));
    if (is_only) {
        fgi_snapshot_destroy(saver->waiting); /* a state that is not the best any more */
        saver->waiting = snapshot;
    }
    return may_wait ? FG_OK : fgi_saver_begin(saver, err);
}

/* Saves the state; is_current is whether that succeeded. */
static fg_status try_to_save(fgi_saver *saver, fg_error *err)
{
    FGI_TRY(fgi_saver_begin(saver, err));
    return fgi_saver_collect(saver, true, err);
}

fg_status fgi_saver_finish(fgi_saver *saver, fg_error *err)
{
    char kept[600];
    if (saver->of.o->run_dir == NULL)
        return FG_OK;
    saver->is_ending = true;
    fg_status status = fgi_saver_collect(saver, true, err);
    for (int i = 0; i < 2 && status == FG_OK && !saver->is_current; i++)
        status = try_to_save(saver, err);
    saver->is_ending = false;
    if (status != FG_OK || saver->is_current)
        return status;
    put_kept(saver, kept, sizeof kept);
    saver->has_given_up = true;
    return fgi_fail(err, saver->error.status, "the state at step %lld could not be saved: %s\n%s",
                    (long long)saver->of.cursor->step, saver->error.message, kept);
}

/* After a NaN in a gradient it is not: the previous checkpoint is more useful. */
bool fgi_saver_can_rescue(fgi_saver *saver, fg_status status)
{
    join(saver);
    if (saver->snapshot != NULL && saver->error.status != FG_OK)
        saver->is_current = false; /* try again */
    return saver->of.o->run_dir != NULL && saver->of.cursor->step > 0 && !saver->is_current &&
           !saver->has_given_up && status != FG_ENUMERIC;
}

void fgi_saver_rescue(fgi_saver *saver, fg_error *err)
{
    fg_error why = {0};
    if (fgi_saver_finish(saver, &why) == FG_OK)
        (void)fgi_fail_at(err, err->status, err->file, err->line,
                          "%s\nstopped at step %lld; saved in %s", err->message,
                          (long long)saver->of.cursor->step, saver->of.call->result.checkpoint);
    else if (strcmp(err->message, why.message) != 0)
        (void)fgi_fail_at(err, err->status, err->file, err->line, "%s\n%s", err->message,
                          why.message);
}
