/* values.c - a value for each row of an option table: set from text, and read.
 *
 * A value is a list of items; an option that is not a list has one item. Text from YAML and from
 * the command line is parsed by the same functions. All memory belongs to the arena: a replaced
 * value is freed with the others.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/text.h"
#include "option/option.h"

enum { MOST_NAMES = 256 };

/* ---- setting --------------------------------------------------------------------------------- */

const fg_option *fg_option_find(const fg_option_values *values, const char *name)
{
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->options[i].name, name) == 0)
            return &values->options[i];
    return NULL;
}

static fg_status unknown(const fg_option_values *values, const char *name, fg_error *err)
{
    const char *names[MOST_NAMES];
    char known[256];
    size_t count = 0;
    for (; count < values->count && count < MOST_NAMES; count++)
        names[count] = values->options[count].name;
    return fgi_fail(err, FG_EINVAL, "%s%sunknown option '%.80s'%s", values->section,
                    values->section[0] != '\0' ? ": " : "", name,
                    fgi_suggest(name, names, count, known, sizeof known));
}

/* Whether a list may have `count` elements. */
static fg_status check_count(const fg_option_values *values, const fg_option *option, size_t count,
                             fg_error *err)
{
    char path[128], expected[384];
    if (option->max_count == 0 || (count >= option->min_count && count <= option->max_count) ||
        (count == 0 && option->initial == NULL))
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "%s: expected %s, got %zu element%s",
                    fgi_option_path(values, option, path, sizeof path),
                    fg_option_describe(option, expected, sizeof expected), count, fgi_s(count));
}

/* The key that two pairs have, or NULL. */
static const char *repeated_key(const fg_option_text *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i && pairs[i].key != NULL; k++)
            if (pairs[k].key != NULL && strcmp(pairs[k].key, pairs[i].key) == 0)
                return pairs[i].key;
    return NULL;
}

static fg_status set_items(fg_option_values *values, const fg_option *option,
                           const fg_option_items *items, fg_error *err)
{
    char path[128];
    fgi_option_value made = {0};
    const size_t count = items->count;
    const char *repeated = repeated_key(items->at, count);
    if (repeated != NULL)
        return fgi_fail(err, FG_EINVAL, "%s: '%.80s' is given twice: expected one value",
                        fgi_option_path(values, option, path, sizeof path), repeated);
    made.is_auto = count == 1 && !items->at[0].is_quoted &&
                   fgi_equal_nocase(items->at[0].text, "auto") &&
                   fgi_option_range_of(option).has_auto;
    made.place = items->place != NULL ? fgi_arena_strdup(&values->arena, items->place) : NULL;
    made.items = fgi_arena_alloc(&values->arena, (count + 1) * sizeof *made.items);
    if (made.items == NULL || (items->place != NULL && made.place == NULL))
        return fgi_no_memory(err);
    const bool has_items = !made.is_auto || option->kind == FG_OPTION_CHOICE;
    for (; made.count < count && has_items; made.count++)
        FGI_TRY(
            fgi_option_parse(values, option, &items->at[made.count], &made.items[made.count], err));
    if (has_items)
        FGI_TRY(check_count(values, option, count, err));
    values->values[option - values->options] = made;
    return FG_OK;
}

/* Removes quotes in place; false if there are none. */
static bool unquote(const char **text)
{
    if (*text == NULL || !fgi_option_in_quotes(*text))
        return false;
    ((char *)*text)[strlen(*text) - 1] = '\0';
    ++*text;
    return true;
}

/* Text in quotes is a string, so that the strings auto, null and "" can be given. */
static void unquote_item(fg_option_text *item)
{
    item->is_quoted = unquote(&item->text);
    (void)unquote(&item->key);
}

/* The number of parts that a text can have at most. */
static size_t part_count(const char *text)
{
    size_t count = 1;
    for (; *text != '\0'; text++)
        count += *text == ',';
    return count;
}

