/* config.c - the values of a configuration: texts become numbers, checked by the table of keys.
 *
 * A value is a list of items; what is no list has one item. A text that comes from YAML and one
 * that comes from the command line pass the same functions. The config owns all texts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/config.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/helpers.h"
#include "recipe/config_value.h"
#include "base/print.h"
#include "base/alloc.h"

struct fgi_config {
    fgi_config_value values[FGI_CONFIG_MAX_KEYS];
};

/* ---- items ----------------------------------------------------------------------------------- */

bool fgi_config_unexpected(const fgi_config_key *key, const fgi_config_token *token, fg_error *err)
{
    const bool needs_no_quotes =
        token->is_quoted && key->kind != FGI_CONFIG_CHOICE && key->kind != FGI_CONFIG_TEXT;
    return fgi_refuse(err, "%s: expected %s, got %s'%.80s'%s", key->path, fgi_config_describe(key),
                      needs_no_quotes ? "the string " : "", token->text,
                      needs_no_quotes ? ": remove the quotes" : "");
}

static bool parse_int(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    *out = value;
    return errno == 0 && end != text && *end == '\0' && strchr(" \t\n\v\f\r", *text) == NULL;
}

/* Decimal numbers only: no hexadecimal, no infinities, no NaN. */
static bool parse_float(const char *text, double *out)
{
    char *end;
    if (strspn(text, "+-.0123456789eE") != strlen(text))
        return false;
    *out = fgi_strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

static bool in_range(const fgi_config_key *key, double value)
{
    if (key->min == 0 && key->max == 0)
        return true;
    return value >= key->min && (key->is_below_max ? value < key->max : value <= key->max);
}

/* A count, or a fraction, which is written with a decimal point. */
static bool parse_amount(const fgi_config_key *key, const fgi_config_token *token,
                         fgi_config_item *out, fg_error *err)
{
    out->is_fraction = strpbrk(token->text, ".eE") != NULL;
    if (token->is_quoted || !(out->is_fraction ? parse_float(token->text, &out->number)
                                               : parse_int(token->text, &out->whole)))
        return fgi_config_unexpected(key, token, err);
    if (out->is_fraction ? !(out->number >= 0 && out->number <= 1) : out->whole < 0)
        return fgi_config_unexpected(key, token, err);
    return true;
}

static bool parse_number(const fgi_config_key *key, const fgi_config_token *token,
                         fgi_config_item *out, fg_error *err)
{
    const bool is_int = key->kind == FGI_CONFIG_INT || key->kind == FGI_CONFIG_INTS;
    if (token->is_quoted)
        return fgi_config_unexpected(key, token, err);
    if (is_int && !parse_int(token->text, &out->whole))
        return fgi_config_unexpected(key, token, err);
    if (!is_int && !parse_float(token->text, &out->number))
        return fgi_config_unexpected(key, token, err);
    if (!in_range(key, is_int ? (double)out->whole : out->number))
        return fgi_config_unexpected(key, token, err);
    return true;
}

static bool parse_item(const fgi_config_key *key, const fgi_config_token *token,
                       fgi_config_item *out, fg_error *err)
{
    *out = (fgi_config_item){0};
    switch (key->kind) {
    case FGI_CONFIG_BOOL: return fgi_config_parse_bool(key, token, out, err);
    case FGI_CONFIG_CHOICE: return fgi_config_parse_choice(key, token, out, err);
    case FGI_CONFIG_AMOUNT: return parse_amount(key, token, out, err);
    case FGI_CONFIG_RULES: return fgi_config_parse_rule(key, token->text, out, err);
    case FGI_CONFIG_DEVICES: return fgi_config_parse_devices(key, token->text, out, err);
    case FGI_CONFIG_TEXT:
    case FGI_CONFIG_TEXTS:
        out->text = fgi_strdup(token->text);
        return out->text != NULL || fgi_refuse_memory(err);
    case FGI_CONFIG_INT:
    case FGI_CONFIG_FLOAT:
    case FGI_CONFIG_INTS:
    case FGI_CONFIG_FLOATS: break;
    }
    return parse_number(key, token, out, err);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void clear_value(fgi_config_value *v)
{
    for (size_t i = 0; i < v->count; i++) {
        fgi_free(v->items[i].text);
        fgi_free(v->items[i].alias);
    }
    fgi_free(v->items);
    fgi_free(v->place);
    *v = (fgi_config_value){0};
}

bool fgi_config_is_list(const fgi_config_key *key)
{
    return key->kind == FGI_CONFIG_INTS || key->kind == FGI_CONFIG_FLOATS ||
           key->kind == FGI_CONFIG_TEXTS || key->kind == FGI_CONFIG_RULES;
}

bool fgi_config_set(fgi_config *c, const fgi_config_key *key, const fgi_config_token *tokens,
                    size_t count, const char *place, fg_error *err)
{
    fgi_config_value made = {.items = fgi_calloc(count + 1, sizeof(fgi_config_item)),
                             .place = fgi_strdup(place)};
    bool is_good = (made.items != NULL && made.place != NULL) || fgi_refuse_memory(err);
    made.is_auto = key->has_auto && count == 1 && !tokens[0].is_quoted &&
                   fgi_compare_nocase(tokens[0].text, "auto") == 0;
    for (size_t i = 0; i < count && is_good && !made.is_auto; i++) {
        is_good = parse_item(key, &tokens[i], &made.items[i], err);
        made.count = i + 1; /* a wrong one may own something too */
    }
    if (!is_good) {
        clear_value(&made);
        return false;
    }
    fgi_config_value *v = &c->values[key - fgi_config_key_at(0)];
    clear_value(v);
    *v = made;
    return true;
}

bool fgi_config_reset(fgi_config *c, const fgi_config_key *key, fg_error *err)
{
    fgi_config_value *v = &c->values[key - fgi_config_key_at(0)];
    clear_value(v);
    if (key->fallback == NULL)
        return true;
    if (!fgi_config_set_text(c, key, key->fallback, NULL, err))
        return false;
    fgi_free(v->place);
    v->place = NULL;
    return true;
}

/* Splits "[a, b]", or "a,b" without brackets, in place; spaces around the parts do not count. */
static size_t split_list(char *text, fgi_config_token *tokens, size_t capacity)
{
    size_t count = 0;
    text += strspn(text, " ");
    size_t size = strlen(text);
    if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
        text[size - 1] = '\0';
        text++;
    }
    char *rest = text + strspn(text, " "), *part;
    if (*rest == '\0')
        return 0;
    while (count < capacity && (part = strsep(&rest, ",")) != NULL) {
        part += strspn(part, " ");
        for (size_t end = strlen(part); end > 0 && part[end - 1] == ' '; end--)
            part[end - 1] = '\0';
        tokens[count++] = (fgi_config_token){.text = part};
    }
    return count;
}

/* A text in double quotes is that text, so that "auto", "null" and "" can be given. */
static fgi_config_token unquote(char *text)
{
    const size_t size = strlen(text);
    fgi_config_token token = {.text = text};
    if (size >= 2 && text[0] == '"' && text[size - 1] == '"') {
        text[size - 1] = '\0';
        token = (fgi_config_token){.text = text + 1, .is_quoted = true};
    }
    return token;
}

bool fgi_config_set_text(fgi_config *c, const fgi_config_key *key, const char *text,
                         const char *place, fg_error *err)
{
    fgi_config_token tokens[FGI_CONFIG_MAX_ITEMS] = {{0}};
    char *copy = fgi_strdup(text);
    size_t count = 1;
    if (copy == NULL)
        return fgi_refuse_memory(err);
    if (fgi_config_is_list(key))
        count = split_list(copy, tokens, FGI_CONFIG_MAX_ITEMS);
    else
        tokens[0] = unquote(copy);
    const bool is_good =
        fgi_config_set(c, key, tokens, count, place != NULL ? place : "default", err);
    fgi_free(copy);
    return is_good;
}

/* What YAML reads as "no value". */
static bool is_null(const char *text)
{
    return fgi_compare_nocase(text, "null") == 0 || strcmp(text, "~") == 0;
}

bool fgi_config_override(fgi_config *c, const char *assignment, fg_error *err)
{
    char path[128], place[160];
    const char *equals = strchr(assignment, '=');
    const size_t size = equals != NULL ? (size_t)(equals - assignment) : strlen(assignment);
    (void)fgi_snprintf(path, sizeof(path), "%.*s", (int)(size < 127 ? size : 127), assignment);
    (void)fgi_snprintf(place, sizeof(place), "--%s", path);
    const fgi_config_key *key = fgi_config_find(path);
    const char *nearest = key == NULL ? fgi_config_suggest(path) : NULL;
    if (key == NULL)
        return fgi_refuse(err, "%s: unknown key%s%s%s", place,
                          nearest != NULL ? ": did you mean '" : "", nearest != NULL ? nearest : "",
                          nearest != NULL ? "'?" : "");
    if (equals == NULL)
        return fgi_refuse(err, "%s: expected %s=VALUE", place, place);
    fg_error inner = {0};
    if (is_null(equals + 1))
        return fgi_config_reset(c, key, err);
    if (fgi_config_set_text(c, key, equals + 1, place, &inner))
        return true;
    (void)fgi_refuse(err, "--%s", inner.message);
    err->status = inner.status;
    return false;
}

fgi_config *fgi_config_create(void)
{
    fg_error err;
    fgi_config *c = fgi_calloc(1, sizeof(*c));
    for (size_t i = 0; c != NULL && i < fgi_config_key_count(); i++)
        if (!fgi_config_reset(c, fgi_config_key_at(i), &err)) {
            fgi_config_destroy(c);
            c = NULL;
        }
    return c;
}

void fgi_config_destroy(fgi_config *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < fgi_config_key_count(); i++)
        clear_value(&c->values[i]);
    fgi_free(c);
}

