/* csv_cell.c - what a cell contains: a number, also as spreadsheets write it, a date, or text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "input/csv_table.h"

/* ---- cells ----------------------------------------------------------------------------------- */

static bool is_missing(fgi_str cell)
{
    static const char *const texts[] = {"NA",  "N/A",  "n/a",  "#N/A", "#NA",  "<NA>", "NaN", "nan",
                                        "NAN", "-nan", "-NaN", "null", "NULL", "None", "?"};
    if (cell.size == 0)
        return true;
    if (cell.size > 4)
        return false;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (fgi_str_equal(cell, texts[i]))
            return true;
    return false;
}

fgi_cell fgi_cell_number(fgi_str cell, double *out)
{
    if (fgi_parse_f64(cell, out) && !isnan(*out))
        return isinf(*out) ? FGI_CELL_INFINITE : FGI_CELL_NUMBER;
    return is_missing(cell) ? FGI_CELL_MISSING : FGI_CELL_TEXT;
}

/* ---- numbers of spreadsheets, dates ---------------------------------------------------------- */

static bool drop_mark(fgi_str *text, const char *mark, bool at_end)
{
    const size_t size = strlen(mark);
    if (text->size < size ||
        memcmp(at_end ? text->data + text->size - size : text->data, mark, size) != 0)
        return false;
    text->data += at_end ? 0 : size;
    text->size -= size;
    *text = fgi_str_trim(*text);
    return true;
}

