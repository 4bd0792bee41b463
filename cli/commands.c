/* commands.c - the program's commands, in the order of the help, and their aliases. To add one,
 * write cmd_NAME.c and add its row here and the file to CMakeLists.txt.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "cli.h"

#include <string.h>
#include <strings.h>

#define ROWS(ROW)                                                                                  \
    ROW(cli_setup)                                                                                 \
    ROW(cli_doctor)                                                                                \
    ROW(cli_devices)                                                                               \
    ROW(cli_init)                                                                                  \
    ROW(cli_fit)                                                                                   \
    ROW(cli_validate)                                                                              \
    ROW(cli_test)                                                                                  \
    ROW(cli_predict)                                                                               \
    ROW(cli_lr_find)                                                                               \
    ROW(cli_batch_find)                                                                            \
    ROW(cli_bench)                                                                                 \
    ROW(cli_plan)                                                                                  \
    ROW(cli_pack)                                                                                  \
    ROW(cli_report)                                                                                \
    ROW(cli_compare)                                                                               \
    ROW(cli_stop)                                                                                  \
    ROW(cli_export)                                                                                \
    ROW(cli_show)                                                                                  \
    ROW(cli_completion)                                                                            \
    ROW(cli_help)

#define DECLARE(name) extern const cli_command name;
ROWS(DECLARE)

#define ADDRESS(name) &(name),
const cli_command *const cli_commands[] = {ROWS(ADDRESS) NULL};

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

const cli_command *cli_find_subcommand(const cli_command *command, const char *name)
{
    const size_t size = strlen(command->name);
    for (const cli_command *const *c = command->subcommands; c != NULL && *c != NULL; c++)
        if (name != NULL && strcasecmp((*c)->name + size + 1, name) == 0)
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
    nearest = fgi_nearest(name, names, count);
    return cli_complain(CLI_USAGE, NULL, "unknown command '%s'%s%s%s (see fulgurite --help)", name,
                        nearest != NULL ? ": did you mean '" : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "'?" : "");
}
