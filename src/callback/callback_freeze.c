/* callback_freeze.c - the callback freeze: trains without some parameters, such as a pretrained
 * backbone, until an epoch.
 *
 * They are frozen before the first program is compiled, and made trainable at the end of the epoch
 * before, so that the next epoch starts with another program: the only other compilation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <fulgurite/train.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "callback/callback_rows.h"

typedef struct freeze {
    fg_strings parameters; /* patterns */
    int64_t unfreeze_at_epoch;
    fg_variable **own; /* that it has frozen; those of the model */
    size_t count;
    bool is_frozen; /* in checkpoints */
} freeze;

static void set_frozen(freeze *f, bool is_frozen)
{
    for (size_t i = 0; i < f->count; i++)
        fg_variable_set_trainable(f->own[i], !is_frozen);
    f->is_frozen = is_frozen;
}

/* Parameters that the task has frozen remain frozen for the whole run. */
static fg_status on_build(void *self, fg_module *root, fg_error *err)
{
    freeze *f = self;
    const size_t count = fg_module_variable_count(root);
    f->own = fgi_calloc(count + 1, sizeof(fg_variable *));
    if (f->own == NULL)
        return fgi_no_memory(err);
    if (f->unfreeze_at_epoch == 0)
        return FG_OK;
    for (size_t i = 0; i < count; i++)
        if (fg_variable_is_trainable(fg_module_variable_at(root, i)))
            f->own[f->count++] = fg_module_variable_at(root, i);
    for (size_t i = 0; i < f->parameters.count; i++)
        FGI_TRY(fg_module_freeze(root, f->parameters.at[i], NULL, err));
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++)
        if (!fg_variable_is_trainable(f->own[i]))
            f->own[kept++] = f->own[i];
    f->count = kept;
    f->is_frozen = true;
    return FG_OK;
}

/* Trains them from this epoch on, if it is time; after the last epoch, in a resumed run. */
static void thaw(freeze *f, const fg_progress *at, int64_t epoch)
{
    const int64_t all = fg_trainer_settings(at->trainer)->total_epochs;
    if (!f->is_frozen || epoch < f->unfreeze_at_epoch)
        return;
    set_frozen(f, false);
    if ((all >= 0 && epoch >= all) || f->count == 0)
        return;
    fgi_log(FG_LOG_INFO, "freeze: %zu variable%s no longer frozen, starting with epoch %lld",
            f->count, f->count == 1 ? " is" : "s are", (long long)epoch);
}

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    const freeze *f = self;
    const int64_t all = fg_trainer_settings(at->trainer)->total_epochs;
    if (f->is_frozen && f->count > 0 && all >= 0 && f->unfreeze_at_epoch >= all)
        fgi_log(FG_LOG_WARNING,
                "freeze: the variables remain frozen: unfreeze_at_epoch is %lld, and the run has "
                "%lld epoch%s",
                (long long)f->unfreeze_at_epoch, (long long)all, fgi_s(all));
    return FG_OK;
}

static fg_status on_epoch_start(void *self, const fg_progress *at, fg_error *err)
{
    thaw(self, at, at->epoch);
    return FG_OK;
}

/* Before the checkpoint of the end of the epoch, so that a run that resumes there compiles once. */
static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    thaw(self, at, at->epoch + 1);
    return FG_OK;
}

/* ---- state ----------------------------------------------------------------------------------- */

static size_t save(void *self, void *bytes, size_t size)
{
    const freeze *f = self;
    const unsigned char is_frozen = f->is_frozen;
    return fgi_state_save(&is_frozen, sizeof is_frozen, bytes, size);
}

static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    unsigned char is_frozen = 0;
    FGI_TRY(fgi_state_load(&is_frozen, sizeof is_frozen, bytes, size, err));
    set_frozen(self, is_frozen != 0);
    return FG_OK;
}

static void destroy(void *self)
{
    freeze *f = self;
    fgi_free(f->own);
    fgi_free(f);
}

static fg_status init(void *self, const fg_option_values *values, fg_error *err)
{
    const freeze *f = self;
    if (f->parameters.count > 0)
        return FG_OK;
    return fg_option_fail(values, "parameters", FG_EINVAL, err,
                          "expected the names of parameters to freeze, such as [backbone.*]");
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    FG_OPTION(freeze, parameters, STRINGS, "[]", NULL, "[backbone.*]",
              "Names of the parameters and buffers, as in model.freeze; * matches any text."),
    FG_OPTION(freeze, unfreeze_at_epoch, INT, "10", "0..", "3",
              "The first epoch in which they are trained, starting at 0."),
};

static const fg_callback_ops ops = {.name = "freeze",
                                    .fit_start = on_fit_start,
                                    .epoch_start = on_epoch_start,
                                    .epoch_end = on_epoch_end,
                                    .save = save,
                                    .load = load,
                                    .destroy = destroy,
                                    .build = on_build};

const fg_callback_entry fgi_freeze_row = {
    .entry = {.name = "freeze",
              .help = "train without some parameters until an epoch",
              .spellings = "BackboneFinetuning",
              FG_OPTIONS(options, freeze)},
    .ops = &ops,
    .init = init};
