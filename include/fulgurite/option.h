/* option.h - option tables: the named options of a model, an optimizer or a data format, and values
 * for them.
 *
 * An option is one constant row: name, kind, default, range, help, and the member of a struct that
 * its value is written to. Values are read from text, as it is written in YAML or on a command
 * line, and checked against the row; they remember whether they were given, and where. Error
 * messages, help and documentation are derived from the rows.
 *
 *   typedef struct mlp {
 *       fg_ints hidden;
 *       double dropout;
 *   } mlp;
 *
 *   static const fg_option options[] = {
 *       FG_OPTION(mlp, hidden, INTS, "[64]", "1..4096", "[256, 64]", "Units of each layer."),
 *       FG_OPTION(mlp, dropout, FLOAT, "0", "0..<1", "0.5", "Probability of dropping a unit."),
 *   };
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPTION_H
#define FULGURITE_OPTION_H

#include <stddef.h>

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
    FG_OPTION_CHOICE = 4,  /* one of the words of `range`                                 */
    FG_OPTION_AMOUNT = 5,  /* 1.0: a fraction (with a decimal point, 0 to 1); 100: a count */
    FG_OPTION_DEVICES = 6, /* "8", "-1", "[0, 2]": see fg_devices_format                  */
    FG_OPTION_INTS = 7,    /* lists                                                       */
    FG_OPTION_FLOATS = 8,
    FG_OPTION_STRINGS = 9,
    FG_OPTION_STRING_MAP = 10, /* strings by strings, in order: "{data: 2, fsdp: 4}"      */
    FG_OPTION_ENTRIES = 11,    /* names with options, "early_stop: {patience: 3}"            */
    FG_OPTION_DURATION = 12,   /* "90s", "8h30m", "1d12h", "08:30:00"; a number of seconds in C */
    FG_OPTION_MAP = 13         /* integers by integers, "{0: 1, 4: 2}"                       */
} fg_option_kind;

/* An integer member whose value is auto or not known. A double is then NaN, a string NULL. */
#define FG_AUTO INT64_MIN

/* The largest integer without an upper limit: up to here, integers are exact as a double. */
#define FG_OPTION_UNLIMITED 9007199254740992.0

/* Values of the members that options are written to. Elements are borrowed with the struct. */
typedef struct fg_ints {
    const int64_t *at;
    size_t count;
} fg_ints;
typedef struct fg_floats {
    const double *at;
    size_t count;
} fg_floats;
typedef struct fg_strings {
    const char *const *at;
    size_t count;
} fg_strings;
typedef struct fg_int_pair {
    int64_t key, value;
} fg_int_pair;
typedef struct fg_int_map {
    const fg_int_pair *at;
    size_t count;
} fg_int_map;
typedef struct fg_string_pair {
    const char *key, *value;
} fg_string_pair;
typedef struct fg_string_map {
    const fg_string_pair *at;
    size_t count;
} fg_string_map;
/* A part of something: a fraction of it, or a number of its elements if fraction is 0. */
typedef struct fg_amount {
    double fraction; /* 0 to 1 */
    int64_t count;
} fg_amount;
/* The number of elements: at least one of a fraction above 0, at most `whole`. Thread-safe. */
FG_API int64_t fg_amount_of(fg_amount amount, int64_t whole);

/* One option. Everything but name, kind, example and help may be left out. Strings are borrowed for
 * as long as the row is used: rows are constants. */
typedef struct fg_option {
    const char *name; /* lower case letters, digits and _ */
    fg_option_kind kind;
    const char *initial; /* the default, as it is written in YAML [NULL: there is none] */
    /* Of a CHOICE: its words, "relu|tanh|sigmoid". Otherwise the range of each number, "1..",
     * "0..1", "0<..", "0..<1": < excludes the limit next to it. "auto" or "auto|0..1" accepts the
     * word auto too.                                                               [NULL: any] */
    const char *range;
    const char *example;   /* a value other than the default, as on the command line         */
    const char *help;      /* one or more sentences                                          */
    const char *spellings; /* spellings of other programs: "1cycle=onecycle|none=constant"   */
    const char *later;     /* choices planned for a later version: "images|text"             */
    const char *automatic; /* the value of auto, if it is always the same: "0.01"            */
    /* It has an effect only if another option of the table has one of these values:
     * "precision=bf16-true|bf16-mixed".                                        [NULL: always] */
    const char *only;
    /* Number of elements of a list, for example 2 and 2 for a pair     [both 0: any number] */
    uint32_t min_count, max_count;
    size_t offset;   /* of the member of the row's struct (FG_OPTION)                          */
    bool is_enum;    /* a CHOICE: the member is an enum, the number of the word in `range`     */
    bool is_negated; /* a BOOL: the member is true if the option is false                      */
    uint64_t reserved[2]; /* set to 0 */
} fg_option;

