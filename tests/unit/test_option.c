/* test_option.c - option tables: the values that a row accepts, messages, and that values record
 * whether and where they were given.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "option/option.h"

#include <fulgurite/option.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const fg_option rows[] = {
    {.name = "count",
     .kind = FG_OPTION_INT,
     .initial = "3",
     .range = "1..10",
     .example = "4",
     .help = "A count."},
    {.name = "rate",
     .kind = FG_OPTION_FLOAT,
     .initial = "auto",
     .range = "auto|0..<1",
     .automatic = "0.25",
     .example = "0.5",
     .help = "A rate."},
    {.name = "flag",
     .kind = FG_OPTION_BOOL,
     .initial = "false",
     .example = "true",
     .help = "A flag."},
    {.name = "path", .kind = FG_OPTION_STRING, .example = "data/x.csv", .help = "A file."},
    {.name = "shape",
     .kind = FG_OPTION_CHOICE,
     .initial = "round",
     .range = "round|square",
     .spellings = "circle=round|disc=round|box=square",
     .later = "star",
     .example = "square",
     .help = "A shape."},
    {.name = "part",
     .kind = FG_OPTION_AMOUNT,
     .initial = "1.0",
     .example = "0.1",
     .help = "A part."},
    {.name = "where",
     .kind = FG_OPTION_DEVICES,
     .initial = "auto",
     .range = "auto",
     .example = "8",
     .help = "Devices."},
    {.name = "sizes",
     .kind = FG_OPTION_INTS,
     .initial = "[8, 4]",
     .range = "1..",
     .example = "[2, 3]",
     .help = "Sizes."},
    {.name = "means",
     .kind = FG_OPTION_FLOATS,
     .initial = "[]",
     .example = "[0.5]",
     .help = "Means."},
    {.name = "names",
     .kind = FG_OPTION_STRINGS,
     .initial = "[]",
     .example = "[a, b]",
     .help = "Names."},
    {.name = "rules",
     .kind = FG_OPTION_STRING_MAP,
     .initial = "{}",
     .example = "{fc.*: model}",
     .help = "Rules."},
    {.name = "hooks",
     .kind = FG_OPTION_ENTRIES,
     .initial = "[]",
     .example = "[stop: {after: 3}]",
     .help = "Hooks."},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static fg_option_values *make(void)
{
    fg_option_values *values = NULL;
    fg_error err = {0};
    fgt_ok(fg_option_values_create("thing", rows, ROWS, &values, &err));
    return values;
}

static void defaults_are_values_that_were_not_given(void **state)
{
    fg_option_values *v = make();
    assert_int_equal(fg_option_int(v, "count"), 3);
    assert_true(fg_option_is_auto(v, "rate"));
    assert_false(fg_option_bool(v, "flag"));
    assert_null(fg_option_string(v, "path"));
    assert_int_equal(fg_option_count(v, "path"), 0);
    assert_string_equal(fg_option_string(v, "shape"), "round");
    assert_int_equal(fg_option_count(v, "sizes"), 2);
    assert_int_equal(fg_option_int_at(v, "sizes", 1), 4);
    assert_int_equal(fg_option_int_at(v, "sizes", 2), 0);
    for (int i = 0; i < ROWS; i++) {
        assert_false(fg_option_is_given(v, rows[i].name));
        assert_null(fg_option_place(v, rows[i].name));
    }
    assert_null(fg_option_find(v, "nothing"));
    assert_int_equal(fg_option_int(v, "nothing"), 0);
    fg_option_values_destroy(v);
    fg_option_values_destroy(NULL);
}

static const struct {
    const char *name, *text, *yaml;
} texts[] = {
    {"count", "7", "7"},
    {"rate", "0.125", "0.125"},
    {"rate", "AUTO", "auto"},
    {"rate", "1e-3", "0.001"},
    {"flag", "Yes", "true"},
    {"flag", "off", "false"},
    {"path", "a b.csv", "\"a b.csv\""},
    {"path", "\"null\"", "\"null\""},
    {"path", "\x7f\x1f\\", "\"\\x7f\\x1f\\\\\""},
    {"path", "null", "null"},
    {"path", "NULL", "null"},
    {"path", "~", "null"},
    {"path", "nULL", "\"nULL\""},
    {"path", "\"", "\"\\\"\""},
    {"rate", "0e-999", "0"},
    {"rate", "1.2e-38", "1.2e-38"},
    {"path", "x/y-1.csv", "x/y-1.csv"},
    {"shape", "SQUARE", "square"},
    {"shape", "Disc", "round"},
    {"part", "0.5", "0.5"},
    {"part", "1.0", "1.0"},
    {"part", "100", "100"},
    {"where", "0,2", "[0, 2]"},
    {"sizes", "5", "[5]"},
    {"sizes", "[ 5 , 6 ]", "[5, 6]"},
    {"means", "0.5,-2", "[0.5, -2]"},
    {"names", "[a, \"b c\", \"7\"]", "[a, \"b c\", \"7\"]"},
    {"names", "[\"b, c\", d]", "[\"b, c\", d]"},
    {"names", "[]", "[]"},
    {"names", "a), b]", "[\"a)\", \"b]\"]"},
    {"names", "[_a, /b, -c, \"off\", \"On\", \"no\", \"yes\", \"true\", \"null\", \"auto\"]",
     "[_a, /b, \"-c\", \"off\", \"On\", \"no\", \"yes\", \"true\", \"null\", \"auto\"]"},
    {"rules", "{fc.*: none/model, 'a: b': \"\", c:  -1 }",
     "{\"fc.*\": none/model, \"a: b\": \"\", c: -1}"},
    {"rules", "{\"fc.*\": '7', d: \"a, b\", e: f:g}", "{\"fc.*\": 7, d: \"a, b\", e: \"f:g\"}"},
    {"rules", "{}", "{}"},
    {"rules", "{a:b,c:d}", "{a: b, c: d}"},
    {"hooks", "[stop: {after: 3, kind: [a, b]}, say]", "[stop: {after: 3, kind: [a, b]}, say]"},
    {"hooks", "say, stop: {after: 3}", "[say, stop: {after: 3}]"},
    {"hooks", "[stop: {why: \"a}\", after: 3}]", "[stop: {why: \"a}\", after: 3}]"},
    {"hooks", "[stop: {why: a*b, kind: [\"7\", c d]}]",
     "[stop: {why: \"a*b\", kind: [\"7\", \"c d\"]}]"},
    {"hooks", "[stop: {why: 'a, b', kind: ['c', d]}, 'say']",
     "[stop: {why: \"a, b\", kind: [c, d]}, say]"},
    {"hooks", "[stop: {why: rock 'n roll, after: 3}]", "[stop: {why: \"rock 'n roll\", after: 3}]"},
    {"hooks", "[stop: {at: {0:1,4: 2}, of: {}, why: {a: b c}}]",
     "[stop: {at: {0: 1, 4: 2}, of: {}, why: {a: \"b c\"}}]"},
    {"names", "['a, b', it's, 'c']", "[\"a, b\", \"it's\", c]"},
    {"hooks", "[stop: {after: 3, kind: a}, \"say\"]", "[stop: {after: 3, kind: a}, say]"},
    {"hooks", "[]", "[]"},
    {"hooks", "[say-it: {a_b: 1}, say_it]", "[say-it: {a_b: 1}, say_it]"},
};

/* Each text and its value as YAML. */
static void text_becomes_values(void **state)
{
    fg_option_values *v = make();
    fg_error err = {0};
    char yaml[128];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fgt_ok(fg_option_set(v, texts[i].name, texts[i].text, "--x", &err));
        assert_string_equal(fg_option_format(v, texts[i].name, yaml, sizeof yaml), texts[i].yaml);
    }
    fg_option_values_destroy(v);
}

