/* config.c - the values of a configuration: one value for each key of a table, those that are no
 * options of a row also as members of a struct; and the rows that a key lists.
 *
 * fulgurite/option.h checks and stores the values; here, keys are full paths.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/config/config.h"

#include <stdlib.h>
#include <string.h>
#include <fulgurite/aug.h>
#include <fulgurite/logger.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "option/option.h"
#include "recipe/config/config_table.h"
#include "base/text.h"

/* ---- rows that a key lists ------------------------------------------------------------------- */

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
    const char *options = fgi_option_split_pair(text);
    fg_error why = {0};
    out->entry = fg_registry_find(c->registry, key->kind, text, &why);
    if (out->entry == NULL)
        return fgi_fail(err, FG_EINVAL, "%s: %s", key->path, why.message);
    (void)fgi_snprintf(section, sizeof section, "%s.%s", key->path, out->entry->name);
    FGI_TRY(fg_option_values_create(section, out->entry->options, out->entry->option_count,
                                    &out->values, err));
    const char *place =
        fg_option_is_given(c->values, key->path) ? fgi_config_place(c, key->path) : NULL;
    FGI_TRY(fg_option_set_all(out->values, options, place, err));
    if (key->kind != FG_REGISTRY_AUGMENTATION)
        return FG_OK;
    FGI_TRY(check_needs(out, section, err));
    return fgi_row_create(out->entry, out->values, &out->own, err);
}

