/* run_format.h - a data format and the keys that name its samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_RUN_FORMAT_H
#define FGI_RECIPE_RUN_FORMAT_H

#include <fulgurite/format.h>
#include <fulgurite/recipe.h>

#include "base/buf.h"
#include "recipe/config/config.h"

enum { FGI_RUN_KEY_SIZE = 96 };

/* A data format with the values of its options, and what it is asked for. */
typedef struct fgi_run_format {
    const fgi_config *c;
    const fg_format_entry *entry;
    fg_option_values *values;
    void *own; /* the struct of the row */
    fg_format_request request;
    const fg_recipe *run; /* receives what the format says; NULL: nobody does */
    fgi_buf said;         /* the lines, so that none is repeated */
} fgi_run_format;

/* The row that data.format names; FG_EINVAL if it names none. */
fg_status fgi_run_format_find(const fgi_config *c, const fg_format_entry **out, fg_error *err);
/* The same with values and request. *out must not be moved: it is the request's say_self. Free it
 * also after a failure. */
fg_status fgi_run_format_init(const fgi_config *c, const fg_recipe *run, bool is_training,
                              fgi_run_format *out, fg_error *err);
void fgi_run_format_fini(fgi_run_format *format);

/* The part that a kind of run evaluates. */
fg_data_part fgi_run_format_part(fg_recipe_kind kind);
/* The option that names a part's samples, and that of separate targets; NULL: it has none. */
const char *fgi_run_format_input(const fg_format_entry *entry, fg_data_part part);
const char *fgi_run_format_target(const fg_format_entry *entry, fg_data_part part);
/* Whether no option names samples other than the training samples: a folder has all. */
bool fgi_run_format_is_folder(const fg_format_entry *entry);
/* Whether the row has this option: what a format can do does not depend on its name. */
bool fgi_run_format_offers(const fg_format_entry *entry, const char *option);
/* "data.OPTION". */
const char *fgi_run_format_key(const char *option, char out[FGI_RUN_KEY_SIZE]);
/* Whether the option (NULL: no) is given and not empty. */
bool fgi_run_format_has(const fgi_run_format *format, const char *option);
/* FG_EINVAL unless it is. */
fg_status fgi_run_format_need(const fgi_run_format *format, const char *option, fg_error *err);
/* Opens a part. Release *out also after a failure. */
fg_status fgi_run_format_open(fgi_run_format *format, fg_data_part part, fg_format_data *out,
                              fg_error *err);
void fgi_run_format_release(fg_format_data *data);
/* Splits the training samples as the request says (run_data.c). */
fg_status fgi_run_data_split(const fg_format_request *request, fg_dataset *all, fg_dataset **train,
                             fg_dataset **val, fg_error *err);
/* Appends the keys that supply the samples of a part, as in "data.val or data.val_fraction". */
void fgi_run_format_put_keys(const fg_format_entry *entry, fg_data_part part, fgi_buf *out);
/* FG_EINVAL: "no data to test: set data.test or data.val_fraction". */
fg_status fgi_run_format_missing(const fg_format_entry *entry, fg_recipe_kind kind,
                                 const char *command, fg_error *err);

#endif
