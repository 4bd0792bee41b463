/* parse.c - parses one item of a value and checks it against the option's row.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <fulgurite/mesh.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "option/option.h"

bool fgi_equal_nocase(const char *a, const char *b)
{
    return strlen(a) == strlen(b) && fgi_begins_nocase(a, b);
}

/* Decimal numbers only: no hexadecimal, no infinities, no NaN, and none that f32 cannot represent:
 * on a device, it would be 0 or infinite. */
static bool parse_float(const char *text, double *out)
{
    return strspn(text, "+-.0123456789eE") == strlen(text) &&
           fgi_parse_f64(fgi_str_of(text), out) && fgi_option_magnitude(text, *out) == 0;
}

int fgi_option_magnitude(const char *text, double value)
{
    const double size = fabs(value);
    if (!(size <= (double)FLT_MAX))
        return 1;
    const bool is_zero = strcspn(text, "123456789") >= strcspn(text, "eE");
    return !is_zero && size < (double)FLT_MIN ? -1 : 0;
}

static bool in_range(const fg_option *option, double value)
{
    const fgi_option_range r = fgi_option_range_of(option);
    return (r.excludes_min ? value > r.min : value >= r.min) &&
           (r.excludes_max ? value < r.max : value <= r.max);
}

/* A count, or a fraction, which has a decimal point. */
static bool parse_amount(const fg_option_text *text, fgi_option_item *out)
{
    out->is_fraction = strpbrk(text->text, ".eE") != NULL;
    if (text->is_quoted)
        return false;
    if (out->is_fraction)
        return parse_float(text->text, &out->number) && out->number >= 0 && out->number <= 1;
    return fgi_parse_i64(fgi_str_of(text->text), &out->whole) && out->whole >= 0;
}

static bool parse_number(const fg_option *option, const fg_option_text *text, fgi_option_item *out)
{
    const bool is_int = option->kind == FG_OPTION_INT || option->kind == FG_OPTION_INTS;
    if (text->is_quoted)
        return false;
    if (!is_int)
        return parse_float(text->text, &out->number) && in_range(option, out->number);
    if (!fgi_parse_i64(fgi_str_of(text->text), &out->whole))
        return false;
    out->number = (double)out->whole;
    return in_range(option, out->number);
}

static bool parse_bool(const fg_option_text *text, fgi_option_item *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (int i = 0; i < 8 && !text->is_quoted; i++)
        if (fgi_equal_nocase(words[i], text->text)) {
            out->whole = i % 2;
            return true;
        }
    return false;
}

static fg_status keep_text(fg_option_values *values, const char *text, fgi_option_item *out,
                           fg_error *err)
{
    out->text = fgi_arena_strdup(&values->arena, text);
    return out->text != NULL ? FG_OK : fgi_no_memory(err);
}

/* A string that starts with ~/ is a path in the user's home folder. */
static fg_status parse_string(fg_option_values *values, const fg_option *option,
                              const fg_option_text *text, fgi_option_item *out, fg_error *err)
{
    char path[128], *expanded = NULL;
    if (strncmp(text->text, "~/", 2) != 0)
        return keep_text(values, text->text, out, err);
    FGI_TRY_CTX(fg_path_expand(text->text, &expanded, err), err, "%s",
                fgi_option_path(values, option, path, sizeof path));
    const fg_status status = keep_text(values, expanded, out, err);
    fgi_free(expanded);
    return status;
}

/* NAME or NAME: {...}. What is in the braces is parsed when the row with that name is known. */
static fg_status parse_entry(fg_option_values *values, const fg_option *option,
                             const fg_option_text *text, fgi_option_item *out, fg_error *err)
{
    size_t size = 0;
    while (fgi_is_alnum(text->text[size]) || text->text[size] == '_' || text->text[size] == '-')
        size++;
    const char *rest = text->text + size;
    const size_t rest_size = strlen(rest);
    const bool has_options =
        rest[0] == ':' && rest[1 + strspn(rest + 1, " ")] == '{' && rest[rest_size - 1] == '}';
    if (size == 0 || (rest_size > 0 && !has_options))
        return fgi_option_unexpected(values, option, text, err);
    return keep_text(values, text->text, out, err);
}

/* "4: 2"; keys are not negative. */
static bool parse_pair(const fg_option *option, const fg_option_text *text, fgi_option_item *out)
{
    int64_t value;
    if (text->key == NULL || !fgi_parse_i64(fgi_str_of(text->key), &out->whole) || out->whole < 0 ||
        !fgi_parse_i64(fgi_str_of(text->text), &value))
        return false;
    out->number = (double)value;
    return in_range(option, out->number);
}

static fg_status parse_strings(fg_option_values *values, const fg_option *option,
                               const fg_option_text *text, fgi_option_item *out, fg_error *err)
{
    if (text->key == NULL || *text->key == '\0')
        return fgi_option_unexpected(values, option, text, err);
    FGI_TRY(keep_text(values, text->text, out, err));
    out->value = out->text;
    return keep_text(values, text->key, out, err);
}

