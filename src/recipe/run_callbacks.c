/* run_callbacks.c - the callbacks and loggers that a configuration lists.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "recipe/config_rows.h"
#include "recipe/run.h"

/* Creates what the functions of a row are called with. */
typedef fg_status create_fn(const fg_option_values *values, void **out_self, fg_error *err);
/* Creates the element of a list and adds it to the Trainer. */
typedef fg_status add_fn(fg_recipe *r, const char *key, const fgi_config_listed *row,
                         fg_error *err);

static fg_status create(const fg_recipe *r, const char *key, const fgi_config_listed *row,
                        create_fn *create_self, void **out_self, fg_error *err)
{
    const fg_status status = create_self(row->values, out_self, err);
    if (status != FG_OK && err->message[0] == '\0')
        return fgi_fail(err, status, "%s: creating %s failed: %s", fgi_config_where(r->c, key),
                        row->entry->name, fg_status_name(status));
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

static fg_status add_callback(fg_recipe *r, const char *key, const fgi_config_listed *row,
                              fg_error *err)
{
    const fg_callback_entry *entry = (const fg_callback_entry *)row->entry;
    void *self = NULL;
    if (!is_wanted(entry->ops, r->options->kind))
        return FG_OK;
    FGI_TRY(create(r, key, row, entry->create, &self, err));
    FGI_TRY_CTX(fg_trainer_add_callback(r->trainer, entry->ops, self, err), err, "%s",
                fgi_config_where(r->c, key));
    return FG_OK;
}

static fg_status add_logger(fg_recipe *r, const char *key, const fgi_config_listed *row,
                            fg_error *err)
{
    const fg_logger_entry *entry = (const fg_logger_entry *)row->entry;
    void *self = NULL;
    FGI_TRY(create(r, key, row, entry->create, &self, err));
    FGI_TRY_CTX(fg_trainer_add_logger(r->trainer, entry->ops, self, err), err, "%s",
                fgi_config_where(r->c, key));
    return FG_OK;
}

static fg_status add_listed(fg_recipe *r, const char *key, add_fn *add, fg_error *err)
{
    fgi_config_rows rows = {0};
    fg_status status = fgi_config_rows_make(r->c, key, &rows, err);
    for (size_t i = 0; i < rows.count && status == FG_OK; i++)
        status = add(r, key, &rows.at[i], err);
    fgi_config_rows_free(&rows);
    return status;
}

fg_status fgi_run_callbacks_add(fg_recipe *r, fg_error *err)
{
    FGI_TRY(add_listed(r, "trainer.callbacks", add_callback, err));
    if (r->options->kind != FG_RECIPE_FIT)
        return FG_OK;
    FGI_TRY(fgi_run_report_live_add(r, err));
    return add_listed(r, "trainer.loggers", add_logger, err);
}
