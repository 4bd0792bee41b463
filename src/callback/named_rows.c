/* named_rows.c - built-in callbacks and loggers by name, for programs without a configuration.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <fulgurite/train.h>
#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "callback/callback_rows.h"
#include "log/logger.h"
#include "option/option.h"

/* The struct of a row, from "patience=3, monitor=val_loss". */
static fg_status create(const fg_entry *entry, fgi_row_init *init, void (*destroy)(void *self),
                        const char *options, void **out_self, fg_error *err)
{
    fg_option_values *values = NULL;
    *out_self = NULL;
    fg_status status =
        fg_option_values_create(entry->name, entry->options, entry->option_count, &values, err);
    if (status == FG_OK && options != NULL)
        status = fg_option_set_all(values, options, "options", err);
    if (status == FG_OK)
        status = fgi_row_begin(entry, values, init, destroy, out_self, err);
    fg_option_values_destroy(values);
    return status;
}

/* "there is no callback 'earlystop': did you mean 'early_stop'?" */
static fg_status unknown(const char *what, const char *name, const char *const *names, size_t count,
                         fg_error *err)
{
    char known[320];
    return fgi_fail(err, FG_EINVAL, "there is no %s '%s'%s", what, name,
                    fgi_suggest(name, names, count, known, sizeof known));
}

enum { ROWS_MAX = 64 };

fg_status fg_trainer_add_named_callback(fg_trainer *trainer, const char *name, const char *options,
                                        fg_error *err)
{
    const char *names[ROWS_MAX];
    void *self = NULL;
    size_t i = 0;
    for (; i < fgi_callback_row_count && i < ROWS_MAX; i++) {
        const fg_callback_entry *row = (const fg_callback_entry *)fgi_callback_rows[i];
        names[i] = row->entry.name;
        if (strcmp(names[i], name) != 0)
            continue;
        FGI_TRY(create(&row->entry, row->init, row->ops->destroy, options, &self, err));
        return fg_trainer_add_callback(trainer, row->ops, self, err);
    }
    return unknown("callback", name, names, i, err);
}

fg_status fg_trainer_add_named_logger(fg_trainer *trainer, const char *name, const char *options,
                                      fg_error *err)
{
    const char *names[ROWS_MAX];
    void *self = NULL;
    size_t i = 0;
    for (; i < fgi_logger_row_count && i < ROWS_MAX; i++) {
        const fg_logger_entry *row = (const fg_logger_entry *)fgi_logger_rows[i];
        names[i] = row->entry.name;
        if (strcmp(names[i], name) != 0)
            continue;
        FGI_TRY(create(&row->entry, row->init, row->ops->destroy, options, &self, err));
        return fg_trainer_add_logger(trainer, row->ops, self, err);
    }
    return unknown("logger", name, names, i, err);
}
