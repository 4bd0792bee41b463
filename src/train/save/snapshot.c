/* snapshot.c - a checkpoint: the state of training on the host, named and written.
 *
 * A snapshot is taken on the Trainer's thread between two steps (train_state.c); afterwards it is
 * independent of the devices and can be written by another thread while training continues
 * (saver.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/save/saver.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "ckpt/manifest.h"
#include "ckpt/series.h"
#include "log/logger.h"

void fgi_snapshot_destroy(fgi_snapshot *s)
{
    if (s == NULL)
        return;
    fgi_host_copy_fini(&s->copy);
    fgi_arena_fini(&s->memory);
    fgi_free(s->json);
    fgi_free(s);
}

fg_status fgi_snapshot_place(fgi_snapshot *s, fg_error *err)
{
    const size_t size = strlen(s->name);
    for (int version = 1;; version++) {
        FGI_TRY(fgi_path_put(s->folder, s->name, s->path, err));
        if (!fgi_file_exists(s->path) || fgi_exists_in(s->path, FGI_CKPT_MANIFEST_FILE))
            return FG_OK;
        (void)snprintf(s->name + size, sizeof s->name - size, "-v%d", version);
    }
}

static fg_status write_folder(fgi_snapshot *s, fg_error *err)
{
    fgi_host_copy *c = &s->copy;
    const char *const metadata[] = {FGI_STEP_KEY, s->step, FGI_EPOCH_KEY, s->epoch, NULL};
    FGI_TRY(fgi_host_copy_turn(c, err));
    const fg_ckpt_content files = {.model = c->tensors,
                                   .model_count = c->model_count,
                                   .state = c->tensors + c->model_count,
                                   .state_count = c->count - c->model_count,
                                   .state_json = s->json,
                                   .process_index = s->process_index,
                                   .process_count = s->process_count,
                                   .attachments = s->attachments,
                                   .attachment_count = s->attachment_count,
                                   .metadata = metadata};
    return fg_ckpt_save(s->path, &files, err);
}

void fgi_snapshot_prune(const char *folder, int keep, const fgi_best_list *top,
                        const fgi_best_list *before)
{
    fg_error why = {0};
    const char *best[2 * FGI_BEST_MOST];
    size_t count = 0;
    for (int i = 0; i < top->count; i++)
        best[count++] = top->entry[i].name;
    for (int i = 0; i < before->count; i++)
        best[count++] = before->entry[i].name;
    if (keep > 0 && fgi_ckpt_prune(folder, keep, best, count, &why) != FG_OK)
        fgi_log(FG_LOG_WARNING, "old checkpoints could not be removed: %s", why.message);
}

/* In this order, each file is on the disk before the next one depends on it. `last` is written
 * last: if killed before that, the run resumes from the previous checkpoint and finds its best
 * again. */
fg_status fgi_snapshot_write(fgi_snapshot *s, fg_error *err)
{
    if (s->log_failure.status != FG_OK)
        return fgi_fail(err, s->log_failure.status, "%s", s->log_failure.message);
    FGI_TRY(fgi_logger_sync(s->logger, err));
    FGI_TRY(write_folder(s, err));
    if (s->process_index != 0)
        return FG_OK; /* the first process updates last and best */
    if (s->top.count > 0)
        FGI_TRY(fgi_ckpt_repoint(s->folder, "best", s->top.entry[0].name, err));
    FGI_TRY(fgi_ckpt_point(s->folder, "last", s->name, err));
    fgi_snapshot_prune(s->folder, s->keep, &s->top, &s->before);
    return FG_OK;
}