/* The member's type by kind. A list with a fixed number of elements is an array of them instead. */
#define FG_MEMBER_INT        int64_t
#define FG_MEMBER_FLOAT      double
#define FG_MEMBER_BOOL       bool
#define FG_MEMBER_STRING     const char *
#define FG_MEMBER_CHOICE     const char *
#define FG_MEMBER_AMOUNT     fg_amount
#define FG_MEMBER_DEVICES    const char *
#define FG_MEMBER_INTS       fg_ints
#define FG_MEMBER_FLOATS     fg_floats
#define FG_MEMBER_STRINGS    fg_strings
#define FG_MEMBER_STRING_MAP fg_string_map
#define FG_MEMBER_ENTRIES    fg_strings
#define FG_MEMBER_DURATION   double
#define FG_MEMBER_MAP        fg_int_map
/* The offset of a member; a member of another type does not compile (without warnings). */
#define FG_OFFSET(type, member, its_type)                                                          \
    (offsetof(type, member) + 0 * sizeof((its_type *)0 == &((type *)0)->member))

/* A row whose value is the member of a struct: the name of the struct, of the option's member, its
 * kind without FG_OPTION_, then initial, range, example and help of fg_option, and any other
 * members: `.spellings = "..."`. */
#define FG_OPTION(type, member, kind_, initial_, range_, example_, ...)                            \
    FG_OPTION_AS(#member, type, member, kind_, initial_, range_, example_, __VA_ARGS__)
/* The same for an option that is not named like the member. */
#define FG_OPTION_AS(name_, type, member, kind_, initial_, range_, example_, ...)                  \
    {                                                                                              \
        .name = (name_), .kind = FG_OPTION_##kind_,                                                \
        .offset = FG_OFFSET(type, member, FG_MEMBER_##kind_), .initial = (initial_),               \
        .range = (range_), .example = (example_), .help = __VA_ARGS__                              \
    }
/* A CHOICE whose member is an enum that starts at 0, in the order of the words. */
#define FG_OPTION_ENUM(type, member, initial_, range_, example_, ...)                              \
    FG_OPTION_ENUM_AS(#member, type, member, initial_, range_, example_, __VA_ARGS__)
#define FG_OPTION_ENUM_AS(name_, type, member, initial_, range_, example_, ...)                    \
    {                                                                                              \
        .name = (name_), .kind = FG_OPTION_CHOICE, .is_enum = true,                                \
        .offset = offsetof(type, member) +                                                         \
                  0 * sizeof(char[sizeof(((type *)0)->member) == sizeof(int) ? 1 : -1]),           \
        .initial = (initial_), .range = (range_), .example = (example_), .help = __VA_ARGS__       \
    }
/* A list of two numbers, INTS or FLOATS, whose member is an array of two; if it is auto, the first
 * of two integers is FG_AUTO. */
#define FG_OPTION_PAIR(type, member, kind_, initial_, range_, example_, ...)                       \
    FG_OPTION_PAIR_AS(#member, type, member, kind_, initial_, range_, example_, __VA_ARGS__)
#define FG_OPTION_PAIR_AS(name_, type, member, kind_, initial_, range_, example_, ...)             \
    {                                                                                              \
        .name = (name_), .kind = FG_OPTION_##kind_, .min_count = 2, .max_count = 2,                \
        .offset = FG_OFFSET(type, member[0], FG_ELEMENT_##kind_), .initial = (initial_),           \
        .range = (range_), .example = (example_), .help = __VA_ARGS__                              \
    }
#define FG_ELEMENT_INTS   int64_t
#define FG_ELEMENT_FLOATS double
/* A BOOL that is true by default; its member is named for the contrary, so that 0 is the default:
 * FG_OPTION_NOT("bias", linear, no_bias, "false", "Add a bias."). */
#define FG_OPTION_NOT(name_, type, member, example_, ...)                                          \
    {                                                                                              \
        .name = (name_), .kind = FG_OPTION_BOOL, .is_negated = true,                               \
        .offset = FG_OFFSET(type, member, bool), .initial = "true", .example = (example_),         \
        .help = __VA_ARGS__                                                                        \
    }
/* The members of fg_entry that describe a table of options and their struct. */
#define FG_OPTIONS(table, type)                                                                    \
    .options = (table), .option_count = sizeof(table) / sizeof((table)[0]), .size = sizeof(type)

/* The first member of every row of a registry (registry.h). */
typedef struct fg_entry {
    const char *name;         /* as in YAML: "onecycle". Lower case letters, digits and _     */
    const char *help;         /* a short description: "fully connected hidden layers"         */
    const fg_option *options; /* its options, borrowed                                 [none] */
    size_t option_count;
    size_t size;           /* of the struct that its functions receive, in bytes; the members that
                              no option is written to are 0                            [none] */
    const char *spellings; /* names in other programs: "1cycle|OneCycleLR"             [none] */
    uint64_t reserved[2];  /* set to 0 */
} fg_entry;

/* Writes the type of an option: "an integer from 1 to 1024, or auto". Truncates the text to `size`
 * bytes and returns out, like the function below. Thread-safe. */
FG_API const char *fg_option_type(const fg_option *option, char *out, size_t size);
/* The same with an example: "an integer from 1 to 1024 (for example 4)". Thread-safe. */
FG_API const char *fg_option_describe(const fg_option *option, char *out, size_t size);
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
/* Values for the table of a row, for example that of one model out of the keys of a whole
 * configuration: the option "hidden" gets the value and place that "SECTION.hidden" has in
 * `values`, or "hidden" if section is NULL; the other options have their defaults. Errors: as
 * above; FG_EINVAL for an option that has another kind there. */
FG_API FG_MUST_USE fg_status fg_option_values_select(const fg_option_values *values,
                                                     const char *section, const fg_entry *entry,
                                                     fg_option_values **out, fg_error *err);
/* NULL is allowed. */
FG_API void fg_option_values_destroy(fg_option_values *values);

/* The row with that name, or NULL. */
FG_API const fg_option *fg_option_find(const fg_option_values *values, const char *name);

/* One scalar of YAML, or one word of a command line. */
typedef struct fg_option_text {
    const char *text;
    bool is_quoted;  /* then it is a string: never a number, true, false or auto */
    const char *key; /* of an element of a map; NULL in lists */
} fg_option_text;

/* The scalars of an option. */
typedef struct fg_option_items {
    const fg_option_text *at;
    size_t count;
    const char *place; /* their location, for messages: "run.yaml:3:7" or "--model.hidden"; copied;
                          NULL: the value counts as not given */
} fg_option_items;

/* Sets an option from its scalars: one, or any number for a list. Errors: FG_EINVAL ("model.hidden:
 * expected ..., got ..."; the value is then unchanged; for an unknown name the message suggests the
 * closest one), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_option_set_items(fg_option_values *values, const char *name,
                                                 const fg_option_items *items, fg_error *err);
/* Sets an option from one text, as after the = of a command line: "[64, 32]" or "64,32" for a list,
 * "\"auto\"" for the string auto; null and ~ reset it. Errors: those of fg_option_set_items. */
FG_API FG_MUST_USE fg_status fg_option_set(fg_option_values *values, const char *name,
                                           const char *text, const char *place, fg_error *err);
/* Sets several, written as a map in YAML: "{hidden: [64, 32], dropout: 0.5}"; "" and NULL: none.
 * Errors: those of fg_option_set_items, and FG_EINVAL for an option that is given twice. */
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
/* An element of INTS, of FLOATS, and of STRINGS or ENTRIES; 0 or NULL past the end. */
FG_API int64_t fg_option_int_at(const fg_option_values *values, const char *name, size_t index);
FG_API double fg_option_float_at(const fg_option_values *values, const char *name, size_t index);
FG_API const char *fg_option_string_at(const fg_option_values *values, const char *name,
                                       size_t index);
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
