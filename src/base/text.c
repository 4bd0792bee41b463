/* text.c - locale-independent parsing of numbers, and the closest name for a misspelled one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/print.h"

enum { LONGEST_NUMBER = 512, LONGEST_WORD = 255 };

fgi_str fgi_str_of(const char *text) { return (fgi_str){.data = text, .size = strlen(text)}; }

bool fgi_str_equal(fgi_str a, const char *b)
{
    const size_t size = strlen(b);
    return a.size == size && (size == 0 || memcmp(a.data, b, size) == 0);
}

bool fgi_is_null_word(fgi_str text)
{
    return fgi_str_equal(text, "null") || fgi_str_equal(text, "Null") ||
           fgi_str_equal(text, "NULL") || fgi_str_equal(text, "~");
}

char fgi_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

bool fgi_is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (fgi_lower(c) >= 'a' && fgi_lower(c) <= 'z');
}

bool fgi_begins_nocase(const char *text, const char *prefix)
{
    while (*prefix != '\0' && fgi_lower(*text) == fgi_lower(*prefix)) {
        text++;
        prefix++;
    }
    return *prefix == '\0';
}

bool fgi_contains_nocase(const char *text, const char *part)
{
    while (*text != '\0' && !fgi_begins_nocase(text, part))
        text++;
    return fgi_begins_nocase(text, part);
}

bool fgi_ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

int fgi_compare_nocase(const char *a, const char *b)
{
    while (*a != '\0' && fgi_lower(*a) == fgi_lower(*b)) {
        a++;
        b++;
    }
    return fgi_lower(*a) - fgi_lower(*b);
}

bool fgi_ends_in_one_of(const char *text, const char *ends)
{
    const size_t length = strlen(text);
    for (const char *end = ends; *end != '\0'; end += strspn(end, "|")) {
        const size_t size = strcspn(end, "|");
        size_t same = 0;
        while (length > size && same < size &&
               fgi_lower(text[length - size + same]) == fgi_lower(end[same]))
            same++;
        if (length > size && same == size)
            return true;
        end += size;
    }
    return false;
}

bool fgi_is_one_of(const char *text, const char *list)
{
    const size_t size = strlen(text);
    for (const char *at = list; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        if (strcspn(at, "|") == size && memcmp(at, text, size) == 0)
            return true;
    }
    return false;
}

const char *fgi_after_last(const char *text, char mark)
{
    const char *last = strrchr(text, mark);
    return last != NULL ? last + 1 : text;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

fgi_str fgi_str_trim(fgi_str text)
{
    while (text.size > 0 && is_blank(text.data[0])) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && is_blank(text.data[text.size - 1]))
        text.size--;
    return text;
}

bool fgi_str_next(fgi_str *rest, const char *separators, fgi_str *out)
{
    while (rest->size > 0) {
        size_t size = 0;
        while (size < rest->size && strchr(separators, rest->data[size]) == NULL)
            size++;
        *out = fgi_str_trim((fgi_str){rest->data, size});
        size += size < rest->size;
        *rest = (fgi_str){rest->data + size, rest->size - size};
        if (out->size > 0)
            return true;
    }
    return false;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Consumes an optional sign; true if it is a minus. */
static bool take_sign(fgi_str *text)
{
    if (text->size == 0 || (text->data[0] != '-' && text->data[0] != '+'))
        return false;
    const bool is_minus = text->data[0] == '-';
    text->data++;
    text->size--;
    return is_minus;
}

bool fgi_parse_i64(fgi_str text, int64_t *out)
{
    const bool is_minus = take_sign(&text);
    if (text.size == 0)
        return false;
    int64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (!is_digit(text.data[i]))
            return false;
        const int digit = text.data[i] - '0';
        /* accumulated as a negative number, whose range is larger by one */
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value))
            return false;
    }
    if (!is_minus && value == INT64_MIN)
        return false;
    *out = is_minus ? value : -value;
    return true;
}

/* The parts of a decimal number: mantissa * 10^exponent, exact if `is_small`. */
typedef struct decimal {
    uint64_t mantissa;
    int64_t exponent;
    bool is_small; /* at most 15 digits */
} decimal;

/* Consumes digits into d; digits after the decimal point decrement the exponent. Returns their
 * number. */