/* "[a, b]", or "a, b" without brackets; "{a: 1, b: 2}". */
static fg_status set_list(fg_option_values *values, const fg_option *option, char *text,
                          const char *place, fg_error *err)
{
    const size_t size = strlen(text), most = part_count(text);
    const bool is_map = fgi_option_is_map(option);
    size_t count = 1;
    fg_option_text *parts = fgi_arena_alloc(&values->arena, most * sizeof *parts);
    if (parts == NULL)
        return fgi_no_memory(err);
    if (!is_map && size >= 2 && text[0] == '[' && text[size - 1] == ']') {
        text[size - 1] = '\0';
        text++;
    }
    if (!is_map)
        count = fgi_option_split(text, parts, most);
    else if (!fgi_option_split_map(text, parts, most, &count))
        parts[0] = (fg_option_text){.text = text}; /* is refused */
    const bool has_text =
        is_map || option->kind == FG_OPTION_STRINGS || option->kind == FG_OPTION_ENTRIES;
    for (size_t i = 0; i < count && has_text; i++)
        unquote_item(&parts[i]);
    return set_items(values, option, &(fg_option_items){parts, count, place}, err);
}

fg_status fg_option_set_items(fg_option_values *values, const char *name,
                              const fg_option_items *items, fg_error *err)
{
    char path[128];
    const fg_option *option = fg_option_find(values, name);
    if (option == NULL)
        return unknown(values, name, err);
    if (items->count != 1 && !fg_option_is_list(option))
        return fgi_fail(err, FG_EINVAL, "%s: %zu values: expected one",
                        fgi_option_path(values, option, path, sizeof path), items->count);
    return set_items(values, option, items, err);
}

static fg_status set_text(fg_option_values *values, const fg_option *option, const char *text,
                          const char *place, fg_error *err)
{
    char *copy = fgi_arena_strdup(&values->arena, text);
    if (copy == NULL)
        return fgi_no_memory(err);
    if (fg_option_is_list(option)) {
        copy += strspn(copy, " ");
        return set_list(values, option, copy, place, err);
    }
    fg_option_text item = {.text = copy};
    unquote_item(&item);
    return set_items(values, option, &(fg_option_items){&item, 1, place}, err);
}

static fg_status reset(fg_option_values *values, const fg_option *option, fg_error *err)
{
    if (option->initial != NULL)
        return set_text(values, option, option->initial, NULL, err);
    values->values[option - values->options] = (fgi_option_value){0};
    return FG_OK;
}

fg_status fg_option_reset(fg_option_values *values, const char *name, fg_error *err)
{
    const fg_option *option = fg_option_find(values, name);
    return option != NULL ? reset(values, option, err) : unknown(values, name, err);
}

fg_status fg_option_set(fg_option_values *values, const char *name, const char *text,
                        const char *place, fg_error *err)
{
    const fg_option *option = fg_option_find(values, name);
    if (option == NULL)
        return unknown(values, name, err);
    if (fgi_is_null_word(fgi_str_of(text)))
        return reset(values, option, err);
    return set_text(values, option, text, place, err);
}

/* "{OPTION: VALUE, ...}" as pairs, each option once. */
static fg_status split_options(const fg_option_values *values, char *text, fg_option_text *pairs,
                               size_t *out_count, fg_error *err)
{
    static const fg_option map = {.kind = FG_OPTION_STRING_MAP};
    const char *section = values->section, *colon = *section != '\0' ? ": " : "";
    char write[256];
    if (!fgi_option_split_map(text, pairs, MOST_NAMES, out_count))
        return fgi_fail(err, FG_EINVAL, "%s%sexpected {OPTION: VALUE, ...}, got '%.80s'%s", section,
                        colon, text, fgi_option_list_of(&map, text, write, sizeof write));
    for (size_t i = 0; i < *out_count; i++)
        if (pairs[i].key == NULL)
            return fgi_fail(err, FG_EINVAL, "%s%s'%.80s': expected OPTION: VALUE", section, colon,
                            pairs[i].text);
    const char *repeated = repeated_key(pairs, *out_count);
    if (repeated != NULL)
        return fgi_fail(err, FG_EINVAL, "%s%s'%.80s' is given twice: expected one value", section,
                        colon, repeated);
    return FG_OK;
}

