/* fulgurite help [COMMAND]: the help, and what the build makes out of the same tables: man pages
 * and the reference of configuration keys.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "config.h"

static bool as_man, as_list, config_reference;
static const cli_option options[] = {
    CLI_FLAG('m', "man", &as_man, "print the man page's source"),
    CLI_FLAG('l', "list", &as_list, "print the commands' names"),
    CLI_FLAG(0, "config-reference", &config_reference,
             "print the reference of all configuration keys in Markdown"),
    CLI_END,
};

static int run(const cli_call *call)
{
    const cli_command *command = call->count > 0 ? cli_find_command(call->args[0]) : NULL;
    if (call->count > 0 && command == NULL)
        return cli_complain(CLI_USAGE, "help", "unknown command '%s'", call->args[0]);
    if (as_list)
        for (const cli_command *const *c = cli_commands; *c != NULL; c++)
            (void)puts((*c)->name);
    else if (config_reference)
        config_print_markdown(stdout);
    else if (as_man)
        cli_print_man(stdout, command);
    else
        cli_print_help(stdout, command);
    return CLI_DONE;
}

const cli_command cli_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "tell about the program or one command",
    .options = options,
    .min_args = 0,
    .max_args = 1,
    .run = run,
};
