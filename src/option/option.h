/* option.h - internals of option values.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OPTION_OPTION_H
#define FGI_OPTION_OPTION_H

#include <fulgurite/option.h>

#include "base/arena.h"

/* The largest number of a range without an upper limit; of integers, FG_OPTION_UNLIMITED. */
#define FGI_OPTION_LARGEST 1e30

/* One number, flag or string; which one depends on the option's kind. */
typedef struct fgi_option_item {
    int64_t whole;
    double number;
    const char *text;
    const char *value; /* of a pair of strings, whose key is `text` */
    const char *alias; /* the other program's spelling that was given, NULL: none */
    bool is_fraction;  /* an amount given as a fraction, in `number`, not as a count, in `whole` */
} fgi_option_item;

typedef struct fgi_option_value {
    fgi_option_item *items;
    size_t count;
    bool is_auto;
    const char *place; /* where it was given; NULL: default */
} fgi_option_value;

struct fg_option_values {
    fgi_arena arena; /* all strings and items, including those of replaced values */
    const char *section;
    const fg_option *options; /* borrowed */
    size_t count;
    fgi_option_value *values; /* by option */
};

/* The range of a number, and whether the word auto is accepted (range.c). */
typedef struct fgi_option_range {
    double min, max; /* -INFINITY, INFINITY: no limit */
    bool excludes_min, excludes_max;
    bool has_auto;
} fgi_option_range;
fgi_option_range fgi_option_range_of(const fg_option *option);

/* The path of an option for messages, "model.hidden". */
const char *fgi_option_path(const fg_option_values *values, const fg_option *option, char *out,
                            size_t size);
/* What an error says is expected: that of fg_option_describe, or for a long list of choices how
 * many there are. */
const char *fgi_option_expected(const fg_option *option, const char *path, char *out, size_t size);
/* "PATH: expected ..., got '...'", FG_EINVAL. */
fg_status fgi_option_unexpected(const fg_option_values *values, const fg_option *option,
                                const fg_option_text *text, fg_error *err);
/* Parses one item (parse.c); its strings belong to the arena. */
fg_status fgi_option_parse(fg_option_values *values, const fg_option *option,
                           const fg_option_text *text, fgi_option_item *out, fg_error *err);
/* Choices in any case and other programs' spellings of them (choice.c). */
fg_status fgi_option_parse_choice(fg_option_values *values, const fg_option *option,
                                  const fg_option_text *text, fgi_option_item *out, fg_error *err);
/* Whether the whole text is in double or in single quotes. */
bool fgi_option_in_quotes(const char *text);
/* Splits a string in place at commas outside brackets and quotes, and strips spaces around the
 * parts. Returns the number of parts, at most `capacity`. */
size_t fgi_option_split(char *text, fg_option_text *parts, size_t capacity);

/* Splits "KEY: VALUE" in place at the first colon that is not in quotes; a space after it is not
 * needed, for command lines. Returns the value, or NULL if there is none. */
char *fgi_option_split_pair(char *text);
/* Splits "{KEY: VALUE, ...}" in place; an element without a value has no key. False for any other
 * text, which is not changed. */
bool fgi_option_split_map(char *text, fg_option_text *parts, size_t capacity, size_t *out_count);
/* Whether the value is a map; it is then also a list, of pairs. */
bool fgi_option_is_map(const fg_option *option);
/* What to write for a list or a map that is one string, as in configurations of earlier versions:
 * ": write {0: 1, 4: 2}" for "0=1,4=2". "" for any other text. */
const char *fgi_option_list_of(const fg_option *option, const char *text, char *out, size_t size);

/* Of a decimal number and its value in f64: 1 if it is too large for f32, -1 if it is not 0 but too
 * small for a normal f32, else 0. */
int fgi_option_magnitude(const char *text, double value);

/* Whether two words are equal, ignoring case, '-', '_' and spaces: "ResNet-18" equals
 * "resnet18". */
bool fgi_is_same_word(const char *a, size_t size, const char *b);
/* Whether the text is one of "a|b|c". */
bool fgi_is_listed(const char *list, const char *text);
/* Whether two strings are equal, ignoring the case of ASCII letters. */
bool fgi_equal_nocase(const char *a, const char *b);

/* Whether the word is the row's name or one of its spellings. */
bool fgi_entry_is_called(const fg_entry *entry, const char *word);
/* The row with that name or spelling. Errors: FG_ENOTFOUND and NULL, "unknown KIND 'NAME'", with a
 * suggestion. */
const fg_entry *fgi_entry_find(const fg_entry *const *entries, size_t count, const char *kind,
                               const char *name, fg_error *err);

/* ---- structs filled from values (fill.c) ----------------------------------------------------- */

/* Values of a row's options: those of a text, "{lr: 0.1}" (NULL: none), defaults for the others. */
fg_status fgi_entry_values(const fg_entry *entry, const char *text, fg_option_values **out,
                           fg_error *err);
/* Creates the struct of a row, entry->size bytes in one block, from values of its options: lists
 * and strings are copied. Free it with fgi_free. Errors: FG_ENOMEM. */
fg_status fgi_row_create(const fg_entry *entry, const fg_option_values *values, void **out,
                         fg_error *err);
/* The same as a C program would write it, for fgi_row_of: FG_ZERO and FG_NONE instead of 0. */
fg_status fgi_row_create_for_c(const fg_entry *entry, const fg_option_values *values, void **out,
                               fg_error *err);
/* Writes the value of an option of the table to its member of `self`; strings and lists belong to
 * the values, also after the option is set again. Errors: FG_ENOMEM. */
fg_status fgi_option_put(fg_option_values *values, const fg_option *option, void *self,
                         fg_error *err);
/* The struct of a row from that of a C program, where 0 means the default, FG_ZERO and FG_NONE 0.
 * Members that are no options are copied. NULL: all defaults. Errors: FG_EINVAL for a value out of
 * range ("sgd: lr: expected ..."), FG_ENOMEM. */
fg_status fgi_row_of(const fg_entry *entry, const void *given, void **out, fg_error *err);
/* The values that such a struct gives. */
fg_status fgi_row_values(const fg_entry *entry, const void *given, fg_option_values **out,
                         fg_error *err);
/* Copies the members that are no options. */
void fgi_row_keep_others(const fg_entry *entry, const void *from, void *to);
/* Completes the struct of a row; may be NULL. */
typedef fg_status fgi_row_init(void *self, const fg_option_values *values, fg_error *err);
/* fgi_row_create and then init, after whose failure `destroy` frees the struct. */
fg_status fgi_row_begin(const fg_entry *entry, const fg_option_values *values, fgi_row_init *init,
                        void (*destroy)(void *self), void **out, fg_error *err);
/* Adds the place of the option that an error begins with, as those of rows' checks do: "momentum:
 * expected ..." becomes "run.yaml:3:7: optimizer.momentum: expected ...". Returns the status. */
fg_status fgi_option_add_place(const fg_option_values *values, fg_status status, fg_error *err);
/* FG_EINVAL if an option's member is not inside the row's struct. */
fg_status fgi_row_check(const fg_entry *entry, fg_error *err);

/* Writes an element of ENTRIES, or a map, as YAML; values are quoted where YAML requires it. */
const char *fgi_option_format_entry(const char *text, char *out, size_t size);
/* Other programs' spellings of the option's choices: "gpu, nvidia for cuda"; "" if there are none.
 * Thread-safe. */
const char *fgi_option_spellings(const fg_option *option, char *out, size_t size);

#endif
