/* fulgurite help [COMMAND]: the help, and what the build generates from the same tables: man pages
 * and the reference of configuration keys.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli.h"

static bool as_man, as_list, config_reference;
static const cli_option options[] = {
    CLI_FLAG('m', "man", &as_man, "print the source of the man page"),
    CLI_FLAG('l', "list", &as_list, "print the commands' names"),
    CLI_FLAG(0, "config-reference", &config_reference,
             "print the reference of all configuration keys in Markdown"),
    CLI_END,
};

/* fulgurite help config [SECTION|KEY] */
static int help_config(const char *about)
{
    fg_error err = {0};
    if (cli_print_keys(stdout, FG_RECIPE_HELP_KEYS, about, &err))
        return CLI_DONE;
    const char *nearest = about != NULL ? fg_recipe_key_suggest(about) : NULL;
    return cli_complain(CLI_USAGE, "help", "%s%s%s%s", err.message,
                        nearest != NULL ? ": did you mean '" : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "'?" : "");
}

static int run(const cli_call *call)
{
    const char *topic = call->count > 0 ? call->args[0] : NULL;
    if (topic != NULL && strcmp(topic, "config") == 0)
        return help_config(call->count > 1 ? call->args[1] : NULL);
    if (topic != NULL && fg_recipe_key_find(topic, NULL))
        return help_config(topic);
    const cli_command *command = topic != NULL ? cli_find_command(topic) : NULL;
    if (topic != NULL && command == NULL)
        return cli_unknown_command(topic);
    if (call->count > 1)
        return cli_complain(CLI_USAGE, "help", "unexpected argument '%s'", call->args[1]);
    if (as_list)
        for (const cli_command *const *c = cli_commands; *c != NULL; c++)
            (void)puts((*c)->name);
    else if (config_reference)
        (void)cli_print_keys(stdout, FG_RECIPE_HELP_MARKDOWN, NULL, NULL);
    else if (as_man)
        cli_print_man(stdout, command);
    else
        cli_print_help(stdout, command);
    return CLI_DONE;
}

const cli_command cli_help = {
    .name = "help",
    .arguments = "[COMMAND | config [SECTION | KEY]]",
    .summary = "show the help of the program, a command, or a configuration key",
    .details = "fulgurite help config lists all keys, fulgurite help config trainer one section, "
               "and fulgurite help config trainer.batch_size one key.",
    .options = options,
    .max_args = 2,
    .run = run,
};
