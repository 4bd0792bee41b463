/* fulgurite help [COMMAND]: the help, and what the build generates from the same tables: man pages
 * and the reference of configuration keys.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "key_help.h"
#include "out_file.h"

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
    fgi_buf text = {0};
    if (key_help_put(&text, about))
        return out_buf("help", FG_OK, &text, &err);
    const char *nearest = key_suggest(about);
    return cli_complain(CLI_USAGE, "help", "no key or section '%s'%s%s%s", about,
                        nearest != NULL ? ": did you mean '" : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "'?" : "");
}

static int print_reference(void)
{
    fg_error err = {0};
    fgi_buf text = {0};
    key_help_put_reference(&text);
    return out_buf("help", FG_OK, &text, &err);
}

static int run(const cli_call *call)
{
    const char *topic = call->count > 0 ? call->args[0] : NULL;
    if (topic != NULL && strcmp(topic, "config") == 0)
        return help_config(call->count > 1 ? call->args[1] : NULL);
    if (topic != NULL && fgi_config_find(NULL, topic) != NULL)
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
        return print_reference();
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
