/* run_folder.c - only one fit at a time uses a run folder (base/run_lock.h), and an earlier run in
 * it is not deleted unless that is requested.
 *
 * There is a warning on file systems without locks; if locks do not apply across hosts (NFS mounted
 * with nolock, some FUSE file systems), only processes of the same host exclude each other.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/print.h"
#include "base/run_lock.h"
#include "base/thread.h"
#include "ckpt/series.h"
#include "train/callbacks.h"
#include "log/logger.h"
#include "train/run_folder.h"
#include "train/trainer.h"

/* A look at the folder costs a system call, or a round trip on a network file system. */
enum { LOOK_EVERY_NS = 1000000000 };

struct fgi_run {
    int lock;             /* descriptor of the locked file, -1: not held */
    int64_t next_look_ns; /* when to look for a request to stop again */
    fgi_logger *prepared; /* the loggers, before they are opened; owned */
    fgi_logger *logger;   /* opened, one of the callbacks; NULL: none */
};

fg_status fgi_run_create(const char *loggers, fgi_run **out, fg_error *err)
{
    *out = NULL;
    fgi_run *run = fgi_calloc(1, sizeof *run);
    if (run == NULL)
        return fgi_no_memory(err);
    run->lock = -1;
    const fg_status status = fgi_logger_init(loggers, &run->prepared, err);
    if (status == FG_OK)
        *out = run;
    else
        fgi_free(run);
    return status;
}

void fgi_run_destroy(fgi_run *run)
{
    if (run == NULL)
        return;
    fgi_logger_destroy(run->prepared);
    fgi_free(run);
}

fgi_logger *fgi_run_logger(const fgi_run *run) { return run->logger; }

fgi_logger *fgi_run_any_logger(const fgi_run *run)
{
    return run->logger != NULL ? run->logger : run->prepared;
}

/* ---- the lock -------------------------------------------------------------------------------- */

fg_status fgi_run_claim(fg_trainer *trainer, fg_error *err)
{
    const char *run_dir = trainer->options.checkpoints.run_dir;
    if (run_dir == NULL || trainer->run->lock >= 0 ||
        fg_client_get_info(trainer->client)->process_index != 0)
        return FG_OK;
    int why = 0;
    FGI_TRY(fgi_lock_take(run_dir, &trainer->run->lock, &why, err));
    if (why != 0)
        fgi_log(FG_LOG_WARNING,
                "'%s' cannot be locked (%s): make sure that no other process is training there",
                run_dir, fgi_errno_text(why));
    return FG_OK;
}

void fgi_run_release(fg_trainer *trainer)
{
    if (trainer->run->lock < 0)
        return;
    fgi_lock_release(trainer->options.checkpoints.run_dir, trainer->run->lock);
    trainer->run->lock = -1;
}

bool fgi_run_is_asked_to_stop(fg_trainer *trainer)
{
    fgi_run *run = trainer->run;
    const int64_t now = fgi_now_ns();
    if (run->lock < 0 || now < run->next_look_ns)
        return false;
    run->next_look_ns = now + LOOK_EVERY_NS;
    return fgi_stop_is_asked(trainer->options.checkpoints.run_dir);
}

/* ---- an earlier run -------------------------------------------------------------------------- */

/* Finds checkpoints of another run: *out_folder is a fresh string with their folder, NULL if there
 * are none. */
static fg_status find_earlier(const fg_trainer *trainer, char **out_folder, fg_error *err)
{
    int64_t newest = 0;
    bool is_own = false;
    fg_status status = FG_OK;
    *out_folder = NULL;
    if (trainer->options.checkpoints.run_dir == NULL || trainer->run->logger != NULL)
        return FG_OK;
    char *folder = fgi_path_join(trainer->options.checkpoints.run_dir, "checkpoints");
    if (folder == NULL)
        return fgi_no_memory(err);
    if (fgi_file_exists(folder))
        status = fgi_ckpt_newest_sequence(folder, &newest, err);
    if (status == FG_OK && newest > 0)
        status = fgi_path_is_in(trainer->call.result.checkpoint, folder, &is_own, err);
    if (status == FG_OK && newest > 0 && !is_own)
        *out_folder = folder;
    else
        fgi_free(folder);
    return status;
}

fg_status fgi_run_check(const fg_trainer *trainer, fg_error *err)
{
    char *folder;
    FGI_TRY(find_earlier(trainer, &folder, err));
    const bool is_in_the_way = folder != NULL && !trainer->options.checkpoints.overwrite;
    fgi_free(folder);
    if (!is_in_the_way)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "'%s' holds the checkpoints of an earlier run, which are not deleted\n"
                    "set resume to continue it, overwrite to delete them, or choose another "
                    "folder",
                    trainer->options.checkpoints.run_dir);
}

fg_status fgi_run_clear(const fg_trainer *trainer, fg_error *err)
{
    char *folder;
    FGI_TRY(find_earlier(trainer, &folder, err)); /* fgi_run_check allowed to overwrite them */
    const fg_status status = folder != NULL ? fgi_ckpt_clear(folder, err) : FG_OK;
    fgi_free(folder);
    return status;
}

/* ---- the log --------------------------------------------------------------------------------- */

fg_status fg_trainer_add_logger(fg_trainer *trainer, const fg_logger_ops *ops, void *take_self,
                                fg_error *err)
{
    if (trainer->run->prepared != NULL)
        return fgi_logger_add(trainer->run->prepared, ops, take_self, err);
    if (ops->destroy != NULL)
        ops->destroy(take_self);
    return fgi_fail(err, FG_EINVAL, "logger '%s': the log is open already: add it before the fit",
                    ops->name != NULL ? ops->name : "");
}

fg_status fg_trainer_set_run_info(fg_trainer *trainer, const fg_run_info *info, fg_error *err)
{
    if (trainer->run->prepared != NULL)
        return fgi_logger_set_info(trainer->run->prepared, info, err);
    return fgi_fail(err, FG_EINVAL,
                    "fg_trainer_set_run_info: the log is open already: call it before the fit");
}

fg_status fgi_run_open(fg_trainer *trainer, fg_error *err)
{
    fgi_run *run = trainer->run;
    const char *folder = trainer->options.checkpoints.run_dir;
    fgi_logger *logger = run->prepared;
    if (folder == NULL || logger == NULL || fg_client_get_info(trainer->client)->process_index != 0)
        return FG_OK;
    FGI_TRY(fgi_logger_open(logger, folder, trainer->cursor.step, trainer->cursor.log_lines, err));
    run->prepared = NULL;
    FGI_TRY(fg_trainer_add_callback(trainer, &fgi_logger_ops, logger, err));
    run->logger = logger;
    /* first, so that metrics are logged before another callback can fail */
    fgi_callbacks_promote_last(trainer->callbacks);
    return FG_OK;
}

fg_status fgi_run_reopen(fg_trainer *trainer, fg_error *err)
{
    fgi_logger *logger = trainer->run->logger;
    if (logger == NULL)
        return FG_OK;
    FGI_TRY(fgi_logger_catch_up(logger, err));
    return fgi_logger_open(logger, trainer->options.checkpoints.run_dir, trainer->cursor.step,
                           trainer->cursor.log_lines, err);
}
