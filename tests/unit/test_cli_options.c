/* test_cli_options.c - parsing command lines: the forms of options, mixing with arguments, and
 * configuration keys.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/text.h"
#include "key_help.h"
#include "base/buf.h"
#include "report/run_view.h"
#include "recipe/config/config.h"
#include "base/print.h"

static bool flag, other;
static const char *path, *pick, *maybe, *open_pick;
static cli_list many;
static int64_t number;
static double wait_s, most;
static cli_ints integers;
static const cli_option options[] = {
    CLI_FLAG('f', "flag", &flag, "a flag"),
    CLI_FLAG('g', "other", &other, "another flag"),
    CLI_TEXT('o', "out", &path, "FILE", "a file"),
    CLI_TEXT(0, "pick", &pick, "best|last", "one of two"),
    CLI_TEXT(0, "open", &open_pick, "best|PATH", "a word or a path"),
    CLI_OPTIONAL(0, "maybe", &maybe, "HOW", "with or without"),
    CLI_LIST('m', "many", &many, "WORD", "one more"),
    CLI_NUMBER('n', "count", &number, INT, "1..10", "N", "an integer"),
    CLI_NUMBER(0, "most", &most, FLOAT, "0<..", "X", "a number"),
    CLI_NUMBER(0, "wait", &wait_s, DURATION, NULL, "DURATION", "a duration"),
    CLI_INTS('s', "sizes", &integers, "1..9", "3,4", "1,2|N", "integers"),
    CLI_END,
};
static const cli_command command = {.name = "try",
                                    .arguments = "FILE",
                                    .summary = "try",
                                    .options = options,
                                    .min_args = 1,
                                    .max_args = 2,
                                    .takes_config = true};

enum { MOST_WORDS = 12 };

/* Parses NULL-terminated words with standard error closed; returns the exit status if they are
 * rejected, or -1. */
static int parse(cli_call *call, ...)
{
    static const char *argv[MOST_WORDS];
    int argc = 0, status = 0;
    va_list words;
    flag = other = false;
    path = pick = maybe = open_pick = NULL;
    many.count = 0;
    argv[argc++] = "try";
    va_start(words, call);
    while ((argv[argc] = va_arg(words, const char *)) != NULL)
        argc++;
    va_end(words);
    return cli_parse(&command, argc, argv, call, &status) ? -1 : status;
}

/* What is said on standard error between the two. */
static FILE *said_file;
static int saved_stderr;

static void begin_listening(void)
{
    said_file = tmpfile();
    assert_non_null(said_file);
    (void)fflush(stderr);
    saved_stderr = dup(2);
    assert_int_equal(dup2(fileno(said_file), 2), 2);
}

static void was_said(const char *message)
{
    char said[512];
    (void)fflush(stderr);
    assert_int_equal(dup2(saved_stderr, 2), 2);
    (void)close(saved_stderr);
    rewind(said_file);
    said[fread(said, 1, sizeof(said) - 1, said_file)] = '\0';
    (void)fclose(said_file);
    assert_string_equal(said, message);
}

static void refused(const char *message, const char *a, const char *b)
{
    cli_call call;
    begin_listening();
    const int status = parse(&call, a, b, NULL);
    was_said(message);
    assert_int_equal(status, CLI_USAGE);
}

#define SEE " (see fulgurite try --help)\n"

static void every_form(void **state)
{
    cli_call call;
    assert_int_equal(parse(&call, "--flag", "--out=x", "a", NULL), -1);
    assert_true(flag && !other);
    assert_string_equal(path, "x");
    assert_int_equal(call.count, 1);
    assert_string_equal(call.args[0], "a");
    assert_int_equal(parse(&call, "a", "--out", "-x", "b", NULL), -1);
    assert_string_equal(path, "-x");
    assert_string_equal(call.args[1], "b");
    assert_int_equal(parse(&call, "-fgox", "a", NULL), -1);
    assert_true(flag && other);
    assert_string_equal(path, "x");
    assert_int_equal(parse(&call, "-o", "y", "a", NULL), -1);
    assert_string_equal(path, "y");
    assert_int_equal(parse(&call, "--maybe", "a", "--pick=last", NULL), -1);
    assert_string_equal(maybe, "");
    assert_string_equal(pick, "last");
    assert_int_equal(parse(&call, "--open=some/where", "a", NULL), -1);
    assert_string_equal(open_pick, "some/where");
    assert_int_equal(parse(&call, "--maybe=so", "a", NULL), -1);
    assert_string_equal(maybe, "so");
    assert_int_equal(parse(&call, "--", "--flag", "-", NULL), -1);
    assert_false(flag);
    assert_string_equal(call.args[0], "--flag");
    assert_string_equal(call.args[1], "-");
    assert_int_equal(parse(&call, "--", "--color=x", NULL), -1); /* no option either */
    assert_string_equal(call.args[0], "--color=x");
}

