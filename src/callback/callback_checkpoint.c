/* callback_checkpoint.c - the callback checkpoint: saves and keeps the best checkpoints by another
 * metric than that of the Trainer, and those of every n steps or epochs.
 *
 * It requests saves, and enters the checkpoints in the file `kept` (ckpt/kept.h) when they are on
 * the disk, which may be after the next validation. A checkpoint holds the list of the best without
 * itself, and its own value as waiting, because at that time it has not been written: it is entered
 * when `saved` is called, or, if the process ended before that, when the run resumes from it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/print.h"
#include "ckpt/kept.h"
#include "ckpt/series.h"
#include "train/best_list.h"
#include "callback/callback_rows.h"
#include "train/metrics.h"
#include "train/rank.h"
#include "train/snapshot.h"
#include "train/trainer.h"

enum { WAITING = 8 };

typedef struct state {
    fgi_best_list best; /* whose checkpoints are on the disk */
    struct {
        double value;
        int64_t step;
    } waiting[WAITING]; /* for their checkpoints, the earliest first */
    int64_t waiting_count;
    char monitor[64]; /* that the values are of, ... */
    int64_t is_max;   /* ... and whether larger ones are better */
} state;

typedef struct checkpoint {
    state at; /* in checkpoints */
    int64_t every_n_steps, every_n_epochs;
    int64_t asked_step; /* for which every_n_steps has requested a save */
    int top_k;
    bool has_warned;
    char monitor[]; /* the name of the metric */
} checkpoint;

/* ---- requests -------------------------------------------------------------------------------- */

static bool is_multiple(int64_t number, int64_t of)
{
    return of > 0 && number > 0 && number % of == 0;
}

/* Whether the value of a step is among the best, also of those that are being saved. */
static bool is_among_best(const checkpoint *c, double value, int64_t step)
{
    fgi_best_list best = c->at.best;
    for (int64_t i = 0; i < c->at.waiting_count; i++)
        (void)fgi_best_list_add(&best, c->at.waiting[i].value, c->at.waiting[i].step, c->top_k,
                                c->at.is_max != 0);
    return fgi_best_list_add(&best, value, step, c->top_k, c->at.is_max != 0);
}

/* Removes the first steps that wait, up to this one. */
static void forget_waiting(checkpoint *c, int64_t step)
{
    int64_t done = 0;
    while (done < c->at.waiting_count && c->at.waiting[done].step <= step)
        done++;
    c->at.waiting_count -= done;
    memmove(c->at.waiting, c->at.waiting + done,
            (size_t)c->at.waiting_count * sizeof c->at.waiting[0]);
}

/* Requests a save of this state if its metric is among the best. */
static void compare(checkpoint *c, const fg_progress *at)
{
    const size_t i = fgi_metric_find(at->metrics, at->metric_count, c->monitor);
    if (i == at->metric_count && !c->has_warned)
        fgi_log(FG_LOG_WARNING, "checkpoint: there is no metric '%s' (monitor)", c->monitor);
    c->has_warned |= i == at->metric_count;
    if (i == at->metric_count || !isfinite(at->metrics[i].value) ||
        !is_among_best(c, at->metrics[i].value, at->step))
        return;
    if (c->at.waiting_count == WAITING)
        forget_waiting(c, c->at.waiting[0].step);
    c->at.waiting[c->at.waiting_count].value = at->metrics[i].value;
    c->at.waiting[c->at.waiting_count++].step = at->step;
    fg_trainer_request_save(at->trainer);
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    checkpoint *c = self;
    (void)err;
    if (c->top_k > 0 && !fgi_is_of_training(c->monitor))
        compare(c, at);
    return FG_OK;
}

static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    checkpoint *c = self;
    (void)err;
    if (c->top_k > 0 && fgi_is_of_training(c->monitor))
        compare(c, at);
    if (is_multiple(at->epoch + 1, c->every_n_epochs))
        fg_trainer_request_save(at->trainer);
    return FG_OK;
}

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    checkpoint *c = self;
    (void)err;
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
    return c->at.best.count > 0 ? fgi_ckpt_point(folder, pointer, c->at.best.entry[0].name, err)
                                : FG_OK;
}

