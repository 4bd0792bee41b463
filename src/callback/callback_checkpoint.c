/* callback_checkpoint.c - the callback checkpoint: saves and keeps the best checkpoints by another
 * metric than that of the Trainer, and those of every n steps or epochs.
 *
 * It requests saves, and enters the checkpoints in the file `kept` (ckpt/series.h) when they are on
 * the disk, which may be after the next validation. A checkpoint holds the list of the best without
 * itself, and its own value as waiting, because at that time it has not been written: it is entered
 * when `saved` is called, or, if the process ended before that, when the run resumes from it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/print.h"
#include "ckpt/series.h"
#include "input/json_file.h"
#include "train/state/cursor.h"
#include "callback/callback_rows.h"
#include "train/state/metrics.h"
#include "train/save/saver.h"
#include "train/watch/call.h"

typedef struct checkpoint {
    const char *monitor; /* the name of the metric */
    fg_metric_mode mode;
    int64_t save_top_k, every_n_steps, every_n_epochs;
    fgi_best_list best; /* in checkpoints */
    fgi_best_rule rule;
    int64_t asked_step; /* for which every_n_steps has requested a save */
    char *text;         /* the list as JSON, for `save` */
} checkpoint;

/* ---- requests -------------------------------------------------------------------------------- */

static bool is_multiple(int64_t number, int64_t of)
{
    return of > 0 && number > 0 && number % of == 0;
}

/* Requests a save of this state if its metric is among the best. */
static void compare(checkpoint *c, const fg_progress *at)
{
    const size_t i = fgi_metric_find(at->metrics, at->metric_count, c->monitor);
    if (i < at->metric_count && isfinite(at->metrics[i].value) &&
        fgi_best_list_offer(&c->best, &c->rule, at->metrics[i].value, at->step) != FGI_RANK_NONE)
        fg_trainer_request_save(at->trainer);
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    checkpoint *c = self;
    if (c->save_top_k > 0 && !fgi_is_of_training(c->monitor))
        compare(c, at);
    return FG_OK;
}

static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    checkpoint *c = self;
    if (c->save_top_k > 0 && fgi_is_of_training(c->monitor))
        compare(c, at);
    if (is_multiple(at->epoch + 1, c->every_n_epochs))
        fg_trainer_request_save(at->trainer);
    return FG_OK;
}

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    checkpoint *c = self;
    if (is_multiple(at->step, c->every_n_steps) && at->step != c->asked_step) {
        c->asked_step = at->step;
        fg_trainer_request_save(at->trainer);
    }
    return FG_OK;
}

/* ---- checkpoints on the disk ----------------------------------------------------------------- */

/* Points best-METRIC to the best. */
static fg_status point(const checkpoint *c, const char *folder, fg_error *err)
{
    char pointer[128];
    (void)fgi_snprintf(pointer, sizeof pointer, "best-%s", c->monitor);
    for (char *slash = pointer; *slash != '\0'; slash++)
        *slash = *slash == '/' ? '_' : *slash;
    return fgi_ckpt_repoint(folder, pointer, c->best.count > 0 ? c->best.entry[0].name : NULL, err);
}

/* Makes the file `kept` what the list says; adds `name` if it is for good. */
static fg_status enter(const checkpoint *c, const char *folder, const char *name, bool is_for_good,
                       fg_error *err)
{
    const char *best[FGI_BEST_MOST];
    for (int i = 0; i < c->best.count; i++)
        best[i] = c->best.entry[i].name;
    FGI_TRY(fgi_ckpt_keep(folder, "best", best, (size_t)c->best.count, err));
    if (is_for_good)
        FGI_TRY(fgi_ckpt_keep_for_good(folder, name, err));
    return point(c, folder, err);
}

static bool is_first_process(const fg_progress *at)
{
    return fg_client_info_of(fg_trainer_client(at->trainer))->process_index == 0;
}

static const char *run_dir_of(const fg_progress *at)
{
    return fgi_fit_facts_of(at->trainer).options->checkpoints.run_dir;
}

/* A checkpoint is on the disk. All processes keep the same list; the first one enters it. */
static fg_status take(checkpoint *c, const char *path, const fg_progress *at, fg_error *err)
{
    const char *name = fgi_after_last(path, '/');
    const bool is_for_good = is_multiple(at->step, c->every_n_steps) ||
                             (at->batch == 0 && is_multiple(at->epoch, c->every_n_epochs));
    fgi_best_list_enter(&c->best, &c->rule, at->step, name);
    if (!is_first_process(at))
        return FG_OK;
    char *folder = fgi_path_parent(path);
    const fg_status status =
        folder != NULL ? enter(c, folder, name, is_for_good, err) : fgi_no_memory(err);
    fgi_free(folder);
    return status;
}

/* The next checkpoints are more important than a list: only a warning. */
static fg_status on_saved(void *self, const fg_progress *at, fg_error *err)
{
    fg_error why = {0};
    if (take(self, at->path, at, &why) != FG_OK)
        fgi_log(FG_LOG_WARNING, "checkpoint: %s", why.message);
    return why.status == FG_ENOMEM ? fgi_no_memory(err) : FG_OK;
}

