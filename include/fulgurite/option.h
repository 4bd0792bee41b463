/* option.h - option tables: the named options of a model, an optimizer or a data format, and values
 * for them.
 *
 * An option is one constant row: name, kind, default, range, help. Values are read from text, as it
 * is written in YAML or on a command line, and checked against the row; they remember whether they
 * were given, and where. Error messages, help and documentation are derived from the rows.
 *
 *   static const fg_option options[] = {
 *       {.name = "hidden", .kind = FG_OPTION_INTS, .initial = "[64]", .min = 1, .max = 4096,
 *        .example = "[256, 64]", .help = "Units of each hidden layer."},
 *   };
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPTION_H
#define FULGURITE_OPTION_H

#include <fulgurite/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rows ------------------------------------------------------------------------------------ */

typedef enum fg_option_kind {
    FG_OPTION_INT = 0,     /* an integer                                                  */
    FG_OPTION_FLOAT = 1,   /* a float                                                     */
    FG_OPTION_BOOL = 2,    /* true or false                                               */
    FG_OPTION_STRING = 3,  /* a string                                                    */
    FG_OPTION_CHOICE = 4,  /* one of `choices`                                            */
    FG_OPTION_AMOUNT = 5,  /* 1.0: a fraction (with a decimal point, 0 to 1); 100: a count */
    FG_OPTION_DEVICES = 6, /* "8", "-1", "[0, 2]": see fg_devices_format                  */
    FG_OPTION_INTS = 7,    /* lists                                                       */
    FG_OPTION_FLOATS = 8,
    FG_OPTION_STRINGS = 9,
    FG_OPTION_RULES = 10,  /* sharding rules, "fc1.*=none/model"                          */
    FG_OPTION_ENTRIES = 11 /* names with options, "early_stop(patience=3)"                */
} fg_option_kind;

/* The usual maximum of a value without an upper limit: integers up to here are exact as a double.
 * Descriptions and messages leave out a maximum of this size or more. */
#define FG_OPTION_UNLIMITED 9007199254740992.0

/* One option. Everything but name, kind, example and help may be left out. Strings are borrowed for
 * as long as the row is used: rows are constants. */
typedef struct fg_option {
    const char *name; /* lower case letters, digits and _ */
    fg_option_kind kind;
    const char *initial;   /* the default, as it is written in YAML [NULL: there is none]    */
    const char *choices;   /* of a CHOICE: "relu|tanh|sigmoid"                               */
    const char *spellings; /* spellings of other programs: "1cycle=onecycle|none=constant"   */
    const char *later;     /* choices planned for a later version: "images|text"             */
    double min, max;       /* range of each number; both 0: any                              */
    bool is_below_max;     /* max itself is excluded                                         */
    bool has_auto;         /* "auto" is accepted too                                         */
    const char *automatic; /* the value of auto, if it is always the same: "0.01"            */
    const char *example;   /* a value other than the default, as on the command line         */
    const char *help;      /* one or more sentences                                          */
    /* Number of elements of a list, for example 2 and 2 for a pair     [both 0: any number] */
    uint32_t min_count, max_count;
    uint64_t reserved[2]; /* set to 0 */
} fg_option;

/* The first member of every row of a registry (registry.h). */
typedef struct fg_entry {
    const char *name;         /* as in YAML: "onecycle". Lower case letters, digits and _     */
    const char *help;         /* a short description: "fully connected hidden layers"         */
    const fg_option *options; /* its options, borrowed                                 [none] */
    size_t option_count;
    const char *spellings; /* names in other programs: "1cycle|OneCycleLR"             [none] */
    uint64_t reserved[2];  /* set to 0 */
} fg_entry;

/* Writes the type of an option: "an integer from 1 to 1024, or auto". Truncates the text to `size`
 * bytes and returns out, like the two functions below. Thread-safe. */
FG_API const char *fg_option_type(const fg_option *option, char *out, size_t size);
/* The same with an example: "an integer from 1 to 1024 (for example 4)". Thread-safe. */
FG_API const char *fg_option_describe(const fg_option *option, char *out, size_t size);
/* Other programs' spellings of the option's choices: "gpu, nvidia for cuda"; "" if there are none.
 * Thread-safe. */
FG_API const char *fg_option_spellings(const fg_option *option, char *out, size_t size);
/* Whether the value is a list. Thread-safe. */
FG_API bool fg_option_is_list(const fg_option *option);

/* ---- values ---------------------------------------------------------------------------------- */

/* A value for each option of a table. One thread at a time. */
typedef struct fg_option_values fg_option_values;

/* Creates values with their defaults. section is a prefix of the options' names in messages:
 * "model" for "model.hidden"; NULL or "": no prefix; copied. The table is borrowed until the values
 * are destroyed. Errors: FG_EINVAL (a default is not valid for its row), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_option_values_create(const char *section, const fg_option *options,
                                                     size_t count, fg_option_values **out,
                                                     fg_error *err);
/* Values for another table, for example that of one model out of the keys of a whole configuration:
 * the option "hidden" gets the value and place that "SECTION.hidden" has in `values`, or "hidden"
 * if section is NULL; the other options have their defaults. Errors: as above; FG_EINVAL for an
 * option that has another kind there. */
