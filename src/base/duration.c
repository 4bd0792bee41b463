/* duration.c - see duration.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"

#include <math.h>
#include <string.h>

#include "base/print.h"

static const struct {
    char name;
    double seconds;
} units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
enum { UNITS = sizeof(units) / sizeof(units[0]), MOST_S = 1000000000 };

/* The first characters up to one of `ends`; cuts them, and the end, off. False without such an end.
 */
static bool cut(fgi_str *text, const char *ends, fgi_str *out, char *out_end)
{
    size_t size = 0;
    while (size < text->size && strchr(ends, text->data[size]) == NULL)
        size++;
    *out = (fgi_str){text->data, size};
    *out_end = size < text->size ? text->data[size] : '\0';
    const size_t used = size < text->size ? size + 1 : size;
    *text = (fgi_str){text->data + used, text->size - used};
    return *out_end != '\0';
}

static bool is_decimal(fgi_str text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((text.data[i] < '0' || text.data[i] > '9') && text.data[i] != '.')
            return false;
    return text.size > 0;
}

/* "1d12h" */
static bool parse_units(fgi_str text, double *out_s)
{
    size_t next = 0; /* the largest unit that may follow */
    *out_s = 0;
    while (text.size > 0) {
        fgi_str digits;
        char name;
        double value;
        if (!cut(&text, "dhms", &digits, &name) || !is_decimal(digits) ||
            !fgi_parse_f64(digits, &value))
            return false;
        while (next < UNITS && units[next].name != name)
            next++;
        if (next == UNITS)
            return false;
        *out_s += value * units[next++].seconds;
    }
    return true;
}

/* "00:08:30:00" */
static bool parse_clock(fgi_str text, double *out_s)
{
    static const double factors[] = {24, 60, 60}; /* of what follows the first field */
    int64_t fields[4];
    int count = 0;
    char end = ':';
    while (end == ':' && count < 4) {
        fgi_str digits;
        (void)cut(&text, ":", &digits, &end);
        if (digits.size < 2 || !is_decimal(digits) || !fgi_parse_i64(digits, &fields[count++]))
            return false;
    }
    if (count < 3 || end == ':')
        return false;
    *out_s = (double)fields[0];
    for (int i = 1; i < count; i++) {
        if ((double)fields[i] >= factors[i + 3 - count])
            return false;
        *out_s = *out_s * factors[i + 3 - count] + (double)fields[i];
    }
    return true;
}

bool fgi_parse_duration(fgi_str text, double *out_s)
{
    text = fgi_str_trim(text);
    const bool is_clock = text.size > 0 && memchr(text.data, ':', text.size) != NULL;
    return (is_clock ? parse_clock(text, out_s) : parse_units(text, out_s)) && *out_s > 0 &&
           *out_s <= MOST_S;
}

const char *fgi_duration_words(double seconds, char out[32])
{
    const double minutes = floor(seconds / 60), hours = floor(seconds / 3600);
    if (!isfinite(seconds))
        out[0] = '\0';
    else if (seconds < 0.9995e-3 && seconds > 0) /* not 1e+03 us */
        (void)fgi_snprintf(out, 32, "%.3g us", seconds * 1e6);
    else if (seconds < 0.9995 && seconds > 0)
        (void)fgi_snprintf(out, 32, "%.3g ms", seconds * 1e3);
    else if (seconds < 100)
        (void)fgi_snprintf(out, 32, "%.3g s", seconds);
    else if (seconds < 3600)
        (void)fgi_snprintf(out, 32, "%.0f min %.0f s", minutes, floor(seconds - 60 * minutes));
    else
        (void)fgi_snprintf(out, 32, "%.0f h %.0f min", hours, floor(minutes - 60 * hours));
    return out;
}
