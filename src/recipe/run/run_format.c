/* run_format.c - the data format that a configuration names, and the keys of its samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/run/run_format.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "option/option.h"
#include "recipe/run/run.h"
#include "base/buf.h"

fg_status fgi_run_format_find(const fgi_config *c, const fg_format_entry **out, fg_error *err)
{
    *out = NULL;
    if (c->data.format == NULL) {
        const fgi_config_key *key = fgi_config_find(c->table, "data.format");
        return fgi_fail(err, FG_EINVAL,
                        "data.format must be given: %s\n"
                        "`fulgurite init DATA` inspects the data and writes a configuration",
                        key->option->range);
    }
    *out = (const fg_format_entry *)fgi_config_entry(c, FG_REGISTRY_FORMAT, "data.format", err);
    return *out != NULL ? FG_OK : err->status;
}

/* Passes a line on, once; only a fit gets those that are no warnings. */
static void say(void *self, fg_log_level level, const char *line)
{
    fgi_run_format *f = self;
    const size_t size = strlen(line) + 1;
    if (f->run == NULL || (level < FG_LOG_WARNING && f->run->kind != FG_RECIPE_FIT))
        return;
    for (size_t at = 0; at < f->said.size; at += strlen(f->said.data + at) + 1)
        if (strcmp(f->said.data + at, line) == 0)
            return;
    fgi_buf_add(&f->said, line, size);
    fgi_run_say(f->run, level, "%s", line);
}

fg_status fgi_run_format_init(const fgi_config *c, const fg_recipe *run, bool is_training,
                              fgi_run_format *out, fg_error *err)
{
    *out = (fgi_run_format){.c = c,
                            .run = run,
                            .request = {.is_training = is_training,
                                        .needs_target = true,
                                        .say = say,
                                        .say_self = out,
                                        .task = fgi_run_task_given(c),
                                        .val_fraction = c->data.val_fraction,
                                        .split_seed = (uint64_t)c->data.split_seed,
                                        .stratify = c->data.stratify}};
    FGI_TRY(fgi_run_format_find(c, &out->entry, err));
    FGI_TRY(fgi_config_select(c, "data", &out->entry->entry, &out->values, err));
    out->request.values = out->values;
    return fgi_row_create(&out->entry->entry, out->values, &out->own, err);
}

void fgi_run_format_fini(fgi_run_format *format)
{
    fg_option_values_destroy(format->values);
    fgi_free(format->own);
    fgi_buf_fini(&format->said);
    format->values = NULL;
    format->own = NULL;
}

/* ---- parts ----------------------------------------------------------------------------------- */

fg_data_part fgi_run_format_part(fg_recipe_kind kind)
{
    return kind == FG_RECIPE_PREDICT ? FG_PART_PREDICT
           : kind == FG_RECIPE_TEST  ? FG_PART_TEST
                                     : FG_PART_VAL;
}

const char *fgi_run_format_input(const fg_format_entry *entry, fg_data_part part)
{
    switch (part) {
    case FG_PART_TRAIN: return entry->files.train;
    case FG_PART_VAL: return entry->files.val;
    case FG_PART_TEST: return entry->files.test;
    case FG_PART_PREDICT: return entry->files.predict;
    }
    return NULL;
}

const char *fgi_run_format_target(const fg_format_entry *entry, fg_data_part part)
{
    switch (part) {
    case FG_PART_TRAIN: return entry->files.train_target;
    case FG_PART_VAL: return entry->files.val_target;
    case FG_PART_TEST: return entry->files.test_target;
    case FG_PART_PREDICT: return NULL;
    }
    return NULL;
}

bool fgi_run_format_is_folder(const fg_format_entry *entry)
{
    return entry->files.val == NULL && entry->files.test == NULL && entry->files.predict == NULL;
}

bool fgi_run_format_offers(const fg_format_entry *entry, const char *option)
{
    for (size_t i = 0; i < entry->entry.option_count; i++)
        if (strcmp(entry->entry.options[i].name, option) == 0)
            return true;
    return false;
}

const char *fgi_run_format_key(const char *option, char out[FGI_RUN_KEY_SIZE])
{
    (void)fgi_snprintf(out, FGI_RUN_KEY_SIZE, "data.%s", option);
    return out;
}

bool fgi_run_format_has(const fgi_run_format *format, const char *option)
{
    const char *text = option != NULL ? fg_option_string(format->values, option) : NULL;
    return text != NULL && *text != '\0';
}

fg_status fgi_run_format_need(const fgi_run_format *format, const char *option, fg_error *err)
{
    if (option == NULL || fgi_run_format_has(format, option))
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "data.%s must be given for data.format %s", option,
                    format->entry->entry.name);
}

/* ---- opening --------------------------------------------------------------------------------- */

fg_status fgi_run_format_open(fgi_run_format *format, fg_data_part part, fg_format_data *out,
                              fg_error *err)
{
    *out = (fg_format_data){.samples = NULL};
    format->request.part = part;
    *err = (fg_error){.status = FG_OK};
    const fg_status status = format->entry->load(format->own, &format->request, out, err);
    if (status == FG_OK || err->message[0] != '\0')
        return status;
    return fgi_fail(err, status, "data.format %s: opening the data failed: %s",
                    format->entry->entry.name, fg_status_name(status));
}

void fgi_run_format_release(fg_format_data *data)
{
    fg_dataset_destroy(data->samples);
    fg_dataset_destroy(data->val);
    fg_csv_schema_destroy(data->schema);
    fg_tokenizer_destroy(data->tokenizer);
    *data = (fg_format_data){.samples = NULL};
}

void fgi_run_format_put_keys(const fg_format_entry *entry, fg_data_part part, fgi_buf *out)
{
    const char *input = fgi_run_format_input(entry, part);
    const char *target = fgi_run_format_target(entry, part);
    if (input != NULL)
        fgi_buf_printf(out, "data.%s%s%s or ", input, target != NULL ? " and data." : "",
                       target != NULL ? target : "");
    fgi_buf_puts(out, "data.val_fraction");
}

fg_status fgi_run_format_missing(const fg_format_entry *entry, fg_recipe_kind kind,
                                 const char *command, fg_error *err)
{
    fgi_buf keys = {0};
    fgi_run_format_put_keys(entry, fgi_run_format_part(kind), &keys);
    const fg_status status = fgi_fail(err, FG_EINVAL, "no data to %s: set %s", command,
                                      keys.data != NULL ? keys.data : "");
    fgi_buf_fini(&keys);
    return status;
}