FG_API FG_MUST_USE fg_status fg_option_values_select(const fg_option_values *values,
                                                     const char *section, const fg_option *options,
                                                     size_t count, fg_option_values **out,
                                                     fg_error *err);
/* NULL is allowed. */
FG_API void fg_option_values_destroy(fg_option_values *values);

/* The row with that name, or NULL. */
FG_API const fg_option *fg_option_find(const fg_option_values *values, const char *name);

/* One scalar of YAML, or one word of a command line. */
typedef struct fg_option_text {
    const char *text;
    bool is_quoted; /* then it is a string: never a number, true, false or auto */
} fg_option_text;

/* Sets an option from its scalars: one, or any number for a list. place is their location, for
 * messages: "run.yaml:3:7" or "--model.hidden"; copied; NULL: the value counts as not given.
 * Errors: FG_EINVAL ("model.hidden: expected ..., got ..."; the value is then unchanged; for an
 * unknown name the message suggests the closest one), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_option_set_items(fg_option_values *values, const char *name,
                                                 const fg_option_text *items, size_t count,
                                                 const char *place, fg_error *err);
/* Sets an option from one text, as after the = of a command line: "[64, 32]" or "64,32" for a list,
 * "\"auto\"" for the string auto; null and ~ reset it. Errors: those of fg_option_set_items. */
FG_API FG_MUST_USE fg_status fg_option_set(fg_option_values *values, const char *name,
                                           const char *text, const char *place, fg_error *err);
/* Sets several: "hidden=[64, 32], dropout=0.5". Errors: those of fg_option_set_items, and FG_EINVAL
 * for an option that is given twice. */
FG_API FG_MUST_USE fg_status fg_option_set_all(fg_option_values *values, const char *text,
                                               const char *place, fg_error *err);
/* Resets an option to its default, as if it had not been given. Errors: FG_EINVAL (unknown name),
 * FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_option_reset(fg_option_values *values, const char *name,
                                             fg_error *err);

/* The functions below read values. Values were checked when they were set, so these functions
 * cannot fail. For a name that is not in the table, which is a mistake of the caller, they return
 * 0, false or NULL. */

/* Whether the option was set with a place, and whether its value is "auto". */
FG_API bool fg_option_is_given(const fg_option_values *values, const char *name);
FG_API bool fg_option_is_auto(const fg_option_values *values, const char *name);
/* Where the value comes from: "run.yaml:3:7", "--a.b"; NULL if it was not given. */
FG_API const char *fg_option_place(const fg_option_values *values, const char *name);
/* The same with the name, as the beginning of a message: "run.yaml:3:7: a.b", "--a.b", "a.b".
 * Truncated to `size` bytes; returns out. */
FG_API const char *fg_option_where(const fg_option_values *values, const char *name, char *out,
                                   size_t size);

/* The value of an INT or a FLOAT; 0 if there is none or it is auto. */
FG_API int64_t fg_option_int(const fg_option_values *values, const char *name);
FG_API double fg_option_float(const fg_option_values *values, const char *name);
/* A number for a member of an options struct where 0 means the default: FG_ZERO if the value is 0,
 * the row's `automatic` if it is auto, and 0 if there is none. Works for INT too. */
FG_API double fg_option_number(const fg_option_values *values, const char *name);
/* The value of a BOOL. */
FG_API bool fg_option_bool(const fg_option_values *values, const char *name);
/* STRING, CHOICE and DEVICES; NULL if it has no value. Valid until the option is set again. */
FG_API const char *fg_option_string(const fg_option_values *values, const char *name);
/* Number of elements of a list. For other kinds: 1, or 0 if there is no value or it is auto. */
FG_API size_t fg_option_count(const fg_option_values *values, const char *name);
/* An element of INTS, of FLOATS, and of STRINGS, RULES or ENTRIES; 0 or NULL past the end. */
FG_API int64_t fg_option_int_at(const fg_option_values *values, const char *name, size_t index);
FG_API double fg_option_float_at(const fg_option_values *values, const char *name, size_t index);
FG_API const char *fg_option_string_at(const fg_option_values *values, const char *name,
                                       size_t index);
/* An AMOUNT relative to `whole`: all of it, a fraction of it (at least 1), or a count. */
FG_API int64_t fg_option_amount(const fg_option_values *values, const char *name, int64_t whole);
/* An AMOUNT that is a fraction; -1 if it is a count. */
FG_API double fg_option_fraction(const fg_option_values *values, const char *name);
/* The spelling of another program, if it was given for a choice, else NULL. */
FG_API const char *fg_option_alias(const fg_option_values *values, const char *name);

/* Writes the value as YAML, which parses to the same value. Truncated to `size` bytes; returns out.
 */
FG_API const char *fg_option_format(const fg_option_values *values, const char *name, char *out,
                                    size_t size);

/* Fills err with the place and name of an option, and a message: "run.yaml:3:7: model.hidden: ...".
 * Returns the status. */
FG_API fg_status fg_option_fail(const fg_option_values *values, const char *name, fg_status status,
                                fg_error *err, const char *format, ...) FG_PRINTF(5, 6);

#ifdef __cplusplus
}
#endif
#endif
