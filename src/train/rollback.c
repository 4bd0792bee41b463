/* rollback.c - a fit that has diverged goes back to its last good checkpoint, with a smaller
 * learning rate.
 *
 * Everything is restored as when a run resumes from the checkpoint, on the same devices and with
 * the same programs: later log lines are removed, callbacks get their state, and the same
 * samples follow. Then the state is saved again, so a run that is killed resumes with the smaller
 * learning rate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/log.h"
#include "train/accumulate.h"
#include "train/callbacks.h"
#include "train/divergence.h"
#include "train/feed.h"
#include "train/fit_settings.h"
#include "train/health.h"
#include "train/run_folder.h"
#include "train/saver.h"
#include "train/snapshot.h"
#include "train/stage.h"
#include "train/trainer.h"
#include "train/windows.h"

/* Nothing is still in progress: no step, read or save. */
static fg_status settle(fg_trainer *trainer, fg_error *err)
{
    const fg_status status = fgi_feed_drain(trainer, err);
    fgi_windows_abandon(trainer->windows);
    trainer->fit.is_in_step = false;
    if (status != FG_OK)
        return status;
    return fgi_saver_collect(trainer, true, err);
}

/* Loads the checkpoint as a run that resumes does. */
static fg_status load(fg_trainer *trainer, const char *path, fg_error *err)
{
    fgi_stage *stage = trainer->stage[FGI_TRAIN];
    FGI_TRY(fgi_state_go_back(trainer, path, err));
    FGI_TRY(fgi_state_settle(trainer, err));
    fgi_stage_restart_sums(stage);
    FGI_TRY(fgi_windows_continue(trainer, trainer->windows, stage, err));
    return fgi_run_reopen(trainer, err);
}

static fg_status refuse(const fg_error *why, const char *reason, fg_error *err)
{
    const fg_error first = *why;
    return fgi_fail(err, FG_ENUMERIC, "%s\n%s", first.message, reason);
}

static fg_status go_back(fg_trainer *trainer, const fg_error *why, fg_error *err)
{
    const int64_t count = fgi_divergence_rollbacks(trainer);
    const double factor = fgi_divergence_lr_factor(trainer);
    char path[512];
    (void)snprintf(path, sizeof path, "%s", fgi_divergence_good(trainer));
    FGI_TRY(load(trainer, path, err));
    fgi_divergence_went_back(trainer, count, factor);
    fgi_saver_set_current(trainer->saver, false); /* it has the previous learning rate */
    fgi_log(FG_LOG_WARNING,
            "%s\nrollback %lld of at most %lld: training continues from step %lld (%s) with %g "
            "times the configured learning rate",
            why->message, (long long)count + 1,
            (long long)trainer->options.divergence.max_rollbacks, (long long)trainer->cursor.step,
            path, fgi_divergence_lr_factor(trainer));
    return FG_OK;
}

fg_status fgi_rollback(fg_trainer *trainer, fg_error *err)
{
    const fg_error why = *err;
    fg_error local = {0};
    char text[128];
    const int64_t most = trainer->options.divergence.max_rollbacks;
    (void)snprintf(text, sizeof text, "the limit of rollbacks is reached (max_rollbacks=%lld)",
                   (long long)most);
    fg_status status = settle(trainer, &local);
    if (status == FG_OK && fgi_divergence_rollbacks(trainer) >= most)
        return refuse(&why, text, err);
    if (status == FG_OK && fgi_divergence_good(trainer)[0] == '\0')
        return refuse(&why, "there is no good checkpoint to roll back to", err);
    if (status == FG_OK)
        status = go_back(trainer, &why, &local);
    if (status == FG_OK)
        return FG_OK;
    return fgi_fail(err, FG_ENUMERIC, /* so the state is not saved */
                    "%s\ncannot roll back: %s", why.message, local.message);
}