static size_t take_digits(fgi_str *text, decimal *d, bool is_fraction)
{
    size_t count = 0;
    for (; text->size > 0 && is_digit(text->data[0]); text->data++, text->size--, count++) {
        if (d->mantissa >= UINT64_C(100000000000000)) {
            d->is_small = false;
            continue;
        }
        d->mantissa = d->mantissa * 10 + (uint64_t)(text->data[0] - '0');
        d->exponent -= is_fraction;
    }
    return count;
}

/* False if the text is not digits[.digits][e[sign]digits] with a digit before the exponent. */
static bool parse_decimal(fgi_str text, decimal *d)
{
    *d = (decimal){.is_small = true};
    size_t digits = take_digits(&text, d, false);
    if (text.size > 0 && text.data[0] == '.') {
        text.data++;
        text.size--;
        digits += take_digits(&text, d, true);
    }
    if (digits == 0)
        return false;
    if (text.size == 0)
        return true;
    if (text.data[0] != 'e' && text.data[0] != 'E')
        return false;
    text.data++;
    text.size--;
    decimal power = {.is_small = true};
    const bool is_minus = take_sign(&text);
    if (take_digits(&text, &power, false) == 0 || text.size != 0)
        return false;
    d->exponent += is_minus ? -(int64_t)power.mantissa : (int64_t)power.mantissa;
    return true;
}

/* `word` is in lower case. */
static bool is_word(fgi_str text, const char *word)
{
    size_t i = 0;
    while (i < text.size && word[i] != '\0' && fgi_lower(text.data[i]) == word[i])
        i++;
    return i == text.size && word[i] == '\0';
}

static bool parse_special(fgi_str text, double *out)
{
    if (is_word(text, "inf") || is_word(text, "infinity"))
        *out = HUGE_VAL;
    else if (is_word(text, "nan"))
        *out = (double)NAN;
    else
        return false;
    return true;
}

double fgi_strtod(const char *text, char **out_end)
{
    const locale_t before = fgi_locale_enter();
    const double value = strtod(text, out_end);
    fgi_locale_leave(before);
    return value;
}

void fgi_format_f64(double value, char *out, size_t size)
{
    for (int precision = 1; precision <= 17; precision++) {
        (void)fgi_snprintf(out, size, "%.*g", precision, value);
        if (fgi_strtod(out, NULL) == value)
            break;
    }
}

/* libc's correctly rounded conversion, for text that is known to be a decimal number. */
static bool convert(fgi_str text, double *out)
{
    char copy[LONGEST_NUMBER];
    if (text.size >= sizeof(copy))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *out = fgi_strtod(copy, NULL);
    return isfinite(*out);
}

