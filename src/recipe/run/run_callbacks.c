/* run_callbacks.c - the callbacks and loggers that a configuration lists, and what loggers show of
 * the configuration: its text, and the settings that have an effect.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "option/option.h"
#include "recipe/config/config.h"
#include "recipe/run/run.h"
#include "base/arena.h"

/* Creates the element of a list, which is at `where`, and adds it to the Trainer. */
typedef fg_status add_fn(fg_recipe *r, const char *where, const fgi_config_listed *row,
                         fg_error *err);

/* Creates the struct that the functions of a row are called with. */
static fg_status create(const char *where, const fgi_config_listed *row, fgi_row_init *init,
                        void (*destroy)(void *self), void **out_self, fg_error *err)
{
    const fg_status status = fgi_row_begin(row->entry, row->values, init, destroy, out_self, err);
    if (status != FG_OK && err->message[0] == '\0')
        return fgi_fail(err, status, "%s: creating %s failed: %s", where, row->entry->name,
                        fg_status_name(status));
    return status;
}

/* Without training, only those that change settings, the model or its programs: schedules depend on
 * the number of steps, evaluations use averaged weights, and plans count their memory. Those that
 * receive predictions are for `predict`. */
static bool is_wanted(const fg_callback_ops *ops, fg_recipe_kind kind)
{
    if (ops->predicted != NULL)
        return kind == FG_RECIPE_PREDICT;
    return kind == FG_RECIPE_FIT || ops->build != NULL || ops->setup != NULL;
}

/* The learning rates that are shown, before training or instead of it, are those of the schedule.
 */
static void note_learning_rate(const fg_recipe *r, const fgi_config_listed *row)
{
    const bool shows = r->kind == FG_RECIPE_FIT || r->kind == FG_RECIPE_SCHEDULE;
    if (shows && fg_option_find(row->values, "swa_lrs") != NULL &&
        !fg_option_is_auto(row->values, "swa_lrs"))
        fgi_run_say(r, FG_LOG_INFO,
                    "note: after swa_epoch_start, the callback %s replaces the learning rates of "
                    "the schedule by swa_lrs",
                    row->entry->name);
}

static fg_status add_callback(fg_recipe *r, const char *where, const fgi_config_listed *row,
                              fg_error *err)
{
    const fg_callback_entry *entry = (const fg_callback_entry *)row->entry;
    void *self = NULL;
    if (!is_wanted(entry->ops, r->kind))
        return FG_OK;
    note_learning_rate(r, row);
    FGI_TRY(create(where, row, entry->init, entry->ops->destroy, &self, err));
    FGI_TRY_CTX(fg_trainer_add_callback(r->trainer, entry->ops, self, err), err, "%s", where);
    return FG_OK;
}

static fg_status add_logger(fg_recipe *r, const char *where, const fgi_config_listed *row,
                            fg_error *err)
{
    const fg_logger_entry *entry = (const fg_logger_entry *)row->entry;
    void *self = NULL;
    FGI_TRY(create(where, row, entry->init, entry->ops->destroy, &self, err));
    FGI_TRY_CTX(fg_trainer_add_logger(r->trainer, entry->ops, self, err), err, "%s", where);
    return FG_OK;
}

static fg_status add_listed(fg_recipe *r, const fgi_config *c, const char *key, add_fn *add,
                            fg_error *err)
{
    char where[512];
    fgi_config_rows rows = {0};
    fg_status status = fgi_config_rows_make(c, key, &rows, err);
    (void)fgi_snprintf(where, sizeof where, "%s", fgi_config_where(c, key));
    for (size_t i = 0; i < rows.count && status == FG_OK; i++)
        status = add(r, where, &rows.at[i], err);
    fgi_config_rows_free(&rows);
    return status;
}

/* ---- those of a run that predicts ------------------------------------------------------------ */

static fg_status add_writer(fg_recipe *r, const char *where, const fgi_config_listed *row,
                            fg_error *err)
{
    const fg_callback_entry *entry = (const fg_callback_entry *)row->entry;
    return entry->ops->predicted != NULL ? add_callback(r, where, row, err) : FG_OK;
}

/* Those that receive predictions are not in the configuration of a checkpoint, because a model from
 * elsewhere must not choose the files that are written. Those in the run's folder are the user's,
 * unless the command line lists others. */
static fg_status add_writers_of_run(fg_recipe *r, fg_error *err)
{
    fg_error why = {0};
    if (!r->is_adopted || r->kind != FG_RECIPE_PREDICT || r->origin.run_dir == NULL ||
        fgi_config_is_overridden(r->c, "trainer.callbacks"))
        return FG_OK;
    char *path = fgi_path_join(r->origin.run_dir, "config.yaml");
    fgi_config *c = path != NULL ? fgi_config_create(r->options.registry, err) : NULL;
    fg_status status = c != NULL ? FG_OK : fgi_no_memory(err);
    if (status == FG_OK && fgi_file_exists(path) && fgi_config_read_file(c, path, &why) == FG_OK)
        status = add_listed(r, c, "trainer.callbacks", add_writer, err);
    if (why.status != FG_OK)
        fgi_run_say(r, FG_LOG_WARNING, "the callbacks of the run cannot be read: %s", why.message);
    fgi_config_destroy(c);
    fgi_free(path);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static fg_status add_all(fg_recipe *r, fg_error *err)
{
    FGI_TRY(add_listed(r, r->c, "trainer.callbacks", add_callback, err));
    FGI_TRY(add_writers_of_run(r, err));
    if (r->kind != FG_RECIPE_FIT)
        return FG_OK;
    FGI_TRY(fgi_run_report_live_add(r, err));
    return add_listed(r, r->c, "trainer.loggers", add_logger, err);
}

fg_status fgi_run_callbacks_add(fg_recipe *r, fg_error *err)
{
    const fg_status status = add_all(r, err);
    r->outcome.was_set_up = status == FG_OK;
    return status;
}

/* ---- what loggers show of the configuration -------------------------------------------------- */

/* Whether runs can differ in it in a way that is worth a column: not where and what they write. */
static bool is_setting(const fgi_config *c, const fgi_config_key *key)
{
    static const char *const others[] = {"trainer.run_dir", "trainer.resume", "trainer.loggers"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(key->path, others[i]) == 0)
            return false;
    return fgi_config_has_effect(c, key) && fgi_config_format(c, key->path)[0] != '\0';
}

static fg_status set(const fg_recipe *r, fgi_arena *texts, fgi_buf *config, fg_error *err)
{
    const fgi_config_table *table = r->c->table;
    fg_log_setting *settings = fgi_arena_alloc(texts, table->count * sizeof *settings);
    size_t count = 0;
    if (settings == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < table->count; i++) {
        const fgi_config_key *key = &table->keys[i];
        if (!is_setting(r->c, key))
            continue;
        const char *value = fgi_arena_strdup(texts, fgi_config_format(r->c, key->path));
        if (value == NULL)
            return fgi_no_memory(err);
        settings[count++] = (fg_log_setting){.name = key->path, .value = value};
    }
    fgi_config_print(r->c, config, false);
    FGI_TRY(fgi_buf_status(config, err));
    const fg_run_info info = {.config = config->data, .settings = settings, .setting_count = count};
    return fg_trainer_set_run_info(r->trainer, &info, err);
}

fg_status fgi_run_info_set(const fg_recipe *r, fg_error *err)
{
    fgi_arena texts = {0};
    fgi_buf config = {0};
    const fg_status status = set(r, &texts, &config, err);
    fgi_buf_fini(&config);
    fgi_arena_fini(&texts);
    return status;
}
