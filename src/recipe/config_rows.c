/* config_rows.c - the rows that a key lists, with the values of their options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/config_rows.h"

#include <string.h>
#include <fulgurite/aug.h>
#include <fulgurite/logger.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "option/option.h"
#include "recipe/config_table.h"

/* Splits "NAME(OPTIONS)" in place; *out_options is "" if there are none. */
static void split(char *text, const char **out_options)
{
    char *open = strchr(text, '(');
    *out_options = "";
    if (open == NULL)
        return;
    *open = '\0';
    open[strlen(open + 1)] = '\0'; /* the closing parenthesis */
    *out_options = open + 1;
}

/* A row without options that is listed twice would do everything twice, and some loggers would
 * write the same file. */
static bool is_single(const fg_entry *entry, fg_registry_kind kind)
{
    if (entry->option_count == 0 || kind != FG_REGISTRY_LOGGER)
        return entry->option_count == 0;
    const fg_logger_ops *ops = ((const fg_logger_entry *)entry)->ops;
    return ops->is_required || ops->is_single;
}

static fg_status check_repeated(const fgi_config_rows *rows, const fgi_config_key *key,
                                fg_error *err)
{
    for (size_t i = 0; i < rows->count; i++)
        for (size_t k = 0; k < i; k++)
            if (rows->at[k].entry == rows->at[i].entry && is_single(rows->at[i].entry, key->kind))
                return fgi_fail(err, FG_EINVAL, "%s: %s is listed twice", key->path,
                                rows->at[i].entry->name);
    return FG_OK;
}

/* An augmentation that changes nothing, because none of the options that it needs is given, is a
 * mistake. */
static fg_status check_needs(const fgi_config_listed *row, const char *section, fg_error *err)
{
    const char *needs = ((const fg_augmentation_entry *)row->entry)->needs;
    char name[64], names[256] = "";
    size_t used = 0;
    for (const char *at = needs; at != NULL && *at != '\0'; at += *at == '|') {
        const size_t size = strcspn(at, "|");
        (void)fgi_snprintf(name, sizeof name, "%.*s", (int)size, at);
        if (fg_option_is_given(row->values, name))
            return FG_OK;
        at += size;
        (void)fgi_snprintf(names + used, sizeof names - used, "%s%s",
                           used == 0     ? ""
                           : *at == '\0' ? " or "
                                         : ", ",
                           name);
        used = strlen(names);
    }
    if (used == 0)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "%s: has no effect without %s: expected at least one of them",
                    section, names);
}

static fg_status read_row(const fgi_config *c, const fgi_config_key *key, char *text,
                          fgi_config_listed *out, fg_error *err)
{
    char section[160];
    const char *options;
    fg_error why = {0};
    split(text, &options);
    out->entry = fg_registry_find(fgi_config_registry(c), key->kind, text, &why);
    if (out->entry == NULL)
        return fgi_fail(err, FG_EINVAL, "%s: %s", key->path, why.message);
    (void)fgi_snprintf(section, sizeof section, "%s.%s", key->path, out->entry->name);
    FGI_TRY(fg_option_values_create(section, out->entry->options, out->entry->option_count,
                                    &out->values, err));
    const char *place = fgi_config_is_given(c, key->path) ? fgi_config_place(c, key->path) : NULL;
    FGI_TRY(fg_option_set_all(out->values, options, place, err));
    if (key->kind != FG_REGISTRY_AUGMENTATION)
        return FG_OK;
    FGI_TRY(check_needs(out, section, err));
    return fgi_row_create(out->entry, out->values, &out->own, err);
}

fg_status fgi_config_rows_make(const fgi_config *c, const char *path, fgi_config_rows *out,
                               fg_error *err)
{
    const fgi_config_key *key = fgi_config_table_find(fgi_config_table_of(c), path);
    const size_t count = fgi_config_count(c, path);
    fg_status status = FG_OK;
    *out = (fgi_config_rows){.at = fgi_calloc(count + 1, sizeof *out->at)};
    if (out->at == NULL)
        return fgi_no_memory(err);
    while (out->count < count && status == FG_OK) {
        char *text = fgi_strdup(fgi_config_text_at(c, path, out->count));
        if (text == NULL)
            return fgi_no_memory(err);
        status = read_row(c, key, text, &out->at[out->count++], err);
        fgi_free(text);
    }
    return status == FG_OK ? check_repeated(out, key, err) : status;
}

void fgi_config_rows_free(fgi_config_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        fg_option_values_destroy(rows->at[i].values);
        fgi_free(rows->at[i].own);
    }
    fgi_free(rows->at);
    *rows = (fgi_config_rows){0};
}
