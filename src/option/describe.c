/* describe.c - descriptions of an option for messages, help and documentation, derived from its
 * row.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "option/option.h"

bool fg_option_is_list(const fg_option *option)
{
    return option->kind == FG_OPTION_INTS || option->kind == FG_OPTION_FLOATS ||
           option->kind == FG_OPTION_STRINGS || option->kind == FG_OPTION_ENTRIES ||
           fgi_option_is_map(option);
}

bool fgi_option_is_map(const fg_option *option)
{
    return option->kind == FG_OPTION_MAP || option->kind == FG_OPTION_STRING_MAP;
}

static void put_range(const fg_option *option, char *out, size_t size)
{
    const bool is_integer = option->kind == FG_OPTION_INT || option->kind == FG_OPTION_INTS;
    const fgi_option_range r = fgi_option_range_of(option);
    out[0] = '\0';
    if (r.min == -HUGE_VAL)
        return;
    if (r.max < (is_integer ? FG_OPTION_UNLIMITED : FGI_OPTION_LARGEST))
        (void)fgi_snprintf(out, size, "%s%.10g%s%.10g",
                           r.excludes_min ? " greater than " : " from ", r.min,
                           r.excludes_min   ? r.excludes_max ? " and less than " : ", at most "
                           : r.excludes_max ? " to less than "
                                            : " to ",
                           r.max);
    else
        (void)fgi_snprintf(out, size, r.excludes_min ? " greater than %g" : ", %g or greater",
                           r.min);
}

/* " 2" or " 1 to 16": how many elements a list may have; "" for any number. */
static void put_count(const fg_option *option, char *out, size_t size)
{
    out[0] = '\0';
    if (option->max_count > option->min_count)
        (void)fgi_snprintf(out, size, " %u to %u", option->min_count, option->max_count);
    else if (option->max_count > 0)
        (void)fgi_snprintf(out, size, " %u", option->max_count);
}

const char *fg_option_type(const fg_option *option, char *out, size_t size)
{
    static const char *const kinds[] = {
        [FG_OPTION_INT] = "an integer",
        [FG_OPTION_FLOAT] = "a number",
        [FG_OPTION_BOOL] = "true or false",
        [FG_OPTION_STRING] = "a string",
        [FG_OPTION_CHOICE] = "one of ",
        [FG_OPTION_AMOUNT] = "a fraction (0.0 to 1.0) or a count",
        [FG_OPTION_DEVICES] = "a number of devices, -1 (all), or a list of them, counted from 0",
        [FG_OPTION_INTS] = "integers",
        [FG_OPTION_FLOATS] = "numbers",
        [FG_OPTION_STRINGS] = "strings",
        [FG_OPTION_STRING_MAP] = "a map, {KEY: VALUE, ...}",
        [FG_OPTION_DURATION] = "a duration",
        [FG_OPTION_ENTRIES] = "names, each with options: NAME: {OPTION: VALUE, ...}",
        [FG_OPTION_MAP] = "a map of integers, {KEY: VALUE, ...}",
    };
    char range[96] = "", count[32];
    const bool is_list = fg_option_is_list(option) && !fgi_option_is_map(option);
    const bool is_choice = option->kind == FG_OPTION_CHOICE;
    put_count(option, count, sizeof count);
    if (option->kind == FG_OPTION_INT || option->kind == FG_OPTION_INTS ||
        option->kind == FG_OPTION_FLOAT || option->kind == FG_OPTION_FLOATS)
        put_range(option, range, sizeof range);
    (void)fgi_snprintf(out, size, "%s%s%s%s%s%s%s", is_list ? "a list of" : "", count,
                       is_list ? " " : "", kinds[option->kind], is_choice ? option->range : "",
                       range,
                       !is_choice && fgi_option_range_of(option).has_auto ? ", or auto" : "");
    return out;
}

const char *fg_option_describe(const fg_option *option, char *out, size_t size)
{
    const bool is_closed = option->kind == FG_OPTION_CHOICE || option->kind == FG_OPTION_BOOL;
    (void)fg_option_type(option, out, size);
    const size_t used = strlen(out);
    if (!is_closed && option->example != NULL)
        (void)fgi_snprintf(out + used, size - used, " (for example %s)", option->example);
    return out;
}

const char *fgi_option_spellings(const fg_option *option, char *out, size_t size)
{
    const char *ours = NULL;
    size_t ours_size = 0, used = 0;
    out[0] = '\0';
    for (const char *at = option->spellings; at != NULL && *at != '\0' && used < size;) {
        const size_t theirs = strcspn(at, "="), all = strcspn(at, "|");
        const char *word = at + theirs + 1;
        const size_t word_size = all - theirs - 1;
        const bool is_same =
            ours != NULL && ours_size == word_size && strncmp(ours, word, word_size) == 0;
        if (ours != NULL && !is_same)
            used +=
                (size_t)fgi_snprintf(out + used, size - used, " for %.*s; ", (int)ours_size, ours);
        if (used < size)
            used += (size_t)fgi_snprintf(out + used, size - used, "%s%.*s", is_same ? ", " : "",
                                         (int)theirs, at);
        ours = word;
        ours_size = word_size;
        at += all + (at[all] == '|');
    }
    if (ours != NULL && used < size)
        (void)fgi_snprintf(out + used, size - used, " for %.*s", (int)ours_size, ours);
    return out;
}

const char *fgi_option_path(const fg_option_values *values, const fg_option *option, char *out,
                            size_t size)
{
    const bool has_section = values->section[0] != '\0';
    (void)fgi_snprintf(out, size, "%s%s%s", values->section, has_section ? "." : "", option->name);
    return out;
}