static fg_status parse_duration(fg_option_values *values, const fg_option *option,
                                const fg_option_text *text, fgi_option_item *out, fg_error *err)
{
    char path[128];
    if (!fgi_parse_duration(fgi_str_of(text->text), &out->number))
        return fgi_fail(err, FG_EINVAL,
                        "%s: expected a duration such as 90s, 8h30m or 00:08:30:00, got '%.80s'",
                        fgi_option_path(values, option, path, sizeof path), text->text);
    return keep_text(values, text->text, out, err);
}

static fg_status parse_devices(fg_option_values *values, const fg_option *option, const char *text,
                               fgi_option_item *out, fg_error *err)
{
    char path[128];
    const size_t size = 7 * strlen(text) + 8; /* ", " and a digit of each character at most */
    fg_error why = {0};
    char *formatted = fgi_arena_alloc(&values->arena, size);
    if (formatted == NULL)
        return fgi_no_memory(err);
    if (fg_devices_format(text, formatted, size, &why) != FG_OK)
        return fgi_fail(err, why.status, "%s: %s",
                        fgi_option_path(values, option, path, sizeof path), why.message);
    out->text = formatted;
    return FG_OK;
}

fg_status fgi_option_parse(fg_option_values *values, const fg_option *option,
                           const fg_option_text *text, fgi_option_item *out, fg_error *err)
{
    bool is_good = false;
    *out = (fgi_option_item){0};
    switch (option->kind) {
    case FG_OPTION_STRING: return parse_string(values, option, text, out, err);
    case FG_OPTION_STRINGS: return keep_text(values, text->text, out, err);
    case FG_OPTION_ENTRIES: return parse_entry(values, option, text, out, err);
    case FG_OPTION_CHOICE: return fgi_option_parse_choice(values, option, text, out, err);
    case FG_OPTION_STRING_MAP: return parse_strings(values, option, text, out, err);
    case FG_OPTION_DEVICES: return parse_devices(values, option, text->text, out, err);
    case FG_OPTION_DURATION: return parse_duration(values, option, text, out, err);
    case FG_OPTION_BOOL: is_good = parse_bool(text, out); break;
    case FG_OPTION_MAP: is_good = parse_pair(option, text, out); break;
    case FG_OPTION_AMOUNT: is_good = parse_amount(text, out); break;
    case FG_OPTION_INT:
    case FG_OPTION_FLOAT:
    case FG_OPTION_INTS:
    case FG_OPTION_FLOATS: is_good = parse_number(option, text, out); break;
    }
    return is_good ? FG_OK : fgi_option_unexpected(values, option, text, err);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Where the part that begins at `text` ends: at a comma outside brackets and quotes. */
static size_t part_size(const char *text)
{
    int depth = 0;
    char quote = '\0', before = ','; /* the quote that is open; the last character, not a space */
    for (size_t i = 0; text[i] != '\0'; i++) {
        const bool may_open = strchr(",:[{(=", before) != NULL;
        before = text[i] != ' ' ? text[i] : before;
        if (quote != '\0')
            quote = text[i] == quote ? '\0' : quote;
        else if (text[i] == '"' || (text[i] == '\'' && may_open)) /* not as in it's */
            quote = text[i];
        else if (strchr("([{", text[i]) != NULL)
            depth++;
        else if (depth > 0 && strchr(")]}", text[i]) != NULL)
            depth--;
        else if (depth == 0 && text[i] == ',')
            return i;
    }
    return strlen(text);
}

bool fgi_option_in_quotes(const char *text)
{
    const size_t size = strlen(text);
    return size >= 2 && (text[0] == '"' || text[0] == '\'') && text[size - 1] == text[0];
}

size_t fgi_option_split(char *text, fg_option_text *parts, size_t capacity)
{
    size_t count = 0;
    text += strspn(text, " ");
    if (*text == '\0')
        return 0;
    while (count < capacity) {
        const size_t size = part_size(text);
        const bool is_last = text[size] == '\0';
        char *end = text + size;
        while (end > text && end[-1] == ' ')
            end--;
        *end = '\0';
        parts[count++] = (fg_option_text){.text = text + strspn(text, " ")};
        if (is_last)
            break;
        text += size + 1;
    }
    return count;
}

char *fgi_option_split_pair(char *text)
{
    const char *quote = *text == '"' || *text == '\'' ? strchr(text + 1, *text) : NULL;
    char *colon = strchr(quote != NULL ? quote : text, ':');
    if (colon == NULL)
        return NULL;
    char *end = colon;
    while (end > text && end[-1] == ' ')
        end--;
    *end = '\0';
    return colon + 1 + strspn(colon + 1, " ");
}

bool fgi_option_split_map(char *text, fg_option_text *parts, size_t capacity, size_t *out_count)
{
    const size_t size = strlen(text);
    if (size < 2 || text[0] != '{' || text[size - 1] != '}')
        return false;
    text[size - 1] = '\0';
    *out_count = fgi_option_split(text + 1, parts, capacity);
    for (size_t i = 0; i < *out_count; i++) {
        const char *key = parts[i].text, *value = fgi_option_split_pair((char *)key);
        if (value != NULL)
            parts[i] = (fg_option_text){.text = value, .key = key};
    }
    return true;
}
