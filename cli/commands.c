/* commands.c - the program's commands, in the order of the help. To add one: write cmd_NAME.c and
 * name it here and in CMakeLists.txt.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <string.h>

const cli_command *const cli_commands[] = {
    &cli_setup,   &cli_doctor,     &cli_devices, &cli_fit,  &cli_validate,   &cli_test,
    &cli_predict, &cli_batch_find, &cli_plan,    &cli_show, &cli_completion, &cli_help,
    NULL,
};

const cli_command *cli_find_command(const char *name)
{
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}
