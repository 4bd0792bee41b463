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
#include "log/logger.h"
#include "train/watch/call.h"

/* A look at the folder costs a system call, or a round trip on a network file system. */
enum { LOOK_EVERY_NS = 1000000000 };

struct fgi_run {
    const fg_trainer_checkpoints *o;
    int lock;             /* descriptor of the locked file, -1: not held */
    int64_t next_look_ns; /* when to look for a request to stop again */
    fgi_logger *prepared; /* the loggers, before they are opened; owned */
    fgi_logger *logger;   /* opened, one of the callbacks; NULL: none */
};

fg_status fgi_run_create(const fg_trainer_checkpoints *o, const fg_strings *loggers, fgi_run **out,
                         fg_error *err)
{
    *out = NULL;
    fgi_run *run = fgi_calloc(1, sizeof *run);
    if (run == NULL)
        return fgi_no_memory(err);
    run->o = o;
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

fgi_logger *fgi_run_next_logger(const fgi_run *run) { return run->prepared; }

/* ---- the lock -------------------------------------------------------------------------------- */

fg_status fgi_run_claim(fgi_run *run, const fg_client *client, fg_error *err)
{
    const char *run_dir = run->o->run_dir;
    if (run_dir == NULL || run->lock >= 0 || fg_client_info_of(client)->process_index != 0)
        return FG_OK;
    int why = 0;
    FGI_TRY(fgi_lock_take(run_dir, &run->lock, &why, err));
    if (why != 0)
        fgi_log(FG_LOG_WARNING,
                "'%s' cannot be locked (%s): make sure that no other process is training there",
                run_dir, fgi_errno_text(why));
    return FG_OK;
}

void fgi_run_release(fgi_run *run)
{
    if (run->lock < 0)
        return;
    fgi_lock_release(run->o->run_dir, run->lock);
    run->lock = -1;
}

bool fgi_run_is_asked_to_stop(fgi_run *run)
{
    const int64_t now = fgi_now_ns();
    if (run->lock < 0 || now < run->next_look_ns)
        return false;
    run->next_look_ns = now + LOOK_EVERY_NS;
    return fgi_stop_is_asked(run->o->run_dir);
}

/* ---- an earlier run -------------------------------------------------------------------------- */

/* Whether there are checkpoints of another run in `folder`, which is written. */
static fg_status find_earlier(const fgi_run *run, const char *resumed, char folder[FGI_PATH_BYTES],
                              bool *out, fg_error *err)
{
    int64_t newest = 0;
    bool is_own = false;
    *out = false;
    if (run->o->run_dir == NULL || run->logger != NULL)
        return FG_OK;
    FGI_TRY(fgi_path_put(run->o->run_dir, "checkpoints", folder, err));
    if (fgi_file_exists(folder))
        FGI_TRY(fgi_ckpt_newest_sequence(folder, &newest, err));
    if (newest > 0)
        FGI_TRY(fgi_path_is_in(resumed, folder, &is_own, err));
    *out = newest > 0 && !is_own;
    return FG_OK;
}

fg_status fgi_run_check(const fgi_run *run, const char *resumed, fg_error *err)
{
    char folder[FGI_PATH_BYTES];
    bool is_there;
    FGI_TRY(find_earlier(run, resumed, folder, &is_there, err));
    if (!is_there || run->o->overwrite)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "'%s' holds the checkpoints of an earlier run, which are not deleted\n"
                    "set resume to continue it, overwrite to delete them, or choose another "
                    "folder",
                    run->o->run_dir);
}

fg_status fgi_run_clear(const fgi_run *run, const char *resumed, fg_error *err)
{
    char folder[FGI_PATH_BYTES];
    bool is_there; /* fgi_run_check allowed to overwrite them */
    FGI_TRY(find_earlier(run, resumed, folder, &is_there, err));
    return is_there ? fgi_ckpt_clear(folder, err) : FG_OK;
}

/* ---- the log --------------------------------------------------------------------------------- */

fg_status fgi_run_open(fgi_run *run, const fg_client *client, const fgi_cursor *cursor,
                       fgi_callbacks *callbacks, fg_error *err)
{
    fgi_logger *logger = run->prepared;
    if (run->o->run_dir == NULL || logger == NULL || fg_client_info_of(client)->process_index != 0)
        return FG_OK;
    FGI_TRY(fgi_logger_open(logger, run->o->run_dir, cursor->step, cursor->log_lines, err));
    FGI_TRY(fgi_callbacks_add(callbacks, &fgi_logger_ops, logger, err));
    run->prepared = NULL;
    run->logger = logger;
    /* first, so that metrics are logged before another callback can fail */
    fgi_callbacks_promote_last(callbacks);
    return FG_OK;
}

fg_status fgi_run_reopen(fgi_run *run, const fgi_cursor *cursor, fg_error *err)
{
    if (run->logger == NULL)
        return FG_OK;
    FGI_TRY(fgi_logger_catch_up(run->logger, err));
    return fgi_logger_open(run->logger, run->o->run_dir, cursor->step, cursor->log_lines, err);
}