/* ---- looking up ------------------------------------------------------------------------------ */

const fgi_config_value *fgi_config_value_of(const fgi_config *c, const fgi_config_key *key)
{
    return &c->values[key - fgi_config_key_at(0)];
}

static const fgi_config_value *look_up(const fgi_config *c, const char *path)
{
    const fgi_config_key *key = fgi_config_find(path);
    assert(key != NULL); /* a key that the program asks for and the table has not */
    return fgi_config_value_of(c, key);
}

static const fgi_config_item *item_at(const fgi_config *c, const char *path, size_t index)
{
    static const fgi_config_item none;
    const fgi_config_value *v = look_up(c, path);
    return index < v->count ? &v->items[index] : &none;
}

bool fgi_config_is_given(const fgi_config *c, const char *path)
{
    return look_up(c, path)->place != NULL;
}

bool fgi_config_is_auto(const fgi_config *c, const char *path) { return look_up(c, path)->is_auto; }

const char *fgi_config_place(const fgi_config *c, const char *path)
{
    const char *place = look_up(c, path)->place;
    return place != NULL ? place : "default";
}

const char *fgi_config_where(const fgi_config *c, const char *path)
{
    static _Thread_local char where[4][512];
    static size_t next;
    char *out = where[next++ % 4];
    const char *place = look_up(c, path)->place;
    if (place == NULL)
        (void)fgi_snprintf(out, sizeof(where[0]), "%s", path);
    else if (strncmp(place, "--", 2) == 0)
        (void)fgi_snprintf(out, sizeof(where[0]), "%s", place);
    else
        (void)fgi_snprintf(out, sizeof(where[0]), "%.400s: %s", place, path);
    return out;
}