fg_status fgi_config_rows_make(const fgi_config *c, const char *path, fgi_config_rows *out,
                               fg_error *err)
{
    const fgi_config_key *key = fgi_config_find(c->table, path);
    const size_t count = fg_option_count(c->values, path);
    fg_status status = FG_OK;
    *out = (fgi_config_rows){.at = fgi_calloc(count + 1, sizeof *out->at)};
    if (out->at == NULL)
        return fgi_no_memory(err);
    while (out->count < count && status == FG_OK) {
        char *text = fgi_strdup(fg_option_string_at(c->values, path, out->count));
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

/* ---- setting --------------------------------------------------------------------------------- */

/* Writes the value to its member. */
static fg_status put_member(fgi_config *c, const fgi_config_key *key, fg_error *err)
{
    return key->is_member ? fgi_option_put(c->values, key->option, c, err) : FG_OK;
}

/* After a value was set: checks that the rows that a list names exist, and accept the options
 * given. */
static fg_status has_set(fgi_config *c, const fgi_config_key *key, fg_error *err)
{
    fgi_config_rows rows = {0};
    FGI_TRY(put_member(c, key, err));
    if (!key->has_entries)
        return FG_OK;
    const fg_status status = fgi_config_rows_make(c, key->path, &rows, err);
    fgi_config_rows_free(&rows);
    return status;
}

fg_status fgi_config_set_items(fgi_config *c, const char *path, const fg_option_items *items,
                               fg_error *err)
{
    FGI_TRY(fg_option_set_items(c->values, path, items, err));
    return has_set(c, fgi_config_find(c->table, path), err);
}

fg_status fgi_config_set(fgi_config *c, const char *path, const char *text, const char *place,
                         fg_error *err)
{
    FGI_TRY(fg_option_set(c->values, path, text, place, err));
    return has_set(c, fgi_config_find(c->table, path), err);
}

fg_status fgi_config_reset(fgi_config *c, const char *path, fg_error *err)
{
    FGI_TRY(fg_option_reset(c->values, path, err));
    return put_member(c, fgi_config_find(c->table, path), err);
}

fg_status fgi_config_override(fgi_config *c, const char *assignment, fg_error *err)
{
    char path[128], place[160];
    const char *equals = strchr(assignment, '=');
    const size_t size = equals != NULL ? (size_t)(equals - assignment) : strlen(assignment);
    (void)fgi_snprintf(path, sizeof(path), "%.*s", (int)(size < 127 ? size : 127), assignment);
    (void)fgi_snprintf(place, sizeof(place), "--%s", path);
    const fgi_config_key *key = fgi_config_find(c->table, path);
    const char *nearest = key == NULL ? fgi_config_suggest(c->table, path) : NULL;
    if (key == NULL)
        return fgi_fail(err, FG_EINVAL, "%s: unknown key%s%s%s", place,
                        nearest != NULL ? ": did you mean '" : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "'?" : "");
    if (equals == NULL)
        return fgi_fail(err, FG_EINVAL, "%s: expected %s=VALUE", place, place);
    fg_error inner = {0};
    const fg_status status = fgi_config_set(c, path, equals + 1, place, &inner);
    return status == FG_OK ? FG_OK : fgi_fail(err, status, "--%s", inner.message);
}

/* ---- lifetime -------------------------------------------------------------------------------- */

static fg_status init(fgi_config *c, const fg_registry *registry, fg_error *err)
{
    if (registry != NULL)
        c->own_table = fgi_config_table_create(registry);
    c->table = registry != NULL ? c->own_table : fgi_config_table_built_in();
    if (c->table == NULL)
        return fgi_no_memory(err);
    c->registry = c->table->registry;
    FGI_TRY(fg_option_values_create(NULL, c->table->options, c->table->count, &c->values, err));
    for (size_t i = 0; i < c->table->count; i++)
        FGI_TRY(put_member(c, &c->table->keys[i], err));
    return FG_OK;
}

fgi_config *fgi_config_create(const fg_registry *registry, fg_error *err)
{
    if (registry != NULL && fgi_config_table_check(registry, err) != FG_OK)
        return NULL;
    fgi_config *c = fgi_calloc(1, sizeof(*c));
    if (c == NULL)
        (void)fgi_no_memory(err);
    if (c != NULL && init(c, registry, err) == FG_OK)
        return c;
    fgi_config_destroy(c);
    return NULL;
}

void fgi_config_destroy(fgi_config *c)
{
    if (c == NULL)
        return;
    fg_option_values_destroy(c->values);
    fgi_config_table_destroy(c->own_table);
    fgi_free(c);
}

const fg_entry *fgi_config_entry(const fgi_config *c, fg_registry_kind kind, const char *path,
                                 fg_error *err)
{
    const char *name = fg_option_string(c->values, path);
    const fg_entry *entry = fg_registry_find(c->registry, kind, name, NULL);
    if (entry == NULL)
        (void)fgi_fail(err, FG_EINVAL, "%s: there is no '%s'", fgi_config_where(c, path), name);
    return entry;
}

fg_status fgi_config_select(const fgi_config *c, const char *section, const fg_entry *entry,
                            fg_option_values **out, fg_error *err)
{
    return fg_option_values_select(c->values, section, entry, out, err);
}

fg_status fgi_config_fill(const fgi_config *c, const char *section, const fg_entry *entry,
                          void **out, fg_error *err)
{
    fg_option_values *values = NULL;
    FGI_TRY(fgi_config_select(c, section, entry, &values, err));
    const fg_status status = fgi_row_create_for_c(entry, values, out, err);
    fg_option_values_destroy(values);
    return status;
}

/* ---- lookup ---------------------------------------------------------------------------------- */

const char *fgi_config_place(const fgi_config *c, const char *path)
{
    const char *place = fg_option_place(c->values, path);
    return place != NULL ? place : "default";
}

bool fgi_config_is_overridden(const fgi_config *c, const char *path)
{
    return strncmp(fgi_config_place(c, path), "--", 2) == 0;
}

const char *fgi_config_where(const fgi_config *c, const char *path)
{
    static _Thread_local char where[4][512];
    static _Thread_local size_t next;
    return fg_option_where(c->values, path, where[next++ % 4], sizeof(where[0]));
}

char *fgi_config_file(const fgi_config *c, const char *path, int *out_line)
{
    const char *place = fgi_config_place(c, path);
    const char *line = strrchr(place, ':'); /* colon before the column */
    *out_line = 0;
    while (line != NULL && line > place && *--line != ':')
        ;
    if (line == NULL || line == place)
        return NULL;
    *out_line = (int)strtol(line + 1, NULL, 10);
    return fgi_strndup(place, (size_t)(line - place));
}

const char *fgi_config_format(const fgi_config *c, const char *path)
{
    static _Thread_local char text[16384];
    return fg_option_format(c->values, path, text, sizeof(text));
}

/* ---- keys without effect, spellings of other programs ---------------------------------------- */

/* Writes the key that it depends on to `chooser`; one that is auto may choose anything yet. */
static bool has_effect(const fgi_config *c, const char *only, char *chooser, size_t size)
{
    const char *equals = only != NULL ? strchr(only, '=') : NULL;
    if (equals == NULL)
        return true;
    (void)fgi_snprintf(chooser, size, "%.*s", (int)(equals - only), only);
    const char *chosen = fg_option_string(c->values, chooser);
    return chosen == NULL || strcmp(chosen, "auto") == 0 || fgi_is_one_of(chosen, equals + 1);
}

bool fgi_config_has_effect(const fgi_config *c, const fgi_config_key *key)
{
    char chooser[64];
    return has_effect(c, key->only, chooser, sizeof(chooser));
}

void fgi_config_warn(const fgi_config *c, const char *chosen_by,
                     void (*warn)(void *self, const char *line), void *self)
{
    fgi_config *plain = fgi_config_create(c->registry, NULL);
    for (size_t i = 0; plain != NULL && i < c->table->count; i++) {
        char chooser[64], line[1024], mine[256];
        const fgi_config_key *key = &c->table->keys[i];
        if (!fg_option_is_given(c->values, key->path) ||
            has_effect(c, key->only, chooser, sizeof(chooser)) ||
            (chosen_by != NULL && strcmp(chooser, chosen_by) != 0))
            continue;
        (void)fgi_snprintf(mine, sizeof(mine), "%.250s", fgi_config_format(c, key->path));
        if (strncmp(mine, fgi_config_format(plain, key->path), 250) == 0)
            continue;
        (void)fgi_snprintf(line, sizeof(line), "%s has no effect: %s is %s",
                           fgi_config_where(c, key->path), chooser,
                           fg_option_string(c->values, chooser));
        warn(self, line);
    }
    fgi_config_destroy(plain);
}

void fgi_config_notes(const fgi_config *c, void (*note)(void *self, const char *line), void *self)
{
    for (size_t i = 0; i < c->table->count; i++) {
        char line[1024];
        const char *path = c->table->keys[i].path, *alias = fg_option_alias(c->values, path);
        if (alias == NULL)
            continue;
        (void)fgi_snprintf(line, sizeof(line), "%s: '%.80s' is read as '%s'",
                           fgi_config_where(c, path), alias, fg_option_string(c->values, path));
        note(self, line);
    }
}
