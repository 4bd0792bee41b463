/* config.c - the values of a configuration: one value for each key of a table.
 *
 * fulgurite/option.h checks and stores the values; here, keys are full paths.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "option/option.h"
#include "recipe/config_rows.h"
#include "recipe/config_table.h"
#include "report/helpers.h"

struct fgi_config {
    const fgi_config_table *table;
    fgi_config_table *own_table; /* of the caller's registry; NULL: the built-in one */
    fg_option_values *values;
};

/* ---- setting --------------------------------------------------------------------------------- */

/* Checks that the rows that a list names exist, and accept the options given. */
static fg_status check_rows(const fgi_config *c, const fgi_config_key *key, fg_error *err)
{
    fgi_config_rows rows = {0};
    if (!key->has_entries)
        return FG_OK;
    const fg_status status = fgi_config_rows_make(c, key->path, &rows, err);
    fgi_config_rows_free(&rows);
    return status;
}

fg_status fgi_config_set(fgi_config *c, const fgi_config_key *key, const fg_option_items *items,
                         fg_error *err)
{
    FGI_TRY(fg_option_set_items(c->values, key->path, items, err));
    return check_rows(c, key, err);
}

fg_status fgi_config_set_text(fgi_config *c, const fgi_config_key *key, const char *text,
                              const char *place, fg_error *err)
{
    FGI_TRY(fg_option_set(c->values, key->path, text, place, err));
    return check_rows(c, key, err);
}

fg_status fgi_config_reset(fgi_config *c, const fgi_config_key *key, fg_error *err)
{
    return fg_option_reset(c->values, key->path, err);
}

fg_status fgi_config_override(fgi_config *c, const char *assignment, fg_error *err)
{
    char path[128], place[160];
    const char *equals = strchr(assignment, '=');
    const size_t size = equals != NULL ? (size_t)(equals - assignment) : strlen(assignment);
    (void)fgi_snprintf(path, sizeof(path), "%.*s", (int)(size < 127 ? size : 127), assignment);
    (void)fgi_snprintf(place, sizeof(place), "--%s", path);
    const fgi_config_key *key = fgi_config_table_find(c->table, path);
    const char *nearest = key == NULL ? fgi_config_table_suggest(c->table, path) : NULL;
    if (key == NULL)
        return fgi_fail(err, FG_EINVAL, "%s: unknown key%s%s%s", place,
                        nearest != NULL ? ": did you mean '" : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "'?" : "");
    if (equals == NULL)
        return fgi_fail(err, FG_EINVAL, "%s: expected %s=VALUE", place, place);
    fg_error inner = {0};
    const fg_status status = fgi_config_set_text(c, key, equals + 1, place, &inner);
    return status == FG_OK ? FG_OK : fgi_fail(err, status, "--%s", inner.message);
}

/* ---- lifetime -------------------------------------------------------------------------------- */

fgi_config *fgi_config_create(const fg_registry *registry, fg_error *err)
{
    if (registry != NULL && fgi_config_table_check(registry, err) != FG_OK)
        return NULL;
    fgi_config *c = fgi_calloc(1, sizeof(*c));
    if (c == NULL) {
        (void)fgi_no_memory(err);
        return NULL;
    }
    c->own_table = registry != NULL ? fgi_config_table_create(registry) : NULL;
    c->table = registry != NULL ? c->own_table : fgi_config_table_built_in();
    if (c->table != NULL && fg_option_values_create(NULL, c->table->options, c->table->count,
                                                    &c->values, NULL) == FG_OK)
        return c;
    (void)fgi_no_memory(err);
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

const fgi_config_table *fgi_config_table_of(const fgi_config *c) { return c->table; }

const fg_registry *fgi_config_registry(const fgi_config *c) { return c->table->registry; }

const fg_entry *fgi_config_entry(const fgi_config *c, fg_registry_kind kind, const char *path,
                                 fg_error *err)
{
    const fg_entry *entry =
        fg_registry_find(c->table->registry, kind, fgi_config_text(c, path), NULL);
    if (entry == NULL)
        (void)fgi_fail(err, FG_EINVAL, "%s: there is no '%s'", fgi_config_where(c, path),
                       fgi_config_text(c, path));
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

bool fgi_config_is_given(const fgi_config *c, const char *path)
{
    return fg_option_is_given(c->values, path);
}

bool fgi_config_is_auto(const fgi_config *c, const char *path)
{
    return fg_option_is_auto(c->values, path);
}

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

size_t fgi_config_count(const fgi_config *c, const char *path)
{
    return fg_option_count(c->values, path);
}

int64_t fgi_config_int_at(const fgi_config *c, const char *path, size_t index)
{
    return fg_option_int_at(c->values, path, index);
}

double fgi_config_float_at(const fgi_config *c, const char *path, size_t index)
{
    return fg_option_float_at(c->values, path, index);
}

const char *fgi_config_text_at(const fgi_config *c, const char *path, size_t index)
{
    return fg_option_string_at(c->values, path, index);
}

int64_t fgi_config_int(const fgi_config *c, const char *path)
{
    return fg_option_int(c->values, path);
}

double fgi_config_float(const fgi_config *c, const char *path)
{
    return fg_option_float(c->values, path);
}

bool fgi_config_bool(const fgi_config *c, const char *path)
{
    return fg_option_bool(c->values, path);
}

const char *fgi_config_text(const fgi_config *c, const char *path)
{
    return fg_option_string(c->values, path);
}

int64_t fgi_config_amount(const fgi_config *c, const char *path, int64_t whole)
{
    return fg_option_amount(c->values, path, whole);
}

double fgi_config_fraction(const fgi_config *c, const char *path)
{
    return fg_option_fraction(c->values, path);
}

const char *fgi_config_format(const fgi_config *c, const fgi_config_key *key)
{
    static _Thread_local char text[16384];
    return fg_option_format(c->values, key->path, text, sizeof(text));
}

/* ---- keys without effect, spellings of other programs ---------------------------------------- */

/* Writes the key that it depends on to `chooser`; one that is auto may choose anything yet. */
static bool has_effect(const fgi_config *c, const char *only, char *chooser, size_t size)
{
    const char *equals = only != NULL ? strchr(only, '=') : NULL;
    if (equals == NULL)
        return true;
    (void)fgi_snprintf(chooser, size, "%.*s", (int)(equals - only), only);
    const char *chosen = fgi_config_text(c, chooser);
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
    fgi_config *plain = fgi_config_create(c->table->registry, NULL);
    for (size_t i = 0; plain != NULL && i < c->table->count; i++) {
        char chooser[64], line[1024], mine[256];
        const fgi_config_key *key = &c->table->keys[i];
        if (!fgi_config_is_given(c, key->path) ||
            has_effect(c, key->only, chooser, sizeof(chooser)) ||
            (chosen_by != NULL && strcmp(chooser, chosen_by) != 0))
            continue;
        (void)fgi_snprintf(mine, sizeof(mine), "%.250s", fgi_config_format(c, key));
        if (strncmp(mine, fgi_config_format(plain, key), 250) == 0)
            continue;
        (void)fgi_snprintf(line, sizeof(line), "%s has no effect: %s is %s",
                           fgi_config_where(c, key->path), chooser, fgi_config_text(c, chooser));
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
                           fgi_config_where(c, path), alias, fgi_config_text(c, path));
        note(self, line);
    }
}
