/* option.h - what the files of this folder see of values.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OPTION_OPTION_H
#define FGI_OPTION_OPTION_H

#include <fulgurite/option.h>

#include "base/arena.h"

enum { FGI_MOST_ITEMS = 256 };

/* One number, flag or string; which one depends on the option's kind. */
typedef struct fgi_option_item {
    int64_t whole;
    double number;
    const char *text;
    const char *alias; /* another program's word that was given for `text`, NULL: none */
    bool is_fraction;  /* an amount: `number` of the whole, not a count of `whole` */
} fgi_option_item;

typedef struct fgi_option_value {
    fgi_option_item *items;
    size_t count;
    bool is_auto;
    const char *place; /* where it was given; NULL: it is the default */
} fgi_option_value;

struct fg_option_values {
    fgi_arena arena; /* every text and item, also those of values that were replaced */
    const char *section;
    const fg_option *options; /* borrowed */
    size_t count;
    fgi_option_value *values; /* by option */
};

/* The path of an option in messages, "model.hidden". */
const char *fgi_option_path(const fg_option_values *values, const fg_option *option, char *out,
                            size_t size);
/* "PATH: expected ..., got '...'", FG_EINVAL. */
fg_status fgi_option_unexpected(const fg_option_values *values, const fg_option *option,
                                const fg_option_text *text, fg_error *err);
/* Reads one item (parse.c); its texts belong to the arena. */
fg_status fgi_option_parse(fg_option_values *values, const fg_option *option,
                           const fg_option_text *text, fgi_option_item *out, fg_error *err);
/* Choices in any case and other programs' spellings of them (choice.c). */
fg_status fgi_option_parse_choice(fg_option_values *values, const fg_option *option,
                                  const fg_option_text *text, fgi_option_item *out, fg_error *err);
/* Splits a text at the commas outside of brackets and quotes, in place; spaces around the parts do
 * not count. Returns the number of parts, at most `capacity`. */
size_t fgi_option_split(char *text, fg_option_text *parts, size_t capacity);

/* Whether two words are equal but for case, '-', '_' and spaces: "ResNet-18" is "resnet18". */
bool fgi_is_same_word(const char *a, size_t size, const char *b);
/* Whether the text is one of "a|b|c". */
bool fgi_is_listed(const char *list, const char *text);
/* Whether two texts are equal, ASCII letters compared without case. */
bool fgi_equal_nocase(const char *a, const char *b);

#endif
