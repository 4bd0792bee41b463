/* format.c - a value as YAML that reads back to the same value.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/print.h"
#include "base/text.h"
#include "option/option.h"

typedef struct writer {
    char *out;
    size_t size, used;
} writer;

static void put(writer *w, const char *format, ...) FG_PRINTF(2, 3);
static void put(writer *w, const char *format, ...)
{
    va_list args;
    const size_t room = w->size - w->used;
    va_start(args, format);
    const int size = fgi_vsnprintf(w->out + w->used, room, format, args);
    va_end(args);
    if (size > 0 && room > 0)
        w->used += (size_t)size < room ? (size_t)size : room - 1;
}

static void put_number(writer *w, double value, bool with_point)
{
    char digits[40];
    fgi_format_f64(value, digits, sizeof digits);
    put(w, "%s%s", digits, with_point && strpbrk(digits, ".e") == NULL ? ".0" : "");
}

/* Whether YAML and parse.c read the unquoted text as the same string. */
static bool is_plain(const char *value)
{
    static const char *const words[] = {"auto", "null", "true", "false", "yes", "no", "on", "off"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (fgi_equal_nocase(value, words[i]))
            return false;
    const bool is_digit = value[0] >= '0' && value[0] <= '9';
    if ((!fgi_is_alnum(value[0]) || is_digit) && value[0] != '/' && value[0] != '_')
        return false;
    for (const char *c = value; *c != '\0'; c++)
        if (!fgi_is_alnum(*c) && strchr("/_-.+", *c) == NULL)
            return false;
    return true;
}

static void put_text(writer *w, const char *value)
{
    if (is_plain(value)) {
        put(w, "%s", value);
        return;
    }
    put(w, "\"");
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            put(w, "\\%c", *c);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            put(w, "\\x%02x", (unsigned)(unsigned char)*c);
        else
            put(w, "%c", *c);
    }
    put(w, "\"");
}

/* A list or a map in an element of ENTRIES. */
static void put_parts(writer *w, fg_option_text *parts, size_t count, const char *brackets);

/* A value in an element of ENTRIES, as parse.c splits it. */
static void put_flow(writer *w, char *text)
{
    const size_t size = strlen(text);
    const bool is_list = size >= 2 && text[0] == '[' && text[size - 1] == ']';
    fg_option_text parts[64];
    size_t count;
    if (fgi_option_split_map(text, parts, 64, &count)) {
        put_parts(w, parts, count, "{}");
        return;
    }
    const bool is_quoted = fgi_option_in_quotes(text);
    if (is_quoted || is_list)
        text[size - 1] = '\0';
    const bool is_safe = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789+-._/") == size;
    if (is_list)
        put_parts(w, parts, fgi_option_split(text + 1, parts, 64), "[]");
    else if (is_safe && !is_quoted)
        put(w, "%s", text);
    else
        put_text(w, text + is_quoted);
}

static void put_parts(writer *w, fg_option_text *parts, size_t count, const char *brackets)
{
    put(w, "%c", brackets[0]);
    for (size_t i = 0; i < count; i++) {
        put(w, i > 0 ? ", " : "");
        if (parts[i].key != NULL)
            put(w, "%s: ", parts[i].key);
        put_flow(w, (char *)parts[i].text);
    }
    put(w, "%c", brackets[1]);
}

static void put_entry(writer *w, const char *entry)
{
    char text[2048];
    (void)fgi_snprintf(text, sizeof text, "%s", entry);
    char *map = text;
    if (strchr("{[", *text) == NULL) {
        map = fgi_option_split_pair(text);
        put_text(w, text);
        put(w, map != NULL ? ": " : "");
    }
    if (map != NULL)
        put_flow(w, map);
}

const char *fgi_option_format_entry(const char *text, char *out, size_t size)
{
    writer w = {.out = out, .size = size};
    out[0] = '\0';
    put_entry(&w, text);
    return out;
}

/* Numbers are strings here: they need no quotes. */
static void put_pair(writer *w, const fgi_option_item *item)
{
    int64_t number;
    put_text(w, item->text);
    put(w, ": ");
    if (item->value[0] == '[' || item->value[0] == '{')
        put_entry(w, item->value);
    else if (fgi_parse_i64(fgi_str_of(item->value), &number))
        put(w, "%s", item->value);
    else
        put_text(w, item->value);
}

static void put_item(writer *w, const fg_option *option, const fgi_option_item *item)
{
    switch (option->kind) {
    case FG_OPTION_INT:
    case FG_OPTION_INTS: put(w, "%" PRId64, item->whole); return;
    case FG_OPTION_FLOAT:
    case FG_OPTION_FLOATS: put_number(w, item->number, false); return;
    case FG_OPTION_BOOL: put(w, item->whole ? "true" : "false"); return;
    case FG_OPTION_AMOUNT: /* the point distinguishes a fraction from a count */
        if (item->is_fraction)
            put_number(w, item->number, true);
        else
            put(w, "%" PRId64, item->whole);
        return;
    case FG_OPTION_DEVICES:
    case FG_OPTION_CHOICE: /* choices, even 32-true and true, need no quotes */
        put(w, "%s", item->text);
        return;
    case FG_OPTION_DURATION:
    case FG_OPTION_STRING:
    case FG_OPTION_STRINGS: put_text(w, item->text); return;
    case FG_OPTION_STRING_MAP: put_pair(w, item); return;
    case FG_OPTION_ENTRIES: put_entry(w, item->text); return;
    case FG_OPTION_MAP: put(w, "%" PRId64 ": %.0f", item->whole, item->number); return;
    }
}

const char *fg_option_format(const fg_option_values *values, const char *name, char *out,
                             size_t size)
{
    const fg_option *option = fg_option_find(values, name);
    writer w = {.out = out, .size = size};
    out[0] = '\0';
    if (option == NULL)
        return out;
    const fgi_option_value *v = &values->values[option - values->options];
    const bool is_list = fg_option_is_list(option), is_map = fgi_option_is_map(option);
    if (v->is_auto || (v->count == 0 && (!is_list || option->min_count > 0))) {
        put(&w, v->is_auto ? "auto" : "null");
        return out;
    }
    put(&w, is_map ? "{" : is_list ? "[" : "");
    for (size_t i = 0; i < v->count; i++) {
        put(&w, i > 0 ? ", " : "");
        put_item(&w, option, &v->items[i]);
    }
    put(&w, is_map ? "}" : is_list ? "]" : "");
    return out;
}
