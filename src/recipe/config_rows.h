/* config_rows.h - the rows that a key of kind FG_OPTION_ENTRIES lists, with the values of their
 * options: trainer.callbacks: [early_stop(patience=3)], trainer.loggers: [csv].
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_CONFIG_ROWS_H
#define FGI_RECIPE_CONFIG_ROWS_H

#include "recipe/config.h"

/* One element of the list. */
typedef struct fgi_config_listed {
    const fg_entry *entry; /* the type of the row follows from the key's kind */
    fg_option_values *values;
    void *own; /* the struct of an augmentation */
} fgi_config_listed;

typedef struct fgi_config_rows {
    fgi_config_listed *at;
    size_t count;
} fgi_config_rows;

/* Reads the list of a key (fgi_config_key.has_entries). The configuration checks it when the key is
 * set, so that only memory can be missing later. Values name the place of the key in messages. Free
 * *out, also after a failure. Errors: FG_EINVAL for an unknown row or option, an invalid value, and
 * a row without options that is listed twice, with the path of the key ("trainer.callbacks: unknown
 * callback ..."); FG_ENOMEM. */
fg_status fgi_config_rows_make(const fgi_config *c, const char *path, fgi_config_rows *out,
                               fg_error *err);
void fgi_config_rows_free(fgi_config_rows *rows);

#endif