static void lists_and_choices(void **state)
{
    cli_call call;
    (void)state;
    assert_int_equal(parse(&call, "-mx", "--many=y", "-", "--many", "z", NULL), -1);
    assert_int_equal(many.count, 3);
    assert_string_equal(many.at[0], "x");
    assert_string_equal(many.at[2], "z");
    assert_string_equal(call.args[0], "-");
    assert_int_equal(parse(&call, "--pick=LAST", "a", NULL), -1); /* as the table has it */
    assert_string_equal(pick, "last");
    assert_int_equal(parse(&call, "--pick=", "a", NULL), -1);
    assert_string_equal(pick, "");
}

static bool has_key; /* of the last call of parse_many */

/* Parses "a" and the same words `count` times. */
static bool parse_many(int count, const char *first, const char *second)
{
    static const char *argv[2 * CLI_MAX_OVERRIDES + 4];
    static cli_call call;
    int argc = 0, status = 0;
    many.count = 0;
    argv[argc++] = "try";
    argv[argc++] = "a";
    for (int i = 0; i < count; i++) {
        argv[argc++] = first;
        if (second != NULL)
            argv[argc++] = second;
    }
    const bool is_good = cli_parse(&command, argc, argv, &call, &status);
    has_key = is_good && call.override_count == count;
    return is_good;
}

static void as_many_as_there_is_room_for(void **state)
{
    char text[4096];
    (void)state;
    assert_true(parse_many(CLI_MAX_LIST, "-m", "x"));
    assert_int_equal(many.count, CLI_MAX_LIST);
    begin_listening();
    assert_false(parse_many(CLI_MAX_LIST + 1, "-m", "x"));
    was_said("fulgurite try: too many of option '--many'" SEE);
    assert_true(parse_many(CLI_MAX_OVERRIDES, "--trainer.seed", "1") && has_key);
    begin_listening();
    assert_false(parse_many(CLI_MAX_OVERRIDES + 1, "--trainer.seed", "1"));
    was_said("fulgurite try: too many keys before '--trainer.seed'" SEE);
    memset(text, 'x', sizeof text - 1); /* a value has any length */
    text[sizeof text - 1] = '\0';
    assert_true(parse_many(1, "--data.path", text) && has_key);
}

/* The values of a boolean key in the next word; any other word is an argument. */
static void truths(void **state)
{
    static const char *const words[] = {"true", "false", "yes", "no",   "on",  "off",
                                        "1",    "0",     "OFF", "null", "tru", "2"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cli_call call;
        char expected[64];
        const bool is_truth = i < 10;
        (void)snprintf(expected, sizeof expected, "data.no_header=%s",
                       is_truth ? words[i] : "true");
        assert_int_equal(parse(&call, "a", "--data.no_header", words[i], NULL), -1);
        assert_string_equal(call.overrides[0], expected);
        assert_int_equal(call.count, is_truth ? 1 : 2);
    }
}

static void keys_are_passed_on(void **state)
{
    cli_call call;
    assert_int_equal(
        parse(&call, "--trainer.seed=3", "a", "--data.path", "x y", "--task=regression", NULL), -1);
    assert_int_equal(call.override_count, 3);
    assert_string_equal(call.overrides[0], "trainer.seed=3");
    assert_string_equal(call.overrides[1], "data.path=x y");
    assert_string_equal(call.overrides[2], "task=regression");
    assert_int_equal(call.count, 1);
    /* booleans need no value */
    assert_int_equal(parse(&call, "--data.no_header", "a", "--trainer.detect_anomaly", NULL), -1);
    assert_int_equal(call.count, 1);
    assert_string_equal(call.overrides[0], "data.no_header=true");
    assert_string_equal(call.overrides[1], "trainer.detect_anomaly=true");
    assert_int_equal(parse(&call, "--data.no_header", "False", "a", NULL), -1);
    assert_string_equal(call.overrides[0], "data.no_header=False");
    assert_int_equal(parse(&call, "--data.no_header", "null", "a", NULL), -1);
    assert_string_equal(call.overrides[0], "data.no_header=null");
}

