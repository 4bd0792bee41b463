/* test_help_text.c - the program's documentation: help of every command, man pages, completion
 * scripts, the examples of every key; and its lists of tensors and devices. Compared as a whole
 * with tests/golden/cli.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "golden.h"
#include "run_program.h"

static const char *const commands[] = {"fit",     "show",       "setup", "doctor",  "devices",
                                       "init",    "validate",   "test",  "predict", "plan",
                                       "lr-find", "batch-find", "pack",  "report",  "compare",
                                       "stop",    "completion", "help"};
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

/* The tensors of a file and its description, as text, names and JSON. */
static void tensors(void **state)
{
    (void)state;
    static const char *const more[] = {"", "--names", "--json"};
    char *text = NULL, arguments[128];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(arguments, sizeof(arguments), "show every_dtype.safetensors %s", more[i]);
        const outcome *o = program_gives(0, FGT_SOURCE_DIR "/tests/golden/ckpt", arguments);
        (void)fprintf(out, "$ fulgurite %s\n%s%s\n", arguments, o->out, o->err);
    }
    assert_int_equal(fclose(out), 0);
    fgt_golden("cli/show.txt", text);
    free(text);
}

/* Three devices of the fake plugin, which share a memory; the tree's path is left out. */
static void devices(void **state)
{
    (void)state;
    static char text[65536];
    char *at;
    assert_int_equal(setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1), 0);
    assert_int_equal(setenv("FAKEPJRT", "devices=3,memory_limit_bytes=6000000", 1), 0);
    (void)snprintf(text, sizeof(text), "%s", program_gives(0, NULL, "devices")->out);
    assert_int_equal(unsetenv("FULGURITE_PLUGIN") + unsetenv("FAKEPJRT"), 0);
    while ((at = strstr(text, FGT_BINARY_DIR "/")) != NULL)
        memmove(at, at + strlen(FGT_BINARY_DIR "/"), strlen(at + strlen(FGT_BINARY_DIR "/")) + 1);
    for (char *rest = text; (at = strstr(rest, "PJRT 0.")) != NULL;
         rest = at + 1) /* the header's */
        memset(at + strlen("PJRT 0."), 'x', strspn(at + strlen("PJRT 0."), "0123456789"));
    fgt_golden("cli/devices.txt", text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tensors),
    cmocka_unit_test(devices),
    cmocka_unit_test(help),
    cmocka_unit_test(man_pages),
    cmocka_unit_test(completion_scripts),
    cmocka_unit_test(defaults),
};
FGT_MAIN(tests)
