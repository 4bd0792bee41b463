/* text.h - parsing of numbers and small text helpers. Parsers take (pointer, length), never trust
 * a NUL and never look at the locale.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_TEXT_H
#define FGI_BASE_TEXT_H

#include <fulgurite/base.h>

typedef struct fgi_str {
    const char *data;
    size_t size;
} fgi_str;

/* Whole-string conversions: false when there is anything else in the text, or out of range. */
bool fgi_parse_i64(fgi_str text, int64_t *out);
/* Decimal, exponent, inf and nan; a number too small becomes 0; at most 511 bytes of text. */
bool fgi_parse_f64(fgi_str text, double *out);

/* strtod in the locale "C", for a number with something else behind it. */
double fgi_strtod(const char *text, char **out_end);

/* ASCII letters and digits only, whatever the locale: a Turkish 'I' is not the capital of 'i'. */
bool fgi_is_alnum(char c);
char fgi_lower(char c);
/* Whether text begins with prefix, ASCII letters compared without case. */
bool fgi_begins_nocase(const char *text, const char *prefix);

fgi_str fgi_str_of(const char *text);
bool fgi_str_equal(fgi_str a, const char *b);
/* Without spaces, tabs and line ends at both ends. */
fgi_str fgi_str_trim(fgi_str text);

/* Number of single-character edits from a to b (insert, delete, replace, swap of neighbours). */
size_t fgi_edit_distance(const char *a, const char *b);
/* The candidate nearest to `word`, or NULL when none is within a third of its length (at least 2
 * edits, but never the whole of the word). `candidates` is `count` strings. */
const char *fgi_nearest(const char *word, const char *const *candidates, size_t count);

#endif