bool fgi_parse_f64(fgi_str text, double *out)
{
    /* powers of ten that are exact in f64 */
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool is_minus = take_sign(&text);
    double value;
    decimal d;
    if (!parse_decimal(text, &d)) {
        if (!parse_special(text, &value))
            return false;
    } else if (d.is_small && d.exponent >= -22 && d.exponent <= 22) {
        /* both operands exact, so one correctly rounded operation is the right answer */
        value = d.exponent < 0 ? (double)d.mantissa / ten[-d.exponent]
                               : (double)d.mantissa * ten[d.exponent];
    } else if (!convert(text, &value)) {
        return false;
    }
    *out = is_minus ? -value : value;
    return true;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Row by row through the matrix of distances of prefixes; the row before the previous one is needed
 * for swapped neighbors. */
static size_t distance(fgi_str a, fgi_str b)
{
    size_t rows[3][LONGEST_WORD + 1];
    for (size_t j = 0; j <= b.size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        const size_t *before = rows[(i + 2) % 3], *before2 = rows[(i + 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            const size_t replace = before[j - 1] + (a.data[i - 1] != b.data[j - 1]);
            row[j] = smaller(replace, smaller(before[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
                row[j] = smaller(row[j], before2[j - 2] + 1);
        }
    }
    return rows[a.size % 3][b.size];
}

size_t fgi_edit_distance(const char *a, const char *b)
{
    const fgi_str left = fgi_str_of(a), right = fgi_str_of(b);
    if (left.size > LONGEST_WORD || right.size > LONGEST_WORD) /* there is no closest name */
        return strcmp(a, b) == 0 ? 0 : left.size > right.size ? left.size : right.size;
    return distance(left, right);
}

const char *fgi_nearest(const char *word, const char *const *candidates, size_t count)
{
    const size_t size = strlen(word);
    size_t best = size / 3 > 2 ? size / 3 + 1 : 3; /* the first distance that is too large */
    best = smaller(best, size);
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        const size_t edits = fgi_edit_distance(word, candidates[i]);
        if (edits < best) {
            best = edits;
            nearest = candidates[i];
        }
    }
    return nearest;
}

/* Returns whether they fit. */
static bool list_words(const char *const *words, size_t count, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < count && used < size; i++) {
        const int length =
            snprintf(out + used, size - used, "%s%s", i > 0 ? "|" : ": expected one of ", words[i]);
        used = length >= 0 ? used + (size_t)length : size;
    }
    return used < size;
}

const char *fgi_suggest(const char *word, const char *const *candidates, size_t count, char *out,
                        size_t size)
{
    const char *nearest = fgi_nearest(word, candidates, count);
    out[0] = '\0';
    if (nearest != NULL)
        (void)fgi_snprintf(out, size, ": did you mean '%s'?", nearest);
    else if (!list_words(candidates, count, out, size))
        out[0] = '\0';
    return out;
}

size_t fgi_utf8_mark(const void *text, size_t size)
{
    return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

size_t fgi_utf8_length(const unsigned char *text, size_t size)
{
    const unsigned char lead = text[0];
    if (lead < 0x80)
        return 1;
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || size < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    const bool is_bad = (lead == 0xe0 && text[1] < 0xa0) ||  /* overlong encoding */
                        (lead == 0xed && text[1] >= 0xa0) || /* surrogates */
                        (lead == 0xf0 && text[1] < 0x90) ||
                        (lead == 0xf4 && text[1] >= 0x90); /* past U+10FFFF */
    return is_bad ? 0 : length;
}

bool fgi_text_is_utf8(fgi_str text)
{
    size_t length = 1;
    for (size_t i = 0; i < text.size && length > 0; i += length)
        length = fgi_utf8_length((const unsigned char *)text.data + i, text.size - i);
    return length > 0;
}

void fgi_text_make_utf8(char *text)
{
    const size_t size = strlen(text);
    for (size_t at = 0, length; at < size; at += length) {
        length = fgi_utf8_length((const unsigned char *)text + at, size - at);
        if (length == 0) {
            text[at] = '?';
            length = 1;
        }
    }
}

/* Source: Unicode 15, EastAsianWidth.txt (W and F) and general categories Mn and Cf, by block. */
static size_t columns_of(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        size_t columns;
    } blocks[] = {{0x300, 0x36f, 0},     {0x200b, 0x200f, 0},   {0xfe00, 0xfe0f, 0},
                  {0x1100, 0x115f, 2},   {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},
                  {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff01, 0xff60, 2},
                  {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2},
                  {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2}};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (c >= blocks[i].first && c <= blocks[i].last)
            return blocks[i].columns;
    return 1;
}

size_t fgi_text_fit(const char *text, size_t columns, size_t *out_used)
{
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t size = strlen(text);
    size_t at = 0, used = 0;
    while (at < size) {
        const size_t length = fgi_utf8_length(bytes + at, size - at);
        uint32_t c = length < 2 ? 0 : bytes[at] & (0xffu >> (length + 1));
        for (size_t i = 1; i < length; i++)
            c = c << 6 | (bytes[at + i] & 0x3f);
        const size_t more = columns_of(c);
        if (more > columns - used)
            break;
        used += more;
        at += length > 0 ? length : 1;
    }
    if (out_used != NULL)
        *out_used = used;
    return at;
}

size_t fgi_text_columns(const char *text)
{
    size_t used;
    (void)fgi_text_fit(text, SIZE_MAX, &used);
    return used;
}

static bool is_plain(unsigned char c) { return c >= 0x20 && c != 0x7f && c != '\\'; }

static size_t escape_byte(unsigned char c, char out[5])
{
    static const char digits[] = "0123456789abcdef";
    out[0] = '\\';
    out[1] = c == '\n' ? 'n' : c == '\\' ? '\\' : 'x';
    out[2] = digits[c >> 4];
    out[3] = digits[c & 15];
    return out[1] == 'x' ? 4 : 2;
}

size_t fgi_text_escape(fgi_str text, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < text.size;) {
        const char *at = text.data + i;
        const unsigned char *byte = (const unsigned char *)at;
        char escaped[5];
        size_t step = is_plain(*byte) ? fgi_utf8_length(byte, text.size - i) : 0;
        const size_t width = step > 0 ? step : escape_byte(*byte, escaped);
        if (used + width + 4 > size) { /* room for the dots */
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(out + used, step > 0 ? at : escaped, width);
        used += width;
        i += step > 0 ? step : 1;
    }
    out[used] = '\0';
    return used;
}