/* The shell expands "~" only at the beginning of a word. */
static void the_home_folder_is_known(void **state)
{
    char before[512];
    cli_call call;
    (void)snprintf(before, sizeof(before), "%s", getenv("HOME") != NULL ? getenv("HOME") : "");
    assert_int_equal(setenv("HOME", "/homes/me", 1), 0);
    assert_int_equal(parse(&call, "-o~/x", "--open=~/y", "~/a", "b~/c", "--data.path=~/d", NULL),
                     -1);
    assert_string_equal(path, "/homes/me/x");
    assert_string_equal(open_pick, "/homes/me/y");
    assert_string_equal(call.args[0], "/homes/me/a");
    assert_string_equal(call.args[1], "b~/c");
    assert_string_equal(call.overrides[0], "data.path=/homes/me/d");
    assert_int_equal(unsetenv("HOME"), 0);
    refused("fulgurite try: '~/x': HOME is not set: write the absolute path\n", "~/x", "a");
    assert_int_equal(setenv("HOME", before, 1), 0);
}

static void mistakes(void **state)
{
    refused("fulgurite try: unknown option '--flog': did you mean '--flag'?" SEE, "--flog", "a");
    refused("fulgurite try: unknown option '--mayb': did you mean '--maybe'?" SEE, "--mayb", "a");
    refused("fulgurite try: unknown option '--trainer.sed': did you mean '--trainer.seed'?" SEE,
            "--trainer.sed=3", "a");
    refused(
        "fulgurite try: unknown option '--max_epochs': did you mean '--trainer.max_epochs'?" SEE,
        "--max_epochs=3", "a");
    refused("fulgurite try: unknown option '--trainer.epochs': did you mean "
            "'--trainer.max_epochs'?" SEE,
            "--trainer.epochs=3", "a");
    refused(
        "fulgurite try: unknown option '--optimizer': a key of the section optimizer is set with "
        "--optimizer.KEY=VALUE (see fulgurite help config optimizer)\n",
        "--optimizer={lr: 0,01}", "a");
    refused(
        "fulgurite try: unknown option '--optimizr': a key of the section optimizer is set with "
        "--optimizer.KEY=VALUE (see fulgurite help config optimizer)\n",
        "--optimizr=sgd", "a");
    refused("fulgurite try: unknown option '--trainer.maybe': did you mean '--maybe'?" SEE,
            "--trainer.maybe", "a");
    refused("fulgurite try: unknown option '-z'" SEE, "-fz", "a");
    refused("fulgurite try: a value is missing for option '--out'" SEE, "a", "--out");
    refused("fulgurite try: a value is missing for option '--out'" SEE, "a", "-o");
    refused("fulgurite try: a value is missing for key '--trainer.seed'" SEE, "a",
            "--trainer.seed");
    refused("fulgurite try: unknown option '-trainer.seed=3': did you mean '--trainer.seed=3'?" SEE,
            "-trainer.seed=3", "a");
    refused(
        "fulgurite try: unexpected argument 'trainer.seed=3': did you mean '--trainer.seed=3'?" SEE,
        "trainer.seed=3", NULL);
    cli_call call; /* without a value, it is the name of a file */
    assert_int_equal(parse(&call, "trainer.seed", "a=b", NULL), -1);
    assert_true(call.count == 2 && strcmp(call.args[0], "trainer.seed") == 0);
    refused("fulgurite try: no value is expected for option '--flag'" SEE, "--flag=yes", "a");
    refused("fulgurite try: --pick is 'worst': expected best|last\n", "--pick=worst", "a");
    refused("fulgurite try: --pick is 'be': expected best|last\n", "--pick=be", "a");
    refused("fulgurite try: expected FILE" SEE, "--flag", NULL);
    refused("fulgurite try: unknown option '--hel': did you mean '--help'?" SEE, "--hel", "a");
    refused("fulgurite try: unknown option '--colr': did you mean '--color'?" SEE, "--colr", "a");
    refused("fulgurite try: --color is 'red': expected auto|always|never\n", "a", "--color=red");
    refused("fulgurite try: unknown option '--fla': did you mean '--flag'?" SEE, "--fla", "a");
}

