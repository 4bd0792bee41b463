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

fg_status fgi_saver_collect(fgi_saver *saver, bool wait, fg_error *err)
{
    fg_status status = FG_OK;
    if (saver->snapshot == NULL ||
        (!wait && !atomic_load_explicit(&saver->is_written, memory_order_acquire)))
        return FG_OK;
    join(saver);
    fgi_snapshot *snapshot = saver->snapshot;
    saver->snapshot = NULL;
    status = saver->error.status != FG_OK ? take_failure(saver, snapshot, err)
                                          : take_success(saver, snapshot, err);
    fgi_snapshot_destroy(snapshot);
    return status;
}

void fgi_saver_abandon(fgi_saver *saver)
{
    join(saver);
    if (saver->snapshot != NULL && saver->error.status == FG_OK)
        fgi_saver_remember(saver, saver->snapshot->path);
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

fg_status fgi_saver_begin(fgi_saver *saver, fg_error *err)
{
    fgi_snapshot *snapshot = NULL;
    FGI_TRY(fgi_saver_collect(saver, true, err));
    fgi_span span = {FGI_CHECKPOINT, FGI_TRAIN, saver->of.cursor->step, "checkpoint",
                     .name = "start checkpoint"};
    fgi_span_begin(saver->of.spans, &span);
    saver->begun_ns = span.begin_ns;
    const fg_status status = saver->of.take(saver->of.self, &snapshot, err);
    if (status == FG_OK)
        start_writing(saver, snapshot);
    saver->of.windows->start_ns += fgi_span_end(&span);
    if (status != FG_OK)
        return status;
    return saver->of.o->wait_for_saves ? fgi_saver_collect(saver, true, err) : FG_OK;
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
        (void)fgi_fail(err, err->status, "%s\nstopped at step %lld; saved in %s", err->message,
                       (long long)saver->of.cursor->step, saver->of.call->result.checkpoint);
    else if (strcmp(err->message, why.message) != 0)
        (void)fgi_fail(err, err->status, "%s\n%s", err->message, why.message);
}
