/* test_help_text.c - what the program says of itself: help of every command, man pages, completion
 * scripts, the examples of every key; compared whole with tests/golden/cli.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "golden.h"
#include "run_program.h"

static const char *const commands[] = {"setup",    "doctor",     "devices", "init",       "fit",
                                       "validate", "test",       "predict", "batch-find", "plan",
                                       "show",     "completion", "help"};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* Appends what `fulgurite ARGUMENTS` prints under a line that names it. */
static void put(FILE *out, const char *arguments)
{
    (void)fprintf(out, "$ fulgurite %s\n%s\n", arguments, program_gives(0, NULL, arguments)->out);
}

/* The output of `whole`, and of `each COMMAND` for `count` commands. */
static void compare(const char *golden, const char *whole, const char *each, int count)
{
    char *text = NULL, arguments[128];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    put(out, whole);
    for (int i = 0; i < count; i++) {
        (void)snprintf(arguments, sizeof(arguments), "%s %s", each, commands[i]);
        put(out, arguments);
    }
    assert_int_equal(fclose(out), 0);
    fgt_golden(golden, text);
    free(text);
}

static void help(void **state)
{
    (void)state;
    compare("cli/help.txt", "help", "help", COMMANDS);
    compare("cli/help_config.txt", "help config", NULL, 0);
}

static void man_pages(void **state)
{
    (void)state;
    compare("cli/man.txt", "help --man", "help --man", 2);
}

static void completion_scripts(void **state)
{
    (void)state;
    compare("cli/completion_bash.txt", "completion bash", NULL, 0);
    compare("cli/completion_zsh.txt", "completion zsh", NULL, 0);
}

static void defaults(void **state)
{
    (void)state;
    compare("cli/print_config.txt", "fit --print-config=plain", NULL, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(help),
    cmocka_unit_test(man_pages),
    cmocka_unit_test(completion_scripts),
    cmocka_unit_test(defaults),
};
FGT_MAIN(tests)
