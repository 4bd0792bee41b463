/* run_callbacks.c - the callbacks that a configuration lists.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "recipe/config_rows.h"
#include "recipe/run.h"

#define KEY "trainer.callbacks"

static fg_status add(fg_recipe *r, const fgi_config_listed *row, fg_error *err)
{
    void *self = NULL;
    const fg_callback_entry *entry = (const fg_callback_entry *)row->entry;
    const fg_status status = entry->create(row->values, &self, err);
    if (status != FG_OK && err->message[0] == '\0')
        return fgi_fail(err, status, "%s: creating %s failed: %s", fgi_config_where(r->c, KEY),
                        entry->entry.name, fg_status_name(status));
    FGI_TRY(status);
    FGI_TRY_CTX(fg_trainer_add_callback(r->trainer, entry->ops, self, err), err, "%s",
                fgi_config_where(r->c, KEY));
    return FG_OK;
}

fg_status fgi_run_callbacks_add(fg_recipe *r, fg_error *err)
{
    fgi_config_rows rows = {0};
    if (r->options->kind != FG_RECIPE_FIT)
        return FG_OK;
    fg_status status = fgi_config_rows_make(r->c, KEY, &rows, err);
    for (size_t i = 0; i < rows.count && status == FG_OK; i++)
        status = add(r, &rows.at[i], err);
    fgi_config_rows_free(&rows);
    return status;
}
