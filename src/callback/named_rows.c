/* named_rows.c - built-in callbacks by name, for programs without a configuration.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <fulgurite/train.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "callback/callback_rows.h"
#include "option/option.h"

enum { ROWS_MAX = 64 };

/* "there is no callback 'earlystop': did you mean 'early_stop'?" */
static const fg_callback_entry *find(const char *name, fg_error *err)
{
    const char *names[ROWS_MAX];
    char known[320];
    size_t i = 0;
    for (; i < fgi_callback_row_count && i < ROWS_MAX; i++) {
        names[i] = fgi_callback_rows[i]->name;
        if (strcmp(names[i], name) == 0)
            return (const fg_callback_entry *)fgi_callback_rows[i];
    }
    (void)fgi_fail(err, FG_EINVAL, "there is no callback '%s'%s", name,
                   fgi_suggest(name, names, i, known, sizeof known));
    return NULL;
}

/* The text is changed. */
static fg_status add(fg_trainer *trainer, char *text, fg_error *err)
{
    fg_option_values *values = NULL;
    void *self = NULL;
    const char *options = fgi_option_split_pair(text);
    const fg_callback_entry *row = find(text, err);
    if (row == NULL)
        return FG_EINVAL;
    FGI_TRY(fg_option_values_create(row->entry.name, row->entry.options, row->entry.option_count,
                                    &values, err));
    fg_status status = fg_option_set_all(values, options, "options", err);
    if (status == FG_OK)
        status = fgi_row_begin(&row->entry, values, row->init, row->ops->destroy, &self, err);
    fg_option_values_destroy(values);
    return status == FG_OK ? fg_trainer_add_callback(trainer, row->ops, self, err) : status;
}

fg_status fg_trainer_add_named_callback(fg_trainer *trainer, const char *callback, fg_error *err)
{
    char *text = fgi_strdup(callback);
    if (text == NULL)
        return fgi_no_memory(err);
    const fg_status status = add(trainer, text, err);
    fgi_free(text);
    return status;
}