static const struct {
    const char *name, *text, *message;
} refused[] = {
    {"count", "11", "thing.count: expected an integer from 1 to 10 (for example 4), got '11'"},
    {"count", "1.5", "thing.count: expected an integer from 1 to 10 (for example 4), got '1.5'"},
    {"count", "\"4\"",
     "thing.count: expected an integer from 1 to 10 (for example 4), got the string '4': "
     "remove "
     "the quotes"},
    {"rate", "1",
     "thing.rate: expected a number from 0 to less than 1, or auto (for example 0.5), got '1'"},
    {"rate", "0x1p-2",
     "thing.rate: expected a number from 0 to less than 1, or auto (for example 0.5), got "
     "'0x1p-2'"},
    {"flag", "maybe", "thing.flag: expected true or false, got 'maybe'"},
    {"shape", "squares",
     "thing.shape: expected one of round|square, got 'squares': did you mean 'square'?"},
    {"shape", "sq", "thing.shape: expected one of round|square, got 'sq': did you mean 'square'?"},
    {"shape", "star",
     "thing.shape: this version does not support 'star': expected one of round|square"},
    {"shape", "7", "thing.shape: expected one of round|square, got '7'"},
    {"part", "1.5",
     "thing.part: expected a fraction (0.0 to 1.0) or a count (for example 0.1), got '1.5'"},
    {"part", "-1",
     "thing.part: expected a fraction (0.0 to 1.0) or a count (for example 0.1), got '-1'"},
    {"flag", "\"true\"",
     "thing.flag: expected true or false, got the string 'true': remove the quotes"},
    {"rules", "a=model, b=none",
     "thing.rules: expected a map, {KEY: VALUE, ...} (for example {fc.*: model}), got 'a=model, "
     "b=none': write {a: model, b: none}"},
    {"rules", "{a: model, b}",
     "thing.rules: expected a map, {KEY: VALUE, ...} (for example {fc.*: model}), got 'b'"},
    {"rules", "{a: model, b: x, a: x}", "thing.rules: 'a' is given twice: expected one value"},
    {"rules", "{: model}",
     "thing.rules: expected a map, {KEY: VALUE, ...} (for example {fc.*: model}), got ': model'"},
    {"sizes", "[4, 0]",
     "thing.sizes: expected a list of integers, 1 or greater (for example [2, 3]), got '0'"},
    {"rules", "[model]",
     "thing.rules: expected a map, {KEY: VALUE, ...} (for example {fc.*: model}), got '[model]'"},
    {"hooks", "[stop(after=3]",
     "thing.hooks: expected a list of names, each with options: NAME: {OPTION: VALUE, ...} "
     "(for "
     "example [stop: {after: 3}]), got 'stop(after=3'"},
    {"hooks", "[say, (after=3)]",
     "thing.hooks: expected a list of names, each with options: NAME: {OPTION: VALUE, ...} "
     "(for "
     "example [stop: {after: 3}]), got '(after=3)'"},
    {"cuont", "4", "thing: unknown option 'cuont': did you mean 'count'?"},
};

