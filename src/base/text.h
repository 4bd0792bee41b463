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

/* Conversions of a whole string: false if it contains anything else, or the value is out of range.
 */
bool fgi_parse_i64(fgi_str text, int64_t *out);
/* Decimal, exponent, inf and nan; a value that is too small becomes 0; at most 511 bytes of text.
 */
bool fgi_parse_f64(fgi_str text, double *out);

/* strtod in the locale "C", for a number that is followed by other text. */
double fgi_strtod(const char *text, char **out_end);
/* Writes the shortest decimal representation that parses to the same number; size: 32 suffices. */
void fgi_format_f64(double value, char *out, size_t size);

/* Only ASCII letters and digits, in any locale: the Turkish 'I' is not the capital of 'i'. */
bool fgi_is_alnum(char c);
char fgi_lower(char c);
/* Whether text starts with prefix, or contains part, ignoring the case of ASCII letters. */
bool fgi_begins_nocase(const char *text, const char *prefix);
bool fgi_contains_nocase(const char *text, const char *part);
/* Compares two words ignoring the case of ASCII letters; 0 if equal, like strcasecmp. */
int fgi_compare_nocase(const char *a, const char *b);
/* Whether text ends in `end`, or is equal to it. */
bool fgi_ends_with(const char *text, const char *end);
/* Whether text ends in one of "a|b", in any case, and is longer. */
bool fgi_ends_in_one_of(const char *text, const char *ends);
/* Whether text is one of "a|b|c". */
bool fgi_is_one_of(const char *text, const char *list);
/* The part after the last `mark`, such as the name in a path; the whole text without one. */
const char *fgi_after_last(const char *text, char mark);

fgi_str fgi_str_of(const char *text);
bool fgi_str_equal(fgi_str a, const char *b);
/* Whether the text is one of YAML's spellings of null: null, Null, NULL, ~. */
bool fgi_is_null_word(fgi_str text);
/* The ending of a plural in a message, "%zu image%s": "" for 1. */
static inline const char *fgi_s(int64_t count) { return count == 1 ? "" : "s"; }
/* Without leading and trailing spaces, tabs and line ends. */
fgi_str fgi_str_trim(fgi_str text);

/* The next part of a list such as "cat; dog", whose parts are separated by any of the characters:
 * not empty, without spaces around it. False at the end of the list. */
bool fgi_str_next(fgi_str *rest, const char *separators, fgi_str *out);

/* Bytes of the byte order mark that a UTF-8 text of some editors begins with: 3, or 0. */
size_t fgi_utf8_mark(const void *text, size_t size);
/* Length of the UTF-8 sequence at `text`, 0 if it is invalid. size > 0. */
size_t fgi_utf8_length(const unsigned char *text, size_t size);
bool fgi_text_is_utf8(fgi_str text);
/* Replaces each byte that is not valid UTF-8 by a question mark. */
void fgi_text_make_utf8(char *text);
/* Bytes of the longest beginning of a UTF-8 text that takes at most `columns` columns of a
 * terminal, 2 per East Asian wide character and 0 per combining one. *out_used (may be NULL): how
 * many it takes. An invalid byte takes one. */
size_t fgi_text_fit(const char *text, size_t columns, size_t *out_used);
/* The columns of the whole text. */
size_t fgi_text_columns(const char *text);
/* A file name for a message: line ends become \n, backslashes \\, other control characters and
 * invalid UTF-8 \xHH; ends in "..." if it does not fit. size >= 4, including the NUL. Returns the
 * length. */
size_t fgi_text_escape(fgi_str text, char *out, size_t size);

/* Edit distance: the number of single-character edits from a to b (insert, delete, replace, swap of
 * neighbors). */
size_t fgi_edit_distance(const char *a, const char *b);
/* The candidate closest to `word`, or NULL if none is within a third of its length (at least 2
 * edits, but never the whole word). `candidates` is `count` strings. */
const char *fgi_nearest(const char *word, const char *const *candidates, size_t count);
/* The end of a message about an unknown word: ": did you mean 'seed'?", or ": expected one of a|b",
 * or "" if these do not fit. size >= 1. Returns `out`. */
const char *fgi_suggest(const char *word, const char *const *candidates, size_t count, char *out,
                        size_t size);

#endif