fg_status fg_option_set_all(fg_option_values *values, const char *text, const char *place,
                            fg_error *err)
{
    fg_option_text pairs[MOST_NAMES];
    size_t count = 0;
    if (text == NULL || *text == '\0')
        return FG_OK;
    char *copy = fgi_arena_strdup(&values->arena, text);
    if (copy == NULL)
        return fgi_no_memory(err);
    FGI_TRY(split_options(values, copy, pairs, &count, err));
    for (size_t i = 0; i < count; i++)
        FGI_TRY(fg_option_set(values, pairs[i].key, pairs[i].text, place, err));
    return FG_OK;
}

/* ---- lifetime -------------------------------------------------------------------------------- */

static fg_status init(fg_option_values *v, const char *section, fg_error *err)
{
    v->section = fgi_arena_strdup(&v->arena, section != NULL ? section : "");
    v->values = fgi_arena_alloc(&v->arena, (v->count + 1) * sizeof *v->values);
    if (v->section == NULL || v->values == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < v->count; i++)
        FGI_TRY_RESERVED(fg_option, &v->options[i], err);
    for (size_t i = 0; i < v->count; i++)
        FGI_TRY_CTX(reset(v, &v->options[i], err), err, "the default of an option");
    return FG_OK;
}

fg_status fg_option_values_create(const char *section, const fg_option *options, size_t count,
                                  fg_option_values **out, fg_error *err)
{
    *out = NULL;
    fg_option_values *v = fgi_calloc(1, sizeof *v);
    if (v == NULL)
        return fgi_no_memory(err);
    fgi_arena_init(&v->arena);
    v->options = options;
    v->count = count;
    const fg_status status = init(v, section, err);
    if (status == FG_OK)
        *out = v;
    else
        fg_option_values_destroy(v);
    return status;
}

void fg_option_values_destroy(fg_option_values *values)
{
    if (values == NULL)
        return;
    fgi_arena_fini(&values->arena);
    fgi_free(values);
}

static fg_status copy_text(fgi_arena *arena, const char **text, fg_error *err)
{
    if (*text != NULL && (*text = fgi_arena_strdup(arena, *text)) == NULL)
        return fgi_no_memory(err);
    return FG_OK;
}

/* A copy of `from` whose strings belong to `to`. */
static fg_status copy_value(fg_option_values *to, const fgi_option_value *from,
                            fgi_option_value *out, fg_error *err)
{
    *out = *from;
    FGI_TRY(copy_text(&to->arena, &out->place, err));
    out->items = fgi_arena_alloc(&to->arena, (from->count + 1) * sizeof *out->items);
    if (out->items == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < from->count; i++) {
        out->items[i] = from->items[i];
        FGI_TRY(copy_text(&to->arena, &out->items[i].text, err));
        FGI_TRY(copy_text(&to->arena, &out->items[i].value, err));
        FGI_TRY(copy_text(&to->arena, &out->items[i].alias, err));
    }
    return FG_OK;
}

static fg_status copy_values(const fg_option_values *from, const char *section,
                             fg_option_values *to, fg_error *err)
{
    for (size_t i = 0; i < to->count; i++) {
        char path[128];
        (void)fgi_snprintf(path, sizeof path, "%s%s%s", section != NULL ? section : "",
                           section != NULL ? "." : "", to->options[i].name);
        const fg_option *option = fg_option_find(from, path);
        if (option == NULL)
            continue;
        if (option->kind != to->options[i].kind)
            return fgi_fail(err, FG_EINVAL, "option '%s' has a different kind in the other table",
                            option->name);
        const fgi_option_value *value = &from->values[option - from->options];
        if (!value->is_auto)
            FGI_TRY(check_count(to, &to->options[i], value->count, err));
        FGI_TRY(copy_value(to, value, &to->values[i], err));
    }
    return FG_OK;
}