/* Help for every key, with an example; for a section; for a key; for an unknown name. */
static void help_of_the_keys(void **state)
{
    fgi_buf text = {0};
    assert_true(key_help_put(&text, NULL));
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++) {
        char line[256];
        const fgi_config_key *key = &fgi_config_table_built_in()->keys[i];
        (void)snprintf(line, sizeof(line), "\n  --%s=%s\n", key->path, key->option->example);
        if (strstr(text.data, line) == NULL)
            fail_msg("no line%s", line);
    }
    fgi_buf_fini(&text);
    assert_true(key_help_put(&text, "optimizer"));
    assert_non_null(strstr(text.data, "--optimizer.lr=1e-3\n"));
    assert_null(strstr(text.data, "--trainer"));
    fgi_buf_fini(&text);
    assert_true(key_help_put(&text, "task"));
    assert_non_null(strstr(text.data, "--task=regression\n"));
    assert_null(strstr(text.data, "--model"));
    fgi_buf_fini(&text);
    static const char *const wrong[] = {"optimizers", "optimizer.learning"};
    for (size_t i = 0; i < 2; i++)
        assert_false(key_help_put(&text, wrong[i]));
    assert_null(text.data);
}

static void commands_have_other_names(void **state)
{
    assert_string_equal(cli_find_command("train")->name, "fit");
    assert_string_equal(cli_find_command("eval")->name, "validate");
    assert_string_equal(cli_find_command("Evaluate")->name, "validate");
    assert_string_equal(cli_find_command("FIT")->name, "fit");
    assert_null(cli_find_command("trian"));
}

static void help_lists_every_option(void **state)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    cli_print_help(out, &command);
    assert_int_equal(fclose(out), 0);
    static const char expected[] =
        "usage: fulgurite try [OPTION]... FILE [--KEY=VALUE]...\n\ntry\n\n"
        "  -f, --flag                    a flag\n"
        "  -g, --other                   another flag\n"
        "  -o, --out=FILE                a file\n"
        "      --pick=best|last          one of two\n"
        "      --open=best|PATH          a word or a path\n"
        "      --maybe[=HOW]             with or without\n"
        "  -m, --many=WORD               one more\n"
        "  -n, --count=N                 an integer\n"
        "      --most=X                  a number\n"
        "      --wait=DURATION           a duration\n"
        "  -s, --sizes[=1,2|N]           integers\n"
        "      --KEY=VALUE               set a configuration key, for example --trainer.seed=1\n"
        "      --color=auto|always|never\n"
        "                                highlight warnings, errors and best values (auto: on a "
        "terminal, without NO_COLOR)\n"
        "  -h, --help                    show this help\n";
    assert_true(strncmp(text, expected, sizeof(expected) - 1) == 0);
    const char *keys = strstr(text, "fulgurite help config");
    assert_non_null(keys);
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++) { /* every key is named */
        const char *dot = strrchr(fgi_config_table_built_in()->keys[i].path, '.');
        assert_non_null(
            strstr(keys, dot != NULL ? dot + 1 : fgi_config_table_built_in()->keys[i].path));
    }
    free(text);
}

static const struct {
    const char *text;
    double value; /* 0: refused */
} numbers[] = {
    {"1", 1},  {"0.25", 0.25}, {"1e2", 100}, {"0", 0},  {"-1", 0},   {"", 0},     {"x", 0},
    {"1x", 0}, {"1 ", 0},      {"nan", 0},   {"1G", 0}, {"null", 0}, {"auto", 0},
};

static void numbers_of_options(void **state)
{
    cli_call call;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const bool is_good = numbers[i].value > 0;
        most = -1;
        begin_listening();
        assert_int_equal(parse(&call, "f", "--most", numbers[i].text, NULL),
                         is_good ? -1 : CLI_USAGE);
        char message[128] = "";
        if (!is_good)
            (void)snprintf(message, sizeof message,
                           "fulgurite try: --most: expected a number greater than 0 (for example "
                           "1), got '%s'\n",
                           numbers[i].text);
        was_said(message);
        assert_true(most == (is_good ? numbers[i].value : -1));
    }
    assert_int_equal(parse(&call, "f", "-n7", "--wait=1h30m", NULL), -1);
    assert_true(number == 7 && wait_s == 5400);
    assert_int_equal(parse(&call, "f", "-n", "10", "--wait", "90s", NULL), -1);
    assert_true(number == 10 && wait_s == 90);
    begin_listening();
    assert_int_equal(parse(&call, "f", "-n11", NULL), CLI_USAGE);
    was_said(
        "fulgurite try: --count: expected an integer from 1 to 10 (for example 1), got '11'\n");
    assert_true(number == 10);
    begin_listening();
    assert_int_equal(parse(&call, "f", "--wait", NULL), CLI_USAGE);
    was_said("fulgurite try: a value is missing for option '--wait' (see fulgurite try --help)\n");
}

