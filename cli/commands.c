/* commands.c - the program's commands, in the order of the help, and their aliases. To add one,
 * write cmd_NAME.c and list it here and in CMakeLists.txt.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <string.h>
#include <strings.h>

const cli_command *const cli_commands[] = {
    &cli_setup, &cli_doctor,  &cli_devices,    &cli_init, &cli_fit,  &cli_validate,
    &cli_test,  &cli_predict, &cli_batch_find, &cli_plan, &cli_show, &cli_completion,
    &cli_help,  NULL,
};

static const struct {
    const char *theirs, *ours;
} aliases[] = {
    {"train", "fit"},     {"training", "fit"},      {"eval", "validate"},
    {"val", "validate"},  {"evaluate", "validate"}, {"validation", "validate"},
    {"infer", "predict"}, {"inference", "predict"}, {"prediction", "predict"},
};

const cli_command *cli_find_command(const char *name)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcasecmp(aliases[i].theirs, name) == 0)
            name = aliases[i].ours;
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        if (strcasecmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

const char *cli_command_alias(const cli_command *command, size_t index)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcmp(aliases[i].ours, command->name) == 0 && index-- == 0)
            return aliases[i].theirs;
    return NULL;
}

int cli_unknown_command(const char *name)
{
    const char *names[32], *nearest;
    size_t count = 0;
    while (count < 32 && cli_commands[count] != NULL) {
        names[count] = cli_commands[count]->name;
        count++;
    }
    nearest = fg_recipe_nearest(name, names, count);
    return cli_complain(CLI_USAGE, NULL, "unknown command '%s'%s%s%s (see fulgurite --help)", name,
                        nearest != NULL ? ": did you mean '" : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "'?" : "");
}