static void wrong_text_is_refused_and_changes_nothing(void **state)
{
    fg_option_values *v = make();
    fg_error err = {0};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_int_equal(fg_option_set(v, refused[i].name, refused[i].text, "--x", &err),
                         FG_EINVAL);
        assert_string_equal(err.message, refused[i].message);
    }
    fgt_ok(fg_option_set(v, "rate", "1.1754943508222875e-38", "--x", &err)); /* the limits */
    fgt_ok(fg_option_set(v, "means", "[3.4028234663852886e38]", "--x", &err));
    assert_int_equal(fg_option_int(v, "count"), 3);
    assert_false(fg_option_is_given(v, "count"));
    assert_int_equal(fg_option_count(v, "sizes"), 2);
    assert_int_equal(fg_option_set_items(v, "count", &(fg_option_items){NULL, 0, NULL}, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "thing.count: 0 values: expected one");
    fg_option_values_destroy(v);
}

/* Also when values are copied from a table that allows more elements. */
static void lists_have_the_number_of_elements_of_their_row(void **state)
{
    static const fg_option pair[] = {{.name = "pair",
                                      .kind = FG_OPTION_FLOATS,
                                      .initial = "[0, 1]",
                                      .range = "auto",
                                      .min_count = 2,
                                      .max_count = 2,
                                      .example = "[1, 2]",
                                      .help = "A pair."},
                                     {.name = "some",
                                      .kind = FG_OPTION_INTS,
                                      .initial = "[1]",
                                      .min_count = 1,
                                      .max_count = 3,
                                      .example = "[4]",
                                      .help = "Up to three."}};
    fg_option any[2] = {pair[0], pair[1]};
    any[0].min_count = any[0].max_count = any[1].min_count = any[1].max_count = 0;
    fg_option_values *v = NULL, *from = NULL;
    fg_error err = {0};
    fgt_ok(fg_option_values_create(NULL, pair, 2, &v, &err));
    assert_int_equal(fg_option_set(v, "pair", "[0.5]", NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "pair: expected a list of 2 numbers, or auto (for example "
                                     "[1, 2]), got 1 element");
    assert_int_equal(fg_option_set(v, "pair", "[auto, 1]", NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "pair: expected a list of 2 numbers, or auto (for example "
                                     "[1, 2]), got 'auto'");
    assert_int_equal(fg_option_set_items(v, "some", &(fg_option_items){NULL, 0, NULL}, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "some: expected a list of 1 to 3 integers (for example [4]), "
                                     "got 0 elements");
    assert_int_equal(fg_option_set(v, "some", "1,2,3,4", NULL, &err), FG_EINVAL);
    assert_int_equal(fg_option_count(v, "pair"), 2);
    fgt_ok(fg_option_set(v, "pair", "auto", NULL, &err));
    fgt_ok(fg_option_set(v, "some", "1,2,3", NULL, &err));
    fg_option_values_destroy(v);
    fgt_ok(fg_option_values_create(NULL, any, 2, &from, &err));
    fgt_ok(fg_option_set(from, "some", "1,2,3,4", NULL, &err));
    assert_int_equal(fg_option_values_select(
                         from, NULL, &(fg_entry){.options = pair, .option_count = 2}, &v, &err),
                     FG_EINVAL);
    assert_null(v);
    fgt_ok(fg_option_set(from, "some", "1,2", NULL, &err));
    fgt_ok(fg_option_set(from, "pair", "auto", NULL, &err));
    fgt_ok(fg_option_values_select(from, NULL, &(fg_entry){.options = pair, .option_count = 2}, &v,
                                   &err));
    fg_option_values_destroy(from);
    fg_option_values_destroy(v);
}

/* A map of integers, from text, and as a struct has it. */
static void maps_have_pairs_of_integers(void **state)
{
    typedef struct steps {
        fg_int_map of;
        int64_t pair[2];
    } steps;
    static const fg_option table[] = {
        FG_OPTION(steps, of, MAP, "{1: 2}", "1..9", "{0: 1, 4: 2}", "Steps."),
        FG_OPTION_PAIR_AS("both", steps, pair, INTS, NULL, "auto|1..", "[1, 2]", "A pair.")};
    const fg_entry row = {.name = "row", .help = "A row.", FG_OPTIONS(table, steps)};
    static const char *const bad[] = {"{0: 0}", "{-1: 2}",    "{a: 2}", "{1}",
                                      "0=1",    "0: 1, 4: 2", "[1, 2]", "{0: 1, 0: 2}"};
    fg_option_values *v = NULL;
    fg_error err = {0};
    char yaml[64];
    void *own = NULL;
    (void)state;
    fgt_ok(fg_option_values_create("row", table, 2, &v, &err));
    assert_string_equal(fg_option_format(v, "of", yaml, sizeof yaml), "{1: 2}");
    fgt_ok(fg_option_set(v, "of", "{0: 1, 4: 2}", "--x", &err));
    assert_string_equal(fg_option_format(v, "of", yaml, sizeof yaml), "{0: 1, 4: 2}");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(fg_option_set(v, "of", bad[i], "--x", &err), FG_EINVAL);
    assert_string_equal(fg_option_format(v, "both", yaml, sizeof yaml), "null");
    fgt_ok(fg_option_set(v, "both", "auto", "--x", &err));
    fgt_ok(fgi_row_create(&row, v, &own, &err));
    assert_true(((const steps *)own)->pair[0] == FG_AUTO);
    fg_free(own);
    fg_option_values_destroy(v);
    const steps automatic = {.pair = {FG_AUTO}};
    fgt_ok(fgi_row_of(&row, &automatic, &own, &err));
    assert_true(((const steps *)own)->pair[0] == FG_AUTO);
    fg_free(own);
    const steps given = {.of = {(const fg_int_pair[]){{3, 4}, {5, 6}}, 2}};
    fgt_ok(fgi_row_of(&row, &given, &own, &err));
    const fg_int_map *map = &((const steps *)own)->of;
    assert_true(map->count == 2 && map->at[0].key == 3 && map->at[1].value == 6);
    assert_ptr_not_equal(map->at, given.of.at);
    fg_free(own);
}

static void a_default_that_its_row_refuses_is_an_error(void **state)
{
    static const fg_option bad = {
        .name = "n", .kind = FG_OPTION_INT, .initial = "x", .example = "1", .help = "N."};
    fg_option_values *v = NULL;
    fg_error err = {0};
    assert_int_equal(fg_option_values_create(NULL, &bad, 1, &v, &err), FG_EINVAL);
    assert_null(v);
    assert_string_equal(err.message, "the default of an option: n: expected an integer (for "
                                     "example 1), got 'x'");
}

static void places_are_remembered(void **state)
{
    fg_option_values *v = make();
    fg_error err = {0};
    char where[64];
    fgt_ok(fg_option_set(v, "count", "4", "run.yaml:3:7", &err));
    assert_string_equal(fg_option_where(v, "count", where, sizeof where),
                        "run.yaml:3:7: thing.count");
    fgt_ok(fg_option_set(v, "count", "4", "--thing.count", &err));
    assert_string_equal(fg_option_where(v, "count", where, sizeof where), "--thing.count");
    assert_true(fg_option_is_given(v, "count"));
    assert_int_equal(fg_option_fail(v, "count", FG_ESHAPE, &err, "is %d", 4), FG_ESHAPE);
    assert_string_equal(err.message, "--thing.count: is 4");
    fgt_ok(fg_option_reset(v, "count", &err));
    assert_false(fg_option_is_given(v, "count"));
    assert_string_equal(fg_option_where(v, "count", where, sizeof where), "thing.count");
    assert_int_equal(fg_option_int(v, "count"), 3);
    assert_int_equal(fg_option_reset(v, "nothing", &err), FG_EINVAL);
    fg_option_values_destroy(v);
}

/* 0 in an options struct is the default: a number that was given as 0 must differ from it. */
static void a_zero_that_was_given_is_not_a_default(void **state)
{
    fg_option_values *v = make();
    fg_error err = {0};
    assert_true(fg_option_number(v, "rate") == 0.25); /* the value of auto */
    fgt_ok(fg_option_set(v, "rate", "0", NULL, &err));
    assert_true(fg_option_number(v, "rate") == 0 && signbit(fg_option_number(v, "rate")));
    assert_true(signbit(FG_ZERO) && FG_ZERO == 0);
    fgt_ok(fg_option_set(v, "rate", "0.5", NULL, &err));
    assert_true(fg_option_number(v, "rate") == 0.5);
    assert_true(fg_option_number(v, "count") == 3);
    assert_false(signbit(fg_option_number(v, "path")));
    fg_option_values_destroy(v);
}

static void several_options_come_in_one_text(void **state)
{
    fg_option_values *v = make();
    fg_error err = {0};
    fgt_ok(fg_option_set_all(v, "{sizes: [1, 2, 3], count: 5, names: \"a,b\"}", NULL, &err));
    assert_int_equal(fg_option_count(v, "sizes"), 3);
    assert_int_equal(fg_option_int(v, "count"), 5);
    assert_string_equal(fg_option_string_at(v, "names", 0), "a,b");
    fg_option_values_destroy(v);
}

static void several_options_are_checked(void **state)
{
    fg_option_values *v = make();
    fg_error err = {0};
    assert_int_equal(fg_option_set_all(v, "count=5, flag=true", NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "thing: expected {OPTION: VALUE, ...}, got 'count=5, "
                                     "flag=true': write {count: 5, flag: true}");
    assert_int_equal(fg_option_set_all(v, "{count: 5, flag}", NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "thing: 'flag': expected OPTION: VALUE");
    assert_int_equal(fg_option_set_all(v, "{count: 5, flaq: true}", NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "thing: unknown option 'flaq': did you mean 'flag'?");
    assert_int_equal(fg_option_set_all(v, "{count: 5, flag: true, count: 5}", NULL, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "thing: 'count' is given twice: expected one value");
    fgt_ok(fg_option_set_all(v, "", NULL, &err));
    fgt_ok(fg_option_set_all(v, NULL, NULL, &err));
    fg_option_values_destroy(v);
}

/* A number that is 0 or infinite on a device, and one with a decimal comma; choices that are near
 * none, and words in quotes. */
static void values_that_change_are_refused(void **state)
{
    static const struct {
        const char *name, *text, *message;
    } cases[] = {
        {"rate", "1e-400",
         "thing.rate: expected a number from 0 to less than 1, or auto (for example 0.5), got "
         "'1e-400': too small for f32 (0, or at least 1.2e-38)"},
        {"rate", "1e-39",
         "thing.rate: expected a number from 0 to less than 1, or auto (for example 0.5), got "
         "'1e-39': too small for f32 (0, or at least 1.2e-38)"},
        {"rate", "0,25",
         "thing.rate: expected a number from 0 to less than 1, or auto (for example 0.5), got "
         "'0,25': did you mean '0.25'?"},
        {"rate", "nan",
         "thing.rate: expected a number from 0 to less than 1, or auto (for example 0.5), got "
         "'nan'"},
        {"rate", "0,00000000000000000000000000025", /* of 31 characters */
         "thing.rate: expected a number from 0 to less than 1, or auto (for example 0.5), got "
         "'0,00000000000000000000000000025': did you mean '0.00000000000000000000000000025'?"},
        {"rate", "0,000000000000000000000000000025",
         "thing.rate: expected a number from 0 to less than 1, or auto (for example 0.5), got "
         "'0,000000000000000000000000000025'"},
        {"count", "1,5", /* a decimal point would not help */
         "thing.count: expected an integer from 1 to 10 (for example 4), got '1,5'"},
        {"means", "[4e38]",
         "thing.means: expected a list of numbers (for example [0.5]), got '4e38': too large for "
         "f32 (at most 3.4e38)"},
        {"part", "1e-400",
         "thing.part: expected a fraction (0.0 to 1.0) or a count (for example 0.1), got "
         "'1e-400': too small for f32 (0, or at least 1.2e-38)"},
        {"shape", "\"7\"", "thing.shape: expected one of round|square, got '7'"},
        {"shape", "s", "thing.shape: expected one of round|square, got 's'"},
        {"rate", "\"auto\"",
         "thing.rate: expected a number from 0 to less than 1, or auto (for example 0.5), got "
         "the string 'auto': remove the quotes"},
    };
    fg_option_values *v = make();
    fg_error err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(fg_option_set(v, cases[i].name, cases[i].text, "--x", &err), FG_EINVAL);
        assert_string_equal(err.message, cases[i].message);
    }
    fg_option_values_destroy(v);
}

/* As a shell does for words; only of strings, which may be in quotes. */
static void home_is_expanded(void **state)
{
    fg_option_values *v = make();
    fg_error err = {0};
    const char *home = getenv("HOME");
    char *before = home != NULL ? strdup(home) : NULL;
    assert_int_equal(setenv("HOME", "/home/a b", 1), 0);
    fgt_ok(fg_option_set(v, "path", "~/x.csv", NULL, &err));
    assert_string_equal(fg_option_string(v, "path"), "/home/a b/x.csv");
    fgt_ok(fg_option_set(v, "path", "\"~/y\"", NULL, &err));
    assert_string_equal(fg_option_string(v, "path"), "/home/a b/y");
    fgt_ok(fg_option_set(v, "path", "./~/x", NULL, &err));
    assert_string_equal(fg_option_string(v, "path"), "./~/x");
    fgt_ok(fg_option_set(v, "names", "[~/x]", NULL, &err));
    assert_string_equal(fg_option_string_at(v, "names", 0), "~/x");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(i == 0 ? setenv("HOME", "", 1) : unsetenv("HOME"), 0);
        assert_int_equal(fg_option_set(v, "path", "~/x.csv", NULL, &err), FG_ENOTFOUND);
        assert_string_equal(err.message,
                            "thing.path: '~/x.csv': HOME is not set: write the absolute path");
    }
    if (before != NULL)
        assert_int_equal(setenv("HOME", before, 1), 0);
    free(before);
    fg_option_values_destroy(v);
}

static void amounts_are_fractions_or_counts(void **state)
{
    typedef struct parts {
        fg_amount part;
    } parts;
    static const fg_option table[] = {
        FG_OPTION(parts, part, AMOUNT, "1.0", NULL, "0.1", "A part.")};
    const fg_entry row = {.name = "row", .help = "A row.", FG_OPTIONS(table, parts)};
    static const struct {
        const char *text;
        int64_t of_7;
        double fraction;
    } cases[] = {{"0.5", 3, 0.5}, {"0.01", 1, 0.01}, {"0.0", 0, 0}, {"1.0", 7, 1},
                 {"5", 5, 0},     {"9", 7, 0},       {"0", 0, 0}};
    fg_option_values *v = NULL;
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_option_values_create("row", table, 1, &v, &err));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void *own = NULL;
        fgt_ok(fg_option_set(v, "part", cases[i].text, NULL, &err));
        fgt_ok(fgi_row_create(&row, v, &own, &err));
        const fg_amount part = ((const parts *)own)->part;
        assert_int_equal(fg_amount_of(part, 7), cases[i].of_7);
        assert_true(part.fraction == cases[i].fraction);
        fg_free(own);
    }
    fg_option_values_destroy(v);
}

static void other_programs_words_are_remembered(void **state)
{
    fg_option_values *v = make();
    fg_error err = {0};
    char text[64];
    fgt_ok(fg_option_set(v, "shape", "Box", NULL, &err));
    assert_string_equal(fg_option_string(v, "shape"), "square");
    assert_string_equal(fg_option_alias(v, "shape"), "Box");
    fgt_ok(fg_option_set(v, "shape", "square", NULL, &err));
    assert_null(fg_option_alias(v, "shape"));
    assert_string_equal(fgi_option_spellings(&rows[4], text, sizeof text),
                        "circle, disc for round; box for square");
    assert_string_equal(fgi_option_spellings(&rows[0], text, sizeof text), "");
    const fg_option similar = {.spellings = "a=rounded|b=round|c=rounder"};
    assert_string_equal(fgi_option_spellings(&similar, text, sizeof text),
                        "a for rounded; b for round; c for rounder");
    fg_option_values_destroy(v);
}

/* Values selected for another table, such as that of one model. */
static void values_can_be_selected(void **state)
{
    static const fg_option some[] = {
        {.name = "extra", .kind = FG_OPTION_INT, .initial = "9", .example = "1", .help = "E."},
        {.name = "shape",
         .kind = FG_OPTION_CHOICE,
         .initial = "round",
         .range = "round|square",
         .example = "square",
         .help = "S."}};
    static const fg_option other = {
        .name = "shape", .kind = FG_OPTION_INT, .example = "1", .help = "S."};
    fg_option_values *v = make(), *selected = NULL;
    fg_error err = {0};
    fgt_ok(fg_option_set(v, "shape", "box", "a.yaml:1:2", &err));
    fgt_ok(fg_option_values_select(v, NULL, &(fg_entry){.options = some, .option_count = 2},
                                   &selected, &err));
    fg_option_values_destroy(v); /* the selection has copies */
    assert_string_equal(fg_option_string(selected, "shape"), "square");
    assert_string_equal(fg_option_alias(selected, "shape"), "box");
    assert_string_equal(fg_option_place(selected, "shape"), "a.yaml:1:2");
    assert_int_equal(fg_option_int(selected, "extra"), 9);
    v = NULL;
    assert_int_equal(fg_option_values_select(selected, NULL,
                                             &(fg_entry){.options = &other, .option_count = 1}, &v,
                                             &err),
                     FG_EINVAL);
    assert_null(v);
    fg_option_values_destroy(selected);
}

static void rows_say_what_they_accept(void **state)
{
    static const char *const types[ROWS] = {
        "an integer from 1 to 10",
        "a number from 0 to less than 1, or auto",
        "true or false",
        "a string",
        "one of round|square",
        "a fraction (0.0 to 1.0) or a count",
        "a number of devices, -1 (all), or a list of them, counted from 0, or auto",
        "a list of integers, 1 or greater",
        "a list of numbers",
        "a list of strings",
        "a map, {KEY: VALUE, ...}",
        "a list of names, each with options: NAME: {OPTION: VALUE, ...}",
    };
    char text[128];
    for (int i = 0; i < ROWS; i++) {
        assert_string_equal(fg_option_type(&rows[i], text, sizeof text), types[i]);
        assert_int_equal(fg_option_is_list(&rows[i]), i >= 7);
    }
    assert_string_equal(fg_option_describe(&rows[2], text, sizeof text), "true or false");
    assert_string_equal(fg_option_describe(&rows[3], text, sizeof text),
                        "a string (for example data/x.csv)");
    assert_string_equal(fg_option_describe(&rows[3], text, 9), "a string"); /* cut */
}

/* What YAML would read as something else is in quotes; numbers read back to the same number. */
static void values_are_written_as_they_are_read(void **state)
{
    static const struct {
        const char *name, *given, *written;
    } cases[] = {{"path", "a:b", "\"a:b\""},
                 {"path", "off", "\"off\""},
                 {"path", "ON", "\"ON\""},
                 {"path", "~", "null"}, /* not given */
                 {"path", "data/x_1-2.c++", "data/x_1-2.c++"},
                 {"path", "7z", "\"7z\""},
                 {"rate", "0.30000000000000004", "0.30000000000000004"},
                 {"rate", "0.1", "0.1"},
                 {"shape", "s-q_u are", "square"},
                 {"shape", "Disc", "round"},
                 {"part", "1", "1"},
                 {"part", "1.0", "1.0"}};
    fg_option_values *v = make();
    fg_error err = {0};
    char text[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fgt_ok(fg_option_set(v, cases[i].name, cases[i].given, NULL, &err));
        assert_string_equal(fg_option_format(v, cases[i].name, text, sizeof text),
                            cases[i].written);
    }
    fg_option_values_destroy(v);
}

/* From a table whose names are full paths. */
static void values_of_a_section_can_be_selected(void **state)
{
    static const fg_option keys[] = {
        {.name = "model.width",
         .kind = FG_OPTION_INT,
         .initial = "4",
         .example = "1",
         .help = "W."},
        {.name = "width", .kind = FG_OPTION_INT, .initial = "5", .example = "1", .help = "W."}};
    static const fg_option width = {
        .name = "width", .kind = FG_OPTION_INT, .initial = "6", .example = "1", .help = "W."};
    fg_option_values *v = NULL, *selected = NULL;
    fg_error err = {0};
    char where[32];
    fgt_ok(fg_option_values_create(NULL, keys, 2, &v, &err));
    fgt_ok(fg_option_set(v, "model.width", "8", "--model.width", &err));
    fgt_ok(fg_option_values_select(v, "model", &(fg_entry){.options = &width, .option_count = 1},
                                   &selected, &err));
    assert_int_equal(fg_option_int(selected, "width"), 8);
    assert_string_equal(fg_option_where(selected, "width", where, sizeof where), "--model.width");
    assert_int_equal(fg_option_set(selected, "width", "x", NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "model.width: expected an integer (for example 1), got 'x'");
    fg_option_values_destroy(selected);
    fgt_ok(fg_option_values_select(v, "data", &(fg_entry){.options = &width, .option_count = 1},
                                   &selected, &err));
    assert_int_equal(fg_option_int(selected, "width"), 6);
    fg_option_values_destroy(selected);
    fg_option_values_destroy(v);
}

static fg_status scenario(void *self, fg_error *err)
{
    fg_option_values *v = NULL, *selected = NULL;
    (void)self;
    fg_status status = fg_option_values_create("thing", rows, ROWS, &v, err);
    if (status == FG_OK)
        status = fg_option_set_all(
            v, "{shape: box, sizes: [1, 2], where: 1, path: x, rules: {a: b}}", "--x", err);
    if (status == FG_OK)
        status = fg_option_values_select(
            v, NULL, &(fg_entry){.options = rows, .option_count = ROWS}, &selected, err);
    fg_option_values_destroy(selected);
    fg_option_values_destroy(v);
    return status;
}

static void no_failed_allocation_is_lost(void **state) { fgt_fault_loop(scenario, NULL); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_values_that_were_not_given),
        cmocka_unit_test(text_becomes_values),
        cmocka_unit_test(wrong_text_is_refused_and_changes_nothing),
        cmocka_unit_test(lists_have_the_number_of_elements_of_their_row),
        cmocka_unit_test(maps_have_pairs_of_integers),
        cmocka_unit_test(a_default_that_its_row_refuses_is_an_error),
        cmocka_unit_test(places_are_remembered),
        cmocka_unit_test(a_zero_that_was_given_is_not_a_default),
        cmocka_unit_test(several_options_come_in_one_text),
        cmocka_unit_test(several_options_are_checked),
        cmocka_unit_test(values_that_change_are_refused),
        cmocka_unit_test(home_is_expanded),
        cmocka_unit_test(amounts_are_fractions_or_counts),
        cmocka_unit_test(other_programs_words_are_remembered),
        cmocka_unit_test(values_can_be_selected),
        cmocka_unit_test(values_of_a_section_can_be_selected),
        cmocka_unit_test(rows_say_what_they_accept),
        cmocka_unit_test(values_are_written_as_they_are_read),
        cmocka_unit_test(no_failed_allocation_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