/* Integers as their digits, most significant first; or what is refused. */
static const struct {
    const char *word, *refused;
    int64_t digits;
} lists[] = {
    {"--sizes=5", NULL, 5},    {"--sizes=1,9", NULL, 19},     {"--sizes", NULL, 34},
    {"-fs", NULL, 34},         {"--sizes=1,0", "0", 0},       {"--sizes=10", "10", 0},
    {"--sizes=1,", "", 0},     {"--sizes=,1", "", 0},         {"--sizes=", "", 0},
    {"--sizes=1;2", "1;2", 0}, {"--sizes=2,null", "null", 0},
};

static void lists_of_integers(void **state)
{
    char many_sizes[80] = "--sizes=1";
    cli_call call;
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        char message[128];
        int64_t digits = 0;
        integers.count = 0;
        if (lists[i].refused != NULL) {
            (void)snprintf(
                message, sizeof message,
                "fulgurite try: --sizes: expected an integer from 1 to 9 (for example 3,4), "
                "got '%s'\n",
                lists[i].refused);
            refused(message, lists[i].word, "f");
            continue;
        }
        assert_int_equal(parse(&call, lists[i].word, "f", NULL), -1);
        for (size_t k = 0; k < integers.count; k++)
            digits = 10 * digits + integers.at[k];
        assert_int_equal(digits, lists[i].digits);
    }
    integers.count = 0;
    for (int count = 1; count < CLI_MAX_LIST; count++)
        (void)snprintf(many_sizes + strlen(many_sizes), 3, ",2");
    assert_int_equal(parse(&call, "f", many_sizes, NULL), -1);
    assert_true(integers.count == CLI_MAX_LIST && integers.at[CLI_MAX_LIST - 1] == 2);
    refused("fulgurite try: more than 32 values are given for option '--sizes'" SEE, "--sizes=3",
            "f");
    integers.count = 0; /* several options are one list */
    assert_int_equal(parse(&call, "f", "--sizes=4,5", "-fs", "--sizes=6", NULL), -1);
    assert_true(integers.count == 5 && integers.at[2] == 3 && integers.at[4] == 6);
}

static void near_words(void **state)
{
    static const char *const words[] = {"devices", "show", "fit"};
    assert_string_equal(fgi_nearest("devcies", words, 3), "devices");
    assert_string_equal(fgi_nearest("shoe", words, 3), "show");
    assert_null(fgi_nearest("elephant", words, 3));
    assert_null(fgi_nearest("a", words, 3));
    assert_null(fgi_nearest("", words, 3));
    char longest[200];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_null(fgi_nearest(longest, words, 3));
}

/* Four digits are the next unit. */
static const struct {
    double value;
    const char *words;
} sizes[] = {{0, "0 B"},           {999, "999 B"},       {999.5, "1.0 kB"},   {1000, "1.0 kB"},
             {1500, "1.5 kB"},     {999949, "999.9 kB"}, {999950, "1.0 MB"},  {16e9, "16.0 GB"},
             {999.95e9, "1.0 TB"}, {1e15, "1.0 PB"},     {2e18, "2000.0 PB"}, {-1, "?"},
             {(double)NAN, "?"}},
  times[] = {
      {0, "0 s"},          {2e-9, "0.002 us"},    {0.0009994, "999 us"}, {0.0009996, "1 ms"},
      {0.0012, "1.2 ms"},  {0.9994, "999 ms"},    {0.9996, "1 s"},       {1, "1 s"},
      {59.94, "59.9 s"},   {99.9, "99.9 s"},      {100, "1 min 40 s"},   {3599.9, "59 min 59 s"},
      {3600, "1 h 0 min"}, {90061, "25 h 1 min"}, {(double)NAN, ""},     {HUGE_VAL, ""},
      {-2, "-2 s"}};

static void sizes_and_times_in_words(void **state)
{
    char words[32];
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        assert_string_equal(fgi_bytes_words(sizes[i].value), sizes[i].words);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        assert_string_equal(fgi_duration_words(times[i].value, words), times[i].words);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(truths),
    cmocka_unit_test(lists_and_choices),
    cmocka_unit_test(as_many_as_there_is_room_for),
    cmocka_unit_test(every_form),
    cmocka_unit_test(keys_are_passed_on),
    cmocka_unit_test(help_of_the_keys),
    cmocka_unit_test(commands_have_other_names),
    cmocka_unit_test(mistakes),
    cmocka_unit_test(help_lists_every_option),
    cmocka_unit_test(near_words),
    cmocka_unit_test(numbers_of_options),
    cmocka_unit_test(lists_of_integers),
    cmocka_unit_test(sizes_and_times_in_words),
    cmocka_unit_test(the_home_folder_is_known),
};
FGT_MAIN(tests)
