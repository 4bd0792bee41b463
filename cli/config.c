/* config.c - the values of a configuration: texts become numbers, checked by the table of keys.
 *
 * A value is a list of items; what is no list has one item. A text that comes from YAML and one
 * that comes from the command line pass the same functions. The config owns all texts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli.h"
#include "config_value.h"

struct config {
    config_value values[CONFIG_MAX_KEYS];
};

/* ---- items ----------------------------------------------------------------------------------- */

bool config_unexpected(const config_key *key, const config_token *token, fg_error *err)
{
    const bool needs_no_quotes =
        token->is_quoted && key->kind != CONFIG_CHOICE && key->kind != CONFIG_TEXT;
    return cli_fail(err, "%s: expected %s, got %s'%.80s'%s", key->path, config_describe(key),
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

/* Decimal numbers only: no hexadecimal, no infinities, nothing that is no number. */
static bool parse_float(const char *text, double *out)
{
    char *end;
    if (strspn(text, "+-.0123456789eE") != strlen(text))
        return false;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

static bool in_range(const config_key *key, double value)
{
    if (key->min == 0 && key->max == 0)
        return true;
    return value >= key->min && (key->is_below_max ? value < key->max : value <= key->max);
}

/* A count, or a fraction, which is written with a decimal point. */
static bool parse_amount(const config_key *key, const config_token *token, config_item *out,
                         fg_error *err)
{
    out->is_share = strpbrk(token->text, ".eE") != NULL;
    if (token->is_quoted || !(out->is_share ? parse_float(token->text, &out->number)
                                            : parse_int(token->text, &out->whole)))
        return config_unexpected(key, token, err);
    if (out->is_share ? !(out->number >= 0 && out->number <= 1) : out->whole < 0)
        return config_unexpected(key, token, err);
    return true;
}

static bool parse_number(const config_key *key, const config_token *token, config_item *out,
                         fg_error *err)
{
    const bool is_int = key->kind == CONFIG_INT || key->kind == CONFIG_INTS;
    if (token->is_quoted)
        return config_unexpected(key, token, err);
    if (is_int && !parse_int(token->text, &out->whole))
        return config_unexpected(key, token, err);
    if (!is_int && !parse_float(token->text, &out->number))
        return config_unexpected(key, token, err);
    if (!in_range(key, is_int ? (double)out->whole : out->number))
        return config_unexpected(key, token, err);
    return true;
}

static bool parse_item(const config_key *key, const config_token *token, config_item *out,
                       fg_error *err)
{
    *out = (config_item){0};
    switch (key->kind) {
    case CONFIG_BOOL: return config_parse_bool(key, token, out, err);
    case CONFIG_CHOICE: return config_parse_choice(key, token, out, err);
    case CONFIG_AMOUNT: return parse_amount(key, token, out, err);
    case CONFIG_RULES: return config_parse_rule(key, token->text, out, err);
    case CONFIG_DEVICES: return config_parse_devices(key, token->text, out, err);
    case CONFIG_TEXT:
    case CONFIG_TEXTS: out->text = cli_strdup(token->text); return true;
    case CONFIG_INT:
    case CONFIG_FLOAT:
    case CONFIG_INTS:
    case CONFIG_FLOATS: break;
    }
    return parse_number(key, token, out, err);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void clear_value(config_value *v)
{
    for (size_t i = 0; i < v->count; i++) {
        free(v->items[i].text);
        free(v->items[i].alias);
    }
    free(v->items);
    free(v->place);
    *v = (config_value){0};
}

bool config_is_list(const config_key *key)
{
    return key->kind == CONFIG_INTS || key->kind == CONFIG_FLOATS || key->kind == CONFIG_TEXTS ||
           key->kind == CONFIG_RULES;
}

bool config_set(config *c, const config_key *key, const config_token *tokens, size_t count,
                const char *place, fg_error *err)
{
    config_value made = {.items = cli_alloc(count, sizeof(config_item))};
    bool is_good = true;
    made.is_auto = key->has_auto && count == 1 && !tokens[0].is_quoted &&
                   strcasecmp(tokens[0].text, "auto") == 0;
    for (size_t i = 0; i < count && is_good && !made.is_auto; i++) {
        is_good = parse_item(key, &tokens[i], &made.items[i], err);
        made.count += is_good;
    }
    if (!is_good) {
        clear_value(&made);
        return false;
    }
    config_value *v = &c->values[key - config_key_at(0)];
    clear_value(v);
    *v = made;
    v->place = cli_strdup(place);
    return true;
}

void config_reset(config *c, const config_key *key)
{
    clear_value(&c->values[key - config_key_at(0)]);
    if (key->fallback == NULL)
        return;
    fg_error err = {0};
    if (!config_set_text(c, key, key->fallback, NULL, &err)) {
        (void)cli_complain(CLI_FAILED, NULL, "default of %s", err.message);
        abort(); /* the table contradicts itself */
    }
    free(c->values[key - config_key_at(0)].place);
    c->values[key - config_key_at(0)].place = NULL;
}

/* Splits "[a, b]", or "a,b" without brackets, in place; spaces around the parts do not count. */
static size_t split_list(char *text, config_token *tokens, size_t capacity)
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
        tokens[count++] = (config_token){.text = part};
    }
    return count;
}

/* A text in double quotes is that text, so that "auto", "null" and "" can be given. */
static config_token unquote(char *text)
{
    const size_t size = strlen(text);
    config_token token = {.text = text};
    if (size >= 2 && text[0] == '"' && text[size - 1] == '"') {
        text[size - 1] = '\0';
        token = (config_token){.text = text + 1, .is_quoted = true};
    }
    return token;
}

bool config_set_text(config *c, const config_key *key, const char *text, const char *place,
                     fg_error *err)
{
    config_token tokens[CONFIG_MAX_ITEMS] = {{0}};
    char *copy = cli_strdup(text);
    size_t count = 1;
    if (config_is_list(key))
        count = split_list(copy, tokens, CONFIG_MAX_ITEMS);
    else
        tokens[0] = unquote(copy);
    const bool is_good = config_set(c, key, tokens, count, place != NULL ? place : "default", err);
    free(copy);
    return is_good;
}

/* What YAML reads as "no value". */
static bool is_null(const char *text)
{
    return strcasecmp(text, "null") == 0 || strcmp(text, "~") == 0;
}

bool config_override(config *c, const char *assignment, fg_error *err)
{
    char path[128], place[160];
    const char *equals = strchr(assignment, '=');
    const size_t size = equals != NULL ? (size_t)(equals - assignment) : strlen(assignment);
    (void)snprintf(path, sizeof(path), "%.*s", (int)(size < 127 ? size : 127), assignment);
    (void)snprintf(place, sizeof(place), "--%s", path);
    const config_key *key = config_find(path);
    const char *nearest = key == NULL ? config_suggest(path) : NULL;
    if (key == NULL)
        return cli_fail(err, "%s: unknown key%s%s%s", place,
                        nearest != NULL ? ": did you mean '" : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "'?" : "");
    if (equals == NULL)
        return cli_fail(err, "%s: expected %s=VALUE", place, place);
    fg_error inner = {0};
    if (is_null(equals + 1))
        config_reset(c, key);
    else if (!config_set_text(c, key, equals + 1, place, &inner))
        return cli_fail(err, "--%s", inner.message);
    return true;
}

config *config_create(void)
{
    config *c = cli_alloc(1, sizeof(*c));
    for (size_t i = 0; i < config_key_count(); i++)
        config_reset(c, config_key_at(i));
    return c;
}

void config_destroy(config *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < config_key_count(); i++)
        clear_value(&c->values[i]);
    free(c);
}

/* ---- looking up ------------------------------------------------------------------------------ */

const config_value *config_value_of(const config *c, const config_key *key)
{
    return &c->values[key - config_key_at(0)];
}

static const config_value *look_up(const config *c, const char *path)
{
    const config_key *key = config_find(path);
    assert(key != NULL); /* a key that the program asks for and the table has not */
    return config_value_of(c, key);
}

static const config_item *item_at(const config *c, const char *path, size_t index)
{
    static const config_item none;
    const config_value *v = look_up(c, path);
    return index < v->count ? &v->items[index] : &none;
}

bool config_is_given(const config *c, const char *path) { return look_up(c, path)->place != NULL; }

bool config_is_auto(const config *c, const char *path) { return look_up(c, path)->is_auto; }

const char *config_place(const config *c, const char *path)
{
    const char *place = look_up(c, path)->place;
    return place != NULL ? place : "default";
}

const char *config_where(const config *c, const char *path)
{
    static char where[4][512];
    static size_t next;
    char *out = where[next++ % 4];
    const char *place = look_up(c, path)->place;
    if (place == NULL)
        (void)snprintf(out, sizeof(where[0]), "%s", path);
    else if (strncmp(place, "--", 2) == 0)
        (void)snprintf(out, sizeof(where[0]), "%s", place);
    else
        (void)snprintf(out, sizeof(where[0]), "%.400s: %s", place, path);
    return out;
}

char *config_file(const config *c, const char *path, int *out_line)
{
    const char *place = config_place(c, path);
    const char *line = strrchr(place, ':'); /* of the column: the line's is the one before */
    *out_line = 0;
    while (line != NULL && line > place && *--line != ':')
        ;
    if (line == NULL || line == place)
        return NULL;
    *out_line = (int)strtol(line + 1, NULL, 10);
    return cli_strndup(place, (size_t)(line - place));
}

size_t config_count(const config *c, const char *path) { return look_up(c, path)->count; }

int64_t config_int_at(const config *c, const char *path, size_t index)
{
    return item_at(c, path, index)->whole;
}

double config_float_at(const config *c, const char *path, size_t index)
{
    return item_at(c, path, index)->number;
}

const char *config_text_at(const config *c, const char *path, size_t index)
{
    return item_at(c, path, index)->text;
}

int64_t config_int(const config *c, const char *path) { return config_int_at(c, path, 0); }

double config_float(const config *c, const char *path) { return config_float_at(c, path, 0); }

bool config_bool(const config *c, const char *path) { return config_int_at(c, path, 0) != 0; }

const char *config_text(const config *c, const char *path) { return config_text_at(c, path, 0); }

/* "data.format=csv|npy" holds, or nothing is asked. */
static bool has_effect(const config *c, const char *only, char *chooser, size_t size)
{
    const char *equals = only != NULL ? strchr(only, '=') : NULL;
    if (equals == NULL)
        return true;
    (void)snprintf(chooser, size, "%.*s", (int)(equals - only), only);
    const char *chosen = config_text(c, chooser);
    return chosen == NULL || config_is_listed(equals + 1, chosen);
}

bool config_has_effect(const config *c, const config_key *key)
{
    char chooser[64];
    return has_effect(c, key->only, chooser, sizeof(chooser));
}

void config_warn(const config *c, void (*warn)(void *self, const char *line), void *self)
{
    config *plain = config_create();
    for (size_t i = 0; i < config_key_count(); i++) {
        char chooser[64], line[1024], mine[256];
        const config_key *key = config_key_at(i);
        if (!config_is_given(c, key->path) || has_effect(c, key->only, chooser, sizeof(chooser)))
            continue;
        (void)snprintf(mine, sizeof(mine), "%.250s", config_format(c, key));
        if (strncmp(mine, config_format(plain, key), 250) == 0)
            continue;
        (void)snprintf(line, sizeof(line), "%s has no effect: %s is %s", config_where(c, key->path),
                       chooser, config_text(c, chooser));
        warn(self, line);
    }
    config_destroy(plain);
}

void config_notes(const config *c, void (*note)(void *self, const char *line), void *self)
{
    for (size_t i = 0; i < config_key_count(); i++) {
        char line[1024];
        const config_key *key = config_key_at(i);
        const config_item *item = item_at(c, key->path, 0);
        if (item->alias == NULL)
            continue;
        (void)snprintf(line, sizeof(line), "%s: '%.80s' is read as '%s'",
                       config_where(c, key->path), item->alias, item->text);
        note(self, line);
    }
}

int64_t config_amount(const config *c, const char *path, int64_t whole)
{
    const config_item *item = item_at(c, path, 0);
    if (!item->is_share)
        return item->whole < whole ? item->whole : whole;
    const double part = floor(item->number * (double)whole);
    return item->number > 0 && part < 1 && whole > 0 ? 1 : (int64_t)part;
}

double config_share(const config *c, const char *path)
{
    const config_item *item = item_at(c, path, 0);
    return item->is_share ? item->number : -1;
}