/* Makes the file `kept` what the list says; adds `name` if it is for good. */
static fg_status enter(const checkpoint *c, const char *folder, const char *name, bool is_for_good,
                       fg_error *err)
{
    const char *best[FGI_BEST_MOST];
    for (int i = 0; i < c->at.best.count; i++)
        best[i] = c->at.best.entry[i].name;
    FGI_TRY(fgi_ckpt_keep(folder, "best", best, (size_t)c->at.best.count, err));
    if (is_for_good)
        FGI_TRY(fgi_ckpt_keep_for_good(folder, name, err));
    return point(c, folder, err);
}

static bool is_first_process(const fg_progress *at)
{
    return fg_client_get_info(at->trainer->client)->process_index == 0;
}

/* A checkpoint is on the disk. All processes keep the same list; the first one enters it. */
static fg_status take(checkpoint *c, const char *path, const fg_progress *at, fg_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const bool is_for_good = is_multiple(at->step, c->every_n_steps) ||
                             (at->batch == 0 && is_multiple(at->epoch, c->every_n_epochs));
    for (int64_t i = 0; i < c->at.waiting_count; i++)
        if (c->at.waiting[i].step == at->step &&
            fgi_best_list_add(&c->at.best, c->at.waiting[i].value, at->step, c->top_k,
                              c->at.is_max != 0))
            (void)fgi_snprintf(fgi_best_list_find(&c->at.best, at->step)->name, FGI_CKPT_NAME_SIZE,
                               "%s", name);
    forget_waiting(c, at->step); /* earlier states could not be saved */
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

/* Whether a checkpoint is in the run's folder. */
static bool is_of_run(const char *path, const char *run_dir)
{
    char *folder = fgi_path_join(run_dir, "checkpoints"), *parent = fgi_path_parent(path);
    const bool is_equal = folder != NULL && parent != NULL && strcmp(folder, parent) == 0;
    fgi_free(parent);
    fgi_free(folder);
    return is_equal;
}

/* The metric must be one of those that the steps log, as far as they are known. */
static fg_status check_monitor(const checkpoint *c, const fg_trainer *trainer, fg_error *err)
{
    fg_metric known[FG_MAX_METRICS];
    fgi_buf text = {0};
    const fgi_stage_kind kind = fgi_is_of_training(c->monitor) ? FGI_TRAIN : FGI_VAL;
    const size_t count = fgi_known_metrics(trainer, kind, known);
    if (c->top_k == 0 && c->every_n_steps == 0 && c->every_n_epochs == 0)
        fgi_log(FG_LOG_WARNING, "checkpoint keeps nothing: save_top_k, every_n_steps and "
                                "every_n_epochs are 0");
    if (c->top_k == 0 || count == 0 || fgi_metric_find(known, count, c->monitor) < count)
        return FG_OK;
    fgi_unknown_metric_put(&text, c->monitor, kind, known, count);
    fg_status status = fgi_buf_status(&text, err);
    if (status == FG_OK)
        status = fgi_fail(err, FG_EINVAL, "checkpoint: monitor: %s", text.data);
    fgi_buf_fini(&text);
    return status;
}

/* If the run was interrupted before its last checkpoint was entered, it is entered now. */
static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    checkpoint *c = self;
    const char *run_dir = at->trainer->options.checkpoints.run_dir;
    const char *resumed = fg_trainer_result(at->trainer)->checkpoint;
    c->has_warned = false;
    c->asked_step = at->step;
    FGI_TRY(check_monitor(c, at->trainer, err));
    if (at->trainer->options.limits.fast_dev_run)
        return FG_OK; /* it saves nothing */
    if (run_dir == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "checkpoint: without a run_dir, there are no checkpoints to keep");
    const fg_progress saved = {.step = at->step,
                               .epoch = at->epoch,
                               .batch = at->batch,
                               .path = resumed,
                               .trainer = at->trainer};
    return at->step > 0 && is_of_run(resumed, run_dir) ? on_saved(self, &saved, err) : FG_OK;
}

/* Those that the last checkpoint has displaced are still there. */
static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    (void)self;
    (void)err;
    if (at->trainer->options.checkpoints.run_dir != NULL && is_first_process(at))
        fgi_state_prune(at->trainer);
    return FG_OK;
}