/* Removes one sign of a currency or of percent. */
static fgi_str without_mark(fgi_str text)
{
    static const char *const marks[] = {
        "$",        "%",        "\xe2\x82\xac",
        "\xc2\xa3", "\xc2\xa5", "\xe2\x82\xb9", /* euro, pound, yen, rupee */
        "EUR",      "USD",      "GBP",
        "CHF"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if ((marks[i][0] != '%' && drop_mark(&text, marks[i], false)) ||
            drop_mark(&text, marks[i], true))
            break;
    return text;
}

static size_t digits(const char *text, size_t at, size_t size)
{
    size_t count = 0;
    while (at + count < size && text[at + count] >= '0' && text[at + count] <= '9')
        count++;
    return count;
}

/* Appends the integer part without its separators, all of them the same; returns where it ends. */
static size_t join_groups(fgi_str text, char decimal, char *out, size_t *out_size)
{
    size_t at = digits(text.data, 0, text.size);
    memcpy(out, text.data, at);
    *out_size = at;
    const char separator = at < text.size ? text.data[at] : '\0';
    const bool has_groups = at > 0 && at <= 3 && text.data[0] != '0' && separator != decimal &&
                            memchr(",.' ", separator, 4) != NULL;
    while (has_groups && at < text.size && text.data[at] == separator &&
           digits(text.data, at + 1, text.size) == 3) {
        memcpy(out + *out_size, text.data + at + 1, 3);
        *out_size += 3;
        at += 4;
    }
    return at;
}

/* Copies a cell; no-break spaces (U+00A0 and U+202F), as in French formats, become spaces. */
static fgi_str with_plain_spaces(fgi_str cell, char out[64])
{
    size_t size = 0;
    for (size_t at = 0; at < cell.size && size < 64; size++) {
        const char *c = cell.data + at;
        const size_t left = cell.size - at;
        const size_t width = left >= 2 && memcmp(c, "\xc2\xa0", 2) == 0       ? 2
                             : left >= 3 && memcmp(c, "\xe2\x80\xaf", 3) == 0 ? 3
                                                                              : 1;
        out[size] = width > 1 ? ' ' : *c;
        at += width;
    }
    return (fgi_str){out, size};
}

bool fgi_cell_spreadsheet(fgi_str cell, char decimal, double *out)
{
    char plain[64], spaced[64];
    size_t size = 0;
    fgi_str text = without_mark(fgi_str_trim(with_plain_spaces(cell, spaced)));
    const bool is_negative = text.size > 0 && text.data[0] == '-';
    if (is_negative || (text.size > 0 && text.data[0] == '+'))
        text = without_mark(fgi_str_trim((fgi_str){text.data + 1, text.size - 1}));
    if (text.size == 0 || text.size >= sizeof(plain) - 1 || text.data[0] == '-' ||
        text.data[0] == '+')
        return false;
    if (spaced[0] == '+' && memchr(text.data, ' ', text.size) != NULL)
        return false; /* a telephone number */
    const size_t at = join_groups(text, decimal, plain, &size);
    for (size_t i = at; i < text.size; i++) {
        const char c = text.data[i];
        if (c == '.' && decimal == ',')
            return false;
        plain[size++] = c == decimal ? '.' : c;
    }
    if (!fgi_parse_f64((fgi_str){plain, size}, out) || !isfinite(*out))
        return false;
    *out = is_negative ? -*out : *out;
    return true;
}

/* Reads up to 4 digits; returns how many. */
static size_t take_digits(fgi_str text, size_t *at, int *out)
{
    const size_t count = digits(text.data, *at, text.size);
    *out = 0;
    for (size_t i = 0; i < count && count <= 4; i++)
        *out = 10 * *out + (text.data[*at + i] - '0');
    *at += count;
    return count <= 4 ? count : 0;
}

/* Three numbers with one separator; *out_rest is what follows. */
static bool split_date(fgi_str text, int part[3], size_t width[3], fgi_str *out_rest)
{
    size_t at = 0;
    char separator = '\0';
    for (int i = 0; i < 3; i++) {
        if (i > 0 && (at >= text.size || strchr("-/.", text.data[at]) == NULL ||
                      (i == 2 && text.data[at] != separator)))
            return false;
        separator = i > 0 ? text.data[at++] : separator;
        width[i] = take_digits(text, &at, &part[i]);
        if (width[i] == 0)
            return false;
    }
    *out_rest = (fgi_str){text.data + at, text.size - at};
    return true;
}

/* "", or "T12:30", " 12:30:05.25", with or without a time zone, which is ignored. */
static bool take_time(fgi_str text, double *out_days)
{
    int hour = 0, minute = 0, second = 0;
    size_t at = 1;
    *out_days = 0;
    if (text.size == 0)
        return true;
    if ((text.data[0] != 'T' && text.data[0] != ' ') || take_digits(text, &at, &hour) == 0 ||
        at >= text.size || text.data[at++] != ':' || take_digits(text, &at, &minute) != 2)
        return false;
    if (at < text.size && text.data[at] == ':') {
        at++;
        if (take_digits(text, &at, &second) != 2)
            return false;
    }
    *out_days = (hour + (minute + second / 60.0) / 60) / 24;
    if (at < text.size && text.data[at] == '.')
        at += 1 + digits(text.data, at + 1, text.size);
    return hour < 24 && minute < 60 && second <= 60 &&
           (at == text.size || strchr("Z+- AP", text.data[at]) != NULL);
}

/* Days since 1970-01-01 in the Gregorian calendar. Source: Hinnant, "chrono-Compatible Low-Level
 * Date Algorithms", days_from_civil. */
static double days_since_1970(int year, int month, int day)
{
    const int y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y - era * 400;
    const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const int leap_days = of_era / 4 - of_era / 100;
    return era * 146097.0 + of_era * 365 + leap_days + of_year - 719468;
}

static bool is_day(int month, int day)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

bool fgi_cell_date(fgi_str cell, double *out)
{
    int part[3];
    size_t width[3];
    fgi_str rest;
    double time;
    if (!split_date(cell, part, width, &rest) || width[0] != 4 || !is_day(part[1], part[2]) ||
        !take_time(rest, &time))
        return false;
    *out = days_since_1970(part[0], part[1], part[2]) + time;
    return true;
}

bool fgi_cell_is_date(fgi_str cell)
{
    int part[3];
    size_t width[3];
    fgi_str rest;
    double time;
    if (!split_date(cell, part, width, &rest) || !take_time(rest, &time))
        return false;
    if (width[0] == 4)
        return is_day(part[1], part[2]);
    return (width[2] == 2 || width[2] == 4) &&
           (is_day(part[0], part[1]) || is_day(part[1], part[0]));
}