/* "0,01" as "0.01"; false if the text is not a number with a decimal comma. */
static bool with_point(const char *text, char *out, size_t size)
{
    double value;
    (void)fgi_snprintf(out, size, "%s", text);
    char *comma = strchr(out, ',');
    if (comma == NULL || strlen(text) >= size)
        return false;
    *comma = '.';
    return fgi_parse_f64(fgi_str_of(out), &value);
}

/* Why a number is not accepted, if the description of the option does not say it; else "". */
static const char *reason_of(const fg_option *option, const char *text, char *out, size_t size)
{
    const bool is_float = option->kind == FG_OPTION_FLOAT || option->kind == FG_OPTION_FLOATS ||
                          option->kind == FG_OPTION_AMOUNT;
    const bool is_number =
        is_float || option->kind == FG_OPTION_INT || option->kind == FG_OPTION_INTS;
    char number[32];
    double value = 0;
    out[0] = '\0';
    if (is_float && with_point(text, number, sizeof number))
        (void)fgi_snprintf(out, size, ": did you mean '%s'?", number);
    if (!is_number || !fgi_parse_f64(fgi_str_of(text), &value))
        return out;
    const int magnitude = is_float ? fgi_option_magnitude(text, value) : 0;
    const double max = fgi_option_range_of(option).max;
    if (max == (is_float ? FGI_OPTION_LARGEST : FG_OPTION_UNLIMITED) && value > max)
        (void)fgi_snprintf(out, size, ": the largest value is %.16g", max);
    else if (magnitude != 0 && !isnan(value))
        (void)fgi_snprintf(out, size, ": too %s for f32 (%s)", magnitude > 0 ? "large" : "small",
                           magnitude > 0 ? "at most 3.4e38" : "0, or at least 1.2e-38");
    return out;
}

/* ": write [early_stop: {patience: 3}]" for "early_stop(patience=3)", {0: 1, 4: 2} for "0=1,4=2",
 * [10, 20] for "10:20", [csv, jsonl] for "csv, jsonl". */
const char *fgi_option_list_of(const fg_option *option, const char *text, char *out, size_t size)
{
    static const char write[] = ": write ";
    const bool is_map = fgi_option_is_map(option), is_entry = option->kind == FG_OPTION_ENTRIES;
    const bool is_ints = option->kind == FG_OPTION_INTS;
    const bool is_list = strpbrk(text, is_map ? "=:" : is_ints ? ",:" : "(,") != NULL;
    const bool is_open = strchr(text, '(') != NULL, is_closed = fgi_ends_with(text, ")");
    out[0] = '\0';
    if (is_open != is_closed || text[0] == '(' || !(is_map || is_entry || is_ints) || !is_list ||
        strpbrk(text, "[]{}\"'") != NULL || 3 * strlen(text) + sizeof write + 2 > size)
        return out;
    size_t used = (size_t)fgi_snprintf(out, size, "%s%c", write, is_map ? '{' : '[');
    for (const char *c = text; *c != '\0'; c += 1 + strspn(c + 1, " ")) {
        const bool is_pair = *c == '=' || (*c == ':' && is_map);
        const bool is_comma = *c == ',' || (*c == ':' && is_ints);
        const char one[2] = {*c == ')' ? '}' : *c, '\0'};
        const char *put = is_pair ? ": " : is_comma ? ", " : *c == '(' ? ": {" : one;
        used += (size_t)fgi_snprintf(out + used, size - used, "%s", put);
    }
    (void)fgi_snprintf(out + used, size - used, "%s", is_map ? "}" : "]");
    return out;
}

/* Whether the text would be accepted without its quotes, as far as its form says. */
static bool has_needless_quotes(const fg_option *option, const fg_option_text *text)
{
    switch (option->kind) {
    case FG_OPTION_CHOICE:
    case FG_OPTION_STRING:
    case FG_OPTION_MAP:
    case FG_OPTION_STRING_MAP:
    case FG_OPTION_ENTRIES: return false;
    default: return text->is_quoted;
    }
}

const char *fgi_option_expected(const fg_option *option, const char *path, char *out, size_t size)
{
    enum { LONGEST_LIST = 200 };
    int names = 1;
    if (option->kind != FG_OPTION_CHOICE || strlen(option->range) <= LONGEST_LIST)
        return fg_option_describe(option, out, size);
    for (const char *at = option->range; (at = strchr(at, '|')) != NULL; at++)
        names++;
    (void)fgi_snprintf(out, size, "one of %d names (`fulgurite help config %s` lists them)", names,
                       path);
    return out;
}

fg_status fgi_option_unexpected(const fg_option_values *values, const fg_option *option,
                                const fg_option_text *text, fg_error *err)
{
    char path[128], expected[384], reason[96], list[256];
    (void)fgi_option_list_of(option, text->text, list, sizeof list);
    const bool has_quotes = list[0] == '\0' && has_needless_quotes(option, text);
    (void)fgi_option_path(values, option, path, sizeof path);
    return fgi_fail(err, FG_EINVAL, "%s: expected %s, got %s'%s%s%.80s'%s%s%s", path,
                    fgi_option_expected(option, path, expected, sizeof expected),
                    has_quotes ? "the string " : "", text->key != NULL ? text->key : "",
                    text->key != NULL ? ": " : "", text->text,
                    has_quotes ? ": remove the quotes" : "",
                    reason_of(option, text->text, reason, sizeof reason), list);
}