/* ---- state ----------------------------------------------------------------------------------- */

static size_t save(void *self, void *bytes, size_t size)
{
    const checkpoint *c = self;
    if (size >= sizeof c->at)
        memcpy(bytes, &c->at, sizeof c->at);
    return sizeof c->at;
}

static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    checkpoint *c = self;
    state at;
    if (size != sizeof at)
        return fgi_fail(err, FG_EFORMAT, "expected %zu bytes, got %zu", sizeof at, size);
    memcpy(&at, bytes, sizeof at);
    if (at.best.count < 0 || at.best.count > FGI_BEST_MOST || at.waiting_count < 0 ||
        at.waiting_count > WAITING)
        return fgi_fail(err, FG_EFORMAT, "expected at most %d and %d checkpoints, got %d and %lld",
                        FGI_BEST_MOST, WAITING, at.best.count, (long long)at.waiting_count);
    for (int i = 0; i < at.best.count; i++)
        at.best.entry[i].name[FGI_CKPT_NAME_SIZE - 1] = '\0';
    if (strncmp(at.monitor, c->at.monitor, sizeof at.monitor) != 0 || at.is_max != c->at.is_max)
        return FG_OK;                /* the list of another metric */
    while (at.best.count > c->top_k) /* fewer are wanted now */
        at.best.count--;
    c->at = at;
    return FG_OK;
}

static void destroy(void *self) { fgi_free(self); }

static fg_status create(const fg_option_values *values, void **out_self, fg_error *err)
{
    const char *monitor = fg_option_string(values, "monitor");
    const char *mode = fg_option_string(values, "mode");
    const size_t size = strlen(monitor) + 1;
    checkpoint *c = fgi_calloc(1, sizeof *c + size);
    if (c == NULL)
        return fgi_no_memory(err);
    memcpy(c->monitor, monitor, size);
    (void)fgi_snprintf(c->at.monitor, sizeof c->at.monitor, "%s", monitor);
    c->at.is_max =
        strcmp(mode, "auto") == 0 ? fgi_metric_is_max(monitor) : strcmp(mode, "max") == 0;
    c->top_k = (int)fg_option_int(values, "save_top_k");
    c->every_n_steps = fg_option_int(values, "every_n_steps");
    c->every_n_epochs = fg_option_int(values, "every_n_epochs");
    c->asked_step = -1;
    *out_self = c;
    return FG_OK;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    {.name = "monitor",
     .kind = FG_OPTION_STRING,
     .initial = "val_loss",
     .example = "val_acc",
     .help = "The metric that selects the best: of the validations, or train_NAME of the epochs."},
    {.name = "mode",
     .kind = FG_OPTION_CHOICE,
     .initial = "auto",
     .choices = "auto|min|max",
     .spellings = "minimize=min|maximize=max",
     .example = "max",
     .help = "Whether a smaller or a larger value is better. auto: max for names that end in acc, "
             "otherwise min."},
    {.name = "save_top_k",
     .kind = FG_OPTION_INT,
     .initial = "1",
     .min = 0,
     .max = FGI_BEST_MOST,
     .example = "3",
     .help = "Save and keep this many of the best checkpoints. checkpoints/best-METRIC names the "
             "best. 0: none."},
    {.name = "every_n_steps",
     .kind = FG_OPTION_INT,
     .initial = "0",
     .min = 0,
     .max = FG_OPTION_UNLIMITED,
     .example = "10000",
     .help = "Save after every n steps, and keep these checkpoints. 0: never."},
    {.name = "every_n_epochs",
     .kind = FG_OPTION_INT,
     .initial = "0",
     .min = 0,
     .max = FG_OPTION_UNLIMITED,
     .example = "10",
     .help = "Save after every n epochs, and keep these checkpoints. 0: never."},
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
                                    .destroy = destroy};

const fg_callback_entry fgi_checkpoint_row = {
    .entry = {.name = "checkpoint",
              .help = "keep more checkpoints: the best by another metric, or of every n steps",
              .spellings = "ModelCheckpoint",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .ops = &ops,
    .create = create};