fg_status fg_option_values_select(const fg_option_values *values, const char *section,
                                  const fg_entry *entry, fg_option_values **out, fg_error *err)
{
    FGI_TRY(fg_option_values_create(section != NULL ? section : values->section, entry->options,
                                    entry->option_count, out, err));
    const fg_status status = copy_values(values, section, *out, err);
    if (status != FG_OK) {
        fg_option_values_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const fgi_option_value *value_of(const fg_option_values *values, const char *name)
{
    static const fgi_option_value none;
    const fg_option *option = fg_option_find(values, name);
    return option != NULL ? &values->values[option - values->options] : &none;
}

static const fgi_option_item *item_at(const fg_option_values *values, const char *name,
                                      size_t index)
{
    static const fgi_option_item none;
    const fgi_option_value *v = value_of(values, name);
    return index < v->count ? &v->items[index] : &none;
}

bool fg_option_is_given(const fg_option_values *values, const char *name)
{
    return value_of(values, name)->place != NULL;
}

bool fg_option_is_auto(const fg_option_values *values, const char *name)
{
    return value_of(values, name)->is_auto;
}

const char *fg_option_place(const fg_option_values *values, const char *name)
{
    return value_of(values, name)->place;
}

const char *fg_option_where(const fg_option_values *values, const char *name, char *out,
                            size_t size)
{
    const char *place = fg_option_place(values, name);
    const bool has_section = values->section[0] != '\0';
    if (place != NULL && strncmp(place, "--", 2) == 0)
        (void)fgi_snprintf(out, size, "%s", place);
    else
        (void)fgi_snprintf(out, size, "%.300s%s%s%s%s", place != NULL ? place : "",
                           place != NULL ? ": " : "", values->section, has_section ? "." : "",
                           name);
    return out;
}

int64_t fg_option_int(const fg_option_values *values, const char *name)
{
    return fg_option_int_at(values, name, 0);
}

double fg_option_float(const fg_option_values *values, const char *name)
{
    return fg_option_float_at(values, name, 0);
}

double fg_option_number(const fg_option_values *values, const char *name)
{
    const fg_option *option = fg_option_find(values, name);
    const fgi_option_value *v = value_of(values, name);
    if (v->count == 0 && (option == NULL || !v->is_auto || option->automatic == NULL))
        return 0;
    const double value = v->count > 0 ? v->items[0].number : fgi_strtod(option->automatic, NULL);
    return value != 0 ? value : FG_ZERO;
}

bool fg_option_bool(const fg_option_values *values, const char *name)
{
    return fg_option_int_at(values, name, 0) != 0;
}

const char *fg_option_string(const fg_option_values *values, const char *name)
{
    return fg_option_string_at(values, name, 0);
}

size_t fg_option_count(const fg_option_values *values, const char *name)
{
    return value_of(values, name)->count;
}

int64_t fg_option_int_at(const fg_option_values *values, const char *name, size_t index)
{
    return item_at(values, name, index)->whole;
}

double fg_option_float_at(const fg_option_values *values, const char *name, size_t index)
{
    return item_at(values, name, index)->number;
}

const char *fg_option_string_at(const fg_option_values *values, const char *name, size_t index)
{
    return item_at(values, name, index)->text;
}

const char *fg_option_alias(const fg_option_values *values, const char *name)
{
    return item_at(values, name, 0)->alias;
}

fg_status fg_option_fail(const fg_option_values *values, const char *name, fg_status status,
                         fg_error *err, const char *format, ...)
{
    char where[448], message[sizeof err->message];
    va_list args;
    va_start(args, format);
    (void)fgi_vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return fgi_fail(err, status, "%s: %s", fg_option_where(values, name, where, sizeof where),
                    message);
}