char *fgi_config_file(const fgi_config *c, const char *path, int *out_line)
{
    const char *place = fgi_config_place(c, path);
    const char *line = strrchr(place, ':'); /* of the column: the line's is the one before */
    *out_line = 0;
    while (line != NULL && line > place && *--line != ':')
        ;
    if (line == NULL || line == place)
        return NULL;
    *out_line = (int)strtol(line + 1, NULL, 10);
    return fgi_strndup(place, (size_t)(line - place));
}

size_t fgi_config_count(const fgi_config *c, const char *path) { return look_up(c, path)->count; }

int64_t fgi_config_int_at(const fgi_config *c, const char *path, size_t index)
{
    return item_at(c, path, index)->whole;
}

double fgi_config_float_at(const fgi_config *c, const char *path, size_t index)
{
    return item_at(c, path, index)->number;
}

const char *fgi_config_text_at(const fgi_config *c, const char *path, size_t index)
{
    return item_at(c, path, index)->text;
}

int64_t fgi_config_int(const fgi_config *c, const char *path)
{
    return fgi_config_int_at(c, path, 0);
}

double fgi_config_float(const fgi_config *c, const char *path)
{
    return fgi_config_float_at(c, path, 0);
}

bool fgi_config_bool(const fgi_config *c, const char *path)
{
    return fgi_config_int_at(c, path, 0) != 0;
}

const char *fgi_config_text(const fgi_config *c, const char *path)
{
    return fgi_config_text_at(c, path, 0);
}

/* "data.format=csv|npy" holds, or nothing is asked. */
static bool has_effect(const fgi_config *c, const char *only, char *chooser, size_t size)
{
    const char *equals = only != NULL ? strchr(only, '=') : NULL;
    if (equals == NULL)
        return true;
    (void)fgi_snprintf(chooser, size, "%.*s", (int)(equals - only), only);
    const char *chosen = fgi_config_text(c, chooser);
    return chosen == NULL || fgi_config_is_listed(equals + 1, chosen);
}

bool fgi_config_has_effect(const fgi_config *c, const fgi_config_key *key)
{
    char chooser[64];
    return has_effect(c, key->only, chooser, sizeof(chooser));
}

void fgi_config_warn(const fgi_config *c, void (*warn)(void *self, const char *line), void *self)
{
    fgi_config *plain = fgi_config_create();
    for (size_t i = 0; plain != NULL && i < fgi_config_key_count(); i++) {
        char chooser[64], line[1024], mine[256];
        const fgi_config_key *key = fgi_config_key_at(i);
        if (!fgi_config_is_given(c, key->path) ||
            has_effect(c, key->only, chooser, sizeof(chooser)))
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
    for (size_t i = 0; i < fgi_config_key_count(); i++) {
        char line[1024];
        const fgi_config_key *key = fgi_config_key_at(i);
        const fgi_config_item *item = item_at(c, key->path, 0);
        if (item->alias == NULL)
            continue;
        (void)fgi_snprintf(line, sizeof(line), "%s: '%.80s' is read as '%s'",
                           fgi_config_where(c, key->path), item->alias, item->text);
        note(self, line);
    }
}

int64_t fgi_config_amount(const fgi_config *c, const char *path, int64_t whole)
{
    const fgi_config_item *item = item_at(c, path, 0);
    if (!item->is_fraction)
        return item->whole < whole ? item->whole : whole;
    const double part = floor(item->number * (double)whole);
    return item->number > 0 && part < 1 && whole > 0 ? 1 : (int64_t)part;
}

double fgi_config_fraction(const fgi_config *c, const char *path)
{
    const fgi_config_item *item = item_at(c, path, 0);
    return item->is_fraction ? item->number : -1;
}
