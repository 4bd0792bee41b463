/* fulgurite completion: shell completion, derived from the tables.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "out_file.h"

/* The options of a command as the library describes them; the caller frees them. */
static fg_recipe_option *options_of(const cli_command *command, size_t *out_count)
{
    const cli_option *const tables[] = {command->options, cli_common};
    size_t count = 0;
    for (int t = 0; t < 2; t++)
        for (const cli_option *o = tables[t]; o != NULL && o->kind != CLI_KIND_END; o++)
            count++;
    fg_recipe_option *options = cli_alloc(count, sizeof *options);
    *out_count = count;
    count = 0;
    for (int t = 0; t < 2; t++)
        for (const cli_option *o = tables[t]; o != NULL && o->kind != CLI_KIND_END; o++)
            options[count++] = (fg_recipe_option){.name = o->name,
                                                  .argument = o->argument,
                                                  .is_optional = o->kind == CLI_KIND_OPTIONAL,
                                                  .help = o->help};
    return options;
}

static int run(const cli_call *call)
{
    enum { COMMANDS_MAX = 64 };
    fg_recipe_command commands[COMMANDS_MAX] = {0};
    fg_recipe_option *options[COMMANDS_MAX];
    fg_error err = {0};
    char *text = NULL;
    size_t count = 0;
    for (; cli_commands[count] != NULL && count < COMMANDS_MAX; count++) {
        const cli_command *c = cli_commands[count];
        commands[count] = (fg_recipe_command){
            .name = c->name, .summary = c->summary, .takes_config = c->takes_config};
        options[count] = options_of(c, &commands[count].option_count);
        commands[count].options = options[count];
    }
    const fg_status status =
        fg_recipe_completion("fulgurite", commands, count, call->args[0], &text, &err);
    while (count > 0)
        free(options[--count]);
    return out_text("completion", status, &text, NULL, &err);
}

const cli_command cli_completion = {
    .name = "completion",
    .arguments = "bash|zsh",
    .summary = "print a shell completion script",
    .details = "To enable completion in the current shell: source <(fulgurite completion bash)",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