/* The metric must be one of those that the steps log. */
static fg_status check_monitor(const checkpoint *c, const fg_trainer *trainer, fg_error *err)
{
    const fgi_stage_kind kind = fgi_is_of_training(c->monitor) ? FGI_TRAIN : FGI_VAL;
    const bool has_steps = c->every_n_steps > 0 || c->every_n_epochs > 0;
    if (c->save_top_k == 0 && !has_steps)
        fgi_log(FG_LOG_WARNING, "checkpoint keeps nothing: save_top_k, every_n_steps and "
                                "every_n_epochs are 0");
    if (c->save_top_k == 0)
        return FG_OK;
    FGI_TRY(fgi_metric_check(fgi_fit_facts_of(trainer).stages, "checkpoint: monitor", c->monitor,
                             kind, err));
    if (kind == FGI_VAL && fgi_fit_facts_of(trainer).validations == 0 && !has_steps)
        fgi_log(FG_LOG_WARNING,
                "checkpoint keeps nothing: monitor is %s, a validation metric, but the run has no "
                "validation",
                c->monitor);
    return FG_OK;
}

/* A fit continues from a checkpoint: the file `kept` and the pointer become those of the steps
 * before it. If the run was interrupted before it was entered, it is entered now. */
static fg_status settle(checkpoint *c, const fg_progress *at, fg_error *err)
{
    const char *resumed = fg_trainer_result(at->trainer)->checkpoint;
    char folder[FGI_PATH_BYTES];
    bool is_there = false;
    fg_progress saved = *at;
    saved.path = resumed;
    FGI_TRY(fgi_path_put(run_dir_of(at), "checkpoints", folder, err));
    FGI_TRY(fgi_path_is_in(resumed, folder, &is_there, err));
    FGI_TRY(fgi_best_list_verify(&c->best, &c->rule, folder, err));
    return is_there ? on_saved(c, &saved, err) : FG_OK;
}

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    checkpoint *c = self;
    c->asked_step = at->step;
    if (fg_trainer_result(at->trainer)->nothing_to_do)
        return FG_OK;
    FGI_TRY(check_monitor(c, at->trainer, err));
    if (fgi_fit_facts_of(at->trainer).options->limits.fast_dev_run)
        return FG_OK; /* it saves nothing */
    if (run_dir_of(at) == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "checkpoint: without a run_dir, there are no checkpoints to keep");
    return at->step > 0 ? settle(c, at, err) : FG_OK;
}

static fg_status on_rolled_back(void *self, const fg_progress *at, fg_error *err)
{
    checkpoint *c = self;
    c->asked_step = at->step;
    return settle(c, at, err);
}

/* Those that the last checkpoint has displaced are still there. */
static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    if (run_dir_of(at) != NULL && is_first_process(at) &&
        !fg_trainer_result(at->trainer)->nothing_to_do)
        fgi_state_prune(at->trainer);
    return FG_OK;
}

/* ---- state ----------------------------------------------------------------------------------- */

/* As JSON. Without memory, there is no state, and a resumed run starts a new list. */
static size_t save(void *self, void *bytes, size_t size)
{
    checkpoint *c = self;
    if (size == 0) {
        json_t *object = json_object();
        fgi_buf text = {0};
        const bool ok = fgi_best_list_save(&c->best, &c->rule, object) &&
                        fgi_json_write(object, JSON_COMPACT, &text);
        fgi_free(c->text);
        c->text = ok ? fgi_buf_take(&text) : NULL;
        fgi_buf_fini(&text);
        json_decref(object);
    }
    const size_t length = c->text != NULL ? strlen(c->text) : 0;
    if (size >= length && length > 0)
        memcpy(bytes, c->text, length);
    return length;
}

static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    checkpoint *c = self;
    json_t *object = NULL;
    FGI_TRY(fgi_json_parse("the list of the best", 0, bytes, size, &object, err));
    fgi_best_list_load(&c->best, &c->rule, object);
    json_decref(object);
    return FG_OK;
}

static void destroy(void *self)
{
    checkpoint *c = self;
    fgi_free(c->text);
    fgi_free(c);
}

static fg_status init(void *self, const fg_option_values *values, fg_error *err)
{
    checkpoint *c = self;
    c->rule = (fgi_best_rule){.monitor = c->monitor,
                              .is_max = fgi_metric_has_mode_max(c->mode, c->monitor),
                              .most = (int)c->save_top_k};
    c->asked_step = -1;
    return FG_OK;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    FG_OPTION(checkpoint, monitor, STRING, "val_loss", NULL, "val_acc",
              "The metric that selects the best checkpoints: one of the validation, or train_NAME, "
              "the mean over an epoch."),
    FGI_OPTION_MODE(checkpoint),
    FG_OPTION(checkpoint, save_top_k, INT, "1", "0..16", "3",
              "Save and keep this many of the best checkpoints. checkpoints/best-METRIC names the "
              "best. 0: none."),
    FG_OPTION(checkpoint, every_n_steps, INT, "0", "0..", "10000",
              "Save every n steps and keep all of these checkpoints. 0: never."),
    FG_OPTION(checkpoint, every_n_epochs, INT, "0", "0..", "10",
              "Save every n epochs and keep all of these checkpoints. 0: never."),
};

static const fg_callback_ops ops = {.name = "checkpoint",
                                    .fit_start = on_fit_start,
                                    .batch_end = on_batch_end,
                                    .val_end = on_val_end,
                                    .saved = on_saved,
                                    .epoch_end = on_epoch_end,
                                    .fit_end = on_fit_end,
                                    .save = save,
                                    .load = load,
                                    .rolled_back = on_rolled_back,
                                    .destroy = destroy};

const fg_callback_entry fgi_checkpoint_row = {
    .entry = {.name = "checkpoint",
              .help = "keep more checkpoints: the best by another metric, or one every n steps",
              .spellings = "ModelCheckpoint",
              FG_OPTIONS(options, checkpoint)},
    .ops = &ops,
    .init = init};
